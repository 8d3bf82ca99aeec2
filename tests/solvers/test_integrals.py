"""Integrals inside derivatives: limits by Leibniz's rule, parameters under the integral sign."""

from typing import Any

import numpy as np
import pytest
import scipy.integrate

import graph_api
import tape_api as tf
from tests.solvers.differences import differences

T = tf.transforms
integrate = tf.experimental.scipy.integrate
POINT = np.array([0.2, 1.7, 2.3])


def ours(z: Any) -> Any:
    return integrate.quad(lambda x: np.sin(z[2] * x) * x, z[0], z[1])[0]


def theirs(z: np.ndarray) -> float:
    return scipy.integrate.quad(lambda x: np.sin(z[2] * x) * x, z[0], z[1])[0]


def test_value_and_error() -> None:
    value, error = integrate.quad(lambda x: x**2, 0.0, 3.0)
    assert np.isclose(value, 9.0) and 0 < float(error) < 1e-9


@pytest.mark.parametrize("mode", ["jacrev", "jacfwd"])
def test_limits_and_parameters(mode: str) -> None:
    np.testing.assert_allclose(getattr(T, mode)(ours)(POINT), differences(theirs, POINT), atol=1e-8)


@pytest.mark.parametrize("way", ["hessian", "reverse twice"])
def test_second_derivatives(way: str) -> None:
    found = T.hessian(ours) if way == "hessian" else T.jacrev(T.grad(ours))
    np.testing.assert_allclose(found(POINT), differences(T.grad(ours), POINT), atol=1e-7)


def test_infinite_limits() -> None:
    area = lambda rate, end: integrate.quad(lambda x: np.exp(-rate * x**2), -np.inf, end)[0]  # noqa: E731
    found = T.grad(area, (0, 1))(2.0, np.inf)
    np.testing.assert_allclose(found, [-0.25 * np.sqrt(np.pi / 2), 0.0], atol=1e-8)
    assert np.isclose(T.grad(area, 1)(2.0, 0.5), np.exp(-0.5))
    # exp(+x) has no value at the infinite limit that is not used
    rising = lambda end: integrate.quad(lambda x: np.exp(x), -np.inf, end)[0]  # noqa: E731
    assert np.isclose(T.grad(rising)(1.0), np.e)


def test_many_integrals_at_once() -> None:
    powers = np.arange(3.0)
    moments = lambda a: integrate.quad_vec(lambda x: np.exp(-a * x) * x**powers, 0.0, np.inf)[0]  # noqa: E731
    np.testing.assert_allclose(moments(2.0), [1 / 2, 1 / 4, 2 / 8], rtol=1e-8)
    np.testing.assert_allclose(T.jacrev(moments)(2.0), [-1 / 4, -2 / 8, -6 / 16], rtol=1e-7)
    areas = T.vmap(lambda a: integrate.quad(lambda x: np.exp(-a * x), 0.0, 1.0)[0])
    at = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(areas(at), (1 - np.exp(-at)) / at, rtol=1e-8)


def test_areas_and_volumes() -> None:
    triangle = lambda a: integrate.dblquad(lambda y, x: a * x * y, 0.0, 1.0, 0.0, lambda x: a * x)[0]  # noqa: E731
    assert np.isclose(triangle(2.0), 1.0) and np.isclose(T.grad(triangle)(2.0), 1.5)
    assert np.isclose(T.grad(T.grad(triangle))(2.0), 1.5)
    box = lambda a: integrate.nquad(lambda x, y, z: x * y * z, [(0, 1), (0, a), lambda: (0, a)])[0]  # noqa: E731
    assert np.isclose(T.grad(box)(2.0), 4.0)


def test_graphs_functions_and_scipys_own_name() -> None:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        z = graph_api.placeholder(graph_api.float64, [3])
        (slope,) = graph_api.gradients(ours(z), z)
        np.testing.assert_allclose(session.run(slope, {z: POINT}), differences(theirs, POINT), atol=1e-8)
    compiled = tf.function(lambda z: T.grad(theirs)(z))
    for _ in range(3):
        np.testing.assert_allclose(compiled(tf.constant(POINT)), differences(theirs, POINT), atol=1e-8)


def test_what_goes_wrong_is_said() -> None:
    with pytest.warns(scipy.integrate.IntegrationWarning):
        integrate.quad(lambda x: 1.0 / np.abs(x - 0.3), 0.0, 1.0)
    with pytest.raises(ValueError, match="quad_vec"):
        integrate.quad(lambda x: np.stack([x, x]), 0.0, 1.0)
    with pytest.raises(ValueError, match="argument `a`"):
        integrate.quad(lambda x: x, np.zeros(2), 1.0)
    assert np.isnan(integrate.quad(lambda x: x, np.nan, 1.0)[0])
