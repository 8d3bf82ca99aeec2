"""Composites: several values that are handed about, and fetched, as one thing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Composite:
    """Something that consists of values, and can be made again from their arrays."""

    def components(self) -> list[Any]:
        """The values it consists of."""
        raise NotImplementedError

    def rebuilt(self, components: Sequence[Any]) -> Any:
        """The same from arrays: what a session returns when it is fetched."""
        raise NotImplementedError
