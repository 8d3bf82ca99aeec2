"""Discrete distributions by SciPy's names: differentiable in their parameters (see `continuous` for the sources)."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.numpy_api.stats.distribution import discrete, positive
from engine.ops.compare import where
from engine.ops.creation import ones_like
from engine.ops.explog import expm1, log1p
from engine.ops.likelihood import log1p_over
from engine.ops.scipy_special import betaincc, log_of_power, log_of_power1p
from engine.ops.special import betainc, igamma, igammac, lgamma, zeta
from engine.runtime.lazy_scipy import scipy


def _betaln(a: Any, b: Any) -> Any:
    return scipy.special.betaln(a, b)


def _from_one(*_: Any) -> Any:
    return 1.0, None


def _share(p: Any) -> Any:
    return np.logical_and(p >= 0.0, p <= 1.0)


def _binomial(k: Any, n: Any, p: Any) -> Any:
    chosen = lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0)
    return chosen + log_of_power(k, p) + log_of_power1p(n - k, -p)


def _binomial_tail(k: Any, n: Any, p: Any) -> Any:
    """The probability of more than k; of more than n there is none."""
    last = k >= n
    return where(last, 0.0 * p, betainc(k + 1.0, where(last, ones_like(n - k), n - k), p))


def _binomial_cdf(k: Any, n: Any, p: Any) -> Any:
    last = k >= n
    return where(last, ones_like(p), betaincc(k + 1.0, where(last, ones_like(n - k), n - k), p))


DISCRETE = {
    "poisson": discrete(
        ("mu",),
        lambda k, mu: log_of_power(k, mu) - lgamma(k + 1.0) - mu,
        cdf=lambda k, mu: igammac(k + 1.0, mu),
        sf=lambda k, mu: igamma(k + 1.0, mu),
        support=positive,
        valid=lambda mu: mu >= 0.0,
    ),
    "bernoulli": discrete(
        ("p",),
        lambda k, p: log_of_power(k, p) + log_of_power1p(1.0 - k, -p),
        cdf=lambda k, p: where(k < 1.0, 1.0 - p, ones_like(p)),
        sf=lambda k, p: where(k < 1.0, p, 0.0 * p),
        support=lambda p: (0.0, 1.0),
        valid=_share,
    ),
    "binom": discrete(
        ("n", "p"),
        _binomial,
        cdf=_binomial_cdf,
        sf=_binomial_tail,
        support=lambda n, p: (0.0, n),
        valid=lambda n, p: np.logical_and(n >= 0.0, _share(p)),
    ),
    "nbinom": discrete(
        ("n", "p"),
        lambda k, n, p: lgamma(n + k) - lgamma(k + 1.0) - lgamma(n) + n * np.log(p) + log_of_power1p(k, -p),
        cdf=lambda k, n, p: betainc(n, k + 1.0, p),
        sf=lambda k, n, p: betaincc(n, k + 1.0, p),
        support=positive,
        valid=lambda n, p: np.logical_and(n > 0.0, np.logical_and(p > 0.0, p <= 1.0)),
    ),
    "betabinom": discrete(
        ("n", "a", "b"),
        lambda k, n, a, b: -np.log(n + 1.0) - _betaln(n - k + 1.0, k + 1.0) + _betaln(k + a, n - k + b) - _betaln(a, b),
        support=lambda n, a, b: (0.0, n),
        valid=lambda n, a, b: np.logical_and(n >= 0.0, np.logical_and(a > 0.0, b > 0.0)),
    ),
    "geom": discrete(
        ("p",),
        lambda k, p: log_of_power1p(k - 1.0, -p) + np.log(p),
        logsf=lambda k, p: k * log1p(-p),
        support=_from_one,
        valid=lambda p: np.logical_and(p > 0.0, p <= 1.0),
    ),
    "logser": discrete(
        ("p",),
        lambda k, p: (k - 1.0) * np.log(p) - np.log(k) - np.log(log1p_over(ones_like(p), -p)),
        support=_from_one,
        valid=lambda p: np.logical_and(p > 0.0, p < 1.0),
    ),
    "zipf": discrete(
        ("a",), lambda k, a: -a * np.log(k) - np.log(zeta(a, ones_like(a))), support=_from_one, valid=lambda a: a > 1.0
    ),
    "planck": discrete(
        ("lambda_",),
        lambda k, rate: np.log(-expm1(-rate)) - rate * k,
        logsf=lambda k, rate: -rate * (k + 1.0),
        support=positive,
    ),
    "dlaplace": discrete(("a",), lambda k, a: np.log(np.tanh(0.5 * a)) - a * np.abs(k)),
}
"""By SciPy's name."""
