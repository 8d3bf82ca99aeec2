"""Elliptic integrals as functions of the parameter m, the square of the modulus, and of the amplitude.

Derivatives are those of DLMF 19.4 and 15.5; at m = 0, where the formulas are 0 / 0, others stand for them.
"""

from __future__ import annotations

import math
from typing import Any

from engine.core.dtypes import FLOATING
from engine.core.kinds import elementwise
from engine.core.operands import Operand
from engine.ops.arithmetic import square
from engine.ops.compare import where
from engine.ops.creation import ones_like
from engine.ops.explog import sqrt
from engine.ops.scipy_special import hyp2f1
from engine.ops.special import scipy_kernel, typed_kernel
from engine.ops.trig import cos, sin
from engine.runtime.lazy_scipy import scipy

_NEAR_ZERO = 0.01
"""The parameter below which so few terms of the series are exact to the last digits."""
_TERMS = 7


def _gauss(a: float, b: float, c: float, m: Any) -> Operand:
    one = ones_like(m)
    return hyp2f1(a * one, b * one, c * one, m)


ellipk = elementwise(
    "ellipk",
    scipy_kernel("ellipk"),
    (lambda out, m: math.pi / 8 / (1 - m) * _gauss(0.5, 0.5, 2.0, m),),
    args=("m",),
    accepts=FLOATING,
    doc="Complete elliptic integral of the first kind.",
)
ellipkm1 = elementwise(
    "ellipkm1",
    scipy_kernel("ellipkm1"),
    (lambda out, p: -math.pi / 8 / p * _gauss(0.5, 0.5, 2.0, 1 - p),),
    args=("p",),
    accepts=FLOATING,
    doc="`ellipk` of ``1 - p``, accurate for small p.",
)
ellipe = elementwise(
    "ellipe",
    scipy_kernel("ellipe"),
    (lambda out, m: -math.pi / 8 * _gauss(0.5, 1.5, 2.0, m),),
    args=("m",),
    accepts=FLOATING,
    doc="Complete elliptic integral of the second kind.",
)


def _root(phi: Any, m: Any) -> Operand:
    return sqrt(1 - m * square(sin(phi)))


def _series(phi: Any, m: Any, power: float) -> Operand:
    """The derivative in m of the integral of ``(1 - m * sin(t) ** 2) ** power``, term by term in powers of m."""
    s, integral, binomial, total = sin(phi), phi, 1.0, 0.0 * m * phi
    for n in range(1, _TERMS + 1):
        # the integral of sin(t) ** (2 * n), from that of the power below
        integral = ((2 * n - 1) * integral - s ** (2.0 * n - 1) * cos(phi)) / (2 * n)
        binomial *= -(power - n + 1) / n
        total = total + n * binomial * m ** (n - 1.0) * integral
    return total


def _incomplete_k_dm(out: Any, phi: Any, m: Any) -> Operand:
    near = abs(m) < _NEAR_ZERO
    at = where(near, 0.25 * ones_like(m), m)
    away = ellipeinc(phi, at) / (2 * at * (1 - at)) - ellipkinc(phi, at) / (2 * at)
    away = away - sin(2 * phi) / (4 * (1 - at) * _root(phi, at))
    return where(near, _series(phi, where(near, m, 0.0 * m), -0.5), away)


def _incomplete_e_dm(out: Any, phi: Any, m: Any) -> Operand:
    near = abs(m) < _NEAR_ZERO
    at = where(near, 0.25 * ones_like(m), m)
    away = (ellipeinc(phi, at) - ellipkinc(phi, at)) / (2 * at)
    return where(near, _series(phi, where(near, m, 0.0 * m), 0.5), away)


ellipkinc = elementwise(
    "ellipkinc",
    scipy_kernel("ellipkinc"),
    (lambda out, phi, m: 1 / _root(phi, m), _incomplete_k_dm),
    args=("phi", "m"),
    accepts=FLOATING,
    doc="Incomplete elliptic integral of the first kind.",
)
ellipeinc = elementwise(
    "ellipeinc",
    scipy_kernel("ellipeinc"),
    (lambda out, phi, m: _root(phi, m), _incomplete_e_dm),
    args=("phi", "m"),
    accepts=FLOATING,
    doc="Incomplete elliptic integral of the second kind.",
)
amplitude = elementwise(
    "amplitude",
    typed_kernel(lambda u, m: scipy.special.ellipj(u, m)[3]),
    (lambda out, u, m: _root(out, m), lambda out, u, m: -_incomplete_k_dm(u, out, m) * _root(out, m)),
    args=("u", "m"),
    accepts=FLOATING,
    doc="Jacobi's amplitude, the inverse of `ellipkinc` in its first argument.",
)
