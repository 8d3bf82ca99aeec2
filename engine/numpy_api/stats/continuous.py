"""Continuous distributions of special functions, in standard form, by SciPy's names and with its parameters.

The formulas are those of SciPy's documentation (https://docs.scipy.org/doc/scipy/reference/stats.html) and of N. L.
Johnson, S. Kotz and N. Balakrishnan, Continuous Univariate Distributions, 2nd ed., 1994 and 1995.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.numpy_api.stats.distribution import Distribution, positive, unit
from engine.ops.compare import where
from engine.ops.creation import ones_like
from engine.ops.explog import log1p
from engine.ops.special import betainc, erf, erfc, igamma, igammac, lgamma, xlog1py, xlogy
from engine.runtime.lazy_scipy import scipy

_LOG_ROOT = 0.5 * math.log(2 * math.pi)
_ROOT_HALF = math.sqrt(0.5)


def _special(name: str, *args: Any) -> Any:
    """One of SciPy's ufuncs, which arrives at our op."""
    return getattr(scipy.special, name)(*args)


def _ndtr(x: Any) -> Any:
    return _special("ndtr", x)


def _log_ndtr(x: Any) -> Any:
    return _special("log_ndtr", x)


def _betaln(a: Any, b: Any) -> Any:
    return _special("betaln", a, b)


def _normal(x: Any) -> Any:
    return -0.5 * x * x - _LOG_ROOT


def _log_difference(larger: Any, smaller: Any) -> Any:
    """The logarithm of a difference of which the logarithms are given."""
    return larger + log1p(-np.exp(smaller - larger))


def _log_sum(a: Any, b: Any) -> Any:
    return np.logaddexp(a, b)


# ---- normal and its kin ----------------------------------------------------------------------------------------------

NORM = Distribution(
    (),
    _normal,
    cdf=_ndtr,
    sf=lambda x: _ndtr(-x),
    logcdf=_log_ndtr,
    logsf=lambda x: _log_ndtr(-x),
    ppf=lambda q: _special("ndtri", q),
    isf=lambda q: -_special("ndtri", q),
)


def _truncated_mass(a: Any, b: Any) -> Any:
    """The logarithm of the normal probability between two numbers, from the tail that both are nearer to."""
    flipped = a > 0.0
    low, high = where(flipped, -b, a), where(flipped, -a, b)
    return _log_difference(_log_ndtr(high), _log_ndtr(low))


def _inverse_gauss_tail(x: Any, mu: Any, sign: float) -> Any:
    root = 1.0 / np.sqrt(x)
    first = _log_ndtr(sign * root * (x / mu - 1.0))
    second = 2.0 / mu + _log_ndtr(-root * (x / mu + 1.0))
    return first, np.exp(second - first)


def _inverse_gauss_logcdf(x: Any, mu: Any) -> Any:
    first, ratio = _inverse_gauss_tail(x, mu, 1.0)
    return first + log1p(ratio)


def _inverse_gauss_logsf(x: Any, mu: Any) -> Any:
    first, ratio = _inverse_gauss_tail(x, mu, -1.0)
    return first + log1p(-ratio)


def _inverse_gauss(x: Any, mu: Any) -> Any:
    return -_LOG_ROOT - 1.5 * np.log(x) - np.square((x - mu) / mu) / (2.0 * x)


def _exponnorm_left(x: Any, k: Any) -> Any:
    return 0.5 / np.square(k) - x / k + _log_ndtr(x - 1.0 / k)


def _norminvgauss(x: Any, a: Any, b: Any) -> Any:
    root = np.sqrt(1.0 + x * x)
    bessel = np.log(_special("k1e", a * root))
    return np.log(a / math.pi) + bessel + b * x - a * root + np.sqrt(a * a - b * b) - np.log(root)


_OF_NORMAL = {
    "norm": NORM,
    "halfnorm": Distribution(
        (),
        lambda x: 0.5 * math.log(2 / math.pi) - 0.5 * x * x,
        cdf=lambda x: erf(x * _ROOT_HALF),
        sf=lambda x: erfc(x * _ROOT_HALF),
        support=positive,
    ),
    "lognorm": Distribution(
        ("s",),
        lambda x, s: _normal(np.log(x) / s) - np.log(s * x),
        cdf=lambda x, s: _ndtr(np.log(x) / s),
        sf=lambda x, s: _ndtr(-np.log(x) / s),
        logcdf=lambda x, s: _log_ndtr(np.log(x) / s),
        logsf=lambda x, s: _log_ndtr(-np.log(x) / s),
        ppf=lambda q, s: np.exp(s * _special("ndtri", q)),
        isf=lambda q, s: np.exp(-s * _special("ndtri", q)),
        support=positive,
        open_at=(True, False),
    ),
    "truncnorm": Distribution(
        ("a", "b"),
        lambda x, a, b: _normal(x) - _truncated_mass(a, b),
        logcdf=lambda x, a, b: _truncated_mass(a, x) - _truncated_mass(a, b),
        logsf=lambda x, a, b: _truncated_mass(x, b) - _truncated_mass(a, b),
        support=lambda a, b: (a, b),
        valid=lambda a, b: a < b,
    ),
    "skewnorm": Distribution(
        ("a",),
        lambda x, a: math.log(2) + _normal(x) + _log_ndtr(a * x),
        cdf=lambda x, a: _ndtr(x) - 2.0 * _special("owens_t", x, a),
        sf=lambda x, a: _ndtr(-x) + 2.0 * _special("owens_t", x, a),
        valid=np.isfinite,
    ),
    "powernorm": Distribution(
        ("c",),
        lambda x, c: np.log(c) + _normal(x) + (c - 1.0) * _log_ndtr(-x),
        logsf=lambda x, c: c * _log_ndtr(-x),
    ),
    "foldnorm": Distribution(
        ("c",),
        lambda x, c: _log_sum(_normal(x + c), _normal(x - c)),
        cdf=lambda x, c: _ndtr(x - c) - _ndtr(-x - c),
        sf=lambda x, c: _ndtr(c - x) + _ndtr(-x - c),
        support=positive,
        valid=lambda c: c >= 0.0,
    ),
    "exponnorm": Distribution(
        ("K",),
        lambda x, k: _exponnorm_left(x, k) - np.log(k),
        cdf=lambda x, k: _ndtr(x) - np.exp(_exponnorm_left(x, k)),
        sf=lambda x, k: _ndtr(-x) + np.exp(_exponnorm_left(x, k)),
    ),
    "johnsonsu": Distribution(
        ("a", "b"),
        lambda x, a, b: np.log(b) - 0.5 * log1p(x * x) + _normal(a + b * np.arcsinh(x)),
        logcdf=lambda x, a, b: _log_ndtr(a + b * np.arcsinh(x)),
        logsf=lambda x, a, b: _log_ndtr(-a - b * np.arcsinh(x)),
        valid=lambda a, b: np.logical_and(b > 0.0, np.equal(a, a)),
    ),
    "johnsonsb": Distribution(
        ("a", "b"),
        lambda x, a, b: np.log(b) - np.log(x) - log1p(-x) + _normal(a + b * _special("logit", x)),
        logcdf=lambda x, a, b: _log_ndtr(a + b * _special("logit", x)),
        logsf=lambda x, a, b: _log_ndtr(-a - b * _special("logit", x)),
        support=unit,
        valid=lambda a, b: np.logical_and(b > 0.0, np.equal(a, a)),
        open_at=(True, True),
    ),
    "fatiguelife": Distribution(
        ("c",),
        lambda x, c: log1p(x) - np.square(x - 1.0) / (2.0 * x * c * c) - np.log(2.0 * c) - _LOG_ROOT - 1.5 * np.log(x),
        logcdf=lambda x, c: _log_ndtr((np.sqrt(x) - 1.0 / np.sqrt(x)) / c),
        logsf=lambda x, c: _log_ndtr((1.0 / np.sqrt(x) - np.sqrt(x)) / c),
        support=positive,
        open_at=(True, False),
    ),
    "invgauss": Distribution(
        ("mu",),
        _inverse_gauss,
        logcdf=_inverse_gauss_logcdf,
        logsf=_inverse_gauss_logsf,
        support=positive,
        open_at=(True, False),
    ),
    "wald": Distribution(
        (),
        lambda x: _inverse_gauss(x, ones_like(x)),
        logcdf=lambda x: _inverse_gauss_logcdf(x, ones_like(x)),
        logsf=lambda x: _inverse_gauss_logsf(x, ones_like(x)),
        support=positive,
        open_at=(True, False),
    ),
    "norminvgauss": Distribution(("a", "b"), _norminvgauss, valid=lambda a, b: np.logical_and(a > 0.0, np.abs(b) < a)),
    "levy": Distribution(
        (),
        lambda x: -_LOG_ROOT - 1.5 * np.log(x) - 0.5 / x,
        cdf=lambda x: erfc(np.sqrt(0.5 / x)),
        sf=lambda x: erf(np.sqrt(0.5 / x)),
        support=positive,
        open_at=(True, False),
    ),
    "moyal": Distribution(
        (),
        lambda x: -0.5 * (x + np.exp(-x)) - _LOG_ROOT,
        cdf=lambda x: erfc(np.exp(-0.5 * x) * _ROOT_HALF),
        sf=lambda x: erf(np.exp(-0.5 * x) * _ROOT_HALF),
    ),
}

# ---- of gamma functions ----------------------------------------------------------------------------------------------


def _gamma(x: Any, a: Any) -> Any:
    return xlogy(a - 1.0, x) - x - lgamma(a)


_GAMMA = Distribution(
    ("a",),
    _gamma,
    cdf=lambda x, a: igamma(a, x),
    sf=lambda x, a: igammac(a, x),
    ppf=lambda q, a: _special("gammaincinv", a, q),
    isf=lambda q, a: _special("gammainccinv", a, q),
    support=positive,
)


def _student(x: Any, df: Any) -> Any:
    half = (df + 1.0) / 2.0
    return lgamma(half) - lgamma(df / 2.0) - 0.5 * np.log(df * math.pi) - half * log1p(x * x / df)


def _gennorm_tail(x: Any, beta: Any) -> Any:
    return 0.5 * np.sign(x) * igammac(1.0 / beta, np.abs(x) ** beta)


_OF_GAMMA = {
    "gamma": _GAMMA,
    "erlang": _GAMMA,
    "chi2": Distribution(
        ("df",),
        lambda x, df: _gamma(x / 2.0, df / 2.0) - math.log(2),
        cdf=lambda x, df: igamma(df / 2.0, x / 2.0),
        sf=lambda x, df: igammac(df / 2.0, x / 2.0),
        ppf=lambda q, df: 2.0 * _special("gammaincinv", df / 2.0, q),
        isf=lambda q, df: 2.0 * _special("gammainccinv", df / 2.0, q),
        support=positive,
    ),
    "chi": Distribution(
        ("df",),
        lambda x, df: (1.0 - 0.5 * df) * math.log(2) - lgamma(0.5 * df) + xlogy(df - 1.0, x) - 0.5 * x * x,
        cdf=lambda x, df: igamma(0.5 * df, 0.5 * x * x),
        sf=lambda x, df: igammac(0.5 * df, 0.5 * x * x),
        support=positive,
    ),
    "invgamma": Distribution(
        ("a",),
        lambda x, a: -(a + 1.0) * np.log(x) - lgamma(a) - 1.0 / x,
        cdf=lambda x, a: igammac(a, 1.0 / x),
        sf=lambda x, a: igamma(a, 1.0 / x),
        ppf=lambda q, a: 1.0 / _special("gammainccinv", a, q),
        isf=lambda q, a: 1.0 / _special("gammaincinv", a, q),
        support=positive,
        open_at=(True, False),
    ),
    "gengamma": Distribution(
        ("a", "c"),
        lambda x, a, c: np.log(np.abs(c)) + xlogy(c * a - 1.0, x) - x**c - lgamma(a),
        cdf=lambda x, a, c: where(c > 0.0, igamma(a, x**c), igammac(a, x**c)),
        sf=lambda x, a, c: where(c > 0.0, igammac(a, x**c), igamma(a, x**c)),
        support=positive,
        valid=lambda a, c: np.logical_and(a > 0.0, np.not_equal(c, 0.0)),
    ),
    "loggamma": Distribution(
        ("c",),
        lambda x, c: c * x - np.exp(x) - lgamma(c),
        cdf=lambda x, c: igamma(c, np.exp(x)),
        sf=lambda x, c: igammac(c, np.exp(x)),
    ),
    "maxwell": Distribution(
        (),
        lambda x: 0.5 * math.log(2 / math.pi) + 2.0 * np.log(x) - 0.5 * x * x,
        cdf=lambda x: igamma(1.5 * ones_like(x), 0.5 * x * x),
        sf=lambda x: igammac(1.5 * ones_like(x), 0.5 * x * x),
        support=positive,
    ),
    "nakagami": Distribution(
        ("nu",),
        lambda x, nu: math.log(2) + xlogy(nu, nu) - lgamma(nu) + xlogy(2.0 * nu - 1.0, x) - nu * x * x,
        cdf=lambda x, nu: igamma(nu, nu * x * x),
        sf=lambda x, nu: igammac(nu, nu * x * x),
        support=positive,
    ),
    "gennorm": Distribution(
        ("beta",),
        lambda x, beta: np.log(0.5 * beta) - lgamma(1.0 / beta) - np.abs(x) ** beta,
        cdf=lambda x, beta: 0.5 + 0.5 * np.sign(x) - _gennorm_tail(x, beta),
        sf=lambda x, beta: 0.5 - 0.5 * np.sign(x) + _gennorm_tail(x, beta),
    ),
    "dgamma": Distribution(("a",), lambda x, a: _gamma(np.abs(x), a) - math.log(2)),
    "t": Distribution(
        ("df",),
        _student,
        cdf=lambda x, df: _special("stdtr", df, x),
        sf=lambda x, df: _special("stdtr", df, -x),
        ppf=lambda q, df: _special("stdtrit", df, q),
        isf=lambda q, df: -_special("stdtrit", df, q),
    ),
    "vonmises": Distribution(
        ("kappa",),
        lambda x, kappa: kappa * _special("cosm1", x) - math.log(2 * math.pi) - np.log(_special("i0e", kappa)),
        valid=lambda kappa: kappa >= 0.0,
    ),
    "rice": Distribution(
        ("b",),
        lambda x, b: np.log(x) - 0.5 * np.square(x - b) + np.log(_special("i0e", x * b)),
        support=positive,
        valid=lambda b: b >= 0.0,
    ),
}

# ---- of beta functions -----------------------------------------------------------------------------------------------


def _beta(x: Any, a: Any, b: Any) -> Any:
    return xlog1py(b - 1.0, -x) + xlogy(a - 1.0, x) - _betaln(a, b)


def _fisher(x: Any, n: Any, m: Any) -> Any:
    start = 0.5 * (m * np.log(m) + n * np.log(n)) + xlogy(0.5 * n - 1.0, x)
    return start - 0.5 * (n + m) * np.log(m + n * x) - _betaln(0.5 * n, 0.5 * m)


_OF_BETA = {
    "beta": Distribution(
        ("a", "b"),
        _beta,
        cdf=lambda x, a, b: betainc(a, b, x),
        sf=lambda x, a, b: betainc(b, a, 1.0 - x),
        ppf=lambda q, a, b: _special("betaincinv", a, b, q),
        isf=lambda q, a, b: 1.0 - _special("betaincinv", b, a, q),
        support=unit,
    ),
    "betaprime": Distribution(
        ("a", "b"),
        lambda x, a, b: xlogy(a - 1.0, x) - xlog1py(a + b, x) - _betaln(a, b),
        cdf=lambda x, a, b: betainc(a, b, x / (1.0 + x)),
        sf=lambda x, a, b: betainc(b, a, 1.0 / (1.0 + x)),
        support=positive,
    ),
    "f": Distribution(
        ("dfn", "dfd"),
        _fisher,
        cdf=lambda x, n, m: _special("fdtr", n, m, x),
        sf=lambda x, n, m: _special("fdtrc", n, m, x),
        support=positive,
    ),
}

CONTINUOUS = {**_OF_NORMAL, **_OF_GAMMA, **_OF_BETA}
"""By SciPy's name."""
