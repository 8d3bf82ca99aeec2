"""Elliptic integrals as functions of the parameter m, the square of the modulus, and of the amplitude.

Derivatives are those of DLMF 19.4 and 15.5; where terms of these cancel, others stand for them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.core.kinds import real_elementwise
from engine.core.operands import Operand
from engine.ops.arithmetic import square
from engine.ops.compare import logical_and, where
from engine.ops.creation import ones_like
from engine.ops.explog import pow, sqrt
from engine.ops.scipy_special import hyp2f1
from engine.ops.special import in_double, scipy_kernel, typed_kernel
from engine.ops.trig import sin
from engine.runtime import elementary
from engine.runtime.lazy_scipy import scipy


def _gauss(a: float, b: float, c: float, m: Any) -> Operand:
    one = ones_like(m)
    return hyp2f1(a * one, b * one, c * one, m)


_BY_SERIES = (0.5, 2.0)
"""Between these, by ``1 - m``, the differences of both integrals cancel."""


def _k_slope(out: Any, p: Any) -> Any:
    """The derivative of `ellipk` in m at ``m = 1 - p``, for its value `out` there."""
    series = (p >= _BY_SERIES[0]) & (p <= _BY_SERIES[1])
    with np.errstate(all="ignore"):
        if np.all(series):
            return math.pi / 8 / p * scipy.special.hyp2f1(0.5, 0.5, 2.0, 1 - p)
        plain = (scipy.special.ellipe(1 - p) - p * out) / (2 * p * (1 - p))
        if np.any(series):
            plain[series] = _k_slope(out[series], p[series])
        return plain


def _k_slope_dp(slope: Any, out: Any, p: Any) -> Operand:
    """By the differential equation DLMF 19.4.8, or by the series."""
    series = logical_and(p >= _BY_SERIES[0], p <= _BY_SERIES[1])
    at = where(series, p, ones_like(p))
    one = math.pi / 8 / at * (_gauss(0.5, 0.5, 2.0, 1 - at) / at + 0.125 * _gauss(1.5, 1.5, 3.0, 1 - at))
    return -where(series, one, (2 * slope * (0.5 - p) + 0.25 * out) / p / (1 - p))


ellipk_slope = real_elementwise(
    "ellipk_slope",
    typed_kernel(_k_slope),
    (None, _k_slope_dp),
    args=("out", "p"),
    strict=False,
    doc="The derivative of `ellipk` in m at ``1 - p``, for its value there.",
)
ellipk = real_elementwise(
    "ellipk",
    scipy_kernel("ellipk"),
    (in_double(lambda: ellipk, lambda out, m: ellipk_slope(out, 1 - m)),),
    args=("m",),
    doc="Complete elliptic integral of the first kind.",
)
ellipkm1 = real_elementwise(
    "ellipkm1",
    scipy_kernel("ellipkm1"),
    (in_double(lambda: ellipkm1, lambda out, p: -ellipk_slope(out, p)),),
    args=("p",),
    doc="`ellipk` of ``1 - p``, accurate for small p.",
)
ellipe = real_elementwise(
    "ellipe",
    scipy_kernel("ellipe"),
    (lambda out, m: -math.pi / 8 * _gauss(0.5, 1.5, 2.0, m),),
    args=("m",),
    doc="Complete elliptic integral of the second kind.",
)


def _root(phi: Any, m: Any) -> Operand:
    return sqrt(1 - m * square(sin(phi)))


def _integral(phi: Any, m: Any, *, power: float, times: int) -> np.ndarray:
    """Derivative number `times` in m of the integral of ``(1 - m * sin(t) ** 2) ** power``, all of one sign.

    The first by Carlson's integral of the second kind (DLMF 19.25), others by quadrature, dense at both ends.
    """
    phi, m = np.broadcast_arrays(np.asarray(phi, np.float64), np.asarray(m, np.float64))
    with np.errstate(all="ignore"):
        if np.all(np.abs(phi) <= math.pi / 2):
            return _first_arch(phi, m, power, times)
        turns = np.rint(phi / np.pi)
        rest = phi - turns * np.pi
        out = _first_arch(rest, m, power, times)
        if turns.any():
            out = out + 2 * turns * _first_arch(np.full_like(phi, np.pi / 2), m, power, times)
    return out


def _first_arch(phi: np.ndarray, m: np.ndarray, power: float, times: int) -> np.ndarray:
    sine = elementary.sin(phi)
    if times == 1:
        low, left = np.square(elementary.cos(phi)), 1 - m * np.square(sine)
        carlson = scipy.special.elliprd(low, 1.0, left) if power < 0 else scipy.special.elliprd(low, left, 1.0)
        return -2 * power / 6 * elementary.pow(sine, 3.0) * carlson
    s = np.linspace(-3.4, 3.4, 137)
    x = 1 / (1 + elementary.exp(-np.pi * elementary.sinh(s)))
    weights = (s[1] - s[0]) * np.pi * elementary.cosh(s) * x * (1 - x)
    squares = np.square(elementary.sin(phi[..., None] * x))
    terms = elementary.pow(squares, float(times)) * elementary.pow(1 - m[..., None] * squares, power - times)
    factor = (-1) ** times * math.prod(power - i for i in range(times))
    return factor * phi * np.sum(terms * weights, -1)


def _integral_dphi(out: Any, phi: Any, m: Any, *, power: float, times: int) -> Operand:
    squares = square(sin(phi))
    factor = (-1) ** times * math.prod(power - i for i in range(times))
    # as an op, which rounds alike wherever it is computed
    left = 1 - m * squares
    return factor * math.prod([squares] * times, start=1.0) * pow(left, (power - times) * ones_like(left))


elliptic_by_m = real_elementwise(
    "elliptic_by_m",
    typed_kernel(_integral),
    (_integral_dphi, lambda out, phi, m, *, power, times: elliptic_by_m(phi, m, power=power, times=times + 1)),
    args=("phi", "m"),
    doc="Derivative number `times` in m of the integral of ``(1 - m * sin(t) ** 2) ** power`` from 0 to phi.",
)
ellipkinc = real_elementwise(
    "ellipkinc",
    scipy_kernel("ellipkinc"),
    (lambda out, phi, m: 1 / _root(phi, m), lambda out, phi, m: elliptic_by_m(phi, m, power=-0.5, times=1)),
    args=("phi", "m"),
    doc="Incomplete elliptic integral of the first kind.",
)
ellipeinc = real_elementwise(
    "ellipeinc",
    scipy_kernel("ellipeinc"),
    (lambda out, phi, m: _root(phi, m), lambda out, phi, m: elliptic_by_m(phi, m, power=0.5, times=1)),
    args=("phi", "m"),
    doc="Incomplete elliptic integral of the second kind.",
)
amplitude = real_elementwise(
    "amplitude",
    typed_kernel(lambda u, m: scipy.special.ellipj(u, m)[3]),
    (lambda out, u, m: _root(out, m), lambda out, u, m: -elliptic_by_m(out, m, power=-0.5, times=1) * _root(out, m)),
    args=("u", "m"),
    doc="Jacobi's amplitude, the inverse of `ellipkinc` in its first argument.",
)
