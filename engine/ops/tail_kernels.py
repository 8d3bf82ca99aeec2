"""Kernels of derivatives whose plain formulas lose all digits in a tail: incomplete gamma, Gaussian integrals.

What a recurrence or a difference would cancel is a series far out, or an integral all of whose integrand has one sign.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial

from engine.ops.quadrature import panels
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
        out = np.asarray(np.exp((a - 1) * np.log(x) - x) * scipy.special.rgamma(a))
        large = (a >= _LARGE) & (x > 0) & np.isfinite(a) & np.isfinite(x)
        if large.any():
            high, at = a[large], x[large]
            deviation = (at - high) / high
            log = np.where(at < 0.5 * high, np.log(at / high), np.log1p(deviation))
            power = -high * (deviation - log) - _series(_STIRLING, high)
            out[large] = np.exp(power) * np.sqrt(high / (2 * np.pi)) / at
        edge = ~((a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x))
        if edge.any():
            order, at = a[edge], x[edge]
            at_zero = np.where(order == 1, 1.0, np.where((order > 1) | (order == 0), 0.0, np.inf))
            ends = np.where(at == 0, at_zero, np.where((at == np.inf) | (order == 0), 0.0, np.nan))
            out[edge] = np.where((order >= 0) & (at >= 0), ends, np.nan)
        return out


def _series(coefficients: tuple[float, ...], a: np.ndarray) -> np.ndarray:
    """The sum of ``coefficients[k] / a ** (2 * k + 1)``."""
    total: Any = 0.0
    for c in reversed(coefficients):
        total = total / (a * a) + c
    return total / a


def replaced(out: Any, where: Any, exact: Callable[..., Any], *operands: Any) -> Any:
    """`out`, and ``exact(*operands)`` of arrays of one dimension in double precision where it is not exact enough."""
    where = np.asarray(where)
    if not where.any():
        return out
    out = np.array(out, np.float64)
    out[where] = exact(*[np.broadcast_to(v, where.shape)[where].astype(np.float64) for v in operands])
    return out


def _log_over(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """``log(x) - psi(a)``, exact also where these are nearly the same."""
    high = np.where(a >= _LARGE, a, _LARGE)
    ratio = np.where(np.abs(x - high) < 0.5 * high, np.log1p((x - high) / high), np.log(x / high))
    far = ratio + 0.5 / high - _series(_PSI, high) / high
    return np.where(a >= _LARGE, far, np.log(x) - scipy.special.psi(np.where(a >= _LARGE, 1.0, a)))


def digamma_step(end: Any, start: Any, a: Any, d: Any, *, times: int) -> np.ndarray:
    """Derivative number `times` in `a` of ``psi(a + d) - psi(a)``, from both; by the step where this is small."""
    with np.errstate(all="ignore"):
        out = np.asarray(np.subtract(end, start, dtype=np.float64))
        lost = np.asarray(np.abs(out) < 0.05 * np.maximum(np.abs(start), 1.0 if times == 0 else 0.0))
        if lost.any():
            a, d = np.asarray(a, np.float64), np.asarray(d, np.float64)
            lost &= (a > 0) & (a + d > 0) & np.isfinite(a) & np.isfinite(d)
            at, step = (np.broadcast_to(v, lost.shape)[lost] for v in (a, d))
            out[lost] = _small_step(at, step, times)
    return out


def psi_step(a: Any, d: Any) -> np.ndarray:
    """The same for the digamma function itself, which it computes."""
    with np.errstate(all="ignore"):
        return digamma_step(scipy.special.psi(a + d), scipy.special.psi(a), a, d, times=0)


def _small_step(at: np.ndarray, step: np.ndarray, times: int) -> np.ndarray:
    """The same for positive `at` and ``at + step``, by the recurrence DLMF 5.5.2 up to where the expansion is exact."""
    count = int(_LARGE) + times
    at, step = at[:, None], step[:, None]
    total = -np.sum(_power_step(at + np.arange(count), step, np.ones(1), times), -1)
    at = at + count
    tail = np.array([0.5, *[-c for c in _PSI]]) * _power_step(at, step, np.array([1, *range(2, 15, 2)]), times)
    if times:
        leading = (-1) ** (times - 1) * math.factorial(times - 1) * at**-times
        first = leading * np.expm1(-times * np.log1p(step / at))
    else:
        first = np.log1p(step / at)
    return total + (first[:, 0] - np.sum(tail, -1))


def _power_step(a: np.ndarray, d: np.ndarray, j: np.ndarray, times: int) -> np.ndarray:
    """Derivative number `times` of ``(a + d) ** -j - a ** -j``."""
    power = j + times
    factor = (-1) ** times * np.array([math.perm(n + times - 1, times) for n in j.astype(int)])
    if power.size == 1 and power[0] <= 2:
        # in the terms of which there are most, no exponential
        return -factor * d * ((1 / a + 1 / (a + d)) if power[0] == 2 else 1.0) / a / (a + d)
    return factor * a**-power * np.expm1(-power * np.log1p(d / a))


_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
"""The Bernoulli numbers B2, B4, ..., B16."""
_CHUNK = 1 << 12


def polygamma(n: int, x: Any) -> np.ndarray:
    """Derivative number `n` of the digamma function."""
    if n == 0:
        return scipy.special.psi(x)
    return (-1) ** (n + 1) * scipy.special.gamma(n + 1) * hurwitz(n + 1, x)


_MOST = 32
"""The order from which on powers take as long as SciPy's ``zeta``, which has as many terms as x is negative."""


def hurwitz(n: int, x: Any) -> np.ndarray:
    """The sum of ``(x + k) ** -n`` over k from 0 on, for whole n of at least 2.

    By the formula of Euler and Maclaurin (DLMF 25.11.43), in a tenth of the time of SciPy's ``zeta``; of what is
    negative from the sum over all whole k, a polynomial of the cotangent.
    """
    x = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        if n > _MOST:
            return scipy.special.zeta(n, np.where(x < 0, np.nan, x))
        low = x < 0
        if not low.any():
            return _hurwitz(n, x)
        turned = x - np.rint(x)
        cotangent = 1 / np.tan(np.pi * turned)
        # its derivatives are polynomials of it
        whole, slope = Polynomial([0.0, 1.0]), Polynomial([-1.0, 0.0, -1.0])
        for _ in range(n - 1):
            whole = slope * whole.deriv()
        total = (-1) ** (n - 1) * np.pi**n / math.factorial(n - 1) * whole(cotangent)
        total = np.where(turned == 0, np.inf, total)  # as SciPy's zeta, and TensorFlow's
        above = _hurwitz(n, np.where(low, 1 - x, x))
        return np.where(low, total - (-1) ** n * above, above)


def _hurwitz(n: int, x: np.ndarray) -> np.ndarray:
    if x.size <= _CHUNK:
        return _euler_maclaurin(n, x)
    flat, out = x.reshape(-1), np.empty(x.size)
    for i in range(0, x.size, _CHUNK):
        out[i : i + _CHUNK] = _euler_maclaurin(n, flat[i : i + _CHUNK])
    return out.reshape(x.shape)


def _euler_maclaurin(n: int, x: np.ndarray) -> np.ndarray:
    shift = 8 + n // 2
    last = x + shift
    inverse = 1 / last
    tail, square = np.zeros_like(last), inverse * inverse
    for k in range(len(_BERNOULLI), 0, -1):
        tail = tail * square + _BERNOULLI[k - 1] * math.perm(n + 2 * k - 2, 2 * k - 1) / math.factorial(2 * k)
    total = _whole_power(inverse, n - 1) * (1 / (n - 1) + inverse * (0.5 + inverse * tail))
    for k in range(shift - 1, -1, -1):
        total += _whole_power(1 / (x + k), n)
    return total


def _whole_power(x: np.ndarray, n: int) -> np.ndarray:
    out = x
    for _ in range(n - 1):
        out = out * x
    return out


# ---- incomplete beta function ----------------------------------------------------------------------------------------


def beta_density(a: Any, b: Any, x: Any) -> np.ndarray:
    """``x ** (a - 1) * (1 - x) ** (b - 1) / beta(a, b)``."""
    a, b, x = (np.asarray(v, np.float64) for v in (a, b, x))
    powers = scipy.special.xlogy(a - 1, x) + scipy.special.xlog1py(b - 1, -x)
    return np.exp(powers - scipy.special.betaln(a, b))


def upper_beta(a: Any, b: Any, x: Any, rest: Any = None) -> Any:
    """``1 - betainc(a, b, x)`` by ``rest = 1 - x``, but where x is so small that its digits are not in that.

    SciPy's ``betaincc``, which takes x, takes twenty times as long.
    """
    out = scipy.special.betainc(b, a, 1 - x if rest is None else rest)
    if np.less(x, 1e-3).any():
        out = np.array(out)
        small = np.broadcast_to(np.less(x, 1e-3), out.shape)
        out[small] = scipy.special.betaincc(*[np.broadcast_to(v, small.shape)[small] for v in (a, b, x)])
    return out


def _beyond_stirling(a: np.ndarray) -> np.ndarray:
    """``gammaln(a)`` less its leading terms ``(a - 1 / 2) * log(a) - a + log(2 * pi) / 2``."""
    high, low = np.maximum(a, _LARGE), np.minimum(a, _LARGE)
    direct = scipy.special.gammaln(low) - ((low - 0.5) * np.log(low) - low + 0.5 * math.log(2 * math.pi))
    return np.where(a < _LARGE, direct, _series(_STIRLING, high))


def _log_odds_density(a: Any, b: Any, v: Any, log: Any) -> np.ndarray:
    """``v ** a / (1 + v) ** (a + b) / beta(a, b)``, in units of its largest value, at ``v = a / b``."""
    total, share, rest = a + b, v / (1 + v), 1 / (1 + v)
    with np.errstate(all="ignore"):
        step = np.where(v < 1, share * total - a, b - rest * total)
        first = np.where(np.abs(step) < 0.5 * a, np.log1p(step / a), log - np.log1p(v) + np.log(total / a))
        second = np.where(np.abs(step) < 0.5 * b, np.log1p(-step / b), np.log(total / b) - np.log1p(v))
        small = _beyond_stirling(total) - _beyond_stirling(a) - _beyond_stirling(b)
        return np.sqrt(a / total * b / (2 * np.pi)) * np.exp(a * first + b * second + small)


def _lower_tail(a: Any, b: Any, v: Any, log: Any, integrand: Callable[..., Any]) -> np.ndarray:
    """The integral of ``integrand(w, share, rest, a, b)`` times the density of log odds over all odds w below `v`.

    `share` and `rest` are the logarithms of ``w / (1 + w)`` and ``1 / (1 + w)``.
    """
    total, high = a + b, np.log1p(v)
    end = (_DECAYS + total * high) / a
    for _ in range(8):  # Newton's method, from the right on a convex curve
        w = v * np.exp(-end)
        end = end - (a * end - total * (high - np.log1p(w)) - _DECAYS) / (a - total * w / (1 + w))
    # both ways from odds of 1, near which the density bends
    middle, found = np.clip(log, 0.0, end), np.zeros_like(end)
    for length, way in ((end - middle, 1), (middle, -1)):
        rate = np.log1p(length)
        counts = np.where(length > 0, np.maximum(2, np.minimum(rate / 1.3, 100)), 0).astype(int)
        for count in np.unique(counts[counts > 0]):
            places = np.flatnonzero(counts == count)
            for some in np.array_split(places, 1 + len(places) // _CHUNK):
                columns = [x[some, None] for x in (a, b, v, log, middle, rate)]
                found[some] += rate[some] * _segment(columns, way, int(count), integrand)
    return _log_odds_density(a, b, v, log) * found


def _segment(columns: list[np.ndarray], way: int, count: int, integrand: Callable[..., Any]) -> np.ndarray:
    p, q, v, log, middle, rate = columns
    nodes, weights = panels(20, count)
    away = np.expm1(rate * nodes)
    s = middle + way * away
    odds, x = v * np.exp(-s), v / (1 + v) * np.expm1(-s)
    rest = np.log1p(odds)
    ratio = np.where((x > -0.5) & (p + q > 100), np.log1p(x), rest - np.log1p(v))
    share = np.where(odds > 1, -np.log1p(1 / odds), log - s - rest)
    terms = np.exp(-p * s - (p + q) * ratio) * integrand(odds, share, -rest, p, q) * (1 + away)
    return np.sum(terms * weights, -1)


def _own(w: Any, share: Any, rest: Any, p: Any, q: Any) -> Any:
    """The derivative of the logarithm of the density in p, at a given share."""
    return share + psi_step(p, q)


def _other(w: Any, share: Any, rest: Any, p: Any, q: Any) -> Any:
    """The same in q."""
    return rest + psi_step(q, p)


def _own_of_ratio(w: Any, share: Any, rest: Any, p: Any, q: Any) -> Any:
    """The derivative of the logarithm of the density in p, at given odds in units of p / q."""
    return _step_left(p, q) + _less_share(1 / w, share, q / p) + q / p / (1 + w)


def _other_of_ratio(w: Any, share: Any, rest: Any, p: Any, q: Any) -> Any:
    """The same in q."""
    return _step_left(q, p) + _less_share(w, rest, p / q) + p / q * (w / (1 + w))


_SMALL = 0.06


def _less_share(w: Any, rest: Any, unit: Any) -> Any:
    """``w / (1 + w) - log1p(w)``, by its series where it is small, if it has to be exact in this unit."""
    out = 1 / (1 + 1 / w) + rest
    near = (np.abs(w) < _SMALL) & (unit < 0.02)
    if near.any():
        small = w[near]
        total = np.zeros_like(small)
        for k in range(15, 1, -1):
            total = total * -small + (1 - 1 / k)
        out[near] = -total * small * small
    return out


def _step_left(a: Any, d: Any) -> np.ndarray:
    """``psi(a + d) - psi(a) - d / a``, from `a` + 1 on, since it is 0 for d = 1; of large `a` by the expansion."""
    after, further = a + 1, d - 1
    out = psi_step(after, further) - further / a
    large = a > _LARGE
    if large.any():
        at, step = after[large], further[large]
        ratio = step / at
        total = -_less_share(ratio, -np.log1p(ratio), np.zeros(1)) - ratio * (step / (at + step))
        total -= 0.5 * _power_step(at, step, np.ones(1), 0) + ratio / a[large]
        for k in reversed(range(len(_PSI))):
            total += _PSI[k] * _power_step(at, step, np.array([2.0 * k + 2]), 0)
        out[large] = total
    return out


def _by_shape(a: Any, b: Any, v: Any, log: Any, below: Any, own: Any, other: Any, second: bool) -> np.ndarray:
    """The integral up to odds `v`, by the tail above where not `below`; `own` is the integrand in a, `other` in b."""
    out = np.empty_like(v)
    for where, flipped in ((below, False), (~below, True)):
        if where.any():
            p, q, at, logs = (x[where] for x in ((b, a, 1 / v, -log) if flipped else (a, b, v, log)))
            found = _lower_tail(p, q, at, logs, own if second == flipped else other)
            out[where] = -found if flipped else found
    return out


def betainc_by_shape(a: Any, b: Any, x: Any, second: bool, odds: bool = False) -> np.ndarray:
    """The derivative of I_x(a, b) in `a`, or in `b` if `second`: of the tail in which the integrand has one sign.

    `x` is a share, or its `odds`.
    """
    a, b, x = np.broadcast_arrays(*[np.asarray(v, np.float64) for v in (a, b, x)])
    end = np.inf if odds else 1.0
    inside = (a > 0) & (b > 0) & np.isfinite(a) & np.isfinite(b) & (x > 0) & (x < end)
    out = np.where((a > 0) & (b > 0) & np.isfinite(a) & np.isfinite(b) & (x >= 0) & (x <= end), 0.0, np.nan)
    if inside.any():
        p, q, at = a[inside], b[inside], x[inside]
        with np.errstate(all="ignore"):
            v = at if odds else at / (1 - at)
            share, rest = (-np.log1p(1 / at), -np.log1p(at)) if odds else (np.log(at), np.log1p(-at))
            # odds at which the integrand changes its sign
            below = psi_step(q, p) + rest > 0 if second else psi_step(p, q) + share < 0
            log = np.log(at) if odds else share - rest
            out[inside] = _by_shape(p, q, v, log, below, _own, _other, second)
    return out


def beta_moment(a: Any, b: Any, *, first: int, second: int) -> np.ndarray:
    """The integral of ``log(x) ** first * log(1 - x) ** second * x ** (a - 1) * (1 - x) ** (b - 1)`` from 0 to 1."""
    a, b = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(b, np.float64))
    inside = (a > 0) & (b > 0) & np.isfinite(a) & np.isfinite(b)
    out = np.full(a.shape, np.nan)
    with np.errstate(all="ignore"):
        p, q = a[inside], b[inside]
        v, log = p / q, np.log(p) - np.log(q)
        below = _lower_tail(p, q, v, log, lambda w, share, rest, *_: share**first * rest**second)
        above = _lower_tail(q, p, 1 / v, -log, lambda w, share, rest, *_: share**second * rest**first)
        out[inside] = scipy.special.beta(p, q) * (below + above)
    return out


def fdtr_by_df(dfn: Any, dfd: Any, x: Any, second: bool, root: bool = False) -> np.ndarray:
    """The derivative of the F distribution function in `dfn`, or `dfd` if `second`; of the square of `x` if `root`."""
    dfn, dfd, x = np.broadcast_arrays(*[np.asarray(v, np.float64) for v in (dfn, dfd, x)])
    inside = (dfn > 0) & (dfd > 0) & np.isfinite(dfn) & np.isfinite(dfd) & (x > 0) & np.isfinite(x)
    out = np.where((dfn > 0) & (dfd > 0) & (x >= 0), 0.0, np.nan)
    if inside.any():
        with np.errstate(all="ignore"):
            a, b, at = dfn[inside] / 2, dfd[inside] / 2, x[inside]
            v = np.square(at / np.sqrt(b / a)) if root else a / b * at
            log = (1 + root) * np.log(at) + np.log(a / b)
            out[inside] = 0.5 * _by_shape(a, b, v, log, at < 1, _own_of_ratio, _other_of_ratio, second)
    return out


def fdtr(dfn: Any, dfd: Any, x: Any, upper: bool) -> np.ndarray:
    """A tail of the F distribution: of the share of each of two parts, the smaller one keeps its digits."""
    dfn, dfd, x = np.broadcast_arrays(*[np.asarray(v, np.float64) for v in (dfn, dfd, x)])
    with np.errstate(all="ignore"):
        first, total, out = dfn * x, dfn * x + dfd, np.full(x.shape, np.nan)
        small = first < dfd
        near, far = (scipy.special.betaincc, scipy.special.betainc)[:: 1 if upper else -1]
        out[small] = near(dfn[small] / 2, dfd[small] / 2, first[small] / total[small])
        large = first >= dfd
        out[large] = far(dfd[large] / 2, dfn[large] / 2, dfd[large] / total[large])
    return out


def f_density(dfn: Any, dfd: Any, x: Any) -> np.ndarray:
    """The density of the F distribution."""
    dfn, dfd, x = np.broadcast_arrays(*[np.asarray(v, np.float64) for v in (dfn, dfd, x)])
    inside = (dfn > 0) & (dfd > 0) & np.isfinite(dfn) & np.isfinite(dfd) & (x > 0) & np.isfinite(x)
    with np.errstate(all="ignore"):
        a, b, at = (np.where(inside, v, 1.0) for v in (dfn / 2, dfd / 2, x))
        density = _log_odds_density(a, b, a / b * at, np.log(at) + np.log(a / b)) / at
        edge = np.where(x == np.inf, 0.0, np.where(dfn == 2, 1.0, np.where(dfn > 2, 0.0, np.inf)))
    known = (dfn > 0) & (dfd > 0) & np.isfinite(dfn) & np.isfinite(dfd) & ((x == 0) | (x == np.inf))
    return np.where(inside, density, np.where(known, edge, np.where(x < 0, 0.0, np.nan)))


def ratio_score(dfn: Any, dfd: Any, x: Any) -> np.ndarray:
    """The derivative of the logarithm of that density in ``dfd / 2``."""
    a, b, x = np.broadcast_arrays(*[np.asarray(v, np.float64) for v in (dfn, dfd, x)])
    with np.errstate(all="ignore"):
        w = a / b * x
        return _other_of_ratio(w, None, -np.log1p(w), a / 2, b / 2)


def t_density(df: Any, t: Any) -> np.ndarray:
    """The density of Student's t."""
    df, t = np.asarray(df, np.float64), np.asarray(t, np.float64)
    with np.errstate(all="ignore"):
        a, size = df / 2, np.abs(t)
        log = np.where(size > 1e150, 2 * np.log(size) - np.log(df), np.log1p(np.square(t) / df))
        scale = a * np.log1p(0.5 / a) - 0.5 + _beyond_stirling(a + 0.5) - _beyond_stirling(a)
        return np.exp(scale - (a + 0.5) * log) / math.sqrt(2 * math.pi)


def stdtr_by_df(df: Any, t: Any) -> np.ndarray:
    """The derivative of Student's distribution function in `df`: the square has an F distribution."""
    slope = fdtr_by_df(1.0, df, np.abs(t), True, root=True)
    return 0.5 * np.sign(t) * slope


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
        if n % 16 == 15 and np.all(np.abs(term * over) <= 1e-19 * np.abs(total)):
            break
    return total


_DECAYS = 45.0
"""Where an integrand is ``exp`` of minus this beside its largest value, nothing is left of it."""


def _integrated(f: Callable[[Any], Any], end: np.ndarray) -> np.ndarray:
    nodes, weights = panels(24, 10)
    total = np.zeros_like(end)
    for k in range(0, len(nodes), 24):
        terms = weights[k : k + 24, None] * f(end * nodes[k : k + 24, None])
        total += np.sum(np.ascontiguousarray(terms.T), -1)  # in the same order, however many there are
    return total * end


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


@cached(64)
def _coefficients(times: int, sign: int) -> list[float]:
    return [
        float((-sign) ** k * math.prod(range(1, 2 * k, 2)) * math.perm(2 * k + times, times)) for k in range(_TERMS)
    ]


def _far_out(z: np.ndarray, times: int, sign: int) -> np.ndarray:
    """Derivative number `times` of ``sum((-sign) ** k * (2 * k - 1)!! / (2 * z ** 2) ** k) / z`` (DLMF 7.12.1)."""
    w, total = 1 / (2 * z * z), np.zeros_like(z)
    for c in reversed(_coefficients(times, sign)):
        total *= w
        total += c
    return (-1) ** times * total / z ** (times + 1)


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
        y = np.array(y)
        y[far] = 0.5 * _far_out(x[far], times, sign)
        return y


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
        total, scaled = np.zeros_like(x), _scaled(kind, order + times, at)
        for k in range(times + 1):
            back = (-np.sign(at) if (times - k) % 2 else 1.0) if first else 1.0
            weight = math.comb(times, k) * (0.5 if first else -0.5) ** k * back
            for j in range(k // 2 + 1 if order == 0 else k + 1):
                # of order 0 the neighbors below and above are the same
                twice = 2 if order == 0 and 2 * j != k else 1
                total += weight * twice * math.comb(k, j) * scaled[abs(order - k + 2 * j)]
        if not far.any():
            return total
        return np.where(far, _scaled_far_out(np.float64(order), x, kind, times), total)


def scaled_slope(given: Any, v: Any, x: Any, *, kind: str, times: int) -> Any:
    """Derivative number `times` in x of ``ive(v, x)`` or ``kve(v, x)``, as `given`, but far out."""
    far = np.abs(x) > 26 + v * v / 2
    if not far.any():
        return np.array(given)
    with np.errstate(all="ignore"):
        return np.where(far, _scaled_far_out(v, np.where(far, x, np.inf), kind, times), given)


def _scaled_far_out(v: Any, x: Any, kind: str, times: int) -> np.ndarray:
    """By the expansions DLMF 10.40.1 and 10.40.2."""
    z, terms, coefficient = np.abs(x), [], np.ones_like(v)
    for k in range(24):
        terms.append(coefficient * math.prod(-0.5 - k - i for i in range(times)))
        coefficient = coefficient * ((-1 if kind == "i" else 1) * (4 * v * v - (2 * k + 1) ** 2) / (8 * (k + 1)))
    series = np.zeros_like(z)
    for c in reversed(terms):
        series = series / z + c
    # the power last, which may underflow alone
    series = series / np.sqrt(2 * z / np.pi) / (np.pi if kind == "i" else 1.0) / z**times
    if kind == "k":
        return np.where(x < 0, np.nan, series)
    turned = np.where(v == np.floor(v), 1 - 2 * ((v + times) % 2), np.nan)
    return np.where(x < 0, turned, 1.0) * series


def _scaled(kind: str, most: int, x: np.ndarray) -> list[Any]:
    """The functions of orders 0 to `most`, by recurrence (DLMF 10.29.1), or near 0 by the series DLMF 10.25.2."""
    out = [getattr(scipy.special, f"{kind}{order}e")(x) for order in (0, 1)]
    for n in range(2, most + 1):
        more = 2 * (n - 1) / x * out[n - 1]
        out.append(np.asarray(out[n - 2] + more if kind == "k" else out[n - 2] - more))
        near = np.abs(x) < n + 1
        if kind == "i" and near.any():
            at, total = x[near], np.zeros_like(x[near])
            square = at * at / 4
            for k in range(24, -1, -1):
                total = total * square + 1 / (math.factorial(k) * math.factorial(n + k))
            out[n][near] = total * (at / 2) ** n * np.exp(-np.abs(at))
    return out


# ---- Faddeeva function -----------------------------------------------------------------------------------------------


def wofz(z: Any) -> np.ndarray:
    """The Faddeeva function: between the disks in which SciPy's has all digits by the rule of trapezoids.

    Less the residue of the pole that the rule passes: M. Al Azah and S. N. Chandler-Wilde, "Computation of the complex
    error function using modified trapezoidal rules" (2021).
    """
    z = np.asarray(z)
    size, out = np.square(z.real) + np.square(z.imag), scipy.special.wofz(z)
    between = (size > 6) & (size < _FAR**2) & (z.imag >= 0)
    if not between.any():
        return out
    out, given = np.asarray(out), z[between].astype(np.complex128)
    at = np.where(given.real < 0, -given.conj(), given)
    share = at.real / _STEP - np.floor(at.real / _STEP)
    whole = (at.imag < at.real) & (share >= 0.25) & (share <= 0.75)
    found = np.empty_like(at)
    for some, first in ((whole, 1.0), (~whole, 0.5)):
        found[some] = _trapezoids(at[some], first)
    out[between] = np.where(given.real < 0, found.conj(), found)
    return out


_STEP = math.sqrt(math.pi / 12)


def _trapezoids(z: np.ndarray, first: float) -> np.ndarray:
    square, total = z * z, np.zeros_like(z)
    for k in range(12):
        node = (k + first) * _STEP
        total += math.exp(-node * node) / (square - node * node)
    total = 2j * _STEP / np.pi * z * total
    if first == 1:
        total += 1j * _STEP / np.pi / z
    passed = z.imag < np.maximum(z.real, np.pi / _STEP)
    turned = np.exp(-2j * np.pi / _STEP * z[passed])
    total[passed] += 2 * np.exp(-square[passed]) / (1 - turned if first == 1 else 1 + turned)
    return total


def wofz_slope(w: Any, z: Any, *, times: int) -> np.ndarray:
    """Derivative number `times` of the Faddeeva function, for its value: by recurrence, or far out by its expansion.

    The recurrence loses digits, more with each order. Above the real axis the integral DLMF 7.7.2 takes its place, of
    which the rule of trapezoids has all digits.
    """
    w, z = np.broadcast_arrays(np.asarray(w, np.complex128), np.asarray(z, np.complex128))
    with np.errstate(all="ignore"):
        size, out = np.square(z.real) + np.square(z.imag), np.asarray(_by_recurrence(w, z, times))
        if not np.all(size < 6):
            if times > 1:
                some = (size >= 6) & (size <= _FAR**2) & (z.imag >= 1)
                out[some] = _above(z[some], times)
            some = (size > _FAR**2) & (z.imag >= 0)
            out[some] = 1j / math.sqrt(math.pi) * _far_out(z[some], times, -1)
        return out


def _by_recurrence(w: np.ndarray, z: np.ndarray, times: int) -> np.ndarray:
    """By the differential equation ``w' = -2 * z * w + 2j / sqrt(pi)``."""
    below, out = w, np.array(w)
    for n in range(times):
        following = -2 * z * out
        following = following - 2 * n * below if n else following + 2j / math.sqrt(math.pi)
        below, out = out, following
    return out


def _above(z: np.ndarray, times: int) -> np.ndarray:
    t = np.linspace(-6.0, 6.0, 65)
    weights = (t[1] - t[0]) / np.pi * np.exp(-t * t)
    term = over = 1 / (z[..., None] - t)
    for _ in range(times):
        term = term * over
    return 1j * (-1) ** times * math.factorial(times) * np.sum(term * weights, -1)


def voigt(real: Any, imag: Any, x: Any, sigma: Any, gamma: Any, *, times: int, turns: int) -> np.ndarray:
    """Derivative number `times` in x of Voigt's profile as a complex function, turned by right angles: its real part.

    From the value of the Faddeeva function. Each derivative is one of these: in `gamma` that in x, turned, since the
    function is analytic; in `sigma` the second in x times `sigma`, by the heat equation.
    """
    with np.errstate(all="ignore"):
        scale = 1 / (sigma * math.sqrt(2))
        found = (real + 1j * imag) if times else real
        if times:
            found = wofz_slope(found, x * scale + 1j * (gamma * scale), times=times)
        part = found.imag if turns % 2 else found.real
        out = part * scale ** (times + 1) / (-math.sqrt(math.pi) if turns % 4 in (1, 2) else math.sqrt(math.pi))
        if not times and not np.all(sigma):
            return np.where(sigma == 0, scipy.special.voigt_profile(x, sigma, gamma), out)
        return out
