"""The stored figures, clipping, schedules and averages against real TensorFlow."""

import warnings
from typing import Any

import numpy as np
import pytest

import graph_api
import optim
import tape_api
from tests.optim.cases import IDS, PAIRS, Case
from tests.optim.rows import REPEATED, on_tape
from tests.optim.tensorflow_figures import figures, stored

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]

SCHEDULES = {
    "ExponentialDecay": (0.5, 4, 0.7),
    "ExponentialDecay-staircase": (0.5, 4, 0.7, True),
    "InverseTimeDecay": (0.5, 4, 0.7),
    "InverseTimeDecay-staircase": (0.5, 4, 0.7, True),
    "PolynomialDecay": (0.5, 4, 0.1, 2.0),
    "PolynomialDecay-cycle": (0.5, 4, 0.1, 0.5, True),
    "PiecewiseConstantDecay": ([2, 5], [1.0, 0.5, 0.25]),
    "CosineDecay": (0.5, 4, 0.1),
    "CosineDecay-warmup": (0.5, 4, 0.1, "CosineDecay", 1.0, 3),
    "CosineDecayRestarts": (0.5, 3, 1.0, 1.0, 0.1),
    "CosineDecayRestarts-longer": (0.5, 2, 1.5, 0.8, 0.1),
}
LEGACY = {
    "exponential_decay": (0.5, 4, 0.7, True),
    "natural_exp_decay": (0.5, 4, 0.7),
    "inverse_time_decay": (0.5, 4, 0.7),
    "polynomial_decay": (0.5, 4, 0.1, 2.0, True),
    "cosine_decay": (0.5, 4, 0.1),
    "cosine_decay_restarts": (0.5, 2, 2.0, 0.9),
    "linear_cosine_decay": (0.5, 6, 1.5, 0.1, 0.01),
}


@pytest.mark.parametrize(("case", "dtype"), PAIRS, ids=IDS)
def test_the_stored_figures_are_tensorflows(case: Case, dtype: str) -> None:
    expected = figures(tensorflow, case, dtype)
    for got, step in zip(stored()[f"{case.id}/{dtype}"], expected, strict=True):
        for g, e in zip(got, step, strict=True):
            np.testing.assert_allclose(g, e, rtol=1e-6)


@pytest.mark.parametrize("key", SCHEDULES)
def test_schedules(key: str) -> None:
    name, arguments = key.partition("-")[0], SCHEDULES[key]
    ours = getattr(optim.schedules, name)(*arguments)
    theirs = getattr(tensorflow.keras.optimizers.schedules, name)(*arguments)
    for step in range(11):
        np.testing.assert_allclose(ours(step).numpy(), theirs(step), rtol=1e-6, err_msg=f"step {step}")


@pytest.mark.parametrize("name", LEGACY)
def test_legacy_schedules_in_a_graph(name: str) -> None:
    rate, *others = LEGACY[name]

    def values(tf: Any, home: Any) -> list[Any]:
        with tf.Graph().as_default(), tf.Session() as session:
            step = tf.placeholder(tf.int64, [])
            decayed = getattr(home, name)(rate, step, *others)
            return [session.run(decayed, {step: k}) for k in range(11)]

    v1 = tensorflow.compat.v1
    np.testing.assert_allclose(values(graph_api, optim), values(v1, v1.train), rtol=1e-6)


def test_averages() -> None:
    def values(tf: Any, home: Any) -> list[Any]:
        w, count = tf.Variable([1.0, 2.0]), tf.Variable(0)
        average = home.ExponentialMovingAverage(0.5, num_updates=count)
        got = []
        for k in range(5):
            average.apply([w])
            got.append(average.average(w).numpy())
            w.assign([k * 2.0, -k * 3.0])
            count.assign_add(1)
        return got

    np.testing.assert_allclose(values(tape_api, optim), values(tensorflow, tensorflow.train), rtol=1e-6)


X = np.array([[3.0, -4.0, 0.5], [0.0, 0.0, 0.0]], np.float32)
CLIPPED = {
    "value": lambda tf, clip, x: clip.clip_by_value(x, -1.0, 0.5),
    "value-tensor": lambda tf, clip, x: clip.clip_by_value(x, tf.constant([-1.0, 0.0, 0.1]), 2.0),
    "norm": lambda tf, clip, x: clip.clip_by_norm(x, 1.0),
    "norm-loose": lambda tf, clip, x: clip.clip_by_norm(x, 100.0),
    "norm-rows": lambda tf, clip, x: clip.clip_by_norm(x, 1.0, axes=[1]),
    "norm-negative": lambda tf, clip, x: clip.clip_by_norm(x, -1.0),
    "norm-zero-vector": lambda tf, clip, x: clip.clip_by_norm(x * 0.0, 1.0),
    "average_norm": lambda tf, clip, x: clip.clip_by_average_norm(x, 0.5),
    "global_norm": lambda tf, clip, x: clip.clip_by_global_norm([x, None, x[0] * 2.0], 2.0)[0][2],
    "global_norm-loose": lambda tf, clip, x: clip.clip_by_global_norm([x, None], 200.0)[0][0],
    "global_norm-given": lambda tf, clip, x: clip.clip_by_global_norm([x], 2.0, use_norm=tf.constant(4.0))[0][0],
    "norm-only": lambda tf, clip, x: clip.global_norm([x, None, x]),
}


@pytest.mark.parametrize("key", CLIPPED)
def test_clipping_and_its_gradient(key: str) -> None:
    def run(tf: Any, clip: Any) -> tuple[Any, Any]:
        x = tf.constant(X)
        with tf.GradientTape() as tape:
            tape.watch(x)
            out = CLIPPED[key](tf, clip, x)
        return out.numpy(), tape.gradient(out, x).numpy()

    got, expected = run(tape_api, optim), run(tensorflow, tensorflow.compat.v1)
    np.testing.assert_allclose(got[0], expected[0], rtol=1e-6)
    np.testing.assert_allclose(got[1], expected[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("case", "dtype"), PAIRS, ids=IDS)
def test_gradients_that_consist_of_rows(case: Case, dtype: str) -> None:
    got = on_tape(tape_api, case.ours(), dtype, REPEATED)
    expected = on_tape(tensorflow, case.theirs(tensorflow), dtype, REPEATED)
    np.testing.assert_allclose(got, expected, rtol=0, atol=5e-6 if dtype == "float32" else case.tol64 * 3)


ROWS_CLIPPED = {
    "value": lambda tf, x: tf.clip_by_value(x, -1.0, 0.5),
    "norm": lambda tf, x: tf.clip_by_norm(x, 1.0),
    "global_norm": lambda tf, x: tf.clip_by_global_norm([x], 2.0)[0][0],
}


@pytest.mark.parametrize("key", ROWS_CLIPPED)
def test_clipping_of_rows(key: str) -> None:
    def run(tf: Any) -> np.ndarray:
        rows = tf.IndexedSlices(tf.constant([[3.0, -4.0], [0.5, 1.0]]), tf.constant([1, 1]), tf.constant([3, 2]))
        clipped = ROWS_CLIPPED[key](tf, rows)
        np.testing.assert_array_equal(clipped.indices, [1, 1])
        return np.asarray(clipped.values)

    np.testing.assert_allclose(run(tape_api), run(tensorflow), rtol=1e-6)


def test_adam_in_double_precision_keeps_its_powers_in_single() -> None:
    """As TensorFlow 1 does: legacy runs differ in the seventh digit otherwise."""

    def run(tf: Any) -> Any:
        with tf.Graph().as_default(), tf.Session() as sess:
            w = tf.get_variable("w", initializer=np.array([1.0, -2.0, 3.0]))
            step = tf.train.AdamOptimizer(0.01).minimize(tf.reduce_sum(w * w * w * w))
            sess.run(tf.global_variables_initializer())
            for _ in range(200):
                sess.run(step)
            return sess.run(w), sess.run("beta1_power:0" if tf is graph_api else tf.global_variables()[1])

    (ours, power), (theirs, expected) = run(graph_api), run(tensorflow.compat.v1)
    np.testing.assert_allclose(ours, theirs, rtol=1e-13)
    assert power == expected
