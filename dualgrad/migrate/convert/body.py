"""The statements of one function: items in order, what is used once inside of what uses it, tapes around what they see.

An expression moves to its only use only if everything is still computed in the graph's order: the walk backwards adds
contributions up in that order, and a sum of three floats depends on it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgrad.migrate.convert import summaries, tapes
from dualgrad.migrate.convert.calls import is_alias, leaves
from dualgrad.migrate.convert.common_subgraphs import HelperItem
from dualgrad.migrate.convert.flows import write_flow, written_draw
from dualgrad.migrate.convert.identifiers import Scope
from dualgrad.migrate.convert.items import (
    AverageItem,
    CallItem,
    CustomItem,
    DrawItem,
    FlowItem,
    GradientItem,
    Item,
    Items,
    MinimizeItem,
    OpItem,
    StepItem,
    assigned,
    is_leaf,
    operands,
    parts,
    source,
)
from dualgrad.migrate.convert.literals import data, literal, literal_of
from dualgrad.migrate.convert.minimizations import write_minimization
from dualgrad.migrate.convert.spelling import code, composed, path, spelled
from dualgrad.migrate.convert.tidying import nodes_of
from dualgrad.sparse.sparse_tensor import SparseTensor
from engine.core.trace import Symbol, constant
from engine.core.variable import Variable, assign_variable, read_variable, variable_handle
from engine.derivatives.aggregation import is_pairwise
from engine.ops.indexed_slices import IndexedSlices

_SIZE = 9
"""Calls and operators that one statement holds at most, where the program gives no names."""


@dataclass
class Statement:
    """A statement, where in the user's program it comes from, and the node whose value it returns."""

    code: ast.stmt
    item: Item | None = None
    node: Any = None


@dataclass(eq=False)
class _Pending:
    """An expression that waits for its only use."""

    value: Any
    item: Item
    code: ast.expr
    size: int


class Body:
    """Writes the statements of one function.

    Parameters
    ----------
    module : Module
        What is known at the top of the converted module: variables, optimizers, constants, names.
    within : Items
        Where the items come from.
    items : sequence of Item
        What to do, in order.
    arguments : dict
        By identity of a tensor that is given, the name of the parameter.
    wanted : sequence of tensor
        What is returned.
    outer : Body, optional
        Of the function in which this one stands.
    """

    def __init__(
        self, module: Any, within: Items, items: Sequence[Item], arguments: dict[int, str], wanted: Sequence[Any],
        outer: Body | None = None,
    ) -> None:  # fmt: skip
        self.module, self.within, self.outer = module, within, outer
        self.items = sorted([item for item in items if not is_leaf(item)], key=lambda item: item.order)
        self.arguments = arguments
        self.wanted = list(wanted)
        self.scope = Scope(module.scope if outer is None else outer.scope)
        self.scope.take(*arguments.values())
        self.statements: list[Statement] = []
        self._code: dict[int, ast.expr] = {}
        self._pending: list[_Pending] = []
        self._reads = {id(i.outputs[0]): i for i in items if isinstance(i, OpItem) and i.node.op is read_variable}
        self._order = {id(item): item.order for item in items}
        self._uses = self._count_uses()
        self._kept_reads = self._reads_to_keep()

    # ---- what is used how often --------------------------------------------------------------------------------------

    def _count_uses(self) -> dict[int, list[Item | None]]:
        uses: dict[int, list[Item | None]] = {}
        for item in self.items:
            for x in item.inputs:
                uses.setdefault(id(x), []).append(item)
        for x in self.wanted:
            uses.setdefault(id(x), []).append(None)
        return uses

    def _reads_to_keep(self) -> set[int]:
        """The reads whose value must be kept, since the variable is assigned to before it is used for the last time."""
        kept = set()
        changes = [(item.order, id(h)) for item in self.items for h in assigned(item)]
        sources = {id(source(x)) for item in self.items if isinstance(item, GradientItem) for x in item.call.xs}
        for key, read in self._reads.items():
            handle = id(read.node.inputs[0])
            last = max(
                (len(self.module.graph.nodes) if u is None else u.order for u in self._uses.get(key, ())), default=-1
            )
            if key in sources or any(h == handle and read.order < at < last for at, h in changes):
                kept.add(key)
        return kept

    # ---- writing -----------------------------------------------------------------------------------------------------

    def write(self) -> list[Statement]:
        """All statements, with the one that returns."""
        steps: list[Any] = sorted(
            [*self.items, *[self._reads[k] for k in self._kept_reads]], key=lambda item: item.order
        )
        for item in [i for i in self.items if isinstance(i, GradientItem)]:
            for x in [x for x in item.call.xs if isinstance(x, Symbol) and x.node.op is constant]:
                if id(x) not in self._code:  # a tape knows a constant by what it watches, not by its value
                    self.let(x, self.module.constant(x), item)
        arranged, self._watches = tapes.arranged(steps)
        for step in arranged:
            self._write(step)
        self.take(self.wanted)
        self.flush()
        if self.wanted:
            values = [self.returned(x) for x in self.wanted]
            returned = values[0] if len(values) == 1 else ast.Tuple(values, ast.Load())
            self.statements.append(Statement(ast.Return(returned), None, self.wanted[0].node))
        return self.statements

    def returned(self, x: Any) -> ast.expr:
        """The expression that is returned for a tensor: for a variable, its value now."""
        value = self.value(x)
        is_read = x.node.op in (read_variable, variable_handle) and id(x) not in {**self._code, **self.arguments}
        return ast.Call(ast.Attribute(value, "read_value", ast.Load()), [], []) if is_read else value

    def _write(self, step: Any) -> None:
        if isinstance(step, tapes.Block):
            self._write_block(step)
        elif isinstance(step, GradientItem):
            self._write_gradient(step)
        elif isinstance(step, StepItem):
            self._write_step(step)
        elif isinstance(step, AverageItem):
            self._write_averages(step)
        elif isinstance(step, FlowItem):
            write_flow(self, step)
        elif isinstance(step, MinimizeItem):
            write_minimization(self, step)
        elif isinstance(step, HelperItem):
            self._write_call(step, step.plan.name, step.handed)
        elif isinstance(step, CustomItem):
            self._write_call(step, self.module.custom(step), step.given)
        elif isinstance(step, DrawItem):
            self._write_draw(step)
        elif isinstance(step, CallItem):
            _write_public(self, step)
        elif step.node.op is read_variable:
            read = ast.Call(ast.Attribute(self.module.variable(step.node.inputs[0]), "read_value", ast.Load()), [], [])
            self.let(step.outputs[0], read, step)
            self.watch(step.outputs[0])
        elif step.node.op is assign_variable:
            self._write_assignment(step)
        elif summaries.is_summary(step.node):
            summaries.write(self, step)
        else:
            self._write_op(step)

    def _write_block(self, block: tapes.Block) -> None:
        block.name = self.scope.free("tape")
        outer, self.statements = self.statements, []
        for x in block.watched:
            if self._is_known(x):
                self.watch(x, block)
        for step in block.steps:
            self._write(step)
        self.flush()
        keywords = [ast.keyword("persistent", ast.Constant(True))] if block.persistent else []
        call = ast.Call(path("tf.GradientTape"), [], keywords)
        with_ = ast.With([ast.withitem(call, ast.Name(block.name, ast.Store()))], list(self.statements))  # type: ignore[arg-type]
        self.statements = outer
        self.add(with_)

    def _is_known(self, x: Any) -> bool:
        return id(x) in self.arguments or id(x) in self._code or x.node.op.name in ("variable_handle", "placeholder")

    def watch(self, x: Any, block: Any = None) -> None:
        """Have the tapes watch a tensor that are to watch it, or one tape."""
        for tape in [block] if block is not None else self._watches.get(id(x), ()):
            watched = self.module.variable(x) if x.node.op.name == "variable_handle" else self.value(x)
            self.add(ast.Expr(ast.Call(path(f"{tape.name}.watch"), [watched], [])))

    def _write_gradient(self, item: GradientItem) -> None:
        call, block = item.call, item.block  # type: ignore[attr-defined]
        if block is None:
            return
        self.take([*call.ys, *(call.grad_ys or ())])
        ys = [self.whole(y) for y in call.ys]
        wanted = [(x, r) for x, r in zip(call.xs, call.results, strict=True) if r is not None]
        xs = [self.module.variable(source(x)) if isinstance(x, Variable) else self.value(x) for x, _ in wanted]
        target = ys[0] if len(ys) == 1 else ast.List(ys, ast.Load())
        if call.method == "hessian":
            self.flush()
            for x, (_, r) in zip(xs, wanted, strict=True):
                self.let(r, ast.Call(path(f"{block.name}.hessian"), [target, x], []), item)
            return
        keywords = []
        if call.grad_ys is not None:
            seeds = [ast.Constant(None) if g is None else self.whole(g) for g in call.grad_ys]
            keywords.append(ast.keyword("output_gradients", seeds[0] if len(ys) == 1 else ast.List(seeds, ast.Load())))
        if call.zeros or (self.module.capture.flows and tapes.has_choices(call.ys)):
            # a graph gives zero where a branch was taken that does not use the source, a tape gives None
            keywords.append(ast.keyword("unconnected_gradients", ast.Constant("zero")))
        if is_pairwise(call.aggregation, "gradients"):
            keywords.append(ast.keyword("aggregation_method", path("tf.AggregationMethod.EXPERIMENTAL_TREE")))
        sources = xs[0] if len(xs) == 1 else self.module.listed([x for x, _ in wanted], xs)
        gradient = ast.Call(path(f"{block.name}.gradient"), [target, sources], keywords)
        results = [r for _, r in wanted]
        only = results[0] if len(results) == 1 and isinstance(results[0], Symbol) else None
        if only is not None and self.module.names.given_name(only) is None and self.waits(only, gradient, item, 1):
            return
        if not all(isinstance(u, StepItem) for u in self._users(results)):
            self.flush()  # a tape around may see it, and adds contributions up in the order of what it saw
        if self._only_for_steps(item, results):
            name = self.scope.free(self.shared_label(results))
            item.whole = (name, results)  # type: ignore[attr-defined]
            self.add(ast.Assign([ast.Name(name, ast.Store())], gradient), item)
            for i, r in enumerate(results):
                self.name_parts(r, ast.Subscript(ast.Name(name), ast.Constant(i), ast.Load()))
            return
        names: list[ast.expr] = []
        for x, r in wanted:
            made = any(self._uses.get(id(p)) for p in parts(r))
            label = self.module.names.given_name(r) if isinstance(r, Symbol) else None
            label = label or f"d_{self.label(x)}"
            name = self.scope.free(label) if made else "_"
            names.append(ast.Name(name, ast.Store()))
            if made:
                self.name_parts(r, ast.Name(name))
        targets = names[0] if len(names) == 1 else ast.Tuple(names, ast.Store())
        self.add(ast.Assign([targets], gradient), item)

    def shared_label(self, results: Sequence[Any]) -> str:
        """The name that the program gives the results of a gradient all together."""
        labels = {(self.module.names.given_name(r) or "").rpartition("_")[0] for r in results if isinstance(r, Symbol)}
        label: str = labels.pop() if len(labels) == 1 else ""
        return label if label and not label[-1].isdigit() else "gradients"

    def _only_for_steps(self, item: GradientItem, results: Sequence[Any]) -> bool:
        users = self._users(results)
        handed = all(isinstance(u, (StepItem, CallItem)) for u in users)
        return len(results) > 1 and bool(users) and (len(results) > 3 or handed)

    def _users(self, results: Sequence[Any]) -> list[Item | None]:
        # the rows of an IndexedSlices are often the program's own: others use them too
        return [u for r in results for p in parts(r)[:1] for u in self._uses.get(id(p), ())]

    def label(self, x: Any, otherwise: str = "") -> str:
        """The name of a tensor or variable; another one for a tensor that the program has no name for."""
        names = self.module.names
        return names.variable(x) if isinstance(x, Variable) else names.tensor(x, otherwise=otherwise)

    def name_parts(self, result: Any, value: ast.expr) -> None:
        """Note what expression stands for a tensor or for a gradient of rows."""
        if isinstance(result, IndexedSlices):
            self._code[id(result)] = value
            self._code.setdefault(id(result.values), ast.Attribute(value, "values", ast.Load()))
            self._code.setdefault(id(result.indices), ast.Attribute(value, "indices", ast.Load()))
        elif isinstance(result, SparseTensor):
            for part in ("indices", "values", "dense_shape"):
                self._code.setdefault(id(getattr(result, part)), ast.Attribute(value, part, ast.Load()))
        else:
            self._code.setdefault(id(result), value)

    def _write_step(self, item: StepItem) -> None:
        call = item.call
        self.take([p for g, _ in call.pairs for p in parts(g)], changes=True)
        name = self.module.optimizer(call.optimizer)
        for hyper in call.optimizer.hyperparameters:
            value = getattr(call.optimizer, hyper)
            if isinstance(value, Symbol) and literal_of(value) is None:
                target = ast.Attribute(ast.Name(name), hyper, ast.Store())
                self.add(ast.Assign([target], self.value(value)), item)
        pairs = [(g, v) for g, v in call.pairs if g is not None]
        keywords = []
        if call.global_step is not None:
            keywords.append(ast.keyword("global_step", self.module.variable(call.global_step.handle)))
        self.add(ast.Expr(ast.Call(path(f"{name}.apply_gradients"), [self._pairs(pairs)], keywords)), item)

    def _pairs(self, pairs: Sequence[tuple[Any, Any]]) -> ast.expr:
        variables = [v for _, v in pairs]
        codes = [self.module.variable(v.handle) for v in variables]
        if len(pairs) == 1:
            return ast.List([ast.Tuple([self.whole(pairs[0][0]), codes[0]], ast.Load())], ast.Load())
        values = self._listed([g for g, _ in pairs])
        return ast.Call(ast.Name("zip"), [values, self.module.listed(variables, codes)], [])

    def _listed(self, values: Sequence[Any]) -> ast.expr:
        """Values as a list: that of a gradient, if they are its results."""
        for item in self.items:
            name, results = getattr(item, "whole", (None, ()))
            if name and len(results) == len(values) and all(a is b for a, b in zip(results, values, strict=True)):
                return ast.Name(name)
        return ast.List([self.whole(v) for v in values], ast.Load())

    def _write_averages(self, item: AverageItem) -> None:
        self.take([], changes=True)
        self.add(self.module.renewal(item.call), item)

    def _write_assignment(self, item: OpItem) -> None:
        handle, value = item.inputs
        self.take([value], changes=True)
        target = self.module.variable(handle)
        self.add(ast.Expr(ast.Call(ast.Attribute(target, "assign", ast.Load()), [self.value(value)], [])), item)

    def _write_call(self, item: Item, name: str, handed: Sequence[Any]) -> None:
        size = 1 + self.take(handed)
        call = ast.Call(ast.Name(name), [self.value(x) for x in handed], [])
        if len(item.outputs) > 1:
            self.flush()
            targets = ast.Tuple([ast.Name(n, ast.Store()) for n in self.names_for(item.outputs)], ast.Store())
            self.add(ast.Assign([targets], call), item)
        elif not self.waits(item.outputs[0], call, item, size):
            self.flush()
            self.let(item.outputs[0], call, item)
            self.watch(item.outputs[0])

    def _write_draw(self, item: DrawItem) -> None:
        size = 1 + self.take(item.inputs)
        value = self.module.own_draw(self, item) or written_draw(self, item)
        if value is None:
            value = self.module.not_converted(item, f"{item.call.function} draws random numbers in a way of its own")
        if not self.waits(item.outputs[0], value, item, size):
            self.flush()
            self.let(item.outputs[0], value, item)

    def _write_op(self, item: OpItem) -> None:
        node = item.node
        size = 1 + self.take(item.inputs)
        if is_alias(node):
            self._pending.append(_Pending(node.outputs[0], item, self.value(node.inputs[0]), size - 1))
            if not self._is_inlined(item, node.outputs[0], size):
                self.flush()
            return
        spelling = spelled(node)
        operands = [self.operand(x, spelling is None or spelling.literals) for x in node.inputs]
        if spelling is None:
            value = composed(node, operands) or self.module.not_converted(item)
        else:
            value = code(spelling, operands)
        if isinstance(value, ast.BinOp) and (number := self._number(item)) is not None:
            self._code[id(node.outputs[0])] = literal(number)
            return
        if not node.outputs:
            self.flush()
            self.add(ast.Expr(value), item)
            return
        if len(node.outputs) == 1 and self.waits(node.outputs[0], value, item, size):
            return
        self.flush()
        if len(node.outputs) == 1:
            self.let(node.outputs[0], value, item)
            self.watch(node.outputs[0])
            return
        names = self.names_for(node.outputs)
        targets = ast.Tuple([ast.Name(n, ast.Store()) for n in names], ast.Store())
        self.add(ast.Assign([targets], value) if names else ast.Expr(value), item)

    def _number(self, item: OpItem) -> float | None:
        """The number that an operator makes of two of the program, for one that computes on with it."""
        node, uses = item.node, self._uses.get(id(item.outputs[0]), [])
        known = all(type(literal_of(x)) is float for x in node.inputs) and not node.params
        if not known or len(uses) != 1 or not isinstance(uses[0], (OpItem, DrawItem)):
            return None
        value = np.asarray(node.op.kernel(*[x.node.params["value"] for x in node.inputs]))
        number = data(value) if value.dtype == node.outputs[0].dtype.as_numpy_dtype else None
        return number if isinstance(number, float) else None

    def waits(self, x: Any, value: ast.expr, item: Item, size: int) -> bool:
        """Keep an expression for its only use, if it may stand there; whether it may."""
        value = self.module.settled(value, item)
        if not self._is_inlined(item, x, size):
            return False
        self._pending.append(_Pending(x, item, value, size))
        return True

    def _is_inlined(self, item: Item, x: Any, size: int) -> bool:
        uses = self._uses.get(id(x), [])
        if len(uses) != 1 or size > _SIZE or self._watches.get(id(x)):
            return False
        user = uses[0]
        if isinstance(item, HelperItem):  # its name says what it computes
            return not isinstance(user, (GradientItem, FlowItem)) or self._is_condition(x, user)
        if user is None and len(self.wanted) == 1:
            return True
        if user is None or isinstance(user, StepItem):
            return self.module.names.own(x) is None
        if isinstance(user, (GradientItem, FlowItem)) and not self._is_condition(x, user):
            return False
        if self.module.names.own(x) is not None:
            return False
        line, of_user = [self.module.names.statement_of(getattr(i, "node", None)) for i in (item, user)]
        named = self.module.names.of_line(x.node) is not None and line != of_user
        return not named

    @staticmethod
    def _is_condition(x: Any, user: Item) -> bool:
        """Whether a choice decides by a tensor, and does nothing else with it."""
        if not isinstance(user, FlowItem) or user.call.node.op.name != "cond_op":
            return False
        return x is operands(user.call)[0] and all(id(x) not in r.captured for r in user.call.closure.regions)

    # ---- values ------------------------------------------------------------------------------------------------------

    def take(self, operands: Sequence[Any], changes: bool = False) -> int:
        """Hand what waits to the one use that comes now, as far as the order allows; return the size of it.

        Where the use `changes` variables, the rest waits no longer if it may be computed of what they are now.
        """
        while True:
            asked = [x for x in operands if any(x is p.value for p in self._pending)]
            last = self._pending[len(self._pending) - len(asked) :]
            fits = all(a is p.value for a, p in zip(asked, last, strict=True))
            total = sum(p.size for p in last)
            if fits and total <= 2 * _SIZE:
                break
            self._name(self._pending.pop(0))
        for p in last:
            self._code[id(p.value)] = p.code
            self._pending.remove(p)
        left = [n.id for p in self._pending for n in ast.walk(p.code) if isinstance(n, ast.Name)]
        if changes and not {"tf", *self.scope.taken}.issuperset(left):
            self.flush()
        return total

    def flush(self) -> None:
        """Give what waits for its use a name, and write it down."""
        while self._pending:
            self._name(self._pending.pop(0))

    def _name(self, waiting: _Pending) -> None:
        self.let(waiting.value, waiting.code, waiting.item)

    def let(self, x: Any, value: ast.expr, item: Item) -> None:
        """Give a tensor a name."""
        users = self._uses.get(id(x), ())
        is_target = any(isinstance(u, GradientItem) and any(x is y for y in u.call.ys) for u in users)
        name = self.scope.free(self.module.names.tensor(x, otherwise="loss" * is_target))
        self.add(ast.Assign([ast.Name(name, ast.Store())], value), item)
        self._code[id(x)] = ast.Name(name)

    def add(self, statement: ast.stmt, item: Item | None = None) -> None:
        """Append a statement."""
        self.statements.append(Statement(self.module.settled(statement, item), item))

    def operand(self, x: Any, literals: bool) -> ast.expr:
        """The expression for an operand; small constants as they are, if that is allowed."""
        known = literals and id(x) not in {**self.arguments, **self._code} and not self.module.is_of_run(x)
        as_literal = literal_of(x) if known else None
        return self.value(x) if as_literal is None else literal(as_literal)

    def value(self, x: Any) -> ast.expr:
        """The expression for a tensor."""
        if id(x) in self.arguments:
            return ast.Name(self.arguments[id(x)])
        if id(x) in self._code:
            return self._code[id(x)]
        if any(p.value is x for p in self._pending):
            self.take([x])
            return self._code[id(x)]
        op = x.node.op
        if op is read_variable:
            return self.module.variable(x.node.inputs[0])
        if op is variable_handle:
            return self.module.variable(x)
        if op is constant:
            return self.module.constant(x)
        return self.module.unknown(x) if self.outer is None else self.outer.value(x)

    # ---- for functions inside ----------------------------------------------------------------------------------------

    def inner(
        self, flow: Any, arguments: dict[int, str], wanted: Sequence[Any], effects: Sequence[Any]
    ) -> list[Statement]:
        """The statements of a function of a choice or loop."""
        within = self.within.within(flow)
        items = within.needed([*wanted, *effects], arguments)
        return Body(self.module, within, items, arguments, wanted, self).write()

    def again(self, wanted: Sequence[Any]) -> list[Statement]:
        """The statements of a function inside of this one that computes some tensors from the start."""
        items = self.within.needed(wanted, self.arguments)
        return Body(self.module, self.within, items, self.arguments, wanted, self).write()

    def is_used(self, x: Any) -> bool:
        """Whether something uses a tensor."""
        return bool(self._uses.get(id(x)))

    def is_for_step(self, x: IndexedSlices, maker: Item) -> bool:
        """Whether one step of an optimizer uses a gradient of rows, and nothing else but what makes it."""
        users = {id(u): u for u in self._uses.get(id(x.values), ()) if u is not maker}
        return len(users) == 1 and isinstance(next(iter(users.values())), StepItem)

    def fresh(self, wanted: Sequence[str]) -> list[str]:
        """Free names."""
        return [self.scope.free(w) for w in wanted]

    def names_for(self, outputs: Sequence[Any]) -> list[str]:
        """Names for results; what nobody uses is called ``_``."""
        names = [self.scope.free(self.label(x)) if self._uses.get(id(x)) else "_" for x in outputs]
        self.name_as(outputs, names)
        return names

    def name_as(self, outputs: Sequence[Any], names: Sequence[str]) -> None:
        """Note under which names results are."""
        self._code.update({id(x): ast.Name(n) for x, n in zip(outputs, names, strict=True)})

    def statement(self, code: ast.stmt) -> Statement:
        """A statement that comes from no line of its own."""
        return Statement(code)

    def whole(self, x: Any) -> ast.expr:
        """The expression for a gradient, which may consist of rows."""
        if not isinstance(x, IndexedSlices):
            return self.value(x)
        if id(x) in self._code:
            return self._code[id(x)]
        return ast.Call(path("tf.IndexedSlices"), [self.value(x.values), self.value(x.indices)], [])


def _write_public(body: Any, item: CallItem) -> None:
    """A call of a public function, as the program has it."""
    size = 1 + body.take(item.inputs)
    operands = [body.value(x) for x in item.inputs]
    value = code(item.written.spelling, operands, body.whole)
    result = item.call.result
    if isinstance(result, Symbol) and body.waits(result, value, item, size):
        return
    reads = any(x.node.op is read_variable for x in item.inputs)
    if isinstance(result, IndexedSlices) and body.is_for_step(result, item) and not reads:
        # outside of tapes, and without variables, it does not matter when it is computed
        body.name_parts(result, value)
        return
    body.flush()
    if isinstance(result, Symbol):
        body.let(result, value, item)
        body.watch(result)
        return
    targets: list[ast.expr] = []
    for x in result if isinstance(result, tuple) else [result]:
        used = any(body.is_used(p) for leaf in leaves(x) for p in parts(leaf))
        name = body.scope.free(_part_label(body, x)) if used else "_"
        targets.append(ast.Name(name, ast.Store()))
        if isinstance(x, (list, tuple)):
            item.whole = (name, list(x))  # type: ignore[attr-defined]
            for i, leaf in enumerate(x):
                body.name_parts(leaf, ast.Subscript(ast.Name(name), ast.Constant(i), ast.Load()))
        else:
            body.name_parts(x, ast.Name(name))
    body.add(ast.Assign([targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())], value), item)
    for x in item.outputs:
        body.watch(x)


def _part_label(body: Any, x: Any) -> str:
    """The name of a part of the result of a call."""
    if isinstance(x, (list, tuple)):
        return body.shared_label(x) if x else "values"
    return body.label(x.values if isinstance(x, (IndexedSlices, SparseTensor)) else x)


def leave_to_callees(functions: Sequence[Any]) -> None:
    """Let functions not convert an argument that they only hand on to others which do.

    Parameters
    ----------
    functions : sequence of Function
        Of which `converts` is changed.
    """
    converts = {f.name: [name in f.converts for name, _ in f.parameters] for f in functions if f.statements}
    for function in functions:
        nodes = [node for s in function.statements for node in nodes_of(s)]
        calls = [n for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in converts]
        pairs = [pair for c in calls for pair in zip(c.args, converts[c.func.id], strict=False)]  # type: ignore[attr-defined]
        handed = {id(argument) for argument, does_convert in pairs if does_convert}
        kept = {n.id for n in nodes if isinstance(n, ast.Name) and id(n) not in handed}
        function.converts = {name: dtype for name, dtype in function.converts.items() if name in kept}


def converted(converts: Mapping[str, Any]) -> list[Statement]:
    """Statements that make tensors of arguments: one line for each dtype."""
    by_dtype: dict[Any, list[str]] = {}
    for name, dtype in converts.items():
        by_dtype.setdefault(dtype, []).append(name)
    return [Statement(_all_converted(names, dtype)) for dtype, names in by_dtype.items()]


def _converted(name: str, dtype: Any) -> ast.expr:
    return ast.Call(path("tf.convert_to_tensor"), [ast.Name(name), literal(dtype)], [])


def _all_converted(names: Sequence[str], dtype: Any) -> ast.stmt:
    if len(names) == 1:
        return ast.Assign([ast.Name(names[0], ast.Store())], _converted(names[0], dtype))
    source = ast.Tuple([ast.Name(n) for n in names], ast.Load())
    running = ast.comprehension(ast.Name("x", ast.Store()), source, [], 0)
    value = ast.ListComp(_converted("x", dtype), [running])
    return ast.Assign([ast.Tuple([ast.Name(n, ast.Store()) for n in names], ast.Store())], value)
