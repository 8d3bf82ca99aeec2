"""``tf.nest``: structures of lists, tuples, named tuples and dicts, with the arguments of TensorFlow's functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from engine.core import nest
from engine.core.composite import Composite
from engine.core.nest import is_nested

is_sequence = is_nested


def _parts(structure: Any, expand: bool) -> Any:
    """The structure, with sparse tensors and their like as lists of the tensors that they are made of."""
    if not expand:
        return structure
    return nest.map_structure(lambda x: list(x.components()) if isinstance(x, Composite) else x, structure)


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """The leaves of a structure, in order.

    Parameters
    ----------
    structure : structure
    expand_composites : bool
        Whether sparse tensors and their like are taken apart too.

    Examples
    --------
    >>> flatten({"b": [1, (2,)], "a": 0})
    [0, 1, 2]
    """
    return nest.flatten(_parts(structure, expand_composites))


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """A structure like `structure` whose leaves are those of `flat_sequence`.

    Raises
    ------
    ValueError
        If the number of leaves differs.

    Examples
    --------
    >>> pack_sequence_as({"b": [1, (2,)], "a": 0}, [7, 8, 9])
    {'b': [8, (9,)], 'a': 7}
    """
    if not expand_composites:
        return nest.pack_sequence_as(structure, flat_sequence)
    packed = nest.pack_sequence_as(_parts(structure, True), flat_sequence)
    return map_structure_up_to(
        structure, lambda old, new: type(old)(*new) if isinstance(old, Composite) else new, structure, packed
    )


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False) -> None:
    """Raise unless two structures are nested alike.

    Parameters
    ----------
    nest1, nest2 : structure
    check_types : bool
        Whether a list and a tuple differ.
    expand_composites : bool
        See `flatten`.

    Raises
    ------
    ValueError, TypeError
        If they are not; TypeError if only their types differ.
    """
    one, two = _parts(nest1, expand_composites), _parts(nest2, expand_composites)
    nest.assert_same_structure(one, two)
    if check_types:
        _require_types(one, two)


def _require_types(one: Any, two: Any) -> None:
    if not is_nested(one):
        return
    names = [getattr(type(x), "_fields", type(x)) for x in (one, two)]
    if not isinstance(one, Mapping) and names[0] != names[1]:
        raise TypeError(
            f"The two structures don't have the same sequence type. First structure has type {type(one)}, while "
            f"second structure has type {type(two)}"
        )
    for key in one if isinstance(one, Mapping) else range(len(one)):
        _require_types(one[key], two[key])


def map_structure(
    func: Callable[..., Any], *structure: Any, check_types: bool = True, expand_composites: bool = False
) -> Any:
    """`func` applied to the leaves of structures; the result is nested like the first one.

    Parameters
    ----------
    func : callable
        Takes a leaf of each structure.
    *structure : structure
    check_types, expand_composites : bool
        See `assert_same_structure`.

    Raises
    ------
    ValueError, TypeError
        As `assert_same_structure` raises them.

    Examples
    --------
    >>> map_structure(lambda a, b: a + b, [1, (2,)], (3, [4]), check_types=False)
    [4, (6,)]
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func!r}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types, expand_composites)
    rows = zip(*(flatten(s, expand_composites) for s in structure), strict=True)
    return pack_sequence_as(structure[0], [func(*row) for row in rows], expand_composites)


# ---- up to the depth of another structure ----------------------------------------------------------------------------


def _up_to(shallow: Any, deep: Any, check_types: bool) -> Iterator[Any]:
    if not is_nested(shallow):
        yield deep
        return
    assert_shallow_level(shallow, deep, check_types)
    keys = sorted(shallow) if isinstance(shallow, Mapping) else range(len(shallow))
    for key in keys:
        yield from _up_to(shallow[key], deep[key], check_types)


def assert_shallow_level(shallow: Any, deep: Any, check_types: bool) -> None:
    """Raise unless `deep` is nested like `shallow` at the outermost level."""
    if not is_nested(deep):
        raise TypeError(
            f"If shallow structure is a sequence, input must also be a sequence. Input has type: '{type(deep)}'."
        )
    if check_types and isinstance(shallow, Mapping) != isinstance(deep, Mapping):
        raise TypeError(
            f"The two structures don't have the same sequence type. Input structure has type '{type(deep)}', while "
            f"shallow structure has type '{type(shallow)}'."
        )
    if len(deep) != len(shallow):
        raise ValueError(
            f"The two structures don't have the same sequence length. Input structure has length {len(deep)}, while "
            f"shallow structure has length {len(shallow)}."
        )
    if isinstance(shallow, Mapping) and set(shallow) != set(deep):
        raise ValueError(f"The two structures don't have the same keys: {sorted(deep)} and {sorted(shallow)}.")


def flatten_up_to(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> list[Any]:
    """The parts of `input_tree` that are where `shallow_tree` has leaves.

    Raises
    ------
    ValueError, TypeError
        If `input_tree` is not nested like `shallow_tree` as far as that goes.

    Examples
    --------
    >>> flatten_up_to([0, 0], [[1, 2], 3])
    [[1, 2], 3]
    """
    return list(_up_to(shallow_tree, input_tree, check_types))


def map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any, check_types: bool = True) -> Any:
    """`func` applied to the parts of structures where `shallow_tree` has leaves; the result is nested like it.

    Examples
    --------
    >>> map_structure_up_to([0, 0], sum, [[1, 2], [3]])
    [3, 3]
    """
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    rows = zip(*(flatten_up_to(shallow_tree, given, check_types) for given in inputs), strict=True)
    return nest.pack_sequence_as(shallow_tree, [func(*row) for row in rows])


__all__ = [
    "assert_same_structure", "flatten", "flatten_up_to", "is_nested",
    "is_sequence", "map_structure", "map_structure_up_to", "pack_sequence_as",
]  # fmt: skip
