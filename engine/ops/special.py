"""Special functions: error functions, gamma and beta functions, Bessel functions, products that are 0 at 0.

Kernels are SciPy's. Derivatives are those of the NIST Digital Library of Mathematical Functions (DLMF), chapters 5 to
10 and 25; `xlogy` and its like follow TensorFlow where x is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.dtypes import complex64, complex128, float16, float32, float64
from engine.core.kinds import elementwise, real_elementwise
from engine.core.op import Op
from engine.core.operands import Operand, operands
from engine.core.structural import scale
from engine.core.value import dtype_of
from engine.ops import parameter_kernels, tail_kernels
from engine.ops.arithmetic import square
from engine.ops.compare import cast, cast_like, equal, not_equal, where
from engine.ops.creation import ones_like, zeros_like
from engine.ops.explog import exp, in_single, log, log1p, slope_within, slopes_within
from engine.ops.reduce import reduce_sum
from engine.ops.trig import cos, sin
from engine.runtime import elementary
from engine.runtime.errors import UnimplementedError
from engine.runtime.lazy_scipy import scipy

_WIDE = {float16: float64, float32: float64, complex64: complex128}


def typed_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of SciPy's as a kernel: the result has the operands' dtype (SciPy widens half floats)."""

    def kernel(*arrays: Any, **params: Any) -> Operand:
        return function(*arrays, **params).astype(arrays[0].dtype, copy=False)

    return kernel


_STEPS = 1e6
_TOO_LONG: dict[str, Callable[..., Any]] = {
    "hyperu": lambda a, b, x: np.maximum(np.absolute(a), np.absolute(b)) > 0.1 * _STEPS,
    "yv": lambda v, x: (np.absolute(v) > _STEPS) & (x > 1e15),
    "struve": lambda v, x: (np.absolute(v) > _STEPS) & (np.absolute(x) > 1e15),
}
"""Where SciPy's functions take a step for each unit of an argument: they give NaN there, where seconds would pass."""


def scipy_kernel(name: str, mended: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """The same of what `scipy.special` has under this name, which the first call loads, or of our own function.

    `mended`, if given, is called with what SciPy makes of the operands, and with these: the value where SciPy's is
    another than TensorFlow's.
    """
    own, too_long = getattr(elementary, name, None), _TOO_LONG.get(name)

    def function(*arrays: Any) -> Any:
        if too_long is not None and np.any(never := too_long(*arrays)):
            arrays = (*arrays[:-1], np.where(never, np.nan, arrays[-1]))
        is_ours = own is not None and arrays[0].dtype.kind == "f"
        out = in_single(own, *arrays) if is_ours else getattr(scipy.special, name)(*arrays)
        return out if mended is None else mended(out, *arrays)

    return named_kernel(name, function)


def named_kernel(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function in place of the one that `scipy.special` has under this name, as a kernel."""
    kernel = typed_kernel(function)
    kernel.scipy = name  # type: ignore[attr-defined]
    return kernel


def in_double(op: Callable[..., Any], partial: Callable[..., Any], of_value: bool = True) -> Callable[..., Operand]:
    """A partial derivative, computed in double precision where the operands have less.

    For formulas that lose digits: a quotient of what overflows, a power of what has been rounded.

    Parameters
    ----------
    op : callable
        ``op()`` is the op, whose value is computed again, before it is rounded.
    partial : callable
    of_value : bool
        Whether `partial` looks at the value.
    """

    def rule(out: Any, *inputs: Any, **params: Any) -> Operand:
        wide = _WIDE.get(dtype_of(inputs[0]))
        if wide is None:
            return partial(out, *inputs, **params)
        given = [cast(x, wide) for x in inputs]
        return cast_like(partial(op()(*given, **params) if of_value else out, *given, **params), inputs[0])

    return rule


# ---- error functions, normal distribution ----------------------------------------------------------------------------

erf = real_elementwise(
    "erf", scipy_kernel("erf"), (lambda out, x: 2 / math.sqrt(math.pi) * exp(-square(x)),), doc="Error function."
)
erfc = real_elementwise(
    "erfc",
    scipy_kernel("erfc"),
    (lambda out, x: -2 / math.sqrt(math.pi) * exp(-square(x)),),
    doc="``1 - erf(x)``, accurate for large x.",
)
erfinv = real_elementwise(
    "erfinv",
    scipy_kernel("erfinv"),
    (lambda out, x: math.sqrt(math.pi) / 2 * exp(square(out)),),
    doc="Inverse of the error function.",
)
ndtr = real_elementwise(
    "ndtr",
    scipy_kernel("ndtr"),
    (lambda out, x: 1 / math.sqrt(2 * math.pi) * exp(-0.5 * square(x)),),
    doc="Distribution function of the standard normal distribution.",
)
ndtri_slope = slope_within(
    "ndtri",
    {"f": 0.4995, "d": math.inf},
    lambda x: np.absolute(x - 0.5),
    lambda out, x: math.sqrt(2 * math.pi) * elementary.exp(0.5 * np.square(out)),
    lambda x: x - x,  # there is none at an infinity
    lambda slope, out, x: out * square(slope),
    lambda x: scipy.special.ndtri(x),
    module=__name__,
)
ndtri = real_elementwise(
    "ndtri",
    scipy_kernel("ndtri"),
    (lambda out, x: ndtri_slope(out, x),),
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


gaussian_integral = real_elementwise(
    "gaussian_integral",
    typed_kernel(tail_kernels.gaussian_integral),
    (lambda out, x, *, times, sign: gaussian_integral(x, times=times + 1, sign=sign),),
    doc="Derivative number `times` of `dawsn` (sign -1), or of ``sqrt(pi) / 2 * erfcx(x)`` (sign 1).",
)
dawsn_slope, dawsn_curve = slopes_within(
    "dawsn",
    {"f": 2.0, "d": 7.0},
    np.absolute,
    (lambda out, x: 1 - 2 * x * out, lambda slope, out, x: -2 * (out + x * slope)),
    lambda op, x, times: op(x, times=times, sign=-1),
    gaussian_integral,
    lambda x: scipy.special.dawsn(x),
    module=__name__,
)
dawsn = real_elementwise(
    "dawsn",
    scipy_kernel("dawsn"),
    (lambda out, x: dawsn_slope(out, x),),
    doc="Dawson's integral: ``exp(-x ** 2)`` times the integral of ``exp(t ** 2)`` from 0 to x.",
)
fresnel_sin = real_elementwise(
    "fresnel_sin",
    typed_kernel(lambda x: scipy.special.fresnel(x)[0]),
    (lambda out, x: sin(math.pi / 2 * square(x)),),
    doc="Fresnel's integral of ``sin(pi / 2 * t ** 2)`` from 0 to x.",
)
fresnel_cos = real_elementwise(
    "fresnel_cos",
    typed_kernel(lambda x: scipy.special.fresnel(x)[1]),
    (lambda out, x: cos(math.pi / 2 * square(x)),),
    doc="Fresnel's integral of ``cos(pi / 2 * t ** 2)`` from 0 to x.",
)


def _spence_dx(out: Any, x: Any) -> Operand:
    """``log(x) / (1 - x)``, near 1 by its series, so that higher derivatives are exact there too."""
    u = x - 1
    near = abs(u) < _NEAR_ZERO
    series = -1 + u * (1 / 2 - u * (1 / 3 - u * (1 / 4 - u * (1 / 5 - u * (1 / 6 - u * (1 / 7 - u / 8))))))
    away = where(near, ones_like(x) * 2, x)
    return where(near, series, log(away) / (1 - away))


spence = real_elementwise(
    "spence",
    scipy_kernel("spence"),
    (_spence_dx,),
    doc="Spence's integral (a dilogarithm): of ``log(t) / (1 - t)`` from 1 to x.",
)
expint = real_elementwise(
    "expint",
    typed_kernel(lambda x: np.where(np.less(x, 0), np.nan, scipy.special.expi(x))),
    (lambda out, x: exp(x) / x,),
    doc="Exponential integral Ei: the principal value of the integral of ``exp(t) / t`` up to x (NaN for x < 0).",
)


# ---- gamma, beta, zeta -----------------------------------------------------------------------------------------------


def _at_ends(out: Any, x: Any) -> Any:
    """SciPy's values, but for its -inf at -inf, and its infinities where x has no reciprocal."""
    infinite, size = np.isinf(out), np.abs(x)
    return np.where(infinite, np.where(size < 1, -elementary.log(size), np.inf), out) if infinite.any() else out


lgamma = real_elementwise(
    "lgamma",
    scipy_kernel("gammaln", _at_ends),
    (lambda out, x: digamma(x),),
    doc="Logarithm of the absolute value of the gamma function.",
)
digamma = real_elementwise(
    "digamma",
    scipy_kernel("psi"),
    (lambda out, x: polygamma(ones_like(x), x),),
    doc="""Derivative of `lgamma`.

    Its own derivative is a series (SciPy's ``zeta``) that costs some 20 times as much.
    """,
)


def _polygamma(a: Any, x: Any) -> np.ndarray:
    # in double precision: sign, factorial and zeta all vary over many orders of magnitude
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    out = np.full(a.shape, np.nan)
    orders = np.unique(a) if not a.size or np.any(a != a.flat[0]) else a.ravel()[:1]
    for order in orders[(orders >= 0) & (orders < np.inf) & (orders == np.floor(orders))]:
        some = ... if len(orders) == 1 else a == order
        out[some] = tail_kernels.polygamma(int(order), x[some])
    return out


polygamma = real_elementwise(
    "polygamma",
    typed_kernel(_polygamma),
    (None, lambda out, a, x: polygamma(a + 1, x)),
    args=("a", "x"),
    smooth=(0,),
    refuses=True,
    doc="Derivative number ``a`` (a whole number) of `digamma` at x. The order carries no derivative.",
)
zeta = real_elementwise(
    "zeta",
    scipy_kernel("zeta"),
    (lambda out, x, q: zeta_grad_x(x, q), lambda out, x, q: -x * zeta(x + 1, q)),
    args=("x", "q"),
    doc="Hurwitz zeta function: the sum of ``(q + n) ** -x`` over n.",
)


def no_second_derivative(name: str, arguments: str, others: str) -> Callable[..., Operand]:
    """A rule that says that there is none."""

    def rule(out: Any, *_: Any, **__: Any) -> Operand:
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


zeta_grad_x = real_elementwise(
    "zeta_grad_x",
    typed_kernel(parameter_kernels.zeta_by_order),
    (no_second_derivative("zeta", "`x`", "`q`"), lambda out, x, q: -zeta(x + 1, q) - x * zeta_grad_x(x + 1, q)),
    args=("x", "q"),
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


def _gamma_density_dx(out: Any, a: Any, x: Any) -> Operand:
    at_zero = equal(x, zeros_like(x))
    away = where(at_zero, ones_like(x), x)
    return where(at_zero, gamma_density(a - 1, x) - out, out * ((a - 1 - away) / away))


gamma_density = real_elementwise(
    "gamma_density",
    typed_kernel(tail_kernels.gamma_density),
    (lambda out, a, x: scale(out, log(x) - digamma(a)), lambda out, a, x: _gamma_density_dx(out, a, x)),
    args=("a", "x"),
    doc="Derivative of `igamma` in x: ``x ** (a - 1) * exp(-x) / gamma(a)`` (DLMF 8.8.13).",
)


igamma = real_elementwise(
    "igamma",
    scipy_kernel("gammainc"),
    (lambda out, a, x: igamma_grad_a(a, x), in_double(lambda: igamma, lambda out, a, x: gamma_density(a, x), False)),
    args=("a", "x"),
    doc="Lower regularized incomplete gamma function P(a, x).",
)
igammac = real_elementwise(
    "igammac",
    scipy_kernel("gammaincc"),
    (lambda out, a, x: -igamma_grad_a(a, x), lambda out, a, x: -gamma_density(a, x)),
    args=("a", "x"),
    doc="Upper regularized incomplete gamma function Q(a, x) = 1 - P(a, x).",
)


igamma_grad_a = real_elementwise(
    "igamma_grad_a",
    typed_kernel(tail_kernels.igamma_by_shape),
    (
        no_second_derivative("igamma, igammac", "`a`", "`x`"),
        lambda out, a, x: scale(gamma_density(a, x), log(x) - digamma(a)),
    ),
    args=("a", "x"),
    doc="Derivative of `igamma` in `a`.",
)


digamma_step_of = real_elementwise(
    "digamma_step_of",
    typed_kernel(tail_kernels.digamma_step),
    (
        None,
        None,
        lambda out, end, start, a, d, *, times: digamma_step(a, d, times + 1),
        lambda out, end, start, a, d, *, times: polygamma((times + 1) * ones_like(a), a + d),
    ),
    args=("end", "start", "a", "d"),
    strict=False,
    doc="Derivative number `times` of ``digamma(a + d) - digamma(a)`` in a, for those of both; exact for small d, too.",
)


def digamma_step(a: Any, d: Any, times: int = 0, end: Any = None) -> Operand:
    """`digamma_step_of` ``end = a + d`` and `a`, in double precision; other rules use these terms, too."""
    wide, end = _WIDE.get(dtype_of(a)), a + d if end is None else end
    if wide is not None:
        return cast_like(digamma_step(cast(a, wide), cast(d, wide), times, cast(end, wide)), a)
    terms = (polygamma(times * ones_like(x), x) if times else digamma(x) for x in (end, a))
    return digamma_step_of(*terms, a, d, times=times)


beta_density = real_elementwise(
    "beta_density",
    typed_kernel(tail_kernels.beta_density),
    (
        lambda out, a, b, x: scale(out, log(x) + digamma_step(a, b)),
        lambda out, a, b, x: scale(out, log1p(-x) + digamma_step(b, a)),
        lambda out, a, b, x: out * ((a - 1) / x - (b - 1) / (1 - x)),
    ),
    args=("a", "b", "x"),
    doc="Derivative of `betainc` in x (DLMF 8.17.1).",
)


betainc = real_elementwise(
    "betainc",
    scipy_kernel("betainc"),
    (
        lambda out, a, b, x: betainc_grad_a(a, b, x),
        lambda out, a, b, x: betainc_grad_b(a, b, x),
        lambda out, a, b, x: beta_density(a, b, x),
    ),
    args=("a", "b", "x"),
    doc="Regularized incomplete beta function I_x(a, b).",
)


def _betainc_grad(name: str, second: bool) -> Op:
    def in_x(out: Any, a: Any, b: Any, x: Any) -> Operand:
        own, other = (b, a) if second else (a, b)
        logarithm = log1p(-x) if second else log(x)
        return scale(beta_density(a, b, x), logarithm + digamma_step(own, other))

    unknown = no_second_derivative("betainc", "`a` or `b`", "`x`")
    return real_elementwise(
        name,
        typed_kernel(lambda a, b, x: tail_kernels.betainc_by_shape(a, b, x, second)),
        (unknown, unknown, in_x),
        args=("a", "b", "x"),
        doc=f"Derivative of `betainc` in `{'b' if second else 'a'}`.",
    )


betainc_grad_a = _betainc_grad("betainc_grad_a", second=False)
betainc_grad_b = _betainc_grad("betainc_grad_b", second=True)


# ---- Bessel functions ------------------------------------------------------------------------------------------------


_NEAR_ZERO = 0.01
"""Where so few terms of the series are exact to the bit; the quotient loses digits there, more with each order."""
_NEAR_ZERO_OF_BESSEL = 0.3


def _over(y: Any, x: Any, sign: int) -> Operand:
    """``y / x`` for y ``I1(x)`` (sign 1) or ``J1(x)`` (sign -1), with all derivatives at 0.

    The series are those of DLMF 10.2.2 and 10.25.2.
    """
    near = abs(x) < _NEAR_ZERO_OF_BESSEL
    z = sign * square(x)
    series: Any = 0.0 * z
    for k in range(6, -1, -1):
        series = z * series + 0.5 / (4**k * math.factorial(k) * math.factorial(k + 1))
    return where(near, series, y / where(near, ones_like(x), x))


def _bessel(name: str, derivative: Callable[[Any, Any], Operand], doc: str) -> Op:
    return real_elementwise(f"bessel_{name}", scipy_kernel(name), (derivative,), doc=doc)


bessel_i0 = _bessel("i0", lambda out, x: bessel_i1(x), "Modified Bessel function of the first kind, order 0.")
bessel_scaled_by_x = real_elementwise(
    "bessel_scaled_by_x",
    typed_kernel(tail_kernels.bessel_scaled),
    (lambda out, x, *, kind, order, times: bessel_scaled_by_x(x, kind=kind, order=order, times=times + 1),),
    doc="Derivative number `times` of a scaled modified Bessel function of order 0 or 1.",
)


def _bessel_scaled_slope(kind: str, order: int, limits: dict[str, float], quick: Callable[..., Any]) -> Op:
    exact, following = ({"kind": kind, "order": order, "times": times} for times in (1, 2))
    return slope_within(
        f"bessel_{kind}{order}e",
        limits,
        np.absolute,
        quick,
        lambda x: bessel_scaled_by_x.kernel(x, **exact),
        lambda slope, out, x: bessel_scaled_by_x(x, **following),
        lambda x: getattr(scipy.special, f"{kind}{order}e")(x),
        module=__name__,
    )


bessel_i0e_slope = _bessel_scaled_slope(
    "i", 0, {"f": 4.0, "d": 40.0}, lambda out, x: scipy.special.i1e(x) - np.sign(x) * out
)
bessel_i1e_slope = _bessel_scaled_slope(
    "i", 1, {"f": 0.0, "d": 40.0}, lambda out, x: scipy.special.i0e(x) - np.sign(x) * out - _half_near_0(out, x)
)
bessel_k0e_slope = _bessel_scaled_slope("k", 0, {"f": 4.0, "d": 40.0}, lambda out, x: out - scipy.special.k1e(x))
bessel_k1e_slope = _bessel_scaled_slope(
    "k", 1, {"f": 4.0, "d": 40.0}, lambda out, x: out - out / x - scipy.special.k0e(x)
)


def _half_near_0(out: Any, x: Any) -> Any:
    """``out / x`` for ``out = i1e(x)``."""
    tiny = np.less(np.absolute(x), 1e-30)
    half = 0.5 * np.ones_like(x)
    return np.where(tiny, half, out / np.where(tiny, half, x))


bessel_i0e = _bessel("i0e", lambda out, x: bessel_i0e_slope(out, x), "``exp(-abs(x)) * bessel_i0(x)``.")
bessel_i1 = _bessel(
    "i1", lambda out, x: bessel_i0(x) - _over(out, x, 1), "Modified Bessel function of the first kind, order 1."
)
bessel_i1e = _bessel("i1e", lambda out, x: bessel_i1e_slope(out, x), "``exp(-abs(x)) * bessel_i1(x)``.")
bessel_k0 = _bessel("k0", lambda out, x: -bessel_k1(x), "Modified Bessel function of the second kind, order 0.")
bessel_k0e = _bessel("k0e", lambda out, x: bessel_k0e_slope(out, x), "``exp(x) * bessel_k0(x)``.")
bessel_k1 = _bessel(
    "k1", lambda out, x: -bessel_k0(x) - out / x, "Modified Bessel function of the second kind, order 1."
)
bessel_k1e = _bessel("k1e", lambda out, x: bessel_k1e_slope(out, x), "``exp(x) * bessel_k1(x)``.")
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


def xdivy_kernel(x: Any, y: Any) -> np.ndarray:
    """``x / y``, but 0 where x is 0."""
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
    xdivy_kernel,
    (lambda out, x, y: xdivy(_nonzero(x), y), lambda out, x, y: -xdivy(out, y)),
    doc="``x / y``, but 0 where x is 0 (and so are both derivatives).",
)
