"""What the reverse rules of an op cost beside the op itself: ``python -m bench.vjp_cost`` prints the table.

The operands are plain arrays of 100,000 elements in float64; the work is the engine's alone: the function on arrays,
against the reverse walk over what it recorded, with respect to all operands. Elementwise ops take their operands from
the rows of the op table; reductions, scans and linear algebra have theirs here. An op whose rules cost more than four
times as much says why in its documentation.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import engine.operators  # noqa: F401  (values get their operators)
from engine.nest import flatten
from engine.ops import decompose, einsum, extrema, linalg, losses, matrix_functions, nn, reduce, scan, solve, stats
from engine.reverse import reverse
from engine.transform import recorded
from tests.op_table import ROWS

SIZE = 100_000
LIMIT = 4.0
"""How many times its op an op's rules may cost."""


@dataclass(frozen=True)
class Problem:
    """A function of arrays, and which of them to differentiate (by default all)."""

    name: str
    fn: Callable[..., Any]
    arrays: Sequence[np.ndarray]
    wrt: Sequence[int] | None = None


@dataclass(frozen=True)
class Cost:
    """Best times in seconds."""

    name: str
    op: float
    vjp: float

    @property
    def ratio(self) -> float:
        """The time of the rules over the time of the op."""
        return self.vjp / self.op


# ---- what is measured ------------------------------------------------------------------------------------------------


def problems() -> Iterator[Problem]:
    """Everything that is measured."""
    yield from elementwise()
    yield from reductions()
    yield from linear_algebra()


def elementwise() -> Iterator[Problem]:
    """Each elementwise op of the table, on the entries of its first row in float64, drawn again and again."""
    seen: set[str] = set()
    rng = np.random.default_rng(0)
    for row in ROWS:
        if row.op.kind != "elementwise" or row.op.name in seen or row.call or "float64" not in row.dtypes:
            continue
        inputs = row.arrays("float64")
        if all(a.size and a.dtype == np.float64 for a in inputs):
            seen.add(row.op.name)
            large = [rng.choice(a.ravel(), SIZE) for a in inputs]
            yield Problem(row.op.name, partial(row.op, **row.params), large, row.differentiable(inputs))


def reductions() -> Iterator[Problem]:
    """Reductions along the rows of a matrix and over all of it; scans, softmax and its like along rows."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 1.5, (250, 400))
    for fn in (
        reduce.reduce_sum,
        reduce.reduce_mean,
        reduce.reduce_prod,
        reduce.reduce_logsumexp,
        extrema.reduce_max,
        extrema.reduce_min,
        stats.reduce_variance,
        stats.reduce_std,
        stats.reduce_euclidean_norm,
    ):
        yield Problem(f"{fn.__name__}, rows", partial(fn, axis=-1), [x])
        yield Problem(f"{fn.__name__}, all", fn, [x])
    same_shape: Sequence[Callable[..., Any]] = (
        scan.cumsum,
        scan.cumprod,
        scan.cumulative_logsumexp,
        nn.softmax,
        nn.log_softmax,
    )
    for function in same_shape:
        yield Problem(f"{function.__name__}, rows", partial(function, axis=-1), [x])
    labels = np.asarray(rng.dirichlet(np.ones(400), 250))
    yield Problem("softmax_cross_entropy", losses.softmax_cross_entropy_with_logits, [labels, x])


def linear_algebra() -> Iterator[Problem]:
    """Square matrices of 100,000 elements."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal((316, 316)) / 20 + 2 * np.eye(316)
    b, vectors = rng.standard_normal((316, 316)), rng.standard_normal((316, 4))
    definite = a @ a.T
    triangle = np.tril(a)
    yield Problem("matmul", linalg.matmul, [a, b])
    yield Problem("matmul, 4 columns", linalg.matmul, [a, vectors])
    yield Problem("einsum", partial(einsum.einsum, "ij,kj->ik"), [a, b])
    yield Problem("trace", linalg.trace, [a])
    yield Problem("cross", linalg.cross, list(rng.standard_normal((2, SIZE // 3, 3))))
    yield Problem("inv", solve.inv, [a])
    yield Problem("det", solve.det, [a])
    yield Problem("slogdet", solve.slogdet, [a])
    yield Problem("solve, 4 columns", solve.solve, [a, vectors])
    yield Problem("triangular_solve, 4 columns", solve.triangular_solve, [triangle, vectors])
    yield Problem("cholesky", decompose.cholesky, [definite])
    yield Problem("eigh", decompose.eigh, [definite])
    yield Problem("eigvalsh", decompose.eigvalsh, [definite])
    yield Problem("svd", decompose.svd, [a])
    yield Problem("qr", decompose.qr, [a])
    yield Problem("pinv", matrix_functions.pinv, [a])
    yield Problem("expm", matrix_functions.expm, [a / 4])


# ---- measuring -------------------------------------------------------------------------------------------------------


def cost(problem: Problem, seconds: float) -> Cost:
    """Time a function and the reverse walk over it."""
    nodes, values, out = recorded(problem.fn, *problem.arrays)
    sources = values if problem.wrt is None else [values[i] for i in problem.wrt]
    rng = np.random.default_rng(1)
    seeds = [(o, rng.standard_normal(o.shape)) for o in flatten(out)]
    op = best(lambda: problem.fn(*problem.arrays), seconds)
    return Cost(problem.name, op, best(lambda: reverse(nodes, seeds, sources), seconds))


def keep_memory() -> None:
    """Have the allocator keep what is freed, as it does in any program once a large array was freed.

    The C library gives memory back to the system in pieces of the size of the largest block freed so far; rules that
    use two or three arrays of 800 kB would spend their time on getting new pages, which says nothing about them.
    """
    np.empty(30 << 17)  # just below the limit of 32 MB, up to which glibc adapts


def best(run: Callable[[], Any], seconds: float) -> float:
    """The shortest of the runs (5 at least) that fit in `seconds`, in seconds."""
    run()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, the dearest first."""
    parser = argparse.ArgumentParser(prog="python -m bench.vjp_cost", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=0.05, help="time to spend on each measurement (default: 0.05)")
    parser.add_argument("--only", default="", help="measure only what has this in its name")
    options = parser.parse_args(arguments)
    keep_memory()
    costs = [cost(p, options.seconds) for p in problems() if options.only in p.name]
    print(f"{'op':32}{'op, µs':>12}{'rules, µs':>12}{'ratio':>8}")
    for c in sorted(costs, key=lambda c: -c.ratio):
        print(f"{c.name:32}{c.op * 1e6:12.0f}{c.vjp * 1e6:12.0f}{c.ratio:8.1f}{'  above' if c.ratio > LIMIT else ''}")
    above = [c.name for c in costs if c.ratio > LIMIT]
    print(f"{len(costs)} measured, {len(above)} above {LIMIT:g}")


if __name__ == "__main__":
    main()
