"""Square roots, logarithms and polar factors of matrices, Sylvester's equation.

The derivative of a logarithm is a block of that of a matrix twice as large, those of a square root and of a polar
factor solve Sylvester's equation: N. J. Higham, *Functions of Matrices*, 2008, sections 3.2, 6.1 and 8.1. So they need
no differences of eigenvalues or singular values, and are right where these are equal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.aval import Aval, broadcast_shapes
from engine.core.batching import leading
from engine.core.kinds import general, of_matrices
from engine.core.op import Op
from engine.core.operands import Operand, operands
from engine.core.sparsity import rowwise
from engine.core.structural import sum_to_like
from engine.ops.lapack import numpy_linalg, scipy_linalg
from engine.ops.linalg import adjoint, matmul
from engine.ops.matrix_functions import block, embed_block
from engine.ops.quadrature import gauss_legendre
from engine.ops.solve import check_matrix, finite, square_abstract
from engine.runtime import elementary
from engine.runtime.lazy_scipy import scipy

DEGREE, CLOSE = 16, 0.749
"""How many terms the logarithm has, and how far from the identity they are exact: Al-Mohy and Higham, table 2.1."""


def _logarithm(a: Any) -> np.ndarray:
    """Principal logarithm by roots of the Schur form and a Pade approximant.

    A. H. Al-Mohy and N. J. Higham, "Improved inverse scaling and squaring algorithms for the matrix logarithm", SIAM J.
    Sci. Comput. 34 (2012). SciPy's `logm` estimates norms with random numbers of NumPy's global state, so its last bits
    differ from call to call; here they are computed.
    """
    if a.dtype.kind == "c":
        t, z = scipy_linalg.schur(a.astype(np.complex128), "complex")
    else:
        # eigenvalues that are real stay so
        t, z = scipy_linalg.rsf2csf(*scipy_linalg.schur(a.astype(np.float64)))
    on = np.diag_indices(len(a))
    # as in SciPy, a zero is a tiny number
    t[on] = np.where(t[on] == 0, 1e-20, t[on])
    logarithms, root, roots = elementary.log(t[on]), t, 0
    while True:
        x = root - np.eye(len(a))
        x[on] = elementary.expm1(logarithms / 2.0**roots)
        x2 = x @ x
        second, third, fourth = (np.linalg.norm(p, 1) ** (1 / k) for k, p in ((2, x2), (3, x2 @ x), (4, x2 @ x2)))
        if not max(third, min(second, fourth)) > CLOSE or roots == 100:
            break
        root, roots = scipy_linalg.sqrtm(root), roots + 1
    logarithm = np.zeros_like(t)
    for node, weight in zip(*gauss_legendre(DEGREE), strict=True):
        logarithm += scipy_linalg.solve_triangular(np.eye(len(a)) + node * x, weight * x)
    logarithm *= 2.0**roots
    logarithm[on] = logarithms
    return z @ logarithm @ z.conj().T


def _kernel(name: str, of_one: Callable[[np.ndarray], np.ndarray]) -> Callable[[Any], np.ndarray]:
    def kernel(x: Any) -> np.ndarray:
        if not x.size:
            return np.zeros_like(x)
        roots = np.array([of_one(m) for m in x.reshape(-1, *x.shape[-2:])]).reshape(x.shape)
        if roots.dtype.kind == "c" and x.dtype.kind != "c":
            if np.any(np.abs(roots.imag) > np.sqrt(np.finfo(x.dtype).eps) * np.max(np.abs(roots), initial=1.0)):
                raise np.linalg.LinAlgError(f"{name} of this real matrix is complex; cast the matrix to complex first")
            roots = roots.real
        return np.ascontiguousarray(roots, x.dtype)

    return kernel


def _of_matrices(name: str, of_one: Callable[[np.ndarray], np.ndarray], vjp: Any, jvp: Any, doc: str) -> Op:
    """A function of square matrices, which `of_one` gives for one, and its rules."""
    return general(
        f"{name}_op",
        _kernel(name, of_one),
        square_abstract(name),
        vjp=(vjp,),
        jvp=(jvp,),
        batch=leading(2),
        strict=False,
        refuses=True,
        args=("input",),
        sparsity=rowwise(2, results=(2,)),
        doc=doc,
    )


def _block_change(t: Any, x: Any) -> Operand:
    both = embed_block(x, row=0, column=0) + embed_block(x, row=1, column=1)
    return block(logm_op(both + embed_block(t, row=0, column=1)), row=0, column=1)


def _logm_vjp(ct: Any, out: Any, x: Any) -> Operand:
    root = adjoint(sqrtm_op(x))
    return sylvester_op(root, root, 2 * _block_change(ct, root))


def _logm_jvp(t: Any, out: Any, x: Any) -> Operand:
    """Twice that of the root, whose eigenvalues lie far from the branch cut."""
    root = sqrtm_op(x)
    return 2 * _block_change(sylvester_op(root, root, t), root)


# of a root the equation ``root @ d + d @ root = t`` says it for this root, also where eigenvalues lie on the branch cut
sqrtm_op = _of_matrices(
    "sqrtm",
    lambda m: scipy_linalg.sqrtm(m),
    lambda ct, out, x: sylvester_op(adjoint(out), adjoint(out), ct),
    lambda t, out, x: sylvester_op(out, out, t),
    "Principal square root of square matrices.",
)
logm_op = _of_matrices("logm", _logarithm, _logm_vjp, _logm_jvp, "Principal logarithm of square matrices.")


@operands("input")
def sqrtm(input: Any) -> Operand:
    """Principal square root of square matrices, shape (..., n, n).

    Raises
    ------
    InvalidArgumentError
        If that of a real matrix is complex.

    Examples
    --------
    >>> sqrtm(np.array([[4., 0.], [0., 9.]]))
    array([[2., 0.],
           [0., 3.]])
    """
    return sqrtm_op(input)


@operands("input")
def logm(input: Any) -> Operand:
    """Principal logarithm of square matrices, shape (..., n, n) (see `sqrtm`).

    Examples
    --------
    >>> logm(np.eye(2))
    array([[0., 0.],
           [0., 0.]])
    """
    return logm_op(input)


# ---- Sylvester's equation --------------------------------------------------------------------------------------------


def _schur(x: Any) -> tuple[np.ndarray, np.ndarray]:
    """Schur forms of matrices, and the bases in which they have them."""
    found = [scipy_linalg.schur(m) for m in x.reshape(-1, *x.shape[-2:])] if x.size else [(x, x)]
    form, basis = (np.array(part).reshape(x.shape) for part in zip(*found, strict=True))
    return form, basis


def _sylvester_kernel(a: Any, b: Any, q: Any) -> np.ndarray:
    """By Schur forms (R. H. Bartels, G. W. Stewart, CACM 15, 1972); NaN where LAPACK solves another equation."""
    (left, u), (right, v) = _schur(a), _schur(np.conj(np.swapaxes(b, -1, -2)))
    x = np.matmul(np.matmul(np.conj(np.swapaxes(u, -1, -2)), q), v)
    left, right = (np.broadcast_to(m, x.shape[:-2] + m.shape[-2:]) for m in (left, right))
    trsyl = scipy.linalg.get_lapack_funcs("trsyl", (left, right, x))
    for i in np.ndindex(x.shape[:-2] if x.size else 0):
        solution, scale, changed = trsyl(left[i], right[i], x[i], tranb="C")
        x[i] = np.nan if changed else solution / scale
    return np.matmul(np.matmul(u, x), np.conj(np.swapaxes(v, -1, -2)))


def _sylvester_abstract(a: Aval, b: Aval, q: Aval) -> Aval:
    check_matrix("solve_sylvester", a, "a", square=True)
    check_matrix("solve_sylvester", b, "b", square=True)
    check_matrix("solve_sylvester", q, "q")
    if a.shape is None or b.shape is None or q.shape is None:
        return Aval(None, q.dtype)
    stack = broadcast_shapes("solve_sylvester", a.shape[:-2], b.shape[:-2], q.shape[:-2]) or ()
    return Aval((*stack, *q.shape[-2:]), q.dtype)


def _back(ct: Any, a: Any, b: Any) -> Operand:
    return sylvester_op(adjoint(a), adjoint(b), ct)


sylvester_op = general(
    "sylvester_op",
    _sylvester_kernel,
    _sylvester_abstract,
    vjp=(
        lambda ct, out, a, b, q: -sum_to_like(matmul(_back(ct, a, b), out, adjoint_b=True), a),
        lambda ct, out, a, b, q: -sum_to_like(matmul(out, _back(ct, a, b), adjoint_a=True), b),
        lambda ct, out, a, b, q: sum_to_like(_back(ct, a, b), q),
    ),
    jvp=(
        lambda t, out, a, b, q: -sylvester_op(a, b, matmul(t, out)),
        lambda t, out, a, b, q: -sylvester_op(a, b, matmul(out, t)),
        lambda t, out, a, b, q: sylvester_op(a, b, t),
    ),
    batch=leading(2, 2, 2),
    strict=False,
    refuses=True,
    args=("a", "b", "q"),
    sparsity=rowwise(2, 2, 2, results=(2,)),
    doc="The solution x of ``a @ x + x @ b = q``.",
)


# ---- polar factors ---------------------------------------------------------------------------------------------------


def _polar_kernel(x: Any) -> np.ndarray:
    u, _, vh = numpy_linalg.svd(finite("polar", x), full_matrices=False)
    return np.matmul(u, vh)


def _polar_abstract(x: Aval) -> Aval:
    check_matrix("polar", x, "a")
    return x


def _polar_change(d: Any, u: Any, x: Any) -> Operand:
    """How the factor `u` changes with `x` in the direction `d`; this map is its own adjoint.

    The change c solves ``left @ c + c @ right = d - u @ adjoint(d) @ u`` with both Hermitian factors. The solution for
    the second term is made of that for the first.
    """
    left, right = matmul(x, u, adjoint_b=True), matmul(u, x, adjoint_a=True)
    half = sylvester_op(left, right, d)
    return half - matmul(u, matmul(half, u, adjoint_a=True))


polar_op = of_matrices(
    "polar_op",
    _polar_kernel,
    _polar_abstract,
    vjp=lambda ct, out, x: _polar_change(ct, out, x),
    jvp=lambda t, out, x: _polar_change(t, out, x),
    results=(2,),
    args=("a",),
    doc="The nearest matrices with orthonormal columns (rows, if these are fewer): the unitary polar factor.",
)
