"""Matrices of covariances, mixtures and bijectors: beside SciPy, their own Jacobians, and samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import graph_api as tf

LOC, SPREAD = np.array([0.3, -0.4, 1.0]), np.array([0.5, 1.5, 0.8])
TRIL = np.array([[1.0, 0.0, 0.0], [0.4, 0.7, 0.0], [-0.3, 0.2, 1.3]])
COVARIANCE = TRIL @ TRIL.T
VALUES = np.random.default_rng(0).normal(size=(4, 3))
SHARES = np.array([0.2, 0.5, 0.3])

d = tf.contrib.distributions
b = d.bijectors


def mixture_of_numbers(value: Any) -> Any:
    return np.log(sum(p * stats.norm.pdf(value, m, s) for p, m, s in zip(SHARES, LOC, SPREAD, strict=True)))


LOG_PROBS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "tril": (
        lambda: d.MultivariateNormalTriL(LOC, TRIL),
        lambda v: stats.multivariate_normal.logpdf(v, LOC, COVARIANCE),
    ),
    "full": (
        lambda: d.MultivariateNormalFullCovariance(LOC, COVARIANCE),
        lambda v: stats.multivariate_normal.logpdf(v, LOC, COVARIANCE),
    ),
    "independent": (
        lambda: d.Independent(d.Normal(LOC, SPREAD), 1),
        lambda v: stats.norm.logpdf(v, LOC, SPREAD).sum(-1),
    ),
    "log normal": (lambda: d.LogNormal(LOC, SPREAD), lambda v: stats.lognorm.logpdf(v, SPREAD, scale=np.exp(LOC))),
    "mixture": (
        lambda: d.Mixture(
            d.Categorical(probs=SHARES),
            [d.Normal(tf.constant(m, tf.float64), s) for m, s in zip(LOC, SPREAD, strict=True)],
        ),
        mixture_of_numbers,
    ),
    "same family": (
        lambda: d.MixtureSameFamily(d.Categorical(probs=SHARES), d.Normal(LOC, SPREAD)),
        mixture_of_numbers,
    ),
    "affine": (
        lambda: d.TransformedDistribution(
            d.MultivariateNormalDiag(np.zeros(3), np.ones(3)), b.Affine(shift=LOC, scale_tril=TRIL)
        ),
        lambda v: stats.multivariate_normal.logpdf(v, LOC, COVARIANCE),
    ),
    "affine of numbers": (
        lambda: d.TransformedDistribution(d.Normal(np.zeros(3), np.ones(3)), b.Affine(LOC, scale_diag=SPREAD)),
        lambda v: stats.norm.logpdf(v, LOC, SPREAD).sum(-1),
    ),
}


def run(make: Callable[[], Any]) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(make())


@pytest.mark.parametrize("name", LOG_PROBS)
def test_densities_are_those_of_scipy(name: str) -> None:
    make, expected = LOG_PROBS[name]
    values = np.exp(VALUES) if name == "log normal" else VALUES
    np.testing.assert_allclose(run(lambda: make().log_prob(values)), expected(values), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", LOG_PROBS)
def test_gradients_are_those_of_differences(name: str) -> None:
    make, expected = LOG_PROBS[name]
    values = np.exp(VALUES) if name == "log normal" else VALUES

    def slope() -> Any:
        x = tf.constant(values)
        return tf.gradients(tf.reduce_sum(make().log_prob(x)), x)[0]

    way = np.random.default_rng(1).normal(size=values.shape)
    ahead, behind = (np.sum(expected(values + h * way)) for h in (1e-6, -1e-6))
    np.testing.assert_allclose(np.sum(run(slope) * way), (ahead - behind) / 2e-6, rtol=1e-6)


@pytest.mark.parametrize("name", LOG_PROBS)
def test_samples_have_the_moments(name: str) -> None:
    make = LOG_PROBS[name][0]

    def moments() -> Any:
        tf.set_random_seed(3)
        distribution = make()
        drawn = distribution.sample(40_000)
        shown = [] if "affine" in name else [distribution.mean(), distribution.variance()]
        return [tf.shape(drawn), *tf.nn.moments(drawn, [0]), *shown]

    shape, mean, variance, *shown = run(moments)
    assert shape[0] == 40_000
    if shown:
        np.testing.assert_allclose(mean, shown[0], atol=0.05, rtol=0.05)
        np.testing.assert_allclose(variance, shown[1], rtol=0.3 if name == "log normal" else 0.05)
    if name == "affine":
        np.testing.assert_allclose(variance, np.diag(COVARIANCE), rtol=0.05)


BIJECTORS: dict[str, Callable[[], Any]] = {
    "identity": lambda: b.Identity(),
    "exp": lambda: b.Exp(),
    "sigmoid": lambda: b.Sigmoid(),
    "tanh": lambda: b.Tanh(),
    "softplus": lambda: b.Softplus(),
    "soft hinge": lambda: b.Softplus(hinge_softness=2.0),
    "power": lambda: b.PowerTransform(0.2),
    "no power": lambda: b.PowerTransform(0.0),
    "scalar": lambda: b.AffineScalar(LOC, SPREAD),
    "affine": lambda: b.Affine(LOC, 0.5, SPREAD, TRIL),
    "diagonal": lambda: b.Affine(LOC, scale_diag=SPREAD),
    "shift": lambda: b.Affine(LOC),
    "invert": lambda: b.Invert(b.Exp()),
    "chain": lambda: b.Chain([b.Exp(), b.Affine(LOC, scale_tril=TRIL), b.Tanh()]),
    "inline": lambda: b.Inline(tf.exp, tf.math.log, inverse_log_det_jacobian_fn=lambda y: -tf.math.log(y)),
}


@pytest.mark.parametrize("name", BIJECTORS)
def test_determinants_are_those_of_jacobians(name: str) -> None:
    """There and back again; the logarithms of both ways, beside the Jacobian that is computed."""
    at = np.array([0.7, 0.4, 1.2])

    def both() -> Any:
        bijector, x = BIJECTORS[name](), tf.constant(at)
        y = bijector.forward(x)
        return [
            bijector.inverse(y),
            bijector.forward_log_det_jacobian(x, event_ndims=1),
            bijector.inverse_log_det_jacobian(y, event_ndims=1),
            tf.jacobian(y, x),
        ]

    back, forward, inverse, jacobian = run(both)
    expected = np.linalg.slogdet(jacobian)[1]
    np.testing.assert_allclose(back, at, rtol=1e-12)
    np.testing.assert_allclose([forward, -inverse], [expected, expected], rtol=1e-11, atol=1e-12)


def test_divergence_of_covariances() -> None:
    other = np.diag([0.5, 0.9, 1.1])
    got = run(
        lambda: d.kl_divergence(
            d.MultivariateNormalFullCovariance(LOC, COVARIANCE), d.MultivariateNormalFullCovariance(-LOC, other)
        )
    )
    inverse = np.linalg.inv(other)
    expected = np.trace(inverse @ COVARIANCE) + 4 * LOC @ inverse @ LOC - 3
    expected += np.linalg.slogdet(other)[1] - np.linalg.slogdet(COVARIANCE)[1]
    np.testing.assert_allclose(got, 0.5 * expected, rtol=1e-12)


def test_entropies() -> None:
    expected = stats.multivariate_normal(LOC, COVARIANCE).entropy()
    np.testing.assert_allclose(run(lambda: d.MultivariateNormalTriL(LOC, TRIL).entropy()), expected)
    np.testing.assert_allclose(
        run(lambda: d.LogNormal(LOC, SPREAD).entropy()), stats.lognorm(SPREAD, scale=np.exp(LOC)).entropy()
    )


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="scale_tril"):
        d.MultivariateNormalTriL(LOC)
    with pytest.raises(TypeError, match="Categorical"):
        d.Mixture(SHARES, [d.Normal(0.0, 1.0)])
    with pytest.raises(ValueError, match="reinterpreted_batch_ndims"):
        d.Independent(d.Normal(0.0, 1.0), 1)
    with pytest.raises(NotImplementedError, match="event_shape"):
        d.TransformedDistribution(d.Normal(0.0, 1.0), b.Exp(), event_shape=[2])
    with pytest.raises(ValueError, match="event_ndims"):
        b.Affine(LOC).forward_log_det_jacobian(LOC, event_ndims=0)
