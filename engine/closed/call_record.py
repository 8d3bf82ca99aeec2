"""The part of a recorded call that tapes around it are told: the ops that it applied, with the values of this call.

A function's recording has seen each op that tapes around it were told of, or would have been (`FunctionTape.seen`).
Later calls run its program, which gives the results of these ops, too. Then the tapes are told of the same ops in the
same order: they record the nodes that Python would have made them record, and all that they can do is as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from engine.core.eager import EagerTensor, in_c, wrap
from engine.core.function_tape import FunctionTape
from engine.core.late_tape import LateTape
from engine.core.lazy_tensor import TENSORS
from engine.core.op import Node, Op
from engine.core.tape import Tape, active, logged, record, record_read
from engine.core.trace import Symbol
from engine.core.value import Value, address
from engine.core.variable import Variable, read_variable
from engine.derivatives.custom import custom_call


class Untraceable(Exception):
    """A function cannot be run as a program; the message says why."""


class VaryingShape(Untraceable):
    """A function has results of other shapes in other calls: a recording of one call is not enough."""


def are_plain(tapes: Sequence[Tape]) -> bool:
    """Whether tapes want to know no more than ops: neither where in a program they are, nor of a whole function."""
    return all(type(tape) in (Tape, LateTape) and type(tape.nondifferentiable) is dict for tape in tapes)


def standing_in(own: Sequence[EagerTensor], arguments: Sequence[EagerTensor]) -> Sequence[int]:
    """Let the tapes that record follow tensors as they follow others; how long their logs are."""
    for tape in active.tapes:
        for mine, x in zip(own, arguments, strict=True):
            if address(x) in tape.tracked:
                tape.tracked[address(mine)] = mine
            elif address(x) in tape.nondifferentiable:
                tape.nondifferentiable[address(mine)] = tape.nondifferentiable[address(x)]
    return [len(tape.nodes.log) for tape in active.tapes]


def no_longer(own: Sequence[EagerTensor], arguments: Sequence[EagerTensor], since: Sequence[int]) -> None:
    """Put the others in their place, in what was recorded since the logs were so long."""
    others = {id(mine): x for mine, x in zip(own, arguments, strict=True)}
    for tape, length in zip(active.tapes, since, strict=True):
        tape.nodes.renamed(length, others)
        tracked, tape.tracked = tape.tracked, tape.values_by_address()
        for x in tracked.values():
            # the function may have let the tape watch what it was given
            x = others.get(id(x), x)
            tape.tracked[address(x)] = x
        for mine in own:
            tape.nondifferentiable.pop(address(mine), None)
            if note := tape.left.pop(address(mine), None):
                tape.left[address(others[id(mine)])] = others[id(mine)], *note[1:]
        for _, node in tape.nondifferentiable.values():
            node.inputs = tuple([others.get(id(x), x) for x in node.inputs])


class CallRecord:
    """The part of a call that tapes are told, from the stopped tape of a first call, its operands and its results.

    `of` has, by ``id``, the symbols that stand for what the tape knows, `constants` pairs of anything else and its
    symbol, `faults` why other calls may not have a value.

    Values have numbers once a tape is to be told (`prepare`): first those given to the function, arguments and random
    draws, then those read from variables (`read`), the constants, and those that its program makes. `results` are the
    numbers of what is returned; None for what is the same each time.

    Raises
    ------
    Untraceable
        If the same ops cannot be told with other values.
    """

    def __init__(
        self,
        tape: FunctionTape,
        given: Sequence[EagerTensor],
        results: Sequence[Any],
        of: Mapping[int, Any],
        constants: Mapping[int, tuple[Any, Any]],
        faults: Mapping[int, Exception],
    ) -> None:
        self._given = [of[id(x)] for x in given]
        self._returned = [of.get(id(x)) if isinstance(x, Value) and tape.knows(x) else None for x in results]
        self._originals = {id(symbol): x for x, symbol in constants.values()}
        kept = {id(v): v for v, _ in tape.reads.values() if id(v) not in tape.written}
        self._own = {id(of[id(x)]) for v in kept.values() for x in type(v).tensors([v]) if id(x) in of}
        self._nodes, self._reads, read = list[Node](), list[Node](), set[int]()
        others: list[tuple[Sequence[Any], Sequence[Any]]] = []
        for op, inputs, params, out in logged(tape.seen.recording):
            outputs = out if op.multi else (out,)
            if faults and (fault := fault_of((*inputs, *outputs), faults)):
                raise fault
            symbol = of.get(id(outputs[0])) if outputs else None
            if symbol is None:
                others.append((inputs, outputs))
            elif op is not read_variable or not isinstance(inputs[0], Variable):
                _require_same(op, outputs)
                self._nodes.append(symbol.node)
            elif id(inputs[0]) in kept and id(symbol) not in read:
                # no tape that is told follows a variable that is written, or is told again of the same
                read.add(id(symbol))
                self._reads.append(Node(op, inputs, params, (symbol,)))
                self._nodes.append(self._reads[-1])
        self._written = list(tape.written.values())
        made = {id(x) for _, outputs in others for x in outputs}
        apart = [x for inputs, _ in others for x in inputs if id(x) not in made]
        same = [x for x, symbol in zip(results, self._returned, strict=True) if symbol is None]
        # what the function makes of shapes is another value in each call
        looked_at = [x for x in tape.looked_at if not tape.knows(x)]
        self._alone = [x for x in [*apart, *same, *looked_at] if isinstance(x, Value)]
        self.read: Sequence[Variable] = list({id(n.inputs[0]): n.inputs[0] for n in self._reads}.values())

    def prepare(self) -> list[Any]:
        """Give values numbers; the symbols of those that its program has to give, in the order of their numbers."""
        nodes = self._nodes
        reads = set(map(id, self._reads))
        known = [*self._given, *[n.outputs[0] for n in self._reads]]
        places = {id(x) for x in chain(known, *[n.outputs for n in nodes])}
        returned = [x for x in self._returned if x is not None]
        used = list({id(x): x for x in [*chain(*[n.inputs for n in nodes]), *returned] if id(x) not in places}.values())
        made = [x for x in used if isinstance(x, Symbol) and id(x) not in self._originals]
        constants = [x for x in used if not isinstance(x, Symbol) or id(x) in self._originals]
        known_ids = set(map(id, known))
        made += [x for n in nodes for x in n.outputs if id(x) not in known_ids]
        number = {id(x): i for i, x in enumerate([*known, *constants, *made])}
        self._constants = [self._originals.get(id(x), x) for x in constants]
        place = {id(v): i for i, v in enumerate(self.read)}
        self._tensors = [(place[id(n.inputs[0])], id(n.outputs[0]) in self._own) for n in self._reads]
        parts: list[tuple[Any, int, list[Any]]] = [(None, 0, [])]
        for node in nodes:
            if id(node) in reads:
                parts.append((node.inputs[0], number[id(node.outputs[0])], []))
            else:
                out = tuple([number[id(x)] for x in node.outputs])
                inputs = tuple([number[id(x)] for x in node.inputs])
                parts[-1][2].extend((node.op, inputs, node.params, out if node.op.multi else out[0]))
        self._steps = [(variable, number, tuple(steps)) for variable, number, steps in parts]
        self.results = [None if x is None else number[id(x)] for x in self._returned]
        return made

    def fits(self, tapes: Sequence[Tape]) -> bool:
        """Whether it is all that these tapes would see of the function."""
        for tape in tapes:
            if any(address(x) in tape.tracked or address(x) in tape.nondifferentiable for x in self._alone):
                return False
            if tape.assigned and any(id(v) in tape.assigned for v in self.read):
                return False
            for v in self._written:
                if tape.strict or address(v) in tape.tracked or (tape.watch_accessed_variables and v.trainable):
                    return False
        return True

    def tell(self, given: Sequence[EagerTensor], read: Sequence[EagerTensor], made: Sequence[Any]) -> list[Any]:
        """Let the tapes that record this thread know of a call; the result are the values, by number.

        `read` is what each of the variables held, `made` what the program has computed.
        """
        tensors = [read[i] if is_own else wrap(read[i]._array) for i, is_own in self._tensors]
        values = [*given, *tensors, *self._constants, *map(wrap, made)]
        for variable, number, steps in self._steps:
            if variable is not None:
                record_read(variable, read_variable, (variable,), values[number])
            record_all(steps, values)
        return values


def fault_of(values: Iterable[Any], faults: Mapping[int, Exception]) -> Exception | None:
    """Why other calls may not have some values; that it is a shape that varies only if that is all."""
    found = [faults[id(x)] for x in values if id(x) in faults]
    return next((x for x in found if type(x) is not VaryingShape), found[0] if found else None)


def _require_same(op: Op, outputs: Sequence[Any]) -> None:
    """Raise Untraceable if a node may be another one in other calls."""
    if op is custom_call:
        raise Untraceable("the rule of a custom_gradient knows the tensors of the call that made it")
    if not TENSORS.issuperset(map(type, outputs)):
        raise Untraceable(f"what {op.title} gives depends on more than its operands")


def record_all(steps: tuple[Any, ...], values: list[Any]) -> None:
    """Record ops, each with the numbers of its operands, its parameters and the number (or numbers) of its result."""
    parts = iter(steps)
    for op, numbers, params, out in zip(parts, parts, parts, parts, strict=True):
        result = tuple([values[i] for i in out]) if op.multi else values[out]
        record(op, tuple([values[i] for i in numbers]), params, result)


if in_c:
    record_all = in_c.record_all
