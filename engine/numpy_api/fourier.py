"""NumPy's Fourier transforms on values (see `engine.numpy_api.functions`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.core.dtypes import as_dtype
from engine.core.operands import Operand, operands
from engine.core.value import dtype_of
from engine.numpy_api.functions import NotTaken, Row, dims_of, inexact, rank_of
from engine.ops import compare, fft


def _transform(function: Callable[..., Any]) -> Callable[..., Any]:
    @operands("a")
    def apply(a: Any) -> Operand:
        a = inexact(a)
        if not dtype_of(a).is_complex:
            a = compare.cast(a, as_dtype(np.result_type(dtype_of(a).numpy, np.complex64)))
        return function(a)

    return apply


def _real_transform(function: Callable[..., Any]) -> Callable[..., Any]:
    @operands("a")
    def apply(a: Any, s: Sequence[int] | None = None) -> Operand:
        return function(a, s)

    return apply


def _shifted(sign: int) -> Callable[..., Any]:
    @operands("x")
    def apply(x: Any, axes: Any = None) -> Operand:
        along = list(range(rank_of(x))) if axes is None else np.ravel(axes).tolist()
        lengths = [dims_of(x)[a] for a in along]
        if None in lengths:
            raise NotTaken
        return np.roll(x, [sign * (int(n or 0) // 2) for n in lengths], axis=along)

    return apply


TRANSFORMS: dict[Any, Row] = {
    np.fft.fft: (_transform(fft.fft), "tf.signal.fft"),
    np.fft.ifft: (_transform(fft.ifft), "tf.signal.ifft"),
    np.fft.fft2: (_transform(fft.fft2d), "tf.signal.fft2d"),
    np.fft.ifft2: (_transform(fft.ifft2d), "tf.signal.ifft2d"),
    np.fft.rfft2: (_real_transform(fft.rfft2d), "tf.signal.rfft2d"),
    np.fft.irfft2: (_real_transform(fft.irfft2d), "tf.signal.irfft2d"),
    np.fft.fftshift: (_shifted(1), "tf.roll"),
    np.fft.ifftshift: (_shifted(-1), "tf.roll"),
}
"""As `engine.numpy_api.functions.RECORDED`."""
