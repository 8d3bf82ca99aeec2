"""Long chains take memory in proportion to their length. That 100,000 ops work at all is in bench/test_steps.py."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from tests.tapes import gradient_in


def deep_chain(x: Any, length: int) -> Any:
    """A chain of operators whose derivative neither grows nor vanishes: 0.99999 ** (length / 2)."""
    for _ in range(length // 2):
        x = x * 0.99999 + 0.00001
    return x


def on_a_tape(length: int) -> float:
    x = tape_api.constant(1.0, tape_api.float64)
    return float(gradient_in(x, lambda: deep_chain(x, length)))


def in_a_graph(length: int) -> float:
    with graph_api.Graph().as_default():
        x = graph_api.placeholder(graph_api.float64, [])
        (gradient,) = graph_api.gradients(deep_chain(x, length), x)
        with graph_api.Session() as session:
            return float(session.run(gradient, {x: 1.0}))


def peak(function: Callable[[int], float], length: int) -> int:
    """The most bytes that Python held at once while the function ran."""
    tracemalloc.start()
    try:
        function(length)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("gradient", [on_a_tape, in_a_graph])
def test_memory_is_linear(gradient: Callable[[int], float]) -> None:
    np.testing.assert_allclose(gradient(10), 0.99999**5, rtol=1e-12)
    # ten times the length; dictionaries grow in steps, hence the margin
    assert peak(gradient, 5_000) < 15 * peak(gradient, 500)
