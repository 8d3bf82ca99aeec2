"""Special functions of SciPy's that TensorFlow lacks, under SciPy's names.

Derivatives are those of the NIST Digital Library of Mathematical Functions (DLMF) unless a source is given. Where a
quotient is 0 / 0 at a point, a function stands for it that has all derivatives there: ``exprel(x) = expm1(x) / x`` and
its like are confluent hypergeometric functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.dtypes import COMPLEX, FLOATING
from engine.core.kinds import elementwise
from engine.core.op import Op
from engine.core.operands import Operand
from engine.ops import parameter_kernels
from engine.ops.arithmetic import sign, square
from engine.ops.compare import greater, less_equal, not_equal, where
from engine.ops.creation import ones_like, zeros_like
from engine.ops.explog import exp, log, log1p, pow, sqrt
from engine.ops.special import (
    beta_density,
    betainc_grad_a,
    betainc_grad_b,
    digamma,
    erf,
    gamma_density,
    igamma_grad_a,
    lgamma,
    named_kernel,
    no_derivative,
    scipy_kernel,
    typed_kernel,
)
from engine.ops.trig import cos, cosh, sin, sinh
from engine.runtime.lazy_scipy import scipy

_ROOT_2PI = math.sqrt(2 * math.pi)


def _function(name: str, *partials: Any, args: str = "x", scipy_name: str = "", doc: str) -> Op:
    """An op that is a ufunc of SciPy's."""
    return elementwise(
        name,
        scipy_kernel(scipy_name or name),
        partials,
        args=tuple(args.split()),
        accepts=FLOATING,
        module=__name__,
        doc=doc,
    )


# ---- powers and logarithms -------------------------------------------------------------------------------------------

cbrt = _function("cbrt", lambda out, x: 1 / (3 * square(out)), doc="Cube root.")
exp2 = _function("exp2", lambda out, x: math.log(2) * out, doc="``2 ** x``.")
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


def _slope_in_exponent(logarithm: Any, lmbda: Any) -> Operand:
    """The derivative of ``expm1(lmbda * logarithm) / lmbda`` in lmbda, at 0 too."""
    u = lmbda * logarithm
    return square(logarithm) * hyp1f1(2 * ones_like(u), 3 * ones_like(u), u) / 2


boxcox = _function(
    "boxcox",
    lambda out, x, lmbda: pow(x, lmbda - 1),
    lambda out, x, lmbda: _slope_in_exponent(log(x), lmbda),
    args="x lmbda",
    doc="``(x ** lmbda - 1) / lmbda``, or ``log(x)`` where lmbda is 0.",
)
boxcox1p = _function(
    "boxcox1p",
    lambda out, x, lmbda: exp((lmbda - 1) * log1p(x)),
    lambda out, x, lmbda: _slope_in_exponent(log1p(x), lmbda),
    args="x lmbda",
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
    doc="Inverse of `boxcox`.",
)
inv_boxcox1p = _function(
    "inv_boxcox1p",
    lambda out, y, lmbda: (1 + out) / (1 + lmbda * y),
    lambda out, y, lmbda: (1 + out) * _inverse_slope(y, lmbda),
    args="y lmbda",
    doc="Inverse of `boxcox1p`.",
)

# ---- entropies, losses -----------------------------------------------------------------------------------------------

entr = _function("entr", lambda out, x: -1 - log(x), doc="``-x * log(x)``, 0 at 0, minus infinity below.")
rel_entr = _function(
    "rel_entr",
    lambda out, x, y: log(x / y) + 1,
    lambda out, x, y: -x / y,
    args="x y",
    doc="``x * log(x / y)``, 0 where x is 0.",
)
kl_div = _function(
    "kl_div",
    lambda out, x, y: log(x / y),
    lambda out, x, y: 1 - x / y,
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


def _hypotenuse(delta: Any, r: Any) -> Operand:
    return sqrt(1 + square(r / delta))


pseudo_huber = _function(
    "pseudo_huber",
    lambda out, delta, r: 2 * out / delta - square(r) / (delta * _hypotenuse(delta, r)),
    lambda out, delta, r: r / _hypotenuse(delta, r),
    args="delta r",
    doc="``delta ** 2 * (sqrt(1 + (r / delta) ** 2) - 1)``.",
)

# ---- error functions, normal and other distributions -----------------------------------------------------------------

erfcx = _function("erfcx", lambda out, x: 2 * x * out - 2 / math.sqrt(math.pi), doc="``exp(x ** 2) * erfc(x)``.")
erfi = _function("erfi", lambda out, x: 2 / math.sqrt(math.pi) * exp(square(x)), doc="``-1j * erf(1j * x)``.")
log_ndtr = _function(
    "log_ndtr", lambda out, x: exp(-0.5 * square(x) - out) / _ROOT_2PI, doc="Logarithm of `ndtr`, far out too."
)
ndtri_exp = _function(
    "ndtri_exp", lambda out, y: exp(y + 0.5 * square(out)) * _ROOT_2PI, args="y", doc="`ndtri` of ``exp(y)``."
)
wofz_op = elementwise(
    "wofz_op",
    scipy_kernel("wofz"),
    (lambda out, z: 2j / math.sqrt(math.pi) - 2 * z * out,),
    args=("z",),
    accepts=COMPLEX,
    doc="Faddeeva function ``exp(-z ** 2) * erfc(-1j * z)`` of complex numbers.",
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


def _t_density(df: Any, t: Any) -> Operand:
    norm = lgamma((df + 1) / 2) - lgamma(df / 2) - 0.5 * log(df * math.pi)
    return exp(norm - (df + 1) / 2 * log1p(square(t) / df))


def _stdtr_df(out: Any, df: Any, t: Any) -> Operand:
    # one minus half of I_x(df / 2, 1 / 2) at x = df / (df + t ** 2), for t > 0
    beside = not_equal(t, zeros_like(t))
    t = where(beside, t, ones_like(t))
    x, half = df / (df + square(t)), 0.5 * ones_like(df)
    slope = betainc_grad_a(df / 2, half, x) / 2 + beta_density(df / 2, half, x) * square(t) / square(df + square(t))
    return where(beside, -0.5 * sign(t) * slope, zeros_like(slope))


stdtr = _function(
    "stdtr", _stdtr_df, lambda out, df, t: _t_density(df, t), args="df t", doc="Distribution function of Student's t."
)
stdtrit = _function(
    "stdtrit",
    lambda out, df, p: -_stdtr_df(p, df, out) / _t_density(df, out),
    lambda out, df, p: 1 / _t_density(df, out),
    args="df p",
    doc="Inverse of `stdtr` in its second argument.",
)

# ---- gamma, beta, zeta -----------------------------------------------------------------------------------------------

gamma = _function("gamma", lambda out, x: out * digamma(x), doc="Gamma function.")
rgamma = _function("rgamma", lambda out, x: -out * digamma(x), doc="Reciprocal of the gamma function.")
beta = _function(
    "beta",
    lambda out, a, b: out * (digamma(a) - digamma(a + b)),
    lambda out, a, b: out * (digamma(b) - digamma(a + b)),
    args="a b",
    doc="Beta function.",
)
betaln = _function(
    "betaln",
    lambda out, a, b: digamma(a) - digamma(a + b),
    lambda out, a, b: digamma(b) - digamma(a + b),
    args="a b",
    doc="Logarithm of the absolute value of the beta function.",
)
binom = _function(
    "binom",
    lambda out, n, k: out * (digamma(n + 1) - digamma(n - k + 1)),
    lambda out, n, k: out * (digamma(n - k + 1) - digamma(k + 1)),
    args="n k",
    doc="Binomial coefficient of real numbers.",
)
poch = _function(
    "poch",
    lambda out, z, m: out * (digamma(z + m) - digamma(z)),
    lambda out, z, m: out * digamma(z + m),
    args="z m",
    doc="``gamma(z + m) / gamma(z)``.",
)
riemann_zeta_by_order = elementwise(
    "riemann_zeta_by_order",
    typed_kernel(parameter_kernels.riemann_zeta_by_order),
    (lambda out, x, *, times: riemann_zeta_by_order(x, times=times + 1),),
    accepts=FLOATING,
    doc="Derivative number `times` of Riemann's zeta function.",
)
zetac = _function("zetac", lambda out, x: riemann_zeta_by_order(x, times=1), doc="Riemann's zeta function minus 1.")
riemann_zeta = _function(
    "riemann_zeta",
    lambda out, x: riemann_zeta_by_order(x, times=1),
    scipy_name="zeta",
    doc="Riemann's zeta function.",
)
gammaincinv = _function(
    "gammaincinv",
    lambda out, a, y: -igamma_grad_a(a, out) / gamma_density(a, out),
    lambda out, a, y: 1 / gamma_density(a, out),
    args="a y",
    doc="Inverse in x of `igamma`.",
)
gammainccinv = _function(
    "gammainccinv",
    lambda out, a, y: -igamma_grad_a(a, out) / gamma_density(a, out),
    lambda out, a, y: -1 / gamma_density(a, out),
    args="a y",
    doc="Inverse in x of `igammac`.",
)
betaincinv = _function(
    "betaincinv",
    lambda out, a, b, y: -betainc_grad_a(a, b, out) / beta_density(a, b, out),
    lambda out, a, b, y: -betainc_grad_b(a, b, out) / beta_density(a, b, out),
    lambda out, a, b, y: 1 / beta_density(a, b, out),
    args="a b y",
    doc="Inverse in x of `betainc`.",
)
betaincc = _function(
    "betaincc",
    lambda out, a, b, x: -betainc_grad_a(a, b, x),
    lambda out, a, b, x: -betainc_grad_b(a, b, x),
    lambda out, a, b, x: -beta_density(a, b, x),
    args="a b x",
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


def _hyp1f1(a: Any, b: Any, x: Any) -> Any:
    # SciPy takes as many terms as x is large, and does not end for infinite x; the result overflows long before
    return scipy.special.hyp1f1(a, b, np.clip(np.asarray(x, np.float64), -1e300, 1e4))


hyp1f1 = elementwise(
    "hyp1f1",
    named_kernel("hyp1f1", _hyp1f1),
    (*_constant_in("hyp1f1", "a b"), lambda out, a, b, x: a / b * hyp1f1(a + 1, b + 1, x)),
    args=("a", "b", "x"),
    accepts=FLOATING,
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
    first = greater(n, zeros_like(n))
    at_zero = -exp(-x) * (1 / x + 1 / square(x))
    return where(first, -expn(where(first, n - 1, n), x), at_zero)


expn = elementwise(
    "expn",
    typed_kernel(lambda n, x: scipy.special.expn(_whole(n), x)),
    (None, _expn_dx),
    args=("n", "x"),
    accepts=FLOATING,
    smooth=(0,),
    doc="Exponential integral En, of whole numbers n, which carry no derivative.",
)


def _whole(n: Any) -> Any:
    """Whole numbers as integers, for which SciPy has better loops."""
    n = np.asarray(n)
    return n.astype(np.int64) if np.all(n == np.round(n)) else n


def _integral(name: str, function: str, which: int, slope: Callable[..., Any], doc: str) -> Op:
    return elementwise(
        name,
        typed_kernel(lambda x: getattr(scipy.special, function)(x)[which]),
        (slope,),
        accepts=FLOATING,
        module=__name__,
        doc=doc,
    )


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


def _sinc(x: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return np.sinc(x)


sinc = elementwise(
    "sinc",
    typed_kernel(_sinc),
    (lambda out, x: _sinc_slope(x),),
    accepts=FLOATING,
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
    (lambda out, z, *, k, tol: exp(-out) / (1 + out),),
    args=("z",),
    accepts=COMPLEX,
    doc="Lambert's function: branch `k` of the inverse of ``w * exp(w)``.",
)
wrightomega = _function("wrightomega", lambda out, z: out / (1 + out), args="z", doc="Wright's function omega.")

__all__ = [name for name, op in list(globals().items()) if isinstance(op, Op)]
