"""Small problems solved with SciPy's solvers, derivatives from here, held against closed forms."""

from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize

import graph_api
import tape_api as tf
from engine.jacobian.views.for_scipy import SciPyODE
from engine.runtime.errors import InvalidArgumentError, UnimplementedError
from tests.jacobian.both import dense
from tests.jacobian.solved import POINTS, both, bratu, bratu_jacobian, rosenbrock

RNG = np.random.default_rng(11)
LSMR = {"maxiter": 2000, "atol": 1e-14, "btol": 1e-14}


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


@pytest.mark.parametrize("method", ["BDF", "Radau", "LSODA"])
def test_burgers(method: str) -> None:
    # the traveling wave u = 1 - tanh((x - t) / (2 viscosity)), its values given at both ends
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


CHOOSING: dict[str, Any] = {
    "argsort": lambda tf, x: x * tf.gather(x, tf.argsort(x)),
    "sort": lambda tf, x: tf.sort(x) * x,
    "top_k": lambda tf, x: tf.nn.top_k(x, 3)[0] * 2.0,
    "reduce_max": lambda tf, x: tf.reduce_max(tf.reshape(x, [3, 2]), 1),
    "where": lambda tf, x: tf.where(x > 0.0, x, x[::-1] ** 2.0),
    "argmax": lambda tf, x: x[:2] * tf.gather(x, tf.argmax(x)),
    "mask": lambda tf, x: tf.reduce_sum(tf.boolean_mask(x, x > 0.0)) * x[:3],
    "scatter": lambda tf, x: tf.scatter_nd(tf.argsort(x)[:, None], x, [6]),
    "segments": lambda tf, x: tf.math.unsorted_segment_sum(x, tf.cast(x > 0.0, tf.int32), 2),
    "one_hot": lambda tf, x: tf.one_hot(tf.argmax(x), 6, dtype=tf.float64) * x,
    "fixed": lambda tf, x: tf.gather(x, [2, 0]) * x[:2],
}


@pytest.mark.parametrize("name", CHOOSING)
def test_a_sparsity_pattern_holds_at_every_point(name: str) -> None:
    """Also where indices are computed from values, of which the example point shows one choice."""
    fn, random = CHOOSING[name], np.random.default_rng(0)
    points = random.normal(size=(20, 6))
    eager = tf.for_scipy(lambda x: fn(tf, x), points[0], format="csr")
    with graph_api.Graph().as_default(), graph_api.Session():
        x = graph_api.placeholder(graph_api.float64, [6])
        fetched = graph_api.for_scipy(fn(graph_api, x), x, points[0], format="csr")
        for problem in (eager, fetched):
            pattern = problem.jac_sparsity().toarray()
            for point in points:
                found = problem.jac(point).toarray()
                around = [(problem.fun(point + d) - problem.fun(point - d)) / 2e-6 for d in 1e-6 * np.eye(6)]
                np.testing.assert_allclose(found, np.transpose(around), atol=1e-6)
                assert not (found[pattern == 0] != 0).any()
    # and is no fuller than it needs to be
    assert name not in ("fixed", "where", "one_hot") or pattern.sum() < pattern.size


UNKNOWN: list[Any] = [
    lambda api, x: api.math.polygamma(x[:1], x[1:]),
    lambda api, x: x * api.range(x[0], 4.0, dtype=x.dtype),
]


@pytest.mark.parametrize("fn", UNKNOWN)
def test_a_derivative_that_is_not_implemented_is_no_zero(fn: Any) -> None:
    x0, refused = np.array([2.0, 1.5]), "the derivative in it is not implemented"
    with pytest.raises(UnimplementedError, match=refused):
        tf.for_scipy(lambda x: fn(tf, x), x0).jac(x0)
    with graph_api.Graph().as_default(), graph_api.Session():
        u = graph_api.placeholder(graph_api.float64, [2])
        with pytest.raises(UnimplementedError, match=refused):
            graph_api.for_scipy(fn(graph_api, u), u, x0).jac(x0)


def test_a_step_and_what_is_stopped_are_zero() -> None:
    x0 = np.array([2.0, 1.5])
    zero = tf.for_scipy(lambda x: tf.floor(x) * x[0] + tf.stop_gradient(x) + tf.math.polygamma(tf.floor(x), x), x0)
    np.testing.assert_allclose(zero.jac([2.5, 1.5])[1], [1.0, float(tf.math.polygamma(2.0, 1.5))], rtol=1e-6)


def test_derivatives_in_parameters_in_the_tails() -> None:
    """The digits are mpmath's, with 30 of them."""
    a, b = np.array([0.05, 200.0, 3.0, 700.0]), np.array([9.0, 2.0, 800.0, 500.0])
    x = np.array([1e-6, 0.999, 0.002, 0.6])
    in_a = [-6.40188484969161697, -0.000164221282898737665, -0.196142730093495630, -0.00480829191242085105]
    in_b = [0.00335727189894057078, 0.0448875456684815067, 0.000517836508145719306, 0.00696825372473256560]
    np.testing.assert_allclose(np.diag(tf.for_scipy(lambda a: tf.math.betainc(a, b, x), a).jac(a)), in_a, rtol=1e-10)
    np.testing.assert_allclose(np.diag(tf.for_scipy(lambda b: tf.math.betainc(a, b, x), b).jac(b)), in_b, rtol=1e-10)
    order, q = np.array([2.7, 1.001, 30.0, 2.0]), np.array([1.7, 0.01, 0.3, 1000.0])
    wanted = [-0.336058226061199689, -999537.291441805232, 5847618554899519.02, -0.00791121022458064714]
    found = tf.for_scipy(lambda x: tf.math.zeta(x, q), order).jac(order)
    np.testing.assert_allclose(np.diag(found), wanted, rtol=1e-12)
