"""Assertions of a graph, and what waits for them, are assertions of tape code; runs that they refuse are kept."""

from pathlib import Path

import pytest

from tests.migrate.kept_and_compared import kept

pytest.importorskip("libcst")

ASSERTED = """
import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [None, None], name="x")
mask = tf.placeholder(tf.float32, [None], name="mask")
n = tf.placeholder_with_default(2, [], name="n")
with tf.control_dependencies([
    tf.assert_non_negative(mask, message="mask must not be negative"),
    tf.assert_equal(tf.shape(x)[0], tf.shape(mask)[0], message="rows"),
]):
    weighted = x * tf.expand_dims(mask, 1)
w = tf.Variable([[0.5], [-0.25], [1.0]], name="w")
assert_pos = tf.Assert(tf.greater(n, 0), ["n must be positive, it is", n])
with tf.control_dependencies([assert_pos]):
    score = tf.reduce_sum(tf.matmul(weighted, w)) / tf.to_float(n)
safe = tf.check_numerics(tf.log(tf.square(score) + 1.0), "score")
with tf.control_dependencies([tf.assert_less(safe, 100.0), tf.assert_rank(x, 2)]):
    loss = tf.identity(safe)
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

rng = np.random.RandomState(1)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(4):
        feed = {x: rng.randn(5, 3), mask: np.abs(rng.randn(5))}
        print("%.4f" % sess.run([loss, train], feed)[0])
    try:
        sess.run(loss, {x: rng.randn(5, 3), mask: -np.ones(5)})
    except tf.errors.InvalidArgumentError:
        print("refused a negative mask")
    try:
        sess.run(loss, {x: rng.randn(5, 3), mask: np.ones(5), n: 0})
    except tf.errors.InvalidArgumentError:
        print("refused n = 0")
"""

SHOWN = """
import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [None, None], name="x")
with tf.control_dependencies([tf.debugging.assert_shapes([(x, ("n", 3))])]):
    y = tf.verify_tensor_all_finite(tf.ensure_shape(x, [None, 3]) * 2.0, "y is not finite")
w = tf.Variable([[1.0], [2.0], [3.0]], name="w")
state = tf.nn.rnn_cell.BasicRNNCell(1).zero_state(tf.shape(x)[0], tf.float32)
loss = tf.reduce_mean(tf.square(tf.matmul(y, w) + state))
loss = tf.Print(loss, [loss, w], "loss: ", summarize=2)
step = tf.train.GradientDescentOptimizer(0.001).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(3):
        print("%.3f" % sess.run([loss, step], {x: np.ones((4, 3)) * i})[0])
"""


def test_what_is_printed_and_checked_on_the_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = kept(tmp_path, SHOWN, capsys)
    assert "tf.compat.v1.Print(" in text and "[loss, w], message='loss: ', summarize=2" in text.replace('"', "'")
    assert "tf.ensure_shape(x, [None, 3])" in text and "tf.zeros(tf.stack(" in text
    assert "tf.debugging.assert_equal(tf.shape(x)[-1], 3)" in text


def test_assertions_stay_as_they_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = kept(tmp_path, ASSERTED, capsys)
    # the condition stands where it is asserted, also in a function that others call; a run that failed is one, too
    assert 'tf.debugging.assert_greater_equal(mask, 0.0, message="mask must not be negative")' in text
    assert 'tf.debugging.assert_equal(strided_slice, strided_slice_2, message="rows")' in text
    assert "tf.debugging.assert_greater(n, 0)" in text and "tf.debugging.assert_less(safe, 100.0)" in text
    assert "tf.reduce_all" not in text and "except tf.errors.InvalidArgumentError:" in text
