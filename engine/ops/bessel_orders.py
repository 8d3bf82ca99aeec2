"""Bessel functions of any real order, differentiable in the order too; Airy and Struve functions.

Derivatives in x are those of DLMF 10.6.1, 10.29.1, 9.2.1, 11.4.25 and 11.4.30. Derivatives in the order are those of
the integrals of Schlaefli and their like (DLMF 10.9.6, 10.9.7, 10.32.4, 10.32.9) under the integral sign, any number of
times, by quadrature of Gauss and Legendre. Their paths lead through the saddle point, on which nothing cancels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.kinds import real_elementwise
from engine.core.op import Op
from engine.core.operands import Operand
from engine.ops import tail_kernels
from engine.ops.arithmetic import sign
from engine.ops.compare import where
from engine.ops.explog import pow
from engine.ops.quadrature import panels
from engine.ops.scipy_special import rgamma, share
from engine.ops.special import in_double, no_derivative, scipy_kernel, typed_kernel
from engine.runtime.lazy_scipy import scipy

_NODES = 24
"""Of each panel of a quadrature."""
_DECAYS = 45.0
"""Where an integrand is ``exp`` of minus this beside its largest value, nothing is left of it."""
_SWINGS, _AT_ONCE = 1e5, 1 << 20
"""Of an integrand, at most; and how many of its values are computed at once."""


def _around(v: np.ndarray, x: np.ndarray, swings: np.ndarray, f: Callable[..., Any], end: Any = np.pi) -> np.ndarray:
    """The integral of ``f(v, x, s)`` for s from 0 to `end`, divided by pi; NaN for more than `_SWINGS` swings.

    Each element has the panels that it needs by itself: its bits do not depend on those beside it, and a large one
    costs them neither time nor memory.
    """
    end = np.broadcast_to(end, x.shape)
    counts = np.exp2(np.ceil(np.log2(2 + swings / 4)))[..., 0]
    found = np.full(counts.shape, np.nan)
    for count in np.unique(counts[swings[..., 0] <= _SWINGS]):
        nodes, weights = panels(_NODES, int(count))
        which = np.flatnonzero(counts == count)
        for some in np.array_split(which, -(-len(which) * len(nodes) // _AT_ONCE)):
            order, at, till = (each.reshape(-1, 1)[some] for each in (v, x, end))
            found.flat[some] = np.sum(f(order, at, till * nodes) * weights, axis=-1) * (till[:, 0] / np.pi)
    return found


def _tail(
    v: np.ndarray, x: np.ndarray, f: Callable[..., Any], inverse: Callable[..., Any] = np.arcsinh, start: Any = 0.0
) -> np.ndarray:
    """The integral of ``f(t)`` from `start` on, where f falls like ``exp(v * t - x * g(t))``, of g's `inverse`."""
    rising, end = np.maximum(v, 0.0), inverse(_DECAYS / x)
    for _ in range(8):
        end = inverse((_DECAYS + rising * end) / x)
    length = np.minimum(np.maximum(end - start, 0.0), _DECAYS / np.maximum(-v, 1e-300))
    nodes, weights = panels(_NODES, 16)
    return length[..., 0] * np.sum(f(start + length * nodes) * weights, axis=-1)


def _power_of(t: np.ndarray, v: np.ndarray, k: int, sign: int) -> np.ndarray:
    """Derivative number k in v of ``exp(sign * v * t)``."""
    return (sign * t) ** k * np.exp(sign * v * t)


def _turned(v: np.ndarray, k: int, phase: float) -> np.ndarray:
    """Derivative number k in v of ``cos(pi * v - phase)``."""
    return np.pi**k * np.cos(np.pi * v - phase + k * np.pi / 2)


def _with_turn(
    v: np.ndarray, x: np.ndarray, k: int, phase: float, falling: Callable[..., Any], start: Any = 0.0
) -> np.ndarray:
    """Derivative number k in v of the integral from `start` of ``cos(pi * v - phase) * exp(-v * t) * falling(t)``."""
    total: Any = 0.0
    choose = 1
    for i in range(k + 1):
        part = _tail(-v, x, lambda t, i=i: _power_of(t, v, k - i, -1) * falling(t), start=start)
        total = total + choose * _turned(v[..., 0], i, phase) * part
        choose = choose * (k - i) // (i + 1)
    return total


def _by_order(v: Any, x: Any, *, function: str, times: int) -> np.ndarray:
    """Derivative number `times` in the order of ``jv``, ``yv``, ``iv`` or ``kv``; the last two scaled if so named."""
    v, x = np.broadcast_arrays(np.asarray(v, np.float64), np.asarray(x, np.float64))
    inside = (x > 0) & np.isfinite(x) & np.isfinite(v)
    at, order = np.where(inside, x, 1.0)[..., None], np.where(inside, v, 0.0)[..., None]
    integral = _INTEGRALS[function[0]](order, at, times, function.endswith("e"))
    # at 0 what vanishes there for all orders nearby has no slope
    outside = np.where((x == 0) & (v > 0) & (function[0] in "ji"), 0.0, np.nan)
    return np.where(inside, integral, outside)


def _turned_integrand(exponent: Any, phase: Any, start: Any, s: Any, k: int) -> Any:
    """The real part of the integrand's derivative number k in the order, at ``start + i * s``."""
    turned = np.exp(exponent) * (np.cos(phase) + 1j * np.sin(phase))
    return (turned * (-start - 1j * s) ** k).real if k else turned.real


def _j(v: np.ndarray, x: np.ndarray, k: int, scaled: bool) -> np.ndarray:
    """Over a path through the saddle point, on which the integrand is as small as the function is."""

    def integrand(v: Any, x: Any, s: Any) -> Any:
        start, fall = _saddle(v, x), np.sqrt(np.maximum(v - x, 0.0)) * np.sqrt(np.abs(v + x))
        exponent = fall - v * start - 2 * fall * np.square(np.sin(s / 2))
        return _turned_integrand(exponent, np.maximum(v, x) * np.sin(s) - v * s, start, s, k)

    around = _around(v, x, np.abs(v) + x, integrand)
    return around - _with_turn(v, x, k, np.pi / 2, lambda t: np.exp(-x * np.sinh(t)), _saddle(v, x)) / np.pi


def _saddle(v: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.arccosh(np.maximum(v / x, 1.0))


def _y(v: np.ndarray, x: np.ndarray, k: int, scaled: bool) -> np.ndarray:
    around = _around(v, x, np.abs(v) + x, lambda v, x, s: s**k * np.sin(x * np.sin(s) - v * s - k * np.pi / 2))
    rising = _tail(v, x, lambda t: t**k * np.exp(v * t - x * np.sinh(t)))
    return around - (rising + _with_turn(v, x, k, 0.0, lambda t: np.exp(-x * np.sinh(t)))) / np.pi


def _i(v: np.ndarray, x: np.ndarray, k: int, scaled: bool) -> np.ndarray:
    less, start = x if scaled else 0.0, np.arcsinh(np.maximum(v, 0.0) / x)
    # of a large x only what is near 0 counts
    size = np.hypot(x, np.maximum(v, 0.0))
    end = np.arccos(np.maximum(1 - _DECAYS / size, -1.0))
    swings = np.abs(v) * end + np.minimum(x, _DECAYS)

    def integrand(v: Any, x: Any, s: Any) -> Any:
        up = np.maximum(v, 0.0)
        start, size = np.arcsinh(up / x), np.hypot(x, up)
        exponent = (up * (up / (size + x)) if scaled else size) - v * start - 2 * size * np.square(np.sin(s / 2))
        return _turned_integrand(exponent, up * np.sin(s) - v * s, start, s, k)

    around = _around(v, x, swings, integrand, end)
    return around - _with_turn(v, x, k, np.pi / 2, lambda t: np.exp(-x * np.cosh(t) - less), start) / np.pi


def _k(v: np.ndarray, x: np.ndarray, k: int, scaled: bool) -> np.ndarray:
    more = 0.0 if scaled else x
    half: Callable[[Any], Any] = lambda t: t**k * (np.exp(v * t) + (-1) ** k * np.exp(-v * t)) / 2  # noqa: E731
    falling: Callable[[Any], Any] = lambda t: np.exp(-more - 2 * x * np.sinh(t / 2) ** 2)  # noqa: E731
    return _tail(np.abs(v), x, lambda t: half(t) * falling(t), lambda z: 2 * np.arcsinh(np.sqrt(z / 2)))


_INTEGRALS: dict[str, Callable[..., np.ndarray]] = {"j": _j, "y": _y, "i": _i, "k": _k}


def _differences(neighbors: Callable[[Any], Any], function: str, out: Any, x: Any) -> Operand:
    """The derivative in x, from the function at the orders below and above."""
    below, above = neighbors(-1), neighbors(1)
    if function[0] in "jy":
        return (below - above) / 2
    half = (below + above) / 2 if function[0] == "i" else -(below + above) / 2
    if not function.endswith("e"):
        return half
    return half - sign(x) * out if function[0] == "i" else half + out


def _order_dx(out: Any, v: Any, x: Any, *, function: str, times: int) -> Operand:
    return _differences(lambda n: bessel_by_order(v + n, x, function=function, times=times), function, out, x)


bessel_by_order = real_elementwise(
    "bessel_by_order",
    typed_kernel(_by_order),
    (lambda out, v, x, *, function, times: bessel_by_order(v, x, function=function, times=times + 1), _order_dx),
    args=("v", "x"),
    doc="Derivative number `times` of a Bessel function in its order.",
)


def _derivative(function: str, v: Any, x: Any, times: int, in_order: int = 0) -> Operand:
    """By differences of neighboring orders, `times` in x."""
    if not times:
        return (
            bessel_by_order(v, x, function=function, times=in_order)
            if in_order
            else globals()[f"bessel_{function}"](v, x)
        )
    less: Callable[[Any], Any] = lambda order: _derivative(function, order, x, times - 1, in_order)  # noqa: E731
    plain = _differences(lambda n: less(v + n), function, less(v) if function.endswith("e") else None, x)
    if in_order or not function.endswith("e"):
        return plain
    return scaled_slope(plain, v, x, function=function, times=times)


scaled_slope = real_elementwise(
    "scaled_slope",
    typed_kernel(
        lambda given, v, x, *, function, times: tail_kernels.scaled_slope(given, v, x, kind=function[0], times=times)
    ),
    (
        None,
        lambda out, given, v, x, *, function, times: _derivative(function, v, x, times, 1),
        lambda out, given, v, x, *, function, times: _derivative(function, v, x, times + 1),
    ),
    args=("given", "v", "x"),
    strict=False,
    doc="Derivative number `times` in x of a scaled modified Bessel function, as given but far out.",
)


def _of_order(name: str, function: str, doc: str) -> Op:
    op: Any = real_elementwise(
        name,
        scipy_kernel(function),
        (
            lambda out, v, x: bessel_by_order(v, x, function=function, times=1),
            in_double(lambda: op, lambda out, v, x: _derivative(function, v, x, 1), False),
        ),
        args=("v", "x"),
        doc=doc,
    )
    return op


bessel_jv = _of_order("bessel_jv", "jv", "Bessel function of the first kind, of real order v.")
bessel_yv = _of_order("bessel_yv", "yv", "Bessel function of the second kind, of real order v.")
bessel_iv = _of_order("bessel_iv", "iv", "Modified Bessel function of the first kind, of real order v.")
bessel_kv = _of_order("bessel_kv", "kv", "Modified Bessel function of the second kind, of real order v.")
bessel_ive = _of_order("bessel_ive", "ive", "``exp(-abs(x))`` times the modified Bessel function of the first kind.")
bessel_kve = _of_order("bessel_kve", "kve", "``exp(x)`` times the modified Bessel function of the second kind.")


# ---- Airy and Struve functions ---------------------------------------------------------------------------------------


airy = real_elementwise(
    "airy",
    typed_kernel(lambda x, *, which: scipy.special.airy(x)[which]),
    (lambda out, x, *, which: x * airy(x, which=which - 1) if which % 2 else airy(x, which=which + 1),),
    doc="Airy function number `which` of Ai, Ai', Bi, Bi'.",
)


def _struve(name: str, function: str, sign: int, doc: str) -> Op:
    def slope(out: Any, v: Any, x: Any) -> Operand:
        power = pow(0.5 * x, v) * rgamma(v + 1.5) / math.sqrt(math.pi)
        # orders below 0 have a pole at 0, which the power cancels
        low = v < 1
        below = where(low, share(v * out, x), op(where(low, v, v - 1), x))
        above = sign * op(v + 1, x) + power
        return where(low, below + above, 0.5 * (below + above))

    op: Any = real_elementwise(
        name,
        scipy_kernel(function),
        (no_derivative(function, "v"), in_double(lambda: op, slope)),
        args=("v", "x"),
        doc=doc,
    )
    return op


struve = _struve("struve", "struve", -1, "Struve function H of order v.")
modstruve = _struve("modstruve", "modstruve", 1, "Modified Struve function L of order v.")
