"""Rows of `engine.core.expand_axes`."""

import numpy as np

from engine.core import expand_axes
from tests.row import Row, real

ALL = ("float32", "float64", "complex128")

ROWS = (
    Row(expand_axes.expand_dims_op, (real(2, 3),), {"axes": (1, -1)}, dtypes=ALL, oracle=lambda x: x[:, None, :, None]),
    Row(expand_axes.expand_dims_op, (real(),), {"axes": (0,)}, oracle=lambda x: x[None], label="scalar"),
    Row(expand_axes.squeeze_op, (real(1, 3, 1, 1),), {"axes": (0, -1)}, dtypes=ALL, oracle=lambda x: x[0, ..., 0]),
    Row(
        expand_axes.repeat_leading,
        (real(2, 3),),
        {"size": 4, "position": 1},
        dtypes=ALL,
        oracle=lambda x: np.repeat(x[:, None], 4, 1),
    ),
    Row(expand_axes.seed_rows, (real(2, 3),), {"size": 4, "position": 1}, oracle=lambda x: np.repeat(x[:, None], 4, 1)),
    Row(expand_axes.sum_axis, (real(2, 3, 4),), {"position": 1}, dtypes=ALL, oracle=lambda x: x.sum(1), static=True),
    Row(expand_axes.sum_axis, (real(0, 2),), {"position": 0}, oracle=lambda x: np.zeros(2), static=True, label="empty"),
)
