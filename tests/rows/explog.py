"""Rows of `engine.ops.explog`."""

import numpy as np

from engine.ops import explog
from tests.row import Row, fixed, integers, positive, real, unit

ALL = ("float32", "float64", "complex128")

ROWS = (
    Row(explog.exp, (real(3, 4),), dtypes=ALL, oracle=np.exp, tf="exp"),
    Row(explog.expm1, (unit(3, 4),), dtypes=ALL, oracle=np.expm1, tf="math.expm1"),
    Row(explog.expm1, (fixed([1e-9, -1e-12, 0.0]),), label="near 0", oracle=np.expm1, tf="math.expm1"),
    Row(
        explog.expm1_slope,
        (fixed([0.5, -0.3, -2.5, -12.0]),),
        call=lambda x: explog.expm1_slope(explog.expm1(x), x),
        oracle=np.exp,
    ),
    Row(explog.log, (positive(3, 4),), dtypes=ALL, oracle=np.log, tf="math.log"),
    Row(explog.log2, (positive(3, 4),), dtypes=ALL, oracle=np.log2),
    Row(explog.log10, (positive(3, 4),), dtypes=ALL, oracle=np.log10),
    Row(explog.log1p, (unit(3, 4),), dtypes=ALL, oracle=np.log1p, tf="math.log1p"),
    Row(explog.log1p, (fixed([1e-9, -1e-12, 0.0]),), label="near 0", oracle=np.log1p, tf="math.log1p"),
    Row(explog.sqrt, (positive(3, 4),), dtypes=ALL, oracle=np.sqrt, tf="sqrt"),
    Row(explog.sqrt, (positive(0, 3),), label="empty", tf="sqrt"),
    Row(explog.rsqrt, (positive(3, 4),), dtypes=ALL, oracle=lambda x: 1 / np.sqrt(x), tf="math.rsqrt"),
    # powers
    Row(explog.pow, (positive(3, 4), real(4)), dtypes=ALL, oracle=np.power, tf="pow"),
    Row(explog.pow, (positive(), real(2, 3)), label="scalar base", oracle=np.power, tf="pow"),
    Row(explog.pow, (real(2, 3), fixed([[2.0], [3.0]])), wrt=(0,), label="negative base", oracle=np.power, tf="pow"),
    *(
        Row(
            explog.pow,
            (positive(3, 4), fixed(exponent)),
            dtypes=ALL,
            label=f"exponent {exponent}",
            oracle=np.power,
            tf="pow",
        )
        for exponent in (2.0, 1.0, -1.0, 0.5, 3.0)
    ),
    Row(
        explog.pow,
        (integers(3, 4, low=-3, high=4), integers(4, high=4)),
        dtypes=("int32",),
        label="integers",
        oracle=np.power,
        tf="pow",
    ),
    Row(explog.pow, (positive(0, 3), real(3)), label="empty", tf="pow"),
)
