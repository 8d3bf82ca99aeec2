"""Programs in the style of published ones, whose converted text a person would keep."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.migrate.kept_and_compared import kept

pytest.importorskip("libcst")

WORDS = """
import numpy as np
import tensorflow as tf
tf.set_random_seed(7)
words, context = tf.placeholder(tf.int32, [8]), tf.placeholder(tf.int32, [8, 1])
embeddings = tf.Variable(tf.random_uniform([20, 4], -1.0, 1.0))
weights, biases = tf.Variable(tf.truncated_normal([20, 4], stddev=0.3)), tf.Variable(tf.zeros([20]))
embed = tf.nn.embedding_lookup(embeddings, words)
loss = tf.reduce_mean(tf.nn.LOSS(weights, biases, context, embed, num_sampled=5, num_classes=20))
train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(4):
        feed = {words: np.arange(8) + step, context: (np.arange(8) * 3 % 20)[:, None]}
        print(session.run([train, loss], feed)[1])
"""
NETWORKS = """
import numpy as np
import tensorflow as tf
class Learner(object):
    def __init__(self):
        self.state = tf.placeholder(tf.float32, [None, 3])
        self.build()
        self.session = tf.Session()
        self.session.run(tf.global_variables_initializer())
    def weight_variable(self, shape):
        initial = tf.truncated_normal(shape, seed=1)
        return tf.Variable(initial)
    def bias_variable(self, shape):
        bias = tf.Variable(tf.constant(0.01, shape=shape))
        return bias
    def build(self):
        with tf.variable_scope('current'):
            W1 = self.weight_variable([3, 2])
            b1 = self.bias_variable([2])
            self.value = tf.matmul(self.state, W1) + b1
        with tf.variable_scope('target'):
            W1t = self.weight_variable([3, 2])
            b1t = self.bias_variable([2])
            self.target_value = tf.matmul(self.state, W1t) + b1t
        self.loss = tf.reduce_mean(tf.square(self.value - 1.0))
        self.step = tf.train.GradientDescentOptimizer(0.1).minimize(self.loss, var_list=[W1, b1])
        self.replace_op = [tf.assign(t, v) for t, v in zip([W1t, b1t], [W1, b1])]
    def train(self, x):
        self.session.run(self.step, {self.state: x})
        self.session.run(self.replace_op)
        return self.session.run(self.target_value, {self.state: x})
def main():
    learner = Learner()
    for i in range(3):
        print(learner.train(np.ones([2, 3]) * i).sum())
main()
"""
ELEMENTS = """
import numpy as np
import tensorflow as tf
features, targets = np.arange(12.0, dtype=np.float32).reshape(6, 2), np.arange(6.0, dtype=np.float32)
def input_fn(batch):
    dataset = tf.data.Dataset.from_tensor_slices((features, targets)).repeat(2).batch(batch)
    return dataset.make_one_shot_iterator().get_next()
x, t = input_fn(2)
w = tf.Variable(tf.zeros([2, 1]))
loss = tf.reduce_mean(tf.square(tf.squeeze(tf.matmul(x, w), 1) - t))
train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    try:
        while True:
            print(sess.run([train, loss])[1])
    except tf.errors.OutOfRangeError:
        print("done")
"""
SEGMENTS = """
import numpy as np
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, 2])
ws = [tf.get_variable("w%d" % i, [2, 2], initializer=tf.ones_initializer()) for i in range(4)]
kept = [x]
for s in range(0, 4, 2):
    kept.append(tf.tanh(tf.matmul(tf.tanh(tf.matmul(kept[-1], ws[s])), ws[s + 1])))
loss = tf.reduce_mean(tf.square(kept[-1] - 1.0))
d = tf.gradients(loss, kept[-1])[0]
grads = [None] * 4
for k in reversed(range(len(kept) - 1)):
    start = tf.identity(tf.stop_gradient(kept[k]))
    own = ws[2 * k:2 * k + 2]
    end = tf.tanh(tf.matmul(tf.tanh(tf.matmul(start, own[0])), own[1]))
    d, *grads[2 * k:2 * k + 2] = tf.gradients(end, [start] + own, grad_ys=d)
train = tf.train.GradientDescentOptimizer(0.1).apply_gradients(list(zip(grads, ws)))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(3):
        print(sess.run([train, loss], {x: np.ones([3, 2]) * 0.3 * i})[1])
"""


@pytest.mark.parametrize(
    ("loss", "wanted"),
    [("nce_loss", "log_uniform_candidate_sampler("), ("sampled_softmax_loss", "num_classes=20, seed=2)")],
)
def test_sampled_classes_are_drawn_with_the_seed_of_the_graph(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], loss: str, wanted: str
) -> None:
    text = kept(tmp_path, WORDS.replace("LOSS", loss), capsys)
    assert wanted in text and "seed=2)" in text


def test_variables_have_names_of_the_lines_that_ask_for_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Functions that only make and return a variable name nothing; several assignments are named once."""
    text = kept(tmp_path, NETWORKS, capsys)
    for name in ("W1", "b1", "W1t", "b1t"):
        assert f"{name} = tf.Variable(" in text
    assert "def run_replace_op(" in text and "_more" not in text


def test_a_function_that_returns_the_next_element_returns_the_iterator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = kept(tmp_path, ELEMENTS, capsys)
    assert "return iter(dataset)" in text and "iterator = input_fn(2)" in text and "train(*iterator.get_next())" in text


def test_numbers_of_loops_that_only_build_are_not_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a loop counts down is another number each time; the loop goes, as nothing of it is left."""
    text = kept(tmp_path, SEGMENTS, capsys)
    assert "converted" not in text.split("\n", 1)[1] and "reversed" not in text
