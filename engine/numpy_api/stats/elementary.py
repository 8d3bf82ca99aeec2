"""Continuous distributions whose formulas are elementary, in standard form, by SciPy's names (see `continuous`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.numpy_api.stats.distribution import Distribution, on_positive, on_unit
from engine.ops.compare import where
from engine.ops.creation import ones_like
from engine.ops.distribution_tails import (
    cauchy_quantile,
    half_disk,
    log_triangle_cdf,
    log_triangle_sf,
    log_truncexpon_cdf,
    log_truncexpon_sf,
    triangle_cdf,
    triangle_ramp,
    triangle_sf,
    truncexpon_cdf,
    truncexpon_sf,
)
from engine.ops.explog import expm1, log1p
from engine.ops.likelihood import (
    exp_minus,
    hypsecant_cdf,
    log1p_over,
    log1p_power,
    log_cosh,
    log_one_minus_exp,
    log_weibull,
    one_minus_exp,
    product,
)
from engine.ops.nn import log_sigmoid, sigmoid
from engine.ops.scipy_special import log_of_power, log_ratio

_PI = math.pi


# ---- on the real line ------------------------------------------------------------------------------------------------


def _magnitude(x: Any) -> Any:
    """The absolute value, with the slope of negative numbers at 0: there a tail has one, and this one."""
    return where(x > 0.0, x, -x)


def _joined(log_tail: Callable[..., Any]) -> dict[str, Any]:
    """Both tails of a symmetric distribution, from the logarithm of the one beyond a magnitude."""

    def cdf(x: Any, *shapes: Any) -> Any:
        tail = np.exp(log_tail(_magnitude(x), *shapes))
        return where(x > 0.0, 1.0 - tail, tail)

    def logcdf(x: Any, *shapes: Any) -> Any:
        tail = log_tail(_magnitude(x), *shapes)
        return where(x > 0.0, log_one_minus_exp(tail), tail)

    return {"cdf": cdf, "logcdf": logcdf, "symmetric": True}


def _skewed(x: Any, kappa: Any) -> Any:
    return where(x >= 0.0, -kappa * x, x / kappa)


def _skewed_tail(x: Any, kappa: Any) -> Any:
    """The logarithm of the tail on the side of x."""
    up = x >= 0.0
    return _skewed(x, kappa) - log1p(np.square(where(up, kappa, 1.0 / kappa)))


def _skewed_tails(lower: bool, small: Any, rest: Any) -> Any:
    """A tail where it is on the side of x, and what the other one leaves."""

    def formula(x: Any, kappa: Any) -> Any:
        tail = _skewed_tail(x, kappa)
        return where((x < 0.0) if lower else (x >= 0.0), small(tail), rest(tail))

    return formula


def _itself(x: Any) -> Any:
    return x


REAL_LINE = {
    "cauchy": Distribution(
        (),
        lambda x: -math.log(_PI) - log1p(x * x),
        cdf=lambda x: np.arctan2(ones_like(x), -x) / _PI,
        symmetric=True,
        ppf=cauchy_quantile,
        isf=lambda q: -cauchy_quantile(q),
    ),
    "laplace": Distribution((), lambda x: math.log(0.5) - np.abs(x), **_joined(lambda x: math.log(0.5) - x)),
    "laplace_asymmetric": Distribution(
        ("kappa",),
        lambda x, k: _skewed(x, k) - np.log(k + 1.0 / k),
        cdf=_skewed_tails(True, np.exp, one_minus_exp),
        sf=_skewed_tails(False, np.exp, one_minus_exp),
        logcdf=_skewed_tails(True, _itself, log_one_minus_exp),
        logsf=_skewed_tails(False, _itself, log_one_minus_exp),
    ),
    "logistic": Distribution(
        (),
        lambda x: -2.0 * log_cosh(0.5 * x) - math.log(4),
        cdf=sigmoid,
        logcdf=log_sigmoid,
        symmetric=True,
        ppf=lambda q: np.log(q) - log1p(-q),
        isf=lambda q: log1p(-q) - np.log(q),
    ),
    "genlogistic": Distribution(
        ("c",), lambda x, c: np.log(c) + c * log_sigmoid(x) + log_sigmoid(-x), logcdf=lambda x, c: c * log_sigmoid(x)
    ),
    "gumbel_r": Distribution(
        (),
        lambda x: -exp_minus(-x, ones_like(x)),
        logcdf=lambda x: -np.exp(-x),
        ppf=lambda q: -np.log(-np.log(q)),
        isf=lambda q: -np.log(-log1p(-q)),
    ),
    "gumbel_l": Distribution(
        (),
        lambda x: -exp_minus(x, ones_like(x)),
        logsf=lambda x: -np.exp(x),
        ppf=lambda q: np.log(-log1p(-q)),
        isf=lambda q: np.log(-np.log(q)),
    ),
    "hypsecant": Distribution((), lambda x: -log_cosh(x) - math.log(_PI), cdf=hypsecant_cdf, symmetric=True),
    "dweibull": Distribution(
        ("c",),
        lambda x, c: np.log(0.5 * c) + log_of_power(c - 1.0, np.abs(x)) - np.abs(x) ** c,
        **_joined(lambda x, c: math.log(0.5) - x**c),
    ),
}

# ---- on the positive half --------------------------------------------------------------------------------------------


def _far_below(x: Any, term: Any) -> Any:
    """A logarithm, minus infinity for infinite x."""
    return where(np.equal(x, np.inf), -x, term)


def _exponentiated_weibull(x: Any, a: Any, c: Any) -> Any:
    below = product(a - 1.0, log_weibull(c * np.log(x)))
    return np.log(a) + np.log(c) + below - x**c + log_of_power(c - 1.0, x)


POSITIVE_HALF = {
    "expon": on_positive((), lambda x: -x, logsf=lambda x: -x, ppf=lambda q: -log1p(-q), isf=lambda q: -np.log(q)),
    "halfcauchy": on_positive(
        (),
        lambda x: math.log(2 / _PI) - log1p(x * x),
        cdf=lambda x: 2 / _PI * np.arctan(x),
        sf=lambda x: 2 / _PI * np.arctan2(ones_like(x), x),
    ),
    "halflogistic": on_positive(
        (),
        lambda x: -2.0 * log_cosh(0.5 * x) - math.log(2),
        cdf=lambda x: np.tanh(0.5 * x),
        sf=lambda x: 2.0 * sigmoid(-x),
    ),
    "rayleigh": on_positive((), lambda x: np.log(x) - 0.5 * x * x, logsf=lambda x: -0.5 * x * x),
    "weibull_min": on_positive(
        ("c",),
        lambda x, c: np.log(c) + log_of_power(c - 1.0, x) - x**c,
        logcdf=lambda x, c: log_weibull(c * np.log(x)),
        cdf=lambda x, c: one_minus_exp(-(x**c)),
        logsf=lambda x, c: -(x**c),
        ppf=lambda q, c: (-log1p(-q)) ** (1.0 / c),
        isf=lambda q, c: (-np.log(q)) ** (1.0 / c),
    ),
    "weibull_max": Distribution(
        ("c",),
        lambda x, c: np.log(c) + log_of_power(c - 1.0, -x) - (-x) ** c,
        logcdf=lambda x, c: -((-x) ** c),
        sf=lambda x, c: one_minus_exp(-((-x) ** c)),
        logsf=lambda x, c: log_weibull(c * np.log(-x)),
        support=lambda *_: (None, 0.0),
    ),
    "invweibull": on_positive(
        ("c",),
        lambda x, c: np.log(c) - (c + 1.0) * np.log(x) - x ** (-c),
        logcdf=lambda x, c: -(x ** (-c)),
        open_at=(True, False),
    ),
    "exponweib": on_positive(("a", "c"), _exponentiated_weibull, logcdf=lambda x, a, c: a * log_weibull(c * np.log(x))),
    "gompertz": on_positive(("c",), lambda x, c: np.log(c) + x - c * expm1(x), logsf=lambda x, c: -c * expm1(x)),
    "pareto": Distribution(
        ("b",),
        lambda x, b: np.log(b) - (b + 1.0) * np.log(x),
        logsf=lambda x, b: -b * np.log(x),
        ppf=lambda q, b: np.exp(-log1p(-q) / b),
        isf=lambda q, b: np.exp(-np.log(q) / b),
        support=lambda b: (1.0, None),
    ),
    "lomax": on_positive(("c",), lambda x, c: np.log(c) - (c + 1.0) * log1p(x), logsf=lambda x, c: -c * log1p(x)),
    "fisk": on_positive(
        ("c",),
        lambda x, c: np.log(c) + _far_below(x, log_of_power(c - 1.0, x) - 2.0 * log1p_power(x, c)),
        cdf=lambda x, c: sigmoid(c * np.log(x)),
        logcdf=lambda x, c: log_sigmoid(c * np.log(x)),
        logsf=lambda x, c: -log1p_power(x, c),
    ),
    "burr": on_positive(
        ("c", "d"),
        lambda x, c, d: (
            np.log(c) + np.log(d) + _far_below(x, log_of_power(c * d - 1.0, x) - (d + 1.0) * log1p_power(x, c))
        ),
        logcdf=lambda x, c, d: d * log_sigmoid(c * np.log(x)),
    ),
    "burr12": on_positive(
        ("c", "d"),
        lambda x, c, d: np.log(c) + np.log(d) + log_of_power(c - 1.0, x) - (d + 1.0) * log1p_power(x, c),
        logsf=lambda x, c, d: -d * log1p_power(x, c),
    ),
}

# ---- with ends that depend on the shape ------------------------------------------------------------------------------


def _of_nearer_end(chosen: Any) -> Any:
    """A tail of the Bradford distribution, of the probability up to the nearer end."""

    def formula(x: Any, c: Any) -> Any:
        low = x < 0.5
        p = log1p_over(where(low, x, (1.0 - x) / (1.0 + c * x)), c) / log1p_over(ones_like(c), c)
        return chosen(low, p)

    return formula


def _excess(x: Any, c: Any) -> Any:
    """``-log(1 + c * x) / c``, also where c is 0."""
    return -log1p_over(x, c)


def _extreme(x: Any, c: Any) -> Any:
    exponent = _excess(x, -c)
    return product(1.0 - c, exponent) - np.exp(exponent)


def _end(sign: float, c: Any) -> Any:
    """One over the shape where it has this sign, else infinity of the sign."""
    some = sign * c > 0.0
    return where(some, 1.0 / where(some, c, ones_like(c)), sign * np.inf * ones_like(c))


BETWEEN = {
    "uniform": on_unit(
        (), lambda x: 0.0 * x, cdf=lambda x: x, sf=lambda x: 1.0 - x, ppf=lambda q: q, isf=lambda q: 1.0 - q
    ),
    "arcsine": on_unit(
        (),
        lambda x: -math.log(_PI) - 0.5 * (np.log(x) + log1p(-x)),
        cdf=lambda x: 2 / _PI * np.arctan2(np.sqrt(x), np.sqrt(1.0 - x)),
        sf=lambda x: 2 / _PI * np.arctan2(np.sqrt(1.0 - x), np.sqrt(x)),
    ),
    "powerlaw": on_unit(
        ("a",),
        lambda x, a: np.log(a) + log_of_power(a - 1.0, x),
        cdf=lambda x, a: x**a,
        logcdf=lambda x, a: a * np.log(x),
    ),
    "bradford": on_unit(
        ("c",),
        lambda x, c: -log1p(c * x) - np.log(log1p_over(ones_like(c), c)),
        cdf=_of_nearer_end(lambda low, p: where(low, p, 1.0 - p)),
        sf=_of_nearer_end(lambda low, p: where(low, 1.0 - p, p)),
    ),
    "triang": on_unit(
        ("c",),
        lambda x, c: np.log(2.0 * triangle_ramp(x, c)),
        cdf=triangle_cdf,
        sf=triangle_sf,
        logcdf=log_triangle_cdf,
        logsf=log_triangle_sf,
        valid=lambda c: np.logical_and(c >= 0.0, c <= 1.0),
    ),
    "semicircular": Distribution(
        (),
        lambda x: math.log(2 / _PI) + 0.5 * log1p(-x * x),
        cdf=half_disk,
        symmetric=True,
        support=lambda: (-1.0, 1.0),
    ),
    "cosine": Distribution((), lambda x: 2.0 * np.log(np.cos(0.5 * x)) - math.log(_PI), support=lambda: (-_PI, _PI)),
    "wrapcauchy": Distribution(
        ("c",),
        lambda x, c: (
            log1p(-c * c) - math.log(2 * _PI) - np.log(np.square(1.0 - c) + 4.0 * c * np.square(np.sin(0.5 * x)))
        ),
        support=lambda c: (0.0, 2 * _PI),
        valid=lambda c: np.logical_and(c > 0.0, c < 1.0),
    ),
    "loguniform": Distribution(
        ("a", "b"),
        lambda x, a, b: -np.log(x) - np.log(log_ratio(b, a)),
        cdf=lambda x, a, b: log_ratio(x, a) / log_ratio(b, a),
        sf=lambda x, a, b: log_ratio(b, x) / log_ratio(b, a),
        support=lambda a, b: (a, b),
        valid=lambda a, b: np.logical_and(a > 0.0, b > a),
    ),
    "truncexpon": Distribution(
        ("b",),
        lambda x, b: -x - log_one_minus_exp(-b),
        cdf=truncexpon_cdf,
        sf=truncexpon_sf,
        logcdf=log_truncexpon_cdf,
        logsf=log_truncexpon_sf,
        support=lambda b: (0.0, b),
    ),
    "genextreme": Distribution(
        ("c",),
        _extreme,
        logcdf=lambda x, c: -np.exp(_excess(x, -c)),
        support=lambda c: (_end(-1.0, c), _end(1.0, c)),
        valid=np.isfinite,
        open_at=(True, False),
    ),
    "genpareto": Distribution(
        ("c",),
        lambda x, c: product(1.0 + c, _excess(x, c)),
        logsf=_excess,
        support=lambda c: (0.0 * c, _end(1.0, -c)),
        valid=np.isfinite,
    ),
}
BETWEEN["reciprocal"] = BETWEEN["loguniform"]

ELEMENTARY = {**REAL_LINE, **POSITIVE_HALF, **BETWEEN}
"""By SciPy's name."""
