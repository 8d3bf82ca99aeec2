"""The classic programs of TensorFlow 2, with only the import line changed, and what must come out of them.

That TensorFlow gives the same is checked in `tests/test_tape_tensorflow.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tape_api as tf
from tests.tape_api import programs
from tests.tape_api.failing_programs import FAILING


def test_linear_regression() -> None:
    found = programs.linear_regression(tf)
    assert found["w"] == pytest.approx(3.0, abs=0.02) and found["b"] == pytest.approx(2.0, abs=0.02)
    assert found["n"] == 2 and found["loss"][-1] < 0.02 < 1.0 < found["loss"][0]


def test_polynomial_by_optimizer() -> None:
    loss, x, y = programs.polynomial_by_optimizer(tf)
    assert float(loss) < 1.0 and x * y == pytest.approx(3.0, abs=1.0)  # from 26.0 at (2, -1)


def test_keras_model() -> None:
    found = programs.keras_model(tf)
    losses = [loss for loss, _ in found["history"]]
    assert losses == sorted(losses, reverse=True)
    assert found["out"].shape == (3, 3) and len(found["weights"]) == 4
    for before, after in zip(programs.keras_weights(), found["weights"], strict=True):
        assert before.shape == after.shape and not np.array_equal(before, after)


def test_keras_regression() -> None:
    losses, weights = programs.keras_regression(tf)
    assert float(losses[-1]) < float(losses[0]) / 3
    assert [w.shape for w in weights] == [(3, 4), (4,), (4, 1), (1,)]


def test_custom_gradient() -> None:
    stable, clipped, y, output = programs.custom_gradient(tf)
    assert stable.numpy() == 1.0 and np.isinf(y.numpy())
    assert clipped.numpy() == 2.0 and output.numpy() == 4.0


def test_custom_gradient_of_second_order() -> None:
    y, dy, d2y, square, slope, curvature = (float(x) for x in programs.custom_gradient_of_second_order(tf))
    s = 1 / (1 + np.exp(-1.5))
    assert (y, dy, d2y) == pytest.approx((np.log1p(np.exp(1.5)), s, s * (1 - s)), rel=1e-5)
    assert (square, slope, curvature) == (2.25, 3.0, 10.0)


def test_custom_gradient_with_variables() -> None:
    assert [float(g) for g in programs.custom_gradient_with_variables(tf)] == [14.0, 22.0]


def test_jacobian_of_a_layer() -> None:
    dx, dw, db, rows, again = programs.jacobian_of_a_layer(tf)
    rng = np.random.default_rng(4)
    x, w = rng.normal(size=(3, 4)), rng.normal(size=(4, 2))
    slope = 1 - np.tanh(x @ w) ** 2
    expected = np.einsum("ij,kj->ijk", slope, w)
    np.testing.assert_allclose(rows, expected, rtol=1e-4)
    np.testing.assert_allclose(dx, np.einsum("ijk,il->ijlk", expected, np.eye(3)), rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(dw, np.einsum("ij,ik,jl->ijkl", slope, x, np.eye(2)), rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(db, np.einsum("ij,jl->ijl", slope, np.eye(2)), rtol=1e-4, atol=1e-7)
    np.testing.assert_array_equal(again, dw)


def test_higher_order() -> None:
    first, second, hessian, product = programs.higher_order(tf)
    assert (float(first), float(second)) == (3.0, 6.0)
    matrix = hessian.numpy().reshape(6, 6)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    rng = np.random.default_rng(5)
    w = rng.normal(size=(3, 2))
    rng.normal(size=(5, 3))
    vector = rng.normal(size=(3, 2))
    np.testing.assert_allclose(product, np.exp(np.sin(w)) * (np.cos(w) ** 2 - np.sin(w)) * vector, rtol=1e-10)


def test_gradient_penalty() -> None:
    penalty, gradients = programs.gradient_penalty(tf)
    assert penalty.shape == () and [g.shape.as_list() for g in gradients] == [[3, 5], [5, 1]]
    assert all(np.all(np.isfinite(g)) and np.any(g.numpy()) for g in gradients)


@pytest.mark.filterwarnings("ignore:variable .* is read:engine.runtime.errors.DetachWarning")
def test_variables_on_tapes() -> None:
    found = programs.variables_on_tapes(tf)
    assert [float(g) for g in found["reads"]] == [405.0, 81.0, 81.0, 81.0, 81.0]
    assert float(found["after"]) == 8.0 and float(found["both"]) == 413.0
    assert [None if g is None else float(g) for g in found["assigned"]] == [20.0, None]


@pytest.mark.filterwarnings("ignore:variable .* is read:engine.runtime.errors.DetachWarning")
@pytest.mark.parametrize("program", programs.PROGRAMS, ids=lambda p: p.__name__)
def test_programs_are_repeatable(program: Any) -> None:
    first, second = (tf.nest.flatten(program(tf)) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("program", FAILING.values(), ids=FAILING)
def test_failing_programs_say_what_is_wrong(program: Any) -> None:
    with pytest.raises((ValueError, TypeError, RuntimeError, AttributeError)) as caught:
        program(tf)
    assert len(str(caught.value)) > 15, "the message should say something"
