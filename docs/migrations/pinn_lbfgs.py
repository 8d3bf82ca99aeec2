# source: maziarraissi/PINNs "appendix/continuous_time_inference (Burgers)/Burgers.py" 13ce051750dbc2c9afa3b105b09f373c524ef272
# Burgers' equation by a physics-informed network: derivatives of the network, and L-BFGS of SciPy.
import numpy as np
import tensorflow as tf

np.random.seed(1234)
lb, ub, nu = np.array([-1.0, 0.0]), np.array([1.0, 1.0]), 0.05
layers = [2, 8, 8, 1]

x0 = np.linspace(-1.0, 1.0, 12)[:, None]
t0 = np.linspace(0.0, 1.0, 6)[:, None]
X_u = np.vstack([np.hstack([x0, 0 * x0]), np.hstack([0 * t0 - 1.0, t0]), np.hstack([0 * t0 + 1.0, t0])])
u = np.where(X_u[:, 1:2] == 0.0, -np.sin(np.pi * X_u[:, 0:1]), 0.0)
X_f = lb + (ub - lb) * np.random.rand(60, 2)

weights, biases = [], []
for n_in, n_out in zip(layers[:-1], layers[1:]):
    start = np.sqrt(2.0 / (n_in + n_out)) * np.random.randn(n_in, n_out)
    weights.append(tf.Variable(start, dtype=tf.float64))
    biases.append(tf.Variable(tf.zeros([1, n_out], dtype=tf.float64), dtype=tf.float64))


def net_u(x, t):
    H = 2.0 * (tf.concat([x, t], 1) - lb) / (ub - lb) - 1.0
    for W, b in zip(weights[:-1], biases[:-1]):
        H = tf.tanh(tf.add(tf.matmul(H, W), b))
    return tf.add(tf.matmul(H, weights[-1]), biases[-1])


def net_f(x, t):
    u = net_u(x, t)
    u_t = tf.gradients(u, t)[0]
    u_x = tf.gradients(u, x)[0]
    u_xx = tf.gradients(u_x, x)[0]
    return u_t + u * u_x - nu * u_xx


x_u_tf = tf.placeholder(tf.float64, shape=[None, 1], name="x_u")
t_u_tf = tf.placeholder(tf.float64, shape=[None, 1], name="t_u")
u_tf = tf.placeholder(tf.float64, shape=[None, 1], name="u")
x_f_tf = tf.placeholder(tf.float64, shape=[None, 1], name="x_f")
t_f_tf = tf.placeholder(tf.float64, shape=[None, 1], name="t_f")
u_pred = net_u(x_u_tf, t_u_tf)
f_pred = net_f(x_f_tf, t_f_tf)
loss = tf.reduce_mean(tf.square(u_tf - u_pred)) + tf.reduce_mean(tf.square(f_pred))
optimizer = tf.contrib.opt.ScipyOptimizerInterface(
    loss, method="L-BFGS-B", options={"maxiter": 30, "maxcor": 50, "maxls": 50, "ftol": 1.0 * np.finfo(float).eps}
)

sess = tf.Session()
sess.run(tf.global_variables_initializer())
tf_dict = {x_u_tf: X_u[:, 0:1], t_u_tf: X_u[:, 1:2], u_tf: u, x_f_tf: X_f[:, 0:1], t_f_tf: X_f[:, 1:2]}
print("Loss before: %.4f" % sess.run(loss, tf_dict))
optimizer.minimize(sess, feed_dict=tf_dict)
print("Loss after: %.4f" % sess.run(loss, tf_dict))
u_star = sess.run(u_pred, {x_u_tf: X_f[:, 0:1], t_u_tf: X_f[:, 1:2]})
print("Mean of |u|: %.4f" % np.abs(u_star).mean())
