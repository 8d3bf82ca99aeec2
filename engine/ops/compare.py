"""Comparisons, logic, choice (`where`) and `cast`."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.aval import Aval, broadcast_shapes
from engine.core.batching import elementwise_rule, refused
from engine.core.dtypes import ANY, BOOL, INEXACT, INTEGER, NUMERIC, REAL, DType, as_dtype, bool_, int64, string
from engine.core.kinds import check_dtype, general, linear, nondifferentiable, same_dtype
from engine.core.op import Layout
from engine.core.operands import Array, Operand, operands
from engine.core.sparsity import ELEMENTWISE
from engine.core.structural import broadcast_like, has_nan, sum_to_like
from engine.core.value import aval_of, dtype_of, scalar
from engine.ops.creation import zeros_like
from engine.runtime.errors import DTypeError, InvalidArgumentError, ShapeError


def _comparison(doc: str, accepts: Any = REAL) -> dict[str, Any]:
    return {"result": bool_, "accepts": accepts, "args": ("x", "y"), "doc": doc}


equal = nondifferentiable("equal", np.equal, **_comparison("``x == y``, elementwise.", ANY | {string}))
not_equal = nondifferentiable("not_equal", np.not_equal, **_comparison("``x != y``, elementwise.", ANY | {string}))
less = nondifferentiable("less", np.less, **_comparison("``x < y``, elementwise."))
less_equal = nondifferentiable("less_equal", np.less_equal, **_comparison("``x <= y``, elementwise."))
greater = nondifferentiable("greater", np.greater, **_comparison("``x > y``, elementwise."))
greater_equal = nondifferentiable("greater_equal", np.greater_equal, **_comparison("``x >= y``, elementwise."))

logical_and = nondifferentiable("logical_and", np.logical_and, args=("x", "y"), accepts=BOOL, doc="``x and y``.")
logical_or = nondifferentiable("logical_or", np.logical_or, args=("x", "y"), accepts=BOOL, doc="``x or y``.")
logical_xor = nondifferentiable("logical_xor", np.logical_xor, args=("x", "y"), accepts=BOOL, doc="Exclusive or.")
logical_not = nondifferentiable("logical_not", np.logical_not, accepts=BOOL, doc="``not x``.")
bitwise_and = nondifferentiable(
    "bitwise_and", np.bitwise_and, args=("x", "y"), accepts=INTEGER, doc="Bitwise and of integers."
)
bitwise_or = nondifferentiable(
    "bitwise_or", np.bitwise_or, args=("x", "y"), accepts=INTEGER, doc="Bitwise or of integers."
)
bitwise_xor = nondifferentiable(
    "bitwise_xor", np.bitwise_xor, args=("x", "y"), accepts=INTEGER, doc="Bitwise exclusive or of integers."
)


def _shifted(ufunc: np.ufunc) -> Any:
    """As in TensorFlow: shifts by less than 0 count as 0, by more than there are bits as one less than these."""
    return lambda x, y: ufunc(x, np.clip(y, 0, x.dtype.itemsize * 8 - 1).astype(x.dtype))


left_shift = nondifferentiable(
    "left_shift", _shifted(np.left_shift), args=("x", "y"), accepts=INTEGER, doc="x with its bits moved up by y."
)
right_shift = nondifferentiable(
    "right_shift", _shifted(np.right_shift), args=("x", "y"), accepts=INTEGER, doc="x with its bits moved down by y."
)
bitwise_not = nondifferentiable(
    "bitwise_not", np.invert, accepts=INTEGER, type="Invert", doc="Bitwise complement of integers."
)
is_nan = nondifferentiable("is_nan", np.isnan, result=bool_, accepts=INEXACT, doc="Where x is NaN.")
is_inf = nondifferentiable("is_inf", np.isinf, result=bool_, accepts=INEXACT, doc="Where x is infinite.")
is_finite = nondifferentiable("is_finite", np.isfinite, result=bool_, accepts=INEXACT, doc="Where x is finite.")


def _select_abstract(condition: Aval, x: Aval, y: Aval) -> Aval:
    check_dtype("where", "condition", condition, BOOL)
    dtype = same_dtype("where", ("x", "y"), (x, y))
    return Aval(broadcast_shapes("where", condition.shape, x.shape, y.shape), dtype)


select = general(
    "select",
    np.where,
    _select_abstract,
    vjp=(
        None,
        lambda ct, out, c, x, y: sum_to_like(select(c, ct, zeros_like(ct)), x),
        lambda ct, out, c, x, y: sum_to_like(select(c, zeros_like(ct), ct), y),
    ),
    jvp=(
        None,
        lambda t, out, c, x, y: select(c, t, zeros_like(out)),
        lambda t, out, c, x, y: select(c, zeros_like(out), t),
    ),
    batch=elementwise_rule,
    selects=True,
    type="SelectV2",
    args=("condition", "x", "y"),
    sparsity=ELEMENTWISE,
    elementwise=True,
    layout=Layout.LIKE,
    shares=(),
    doc="x where the condition holds, else y. The branch not taken gets a zero cotangent.",
)


def _keep_chosen_kernel(x: Any, chosen: Any, *, fixed: bool) -> Operand:
    if x.shape != chosen.shape:
        x = np.broadcast_to(x, np.broadcast_shapes(x.shape, chosen.shape))
    # the order in memory is that of x alone
    out = np.positive(x, out=np.empty_like(x, subok=False))
    if x.size and has_nan(x):
        out[np.isnan(x) & np.equal(chosen, 0)] = 0
    return scalar(out)


def zero_of(x: Any) -> Array:
    """The number 0 in the dtype of `x`."""
    return dtype_of(x).numpy.type(0)


def _through(ct: Any, x: Any, chosen: Any, fixed: bool) -> Operand:
    """A cotangent or tangent where the result is `x` for all values near these."""
    kept = not_equal(chosen, zero_of(chosen))
    return select(kept if fixed else logical_or(equal(x, x), kept), ct, zeros_like(ct))


keep_chosen = general(
    "keep_chosen",
    _keep_chosen_kernel,
    lambda x, chosen, *, fixed: Aval(broadcast_shapes("keep_chosen", x.shape, chosen.shape), x.dtype),
    vjp=(lambda ct, out, x, chosen, *, fixed: sum_to_like(_through(ct, x, chosen, fixed), x), None),
    jvp=(lambda t, out, x, chosen, *, fixed: broadcast_like(_through(t, x, chosen, fixed), out), None),
    batch=elementwise_rule,
    args=("x", "chosen"),
    sparsity=ELEMENTWISE,
    selects=True,
    elementwise=True,
    layout=lambda a, params: (
        Layout.VIEW if a[0].shape == broadcast_shapes("keep_chosen", a[0].shape, a[1].shape) else Layout.ANY
    ),
    shares=(),
    doc="""`x`, but zero where it is NaN and `chosen` is zero (`engine.derivatives.strong_zeros`).

    With `fixed`, `chosen` is zero for all values near these as well, and so is the derivative of the result.
    """,
)


true_indices = nondifferentiable(
    "true_indices",
    lambda condition: np.argwhere(condition).astype(np.int64),
    abstract=lambda condition: Aval((None, condition.ndim), int64),
    batch=refused(
        "without `x` and `y` the condition must not differ between batch elements, whose results would differ in "
        "shape; give `x` and `y` to choose between values",
        ShapeError,
    ),
    type="Where",
    args=("condition",),
    layout=Layout.ANY,
    doc="The indices of the entries that are true (or not zero), one row each.",
)


@operands("x", "y", alone=("condition",))
def where(condition: Any, x: Any = None, y: Any = None) -> Operand:
    """`x` where the condition holds, else `y`; without these, where it holds.

    Parameters
    ----------
    condition : bool value
    x, y : value, optional
        Broadcast together with the condition. The branch not taken gets a zero gradient, even where its derivative
        is infinite.

    Returns
    -------
    value
        The choice; or the indices of the true entries, int64 of shape (entries, rank of the condition).

    Examples
    --------
    >>> where(np.array([True, False]), np.array([1, 2]), np.array([3, 4]))
    array([1, 4])
    >>> where(np.array([True, False, True]))
    array([[0], [2]])
    """
    if x is None and y is None:
        return true_indices(condition)
    if x is None or y is None:
        raise InvalidArgumentError("where: x and y must both be non-None or both be None.")
    return select(condition, x, y)


# ---- cast ------------------------------------------------------------------------------------------------------------


def _cast_kernel(x: Any, *, dtype: DType) -> Operand:
    if x.dtype.kind == "c" and dtype.numpy.kind != "c":
        x = x.real
    return x.astype(dtype.numpy)


def _truncate_kernel(x: Any, *, dtype: DType) -> Operand:
    x = x.real if x.dtype.kind == "c" else x
    # what records a program records the cast alone, and its loop refuses what does not fit
    if x.dtype.kind != "f" or dtype.numpy.kind == "b" or not isinstance(x, (np.ndarray, np.generic)) or not x.size:
        return x.astype(dtype.numpy)
    x, limits = np.asarray(x), np.iinfo(dtype.numpy)
    # 2.0**63 and not its predecessor: beside the largest numbers of 64 bits there is no float
    too_small, too_large = limits.min - 1.0, limits.max + 1.0
    if x.min() > too_small and x.max() < too_large:
        return x.astype(dtype.numpy)
    fits = (x > too_small) & (x < too_large)
    out = np.where(fits, x, 0).astype(dtype.numpy)
    out[x >= too_large], out[x <= too_small] = limits.max, limits.min
    return out


def _cast_abstract(x: Aval, *, dtype: DType) -> Aval:
    return Aval(x.shape, dtype, x.value if dtype.is_integer else None)


cast_op = linear(
    "cast_op",
    _cast_kernel,
    lambda ct, x, *, dtype: cast(ct, dtype_of(x)),
    _cast_abstract,
    elementwise_rule,
    type="Cast",
    args=("x",),
    sparsity=ELEMENTWISE,
    elementwise=True,
    shares=(),
    doc="Conversion to a floating or complex type. Complex to real keeps the real part.",
)
truncate = nondifferentiable(
    "truncate",
    _truncate_kernel,
    abstract=_cast_abstract,
    type="Cast",
    elementwise=True,
    doc="Conversion to an integer or bool, which carries no derivative.",
)


@operands("x")
def cast(x: Any, dtype: Any) -> Any:
    """Convert `x` to another dtype.

    Parameters
    ----------
    x : value
    dtype : DType or whatever `as_dtype` accepts
        Floating and complex targets carry derivatives, integers and bool cut them. Floating numbers are cut towards
        zero for integers; those beyond the integers' range become the largest or smallest one, and NaN becomes 0.

    Returns
    -------
    value
        `x` itself if it has the dtype already.
    """
    target = as_dtype(dtype)
    if dtype_of(x) is target:
        return x
    if string in (dtype_of(x), target):
        raise DTypeError(
            f"cast: {dtype_of(x).name} cannot be cast to {target.name}; use tf.strings.to_number or as_string"
        )
    op = cast_op if target.is_differentiable and dtype_of(x).is_differentiable else truncate
    return op(x, dtype=target)


def _bitcast_kernel(x: Any, *, dtype: DType) -> np.ndarray:
    have, want = x.dtype.itemsize, dtype.numpy.itemsize
    wide = np.ascontiguousarray(x)[..., None] if have >= want else np.ascontiguousarray(x)
    seen = wide.reshape(x.shape + wide.shape[x.ndim :]).view(dtype.numpy)
    return np.array(seen if have > want else seen[..., 0])


def _bitcast_abstract(x: Aval, *, dtype: DType) -> Aval:
    have, want = x.dtype.size, dtype.size
    if x.shape is None:
        return Aval(None, dtype)
    if have >= want:
        return Aval(x.shape if have == want else (*x.shape, have // want), dtype)
    if not x.shape or x.shape[-1] not in (None, want // have):
        raise ShapeError(f"bitcast: Cannot bitcast {x} to {dtype.name}: the last dimension must be {want // have}")
    return Aval(x.shape[:-1], dtype)


bitcast_op = nondifferentiable(
    "bitcast_op",
    _bitcast_kernel,
    abstract=_bitcast_abstract,
    batch=lambda op, size, flags, inputs, params: op(*inputs, **params),
    strict=False,
    type="Bitcast",
    args=("input",),
    doc="The same bytes, read as numbers of another dtype.",
)


@operands("input")
def bitcast(input: Any, type: Any) -> Operand:
    """The same bytes, read as numbers of another dtype.

    Parameters
    ----------
    input : numeric value
    type : DType
        If its numbers are smaller than those of `input`, the result has one more axis; if they are larger, the last
        axis of `input` holds the parts of one.

    Examples
    --------
    >>> hex(bitcast(np.float32(1.0), "int32").item())
    '0x3f800000'
    """
    check_dtype("bitcast", "input", aval_of(input), NUMERIC)
    target = as_dtype(type)
    if target not in NUMERIC:
        raise DTypeError(f"bitcast: argument `type` must be numeric, got {target.name}")
    return bitcast_op(input, dtype=target)


def cast_like(x: Any, ref: Any) -> Operand:
    """`x` in the dtype of `ref`."""
    return cast(x, dtype_of(ref))
