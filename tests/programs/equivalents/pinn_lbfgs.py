# What graphs/pinn_lbfgs.py does, with SciPy called by hand: TensorFlow 2 has no ScipyOptimizerInterface.
import numpy as np
import scipy.optimize
import tensorflow as tf

rng = np.random.RandomState(26)
x = np.linspace(0, 1, 30)[:, None]
u = np.sin(np.pi * x)
f = 0.7 * np.pi**2 * np.sin(np.pi * x)
sizes = [(1, 10), (10, 10), (10, 1)]
weights = [tf.Variable(rng.randn(*s) / np.sqrt(s[0]), dtype=tf.float64) for s in sizes]
biases = [tf.Variable(np.zeros((1, s[1])), dtype=tf.float64) for s in sizes]
lambda_1 = tf.Variable([0.0], dtype=tf.float64)
x_tf = tf.constant(x)
H = 2.0 * x_tf - 1.0
for W, b in zip(weights[:-1], biases[:-1]):
    H = tf.tanh(tf.matmul(H, W) + b)
u_pred = tf.matmul(H, weights[-1]) + biases[-1]
u_xx = tf.gradients(tf.gradients(u_pred, x_tf)[0], x_tf)[0]
loss = tf.reduce_mean(tf.square(u - u_pred)) + tf.reduce_mean(tf.square(lambda_1 * u_xx + f))
variables = tf.trainable_variables()
gradients = tf.gradients(loss, variables)
holders = [tf.placeholder(tf.float64, v.shape) for v in variables]
assign = [v.assign(h) for v, h in zip(variables, holders)]
losses = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())

    def store(w):
        parts = np.split(w, np.cumsum([int(np.prod(v.shape.as_list())) for v in variables])[:-1])
        sess.run(assign, {h: p.reshape(h.shape.as_list()) for h, p in zip(holders, parts)})

    def value_and_gradient(w):
        store(w)
        value, grads = sess.run([loss, gradients])
        losses.append(value)
        return value, np.concatenate([g.ravel() for g in grads])

    start = np.concatenate([v.ravel() for v in sess.run(variables)])
    options = {"maxiter": 40, "maxfun": 50000, "maxcor": 50, "maxls": 50, "ftol": 1.0 * np.finfo(float).eps}
    found = scipy.optimize.minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options)
    store(found.x)
    end, coefficient = sess.run([loss, lambda_1])
print("first losses", *["%.6f" % l for l in losses[:6]])
print("more than 20 evaluations", len(losses) > 20, "loss small", end < 2e-3, "near 0.7", abs(coefficient[0] - 0.7) < 0.05)
