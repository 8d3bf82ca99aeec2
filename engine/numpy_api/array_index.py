"""Indexing by arrays of integers, masks and what `numpy.ix_` gives, as NumPy has it ("advanced indexing").

The slices of an index are taken first. Of what remains the dimensions that arrays name are moved to the front and made
one, of which the elements are gathered. As in NumPy the dimensions of the result take the place of those they stand for
if these were side by side, else they come first.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.core.detach import looked_at
from engine.core.eager import EagerTensor
from engine.core.operands import Operand
from engine.core.value import Value, shape_of
from engine.numpy_api.functions import dims_of, rank_of
from engine.ops import compare, gather, shape, slicing
from engine.runtime.errors import IndexOutOfRangeError, ShapeError

_ALL = slice(None)


def is_array(item: Any) -> bool:
    """Whether an item of an index is an array, and not a number."""
    if isinstance(item, Value):
        return shape_of(item) != ()
    return isinstance(item, (list, tuple)) or (isinstance(item, np.ndarray) and item.ndim > 0)


def by_arrays(x: Any, key: Any) -> Operand:
    """``x[key]``, with arrays among the items of the index."""
    items = [np.asarray(i) if isinstance(i, (list, tuple)) else i for i in (key if isinstance(key, tuple) else (key,))]
    if len(items) == 1 and isinstance(items[0], Value) and items[0].dtype.is_bool:
        return slicing.boolean_mask(x, items[0])
    items = _with_ellipsis([part for item in items for part in _places(item)], rank_of(x))
    # what is a number beside arrays counts as one of them
    chosen = [i for i, item in enumerate(items) if not _is_basic(item)]
    x = slicing.getitem(x, tuple([item if _is_basic(item) else _ALL for item in items]))
    arrays, rank = [items[i] for i in chosen], rank_of(x)
    side_by_side = chosen == [*range(chosen[0], chosen[-1] + 1)]
    sizes = [_known(x, i) for i in chosen]
    rest = [i for i in range(rank) if i not in chosen]
    moved = shape.transpose(x, [*chosen, *rest])
    lines = shape.reshape(moved, [math.prod(sizes), *[_known(x, i) for i in rest]])
    flat = _flat_places(arrays, sizes)
    chosen_lines = gather.gather(lines, flat)
    if not side_by_side or not chosen[0]:
        return chosen_lines
    new = rank_of(flat)
    order = [*range(new, new + chosen[0]), *range(new), *range(new + chosen[0], new + len(rest))]
    return shape.transpose(chosen_lines, order)


def _places(item: Any) -> list[Any]:
    """A mask as the places where it is true, one array for each of its dimensions; other items as they are."""
    if isinstance(item, EagerTensor) and item.dtype.is_bool:
        looked_at(item)
        item = item._array
    if isinstance(item, np.ndarray) and item.dtype.kind == "b":
        return [*np.nonzero(item)]
    if isinstance(item, Value) and item.dtype.is_bool:
        raise ShapeError(
            "getitem: a mask that is computed in a graph or a function must be the whole index, since how many "
            "elements it chooses is not known; use tf.boolean_mask(x, mask, axis)"
        )
    if isinstance(item, np.ndarray) and item.dtype.kind not in "iu" and item.size:
        raise IndexError(f"getitem: arrays used as indices must be of integers or bools, got {item.dtype}")
    return [item]


def _is_basic(item: Any) -> bool:
    return item is None or isinstance(item, slice)


def _with_ellipsis(items: list[Any], rank: int) -> list[Any]:
    """The items with ``...`` written out."""
    named = sum(item is not None and item is not ... for item in items)
    if named > rank:
        raise ShapeError(f"getitem: too many indices: {named} for a value of rank {rank}")
    if not any(item is ... for item in items):
        items = [*items, ...]
    at = next(i for i, item in enumerate(items) if item is ...)
    return [*items[:at], *[_ALL] * (rank - named), *items[at + 1 :]]


def _known(x: Any, axis: int) -> int:
    size = dims_of(x)[axis]
    if size is None:
        raise ShapeError("getitem: indexing by arrays needs static dimensions; use tf.gather or tf.gather_nd")
    return size


def _flat_places(arrays: list[Any], sizes: list[int]) -> Any:
    """The places of elements in the dimensions together, counted as one."""
    flat: Any = 0
    for item, size in zip(arrays, sizes, strict=True):
        flat = flat * size + _from_the_front(item, size)
    return flat if isinstance(flat, Value) else np.asarray(flat)


def _from_the_front(item: Any, size: int) -> Any:
    if isinstance(item, Value):
        places = compare.cast(item, "int64")
        return compare.where(compare.less(places, 0 * places), places + size, places)
    places = np.asarray(item, np.int64)
    if np.any((places < -size) | (places >= size)):
        bad = places[(places < -size) | (places >= size)].ravel()[0]
        raise IndexOutOfRangeError(f"getitem: index {bad} is out of range for a dimension of {size}")
    return np.where(places < 0, places + size, places)
