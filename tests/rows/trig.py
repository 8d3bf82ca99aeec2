"""Rows of `engine.ops.trig`."""

import numpy as np

from engine.ops import trig
from tests.row import Row, fixed, positive, real, unit

ALL = ("float32", "float64", "complex128")

ROWS = (
    Row(trig.sin, (real(3, 4),), dtypes=ALL, oracle=np.sin, tf="sin"),
    Row(trig.cos, (real(3, 4),), dtypes=ALL, oracle=np.cos, tf="cos"),
    Row(trig.tan, (unit(3, 4),), dtypes=ALL, oracle=np.tan, tf="tan"),
    Row(trig.asin, (unit(3, 4),), oracle=np.arcsin, tf="asin"),
    Row(trig.acos, (unit(3, 4),), oracle=np.arccos, tf="acos"),
    Row(trig.atan, (real(3, 4),), oracle=np.arctan, tf="atan"),
    Row(trig.sinh, (real(3, 4),), dtypes=ALL, oracle=np.sinh, tf="sinh"),
    Row(trig.cosh, (real(3, 4),), dtypes=ALL, oracle=np.cosh, tf="cosh"),
    Row(trig.tanh, (real(3, 4),), dtypes=ALL, oracle=np.tanh, tf="tanh"),
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
    Row(trig.asinh, (real(3, 4),), oracle=np.arcsinh, tf="asinh"),
    Row(trig.acosh, (real(3, 4, low=1.2, high=4),), oracle=np.arccosh, tf="acosh"),
    Row(trig.atanh, (unit(3, 4),), oracle=np.arctanh, tf="atanh"),
    Row(trig.angle_slope, (real(3, 4), positive(4)), oracle=lambda y, x: x / (x * x + y * y)),
    Row(trig.atan2, (positive(3, 4), positive(4)), oracle=np.arctan2, tf="atan2"),
)
