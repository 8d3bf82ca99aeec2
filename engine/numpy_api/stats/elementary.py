"""Continuous distributions whose formulas are elementary, in standard form, by SciPy's names (see `continuous`)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.numpy_api.stats.distribution import Distribution, positive, unit
from engine.ops.compare import where
from engine.ops.creation import ones_like
from engine.ops.explog import expm1, log1p
from engine.ops.nn import log_sigmoid, sigmoid
from engine.ops.special import xlogy

_PI = math.pi


def _symmetric(*_: Any) -> Any:
    return -1.0, 1.0


def _at_zero(shape: Any, general: Any, limit: Any) -> Any:
    """A formula that divides by a shape parameter, which may be zero: there its limit."""
    zero = np.equal(shape, 0.0)
    return where(zero, limit, general(where(zero, ones_like(shape), shape)))


# ---- on the real line ------------------------------------------------------------------------------------------------


def _laplace_cdf(x: Any) -> Any:
    half = 0.5 * np.exp(-np.abs(x))
    return where(x > 0.0, 1.0 - half, half)


def _skewed(x: Any, kappa: Any) -> Any:
    return where(x >= 0.0, -kappa * x, x / kappa)


def _skewed_cdf(x: Any, kappa: Any) -> Any:
    total = kappa + 1.0 / kappa
    tail = np.exp(_skewed(x, kappa)) / total
    return where(x >= 0.0, 1.0 - tail / kappa, tail * kappa)


def _dweibull_cdf(x: Any, c: Any) -> Any:
    half = 0.5 * np.exp(-(np.abs(x) ** c))
    return where(x > 0.0, 1.0 - half, half)


REAL_LINE = {
    "cauchy": Distribution(
        (),
        lambda x: -math.log(_PI) - log1p(x * x),
        cdf=lambda x: np.arctan2(ones_like(x), -x) / _PI,
        sf=lambda x: np.arctan2(ones_like(x), x) / _PI,
        ppf=lambda q: np.tan(_PI * (q - 0.5)),
        isf=lambda q: np.tan(_PI * (0.5 - q)),
    ),
    "laplace": Distribution((), lambda x: math.log(0.5) - np.abs(x), cdf=_laplace_cdf, sf=lambda x: _laplace_cdf(-x)),
    "laplace_asymmetric": Distribution(("kappa",), lambda x, k: _skewed(x, k) - np.log(k + 1.0 / k), cdf=_skewed_cdf),
    "logistic": Distribution(
        (),
        lambda x: log_sigmoid(x) + log_sigmoid(-x),
        cdf=sigmoid,
        sf=lambda x: sigmoid(-x),
        logcdf=log_sigmoid,
        logsf=lambda x: log_sigmoid(-x),
        ppf=lambda q: np.log(q) - log1p(-q),
        isf=lambda q: log1p(-q) - np.log(q),
    ),
    "genlogistic": Distribution(
        ("c",), lambda x, c: np.log(c) - x + (c + 1.0) * log_sigmoid(x), logcdf=lambda x, c: c * log_sigmoid(x)
    ),
    "gumbel_r": Distribution(
        (),
        lambda x: -x - np.exp(-x),
        logcdf=lambda x: -np.exp(-x),
        sf=lambda x: -expm1(-np.exp(-x)),
        ppf=lambda q: -np.log(-np.log(q)),
        isf=lambda q: -np.log(-log1p(-q)),
    ),
    "gumbel_l": Distribution(
        (),
        lambda x: x - np.exp(x),
        cdf=lambda x: -expm1(-np.exp(x)),
        logsf=lambda x: -np.exp(x),
        ppf=lambda q: np.log(-log1p(-q)),
        isf=lambda q: np.log(-np.log(q)),
    ),
    "hypsecant": Distribution(
        (),
        lambda x: math.log(2 / _PI) - np.abs(x) - log1p(np.exp(-2.0 * np.abs(x))),
        cdf=lambda x: 2 / _PI * np.arctan(np.exp(x)),
        sf=lambda x: 2 / _PI * np.arctan(np.exp(-x)),
    ),
    "dweibull": Distribution(
        ("c",),
        lambda x, c: np.log(0.5 * c) + xlogy(c - 1.0, np.abs(x)) - np.abs(x) ** c,
        cdf=_dweibull_cdf,
        sf=lambda x, c: _dweibull_cdf(-x, c),
    ),
}

# ---- on the positive half --------------------------------------------------------------------------------------------


def _from_one(*_: Any) -> Any:
    return 1.0, None


def _negative(*_: Any) -> Any:
    return None, 0.0


POSITIVE_HALF = {
    "expon": Distribution(
        (),
        lambda x: -x,
        cdf=lambda x: -expm1(-x),
        logsf=lambda x: -x,
        ppf=lambda q: -log1p(-q),
        isf=lambda q: -np.log(q),
        support=positive,
    ),
    "halfcauchy": Distribution(
        (),
        lambda x: math.log(2 / _PI) - log1p(x * x),
        cdf=lambda x: 2 / _PI * np.arctan(x),
        sf=lambda x: 2 / _PI * np.arctan2(ones_like(x), x),
        support=positive,
    ),
    "halflogistic": Distribution(
        (),
        lambda x: math.log(2) - x - 2.0 * log1p(np.exp(-x)),
        cdf=lambda x: np.tanh(0.5 * x),
        sf=lambda x: 2.0 * sigmoid(-x),
        support=positive,
    ),
    "rayleigh": Distribution(
        (),
        lambda x: np.log(x) - 0.5 * x * x,
        cdf=lambda x: -expm1(-0.5 * x * x),
        logsf=lambda x: -0.5 * x * x,
        support=positive,
    ),
    "weibull_min": Distribution(
        ("c",),
        lambda x, c: np.log(c) + xlogy(c - 1.0, x) - x**c,
        cdf=lambda x, c: -expm1(-(x**c)),
        logsf=lambda x, c: -(x**c),
        ppf=lambda q, c: (-log1p(-q)) ** (1.0 / c),
        isf=lambda q, c: (-np.log(q)) ** (1.0 / c),
        support=positive,
    ),
    "weibull_max": Distribution(
        ("c",),
        lambda x, c: np.log(c) + xlogy(c - 1.0, -x) - (-x) ** c,
        logcdf=lambda x, c: -((-x) ** c),
        sf=lambda x, c: -expm1(-((-x) ** c)),
        support=_negative,
    ),
    "invweibull": Distribution(
        ("c",),
        lambda x, c: np.log(c) - (c + 1.0) * np.log(x) - x ** (-c),
        logcdf=lambda x, c: -(x ** (-c)),
        sf=lambda x, c: -expm1(-(x ** (-c))),
        support=positive,
        open_at=(True, False),
    ),
    "exponweib": Distribution(
        ("a", "c"),
        lambda x, a, c: np.log(a) + np.log(c) + xlogy(a - 1.0, -expm1(-(x**c))) - x**c + xlogy(c - 1.0, x),
        cdf=lambda x, a, c: (-expm1(-(x**c))) ** a,
        support=positive,
    ),
    "gompertz": Distribution(
        ("c",),
        lambda x, c: np.log(c) + x - c * expm1(x),
        cdf=lambda x, c: -expm1(-c * expm1(x)),
        logsf=lambda x, c: -c * expm1(x),
        support=positive,
    ),
    "pareto": Distribution(
        ("b",),
        lambda x, b: np.log(b) - (b + 1.0) * np.log(x),
        cdf=lambda x, b: -expm1(-b * np.log(x)),
        logsf=lambda x, b: -b * np.log(x),
        ppf=lambda q, b: np.exp(-log1p(-q) / b),
        isf=lambda q, b: np.exp(-np.log(q) / b),
        support=_from_one,
    ),
    "lomax": Distribution(
        ("c",),
        lambda x, c: np.log(c) - (c + 1.0) * log1p(x),
        cdf=lambda x, c: -expm1(-c * log1p(x)),
        logsf=lambda x, c: -c * log1p(x),
        support=positive,
    ),
    "fisk": Distribution(
        ("c",),
        lambda x, c: np.log(c) + xlogy(c - 1.0, x) - 2.0 * log1p(x**c),
        cdf=lambda x, c: 1.0 / (1.0 + x ** (-c)),
        logsf=lambda x, c: -log1p(x**c),
        support=positive,
    ),
    "burr": Distribution(
        ("c", "d"),
        lambda x, c, d: np.log(c) + np.log(d) - (c + 1.0) * np.log(x) - (d + 1.0) * log1p(x ** (-c)),
        logcdf=lambda x, c, d: -d * log1p(x ** (-c)),
        support=positive,
        open_at=(True, False),
    ),
    "burr12": Distribution(
        ("c", "d"),
        lambda x, c, d: np.log(c) + np.log(d) + xlogy(c - 1.0, x) - (d + 1.0) * log1p(x**c),
        cdf=lambda x, c, d: -expm1(-d * log1p(x**c)),
        logsf=lambda x, c, d: -d * log1p(x**c),
        support=positive,
    ),
}

# ---- with ends that depend on the shape ------------------------------------------------------------------------------


def _extreme_exponent(x: Any, c: Any) -> Any:
    """The negative logarithm of a generalized extreme value's distribution function, as a logarithm."""
    return _at_zero(c, lambda c: log1p(-c * x) / c, -x)


def _extreme(x: Any, c: Any) -> Any:
    exponent = _extreme_exponent(x, c)
    return exponent - np.exp(exponent) - log1p(-c * x)


def _extreme_support(c: Any) -> Any:
    inf = np.inf * ones_like(c)
    end = _at_zero(c, lambda c: 1.0 / c, inf)
    return where(c < 0.0, end, -inf), where(c > 0.0, end, inf)


def _excess(x: Any, c: Any) -> Any:
    return _at_zero(c, lambda c: -log1p(c * x) / c, -x)


def _excess_support(c: Any) -> Any:
    inf = np.inf * ones_like(c)
    return 0.0 * c, where(c < 0.0, _at_zero(c, lambda c: -1.0 / c, inf), inf)


def _triangle(x: Any, c: Any) -> Any:
    rising, falling = _ramps(x, c)
    return np.log(2.0 * where(x < c, rising, falling))


def _ramps(x: Any, c: Any) -> Any:
    """How far up the two sides of a triangle of height one; of a side that has no width, nothing is asked."""
    left = where(c > 0.0, c, ones_like(c))
    right = where(c < 1.0, 1.0 - c, ones_like(c))
    return x / left, (1.0 - x) / right


def _triangle_cdf(x: Any, c: Any) -> Any:
    rising, falling = _ramps(x, c)
    return where(x < c, x * rising, 1.0 - (1.0 - x) * falling)


BETWEEN = {
    "uniform": Distribution(
        (),
        lambda x: 0.0 * x,
        cdf=lambda x: x,
        sf=lambda x: 1.0 - x,
        ppf=lambda q: q,
        isf=lambda q: 1.0 - q,
        support=unit,
    ),
    "arcsine": Distribution(
        (),
        lambda x: -math.log(_PI) - 0.5 * (np.log(x) + log1p(-x)),
        cdf=lambda x: 2 / _PI * np.arcsin(np.sqrt(x)),
        support=unit,
    ),
    "powerlaw": Distribution(
        ("a",),
        lambda x, a: np.log(a) + xlogy(a - 1.0, x),
        cdf=lambda x, a: x**a,
        logcdf=lambda x, a: a * np.log(x),
        support=unit,
    ),
    "bradford": Distribution(
        ("c",),
        lambda x, c: np.log(c) - log1p(c * x) - np.log(log1p(c)),
        cdf=lambda x, c: log1p(c * x) / log1p(c),
        support=unit,
    ),
    "triang": Distribution(
        ("c",),
        _triangle,
        cdf=_triangle_cdf,
        support=unit,
        valid=lambda c: np.logical_and(c >= 0.0, c <= 1.0),
    ),
    "semicircular": Distribution(
        (),
        lambda x: math.log(2 / _PI) + 0.5 * log1p(-x * x),
        cdf=lambda x: 0.5 + (x * np.sqrt(1.0 - x * x) + np.arcsin(x)) / _PI,
        support=_symmetric,
    ),
    "cosine": Distribution((), lambda x: log1p(np.cos(x)) - math.log(2 * _PI), support=lambda: (-_PI, _PI)),
    "wrapcauchy": Distribution(
        ("c",),
        lambda x, c: log1p(-c * c) - math.log(2 * _PI) - np.log(1.0 + c * c - 2.0 * c * np.cos(x)),
        support=lambda c: (0.0, 2 * _PI),
        valid=lambda c: np.logical_and(c > 0.0, c < 1.0),
    ),
    "loguniform": Distribution(
        ("a", "b"),
        lambda x, a, b: -np.log(x) - np.log(np.log(b) - np.log(a)),
        cdf=lambda x, a, b: (np.log(x) - np.log(a)) / (np.log(b) - np.log(a)),
        support=lambda a, b: (a, b),
        valid=lambda a, b: np.logical_and(a > 0.0, b > a),
    ),
    "truncexpon": Distribution(
        ("b",),
        lambda x, b: -x - np.log(-expm1(-b)),
        cdf=lambda x, b: expm1(-x) / expm1(-b),
        support=lambda b: (0.0, b),
    ),
    "genextreme": Distribution(
        ("c",),
        _extreme,
        logcdf=lambda x, c: -np.exp(_extreme_exponent(x, c)),
        sf=lambda x, c: -expm1(-np.exp(_extreme_exponent(x, c))),
        support=_extreme_support,
        valid=np.isfinite,
        open_at=(True, True),
    ),
    "genpareto": Distribution(
        ("c",),
        lambda x, c: _excess(x, c) - log1p(c * x),
        cdf=lambda x, c: -expm1(_excess(x, c)),
        logsf=_excess,
        support=_excess_support,
        valid=np.isfinite,
    ),
}
BETWEEN["reciprocal"] = BETWEEN["loguniform"]

ELEMENTARY = {**REAL_LINE, **POSITIVE_HALF, **BETWEEN}
"""By SciPy's name."""
