"""Loops that choose, while they run, what is fetched and fed, and that hand parts of the graph on, are kept."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.migrate.in_process import dualgrad
from tests.migrate.kept_and_compared import kept
from tests.migrate.test_loop import CONVERT
from tests.processes import printed

pytest.importorskip("libcst")

MODEL = """
from collections import namedtuple
import numpy as np
import tensorflow as tf
Model = namedtuple("Model", "x y lr loss pred step both saver")
def build(n):
    x = tf.placeholder(tf.float32, [None, n], name="x")
    y = tf.placeholder(tf.float32, [None], name="y")
    lr = tf.placeholder(tf.float32, [], name="lr")
    w = tf.get_variable("w", [n, 1], initializer=tf.ones_initializer())
    pred = tf.matmul(x, w)[:, 0]
    loss = tf.reduce_mean(tf.square(pred - y))
    optimizer = tf.train.GradientDescentOptimizer(lr)
    return Model(x, y, lr, loss, pred, optimizer.minimize(loss), [tf.reduce_sum(w), w], tf.train.Saver())
X = np.arange(12.0).reshape(6, 2) / 12
Y = X[:, 0] - X[:, 1]
"""
PROGRAMS = {
    # fetches that grow, in a function that was given a tuple of parts of the graph
    "grown": MODEL
    + """
def train(sess, model, steps):
    for i in range(steps):
        feed = {model.x: X, model.y: Y, model.lr: 0.1}
        fetches = [model.step]
        if i % 2 == 0:
            fetches.extend([model.loss, model.pred])
        got = sess.run(fetches, feed)
        if len(got) > 1:
            print(i, got[1], got[2].sum())
    return got[0]
def evaluate(sess, model, *data):
    x, y = data
    return sess.run(model.loss, {model.x: x, model.y: y})
def main():
    model = build(2)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        last = train(sess, model, 5)
        print(last, evaluate(sess, model, *(X[:2], Y[:2])))
main()
""",
    # what is fetched and fed is a function's argument
    "given": MODEL
    + """
def epoch(sess, fetches, feeds, values):
    return sess.run(fetches, feed_dict=dict(zip(feeds, values)))
def feed(model, x, y=None):
    found = {model.x: x}
    if y is not None:
        found[model.y] = y
    return found
def main(_):
    sess = tf.Session()
    model = build(2)
    sess.run(tf.global_variables_initializer())
    for i in range(3):
        both = {"loss": model.loss, "step": model.step}
        print(epoch(sess, both, [model.x, model.y, model.lr], [X, Y, 0.1 / (i + 1)])["loss"])
        print(epoch(sess, [model.pred, model.both], [model.x], [X])[1][0])
        print(sess.run(model.loss, feed(model, X, Y)), sess.run(model.pred, feed(model, X[:1]))[0])
if __name__ == "__main__":
    tf.app.run()
""",
    # one function makes the session, and others below it run it
    "below": '"""An agent."""\n'
    + MODEL
    + """
class Agent:
    def __init__(self, sess):
        self.seen = []
        self.build()
        self.sess = sess
        self.sess.run(tf.global_variables_initializer())
    def build(self):
        self.x = tf.placeholder(tf.float32, [None, 2])
        self.w = tf.Variable(tf.ones([2, 1]))
        self.copy = tf.Variable(tf.zeros([2, 1]))
        self.value = tf.matmul(self.x, self.w)
        self.step = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(tf.square(self.value)))
        self.update = [tf.assign(a, b) for a, b in [(self.copy, self.w)]]
    def act(self, x):
        self.seen.append(x)
        if len(self.seen) % 2 == 0:
            self.sess.run(self.update)
            self.sess.run(self.step, {self.x: self.seen[-2:]})
        return self.value.eval({self.x: [x]}, session=self.sess)[0, 0]
def main():
    sess = tf.InteractiveSession()
    agent = Agent(sess)
    for row in X:
        print(agent.act(row))
if __name__ == "__main__":
    main()
""",
    # a state that goes from one run into the next, and a rate that the program computes
    "state": """
import numpy as np
import tensorflow as tf
class Net:
    def __init__(self, size):
        cell = tf.nn.rnn_cell.BasicLSTMCell(size)
        self.x = tf.placeholder(tf.float32, [1, 3, 2])
        self.start = cell.zero_state(1, tf.float32)
        with tf.variable_scope("net", initializer=tf.constant_initializer(0.3)):
            outputs, self.final = tf.nn.dynamic_rnn(cell, self.x, initial_state=self.start)
        self.loss = tf.reduce_mean(tf.square(outputs - 1.0))
        self.lr = tf.Variable(0.0, trainable=False)
        self.step = tf.train.GradientDescentOptimizer(self.lr).minimize(self.loss)
    def sample(self, sess, n):
        state = sess.run(self.start)
        for i in range(n):
            feed = {self.x: np.full([1, 3, 2], i), self.start: state}
            [state] = sess.run([self.final], feed)
        return state
def train():
    net = Net(2)
    data = np.arange(24.0).reshape(4, 1, 3, 2) / 24
    vocab = {c: i for i, c in enumerate("ab")}
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for e in range(3):
            sess.run(tf.assign(net.lr, 0.1 * (0.5 ** e)))
            state = sess.run(net.start)
            for x in data:
                feed = {net.x: x}
                for i, c in enumerate(net.start):
                    feed[c] = state[i]
                loss, state, _ = sess.run([net.loss, net.final, net.step], feed)
            print(e, loss, vocab["b"], sess.run(net.lr))
        print(net.sample(sess, 2)[0].sum())
if __name__ == "__main__":
    train()
""",
}


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, str, dict[str, Any]]]:
    """By name: the program, and the text and the map of what it was converted to."""
    folder = tmp_path_factory.mktemp("hosts")
    found = {}
    for name, text in PROGRAMS.items():
        file = folder / f"{name}.py"
        file.write_text(text)
        printed("-c", CONVERT, file, cwd=folder)
        out = file.with_suffix(".out.py")
        found[name] = file, out.read_text(), json.loads(out.with_suffix(".map.json").read_text())
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_loop_is_kept(
    converted: dict[str, tuple[Path, str, dict[str, Any]]], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It prints the same: `host_program.tried`. What it computes is compared with the record of the old program."""
    file, text, content = converted[name]
    assert content["whole"] is True, content["why"]
    assert "Session" not in text and "placeholder" not in text and "import tensorflow" not in text
    assert dualgrad(file.parent, "record", "-o", f"{name}.record", file.name) == 0
    assert dualgrad(file.parent, "compare", f"{name}.record", f"{name}.out.py") == 0
    assert "EQUAL TO THE BIT" in capsys.readouterr().out


def test_what_is_fetched_and_fed_has_labels(converted: dict[str, tuple[Path, str, dict[str, Any]]]) -> None:
    _, text, _ = converted["grown"]
    assert "fetches = ['step']\n" in text and "fetches.extend(['loss', 'pred'])\n" in text
    assert "got = run(fetches, feed)\n" in text
    _, text, _ = converted["given"]
    assert "found = {'x': x}\n" in text and "run(fetches, dict(zip(feeds, values)))" in text
    assert "both = {\"loss\": 'loss', \"step\": 'step'}\n" in text


def test_nothing_that_was_printed_stands_in_the_program(converted: dict[str, tuple[Path, str, dict[str, Any]]]) -> None:
    """A function that builds the graph and calls what runs it does not only build."""
    _, text, _ = converted["below"]
    assert "print(agent.act(row))\n" in text
    assert "agent = Agent(sess)\n" in text
    assert text.startswith('"""below.py, as tape code: written by dualgrad convert.\n\nAn agent.\n"""\n')


def test_a_state_is_fed_and_a_rate_assigned(converted: dict[str, tuple[Path, str, dict[str, Any]]]) -> None:
    _, text, _ = converted["state"]
    assert "lr.assign(0.1 * (0.5 ** e))" in text
    assert '*feed["start"]' in text
    assert "vocab = {c: i for i, c in enumerate(" in text


def test_an_operation_that_assigns_is_made_and_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = """
import numpy as np
import tensorflow as tf
w = tf.get_variable("w", initializer=np.ones(2, np.float32))
old = tf.get_variable("old", initializer=np.zeros(2, np.float32))
copy = old.assign(0.5 * old + w)
sess = tf.Session()
sess.run(tf.global_variables_initializer())
for step in range(3):
    print(sess.run(old), step)
    if step:
        sess.run(copy)
"""
    assert "copy =" not in kept(tmp_path, program, capsys)
