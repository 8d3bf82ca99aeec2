"""GradientTape: everything that SEMANTICS says of it, except Jacobians (test_jacobian.py)."""

import threading
from collections import namedtuple
from contextlib import suppress

import numpy as np
import pytest

import tape_api as tf

# ---- what is recorded ------------------------------------------------------------------------------------------------


def test_what_happened_before_watch_is_not_recorded() -> None:
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
        tape.watch(x)
        z = x * x * x
    assert tape.gradient(y, x) is None
    assert tape.gradient(z, x).numpy() == 27.0


def test_a_tensor_read_from_a_variable_earlier_is_a_tensor_of_its_own() -> None:
    v = tf.Variable(3.0)
    x = v.read_value()
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * v
    dx, dv = tape.gradient(y, [x, v])
    assert (dx.numpy(), dv.numpy()) == (3.0, 3.0)


def test_a_value_read_before_the_tape_is_not_connected() -> None:
    v = tf.Variable(3.0)
    before = v.read_value()
    with tf.GradientTape() as tape:
        y = before * 2.0 + v
    assert tape.gradient(y, v).numpy() == 1.0


def test_stop_recording() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            z = y * 2.0
        w = z + y
    np.testing.assert_array_equal(tape.gradient(w, x), [2.0, 4.0])


def test_recording_goes_on_after_an_exception_inside_stop_recording() -> None:
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        with pytest.raises(ZeroDivisionError), tape.stop_recording():
            raise ZeroDivisionError
        y = v * v
    assert tape.gradient(y, v).numpy() == 6.0


def test_a_tape_stops_recording_when_left_by_an_exception() -> None:
    v = tf.Variable(3.0)
    tape = tf.GradientTape(persistent=True)
    with suppress(ZeroDivisionError), tape:
        y = v * v
        raise ZeroDivisionError
    z = y * v
    assert tape.gradient(z, v) is None
    assert tape.gradient(y, v).numpy() == 6.0


def test_a_tape_can_be_entered_again() -> None:
    v = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = v * v
    with tape:
        z = v * y
    assert tape.gradient(z, v).numpy() == 27.0
    once = tf.GradientTape()
    for _ in range(2):
        with once:
            y = v * v
        assert once.gradient(y, v).numpy() == 6.0


def test_gradient_inside_the_with_block() -> None:
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * v
        g = tape.gradient(y, v)
    assert g.numpy() == 6.0


def test_a_tape_records_its_own_thread_only() -> None:
    v = tf.Variable(3.0)
    results = []
    with tf.GradientTape(persistent=True) as tape:
        thread = threading.Thread(target=lambda: results.append(v * v))
        thread.start()
        thread.join()
        y = v * 1.0
    assert tape.gradient(results[0], v) is None
    assert tape.gradient(y, v).numpy() == 1.0


def test_operators_record_arrays_on_either_side() -> None:
    a = np.array([1.0, 2.0])
    x = tf.constant([3.0, 4.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        left, right = a * x, x * a
    assert isinstance(left, tf.Tensor) and left.dtype == tf.float32
    for y in (left, right):
        np.testing.assert_array_equal(tape.gradient(y, x), [1.0, 2.0])


def test_arrays_changed_afterwards_do_not_change_gradients() -> None:
    a = np.array([1.0, 2.0], np.float32)
    x = tf.constant([3.0, 4.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.multiply(x, a) + x * a
    a[:] = 100.0
    np.testing.assert_array_equal(tape.gradient(y, x), [2.0, 4.0])


# ---- targets and sources ---------------------------------------------------------------------------------------------


def test_structures_come_back() -> None:
    x, z = tf.constant(2.0), tf.constant(3.0)
    frozen = tf.Variable(1.0, trainable=False)
    pair = namedtuple("pair", "first second")
    with tf.GradientTape() as tape:
        tape.watch([x, z])
        y = {"p": x * z, "q": [x]}
    found = tape.gradient(y, {"a": x, "b": [z, (frozen,)], "c": pair(x, z)})
    assert found["a"].numpy() == 4.0 and found["b"][0].numpy() == 2.0
    assert found["b"][1] == (None,)
    assert isinstance(found["c"], pair) and found["c"].second.numpy() == 2.0


def test_a_source_given_twice_gets_its_gradient_twice() -> None:
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * v
    assert [g.numpy() for g in tape.gradient(y, [v, v])] == [6.0, 6.0]


def test_output_gradients_may_be_arrays_or_none() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y, z = x * x, x * 3.0
    found = tape.gradient([y, z], x, output_gradients=[None, np.array([10.0, 0.0])])
    np.testing.assert_array_equal(found, [2.0 + 30.0, 4.0])


def test_gradients_have_the_dtype_of_their_source() -> None:
    for dtype in (tf.float16, tf.float32, tf.float64, tf.complex64, tf.complex128):
        x = tf.constant([1.0, 2.0], dtype) if not dtype.is_complex else tf.cast([1.0, 2.0], dtype)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(x * x * 2.0)
        assert tape.gradient(y, x).dtype is dtype


def test_gradients_do_not_alias() -> None:
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = x + 1.0
    g = tape.gradient(y, [x, x])
    array = g[0].numpy()
    array[:] = 7.0
    np.testing.assert_array_equal(g[1], [1.0, 1.0])
    np.testing.assert_array_equal(x, [1.0, 2.0])


# ---- None, zeros -----------------------------------------------------------------------------------------------------


def test_integer_targets_and_sources_have_none() -> None:
    n = tf.constant(2)
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        with pytest.warns(UserWarning, match=r"watch: the dtype .* must be floating .* got int32"):
            tape.watch(n)
        y = n * n
        z = tf.cast(n, tf.float32) * x
        k = tf.cast(x, tf.int32)
    assert tape.gradient(y, n) is None
    assert tape.gradient(z, n) is None
    assert tape.gradient(k, x) is None
    assert tape.gradient([k, z], x).numpy() == 2.0


def test_a_variable_that_is_the_target_has_the_derivative_one() -> None:
    """As in the branch of a program that hands on a variable: nothing was recorded of it."""
    a, b, c = tf.Variable(2.0), tf.Variable([2.0, 3.0], trainable=False), tf.constant(1.0)
    with tf.GradientTape(persistent=True) as tape:
        result = a if c > 0.0 else a**2
    assert tape.gradient(result, a).numpy() == 1.0
    assert tape.gradient([a, a], a).numpy() == 2.0
    assert tape.gradient(b, [b, a])[0].numpy().tolist() == [1.0, 1.0]
    assert tape.gradient(b, [a], b, "none") == [None]
    assert tape.gradient(b, b, tf.constant([3.0, 4.0])).numpy().tolist() == [3.0, 4.0]


def test_tangents_of_several_results_of_a_mixture() -> None:
    """All elements of a product of all are one choice, which each of several results keeps."""
    x = tf.constant([2.0, 3.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        parts = tf.unstack(tf.math.cumprod(x))
    assert [float(t) for t in tape.jvp(parts, x, tf.constant([1.0, 0.5]))] == [1.0, 4.0]


def test_messages_of_python_name_the_public_class() -> None:
    v = tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        y = v * v
    calls = {
        "GradientTape.jacobian": lambda: tape.jacobian(y, v, foo=1),
        "GradientTape.hvp": lambda: tape.hvp(y, v, foo=1),
        "Variable.scatter_add": lambda: v.scatter_add(foo=1),
        "Dataset.map": lambda: tf.data.Dataset.range(1).map(foo=1),
        "Optimizer.minimize": lambda: tf.train.AdamOptimizer().minimize(foo=1),
        "Model.fit": lambda: tf.keras.Sequential().fit(
            1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19
        ),
    }
    for name, call in calls.items():
        with pytest.raises(TypeError, match=rf"^{name}\(\)"):
            call()
