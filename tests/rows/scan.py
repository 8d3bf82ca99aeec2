"""Rows of `engine.ops.scan`."""

import numpy as np

from engine.ops import scan
from tests.row import Row, case, fixed, positive, real, rows

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
    *rows(
        scan.recurrence,
        case(real(2, 7), real(2, 7), params={"axis": -1, "reverse": False}, dtypes=ALL, oracle=_recurrence, tol=10),
        case(
            real(2, 3),
            real(2, 3),
            params={"axis": -1, "reverse": True},
            oracle=lambda u, a: _recurrence(u[:, ::-1], a[:, ::-1])[:, ::-1],
            label="reverse",
        ),
    ),
    Row(scan.part, (positive(3, 4), positive(4)), oracle=lambda x, y: x / (x + y)),
    *rows(
        scan.cumsum_op,
        case(real(3, 4), params=ON, dtypes=ALL, oracle=lambda x: x.cumsum(-1), tf=lambda tf, x: tf.cumsum(x, -1)),
        case(
            real(3, 4),
            params=BACK,
            oracle=lambda x: x[::-1].cumsum(0)[::-1] - x,
            tf=lambda tf, x: tf.cumsum(x, 0, exclusive=True, reverse=True),
            label="exclusive-reverse",
        ),
        case(fixed([1, 2, 3], np.int32), params=ON, oracle=lambda x: np.array([1, 3, 6]), order=0, label="int32"),
        case(real(0, 3), call=scan.cumsum, oracle=lambda x: x, label="empty"),
        tf="cumsum",
    ),
    *rows(
        scan.cumprod_op,
        case(real(3, 5), params=ON, oracle=lambda x: x.cumprod(-1), tf=lambda tf, x: tf.math.cumprod(x, -1), tol=10),
        case(real(2, 3), params=ON, dtypes=("complex128",), oracle=lambda x: x.cumprod(-1), label="complex", tol=10),
        case(
            real(4, 3),
            params=BACK,
            tf=lambda tf, x: tf.math.cumprod(x, 0, exclusive=True, reverse=True),
            label="exclusive-reverse",
            tol=10,
        ),
        case(
            fixed([[0.0, 2.0, 3.0, 1.5], [2.0, 0.0, 0.0, 4.0]], np.float64),
            params=ON,
            dtypes=("float64",),
            oracle=lambda x: x.cumprod(-1),
            label="zeros",
        ),
    ),
    Row(
        scan.running_maximum,
        (real(3, 4),),
        {"axis": -1, "reverse": True},
        oracle=lambda x: np.maximum.accumulate(x[:, ::-1], -1)[:, ::-1],
        order=0,
    ),
    *rows(
        scan.cumulative_logsumexp_op,
        case(
            real(3, 5),
            params=ON,
            oracle=lambda x: np.log(np.exp(x).cumsum(-1)),
            tf=lambda tf, x: tf.math.cumulative_logsumexp(x, -1),
        ),
        case(
            real(4, 3),
            params=BACK,
            tf=lambda tf, x: tf.math.cumulative_logsumexp(x, 0, exclusive=True, reverse=True),
            order=0,
            label="exclusive-reverse",
        ),
        case(real(4, 3), call=lambda x: scan.cumulative_logsumexp(x, 0, exclusive=True)[1:], label="exclusive"),
    ),
)
