"""The cost of the machinery itself: what recording, running and differentiating small ops costs beside the arithmetic.

``make bench`` runs these beside TensorFlow and autograd; the number in parentheses is the ratio to the fastest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from bench import peers
from bench.problems import chain, chain_gradient

Runner = Callable[[], Any]
LENGTH = 200
X = np.linspace(0.1, 1.0, 10)


# ---- the gradient of 200 small ops -----------------------------------------------------------------------------------


def on_a_tape(tf: Any) -> Runner:
    """The gradient of the chain on the tape of `tape_api`, or of TensorFlow in eager mode."""
    x = tf.constant(X)

    def run() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = chain(tf, x, LENGTH)
        return tape.gradient(y, x).numpy()

    return run


def in_a_session(tf: Any) -> Runner:
    """The same as a graph, run in a session."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, X.shape)
        (gradient,) = tf.gradients(chain(tf, x, LENGTH), x)
        session = tf.Session()
    return lambda: session.run(gradient, {x: X})


def by_autograd() -> Runner:
    """The chain in HIPS autograd."""
    grad = peers.autograd().grad
    import autograd.numpy as anp

    gradient = grad(lambda x: anp.sum(chain(anp, x, LENGTH)))
    return lambda: gradient(X)


EAGER, GRAPH = (
    "gradient of a chain of 200 small ops, eager",
    "gradient of a chain of 200 small ops, graph (built before)",
)
GRADIENTS: dict[str, tuple[str, Callable[[], Runner]]] = {
    "tape_api": (EAGER, lambda: on_a_tape(tape_api)),
    "autograd": (EAGER, by_autograd),
    "tensorflow eager": (EAGER, lambda: on_a_tape(peers.tensorflow())),
    "graph_api": (GRAPH, lambda: in_a_session(graph_api)),
    "tensorflow graph": (GRAPH, lambda: in_a_session(peers.tensorflow().compat.v1)),
}


@pytest.mark.parametrize(
    "library", [pytest.param(name, marks=pytest.mark.benchmark(group=group)) for name, (group, _) in GRADIENTS.items()]
)
def test_gradient(benchmark: Any, library: str) -> None:
    """Record 200 ops on 10 numbers and differentiate them, or run a gradient that is already part of the graph."""
    np.testing.assert_allclose(benchmark(GRADIENTS[library][1]()), chain_gradient(X, LENGTH), rtol=1e-10)


# ---- a small fetch ---------------------------------------------------------------------------------------------------


def small_fetch(tf: Any) -> Runner:
    """``sum(x * x)`` of 10 numbers, fed and fetched."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, X.shape)
        y = tf.reduce_sum(x * x)
        session = tf.Session()
    return lambda: session.run(y, {x: X})


FETCHES: dict[str, Callable[[], Runner]] = {
    "graph_api": lambda: small_fetch(graph_api),
    "tensorflow": lambda: small_fetch(peers.tensorflow().compat.v1),
}


@pytest.mark.benchmark(group="Session.run of a small fetch, cached")
@pytest.mark.parametrize("library", FETCHES)
def test_session_run(benchmark: Any, library: str) -> None:
    """Run two ops that were run before."""
    run = FETCHES[library]()
    run()
    result = benchmark(run)
    np.testing.assert_allclose(result, np.sum(X * X), rtol=1e-12)
