"""`batch_jacobian` in a graph: where structure does not tell whether rows are independent, numbers do when it runs."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api as tf
import tape_api
from engine.jacobian.independence import RowsCheck
from engine.ops.checked import checked_op
from tests.tapes import gradient_in

X = np.random.default_rng(0).uniform(0.5, 1.5, (6, 3))
Function = Callable[[Any, Any], Any]


def mapped(api: Any, x: Any) -> Any:
    return api.map_fn(lambda row: api.sin(row) * api.reduce_sum(row), x)


def cancelling(api: Any, x: Any) -> Any:
    return api.sin(x) + 0.0 * api.reverse(x, [0])


def centered(api: Any, x: Any) -> Any:
    return x - api.reduce_mean(x, 0)


ROWWISE: dict[str, Function] = {
    "mapped": mapped,
    "scanned by columns": lambda api, x: api.transpose(api.scan(lambda a, b: a * b + b, api.transpose(x)), [1, 0]),
    "chosen": lambda api, x: api.cond(api.reduce_sum(x) > 0.0, lambda: x * x, lambda: api.reverse(x, [0])),
    "cancelling": cancelling,
}
COUPLED: dict[str, tuple[Function, str]] = {
    "scanned by rows": (lambda api, x: api.scan(lambda a, b: a * b + b, x), "getitem|scan|unstack"),
    "centered": (centered, "reduce_mean"),
    "reversed and mapped": (lambda api, x: mapped(api, api.reverse(x, [0])), "reverse"),
    "chosen": (lambda api, x: api.cond(api.reduce_sum(x) < 0.0, lambda: x * x, lambda: api.reverse(x, [0])), "cond"),
}
shapes = pytest.mark.parametrize("shape", [(6, 3), (None, 3)])


def in_graph(fn: Function, shape: Any, derive: Callable[[Any, Any], Any] = tf.batch_jacobian) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, shape)
        return session.run(derive(fn(tf, x), x), {x: X})


def on_tape(fn: Function) -> Any:
    x = tape_api.constant(X)
    return gradient_in(x, lambda: fn(tape_api, x), method="batch_jacobian").numpy()


@pytest.mark.parametrize("fn", ROWWISE.values(), ids=ROWWISE)
@shapes
def test_rows_that_are_independent(fn: Function, shape: Any) -> None:
    found = in_graph(fn, shape)
    full = in_graph(fn, shape, tf.jacobian)
    np.testing.assert_allclose(found, np.stack([full[i, :, i] for i in range(6)]), rtol=1e-14)
    np.testing.assert_allclose(found, on_tape(fn), rtol=1e-14)


@pytest.mark.parametrize(("fn", "op"), COUPLED.values(), ids=COUPLED)
@shapes
def test_rows_that_are_coupled(fn: Function, op: str, shape: Any) -> None:
    with pytest.raises(ValueError, match=f"batch_jacobian: .* `({op})` .* couples the 6 rows.* made at .*test_rows_in"):
        in_graph(fn, shape)


@shapes
def test_custom_gradients(shape: Any) -> None:
    def rowwise(api: Any, x: Any) -> Any:
        return api.custom_gradient(lambda z: (z * z, lambda ct: 2 * z * ct))(x)

    def coupled(api: Any, x: Any) -> Any:
        return api.custom_gradient(lambda z: (z * z, lambda ct: 2 * z * api.reverse(ct, [0])))(x)

    np.testing.assert_array_equal(in_graph(rowwise, shape), on_tape(rowwise))
    with pytest.raises(ValueError, match=r"`(custom|closed)_call`"):
        in_graph(coupled, shape)


def test_nothing_is_checked_where_structure_tells() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float64, [6, 3])
        tf.batch_jacobian(tf.sin(x) * tf.reduce_sum(x, 1, keepdims=True), x)
        tf.batch_jacobian(mapped(tf, x), x)
        assert checked_op not in [node.op for node in graph.nodes]
        tf.batch_jacobian(x + 0.0 * tf.reverse(x, [0]), x)
        assert checked_op in [node.op for node in graph.nodes]


def test_the_same_graph_with_other_numbers() -> None:
    """Whether rows are coupled may depend on what is fed."""
    with tf.Graph().as_default(), tf.Session() as session:
        x, a = tf.placeholder(tf.float64, [6, 3]), tf.placeholder(tf.float64, [])
        j = tf.batch_jacobian(x * x + a * tf.reverse(x, [0]), x)
        np.testing.assert_allclose(session.run(j, {x: X, a: 0.0}), 2 * X[:, :, None] * np.eye(3))
        with pytest.raises(ValueError, match="reverse"):
            session.run(j, {x: X, a: 1e-9})


def test_the_same_function_with_other_numbers() -> None:
    turned = lambda x: tape_api.where(x < 0.0, tape_api.reverse(x, [0]), x * x)  # noqa: E731
    function = tape_api.function(lambda x: gradient_in(x, lambda: turned(x), method="batch_jacobian"))
    for _ in range(2):
        np.testing.assert_allclose(function(tape_api.constant(X)), 2 * X[:, :, None] * np.eye(3))
        with pytest.raises(ValueError, match="reverse"):
            function(tape_api.constant(-X))


@shapes
def test_it_can_be_differentiated_again(shape: Any) -> None:
    derive = lambda y, x: tf.batch_jacobian(tf.batch_jacobian(y, x), x)  # noqa: E731
    found = in_graph(cancelling, shape, derive)
    exact = np.zeros((6, 3, 3, 3))
    exact[:, range(3), range(3), range(3)] = -np.sin(X)
    np.testing.assert_allclose(found, exact, atol=1e-15)
    gradient = in_graph(cancelling, shape, lambda y, x: tf.gradients(tf.batch_jacobian(y, x), x)[0])
    np.testing.assert_allclose(gradient, -np.sin(X))


def test_one_row_and_none() -> None:
    for rows in (0, 1):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float64, [rows, 3])
            found = session.run(tf.batch_jacobian(centered(tf, x), x), {x: X[:rows]})
            np.testing.assert_allclose(found, np.zeros((rows, 3, 3)), atol=1e-15)


def test_the_check_pickles() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float64, [6, 3])
        tf.batch_jacobian(centered(tf, x), x)
        (check,) = [node.params["check"] for node in graph.nodes if node.op is checked_op]
    assert isinstance(check, RowsCheck)
    bad = [np.ones((6, 6, *value.aval.shape[1:])) for value in check.values]
    with pytest.raises(ValueError, match="couples the 6 rows"):
        pickle.loads(pickle.dumps(check))(*bad)


def on_tape_over_graph(x: Any, fn: Function) -> Any:
    return gradient_in(x, lambda: fn(tf, x), method="batch_jacobian")


@pytest.mark.parametrize("fn", ROWWISE.values(), ids=ROWWISE)
def test_a_tape_over_a_graph_checks_too(fn: Function) -> None:
    for coupled, op in (COUPLED["centered"], COUPLED["chosen"]):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float64, X.shape)
            with pytest.raises(ValueError, match=rf"rows of the target are not independent: the op `({op})`"):
                session.run(on_tape_over_graph(x, coupled), {x: X})
            np.testing.assert_allclose(session.run(on_tape_over_graph(x, fn), {x: X}), on_tape(fn), rtol=1e-12)
