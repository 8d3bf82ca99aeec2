"""Our functions for what programs seldom use of NumPy's, and for SciPy's: tables that the first such call loads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.core.op import Op
from engine.numpy_api.arrangement import running, sums_from
from engine.numpy_api.compound import COMPOUND, log_sum, vecdot
from engine.numpy_api.functions import Row
from engine.numpy_api.scipy_functions import HOW, SCIPY
from engine.numpy_api.special_functions import SPECIAL
from engine.ops import bessel_orders, elliptic, orthogonal, ratio_distributions, scipy_special, special

__all__ = ["HOW", "ROWS", "SCIPYS_ALONE", "UFUNCS", "log_sum", "running", "scipy_special", "sums_from", "vecdot"]

_OF_SCIPY = (scipy_special, ratio_distributions, bessel_orders, elliptic, orthogonal)
SCIPYS_ALONE = {module.__name__ for module in _OF_SCIPY}
"""Modules of ops that TensorFlow has no name for."""
_OPS = [op for module in (special, *_OF_SCIPY) for op in vars(module).values() if isinstance(op, Op)]
_NAMED: dict[str, Callable[..., Any]] = {op.kernel.scipy: op for op in _OPS if hasattr(op.kernel, "scipy")} | SPECIAL
UFUNCS = {f"scipy.special.{name}": function for name, function in _NAMED.items()}
"""By SciPy's names: the ops whose kernel is such a ufunc, and functions made of ops."""
ROWS: dict[Any, Row] = {**COMPOUND, **SCIPY}
"""By NumPy's functions and SciPy's names; distributions are in a table of their own."""
