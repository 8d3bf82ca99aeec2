"""Representations of objects where nothing better is known: the class, and what they hold."""

from __future__ import annotations

from typing import Any


def shown(thing: Any) -> str:
    """The class and attributes: numbers and words as they are, of arrays dtype and shape, of groups how many."""
    facts = (_fact(name.strip("_"), value) for name, value in getattr(thing, "__dict__", {}).items())
    return f"<{type(thing).__name__} {', '.join([fact for fact in facts if fact][:8])}".rstrip() + ">"


def _fact(name: str, value: Any) -> str:
    if isinstance(value, (str, bool, int, float, complex)):
        return f"{name}={value!r}"[:80]
    if isinstance(value, (list, tuple, dict, set)):
        return f"{name}: {len(value)}" if value else ""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    known = isinstance(shape, tuple) and dtype is not None and not callable(dtype)
    return f"{name}={getattr(dtype, 'name', dtype)}{shape}" if known else ""
