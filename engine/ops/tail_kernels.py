"""Kernels of derivatives whose plain formulas lose all digits in a tail: incomplete gamma, Gaussian integrals.

What a recurrence or a difference would cancel is a series far out, or an integral all of whose integrand has one sign.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.ops.parameter_kernels import betainc_by_shape
from engine.ops.quadrature import gauss_legendre
from engine.runtime.cache import cached
from engine.runtime.lazy_scipy import scipy

# ---- incomplete gamma function ---------------------------------------------------------------------------------------

_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
"""Coefficients of the expansion of ``log(gamma)`` (DLMF 5.11.1)."""
_PSI = (-1 / 12, 1 / 120, -1 / 252, 1 / 240, -1 / 132, 691 / 32760, -1 / 12)
"""Those of the expansion of `psi` (DLMF 5.11.2)."""
_LARGE = 10.0
"""The order from which on these expansions are exact to the last digits."""


def gamma_density(a: Any, x: Any) -> np.ndarray:
    """``x ** (a - 1) * exp(-x) / gamma(a)``, for ``a >= 0``.

    For large `a` in units of its largest value, as C. Loader has it, "Fast and accurate computation of binomial
    probabilities" (2000): nothing large is subtracted.
    """
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    with np.errstate(all="ignore"):
        inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
        order, at = np.where(inside, a, 1.0), np.where(inside, x, 1.0)
        large = order >= _LARGE
        high = np.where(large, order, _LARGE)
        deviation = (at - high) / high
        log = np.where(at < 0.5 * high, np.log(at / high), np.log1p(deviation))
        power = -high * (deviation - log) - _series(_STIRLING, high)
        small = np.where(large, 1.0, order)
        plain = np.exp((small - 1) * np.log(at) - at) * scipy.special.rgamma(small)
        out = np.where(large, np.exp(power) * np.sqrt(high / (2 * np.pi)) / at, plain)
        at_zero = np.where(a == 1, 1.0, np.where((a > 1) | (a == 0), 0.0, np.inf))
        edge = np.where(x == 0, at_zero, np.where((x == np.inf) | (a == 0), 0.0, np.nan))
        return np.where(inside, out, np.where((a >= 0) & (x >= 0), edge, np.nan))


def _series(coefficients: tuple[float, ...], a: np.ndarray) -> np.ndarray:
    """The sum of ``coefficients[k] / a ** (2 * k + 1)``."""
    total: Any = 0.0
    for c in reversed(coefficients):
        total = total / (a * a) + c
    return total / a


def _log_over(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """``log(x) - psi(a)``, exact also where these are nearly the same."""
    high = np.where(a >= _LARGE, a, _LARGE)
    ratio = np.where(np.abs(x - high) < 0.5 * high, np.log1p((x - high) / high), np.log(x / high))
    far = ratio + 0.5 / high - _series(_PSI, high) / high
    return np.where(a >= _LARGE, far, np.log(x) - scipy.special.psi(np.where(a >= _LARGE, 1.0, a)))


def digamma_step(a: Any, d: Any, *, times: int) -> np.ndarray:
    """Derivative number `times` in `a` of ``psi(a + d) - psi(a)``: in terms of the step, so that a small one is exact.

    For positive `a` and ``a + d`` by the recurrence DLMF 5.5.2 up to where the expansion is exact.
    """
    a, d = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(d, np.float64))
    with np.errstate(all="ignore"):
        inside = (a > 0) & (a + d > 0) & np.isfinite(a) & np.isfinite(d)
        at, step = np.where(inside, a, 1.0), np.where(inside, d, 1.0)
        total = np.zeros_like(at)
        for _ in range(int(_LARGE) + 4):
            low = np.minimum(at, at + step) < _LARGE + times
            if not low.any():
                break
            total -= np.where(low, _power_step(at, step, 1, times), 0.0)
            at = at + low
        total -= 0.5 * _power_step(at, step, 1, times)
        for k in reversed(range(len(_PSI))):
            total += _PSI[k] * _power_step(at, step, 2 * k + 2, times)
        if times:
            leading = (-1) ** (times - 1) * math.factorial(times - 1) * at**-times
            total += leading * np.expm1(-times * np.log1p(step / at))
        else:
            total += np.log1p(step / at)
        plain = _psi(a + d, times) - _psi(a, times)
        return np.where(inside, total, plain)


def _power_step(a: np.ndarray, d: np.ndarray, j: int, times: int) -> np.ndarray:
    """Derivative number `times` of ``(a + d) ** -j - a ** -j``."""
    power = j + times
    return (-1) ** times * math.perm(power - 1, times) * a**-power * np.expm1(-power * np.log1p(d / a))


def _psi(x: np.ndarray, times: int) -> np.ndarray:
    if times == 0:
        return scipy.special.psi(x)
    return (-1) ** (times + 1) * math.factorial(times) * scipy.special.zeta(times + 1, x)


# ---- incomplete beta function ----------------------------------------------------------------------------------------


def beta_density(a: Any, b: Any, x: Any) -> np.ndarray:
    """``x ** (a - 1) * (1 - x) ** (b - 1) / beta(a, b)``."""
    a, b, x = (np.asarray(v, np.float64) for v in (a, b, x))
    powers = scipy.special.xlogy(a - 1, x) + scipy.special.xlog1py(b - 1, -x)
    return np.exp(powers - scipy.special.betaln(a, b))


def stdtr_by_df(df: Any, t: Any) -> np.ndarray:
    """The derivative of Student's distribution function in `df`.

    It is one half and half of I_y(1 / 2, df / 2) at ``y = t ** 2 / (df + t ** 2)``, or 1 less half of I_(1 - y) of the
    shapes exchanged: by the smaller one of y and 1 - y.
    """
    df, t = np.broadcast_arrays(np.asarray(df, np.float64), np.asarray(t, np.float64))
    with np.errstate(all="ignore"):
        inside = (t != 0) & np.isfinite(t) & (df > 0) & np.isfinite(df)
        n, size = np.where(inside, df, 1.0), np.abs(np.where(inside, t, 1.0))
        near, total = size * size < n, n + size * size
        half, ratio = np.full_like(n, 0.5), (size / total) * (size / total)
        y, x = np.where(near, size / total * size, 0.5), np.where(near, 0.5, n / total)
        below = betainc_by_shape(half, n / 2, y, True) / 2 - beta_density(half, n / 2, y) * ratio
        above = betainc_by_shape(n / 2, half, x, False) / 2 + beta_density(n / 2, half, x) * ratio
        out = 0.5 * np.sign(t) * np.where(near, below, -above)
    return np.where(inside, out, np.where((df > 0) & ~np.isnan(t), 0.0, np.nan))


# ---- incomplete gamma function, in its shape -------------------------------------------------------------------------


def igamma_by_shape(a: Any, x: Any) -> np.ndarray:
    """The derivative of P(a, x) in `a`, and minus that of Q(a, x), each exact where it is tiny.

    Below the mean by the power series (DLMF 8.7.1), or by the integral of ``log(t) - psi(a)`` times the density from 0
    to x, above by the same from x on: all terms have one sign.
    """
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    inside = (x > 0) & np.isfinite(x) & (a > 0) & np.isfinite(a)
    out = np.where(np.isnan(x) | (x < 0) | ~(a > 0), np.nan, 0.0)
    above = x > np.maximum(a, 1.5)
    with np.errstate(all="ignore"):
        for where, part in (
            (inside & above, _upper_by_shape),
            (inside & ~above & (a > 2 * _LARGE), _lower_by_shape),
            (inside & ~above & (a <= 2 * _LARGE), _series_by_shape),
        ):
            if where.any():
                out[where] = part(a[where], x[where])
    return out


def _series_by_shape(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    term, over, total = gamma_density(a + 1, x), _log_over(a + 1, x), np.zeros_like(x)
    for n in range(160):
        total += term * over
        over = over - 1 / (a + n + 1)
        term = term * (x / (a + n + 1))
    return total


_DECAYS = 45.0
"""Where an integrand is ``exp`` of minus this beside its largest value, nothing is left of it."""


def _integrated(f: Callable[[Any], Any], end: np.ndarray) -> np.ndarray:
    nodes, weights = gauss_legendre(24)
    panels = 10
    total = np.zeros_like(end)
    for k in range(panels):
        for node, weight in zip(nodes, weights, strict=True):
            total += weight * f(end * ((k + node) / panels))
    return total * (end / panels)


def _upper_by_shape(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    power, over = a - 1, _log_over(a, x)
    end = 2 * _DECAYS + 12 * np.sqrt(_DECAYS + a)
    for _ in range(12):  # Newton's method, from the right on a concave curve
        end = end - (power * np.log1p(end / x) - end + _DECAYS) / (power / (x + end) - 1)

    def integrand(s: Any) -> Any:
        log = np.log1p(s / x)
        return (over + log) * np.exp(power * log - s)

    return -gamma_density(a, x) * _integrated(integrand, end)


def _lower_by_shape(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    power, over = a - 1, _log_over(a, x)
    bend, rate = power / (x * x), np.maximum(power / x - 1, 0.0)
    end = np.minimum(x, (np.sqrt(rate * rate + 2 * bend * (_DECAYS + 1)) - rate) / bend)

    def integrand(s: Any) -> Any:
        log = np.log1p(-s / x)
        return (over + log) * np.exp(power * log + s)

    return gamma_density(a, x) * _integrated(integrand, end)


# ---- Gaussian integrals ----------------------------------------------------------------------------------------------

_FAR = 7.0
_TERMS = 36


def gaussian_integral(x: Any, *, times: int, sign: int) -> np.ndarray:
    """Derivative number `times` of Dawson's integral (sign -1), or of ``sqrt(pi) / 2 * erfcx(x)`` (sign 1).

    By the differential equation ``y' = sign * (2 * x * y - 1)``; far out, where its terms cancel, by the asymptotic
    expansion (DLMF 7.12.1).
    """
    x = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        far = np.abs(x) > _FAR if sign < 0 else x > _FAR
        at = np.where(far, 1.0, x) if far.any() else x
        below, y = None, scipy.special.dawsn(at) if sign < 0 else math.sqrt(math.pi) / 2 * scipy.special.erfcx(at)
        for n in range(times):
            following = sign * (2 * at * y - 1) if below is None else sign * (2 * at * y + 2 * n * below)
            below, y = y, following
        if not far.any():
            return y
        z = np.where(far, x, np.inf)
        total = np.zeros_like(z)
        for k in reversed(range(_TERMS)):
            total = total / (2 * z * z) + (-sign) ** k * math.prod(range(1, 2 * k, 2)) * math.perm(2 * k + times, times)
        return np.where(far, (-1) ** times * total / (2 * z ** (times + 1)), y)


@cached(1)
def _mills_coefficients() -> list[float]:
    """Those of the expansion ``pdf(x) / cdf(x) = z + c[0] / z + c[1] / z ** 3 + ...`` for ``z = -x``, by Riccati."""
    c = [1]
    for k in range(1, _TERMS):
        c.append(-(2 * k - 1) * c[k - 1] - sum(c[i] * c[k - 1 - i] for i in range(k)))
    return [float(v) for v in c]


_FAR_BELOW = 9.0


def inverse_mills(x: Any, *, times: int) -> np.ndarray:
    """Derivative number `times` of the normal density over its distribution function, which is `log_ndtr`'s slope."""
    x = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        far = x < -_FAR_BELOW
        at = np.where(far, 0.0, x) if far.any() else x
        # r' = -r * s for s = x + r, and as often as it takes
        r = [math.sqrt(2 / math.pi) / scipy.special.erfcx(-at / math.sqrt(2))]
        for n in range(times):
            s = [at + r[0], 1 + r[1] if n else None, *r[2:]]
            r.append(-sum(math.comb(n, k) * r[k] * s[n - k] for k in range(n + 1)))
        if not far.any():
            return r[times]
        z = np.where(far, -x, np.inf)
        total = np.zeros_like(z)
        for k in reversed(range(_TERMS)):
            power = 2 * k + 1
            total = total / (z * z) + _mills_coefficients()[k] * math.perm(power + times - 1, times)
        # z ** -power differentiated in x = -z
        total = total / z ** (1 + times)
        leading = (z, np.full_like(z, -1.0))[times] if times < 2 else 0.0
        return np.where(far, leading + total, r[times])


# ---- modified Bessel functions, scaled -------------------------------------------------------------------------------

_FAR_OUT = 40.0


def bessel_scaled(x: Any, *, kind: str, order: int, times: int) -> np.ndarray:
    """Derivative number `times` of ``ive(order, x)`` or ``kve(order, x)`` (by `kind`), of order 0 or 1.

    By differences of neighboring orders (DLMF 10.29.5), which cancel far out; there by the expansions DLMF 10.40.1 and
    10.40.2. At 0 odd powers of the sign of x are taken as 0, as those of the slope of ``abs(x)`` are.
    """
    x = np.asarray(x, np.float64)
    first = kind == "i"
    with np.errstate(all="ignore"):
        far = np.abs(x) > _FAR_OUT
        at = np.where(far, 1.0, x) if far.any() else x
        total = np.zeros_like(x)
        for k in range(times + 1):
            back = (-np.sign(at) if (times - k) % 2 else 1.0) if first else 1.0
            weight = math.comb(times, k) * (0.5 if first else -0.5) ** k * back
            for j in range(k // 2 + 1 if order == 0 else k + 1):
                # of order 0 the neighbors below and above are the same
                twice = 2 if order == 0 and 2 * j != k else 1
                total += weight * twice * math.comb(k, j) * _scaled(kind, abs(order - k + 2 * j), at)
        if not far.any():
            return total
        z = np.where(far, np.abs(x), np.inf)
        series, terms, coefficient = np.zeros_like(z), [], 1.0
        for k in range(24):
            terms.append(coefficient * math.prod(-0.5 - k - i for i in range(times)))
            coefficient *= (-1 if first else 1) * (4 * order**2 - (2 * k + 1) ** 2) / (8 * (k + 1))
        for c in reversed(terms):
            series = series / z + c
        series = series / (np.sqrt(2 * z / np.pi) * (np.pi if first else 1.0) * z**times)
        turned = (-1.0) ** (order + times) if first else np.nan
        return np.where(far, np.where(x < 0, turned, 1.0) * series, total)


def _scaled(kind: str, order: int, x: np.ndarray) -> np.ndarray:
    if order < 2:
        return getattr(scipy.special, f"{kind}{order}e")(x)
    if kind == "k":
        return scipy.special.kve(order, x)
    return scipy.special.ive(order, np.abs(x)) * np.where(x < 0, (-1.0) ** order, 1.0)


# ---- Faddeeva function -----------------------------------------------------------------------------------------------


def wofz(z: Any, *, times: int) -> np.ndarray:
    """Derivative number `times` of the Faddeeva function: by recurrence, far out by its expansion (DLMF 7.12.1)."""
    z = np.asarray(z, np.complex128)
    with np.errstate(all="ignore"):
        far = (np.abs(z) > _FAR) & (z.imag > 0)
        at = np.where(far, 1.0, z)
        below, w = np.zeros_like(z), scipy.special.wofz(at)
        for n in range(times):
            below, w = w, -2 * at * w - 2 * n * below + (2j / math.sqrt(math.pi) if n == 0 else 0.0)
        away = np.where(far, z, 1e3)
        total = np.zeros_like(z)
        for k in reversed(range(_TERMS)):
            total = total / (2 * away * away) + math.prod(range(1, 2 * k, 2)) * math.perm(2 * k + times, times)
        expansion = (-1) ** times * 1j / math.sqrt(math.pi) * total / away ** (times + 1)
        return np.where(far, expansion, w)
