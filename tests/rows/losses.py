"""Rows of `dualgrad.extras.ops.losses`."""

import numpy as np
import scipy.special as sp

from dualgrad.extras.ops import losses
from engine.ops import arithmetic, cross_entropy
from tests.row import Row, case, distinct, fixed, positive, real, rows

LABELS = fixed([1, 3, 0])
WEIGHTS = fixed([[1.0], [0.0], [2.0]], np.float64)


def _pairs(d: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Per example the mean over pairs of the squares of differences, as TensorFlow counts it, weighted and summed."""
    size = d.shape[1]
    pairs = ((d[:, :, None] - d[:, None, :]) ** 2).sum((1, 2)) / (size * (size - 1))
    return (pairs * weights[:, 0]).sum()


ROWS = (
    *rows(
        cross_entropy.softmax_cross_entropy_op,
        case(positive(3, 4), real(3, 4), params={"axis": -1}, dtypes=("float16", "float32", "float64"), tol=4),
        case(
            fixed([[0.25, 0.25, 0.5], [0.0, 0.5, 0.5]], np.float64),
            real(2, 3),
            dtypes=("float64",),
            call=cross_entropy.softmax_cross_entropy_with_logits,
            wrt=(1,),
            tf="nn.softmax_cross_entropy_with_logits",
            label="probabilities",
        ),
        case(
            positive(2, 3, 4),
            real(2, 3, 4),
            call=lambda z, x: cross_entropy.softmax_cross_entropy_with_logits(z, x, axis=1),
            oracle=lambda z, x: -(z * sp.log_softmax(x, 1)).sum(1),
            label="axis",
        ),
        case(positive(4), real(3, 4), params={"axis": -1}, label="broadcast"),
        oracle=lambda z, x: -(z * sp.log_softmax(x, -1)).sum(-1),
    ),
    *rows(
        cross_entropy.sparse_softmax_cross_entropy_op,
        case(LABELS, real(3, 4), oracle=lambda i, x: -sp.log_softmax(x, -1)[[0, 1, 2], i]),
        case(
            fixed(2),
            real(4),
            call=cross_entropy.sparse_softmax_cross_entropy_with_logits,
            oracle=lambda i, x: -sp.log_softmax(x)[i],
            label="one",
        ),
        tf="nn.sparse_softmax_cross_entropy_with_logits",
    ),
    Row(cross_entropy.less_one_hot, (real(3, 4), LABELS), oracle=lambda p, labels: p - np.eye(p.shape[-1])[labels]),
    Row(
        cross_entropy.sigmoid_cross_entropy_op,
        (positive(3, 4), real(3, 4)),
        dtypes=("float16", "float32", "float64"),
        oracle=lambda z, x: -z * sp.log_expit(x) - (1 - z) * sp.log_expit(-x),
        tf="nn.sigmoid_cross_entropy_with_logits",
        tol=4,
    ),
    Row(
        cross_entropy.sigmoid_cross_entropy_op,
        (fixed([0.0, 1.0, 1.0, 0.5], np.float64), fixed([1000.0, 1000.0, 20.0, 0.0], np.float64)),
        dtypes=("float64",),
        oracle=lambda z, x: np.array([1000.0, 0.0, np.log1p(np.exp(-20.0)), np.log(2)]),
        tf="nn.sigmoid_cross_entropy_with_logits",
        label="large",
    ),
    Row(
        cross_entropy.sigmoid_cross_entropy_op,
        (positive(3, 4), real(3, 4), positive(4)),
        call=cross_entropy.weighted_cross_entropy_with_logits,
        wrt=(0, 1, 2),
        oracle=lambda z, x, q: -q * z * sp.log_expit(x) - (1 - z) * sp.log_expit(-x),
        tf="nn.weighted_cross_entropy_with_logits",
        reorders=True,
        label="weighted",
    ),
    Row(
        arithmetic.squared_difference_op,
        (real(3, 2), real(3, 2)),
        call=losses.mean_squared_error,
        oracle=lambda z, x: ((z - x) ** 2).mean(),
        tf=lambda tf, z, x: tf.reduce_mean(tf.math.squared_difference(z, x)),
        label="mean_squared_error",
    ),
    *[
        Row(
            arithmetic.divide_no_nan,
            (real(3, 4), real(3, 4)),
            call=lambda z, x, w=w: losses.mean_pairwise_squared_error(z, x, w),
            wrt=(0, 1),
            oracle=lambda z, x, w=w: _pairs(x - z, np.broadcast_to(w, (3, 1))),
            label=f"mean_pairwise_squared_error-{i}",
        )
        for i, w in enumerate((1.0, np.array([[1.0], [0.0], [2.0]])))
    ],
    *[
        Row(
            arithmetic.squared_difference_op,
            (real(3, 2), real(3, 2), WEIGHTS),
            dtypes=("float64",),
            call=lambda z, x, w, reduction=reduction: losses.mean_squared_error(z, x, w, reduction),
            wrt=(0, 1, 2) if reduction == losses.NONE else (0, 1),
            oracle=lambda z, x, w, total=total: total(w * (z - x) ** 2),
            label=f"mean_squared_error-{reduction}",
        )
        for reduction, total in (
            (losses.SUM, np.sum),
            (losses.SUM_OVER_BATCH_SIZE, np.mean),
            (losses.MEAN, np.mean),
            (losses.SUM_BY_NONZERO_WEIGHTS, lambda y: y.sum() / 4),
            (losses.NONE, lambda y: y),
        )
    ],
    Row(
        arithmetic.real_abs,
        (distinct(3, 2), fixed(np.zeros((3, 2)), np.float64)),
        dtypes=("float64",),
        call=losses.absolute_difference,
        wrt=(0, 1),
        oracle=lambda z, x: abs(z - x).mean(),
        tf=lambda tf, z, x: tf.reduce_mean(tf.abs(x - z)),
        label="absolute_difference",
    ),
    Row(
        arithmetic.multiply,
        (positive(3, 2), real(3, 2, low=0.1, high=0.9)),
        call=losses.log_loss,
        oracle=lambda z, x: -(z * np.log(x + 1e-7) + (1 - z) * np.log(1 - x + 1e-7)).mean(),
        label="log_loss",
        tol=4,
    ),
    Row(
        arithmetic.minimum,
        (distinct(3, 2), fixed(np.zeros((3, 2)), np.float64)),
        dtypes=("float64",),
        call=lambda z, x: losses.huber_loss(z, x, delta=0.6),
        wrt=(0, 1),
        oracle=lambda z, x: sp.huber(0.6, z - x).mean(),
        label="huber_loss",
    ),
    Row(
        arithmetic.multiply,
        (fixed([0.0, 1.0, 1.0, 0.0], np.float64), distinct(4)),
        dtypes=("float64",),
        call=losses.hinge_loss,
        oracle=lambda z, x: np.maximum(0, 1 - (2 * z - 1) * x).mean(),
        label="hinge_loss",
    ),
    Row(
        arithmetic.multiply,
        (real(3, 2), real(3, 2)),
        call=lambda z, x: losses.cosine_distance(z, x, axis=1),
        oracle=lambda z, x: (1 - (z * x).sum(1)).mean(),
        label="cosine_distance",
    ),
    Row(
        cross_entropy.softmax_cross_entropy_op,
        (fixed([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], np.float64), real(2, 3)),
        dtypes=("float64",),
        call=lambda z, x: losses.softmax_cross_entropy(z, x, label_smoothing=0.3),
        wrt=(1,),
        oracle=lambda z, x: -((0.7 * z + 0.1) * sp.log_softmax(x, -1)).sum(-1).mean(),
        tf=lambda tf, z, x: tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(0.7 * z + 0.3 / x.shape[-1], x)),
        label="loss",
    ),
    Row(
        cross_entropy.sparse_softmax_cross_entropy_op,
        (LABELS, real(3, 4)),
        call=losses.sparse_softmax_cross_entropy,
        oracle=lambda i, x: -sp.log_softmax(x, -1)[[0, 1, 2], i].mean(),
        label="loss",
    ),
    Row(
        cross_entropy.sigmoid_cross_entropy_op,
        (positive(3, 2), real(3, 2)),
        call=lambda z, x: losses.sigmoid_cross_entropy(z, x, label_smoothing=0.2),
        oracle=lambda z, x: (-(0.8 * z + 0.1) * sp.log_expit(x) - (0.9 - 0.8 * z) * sp.log_expit(-x)).mean(),
        label="loss",
        tol=4,
    ),
)
