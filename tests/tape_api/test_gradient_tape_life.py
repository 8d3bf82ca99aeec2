"""GradientTape: asking twice, higher orders, misuse, memory."""

import gc
import tracemalloc
import weakref
from typing import Any

import numpy as np
import pytest

import tape_api as tf

# ---- persistence, higher orders --------------------------------------------------------------------------------------


@pytest.mark.parametrize("second", ["gradient", "jacobian", "batch_jacobian"])
@pytest.mark.parametrize("first", ["gradient", "jacobian", "batch_jacobian"])
def test_a_spent_tape_raises(first: str, second: str) -> None:
    x = tf.constant([[1.0], [2.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    getattr(tape, first)(y, x)
    with pytest.raises(RuntimeError, match="can only be used to compute one set of gradients"):
        getattr(tape, second)(y, x)


def test_a_persistent_tape_records_its_own_gradient() -> None:
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x**3.0
        dy = tape.gradient(y, x)
    assert tape.gradient(dy, x).numpy() == 12.0


# ---- misuse ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t, y, x: t.gradient(2.0, x), TypeError, "target: must be a tensor or variable, got float"),
        (lambda t, y, x: t.gradient(None, x), TypeError, "Argument `target` should be a list or nested structure"),
        (lambda t, y, x: t.gradient(y, [x, 1.0]), TypeError, "source: must be a tensor or variable, got float"),
        (lambda t, y, x: t.gradient(y, None), TypeError, "source: .* got NoneType"),
        (lambda t, y, x: t.gradient(y, np.ones(2)), TypeError, "source: .* got ndarray"),
        (lambda t, y, x: t.jacobian(y, 1.0), TypeError, "source"),
        (lambda t, y, x: t.batch_jacobian("y", x), TypeError, "target"),
        (lambda t, y, x: t.watch(3.0), TypeError, "watch: must be a tensor or variable, got float"),
        (lambda t, y, x: t.watch([x, None]), TypeError, "watch: .* got NoneType"),
        (lambda t, y, x: t.gradient(y, x, tf.ones([3])), ValueError, r"target has shape \(2,\), its gradient \(3,\)"),
        (lambda t, y, x: t.gradient(y, x, tf.ones([2], tf.float64)), TypeError, "dtype float32, its gradient float64"),
        (lambda t, y, x: t.gradient(y, x, [1.0, 2.0]), ValueError, "expected 1 of them"),
        (
            lambda t, y, x: t.gradient(y, x, unconnected_gradients="no"),
            ValueError,
            "Unknown value for unconnected_gradients: 'no'; .* 'none' or 'zero'",
        ),
        (lambda t, y, x: t.watch(np.ones(2)), ValueError, "must be a tensor or variable, got ndarray"),
        (lambda t, y, x: t.watch("x"), TypeError, "must be a tensor or variable, got str"),
        (lambda t, y, x: t.reset(), ValueError, "reset: the tape is not recording"),
        (lambda t, y, x: t.stop_recording().__enter__(), ValueError, "stop_recording: the tape is not recording"),
    ],
)
def test_misuse(call: Any, error: type[Exception], message: str) -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(error, match=message):
        call(tape, y, x)
    # and the tape still works
    np.testing.assert_array_equal(tape.gradient(y, x), [2.0, 4.0])


def test_a_wrong_argument_does_not_spend_the_tape() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(ValueError, match="output_gradients"):
        tape.gradient(y, x, output_gradients=tf.ones([3]))
    np.testing.assert_array_equal(tape.gradient(y, x), [2.0, 4.0])


def test_entering_twice() -> None:
    with tf.GradientTape() as tape, pytest.raises(ValueError, match="Tape is still recording"), tape:
        pass


# ---- memory ----------------------------------------------------------------------------------------------------------


def test_a_spent_tape_lets_go_of_its_recording() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        middle = x * x
        y = tf.exp(middle)
    seen = weakref.ref(middle)
    del middle
    assert seen() is not None
    tape.gradient(y, x)
    del y
    gc.collect()
    assert seen() is None


def test_a_persistent_tape_lets_go_when_dropped() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        middle = x * x
        y = tf.exp(middle)
    tape.gradient(y, x)
    seen = weakref.ref(middle)
    del middle, y, tape
    gc.collect()
    assert seen() is None


@pytest.mark.parametrize("persistent", [False, True])
def test_memory_stays_flat(persistent: bool) -> None:
    v = tf.Variable(np.ones(1000, np.float32))

    def step() -> None:
        with tf.GradientTape(persistent=persistent) as tape:
            y = tf.reduce_sum(tf.sin(v * v))
        v.assign_sub(tape.gradient(y, v) * 1e-3)

    for _ in range(20):
        step()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(1000):
        step()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    # one step allocates about 50 kB
    assert grown < 100_000
