# tolerance: 2e-3
# A physics-informed network in TensorFlow 2: nested tapes for u_xx, Adam, then L-BFGS of SciPy on flat weights.
import numpy as np
import scipy.optimize
import tensorflow as tf

rng = np.random.RandomState(43)
tf.keras.backend.set_floatx("float64")
sizes = [(2, 12), (12, 12), (12, 1)]
params = [tf.Variable(rng.randn(*s) / np.sqrt(s[0])) for s in sizes] + [tf.Variable(np.zeros(s[1])) for s in sizes]
X_f = tf.constant(rng.rand(60, 2))
x0 = np.linspace(0, 1, 15)
X_u = tf.constant(np.vstack([np.c_[x0, 0 * x0], np.c_[0 * x0, x0], np.c_[1 + 0 * x0, x0]]))
u_data = tf.constant(np.r_[np.sin(np.pi * x0), 0 * x0, 0 * x0][:, None])


def net(X):
    h = 2.0 * X - 1.0
    for W, b in zip(params[:2], params[3:5]):
        h = tf.tanh(h @ W + b)
    return h @ params[2] + params[5]


@tf.function
def residual(X):
    x, t = X[:, 0:1], X[:, 1:2]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        tape.watch(t)
        u = net(tf.stack([x[:, 0], t[:, 0]], axis=1))
        u_x = tape.gradient(u, x)
    u_t = tape.gradient(u, t)
    u_xx = tape.gradient(u_x, x)
    return u_t - 0.1 * u_xx


def loss_and_gradient():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(net(X_u) - u_data)) + tf.reduce_mean(tf.square(residual(X_f)))
    return loss, tape.gradient(loss, params)


optimizer = tf.keras.optimizers.Adam(0.01)
for i in range(30):
    loss, grads = loss_and_gradient()
    optimizer.apply_gradients(zip(grads, params))
    if i % 10 == 0:
        print("Adam", i, loss.numpy())
history = []


def func(w):
    start = 0
    for p in params:
        n = int(np.prod(p.shape))
        p.assign(w[start : start + n].reshape(p.shape))
        start += n
    loss, grads = loss_and_gradient()
    history.append(loss.numpy())
    return loss.numpy(), np.concatenate([g.numpy().ravel() for g in grads])


w0 = np.concatenate([p.numpy().ravel() for p in params])
scipy.optimize.minimize(func, w0, jac=True, method="L-BFGS-B", options={"maxiter": 8})
print("L-BFGS", *["%.6f" % h for h in history[:6]])
