"""``tf.distributions``, beside TensorFlow and by sampling."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
from tests.peers import close, in_graph

A, B = np.array([0.4, 1.3], np.float32), np.array([0.7, 0.5], np.float32)
C, D = np.array([0.9, 0.2], np.float32), np.array([1.1, 0.8], np.float32)
V = np.array([[0.3, 0.6], [0.8, 0.1]], np.float32)

MADE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "Normal": lambda d, a, b: d.Normal(a, b),
    "Uniform": lambda d, a, b: d.Uniform(-a, b),
    "Gamma": lambda d, a, b: d.Gamma(a, b),
    "Exponential": lambda d, a, b: d.Exponential(b),
    "Beta": lambda d, a, b: d.Beta(a, b),
    "Bernoulli": lambda d, a, b: d.Bernoulli(logits=a - b),
    "Categorical": lambda d, a, b: d.Categorical(logits=[a[0], b[0], b[1]]),
    "Dirichlet": lambda d, a, b: d.Dirichlet([a, b]),
}


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MADE)
def test_beside_tensorflow(name: str) -> None:
    """Densities, moments, entropies, divergences, and their gradients in parameters and values."""
    tensorflow = pytest.importorskip("tensorflow").compat.v1

    def call(tf: Any, a: Any, b: Any, c: Any, d: Any, v: Any) -> Any:
        one, two = MADE[name](tf.distributions, a, b), MADE[name](tf.distributions, c, d)
        if name in ("Bernoulli", "Categorical"):
            v = tf.constant([[0, 1], [1, 0]])
        v = v / tf.reduce_sum(v, -1, keepdims=True) if name == "Dirichlet" else v
        results = [one.log_prob(v), one.prob(v), one.entropy()]
        results += [] if name == "Categorical" else [one.mean(), one.variance(), one.stddev()]
        results += [one.cdf(v)] if name in ("Normal", "Uniform", "Gamma") else []
        results += [] if name in ("Uniform", "Exponential") else [tf.distributions.kl_divergence(one, two)]
        return [sum(tf.reduce_sum(tf.cast(r, tf.float32)) for r in results), *results]

    ours, theirs = (in_graph(tf, call, (A, B, C, D, V)) for tf in (graph_api, tensorflow))
    close(ours, theirs, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", MADE)
def test_samples(name: str) -> None:
    """Of the right shape, around the right mean; gradients pass where they are said to."""
    tf = graph_api
    a, b = tf.constant(A), tf.constant(B)
    made = MADE[name](tf.distributions, a, b)
    samples = made.sample([4000], seed=3)
    with tf.Session() as session:
        found = session.run(samples)
        if name == "Categorical":
            assert found.shape == (4000,)
            np.testing.assert_allclose(np.bincount(found) / 4000, session.run(made.probs), atol=0.04)
        else:
            assert found.shape == (4000, *made.batch_shape.as_list(), *made.event_shape.as_list())
            mean, deviation = session.run([made.mean(), made.stddev()])
            np.testing.assert_allclose(found.mean(0), mean, atol=5 * deviation.max() / np.sqrt(4000))
            np.testing.assert_allclose(found.std(0), deviation, rtol=0.1)
        passes = tf.gradients(samples, b)[0] is not None
        assert passes == (made.reparameterization_type == tf.distributions.FULLY_REPARAMETERIZED)


def test_vectors() -> None:
    tf = graph_api
    made = tf.contrib.distributions.MultivariateNormalDiag(tf.constant([A, A]), tf.constant([B, B]))
    other = tf.contrib.distributions.MultivariateNormalDiag(loc=tf.zeros([2]), scale_identity_multiplier=1.0)
    parts = tf.distributions.Normal(A, B)
    assert (made.batch_shape.as_list(), made.event_shape.as_list()) == ([2], [2])
    with tf.Session() as session:
        np.testing.assert_allclose(
            session.run(made.log_prob(V)), session.run(tf.reduce_sum(parts.log_prob(V), 1)), rtol=1e-6
        )
        divergence = session.run(tf.distributions.kl_divergence(made, other))
        np.testing.assert_allclose(divergence, [np.sum(0.5 * (B**2 + A**2 - 1) - np.log(B))] * 2, rtol=1e-5)
        assert session.run(made.sample(5)).shape == (5, 2, 2)
    with pytest.raises(NotImplementedError, match="RegisterKL"):
        tf.distributions.kl_divergence(parts, tf.distributions.Uniform())
    with pytest.raises(ValueError, match="either"):
        tf.distributions.Bernoulli()


@pytest.mark.parametrize("static", [True, False])
def test_parameters_are_checked_if_asked_for(static: bool) -> None:
    modes = lambda d, bad: d.Dirichlet([3.0, bad], allow_nan_stats=False).mode()  # noqa: E731
    made: list[Callable[[Any, Any], Any]] = [
        lambda d, bad: d.Normal(bad, bad, validate_args=True).sample(),
        lambda d, bad: d.Uniform(0.0, bad, validate_args=True).sample(),
        lambda d, bad: d.Gamma(1.0, bad, validate_args=True).sample(),
        lambda d, bad: d.Exponential(bad, validate_args=True).sample(),
        lambda d, bad: d.Beta(bad, 1.0, validate_args=True).sample(),
        lambda d, bad: d.Bernoulli(probs=bad + 3.0, validate_args=True).sample(),
        lambda d, bad: d.Categorical(probs=[bad + 1.5, 0.7], validate_args=True).sample(),
        lambda d, bad: d.Dirichlet([1.0, bad], validate_args=True).sample(),
    ]
    for make in [*made, modes]:
        with graph_api.Graph().as_default(), graph_api.Session() as session:
            bad = graph_api.constant(-1.0) if static else graph_api.placeholder(graph_api.float32, [])
            with pytest.raises(graph_api.errors.InvalidArgumentError, match=r"assert"):
                session.run(make(graph_api.distributions, bad), None if static else {bad: -1.0})
