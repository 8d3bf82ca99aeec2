"""Functions with gradients of a program's own are written as `tf.custom_gradient` functions."""

import re
from pathlib import Path

import pytest

from tests.migrate.in_process import dualgrad
from tests.migrate.kept_and_compared import kept

pytest.importorskip("libcst")

LOG1PEXP = """
import numpy as np
import tensorflow as tf

@tf.custom_gradient
def log1pexp(x):
    e = tf.exp(x)
    def grad(dy):
        return dy * (1 - 1 / (1 + e))
    return tf.log(1 + e), grad

x = tf.placeholder(tf.float32, [None, 2], name="x")
w = tf.get_variable("w", [2, 3], initializer=tf.constant_initializer(0.3))
y = log1pexp(tf.matmul(x, w))
loss = tf.reduce_mean(tf.square(y - 1.0))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
data = np.random.RandomState(0).randn(6, 2)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(5):
        _, l = sess.run([train, loss], {x: data})
        print(i, "%.5f" % l)
"""
BINARIZED = """
# straight-through estimator, quantized
import numpy as np
import tensorflow as tf

@tf.RegisterGradient("QuantizeGrad")
def _quantize_grad(op, grad):
    return tf.clip_by_value(tf.identity(grad), -1, 1)

def binarize(x):
    g = tf.get_default_graph()
    with g.gradient_override_map({"Sign": "QuantizeGrad"}):
        return tf.sign(x)

def dense(x, n, name):
    with tf.variable_scope(name):
        w = tf.get_variable("w", [int(x.shape[1]), n], initializer=tf.random_normal_initializer(seed=3))
        b = tf.get_variable("b", [n], initializer=tf.zeros_initializer())
        return tf.matmul(x, binarize(w)) + b

x = tf.placeholder(tf.float32, [None, 4], name="x")
labels = tf.placeholder(tf.int32, [None], name="labels")
h = tf.nn.relu(dense(x, 8, "h"))
logits = dense(h, 3, "out")
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
step = tf.train.AdamOptimizer(0.01).minimize(loss)
rng = np.random.RandomState(0)
data, wanted = rng.randn(16, 4), rng.randint(0, 3, 16)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(10):
        _, value = sess.run([step, loss], feed_dict={x: data, labels: wanted})
        if i % 3 == 0:
            print("step %d loss %.4f" % (i, value))
"""
PY_FUNC = """
# py_func with gradient
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops

def py_func(func, inp, Tout, stateful=True, name=None, grad=None):
    rnd_name = 'PyFuncGrad' + str(np.random.RandomState(0).randint(0, 1E+8))
    tf.RegisterGradient(rnd_name)(grad)
    g = tf.get_default_graph()
    with g.gradient_override_map({"PyFunc": rnd_name}):
        return tf.py_func(func, inp, Tout, stateful=stateful, name=name)

def np_square(v):
    return np.square(v).astype(np.float32)

def mysquare(x, name=None):
    with ops.name_scope(name, "Mysquare", [x]) as name:
        sqr_x = py_func(np_square, [x], [tf.float32], name=name, grad=_MySquareGrad)
        return sqr_x[0]

def _MySquareGrad(op, grad):
    x = op.inputs[0]
    return grad * 20 * x

with tf.Session() as sess:
    x = tf.constant([1., 2.])
    y = mysquare(x)
    tf.global_variables_initializer().run()
    print(x.eval(), y.eval(), tf.gradients(y, x)[0].eval())
"""
DEFUN = """
# Defun with a gradient: gumbel / gradient reversal
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import function

@function.Defun(tf.float32, tf.float32)
def bw_norm(x, dy):
    return 2.0 * x * tf.clip_by_value(dy, -1., 1.)

@function.Defun(tf.float32, grad_func=bw_norm)
def fw_square(x):
    return tf.square(x)

def _round_grad(op, grad):
    return grad

@function.Defun(tf.float32, python_grad_func=_round_grad, shape_func=lambda op: [op.inputs[0].get_shape()])
def round_st(x):
    return tf.round(x)

x = tf.placeholder(tf.float32, [3])
v = tf.Variable([0.4, 1.7, -2.2])
y = fw_square(v) + round_st(x * v)
loss = tf.reduce_sum(y)
opt = tf.train.GradientDescentOptimizer(0.05).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(3):
        print(sess.run([opt, loss], {x: [1., 2., 3.]})[1], sess.run(v))
"""
FLIP = """
# flip gradient (DANN)
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops

class FlipGradientBuilder(object):
    def __init__(self):
        self.num_calls = 0

    def __call__(self, x, l=1.0):
        grad_name = "FlipGradient%d" % self.num_calls
        @ops.RegisterGradient(grad_name)
        def _flip_gradients(op, grad):
            return [tf.negative(grad) * l]

        g = tf.get_default_graph()
        with g.gradient_override_map({"Identity": grad_name}):
            y = tf.identity(x)

        self.num_calls += 1
        return y

flip_gradient = FlipGradientBuilder()

X = tf.placeholder(tf.float32, [None, 2], name='X')
Y = tf.placeholder(tf.float32, [None, 1], name='Y')
D = tf.placeholder(tf.float32, [None, 1], name='D')
l = tf.placeholder(tf.float32, [], name='l')
W0 = tf.get_variable("W0", [2, 5], initializer=tf.truncated_normal_initializer(seed=5))
F = tf.nn.relu(tf.matmul(X, W0))
W1 = tf.get_variable("W1", [5, 1], initializer=tf.zeros_initializer())
f_logit = tf.matmul(F, W1)
p_loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=Y, logits=f_logit))
W2 = tf.get_variable("W2", [5, 1], initializer=tf.ones_initializer())
d_logit = tf.matmul(flip_gradient(F, l), W2)
d_loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=D, logits=d_logit))
total_loss = p_loss + d_loss
train_op = tf.train.GradientDescentOptimizer(0.1).minimize(total_loss)

rng = np.random.RandomState(1)
xs = rng.randn(8, 2); ys = (xs[:, :1] > 0) * 1.0; ds = (xs[:, 1:] > 0) * 1.0
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(4):
        p = i / 4.0
        lp = 2. / (1. + np.exp(-10. * p)) - 1
        _, a, b = sess.run([train_op, p_loss, d_loss], {X: xs, Y: ys, D: ds, l: lp})
        print("%d %.5f %.5f" % (i, a, b))
"""
CLOSURES = """
# custom gradient with closure arguments: clip_gradients, and one with two inputs
import numpy as np
import tensorflow as tf

def clip_grad(x, low, high):
    @tf.custom_gradient
    def inner(x):
        def grad(dy):
            return tf.clip_by_value(dy, low, high)
        return tf.identity(x), grad
    return inner(x)

@tf.custom_gradient
def scaled_product(a, b):
    c = a * b
    def grad(dc):
        return 0.5 * dc * b, 0.5 * dc * a
    return c, grad

class Net(object):
    def __init__(self):
        self.x = tf.placeholder(tf.float32, [None, 3])
        self.w = tf.Variable(tf.ones([3, 3]))
        h = clip_grad(tf.matmul(self.x, self.w), -0.1, 0.1)
        h2 = clip_grad(tf.tanh(h), -0.02, 0.02)
        self.loss = tf.reduce_sum(scaled_product(h2, tf.sigmoid(h)))
        self.train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(self.loss)

net = Net()
sess = tf.Session()
sess.run(tf.global_variables_initializer())
data = np.random.RandomState(3).randn(4, 3)
for i in range(4):
    _, loss = sess.run([net.train, net.loss], feed_dict={net.x: data})
    print(i, round(float(loss), 4))
"""
PROGRAMS = {
    "log1pexp": LOG1PEXP,
    "binarized": BINARIZED,
    "py_func": PY_FUNC,
    "defun": DEFUN,
    "flip": FLIP,
    "closures": CLOSURES,
}
KEPT = {
    "log1pexp": ["@tf.custom_gradient\ndef log1pexp(x):", "e = tf.exp(x)", "lambda dy: dy * (1.0 - 1.0 / (1.0 + e))"],
    "binarized": [
        "return tf.sign(w), lambda grad: tf.clip_by_value(tf.identity(grad), -1.0, 1.0)",
        "quantize(h_w)",
        "quantize(out_w)",
    ],
    "py_func": ["tf.numpy_function(np_square, [x], tf.float32), lambda grad: grad * 20.0 * x", "tape.watch(x)"],
    "defun": ["def fw_square(x):", "return tf.round(x), lambda upstream: upstream"],
    "flip": ["return tf.identity(F), lambda grad: (-grad * l, None)", "flip(F, l)"],
    "closures": [
        "lambda dy: tf.clip_by_value(dy, -0.1, 0.1)",
        "def scaled_product(a, b):",
        "lambda dc: (0.5 * dc * b, 0.5 * dc * a)",
    ],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_gradient_of_its_own_is_written_as_one(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = kept(tmp_path, PROGRAMS[name], capsys)
    assert [line for line in KEPT[name] if line not in text] == []
    # one that is used twice, with nothing else in it, is written once
    assert text.count("@tf.custom_gradient") == {"defun": 2, "closures": 3}.get(name, 1)


VARIABLES = """
import numpy as np
import tensorflow as tf
@tf.custom_gradient
def layer(x):
    with tf.variable_scope("layer", use_resource=True):
        w = tf.get_variable("w", initializer=[[1.0], [2.0]])
    def grad(dy, variables=None):
        return tf.matmul(dy, w, transpose_b=True), [0.5 * tf.matmul(x, dy, transpose_a=True)]
    return tf.matmul(x, w), grad
x = tf.placeholder(tf.float32, [None, 2])
scale = tf.Variable(1.5)
both = tf.custom_gradient(lambda a, b: ((a + b, a * b), lambda p, q: (2.0 * p, 3.0 * q)))
loss = tf.reduce_sum(tf.square(layer(x * scale)))
first, second = both(scale, scale)
train = tf.train.GradientDescentOptimizer(0.01).minimize(loss + 3.0 * first + second)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(3):
        print(sess.run([train, loss], {x: np.ones([3, 2])})[1])
"""


def test_variables_become_parameters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = kept(tmp_path, VARIABLES, capsys)
    assert re.search(r"def layer\(x, \w+\):", text) and "variables=" not in text


def test_a_function_that_has_no_name_is_refused_by_what_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "old.py").write_text(
        """
import tensorflow as tf
def scaled(by):
    return lambda a: a * by
x = tf.placeholder(tf.float32, [2])
y = tf.py_func(scaled(3.0), [x], tf.float32)
with tf.Session() as sess:
    print(sess.run(y, {x: [1.0, 2.0]}))
"""
    )
    assert dualgrad(tmp_path, "convert", "-o", "new.py", "old.py") == 0
    text = (tmp_path / "new.py").read_text()
    assert "py_func calls what has no name at the top of the program: write it as a function there" in text


def test_jax_is_not_given_one_as_a_plain_function(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "old.py").write_text(LOG1PEXP)
    assert dualgrad(tmp_path, "convert", "--to", "jax", "-o", "new.py", "old.py") == 2
    assert "log1pexp has a gradient of its own, for which there is jax.custom_vjp" in capsys.readouterr().err
    assert dualgrad(tmp_path, "convert", "--to", "tensorflow", "-o", "new.py", "old.py") == 0
    assert "@tf.custom_gradient\ndef log1pexp(x):" in (tmp_path / "new.py").read_text()
