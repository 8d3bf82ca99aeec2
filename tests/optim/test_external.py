"""SciPy's minimizers for variables of both modes, against SciPy called by hand."""

from typing import Any

import numpy as np
import pytest
from scipy import __version__ as scipy_version
from scipy import optimize

import graph_api
import tape_api
from engine.runtime import elementary
from optim import ScipyOptimizerInterface, minimize

START = np.array([-1.2, 1.0, 0.7, 1.4])


def rosenbrock(tf: Any, x: Any) -> Any:
    return tf.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def by_hand(method: str, start: np.ndarray = START, **arguments: Any) -> Any:
    needs = {"jac": optimize.rosen_der} if method.lower() not in ("nelder-mead", "powell") else {}
    if method in ("Newton-CG", "trust-ncg", "trust-krylov"):
        needs["hessp"] = optimize.rosen_hess_prod
    if method in ("dogleg", "trust-exact"):
        needs["hess"] = optimize.rosen_hess
    return optimize.minimize(optimize.rosen, start, method=method, **needs, **arguments)


def in_graph(method: str, start: np.ndarray = START, **arguments: Any) -> tuple[Any, np.ndarray]:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x = graph_api.Variable(start)
        loss = rosenbrock(graph_api, x)
        session.run(graph_api.global_variables_initializer())
        return minimize(loss, [x], method, **arguments), session.run(x)


def on_tape(method: str, start: np.ndarray = START, **arguments: Any) -> tuple[Any, np.ndarray]:
    x = tape_api.Variable(start)
    return minimize(lambda: rosenbrock(tape_api, x), [x], method, **arguments), x.numpy()


@pytest.mark.parametrize(
    "method",
    ["L-BFGS-B", "BFGS", "CG", "TNC", "SLSQP", "Newton-CG", "trust-ncg", "trust-krylov", "dogleg", "trust-exact"],
)
def test_iterates_are_those_of_scipy_called_by_hand(method: str) -> None:
    # all of the way would tell rounding apart: formulas of the gradient differ in the last bit
    options = {"maxfun" if method == "TNC" else "maxiter": 6}
    expected = by_hand(method, options=options)
    (graph, graph_x), (tape, tape_x) = (f(method, options=options) for f in (in_graph, on_tape))
    assert graph.nit == tape.nit == expected.nit
    assert graph.nfev == tape.nfev == expected.nfev
    np.testing.assert_allclose(graph.x, expected.x, rtol=1e-6)
    assert graph.x.tobytes() == tape.x.tobytes() == graph_x.tobytes() == tape_x.tobytes()


@pytest.mark.parametrize("method", ["Nelder-Mead", "Powell", "trust-constr"])
def test_other_methods_find_the_minimum(method: str) -> None:
    # from further away they find the other minimum, at -0.776
    for found, x in (in_graph(method, abs(START)), on_tape(method, abs(START))):
        np.testing.assert_allclose(x, 1.0, atol=1e-2)
        assert found.x.tobytes() == x.tobytes()


def test_exact_products_with_the_hessian_reach_the_method() -> None:
    assert in_graph("trust-constr")[0].nhev > 0
    found, _ = on_tape("Newton-CG")
    # without products it would call the gradient once more for each
    assert found.nhev > found.njev


def problem(tf: Any, x: Any) -> tuple[Any, list[Any], list[Any]]:
    loss = lambda: tf.reduce_sum((x - [1.0, 2.5]) ** 2)  # noqa: E731
    inequalities = [
        lambda: tf.stack([x[0] - 2.0 * x[1] + 2.0, -x[0] - 2.0 * x[1] + 6.0]),
        lambda: 2.0 + 2.0 * x[1] - x[0],
    ]
    return loss, [lambda: x[0] * x[1] - 2.0], inequalities


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr", "COBYLA"])
def test_constraints_of_several_numbers_are_kept(method: str) -> None:
    if method == "COBYLA" and scipy_version.startswith("1.15."):
        pytest.skip("takes no equalities before SciPy 1.16")
    options: dict[str, Any] = {"maxiter": 2000}
    x = tape_api.Variable([2.0, 0.5], dtype=tape_api.float64)
    loss, equal, unequal = problem(tape_api, x)
    minimize(loss, [x], method, equalities=equal, inequalities=unequal, options=options)
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        v = graph_api.Variable([2.0, 0.5], dtype=graph_api.float64)
        session.run(graph_api.global_variables_initializer())
        loss, equal, unequal = problem(graph_api, v)
        minimize(
            loss(), [v], method, equalities=[c() for c in equal], inequalities=[c() for c in unequal], options=options
        )
        a, b = session.run(v)
    assert a * b == pytest.approx(2.0, abs=1e-4)
    assert min(a - 2 * b + 2, -a - 2 * b + 6, 2 + 2 * b - a) > -1e-4
    np.testing.assert_allclose(x.numpy(), [a, b], atol=1e-4)
    # of all points with a b = 2 within the constraints none is nearer to (1, 2.5)
    t = np.linspace(0.1, 6.0, 100_001)
    inside = (t - 4 / t + 2 >= 0) & (-t - 4 / t + 6 >= 0) & (2 + 4 / t - t >= 0)
    best = ((t - 1) ** 2 + (2 / t - 2.5) ** 2)[inside].min()
    assert (a - 1) ** 2 + (b - 2.5) ** 2 == pytest.approx(best, abs=1e-3)


def test_a_constraint_is_differentiated_at_its_own_point_also_after_the_loss_has_moved() -> None:
    # SciPy may ask for the constraint's Jacobian at a point, after the loss was evaluated at another one
    from optim.external import _function, _RecordedVariables

    x = tape_api.Variable([1.0, 2.0], dtype=tape_api.float64)
    one, other = (
        _function(_RecordedVariables(f, [x]), [x.numpy()], "dense") for f in (lambda: x**2, lambda: tape_api.sin(x))
    )
    here, there = np.array([3.0, 4.0]), np.array([0.5, 0.6])
    one.fun(here)
    other.fun(there)
    np.testing.assert_array_equal(one.jac(here), np.diag(2 * here))
    np.testing.assert_array_equal(other.jac(there), np.diag(elementary.cos(there)))


def test_bounds_of_numbers_and_arrays() -> None:
    bound = [(2.0, 5.0), (-np.inf, 0.5), (0.0, 9.0), (-1.0, 9.0)]
    expected = by_hand("L-BFGS-B", bounds=bound).x
    low, high = np.array(bound).T
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x = graph_api.Variable(START)
        session.run(graph_api.global_variables_initializer())
        optimizer = ScipyOptimizerInterface(rosenbrock(graph_api, x), var_to_bounds={x: (low, high)})
        optimizer.minimize(session)
        np.testing.assert_allclose(session.run(x), expected, rtol=1e-5)
    v = tape_api.Variable(START)
    minimize(lambda: rosenbrock(tape_api, v), [v], bounds={v.ref(): (low, high)})
    np.testing.assert_allclose(v.numpy(), expected, rtol=1e-5)


def test_several_variables_of_other_shapes_and_dtypes() -> None:
    def run(tf: Any) -> tuple[Any, Any]:
        return tf.Variable(np.full((2, 3), 5.0, np.float32)), tf.Variable(3.0, dtype=tf.float64)

    def loss(tf: Any, w: Any, b: Any) -> Any:
        return tf.reduce_sum(tf.cast(w, tf.float64) ** 2) + (b - 4.0) ** 2

    with graph_api.Graph().as_default(), graph_api.Session() as session:
        w, b = run(graph_api)
        session.run(graph_api.global_variables_initializer())
        ScipyOptimizerInterface(loss(graph_api, w, b)).minimize(session)
        graph = session.run([w, b])
    v, c = run(tape_api)
    minimize(lambda: loss(tape_api, v, c))
    assert graph[0].dtype == np.float32
    np.testing.assert_equal(graph, (v.numpy(), c.numpy()))
    np.testing.assert_allclose(graph[0], 0.0, atol=1e-5)
    np.testing.assert_allclose(graph[1], 4.0, atol=1e-5)


def test_the_interface_feeds_fetches_and_calls_back() -> None:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x, a = graph_api.Variable(START), graph_api.placeholder(graph_api.float64)
        loss = rosenbrock(graph_api, x - a)
        session.run(graph_api.global_variables_initializer())
        optimizer = ScipyOptimizerInterface(loss, method="L-BFGS-B", options={"maxiter": 5})
        seen: list[Any] = []
        steps: list[np.ndarray] = []
        optimizer.minimize(
            session, {a: 0.0}, [loss, x], lambda p: steps.append(p.copy()), lambda value, at: seen.append((value, at))
        )
        assert len(steps) == 5
        assert len(seen) == by_hand("L-BFGS-B", options={"maxiter": 5}).nfev
        for value, at in seen:
            assert value == pytest.approx(optimize.rosen(at), rel=1e-12)
        assert steps[-1].tobytes() == session.run(x).tobytes()
        # again, from where it stopped, with another feed
        optimizer.minimize(session, {a: 1.0})
        assert session.run(loss, {a: 1.0}) < 10.0


def test_what_goes_wrong_on_the_way_leaves_the_variables_as_they_were() -> None:
    x = tape_api.Variable(START)
    calls = []

    def loss() -> Any:
        calls.append(tape_api.stop_gradient(x).numpy().copy())
        if len(calls) == 4:
            raise KeyboardInterrupt
        return rosenbrock(tape_api, x)

    with pytest.raises(KeyboardInterrupt):
        minimize(loss, [x])
    assert not np.array_equal(calls[-1], START)
    np.testing.assert_array_equal(x.numpy(), START)


def test_bad_calls_are_refused_with_what_is_wrong() -> None:
    x, y = tape_api.Variable(START), tape_api.Variable([1, 2])
    with pytest.raises(ValueError, match="must be a scalar, got 4 numbers"):
        minimize(lambda: x * 2.0, [x])
    with pytest.raises(ValueError, match="depends on none of the variables"):
        minimize(lambda: tape_api.constant(1.0), [x])
    with pytest.raises(TypeError, match="real and floating"):
        minimize(lambda: x[0], [y])
    with pytest.raises(ValueError, match="not among the variables"):
        minimize(lambda: x[0], [x], bounds={tape_api.Variable(1.0).ref(): (0, 1)})
    with pytest.raises(ValueError, match=r"must be a pair \(lower, upper\)"):
        minimize(lambda: x[0], [x], bounds={x.ref(): (0, [1, 2, 3])})
    with pytest.raises(ValueError, match="are for tensors of a graph"):
        minimize(lambda: x[0], [x], session=1)
    with pytest.raises(TypeError, match="callables or tensors"):
        minimize(1.0, [x])
    with graph_api.Graph().as_default():
        v = graph_api.Variable(1.0)
        with pytest.raises(ValueError, match="var_to_bounds"):
            ScipyOptimizerInterface(v * v, bounds=[(0, 1)])
        with pytest.raises(ValueError, match="'jac' is set automatically"):
            ScipyOptimizerInterface(v * v, jac=True)
        with pytest.raises(ValueError, match="No default session is registered"):
            ScipyOptimizerInterface(v * v).minimize()
        with pytest.raises(TypeError, match="tensors of a graph"):
            ScipyOptimizerInterface(lambda: v * v)
    np.testing.assert_array_equal(x.numpy(), START)


def test_a_callback_gets_what_is_fetched_in_both_modes() -> None:
    """After each evaluation, at its point: the same arrays, also where the loss itself is run without Python."""
    start = np.array([7.0, -3.0], np.float32)
    told: dict[str, list[Any]] = {"graph": [], "tape": []}
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x = graph_api.Variable(start)
        loss = graph_api.reduce_sum((x - 1.0) ** 4)
        session.run(x.initializer)
        minimize(loss, [x], session=session, fetches=[loss, x], loss_callback=lambda *got: told["graph"].append(got))
    v = tape_api.Variable(start)

    def loss_of() -> Any:
        return tape_api.reduce_sum((v - 1.0) ** 4)

    minimize(loss_of, [v], fetches=lambda: [loss_of(), v], loss_callback=lambda *got: told["tape"].append(got))
    assert len(told["tape"]) == len(told["graph"]) > 5
    for ours, theirs in zip(told["tape"], told["graph"], strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))
    assert not np.array_equal(told["tape"][0][1], told["tape"][-1][1])
