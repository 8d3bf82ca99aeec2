"""Rows of `engine.ops.scan`."""

from __future__ import annotations

import numpy as np

from engine.ops import scan
from tests.row import Row, fixed, positive, real

ALL = ("float32", "float64", "complex128")
ON = {"axis": -1, "exclusive": False, "reverse": False}
BACK = {"axis": -2, "exclusive": True, "reverse": True}


def _recurrence(u: np.ndarray, a: np.ndarray) -> np.ndarray:
    r = u.copy()
    for i in range(1, u.shape[-1]):
        r[..., i] += a[..., i] * r[..., i - 1]
    return r


ROWS = (
    Row(
        scan.shift,
        (real(3, 4),),
        {"axis": -1, "reverse": False},
        dtypes=ALL,
        oracle=lambda x: np.pad(x[:, :-1], ((0, 0), (1, 0))),
    ),
    Row(
        scan.shift,
        (real(3, 4),),
        {"axis": -2, "reverse": True},
        oracle=lambda x: np.pad(x[1:], ((0, 1), (0, 0))),
        label="reverse",
    ),
    Row(
        scan.recurrence,
        (real(2, 7), real(2, 7)),
        {"axis": -1, "reverse": False},
        dtypes=ALL,
        oracle=_recurrence,
        tol=10,
    ),
    Row(
        scan.recurrence,
        (real(2, 3), real(2, 3)),
        {"axis": -1, "reverse": True},
        oracle=lambda u, a: _recurrence(u[:, ::-1], a[:, ::-1])[:, ::-1],
        label="reverse",
    ),
    Row(scan.part, (positive(3, 4), positive(4)), oracle=lambda x, y: x / (x + y)),
    Row(
        scan.cumsum_op, (real(3, 4),), ON, dtypes=ALL, oracle=lambda x: x.cumsum(-1), tf=lambda tf, x: tf.cumsum(x, -1)
    ),
    Row(
        scan.cumsum_op,
        (real(3, 4),),
        BACK,
        oracle=lambda x: x[::-1].cumsum(0)[::-1] - x,
        tf=lambda tf, x: tf.cumsum(x, 0, exclusive=True, reverse=True),
        label="exclusive-reverse",
    ),
    Row(
        scan.cumsum_op,
        (fixed([1, 2, 3], np.int32),),
        ON,
        oracle=lambda x: np.array([1, 3, 6]),
        tf="cumsum",
        order=0,
        label="int32",
    ),
    Row(scan.cumsum_op, (real(0, 3),), call=scan.cumsum, oracle=lambda x: x, tf="cumsum", label="empty"),
    Row(
        scan.cumprod_op,
        (real(3, 5),),
        ON,
        oracle=lambda x: x.cumprod(-1),
        tf=lambda tf, x: tf.math.cumprod(x, -1),
        tol=10,
    ),
    Row(
        scan.cumprod_op,
        (real(2, 3),),
        ON,
        dtypes=("complex128",),
        oracle=lambda x: x.cumprod(-1),
        label="complex",
        tol=10,
    ),
    Row(
        scan.cumprod_op,
        (real(4, 3),),
        BACK,
        tf=lambda tf, x: tf.math.cumprod(x, 0, exclusive=True, reverse=True),
        label="exclusive-reverse",
        tol=10,
    ),
    Row(
        scan.cumprod_op,
        (fixed([[0.0, 2.0, 3.0, 1.5], [2.0, 0.0, 0.0, 4.0]], np.float64),),
        ON,
        dtypes=("float64",),
        oracle=lambda x: x.cumprod(-1),
        label="zeros",
    ),
    Row(
        scan.running_maximum,
        (real(3, 4),),
        {"axis": -1, "reverse": True},
        oracle=lambda x: np.maximum.accumulate(x[:, ::-1], -1)[:, ::-1],
        order=0,
    ),
    Row(
        scan.cumulative_logsumexp_op,
        (real(3, 5),),
        ON,
        oracle=lambda x: np.log(np.exp(x).cumsum(-1)),
        tf=lambda tf, x: tf.math.cumulative_logsumexp(x, -1),
    ),
    Row(
        scan.cumulative_logsumexp_op,
        (real(4, 3),),
        BACK,
        tf=lambda tf, x: tf.math.cumulative_logsumexp(x, 0, exclusive=True, reverse=True),
        order=0,
        label="exclusive-reverse",
    ),
    Row(
        scan.cumulative_logsumexp_op,
        (real(4, 3),),
        call=lambda x: scan.cumulative_logsumexp(x, 0, exclusive=True)[1:],
        label="exclusive",
    ),
)
