"""Diagonals and bands of matrices, the last two dimensions of a value.

An offset (`k`) is the number of columns above the main diagonal, or, if negative, of rows below it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from engine.core.aval import Aval, compatible, format_shape
from engine.core.batching import all_batched, elementwise_rule, leading, like_first
from engine.core.dtypes import bool_, int32
from engine.core.kinds import general, linear, same_dtype
from engine.core.op import Layout
from engine.core.operands import Operand, operands
from engine.core.sparsity import GATHERS, MOVES, SCATTERS
from engine.core.trace import constant_value
from engine.core.value import as_padding, aval_of, dtype_of, shape_of
from engine.ops.axis_args import static_int
from engine.ops.bands import ALIGNMENTS, longest, put_band, take_band
from engine.ops.compare import select
from engine.ops.creation import ones_like, zeros_like
from engine.ops.joining import concat
from engine.ops.reduce import reduce_prod
from engine.ops.shape import reshape, shape_op
from engine.ops.slicing import getitem
from engine.runtime.errors import InvalidArgumentError, NotKnownYet, ShapeError


def _check_matrix(name: str, x: Aval) -> None:
    if x.shape is not None and len(x.shape) < 2:
        raise ShapeError(f"{name}: argument `input` must have rank 2 or more, got {x}")


def _embedded(d: Any, sides: Sequence[int | None], offset: int) -> np.ndarray:
    out = np.zeros((*d.shape[:-1], *sides), d.dtype)
    _write(out, d, offset)
    return out


def _write(matrix: Any, d: Any, offset: int) -> None:
    along = np.arange(d.shape[-1])
    matrix[..., along - min(offset, 0), along + max(offset, 0)] = d


# ---- diagonal --------------------------------------------------------------------------------------------------------


def _diagonal_kernel(x: Any, *, offset: int = 0, empty: bool = False) -> np.ndarray:
    longest(x.shape[-2:], offset, offset, empty)  # raises if there is no such diagonal
    return np.diagonal(x, offset, -2, -1)


def _diagonal_abstract(x: Aval, *, offset: int = 0, empty: bool = False) -> Aval:
    _check_matrix("diag_part", x)
    if x.shape is None:
        return Aval(None, x.dtype)
    return Aval((*x.shape[:-2], longest(x.shape[-2:], offset, offset, empty)), x.dtype)


diagonal = linear(
    "diagonal",
    _diagonal_kernel,
    lambda ct, x, *, offset=0, **_: embed_diagonal(ct, x, offset=offset),
    _diagonal_abstract,
    leading(2),
    type="MatrixDiagPart",
    args=("input",),
    sparsity=GATHERS,
    layout=Layout.PART,
    doc="A diagonal of the last two axes, the main one by default.",
)


embed_diagonal = linear(
    "embed_diagonal",
    lambda x, ref, *, offset=0: _embedded(x, ref.shape[-2:], offset),
    lambda ct, x, ref, *, offset=0: diagonal(ct, offset=offset, empty=True),
    lambda x, ref, *, offset=0: Aval(
        None if x.shape is None or ref.shape is None else x.shape[:-1] + ref.shape[-2:], x.dtype
    ),
    like_first,
    args=("x", "ref"),
    sparsity=SCATTERS,
    doc="Matrices of ref's size with the given diagonals, zeros elsewhere: the transpose of `diagonal`.",
)


def _sides(
    count: int | None, low: int, high: int, rows: int | None, columns: int | None
) -> tuple[int | None, int | None]:
    """The size of the smallest matrix whose diagonals have up to `count` entries, square unless a side is given."""
    if count is None:
        return rows, columns
    least = count - min(high, 0), count + max(low, 0)
    if rows is None and columns is None:
        return max(least), max(least)
    size = (least[0] if rows is None else rows), (least[1] if columns is None else columns)
    if size[0] < least[0] or size[1] < least[1] or count != longest(size, low, high, empty=not count):
        shown = str(low) if low == high else str((low, high))
        raise ShapeError(f"diag: {count} entries at `k` = {shown} do not fill a diagonal of a matrix of shape {size}")
    return size


def _matrix_diag_abstract(d: Aval, *, offset: int, rows: int | None, columns: int | None) -> Aval:
    if d.shape is None:
        return Aval(None, d.dtype)
    if not d.shape:
        raise ShapeError("diag: argument `diagonal` must have rank 1 or more, got a scalar")
    return Aval((*d.shape[:-1], *_sides(d.shape[-1], offset, offset, rows, columns)), d.dtype)


matrix_diag_op = linear(
    "matrix_diag_op",
    lambda d, *, offset, rows, columns: _embedded(d, _sides(d.shape[-1], offset, offset, rows, columns), offset),
    # the smallest matrix for no entries has no such diagonal
    lambda ct, d, *, offset, rows, columns: diagonal(ct, offset=offset, empty=True),
    _matrix_diag_abstract,
    elementwise_rule,
    type="MatrixDiagV3",
    args=("diagonal",),
    sparsity=SCATTERS,
    doc="Matrices with the given diagonals, zeros elsewhere.",
)


@operands("diagonal")
def matrix_diag(
    diagonal: Any, k: Any = 0, num_rows: int = -1, num_cols: int = -1, padding_value: Any = 0, align: str = "RIGHT_LEFT"
) -> Operand:
    """Matrices with given diagonals.

    Parameters
    ----------
    diagonal : value, shape (..., n), or (..., number of diagonals, n)
    k : int or pair of int
        Offset of the diagonal, or of the lowest and of the highest of several, which `diagonal` holds the other way
        round: the highest first.
    num_rows, num_cols : int
        Size of the matrices; by default the smallest square ones.
    padding_value : number
        What to put elsewhere. No derivative flows to it.
    align : str
        Where diagonals shorter than n have their entries: ``"RIGHT_LEFT"`` (those above the main one at the right,
        those below it at the left), ``"LEFT_RIGHT"``, ``"LEFT_LEFT"`` or ``"RIGHT_RIGHT"``.

    Examples
    --------
    >>> matrix_diag(np.array([1, 2]), k=1)
    array([[0, 1, 0],
           [0, 0, 2],
           [0, 0, 0]])
    >>> matrix_diag(np.array([[0, 4, 5], [1, 2, 3]]), k=(0, 1), padding_value=9)
    array([[1, 4, 9],
           [9, 2, 5],
           [9, 9, 3]])
    """
    low, high = _offsets("diag", k)
    sizes = static_int("matrix_diag", "num_rows", num_rows), static_int("matrix_diag", "num_cols", num_cols)
    rows, columns = [None if n < 0 else n for n in sizes]
    if low == high:
        make = partial(matrix_diag_op, offset=low, rows=rows, columns=columns)
        return _padded("diag", make, diagonal, padding_value)
    params, shape = _band("diag", low, high, align), shape_of(diagonal)
    if shape is not None and shape[-1:] == (0,):
        if len(shape) < 2 or shape[-2] not in (None, high - low + 1):
            raise ShapeError(f"diag: argument `diagonal` must hold the diagonals {low} to {high} in rows, got {shape}")
        # no matrix has all of these diagonals; the one next to the main one is as empty as the others
        make = partial(matrix_diag_op, offset=min(max(low, 0), high), rows=rows, columns=columns)
        return _padded("diag", lambda d: make(getitem(d, (..., 0, slice(None)))), diagonal, padding_value)
    sides = _sides(shape[-1] if shape else None, low, high, rows, columns)
    if None in sides:
        raise NotKnownYet(f"diag: the last dimension of `diagonal` must be known, got {aval_of(diagonal)}")
    ref = np.broadcast_to(False, sides)  # type: ignore[arg-type]  # none of them is None
    return _padded("diag", lambda d: put_band(d, ref, **params), diagonal, padding_value)


@operands("input")
def matrix_diag_part(input: Any, k: Any = 0, padding_value: Any = 0, align: str = "RIGHT_LEFT") -> Operand:
    """Diagonals of each matrix.

    Parameters
    ----------
    input : value, shape (..., m, n)
    k : int or pair of int
        Offset of the diagonal, or of the lowest and of the highest of several, as in `matrix_diag`.
    padding_value : number
        What to put beside diagonals that are shorter than the longest. No derivative flows to it.
    align : str
        Where these have their entries, as in `matrix_diag`.

    Returns
    -------
    value, shape (..., length), or (..., number of diagonals, length of the longest)

    Examples
    --------
    >>> matrix_diag_part(np.array([[1, 2], [3, 4]]))
    array([1, 4])
    >>> matrix_diag_part(np.array([[1, 2], [3, 4]]), k=(-1, 1), padding_value=9)
    array([[9, 2],
           [1, 4],
           [3, 9]])
    """
    low, high = _offsets("diag_part", k)
    if low == high:
        return diagonal(input, offset=low)
    params = _band("diag_part", low, high, align)
    return _padded("diag_part", partial(take_band, **params), input, padding_value)


def _offsets(name: str, k: Any) -> tuple[int, int]:
    """The lowest and the highest offset."""
    known = constant_value(k)
    values = [] if known is None else [operator.index(i) for i in np.ravel(known)]
    if len(values) not in (1, 2) or values[0] > values[-1]:
        raise InvalidArgumentError(f"{name}: argument `k` must be a known offset or two in ascending order, got {k!r}")
    return values[0], values[-1]


def _band(name: str, low: int, high: int, align: str) -> dict[str, Any]:
    """Parameters of ops on bands."""
    if align not in ALIGNMENTS:
        raise InvalidArgumentError(f"{name}: argument `align` must be one of {', '.join(ALIGNMENTS)}, got {align!r}")
    return {"low": low, "high": high, "align": align}


def _padded(name: str, make: Callable[[Any], Any], x: Any, padding_value: Any) -> Operand:
    """``make(x)``, with another value than 0 in the places that it does not fill."""
    known = constant_value(padding_value)
    if known is None:
        raise InvalidArgumentError(f"{name}: `padding_value` must be known while the graph is built: {padding_value!r}")
    value = np.asarray(as_padding(known, dtype_of(x), f"{name}: argument `padding_value`"))
    return select(_filled(make, x), make(x), value) if value else make(x)


def _filled(make: Callable[[Any], Any], x: Any) -> Operand:
    return make(ones_like(x, dtype=bool_))


# ---- set_diag --------------------------------------------------------------------------------------------------------


def _set_diag_kernel(x: Any, d: Any, *, offset: int) -> np.ndarray:
    count = longest(x.shape[-2:], offset, offset)
    if d.shape != (*x.shape[:-2], count):
        raise ShapeError(f"set_diag: argument `diagonal` must have shape {(*x.shape[:-2], count)}, got {d.shape}")
    out = x.copy()
    _write(out, d, offset)
    return out


def _set_diag_abstract(x: Aval, d: Aval, *, offset: int) -> Aval:
    same_dtype("set_diag", ("input", "diagonal"), (x, d))
    expected = _diagonal_abstract(x, offset=offset)
    if x.shape is not None and d.shape is not None and len(d.shape) != len(x.shape) - 1:
        shown = f"{format_shape(expected.shape)}, got {format_shape(d.shape)}"
        raise ShapeError(f"set_diag: argument `diagonal` must have shape {shown}")
    return Aval(x.shape, x.dtype)


set_diag_op = general(
    "set_diag_op",
    _set_diag_kernel,
    _set_diag_abstract,
    vjp=(
        lambda ct, out, x, d, *, offset: set_diag_op(ct, zeros_like(d), offset=offset),
        lambda ct, out, x, d, *, offset: diagonal(ct, offset=offset),
    ),
    jvp=(
        lambda t, out, x, d, *, offset: set_diag_op(t, zeros_like(d), offset=offset),
        lambda t, out, x, d, *, offset: embed_diagonal(t, x, offset=offset),
    ),
    batch=all_batched,
    type="MatrixSetDiagV3",
    args=("input", "diagonal"),
    sparsity=MOVES,
    doc="Matrices with another diagonal.",
)


@operands("input", "diagonal")
def set_diag(input: Any, diagonal: Any, k: Any = 0, align: str = "RIGHT_LEFT") -> Operand:
    """`input` with other entries on diagonals of each matrix.

    Parameters
    ----------
    input : value, shape (..., m, n)
    diagonal : value, shape (..., length of the diagonal), or (..., number of diagonals, length of the longest)
    k : int or pair of int
        Offset of the diagonal, or of the lowest and of the highest of several, as in `matrix_diag`.
    align : str
        Where diagonals shorter than the longest have their entries, as in `matrix_diag`.

    Examples
    --------
    >>> set_diag(np.zeros((2, 2)), np.array([1.0, 2.0]))
    array([[1., 0.],
           [0., 2.]])
    """
    low, high = _offsets("set_diag", k)
    if low == high:
        return set_diag_op(input, diagonal, offset=low)
    params = _band("set_diag", low, high, align)
    made, ref = put_band(diagonal, input, **params), aval_of(input)
    if not compatible(aval_of(made).shape, ref.shape):
        raise ShapeError(f"set_diag: `diagonal` {aval_of(diagonal)} does not fit the matrices of `input` {ref}")
    return select(_filled(lambda d: put_band(d, input, **params), diagonal), made, input)


# ---- tensors of any rank ---------------------------------------------------------------------------------------------


@operands("diagonal")
def tensor_diag(diagonal: Any) -> Operand:
    """The tensor of twice the rank with `diagonal` where both halves of the index agree, zeros elsewhere.

    Examples
    --------
    >>> tensor_diag(np.array([1, 2]))
    array([[1, 0],
           [0, 2]])
    """
    if shape_of(diagonal) == ():
        raise ShapeError("tensor_diag: argument `diagonal` must have rank 1 or more, got a scalar")
    half = shape_op(diagonal, out_type=int32)
    return reshape(matrix_diag(reshape(diagonal, [-1])), concat([half, half], 0))


@operands("input")
def tensor_diag_part(input: Any) -> Operand:
    """The entries where both halves of the index agree.

    Parameters
    ----------
    input : value, shape ``s + s``

    Returns
    -------
    value, shape ``s``

    Examples
    --------
    >>> tensor_diag_part(np.array([[1, 2], [3, 4]]))
    array([1, 4])
    """
    shape = shape_of(input)
    if not shape or len(shape) % 2:
        error = NotKnownYet if shape is None else ShapeError
        raise error(f"diag_part: argument `input` must have a known, even rank, got {aval_of(input)}")
    half = len(shape) // 2
    if not compatible(shape[:half], shape[half:]):
        raise ShapeError(f"diag_part: both halves of the shape of `input` must be equal, got {format_shape(shape)}")
    dims = getitem(shape_op(input, out_type=int32), slice(half))
    count = reshape(reduce_prod(dims), [1])
    return reshape(diagonal(reshape(input, concat([count, count], 0))), dims)


# ---- bands -----------------------------------------------------------------------------------------------------------


def _band_kernel(x: Any, *, low: int | None, high: int | None) -> np.ndarray:
    rows, columns = x.shape[-2:]
    offset = np.arange(columns) - np.arange(rows)[:, None]
    keep = np.ones((rows, columns), bool)
    if low is not None:
        keep &= offset >= low
    if high is not None:
        keep &= offset <= high
    return np.where(keep, x, np.zeros((), x.dtype))


def _band_abstract(x: Aval, *, low: int | None, high: int | None) -> Aval:
    _check_matrix("band_part", x)
    return Aval(x.shape, x.dtype)


band_op = linear(
    "band_op",
    _band_kernel,
    lambda ct, x, *, low, high: band_op(ct, low=low, high=high),
    _band_abstract,
    leading(2),
    type="MatrixBandPart",
    args=("input",),
    sparsity=MOVES,
    doc="Matrices without the entries below one diagonal and above another (None: none).",
)


@operands("input")
def band_part(input: Any, num_lower: Any, num_upper: Any) -> Operand:
    """Matrices with zeros outside a band around the main diagonal.

    Parameters
    ----------
    input : value, shape (..., m, n)
    num_lower, num_upper : int
        How many diagonals to keep below and above the main one; a negative number keeps all.

    Raises
    ------
    InvalidArgumentError
        If there are known to be fewer rows than `num_lower`, or fewer columns than `num_upper`.

    Examples
    --------
    >>> band_part(np.ones((3, 3)), 0, 1)
    array([[1., 1., 0.],
           [0., 1., 1.],
           [0., 0., 1.]])
    """
    lower, upper = static_int("band_part", "num_lower", num_lower), static_int("band_part", "num_upper", num_upper)
    sizes = (shape_of(input) or ())[-2:]
    for name, number, what, size in zip(("lower", "upper"), (lower, upper), ("rows", "columns"), sizes, strict=False):
        if size is not None and number > size:
            allowed = f"must be negative or less or equal to number of {what} ({size})"
            raise InvalidArgumentError(f"band_part: argument `num_{name}`: num_{name} {allowed}, got: {number}")
    return band_op(input, low=None if lower < 0 else -lower, high=None if upper < 0 else upper)


@operands("m")
def tril(m: Any, k: int = 0) -> Operand:
    """Matrices with zeros above diagonal `k`."""
    return band_op(m, low=None, high=static_int("tril", "k", k))


@operands("m")
def triu(m: Any, k: int = 0) -> Operand:
    """Matrices with zeros below diagonal `k`."""
    return band_op(m, low=static_int("triu", "k", k), high=None)
