"""Shapes: what they are (`shape`, `size`, `rank`), and values in other ones (reshape, squeeze, transpose, broadcast).

Shape-like arguments (a new shape, multiples) are *operands*, not parameters, because a graph may compute them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from engine.core import expand_axes
from engine.core.arguments import as_int, as_ints
from engine.core.aval import Aval, Shape, broadcast_shapes, format_shape
from engine.core.batching import Batches, NotBatched, elementwise_rule, lead_param, leading
from engine.core.dtypes import INTEGER, DType, as_dtype, int32
from engine.core.kinds import check_dtype, linear, nondifferentiable, same_dtype
from engine.core.op import Layout, Op
from engine.core.operands import Operand, operands
from engine.core.sparsity import IN_ORDER, REARRANGES
from engine.core.structural import broadcast_array_to, conj, reshape_like, sum_to_like
from engine.core.tensor_shape import TensorShape
from engine.core.trace import unless_large
from engine.core.value import Value, aval_of, shape_of
from engine.ops.axis_args import left_over, only_item, permutation, reduction_axes, static_axis, static_int
from engine.ops.joining import stack
from engine.runtime.cache import cached
from engine.runtime.errors import DTypeError, NotKnownYet, ShapeError

# ---- what a shape is -------------------------------------------------------------------------------------------------


def _count_batch(op: Op, size: int, flags: Any, inputs: Any, params: dict[str, Any]) -> Batches:
    return NotBatched(op(*inputs, **{**params, "lead": params.get("lead", 0) + 1}))


def _shape_abstract(x: Aval, *, out_type: DType, lead: int = 0) -> Aval:
    if x.shape is None:
        return Aval((None,), out_type)
    dims = x.shape[lead:]
    return Aval((len(dims),), out_type, dims)


def _of_shape(name: str, kernel: Callable[..., Any], abstract: Callable[..., Aval], doc: str) -> Op:
    """An op that looks at the shape of its operand alone."""
    facts: dict[str, Any] = {"type": name.removesuffix("_op").capitalize(), "args": ("input",), "from_avals": True}
    return nondifferentiable(name, kernel, abstract=abstract, batch=_count_batch, doc=doc, **facts)


shape_op = _of_shape(
    "shape_op",
    lambda x, *, out_type, lead=0: np.asarray(x.shape[lead:], out_type.numpy),
    _shape_abstract,
    "The dimensions, as an integer vector.",
)
size_op = _of_shape(
    "size_op",
    lambda x, *, out_type, lead=0: np.asarray(np.prod(x.shape[lead:], dtype=np.int64), out_type.numpy),
    lambda x, *, out_type, lead=0: Aval((), out_type, None if x.shape is None else Aval(x.shape[lead:], x.dtype).size),
    "The number of elements.",
)
rank_op = _of_shape(
    "rank_op",
    lambda x, *, lead=0: np.asarray(x.ndim - lead, np.int32),
    lambda x, *, lead=0: Aval((), int32, None if x.shape is None else len(x.shape) - lead),
    "The number of dimensions.",
)


def _out_type(name: str, out_type: Any) -> DType:
    wanted = int32 if out_type is None else as_dtype(out_type)
    if not wanted.is_integer:
        raise DTypeError(f"{name}: argument `out_type` must be an integer dtype, got {wanted.name}")
    return wanted


@operands("input")
def shape(input: Any, out_type: Any = int32) -> Operand:
    """The dimensions of `input` as an integer vector.

    Examples
    --------
    >>> shape(np.zeros((2, 3)))
    array([2, 3], dtype=int32)
    """
    return shape_op(input, out_type=_out_type("shape", out_type))


@operands("*input")
def shape_n(input: Any, out_type: Any = int32) -> list[Any]:
    """The shapes of several values, each as an integer vector."""
    return [shape(x, out_type) for x in input]


@operands("input")
def size(input: Any, out_type: Any = int32) -> Operand:
    """The number of elements of `input`."""
    return size_op(input, out_type=_out_type("size", out_type))


@operands("input")
def rank(input: Any) -> Operand:
    """The number of dimensions of `input`."""
    return rank_op(input)


def known_dims(aval: Aval) -> Shape:
    """The dimensions that an integer vector operand is known to hold; None if not even their number is known."""
    value = aval.value
    if value is None:
        count = aval.shape[0] if aval.shape is not None and len(aval.shape) == 1 else None
        return None if count is None else (None,) * count
    return value if isinstance(value, tuple) else (value,)


def as_dims(shape: Any) -> tuple[int, ...]:
    """A shape operand, as a kernel gets it, as a tuple of ints."""
    return tuple(shape.tolist() if type(shape) is np.ndarray and shape.ndim == 1 else np.ravel(shape).tolist())


def shape_operand(shape: Any) -> Any:
    """A shape-like argument as an operand: an integer vector.

    Accepts an int, a list of ints and scalar values, an array, a value, or a TensorShape.

    Raises
    ------
    ShapeError
        If a dimension is None.
    DTypeError
        If a dimension is no integer.
    """
    entries = [shape] if type(shape) is int else shape
    if type(entries) in (list, tuple) and {int}.issuperset(map(type, entries)):
        return _vector_of_ints(tuple(entries))
    if isinstance(shape, (Value, np.ndarray, np.generic)):
        return shape
    if hasattr(shape, "as_tuple"):
        shape = shape.as_tuple()
    if shape is None:
        raise ShapeError("a shape is needed whose rank is known; use tf.shape(x) for that of a value x")
    if not isinstance(shape, (list, tuple)):
        shape = [shape]
    dims = [d if isinstance(d, Value) else getattr(d, "value", d) for d in shape]
    dtype = next((d.dtype for d in dims if isinstance(d, Value)), None)
    if dtype is not None:
        return stack([d if isinstance(d, Value) else dtype.as_numpy_dtype(d) for d in dims])
    return dims_array(dims)


def dims_array(dims: Sequence[Any]) -> np.ndarray:
    """Dimensions, all of them known, as an integer vector."""
    if None in dims:
        raise ShapeError(f"a dimension of the shape {dims} is not known; use tf.shape(x)[i] for it, or -1 in a reshape")
    return _vector_of_ints(tuple([as_int("shape", "dimension", d) for d in dims]))


@cached(4096)
def _vector_of_ints(dims: tuple[int, ...]) -> np.ndarray:
    """The same array for the same ints, so that who compares arrays seldom needs to look at the contents."""
    if not all(-(2**63) <= d < 2**63 for d in dims):
        raise ShapeError(f"a dimension must be an int64, got the shape {dims}")
    array = np.asarray(dims, np.int32 if all(-(2**31) <= d < 2**31 for d in dims) else np.int64)
    array.flags.writeable = False
    return array


def unchanged(abstract: Callable[..., Aval]) -> Callable[..., int | None]:
    """`Op.simplify` of ops that give operand 0 itself whenever they keep its shape."""

    def simplify(avals: Sequence[Aval], params: dict[str, Any]) -> int | None:
        return 0 if avals[0].is_static and abstract(*avals, **params).shape == avals[0].shape else None

    return simplify


# ---- reshape ---------------------------------------------------------------------------------------------------------


def _reshape_kernel(x: Any, shape: Any, *, lead: int = 0) -> np.ndarray:
    dims = tuple(shape.tolist()) if type(shape) is np.ndarray and shape.ndim == 1 else as_dims(shape)
    if not x.size and dims.count(-1) == 1 and min(dims) == -1 and (0 not in dims or 0 in x.shape[lead:]):
        # where there are no elements, NumPy does not always know what -1 stands for
        dims = tuple([left_over(x.shape[lead:], dims) if d == -1 else d for d in dims])
    wanted = x.shape[:lead] + dims if lead else dims
    out = x.reshape(wanted)
    if out.shape != wanted and min(dims) < -1:
        # NumPy takes any negative number for -1
        raise ShapeError(f"reshape: argument `shape` must hold dimensions >= 0, and -1 at most once, got {dims}")
    return out


def _reshape_abstract(x: Aval, shape: Aval, *, lead: int = 0) -> Aval:
    check_dtype("reshape", "shape", shape, INTEGER)
    wanted = known_dims(shape)
    if wanted is None:
        return Aval(None, x.dtype)
    kept = (None,) * lead if x.shape is None else x.shape[:lead]
    size = None if x.shape is None else Aval(x.shape[lead:], x.dtype).size
    dims = [None if d == -1 else d for d in wanted]
    if wanted.count(-1) > 1 or any(d is not None and d < -1 for d in wanted):
        raise ShapeError(
            f"reshape: argument `shape` must hold dimensions >= 0, and -1 at most once, got {format_shape(wanted)}"
        )
    if size is not None and shape.value is not None and wanted.count(-1) + wanted.count(None) <= 1:
        rest = int(np.prod([d for d in dims if d is not None], dtype=np.int64))
        free = [i for i, d in enumerate(dims) if d is None]
        if size % rest if free and rest else rest != size:
            raise ShapeError(
                f"reshape: Cannot reshape a tensor with {size} elements (argument `tensor` of shape "
                f"{format_shape(x.shape)}) to `shape` {format_shape(tuple(wanted))}: "
                + (f"must be evenly divisible by {rest}" if free else f"this has {rest} elements")
            )
        if free and (rest or -1 in wanted):
            dims[free[0]] = left_over(x.shape[lead:], wanted)  # type: ignore[index]
    same_order = not lead and len(dims) == 1 and isinstance(x.value, tuple)
    return Aval((*kept, *dims), x.dtype, x.value if same_order else None)


reshape_op = linear(
    "reshape_op",
    _reshape_kernel,
    lambda ct, x, shape, *, lead=0: reshape_like(ct, x, lead=lead, ref_lead=lead),
    _reshape_abstract,
    lead_param,
    type="Reshape",
    args=("tensor", "shape"),
    simplify=lambda avals, params: 0,
    sparsity=IN_ORDER,
    layout=Layout.VIEW,
    doc="The same elements in another shape; one dimension may be -1.",
)


@operands("tensor")
def reshape(tensor: Any, shape: Any) -> Any:
    """The same elements in another shape.

    Parameters
    ----------
    tensor : value
    shape : sequence of int and scalar values, or integer vector
        One dimension may be -1: whatever is left.

    Raises
    ------
    ShapeError
        If `tensor` does not have as many elements.

    Examples
    --------
    >>> reshape(np.arange(6), [2, -1]).shape
    (2, 3)
    """
    return reshape_op(tensor, shape_operand(shape))


@operands("input")
def expand_dims(input: Any, axis: Any) -> Operand:
    """`input` with an axis of size one inserted at position `axis` (or the only one in a list) of the result.

    Examples
    --------
    >>> expand_dims(np.zeros((2, 3)), -1).shape
    (2, 3, 1)
    """
    if isinstance(axis, (list, tuple)) and len(axis) > 1:
        raise ShapeError(f"expand_dims: argument `axis` must be a tensor with a single value, got {axis!r}")
    return expand_axes.expand_dims(input, (static_int("expand_dims", "axis", only_item("expand_dims", axis)),))


@operands("input")
def squeeze(input: Any, axis: Any = None) -> Operand:
    """`input` without axes of size one: those named by `axis`, or all of them.

    Examples
    --------
    >>> squeeze(np.zeros((1, 3, 1)), [0]).shape
    (3, 1)
    """
    axis = static_axis("squeeze", axis)
    shape = shape_of(input)
    if axis is None or (isinstance(axis, (list, tuple)) and not axis):
        if shape is None or None in shape:
            raise NotKnownYet(f"squeeze: it is not known which axes of {aval_of(input)} have size one; give `axis`")
        axis = [i for i, d in enumerate(shape) if d == 1]
    # counted from the end, so that the parameter holds for a batch too
    return expand_axes.squeeze(input, reduction_axes("squeeze", input, axis) or ())


# ---- transpose -------------------------------------------------------------------------------------------------------


def _transpose_abstract(x: Aval, *, perm: tuple[int, ...], lead: int = 0) -> Aval:
    if x.shape is None:
        return Aval((None,) * (len(perm) + lead), x.dtype)
    if len(x.shape) - lead != len(perm):
        raise ShapeError(f"transpose: argument `perm` must have one entry per dimension of {x}, got {perm}")
    return Aval(x.shape[:lead] + tuple(x.shape[lead + p] for p in perm), x.dtype)


def _transpose_back(ct: Any, x: Any, *, perm: tuple[int, ...], lead: int = 0) -> Operand:
    inverse = sorted(range(len(perm)), key=perm.__getitem__)
    return transpose_op(ct, perm=tuple(inverse), lead=lead)


_TRANSPOSES: dict[str, Any] = {"type": "Transpose", "args": ("a",), "sparsity": REARRANGES, "layout": Layout.ANY}
_TRANSPOSES |= {"shares": (0,), "keeps_nan": (0,), "repeats": True}
transpose_op = linear(
    "transpose_op",
    lambda x, *, perm, lead=0: x.transpose((*range(lead), *[lead + p for p in perm]) if lead else perm),
    _transpose_back,
    _transpose_abstract,
    lead_param,
    simplify=lambda avals, params: 0 if params["perm"] == tuple(range(len(params["perm"]))) else None,
    doc="Dimensions in another order.",
    **_TRANSPOSES,
)


@operands("a")
def transpose(a: Any, perm: Any = None, conjugate: bool = False) -> Operand:
    """`a` with its dimensions permuted (reversed if `perm` is None).

    Parameters
    ----------
    a : value
    perm : sequence of int, optional
    conjugate : bool
        Conjugate complex values as well.

    Examples
    --------
    >>> transpose(np.zeros((2, 3, 4)), [0, 2, 1]).shape
    (2, 4, 3)
    """
    if perm is None:
        shape = shape_of(a)
        if shape is None:
            raise NotKnownYet("transpose: the rank of `a` is not known; give `perm`")
        out = transpose_op(a, perm=tuple(range(len(shape))[::-1]))
        return conj(out) if conjugate else out
    shape, length = shape_of(a), shape_of(perm) if isinstance(perm, Value) else None
    rank = (length or (None,))[0] if shape is None else len(shape)
    perm = static_axis("transpose", perm, "perm", None if rank is None else (None,) * rank)
    out = transpose_op(a, perm=permutation(as_ints("transpose", "perm", perm)))
    return conj(out) if conjugate else out


def _matrix_transpose_abstract(a: Aval) -> Aval:
    if a.shape is None:
        return a
    if len(a.shape) < 2:
        raise ShapeError(f"matrix_transpose: argument `a` should be a (batch) matrix with rank 2 or more, got {a}")
    return Aval((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)


matrix_transpose_op = linear(
    "matrix_transpose_op",
    lambda a: a.swapaxes(-1, -2),
    lambda ct, a: matrix_transpose_op(ct),
    _matrix_transpose_abstract,
    leading(2),
    doc="The last two dimensions exchanged.",
    **_TRANSPOSES,
)


@operands("a")
def matrix_transpose(a: Any, conjugate: bool = False) -> Operand:
    """`a` with its last two dimensions exchanged.

    Parameters
    ----------
    a : value, shape (..., m, n)
    conjugate : bool
        Conjugate complex values as well.

    Returns
    -------
    value, shape (..., n, m)
    """
    out = matrix_transpose_op(a)
    return conj(out) if conjugate else out


# ---- broadcast_to ----------------------------------------------------------------------------------------------------


def _broadcast_abstract(x: Aval, shape: Aval, *, lead: int = 0) -> Aval:
    check_dtype("broadcast_to", "shape", shape, INTEGER)
    wanted = known_dims(shape)
    if wanted is None or x.shape is None:
        return Aval(None if lead else wanted, x.dtype)
    merged = broadcast_shapes("broadcast_to", x.shape[lead:], wanted)
    assert merged is not None
    if len(merged) != len(wanted) or any(w == 1 and m not in (1, None) for w, m in zip(wanted, merged, strict=True)):
        raise ShapeError(
            f"broadcast_to: {x} does not broadcast to shape {format_shape(wanted)}, which has fewer dimensions or a 1"
        )
    # a dimension other than 1 stays as it is
    known = tuple([m if w is None and m != 1 else w for w, m in zip(wanted, merged, strict=True)])
    return Aval(x.shape[:lead] + known, x.dtype)


_REPEATING: dict[str, Any] = {"simplify": unchanged(_broadcast_abstract), "sparsity": REARRANGES, "repeats": True}

broadcast_to_op = linear(
    "broadcast_to_op",
    lambda x, shape, *, lead=0: broadcast_array_to(x, np.shape(x)[:lead] + as_dims(shape), lead),
    lambda ct, x, shape, *, lead=0: sum_to_like(ct, x, lead=lead, ref_lead=lead),
    _broadcast_abstract,
    lead_param,
    type="BroadcastTo",
    args=("input", "shape"),
    layout=Layout.PART,
    **_REPEATING,
    doc="Repeated along axes of size one and along new leading axes.",
)


fill_op = linear(
    "fill_op",
    lambda value, dims, *, lead=0: np.array(broadcast_to_op.kernel(value, dims, lead=lead), order="C"),
    lambda ct, value, dims, *, lead=0: sum_to_like(ct, value, lead=lead, ref_lead=lead),
    _broadcast_abstract,
    lead_param,
    type="Fill",
    args=("value", "dims"),
    layout=Layout.FRESH,
    **_REPEATING,
    doc="A number in each place of a shape.",
)


@operands("input")
def broadcast_to(input: Any, shape: Any) -> Operand:
    """`input` broadcast to `shape`, by NumPy's rules.

    Examples
    --------
    >>> broadcast_to(np.array([1, 2]), [2, 2])
    array([[1, 2],
           [1, 2]])
    """
    dims = shape_operand(shape)
    if not isinstance(dims, Value):
        input = unless_large(input, math.prod(as_dims(dims)))
    return broadcast_to_op(input, dims)


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """The static shape that values of two static shapes broadcast to."""
    shapes = (TensorShape(shape_x).as_tuple(), TensorShape(shape_y).as_tuple())
    return TensorShape(broadcast_shapes("broadcast_static_shape", *shapes))


def same_for_all(op: Op, *_: Any) -> NoReturn:
    """Batch rule of ops on shape-like operands only."""
    raise ShapeError(f"{op.title}: the shape-like arguments {op.args} must not differ between batch elements")


def _broadcast_dims(x: Aval, y: Aval) -> Aval:
    dtype = same_dtype("broadcast_dynamic_shape", ("shape_x", "shape_y"), (x, y))
    merged = broadcast_shapes("broadcast_dynamic_shape", known_dims(x), known_dims(y))
    return Aval((None if merged is None else len(merged),), dtype, merged)


broadcast_dynamic_shape = nondifferentiable(
    "broadcast_dynamic_shape",
    lambda x, y: np.asarray(np.broadcast_shapes(as_dims(x), as_dims(y)), x.dtype),
    abstract=_broadcast_dims,
    batch=same_for_all,
    type="BroadcastArgs",
    args=("shape_x", "shape_y"),
    doc="The shape, an integer vector, that values of two shapes broadcast to.",
)


# ---- identity --------------------------------------------------------------------------------------------------------

identity = linear(
    "identity",
    lambda x: x,
    lambda ct, x: ct,
    lambda x: x,
    elementwise_rule,
    args=("input",),
    simplify=lambda avals, params: 0,
    sparsity=IN_ORDER,
    layout=Layout.VIEW,
    doc="The value itself.",
)
stop_gradient = nondifferentiable(
    "stop_gradient",
    lambda x: x,
    abstract=lambda x: x,
    type="StopGradient",
    args=("input",),
    layout=Layout.VIEW,
    doc="The value itself, as a constant: no derivative flows through it.",
)


@operands("*input")
def identity_n(input: Any) -> list[Any]:
    """The values themselves."""
    return [identity(x) for x in input]
