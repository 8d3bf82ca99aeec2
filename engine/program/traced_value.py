"""`Slot`: a value of a program that is being lowered.

Lowering applies ops to slots as a graph applies them to symbols. So what replaces a node is written in ops too, like
the rules of derivatives are.
"""

from __future__ import annotations

from typing import Any

from engine.core.aval import Aval
from engine.core.op import Op
from engine.core.value import Value


class Slots:
    """What a `Slot` needs to know of the lowering it belongs to (`engine.program.lowering.Lowering`)."""

    avals: dict[int, Aval]
    facts: dict[int, Any]
    unshaped: dict[int, int]
    orders: dict[int, Any]

    def apply(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """The slot of an op applied to slots and arrays (a tuple of slots if it has several results)."""
        raise NotImplementedError


class Slot(Value):
    """The value in one slot.

    Parameters
    ----------
    lowering : Lowering
    index : int
    """

    __slots__ = ("index", "lowering")
    level = 1

    def __init__(self, lowering: Slots, index: int) -> None:
        self.lowering = lowering
        self.index = index

    @property
    def aval(self) -> Aval:
        """Shape and dtype."""
        return self.lowering.avals[self.index]

    @property
    def fact(self) -> Any:
        """What is known of the contents (`engine.program.passes.algebraic`), or None."""
        return self.lowering.facts.get(self.index)

    @property
    def order(self) -> Any:
        """What is known of how it lies in memory (`engine.program.layout.Order`)."""
        return self.lowering.orders[self.index]

    @property
    def unshaped(self) -> Slot:
        """What it is a reshape of, with the same elements in the same places in memory, or itself."""
        return Slot(self.lowering, self.lowering.unshaped.get(self.index, self.index))

    def _bind(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        return self.lowering.apply(op, inputs, params)

    def __repr__(self) -> str:
        return f"v{self.index}:{self.aval}"
