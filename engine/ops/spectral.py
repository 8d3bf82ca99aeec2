"""Functions of eigenvalues and singular values: their gradients, and the derivatives of these where values coincide.

The gradient of a function of eigenvalues is ``V diag(c) V^H``, where ``c`` are its derivatives by the eigenvalues. Its
own derivative is made of the divided differences ``(c_i - c_j) / (l_i - l_j)`` [1]_, of that of singular values ``s``
also of ``(c_i + c_j) / (s_i + s_j)``. Where two values (nearly) coincide and the function is symmetric in them, both
parts are zero. The limit is that along any direction in which the values part (l'Hopital's rule). How ``c`` changes
when the values move in such a direction, `slope`, is found by a walk (`engine.derivatives.slopes`) and given to an op
of its own.

References
----------
.. [1] R. Bhatia, *Matrix Analysis*, 1997, theorem V.3.3 (Daleckii and Krein)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.aval import Aval, broadcast_shapes
from engine.core.batching import leading
from engine.core.expand_axes import expand_dims
from engine.core.kinds import general
from engine.core.op import FROM_VJP, Op
from engine.core.operands import Operand
from engine.core.sparsity import rowwise
from engine.core.structural import sum_to_like
from engine.core.value import dtype_of
from engine.ops.arithmetic import maximum
from engine.ops.compare import cast_like, equal, less_equal, logical_and, logical_or, where
from engine.ops.complexes import abs as absolute
from engine.ops.complexes import real
from engine.ops.creation import ones_like, zeros_like
from engine.ops.diagonal import diagonal
from engine.ops.extrema import reduce_max
from engine.ops.linalg import adjoint, matmul
from engine.ops.scan import cumsum
from engine.ops.solve import triangle


def direction(values: Any) -> Operand:
    """A direction in which all values part: 1, 2, 3, ..."""
    return cumsum(ones_like(values), axis=-1)


def _pairs(x: Any, sign: int) -> Operand:
    """``x[j] + sign * x[i]`` at [i, j]."""
    return expand_dims(x, (-2,)) + sign * expand_dims(x, (-1,))


def largest(x: Any) -> Operand:
    """The largest modulus of each vector, as a matrix of one element."""
    return expand_dims(reduce_max(absolute(x), axis=-1, keepdims=True), (-1,))


def divided(ct: Any, values: Any, slope: tuple[Any, ...], sign: int) -> Operand:
    """Divided differences (sums, with the sign 1), in place of those of a value and itself 0.

    Without a slope they are NaN where a limit is wanted.
    """
    steps, over, under = _pairs(direction(values), sign), _pairs(ct, sign), _pairs(values, sign)
    one = ones_like(under)
    same = equal(steps, zeros_like(steps))
    size, bound = largest(values), largest(ct)
    tolerance = dtype_of(size).as_numpy_dtype(np.finfo(dtype_of(size).numpy).eps ** 0.5)
    limit = np.nan * over
    if slope:
        change = slope[0]
        bound = maximum(bound, size * largest(change))
        limit = _pairs(change, sign) / where(same, one, steps)
    near = logical_and(less_equal(absolute(under), tolerance * size), less_equal(absolute(over), tolerance * bound))
    quotient = where(near, limit, over / where(logical_or(near, same), one, under))
    return where(same, zeros_like(quotient), quotient)


def of_values(
    name: str,
    kernel: Callable[..., Any],
    vjp: Any,
    jvp: Any,
    args: tuple[str, ...],
    results: int,
    doc: str,
    module: str = __name__,
) -> Op:
    """An op of cotangents or directions, and of matrices, whose eigenvalues or singular values and vectors are given.

    It has derivatives by the first two operands: the others depend on them. `results` is the rank of what it gives.
    """
    ranks = [1 if a in ("ct", "values", "slope") else 2 for a in args]
    none = (None,) * (len(args) - 2)

    def abstract(*avals: Aval) -> Aval:
        _, x, values, vectors, *_ = avals
        like, dtype = (values, values.dtype) if results == 1 else (x, vectors.dtype)
        stacks = [a.shape[: len(a.shape) - r] for a, r in zip(avals, ranks, strict=True) if a.shape is not None]
        if like.shape is None or len(stacks) < len(avals):
            return Aval(None, dtype)
        return Aval((*(broadcast_shapes(name, *stacks) or ()), *like.shape[-results:]), dtype)

    return general(
        name,
        kernel,
        abstract,
        vjp=(*vjp, *none),
        jvp=jvp if jvp is FROM_VJP else (*jvp, *none),
        batch=leading(*ranks),
        args=args,
        refuses=True,
        strict=False,
        sparsity=rowwise(*ranks, results=(results,)),
        module=module,
        doc=doc,
    )


def columns(x: Any, factors: Any) -> Operand:
    """Each column times its factor."""
    return x * expand_dims(cast_like(factors, x), (-2,))


def _rows(x: Any, factors: Any) -> Operand:
    return x * expand_dims(cast_like(factors, x), (-1,))


def _product(ct: Any, left: Any, right: Any) -> np.ndarray:
    return np.matmul(left * ct[..., None, :].astype(left.dtype, copy=False), np.conjugate(right).swapaxes(-1, -2))


def _diagonal_of(left: Any, d: Any, right: Any, dtype: Any) -> np.ndarray:
    return np.sum(np.conjugate(left) * np.matmul(d, right), -2).real.astype(dtype, copy=False)


# ---- eigenvalues of Hermitian matrices -------------------------------------------------------------------------------


def _eigen_change(d: Any, ct: Any, values: Any, vectors: Any, slope: tuple[Any, ...]) -> Operand:
    """How it changes with the matrix in the direction `d`, Hermitian: this map is its own adjoint."""
    inner = matmul(vectors, matmul(d, vectors), adjoint_a=True)
    inner = inner * cast_like(divided(real(ct), real(values), tuple(map(real, slope)), -1), inner)
    return matmul(vectors, matmul(inner, vectors, adjoint_b=True))


def _eigen_by_x(d: Any, out: Any, ct: Any, x: Any, values: Any, vectors: Any, *slope: Any) -> Operand:
    changed = _eigen_change(0.5 * (d + adjoint(d)), ct, values, vectors, slope)
    return sum_to_like(triangle(changed + adjoint(changed), lower=True, diagonal=0.5), x)


def _eigen_along_x(t: Any, out: Any, ct: Any, x: Any, values: Any, vectors: Any, *slope: Any) -> Operand:
    lower = triangle(t, lower=True, diagonal=0.5)
    return _eigen_change(lower + adjoint(lower), ct, values, vectors, slope)


_EIGEN = ("x", "values", "vectors")
spectral, spectral_sloped = (
    of_values(
        name,
        lambda ct, x, values, vectors, *slope: _product(ct, vectors, vectors),
        (lambda d, out, ct, *rest: sum_to_like(spectral_part(d, *rest[:3]), ct), _eigen_by_x),
        (
            lambda t, out, ct, x, values, vectors, *slope: matmul(columns(vectors, t), vectors, adjoint_b=True),
            _eigen_along_x,
        ),
        ("ct", *_EIGEN, *slope),
        2,
        "``V diag(ct) V^H``, a function of `x`, whose eigenvalues and eigenvectors are given.",
    )
    for name, slope in (("spectral", ()), ("spectral_sloped", ("slope",)))
)
spectral_part = of_values(
    "spectral_part",
    lambda d, x, values, vectors: _diagonal_of(vectors, d, vectors, values.dtype),
    (
        lambda ct, out, d, *rest: sum_to_like(spectral(ct, *rest), d),
        lambda ct, out, d, *rest: _eigen_by_x(d, out, ct, *rest),
    ),
    FROM_VJP,
    ("d", *_EIGEN),
    1,
    "How the eigenvalues of Hermitian matrices `x` change with them in the directions `d`.",
)


# ---- singular values -------------------------------------------------------------------------------------------------


def _singular_along_x(d: Any, out: Any, ct: Any, x: Any, s: Any, u: Any, v: Any, *slope: Any) -> Operand:
    """How it changes with the matrix in the direction `d`; this map is its own adjoint."""
    inner = matmul(u, matmul(d, v), adjoint_a=True)
    turned = adjoint(inner)
    even = 0.5 * (inner + turned) * cast_like(divided(ct, s, slope, -1), inner)
    odd = 0.5 * (inner - turned) * cast_like(divided(ct, s, slope, 1), inner)
    ratio = diagonal(divided(ct, s, slope, 1))
    left = matmul(columns(outside(u, matmul(d, v)), ratio), v, adjoint_b=True)
    right = matmul(u, _rows(adjoint(outside(v, matmul(d, u, adjoint_a=True))), ratio))
    return matmul(u, matmul(even + odd, v, adjoint_b=True)) + left + right


def outside(basis: Any, x: Any) -> Operand:
    """The part of each column of `x` orthogonal to the columns of `basis`."""
    return x - matmul(basis, matmul(basis, x, adjoint_a=True))


def _singular_by_x(d: Any, out: Any, ct: Any, x: Any, *rest: Any) -> Operand:
    return sum_to_like(_singular_along_x(d, out, ct, x, *rest), x)


_SINGULAR = ("x", "values", "u", "v")
singular, singular_sloped = (
    of_values(
        name,
        lambda ct, x, s, u, v, *slope: _product(ct, u, v),
        (lambda d, out, ct, *rest: sum_to_like(singular_part(d, *rest[:4]), ct), _singular_by_x),
        (lambda t, out, ct, x, s, u, v, *slope: matmul(columns(u, t), v, adjoint_b=True), _singular_along_x),
        ("ct", *_SINGULAR, *slope),
        2,
        "``U diag(ct) V^H``, a function of `x`, whose singular values and vectors are given.",
    )
    for name, slope in (("singular", ()), ("singular_sloped", ("slope",)))
)
singular_part = of_values(
    "singular_part",
    lambda d, x, s, u, v: _diagonal_of(u, d, v, s.dtype),
    (
        lambda ct, out, d, *rest: sum_to_like(singular(ct, *rest), d),
        lambda ct, out, d, *rest: _singular_by_x(d, out, ct, *rest),
    ),
    FROM_VJP,
    ("d", *_SINGULAR),
    1,
    "How the singular values of matrices `x` change with them in the directions `d`.",
)
