"""Functions of TensorFlow's internal modules about shapes, messages, seeds and nests, for both APIs.

They are reached through the import hook alone, so that ``tensorflow`` is the API that the program runs with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from dualgrad.files.tensors import array_of, shape_of
from dualgrad.migrate.internal_tools import enabled
from engine.core import nest


def _api() -> Any:
    return import_module("tensorflow")


# ---- tensor_shape ----------------------------------------------------------------------------------------------------


def as_shape(shape: Any) -> Any:
    """A shape of whatever stands for one."""
    return _api().TensorShape(shape)


def unknown_shape(rank: int | None = None, **options: Any) -> Any:
    """A shape of which nothing is known, or its rank alone."""
    rank = options.get("ndims", rank)
    return as_shape(None if rank is None else [None] * rank)


def scalar() -> Any:
    """The shape of a number."""
    return as_shape([])


def vector(length: Any) -> Any:
    """The shape of a vector."""
    return as_shape([length])


def matrix(rows: Any, cols: Any) -> Any:
    """The shape of a matrix."""
    return as_shape([rows, cols])


# ---- ops -------------------------------------------------------------------------------------------------------------


def executing_eagerly_outside_functions() -> bool:
    """Whether the program is one of TensorFlow 2."""
    return enabled()


# ---- tensor_util -----------------------------------------------------------------------------------------------------

MakeNdarray = array_of


def ShapeEquals(tensor_proto: Any, shape: Any) -> bool:
    """Whether a message holds a tensor of this shape."""
    return shape_of(tensor_proto.tensor_shape) == tuple([getattr(d, "size", d) for d in getattr(shape, "dim", shape)])


def constant_value(tensor: Any, partial: bool = False) -> Any:
    """The value that a tensor has whatever is fed, or None."""
    return _api().get_static_value(tensor, partial)


def constant_value_as_shape(tensor: Any) -> Any:
    """The shape that a vector stands for, as far as it is known while the graph is built; -1 is not known.

    Raises
    ------
    ValueError
        If it is no vector.
    """
    tensor = _api().convert_to_tensor(tensor)
    length = as_shape(tensor.shape).with_rank(1).as_list()[0]
    known = constant_value(tensor)
    if known is None:
        return unknown_shape(length)
    return as_shape([None if d == -1 else int(d) for d in known])


# ---- random_seed -----------------------------------------------------------------------------------------------------


def get_seed(op_seed: int | None) -> Any:
    """The program's seed and that of an operation made now; None twice if neither is set."""
    if enabled():
        return import_module("tape_api.random").op_seeds(op_seed)
    return _api().get_seed(op_seed)


def set_seed(seed: int | None) -> None:
    """Set the program's seed."""
    _api().random.set_seed(seed) if enabled() else _api().set_random_seed(seed)


set_random_seed = set_seed


# ---- nest ------------------------------------------------------------------------------------------------------------


def _paths(structure: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if not nest.is_nested(structure):
        yield path, structure
    elif isinstance(structure, dict):
        for key in sorted(structure):
            yield from _paths(structure[key], (*path, key))
    else:
        keys = getattr(structure, "_fields", range(len(structure)))
        for key, item in zip(keys, structure, strict=True):
            yield from _paths(item, (*path, key))


def flatten_with_joined_string_paths(
    structure: Any, separator: str = "/", expand_composites: bool = False
) -> list[tuple[str, Any]]:
    """The leaves, each with the keys that lead to it, as one text."""
    return [(separator.join(map(str, path)), leaf) for path, leaf in _paths(structure, ())]


def map_structure_with_paths(func: Callable[..., Any], *structures: Any, **options: Any) -> Any:
    """`nest.map_structure` of a function that takes the keys that lead to the leaves first, as one text."""
    paths = nest.pack_sequence_as(structures[0], ["/".join(map(str, path)) for path, _ in _paths(structures[0], ())])
    return nest.map_structure(func, paths, *structures)
