"""Terms of log densities and distribution functions, with their slopes where a factor vanishes or a tail is small.

The logarithm of a distribution function is made of the function where that is small, of the other tail where it is
near 1. Derivatives are those of the NIST Digital Library of Mathematical Functions (DLMF), chapters 4, 8 and 10.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.dtypes import FLOATING
from engine.core.kinds import elementwise
from engine.core.op import Op
from engine.core.operands import Operand
from engine.ops import tail_kernels
from engine.ops.arithmetic import reciprocal, square
from engine.ops.explog import exp, expm1, log, log1p, pow, sqrt
from engine.ops.nn import softplus_kernel
from engine.ops.ratio_distributions import stdtr
from engine.ops.scipy_special import betaincc, betaln, erfcx, log_ndtr, log_of_power, share
from engine.ops.special import (
    betainc,
    betainc_grad_a,
    betainc_grad_b,
    digamma,
    erf,
    igamma,
    igammac,
    lgamma,
    ndtr,
    typed_kernel,
)
from engine.ops.trig import tanh
from engine.runtime import elementary
from engine.runtime.errors import UnimplementedError
from engine.runtime.lazy_scipy import scipy

# ---- products of an exponent that may be zero ------------------------------------------------------------------------


product = elementwise(
    "product",
    typed_kernel(lambda e, y: np.where(np.equal(e, 0), 0, e * y)),
    (lambda out, e, y: y, lambda out, e, y: e),
    args=("e", "y"),
    accepts=FLOATING,
    doc="``e * y``, 0 where `e` is 0, even if `y` is infinite; its slope in `e` is `y` there, too.",
)
log1p_power = elementwise(
    "log1p_power",
    lambda x, c: softplus_kernel(c * elementary.log(x)),
    (
        lambda out, x, c: c * exp(log_of_power(c - 1, x) - out),
        lambda out, x, c: log_of_power(exp(c * log(x) - out), x),
    ),
    args=("x", "c"),
    accepts=FLOATING,
    doc="``log(1 + x ** c)`` of numbers that are not negative, without overflow.",
)

# ---- of one minus an exponential -------------------------------------------------------------------------------------

one_minus_exp = elementwise(
    "one_minus_exp",
    lambda t: np.negative(elementary.expm1(t)),
    (lambda out, t: -exp(t),),
    args=("t",),
    accepts=FLOATING,
    doc="``1 - exp(t)``, accurate near 0; its slope keeps its digits far below 0, too.",
)


def _log_one_minus_exp(t: Any) -> Any:
    with np.errstate(divide="ignore"):
        return np.where(t > -math.log(2), elementary.log(-elementary.expm1(t)), elementary.log1p(-elementary.exp(t)))


odds = elementwise(
    "odds",
    lambda t: np.reciprocal(elementary.expm1(np.negative(t))),
    (lambda out, t: out * (1 + out),),
    args=("t",),
    accepts=FLOATING,
    doc="``exp(t) / (1 - exp(t))``.",
)
log_one_minus_exp = elementwise(
    "log_one_minus_exp",
    typed_kernel(_log_one_minus_exp),
    (lambda out, t: -odds(t),),
    args=("t",),
    accepts=FLOATING,
    doc="``log(1 - exp(t))`` for negative `t`: the logarithm of one tail from that of the other.",
)

log_cosh = elementwise(
    "log_cosh",
    lambda x: np.abs(x) + elementary.log1p(elementary.exp(-2 * np.abs(x))) - math.log(2),
    (lambda out, x: tanh(x),),
    accepts=FLOATING,
    doc="``log(cosh(x))``, without overflow.",
)

hypsecant_cdf = elementwise(
    "hypsecant_cdf",
    lambda x: 2 / math.pi * elementary.arctan(elementary.exp(x)),
    (lambda out, x: exp(-log_cosh(x)) / math.pi,),
    accepts=FLOATING,
    doc="Distribution function of the hyperbolic secant distribution.",
)

# ---- with removable singularities ------------------------------------------------------------------------------------

_NEAR = (0.0, 0.08, 0.2, 0.4)
"""Up to where derivatives of this and higher order are summed up as a series: the differences lose more with each."""


def _log1p_ratio(u: Any, *, times: int) -> Any:
    u = np.asarray(u, np.float64)
    bound = _NEAR[min(times, 3)]
    near = np.abs(u) <= bound
    at = np.where(near, 1.0, u)
    with np.errstate(divide="ignore", invalid="ignore"):
        out = elementary.log1p(at) / at
        for n in range(1, times + 1):  # u L(u) = log(1 + u), differentiated n times
            out = ((-1) ** (n - 1) * math.factorial(n - 1) * (1 + at) ** -n - n * out) / at
    if not near.any():
        return out
    small = u[near]
    series = np.zeros_like(small)
    last = times if bound == 0.0 else times + 10 + int(40 / -math.log(bound))
    for k in range(last, times - 1, -1):
        series = series * small + (-1) ** k * math.perm(k, times) / (k + 1)
    out = np.array(out)
    out[near] = series
    return out


log1p_ratio = elementwise(
    "log1p_ratio",
    typed_kernel(_log1p_ratio),
    (lambda out, u, *, times: log1p_ratio(u, times=times + 1),),
    args=("u",),
    accepts=FLOATING,
    doc="Derivative number `times` of ``log(1 + u) / u``, which is 1 at 0.",
)


def _log1p_over(x: Any, c: Any) -> Any:
    zero = np.equal(c, 0)
    if not zero.any():
        return elementary.log1p(c * x) / c
    return np.where(zero, x, elementary.log1p(c * x) / np.where(zero, 1, c))


log1p_over = elementwise(
    "log1p_over",
    typed_kernel(_log1p_over),
    (lambda out, x, c: reciprocal(1 + c * x), lambda out, x, c: square(x) * log1p_ratio(c * x, times=1)),
    args=("x", "c"),
    accepts=FLOATING,
    doc="``log(1 + c * x) / c``, `x` where `c` is 0.",
)

_TERMS = 18
_LARGE = 40.0
"""From here on the terms of the expansion are exact to the bit."""


def _expansion() -> list[float]:
    """The coefficients of ``I1(z) / I0(z)`` in powers of 1 / z, by Riccati's equation ``A' = 1 - A / z - A ** 2``."""
    a = [1.0]
    for k in range(1, _TERMS):
        a.append(((k - 2) * a[k - 1] - sum(a[i] * a[k - i] for i in range(1, k))) / 2)
    return a


def _log_i0e(z: Any, *, times: int) -> Any:
    z = np.asarray(z, np.float64)
    i0e = scipy.special.i0e(z)
    if times == 0:
        return np.where(z < 1e-3, -z + np.log1p(np.square(z) * (0.25 + np.square(z) / 64)), np.log(i0e))
    i1e = scipy.special.i1e(z)
    far = z > _LARGE
    w = 1 / np.where(far, z, 1.0)
    tail = np.zeros_like(w)
    for k, a in reversed(list(enumerate(_expansion()))[1:]):
        tail = (tail + (a if times == 1 else -k * a)) * w
    if times == 1:
        return np.where(far, tail, (i1e - i0e) / i0e)
    ratio = i1e / i0e
    over = np.where(np.abs(z) < 1e-8, 0.5, ratio / np.where(z == 0, 1.0, z))
    return np.where(far, tail * w, 1 - over - ratio**2)


def _next_of_log_i0e(out: Any, z: Any, *, times: int) -> Operand:
    if times == 2:
        raise UnimplementedError("log_i0e: the third derivative is not implemented; the first two are")
    return log_i0e(z, times=times + 1)


log_i0e = elementwise(
    "log_i0e",
    typed_kernel(_log_i0e),
    (_next_of_log_i0e,),
    args=("z",),
    accepts=FLOATING,
    doc="Derivative number `times` of the logarithm of `bessel_i0e` of numbers that are not negative; at 0 from above.",
)

# ---- logarithms of tails ---------------------------------------------------------------------------------------------

_NEARLY_ALL = 0.99
_NEARLY_NONE = 1e-290
_STEPS = 300


def _slope(op: Op, i: int, out: Any, *args: Any) -> Any:
    """The derivative of an op in one of its operands, where its value is known."""
    rules: Any = op.vjp
    return rules[i].factor(out, args, {})


def _log_of(
    name: str,
    tail: Op,
    rest: str | Callable[..., Any],
    doc: str,
    slopes: dict[int, Callable[..., Any]] | None = None,
    far: Callable[..., Any] | None = None,
) -> Op:
    """The logarithm of a tail: of the other one, `rest` (or SciPy's function of that name), where this is near 1.

    Where it is nearly 0, `far` gives the logarithm, if there is such a function.
    Slopes are those of the tail, divided by it, but for those that are given.
    """

    def near(*arrays: Any) -> Any:
        return np.log1p(-(getattr(scipy.special, rest) if isinstance(rest, str) else rest)(*arrays))

    def kernel(*arrays: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            p = np.asarray(tail.kernel(*arrays))
            out = np.log(p)
        for some, exact in ((p > _NEARLY_ALL, near), (p < _NEARLY_NONE, far)):
            if exact is not None and some.any():
                out = np.array(out)
                found = exact(*[np.broadcast_to(a, some.shape)[some].astype(np.float64) for a in arrays])
                out[some] = np.where(np.isnan(found), out[some], found)
        return out

    def partial(i: int) -> Callable[..., Any]:
        return lambda out, *args: _slope(tail, i, exp(out), *args) * exp(-out)

    partials = [(slopes or {}).get(i) or partial(i) for i in range(len(tail.args))]
    return elementwise(name, typed_kernel(kernel), partials, args=tail.args, accepts=FLOATING, module=__name__, doc=doc)


def _series(a: Any, x: Any) -> Any:
    """Below its middle P is ``x ** a * exp(-x) / gamma(a + 1)`` times a series (DLMF 8.7.1) that falls off soon."""
    term = total = np.ones_like(x)
    for n in range(1, _STEPS):
        term = term * x / (a + n)
        total = total + term
    return total


def _fraction(a: Any, x: Any) -> Any:
    """Above its middle Q is ``x ** a * exp(-x) / gamma(a)`` over a continued fraction (DLMF 8.9.2)."""
    value = np.inf * np.ones_like(x)
    for n in range(_STEPS, -1, -1):
        value = x + 2 * n + 1 - a + (n + 1) * (a - n - 1) / value
    return value


def _log_far(order: int, total: Callable[..., Any]) -> Callable[..., Any]:
    gammaln, xlogy = scipy.special.gammaln, scipy.special.xlogy
    return lambda a, x: xlogy(a, x) - x - gammaln(a + order) + (2 * order - 1) * np.log(total(a, x))


def _hazard(name: str, tail: str, sign: int, log_tail: Callable[[], Op], quotient_far: Callable[..., Any]) -> Op:
    """The density of the gamma distribution over one of its tails, which loses no digits far out."""

    def kernel(a: Any, x: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
            p = getattr(scipy.special, tail)(a, x)
            out = np.exp(scipy.special.xlogy(a - 1, x) - x - scipy.special.gammaln(a)) / p
        far = np.asarray((p < _FAR) & np.isfinite(x) & (x > 0))
        if far.any():
            out = np.array(out)
            out[far] = quotient_far(*[np.broadcast_to(v, far.shape)[far].astype(np.float64) for v in (a, x)])
        return out

    return elementwise(
        name,
        typed_kernel(kernel),
        (
            lambda out, a, x: out * (log(x) - digamma(a) - _slope(log_tail(), 0, log_tail()(a, x), a, x)),
            lambda out, a, x: out * (share(a - 1, x) - 1 - sign * out),
        ),
        args=("a", "x"),
        accepts=FLOATING,
        module=__name__,
        doc="The density of the gamma distribution over one of its tails.",
    )


_FAR = 1e-30
lower_hazard = _hazard("lower_hazard", "gammainc", 1, lambda: log_igamma, lambda a, x: a / (x * _series(a, x)))
upper_hazard = _hazard("upper_hazard", "gammaincc", -1, lambda: log_igammac, lambda a, x: _fraction(a, x) / x)
log_igamma = _log_of(
    "log_igamma",
    igamma,
    "gammaincc",
    "``log(igamma(a, x))``, where that is 0, too.",
    {1: lambda out, a, x: lower_hazard(a, x)},
    lambda a, x: _log_far(1, _series)(a, x),
)
log_igammac = _log_of(
    "log_igammac",
    igammac,
    "gammainc",
    "``log(igammac(a, x))``, where that is 0, too.",
    {1: lambda out, a, x: -upper_hazard(a, x)},
    lambda a, x: _log_far(0, _fraction)(a, x),
)


log_betainc = _log_of("log_betainc", betainc, tail_kernels.upper_beta, "``log(betainc(a, b, x))``.")
log_betaincc = _log_of("log_betaincc", betaincc, "betainc", "``log(betaincc(a, b, x))``.")
log_erf = _log_of("log_erf", erf, "erfc", "``log(erf(x))`` of positive x.")
log_stdtr = _log_of("log_stdtr", stdtr, lambda df, t: scipy.special.stdtr(df, -t), "``log(stdtr(df, t))``.")


def _log_erfc(x: Any) -> Any:
    out = np.asarray(np.log(scipy.special.erfc(x)))
    near, far = np.asarray(np.less(x, 0.01)), np.asarray(np.greater(x, 5.0))
    if near.any():
        out[near] = np.log1p(-scipy.special.erf(x[near]))
    if far.any():
        out[far] = math.log(2) + scipy.special.log_ndtr(-math.sqrt(2) * x[far])
    return out


log_erfc = elementwise(
    "log_erfc",
    typed_kernel(_log_erfc),
    (lambda out, x: -2 / math.sqrt(math.pi) * reciprocal(erfcx(x)),),
    accepts=FLOATING,
    doc="``log(erfc(x))``, far out too.",
)

# ---- tails of one distribution ---------------------------------------------------------------------------------------

_HALF_WIDTH = 0.05
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


def _normal_within(c: Any, x: Any) -> Any:
    with np.errstate(under="ignore"):
        far = scipy.special.ndtr(x - c) - scipy.special.ndtr(-x - c)
        near = np.asarray((np.abs(x) < _HALF_WIDTH) & np.isfinite(c))
        if not near.any():
            return far
        out = np.array(far, np.float64)
        at, wide = (np.broadcast_to(v, near.shape)[near].astype(np.float64) for v in (c, x))
        density = np.exp(-0.5 * np.square(at[:, None] + wide[:, None] * _NODES)) / math.sqrt(2 * math.pi)
        out[near] = wide * np.sum(density * _WEIGHTS, -1)
        return out


def _normal_density(x: Any) -> Operand:
    return exp(_log_density(x))


normal_within = elementwise(
    "normal_within",
    typed_kernel(_normal_within),
    (
        lambda out, c, x: _normal_density(c - x) * expm1(-2 * c * x),
        lambda out, c, x: _normal_density(c - x) * (1 + exp(-2 * c * x)),
    ),
    args=("c", "x"),
    accepts=FLOATING,
    doc="The probability of a standard normal variable within `x` of `c`.",
)


def _log_normal_mass(a: Any, b: Any) -> Any:
    flipped = np.greater(a, 0)  # from the tail that both are nearer to
    low, high = scipy.special.log_ndtr(np.where(flipped, -b, a)), scipy.special.log_ndtr(np.where(flipped, -a, b))
    with np.errstate(invalid="ignore"):
        return high + _log_one_minus_exp(low - high)


def _log_density(x: Any) -> Operand:
    return -0.5 * square(x) - 0.5 * math.log(2 * math.pi)


log_normal_mass = elementwise(
    "log_normal_mass",
    typed_kernel(_log_normal_mass),
    (lambda out, a, b: -exp(_log_density(a) - out), lambda out, a, b: exp(_log_density(b) - out)),
    args=("a", "b"),
    accepts=FLOATING,
    doc="The logarithm of the probability of a standard normal variable between `a` and `b`.",
)


def _log_truncated(x: Any, a: Any, b: Any) -> Any:
    whole = _log_normal_mass(a, b)
    out = np.asarray(_log_normal_mass(a, x) - whole)
    near = out > -0.1
    if near.any():
        out = np.array(out)
        at, end, total = (np.broadcast_to(v, near.shape)[near] for v in (x, b, whole))
        out[near] = np.log1p(-np.exp(_log_normal_mass(at, end) - total))
    return out


log_truncated_cdf = elementwise(
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
    accepts=FLOATING,
    doc="The logarithm of the distribution function of a standard normal variable between `a` and `b`.",
)


def _exponential_part(x: Any, k: Any) -> Any:
    x, k = np.broadcast_arrays(x, k)
    z = x - 1 / k
    with np.errstate(divide="ignore", invalid="ignore"):
        out = np.asarray(0.5 / np.square(k) - x / k + scipy.special.log_ndtr(z))
        low = z < -1
        if low.any():
            out[low] = np.log(0.5 * scipy.special.erfcx(-math.sqrt(0.5) * z[low])) - 0.5 * np.square(x[low])
    return out


def _hazard_of_normal(z: Any) -> Operand:
    return _slope(log_ndtr, 0, log_ndtr(z), z)


exponential_part = elementwise(
    "exponential_part",
    typed_kernel(_exponential_part),
    (
        lambda out, x, k: _hazard_of_normal(x - 1 / k) - 1 / k,
        lambda out, x, k: (x - 1 / k + _hazard_of_normal(x - 1 / k)) / square(k),
    ),
    args=("x", "k"),
    accepts=FLOATING,
    doc="``1 / (2 * k ** 2) - x / k + log_ndtr(x - 1 / k)``, in which large terms do not cancel.",
)

_END = 0.1


def _half_disk(x: Any) -> Any:
    x = np.asarray(x, np.float64)
    out = np.asarray(0.5 + (x * np.sqrt((1 - x) * (1 + x)) + np.arcsin(x)) / math.pi)
    end = x < _END - 1
    if end.any():
        out[end] = scipy.special.betainc(1.5, 1.5, 0.5 * (1 + x[end]))
    return out


half_disk = elementwise(
    "half_disk",
    typed_kernel(_half_disk),
    (lambda out, x: 2 / math.pi * sqrt((1 - x) * (1 + x)),),
    accepts=FLOATING,
    doc="The share of the unit disk whose first coordinate is less than x.",
)


def _skew_normal(x: Any, a: Any) -> Any:
    whole = scipy.special.ndtr(x)
    out = np.asarray(whole - 2.0 * scipy.special.owens_t(x, a))
    lost = np.asarray((out < 0.1 * whole) & np.isfinite(x) & np.isfinite(a))
    if lost.any():
        out = np.array(out)
        out[lost] = _skew_normal_tail(*[np.broadcast_to(v, lost.shape)[lost].astype(np.float64) for v in (x, a)])
    return out


def _skew_normal_tail(x: Any, a: Any) -> Any:
    """The integral of the density up to x, whose logarithm falls off at a known rate, by the rule of trapezoids.

    In ``u = exp(s - exp(-s))``, with which all derivatives vanish at both ends (H. Takahasi and M. Mori, 1974).
    """
    log_density = -0.5 * np.square(x) + scipy.special.log_ndtr(a * x)
    rate = -x + a * np.exp(-0.5 * np.square(a * x) - scipy.special.log_ndtr(a * x)) / math.sqrt(2 * math.pi)
    s = np.linspace(-4.2, 4.2, 141)
    u = np.exp(s - np.exp(-s))
    weights = (s[1] - s[0]) * u * (1 + np.exp(-s))
    at = x[:, None] - u / rate[:, None]
    inner = np.exp(-0.5 * np.square(at) + scipy.special.log_ndtr(a[:, None] * at) - log_density[:, None])
    return 2 / math.sqrt(2 * math.pi) * np.exp(log_density) * np.sum(inner * weights, -1) / rate


skew_normal = elementwise(
    "skew_normal",
    typed_kernel(_skew_normal),
    (
        lambda out, x, a: 2 * _normal_density(x) * ndtr(a * x),
        lambda out, x, a: -exp(-0.5 * square(x) * (1 + square(a))) / (math.pi * (1 + square(a))),
    ),
    args=("x", "a"),
    accepts=FLOATING,
    doc="Distribution function of the skew normal distribution, which keeps its digits in the tail that is cut.",
)


def _power_density(x: Any, b: Any) -> Operand:
    return exp(-pow(x, b) - lgamma(1 / b))


power_tail = elementwise(
    "power_tail",
    typed_kernel(lambda x, b: 0.5 * scipy.special.gammaincc(1 / b, np.power(x, b))),
    (
        lambda out, x, b: -0.5 * b * _power_density(x, b),
        lambda out, x, b: (
            -0.5
            * (_slope(igammac, 0, 2 * out, 1 / b, pow(x, b)) / square(b) + _power_density(x, b) * log_of_power(x, x))
        ),
    ),
    args=("x", "b"),
    accepts=FLOATING,
    doc="The tail beyond a positive `x` of the density ``exp(-abs(x) ** b) * b / (2 * gamma(1 / b))``.",
)


def _log_beta_prime(a: Any, b: Any, x: Any) -> Operand:
    return log_of_power(a - 1, x) - (a + b) * log1p(x) - betaln(a, b)


def _beta_prime_tail(name: str, sign: int) -> Op:
    """By the two shares, ``x / (1 + x)`` and ``1 / (1 + x)``: none of them is one minus the other."""

    def kernel(a: Any, b: Any, x: Any) -> Any:
        with np.errstate(divide="ignore"):
            below, above = 1 / (1 + 1 / x), 1 / (1 + x)
        upper = tail_kernels.upper_beta
        return upper(b, a, above, below) if sign > 0 else upper(a, b, below, above)

    return elementwise(
        name,
        typed_kernel(kernel),
        (
            lambda out, a, b, x: sign * betainc_grad_a(a, b, x / (1 + x)),
            lambda out, a, b, x: sign * betainc_grad_b(a, b, x / (1 + x)),
            lambda out, a, b, x: sign * exp(_log_beta_prime(a, b, x)),
        ),
        args=("a", "b", "x"),
        accepts=FLOATING,
        module=__name__,
        doc="A tail of the beta prime distribution.",
    )


beta_prime_cdf = _beta_prime_tail("beta_prime_cdf", 1)
beta_prime_sf = _beta_prime_tail("beta_prime_sf", -1)
log_beta_prime_cdf = _log_of("log_beta_prime_cdf", beta_prime_cdf, beta_prime_sf.kernel, "The logarithm of that.")
log_beta_prime_sf = _log_of("log_beta_prime_sf", beta_prime_sf, beta_prime_cdf.kernel, "The logarithm of that.")
