"""``scipy.ndimage`` and ``scipy.signal`` on values: interpolation at coordinates, filters, convolutions.

What a filter does along an axis is a linear function of the elements there: its effect on unit vectors says which.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.operands import Operand, operands
from engine.core.value import Value, dtype_of
from engine.numpy_api.functions import Row, constant, dims_of, inexact, length, not_taken_if, rank_of
from engine.ops import gather
from engine.ops import shape as shapes
from engine.ops.compare import cast, where
from engine.runtime.lazy_scipy import scipy

# ---- interpolation ---------------------------------------------------------------------------------------------------

_WEIGHTS: dict[int, Callable[[Any], list[Any]]] = {
    1: lambda t: [1.0 - t, t],
    2: lambda t: [0.5 * (0.5 - t) ** 2.0, 0.75 - t * t, 0.5 * (0.5 + t) ** 2.0],
    3: lambda t: [
        (1.0 - t) ** 3.0 / 6.0,
        2.0 / 3.0 - t * t * (1.0 - 0.5 * t),
        2.0 / 3.0 - (1.0 - t) * (1.0 - t) * 0.5 * (1.0 + t),
        t**3.0 / 6.0,
    ],
}
"""B-splines of neighboring elements, of the distance from one of them: M. Unser, IEEE Signal Proc. Mag. 16 (1999)."""
_EDGE = 12
"""So many elements SciPy adds at the ends before it filters, in modes that continue by a constant."""


@operands("input", "coordinates")
def map_coordinates(
    input: Any,
    coordinates: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: float = 0.0,
    prefilter: bool = True,
) -> Operand:
    """SciPy's, of splines up to the third order. Those of order 0 have no derivative in the coordinates."""
    not_taken_if(output is not None or order not in (0, *_WEIGHTS) or rank_of(coordinates) < 2)
    rank, sizes = rank_of(input), [length(input, i) for i in range(rank_of(input))]
    not_taken_if(mode not in _FOLDED or length(coordinates, 0) != rank)
    # the identity: a gradient with respect to the operand itself is to be a tensor, not rows of one
    input, before = shapes.identity(input), 0
    if prefilter and order > 1:
        before = _EDGE if mode == "nearest" else 0
        input = np.pad(input, before, mode="edge") if before else input
        for axis in range(rank):
            input = along(input, axis, lambda e: scipy.ndimage.spline_filter1d(e, order, 0, mode=mode))
    inside: Any = True
    places, weights = [], []
    for axis, n in enumerate(sizes):
        x = coordinates[axis]
        if mode == "constant":
            inside = np.logical_and(inside, np.logical_and(x >= 0.0, x <= n - 1.0))
        n += 2 * before
        i, w = _neighbors(_FOLDED[mode](x + float(before), n), order, n, mode)
        places.append(i)
        weights.append(w)
    out = _weighted(input, places, weights)
    return out if inside is True else where(inside, out, constant(cval, out))


def _neighbors(x: Any, order: int, n: int, mode: str) -> tuple[list[Any], list[Any]]:
    """The elements that count for a coordinate, and their weights."""
    start = np.floor(x if order % 2 else x + 0.5)
    weights = [x * 0.0 + 1.0] if order == 0 else _WEIGHTS[order](x - start)
    first = cast(start, "int64") - order // 2
    return [_index(first + k, n, mode) for k in range(order + 1)], weights


def _index(i: Any, n: int, mode: str) -> Any:
    """The element that stands for one beyond the ends."""
    if n == 1:
        return 0 * i
    if mode == "grid-wrap":
        return i % n
    if mode in ("reflect", "grid-mirror"):
        i = i % (2 * n)
        return np.minimum(i, 2 * n - 1 - i)
    i = i % (2 * n - 2)
    return np.minimum(i, 2 * n - 2 - i)


def _mirrored(x: Any, n: int) -> Any:
    period = 2.0 * max(n - 1, 1)
    x = x % period
    return np.minimum(x, period - x)


def _reflected(x: Any, n: int) -> Any:
    x = (x + 0.5) % (2.0 * n)
    return np.minimum(x, 2.0 * n - x) - 0.5


_FOLDED: dict[str, Callable[[Any, int], Any]] = {
    "constant": lambda x, n: np.clip(x, 0.0, n - 1.0),
    "nearest": lambda x, n: np.clip(x, 0.0, n - 1.0),
    "mirror": _mirrored,
    "reflect": _reflected,
    "grid-mirror": _reflected,
    "grid-wrap": lambda x, n: x % float(n),
}
"""Coordinates as those inside that they stand for, by mode."""


def _weighted(x: Any, places: list[list[Any]], weights: list[list[Any]]) -> Any:
    sizes = [length(x, i) for i in range(rank_of(x))]
    strides = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    flat, total = np.reshape(x, [-1]), None
    for choice in itertools.product(*[range(len(w)) for w in weights]):
        at: Any = 0
        factor: Any = None
        for axis, k in enumerate(choice):
            at = places[axis][k] * strides[axis] + at
            factor = weights[axis][k] if factor is None else factor * weights[axis][k]
        term = gather.gather(flat, at) * factor
        total = term if total is None else total + term
    return total


# ---- filters ---------------------------------------------------------------------------------------------------------


def along(x: Any, axis: int, filtered: Callable[[np.ndarray], np.ndarray]) -> Any:
    """A linear filter of the lines along an axis; `filtered` gives what it makes of columns."""
    matrix = filtered(np.eye(length(x, axis)))
    return np.moveaxis(np.tensordot(np.moveaxis(x, axis, -1), constant(matrix.T, x), 1), -1, axis)


def _bound(name: str, args: Any, kwargs: Any) -> tuple[Callable[..., Any], dict[str, Any]]:
    """A filter of SciPy's, and its arguments by name; no constant is added at the ends."""
    theirs = getattr(scipy.ndimage, name)
    how = dict(inspect.signature(theirs).bind(None, *args, **kwargs).arguments)
    del how["input"]
    not_taken_if(
        how.pop("output", None) is not None or how.get("cval") or any(isinstance(x, Value) for x in how.values())
    )
    return theirs, how


def of_lines(name: str) -> Callable[..., Any]:
    """A filter of SciPy's along one axis."""

    @operands("input")
    def apply(input: Any, *args: Any, **kwargs: Any) -> Operand:
        theirs, how = _bound(name, args, kwargs)
        axis = how.pop("axis", -1)
        return along(inexact(input), axis, lambda e: theirs(e, axis=0, **how))

    return apply


def of_axes(name: str, width: str) -> Callable[..., Any]:
    """A filter of SciPy's that is one along each axis, where its `width` may differ."""

    @operands("input")
    def apply(input: Any, *args: Any, **kwargs: Any) -> Operand:
        theirs, how = getattr(scipy.ndimage, f"{name}1d"), _bound(name, args, kwargs)[1]
        widths = np.broadcast_to(how.pop(width, 3), rank_of(input)).tolist()
        not_taken_if(not all(np.ndim(x) == 0 for x in how.values()))
        x = inexact(input)
        for axis, own in enumerate(widths):
            x = along(x, axis, functools.partial(theirs, **{width: own}, axis=0, **how)) if own else x
        return x

    return apply


# ---- convolutions ----------------------------------------------------------------------------------------------------


@operands("in1", "in2")
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Operand:
    """Of any rank: of vectors directly, else by Fourier transforms, as exact as these are."""
    rank = rank_of(in1)
    not_taken_if(rank_of(in2) != rank or mode not in ("full", "same", "valid"))
    if rank == 0:
        return in1 * in2
    first, second = ([length(x, i) for i in range(rank)] for x in (in1, in2))
    if mode == "valid" and not all(a >= b for a, b in zip(first, second, strict=True)):
        if not all(a <= b for a, b in zip(first, second, strict=True)):
            raise ValueError("scipy.signal.convolve: mode 'valid' needs one array as large as the other everywhere")
        in1, in2, first, second = in2, in1, second, first
    whole = [a + b - 1 for a, b in zip(first, second, strict=True)]
    if rank == 1 and method != "fft":
        out = np.convolve(in1, in2)
    else:
        axes, complex_ = tuple(range(rank)), dtype_of(in1).is_complex
        there, back = (np.fft.fftn, np.fft.ifftn) if complex_ else (np.fft.rfftn, np.fft.irfftn)
        product = there(in1, s=whole, axes=axes) * there(in2, s=whole, axes=axes)
        out = back(product, s=whole, axes=axes)
    if mode == "full":
        return out
    sizes = first if mode == "same" else [a - b + 1 for a, b in zip(first, second, strict=True)]
    starts = [(n - m) // 2 for n, m in zip(whole, sizes, strict=True)]
    return out[tuple([slice(i, i + m) for i, m in zip(starts, sizes, strict=True)])]


@operands("in1", "in2")
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Operand:
    """As `convolve`, over all axes."""
    not_taken_if(axes is not None)
    return convolve(in1, in2, mode, "fft")


@operands("in1", "in2")
def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: float = 0) -> Operand:
    """Of matrices, with zeros around them."""
    not_taken_if(boundary != "fill" or fillvalue or len(dims_of(in1)) != 2)
    return convolve(in1, in2, mode)


@operands("in1", "in2")
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Operand:
    """The convolution with the reversed conjugate."""
    return convolve(in1, np.conj(np.flip(in2)), mode, method)


IMAGES: dict[str, Row] = {
    "scipy.ndimage.map_coordinates": (map_coordinates, "tf.gather_nd"),
    **{f"scipy.ndimage.{name}": (of_lines(name), "tf.nn.conv1d") for name in ("convolve1d", "correlate1d")},
    **{
        f"scipy.ndimage.{name}1d": (of_lines(f"{name}1d"), "tf.nn.conv1d")
        for name in ("gaussian_filter", "uniform_filter")
    },
    "scipy.ndimage.gaussian_filter": (of_axes("gaussian_filter", "sigma"), "tf.nn.conv2d"),
    "scipy.ndimage.uniform_filter": (of_axes("uniform_filter", "size"), "tf.nn.conv2d"),
    "scipy.signal.convolve": (convolve, "tf.nn.convolution"),
    "scipy.signal.fftconvolve": (fftconvolve, "tf.signal.rfft"),
    "scipy.signal.convolve2d": (convolve2d, "tf.nn.conv2d"),
    "scipy.signal.correlate": (correlate, "tf.nn.convolution"),
}
"""As `engine.numpy_api.scipy_functions.SCIPY`."""
