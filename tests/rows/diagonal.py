"""Rows of `engine.ops.diagonal`."""

import numpy as np

from engine.ops import diagonal as d
from engine.ops import shape
from tests.row import Row, offered, real

ALL = ("float32", "float64", "complex128")


def _set_diag(x, diagonal):
    out = x.copy()
    along = np.arange(diagonal.shape[-1])
    out[..., along + 1, along] = diagonal
    return out


ROWS = (
    Row(d.diagonal, (real(2, 3, 4),), dtypes=ALL, oracle=lambda x: np.diagonal(x, 0, 1, 2)),
    Row(d.diagonal, (real(2, 4, 3),), label="tall", tf="linalg.diag_part"),
    Row(
        d.diagonal,
        (real(2, 4, 3),),
        call=d.matrix_diag_part,
        options={"k": -2},
        oracle=lambda x: np.diagonal(x, -2, 1, 2),
        tf="linalg.diag_part",
        label="offset",
    ),
    Row(d.embed_diagonal, (real(2, 3), real(3, 3)), wrt=(0,), tf=lambda tf, x, ref: tf.linalg.diag(x)),
    Row(d.embed_diagonal, (real(2, 3), real(5, 3, 4)), wrt=(0,), label="wide"),
    Row(
        d.embed_diagonal,
        (real(2), real(2, 3)),
        {"offset": 1},
        wrt=(0,),
        oracle=lambda x, ref: np.diag(x, 1)[:2],
        label="offset",
    ),
    Row(
        d.matrix_diag_op,
        (real(2, 3),),
        {"offset": -1, "rows": None, "columns": None},
        dtypes=ALL,
        oracle=lambda x: np.stack([np.diag(r, -1) for r in x]),
        tf=lambda tf, x: tf.linalg.diag(x, k=-1),
    ),
    Row(
        d.matrix_diag_op,
        (real(2, 3),),
        call=d.matrix_diag,
        options={"num_cols": 5},
        oracle=lambda x: np.stack([np.pad(np.diag(r), ((0, 0), (0, 2))) for r in x]),
        tf="linalg.diag",
        label="cols",
    ),
    Row(
        d.set_diag_op,
        (real(2, 3, 4), real(2, 2)),
        {"offset": -1},
        dtypes=ALL,
        oracle=_set_diag,
        tf=lambda tf, x, v: tf.linalg.set_diag(x, v, k=-1),
    ),
    Row(
        d.matrix_diag_op,
        (real(2, 3),),
        call=lambda x: d.matrix_diag(x, k=(1, 1), padding_value=5),
        tf=lambda tf, x: tf.linalg.diag(x, k=1, padding_value=5),
        label="padding",
    ),
    Row(
        d.matrix_diag_op,
        (real(2, 0),),
        call=lambda x: d.matrix_diag(x, k=-1),
        oracle=lambda x: np.zeros((2, 1, 1)),
        label="no entries",
    ),
    Row(
        shape.reshape_op,
        (real(2, 3),),
        call=d.tensor_diag,
        oracle=lambda x: np.diag(x.ravel()).reshape(2, 3, 2, 3),
        tf="linalg.tensor_diag",
        label="tensor_diag",
    ),
    Row(
        shape.reshape_op,
        (real(2, 3, 2, 3),),
        call=d.tensor_diag_part,
        oracle=lambda x: np.diag(x.reshape(6, 6)).reshape(2, 3),
        tf="linalg.tensor_diag_part",
        label="tensor_diag_part",
    ),
    Row(
        d.band_op,
        (real(2, 4, 3),),
        {"low": -1, "high": 0},
        dtypes=ALL,
        oracle=lambda x: np.triu(np.tril(x), -1),
        tf=lambda tf, x: tf.linalg.band_part(x, 1, 0),
    ),
    offered(d.band_op, d.band_part, (real(3, 4),), -1, 1, oracle=lambda x: np.tril(x, 1), tf="linalg.band_part"),
    Row(d.band_op, (real(3, 4),), call=lambda x: d.triu(x, 1), oracle=lambda x: np.triu(x, 1), label="triu"),
    Row(d.band_op, (real(3, 4),), call=lambda x: d.tril(x, -1), oracle=lambda x: np.tril(x, -1), label="tril"),
)
