"""Splines and interpolants: SciPy's values, and derivatives in points, values and knots."""

from typing import Any

import numpy as np
import pytest
import scipy.interpolate as theirs

import graph_api
import tape_api as tf
from tests.solvers.differences import differences

T = tf.transforms
ours = tf.experimental.scipy.interpolate
RNG = np.random.default_rng(0)
SPLINES: list[tuple[str, dict[str, Any]]] = [
    ("CubicSpline", {}),
    *[
        ("CubicSpline", {"bc_type": b})
        for b in (
            "natural",
            "clamped",
            ((1, np.full(2, 0.3)), (2, np.full(2, 0.5))),
            ("natural", (1, np.full(2, -0.2))),
        )
    ],
    ("PchipInterpolator", {}),
    ("Akima1DInterpolator", {"extrapolate": True}),
    ("Akima1DInterpolator", {"method": "makima"}),
]


def knots(n: int) -> np.ndarray:
    return np.sort(RNG.random(n)) + np.arange(n)


@pytest.mark.parametrize("n", [2, 3, 4, 7])
@pytest.mark.parametrize(("name", "how"), SPLINES)
def test_splines_are_scipys(name: str, how: dict[str, Any], n: int) -> None:
    if name.startswith("Akima") and n == 2:
        with pytest.raises(ValueError, match="3 knots"):
            getattr(ours, name)(knots(2), np.zeros((2, 2)), **how)
        return
    x, y = knots(n), RNG.standard_normal((n, 2))
    at = np.array([x[0] - 0.3, *RNG.uniform(x[0], x[-1], 5), x[-1] + 0.2])
    for axis, values in ((0, y), (1, y.T)):
        a, b = (getattr(m, name)(x, values, axis=axis, **how) for m in (theirs, ours))
        for nu in (0, 1, 2, 3):
            np.testing.assert_allclose(b(at, nu), a(at, nu), atol=1e-9)
        np.testing.assert_allclose(b(at.reshape(7, 1)), a(at.reshape(7, 1)), atol=1e-9)
        np.testing.assert_allclose(b.integrate(x[0], x[-1]), a.integrate(x[0], x[-1]), atol=1e-9)


def test_periodic_splines() -> None:
    x, y = knots(6), RNG.standard_normal(6)
    y[-1] = y[0]
    at = np.array([x[0] - 1.0, 2.2, x[-1] + 2.0])
    a, b = (m.CubicSpline(x, y, bc_type="periodic") for m in (theirs, ours))
    np.testing.assert_allclose(b(at), a(at))
    np.testing.assert_allclose(b(at, 1), a(at, 1))


@pytest.mark.parametrize("name", ["CubicSpline", "PchipInterpolator", "Akima1DInterpolator", "interp1d"])
@pytest.mark.parametrize("of", ["knots", "values", "points"])
def test_derivatives(name: str, of: str) -> None:
    given = {"knots": knots(6), "values": RNG.standard_normal(6), "points": np.array([1.3, 2.2, 4.1])}

    def made(module: Any, z: Any) -> Any:
        x, y, at = ({**given, of: z}[key] for key in ("knots", "values", "points"))
        return getattr(module, name)(x, y)(at)

    wanted = differences(lambda z: made(theirs, z), given[of])
    for mode in (T.jacrev, T.jacfwd):
        np.testing.assert_allclose(mode(lambda z: made(ours, z))(given[of]), wanted, atol=1e-6)
    cost = lambda z: np.sum(made(ours, z) ** 2)  # noqa: E731
    wanted = differences(T.grad(cost), given[of])
    np.testing.assert_allclose(T.hessian(cost)(given[of]), wanted, atol=1e-4)


@pytest.mark.parametrize("kind", ["linear", "slinear", "nearest", "previous", "zero", "next", "cubic"])
def test_interp1d(kind: str) -> None:
    x, y = knots(6), RNG.standard_normal((2, 6))
    inside, outside = np.array([[1.3, 2.2], [4.1, 3.0]]), np.array([-1.0, 2.0, 9.0])
    np.testing.assert_allclose(ours.interp1d(x, y, kind)(inside), theirs.interp1d(x, y, kind)(inside))
    order = np.array([3, 1, 0, 2, 5, 4])
    np.testing.assert_allclose(ours.interp1d(x[order], y[:, order], kind)(inside), theirs.interp1d(x, y, kind)(inside))
    with pytest.raises(ValueError, match="bounds_error"):
        ours.interp1d(x, y, kind)(outside)
    for how in ({"fill_value": (1.0, 2.0), "bounds_error": False}, {"fill_value": "extrapolate"}):
        np.testing.assert_allclose(
            ours.interp1d(x, y, kind, **how)(outside), theirs.interp1d(x, y, kind, **how)(outside)
        )


@pytest.mark.parametrize("method", ["linear", "nearest", "cubic"])
def test_grids(method: str) -> None:
    grid = tuple([knots(n) for n in (5, 6, 4)])
    values = RNG.standard_normal((5, 6, 4, 2))
    at = np.stack([RNG.uniform(p[0], p[-1], 9) for p in grid], -1)
    a, b = (m.RegularGridInterpolator(grid, values, method)(at) for m in (theirs, ours))
    # SciPy solves for its cubics by iteration
    np.testing.assert_allclose(b, a, rtol=1e-3 if method == "cubic" else 1e-10, atol=1e-4 if method == "cubic" else 0)
    far = at + 3.0
    how = {"bounds_error": False, "fill_value": 7.0}
    a, b = (m.RegularGridInterpolator(grid, values, method, **how)(far) for m in (theirs, ours))
    np.testing.assert_allclose(b, a, rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="outside"):
        ours.RegularGridInterpolator(grid, values, method)(far)
    if method == "nearest":
        return
    one = at[0]
    found = T.jacrev(lambda p: ours.interpn(grid, values, p, method))(one)
    np.testing.assert_allclose(found, differences(lambda p: theirs.interpn(grid, values, p, method), one), atol=1e-3)
    first = lambda v: ours.interpn(grid, v, one, method)[0]  # noqa: E731
    weights = T.grad(first)(values[..., 0]).numpy()
    assert np.isclose(weights.sum(), 1.0)
    assert np.isclose((weights * values[..., 0]).sum(), first(values[..., 0]))


def test_graphs_functions_and_batches() -> None:
    x, y, at = knots(6), RNG.standard_normal(6), np.array([1.3, 2.2, 4.1])
    wanted = theirs.CubicSpline(x, y)(at, 1)
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        p = graph_api.placeholder(graph_api.float64, [3])
        (slope,) = graph_api.gradients(ours.CubicSpline(x, y)(p), p)
        np.testing.assert_allclose(session.run(slope, {p: at}), wanted)
    spline = ours.CubicSpline(x, y)
    np.testing.assert_allclose(T.vmap(T.grad(spline))(at), wanted)
    compiled = tf.function(lambda y: ours.CubicSpline(x, y)(at))
    for k in range(3):
        np.testing.assert_allclose(compiled(tf.constant(y + k)), theirs.CubicSpline(x, y + k)(at))


def test_refusals() -> None:
    with pytest.raises(ValueError, match="rise"):
        ours.CubicSpline([0.0, 2.0, 1.0], np.zeros(3))
    with pytest.raises(ValueError, match="3 values along axis 0"):
        ours.CubicSpline([0.0, 1.0, 2.0], np.zeros(4))
    with pytest.raises(ValueError, match="bc_type"):
        ours.CubicSpline([0.0, 1.0, 2.0], np.zeros(3), bc_type="free")
    with pytest.raises(tf.errors.UnimplementedError, match="kind"):
        ours.interp1d([0.0, 1.0, 2.0], np.zeros(3), "quadratic")
