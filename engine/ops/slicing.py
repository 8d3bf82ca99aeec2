"""Python's indexing of values (`getitem`), `slice`, `strided_slice` and `boolean_mask`."""

from __future__ import annotations

import builtins
import operator
from typing import Any

import numpy as np

from engine.core.arguments import as_int, as_ints, normalize_axis
from engine.core.aval import Aval, Shape, compatible, format_shape
from engine.core.dtypes import BOOL
from engine.core.kinds import check_dtype, linear
from engine.core.op import Layout, Op
from engine.core.operands import Operand, operands
from engine.core.sparsity import GATHERS, SCATTERS
from engine.core.trace import constant_value
from engine.core.value import Value, aval_of, dtype_of, shape_of
from engine.ops.axis_args import static_int
from engine.ops.gather import placed_shape
from engine.ops.indexing import OPERAND, getitem_op, placing_rule
from engine.runtime.errors import DTypeError, NotKnownYet, ShapeError

# ---- boolean masks ---------------------------------------------------------------------------------------------------


def _mask_key(mask: Any, axis: int) -> tuple[Any, ...]:
    if not mask.ndim:
        raise ShapeError("boolean_mask: mask cannot be scalar; it chooses along dimensions")
    return (*(builtins.slice(None),) * axis, mask)


def _mask_abstract(x: Aval, mask: Aval, *, axis: int = 0) -> Aval:
    check_dtype("boolean_mask", "mask", mask, BOOL)
    if mask.shape is None or x.shape is None:
        return Aval(None, x.dtype)
    if not mask.shape:
        raise ShapeError("boolean_mask: mask cannot be scalar; it chooses along dimensions")
    end = axis + len(mask.shape)
    if not compatible(x.shape[axis:end], mask.shape):
        raise ShapeError(
            f"boolean_mask: Shapes {format_shape(x.shape[axis:end])} (dimensions {axis} to {end - 1} of `tensor`) and "
            f"{format_shape(mask.shape)} (`mask`) are incompatible"
        )
    return Aval((*x.shape[:axis], None, *x.shape[end:]), x.dtype)


def _mask_batch(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Operand:
    if flags[1]:
        raise ShapeError(
            "boolean_mask: the mask must not differ between batch elements, whose results would differ in shape; "
            "use tf.where to blank entries out instead"
        )
    return op(*inputs, axis=params.get("axis", 0) + 1)


boolean_mask_op = linear(
    "boolean_mask_op",
    lambda x, mask, *, axis=0: x[_mask_key(mask, axis)],
    lambda ct, x, mask, *, axis=0: boolean_mask_back_op(ct, x, mask, axis=axis),
    _mask_abstract,
    _mask_batch,
    strict=False,
    type="BooleanMask",
    args=("tensor", "mask"),
    sparsity=GATHERS,
    layout=Layout.ANY,
    doc="The entries where the mask is true; `axis` is the first dimension that it covers.",
)


def _mask_back_kernel(ct: Any, like: Any, mask: Any, *, axis: int = 0, lead: int = 0, like_lead: int = 0) -> np.ndarray:
    out = np.zeros(ct.shape[:lead] + like.shape[like_lead:], ct.dtype)
    out[_mask_key(mask, lead + axis)] = ct
    return out


boolean_mask_back_op = linear(
    "boolean_mask_back_op",
    _mask_back_kernel,
    lambda ct, x, like, mask, *, axis=0, lead=0, like_lead=0: boolean_mask_op(ct, mask, axis=lead + axis),
    placed_shape,
    placing_rule,
    args=("ct", "like", "mask"),
    sparsity=SCATTERS,
    refuses=True,
    doc="`ct` where the mask is true, in zeros of the shape of `like`: the transpose of `boolean_mask_op`.",
)


@operands("tensor", alone=("mask",))
def boolean_mask(tensor: Any, mask: Any, axis: Any = None) -> Operand:
    """The entries of `tensor` where `mask` is true.

    Parameters
    ----------
    tensor : value
    mask : bool value, rank >= 1
        Of the shape of the dimensions it covers.
    axis : int, optional
        The first dimension that the mask covers, 0 by default.

    Returns
    -------
    value
        The covered dimensions become one, of as many entries as the mask has true ones.

    Examples
    --------
    >>> boolean_mask(np.array([1, 2, 3]), np.array([True, False, True]))
    array([1, 3])
    """
    first = static_int("boolean_mask", "axis", 0 if axis is None else axis)
    if shape_of(mask) == ():
        raise ShapeError("boolean_mask: mask cannot be scalar; it chooses along dimensions")
    shape = shape_of(tensor)
    if first < 0 and shape is None:
        raise NotKnownYet("boolean_mask: a negative `axis` needs a tensor of known rank")
    if shape is not None:
        first = normalize_axis("boolean_mask", first, len(shape))
    return boolean_mask_op(tensor, mask, axis=first)


# ---- what users write ------------------------------------------------------------------------------------------------


def getitem(x: Any, key: Any) -> Operand:
    """``x[key]``, as Python and NumPy mean it.

    Parameters
    ----------
    x : value
    key : int, slice, ``...``, ``None``, scalar integer value, a tuple of these, or a bool value
        A bool value of rank 1 or more is a mask, see `boolean_mask`. Slices may have tensors as bounds.

    Raises
    ------
    IndexOutOfRangeError
        If an int is out of range.
    DTypeError
        If an index is of another type, a list or an array of ints, say.

    Examples
    --------
    >>> getitem(np.arange(6).reshape(2, 3), (..., None, 0))
    array([[0],
           [3]])
    """
    kind = type(key)
    if kind is int:
        return getitem_op(x, spec=(key,))
    if kind is builtins.slice:
        key = (key,)
    elif kind is not tuple:
        if isinstance(key, (Value, np.ndarray)) and dtype_of(key).is_bool and shape_of(key) != ():
            return boolean_mask_op(x, key)
        key = (key,)
    dynamic: list[Any] = []
    spec = tuple([_spec_item(item, dynamic) for item in key])
    return getitem_op(x, *dynamic, spec=spec)


def _spec_item(item: Any, dynamic: list[Any]) -> Any:
    """An item of a spec for one of an index; values among it are appended to `dynamic`."""
    kind = type(item)
    if kind is int or item is None or item is ...:
        return item
    if kind is builtins.slice:
        parts = (item.start, item.stop, item.step)
        for part in parts:
            if part is not None and type(part) is not int:
                break
        else:
            return parts
        return tuple([part if part is None or type(part) is int else _scalar(part, dynamic) for part in parts])
    return _scalar(item, dynamic)


def _scalar(index: Any, dynamic: list[Any]) -> int | str:
    """An int, or `OPERAND` for a scalar value, which is appended to `dynamic`."""
    if isinstance(index, Value) and index.dtype.is_integer and compatible(shape_of(index), ()):
        dynamic.append(index)
        return OPERAND
    try:
        if not isinstance(index, (bool, np.bool_, Value)):
            return operator.index(index)
    except TypeError:
        pass
    hint = (
        "; use tf.gather to take several entries, tf.boolean_mask for a mask, or let tensors be indexed as NumPy's "
        "arrays are: tf.experimental.numpy.experimental_enable_numpy_behavior()"
        if np.ndim(index)
        else ""
    )
    raise DTypeError(
        "getitem: only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`), scalar integer tensors and "
        f"a single bool tensor are valid indices, got {index!r}{hint}"
    )


def _scalars(name: str, argument: str, x: Any, rank: Shape) -> list[Any]:
    """The entries of an integer vector, as ints where they are known."""
    known = None if isinstance(x, (list, tuple)) else constant_value(x)
    if known is not None:
        return list(as_ints(name, argument, known))
    if isinstance(x, (list, tuple)):
        return [i if isinstance(i, Value) else as_int(name, argument, i) for i in x]
    length = aval_of(x).shape
    count = length[0] if length else None
    if count is None:
        count = None if rank is None else len(rank)
    if count is None:
        raise NotKnownYet(f"{name}: the length of argument `{argument}` must be known, got {x!r}")
    values = aval_of(x).value
    parts = values if isinstance(values, tuple) else (None,) * count
    return [getitem(x, i) if part is None else part for i, part in enumerate(parts)]


@operands("input_")
def slice(input_: Any, begin: Any, size: Any) -> Operand:
    """``size[i]`` entries from ``begin[i]`` on, of each dimension i.

    Parameters
    ----------
    input_ : value
    begin, size : sequence of int and scalar values, or integer vector
        One entry per dimension; a size of -1 means all that are left.

    Raises
    ------
    IndexOutOfRangeError
        If a dimension does not have that many entries.

    Examples
    --------
    >>> slice(np.arange(6).reshape(2, 3), [0, 1], [-1, 2])
    array([[1, 2],
           [4, 5]])
    """
    shape = shape_of(input_)
    begins, sizes = _scalars("slice", "begin", begin, shape), _scalars("slice", "size", size, shape)
    if len(begins) != len(sizes) or (shape is not None and len(begins) != len(shape)):
        raise ShapeError(
            f"slice: arguments `begin` and `size` must have one entry per dimension of `input_` of shape "
            f"{format_shape(shape)}, got {len(begins)} and {len(sizes)}"
        )
    dynamic: list[Any] = []
    spec = tuple([(_bound(b, dynamic), _bound(s, dynamic)) for b, s in zip(begins, sizes, strict=True)])
    return getitem_op(input_, *dynamic, spec=spec)


def _bound(part: Any, dynamic: list[Any]) -> int | str | None:
    return part if type(part) is int else _scalar(part, dynamic)


@operands("input_")
def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Operand:
    """Python's indexing in the form in which TensorFlow's graphs have it.

    Parameters
    ----------
    input_ : value
    begin, end, strides : sequence of int and scalar values, or integer vector
        Item i of the index is ``begin[i]:end[i]:strides[i]``, unless bit i of a mask is set.
    begin_mask, end_mask : int
        The bound is left out.
    ellipsis_mask, new_axis_mask, shrink_axis_mask : int
        The item is ``...``, ``None`` or the int ``begin[i]``.

    Examples
    --------
    >>> strided_slice(np.arange(6).reshape(2, 3), [0, 2], [0, 0], [1, -1], begin_mask=1, end_mask=3)
    array([[2, 1, 0],
           [5, 4, 3]])
    """
    begins = _scalars("strided_slice", "begin", begin, None)
    ends = _scalars("strided_slice", "end", end, None)
    steps = [1] * len(begins) if strides is None else _scalars("strided_slice", "strides", strides, None)
    key: list[Any] = []
    for i, (start, stop, step) in enumerate(zip(begins, ends, steps, strict=True)):
        bit = 1 << i
        if ellipsis_mask & bit:
            key.append(...)
        elif new_axis_mask & bit:
            key.append(None)
        elif shrink_axis_mask & bit:
            key.append(start)
        else:
            key.append(builtins.slice(None if begin_mask & bit else start, None if end_mask & bit else stop, step))
    return getitem(input_, tuple(key))
