"""Loops of a given number of steps over closed functions: `scan_op`. It is also what all loops are pulled back by.

``scan_op(*carries, *sequences, *captures)`` calls its body once for each row of the sequences:

    ``body(carries, rows, captures) -> (new carries, rows of the results)``

*Derivatives.* A scan is pulled back by a scan in the other direction. It carries the cotangents of the carries and the
sums, over the steps, of the captures' cotangents; at each step it runs the body's reverse walk, which needs the
carries that the step started with. These are computed once more and kept, but only those that the walk makes use of,
and with them what takes long to compute (`engine.control.saved_values`). A while loop (`engine.control.while_loop`) is
pulled back in the same way. All of it is made of ops, so it can be differentiated again.

Source: the reverse of a scan as in Griewank and Walther, *Evaluating Derivatives*, 2nd ed., ch. 12.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from engine.closed.function import ClosedFunction, build, plain, with_fixed
from engine.compiler.ir.kernels import number_like
from engine.control.checkpoints import Checkpointed, limited
from engine.control.cond import plus
from engine.control.deferred import Recipe, deferred_op
from engine.control.loop_kernels import length_of, row_of, scan_kernel
from engine.control.saved_values import are_alike, values_of, worth_saving
from engine.control.sparsity import scanned
from engine.control.unrolling import unrolled_scan
from engine.core.aval import Aval, common_shape
from engine.core.batching import Batches, NotBatched, like_first, logical_rank, materialize
from engine.core.kinds import PushedTogether, Together, general, nondifferentiable
from engine.core.op import Op
from engine.core.operands import Operand
from engine.core.value import Zero, aval_of, differentiable
from engine.derivatives.strong_zeros import whole_of
from engine.ops.creation import zeros_like
from engine.ops.shape import transpose
from engine.runtime.structs import struct

# ---- shapes ----------------------------------------------------------------------------------------------------------


def steady(body: ClosedFunction, state: Sequence[Aval], rest: Sequence[Aval]) -> tuple[list[Aval], tuple[Aval, ...]]:
    """The avals of the loop variables in every iteration, and of the body's results then."""
    state = [Aval(a.shape, a.dtype) for a in state]
    while True:
        results = body.result_avals([*state, *rest])
        wider = [Aval(common_shape(a.shape, b.shape), a.dtype) for a, b in zip(state, results, strict=False)]
        if wider == state:
            return wider, results
        state = wider


def column(length: int | None, row: Aval) -> Aval:
    """The aval of `length` values stacked."""
    return Aval(None if row.shape is None else (length, *row.shape), row.dtype)


# ---- scan ------------------------------------------------------------------------------------------------------------


def _scan_abstract(
    *operands: Aval, body: ClosedFunction, carries: int, sequences: int, backwards: bool = False,
    max_bytes: int | None = None,
) -> tuple[Aval, ...]:  # fmt: skip
    columns = operands[carries : carries + sequences]
    length = length_of(columns)
    rest = [*map(row_of, columns), *operands[carries + sequences :]]
    state, results = steady(body, operands[:carries], rest)
    return (*state, *[column(length, r) for r in results[carries:]])


def _scan_vjp(
    wanted: Sequence[bool],
    previous: Sequence[Any],
    cts: Any,
    outs: Any,
    *operands: Any,
    body: ClosedFunction,
    carries: int,
    sequences: int,
    backwards: bool = False,
    max_bytes: int | None = None,
) -> list[Any]:
    def history(saved: Sequence[int]) -> tuple[Any, Sequence[Any]]:
        if not saved:
            return operands[carries], ()
        body_ = saving(unsaved(body), carries, saved)
        params = {"carries": carries, "sequences": sequences, "backwards": backwards}
        return operands[carries], scan_op(*operands, body=body_, **params)[carries:]

    steps = length_of([aval_of(x) for x in operands[carries : carries + sequences]])
    return pulled_back(
        body, carries, sequences, wanted, previous, cts, operands, history, backwards, steps=steps, max_bytes=max_bytes
    )


class Saving(ClosedFunction):
    """A body with some of the carries that a step starts with, and of its values, as its last results.

    `saved` are their numbers: the carries, and behind these all values (`values_of`). If `whole`, it has all results of
    the body before them, not the carries alone.
    """

    def __init__(self, of: ClosedFunction, carries: int, saved: Sequence[int], whole: bool) -> None:
        self.of, self.carries, self.saved, self.whole = of, carries, tuple(saved), whole
        self.first = len(of.results) if whole else carries
        values = [*of.parameters[:carries], *(values_of(of) if any(k >= carries for k in saved) else ())]
        super().__init__(of.trace, of.parameters, [*of.results[: self.first], *[values[k] for k in saved]])

    def fixed(self, arrays: Mapping[int, Any]) -> ClosedFunction:
        """As that of the body, with which it stays together."""
        of = self.of.fixed(arrays)
        together = max(self.saved, default=0) < self.carries or are_alike(of, self.of)
        return saving(of, self.carries, self.saved, self.whole) if together else super().fixed(arrays)

    def places(self, of: ClosedFunction) -> list[int]:
        """Where the results of the body, or of one that saves less of it, are among its results."""
        if not isinstance(of, Saving):
            return [*range(len(of.results))]
        return [*range(of.first), *[self.first + self.saved.index(k) for k in of.saved]]


def saving(body: ClosedFunction, carries: int, saved: Sequence[int], whole: bool = False) -> Saving:
    """A body that gives some of the carries that its step starts with, behind its own carries or all its results."""
    return body.derived(("saving", tuple(saved), whole), lambda: Saving(body, carries, saved, whole))


def unsaved(body: ClosedFunction) -> ClosedFunction:
    """The body that another one saves values of."""
    return body.of if isinstance(body, Saving) else body


def _form(params: dict[str, Any]) -> tuple[Any, ...]:
    return params["carries"], params["sequences"], params.get("backwards", False)


def _scan_merge(
    first: tuple[Op, dict[str, Any]], second: tuple[Op, dict[str, Any]]
) -> tuple[Op, dict[str, Any], Sequence[int], Sequence[int]] | None:
    """One scan for a scan and the one that its gradient needs, which saves carries."""
    (_, a), (_, b) = first, second
    bodies = a["body"], b["body"]
    body = unsaved(bodies[0])
    if unsaved(bodies[1]) is not body or _form(a) != _form(b):
        return None
    saved = sorted({k for each in bodies if isinstance(each, Saving) for k in each.saved})
    both = saving(body, a["carries"], saved, any(getattr(each, "whole", True) for each in bodies))
    return scan_op, {**a, "body": both}, both.places(bodies[0]), both.places(bodies[1])


def grown(start: set[int], more: Callable[[set[int]], set[int]]) -> list[int]:
    """The smallest set that contains `start` and what `more` makes of it."""
    while not (larger := more(start)) <= start:
        start = start | larger
    return sorted(start)


def order_of_sums(count: int, params: dict[str, Any]) -> list[int]:
    """The order in which steps recorded one by one add up the cotangents of operands that are the same.

    What the steps capture comes first, then the sequences, which were taken apart before, then the first carries.
    """
    carries = params["count"] if "count" in params else params["carries"]
    start = carries + params.get("sequences", 0)
    return [*range(start, count), *reversed(range(carries, start)), *range(carries)]


empty_sum = nondifferentiable(
    "empty_sum",
    lambda x, steps: np.negative(np.zeros(x.shape, x.dtype)) if steps.size else np.zeros(x.shape, x.dtype),
    abstract=lambda x, steps: Aval(x.shape, x.dtype),
    batch=like_first,
    specialize=lambda x, steps: (
        number_like(x, number=-0.0 if aval_of(steps).size else 0.0) if x.dtype.is_floating else None
    ),
    args=("x", "steps"),
    doc="""What a sum over steps starts with, like `x`: -0.0, to which the first summand adds without a change.

    If there are no steps it is 0.0, the sum of nothing.
    """,
)


def pulled_back(
    body: ClosedFunction,
    carries: int,
    sequences: int,
    wanted: Sequence[bool],
    previous: Sequence[Any],
    cts: Any,
    operands: Sequence[Any],
    history: Callable[[Sequence[int]], tuple[Any, Sequence[Any]]],
    backwards: bool = False,
    steps: int | None = None,
    max_bytes: int | None = None,
) -> list[Any]:
    """Cotangents of a loop's operands, from those of the last carries, then of the stacked results.

    ``history(saved)`` gives something with a row per iteration, and the given carries at the start of all iterations,
    behind them the values of all iterations. `steps` is the number of
    iterations, if it is known; `max_bytes` a limit for the states that are kept: then `history` is asked for nothing
    but rows.
    """
    totals: list[Any] = [Zero(aval_of(x)) for x in operands]
    asked = [i for i in differentiable(operands) if wanted[i]]
    fixed = [i for i in asked if i >= carries]
    live = grown(set(asked) - set(fixed), lambda s: {r for r in body.reached([*s, *fixed]) if r < carries})
    given = [*live, *sorted(r for r in body.reached([*live, *fixed]) if r >= carries)]
    whole = whole_of(cts, given)
    paths = body.pullback([*live, *fixed], given, (), whole)[1][len(live) :]
    fixed = [i for i, path in zip(fixed, paths, strict=True) if path]
    if not live and not fixed:
        return totals
    known = body, carries, sequences, live, fixed, given
    # under a limit, values are saved where they take no more than the carries
    plan = _Plan.of(*known, steps if max_bytes is None else None, whole)
    length, saved = history(plan.saved if max_bytes is None else ())
    sums = [empty_sum(operands[i], length) if previous[i] is None else previous[i] for i in plan.summed]
    carried = [*[cts[k] for k in live], *sums]
    own = [cts[r] for r in given[len(live) :]]
    start, step = carries + sequences, plan.step(aval_of(length))
    if max_bytes is None:
        rows = [length, *[operands[i] for i in plan.read], *saved, *own]
        params = {"body": step, "carries": len(carried), "sequences": len(rows), "backwards": not backwards}
        cotangents = scan_op(*carried, *rows, *operands[start:], **params)
    else:
        # what is differentiated saves what it does without a limit: so the same numbers are added up in the same order
        form = carries, row_of(aval_of(length)), len(own), backwards
        recipe = step.derived(
            ("within", max_bytes, steps, *form),
            lambda: Checkpointed(plan.walk(*form), _Plan.of(*known, steps, whole).walk(*form), max_bytes),
        )
        given_ = *operands[:carries], length, *operands[carries:], *carried, *own
        cotangents = deferred_op(*given_, recipe=recipe)
    for i, ct in zip((*live, *plan.summed, *plan.mapped), cotangents, strict=True):
        if wanted[i]:
            totals[i] = ct if i in plan.summed else plus(previous[i], ct)
    return totals


def pulled_steadily(
    body: ClosedFunction, live: Sequence[int], fixed: Sequence[int], given: Sequence[int], summed: Sequence[int],
    whole: frozenset[int],
) -> tuple[ClosedFunction, list[bool], dict[int, Any], list[bool], frozenset[int]]:  # fmt: skip
    """A body's reverse walk, and the results whose cotangents are `whole` in each step, not in the last one alone."""
    while True:
        walk = body.reverse_walk([*live, *fixed], given, summed, whole)
        fewer = whole.difference([k for k, chosen in zip(live, walk[3], strict=False) if chosen])
        if fewer == whole:
            return *walk, whole
        whole = fewer


@struct()
class _Plan:
    """How a loop is pulled back."""

    body: ClosedFunction
    back: ClosedFunction
    start: int
    live: list[int]
    """The carries that carry a derivative."""
    mapped: list[int]
    summed: list[int]
    """The sequences and the captures whose cotangents are wanted."""
    given: list[int]
    """The results of the body whose cotangents are given: those of the live carries, and others."""
    saved: list[int]
    read: list[int]
    """The carries and values, and the sequences, that the reverse walk needs."""
    values: int
    """How many values there are, which are the last of these, and the last parameters of the reverse walk."""
    whole: frozenset[int]
    """The results in whose cotangents a zero is a number like others."""

    @classmethod
    def of(
        cls, body: ClosedFunction, carries: int, sequences: int, live: list[int], fixed: list[int], given: list[int],
        steps: int | None, whole: frozenset[int],
    ) -> _Plan:  # fmt: skip
        """The plan for the derivatives named."""
        start = carries + sequences
        mapped, summed = [i for i in fixed if i < start], [i for i in fixed if i >= start]
        back, _, of, _, whole = pulled_steadily(body, live, [*summed, *mapped], given, summed, whole)
        numbers = {id(of[id(x)]): carries + n for n, x in enumerate(values_of(unsaved(body))) if id(x) in of}
        kept = [body.parameters[k] for k in range(carries) if back.uses(k)]
        values = worth_saving(back, set(numbers), back.parameters[carries:start], steps, kept)
        if values:
            back = ClosedFunction(back.trace, [*back.parameters, *values], back.results)
        # a carry of which only the shape counts is not saved: its cotangent has the same
        back = back.referring(range(start, len(body.parameters) + len(given)))
        saved = [*[k for k in range(carries) if back.uses(k)], *[numbers[id(x)] for x in values]]
        read = [i for i in range(carries, start) if back.uses(i)]
        return cls(body, back, start, live, mapped, summed, given, saved, read, len(values), whole)

    def walk(self, carries: int, number: Aval, own: int, backwards: bool) -> _Walk:
        """The walk as a function of the numbers of steps, too."""
        body = unsaved(self.body)
        numbered = body.derived(("numbered", number), lambda: _numbered(body, carries, number))
        keeping = saving(numbered, carries, self.saved) if self.saved else None
        ends, read = (len(self.live) + len(self.summed), own), [i - carries for i in self.read]
        step = self.step(Aval((None, *(number.shape or ())), number.dtype))
        return _Walk(keeping, carries, self.start - carries + 1, step, ends, read, backwards)

    def step(self, length: Aval) -> ClosedFunction:
        """The body of the scan."""
        parts = self.live, self.mapped, self.summed, self.given, self.saved
        key = ("step", *map(tuple, parts), self.whole, row_of(length))
        return self.body.derived(key, lambda: self._step(length))

    def _step(self, length: Aval) -> ClosedFunction:
        count, live = len(self.body.parameters), len(self.live)
        cts, sums = count, count + len(self.given)
        # which parameter of the reverse walk each parameter of the step is; None: not one of them
        order: list[int | None] = [*range(cts, cts + live), *range(sums, sums + len(self.summed)), None]
        known = [p.aval for p in self.back.parameters]
        order += [*self.read, *self.saved[: len(self.saved) - self.values]]
        order += [*range(len(known) - self.values, len(known)), *range(cts + live, sums)]
        order += range(self.start, count)

        def function(body: Any, values: Sequence[Any]) -> list[Any]:
            of = {i: x for i, x in zip(order, values, strict=True) if i is not None}
            return self.back.inline(body, [of.get(i) for i in range(len(known))])

        return build([row_of(length) if i is None else known[i] for i in order], function)


def _numbered(body: ClosedFunction, carries: int, number: Aval) -> ClosedFunction:
    """A body that is given the number of its step too, as the first row."""
    first = body.trace.placeholder(number)
    return ClosedFunction(
        body.trace, [*body.parameters[:carries], first, *body.parameters[carries:]], body.results, body.nodes
    )


class _Walk(Recipe):
    """``(carries, numbers of steps, sequences, captures, what the walk starts with) -> cotangents``, with all states.

    `keeping` is the body that gives what the walk needs of each step behind its carries, `step` a step of the walk
    back. `ends` says how many values the walk carries, and how many sequences it is given; `read` which sequences of
    the loop it reads.
    """

    def __init__(
        self, keeping: ClosedFunction | None, carries: int, sequences: int, step: ClosedFunction, ends: tuple[int, int],
        read: Sequence[int], backwards: bool,
    ) -> None:  # fmt: skip
        super().__init__()
        self.keeping, self.step, self.ends, self.read = keeping, step, ends, read
        self.ahead: dict[str, Any] = {"carries": carries, "sequences": sequences, "backwards": backwards}

    def avals(self, given: Sequence[Aval]) -> tuple[Aval, ...]:
        return tuple([plain(r.aval) for r in self.closed_function(given).results])

    def made(self, given: Sequence[Aval]) -> ClosedFunction:
        return build(given, lambda _, values: self._pulled(values))

    def order(self, count: int) -> Sequence[int]:
        start, stop = self.ahead["carries"] + self.ahead["sequences"], count - sum(self.ends)
        return [*range(start, stop), *range(stop, count)[::-1], *range(start)[::-1]]

    def _pulled(self, values: Sequence[Any]) -> list[Any]:
        (carried, own), carries = self.ends, self.ahead["carries"]
        start, stop = carries + self.ahead["sequences"], len(values) - own
        columns, captures = values[carries:start], values[start : stop - carried]
        kept: Sequence[Any] = ()
        if self.keeping is not None:
            kept = scan_op(*values[: stop - carried], body=self.keeping, **self.ahead)[carries:]
        rows = [columns[0], *[columns[1 + i] for i in self.read], *kept, *values[stop:]]
        back = {"carries": carried, "sequences": len(rows), "backwards": not self.ahead["backwards"]}
        return list(scan_op(*values[stop - carried : stop], *rows, *captures, body=self.step, **back))


# ---- forward mode -------------------------------------------------------------------------


@struct()
class PushedLoop:
    """A loop that computes tangents beside its carries."""

    body: ClosedFunction
    operands: list[Any]
    live: list[int]
    summed: list[int]
    rows: list[int]


def pushed_loop(
    body: ClosedFunction, carries: int, sequences: int, tangents: Sequence[Any], operands: Sequence[Any]
) -> PushedLoop:
    """The loop that carries tangents too, where there are any."""
    start = carries + sequences
    have = [i for i in differentiable(operands) if tangents[i] is not None]
    fixed = [i for i in have if i >= carries]
    live = grown(set(have) - set(fixed), lambda s: {r for r in body.reached([*s, *fixed]) if r < carries})
    mapped, summed = [i for i in fixed if i < start], [i for i in fixed if i >= start]
    rows = sorted(r for r in body.reached([*live, *fixed]) if r >= carries)
    whole, fewer = None, whole_of(tangents, have)
    while fewer != whole:
        whole = fewer
        pushed, _, chosen = body.forward_walk([*live, *mapped, *summed], [*live, *rows], whole)
        fewer = whole.difference([k for k, c in zip(live, chosen, strict=False) if c])
    count = len(body.parameters)
    own, more = pushed.parameters[:count], pushed.parameters[count:]
    values = [zeros_like(operands[i]) if tangents[i] is None else tangents[i] for i in (*live, *mapped, *summed)]
    a, b = len(live), len(live) + len(mapped)
    order = [
        (own[:carries], operands[:carries]),
        (more[:a], values[:a]),
        (own[carries:start], operands[carries:start]),
        (more[a:b], values[a:b]),
        (own[start:], operands[start:]),
        (more[b:], values[b:]),
    ]
    key = ("pushed", tuple(live), tuple(mapped), tuple(summed), whole)
    results = [*pushed.results[:carries], *pushed.results[len(body.results) :]]
    ahead = body.derived(key, lambda: ClosedFunction(pushed.trace, [p for ps, _ in order for p in ps], results))
    return PushedLoop(ahead, [x for _, xs in order for x in xs], live, summed, rows)


def _scan_jvp(
    tangents: Sequence[Any],
    outs: Any,
    *operands: Any,
    body: ClosedFunction,
    carries: int,
    sequences: int,
    backwards: bool = False,
    max_bytes: int | None = None,
) -> list[Any]:
    push = pushed_loop(body, carries, sequences, tangents, operands)
    count = carries + len(push.live)
    columns = sequences + sum(
        tangents[i] is not None for i in differentiable(operands) if carries <= i < carries + sequences
    )
    params = {"carries": count, "sequences": columns, "backwards": backwards, **limited("scan", max_bytes)}
    pushed = scan_op(*push.operands, body=push.body, **params)
    results: list[Any] = [Zero(aval_of(x)) for x in outs]
    for r, t in zip((*push.live, *push.rows), pushed[carries:], strict=True):
        results[r] = t
    return results


# ---- batches ---------------------------------------------------------------------------------------------------------


def swapped(op: Op, x: Any) -> Operand:
    """Batch axis and axis of iterations exchanged."""
    return transpose(x, [1, 0, *range(2, logical_rank(op, x, False))])


def batch_aval(x: Any, flag: bool, carried: bool, size: int) -> Aval:
    """The aval that a carry has once it has got the batch axis."""
    aval = aval_of(x)
    if carried and not flag:
        return Aval(None if aval.shape is None else (size, *aval.shape), aval.dtype)
    return Aval(aval.shape, aval.dtype)


def carried_flags(
    body: ClosedFunction, flags: Sequence[bool], inputs: Sequence[Any], rest: Sequence[Aval], count: int, size: int
) -> tuple[list[bool], list[Aval], list[bool]]:
    """Which carries have the batch axis (since they start with it, or get it), all avals, which results have it."""
    carried = list(flags[:count])
    while True:
        state = [batch_aval(x, f, c, size) for x, f, c in zip(inputs, flags, carried, strict=False)]
        found = body.batched([*carried, *flags[count:]], [*state, *rest], size)[1]
        wider = [a or b for a, b in zip(carried, found, strict=False)]
        if wider == carried:
            return carried, [*state, *rest], found
        carried = wider


def materialized(inputs: Sequence[Any], flags: Sequence[bool], carried: Sequence[bool], size: int) -> list[Any]:
    """The carries that a loop over batches starts with."""
    return [materialize(x, size) if c and not f else x for x, f, c in zip(inputs, flags, carried, strict=False)]


def _scan_batch(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Batches:
    body, carries = params["body"], params["carries"]
    start = carries + params["sequences"]
    columns = [swapped(op, x) if f else x for x, f in zip(inputs[carries:start], flags[carries:start], strict=True)]
    rest = [*[row_of(aval_of(c)) for c in columns], *map(aval_of, inputs[start:])]
    carried, avals, found = carried_flags(body, flags, inputs, rest, carries, size)
    full = [*carried, *found[carries:]]
    inner = body.batched([*carried, *flags[carries:]], avals, size, full)[0]
    first = materialized(inputs, flags, carried, size)
    outs = op(*first, *columns, *inputs[start:], **{**params, "body": inner})
    outs = [*outs[:carries], *[swapped(op, o) if f else o for o, f in zip(outs[carries:], full[carries:], strict=True)]]
    return [o if f else NotBatched(o) for o, f in zip(outs, full, strict=True)]


scan_op = general(
    "scan_op",
    scan_kernel,
    _scan_abstract,
    vjp=Together(_scan_vjp, order_of_sums),
    jvp=PushedTogether(_scan_jvp),
    batch=_scan_batch,
    fix=lambda inputs, arrays, p: with_fixed(inputs, arrays, p, ("body",), p["carries"] + p["sequences"], 0),
    unroll=lambda call, operands, params: unrolled_scan(call, operands, **params),
    merge=_scan_merge,
    sparsity=scanned,
    type="Scan",
    args=("*operands",),
    multi=True,
    doc="A body called for each row of some sequences, with values carried from call to call.",
)
