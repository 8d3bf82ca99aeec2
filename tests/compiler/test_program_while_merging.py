"""Loops whose gradient is asked for beside their results run once forward, with the same bits."""

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import graph_api as tf
from engine.closed.function import build
from engine.compiler.pipeline import ALL_PASSES
from engine.compiler.program import Program
from engine.control.while_loop import while_op, while_saving_op
from engine.core.aval import Aval
from engine.core.dtypes import int64
from engine.derivatives.reverse import reverse
from engine.ops.compare import less
from engine.ops.creation import ones_like
from engine.runtime import elementary
from tests.compiler.test_program import lowered
from tests.rows.cond import counted, recurrence
from tests.support import assert_same_bits

OFF = [name for name in ALL_PASSES if name != "while_merging"]
LOOPS: dict[str, tuple[Callable[..., Any], list[Any]]] = {}


def _inputs(*shapes: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(len(shapes))
    return [rng.uniform(-1, 1, shape) for shape in shapes]


LOOPS["scan"] = recurrence, _inputs((3,), (4, 3), (3,))
LOOPS["scan backwards"] = lambda *x: recurrence(*x, backwards=True), _inputs((3,), (4, 3), (3,))
LOOPS["scan of constants"] = lambda h, x: recurrence(h, x, np.linspace(0.1, 0.3, 3)), _inputs((3,), (4, 3))
LOOPS["while"] = lambda x, w: counted(while_op, np.int32(3), x, w), _inputs((3,), (3,))


def with_gradients(f: Callable[..., Any], xs: Sequence[Any], order: int) -> list[Any]:
    """The results of a function of symbols, and derivatives of their sum up to an order."""
    results = [y for y in f(*xs) if y.dtype.is_floating]
    everything, cts = list(results), results
    for _ in range(order):
        found = reverse(list(xs[0].trace.nodes), [(y, ones_like(y)) for y in cts], xs)
        cts = [g for g in found if g is not None]
        everything += cts
    return everything


def loops(program: Program) -> int:
    return sum(instruction.op.merge is not None for instruction in program.instructions)


@pytest.mark.parametrize(("order", "fewer"), [(1, 1), (2, 2)], ids=["first", "second"])
@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_and_the_one_for_its_gradient_are_one(name: str, order: int, fewer: int) -> None:
    f, inputs = LOOPS[name]
    apart = lowered(lambda *xs: with_gradients(f, xs, order), inputs, OFF)
    merged = lowered(lambda *xs: with_gradients(f, xs, order), inputs)
    assert loops(apart) - loops(merged) == merged.report["while_merging"] >= fewer
    for _ in range(3):
        assert_same_bits(merged(*inputs), apart(*inputs))
    assert_same_bits(pickle.loads(pickle.dumps(merged))(*inputs), apart(*inputs))


def test_a_result_that_both_loops_give_is_given_twice() -> None:
    goes_on = build([Aval((), int64)], lambda _, values: [less(values[0], np.int64(5))])
    body = build([Aval((), int64)], lambda _, values: [values[0] + np.int64(2)])
    inputs = [np.int64(0)]

    def both(x: Any) -> list[Any]:
        saving = while_saving_op(x, cond=goes_on, body=body, count=1, saved=(0,))
        return [*saving, *while_op(x, cond=goes_on, body=body, count=1), saving[0] + np.int64(1)]

    program = lowered(both, inputs)
    assert loops(program) == 1
    assert [np.asarray(r).tolist() for r in program(*inputs)] == [6, [0, 1, 2], [0, 2, 4], 6, 7]


def test_loops_over_other_operands_stay_apart() -> None:
    f, inputs = LOOPS["scan"]
    program = lowered(lambda h, x, w: [*f(h, x, w), *f(h + 1.0, x, w)], inputs)
    assert "while_merging" not in program.report and loops(program) == 2


def test_a_loop_with_effects_runs_as_often_as_it_is_asked_for() -> None:
    seen: list[Any] = []
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, (3,))

        def step(h: Any, row: Any) -> Any:
            noted = tf.py_func(lambda a: seen.append(a) or a, [row], tf.float64)
            noted.set_shape(())
            return tf.sin(h) * row + 0.0 * noted

        y = tf.scan(step, x, tf.constant(0.5, tf.float64))
        slope = tf.gradients(y, x)[0]
        session.run(y, {x: np.ones(3)})
        once = len(seen)
        session.run([y, slope], {x: np.ones(3)})
        assert len(seen) > 2 * once


def test_a_session_runs_a_recurrence_forward_once() -> None:
    value = np.linspace(-1, 1, 12).reshape(4, 3)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, (4, 3))
        y = tf.scan(lambda h, row: tf.tanh(h * row + 0.3), x, tf.ones((3,), tf.float64))
        results = session.run([y, tf.gradients(y, x)[0]], {x: value})
        (executable,) = session._executables.own.values()
    assert executable.program.report["while_merging"] == 1 and loops(executable.program) == 2
    h, rows = np.ones(3), []
    for row in value:
        h = elementary.tanh(h * row + 0.3)
        rows.append(h)
    assert_same_bits(results[:1], [np.stack(rows)])
