"""Re-tracing: recorded nodes in a trace of their own, in which every value is given.

What a walk makes of them there, with symbols in place of arrays, is a closed function that captures values of the
recording. So compiled gradients and Jacobians of tapes are made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.closed.function import ClosedFunction
from engine.compiler.ir.layout import Order, order_of_value, orders_of
from engine.core.instantiate import renamed
from engine.core.op import Node
from engine.core.trace import Trace, needed_nodes, placeholder
from engine.core.value import aval_of


class Retrace:
    """Nodes in a trace of their own, with the symbols for the values that they take and make, in order.

    Shapes become constants, and values of known `contents`, by number; all others placeholders. `fold_limit` is the
    bytes of the largest constant that programs hold.
    """

    def __init__(
        self, nodes: Sequence[Node], values: Sequence[Any], fold_limit: int, contents: Mapping[int, Any] | None = None
    ) -> None:
        self.trace, self._fold_limit = Trace(), fold_limit
        constants = [x if isinstance(x, (tuple, int)) else (contents or {}).get(k) for k, x in enumerate(values)]
        self.symbols = [
            self.trace.placeholder(aval_of(x)) if constant is None else self.trace.operand(constant)
            for x, constant in zip(values, constants, strict=True)
        ]
        self.nodes = renamed(nodes, {id(x): symbol for x, symbol in zip(values, self.symbols, strict=True)})
        orders = {id(x): order_of_value(x) for x in values}
        orders_of(nodes, orders)
        self._orders = [orders[id(x)] for x in values]

    def closed(
        self,
        wanted: Sequence[Any],
        further: Sequence[Any] = (),
        orders: Sequence[Order] | None = None,
        every: bool = False,
        **how: Any,
    ) -> ClosedFunction:
        """The closed function that computes `wanted`, values of the trace and arrays.

        It captures values by their numbers. Behind these it takes `further` placeholders; `orders` says how these lie
        in memory, if that is known. If `every`, it captures all values, shapes too, needed or not: so its ops are those
        that the walk applies. `how` goes to `ClosedFunction`.
        """
        wanted = [self.trace.operand(w) for w in wanted]
        own = {id(s) for s in (*self.symbols, *further)} if every else set()
        fed = own or {id(node.outputs[0]) for node in self.trace.nodes if node.op is placeholder}
        steps = needed_nodes(self.trace.nodes, wanted, fed)
        used = fed & ({id(x) for node in steps for x in node.inputs} | {id(w) for w in wanted})
        captures = [k for k, symbol in enumerate(self.symbols) if every or id(symbol) in used]
        parameters = [*[self.symbols[k] for k in captures], *further]
        known = [*[self._orders[k] for k in captures], *(orders or [Order.UNKNOWN] * len(further))]
        return ClosedFunction(
            self.trace, parameters, wanted, steps, captures=captures, orders=known, fold_limit=self._fold_limit, **how
        )
