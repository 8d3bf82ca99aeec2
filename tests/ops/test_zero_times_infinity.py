"""Zeros that meet infinite partial derivatives: what was not chosen gets exactly 0, what was computed the truth or NaN.

An element that was not chosen (`where`, `maximum`, `relu`, a clip, a mask, a slice, a zero in a seed) has derivative 0
whatever the partial derivatives behind it are. A zero that was computed, as the derivative of `exp` at minus infinity
is, says nothing of that kind: times an infinity it is NaN, or what a rule knows to be right. All modes agree in this,
so that forward and reverse walks are adjoint to each other, NaN included.
"""

import functools
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from tests.fuzz.execute import replayed_at_once
from tests.singular_idioms import COMPUTED, ELEMENTWISE, IDIOMS, Idiom
from tests.support import noted
from tests.tapes import gradient_in, watching

every_idiom = pytest.mark.parametrize("idiom", IDIOMS, ids=lambda idiom: idiom.name)


# ---- what is expected ------------------------------------------------------------------------------------------------


def dense(found: Any) -> np.ndarray:
    return np.asarray(tape_api.convert_to_tensor(found))


@functools.cache
def expected(idiom: Idiom) -> tuple[np.ndarray, np.ndarray]:
    """The Jacobian, and where NaN may stand in it: in each row that depends on such an element."""
    x = tape_api.constant(idiom.at, tape_api.float64)
    with tape_api.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tape_api.reshape(tape_api.convert_to_tensor(idiom.same(tape_api, x)), [-1])
        parts = [y[i] for i in range(y.shape[0])]
    jacobian = np.array([dense(tape.gradient(p, x, unconnected_gradients="zero")) for p in parts])
    allowed = np.zeros(jacobian.shape, bool)
    allowed[:, list(idiom.nan)] = True
    # what belongs to other elements alone is structurally zero
    return jacobian, allowed & ((jacobian != 0) | (len(jacobian) == 1) | _own_row(idiom, jacobian.shape))


def _own_row(idiom: Idiom, shape: tuple[int, ...]) -> np.ndarray:
    """Entries that may be a computed zero: all but those off the diagonal of an elementwise function."""
    return np.eye(*shape, dtype=bool) if shape[0] == shape[1] else np.ones(shape, bool)


def check(found: Any, jacobian: np.ndarray, allowed: np.ndarray) -> None:
    found = np.asarray(found, np.float64).reshape(jacobian.shape)
    fine = np.isclose(found, jacobian, rtol=1e-7, atol=1e-9) & ((jacobian != 0) | allowed | (found == 0))
    wrong = ~(fine | (np.isnan(found) & allowed))
    assert not wrong.any(), f"got {found.tolist()}, the truth is {jacobian.tolist()}, NaN allowed: {allowed.tolist()}"


def check_reverse(found: Any, seed: np.ndarray, idiom: Idiom) -> None:
    """A vector-Jacobian product: what has the seed 0 adds nothing."""
    jacobian, allowed = expected(idiom)
    rows = seed != 0
    check(found, seed[rows] @ jacobian[rows], allowed[rows].any(0))


def check_forward(found: Any, tangent: np.ndarray, idiom: Idiom) -> None:
    jacobian, allowed = expected(idiom)
    columns = tangent != 0
    check(found, jacobian[:, columns] @ tangent[columns], allowed[:, columns].any(1))


@pytest.mark.parametrize("idiom", COMPUTED, ids=lambda idiom: idiom.name)
def test_the_two_functions_of_an_idiom_are_one_where_nothing_is_singular(idiom: Idiom) -> None:
    hessians = []
    for fn in (idiom.fn, idiom.same):
        x = tape_api.constant([0.3, 0.7], tape_api.float64)
        with tape_api.GradientTape() as tape:
            tape.watch(x)
            y = tape_api.reduce_sum(fn(tape_api, x)) ** 2
        hessians.append(np.asarray(tape.hessian(y, x)))
    np.testing.assert_allclose(*hessians, rtol=1e-9, atol=1e-9)


# ---- the ways to differentiate ---------------------------------------------------------------------------------------


def point(idiom: Idiom) -> np.ndarray:
    return np.array(idiom.at)


def taped(idiom: Idiom, x: Any) -> tuple[Any, Any]:
    tape, y = watching(
        x, lambda: tape_api.reshape(tape_api.convert_to_tensor(idiom.fn(tape_api, x)), [-1]), persistent=True
    )
    return tape, y


def seeds(idiom: Idiom) -> list[np.ndarray]:
    """Cotangents: ordinary ones, and one that is 0 but for one element."""
    m = len(expected(idiom)[0])
    return [np.ones(m), np.arange(1.0, m + 1), *np.eye(m)]


def tangents(idiom: Idiom) -> list[np.ndarray]:
    n = len(idiom.at)
    return [np.ones(n), np.arange(1.0, n + 1), *np.eye(n)]


def gradient(idiom: Idiom, x: Any, seed: Any) -> Any:
    tape, y = taped(idiom, x)
    return tape.gradient(y, x, output_gradients=seed, unconnected_gradients="zero")


def derivative(idiom: Idiom, x: Any, tangent: Any) -> Any:
    tape, y = taped(idiom, x)
    return tape.jvp(y, x, tangent)


@every_idiom
def test_gradients_and_tangents_on_a_tape(idiom: Idiom) -> None:
    for seed in seeds(idiom):
        found = gradient(idiom, tape_api.constant(point(idiom)), tape_api.constant(seed))
        check_reverse(tape_api.convert_to_tensor(found), seed, idiom)
    for tangent in tangents(idiom):
        found = derivative(idiom, tape_api.constant(point(idiom)), tape_api.constant(tangent))
        check_forward(found, tangent, idiom)


@every_idiom
def test_the_gradient_by_a_walk_that_is_replayed(idiom: Idiom) -> None:
    with replayed_at_once():
        for seed in seeds(idiom) * 2:
            found = gradient(idiom, tape_api.constant(point(idiom)), tape_api.constant(seed))
            check_reverse(tape_api.convert_to_tensor(found), seed, idiom)


@every_idiom
def test_the_gradient_while_an_outer_tape_watches(idiom: Idiom) -> None:
    for seed in seeds(idiom):
        x = tape_api.constant(point(idiom))
        with tape_api.GradientTape() as outer:
            outer.watch(x)
            found = gradient(idiom, x, tape_api.constant(seed))
        check_reverse(tape_api.convert_to_tensor(found), seed, idiom)


@every_idiom
def test_gradients_and_tangents_in_a_function(idiom: Idiom) -> None:
    function = tape_api.function(lambda x, seed: tape_api.convert_to_tensor(gradient(idiom, x, seed)))
    for seed in seeds(idiom) * 2:
        check_reverse(function(tape_api.constant(point(idiom)), tape_api.constant(seed)), seed, idiom)
    function = tape_api.function(lambda x, t: derivative(idiom, x, t))
    for tangent in tangents(idiom) * 2:
        check_forward(function(tape_api.constant(point(idiom)), tape_api.constant(tangent)), tangent, idiom)


@every_idiom
def test_the_gradient_of_a_function(idiom: Idiom) -> None:
    function = tape_api.function(lambda x: tape_api.reshape(idiom.fn(tape_api, x), [-1]))
    for seed in seeds(idiom) * 2:
        x = tape_api.constant(point(idiom))
        with tape_api.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        found = tape.gradient(y, x, output_gradients=tape_api.constant(seed), unconnected_gradients="zero")
        check_reverse(tape_api.convert_to_tensor(found), seed, idiom)


@pytest.mark.parametrize("known", [True, False], ids=["shape known", "shape unknown"])
@every_idiom
def test_gradients_and_tangents_in_a_graph(idiom: Idiom, known: bool) -> None:
    tf, n = graph_api, len(idiom.at)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [n] if known else [None])
        seed, tangent = tf.placeholder(tf.float64, [None]), tf.placeholder(tf.float64, [n] if known else [None])
        y = tf.reshape(idiom.fn(tf, x), [-1])
        (g,) = tf.gradients(y, x, seed, unconnected_gradients="zero")
        g, t = tf.convert_to_tensor(g), tf.jvp(y, x, tangent)
        for given in seeds(idiom):
            check_reverse(session.run(g, {x: point(idiom), seed: given}), given, idiom)
        for given in tangents(idiom):
            check_forward(session.run(t, {x: point(idiom), tangent: given}), given, idiom)


PLANS = [(format, mode) for format in ("dense", "csr") for mode in ("auto", "forward", "reverse")]


@every_idiom
def test_jacobians_on_a_tape(idiom: Idiom) -> None:
    x = tape_api.constant(point(idiom))
    for format, mode in PLANS * 2:
        tape, y = taped(idiom, x)
        found = tape.jacobian(y, x, format=format, mode=mode, unconnected_gradients="zero")
        with noted((format, mode)):
            check(found.toarray() if format == "csr" else found, *expected(idiom))


@every_idiom
def test_jacobians_in_a_graph(idiom: Idiom) -> None:
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [len(idiom.at)])
        y = tf.reshape(idiom.fn(tf, x), [-1])
        for format, mode in PLANS:
            jacobian = tf.jacobian(y, x, format=format, mode=mode, unconnected_gradients="zero")
            found = session.run(jacobian, {x: point(idiom)})
            with noted((format, mode)):
                check(found.toarray() if format == "csr" else found, *expected(idiom))


@every_idiom
def test_operators(idiom: Idiom) -> None:
    tape, y = taped(idiom, x := tape_api.constant(point(idiom)))
    operator = tape.jacobian(y, x, format="operator")
    for tangent in tangents(idiom):
        check_forward(operator @ tangent, tangent, idiom)
    for seed in seeds(idiom):
        check_reverse(operator.T @ seed, seed, idiom)
    jacobian, allowed = expected(idiom)
    check(operator @ np.eye(jacobian.shape[1]), jacobian, allowed)
    check(operator.T @ np.eye(jacobian.shape[0]), jacobian.T, allowed.T)


@every_idiom
def test_forward_and_reverse_are_adjoint_nan_included(idiom: Idiom) -> None:
    jacobian, _ = expected(idiom)
    m, n = jacobian.shape
    v, w = np.linspace(0.5, 1.5, n), np.linspace(2.0, 1.0, m)
    x = tape_api.constant(point(idiom))
    tape, y = taped(idiom, x)
    forward = np.asarray(tape.jvp(y, x, tape_api.constant(v)))
    reverse = np.asarray(tape_api.convert_to_tensor(tape.gradient(y, x, tape_api.constant(w), "zero")))
    np.testing.assert_allclose(w @ forward, reverse @ v, rtol=1e-7, atol=1e-9)
    operator = tape.jacobian(y, x, format="operator")
    np.testing.assert_array_equal(np.isnan(operator @ v), np.isnan(forward))
    np.testing.assert_array_equal(np.isnan(operator.T @ w), np.isnan(reverse))


# ---- numbers instead of vectors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("idiom", ELEMENTWISE, ids=lambda idiom: idiom.name)
def test_a_single_number_forward_and_reverse(idiom: Idiom) -> None:
    truth, x = expected(idiom)[0][0, 0], tape_api.constant(0.0, tape_api.float64)
    tape, y = watching(x, lambda: idiom.fn(tape_api, x), persistent=True)
    found = [tape.gradient(y, x), tape.jvp(y, x, tape_api.ones_like(x)), tape.jacobian(y, x)]
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        s = graph_api.placeholder(graph_api.float64, [])
        y = idiom.fn(graph_api, s)
        wanted = [graph_api.gradients(y, s)[0], graph_api.jvp(y, s, graph_api.ones_like(s)), graph_api.jacobian(y, s)]
        found += session.run(wanted, {s: 0.0})
    for each in found:
        check(each, np.array(truth), np.array(True))


@pytest.mark.parametrize(
    "power", [lambda v: v**2, lambda v: tape_api.square(v), lambda v: v * v], ids=["**", "square", "*"]
)
def test_a_power_of_a_root_has_no_tangent_where_it_has_no_value(power: Any) -> None:
    x = tape_api.constant([4.0, -2.0], tape_api.float64)
    tape, y = watching(x, lambda: power(tape_api.sqrt(x)), persistent=True)
    for found in (
        tape.gradient(y, x),
        tape.jvp(y, x, tape_api.ones_like(x)),
        tape_api.reduce_sum(tape.jacobian(y, x), 1),
    ):
        np.testing.assert_allclose(found, [1.0, np.nan])


# ---- second derivatives ----------------------------------------------------------------------------------------------


@functools.cache
def expected_hessian(idiom: Idiom) -> np.ndarray:
    x = tape_api.constant(idiom.at, tape_api.float64)
    return np.asarray(gradient_in(x, lambda: tape_api.reduce_sum(idiom.same(tape_api, x)), method="hessian"))


def check_second(found: Any, hessian: np.ndarray, allowed: np.ndarray) -> None:
    """At a singular point that was not passed by, nothing finite but the truth."""
    found = np.asarray(found, np.float64).reshape(hessian.shape)
    fine = np.isclose(found, hessian, rtol=1e-6, atol=1e-8)
    wrong = ~(fine | (~np.isfinite(found) & allowed))
    assert not wrong.any(), f"got {found.tolist()}, the truth is {hessian.tolist()}, NaN allowed: {allowed.tolist()}"


@every_idiom
def test_second_derivatives(idiom: Idiom) -> None:
    hessian = expected_hessian(idiom)
    n = len(idiom.at)
    near = np.zeros(n, bool)
    near[list(idiom.nan)] = True
    allowed = near[:, None] | near
    x = tape_api.constant(point(idiom))
    tape, y = watching(x, lambda: tape_api.reduce_sum(idiom.fn(tape_api, x)), persistent=True)
    check_second(tape.hessian(y, x), hessian, allowed)
    v = np.linspace(0.5, 1.5, n)
    check_second(tape.hvp(y, x, tape_api.constant(v)), hessian @ v, near | near.any())
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        s = graph_api.placeholder(graph_api.float64, [n])
        y = graph_api.reduce_sum(idiom.fn(graph_api, s))
        found = session.run(graph_api.hessian(y, s), {s: point(idiom)})
    check_second(found, hessian, allowed)


def test_masks_that_are_ones_and_zeros_are_not_made_so_again() -> None:
    tf = graph_api
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float64, [9])
        y = x
        for _ in range(4):
            y = y + tf.concat([x[:1], x[1:] * y[:-1]], 0)
        # the seed is compared with zero, and nothing behind it
        tf.gradients(y[-1], x)
        assert sum(op.type == "NotEqual" for op in graph.get_operations()) <= 1


# ---- loops and branches ----------------------------------------------------------------------------------------------

FLOWS = {
    "cond": lambda tf, f, x: tf.cond(tf.reduce_sum(x) > 1.0, lambda: f(x), lambda: x),
    "map_fn": lambda tf, f, x: tf.map_fn(f, x),
    "scan": lambda tf, f, x: tf.scan(lambda a, e: f(e) + tf.zeros_like(a), x, tf.constant(1.0, tf.float64)),
    "while_loop": lambda tf, f, x: tf.while_loop(lambda i, v: i < 1, lambda i, v: (i + 1, f(v)), (0, x))[1],
    "growing": lambda tf, f, x: tf.while_loop(
        lambda i, v: i < 1,
        lambda i, v: (i + 1, tf.concat([f(v), [1.0]], 0)),
        (0, x),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])),
    )[1],
}
AROUND = {
    "sqrt, square": (lambda tf, v: tf.sqrt(v), lambda tf, v: v**2),
    "log, exp": (lambda tf, v: tf.math.log(v), lambda tf, v: tf.exp(v)),
}
every_flow = pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS)
every_pair = pytest.mark.parametrize(("inner", "outer"), AROUND.values(), ids=AROUND)


@every_flow
@every_pair
def test_a_computed_zero_stays_a_number_in_loops_and_branches(inner: Any, outer: Any, flow: Any) -> None:
    def fn(tf: Any, x: Any) -> Any:
        return outer(tf, flow(tf, lambda v: inner(tf, v), x))

    def derivatives(x: Any) -> Any:
        return gradient_in(x, lambda: fn(tape_api, x))

    at = np.array([0.0, 4.0])
    function = tape_api.function(derivatives)
    found = [function(tape_api.constant(at)) for _ in range(3)]
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        s = graph_api.placeholder(graph_api.float64, [2])
        found += session.run(graph_api.gradients(fn(graph_api, s), s), {s: at})
    for each in found:
        check(each, np.ones(2), np.array([True, False]))


def test_what_a_step_did_not_choose_stays_zero_in_the_steps_before() -> None:
    def fn(tf: Any, x: Any) -> Any:
        # the step before divides by zero what relu does not choose
        return tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, tf.sqrt(tf.nn.relu(v - 1.0))), (0, x))[1] ** 2

    with graph_api.Graph().as_default(), graph_api.Session() as session:
        s = graph_api.placeholder(graph_api.float64, [3])
        (g,) = session.run(graph_api.gradients(fn(graph_api, s), s), {s: [1.0, 2.0, 10.0]})
    check(g, np.array([0.0, 0.0, 1 / 6]), np.array([True, True, False]))


def test_tangents_that_are_zero_are_numbers_in_loops() -> None:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        s = graph_api.placeholder(graph_api.float64, [2])
        y = graph_api.map_fn(lambda v: graph_api.sqrt(graph_api.sqrt(v)), s * s)
        t = session.run(graph_api.jvp(y, s, graph_api.ones_like(s)), {s: [0.0, 4.0]})
    check(t, np.array([np.inf, 0.25]), np.array([True, False]))
