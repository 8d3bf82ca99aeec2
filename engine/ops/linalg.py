"""Products of matrices, vectors and tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from engine.core.aval import Aval, broadcast_shapes
from engine.core.batching import leading
from engine.core.dtypes import NUMERIC, as_dtype, int8, int32, uint8
from engine.core.expand_axes import expand_dims, squeeze
from engine.core.kinds import check_dtype, multilinear, same_dtype
from engine.core.op import Layout
from engine.core.operands import Operand, operands
from engine.core.sparsity import Link, Links, Site, numbers, rowwise
from engine.core.structural import conj, reshape_to, sum_to_like
from engine.core.value import dtype_of, known_shape, shape_of
from engine.ops.compare import cast
from engine.ops.diagonal import diagonal
from engine.ops.einsum import MULTIPLIED, einsum_op, multiply_stacks
from engine.ops.reduce import reduce_sum
from engine.ops.shape import matrix_transpose, matrix_transpose_op
from engine.ops.small_product import MOST, is_small, multiply_small
from engine.runtime.blas import few_threads, multiplications, takes_one_thread
from engine.runtime.errors import DTypeError, ShapeError
from engine.runtime.tuning import TUNING


@operands("matrix")
def adjoint(matrix: Any) -> Operand:
    """The conjugate transpose of matrices.

    Parameters
    ----------
    matrix : value, shape (..., n, m)

    Returns
    -------
    value, shape (..., m, n)
    """
    return matrix_transpose(matrix, conjugate=True)


# ---- matmul ----------------------------------------------------------------------------------------------------------


def _matmul_kernel(a: Any, b: Any, *, transpose_a: bool = False, transpose_b: bool = False) -> np.ndarray:
    if a.ndim == b.ndim == 2:
        return _two_matrices(a.T if transpose_a else a, b.T if transpose_b else b)
    if a.ndim < 2 or b.ndim < 2:
        raise ValueError("both arguments must have rank 2 or more")
    if transpose_b:
        b = b.mT
    left = a.mT if transpose_a else a
    if not _is_one_product(a.shape, b.shape) and is_small(left.shape, b.shape, a.dtype):
        return multiply_small(left, b)
    if transpose_a and b.ndim == 2 and b.shape[1] == 1:
        # the vector from the left: so nothing is transposed in memory
        return multiply_stacks(b.T, a).mT
    if transpose_a:
        a = a.mT
    if b.ndim == 2:
        return _fold_rows(a, b)
    if a.ndim == 2 and (transpose_b or b.shape[-1] <= NARROW):
        return _fold_rows(b.mT, a.T).mT
    if a.shape[-1] == b.shape[-2] == 1:
        # a column times a row; NumPy would loop over the stack
        return np.multiply(a, b, order="C")
    return multiply_stacks(a, _not_mirrored(a, b))


def _fold_rows(a: Any, b: Any) -> np.ndarray:
    """A stack of matrices times one matrix, as one product: NumPy would loop over the stack."""
    *batch, n, k = a.shape
    if k != b.shape[0]:
        raise ValueError("inner dimensions differ")
    return _two_matrices(a.reshape(math.prod(batch) * n, k), b).reshape(*batch, n, b.shape[1])


NARROW = TUNING.narrow_columns
"""Columns up to which many products with one matrix are one product, though what it gives is transposed in memory."""
FEW = TUNING.dot_elements
"""Up to so many elements in the result `dot` is quicker than `matmul`. It makes the same BLAS calls with less ado, but
sets the result to zero first."""


@few_threads(multiplications, TUNING.one_thread)
def _two_matrices(a: Any, b: Any) -> np.ndarray:
    b = _not_mirrored(a, b)
    return a.dot(b) if by_dot(a.shape, b.shape) else np.matmul(a, b)


def _not_mirrored(a: Any, b: Any) -> Any:
    """`b`, copied if it is the transpose of a matrix `a` of few columns, in the same memory.

    NumPy has BLAS compute half of such a product, and copies that number by number, which takes longer than the product
    (of 512 rows and 64 columns 2.5 times as long as all of it).
    """
    if not (_is_mirrored(a.shape, b.shape) and a.strides[-2:] == b.strides[-1:-3:-1]):
        return b
    # the first question is quickly answered
    return b.copy() if np.may_share_memory(a, b) and a.ctypes.data == b.ctypes.data else b


def _is_mirrored(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two shapes are those of a matrix with few columns, fewer than rows, and of its transpose."""
    return 1 < a[-1] <= _MIRRORED and a[-1] == b[-2] and a[-2] == b[-1] > a[-1]


_MIRRORED = TUNING.mirrored_columns


def by_dot(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether `dot` is quicker than `matmul` for matrices of these shapes: for few results, or a column times a row.

    Of one number and several it is not asked: there BLAS may take zero times infinity for zero.
    """
    if a[1] == 1:
        return (a[0] == 1) == (b[1] == 1)
    return a[0] * b[1] <= FEW


def product_into(
    out: np.ndarray, a: np.ndarray, b: np.ndarray, *, transpose_a: bool = False, transpose_b: bool = False
) -> Callable[[], Any]:
    """A C function that writes a product of two matrices to memory in C order, with the bits that the kernel gives."""
    a, b = a.T if transpose_a else a, b.T if transpose_b else b
    b = _not_mirrored(a, b)
    product = np.dot if by_dot(a.shape, b.shape) else np.matmul
    return partial(few_threads(multiplications, TUNING.one_thread)(product), a, b, out=out)


def _matmul_abstract(a: Aval, b: Aval, *, transpose_a: bool = False, transpose_b: bool = False) -> Aval:
    check_dtype("matmul", "a", a, MULTIPLIED)
    dtype = same_dtype("matmul", ("a", "b"), (a, b))
    for name, x in (("a", a), ("b", b)):
        if x.shape is not None and len(x.shape) < 2:
            instead = "tf.linalg.matvec(a, b) multiplies a matrix and a vector, tf.tensordot(a, b, 1) two vectors"
            raise ShapeError(f"matmul: argument `{name}` must have rank 2 or more, got {x}; {instead}")
    if a.shape is None or b.shape is None:
        return Aval(None, dtype)
    n, k = a.shape[-2:][:: -1 if transpose_a else 1]
    k2, m = b.shape[-2:][:: -1 if transpose_b else 1]
    if k is not None and k2 is not None and k != k2:
        flags = [f for f, on in (("transpose_a", transpose_a), ("transpose_b", transpose_b)) if on]
        raise ShapeError(
            f"matmul: inner dimensions must agree, but a is {a} and b is {b}"
            + (f" with {' and '.join(flags)}" if flags else "")
            + f": {k} != {k2}"
        )
    batch = broadcast_shapes("matmul", a.shape[:-2], b.shape[:-2])
    return Aval(None if batch is None else (*batch, n, m), dtype)


def matmul_specialized(a: Any, b: Any, *, transpose_a: bool = False, transpose_b: bool = False) -> Operand | None:
    """Spell the kernel's product of a stack of matrices and one matrix in ops: one product of two matrices."""
    shape_a, shape_b = known_shape(a, "matmul"), known_shape(b, "matmul")
    if are_small_stacks(Aval(shape_a, dtype_of(a)), Aval(shape_b, dtype_of(b))):
        return None
    if len(shape_a) > 2 == len(shape_b) and not transpose_a:
        *batch, n, k = shape_a
        rows = reshape_to(a, shape=(math.prod(batch) * n, k))
        product = _product(rows, b, False, transpose_b)
        return reshape_to(product, shape=(*batch, n, shape_b[0 if transpose_b else 1]))
    if len(shape_b) > 2 == len(shape_a) and (transpose_b or shape_b[-1] <= NARROW):
        *batch, n, k = shape_b if transpose_b else (*shape_b[:-2], shape_b[-1], shape_b[-2])
        rows = b if transpose_b or n == 1 else matrix_transpose_op(b)
        product = _product(reshape_to(rows, shape=(math.prod(batch) * n, k)), a, False, not transpose_a)
        m = shape_a[1 if transpose_a else 0]
        if n == 1:
            return reshape_to(product, shape=(*batch, m, 1))
        return matrix_transpose_op(reshape_to(product, shape=(*batch, n, m)))
    return None


def are_small_stacks(a: Aval, b: Aval) -> bool:
    """Whether the product of stacks is one of small matrices, transposed or not: see `engine.ops.small_product`.

    One of both may be a single matrix.
    """
    shapes: list[Any] = [a.shape or (), b.shape or ()]
    if max(map(len, shapes)) <= 2 or 0 in (*shapes[0], *shapes[1]) or _is_one_product(*shapes):
        return False
    dims = [*(a.shape or ())[-2:], *(b.shape or ())[-2:]]
    return a.dtype.numpy.char in "fd" and all(d is not None and 0 < d <= MOST for d in dims)


def _is_one_product(a: Sequence[int | None], b: Sequence[int | None]) -> bool:
    """Whether a stack times one matrix is to be a product of two matrices: BLAS is quicker for few, and for larger."""
    if min(len(a), len(b)) > 2:
        return False
    known = [d for d in (*a, *b) if d is not None]
    if len(known) < len(a) + len(b) or max(*a[-2:], *b[-2:]) > _MOST_OF_ONE:  # type: ignore[type-var, operator]
        return True
    return len(b) == 2 and (1 in a[-2:] or math.prod(known[:-4]) < _LEAST_BY_ONE)


_MOST_OF_ONE, _LEAST_BY_ONE = 4, 64
"""Dimensions up to which `multiply_small` is about as quick as BLAS where one of both is a single matrix; and how many
must be multiplied by one to the right."""


def _matmul_layout(avals: Any, params: dict[str, Any]) -> Layout:
    if are_small_stacks(*avals):
        return Layout.FRESH
    a, b = [len(x.shape or ()) for x in avals]
    if b == 2 and (a == 2 or not params.get("transpose_a")):
        return Layout.FRESH
    # the product is made transposed, or stacks lie in some order
    return Layout.ANY if a == 2 or params.get("transpose_a") else Layout.KEPT


def _matmul_inline(avals: Any, params: dict[str, Any]) -> str | None:
    a, b = avals
    if len(a.shape) != 2 or len(b.shape) != 2:
        return None
    turned = params.get("transpose_a"), params.get("transpose_b")
    first, second = ("{0}.T" if turned[0] else "{0}"), ("{1}.T" if turned[1] else "{1}")
    shapes = a.shape[:: -1 if turned[0] else 1], b.shape[:: -1 if turned[1] else 1]
    if _is_mirrored(*shapes) or takes_one_thread(math.prod(a.shape) * shapes[1][1], TUNING.one_thread):
        return None
    return f"{first}.dot({second})" if by_dot(*shapes) else f"np.matmul({first}, {second})"


def _product(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False) -> Operand:
    if not (transpose_a or transpose_b):
        return matmul_op(a, b)
    return matmul_op(a, b, transpose_a=transpose_a, transpose_b=transpose_b)


def _stack(many: Any, one: Any) -> str:
    """A letter for each leading dimension that `many` has and the single matrix `one` has not; empty if not known."""
    shape, matrix = shape_of(many), shape_of(one)
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(shape) - 2] if shape and matrix and len(matrix) == 2 else ""


# The gradient of one matrix in a product with a stack is one product that sums over rows and stack alike.


def _matmul_da(ct: Any, a: Any, b: Any, *, transpose_a: bool = False, transpose_b: bool = False) -> Operand:
    if stack := _stack(b, a):
        of_b, of_a = "mk" if transpose_b else "km", "kn" if transpose_a else "nk"
        return einsum_op(ct, b, equation=f"{stack}nm,{stack}{of_b}->{of_a}")
    grad = _product(b, ct, transpose_b, True) if transpose_a else _product(ct, b, False, not transpose_b)
    return sum_to_like(grad, a)


def _matmul_db(ct: Any, a: Any, b: Any, *, transpose_a: bool = False, transpose_b: bool = False) -> Operand:
    if stack := _stack(a, b):
        of_a, of_b = "kn" if transpose_a else "nk", "mk" if transpose_b else "km"
        return einsum_op(a, ct, equation=f"{stack}{of_a},{stack}nm->{of_b}")
    grad = _product(ct, a, True, transpose_a) if transpose_b else _product(a, ct, not transpose_a, False)
    return sum_to_like(grad, b)


def _matmul_sparsity(site: Site, i: int) -> Sequence[Links]:
    # row n of a gives row n of the result, column m of b column m
    axis = (-2, -1)[i]
    transposed = site.params.get(("transpose_a", "transpose_b")[i], False)
    kept = (axis, -3 - axis if transposed else axis)
    return rowwise(2, 2, results=(2,), pairs=((kept,), (kept,)))(site, i)


matmul_op = multilinear(
    "matmul_op",
    _matmul_kernel,
    (_matmul_da, _matmul_db),
    _matmul_abstract,
    leading(2, 2),
    type="MatMul",
    args=("a", "b"),
    specialize=matmul_specialized,
    inline=_matmul_inline,
    sparsity=_matmul_sparsity,
    layout=_matmul_layout,
    shares=(),
    keeps_nan=(0, 1),
    takes_out=True,
    doc="Product of (stacks of) matrices, either transposed first if its flag says so.",
)


@operands("a", "b")
def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
) -> Operand:
    """Product of matrices, or of stacks of matrices whose leading dimensions are broadcast together.

    Parameters
    ----------
    a : value, shape (..., n, k)
    b : value, shape (..., k, m)
    transpose_a, transpose_b : bool
        Transpose the argument's last two dimensions first.
    adjoint_a, adjoint_b : bool
        Transpose and conjugate the argument first.
    a_is_sparse, b_is_sparse : bool
        Have no effect: hints about the contents.
    output_type : DType, optional
        int32 for the product of 8-bit integers, which is then computed in int32; otherwise that of the arguments.

    Returns
    -------
    value, shape (..., n, m)

    Raises
    ------
    ShapeError
        If an argument has rank below 2, or the inner dimensions differ.
    DTypeError
        If there is no product of that `output_type`.

    Examples
    --------
    >>> matmul(np.array([[1., 2.]]), np.array([[3., 4.]]), transpose_b=True)
    array([[11.]])
    """
    if not (transpose_a or transpose_b or adjoint_a or adjoint_b or output_type):
        return matmul_op(a, b)
    flags = {"transpose_a": transpose_a, "transpose_b": transpose_b, "adjoint_a": adjoint_a, "adjoint_b": adjoint_b}
    for name, flag in flags.items():
        if flag not in (True, False, None):
            raise DTypeError(f"matmul: argument `{name}` must be a bool, got {flag!r}")
    if (transpose_a and adjoint_a) or (transpose_b and adjoint_b):
        raise ShapeError("matmul: an argument may be transposed or adjoint, not both")
    if output_type is not None and as_dtype(output_type) is not dtype_of(a):
        a, b = _widened(a, output_type), _widened(b, output_type)
    return _product(
        conj(a) if adjoint_a else a,
        conj(b) if adjoint_b else b,
        bool(transpose_a or adjoint_a),
        bool(transpose_b or adjoint_b),
    )


def _widened(x: Any, output_type: Any) -> Operand:
    wanted, have = as_dtype(output_type), dtype_of(x)
    if wanted is not int32 or have not in (int8, uint8):
        raise DTypeError(f"matmul: there is no product of {have.name} with `output_type` {wanted.name}; use cast")
    return cast(x, wanted)


@operands("a", "b")
def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
) -> Operand:
    """Product of matrices and vectors.

    Parameters
    ----------
    a : value, shape (..., n, k)
    b : value, shape (..., k)
    transpose_a, adjoint_a : bool
        Transpose (and conjugate) the matrix first.
    a_is_sparse, b_is_sparse : bool
        Have no effect: hints about the contents.

    Returns
    -------
    value, shape (..., n)

    Examples
    --------
    >>> matvec(np.array([[1., 2.], [3., 4.]]), np.array([1., 1.]))
    array([3., 7.])
    """
    return squeeze(matmul(a, expand_dims(b, (-1,)), transpose_a=transpose_a, adjoint_a=adjoint_a), (-1,))


@operands("x")
def trace(x: Any) -> Operand:
    """Sum of the main diagonal of the last two dimensions.

    The derivative costs more than 4 times as much: it writes a whole matrix, of which this reads the diagonal only.

    Examples
    --------
    >>> float(trace(np.array([[1., 2.], [3., 4.]])))
    5.0
    """
    return reduce_sum(diagonal(x), axis=-1)


# ---- cross product ---------------------------------------------------------------------------------------------------


def _cross_kernel(a: Any, b: Any) -> np.ndarray:
    if a.shape[-1:] != (3,) or b.shape[-1:] != (3,):
        raise ValueError("the last dimension must be 3")
    # as in np.cross, which asks more questions
    turns = ((1, 2), (2, 0), (0, 1))
    return np.stack([a[..., i] * b[..., k] - a[..., k] * b[..., i] for i, k in turns], axis=-1)


def _cross_abstract(a: Aval, b: Aval) -> Aval:
    check_dtype("cross", "a", a, NUMERIC)
    dtype = same_dtype("cross", ("a", "b"), (a, b))
    for name, x in (("a", a), ("b", b)):
        if x.shape is not None and (not x.shape or x.shape[-1] not in (3, None)):
            raise ShapeError(f"cross: the last dimension of argument `{name}` must be 3, got {x}")
    return Aval(broadcast_shapes("cross", a.shape, b.shape), dtype)


def _cross_sparsity(site: Site, i: int) -> list[Links]:
    # a component depends on the two others
    places = np.broadcast_to(numbers(site.size(i)).reshape(site.shapes[i]), site.results[0])
    return [[Link(np.ravel(np.roll(places, k, -1)), None, site.size(i)) for k in (1, 2)]]


cross_op = multilinear(
    "cross_op",
    _cross_kernel,
    (lambda ct, a, b: sum_to_like(cross_op(b, ct), a), lambda ct, a, b: sum_to_like(cross_op(ct, a), b)),
    _cross_abstract,
    leading(1),
    type="Cross",
    args=("a", "b"),
    sparsity=_cross_sparsity,
    layout=Layout.LIKE,
    shares=(),
    doc="Cross product of vectors in three dimensions, along the last axis.",
)


@operands("a", "b")
def cross(a: Any, b: Any) -> Operand:
    """Cross product of vectors in three dimensions, along the last axis.

    Examples
    --------
    >>> cross(np.array([1., 0., 0.]), np.array([0., 1., 0.]))
    array([0., 0., 1.])
    """
    return cross_op(a, b)
