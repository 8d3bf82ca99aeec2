"""Lowering: from nodes of a trace to a `Program` for given shapes.

Lowering walks the nodes once, in the order of execution, and evaluates each abstractly with the now known avals. Each
value gets a *value id*, as in any static single assignment form. On the way `Lowering.emit` applies the passes of level
"node"; then the passes that look at all instructions run. `engine.compiler.pipeline.PIPELINE` lists them all.

*State.* ``read_variable`` becomes whatever the variable holds at that point: the program's state input, or the value
last assigned to it; ``variable_is_initialized`` becomes a state input of its own. ``assign_variable`` becomes nothing
but a new current value. So programs are pure, reads and assignments happen in the order in which the graph was built,
and a run that fails changes nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.compiler.assignments import Assignment, assignments
from engine.compiler.ir.code import Code, TracedValue, ValueTable
from engine.compiler.ir.instruction import Instruction, is_stateful
from engine.compiler.ir.layout import Order, is_view, order_of, order_of_result
from engine.compiler.passes.algebraic import (
    SEEDS,
    SIMPLIFICATIONS,
    Simplification,
    Structure,
    of_numbers,
    structure_of_array,
    structure_of_result,
    structure_of_seeds,
)
from engine.compiler.pipeline import DEFAULT_PASSES, run_pipeline
from engine.compiler.program import Program, located
from engine.compiler.updates.deferred_updates import Update, products_put_off, taken_out
from engine.core.aval import Aval, Shape, is_known
from engine.core.eager import abstract_operand
from engine.core.expand_axes import seed_rows
from engine.core.instantiate import instantiate
from engine.core.op import Node, Op, distinct
from engine.core.structural import contiguous, reshape_to
from engine.core.trace import constant
from engine.core.value import as_array, scalar
from engine.core.variable import assign_variable, read_variable, variable_handle, variable_is_initialized
from engine.ops.compare import select
from engine.ops.creation import identity_like
from engine.ops.indexing import getitem_back_op, getitem_op
from engine.ops.joining import stack_op
from engine.runtime.errors import ShapeError
from engine.runtime.patience import patience
from engine.runtime.structs import field, struct
from engine.runtime.tuning import TUNING

FOLD_LIMIT, FOLD_TOTAL = TUNING.fold_bytes, 64
"""Bytes of a constant that is folded, if no operand is as large, and how many such limits all of them may take."""
UNROLLED, UNROLLED_WHOLE = TUNING.unrolled_elements, TUNING.unrolled_whole
"""Elements of an operand from which on steps of a loop are written out, where parts are taken, and else."""
_PART = 64
"""How many times as large as a small part something is."""
_COMPUTED = 8
"""How many times as large a constant may be that takes longer to compute than to read."""


@struct(slots=True)
class Application:
    """An op on values, which rewrites look at."""

    op: Op
    inputs: tuple[int, ...]
    params: dict[str, Any]
    avals: Sequence[Aval]
    results: Any
    """The op, its operands, and knowledge of these and of the results."""
    key: Any = None
    """Equal for equal applications."""


class Rewrite(NamedTuple):
    """One row of the table of rewrites."""

    name: str
    """The pass that it belongs to."""
    looks_at: Callable[[Op], bool]
    """Whether it looks at an op."""
    apply: Callable[[Lowering, Application], tuple[int, ...] | None]
    """``apply(lowering, application)``: value ids of the results, or None."""
    exact: str
    """Why it changes no bit."""
    detail: str = ""
    """Which one it is of several of one pass."""


@struct(kw_only=True)
class Lowering(Code, ValueTable):
    """The state of one lowering, and the instructions so far."""

    passes: Collection[str]
    describe: Callable[[Node], str]
    state_aval: Callable[[Any], Aval]
    fold_limit: int
    folded_bytes: int = 0
    ids: dict[int, int] = field(default_factory=dict)
    """``id(symbol) -> value id``."""
    current: dict[int, int] = field(default_factory=dict)
    """``id(handle) -> value id`` holding the variable's value at this point."""
    reads: dict[int, tuple[Any, int]] = field(default_factory=dict)
    """``id(handle) -> (handle, value id)`` of the state inputs, in the order of first use."""
    assigned: dict[int, Any] = field(default_factory=dict)
    """``id(handle) -> handle`` of the variables assigned to."""
    seen: dict[Any, tuple[int, ...]] = field(default_factory=dict)
    report: dict[str, int] = field(default_factory=dict)
    structures: dict[int, Structure] = field(default_factory=dict)
    """Knowledge of the contents of a value."""
    before_reshape: dict[int, int] = field(default_factory=dict)
    """``value id -> value id`` of what it is a reshape of, if both have the same memory."""
    first: dict[Any, int] = field(default_factory=dict)
    """``(shape, dtype) -> value id`` of the first value of that shape and dtype."""
    rewrites: dict[Op, tuple[Rewrite, ...]] = field(default_factory=dict)
    """Those that look at an op, as they are asked for."""
    node: Any = None
    """The node being lowered."""
    inside: str = ""
    """Where in the user's program a node was made that stands in a closed function in place of that one."""
    parts: bool = False
    """Whether a small part of something is all that is taken of it, so that most of it may be needless."""

    def new_value(self, aval: Aval, order: Order = Order.UNKNOWN) -> int:
        """The id of a new value."""
        value_id = Code.new_value(self, aval, order)
        if is_known(aval.shape):
            self.first.setdefault((aval.shape, aval.dtype), value_id)
        return value_id

    def argument(self, given: tuple[Any, Aval], order: Order) -> int:
        """The value id of a symbol that is given."""
        symbol, aval = given
        values = self.current if symbol.node.op is variable_handle else self.ids
        values[id(symbol)] = value_id = self.new_value(aval, order)
        return value_id

    def visit(self, node: Node) -> None:
        """Lower one node."""
        if node.op is read_variable:
            self.ids[id(node.outputs[0])] = self.id_of(node.inputs[0])
        elif node.op is variable_is_initialized:
            self.ids[id(node.outputs[0])] = self.state_of(node.outputs[0])
        elif node.op is assign_variable:
            self.assign(node)
        else:
            inputs = tuple([self.id_of(x) for x in node.inputs])
            self.node = node
            try:
                outputs = self.emit(node.op, inputs, node.params)
            except Exception as error:
                raise located(error, self.inside + self.describe(node)) from error
            for symbol, value_id in zip(node.outputs, outputs, strict=True):
                # one that is given keeps the value it is given
                self.ids.setdefault(id(symbol), value_id)

    def id_of(self, x: Any) -> int:
        """The value id of an operand: what a variable holds, for its handle.

        The derivative of reading is reading. So something computed may be read, and the shape of a handle asked for.
        """
        return self.ids[id(x)] if id(x) in self.ids else self.state_of(x)

    def state_of(self, handle: Any) -> int:
        """The value id that holds the variable's value now."""
        key = id(handle)
        if key not in self.current:
            # what a variable holds is in C order
            value_id = self.new_value(self.state_aval(handle), Order.CONTIGUOUS)
            self.reads[key] = (handle, value_id)
            self.current[key] = value_id
        return self.current[key]

    def assign(self, node: Node) -> None:
        """An assignment: from here on the variable holds the operand's value."""
        handle, value = node.inputs
        value_id = self.in_order(self.id_of(value))
        try:
            assign_variable.abstract(handle.aval, self.avals[value_id])
        except ShapeError as error:
            raise located(error, self.describe(node)) from error
        self.current[id(handle)] = value_id
        self.assigned[id(handle)] = handle
        self.ids[id(node.outputs[0])] = value_id

    def is_contiguous(self, value_id: int) -> bool:
        """Whether a value is known to lie in C order."""
        return self.orders[value_id] is Order.CONTIGUOUS

    def in_order(self, value_id: int) -> int:
        """The value id of the same value in C order."""
        return value_id if self.is_contiguous(value_id) else self.emit(contiguous, (value_id,), {})[0]

    def emit(self, op: Op, inputs: tuple[int, ...], params: dict[str, Any]) -> tuple[int, ...]:
        """The output value ids of an op: those that a rewrite finds (`REWRITES`), else those of a new instruction."""
        if op is constant:
            return (self.constant_id(params["value"]),)
        avals = [self.avals[s] for s in inputs]
        # shapes that are known only now are examined before a pass makes something else of the op
        results = op.result_avals(avals, params)
        if op.expand is not None and (inner := op.expand(avals, params)) is not None:
            return self.spliced(inner, inputs)
        if op.fix is not None:
            arrays = {i: self.constants[s] for i, s in enumerate(inputs) if s in self.constants}
            inputs, params = op.fix(inputs, arrays, params)
            avals = [self.avals[s] for s in inputs]
        node = Application(op, inputs, params, avals, results)
        for rewrite in self.rewrites_of(op):
            outputs = rewrite.apply(self, node)
            if outputs is not None:
                self.count(rewrite.name)
                if rewrite.detail:
                    self.count(f"{rewrite.name}/{rewrite.detail}")
                break
        else:
            outputs = self.instruction(op, node.inputs, avals, params, results)
        if node.key is not None:
            self.seen[node.key] = outputs
        return outputs

    def rewrites_of(self, op: Op) -> tuple[Rewrite, ...]:
        """Those that look at an op."""
        if (found := self.rewrites.get(op)) is None:
            active = {*self.passes, "seeds"}
            found = self.rewrites[op] = tuple([r for r in REWRITES if r.name in active and r.looks_at(op)])
        return found

    # ---- rewrites ----------------------------------------------------------------------------------------------------

    def unchanged(self, node: Application) -> tuple[int, ...] | None:
        """Operands that the results are, up to their shape."""
        op, avals = node.op, node.avals
        assert op.simplify is not None
        same = op.simplify(avals, node.params)
        if op.multi and same is not None:
            return tuple([node.inputs[i] for i in same])
        if same is None or not (self.is_contiguous(node.inputs[same]) or is_view(op, avals, node.params)):
            # the op's own result would lie in memory in another way, perhaps
            return None
        kept = self.reshaped(op, node.inputs[same], node.results)
        return None if kept is None else (kept,)

    def referring(self, node: Application) -> None:
        """The first values of the same shapes in place of references."""
        inputs = list(node.inputs)
        for i in node.op.references:
            if i < len(inputs) and is_known((a := self.avals[inputs[i]]).shape):
                inputs[i] = self.first[a.shape, a.dtype]
        if tuple(inputs) != node.inputs:
            self.count("reference_operands")
            node.inputs = tuple(inputs)

    def met_before(self, node: Application) -> tuple[int, ...] | None:
        """The results of the same op on the same operands."""
        inputs = self.in_either_order(node.inputs) if node.op.commutes else node.inputs
        node.key = _key(node.op, inputs, node.params)
        return self.seen.get(node.key)

    def in_either_order(self, inputs: tuple[int, ...]) -> tuple[int, ...]:
        """The inputs of an op that commutes, sorted if the result's bits, and how it lies in memory, stay the same.

        Complex products are fused in one order and not in the other.
        """
        first, second = inputs
        if first <= second:
            return inputs
        same = all(self.is_contiguous(s) and not self.avals[s].dtype.is_complex for s in inputs)
        return (second, first) if same else inputs

    def spliced(self, inner: Any, inputs: tuple[int, ...]) -> tuple[int, ...]:
        """The output value ids of the closed function that an op stands for."""
        of = dict(zip(map(id, inner.parameters), inputs, strict=True))
        around = self.inside

        def make(node: Any, ids: tuple[int, ...]) -> tuple[int, ...]:
            self.inside = getattr(node, "where", "") + around
            return self.emit(node.op, ids, node.params)

        instantiate(inner.nodes, of, make)
        self.inside = around
        return tuple([of[id(result)] for result in inner.results])

    def unrolled(self, node: Application) -> tuple[int, ...] | None:
        """The results of a loop, step by step."""
        least = UNROLLED if self.parts else UNROLLED_WHOLE
        if max([a.size or 0 for a in node.avals], default=0) < least or (values := self.traced(node)) is None:
            return None
        found = node.op.unroll(self.called, values, node.params)  # type: ignore[misc]
        return None if found is None else self.ids_of(found)

    def called(self, inner: Any, operands: Sequence[Any]) -> list[TracedValue]:
        """The traced results of a closed function."""
        return [TracedValue(self, s) for s in self.spliced(inner, self.ids_of(operands))]

    def ids_of(self, values: Sequence[Any]) -> tuple[int, ...]:
        """The value ids of traced values and of arrays."""
        return tuple([x.value_id if type(x) is TracedValue else self.constant_id(as_array(x)) for x in values])

    def apply(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> TracedValue | tuple[TracedValue, ...]:
        """The traced result of an op on traced values: what replaces a node is written in ops."""
        outputs = tuple([TracedValue(self, s) for s in self.emit(op, self.ids_of(inputs), params)])
        return outputs if op.multi else outputs[0]

    def reshaped(self, op: Op, value_id: int, out: Aval) -> int | None:
        """The value id of an op's result, of which `out` is known, that equals `value_id` up to its shape."""
        aval = self.avals[value_id]
        if out.shape == aval.shape and aval.is_static:
            return value_id
        if not (out.is_static and aval.is_static and aval.dtype.is_differentiable):
            return None
        source = self.before_reshape.get(value_id, value_id)
        if self.avals[source].shape == out.shape:
            return source
        if op is reshape_to and source == value_id:
            return None
        return self.emit(reshape_to, (source,), {"shape": out.shape})[0]

    def traced(self, node: Application) -> list[TracedValue] | None:
        """The operands as values that ops can be applied to, if all their shapes are known."""
        for a in node.avals:
            if not is_known(a.shape):
                return None
        return [TracedValue(self, s) for s in node.inputs]

    def simplified(self, node: Application, by: Simplification) -> tuple[int, ...] | None:
        """The result by what is known of the contents of operands."""
        if self.structures.keys().isdisjoint(node.inputs):
            return None
        values = self.traced(node)
        if values is None or not (by.seeds or of_numbers(values)):
            return None
        found = by.apply(node.op, values, node.params)
        return None if found is None else (found.value_id,)

    def specialized(self, node: Application) -> tuple[int, ...] | None:
        """The result by simpler ops, which shapes alone tell."""
        values = self.traced(node)
        found = None if values is None else node.op.specialize(*values, **node.params)  # type: ignore[misc]
        return None if found is None else (found.value_id,)

    def instruction(
        self, op: Op, inputs: tuple[int, ...], avals: Sequence[Aval], params: dict[str, Any], results: Any
    ) -> tuple[int, ...]:
        """Append the kernel call; `results` is what is known of what it gives."""
        made = results if op.multi else (results,)
        operands = [self.orders[s] for s in inputs]
        outputs = tuple([self.new_value(a, order_of_result(op, operands, avals, params, a)) for a in made])
        self.instructions.append(Instruction(op, inputs, params, outputs, self.inside + self.describe(self.node)))
        if op is reshape_to and _same_places(avals[0].shape, results.shape):
            self.before_reshape[outputs[0]] = self.before_reshape.get(inputs[0], inputs[0])
        if not op.multi:
            self.learn(outputs[0], self.structure_of(op, inputs, params, results))
        return outputs

    def structure_of(self, op: Op, inputs: tuple[int, ...], params: dict[str, Any], out: Aval) -> Structure | None:
        """Facts about an op's result."""
        known = op.fill is not None or op in _FACT_MAKERS
        if not known and (not inputs or inputs[0] not in self.structures):
            return None
        if op is select and inputs[0] in self.constants:
            # equal constants are one value, which must say nothing of itself
            return None
        values = [TracedValue(self, s) for s in inputs]
        seeds = structure_of_seeds(op, values, params, out)
        return (
            structure_of_result(op, values, params, out)
            if seeds is None and "algebraic_simplification" in self.passes
            else seeds
        )

    def learn(self, value_id: int, structure: Structure | None) -> None:
        """Note what is known of the contents of a value."""
        if structure is not None:
            self.structures[value_id] = structure

    def constant_id(self, array: Any, shared: bool = True) -> int:
        """The value id of a constant; equal small constants share one."""
        key = None
        if array.size <= 64 and shared:
            key = ("constant", array.dtype.str, array.shape, array.strides, array.tobytes())
            if "common_subexpression_elimination" in self.passes and key in self.seen:
                return self.seen[key][0]
        value_id = self.new_value(abstract_operand(array), order_of(array))
        self.constants[value_id] = array
        if "algebraic_simplification" in self.passes:
            self.learn(value_id, structure_of_array(array))
        if key is not None:
            self.seen[key] = (value_id,)
        return value_id

    def folded(self, node: Application) -> tuple[int, ...] | None:
        """Compute a node of constants now; None if it is not one."""
        op, inputs, params = node.op, node.inputs, node.params
        operands = self.operands_now(op, inputs) if inputs else None
        if operands is None or is_stateful(op, params):
            return None
        # what is no larger than a constant that is kept anyway may be kept, too
        kept = [] if op.from_avals else [x.nbytes for x in operands if x.flags.forc]
        quick = op.from_avals or (op.elementwise and op.rounds_correctly)
        most = max([self.fold_limit * (1 if quick else _COMPUTED), *kept])
        most = min(most, FOLD_TOTAL * self.fold_limit - self.folded_bytes)
        avals = node.results if op.multi else (node.results,)
        if sum([a.nbytes for a in avals]) > most:
            return None
        try:
            result = op.kernel(*operands, **params)
        except Exception:  # noqa: BLE001 - it belongs to the run, which can tell the place in the user's program
            return None
        results = result if op.multi else (result,)
        size = sum(r.nbytes for r in results)
        if size > most:
            # a shape that only the kernel knows
            return None
        self.folded_bytes += size
        structure = None if op.multi else self.structure_of(op, inputs, params, abstract_operand(result))
        # seeds are not what a user's constant that looks like them is
        shared = not isinstance(structure, SEEDS)
        outputs = tuple([self.constant_id(scalar(r), shared) for r in results])
        if structure is not None:
            self.learn(outputs[0], structure)
        return outputs

    def operands_now(self, op: Op, inputs: tuple[int, ...]) -> list[Any] | None:
        """The operands if they are constants; stand-ins of the same shapes for an op that looks at nothing else."""
        found: list[Any] = []
        for i, s in enumerate(inputs):
            if (op.from_avals or i in op.references) and is_known((a := self.avals[s]).shape):
                found.append(np.broadcast_to(a.dtype.numpy.type(0), a.shape))
            elif s in self.constants and not op.from_avals:
                found.append(self.constants[s])
            elif self.avals[s].value is None:
                return None
            else:
                break
        else:
            return found
        avals = [self.avals[s] for s in inputs]
        if op.from_avals or not all(a.has_contents for a in avals):
            return None
        return [np.asarray(a.value, a.dtype.numpy) for a in avals]

    def count(self, name: str) -> None:
        """Note that a pass removed an instruction."""
        self.report[name] = self.report.get(name, 0) + 1


def _is_single(op: Op) -> bool:
    return not (op.stateful or op.multi)


REWRITES = (
    Rewrite(
        "noop_elimination",
        lambda op: op.simplify is not None,
        Lowering.unchanged,
        "the op says that the result is an operand, which lies in memory as the result would",
    ),
    Rewrite(
        "reference_operands",
        lambda op: bool(op.references),
        Lowering.referring,
        "of a reference only shape and dtype count",
    ),
    Rewrite(
        "common_subexpression_elimination",
        lambda op: not op.stateful,
        Lowering.met_before,
        "equal ops on equal values, in the order that complex products need, give equal bits",
    ),
    *[
        Rewrite(
            "seeds" if one.seeds else "algebraic_simplification",
            lambda op, one=one: _is_single(op) and one.looks_at(op),  # type: ignore[misc]
            functools.partial(Lowering.simplified, by=one),
            one.exact,
            "" if one.seeds else one.name,
        )
        for one in SIMPLIFICATIONS
    ],
    Rewrite("constant_folding", lambda op: True, Lowering.folded, "the same kernel computes it, while lowering"),
    Rewrite(
        "shape_specialization",
        lambda op: _is_single(op) and op.specialize is not None,
        Lowering.specialized,
        "the op says so (`Op.specialize`), and its row in the tests compares bits",
    ),
    Rewrite(
        "unrolling",
        lambda op: op.unroll is not None,
        Lowering.unrolled,
        "the same ops in the same order, on operands that lie in memory as they did",
    ),
)
"""All rewrites of nodes, in the order in which they are tried: the first that finds results ends the search.

"seeds" is no pass, because it defines what the seeds of a Jacobian mean, and cannot be left out.
"""


_FACT_MAKERS = frozenset([identity_like, seed_rows, stack_op, select])


def _is_small_part(node: Node) -> bool:
    """Whether a node takes a small part of something, or is the transpose of that; where sizes are open, perhaps."""
    if node.op is not getitem_op and node.op is not getitem_back_op:
        return False
    sizes = [x.aval.size for x in (node.inputs[0], node.outputs[0])]
    return None in sizes or _PART * min(sizes) <= max(sizes)


def _same_places(shape: Shape, other: Shape) -> bool:
    """Whether shapes differ in axes of size one only, so that a reshape keeps any order in memory."""
    return [d for d in shape or () if d != 1] == [d for d in other or () if d != 1]


def _key(op: Op, inputs: tuple[int, ...], params: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """A key that equal nodes share, or None if a node cannot be compared with another."""
    if not params:
        return op, inputs
    try:
        return op, inputs, tuple([(name, distinct(value)) for name, value in params.items()])
    except TypeError:
        return None


@patience("compiling a program")
def lower(
    nodes: Sequence[Node],
    inputs: Sequence[tuple[Any, Aval]],
    outputs: Sequence[Any],
    *,
    orders: Sequence[Order] | None = None,
    state_aval: Callable[[Any], Aval] = lambda handle: handle.aval,
    describe: Callable[[Node], str] = lambda node: "",
    passes: Collection[str] = DEFAULT_PASSES,
    fold_limit: int = FOLD_LIMIT,
    put_off: bool = False,
) -> tuple[Program, list[Any], list[Assignment]]:
    """Compile nodes for inputs of given avals.

    The nodes must run, in the order of execution (`needed_nodes`). Inputs are symbols whose values are given, with
    their concrete avals, and lie in memory by `orders`, by default in C order; for a variable's handle it is what all
    reads give, up to the first assignment. ``state_aval(handle)`` is the concrete aval of a variable's value,
    ``describe(node)`` where it comes from, for error messages. `passes` are those of
    `engine.compiler.pipeline.PIPELINE` to apply, by name. A folded constant may have `fold_limit` bytes, if none of its
    operands is as large. If `put_off`, the program may leave products among its outputs to be computed
    (`Program.products`).

    Returns
    -------
    program : Program
        Its inputs are those given, then the values of the handles read; its outputs those wanted, then those of the
        assignments, and what `Program.updates` read.
    reads : list of handle
    assigned : list of Assignment
    """
    work = Lowering(passes=frozenset(passes), describe=describe, state_aval=state_aval, fold_limit=fold_limit)
    work.parts = any(map(_is_small_part, nodes))
    arguments = [work.argument(*each) for each in zip(inputs, orders or [Order.CONTIGUOUS] * len(inputs), strict=True)]
    given = {id(symbol): value_id for (symbol, _), value_id in zip(inputs, arguments, strict=True)}
    for node in nodes:
        outputs_fed = node.outputs and id(node.outputs[0]) in given and all(id(x) in given for x in node.outputs)
        if node.op is not variable_handle and not outputs_fed:
            work.visit(node)
    wanted = [work.ids[id(x)] if id(x) in work.ids else given[id(x)] for x in outputs]
    products = products_put_off(work, wanted) if put_off else {}
    changed = [(handle, work.current[key]) for key, handle in work.assigned.items()]
    initial = (
        {id(handle): value_id for handle, value_id in work.reads.values()} if "partial_assignment" in passes else {}
    )
    updates: list[Update] = []
    if "deferred_updates" in passes and changed:
        came = {id(handle): value_id for handle, value_id in work.reads.values()}
        updates = taken_out(changed, came, work, wanted)
        deferred = {id(handle) for update in updates for handles in update.variables for handle in handles}
        changed = [(handle, value_id) for handle, value_id in changed if id(handle) not in deferred]
        if deferred:
            work.report["deferred_updates"] = len(deferred)
    assigned, new_values = assignments(changed, initial, work, wanted)
    read_deferred = list(dict.fromkeys(s for u in updates for s in (*[s for o in u.operands for s in o], *u.numbers)))
    positions = {s: len(new_values) + i for i, s in enumerate(read_deferred)}
    updates = [update.at(positions) for update in updates]
    new_values += read_deferred
    if in_part := sum(assignment.in_part for assignment in assigned):
        work.report["partial_assignment"] = in_part
    reads = _reads_needed(work, {*wanted, *new_values}, assigned)
    program = Program(
        inputs=tuple(arguments + [value_id for _, value_id in reads]),
        outputs=tuple(wanted + new_values),
        constants=work.constants,
        instructions=work.instructions,
        avals=work.avals,
        report=work.report,
        orders=work.orders,
        stages={"lowering": work.instructions},
        updates=updates,
        products=products,
    )
    run_pipeline(program, passes)
    return program, [handle for handle, _ in reads], assigned


def _reads_needed(work: Lowering, results: Collection[int], assigned: Sequence[Assignment]) -> list[tuple[Any, int]]:
    """Handles and value ids of the reads, but for those of which only the shape counted, which cannot change."""
    used = work.uses(results)
    kept = {id(a.handle) for a in assigned if a.in_part}
    kept |= {id(handle) for handle, s in work.reads.values() if s in used or not handle.aval.is_static}
    return [(handle, s) for handle, s in work.reads.values() if id(handle) in kept]
