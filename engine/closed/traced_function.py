"""Functions that are recorded once and from then on run as programs.

`FunctionTape` records what a function does with its arguments, variables and random draws. `TracedFunction` makes a
trace of it: arguments become placeholders, variables handles, all else constants. The trace is lowered like a graph,
when the function is called again, or at once where ops were put off (`engine.core.lazy_tensor`). From then on a call
costs what a session's run costs, and gives the same bits as the function. While tapes record, another program gives the
results of all ops, too, and the tapes are told of these (`engine.closed.call_record`); it is made when they first do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.closed.call_record import CallRecord, Untraceable, VaryingShape, fault_of
from engine.closed.function import ClosedFunction
from engine.compiler.eager_state import EagerState
from engine.compiler.ir.layout import order_of_value
from engine.core import nest
from engine.core.composite import Composite
from engine.core.eager import EagerTensor, wrap
from engine.core.function_tape import Again, FunctionTape
from engine.core.lazy_tensor import TENSORS, fulfil
from engine.core.op import Node
from engine.core.tape import active, unrecorded
from engine.core.trace import Trace, needed_nodes
from engine.core.value import aval_of
from engine.core.variable import Variable, assign_variable, read_variable, variable_handle
from engine.derivatives.custom import custom_call

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
        constants: dict[int, tuple[Any, Any]] = {}
        faults = self._repeat(tape.everything(), of, constants)
        _require([*self.ends, *new.values()], tape.measured, of, faults)
        self._outputs = [of[id(x)] for x in self.ends]
        self._structure = nest.map_structure(lambda x: None, result)
        self._leaves = [None if i in self._places else x for i, x in enumerate(leaves)]
        self._assignments = [
            self._trace.apply(assign_variable, (handles[key], of.get(id(value), value)), {})
            for key, value in new.items()
        ]
        self.components = [leaves[i] for i in self._composites]
        self.record: Any = None
        if self._composites:
            self.record = "it returns what no tape can follow"
        elif not any(variable.trainable for variable in tape.written.values()):
            try:
                self.record = CallRecord(tape, given, leaves, of, constants, faults)
            except Exception as error:  # noqa: BLE001 - whatever it is, Python can run it
                self.record = str(error)

    def symbols(self) -> tuple[list[Any], list[Any], dict[int, Variable]]:
        """The placeholders of its arguments, its results that depend on something, and the variables, by handle."""
        return list(self._inputs), list(self._outputs), self._variables

    def _handle(self, variable: Variable) -> Any:
        if not variable.aval.is_static:
            raise Untraceable(f"the shape of variable {variable.name!r} may change")
        (handle,) = self._trace.append(variable_handle, (), {"aval": variable.aval, "default": None}, (variable.aval,))
        self._variables[id(handle)] = variable
        return handle

    def _repeat(
        self, nodes: Sequence[Node], of: dict[int, Any], constants: dict[int, tuple[Any, Any]]
    ) -> dict[int, Exception]:
        """Add nodes to the trace, as far as there can be such ones; the result is, by ``id``, why values may be others.

        What they take from elsewhere becomes a constant.
        """
        if len(nodes) > MOST_NODES:
            raise Untraceable(f"it applies {len(nodes)} ops, more than {MOST_NODES}")
        faults: dict[int, Exception] = {}
        for node in nodes:
            fault = fault_of(node.inputs, faults) if faults else None
            if fault is None or type(fault) is VaryingShape:
                try:
                    fault = self._repeated(node, of, constants) or fault
                except Exception as error:  # noqa: BLE001 - it counts if anybody needs the value
                    fault = error
            if fault is not None:
                faults.update(dict.fromkeys(map(id, node.outputs), fault))
        return faults

    def _repeated(self, node: Node, of: dict[int, Any], constants: dict[int, tuple[Any, Any]]) -> VaryingShape | None:
        """Add one node; the result is a fault if it has other shapes in other calls."""
        op, operands = node.op, []
        if op.stateful:
            raise Untraceable(f"what {op.title} gives depends on more than its operands")
        for x in node.inputs:
            symbol = of.get(id(x))
            if symbol is None:
                if id(x) not in constants:
                    constants[id(x)] = x, self._trace.operand(x)
                symbol = constants[id(x)][1]
            operands.append(symbol)
        if op is custom_call:
            # the rule of the user's own is not needed any more, and may hold tensors
            made: Sequence[Any] = operands[node.params["count"] :]
        else:
            avals = op.result_avals([x.aval for x in operands], node.params)
            made = self._trace.append(op, tuple(operands), node.params, avals if op.multi else (avals,))
        fault = None
        for out, symbol in zip(node.outputs, made, strict=True):
            of[id(out)] = symbol
            if symbol.aval.shape != out._shape:
                fault = VaryingShape(f"the shape of what {op.title} gives depends on the contents of tensors")
        return fault

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
            self._alone = self._closed(self._outputs)
        return self._alone.execute([*[x._array for x in arguments], *drawn])

    def fulfil(self, arguments: Sequence[EagerTensor], drawn: Sequence[Any]) -> None:
        """Run the call that was recorded, for what it gives."""
        for x, array in zip(self.ends, self._run(arguments, drawn), strict=True):
            fulfil(x, array)

    def _under_tapes(self, arguments: Sequence[EagerTensor], drawn: list[Any]) -> Any:
        """The same, told to the tapes that record this thread."""
        if self._told is None:
            self._told = self._closed(self.record.prepare())
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

    def _closed(self, outputs: list[Any]) -> ClosedFunction:
        """The closed function of results, and of the assignments; another thread may make the same one."""
        store = EagerState(self._variables)
        nodes = needed_nodes(self._trace.nodes, [*outputs, *self._assignments], set(map(id, self._inputs)))
        return ClosedFunction(self._trace, self._inputs, outputs, nodes, store=store, orders=self._orders)


def _require(ends: Sequence[Any], measured: Sequence[Any], of: dict[int, Any], faults: dict[int, Exception]) -> None:
    """Raise why results may be others in other calls; or shapes that Python has seen (`measured`).

    Called with symbols, the function would see None there, and might choose otherwise: then it is Untraceable.
    """
    error = fault_of(ends, faults) or fault_of(measured, faults)
    if type(error) is VaryingShape and any(id(x) in of and of[id(x)].aval.shape != x._shape for x in measured):
        raise Untraceable(f"Python has seen the shape, and {error}")
    if error is not None:
        raise error
