"""The part of a recorded call that tapes around it are told: the ops that it applied, with the values of this call.

A function's recording has seen each op that tapes around it were told of, or would have been (`FunctionTape.seen`).
Later calls run its program, which gives the results of these ops, too. Then the tapes are told of the same ops in the
same order: they record the nodes that Python would have made them record, and all that they can do is as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from engine.core.eager import EagerTensor, in_c, wrap
from engine.core.function_tape import FunctionTape
from engine.core.lazy_tensor import TENSORS
from engine.core.op import Node
from engine.core.tape import Tape, active, record, record_read
from engine.core.value import Value, address
from engine.core.variable import Variable, read_variable
from engine.derivatives.custom import custom_call


class Untraceable(Exception):
    """A function cannot be run as a program; the message says why."""


class VaryingShape(Untraceable):
    """A function has results of other shapes in other calls: a recording of one call is not enough."""


def are_plain(tapes: Sequence[Tape]) -> bool:
    """Whether tapes want to know no more than ops: neither where in a program they are, nor of a whole function."""
    return all(type(tape) is Tape and type(tape.nondifferentiable) is dict for tape in tapes)


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


def references(tapes: Sequence[Tape]) -> Counter[int]:
    """How often tapes refer to each value that they hold, by its identity."""
    held: dict[int, Iterable[Any]] = {}
    for tape in tapes:
        log = tape.nodes.log
        held[id(log)], held[id(tape.tracked)] = log, tape.tracked.values()
        held[id(tape.detached)] = [note.value for note in tape.detached.values()]
        held[id(tape.held)] = [read.args[0] for read in tape.held.values()]  # type: ignore[attr-defined]
        held[id(tape.left)] = [note[0] for note in tape.left.values()]
        nodes = [node for _, node in tape.nondifferentiable.values()]
        parts = chain(log[1::4], log[3::4], *[(n.inputs, n.outputs) for n in nodes])
        held.update({id(x): x for x in parts if type(x) is tuple})
    return Counter(map(id, chain.from_iterable(held.values())))


class CallRecord:
    """The part of a call that tapes are told, from the stopped tape of a first call, its operands and its results.

    Values have numbers: first those given to the function, arguments and random draws, then those read from variables
    (`read`), the constants, and those that its program makes: `made`, to be forgotten when the program is there.
    `results` are the numbers of what is returned; None for what is the same each time.

    Raises
    ------
    Untraceable
        If the same ops cannot be told with other values.
    """

    def __init__(self, tape: FunctionTape, given: Sequence[EagerTensor], results: Sequence[Any]) -> None:
        nodes, others = list[Node](), list[Node]()
        for node in tape.seen.nodes:
            (nodes if any(map(tape.knows, node.outputs)) else others).append(node)
        kept = [v for v, _ in tape.reads.values() if id(v) not in tape.written]
        reads = {id(n): n for n in nodes if n.op is read_variable and any(n.inputs[0] is v for v in kept)}
        known = [*given, *[n.outputs[0] for n in reads.values()]]
        places = {id(x) for x in chain(known, *[n.outputs for n in nodes])}
        used = list({id(x): x for x in [*chain(*[n.inputs for n in nodes]), *results] if id(x) not in places}.values())
        self.made = [x for x in used if type(x) in TENSORS and tape.knows(x)]
        self._constants = [x for x in used if not (type(x) in TENSORS and tape.knows(x))]
        known_ids = set(map(id, known))
        self.made += [x for n in nodes for x in n.outputs if id(x) not in known_ids]
        number = {id(x): i for i, x in enumerate([*known, *self._constants, *self.made])}
        own = {id(v): x for v in kept for x in type(v).tensors([v])}
        place = {id(n.inputs[0]): i for i, n in enumerate({id(n.inputs[0]): n for n in reads.values()}.values())}
        self.read = [next(v for v in kept if id(v) == key) for key in place]
        self._tensors = [(place[id(n.inputs[0])], n.outputs[0] is own[id(n.inputs[0])]) for n in reads.values()]
        parts: list[tuple[Any, int, list[Any]]] = [(None, 0, [])]
        for node in nodes:
            if id(node) in reads:
                parts.append((node.inputs[0], number[id(node.outputs[0])], []))
            elif node.op is not read_variable or not isinstance(node.inputs[0], Variable):
                # no tape that is told follows a variable that is written
                parts[-1][2].extend(_step(node, number))
        self._steps = [(variable, number, tuple(steps)) for variable, number, steps in parts]
        self.results = [number[id(x)] if isinstance(x, Value) and tape.knows(x) else None for x in results]
        self._written = list(tape.written.values())
        made = {id(x) for n in tape.seen.nodes for x in n.outputs}
        apart = [x for n in others for x in n.inputs if id(x) not in made]
        same = [x for x, number in zip(results, self.results, strict=True) if number is None]
        # what the function makes of shapes is another value in each call
        looked_at = [x for x in tape.looked_at if not tape.knows(x)]
        self._alone = [x for x in [*apart, *same, *looked_at] if isinstance(x, Value)]

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


def _step(node: Node, number: dict[int, int]) -> tuple[Any, ...]:
    """A node with numbers for values; Untraceable if it may be another one in other calls."""
    if node.op is custom_call:
        raise Untraceable("the rule of a custom_gradient knows the tensors of the call that made it")
    if node.op.stateful or not TENSORS.issuperset(map(type, node.outputs)):
        raise Untraceable(f"what {node.op.title} gives depends on more than its operands")
    out: Any = tuple([number[id(x)] for x in node.outputs])
    return node.op, tuple([number[id(x)] for x in node.inputs]), node.params, out if node.op.multi else out[0]


def record_all(steps: tuple[Any, ...], values: list[Any]) -> None:
    """Record ops, each with the numbers of its operands, its parameters and the number (or numbers) of its result."""
    parts = iter(steps)
    for op, numbers, params, out in zip(parts, parts, parts, parts, strict=True):
        result = tuple([values[i] for i in out]) if op.multi else values[out]
        record(op, tuple([values[i] for i in numbers]), params, result)


if in_c:
    record_all = in_c.record_all
