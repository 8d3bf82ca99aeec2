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
from bench.problems import chain, chain_gradient, deep_chain
from bench.sizes import in_a_session, on_a_tape
from engine.core.operands import Operand

Runner = Callable[[], Any]
LENGTH = 200
X = np.linspace(0.1, 1.0, 10)
DEEP = 100_000


# ---- the gradient of 200 small ops -----------------------------------------------------------------------------------


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
    "tape_api": (EAGER, lambda: on_a_tape(tape_api, X, LENGTH)),
    "autograd": (EAGER, by_autograd),
    "tensorflow eager": (EAGER, lambda: on_a_tape(peers.tensorflow(), X, LENGTH)),
    "graph_api": (GRAPH, lambda: in_a_session(graph_api, X, LENGTH)),
    "tensorflow graph": (GRAPH, lambda: in_a_session(peers.tensorflow().compat.v1, X, LENGTH)),
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


# ---- a long chain ----------------------------------------------------------------------------------------------------


def deep_on_a_tape() -> Operand:
    """Record and differentiate 100,000 ops."""
    x = tape_api.constant(1.0, tape_api.float64)
    with tape_api.GradientTape() as tape:
        tape.watch(x)
        y = deep_chain(x, DEEP)
    return tape.gradient(y, x).numpy()


def deep_in_a_graph() -> Operand:
    """Build, differentiate and run a graph of 100,000 ops."""
    with graph_api.Graph().as_default():
        x = graph_api.placeholder(graph_api.float64, [])
        (gradient,) = graph_api.gradients(deep_chain(x, DEEP), x)
        with graph_api.Session() as session:
            return session.run(gradient, {x: 1.0})


@pytest.mark.benchmark(group="gradient of 100,000 chained ops")
@pytest.mark.parametrize("run", [deep_on_a_tape, deep_in_a_graph])
def test_gradient_of_a_long_chain(benchmark: Any, run: Runner) -> None:
    """No recursion, and cost proportional to the length."""
    result = benchmark.pedantic(run, rounds=3)
    np.testing.assert_allclose(result, 0.99999 ** (DEEP / 2), rtol=1e-9)
