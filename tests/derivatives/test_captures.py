"""What a body takes from around it is an operand like any other, whatever it is, in both modes.

A table: every function that takes a body, times every kind of value that the body may capture.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from tests.support import noted

Program = Callable[[Any, Any, Any], Any]


# ---- the functions; `tf` is either front end, `x` and what is captured have the shape (3,) ---------------------------


def returned_as_it_is(tf: Any, x: Any, c: Any) -> Any:
    """A body returns what it captures, one value twice, and loop variables in another order."""

    def body(i: Any, a: Any, b: Any, d: Any) -> Any:
        new = tf.sin(a * b) + a * d
        return i + 1, tf.cond(tf.equal(i, 1), lambda: c, lambda: new), new, b

    found = tf.while_loop(lambda i, *_: i < 4, body, (tf.constant(0), c, c, x))
    return found[1] * found[2] * found[3] + tf.map_fn(lambda row: c, x)[0] * c


def handed_on(tf: Any, x: Any, c: Any) -> Any:
    """Branches return what they capture, one of them twice, between other uses of it."""
    sure = tf.reduce_sum(x) > 0.0
    before = tf.sin(c) * x
    a, b = tf.cond(sure, lambda: (c, c), lambda: (x, x))
    d = tf.case([(tf.logical_not(sure), lambda: x)], default=lambda: c)
    e = tf.switch_case(tf.cast(sure, tf.int32), [lambda: x, lambda: c])
    return before * c + a * a * b + tf.exp(c * d) * e / 3.0 + c


def nested(tf: Any, x: Any, c: Any) -> Any:
    """A choice in a loop in a scan; each captures."""

    def step(total: Any, row: Any) -> Any:
        def body(i: Any, v: Any) -> Any:
            return i + 1, tf.cond(row > 0.5, lambda: tf.sin(v * c), lambda: v + c * row)

        return tf.while_loop(lambda i, v: i < 2, body, (tf.constant(0), total * c))[1]

    return tf.scan(step, x, initializer=c) + c


def custom_gradient(tf: Any, x: Any, c: Any) -> Any:
    """The rule captures, inside a body and outside; its second derivative is that of the rule."""

    @tf.custom_gradient
    def cube(v: Any) -> Any:
        square = v * v
        return square * v, lambda ct: ct * square * c

    return cube(x) + tf.cond(tf.reduce_sum(x) > 0.0, lambda: cube(x * c), lambda: x)


def custom_gradient_in_loop(tf: Any, x: Any, c: Any) -> Any:
    @tf.custom_gradient
    def bent(v: Any) -> Any:
        inner = tf.sin(v)
        return inner, lambda ct: ct * inner * c

    return tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, bent(v * c)), (tf.constant(0), x))[1] * c


PROGRAMS: dict[str, Program] = {
    "cond": lambda tf, x, c: c * x + tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.sin(c * x) * c, lambda: x),
    "other branch": lambda tf, x, c: tf.cond(tf.reduce_sum(x) < 0.0, lambda: x * 2.0, lambda: c * x * c) + c,
    "case": lambda tf, x, c: (
        tf.case([(tf.reduce_sum(x) < 0.0, lambda: x), (tf.reduce_sum(x) < 100.0, lambda: c * c * x)], default=lambda: c)
        * c
    ),
    "while_loop": lambda tf, x, c: (
        tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.sin(v * c) + c), (tf.constant(0), x))[1] * c
    ),
    # the condition captures as well
    "condition": lambda tf, x, c: tf.while_loop(
        lambda v, w: tf.reduce_sum(v) < tf.reduce_sum(c) * 5.0, lambda v, w: (v * 1.5 + c, w * v), (x, c)
    )[1],
    # what is captured is also where a loop variable starts
    "unused carry": lambda tf, x, c: tf.while_loop(
        lambda i, v: i < 3, lambda i, v: (i + 1, v * c + x), (tf.constant(0), c)
    )[1],
    "map_fn": lambda tf, x, c: tf.map_fn(lambda row: tf.sin(row * c) * c, x) + c,
    "scan": lambda tf, x, c: tf.scan(lambda total, row: tf.sin(total) * c + row, x, initializer=c * 0.5),
    "foldl": lambda tf, x, c: tf.foldl(lambda total, row: tf.tanh(total * c) + row * c, x, initializer=c) * c,
    "foldr": lambda tf, x, c: tf.foldr(lambda total, row: total * c + row, x, initializer=c * 2.0),
    "stacked and carried": lambda tf, x, c: tf.scan(
        lambda total, row: total * total * c + tf.sin(total) * row, x, initializer=x
    ),
    **{f.__name__: f for f in (returned_as_it_is, handed_on, nested, custom_gradient, custom_gradient_in_loop)},
}
KINDS = ("constant", "variable", "tensor", "placeholder")

X = np.array([0.4, 0.7, 0.9])
C = np.array([1.1, 0.8, 1.3])
AT = np.array([0.9, 1.2, 0.7])


# ---- what is asked of each -------------------------------------------------------------------------------------------


def asked(api: Any, program: Program, gradients: Any, jacobian: Any, x: Any, c: Any) -> list[Any]:
    """Value, gradients, gradients of gradients, and the Jacobian with respect to what is captured."""
    y = program(api, x, c)
    first = gradients(y, [x, c])
    second = gradients([g * g for g in first], [x, c])
    return [y, *first, *second, jacobian(y, c)]


def in_graph(program: Program, kind: str, fed: bool) -> list[Any]:
    """From a graph where what is captured is of a kind; if `fed`, it holds something else and is fed."""
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x = graph_api.placeholder("float64", [3])
        held = AT if fed else C
        feed: dict[Any, Any] = {x: X}
        c: Any
        if kind == "constant":
            c = graph_api.constant(held)
        elif kind == "variable":
            c = graph_api.Variable(held)
        elif kind == "tensor":
            c = graph_api.constant(held) + graph_api.constant(0.0, "float64")
        else:
            c = graph_api.placeholder_with_default(held, [3])
        if fed:
            feed[c] = C
        zero = {"unconnected_gradients": "zero"}
        got = asked(
            graph_api,
            program,
            lambda y, xs: graph_api.gradients(y, xs, **zero),
            lambda y, v: graph_api.jacobian(y, v, **zero),
            x,
            c,
        )
        session.run(graph_api.global_variables_initializer())
        return session.run(got, feed)  # type: ignore[no-any-return]


def on_tape(program: Program, kind: str) -> list[Any]:
    x = tape_api.constant(X)
    c: Any = tape_api.Variable(C) if kind == "variable" else tape_api.constant(C)
    with tape_api.GradientTape(persistent=True) as outer:
        outer.watch([x, c])
        with tape_api.GradientTape(persistent=True) as inner:
            inner.watch([x, c])
            used = c + 0.0 if kind == "tensor" else c
            y = program(tape_api, x, used)
        first = inner.gradient(y, [x, c], unconnected_gradients="zero")
        squares = [g * g for g in first]
    second = outer.gradient(squares, [x, c], unconnected_gradients="zero")
    jacobian = inner.jacobian(y, c, unconnected_gradients="zero")
    return [np.asarray(v) for v in (y, *first, *second, jacobian)]


NAMES = ("value", "d/dx", "d/dc", "second d/dx", "second d/dc", "jacobian")


def assert_same(got: Sequence[Any], expected: Sequence[Any]) -> None:
    for name, g, e in zip(NAMES, got, expected, strict=True):
        if name == "value" or name.startswith("d/"):
            np.testing.assert_array_equal(g, e, err_msg=name)
        np.testing.assert_allclose(g, e, rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_what_a_body_captures_is_an_operand(program: Program, kind: str) -> None:
    expected = on_tape(program, kind)
    for fed in (False, True):
        with noted("the value fed" if fed else "the value as it is"):
            assert_same(in_graph(program, kind, fed), expected)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if "custom" not in name])
def test_derivatives_by_a_captured_constant_are_right(name: str) -> None:
    program = PROGRAMS[name]
    jacobian = in_graph(program, "constant", False)[NAMES.index("jacobian")]
    step = 1e-6
    columns = []
    for e in np.eye(3) * step:
        ends = [program(tape_api, tape_api.constant(X), tape_api.constant(C + s * e)).numpy() for s in (1, -1)]
        columns.append((ends[0] - ends[1]) / (2 * step))
    np.testing.assert_allclose(jacobian, np.stack(columns, -1), rtol=1e-6, atol=1e-7)


def test_a_constant_made_in_a_body_is_known_outside() -> None:
    made = []

    def body(i: Any, v: Any) -> Any:
        made.append(graph_api.constant(2.0))
        return i + 1, v * made[0]

    with graph_api.Graph().as_default(), graph_api.Session() as session:
        y = graph_api.while_loop(lambda i, v: i < 3, body, (0, graph_api.constant(3.0)))[1]
        (first,) = graph_api.gradients(y, made[0])
        (second,) = graph_api.gradients(first, made[0])
        assert session.run([made[0], y, first, second]) == [2.0, 24.0, 36.0, 36.0]
        assert session.run([y, first], {made[0]: 1.0}) == [3.0, 9.0]


def test_stop_gradients_of_what_is_captured() -> None:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x, c = graph_api.constant(3.0), graph_api.constant(2.0)
        z = c * x + graph_api.cond(x > 0.0, lambda: c * x, lambda: x)
        assert session.run(graph_api.gradients(z, [x, c])) == [4.0, 6.0]
        middle = c * 1.0
        y = graph_api.cond(x > 0.0, lambda: middle * x, lambda: x)
        assert graph_api.gradients(y, c, stop_gradients=[middle]) == [None]


def test_shapes_axes_and_limits_that_are_captured_are_known_and_can_be_fed() -> None:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x = graph_api.placeholder("float64", [2, 3])
        shape, axes, limit = graph_api.constant([3, 2]), graph_api.constant([1, 0]), graph_api.constant(3)
        y = graph_api.cond(x[0, 0] > 0.0, lambda: graph_api.transpose(x, axes), lambda: graph_api.reshape(x, shape))
        z = graph_api.map_fn(lambda row: graph_api.reshape(row, [-1, limit])[0], x)
        assert y.shape.as_list() == [3, 2] and z.shape.as_list() == [2, 3]
        w = graph_api.cond(x[0, 0] > 0.0, lambda: graph_api.reshape(x, shape), lambda: graph_api.reshape(x, shape))
        assert session.run(w, {x: np.ones((2, 3)), shape: [6, 1]}).shape == (6, 1)
        n = graph_api.while_loop(lambda i: i < limit, lambda i: i + 1, [0])
        assert session.run(n) == 3 and session.run(n, {limit: 5}) == 5


def test_gradients_taken_inside_a_body_with_respect_to_what_it_captures() -> None:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x, c = graph_api.constant(3.0), graph_api.constant(2.0)

        def body(i: Any, v: Any) -> Any:
            return i + 1, graph_api.gradients(v * c * c, c)[0] + graph_api.gradients(v * v * c, v)[0]

        y = graph_api.while_loop(lambda i, v: i < 2, body, (0, x))[1]
        assert session.run([y, *graph_api.gradients(y, [x, c])]) == [192.0, 64.0, 192.0]


def derivative_on_a_tape(a: Any, x: Any) -> Any:
    with tape_api.GradientTape() as tape:
        tape.watch(a)
        y = a * a * x
    return tape.gradient(y, a)


@pytest.mark.parametrize("loop", ["while_loop", "foldl", "scan"])
@pytest.mark.parametrize("watched", [False, True])
def test_a_tape_in_a_body_does_not_watch_what_the_loop_began_with(loop: str, watched: bool) -> None:
    """A loop variable is a value of its own, although it begins as the very tensor that the body captures."""

    def steps(tf: Any, x: Any, derivative: Callable[[Any], Any]) -> Any:
        if loop == "while_loop":
            return tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, derivative(a)), (0, x))[1]
        return getattr(tf, loop)(lambda a, row: derivative(a), tf.constant([0.0, 0.0]), initializer=x)

    def on_tape() -> Any:
        tf = tape_api
        x = tf.constant([1.5, -2.0])

        if not watched:
            return steps(tf, x, lambda a: derivative_on_a_tape(a, x)).numpy()
        with tf.GradientTape() as outer:
            outer.watch(x)
            return steps(tf, x, lambda a: derivative_on_a_tape(a, x)).numpy()

    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x = graph_api.constant([1.5, -2.0])
        found = session.run(steps(graph_api, x, lambda a: graph_api.gradients(a * a * x, a)[0]))
    assert np.array_equal(on_tape(), found)
    assert np.array_equal(found.reshape(-1, 2)[-1], 4 * np.array([1.5, -2.0]) ** 3)


@pytest.mark.parametrize("tapes", [0, 1])
def test_a_tape_in_a_step_does_not_watch_what_the_step_before_returned(tapes: int) -> None:
    """The first step returns what is captured; the first tape is started in the second one."""
    tf, x = tape_api, tape_api.constant([1.5, -2.0])

    def steps() -> list[Any]:
        def step(a: Any, i: Any) -> Any:
            return derivative_on_a_tape(a, x) if int(i) else x

        rows = tf.constant([0, 1])
        return [
            tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, step(a, i)), (0, x))[1],
            tf.foldl(step, rows, initializer=x),
            tf.scan(step, rows, initializer=x)[1],
        ]

    with ExitStack() as stack:
        for _ in range(tapes):
            stack.enter_context(tf.GradientTape()).watch(x)
        found = steps()
    for result in found:
        assert np.array_equal(result, [4.5, 8.0])


# ---- the results of branches -----------------------------------------------------------------------------------------


def by_cond(tf: Any, c: Any) -> Any:
    return tf.cond(tf.reduce_sum(c) > 0.0, lambda: c, lambda: -c)


def by_case(tf: Any, c: Any) -> Any:
    return tf.case([(tf.reduce_sum(c) > 0.0, lambda: c)], default=lambda: -c)


def by_switch_case(tf: Any, c: Any) -> Any:
    return tf.switch_case(tf.cast(tf.reduce_sum(c) > 0.0, tf.int32), [lambda: -c, lambda: c])


def by_nested_branches(tf: Any, c: Any) -> Any:
    return tf.cond(tf.reduce_sum(c) > 0.0, lambda: by_cond(tf, c), lambda: -c)


def by_custom_gradient(tf: Any, c: Any) -> Any:
    @tf.custom_gradient
    def tenfold(v: Any) -> Any:
        return v, lambda ct: ct * 10.0

    return tf.cond(tf.reduce_sum(c) > 0.0, lambda: tenfold(c), lambda: -c)


RESULTS = (by_cond, by_case, by_switch_case, by_nested_branches, by_custom_gradient)


@pytest.mark.parametrize("kind", ["tensor", "variable"])
@pytest.mark.parametrize("chosen", RESULTS, ids=lambda p: p.__name__)
def test_the_result_of_a_branch_is_another_value_than_what_it_returns(chosen: Program, kind: str) -> None:
    """Derivatives by either, of both orders, and None where nothing leads: as in a graph, to the bit."""
    values = np.array([0.3, 1.7, 2.9], np.float32)

    def of(tf: Any, c: Any) -> Any:
        early = tf.exp(c)
        r = chosen(tf, c)
        return early, r, early * r / 3.0 + r * r * c + tf.sin(c) * c

    tf = tape_api
    c = tf.Variable(values) if kind == "variable" else tf.constant(values)
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(c)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(c)
            early, r, y = of(tf, c)
        first = tape.gradient(y, [c, r])
        assert tape.gradient(early, r) is None
        assert all(np.array_equal(a, b) for a, b in zip(first, tape.gradient(y, [c, r]), strict=True))
        squares = [g * g for g in first]
    second = [outer.gradient(s, x) for s in squares for x in (c, r)]
    one_by_one = [tape.gradient(y, x) for x in (c, r)]

    with graph_api.Graph().as_default(), graph_api.Session() as session:
        c = graph_api.Variable(values) if kind == "variable" else graph_api.placeholder("float32", [3])
        early, r, y = of(graph_api, c)
        assert graph_api.gradients(early, r) == [None]
        expected = graph_api.gradients(y, [c, r])
        later = [graph_api.gradients(g * g, x)[0] for g in expected for x in (c, r)]
        assert [g is None for g in later] == [g is None for g in second]
        session.run(graph_api.global_variables_initializer())
        expected, later = session.run([expected, later], {} if kind == "variable" else {c: values})
    for got, alone, e in zip(first, one_by_one, expected, strict=True):
        assert np.asarray(got).tobytes() == e.tobytes() == np.asarray(alone).tobytes()
    for got, e in zip(second, later, strict=True):
        np.testing.assert_allclose(got, e, rtol=2e-6)


def test_a_variable_that_a_branch_returns_is_read() -> None:
    for tf, dtype in [(tf, dtype) for tf in (tape_api, graph_api) for dtype in ("float64", "int64")]:
        with graph_api.Graph().as_default(), graph_api.Session() as session:
            v = tf.Variable(np.array(3, dtype))
            if tf is graph_api:
                session.run(v.initializer)
            y = tf.cond(tf.constant(True), lambda v=v: v, lambda v=v: v + v)
            with graph_api.control_dependencies([y] if tf is graph_api else []):
                after = v.assign_add(np.array(1, dtype))
            both = y + 0, after + 0
            assert [int(x) for x in (session.run(both) if tf is graph_api else both)] == [3, 4]
