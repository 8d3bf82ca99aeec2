"""Rows of `engine.ops.fft`."""

from typing import Any

import numpy as np

from engine.core.op import Op
from engine.ops import fft
from tests.row import Row, real

COMPLEX = ("complex64", "complex128")


def _row(op: Op, name: str, *shape: int, length: Any = None, tf_gradient: bool = True) -> Row:
    """One of the public transforms, against NumPy's and TensorFlow's of the same name."""
    reference = getattr(np.fft, name.replace("2d", "2").replace("3d", "n"))
    dtypes = ("float32", "float64") if op is fft.rfft_op else COMPLEX
    options = {} if length is None else {"fft_length": length}
    sizes = length[0] if length and len(length) == 1 else length
    return Row(
        op,
        (real(*shape),),
        dtypes=dtypes,
        label=f"{name} {shape} {length or ''}".strip(),
        call=lambda x: getattr(fft, name)(x, **options),
        oracle=lambda x: reference(x) if length is None else reference(x, sizes),
        tf=lambda tf, x: getattr(tf.signal, name)(x, **options),
        tf_value_only=() if tf_gradient else dtypes,
    )


ROWS = (
    _row(fft.fft_op, "fft", 2, 5),
    _row(fft.fft_op, "ifft", 4),
    _row(fft.fft_op, "fft2d", 2, 3, 4),
    _row(fft.fft_op, "ifft2d", 3, 4),
    _row(fft.fft_op, "fft3d", 2, 3, 4),
    _row(fft.fft_op, "ifft3d", 2, 3, 4),
    _row(fft.fft_op, "fft", 0, 3),
    _row(fft.rfft_op, "rfft", 2, 6),
    _row(fft.rfft_op, "rfft", 5),
    _row(fft.rfft_op, "rfft", 1),
    _row(fft.rfft_op, "rfft", 2, 5, length=[8]),
    _row(fft.rfft_op, "rfft", 2, 5, length=[3], tf_gradient=False),
    _row(fft.rfft_op, "rfft2d", 2, 3, 4),
    _row(fft.rfft_op, "rfft2d", 3, 4, length=[2, 7], tf_gradient=False),
    _row(fft.rfft_op, "rfft3d", 2, 3, 4, tf_gradient=False),
    _row(fft.irfft_op, "irfft", 2, 4),
    _row(fft.irfft_op, "irfft", 4, length=[7]),
    _row(fft.irfft_op, "irfft", 2, 4, length=[4], tf_gradient=False),
    _row(fft.irfft_op, "irfft", 3, length=[9]),
    _row(fft.irfft_op, "irfft2d", 2, 3, 4),
    _row(fft.irfft_op, "irfft2d", 3, 4, length=[2, 5], tf_gradient=False),
    _row(fft.irfft_op, "irfft3d", 2, 3, 4, tf_gradient=False),
    Row(fft.rfft_back, (real(2, 3), real(2, 5)), {"rank": 1}, dtypes=("complex128",), wrt=(0,)),
    Row(fft.irfft_back, (real(2, 6), real(4, 4)), {"rank": 1}, dtypes=("float64",), wrt=(0,)),
)
