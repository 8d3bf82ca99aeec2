"""From the nodes that a Python function has added to a graph to a closed function (`Region`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn

from engine.closed.function import Body, ClosedFunction, plain
from engine.core.instantiate import instantiate
from engine.core.op import Node
from engine.core.structural import contiguous
from engine.core.tape import paused
from engine.core.trace import Symbol, constant, placeholder
from engine.core.value import Zero
from engine.core.variable import assign_variable, read_variable, variable_handle
from engine.derivatives.custom import closed_call, custom_call
from engine.runtime.errors import UnimplementedError

_NONE: Mapping[int, Symbol] = MappingProxyType({})
_ORDERS = 4
"""How deep rules of custom gradients that use custom gradients are closed: two such rules may use each other."""


class Region:
    """The nodes that a Python function has added to a graph, about to become a closed function.

    A constant depends on nothing. So it belongs to the graph around, wherever it was made, and is taken from there like
    any other value: it can be fed, and differentiated. Rules of custom gradients are closed (`closed_rule`), inside of
    which they can be differentiated `orders` times.

    `nodes` are the graph's from the first one that the function added, `bound` its own parameters (loop variables),
    `effects` what must run besides; ``waits_for(node)`` are the nodes that must run before it. What it takes from the
    graph around is `captured`; it reads or assigns to the variables of `handles`, by ``id``, the latter if they are
    `assigned`; `after` must run before all of it.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        bound: Sequence[Symbol],
        results: Sequence[Symbol],
        effects: Sequence[Node],
        waits_for: Callable[[Node], Iterable[Node]],
        orders: int = _ORDERS,
    ) -> None:
        self.bound = tuple(bound)
        self.results = tuple(results)
        inside = {id(n) for n in nodes if n.op is not variable_handle and n.op is not placeholder}
        own = {id(b) for b in bound}
        given = {id(b.node) for b in bound}
        self.captured: dict[int, Symbol] = {}
        self.handles: dict[int, Symbol] = {}
        self.assigned: set[int] = set()
        after: dict[int, Node] = {}
        closed: dict[int, list[Node]] = {}
        needed: set[int] = set()
        pending: list[Node] = []

        def take(x: Symbol) -> None:
            if id(x) in own:
                return
            if id(x.node) in inside and (x.node.op is not constant or tuple(waits_for(x.node))):
                pending.append(x.node)
            elif x.node.op is not variable_handle:
                self.captured[id(x)] = x

        for r in results:
            take(r)
        pending += effects
        while pending:
            node = pending.pop()
            if id(node) in given:
                continue
            if id(node) not in inside:
                after[id(node)] = node
                continue
            if id(node) in needed:
                continue
            needed.add(id(node))
            closed[id(node)] = [node]
            if node.op is custom_call:
                closed[id(node)] = made = closed_rule(node, orders)
                inside.update(map(id, made))
                needed.update(map(id, made))
            for x in closed[id(node)][-1].inputs:
                take(x)
            pending.extend(waits_for(node))
        self.nodes = in_order([made for n in nodes for made in closed.get(id(n), ())])
        self.after = list(after.values())
        for node in self.nodes:
            if node.op in (read_variable, assign_variable):
                self.handles[id(node.inputs[0])] = node.inputs[0]
            if node.op is assign_variable:
                self.assigned.add(id(node.inputs[0]))

    def closed(
        self,
        captured: Sequence[Symbol],
        handles: Sequence[Symbol],
        new: Sequence[Symbol],
        describe: Callable[[Node], str],
        read: Mapping[int, Symbol] = _NONE,
    ) -> ClosedFunction:
        """The closed function ``(bound, captured, values of handles) -> (results, values of the handles `new`)``.

        `read` has, for the identity of any other handle, the captured symbol that its variable has been read to.
        """
        body = Body()
        own = [body.placeholder(b.aval) for b in (*self.bound, *captured)]
        states = [body.placeholder(plain(h.aval)) for h in handles]
        # a handle stands for what its variable holds now
        of = {id(x): p for x, p in zip((*self.bound, *captured, *handles), (*own, *states), strict=True)}
        of |= {handle: of[id(x)] for handle, x in read.items()}
        copy = body.copied(describe)

        def make(node: Node, operands: tuple[Any, ...]) -> Sequence[Any]:
            if node.op is assign_variable:
                body.where = describe(node)
                value = operands[1]
                (of[id(node.inputs[0])],) = made = body.append(contiguous, (value,), {}, [plain(value.aval)])
                return made
            return operands if node.op is read_variable else copy(node, operands)

        instantiate(self.nodes, of, make)
        return ClosedFunction(body, [*own, *states], [of[id(x)] for x in (*self.results, *new)])


def in_order(nodes: Sequence[Node]) -> list[Node]:
    """The nodes, each behind those that make its operands, otherwise as they stand.

    A rule of a custom gradient may use what the program computes only after the call; it is refused if it uses a value
    that is computed from the result of its call. Reads and assignments of a variable keep their order.
    """
    before = _must_precede(nodes)
    placed: set[int] = set()
    open_: set[int] = set()
    ordered = []
    for node in nodes:
        pending = [node]
        while pending:
            last = pending[-1]
            missing = [n for n in before[id(last)] if id(n) not in placed]
            if id(last) in placed or not missing:
                pending.pop()
                open_.discard(id(last))
                if id(last) not in placed:
                    placed.add(id(last))
                    ordered.append(last)
                continue
            open_.add(id(last))
            if any(id(n) in open_ for n in missing):
                raise UnimplementedError(
                    "custom_gradient: in bodies of control flow and in plans a gradient function cannot use what is "
                    "computed from the result of its own call; return that value from the function as well"
                )
            pending += missing
    return ordered


def _must_precede(nodes: Sequence[Node]) -> dict[int, list[Node]]:
    """For each node, by identity, those that must run before it."""
    makers = {id(out): n for n in nodes for out in n.outputs}
    written: dict[int, list[Node]] = {}
    read: dict[int, list[Node]] = {}
    found = {}
    for n in nodes:
        found[id(n)] = [makers[id(x)] for x in n.inputs if id(x) in makers]
        if n.op in (read_variable, assign_variable):
            key = id(n.inputs[0])
            found[id(n)] += written.get(key, ())
            if n.op is assign_variable:
                found[id(n)] += read.pop(key, ())
                written[key] = [n]
            else:
                read.setdefault(key, []).append(n)
    return found


def closed_rule(node: Node, orders: int = _ORDERS) -> list[Node]:
    """A `custom_call` of a graph as a `closed_call`, behind the reads of the variables that its rule uses.

    The user's rule is a Python function. It may use tensors of the graph that it was written in, so it cannot be called
    anywhere else. It is called here, once, for cotangents that are not known yet, and what it takes becomes operands.
    If it fails, it fails where it is needed.
    """
    count, rule = node.params["count"], node.params["rule"]
    trace = node.outputs[0].trace
    first = len(trace.nodes)
    try:
        if not orders:
            raise UnimplementedError(
                f"custom_gradient: rules that use custom gradients can be differentiated {_ORDERS} times in bodies of "
                f"control flow and in plans"
            )
        with paused(), trace.rule_context(node):
            cts = tuple([trace.parameter(out.aval, "cotangent") for out in node.outputs])
            found = {i: rule(i, cts, x) for i, x in enumerate(node.inputs[:count]) if x.dtype.is_differentiable}
            found = {i: trace.operand(ct) for i, ct in found.items() if not isinstance(ct, Zero)}
        region = Region(trace.nodes[first:], cts, list(found.values()), (), lambda _: (), orders - 1)
    except Exception as error:  # noqa: BLE001 - nobody may ever want this derivative
        params = {**node.params, "rule": _Failed(error)}
        return [Node(custom_call, node.inputs, params, node.outputs)]
    captured, handles = list(region.captured.values()), list(region.handles.values())
    pull = region.closed(captured, handles, (), lambda _: "")
    reads = [read_variable(handle) for handle in handles]
    params = {"count": count, "results": len(cts), "given": tuple(found), "pull": pull}
    made = Node(closed_call, (*node.inputs, *captured, *reads), params, node.outputs)
    return [*[r.node for r in reads], made]


class _Failed:
    """In place of a rule that cannot be closed: raises when it is used."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __call__(self, *_: Any) -> NoReturn:
        raise self.error
