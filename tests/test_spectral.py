"""Functions of eigenvalues and singular values where these coincide, nearly coincide or are zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.core.value import dtype_of

Fn = Callable[[Any, Any], Any]


def symmetric(tf: Any, x: Any) -> Any:
    return (x + tf.linalg.matrix_transpose(x)) / 2


def gram(tf: Any, x: Any) -> Any:
    return tf.matmul(x, x, transpose_a=True)


FUNCTIONS: dict[str, tuple[Fn, Fn]] = {
    "sum of logarithms": (
        lambda tf, x: tf.reduce_sum(tf.math.log(tf.linalg.eigvalsh(symmetric(tf, x)))),
        lambda tf, x: tf.linalg.slogdet(symmetric(tf, x))[1],
    ),
    "product": (
        lambda tf, x: tf.reduce_prod(tf.linalg.eigvalsh(symmetric(tf, x))),
        lambda tf, x: tf.linalg.det(symmetric(tf, x)),
    ),
    "sum of exponentials": (
        lambda tf, x: tf.reduce_sum(tf.exp(tf.linalg.eigh(symmetric(tf, x))[0])),
        lambda tf, x: tf.linalg.trace(tf.linalg.expm(symmetric(tf, x))),
    ),
    "trace": (
        lambda tf, x: tf.reduce_sum(tf.linalg.eigvalsh(symmetric(tf, x))),
        lambda tf, x: tf.linalg.trace(x),
    ),
    "squares of singular values": (
        lambda tf, x: tf.reduce_sum(tf.linalg.svd(x, compute_uv=False) ** 2),
        lambda tf, x: tf.reduce_sum(x * x),
    ),
    "fourth powers of singular values": (
        lambda tf, x: tf.reduce_sum(tf.linalg.svd(x)[0] ** 4),
        lambda tf, x: tf.reduce_sum(tf.square(gram(tf, x))),
    ),
    "logarithms of 1 + s ** 2": (
        lambda tf, x: tf.reduce_sum(tf.math.log(1.0 + tf.linalg.svd(x, compute_uv=False) ** 2)),
        lambda tf, x: tf.linalg.slogdet(tf.eye(3, dtype=dtype_of(x)) + gram(tf, x))[1],
    ),
}
TURN = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
SQUARE = {
    "0.4 I": 0.4 * np.eye(3),
    "two equal": np.diag([1.0, 1.0, 2.0]),
    "two equal, turned": TURN @ np.diag([1.0, 1.0, 2.0]) @ TURN.T,
    "1e-9 apart": TURN @ np.diag([1.0, 1.0 + 1e-9, 2.0]) @ TURN.T,
    "distinct": TURN @ np.diag([1.0, 1.5, 2.0]) @ TURN.T,
}
OTHERS = {
    "singular": np.diag([1.0, 0.0, 0.0]),
    "tall": np.eye(4)[:, :3],
    "tall zeros": np.zeros((4, 3)),
    "wide": TURN[:2],
    "a stack": np.stack([0.4 * np.eye(3), np.diag([1.0, 1.0, 2.0])]),
}
EVERY = {**SQUARE, **OTHERS}
CASES = [(name, at) for name in FUNCTIONS for at in (EVERY if "singular" in name or "s **" in name else SQUARE)]


def derivatives(fn: Fn, at: np.ndarray, dtype: str = "float64") -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The gradient and the Hessian, found in several ways."""
    x = tape_api.constant(at, dtype)
    with tape_api.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tape_api.GradientTape() as inner:
            inner.watch(x)
            y = tape_api.reduce_sum(fn(tape_api, x))
        slope = inner.gradient(y, x)
        parts = tape_api.unstack(tape_api.reshape(slope, [-1]))
    found = {
        "jacobian of the gradient": outer.jacobian(slope, x, unconnected_gradients="zero"),
        "gradients of the gradient": np.stack([outer.gradient(p, x, unconnected_gradients="zero") for p in parts]),
        "hessian": outer.hessian(y, x),
        "hvp": np.stack([outer.hvp(y, x, e.reshape(at.shape)) for e in np.eye(at.size, dtype=dtype)]),
    }
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        source = graph_api.placeholder(dtype, at.shape)
        (matrix,) = graph_api.hessians(graph_api.reduce_sum(fn(graph_api, source)), source)
        found["hessians in a graph"] = session.run(matrix, {source: at})
    return np.asarray(slope), {way: np.reshape(m, (at.size, at.size)) for way, m in found.items()}


@pytest.mark.parametrize(("name", "at"), CASES)
def test_second_derivatives_are_right(name: str, at: str) -> None:
    fn, same = FUNCTIONS[name]
    expected_slope, expected = derivatives(same, EVERY[at])
    slope, found = derivatives(fn, EVERY[at])
    np.testing.assert_allclose(slope, expected_slope, atol=1e-10)
    for way, matrix in found.items():
        np.testing.assert_allclose(matrix, expected["hessian"], atol=1e-7, err_msg=way)


@pytest.mark.parametrize("name", ["sum of logarithms", "squares of singular values"])
def test_in_single_precision_and_again(name: str) -> None:
    """Also by walks that are compiled: they are after some repetitions."""
    fn, same = FUNCTIONS[name]
    for _ in range(4):
        _, expected = derivatives(same, SQUARE["two equal"], "float32")
        _, found = derivatives(fn, SQUARE["two equal"], "float32")
        for way, matrix in found.items():
            np.testing.assert_allclose(matrix, expected["hessian"], atol=2e-3, err_msg=way)


def test_hermitian_matrices() -> None:
    """Of ``x + i y`` with symmetric x and antisymmetric y, at the identity."""

    def fn(tf: Any, x: Any) -> Any:
        re, im = tf.unstack(x)
        skew = im - tf.linalg.matrix_transpose(im)
        return tf.reduce_sum(tf.math.real(tf.linalg.eigvalsh(tf.complex(symmetric(tf, re), skew))) ** 3)

    def same(tf: Any, x: Any) -> Any:
        re, im = tf.unstack(x)
        whole = tf.complex(symmetric(tf, re), im - tf.linalg.matrix_transpose(im))
        return tf.math.real(tf.linalg.trace(whole @ whole @ whole))

    at = np.stack([np.eye(2), np.zeros((2, 2))])
    _, expected = derivatives(same, at)
    _, found = derivatives(fn, at)
    for way, matrix in found.items():
        np.testing.assert_allclose(matrix, expected["hessian"], atol=1e-10, err_msg=way)


def test_the_largest_of_equal_eigenvalues_has_no_second_derivative() -> None:
    _, found = derivatives(lambda tf, x: tf.linalg.eigvalsh(symmetric(tf, x))[-1], np.eye(2))
    for way, matrix in found.items():
        assert not np.isfinite(matrix).all(), way
