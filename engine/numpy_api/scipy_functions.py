"""SciPy's signatures for our functions, by SciPy's names (see `dualgrad.frontend.scipy_modules`).

They are written with NumPy's functions and our ops, so derivatives, graphs and batches follow. Arguments that only say
how SciPy is to go about it (`overwrite_a`, `check_finite`, `workers`) are left out.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core import structural
from engine.core.detach import looked_at
from engine.core.eager import EagerTensor
from engine.core.nest import flatten
from engine.core.operands import Operand, operands
from engine.core.value import Value, dtype_of, shape_of
from engine.numpy_api import fourier, sparse_values
from engine.numpy_api.calculus import CALCULUS, strips
from engine.numpy_api.decompositions import DECOMPOSITIONS
from engine.numpy_api.functions import (
    RECORDED,
    NotTaken,
    Row,
    as_complex,
    at_least,
    by_columns,
    constant,
    flat,
    inexact,
    length,
    not_taken_if,
    rank_of,
)
from engine.numpy_api.images import IMAGES, along
from engine.numpy_api.matrix_functions import FUNCTIONS_OF_MATRICES
from engine.ops import (
    decompose,
    determinants,
    eig,
    linalg,
    matrix_functions,
    matrix_roots,
    nn,
    reduce,
    scipy_special,
    shape,
    solve,
    special,
)
from engine.ops.axis_args import reduction_axes
from engine.ops.banded import banded_solve_op
from engine.ops.lift import conversion
from engine.runtime.lazy_scipy import scipy

HOW = frozenset(
    {
        *("check_finite", "lapack_driver", "plan", "workers"),
        *("overwrite_a", "overwrite_ab", "overwrite_b", "overwrite_c", "overwrite_x"),
    }
)
"""Arguments that do not change what is computed."""

# ---- scipy.special ---------------------------------------------------------------------------------------------------


_convert = conversion("logsumexp", ("a", "b"), (), ("b",), EagerTensor)


def _logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: Any = False, return_sign: bool = False) -> Any:
    numbers = b is not None and not any(isinstance(v, Value) for v in flatten(b))
    given = {"a": a, "b": b}
    _convert(given)
    a, b = given.values()
    a = inexact(a)
    if b is None and not return_sign:
        return reduce.reduce_logsumexp(a, axis, keepdims)
    not_taken_if(dtype_of(a).is_complex)
    # what has the weight 0 is no part of the sum, however large it is
    counted = a if b is None else np.where(np.equal(b, constant(0, a)), constant(-np.inf, a), a)
    largest = shape.stop_gradient(np.max(counted, axis=axis, keepdims=True))
    shift = np.where(np.isfinite(largest), largest, constant(0, a))
    if numbers and not return_sign and np.all(b._array >= 0):
        # a share of nearly all of this sum changes by what the others change
        total = reduce.reduce_logsumexp(counted - shift + np.log(b), axis, keepdims)
        return total + shape.reshape(shift, shape.shape(total))
    terms = np.exp(a - shift)
    total = np.sum(terms if b is None else structural.scale(b, terms), axis=axis, keepdims=keepdims)
    shift = shape.reshape(largest, shape.shape(total))
    if not return_sign:
        return np.log(total) + shift
    return np.log(np.abs(total)) + shift, np.sign(total)


def _over(name: str, op: Any) -> Callable[..., Operand]:
    """A function of SciPy's along any axes, by default all."""

    @operands("x")
    def apply(x: Any, axis: Any = None) -> Operand:
        x = inexact(x)
        rows = shape.reshape(x, (1,)) if shape_of(x) == () else x
        axes = None if axis is None else reduction_axes(name, x, axis)
        return structural.reshape_like(op(rows, axis=axes[0] if axes is not None and len(axes) == 1 else axes), x)

    return apply


@operands("x")
def _polygamma(n: Any, x: Any) -> Operand:
    not_taken_if(isinstance(n, Value))
    return special.polygamma(constant(n, x), x)


@operands("a")
def _multigammaln(a: Any, d: Any) -> Operand:
    not_taken_if(isinstance(d, Value) or d != int(d))
    total: Any = d * (d - 1) / 4 * math.log(math.pi)
    for i in range(int(d)):
        total = special.lgamma(a - i / 2) + total
    return total


@operands("N", "k")
def _comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Operand:
    not_taken_if(exact)
    if repetition:
        N = N + k - 1
    inside = np.logical_and(k <= N, np.logical_and(N >= 0 * N, k >= 0 * k))
    return np.where(inside, scipy_special.binom(N, k), constant(0, N))


@operands("N", "k")
def _perm(N: Any, k: Any, exact: bool = False) -> Operand:
    not_taken_if(exact)
    inside = np.logical_and(k <= N, np.logical_and(N >= 0 * N, k >= 0 * k))
    return np.where(inside, scipy_special.poch(N - k + 1, k), constant(0, N))


@operands("n")
def _factorial(n: Any, exact: bool = False) -> Operand:
    not_taken_if(exact)
    return np.where(n < 0 * n, constant(0, n), scipy_special.gamma(n + 1))


def _spherical(kind: str) -> Callable[..., Any]:
    @operands("z")
    def apply(n: Any, z: Any, derivative: bool = False) -> Operand:
        not_taken_if(isinstance(n, Value) or dtype_of(z).is_complex or not dtype_of(z).is_differentiable)
        n = constant(n, z)
        if derivative:
            return scipy_special.spherical_slope(n, z, kind=kind)
        return scipy_special.spherical_bessel(n, z, kind=kind)

    return apply


# ---- scipy.linalg ----------------------------------------------------------------------------------------------------


def _whole(a: Any, lower: bool, conjugate: bool = True) -> Any:
    """The symmetric, or Hermitian, matrix of which one triangle is looked at."""
    half = np.tril(a) if lower else np.triu(a)
    turned = np.transpose(half)
    other = np.conj(turned) if conjugate else turned
    return half + (np.triu(other, 1) if lower else np.tril(other, -1))


@operands("a", "b")
def _solve(a: Any, b: Any, lower: bool = False, *, assume_a: Any = None, transposed: bool = False) -> Operand:
    kind = {"gen": None, "sym": "symmetric", "her": "hermitian", "pos": "positive definite"}.get(assume_a, assume_a)
    if kind in ("symmetric", "hermitian", "positive definite"):
        a = _whole(a, lower, kind != "symmetric")
    elif kind in ("upper triangular", "lower triangular"):
        return _solve_triangular(a, b, trans=int(transposed), lower=kind == "lower triangular")
    elif kind not in (None, "general", "banded", "tridiagonal", "diagonal"):
        raise NotTaken
    a = np.transpose(a) if transposed else a
    return by_columns(lambda side: solve.solve(a, side), b)


@operands("a", "b")
def _solve_triangular(a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False) -> Operand:
    if unit_diagonal:
        a = np.tril(a, -1) + np.triu(a, 1) + np.diag(np.ones(length(a, 0)))
    how = {0: 0, "N": 0, 1: 1, "T": 1, 2: 2, "C": 2}[trans]
    if how == 1 and dtype_of(a).is_complex:
        a = np.conj(a)
    return by_columns(lambda side: solve.triangular_solve(a, side, lower, how > 0), b)


@operands("a")
def _cholesky(a: Any, lower: bool = False) -> Operand:
    factor = decompose.cholesky(_whole(a, lower))
    return factor if lower else linalg.adjoint(factor)


@operands("a")
def _cho_factor(a: Any, lower: bool = False) -> Any:
    return _cholesky(a, lower), lower


@operands("b")
def _cho_solve(c_and_lower: Any, b: Any) -> Operand:
    c, lower = c_and_lower
    c = c if isinstance(c, Value) else constant(c, b)
    factor = c if lower else linalg.adjoint(c)
    return by_columns(lambda side: solve.cholesky_solve(factor, side), b)


@operands("ab", "b")
def _solve_banded(l_and_u: Any, ab: Any, b: Any) -> Operand:
    lower, upper = (int(n) for n in l_and_u)
    return by_columns(lambda side: banded_solve_op(ab, side, lower=lower, upper=upper, adjoint=False), b)


@operands("ab", "b")
def _solveh_banded(ab: Any, b: Any, lower: bool = False) -> Operand:
    width, n = length(ab, 0) - 1, length(ab, 1)
    rows = [ab[i] for i in range(width + 1)] if lower else [ab[width - i] for i in range(width + 1)]
    below = [row[: n - i] if lower else np.conj(row[i:]) for i, row in enumerate(rows)]
    bands = [np.pad(np.conj(below[i]), (i, 0)) for i in range(width, 0, -1)]
    bands += [np.pad(row, (0, i)) for i, row in enumerate(below)]
    return _solve_banded((width, width), np.stack(bands), b)


@operands("c", "r")
def _toeplitz(c: Any, r: Any = None) -> Operand:
    c = flat(c)
    r = np.conj(c) if r is None else flat(r)
    rows, columns = np.ogrid[: length(c, 0), : length(r, 0)]
    places = np.where(rows >= columns, rows - columns, length(c, 0) - 1 + columns - rows)
    return np.take(np.concatenate([c, r[1:]]), places)


@operands("c", "r")
def _hankel(c: Any, r: Any = None) -> Operand:
    c = flat(c)
    r = np.zeros_like(c) if r is None else flat(r)
    rows, columns = np.ogrid[: length(c, 0), : length(r, 0)]
    return np.take(np.concatenate([c, r[1:]]), rows + columns)


@operands("c")
def _circulant(c: Any) -> Operand:
    n = length(c, -1)
    rows, columns = np.ogrid[:n, :n]
    # the identity: a gradient with respect to the operand itself is to be a tensor, not rows of one
    return np.take(shape.identity(c), (rows - columns) % n, axis=-1)


def _solve_toeplitz(c_or_cr: Any, b: Any) -> Operand:
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    like = next(x for x in (c, r, b) if isinstance(x, Value))
    c, r, b = (x if x is None or isinstance(x, Value) else constant(x, like) for x in (c, r, b))
    return _solve(_toeplitz(c, r), b)


@operands("*arrs")
def _block_diag(*arrs: Any) -> Operand:
    blocks = [at_least([x], 2) for x in arrs]
    widths = [length(x, 1) for x in blocks]
    rows = [np.pad(x, ((0, 0), (sum(widths[:i]), sum(widths[i + 1 :])))) for i, x in enumerate(blocks)]
    return np.concatenate(rows, axis=0)


@operands("a")
def _pinv(a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False) -> Operand:
    not_taken_if(atol is not None or return_rank)
    most = max(length(a, -1), length(a, -2)) * float(np.finfo(dtype_of(a).numpy).eps)
    return matrix_functions.pinv(a, most if rtol is None else rtol)


@operands("a", "b")
def _eigh(a: Any, b: Any = None, *, lower: bool = True, eigvals_only: bool = False, subset_by_index: Any = None) -> Any:
    a = _whole(a, lower)
    factor: Any = None
    if b is not None:
        factor = decompose.cholesky(_whole(b, lower))
        half = solve.triangular_solve(factor, a)
        a = linalg.adjoint(solve.triangular_solve(factor, linalg.adjoint(half)))
        a = (a + linalg.adjoint(a)) / 2
    chosen = slice(None) if subset_by_index is None else slice(subset_by_index[0], subset_by_index[1] + 1)
    if eigvals_only:
        return decompose.eigvalsh(a)[chosen]
    values, vectors = decompose.eigh(a)
    if factor is not None:
        vectors = solve.triangular_solve(factor, vectors, adjoint=True)
    return values[chosen], vectors[:, chosen]


@operands("a", "b")
def _eigvalsh(a: Any, b: Any = None, *, lower: bool = True, subset_by_index: Any = None) -> Any:
    return _eigh(a, b, lower=lower, eigvals_only=True, subset_by_index=subset_by_index)


@operands("a")
def _eig(a: Any, *, right: bool = True) -> Any:
    return eig.eig(a) if right else eig.eigvals(a)


@operands("a")
def _qr(a: Any, *, mode: str = "full") -> Any:
    not_taken_if(mode not in ("full", "economic", "r"))
    q, r = decompose.qr(a, mode != "economic")
    return (r,) if mode == "r" else (q, r)


@operands("a", "b", "q")
def _solve_sylvester(a: Any, b: Any, q: Any) -> Operand:
    return matrix_roots.sylvester_op(a, b, q)


@operands("a", "q")
def _solve_lyapunov(a: Any, q: Any) -> Operand:
    return matrix_roots.sylvester_op(a, linalg.adjoint(a), q)


@operands("A")
def _sqrtm(A: Any) -> Operand:
    """Complex, as SciPy's, where a real matrix has negative eigenvalues; if its array is there."""
    if isinstance(A, EagerTensor) and not A.dtype.is_complex:
        values = np.linalg.eigvals(A._array)
        if np.any((values.real < 0) & (abs(values.imag) <= 1e-12 * abs(values.real))):
            looked_at(A)
            A = as_complex(A)
    return matrix_roots.sqrtm(A)


@operands("a", "b")
def _khatri_rao(a: Any, b: Any) -> Operand:
    return np.reshape(a[:, None, :] * b[None, :, :], [length(a, 0) * length(b, 0), length(a, 1)])


# ---- scipy.fft, scipy.integrate --------------------------------------------------------------------------------------


def _renamed(function: Callable[..., Any], **names: str) -> Callable[..., Any]:
    """Our function for one of NumPy's, its parameters under the names that they have in SciPy."""
    signature, own = inspect.signature(function), {theirs: ours for ours, theirs in names.items()}

    def apply(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **{own.get(key, key): x for key, x in kwargs.items()})

    parameters = [p.replace(name=names.get(p.name, p.name)) for p in signature.parameters.values()]
    made: Any = apply
    made.__signature__ = signature.replace(parameters=parameters)
    made.__operands__ = tuple([tuple([names.get(n, n) for n in part]) for part in function.__operands__])  # type: ignore[attr-defined]
    return made


def _cosines(name: str) -> Callable[..., Any]:
    """A real transform, as the matrix that SciPy makes of unit vectors."""

    @operands("x")
    def apply(
        x: Any, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None, orthogonalize: Any = None
    ) -> Operand:
        not_taken_if(n is not None)
        x = inexact(x)
        how = {"type": type, "norm": norm, "orthogonalize": orthogonalize}
        return along(x, axis, lambda e: getattr(scipy.fft, name)(e, axis=0, **how))

    return apply


@operands("y", "x")
def _cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Operand:
    out = np.cumsum(strips(y, x, dx, axis), axis=-1)
    if initial is not None:
        out = np.pad(out, [(0, 0)] * (rank_of(out) - 1) + [(1, 0)])
    return np.moveaxis(out, -1, axis)


@operands("y")
def _simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Operand:
    # of a number of intervals that is odd the last one counts as SciPy has it: the weights tell
    not_taken_if(isinstance(x, Value))
    n = length(y, axis)
    weights = scipy.integrate.simpson(np.eye(n), x=x, dx=dx, axis=0)
    return np.tensordot(np.moveaxis(y, axis, -1), constant(weights, y), 1)


SCIPY: dict[str, Row] = {
    **IMAGES,
    **FUNCTIONS_OF_MATRICES,
    "scipy.special.logsumexp": (_logsumexp, "tf.reduce_logsumexp"),
    "scipy.special.softmax": (_over("softmax", nn.softmax_op), "tf.nn.softmax"),
    "scipy.special.log_softmax": (_over("log_softmax", nn.log_softmax_op), "tf.nn.log_softmax"),
    "scipy.special.polygamma": (_polygamma, "tf.math.polygamma"),
    "scipy.special.multigammaln": (_multigammaln, "tf.math.lgamma"),
    "scipy.special.comb": (_comb, "tf.math.lgamma"),
    "scipy.special.perm": (_perm, "tf.math.lgamma"),
    "scipy.special.factorial": (_factorial, "tf.math.lgamma"),
    "scipy.special.spherical_jn": (_spherical("j"), "tf.math.sin"),
    "scipy.special.spherical_in": (_spherical("i"), "tf.math.sinh"),
    "scipy.special.spherical_yn": (_spherical("y"), "tf.math.cos"),
    "scipy.special.spherical_kn": (_spherical("k"), "tf.math.exp"),
    # ---- matrices
    "scipy.linalg.solve": (_solve, "tf.linalg.solve"),
    "scipy.linalg.solve_triangular": (_solve_triangular, "tf.linalg.triangular_solve"),
    "scipy.linalg.solve_banded": (_solve_banded, "tf.linalg.solve"),
    "scipy.linalg.solveh_banded": (_solveh_banded, "tf.linalg.solve"),
    "scipy.linalg.solve_toeplitz": (_solve_toeplitz, "tf.linalg.solve"),
    "scipy.linalg.solve_sylvester": (_solve_sylvester, "tf.linalg.solve"),
    "scipy.linalg.solve_continuous_lyapunov": (_solve_lyapunov, "tf.linalg.solve"),
    "scipy.linalg.solve_lyapunov": (_solve_lyapunov, "tf.linalg.solve"),
    "scipy.linalg.cholesky": (_cholesky, "tf.linalg.cholesky"),
    "scipy.linalg.cho_factor": (_cho_factor, "tf.linalg.cholesky"),
    "scipy.linalg.cho_solve": (_cho_solve, "tf.linalg.cholesky_solve"),
    "scipy.linalg.inv": (operands("a")(lambda a: solve.inv(a)), "tf.linalg.inv"),
    "scipy.linalg.det": (operands("a")(lambda a: determinants.det(a)), "tf.linalg.det"),
    "scipy.linalg.pinv": (_pinv, "tf.linalg.pinv"),
    "scipy.linalg.lstsq": (_renamed(RECORDED[np.linalg.lstsq][0], rcond="cond"), "tf.linalg.lstsq"),
    "scipy.linalg.eigh": (_eigh, "tf.linalg.eigh"),
    "scipy.linalg.eigvalsh": (_eigvalsh, "tf.linalg.eigvalsh"),
    "scipy.linalg.eig": (_eig, "tf.linalg.eig"),
    "scipy.linalg.eigvals": (operands("a")(lambda a: eig.eigvals(a)), "tf.linalg.eigvals"),
    "scipy.linalg.svd": (DECOMPOSITIONS[np.linalg.svd][0], "tf.linalg.svd"),
    "scipy.linalg.svdvals": (operands("a")(lambda a: np.linalg.svdvals(a)), "tf.linalg.svd"),
    "scipy.linalg.qr": (_qr, "tf.linalg.qr"),
    "scipy.linalg.norm": (_renamed(RECORDED[np.linalg.norm][0], x="a"), "tf.norm"),
    "scipy.linalg.expm": (operands("A")(lambda A: matrix_functions.expm(A)), "tf.linalg.expm"),
    "scipy.linalg.sqrtm": (_sqrtm, "tf.linalg.eigh"),
    "scipy.linalg.logm": (operands("A")(lambda A: matrix_roots.logm(A)), "tf.linalg.eigh"),
    "scipy.linalg.toeplitz": (_toeplitz, "tf.gather"),
    "scipy.linalg.hankel": (_hankel, "tf.gather"),
    "scipy.linalg.circulant": (_circulant, "tf.gather"),
    "scipy.linalg.block_diag": (_block_diag, "tf.concat and tf.pad"),
    "scipy.linalg.khatri_rao": (_khatri_rao, "tf.einsum"),
    # ---- transforms, integrals
    **{
        f"scipy.fft.{name}": (
            _renamed(fourier.TRANSFORMS[getattr(np.fft, name)][0], a="x"),
            f"tf.signal.{name}" if "h" not in name else "tf.signal.rfft",
        )
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    },
    **{
        f"scipy.fft.{name}{suffix}": (
            _renamed(fourier.TRANSFORMS[getattr(np.fft, name + suffix)][0], a="x"),
            f"tf.signal.{name}",
        )
        for name in ("fft", "ifft", "rfft", "irfft")
        for suffix in ("2", "n")
    },
    **{f"scipy.fft.{name}": (_cosines(name), "tf.matmul") for name in ("dct", "idct", "dst", "idst")},
    "scipy.sparse.diags": (sparse_values.diagonals, "tf.linalg.diag"),
    "scipy.sparse.diags_array": (sparse_values.diagonals, "tf.linalg.diag"),
    "scipy.integrate.trapezoid": (CALCULUS[np.trapezoid][0], "tf.reduce_sum of slices"),
    "scipy.integrate.cumulative_trapezoid": (_cumulative_trapezoid, "tf.cumsum"),
    "scipy.integrate.simpson": (_simpson, "tf.tensordot"),
}
"""SciPy's function, ours, and the name users know ours by."""
