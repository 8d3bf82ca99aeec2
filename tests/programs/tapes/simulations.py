import numpy as np
import tensorflow as tf
tf.random.set_seed(44)
# projectile: fit initial velocity through a simulated trajectory with drag
v0 = tf.Variable([1., 1.])
opt = tf.keras.optimizers.Adam(0.3)
@tf.function
def simulate(v, n):
    p = tf.zeros([2]); tr = tf.TensorArray(tf.float32, size=n)
    for i in tf.range(n):
        a = tf.constant([0., -9.81]) - 0.1 * v * tf.norm(v)
        v = v + 0.05 * a
        p = p + 0.05 * v
        if p[1] < 0.:
            p = tf.stack([p[0], -0.8 * p[1]]); v = v * tf.constant([0.9, -0.8])
        tr = tr.write(i, p)
    return tr.stack()
for i in range(10):
    with tf.GradientTape() as t:
        traj = simulate(v0, tf.constant(20))
        loss = tf.reduce_sum((traj[-1] - tf.constant([3., 1.])) ** 2)
    opt.apply_gradients([(t.gradient(loss, v0), v0)])
    print(float(loss), v0.numpy().tolist())
# heat equation control by Laplacian convolution
u0 = tf.Variable(tf.random.uniform([1, 12, 12, 1]))
k = tf.reshape(tf.constant([[0., 1., 0.], [1., -4., 1.], [0., 1., 0.]]), [3, 3, 1, 1])
target = tf.exp(-tf.reduce_sum(tf.square(tf.stack(tf.meshgrid(tf.linspace(-1., 1., 12), tf.linspace(-1., 1., 12)), -1)), -1))[None, :, :, None]
@tf.function
def heat():
    with tf.GradientTape() as t:
        u = tf.identity(u0)
        def body(i, u): return i + 1, u + 0.1 * tf.nn.conv2d(tf.pad(u, [[0, 0], [1, 1], [1, 1], [0, 0]], "SYMMETRIC"), k, 1, "VALID")
        _, u = tf.while_loop(lambda i, u: i < 10, body, (tf.constant(0), u))
        loss = tf.reduce_mean((u - target) ** 2)
    u0.assign_sub(20. * t.gradient(loss, u0))
    return loss
for i in range(10): print(float(heat()))
# n-body with symplectic Euler, scan over time, energy drift and masses fitted
m = tf.Variable([1., .5, .8]); x0 = tf.random.normal([3, 2]); vv0 = .1 * tf.random.normal([3, 2])
def forces(x):
    d = x[None] - x[:, None]
    r2 = tf.reduce_sum(d ** 2, -1) + 0.1
    return tf.reduce_sum(m[None, :, None] * d * (r2 ** -1.5)[..., None], 1)
def run():
    def step(s, _):
        x, v = s
        v = v + 0.02 * forces(x)
        return x + 0.02 * v, v
    return tf.scan(step, tf.range(15), (x0, vv0))
sgd = tf.keras.optimizers.SGD(5.)
g = tf.function(lambda: run())
for i in range(10):
    with tf.GradientTape() as t:
        xs, vs = g()
        loss = tf.reduce_mean((xs[-1] - x0 * .9) ** 2)
    sgd.apply_gradients([(t.gradient(loss, m), m)])
    print(float(loss))
# pendulum Hamiltonian network, jacobian for symplectic gradient
W1, W2 = tf.Variable(tf.random.normal([2, 8]) * .5), tf.Variable(tf.random.normal([8, 1]) * .5)
z = tf.random.normal([16, 2]); dz = tf.stack([z[:, 1], -tf.sin(z[:, 0])], 1)
adam = tf.keras.optimizers.Adam(0.01)
for i in range(10):
    with tf.GradientTape() as t:
        with tf.GradientTape() as tz:
            tz.watch(z); H = tf.reduce_sum(tf.tanh(z @ W1) @ W2)
        dH = tz.gradient(H, z)
        loss = tf.reduce_mean((tf.stack([dH[:, 1], -dH[:, 0]], 1) - dz) ** 2)
    adam.apply_gradients(zip(t.gradient(loss, [W1, W2]), [W1, W2]))
    print(float(loss))
