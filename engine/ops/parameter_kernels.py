"""Derivatives of zeta functions in their order and of products of gamma functions, as kernels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.ops.tail_kernels import beta_moment, digamma_step, polygamma
from engine.runtime.lazy_scipy import scipy

_SHIFT = 12
"""Terms of the zeta function that are added up before the tail is summed by the formula of Euler and Maclaurin."""
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
"""The Bernoulli numbers B2, B4, ..., B20."""


def zeta_by_order(x: Any, q: Any) -> np.ndarray:
    """The derivative of the Hurwitz zeta function in its order: minus the sum of ``log(q + n) (q + n) ** -x``.

    The first terms are added up, the others by the formula of Euler and Maclaurin (DLMF 25.11.7), differentiated in x.
    """
    x, q = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(q, np.float64))
    inside = (x > 1) & (q > 0) & np.isfinite(x) & np.isfinite(q)
    order, at = np.where(inside, x, 2.0), np.where(inside, q, 1.0)
    total = np.zeros(x.shape)
    for n in range(_SHIFT):
        total -= np.log(at + n) * (at + n) ** -order
    last = at + _SHIFT
    log, power = np.log(last), last**-order
    total -= power * last * (log / (order - 1) + 1 / (order - 1) ** 2) + power * log / 2
    # rising factorial (x)_(2k-1) / (2k)! * last ** (1 - 2k), and the logarithmic derivative of the former
    factor, slope = order / (2 * last), 1 / order
    for k, bernoulli in enumerate(_BERNOULLI, 1):
        total += bernoulli * factor * power * (slope - log)
        first, second = order + 2 * k - 1, order + 2 * k
        factor = factor * first * second / ((2 * k + 1) * (2 * k + 2) * last**2)
        slope = slope + 1 / first + 1 / second
    return np.where(inside, total, np.nan)


def riemann_zeta_by_order(x: Any, *, times: int) -> np.ndarray:
    """Derivative number `times` of Riemann's zeta function.

    Of what lies below -1 by the reflection formula (DLMF 25.4.2), each of whose factors is expanded in powers of the
    distance from x.
    """
    x = np.asarray(x, np.float64)
    inside, low = (x != 1) & np.isfinite(x), x < -1
    s = np.where(inside, np.where(low, 1 - x, x), 2.0)
    out = direct = _zeta_series(s, times)
    if low.any():
        at, counts = np.where(low & inside, x, -2.0), range(times + 1)
        factors = [
            [(2 * np.pi) ** at / np.pi * math.log(2 * math.pi) ** j / math.factorial(j) for j in counts],
            [np.sin(np.pi / 2 * (at % 4 + j)) * (np.pi / 2) ** j / math.factorial(j) for j in counts],
            _mirrored_gamma(1 - at, times),
        ]
        mirrored: list[Any] = [(-1) ** j * c for j, c in enumerate(direct)]
        for factor in factors:
            mirrored = _product(mirrored, factor)
        out = [np.where(low, a, b) for a, b in zip(mirrored, direct, strict=True)]
    return np.where(inside, math.factorial(times) * out[times], np.where(x == np.inf, 0.0, np.nan))


def _mirrored_gamma(s: np.ndarray, times: int) -> list[np.ndarray]:
    """The coefficients of ``gamma(s - e)`` in powers of e."""
    psi = [scipy.special.polygamma(i, s) * (-1) ** i / math.factorial(i) for i in range(times)]
    gamma = [scipy.special.gamma(s)]
    for j in range(times):
        gamma.append(-sum(psi[i] * gamma[j - i] for i in range(j + 1)) / (j + 1))
    return gamma


def _zeta_series(s: np.ndarray, times: int) -> list[Any]:
    """The coefficients of ``zeta(s + e)`` in powers of e, for s not far below 0.

    By the formula of Euler and Maclaurin (DLMF 25.2.9), which continues the function to both sides of 1.
    """
    total = [sum(_power_series(n, s, j) for n in range(1, _SHIFT)) for j in range(times + 1)]
    power = [_power_series(_SHIFT, s, j) for j in range(times + 1)]
    pole = [(-1.0) ** j * _SHIFT / (s - 1) ** (j + 1) for j in range(times + 1)]
    total = [t + p / 2 + q for t, p, q in zip(total, power, _product(power, pole), strict=True)]
    # rising factorial (s)_(2k-1) / (2k)! * N ** (1 - 2k), multiplied out factor by factor
    factor = _product([np.ones_like(s), *[np.zeros_like(s)] * times], _shifted(s, times))
    factor = [f / (2 * _SHIFT) for f in factor]
    for k, bernoulli in enumerate(_BERNOULLI, 1):
        total = [t + bernoulli * p for t, p in zip(total, _product(power, factor), strict=True)]
        factor = _product(_product(factor, _shifted(s + 2 * k - 1, times)), _shifted(s + 2 * k, times))
        factor = [f / ((2 * k + 1) * (2 * k + 2) * _SHIFT**2) for f in factor]
    return total


def _power_series(n: int, s: np.ndarray, j: int) -> np.ndarray:
    """Coefficient number j of ``n ** -(s + e)`` in powers of e."""
    return (-np.log(n)) ** j / math.factorial(j) * float(n) ** -s


def _shifted(s: np.ndarray, times: int) -> list[np.ndarray]:
    """The coefficients of ``s + e``."""
    return [s, np.ones_like(s), *[np.zeros_like(s)] * (times - 1)][: times + 1]


def _product(a: list[Any], b: list[Any]) -> list[Any]:
    """The coefficients of a product of two series, as many as each has."""
    return [sum(a[i] * b[j - i] for i in range(j + 1)) for j in range(len(a))]


# ---- products of gamma functions -------------------------------------------------------------------------------------

Factor = tuple[int, float, tuple[int, ...]]
"""Of such a product: the power 1 or -1 of the gamma function; a constant, and weights of the arguments, added up."""
Expansion = dict[tuple[int, ...], Any]
"""The coefficients of a power series in several variables, by exponents."""


def gamma_product(*arguments: Any, factors: Sequence[Factor], times: Sequence[int]) -> np.ndarray:
    """The mixed derivative, `times` in each argument, of a product of gamma functions and reciprocals of these.

    By expansion in powers of the distances from the arguments, of what is below 1 / 2 by the reflection formula
    (DLMF 5.5.3): gamma functions of at least 1 / 2, and sines.
    """
    arrays = np.broadcast_arrays(*[np.asarray(v, np.float64) for v in arguments])
    flat = [v.ravel() for v in arrays]
    places = [_at(constant, weights, flat) for _, constant, weights in factors]
    low, out = np.array([place < 0.5 for place in places]), np.full(flat[0].shape, np.nan)
    for k in range(1, len(places)):  # of two that are nearly the same both, so that they cancel
        low[k] = np.where(np.abs(places[k] - places[k - 1]) < 0.25, low[k - 1], low[k])
    with np.errstate(all="ignore"):
        for pattern in itertools.product((False, True), repeat=len(factors)):
            some = np.all(low == np.array(pattern)[:, None], axis=0)
            if some.any():
                out[some] = _reflected([v[some] for v in flat], factors, pattern, times)
    return out.reshape(arrays[0].shape)


def beta_derivative(a: np.ndarray, b: np.ndarray, *, factors: Sequence[Factor], times: Sequence[int]) -> np.ndarray:
    """The same of the beta function: a mixed one of positive arguments is an integral, in which no terms cancel.

    NaN for a mixed one at a tiny argument beside a negative one, where too few digits are left.
    """
    swap = np.abs(a) > np.abs(b)  # the last factor is the one over that of the sum
    a, b, inside = np.where(swap, b, a), np.where(swap, a, b), np.minimum(a, b) > 0
    out: np.ndarray = np.where(
        swap,
        gamma_product(a, b, factors=factors, times=tuple(times)[::-1]),
        gamma_product(a, b, factors=factors, times=times),
    )
    if min(times) and not inside.all():
        out[~inside & (np.abs(a) * np.minimum(np.abs(b), 1.0) < 3e-5)] = np.nan
    for some, (first, second) in ((inside & ~swap, times), (inside & swap, tuple(times)[::-1])):
        if some.any():
            out[some] = beta_moment(a[some], b[some], first=first, second=second)
    return out


def _at(constant: float, weights: Sequence[int], arguments: Sequence[np.ndarray]) -> Any:
    return constant + sum(w * v for w, v in zip(weights, arguments, strict=True) if w)


def _reflected(arguments: list[Any], factors: Sequence[Factor], mirrored: Sequence[bool], times: Any) -> np.ndarray:
    zeros: Expansion = dict.fromkeys(itertools.product(*[range(n + 1) for n in times]), 0.0)
    gammas: dict[int, list[Factor]] = {1: [], -1: []}
    sines: dict[int, list[Factor]] = {1: [], -1: []}
    for factor, reflect in zip(factors, mirrored, strict=True):
        sign, constant, weights = factor
        if reflect:
            sines[-sign].append(factor)
            factor = -sign, 1 - constant, tuple([-w for w in weights])
        gammas[factor[0]].append(factor)
    base: Any = np.float64(np.pi) ** (len(sines[-1]) - len(sines[1]))
    logarithm = zeros
    while gammas[1] or gammas[-1]:
        value, logarithm = _gamma_factor(gammas, arguments, logarithm)
        base = base * value
    total = _exponential(logarithm)
    while sines[1] or sines[-1]:
        if sines[1] and sines[-1]:
            total = _times(total, _ratio_of_sines(sines[1].pop(), sines[-1].pop(), arguments, zeros))
            continue
        above = bool(sines[1])
        _, constant, weights = sines[1 if above else -1].pop()
        sine = _wave(_at(constant, weights, arguments), weights, zeros, 0)
        total = _times(total, sine) if above else _over(total, sine)
    ways: Any = math.prod(math.factorial(n) for n in times)
    return base * total[tuple(times)] * ways


def _gamma_factor(gammas: dict[int, list[Factor]], arguments: list[Any], logarithm: Expansion) -> tuple[Any, Expansion]:
    """The next gamma function, over another where there is one, and the sum of the logarithms with its own."""
    order = max(sum(p) for p in logarithm)
    if not (gammas[1] and gammas[-1]):
        sign = 1 if gammas[1] else -1
        _, constant, weights = gammas[sign].pop()
        at = _at(constant, weights, arguments)
        value = scipy.special.gamma(at) if sign > 0 else scipy.special.rgamma(at)
        slopes: list[Any] = [0.0, *[sign * polygamma(k, at) / math.factorial(k + 1) for k in range(order)]]
        return value, {p: c + _weight(p, weights) * slopes[sum(p)] for p, c in logarithm.items()}
    (_, first, u), (_, second, v) = gammas[1].pop(), gammas[-1].pop()
    further, apart = _minus(u, v), first - second
    at, step = _at(second, v, arguments), _at(apart, further, arguments) + np.zeros_like(arguments[0])
    own, more = [np.zeros(1)], [np.zeros(1)]
    for k in range(order):
        start = polygamma(k, at)
        more.append(digamma_step(polygamma(k, at + step), start, at, step, times=k) / math.factorial(k + 1))
        own.append(start / math.factorial(k + 1))
    return scipy.special.poch(at, step), {
        p: c + _weight(p, u) * more[sum(p)] + (_weight(p, u) - _weight(p, v)) * own[sum(p)]
        for p, c in logarithm.items()
    }


def _ratio_of_sines(upper: Factor, lower: Factor, arguments: list[Any], zeros: Expansion) -> Expansion:
    """``sin(p + d) / sin(p)``; unless this is small ``cos(d) + sin(d) * cos(p) / sin(p)``, 1 or -1 for whole d."""
    (_, first, u), (_, second, v) = upper, lower
    apart, further = first - second, _minus(u, v)
    sine, below = _wave(_at(first, u, arguments), u, zeros, 0), _wave(_at(second, v, arguments), v, zeros, 0)
    turned = _wave(_at(apart, further, arguments), further, zeros, 0)
    turned = _times(turned, _over(_wave(_at(second, v, arguments), v, zeros, 1), below))
    plain, straight = _over(sine, below), _wave(_at(apart, further, arguments), further, zeros, 1)
    small = np.abs(sine[min(zeros)]) < 0.1 * np.abs(below[min(zeros)])
    return {p: np.where(small, plain[p], straight[p] + turned[p]) for p in zeros}


def _weight(exponents: Sequence[int], weights: Sequence[int]) -> float:
    """The coefficient of these powers in a power of the sum of all variables with weights."""
    ways = math.factorial(sum(exponents)) // math.prod(math.factorial(n) for n in exponents)
    return float(ways * math.prod(w**n for w, n in zip(weights, exponents, strict=True)))


def _wave(x: Any, weights: Sequence[int], zeros: Expansion, quarter: int) -> Expansion:
    """The sine, or the cosine if `quarter`, of pi times a sum, exact at whole numbers."""
    whole = np.rint(x)
    rest, turned = x - whole, 1 - 2 * (whole % 2)
    sine, cosine = turned * np.sin(np.pi * rest), turned * np.sin(np.pi * (0.5 - np.abs(rest)))
    turns = [sine, cosine, -sine, -cosine]
    return {
        p: _weight(p, weights) * np.pi ** sum(p) / math.factorial(sum(p)) * turns[(quarter + sum(p)) % 4] for p in zeros
    }


def _below(p: tuple[int, ...], q: tuple[int, ...]) -> bool:
    return all(a <= b for a, b in zip(p, q, strict=True))


def _minus(p: tuple[int, ...], q: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([a - b for a, b in zip(p, q, strict=True)])


def _times(a: Expansion, b: Expansion) -> Expansion:
    """The product, in which a zero of `a` counts also beside an infinity."""
    return {p: sum(np.where(a[q] == 0, 0.0, a[q] * b[_minus(p, q)]) for q in a if _below(q, p)) for p in a}


def _over(a: Expansion, b: Expansion) -> Expansion:
    out: Expansion = {}
    first = b[min(b)]
    for p in a:
        out[p] = (a[p] - sum(out[q] * b[_minus(p, q)] for q in out if _below(q, p))) / first
    return out


def _exponential(a: Expansion) -> Expansion:
    """The exponential of a series without a constant."""
    out: Expansion = {}
    for p in a:
        i = next((i for i, n in enumerate(p) if n), None)
        out[p] = 1.0 if i is None else sum(q[i] * a[q] * out[_minus(p, q)] for q in a if q[i] and _below(q, p)) / p[i]
    return out
