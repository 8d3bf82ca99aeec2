"""Rows of `engine.core.structural`."""

import numpy as np

from engine.core import structural
from tests.row import Row, fixed, real

ALL = ("float32", "float64", "complex128")
LEAD = {"lead": 1, "ref_lead": 0}


def _sum_to(shape: tuple[int, ...]) -> object:
    """Sum an array to a shape that broadcasts to its own, the obvious way."""

    def oracle(x: np.ndarray, ref: np.ndarray) -> np.ndarray:
        x = x.sum(tuple(range(x.ndim - len(shape))))
        return x.sum(tuple(i for i, d in enumerate(shape) if d == 1 and x.shape[i] != 1), keepdims=True).reshape(shape)

    return oracle


HIDDEN, HIDING = fixed([0.0, np.nan, np.inf, 2.0]), fixed([np.nan, 0.0, 0.0, 3.0])
HIDES = np.array([0.0, 0.0, 0.0, 6.0])
ROWS = (
    Row(structural.contiguous, (real(3, 4),), dtypes=ALL, oracle=lambda x: x),
    Row(structural.sum_to_like_op, (real(2, 3, 4), real(3, 1)), dtypes=ALL, oracle=_sum_to((3, 1))),
    Row(structural.sum_to_like_op, (real(3, 4), real()), label="to a scalar", oracle=_sum_to(())),
    Row(structural.sum_to_like_op, (real(3, 4), real(3, 4)), label="same shape", oracle=lambda x, ref: x),
    Row(structural.sum_to_like_op, (real(0, 4), real(1, 4)), label="empty", oracle=_sum_to((1, 4))),
    Row(
        structural.sum_to_like_op,
        (real(5, 2, 3), real(3)),
        LEAD,
        label="one leading axis stays",
        oracle=lambda x, ref: x.sum(1),
    ),
    Row(
        structural.sum_to_like_op,
        (real(3, 4), real(5, 4)),
        {"lead": 0, "ref_lead": 1},
        label="reference with a leading axis",
        oracle=lambda x, ref: x.sum(0),
    ),
    Row(
        structural.broadcast_like_op,
        (real(3, 1), real(2, 3, 4)),
        dtypes=ALL,
        oracle=lambda x, ref: np.broadcast_to(x, (2, 3, 4)),
    ),
    Row(structural.broadcast_like_op, (real(), real(0, 2)), label="empty", oracle=lambda x, ref: np.full((0, 2), x)),
    Row(
        structural.broadcast_like_op,
        (real(5, 3), real(2, 3)),
        LEAD,
        label="one leading axis stays",
        oracle=lambda x, ref: np.stack([x, x], 1),
    ),
    Row(structural.reshape_like_op, (real(2, 6), real(3, 4)), dtypes=ALL, oracle=lambda x, ref: x.reshape(3, 4)),
    Row(structural.reshape_like_op, (real(0, 2), real(3, 0)), label="empty", oracle=lambda x, ref: x.reshape(3, 0)),
    Row(
        structural.reshape_like_op,
        (real(5, 4), real(2, 2)),
        LEAD,
        label="one leading axis stays",
        oracle=lambda x, ref: x.reshape(5, 2, 2),
    ),
    Row(structural.reshape_to, (real(2, 6),), {"shape": (3, 4)}, dtypes=ALL, oracle=lambda x: x.reshape(3, 4)),
    Row(structural.scale, (real(3, 4), real(4)), dtypes=ALL, oracle=np.multiply),
    Row(structural.scale, (real(4), real(3, 1)), label="both broadcast", oracle=np.multiply),
    Row(structural.scale, (real(0, 3), real(3)), label="empty", oracle=np.multiply),
    Row(
        structural.scale,
        (fixed([0.0, 0.0, 2.0, 0.0]), fixed([np.inf, np.nan, np.inf, 3.0])),
        label="zero times infinity",
        oracle=lambda ct, partial: np.array([0.0, 0.0, np.inf, 0.0]),
        order=0,
    ),
    Row(structural.scale, (HIDDEN, HIDING), {"either": True}, label="either", oracle=lambda *_: HIDES, order=0),
    Row(structural.conj_op, (real(3, 4),), dtypes=("complex64", "complex128"), oracle=np.conj, tf="math.conj"),
)
