"""What Jacobians are handed out as: sparse matrices, operators, plans; and which arguments are refused."""

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, lsqr

import graph_api
import tape_api
from engine.jacobian.callable_plan import JacobianPlan
from engine.runtime.errors import InvalidArgumentError, ShapeError
from tests.jacobian.both import dense, in_graph, on_tape, points
from tests.tapes import gradient_in

MATRIX = np.random.default_rng(0).normal(size=(4, 3))


def layer(tf: Any, x: Any) -> Any:
    return tf.tanh(tf.linalg.matvec(MATRIX, x))


def neighbors(tf: Any, x: Any) -> Any:
    return x[1:] * x[:-1]


# ---- sparse formats --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("run", [on_tape, in_graph])
@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_sparse_formats(run: Any, format: str) -> None:
    (x,) = points((6,))
    (found,) = run(neighbors, x, format=format)
    assert sparse.issparse(found) and found.format == format and found.nnz == 10 and found.shape == (5, 6)
    np.testing.assert_array_equal(found.toarray(), run(neighbors, x)[0])
    assert run(lambda tf, x, y: tf.sin(x), x, x, format=format)[1] is None
    zero = run(lambda tf, x, y: tf.sin(x), x, x, format=format, unconnected_gradients="zero")[1]
    assert zero.nnz == 0 and zero.shape == (6, 6) and zero.format == format


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_what_callers_do_to_a_sparse_matrix_is_their_business(format: str) -> None:
    """The next one has the structure that was planned: `eliminate_zeros` writes over a matrix's indices."""
    full, sparser = np.arange(1.0, 7.0), np.array([1.0, 0.0, 2.0, 0.0, 0.0, 3.0])
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        u = graph_api.placeholder(graph_api.float64, [6])
        found = graph_api.jacobian(neighbors(graph_api, u), u, format=format)
        plan = on_tape(neighbors, full, method="jacobian_plan", format=format)
        ways = [lambda x: session.run(found, {u: x}), lambda x: on_tape(neighbors, x, format=format)[0], plan]
        for jacobian in ways:
            expected = jacobian(full).toarray()
            changed = jacobian(sparser)
            assert changed.nnz == 10
            changed.eliminate_zeros()
            changed.data[:] = 7.0
            np.testing.assert_array_equal(jacobian(full).toarray(), expected)


CONSTANT = np.arange(1.0, 7.0)


@pytest.mark.parametrize("run", [on_tape, in_graph])
@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
@pytest.mark.parametrize(
    "function",
    [lambda tf, x, c: c * x, lambda tf, x, c: x * 2.0, lambda tf, x, c: x[::-1], lambda tf, x, c: x * x + c],
    ids=["a tensor", "a constant", "ones", "computed"],
)
def test_who_changes_a_sparse_jacobian_changes_nothing_else(function: Any, format: str, run: Any) -> None:
    c = np.array([5.0, 6.0, 7.0])
    other = tape_api.constant(c) if run is on_tape else c

    def taken() -> Any:
        return run(lambda tf, x: function(tf, x, other), np.arange(3.0), format=format)[0]

    before, changed = taken().toarray(), taken()
    changed.data[:] = 0.0
    changed.eliminate_zeros()
    np.testing.assert_array_equal(taken().toarray(), before)
    np.testing.assert_array_equal(other, [5.0, 6.0, 7.0])


def test_who_changes_what_a_plan_gives_changes_nothing_else() -> None:
    x = tape_api.constant([1.0, 2.0])
    plan = gradient_in(x, lambda: x * 3.0, method="jacobian_plan")
    before = plan(np.ones(2, np.float32)).copy()
    plan(np.ones(2, np.float32))[:] = 0.0
    np.testing.assert_array_equal(plan(np.ones(2, np.float32)), before)


@pytest.mark.parametrize("format", ["csr", "dense"])
@pytest.mark.parametrize(
    "fn", [lambda tf, x: -x, lambda tf, x: CONSTANT * x, lambda tf, x: x * x / 2.0], ids=["ones", "a tensor", "source"]
)
def test_who_changes_what_a_thread_found_changes_nothing_else(fn: Any, format: str) -> None:
    x = np.arange(2.0, 8.0)
    with graph_api.Graph().as_default(), graph_api.Session() as session, ThreadPoolExecutor(1) as threads:
        u = graph_api.placeholder(graph_api.float64, [6])
        plan = on_tape(fn, x, method="jacobian_plan", format=format)
        found = graph_api.jacobian(fn(graph_api, u), u, format=format, executor=threads)
        ways = [lambda: session.run(found, {u: x}), lambda: plan(x, executor=threads)]
        if format != "dense":
            ways.append(lambda: on_tape(fn, x, format=format, executor=threads)[0])
        for jacobian in ways:
            before = dense(jacobian()).copy()
            for _ in range(2):
                changed = jacobian()
                (changed if format == "dense" else changed.data)[...] = 7.0
            np.testing.assert_array_equal(dense(jacobian()), before)
    np.testing.assert_array_equal(x, np.arange(2.0, 8.0))
    np.testing.assert_array_equal(CONSTANT, np.arange(1.0, 7.0))


def test_blocks_of_a_sparse_jacobian_share_nothing() -> None:
    x, y = points((6,), (6,))
    one, other = on_tape(lambda tf, x, y: tf.sin(x + y), x, y, format="csr")
    assert not np.shares_memory(one.data, other.data)


def test_the_values_of_a_sparse_jacobian_are_tensors() -> None:
    (x,) = points((6,))
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        u = graph_api.placeholder(graph_api.float64, [6])
        found = graph_api.jacobian(neighbors(graph_api, u), u, format="csr")
        assert found.shape == (5, 6) and found.nnz == 10 and "5 x 6" in repr(found)
        values, diagonal, again = session.run(
            [found.values, found.diagonal(), graph_api.gradients(found.values, u)[0]], {u: x}
        )
        np.testing.assert_array_equal(session.run(found, {u: x}).data, values)
    np.testing.assert_array_equal(diagonal, x[1:])
    np.testing.assert_array_equal(again, [1.0, 2.0, 2.0, 2.0, 2.0, 1.0])


# ---- operators -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("run", [on_tape, in_graph])
def test_operators(run: Any) -> None:
    (x,) = points((3,))
    (dense,), (found,) = map(np.asarray, run(layer, x)), run(layer, x, format="operator")
    assert isinstance(found, LinearOperator) and found.shape == (4, 3) and found.dtype == np.float64
    for operator in (found, pickle.loads(pickle.dumps(found))):
        np.testing.assert_allclose(operator @ x, dense @ x, rtol=1e-13)
        np.testing.assert_allclose(operator.matmat(np.eye(3)), dense, rtol=1e-13)
        np.testing.assert_allclose(operator.rmatvec(dense[:, 0]), dense.T @ dense[:, 0], rtol=1e-13)
        np.testing.assert_allclose(operator.rmatmat(np.eye(4)), dense.T, rtol=1e-13)
        np.testing.assert_allclose(operator.H @ np.eye(4), dense.T, rtol=1e-13)
        np.testing.assert_allclose(operator.T @ np.eye(4), dense.T, rtol=1e-13)
    np.testing.assert_allclose(lsqr(found, dense @ x)[0], x, rtol=1e-6)


def test_operators_of_matrices_and_of_several_sources() -> None:
    x, y = points((2, 3), (3, 2))
    dense, found = (on_tape(lambda tf, x, y: x @ y, x, y, **o) for o in ({}, {"format": "operator"}))
    for matrix, operator in zip(dense, found, strict=True):
        np.testing.assert_allclose(operator @ np.eye(6), np.reshape(matrix, (4, 6)), rtol=1e-13)


def test_operators_of_complex_values() -> None:
    """Products with the Jacobian; the adjoint is what gradients are made of."""
    (found,) = on_tape(lambda tf, z: z * z, np.array([1 + 1j, 2.0]), format="operator")
    np.testing.assert_array_equal(found @ np.eye(2), np.diag([2 + 2j, 4]))
    np.testing.assert_array_equal(found.H @ np.eye(2), np.diag([2 - 2j, 4]))


def test_the_hessian_as_an_operator() -> None:
    (x,) = points((5,))
    fn = lambda tf, x: tf.reduce_sum(tf.sin(x[1:]) * x[:-1] ** 2.0)  # noqa: E731
    ((dense,),), ((found,),) = (on_tape(fn, x, method="hessian", **o) for o in ({}, {"format": "operator"}))
    np.testing.assert_allclose(found @ np.eye(5), dense, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.rmatvec(x), dense.numpy() @ x, rtol=1e-12)
    with pytest.raises(InvalidArgumentError, match="hessian: the format 'operator' needs one source; got 2"):
        on_tape(lambda tf, x, y: tf.reduce_sum(x * y), x, x, method="hessian", format="operator")


# ---- plans in the user's hands ---------------------------------------------------------------------------------------


def graph_plan(fn: Any, *values: Any, **options: Any) -> JacobianPlan:
    with graph_api.Graph().as_default():
        xs = [graph_api.placeholder(np.asarray(v).dtype, np.shape(v)) for v in values]
        return graph_api.jacobian_plan(fn(graph_api, *xs), xs[0] if len(xs) == 1 else xs, **options)


def tape_plan(fn: Any, *values: Any, **options: Any) -> JacobianPlan:
    return on_tape(fn, *values, method="jacobian_plan", **options)


@pytest.mark.parametrize("make", [graph_plan, tape_plan])
@pytest.mark.parametrize("format", ["dense", "csr", "coo"])
def test_plans_are_called_with_arrays(make: Any, format: str) -> None:
    x, other = points((6,), (6,))
    plan = make(neighbors, x, format=format)
    for value in (x, other, list(other), tape_api.constant(other)):
        found = plan(value)
        np.testing.assert_array_equal(dense(found), on_tape(neighbors, np.asarray(value))[0])
    again = pickle.loads(pickle.dumps(plan))(other)
    np.testing.assert_array_equal(dense(again), dense(found))


def test_plans_measure() -> None:
    (x,) = points((6,))
    plan = tape_plan(neighbors, x)
    assert plan.measured is None and "not run yet" in str(plan)
    plan(x)
    assert plan.measured is not None and plan.measured > 0 and "not run yet" not in str(plan)


def test_plans_of_several_sources() -> None:
    x, y = points((3,), (2,))
    fn = lambda tf, x, y: tf.sin(x) * y[0]  # noqa: E731
    for make in (graph_plan, tape_plan):
        ((first, second),) = make(fn, x, y)(x, y)
        np.testing.assert_allclose(first, np.diag(np.cos(x) * y[0]))
        np.testing.assert_allclose(second, np.stack([np.sin(x), 0 * x], 1))


@pytest.mark.parametrize("make", [graph_plan, tape_plan])
def test_plans_refuse_what_they_were_not_made_for(make: Any) -> None:
    (x,) = points((6,))
    plan = make(neighbors, x)
    with pytest.raises(InvalidArgumentError, match=r"source 0 must have the shape \(6,\) .* got \(5,\)"):
        plan(x[:5])
    with pytest.raises(InvalidArgumentError, match="expected 1 sources, got 2"):
        plan(x, x)


def test_plans_take_what_a_graph_computes_from_the_sources() -> None:
    """Comparisons and indices carry no derivatives; the Jacobian depends on them all the same."""
    x = np.array([1.0, -2.0, 3.0, 0.5])
    programs: dict[str, Callable[[Any, Any], Any]] = {
        "mask": lambda tf, v: tf.where(v > 0.0, v * v, -v),
        "order": lambda tf, v: tf.sort(v) ** 2.0,
        "constants": lambda tf, v: v * v * (tf.ones([4], tf.float64) + 2.0),
    }
    for fn in programs.values():
        plan = graph_plan(fn, x)
        for value in (x, -x, x[::-1]):
            np.testing.assert_array_equal(plan(value), in_graph(fn, value)[0])


def test_plans_name_what_is_not_known() -> None:
    tf = graph_api
    with tf.Graph().as_default():
        v, w = (tf.placeholder(tf.float64, [4], name=name) for name in "vw")
        for y in (v * w, tf.gather(v, tf.argsort(w)) * v, v * tf.random_uniform([4], dtype=tf.float64)):
            with pytest.raises(InvalidArgumentError, match=r"the path also takes .* whose value is not known"):
                tf.jacobian_plan(y, v)
        with pytest.raises(InvalidArgumentError, match="must have a floating or complex dtype"):
            tf.jacobian_plan(tf.cast(v, tf.int32), v)


# ---- arguments that are refused --------------------------------------------------------------------------------------

X = np.array([1.0, 2.0, 3.0])
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "mode": ({"mode": "fwd"}, "jacobian: argument `mode` must be one of auto, forward, reverse; got 'fwd'"),
    "format": ({"format": "bsr"}, "jacobian: argument `format` must be one of dense, csr, .*; got 'bsr'"),
    "ragged pattern": ({"sparsity": [[1], [1, 2]]}, "jacobian: argument `sparsity` must be a matrix: setting an array"),
    "no memory": ({"max_bytes": 0}, "jacobian: argument `max_bytes` must be a positive number of bytes; got 0"),
    "memory in words": ({"max_bytes": "1 GB"}, "argument `max_bytes` must be a positive number of bytes; got '1 GB'"),
    "half a byte": ({"max_bytes": 0.5}, "argument `max_bytes` must be a positive number of bytes; got 0.5"),
    "memory as a bool": ({"max_bytes": True}, "argument `max_bytes` must be a positive number of bytes; got True"),
    "pattern as a word": ({"sparsity": "yes"}, "argument `sparsity` must be None, 'detect' or a matrix; got 'yes'"),
    "pattern's shape": ({"sparsity": np.ones((2, 3))}, r"`sparsity` must have the shape .* = \(3, 3\); got \(2, 3\)"),
    "pattern as a number": ({"sparsity": 3.0}, r"`sparsity` must have the shape .* = \(3, 3\); got \(1, 1\)"),
}


@pytest.mark.parametrize("run", [on_tape, in_graph])
@pytest.mark.parametrize("name", WRONG)
def test_wrong_options(name: str, run: Any) -> None:
    options, message = WRONG[name]
    with pytest.raises(InvalidArgumentError, match=message):
        run(lambda tf, x: x * x, X, **options)


@pytest.mark.parametrize("run", [on_tape, in_graph])
def test_a_pattern_needs_one_pair(run: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"a `sparsity` pattern needs one .* got 1 and 2"):
        run(lambda tf, x, y: x * y, X, X, sparsity=np.eye(3))


@pytest.mark.parametrize("run", [on_tape, in_graph])
def test_a_pattern_where_nothing_is_connected(run: Any) -> None:
    for fn in (lambda tf, x: tf.stop_gradient(x), lambda tf, x: tf.cast(x, tf.int32)):
        assert run(fn, X, sparsity=np.eye(3)) == [None]


BAD_CALLS: dict[str, tuple[Callable[[Any, Any, Any], Any], type[Exception], str]] = {
    "mode": (lambda tape, y, x: tape.jacobian(y, x, mode="q"), InvalidArgumentError, "`mode`"),
    "pattern": (lambda tape, y, x: tape.jacobian(y, x, sparsity=np.ones((2, 2))), InvalidArgumentError, "`sparsity`"),
    "policy": (lambda tape, y, x: tape.jacobian(y, x, unconnected_gradients="q"), ValueError, "unconnected_gradients"),
    "no tensor": (lambda tape, y, x: tape.jacobian(y, 3.0), TypeError, "source: must be a tensor or variable"),
    "tangent": (lambda tape, y, x: tape.jvp(y, x, X[:1]), InvalidArgumentError, r"jvp: tangents\[0\] must be float64"),
    "tangents": (lambda tape, y, x: tape.jvp(y, x, [X, X]), InvalidArgumentError, "jvp: expected 1 tangents, one per"),
    "vector": (lambda tape, y, x: tape.hvp(y, x, X[:1]), InvalidArgumentError, r"hvp: vectors\[0\] must be float64"),
    "hessian": (lambda tape, y, x: tape.hessian(y, tape_api.constant(2)), InvalidArgumentError, "is not watched"),
    "rows": (lambda tape, y, x: tape.batch_jacobian(y, tape_api.constant(2.0)), ShapeError, "first dimension"),
    "cotangent": (lambda tape, y, x: tape.vjp(y, x, X[:1]), ShapeError, "output_gradients"),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_a_wrong_argument_leaves_a_tape_as_it_was(name: str) -> None:
    call, error, message = BAD_CALLS[name]
    x = tape_api.constant(X)
    with tape_api.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with pytest.raises(error, match=message):
            call(tape, y, x)
        z = y * x
    with pytest.raises(error, match=message):
        call(tape, y, x)
    np.testing.assert_array_equal(tape.jacobian(z, x), np.diag(3 * X**2))
    with pytest.raises(RuntimeError, match="non-persistent"):
        tape.jacobian(z, x)


def test_wrong_vectors_in_a_graph() -> None:
    tf = graph_api
    with tf.Graph().as_default():
        v = tf.placeholder(tf.float64, [3])
        y = v * v
        for method, argument in (("jvp", "tangents"), ("hvp", "vectors")):
            with pytest.raises(InvalidArgumentError, match=rf"{method}: {argument}\[0\] must be .* like its source"):
                getattr(tf, method)(y, v, X[:2])
            with pytest.raises(InvalidArgumentError, match=f"{method}: expected 1 {argument}, one per source; got 2"):
                getattr(tf, method)(y, v, [X, X])
        for method in ("hessian", "hessian_diag"):
            with pytest.raises(InvalidArgumentError, match=f"{method}: .* must have a floating or complex dtype"):
                getattr(tf, method)(y, tf.placeholder(tf.int32, [3]))


def test_two_graphs() -> None:
    tf = graph_api
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, [3])
    with tf.Graph().as_default():
        v = tf.placeholder(tf.float64, [3])
        calls: tuple[Callable[[], Any], ...] = (
            lambda: tf.gradients(v * v, x),
            lambda: tf.jacobian(v * v, x),
            lambda: tf.hessian(v * v, [v, x]),
            lambda: tf.hvp(v * v, x, v),
            lambda: tf.hessian_diag(v * v, x),
            lambda: tf.jacobian_plan(v * v, x),
        )
        for call in calls:
            with pytest.raises(ValueError, match="must be from the same graph as"):
                call()


# ---- batch_jacobian --------------------------------------------------------------------------------------------------


def batch(fn: Any, x: np.ndarray, **options: Any) -> list[np.ndarray]:
    tensor = tape_api.constant(x)
    found = [gradient_in(tensor, lambda: fn(tape_api, tensor), method="batch_jacobian", **options).numpy()]
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        symbol = graph_api.placeholder(x.dtype, x.shape)
        found.append(session.run(graph_api.batch_jacobian(fn(graph_api, symbol), symbol, **options), {symbol: x}))
    return found


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_batches(mode: str) -> None:
    (x,) = points((5, 3))
    fn = lambda tf, x: tf.tanh(x @ MATRIX.T) * x[:, :1]  # noqa: E731
    (full,) = on_tape(fn, x)
    expected = np.asarray(full)[np.arange(5), :, np.arange(5), :]
    for found in batch(fn, x, mode=mode):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_batches_of_other_dtypes_empty_ones_and_unconnected_ones() -> None:
    (x,) = points((2, 3))
    for mode in ("auto", "forward", "reverse"):
        for found in batch(lambda tf, x: tf.cast(x, tf.float32) ** 2.0, x, mode=mode):
            assert found.dtype == np.float64
    z = x + 1j * x
    for found in batch(lambda tf, z: z * z, z):
        np.testing.assert_allclose(found[0], np.diag(2 * np.conj(z[0])))
    assert [found.shape for found in batch(lambda tf, x: x * x, np.zeros((0, 3)))] == [(0, 3, 3)] * 2
    for fn in (lambda tf, x: tf.ones_like(x), lambda tf, x: tf.cast(x, tf.int32)):
        assert [np.any(found) for found in batch(fn, x)] == [False] * 2


def test_coupled_rows_name_the_op() -> None:
    coupled = lambda tf, x: x * tf.reduce_sum(x, 0)  # noqa: E731
    with pytest.raises(InvalidArgumentError, match="`reduce_sum`"):
        batch(coupled, np.ones((2, 3)))
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x = graph_api.placeholder(graph_api.float64, [2, 3])
        with pytest.raises(InvalidArgumentError, match="`reduce_sum`"):
            session.run(graph_api.batch_jacobian(coupled(graph_api, x), x), {x: np.ones((2, 3))})
