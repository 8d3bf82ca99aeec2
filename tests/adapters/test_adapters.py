"""Problems with known answers by the solvers of other libraries, with no line of glue."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

import tape_api as tf

START, SOLUTION = np.array([1.0, 5.0, 5.0, 1.0]), np.array([1.0, 4.74299963, 3.82114998, 1.37940829])


def hs071(x: Any) -> Any:
    """Problem 71 of Hock and Schittkowski."""
    return x[0] * x[3] * tf.reduce_sum(x[:3]) + x[2], tf.stack([tf.reduce_prod(x), tf.reduce_sum(x**2)])


def hs071_at_most_0(x: Any) -> Any:
    value, (product, squares) = hs071(x)[0], tf.unstack(hs071(x)[1])
    return value, tf.stack([25.0 - product, squares - 40.0, 40.0 - squares])


def chain(x: Any) -> Any:
    """200 unknowns in a chain; the constraints say that all sums of neighbors are 1, so that all are 0.5."""
    return tf.reduce_sum(x**4) + tf.reduce_sum(tf.sin(x[2:] - x[:-2]) ** 2), x[1:] + x[:-1]


def quiet(problem: Any) -> Any:
    for name, value in {"print_level": 0, "sb": "yes", "tol": 1e-9}.items():
        problem.add_option(name, value)
    return problem


def test_ipopt() -> None:
    pytest.importorskip("cyipopt")
    from dualgrad.adapters import ipopt

    p = tf.for_scipy(hs071, START)
    x, info = quiet(ipopt.problem(p, 1.0, 5.0, [25.0, 40.0], [ipopt.NO_BOUND, 40.0])).solve(p.x0)
    assert info["status"] == 0
    np.testing.assert_allclose(x, SOLUTION, atol=1e-7)
    q = tf.for_scipy(chain, np.linspace(0.0, 1.0, 200))
    x, info = quiet(ipopt.problem(q, cl=1.0, cu=1.0)).solve(q.x0)
    assert info["status"] == 0
    np.testing.assert_allclose(x, 0.5, atol=1e-7)
    free = tf.for_scipy(lambda x: tf.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2), np.zeros(9))
    np.testing.assert_allclose(quiet(ipopt.problem(free)).solve(free.x0)[0], 1.0, atol=1e-7)


def test_ipopt_gets_one_triangle_and_structures_that_hold_everywhere() -> None:
    from dualgrad.adapters import ipopt

    p = ipopt.Callbacks(tf.for_scipy(lambda x: (tf.reduce_prod(x), tf.sort(x) * x[0], x[1:2]), np.ones(3)))
    rows, columns = p.hessianstructure()
    assert (rows >= columns).all() and rows.dtype == np.int32
    assert [s.tolist() for s in p.jacobianstructure()] == [
        [0, 0, 0, 1, 1, 1, 2, 2, 2, 3],
        [0, 1, 2, 0, 1, 2, 0, 1, 2, 1],
    ]
    x = np.array([3.0, 1.0, 2.0])
    assert p.jacobian(x).size == 10 and p.hessian(x, np.ones(4), 2.0).size == rows.size
    assert p.gradient(x).tolist() == [2.0, 6.0, 3.0] and p.constraints(x).tolist() == [3.0, 6.0, 9.0, 1.0]


def test_nlopt() -> None:
    nlopt = pytest.importorskip("nlopt")
    from dualgrad.adapters import nlopt as adapter

    p = tf.for_scipy(hs071_at_most_0, START)
    np.testing.assert_allclose(adapter.minimizer(p, "LD_SLSQP", 1.0, 5.0).optimize(p.x0), SOLUTION, atol=1e-5)
    one = nlopt.opt(nlopt.LD_SLSQP, 4)
    one.set_min_objective(adapter.objective(tf.for_scipy(lambda x: hs071(x)[0], START)))
    one.add_inequality_constraint(adapter.objective(tf.for_scipy(lambda x: 25.0 - tf.reduce_prod(x), START)), 1e-9)
    one.add_equality_mconstraint(adapter.constraints(tf.for_scipy(lambda x: hs071(x)[1][1:] - 40.0, START)), [1e-9])
    one.set_lower_bounds(1.0)
    one.set_upper_bounds(5.0)
    one.set_xtol_rel(1e-9)
    np.testing.assert_allclose(one.optimize(START), SOLUTION, atol=1e-6)
    number = tf.for_scipy(lambda x: (x - 2.0) ** 2, 0.0)
    np.testing.assert_allclose(adapter.minimizer(number, "LN_COBYLA").optimize([0.0]), 2.0, atol=1e-6)


def brusselator(t: Any, y: Any) -> Any:
    u, v, step = y["u"], y["v"], 1.0 / 21

    def diffused(w: Any, end: float) -> Any:
        edge = tf.constant([end], tf.float64)
        return 0.02 * (tf.concat([w[1:], edge], 0) - 2.0 * w + tf.concat([edge, w[:-1]], 0)) / step**2

    return {"u": 1.0 + u * u * v - 4.0 * u + diffused(u, 1.0), "v": 3.0 * u - u * u * v + diffused(v, 3.0)}


@pytest.mark.parametrize("linsolver", ["dense", "band", "sparse", "gmres"])
def test_cvode(linsolver: str) -> None:
    pytest.importorskip("sksundae")
    from dualgrad.adapters import sundials

    grid = np.arange(1, 21) / 21
    p = tf.for_ode(brusselator, {"u": 1.0 + np.sin(2 * np.pi * grid), "v": np.full(20, 3.0)})
    expected = solve_ivp(p.fun, (0.0, 2.0), p.y0, "Radau", jac=p.jac, rtol=1e-9, atol=1e-10).y[:, -1]
    found = sundials.cvode(p, linsolver, rtol=1e-8, atol=1e-10, max_num_steps=5000).solve([0.0, 2.0], p.y0)
    np.testing.assert_allclose(found.y[-1], expected, atol=1e-6)


def test_cvode_of_one_number() -> None:
    pytest.importorskip("sksundae")
    from dualgrad.adapters import sundials

    found = sundials.cvode(tf.for_ode(lambda t, y: -t * y, 1.0), rtol=1e-9, atol=1e-12).solve([0.0, 1.0], [1.0])
    np.testing.assert_allclose(found.y[-1], np.exp(-0.5), rtol=1e-7)


@pytest.mark.parametrize("linsolver", ["dense", "band", "sparse", "gmres"])
def test_ida(linsolver: str) -> None:
    pytest.importorskip("sksundae")
    from dualgrad.adapters import sundials

    def robertson(t: Any, y: Any, slope: Any) -> Any:
        forth, back = 0.04 * y[0], 1e4 * y[1] * y[2]
        return tf.stack([slope[0] + forth - back, slope[1] - forth + back + 3e7 * y[1] ** 2, tf.reduce_sum(y) - 1.0])

    y0, slope0 = np.array([1.0, 0.0, 0.0]), np.array([-0.04, 0.04, 0.0])
    p = tf.for_scipy(lambda state, t: robertson(t, *state), (y0, slope0))
    found = sundials.ida(p, linsolver, rtol=1e-8, atol=1e-12, algebraic_idx=[2]).solve([0.0, 40.0], y0, slope0)
    np.testing.assert_allclose(found.y[-1], [0.7158270688, 9.185534765e-06, 0.2841637457], rtol=1e-6)


def test_casadi() -> None:
    casadi = pytest.importorskip("casadi")
    from dualgrad.adapters import casadi as adapter

    f = adapter.callback(tf.for_scipy(lambda x: tf.stack([x[0] * x[1], tf.sin(x[2]), x[0]]), np.ones(3)))
    x = casadi.MX.sym("x", 3)
    slope = casadi.Function("slope", [x], [casadi.jacobian(f(x), x)])
    expected = [[2.0, 1.0, 0.0], [0.0, 0.0, np.cos(3.0)], [1.0, 0.0, 0.0]]
    np.testing.assert_allclose(slope([1.0, 2.0, 3.0]).full(), expected, rtol=1e-14)
    value = adapter.callback(tf.for_scipy(lambda x: hs071(x)[0], START), "value")
    limited = adapter.callback(tf.for_scipy(lambda x: hs071(x)[1], START), "limited")
    x = casadi.MX.sym("x", 4)
    options = {"ipopt.hessian_approximation": "limited-memory", "ipopt.print_level": 0, "print_time": 0}
    solver = casadi.nlpsol("solver", "ipopt", {"x": x, "f": value(x), "g": limited(x)}, options)
    found = solver(x0=START, lbx=1.0, ubx=5.0, lbg=[25.0, 40.0], ubg=[np.inf, 40.0])
    np.testing.assert_allclose(found["x"].full().ravel(), SOLUTION, atol=1e-6)


def test_pygmo() -> None:
    pygmo = pytest.importorskip("pygmo")
    from dualgrad.adapters import pygmo as adapter

    def problem(x: Any) -> Any:
        value, limited = hs071(x)
        return value, limited[1:] - 40.0, 25.0 - limited[:1]

    p = adapter.problem(tf.for_scipy(problem, START), 1.0, 5.0)
    assert p.has_gradient() and p.has_hessians() and (p.get_nec(), p.get_nic()) == (1, 1)
    algorithm = pygmo.algorithm(pygmo.nlopt("slsqp"))
    algorithm.extract(pygmo.nlopt).xtol_rel = 1e-9
    population = pygmo.population(p)
    population.push_back(START)
    np.testing.assert_allclose(algorithm.evolve(population).champion_x, SOLUTION, atol=1e-4)
    whole = tf.for_scipy(problem, START)
    for k, (entries, places) in enumerate(zip(p.hessians(START), p.hessians_sparsity(), strict=True)):
        dense = np.zeros((4, 4))
        dense[tuple(places.T)] = entries
        np.testing.assert_allclose(dense, np.tril(whole.weighted_hess(START, np.eye(3)[k])), rtol=1e-13)
    with pytest.raises(ValueError, match=r"must give \(objective, equations, inequalities\), not 2 results"):
        adapter.problem(tf.for_scipy(hs071, START), 1.0, 5.0)


# ---- quadratic programs ----------------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
HALF, LINE, ROWS, POINT = RNG.normal(size=(6, 6)), RNG.normal(size=6), RNG.normal(size=(2, 6)), RNG.normal(size=6)
FORM = HALF @ HALF.T + 6.0 * np.eye(6)


def quadratic(x: Any) -> Any:
    return 0.5 * tf.reduce_sum(x * tf.linalg.matvec(FORM, x)) + tf.reduce_sum(LINE * x), tf.linalg.matvec(ROWS, x)


def steps(function: Any, **bounds: Any) -> dict[str, np.ndarray]:
    """The steps that the libraries that are here find."""
    found = {}
    try:
        from dualgrad.adapters import osqp

        made = osqp.step(function, POINT, **bounds, verbose=False, eps_abs=1e-9, eps_rel=1e-9)
        found["osqp"] = made.solve(raise_error=False).x
    except ImportError:
        pass
    try:
        import clarabel as library

        from dualgrad.adapters import clarabel

        settings = library.DefaultSettings()
        settings.verbose = False
        found["clarabel"] = np.array(clarabel.step(function, POINT, **bounds, settings=settings).solve().x)
    except ImportError:
        pass
    try:
        from dualgrad.adapters import highs

        solver = highs.step(function, POINT, **bounds)
        solver.setOptionValue("output_flag", False)
        solver.run()
        found["highs"] = np.array(solver.getSolution().col_value)
    except ImportError:
        pass
    if not found:
        pytest.skip("none of osqp, clarabel, highspy is here")
    return found


def test_quadratic_programs_at_a_point() -> None:
    from dualgrad.adapters import scipy

    p, cl, cu = tf.for_scipy(quadratic, POINT), np.array([0.5, -1.0]), np.array([0.5, 1.0])
    options = {"bounds": [(-0.2, 0.2)] * 6, "tol": 1e-14, "options": {"maxiter": 1000}}
    expected = scipy.minimize(p, "SLSQP", cl, cu, **options).x
    assert np.abs(expected).max() == pytest.approx(0.2) and np.abs(ROWS @ expected - cl)[0] < 1e-12
    for name, step in steps(p, cl=cl, cu=cu, lb=-0.2, ub=0.2).items():
        np.testing.assert_allclose(POINT + step, expected, atol=1e-5, err_msg=name)


def test_quadratic_programs_without_constraints() -> None:
    p = tf.for_scipy(lambda x: quadratic(x)[0], POINT)
    for name, step in steps(p).items():
        np.testing.assert_allclose(FORM @ (POINT + step), -LINE, atol=1e-5, err_msg=name)


def test_the_model_has_the_triangle_and_the_lagrangian() -> None:
    from dualgrad.adapters.quadratic import model

    p = tf.for_scipy(hs071, START)
    for triangle, part in (("lower", np.tril), ("upper", np.triu)):
        made = model(p, START, triangle, [2.0, 3.0], 1.0, 5.0, [25.0, 40.0], [np.inf, 40.0])  # type: ignore[arg-type]
        np.testing.assert_allclose(made.P.toarray(), part(p.weighted_hess(START, [1.0, 2.0, 3.0])), rtol=1e-14)
        np.testing.assert_allclose(made.A.toarray(), np.vstack([p.jac(START)[1:], np.eye(4)]), rtol=1e-14)
        assert made.l.tolist() == [0.0, -12.0, 0.0, -4.0, -4.0, 0.0] and made.u.tolist() == [np.inf, -12.0, 4, 0, 0, 4]
        assert made.P.indices.dtype == np.int32 == made.A.indptr.dtype


# ---- fits ------------------------------------------------------------------------------------------------------------

TIMES = np.linspace(0.0, 10.0, 101)
PEAKS = 3.0 * np.exp(-0.5 * ((TIMES - 2) / 0.6) ** 2) + 1.5 * np.exp(-0.5 * ((TIMES - 6) / 0.6) ** 2)
PEAKS += 1e-3 * np.sin(50.0 * TIMES)


def test_iminuit() -> None:
    pytest.importorskip("iminuit")
    from dualgrad.adapters import iminuit

    data = 2.0 * np.exp(-0.7 * TIMES) + 0.3 + 0.05 * np.random.default_rng(0).normal(size=TIMES.size)
    p = tf.for_scipy(lambda b: tf.reduce_sum(((b[0] * tf.exp(-b[1] * TIMES) + b[2] - data) / 0.05) ** 2), np.ones(3))
    made = iminuit.minuit(p, ["height", "rate", "base"])
    made.migrad()
    made.hesse()
    assert made.valid and made.ngrad > 0
    best = minimize(p.fun, p.x0, jac=p.grad, hess=p.hess, method="trust-exact", options={"gtol": 1e-9}).x
    assert (np.abs(np.array(made.values) - best) < 1e-2 * np.array(made.errors)).all()
    errors = np.sqrt(np.diagonal(2.0 * np.linalg.inv(p.hess(np.array(made.values)))))
    np.testing.assert_allclose(np.array(made.errors), errors, rtol=1e-4)
    np.testing.assert_allclose(np.array(made.values), [2.0, 0.7, 0.3], atol=0.1)


@pytest.mark.parametrize("method", ["leastsq", "least_squares", "bfgs", "slsqp"])
def test_lmfit_with_tied_parameters(method: str) -> None:
    lmfit = pytest.importorskip("lmfit")
    from dualgrad.adapters import lmfit as adapter

    def misses(v: Any, data: Any) -> Any:
        peak = lambda a, c, s: a * tf.exp(-0.5 * ((TIMES - c) / s) ** 2)  # noqa: E731
        return peak(v["a1"], v["c1"], v["s1"]) + peak(v["a2"], v["c2"], v["s2"]) - data

    params = lmfit.Parameters()
    params.add("a1", 2.0, min=0.0)
    params.add("c1", 1.8)
    params.add("s1", 0.5, min=0.1, max=2.0)
    params.add("c2", expr="3 * c1")
    params.add("s2", expr="sqrt(s1 * s1)")
    params.add("a2", expr="a1 * c1 / c2 * 1.5")
    p = tf.for_scipy(misses, dict.fromkeys(params, 1.0))
    found = adapter.fit(p, params, method, args=(PEAKS,)).params.valuesdict()
    for name, value in {"a1": 3.0, "c1": 2.0, "s1": 0.6, "a2": 1.5, "c2": 6.0, "s2": 0.6}.items():
        assert found[name] == pytest.approx(value, abs=2e-3), name
    residual = adapter.Residual(p, params)
    slope = residual.jacobian(params, PEAKS)
    for k, name in enumerate(["a1", "c1", "s1"]):
        sides = []
        for sign in (1, -1):
            moved = params.copy()
            moved[name].value += sign * 1e-6
            moved.update_constraints()
            sides.append(residual(moved, PEAKS))
        np.testing.assert_allclose(slope[:, k], (sides[0] - sides[1]) / 2e-6, atol=1e-7)


@pytest.mark.parametrize("expression", ["g(a) + k * sin(a)", "2.0 * a + k * sin(a)"])
def test_slopes_of_tied_parameters_follow_what_an_expression_names(expression: str) -> None:
    params = pytest.importorskip("lmfit").Parameters()
    from dualgrad.adapters.lmfit import Residual

    params.add("a", 1.5)
    symbols = params._asteval.symtable
    symbols.update(g=lambda a: a * symbols["w"], k=1.0, w=2.0)
    params.add("b", expr=expression)
    residual = Residual(tf.for_scipy(lambda v: v["a"] * TIMES + v["b"], {"a": 1.0, "b": 2.0}), params)
    for w, k in ((2.0, 1.0), (5.0, 1.0), (5.0, 3.0), (2.0, 1.0)):
        symbols.update(w=w, k=k)
        slope = TIMES + (w if "g" in expression else 2.0) + k * np.cos(1.5)
        np.testing.assert_allclose(residual.jacobian(params)[:, 0], slope, rtol=1e-14)


def test_pytensor() -> None:
    pytensor = pytest.importorskip("pytensor")
    from pytensor import tensor

    from dualgrad.adapters import pytensor as adapter

    x = tensor.dvector("x")
    density = adapter.op(tf.for_scipy(lambda x: tf.reduce_sum(tf.sin(x) ** 2), np.ones(3)))
    at = np.array([1.0, 2.0, 3.0])
    both = pytensor.function([x], [density(x), tensor.grad(2.0 * density(x), x)], mode="FAST_COMPILE")
    np.testing.assert_allclose(both(at)[0], np.sum(np.sin(at) ** 2), rtol=1e-14)
    np.testing.assert_allclose(both(at)[1], 2.0 * np.sin(2.0 * at), rtol=1e-13)
    vector = adapter.op(tf.for_scipy(lambda x: tf.stack([x[0] * x[1], x[2] ** 3]), np.ones(3)))
    slope = pytensor.function([x], tensor.grad((vector(x) ** 2).sum(), x), mode="FAST_COMPILE")
    np.testing.assert_allclose(slope(at), [8.0, 4.0, 1458.0], rtol=1e-13)


METHODS = (
    "nelder-mead powell CG BFGS Newton-CG L-BFGS-B TNC COBYLA SLSQP trust-constr dogleg trust-ncg trust-krylov "
    "trust-exact"
)


@pytest.mark.parametrize("format", ["dense", "csr"])
@pytest.mark.parametrize("method", METHODS.split())
def test_every_method_of_scipy(method: str, format: Any) -> None:
    from dualgrad.adapters import scipy

    def bowl(x: Any) -> Any:
        return tf.reduce_sum((x - [1.0, 2.0]) ** 2) + 0.5 * x[0] * x[1]

    expected = np.linalg.solve([[2.0, 0.5], [0.5, 2.0]], [2.0, 4.0])
    found = scipy.minimize(tf.for_scipy(bowl, np.zeros(2), format=format), method)
    np.testing.assert_allclose(found.x, expected, atol=1e-3)


@pytest.mark.parametrize("format", ["dense", "csr"])
@pytest.mark.parametrize("method", ["trust-constr", "SLSQP"])
def test_constraints_by_scipy(method: str, format: Any) -> None:
    from dualgrad.adapters import scipy

    p = tf.for_scipy(hs071, START, format=format)
    found = scipy.minimize(p, method, [25.0, 40.0], [np.inf, 40.0], bounds=[(1.0, 5.0)] * 4)
    np.testing.assert_allclose(found.x, SOLUTION, atol=1e-3)
    with pytest.raises(ValueError, match="BFGS takes no constraints"):
        scipy.minimize(p, "BFGS")
    fun, grad = scipy.pair(tf.for_scipy(lambda x: hs071(x)[0], START, format=format))
    assert fun(START) == 16.0 and grad(START).tolist() == [12.0, 1.0, 2.0, 11.0]


PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "with-your-solver.md"


@pytest.mark.parametrize("snippet", re.findall(r"^```py\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S))
def test_the_page_runs(snippet: str, capfd: pytest.CaptureFixture[str]) -> None:
    start = np.array([1.0, 5.0, 5.0, 1.0])
    names = {"np": np, "tf": tf, "p": tf.for_scipy(hs071, start, format="csc", fixed_pattern=True)}
    try:
        exec(snippet, names)
    except ModuleNotFoundError as error:
        pytest.skip(str(error))
