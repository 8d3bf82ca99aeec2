"""Terms of log densities and distribution functions, with their slopes where a factor vanishes or a tail is small.

The logarithm of a distribution function is made of the function where that is small, of the other tail where it is
near 1. Derivatives are those of the NIST Digital Library of Mathematical Functions (DLMF), chapters 4, 8 and 10.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.kinds import real_elementwise
from engine.core.op import Op
from engine.core.operands import Operand
from engine.ops import tail_kernels
from engine.ops.arithmetic import reciprocal, square
from engine.ops.compare import where
from engine.ops.explog import exp, expm1, log
from engine.ops.nn import softplus_kernel
from engine.ops.ratio_distributions import stdtr
from engine.ops.scipy_special import betaincc, betaln, erfcx, log_of_power, log_of_power1p, share
from engine.ops.special import bessel_i0e, bessel_i1e, betainc, digamma, erf, igamma, igammac, typed_kernel
from engine.ops.trig import tanh
from engine.runtime import elementary
from engine.runtime.errors import UnimplementedError
from engine.runtime.lazy_scipy import scipy

# ---- products of an exponent that may be zero ------------------------------------------------------------------------


product = real_elementwise(
    "product",
    typed_kernel(lambda e, y: np.where(np.equal(e, 0), 0, e * y)),
    (lambda out, e, y: y, lambda out, e, y: e),
    args=("e", "y"),
    doc="``e * y``, 0 where `e` is 0, even if `y` is infinite; its slope in `e` is `y` there, too.",
)
log1p_power = real_elementwise(
    "log1p_power",
    lambda x, c: softplus_kernel(c * elementary.log(x)),
    (lambda out, x, c: c * exp(log_of_power(c - 1, x) - out), lambda out, x, c: log_of_power(exp(c * log(x) - out), x)),
    args=("x", "c"),
    doc="``log(1 + x ** c)`` of numbers that are not negative, without overflow.",
)

# ---- of one minus an exponential -------------------------------------------------------------------------------------

one_minus_exp = real_elementwise(
    "one_minus_exp",
    lambda t: np.negative(elementary.expm1(t)),
    (lambda out, t: -exp(t),),
    args=("t",),
    doc="``1 - exp(t)``, accurate near 0; its slope keeps its digits far below 0, too.",
)


def _log_one_minus_exp(t: Any) -> Any:
    with np.errstate(divide="ignore"):
        return np.where(t > -math.log(2), elementary.log(-elementary.expm1(t)), elementary.log1p(-elementary.exp(t)))


odds = real_elementwise(
    "odds",
    lambda t: np.reciprocal(elementary.expm1(np.negative(t))),
    (lambda out, t: out * (1 + out),),
    args=("t",),
    doc="``exp(t) / (1 - exp(t))``.",
)
log_one_minus_exp = real_elementwise(
    "log_one_minus_exp",
    typed_kernel(_log_one_minus_exp),
    (lambda out, t: -odds(t),),
    args=("t",),
    doc="``log(1 - exp(t))`` for negative `t`: the logarithm of one tail from that of the other.",
)

exp_minus = real_elementwise(
    "exp_minus",
    lambda x, c: elementary.exp(x) - c * x,
    (lambda out, x, c: where(x < -1, exp(x) - c, expm1(x) + (1 - c)), lambda out, x, c: -x),
    args=("x", "c"),
    doc="``exp(x) - c * x``, whose slope keeps its digits near 0 where `c` is 1.",
)
log_weibull = real_elementwise(
    "log_weibull",
    typed_kernel(lambda y: np.where(y < -40, y, _log_one_minus_exp(-elementary.exp(y)))),
    (lambda out, y: exp(y - exp(y) - out),),
    args=("y",),
    doc="``log(1 - exp(-exp(y)))``, where ``exp(y)`` is 0, too.",
)


log_cosh = real_elementwise(
    "log_cosh",
    lambda x: np.abs(x) + elementary.log1p(elementary.exp(-2 * np.abs(x))) - math.log(2),
    (lambda out, x: tanh(x),),
    doc="``log(cosh(x))``, without overflow.",
)

hypsecant_cdf = real_elementwise(
    "hypsecant_cdf",
    lambda x: 2 / math.pi * elementary.arctan(elementary.exp(x)),
    (lambda out, x: exp(-log_cosh(x)) / math.pi,),
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


log1p_ratio = real_elementwise(
    "log1p_ratio",
    typed_kernel(_log1p_ratio),
    (lambda out, u, *, times: log1p_ratio(u, times=times + 1),),
    args=("u",),
    doc="Derivative number `times` of ``log(1 + u) / u``, which is 1 at 0.",
)


def _log1p_over(x: Any, c: Any) -> Any:
    zero = np.equal(c, 0)
    if not zero.any():
        return elementary.log1p(c * x) / c
    return np.where(zero, x, elementary.log1p(c * x) / np.where(zero, 1, c))


log1p_over = real_elementwise(
    "log1p_over",
    typed_kernel(_log1p_over),
    (lambda out, x, c: reciprocal(1 + c * x), lambda out, x, c: square(x) * log1p_ratio(c * x, times=1)),
    args=("x", "c"),
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
        return np.where(z < 1e-3, -z + elementary.log1p(np.square(z) * (0.25 + np.square(z) / 64)), elementary.log(i0e))
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


log_i0e = real_elementwise(
    "log_i0e",
    typed_kernel(_log_i0e),
    (_next_of_log_i0e,),
    args=("z",),
    doc="Derivative number `times` of the logarithm of `bessel_i0e` of numbers that are not negative; at 0 from above.",
)


def _bessel_ratio(z: Any) -> Operand:
    return bessel_i1e(z) / bessel_i0e(z)


log_rice = real_elementwise(
    "log_rice",
    typed_kernel(lambda x, b: -0.5 * np.square(x - b) + _log_i0e(x * b, times=0)),
    (lambda out, x, b: b * _bessel_ratio(x * b) - x, lambda out, x, b: x * _bessel_ratio(x * b) - b),
    args=("x", "b"),
    doc="``-(x ** 2 + b ** 2) / 2 + log(bessel_i0(x * b))``, without overflow.",
)

# ---- logarithms of tails ---------------------------------------------------------------------------------------------

_NEARLY_ALL = 0.99
_NEARLY_NONE = 1e-290
_STEPS = 300


def _slope(op: Op, i: int, out: Any, *args: Any) -> Any:
    """The derivative of an op in one of its operands, where its value is known."""
    rules: Any = op.vjp
    return rules[i].factor(out, args, {})


_LOWEST = -700.0

over_tail = real_elementwise(
    "over_tail",
    typed_kernel(lambda out: np.where(out < _LOWEST, np.nan, elementary.exp(-out))),
    (lambda result, out: -result,),
    args=("out",),
    doc="``exp(-out)``; NaN where a tail of this logarithm, or a slope of it, has lost digits.",
)


def log_of_tail(
    name: str,
    tail: Op,
    rest: str | Callable[..., Any],
    doc: str,
    slopes: dict[int, Callable[..., Any]] | None = None,
    far: Callable[..., Any] | None = None,
    module: str = __name__,
) -> Op:
    """The logarithm of a tail: of the other one, `rest` (or SciPy's function of that name), where this is near 1.

    Where it is nearly 0, `far` gives the logarithm, if there is such a function.
    Slopes are those of the tail, divided by it, but for those that are given.
    """

    def near(*arrays: Any) -> Any:
        return elementary.log1p(-(getattr(scipy.special, rest) if isinstance(rest, str) else rest)(*arrays))

    def kernel(*arrays: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            p = np.asarray(tail.kernel(*arrays))
            out = elementary.log(p)
        for some, exact in ((p > _NEARLY_ALL, near), (p < _NEARLY_NONE, far)):
            if exact is not None and some.any():
                out = np.array(out)
                found = exact(*[np.broadcast_to(a, some.shape)[some].astype(np.float64) for a in arrays])
                out[some] = np.where(np.isnan(found), out[some], found)
        return out

    def partial(i: int) -> Callable[..., Any]:
        return lambda out, *args: _slope(tail, i, exp(out), *args) * over_tail(out)

    partials = [(slopes or {}).get(i) or partial(i) for i in range(len(tail.args))]
    return real_elementwise(name, typed_kernel(kernel), partials, args=tail.args, module=module, doc=doc)


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
    return lambda a, x: xlogy(a, x) - x - gammaln(a + order) + (2 * order - 1) * elementary.log(total(a, x))


def _hazard(name: str, tail: str, sign: int, log_tail: Callable[[], Op], quotient_far: Callable[..., Any]) -> Op:
    """The density of the gamma distribution over one of its tails, which loses no digits far out."""

    def kernel(a: Any, x: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
            p = getattr(scipy.special, tail)(a, x)
            out = elementary.exp(scipy.special.xlogy(a - 1, x) - x - scipy.special.gammaln(a)) / p
        return tail_kernels.replaced(out, (p < _FAR) & np.isfinite(x) & (x > 0), quotient_far, a, x)

    return real_elementwise(
        name,
        typed_kernel(kernel),
        (
            lambda out, a, x: out * (log(x) - digamma(a) - _slope(log_tail(), 0, log_tail()(a, x), a, x)),
            lambda out, a, x: out * (share(a - 1, x) - 1 - sign * out),
        ),
        args=("a", "x"),
        doc="The density of the gamma distribution over one of its tails.",
    )


_FAR = 1e-30
lower_hazard = _hazard("lower_hazard", "gammainc", 1, lambda: log_igamma, lambda a, x: a / (x * _series(a, x)))
upper_hazard = _hazard("upper_hazard", "gammaincc", -1, lambda: log_igammac, lambda a, x: _fraction(a, x) / x)
log_igamma = log_of_tail(
    "log_igamma",
    igamma,
    "gammaincc",
    "``log(igamma(a, x))``, where that is 0, too.",
    {1: lambda out, a, x: lower_hazard(a, x)},
    lambda a, x: _log_far(1, _series)(a, x),
)
log_igammac = log_of_tail(
    "log_igammac",
    igammac,
    "gammainc",
    "``log(igammac(a, x))``, where that is 0, too.",
    {1: lambda out, a, x: -upper_hazard(a, x)},
    lambda a, x: _log_far(0, _fraction)(a, x),
)


def log_beta_far(a: Any, b: Any, x: Any) -> Any:
    """Below its middle I is a power times a series (DLMF 8.17.8) whose terms have one sign."""
    term = total = np.ones_like(x)
    for n in range(_STEPS):
        term = term * x * (a + b + n) / (a + 1 + n)
        total = total + term
    powers = scipy.special.xlogy(a, x) + scipy.special.xlog1py(b, -x)
    return powers - elementary.log(a) - scipy.special.betaln(a, b) + elementary.log(total)


def _share_density(a: Any, b: Any, x: Any) -> Operand:
    return log_of_power(a - 1, x) + log_of_power1p(b - 1, -x) - betaln(a, b)


log_betainc = log_of_tail(
    "log_betainc",
    betainc,
    tail_kernels.upper_beta,
    "``log(betainc(a, b, x))``.",
    {2: lambda out, a, b, x: exp(_share_density(a, b, x) - out)},
    lambda a, b, x: log_beta_far(a, b, x),
)
log_betaincc = log_of_tail(
    "log_betaincc",
    betaincc,
    "betainc",
    "``log(betaincc(a, b, x))``.",
    {2: lambda out, a, b, x: -exp(_share_density(a, b, x) - out)},
    lambda a, b, x: log_beta_far(b, a, 1 - x),
)
log_erf = log_of_tail("log_erf", erf, "erfc", "``log(erf(x))`` of positive x.")
log_stdtr = log_of_tail("log_stdtr", stdtr, lambda df, t: scipy.special.stdtr(df, -t), "``log(stdtr(df, t))``.")


def _log_erfc(x: Any) -> Any:
    out = np.asarray(elementary.log(elementary.erfc(x)))
    near, far = np.asarray(np.less(x, 0.01)), np.asarray(np.greater(x, 5.0))
    if near.any():
        out[near] = elementary.log1p(-elementary.erf(x[near]))
    if far.any():
        out[far] = math.log(2) + scipy.special.log_ndtr(-math.sqrt(2) * x[far])
    return out


log_erfc = real_elementwise(
    "log_erfc",
    typed_kernel(_log_erfc),
    (lambda out, x: -2 / math.sqrt(math.pi) * reciprocal(erfcx(x)),),
    doc="``log(erfc(x))``, far out too.",
)
