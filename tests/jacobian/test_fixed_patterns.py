"""Values on a pattern: the same entries in the same order at every point, as solvers with a structure want them."""

from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api as tf
from engine.runtime.errors import InvalidArgumentError

N = 6


def looped(x: Any) -> Any:
    return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * y * 0.5 + x), (0, x))[1]


# with the numbers of entries of the Jacobian and of the Hessian
FUNCTIONS: dict[str, tuple[Any, int, int]] = {
    "sort": (lambda x: tf.sort(x) * x, 36, 36),
    "argsort": (lambda x: tf.gather(x, tf.argsort(x)), 36, 0),
    "where": (lambda x: tf.where(x > 0, x**2, x[::-1]), 12, 6),
    "neighbors": (lambda x: x[1:] ** 2 * x[:-1], 10, 15),
    "top_k": (lambda x: tf.math.top_k(x, 3)[0] * x[:3], 18, 27),
    "Python decides": (lambda x: x**2 if x[0] > 0 else x[::-1] ** 3, 12, 6),
    "constant": (lambda x: tf.constant([1.0, 2.0], tf.float64), 0, 0),
    "scalar": (lambda x: tf.reduce_sum(tf.sort(x)[:2] ** 2 * x[3]), 6, 16),
    "objective and constraints": (lambda x: (tf.reduce_sum(x[:3] ** 2), x[1:] * x[:-1]), 13, 13),
    "cond": (lambda x: tf.cond(x[0] > 0, lambda: x**3, lambda: x[::-1] ** 2), 12, 6),
    "loop": (looped, 6, 6),
    "loop in a function": (tf.function(looped), 6, 6),
    "rule": (tf.custom_gradient(lambda x: (tf.sin(x) * tf.sort(x), lambda d: d * tf.cos(x) * tf.sort(x))), 36, 36),
}
PARTS = {None: lambda m: m, "lower": np.tril, "upper": np.triu}


def check(found: Any, expected: np.ndarray, pattern: Any, dtype: Any = np.int32) -> None:
    """Compare numbers, the order of entries, and the type of indices."""
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-10, atol=1e-12)
    assert found.format == pattern.format and len(found.data) == pattern.nnz
    for name in ("coords",) if found.format == "coo" else ("indices", "indptr"):
        for a, b in zip(np.atleast_2d(getattr(found, name)), np.atleast_2d(getattr(pattern, name)), strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype == dtype


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_entries_do_not_depend_on_the_point(name: str, format: Any) -> None:
    f, first, second = FUNCTIONS[name]
    p, dense = tf.for_scipy(f, np.full(N, 0.5), format=format, fixed_pattern=True), tf.for_scipy(f, np.ones(N))
    assert (p.jac_sparsity().nnz, p.hess_sparsity().nnz) == (first, second)
    rng = np.random.default_rng(0)
    for x in rng.normal(size=(3, N)):
        check(p.jac(x), np.atleast_2d(dense.jac(x)), p.jac_sparsity())
        v = rng.normal(size=np.size(dense.fun(x)))
        for triangle, part in PARTS.items():
            pattern = p.hess_sparsity(triangle=triangle)
            check(p.weighted_hess(x, v, triangle=triangle), part(dense.weighted_hess(x, v)), pattern)
            if name == "scalar":
                check(p.hess(x, triangle=triangle), part(dense.hess(x)), pattern)


@pytest.mark.parametrize("format", ["dense", "csr", "csc", "coo"])
def test_triangles_without_a_fixed_pattern(format: Any) -> None:
    p = tf.for_scipy(lambda x: tf.reduce_sum(x[1:] ** 2 * x[:-1] ** 3), np.ones(N), format=format)
    x = np.linspace(1.0, 2.0, N)
    whole = tf.for_scipy(lambda x: tf.reduce_sum(x[1:] ** 2 * x[:-1] ** 3), x).hess(x)
    for triangle, part in PARTS.items():
        found = p.hess(x, triangle=triangle)
        np.testing.assert_allclose(found if format == "dense" else found.toarray(), part(whole), rtol=1e-14)
        assert format == "dense" or found.nnz == np.count_nonzero(part(whole))
    lower = tf.for_scipy(lambda x: x * x[::-1], x, format=format).jac(x, triangle="lower")
    expected = np.tril(tf.for_scipy(lambda x: x * x[::-1], x).jac(x))
    np.testing.assert_array_equal(lower if format == "dense" else lower.toarray(), expected)
    with pytest.raises(InvalidArgumentError, match="`triangle` must be 'lower', 'upper' or None; got 'both'"):
        p.hess(x, triangle="both")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="only square matrices have triangles"):
        tf.for_scipy(lambda x: x[:2], x, format=format).jac(x, triangle="lower")


def test_operators_have_no_triangles() -> None:
    p = tf.for_scipy(lambda x: tf.reduce_sum(x**3), np.ones(N), format="operator")
    with pytest.raises(InvalidArgumentError, match="an operator has no triangles"):
        p.hess(p.x0, triangle="lower")


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_types_of_indices(dtype: Any, fixed: bool, format: Any) -> None:
    f = lambda x: {"a": x["u"] * x["w"][1], "b": x["w"] ** 2}  # noqa: E731
    p = tf.for_scipy(f, {"u": np.ones(3), "w": np.ones(2)}, format=format, fixed_pattern=fixed, index_dtype=dtype)
    x = np.arange(5.0)
    first = p.jac(x)
    # block by block where nothing is said about the order
    pattern = p.jac_sparsity() if fixed or format != "coo" else first
    check(first, tf.for_scipy(f, {"u": np.ones(3), "w": np.ones(2)}).jac(x), pattern, dtype)
    upper = p.weighted_hess(x, np.ones(5), triangle="upper")
    check(upper, np.triu(p.weighted_hess(x, np.ones(5)).toarray()), upper, dtype)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="`fixed_pattern` is of sparse matrices"):
        tf.for_scipy(lambda x: x, np.ones(2), fixed_pattern=True)
    with pytest.raises(InvalidArgumentError, match="`index_dtype` must be int32 or int64"):
        tf.for_scipy(lambda x: x, np.ones(2), format="csr", index_dtype=np.int16)


def test_a_pattern_that_is_given_counts() -> None:
    weights = np.array([1.0, 0.0, 2.0])
    options: Any = {"format": "csr", "sparsity": np.diag([1, 0, 1]), "fixed_pattern": True}
    p = tf.for_scipy(lambda x: weights * x, np.ones(3), **options)
    assert p.jac_sparsity().nnz == 2 and p.jac(np.ones(3)).data.tolist() == [1.0, 2.0]


def test_numbers_beside_the_pattern_are_refused() -> None:
    places = [[0, 1]]
    p = tf.for_scipy(lambda x: tf.gather(x, places[0]) * x[:2], np.ones(4), format="csr", fixed_pattern=True)
    assert p.jac_sparsity().nnz == 2
    places[0] = [2, 3]
    with pytest.raises(InvalidArgumentError, match="entries outside of the pattern that was found first"):
        p.jac(np.arange(4.0))


def test_graphs_and_parts_and_odes() -> None:
    with graph_api.Graph().as_default(), graph_api.Session():
        x = graph_api.placeholder(graph_api.float64, [N])
        results = (graph_api.reduce_sum(x**4), graph_api.gather(x, graph_api.argsort(x)) * x[0])
        p = graph_api.for_scipy(results, x, np.ones(N), format="csc", fixed_pattern=True)
        at = np.random.default_rng(1).normal(size=N)
        objective, constraints = p.parts()
        assert constraints.jac_sparsity().nnz == N * N == constraints.jac(at).nnz
        check(objective.hess(at, triangle="lower"), np.diag(12 * at**2), objective.hess_sparsity(triangle="lower"))
        dense = np.asarray(p.like(format="dense", fixed_pattern=False).weighted_hess(at, np.arange(7.0)))
        check(p.weighted_hess(at, np.arange(7.0)), dense, p.hess_sparsity())
    ode = tf.for_ode(lambda t, y: tf.sort(y) * t, np.ones(3), format="csc", fixed_pattern=True)
    assert ode.jac_sparsity().nnz == 9 == len(ode.jac(2.0, np.array([3.0, 1.0, 2.0])).data)


def test_hessians_of_loops_in_functions() -> None:
    x = np.linspace(0.1, 0.6, N)
    for f in (looped, tf.function(looped)):
        p = tf.for_scipy(lambda x, f=f: tf.reduce_sum(f(x)), x, format="csr")
        expected = np.diag((p.jac(x + 1e-6).toarray() - p.jac(x - 1e-6).toarray()).ravel() / 2e-6)
        np.testing.assert_allclose(p.hess(x).toarray(), expected, rtol=1e-7)
        np.testing.assert_allclose(p.hessp(x, np.ones(N)), expected.diagonal(), rtol=1e-7)
