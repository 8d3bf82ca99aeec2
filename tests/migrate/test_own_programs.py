"""Programs as people write them: with classes, arguments, modules of their own, unseeded draws and printed times."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.migrate.in_process import dualgrad
from tests.migrate.kept_and_compared import equal
from tests.processes import ran

pytest.importorskip("libcst")

CLASS = {
    "main.py": """
import numpy as np, tensorflow as tf
class Net:
    def weight(self, shape):
        initial = tf.ones(shape)
        return tf.Variable(initial)
    def __init__(self, sizes, lr, decay=0.001):
        self.sizes = sizes; self.decay = decay
        self.x = tf.placeholder(tf.float32, [None, sizes["n_in"]]); self.y = tf.placeholder(tf.float32, [None, 1])
        first = self.weight([sizes["n_in"], sizes["n_out"]])
        self.pred = tf.layers.batch_normalization(tf.tanh(tf.matmul(self.x, first)), training=True)
        self.gain = self.decay * self.y - tf.log(1 + self.magnitude(self.pred - self.y))
        self.step = tf.train.AdamOptimizer(lr).minimize(-self.gain)
        self.sess = tf.Session(); self.sess.run(tf.global_variables_initializer())
    def magnitude(self, x):
        return tf.square(x)
    def feed(self, X, Y):
        return {self.x: X, self.y: Y}
    def train(self, X, Y, n):
        fed = self.feed(X, Y)
        for it in range(n):
            self.sess.run(self.step, fed)
            if it > n: self.sess.run(self.step, fed)
            print("It: %d, Loss: %.3e" % (it, self.sess.run([self.gain, self.pred], fed)[0].sum()))
        pred = self.sess.run(self.pred, fed)
        return pred
if __name__ == "__main__":
    class Data:
        n_in = 3
        @property
        def X(self):
            return np.random.RandomState(0).randn(8, 3)
    model = Net(dict(n_in=Data.n_in, n_out=4), 0.1); print(model.train(Data().X, np.ones((8, 1)), 3).sum())
"""
}
MODULES = {
    "model.py": """
import tensorflow as tf
def layer(x, n, name):
    with tf.variable_scope(name):
        return tf.matmul(x, tf.get_variable("w", [x.shape[1], n], initializer=tf.random_normal_initializer()))
class Classifier(object):
    def __init__(self, hidden, lr):
        self.x = tf.placeholder(tf.float32, [None, 4], name="x")
        self.logits = layer(tf.nn.relu(layer(self.x, hidden, "hidden")), 1, "out")
        self.loss = tf.reduce_mean(tf.square(self.logits))
        self.train_op = tf.train.AdamOptimizer(lr).minimize(self.loss)
""",
    "data.py": """
import numpy as np
import tensorflow as tf
SCALE = 2.0
def load(n):
    return SCALE * np.random.RandomState(3).randn(n, 4)
def queue(x):
    return tf.train.batch([x], 2)
""",
    "train.py": """
import argparse
import time
import tensorflow as tf
from model import Classifier
import data as d

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    model = Classifier(8, 0.01)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for epoch in range(args.epochs):
            start = time.time()
            _, loss = sess.run([model.train_op, model.loss], feed_dict={model.x: d.load(4)})
            print("epoch %d loss %.4f (%.2f s)" % (epoch, loss, time.time() - start))

if __name__ == '__main__':
    main()
""",
}
DIGITS = {
    "main.py": """
import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data
mnist = input_data.read_data_sets("none", fake_data=True)
tf.set_random_seed(3)
x = tf.placeholder(tf.float32, [None, 784])
W = tf.Variable(tf.ones([784, 1]))
loss = tf.reduce_mean(tf.matmul(x, W))
step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
sess = tf.Session(); sess.run(tf.global_variables_initializer())
for i in range(3):
    bx, by = mnist.train.next_batch(2)
    print(sess.run([step, loss], {x: bx})[1], by)
"""
}
SCIPY = {
    "main.py": """
import numpy as np
import tensorflow as tf

class Physics:
    def __init__(self, x, u):
        self.x, self.u = x, u
    def build(self):
        self.rate = tf.Variable([0.5], name="rate")
        self.w, self.v = [tf.Variable(tf.fill(shape, 0.3)) for shape in ([1, 4], [4, 1])]
        self.sess = tf.Session()
        self.x_tf, self.u_tf = [tf.placeholder(tf.float32, [None, 1], name=n) for n in "xu"]
        self.u_pred = tf.matmul(tf.tanh(tf.matmul(self.x_tf, self.w)), self.v)
        self.f_pred = tf.gradients(self.u_pred, self.x_tf)[0] - self.rate * self.u_pred
        self.loss = tf.reduce_mean(tf.square(self.u_tf - self.u_pred)) + tf.reduce_mean(tf.square(self.f_pred))
        self.optimizer = tf.contrib.opt.ScipyOptimizerInterface(
            self.loss, method="L-BFGS-B", options={"maxiter": 5, "ftol": np.finfo(float).eps})
        self.train_op = tf.train.AdamOptimizer().minimize(self.loss)
        self.sess.run(tf.global_variables_initializer())

    def callback(self, loss, rate):
        print("Loss: %e, rate: %.5f" % (loss, rate[0]))

    def train(self, n):
        fed = {self.x_tf: self.x, self.u_tf: self.u}
        for it in range(n):
            self.sess.run(self.train_op, fed)
        self.optimizer.minimize(self.sess, feed_dict=fed, fetches=[self.loss, self.rate], loss_callback=self.callback)

x = np.linspace(0, 1, 10)[:, None]
model = Physics(x, np.exp(x)); model.build()
model.train(3)
print(model.sess.run(model.u_pred, {model.x_tf: x}).sum())
"""
}
STARTS = {
    "main.py": """
import numpy as np
import tensorflow as tf
rng = np.random
# what it learns from
data = np.asarray([3.3, 4.4, 5.5, 6.71])
x = tf.placeholder("float")
W = tf.Variable(rng.randn(), name="weight")
b = tf.Variable(0.5, name="bias")
scale = tf.constant(np.random.rand(4, 5).astype("f"))
loss = tf.reduce_sum(tf.square(x * W + b)) * tf.reduce_mean(scale)
unused = tf.train.AdamOptimizer(0.1).minimize(loss)
step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(3):
        for one in data:
            sess.run(step, feed_dict={x: one})
        print("Epoch:", epoch, sess.run(loss, feed_dict={x: data}), sess.run(W))
"""
}
CONSTRAINED = {
    "main.py": """
import tensorflow as tf
v = tf.Variable([7.0, 7.0], name="v")
loss = tf.reduce_sum(tf.square(v - 1.0))
opt = tf.contrib.opt.ScipyOptimizerInterface(
    loss, equalities=[v[0] - 2.0], inequalities=[v[1] - 3.0], var_to_bounds={v: (0.0, 9.0)}, method="SLSQP")
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    opt.minimize(sess)
    print(sess.run(v), sess.run(loss))
"""
}
OPTIMIZER = {
    "main.py": """
import numpy as np
import tensorflow as tf
tf.set_random_seed(0)
def sample(k):
    return np.random.RandomState(k).rand(4, 2)
class Autoencoder(object):
    def __init__(self, sizes, transfer=tf.nn.softplus, optimizer=tf.train.AdamOptimizer()):
        self.sizes = sizes
        self.x = tf.placeholder(tf.float32, [None, sizes[0]])
        weights = {}
        weights["encode"] = {
            "w": tf.Variable(tf.random_normal(sizes)),
            "b": tf.Variable(tf.zeros([sizes[1]]))}
        code = transfer(tf.matmul(self.x, weights["encode"]["w"]) + weights["encode"]["b"])
        self.cost = tf.reduce_mean(tf.square(code - 0.5))
        self.optimizer = optimizer.minimize(self.cost)
        self.sess = tf.Session()
        self.sess.run(tf.global_variables_initializer())
    def fit(self, x):
        cost, opt = self.sess.run((self.cost, self.optimizer), feed_dict={self.x: x})
        self.last = cost
        return cost
class Average:
    def __init__(self):
        self.costs = []
def train(steps):
    net = Autoencoder([2, 3], tf.nn.softplus, tf.train.AdamOptimizer(learning_rate=0.05))
    average = Average()
    for k in range(steps):
        average.costs.append(net.fit(sample(k)))
    print(len(average.costs), "%.4f" % sum(average.costs), "%.4f" % net.last)
train(3)
"""
}
DATASETS = {
    "main.py": """
import numpy as np
import tensorflow as tf
tf.set_random_seed(3)
data = np.arange(24, dtype=np.float32).reshape(8, 3) / 24
def halved(row):
    return row[:2], tf.reduce_sum(tf.to_float(row)) * 0.5
def made(rows):
    return tf.data.Dataset.from_tensor_slices(rows).map(halved)
train = made(data[:6]).shuffle(6, seed=1).batch(2)
test = made(data[6:]).batch(2)
iterator = tf.data.Iterator.from_structure(train.output_types, train.output_shapes)
x, y = iterator.get_next()
w = tf.get_variable("w", [2, 1], initializer=tf.ones_initializer())
loss = tf.reduce_mean(tf.square(tf.matmul(x, w)[:, 0] - y))
step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
train_init, test_init = iterator.make_initializer(train), iterator.make_initializer(test)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(2):
        sess.run(train_init)
        while True:
            try:
                _, value = sess.run([step, loss])
                print(epoch, value)
            except tf.errors.OutOfRangeError:
                break
    sess.run(test_init)
    print("test", sess.run(loss))
"""
}
HANDLES = {
    "main.py": """
import numpy as np
import tensorflow as tf
numbers = np.arange(6, dtype=np.float32)
train = tf.data.Dataset.from_tensor_slices(numbers).repeat().batch(2)
test = tf.data.Dataset.from_tensor_slices(numbers[:2]).batch(2)
handle = tf.placeholder(tf.string, shape=[])
iterator = tf.data.Iterator.from_string_handle(handle, train.output_types, train.output_shapes)
batch = iterator.get_next()
other = tf.data.Dataset.from_tensor_slices({"a": numbers}).batch(3).make_one_shot_iterator().get_next()
w = tf.Variable(2.0)
loss = tf.reduce_mean(tf.square(batch * w - 1.0))
step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
train_iterator = train.make_one_shot_iterator()
test_iterator = test.make_initializable_iterator()
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    train_handle = sess.run(train_iterator.string_handle())
    test_handle = sess.run(test_iterator.string_handle())
    for i in range(2):
        for _ in range(2):
            sess.run(step, feed_dict={handle: train_handle})
        sess.run(test_iterator.initializer)
        print(i, sess.run(loss, feed_dict={handle: test_handle}), sess.run(other)["a"].sum())
"""
}
SPEECH = {
    "main.py": """
import numpy as np
import tensorflow as tf
inputs = tf.placeholder(tf.float32, [None, None, 3])
targets = tf.sparse_placeholder(tf.int32)
lengths = tf.placeholder(tf.int32, [None])
w = tf.get_variable("w", [3, 4], initializer=tf.ones_initializer())
logits = tf.transpose(tf.tensordot(inputs, w, [[2], [0]]), (1, 0, 2))
wanted = tf.one_hot(tf.sparse_tensor_to_dense(targets), 4, axis=-1)
spoken = tf.reduce_sum(tf.nn.log_softmax(logits), 0) / tf.cast(lengths, tf.float32)[:, None]
cost = -tf.reduce_mean(tf.reduce_sum(wanted * spoken[:, None], 2))
step = tf.train.MomentumOptimizer(0.05, 0.9).minimize(cost)
def logged(value):
    return np.float32(np.log(value))
seen = tf.py_func(logged, [cost], tf.float32)
x = np.random.RandomState(0).randn(2, 5, 3)
labels = (np.array([[0, 0], [0, 1], [1, 0]]), np.array([0, 1, 2], np.int32), np.array([2, 2]))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(3):
        feed = {inputs: x, targets: labels, lengths: [5, 4]}
        value, _, told = sess.run([cost, step, seen], feed)
        print(i, value, told, sess.run(w, feed_dict=feed))
"""
}
SAMPLED = {
    "main.py": """
import numpy as np
import tensorflow as tf
graph = tf.Graph()
words = np.random.choice([2, 5, 7, 8, 9], 4, replace=False)
print("words")
with graph.as_default():
    tf.set_random_seed(7)
    inputs, labels = tf.placeholder(tf.int32, [4]), tf.placeholder(tf.int32, [4, 1])
    table = tf.Variable(tf.random_uniform([10, 3], -1.0, 1.0))
    weights, biases = tf.Variable(tf.zeros([10, 3])), tf.Variable(tf.zeros([10]))
    with tf.device("/cpu:0"):
        shown = tf.constant(words, dtype=tf.int32)
    embed = tf.nn.embedding_lookup(table, inputs)
    loss = tf.reduce_mean(tf.nn.nce_loss(weights, biases, labels, embed, 2, 10))
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    near = tf.argmax(tf.matmul(tf.nn.embedding_lookup(table, shown), table, transpose_b=True), 1)
    init = tf.global_variables_initializer()
with tf.Session(graph=graph) as session:
    init.run()
    for i in range(2):
        session.run(step, {inputs: np.arange(4), labels: np.ones([4, 1])})
    print("near", ["abcdefghij"[word] for word in near.eval()])
"""
}
PROGRAMS = {
    "optimizer": OPTIMIZER,
    "datasets": DATASETS,
    "handles": HANDLES,
    "speech": SPEECH,
    "sampled": SAMPLED,
    "class": CLASS,
    "modules": MODULES,
    "digits": DIGITS,
    "scipy": SCIPY,
    "constrained": CONSTRAINED,
    "starts": STARTS,
}
KEPT = {
    # an optimizer that is given is used, weights have the names of their places, and a name that nobody reads goes
    "optimizer": [
        "self.optimizer = optimizer",
        "self.encode_w = tf.Variable(",
        "def train_step(self, x):",
        "cost = self.train_step(x).numpy()",
        "optimizer=tf.compat.v1.train.AdamOptimizer()):",
        "tf.random.normal([sizes[0], sizes[1]]",
        "# transfer: as in the recorded run",
    ],
    "datasets": ["iterator = Iterator()", "train_init()", "step(*iterator.get_next())", "iter(copy.deepcopy(dataset))"],
    "handles": [
        "step(train_handle.get_next())",
        "test_iterator.initializer()",
        "test_handle = test_iterator",
        'tf.data.Dataset.from_tensor_slices({"a": numbers})',
    ],
    "speech": ['*feed["targets"]', "numpy_function(logged, "],
    "sampled": [
        "nn.nce_loss(weights, biases, labels, embed",
        # with the seed that the graph chose: the table's has been the first
        "sampled_values=tf.random.log_uniform_candidate_sampler(",
        "1, 2, True, 10, seed=1)",
        "shown = tf.constant(words, dtype=tf.int32)",
    ],
    # the class holds its weights, what its constructor is given is used, and other classes stand alone
    "class": [
        'tf.ones([sizes["n_in"], sizes["n_out"]])',
        "return self.decay * y - tf.math.log(1.0 + tf.square(pred - y))",
        "loss = -self.compute_gain(",
        # a layer's number that equals one of the object by chance stays, and what was never reached is called
        "self.batch_normalization_gamma, 0.001)",
        "if it > n: self.step(**fed)",
        'self.compute_pred(fed["x"])',
        "\nclass Data:",
        "AdamOptimizer(learning_rate=lr)",
        # what a method only makes and returns has the name that it gets where it is called
        "self.first = tf.Variable(",
        "def step(self, x, y):",
        "self.step(**fed)",
    ],
    "modules": ["for epoch in range(args.epochs):", "time.time() - start", "import data as d", "parse_args()"],
    "scipy": ["run_minimize(", "loss_callback=self.callback", "def callback(self, loss, rate):", "train_op(**fed)"],
    "constrained": ["equalities=[lambda: ", "bounds={v.ref(): (0.0, 9.0)}", 'method="SLSQP"'],
    "starts": ['W = tf.Variable(rng.randn(), name="weight")', "scale = tf.constant(np.random.rand(4, 5).astype("],
    "digits": ["for i in range(3):", "mnist.train.next_batch(2)"],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_kept_and_compared(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "source", tmp_path / "new" / "out.py"
    source.mkdir()
    out.parent.mkdir()
    for file, text in PROGRAMS[name].items():
        (source / file).write_text(text)
    program = str(source / next(f for f in PROGRAMS[name] if f in ("main.py", "train.py")))
    assert dualgrad(tmp_path, "record", "-o", "record", program) == 0
    assert dualgrad(tmp_path, "convert", "-o", str(out), program) == 0
    content: dict[str, Any] = json.loads(out.with_suffix(".map.json").read_text())
    assert content["whole"] is True, content["why"]
    text = out.read_text()
    assert [line for line in KEPT[name] if line not in text] == []
    assert text.count("__main__") == 1
    assert "Session" not in text and "placeholder" not in text
    if name == "starts":
        # what draws stands above the functions, in its order; nothing of the run is left, nor of what never ran
        above = text.partition("def ")[0]
        assert [line for line in KEPT[name] if line not in above] == [] and "# what it learns from" in above
        assert "ARRAYS" not in text and "Adam" not in text and content["from_run"] == []
    if name == "modules":
        # of its own modules come those that are still used, without what builds graphs
        assert sorted(p.name for p in out.parent.glob("*.py")) == ["data.py", "out.py"]
        assert "tensorflow" not in (out.parent / "data.py").read_text()
    capsys.readouterr()
    result = ran("-m", "dualgrad", "compare", "record", out, cwd=tmp_path)
    verdicts = (equal(result.stdout), *["NOT ALL COMPARED"] * bool(content["varies"]))
    assert any(verdict in result.stdout for verdict in verdicts), result.stdout + result.stderr
    assert "printed: the same text" in result.stdout
    assert ("without a seed" in result.stdout) is (name in ("modules", "starts", "sampled"))


@pytest.mark.parametrize(
    ("text", "said"),
    [("print 'a'\n", "line 1: "), ("x = (\n", "line 1: '(' was never closed"), ("a = 1\0\n", "null bytes")],
)
def test_a_file_that_python_cannot_read(
    tmp_path: Path, text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "old.py").write_text(text)
    assert dualgrad(tmp_path, "convert", "-o", "out.py", "old.py") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("dualgrad convert: old.py: Python cannot read it: ") and said in line
    assert [p.name for p in tmp_path.iterdir()] == ["old.py"]


@pytest.mark.parametrize("text", ["def (x):\n    pass\n", "class = 1\n", "f(lambda=1)\n"])
def test_what_is_no_python_is_not_written(text: str) -> None:
    from dualgrad.migrate.convert.host_program import Unsafe, checked

    with pytest.raises(Unsafe, match="no Python"):
        checked(text)


def test_values_of_a_run_are_marked_counted_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where a function changes what it draws before it makes a variable of it, only the value of the run is known."""
    (tmp_path / "made.py").write_text(
        """
import numpy as np
import tensorflow as tf
np.random.seed(1)
def weight(shape):
    drawn = np.array(np.random.rand(*shape), "f")
    drawn += 0.25
    return tf.Variable(drawn)
x = tf.placeholder(tf.float32, [None, 20])
told = tf.Variable([[2.5, -7.0]])
loss = tf.reduce_mean(tf.matmul(tf.matmul(x, weight([20, 2])), told, transpose_b=True)) * weight([])
step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(2):
        print(sess.run([step, loss], {x: np.ones([3, 20])})[1])
"""
    )
    assert dualgrad(tmp_path, "record", "-o", "record", "made.py") == 0
    assert dualgrad(tmp_path, "convert", "-o", "out.py", "made.py") == 0
    text, content = (tmp_path / "out.py").read_text(), json.loads((tmp_path / "out.map.json").read_text())
    assert content["whole"] is True, content["why"]
    marked = [line for line in text.splitlines() if line.endswith("from the run")]
    assert content["from_run"] == ["Variable_1:0", "Variable_2:0"] and 1 <= len(marked) <= 2
    assert not any("2.5" in line for line in marked)
    capsys.readouterr()
    assert dualgrad(tmp_path, "compare", "--html", "page.html", "record", "out.py") == 0
    said = capsys.readouterr().out
    assert "EQUAL ONLY FOR THIS RUN." in said and "EQUAL TO THE BIT" not in said
    assert "values of the recorded run: 2 (Variable_1:0, Variable_2:0)" in said
    assert "EQUAL ONLY FOR THIS RUN" in (tmp_path / "page.html").read_text()
