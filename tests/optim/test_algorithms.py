"""Every optimizer over twenty steps: TensorFlow's values, and the same bits in both modes."""

from typing import Any

import numpy as np
import pytest

import graph_api
import optim
import tape_api
from tests.optim.cases import IDS, KEPT, PAIRS, STEPS, Case
from tests.optim.runs import in_graph, on_tape
from tests.optim.tensorflow_figures import stored
from tests.support import assert_same_bits

FIGURES = stored()


def tolerance(case: Case, dtype: str) -> float:
    """In units of the largest element, or of 1: the variables started from about that."""
    return case.tol32 if dtype == "float32" else case.tol64


def test_the_stored_figures_are_those_of_the_cases() -> None:
    assert list(FIGURES) == IDS


@pytest.mark.parametrize(("case", "dtype"), PAIRS, ids=IDS)
def test_values_are_those_of_tensorflow(case: Case, dtype: str) -> None:
    steps, _ = on_tape(case, dtype)
    assert len(steps) == STEPS
    for got, expected in zip([steps[k - 1] for k in KEPT], FIGURES[f"{case.id}/{dtype}"], strict=True):
        for g, e in zip(got, expected, strict=True):
            assert g.dtype == dtype
            np.testing.assert_allclose(g, e, rtol=0, atol=tolerance(case, dtype) * max(1.0, np.abs(e).max()))


@pytest.mark.parametrize(("case", "dtype"), PAIRS, ids=IDS)
def test_graph_and_tape_agree_to_the_bit(case: Case, dtype: str) -> None:
    taped, taped_slots = on_tape(case, dtype)
    graphed, graphed_slots = in_graph(case, dtype)
    for t, g in zip(taped, graphed, strict=True):
        assert_same_bits(t, g)
    assert list(taped_slots) == list(graphed_slots)
    for name, slot in taped_slots.items():
        assert_same_bits(slot, graphed_slots[name])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("legacy", "modern"),
    [
        (optim.GradientDescentOptimizer(0.1), optim.keras.SGD(0.1)),
        (optim.AdamOptimizer(0.1, epsilon=1e-7), optim.keras.Adam(0.1)),
        (optim.AdadeltaOptimizer(0.1, epsilon=1e-7), optim.keras.Adadelta(0.1)),
        (optim.FtrlOptimizer(0.1), optim.keras.Ftrl(0.1)),
    ],
    ids=["descent", "adam", "adadelta", "ftrl"],
)
def test_old_and_new_names_are_the_same_algorithm(legacy: Any, modern: Any, dtype: str) -> None:
    """A program moved from `tf.train` to Keras keeps its numbers."""

    def run(optimizer: Any) -> list[Any]:
        w = tape_api.Variable([1.0, -2.0, 3.0], dtype=dtype)
        return [(optimizer.apply_gradients([(w * w * w, w)]), w.numpy())[1] for _ in range(4)]

    old, new = run(legacy), run(modern)
    if dtype == "float64" and isinstance(legacy, (optim.AdamOptimizer, optim.AdadeltaOptimizer, optim.FtrlOptimizer)):
        # TensorFlow 1 holds all hyperparameters in single precision, Keras only those that it casts
        np.testing.assert_allclose(old, new, rtol=1e-5)
    else:
        assert_same_bits(old, new)


def test_hyperparameters_may_be_tensors() -> None:
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.Variable([1.0, 2.0], dtype=tf.float64)
        rate, momentum = tf.placeholder(tf.float32, []), tf.Variable(0.5)
        train = optim.MomentumOptimizer(rate, momentum).apply_gradients([([1.0, 1.0], w)])
        session.run(tf.global_variables_initializer())
        session.run(train, {rate: 0.25})
        np.testing.assert_array_equal(session.run(w), [0.75, 1.75])
        session.run(momentum.assign(1.0))
        session.run(train, {rate: 0.5})
        np.testing.assert_array_equal(session.run(w), [-0.25, 0.75])


def test_hyperparameters_may_be_callables() -> None:
    rates = iter([0.5, 0.25])
    w = tape_api.Variable(1.0)
    optimizer = optim.GradientDescentOptimizer(lambda: next(rates))
    optimizer.apply_gradients([(1.0, w)])
    optimizer.apply_gradients([(1.0, w)])
    assert w.numpy() == 0.25


def test_a_legacy_optimizer_follows_a_schedule_object() -> None:
    schedule = optim.schedules.PiecewiseConstantDecay([0], [0.5, 0.25])
    w = tape_api.Variable(1.0)
    optimizer = optim.GradientDescentOptimizer(schedule)
    optimizer.apply_gradients([(1.0, w)])
    optimizer.apply_gradients([(1.0, w)])
    assert w.numpy() == 0.25


def test_complex_variables_descend_along_the_gradient() -> None:
    tf = tape_api
    w = tf.Variable([1 + 2j, -1j])
    optimizer = optim.keras.SGD(0.25)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.math.real(w * tf.math.conj(w)))
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    np.testing.assert_allclose(w.numpy(), [0.5 + 1j, -0.5j])


def test_scalars_and_empty_variables() -> None:
    scalar, empty = tape_api.Variable(2.0), tape_api.Variable(np.zeros((0, 3), np.float32))
    optim.keras.Adam(0.5).apply_gradients([(1.0, scalar), (np.zeros((0, 3)), empty)])
    assert scalar.numpy() == pytest.approx(1.5, rel=1e-5)
    assert empty.numpy().shape == (0, 3)


def test_float16_stays_float16() -> None:
    w = tape_api.Variable([1.0, 2.0], dtype="float16")
    optim.keras.Adam(0.5).apply_gradients([(tape_api.constant([1.0, -1.0], "float16"), w)])
    assert w.numpy().dtype == np.float16
    np.testing.assert_allclose(w.numpy(), [0.5, 2.5], atol=2e-3)
