"""Nodes of a file, made anew in a graph, each when something needs it.

A `Body` is a graph or function of a file. A `Region` makes the nodes of one place in it: of the graph itself, of one
branch of a choice, of the condition or body of a loop. What belongs further out is made there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dualgrad.frontend.overrides import apply_overridden
from engine.closed.function import plain
from engine.core.kinds import PerOperand, general
from engine.core.op import FROM_VJP
from engine.core.value import Value
from engine.core.variable import read_variable
from engine.runtime.errors import InvalidArgumentError, OpError, ShapeError, UnimplementedError
from engine.transforms.symbolic import gradients
from graph_api.control_flow.control import cond, while_loop
from graph_api.control_flow.flow import one_by_one
from graph_api.control_flow.tensor_array import TensorArray
from graph_api.graph_files.definition import Definition, Item, Ref
from graph_api.graph_files.own_rows import own_row
from graph_api.graph_files.regions import ENTERS, EXITS, MERGES, PARTS, SWITCHES, TOP, Choice, Loop, Place, Regions
from graph_api.graph_files.rows import ROWS, Made, Row, Site, is_handle
from graph_api.graphs.tensor import Operation, Tensor
from graph_api.library import root as tf

several = general(
    "several",
    lambda *values: values,
    lambda *values: [plain(v) for v in values],
    vjp=PerOperand(lambda i, cts, outs, *values: cts[i]),
    jvp=FROM_VJP,
    batch=one_by_one,
    type="IdentityN",
    args=("*values",),
    multi=True,
    doc="Values as outputs of one operation.",
)


class Body:
    """A graph or function of a file, being made.

    Parameters
    ----------
    definition : Definition
    graph : Graph
    prefix : str
        What names begin with, an empty string or one that ends in a slash.
    library : callable
        ``library(name)``: the definition of a function and what it returns.
    given : dict of Ref to tensor
        What stands for outputs of nodes, or for arguments.
    producer : int
        The version of graphs that the file has.
    """

    def __init__(
        self, definition: Definition, graph: Any, prefix: str, library: Any, given: dict[Ref, Any], producer: int
    ) -> None:
        self.definition, self.graph, self.library, self.producer = definition, graph, library, producer
        self.regions = Regions(definition)
        self.given = given
        self.names = {name: prefix + name for name in definition.items}
        self.operations: dict[str, Operation] = {}
        self.top = Region(self, None, TOP, {})
        for name, full in self.names.items():
            if full in graph._by_name or full.lower() in graph._names_in_use:
                with graph.name_scope(None):
                    self.names[name] = graph.unique_name(full)
            else:
                graph._names_in_use[full.lower()] = 1

    def full_name(self, item: Item) -> str:
        """The name in the graph of a node that is made now: its own, unless a node has it by now."""
        full = self.names[item.name]
        if full not in self.graph._by_name:
            return full
        with self.graph.name_scope(None):
            return self.graph.unique_name(full)


class Region:
    """One place of a body, where nodes are made.

    Parameters
    ----------
    body : Body
    outer : Region or None
        The one around it.
    place : Place
    bound : dict of Ref to tensor
        What stands for values here: the loop variables.
    """

    def __init__(self, body: Body, outer: Region | None, place: Place, bound: dict[Ref, Any]) -> None:
        self.body, self.outer, self.place = body, outer, place
        self.graph = body.graph
        self.values: dict[str, list[Any]] = {}
        self.bound = bound

    # ---- what rows ask -----------------------------------------------------------------------------------------------

    @property
    def is_old(self) -> bool:
        """Whether placeholders of no shape have the shape ()."""
        return self.body.producer < 24

    def read(self, handle: Any) -> Tensor:
        """The value of a variable now."""
        if not is_handle(handle):
            raise InvalidArgumentError("a variable is needed")
        return self.graph.apply(read_variable, (handle,), {})

    def pulled_back(self, y: Any, x: Any, dy: Any) -> Made:
        """The cotangent of one or several `x` for the cotangent `dy` of `y`, computed from them."""
        xs = x if isinstance(x, list) else [x]
        cotangents = [tf.zeros_like(v) if g is None else g for v, g in zip(xs, gradients(y, xs, dy), strict=True)]
        return cotangents if isinstance(x, list) else cotangents[0]

    def call(self, function: str, arguments: Sequence[Any]) -> Operation | list[Any]:
        """The results of a function of the library: tensors, or, if it returns none, the operation that runs it."""
        definition, results, controls = self.body.library(function)
        if len(arguments) != len(definition.arguments):
            raise InvalidArgumentError(
                f"the function {function!r} takes {len(definition.arguments)} arguments, not {len(arguments)}"
            )
        values = {Ref(name, 0): x for name, x in zip(definition.arguments, arguments, strict=True)}
        scope, graph = self.graph.get_name_scope(), self.graph
        inner = Body(definition, graph, f"{scope}/" if scope else "", self.body.library, values, self.body.producer)
        inner.top.make(controls)
        outcome = inner.top.get(results)
        done = [op for op in map(inner.top._operation, controls) if op is not None]
        if not results:
            return graph.group(done)
        with graph.control_dependencies(done):
            return [tf.identity(x) if done and isinstance(x, Tensor) and not is_handle(x) else x for x in outcome]

    # ---- values ------------------------------------------------------------------------------------------------------

    def get(self, refs: Sequence[Ref]) -> list[Any]:
        """Values, made if need be."""
        self.make([ref.node for ref in map(self._behind, refs) if self._is_to_make(ref)])
        return [self.value(ref) for ref in refs]

    def value(self, ref: Ref) -> Any:
        """A value that has been made."""
        ref = self._behind(ref)
        if ref in self.body.given:
            return self.body.given[ref]
        region: Region | None = self
        while region is not None:
            if ref in region.bound:
                return region.bound[ref]
            outputs = region.values.get(ref.node)
            if outputs is not None and not _is_transparent(self.body, ref):
                if ref.index >= len(outputs):
                    raise InvalidArgumentError(f"the node {ref.node!r} has {len(outputs)} outputs, and no {ref.index}")
                return outputs[ref.index]
            region = region.outer
        raise InvalidArgumentError(f"{ref.node!r} is used where it has no value: outside of its branch or loop")

    def _behind(self, ref: Ref) -> Ref:
        """The value behind switches whose side is chosen here, and behind the entry into a loop."""
        while True:
            item = self.body.definition.items.get(ref.node)
            if item is None or self._is_bound(ref) or ref in self.body.given or not _is_transparent(self.body, ref):
                return ref
            ref = item.inputs[0]

    def _is_bound(self, ref: Ref) -> bool:
        region: Region | None = self
        while region is not None:
            if ref in region.bound:
                return True
            region = region.outer
        return False

    # ---- making ------------------------------------------------------------------------------------------------------

    def make(self, names: Iterable[str]) -> None:
        """Make nodes, and first what they need."""
        for name in names:
            if self._is_made(name):
                continue
            stack: list[tuple[str, Iterator[str]]] = [(name, self._needed(name))]
            entered = {name}
            while stack:
                current, left = stack[-1]
                needed = next(left, None)
                if needed is None:
                    stack.pop()
                    if not self._is_made(current):
                        self._owner(current)._make_one(self.body.definition.items[current])
                elif not self._is_made(needed):
                    if needed in entered:
                        raise InvalidArgumentError(f"the nodes {current!r} and {needed!r} need one another")
                    entered.add(needed)
                    stack.append((needed, self._needed(needed)))

    def _is_made(self, name: str) -> bool:
        region: Region | None = self
        while region is not None:
            if name in region.values:
                return True
            region = region.outer
        return False

    def _owner(self, name: str) -> Region:
        """The outermost region that a node can be made in."""
        place = self.body.regions.places[name]
        best, region = None, self
        while region is not None:
            if region.place.frames == place.frames and place.conditions <= region.place.conditions:
                best = region
            region = region.outer  # type: ignore[assignment]
        if best is None:
            raise InvalidArgumentError(f"{name!r} is used outside of its branch or loop")
        return best

    def _needed(self, name: str) -> Iterator[str]:
        """The nodes that must be made before a node."""
        regions = self.body.regions
        item = self.body.definition.items[name]
        if name in regions.choices:
            choice = regions.choices[name]
            refs = [choice.pred]
            for side in (0, 1):
                refs += regions.taken(choice.sides[side], branch(choice, side))
            refs = [r for r in refs if not is_pivot(self.body, self._behind(r).node)]
        elif item.op in EXITS:
            loop = regions.loop_of(name)
            inside = [loop.test, *loop.nexts]
            refs = [*loop.starts, *regions.taken([r for r in inside if r is not None], Place(loop.frames, frozenset()))]
        else:
            refs = [*item.inputs, *[Ref(c, 0) for c in item.controls if not is_pivot(self.body, c)]]
        for ref in refs:
            ref = self._behind(ref)
            if self._is_to_make(ref):
                yield ref.node

    def _is_to_make(self, ref: Ref) -> bool:
        """Whether a value is one that a node gives."""
        return ref.node in self.body.definition.items and ref not in self.body.given and not self._is_bound(ref)

    def _make_one(self, item: Item) -> None:
        regions = self.body.regions
        if item.name in regions.choices:
            self._choose(regions.choices[item.name])
        elif item.op in EXITS:
            self._loop(regions.loop_of(item.name))
        elif item.op in PARTS:
            raise UnimplementedError(
                f"the node {item.name!r} ({item.op}) is a part of control flow that cannot be made again"
            )
        else:
            self.values[item.name] = self._apply(item)

    def _apply(self, item: Item) -> list[Any]:
        row = ROWS.get(item.op) or own_row(item.op, "params" in item.proto.attr)
        row = row or Row(lambda site: self.call(item.op, site.inputs), takes_handles=True)
        graph = self.graph
        inputs = [self.value(ref) for ref in item.inputs]
        controls = [self._operation(c) for c in item.controls if not is_pivot(self.body, c)]
        full, before = self.body.full_name(item), len(graph.nodes)
        with (
            graph.control_dependencies(None),
            graph.control_dependencies([c for c in controls if c is not None]),
            graph.device(item.proto.device),
            graph.name_scope(f"{full}/"),
        ):
            if not row.takes_handles:
                inputs = [self.read(x) if is_handle(x) else x for x in inputs]
            try:
                made = self._made(row, item, inputs)
            except OpError as error:
                raise type(error)(f"the node {item.name!r} ({item.op}): {error}") from error
            except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, AssertionError) as error:
                raise InvalidArgumentError(f"the node {item.name!r} ({item.op}): {error}") from error
            outputs, operation = named(graph, made, full, before)
        if operation is not None:
            self.body.operations.setdefault(item.name, operation)
        return outputs

    def _made(self, row: Row, item: Item, inputs: list[Any]) -> Made:
        """Make the nodes of a row, with a gradient of the user's own if the file names one."""

        def make(*inputs: Any) -> Any:
            return row.make(Site(self.graph, item.proto, list(inputs), self))

        if row.takes_handles or "_gradient_op_type" not in item.proto.attr:
            return make(*inputs)
        name = item.proto.attr["_gradient_op_type"].s.decode()
        if self.body.library.with_gradient is not None:
            return self.body.library.with_gradient(self, item, name, inputs)
        made: Any = apply_overridden(make, inputs, name)
        first = made[0] if isinstance(made, (list, tuple)) else made
        first.op.overridden = item.op, name
        return made

    def _operation(self, name: str) -> Operation | None:
        """The operation for a node that another one waits for; None for an argument of a function."""
        if name not in self.body.definition.items:
            return None
        operation = self.body.operations.get(name)
        if operation is None:
            outputs = [x for x in self.value_list(name) if isinstance(x, Tensor)]
            return outputs[0].op if outputs else None
        return operation

    def value_list(self, name: str) -> list[Any]:
        """All outputs of a node that has been made."""
        region: Region | None = self
        while region is not None:
            if name in region.values:
                return region.values[name]
            region = region.outer
        return []

    # ---- choices and loops -------------------------------------------------------------------------------------------

    def _choose(self, choice: Choice) -> None:
        pred = self.value(choice.pred)

        def side(index: int) -> list[Any]:
            region = Region(self.body, self, branch(choice, index, self.place), {})
            return [held(x) for x in region.get(choice.sides[index])]

        scope = f"{self.body.names[choice.merges[0].name]}/"
        with self.graph.control_dependencies(None), self.graph.name_scope(scope):
            results = cond(pred, lambda: side(1), lambda: side(0), strict=True, name="cond")
        for k, (item, result) in enumerate(zip(choice.merges, results, strict=True)):
            outputs = [result]
            if _wants_index(self.body, item):
                on_true = int(choice.sides[1][k] != item.inputs[0])
                outputs.append(tf.where(pred, on_true, 1 - on_true))
            self._finish(item, outputs)

    def _loop(self, loop: Loop) -> None:
        body, graph = self.body, self.graph
        assert loop.test is not None
        used = _variables(body, loop)
        starts = [self.value(loop.starts[i]) for i in used]

        def bound(arguments: Sequence[Any]) -> Region:
            values = {Ref(loop.merges[i], 0): x for i, x in zip(used, arguments, strict=True)}
            values |= {Ref(name, 1): arguments[used.index(i)] for name, i in loop.switches.items() if i in used}
            conditions = self.place.conditions
            return Region(body, self, Place(loop.frames, conditions), values)

        def goes_on(*arguments: Any) -> Tensor:
            return bound(arguments).get([loop.test])[0]  # type: ignore[list-item]

        def step(*arguments: Any) -> list[Any]:
            return [held(x) for x in bound(arguments).get([loop.nexts[i] for i in used])]

        scope = f"{body.names[loop.merges[used[0]]]}/" if used else None
        with graph.control_dependencies(None), graph.name_scope(scope):
            try:
                with graph.unchanged_by_errors():
                    results = while_loop(goes_on, step, starts, name="while", return_same_structure=True)
            except ShapeError:
                # a shape may change from one iteration to the next; the file does not say which
                free = [None if isinstance(x, Tensor) else x for x in starts]
                results = while_loop(goes_on, step, starts, free, name="while", return_same_structure=True)
        for name, i in loop.exits.items():
            if i in used:
                self._finish(body.definition.items[name], [results[used.index(i)]])

    def _finish(self, item: Item, outputs: list[Any]) -> None:
        """Give what a choice or loop results in the node's name."""
        if all(isinstance(x, Tensor) for x in outputs):
            graph, full, before = self.graph, self.body.full_name(item), len(self.graph.nodes)
            with graph.control_dependencies(None), graph.name_scope(f"{full}/"):
                made = tf.identity(outputs[0]) if len(outputs) == 1 else outputs
                outputs, operation = named(graph, made, full, before)
            if operation is not None:
                self.body.operations.setdefault(item.name, operation)
        self.values[item.name] = outputs


# ---- what nodes are --------------------------------------------------------------------------------------------------


def branch(choice: Choice, side: int, outer: Place | None = None) -> Place:
    """The place of one side of a choice."""
    place = outer or choice.place
    return Place(place.frames, place.conditions | {(choice.pred, side)})


def _is_transparent(body: Body, ref: Ref) -> bool:
    """Whether a value is that of the node's first input: of a switch of a choice, and of what enters a loop."""
    item = body.definition.items.get(ref.node)
    if item is None or not item.inputs:
        return False
    return item.op in ENTERS or (item.op in SWITCHES and not body.regions._is_of_loop(item))


def is_pivot(body: Body, name: str) -> bool:
    """Whether a node only says in which branch or loop others are: control flow itself, and copies of it."""
    item = body.definition.items.get(name)
    while item is not None and item.op == "Identity" and item.inputs and not item.controls:
        item = body.definition.items.get(item.inputs[0].node)
    if item is None:
        return False
    return item.op in SWITCHES or item.op in ENTERS or (item.op in MERGES and item.name not in body.regions.choices)


def held(x: Any) -> Tensor | TensorArray:
    """A value as a branch or body returns it."""
    if is_handle(x):
        return x.graph.apply(read_variable, (x,), {})
    return x


def _wants_index(body: Body, merge: Item) -> bool:
    """Whether something asks which side of a choice was taken."""
    wanted = Ref(merge.name, 1)
    return any(wanted in item.inputs for item in body.definition.items.values())


def _variables(body: Body, loop: Loop) -> list[int]:
    """The loop variables that matter: others count steps for gradients that are not made again."""
    regions = body.regions
    place = Place(loop.frames, frozenset())
    wanted = set(loop.exits.values())
    left = [loop.test, *[loop.nexts[i] for i in wanted]]
    while left:
        ref = left.pop()
        seen: set[str] = set()
        stack = [ref]
        while stack:
            one = stack.pop()
            if one is None or one.node in seen or not regions.is_inside(one.node, place):
                continue
            seen.add(one.node)
            if one.node in loop.merges and loop.merges.index(one.node) not in wanted:
                wanted.add(loop.merges.index(one.node))
                left.append(loop.nexts[loop.merges.index(one.node)])
            if one.node not in loop.merges:
                stack += body.definition.items[one.node].inputs
    return sorted(wanted)


def named(graph: Any, made: Any, full: str, before: int) -> tuple[list[Any], Operation | None]:
    """The results of a row, as outputs of one operation of the given name."""
    if isinstance(made, Operation):
        graph.rename(made, full)
        return [], made
    outputs = list(made) if isinstance(made, (list, tuple)) else [made]
    if not all(isinstance(x, Value) for x in outputs):
        if not all(isinstance(x, (Value, TensorArray)) or type(x).__name__ == "Handle" for x in outputs):
            raise InvalidArgumentError(f"it gives {outputs!r}")
        return outputs, None
    outputs = [graph.operand(x) for x in outputs]
    first = outputs[0].op
    is_new = any(first is node for node in graph.nodes[before:]) and first.name != full
    if not is_new or [id(x) for x in first.outputs] != [id(x) for x in outputs]:
        outputs = [tf.identity(outputs[0])] if len(outputs) == 1 else list(graph.apply(several, outputs, {}))
        first = outputs[0].op
    graph.rename(first, full)
    return outputs, first
