"""Composites: several values that are handed about, and fetched, as one thing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Composite:
    """Something that consists of values, and can be made again from their arrays.

    Attributes
    ----------
    of_tensors : bool
        Whether one is made of other tensors by calling its class with them, in the order of `components`.
    """

    of_tensors = False

    def components(self) -> list[Any]:
        """The values it consists of."""
        raise NotImplementedError

    def rebuilt(self, components: Sequence[Any]) -> Any:
        """The same from arrays: what a session returns when it is fetched."""
        raise NotImplementedError

    def fed(self, value: Any) -> list[tuple[Any, Any]]:
        """Its components, each with what is fed for it: a tuple or list of as many parts, or there is a TypeError."""
        parts = self.components()
        if not isinstance(value, (tuple, list)) or len(value) != len(parts):
            raise TypeError(f"Cannot feed {value!r} for {self!r}: give a tuple of {len(parts)} arrays")
        return list(zip(parts, value, strict=True))
