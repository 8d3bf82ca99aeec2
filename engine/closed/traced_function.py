"""Functions that are recorded once and from then on run as programs.

`FunctionTape` records what a function does with its arguments, variables and random draws. `TracedFunction` makes a
trace of it: arguments become placeholders, variables handles, all else constants. The trace is lowered like a graph,
when the function is called again, or at once where ops were put off (`engine.core.lazy_tensor`). From then on a call
costs what a session's run costs, and gives the same bits as the function. While tapes record, another program gives the
results of all ops, too, and the tapes are told of these (`engine.closed.call_record`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.closed.call_record import CallRecord, Untraceable, VaryingShape
from engine.closed.function import ClosedFunction
from engine.compiler.eager_state import EagerState
from engine.compiler.ir.layout import order_of_value
from engine.core import nest
from engine.core.composite import Composite
from engine.core.eager import EagerTensor, wrap
from engine.core.function_tape import Again, FunctionTape
from engine.core.instantiate import in_trace, instantiate
from engine.core.lazy_tensor import TENSORS, fulfil
from engine.core.op import Node
from engine.core.tape import active, unrecorded
from engine.core.trace import Trace
from engine.core.value import aval_of
from engine.core.variable import Variable, assign_variable, read_variable, variable_handle

MOST_NODES = 100_000
"""A function that does more is not traced: it is a loop in Python, whose program takes 50 us an op to make."""


class TracedFunction:
    """A function's doings, recorded by a tape, to be done again with other arguments.

    The result is a structure of tensors, variables, and what is the same each time. `draws` says whether it draws
    random numbers. `record` is what tapes around a call are told, or why it runs as Python while they record; None if
    it assigns to trainable variables, as training steps do: usual tapes watch these, so nothing is made ready for them.

    Raises
    ------
    Untraceable
        If it did something that is no op, or made something of a shape that depends on contents.
    """

    def __init__(self, tape: FunctionTape, arguments: Sequence[EagerTensor], result: Any) -> None:
        if tape.refusal:
            raise Untraceable(tape.refusal)
        leaves = nest.flatten(result)
        self._again = [again for _, again in tape.drawn]
        self.draws = tape.draws
        self._trace = Trace()
        self._make = in_trace(self._trace)
        self._alone: ClosedFunction | None = None
        self._told: ClosedFunction | None = None
        given = [*arguments, *[x for values, _ in tape.drawn for x in values]]
        self._orders = [order_of_value(x) for x in given]
        self._inputs = [self._trace.placeholder(aval_of(x)) for x in given]
        of = {id(x): symbol for x, symbol in zip(given, self._inputs, strict=True)}
        self._variables: dict[int, Variable] = {}
        touched = {**{key: v for key, (v, _) in tape.reads.items()}, **tape.written}
        handles = {key: self._handle(v) for key, v in touched.items()}
        for key, (_, value) in tape.reads.items():
            of[id(value)] = self._trace.apply(read_variable, (handles[key],), {})
        new = {key: tape.current[key] for key in tape.written}
        self._composites = {i: x for i, x in enumerate(leaves) if isinstance(x, Composite)}
        for i, x in self._composites.items():
            (leaves[i],) = x.components()
            if type(leaves[i]) not in TENSORS or not tape.knows(leaves[i]):
                raise Untraceable(f"it returns a {type(x).__name__} that depends on nothing")
        self._places = [i for i, x in enumerate(leaves) if type(x) in TENSORS and tape.knows(x)]
        self.ends = [leaves[i] for i in self._places]
        self._repeat_needed(tape, of, [*self.ends, *new.values()])
        self._outputs = [of[id(leaves[i])] for i in self._places]
        self._structure = nest.map_structure(lambda x: None, result)
        self._leaves = [None if i in self._places else x for i, x in enumerate(leaves)]
        for key, value in new.items():
            self._trace.apply(assign_variable, (handles[key], of.get(id(value), value)), {})
        self._length = len(self._trace.nodes)
        self.components = [leaves[i] for i in self._composites]
        self.record = self._recorded(tape, given, leaves, of)

    def symbols(self) -> tuple[list[Any], list[Any], dict[int, Variable]]:
        """The placeholders of its arguments, its results that depend on something, and the variables, by handle."""
        return list(self._inputs), list(self._outputs), self._variables

    def _recorded(self, tape: FunctionTape, given: Sequence[Any], leaves: list[Any], of: dict[int, Any]) -> Any:
        """The record that tapes around it are told, if there can be one."""
        if any(variable.trainable for variable in tape.written.values()):
            return None
        if self._composites:
            return "it returns what no tape can follow"
        try:
            record = CallRecord(tape, given, leaves)
            self._repeat([n for n in _needed(tape.everything(), record.made) if id(n.outputs[0]) not in of], of)
        except Exception as error:  # noqa: BLE001 - whatever it is, Python can run it
            return str(error)
        self._wanted = [of[id(x)] for x in record.made]
        record.made.clear()
        return record

    def _repeat_needed(self, tape: FunctionTape, of: dict[int, Any], ends: Sequence[Any]) -> None:
        """Add the nodes that values are computed from, and look at those whose shapes Python has seen.

        It is Untraceable if such a shape may be another one. Called with symbols, the function would see None there,
        and might choose otherwise.
        """
        try:
            self._repeat(_needed(tape.everything(), ends), of)
            if tape.measured:
                rest = [n for n in _needed(tape.everything(), tape.measured) if id(n.outputs[0]) not in of]
                self._repeat(rest, of)
        except VaryingShape as error:
            if any(id(x) in of and of[id(x)].aval.shape != x._shape for x in tape.measured):
                raise Untraceable(f"Python has seen the shape, and {error}") from None
            raise

    def _handle(self, variable: Variable) -> Any:
        if not variable.aval.is_static:
            raise Untraceable(f"the shape of variable {variable.name!r} may change")
        (handle,) = self._trace.append(variable_handle, (), {"aval": variable.aval, "default": None}, (variable.aval,))
        self._variables[id(handle)] = variable
        return handle

    def _repeat(self, nodes: list[Node], of: dict[int, Any]) -> None:
        """Add nodes to the trace."""
        if len(nodes) > MOST_NODES:
            raise Untraceable(f"it applies {len(nodes)} ops, more than {MOST_NODES}")
        made = {id(out) for node in nodes for out in node.outputs}
        for node in nodes:
            if node.op.stateful:
                raise Untraceable(f"what {node.op.title} gives depends on more than its operands")
            for x in node.inputs:
                if id(x) not in of and id(x) not in made:
                    of[id(x)] = self._trace.operand(x)
        instantiate(nodes, of, self._made)
        for node in nodes:
            for out in node.outputs:
                if of[id(out)].aval.shape != out._shape:
                    raise VaryingShape(f"the shape of what {node.op.title} gives depends on the contents of tensors")

    def _made(self, node: Node, operands: tuple[Any, ...]) -> Sequence[Any]:
        op = node.op
        same = op.simplify([x.aval for x in operands], node.params) if op.multi and op.simplify else None
        # a rule of the user's own is not needed any more, and may hold tensors
        return self._make(node, operands) if same is None else [operands[i] for i in same]

    def __call__(self, arguments: Sequence[EagerTensor]) -> Any:
        """The function's result for other arguments of the same shapes and dtypes; an error changes nothing.

        It is Untraceable if tapes record that must see Python run.
        """
        if active.tapes:
            if not isinstance(self.record, CallRecord) or not self.record.fits(active.tapes):
                raise Untraceable(str(self.record))
            run: Any = self._under_tapes
        else:
            run = self._result
        if not self._again:
            return run(arguments, [])
        drawn: list[tuple[Again, Sequence[Any]]] = []
        try:
            for again in self._again:
                drawn.append((again, again()))  # noqa: PERF401 - what was drawn before one fails is needed
            return run(arguments, [x for _, found in drawn for x in found])
        except Exception:
            # Python, which runs now, draws the same once more
            for again, found in reversed(drawn):
                again.take_back(found)
            raise

    def _result(self, arguments: Sequence[EagerTensor], drawn: list[Any]) -> Any:
        leaves = list(self._leaves)
        for i, array in zip(self._places, self._run(arguments, drawn), strict=True):
            leaves[i] = self._composites[i].rebuilt([array]) if i in self._composites else EagerTensor(array)
        return self._packed(leaves)

    def _run(self, arguments: Sequence[EagerTensor], drawn: Sequence[Any]) -> Sequence[Any]:
        if self._alone is None:
            self._alone = self._closed(self._length, self._outputs)
        return self._alone.execute([*[x._array for x in arguments], *drawn])

    def fulfil(self, arguments: Sequence[EagerTensor], drawn: Sequence[Any]) -> None:
        """Run the call that was recorded, for what it gives."""
        for x, array in zip(self.ends, self._run(arguments, drawn), strict=True):
            fulfil(x, array)

    def _under_tapes(self, arguments: Sequence[EagerTensor], drawn: list[Any]) -> Any:
        """The same, told to the tapes that record this thread."""
        if self._told is None:
            self._told = self._closed(None, self._wanted)
        tensors: list[EagerTensor] = []
        told: Sequence[Variable] = self.record.read

        def read(variables: Sequence[Variable]) -> list[Any]:
            tensors.extend(type(told[0]).tensors(told))
            # the same arrays, as another thread may assign
            held = {id(v): x._array for v, x in zip(told, tensors, strict=True)}
            return [held[id(v)] if id(v) in held else type(v).arrays([v])[0] for v in variables]

        made = unrecorded(self._told.execute, [*[x._array for x in arguments], *drawn], read if told else None)
        values = self.record.tell([*arguments, *map(wrap, drawn)], tensors, made)
        numbers = zip(self._leaves, self.record.results, strict=True)
        return self._packed([x if number is None else values[number] for x, number in numbers])

    def _packed(self, leaves: list[Any]) -> Any:
        return nest.pack_sequence_as(self._structure, leaves) if nest.is_nested(self._structure) else leaves[0]

    def _closed(self, length: int | None, outputs: list[Any]) -> ClosedFunction:
        """The closed function of the trace's first nodes; another thread may make the same one."""
        store = EagerState(self._variables)
        nodes = self._trace.nodes[:length]
        return ClosedFunction(self._trace, self._inputs, outputs, nodes, store=store, orders=self._orders)


def _needed(nodes: Sequence[Node], ends: Sequence[Any]) -> list[Node]:
    """The nodes that some values are computed from, in their order."""
    needed = set(map(id, ends))
    found = []
    for node in reversed(nodes):
        if not needed.isdisjoint(map(id, node.outputs)):
            found.append(node)
            needed.update(map(id, node.inputs))
    return found[::-1]
