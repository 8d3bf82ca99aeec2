"""Lowering: from nodes of a trace to a `Program` for given shapes.

Lowering walks the nodes once, in the order of execution, and evaluates each abstractly with the now known avals. On the
way it applies the passes, each of which looks at one node at a time and is bit-exact:

- ``simplify``: a node that changes nothing for these shapes (summing to a shape it has already) is dropped.
- ``fold``: a node whose operands are all constants is computed now.
- ``cse``: a node equal to an earlier one (same op, operands and parameters) is that one. Stateful ops are left alone.
- ``prune``: finally, what no output needs is dropped.

*State.* ``read_variable`` becomes whatever the variable holds at that point: the program's state input, or the value
last assigned to it. ``assign_variable`` becomes nothing but a new current value. So programs are pure, reads and
assignments happen in the order in which the graph was built, and a run that fails changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.aval import Aval, is_known
from engine.eager import abstract_operand
from engine.errors import ShapeError
from engine.op import Node, Op, distinct
from engine.program.program import Instruction, Program, located
from engine.trace import constant
from engine.variable import assign_variable, read_variable, variable_handle

ALL_PASSES = ("simplify", "fold", "cse", "prune")
FOLD_LIMIT = 1 << 20
"""Constants larger than this many bytes are not folded, but computed each time the program runs."""


@dataclass
class Lowering:
    """The state of one lowering.

    Attributes
    ----------
    slots : dict
        ``id(symbol) -> slot``.
    current : dict
        ``id(handle) -> slot`` holding the variable's value at this point.
    reads : dict
        ``id(handle) -> (handle, slot)`` of the state inputs, in the order of first use.
    assigned : dict
        ``id(handle) -> handle`` of the variables assigned to.
    """

    passes: Collection[str]
    describe: Callable[[Node], str]
    state_aval: Callable[[Any], Aval]
    fold_limit: int
    slots: dict[int, int] = field(default_factory=dict)
    avals: dict[int, Aval] = field(default_factory=dict)
    constants: dict[int, Any] = field(default_factory=dict)
    instructions: list[Instruction] = field(default_factory=list)
    current: dict[int, int] = field(default_factory=dict)
    reads: dict[int, tuple[Any, int]] = field(default_factory=dict)
    assigned: dict[int, Any] = field(default_factory=dict)
    seen: dict[Any, tuple[int, ...]] = field(default_factory=dict)
    report: dict[str, int] = field(default_factory=dict)

    def new_slot(self, aval: Aval) -> int:
        """A fresh slot."""
        slot = len(self.avals)
        self.avals[slot] = aval
        return slot

    def visit(self, node: Node) -> None:
        """Lower one node."""
        if node.op is read_variable:
            self.slots[id(node.outputs[0])] = self.state_of(node.inputs[0])
        elif node.op is assign_variable:
            self.assign(node)
        else:
            inputs = tuple([self.slots[id(x)] for x in node.inputs])
            try:
                outputs = self.emit(node, inputs)
            except Exception as error:
                raise located(error, self.describe(node)) from error
            for symbol, slot in zip(node.outputs, outputs, strict=True):
                # one that is given keeps the value it is given
                self.slots.setdefault(id(symbol), slot)

    def state_of(self, handle: Any) -> int:
        """The slot that holds the variable's value now."""
        key = id(handle)
        if key not in self.current:
            slot = self.new_slot(self.state_aval(handle))
            self.reads[key] = (handle, slot)
            self.current[key] = slot
        return self.current[key]

    def assign(self, node: Node) -> None:
        """An assignment: from here on the variable holds the operand's value."""
        handle, value = node.inputs
        slot = self.slots[id(value)]
        try:
            assign_variable.abstract(handle.aval, self.avals[slot])
        except ShapeError as error:
            raise located(error, self.describe(node)) from error
        self.current[id(handle)] = slot
        self.assigned[id(handle)] = handle
        self.slots[id(node.outputs[0])] = slot

    def emit(self, node: Node, inputs: tuple[int, ...]) -> tuple[int, ...]:
        """The output slots of a node: existing ones if a pass finds them, else those of a new instruction."""
        op, params = node.op, node.params
        if op is constant:
            return (self.constant_slot(params["value"]),)
        avals = [self.avals[s] for s in inputs]
        if "simplify" in self.passes and op.simplify is not None:
            same = op.simplify(avals, params)
            if same is not None:
                self.count("simplify")
                return (inputs[same],)
        key = _key(op, inputs, params)
        if "cse" in self.passes and key in self.seen:
            self.count("cse")
            return self.seen[key]
        outputs = self.folded(op, inputs, params) if "fold" in self.passes else None
        if outputs is None:
            outputs = self.instruction(node, inputs, avals)
        if key is not None:
            self.seen[key] = outputs
        return outputs

    def instruction(self, node: Node, inputs: tuple[int, ...], avals: Sequence[Aval]) -> tuple[int, ...]:
        """Append the kernel call."""
        results = node.op.abstract(*avals, **node.params)
        outputs = tuple([self.new_slot(a) for a in (results if node.op.multi else (results,))])
        self.instructions.append(Instruction(node.op, inputs, node.params, outputs, self.describe(node)))
        return outputs

    def constant_slot(self, array: Any) -> int:
        """The slot of a constant; equal small constants share one."""
        key = None
        if array.size <= 64:
            key = ("constant", array.dtype.str, array.shape, array.tobytes())
            if "cse" in self.passes and key in self.seen:
                return self.seen[key][0]
        slot = self.new_slot(abstract_operand(array))
        self.constants[slot] = array
        if key is not None:
            self.seen[key] = (slot,)
        return slot

    def folded(self, op: Op, inputs: tuple[int, ...], params: Mapping[str, Any]) -> tuple[int, ...] | None:
        """Compute a node of constants now; None if it is not one."""
        operands = None if is_stateful(op, params) or not inputs else self.operands_now(op, inputs)
        if operands is None:
            return None
        try:
            result = op.kernel(*operands, **params)
        except Exception:  # noqa: BLE001 - it belongs to the run, which can tell the place in the user's program
            return None
        results = result if op.multi else (result,)
        if sum(r.nbytes for r in results) > self.fold_limit:
            return None
        self.count("fold")
        return tuple([self.constant_slot(r[()] if r.ndim == 0 else r) for r in results])

    def operands_now(self, op: Op, inputs: tuple[int, ...]) -> list[Any] | None:
        """The operands if they are constants; stand-ins of the same shapes for an op that looks at nothing else."""
        if op.from_avals:
            avals = [self.avals[s] for s in inputs]
            blank = [np.broadcast_to(a.dtype.numpy.type(0), a.shape) for a in avals if is_known(a.shape)]
            return blank if len(blank) == len(avals) else None
        if all(s in self.constants for s in inputs):
            return [self.constants[s] for s in inputs]
        values = [self.avals[s].value for s in inputs]
        if any(v is None or (isinstance(v, tuple) and None in v) for v in values):
            return None
        return [np.asarray(v, self.avals[s].dtype.numpy) for v, s in zip(values, inputs, strict=True)]

    def count(self, name: str) -> None:
        """Note that a pass removed an instruction."""
        self.report[name] = self.report.get(name, 0) + 1


def is_stateful(op: Op, params: Mapping[str, Any]) -> bool:
    """Whether an application may have effects: because of the op, or of a sub-trace among its parameters."""
    return op.stateful or any(getattr(p, "stateful", False) for p in params.values())


def _key(op: Op, inputs: tuple[int, ...], params: Mapping[str, Any]) -> Any:
    """What makes two nodes equal, or None if they must never be taken for equal."""
    if op.stateful:
        return None
    try:
        return op, inputs, tuple([(name, distinct(value)) for name, value in params.items()])
    except TypeError:
        return None


def needed_nodes(nodes: Sequence[Node], outputs: Sequence[Any], fed: Collection[int], extra: Any) -> list[Node]:
    """The nodes that `outputs` (symbols or nodes) are computed from, in the order of execution.

    Parameters
    ----------
    nodes : sequence of Node
        All nodes of the trace.
    outputs : sequence of Symbol or Node
    fed : set of int
        Identities of symbols whose values are given; what lies behind them is not needed.
    extra : callable
        ``extra(node)``: further nodes that must run before it (control dependencies).
    """
    needed: set[int] = set()
    pending = [x if isinstance(x, Node) else x.node for x in outputs if isinstance(x, Node) or id(x) not in fed]
    while pending:
        node = pending.pop()
        if id(node) in needed:
            continue
        needed.add(id(node))
        pending.extend([x.node for x in node.inputs if id(x) not in fed])
        pending.extend(extra(node))
    return [node for node in nodes if id(node) in needed]


def lower(
    nodes: Sequence[Node],
    inputs: Sequence[tuple[Any, Aval]],
    outputs: Sequence[Any],
    *,
    state_aval: Callable[[Any], Aval] = lambda handle: handle.aval,
    describe: Callable[[Node], str] = lambda node: "",
    passes: Collection[str] = ALL_PASSES,
    fold_limit: int = FOLD_LIMIT,
) -> tuple[Program, list[Any], list[Any]]:
    """Compile nodes for inputs of given avals.

    Parameters
    ----------
    nodes : sequence of Node
        What must run, in the order of execution (`needed_nodes`).
    inputs : sequence of (Symbol, Aval)
        Symbols whose values are given, with their concrete avals. For a variable's handle it is what all reads give,
        up to the first assignment.
    outputs : sequence of Symbol
        Symbols whose values are wanted.
    state_aval : callable
        The concrete aval of a variable's value, given its handle.
    describe : callable
        Where a node comes from, for error messages.
    passes : collection of str
        Which of `ALL_PASSES` to apply.
    fold_limit : int
        How many bytes a folded constant may have.

    Returns
    -------
    program : Program
        Its inputs are those given, then the values of the handles read; its outputs those wanted, then the new values
        of the handles assigned.
    reads, assigned : list of handle
    """
    work = Lowering(passes, describe, state_aval, fold_limit)
    arguments = []
    for symbol, aval in inputs:
        work.slots[id(symbol)] = slot = work.new_slot(aval)
        if symbol.node.op is variable_handle:
            work.current[id(symbol)] = slot
        arguments.append(slot)
    fed = {id(symbol) for symbol, _ in inputs}
    for node in nodes:
        if node.op is not variable_handle and not (node.outputs and all(id(o) in fed for o in node.outputs)):
            work.visit(node)
    handles = list(work.assigned.values())
    results = [work.slots[id(x)] for x in outputs] + [work.current[id(h)] for h in handles]
    program = Program(
        inputs=tuple(arguments + [slot for _, slot in work.reads.values()]),
        outputs=tuple(results),
        constants=work.constants,
        instructions=work.instructions,
        avals=work.avals,
        report=work.report,
    )
    if "prune" in passes:
        prune(program)
    return program, [handle for handle, _ in work.reads.values()], handles


def prune(program: Program) -> None:
    """Drop what no output needs, except stateful instructions."""
    needed = set(program.outputs)
    kept = []
    for instruction in reversed(program.instructions):
        if is_stateful(instruction.op, instruction.params) or any(s in needed for s in instruction.outputs):
            needed.update(instruction.inputs)
            kept.append(instruction)
    program.report["prune"] = len(program.instructions) - len(kept)
    program.instructions = kept[::-1]
    program.constants = {s: a for s, a in program.constants.items() if s in needed}
