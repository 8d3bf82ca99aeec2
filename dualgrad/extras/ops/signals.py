"""TensorFlow's `tf.signal` beside plain Fourier transforms: frames, spectrograms, cosine transforms, mel scales.

Matrices and factors that depend on sizes alone are arrays; what depends on the signal is made of ops. The formulas are
those of Oppenheim and Schafer, Discrete-Time Signal Processing (sections 8.8 and 10.3), where nothing else is said.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dualgrad.extras.ops.windows import hann_window, vorbis_window
from engine.core.arguments import as_int, normalize_axes, normalize_axis
from engine.core.dtypes import as_dtype, float32
from engine.core.operands import Operand, operands
from engine.core.value import Value, dtype_of, shape_of, shape_of_rank
from engine.ops.arithmetic import maximum
from engine.ops.complexes import complex as complex_op
from engine.ops.complexes import real
from engine.ops.fft import irfft, rfft
from engine.ops.filling import range as range_of
from engine.ops.gather import gather
from engine.ops.joining import concat, split
from engine.ops.rearrange import pad, reverse, roll
from engine.ops.shape import reshape
from engine.ops.shape import shape as shape_of_value
from engine.runtime.errors import DTypeError, InvalidArgumentError, ShapeError

Window = Callable[..., Any] | None


def _dims(name: str, x: Any, least: int = 1, argument: str = "signals") -> tuple[Any, ...]:
    """The sizes of the axes: ints, and values where they are not known yet."""
    dims = shape_of_rank(name, argument, x, least)
    if None not in dims:
        return dims
    sizes = shape_of_value(x)
    return tuple([sizes[i] if d is None else d for i, d in enumerate(dims)])


def _known_last(name: str, x: Any, argument: str, least: int = 1) -> int:
    size = _dims(name, x, least, argument)[-1]
    if isinstance(size, Value):
        raise ShapeError(f"{name}: argument `{argument}` must have a known last dimension, got {shape_of(x)}")
    return int(size)


def _windowed(name: str, window_fn: Window, length: int, frames: Any, without: float = 1.0) -> Any:
    """The frames times a window in their dtype; times `without` if there is none."""
    kind = dtype_of(frames)
    if window_fn is None:
        return frames if without == 1.0 else frames * kind.as_numpy_dtype(without)
    if not callable(window_fn):
        raise DTypeError(f"{name}: argument `window_fn` must be a function of a length and a dtype, got {window_fn!r}")
    return frames * window_fn(length, dtype=kind)


def _checked_norm(name: str, norm: Any) -> bool:
    if norm not in (None, "ortho"):
        raise InvalidArgumentError(f"{name}: argument `norm` must be None or 'ortho', got {norm!r}")
    return norm == "ortho"


# ---- frames ----------------------------------------------------------------------------------------------------------


@operands("signal")
def frame(
    signal: Any, frame_length: Any, frame_step: Any, pad_end: bool = False, pad_value: Any = 0, axis: int = -1
) -> Operand:
    """Pieces of `frame_length` samples, one every `frame_step` samples.

    Parameters
    ----------
    signal
        ``[..., samples, ...]``.
    frame_length, frame_step
        Whole numbers that are known when the operation is made.
    pad_end
        Whether pieces that reach beyond the end are kept, filled up with `pad_value`.
    axis
        The axis of the samples; ``[frames, frame_length]`` takes its place.

    Examples
    --------
    >>> frame(np.arange(5.0), 3, 2).tolist()
    [[0.0, 1.0, 2.0], [2.0, 3.0, 4.0]]
    """
    length, step = as_int("frame", "frame_length", frame_length, 1), as_int("frame", "frame_step", frame_step, 1)
    dims = _dims("frame", signal, argument="signal")
    at = normalize_axis("frame", axis, len(dims))
    samples = dims[at]
    if pad_end:
        count = -(-samples // step)
        fill = [[0, 0]] * at + [[0, length]] + [[0, 0]] * (len(dims) - at - 1)
        signal = pad(signal, fill, constant_values=pad_value)
    else:
        count = (samples - length) // step + 1
    count = maximum(count, np.int32(0)) if isinstance(count, Value) else max(int(count), 0)
    starts = range_of(0, count) * np.int32(step)
    return gather(signal, reshape(starts, [-1, 1]) + np.arange(length, dtype=np.int32), axis=at)


@operands("signal")
def overlap_and_add(signal: Any, frame_step: Any) -> Operand:
    """The signal whose pieces, which begin every `frame_step` samples, add up to it.

    Parameters
    ----------
    signal
        ``[..., frames, frame_length]``, with a known last dimension.
    frame_step
        A whole number that is known when the operation is made.

    Returns
    -------
    Operand
        ``[..., (frames - 1) * frame_step + frame_length]``.

    Examples
    --------
    >>> overlap_and_add(np.ones((3, 2)), 1).tolist()
    [1.0, 2.0, 2.0, 1.0]
    """
    step = as_int("overlap_and_add", "frame_step", frame_step, 1)
    length = _known_last("overlap_and_add", signal, "signal", 2)
    dims = _dims("overlap_and_add", signal)
    frames, parts = dims[-2], -(-length // step)
    outer = [[0, 0]] * (len(dims) - 2)
    blocks = reshape(pad(signal, [*outer, [0, 0], [0, parts * step - length]]), [*dims[:-1], parts, step])
    total = None
    for i in range(parts):  # block i of frame k begins at sample (k + i) * step
        placed = pad(blocks[..., i, :], [*outer, [i, parts - 1 - i], [0, 0]])
        total = placed if total is None else total + placed
    samples = (frames + (parts - 1)) * step
    return reshape(total, [*dims[:-2], samples])[..., : (frames - 1) * step + length]


# ---- transforms of frames --------------------------------------------------------------------------------------------


def _fft_length(name: str, fft_length: Any, frame_length: int) -> int:
    """By default the power of two from the length of a frame on."""
    if fft_length is None:
        return 1 << (frame_length - 1).bit_length()
    return as_int(name, "fft_length", fft_length, 1)


@operands("signals")
def stft(
    signals: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Window = hann_window,
    pad_end: bool = False,
) -> Operand:
    """The Fourier transform of each windowed frame of real signals.

    Parameters
    ----------
    signals
        ``[..., samples]``, real.
    frame_length, frame_step, fft_length
        Whole numbers; `fft_length` is by default the power of two from `frame_length` on.
    window_fn
        A function of a length and ``dtype=``, or None for no window.
    pad_end
        Whether frames that reach beyond the end are kept, filled up with zeros.

    Returns
    -------
    Operand
        ``[..., frames, fft_length // 2 + 1]``, complex.

    Examples
    --------
    >>> stft(np.ones(4), 2, 2, window_fn=None).tolist()
    [[(2+0j), 0j], [(2+0j), 0j]]
    """
    length = as_int("stft", "frame_length", frame_length, 1)
    frames = frame(signals, length, frame_step, pad_end)
    return rfft(_windowed("stft", window_fn, length, frames), [_fft_length("stft", fft_length, length)])


@operands("stfts")
def inverse_stft(
    stfts: Any, frame_length: Any, frame_step: Any, fft_length: Any = None, window_fn: Window = hann_window
) -> Operand:
    """Signals from the transforms of their frames, which are windowed again and added up.

    With `inverse_stft_window_fn` as `window_fn` this undoes `stft` wherever all frames overlap.
    """
    length = as_int("inverse_stft", "frame_length", frame_length, 1)
    size = _fft_length("inverse_stft", fft_length, length)
    frames = irfft(stfts, [size])
    if length > size:
        frames = pad(frames, [[0, 0]] * (len(_dims("inverse_stft", stfts, 2, "stfts")) - 1) + [[0, length - size]])
    frames = frames[..., :length]
    return overlap_and_add(_windowed("inverse_stft", window_fn, length, frames), frame_step)


def inverse_stft_window_fn(frame_step: Any, forward_window_fn: Any = hann_window) -> Callable[..., Any]:
    """The window that undoes `forward_window_fn` in `inverse_stft`: least squares over the frames of each sample.

    Source: Griffin and Lim (1984), Signal estimation from modified short-time Fourier transform.
    """
    step = as_int("inverse_stft_window_fn", "frame_step", frame_step, 1)

    def window(frame_length: Any, dtype: Any = float32) -> np.ndarray:
        length = as_int("inverse_stft_window_fn", "frame_length", frame_length, 1)
        forward = np.asarray(forward_window_fn(length, dtype=dtype))
        squares = np.pad(forward * forward, (0, -length % step)).reshape(-1, step)
        weights = np.tile(squares.sum(axis=0), len(squares))[:length]
        return np.asarray(forward / weights)

    return window


# ---- cosine transforms -----------------------------------------------------------------------------------------------


def _twiddle(size: int, sign: float, kind: Any) -> np.ndarray:
    """``2 exp(sign i pi k / (2 size))`` for each k."""
    return (2.0 * np.exp(sign * 0.5j * np.pi * np.arange(size) / size)).astype(np.result_type(kind, np.complex64))


def _dct(x: Any, type: int, ortho: bool) -> Any:
    size, kind = _known_last("dct", x, "input"), dtype_of(x).numpy
    if not size:
        return x
    first = np.where(np.arange(size) == 0, math.sqrt(0.5), 1.0)
    if type == 1:
        return real(rfft(concat([x, x[..., -2:0:-1]], -1)))
    if type == 2:
        result = real(rfft(x, [2 * size])[..., :size] * _twiddle(size, -1.0, kind))
        return result * (first * math.sqrt(0.5 / size)).astype(kind) if ortho else result
    if type == 3:
        x = x * ((math.sqrt(0.5 * size) / first).astype(kind) if ortho else kind.type(size))
        return irfft(complex_op(x, x * kind.type(0)) * _twiddle(size, 1.0, kind), [2 * size])[..., :size]
    both = _dct(pad(x, [[0, 0]] * (len(shape_of(x) or ()) - 1) + [[0, size]]), 2, False)[..., 1::2]
    return both * kind.type(math.sqrt(0.5 / size)) if ortho else both


def _checked_dct(name: str, x: Any, type: Any, n: Any, axis: Any, norm: Any) -> bool:
    ortho = _checked_norm(name, norm)
    if type not in (1, 2, 3, 4):
        raise InvalidArgumentError(f"{name}: argument `type` must be 1, 2, 3 or 4, got {type!r}")
    if axis not in (-1, len(_dims(name, x, argument="input")) - 1):
        raise InvalidArgumentError(f"{name}: argument `axis` must be the last one, got {axis!r}")
    if type == 1 and (ortho or _known_last(name, x, "input") < 2):
        raise InvalidArgumentError(f"{name}: type 1 needs at least two samples, and has no norm")
    if not dtype_of(x).is_floating:
        raise DTypeError(f"{name}: argument `input` must be real, got {dtype_of(x).name}")
    if n is not None:
        as_int(name, "n", n, 1)
    return ortho


@operands("input")
def dct(input: Any, type: int = 2, n: Any = None, axis: int = -1, norm: str | None = None) -> Operand:
    """The discrete cosine transform of type 1, 2, 3 or 4 along the last axis, as `scipy.fft.dct` has it.

    Parameters
    ----------
    input
        ``[..., samples]``, real, with a known last dimension.
    n
        The length to which the samples are cut or filled up with zeros.
    norm
        None, or "ortho" for an orthonormal matrix.

    Examples
    --------
    >>> np.round(dct(np.array([1.0, 0.0])), 6).tolist()
    [2.0, 1.414214]
    """
    ortho = _checked_dct("dct", input, type, n, axis, norm)
    size = _known_last("dct", input, "input")
    if n is not None and n > size:
        input = pad(input, [[0, 0]] * (len(shape_of(input) or ()) - 1) + [[0, n - size]])
    elif n is not None:
        input = input[..., :n]
    return _dct(input, type, ortho)


@operands("input")
def idct(input: Any, type: int = 2, n: Any = None, axis: int = -1, norm: str | None = None) -> Operand:
    """The inverse of `dct`; without a norm it is 2 n times that (of type 1: 2 (n - 1) times)."""
    ortho = _checked_dct("idct", input, type, n, axis, norm)
    if n is not None:
        raise InvalidArgumentError(f"idct: argument `n` must be None, got {n!r}")
    return _dct(input, {1: 1, 2: 3, 3: 2, 4: 4}[type], ortho)


@operands("signals")
def mdct(
    signals: Any,
    frame_length: Any,
    window_fn: Window = vorbis_window,
    pad_end: bool = False,
    norm: str | None = None,
) -> Operand:
    """The modified discrete cosine transform of frames that overlap by half (Princen, Johnson and Bradley, 1987).

    Returns
    -------
    Operand
        ``[..., frames, frame_length // 2]``.
    """
    length = as_int("mdct", "frame_length", frame_length, 1)
    if length % 4:
        raise InvalidArgumentError(f"mdct: argument `frame_length` must be a multiple of 4, got {length}")
    frames = frame(signals, length, length // 2, pad_end)
    a, b, c, d = split(_windowed("mdct", window_fn, length, frames, math.sqrt(0.5)), 4, -1)
    return dct(concat([-reverse(c, [-1]) - d, a - reverse(b, [-1])], -1), type=4, norm=norm)


@operands("mdcts")
def inverse_mdct(mdcts: Any, window_fn: Window = vorbis_window, norm: str | None = None) -> Operand:
    """Signals from their `mdct`, whole wherever two frames overlap."""
    half = _known_last("inverse_mdct", mdcts, "mdcts", 2)
    frames = dct(mdcts, type=4, norm=norm)
    if norm is None:
        frames = frames * dtype_of(mdcts).as_numpy_dtype(0.5 / half)
    first, second = split(frames, 2, -1)
    whole = concat([second, -reverse(second, [-1]), -reverse(first, [-1]), -first], -1)
    return overlap_and_add(_windowed("inverse_mdct", window_fn, 2 * half, whole, math.sqrt(0.5)), half)


# ---- shifts and mel scales -------------------------------------------------------------------------------------------


def _shifted(name: str, x: Any, axes: Any, sign: int) -> Operand:
    dims = _dims(name, x, argument="x")
    along = normalize_axes(name, axes, len(dims))
    return roll(x, [sign * (dims[a] // 2) for a in along], list(along))


@operands("x")
def fftshift(x: Any, axes: Any = None) -> Operand:
    """`x` with frequency 0 moved to the middle of the given axes (of all by default).

    Examples
    --------
    >>> fftshift(np.array([0.0, 1.0, 2.0, -2.0, -1.0])).tolist()
    [-2.0, -1.0, 0.0, 1.0, 2.0]
    """
    return _shifted("fftshift", x, axes, 1)


@operands("x")
def ifftshift(x: Any, axes: Any = None) -> Operand:
    """The inverse of `fftshift`."""
    return _shifted("ifftshift", x, axes, -1)


@operands()
def linear_to_mel_weight_matrix(
    num_mel_bins: Any = 20,
    num_spectrogram_bins: Any = 129,
    sample_rate: Any = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: Any = float32,
) -> np.ndarray:
    """Weights of frequencies in bands of the mel scale (O'Shaughnessy, Speech Communication, 1987: 1127 ln(1 + f/700)).

    Returns
    -------
    numpy.ndarray
        ``[num_spectrogram_bins, num_mel_bins]``: triangles of height one; frequency 0 has no weight.
    """
    name = "linear_to_mel_weight_matrix"
    bands, bins = (
        as_int(name, "num_mel_bins", num_mel_bins, 1),
        as_int(name, "num_spectrogram_bins", num_spectrogram_bins, 1),
    )
    nyquist = 0.5 * float(sample_rate)
    if not 0.0 <= lower_edge_hertz < upper_edge_hertz <= nyquist:
        raise InvalidArgumentError(
            f"{name}: arguments `lower_edge_hertz` and `upper_edge_hertz` must have 0 <= lower < upper <= {nyquist}, "
            f"half of `sample_rate`, got {lower_edge_hertz} and {upper_edge_hertz}"
        )

    def mel(hertz: Any) -> Any:
        return 1127.0 * np.log1p(np.asarray(hertz) / 700.0)

    frequencies = mel(np.linspace(0.0, nyquist, bins)[1:])[:, None]
    edges = np.linspace(mel(lower_edge_hertz), mel(upper_edge_hertz), bands + 2)
    rising = (frequencies - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - frequencies) / (edges[2:] - edges[1:-1])
    return np.pad(np.maximum(0.0, np.minimum(rising, falling)), [[1, 0], [0, 0]]).astype(as_dtype(dtype).numpy)


@operands("log_mel_spectrograms")
def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any) -> Operand:
    """Cepstral coefficients: `dct` of type 2 of logarithms in mel bands, over the root of twice their number.

    Source: Davis and Mermelstein (1980); the factor is that of the HTK book, section 5.6.
    """
    bands = _known_last("mfccs_from_log_mel_spectrograms", log_mel_spectrograms, "log_mel_spectrograms")
    if not bands:
        raise InvalidArgumentError("mfccs_from_log_mel_spectrograms: there must be bands, got none")
    return dct(log_mel_spectrograms) * dtype_of(log_mel_spectrograms).as_numpy_dtype(1.0 / math.sqrt(2.0 * bands))
