"""Steps of loops that are written out in the program around: the same bits, what is gained, and what stays a loop."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api as tf
from engine.compiler import lowering
from engine.compiler.pipeline import ALL_PASSES
from tests.compiler.test_program import lowered
from tests.compiler.test_program_while_merging import LOOPS, loops, with_gradients
from tests.rows.cond import recurrence
from tests.support import assert_same_bits

OFF = [name for name in ALL_PASSES if name != "unrolling"]
LARGE = 20_000
"""Elements of a loop variable from which on it is worth while."""


def shifted(x: Any, y: Any) -> Any:
    """A step of a difference equation."""
    return y + 0.1 * tf.concat([x[:1], x[1:] * y[:-1]], 0)


def ten_steps(x: Any, kind: str) -> Any:
    start = tf.zeros_like(x)
    if kind == "while_loop":
        return tf.while_loop(lambda i, y: i < 10, lambda i, y: (i + 1, shifted(x, y)), [0, start])[1]
    if kind == "maximum_iterations":
        return tf.while_loop(lambda y: True, lambda y: shifted(x, y), [start], maximum_iterations=10)
    if kind == "foldl":
        return tf.foldl(lambda y, _: shifted(x, y), tf.range(10), initializer=start)
    if kind == "scan":
        return tf.scan(lambda y, _: shifted(x, y), tf.range(10), initializer=start)[-1]
    y = start
    for _ in range(10):
        y = shifted(x, y)
    return y


def run(build: Callable[[Any], Any], value: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, value.shape)
        return session.run(build(x), {x: value})


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lowering, "UNROLLED_WHOLE", 0)
    monkeypatch.setattr(lowering, "UNROLLED", 0)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("name", LOOPS)
def test_steps_written_out_give_the_bits_of_the_loop(name: str, order: int) -> None:
    f, inputs = LOOPS[name]
    loop, steps = (lowered(lambda *xs: with_gradients(f, xs, order), inputs, passes) for passes in (OFF, ALL_PASSES))
    assert loops(loop) and not loops(steps) and steps.report["unrolling"] > 0
    assert_same_bits(steps(*inputs), loop(*inputs))
    assert "entry_of_stack" in str(steps.report) or order == 0


@pytest.mark.parametrize("kind", ["while_loop", "maximum_iterations", "foldl", "scan"])
@pytest.mark.parametrize("last", [True, False])
def test_a_loop_of_shifts_is_its_spelling_without_a_loop(kind: str, last: bool) -> None:
    """Zeros around the cotangent of one entry reach through all steps, so most of the gradient is not computed."""
    sizes, found = {}, {}
    x = np.random.default_rng(0).uniform(0.1, 0.9, LARGE)
    for each in (kind, "no loop"):
        with tf.Graph().as_default(), tf.Session() as session:
            v = tf.placeholder(tf.float64, x.shape)
            y = ten_steps(v, each)
            (g,) = tf.gradients(y[-1] if last else tf.reduce_sum(y * y), v)
            found[each] = session.run(g, {v: x})
            (program,) = [e.program for e in session._executables.own.values()]
            sizes[each] = sum(program.avals[s].size for i in program.instructions for s in i.outputs)
            assert not loops(program)
    assert_same_bits([found[kind]], [found["no loop"]])
    assert not last or sizes[kind] <= 1.3 * sizes["no loop"]


def program_of(build: Callable[[Any], Any], *, n: int = LARGE) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [n])
        session.run(build(x), {x: np.linspace(0.1, 0.2, n)})
        (program,) = [e.program for e in session._executables.own.values()]
        return program


def counting(limit: Any, body: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    return lambda x: tf.while_loop(lambda i, y: i < limit, lambda i, y: (i + 1, body(i, y)), [0, x])[1]


def printed(i: Any, y: Any) -> Any:
    with tf.control_dependencies([tf.Assert(tf.reduce_all(y > 0.0), [y])]):
        return y + 1.0


def growing(i: Any, y: Any) -> Any:
    return tf.concat([y, tf.zeros([tf.maximum(i - 1, 0)], y.dtype)], 0)


STAYS: dict[str, Callable[[Any], Any]] = {
    "too many": counting(5000, lambda i, y: y * 1.01),
    "until a value is reached": lambda x: tf.while_loop(lambda y: y[0] < 1.0, lambda y: [y * 2.0], [x]),
    "a number of steps that is computed": lambda x: counting(tf.cast(x[0] * 30.0, tf.int32), lambda i, y: y + 1.0)(x),
    "assertions": counting(3, printed),
    "draws": counting(3, lambda i, y: y + tf.random_uniform([LARGE], dtype=tf.float64, seed=1)),
    "products": lambda x: counting(3, lambda i, y: tf.reshape(tf.matmul(y[:, None], y[None, :1]), [-1]))(x),
    "shapes that follow from the counter": lambda x: tf.while_loop(
        lambda i, y: i < 4,
        lambda i, y: (i + 1, growing(i, y)),
        [0, x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )[1],
    "branches": counting(3, lambda i, y: tf.cond(y[0] > 1.0, lambda: y, lambda: y + 1.0)),
}


@pytest.mark.parametrize("name", STAYS)
def test_what_stays_a_loop(name: str) -> None:
    assert loops(program_of(STAYS[name])) == 1


def test_short_vectors_stay_a_loop() -> None:
    """What is taken of them counts, too: where that is little, most of what the steps compute may be needless."""
    step = counting(3, lambda i, y: y * 2.0)
    assert not loops(program_of(step)) and loops(program_of(step, n=1000)) == 1
    for size, count in ((1000, 0), (20, 1)):
        assert loops(program_of(lambda x: step(x)[-1], n=size)) == count
    assert loops(program_of(lambda x: step(x)[1:], n=1000)) == 1


def test_a_loop_without_steps_gives_what_enters_it() -> None:
    x = np.linspace(0.0, 1.0, LARGE)
    found = run(lambda x: [y := counting(0, lambda i, y: y * 2.0)(x), tf.gradients(y, x)[0]], x)
    assert_same_bits(found, [x, np.ones(LARGE)])


def test_an_error_in_a_step_names_the_line_of_the_body() -> None:
    def body(i: Any, y: Any) -> Any:
        return y + tf.gather(y, i * LARGE)

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"'while/Gather.*test_program_unrolling.*'while/Exit'"):
        program_of(counting(3, body))


@pytest.mark.usefixtures("always")
def test_a_row_of_a_stack_in_another_order_is_taken_from_the_stack() -> None:
    """It lies in C order there, as sums of it and all that follows can tell."""

    def f(x: Any) -> Any:
        both = tf.stack([tf.transpose(x), tf.transpose(x) * 2.0])
        return [tf.reduce_sum(both[1]), both[0] + 1.0, tf.stack([x, x + 1.0])[-1]]

    x = np.random.default_rng(1).normal(size=(31, 7))
    without = [name for name in ALL_PASSES if name != "algebraic_simplification"]
    expected, found = lowered(f, [x], without)(x), lowered(f, [x])(x)
    assert_same_bits(found, expected)
    assert [a.strides for a in found] == [a.strides for a in expected]
    assert lowered(f, [x]).report["algebraic_simplification/entry_of_stack"] == 1


def test_recurrences_of_rows_are_written_out_in_either_direction() -> None:
    h, rows = np.linspace(0.5, 1.0, LARGE), np.random.default_rng(2).normal(size=(4, LARGE))
    for backwards in (False, True):
        f = lambda *x, b=backwards: with_gradients(lambda *v: recurrence(*v, backwards=b), x, 1)  # noqa: E731
        inputs = [h, rows, np.linspace(0.1, 0.3, LARGE)]
        loop, steps = lowered(f, inputs, OFF), lowered(f, inputs)
        assert loops(loop) and not loops(steps)
        assert_same_bits(steps(*inputs), loop(*inputs))


def test_a_known_number_of_steps_is_counted_as_the_loop_counts() -> None:
    """Also downwards, by a capture, and with several counters."""

    def f(x: Any) -> Any:
        stride = tf.constant(3)
        down = tf.while_loop(lambda i, y: i > 0, lambda i, y: (i - stride, y + tf.cast(i, y.dtype)), [10, x])
        both = tf.while_loop(lambda i, j, y: i < j, lambda i, j, y: (i + 1, j - 1, y * 2.0), [0, 5, x])
        return down[1], both[2]

    assert not loops(program_of(f))
    x = np.linspace(0.0, 1.0, LARGE)
    assert_same_bits(run(f, x), [(((x + 10.0) + 7.0) + 4.0) + 1.0, x * 8.0])
