"""Circular and hyperbolic functions and their inverses."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.kinds import elementwise, real_elementwise
from engine.core.operands import Operand
from engine.core.structural import all_beyond
from engine.ops.arithmetic import reciprocal, square
from engine.ops.explog import by_tails, rsqrt
from engine.runtime import elementary

sin = elementwise("sin", elementary.sin, (lambda out, x: cos(x),), doc="Sine of x (radians).")
cos = elementwise("cos", elementary.cos, (lambda out, x: -sin(x),), doc="Cosine of x (radians).")
tan = elementwise("tan", elementary.tan, (lambda out, x: 1 + square(out),), doc="Tangent of x (radians).")
asin = elementwise("asin", elementary.arcsin, (lambda out, x: rsqrt(1 - square(x)),), doc="Inverse sine, radians.")
acos = elementwise("acos", elementary.arccos, (lambda out, x: -rsqrt(1 - square(x)),), doc="Inverse cosine, radians.")
atan = elementwise("atan", elementary.arctan, (lambda out, x: atan_slope(x),), doc="Inverse tangent, radians.")
atan_slope = elementwise(
    "atan_slope",
    lambda x: np.reciprocal(1 + np.square(x)),
    (lambda out, x: -2 * (x * out) * out,),
    doc="``1 / (1 + x ** 2)``.",
)
sinh = elementwise("sinh", elementary.sinh, (lambda out, x: cosh(x),), doc="Hyperbolic sine.")
cosh = elementwise("cosh", elementary.cosh, (lambda out, x: sinh(x),), doc="Hyperbolic cosine.")
tanh = elementwise("tanh", elementary.tanh, (lambda out, x: tanh_slope(out, x),), doc="Hyperbolic tangent.")


tanh_slope = elementwise(
    "tanh_slope",
    by_tails(
        lambda out: 1 - np.square(out),
        lambda out, x: elementary.exp(-2 * np.absolute(x)) * np.square(1 + np.absolute(out)),
    ),
    (lambda slope, out, x: -2 * out, None),
    args=("out", "x"),
    strict=False,
    doc="``1 - out ** 2``, for ``out = tanh(x)`` that may have been rounded to 1.",
)
asinh = elementwise("asinh", elementary.arcsinh, (lambda out, x: asinh_slope(x),), doc="Inverse hyperbolic sine.")


def _asinh_slope(x: Any) -> Any:
    root = np.sqrt(1 + np.square(x))
    # where the square overflows, 1 is nothing beside x
    return np.reciprocal(root if x.dtype.kind == "c" else np.minimum(root, 1 + np.absolute(x)))


asinh_slope = elementwise(
    "asinh_slope", _asinh_slope, (lambda out, x: -(x * out) * square(out),), doc="``1 / sqrt(1 + x ** 2)``."
)
acosh = elementwise(
    "acosh", elementary.arccosh, (lambda out, x: rsqrt(x - 1) * rsqrt(x + 1),), doc="Inverse hyperbolic cosine."
)
atanh = elementwise(
    "atanh", elementary.arctanh, (lambda out, x: reciprocal(1 - square(x)),), doc="Inverse hyperbolic tangent."
)


_SQUARES = {"f": (1e-30, 1e37), "d": (1e-290, 1e300)}
"""By dtype: between these a sum of squares is exact."""


def _angle_slope(y: Any, x: Any) -> Any:
    total = x * x + y * y
    least, most = _SQUARES.get(x.dtype.char, (1e-2, 1e4))
    if all_beyond(total, most) and all_beyond(total, least, least=True):
        return x / total
    with np.errstate(all="ignore"):
        unit = np.minimum(np.maximum(np.absolute(x), np.absolute(y)), np.finfo(x.dtype).max)
        v, u = y / unit, x / unit
        return np.where((total > least) & (total < most), x / total, u / (u * u + v * v) / unit)


def _angle_slope_dx(out: Any, y: Any, x: Any) -> Operand:
    other = angle_slope(x, y)
    return (other - out) * (other + out)


angle_slope = real_elementwise(
    "angle_slope",
    _angle_slope,
    (lambda out, y, x: -2 * out * angle_slope(x, y), _angle_slope_dx),
    args=("y", "x"),
    doc="``x / (x ** 2 + y ** 2)``, where the squares are out of range in units of the larger one.",
)
atan2 = real_elementwise(
    "atan2",
    elementary.arctan2,
    (lambda out, y, x: angle_slope(y, x), lambda out, y, x: -angle_slope(x, y)),
    args=("y", "x"),
    doc="Angle of the point (x, y), radians; the derivative at the origin is NaN.",
)
