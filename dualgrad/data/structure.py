"""The structure of a data set's elements: tuples and dicts of tensors, and of data sets.

A list is a tensor here, not a structure: so TensorFlow has it in ``tf.data`` (and only there). A data set inside an
element (`window`) is a leaf too; it travels as its elements stacked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.core import nest
from engine.core.aval import Aval, common_shape, merge_shapes
from engine.core.dtypes import BY_NUMPY
from engine.runtime.errors import InvalidArgumentError, ShapeError


@dataclass(frozen=True)
class DatasetLeaf:
    """A data set in place of a tensor: what its own elements are."""

    spec: Any


Spec = Aval | DatasetLeaf | tuple["Spec", ...] | Mapping[str, "Spec"]
"""The structure of an element: of each tensor its aval, of each data set its own spec."""


def is_structure(x: Any) -> bool:
    """Whether something is taken apart: a tuple or a dict, not a list."""
    return isinstance(x, (tuple, Mapping)) and not isinstance(x, np.ndarray)


def mapped(function: Callable[[Any], Any], structure: Any) -> Any:
    """A structure like another, of what a function makes of its leaves."""
    if isinstance(structure, Mapping):
        return type(structure)((k, mapped(function, v)) for k, v in structure.items())  # type: ignore[call-arg]
    if isinstance(structure, tuple):
        items = [mapped(function, x) for x in structure]
        return type(structure)(*items) if hasattr(structure, "_fields") else tuple(items)
    return function(structure)


def flat(structure: Any) -> list[Any]:
    """The leaves of a structure, of dicts in the order of their keys."""
    if isinstance(structure, Mapping):
        return [x for key in sorted(structure) for x in flat(structure[key])]
    if isinstance(structure, tuple):
        return [x for item in structure for x in flat(item)]
    return [structure]


def packed(structure: Any, leaves: Sequence[Any]) -> Any:
    """A structure like another, with other leaves."""
    return nest.pack_sequence_as(structure, leaves)


def avals(spec: Any) -> list[Aval]:
    """The tensors that elements travel as: a data set inside is its elements stacked."""
    return [a for leaf in flat(spec) for a in _avals_of(leaf)]


def _avals_of(leaf: Any) -> list[Aval]:
    if not isinstance(leaf, DatasetLeaf):
        return [leaf]
    return [Aval(None if a.shape is None else (None, *a.shape), a.dtype) for a in avals(leaf.spec)]


def width(leaf: Any) -> int:
    """How many tensors a leaf travels as."""
    return len(avals(leaf.spec)) if isinstance(leaf, DatasetLeaf) else 1


def batched(spec: Any, size: int | None) -> Spec:
    """The spec of several elements stacked."""

    def more(leaf: Any) -> Aval:
        if isinstance(leaf, DatasetLeaf):
            raise InvalidArgumentError("batch: the elements are data sets; take the tensors out of them with flat_map")
        return Aval(None if leaf.shape is None else (size, *leaf.shape), leaf.dtype)

    return mapped(more, spec)


def unbatched(spec: Any) -> Spec:
    """The spec of the rows of elements.

    Raises
    ------
    ShapeError
        If a tensor has no rows.
    """

    def less(leaf: Any) -> Aval:
        if leaf.shape == ():
            raise ShapeError("Unbatching a tensor is only supported for rank >= 1")
        return Aval(None if leaf.shape is None else leaf.shape[1:], leaf.dtype)

    return mapped(less, spec)


def of_arrays(structure: Any) -> Spec:
    """The spec of a structure of arrays."""
    return mapped(lambda a: Aval(np.shape(a), BY_NUMPY[a.dtype]), structure)


def joined(a: Any, b: Any) -> Aval:
    """The aval of elements that are of one spec or of another.

    Raises
    ------
    TypeError
        If they differ in structure or dtypes.
    """
    nest.assert_same_structure(a, b)
    leaves = []
    for x, y in zip(flat(a), flat(b), strict=True):
        if isinstance(x, DatasetLeaf) or isinstance(y, DatasetLeaf):
            leaves.append(x)
            continue
        if x.dtype is not y.dtype:
            raise TypeError(f"concatenate: the data sets have elements of dtypes {x.dtype.name} and {y.dtype.name}")
        leaves.append(Aval(common_shape(x.shape, y.shape), x.dtype))
    return packed(a, leaves)


def narrowed(spec: Any, shapes: Any) -> Spec:
    """A spec with what else is known of shapes."""
    leaves = [Aval(merge_shapes(a.shape, s), a.dtype) for a, s in zip(flat(spec), shapes, strict=True)]
    return packed(spec, leaves)
