"""Sparsity patterns of the caller's: used for coloring, and found out if they miss an entry."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import graph_api
import tape_api
from engine.jacobian import plan_cache as recorded
from engine.jacobian.planning import plan
from tests.jacobian.both import dense, in_graph, on_tape
from tests.tapes import gradient_in

POINT = np.random.default_rng(0).uniform(0.5, 1.5, 9)
Function = Callable[..., Any]


def ring(tf: Any, x: Any) -> Any:
    """Each element with its neighbors, the last with the first."""
    return tf.concat([x[:1] * x[-1:], x[1:-1] * x[:-2] + tf.sin(x[2:]), x[-1:] * x[:1]], 0)


def in_graph_of_unknown_shape(fn: Function, *values: Any, **options: Any) -> Any:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        xs = [graph_api.placeholder(np.asarray(v).dtype, [None] * np.ndim(v)) for v in values]
        found = graph_api.jacobian(fn(graph_api, *xs), xs, **options)
        return session.run(found, dict(zip(xs, values, strict=True)))


def in_outer_tape(fn: Function, *values: Any, **options: Any) -> Any:
    tensors = [tape_api.constant(v) for v in values]
    with tape_api.GradientTape():
        return gradient_in(tensors, lambda: fn(tape_api, *tensors), method="jacobian", **options)


def by_plan(fn: Function, *values: Any, **options: Any) -> Any:
    tensors = [tape_api.constant(v) for v in values]
    return [
        pickle.loads(
            pickle.dumps(gradient_in(tensors, lambda: fn(tape_api, *tensors), method="jacobian_plan", **options))
        )(*values)
    ]


WAYS = (on_tape, in_graph, in_graph_of_unknown_shape, in_outer_tape, by_plan)
ways = pytest.mark.parametrize("way", WAYS)
EXACT = on_tape(ring, POINT)[0].numpy()
PATTERN = EXACT != 0


@ways
@pytest.mark.parametrize("format", ["dense", "csr", "coo"])
@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_an_entry_that_is_missed_is_named(way: Any, format: str, mode: str) -> None:
    entries = list(zip(*np.nonzero(PATTERN), strict=True))
    some = entries if way is on_tape else entries[:: 7 if way is in_graph else 11]
    (found,) = way(ring, POINT, sparsity=PATTERN, format=format, mode=mode)
    np.testing.assert_array_equal(dense(found), EXACT)
    for i, j in some:
        pattern = PATTERN.copy()
        pattern[i, j] = False
        with pytest.raises(ValueError, match=rf"jacobian: .*`sparsity` misses the entry \({i}, {j}\)"):
            way(ring, POINT, sparsity=sparse.csr_array(pattern), format=format, mode=mode)


@ways
def test_several_entries_that_are_missed(way: Any) -> None:
    pattern = PATTERN.copy()
    pattern[4] = False
    with pytest.raises(ValueError, match=r"misses entries in row 4"):
        way(ring, POINT, sparsity=pattern)
    with pytest.raises(ValueError, match=r"misses entries in row 0.*9 rows"):
        way(ring, POINT, sparsity=np.zeros_like(pattern))
    # a diagonal that somebody forgot: the first row misses one entry only
    with pytest.raises(ValueError, match="misses the entry"):
        way(lambda tf, x: x * tf.reverse(x, [0]), POINT, sparsity=np.eye(9))


@ways
@pytest.mark.parametrize("format", ["dense", "csr"])
def test_a_pattern_that_claims_too_much_is_right(way: Any, format: str) -> None:
    pattern = PATTERN | (np.random.default_rng(1).uniform(size=PATTERN.shape) < 0.3)
    (found,) = way(ring, POINT, sparsity=pattern, format=format)
    np.testing.assert_array_equal(dense(found), EXACT)
    assert format == "dense" or found.nnz == pattern.sum()
    (found,) = way(ring, POINT, sparsity=np.ones_like(pattern), format=format)
    np.testing.assert_allclose(dense(found), EXACT)


@ways
def test_a_derivative_that_is_zero_here_may_be_missed(way: Any) -> None:
    """Only numbers decide: a pattern for the region at hand is as good."""
    pattern = np.eye(9)
    relu = lambda tf, x: x * x + tf.nn.relu(tf.reverse(x, [0]) - 2.0)  # noqa: E731
    (found,) = way(relu, POINT, sparsity=pattern)
    np.testing.assert_array_equal(dense(found), np.diag(2 * POINT))
    with pytest.raises(ValueError, match=r"entry \(0, 8\)"):
        way(relu, np.array([1.0] * 8 + [3.0]), sparsity=pattern)


@ways
def test_the_pattern_is_what_is_colored_by(way: Any) -> None:
    """A function that is dense by its structure: three seeds do where the pattern says so."""
    matrix = np.diag(np.ones(9)) + np.diag(np.ones(8), 1)
    dense_by_structure = lambda tf, x: tf.linalg.matvec(tf.constant(matrix), x) ** 2  # noqa: E731
    (found,) = way(dense_by_structure, POINT, sparsity=matrix, format="csr")
    np.testing.assert_allclose(found.toarray(), 2 * (matrix @ POINT)[:, None] * matrix)
    x = tape_api.constant(POINT)
    assert (
        gradient_in(x, lambda: dense_by_structure(tape_api, x), method="jacobian_plan", sparsity=matrix).plan.seeds == 2
    )


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("seed", range(5))
def test_rounding_is_no_entry(dtype: str, seed: int) -> None:
    """Long computations with cancellation, in any precision."""

    def rough(tf: Any, x: Any) -> Any:
        for _ in range(3 if dtype == "float16" else 20):
            x = tf.sin(x * 3.0) - x[::-1] * 0.0 + (x * 50.0 - x * 49.0)
        return x

    point = np.random.default_rng(seed).uniform(-1, 1, 50).astype(dtype)
    pattern = np.eye(50) + np.eye(50)[::-1]
    for way in (on_tape, in_graph):
        way(rough, point, sparsity=pattern)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_small_entries_count(dtype: str) -> None:
    size = {"float32": 3e-3, "float64": 1e-9}[dtype]
    point = np.ones(30, dtype)
    with pytest.raises(ValueError, match=r"entry \(7, 12\)"):
        on_tape(lambda tf, x: tf.tensor_scatter_nd_add(x * x, [[7]], [x[12] * size]), point, sparsity=np.eye(30))


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_what_is_not_finite_tells_nothing() -> None:
    point = np.array([0.0, 1.0, 2.0])
    (found,) = on_tape(lambda tf, x: tf.sqrt(x), point, sparsity=np.eye(3))
    assert np.isinf(dense(found)[0, 0])
    with pytest.raises(ValueError, match=r"entry \(2, 1\)"):
        on_tape(lambda tf, x: tf.concat([tf.sqrt(x[:2]), x[2:] * x[1:2]], 0), point, sparsity=np.eye(3))


@pytest.mark.parametrize("way", [on_tape, in_graph])
def test_complex_numbers(way: Any) -> None:
    point = POINT + 1j * POINT[::-1]
    exact = np.asarray(on_tape(ring, point)[0])
    (found,) = way(ring, point, sparsity=PATTERN)
    np.testing.assert_array_equal(dense(found), exact)
    for i, j in list(zip(*np.nonzero(PATTERN), strict=True))[::5]:
        pattern = PATTERN.copy()
        pattern[i, j] = False
        with pytest.raises(ValueError, match=rf"entry \({i}, {j}\)"):
            way(ring, point, sparsity=pattern)


@pytest.mark.parametrize("way", [on_tape, in_graph])
def test_different_dtypes(way: Any) -> None:
    halved = lambda tf, x: tf.cast(ring(tf, tf.cast(x, tf.float32)), tf.float64)  # noqa: E731
    way(halved, POINT, sparsity=PATTERN)
    with pytest.raises(ValueError, match=r"misses"):
        way(halved, POINT, sparsity=np.tril(PATTERN))


@pytest.mark.parametrize("way", [on_tape, in_graph])
def test_nothing_to_find(way: Any) -> None:
    for fn, shape in ((lambda tf, x: x[:0], (0, 9)), (lambda tf, x: tf.zeros([4], tf.float64) * x[:4], (4, 9))):
        (found,) = way(fn, POINT, sparsity=np.zeros(shape), unconnected_gradients="zero")
        assert dense(found).shape == shape and not dense(found).any()


def test_the_second_call_plans_nothing() -> None:
    def call(pattern: Any) -> Any:
        return on_tape(lambda tf, x: tf.exp(x) * x, POINT, sparsity=pattern)

    call(np.eye(9))
    before = dict(plan.counters), dict(recorded.counters)
    call(sparse.csc_array(np.eye(9)))
    assert plan.counters == before[0] and recorded.counters["compiled"] == before[1]["compiled"]
    call(np.eye(9) + np.eye(9, k=1))
    assert plan.counters["planned"] == before[0]["planned"] + 1


def test_a_graph_that_checks_can_be_differentiated() -> None:
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [9])
        checked, free = [tf.jacobian(ring(tf, x), x, sparsity=p) for p in (PATTERN, None)]
        pairs = [(f(checked), f(free)) for f in (lambda j: tf.gradients(j**2, x)[0], lambda j: tf.jacobian(j, x))]
        for found, expected in session.run(pairs, {x: POINT}):
            np.testing.assert_allclose(found, expected)
