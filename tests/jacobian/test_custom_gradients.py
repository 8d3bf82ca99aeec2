"""Custom gradients, whose rules use tensors around them, by every way that there is to a Jacobian."""

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import graph_api as tf
import tape_api
from tests.jacobian.both import dense
from tests.tapes import gradient_in, watching

X = np.array([0.5, 1.0, 1.5, 2.0])
WEIGHT = 3.0


def steep(api: Any, x: Any, weight: Any) -> Any:
    """``x ** 3 * x``, where the cube is said to have the derivative ``weight * x``."""

    @api.custom_gradient
    def cube(x: Any) -> Any:
        return x**3.0, lambda ct: ct * weight * x

    return cube(x) * x


def expected(x: np.ndarray) -> np.ndarray:
    return np.diag(x**3 + WEIGHT * x * x)


WAYS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "dense": lambda api, y, x: api.jacobian(y, x),
    "csr": lambda api, y, x: api.jacobian(y, x, format="csr"),
    "pattern": lambda api, y, x: api.jacobian(y, x, sparsity=np.eye(4)),
    "operator": lambda api, y, x: api.jacobian(y, x, format="operator"),
    "executor": lambda api, y, x: api.jacobian(y, x, executor=ThreadPoolExecutor(2)),
    "reverse": lambda api, y, x: api.jacobian(y, x, mode="reverse"),
    "forward": lambda api, y, x: api.jacobian(y, x, mode="forward"),
}


@pytest.mark.parametrize("way", WAYS)
def test_tape(way: str) -> None:
    x, weight = tape_api.constant(X), tape_api.Variable(WEIGHT, dtype=tape_api.float64, trainable=False)
    tape, y = watching(x, lambda: steep(tape_api, x, weight))
    np.testing.assert_allclose(dense(WAYS[way](tape, y, x)), expected(X), rtol=1e-14)


@pytest.mark.parametrize("shape", [(4,), (None,)], ids=str)
@pytest.mark.parametrize("way", WAYS)
def test_graph(way: str, shape: Any) -> None:
    if way == "executor" and shape == (None,):
        pytest.skip("needs known shapes")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, shape)
        for weight in (tf.placeholder(tf.float64, []), tf.Variable(WEIGHT, dtype=tf.float64), tf.constant(WEIGHT) + 0):
            if weight.dtype != tf.float64:
                weight = tf.cast(weight, tf.float64)
            found = WAYS[way](tf, steep(tf, x, weight), x)
            session.run(tf.global_variables_initializer())
            feed = {x: X, **({weight: WEIGHT} if weight.op.type == "Placeholder" else {})}
            for point in (X, 2.0 * X):
                np.testing.assert_allclose(dense(session.run(found, {**feed, x: point})), expected(point), rtol=1e-14)


def test_plans_of_a_graph() -> None:
    with tf.Graph().as_default():
        x, weight = tf.placeholder(tf.float64, [4]), tf.constant(WEIGHT, tf.float64)
        in_graph = tf.jacobian_plan(steep(tf, x, weight), x)
    for plan in (in_graph, pickle.loads(pickle.dumps(in_graph))):
        for point in (X, 2.0 * X):
            np.testing.assert_allclose(plan(point), expected(point), rtol=1e-14)
            np.testing.assert_allclose(plan(point, executor=ThreadPoolExecutor(2)), expected(point), rtol=1e-14)


def test_plans_of_a_tape_are_not_evaluated_elsewhere() -> None:
    """The rule holds what it held when it was recorded."""
    tensor = tape_api.constant(X)
    plan = gradient_in(
        tensor, lambda: steep(tape_api, tensor, tape_api.constant(WEIGHT, tape_api.float64)), method="jacobian_plan"
    )
    assert "4 seeds" in str(plan)
    for way in (plan, plan.in_chunks(2)):
        with pytest.raises(ValueError, match="custom gradient, whose rule may hold values of the recording"):
            way(2.0 * X)


def test_a_plan_of_what_does_not_depend_on_the_source() -> None:
    tensor = tape_api.constant(X)
    with tape_api.GradientTape() as tape:
        tape.watch(tensor)
    plan = tape.jacobian_plan(tape_api.constant([1.0, 2.0]), tensor)
    assert "zero" in str(plan)
    np.testing.assert_array_equal(plan(X), np.zeros((2, 4)))
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, [4])
        plan = tf.jacobian_plan(tf.constant([1.0, 2.0]), x)
    np.testing.assert_array_equal(plan(X), np.zeros((2, 4)))


@pytest.mark.parametrize("method", ["hessian", "hvp", "hessian_diag"])
def test_second_order_of_a_rule_that_uses_values_of_the_recording(method: str) -> None:
    """A nested tape has always seen that the rule depends on its argument; what one tape computes must, too."""

    @tape_api.custom_gradient
    def f(a: Any) -> Any:
        return a * 1.0, lambda upstream: upstream * a * a

    x = tape_api.constant([3.0, 0.5])
    with tape_api.GradientTape(persistent=True) as outer:
        outer.watch(x)
        tape, y = watching(x, lambda: tape_api.reduce_sum(f(tape_api.sin(x))), persistent=True)
        first = tape.gradient(y, x)
    expected = outer.gradient(first, x).numpy()
    ones = [tape_api.ones_like(x)] if method == "hvp" else []
    found = getattr(tape, method)(y, x, *ones).numpy()
    np.testing.assert_allclose(found.sum(-1) if found.ndim > 1 else found, expected, rtol=1e-6)


def test_second_derivatives_on_a_tape_see_all_that_the_rule_takes() -> None:
    """What was computed beside the path, what the rule computes from arrays alone, tensors from outside."""
    x = tape_api.constant(X)

    def function(x: Any) -> Any:
        @tape_api.custom_gradient
        def doubled(a: Any) -> Any:
            beside = tape_api.sin(a)
            return a * 2.0, lambda ct: ct * (beside + tape_api.cos(a) * x)

        return doubled(x) * x

    with tape_api.GradientTape() as outer:
        outer.watch(x)
        tape, y = watching(x, lambda: function(x), persistent=True)
        gradient = tape.gradient(y, x)
    matrix = outer.jacobian(gradient, x).numpy()
    assert np.count_nonzero(matrix) == 4
    np.testing.assert_allclose(tape.hessian(y, x), matrix, rtol=1e-14)
    np.testing.assert_allclose(tape.hessian(y, x, format="csr").toarray(), matrix, rtol=1e-14)
    np.testing.assert_allclose(tape.hessian(y, x, format="operator") @ np.eye(4), matrix, rtol=1e-14)
    np.testing.assert_allclose(tape.hessian_diag(y, x), np.diag(matrix), rtol=1e-14)
    np.testing.assert_allclose(tape.hvp(y, x, X), matrix @ X, rtol=1e-14)
    problem = tape_api.for_scipy(lambda x: tape_api.reduce_sum(function(x)), X)
    np.testing.assert_allclose(problem.hess(X), matrix, rtol=1e-14)
    np.testing.assert_allclose(problem.hessp(X, X), matrix @ X, rtol=1e-14)
    np.testing.assert_allclose(problem.jac(X), gradient, rtol=1e-14)


@pytest.mark.parametrize("api", [tf, tape_api], ids=["graph", "tape"])
def test_a_function_that_returns_what_it_captures_has_the_derivative_of_its_rule(api: Any) -> None:
    """Gradient and Jacobian agree about what the rule says, and about what it leaves out."""

    def found(session: Any) -> list[Any]:
        x, other = api.constant(X), api.constant(X + 1.0)
        with api.GradientTape(persistent=True) as tape:
            tape.watch([x, other])
            y = api.custom_gradient(lambda a: (other, lambda ct: ct * 2.0))(x)
        results = [*tape.gradient(y, [x, other]), *tape.jacobian(y, [x, other])]
        return [None if r is None else session.run(r) if session else r.numpy() for r in results]

    if api is tf:
        with tf.Graph().as_default(), tf.Session() as session:
            gradient, beside, jacobian, nothing = found(session)
    else:
        gradient, beside, jacobian, nothing = found(None)
    assert gradient.tolist() == [2.0] * 4 and jacobian.tolist() == (2 * np.eye(4)).tolist()
    assert beside is None and nothing is None
