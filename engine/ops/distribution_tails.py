"""Tails of one distribution each, and their logarithms, with their slopes in x and in the shapes."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.dtypes import FLOATING
from engine.core.kinds import elementwise, real_elementwise
from engine.core.op import Op
from engine.core.operands import Operand
from engine.ops import tail_kernels
from engine.ops.arithmetic import reciprocal, square
from engine.ops.compare import logical_or, where
from engine.ops.creation import ones_like
from engine.ops.explog import exp, log1p, pow, sqrt
from engine.ops.likelihood import log_beta_far, log_of_tail, log_one_minus_exp, odds, one_minus_exp
from engine.ops.scipy_special import betaincinv, betaln, log_of_power
from engine.ops.special import (
    beta_density,
    digamma,
    digamma_step,
    igamma_grad_a,
    in_double,
    lgamma,
    ndtr,
    no_second_derivative,
    typed_kernel,
)
from engine.ops.tail_kernels import replaced
from engine.ops.trig import tanh
from engine.runtime import elementary
from engine.runtime.lazy_scipy import scipy

_HALF_WIDTH = 0.05
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


def _normal_within(c: Any, x: Any) -> Any:
    with np.errstate(under="ignore"):
        far = elementary.ndtr(x - c) - elementary.ndtr(-x - c)
        return replaced(far, (np.abs(x) < _HALF_WIDTH) & np.isfinite(c), _normal_near, c, x)


def _normal_near(c: Any, x: Any) -> Any:
    density = elementary.exp(-0.5 * np.square(c[:, None] + x[:, None] * _NODES)) / math.sqrt(2 * math.pi)
    return x * np.sum(density * _WEIGHTS, -1)


log_folded = real_elementwise(
    "log_folded",
    typed_kernel(lambda c, x: -0.5 * np.square(x - c) + elementary.log1p(elementary.exp(-2 * c * x))),
    (lambda out, c, x: x * tanh(c * x) - c, lambda out, c, x: c * tanh(c * x) - x),
    args=("c", "x"),
    doc="``log(exp(-((x - c) ** 2) / 2) + exp(-((x + c) ** 2) / 2))`` of numbers that are not negative.",
)


def _folded_tail(sign: int, kernel: Callable[..., Any], rest: Callable[..., Any]) -> tuple[Op, Op]:
    """The probability of a standard normal variable within (1) or beyond (-1) `x` of `c`, and its logarithm."""
    name = "normal_within" if sign > 0 else "normal_beyond"

    def slopes(log: int) -> dict[int, Callable[..., Any]]:
        def density(out: Any, c: Any, x: Any) -> Operand:
            return sign * exp(log_folded(c, x) - 0.5 * math.log(2 * math.pi) - log * out)

        return {0: lambda out, c, x: -density(out, c, x) * tanh(c * x), 1: density}

    def far(c: Any, x: Any) -> Any:
        first, second = scipy.special.log_ndtr(sign * (x - c)), scipy.special.log_ndtr(-x - c)
        apart = first + elementary.log1p(-sign * elementary.exp(second - first))
        small = elementary.log(2 * x) - 0.5 * (np.square(c) + math.log(2 * math.pi))
        return np.where((sign > 0) & (x < 1e-8), small, apart)

    doc = f"The probability of a standard normal variable {'within' if sign > 0 else 'beyond'} `x` of `c`."
    tail = real_elementwise(name, typed_kernel(kernel), tuple(slopes(0).values()), args=("c", "x"), doc=doc)
    return tail, log_of_tail(f"log_{name}", tail, rest, "The logarithm of that.", slopes(1), far)


def _normal_beyond(c: Any, x: Any) -> Any:
    return elementary.ndtr(c - x) + elementary.ndtr(-x - c)


normal_within, log_normal_within = _folded_tail(1, _normal_within, _normal_beyond)
normal_beyond, log_normal_beyond = _folded_tail(-1, _normal_beyond, _normal_within)


def _log_normal_mass(a: Any, b: Any) -> Any:
    flipped = np.greater(a, 0)  # from the tail that both are nearer to
    low, high = scipy.special.log_ndtr(np.where(flipped, -b, a)), scipy.special.log_ndtr(np.where(flipped, -a, b))
    with np.errstate(divide="ignore", invalid="ignore"):
        out = high + log_one_minus_exp.kernel(low - high)
    half, middle = 0.5 * (b - a), 0.5 * (a + b)
    return replaced(out, (half > 0) & (half * (1 + np.abs(middle)) < 0.25), _log_narrow_mass, half, middle)


def _log_narrow_mass(half: Any, middle: Any) -> Any:
    at = half[:, None] * _NODES
    inner = np.sum(_WEIGHTS * elementary.exp(-at * (middle[:, None] + 0.5 * at)), -1)
    return elementary.log(half) + elementary.log(inner) - 0.5 * (np.square(middle) + math.log(2 * math.pi))


def _log_density(x: Any) -> Operand:
    return -0.5 * square(x) - 0.5 * math.log(2 * math.pi)


log_normal_mass = real_elementwise(
    "log_normal_mass",
    typed_kernel(_log_normal_mass),
    (lambda out, a, b: -exp(_log_density(a) - out), lambda out, a, b: exp(_log_density(b) - out)),
    args=("a", "b"),
    doc="The logarithm of the probability of a standard normal variable between `a` and `b`.",
)


def _log_truncated(x: Any, a: Any, b: Any) -> Any:
    whole = _log_normal_mass(a, b)
    out = _log_normal_mass(a, x) - whole
    return replaced(out, out > -0.1, lambda x, b, whole: np.log1p(-np.exp(_log_normal_mass(x, b) - whole)), x, b, whole)


truncated_cdf = real_elementwise(
    "truncated_cdf",
    typed_kernel(lambda x, a, b: elementary.exp(_log_truncated(x, a, b))),
    (
        lambda out, x, a, b: exp(_log_density(x) - log_normal_mass(a, b)),
        lambda out, x, a, b: -exp(_log_density(a) + log_normal_mass(x, b) - 2 * log_normal_mass(a, b)),
        lambda out, x, a, b: -exp(_log_density(b) + log_normal_mass(a, x) - 2 * log_normal_mass(a, b)),
    ),
    args=("x", "a", "b"),
    doc="The distribution function of a standard normal variable between `a` and `b`.",
)
log_truncated_cdf = real_elementwise(
    "log_truncated_cdf",
    typed_kernel(_log_truncated),
    (
        lambda out, x, a, b: exp(_log_density(x) - log_normal_mass(a, x)),
        lambda out, x, a, b: (
            -exp(_log_density(a) + log_normal_mass(x, b) - log_normal_mass(a, x) - log_normal_mass(a, b))
        ),
        lambda out, x, a, b: -exp(_log_density(b) - log_normal_mass(a, b)),
    ),
    args=("x", "a", "b"),
    doc="The logarithm of the distribution function of a standard normal variable between `a` and `b`.",
)


def _tails(
    name: str,
    args: tuple[str, ...],
    kernel: Callable[..., Any],
    slopes: list[Callable[..., Any]],
    doc: str,
    far: Callable[..., Any] | None = None,
    of_logs: tuple[Any, Any] = (None, None),
) -> list[Op]:
    """Both tails, of a kernel that is told which, and their logarithms; slopes are those of the lower one."""
    kernels = [functools.partial(kernel, upper=upper) for upper in (False, True)]
    out = []
    for upper, sign in ((False, 1), (True, -1)):
        own = f"{name}_{'sf' if upper else 'cdf'}"
        partials = [lambda out, *operands, f=f, sign=sign: sign * f(*operands) for f in slopes]
        kind: dict[str, Any] = {"args": args, "accepts": FLOATING, "module": __name__}
        tail = elementwise(own, typed_kernel(kernels[upper]), partials, doc=f"A tail of {doc}.", **kind)
        ends = functools.partial(far, upper=upper) if far else None
        out += [
            tail,
            log_of_tail(f"log_{own}", tail, kernels[not upper], "The logarithm of that.", of_logs[upper], ends),
        ]
    return out


def _truncated_exponential(x: Any, b: Any, upper: bool) -> Any:
    whole = elementary.expm1(-b)
    return elementary.exp(-x) * elementary.expm1(x - b) / whole if upper else elementary.expm1(-x) / whole


truncexpon_cdf, log_truncexpon_cdf, truncexpon_sf, log_truncexpon_sf = _tails(
    "truncexpon",
    ("x", "b"),
    _truncated_exponential,
    [lambda x, b: exp(-x) / one_minus_exp(-b), lambda x, b: -one_minus_exp(-x) * odds(-b) / one_minus_exp(-b)],
    "an exponential variable that is less than `b`",
    of_logs=(
        {0: lambda out, x, b: odds(-x), 1: lambda out, x, b: -odds(-b)},
        {
            0: lambda out, x, b: -reciprocal(one_minus_exp(x - b)),
            1: lambda out, x, b: one_minus_exp(-x) * odds(x - b) / one_minus_exp(-b),
        },
    ),
)


def triangle_ramp(x: Any, c: Any) -> Operand:
    """How far up the side of a triangle of height one; of a side that has no width, nothing is asked."""
    rises = logical_or(x < c, c >= 1.0)
    return where(rises, x / where(rises, c, ones_like(c)), (1 - x) / where(rises, ones_like(c), 1 - c))


def _triangle(x: Any, c: Any, upper: bool) -> Any:
    rises = (x < c) | (c >= 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        below = np.where(rises, np.square(x) / c, c + (x - c) * ((1 - x) + (1 - c)) / (1 - c))
        return np.where(rises, 1 - below, np.square(1 - x) / (1 - c)) if upper else below


def _triangle_far(x: Any, c: Any, upper: bool) -> Any:
    side, end = (1 - x, 1 - c) if upper else (x, c)
    return np.where((x < c) ^ upper, 2 * elementary.log(side) - elementary.log(end), np.nan)


triangle_cdf, log_triangle_cdf, triangle_sf, log_triangle_sf = _tails(
    "triangle",
    ("x", "c"),
    _triangle,
    [lambda x, c: 2 * triangle_ramp(x, c), lambda x, c: -square(triangle_ramp(x, c))],
    "the triangular distribution on the unit interval with its mode at `c`",
    _triangle_far,
)


def _cauchy_quantile(q: Any) -> Any:
    low = np.minimum(q, 1 - q)
    with np.errstate(divide="ignore"):
        far = np.copysign(1 / elementary.tan(math.pi * low), q - 0.5)
    return np.where(low < 0.25, far, elementary.tan(math.pi * (q - 0.5)))


cauchy_quantile = real_elementwise(
    "cauchy_quantile",
    typed_kernel(_cauchy_quantile),
    (lambda out, q: math.pi * (1 + square(out)),),
    args=("q",),
    doc="``tan(pi * (q - 0.5))``, exact near 0 and 1.",
)

_END = 0.1


def _half_disk(x: Any) -> Any:
    x = np.asarray(x, np.float64)
    out = 0.5 + (x * np.sqrt((1 - x) * (1 + x)) + elementary.arcsin(x)) / math.pi
    return replaced(out, x < _END - 1, lambda x: scipy.special.betainc(1.5, 1.5, 0.5 * (1 + x)), x)


half_disk = real_elementwise(
    "half_disk",
    typed_kernel(_half_disk),
    (lambda out, x: 2 / math.pi * sqrt((1 - x) * (1 + x)),),
    doc="The share of the unit disk whose first coordinate is less than x.",
)


def _skew_normal(x: Any, a: Any) -> Any:
    whole = elementary.ndtr(x)
    out = whole - 2.0 * scipy.special.owens_t(x, a)
    return replaced(out, (out < 0.1 * whole) & np.isfinite(x) & np.isfinite(a), _skew_normal_tail, x, a)


def _skew_normal_tail(x: Any, a: Any) -> Any:
    """The integral of the density up to x, whose logarithm falls off at a known rate, by the rule of trapezoids.

    In ``u = exp(s - exp(-s))``, with which all derivatives vanish at both ends (H. Takahasi and M. Mori, 1974).
    """
    log_density = -0.5 * np.square(x) + scipy.special.log_ndtr(a * x)
    rate = -x + a * elementary.exp(-0.5 * np.square(a * x) - scipy.special.log_ndtr(a * x)) / math.sqrt(2 * math.pi)
    s = np.linspace(-4.2, 4.2, 141)
    u = elementary.exp(s - elementary.exp(-s))
    weights = (s[1] - s[0]) * u * (1 + elementary.exp(-s))
    at = x[:, None] - u / rate[:, None]
    inner = elementary.exp(-0.5 * np.square(at) + scipy.special.log_ndtr(a[:, None] * at) - log_density[:, None])
    return 2 / math.sqrt(2 * math.pi) * elementary.exp(log_density) * np.sum(inner * weights, -1) / rate


skew_normal = real_elementwise(
    "skew_normal",
    typed_kernel(_skew_normal),
    (
        lambda out, x, a: 2 * exp(_log_density(x)) * ndtr(a * x),
        lambda out, x, a: -exp(-0.5 * square(x) * (1 + square(a))) / (math.pi * (1 + square(a))),
    ),
    args=("x", "a"),
    doc="Distribution function of the skew normal distribution, which keeps its digits in the tail that is cut.",
)


def _power_density(x: Any, b: Any) -> Operand:
    return exp(-pow(x, b) - lgamma(1 / b))


def _power_tail(x: Any, b: Any) -> Any:
    power = elementary.pow(x, b)
    out = 0.5 * scipy.special.gammaincc(1 / b, power)
    # the power of a power that is out of range is not
    gone = power < 1e-290
    return np.where(gone, 0.5 - 0.5 * x * scipy.special.rgamma(1 + 1 / b), out) if np.any(gone) else out


def _power_tail_by_shape(x: Any, b: Any) -> Any:
    """By the series of the integral from 0 where its terms fall off, else by that of the upper tail."""
    x, b = (np.asarray(v, np.float64) for v in np.broadcast_arrays(x, b))
    with np.errstate(all="ignore"):
        power, order = elementary.pow(x, b), 1 / b
        density = elementary.exp(-power - scipy.special.gammaln(order)) * scipy.special.xlogy(x, x)
        out = np.asarray(0.5 * (igamma_grad_a.kernel(order, power) * np.square(order) - density))
        near = np.asarray(power <= 1)
        if near.any():
            at, shape, log_at = x[near], b[near], elementary.log(x[near])
            sums, slopes, term = np.ones_like(at), np.zeros_like(at), np.ones_like(at)
            for n in range(1, 22):
                term = -term * power[near] / n
                over = 1 / (n * shape + 1)
                sums += term * over
                slopes += np.where(term == 0, 0.0, term * n * over * (log_at - over))
            inner = sums * scipy.special.psi(1 + 1 / shape) / np.square(shape) + slopes
            out[near] = -0.5 * at * scipy.special.rgamma(1 + 1 / shape) * inner
    return out


power_tail_by_shape = real_elementwise(
    "power_tail_by_shape",
    typed_kernel(_power_tail_by_shape),
    (
        lambda out, x, b: (
            -0.5 * _power_density(x, b) * (1 + digamma(1 / b) / b - b * pow(x, b) * log_of_power(ones_like(x), x))
        ),
        no_second_derivative("gennorm", "`beta`", "`x`"),
    ),
    args=("x", "b"),
    doc="The derivative of `power_tail` in `b`.",
)
power_tail = real_elementwise(
    "power_tail",
    typed_kernel(_power_tail),
    (lambda out, x, b: -0.5 * b * _power_density(x, b), lambda out, x, b: power_tail_by_shape(x, b)),
    args=("x", "b"),
    doc="The tail beyond a positive `x` of the density ``exp(-abs(x) ** b) * b / (2 * gamma(1 / b))``.",
)


def _log_beta_prime(a: Any, b: Any, x: Any) -> Operand:
    return log_of_power(a - 1, x) - (a + b) * log1p(x) - betaln(a, b)


def _beta_prime_by_shape(second: bool) -> Op:
    def in_x(out: Any, a: Any, b: Any, x: Any) -> Operand:
        own, other, part = (b, a, x) if second else (a, b, 1 / x)
        return exp(_log_beta_prime(a, b, x)) * (digamma_step(own, other, times=0) - log1p(part))

    unknown = no_second_derivative("betaprime", "`a` or `b`", "`x`")
    return real_elementwise(
        f"beta_prime_by_{'b' if second else 'a'}",
        typed_kernel(lambda a, b, x: tail_kernels.betainc_by_shape(a, b, x, second, odds=True)),
        (unknown, unknown, in_x),
        args=("a", "b", "x"),
        doc="The derivative of `beta_prime_cdf` in a shape.",
    )


beta_prime_by_a, beta_prime_by_b = _beta_prime_by_shape(False), _beta_prime_by_shape(True)


def _beta_prime_tail(name: str, sign: int) -> Op:
    """By the two shares, ``x / (1 + x)`` and ``1 / (1 + x)``: none of them is one minus the other."""

    def kernel(a: Any, b: Any, x: Any) -> Any:
        with np.errstate(divide="ignore"):
            below, above = 1 / (1 + 1 / x), 1 / (1 + x)
        upper = tail_kernels.upper_beta
        return upper(b, a, above, below) if sign > 0 else upper(a, b, below, above)

    return real_elementwise(
        name,
        typed_kernel(kernel),
        (
            lambda out, a, b, x: sign * beta_prime_by_a(a, b, x),
            lambda out, a, b, x: sign * beta_prime_by_b(a, b, x),
            lambda out, a, b, x: sign * exp(_log_beta_prime(a, b, x)),
        ),
        args=("a", "b", "x"),
        doc="A tail of the beta prime distribution.",
    )


beta_prime_cdf = _beta_prime_tail("beta_prime_cdf", 1)
beta_prime_sf = _beta_prime_tail("beta_prime_sf", -1)


def _log_beta_prime_tail(sign: int) -> Op:
    tail, rest = (beta_prime_cdf, beta_prime_sf)[::sign]
    return log_of_tail(
        f"log_{tail.name}",
        tail,
        rest.kernel,
        "The logarithm of that.",
        {2: lambda out, a, b, x: sign * exp(_log_beta_prime(a, b, x) - out)},
        lambda a, b, x: log_beta_far(a, b, x / (1 + x)) if sign > 0 else log_beta_far(b, a, 1 / (1 + x)),
    )


log_beta_prime_cdf, log_beta_prime_sf = _log_beta_prime_tail(1), _log_beta_prime_tail(-1)


def _beta_isf_by(slope: Callable[..., Operand] | None) -> Callable[..., Any]:
    """By the nearer end of the unit interval, in whose digits the place is known."""

    def rule(out: Any, a: Any, b: Any, q: Any) -> Operand:
        low, upper = out < 0.5, betaincinv(b, a, q)
        density = beta_density(where(low, a, b), where(low, b, a), where(low, out, upper))
        if slope is None:
            return -1 / density
        return -slope(a, b, where(low, out / (1 - out), (1 - upper) / upper)) / density

    return in_double(lambda: beta_isf, rule)


def _beta_isf(a: Any, b: Any, q: Any) -> Any:
    out = 1 - scipy.special.betaincinv(b, a, q)
    return replaced(out, out < 0.5, scipy.special.betainccinv, a, b, q)


beta_isf = real_elementwise(
    "beta_isf",
    typed_kernel(_beta_isf),
    [_beta_isf_by(slope) for slope in (beta_prime_by_a, beta_prime_by_b, None)],
    args=("a", "b", "q"),
    doc="Inverse of the upper tail of the beta distribution.",
)
