"""``python -m bench calibrate``: measure what the planner of Jacobians reckons with, and keep it for this machine.

Each cost (`engine.runtime.tuning.Costs`) is taken from a program of which it is nearly all, run in the native executor
and in Python. Later processes on this machine plan with them; elsewhere, and before, the defaults hold.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

import graph_api as tf
from bench.calibrate import best_of, calibrate, described
from bench.run import kernels_are_chosen
from bench.text import as_text, duration
from engine.compiler.lowering import lower
from engine.core.operands import Operand
from engine.core.trace import needed_nodes
from engine.executor import status
from engine.executor.staged import in_python
from engine.runtime import tuning
from engine.runtime.tuning import EXECUTORS, TUNING, Costs

OPS, FEW, MANY, ORDER = 200, 10, 1 << 16, 256
"""Ops in a chain; numbers in a small array and in one that leaves the first-level cache; rows of a square matrix."""
WARM = 3


def measured(executor: str, seconds: float = 0.2) -> Costs:
    """The costs of one executor, spending about `seconds` on each."""
    with in_python() if executor == "python" else contextlib.nullcontext():
        small, large, square = np.ones(FEW), np.ones(MANY), np.ones((ORDER, ORDER))
        order = np.random.default_rng(0).permutation(MANY)
        call = best_of(_ready(_chain, small, small), 1, seconds) / OPS
        long = best_of(_ready(_chain, large, large), 1, seconds) / OPS
        product = best_of(_ready(tf.matmul, square, square), 1, seconds)
        # out of a result, and to its place
        picked = best_of(_ready(lambda x, i: tf.gather(tf.gather(x, i), i), large, order), 1, seconds)
    # what is left of a large op beside its call cannot be nothing
    return Costs(
        call=call,
        element=max(long - call, 0.1 * long) / MANY,
        flop=product / (2 * ORDER**3),
        pick=picked / MANY,
    )


def _chain(x: Any, y: Any) -> Operand:
    """Sums and products by turns, which nothing can fold."""
    for i in range(OPS):
        x = x * y if i % 2 else x + y
    return x


def _ready(function: Callable[..., Any], *arrays: np.ndarray) -> Callable[[], Any]:
    """A function as a program that runs as it will."""
    with tf.Graph().as_default() as graph:
        given = [tf.placeholder(a.dtype, a.shape) for a in arrays]
        wanted = [function(*given)]
        nodes = needed_nodes(graph.nodes, wanted, {id(x) for x in given})
    program = lower(nodes, [(x, x.aval) for x in given], wanted)[0]
    # ones would grow beyond all bounds
    values = [0.5 * a if a.dtype.kind == "f" else a for a in arrays]
    for _ in range(WARM):
        program(*values)
    return lambda: program(*values)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``calibrate``."""
    parser.add_argument("--seconds", type=float, default=0.2, help="for each figure (default: %(default)s)")
    parser.add_argument("--dry-run", action="store_true", help="print only: keep what was known before")


def run(options: argparse.Namespace) -> int:
    """Measure, show beside what is in use, and keep; 2 if the environment forbids a file, or chooses BLAS kernels."""
    if kernels_are_chosen():
        return 2
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        found = {name: measured(name, options.seconds) for name in EXECUTORS if name != "native" or status().active}
        figures = calibrate(options.seconds)
    head = ("seconds", *itertools.chain.from_iterable((f"{name}: in use", "measured") for name in found))
    rows = []
    for one in fields(Costs):
        pairs = [(getattr(getattr(TUNING, name), one.name), getattr(found[name], one.name)) for name in found]
        rows.append((one.metadata["what"], *(precise(value) for pair in pairs for value in pair)))
    print(as_text([head, *rows], words=1), end="\n\n")
    print(as_text([("this machine", "figure"), *described(figures)], words=1), end="\n\n")
    path = tuning.file()
    if options.dry_run:
        return 0
    if path is None:
        print(f"Not kept: {tuning.VARIABLE}=0")
        return 2
    tuning.keep(path, found)
    print(f"Written: {path}")
    return 0


def precise(seconds: float) -> str:
    """A time, also below a nanosecond."""
    return duration(seconds) if seconds >= 1e-9 else f"{seconds * 1e12:.3g} ps"
