"""How many threads NumPy's BLAS computes products of matrices with, as far as that can be told from outside."""

from __future__ import annotations

import functools
import os

_VARIABLES = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
"""Where OpenBLAS, which NumPy brings along, looks first to last."""


@functools.cache
def blas_threads() -> int:
    """What the environment asks for, else a thread for each processor that this process may use.

    It is looked up once: what is chosen by it, and so a last bit, stays as it is while a process runs.
    """
    for name in _VARIABLES:
        if (wanted := os.environ.get(name, "")).isdigit() and int(wanted):
            return int(wanted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
