"""Linear equations for large matrices: by a sparse factorization, by Krylov's methods, or by a solver of your own.

The names and arguments are those of `scipy.sparse.linalg`. Solutions are differentiable in the right-hand side and in
the matrix: a tensor, a `SparseTensor` (in its values), or a function ``v -> A v`` of tensors, in all that it uses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from dualgrad.solvers.closures import Packed, as_value, closure, static_shape
from dualgrad.solvers.linear_op import linear_solve_op
from engine.core.eager import EagerTensor
from engine.core.trace import constant_value
from engine.numpy_api.sparse_values import SparseValues
from engine.ops.gather import gather
from engine.ops.segment import unsorted_segment_sum
from engine.ops.shape import reshape
from engine.ops.slicing import getitem
from engine.runtime.errors import ConvergenceError, InvalidArgumentError


@dataclass(frozen=True)
class Krylov:
    """One of `scipy.sparse.linalg`'s iterations."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, product: Callable[[np.ndarray], np.ndarray], rhs: np.ndarray) -> np.ndarray:
        """The solution."""
        n = rhs.size
        operator = scipy.sparse.linalg.LinearOperator((n, n), product, dtype=rhs.dtype)
        # an adjoint right-hand side may be tiny: the tolerance is relative to it
        found, info = getattr(scipy.sparse.linalg, self.name)(operator, rhs, **self.options)
        if info:
            raise ConvergenceError(f"{self.name}: did not converge (info {info}); raise `maxiter`, or give `M`")
        return found

    @property
    def transposed(self) -> Krylov:
        """The same for the transposed matrix: with the transposed preconditioner."""
        given = self.options.get("M")
        return self if given is None else Krylov(self.name, {**self.options, "M": given.T})


@dataclass(frozen=True, eq=False)
class Own:
    """Solvers of the user's, for a matrix and for its transpose."""

    solve: Callable[..., Any]
    back: Callable[..., Any]

    def __call__(self, product: Callable[[np.ndarray], np.ndarray], rhs: np.ndarray) -> np.ndarray:
        """The solution."""
        return np.asarray(self.solve(product, rhs))

    @property
    def transposed(self) -> Own:
        """The same for the transposed matrix."""
        return Own(self.back, self.solve)


def _product(A: Any, name: str) -> Callable[[Any], Any]:
    """``v -> A v``."""
    if callable(A) and not hasattr(A, "shape"):
        return A
    if isinstance(A, scipy.sparse.linalg.LinearOperator):
        raise InvalidArgumentError(
            f"{name}: a SciPy LinearOperator cannot be looked into; give the function of tensors ``v -> A v`` itself"
        )
    if isinstance(A, SparseValues):
        return lambda v: A @ v
    if scipy.sparse.issparse(A):
        A = A.tocoo()
        indices, values, n = np.stack([A.row, A.col], 1), EagerTensor(np.asarray(A.data)), A.shape[0]
    elif hasattr(A, "dense_shape"):
        indices, values = A.indices, A.values
        shape = constant_value(A.dense_shape)
        if shape is None:
            raise InvalidArgumentError(f"{name}: needs a matrix of static shape")
        n = int(shape[0])
    else:
        matrix = as_value(A)
        return lambda v: np.matmul(matrix, v)
    rows, columns = getitem(as_value(indices), (..., 0)), getitem(as_value(indices), (..., 1))

    def product(v: Any) -> Any:
        scale = reshape(values, [-1, *[1] * (len(static_shape(v, "the vector")) - 1)])
        return unsorted_segment_sum(scale * gather(v, columns), rows, n)

    return product


def _solution(name: str, A: Any, b: Any, how: Any) -> Any:
    packed = Packed(b, f"{name}: argument `b`")
    multiply = _product(A, name)
    made = closure(
        lambda v: packed.flattened(multiply(packed.unpacked(v)), f"{name}: the product with the matrix"),
        [packed.aval], name, packed.dtype,
    )  # fmt: skip
    x = linear_solve_op(packed.vector, *made.captured, product=made.closed, how=how)
    return packed.unpacked(as_value(x))


def spsolve(A: Any, b: Any) -> Any:
    """Solve ``A x = b`` by a sparse factorization, as `scipy.sparse.linalg.spsolve` does.

    Parameters
    ----------
    A : SparseTensor, scipy.sparse matrix (also one made of a tensor), tensor of shape (n, n), or callable
        With a callable, ``v -> A v``, the pattern is found, and the matrix by few products.
    b : vector, shape (n,), or matrix, shape (n, k)

    Returns
    -------
    tensor of the shape of `b`

    Examples
    --------
    >>> import numpy as np
    >>> import tape_api as tf
    >>> from dualgrad.solvers.linear import spsolve
    >>> def solution(values):
    ...     return spsolve(tf.SparseTensor([[0, 0], [1, 1]], values, [2, 2]), np.ones(2))
    >>> tf.transforms.jacrev(solution)(np.array([2.0, 4.0])).numpy()
    array([[-0.25  , -0.    ],
           [-0.    , -0.0625]])
    """
    return _solution("spsolve", A, b, "sparse")


def cg(
    A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None, M: Any = None
) -> tuple[Any, int]:
    """Solve ``A x = b`` with a symmetric positive definite matrix by conjugate gradients, as SciPy does.

    Parameters
    ----------
    A : callable ``v -> A v``, SparseTensor, scipy.sparse matrix, or tensor of shape (n, n)
    b : vector, shape (n,), or with a callable, a structure
    x0 : array, optional
        A first guess, not used where derivatives are solved for.
    rtol, atol, maxiter, M
        As in SciPy. Errors of derivatives are about `rtol`.

    Returns
    -------
    x : tensor or structure like `b`
    info : int
        0; without convergence there is an error.

    Raises
    ------
    ConvergenceError

    Examples
    --------
    >>> import numpy as np
    >>> import tape_api as tf
    >>> from dualgrad.solvers.linear import cg
    >>> first = lambda scale: cg(lambda v: scale * v, np.array([2.0, 4.0]))[0][0]
    >>> print(np.round(tf.transforms.grad(first)(2.0), 6))
    -0.5
    """
    return _krylov("cg", A, b, rtol, atol, maxiter, M), 0


def _krylov(name: str, A: Any, b: Any, rtol: float, atol: float, maxiter: int | None, M: Any, **more: Any) -> Any:
    given = {"rtol": rtol, "atol": atol, "maxiter": maxiter, "M": M, **more}
    return _solution(name, A, b, Krylov(name, {k: v for k, v in given.items() if v is not None}))


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Any, int]:
    """Solve ``A x = b`` by generalized minimal residuals; see `cg`."""
    return _krylov("gmres", A, b, rtol, atol, maxiter, M, restart=restart), 0


def bicgstab(
    A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None, M: Any = None
) -> tuple[Any, int]:
    """Solve ``A x = b`` by stabilized biconjugate gradients; see `cg`."""
    return _krylov("bicgstab", A, b, rtol, atol, maxiter, M), 0


def custom_linear_solve(
    matvec: Callable[[Any], Any], b: Any, solve: Callable[..., Any], transpose_solve: Callable[..., Any] | None = None,
    symmetric: bool = False,
) -> Any:  # fmt: skip
    """The x with ``matvec(x) = b`` that a solver of your own finds.

    Parameters
    ----------
    matvec : callable
        A linear function of tensors. The solution is differentiable in all that it uses.
    b : tensor, or structure
    solve : callable
        ``solve(product, rhs)``: the solution, of NumPy vectors; ``product(v)`` is the matrix times a vector.
    transpose_solve : callable, optional
        The same for the transposed matrix, which reverse mode needs; by default `solve`.
    symmetric : bool
        Whether the matrix is symmetric; then `solve` serves both.

    Returns
    -------
    structure like `b`

    Examples
    --------
    >>> import numpy as np, scipy.linalg
    >>> import tape_api as tf
    >>> from dualgrad.solvers.linear import custom_linear_solve
    >>> def dense(product, rhs):
    ...     return np.linalg.solve(np.stack([product(e) for e in np.eye(rhs.size)], 1), rhs)
    >>> solution = lambda a: custom_linear_solve(lambda v: a * v, np.array([1.0, 3.0]), dense)
    >>> tf.transforms.jacrev(solution)(np.array([1.0, 2.0])).numpy()
    array([[-1.  , -0.  ],
           [-0.  , -0.75]])
    """
    back = solve if symmetric or transpose_solve is None else transpose_solve
    return _solution("custom_linear_solve", matvec, b, Own(solve, back))
