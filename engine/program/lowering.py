"""Lowering: from nodes of a trace to a `Program` for given shapes.

Lowering walks the nodes once, in the order of execution, and evaluates each abstractly with the now known avals. On the
way it applies the passes, each of which looks at one node at a time. They are exact: any subset of them gives the same
bits, infinities, NaN and signs of zero included.

- ``simplify``: a node that changes nothing for these shapes (summing to a shape it has already) is dropped. One that
  changes the shape alone becomes a reshape, and reshapes that follow each other become one.
- ``specialize``: a node becomes simpler ops where these shapes allow it (a stack of vectors times one matrix is one
  product of two matrices).
- ``facts``: what is known of contents is used: a product with ones is the other operand.
- ``vectors``: axes of size one that make no difference are left out (`engine.program.passes.unit_axes`).
- ``references``: an operand of which only the shape counts becomes the first value of that shape, so that nothing is
  computed for its shape.
- ``fold``: a node whose operands are all constants is computed now.
- ``cse``: a node equal to an earlier one (same op, operands and parameters) is that one. Stateful ops are left alone.
- ``parts``: a variable that is assigned its own value with some entries replaced is given these entries, not a copy.
- ``prune``: what no output needs is dropped.
- ``siblings``: the same op on many small arrays is done on a stack of them (`engine.program.passes.horizontal_fusion`).
- ``slices``: vectors are put together from others slice by slice, where they can
  (`engine.program.passes.slice_concat`).
- ``blocks``: elementwise ops on large arrays are run together, block by block (`engine.program.passes.loop_fusion`).
- ``pieces``: large arrays are joined piece by piece (`engine.program.passes.inplace_concat`).
- ``finite``: products that must not make NaN of a zero are not looked at one by one
  (`engine.program.passes.nan_checks`).
- ``workspace``: large intermediate results are written to the same memory in each run
  (`engine.program.passes.buffer_assignment`).
- ``inline``: what needs no call of a function of ours is written out in the generated code.

*State.* ``read_variable`` becomes whatever the variable holds at that point: the program's state input, or the value
last assigned to it; ``variable_is_initialized`` becomes a state input of its own. ``assign_variable`` becomes nothing
but a new current value. So programs are pure, reads and assignments happen in the order in which the graph was built,
and a run that fails changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.core.aval import Aval, Shape, is_known
from engine.core.eager import abstract_operand
from engine.core.errors import ShapeError
from engine.core.op import Node, Op, distinct
from engine.core.structural import contiguous, reshape_to
from engine.core.trace import constant
from engine.core.value import as_array
from engine.core.variable import assign_variable, read_variable, variable_handle, variable_is_initialized
from engine.program.instruction import Instruction, is_stateful
from engine.program.layout import Order, is_view, order_of, order_of_result
from engine.program.passes.algebraic import SEEDS, Fact, of_array, of_result, of_seeds, rewritten, swept
from engine.program.passes.pipeline import finish
from engine.program.passes.unit_axes import without_ones
from engine.program.program import Program, located
from engine.program.state import Assignment, assignments
from engine.program.traced_value import Slot, Slots

ALL_PASSES = (
    "simplify",
    "specialize",
    "facts",
    "vectors",
    "references",
    "fold",
    "cse",
    "parts",
    "prune",
    "siblings",
    "slices",
    "blocks",
    "pieces",
    "finite",
    "inline",
    "workspace",
)
FOLD_LIMIT = 1 << 20
"""Constants larger than this many bytes are not folded, but computed each time the program runs."""
FOLD_TOTAL = 16
"""Nor are those beyond so many limits in all: a program of many chunks must not hold what a chunk saves."""


@dataclass
class Lowering(Slots):
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
    facts : dict
        What is known of the contents of a slot.
    unshaped : dict
        ``slot -> slot`` it is a reshape of, if it has the same elements in the same places in memory.
    node : Node
        The node being lowered.
    first : dict
        ``(shape, dtype) -> slot`` of the first value of that shape and dtype.
    orders : dict
        What is known of how a slot's value lies in memory.
    """

    passes: Collection[str]
    describe: Callable[[Node], str]
    state_aval: Callable[[Any], Aval]
    fold_limit: int
    folded_bytes: int = 0
    slots: dict[int, int] = field(default_factory=dict)
    avals: dict[int, Aval] = field(default_factory=dict)
    constants: dict[int, Any] = field(default_factory=dict)
    instructions: list[Instruction] = field(default_factory=list)
    current: dict[int, int] = field(default_factory=dict)
    reads: dict[int, tuple[Any, int]] = field(default_factory=dict)
    assigned: dict[int, Any] = field(default_factory=dict)
    seen: dict[Any, tuple[int, ...]] = field(default_factory=dict)
    report: dict[str, int] = field(default_factory=dict)
    facts: dict[int, Fact] = field(default_factory=dict)
    unshaped: dict[int, int] = field(default_factory=dict)
    first: dict[Any, int] = field(default_factory=dict)
    orders: dict[int, Order] = field(default_factory=dict)
    node: Any = None

    def new_slot(self, aval: Aval, order: Order = Order.UNKNOWN) -> int:
        """A fresh slot."""
        slot = len(self.avals)
        self.avals[slot] = aval
        self.orders[slot] = Order.CONTIGUOUS if aval.is_static and (aval.size or 0) <= 1 else order
        if aval.is_static:
            self.first.setdefault((aval.shape, aval.dtype), slot)
        return slot

    def referring(self, op: Op, inputs: tuple[int, ...]) -> tuple[int, ...]:
        """The operands with the first slots of the same shapes in place of references."""
        avals = [self.avals[s] for s in inputs]
        new = tuple(
            [
                self.first[a.shape, a.dtype] if i in op.references and a.is_static else s
                for i, (s, a) in enumerate(zip(inputs, avals, strict=True))
            ]
        )
        if new != inputs:
            self.count("references")
        return new

    def visit(self, node: Node) -> None:
        """Lower one node."""
        if node.op is read_variable:
            self.slots[id(node.outputs[0])] = self.slot_of(node.inputs[0])
        elif node.op is variable_is_initialized:
            self.slots[id(node.outputs[0])] = self.state_of(node.outputs[0])
        elif node.op is assign_variable:
            self.assign(node)
        else:
            inputs = tuple([self.slot_of(x) for x in node.inputs])
            self.node = node
            try:
                outputs = self.emit(node.op, inputs, node.params)
            except Exception as error:
                raise located(error, self.describe(node)) from error
            for symbol, slot in zip(node.outputs, outputs, strict=True):
                # one that is given keeps the value it is given
                self.slots.setdefault(id(symbol), slot)

    def slot_of(self, x: Any) -> int:
        """The slot of an operand: what a variable holds, for its handle.

        The derivative of reading is reading. So something computed may be read, and the shape of a handle asked for.
        """
        slot = self.slots.get(id(x))
        return self.state_of(x) if slot is None or x.node.op is variable_handle else slot

    def state_of(self, handle: Any) -> int:
        """The slot that holds the variable's value now."""
        key = id(handle)
        if key not in self.current:
            # what a variable holds is in C order
            slot = self.new_slot(self.state_aval(handle), Order.CONTIGUOUS)
            self.reads[key] = (handle, slot)
            self.current[key] = slot
        return self.current[key]

    def assign(self, node: Node) -> None:
        """An assignment: from here on the variable holds the operand's value."""
        handle, value = node.inputs
        slot = self.in_order(self.slots[id(value)])
        try:
            assign_variable.abstract(handle.aval, self.avals[slot])
        except ShapeError as error:
            raise located(error, self.describe(node)) from error
        self.current[id(handle)] = slot
        self.assigned[id(handle)] = handle
        self.slots[id(node.outputs[0])] = slot

    def is_contiguous(self, slot: int) -> bool:
        """Whether a value is known to lie in C order."""
        return self.orders[slot] is Order.CONTIGUOUS

    def in_order(self, slot: int) -> int:
        """The slot of the same value in C order."""
        return slot if self.is_contiguous(slot) else self.emit(contiguous, (slot,), {})[0]

    def emit(self, op: Op, inputs: tuple[int, ...], params: dict[str, Any]) -> tuple[int, ...]:
        """The output slots of an op: existing ones if a pass finds them, else those of a new instruction."""
        if op is constant:
            return (self.constant_slot(params["value"]),)
        avals = [self.avals[s] for s in inputs]
        # shapes that are known only now are examined before a pass makes something else of the op
        results = op.abstract(*avals, **params)
        if op.expand is not None and (inner := op.expand(avals, params)) is not None:
            return self.spliced(inner, inputs)
        if op.fix is not None:
            arrays = {i: self.constants[s] for i, s in enumerate(inputs) if s in self.constants}
            inputs, params = op.fix(inputs, arrays, params)
            avals = [self.avals[s] for s in inputs]
        if "simplify" in self.passes and op.simplify is not None:
            same = op.simplify(avals, params)
            if same is not None and not (self.is_contiguous(inputs[same]) or is_view(op, avals, params)):
                # the op's own result would lie in memory in another way, perhaps
                same = None
            if same is not None and (kept := self.reshaped(op, inputs[same], results)) is not None:
                self.count("simplify")
                return (kept,)
        if op.references and "references" in self.passes:
            inputs = self.referring(op, inputs)
        key = _key(op, inputs, params)
        if "cse" in self.passes and key in self.seen:
            self.count("cse")
            return self.seen[key]
        # what is known of a constant says more than its elements
        known = any(s in self.facts for s in inputs)
        outputs = self.rewritten(op, inputs, avals, params) if known else None
        if outputs is None and "fold" in self.passes:
            outputs = self.folded(op, inputs, params)
        if outputs is None and not known:
            outputs = self.rewritten(op, inputs, avals, params)
        if outputs is None:
            outputs = self.instruction(op, inputs, avals, params, results)
        if key is not None:
            self.seen[key] = outputs
        return outputs

    def spliced(self, inner: Any, inputs: tuple[int, ...]) -> tuple[int, ...]:
        """The output slots of the sub-trace that an op stands for."""
        of = dict(zip(map(id, inner.parameters), inputs, strict=True))
        for node in inner.nodes:
            slots = self.emit(node.op, tuple([of[id(x)] for x in node.inputs]), node.params)
            of.update(zip(map(id, node.outputs), slots, strict=True))
        return tuple([of[id(result)] for result in inner.results])

    def apply(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """What replaces a node is written in ops on slots."""
        slots = tuple([x.index if type(x) is Slot else self.constant_slot(as_array(x)) for x in inputs])
        outputs = tuple([Slot(self, s) for s in self.emit(op, slots, params)])
        return outputs if op.multi else outputs[0]

    def reshaped(self, op: Op, slot: int, out: Aval) -> int | None:
        """The slot of an op's result, of which `out` is known, that equals `slot` up to its shape."""
        aval = self.avals[slot]
        if out.shape == aval.shape and aval.is_static:
            return slot
        if not (out.is_static and aval.is_static and aval.dtype.is_differentiable):
            return None
        root = self.unshaped.get(slot, slot)
        if self.avals[root].shape == out.shape:
            return root
        if op is reshape_to and root == slot:
            return None
        return self.emit(reshape_to, (root,), {"shape": out.shape})[0]

    def rewritten(
        self, op: Op, inputs: tuple[int, ...], avals: Sequence[Aval], params: dict[str, Any]
    ) -> tuple[int, ...] | None:
        """The output slots by what `Op.specialize` or facts make of the op, or None."""
        if op.stateful or op.multi or not all(a.is_static for a in avals):
            return None
        slots = [Slot(self, s) for s in inputs]
        for name, attempt in _ATTEMPTS.items():
            found = attempt(op, slots, params) if name == "seeds" or name in self.passes else None
            if found is not None:
                self.count(name)
                return (found.index,)
        return None

    def instruction(
        self, op: Op, inputs: tuple[int, ...], avals: Sequence[Aval], params: dict[str, Any], results: Any
    ) -> tuple[int, ...]:
        """Append the kernel call; `results` is what is known of what it gives."""
        made = results if op.multi else (results,)
        operands = [self.orders[s] for s in inputs]
        outputs = tuple([self.new_slot(a, order_of_result(op, operands, avals, params, a)) for a in made])
        self.instructions.append(Instruction(op, inputs, params, outputs, self.describe(self.node)))
        if op is reshape_to and _same_places(avals[0].shape, results.shape):
            self.unshaped[outputs[0]] = self.unshaped.get(inputs[0], inputs[0])
        if not op.multi:
            self.learn(outputs[0], self.known(op, inputs, params, results))
        return outputs

    def known(self, op: Op, inputs: tuple[int, ...], params: dict[str, Any], out: Aval) -> Fact | None:
        """What is known of an op's result."""
        slots = [Slot(self, s) for s in inputs]
        seeds = of_seeds(op, slots, params, out)
        return of_result(op, slots, params, out) if seeds is None and "facts" in self.passes else seeds

    def learn(self, slot: int, fact: Fact | None) -> None:
        """Note what is known of a slot's contents."""
        if fact is not None:
            self.facts[slot] = fact

    def constant_slot(self, array: Any, shared: bool = True) -> int:
        """The slot of a constant; equal small constants share one."""
        key = None
        if array.size <= 64 and shared:
            key = ("constant", array.dtype.str, array.shape, array.strides, array.tobytes())
            if "cse" in self.passes and key in self.seen:
                return self.seen[key][0]
        slot = self.new_slot(abstract_operand(array), order_of(array))
        self.constants[slot] = array
        if "facts" in self.passes:
            self.learn(slot, of_array(array))
        if key is not None:
            self.seen[key] = (slot,)
        return slot

    def folded(self, op: Op, inputs: tuple[int, ...], params: dict[str, Any]) -> tuple[int, ...] | None:
        """Compute a node of constants now; None if it is not one."""
        operands = None if is_stateful(op, params) or not inputs else self.operands_now(op, inputs)
        if operands is None:
            return None
        try:
            result = op.kernel(*operands, **params)
        except Exception:  # noqa: BLE001 - it belongs to the run, which can tell the place in the user's program
            return None
        results = result if op.multi else (result,)
        size = sum(r.nbytes for r in results)
        if size > self.fold_limit or self.folded_bytes + size > FOLD_TOTAL * self.fold_limit:
            return None
        self.folded_bytes += size
        self.count("fold")
        fact = None if op.multi else self.known(op, inputs, params, abstract_operand(result))
        # seeds are not what a user's constant that looks like them is
        shared = not isinstance(fact, SEEDS)
        outputs = tuple([self.constant_slot(r[()] if r.ndim == 0 else r, shared) for r in results])
        if fact is not None:
            self.learn(outputs[0], fact)
        return outputs

    def operands_now(self, op: Op, inputs: tuple[int, ...]) -> list[Any] | None:
        """The operands if they are constants; stand-ins of the same shapes for an op that looks at nothing else."""
        if op.from_avals:
            avals = [self.avals[s] for s in inputs]
            blank = [np.broadcast_to(a.dtype.numpy.type(0), a.shape) for a in avals if is_known(a.shape)]
            return blank if len(blank) == len(avals) else None
        if all(s in self.constants for s in inputs):
            return [self.constants[s] for s in inputs]
        avals = [self.avals[s] for s in inputs]
        if any(a.value is None or (isinstance(a.value, tuple) and None in a.value) for a in avals):
            return None
        return [np.asarray(a.value, a.dtype.numpy) for a in avals]

    def count(self, name: str) -> None:
        """Note that a pass removed an instruction."""
        self.report[name] = self.report.get(name, 0) + 1


def _specialized(op: Op, inputs: Sequence[Slot], params: dict[str, Any]) -> Any:
    return None if op.specialize is None else op.specialize(*inputs, **params)


_ATTEMPTS: dict[str, Callable[..., Any]] = {
    "seeds": swept,
    "facts": rewritten,
    "specialize": _specialized,
    "vectors": without_ones,
}
"""By name of the pass: what a node may be replaced by, as a function of its op, operands and parameters. That of seeds
is no pass that could be left out."""


def _same_places(shape: Shape, other: Shape) -> bool:
    """Whether shapes differ in axes of size one only, so that a reshape keeps any order in memory."""
    return [d for d in shape or () if d != 1] == [d for d in other or () if d != 1]


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
    orders: Sequence[Order] | None = None,
    state_aval: Callable[[Any], Aval] = lambda handle: handle.aval,
    describe: Callable[[Node], str] = lambda node: "",
    passes: Collection[str] = ALL_PASSES,
    fold_limit: int = FOLD_LIMIT,
) -> tuple[Program, list[Any], list[Assignment]]:
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
    orders : sequence of Order, optional
        How the given values lie in memory; by default in C order.
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
        Its inputs are those given, then the values of the handles read; its outputs those wanted, then those of the
        assignments.
    reads : list of handle
    assigned : list of Assignment
    """
    work = Lowering(frozenset(passes), describe, state_aval, fold_limit)
    arguments = []
    for (symbol, aval), order in zip(inputs, orders or [Order.CONTIGUOUS] * len(inputs), strict=True):
        work.slots[id(symbol)] = slot = work.new_slot(aval, order)
        if symbol.node.op is variable_handle:
            work.current[id(symbol)] = slot
        arguments.append(slot)
    fed = {id(symbol) for symbol, _ in inputs}
    for node in nodes:
        if node.op is not variable_handle and not (node.outputs and all(id(o) in fed for o in node.outputs)):
            work.visit(node)
    wanted = [work.slots[id(x)] for x in outputs]
    changed = [(handle, work.current[key]) for key, handle in work.assigned.items()]
    came = {id(handle): slot for handle, slot in work.reads.values()} if "parts" in passes else {}
    assigned, new_values = assignments(changed, came, work.instructions, wanted)
    if in_part := sum(assignment.in_part for assignment in assigned):
        work.report["parts"] = in_part
    program = Program(
        inputs=tuple(arguments + [slot for _, slot in work.reads.values()]),
        outputs=tuple(wanted + new_values),
        constants=work.constants,
        instructions=work.instructions,
        avals=work.avals,
        report=work.report,
        orders=work.orders,
    )
    finish(program, passes)
    return program, [handle for handle, _ in work.reads.values()], assigned
