"""Repeated code is written once, as a loop, a list or a function, and computes the same to the bit."""

from pathlib import Path

import pytest

from tests.migrate.round_trip import round_trip

HEAD = """\
import numpy as np
import tensorflow as tf
rng = np.random.RandomState(0)
def weights(*shape):
    return tf.Variable(rng.randn(*shape).astype(np.float32))
x = tf.placeholder(tf.float32, [None, 4], name="x")
"""
TAIL = """
data = rng.randn(3, 4)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(2):
        for asked in runs:
            sess.run(asked, {x: data})
"""
PROGRAMS = {
    "unrolled steps": (
        """
w, b = weights(8, 4), weights(4)
h, all_h = tf.zeros_like(x), []
for step in range(8):
    h = tf.tanh(tf.matmul(tf.concat([x, h], 1), w) + b)
    all_h.append(h)
loss = tf.reduce_mean(tf.square(tf.stack(all_h)))
runs = [[h, loss, tf.train.AdamOptimizer().minimize(loss)]]
""",
        ["for _ in range(7):", "tf.stack([all_h_0, *all_h])"],
        {"tf.tanh(": 2},
    ),
    "a step that needs what it has overwritten": (
        """
a, b = x, x * 0.5
for step in range(5):
    a, b = tf.sin(a) + b * 0.1, tf.cos(b) * tf.tanh(a) - 0.2
runs = [[a, b, tf.gradients(tf.reduce_sum(a * b), x)[0]]]
""",
        [],
        {},
    ),
    "variables in lists and dictionaries": (
        """
class Net:
    def __init__(self):
        self.params = [weights(4, 8), tf.Variable(tf.zeros([8]), name="bias"), weights(8, 2)]
        self.y = tf.matmul(tf.nn.relu(tf.matmul(x, self.params[0]) + self.params[1]), self.params[2])
net, layer = Net(), {"w": weights(2, 2), "b": weights(2)}
loss = tf.reduce_mean(tf.square(tf.matmul(net.y, layer["w"]) + layer["b"]))
runs = [net.y, [loss, tf.train.AdamOptimizer().minimize(loss)], [p.assign(p * 0.5) for p in net.params]]
""",
        [
            'params = [tf.Variable(ARRAYS["params_0"]), tf.Variable(tf.zeros([8]), name="bias"),',
            'layer = {"w": tf.Variable(',
            'variables = [*params, layer["w"], layer["b"]]',
            'layer["w"]) + layer["b"]',
        ],
        {"tf.Variable(": 5},
    ),
    "variables that are trained together": (
        """
w, u, b = weights(4, 20), weights(20, 2), weights(2)
loss = tf.reduce_mean(tf.square(tf.matmul(tf.tanh(tf.matmul(x, w)), u) + b))
runs = [tf.train.GradientDescentOptimizer(0.1).minimize(loss), loss]
""",
        [
            'u = tf.Variable(ARRAYS["u"])  # line 5, from the run',
            "optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))",
        ],
        {"tf.convert_to_tensor(": 1},
    ),
    "a loss that stops gradients twice": (
        """
w, b = weights(9, 4), weights(9)
labels = tf.constant([[1], [2], [3]], tf.int64)
drawn = (tf.constant([4, 5], tf.int64), tf.fill([3, 1], 0.5), tf.fill([2], 0.25))
loss = tf.nn.sampled_softmax_loss(w, b, labels, x, 2, 9, sampled_values=drawn)
runs = [[loss, tf.train.GradientDescentOptimizer(0.1).minimize(loss)]]
""",
        ["tf.nn.sampled_softmax_loss("],
        {},
    ),
    "functions that are one": (
        """
w = weights(4, 4)
def loss_of(h):
    return tf.reduce_mean(tf.square(tf.tanh(tf.matmul(h, w))))
runs = [loss_of(x), loss_of(x), w.assign(w * 0.5)]
""",
        ["    w.assign(w * 0.5)"],
        {"def ": 2, "tf.tanh(": 1},
    ),
    "two networks": (
        """
def network(x, w1, b1, w2):
    hidden = tf.nn.relu(tf.matmul(x, w1) + b1)
    hidden = hidden - tf.reduce_mean(hidden)
    hidden = hidden * tf.rsqrt(tf.reduce_mean(tf.square(hidden)) + 1e-3)
    scale = tf.reduce_max(tf.abs(hidden))
    return tf.matmul(hidden / (1.0 + scale), w2) * scale
first = network(x, *(weights(4, 5), weights(5), weights(5, 2)))
second = network(x, *(weights(4, 5), weights(5), weights(5, 2)))
step = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(tf.square(first - tf.stop_gradient(second))))
runs = [first, second, step]
""",
        ["def network("],
        {"tf.nn.relu(": 1, "tf.reduce_max(": 1},
    ),
    "some elements of a list": (
        """
ws = [tf.Variable(0.5 * i) for i in range(6)]
grads = tf.gradients(tf.add_n([tf.square(w) * tf.sin(w) * tf.reduce_sum(x) for w in ws]), ws)
runs = [[tf.add_n([g * 2.0 for g in grads[:3]]), tf.add_n([tf.exp(g) for g in grads])]]
""",
        ["[a * 2.0 for a in grads[:3]]", "[tf.exp(a) for a in grads]"],
        {},
    ),
    "numbers that run": (
        """
runs = [tf.stack([x[:, i] * x[:, 0] for i in range(4)]), tf.add_n([tf.reduce_sum(x[:, i]) for i in (3, 2, 1)])]
""",
        ["for a in range(4)]", "range(3, 0, -1)"],
        {},
    ),
    "a function inside that has the same names": (
        """
w = weights(4, 4)
def field(h):
    return tf.tanh(tf.matmul(h, w))
def rk4(h, _):
    k1 = field(h)
    k2 = field(h + 0.05 * k1)
    k3 = field(h + 0.05 * k2)
    return h + 0.1 * (k1 + k2 + k3)
final = tf.scan(rk4, np.zeros(4, np.float32), x)[-1]
for step in range(7):
    final = final - 0.1 * field(final)
runs = [final, tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.square(final)))]
""",
        ["for _ in range("],
        {},
    ),
    "states of a loop over rows": (
        """
u, v = weights(4, 4), weights(4, 4)
rows = tf.expand_dims(x, 1)
def step(states, row):
    a, b, c = states
    new = tf.tanh(tf.matmul(row, u) + tf.matmul(a, v)) * b
    return [tf.where(new > 0, s, o) for s, o in zip((new, new * a, new + c), (a, b, c))]
zeros = tf.zeros([1, 4])
a, b, c = tf.scan(step, rows, [zeros + 0.5, zeros + 1.0, zeros])
runs = [[a, b, c], tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(a * b + c))]
""",
        [],
        {},
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_repeated_code_is_written_once(name: str, tmp_path: Path) -> None:
    middle, expected, counts = PROGRAMS[name]
    program = tmp_path / "program.py"
    program.write_text(HEAD + middle + TAIL)
    trip = round_trip(program)
    text = trip.conversion.text
    assert trip.difference(tmp_path) == "", text
    assert trip.conversion.map["not_converted"] == []
    assert [part for part in expected if part not in text] == [], text
    assert max(map(len, text.splitlines())) <= 120
    assert {part: text.count(part) for part in counts} == counts, text
