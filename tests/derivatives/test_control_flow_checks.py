"""What control flow refuses, and when: `case`, assertions, structures of branches and bodies, in both modes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.runtime.errors import DTypeError, InvalidArgumentError, ShapeError
from tests.tapes import gradient_in

MODES = ("graph", "tape")


def run(mode: str, program: Callable[[Any, Any], Any], x: float = 3.0) -> Any:
    """The result of ``program(api, x)``."""
    if mode == "tape":
        return tape_api.nest.map_structure(lambda t: t.numpy(), program(tape_api, tape_api.constant(x)))
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        given = graph_api.placeholder(graph_api.float32, [])
        return session.run(program(graph_api, given), {given: x})


# ---- case ------------------------------------------------------------------------------------------------------------


def ranges(count: int, **options: Any) -> Callable[[Any, Any], Any]:
    """``x < 0``, ``x < 1``, ... as conditions; the k-th function gives ``x * (k + 10)``."""

    def function(x: Any, k: int) -> Callable[[], Any]:
        return lambda: x * (k + 10.0)

    return lambda tf, x: tf.case([(x < float(k), function(x, k)) for k in range(count)], **options)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_case_without_default_needs_a_condition_that_holds(mode: str, count: int, exclusive: bool) -> None:
    with pytest.raises(InvalidArgumentError, match="none of the conditions holds"):
        run(mode, ranges(count, exclusive=exclusive))
    assert run(mode, ranges(count, exclusive=exclusive), count - 1.5) == (count - 1.5) * (count + 9.0)


@pytest.mark.parametrize("mode", MODES)
def test_case_that_is_exclusive_refuses_two_conditions(mode: str) -> None:
    with pytest.raises(InvalidArgumentError, match="exclude each other"):
        run(mode, ranges(3, exclusive=True), 0.5)
    assert run(mode, ranges(3), 0.5) == 5.5
    assert run(mode, ranges(3, exclusive=True), 1.5) == 18.0
    assert run(mode, lambda tf, x: tf.case([(x < 0.0, lambda: x)], default=lambda: -x, exclusive=True)) == -3.0


def test_case_with_a_value_from_outside_waits_for_the_assertion_too() -> None:
    with pytest.raises(InvalidArgumentError, match="none of the conditions holds"):
        run("graph", lambda tf, x: tf.case([(x < 0.0, lambda: x)]))


def test_gradients_through_the_assertions_of_case() -> None:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x = graph_api.placeholder(graph_api.float32, [])
        y = graph_api.case([(x < 0.0, lambda: x * x), (x < 1.0, lambda: x * x * x)], exclusive=True)
        (dx,) = graph_api.gradients(y, x)
        assert session.run(dx, {x: 0.5}) == 0.75
        with pytest.raises(InvalidArgumentError, match="none of the conditions"):
            session.run([y, dx], {x: 2.0})


def test_case_of_operations() -> None:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        w, p = graph_api.Variable(1.0), graph_api.placeholder(graph_api.bool, [])
        step = graph_api.case([(p, lambda: graph_api.group(w.assign(5.0)))])
        session.run(w.initializer)
        with pytest.raises(InvalidArgumentError, match="none of the conditions"):
            session.run(step, {p: False})
        assert session.run(w) == 1.0
        session.run(step, {p: True})
        assert session.run(w) == 5.0


@pytest.mark.parametrize(
    ("pairs", "error", "message"),
    [
        ([], ValueError, "pred_fn_pairs"),
        ([(True, lambda: 1.0)], TypeError, "a condition must be a boolean tensor, got True"),
        (lambda x: [(x, lambda: 1.0)], DTypeError, "must be a boolean scalar"),
        (lambda x: [(x > 0.0, 1.0)], TypeError, "must be callable, got 1.0"),
        (lambda x: [x > 0.0], TypeError, "must hold .condition, function. pairs"),
    ],
)
def test_bad_pairs_of_case(pairs: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        run("graph", lambda tf, x: tf.case(pairs(x) if callable(pairs) else pairs, default=lambda: x))


# ---- structures ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        lambda i, v: (i + 1, v, v),
        lambda i, v: (i + 1,),
        lambda i, v: (i + 1, [v]),
        lambda i, v: i + 1,
        lambda i, v: (i + 1, {"v": v}),
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_a_body_must_return_the_structure_of_the_loop_variables(mode: str, body: Any) -> None:
    with pytest.raises(ValueError, match="must return the structure of the loop variables"):
        run(mode, lambda tf, x: tf.while_loop(lambda i, *_: i < 3, body, (tf.constant(0), x)))


@pytest.mark.parametrize("mode", MODES)
def test_a_single_loop_variable(mode: str) -> None:
    def program(tf: Any, x: Any) -> Any:
        found = tf.while_loop(lambda v: v < 20.0, lambda v: v * 2.0, [x])
        return found[0] if isinstance(found, list) else found

    assert run(mode, program) == 24.0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["foldl", "foldr", "scan"])
def test_a_step_must_return_the_structure_it_started_with(mode: str, name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: argument `fn` must return the structure of the initial value"):
        run(mode, lambda tf, x: getattr(tf, name)(lambda a, r: (a, r), tf.stack([x, x])))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["map_fn", "foldl", "foldr", "scan"])
def test_loops_over_rows_refuse_scalars_and_unknown_arguments(mode: str, name: str) -> None:
    fn = (lambda r: r) if name == "map_fn" else (lambda a, r: a + r)
    with pytest.raises(ValueError, match=f"{name}: argument `elems` must have at least one dimension, got a scalar"):
        run(mode, lambda tf, x: getattr(tf, name)(fn, x))
    with pytest.raises(TypeError, match="initialiser"):
        run(mode, lambda tf, x: getattr(tf, name)(fn, tf.stack([x]), initialiser=x))


@pytest.mark.parametrize("mode", MODES)
def test_declared_dtypes_of_map_fn_are_checked(mode: str) -> None:
    with pytest.raises(DTypeError, match="`dtype` says int32, but `fn` returns float32"):
        run(mode, lambda tf, x: tf.map_fn(lambda r: r, tf.stack([x]), dtype=tf.int32))
    with pytest.raises(ValueError, match="declares 2 results, but `fn` returns 1"):
        run(mode, lambda tf, x: tf.map_fn(lambda r: r, tf.stack([x]), fn_output_signature=(tf.float32, tf.float32)))


@pytest.mark.parametrize("mode", MODES)
def test_map_fn_without_rows(mode: str) -> None:
    got = run(
        mode, lambda tf, x: tf.map_fn(lambda r: (r * x, tf.reduce_sum(r)), tf.zeros([0, 2]), dtype=(tf.float32,) * 2)
    )
    assert [g.shape for g in got] == [(0, 2), (0,)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["while_loop", "map_fn", "foldl", "scan"])
def test_back_prop_false_cuts_the_gradient(mode: str, name: str) -> None:
    def program(tf: Any, x: Any) -> Any:
        if name == "while_loop":
            return tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, v * x), (tf.constant(0), x), back_prop=False)[
                1
            ]
        fn = (lambda r: r * x) if name == "map_fn" else (lambda a, r: a * r)
        return getattr(tf, name)(fn, tf.stack([x, x]), back_prop=False)

    if mode == "graph":
        with graph_api.Graph().as_default():
            x = graph_api.constant(2.0)
            assert graph_api.gradients(program(graph_api, x), x) == [None]
        return
    x = tape_api.constant(2.0)
    assert gradient_in(x, lambda: program(tape_api, x)) is None


def test_branches_that_return_a_value_and_a_list_of_one() -> None:
    for pair in ((lambda x: [x], lambda x: -x), (lambda x: x, lambda x: (-x,)), (lambda x: (x,), lambda x: [-x])):
        assert run("graph", lambda tf, x, pair=pair: tf.cond(x > 0.0, lambda: pair[0](x), lambda: pair[1](x))) == 3.0
    with pytest.raises(TypeError, match="same structure"):
        run("graph", lambda tf, x: tf.cond(x > 0.0, lambda: [x], lambda: x, strict=True))
    assert run("graph", lambda tf, x: tf.cond(x > 0.0, lambda: [x], lambda: [x], strict=True)) == [3.0]


def test_tensor_arrays_are_loop_variables_of_tapes() -> None:
    def body(i: Any, array: Any) -> Any:
        return i + 1, array.write(i, tape_api.cast(i, tape_api.float32) * x)

    x = tape_api.constant(2.0)
    with tape_api.GradientTape() as tape:
        tape.watch(x)
        array = tape_api.TensorArray(tape_api.float32, size=3)
        _, array = tape_api.while_loop(lambda i, _: i < 3, body, (tape_api.constant(0), array))
        y = tape_api.reduce_sum(array.stack())
    assert tape.gradient(y, x).numpy() == 3.0


def test_the_index_of_switch_case_is_an_integer() -> None:
    functions = [lambda: 1.0, lambda: 2.0]
    for index in (1.7, tape_api.constant(1.0), True):
        with pytest.raises(TypeError, match="`branch_index` must be an integer"):
            tape_api.switch_case(index, functions)
    assert [tape_api.switch_case(k, functions) for k in (0, tape_api.constant(1), np.int64(7), -1)] == [
        1.0,
        2.0,
        2.0,
        2.0,
    ]


# ---- assertions ------------------------------------------------------------------------------------------------------

FAILING: dict[str, tuple[Any, Any]] = {
    "assert_equal": (1, 2), "assert_less": ([1, 5], 2), "assert_less_equal": ([1, 5], 2), "assert_greater": (1.0, 2.0),
    "assert_greater_equal": (1.0, 2.0),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILING)
def test_an_assertion_known_to_fail_raises_while_the_graph_is_built(name: str) -> None:
    x, y = FAILING[name]
    with graph_api.Graph().as_default() as graph, graph_api.Session() as session:
        assertion = getattr(graph_api, name)
        with pytest.raises(InvalidArgumentError, match=f"{name}: .*did not hold element-wise"):
            assertion(graph_api.constant(x), y)
        fed = graph_api.placeholder(graph_api.constant(x).dtype, np.shape(x))
        later = assertion(fed, y)
        with pytest.raises(InvalidArgumentError, match="did not hold element-wise"):
            session.run(later, {fed: x})
        assert graph is later.graph


def test_an_assertion_about_a_known_shape_raises_while_the_graph_is_built() -> None:
    with graph_api.Graph().as_default():
        x = graph_api.placeholder(graph_api.float32, [2, 3])
        graph_api.assert_equal(graph_api.shape(x), [2, 3])
        with pytest.raises(InvalidArgumentError, match="assert_equal"):
            graph_api.assert_equal(graph_api.shape(x)[0], 3)


@pytest.mark.parametrize("front_end", ["while_loop", "foldl"])
def test_a_loop_is_run_for_the_shapes_that_it_was_built_for(front_end: str) -> None:
    """Here the sums of the body were chosen for matrices. A run must not apply them to vectors."""

    def step(x: Any) -> Any:
        return graph_api.cond(graph_api.reduce_sum(x) < 5, lambda: graph_api.cos(x), lambda: x[0] * x[-1])

    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x = graph_api.placeholder("float64", (2, 1))
        if front_end == "while_loop":
            y = graph_api.while_loop(lambda i, _: i < 3, lambda i, a: [i + 1, step(a)], [graph_api.constant(0), x])[1]
        else:
            y = graph_api.foldl(lambda a, _: step(a), graph_api.zeros(3), initializer=x)
        assert session.run(y, {x: [[-1.0], [-2.0]]}).shape == (2, 1)
        with pytest.raises(ShapeError, match=r"changes its shape between iterations: .* \(2, 1\), .* gives \(1,\)"):
            session.run(y, {x: [[5.0], [5.0]]})
