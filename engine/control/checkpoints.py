"""The reverse walk of a loop within a memory limit: few states are kept, and the steps between are computed again.

A loop is pulled back by running through all its steps from the last to the first, for which each step's state is
needed (`engine.control.scan_loop`). Under a limit a stretch whose states fit is run once more with all of them kept,
and pulled back. A longer one is cut: the states at the cuts are kept until the later parts have been pulled back.
Where to cut so that fewest steps are computed again is Griewank and Walther's binomial schedule.

A derivative of that walk is made of further *sweeps* over the same steps, each of which needs what the earlier ones did
in a step: pulled back, there are four. At a cut there are the states of all earlier sweeps then, and a stretch runs
through these once more. A sweep through the cut parts that is not the last one runs through each part in the same way.
Every step does the same with the same numbers as without a limit, so no bit changes.

Source: Griewank and Walther, "Algorithm 799: revolve", ACM Trans. Math. Software 26 (2000); *Evaluating Derivatives*,
2nd ed., ch. 12.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from operator import is_
from typing import Any

import numpy as np

from engine.closed.function import ClosedFunction
from engine.control.deferred import Recipe
from engine.control.loop_kernels import scan_kernel
from engine.core.aval import Aval
from engine.core.expand_axes import repeat_leading, sum_axis
from engine.core.op import Node
from engine.core.value import aval_of
from engine.ops.shape import transpose_op
from engine.runtime.cache import Cache
from engine.runtime.errors import InvalidArgumentError, ResourceExhaustedError, UnimplementedError

_COPIES = 2
"""How often a stretch's states are there: where Python runs the steps they are stacked once all are known."""
_SPARE = 16
"""The part of the limit that is left for all else: numbers of the steps, results of one."""


def cut(steps: int, states: int) -> int:
    """Where to cut so many steps in two, if so many states may be kept besides the one at hand; 0: all fit.

    With s states, none of C(s + r, s) steps is run more than r times before the one in which it is pulled back.
    """
    if steps <= states + 1:
        return 0
    if states == 1:
        return steps - 1
    most = _repetitions(steps, states)
    return min(math.comb(states + most - 1, states), steps - math.comb(states + most - 2, states - 1))


def _repetitions(steps: int, states: int) -> int:
    found = 0
    while math.comb(states + found, states) < steps:
        found += 1
    return found


def limited(name: str, max_bytes: Any) -> dict[str, Any]:
    """The parameter of a loop whose gradient keeps within a limit, a positive integer; empty if it is None."""
    if max_bytes is None:
        return {}
    if isinstance(max_bytes, (bool, np.bool_)) or not isinstance(max_bytes, (int, np.integer)) or max_bytes < 1:
        raise InvalidArgumentError(
            f"{name}: argument `max_bytes` must be a positive integer or None; got {max_bytes!r}"
        )
    return {"max_bytes": int(max_bytes)}


class Checkpointed(Recipe):
    """Another recipe, made of loops over the same steps, within a limit: a walk of a loop, or a derivative of one.

    Its derivatives and batches, which are those of `whole`, keep the limit, too. A batch that does not is taken in
    parts.
    """

    tells = True

    def __init__(self, of: Recipe, whole: Recipe, max_bytes: int) -> None:
        super().__init__()
        self.of, self.whole, self.max_bytes, self.reads = of, whole, max_bytes, of.reads
        self._sweeps: Cache[Any, Sweeps] = Cache("sweeps of loops", 64, key="shapes, dtypes")
        self.last = ""

    def __repr__(self) -> str:
        """Say what is planned; how many steps there are is known once it has run."""
        return f"<walk of a loop within {self.max_bytes} bytes{self.last}>"

    def avals(self, given: Sequence[Aval]) -> tuple[Aval, ...]:
        """Those of the walk that keeps all states."""
        return self.of.avals(given)

    def closed_function(self, given: Sequence[Aval]) -> ClosedFunction:
        """The walk that keeps all states, which is differentiated and batched."""
        return self.whole.closed_function(given)

    def spliced(self, given: Sequence[Aval]) -> ClosedFunction | None:
        """Nothing: `run` does."""
        return None

    def order(self, count: int) -> Sequence[int]:
        """As in the walk that keeps all states."""
        return self.whole.order(count)

    def within(self, recipe: Recipe) -> Recipe:
        """A derivative or a batch of it within the same limit."""
        return Checkpointed(recipe, recipe, self.max_bytes)

    def run(self, *operands: Any) -> tuple[Any, ...]:
        """The results, stretch by stretch."""
        key = tuple([(np.shape(x), x.dtype) for x in operands])
        sweeps = self._sweeps.get(key)
        if sweeps is None:
            sweeps = self._sweeps.put(key, Sweeps(self.of.closed_function(list(map(aval_of, operands)))))
        flags = getattr(self.of, "flags", ())
        many = next((len(x) for x, flag in zip(operands, flags, strict=False) if flag), 0)
        room = self.max_bytes - self.max_bytes // _SPARE
        if sweeps.fewest * sweeps.state > room:
            if many < 2:
                raise ResourceExhaustedError(
                    f"gradient of a loop: `max_bytes` is {self.max_bytes}, but the fewest to go back with, "
                    f"{sweeps.fewest} states, take {sweeps.fewest * sweeps.state} bytes"
                )
            halves = slice(0, many // 2), slice(many // 2, many)
            each = [
                self.run(*[x[part] if flag else x for x, flag in zip(operands, flags, strict=True)]) for part in halves
            ]
            return tuple([np.concatenate(parts) for parts in zip(*each, strict=True)])
        states = room // sweeps.state - 1
        run = _Run(sweeps, operands)
        found = run.results(states)
        kept, again = min(states + 1, sweeps.steps), run.computed - sweeps.steps * len(sweeps.directions)
        self.last = f": {kept} of {sweeps.steps} states kept, {again} steps computed again"
        return tuple(found)


# ---- sweeps ----------------------------------------------------------------------------------------------------------


class _Loop:
    """A scan among the nodes, or several that are run as one: ``places[id(value)]`` is which of its results it is."""

    def __init__(self, node: Node) -> None:
        self.op, self.params, self.inputs = node.op, node.params, node.inputs
        self.places = {id(x): i for i, x in enumerate(node.outputs)}
        self.avals = [x.aval for x in node.outputs]
        self.level, self.first = 0, 0

    def takes(self, node: Node) -> bool:
        """Take in another scan of the same operands, if they can be one."""
        same = len(node.inputs) == len(self.inputs) and all(map(is_, node.inputs, self.inputs))
        merged = node.op.merge((self.op, self.params), (node.op, node.params)) if same else None  # type: ignore[misc]
        if merged is None:
            return False
        _, self.params, own, others = merged
        avals = dict(zip(own, self.avals, strict=True))
        self.places = {key: own[i] for key, i in self.places.items()}
        self.places |= {id(x): others[i] for i, x in enumerate(node.outputs)}
        avals |= {others[i]: x.aval for i, x in enumerate(node.outputs)}
        self.avals = [avals[i] for i in sorted(avals)]
        return True

    @property
    def carries(self) -> int:
        return self.params["carries"]

    @property
    def columns(self) -> tuple[Any, ...]:
        """The operands of which it takes a row in each step."""
        return self.inputs[self.carries : self.carries + self.params["sequences"]]

    def keeping(self, rows: Sequence[int]) -> dict[str, Any]:
        """Its parameters, with these alone of the results that have a row for each step."""
        body, carries = self.params["body"], self.carries
        results = [*range(carries), *rows]
        made = body.derived(
            ("rows", *rows), lambda: ClosedFunction(body.trace, body.parameters, [body.results[i] for i in results])
        )
        return {**self.params, "body": made}


class Sweeps:
    """Loops over the same steps as sweeps, one after another, each of which needs what those before it did in a step.

    A sweep goes through the steps in its direction. What has a row for each step stays in the stretch at hand, and is
    made again from the states of the earlier sweeps at its ends: states are the carries of a sweep between two steps.

    Attributes
    ----------
    directions : list of bool
        Whether each sweep goes backwards.
    state : int
        Bytes of the states between two steps, or of the rows of a step.
    fewest : int
        How many of these there must be room for.
    steps : int
    """

    def __init__(self, closed: ClosedFunction) -> None:
        self.closed = closed
        self.loops: list[_Loop] = []
        self.directions: list[bool] = []
        # values with a row for each step: along which axis; nodes and loops that make them, in order
        self.axis: dict[int, int] = {}
        self.level: dict[int, int] = {}
        self._rows: list[Node | _Loop] = []
        self.rest: list[Node] = []
        for node in closed.nodes:
            if node.op.kernel is scan_kernel:
                self._add_loop(node)
            elif any(id(x) in self.axis for x in node.inputs):
                self._add_rows(node)
            else:
                self.rest.append(node)
                self.level.update(dict.fromkeys(map(id, node.outputs), self._after(node.inputs)))
        self.steps: int = self.loops[0].columns[0].aval.shape[0] if self.loops else 0
        count = len(self.directions)
        self.plans = {(j, out): self._plan(j, out) for j in range(count) for out in (False, True)}
        states = [a for loop in self.loops if loop.level < count - 1 for a in loop.avals[: loop.carries]]
        rows = sum(map(_bytes, self.plans[count - 1, False][1])) // max(self.steps, 1) if count else 0
        self.state = _COPIES * max(sum(map(_bytes, states)), rows, 1)
        self.fewest = 2 if count < 3 else 2 + self.steps.bit_length()

    def _after(self, values: Sequence[Any]) -> int:
        """The first sweep that may take values: those that have rows are there in a sweep itself."""
        return max([self.level.get(id(x), 0) for x in values], default=0)

    def _add_loop(self, node: Node) -> None:
        if any(isinstance(item, _Loop) and item.takes(node) for item in self._rows):
            loop = next(item for item in self.loops if id(node.outputs[0]) in item.places)
        else:
            loop = _Loop(node)
            backwards = bool(node.params.get("backwards"))
            others = [*node.inputs[: loop.carries], *node.inputs[loop.carries + len(loop.columns) :]]
            if any(id(x) in self.axis for x in others):
                raise _not_row_by_row(node)
            level = self._after([x for x in node.inputs if id(x) not in self.axis])
            for x in loop.columns:
                if id(x) in self.axis:
                    there = self.level[id(x)]
                    level = max(level, there + (self.directions[there] != backwards))
            while level < len(self.directions) and self.directions[level] != backwards:
                level += 1
            if level == len(self.directions):
                self.directions.append(backwards)
            loop.level, loop.first = level, sum(item.carries for item in self.loops if item.level == level)
            self.loops.append(loop)
            self._rows.append(loop)
        for i, x in enumerate(node.outputs):
            self.level[id(x)] = loop.level + (i < loop.carries)
            if i >= loop.carries:
                self.axis[id(x)] = 0

    def _add_rows(self, node: Node) -> None:
        axes = {_axis_behind(node, x, self.axis[id(x)]) for x in node.inputs if id(x) in self.axis}
        axis = axes.pop()
        if axes or axis is None:
            raise _not_row_by_row(node)
        self._rows.append(node)
        for x in node.outputs:
            self.axis[id(x)], self.level[id(x)] = axis, self._after(node.inputs)

    def axis_of(self, x: Any, node: Node) -> int | None:
        """Along which axis an operand of a node that makes rows has rows, if it has any."""
        shape, result = aval_of(x).shape or (), node.outputs[0]
        axis = self.axis[id(result)] - len(result.aval.shape) + len(shape)
        return axis if axis >= 0 and 1 != self.steps == shape[axis] else None

    def _plan(self, sweep: int, out: bool) -> tuple[list[Any], list[Aval]]:
        """The items of a stretch, and what these make with rows; with `out` also the results that the sweep gives."""
        wanted = {id(x) for x in self.closed.results if out and id(x) in self.axis and self.level[id(x)] == sweep}
        items: list[Any] = []
        rows: list[Aval] = []
        for item in reversed(self._rows):
            if isinstance(item, Node):
                if id(item.outputs[0]) in wanted:
                    wanted.update(map(id, item.inputs))
                    items.append(item)
                    rows += [x.aval for x in item.outputs]
                continue
            kept = sorted({i for key, i in item.places.items() if key in wanted and i >= item.carries})
            if item.level == sweep or (kept and item.level < sweep):
                wanted.update(map(id, item.columns))
                items.append((item, item.keeping(kept), kept))
                rows += [item.avals[i] for i in kept]
        return items[::-1], rows


class _Run:
    """The sweeps on their way. `values` are those without rows for each step, and what is given, by identity."""

    def __init__(self, of: Sweeps, operands: Sequence[Any]) -> None:
        self.of, self.computed = of, 0
        self.values = {id(p): x for p, x in zip(of.closed.parameters, operands, strict=True)}
        self._made: dict[int, np.ndarray] = {}

    def results(self, states: int) -> list[Any]:
        """Those of all sweeps, with so many states kept besides the one at hand."""
        of, ends = self.of, list[Any]()
        for sweep in range(len(of.directions)):
            self._evaluate(sweep)
            loops = [loop for loop in of.loops if loop.level == sweep]
            state = [self.values[id(x)] for loop in loops for x in loop.inputs[: loop.carries]]
            last = self._through(sweep, (0, of.steps), ends, state, states, True)
            for loop in loops:
                self.values |= {key: last[loop.first + i] for key, i in loop.places.items() if i < loop.carries}
            ends.append(state)
        self._evaluate(len(of.directions))
        return [(self._made if id(x) in of.axis else self.values)[id(x)] for x in of.closed.results]

    def _evaluate(self, level: int) -> None:
        """Compute, before a sweep, all that is no loop and has no rows."""
        for node in self.of.rest:
            if self.of.level[id(node.outputs[0])] == level:
                self._apply(node, [self.values[id(x)] for x in node.inputs], self.values)

    def _apply(self, node: Node, operands: Sequence[Any], into: dict[int, Any]) -> None:
        found = node.op.kernel(*operands, **node.params)
        into.update(zip(map(id, node.outputs), found if node.op.multi else (found,), strict=True))

    def _through(
        self, sweep: int, span: tuple[int, int], ends: Sequence[Any], state: Any, left: int, out: bool = False
    ) -> Any:
        """Go through steps with a sweep, from its state at one end to that at the other.

        `ends` are the states of the sweeps before it, each at the end where it starts; `left` more may be kept.
        """
        todo = [(span, list(ends), left)]
        while todo:
            span, ends, left = todo.pop()
            parts = self._parts(sweep, *span, left, out)
            if len(parts) == 1:
                state = self._stretch(sweep, span, ends, state, out)
                continue
            at: list[list[Any]] = [[] for _ in parts]
            for earlier, start in enumerate(ends):
                order = range(len(parts))[:: self._sign(earlier)]
                for k in order:
                    at[k].append(start)
                    if k != order[-1]:
                        start = self._through(earlier, parts[k], at[k][:-1], start, left - len(parts) + 1)
            binomial = [max(left - k, 1) for k in range(len(parts))]
            lefts = binomial if sweep == 1 else [left - len(parts) + 1] * len(parts)
            todo += list(zip(parts, at, lefts, strict=True))[:: -self._sign(sweep)]
            # a state goes when the stretch behind it has been gone through
            del at, ends
        return state

    def _sign(self, sweep: int) -> int:
        """Which way a sweep goes, seen from the first one."""
        return 1 if self.of.directions[sweep] == self.of.directions[0] else -1

    def _parts(self, sweep: int, first: int, last: int, left: int, out: bool) -> list[tuple[int, int]]:
        """The stretches that steps are cut into: one if it needs no cut."""
        steps, cuts = last - first, [first]
        if not self.of.plans[sweep, out][1] or steps <= max(left, 0) + 1:
            return [(first, last)]
        if sweep == 0:
            cuts += range(first + left + 1, last, left + 1)
        elif sweep == 1:
            while at := cut(last - cuts[-1], left):
                cuts.append(cuts[-1] + at)
                left = max(left - 1, 1)
        else:
            # in as many levels as are needed, each with as many states
            levels = next(n for n in range(2, left + 3) if (left // n + 1) ** n >= steps or n >= left)
            count = max(left // levels, 1) + 1
            cuts = [first + steps * k // count for k in range(count)]
        return list(pairwise([*cuts, last]))

    def _stretch(self, sweep: int, span: tuple[int, int], ends: Sequence[Any], state: Any, out: bool) -> Any:
        """Run all sweeps up to one through a stretch; the state of that one then."""
        of, made = self.of, dict[int, Any]()
        given, new = [*ends, state], list(state)
        part = slice(*span) if not of.directions[0] else slice(of.steps - span[1], of.steps - span[0])

        def value(x: Any, axis: int | None) -> Any:
            if id(x) in made:
                return made[id(x)]
            whole = self.values[id(x)]
            return whole if axis is None else whole[(slice(None),) * axis + (part,)]

        items = of.plans[sweep, out][0]
        self.computed += (span[1] - span[0]) * len({item[0].level for item in items if type(item) is tuple})
        for item in items:
            if isinstance(item, Node):
                self._apply(item, [value(x, of.axis_of(x, item)) for x in item.inputs], made)
                continue
            loop, params, rows = item
            carried = given[loop.level][loop.first : loop.first + loop.carries]
            columns = [value(x, 0) for x in loop.columns]
            captures = [value(x, None) for x in loop.inputs[loop.carries + len(columns) :]]
            found = scan_kernel(*carried, *columns, *captures, **params)
            if loop.level == sweep:
                new[loop.first : loop.first + loop.carries] = found[: loop.carries]
            places = dict(zip(rows, found[loop.carries :], strict=True))
            made |= {key: places[i] for key, i in loop.places.items() if i in places}
        if out:
            for x in of.closed.results:
                if id(x) in made:
                    axis = of.axis[id(x)]
                    shape = list(made[id(x)].shape)
                    shape[axis] = of.steps
                    whole = self._made.setdefault(id(x), np.empty(shape, made[id(x)].dtype))
                    whole[(slice(None),) * axis + (part,)] = made[id(x)]
        return new


def _not_row_by_row(node: Node) -> UnimplementedError:
    return UnimplementedError(
        f"gradient of a loop: `max_bytes` cannot be kept by this derivative, for {node.op.name} takes the rows of all "
        f"steps at once; leave it out"
    )


def _bytes(a: Aval) -> int:
    return a.dtype.size * math.prod(d or 0 for d in a.shape or ())


def _axis_behind(node: Node, x: Any, axis: int) -> int | None:
    """Along which axis the result of a node has rows that follow from those of an operand; None: from all of them."""
    op, params, rank = node.op, node.params, len(x.aval.shape)
    if op is transpose_op:
        lead = params.get("lead", 0)
        return axis if axis < lead else lead + list(params["perm"]).index(axis - lead)
    if op is repeat_leading:
        return axis + (params.get("position", 0) <= axis)
    if op is sum_axis:
        return None if params["position"] == axis else axis - (params["position"] < axis)
    shape = node.outputs[0].aval.shape
    return axis + len(shape) - rank if op.elementwise or (op.from_avals and shape == x.aval.shape) else None
