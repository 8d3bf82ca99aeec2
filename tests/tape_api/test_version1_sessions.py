"""``tf.compat.v1`` in eager mode, as TensorFlow 2.21 has it: what needs a graph raises, the rest has no effect."""

from typing import Any

import numpy as np
import pytest

import tape_api as tf
from tests.tapes import watching

v1 = tf.compat.v1


def test_nothing_is_fed() -> None:
    assert v1.placeholder_with_default(3.0, []).numpy() == 3.0
    x = tf.Variable([1.0, 2.0])
    tape, y = watching((), lambda: v1.placeholder_with_default(x * x, [None]))
    assert tape.gradient(y, x).numpy().tolist() == [2.0, 4.0]
    for call in (v1.placeholder, v1.sparse_placeholder):
        with pytest.raises(RuntimeError, match=r"is not compatible with eager execution.*imports graph_api as tf"):
            call(tf.float32)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: v1.Session(config=v1.ConfigProto(allow_soft_placement=True)).run(tf.constant(1.0)), "graph is empty"),
        (lambda: v1.summary.FileWriter("/nowhere"), "FileWriter is not compatible with eager execution"),
        (lambda: v1.summary.merge_all(), "is not compatible with eager execution"),
        (lambda: v1.data.make_initializable_iterator(tf.data.Dataset.range(2)), "is not supported in eager mode"),
    ],
)
def test_what_needs_a_graph_raises(call: Any, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        call()


def test_variables_are_initialized_and_nowhere_collected() -> None:
    config = v1.ConfigProto()
    config.gpu_options.allow_growth = True
    v1.InteractiveSession(config=config).close()
    v = v1.get_variable("w", [2], initializer=v1.zeros_initializer())
    assert v.name == "w:0" and v.numpy().tolist() == [0.0, 0.0] and v1.get_variable("w", [2]) is not v
    with v1.variable_scope("a", initializer=v1.constant_initializer(3.0)):
        inner = v1.get_variable("b", [1])
    assert inner.name == "a/b:0" and inner.numpy().tolist() == [3.0]
    assert v1.get_variable("c", initializer=np.ones(2, np.float32), trainable=False).trainable is False
    assert v1.global_variables_initializer() is None and v1.variables_initializer([v]) is None
    assert v1.trainable_variables() == v1.get_collection(v1.GraphKeys.TRAINABLE_VARIABLES) == []
    assert v1.is_variable_initialized(v).numpy() and v1.report_uninitialized_variables().shape == (0,)
    v1.add_to_collection("own", 1)
    assert v1.get_collection("own") == [1]
    v1.reset_default_graph()
    assert v1.get_collection("own") == []
    with v1.variable_scope("a", reuse=True), pytest.raises(RuntimeError, match="EagerVariableStore"):
        v1.get_variable("b", [1])
    with pytest.raises(ValueError, match="must be fully defined"):
        v1.get_variable("d")
    assert v1.losses.get_regularization_loss().numpy() == 0.0 and v1.losses.get_losses() == []


def test_initial_values_are_version_1s() -> None:
    """Other ranges than in TensorFlow 2; the numbers of a seed are those of TensorFlow's generator."""
    tf.random.set_seed(5)
    one = v1.random_uniform_initializer(seed=1)([2])
    tf.random.set_seed(5)
    np.testing.assert_array_equal(one, tf.random.uniform([2], seed=1))
    drawn = v1.random_uniform_initializer()([1000]).numpy()
    assert drawn.min() >= 0 and drawn.max() > 0.9
    assert v1.random_normal_initializer()([1000]).numpy().std() > 0.8
    limit = np.sqrt(6 / 30)
    glorot = v1.glorot_uniform_initializer()([10, 20]).numpy()
    assert abs(glorot).max() <= limit and abs(glorot).max() > 0.9 * limit


def test_small_things(capsys: pytest.CaptureFixture[str]) -> None:
    assert v1.Print(tf.constant(1.0), ["x"]).numpy() == 1.0 and "x" in capsys.readouterr().err
    assert [x.numpy() for x in v1.tuple([tf.constant(1.0), 2])] == [1.0, 2]
    v1.assert_equal(1, 1, None, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"x > y did not hold.\nx: \[-7 -7 -7 -7 -7 -7 -7\]"):
        v1.assert_positive([-7] * 7, None, 7)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"x == y did not hold.\nx: \[1 1 1 1 1 1 1\]"):
        v1.assert_equal([1] * 7, 2, None, 7)
    with pytest.raises(TypeError):
        v1.assert_positive(1, anything=1)
    v1.Assert(True, ["x"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Summarized data"):
        v1.Assert(False, ["x"])
    assert v1.data.make_one_shot_iterator(tf.data.Dataset.range(2)).get_next().numpy() == 0
    assert v1.executing_eagerly_outside_functions() and v1.SparseTensorValue([[0]], [1.0], [2]).values == [1.0]
