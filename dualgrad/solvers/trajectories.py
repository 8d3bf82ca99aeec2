"""The solution of a differential equation within a memory limit: few states of the solver, the steps between again.

An adjoint equation looks up the trajectory from its end to its start (`dualgrad.solvers.flow_op`). Under a limit the
interpolants of two stretches of steps are there at a time. A stretch is made from the last state of the solver that was
kept before it, and on the way there more are kept, by the schedule of loops (`engine.control.checkpoints`). A solver
that goes on from such a state makes the same steps, so no bit changes.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from scipy import integrate

from engine.control.checkpoints import cut
from engine.runtime.errors import ResourceExhaustedError

_FEW = 8
"""States of which none is spared for where the last stretch ended."""


class Limit(int):
    """Bytes for trajectories, and what came of it the last time."""

    kept = steps = again = 0

    def __repr__(self) -> str:
        """Say it."""
        return f"{int(self)} bytes: {self.kept} of {self.steps} states kept, {self.again} steps made again"


class Trajectory:
    """The interpolants of all steps, for `scipy.integrate.OdeSolution`, which asks for one after another.

    `solver` is the method for `solve_ivp`: it keeps states on its way.
    """

    def __init__(self, method: str, max_bytes: int, limit: Limit) -> None:
        self._kind, keep = getattr(integrate, method), self._keep

        class Keeping(self._kind):  # type: ignore[misc, name-defined]
            def step(self) -> Any:
                keep(self)
                return super().step()

        self.solver, self._max_bytes, self._limit = Keeping, max_bytes, limit
        self._times: list[float] = []
        self._kept: dict[int, Any] = {}
        self._stretches: dict[int, list[Any]] = {}
        self._ahead: tuple[int, Any] = -1, None
        self._length, self._every, self._most, self._goes_on = 1, 1, 0, False

    def solution(self, end: float) -> integrate.OdeSolution:
        """The solution, now that the solver has come to its end."""
        limit, times = self._limit, [*self._times, end]
        limit.kept, limit.steps, limit.again = len(self._kept), len(self), 0
        return integrate.OdeSolution(times, self, alt_segment=self._kind is integrate.BDF)

    def _keep(self, solver: Any) -> None:
        at = len(self._times)
        self._times.append(solver.t)
        if at == 1:
            self._size(_bytes_of(solver), _bytes_of(solver.dense_output()))
        if at % self._every == 0:
            if at and len(self._kept) >= self._most:
                self._every *= 2
                self._kept = {k: s for k, s in self._kept.items() if k % self._every == 0}
            if at % self._every == 0:
                self._kept[at] = self._copied(solver)

    def _size(self, state: int, row: int) -> None:
        """How many steps a stretch has, and how many states may be kept."""
        room = self._max_bytes - self._max_bytes // 16
        if room < 3 * state + 2 * row:
            raise ResourceExhaustedError(
                f"solve_ivp: `max_bytes` leaves {self._max_bytes} bytes for a trajectory, but three states of the "
                f"solver and two of its steps take {3 * state + 2 * row}"
            )
        self._length = self._every = max((room - 3 * state) // (4 * row), 1)
        self._most = max((room - 2 * self._length * row) // state - 1, 2)
        self._goes_on = self._most > _FEW
        self._most -= self._goes_on

    def _copied(self, solver: Any) -> Any:
        made = copy(solver)
        made.__class__ = self._kind
        if self._kind is integrate.BDF:
            # the one array that a step changes in place
            made.D = made.D.copy()
        return made

    def __len__(self) -> int:
        return len(self._times)

    def __getitem__(self, step: int) -> Any:
        number, within = divmod(step, self._length)
        if number not in self._stretches:
            while len(self._stretches) > 1:
                del self._stretches[next(iter(self._stretches))]
            self._stretches[number] = self._made(number * self._length)
        return self._stretches[number][within]

    def _made(self, start: int) -> list[Any]:
        """The interpolants of a stretch."""
        at = max(k for k in self._kept if k <= start)
        solver, made = self._copied(self._kept[at]), []
        if at <= self._ahead[0] <= start:
            # the stretch before was made last
            (at, solver), self._ahead = self._ahead, (-1, None)
            self._keep_also(at, solver)
        while at < start:
            free, ahead = self._free(at), (start - at) // self._length
            count = self._length * ((cut(ahead + 1, free) or 1) if free > 0 else ahead)
            for _ in range(count):
                solver.step()
            at += count
            self._limit.again += count
            self._keep_also(at, solver)
        for _ in range(min(self._length, len(self) - start)):
            solver.step()
            made.append(solver.dense_output())
        self._limit.again += len(made)
        if self._goes_on:
            self._ahead = start + len(made), solver
        return made

    def _free(self, at: int) -> int:
        """How many states may be kept behind a step, in place of later ones."""
        return self._most - sum(k <= at for k in self._kept)

    def _keep_also(self, at: int, solver: Any) -> None:
        if at not in self._kept and self._free(at) > 0:
            if len(self._kept) >= self._most:
                del self._kept[max(self._kept)]
            self._kept[at] = self._copied(solver)


def _bytes_of(x: Any) -> int:
    """Bytes of the arrays that an object of SciPy holds, but for those that each step fills anew."""
    arrays = [a for k, v in vars(x).items() if k not in ("K", "K_extended") for a in (v if type(v) is tuple else (v,))]
    arrays += [part for a in arrays for part in (getattr(a, "data", None), getattr(a, "indices", None))]
    return sum(a.nbytes for a in {id(a): a for a in arrays if isinstance(a, np.ndarray)}.values())
