"""Windows of `tf.signal`. They depend on a length alone, so they are arrays.

Sources: Oppenheim and Schafer, Discrete-Time Signal Processing, section 7.5 (Hann, Hamming, Kaiser); the Vorbis I
specification, section 1.3.2; Princen, Johnson and Bradley (1987) for windows whose shifted squares add up to one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from engine.core.arguments import as_int
from engine.core.dtypes import as_dtype, float32, float64
from engine.core.operands import operands
from engine.runtime.errors import DTypeError, InvalidArgumentError


def _sizes(name: str, length: Any, dtype: Any, even: bool = False) -> tuple[int, Any]:
    """The length and the NumPy dtype of a window."""
    kind, size = as_dtype(dtype), as_int(name, "window_length", length, 0)
    if not kind.is_floating:
        raise DTypeError(f"{name}: argument `dtype` must be a floating dtype, got {kind.name}")
    if even and size % 2:
        raise InvalidArgumentError(f"{name}: argument `window_length` must be even, got {size}")
    return size, kind.numpy


def _raised_cosine(name: str, mean: float, length: Any, periodic: bool, dtype: Any) -> np.ndarray:
    size, kind = _sizes(name, length, dtype)
    if size < 2:
        return np.ones(size, kind)
    period = size if periodic and size % 2 == 0 else size - 1
    return (mean - (1.0 - mean) * np.cos(2.0 * np.pi / period * np.arange(size))).astype(kind)


@operands()
def hann_window(window_length: int, periodic: bool = True, dtype: Any = float32) -> np.ndarray:
    """The window ``0.5 - 0.5 cos(2 pi n / N)``.

    Parameters
    ----------
    window_length
        The number of samples.
    periodic
        True: N is the length if that is even, as Fourier transforms want it. Else N is one less, as in TensorFlow, and
        the window is symmetric.
    dtype
        A floating dtype.

    Examples
    --------
    >>> hann_window(4).tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    return _raised_cosine("hann_window", 0.5, window_length, periodic, dtype)


@operands()
def hamming_window(window_length: int, periodic: bool = True, dtype: Any = float32) -> np.ndarray:
    """The window ``0.54 - 0.46 cos(2 pi n / N)``; the arguments are those of `hann_window`."""
    return _raised_cosine("hamming_window", 0.54, window_length, periodic, dtype)


@operands()
def kaiser_window(window_length: int, beta: float = 12.0, dtype: Any = float32) -> np.ndarray:
    """The window ``I0(beta sqrt(1 - r**2)) / I0(beta)``, where r goes from -1 to 1.

    Examples
    --------
    >>> kaiser_window(3, beta=0.0).tolist()
    [1.0, 1.0, 1.0]
    """
    size, kind = _sizes("kaiser_window", window_length, dtype)
    r = np.linspace(-1.0, 1.0, size) if size != 1 else np.zeros(1)
    return (special.i0(beta * np.sqrt(np.maximum(1.0 - r * r, 0.0))) / special.i0(beta)).astype(kind)


@operands()
def kaiser_bessel_derived_window(window_length: int, beta: float = 12.0, dtype: Any = float32) -> np.ndarray:
    """The roots of the running sums of a Kaiser window, and the same backwards.

    The squares of this window and those of its shift by half its (even) length add up to one.
    """
    size, kind = _sizes("kaiser_bessel_derived_window", window_length, dtype, even=True)
    sums = np.cumsum(kaiser_window(size // 2 + 1, beta, float64))
    half = np.sqrt(sums[:-1] / sums[-1])
    return np.concatenate([half, half[::-1]]).astype(kind)


@operands()
def vorbis_window(window_length: int, dtype: Any = float32) -> np.ndarray:
    """The window ``sin(pi / 2 sin(pi (n + 1/2) / N)**2)`` of an even length N."""
    size, kind = _sizes("vorbis_window", window_length, dtype, even=True)
    return np.sin(0.5 * np.pi * np.sin(np.pi * (np.arange(size) + 0.5) / max(size, 1)) ** 2).astype(kind)
