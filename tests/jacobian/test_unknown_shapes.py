"""Graphs with unknown dimensions or rank: planned when they run, as if the shapes had been known before."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api as tf
import tape_api
from engine.compiler.lowering import lower
from engine.control.deferred import deferred_op
from engine.core.trace import needed_nodes
from engine.jacobian.deferred_specialization import DeferredSparseJacobian
from engine.jacobian.planning import plan

WEIGHTS = np.random.default_rng(0).normal(size=(3, 4))
POINTS = [np.random.default_rng(b).uniform(0.5, 1.5, (b, 3)) for b in (2, 5, 1, 2)]
SHAPES = ([None, 3], [None, None], None)
Function = Callable[[Any, Any], Any]


def layer(api: Any, x: Any) -> Any:
    return api.tanh(api.matmul(x, WEIGHTS))


def stencil(api: Any, x: Any) -> Any:
    return x[1:] * x[:-1] - api.sin(x[1:])


def norms(api: Any, x: Any) -> Any:
    return api.reduce_sum(x * x, 1)


def scalar(api: Any, x: Any) -> Any:
    return api.reduce_sum(x[:1] * x**2) + api.reduce_sum(api.sin(x))


def reshaped(api: Any, x: Any) -> Any:
    return api.reshape(api.exp(x), [api.shape(x)[0] * 3])


FUNCTIONS = (layer, stencil, norms, scalar, reshaped)


def values(shape: Any, fn: Function, derive: Callable[[Any, Any], Any], points: list[np.ndarray]) -> list[Any]:
    """What sessions give for points of several shapes, fed to one placeholder."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, shape)
        found = derive(fn(tf, x), x)
        with tf.Session() as session:
            return [session.run(found, {x: point}) for point in points]


def assert_as_if_known(
    fn: Function, derive: Callable[[Any, Any], Any], shapes: Any = SHAPES, rtol: float | None = None
) -> None:
    """For each shape of the placeholder, each point gives what it gives where all is known."""
    known = [values(point.shape, fn, derive, [point])[0] for point in POINTS]
    for shape in shapes:
        for found, expected in zip(values(shape, fn, derive, POINTS), known, strict=True):
            if hasattr(expected, "toarray"):
                assert type(found) is type(expected) and found.nnz == expected.nnz
                found, expected = found.toarray(), expected.toarray()
            assert found.dtype == expected.dtype
            if rtol is None:
                np.testing.assert_array_equal(found, expected)
            else:
                np.testing.assert_allclose(found, expected, rtol, 1e-14)


@pytest.mark.parametrize("fn", FUNCTIONS)
@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_dense(fn: Function, mode: str) -> None:
    assert_as_if_known(fn, lambda y, x: tf.jacobian(y, x, mode=mode), rtol=1e-13)


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_bits(fn: Function) -> None:
    assert_as_if_known(fn, tf.jacobian, SHAPES[:1])


@pytest.mark.parametrize("fn", FUNCTIONS)
@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_sparse(fn: Function, format: str) -> None:
    assert_as_if_known(fn, lambda y, x: tf.jacobian(y, x, format=format), rtol=1e-13)


def each(**ways: Any) -> Any:
    return pytest.mark.parametrize("derive", ways.values(), ids=ways)


@pytest.mark.parametrize("fn", FUNCTIONS)
@each(
    hessian=tf.hessian,
    diag=tf.hessian_diag,
    hessians=lambda y, x: tf.hessians(y, x)[0],
    csr=lambda y, x: tf.hessian(y, x, format="csr"),
    hvp=lambda y, x: tf.hvp(y, x, x + 1.0),
    jvp=lambda y, x: tf.jvp(y, x, 2.0 * x),
    vjp=lambda y, x: tf.vjp(y, x, y),
    max_bytes=lambda y, x: tf.jacobian(y, x, max_bytes=20_000),
)
def test_other_derivatives(fn: Function, derive: Any) -> None:
    assert_as_if_known(fn, derive, rtol=1e-13)


@each(
    gradients=lambda y, x: tf.gradients(tf.jacobian(y, x) ** 2, x)[0],
    jacobian=lambda y, x: tf.jacobian(tf.jacobian(y, x), x),
    sparse=lambda y, x: tf.jacobian(tf.jacobian(y, x), x, format="csr"),
    jvp=lambda y, x: tf.jvp(tf.jacobian(y, x), x, x),
    of_sparse=lambda y, x: tf.gradients(tf.jacobian(y, x, format="csr").values ** 2, x)[0],
    hessian=lambda y, x: tf.hessian(tf.reduce_sum(tf.jacobian(y, x) ** 2), x),
)
def test_again(derive: Any) -> None:
    assert_as_if_known(layer, derive, rtol=1e-11)


def test_what_was_deferred_is_looked_into() -> None:
    """The third derivatives of a chain of neighbors are as sparse as if shapes had been known."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [None])
        hessian = tf.hessian(tf.reduce_sum(x[1:] ** 3 * x[:-1] ** 2), x, format="csr")
        third = session.run(tf.jacobian(hessian.values, x, format="csr"), {x: np.linspace(1, 2, 50)})
    assert third.shape == (148, 50) and third.nnz < 3 * 148 + 1


def test_what_is_known_beforehand() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 3])
        y = layer(tf, tf.cast(x, tf.float64))
        j = tf.jacobian(y, x)
        assert j.shape.as_list() == [None, 4, None, 3] and j.dtype == tf.float32
        assert tf.batch_jacobian(y, x).shape.as_list() == [None, 4, 3]
        s = tf.jacobian(y, x, format="csc")
        assert isinstance(s, DeferredSparseJacobian) and s.values.shape.as_list() == [None]
        assert "unknown" in repr(s)
        for ask in (lambda: s.nnz, s.diagonal):
            with pytest.raises(ValueError, match="set_shape"):
                ask()


def test_one_plan_per_shape() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [None, 3])
        j = tf.jacobian(tf.tan(x) * tf.reduce_sum(x), x)
        before = dict(plan.counters)
        for _ in range(3):
            for point in POINTS:
                session.run(j, {x: point})
        assert plan.counters["planned"] - before["planned"] == 3


def test_nothing_is_left_of_the_node_where_shapes_follow_from_the_feeds() -> None:
    x = tf.placeholder(tf.float64, [None, 3])
    j = tf.jacobian(layer(tf, x), x)
    nodes = needed_nodes(x.graph.nodes, [j], {id(x)})
    assert [node.op for node in nodes].count(deferred_op) == 1
    program, _, _ = lower(nodes, [(x, tape_api.constant(POINTS[0]).aval)], [j])
    assert deferred_op not in [i.op for i in program.instructions]


# ---- shapes that follow from data ------------------------------------------------------------------------------------


def masked(api: Any, x: Any) -> Any:
    return api.boolean_mask(x, x > 1.0) ** 2


@pytest.mark.parametrize("format", ["dense", "csr"])
@pytest.mark.parametrize("shape", [[None, 3], [2, 3]])
def test_shapes_that_follow_from_data(shape: Any, format: str) -> None:
    points = [p for p in POINTS if shape[0] in (None, len(p))]
    found = values(shape, masked, lambda y, x: tf.jacobian(y, x, format=format), points)
    for point, jacobian in zip(points, found, strict=True):
        x = tape_api.constant(point)
        with tape_api.GradientTape() as tape:
            tape.watch(x)
            y = masked(tape_api, x)
        expected = np.asarray(tape.jacobian(y, x))
        dense = jacobian.toarray() if format == "csr" else jacobian
        np.testing.assert_array_equal(dense.reshape(expected.shape), expected)


def test_derivatives_of_jacobians_whose_shapes_follow_from_data() -> None:
    derive = lambda y, x: tf.gradients(tf.jacobian(y, x), x)[0]  # noqa: E731
    for point, found in zip(POINTS, values([None, 3], masked, derive, POINTS), strict=True):
        np.testing.assert_allclose(found, np.where(point > 1, 2.0, 0.0))


# ---- several targets and sources -------------------------------------------------------------------------------------


def test_structures_variables_and_what_is_not_connected() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [None, 3])
        w, other = tf.Variable(WEIGHTS), tf.Variable(np.ones(2))
        session.run(tf.global_variables_initializer())
        ys = {"layer": tf.tanh(tf.matmul(x, w)), "x": x}
        nones = tf.jacobian(ys, [w, other, x])
        assert nones["layer"][1] is None and nones["x"][0] is None and nones["x"][1] is None
        zeros = tf.jacobian(ys, [w, other, x], unconnected_gradients="zero")
        known = tf.placeholder(tf.float64, [5, 3])
        same = tf.jacobian(tf.tanh(tf.matmul(known, w)), [w, known])
        feeds = {x: POINTS[1], known: POINTS[1]}
        found, expected = session.run([zeros, same], feeds)
        np.testing.assert_array_equal(found["layer"][0], expected[0])
        np.testing.assert_array_equal(found["layer"][2], expected[1])
        np.testing.assert_array_equal(found["layer"][1], np.zeros((5, 4, 2)))
        np.testing.assert_array_equal(found["x"][0], np.zeros((5, 3, 3, 4)))
        np.testing.assert_array_equal(found["x"][2].reshape(15, 15), np.eye(15))
        np.testing.assert_array_equal(session.run(nones["layer"][2], feeds), expected[1])


def test_sources_without_derivative() -> None:
    with tf.Graph().as_default():
        x, n = tf.placeholder(tf.float64, [None]), tf.placeholder(tf.int32, [])
        y = x * tf.cast(n, tf.float64)
        found = tf.jacobian(y, [x, n])
        assert found[1] is None
        with tf.Session() as session:
            np.testing.assert_array_equal(session.run(found[0], {x: [1, 2], n: 3}), 3 * np.eye(2))


def test_empty() -> None:
    for derive in (tf.jacobian, tf.batch_jacobian, tf.hessian):
        (found,) = values([None, 3], lambda api, x: x * x, derive, [np.zeros((0, 3))])
        assert found.size == 0


def test_in_a_loop() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [None, None])
        j = tf.map_fn(lambda row: tf.jacobian(tf.sin(row) * row[0], row), x)
        b = tf.batch_jacobian(tf.sin(x) * x[:, :1], x)
        found, expected = session.run([j, b], {x: POINTS[1]})
        np.testing.assert_allclose(found, expected)


# ---- custom gradients ------------------------------------------------------------------------------------------------


def by_hand(api: Any, x: Any) -> Any:
    """A rule that is not the derivative, and takes intermediate values and constants of the graph."""
    factor = api.constant(2.0, api.float64)

    @api.custom_gradient
    def scaled(z: Any) -> Any:
        power = api.exp(z)
        return power * z, lambda ct: ct * (power * factor + z)

    return scaled(x) * x


@each(
    jacobian=tf.jacobian,
    batch=tf.batch_jacobian,
    hessian=tf.hessian,
    forward=lambda y, x: tf.jacobian(y, x, mode="forward"),
    gradients=lambda y, x: tf.gradients(tf.jacobian(y, x), x)[0],
    again=lambda y, x: tf.jacobian(tf.jacobian(y, x), x),
)
def test_custom_gradients(derive: Any) -> None:
    assert_as_if_known(by_hand, derive, rtol=1e-13)


def test_custom_gradients_of_variables() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(3.0, dtype=tf.float64)

        @tf.custom_gradient
        def scaled(z: Any) -> Any:
            return z * v, lambda ct, variables: (2.0 * ct * v, [10.0 * tf.reduce_sum(ct * z) for _ in variables])

        x = tf.placeholder(tf.float64, [None])
        found = tf.jacobian(scaled(x), [x, v])
        session.run(tf.global_variables_initializer())
        of_x, of_v = session.run(found, {x: [1, 2]})
        np.testing.assert_array_equal(of_x, 6 * np.eye(2))
        np.testing.assert_array_equal(of_v, [10, 20])


# ---- what does not work ----------------------------------------------------------------------------------------------


def test_batches_that_do_not_match() -> None:
    with pytest.raises(ValueError, match="first dimensions"):
        values([None, 3], lambda api, x: x[1:], tf.batch_jacobian, POINTS)


def test_plans_and_symbolic_tapes_name_the_way_out() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, [None])
        with pytest.raises(ValueError, match="set_shape"):
            tf.jacobian_plan(x * x, x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        with pytest.raises(ValueError, match="set_shape"):
            tape.jacobian(y, x)


def test_pickled() -> None:
    """Programs with a deferred Jacobian in them can be sent elsewhere."""
    x = tf.placeholder(tf.float64, [None, 3])
    j = tf.jacobian(masked(tf, x), x)
    nodes = needed_nodes(x.graph.nodes, [j], {id(x)})
    program, _, _ = lower(nodes, [(x, tape_api.constant(POINTS[0]).aval)], [j])
    assert deferred_op in [i.op for i in program.instructions]
    (expected,) = program(POINTS[0])
    (found,) = pickle.loads(pickle.dumps(program))(POINTS[0])
    np.testing.assert_array_equal(found, expected)


def test_constant_indices_are_known_once_shapes_are() -> None:
    # so many that no shape could be made of them
    indices = np.random.default_rng(0).permutation(1000)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [None])
        y = tf.gather(tf.sin(x), indices)
        found = session.run(tf.jacobian(y, x, format="csr"), {x: np.ones(2000)})
    assert found.shape == (1000, 2000)
    assert found.indices.tolist() == indices.tolist()


def test_a_hessian_behind_a_loop_that_counts_no_steps() -> None:
    x = tape_api.constant([0.3], tape_api.float64)
    for k in range(30):  # after some runs the loop is one operation
        with tape_api.GradientTape() as tape:
            tape.watch(x)
            start = tape_api.reshape(x, [-1]) if k % 2 else x
            (y,) = tape_api.while_loop(lambda y: y[0] < 30.0, lambda y: (2.0 * y + tape_api.sin(y) + 1.0,), (start,))
            z = tape_api.reduce_sum(tape_api.sin(y))
        assert tape.hessian(z, x, format="csr").shape == (1, 1)
