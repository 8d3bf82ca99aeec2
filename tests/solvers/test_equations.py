"""Roots, fixed points, minima and large linear equations inside derivatives."""

from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

import graph_api
import tape_api as tf
from tests.solvers.differences import differences

T = tf.transforms
optimize, linalg = tf.experimental.scipy.optimize, tf.experimental.scipy.sparse.linalg
N = 12
RNG = np.random.default_rng(0)
POINT = 2 + RNG.random(N)
RHS = RNG.random(N)


def bent(x: Any, a: Any) -> Any:
    """Equations that couple neighbors, ``x + x**3 / 3 - neighbors = a``."""
    return a * x + x**3 / 3 - 0.3 * np.roll(x, 1) - 0.2 * np.roll(x, -1) - 1.0


def bent_root(a: Any, **how: Any) -> Any:
    return optimize.root(bent, np.zeros(N), args=(a,), **how).x


def by_numpy(a: np.ndarray) -> np.ndarray:
    return scipy.optimize.root(bent, np.zeros(N), args=(np.asarray(a),), tol=1e-14).x


@pytest.mark.parametrize("method", ["hybr", "lm", "krylov", "df-sane"])
def test_roots_by_each_method(method: str) -> None:
    wanted = differences(by_numpy, POINT)
    np.testing.assert_allclose(T.jacrev(lambda a: bent_root(a, method=method))(POINT), wanted, atol=1e-6)


@pytest.mark.parametrize("linear", [None, "dense", "sparse"])
@pytest.mark.parametrize("mode", ["jacrev", "jacfwd"])
def test_equations_of_the_derivative(linear: Any, mode: str) -> None:
    found = getattr(T, mode)(lambda a: bent_root(a, linear=linear))(POINT)
    np.testing.assert_allclose(found, differences(by_numpy, POINT), atol=1e-6)


@pytest.mark.parametrize("linear", ["dense", "sparse"])
@pytest.mark.parametrize("way", ["hessian", "reverse twice"])
def test_second_derivatives_of_roots(linear: str, way: str) -> None:
    cost = lambda a: np.sum(bent_root(a, linear=linear) ** 2)  # noqa: E731
    made = T.hessian(cost) if way == "hessian" else T.jacrev(T.grad(cost))
    np.testing.assert_allclose(made(POINT), differences(T.grad(cost), POINT, 1e-5), atol=1e-6)


def test_a_krylov_method_for_the_derivative() -> None:
    def solve(product: Any, rhs: np.ndarray) -> np.ndarray:
        operator = scipy.sparse.linalg.LinearOperator((N, N), product)
        return scipy.sparse.linalg.gmres(operator, rhs, rtol=1e-12)[0]

    found = T.jacrev(lambda a: bent_root(a, linear=solve))(POINT)
    np.testing.assert_allclose(found, differences(by_numpy, POINT), atol=1e-6)


def test_scalar_roots_by_all_their_names() -> None:
    f = lambda x, a: x**2 - a  # noqa: E731
    ways = {
        "root": lambda a: optimize.root(f, 1.0, args=(a,)).x,
        "fsolve": lambda a: optimize.fsolve(f, [1.0], args=(a,))[0],
        "brentq": lambda a: optimize.brentq(f, 0.0, 9.0, args=(a,)),
        "newton": lambda a: optimize.newton(f, 1.0, args=(a,)),
        "bisect": lambda a: optimize.root_scalar(f, (a,), "bisect", (0.0, 9.0)).root,
        "secant": lambda a: optimize.root_scalar(f, (a,), "secant", x0=1.0, x1=1.5).root,
        "root_scalar": lambda a: optimize.root_scalar(f, (a,), x0=1.0).root,
        "fixed_point": lambda a: optimize.fixed_point(lambda x, a: (x + a / x) / 2, 1.0, args=(a,)),
        "custom_root": lambda a: optimize.custom_root(f, 1.0, lambda g, x: scipy.optimize.fsolve(g, x), args=(a,)),
        "SciPy's brentq": lambda a: scipy.optimize.brentq(lambda x: x**2 - a, 0.0, 9.0),
        "SciPy's root": lambda a: scipy.optimize.root(f, 1.0, args=(a,)).x,
    }
    for name, way in ways.items():
        found = [way(3.0), T.grad(way)(3.0), T.grad(T.grad(way))(3.0)]
        wanted = [3**0.5, 0.5 * 3**-0.5, -0.25 * 3**-1.5]
        np.testing.assert_allclose([np.asarray(x).item() for x in found], wanted, rtol=1e-9, err_msg=name)


@pytest.mark.filterwarnings("ignore:.*failed to converge")
def test_newton_finds_the_root_that_scipy_finds() -> None:
    both = (optimize, tf.cos), (scipy.optimize, np.cos)
    slopes = {"fprime": lambda x: -np.sin(x), "fprime2": lambda x: -np.cos(x)}
    for kind in range(3):
        given = dict([*slopes.items()][:kind])
        for x0 in (0.1, 2.9, np.array([0.3, 1.6, 7.0])):
            ours, theirs = [m.newton(f, x0, **given) for m, f in both]
            np.testing.assert_allclose(ours, theirs, 1e-7)
            if np.ndim(x0) == 0:
                how = given or {"x1": x0 + 1.0}
                ours, theirs = [m.root_scalar(f, x0=x0, **how).root for m, f in both]
                np.testing.assert_allclose(ours, theirs, 1e-7)
    with pytest.raises(tf.errors.ConvergenceError, match="newton: no solution"):
        optimize.newton(lambda x: x**2 + np.array([-1.0, 1.0]), np.ones(2) * 0.8)


def test_structures_of_unknowns() -> None:
    def equations(x: Any, a: Any) -> Any:
        return [x["p"] + x["q"] - a, x["p"] - x["q"] ** 2]

    found = optimize.root(equations, {"p": 1.0, "q": 1.0}, args=(2.0,))
    assert np.isclose(found.x["p"], 1.0) and np.isclose(found.x["q"], 1.0)
    slope = T.grad(lambda a: optimize.root(equations, {"p": 1.0, "q": 1.0}, args=(a,)).x["q"])(2.0)
    assert np.isclose(slope, 1 / 3)
    slope = T.grad(lambda a: optimize.root(lambda x: x**3 - np.stack([a, 8.0]), [a, 1.0]).x[0])(1.5)
    assert np.isclose(slope, 1.5 ** (-2 / 3) / 3)


def smallest(a: Any, **how: Any) -> Any:
    cost = lambda x: np.sum(np.cosh(x - a)) + 0.5 * x[0] ** 2 + x[0] * x[1]  # noqa: E731
    return optimize.minimize(cost, np.zeros(2), **how).x


@pytest.mark.parametrize("method", [None, "BFGS", "Newton-CG", "trust-exact", "trust-ncg", "Nelder-Mead", "L-BFGS-B"])
def test_minima(method: str | None) -> None:
    def by_newton(a: np.ndarray) -> np.ndarray:
        slope = lambda x: np.sinh(x - a) + np.array([x[0] + x[1], x[0]])  # noqa: E731
        return scipy.optimize.fsolve(slope, np.zeros(2), xtol=1e-14)

    at = np.array([0.3, -0.2])
    for mode in (T.jacrev, T.jacfwd):
        slopes = mode(lambda a: smallest(a, method=method))(at)
        np.testing.assert_allclose(slopes, differences(by_newton, at), atol=1e-6)


def test_what_lies_at_a_bound_stays_there() -> None:
    def smallest(a: Any) -> Any:
        cost = lambda x: np.sum((x - a) ** 2) + x[0] * x[1]  # noqa: E731
        return optimize.minimize(cost, np.zeros(2), bounds=[(None, 1.0), (None, None)]).x

    # x0 = 1, x1 = a1 - 1 / 2
    np.testing.assert_allclose(smallest(np.array([4.0, 2.0])), [1.0, 1.5])
    np.testing.assert_allclose(T.jacrev(smallest)(np.array([4.0, 2.0])), [[0.0, 0.0], [0.0, 1.0]], atol=1e-12)


def test_what_lies_at_a_bound_follows_it() -> None:
    def smallest(end: Any, centre: float = 4.0, module: Any = optimize) -> Any:
        cost = lambda x: (x[0] - centre) ** 2 + (x[1] + x[0]) ** 2  # noqa: E731
        return module.minimize(cost, np.zeros(2), bounds=[(0.0, end), (None, None)]).x

    def fitted(end: Any) -> Any:
        ends = [0.0, -9.0], [end, 9.0]
        return optimize.least_squares(lambda x: [x[0] - 4.0, x[1] + x[0]], np.zeros(2), bounds=ends).x

    for way in (smallest, fitted, lambda end: smallest(end, module=scipy.optimize)):
        np.testing.assert_allclose(T.jacrev(way)(1.5), [1.0, -1.0], atol=1e-7)
        np.testing.assert_allclose(T.vmap(T.jacfwd(way))(np.array([1.0, 2.0])), [[1.0, -1.0]] * 2, atol=1e-7)
    np.testing.assert_allclose(T.jacrev(lambda end: smallest(end, 0.5))(1.5), [0.0, 0.0], atol=1e-7)
    limited = optimize.least_squares(lambda x: x - 4.0, [0.5], bounds=scipy.optimize.Bounds(0.0, 1.0))
    np.testing.assert_array_equal(limited.x, [1.0])
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        end = graph_api.placeholder(graph_api.float64, [])
        assert session.run(graph_api.gradients(smallest(end)[0], end)[0], {end: 1.5}) == 1.0


def test_least_squares_is_differentiable_in_its_data() -> None:
    times = np.linspace(0.0, 2.0, 9)
    data = 2.0 * np.exp(-0.8 * times) + 0.1 * RNG.standard_normal(9)

    def fitted(data: Any) -> Any:
        return optimize.least_squares(lambda p: p[0] * np.exp(-p[1] * times) - data, [1.0, 1.0]).x

    def theirs(data: np.ndarray) -> np.ndarray:
        misses = lambda p: p[0] * np.exp(-p[1] * times) - data  # noqa: E731
        return scipy.optimize.least_squares(misses, [1.0, 1.0], xtol=1e-15, ftol=1e-15, gtol=1e-15).x

    np.testing.assert_allclose(T.jacrev(fitted)(data), differences(theirs, data, 1e-3), atol=1e-4)


def test_second_derivatives_of_minima() -> None:
    cost = lambda a: np.sum(smallest(a) ** 3)  # noqa: E731
    at = np.array([0.3, -0.2])
    np.testing.assert_allclose(T.hessian(cost)(at), differences(T.grad(cost), at, 1e-5), atol=1e-7)


def test_many_unknowns() -> None:
    # the matrix of the derivative is tridiagonal, and found so
    def equations(x: Any, k: Any) -> Any:
        around = np.pad(x, 1)
        return 0.2 * around[2:] + 0.3 * around[:-2] - k * x - x**3 + 1.0

    def total(k: Any) -> Any:
        return np.sum(optimize.root(equations, np.zeros(1500), args=(k,), method="krylov", tol=1e-11).x)

    k = np.full(1500, 2.0)
    along = np.random.default_rng(0).standard_normal(1500)
    slope = T.grad(total)(k).numpy() @ along
    shifted = [float(total(tf.constant(k + s * along))) for s in (1e-5, -1e-5)]
    assert np.isclose(slope, (shifted[0] - shifted[1]) / 2e-5, rtol=1e-5)


def test_graphs_and_functions() -> None:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        a = graph_api.placeholder(graph_api.float64, [N])
        x = bent_root(a)
        (slope,) = graph_api.gradients(x, a)
        found = session.run(slope, {a: POINT})
    np.testing.assert_allclose(found, differences(by_numpy, POINT).sum(0), atol=1e-6)
    compiled = tf.function(lambda a: T.jacrev(bent_root)(a))
    for _ in range(3):
        np.testing.assert_allclose(compiled(tf.constant(POINT)), differences(by_numpy, POINT), atol=1e-6)


def test_no_solution_no_derivative() -> None:
    with pytest.raises(tf.errors.ConvergenceError, match="root: no solution"):
        optimize.root(lambda x: x**2 + 1.0, 1.0)
    with pytest.raises(tf.errors.ConvergenceError, match="root_scalar"):
        optimize.brentq(lambda x: x**2 + 1.0, 0.0, 1.0)
    for how in ({"constraints": [{"type": "eq", "fun": lambda x: x}]}, {"callback": print}):
        with pytest.raises(tf.errors.UnimplementedError, match=next(iter(how))):
            optimize.minimize(lambda x: x**2, 1.0, **how)
    with pytest.raises(ValueError, match="2 numbers"):
        optimize.root(lambda x: x[:1], [1.0, 2.0])
    with pytest.raises(ValueError, match="must be real"):
        optimize.root(lambda x: x, np.array([1j]))
    quad = tf.experimental.scipy.integrate.quad
    for solve in (lambda f: optimize.root(f, 1.0), lambda f: quad(f, 0.0, 1.0), lambda f: linalg.cg(f, 1.0)):
        for number in (1j, tf.constant(1j, tf.complex128)):
            with pytest.raises(TypeError, match="must give real numbers, got complex128"):
                solve(lambda x: np.multiply(number, tf.cast(x, tf.complex128)))  # noqa: B023


# ---- linear equations ------------------------------------------------------------------------------------------------


def product(k: Any) -> Any:
    return lambda v: k * v + 0.3 * np.pad(v[1:], (0, 1)) - 0.5 * np.pad(v[:-1], (1, 0))


def matrix(k: np.ndarray) -> np.ndarray:
    return np.diag(k) + 0.3 * np.eye(N, k=1) - 0.5 * np.eye(N, k=-1)


SOLVERS = {
    "gmres": lambda k: linalg.gmres(product(k), RHS, rtol=1e-12)[0],
    "bicgstab": lambda k: linalg.bicgstab(product(k), RHS, rtol=1e-12)[0],
    "spsolve": lambda k: linalg.spsolve(product(k), RHS),
    "custom": lambda k: linalg.custom_linear_solve(
        product(k), RHS, lambda times, b: np.linalg.solve(np.stack([times(e) for e in np.eye(N)], 1), b)
    ),
    "preconditioned": lambda k: linalg.gmres(
        product(k),
        RHS,
        rtol=1e-12,
        M=scipy.sparse.diags_array(1 / POINT).tocsr() + 0.01 * scipy.sparse.eye_array(N, k=1),
    )[0],
}


@pytest.mark.parametrize("name", SOLVERS)
def test_linear_equations_given_by_products(name: str) -> None:
    solver = SOLVERS[name]
    wanted = differences(lambda k: np.linalg.solve(matrix(k), RHS), POINT)
    np.testing.assert_allclose(T.jacrev(solver)(POINT), wanted, atol=1e-6)
    np.testing.assert_allclose(T.jacfwd(solver)(POINT), wanted, atol=1e-6)
    cost = lambda k: np.sum(solver(k) ** 2)  # noqa: E731
    v = np.arange(1.0, N + 1)
    along = lambda s: T.grad(cost)(POINT + s * v)  # noqa: E731
    np.testing.assert_allclose(T.hvp(cost, (POINT,), (v,))[0], differences(along, 0.0, 1e-5), atol=1e-6)


def test_linear_equations_with_the_matrix() -> None:
    a = scipy.sparse.csr_array(matrix(POINT))
    i = np.argwhere(matrix(POINT))
    values = matrix(POINT)[tuple(i.T)]

    def solution(values: Any) -> Any:
        return linalg.spsolve(tf.SparseTensor(i, values, [N, N]), RHS)

    def theirs(values: np.ndarray) -> np.ndarray:
        return scipy.sparse.linalg.spsolve(scipy.sparse.csr_array((values, tuple(i.T)), (N, N)), RHS)

    np.testing.assert_allclose(linalg.spsolve(a, RHS), theirs(values))
    several = np.stack([RHS, RHS[::-1]], 1)
    np.testing.assert_allclose(linalg.spsolve(a, several), np.linalg.solve(a.toarray(), several))
    single = linalg.spsolve(tf.SparseTensor(i, tf.constant(values, tf.float32), [N, N]), RHS.astype(np.float32))
    np.testing.assert_allclose(single, theirs(values), 1e-5)
    np.testing.assert_allclose(T.jacrev(lambda b: linalg.spsolve(a, b))(RHS), np.linalg.inv(a.toarray()), atol=1e-12)
    np.testing.assert_allclose(T.jacrev(solution)(values), differences(theirs, values), atol=1e-6)
    made = lambda v: scipy.sparse.linalg.spsolve(scipy.sparse.csr_array((v, tuple(i.T)), (N, N)), RHS)  # noqa: E731
    np.testing.assert_allclose(T.jacrev(made)(values), differences(theirs, values), atol=1e-6)
    symmetric = lambda k: linalg.cg(np.diag(POINT) * k + np.ones((N, N)), RHS, rtol=1e-12)[0]  # noqa: E731
    exact = lambda k: np.linalg.solve(np.diag(POINT) * k + np.ones((N, N)), RHS)  # noqa: E731
    np.testing.assert_allclose(T.jacrev(symmetric)(2.0), differences(exact, 2.0), atol=1e-6)


def test_linear_equations_without_solution() -> None:
    with pytest.raises(tf.errors.ConvergenceError, match="cg: did not converge"):
        linalg.cg(product(POINT), RHS, rtol=1e-12, maxiter=1)
    with pytest.raises(ValueError, match="LinearOperator"):
        linalg.cg(scipy.sparse.linalg.aslinearoperator(np.eye(N)), RHS)
