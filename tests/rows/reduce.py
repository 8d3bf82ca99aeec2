"""Rows of `engine.ops.reduce`."""

import numpy as np
import scipy.special

from engine.ops import reduce
from tests.row import Row, case, fixed, positive, real, rows

ALL = ("float32", "float64", "complex128")
LAST = {"axis": (-1,), "keepdims": False}
KEPT = {"axis": (-2, -1), "keepdims": True}


def _truth(name: str, x: list[list[bool]]) -> Row:
    oracle, tf = (lambda x: getattr(x, name)(-1)), (lambda tf, x: getattr(tf, f"reduce_{name}")(x, -1))
    return Row(getattr(reduce, f"reduce_{name}_op"), (fixed(x),), LAST, oracle=oracle, tf=tf, order=0)


ROWS = (
    *rows(
        reduce.reduce_sum_op,
        case(
            real(3, 4),
            params=LAST,
            dtypes=(*ALL, "float16"),
            oracle=lambda x: x.sum(-1, x.dtype),
            tf=lambda tf, x: tf.reduce_sum(x, -1),
        ),
        case(
            real(2, 3, 4),
            dtypes=ALL,
            call=reduce.reduce_sum,
            args=([0, -1],),
            options={"keepdims": True},
            oracle=lambda x: x.sum((0, 2), keepdims=True),
            label="axes",
        ),
        case(real(), call=reduce.reduce_sum, oracle=lambda x: x, label="scalar"),
        case(real(0, 3), call=reduce.reduce_sum, args=(0,), oracle=lambda x: np.zeros(3), label="empty"),
        case(
            fixed([[100, 100], [1, 2]], np.int8),
            params=LAST,
            oracle=lambda x: np.array([-56, 3]),
            tf=lambda tf, x: tf.reduce_sum(x, -1),
            order=0,
            label="int8",
        ),
        tf="reduce_sum",
    ),
    *rows(
        reduce.reduce_mean_op,
        case(real(3, 4), params=LAST, dtypes=(*ALL, "float16"), oracle=lambda x: x.mean(-1)),
        case(
            real(2, 3, 4),
            call=reduce.reduce_mean,
            args=((0, 1),),
            oracle=lambda x: x.mean((0, 1)),
            tf="reduce_mean",
            label="axes",
        ),
        case(
            fixed([[-7, 2, 2], [1, 2, 2]], np.int32),
            params=LAST,
            oracle=lambda x: np.array([-1, 1]),
            order=0,
            label="int32",
        ),
        tf=lambda tf, x: tf.reduce_mean(x, -1),
    ),
    *rows(
        reduce.spread_like_op,
        case(real(3), real(3, 4), params=LAST, dtypes=ALL, oracle=lambda x, ref: np.repeat(x[:, None], 4, 1)),
        case(
            real(2, 1, 1),
            real(2, 3, 4),
            params={**KEPT, "mean": True},
            oracle=lambda x, ref: np.broadcast_to(x / 12, (2, 3, 4)),
            label="mean",
        ),
    ),
    *rows(
        reduce.reduce_prod_op,
        case(real(3, 4), params=LAST, dtypes=ALL, oracle=lambda x: x.prod(-1), tf=lambda tf, x: tf.reduce_prod(x, -1)),
        case(positive(2, 3, 2), call=reduce.reduce_prod, oracle=np.prod, tf="reduce_prod", label="all"),
        case(
            fixed([[0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [1.0, 2.0, 3.0]], np.float64),
            params=LAST,
            dtypes=("float64",),
            oracle=lambda x: x.prod(-1),
            tf=lambda tf, x: tf.reduce_prod(x, -1),
            label="zeros",
        ),
    ),
    Row(
        reduce.balanced,
        (real(2, 2), fixed([[0.5, 0.5], [0.25, 0.75]])),
        {"axis": (-1,), "back": False},
        oracle=lambda x, shares: x,
        label="ordinary",
    ),
    *[
        Row(
            reduce.balanced,
            (real(2, 2), fixed([[1.0, 1e-9], [0.5, 0.5]], dtype)),
            {"axis": (-1,), "back": back},
            dtypes=(dtype.__name__,),
            oracle=lambda x, shares, back=back: np.stack(
                [[0.0, x[0, 1] - x[0, 0]] if back else [-x[0, 1], x[0, 1]], x[1]]
            ),
            label=f"back {back} {dtype.__name__}",
        )
        for back in (False, True)
        for dtype in (np.float32, np.float64)
    ],
    Row(
        reduce.exp_shares,
        (real(2, 3),),
        call=lambda x: reduce.exp_shares(x, reduce.reduce_logsumexp(x, -1, True) + 0 * x, axis=(-1,)),
        oracle=lambda x: scipy.special.softmax(x, -1),
    ),
    Row(
        reduce.exp_shares,
        (fixed([[3e4, 3e4], [0.0, -3e4]]), fixed([[3e4, 3e4], [0.0, 0.0]])),
        {"axis": (-1,)},
        oracle=lambda x, out: np.array([[0.5, 0.5], [1.0, 0.0]]),
        order=0,
        label="rounded",
    ),
    Row(
        reduce.reduce_logsumexp_op,
        (real(3, 4),),
        LAST,
        oracle=lambda x: scipy.special.logsumexp(x, -1),
        tf=lambda tf, x: tf.reduce_logsumexp(x, -1),
    ),
    Row(
        reduce.reduce_logsumexp_op,
        (fixed([[1000.0, 1000.0], [-1000.0, -1001.0]], np.float64),),
        KEPT,
        dtypes=("float64",),
        oracle=lambda x: scipy.special.logsumexp(x, (0, 1), keepdims=True),
        tf=lambda tf, x: tf.reduce_logsumexp(x, keepdims=True),
        label="large",
    ),
    _truth("any", [[True, False], [False, False]]),
    _truth("all", [[True, False], [True, True]]),
    Row(
        reduce.reduce_sum_op,
        (fixed([[1.0, 0.0], [2.0, 3.0]], np.float32),),
        call=reduce.count_nonzero,
        options={"axis": 0},
        oracle=lambda x: np.array([2, 1]),
        tf="math.count_nonzero",
        order=0,
        label="count_nonzero",
    ),
    *rows(
        reduce.add_n_op,
        case(real(3, 4), real(3, 4), real(3, 4), dtypes=ALL, oracle=lambda *x: sum(x), tf=lambda tf, *x: tf.add_n(x)),
        case(real(), call=lambda x: reduce.add_n([x]), oracle=lambda x: x, label="one"),
    ),
)
