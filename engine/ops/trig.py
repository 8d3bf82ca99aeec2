"""Circular and hyperbolic functions and their inverses."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.dtypes import FLOATING
from engine.core.kinds import elementwise
from engine.core.operands import Operand
from engine.core.value import dtype_of
from engine.ops.arithmetic import maximum, minimum, reciprocal, square
from engine.ops.explog import by_tails, rsqrt
from engine.ops.shape import stop_gradient
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


def _in_units(y: Any, x: Any) -> tuple[Any, Any, Any, Any]:
    """The larger size of both, each over it, and the sum of their squares: on the size the angle does not depend."""
    most = dtype_of(x).as_numpy_dtype(np.finfo(dtype_of(x).numpy).max)
    unit = stop_gradient(minimum(maximum(abs(x), abs(y)), most))
    v, u = y / unit, x / unit
    return unit, v, u, square(u) + square(v)


def _angle_slope(y: Any, x: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = np.minimum(np.maximum(np.absolute(x), np.absolute(y)), np.finfo(x.dtype).max)
        v, u = y / unit, x / unit
        return u / (u * u + v * v) / unit


def _angle_slope_dy(out: Any, y: Any, x: Any) -> Operand:
    unit, v, u, total = _in_units(y, x)
    return -2 * (u / total) * (v / total) / unit / unit


def _angle_slope_dx(out: Any, y: Any, x: Any) -> Operand:
    unit, v, u, total = _in_units(y, x)
    return ((v - u) / total) * ((v + u) / total) / unit / unit


angle_slope = elementwise(
    "angle_slope",
    _angle_slope,
    (_angle_slope_dy, _angle_slope_dx),
    args=("y", "x"),
    accepts=FLOATING,
    doc="``x / (x ** 2 + y ** 2)``, in units of the larger one.",
)
atan2 = elementwise(
    "atan2",
    elementary.arctan2,
    (
        lambda out, y, x: angle_slope(y, x),
        lambda out, y, x: -angle_slope(x, y),
    ),
    args=("y", "x"),
    accepts=FLOATING,
    doc="Angle of the point (x, y), radians; the derivative at the origin is NaN.",
)
