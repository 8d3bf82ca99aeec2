"""Rows of `engine.ops.bands`, with the functions of `engine.ops.diagonal` that use its ops."""

from engine.ops import bands
from engine.ops import diagonal as d
from tests.row import Row, real

ALL = ("float32", "float64", "complex128")
WIDE = {"low": -1, "high": 2, "align": "RIGHT_LEFT"}

ROWS = (
    Row(bands.take_band, (real(2, 3, 4),), WIDE, dtypes=ALL, tf=lambda tf, x: tf.linalg.diag_part(x, k=(-1, 2))),
    Row(bands.put_band, (real(2, 4, 3), real(3, 4)), WIDE, wrt=(0,), dtypes=ALL),
    Row(bands.put_band, (real(4, 3), real(2, 3, 4)), WIDE, wrt=(0,), label="one for all"),
    *[
        Row(
            bands.take_band,
            (real(4, 3),),
            call=lambda x, align=align: d.matrix_diag_part(x, (-2, 1), padding_value=7, align=align),
            tf=lambda tf, x, align=align: tf.linalg.diag_part(x, k=(-2, 1), padding_value=7, align=align),
            label=align,
        )
        for align in bands.ALIGNMENTS
    ],
    *[
        Row(
            bands.put_band,
            (real(2, 3, 3),),
            call=lambda x, align=align: d.matrix_diag(x, (-1, 1), padding_value=7, align=align),
            tf=lambda tf, x, align=align: tf.linalg.diag(x, k=(-1, 1), padding_value=7, align=align),
            label=align,
            static=True,
        )
        for align in bands.ALIGNMENTS
    ],
    Row(
        bands.put_band,
        (real(2, 3),),
        call=lambda x: d.matrix_diag(x, (1, 2), num_rows=3),
        tf=lambda tf, x: tf.linalg.diag(x, k=(1, 2), num_rows=3),
        label="rows",
        static=True,
    ),
    Row(
        bands.put_band,
        (real(2, 3, 4), real(2, 2, 3)),
        call=d.set_diag,
        options={"k": (0, 1), "align": "LEFT_RIGHT"},
        tf="linalg.set_diag",
        label="set_diag",
    ),
    Row(bands.take_band, (real(0, 3, 3),), {**WIDE, "low": 0}, label="no matrices"),
)
