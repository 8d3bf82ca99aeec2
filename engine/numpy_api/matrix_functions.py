"""More of ``scipy.linalg`` on values: functions of matrices and matrices of a form (see `scipy_functions`).

Functions of matrices are those of exponentials (N. J. Higham, *Functions of Matrices*, 2008, chapters 8, 11 and 12).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.eager import EagerTensor
from engine.core.operands import Operand, operands
from engine.core.value import Value, dtype_of
from engine.numpy_api.functions import Row, as_complex, by_columns, constant, length, not_taken_if, rank_of
from engine.ops import complexes, linalg, lu, matrix_functions, matrix_roots, solve


def _turned(a: Any) -> Any:
    """The exponential of i times a matrix."""
    a = as_complex(a)
    return matrix_functions.expm(a * constant(1j, a))


def _even_and_odd(a: Any) -> tuple[Any, Any]:
    """Cosine and sine of a matrix."""
    forward = _turned(a)
    if not dtype_of(a).is_complex:
        return complexes.real(forward), complexes.imag(forward)
    back = _turned(-a)
    return (forward + back) / constant(2, a), (forward - back) / constant(2j, a)


def _hyperbolic(a: Any) -> tuple[Any, Any]:
    forward, back = matrix_functions.expm(a), matrix_functions.expm(-a)
    two = constant(2, a)
    return (forward + back) / two, (forward - back) / two


def _quotient(cosine_and_sine: tuple[Any, Any]) -> Any:
    cosine, sine = cosine_and_sine
    return np.linalg.solve(cosine, sine)


@operands("A", "E")
def _expm_frechet(A: Any, E: Any, method: Any = None, compute_expm: bool = True) -> Any:
    """The derivative of an exponential is a block of that of a matrix twice as large."""
    n = length(A, 0)
    whole = matrix_functions.expm(np.block([[A, E], [np.zeros_like(A), A]]))
    return (whole[:n, :n], whole[:n, n:]) if compute_expm else whole[:n, n:]


@operands("A")
def _fractional_power(A: Any, t: Any) -> Operand:
    if isinstance(t, int) or float(t).is_integer():
        return np.linalg.matrix_power(A, int(t))
    return matrix_functions.expm(constant(t, A) * matrix_roots.logm(A))


@operands("a")
def _polar(a: Any, side: str = "right") -> tuple[Operand, Operand]:
    not_taken_if(side not in ("left", "right"))
    unitary = matrix_roots.polar_op(a)
    hermitian = linalg.adjoint(unitary) @ a if side == "right" else a @ linalg.adjoint(unitary)
    return unitary, (hermitian + linalg.adjoint(hermitian)) / 2


@operands("a", "q")
def _discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Operand:
    """Of ``a @ x @ adjoint(a) - x + q = 0``, as one system for all elements."""
    n = length(a, 0)
    system = constant(np.eye(n * n), a) - np.kron(a, np.conj(a))
    return np.reshape(np.linalg.solve(system, np.reshape(q, [-1])), [n, n])


@operands("a")
def _pinvh(a: Any, atol: Any = None, rtol: Any = None, lower: bool = True, return_rank: bool = False) -> Operand:
    not_taken_if(atol is not None or return_rank or not lower)
    return np.linalg.pinv(a, rcond=rtol, hermitian=True)


# ---- triangular factors ----------------------------------------------------------------------------------------------


@operands("a")
def _lu_factor(a: Any) -> tuple[Operand, Any]:
    """SciPy says of each row with which one it was exchanged, our op where each one came from."""
    not_taken_if(rank_of(a) != 2 or not isinstance(a, EagerTensor))
    factors, order = lu.lu(a)
    places = list(range(length(a, 0)))
    exchanged = []
    for i, row in enumerate(np.asarray(order._array).tolist()):
        k = places.index(row)
        places[i], places[k] = places[k], places[i]
        exchanged.append(k)
    return factors, np.array(exchanged, np.int32)


@operands("b")
def _lu_solve(lu_and_piv: Any, b: Any, trans: int = 0) -> Operand:
    factors, exchanged = lu_and_piv
    not_taken_if(isinstance(exchanged, Value) or trans not in (0, 1, 2))
    factors = factors if isinstance(factors, Value) else constant(factors, b)
    order = np.arange(len(exchanged))
    for i, k in enumerate(np.asarray(exchanged)):
        order[[i, k]] = order[[k, i]]
    if not trans:
        return by_columns(lambda columns: lu.lu_solve(factors, order.astype(np.int32), columns), b)
    turned = np.transpose(factors) if trans == 1 else linalg.adjoint(factors)
    ones = np.triu(turned, 1) + constant(np.eye(len(order)), turned)

    def solved(columns: Any) -> Any:
        inner = solve.triangular_solve(turned, columns, lower=True)
        return np.take(solve.triangular_solve(ones, inner, lower=False), np.argsort(order), axis=0)

    return by_columns(solved, b)


# ---- matrices of a form ----------------------------------------------------------------------------------------------


@operands("a")
def _companion(a: Any) -> Operand:
    n = length(a, -1) - 1
    not_taken_if(rank_of(a) != 1 or n < 1)
    return np.concatenate([np.reshape(-a[1:] / a[0], [1, n]), np.eye(n)[:-1]], axis=0)


@operands("a")
def _convolution_matrix(a: Any, n: int, mode: str = "full") -> Operand:
    """The matrix that convolves vectors of `n` elements with `a`."""
    m = length(a, 0)
    not_taken_if(mode not in ("full", "same", "valid"))
    rows, columns = np.ogrid[: m + n - 1, :n]
    whole = np.take(np.pad(a, (n, n)), rows - columns + n)
    if mode == "full":
        return whole
    count = max(m, n) if mode == "same" else max(m, n) - min(m, n) + 1
    start = (m + n - 1 - count) // 2 if mode == "same" else min(m, n) - 1
    return whole[start : start + count]


FUNCTIONS_OF_MATRICES: dict[str, Row] = {
    "scipy.linalg.cosm": (operands("A")(lambda A: _even_and_odd(A)[0]), "tf.linalg.expm"),
    "scipy.linalg.sinm": (operands("A")(lambda A: _even_and_odd(A)[1]), "tf.linalg.expm"),
    "scipy.linalg.tanm": (operands("A")(lambda A: _quotient(_even_and_odd(A))), "tf.linalg.expm"),
    "scipy.linalg.coshm": (operands("A")(lambda A: _hyperbolic(A)[0]), "tf.linalg.expm"),
    "scipy.linalg.sinhm": (operands("A")(lambda A: _hyperbolic(A)[1]), "tf.linalg.expm"),
    "scipy.linalg.tanhm": (operands("A")(lambda A: _quotient(_hyperbolic(A))), "tf.linalg.expm"),
    "scipy.linalg.expm_frechet": (_expm_frechet, "tf.linalg.expm"),
    "scipy.linalg.fractional_matrix_power": (_fractional_power, "tf.linalg.expm"),
    "scipy.linalg.polar": (_polar, "tf.linalg.svd"),
    "scipy.linalg.solve_discrete_lyapunov": (_discrete_lyapunov, "tf.linalg.solve"),
    "scipy.linalg.lu_factor": (_lu_factor, "tf.linalg.lu"),
    "scipy.linalg.lu_solve": (_lu_solve, "tf.linalg.lu_solve"),
    "scipy.linalg.pinvh": (_pinvh, "tf.linalg.pinv"),
    "scipy.linalg.companion": (_companion, "tf.concat"),
    "scipy.linalg.convolution_matrix": (_convolution_matrix, "tf.gather"),
}
"""As `engine.numpy_api.scipy_functions.SCIPY`."""
