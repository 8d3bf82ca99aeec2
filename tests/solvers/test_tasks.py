"""Eleven tasks of a scientist, each in a few lines, against closed forms or differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.sparse

import tape_api as tf
from tests.solvers.differences import differences

T = tf.transforms
RNG = np.random.default_rng(5)


def test_sparse_least_squares() -> None:
    # a chain of 400 points through noisy data, held together by springs
    data = np.cumsum(RNG.standard_normal(400)) / 10

    def misses(x: Any) -> Any:
        return np.concatenate([x - data, 3.0 * np.sin(x[1:] - x[:-1])])

    p = tf.for_scipy(misses, np.zeros(400), format="csr")
    found = scipy.optimize.least_squares(p.fun, data, p.jac, xtol=1e-14, ftol=1e-14)
    assert found.success and p.jac(found.x).nnz == 400 + 2 * 399
    assert np.abs(p.jac(found.x).T @ p.fun(found.x)).max() < 1e-6


def test_stiff_equation_in_space_and_time() -> None:
    # u_t = 0.01 u_xx + u (1 - u)
    n, h = 80, 1 / 81

    def slope(t: Any, u: Any) -> Any:
        padded = np.pad(u, 1)
        return 0.01 * (padded[2:] - 2.0 * u + padded[:-2]) / h**2 + u * (1.0 - u)

    u0 = np.sin(np.pi * np.linspace(h, 1 - h, n))
    p = tf.for_ode(slope, u0, format="csr")
    found = scipy.integrate.solve_ivp(p.fun, (0.0, 1.0), p.y0, "BDF", jac=p.jac, rtol=1e-7, atol=1e-9)
    plain = scipy.integrate.solve_ivp(
        lambda t, u: np.asarray(p.fun(t, u)), (0.0, 1.0), u0, "LSODA", rtol=1e-9, atol=1e-11
    )
    np.testing.assert_allclose(found.y[:, -1], plain.y[:, -1], rtol=1e-5)
    assert p.counts["jac"] < 30 < found.nfev


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


def test_boundary_value_problem() -> None:
    # Bratu's problem, whose solution is known
    p = tf.for_bvp(lambda x, y: [y[1], -np.exp(y[0])], lambda a, b: [a[0], b[0]])
    x = np.linspace(0.0, 1.0, 9)
    found = scipy.integrate.solve_bvp(p.fun, p.bc, x, np.zeros((2, 9)), fun_jac=p.fun_jac, bc_jac=p.bc_jac, tol=1e-8)
    theta = scipy.optimize.brentq(lambda t: t - np.sqrt(2.0) * np.cosh(t / 4), 0.0, 3.0)
    exact = -2 * np.log(np.cosh((x - 0.5) * theta / 2) / np.cosh(theta / 4))
    np.testing.assert_allclose(found.sol(x)[0], exact, atol=1e-7)


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


def test_gaussian_process() -> None:
    x = np.sort(RNG.uniform(0.0, 5.0, 40))
    y = np.sin(x) + 0.1 * RNG.standard_normal(40)
    distances = (x[:, None] - x) ** 2

    def misfit(p: Any) -> Any:
        k = np.exp(p[0] - distances * np.exp(-2 * p[1])) + np.exp(p[2]) * np.eye(40)
        return 0.5 * y @ np.linalg.solve(k, y) + 0.5 * np.linalg.slogdet(k)[1]

    p = tf.for_scipy(misfit, np.array([0.0, 0.0, -2.0]))
    found = scipy.optimize.minimize(p.fun, p.x0, jac=p.jac, hess=p.hess, method="trust-exact", options={"gtol": 1e-8})
    assert found.success and 0.05 < np.exp(found.x[2] / 2) < 0.2
    np.testing.assert_allclose(p.hess(found.x), differences(p.jac, found.x, 1e-5), rtol=1e-4, atol=1e-5)


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


def test_splines() -> None:
    # the knots' values that make a curve with the least bending through three points
    x = np.linspace(0.0, 1.0, 9)
    at, through = np.array([0.15, 0.55, 0.85]), np.array([0.0, 1.0, 0.3])
    CubicSpline = tf.experimental.scipy.interpolate.CubicSpline

    def misfit(y: Any) -> Any:
        curve = CubicSpline(x, y, bc_type="natural")
        bend = curve(np.linspace(0.0, 1.0, 41), 2)
        return np.sum((curve(at) - through) ** 2) + 1e-6 * np.sum(bend**2)

    p = tf.for_scipy(misfit, np.zeros(9))
    found = scipy.optimize.minimize(p.fun, p.x0, jac=p.jac, hess=p.hess, method="trust-exact", options={"gtol": 1e-9})
    plain = scipy.interpolate.CubicSpline(x, found.x, bc_type="natural")
    np.testing.assert_allclose(plain(at), through, atol=0.05)
    # the misfit is quadratic: one step of Newton's from anywhere gets there
    start = RNG.standard_normal(9)
    np.testing.assert_allclose(start - np.linalg.solve(p.hess(start), p.jac(start)), found.x, atol=1e-6)


def test_spectra() -> None:
    # a filter whose response is to be flat: the gradient of a cost of a Fourier transform
    target = (np.fft.rfftfreq(64) < 0.2) * 1.0

    def misfit(taps: Any) -> Any:
        return np.sum((np.abs(np.fft.rfft(taps, 64)) ** 2 - target) ** 2)

    taps = RNG.standard_normal(16) / 4
    f = tf.for_scipy(misfit, taps)
    np.testing.assert_allclose(f.jac(taps), differences(misfit, taps), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(f.hess(taps), differences(f.jac, taps), rtol=1e-5, atol=1e-4)
    found = scipy.optimize.minimize(f.fun, taps, jac=f.jac, method="BFGS")
    assert found.fun < 0.5 * f.fun(taps)


def test_complex_optics() -> None:
    # thin films: the reflection of a stack of layers by products of complex matrices, and its gradient in thicknesses
    wavelengths = np.linspace(0.4, 0.7, 31)
    indices = np.array([1.45, 2.3] * 4)

    def reflected(d: Any) -> Any:
        one = np.ones(31, np.complex128)
        b, c = one, 1.52 * one
        for n, thickness in zip(indices[::-1], [d[i] for i in range(7, -1, -1)], strict=True):
            phase = 2 * np.pi * n * thickness / wavelengths
            cos, sin = np.cos(phase).astype(np.complex128), 1j * np.sin(phase).astype(np.complex128)
            b, c = cos * b + sin * c / n, n * sin * b + cos * c
        r = (b - c) / (b + c)
        return np.mean(np.abs(r) ** 2)

    d = 0.1 + 0.02 * RNG.random(8)
    p = tf.for_scipy(reflected, d)
    np.testing.assert_allclose(p.jac(d), differences(reflected, d), rtol=1e-6, atol=1e-8)
    found = scipy.optimize.minimize(p.fun, d, jac=p.jac, method="L-BFGS-B", bounds=[(0.02, 0.3)] * 8)
    assert found.fun < 0.5 * p.fun(d)
    assert p.hess(d) == pytest.approx(p.hess(d).T)
