"""States of recurrent cells, which are tuples of tuples, are fetched and fed again."""

from pathlib import Path

import pytest

from tests.migrate.kept_and_compared import kept

pytest.importorskip("libcst")

WHOLE = """
import numpy as np
import tensorflow as tf
tf.set_random_seed(0)
x = tf.placeholder(tf.int32, [4, 12], name="x")
targets = tf.placeholder(tf.int32, [4, 12], name="targets")
embedding = tf.get_variable("embedding", [20, 8])
inputs = tf.nn.embedding_lookup(embedding, x)
cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(8) for _ in range(2)])
initial_state = cell.zero_state(4, tf.float32)
outputs, final_state = tf.nn.dynamic_rnn(cell, inputs, initial_state=initial_state)
logits = tf.layers.dense(tf.reshape(outputs, [-1, 8]), 20)
cost = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(targets, [-1]), logits=logits))
tvars = tf.trainable_variables()
grads, _ = tf.clip_by_global_norm(tf.gradients(cost, tvars), 5.0)
train = tf.train.AdamOptimizer(0.01).apply_gradients(zip(grads, tvars))
rng = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    state = sess.run(initial_state)
    for i in range(4):
        d = rng.randint(0, 20, (4, 13))
        value, state, _ = sess.run([cost, final_state, train], {x: d[:, :-1], targets: d[:, 1:], initial_state: state})
        print(i, "%.5f" % value)
"""
PARTS = """
# char-rnn: a model in a class, a state that is fed by its parts, sampling
import numpy as np
import tensorflow as tf
tf.set_random_seed(0)
class Model:
    def __init__(self, batch, steps):
        self.input_data = tf.placeholder(tf.int32, [batch, steps])
        self.targets = tf.placeholder(tf.int32, [batch, steps])
        with tf.variable_scope("rnnlm", reuse=tf.AUTO_REUSE):
            self.cell = cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.LSTMCell(6) for _ in range(2)])
            self.initial_state = cell.zero_state(batch, tf.float32)
            table = tf.get_variable("embedding", [10, 6])
            rows = tf.nn.embedding_lookup(table, self.input_data)
            out, self.final_state = tf.nn.dynamic_rnn(cell, rows, initial_state=self.initial_state)
            w = tf.get_variable("w", [6, 10])
        logits = tf.matmul(tf.reshape(out, [-1, 6]), w)
        self.probs = tf.nn.softmax(logits)
        self.cost = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=tf.reshape(self.targets, [-1]), logits=logits))
        self.train_op = tf.train.AdamOptimizer(0.05).minimize(self.cost)

def main():
    model = Model(2, 5)
    rng = np.random.RandomState(1)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for e in range(2):
            state = sess.run(model.initial_state)
            for b in range(2):
                d = rng.randint(0, 10, (2, 6))
                feed = {model.input_data: d[:, :-1], model.targets: d[:, 1:]}
                for i, (c, h) in enumerate(model.initial_state):
                    feed[c] = state[i].c
                    feed[h] = state[i].h
                train_loss, state, _ = sess.run([model.cost, model.final_state, model.train_op], feed)
                print("{}/{} loss {:.4f}".format(e, b, train_loss))
main()
"""
DROPPED = """
import numpy as np
import tensorflow as tf
tf.set_random_seed(0)
x = tf.placeholder(tf.float32, [None, 7, 3])
lengths = tf.placeholder(tf.int32, [None])
cell = tf.nn.rnn_cell.GRUCell(5)
cell = tf.nn.rnn_cell.DropoutWrapper(cell, output_keep_prob=0.8, seed=1)
out, state = tf.nn.dynamic_rnn(cell, x, sequence_length=lengths, dtype=tf.float32)
loss = tf.reduce_mean(tf.square(state))
train = tf.train.AdamOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(3):
        print("%.5f" % sess.run([train, loss], {x: np.random.RandomState(i).randn(4, 7, 3), lengths: [7, 3, 5, 1]})[1])
"""


def test_a_state_is_fed_as_a_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = kept(tmp_path, WHOLE, capsys)
    assert "*tf.nest.flatten(state)" in text
    # steps over time are a loop, and the class of tuples is made once
    assert text.count("for row in tf.unstack(") == text.count("i, j, f, o = tf.split(") == 1
    # a weight is called after its cell, not after the functions that ran that
    assert "\ncell_0_lstm_kernel = " in text and 'name="rnn/multi_rnn_cell/cell_1/basic_lstm_cell/bias")' in text
    assert text.count('LSTMStateTuple = namedtuple("LSTMStateTuple", "c h")') == text.count("namedtuple(") == 1


def test_a_state_is_fed_by_its_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = kept(tmp_path, PARTS, capsys)
    assert "for i, (c, h) in enumerate((LSTMStateTuple('initial_state', 'initial_state_2'), " in text
    assert "                feed[c] = state[i].c\n                feed[h] = state[i].h\n" in text
    assert "(**feed)" in text


def test_dropout_inside_of_a_loop_over_time_is_drawn_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = kept(tmp_path, DROPPED, capsys)
    assert text.count("tf.nn.dropout(") == 1
