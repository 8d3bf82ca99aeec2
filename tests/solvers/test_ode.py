"""Differential equations inside derivatives: against SciPy's own solutions, differenced, and closed forms."""

from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg

import graph_api
import tape_api as tf
from engine.runtime.errors import InvalidArgumentError, ResourceExhaustedError
from tests.solvers.differences import differences
from tests.tapes import gradient_in, watching

T = tf.transforms
solve_ivp, odeint = tf.experimental.scipy.integrate.solve_ivp, tf.experimental.scipy.integrate.odeint
CLOSE: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-12}


def prey_and_predator(t: Any, y: Any, p: Any) -> Any:
    return np.stack([p[0] * y[0] - p[1] * y[0] * y[1] + p[3] * np.sin(t), -p[2] * y[1] + y[0] * y[1]])


# the initial state, four parameters, seven times, and the initial time
POINT = np.concatenate([[1.0, 2.0], [1.1, 0.4, 0.7, 0.2], np.linspace(0.3, 3.0, 7), [0.1]])


def ours(z: Any, method: str = "RK45") -> Any:
    found = solve_ivp(prey_and_predator, (z[13], 5.0), z[:2], method, t_eval=z[6:13], args=(z[2:6],), **CLOSE)
    return np.ravel(found.y)


def theirs(z: Any) -> np.ndarray:
    found = scipy.integrate.solve_ivp(
        prey_and_predator, (z[13], 5.0), z[:2], "DOP853", args=(z[2:6],), dense_output=True, rtol=1e-12, atol=1e-13
    )
    return found.sol(z[6:13]).ravel()


@pytest.fixture(scope="module")
def wanted() -> np.ndarray:
    return differences(theirs, POINT, 1e-5)


def test_the_solution_is_scipys() -> None:
    np.testing.assert_allclose(ours(POINT), theirs(POINT), rtol=1e-8)


@pytest.mark.parametrize(
    ("method", "mode"),
    [*[(m, "jacrev") for m in ("RK45", "DOP853", "LSODA", "BDF", "Radau")], ("RK45", "jacfwd"), ("BDF", "jacfwd")],
)
def test_derivatives_in_states_parameters_and_times(method: str, mode: str, wanted: np.ndarray) -> None:
    found = getattr(T, mode)(lambda z: ours(z, method))(POINT)
    np.testing.assert_allclose(found, wanted, atol=2e-6)


def test_second_derivatives() -> None:
    weights = np.random.default_rng(0).random(14)

    def cost(z: Any) -> Any:
        return np.sum(weights * ours(z) ** 2)

    wanted = differences(T.grad(cost), POINT, 1e-5)
    # forward over reverse, reverse over reverse, forward over forward
    for hessian in (T.hessian(cost), T.jacrev(T.grad(cost)), T.jacfwd(T.jacfwd(cost))):
        np.testing.assert_allclose(hessian(POINT), wanted, atol=1e-4)


def decayed(rate: Any, **more: Any) -> Any:
    return solve_ivp(lambda t, y: -rate * y, (0.0, 2.0), [1.0], t_eval=[1.0, 2.0], **{**CLOSE, **more}).y[0, -1]


def test_third_derivatives() -> None:
    assert np.isclose(T.grad(T.grad(T.grad(decayed)))(0.5), -8 * np.exp(-1.0), rtol=1e-7)


def test_a_system_that_forgets_is_not_integrated_backwards() -> None:
    # backwards, errors would grow by exp(2 * 200)
    def last(k: Any) -> Any:
        slope = lambda t, y: -k * (y - np.cos(t))  # noqa: E731
        return solve_ivp(slope, (0.0, 2.0), [0.0], "Radau", t_eval=[2.0], rtol=1e-8, atol=1e-10).y[0, 0]

    exact = lambda k: (k * k * np.cos(2.0) + k * np.sin(2.0)) / (k * k + 1)  # noqa: E731
    assert np.isclose(T.grad(last)(200.0), differences(exact, 200.0, 1e-3), rtol=1e-4)


def test_structures_and_the_solvers_own_steps() -> None:
    def slope(t: Any, y: Any) -> Any:
        return {"u": -y["u"], "v": 2.0 * y["v"]}

    found = solve_ivp(slope, (0.0, 1.0), {"u": np.ones((2, 2)), "v": 1.0}, **CLOSE)
    assert found.y["u"].shape == (len(found.t), 2, 2) and len(found.t) > 2
    np.testing.assert_allclose(found.y["v"], np.exp(2 * found.t.numpy()), rtol=1e-8)
    by_odeint = odeint(lambda y, t: slope(t, y), {"u": np.ones((2, 2)), "v": 1.0}, [0.0, 1.0])
    np.testing.assert_allclose(by_odeint["u"][1], np.full((2, 2), np.exp(-1)), rtol=1e-6)


def test_odeint_in_its_first_time() -> None:
    states = lambda t: odeint(lambda y, t: -t * y, [1.0], t, rtol=1e-10, atol=1e-10)  # noqa: E731
    exact = lambda t: np.exp((t[0] ** 2 - t**2) / 2)[:, None]  # noqa: E731
    at = np.array([0.5, 1.0, 2.0])
    for mode in (T.jacrev, T.jacfwd):
        np.testing.assert_allclose(mode(states)(at), differences(exact, at), atol=1e-7)


def test_dense_output_and_backward_time() -> None:
    found = solve_ivp(lambda t, y: y, (1.0, 0.0), [np.e], t_eval=[1.0, 0.5, 0.0], dense_output=True, **CLOSE)
    np.testing.assert_allclose(found.y[0], np.exp([1.0, 0.5, 0.0]), rtol=1e-8)
    np.testing.assert_allclose(found.sol(0.25), [np.exp(0.25)], rtol=1e-8)
    assert np.isclose(T.grad(lambda t: found.sol(t)[0])(0.25), np.exp(0.25), rtol=1e-8)
    back = lambda k: solve_ivp(lambda t, y: k * y, (1.0, 0.0), [1.0], t_eval=[0.0], **CLOSE).y[0, 0]  # noqa: E731
    assert np.isclose(T.grad(back)(0.5), -np.exp(-0.5), rtol=1e-8)


def fall(speed: Any) -> Any:
    def hit(t: Any, y: Any) -> Any:
        return y[0]

    hit.terminal, hit.direction = True, -1  # type: ignore[attr-defined]
    slope = lambda t, y: np.stack([y[1], 0.0 * y[1] - 9.81])  # noqa: E731
    return solve_ivp(slope, (0.0, 100.0), np.stack([0.0 * speed, speed]), events=hit, **CLOSE)


def test_events_are_implicit_functions() -> None:
    found = fall(tf.constant(10.0, tf.float64))
    assert found.status == 1
    assert np.isclose(found.t_events[0][0], 20 / 9.81) and np.isclose(found.t[-1], 20 / 9.81)
    assert np.isclose(T.grad(lambda v: fall(v).t_events[0][0])(10.0), 2 / 9.81)
    assert np.isclose(T.grad(lambda v: fall(v).y_events[0][0, 1])(10.0), -1.0)
    assert np.isclose(T.grad(lambda v: fall(v).t[-1])(10.0), 2 / 9.81)
    squared = lambda v: fall(v).t_events[0][0] ** 2  # noqa: E731
    assert np.isclose(T.grad(T.grad(squared))(10.0), 8 / 9.81**2)


@pytest.mark.parametrize("span", [(0.0, 3.0), (3.0, 0.0)])
def test_events_end_a_solution_where_scipy_ends_it(span: tuple[float, float]) -> None:
    last, passed = [lambda t, y, level=level: y[0] - level for level in (1.6, 1.3)]
    last.terminal = True  # type: ignore[attr-defined]
    asked = span, [1.0 if span[0] == 0.0 else 2.5]
    for times in (np.linspace(*span, 40), np.linspace(*span, 4), None):
        for events in (last, [last, passed], [passed, last]):
            how = {"t_eval": times, "events": events, **CLOSE}
            found, theirs = [f(lambda t, y: 0.5 * y, *asked, **how) for f in (solve_ivp, scipy.integrate.solve_ivp)]
            np.testing.assert_allclose(found.t, theirs.t, 1e-6)
            np.testing.assert_allclose(found.y, theirs.y, 1e-6)


@pytest.mark.filterwarnings("ignore:lsoda")
@pytest.mark.parametrize("method", ["RK45", "BDF", "LSODA"])
def test_a_slope_that_is_no_number_has_no_solution(method: str) -> None:
    for slope in (lambda t, y: y * np.nan, lambda t, y: np.where(t < 0.5, y, np.nan)):
        for events in (None, lambda t, y: y[0] - 9.0):
            with pytest.raises(tf.errors.ConvergenceError, match=r"solve_ivp: .* between t = 0\.0"):
                solve_ivp(slope, (0.0, 2.0), [1.0], method, [2.0], events=events)


def test_graphs() -> None:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        rate = graph_api.placeholder(graph_api.float64, [])
        y = decayed(rate)
        (first,) = graph_api.gradients(y, rate)
        (second,) = graph_api.gradients(first, rate)
        found = session.run([y, first, second], {rate: 0.5})
    np.testing.assert_allclose(found, np.exp(-1.0) * np.array([1.0, -2.0, 4.0]), rtol=1e-7)


def test_a_graph_says_what_it_cannot_know() -> None:
    with graph_api.Graph().as_default():
        rate = graph_api.placeholder(graph_api.float64, [])
        with pytest.raises(ValueError, match="t_eval"):
            solve_ivp(lambda t, y: -rate * y, (0.0, 1.0), [1.0])


def test_functions_run_as_programs() -> None:
    @tf.function
    def both(rate: Any) -> Any:
        tape, y = watching(rate, lambda: decayed(rate))
        return y, tape.gradient(y, rate)

    for rate in (0.5, 0.7, 0.9):
        y, slope = both(tf.constant(rate, tf.float64))
        np.testing.assert_allclose([y, slope], [np.exp(-2 * rate), -2 * np.exp(-2 * rate)], rtol=1e-8)


def test_batches_and_variables() -> None:
    rates = np.array([0.5, 1.0])
    np.testing.assert_allclose(T.vmap(decayed)(rates), np.exp(-2 * rates), rtol=1e-8)
    np.testing.assert_allclose(T.vmap(T.grad(decayed))(rates), -2 * np.exp(-2 * rates), rtol=1e-8)
    ends = T.vmap(lambda t: solve_ivp(lambda t, y: -y, (0.0, 5.0), [1.0], t_eval=np.stack([t]), **CLOSE).y[0, 0])
    np.testing.assert_allclose(ends(rates), np.exp(-rates), rtol=1e-8)
    rate = tf.Variable(0.5, dtype=tf.float64)
    tape, y = watching((), lambda: decayed(rate))
    assert np.isclose(tape.gradient(y, rate), -2 * np.exp(-1.0))


def test_a_solver_inside_a_solver() -> None:
    # dy/dt = z(t), where z itself solves dz/ds = -a z from 0 to t
    def inner(t: Any, a: Any) -> Any:
        return solve_ivp(lambda s, z: -a * z, (0.0, 2.0), [1.0], t_eval=np.stack([t]), **CLOSE).y[0, 0]

    def outer(a: Any) -> Any:
        return solve_ivp(lambda t, y: np.stack([inner(t, a)]), (0.0, 1.0), [0.0], t_eval=[1.0]).y[0, 0]

    exact = lambda a: (1 - np.exp(-a)) / a  # noqa: E731
    assert np.isclose(T.grad(outer)(0.7), differences(exact, 0.7), rtol=1e-5)


def test_scipys_own_name_dispatches() -> None:
    def last(rate: Any) -> Any:
        return scipy.integrate.solve_ivp(lambda t, y: -rate * y, (0.0, 1.0), [1.0], t_eval=[1.0], **CLOSE).y[0, 0]

    assert np.isclose(T.grad(last)(1.0), -np.exp(-1.0))
    # of numbers alone it is SciPy's
    assert isinstance(scipy.integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0]).y, np.ndarray)


def test_refusals() -> None:
    with pytest.raises(tf.errors.ConvergenceError, match="solve_ivp"):
        solve_ivp(lambda t, y: y**2, (0.0, 2.0), [1.0], t_eval=[2.0])
    with pytest.raises(TypeError, match="tolerance"):
        solve_ivp(lambda t, y: y, (0.0, 2.0), [1.0], tolerance=1)
    with pytest.raises(ValueError, match="within `t_span`"):
        solve_ivp(lambda t, y: y, (0.0, 2.0), [1.0], t_eval=[3.0])
    with pytest.raises(ValueError, match="sorted"):
        solve_ivp(lambda t, y: y, (0.0, 2.0), [1.0], t_eval=[2.0, 1.0])
    with pytest.raises(ValueError, match="what `fun` returns"):
        solve_ivp(lambda t, y: y[:1], (0.0, 2.0), [1.0, 2.0], t_eval=[2.0])
    for slope in (
        lambda t, y: y if y[0] > 0 else -y,
        lambda t, y: tf.cond(y[0] > 0, lambda: y, lambda: -y),
        lambda t, y: y.numpy(),
        lambda t, y: float(t) * y,
    ):
        with pytest.raises(TypeError, match=r"solve_ivp: the function is traced once.*np\.where"):
            solve_ivp(slope, (0.0, 2.0), [1.0], t_eval=[2.0])


def test_right_hand_sides_of_all_kinds() -> None:
    rate, matrix = tf.constant(0.5, tf.float64), tf.Variable([[0.0, 1.0], [-1.0, 0.0]], dtype=tf.float64)

    def by_a_tape(t: Any, y: Any) -> Any:
        return -gradient_in(y, lambda: tf.reduce_sum(y**2) * rate)

    ways: dict[str, Any] = {
        "a tape": (by_a_tape, np.exp(-1.0)),
        "a transform": (lambda t, y: -T.grad(lambda q: np.sum(q**2) * rate)(y), np.exp(-1.0)),
        "a function": (lambda t, y: tf.function(lambda y: -2.0 * rate * y)(y), np.exp(-1.0)),
        "a loop": (lambda t, y: -tf.foldl(lambda c, x: c + x * rate, tf.stack([0.0 * y, y, y])), np.exp(-1.0)),
        "a list": (lambda t, y: [-y[0] * 2.0 * rate, -y[1]], np.exp(-1.0)),
    }
    for name, (slope, wanted) in ways.items():
        last = solve_ivp(slope, (0.0, 1.0), [2.0 * rate, 1.0], t_eval=[1.0], **CLOSE).y[0, 0]
        assert np.isclose(last, wanted, rtol=1e-7), name
    tape, last = watching(
        (),
        lambda: solve_ivp(lambda t, y: tf.linalg.matvec(matrix, y), (0.0, 1.0), [1.0, 0.0], t_eval=[1.0], **CLOSE).y[
            0, 0
        ],
    )
    assert np.isclose(last, np.cos(1.0))
    # the derivative of expm(A)[0, 0] by central differences
    wanted = differences(lambda a: scipy.linalg.expm(a)[0, 0], matrix.numpy())
    np.testing.assert_allclose(tape.gradient(last, matrix), wanted, atol=1e-6)


def test_structures_of_states() -> None:
    turning = lambda y, t: {"v": -y["x"], "x": y["v"]}  # noqa: E731
    found = odeint(turning, {"x": 1.0, "v": 0.0}, [0.0, 1.0])
    np.testing.assert_allclose(found["x"][1], np.cos(1.0), rtol=1e-6)
    np.testing.assert_allclose(found["v"][1], -np.sin(1.0), rtol=1e-6)
    decaying = lambda y, t: tf.nest.map_structure(lambda v: -v, y)  # noqa: E731
    for start in ({"a": np.ones(2)}, [np.ones(2)], {"a": {"b": np.ones(2)}}, {"a": np.ones(2), "b": 1.0}):
        whole = odeint(decaying, start, [0.0, 1.0, 2.0])
        tf.nest.assert_same_structure(start, whole)
        assert tf.nest.flatten(whole)[0].shape == (3, 2)
        states = solve_ivp(lambda t, y: decaying(y, t), (0.0, 2.0), start, t_eval=[1.0, 2.0]).y
        tf.nest.assert_same_structure(start, states)
    with pytest.raises(InvalidArgumentError, match=r"a dictionary with the keys \['x', 'v'\]; got tuple"):
        odeint(lambda y, t: (y["v"], -y["x"]), {"x": 1.0, "v": 0.0}, [0.0, 1.0])


@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau", "BDF"])
@pytest.mark.parametrize("end", [4.0, -2.0])
def test_adjoints_within_a_limit_have_the_same_bits(method: str, end: float) -> None:
    def loss(y: Any, rate: Any, **limit: Any) -> Any:
        slope = lambda t, y: rate * tf.sin(y[::-1]) - 0.1 * y * tf.cos(9.0 * t)  # noqa: E731
        return tf.reduce_sum(solve_ivp(slope, (0.0, end), y, method, [end / 2, end], rtol=1e-5, **limit).y ** 2)

    def slopes(**limit: Any) -> Any:
        return [g.numpy() for g in T.grad(lambda *a: loss(*a, **limit), argnums=(0, 1))(np.linspace(0.1, 1, 30), 1.2)]

    expected = slopes()
    for max_bytes in (80_000, 10**8):
        np.testing.assert_equal(expected, slopes(max_bytes=max_bytes))
    function = tf.function(T.grad(lambda y: loss(y, 1.2, max_bytes=80_000)))
    start = tf.constant(np.linspace(0.1, 1, 30))
    np.testing.assert_array_equal(function(start), T.grad(lambda y: loss(y, 1.2))(start))
    assert " states kept, " in function.explain()
    with pytest.raises(ResourceExhaustedError, match="three states of the solver"):
        slopes(max_bytes=2_000)
    with pytest.raises(InvalidArgumentError, match="does not show its state"):
        T.grad(lambda y: solve_ivp(lambda t, y: -y, (0, 1), y, "LSODA", [1.0], max_bytes=9_000).y[0, 0])(np.ones(2))
    with pytest.raises(InvalidArgumentError, match=r"odeint: LSODA takes no `max_bytes`.*take solve_ivp"):
        odeint(lambda y, t: -y, np.ones(2), [0.0, 1.0], max_bytes=9_000)


def test_gradients_of_gradients_within_a_limit_have_the_same_bits() -> None:
    def loss(y: Any, **limit: Any) -> Any:
        slope = lambda t, y: tf.sin(y[::-1]) - 0.1 * y * tf.cos(9.0 * t)  # noqa: E731
        return tf.reduce_sum(solve_ivp(slope, (0.0, 2.0), y, t_eval=[1.0, 2.0], rtol=1e-6, **limit).y ** 2)

    start = np.linspace(0.1, 1, 30)
    found = []
    for limit in ({}, {"max_bytes": 150_000}):
        first = T.grad(lambda y, limit=limit: loss(y, **limit))
        found.append(T.grad(lambda y, first=first: tf.reduce_sum(first(y) ** 2))(start))
    np.testing.assert_array_equal(*found)
