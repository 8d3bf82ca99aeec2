"""What the reverse rules of an op cost beside the op itself: ``python -m tests.vjp_cost`` prints the table.

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

import engine.numpy_api.operators  # noqa: F401  (values get their operators)
from engine.control.cond import cond_op
from engine.control.scan_loop import scan_op
from engine.control.while_loop import while_op
from engine.core.nest import flatten
from engine.ops import (
    conv,
    cross_entropy,
    decompose,
    determinants,
    einsum,
    extrema,
    gather,
    joining,
    linalg,
    matrix_functions,
    nn,
    pool,
    rearrange,
    reduce,
    scan,
    scatter,
    segment,
    slicing,
    solve,
    sorting,
    stats,
)
from engine.ops.compare import less
from engine.ops.trig import cos, sin
from engine.reverse import reverse
from engine.transform import recorded
from tests.op_table import ROWS
from tests.rows.cond import sub_trace

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
    yield from indices()
    yield from images()
    yield from control_flow()


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
    yield Problem("softmax_cross_entropy", cross_entropy.softmax_cross_entropy_with_logits, [labels, x])


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
    yield Problem("det", determinants.det, [a])
    yield Problem("slogdet", determinants.slogdet, [a])
    yield Problem("solve, 4 columns", solve.solve, [a, vectors])
    yield Problem("triangular_solve, 4 columns", solve.triangular_solve, [triangle, vectors])
    yield Problem("cholesky", decompose.cholesky, [definite])
    yield Problem("eigh", decompose.eigh, [definite])
    yield Problem("eigvalsh", decompose.eigvalsh, [definite])
    yield Problem("svd", decompose.svd, [a])
    yield Problem("qr", decompose.qr, [a])
    yield Problem("pinv", matrix_functions.pinv, [a])
    yield Problem("expm", matrix_functions.expm, [a / 4])


def indices() -> Iterator[Problem]:
    """Entries taken, placed and summed by index; data moved about."""
    rng = np.random.default_rng(0)
    x, rows = rng.standard_normal((1000, 100)), rng.integers(0, 1000, 1000)
    vectors, flat = np.stack([rows, rng.integers(0, 100, 1000)], -1), rng.standard_normal(SIZE)
    ids = rng.integers(0, 50, SIZE)
    yield Problem("gather", lambda x: gather.gather(x, rows), [x])
    yield Problem("gather_nd", lambda x: scatter.gather_nd(x, vectors), [x])
    yield Problem("gather_nd, rows", lambda x: scatter.gather_nd(x, rows[:, None]), [x])
    yield Problem("scatter_nd", lambda x: scatter.scatter_nd(rows[:, None], x, [1000, 100]), [x])
    yield Problem(
        "tensor_scatter_nd_update", lambda x, u: scatter.tensor_scatter_nd_update(x, rows[:, None], u), [x, x]
    )
    yield Problem("tensor_scatter_nd_max", lambda x, u: scatter.tensor_scatter_nd_max(x, rows[:, None], u), [x, x + 1])
    yield Problem("unsorted_segment_sum", lambda x: segment.unsorted_segment_sum(x, ids, 50), [flat])
    yield Problem("unsorted_segment_max", lambda x: segment.unsorted_segment_max(x, ids, 50), [flat])
    yield Problem("unsorted_segment_prod", lambda x: segment.unsorted_segment_prod(x, ids, 50), [flat])
    yield Problem("boolean_mask", lambda x: slicing.boolean_mask(x, ids > 20), [flat])
    yield Problem("sort", sorting.sort, [x])
    yield Problem("top_k", lambda x: sorting.top_k(x, 10)[0], [x])
    yield Problem("concat", lambda x, y: joining.concat([x, y], 0), [x, x])
    yield Problem("stack", lambda x, y: joining.stack([x, y], 1), [x, x])
    yield Problem("tile", lambda x: rearrange.tile(x, [2, 3]), [x])
    yield Problem("pad", lambda x: rearrange.pad(x, [[1, 2], [3, 0]]), [x])
    yield Problem("roll", lambda x: rearrange.roll(x, 3, 0), [x])


def images() -> Iterator[Problem]:
    """Convolutions and pools."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((8, 28, 28, 16))
    yield Problem("conv2d", lambda x, w: conv.conv2d(x, w, 1, "SAME"), [x, rng.standard_normal((3, 3, 16, 16))])
    yield Problem(
        "conv2d, strides", lambda x, w: conv.conv2d(x, w, 2, "SAME"), [x, rng.standard_normal((3, 3, 16, 16))]
    )
    yield Problem(
        "depthwise_conv2d",
        lambda x, w: conv.depthwise_conv2d(x, w, (1, 1, 1, 1), "SAME"),
        [x, rng.standard_normal((3, 3, 16, 1))],
    )
    yield Problem("max_pool", lambda x: pool.max_pool(x, 2, 2, "SAME"), [x])
    yield Problem("avg_pool", lambda x: pool.avg_pool(x, 2, 2, "SAME"), [x])


def control_flow() -> Iterator[Problem]:
    """A branch, and loops of ten steps, on vectors of 100,000 elements."""
    rng = np.random.default_rng(0)
    x, rows = rng.standard_normal(SIZE), rng.standard_normal((10, SIZE))
    one = [sub_trace(f, x) for f in (lambda a: [sin(a) * a], lambda a: [cos(a)])]
    yield Problem("cond", lambda x: cond_op(np.bool_(True), x, true=one[0], false=one[1])[0], [x])
    body = sub_trace(lambda h, r: [sin(h) + r], x, rows, rows=[1])
    yield Problem("scan", lambda h, r: scan_op(h, r, body=body, carries=1, sequences=1)[0], [x, rows])
    few, start = np.int32(10), np.int32(0)
    goes_on = sub_trace(lambda i, a, n: [less(i, n)], start, x, few)
    step = sub_trace(lambda i, a, n: [i + 1, sin(a) * a], start, x, few)
    yield Problem("while", lambda x: while_op(start, x, few, cond=goes_on, body=step, count=2)[1], [x])


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
    parser = argparse.ArgumentParser(prog="python -m tests.vjp_cost", description=(__doc__ or "").partition("\n")[0])
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
