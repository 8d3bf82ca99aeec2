"""What `for_scipy` does beside solving: what is computed once, who owns results, structures, bad input."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy import optimize, sparse

import graph_api
import tape_api as tf
from engine.jacobian import plan_cache as recorded
from engine.jacobian.planning import plan as plans
from engine.runtime.errors import DetachWarning, InvalidArgumentError
from tests.jacobian.both import dense
from tests.jacobian.solved import POINTS, both, bratu, bratu_jacobian, rosenbrock

RNG = np.random.default_rng(12)

# ---- how it is done --------------------------------------------------------------------------------------------------


def test_nothing_is_planned_twice() -> None:
    for p in both(rosenbrock, np.zeros(6), format="csr"):
        for x in RNG.normal(size=(4, 6)):
            if p.counts["fun"] == 1:
                before = plans.counters["planned"], recorded.counters["compiled"]
            p.fun(x), p.jac(x), p.hess(x), p.hessp(x, x)
        assert (plans.counters["planned"], recorded.counters["compiled"]) == before
        assert p.counts == {"fun": 4, "jac": 4, "hess": 4, "hessp": 4}


def test_a_point_is_evaluated_once() -> None:
    for p in both(bratu, np.zeros(POINTS), format="csr"):
        x = np.zeros(POINTS)
        p.fun(x), p.jac(x), p.jac(x)
        assert p.counts["fun"] == 1
        x[3] = 1.0  # solvers change points in place
        assert p.jac(x)[3, 3] == pytest.approx(np.e - 2 * (POINTS + 1) ** 2)
        p.fun(x)
        assert p.counts["fun"] == 2
        p.fun(x)
        assert p.counts["fun"] == 2, "nothing that it uses has changed"


def test_variables_are_read_at_each_evaluation() -> None:
    scale = tf.Variable(np.float64(2.0))
    p = tf.for_scipy(lambda x: scale * tf.reduce_sum(x * x), np.ones(2))
    assert p.fun(p.x0) == 4.0
    scale.assign(3.0)
    assert p.fun(p.x0) == 6.0
    np.testing.assert_array_equal(p.grad(p.x0), 6.0)


def test_results_belong_to_the_caller() -> None:
    cases: list[Any] = [lambda x, lib: lib.exp(x), lambda x, lib: 2.0 * x, lambda x, lib: x, lambda x, lib: x[::-1]]
    for function in cases:
        for format in ("dense", "csr"):
            for p in both(function, np.ones(3), format=format):
                expected = p.fun(p.x0).copy(), dense(p.jac(p.x0)).copy()
                value, matrix = p.fun(p.x0), p.jac(p.x0)
                value *= 0
                matrix *= 0
                np.testing.assert_array_equal(dense(p.jac(p.x0)), expected[1])
                np.testing.assert_array_equal(p.fun(p.x0), expected[0])
                assert p.x0.tolist() == [1.0, 1.0, 1.0]


def test_branches_on_values() -> None:
    p = tf.for_scipy(lambda x: tf.reduce_sum(x**2) if x[0] > 0 else tf.reduce_sum(x**3), np.ones(2))
    assert p.grad([1.0, 2.0]).tolist() == [2.0, 4.0]
    assert p.grad([-1.0, 2.0]).tolist() == [3.0, 12.0]
    assert p.hess([-1.0, 2.0]).tolist() == [[-6.0, 0.0], [0.0, 12.0]]


def test_float32_inside_float64_outside() -> None:
    def function(x: Any, t: Any) -> Any:
        assert x.dtype == tf.float32 == t.dtype
        return tf.sin(x) * t

    p = tf.for_scipy(function, tf.constant([0.5, 1.0]))
    x = np.array([0.5, 1.0])
    assert p.fun(x, 2.0).dtype == p.jac(x, 2.0).dtype == np.float64
    np.testing.assert_allclose(p.jac(x, np.float64(2.0)), np.diag(2 * np.cos(x)), rtol=1e-6)


def test_several_parts_and_results() -> None:
    a, b = RNG.normal(size=(2, 3)), RNG.normal(size=4)

    def function(parts: Any, lib: Any) -> Any:
        one, two = parts
        return [lib.sin(one), lib.reduce_sum(two) * two, one[0, 0] * two[:2]]

    expected = np.zeros((12, 10))
    expected[:6, :6] = np.diag(np.cos(a).ravel())
    expected[6:10, 6:] = np.diag(np.full(4, b.sum())) + b[:, None]
    expected[10:, 0] = b[:2]
    expected[10:, 6:8] = a[0, 0] * np.eye(2)
    x = np.concatenate([a.ravel(), b])
    weights = RNG.normal(size=12)
    second = np.zeros((10, 10))
    second[:6, :6] = np.diag(-np.sin(a).ravel() * weights[:6])
    second[6:, 6:] = weights[6:10][:, None] + weights[6:10]
    second[0, 6:8] = second[6:8, 0] = weights[10:]
    for format in ("dense", "csr", "coo", "operator"):
        with graph_api.Graph().as_default():
            fed = [graph_api.placeholder(graph_api.float64, part.shape) for part in (a, b)]
            q = graph_api.for_scipy(
                function(fed, graph_api), fed, [a.tolist(), b], format=format, session=graph_api.Session()
            )
        for p in (tf.for_scipy(lambda parts: function(parts, tf), (a, b), format=format), q):
            np.testing.assert_array_equal(p.x0, x)
            np.testing.assert_allclose(dense(p.jac(x)), expected, rtol=1e-13, atol=1e-15)
            np.testing.assert_allclose(dense(p.weighted_hess(x, weights)), second, rtol=1e-13, atol=1e-14)
            np.testing.assert_array_equal(p.jac_sparsity().toarray(), expected != 0)
            np.testing.assert_allclose(p.unpacked(x)[0], a)
            if format == "operator":
                np.testing.assert_allclose(p.jac(x).rmatvec(weights), expected.T @ weights, rtol=1e-12)


def test_a_result_that_does_not_depend_on_the_point() -> None:
    for format in ("dense", "csr"):
        p = tf.for_scipy(lambda x: [tf.constant([1.0, 2.0], tf.float64), x * x], np.ones(2), format=format)
        np.testing.assert_array_equal(dense(p.jac([3.0, 4.0])), [[0, 0], [0, 0], [6, 0], [0, 8]])
    constant = tf.for_scipy(lambda x: 3.0, np.ones(2))
    assert constant.fun([1.0, 1.0]) == 3.0
    assert constant.grad([1.0, 1.0]).tolist() == [0.0, 0.0]
    assert constant.hess([1.0, 1.0]).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_arrays_in_place_of_tensors_are_refused() -> None:
    p = tf.for_scipy(lambda x: x.numpy() ** 2, np.ones(2))
    message = "got a NumPy ndarray, which has lost how it follows from the point"
    with pytest.warns(DetachWarning, match=r"numpy\(\)"), pytest.raises(InvalidArgumentError, match=message):
        p.jac([1.0, 1.0])


def test_pattern_and_executor() -> None:
    pattern = sparse.csr_array(np.abs(np.subtract.outer(range(POINTS), range(POINTS))) <= 1)
    u = RNG.normal(size=POINTS)
    with ThreadPoolExecutor(2) as pool:
        for p in both(bratu, np.zeros(POINTS), format="csr", sparsity=pattern, executor=pool):
            np.testing.assert_allclose(p.jac(u).toarray(), bratu_jacobian(u), rtol=1e-13)
    for p in both(bratu, np.zeros(POINTS), format="csr", sparsity=sparse.eye_array(POINTS)):
        with pytest.raises(InvalidArgumentError, match="sparsity"):
            p.jac(u)


# ---- bad input -------------------------------------------------------------------------------------------------------


def test_bad_points() -> None:
    for p in both(rosenbrock, np.zeros(4)):
        with pytest.raises(InvalidArgumentError, match=r"real vector of 4 elements; got float64 of shape \(3,\)"):
            p.fun(np.zeros(3))
        with pytest.raises(InvalidArgumentError, match="complex128"):
            p.jac(np.zeros(4) + 1j)
        with pytest.raises(InvalidArgumentError, match="4 elements"):
            p.hessp(p.x0, np.zeros(5))
        assert p.fun([1, 1, 1, 1]) == 0.0


def test_what_needs_a_scalar_says_so() -> None:
    for p in both(bratu, np.zeros(POINTS)):
        for ask in (p.grad, p.hess, lambda x, p=p: p.hessp(x, x)):
            with pytest.raises(InvalidArgumentError, match=r"needs a function that gives one scalar; got .*\(60,\)"):
                ask(p.x0)
        with pytest.raises(InvalidArgumentError, match="one element per result, 60; got 2"):
            p.weighted_hess(p.x0, [1.0, 2.0])


def test_bad_examples_and_functions() -> None:
    with pytest.raises(InvalidArgumentError, match="must hold numbers; got bool"):
        tf.for_scipy(lambda x: x, np.zeros(2, bool))
    with pytest.raises(InvalidArgumentError, match="int32"):
        tf.for_scipy(lambda x: tf.argmax(x, output_type=tf.int32), np.zeros(2)).fun([0.0, 1.0])
    with pytest.raises(InvalidArgumentError, match="format"):
        tf.for_scipy(lambda x: x, np.zeros(2), format="matrix")
    with graph_api.Graph().as_default():
        x = graph_api.placeholder(graph_api.float64, [2])
        with pytest.raises(InvalidArgumentError, match="x0"):
            graph_api.for_scipy(x * x, x)
        with pytest.raises(InvalidArgumentError, match="structure"):
            graph_api.for_scipy(x * x, [x], [np.zeros(2), np.zeros(2)])
        p = graph_api.for_scipy(x * x, x, np.zeros(2))
        with pytest.raises(ValueError, match="No default session"):
            p.fun(np.zeros(2))


def test_parts_and_results_beside_the_way_are_no_reason_to_plan_again() -> None:
    p = tf.for_scipy(lambda x: [tf.constant([1.0], tf.float64), x["used"] ** 2], {"used": np.ones(2), "unused": 1.0})
    for x in RNG.normal(size=(3, 3)):
        expected = np.zeros((3, 3))
        expected[1:, 1:] = np.diag(2 * x[1:])
        np.testing.assert_allclose(p.jac(x), expected)
        np.testing.assert_allclose(p.weighted_hess(x, [1.0, 1.0, 3.0]), np.diag([0.0, 2.0, 6.0]))
        if p.counts["fun"] == 1:
            before = plans.counters["planned"], recorded.counters["compiled"]
    assert (plans.counters["planned"], recorded.counters["compiled"]) == before


def test_unknown_shapes_in_a_graph() -> None:
    with graph_api.Graph().as_default(), graph_api.Session():
        rows = graph_api.placeholder(graph_api.float64, [None, 3])
        w = graph_api.placeholder(graph_api.float64, [None])
        w3 = graph_api.ensure_shape(w, [3]) if hasattr(graph_api, "ensure_shape") else graph_api.reshape(w, [3])
        residuals = graph_api.linalg.matvec(rows, graph_api.sin(w3))
        p = graph_api.for_scipy(residuals, w, np.ones(3), args=[rows], format="csr")
        loss = graph_api.for_scipy(graph_api.reduce_sum(residuals**2), w, np.ones(3), args=[rows])
        for count in (5, 2, 5):
            a, x = RNG.normal(size=(count, 3)), RNG.normal(size=3)
            planned = plans.counters["planned"]
            jacobian = a * np.cos(x)
            np.testing.assert_allclose(p.jac(x, a).toarray(), jacobian, rtol=1e-12)
            assert p.jac_sparsity().shape == (count, 3)
            np.testing.assert_allclose(loss.grad(x, a), 2 * jacobian.T @ (a @ np.sin(x)), rtol=1e-11)
            expected = 2 * jacobian.T @ jacobian - np.diag(2 * (a.T @ (a @ np.sin(x))) * np.sin(x))
            np.testing.assert_allclose(loss.hess(x, a), expected, rtol=1e-11)
            v = RNG.normal(size=3)
            np.testing.assert_allclose(loss.hessp(x, v, a), expected @ v, rtol=1e-11)
        assert plans.counters["planned"] == planned


def test_a_function_that_gives_nothing() -> None:
    with pytest.raises(InvalidArgumentError, match=r"got None\. Does it lack a return\?"):
        tf.for_scipy(lambda x: None, np.zeros(2)).fun(np.zeros(2))


# ---- what SciPy's solvers hand on, and how they take numbers and sparse rows -----------------------------------------


def test_keyword_arguments() -> None:
    x = np.array([0.3, 1.2])
    with graph_api.Graph().as_default(), graph_api.Session():
        u = graph_api.placeholder(graph_api.float64, [2])
        a, b = (graph_api.placeholder(graph_api.float64, [], name=name) for name in "ab")
        q = graph_api.for_scipy(a * u**2 - b, u, x, args=[a, b])
        for p in (tf.for_scipy(lambda x, a, b=0.0: a * x**2 - b, x), q):
            np.testing.assert_allclose(p.fun(x, 2.0, b=1.0), 2 * x**2 - 1)
            np.testing.assert_allclose(p.fun(x, b=1.0, a=3.0), 3 * x**2 - 1)
            np.testing.assert_allclose(p.jac(x, a=3.0, b=1.0), np.diag(6 * x))
            np.testing.assert_allclose(p.weighted_hess(x, [1.0, 2.0], a=3.0, b=1.0), np.diag([6.0, 12.0]))
            found = optimize.least_squares(p.fun, x, p.jac, kwargs={"a": 2.0, "b": 8.0})
            np.testing.assert_allclose(found.x, [2.0, 2.0])
        with pytest.raises(InvalidArgumentError, match=r"`c`.*there are: a, b"):
            q.fun(x, 2.0, c=1.0)
        with pytest.raises(InvalidArgumentError, match="expected 2 further arguments; got 1"):
            q.fun(x, b=1.0)
    with pytest.raises(TypeError, match="'c'"):
        tf.for_scipy(lambda x, a: a * x, x).fun(x, c=1.0)


def test_a_number_as_the_unknown() -> None:
    for p in both(lambda x, tf: tf.cos(x) - x, 1.0):
        assert [np.shape(f(1.0)) for f in (p.fun, p.jac, p.hess)] == [(), (), ()]
        assert p.jac(0.5) == pytest.approx(-np.sin(0.5) - 1)
        assert p.hess(0.5) == pytest.approx(-np.cos(0.5)) == p.hessp(0.5, 1.0)
        assert p.jac([0.5]).shape == (1,)
        assert p.hess([0.5]).shape == (1, 1)
        assert optimize.newton(p.fun, 1.0, fprime=p.jac, fprime2=p.hess) == pytest.approx(0.7390851332)
        for options in ({"method": "newton"}, {"method": "halley", "fprime2": p.hess}):
            found = optimize.root_scalar(p.fun, x0=1.0, fprime=p.jac, **options)
            assert found.root == pytest.approx(0.7390851332)
        assert optimize.root_scalar(p.fun_and_jac, x0=1.0, fprime=True).root == pytest.approx(0.7390851332)
        assert optimize.brentq(p.fun, 0.0, 1.0) == pytest.approx(0.7390851332)


def test_derivatives_at_many_numbers() -> None:
    x = np.array([[1.0, 2.0, 3.0], [0.5, 4.0, -1.0]])
    a = np.array([2.0, 3.0, 4.0])
    for p in both(lambda x, tf: x**3 - 2.0, 1.0):
        np.testing.assert_allclose(p.jac(x), 3 * x**2, rtol=1e-15)
        np.testing.assert_allclose(p.hess(x), 6 * x, rtol=1e-15)
        for options in ({}, {"fprime2": p.hess}):
            np.testing.assert_allclose(optimize.newton(p.fun, x[0], fprime=p.jac, **options), 2 ** (1 / 3))
    p = tf.for_scipy(lambda x, a, b: x**3 - a * b, 1.0)
    found = optimize.newton(p.fun, x[0], fprime=p.jac, fprime2=p.hess, args=(a, 1.0))
    np.testing.assert_allclose(found**3, a)
    np.testing.assert_allclose(p.jac(x, np.stack([a, a]), 1.0), 3 * x**2)
    branching = tf.for_scipy(lambda x: x**2 if x > 0 else x**3, 1.0, format="csr")
    assert branching.jac(np.array([-1.0, 2.0])).tolist() == [3.0, 4.0]
    assert branching.hess(np.array([-1, 2])).tolist() == [-6.0, 2.0]
    v = tf.Variable(2.0, dtype=tf.float64)
    p = tf.for_scipy(lambda x: v * x**2, 1.0)
    assert p.jac(a).tolist() == [8.0, 12.0, 16.0]
    v.assign(3.0)
    assert p.jac(a).tolist() == [12.0, 18.0, 24.0] and p.jac(np.zeros(0)).shape == (0,)
    with pytest.raises(InvalidArgumentError, match=r"jac at many numbers needs a function that gives one scalar"):
        tf.for_scipy(lambda x: tf.stack([x, x]), 1.0).jac(a)


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_a_sparse_gradient_serves_objectives_and_constraints(format: str) -> None:
    n = 8
    start = np.full(n, 0.5)
    objectives = both(lambda x, tf: tf.reduce_sum((x - np.arange(n) / n) ** 4), start, format=format)
    pairs = both(lambda x, tf: x[1:] * x[:-1] - 0.25, start, format=format)
    balls = both(lambda x, tf: tf.reduce_sum(x[1:] ** 2), start, format=format)
    for p, c, d in zip(objectives, pairs, balls, strict=True):
        row = d.jac(start)
        assert sparse.issparse(row)
        assert (row.format, row.shape, row.nnz) == (format, (1, n), n - 1)
        np.testing.assert_array_equal(np.asarray(row), d.grad(start))
        assert d.grad(start).shape == (n,)
        limits = [
            optimize.NonlinearConstraint(c.fun, 0, np.inf, jac=c.jac, hess=c.weighted_hess),
            optimize.NonlinearConstraint(d.fun, 0, 4, jac=d.jac, hess=d.weighted_hess),
        ]
        options = {"maxiter": 300, "gtol": 1e-7}
        bounds = optimize.Bounds(0, 1)
        found = optimize.minimize(
            p.fun,
            start,
            jac=p.jac,
            hess=p.hess,
            constraints=limits,
            bounds=bounds,
            method="trust-constr",
            options=options,
        )
        assert found.constr_violation < 1e-6
        assert found.status in (1, 2)
        assert optimize.minimize(p.fun, start, jac=p.jac, method="BFGS").fun < 1e-6


def test_complex_numbers_are_pairs() -> None:
    z = np.array([0.3 + 0.4j, -1.0 + 0.2j])
    p = tf.for_scipy(lambda z: z * z * (1 + 2j), z)
    np.testing.assert_array_equal(p.x0, z.view(np.float64))
    np.testing.assert_array_equal(p.unpacked(p.x0), z)
    np.testing.assert_allclose(p.fun(p.x0), (z * z * (1 + 2j)).view(np.float64))
    derivative = 2 * z * (1 + 2j)
    expected = np.zeros((4, 4))
    for i, w in enumerate(derivative):
        expected[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[w.real, -w.imag], [w.imag, w.real]]
    np.testing.assert_allclose(p.jac(p.x0), expected)
    found = optimize.root(tf.for_scipy(lambda z: z * z + 1.0, z[:1]).fun, [0.3, 0.4])
    np.testing.assert_allclose(found.x, [0.0, 1.0], atol=1e-8)


def test_complex_results_of_real_unknowns() -> None:
    x = np.array([0.5, 1.5])
    for format in ("dense", "csr", "coo", "operator"):
        for q in both(lambda x, tf: [tf.complex(x, x**2), tf.reduce_sum(x)], x, format=format):
            np.testing.assert_allclose(q.fun(x), [0.5 + 0.25j, 1.5 + 2.25j, 2.0])
            expected = np.array([[1 + 1j, 0], [0, 1 + 3j], [1, 1]])
            np.testing.assert_allclose(dense(q.jac(x)), expected)
            assert format in ("dense", "operator") or q.jac(x).format == format
            np.testing.assert_array_equal(q.jac_sparsity().toarray(), expected != 0)
            with pytest.raises(InvalidArgumentError, match="results are complex"):
                q.weighted_hess(x, [1.0, 1.0, 1.0])
    with graph_api.Graph().as_default():
        w = graph_api.placeholder(graph_api.complex128, [2])
        with pytest.raises(InvalidArgumentError, match=r"`x` must be real.*tf\.complex"):
            graph_api.for_scipy(w * w, w, x + 1j)
