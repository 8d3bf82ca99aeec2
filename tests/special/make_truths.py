"""Make the truths of the table: `python -m tests.special.make_truths [NAME ...]` writes `truths.json` (mpmath needed).

Differences of numbers of so many digits that neither the step nor the cancellation is seen in the first 20 digits.
"""

import math
import multiprocessing
import signal
import sys
from collections.abc import Sequence
from typing import Any

import mpmath as mp

from tests.special.rows import FUNCTIONS, Function
from tests.special.stored import orders, read, write

STENCILS: dict[int, list[tuple[int, float]]] = {
    0: [(0, 1)],
    1: [(1, 0.5), (-1, -0.5)],
    2: [(1, 1), (0, -2), (-1, 1)],
    3: [(2, 0.5), (1, -1), (-1, 1), (-2, -0.5)],
}
SECONDS = 8


def derivatives(function: Function, point: tuple[float, ...], carries: Sequence[bool]) -> list[list[Any]]:
    """Per order of at most 2: the derivative, and what the arguments' last places change in it, for a step of 1."""
    sizes = [
        min([abs(x) if x else 1.0, function.scale, *[abs(x - s) for s in function.singular if x != s]]) for x in point
    ]
    digits = max(abs(math.log10(s)) for s in [*sizes, *[abs(x) for x in point if x]])
    small = 22 if function.digits > 200 else 14
    with mp.workdps(int(function.digits + 3.2 * (small + digits)) if function.derivative is None else 60):
        steps = [mp.mpf(10) ** -small * mp.mpf(s) for s in sizes]
        known: dict[tuple[int, ...], Any] = {}

        def value(at: tuple[int, ...]) -> Any:
            if at not in known:
                places = [mp.mpf(x) + k * h for x, k, h in zip(point, at, steps, strict=True)]
                known[at] = mp.mpf(mp.re(function.truth(*places)))
            return known[at]

        def derivative(order: tuple[int, ...]) -> Any:
            total, terms = mp.mpf(0), [((), mp.mpf(1))]
            for k in order:
                terms = [((*at, i), w * c) for at, w in terms for i, c in STENCILS[k]]
            for at, weight in terms:
                total += weight * value(at)
            return total / mp.fprod(h**k for h, k in zip(steps, order, strict=True))

        known_rule = function.derivative
        found = {
            o: derivative(o) if known_rule is None else mp.mpf(known_rule(o, *map(mp.mpf, point)))
            for o in orders(carries, 3)
        }
        rows = []
        for order in orders(carries, 2):
            up = [tuple(k + (i == j) for j, k in enumerate(order)) for i in range(len(point)) if carries[i]]
            at = [i for i in range(len(point)) if carries[i]]
            change = sum(abs(mp.mpf(point[i]) * found[o]) for i, o in zip(at, up, strict=True))
            if point == (0.0,) and abs(found[order]) < 1e-25:
                found[order] = mp.mpf(0)  # what the step has left
            rows.append([float(found[order]), float(mp.nstr(change, 3))])
        return rows


class TooLongError(Exception):
    """A point took longer than `SECONDS`."""


def _stop(*_: Any) -> None:
    raise TooLongError


def row_of(name: str) -> list[list[Any]]:
    """Per point: its arguments, then as `derivatives`; points at which mpmath gives nothing are left out."""
    function = FUNCTIONS[name]
    carries = function.carries or [True] * len(function.points[0])
    rows, left_out = [], []
    signal.signal(signal.SIGALRM, _stop)
    for point in function.points:
        signal.alarm(SECONDS)
        try:
            rows.append([list(point), *derivatives(function, point, carries)])
        except Exception as error:
            left_out.append((point, type(error).__name__))
        finally:
            signal.alarm(0)
    print(name, len(rows), "left out:", left_out[:8], len(left_out), flush=True)
    return rows


def main(names: Sequence[str]) -> None:
    names = list(names or FUNCTIONS)
    with multiprocessing.Pool() as pool:
        for name, row in zip(names, pool.imap(row_of, names), strict=True):
            truths = {**read(), name: row}
            write({n: truths[n] for n in FUNCTIONS if n in truths})


if __name__ == "__main__":
    main(sys.argv[1:])
