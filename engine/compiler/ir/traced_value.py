"""`TracedValue`: a value of a program that is being lowered.

A pass of level "node" applies ops to traced values as a graph applies them to symbols. So what replaces a node is
written in ops, like the rules of derivatives.
"""

from __future__ import annotations

from typing import Any

from engine.compiler.ir.layout import Order
from engine.core.aval import Aval
from engine.core.op import Op
from engine.core.value import Value


class ValueTable:
    """Facts about each value id: those that a `TracedValue` reads of `engine.compiler.lowering.Lowering`."""

    avals: dict[int, Aval]
    structures: dict[int, Any]
    orders: dict[int, Any]

    def apply(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> TracedValue | tuple[TracedValue, ...]:
        """The traced result of an op on traced values and arrays (a tuple if the op has several results)."""
        raise NotImplementedError


class TracedValue(Value):
    """One value."""

    __slots__ = ("lowering", "value_id")
    level = 1

    def __init__(self, lowering: ValueTable, value_id: int) -> None:
        self.lowering = lowering
        self.value_id = value_id

    @property
    def aval(self) -> Aval:
        """Shape and dtype."""
        return self.lowering.avals[self.value_id]

    @property
    def structure(self) -> Any:
        """Facts about the contents (`engine.compiler.passes.algebraic`), or None."""
        return self.lowering.structures.get(self.value_id)

    @property
    def order(self) -> Order:
        """How it lies in memory (`engine.compiler.ir.layout.Order`), as far as it is known."""
        return self.lowering.orders[self.value_id]

    def _bind(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> TracedValue | tuple[TracedValue, ...]:
        return self.lowering.apply(op, inputs, params)

    def __repr__(self) -> str:
        return f"v{self.value_id}:{self.aval}"
