"""Special functions of SciPy's that TensorFlow lacks, under SciPy's names.

Derivatives are those of the NIST Digital Library of Mathematical Functions (DLMF) unless a source is given. Where a
quotient is 0 / 0 at a point, a function stands for it that has all derivatives there: ``exprel(x) = expm1(x) / x`` and
its like are confluent hypergeometric functions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.core.dtypes import COMPLEX
from engine.core.kinds import elementwise, real_elementwise
from engine.core.op import Op
from engine.core.operands import Operand
from engine.ops import parameter_kernels, tail_kernels
from engine.ops.arithmetic import floor, reciprocal, sign, square
from engine.ops.compare import greater, less_equal, where
from engine.ops.creation import ones_like, zeros_like
from engine.ops.explog import exp, in_single, log, log1p, pow, slope_within, slopes_within
from engine.ops.parameter_kernels import Factor
from engine.ops.special import (
    beta_density,
    betainc_grad_a,
    betainc_grad_b,
    digamma,
    digamma_step,
    erf,
    gamma_density,
    gaussian_integral,
    igamma_grad_a,
    in_double,
    named_kernel,
    no_derivative,
    polygamma,
    scipy_kernel,
    typed_kernel,
    xdivy_kernel,
)
from engine.ops.trig import asinh_slope, cos, cosh, sin, sinh
from engine.runtime import elementary
from engine.runtime.lazy_scipy import scipy

_ROOT_2PI = math.sqrt(2 * math.pi)


def _function(name: str, *partials: Any, args: str = "x", scipy_name: str = "", double: str = "", doc: str) -> Op:
    """An op that is a ufunc of SciPy's; `double` says whether its rules are computed `in_double`, of what."""
    op: Any = real_elementwise(
        name,
        scipy_kernel(scipy_name or name),
        [in_double(lambda: op, p, double == "value") for p in partials] if double else partials,
        args=tuple(args.split()),
        doc=doc,
    )
    return op


# ---- powers and logarithms -------------------------------------------------------------------------------------------

cbrt = _function("cbrt", lambda out, x: 1 / (3 * square(out)), doc="Cube root.")
# at 1024 half the value is a number yet, and so is the derivative
exp2_slope = slope_within(
    "exp2",
    {"e": 15.9, "f": 127.9, "d": 1023.9},
    np.positive,
    lambda out, x: math.log(2) * out,
    lambda x: 2 * math.log(2) * in_single(elementary.exp2, x - 1),
    lambda slope, out, x: math.log(2) * exp2_slope(out, x),
    module=__name__,
)
exp2 = _function("exp2", lambda out, x: exp2_slope(out, x), doc="``2 ** x``.")
exp10 = _function("exp10", lambda out, x: math.log(10) * out, doc="``10 ** x``.")
cosm1 = _function("cosm1", lambda out, x: -sin(x), doc="``cos(x) - 1``, accurate for small x.")
exprel = _function("exprel", lambda out, x: hyp1f1(2 * ones_like(x), 3 * ones_like(x), x) / 2, doc="``expm1(x) / x``.")
powm1 = _function(
    "powm1",
    lambda out, x, y: y * pow(x, y - 1),
    lambda out, x, y: pow(x, y) * log(x),
    args="x y",
    doc="``x ** y - 1``, accurate where it is small.",
)
logit = _function("logit", lambda out, p: 1 / (p * (1 - p)), args="p", doc="``log(p / (1 - p))``.")


exponential_moment = real_elementwise(
    "exponential_moment",
    typed_kernel(lambda x, c, *, k: elementary.pow(x, k + 1) * _hyp1f1(k + 1, k + 2, c * x) / (k + 1)),
    (lambda out, x, c, *, k: x ** float(k) * exp(c * x), lambda out, x, c, *, k: exponential_moment(x, c, k=k + 1)),
    args=("x", "c"),
    doc="The integral of ``s ** k * exp(c * s)`` from 0 to x.",
)
boxcox = _function(
    "boxcox",
    lambda out, x, lmbda: pow(x, lmbda - 1),
    lambda out, x, lmbda: exponential_moment(log(x), lmbda, k=1),
    args="x lmbda",
    double="arguments",
    doc="``(x ** lmbda - 1) / lmbda``, or ``log(x)`` where lmbda is 0.",
)
boxcox1p = _function(
    "boxcox1p",
    lambda out, x, lmbda: exp((lmbda - 1) * log1p(x)),
    lambda out, x, lmbda: exponential_moment(log1p(x), lmbda, k=1),
    args="x lmbda",
    double="arguments",
    doc="`boxcox` of ``1 + x``.",
)


def _inverse_slope(y: Any, lmbda: Any) -> Operand:
    """The derivative of ``log1p(lmbda * y) / lmbda`` in lmbda, near 0 by its series."""
    u = lmbda * y
    near = abs(u) < 0.01
    series = -1 / 2 + u * (2 / 3 - u * (3 / 4 - u * (4 / 5 - u * (5 / 6 - u * (6 / 7 - u * (7 / 8))))))
    away = where(near, ones_like(u), u)
    return square(y) * where(near, series, (away / (1 + away) - log1p(away)) / square(away))


inv_boxcox = _function(
    "inv_boxcox",
    lambda out, y, lmbda: out / (1 + lmbda * y),
    lambda out, y, lmbda: out * _inverse_slope(y, lmbda),
    args="y lmbda",
    double="value",
    doc="Inverse of `boxcox`.",
)
inv_boxcox1p = _function(
    "inv_boxcox1p",
    lambda out, y, lmbda: (1 + out) / (1 + lmbda * y),
    lambda out, y, lmbda: (1 + out) * _inverse_slope(y, lmbda),
    args="y lmbda",
    double="value",
    doc="Inverse of `boxcox1p`.",
)

# ---- entropies, losses -----------------------------------------------------------------------------------------------

share = real_elementwise(
    "share",
    xdivy_kernel,
    (lambda out, x, y: 1 / y, lambda out, x, y: -share(out, y)),
    doc="``x / y``, 0 where x is 0, with the slope of this quotient there, too.",
)
log_of_power = _function(
    "log_of_power",
    lambda out, x, y: log(y),
    lambda out, x, y: share(x, y),
    args="x y",
    scipy_name="xlogy",
    doc="``x * log(y)``, 0 where x is 0, with the slopes of this product there, too.",
)
log_of_power1p = _function(
    "log_of_power1p",
    lambda out, x, y: log1p(y),
    lambda out, x, y: share(x, 1 + y),
    args="x y",
    scipy_name="xlog1py",
    doc="`log_of_power` of ``1 + y``, accurate for small y.",
)
entr = _function("entr", lambda out, x: -1 - log(x), doc="``-x * log(x)``, 0 at 0, minus infinity below.")


def _log_ratio(x: Any, y: Any) -> Any:
    with np.errstate(all="ignore"):
        ratio = x / y
        # also where the quotient is no number
        return np.where((ratio > 1e-30) & (ratio < 1e30), elementary.log(ratio), elementary.log(x) - elementary.log(y))


log_ratio = real_elementwise(
    "log_ratio",
    typed_kernel(_log_ratio),
    (lambda out, x, y: reciprocal(x), lambda out, x, y: -reciprocal(y)),
    doc="``log(x / y)``.",
)
rel_entr = _function(
    "rel_entr",
    lambda out, x, y: log_ratio(x, y) + 1,
    lambda out, x, y: -share(x, y),
    args="x y",
    doc="``x * log(x / y)``, 0 where x is 0.",
)
kl_div = _function(
    "kl_div",
    lambda out, x, y: log_ratio(x, y),
    lambda out, x, y: 1 - share(x, y),
    args="x y",
    doc="``x * log(x / y) - x + y``.",
)
huber = _function(
    "huber",
    lambda out, delta, r: where(less_equal(abs(r), delta), zeros_like(r), abs(r) - delta),
    lambda out, delta, r: where(less_equal(abs(r), delta), r, delta * sign(r)),
    args="delta r",
    doc="Half the square of r within delta of 0, linear beyond.",
)


within_one = real_elementwise(
    "within_one",
    lambda x: x * asinh_slope.kernel(x),
    (lambda out, x: asinh_slope(x) * square(asinh_slope(x)),),
    doc="``x / sqrt(1 + x ** 2)``.",
)


def _cube(x: Any) -> Operand:
    return x * square(x)


pseudo_huber_slope = real_elementwise(
    "pseudo_huber_slope",
    lambda delta, r: delta * within_one.kernel(r / delta),
    (lambda out, delta, r: _cube(within_one(r / delta)), lambda out, delta, r: _cube(asinh_slope(r / delta))),
    args=("delta", "r"),
    doc="The derivative of `pseudo_huber` in r.",
)


def _pseudo_huber_dd(out: Any, delta: Any, r: Any) -> Operand:
    u = r / delta
    sine = within_one(u)
    return r * sine * square(sine / (1 + asinh_slope(u)))


pseudo_huber = _function(
    "pseudo_huber",
    _pseudo_huber_dd,
    lambda out, delta, r: pseudo_huber_slope(delta, r),
    args="delta r",
    double="arguments",
    doc="``delta ** 2 * (sqrt(1 + (r / delta) ** 2) - 1)``.",
)

# ---- error functions, normal and other distributions -----------------------------------------------------------------

erfcx_slope, erfcx_curve = slopes_within(
    "erfcx",
    {"f": 1.5, "d": 7.0},
    np.positive,
    (lambda out, x: 2 * x * out - 2 / math.sqrt(math.pi), lambda slope, out, x: 2 * (out + x * slope)),
    lambda op, x, times: 2 / math.sqrt(math.pi) * op(x, times=times, sign=1),
    gaussian_integral,
    lambda x: scipy.special.erfcx(x),
    module=__name__,
)
erfcx = _function("erfcx", lambda out, x: erfcx_slope(out, x), doc="``exp(x ** 2) * erfc(x)``.")
erfi = _function("erfi", lambda out, x: 2 / math.sqrt(math.pi) * exp(square(x)), doc="``-1j * erf(1j * x)``.")
inverse_mills = real_elementwise(
    "inverse_mills",
    typed_kernel(tail_kernels.inverse_mills),
    (lambda out, x, *, times: inverse_mills(x, times=times + 1),),
    doc="Derivative number `times` of the slope of `log_ndtr`: the normal density over its distribution function.",
)
log_ndtr_slope, log_ndtr_curve = slopes_within(
    "log_ndtr",
    {"f": 2.5, "d": 9.0},
    np.negative,
    (
        lambda out, x: elementary.exp(-0.5 * np.square(x) - out) / math.sqrt(2 * math.pi),
        lambda slope, out, x: -slope * (x + slope),
    ),
    lambda op, x, times: op(x, times=times),
    inverse_mills,
    lambda x: scipy.special.log_ndtr(x),
    module=__name__,
    first=0,
)
log_ndtr = _function("log_ndtr", lambda out, x: log_ndtr_slope(out, x), doc="Logarithm of `ndtr`, far out too.")
ndtri_exp = _function(
    "ndtri_exp", lambda out, y: 1 / log_ndtr_slope(y, out), args="y", double="value", doc="`ndtri` of ``exp(y)``."
)
wofz_slope = elementwise(
    "wofz_slope",
    typed_kernel(tail_kernels.wofz_slope),
    (None, lambda out, w, z, *, times: wofz_slope(w, z, times=times + 1)),
    args=("w", "z"),
    accepts=COMPLEX,
    strict=False,
    doc="Derivative number `times` of the Faddeeva function, for its value.",
)
wofz_op = elementwise(
    "wofz_op",
    named_kernel("wofz", tail_kernels.wofz),
    (lambda out, z: wofz_slope(out, z, times=1),),
    args=("z",),
    accepts=COMPLEX,
    doc="Faddeeva function ``exp(-z ** 2) * erfc(-1j * z)`` of complex numbers.",
)
voigt = real_elementwise(
    "voigt",
    typed_kernel(tail_kernels.voigt),
    (
        None,
        None,
        lambda out, *args, times, turns: voigt(*args, times=times + 1, turns=turns),
        lambda out, *args, times, turns: args[3] * voigt(*args, times=times + 2, turns=turns),
        lambda out, *args, times, turns: voigt(*args, times=times + 1, turns=turns + 1),
    ),
    args=("real", "imag", "x", "sigma", "gamma"),
    strict=False,
    doc="Derivative number `times` of Voigt's profile in x, as a complex function: its real part after `turns`.",
)
erf_of_complex = elementwise(
    "erf_of_complex",
    scipy_kernel("erf"),
    (lambda out, z: 2 / math.sqrt(math.pi) * exp(-square(z)),),
    args=("z",),
    accepts=COMPLEX,
    doc="Error function of complex numbers.",
)
erfc_of_complex = elementwise(
    "erfc_of_complex",
    scipy_kernel("erfc"),
    (lambda out, z: -2 / math.sqrt(math.pi) * exp(-square(z)),),
    args=("z",),
    accepts=COMPLEX,
    doc="``1 - erf(z)`` of complex numbers.",
)
owens_t = _function(
    "owens_t",
    lambda out, h, a: -0.5 / _ROOT_2PI * exp(-0.5 * square(h)) * erf(a * h / math.sqrt(2)),
    lambda out, h, a: exp(-0.5 * square(h) * (1 + square(a))) / (2 * math.pi * (1 + square(a))),
    args="h a",
    doc="Owen's function: ``exp(-h ** 2 * (1 + t ** 2) / 2) / (1 + t ** 2)`` over 2 pi, integrated from 0 to a.",
)


# ---- gamma, beta, zeta -----------------------------------------------------------------------------------------------

gamma = _function("gamma", lambda out, x: out * digamma(x), doc="Gamma function.")


def _sum(constant: float, weights: Sequence[int], arguments: Sequence[Any]) -> Any:
    total: Any = None
    for weight, x in zip(weights, arguments, strict=True):
        if weight:
            part = x if abs(weight) == 1 else abs(weight) * x
            total = (part if weight > 0 else -part) if total is None else total + part if weight > 0 else total - part
    return total + constant if constant else total


def _log_slope(factors: Sequence[Factor], arguments: Sequence[Any], times: tuple[int, ...]) -> Operand:
    """The derivative of the logarithm of a product of gamma functions, as differences of digamma functions and rest."""
    order = sum(times) - 1
    terms: dict[int, list[Any]] = {1: [], -1: []}
    for power, constant, weights in factors:
        weight = power * math.prod(w**n for w, n in zip(weights, times, strict=True))
        if weight:
            terms[weight].append((constant, weights))
    total: Any = None
    while terms[1] or terms[-1]:
        if terms[1] and terms[-1]:
            (end, u), (start, v) = terms[1].pop(), terms[-1].pop()
            step = _sum(end - start, [x - y for x, y in zip(u, v, strict=True)], arguments)
            part = digamma_step(_sum(start, v, arguments), step, order, _sum(end, u, arguments))
        else:
            power = 1 if terms[1] else -1
            constant, weights = terms[power].pop()
            at = _sum(constant, weights, arguments)
            part = power * (polygamma(order * ones_like(at), at) if order else digamma(at))
        total = part if total is None else total + part
    return total


def _gamma_product(
    name: str,
    factors: Sequence[Factor],
    near: Callable[..., Any],
    args: str,
    slope: Callable[[], Op],
    doc: str,
    exact: Callable[..., Any] = parameter_kernels.gamma_product,
) -> tuple[Op, Op]:
    """The op of a product of gamma functions and reciprocals, and that of its derivatives, where these have poles, too.

    ``near(times, *arguments)`` says where the derivative is the `exact` one, as an array.
    """
    n = len(args.split())

    def kernel(given: Any, out: Any, *arguments: Any, times: tuple[int, ...]) -> Any:
        there = near(times, *arguments)
        if not np.any(there):
            return np.array(given)
        found, there, *others = map(np.array, np.broadcast_arrays(given, there, *arguments))
        some = [v[there] for v in others]
        found[there] = exact(*some, factors=factors, times=times)
        return found

    def derivative(out: Any, arguments: Sequence[Any], times: tuple[int, ...]) -> Operand:
        if not any(times):
            return out
        first = next(i for i, n in enumerate(times) if n)
        less = tuple([n - (i == first) for i, n in enumerate(times)])
        total: Any = None
        for some in itertools.product(*[range(n + 1) for n in less]):
            ways = math.prod(math.comb(n, k) for n, k in zip(less, some, strict=True))
            rest = tuple([n - k for n, k in zip(less, some, strict=True)])
            more = tuple([k + (i == first) for i, k in enumerate(some)])
            part = derivative(out, arguments, rest) * _log_slope(factors, arguments, more)
            part = part if ways == 1 else ways * part
            total = part if total is None else total + part
        return slope()(total, out, *arguments, times=times)

    def rule(i: int) -> Callable[..., Operand]:
        def further(found: Any, given: Any, out: Any, *arguments: Any, times: tuple[int, ...]) -> Operand:
            return derivative(out, arguments, tuple([k + (i == j) for j, k in enumerate(times)]))

        return further

    derivatives = real_elementwise(
        f"{name}_slope",
        typed_kernel(kernel),
        (None, None, *[rule(i) for i in range(n)]),
        args=("given", "out", *args.split()),
        strict=False,
        doc=f"The derivative of `{name}`, `times` in each argument, as `given` but near poles.",
    )
    orders = [tuple([int(i == j) for j in range(n)]) for i in range(n)]
    partials = [lambda out, *arguments, times=times: derivative(out, arguments, times) for times in orders]
    return _function(name, *partials, args=args, double="value", doc=doc), derivatives


rgamma, rgamma_slope = _gamma_product(
    "rgamma", ((-1, 0, (1,)),), lambda times, x: x < 0.1, "x", lambda: rgamma_slope, "Reciprocal of the gamma function."
)
beta, beta_slope = _gamma_product(
    "beta",
    ((1, 0, (1, 0)), (1, 0, (0, 1)), (-1, 0, (1, 1))),
    # of tiny arguments the terms of mixed derivatives cancel
    lambda times, a, b: np.minimum(a, b) < (0.1 if min(times) else 0.0),
    "a b",
    lambda: beta_slope,
    "Beta function.",
    parameter_kernels.beta_derivative,
)
betaln = _function(
    "betaln",
    lambda out, a, b: -digamma_step(a, b),
    lambda out, a, b: -digamma_step(b, a),
    args="a b",
    double="arguments",
    doc="Logarithm of the absolute value of the beta function.",
)


binom, binom_slope = _gamma_product(
    "binom",
    ((1, 1, (1, 0)), (-1, 1, (0, 1)), (-1, 1, (1, -1))),
    lambda times, n, k: (k < -0.5) | (n - k < -0.5),
    "n k",
    lambda: binom_slope,
    "Binomial coefficient of real numbers.",
)
poch, poch_slope = _gamma_product(
    "poch",
    ((1, 0, (1, 1)), (-1, 0, (1, 0))),
    lambda times, z, m: (z < 0.1) | (z + m <= 0),
    "z m",
    lambda: poch_slope,
    "``gamma(z + m) / gamma(z)``.",
)
riemann_zeta_by_order = real_elementwise(
    "riemann_zeta_by_order",
    typed_kernel(parameter_kernels.riemann_zeta_by_order),
    (lambda out, x, *, times: riemann_zeta_by_order(x, times=times + 1),),
    doc="Derivative number `times` of Riemann's zeta function.",
)
zetac = _function("zetac", lambda out, x: riemann_zeta_by_order(x, times=1), doc="Riemann's zeta function minus 1.")
riemann_zeta = _function(
    "riemann_zeta", lambda out, x: riemann_zeta_by_order(x, times=1), scipy_name="zeta", doc="Riemann's zeta function."
)
gammaincinv = _function(
    "gammaincinv",
    lambda out, a, y: -igamma_grad_a(a, out) / gamma_density(a, out),
    lambda out, a, y: 1 / gamma_density(a, out),
    args="a y",
    double="value",
    doc="Inverse in x of `igamma`.",
)
gammainccinv = _function(
    "gammainccinv",
    lambda out, a, y: -igamma_grad_a(a, out) / gamma_density(a, out),
    lambda out, a, y: -1 / gamma_density(a, out),
    args="a y",
    double="value",
    doc="Inverse in x of `igammac`.",
)
betaincinv = _function(
    "betaincinv",
    lambda out, a, b, y: -betainc_grad_a(a, b, out) / beta_density(a, b, out),
    lambda out, a, b, y: -betainc_grad_b(a, b, out) / beta_density(a, b, out),
    lambda out, a, b, y: 1 / beta_density(a, b, out),
    args="a b y",
    double="value",
    doc="Inverse in x of `betainc`.",
)
betaincc = real_elementwise(
    "betaincc",
    named_kernel("betaincc", tail_kernels.upper_beta),
    (
        lambda out, a, b, x: -betainc_grad_a(a, b, x),
        lambda out, a, b, x: -betainc_grad_b(a, b, x),
        lambda out, a, b, x: -beta_density(a, b, x),
    ),
    args=("a", "b", "x"),
    doc="``1 - betainc(a, b, x)``.",
)

# ---- hypergeometric functions ----------------------------------------------------------------------------------------


def _constant_in(name: str, arguments: str) -> list[Callable[..., Operand]]:
    return [no_derivative(name, argument) for argument in arguments.split()]


hyp0f1 = _function(
    "hyp0f1",
    *_constant_in("hyp0f1", "v"),
    lambda out, v, z: hyp0f1(v + 1, z) / v,
    args="v z",
    doc="Confluent hypergeometric limit function 0F1.",
)


_MOST_STEPS = 1e6
"""Of SciPy's series and recurrences, whose time grows with an argument."""


def _hyp1f1(a: Any, b: Any, x: Any) -> Any:
    # SciPy takes as many terms as x is large, and does not end for infinite x; the result overflows long before
    x = np.clip(np.asarray(x, np.float64), -1e300, 1e4)
    if np.any((x < -1e4) | (np.maximum(np.absolute(a), np.absolute(b)) > _MOST_STEPS)):
        # a polynomial times an exponential, for which it would take as many terms as x is small
        whole, above = np.equal(np.floor(a - b), a - b), np.maximum(a - b, 0.0)
        vanishes = (x < -1e4) & whole & (a >= b) & (above * elementary.log(-x) + x < -750)
        steps = np.where(whole & (a >= b), np.absolute(x), 0.0)
        never = np.maximum(np.maximum(np.absolute(a), np.absolute(b)), steps) > _MOST_STEPS
        found = scipy.special.hyp1f1(a, b, np.where(never | vanishes, np.nan, x))
        return np.where(vanishes & (b > 0), 0.0, found)
    return scipy.special.hyp1f1(a, b, x)


hyp1f1 = real_elementwise(
    "hyp1f1",
    named_kernel("hyp1f1", _hyp1f1),
    (
        *_constant_in("hyp1f1", "a b"),
        in_double(lambda: hyp1f1, lambda out, a, b, x: a / b * hyp1f1(a + 1, b + 1, x), False),
    ),
    args=("a", "b", "x"),
    doc="Confluent hypergeometric function 1F1.",
)
hyp2f1 = _function(
    "hyp2f1",
    *_constant_in("hyp2f1", "a b c"),
    lambda out, a, b, c, z: a * b / c * hyp2f1(a + 1, b + 1, c + 1, z),
    args="a b c z",
    doc="Gauss' hypergeometric function 2F1.",
)
hyperu = _function(
    "hyperu",
    *_constant_in("hyperu", "a b"),
    lambda out, a, b, x: -a * hyperu(a + 1, b + 1, x),
    args="a b x",
    doc="Confluent hypergeometric function U.",
)

# ---- exponential, sine and cosine integrals, Lambert's function ------------------------------------------------------

expi = _function("expi", lambda out, x: exp(x) / x, doc="Exponential integral Ei, negative x included.")
exp1 = _function("exp1", lambda out, x: -exp(-x) / x, doc="Exponential integral E1.")


def _expn_dx(out: Any, n: Any, x: Any) -> Operand:
    n = floor(n)  # as SciPy takes it
    first = greater(n, zeros_like(n))
    at_zero = -exp(-x) * (1 + 1 / x) / x
    return where(first, -expn(where(first, n - 1, n), x), at_zero)


_SPHERICAL = {"j": (1, -1), "y": (1, -1), "i": (1, 1), "k": (-1, -1)}
"""The signs of the orders below and above in the derivative (DLMF 10.51.1 and 10.51.4)."""


def _spherical(n: Any, z: Any, kind: str) -> Any:
    if kind in "jy" and np.any(never := (n > _MOST_STEPS) & (np.absolute(z) >= _MOST_STEPS)):
        z = np.where(never, np.nan, z)
    return getattr(scipy.special, f"spherical_{kind}n")(np.asarray(n, np.int64), z)


def _spherical_slope(n: Any, z: Any, *, kind: str) -> Any:
    first, second = _SPHERICAL[kind]
    # both orders by one call, of which most of the time is Python's
    n, z = np.broadcast_arrays(np.floor(n), z)
    below, above = _spherical(np.stack([np.maximum(n - 1, 0), n + 1]), z, kind)
    return (first * n * below + second * (n + 1) * above) / (2 * n + 1)


def _spherical_second(out: Any, n: Any, z: Any, *, kind: str) -> Operand:
    n, (first, second) = floor(n), _SPHERICAL[kind]
    below = n * spherical_slope(where(n > 0, n - 1, zeros_like(n)), z, kind=kind)
    return (first * below + second * (n + 1) * spherical_slope(n + 1, z, kind=kind)) / (2 * n + 1)


spherical_slope = real_elementwise(
    "spherical_slope",
    typed_kernel(_spherical_slope),
    (None, _spherical_second),
    args=("n", "z"),
    smooth=(0,),
    doc="The derivative of `spherical_bessel`: a difference of neighboring orders, which needs no quotient by z.",
)
spherical_bessel = real_elementwise(
    "spherical_bessel",
    typed_kernel(lambda n, z, *, kind: _spherical(n, z, kind)),
    (None, lambda out, n, z, *, kind: spherical_slope(n, z, kind=kind)),
    args=("n", "z"),
    smooth=(0,),
    doc="Spherical Bessel function of whole order n, which carries no derivative.",
)
expn = real_elementwise(
    "expn",
    typed_kernel(lambda n, x: scipy.special.expn(_whole(n), x)),
    (None, _expn_dx),
    args=("n", "x"),
    smooth=(0,),
    doc="Exponential integral En, of whole numbers n, which carry no derivative.",
)


def _whole(n: Any) -> Any:
    """Whole numbers as integers, for which SciPy has better loops."""
    n = np.asarray(n)
    return n.astype(np.int64) if np.all(n == np.round(n)) else n


def _integral(name: str, function: str, which: int, slope: Callable[..., Any], doc: str) -> Op:
    return real_elementwise(name, typed_kernel(lambda x: getattr(scipy.special, function)(x)[which]), (slope,), doc=doc)


def _over_x(y: Any, x: Any, sign: int) -> Operand:
    """``sin(x) / x`` (sign -1) or ``sinh(x) / x`` (sign 1), with all derivatives at 0."""
    near = abs(x) < 0.1
    z = sign * square(x)
    series = 1 + z / 6 * (1 + z / 20 * (1 + z / 42 * (1 + z / 72 * (1 + z / 110))))
    return where(near, series, y / where(near, ones_like(x), x))


sinint = _integral("sinint", "sici", 0, lambda out, x: _over_x(sin(x), x, -1), "Sine integral.")
cosint = _integral("cosint", "sici", 1, lambda out, x: cos(x) / x, "Cosine integral.")
sinhint = _integral("sinhint", "shichi", 0, lambda out, x: _over_x(sinh(x), x, 1), "Hyperbolic sine integral.")
coshint = _integral("coshint", "shichi", 1, lambda out, x: cosh(x) / x, "Hyperbolic cosine integral.")


sinc = real_elementwise(
    "sinc",
    lambda x: np.where(np.equal(x, 0), 1, in_single(elementary.sin, math.pi * x) / (math.pi * x)),
    (lambda out, x: _sinc_slope(x),),
    doc="``sin(pi * x) / (pi * x)``, 1 at 0.",
)


def _sinc_slope(x: Any) -> Operand:
    """Near 0 by the series, so that higher derivatives are exact there too."""
    y = math.pi * x
    near = abs(y) < 0.5
    z = -square(y)
    series: Any = 0.0 * z
    for n in range(11, 0, -1):
        series = z * series + 2 * n / math.factorial(2 * n + 1)
    away = where(near, ones_like(y), y)
    return math.pi * where(near, -y * series, (cos(away) - sin(away) / away) / away)


lambertw_op = elementwise(
    "lambertw_op",
    lambda z, *, k, tol: scipy.special.lambertw(z, k, tol).astype(z.dtype, copy=False),
    (in_double(lambda: lambertw_op, lambda out, z, *, k, tol: exp(-out) / (1 + out)),),
    args=("z",),
    accepts=COMPLEX,
    doc="Lambert's function: branch `k` of the inverse of ``w * exp(w)``.",
)


def _wrightomega_dz(out: Any, z: Any) -> Operand:
    large = out > 1.0
    some = where(large, out, ones_like(out))
    return where(large, 1 / (1 + 1 / some), out / (1 + out))


wrightomega = _function("wrightomega", _wrightomega_dz, args="z", doc="Wright's function omega.")

__all__ = [name for name, op in list(globals().items()) if isinstance(op, Op)]
