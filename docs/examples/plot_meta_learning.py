"""
Meta-learning in a graph
========================

A network learns to learn: it is trained so that *one* step of gradient descent on five points is enough to fit a new
sine. The step is a part of the graph, so the outer gradient goes through the inner one. That is a second derivative,
which TensorFlow 1 writes as ``gradients`` of ``gradients``.
"""

import matplotlib.pyplot as plt
import numpy as np

import graph_api as tf

rng = np.random.default_rng(0)
tf.set_random_seed(0)

# %%
# Eight tasks at once
# -------------------
# Each task is a sine of its own. A network for each is one product of stacks of matrices.

tasks, points, width = 8, 10, 32
near_x, near_y, far_x, far_y = (tf.placeholder(tf.float32, [None, points, 1]) for _ in range(4))
rate = 0.1


def new(name, *shape):
    scale = 1.0 / np.sqrt(shape[0]) if len(shape) > 1 else 0.0
    return tf.get_variable(name, shape, initializer=tf.random_normal_initializer(stddev=scale))


start = [new("w0", 1, width), new("b0", width), new("w1", width, width), new("b1", width), new("w2", width, 1)]


def network(x, p):
    hidden = tf.tanh(tf.matmul(tf.tanh(tf.matmul(x, 3.0 * p[0]) + p[1]), p[2]) + p[3])
    return tf.matmul(hidden, p[4])


def loss(x, y, p):
    """One number a task."""
    return tf.reduce_mean((network(x, p) - y) ** 2, [1, 2])


# %%
# The inner step, and the outer one
# ---------------------------------
# Every task starts from a copy of the same weights.

count = tf.shape(near_x)[0]
copies = [p + tf.zeros(tf.concat([[count], [1] * (2 - p.shape.ndims), tf.shape(p)], 0)) for p in start]
slopes = tf.gradients(loss(near_x, near_y, copies), copies)
adapted = [p - rate * slope for p, slope in zip(copies, slopes)]
outer = tf.reduce_mean(loss(far_x, far_y, adapted))
train = tf.train.AdamOptimizer(3e-3).minimize(outer)


def draw(count):
    height, shift = rng.uniform(0.5, 2.0, (count, 1, 1)), rng.uniform(0.0, np.pi, (count, 1, 1))
    near, far = rng.uniform(-3.0, 3.0, (2, count, points, 1))
    return {near_x: near, near_y: height * np.sin(near + shift), far_x: far, far_y: height * np.sin(far + shift)}


with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    losses = [session.run([outer, train], draw(tasks))[0] for _ in range(1500)]

    # a sine that it has never seen, and its ten points
    grid = np.linspace(-3.0, 3.0, 100).reshape(1, 10, 10).transpose(1, 2, 0)
    x = rng.uniform(-3.0, 3.0, (1, points, 1))
    feed = {near_x: np.repeat(x, 10, 0), near_y: np.repeat(1.5 * np.sin(x + 1.0), 10, 0), far_x: grid}
    before, after = session.run([network(far_x, copies), network(far_x, adapted)], feed)
print(f"loss after one step: {np.mean(losses[:50]):.2f} at first, {np.mean(losses[-50:]):.2f} in the end")

# %%
# One step of gradient descent, from the weights that were learned.

plt.plot(grid.ravel(), 1.5 * np.sin(grid.ravel() + 1.0), "k:", label="the sine")
plt.plot(x.ravel(), 1.5 * np.sin(x.ravel() + 1.0), "ko")
plt.plot(grid.ravel(), before.ravel(), label="before")
plt.plot(grid.ravel(), after.ravel(), label="after one step")
plt.legend()
plt.show()

assert np.mean(losses[-50:]) < 0.5 * np.mean(losses[:50])
