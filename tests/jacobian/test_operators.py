"""Jacobians and Hessians of a graph as linear operators, and what operators do with complex vectors."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator, lsmr

import graph_api as tf
import tape_api
from tests.jacobian.both import Function, in_graph, on_tape, points
from tests.tapes import gradient_in


def fetched(derive: Callable[[Any], Any], value: Any, shape: Any = ...) -> Any:
    """What a session returns for something derived from a placeholder of a shape that may be unknown."""
    value = np.asarray(value)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(value.dtype, value.shape if shape is ... else shape)
        return session.run(derive(x), {x: value})


def dense(operator: LinearOperator) -> np.ndarray:
    """The matrix, by products from the right, which those from the left must fit."""
    assert isinstance(operator, LinearOperator)
    found = operator @ np.eye(operator.shape[1])
    np.testing.assert_allclose(operator.rmatmat(np.eye(operator.shape[0])), found.conj().T, rtol=1e-12, atol=1e-14)
    return np.asarray(found)


def by_hand(api: Any, x: Any) -> Any:
    @api.custom_gradient
    def cube(x: Any) -> Any:
        return x**3.0, lambda ct: 7.0 * ct * x**2.0

    return cube(x)[1:] * x[:-1]


def looped(api: Any, x: Any) -> Any:
    return api.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, api.roll(y, 1, 0) * x), [api.constant(0), x])[1]


def by_index(api: Any, x: Any) -> Any:
    return api.gather(x, api.argsort(x)) * api.reduce_sum(x)


def masked(api: Any, x: Any) -> Any:
    return api.boolean_mask(x, x > 0.9) ** 2.0


FUNCTIONS: dict[str, Function] = {f.__name__: f for f in (by_hand, looped, by_index, masked)}


@pytest.mark.parametrize("shape", [(4,), (None,), None], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_the_dense_one(name: str, shape: Any) -> None:
    fn = FUNCTIONS[name]
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, shape)
        operator = tf.jacobian(fn(tf, x), x, format="operator")
        for value in (*points((4,), (4,)), points((4,), seed=1)[0]):
            found = session.run(operator, {x: value})
            (expected,) = on_tape(fn, value)
            np.testing.assert_allclose(dense(found), expected, rtol=1e-12, atol=1e-14)
            np.testing.assert_array_equal(pickle.loads(pickle.dumps(found)) @ value, found @ value)


def test_unknown_sizes() -> None:
    fn = lambda x: tf.jacobian(x[1:] * x[:-1], x, format="operator")  # noqa: E731
    for size in (2, 3, 2):
        assert fetched(fn, np.ones(size), [None]).shape == (size - 1, size)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, [None])
        assert repr(fn(x)) == "<SymbolicOperator of unknown shape>" and fn(x).shape is None


def test_variables_and_values_that_change() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v, w = (tf.Variable([1.0, 2.0, 3.0], dtype=tf.float64, name=name) for name in "vw")
        operators = tf.jacobian(v * v[::-1] * w[0], [v, w], format="operator")
        session.run(tf.global_variables_initializer())
        for value in ([1.0, 2.0, 3.0], [3.0, 3.0, 3.0]):
            session.run(v.assign(value))
            first, second = map(dense, session.run(operators))
            expected = on_tape(lambda tf, v, w: v * v[::-1] * w[0], np.array(value), np.array([1.0, 2.0, 3.0]))
            np.testing.assert_allclose(first, expected[0])
            np.testing.assert_allclose(second, expected[1])


@pytest.mark.parametrize("run", [on_tape, in_graph])
def test_pairs_that_are_not_connected(run: Any) -> None:
    (x,) = points((3,))
    fn = lambda tf, x, y, i: (x * 2.0) * tf.cast(i, tf.float64)  # noqa: E731
    values = x, np.ones(2), np.arange(3)
    first, *others = run(fn, *values, format="operator")
    assert others == [None, None]
    np.testing.assert_array_equal(dense(first), np.diag([0.0, 2.0, 4.0]))
    _, *others = run(fn, *values, format="operator", unconnected_gradients="zero")
    assert [o.shape for o in others] == [(3, 2), (3, 3)]
    assert not np.any(dense(others[0])) and not np.any(others[1] @ np.arange(3))


def test_nested_structures() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = (tf.placeholder(tf.float64, [n]) for n in (3, 2))
        found = tf.jacobian({"a": x * 2.0, "b": (y, x[:2] * y)}, [x, y], format="operator")
        assert found["a"][1] is None and found["b"][0][0] is None
        a, b = session.run([found["a"][0], found["b"][1]], {x: [1.0, 2.0, 3.0], y: [4.0, 5.0]})
    np.testing.assert_array_equal(dense(a), 2.0 * np.eye(3))
    np.testing.assert_array_equal(dense(b[0]), [[4.0, 0.0, 0.0], [0.0, 5.0, 0.0]])
    np.testing.assert_array_equal(dense(b[1]), np.diag([1.0, 2.0]))


def test_stopped() -> None:
    (x,) = points((3,))

    def stopped(x: Any) -> Any:
        y = x**2.0
        return tf.jacobian(y * x, x, stop_gradients=y, format="operator")

    np.testing.assert_allclose(dense(fetched(stopped, x)), np.diag(x**2))


@pytest.mark.parametrize("shape", [(4,), (None,)], ids=str)
def test_hessians(shape: Any) -> None:
    (x,) = points((4,))
    fn = lambda tf, x: tf.reduce_sum(tf.sin(x[1:]) * x[:-1] ** 2.0)  # noqa: E731
    ((expected,),) = on_tape(fn, x, method="hessian")
    found = fetched(lambda x: tf.hessian(fn(tf, x), x, format="operator"), x, shape)
    np.testing.assert_allclose(dense(found), expected, rtol=1e-12, atol=1e-14)
    with pytest.raises(ValueError, match="hessian: the format 'operator' needs one x; got 2"):
        in_graph(lambda tf, x, y: tf.reduce_sum(x * y), x, x, method="hessian", format="operator")


@pytest.mark.parametrize("run", [on_tape, in_graph])
def test_empty(run: Any) -> None:
    (found,) = run(lambda tf, x: x * 2.0, np.zeros(0), format="operator")
    assert found.shape == (0, 0) and dense(found).shape == (0, 0)
    (found,) = run(lambda tf, x: x[:0] * 2.0, np.ones(3), format="operator")
    assert dense(found).shape == (0, 3) and (found @ np.zeros((3, 0))).shape == (0, 0)


def test_solvers_take_them() -> None:
    (x,) = points((5,))
    found = fetched(lambda x: tf.jacobian(x[1:] * x[:-1], x, format="operator"), x, [None])
    step = lsmr(found, np.ones(4), atol=1e-14, btol=1e-14)[0]
    np.testing.assert_allclose(found @ step, np.ones(4), rtol=1e-10)


def test_they_are_multiplied_when_they_are_known() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, [3])
        for format in ("operator", "csr"):
            with pytest.raises(TypeError, match="multiply what a session returns for it"):
                tf.jacobian(x * x, x, format=format) @ np.ones(3)


@pytest.mark.parametrize("run", [on_tape, in_graph])
def test_complex_vectors(run: Any) -> None:
    """Real operators multiply real and imaginary parts; those with a complex end are matrices too."""
    (x,) = points((3,))
    v = np.array([1.0 + 2.0j, -1.0j, 3.0])
    (real,) = run(lambda tf, x: x[::-1] * x, x, format="operator")
    np.testing.assert_allclose(real @ v, dense(real) @ v)
    np.testing.assert_allclose(real.rmatvec(v), dense(real).T @ v)
    factors = np.array([1j, 2.0, 1.0 - 1j])
    (found,) = run(lambda tf, x: tf.cast(x * x, tf.complex128) * factors, x, format="operator")
    assert found.dtype == np.complex128
    np.testing.assert_allclose(dense(found), np.diag(2.0 * x * factors))
    np.testing.assert_allclose(found @ v, 2.0 * x * factors * v)
    np.testing.assert_allclose(found.H @ v, 2.0 * x * factors.conj() * v)


def test_a_hessian_of_a_tape_over_a_graph() -> None:
    (x,) = points((3,))
    with tf.Graph().as_default(), tf.Session() as session:
        symbol = tf.placeholder(tf.float64, [None])
        found = session.run(
            gradient_in(symbol, lambda: tf.reduce_prod(symbol), method="hessian", format="operator"), {symbol: x}
        )
    a, b, c = x
    np.testing.assert_allclose(dense(found), [[0, c, b], [c, 0, a], [b, a, 0]], rtol=1e-13)


def test_vectors_written_as_lists() -> None:
    x = tape_api.constant([1.0, 2.0, 3.0])
    with tape_api.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x**3.0
        z = tape_api.reduce_sum(y)
    found = [tape.jvp(y, x, [1.0, 0, 0]), tape.vjp([y], x, [[1.0, 0, 0]]), tape.hvp(z, [x], [1, 0, 0])[0]]
    np.testing.assert_array_equal(found, [[3.0, 0.0, 0.0], [3.0, 0.0, 0.0], [6.0, 0.0, 0.0]])
    with tf.Graph().as_default(), tf.Session() as session:
        u = tf.constant([1.0, 2.0, 3.0])
        y, z = u**3.0, tf.reduce_sum(u**3.0)
        in_graph = [tf.jvp(y, u, [1.0, 0, 0]), tf.vjp([y], u, [[1.0, 0, 0]]), tf.hvp(z, [u], [1, 0, 0])[0]]
        np.testing.assert_array_equal(session.run(in_graph), found)
