"""Implicit differentiation through a fixed point, a linear solve and an ODE adjoint with tf.custom_gradient, in float64."""
import numpy as np
import scipy.linalg
import scipy.optimize
import tensorflow as tf

tf.random.set_seed(0)
rng = np.random.RandomState(0)
n = 4
W = tf.Variable(rng.randn(n, n) * 0.2, dtype=tf.float64)
x = tf.constant(rng.randn(n))


def fixed_point_layer(f, z0, tol=1e-12, max_iter=500):
    z = z0
    for i in tf.range(max_iter):
        z_new = f(z)
        if tf.norm(z_new - z) < tol:
            break
        z = z_new
    return z


@tf.custom_gradient
def deq(W, x):
    f = lambda z: tf.tanh(tf.linalg.matvec(W, z) + x)
    with tf.GradientTape() as t:
        t.stop_recording() if False else None
        z = fixed_point_layer(f, tf.zeros_like(x))

    def grad(dz):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([W, x])
            zz = tf.identity(z)
            tape.watch(zz)
            out = tf.tanh(tf.linalg.matvec(W, zz) + x)
        J = tape.jacobian(out, zz)
        u = tf.linalg.solve(tf.eye(n, dtype=tf.float64) - tf.transpose(J), dz[:, None])[:, 0]
        return tape.gradient(out, [W, x], output_gradients=u)
    return z, grad


with tf.GradientTape() as tape:
    tape.watch(x)
    z = deq(W, x)
    loss = tf.reduce_sum(z ** 2)
gW, gx = tape.gradient(loss, [W, x])
eps = 1e-6
num = []
for i in range(n):
    d = np.zeros(n); d[i] = eps
    num.append((tf.reduce_sum(deq(W, x + d) ** 2) - tf.reduce_sum(deq(W, x - d) ** 2)).numpy() / (2 * eps))
print("z", np.round(z, 10))
print("gx", np.round(gx.numpy(), 8), np.allclose(gx, num, atol=1e-6))
print("gW", np.round(np.linalg.norm(gW), 8))


@tf.custom_gradient
def np_solve(A, b):
    sol = tf.numpy_function(lambda A, b: scipy.linalg.solve(A, b), [A, b], tf.float64)
    sol = tf.ensure_shape(sol, b.shape)

    def grad(upstream):
        lam = tf.numpy_function(lambda A, g: scipy.linalg.solve(A.T, g), [A, upstream], tf.float64)
        lam.set_shape(b.shape)
        return -tf.einsum('i,j->ij', lam, sol), lam
    return sol, grad


A = tf.constant(rng.randn(n, n) + 3 * np.eye(n))
b = tf.constant(rng.randn(n))
with tf.GradientTape(persistent=True) as tape:
    tape.watch([A, b])
    s1 = tf.reduce_sum(tf.sin(np_solve(A, b)))
    s2 = tf.reduce_sum(tf.sin(tf.squeeze(tf.linalg.solve(A, tf.expand_dims(b, -1)), -1)))
for src in (A, b):
    print(np.allclose(tape.gradient(s1, src), tape.gradient(s2, src)), "%.10f" % tf.norm(tape.gradient(s1, src)))
del tape


class Root(object):
    """theta -> root of f(., theta) by scipy, derivative by the implicit function theorem."""

    def __init__(self, f):
        self.f = f

    def __call__(self, theta):
        @tf.custom_gradient
        def solve(theta):
            r = scipy.optimize.root(lambda y: self.f(tf.constant(y), theta).numpy(), np.ones(2), tol=1e-13)
            y = tf.constant(r.x)

            def grad(g):
                with tf.GradientTape(persistent=True) as t:
                    t.watch([y, theta])
                    out = self.f(y, theta)
                Jy = t.jacobian(out, y)
                v = tf.linalg.solve(Jy, g[:, tf.newaxis], adjoint=True)
                return t.gradient(out, theta, output_gradients=-tf.squeeze(v, 1))
            return y, grad
        return solve(theta)


f = lambda y, th: tf.stack([y[0] ** 2 + y[1] - th[0], tf.exp(y[1]) + y[0] - th[1] ** 2])
theta = tf.Variable([3.0, 1.5], dtype=tf.float64)
root = Root(f)
for step in range(3):
    with tf.GradientTape() as tape:
        y = root(theta)
        loss = tf.reduce_sum((y - [1.2, 0.3]) ** 2)
    g = tape.gradient(loss, theta)
    theta.assign_sub(0.1 * g)
    print("step %d loss %.10f theta %s" % (step, loss, np.array2string(theta.numpy(), precision=8)))


def odeint(func, y0, t):
    ys = tf.TensorArray(tf.float64, size=len(t))
    ys = ys.write(0, y0)
    y = y0
    for i in range(len(t) - 1):
        dt = t[i + 1] - t[i]
        k1 = func(y, t[i])
        k2 = func(y + dt * k1 / 2, t[i] + dt / 2)
        k3 = func(y + dt * k2 / 2, t[i] + dt / 2)
        k4 = func(y + dt * k3, t[i + 1])
        y = y + dt * (k1 + 2 * k2 + 2 * k3 + k4) / 6
        ys = ys.write(i + 1, y)
    return ys.stack()


p = tf.Variable([1.5, 1.0, 3.0, 1.0], dtype=tf.float64)
lv = lambda y, t: tf.stack([p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[3] * y[0] * y[1]])
ts = np.linspace(0, 1, 21)
y0 = tf.constant([1.0, 1.0], tf.float64)
with tf.GradientTape(persistent=True) as tape:
    tape.watch(y0)
    traj = odeint(lv, y0, ts)
    last = traj[-1]
print("traj", traj.shape, np.round(last.numpy(), 8))
print("sens", np.round(tape.jacobian(last, p).numpy(), 6).tolist())
print("dy0", np.round(tape.jacobian(last, y0, experimental_use_pfor=False).numpy(), 6).tolist())
