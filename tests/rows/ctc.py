"""Rows of `dualgrad.extras.ops.ctc`."""

import numpy as np

from dualgrad.extras.ops import ctc
from tests.row import Row, fixed, real

PLACES = fixed([[0, 0], [0, 1], [1, 0]], np.int64)
TIMES = fixed([3, 2], np.int32)
LOGITS = real(3, 2, 3)


def _greedy(x, times):
    rows = [[int(c) for c in x[:n, i].argmax(1)] for i, n in enumerate(times)]
    rows = [[c for j, c in enumerate(row) if c != 2 and row[j - 1 : j] != [c]] for row in rows]
    values = np.array([c for row in rows for c in row], np.int64)
    places = np.array([(i, j) for i, row in enumerate(rows) for j in range(len(row))], np.int64).reshape(-1, 2)
    total = [-sum(x[t, i].max() for t in range(n)) for i, n in enumerate(times)]
    return places, values, np.array([2, max(map(len, rows))]), np.array(total)[:, None]


ROWS = (
    Row(
        ctc.labels_op,
        (PLACES, fixed([0, 0, 1], np.int64), TIMES),
        {"classes": 3, "blank": 2, "lenient": False},
        dtypes=("int64",),
        oracle=lambda i, v, n: (np.array([[0, 0], [1, 0]]), np.array([2, 1]), np.array([True, True])),
        order=0,
    ),
    Row(ctc.greedy_op, (LOGITS, TIMES), {"merge": True, "blank": -1}, oracle=_greedy, order=0),
    Row(
        ctc.edit_distance_op,
        (
            PLACES,
            fixed([5, 6, 7], np.int64),
            fixed([2, 2], np.int64),
            fixed([[0, 0], [1, 0], [1, 1]], np.int64),
            fixed([6, 8, 7], np.int64),
            fixed([2, 2], np.int64),
        ),
        {"normalize": True},
        dtypes=("int64",),
        oracle=lambda *_: np.array([1.0, 0.5], np.float32),
        order=0,
    ),
)
