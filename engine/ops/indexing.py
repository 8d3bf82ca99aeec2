"""The op behind Python's indexing, ``x[1:, ..., None, i]``, and its transpose. `engine.ops.slicing` is what users call.

What is static about an index goes into a hashable *spec*, what a graph computes becomes scalar operands. A spec is a
tuple of

- an int: that entry of a dimension;
- ``(start, stop, step)``: a slice, as Python means it;
- ``(begin, size)``: `size` entries from `begin` on (-1: all that are left), which must exist;
- ``None``: a new dimension of size one; ``...``: all dimensions that the other items do not name.

The string `OPERAND` in place of an int stands for the next of the operands.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from engine.core.aval import Aval, Known, Shape, compatible, format_shape
from engine.core.batching import Batches, NotBatched, UnknownRankError, like_first
from engine.core.dtypes import INTEGER
from engine.core.expand_axes import expand_dims
from engine.core.kinds import check_dtype, linear, nondifferentiable
from engine.core.op import Layout, Op
from engine.core.operands import Operand
from engine.core.sparsity import GATHERS, SCATTERS
from engine.core.value import boxed, dtype_of, shape_of
from engine.ops.arithmetic import add
from engine.ops.gather import gather_back_op, gather_op, placed_shape
from engine.runtime.cache import cached
from engine.runtime.errors import IndexOutOfRangeError, ShapeError

OPERAND = "operand"
FULL = (None, None, None)
Spec = tuple[Any, ...]


# ---- specs -----------------------------------------------------------------------------------------------------------


def _filled(spec: Spec, values: Iterable[int | None]) -> list[Any]:
    """The items of `spec` with the values of operands in place; unknown ones (None) stay `OPERAND`."""
    rest = iter(values)

    def fill(part: Any) -> Any:
        if part != OPERAND:
            return part
        value = next(rest)
        return OPERAND if value is None else value

    return [tuple([fill(part) for part in item]) if type(item) is tuple else fill(item) for item in spec]


def _numpy_index(item: Any) -> Any:
    """An item as NumPy spells it."""
    if type(item) is not tuple:
        return item
    if len(item) == 3:
        return builtins.slice(*item)
    begin, size = item
    return builtins.slice(begin, None if size == -1 else begin + size)


@cached(4096)
def _static_key(spec: Spec, lead: int) -> tuple[Any, ...] | None:
    """The key for NumPy if it depends on nothing else, or None."""
    if any(item == OPERAND or (type(item) is tuple and (len(item) == 2 or OPERAND in item)) for item in spec):
        return None
    return (builtins.slice(None),) * lead + tuple([_numpy_index(item) for item in spec])


def numpy_key(shape: tuple[int, ...], spec: Spec, dynamic: Sequence[Any], lead: int) -> tuple[Any, ...]:
    """The key for NumPy to index an array of the given shape with."""
    key = _static_key(spec, lead)
    if key is None:
        items = _filled(spec, [operator.index(d) for d in dynamic])
        for axis, item in enumerate(items):
            if type(item) is tuple and len(item) == 2:
                _sized_length(item, shape[lead + axis], axis)
        key = (builtins.slice(None),) * lead + tuple([_numpy_index(item) for item in items])
    return key


def _sized_length(item: tuple[Any, Any], dim: int | None, axis: int) -> int | None:
    """How many entries ``(begin, size)`` selects from a dimension, or an error if they do not exist."""
    begin, size = item
    if begin != OPERAND and (begin < 0 or (dim is not None and begin > dim)):
        raise IndexOutOfRangeError(f"slice: begin[{axis}] = {begin} is not in [0, {dim}]")
    if size == OPERAND:
        return None
    if size == -1:
        return None if begin == OPERAND or dim is None else int(dim - begin)
    if size < -1 or (dim is not None and (0 if begin == OPERAND else begin) + size > dim):
        raise IndexOutOfRangeError(
            f"slice: size[{axis}] = {size} from begin[{axis}] = {begin} does not fit into the dimension, which is {dim}"
        )
    return int(size)


def _slice_length(item: tuple[Any, ...], dim: int | None, axis: int) -> int | None:
    """How many entries of a dimension a slice selects, if that is known."""
    if len(item) == 2:
        return _sized_length(item, dim, axis)
    if item[2] == 0:
        raise IndexOutOfRangeError(
            f"getitem: strides[{axis}] must be non-zero, the step of the slice of dimension {axis}"
        )
    if dim is None or OPERAND in item:
        return None
    return len(range(*builtins.slice(*item).indices(dim)))


def _split(items: Sequence[Any], rank: int) -> Iterator[tuple[Any, int]]:
    """Each item with the first dimension that it names; ``...`` is given as one full slice per dimension."""
    if items.count(...) > 1:
        raise ShapeError("getitem: Multiple ellipses ('...') in an index are not allowed")
    named = len(items) - items.count(None) - items.count(...)
    if named > rank:
        raise ShapeError(
            f"getitem: Index out of range: {named} indices for a value of rank {rank}; input has only {rank} dims"
            if rank
            else "getitem: Attempting to slice scalar input: a scalar has no dimension to index"
        )
    axis = 0
    for item in items if ... in items else [*items, ...]:
        if item is ...:
            for _ in range(rank - named):
                yield FULL, axis
                axis += 1
        else:
            yield item, axis
            axis += item is not None


def _indexed_shape(shape: Shape, items: Sequence[Any]) -> Shape:
    """The shape of what the index selects."""
    if shape is None:
        return None
    out: list[int | None] = []
    for item, axis in _split(items, len(shape)):
        if item is None:
            out.append(1)
        elif type(item) is tuple:
            out.append(_slice_length(item, shape[axis], axis))
        elif item != OPERAND:
            dim = shape[axis]
            if dim is not None and not -dim <= item < dim:
                shown = format_shape(shape)
                raise IndexOutOfRangeError(
                    f"getitem: slice index {item} of dimension {axis} out of bounds of a value of shape {shown}"
                )
    return tuple(out)


def _indexed_value(value: Known, items: Sequence[Any]) -> Known:
    """The selected contents, as far as known, of a partly known integer vector."""
    if not isinstance(value, tuple) or len(items) != 1 or items[0] is None:
        return None
    item = items[0]
    if item == OPERAND or (type(item) is tuple and OPERAND in item):
        return None
    return value if item is ... else value[_numpy_index(item)]


# ---- getitem ---------------------------------------------------------------------------------------------------------


def _getitem_kernel(x: Any, *dynamic: Any, spec: Spec, lead: int = 0) -> Operand:
    key = _static_key(spec, lead)
    part = x[numpy_key(x.shape, spec, dynamic, lead) if key is None else key]
    return boxed(part) if type(part) is bytes else part


def _getitem_abstract(x: Aval, *dynamic: Aval, spec: Spec, lead: int = 0) -> Aval:
    for index in dynamic:
        check_dtype("getitem", "key", index, INTEGER)
        if not compatible(index.shape, ()):
            raise ShapeError(f"getitem: an index must be a scalar, got {index}; use tf.gather to take several entries")
    items = _filled(spec, [d.value if isinstance(d.value, int) else None for d in dynamic])
    if x.shape is None:
        # that of `slice`, which has an entry per dimension, is known all the same
        sliced = all(type(item) is tuple and len(item) == 2 for item in items)
        return Aval(_indexed_shape((None,) * len(items), items) if sliced and not lead else None, x.dtype)
    inner = _indexed_shape(x.shape[lead:], items)
    value = None if lead else _indexed_value(x.value, items)
    return Aval(None if inner is None else x.shape[:lead] + inner, x.dtype, value)


def _getitem_batch(
    op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]
) -> Operand:
    x, *dynamic = inputs
    lead = params.get("lead", 0) + flags[0]
    if not any(flags[1:]):
        return op(x, *dynamic, spec=params["spec"], lead=lead)
    spec, kept, gathers = _without_batched(shape_of(x), params["spec"], dynamic, flags[1:], lead)
    out, flag = op(x, *kept, spec=spec, lead=lead), flags[0]
    for each in gathers:
        out, flag = _gather(size, out, flag, *each), True
    return out


getitem_op = linear(
    "getitem_op",
    _getitem_kernel,
    lambda ct, x, *dynamic, spec, lead=0: getitem_back_op(ct, x, *dynamic, spec=spec, lead=lead, like_lead=lead),
    _getitem_abstract,
    _getitem_batch,
    type="StridedSlice",
    args=("input", "*indices"),
    sparsity=GATHERS,
    layout=lambda avals, params: Layout.PART if len(avals) == 1 else Layout.ANY,
    doc="What an index selects.",
)


# ---- its transpose ---------------------------------------------------------------------------------------------------


def placing_rule(
    op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]
) -> Batches:
    """Batch rule of ops ``(ct, like, *others, lead=0, like_lead=0)`` that place `ct` in zeros of like's shape."""
    if any(flags[2:]):
        raise ShapeError(f"{op.title}: what places the values ({op.args[2:]}) must not differ between batch elements")
    leads = {"lead": params.get("lead", 0) + flags[0], "like_lead": params.get("like_lead", 0) + flags[1]}
    out = op(*inputs, **{**params, **leads})
    return out if flags[0] else NotBatched(out)


def _getitem_back_kernel(
    ct: Any, like: Any, *dynamic: Any, spec: Spec, lead: int = 0, like_lead: int = 0
) -> np.ndarray:
    out = np.zeros(ct.shape[:lead] + like.shape[like_lead:], ct.dtype)
    out[numpy_key(out.shape, spec, dynamic, lead)] = ct
    return out


def _getitem_back_batch(
    op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]
) -> Batches:
    if not any(flags[2:]):
        return placing_rule(op, size, flags, inputs, params)
    ct, like, *dynamic = inputs
    lead, like_lead = params.get("lead", 0), params.get("like_lead", 0)
    inner_lead = like_lead + flags[1]
    spec, kept, gathers = _without_batched(shape_of(like), params["spec"], dynamic, flags[2:], inner_lead)
    # the way forwards gives the shapes that the way back needs
    at, flag, steps = getitem_op(like, *kept, spec=spec, lead=inner_lead), flags[1], []
    for each in gathers:
        steps.append((at, flag, *each))
        at, flag = _gather(size, at, flag, *each), True
    flag = flags[0]
    for at, at_flag, item, index, axis in reversed(steps):
        operands = (ct, at, _entries(item, index, at, axis))
        leads = {"lead": lead, "like_lead": like_lead}
        ct = gather_back_op.batch(gather_back_op, size, (flag, at_flag, True), operands, {**_along(axis), **leads})
        flag = True
    return op(ct, like, *kept, spec=spec, lead=lead + 1, like_lead=inner_lead)


getitem_back_op = linear(
    "getitem_back_op",
    _getitem_back_kernel,
    lambda ct, x, like, *dynamic, spec, lead=0, like_lead=0: getitem_op(ct, *dynamic, spec=spec, lead=lead),
    placed_shape,
    _getitem_back_batch,
    type="StridedSliceGrad",
    args=("ct", "like", "*indices"),
    sparsity=SCATTERS,
    layout=Layout.FRESH,
    keeps_nan=(0,),
    doc="`ct` where the index selects, in zeros of the shape of `like`: the transpose of `getitem_op`.",
)


# ---- indices that differ between batch elements ----------------------------------------------------------------------


def _without_batched(
    shape: Shape, spec: Spec, dynamic: Sequence[Any], flags: Sequence[bool], lead: int
) -> tuple[Spec, list[Any], list[tuple[Any, Any, int]]]:
    """Take the operands that differ between batch elements out of a spec.

    With spec and operands for what is left, which keeps the dimensions that batched operands index whole, comes what to
    gather from the result, one after the other: item, operand and axis.
    """
    if shape is None:
        raise UnknownRankError("getitem: cannot be vectorized over an index into a value of unknown rank")
    rest = iter(zip(dynamic, flags, strict=True))
    out: list[Any] = []
    kept, batched = [], []
    for item, _ in _split(spec, len(shape) - lead):
        mine = [next(rest) for part in (item if type(item) is tuple else (item,)) if part == OPERAND]
        if any(flag for _, flag in mine):
            batched.append((len(out), item, mine[0][0]))
            out.append(FULL)
        else:
            kept += [index for index, _ in mine]
            out.append(item)
    gathers: list[tuple[Any, Any, int]] = []
    behind = 0
    for position, item in reversed(list(enumerate(out))):
        if batched and batched[-1][0] == position:
            _, item, index = batched.pop()
            gathers.append((item, index, -1 - behind))
        # an int, batched or not, leaves no dimension behind
        behind += item is None or type(item) is tuple
    return tuple(out), kept, gathers


def _entries(item: Any, index: Any, x: Any, axis: int) -> np.ndarray:
    """Which entries of a dimension of `x` an item with a batched operand selects, for each batch element."""
    if item == OPERAND:
        return wrap_negative(index, x, axis=axis)
    if len(item) == 3 or item[1] in (-1, OPERAND):
        raise ShapeError(
            "getitem: the bounds of a slice must not differ between batch elements, whose results could then differ in "
            "shape; use tf.slice with a size that is known"
        )
    return add(expand_dims(index, (-1,)), np.arange(item[1], dtype=dtype_of(index).as_numpy_dtype))


def _along(axis: int) -> dict[str, Any]:
    return {"axis": axis, "batch_dims": 0}


def _gather(size: int, x: Any, flag: bool, item: Any, index: Any, axis: int) -> np.ndarray:
    """Gather along an axis at indices that differ between batch elements."""
    return gather_op.batch(gather_op, size, (flag, True), (x, _entries(item, index, x, axis)), _along(axis))


wrap_negative = nondifferentiable(
    "wrap_negative",
    lambda index, x, *, axis: np.where(index < 0, index + index.dtype.type(x.shape[axis]), index),
    abstract=lambda index, x, *, axis: Aval(index.shape, index.dtype),
    batch=like_first,
    args=("index", "x"),
    doc="Indices into dimension `axis` (a negative number) of x; those given from its end are counted from its start.",
)
