"""Things that the bits of NumPy's results depend on: the CPU's features, NumPy, its BLAS, the number of threads.

NumPy chooses its loops, the BLAS its kernels and the C library its functions by what the CPU can do; a BLAS adds up in
another order with another number of threads. So two records are comparable to the bit only if all of this is equal.
"""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy

from engine.runtime.blas import openblas_function

DECISIVE = ("machine", "cpu_features", "libc", "numpy", "scipy", "blas", "blas_core", "threads")
"""Facts that must be equal for results to be equal to the bit."""


def machine() -> dict[str, Any]:
    """This machine and what is installed on it, as JSON data.

    Examples
    --------
    >>> sorted(machine())
    ['blas', 'blas_core', 'cpu_features', 'libc', 'machine', 'numpy', 'python', 'scipy', 'system', 'threads']
    """
    blas = np.__config__.CONFIG.get("Build Dependencies", {}).get("blas", {})
    return {
        "machine": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "cpu_features": sorted(name for name, has in _features().items() if has),
        "libc": " ".join(platform.libc_ver()),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "blas": f"{blas.get('name')} {blas.get('version')}",
        "blas_core": _openblas("get_corename", ctypes.c_char_p),
        "threads": _openblas("get_num_threads", ctypes.c_int) or os.environ.get("OMP_NUM_THREADS") or os.cpu_count(),
    }


def _features() -> dict[str, bool]:
    from numpy._core._multiarray_umath import __cpu_features__  # type: ignore[import-not-found]

    features: dict[str, bool] = __cpu_features__
    return features


def _openblas(name: str, result: Any) -> str | int | None:
    """Facts about the OpenBLAS that NumPy uses, told by itself; None if it is another BLAS."""
    function = openblas_function(name)
    if function is None:
        return None
    function.restype = result
    answer: str | int | bytes = function()
    return answer.decode() if isinstance(answer, bytes) else answer


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Why the results of two machines may differ in bits; empty if there is no reason.

    Parameters
    ----------
    one, other : dict
        As `machine` gives them.
    """
    messages = []
    for name in DECISIVE:
        b = other.get(name)
        a = one.get(name, b)  # a record may be older than the question
        if a == b:
            continue
        if isinstance(a, list) and isinstance(b, list):
            only = [
                " ".join(f"+{x}" for x in sorted(set(b) - set(a))),
                " ".join(f"-{x}" for x in sorted(set(a) - set(b))),
            ]
            messages.append(f"{name}: {' '.join(filter(None, only))}")
        else:
            messages.append(f"{name}: {a} there, {b} here")
    return messages
