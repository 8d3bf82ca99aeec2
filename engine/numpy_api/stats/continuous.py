"""Continuous distributions of special functions, in standard form, by SciPy's names and with its parameters.

The formulas are those of SciPy's documentation (https://docs.scipy.org/doc/scipy/reference/stats.html) and of N. L.
Johnson, S. Kotz and N. Balakrishnan, Continuous Univariate Distributions, 2nd ed., 1994 and 1995.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.numpy_api.functions import constant
from engine.numpy_api.stats.distribution import Distribution, on_positive, on_unit
from engine.ops.compare import where
from engine.ops.creation import ones_like
from engine.ops.distribution_tails import (
    beta_isf,
    beta_prime_cdf,
    beta_prime_sf,
    log_beta_prime_cdf,
    log_beta_prime_sf,
    log_folded,
    log_normal_beyond,
    log_normal_mass,
    log_normal_within,
    log_truncated_cdf,
    normal_beyond,
    normal_within,
    power_tail,
    skew_normal,
    truncated_cdf,
)
from engine.ops.explog import log1p
from engine.ops.likelihood import (
    exp_minus,
    log_betainc,
    log_betaincc,
    log_erf,
    log_erfc,
    log_i0e,
    log_igamma,
    log_igammac,
    log_one_minus_exp,
    log_rice,
    log_stdtr,
    one_minus_exp,
)
from engine.ops.scipy_special import betaincc, log_of_power, log_of_power1p
from engine.ops.special import betainc, erf, erfc, igamma, igammac, lgamma
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


# ---- tails that are one function of other arguments ------------------------------------------------------------------

Arguments = Callable[..., tuple[Any, ...]]


def _tails(arguments: Arguments, below: Any, above: Any, log_below: Any, log_above: Any) -> dict[str, Any]:
    """Formulas of both tails and their logarithms, each of them an op of these arguments."""

    def formula(op: Any) -> Any:
        return lambda *args: op(*arguments(*args))

    return {"cdf": formula(below), "sf": formula(above), "logcdf": formula(log_below), "logsf": formula(log_above)}


def _of_gamma(arguments: Arguments) -> dict[str, Any]:
    return _tails(arguments, igamma, igammac, log_igamma, log_igammac)


def _of_beta_prime(arguments: Arguments) -> dict[str, Any]:
    return _tails(arguments, beta_prime_cdf, beta_prime_sf, log_beta_prime_cdf, log_beta_prime_sf)


def _of_erfc(arguments: Arguments) -> dict[str, Any]:
    return _tails(arguments, erfc, erf, log_erfc, log_erf)


def _of_normal(z: Callable[..., Any]) -> dict[str, Any]:
    return {
        "cdf": lambda *args: _ndtr(z(*args)),
        "sf": lambda *args: _ndtr(-z(*args)),
        "logcdf": lambda *args: _log_ndtr(z(*args)),
        "logsf": lambda *args: _log_ndtr(-z(*args)),
    }


# ---- normal and its kin ----------------------------------------------------------------------------------------------

NORM = Distribution(
    (), _normal, **_of_normal(lambda x: x), ppf=lambda q: _special("ndtri", q), isf=lambda q: -_special("ndtri", q)
)


def _inverse_gauss(x: Any, mu: Any) -> Any:
    return -_LOG_ROOT - 1.5 * np.log(x) - 0.5 * np.square((x / mu - 1.0) / np.sqrt(x))


def _norminvgauss(x: Any, a: Any, b: Any) -> Any:
    root = np.sqrt(1.0 + x * x)
    bessel = np.log(_special("k1e", a * root))
    return np.log(a / math.pi) + bessel + b * x - a * root + np.sqrt(a * a - b * b) - np.log(root)


_OF_NORMAL = {
    "norm": NORM,
    "halfnorm": on_positive(
        (),
        lambda x: 0.5 * math.log(2 / math.pi) - 0.5 * x * x,
        **_tails(lambda x: (x * _ROOT_HALF,), erf, erfc, log_erf, log_erfc),
    ),
    "lognorm": on_positive(
        ("s",),
        lambda x, s: _normal(np.log(x) / s) - np.log(s) - np.log(x),
        **_of_normal(lambda x, s: np.log(x) / s),
        ppf=lambda q, s: np.exp(s * _special("ndtri", q)),
        isf=lambda q, s: np.exp(-s * _special("ndtri", q)),
        open_at=(True, False),
    ),
    "truncnorm": Distribution(
        ("a", "b"),
        lambda x, a, b: _normal(x) - log_normal_mass(a, b),
        cdf=truncated_cdf,
        sf=lambda x, a, b: truncated_cdf(-x, -b, -a),
        logcdf=log_truncated_cdf,
        logsf=lambda x, a, b: log_truncated_cdf(-x, -b, -a),
        support=lambda a, b: (a, b),
        valid=lambda a, b: a < b,
    ),
    "skewnorm": Distribution(
        ("a",),
        lambda x, a: math.log(2) + _normal(x) + _log_ndtr(a * x),
        cdf=skew_normal,
        sf=lambda x, a: skew_normal(-x, -a),
        valid=np.isfinite,
    ),
    "powernorm": Distribution(
        ("c",), lambda x, c: np.log(c) + _normal(x) + (c - 1.0) * _log_ndtr(-x), logsf=lambda x, c: c * _log_ndtr(-x)
    ),
    "foldnorm": on_positive(
        ("c",),
        lambda x, c: log_folded(c, x) - _LOG_ROOT,
        **_tails(lambda x, c: (c, x), normal_within, normal_beyond, log_normal_within, log_normal_beyond),
        valid=lambda c: c >= 0.0,
    ),
    "johnsonsu": Distribution(
        ("a", "b"),
        lambda x, a, b: np.log(b) - 0.5 * log1p(x * x) + _normal(a + b * np.arcsinh(x)),
        **_of_normal(lambda x, a, b: a + b * np.arcsinh(x)),
        valid=lambda a, b: np.logical_and(b > 0.0, np.equal(a, a)),
    ),
    "johnsonsb": on_unit(
        ("a", "b"),
        lambda x, a, b: np.log(b) - np.log(x) - log1p(-x) + _normal(a + b * _special("logit", x)),
        **_of_normal(lambda x, a, b: a + b * _special("logit", x)),
        valid=lambda a, b: np.logical_and(b > 0.0, np.equal(a, a)),
        open_at=(True, True),
    ),
    "fatiguelife": on_positive(
        ("c",),
        lambda x, c: log1p(x) - np.square(x - 1.0) / (2.0 * x * c * c) - np.log(2.0 * c) - _LOG_ROOT - 1.5 * np.log(x),
        **_of_normal(lambda x, c: (np.sqrt(x) - 1.0 / np.sqrt(x)) / c),
        open_at=(True, False),
    ),
    "invgauss": on_positive(("mu",), _inverse_gauss, open_at=(True, False)),
    "wald": on_positive((), lambda x: _inverse_gauss(x, 1.0), open_at=(True, False)),
    "norminvgauss": Distribution(("a", "b"), _norminvgauss, valid=lambda a, b: np.logical_and(a > 0.0, np.abs(b) < a)),
    "levy": on_positive(
        (),
        lambda x: -_LOG_ROOT - 1.5 * np.log(x) - 0.5 / x,
        **_of_erfc(lambda x: (np.sqrt(0.5 / x),)),
        open_at=(True, False),
    ),
    "moyal": Distribution(
        (),
        lambda x: -0.5 * exp_minus(-x, ones_like(x)) - _LOG_ROOT,
        **_of_erfc(lambda x: (np.exp(-0.5 * x) * _ROOT_HALF,)),
    ),
}

# ---- of gamma functions ----------------------------------------------------------------------------------------------


def _gamma(x: Any, a: Any) -> Any:
    return log_of_power(a - 1.0, x) - x - lgamma(a)


_GAMMA = on_positive(
    ("a",),
    _gamma,
    **_of_gamma(lambda x, a: (a, x)),
    ppf=lambda q, a: _special("gammaincinv", a, q),
    isf=lambda q, a: _special("gammainccinv", a, q),
)


def _student(x: Any, df: Any) -> Any:
    normal = np.equal(df, np.inf)
    df = where(normal, ones_like(df), df)
    start = np.log(_special("poch", 0.5 * df, 0.5 * ones_like(df))) - 0.5 * np.log(df * math.pi)
    return where(normal, _normal(x), start - 0.5 * (df + 1.0) * log1p(x * x / df))


_LOWEST = -690.0
"""From here on down an exponential is out of range, and the lower tail one power to the last digit."""


def _below_range(op: Any, of_log_tail: Any) -> Any:
    """A tail of the gamma distribution, of a variable whose logarithm is known."""

    def formula(x: Any, c: Any) -> Any:
        low = x < _LOWEST
        return where(low, of_log_tail(c * where(low, x, constant(_LOWEST, x)) - lgamma(c + 1.0)), op(c, np.exp(x)))

    return formula


def _generalized_gamma(x: Any, a: Any, c: Any) -> Any:
    power = x**c
    term = log_of_power(c * a - 1.0, x) - power
    # the power outweighs its logarithm
    return np.log(np.abs(c)) - lgamma(a) + where(np.equal(power, np.inf), -power, term)


def _gennorm_cdf(x: Any, beta: Any) -> Any:
    # at the center with the slope of negative numbers: there a tail has one, and an absolute value has none
    tail = power_tail(where(x > 0.0, x, -x), beta)
    return where(x > 0.0, 1.0 - tail, tail)


_OF_GAMMA = {
    "gamma": _GAMMA,
    "erlang": _GAMMA,
    "chi2": on_positive(
        ("df",),
        lambda x, df: _gamma(x / 2.0, df / 2.0) - math.log(2),
        **_of_gamma(lambda x, df: (df / 2.0, x / 2.0)),
        ppf=lambda q, df: 2.0 * _special("gammaincinv", df / 2.0, q),
        isf=lambda q, df: 2.0 * _special("gammainccinv", df / 2.0, q),
    ),
    "chi": on_positive(
        ("df",),
        lambda x, df: (1.0 - 0.5 * df) * math.log(2) - lgamma(0.5 * df) + log_of_power(df - 1.0, x) - 0.5 * x * x,
        **_of_gamma(lambda x, df: (0.5 * df, 0.5 * x * x)),
    ),
    "invgamma": on_positive(
        ("a",),
        lambda x, a: -(a + 1.0) * np.log(x) - lgamma(a) - 1.0 / x,
        **_tails(lambda x, a: (a, 1.0 / x), igammac, igamma, log_igammac, log_igamma),
        ppf=lambda q, a: 1.0 / _special("gammainccinv", a, q),
        isf=lambda q, a: 1.0 / _special("gammaincinv", a, q),
        open_at=(True, False),
    ),
    "gengamma": on_positive(
        ("a", "c"),
        _generalized_gamma,
        cdf=lambda x, a, c: where(c > 0.0, igamma(a, x**c), igammac(a, x**c)),
        sf=lambda x, a, c: where(c > 0.0, igammac(a, x**c), igamma(a, x**c)),
        logcdf=lambda x, a, c: where(c > 0.0, log_igamma(a, x**c), log_igammac(a, x**c)),
        logsf=lambda x, a, c: where(c > 0.0, log_igammac(a, x**c), log_igamma(a, x**c)),
        valid=lambda a, c: np.logical_and(a > 0.0, np.not_equal(c, 0.0)),
    ),
    "loggamma": Distribution(
        ("c",),
        lambda x, c: -exp_minus(x, c) - lgamma(c),
        cdf=_below_range(igamma, np.exp),
        sf=_below_range(igammac, one_minus_exp),
        logcdf=_below_range(log_igamma, lambda t: t),
        logsf=_below_range(log_igammac, log_one_minus_exp),
    ),
    "maxwell": on_positive(
        (),
        lambda x: 0.5 * math.log(2 / math.pi) + 2.0 * np.log(x) - 0.5 * x * x,
        **_of_gamma(lambda x: (1.5 * ones_like(x), 0.5 * x * x)),
    ),
    "nakagami": on_positive(
        ("nu",),
        lambda x, nu: math.log(2) + log_of_power(nu, nu) - lgamma(nu) + log_of_power(2.0 * nu - 1.0, x) - nu * x * x,
        **_of_gamma(lambda x, nu: (nu, nu * x * x)),
    ),
    "gennorm": Distribution(
        ("beta",),
        lambda x, beta: np.log(0.5 * beta) - lgamma(1.0 / beta) - np.abs(x) ** beta,
        cdf=_gennorm_cdf,
        symmetric=True,
    ),
    "dgamma": Distribution(("a",), lambda x, a: _gamma(np.abs(x), a) - math.log(2)),
    "t": Distribution(
        ("df",),
        _student,
        cdf=lambda x, df: _special("stdtr", df, x),
        logcdf=lambda x, df: log_stdtr(df, x),
        symmetric=True,
        ppf=lambda q, df: _special("stdtrit", df, q),
        isf=lambda q, df: -_special("stdtrit", df, q),
    ),
    "vonmises": Distribution(
        ("kappa",),
        lambda x, kappa: kappa * _special("cosm1", x) - math.log(2 * math.pi) - log_i0e(kappa, times=0),
        valid=lambda kappa: kappa >= 0.0,
    ),
    "rice": on_positive(("b",), lambda x, b: np.log(x) + log_rice(x, b), valid=lambda b: b >= 0.0),
}

# ---- of beta functions -----------------------------------------------------------------------------------------------


def _fisher(x: Any, n: Any, m: Any) -> Any:
    start = 0.5 * (m * np.log(m) + n * np.log(n)) + log_of_power(0.5 * n - 1.0, x)
    return start - 0.5 * (n + m) * np.log(m + n * x) - _betaln(0.5 * n, 0.5 * m)


_OF_BETA = {
    "beta": on_unit(
        ("a", "b"),
        lambda x, a, b: log_of_power1p(b - 1.0, -x) + log_of_power(a - 1.0, x) - _betaln(a, b),
        **_tails(lambda x, a, b: (a, b, x), betainc, betaincc, log_betainc, log_betaincc),
        ppf=lambda q, a, b: _special("betaincinv", a, b, q),
        isf=lambda q, a, b: beta_isf(a, b, q),
    ),
    "betaprime": on_positive(
        ("a", "b"),
        lambda x, a, b: log_of_power(a - 1.0, x) - log_of_power1p(a + b, x) - _betaln(a, b),
        **_of_beta_prime(lambda x, a, b: (a, b, x)),
    ),
    "f": on_positive(("dfn", "dfd"), _fisher, **_of_beta_prime(lambda x, n, m: (0.5 * n, 0.5 * m, n * x / m))),
}

CONTINUOUS = {**_OF_NORMAL, **_OF_GAMMA, **_OF_BETA}
"""By SciPy's name."""
