"""Composites: several values that are handed about, and fetched, as one thing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.core.dtypes import DType
from engine.core.operands import Operation
from engine.core.value import dtype_of


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

    def taken_by(self, name: str, function: Callable[..., Any], **kwargs: Any) -> Any:
        """The result of a function of tensors, of that name, for it; NotImplemented if it takes tensors alone."""
        if name != "identity" or not self.of_tensors:
            return NotImplemented
        return type(self)(*[None if x is None else function(x, **kwargs) for x in self.components()])

    def fed(self, value: Any) -> list[tuple[Any, Any]]:
        """Its components, each with what is fed for it: a tuple or list of as many parts, or there is a TypeError.

        For a component that is not known None may be fed, or nothing where it is the last one.
        """
        parts = self.components()
        known = sum(part is not None for part in parts)
        if not isinstance(value, (tuple, list)) or not known <= len(value) <= len(parts):
            raise TypeError(f"Cannot feed {value!r} for {self!r}: give a tuple of {known} arrays")
        return [(part, fed) for part, fed in zip(parts, value, strict=False) if part is not None]


class OfValues(Composite):
    """A composite of `values`, some elements of a tensor, and of where they stand. It is named as they are."""

    of_tensors = True
    shape: Any
    values: Any

    @property
    def dtype(self) -> DType:
        """Element type."""
        return dtype_of(self.values)

    def get_shape(self) -> Any:
        """Static shape of the whole tensor (TensorFlow 1's spelling)."""
        return self.shape

    @property
    def name(self) -> str:
        """Name of the values' tensor, in a graph."""
        return str(self.values.name)

    @property
    def device(self) -> Any:
        """Where the values lie."""
        return self.values.device

    @property
    def op(self) -> Operation:
        """Operation that makes the values, in a graph."""
        return self.values.op

    @property
    def graph(self) -> Any:
        """Graph of the values."""
        return self.values.graph
