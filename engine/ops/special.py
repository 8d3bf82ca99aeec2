"""Special functions: error functions, gamma and beta functions, Bessel functions, products that are 0 at 0.

Kernels are SciPy's. Derivatives are those of the NIST Digital Library of Mathematical Functions (DLMF), chapters 5 to
10 and 25; `xlogy` and its like follow TensorFlow where x is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.dtypes import FLOATING
from engine.core.kinds import elementwise
from engine.core.op import Op
from engine.core.operands import Operand, operands
from engine.core.structural import scale
from engine.ops.arithmetic import sign, square
from engine.ops.compare import cast_like, not_equal, where
from engine.ops.creation import ones_like, zeros_like
from engine.ops.explog import exp, log
from engine.ops.parameter_kernels import betainc_by_shape, zeta_by_order
from engine.ops.reduce import reduce_sum
from engine.ops.trig import cos, sin
from engine.runtime.errors import UnimplementedError
from engine.runtime.lazy_scipy import scipy


def typed_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of SciPy's as a kernel: the result has the operands' dtype (SciPy widens half floats)."""

    def kernel(*arrays: Any, **params: Any) -> Operand:
        return function(*arrays, **params).astype(arrays[0].dtype, copy=False)

    return kernel


def scipy_kernel(name: str, mended: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """The same of what `scipy.special` has under this name; that module is loaded by the first call.

    `mended`, if given, is called with what SciPy makes of the operands, and with these: the value where SciPy's is
    another than TensorFlow's.
    """

    def function(*arrays: Any) -> Any:
        out = getattr(scipy.special, name)(*arrays)
        return out if mended is None else mended(out, *arrays)

    return named_kernel(name, function)


def named_kernel(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function in place of the one that `scipy.special` has under this name, as a kernel."""
    kernel = typed_kernel(function)
    kernel.scipy = name  # type: ignore[attr-defined]
    return kernel


# ---- error functions, normal distribution ----------------------------------------------------------------------------

erf = elementwise(
    "erf",
    scipy_kernel("erf"),
    (lambda out, x: 2 / math.sqrt(math.pi) * exp(-square(x)),),
    accepts=FLOATING,
    doc="Error function.",
)
erfc = elementwise(
    "erfc",
    scipy_kernel("erfc"),
    (lambda out, x: -2 / math.sqrt(math.pi) * exp(-square(x)),),
    accepts=FLOATING,
    doc="``1 - erf(x)``, accurate for large x.",
)
erfinv = elementwise(
    "erfinv",
    scipy_kernel("erfinv"),
    (lambda out, x: math.sqrt(math.pi) / 2 * exp(square(out)),),
    accepts=FLOATING,
    doc="Inverse of the error function.",
)
ndtr = elementwise(
    "ndtr",
    scipy_kernel("ndtr"),
    (lambda out, x: 1 / math.sqrt(2 * math.pi) * exp(-0.5 * square(x)),),
    accepts=FLOATING,
    doc="Distribution function of the standard normal distribution.",
)
ndtri = elementwise(
    "ndtri",
    scipy_kernel("ndtri"),
    (lambda out, x: math.sqrt(2 * math.pi) * exp(0.5 * square(out)),),
    accepts=FLOATING,
    doc="Inverse of `ndtr`: the quantiles of the standard normal distribution.",
)


@operands("x")
def erfcinv(x: Any) -> Operand:
    """Inverse of `erfc`.

    Examples
    --------
    >>> float(erfcinv(np.float64(1.0)))
    -0.0
    """
    return -math.sqrt(0.5) * ndtri(0.5 * x)


dawsn = elementwise(
    "dawsn",
    scipy_kernel("dawsn"),
    (lambda out, x: 1 - 2 * x * out,),
    accepts=FLOATING,
    doc="Dawson's integral: ``exp(-x ** 2)`` times the integral of ``exp(t ** 2)`` from 0 to x.",
)
fresnel_sin = elementwise(
    "fresnel_sin",
    typed_kernel(lambda x: scipy.special.fresnel(x)[0]),
    (lambda out, x: sin(math.pi / 2 * square(x)),),
    accepts=FLOATING,
    doc="Fresnel's integral of ``sin(pi / 2 * t ** 2)`` from 0 to x.",
)
fresnel_cos = elementwise(
    "fresnel_cos",
    typed_kernel(lambda x: scipy.special.fresnel(x)[1]),
    (lambda out, x: cos(math.pi / 2 * square(x)),),
    accepts=FLOATING,
    doc="Fresnel's integral of ``cos(pi / 2 * t ** 2)`` from 0 to x.",
)


def _spence_dx(out: Any, x: Any) -> Operand:
    """``log(x) / (1 - x)``, near 1 by its series, so that higher derivatives are exact there too."""
    u = x - 1
    near = abs(u) < _NEAR_ZERO
    series = -1 + u * (1 / 2 - u * (1 / 3 - u * (1 / 4 - u * (1 / 5 - u * (1 / 6 - u * (1 / 7 - u / 8))))))
    away = where(near, ones_like(x) * 2, x)
    return where(near, series, log(away) / (1 - away))


spence = elementwise(
    "spence",
    scipy_kernel("spence"),
    (_spence_dx,),
    accepts=FLOATING,
    doc="Spence's integral (a dilogarithm): of ``log(t) / (1 - t)`` from 1 to x.",
)
expint = elementwise(
    "expint",
    typed_kernel(lambda x: np.where(np.less(x, 0), np.nan, scipy.special.expi(x))),
    (lambda out, x: exp(x) / x,),
    accepts=FLOATING,
    doc="Exponential integral Ei: the principal value of the integral of ``exp(t) / t`` up to x (NaN for x < 0).",
)


# ---- gamma, beta, zeta -----------------------------------------------------------------------------------------------

lgamma = elementwise(
    "lgamma",
    scipy_kernel("gammaln", lambda out, x: np.where(np.isneginf(out), np.inf, out)),  # SciPy's is -inf at -inf
    (lambda out, x: digamma(x),),
    accepts=FLOATING,
    doc="Logarithm of the absolute value of the gamma function.",
)
digamma = elementwise(
    "digamma",
    scipy_kernel("psi"),
    (lambda out, x: polygamma(ones_like(x), x),),
    accepts=FLOATING,
    doc="""Derivative of `lgamma`.

    Its own derivative is a series (SciPy's ``zeta``) that costs some 20 times as much.
    """,
)


def _polygamma(a: Any, x: Any) -> np.ndarray:
    # in double precision: sign, factorial and zeta all vary over many orders of magnitude
    a, x = np.asarray(a, np.float64), np.asarray(x, np.float64)
    signed = np.where(a % 2 == 0, -1.0, 1.0) * scipy.special.gamma(a + 1)
    return np.where(a == 0, scipy.special.psi(x), signed * scipy.special.zeta(a + 1, x))


polygamma = elementwise(
    "polygamma",
    typed_kernel(_polygamma),
    (None, lambda out, a, x: polygamma(a + 1, x)),
    args=("a", "x"),
    accepts=FLOATING,
    smooth=(0,),
    doc="Derivative number ``a`` (a whole number) of `digamma` at x. The order carries no derivative.",
)
zeta = elementwise(
    "zeta",
    scipy_kernel("zeta"),
    (lambda out, x, q: zeta_grad_x(x, q), lambda out, x, q: -x * zeta(x + 1, q)),
    args=("x", "q"),
    accepts=FLOATING,
    doc="Hurwitz zeta function: the sum of ``(q + n) ** -x`` over n.",
)


def no_second_derivative(name: str, arguments: str, others: str) -> Callable[..., Operand]:
    """A rule that says that there is none."""

    def rule(out: Any, *_: Any) -> Operand:
        raise UnimplementedError(
            f"{name}: the second derivative in the argument {arguments} is not implemented (nor is it in TensorFlow); "
            f"first derivatives in {arguments} and all derivatives in {others} are"
        )

    return rule


def no_derivative(name: str, argument: str) -> Callable[..., Operand]:
    """A rule that says that there is none in this argument."""

    def rule(out: Any, *_: Any, **__: Any) -> Operand:
        raise UnimplementedError(
            f"{name}: the derivative in the argument `{argument}` is not implemented; those in the others are. Keep "
            f"`{argument}` constant, or give the function a derivative of your own: tf.primitive(fn, vjp)"
        )

    return rule


zeta_grad_x = elementwise(
    "zeta_grad_x",
    typed_kernel(zeta_by_order),
    (
        no_second_derivative("zeta", "`x`", "`q`"),
        lambda out, x, q: -zeta(x + 1, q) - x * zeta_grad_x(x + 1, q),
    ),
    args=("x", "q"),
    accepts=FLOATING,
    doc="Derivative of `zeta` in `x`.",
)


@operands("x")
def lbeta(x: Any) -> Operand:
    """Logarithm of the absolute value of the multivariate beta function along the last axis.

    Examples
    --------
    >>> float(lbeta(np.array([2.0, 3.0]))) + math.log(12) < 1e-12
    True
    """
    return reduce_sum(lgamma(x), -1) - lgamma(reduce_sum(x, -1))


def gamma_density(a: Any, x: Any) -> Operand:
    """Derivative of `igamma` in x (DLMF 8.8.13)."""
    # an exponent of zero counts as such at x = 0 too; the logarithm is its derivative there as elsewhere
    return exp(scale(a - 1, log(x)) - x - lgamma(a))


igamma = elementwise(
    "igamma",
    scipy_kernel("gammainc"),
    (lambda out, a, x: igamma_grad_a(a, x), lambda out, a, x: gamma_density(a, x)),
    args=("a", "x"),
    accepts=FLOATING,
    doc="Lower regularized incomplete gamma function P(a, x).",
)
igammac = elementwise(
    "igammac",
    scipy_kernel("gammaincc"),
    (lambda out, a, x: -igamma_grad_a(a, x), lambda out, a, x: -gamma_density(a, x)),
    args=("a", "x"),
    accepts=FLOATING,
    doc="Upper regularized incomplete gamma function Q(a, x) = 1 - P(a, x).",
)


_MANY = 1e4
"""Above this, the series below has too many terms, and the expansion below is exact to some ten digits."""


def _igamma_grad_large_a(a: Any, x: Any) -> Operand:
    # P(a, x) stays the same along the quantile x(a), so its derivative in a is -dx/da times that in x. The quantile is
    # that of Cornish and Fisher: M. Abramowitz and I. Stegun, Handbook of Mathematical Functions, 26.2.49.
    mu = (x - a) / a
    density = np.exp(-a * (mu - np.log1p(mu)) - 1 / (12 * a)) * np.sqrt(a / (2 * np.pi)) / x
    lower = np.abs(scipy.special.ndtri(np.minimum(scipy.special.gammainc(a, x), scipy.special.gammaincc(a, x))))
    z, root = np.where(x < a, -lower, lower), np.sqrt(a)
    slope = 1 + z / (2 * root) - (z**3 - 7 * z) / (72 * a * root) + (3 * z**4 + 7 * z**2 - 16) / (810 * a**2)
    slope -= (9 * z**5 + 256 * z**3 - 433 * z) / (25920 * a**2 * root)
    # so far out that both probabilities are 0 and 1 to the last digit, nothing is left of the derivative
    return np.where((density > 0) & np.isfinite(slope), -density * slope, 0.0)


def _igamma_grad_a(a: Any, x: Any) -> np.ndarray:
    # The power series of P (DLMF 8.7.1), differentiated term by term. Its terms x^(a+n) e^-x / Gamma(a+n+1) are a
    # Poisson density, positive and largest near n = x - a: all that count lie within a few deviations of it.
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    inside = (x > 0) & np.isfinite(x) & (a > 0) & np.isfinite(a)
    # beyond, nothing is left of the upper tail of the orders that the series is for
    large = inside & ((a > _MANY) | (x > 4 * _MANY))
    inside &= ~large
    outside = np.where(np.isnan(x) | (x < 0) | ~(a > 0), np.nan, 0.0)
    whole_a, whole_x = a, x
    shape, at, a = x.shape, np.where(inside, x, 1.0).ravel(), np.where(inside, a, 1.0).ravel()
    middle = np.maximum(at - a, 0.0)
    reach = 12.0 * np.sqrt(at + a) + 60.0
    first = np.floor(np.maximum(middle - reach, 0.0))
    logarithm = np.log(at)
    total = np.zeros_like(at)
    for k in range(int(np.max(middle + reach - first, initial=0.0)) + 1):
        order = a + (first + k)
        total += np.exp(order * logarithm - at - scipy.special.gammaln(order + 1)) * (
            logarithm - scipy.special.psi(order + 1)
        )
    slopes = np.where(inside, total.reshape(shape), outside)
    if large.any():
        slopes[large] = _igamma_grad_large_a(whole_a[large], whole_x[large])
    return slopes


def _igamma_grad_a_dx(out: Any, a: Any, x: Any) -> Operand:
    inside = not_equal(x, zeros_like(x))
    return gamma_density(a, x) * (where(inside, log(where(inside, x, ones_like(x))), zeros_like(x)) - digamma(a))


igamma_grad_a = elementwise(
    "igamma_grad_a",
    typed_kernel(_igamma_grad_a),
    (no_second_derivative("igamma, igammac", "`a`", "`x`"), _igamma_grad_a_dx),
    args=("a", "x"),
    accepts=FLOATING,
    doc="Derivative of `igamma` in `a`.",
)


def beta_density(a: Any, b: Any, x: Any) -> Operand:
    """Derivative of `betainc` in x (DLMF 8.17.1)."""
    return exp(xlogy(a - 1, x) + xlog1py(b - 1, -x) - (lgamma(a) + lgamma(b) - lgamma(a + b)))


betainc = elementwise(
    "betainc",
    scipy_kernel("betainc"),
    (
        lambda out, a, b, x: betainc_grad_a(a, b, x),
        lambda out, a, b, x: betainc_grad_b(a, b, x),
        lambda out, a, b, x: beta_density(a, b, x),
    ),
    args=("a", "b", "x"),
    accepts=FLOATING,
    doc="Regularized incomplete beta function I_x(a, b).",
)


def _betainc_grad(name: str, second: bool) -> Op:
    def in_x(out: Any, a: Any, b: Any, x: Any) -> Operand:
        inside = not_equal(base := 1 - x if second else x, zeros_like(x))
        logarithm = where(inside, log(where(inside, base, ones_like(x))), zeros_like(x))
        return beta_density(a, b, x) * (logarithm - digamma(b if second else a) + digamma(a + b))

    unknown = no_second_derivative("betainc", "`a` or `b`", "`x`")
    return elementwise(
        name,
        typed_kernel(lambda a, b, x: betainc_by_shape(a, b, x, second)),
        (unknown, unknown, in_x),
        args=("a", "b", "x"),
        accepts=FLOATING,
        module=__name__,
        doc=f"Derivative of `betainc` in `{'b' if second else 'a'}`.",
    )


betainc_grad_a = _betainc_grad("betainc_grad_a", second=False)
betainc_grad_b = _betainc_grad("betainc_grad_b", second=True)


# ---- Bessel functions ------------------------------------------------------------------------------------------------


_NEAR_ZERO = 0.01
"""Where so few terms of the series are exact to the bit; the quotient loses digits there, more with each order."""


def _over(y: Any, x: Any, sign: int, factor: Any = 1.0) -> Operand:
    """``y / x`` for y the factor times ``I1(x)`` (sign 1) or ``J1(x)`` (sign -1), with all derivatives at 0.

    The series are those of DLMF 10.2.2 and 10.25.2.
    """
    near = abs(x) < _NEAR_ZERO
    z = sign * square(x)
    series = factor * (0.5 + z * (1 / 16 + z * (1 / 384 + z * (1 / 18432 + z * (1 / 1474560)))))
    return where(near, series, y / where(near, ones_like(x), x))


def _bessel(name: str, derivative: Callable[[Any, Any], Operand], doc: str) -> Op:
    return elementwise(f"bessel_{name}", scipy_kernel(name), (derivative,), accepts=FLOATING, doc=doc)


bessel_i0 = _bessel("i0", lambda out, x: bessel_i1(x), "Modified Bessel function of the first kind, order 0.")
bessel_i0e = _bessel("i0e", lambda out, x: bessel_i1e(x) - sign(x) * out, "``exp(-abs(x)) * bessel_i0(x)``.")
bessel_i1 = _bessel(
    "i1", lambda out, x: bessel_i0(x) - _over(out, x, 1), "Modified Bessel function of the first kind, order 1."
)
bessel_i1e = _bessel(
    "i1e",
    lambda out, x: bessel_i0e(x) - _over(out, x, 1, exp(-abs(x))) - sign(x) * out,
    "``exp(-abs(x)) * bessel_i1(x)``.",
)
bessel_k0 = _bessel("k0", lambda out, x: -bessel_k1(x), "Modified Bessel function of the second kind, order 0.")
bessel_k0e = _bessel("k0e", lambda out, x: out - bessel_k1e(x), "``exp(x) * bessel_k0(x)``.")
bessel_k1 = _bessel(
    "k1", lambda out, x: -bessel_k0(x) - out / x, "Modified Bessel function of the second kind, order 1."
)
bessel_k1e = _bessel("k1e", lambda out, x: out - out / x - bessel_k0e(x), "``exp(x) * bessel_k1(x)``.")
bessel_j0 = _bessel("j0", lambda out, x: -bessel_j1(x), "Bessel function of the first kind, order 0.")
bessel_j1 = _bessel(
    "j1", lambda out, x: bessel_j0(x) - _over(out, x, -1), "Bessel function of the first kind, order 1."
)
bessel_y0 = _bessel("y0", lambda out, x: -bessel_y1(x), "Bessel function of the second kind, order 0.")
bessel_y1 = _bessel("y1", lambda out, x: bessel_y0(x) - out / x, "Bessel function of the second kind, order 1.")


# ---- products that are 0 where x is 0 --------------------------------------------------------------------------------


def _nonzero(x: Any) -> Operand:
    """1 where x is not 0, else 0: the derivative in x of ``x * f(y)`` is taken as 0 where x is 0, whatever y is."""
    return cast_like(not_equal(x, zeros_like(x)), x)


def _xdivy_kernel(x: Any, y: Any) -> np.ndarray:
    zero = np.equal(x, 0)
    return np.where(zero, np.zeros((), x.dtype), np.true_divide(x, np.where(zero, np.ones((), y.dtype), y)))


def _zero_at_zero(out: Any, x: Any, y: Any) -> np.ndarray:
    """0 where x is 0, even if y is NaN."""
    return np.where(np.equal(x, 0), 0, out)


xlogy = elementwise(
    "xlogy",
    scipy_kernel("xlogy", _zero_at_zero),
    (lambda out, x, y: xlogy(_nonzero(x), y), lambda out, x, y: xdivy(x, y)),
    doc="``x * log(y)``, but 0 where x is 0 (and so are both derivatives).",
)
xlog1py = elementwise(
    "xlog1py",
    scipy_kernel("xlog1py", _zero_at_zero),
    (lambda out, x, y: xlog1py(_nonzero(x), y), lambda out, x, y: xdivy(x, y + 1)),
    doc="``x * log(1 + y)``, accurate for small y, but 0 where x is 0 (and so are both derivatives).",
)
xdivy = elementwise(
    "xdivy",
    _xdivy_kernel,
    (lambda out, x, y: xdivy(_nonzero(x), y), lambda out, x, y: -xdivy(out, y)),
    doc="``x / y``, but 0 where x is 0 (and so are both derivatives).",
)
