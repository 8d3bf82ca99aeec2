"""What the table's functions give beside its truths: values, first and second derivatives, in both dtypes.

``python -m tests.special.measure [NAME ...]`` prints what is beyond the bounds.
"""

import math
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tape_api as tf
from tests.special.rows import FUNCTIONS, Function
from tests.special.stored import orders

BOUNDS = {"float64": (1e-13, 1e-13, 1e-11), "float32": (1e-6, 1e-6, 1e-5)}
"""Per order, relative; where the last places of the arguments change more, that."""


@dataclass(frozen=True)
class Compared:
    """One number beside the truth; an error above 1 is beyond the bound."""

    point: tuple[float, ...]
    order: tuple[int, ...]
    got: float
    want: float
    error: float


def derivatives(
    function: Function, points: np.ndarray, carries: Sequence[bool]
) -> dict[tuple[int, ...], list[np.ndarray]]:
    """By order, at all points; each argument is one row of `points`. Mixed ones are computed in both orders."""
    xs = [tf.constant(row) for row in points]
    n = len(xs)
    unit = [tuple(int(i == j) for j in range(n)) for i in range(n)]
    found: dict[tuple[int, ...], list[np.ndarray]] = {}
    with tf.GradientTape(persistent=True) as outer:
        for x, carried in zip(xs, carries, strict=True):
            if carried:
                outer.watch(x)
        with tf.GradientTape(persistent=True) as inner:
            for x, carried in zip(xs, carries, strict=True):
                if carried:
                    inner.watch(x)
            y = function.ours(*xs)
        found[(0,) * n] = [np.asarray(y.numpy())]
        firsts = {}
        for i in range(n):
            if carries[i]:
                firsts[i] = inner.gradient(y, xs[i], unconnected_gradients="zero")
                found[unit[i]] = [firsts[i].numpy()]
    for i, first in firsts.items():
        for j in firsts:
            order = tuple(np.add(unit[i], unit[j]).tolist())
            try:
                second = outer.gradient(first, xs[j], unconnected_gradients="zero").numpy()
            except tf.errors.UnimplementedError:
                continue  # said aloud: no number that nobody computed
            found.setdefault(order, []).append(second)
    return found


def compared(name: str, dtype: str, rows: Sequence[Any]) -> Iterator[Compared]:
    """All numbers of one function beside the truths."""
    function = FUNCTIONS[name]
    info = np.finfo(dtype)
    with np.errstate(all="ignore"):
        rows = [r for r in rows if all(float(np.dtype(dtype).type(v)) == v for v in r[0])]
    if not rows:
        return
    carries = function.carries or [True] * len(rows[0][0])
    points = np.array([r[0] for r in rows]).T.astype(dtype)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = derivatives(function, points, carries)
    for k, order in enumerate(orders(carries, 2)):
        if order not in found:
            continue
        bound = BOUNDS[dtype][sum(order)]
        for way in found[order]:
            for row, got in zip(rows, np.broadcast_to(way, len(rows)).tolist(), strict=True):
                want, change = row[1 + k]
                error = error_of(got, want, change, bound, info, function.floor)
                yield Compared(tuple(row[0]), order, got, want, error)


def beyond(all_compared: Iterable[Compared], dtype: str) -> Iterator[Compared]:
    """What is beyond the bound, and further from the truth than the value itself, which is mostly SciPy's."""
    bounds = BOUNDS[dtype]
    values: dict[tuple[float, ...], float] = {}
    for c in all_compared:
        if not any(c.order):
            values[c.point] = c.error * bounds[0]
        elif not c.error <= max(1.0, values.get(c.point, 0.0) / bounds[sum(c.order)]):
            yield c


def error_of(got: float, want: float, change: float, bound: float, info: Any, floor: float = 0.0) -> float:
    """The error in units of what is allowed."""
    largest, least = float(info.max), float(info.tiny)
    if math.isnan(want):
        return 0.0
    if math.isnan(got):
        return 0.0 if abs(want) > largest else math.nan
    if abs(want) > largest * 0.99:
        return 0.0 if abs(got) > largest * 0.9 and (got > 0) == (want > 0) else math.inf
    if math.isinf(got):
        return math.inf
    return abs(got - want) / (max(bound * abs(want), float(info.eps) * change) + least + floor)


def main(names: Sequence[str]) -> None:
    from tests.special.stored import read

    truths = read()
    for name in names or [n for n in FUNCTIONS if n in truths]:
        for dtype in ("float64", "float32"):
            try:
                wrong = list(beyond(compared(name, dtype, truths[name]), dtype))
            except Exception as error:
                print(f"{name} {dtype}: {type(error).__name__}: {str(error)[:200]}")
                continue
            for order in sorted({c.order for c in wrong}, key=lambda o: (sum(o), o)):
                of = [c for c in wrong if c.order == order]
                of.sort(key=lambda c: -math.inf if math.isnan(c.error) else -c.error)
                nan = sum(math.isnan(c.error) for c in of)
                print(
                    f"{name} {dtype} {order}: {len(of)} ({nan} nan)",
                    *[
                        f"[{c.point} {c.got:.10g} want {c.want:.10g} err {c.error:.2g}]"
                        for c in of[: 2 if names else 1]
                    ],
                )


if __name__ == "__main__":
    main(sys.argv[1:])
