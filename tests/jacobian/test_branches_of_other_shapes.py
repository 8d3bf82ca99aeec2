"""Jacobians and Hessians through a `cond` or `case` whose branches differ in shape or rank, against a tape."""

from __future__ import annotations

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
