"""Shapes and data movement: reshape, transpose, broadcast, concat, stack, split, tile, pad.

Shape-like arguments (a new shape, multiples, paddings) are *operands*, not parameters, because a graph may compute them.
Rules never look at them: they hand them on to the transposed op together with a reference operand.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import axes
from engine.aval import Aval, Shape, broadcast_shapes, format_shape, normalize_axes, normalize_axis
from engine.batching import axis_param, lead_param, materialize
from engine.dtypes import INTEGER, DType, int32
from engine.eager import EagerTensor
from engine.errors import ShapeError
from engine.kinds import PerOperand, check_dtype, general, linear, nondifferentiable, same_dtype
from engine.op import Op
from engine.structural import broadcast_array_to, reshape_like, sum_to_like
from engine.value import Value, aval_of, shape_of


def known_dims(aval: Aval) -> Shape:
    """The dimensions that an integer vector operand is known to hold; None if not even their number is known."""
    value: Known = aval.value
    if value is None:
        count = aval.shape[0] if aval.shape and len(aval.shape) == 1 else None
        return None if count is None else (None,) * count
    return value if isinstance(value, tuple) else (value,)


def as_dims(shape: Any) -> tuple[int, ...]:
    """A shape operand, as a kernel gets it, as a tuple of ints."""
    return tuple(int(d) for d in np.ravel(shape))


# ---- reshape ---------------------------------------------------------------------------------------------------------


def _reshape_kernel(x: Any, shape: Any, *, lead: int = 0) -> Any:
    return np.reshape(x, np.shape(x)[:lead] + as_dims(shape))


def _reshape_abstract(x: Aval, shape: Aval, *, lead: int = 0) -> Aval:
    check_dtype("reshape", "shape", shape, INTEGER)
    wanted = known_dims(shape)
    if wanted is None:
        return Aval(None, x.dtype)
    kept = (None,) * lead if x.shape is None else x.shape[:lead]
    size = None if x.shape is None else Aval(x.shape[lead:], x.dtype).size
    dims = [None if d == -1 else d for d in wanted]
    if size is not None and shape.value is not None and wanted.count(-1) + wanted.count(None) <= 1:
        rest = int(np.prod([d for d in dims if d is not None], dtype=np.int64))
        free = [i for i, d in enumerate(dims) if d is None]
        fits = (rest and size % rest == 0) if free else rest == size
        if not fits and not (free and rest == 0 and size == 0):
            raise ShapeError(
                f"reshape: argument `tensor` has shape {format_shape(x.shape)} ({size} elements), "
                f"which does not fit into `shape` {format_shape(tuple(wanted))}"
            )
        if free:
            dims[free[0]] = size // rest if rest else 0
    return Aval((*kept, *dims), x.dtype)


reshape_op = linear(
    "reshape_op",
    _reshape_kernel,
    lambda ct, x, shape, *, lead=0: reshape_like(ct, x, lead=lead, ref_lead=lead),
    _reshape_abstract,
    lead_param,
    type="Reshape",
    args=("tensor", "shape"),
    doc="The same elements in another shape; one dimension may be -1.",
)


def shape_operand(shape: Any) -> Any:
    """A shape-like argument as an operand: a tuple of ints if known, else an integer vector (packed if it is a mixture).

    Accepts an int, a list of ints and scalar tensors, an array, a tensor, or a TensorShape.
    """
    if isinstance(shape, EagerTensor):
        return as_dims(shape._array)
    if isinstance(shape, Value):
        return shape
    if hasattr(shape, "as_tuple"):
        shape = shape.as_tuple()
    items = [shape] if isinstance(shape, (int, np.integer)) else list(shape)
    items = [d._array if isinstance(d, EagerTensor) else getattr(d, "value", d) for d in items]
    if any(isinstance(d, Value) for d in items):
        dtype = next(d.dtype for d in items if isinstance(d, Value))
        return stack([d if isinstance(d, Value) else dtype.as_numpy_dtype(d) for d in items])
    if any(d is None for d in items):
        raise ShapeError(f"a dimension of the shape {items} is not known; use tf.shape(x)[i] for it, or -1 in a reshape")
    return tuple(int(d) for d in items)


def reshape(tensor: Any, shape: Any) -> Any:
    """The same elements in another shape.

    Parameters
    ----------
    tensor : value
    shape : sequence of int, or integer vector
        One dimension may be -1: whatever is left.

    Examples
    --------
    >>> reshape(np.arange(6), [2, -1]).shape
    (2, 3)
    """
    return reshape_op(tensor, shape_operand(shape))


def expand_dims(input: Any, axis: int) -> Any:
    """`input` with an axis of size one inserted at position `axis` of the result."""
    return axes.expand_dims(input, (int(axis),))


def squeeze(input: Any, axis: Any = None) -> Any:
    """`input` without axes of size one: those named by `axis`, or all of them."""
    shape = shape_of(input)
    if axis is None or (isinstance(axis, (list, tuple)) and not axis):
        if shape is None or None in shape:
            raise ShapeError(f"squeeze: which axes have size one is not known for {aval_of(input)}; name them with `axis`")
        axis = [i for i, d in enumerate(shape) if d == 1]
    named = axis if isinstance(axis, (list, tuple)) else (axis,)
    if shape is not None:
        # counted from the end, so that the parameter holds for a batch too
        named = [normalize_axis("squeeze", a, len(shape)) - len(shape) for a in named]
    return axes.squeeze(input, [int(a) for a in named])


# ---- transpose -------------------------------------------------------------------------------------------------------


def _transpose_abstract(x: Aval, *, perm: tuple[int, ...], lead: int = 0) -> Aval:
    if x.shape is None:
        return Aval((None,) * (len(perm) + lead), x.dtype)
    if len(x.shape) - lead != len(perm):
        raise ShapeError(f"transpose: argument `perm` {perm} must name each of the {len(x.shape)} dimensions of {x} once")
    return Aval(x.shape[:lead] + tuple(x.shape[lead + p] for p in perm), x.dtype)


def _transpose_kernel(x: Any, *, perm: tuple[int, ...], lead: int = 0) -> Any:
    return np.transpose(x, tuple(range(lead)) + tuple(lead + p for p in perm) if lead else perm)


def _transpose_back(ct: Any, x: Any, *, perm: tuple[int, ...], lead: int = 0) -> Any:
    inverse = sorted(range(len(perm)), key=perm.__getitem__)
    return transpose_op(ct, perm=tuple(inverse), lead=lead)


transpose_op = linear(
    "transpose_op",
    _transpose_kernel,
    _transpose_back,
    _transpose_abstract,
    lead_param,
    type="Transpose",
    args=("a",),
    doc="Dimensions in another order.",
)


def transpose(a: Any, perm: Any = None, conjugate: bool = False) -> Any:
    """`a` with its dimensions permuted (reversed if `perm` is None).

    Parameters
    ----------
    a : value
    perm : sequence of int, optional
    conjugate : bool
        Conjugate complex values as well.
    """
    if perm is None:
        shape = shape_of(a)
        if shape is None:
            raise ShapeError("transpose: the rank of `a` is not known; give `perm`")
        perm = range(len(shape))[::-1]
    order = tuple(int(p) for p in perm)
    rank = len(order)
    if sorted(p % rank if -rank <= p < rank else p for p in order) != list(range(rank)):
        raise ShapeError(f"transpose: argument `perm` must name each dimension once, got {order}")
    out = transpose_op(a, perm=tuple(p % rank for p in order))
    return conj(out) if conjugate else out


# ---- broadcast_to ----------------------------------------------------------------------------------------------------


def _broadcast_kernel(x: Any, shape: Any, *, lead: int = 0) -> Any:
    return broadcast_array_to(x, np.shape(x)[:lead] + as_dims(shape), lead)


def _broadcast_abstract(x: Aval, shape: Aval, *, lead: int = 0) -> Aval:
    check_dtype("broadcast_to", "shape", shape, INTEGER)
    wanted = known_dims(shape)
    if wanted is None or x.shape is None:
        return Aval(None, x.dtype)
    merged = broadcast_shapes("broadcast_to", x.shape[lead:], wanted)
    if merged is not None and (len(merged) != len(wanted) or any(w == 1 != m for w, m in zip(wanted, merged, strict=True))):
        raise ShapeError(f"broadcast_to: {x} does not broadcast to shape {format_shape(wanted)}")
    return Aval(x.shape[:lead] + wanted, x.dtype)


broadcast_to_op = linear(
    "broadcast_to_op",
    _broadcast_kernel,
    lambda ct, x, shape, *, lead=0: sum_to_like(ct, x, lead=lead, ref_lead=lead),
    _broadcast_abstract,
    lead_param,
    type="BroadcastTo",
    args=("input", "shape"),
    doc="Repeated along axes of size one and along new leading axes.",
)


def broadcast_to(input: Any, shape: Any) -> Any:
    """`input` broadcast to `shape`, by NumPy's rules."""
    return broadcast_to_op(input, shape_operand(shape))


# ---- concat, split, stack, unstack -----------------------------------------------------------------------------------


def _concat_abstract(*values: Aval, axis: int) -> Aval:
    dtype = same_dtype("concat", ("*values",), values)
    known = [v.shape for v in values if v.shape is not None]
    if not known:
        return Aval(None, dtype)
    rank = len(known[0])
    shown = ", ".join(format_shape(v.shape) for v in values)
    if any(len(s) != rank for s in known):
        raise ShapeError(f"concat: argument `values` must have one rank, got shapes {shown}")
    at = normalize_axis("concat", axis, rank)
    dims: list[int | None] = []
    for i in range(rank):
        column = [s[i] for s in known]
        if i == at:
            dims.append(None if None in column or len(known) < len(values) else sum(column))  # type: ignore[arg-type]
            continue
        sizes = {d for d in column if d is not None}
        if len(sizes) > 1:
            raise ShapeError(f"concat: argument `values` must agree in all dimensions but {at}, got shapes {shown}")
        dims.append(sizes.pop() if sizes else None)
    value = None
    if rank == 1 and dtype.is_integer and all(v.shape is not None and known_dims(v) is not None for v in values):
        value = tuple(d for v in values for d in (known_dims(v) or ()))
    return Aval(tuple(dims), dtype, value)


def _piece(i: int, ct: Any, out: Any, *values: Any, axis: int) -> Any:
    return concat_piece(ct, *values, axis=axis, position=i)


concat_op = general(
    "concat_op",
    lambda *values, axis: np.concatenate(values, axis),
    _concat_abstract,
    vjp=PerOperand(_piece),
    jvp=PerOperand(lambda i, t, out, *values, axis: concat_place(t, *values, axis=axis, position=i)),
    batch=axis_param,
    type="ConcatV2",
    args=("*values",),
    doc="Values joined along an axis.",
)
