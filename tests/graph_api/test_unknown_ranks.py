"""Functions of values whose rank, or which axes have size one, a graph does not know while it is built."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "transpose": lambda tf, x: tf.transpose(x),
    "squeeze": lambda tf, x: tf.squeeze(x),
    "top_k": lambda tf, x: tf.nn.top_k(x, 2)[0],
    "sort": lambda tf, x: tf.sort(x, direction="DESCENDING"),
}
VALUES = [np.array([3.0, -1.0, 2.0]), np.array([[[3.0, -1.0, 2.0], [0.5, -0.0, 1.0]]])]


@pytest.mark.parametrize("value", VALUES, ids=["vector", "stack"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_a_graph_of_unknown_rank_gives(name: str, value: np.ndarray) -> None:
    function = FUNCTIONS[name]
    x = tape_api.constant(value)
    with tape_api.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = function(tape_api, x)
        square = y * y
    gradient = tape_api.convert_to_tensor(tape.gradient(square, x))
    expected = [e.numpy() for e in (y, gradient, tape.jacobian(square, x))]
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        p = graph_api.placeholder(value.dtype)
        y = function(graph_api, p)
        square = y * y
        wanted = [y, graph_api.gradients(square, p)[0], graph_api.jacobian(square, p)]
        got = session.run(wanted, {p: value})
    for g, e in zip(got, expected, strict=True):
        assert g.shape == e.shape
        # which entries of a Jacobian are zero depends on computed indices: so may the signs of these zeros
        assert g.tobytes() == e.tobytes() or (e is expected[2] and (g == e).all())
