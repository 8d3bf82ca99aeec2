"""``python -m bench sizes``: gradients of chains of ops of more and more elements, on a tape and in a `function`.

Small ops cost a tape their calls in Python, large ones what is computed. The table says from which size on it does not
matter, beside the eager modes of TensorFlow and PyTorch where these are installed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from bench import peers
from bench.measure import interleaved
from bench.problems import chain, chain_gradient
from bench.text import as_markdown, duration

LENGTH = 40
SIZES = (1, 100, 1_000, 10_000, 100_000, 1_000_000)
Call = Callable[[], Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the options of the command."""
    parser.add_argument("--seconds", type=float, default=1.0, help="for each size (default 1)")


def run(options: argparse.Namespace) -> int:
    """Measure, and print a table in Markdown: least times of one run, of which every result was read."""
    rows = [measured(size, options.seconds) for size in SIZES]
    print(as_markdown([("elements", *rows[0][1]), *[(f"{size:,}", *times.values()) for size, times in rows]]))
    return 0


def measured(size: int, seconds: float) -> tuple[int, dict[str, str]]:
    """The least times for arrays of one size, and the ratio of the tape's to the function's."""
    x = np.linspace(0.1, 1.0, size)
    calls = {
        "tape": on_a_tape(tape_api, x),
        "function": _in_a_function(tape_api, x),
        "graph": in_a_session(graph_api, x),
        **{name: made for name, make in PEERS.items() if (made := _if_installed(make, x)) is not None},
    }
    for call in calls.values():
        for _ in range(4):  # a recording that was seen a few times is compiled
            np.testing.assert_allclose(call(), chain_gradient(x, LENGTH), rtol=1e-9)
    least = {name: min(times) for name, times in interleaved(calls, seconds).items()}
    times = {name: duration(taken) for name, taken in least.items()}
    return size, {**times, "tape / function": f"{least['tape'] / least['function']:.2f}"}


def on_a_tape(tf: Any, array: np.ndarray, length: int = LENGTH) -> Call:
    """The gradient of the chain on the tape of `tape_api`, or of TensorFlow in eager mode."""
    x = tf.constant(array)
    return lambda: _recorded(tf, x, length).numpy()


def _recorded(tf: Any, x: Any, length: int = LENGTH) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = chain(tf, x, length)
    return tape.gradient(y, x)


def _in_a_function(tf: Any, array: np.ndarray) -> Call:
    x, compiled = tf.constant(array), tf.function(lambda x: _recorded(tf, x))
    return lambda: compiled(x).numpy()


def in_a_session(tf: Any, array: np.ndarray, length: int = LENGTH) -> Call:
    """The same as a graph, run in a session."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, array.shape)
        (gradient,) = tf.gradients(chain(tf, x, length), x)
        session = tf.Session()
    return lambda: session.run(gradient, {x: array})


def _in_torch(array: np.ndarray) -> Call:
    torch = peers.torch()
    x = torch.tensor(array, requires_grad=True)

    def run() -> Any:
        y = chain(torch, x, LENGTH)
        return torch.autograd.grad(y.sum(), x)[0].numpy()

    return run


PEERS: dict[str, Callable[[np.ndarray], Call]] = {
    "PyTorch": _in_torch,
    "TensorFlow, tape": lambda x: on_a_tape(peers.tensorflow(), x),
}


def _if_installed(make: Callable[[np.ndarray], Call], x: np.ndarray) -> Call | None:
    try:
        return make(x)
    except pytest.skip.Exception:
        return None
