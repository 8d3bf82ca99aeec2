"""Rows of `engine.ops.segment_scan`."""

import numpy as np

from engine.ops import segment_scan
from tests.row import Row, fixed, real

MIXED = fixed([1, 0, 1, -1, 0, 1, 3], np.int32)


def _recurrence(u: np.ndarray, a: np.ndarray, ids: np.ndarray) -> np.ndarray:
    r = u.copy()
    for i, k in enumerate(ids):
        before = np.flatnonzero(ids[:i] == k)
        if k >= 0 and len(before):
            r[i] += a[i] * r[before[-1]]
    return r


def _shift(x: np.ndarray, ids: np.ndarray) -> np.ndarray:
    out = np.zeros_like(x)
    for i, k in enumerate(ids):
        before = np.flatnonzero(ids[:i] == k)
        if k >= 0 and len(before):
            out[i] = x[before[-1]]
    return out


ROWS = (
    Row(
        segment_scan.segment_shift,
        (real(7, 2), MIXED),
        {"reverse": False},
        dtypes=("float32", "float64", "complex128", "int32"),
        oracle=_shift,
    ),
    Row(
        segment_scan.segment_shift,
        (real(7), MIXED),
        {"reverse": True},
        oracle=lambda x, ids: _shift(x[::-1], ids[::-1])[::-1],
        label="reverse",
    ),
    Row(
        segment_scan.segment_recurrence,
        (real(7, 2), real(7, 2), MIXED),
        {"reverse": False},
        dtypes=("float32", "float64", "complex128"),
        oracle=_recurrence,
        tol=10,
    ),
    Row(
        segment_scan.segment_recurrence,
        (real(7), real(7), MIXED),
        {"reverse": True},
        oracle=lambda u, a, ids: _recurrence(u[::-1], a[::-1], ids[::-1])[::-1],
        label="reverse",
    ),
)
