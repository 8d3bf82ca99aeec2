"""Rows of `engine.ops.selection`."""

from __future__ import annotations

import numpy as np

from engine.ops import selection as s
from tests.row import Row, fixed, real

DISTINCT = fixed(np.array([4, 0, 3]))
REPEATED = fixed(np.array([1, 1, 4, 0]))


def _placed(values, positions, size=5, **_):
    out = np.zeros(size, values.dtype)
    np.add.at(out, positions, values)
    return out


ROWS = (
    Row(
        s.flat_gather_op,
        (real(5), DISTINCT),
        {"size": 5, "distinct": True},
        dtypes=("float32", "float64", "complex128"),
        oracle=lambda x, i, **_: x[i],
        label="distinct",
    ),
    Row(
        s.flat_gather_op,
        (real(5), REPEATED),
        {"size": 5, "distinct": False},
        oracle=lambda x, i, **_: x[i],
        label="repeated",
    ),
    Row(
        s.flat_scatter_op,
        (real(3), DISTINCT),
        {"size": 5, "distinct": True},
        dtypes=("float32", "float64", "complex128"),
        oracle=_placed,
        label="distinct",
    ),
    Row(s.flat_scatter_op, (real(4), REPEATED), {"size": 5, "distinct": False}, oracle=_placed, label="repeated"),
    Row(
        s.flat_scatter_op,
        (real(0), fixed(np.zeros(0, np.int64))),
        {"size": 5, "distinct": True},
        oracle=_placed,
        label="nothing",
    ),
    Row(
        s.add_at_op,
        (real(5), real(3), DISTINCT),
        {"size": 5, "distinct": True},
        dtypes=("float32", "float64", "complex128"),
        oracle=lambda x, v, i, **_: x + _placed(v, i),
        label="distinct",
    ),
    Row(
        s.add_at_op,
        (real(5), real(4), REPEATED),
        {"size": 5, "distinct": False},
        oracle=lambda x, v, i, **_: x + _placed(v, i),
        label="repeated",
    ),
)
