"""A model of the times and bytes of a call of `Sharded`: it says what more workers would give.

A call hands out tasks one after the other, and takes answers one after the other: that is what home does by itself, in
`handling` seconds a task and `bytes_per_second`. Workers compute meanwhile, each task in the seconds that were
measured. So a call takes at least as long as home is busy, and as long as the busiest worker (Graham, Bounds on
Multiprocessing Timing Anomalies, SIAM J. Appl. Math. 17, 1969: what is next goes to whoever is free first).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dualgrad.cluster.shards import Sharded

_WORTH = 1.1
"""Twice the workers pay if a call is so many times as fast."""


@dataclass(frozen=True)
class Prediction:
    """Seconds that calls take with some workers.

    Attributes
    ----------
    workers : tuple of int
    seconds : tuple of float
    home : float
        For how long home itself is busy, however many workers there are.
    bytes : int
        That go there and back in a call.
    """

    workers: tuple[int, ...]
    seconds: tuple[float, ...]
    home: float
    bytes: int

    @property
    def pays_up_to(self) -> int:
        """The workers from which on twice as many are less than 1.1 times as fast."""
        for count, now, (twice, then) in zip(
            self.workers, self.seconds, list(zip(self.workers, self.seconds, strict=True))[1:], strict=False
        ):
            if now / then < 1 + (_WORTH - 1) * (twice / count - 1):
                return count
        return self.workers[-1]

    def __str__(self) -> str:
        """A table: workers, seconds, times as fast as one."""
        first = self.seconds[0]
        rows = [f"{n:7d}  {s:9.4f}  {first / s:7.1f}" for n, s in zip(self.workers, self.seconds, strict=True)]
        end = f"home is busy for {self.home:.4f} s, {self.bytes:,} bytes a call; pays up to {self.pays_up_to} workers"
        return "\n".join(["workers    seconds  speedup", *rows, end])


def predicted(
    sharded: Sharded,
    workers: Sequence[int] = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
    *,
    handling: float = 2e-4,
    bytes_per_second: float = 1e9,
) -> Prediction:
    """Predict what the last call of a function over shards would take with so many workers.

    Parameters
    ----------
    sharded : Sharded
        After a call.
    workers : sequence of int
    handling : float
        Seconds that home takes for a task: 1e-4 to 3e-4 with processes of one machine, about 1e-3 with Dask.
    bytes_per_second : float
        Between home and all workers together.

    Returns
    -------
    Prediction
    """
    count = sharded.x0.size * sharded.x0.itemsize
    bytes = 2 * count * sharded.tasks
    each = handling + 2 * count / bytes_per_second
    found = [_makespan(sharded.seconds, n, each) for n in workers]
    return Prediction(tuple(workers), tuple(found), each * sharded.tasks, bytes)


def _makespan(seconds: Sequence[float], workers: int, each: float) -> float:
    """The time at which the last task is done, if home hands one out every `each` seconds."""
    free: list[Any] = [0.0] * min(workers, len(seconds))
    end = 0.0
    for k, needed in enumerate(seconds):
        done = max(heapq.heappop(free), (k + 1) * each) + needed
        heapq.heappush(free, done)
        end = max(end, done)
    return end
