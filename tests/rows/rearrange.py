"""Rows of `engine.ops.rearrange`."""

import numpy as np

from engine.ops import gather, rearrange, shape
from tests.row import Row, case, fixed, offered, real, rows

ALL = ("float32", "float64", "complex128")
CONSTANT = {"mode": "CONSTANT", "value": 0}
PADDINGS = fixed([1, 0, 2, 1], np.int32)


def _folded(ct, like, paddings):
    out = np.zeros(like.shape)
    np.add.at(out, np.ix_([1, 0, 1], [2, 1, 0, 1, 2, 3, 2]), ct)
    return out


ROWS = (
    *rows(
        rearrange.tile_op,
        case(real(2, 3), fixed([2, 3], np.int32), dtypes=ALL),
        case(real(2, 3), fixed([0, 1], np.int32), call=rearrange.tile, label="none"),
        oracle=lambda x, m: np.tile(x, m),
        tf="tile",
    ),
    Row(
        rearrange.tile_back_op,
        (real(4, 9), real(2, 3), fixed([2, 3], np.int32)),
        wrt=(0,),
        dtypes=ALL,
        oracle=lambda ct, like, m: ct.reshape(2, 2, 3, 3).sum((0, 2)),
    ),
    Row(
        rearrange.repeat_indices,
        (fixed([2, 0, 1], np.int32), real(4, 3)),
        {"axis": -1},
        oracle=lambda r, x: np.array([0, 0, 2]),
        order=0,
    ),
    *rows(
        gather.gather_op,
        case(real(3, 2), fixed([2, 0, 1], np.int32), args=(0,), oracle=lambda x, r: np.repeat(x, r, 0), label="repeat"),
        case(real(2, 2), fixed(2, np.int32), oracle=np.repeat, label="repeat-flat"),
        call=rearrange.repeat,
        tf="repeat",
    ),
    Row(
        rearrange.pad_op,
        (real(2, 4), PADDINGS),
        CONSTANT,
        dtypes=ALL,
        oracle=lambda x, p: np.pad(x, ((1, 0), (2, 1))),
        tf=lambda tf, x, p: tf.pad(x, tf.reshape(p, [2, 2])),
    ),
    Row(
        rearrange.pad_op,
        (real(2, 4),),
        call=rearrange.pad,
        args=([[1, 0], [2, 1]],),
        options={"constant_values": 3},
        oracle=lambda x: np.pad(x, ((1, 0), (2, 1)), constant_values=3),
        tf="pad",
        label="value",
    ),
    Row(
        rearrange.pad_op,
        (real(2, 4), fixed([[1, 0], [2, 2]], np.int32)),
        call=lambda x, p: rearrange.pad(x, p, "reflect"),
        dtypes=ALL,
        oracle=lambda x, p: np.pad(x, p, "reflect"),
        tf=lambda tf, x, p: tf.pad(x, p, "REFLECT"),
        label="reflect",
    ),
    Row(
        rearrange.pad_op,
        (real(2, 4), fixed([[2, 1], [0, 4]], np.int32)),
        call=rearrange.pad,
        args=("SYMMETRIC",),
        oracle=lambda x, p: np.pad(x, p, "symmetric"),
        tf="pad",
        label="symmetric",
    ),
    Row(
        rearrange.pad_back_op,
        (real(3, 7), real(2, 4), fixed([1, 0, 2, 1], np.int32)),
        {"mode": "CONSTANT"},
        wrt=(0,),
        oracle=lambda ct, like, p: ct[1:, 2:6],
    ),
    Row(
        rearrange.pad_back_op,
        (real(3, 7), real(2, 4), fixed([1, 0, 2, 1], np.int32)),
        {"mode": "REFLECT"},
        wrt=(0,),
        oracle=_folded,
        label="reflect",
    ),
    Row(
        rearrange.reverse_op,
        (real(2, 3, 2),),
        {"axis": (-3, -2)},
        dtypes=ALL,
        oracle=lambda x: x[::-1, ::-1],
        tf=lambda tf, x: tf.reverse(x, [0, 1]),
    ),
    Row(
        rearrange.roll_op,
        (real(2, 3, 4), fixed([1, -2], np.int32)),
        {"axis": (-3, -1)},
        dtypes=ALL,
        oracle=lambda x, s: np.roll(x, (1, -2), (0, 2)),
        tf=lambda tf, x, s: tf.roll(x, s, [0, 2]),
    ),
    offered(rearrange.roll_op, rearrange.roll, (real(3, 4),), 1, 0, oracle=lambda x: np.roll(x, 1, 0)),
    Row(
        rearrange.roll_op,
        (real(0, 4),),
        call=lambda x: rearrange.roll(x, (2, 9), (0, 1)),
        oracle=lambda x: np.roll(x, (2, 9), (0, 1)),
        tf=lambda tf, x: tf.roll(x, [2, 9], [0, 1]),
        label="empty",
    ),
    Row(
        shape.broadcast_to_op,
        (real(2), real(3), real()),
        call=lambda *v: rearrange.meshgrid(*v),
        oracle=lambda *v: np.meshgrid(*v),
        tf="meshgrid",
        label="meshgrid",
    ),
    Row(
        shape.broadcast_to_op,
        (real(2), real(3)),
        call=rearrange.meshgrid,
        options={"indexing": "ij"},
        oracle=lambda *v: np.meshgrid(*v, indexing="ij"),
        tf="meshgrid",
        label="meshgrid-ij",
    ),
)
