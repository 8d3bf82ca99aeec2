"""Fourier transforms over the last one, two or three axes.

All are linear, so each needs only its adjoint. A transform of complex values has the adjoint of the same kind with the
opposite sign in the exponent. Those between real values and half spectra need care, because a half spectrum leaves out
entries that are conjugates of others: an entry that stands for two counts twice in the inverse transform, and half in
the adjoint of the forward one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.core.arguments import as_ints
from engine.core.aval import Aval
from engine.core.batching import Batches, like_first, logical_rank
from engine.core.dtypes import COMPLEX, DType, complex64, complex128, float32, float64
from engine.core.kinds import check_dtype, linear
from engine.core.op import Op
from engine.core.operands import Operand, operands
from engine.core.sparsity import Links, Site, rowwise
from engine.ops.axis_args import static_axis
from engine.runtime.errors import ShapeError
from engine.runtime.lazy_scipy import scipy
from engine.runtime.public_names import named

REAL = frozenset([float32, float64])
Lengths = tuple[int, ...] | None


def _batch(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Batches:
    """Axes are counted from the end, and of a reference only those count."""
    if logical_rank(op, inputs[0], flags[0]) < params["rank"]:
        raise ShapeError(f"{op.title}: the operand must have rank {params['rank']} or more")
    return like_first(op, size, flags, inputs, params)


def _check(name: str, x: Aval, rank: int, accepted: frozenset[DType]) -> None:
    check_dtype(name, "input", x, accepted)
    if x.shape is not None and len(x.shape) < rank:
        raise ShapeError(f"{name}: argument `input` must have rank {rank} or more, got {x}")


def _of_rank(x: Any, rank: int) -> Any:
    if x.ndim < rank:
        raise ValueError(f"the rank must be {rank} or more")
    return x


def _transformed(
    name: str, x: Any, rank: int, sizes: Sequence[int] | None = None, norm: Any = "backward"
) -> np.ndarray:
    """A transform of SciPy over the last axes; what is for one axis takes half the time of what is for several.

    NumPy's does one row after the other: of many rows in single precision it takes up to nine times as long.
    """
    if rank == 1:
        return getattr(scipy.fft, name)(_of_rank(x, 1), None if sizes is None else sizes[0], -1, norm)
    return getattr(scipy.fft, f"{name}n")(_of_rank(x, rank), sizes, tuple(range(-rank, 0)), norm)


# ---- complex to complex ----------------------------------------------------------------------------------------------


def _fft_kernel(x: Any, *, rank: int, inverse: bool, scaled: bool) -> np.ndarray:
    return _transformed("ifft" if inverse else "fft", x, rank, norm="backward" if inverse == scaled else "forward")


def _fft_abstract(x: Aval, *, rank: int, inverse: bool, scaled: bool) -> Aval:
    _check("fft", x, rank, COMPLEX)
    return Aval(x.shape, x.dtype)


def _sparsity(site: Site, i: int) -> Sequence[Links]:
    rank = site.params["rank"]
    return rowwise(rank, results=(rank,))(site, i)


fft_op = linear(
    "fft_op",
    _fft_kernel,
    lambda ct, x, *, rank, inverse, scaled: fft_op(ct, rank=rank, inverse=not inverse, scaled=scaled),
    _fft_abstract,
    _batch,
    type="FFT",
    args=("input",),
    sparsity=_sparsity,
    doc="Fourier transform, or inverse one, over the last `rank` axes; divided by the number of points if `scaled`.",
)

# ---- real to half spectrum -------------------------------------------------------------------------------------------


def _multiplicity(length: int, middle: float) -> np.ndarray:
    """A factor per entry of a half spectrum: `middle` for those that stand for two, 1 for the others."""
    factors = np.full(length // 2 + 1, middle)
    factors[0] = 1
    if length % 2 == 0:
        factors[-1] = 1
    return factors


def _fitted(x: Any, ref: Any, rank: int) -> np.ndarray:
    """`x` cropped or padded with zeros to ref's size in its last axes."""
    sizes = ref.shape[ref.ndim - rank :]
    if x.shape[x.ndim - rank :] == sizes:
        return x
    out = np.zeros(x.shape[: x.ndim - rank] + sizes, x.dtype)
    common: Any = (..., *[slice(min(n, m)) for n, m in zip(sizes, x.shape[x.ndim - rank :], strict=True)])
    out[common] = x[common]
    return out


def _rfft_back_kernel(ct: Any, ref: Any, *, rank: int, lengths: Lengths = None) -> np.ndarray:
    sizes = lengths or ref.shape[ref.ndim - rank :]
    halved = _of_rank(ct, rank) * _multiplicity(sizes[-1], 0.5).astype(ref.dtype)
    return _fitted(_transformed("irfft", halved, rank, sizes, "forward"), ref, rank)


def _rfft_abstract(x: Aval, *, rank: int, lengths: Lengths = None) -> Aval:
    _check("rfft", x, rank, REAL)
    dtype = complex128 if x.dtype is float64 else complex64
    if x.shape is None:
        return Aval(None, dtype)
    sizes = lengths or x.shape[len(x.shape) - rank :]
    last = None if sizes[-1] is None else sizes[-1] // 2 + 1
    return Aval((*x.shape[: len(x.shape) - rank], *sizes[:-1], last), dtype)


def _like(name: str, accepted: frozenset[DType], dtype_of: Callable[[DType], DType]) -> Callable[..., Aval]:
    """Abstract evaluation of an adjoint: the leading axes of the cotangent, the last ones of the reference."""

    def abstract(ct: Aval, ref: Aval, *, rank: int, lengths: Lengths = None) -> Aval:
        _check(name, ct, rank, accepted)
        dtype = dtype_of(ct.dtype)
        if ct.shape is None or ref.shape is None:
            return Aval(None, dtype)
        return Aval(ct.shape[: len(ct.shape) - rank] + ref.shape[len(ref.shape) - rank :], dtype)

    return abstract


rfft_op = linear(
    "rfft_op",
    lambda x, *, rank, lengths=None: _transformed("rfft", x, rank, lengths),
    lambda ct, x, **params: rfft_back(ct, x, **params),
    _rfft_abstract,
    _batch,
    type="RFFT",
    args=("input",),
    sparsity=_sparsity,
    doc="Half spectrum of real values, cropped or padded with zeros to `lengths`.",
)
rfft_back = linear(
    "rfft_back",
    _rfft_back_kernel,
    lambda ct, x, ref, **params: rfft_op(ct, **params),
    _like("rfft", COMPLEX, lambda dtype: dtype.real_dtype),
    _batch,
    type="RFFTGrad",
    args=("ct", "ref"),
    sparsity=_sparsity,
    doc="The adjoint of `rfft_op`; `ref` has the shape of its operand.",
)

# ---- half spectrum to real -------------------------------------------------------------------------------------------


def _irfft_kernel(x: Any, *, rank: int, lengths: Lengths = None) -> np.ndarray:
    if x.shape[-1] == 0 and lengths:
        # NumPy leaves the result as it finds it in memory; a spectrum is padded with zeros
        x = np.zeros((*x.shape[:-1], 1), x.dtype)
    _require_elements(x.shape[-1], lengths)
    return _transformed("irfft", x, rank, lengths)


def _require_elements(last: int | None, lengths: Lengths) -> None:
    if last is not None and last < 2 and not lengths:
        raise ShapeError(
            f"irfft: argument `input_tensor` has {last} frequencies, those of no elements: give `fft_length`"
        )


def _irfft_back_kernel(ct: Any, ref: Any, *, rank: int, lengths: Lengths = None) -> np.ndarray:
    factors = _multiplicity(ct.shape[-1], 2.0) / math.prod(ct.shape[ct.ndim - rank :])
    return _fitted(_transformed("rfft", ct, rank) * factors.astype(ct.dtype), ref, rank)


def _irfft_abstract(x: Aval, *, rank: int, lengths: Lengths = None) -> Aval:
    _check("irfft", x, rank, COMPLEX)
    dtype = x.dtype.real_dtype
    if x.shape is None:
        return Aval(None, dtype)
    *sizes, last = x.shape[len(x.shape) - rank :]
    _require_elements(last, lengths)
    default = (*sizes, None if last is None else 2 * (last - 1))
    return Aval((*x.shape[: len(x.shape) - rank], *(lengths or default)), dtype)


irfft_op = linear(
    "irfft_op",
    _irfft_kernel,
    lambda ct, x, **params: irfft_back(ct, x, **params),
    _irfft_abstract,
    _batch,
    type="IRFFT",
    args=("input",),
    sparsity=_sparsity,
    doc="Real values of a half spectrum, `lengths` of them (by default an even number in the last axis).",
)
irfft_back = linear(
    "irfft_back",
    _irfft_back_kernel,
    lambda ct, x, ref, **params: irfft_op(ct, **params),
    _like("irfft", REAL, lambda dtype: complex128 if dtype is float64 else complex64),
    _batch,
    type="IRFFTGrad",
    args=("ct", "ref"),
    sparsity=_sparsity,
    doc="The adjoint of `irfft_op`; `ref` has the shape of its operand.",
)

# ---- public functions ------------------------------------------------------------------------------------------------


def _lengths(name: str, fft_length: Any, rank: int) -> Lengths:
    """`fft_length` as a tuple of ints."""
    if fft_length is None:
        return None
    lengths = as_ints(name, "fft_length", static_axis(name, fft_length, "fft_length"), 0)
    if len(lengths) != rank or min(lengths) < 1:
        raise ShapeError(f"{name}: argument `fft_length` must hold {rank} positive integers, got {lengths}")
    return lengths


def _of_complex(name: str, rank: int, inverse: bool, doc: str) -> Callable[..., Operand]:
    @operands("input")
    def transform(input: Any) -> Operand:
        return fft_op(input, rank=rank, inverse=inverse, scaled=inverse)

    return named(transform, name, doc)


fft = _of_complex(
    "fft",
    1,
    False,
    """Fourier transform of complex values over the last axis.

    Examples
    --------
    >>> fft(np.array([1, 0, 0, 0], complex))
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """,
)
fft2d = _of_complex("fft2d", 2, False, "Fourier transform of complex values over the last two axes.")
fft3d = _of_complex("fft3d", 3, False, "Fourier transform of complex values over the last three axes.")
ifft, ifft2d, ifft3d = (
    _of_complex(f"i{forward.__name__}", rank, True, f"Inverse of `{forward.__name__}`.")
    for rank, forward in enumerate((fft, fft2d, fft3d), 1)
)


def _of_half(op: Op, name: str, rank: int, doc: str) -> Callable[..., Operand]:
    @operands("input_tensor")
    def transform(input_tensor: Any, fft_length: Any = None) -> Operand:
        return op(input_tensor, rank=rank, lengths=_lengths(name, fft_length, rank))

    return named(transform, name, doc)


rfft = _of_half(
    rfft_op,
    "rfft",
    1,
    """Half spectrum of real values over the last axis.

    Parameters
    ----------
    input_tensor : value, float32 or float64, shape (..., n)
    fft_length : sequence of one int, optional
        Crop the values, or pad them with zeros, to this length n first.

    Returns
    -------
    value, complex64 or complex128, shape (..., n // 2 + 1)

    Examples
    --------
    >>> rfft(np.array([1.0, 0.0, 0.0, 0.0]))
    array([1.+0.j, 1.+0.j, 1.+0.j])
    """,
)
irfft = _of_half(
    irfft_op,
    "irfft",
    1,
    """Inverse of `rfft`: real values of a half spectrum.

    Parameters
    ----------
    input_tensor : value, complex64 or complex128, shape (..., m)
    fft_length : sequence of one int, optional
        How many values; by default ``2 * (m - 1)``.
    """,
)
rfft2d = _of_half(rfft_op, "rfft2d", 2, "Half spectrum of real values over the last two axes (see `rfft`).")
rfft3d = _of_half(rfft_op, "rfft3d", 3, "Half spectrum of real values over the last three axes (see `rfft`).")
irfft2d = _of_half(irfft_op, "irfft2d", 2, "Inverse of `rfft2d` (see `irfft`).")
irfft3d = _of_half(irfft_op, "irfft3d", 3, "Inverse of `rfft3d` (see `irfft`).")
