"""Derivatives of zeta functions in their order, as kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

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
