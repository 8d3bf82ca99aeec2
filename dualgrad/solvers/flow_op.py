"""Ordinary differential equations as an op: `flow_op`, solved by `scipy.integrate.solve_ivp`.

The op solves one system after another, its *stages*, over the same points of time. Each runs forwards or backwards, and
sees the solutions of those before it, at every time, by their dense output. With that the op is closed under
derivatives:

- pushed forward, each stage carries tangents beside its states (forward sensitivities);
- pulled back, the stages are solved again, and each is followed, in the other direction, by the stage of its adjoint
  states, which takes a jump at each time that a cotangent is given for. The trajectory is looked up, never integrated
  backwards, so that systems that forget their past (dissipative, stiff) stay stable.

Source: the adjoint of Pontryagin et al., *The Mathematical Theory of Optimal Processes* (1962), ch. 1; with jumps at
observations as in Chen, Rubanova, Bettencourt and Duvenaud, "Neural Ordinary Differential Equations" (2018), app. C;
with the trajectory from dense output as in Hindmarsh et al., "SUNDIALS" (2005), sec. 2.6 (CVODES).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.sparse import csr_array

from dualgrad.solvers.closures import static_shape
from dualgrad.solvers.linear_op import one_by_one
from dualgrad.solvers.matrices import compiled_blocks
from dualgrad.solvers.trajectories import Trajectory
from engine.closed.function import ClosedFunction, build, plain
from engine.control.cond import plus
from engine.control.scan_loop import swapped
from engine.core.aval import Aval
from engine.core.batching import Batched, Batches, NotBatched, batch_level, materialize, unbatch
from engine.core.kinds import PushedTogether, Together, general
from engine.core.op import Op
from engine.core.value import Zero, aval_of, differentiable
from engine.ops.creation import zeros_like
from engine.ops.joining import concat
from engine.ops.reduce import reduce_sum
from engine.ops.shape import reshape
from engine.ops.slicing import getitem
from engine.runtime.errors import ConvergenceError, InvalidArgumentError

_DENSE = 100
"""Unknowns up to which an implicit method gets its Jacobian as a dense matrix."""


@dataclass(frozen=True)
class Stages:
    """The operands of a `flow_op`: times, states, jumps of some states, parameters.

    Attributes
    ----------
    counts : tuple of int
        Number of states of each stage.
    directions : tuple of int
        1 or -1 for each stage: which way it runs from knot to knot.
    jumps : tuple of int
        The states to which something is added at each time.
    options : tuple of (str, value)
        For `solve_ivp`.
    """

    counts: tuple[int, ...]
    directions: tuple[int, ...]
    jumps: tuple[int, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()

    def __repr__(self) -> str:
        limit = dict(self.options).get("max_bytes")
        return f"<stages of {self.counts} states>" if limit is None else f"<trajectories within {limit!r}>"

    @property
    def tells(self) -> bool:
        """Whether `explain` shows it."""
        return len(self.counts) > 1 and "max_bytes" in dict(self.options)

    @property
    def states(self) -> int:
        """Number of states."""
        return sum(self.counts)

    @property
    def first_param(self) -> int:
        """Index of the first parameter among the operands."""
        return 1 + self.states + len(self.jumps)

    def of(self, k: int) -> range:
        """The numbers of the states of a stage."""
        first = sum(self.counts[:k])
        return range(first, first + self.counts[k])

    def stage_of(self, state: int) -> int:
        """The stage that a state belongs to."""
        return next(k for k in range(len(self.counts)) if state in self.of(k))

    def seen(self, k: int) -> int:
        """How many states stage k sees: its own and those before."""
        return self.of(k).stop

    def start(self, k: int, length: int) -> int:
        """The number of the time that a stage starts from."""
        return 0 if self.directions[k] > 0 else length - 1


# ---- solving ---------------------------------------------------------------------------------------------------------


class _Solved:
    """A stage that has been solved: its pieces, between the times at which something jumps."""

    def __init__(self, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[Any]) -> None:
        self.shapes, self.dtypes = shapes, dtypes
        self.cuts = np.cumsum([0, *[int(np.prod(s, dtype=int)) for s in shapes]]).tolist()
        self.pieces: list[tuple[float, float, Callable[[float], np.ndarray]]] = []

    def split(self, x: np.ndarray) -> list[np.ndarray]:
        """The states in a vector."""
        if len(self.shapes) == 1 and self.shapes[0] == x.shape and self.dtypes[0] == x.dtype:
            return [x]
        parts = zip(self.cuts[:-1], self.cuts[1:], self.shapes, self.dtypes, strict=True)
        return [np.asarray(x[a:b].reshape(shape), dtype) for a, b, shape, dtype in parts]

    def piece(self, middle: float) -> Callable[[float], np.ndarray]:
        """The solution around a time."""
        return next(solution for low, high, solution in self.pieces if low <= middle <= high)


def _joined(arrays: Sequence[np.ndarray]) -> np.ndarray:
    if len(arrays) == 1 and arrays[0].ndim == 1 and arrays[0].dtype == np.float64:
        return arrays[0]
    return np.concatenate([np.zeros(0), *[np.reshape(a, -1) for a in arrays]]).astype(np.float64, copy=False)


def _check_times(times: np.ndarray) -> None:
    steps = np.diff(times)
    if times.ndim != 1 or not times.size or not np.all(np.isfinite(times)):
        raise InvalidArgumentError(f"solve_ivp: the times must be a vector of finite numbers; got {times!r}")
    if not (np.all(steps >= 0) or np.all(steps <= 0)):
        raise InvalidArgumentError("solve_ivp: the times must rise or fall from the first to the last one")


def _kernel(times: Any, *operands: Any, bodies: Sequence[ClosedFunction], stages: Stages) -> tuple[Any, ...]:
    times = np.asarray(times, np.float64)
    _check_times(times)
    n, count = len(times), stages.states
    params = operands[stages.first_param - 1 :]
    jumps = dict(zip(stages.jumps, operands[count : count + len(stages.jumps)], strict=True))
    outs = [np.empty((n, *x.shape), x.dtype) for x in operands[:count]]
    breaks: set[int] = {0, n - 1}
    solved: list[_Solved] = []
    for k in range(len(bodies)):
        own = stages.of(k)
        breaks |= {i for s in own if s in jumps for i in range(n) if np.any(jumps[s][i])}
        stage = _Solved([operands[s].shape for s in own], [operands[s].dtype for s in own])
        knots = sorted(breaks)[:: stages.directions[k]]
        x = _joined([operands[s] for s in own])
        _store(outs, own, stage, knots[0], x)
        for a, b in pairwise(knots):
            x = x + _joined([jumps[s][a] if s in jumps else np.zeros(operands[s].shape) for s in own])
            between = range(a, b, stages.directions[k])[1:]
            x = _piece(stage, solved, bodies[k], params, times, (a, *between, b), x, stages, outs, own, len(knots) - 1)
        solved.append(stage)
    return tuple(outs)


def _store(outs: Sequence[np.ndarray], own: range, stage: _Solved, i: int, x: np.ndarray) -> None:
    for s, part in zip(own, stage.split(x), strict=True):
        outs[s][i] = part


def _piece(
    stage: _Solved, before: Sequence[_Solved], body: ClosedFunction, params: Sequence[Any], times: np.ndarray,
    knots: Sequence[int], x: np.ndarray, stages: Stages, outs: Sequence[np.ndarray], own: range, pieces: int,
) -> np.ndarray:  # fmt: skip
    """Go from one knot to another, through those between; keep the solution there and everywhere."""
    t0, t1 = times[knots[0]], times[knots[-1]]
    if t0 == t1:
        for i in knots[1:]:
            _store(outs, own, stage, i, x)
        return x
    others = [(s, s.piece(0.5 * (t0 + t1))) for s in before]
    dtype = body.parameters[0].aval.dtype.numpy

    def values(t: float, x: np.ndarray) -> list[Any]:
        seen = [part for s, solution in others for part in s.split(solution(t))]
        return [np.asarray(t, dtype), *seen, *stage.split(x), *params]

    def fun(t: float, x: np.ndarray) -> np.ndarray:
        return _joined(body.run(*values(t, x)))

    options = dict(stages.options)
    if options.get("method") in ("Radau", "BDF", "LSODA"):
        first = 1 + sum(len(s.shapes) for s in before)
        block = compiled_blocks(body, range(first, first + len(own)))
        dense = len(x) <= _DENSE or options["method"] == "LSODA"
        options["jac"] = lambda t, x: (np.array if dense else csr_array)(block.run(*values(t, x))[0])
    wanted, place = np.unique(times[list(knots)], return_inverse=True)
    order = slice(None) if t1 > t0 else slice(None, None, -1)
    is_seen = len(before) + 1 < len(stages.counts)
    limit, kept = options.pop("max_bytes", None), None
    if limit is not None and is_seen:
        kept = Trajectory(options["method"], limit // (pieces * (len(stages.counts) - 1)), limit)
        options["method"] = kept.solver
    found = solved(fun, (t0, t1), x, t_eval=wanted[order], dense_output=is_seen and kept is None, **options)
    values_at = found.y[:, order]
    for i, j in zip(knots[1:], place[1:], strict=True):
        _store(outs, own, stage, i, values_at[:, j])
    if is_seen:
        stage.pieces.append((min(t0, t1), max(t0, t1), found.sol if kept is None else kept.solution(t1)))
    return values_at[:, place[-1]]


def solved(fun: Callable[..., np.ndarray], span: Sequence[float], x: np.ndarray, **options: Any) -> Any:
    """The result of SciPy's `solve_ivp`; raises if it gives up, or cannot start (NaN: SciPy would not return)."""
    begun = False

    def failed(why: str) -> ConvergenceError:
        return ConvergenceError(f"solve_ivp: {why} It stopped between t = {span[0]} and {span[1]}")

    def watched(t: float, x: np.ndarray) -> np.ndarray:
        nonlocal begun
        slope = fun(t, x)
        if not (begun or np.isfinite(slope).all()):
            raise failed("The slope is not finite at the start.")
        begun = True
        return slope

    try:
        found = solve_ivp(watched, span, x, **options)
    except ValueError as error:
        raise failed(str(error)) from error
    if found.status < 0 or np.isnan(found.y).any():
        raise failed(found.message if found.status < 0 else "The state became NaN.")
    return found


def _abstract(times: Aval, *operands: Aval, bodies: Sequence[ClosedFunction], stages: Stages) -> tuple[Aval, ...]:
    length = None if times.shape is None else times.shape[0]
    return tuple([Aval(None if a.shape is None else (length, *a.shape), a.dtype) for a in operands[: stages.states]])


# ---- derivatives with respect to the times ---------------------------------------------------------------------------


def _slopes(
    arrive: bool, times: Any, operands: Sequence[Any], outs: Sequence[Any], bodies: Sequence[ClosedFunction],
    stages: Stages,
) -> list[Any]:  # fmt: skip
    """The right-hand sides at all times, of each state, on the side where its stage arrives or departs."""
    size = static_shape(times, "solve_ivp: the times")[0]
    jumps = dict(zip(stages.jumps, operands[stages.states : stages.first_param - 1], strict=True))
    found: list[Any] = []
    for k, body in enumerate(bodies):
        early = (stages.directions[k] > 0) == arrive
        seen = []
        for s in range(stages.seen(k)):
            before = stages.directions[stages.stage_of(s)] > 0
            seen.append(outs[s] + jumps[s] if s in jumps and before != early else outs[s])
        with batch_level() as level:
            batched = [Batched(x, level, size) for x in (times, *seen)]
            results = body.inline(None, [*batched, *operands[stages.first_param - 1 :]])
            found += [unbatch(r, level, size) for r in results]
    return found


def _column(t: Any, like: Any) -> Any:
    """One number per time, beside what has a row per time."""
    return reshape(t, [-1, *[1] * (len(aval_of(like).shape or ()) - 1)])


# ---- forward mode ----------------------------------------------------------------------------------------------------


def _pushed_body(body: ClosedFunction, seen: int, counts: Sequence[int], live: Sequence[int]) -> ClosedFunction:
    """A stage that computes tangents too: ``(t, states and their tangents stage by stage, params, their tangents)``."""

    def make() -> ClosedFunction:
        first = 1 + seen
        given = [*range(1, first), *[first + i for i in live]]
        pushed = body.pushforward(given, list(range(len(body.results))))[0]
        avals = [p.aval for p in body.parameters]
        taken, where = [avals[0]], []
        s = 1
        for count in counts:
            own = list(range(s, s + count))
            where += [*own, *[-i for i in own]]
            taken += [avals[i] for i in (*own, *own)]
            s += count
        taken += [*avals[first:], *[avals[first + i] for i in live]]

        def function(inner: Any, values: Sequence[Any]) -> list[Any]:
            of = dict(zip(where, values[1:], strict=False))
            params, tangents = values[1 + 2 * seen :][: len(avals) - first], values[len(values) - len(live) :]
            states = [of[i] for i in range(1, first)]
            more = [*[of[-i] for i in range(1, first)], *(tangents if live else ())]
            return pushed.inline(inner, [values[0], *states, *params, *more])

        return build([plain(a) for a in taken], function)

    return body.derived(("flow", tuple(counts), tuple(live)), make)


def _jvp(
    tangents: Sequence[Any], outs: Any, times: Any, *operands: Any, bodies: Sequence[ClosedFunction], stages: Stages
) -> list[Any]:
    n, count, moved = len(operands), stages.states, tangents[0]
    given = list(tangents[1:])
    first = stages.first_param - 1
    live = [i for i in range(n - first) if given[first + i] is not None]
    filled = [zeros_like(x) if t is None else t for t, x in zip(given, operands[:count], strict=False)]
    start_of = dict(enumerate(filled))
    jump_of: dict[int, Any] = {}
    for s, x, t in zip(stages.jumps, operands[count:first], given[count:first], strict=True):
        jump_of[s] = zeros_like(x) if t is None else t
    arrive: list[Any] = []
    if moved is not None:
        arrive, depart = (_slopes(side, times, operands, outs, bodies, stages) for side in (True, False))
        length = static_shape(times, "solve_ivp: the times")[0]
        for s in range(count):
            at = stages.start(stages.stage_of(s), length)
            if not stages.jumps:
                # as smooth at all times as between them: what starts later has gone less far
                start_of[s] = start_of[s] - getitem(depart[s], at) * getitem(moved, at)
                continue
            more = (_without_row(arrive[s], at, length) - depart[s]) * _column(moved, arrive[s])
            jump_of[s] = more if s not in jump_of else jump_of[s] + more
    new: list[Any] = []
    jumps: list[tuple[int, Any]] = []
    of_jump = dict(zip(stages.jumps, operands[count:first], strict=True))
    tangent_at: dict[int, int] = {}
    for k in range(len(bodies)):
        own = stages.of(k)
        for s in own:
            if s in of_jump:
                jumps.append((len(new), of_jump[s]))
            new.append(operands[s])
        for s in own:
            if s in jump_of:
                jumps.append((len(new), jump_of[s]))
            tangent_at[s] = len(new)
            new.append(start_of[s])
    pushed = [_pushed_body(body, stages.seen(k), stages.counts[: k + 1], live) for k, body in enumerate(bodies)]
    inner = Stages(
        tuple([2 * c for c in stages.counts]), stages.directions, tuple([s for s, _ in jumps]), stages.options
    )
    params = [*operands[first:], *[given[first + i] for i in live]]
    found = flow_op(times, *new, *[j for _, j in jumps], *params, bodies=tuple(pushed), stages=inner)
    results = []
    for s in range(count):
        tangent = found[tangent_at[s]]
        if moved is not None:
            at = stages.start(stages.stage_of(s), length)
            passed = arrive[s] * _column(moved, arrive[s])
            tangent = tangent + (_without_row(passed, at, length) if stages.jumps else passed)
        results.append(tangent)
    return results


def _without_row(x: Any, i: int, n: int) -> Any:
    """`x` with zeros for one row, the first or the last one."""
    rest = getitem(x, slice(1, n) if i == 0 else slice(0, n - 1))
    zero = zeros_like(getitem(x, slice(i, i + 1)))
    return concat([zero, rest] if i == 0 else [rest, zero], 0)


# ---- reverse mode ----------------------------------------------------------------------------------------------------


def _adjoint_body(
    bodies: Sequence[ClosedFunction], stages: Stages, k: int, wanted: Sequence[int], avals: Sequence[Aval]
) -> ClosedFunction:
    """The right-hand side of the adjoint states of stage k, behind those of the later stages.

    With ``(t, states, adjoint states of the last stage, ..., of stage k, params)``; for the first stage the sums of
    the cotangents of the parameters `wanted` are states too.
    """
    last = len(bodies) - 1
    count = stages.states
    first = 1 + count
    adjoint = [s for j in range(last, k - 1, -1) for s in stages.of(j)]

    def make() -> ClosedFunction:
        extra = list(wanted) if k == 0 else []
        taken = [avals[0], *avals[1:first], *[avals[1 + s] for s in adjoint], *[avals[first + i] for i in extra]]
        taken += avals[first:]

        def function(inner: Any, values: Sequence[Any]) -> list[Any]:
            states = values[1:first]
            of = dict(zip(adjoint, values[first:], strict=False))
            params = values[len(values) - len(avals) + first :]
            totals: list[Any] = [None] * (len(stages.of(k)) + len(extra))
            for j in range(k, last + 1):
                seen = stages.seen(j)
                asked = [*[1 + s for s in stages.of(k)], *[1 + seen + i for i in extra]]
                pulled, connected = bodies[j].pullback(asked, list(range(len(bodies[j].results))))
                given = [values[0], *states[:seen], *params, *[of[s] for s in stages.of(j)]]
                for i, (part, is_connected) in enumerate(zip(pulled.inline(inner, given), connected, strict=True)):
                    if is_connected:
                        # minus the sign of this stage, times that of the other one
                        part = part if stages.directions[j] != stages.directions[k] else -part
                        totals[i] = part if totals[i] is None else totals[i] + part
            like = [*[states[s] for s in stages.of(k)], *[params[i] for i in extra]]
            return [zeros_like(x) if t is None else t for t, x in zip(totals, like, strict=True)]

        return build([plain(a) for a in taken], function)

    key = ("flow adjoint", tuple([id(b) for b in bodies]), stages, k, tuple(wanted))
    # with the other stages, whose identities the key holds
    return bodies[k].derived(key, lambda: (make(), bodies))[0]


def _vjp(
    wanted: Sequence[bool], previous: Sequence[Any], cts: Any, outs: Any, times: Any, *operands: Any,
    bodies: Sequence[ClosedFunction], stages: Stages,
) -> list[Any]:  # fmt: skip
    count, last, n = stages.states, len(bodies) - 1, static_shape(times, "solve_ivp: the times")[0]
    first = stages.first_param - 1
    params = operands[first:]
    asked = [i for i in differentiable(params) if wanted[1 + first + i]]
    avals = [aval_of(times), *map(aval_of, operands[:count]), *map(aval_of, params)]
    avals[0] = Aval((), avals[0].dtype)
    order = range(last, -1, -1)
    new, jumps = list(operands[:count]), list(zip(stages.jumps, operands[count:first], strict=True))
    back, counts, place = [], [], {}
    for k in order:
        back.append(_adjoint_body(bodies, stages, k, asked, avals))
        own = stages.of(k)
        for s in own:
            place[s] = len(new)
            jumps.append((len(new), cts[s]))
            new.append(zeros_like(operands[s]))
        extra = [zeros_like(params[i]) for i in asked] if k == 0 else []
        counts.append(len(own) + len(extra))
        sums = len(new)
        new += extra
    inner = Stages(
        (*stages.counts, *counts),
        (*stages.directions, *[-stages.directions[k] for k in order]),
        tuple([s for s, _ in jumps]),
        stages.options,
    )
    found = flow_op(times, *new, *[j for _, j in jumps], *params, bodies=(*bodies, *back), stages=inner)
    totals: list[Any] = [Zero(aval_of(x)) for x in (times, *operands)]

    def give(i: int, ct: Any) -> None:
        if wanted[i]:
            totals[i] = plus(previous[i], ct)

    for s in range(count):
        at = stages.start(stages.stage_of(s), n)
        give(1 + s, getitem(found[place[s]], at) + getitem(cts[s], at))
    for j, s in enumerate(stages.jumps):
        give(1 + count + j, found[place[s]])
    end = stages.start(0, n)
    for j, i in enumerate(asked):
        give(1 + first + i, getitem(found[sums + j], end))
    if wanted[0]:
        arrive, depart = (_slopes(side, times, operands, outs, bodies, stages) for side in (True, False))
        ct = None
        for s in range(count):
            at = stages.start(stages.stage_of(s), n)
            passed = _without_row(cts[s] * arrive[s], at, n) - found[place[s]] * depart[s]
            passed = passed + _without_row(found[place[s]] * arrive[s], at, n)
            part = reduce_sum(reshape(passed, [n, -1]), 1)
            ct = part if ct is None else ct + part
        give(0, ct)
    return totals


# ---- batches ---------------------------------------------------------------------------------------------------------


def _batch(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Batches:
    """Solve for all elements as one system, with steps that suit them all; one by one if their times differ."""
    stages, bodies = params["stages"], params["bodies"]
    if flags[0]:
        return one_by_one(op, size, flags, inputs, params)
    count, first = stages.states, stages.first_param
    carried = list(flags[1 : 1 + count])
    for j, s in enumerate(stages.jumps):
        carried[s] = carried[s] or flags[1 + count + j]
    logical = [aval_of(x) for x in inputs]
    time = Aval((), logical[0].dtype)
    rest = [Aval(a.shape, a.dtype) for a in logical[first:]]

    def aval(s: int) -> Aval:
        a = logical[1 + s]
        return Aval((size, *(a.shape or ())), a.dtype) if carried[s] and not flags[1 + s] else Aval(a.shape, a.dtype)

    def of_stage(k: int) -> tuple[list[bool], list[Aval]]:
        seen = stages.seen(k)
        return [False, *carried[:seen], *flags[first:]], [time, *[aval(s) for s in range(seen)], *rest]

    changed = True
    while changed:
        changed = False
        for k, body in enumerate(bodies):
            for s, found in zip(stages.of(k), body.batched(*of_stage(k), size)[1], strict=True):
                if found and not carried[s]:
                    carried[s] = changed = True
    inner = [body.batched(*of_stage(k), size, [carried[s] for s in stages.of(k)])[0] for k, body in enumerate(bodies)]
    states = [
        materialize(x, size) if c and not f else x for x, f, c in zip(inputs[1:], flags[1:], carried, strict=False)
    ]
    jumps = []
    for j, s in enumerate(stages.jumps):
        x = inputs[1 + count + j]
        if carried[s]:
            x = x if flags[1 + count + j] else materialize(x, size)
            x = swapped(op, x)
        jumps.append(x)
    outs = op(inputs[0], *states, *jumps, *inputs[first:], bodies=tuple(inner), stages=stages)
    return [swapped(op, o) if c else NotBatched(o) for o, c in zip(outs, carried, strict=True)]


flow_op = general(
    "flow_op",
    _kernel,
    _abstract,
    vjp=Together(_vjp),
    jvp=PushedTogether(_jvp),
    batch=_batch,
    type="OdeSolve",
    args=("times", "*operands"),
    multi=True,
    doc="The solutions of ordinary differential equations, stage after stage, at some times.",
)
