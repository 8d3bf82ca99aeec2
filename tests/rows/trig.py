"""Rows of `engine.ops.trig`."""

from __future__ import annotations

import numpy as np

from engine.ops import trig
from tests.row import Row, fixed, positive, real, unit

ALL = ("float32", "float64", "complex128")

ROWS = (
    Row(trig.sin, (real(3, 4),), dtypes=ALL, oracle=np.sin, tf=lambda tf, x: tf.sin(x)),
    Row(trig.cos, (real(3, 4),), dtypes=ALL, oracle=np.cos, tf=lambda tf, x: tf.cos(x)),
    Row(trig.tan, (unit(3, 4),), dtypes=ALL, oracle=np.tan, tf=lambda tf, x: tf.tan(x)),
    Row(trig.asin, (unit(3, 4),), oracle=np.arcsin, tf=lambda tf, x: tf.asin(x)),
    Row(trig.acos, (unit(3, 4),), oracle=np.arccos, tf=lambda tf, x: tf.acos(x)),
    Row(trig.atan, (real(3, 4),), oracle=np.arctan, tf=lambda tf, x: tf.atan(x)),
    Row(trig.sinh, (real(3, 4),), dtypes=ALL, oracle=np.sinh, tf=lambda tf, x: tf.sinh(x)),
    Row(trig.cosh, (real(3, 4),), dtypes=ALL, oracle=np.cosh, tf=lambda tf, x: tf.cosh(x)),
    Row(trig.tanh, (real(3, 4),), dtypes=ALL, oracle=np.tanh, tf=lambda tf, x: tf.tanh(x)),
    Row(
        trig.tanh_slope,
        (real(3, 4),),
        dtypes=ALL,
        call=lambda x: trig.tanh_slope(trig.tanh(x), x),
        oracle=lambda x: 1 / np.cosh(x) ** 2,
    ),
    Row(
        trig.tanh_slope,
        (fixed([0.5, 3.0, -3.5, 12.0]),),
        call=lambda x: trig.tanh_slope(trig.tanh(x), x),
        oracle=lambda x: 1 / np.cosh(x) ** 2,
        label="tails",
    ),
    Row(trig.asinh_slope, (real(3, 4),), oracle=lambda x: 1 / np.sqrt(1 + x * x)),
    Row(trig.atan_slope, (real(3, 4),), oracle=lambda x: 1 / (1 + x * x)),
    Row(trig.asinh, (real(3, 4),), oracle=np.arcsinh, tf=lambda tf, x: tf.asinh(x)),
    Row(trig.acosh, (real(3, 4, low=1.2, high=4),), oracle=np.arccosh, tf=lambda tf, x: tf.acosh(x)),
    Row(trig.atanh, (unit(3, 4),), oracle=np.arctanh, tf=lambda tf, x: tf.atanh(x)),
    Row(trig.angle_slope, (real(3, 4), positive(4)), oracle=lambda y, x: x / (x * x + y * y)),
    Row(trig.atan2, (positive(3, 4), positive(4)), oracle=np.arctan2, tf=lambda tf, y, x: tf.atan2(y, x)),
)
