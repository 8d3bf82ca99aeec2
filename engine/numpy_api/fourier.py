"""NumPy's Fourier transforms on values (see `engine.numpy_api.functions`).

All of NumPy's are made of our transforms over the last axes: values are cropped or padded to the lengths asked for, the
axes are moved to the end, three at a time, and back. What `norm` divides by is told in `_scaled`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.core.operands import Operand, operands
from engine.numpy_api.functions import Row, as_complex, dims_of, inexact, not_taken_if, rank_of
from engine.ops import fft, rearrange, slicing

_AT_ONCE = 3
"""TensorFlow has transforms over so many axes at most."""
_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _lengths(a: Any, axes: Sequence[int]) -> list[int]:
    lengths = [dims_of(a)[axis] for axis in axes]
    not_taken_if(None in lengths)
    return [int(n or 0) for n in lengths]


def _axes(a: Any, s: Any, axes: Any) -> tuple[list[int], list[int] | None]:
    """The axes, counted from the front, and the lengths asked for; the last axes if only lengths are given."""
    rank = rank_of(a)
    lengths = None if s is None else [int(n) for n in np.ravel(s)]
    if axes is None:
        axes = range(rank if lengths is None else len(lengths))
        axes = [rank - len(axes) + i for i in axes]
    along = [int(axis) + rank if axis < 0 else int(axis) for axis in np.ravel(axes)]
    not_taken_if(len(set(along)) < len(along) or not all(0 <= axis < rank for axis in along) or not along)
    if lengths is not None:
        lengths = [dims_of(a)[axis] if n == -1 else n for n, axis in zip(lengths, along, strict=True)]  # type: ignore[misc]
        not_taken_if(any(n is None or n < 1 for n in lengths))
    return along, lengths


def _fitted(a: Any, axes: Sequence[int], lengths: Sequence[int] | None) -> Any:
    """`a` cropped, or padded with zeros, to lengths along axes."""
    if lengths is None:
        return a
    own = _lengths(a, axes)
    cut: list[Any] = [slice(None)] * rank_of(a)
    added = [[0, 0] for _ in cut]
    for axis, n, wanted in zip(axes, own, lengths, strict=True):
        cut[axis], added[axis][1] = slice(wanted), max(wanted - n, 0)
    a = slicing.getitem(a, tuple(cut)) if any(n > w for n, w in zip(own, lengths, strict=True)) else a
    return rearrange.pad(a, added) if any(after for _, after in added) else a


def _over(a: Any, axes: Sequence[int], transform: Callable[[Any], Any]) -> Any:
    """A transform over the last axes, applied to these."""
    last = range(rank_of(a) - len(axes), rank_of(a))
    if list(axes) == list(last):
        return transform(a)
    return np.moveaxis(transform(np.moveaxis(a, axes, last)), last, axes)


def _complex(a: Any) -> Any:
    return as_complex(inexact(a))


def _spectrum(a: Any, axes: Sequence[int], inverse: bool, scaled: bool) -> Any:
    """The transform of complex values."""
    for i in range(0, len(axes), _AT_ONCE):
        some = axes[i : i + _AT_ONCE]
        a = _over(a, some, functools.partial(fft.fft_op, rank=len(some), inverse=inverse, scaled=scaled))
    return a


def _scaled(out: Any, norm: Any, own: str, count: int) -> Any:
    """A result that is divided by the count if its `own` way says so, as `norm` wants it divided."""
    if norm not in _SWAPPED:
        raise ValueError(f"np.fft: argument `norm` must be one of backward, ortho, forward; got {norm!r}")
    power = {"backward": 0.0, "ortho": 0.5, "forward": 1.0}
    wanted, ours = power[norm or "backward"], power[own]
    return out if wanted == ours else out * float(count) ** (ours - wanted)


def _to_spectrum(a: Any, s: Any, axes: Any, norm: Any, inverse: bool) -> Any:
    along, lengths = _axes(a, s, axes)
    a = _fitted(_complex(a), along, lengths)
    norm = _SWAPPED.get(norm, norm) if inverse else norm or "backward"
    if norm != "ortho":
        return _spectrum(_checked(a, norm), along, inverse, scaled=norm == "forward")
    return _scaled(_spectrum(a, along, inverse, False), norm, "backward", math.prod(_lengths(a, along)))


def _checked(a: Any, norm: Any) -> Any:
    return _scaled(a, norm, norm if norm in ("backward", "forward") else "backward", 1)


def _to_half(a: Any, s: Any, axes: Any, norm: Any) -> Any:
    """Half the spectrum of real values."""
    along, lengths = _axes(a, s, axes)
    a = _fitted(inexact(a), along, lengths)
    count = math.prod(_lengths(a, along)) if norm not in (None, "backward") else 1
    last, others = along[-_AT_ONCE:], along[:-_AT_ONCE]
    out = _over(a, last, lambda x: fft.rfft_op(x, rank=len(last)))
    return _scaled(_spectrum(out, others, False, False), norm, "backward", count)


def _from_half(a: Any, s: Any, axes: Any, norm: Any) -> Any:
    """Real values of half a spectrum."""
    along, lengths = _axes(a, s, axes)
    a = _complex(a)
    if lengths is None:
        lengths = _lengths(a, along)
        lengths[-1] = 2 * (lengths[-1] - 1)
        not_taken_if(lengths[-1] < 1)
    a = _fitted(a, along[:-1], lengths[:-1])
    last, others = along[-_AT_ONCE:], along[:-_AT_ONCE]
    sizes = tuple(lengths[-len(last) :])
    a = _spectrum(a, others, True, True)
    out = _over(a, last, lambda x: fft.irfft_op(x, rank=len(last), lengths=sizes))
    return _scaled(out, _SWAPPED.get(norm, norm), "forward", math.prod(lengths))


def _of_axis(transform: Callable[..., Any], *more: Any) -> Callable[..., Any]:
    @operands("a")
    def apply(a: Any, n: int | None = None, axis: int = -1, norm: Any = None) -> Operand:
        return transform(a, None if n is None else [n], [axis], norm, *more)

    return apply


def _of_axes(transform: Callable[..., Any], default: Any, *more: Any) -> Callable[..., Any]:
    @operands("a")
    def apply(a: Any, s: Any = None, axes: Any = default, norm: Any = None) -> Operand:
        return transform(a, s, axes, norm, *more)

    return apply


def _hermitian(a: Any, s: Any, axes: Any, norm: Any) -> Any:
    return _from_half(np.conj(_complex(a)), s, axes, _SWAPPED.get(norm, norm))


def _shifted(sign: int) -> Callable[..., Any]:
    @operands("x")
    def apply(x: Any, axes: Any = None) -> Operand:
        along = list(range(rank_of(x))) if axes is None else np.ravel(axes).tolist()
        return np.roll(x, [sign * (n // 2) for n in _lengths(x, along)], axis=along)

    return apply


TRANSFORMS: dict[Any, Row] = {
    np.fft.fft: (_of_axis(_to_spectrum, False), "tf.signal.fft"),
    np.fft.ifft: (_of_axis(_to_spectrum, True), "tf.signal.ifft"),
    np.fft.fft2: (_of_axes(_to_spectrum, (-2, -1), False), "tf.signal.fft2d"),
    np.fft.ifft2: (_of_axes(_to_spectrum, (-2, -1), True), "tf.signal.ifft2d"),
    np.fft.fftn: (_of_axes(_to_spectrum, None, False), "tf.signal.fft3d"),
    np.fft.ifftn: (_of_axes(_to_spectrum, None, True), "tf.signal.ifft3d"),
    np.fft.rfft: (_of_axis(_to_half), "tf.signal.rfft"),
    np.fft.irfft: (_of_axis(_from_half), "tf.signal.irfft"),
    np.fft.rfft2: (_of_axes(_to_half, (-2, -1)), "tf.signal.rfft2d"),
    np.fft.irfft2: (_of_axes(_from_half, (-2, -1)), "tf.signal.irfft2d"),
    np.fft.rfftn: (_of_axes(_to_half, None), "tf.signal.rfft3d"),
    np.fft.irfftn: (_of_axes(_from_half, None), "tf.signal.irfft3d"),
    np.fft.hfft: (_of_axis(_hermitian), "tf.signal.irfft"),
    np.fft.ihfft: (
        _of_axis(lambda a, s, axes, norm: np.conj(_to_half(a, s, axes, _SWAPPED.get(norm, norm)))),
        "tf.signal.rfft",
    ),
    np.fft.fftshift: (_shifted(1), "tf.roll"),
    np.fft.ifftshift: (_shifted(-1), "tf.roll"),
}
"""As `engine.numpy_api.functions.RECORDED`."""
