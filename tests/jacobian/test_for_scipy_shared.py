"""Functions for SciPy in process pools, at many points at once, in parts, banded, and with boundary values."""

import pickle
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

import graph_api as tf1
import tape_api as tf


def bowl(x: Any, shift: float = 1.0) -> Any:
    return tf.reduce_sum((x["a"] - shift) ** 2) + x["b"] ** 4


def test_a_function_pickles_by_reference_or_by_its_program() -> None:
    weight = tf.constant(3.0, tf.float64)
    example = {"a": np.zeros(3), "b": 0.0}
    for function in (bowl, lambda x, shift=1.0: weight * bowl(x, shift)):
        p = tf.for_scipy(function, example)
        p.jac(p.x0 + 2.0)
        again = pickle.loads(pickle.dumps(p))
        at = np.arange(4.0)
        assert again.fun(at) == p.fun(at)
        np.testing.assert_array_equal(again.jac(at), p.jac(at))
        np.testing.assert_array_equal(again.hess(at), p.hess(at))
        assert again.unpacked(at)["a"].tolist() == [0.0, 1.0, 2.0]
    # one that was never called, and one with arguments
    p = pickle.loads(pickle.dumps(tf.for_scipy(lambda x: tf.reduce_sum(x**2), np.zeros(2))))
    np.testing.assert_array_equal(p.jac([1.0, 2.0]), [2.0, 4.0])
    scaled = tf.for_scipy(lambda x, a: a * x, np.zeros(2))
    scaled.fun([1.0, 2.0], 2.0)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(scaled)).fun([1.0, 2.0], 5.0), [5.0, 10.0])


def test_a_graph_pickles_as_its_program() -> None:
    with tf1.Graph().as_default(), tf1.Session() as session:
        x, a = tf1.placeholder(tf1.float64, [3]), tf1.placeholder(tf1.float64, [])
        weight = tf1.Variable(2.0, dtype=tf1.float64)
        session.run(weight.initializer)
        p = tf1.for_scipy(a * weight * tf1.reduce_sum(x**3), x, np.ones(3), args=[a])
        at = np.arange(3.0)
        wanted = p.fun(at, 5.0), p.jac(at, 5.0), p.hess(at, 5.0)
        sent = pickle.dumps(p)
        # a variable as the point
        q = tf1.for_scipy(weight**2 * tf1.reduce_sum(x), weight, args=[x])
        at_variable = pickle.loads(pickle.dumps(q)), q
        assert [one.fun([3.0], at) for one in at_variable] == [27.0, 27.0]
        assert [one.jac([3.0], at).tolist() for one in at_variable] == [[18.0], [18.0]]
    again = pickle.loads(sent)
    np.testing.assert_equal(wanted, (again.fun(at, 5.0), again.jac(at, 5.0), again.hess(at, 5.0)))


def test_what_cannot_be_pickled_says_so() -> None:
    p = tf.for_scipy(lambda x: x if x[0] > 0 else -x, np.zeros(2))
    with pytest.raises(pickle.PicklingError, match="top of a module"):
        pickle.dumps(p)


def test_workers() -> None:
    p = tf.for_scipy(bowl, {"a": np.zeros(2), "b": 0.0})
    with ProcessPoolExecutor(2) as pool:
        np.testing.assert_allclose(list(pool.map(p.fun, np.ones((3, 3)))), [1.0, 1.0, 1.0])


@pytest.mark.parametrize("branches", [False, True])
def test_many_points_at_once(branches: bool) -> None:
    def function(x: Any) -> Any:
        if branches and x[0] > 100.0:
            return 0.0 * x[0]
        return tf.reduce_sum(x**2)

    p = tf.for_scipy(function, np.zeros(3))
    points = np.arange(12.0).reshape(3, 4)
    np.testing.assert_allclose(p.fun(points), (points**2).sum(0))
    found = scipy.optimize.differential_evolution(
        p.fun, [(-2, 2)] * 3, vectorized=True, updating="deferred", maxiter=40, seed=1, polish=False
    )
    assert found.fun < 1e-6
    rates = tf.for_ode(lambda t, y: -y * y[::-1], np.ones(2))
    np.testing.assert_allclose(rates.fun(0.0, points[:2]), -points[:2] * points[1::-1])
    found = scipy.integrate.solve_ivp(rates.fun, (0, 1), rates.y0, method="BDF", vectorized=True)
    assert abs(found.y[0, -1] - 0.5) < 1e-2


def test_one_object_for_objective_and_constraints() -> None:
    weight = np.ones(1)

    def both(x: Any) -> Any:
        return {"cost": tf.reduce_sum(weight * (x - 2.0) ** 2), "ring": x[:1] ** 2 + x[1:] ** 2}

    whole = tf.for_scipy(both, np.zeros(2))
    cost, ring = whole.part(0), whole.part(1)
    inside = scipy.optimize.NonlinearConstraint(ring.fun, 0.0, 1.0, jac=ring.jac, hess=ring.weighted_hess)
    found = scipy.optimize.minimize(
        cost.fun, [0.1, 0.2], jac=cost.jac, hess=cost.hess, constraints=inside, method="trust-constr"
    )
    np.testing.assert_allclose(found.x, [0.5**0.5] * 2, atol=1e-3)
    before = whole.counts["fun"]
    at = np.array([0.3, 0.4])
    assert cost.fun(at) == pytest.approx(5.45) and ring.fun(at) == pytest.approx(0.25)
    np.testing.assert_allclose(cost.jac(at), [-3.4, -3.2])
    np.testing.assert_allclose(ring.jac(at), [[0.6, 0.8]])
    np.testing.assert_allclose(ring.weighted_hess(at, [2.0]), [[4.0, 0.0], [0.0, 4.0]])
    assert whole.counts["fun"] == before + 1 and ring.jac_sparsity().shape == (1, 2)
    cost.fun(at + 1.0), ring.fun(at)
    np.testing.assert_allclose(cost.jac(at), [-3.4, -3.2])
    weight[0] = 2.0
    assert cost.fun(at) == pytest.approx(10.9)
    np.testing.assert_allclose(cost.jac(at), [-6.8, -6.4])


def test_parts_of_a_graph() -> None:
    with tf1.Graph().as_default(), tf1.Session():
        x = tf1.placeholder(tf1.float64, [2])
        whole = tf1.for_scipy([tf1.reduce_sum(x**2), x[:1] * x[1:]], x, np.zeros(2))
        cost, product = whole.part(0), whole.part(1)
        assert cost.fun([1.0, 2.0]) == 5.0 and product.fun([1.0, 2.0]) == [2.0]
        np.testing.assert_allclose(cost.hess([1.0, 2.0]), [[2.0, 0.0], [0.0, 2.0]])
        np.testing.assert_allclose(product.jac([1.0, 2.0]), [[2.0, 1.0]])
        np.testing.assert_allclose(product.weighted_hess([1.0, 2.0], [3.0]), [[0.0, 3.0], [3.0, 0.0]])


@pytest.mark.parametrize("banded", [True, (1, 2)])
def test_banded_jacobians(banded: Any) -> None:
    p = tf.for_ode(
        lambda t, y: np.pad(y[1:], (0, 1)) - 3.0 * y * y + 0.5 * np.pad(y[:-1], (1, 0)), np.ones(9), banded=banded
    )
    dense = tf.for_ode(p.function.evaluations._function.args[0], np.ones(9)).jac(0.0, np.arange(9.0))
    lower, upper = p.lband, p.uband
    assert (lower, upper) == ((1, 1) if banded is True else banded)
    packed = p.jac(0.0, np.arange(9.0))
    assert packed.shape == (lower + 1 + upper, 9)
    for i, j in np.argwhere(dense):
        assert packed[i - j + upper, j] == dense[i, j]
    found = scipy.integrate.solve_ivp(
        p.fun, (0, 1), p.y0, method="LSODA", jac=p.jac, lband=lower, uband=upper, rtol=1e-8
    )
    again = scipy.integrate.solve_ivp(p.fun, (0, 1), p.y0, method="Radau", rtol=1e-8)
    np.testing.assert_allclose(found.y[:, -1], again.y[:, -1], rtol=1e-5)


def test_boundary_values_with_a_parameter() -> None:
    # y'' = -p**2 y, y(0) = y(1) = 0, y'(0) = p
    p = tf.for_bvp(lambda x, y, p: [y[1], -(p[0] ** 2) * y[0]], lambda a, b, p: [a[0], b[0], a[1] - p[0]])
    x = np.linspace(0.0, 1.0, 6)
    y = np.stack([np.sin(3 * x), 3 * np.cos(3 * x)])
    found = scipy.integrate.solve_bvp(p.fun, p.bc, x, y, [3.0], fun_jac=p.fun_jac, bc_jac=p.bc_jac)
    assert found.success and found.p[0] == pytest.approx(np.pi, rel=1e-4)
    of_y, of_p = p.fun_jac(x, y, [3.0])
    np.testing.assert_allclose(of_y[:, :, 2], [[0.0, 1.0], [-9.0, 0.0]])
    np.testing.assert_allclose(of_p[:, 0], [0.0 * x, -6.0 * y[0]])
    of_a, of_b, of_p = p.bc_jac(y[:, 0], y[:, -1], [3.0])
    np.testing.assert_allclose(of_a, [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(of_b, [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    np.testing.assert_allclose(of_p, [[0.0], [0.0], [-1.0]])
    with pytest.raises(ValueError, match=r"`bc` must give shape \(3,\)"):
        tf.for_bvp(lambda x, y, p: [y[1], -p[0] * y[0]], lambda a, b, p: [a[0], b[0]]).bc(y[:, 0], y[:, -1], [3.0])
