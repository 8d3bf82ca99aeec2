"""Jacobians and Hessians through a `cond` or `case` whose branches differ in shape or rank, against a tape."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api as tf
import tape_api

X = np.array([[0.3, -0.7, 1.1], [0.9, 0.2, -0.4]])


def two_ranks(api: Any, choice: Any, x: Any) -> Any:
    return api.cond(choice, lambda: api.sin(x)[..., None], lambda: api.cos(x) * x)


def two_shapes(api: Any, choice: Any, x: Any) -> Any:
    return api.case([(choice, lambda: api.sin(x)[:, :2])], default=lambda: x**3)


WAYS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "jacobian": lambda api, y, x: api.jacobian(y, x),
    "forward": lambda api, y, x: api.jacobian(y, x, mode="forward"),
    "reverse": lambda api, y, x: api.jacobian(y, x, mode="reverse"),
    "batch_jacobian": lambda api, y, x: api.batch_jacobian(y, x),
    "hessian": lambda api, y, x: api.hessian(y, x),
    "hessian_diag": lambda api, y, x: api.hessian_diag(y, x),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("function", [two_ranks, two_shapes])
def test_each_branch_has_the_derivatives_that_a_tape_gives(function: Callable[..., Any], way: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, choice = tf.placeholder(tf.float64, X.shape), tf.placeholder(tf.bool, [])
        found = WAYS[way](tf, function(tf, choice, x), x)
        for chosen in (True, False, True):
            point = tape_api.constant(X)
            with tape_api.GradientTape() as tape:
                tape.watch(point)
                y = function(tape_api, tape_api.constant(chosen), point)
            expected = WAYS[way](tape, y, point)
            got = session.run(found, {x: X, choice: chosen})
            assert got.shape == expected.shape
            np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_what_no_path_leads_to_is_zero_also_beside_infinities(mode: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [2])
        found = tf.jacobian(tf.scan(lambda a, e: a, x), x, mode=mode)
        for value in (-np.inf, np.nan, -1.0):
            got = session.run(found, {x: [1.0, value]})
            np.testing.assert_array_equal(got, [[1.0, 0.0], [1.0, 0.0]])
            assert not np.signbit(got).any()


@pytest.mark.parametrize("mode", ["reverse", "forward", "auto"])
@pytest.mark.parametrize("nested", [False, True])
def test_branches_that_hand_on_what_has_another_rank(mode: str, nested: bool) -> None:
    """Nothing in the branch itself refuses the cotangents of the other one's result."""
    with tf.Graph().as_default(), tf.Session() as session:
        x, other = tf.placeholder("float64", [4]), tf.placeholder("float64", [None])
        pooled = tf.nn.avg_pool3d(tf.reshape(tf.tile(x, [12]), [1, 3, 4, 2, 2]), [1, 2, 2, 1, 1], [1] * 5, "VALID")
        matrix = tf.constant([[1.0, 2.0]], "float64")

        def inner() -> Any:
            return tf.cond(tf.reduce_sum(matrix) > 4.0, lambda: matrix, lambda: pooled) if nested else pooled

        y = tf.cond(tf.reduce_sum(pooled) < 1.0, inner, lambda: other)
        found = tf.jacobian(y, x, mode=mode)
        assert not session.run(found, {x: np.ones(4), other: np.ones(3)}).any()
        by_pooled = session.run(found, {x: -np.ones(4), other: np.ones(3)})
        expected = session.run(tf.jacobian(pooled, x), {x: -np.ones(4)})
        np.testing.assert_allclose(by_pooled, expected, rtol=1e-15)
