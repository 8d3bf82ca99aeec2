"""Small problems solved with SciPy's solvers, derivatives from here, held against closed forms."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize, sparse
from scipy.sparse.linalg import LinearOperator

import graph_api
import tape_api as tf
from engine.errors import InvalidArgumentError
from engine.jacobian import plan as plans
from engine.jacobian import recorded
from engine.jacobian.for_scipy import SciPyFunction, SciPyODE

RNG = np.random.default_rng(11)


def rosenbrock(x: Any, lib: Any) -> Any:
    return lib.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def both(function: Any, x0: Any, **options: Any) -> list[SciPyFunction]:
    """The function in tape and in graph mode."""
    with graph_api.Graph().as_default():
        x = graph_api.placeholder(graph_api.float64, np.shape(x0))
        in_graph = graph_api.for_scipy(function(x, graph_api), x, x0, session=graph_api.Session(), **options)
    return [tf.for_scipy(lambda x: function(x, tf), x0, **options), in_graph]


def dense(matrix: Any) -> np.ndarray:
    if isinstance(matrix, LinearOperator):
        return matrix @ np.eye(matrix.shape[1])
    return matrix.toarray() if sparse.issparse(matrix) else matrix


# ---- minimize --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["dense", "csr", "csc", "coo", "operator"])
def test_rosenbrock_derivatives(format: str) -> None:
    for p in both(rosenbrock, np.zeros(12), format=format):
        for _ in range(2):
            x, v = RNG.normal(size=(2, 12))
            assert p.fun(x) == pytest.approx(optimize.rosen(x), rel=1e-13)
            np.testing.assert_allclose(p.grad(x), optimize.rosen_der(x), rtol=1e-11, atol=1e-10)
            hessian = p.hess(x)
            assert format == "dense" or format == "operator" or hessian.format == format
            np.testing.assert_allclose(dense(hessian), optimize.rosen_hess(x), rtol=1e-12, atol=1e-10)
            np.testing.assert_allclose(p.hessp(x, v), optimize.rosen_hess_prod(x, v), rtol=1e-11, atol=1e-10)
        assert p.counts["fun"] == 2, "all derivatives share the evaluation"


@pytest.mark.parametrize(
    ("method", "format", "second"),
    [
        ("BFGS", "dense", None),
        ("L-BFGS-B", "dense", None),
        ("Newton-CG", "csr", "hess"),
        ("Newton-CG", "dense", "hessp"),
        ("trust-ncg", "dense", "hess"),
        ("trust-ncg", "csr", "hessp"),
        ("trust-krylov", "dense", "hess"),
        ("trust-krylov", "csr", "hessp"),
        ("trust-exact", "dense", "hess"),
        ("trust-constr", "csc", "hess"),
        ("trust-constr", "operator", "hess"),
    ],
)
def test_rosenbrock_solved(method: str, format: str, second: str | None) -> None:
    exact = {"hess": optimize.rosen_hess, "hessp": optimize.rosen_hess_prod}
    options = {"xtol": 1e-9} if method == "Newton-CG" else {}
    start = np.linspace(0.0, 0.5, 8)
    expected = optimize.minimize(
        optimize.rosen,
        start,
        jac=optimize.rosen_der,
        method=method,
        options=options,
        **({second: exact[second]} if second else {}),
    )
    for p in both(rosenbrock, start, format=format):
        found = optimize.minimize(
            p.fun, p.x0, jac=p.jac, method=method, options=options, **({second: getattr(p, second)} if second else {})
        )
        np.testing.assert_allclose(found.x, 1.0, atol=1e-4)
        assert found.nit <= 1.3 * expected.nit + 3
        assert p.counts["fun"] <= found.nfev + found.njev
        if second == "hessp":
            assert p.counts["hess"] == 0 and 0 <= found.nhev - p.counts["hessp"] <= 1


def test_value_and_gradient_together() -> None:
    for p in both(rosenbrock, np.zeros(5)):
        found = optimize.minimize(p.fun_and_jac, p.x0, jac=True, method="BFGS")
        np.testing.assert_allclose(found.x, 1.0, atol=1e-5)
        assert p.counts["fun"] == p.counts["jac"] == found.nfev


def logistic(w: Any, rows: Any, labels: Any, lib: Any) -> Any:
    margins = labels * lib.linalg.matvec(rows, w)
    return lib.reduce_sum(lib.nn.softplus(-margins)) + 0.5 * lib.reduce_sum(w * w)


@pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg", "trust-krylov", "BFGS"])
def test_logistic_regression(method: str) -> None:
    rows = RNG.normal(size=(80, 4))
    labels = np.where(rows @ [1.0, -2.0, 0.5, 0.0] + RNG.normal(size=80) > 0, 1.0, -1.0)

    def probabilities(w: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(labels * (rows @ w)))

    def gradient(w: np.ndarray) -> np.ndarray:
        return -rows.T @ (labels * probabilities(w)) + w

    def hessian(w: np.ndarray) -> np.ndarray:
        s = probabilities(w)
        return rows.T @ (rows * (s * (1 - s))[:, None]) + np.eye(4)

    p = tf.for_scipy(lambda w, rows, labels: logistic(w, rows, labels, tf), np.zeros(4))
    data = rows, labels
    w = RNG.normal(size=4)
    np.testing.assert_allclose(p.grad(w, *data), gradient(w), rtol=1e-11)
    np.testing.assert_allclose(p.hess(w, *data), hessian(w), rtol=1e-11)
    np.testing.assert_array_equal(p.hess(w, *data), p.hess(w, *data).T)
    second = {} if method == "BFGS" else {"hess": p.hess}
    found = optimize.minimize(p.fun, p.x0, data, method, p.jac, **second, options={"disp": False})
    w = found.x
    for _ in range(3):
        w = w - np.linalg.solve(hessian(w), gradient(w))
    np.testing.assert_allclose(found.x, w, atol=1e-4)


def test_data_in_placeholders_and_weights_in_a_variable() -> None:
    rows, labels = RNG.normal(size=(30, 3)), np.where(RNG.normal(size=30) > 0, 1.0, -1.0)
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        fed = [graph_api.placeholder(graph_api.float64, [30, 3]), graph_api.placeholder(graph_api.float64, [30])]
        w = graph_api.Variable(np.full(3, 0.1))
        scale = graph_api.Variable(np.float64(1.0))
        p = None
        session.run(graph_api.global_variables_initializer())
        p = graph_api.for_scipy(scale * logistic(w, *fed, graph_api), w, args=fed)
        np.testing.assert_array_equal(p.x0, 0.1)
        found = optimize.minimize(p.fun, p.x0, (rows, labels), "trust-ncg", p.jac, p.hess)
        q = tf.for_scipy(lambda w, r, s: logistic(w, r, s, tf), np.zeros(3))
        np.testing.assert_allclose(q.grad(found.x, rows, labels), 0.0, atol=1e-3)
        np.testing.assert_array_equal(session.run(w), 0.1)
        before = p.fun(found.x, rows, labels)
        session.run(scale.assign(2.0))
        assert p.fun(found.x, rows, labels) == pytest.approx(2 * before), "variables are read each time"
        with pytest.raises(InvalidArgumentError, match="expected 2 further arguments; got 1"):
            p.fun(found.x, rows)


def test_constraints() -> None:
    # the point of the unit sphere and the plane z = x y that is farthest out along (1, 2, 3)
    objective = tf.for_scipy(lambda x: -tf.reduce_sum(x * tf.constant([1.0, 2.0, 3.0], tf.float64)), np.ones(3))

    def both_surfaces(x: Any, lib: Any) -> Any:
        return lib.stack([lib.reduce_sum(x * x), x[2] - x[0] * x[1]])

    for format in ("dense", "csr", "operator"):
        for c in both(both_surfaces, np.ones(3), format=format):
            x, v = RNG.normal(size=3), np.array([0.5, -2.0])
            np.testing.assert_allclose(dense(c.jac(x)), [2 * x, [-x[1], -x[0], 1.0]])
            expected = v[0] * 2 * np.eye(3) + v[1] * np.array([[0.0, -1, 0], [-1, 0, 0], [0, 0, 0]])
            np.testing.assert_allclose(dense(c.weighted_hess(x, v)), expected)
            if format == "operator":
                continue
            surfaces = optimize.NonlinearConstraint(c.fun, [1.0, 0.0], [1.0, 0.0], jac=c.jac, hess=c.weighted_hess)
            found = optimize.minimize(
                objective.fun,
                [0.5, 0.5, 0.5],
                jac=objective.jac,
                hess=objective.hess,
                method="trust-constr",
                constraints=[surfaces],
            )
            np.testing.assert_allclose(c.fun(found.x), [1.0, 0.0], atol=1e-7)
            # Lagrange: the objective's gradient lies in the span of the constraints'
            normals = dense(c.jac(found.x)).T
            rest = np.linalg.lstsq(normals, np.array([1.0, 2.0, 3.0]), rcond=None)[1]
            assert rest < 1e-8


# ---- least_squares and root ------------------------------------------------------------------------------------------

POINTS = 60
LSMR = {"maxiter": 2000, "atol": 1e-14, "btol": 1e-14}


def bratu(u: Any, lib: Any, strength: float = 1.0) -> Any:
    """``u'' + strength exp(u) = 0`` with zeros at both ends, by central differences."""
    inner = lib.pad(u, [[1, 1]])
    return (inner[2:] - 2.0 * u + inner[:-2]) * (POINTS + 1) ** 2 + strength * lib.exp(u)


def bratu_jacobian(u: np.ndarray) -> np.ndarray:
    h2 = (POINTS + 1) ** 2
    return np.diag(np.exp(u) - 2 * h2) + h2 * (np.eye(len(u), k=1) + np.eye(len(u), k=-1))


def bratu_exact() -> np.ndarray:
    # theta = sqrt(2 strength) cosh(theta / 4)
    theta = optimize.brentq(lambda t: t - np.sqrt(2.0) * np.cosh(t / 4), 0.0, 4.0)
    x = np.linspace(0, 1, POINTS + 2)[1:-1]
    return -2 * np.log(np.cosh((x - 0.5) * theta / 2) / np.cosh(theta / 4))


@pytest.mark.parametrize("format", ["dense", "csr", "csc", "coo", "operator"])
def test_bratu_by_least_squares(format: str) -> None:
    for p in both(bratu, np.zeros(POINTS), format=format):
        u = RNG.normal(size=POINTS)
        np.testing.assert_allclose(dense(p.jac(u)), bratu_jacobian(u), rtol=1e-13)
        if format == "operator":
            w = RNG.normal(size=POINTS)
            np.testing.assert_allclose(p.jac(u).rmatvec(w), bratu_jacobian(u).T @ w, rtol=1e-11)
            continue
        before = dict(p.counts)
        found = optimize.least_squares(p.fun, p.x0, p.jac, xtol=1e-12, tr_options=LSMR if format != "dense" else {})
        np.testing.assert_allclose(found.x, bratu_exact(), atol=1e-4)
        assert p.counts["fun"] - before["fun"] <= found.nfev
        assert p.counts["jac"] - before["jac"] <= found.njev + 1
        assert found.nfev < 12


def test_bratu_by_differences_that_know_the_pattern() -> None:
    for p in both(bratu, np.zeros(POINTS)):
        pattern = p.jac_sparsity()
        expected = np.abs(np.subtract.outer(range(POINTS), range(POINTS))) <= 1
        np.testing.assert_array_equal(pattern.toarray(), expected)
        found = optimize.least_squares(p.fun, p.x0, jac_sparsity=pattern, xtol=1e-12, tr_options=LSMR)
        np.testing.assert_allclose(found.x, bratu_exact(), atol=1e-3)


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_bratu_by_root(method: str) -> None:
    for p in both(bratu, np.zeros(POINTS)):
        found = optimize.root(p.fun, p.x0, jac=p.jac, method=method, tol=1e-12)
        np.testing.assert_allclose(found.x, bratu_exact(), atol=1e-4)
        together = optimize.root(p.fun_and_jac, p.x0, jac=True, method=method, tol=1e-12)
        np.testing.assert_array_equal(together.x, found.x)


def test_a_line_through_points() -> None:
    times = np.linspace(0.0, 1.0, 9)
    values = 2.0 * times + 1.0 + 0.1 * RNG.normal(size=9)

    def misses(line: Any, t: Any, y: Any) -> Any:
        return line["slope"] * t + line["start"] - y

    slope, start = np.polyfit(times, values, 1)
    for format in ("dense", "csr", "operator"):
        p = tf.for_scipy(misses, {"start": 0.0, "slope": np.zeros(1)}, format=format)
        found = optimize.least_squares(p.fun, p.x0, p.jac, args=(times, values))
        line = p.unpacked(found.x)
        assert line["slope"].shape == (1,) and line["start"].shape == ()
        np.testing.assert_allclose([line["slope"][0], line["start"]], [slope, start], rtol=1e-7)
        np.testing.assert_allclose(dense(p.jac(found.x, times, values)), np.c_[times, np.ones(9)])


# ---- solve_ivp -------------------------------------------------------------------------------------------------------


def in_both_modes(function: Any, y0: np.ndarray, **options: Any) -> list[SciPyODE]:
    with graph_api.Graph().as_default():
        t = graph_api.placeholder(graph_api.float64, [])
        y = graph_api.placeholder(graph_api.float64, y0.shape)
        in_graph = graph_api.for_ode(function(t, y, graph_api), y, y0, t=t, session=graph_api.Session(), **options)
    return [tf.for_ode(lambda t, y: function(t, y, tf), y0, **options), in_graph]


@pytest.mark.parametrize("method", ["BDF", "Radau"])
def test_heat(method: str) -> None:
    n = 40
    x = np.linspace(0, 1, n + 2)[1:-1]

    def heat(t: Any, u: Any, lib: Any) -> Any:
        padded = lib.pad(u, [[1, 1]])
        return (padded[2:] - 2.0 * u + padded[:-2]) * (n + 1.0) ** 2

    rate = 4 * (n + 1) ** 2 * np.sin(np.pi / (n + 1) / 2) ** 2
    for p in in_both_modes(heat, np.sin(np.pi * x), format="csc"):
        assert sparse.issparse(p.jac(0.0, p.y0))
        p.counts.update(fun=0, jac=0)
        found = integrate.solve_ivp(p.fun, (0, 0.1), p.y0, method, jac=p.jac, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(found.y[:, -1], np.exp(-rate * 0.1) * p.y0, rtol=1e-5)
        # differences would need n + 1 values for each Jacobian; `jac` at a new point adds one
        assert p.counts["jac"] == found.njev
        assert p.counts["fun"] <= found.nfev + found.njev


@pytest.mark.parametrize("method", ["BDF", "Radau", "LSODA"])
def test_burgers(method: str) -> None:
    # the travelling wave u = 1 - tanh((x - t) / (2 viscosity)), its values given at both ends
    n, viscosity = 120, 0.1
    x = np.linspace(-1, 2, n + 2)
    h = x[1] - x[0]

    def wave(t: Any, at: Any) -> Any:
        return 1.0 - np.tanh((at - t) / (2 * viscosity))

    def burgers(t: Any, u: Any, lib: Any) -> Any:
        ends = [lib.reshape(1.0 - lib.tanh((end - t) / (2 * viscosity)), [1]) for end in (x[0], x[-1])]
        full = lib.concat([ends[0], u, ends[1]], 0)
        flux = (full[2:] ** 2 - full[:-2] ** 2) / (4 * h)
        return viscosity * (full[2:] - 2.0 * u + full[:-2]) / h**2 - flux

    for p in in_both_modes(burgers, wave(0.0, x[1:-1]), format="dense" if method == "LSODA" else "csr"):
        found = integrate.solve_ivp(p.fun, (0, 0.5), p.y0, method, jac=p.jac, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(found.y[:, -1], wave(0.5, x[1:-1]), atol=0.01)
        u = RNG.normal(size=n)
        left, right = wave(0.2, x[0]), wave(0.2, x[-1])
        full = np.concatenate([[left], u, [right]])
        expected = np.diag(np.full(n, -2 * viscosity / h**2))
        expected += np.diag(viscosity / h**2 - full[2:-1] / (2 * h), 1)
        expected += np.diag(viscosity / h**2 + full[1:-2] / (2 * h), -1)
        np.testing.assert_allclose(dense(p.jac(0.2, u)), expected, rtol=1e-12)
        assert p.jac_sparsity().nnz == 3 * n - 2


def test_scalar_equation_with_arguments() -> None:
    p = tf.for_ode(lambda t, y, rate: -rate * y + t * 0.0, [1.0])
    found = integrate.solve_ivp(p.fun, (0, 1), p.y0, "BDF", jac=p.jac, args=(3.0,), rtol=1e-8, atol=1e-10)
    assert found.y[0, -1] == pytest.approx(np.exp(-3.0), rel=1e-6)
    scalar = tf.for_ode(lambda t, y: -y, 1.0)
    assert scalar.fun(0.0, [2.0]).tolist() == [-2.0]
    assert scalar.jac(0.0, [2.0]).tolist() == [[-1.0]]
    assert scalar.unpacked([2.0]).shape == ()


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
        assert p.counts["fun"] == 3, "asked again, it is evaluated again: a variable may have changed"


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
    with pytest.raises(InvalidArgumentError, match="complex128"):
        tf.for_scipy(lambda x: x, np.zeros(2) + 1j)
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
        with pytest.raises(ValueError, match="no session"):
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
