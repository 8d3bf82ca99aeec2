"""Loops whose steps the native executor runs in one go: the bits are those of steps run one by one."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api as tf
from engine.closed.function import ClosedFunction, build
from engine.compiler.passes.nan_checks import no_nan, without_choices
from engine.core.aval import Aval
from engine.core.dtypes import float64
from engine.executor import status
from engine.executor.extension import executor
from engine.executor.staged import in_python
from engine.ops.compare import keep_chosen
from engine.ops.trig import tanh
from tests.support import assert_same_bits

pytestmark = pytest.mark.skipif(not status().active, reason="without the native executor all steps run in Python")

LONG = 200
"""More steps than a while loop first runs in one go."""


def _garch(x: Any, e: Any) -> list[Any]:
    def step(carried: Any, e: Any) -> Any:
        h, total = carried
        return 0.1 + x[0] * e * e + 0.8 * h, total + tf.math.log(h) + e * e / h

    return [tf.foldl(step, e[:, 0], initializer=(tf.reduce_sum(x) + 1.0, x[1]))[1]]


def _swapped(x: Any, e: Any) -> list[Any]:
    """Carries that change places, of which one is a result as well; and a result that no step changes."""

    def step(carried: Any, e: Any) -> Any:
        a, b, _ = carried
        return b, tf.tanh(a + e), tf.constant([1.0, 2.0], x.dtype)

    return [*tf.scan(step, e, initializer=(x, tf.sin(x), tf.zeros_like(x[:2])), reverse=True)]


def _matrices(x: Any, e: Any) -> list[Any]:
    matrix = tf.reshape(tf.range(9.0, dtype=tf.float64), [3, 3]) / 30.0
    matrix = tf.cast(matrix, x.dtype)

    def step(h: Any, e: Any) -> Any:
        return tf.tanh(tf.linalg.matvec(matrix, h) + e)

    return [tf.scan(step, e, initializer=x)]


def _turned(x: Any, e: Any) -> list[Any]:
    """A carry that lies otherwise after each step."""

    def step(h: Any, e: Any) -> Any:
        return tf.transpose(h) * 0.9 + e[0]

    return [tf.foldl(step, e, initializer=x[:, None] * x[None, :])]


def _while(x: Any, e: Any) -> list[Any]:
    def body(i: Any, x: Any, total: Any) -> Any:
        x = tf.sin(x) * 1.01 + 0.1 * e[i % 3]
        return i + 1, x, total + tf.reduce_sum(x * x)

    return list(tf.while_loop(lambda i, *_: i < LONG, body, (tf.constant(0), x, tf.zeros([], x.dtype))))[1:]


def _until(x: Any, e: Any) -> list[Any]:
    """The number of steps depends on what is computed."""

    def body(x: Any, n: Any) -> Any:
        return 0.5 * (x + 2.0 / x), n + 1

    root, count = tf.while_loop(
        lambda x, _: tf.reduce_any(tf.abs(x * x - 2.0) > 1e-3), body, (x * x + 1.0, tf.constant(0))
    )
    return [root * tf.cast(count, x.dtype), tf.reduce_sum(e)]


def _rows(x: Any, e: Any) -> list[Any]:
    """Python is called in each step."""

    def step(h: Any, e: Any) -> Any:
        return tf.numpy_function(lambda h: h * 0.5, [h], h.dtype) + tf.stop_gradient(e)

    return [tf.foldl(step, e, initializer=x)]


PROGRAMS: dict[str, tuple[Callable[[Any, Any], list[Any]], bool]] = {
    "numbers": (_garch, True),
    "carries that change places": (_swapped, True),
    "matrices": (_matrices, True),
    "a carry that lies otherwise": (_turned, False),
    "while": (_while, True),
    "until": (_until, True),
    "python": (_rows, False),
}
"""By name: what it computes, and whether tables can run its steps."""


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many steps were run in one go, per loop that was."""
    steps: list[int] = []
    loop = ClosedFunction.loop

    def noted(*args: Any, **kwargs: Any) -> Any:
        found = loop(*args, **kwargs)
        if found is not None:
            steps.append(found[0])
        return found

    monkeypatch.setattr(ClosedFunction, "loop", noted)
    return steps


def _results(program: Callable[[Any, Any], list[Any]], dtype: Any, runs: int) -> list[list[Any]]:
    rng = np.random.default_rng(0)
    values = [(rng.normal(size=3).astype(dtype), rng.normal(size=(12, 3)).astype(dtype)) for _ in range(runs)]
    with tf.Graph().as_default(), tf.Session() as session:
        x, e = tf.placeholder(dtype, [3]), tf.placeholder(dtype, [12, 3])
        ys = program(x, e)
        grads = [g for g in tf.gradients(ys, [x, e]) if g is not None]
        second = [g for g in tf.gradients(grads, [x, e]) if g is not None]
        return [session.run([*ys, *grads, *second], {x: a, e: b}) for a, b in values]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", PROGRAMS)
def test_steps_in_one_go_give_the_bits_of_steps_one_by_one(
    name: str, dtype: Any, ran: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    program, is_in_one_go = PROGRAMS[name]
    found = _results(program, dtype, 5)
    assert bool(ran) == is_in_one_go
    monkeypatch.setattr(ClosedFunction, "loop", lambda *args, **kwargs: None)
    expected = _results(program, dtype, 5)
    for run, other in zip(found, expected, strict=True):
        assert list(map(type, run)) == list(map(type, other))
        assert_same_bits(run, other)


def test_warm_calls_run_all_steps_in_one_go(ran: list[int]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [3])
        e = tf.constant(np.ones((LONG, 3)))
        y = tf.scan(lambda h, e: tf.tanh(h + e), e, initializer=x)
        loop = tf.while_loop(lambda i, _: i < LONG, lambda i, h: (i + 1, tf.sin(h)), (tf.constant(0), x))
        for _ in range(3):
            ran.clear()
            session.run([y, *loop], {x: np.ones(3)})
    assert sum(ran) == 2 * LONG


@pytest.mark.parametrize("last", [False, True], ids=["all", "last"])
def test_choices_are_left_out_until_there_is_a_nan(last: bool, ran: list[int]) -> None:
    """Where a zero that nobody chose meets an infinity there is a NaN, which is zero with the choices of the body."""
    given = [[0.5, 0.7]] * 4 + [[0.5, 0.0], [0.5, 0.7]] * 12 + [[0.5, 0.0], [np.nan, 0.7]]

    def results() -> list[Any]:
        with tf.Graph().as_default(), tf.Session() as session:
            x, e = tf.placeholder(tf.float64, [2]), tf.constant(np.linspace(0.5, 1.0, 6))
            ys = tf.scan(lambda h, e: tf.sqrt(h) * e, e, initializer=x)
            (g,) = tf.gradients((ys[-1, 0] if last else ys[:, 0]) * tf.sin(x[0]), [x])
            return [session.run(g, {x: np.array(values)}) for values in given]

    found = results()
    assert ran
    with in_python():
        expected = results()
    assert np.isfinite(expected[4]).all() and np.isnan(expected[-1]).any()
    assert_same_bits(found, expected)
    instructions = _gradient_of_a_step().instructions
    assert not any(i.op is keep_chosen for i in instructions) and any(i.op is no_nan for i in instructions)


def _gradient_of_a_step() -> Any:
    """What runs natively of the gradient of a step whose cotangents may be zero."""
    step = build([Aval((2,), float64)] * 2, lambda body, values: [values[0] * tanh(values[1])])
    pulled = step.pullback([0, 1], [0])[0]
    assert any(i.op is keep_chosen for i in pulled.program.instructions)
    plain = without_choices(pulled.program)
    assert plain is not None
    return plain


def test_an_error_in_a_step_is_raised_where_the_op_was_made() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        table, indices = tf.placeholder(tf.float64, [4]), tf.placeholder(tf.int32, [8])
        y = tf.foldl(lambda h, i: h + tf.gather(table, i), indices, initializer=tf.zeros([], tf.float64))
        good = np.arange(8) % 4
        for _ in range(4):
            assert session.run(y, {table: np.ones(4), indices: good}) == 8.0
        bad = np.where(np.arange(8) == 5, 9, good)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"9.*test_native_loops") as caught:
            session.run(y, {table: np.ones(4), indices: bad})
        assert "gather" in str(caught.value)
        assert session.run(y, {table: np.ones(4), indices: good}) == 8.0


def test_floating_point_errors_that_numpy_shall_raise_are_raised() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [2])
        y = tf.foldl(lambda h, _: h * h, tf.zeros([12]), initializer=x)
        for _ in range(4):
            session.run(y, {x: [0.5, 0.5]})
        with np.errstate(over="raise"), pytest.raises(FloatingPointError):
            session.run(y, {x: [1e100, 1.0]})
        assert session.run(y, {x: [1e100, 1.0]}).tolist() == [np.inf, 1.0]


def _table() -> Any:
    """A table of ``(h, row, c) -> (h * c + row, h)``, of pairs of numbers."""
    pair = (np.dtype(float), (2,), (8,))
    loops = ((np.multiply, 13), (np.add, 13))
    ufunc = [np.frombuffer(executor.ufunc_types(u), np.int8).reshape(-1, 3).tolist().index([12] * 3) for u, _ in loops]
    loops = tuple([(u, k) for (u, _), k in zip(loops, ufunc, strict=True)])
    rows = [0, 0, 0, 2, 3, 0, 0, 0, 0, 0, 0, 2, 8, 8, 8, 1, 0, 3, 1, 3, 0, 0, 0, 0, 0, 0, 2, 8, 8, 8]
    bases = (*[("argument", i, *pair) for i in range(3)], ("fresh", *pair, None))
    host = (pytest.fail, pytest.fail, pytest.fail, lambda: False)
    outputs = (("whole", 3), ("given", 0))
    return executor.Table(
        3, bases, loops, np.array(rows, np.intp).tobytes(), (("rows", 0, 2, False),), outputs, host, None
    )


def test_a_table_as_a_loop() -> None:
    table, rows, c = _table(), np.arange(6.0).reshape(3, 2), np.array([2.0, 3.0])
    h = np.array([1.0, 1.0])
    done, (last,), (before,) = table.loop(None, (h, rows, c), 1, 1, 0, 3, False)
    assert (done, last.tolist(), before.tolist()) == (3, [16.0, 50.0], [[1, 1], [2, 4], [6, 15]])
    done, (last,), (before,) = table.loop(None, (h, rows, c), 1, 1, 2, 3, True)
    assert (done, last.tolist(), before.tolist()) == (3, [28.0, 82.0], [[14, 27], [6, 8], [1, 1]])
    assert h.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("count", [3, 3000])
def test_rows_of_a_loop_have_room_for_those_before(count: int) -> None:
    """Large ones are made by who calls it, in memory that is used again."""
    table, rows, c, made = _table(), np.ones((count, 2)), np.array([1.0, 1.0]), []

    def make(shape: Any, dtype: Any) -> np.ndarray:
        made.append(np.full(shape, -1.0, dtype))
        return made[-1]

    expected = np.repeat(np.arange(count, dtype=float), 2).reshape(-1, 2)
    _, (last,), (found,) = table.loop(None, (np.zeros(2), rows, c), 1, 1, 0, count, False, 2, make)
    assert last.tolist() == [count, count] and np.array_equal(found[2:], expected)
    assert [x is found for x in made] == [True] * (count == 3000)
    _, _, (found,) = table.loop(None, (np.zeros(2), rows, c), 1, 1, count - 1, count, True, 2, make)
    assert found.shape == (count + 2, 2) and np.array_equal(found[:-2], expected[::-1])
    if count == 3000:
        for bad in (
            lambda *_: np.ones((count, 2)),
            lambda s, t: np.ones(s, "f"),
            lambda s, t: np.ones(s, t, "F"),
            list,
        ):
            with pytest.raises((ValueError, TypeError)):
                table.loop(None, (np.zeros(2), rows, c), 1, 1, 0, count, False, 2, bad)


@pytest.mark.parametrize(
    "arguments",
    [
        (None, (np.ones(2), np.ones((3, 2))), 1, 1, 0, 3, False),  # too few operands
        (None, (np.ones(2), np.ones((3, 2)), [1.0, 2.0]), 1, 1, 0, 3, False),  # no array
        (None, (np.ones(2), np.ones((3, 2)), np.ones(2)), 1, 1, 0, 4, False),  # more steps than rows
        (None, (np.ones(2), np.ones((3, 2)), np.ones(2)), 1, 1, 1, 3, True),  # before the first row
        (None, (np.ones(2), np.ones((3, 2)), np.ones(2)), 1, 1, -1, 3, False),
        (None, (np.ones(2), np.ones((3, 2)), np.ones(2)), 1, 1, 0, 0, False),  # no step
        (None, (np.ones(2), np.ones((3, 2)), np.ones(2)), 3, 0, 0, 3, False),  # more carries than results
        (None, (np.ones(2), np.ones((3, 2)), np.ones(2)), -1, 1, 0, 3, False),
        (None, (np.ones(2), np.ones((3, 2)), np.ones(2)), 1, 3, 0, 3, False),
        (None, (np.ones(2), np.ones(()), np.ones(2)), 1, 1, 0, 3, False),  # a scalar has no rows
        (None, (np.ones(2), np.ones((3, 2), "f"), np.ones(2)), 1, 1, 0, 3, False),  # another dtype
        (None, (np.ones(3), np.ones((3, 2)), np.ones(2)), 1, 1, 0, 3, False),  # another shape
        (None, (np.ones(4)[::2], np.ones((3, 2)), np.ones(2)), 1, 1, 0, 3, False),  # with gaps
        (None, (np.ones(2), np.ones((3, 2)), np.ones(2)), 1, 1, 0, 3, False, -1),  # fewer rows than steps
        (pytest, (np.ones(2), np.ones((3, 2)), np.ones(2)), 1, 1, 0, 3, False),  # no condition
    ],
)
def test_what_is_no_loop_of_a_table_is_left_to_python(arguments: Any) -> None:
    assert _table().loop(*arguments) is None


def test_a_condition_must_be_one_boolean() -> None:
    table, pair = _table(), np.ones(2)
    assert table.loop(table, (pair, pair, pair), 1, 0, 0, 3, False) is None
