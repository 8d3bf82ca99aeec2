"""Nested structures: lists, tuples, named tuples and dicts of anything, taken apart and put together again.

Dicts are flattened in the order of their sorted keys, as TensorFlow does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias, TypeVar

import numpy as np

T = TypeVar("T")
Structure: TypeAlias = T | tuple["Structure[T]", ...] | list["Structure[T]"] | Mapping[Any, "Structure[T]"]
"""One thing, or several in tuples, lists and mappings."""
LEAVES: set[type] = {int, float, bool, str, type(None), np.ndarray}
"""Types that are no structures. To ask whether something is a mapping takes ten times as long as to look here."""


def is_nested(structure: Any) -> bool:
    """Whether `structure` is a list, tuple or dict."""
    return type(structure) not in LEAVES and isinstance(structure, (list, tuple, Mapping))


def flatten(structure: Any) -> list[Any]:
    """The leaves of a structure, in order.

    Examples
    --------
    >>> flatten({"b": [1, (2,)], "a": 0})
    [0, 1, 2]
    """
    if type(structure) in LEAVES:
        return [structure]
    if isinstance(structure, (list, tuple)):
        if LEAVES.issuperset(map(type, structure)):
            return list(structure)
        return [leaf for item in structure for leaf in flatten(item)]
    if isinstance(structure, Mapping):
        return [leaf for key in sorted(structure) for leaf in flatten(structure[key])]
    return [structure]


def pack_sequence_as(structure: Any, flat_sequence: Any) -> Any:
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
    leaves = list(flat_sequence)
    kind = type(structure)
    if (kind is list or kind is tuple) and len(structure) == len(leaves) and LEAVES.issuperset(map(type, structure)):
        return leaves if kind is list else tuple(leaves)
    count = len(flatten(structure))
    if count != len(leaves):
        raise ValueError(f"pack_sequence_as: the structure has {count} leaves, but {len(leaves)} values were given")
    return _pack(structure, iter(leaves))


def _pack(structure: Any, leaves: Iterator[Any]) -> Any:
    if type(structure) in LEAVES:
        return next(leaves)
    if isinstance(structure, (list, tuple)):
        items = [_pack(item, leaves) for item in structure]
        return type(structure)(*items) if hasattr(structure, "_fields") else type(structure)(items)
    if isinstance(structure, Mapping):
        packed = {key: _pack(structure[key], leaves) for key in sorted(structure)}
        ordered = [(key, packed[key]) for key in structure]
        if isinstance(structure, defaultdict):
            return type(structure)(structure.default_factory, ordered)
        return type(structure)(ordered)  # type: ignore[call-arg]
    return next(leaves)


def map_structure(func: Callable[..., Any], *structures: Any) -> Any:
    """Apply `func` to corresponding leaves of equal structures.

    Raises
    ------
    ValueError
        If the structures differ.
    """
    first = structures[0]
    for other in structures[1:]:
        assert_same_structure(first, other)
    return pack_sequence_as(first, [func(*leaves) for leaves in zip(*map(flatten, structures), strict=True)])


def assert_same_structure(a: Any, b: Any) -> None:
    """Raise ValueError unless the two structures have the same shape."""
    same_kind = is_nested(a) == is_nested(b) and isinstance(a, Mapping) == isinstance(b, Mapping)
    if same_kind and is_nested(a):
        same_kind = len(a) == len(b) and (not isinstance(a, Mapping) or set(a) == set(b))
    if not same_kind:
        raise ValueError(f"the two structures differ: {a!r} and {b!r}")
    if is_nested(a):
        pairs = [(a[k], b[k]) for k in sorted(a)] if isinstance(a, Mapping) else zip(a, b, strict=True)
        for x, y in pairs:
            assert_same_structure(x, y)


def like_loop_vars(loop_vars: Any, result: Any) -> Any:
    """The result of the body of a `while_loop`, as a list or tuple of the structure of the loop variables."""
    if not isinstance(result, (list, tuple)):
        result = [result]
    try:
        assert_same_structure(list(loop_vars), list(result))
    except ValueError:
        raise ValueError(
            f"while_loop: argument `body` must return the structure of the loop variables {loop_vars!r}, got {result!r}"
        ) from None
    return result


def require_like(label: str, initial: Any, new: Any) -> None:
    """Raise ValueError unless what a step returned has the structure of what it started with."""
    try:
        assert_same_structure(initial, new)
    except ValueError:
        raise ValueError(f"{label} must return the structure of the initial value {initial!r}, got {new!r}") from None


def require_callable(name: str, argument: str, function: Any) -> None:
    """Raise TypeError unless an argument is a function."""
    if not callable(function):
        raise TypeError(f"{name}: argument `{argument}` must be callable, got {function!r}")


def branches(name: str, branch_fns: Any) -> list[Callable[[], Any]]:
    """The functions of a `switch_case`, in the order of their indices, which must be 0, 1, 2, ..."""
    items = branch_fns.items() if isinstance(branch_fns, Mapping) else enumerate(branch_fns)
    functions: dict[int, Any] = dict(item if isinstance(item, tuple) else (i, item) for i, item in items)
    if not functions or sorted(functions) != list(range(len(functions))):
        raise ValueError(
            f"{name}: branch indices (keys) must form contiguous range of [0 to {len(functions)}) but found "
            f"{set(functions)}"
        )
    for function in functions.values():
        require_callable(name, "branch_fns", function)
    return [functions[i] for i in range(len(functions))]
