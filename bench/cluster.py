"""``python -m bench cluster``: what sums over shards take with processes, and what a model says of more of them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np

import tape_api as tf
from bench.calibrate import best_of
from dualgrad import cluster

SIZE, ROWS = 200, 20_000


def shard(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and what is seen there."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((ROWS, SIZE)) / SIZE**0.5, rng.standard_normal(ROWS)


def loss(w: Any, a: Any, b: Any) -> Any:
    """The sum of the squared errors of a network of one layer."""
    return tf.reduce_sum((tf.tanh(tf.linalg.matvec(a, w)) - b) ** 2)


CALLS: dict[str, Callable[[cluster.Sharded, np.ndarray], Any]] = {
    "value and gradient": lambda p, x: p.fun_and_jac(x),
    "Hessian product": lambda p, x: p.hessp(x, np.ones(SIZE)),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("--shards", type=int, default=16, help="how many there are (16)")
    parser.add_argument("--workers", type=int, default=2, help="processes that are started at most (2)")


def run(options: argparse.Namespace) -> int:
    """Measure, and print a table in Markdown and the model's one."""
    x = np.full(SIZE, 0.1)
    function, shards = tf.for_scipy(loss, x), [partial(shard, k) for k in range(options.shards)]
    here = cluster.over(function, shards)
    print("| derivative | workers | ms | the model says |\n|---|--:|--:|--:|")
    for name, call in CALLS.items():
        print(f"| {name} | this process | {1e3 * best_of(partial(call, here, x), 1, 0.1):.1f} | |")
        for count in range(1, options.workers + 1):
            expected = cluster.predicted(here, (count,)).seconds[0]
            with ProcessPoolExecutor(count) as pool:
                there = cluster.over(function, shards, pool)
                took = best_of(partial(call, there, x), 1, 0.1)
                np.testing.assert_array_equal(call(there, x)[-1], call(here, x)[-1])
            print(f"| {name} | {count} | {1e3 * took:.1f} | {1e3 * expected:.1f} |")
    print(f"\n{cluster.predicted(here)}")
    return 0
