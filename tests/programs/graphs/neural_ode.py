# tolerance: 1e-3
# A neural ODE: Runge-Kutta steps in tf.scan, the gradient by backpropagation and by the adjoint equation.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(13)
t = np.linspace(0.0, 1.0, 11)
dt = float(t[1] - t[0])
A = np.array([[-0.1, 2.0], [-2.0, -0.1]])
truth = [np.array([2.0, 0.0])]
for _ in t[1:]:
    x = truth[-1]
    k1 = (x**3) @ A
    k2 = ((x + dt / 2 * k1) ** 3) @ A
    truth.append(x + dt * k2)
truth = np.stack(truth).astype(np.float64)

W1 = tf.Variable(0.5 * rng.randn(2, 12), dtype=tf.float64)
b1 = tf.Variable(np.zeros(12), dtype=tf.float64)
W2 = tf.Variable(0.5 * rng.randn(12, 2), dtype=tf.float64)
params = [W1, b1, W2]


def func(y):
    return tf.matmul(tf.tanh(tf.matmul(y, W1) + b1), W2)


def rk4_step(f, y, h):
    k1 = f(y)
    k2 = f(y + h * k1 / 2)
    k3 = f(y + h * k2 / 2)
    k4 = f(y + h * k3)
    return y + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6


y0 = tf.constant(truth[:1])
states = tf.scan(lambda y, _: rk4_step(func, y, dt), tf.zeros([10], tf.float64), initializer=y0)
final = states[-1]
loss = tf.reduce_mean(tf.square(states[:, 0, :] - truth[1:]))
train = tf.train.AdamOptimizer(0.02).minimize(loss)

# the gradient of the final state's norm, by the adjoint method: three quantities flow backwards
objective = tf.reduce_sum(tf.square(final))
by_backprop = tf.gradients(objective, params)
y, a, g = final, tf.gradients(objective, final)[0], [tf.zeros_like(p) for p in params]
for _ in range(10):
    for _ in range(8):
        f = func(y)
        vjps = tf.gradients(f, [y] + params, grad_ys=a)
        y, a = y - dt / 8 * f, a + dt / 8 * vjps[0]
        g = [acc + dt / 8 * v for acc, v in zip(g, vjps[1:])]

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    exact, adjoint = sess.run([by_backprop, g])
    for e, h in zip(exact, adjoint):
        print("shape", e.shape, "norm %.5f" % np.linalg.norm(e), "adjoint %.5f" % np.linalg.norm(h))
    for itr in range(40):
        _, value = sess.run([train, loss])
        if itr % 10 == 0:
            print("Iter %d | Total Loss %.6f" % (itr, value))
