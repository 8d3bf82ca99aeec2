"""Programs with several objects of a class, with all they do in `main`, with inner functions, are kept."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.migrate.in_process import dualgrad
from tests.processes import printed

pytest.importorskip("libcst")

SEVERAL = """
import numpy as np
import tensorflow as tf

class Model(object):
    def __init__(self, is_training, size):
        self.size = size
        self._x = tf.placeholder(tf.float32, [size, 2])
        cell = tf.nn.rnn_cell.BasicLSTMCell(2)
        self._start = cell.zero_state(size, tf.float32)
        out, self._end = cell(self._x, self._start)
        w = tf.get_variable("w", [2, 1], initializer=tf.random_normal_initializer(seed=2))
        self._cost = tf.reduce_mean(tf.square(tf.matmul(out, w) - 1.0))
        if not is_training:
            return
        self._step = tf.train.GradientDescentOptimizer(0.1).minimize(self._cost)

    @property
    def cost(self):
        return self._cost

def epoch(session, model, step=None):
    fetches = {"cost": model.cost, "end": model._end}
    if step is not None:
        fetches["step"] = step
    state = session.run(model._start)
    for i in range(3):
        feed = {model._x: np.full([model.size, 2], 0.5)}
        c, h = model._start
        feed[c] = state.c
        feed[h] = state.h
        found = session.run(fetches, feed)
        state = found["end"]
    return found["cost"]

def main(_):
    with tf.variable_scope("m", initializer=tf.random_uniform_initializer(-0.1, 0.1, seed=1)):
        train = Model(True, 4)
    with tf.variable_scope("m", reuse=True):
        test = Model(False, 2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for e in range(2):
            print("train", epoch(session, train, train._step))
            print("test", epoch(session, test))

if __name__ == "__main__":
    tf.app.run()
"""
WORKERS = """
import numpy as np
import tensorflow as tf

class Net(object):
    def __init__(self, name, shared=None):
        with tf.variable_scope(name):
            self.s = tf.placeholder(tf.float32, [None, 2])
            w = tf.get_variable("w", [2, 1], initializer=tf.constant_initializer(0.5 if shared else 0.25))
            self.params = [w]
            if shared:
                self.v = tf.matmul(self.s, w)
                grads = tf.gradients(tf.reduce_sum(tf.square(self.v)), self.params)
                self.push = OPT.apply_gradients(zip(grads, shared.params))
                self.pull = [a.assign(b) for a, b in zip(self.params, shared.params)]

    def update(self, s):
        SESS.run(self.push, {self.s: s})
        SESS.run([self.pull])

    def value(self, s):
        return SESS.run(self.v, {self.s: s})

class Worker(object):
    def __init__(self, name, shared):
        self.name, self.net = name, Net(name, shared)

    def work(self):
        for i in range(2):
            self.net.update(np.array([[1.0, i]]))
            print(self.name, self.net.value(np.ones([1, 2])).sum())

SESS = tf.Session()
OPT = tf.train.GradientDescentOptimizer(0.1)
SHARED = Net("shared")
workers = [Worker("w%d" % i, SHARED) for i in range(2)]
SESS.run(tf.global_variables_initializer())
for worker in workers:
    worker.work()
"""
IN_MAIN = """
import argparse
import numpy as np
import tensorflow as tf

def layer(x, n_in, n_out):
    w = tf.Variable(np.random.randn(n_in, n_out).astype(np.float32), name="w")
    return tf.matmul(x, w)

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hidden", type=int, default=3)
    args = parser.parse_args()
    np.random.seed(0)
    data = np.random.randn(6, 2).astype(np.float32)
    x = tf.placeholder(tf.float32, [None, 2])
    noise = tf.constant(np.random.normal(0, 0.01, (1, 1)), dtype=tf.float32)  # one number, drawn too
    loss = tf.reduce_mean(tf.square(layer(x, 2, args.hidden) + noise))
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for i in range(3):
            rows = np.random.choice(6, 2)
            print(sess.run([step, loss], {x: data[rows]})[1])

if __name__ == "__main__":
    main()
"""
INNER = """
import numpy as np
import tensorflow as tf

RATE = 0.5  # of the steps
FINE, COARSE = 1, 10

class Machine(object):
    def __init__(self, n):
        self.x = tf.placeholder(tf.float32, [None, n])
        self.w = tf.Variable(tf.random_normal([n, 2], seed=3))
        self.bias = tf.Variable(tf.zeros([2]))
        self.hidden = tf.sigmoid(tf.matmul(self.x, self.w) + self.bias)
        self.loss = tf.reduce_mean(tf.square(self.hidden))
        self.update = tf.train.GradientDescentOptimizer(RATE).minimize(self.loss)
        self.sess = tf.Session()
        self.sess.run(tf.global_variables_initializer())

def fit(machine, n):
    def train_step(x, y):
        print(machine.sess.run([machine.update, machine.loss], {machine.x: x})[1] + y)
    for i in range(n):
        train_step(np.ones([1, 3]), FINE)

machine = Machine(3)
fit(machine, 2)
"""
STYLE = """
import numpy as np
import tensorflow as tf

image = tf.Variable(np.linspace(-1.0, 1.0, 12).reshape(4, 3).astype(np.float32))
a, b = [tf.constant(np.random.RandomState(i).randn(3, 3).astype(np.float32)) for i in range(2)]
net = {"one": tf.nn.relu(tf.matmul(image, a))}
net["two"] = tf.nn.relu(tf.matmul(net["one"], b))
net["three"] = tf.nn.relu(tf.matmul(net["two"], a))
gram = lambda x: tf.reduce_sum(tf.square(tf.matmul(x, x, transpose_a=True)))
total = gram(net["one"]) * 0.3 + tf.reduce_sum(net["two"] ** 2) * 0.7 + gram(net["two"]) + gram(net["three"])
step = tf.train.AdamOptimizer(0.1).minimize(total)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for name in ("one", "two", "three"):
        print(sess.run(net[name]).sum())
    for i in range(4):
        sess.run(step)
        print(sess.run(total))
"""
PROGRAMS = {
    "several": SEVERAL, "workers": WORKERS, "in_main": IN_MAIN, "inner": INNER, "style": STYLE,
}  # fmt: skip
KEPT = {
    "several": ["state = run(model._start)", "feed[c] = state.c", "next(MODEL_PARTS)", "return self._cost"],
    "workers": ["run(self.push, {self.s: s})", "Net(name, shared)", "next(NET_PARTS)"],
    "in_main": ["np.random.randn(2, args.hidden)", "noise = tf.constant(np.random.normal(0, 0.01, (1, 1))"],
    "inner": ["def train_step(x, y):", "machine = Machine(3)", "fit(machine, 2)"],
    "style": ["for i in range(4):"],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_is_kept(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "old.py").write_text(PROGRAMS[name])
    assert dualgrad(tmp_path, "record", "-o", "record", "old.py") == 0
    assert dualgrad(tmp_path, "convert", "-o", "out.py", "old.py") == 0
    text, content = (tmp_path / "out.py").read_text(), json.loads((tmp_path / "out.map.json").read_text())
    assert content["whole"] is True, content["why"]
    assert [line for line in KEPT[name] if line not in text] == []
    capsys.readouterr()
    assert dualgrad(tmp_path, "compare", "record", "out.py") == 0
    said = capsys.readouterr().out
    # nothing of the run stands in it, but for the matrices of one, which no line of the program says as a whole
    assert ("EQUAL TO THE BIT" in said) or (name == "style" and "EQUAL ONLY FOR THIS RUN" in said), said
    assert "printed: the same text" in said


def test_constants_stand_at_the_top_as_the_program_has_them(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text(INNER)
    assert dualgrad(tmp_path, "convert", "-o", "out.py", "old.py") == 0
    above = (tmp_path / "out.py").read_text().partition("class ")[0]
    assert "FINE, COARSE = 1, 10" in above and above.index("FINE") > above.index("import tape_api")


def test_names_that_a_star_gives_are_known(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "utils.py").write_text("import numpy as np\ndef load(n):\n    return np.arange(n) * 1.0\n")
    (tmp_path / "source" / "main.py").write_text("""
import tensorflow as tf
from utils import *
x = tf.placeholder(tf.float32, [None])
total = tf.reduce_sum(tf.square(x))
with tf.Session() as sess:
    for i in range(2):
        print(sess.run(total, {x: load(i + 2)}))
""")
    assert dualgrad(tmp_path, "convert", "-o", "new", "source") == 0
    content: dict[str, Any] = json.loads((tmp_path / "new" / "main.map.json").read_text())
    assert content["whole"] is True, content["why"]
    assert "from utils import *" in (tmp_path / "new" / "main.py").read_text()


def test_a_main_whose_lines_mean_something_else_stays() -> None:
    from dualgrad.migrate.convert.inlined_main import with_main_inlined

    end = "\nif __name__ == '__main__':\n    main()\n"
    plain = "import numpy as np\n\ndef main():\n    # first\n    a = np.ones(2)\n    print(a)\n"
    whole = with_main_inlined(plain + end, "p.py")
    assert whole is not None and "def main" not in whole.text and "    # first\n    a = np.ones(2)\n" in whole.text
    assert printed(whole.text) == "[1. 1.]\n"
    for other in (
        plain.replace("print(a)", "return a"),
        plain.replace("main():", "main(n=2):").replace("ones(2)", "ones(n)"),
        plain + "\ndef show():\n    print(a)\n",
        plain.replace("a = np", "max = np"),
        plain + "\nmain()\n",
    ):
        assert with_main_inlined(other + end, "p.py") is None, other
