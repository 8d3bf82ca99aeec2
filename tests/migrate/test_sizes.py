"""Numbers that a program counts in its data: the new program works with other data, or refuses them."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.migrate.in_process import dualgrad
from tests.migrate.kept_and_compared import kept

pytest.importorskip("libcst")

HOME = Path(__file__).resolve().parents[2]
SAID = """
import numpy as np
import tensorflow as tf
tf.set_random_seed(3)
words = "one fish two fish red fish blue fish".split()
index = {w: i for i, w in enumerate(sorted(set(words)))}
size, rows = len(index), len(words)
data = [index[w] for w in words]
x = tf.placeholder(tf.int32, [None])
table = tf.Variable(tf.random_uniform([size, 2], -1.0, 1.0))
bias = tf.Variable(tf.zeros([size]))
logits = tf.matmul(tf.nn.embedding_lookup(table, x), tf.get_variable("out", [2, size])) + bias
loss = tf.reduce_sum(tf.square(tf.one_hot(x, size) - logits)) / (2 * rows)
train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(3):
        print("%.6f" % sess.run([train, loss], {x: data})[1])
"""
REFUSED = """
import numpy as np
import tensorflow as tf
def build(x, size, classes):
    w = tf.get_variable("w", [size, classes], initializer=tf.ones_initializer())
    return tf.matmul(x, w)
def main():
    data = np.array([[1.0, 2.0, 3.0], [2.0, 0.5, 1.0]])
    layers = [3, 2]
    x = tf.placeholder(tf.float32, [None, data.shape[1]])
    y = build(x, data.shape[1], layers[1])
    for _ in range(len(data)):
        y = tf.tanh(y)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        print(sess.run(y, {x: data}), layers)
main()
"""


def _ran(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *words]
    environment = {"PYTHONPATH": str(HOME)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_sizes_are_said_as_the_program_says_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = kept(tmp_path, SAID, capsys)
    assert "tf.zeros([size])" in text and "tf.one_hot(x, size)" in text and "/ (2 * rows)" in text
    other = "red fish blue fish"
    (tmp_path / "old_other.py").write_text(SAID.replace("one fish two fish red fish blue fish", other))
    (tmp_path / "new_other.py").write_text(text.replace("one fish two fish red fish blue fish", other))
    old, new = _ran(tmp_path, "-m", "dualgrad", "run", "old_other.py"), _ran(tmp_path, "new_other.py")
    assert old.stdout == new.stdout != ""


def test_sizes_that_cannot_be_said_are_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sized.py").write_text(REFUSED)
    assert dualgrad(tmp_path, "record", "-o", "record", "sized.py") == 0
    assert dualgrad(tmp_path, "convert", "-o", "new.py", "sized.py") == 0
    capsys.readouterr()
    assert dualgrad(tmp_path, "compare", "record", "new.py") == 0
    said = capsys.readouterr().out
    assert said.splitlines()[1].startswith("EQUAL ONLY FOR THIS RUN.")
    assert "(data.shape[1] = 3, len(data) = 2)" in said  # an element of a list of the text is no count
    text = (tmp_path / "new.py").read_text()
    assert "if data.shape[1] != 3:  # line 10, from the run" in text
    for other in ("[[1.0, 2.0], [2.0, 0.5]]", "[[1.0, 2.0, 3.0]]"):
        (tmp_path / "other.py").write_text(text.replace("[[1.0, 2.0, 3.0], [2.0, 0.5, 1.0]]", other))
        assert "for which this program was converted" in _ran(tmp_path, "other.py").stderr


def test_numbers_that_the_graph_was_asked_for_are_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = SAID.replace("with tf.Session", "held = int(table.shape[0]) * 1000\nwith tf.Session")
    program = program.replace("[train, loss], {x: data})[1])", "[train, loss], {x: data})[1], held)").replace(
        '"%.6f" % ', ""
    )
    text = kept(tmp_path, program, capsys, "EQUAL ONLY FOR THIS RUN")
    assert "held = 5 * 1000" in text
    (tmp_path / "other.py").write_text(text.replace("one fish two fish red fish blue fish", "red fish blue fish"))
    assert "for which this program was converted" in _ran(tmp_path, "other.py").stderr


WRITTEN = """
import numpy as np
import tensorflow as tf
tf.set_random_seed(3)
class Net:
    def __init__(self, rate):
        self.x = tf.placeholder(tf.float32, [None, 3])
        self.rate = rate
        self.w = tf.get_variable("w", [3, 2])
        self.kept = tf.Variable(self.w.initialized_value(), trainable=False)
        _, _, rows = tf.while_loop(lambda i, y, _: i < 3, lambda i, y, rows: (i + 1, y + y, rows.write(i, y)),
                                   [0, tf.matmul(self.x, self.w - self.kept * 0.25), tf.TensorArray(tf.float32, 3)])
        self.loss = tf.reduce_sum(rows.stack()) * self.rate
decay = 0.625
net = Net(decay)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print("%.5f" % sess.run(net.loss, {net.x: np.ones((4, 3))}))
"""


def test_attributes_and_first_values_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = kept(tmp_path, WRITTEN, capsys)
    assert all(said in text for said in ("tf.Variable(w, trainable", "* decay", "tf.while_loop(")), text
