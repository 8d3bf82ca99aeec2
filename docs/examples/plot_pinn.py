"""
A physics-informed network, in both modes
=========================================

A small network u(x) is trained to solve u'' = -π² sin(πx) with u = 0 at both ends; the solution is sin(πx). Its loss
contains second derivatives of the network, and training differentiates the loss again: third order. The same code
runs in a graph and on a tape, and the losses are the same numbers to the last bit.
"""

import matplotlib.pyplot as plt
import numpy as np

import graph_api
import tape_api

points = np.linspace(0.0, 1.0, 41)[:, None]
force = -(np.pi**2) * np.sin(np.pi * points)
rng = np.random.default_rng(0)
start = [rng.normal(size=(1, 20)) * 3.0, rng.normal(size=20), rng.normal(size=(20, 1)) * 0.2]

# %%
# One function for both front ends: its first argument is the one to use. ``x * (1 - x)`` makes the ends zero.


def network(tf, x, weights):
    w, b, v = weights
    return x * (1.0 - x) * tf.matmul(tf.tanh(tf.matmul(x, w) + b), v)


# %%
# In a graph
# ----------
# ``tf.gradients`` adds nodes; of these, gradients can be taken again.

tf = graph_api
x = tf.constant(points)
weights = [tf.Variable(w) for w in start]
u = network(tf, x, weights)
(first,) = tf.gradients(u, x)
(second,) = tf.gradients(first, x)
loss = tf.reduce_mean((second - force) ** 2)
train = tf.train.AdamOptimizer(0.02).minimize(loss, var_list=weights)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    in_a_graph = [session.run([loss, train])[0] for _ in range(600)]
    solution = session.run(u)

# %%
# On a tape
# ---------
# Tapes within tapes. ``tf.function`` makes the step one program.

tf = tape_api
x = tf.constant(points)
variables = [tf.Variable(w) for w in start]
adam = tf.compat.v1.train.AdamOptimizer(0.02)


@tf.function
def step():
    with tf.GradientTape() as outer:
        with tf.GradientTape() as middle:
            middle.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                u = network(tf, x, variables)
            first = inner.gradient(u, x)
        second = middle.gradient(first, x)
        loss = tf.reduce_mean((second - force) ** 2)
    adam.apply_gradients(zip(outer.gradient(loss, variables), variables))
    return loss


on_a_tape = [step().numpy() for _ in range(600)]
print("equal to the bit:", np.array(in_a_graph).tobytes() == np.array(on_a_tape).tobytes())

# %%
plt.subplot(1, 2, 1)
plt.semilogy(in_a_graph)
plt.title("loss")
plt.subplot(1, 2, 2)
plt.plot(points, solution, label="network")
plt.plot(points, np.sin(np.pi * points), "--", label="sin πx")
plt.legend()
plt.show()

assert np.array(in_a_graph).tobytes() == np.array(on_a_tape).tobytes()
assert abs(solution - np.sin(np.pi * points)).max() < 0.05
