"""Derivatives that are no arrays, and what they are to code that asks for one.

*Matrices and operators.* Solvers for dense matrices fail on others somewhere inside, with errors that name neither. So
these say themselves what they are.

*The gradient of one scalar* is a sparse row, which NumPy takes as a vector.

SciPy wants the gradient of an objective as a vector of shape (n,), and the Jacobian of a constraint as a matrix, sparse
if that of the other constraints is. The same function may be either. A sparse row whose ``__array__`` is the vector is
right in both places: who asks whether it is sparse is told so, who asks for an array gets the vector.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

_TAKERS = (
    "Of SciPy's solvers, root, fsolve, leastsq, curve_fit, dogleg, trust-exact and SLSQP take arrays only: "
    'for_scipy(..., format="dense"), or p.like(format="dense") of the same function, gives these. '
)
_ASKED = {
    "sparse": f"an array was asked for, and this derivative is sparse. {_TAKERS}least_squares, trust-constr, Newton-CG "
    "and implicit methods of solve_ivp take sparse ones, and `hessp` gives products with the Hessian to trust-ncg and "
    "trust-krylov. x.toarray() is the array",
    "operator": f"an array was asked for, and this derivative is an operator, which has products only. {_TAKERS}"
    "least_squares, Newton-CG and trust-constr, for its objective, take operators, and `hessp` gives products with the "
    "Hessian to trust-ncg and trust-krylov. The Jacobian of a constraint must be a matrix",
}


class _NoArray:
    """It says so when it is taken for an array."""

    _kind = "operator"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if dtype is not None and np.dtype(dtype).kind == "O":
            # as a block of others, say
            boxed = np.empty((), object)
            boxed[()] = self
            return boxed
        raise TypeError(_ASKED[self._kind])

    @property
    def flags(self) -> NoReturn:
        """Nothing: arrays have flags."""
        raise AttributeError(_ASKED[self._kind])


class _Sparse(_NoArray):
    _kind = "sparse"


class Operator(_NoArray, LinearOperator):  # type: ignore[misc]  # SciPy has no types
    """A linear operator, which has no elements."""

    def __getitem__(self, at: Any) -> NoReturn:
        raise TypeError(_ASKED[self._kind])


class CsrDerivative(_Sparse, sparse.csr_array):  # type: ignore[misc]
    """A Jacobian or Hessian in CSR format."""


class CscDerivative(_Sparse, sparse.csc_array):  # type: ignore[misc]
    """The same in CSC format."""


class CooDerivative(_Sparse, sparse.coo_array):  # type: ignore[misc]
    """The same in COO format."""


_DERIVATIVES = {"csr": CsrDerivative, "csc": CscDerivative, "coo": CooDerivative}


_DENSE = frozenset({f"_minimize_{name}" for name in ("dogleg", "trustregion_exact", "trust_krylov", "trust_ncg")})


def require_no_dense_method() -> None:
    """Raise if a method that takes dense Hessians only asks for a sparse one, of which SciPy makes another array."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if code.co_name in _DENSE and frame.f_globals.get("__name__", "").startswith("scipy.optimize"):
            raise TypeError(f"minimize, {code.co_name.removeprefix('_minimize_')}: {_ASKED['sparse']}")
        frame = frame.f_back


def as_derivative(matrix: Any) -> Any:
    """A sparse array, with the same memory, that says what it is when it is taken for an array."""
    made = object.__new__(_DERIVATIVES[matrix.format])
    made.__dict__.update(matrix.__dict__)
    return made


class Products(Operator):
    """A derivative by its products with vectors."""

    def __init__(self, shape: tuple[int, int], matvec: Callable[[Any], Any], rmatvec: Callable[[Any], Any]) -> None:
        self._products = matvec, rmatvec
        super().__init__(np.dtype(np.float64), shape)

    def _matvec(self, x: Any) -> Any:
        return self._products[0](x)

    def _rmatvec(self, x: Any) -> Any:
        return self._products[1](x)


class _AsVector:
    toarray: Any

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        dense = np.asarray(self.toarray(), dtype)
        return dense.reshape(-1) if len(dense) == 1 else dense


class CsrGradient(_AsVector, sparse.csr_array):  # type: ignore[misc]
    """A gradient of shape (1, n) in CSR format; an array of shape (n,) where NumPy asks for one."""


class CscGradient(_AsVector, sparse.csc_array):  # type: ignore[misc]
    """The same in CSC format."""


class CooGradient(_AsVector, sparse.coo_array):  # type: ignore[misc]
    """The same in COO format."""


SPARSE_GRADIENTS = {"csr": CsrGradient, "csc": CscGradient, "coo": CooGradient}
"""By the format asked for."""
