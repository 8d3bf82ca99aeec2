"""Steps of a function of the converted module, one `Item` after the other, in the order of the graph.

Most items are nodes. The nodes that one call of `gradients` or `apply_gradients` added are one item, so that the walk
backwards and the updates come out as the calls that they were.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dualgrad.migrate.convert import calls, summaries
from dualgrad.migrate.convert.observed_run import (
    Averaging,
    Called,
    Capture,
    Custom,
    Draw,
    Flow,
    Gradient,
    Minimizer,
    Step,
)
from dualgrad.sparse.sparse_tensor import SparseTensor
from engine.core.op import Node
from engine.core.trace import Symbol, constant, needed_nodes, placeholder
from engine.core.variable import Variable, assign_variable, read_variable, variable_handle
from engine.ops.indexed_slices import IndexedSlices
from engine.ops.shape import identity
from graph_api.graphs.graph import Graph, no_op
from graph_api.graphs.tensor import Tensor


@dataclass(eq=False)
class Item:
    """One thing to do.

    Attributes
    ----------
    order : float
        Number of its (first) node in the graph.
    inputs, outputs : list of tensor
    after : list of Node
        What must be done before although it gives no data.
    call : Span, optional
        The call that it is.
    """

    order: float
    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    after: list[Node] = field(default_factory=list)
    call: Any = None


@dataclass(eq=False)
class OpItem(Item):
    """A node."""

    node: Any = None


class GradientItem(Item):
    """A call of `gradients`."""


class StepItem(Item):
    """A step of an optimizer."""


class AverageItem(Item):
    """A renewal of moving averages of variables."""


class MinimizeItem(Item):
    """A minimization by SciPy."""


class DrawItem(Item):
    """A call of a random function."""


@dataclass(eq=False)
class CallItem(Item):
    """A call of a public function that makes several nodes; `node` is the last of them."""

    written: Any = None
    node: Any = None


@dataclass(eq=False)
class CustomItem(Item):
    """A call of a function with a gradient of its own; `given` are its arguments."""

    given: list[Any] = field(default_factory=list)


class FlowItem(Item):
    """A choice or a loop."""


class Items:
    """The items of a graph, or of the functions inside of a choice or loop.

    Parameters
    ----------
    graph : Graph
    capture : Capture
    inside : Flow, Custom or Pulled, optional
        The choice or loop, or the function with a gradient of its own, or that gradient.
    """

    def __init__(self, graph: Graph, capture: Capture, inside: Any = None) -> None:
        self.graph, self._capture = graph, capture
        self._first: int
        self._first, last = (0, len(graph.nodes)) if inside is None else (inside.first, inside.last)
        self._numbers = {id(node): i for i, node in enumerate(graph.nodes)}
        self._owners: dict[int, Item] = {}
        created = [c for c in capture.creations if c.graph is graph]
        self._apart = {id(node) for c in created for node in graph.nodes[c.first : c.last]}
        spans: list[Any] = [
            *capture.flows, *capture.gradients, *capture.steps, *capture.averagings, *capture.draws,
            *capture.minimizers, *capture.customs,
        ]  # fmt: skip
        within = [
            c for c in spans if c.graph is graph and c is not inside and self._first <= c.first and c.last <= last
        ]
        apart = [*within, *created]
        called = [
            c for c in capture.calls
            if c.graph is graph and self._first <= c.first and c.last <= last
            and not any(c.first <= other.first and other.last <= c.last for other in apart if not _is_inner(other))
            and not (inside is not None and c.first <= inside.first and inside.last <= c.last)
        ]  # fmt: skip
        self._mixed = {id(c) for c in called if any(c.first <= other.first and other.last <= c.last for other in apart)}
        users = _users(graph, capture) if called else {}
        for call in sorted([*within, *called], key=lambda c: (c.first, -c.last)):
            if isinstance(call, Called):
                self._own_call(call, users)
            else:
                self._own(_ITEMS[type(call)](call))

    def within(self, flow: Any) -> Items:
        """The items inside of a choice or loop, or of a function with a gradient of its own, or of that gradient."""
        return Items(self.graph, self._capture, flow)

    def _own_call(self, call: Called, users: dict[int, list[int]]) -> None:
        """Take the nodes of a call together, if it can be written, and nobody uses what it computes on the way."""
        if id(call) not in self._capture.written:
            self._capture.written[id(call)] = self._written(call)
        written = self._capture.written[id(call)]
        if written is None or any(id(node) in self._owners for node in written.nodes):
            return
        span, results = range(call.first, call.last), [p for x in calls.leaves(call.result) for p in parts(x)]
        if not all(self._numbers[id(node)] in span for node in written.nodes):
            return
        if not calls.stays_inside(written.nodes, set(map(id, results)), users, span):
            return
        after = [c for node in written.nodes for c in node.control_inputs if self._numbers[id(c)] not in span]
        item = CallItem(call.last - 1, list(written.operands), results, after, call, written, results[-1].node)
        self._owners |= {id(node): item for node in written.nodes}

    def _written(self, call: Called) -> Any:
        """How a call can be written: proved to make the same nodes, or, where those have no spelling, as it was."""
        args: Sequence[Any] = call.args
        kwargs: Mapping[str, Any] = call.kwargs
        drawn = [d for d in self._capture.draws if d.graph is self.graph and call.first <= d.first < call.last]
        if len(drawn) == 1 and drawn[0].seed is not None:
            args, kwargs = calls.seeded(call.place, args, kwargs, drawn[0].seed)
        given = call.place, args, kwargs, call.result
        proved = calls.spelled(*given) if id(call) not in self._mixed and call.last - call.first > 1 else None
        loops = {i for flow in self._capture.flows if flow.graph is self.graph for i in range(flow.first, flow.last)}
        known = [self.graph.nodes[i] for i in loops if call.first <= i < call.last]
        return proved or calls.whole(*given, self.graph.nodes[call.first : call.last], known)

    def _own(self, item: Any) -> None:
        call = item.call
        inside = range(call.first, call.last)
        around = [self._owners.get(id(self.graph.nodes[i])) for i in inside]
        if isinstance(item, DrawItem) and any(isinstance(other, (FlowItem, CustomItem)) for other in around):
            return  # what is drawn inside of a loop is no concern of those outside, nor are its constants
        nodes = [self.graph.nodes[i] for i in inside if id(self.graph.nodes[i]) not in self._owners]
        if isinstance(item, FlowItem):  # what it begins with is computed before it, though the call made that, too
            begins = {id(n) for n in needed_nodes(self.graph.nodes[call.first : call.last], operands(call))}
            nodes = [node for node in nodes if id(node) not in begins]
        for node in nodes:
            if not isinstance(item, DrawItem) and self._is_apart(node, inside):
                continue
            self._owners[id(node)] = item
            item.after += [c for c in node.control_inputs if self._numbers[id(c)] not in inside]
        if isinstance(item, GradientItem):
            item.outputs = [r for r in item.outputs if self._numbers.get(id(r.node), -1) in inside]
        item.order = call.last - 1

    def _is_apart(self, node: Any, inside: range) -> bool:
        """Whether a node may serve others too: constants, the making of variables, and reads kept for later uses."""
        if node.op is constant or id(node) in self._apart:
            return True
        return node.op is read_variable and not any(self._numbers[id(c)] in inside for c in node.control_inputs)

    def item_of(self, node: Any) -> Item:
        """The item that a node belongs to."""
        owner = self._owners.get(id(node))
        if owner is None:
            hidden = is_hidden(node)
            inputs, after = ([], []) if hidden else (list(node.inputs), list(node.control_inputs))
            if summaries.is_summary(node):
                inputs, after = summaries.inputs(node)
            owner = OpItem(self._numbers[id(node)], inputs, list(node.outputs), after, node=node)
            self._owners[id(node)] = owner
        return owner

    def needed(self, wanted: Sequence[Any], fed: Collection[int]) -> list[Item]:
        """The items that some tensors and operations need, in order; `fed` are identities of tensors that are given."""
        items: dict[int, Item] = {}
        pending = [self.item_of(getattr(w, "node", w)) for w in wanted if id(w) not in fed]
        while pending:
            item = pending.pop()
            if id(item) in items or item.order < self._first:
                continue
            items[id(item)] = item
            pending += [self.item_of(x.node) for x in item.inputs if id(x) not in fed]
            pending += [self.item_of(node) for node in item.after]
        return sorted(items.values(), key=lambda item: item.order)


def _users(graph: Graph, capture: Capture) -> dict[int, list[int]]:
    """By tensor, the nodes that use it, by number, but for those of gradients and steps; -1 for what else does."""
    own = {
        i for c in [*capture.gradients, *capture.steps] if c.graph is graph for i in range(c.first, c.last)
    }  # fmt: skip
    users: dict[int, list[int]] = {}
    for number, node in enumerate(graph.nodes):
        for x in () if number in own else node.inputs:
            users.setdefault(id(x), []).append(number)
    for gradient in capture.gradients:
        for x in (p for y in [*gradient.ys, *gradient.xs, *(gradient.grad_ys or ())] for p in parts(y)):
            users.setdefault(id(x), []).append(-1)
    for run in capture.runs.values():
        for x in (p for y in [*run.flat, *run.feeds] for p in parts(y)):
            users.setdefault(id(x), []).append(-1)
    return users


def _is_inner(span: Any) -> bool:
    """Whether a call of a function may have made it on the way."""
    return isinstance(span, (Flow, Draw))


def parts(x: Any) -> list[Any]:
    """The tensors that a gradient, or a sparse tensor, consists of."""
    if isinstance(x, SparseTensor):
        return [x.indices, x.values, x.dense_shape]
    if isinstance(x, IndexedSlices):
        return [x.values, x.indices]
    return [x] if isinstance(x, Symbol) else []


def _flat(values: Iterable[Any]) -> list[Any]:
    return [part for x in values for part in parts(x)]


def source(x: Any) -> Any:
    """The source of a gradient: a variable's handle, or a tensor."""
    return x.handle if isinstance(x, Variable) else x


def _gradient_item(call: Gradient) -> GradientItem:
    inputs = [*_flat(call.ys), *_flat(call.grad_ys or ()), *[source(x) for x in call.xs]]
    return GradientItem(call.first, inputs, _flat(call.results), [], call)


def _step_item(call: Step) -> StepItem:
    hyper = [getattr(call.optimizer, n) for n in call.optimizer.hyperparameters]
    inputs = [*_flat(g for g, _ in call.pairs), *[x for x in hyper if isinstance(x, Symbol)]]
    return StepItem(call.first, inputs, [], [], call)


def _draw_item(call: Draw) -> DrawItem:
    results = call.result if isinstance(call.result, (list, tuple)) else [call.result]
    return DrawItem(call.first, _tensors(list(call.arguments.values())), list(results), [], call)


def _tensors(x: Any) -> list[Any]:
    if isinstance(x, (list, tuple)):
        return [t for item in x for t in _tensors(item)]
    return [source(x)] if isinstance(x, (Symbol, Variable)) else []


def _flow_item(call: Flow) -> FlowItem:
    regions = call.closure.regions
    inputs = {id(x): x for x in operands(call)}
    for region in regions:
        inputs |= region.captured | region.handles
    return FlowItem(call.first, list(inputs.values()), list(call.outputs), list(call.closure.after), call)


def operands(call: Flow) -> list[Any]:
    """The operands of a choice or loop: the condition, or the initial values of loop variables and the rows."""
    node, states = call.node, len(call.closure.assigned)
    if node.op.name == "cond_op":
        return [node.inputs[0]]
    first = node.params.get("carries", node.params.get("count")) - states
    rows = node.inputs[first + states :][: node.params.get("sequences", 0)]
    numbers = {id(n): i for i, n in enumerate(call.graph.nodes[call.first : call.last])}

    def plain(x: Any) -> Tensor:
        return x.node.inputs[0] if id(x.node) in numbers and x.node.op is identity else x

    return [plain(x) for x in [*node.inputs[:first], *rows]]


def _minimize_item(call: Minimizer) -> MinimizeItem:
    """Its inputs are the placeholders that the loss and the constraints need: all else is computed again and again."""
    nodes = needed_nodes(call.graph.nodes, [call.loss, *call.equalities, *call.inequalities, *call.watched])
    slots = [x for node in nodes if node.op is placeholder for x in node.outputs]
    return MinimizeItem(call.first, slots, [], [], call)


def _custom_item(call: Custom) -> CustomItem:
    given = list(call.node.inputs[: call.node.params["count"]])
    known = {id(x) for x in given} | {id(x) for x in call.pulled.cotangents} if call.pulled else {*map(id, given)}
    spans = [range(s.first, s.last) for s in (call, call.pulled) if s is not None]
    numbers = {id(call.graph.nodes[i]) for span in spans for i in span}
    todo = [*(call.pulled.gradients if call.pulled else ()), *call.node.inputs[len(given) :]]
    while todo:
        x = todo.pop()
        if not isinstance(x, Symbol) or id(x) in known:
            continue
        known.add(id(x))
        if id(x.node) in numbers and x.node.op is not read_variable:
            todo += x.node.inputs
        elif x.node.op not in (constant, variable_handle) and not is_hidden(x.node):
            given.append(x)
    return CustomItem(call.first, list(given), list(call.node.outputs), [], call, given)


_ITEMS: dict[type, Any] = {
    Gradient: _gradient_item, Step: _step_item, Averaging: lambda call: AverageItem(call.first, call=call),
    Minimizer: _minimize_item, Draw: _draw_item, Flow: _flow_item, Custom: _custom_item,
}  # fmt: skip


def is_hidden(node: Any) -> bool:
    """Whether a node reads or moves on a counter that random functions keep."""
    return bool(node.inputs) and getattr(node.inputs[0].node, "params", {}).get("default") is not None


def is_leaf(item: Item) -> bool:
    """Whether an item is no statement: what it stands for has a name, or is written where it is used."""
    if isinstance(item, OpItem) and is_hidden(item.node):
        return True
    return isinstance(item, OpItem) and item.node.op in (placeholder, constant, variable_handle, read_variable, no_op)


def is_assignment(item: Item) -> bool:
    """Whether an item assigns to a variable of the program."""
    return isinstance(item, OpItem) and item.node.op is assign_variable


def assigned(item: Item) -> Iterator[Any]:
    """The handles of the variables that an item assigns to."""
    if is_assignment(item):
        yield item.inputs[0]
    elif isinstance(item, FlowItem):
        yield from item.call.closure.assigned
    elif isinstance(item, AverageItem):
        yield from (item.call.averages.average(v).handle for v in item.call.variables)
    elif isinstance(item, StepItem):
        yield from (v.handle for _, v in item.call.pairs)
        if item.call.global_step is not None:
            yield item.call.global_step.handle
