"""Rows of `engine.ops.selection`."""

import numpy as np

from engine.ops import selection as s
from tests.row import case, fixed, real, rows

DISTINCT = fixed(np.array([4, 0, 3]))
REPEATED = fixed(np.array([1, 1, 4, 0]))


def _placed(values, positions, size=5, **_):
    out = np.zeros(size, values.dtype)
    np.add.at(out, positions, values)
    return out


ROWS = (
    *rows(
        s.flat_gather_op,
        case(
            real(5),
            DISTINCT,
            params={"size": 5, "distinct": True},
            dtypes=("float32", "float64", "complex128"),
            label="distinct",
        ),
        case(real(5), REPEATED, params={"size": 5, "distinct": False}, label="repeated"),
        oracle=lambda x, i, **_: x[i],
    ),
    *rows(
        s.flat_scatter_op,
        case(real(3), DISTINCT, dtypes=("float32", "float64", "complex128"), label="distinct"),
        case(real(4), REPEATED, params={"size": 5, "distinct": False}, label="repeated"),
        case(real(0), fixed(np.zeros(0, np.int64)), label="nothing"),
        params={"size": 5, "distinct": True},
        oracle=_placed,
    ),
    *rows(
        s.add_at_op,
        case(
            real(5),
            real(3),
            DISTINCT,
            params={"size": 5, "distinct": True},
            dtypes=("float32", "float64", "complex128"),
            label="distinct",
        ),
        case(real(5), real(4), REPEATED, params={"size": 5, "distinct": False}, label="repeated"),
        oracle=lambda x, v, i, **_: x + _placed(v, i),
    ),
)
