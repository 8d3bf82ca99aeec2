"""Structures that hold composites, such as `IndexedSlices`, as structures of tensors, and back.

What control flow hands about are tensors; a branch or a loop that returns a composite returns its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from engine.core import nest
from engine.core.composite import Composite


def _is_opened(x: Any) -> bool:
    return isinstance(x, Composite) and x.of_tensors


def _parts(x: Composite) -> list[Any]:
    return [part for part in x.components() if part is not None]


class Parts(tuple[Any, ...]):
    """The tensors of one composite; another one is made of others by ``kind(*parts)``."""

    kind: Callable[..., Any]


_KINDS: dict[Any, type[Parts]] = {}


def _parted(kind: Callable[..., Any], parts: Sequence[Any]) -> Parts:
    if kind not in _KINDS:
        _KINDS[kind] = type(f"{kind.__qualname__}Parts", (Parts,), {"kind": staticmethod(kind)})
    return _KINDS[kind](parts)


def _opened(x: Any) -> Any:
    return _parted(type(x), _parts(x)) if _is_opened(x) else x


def tabled(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives, in place of sparse tensors, tables and where these hold something: they can be stacked."""

    def table(x: Any) -> Any:
        return _parted(x.of_tables, x.tables()) if hasattr(x, "of_tables") else x

    return lambda row: nest.map_structure(table, function(row))


def opened(structure: Any) -> Any:
    """The structure with a tuple of tensors for each composite."""
    return nest.map_structure(_opened, structure) if any(map(_is_opened, nest.flatten(structure))) else structure


def closed(structure: Any) -> Any:
    """The structure that `opened` was given, or one like it of other tensors."""
    if isinstance(structure, Parts):
        return structure.kind(*structure)
    if not nest.is_nested(structure):
        return structure
    items = list(structure.values() if isinstance(structure, dict) else structure)
    made = [closed(item) for item in items]
    if all(a is b for a, b in zip(items, made, strict=True)):
        return structure
    if isinstance(structure, dict):
        return type(structure)(zip(structure, made, strict=True))
    return type(structure)(*made) if hasattr(structure, "_fields") else type(structure)(made)


def opening(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors in place of one of composites."""
    return partial(_called, function)


def _called(function: Callable[..., Any], *arguments: Any) -> Any:
    return opened(function(*map(closed, arguments)))
