"""Facts about NumPy's BLAS, as far as they can be told from outside."""

from __future__ import annotations

import functools
import os

import numpy as np

_VARIABLES = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
"""Where OpenBLAS, which NumPy brings along, looks first to last."""


_WIDE_CORES = ("skylakex", "cooperlake", "sapphirerapids", "zen5")
"""The processors, as OpenBLAS names them, for which it multiplies small matrices as they lie."""
_WIDE = {"X86_V4", "AVX512_SKX"}
"""NumPy's names for the instruction sets of these."""


@functools.cache
def multiplies_in_place() -> bool:
    """Whether small matrices are multiplied as they lie, without being copied first.

    OpenBLAS does so with AVX-512, unless the environment tells it to take the processor for another one.
    """
    if named := os.environ.get("OPENBLAS_CORETYPE", ""):
        return named.lower() in _WIDE_CORES
    known = np.show_config(mode="dicts").get("SIMD Extensions", {})
    return not _WIDE.isdisjoint([*known.get("baseline", ()), *known.get("found", ())])


@functools.cache
def blas_threads() -> int:
    """How many threads it computes products of matrices with.

    It is what the environment asks for, else a thread for each processor that this process may use.

    It is looked up once: what is chosen by it, and so a last bit, stays as it is while a process runs.
    """
    for name in _VARIABLES:
        if (wanted := os.environ.get(name, "")).isdigit() and int(wanted):
            return int(wanted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
