"""Distributions of vectors and matrices by SciPy's names (https://docs.scipy.org/doc/scipy/reference/stats.html)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from engine.core.detach import looked_at
from engine.core.eager import EagerTensor
from engine.core.operands import Operand, operands
from engine.core.value import Value
from engine.numpy_api.functions import NotTaken, constant, length, not_taken_if, rank_of
from engine.numpy_api.stats.distribution import in_one_dtype
from engine.ops import decompose, diagonal, solve
from engine.ops import shape as shapes
from engine.ops.compare import cast_like, where
from engine.ops.scipy_special import log_of_power
from engine.ops.special import lgamma
from engine.runtime.lazy_scipy import scipy

Form = tuple[Any, Any, Any]
"""Of a covariance: what turns differences into independent ones, the logarithm of its determinant, its rank."""

# ---- normal and Student's t ------------------------------------------------------------------------------------------


def _points(x: Any, dim: int) -> Any:
    if rank_of(x) == 0:
        return np.reshape(x, [1, 1])
    if rank_of(x) == 1:
        return np.expand_dims(x, 1 if dim == 1 else 0)
    return x


def _parameters(x: Any, center: Any, spread: Any) -> tuple[Any, Any, Any]:
    """Points in rows, the center as a vector, and the covariance as a matrix."""
    if not isinstance(spread, (Value, np.ndarray, np.generic, int, float, list, tuple)):
        raise NotTaken  # an object of SciPy's own
    if center is None:
        x, spread = in_one_dtype([x, spread])
        center = constant(np.zeros(length(spread, 0) if rank_of(spread) == 2 else 1), x)
    x, center, spread = in_one_dtype([x, center, spread])
    center = np.reshape(center, [-1])
    dim = length(center, 0)
    not_taken_if(rank_of(spread) == 1 and length(spread, 0) != dim)
    if rank_of(spread) < 2:
        spread = diagonal.matrix_diag(np.broadcast_to(np.reshape(spread, [-1]), [dim]))
    not_taken_if(length(spread, 0) != dim or length(spread, 1) != dim)
    return _points(x, dim), center, spread


def _form(spread: Any, allow_singular: bool, differences: Any) -> Form:
    if not allow_singular:
        factor = decompose.cholesky(spread)
        columns = shapes.matrix_transpose(differences) if rank_of(differences) > 1 else differences
        white = shapes.matrix_transpose(solve.triangular_solve(factor, columns))
        log_det = 2.0 * np.sum(np.log(np.diagonal(factor)))
        return white, log_det, float(length(spread, 0))
    values, vectors = decompose.eigh(spread)
    kept = values > 1e6 * float(np.finfo(spread.dtype.as_numpy_dtype).eps) * np.max(np.abs(values))
    safe = where(kept, values, constant(1.0, values))
    scale = where(kept, safe**-0.5, constant(0.0, values))
    rank = np.sum(cast_like(kept, values))
    return differences @ vectors * scale, np.sum(np.log(safe)), rank


def _flattened(x: Any, center: Any) -> tuple[Any, list[int]]:
    """Differences in rows, and the shape of what there is for each of them."""
    lead = [length(x, i) for i in range(rank_of(x) - 1)]
    return np.reshape(x - center, [-1, length(center, 0)]), lead


def _squeezed(out: Any, lead: list[int]) -> Any:
    return np.reshape(out, [n for n in lead if n != 1])


def _normal(x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Operand:
    x, mean, cov = _parameters(x, mean, cov)
    differences, lead = _flattened(x, mean)
    white, log_det, rank = _form(cov, allow_singular, differences)
    out = -0.5 * (rank * math.log(2 * math.pi) + log_det + np.sum(np.square(white), axis=-1))
    if allow_singular:
        # what lies outside of the plane of the distribution
        back = differences - _projected(cov, differences)
        out = where(np.max(np.abs(back), axis=-1) < 1e-3, out, constant(-np.inf, out))
    return _squeezed(out, lead)


def _projected(cov: Any, differences: Any) -> Any:
    values, vectors = decompose.eigh(cov)
    kept = values > 1e6 * float(np.finfo(cov.dtype.as_numpy_dtype).eps) * np.max(np.abs(values))
    return (differences @ vectors * cast_like(kept, values)) @ shapes.matrix_transpose(vectors)


def _normal_entropy(mean: Any = None, cov: Any = 1) -> Operand:
    _, mean, cov = _parameters(0.0 if mean is None else mean, mean, cov)
    _, log_det, rank = _form(cov, True, constant(np.zeros((1, length(mean, 0))), cov))
    return 0.5 * (rank * (math.log(2 * math.pi) + 1) + log_det) + 0.0 * np.sum(mean)


def _student(x: Any, loc: Any = None, shape: Any = 1, df: Any = 1, allow_singular: bool = False) -> Operand:
    x, loc, shape = _parameters(x, loc, shape) if isinstance(x, Value) else _parameters_beside(x, loc, shape, df)
    x, df = in_one_dtype([x, df])
    not_taken_if(rank_of(df))
    differences, lead = _flattened(x, loc)
    white, log_det, rank = _form(shape, allow_singular, differences)
    half = 0.5 * (df + rank)
    start = lgamma(half) - lgamma(0.5 * df) - 0.5 * rank * np.log(df * math.pi) - 0.5 * log_det
    return _squeezed(start - half * np.log1p(np.sum(np.square(white), axis=-1) / df), lead)


def _parameters_beside(x: Any, loc: Any, shape: Any, df: Any) -> tuple[Any, Any, Any]:
    """Perhaps the degrees of freedom alone are a value."""
    like = next(v for v in (loc, shape, df) if isinstance(v, Value))
    return _parameters(constant(x, like), loc, shape)


# ---- on the simplex --------------------------------------------------------------------------------------------------


@operands("x", "alpha")
def _dirichlet(x: Any, alpha: Any) -> Operand:
    """Of points in columns, as SciPy has them; of their last component nothing need be given."""
    if length(x, 0) + 1 == length(alpha, 0):
        x = np.concatenate([x, 1.0 - np.sum(x, axis=0, keepdims=True)], axis=0)
    if isinstance(x, EagerTensor):
        looked_at(x)
        if np.any(x._array < 0) or np.any(abs(np.sum(x._array, axis=0) - 1) > 1e-6):
            raise ValueError(
                "scipy.stats.dirichlet: argument `x` must lie on the simplex: not negative, with the sum 1"
            )
    shape = np.reshape(alpha, [-1] + [1] * (rank_of(x) - 1))
    return lgamma(np.sum(alpha)) - np.sum(lgamma(alpha)) + np.sum(log_of_power(shape - 1.0, x), axis=0)


def _multinomial(x: Any, n: Any, p: Any) -> Operand:
    """The last probability is what the others leave, as SciPy has it."""
    x, n, p = in_one_dtype([x, n, p])
    p = np.concatenate([p[..., :-1], 1.0 - np.sum(p[..., :-1], axis=-1, keepdims=True)], axis=-1)
    out = lgamma(n + 1.0) + np.sum(log_of_power(x, p) - lgamma(x + 1.0), axis=-1)
    return where(np.equal(np.sum(x, axis=-1), n), out, constant(-np.inf, out))


# ---- of matrices -----------------------------------------------------------------------------------------------------


def _log_det(a: Any) -> Any:
    return 2.0 * np.sum(np.log(np.diagonal(decompose.cholesky(a))))


def _of_positive(x: Any, df: Any, scale: Any) -> tuple[Any, Any, Any, Any]:
    x, df, scale = in_one_dtype([x, df, scale])
    not_taken_if((rank_of(x), rank_of(scale), rank_of(df)) != (2, 2, 0))
    n = length(scale, 0)
    return x, df, scale, 0.5 * df * n * math.log(2) + scipy.special.multigammaln(0.5 * df, n)


def _wishart(x: Any, df: Any, scale: Any) -> Operand:
    x, df, scale, start = _of_positive(x, df, scale)
    trace = np.trace(np.linalg.solve(scale, x))
    more = df - (length(scale, 0) + 1.0)
    return 0.5 * (more * _log_det(x) - trace - df * _log_det(scale)) - start


def _inverse_wishart(x: Any, df: Any, scale: Any) -> Operand:
    x, df, scale, start = _of_positive(x, df, scale)
    trace = np.trace(np.linalg.solve(x, scale))
    more = df + (length(scale, 0) + 1.0)
    return 0.5 * (df * _log_det(scale) - trace - more * _log_det(x)) - start


def _matrix_normal(X: Any, mean: Any = None, rowcov: Any = 1, colcov: Any = 1) -> Operand:
    X, mean, rowcov, colcov = in_one_dtype([X, 0.0 if mean is None else mean, rowcov, colcov])
    not_taken_if(rank_of(X) != 2)
    n, m = length(X, 0), length(X, 1)
    rows, columns = (
        a if rank_of(a) == 2 else diagonal.matrix_diag(np.broadcast_to(np.reshape(a, [-1]), [k]))
        for a, k in ((rowcov, n), (colcov, m))
    )
    apart = X - mean
    inner = np.sum(
        np.linalg.solve(rows, apart) * shapes.matrix_transpose(np.linalg.solve(columns, shapes.matrix_transpose(apart)))
    )
    return -0.5 * (n * m * math.log(2 * math.pi) + n * _log_det(columns) + m * _log_det(rows) + inner)


# ---- the table -------------------------------------------------------------------------------------------------------

LOG_DENSITIES: dict[str, tuple[Callable[..., Any], str]] = {
    "multivariate_normal": (_normal, "pdf"),
    "multivariate_t": (_student, "pdf"),
    "dirichlet": (_dirichlet, "pdf"),
    "multinomial": (_multinomial, "pmf"),
    "wishart": (_wishart, "pdf"),
    "invwishart": (_inverse_wishart, "pdf"),
    "matrix_normal": (_matrix_normal, "pdf"),
}
"""By SciPy's name, with the name of SciPy's for a density."""


def methods() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Functions for SciPy's methods, by the name of the distribution and of the method."""
    for name, (log_density, density) in LOG_DENSITIES.items():
        yield f"{name}.log{density}", log_density
        yield f"{name}.{density}", _exponential(log_density)
    yield "multivariate_normal.entropy", _normal_entropy


def _exponential(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def apply(*args: Any, **kwargs: Any) -> Operand:
        return np.exp(function(*args, **kwargs))

    return apply
