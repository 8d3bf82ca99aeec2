"""Small TensorFlow 1 programs, made of a model, an optimizer and a loop each; and some that are like no other."""

import random

HEAD = """\
import numpy as np
import tensorflow as tf

tf.set_random_seed({seed})
rng = np.random.RandomState({seed})
X = rng.randn(12, 3).astype(np.float32)
Y = (X.sum(1, keepdims=True) * 0.5 + 0.1 * rng.randn(12, 1)).astype(np.float32)
x = tf.placeholder(tf.float32, [None, 3], name="x")
y = tf.placeholder(tf.float32, [None, 1], name="y")
"""

MODELS = {
    "linear": """\
w = tf.Variable(rng.randn(3, 1).astype(np.float32), name="w")
b = tf.Variable(tf.zeros([1]), name="b")
out = tf.matmul(x, w) + b
loss = tf.reduce_mean(tf.square(out - y)) + 0.01 * tf.nn.l2_loss(w)
""",
    "layers": """\
init = tf.random_normal_initializer(stddev=0.4, seed=3)
h = tf.layers.dense(x, 5, activation=tf.nn.tanh, kernel_initializer=init)
out = tf.layers.dense(h, 1, kernel_initializer=init)
loss = tf.losses.mean_squared_error(y, out)
""",
    "dropout": """\
w1 = tf.Variable(0.3 * rng.randn(3, 6).astype(np.float32))
w2 = tf.Variable(0.3 * rng.randn(6, 1).astype(np.float32))
h = tf.nn.dropout(tf.nn.relu(tf.matmul(x, w1)), keep_prob=0.75, seed=5)
out = tf.matmul(h, w2)
loss = tf.reduce_mean(tf.abs(out - y))
""",
    "noise": """\
w = tf.Variable(tf.random_uniform([3, 1], -0.5, 0.5, seed=2))
noisy = x + 0.1 * tf.random_normal(tf.shape(x), seed=7)
out = tf.matmul(noisy, w)
loss = tf.reduce_mean((out - y) ** 2)
""",
    "embedding": """\
ids = tf.cast(tf.reduce_sum(tf.cast(x > 0, tf.int32), axis=1), tf.int32)
table = tf.get_variable("table", initializer=rng.randn(4, 2).astype(np.float32))
w = tf.get_variable("w", initializer=rng.randn(2, 1).astype(np.float32))
out = tf.matmul(tf.nn.embedding_lookup(table, ids), w)
loss = tf.reduce_mean(tf.square(out - y))
""",
    "classes": """\
labels = tf.cast(y[:, 0] > 0, tf.int32)
w = tf.Variable(0.1 * rng.randn(3, 2).astype(np.float32))
b = tf.Variable(tf.constant(0.1, shape=[2]))
logits = tf.nn.xw_plus_b(x, w, b)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
out = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.cast(labels, tf.int64)), tf.float32))
""",
    "rnn": """\
cell = tf.nn.rnn_cell.BasicRNNCell(4)
with tf.variable_scope("rnn", initializer=tf.random_uniform_initializer(-0.4, 0.4, seed=4)):
    outputs, state = tf.nn.dynamic_rnn(cell, tf.reshape(x, [-1, 3, 1]), dtype=tf.float32)
w = tf.Variable(0.2 * rng.randn(4, 1).astype(np.float32))
out = tf.matmul(state, w)
loss = tf.reduce_mean(tf.square(out - y))
""",
    "lstm": """\
cell = tf.nn.rnn_cell.LSTMCell(3, initializer=tf.random_uniform_initializer(-0.4, 0.4, seed=4))
outputs, (c, h) = tf.nn.static_rnn(cell, tf.split(x, 3, axis=1), dtype=tf.float32)
w = tf.Variable(0.2 * rng.randn(3, 1).astype(np.float32))
out = tf.matmul(h, w)
loss = tf.reduce_mean(tf.square(out - y))
""",
    "while": """\
w = tf.Variable(0.5 * rng.randn(3, 3).astype(np.float32))
_, h = tf.while_loop(lambda i, _: i < 3, lambda i, h: (i + 1, tf.tanh(tf.matmul(h, w))), [tf.constant(0), x])
out = tf.reduce_sum(h, axis=1, keepdims=True)
loss = tf.reduce_mean(tf.square(out - y))
""",
    "scan": """\
w = tf.Variable(0.3 * rng.randn(1, 2).astype(np.float32))
u = tf.Variable(np.eye(2, dtype=np.float32) * 0.5)
steps = tf.scan(lambda h, v: tf.tanh(tf.matmul(h, u) + tf.matmul(v[:, None], w)), tf.transpose(x),
                initializer=tf.zeros([tf.shape(x)[0], 2]))
out = tf.reduce_sum(steps[-1], 1, keepdims=True)
loss = tf.reduce_mean(tf.square(out - y))
""",
    "cond": """\
scale = tf.Variable(0.7)
w = tf.Variable(0.5 * rng.randn(3, 1).astype(np.float32))
raw = tf.matmul(x, w)
out = tf.cond(tf.reduce_mean(raw) > 0.05, lambda: raw * scale, lambda: tf.tanh(raw) - scale)
loss = tf.reduce_mean(tf.square(out - y))
""",
    "own_gradient": """\
@tf.custom_gradient
def clipped(v):
    def grad(dv):
        return 0.5 * tf.clip_by_value(dv, -0.01, 0.01)
    return tf.identity(v), grad


w = tf.Variable(0.5 * rng.randn(3, 1).astype(np.float32))
out = clipped(tf.matmul(x, w))
loss = tf.reduce_mean(tf.square(out - y))
""",
    "pinn": """\
t = tf.reduce_sum(x, 1, keepdims=True)
w1 = tf.Variable(0.8 * rng.randn(1, 4).astype(np.float32))
w2 = tf.Variable(0.8 * rng.randn(4, 1).astype(np.float32))
out = tf.matmul(tf.tanh(tf.matmul(t, w1)), w2)
slope = tf.gradients(out, t)[0]
bend = tf.gradients(slope, t)[0]
loss = tf.reduce_mean(tf.square(bend + 0.5 * slope - y)) + tf.reduce_mean(tf.square(out))
""",
    "convolution": """\
k = tf.get_variable("k", [2, 2, 1, 3], initializer=tf.truncated_normal_initializer(stddev=0.3, seed=6))
image = tf.reshape(tf.concat([x, x * x, 1.0 - x], axis=1), [-1, 3, 3, 1])
maps = tf.nn.relu(tf.nn.conv2d(image, k, strides=[1, 1, 1, 1], padding="SAME"))
out = tf.reduce_mean(maps, axis=[1, 2])[:, :1]
loss = tf.reduce_mean(tf.square(out - y))
""",
    "batch_norm": """\
h = tf.layers.batch_normalization(x, training=True, momentum=0.9)
w = tf.Variable(0.5 * rng.randn(3, 1).astype(np.float32))
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    out = tf.matmul(h, w)
loss = tf.reduce_mean(tf.square(out - y))
""",
    "attention": """\
q, k, v = [tf.get_variable(n, initializer=(0.4 * rng.randn(3, 2)).astype(np.float32)) for n in "qkv"]
scores = tf.matmul(tf.matmul(x, q), tf.matmul(x, k), transpose_b=True) / np.sqrt(2.0)
mixed = tf.matmul(tf.nn.softmax(scores, axis=-1), tf.matmul(x, v))
out = tf.reduce_sum(mixed, -1, keepdims=True)
loss = tf.reduce_mean(tf.square(out - y))
""",
    "shared": """\
def net(a, reuse):
    with tf.variable_scope("net", reuse=reuse, initializer=tf.random_normal_initializer(0.0, 0.5, seed=9)):
        h = tf.nn.sigmoid(tf.matmul(a, tf.get_variable("w1", [3, 4])))
        return tf.matmul(h, tf.get_variable("w2", [4, 1]))


out = net(x, False) - net(-x, True)
loss = tf.reduce_mean(tf.square(out - y))
""",
    "mixture": """\
mu = tf.Variable([[-1.0, 0.0, 1.0]])
s = tf.Variable([[0.1, 0.2, 0.3]])
each = -0.5 * tf.square((y - mu) * tf.exp(-s)) - s
out = tf.nn.softmax(each, axis=1) * tf.where(x > 0, x, 0.1 * x)
loss = -tf.reduce_mean(tf.reduce_logsumexp(each, axis=1)) + 0.1 * tf.reduce_mean(out)
""",
    "py_func": """\
def weighted(a):
    return (1.0 / (1.0 + np.abs(a))).astype(np.float32)


w = tf.Variable(0.5 * rng.randn(3, 1).astype(np.float32))
weight = tf.py_func(weighted, [x[:, :1]], tf.float32)
out = tf.matmul(x, w)
loss = tf.reduce_mean(tf.stop_gradient(tf.reshape(weight, [-1, 1])) * tf.square(out - y))
""",
    "double": """\
a = tf.cast(x, tf.float64)
w = tf.Variable(0.5 * rng.randn(3, 1), dtype=tf.float64)
out = tf.cast(tf.matmul(a, w), tf.float32)
loss = tf.reduce_mean(tf.square(out - y))
""",
}

OPTIMIZERS = (
    "tf.train.GradientDescentOptimizer({lr})",
    "tf.train.MomentumOptimizer({lr}, 0.9)",
    "tf.train.MomentumOptimizer({lr}, momentum=0.8, use_nesterov=True)",
    "tf.train.AdamOptimizer({lr}, beta1=0.8)",
    "tf.train.RMSPropOptimizer({lr}, decay=0.8)",
    "tf.train.AdagradOptimizer({lr}, initial_accumulator_value=0.2)",
    "tf.train.FtrlOptimizer({lr}, l1_regularization_strength=0.01)",
    "tf.train.AdadeltaOptimizer({lr}, rho=0.9)",
)
STEPS = {
    "minimize": "opt = {opt}\ntrain = opt.minimize(loss)\n",
    "clipped": """\
opt = {opt}
pairs = opt.compute_gradients(loss)
train = opt.apply_gradients([(tf.clip_by_norm(g, 0.5), v) for g, v in pairs if g is not None])
""",
    "global_norm": """\
opt = {opt}
variables = tf.trainable_variables()
grads, norm = tf.clip_by_global_norm(tf.gradients(loss, variables), 1.0)
train = opt.apply_gradients(zip(grads, variables))
""",
    "decay": """\
count = tf.Variable(0, trainable=False, name="count")
rate = tf.train.exponential_decay(0.05, count, 2, 0.5, staircase=True)
train = tf.train.GradientDescentOptimizer(rate).minimize(loss, global_step=count)
""",
    "average": """\
opt = {opt}
ema = tf.train.ExponentialMovingAverage(0.9)
first = opt.minimize(loss)
with tf.control_dependencies([first]):
    train = ema.apply(tf.trainable_variables())
""",
}
START = "sess = tf.Session()\nsess.run(tf.global_variables_initializer())\n"
LOOPS = {
    "plain": START
    + """\
for step in range(4):
    _, value = sess.run([train, loss], {x: X, y: Y})
    print(step, value)
""",
    "evaluating": START
    + """\
for step in range(6):
    at = step % 3
    sess.run(train, feed_dict={x: X[at * 4:at * 4 + 4], y: Y[at * 4:at * 4 + 4]})
    if step % 2 == 1:
        print("step %d loss %.6f" % (step, sess.run(loss, feed_dict={x: X, y: Y})))
print(sess.run(out, {x: X[:2], y: Y[:2]}))
""",
    "epochs": """\
def batches(size, order):
    for i in range(0, len(order), size):
        yield X[order[i:i + size]], Y[order[i:i + size]]


with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(2):
        total = 0.0
        for bx, by in batches(5, rng.permutation(12)):
            _, value = sess.run([train, loss], feed_dict={x: bx, y: by})
            total += value * len(bx)
        print("epoch", epoch, total / 12)
""",
    "early_stopping": START
    + """\
best, waited, history = 1e9, 0, []
for step in range(8):
    sess.run(train, {x: X[:8], y: Y[:8]})
    value = float(sess.run(loss, {x: X[8:], y: Y[8:]}))
    history.append(value)
    if value < best - 0.01:
        best, waited = value, 0
    else:
        waited += 1
    if waited > 1:
        break
print(len(history), best, history)
""",
    "dispatch": START
    + """\
for step in range(5):
    wanted = {"loss": loss}
    if step > 1:
        wanted["train"] = train
    if step == 3:
        wanted["out"] = out
    got = sess.run(wanted, feed_dict={x: X, y: Y})
    print(step, sorted(got), got["loss"], np.sum(got.get("out", 0.0)))
""",
    "scheduled": START
    + """\
for step in range(5):
    feed = {x: X, y: Y}
    if step == 2:
        feed[x] = X[::-1]
    if step > 2:
        feed = {x: X[:6] * (0.5 + step), y: Y[:6]}
    _, value = sess.run([train, loss], feed)
    print("%.7f" % value)
""",
    "class": START
    + """\
class Trainer:
    def __init__(self):
        self.seen = []

    def fit(self, a, b, times=3):
        for _ in range(times):
            sess.run(train, {x: a, y: b})
            self.seen.append(sess.run(loss, {x: a, y: b}))

    def predict(self, a, b):
        return sess.run(out, feed_dict={x: a, y: b})


trainer = Trainer()
trainer.fit(X, Y)
trainer.fit(X[:6], Y[:6], times=2)
print(np.array(trainer.seen), trainer.predict(X[:3], Y[:3]))
""",
    "silent": START
    + """\
losses = []
for step in range(4):
    losses.append(sess.run([loss, train], {x: X, y: Y})[0])
np.save("losses.npy", np.array(losses))
final = sess.run(out, {x: X, y: Y})
""",
    "converging": START
    + """\
old, value, turns = 1e9, sess.run(loss, {x: X, y: Y}), 0
while abs(old - value) > 1e-3 and turns < 6:
    old = value
    sess.run(train, {x: X, y: Y})
    value = sess.run(loss, {x: X, y: Y})
    turns += 1
print(turns, value)
""",
    "phases": START
    + """\
results = []
for phase, (rows, turns) in enumerate([(slice(0, 6), 2), (slice(6, 12), 3)]):
    feed = {x: X[rows], y: Y[rows]}
    for step in range(turns):
        fetches = [loss, train] if step else [loss, out]
        value, second = sess.run(fetches, feed_dict=feed)
        results.append(value if second is None else value + second.sum())
print(results)
""",
    "summaries": """\
tf.summary.scalar("loss", loss)
merged = tf.summary.merge_all()
writer = tf.summary.FileWriter("logs")
saver = tf.train.Saver()
sess = tf.Session()
sess.run(tf.global_variables_initializer())
for step in range(3):
    text, _ = sess.run([merged, train], {x: X, y: Y})
    writer.add_summary(text, step)
saver.save(sess, "./model.ckpt")
print(sess.run(loss, {x: X, y: Y}))
""",
    "main": """\
def main():
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(4):
            value, _ = sess.run((loss, train), feed_dict={x: X, y: Y})
            if step % 2 == 0:
                print("loss at", step, "is", value)


if __name__ == "__main__":
    main()
""",
}

OTHERS = {
    "counter": """\
import numpy as np
import tensorflow as tf

total = tf.Variable(0.0, name="total")
count = tf.Variable(0, name="count")
given = tf.placeholder(tf.float32, [])
add = tf.group(total.assign_add(given), count.assign_add(1))
reset = tf.group(total.assign(0.0), count.assign(0))
mean = total / tf.cast(tf.maximum(count, 1), tf.float32)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(6):
        sess.run(add, {given: 1.5 * i})
        if i == 3:
            print("mean", sess.run(mean))
            sess.run(reset)
    print("mean", sess.run(mean), sess.run([total, count]))
""",
    "data_set": """\
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(4)
A = rng.randn(10, 2).astype(np.float32)
B = A @ np.array([[1.0], [-2.0]], np.float32)
a, b = tf.data.Dataset.from_tensor_slices((A, B)).repeat(2).batch(4).make_one_shot_iterator().get_next()
w = tf.Variable(tf.zeros([2, 1]))
loss = tf.reduce_mean(tf.square(tf.matmul(a, w) - b))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    while True:
        try:
            print(sess.run([loss, train])[0])
        except tf.errors.OutOfRangeError:
            break
    print(sess.run(w))
""",
    "newton": """\
import numpy as np
import tensorflow as tf

z = tf.Variable(np.array([1.5, -0.5]))
f = tf.reduce_sum(z ** 4) + z[0] * z[1] + tf.exp(-z[1])
g = tf.gradients(f, z)[0]
H = tf.hessians(f, z)[0]
step = z.assign_sub(tf.squeeze(tf.matrix_solve(H, g[:, None]), 1))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(4):
        value = sess.run(f)
        sess.run(step)
        print(i, value)
    print(sess.run(z), sess.run(tf.norm(g)))
""",
    "random_walk": """\
import numpy as np
import tensorflow as tf

tf.set_random_seed(11)
place = tf.Variable(tf.zeros([3]))
jump = tf.random_normal([3], seed=1) + 0.5 * tf.random_uniform([3], -1.0, 1.0, seed=1)
go = place.assign_add(tf.where(tf.random_uniform([3]) < 0.5, jump, -jump))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(4):
        print(sess.run(go))
""",
    "two_losses": """\
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(6)
x = tf.placeholder(tf.float32, [None, 2], "x")
rate = tf.placeholder_with_default(0.1, [], "rate")
w = tf.Variable([[1.0], [2.0]])
b = tf.Variable(0.5)
out = tf.matmul(x, w) + b
small, large = tf.reduce_mean(tf.square(out)), tf.reduce_max(tf.abs(out))
first = tf.train.GradientDescentOptimizer(rate).minimize(small, var_list=[w])
second = tf.train.MomentumOptimizer(rate, 0.5).minimize(large, var_list=[b])
sess = tf.InteractiveSession()
tf.global_variables_initializer().run()
for step in range(6):
    feed = {x: rng.randn(3, 2)}
    if step > 3:
        feed[rate] = 0.01
    got = sess.run([small, first] if step % 2 else [large, second], feed)[0]
    print(step, got, small.eval(feed), b.eval())
""",
    "assigned_rate": """\
import numpy as np
import tensorflow as tf

lr = tf.Variable(0.5, trainable=False)
new = tf.placeholder(tf.float32, [])
change = tf.assign(lr, new)
w = tf.Variable([3.0, -2.0])
loss = tf.reduce_sum(w * w * [1.0, 0.5])
train = tf.train.GradientDescentOptimizer(lr).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(4):
        sess.run(change, {new: 0.3 * 0.5 ** max(epoch - 1, 0)})
        sess.run(train)
        print(epoch, *sess.run([loss, w]))
""",
    "factorization": """\
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(7)
users, items, scores = rng.randint(0, 4, 9), rng.randint(0, 5, 9), rng.rand(9)
u, i, r = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None]), tf.placeholder(tf.float32, [None])
U = tf.get_variable("U", initializer=(0.3 * rng.randn(4, 2)).astype(np.float32))
V = tf.get_variable("V", initializer=(0.3 * rng.randn(5, 2)).astype(np.float32))
bias = tf.get_variable("bias", [5], initializer=tf.constant_initializer(0.1))
guess = tf.reduce_sum(tf.gather(U, u) * tf.gather(V, i), axis=1) + tf.gather(bias, i)
loss = tf.reduce_mean(tf.square(guess - r)) + 0.02 * (tf.nn.l2_loss(U) + tf.nn.l2_loss(V))
train = tf.train.MomentumOptimizer(0.3, 0.5).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(3):
        for k in range(3):
            part = slice(k * 3, (k + 1) * 3)
            sess.run(train, {u: users[part], i: items[part], r: scores[part]})
        print(epoch, sess.run(loss, {u: users, i: items, r: scores}))
""",
}


def made(name: str, model: str, optimizer: str, step: str, loop: str, seed: int) -> str:
    """A program of parts."""
    opt = optimizer.format(lr=random.Random(seed).choice(("0.05", "0.1", "0.02")))
    return f"# {name}\n{HEAD.format(seed=seed)}\n{MODELS[model]}\n{STEPS[step].format(opt=opt)}\n{LOOPS[loop]}"


def small_programs(seed: int) -> list[tuple[str, str]]:
    """One program of each model, each with two other loops, and the others; other parts meet with another seed."""
    draw, found = random.Random(seed), [(f"small-{name}", text) for name, text in OTHERS.items()]
    loops: list[str] = []
    for turn in range(2):
        for k, model in enumerate(MODELS):
            loops = loops or draw.sample(sorted(LOOPS), len(LOOPS))
            step, loop = draw.choice(sorted(STEPS)), loops.pop()
            name = f"{model}-{step}-{loop}"
            found.append((f"small-{name}", made(name, model, draw.choice(OPTIMIZERS), step, loop, 100 * turn + k + 1)))
    return found
