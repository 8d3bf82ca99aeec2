"""Elementary functions, which give the same bits on every machine, as ufuncs of NumPy where there is the extension.

`functions.py` has each function once. Other dtypes than float32 and float64 are NumPy's.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from engine.runtime.extension import extension

in_c: Any = extension("engine.runtime.elementary._elementary")[0]


def widest() -> int:
    """Bytes of the widest vectors that NumPy uses, which can be told not to (``NPY_DISABLE_CPU_FEATURES``)."""
    features = importlib.import_module("numpy._core._multiarray_umath").__cpu_features__
    for width, names in {64: ("X86_V4", "AVX512_SKX"), 32: ("X86_V3", "AVX2")}.items():
        if any(features.get(name, False) for name in names):
            return width
    return 16


if in_c is not None:
    in_c.use(widest())


def _function(name: str) -> Any:
    if in_c is not None:
        return getattr(in_c, name)
    from engine.runtime.elementary.functions import FUNCTIONS
    from engine.runtime.elementary.in_numpy import Elementary

    return Elementary(name, FUNCTIONS[name])


(
    exp, exp2, expm1, log, log2, log10, log1p, tanh, sinh, cosh, sin, cos, tan, arcsin, arccos, arctan, arcsinh,
    arccosh, arctanh, cbrt, hypot, arctan2, pow, erf, erfc, ndtr, sigmoid, softplus, log_sigmoid,
) = map(_function, (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "tanh", "sinh", "cosh", "sin", "cos", "tan", "arcsin",
    "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "cbrt", "hypot", "arctan2", "pow", "erf", "erfc", "ndtr",
    "sigmoid", "softplus", "log_sigmoid",
))  # fmt: skip


def _scaled(function: Any) -> Any:
    return lambda x, y: np.where(np.equal(x, 0) & (y == y), 0, x * function(y))


xlogy, xlog1py = _scaled(log), _scaled(log1p)


def of_second(extremum: Any) -> Any:
    """NumPy's maximum or minimum; of two zeros the second, in half precision the first, as x86 has it; not so ARM."""
    if np.signbit(extremum(0.0, -0.0)) != np.signbit(extremum(-0.0, 0.0)):
        return extremum
    return lambda x, y: np.where(np.equal(x, y), x if x.dtype.char == "e" else y, extremum(x, y))


def is_ufunc(kernel: Any) -> bool:
    """Whether a kernel is called as NumPy's ufuncs are."""
    return isinstance(kernel, (np.ufunc, type(exp)))


def numpy_of(kernel: Any) -> Any:
    """NumPy's ufunc that a kernel stands for, or the kernel."""
    name = getattr(kernel, "__name__", "")
    return getattr(np, name, kernel) if globals().get(name) is kernel else kernel
