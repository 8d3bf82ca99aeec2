"""Rows of `engine.ops.complexes`."""

from typing import Any

import numpy as np

from engine.ops import complexes
from engine.ops.creation import zeros_like
from tests.row import Row, real

COMPLEX = ("complex64", "complex128")
ALL = ("float32", "float64", *COMPLEX)


def _real_part(x: Any) -> Any:
    return complexes.complex_op(complexes.real_op(x), zeros_like(complexes.real_op(x)))


ROWS = (
    Row(
        complexes.complex_op,
        (real(3, 4), real(4)),
        oracle=lambda x, y: x + 1j * y,
        tf=lambda tf, x, y: tf.complex(x, tf.broadcast_to(y, tf.shape(x))),
    ),
    Row(complexes.complex_op, (real(), real(2, 0)), label="size0", oracle=lambda x, y: x + 1j * y),
    Row(complexes.real_op, (real(3, 4),), dtypes=COMPLEX, oracle=np.real, tf="math.real"),
    Row(complexes.imag_op, (real(3, 4),), dtypes=COMPLEX, oracle=np.imag, tf="math.imag"),
    Row(complexes.complex_abs, (real(3, 4),), dtypes=COMPLEX, oracle=np.abs, tf="abs"),
    Row(complexes.complex_abs, (real(3),), dtypes=ALL, label="abs", call=complexes.abs, oracle=np.abs, tf="abs"),
    Row(
        complexes.modulus_sloped,
        (real(3, 4), real(3, 4), real(3, 4)),
        dtypes=COMPLEX,
        call=lambda ct, x, slope: complexes.modulus_sloped(_real_part(ct), x, slope),
        wrt=(0, 1),
        oracle=lambda ct, x, slope: np.real(ct) * np.sign(x),
    ),
    Row(complexes.complex_sign, (real(3, 4),), dtypes=COMPLEX, oracle=np.sign),
    Row(
        complexes.complex_sign,
        (real(),),
        dtypes=("float32", "float64"),
        label="sign",
        call=complexes.sign,
        oracle=np.sign,
        tf="sign",
        order=1,
    ),
    Row(complexes.angle_op, (real(3, 4),), dtypes=COMPLEX, oracle=np.angle, tf="math.angle"),
    Row(
        complexes.angle_op,
        (real(3, 4),),
        dtypes=("float32", "float64"),
        label="angle of real",
        call=complexes.angle,
        oracle=np.angle,
        tf="math.angle",
        order=0,
    ),
)
