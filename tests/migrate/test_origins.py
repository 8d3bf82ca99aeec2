"""Values that a program draws or computes where it builds its graph: in the new program its own text makes them."""

import json
from pathlib import Path

import pytest

from tests.migrate.in_process import dualgrad

_TRAINING = """
step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(3):
        print("%.6f" % sess.run([step, loss], {x: rng.rand(4, 3)})[1])
"""
_LAYERS = """
import numpy as np
import tensorflow as tf
rng = np.random.RandomState(0)
sizes = [3, 5, 2]
def start(size):
    bound = 1.0 / np.sqrt(size[0])
    return rng.uniform(-bound, bound, size).astype(np.float32)
def dense(x, n_out, name):
    with tf.variable_scope(name):
        n_in = int(x.get_shape()[1])
        w = tf.get_variable("w", initializer=start([n_in, n_out]))
        b = tf.get_variable("b", [n_out], initializer=tf.constant_initializer(rng.rand(n_out)))
        unused = tf.get_variable("unused", initializer=rng.rand(n_out))
        return tf.matmul(x, w) + b
x = tf.placeholder(tf.float32, [None, 3])
loss = tf.reduce_mean(tf.square(dense(dense(x, sizes[1], "hidden"), sizes[2], "output")))
"""
_LISTED = """
import numpy as np
import tensorflow as tf
rng, sizes = np.random.RandomState(0), [3, 4, 4, 2]
weights = []
for n_in, n_out in zip(sizes[:-1], sizes[1:]):
    drawn = (rng.randn(n_in, n_out) / np.sqrt(n_in)).astype("float32")
    weights.append(tf.Variable(drawn))
x = h = tf.placeholder(tf.float32, [None, 3])
for w in weights:
    h = tf.tanh(tf.matmul(h, w))
loss = tf.reduce_mean(tf.square(h))
"""
_CLASS = """
import numpy as np
import tensorflow as tf
rng = np.random.RandomState(0)
class Net(object):
    def __init__(self, lower, size):
        self.lower, self.size = lower, size
        self.x = tf.placeholder(tf.float32, [None, 3])
        self.w = tf.Variable(self.drawn([3, size]))
        self.loss = tf.reduce_mean(tf.square(tf.matmul(self.x - self.lower, self.w)))
    def drawn(self, shape):
        stddev = np.sqrt(2.0 / sum(shape))
        return (stddev * rng.randn(*shape)).astype(np.float32)
points = rng.rand(50, 3).astype("f")
net = Net(points.min(0), 2)
x, loss = net.x, net.loss
"""
_OWNED = '''"""A network that holds its weights."""
import numpy as np
import tensorflow as tf
rng = np.random.RandomState(0)
class Net(object):
    def __init__(self, n_in, n_out):
        self.n_in = n_in
        bound = 1.0 / np.sqrt(n_in)
        self.x = tf.placeholder(tf.float32, [None, n_in])
        self.w = tf.Variable(rng.uniform(-bound, bound, [n_in, n_out]).astype("f"))
        self.b = tf.Variable(self.drawn(n_out))
        self.loss = tf.reduce_mean(tf.square(tf.matmul(self.x, self.w) + self.b))
        self.step = tf.train.GradientDescentOptimizer(0.1).minimize(self.loss)
        self.sess = tf.Session()
        self.sess.run(tf.global_variables_initializer())
    def drawn(self, size):
        return rng.rand(size).astype("f") / self.n_in
    def fit(self, rows):
        return self.sess.run([self.step, self.loss], {self.x: rows})[1]
net = Net(3, 2)
for i in range(3):
    print("%.6f" % net.fit(rng.rand(4, 3)))
'''
_SEEDS = """
import numpy as np
import tensorflow as tf
rng = np.random.RandomState(0)
x = tf.placeholder(tf.float32, [None, 3])
h = tf.layers.dropout(x, 0.5, training=False)
for n_in, n_out, name in ((3, 4, "first"), (4, 4, "second"), (4, 2, "third")):
    with tf.variable_scope(name):
        h = tf.matmul(h, tf.get_variable("w", [n_in, n_out], initializer=tf.random_normal_initializer(seed=1)))
noise = tf.random_normal([2])
loss = tf.reduce_mean(tf.square(h)) + 0.0 * tf.reduce_sum(noise)
"""
_LATER = """
import numpy as np
import tensorflow as tf
np.random.seed(0)
x = tf.placeholder(tf.float32, [None, 3])
loss = tf.reduce_mean(tf.matmul(x, tf.Variable(np.random.rand(3, 2).astype("f"))))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(3):
        print("%.6f" % sess.run(loss, {x: np.random.rand(4, 3)}))
print("%.6f" % np.random.rand())
"""
_CONSTANTS = """
import numpy as np
import tensorflow as tf
rng = np.random.RandomState(0)
tables = {"a": rng.randn(3, 2), "b": rng.randn(2, 2)}
def net(h):
    for name in ("a", "b"):
        h = tf.matmul(h, tf.constant(tables[name].astype(np.float32)))
    return h
x = tf.placeholder(tf.float32, [None, 3])
scale = tf.Variable(1.0)
loss = tf.reduce_mean(tf.square(scale * net(x) - net(2.0 * x)))
"""
PROGRAMS = {
    "layers": (
        _LAYERS,
        [
            'hidden_w = tf.Variable(start([3, sizes[1]]), name="hidden/w")',
            'output_b = tf.Variable(rng.rand(sizes[2]), dtype=tf.float32, name="output/b")',
            'output_unused = tf.Variable(rng.rand(sizes[2]), name="output/unused")',
        ],
    ),
    "listed": (_LISTED, ['(rng.randn(n, m) / np.sqrt(n)).astype("float32")', "for n, m in [(3, 4), (4, 4), (4, 2)]]"]),
    "class": (_CLASS, ["(np.sqrt(2.0 / sum([3, 2])) * rng.randn(*[3, 2])).astype(np.float32)", "points.min(0)"]),
    "owned": (
        _OWNED,
        [
            "A network that holds its weights.",
            "uniform(-(1.0 / np.sqrt(n_in)), 1.0 / np.sqrt(n_in),",
            "rng.rand(n_out)",
        ],
    ),
    "seeds": (_SEEDS, ["tf.random.set_seed(None) second_w = tf.Variable(tf.random.normal([4, 4], seed=1)"]),
    "later": (_LATER, ["tf.Variable(np.random.rand(3, 2)"]),
    "constants": (_CONSTANTS, ['tf.constant(tables["a"].astype(np.float32))']),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_drawn_is_drawn_again(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    program, said = PROGRAMS[name]
    (tmp_path / f"{name}.py").write_text(program + _TRAINING * ("print(" not in program))
    assert dualgrad(tmp_path, "record", "-o", "record", f"{name}.py") == 0
    assert dualgrad(tmp_path, "convert", "-o", "out.py", f"{name}.py") == 0
    text, content = (tmp_path / "out.py").read_text(), json.loads((tmp_path / "out.map.json").read_text())
    assert content["whole"] is True, content["why"]
    assert [line for line in said if line not in " ".join(text.split())] == [], text
    assert "ARRAYS" not in text and content["from_run"] == []
    assert text.count("tables[") in (0, 2)  # a constant that is made twice is one
    capsys.readouterr()
    assert dualgrad(tmp_path, "compare", "record", "out.py") == 0
    verdict = "THE SAME WITH GIVEN DRAWS" if name == "seeds" else "EQUAL TO THE BIT"  # its noise has none
    assert verdict in capsys.readouterr().out


def test_a_draw_that_is_not_the_same_is_seen(tmp_path: Path) -> None:
    """The trial looks at what variables begin with, not only at what is printed."""
    (tmp_path / "old.py").write_text(
        """
import numpy as np
import tensorflow as tf
rng = np.random.RandomState(0)
def weight():
    drawn = rng.rand(3, 2).astype("f")
    drawn[0, 0] = 7
    return tf.Variable(drawn)
x = tf.placeholder(tf.float32, [None, 3])
loss = tf.reduce_mean(tf.matmul(x, weight()))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(loss, {x: np.ones([2, 3])}) > 0)
"""
    )
    assert dualgrad(tmp_path, "convert", "-o", "out.py", "old.py") == 0
    text, content = (tmp_path / "out.py").read_text(), json.loads((tmp_path / "out.map.json").read_text())
    assert content["whole"] is True and content["from_run"][:1] == ["Variable:0"] and "from the run" in text
