"""Re-tracing: recorded nodes in a trace of their own, in which every value is given.

What a walk makes of them there, with symbols in place of arrays, is a closed function that captures values of the
recording. So compiled gradients and Jacobians of tapes are made.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from engine.closed.function import ClosedFunction
from engine.compiler.ir.layout import Order, order_of_value, orders_of
from engine.core.instantiate import in_trace, instantiate, renamed
from engine.core.op import Node
from engine.core.trace import Trace, needed_nodes, placeholder
from engine.core.value import aval_of


class Retrace:
    """Nodes in a trace of their own, with the symbols for the values that they take and make, in order.

    Shapes become constants, and values of known `contents`, by number; all others placeholders. `fold_limit` is the
    bytes of the largest constant that programs hold. The `lazy` values, by number, are computed from the others.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        values: Sequence[Any],
        fold_limit: int,
        contents: Mapping[int, Any] | None = None,
        lazy: Collection[int] = (),
    ) -> None:
        self.trace, self._fold_limit = Trace(), fold_limit
        of: dict[int, Any] = {}
        for k, x in enumerate(values):
            constant = x if isinstance(x, (tuple, int)) else (contents or {}).get(k)
            if k not in lazy:
                of[id(x)] = self.trace.placeholder(aval_of(x)) if constant is None else self.trace.operand(constant)
        made = {id(values[k]) for k in lazy}
        instantiate([n for n in nodes if not made.isdisjoint(map(id, n.outputs))], of, in_trace(self.trace))
        self.symbols = [of[id(x)] for x in values]
        self.nodes = renamed(nodes, of)
        orders = {id(x): order_of_value(x) for x in values if id(x) not in made}
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
