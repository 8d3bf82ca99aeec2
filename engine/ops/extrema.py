"""The largest and smallest elements over axes, and where they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.arguments import normalize_axis
from engine.core.aval import Aval
from engine.core.batching import axis_param
from engine.core.dtypes import BOOL, REAL, DType, as_dtype, int16, int32, int64, uint16
from engine.core.kinds import check_dtype, nondifferentiable
from engine.core.op import Op
from engine.core.operands import Operand, operands
from engine.ops.axis_args import Axes, reduced_shape, single_axis
from engine.ops.compare import cast_like, equal
from engine.ops.reduce import nothing_reduced, reduce_sum_op, reduce_with, reduction
from engine.runtime.errors import DTypeError, ShapeError


def _extremum_kernel(ufunc: Any) -> Callable[..., Any]:
    sign = 1 if ufunc is np.minimum else -1

    def kernel(x: Any, *, axis: Axes, keepdims: bool) -> Operand:
        if x.size:
            return ufunc.reduce(x, axis=axis, keepdims=keepdims)
        if x.dtype.kind == "f":
            worst: Any = sign * np.inf
        else:
            worst = np.iinfo(x.dtype).max if sign == 1 else np.iinfo(x.dtype).min
        return ufunc.reduce(x, axis=axis, keepdims=keepdims, initial=worst)

    return kernel


def _share_of_ties(out: Any, x: Any, axis: Axes) -> Operand:
    """1 at the extremum; 1/k at each of k ties."""
    chosen = cast_like(equal(x, out), x)
    return chosen / reduce_sum_op(chosen, axis=axis, keepdims=True)


def _extremum_op(name: str, ufunc: np.ufunc, type: str, adjective: str) -> Op:
    return reduction(
        name,
        _extremum_kernel(ufunc),
        _share_of_ties,
        accepts=REAL,
        selects=True,
        type=type,
        simplify=nothing_reduced,
        module=__name__,
        doc=f"""{adjective} element over axes.

    The op reads its operand once; the derivative costs some 10 times as much, as it compares, counts ties and divides
    by their number, writing an array each time.
    """,
    )


reduce_max_op = _extremum_op("reduce_max", np.maximum, "Max", "Largest")
reduce_min_op = _extremum_op("reduce_min", np.minimum, "Min", "Smallest")


@operands("input_tensor")
def reduce_max(input_tensor: Any, axis: Any = None, keepdims: bool = False) -> Operand:
    """Largest element over axes (parameters as in `reduce_sum`). Each of k ties has the derivative 1/k.

    Examples
    --------
    >>> reduce_max(np.array([[1.0, 5.0], [3.0, 4.0]]), axis=0)
    array([3., 5.])
    """
    return reduce_with(reduce_max_op, input_tensor, axis, keepdims)


@operands("input_tensor")
def reduce_min(input_tensor: Any, axis: Any = None, keepdims: bool = False) -> Operand:
    """Smallest element over axes (parameters as in `reduce_sum`). Each of k ties has the derivative 1/k.

    Examples
    --------
    >>> reduce_min(np.array([[1.0, 5.0], [3.0, 4.0]]), axis=0)
    array([1., 4.])
    """
    return reduce_with(reduce_min_op, input_tensor, axis, keepdims)


def _position_type(name: str, output_type: Any) -> DType:
    dtype = as_dtype(output_type)
    if dtype not in (int16, int32, int64, uint16):
        allowed = "not in list of allowed values: int16, uint16, int32, int64"
        raise DTypeError(f"{name}: Value passed to parameter 'output_type' has DataType {dtype.name} {allowed}")
    return dtype


def _position_kernel(find: Callable[..., Any], worst: float) -> Callable[..., Any]:
    def kernel(x: Any, *, axis: int, output_type: DType) -> Operand:
        if not x.ndim:
            raise IndexError("a scalar has no axis")  # the abstract evaluation says it in full
        found = find(x, axis, keepdims=True)
        # NumPy stops at the first NaN
        if x.dtype.kind == "f" and np.isnan(np.take_along_axis(x, found, axis)).any():
            found = find(np.where(np.isnan(x), x.dtype.type(worst), x), axis, keepdims=True)
        return found.squeeze(axis).astype(output_type.numpy)

    return kernel


def _position_abstract(name: str) -> Callable[..., Aval]:
    def abstract(x: Aval, *, axis: int, output_type: DType) -> Aval:
        check_dtype(name, "input", x, REAL | BOOL)
        if x.shape is None:
            return Aval(None, output_type)
        at = normalize_axis(name, axis, len(x.shape))
        if not x.shape or x.shape[at] == 0:
            raise ShapeError(f"{name}: Reduction axis {at} is empty in argument `input`: {x}")
        return Aval(reduced_shape(x.shape, (axis,), False), output_type)

    return abstract


argmax_op = nondifferentiable(
    "argmax_op",
    _position_kernel(np.argmax, -np.inf),
    abstract=_position_abstract("argmax"),
    batch=axis_param,
    type="ArgMax",
    args=("input",),
    doc="Position of the largest element along an axis, NaN passed over.",
)
argmin_op = nondifferentiable(
    "argmin_op",
    _position_kernel(np.argmin, np.inf),
    abstract=_position_abstract("argmin"),
    batch=axis_param,
    type="ArgMin",
    args=("input",),
    doc="Position of the smallest element along an axis, NaN passed over.",
)


@operands("input")
def argmax(input: Any, axis: Any = None, output_type: Any = "int64") -> Operand:
    """Position of the largest element along one axis (axis 0 if None); the first of several equal ones.

    NaN is passed over; 0 where there is nothing else.

    Examples
    --------
    >>> argmax(np.array([[1.0, 5.0], [3.0, 4.0]]), axis=1)
    array([1, 1])
    """
    at = single_axis("argmax", input, 0 if axis is None else axis)
    return argmax_op(input, axis=at, output_type=_position_type("argmax", output_type))


@operands("input")
def argmin(input: Any, axis: Any = None, output_type: Any = "int64") -> Operand:
    """Position of the smallest element along one axis (axis 0 if None); the first of several equal ones.

    NaN is passed over; 0 where there is nothing else.

    Examples
    --------
    >>> argmin(np.array([[1.0, 5.0], [3.0, 4.0]]), axis=1)
    array([0, 0])
    """
    at = single_axis("argmin", input, 0 if axis is None else axis)
    return argmin_op(input, axis=at, output_type=_position_type("argmin", output_type))
