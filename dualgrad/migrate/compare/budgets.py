"""How far two libraries may be apart in one operation on the same operands.

TensorFlow's kernels round differently from NumPy's. For an elementwise operation the budget is a number of units in the
last place of the result. For one that adds up products or terms it is that many units of what the sum would be if
nothing cancelled, which is the scale of its rounding errors. Most budgets were measured on random data (TensorFlow 2.21
on CPUs) and doubled; those of Cos, Reciprocal and Sum and the defaults are estimates. What exceeds its budget is looked
at in float64: where the exact value tells that one of the two is as near to it as the other, it is rounding after all.

Two machines under dualgrad differ in nothing but what libraries compute that choose their steps by the processor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.closed.function import ClosedFunction
from engine.core.op import Op
from engine.core.operands import Array

_EXACT = (
    "Add AddV2 Sub Mul Div RealDiv Sqrt Neg Abs Maximum Minimum Floor Ceil Rint Sign Square Relu Identity Reshape "
    "Transpose Concat ConcatV2 Slice StridedSlice Gather GatherV2 Pack Unpack Cast Select SelectV2 ZerosLike OnesLike "
    "Fill ExpandDims Squeeze Tile Pad PadV2 MirrorPad Split SplitV Reverse ReverseV2 Max Min StopGradient BroadcastTo"
)
_FLOAT32 = dict.fromkeys(_EXACT.split(), 0.0) | {
    "Sin": 2.0, "Cos": 2.0, "Rsqrt": 4.0, "Reciprocal": 2.0, "Pow": 4.0, "Exp": 6.0, "Log": 8.0, "Tanh": 8.0,
    "Log1p": 8.0, "Erf": 8.0, "Sigmoid": 14.0, "MatMul": 18.0, "BatchMatMul": 18.0, "Mean": 20.0, "Sum": 20.0,
}  # fmt: skip
_FLOAT64 = dict.fromkeys(_EXACT.split(), 0.0) | {
    "Exp": 2.0, "Log": 2.0, "Pow": 4.0, "Log1p": 4.0, "Tanh": 6.0, "Sigmoid": 6.0, "Erf": 6.0, "MatMul": 18.0,
}  # fmt: skip
_LIBRARIES = (
    "banded conv decompose determinants eig einsum fft linalg lu matrix_functions matrix_roots solve spectral "
    "bessel_orders distribution_tails elliptic likelihood orthogonal random ratio_distributions "
    "scipy_special special"
)
_OF_LIBRARIES = {f"engine.ops.{name}" for name in _LIBRARIES.split()}
"""Modules of ops that BLAS, LAPACK, a Fourier transform or SciPy's special functions compute."""
_OURS = {"erf", "erfc", "ndtr", "xdivy", "xlogy", "xlog1py"}
"""Those in them that are none of these libraries'."""
_OTHER, _OTHER_SUM = 16.0, 32.0
"""Where nothing was measured: elementwise, and the rest."""
_AS_GOOD = 8.0
"""An error that is at most so many times the other's is as good."""


def budget(op: Op, dtype: Any) -> float:
    """Units in the last place that an operation may be off.

    Parameters
    ----------
    op : Op
    dtype : NumPy dtype
        Of the result.
    """
    table = _FLOAT64 if dtype in (np.float64, np.complex128) else _FLOAT32
    return table.get(op.type, _OTHER if op.elementwise else _OTHER_SUM)


def is_portable(op: Op, params: dict[str, Any], dtype: Any) -> bool:
    """Whether an operation gives the same bits on every machine (docs/same-bits.md; tried in tests/executor).

    Parameters
    ----------
    op : Op
    params : dict
    dtype : NumPy dtype
        Of the result. Functions of complex numbers and in half precision are NumPy's.
    """
    inner = [p for p in params.values() if isinstance(p, ClosedFunction)]
    known = op.module not in _OF_LIBRARIES or op.name in _OURS
    known = known and np.dtype(dtype).kind not in "cV" and dtype != np.float16
    return known and all(is_portable(n.op, n.params, x.dtype.numpy) for p in inner for n in p.nodes for x in n.outputs)


@dataclass
class Judgement:
    """How two values of an operation compare.

    Attributes
    ----------
    fits : bool
    units : float
        How far they are apart at worst, in units in the last place of the scale.
    allowed : float
    at : tuple of int
        Where.
    exact : number, optional
        The value in float64 there.
    blame : str
        If they do not fit: which of the two is off.
    """

    fits: bool
    units: float = 0.0
    allowed: float = 0.0
    at: tuple[int, ...] = ()
    exact: Any = None
    blame: str = ""


def judged(ours: Any, theirs: Any, exact: Any, scale: Any, own: float, allowed: float | None = None) -> Judgement:
    """Compare two values of one operation.

    Parameters
    ----------
    ours, theirs : array
        Of the same shape and dtype.
    exact : array or None
        The same in float64.
    scale : array
        Broadcasts against them: of what size the rounding errors are units.
    own : float
        The budget of the operation, in units.
    allowed : float, optional
        That of all operations since the operands were the same; it counts where there is no value in float64.
    """
    allowed = own if allowed is None else allowed
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.dtype.kind not in "fc" and not is_bfloat(ours):
        wrong = np.asarray(ours != theirs)
        if not wrong.any():
            return Judgement(True)
        at = tuple(map(int, np.unravel_index(int(np.argmax(wrong)), wrong.shape)))
        return Judgement(False, np.inf, 0.0, at, blame="these are exact")
    with np.errstate(all="ignore"):
        unit = _unit(np.maximum(np.maximum(_size(ours), _size(theirs)), scale), ours.dtype)
        apart = _apart(ours, theirs) / unit
        limit = np.full(apart.shape, allowed)
        mine = other = None
        if exact is not None and np.shape(exact) == ours.shape:
            mine, other = _apart(ours, exact) / unit, _apart(theirs, exact) / unit
            # how far rounding takes this program from its own exact value is how far it may take the other
            typical = float(np.max(mine, initial=0.0, where=np.isfinite(mine)))
            limit = np.full(apart.shape, own + _AS_GOOD * typical)
        over = np.where(apart <= limit, 0.0, apart)
    at = (
        tuple(map(int, np.unravel_index(int(np.argmax(over if over.any() else apart)), apart.shape)))
        if apart.size
        else ()
    )
    judgement = Judgement(not over.any(), float(apart[at]) if apart.size else 0.0, allowed, at)
    if mine is not None and other is not None and apart.size:
        judgement.exact = np.asarray(exact)[at]
        judgement.allowed = float(limit[at])
        if not judgement.fits:
            judgement.blame = _blame(typical, float(other[at]), own)
    return judgement


def _blame(mine: float, other: float, allowed: float) -> str:
    if other > max(allowed, _AS_GOOD * mine):
        return "the record is farther from this program's exact value than rounding explains: they compute two things"
    if mine > max(allowed, _AS_GOOD * other):
        return "this program is off its own exact value, which the record is not: a kernel here is at fault"
    return "both are off this program's exact value, in different ways"


def is_bfloat(array: np.ndarray) -> bool:
    """Whether an array is of a floating type that NumPy does not have itself."""
    return bool(array.dtype.name == "bfloat16")


def _size(x: Any) -> np.ndarray:
    size = np.abs(x).astype(np.float64)
    return np.where(np.isfinite(size), size, 0.0)


def _unit(size: Any, dtype: np.dtype) -> Array:
    """One unit in the last place at a size; TensorFlow takes what is smaller than normal numbers for zero."""
    if dtype.name == "bfloat16":
        return np.maximum(size, 1e-38) * 2.0**-7
    info = np.finfo(dtype)
    return np.maximum(size, float(info.tiny) / float(info.eps)) * float(info.eps)


def _apart(a: Any, b: Any) -> np.ndarray:
    wide = np.complex128 if np.asarray(a).dtype.kind == "c" else np.float64
    a, b = np.asarray(a).astype(wide), np.asarray(b).astype(wide)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    difference = np.abs(a - b)
    return np.where(same, 0.0, np.where(np.isnan(difference), np.inf, difference))


def scale_of(op: Op, operands: Sequence[Any], params: dict[str, Any]) -> float | np.ndarray:
    """The scale of an operation's rounding errors, besides its result.

    For sums and products of sums it is the result on absolute values, where nothing cancels; for what is neither
    elementwise nor that, the largest operand.
    """
    if op.elementwise:
        return 0.0
    floats = [np.abs(x) if np.asarray(x).dtype.kind in "fc" else x for x in operands]
    if op.kind in ("linear", "multilinear") and not op.multi:
        try:
            return _size(op.kernel(*floats, **params))
        except Exception:  # noqa: BLE001 - then the operands must do
            pass
    return max([float(np.max(_size(x), initial=0.0)) for x in floats if np.asarray(x).dtype.kind in "fc"], default=0.0)
