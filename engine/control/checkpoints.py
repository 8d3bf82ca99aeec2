"""The reverse walk of a loop within a memory limit: few states are kept, and the steps between are computed again.

A loop is pulled back by running through all its steps from the last to the first, for which each step's state is
needed (`engine.control.scan_loop`). Under a limit a stretch whose states fit is run once more with all of them kept,
and pulled back. A longer one is cut in two: the state at the cut is kept until the later part has been pulled back.
Where to cut so that fewest steps are computed again is Griewank and Walther's binomial schedule. Every step does the
same with the same numbers as without a limit, so no bit changes.

Source: Griewank and Walther, "Algorithm 799: revolve", ACM Trans. Math. Software 26 (2000); *Evaluating Derivatives*,
2nd ed., ch. 12.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.closed.function import ClosedFunction, build
from engine.control.deferred import Recipe
from engine.control.loop_kernels import scan_kernel
from engine.core.aval import Aval
from engine.runtime.errors import InvalidArgumentError, ResourceExhaustedError

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


def runs(steps: int, states: int) -> int:
    """How many steps must be run to have the state of each in turn, from the last to the first: the fewest possible."""
    most = _repetitions(steps, states)
    return most * steps - math.comb(states + most, most - 1) if most else 0


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
    """``(carries, numbers of steps, sequences, captures, what the walk starts with) -> cotangents``, within a limit.

    Where it is differentiated itself, or applied to a batch, all states are kept. `scan` is `scan_op`; `body` gives the
    carries first, `keeping` also what the walk needs of each step, behind them; `step` is a step of the walk back.
    `number` is the aval of the number of a step, on which nothing depends. `ends` says how many values the walk
    carries, and how many sequences it is given; `read` which sequences of the loop it reads; `needed` which carries it
    needs of each step, and the avals of what else.
    """

    tells = True

    def __init__(
        self, scan: Callable[..., Any], body: ClosedFunction, carries: int, sequences: int, number: Aval,
        keeping: ClosedFunction | None, step: ClosedFunction, ends: tuple[int, int], read: Sequence[int],
        needed: tuple[Sequence[int], Sequence[Aval]], backwards: bool, max_bytes: int,
    ) -> None:  # fmt: skip
        super().__init__()
        self.scan = scan
        self.last: tuple[int, int] | None = None
        advance = ClosedFunction(body.trace, body.parameters, body.results[:carries])
        self.advance = _with_numbers(advance, carries, number)
        self.keeping = None if keeping is None else _with_numbers(keeping, carries, number)
        self.carries, self.sequences, self.step, self.ends, self.read = carries, sequences + 1, step, ends, read
        self.needed, self.backwards, self.max_bytes = needed, backwards, max_bytes
        self.ahead: dict[str, Any] = {"carries": carries, "sequences": sequences + 1, "backwards": backwards}

    def __repr__(self) -> str:
        """Say what is planned; how many steps there are is known once it has run."""
        if self.last is None:
            return f"<reverse walk of a loop within {self.max_bytes} bytes>"
        steps, states = self.last
        kept, again = min(states + 1, steps), runs(steps, states)
        return (
            f"<reverse walk of a loop within {self.max_bytes} bytes: {kept} of {steps} states kept, "
            f"{again} steps computed again>"
        )

    def avals(self, given: Sequence[Aval]) -> tuple[Aval, ...]:
        """Those of the walk that keeps all states."""
        return tuple([Aval(r.aval.shape, r.aval.dtype) for r in self.closed_function(given).results])

    def made(self, given: Sequence[Aval]) -> ClosedFunction:
        """The walk that keeps all states, which is differentiated and batched."""
        return build(given, lambda _, values: list(self._pulled(self.scan, *self._parts(values))))

    def spliced(self, given: Sequence[Aval]) -> ClosedFunction | None:
        """Nothing: `run` does."""
        return None

    def _parts(self, values: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any], list[Any], list[Any]]:
        """Carries, sequences and captures among the values; what the walk carries, and its own sequences."""
        carried, own = self.ends
        start, stop = self.carries + self.sequences, len(values) - own
        return (
            [*values[: self.carries]], [*values[self.carries : start]], [*values[start : stop - carried]],
            [*values[stop - carried : stop]], [*values[stop:]],
        )  # fmt: skip

    def _pulled(
        self, scan: Callable[..., Sequence[Any]], state: Sequence[Any], columns: Sequence[Any], captures: Sequence[Any],
        carried: Sequence[Any], own: Sequence[Any],
    ) -> Sequence[Any]:  # fmt: skip
        """The results of the walk for steps of which it keeps all states."""
        kept: Sequence[Any] = ()
        if self.keeping is not None:
            kept = scan(*state, *columns, *captures, body=self.keeping, **self.ahead)[self.carries :]
        rows = [columns[0], *[columns[1 + i] for i in self.read], *kept, *own]
        back = {"carries": len(carried), "sequences": len(rows), "backwards": not self.backwards}
        return scan(*carried, *rows, *captures, body=self.step, **back)

    def run(self, *operands: Any) -> tuple[Any, ...]:
        """The cotangents, stretch by stretch."""
        state, columns, captures, carried, own = self._parts(operands)
        columns, own = [np.ascontiguousarray(c) for c in columns], [np.ascontiguousarray(c) for c in own]
        self.last = steps, states = len(columns[0]), self._states(state)
        made: list[np.ndarray] = []
        stretches = [(0, steps, states, state)]
        while stretches:
            first, last, left, state = stretches.pop()
            if at := cut(last - first, left):
                rows = self._rows(columns, steps, first, first + at)
                later = scan_kernel(*state, *rows, *captures, body=self.advance, **self.ahead)
                stretches += [(first, first + at, left, state), (first + at, last, max(left - 1, 1), later)]
                continue
            given = self._rows(columns, steps, first, last), captures, carried, self._rows(own, steps, first, last)
            found = self._pulled(scan_kernel, state, *given)
            carried = list(found[: len(carried)])
            if not made:
                made = [np.empty((steps, *x.shape[1:]), x.dtype) for x in found[len(carried) :]]
            for whole, part in zip(self._rows(made, steps, first, last), found[len(carried) :], strict=True):
                whole[...] = part
        return (*carried, *made)

    def _rows(self, columns: Sequence[Any], steps: int, first: int, last: int) -> list[Any]:
        """The rows of the steps from one to another, of which those of a loop that goes backwards begin at the end."""
        part = slice(steps - last, steps - first) if self.backwards else slice(first, last)
        return [c[part] for c in columns]

    def _states(self, state: Sequence[Any]) -> int:
        """How many states may be kept besides the one at hand; ResourceExhaustedError if there is room for none."""
        carries, others = self.needed
        row = sum(state[k].nbytes for k in carries) + sum(
            a.dtype.size * math.prod(d or 0 for d in a.shape or ()) for a in others
        )
        each = _COPIES * max(sum(x.nbytes for x in state), row, 1)
        room = self.max_bytes - self.max_bytes // _SPARE
        if 2 * each > room:
            raise ResourceExhaustedError(
                f"gradient of a loop: `max_bytes` is {self.max_bytes}, but the fewest to go back with, two states, "
                f"take {2 * each} bytes"
            )
        return room // each - 1


def _with_numbers(body: ClosedFunction, carries: int, number: Aval) -> ClosedFunction:
    """A body that is given the number of its step too, as the first row."""
    avals = [p.aval for p in body.parameters]
    avals.insert(carries, number)
    return build(avals, lambda trace, values: body.inline(trace, [*values[:carries], *values[carries + 1 :]]))
