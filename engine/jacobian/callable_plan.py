"""`JacobianPlan`: a plan in the user's hands, with a program that computes everything from the sources."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent import futures
from typing import Any, NamedTuple

import numpy as np

from engine.closed.function import ClosedFunction
from engine.compiler.program import Program
from engine.core.aval import Aval, format_shape
from engine.core.detach import looked_at
from engine.core.eager import EagerTensor
from engine.core.instantiate import in_trace, instantiate
from engine.core.op import Node
from engine.core.tape import paused
from engine.core.trace import Symbol, Trace, constant_value, needed_nodes
from engine.core.value import Value, as_array, aval_of
from engine.core.variable import Variable, read_variable, tracked_value
from engine.derivatives.custom import custom_call
from engine.jacobian.execution.decompression import Scattered
from engine.jacobian.execution.evaluate import evaluate
from engine.jacobian.execution.parallel import Spread, SpreadOver, check_executor, spread, spread_over
from engine.jacobian.execution.plan_programs import numbered
from engine.jacobian.planning.plan import Plan, plan_for
from engine.jacobian.structure.path import Path, with_closed_rules
from engine.jacobian.views.results import sparse_block
from engine.runtime.cache import Cache
from engine.runtime.errors import DTypeError, InvalidArgumentError
from engine.runtime.faces import Shown, pattern_picture
from engine.runtime.lazy_scipy import sparse


class JacobianPlan(Shown):
    """How a Jacobian is computed; call it with arrays for the sources to compute it there.

    Print it to read it in words, which `engine.jacobian.planning.describe` explains.

    Attributes
    ----------
    measured : float or None
        Seconds that the fastest call so far took.
    """

    def __init__(self, closed: ClosedFunction, path: Path, format: str, looked: Sequence[Looked], why: str) -> None:
        self.measured: float | None = None
        self._closed = closed
        self._path: Path | None = path
        self._looked, self._why_fixed = looked, why
        self._targets, self._sources = ([path.values[s].aval for s in side] for side in (path.targets, path.sources))
        self._format = format
        self._spread: Cache[SpreadOver, tuple[ClosedFunction, Spread]] = Cache(
            "plans over executors", 8, key="the plan; how it is dealt out"
        )

    @property
    def plan(self) -> Plan:
        """Sweeps, colors, cuts, predicted cost.

        Plans of one function are the same object, whichever front end it was written for.
        """
        plan: Plan = self._closed.plan
        return plan

    @property
    def program(self) -> Program:
        """From the sources to the blocks."""
        return self._closed.program

    def _facts_(self) -> dict[str, Any]:
        shapes = " ".join(f"{rows}x{columns}" for row in self.plan.shapes for rows, columns in row)
        entries = sum(b.nnz for row in self.plan.blocks for b in row if isinstance(b, Scattered))
        return {"blocks": shapes, "format": self._format, "seeds": self.plan.seeds, "entries": entries or "all"}

    def _picture_(self) -> str:
        blocks = [b for row in self.plan.blocks for b in row if isinstance(b, Scattered)]
        rows = [np.repeat(np.arange(b.shape[0]), np.diff(b.indptr)) for b in blocks]
        return "".join(pattern_picture(r, b.indices, b.shape) for r, b in zip(rows, blocks, strict=True))

    def __call__(self, *sources: Any, executor: futures.Executor | None = None) -> Any:
        """The Jacobian at `sources`.

        Parameters
        ----------
        *sources : array
            One per source, of its shape and dtype.
        executor : concurrent.futures.Executor, optional
            Where to sweep, a chunk of seeds at a time. A plan in one chunk (see `in_chunks`) is split into one per
            worker.

        Returns
        -------
        array, or list of lists of them
            ``[target][source]``; the block alone if there is but one. Of shape ``target.shape + source.shape``, or a
            `scipy.sparse` array.

        Raises
        ------
        InvalidArgumentError
            If Python looked at a value while the function was recorded, and finds another one at `sources`: there the
            function might have gone another way.
        """
        if len(sources) != len(self._sources):
            raise InvalidArgumentError(f"JacobianPlan: expected {len(self._sources)} sources, got {len(sources)}")
        if self._why_fixed:
            raise InvalidArgumentError(f"JacobianPlan: {self._why_fixed}")
        check_executor(executor, self._format)
        arrays = [_checked(k, x, aval) for k, (x, aval) in enumerate(zip(sources, self._sources, strict=True))]
        start = time.perf_counter()
        if executor is None:
            numbers: Sequence[Any] = self._closed.execute([*arrays])
        else:
            numbers = self._elsewhere(arrays, executor)
        self._check(numbers[len(numbers) - len(self._looked) :])
        seconds = time.perf_counter() - start
        self.measured = seconds if self.measured is None else min(self.measured, seconds)
        blocks = [
            [self._finished(None if k is None else numbers[k], i, j) for j, k in enumerate(row)]
            for i, row in enumerate(self._closed.form)
        ]
        return blocks[0][0] if len(blocks) == 1 == len(blocks[0]) else blocks

    def in_chunks(self, count: int) -> JacobianPlan:
        """The same with its seeds in about `count` chunks: see `Plan.in_chunks`."""
        return _bound(self.plan.in_chunks(count), self._known_path(), self._format, self._looked, self._why_fixed)

    def _check(self, found: Sequence[Any]) -> None:
        """Raise if what Python looked at is something else here."""
        for one, array in zip(self._looked, found, strict=True):
            if not np.array_equal(one.contents, array, equal_nan=one.contents.dtype.kind in "fc"):
                raise InvalidArgumentError(
                    f"JacobianPlan: the function may be another one at this point: {one.file}, line {one.line}, looked "
                    f"at a tensor that was {_brief(one.contents)} where it was recorded, and is {_brief(array)} here. "
                    f"Use tape.jacobian, or tf.where in place of what Python decides"
                )

    def _elsewhere(self, arrays: Sequence[Any], executor: futures.Executor) -> Sequence[Any]:
        """The results of the program, computed by an executor."""
        over = spread_over(executor)
        known = self._spread.get(over)
        if known is None:
            path = self._known_path()
            what = spread(over.split(self.plan), path)
            sources = [path.values[slot] for slot in path.sources]
            looked = [one.symbol for one in self._looked]
            forward = _closed(sources, [*[path.values[slot] for slot in what.captures], *looked])
            known = self._spread.put(over, (forward, what))
        forward, what = known
        found = forward.execute([*arrays])
        count = len(what.captures)
        return [*what.outcome(found[:count], executor), *found[count:]]

    def _known_path(self) -> Path:
        if self._path is None:
            raise InvalidArgumentError(
                "JacobianPlan: it was pickled, but the function holds something that cannot be (a custom gradient); so "
                "its chunks are not known here"
            )
        return self._path

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__}
        if self._path is not None:
            path = self._path
            ends = [[path.values[slot] for slot in side] for side in (path.sources, path.targets)]
            try:
                # the trace first: from there on each thing is met before what refers to it
                trace = ends[0][0].trace if ends[0] else None
                state["_path"] = pickle.dumps((trace, path.nodes, *ends, self._looked))
            except (pickle.PicklingError, AttributeError, TypeError):
                state["_path"] = None
        state["_looked"] = [one._replace(symbol=None) for one in self._looked]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if state["_path"] is not None:
            _, *parts, self._looked = pickle.loads(state["_path"])
            self._path = Path(*parts)

    def _finished(self, values: Any, i: int, j: int) -> np.ndarray | sparse.sparray:
        target, source = self._targets[i], self._sources[j]
        assert target.shape is not None and source.shape is not None
        if self._format == "dense":
            shape = target.shape + source.shape
            return np.zeros(shape, source.dtype.numpy) if values is None else np.reshape(values, shape)
        block = sparse_block(self.plan.blocks[i][j], values, self.plan.shapes[i][j], self._format, source.dtype.numpy)
        return block.rebuilt(block.components())

    def __str__(self) -> str:
        taken = "not run yet" if self.measured is None else f"{self.measured:.3g}"
        return f"{self.plan}\n  measured seconds (with the function itself): {taken}"


class Looked(NamedTuple):
    """A tensor at whose contents Python looked while a function was recorded.

    Attributes
    ----------
    symbol : Symbol
        What computes it from the sources.
    contents : array
        What it was.
    file, line
        Where the user's program looked.
    """

    symbol: Any
    contents: Any
    file: str
    line: int


def _brief(array: Any) -> str:
    text = np.array2string(np.asarray(array), threshold=6, edgeitems=2, precision=4)
    return " ".join(text.split())


def _checked(k: int, x: Any, aval: Aval) -> np.ndarray:
    looked_at(x)
    if isinstance(x, EagerTensor) and x.dtype is not aval.dtype:
        made_for = f"JacobianPlan: source {k}: expected a tensor of {aval.dtype.name}, which the plan was made for"
        raise DTypeError(f"{made_for}; got one of {x.dtype.name}")
    # in C order, as what a session is fed
    converted = as_array(x._array if isinstance(x, EagerTensor) else x, aval.dtype, f"JacobianPlan: source {k}")
    array = np.asarray(converted, order="C")
    if array.shape != aval.shape:
        raise InvalidArgumentError(
            f"JacobianPlan: source {k} must have the shape {format_shape(aval.shape)} that the plan was made for; got "
            f"{format_shape(array.shape)}"
        )
    return array


def bound(
    plan: Plan, path: Path, format: str, recorded: Sequence[Node] = (), left: Iterable[tuple[Any, ...]] = ()
) -> JacobianPlan:
    """The plan with a program that takes the sources and computes everything else.

    Parameters
    ----------
    recorded : sequence of Node
        All that a tape has seen, in the order of execution: what the path takes from there is computed anew as well.
    left : iterable of (value, contents, file, line)
        What Python looked at (`Tape.left`): where that is something else, a call is refused.

    Raises
    ------
    InvalidArgumentError
        If the path takes something that is neither a source nor known (a placeholder, say).
    """
    original, trace = path, Trace()
    path = with_closed_rules(original)
    of: dict[int, Any] = {id(path.values[s]): trace.placeholder(aval_of(path.values[s])) for s in path.sources}
    nodes: list[Node] = []
    # a variable that is no source keeps the value that it had
    anew = [n for n in recorded if not isinstance(n.inputs[0], Variable) or id(n.inputs[0]) in of]
    makers = {id(out): node for node in anew for out in node.outputs}
    with paused():
        for node in path.nodes:
            for x in node.inputs:
                if id(x) not in of:
                    _add(trace, of, x, makers)
            first = len(trace.nodes)
            instantiate((node,), of, in_trace(trace))
            nodes += trace.nodes[first:]
        for slot in path.targets:
            if id(path.values[slot]) not in of:
                # no source leads there: only its shape counts
                of[id(path.values[slot])] = trace.placeholder(aval_of(path.values[slot]))
    looked, fixed = [], ""
    reached = _reached(recorded, {id(path.values[s]) for s in path.sources})
    for value, *what in left:
        value = tracked_value(value)
        try:
            with paused():
                if id(value) in reached and id(value) not in of:
                    _add(trace, of, value, makers)
        except InvalidArgumentError as error:
            fixed = f"Python looked at a tensor ({what[1]}, line {what[2]}) of which other points tell nothing: {error}"
        if id(value) in reached and id(value) in of:
            looked.append(Looked(of[id(value)], *what))
    ends = [[of[id(path.values[slot])] for slot in side] for side in (path.sources, path.targets)]
    for k, target in enumerate(ends[1]):
        if not target.aval.is_static:
            raise InvalidArgumentError(
                f"jacobian_plan: the shape of target {k} depends on values, so it is not known at other points; use "
                f"tape.jacobian"
            )
    copy = Path(nodes, ends[0], ends[1])
    if path is not original:
        plan = plan_for(copy, plan.options, plan.pattern_to_verify)
    if any(node.op is custom_call and not isinstance(node.outputs[0], Symbol) for node in original.nodes):
        fixed = (
            "the recorded function has a custom gradient, whose rule may hold values of the recording; so it is not "
            "known elsewhere. Make the plan in a graph, or use tape.jacobian"
        )
    return _bound(plan, copy, format, looked, fixed)


def _reached(nodes: Sequence[Node], starts: set[int]) -> set[int]:
    """The identities of what nodes compute from some values, and these."""
    reached = set(starts)
    for node in nodes:
        if not reached.isdisjoint(map(id, node.inputs)):
            reached.update(map(id, node.outputs))
    return reached


def _bound(plan: Plan, path: Path, format: str, looked: Sequence[Looked], why_fixed: str) -> JacobianPlan:
    """The same for a path in a trace of its own."""
    sources = [path.values[slot] for slot in path.sources]
    with paused():
        blocks = evaluate(plan, path)
    wanted = [*[b for row in blocks for b in row if b is not None], *[one.symbol for one in looked]]
    closed = _closed(sources, wanted, form=numbered(blocks), plan=plan, owned=True)
    closed.program  # noqa: B018 - made with the plan
    return JacobianPlan(closed, path, format, looked, why_fixed)


def _closed(sources: Sequence[Any], wanted: Sequence[Any], **how: Any) -> ClosedFunction:
    """The closed function from sources of a trace, which lie in C order, to something computed from them."""
    trace = sources[0].trace
    wanted = [trace.operand(w) for w in wanted]
    steps = needed_nodes(trace.nodes, wanted, {id(s) for s in sources})
    return ClosedFunction(trace, sources, wanted, steps, orders=None, **how)


def _add(trace: Trace, of: dict[int, Any], x: Any, makers: Mapping[int, Node]) -> None:
    """A value beside the path: a constant, or what is computed from constants and what is there already."""
    steps = _steps(of, x, makers)
    if not steps:
        array = constant_value(x) if isinstance(x, Symbol) else x._array if isinstance(x, EagerTensor) else x
        if array is not None and not isinstance(array, Value):
            of[id(x)] = trace.operand(array if isinstance(array, tuple) else np.asarray(array))
            return
        steps = needed_nodes(x.trace.nodes, [x], set(of)) if isinstance(x, Symbol) else []
    if not steps or any(n.op.stateful or (n.op is read_variable and id(n.inputs[0]) not in of) for n in steps):
        raise InvalidArgumentError(
            f"jacobian_plan: the plan is a function of its sources, but the path also takes {x!r}, whose value is not "
            f"known; give it as a source, or make it a constant"
        )
    for node in steps:
        for operand in node.inputs:
            if id(operand) not in of:
                _add(trace, of, operand, {})
        instantiate((node,), of, in_trace(trace))


def _steps(of: Mapping[int, Any], x: Any, makers: Mapping[int, Node]) -> list[Node]:
    """The recorded nodes from what is there already to x, in the order of execution; none if x was not recorded."""
    steps: dict[int, Node] = {}
    pending = [x]
    while pending:
        value = pending[-1]
        node = None if id(value) in of else makers.get(id(value))
        missing = (
            []
            if node is None or id(node) in steps
            else [y for y in node.inputs if id(y) not in of and id(makers.get(id(y))) not in steps and id(y) in makers]
        )
        if missing:
            pending += missing
            continue
        pending.pop()
        if node is not None:
            steps.setdefault(id(node), node)
    return list(steps.values())
