"""Tasks of a scientist, each in a few lines, against closed forms or differences."""

from typing import Any

import numpy as np
import scipy.integrate
import scipy.optimize
import scipy.sparse

import tape_api as tf
from tests.solvers.differences import differences

T = tf.transforms
RNG = np.random.default_rng(5)


def test_constrained_minimum() -> None:
    # the brachistochrone-like chain of least height, its links of length one
    n = 20

    def height(x: Any) -> Any:
        return np.sum(x[n:])

    def links(x: Any) -> Any:
        a = np.concatenate([np.zeros(1), x[:n], np.array([12.0])])
        b = np.concatenate([np.zeros(1), x[n:], np.zeros(1)])
        return (a[1:] - a[:-1]) ** 2 + (b[1:] - b[:-1]) ** 2 - 1.0

    start = np.concatenate([np.linspace(0.0, 12.0, n + 2)[1:-1], -np.sin(np.linspace(0, np.pi, n + 2))[1:-1] * 6])
    cost, chain = tf.for_scipy(height, start), tf.for_scipy(links, start, format="csr")
    equal = scipy.optimize.NonlinearConstraint(chain.fun, 0.0, 0.0, jac=chain.jac, hess=chain.weighted_hess)
    found = scipy.optimize.minimize(
        cost.fun, start, jac=cost.jac, hess=lambda x: scipy.sparse.csr_array((2 * n, 2 * n)), method="trust-constr",
        constraints=equal, options={"maxiter": 300},
    )  # fmt: skip
    assert found.constr_violation < 1e-8
    # a catenary is symmetric, and so is the chain
    np.testing.assert_allclose(found.x[n:], found.x[n:][::-1], atol=1e-2)


def test_differential_algebraic_equations() -> None:
    # a pendulum in Cartesian coordinates by the implicit rule of Euler: each step is a root
    def step(z: Any, length: Any, h: float = 0.05) -> Any:
        def equations(new: Any) -> Any:
            x, y, u, v, force = new
            return [x - z[0] - h * u, y - z[1] - h * v, u - z[2] + h * force * x, v - z[3] + h * (force * y + 9.81),
                    x**2 + y**2 - length**2]  # fmt: skip

        return tf.experimental.scipy.optimize.root(lambda new: equations([new[i] for i in range(5)]), z).x

    def swung(length: Any) -> Any:
        z = np.stack([0.6 * length, -0.8 * length, 0.0 * length, 0.0 * length, 0.0 * length])
        for _ in range(8):
            z = step(z, length)
        return z[0]

    length = tf.constant(1.3, tf.float64)
    slope = (swung(length + 1e-5) - swung(length - 1e-5)) / 2e-5
    np.testing.assert_allclose(T.grad(swung)(length), slope, rtol=1e-6)


def test_kalman_filter() -> None:
    data = np.cumsum(0.3 * RNG.standard_normal(100)) + 0.5 * RNG.standard_normal(100)

    def misfit(p: Any) -> Any:
        mean, spread, total = p[0] * 0.0, p[0] * 0.0 + 1.0, 0.0
        for value in data:
            spread = spread + np.exp(p[0])
            s = spread + np.exp(p[1])
            gain = spread / s
            total = total + 0.5 * (value - mean) ** 2 / s + 0.5 * np.log(s)
            mean, spread = mean + gain * (value - mean), (1.0 - gain) * spread
        return total

    p = tf.for_scipy(misfit, np.zeros(2))
    found = scipy.optimize.minimize(p.fun, p.x0, jac=p.jac, method="BFGS")
    assert found.success
    np.testing.assert_allclose(p.jac([0.1, 0.2]), differences(misfit, [0.1, 0.2]), rtol=1e-6)


def test_inverse_problem_by_the_adjoint() -> None:
    # how a rod conducts, from its temperature at one time
    n = 20
    true = 1.0 + 0.5 * np.sin(np.linspace(0.0, 3.0, n + 1))
    start = np.sin(np.pi * np.linspace(0.0, 1.0, n + 2)[1:-1])

    def later(k: Any) -> Any:
        def slope(t: Any, u: Any) -> Any:
            flow = k * np.diff(np.pad(u, 1))
            return 5.0 * np.diff(flow)

        return tf.experimental.scipy.integrate.solve_ivp(
            slope, (0.0, 0.5), start, "BDF", t_eval=[0.1, 0.5], rtol=1e-7, atol=1e-9
        ).y

    measured = later(tf.constant(true)).numpy()
    misfit = lambda k: np.sum((later(k) - measured) ** 2)  # noqa: E731
    guess = np.ones(n + 1)
    gradient = T.grad(misfit)(guess).numpy()
    along = gradient / np.linalg.norm(gradient)
    slope = (misfit(tf.constant(guess + 1e-2 * along)) - misfit(tf.constant(guess - 1e-2 * along))) / 2e-2
    assert np.isclose(gradient @ along, slope, rtol=1e-2)
    p = tf.for_scipy(misfit, guess)
    found = scipy.optimize.minimize(p.fun_and_jac, guess, jac=True, method="L-BFGS-B", options={"maxiter": 12})
    assert found.fun < 1e-2 * p.fun(guess)
