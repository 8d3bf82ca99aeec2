"""Circular and hyperbolic functions and their inverses."""

from __future__ import annotations

import numpy as np

from engine.core.dtypes import FLOATING
from engine.core.kinds import elementwise
from engine.ops.arithmetic import reciprocal, square
from engine.ops.explog import rsqrt

sin = elementwise("sin", np.sin, (lambda out, x: cos(x),), doc="Sine of x (radians).")
cos = elementwise("cos", np.cos, (lambda out, x: -sin(x),), doc="Cosine of x (radians).")
tan = elementwise("tan", np.tan, (lambda out, x: 1 + square(out),), doc="Tangent of x (radians).")
asin = elementwise("asin", np.arcsin, (lambda out, x: rsqrt(1 - square(x)),), doc="Inverse sine, radians.")
acos = elementwise("acos", np.arccos, (lambda out, x: -rsqrt(1 - square(x)),), doc="Inverse cosine, radians.")
atan = elementwise("atan", np.arctan, (lambda out, x: reciprocal(1 + square(x)),), doc="Inverse tangent, radians.")
sinh = elementwise("sinh", np.sinh, (lambda out, x: cosh(x),), doc="Hyperbolic sine.")
cosh = elementwise("cosh", np.cosh, (lambda out, x: sinh(x),), doc="Hyperbolic cosine.")
tanh = elementwise("tanh", np.tanh, (lambda out, x: 1 - square(out),), doc="Hyperbolic tangent.")
asinh = elementwise("asinh", np.arcsinh, (lambda out, x: rsqrt(1 + square(x)),), doc="Inverse hyperbolic sine.")
acosh = elementwise(
    "acosh", np.arccosh, (lambda out, x: rsqrt(x - 1) * rsqrt(x + 1),), doc="Inverse hyperbolic cosine."
)
atanh = elementwise("atanh", np.arctanh, (lambda out, x: reciprocal(1 - square(x)),), doc="Inverse hyperbolic tangent.")
atan2 = elementwise(
    "atan2",
    np.arctan2,
    (
        lambda out, y, x: x / (square(x) + square(y)),
        lambda out, y, x: -y / (square(x) + square(y)),
    ),
    args=("y", "x"),
    accepts=FLOATING,
    doc="Angle of the point (x, y), radians; the derivative at the origin is NaN.",
)
