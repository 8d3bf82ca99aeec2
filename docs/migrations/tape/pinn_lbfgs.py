"""pinn_lbfgs.py, as tape code: written by dualgrad convert."""

import numpy as np
from optim import minimize
import tape_api as tf

np.random.seed(1234)
lb, ub, nu = np.array([-1.0, 0.0]), np.array([1.0, 1.0]), 0.05
x0 = np.linspace(-1.0, 1.0, 12)[:, None]
t0 = np.linspace(0.0, 1.0, 6)[:, None]
X_u = np.vstack([np.hstack([x0, 0 * x0]), np.hstack([0 * t0 - 1.0, t0]), np.hstack([0 * t0 + 1.0, t0])])
u = np.where(X_u[:, 1:2] == 0.0, -np.sin(np.pi * X_u[:, 0:1]), 0.0)
X_f = lb + (ub - lb) * np.random.rand(60, 2)
weights = [tf.Variable(np.sqrt(2.0 / (n + m)) * np.random.randn(n, m), dtype=tf.float64)  # line 19
           for n, m in [(2, 8), (8, 8), (8, 1)]]
biases = [tf.Variable(tf.zeros([1, n], dtype=tf.float64)) for n in [8, 8, 1]]  # line 20
variables = [weights[0], biases[0], weights[1], biases[1], weights[2], biases[2]]


def net_u(x, t):
    H = 2.0 * (tf.concat([x, t], -1) - [-1.0, 0.0]) / [2.0, 1.0] - 1.0  # line 24
    H = tf.tanh(tf.matmul(tf.tanh(tf.matmul(H, weights[0]) + biases[0]), weights[1]) + biases[1])  # line 26
    return tf.matmul(H, weights[2]) + biases[2]


def compute_u_pred(x_u_tf, t_u_tf):
    x_u_tf, t_u_tf = [tf.convert_to_tensor(x, tf.float64) for x in (x_u_tf, t_u_tf)]
    return net_u(x_u_tf, t_u_tf)


def compute_loss(x_u_tf, t_u_tf, u_tf, x_f_tf, t_f_tf):
    u_tf, x_f_tf, t_f_tf = [tf.convert_to_tensor(x, tf.float64) for x in (u_tf, x_f_tf, t_f_tf)]
    with tf.GradientTape() as tape:
        tape.watch(x_f_tf)
        with tf.GradientTape(persistent=True) as tape_2:
            tape_2.watch(t_f_tf)
            tape_2.watch(x_f_tf)
            u_pred = compute_u_pred(x_u_tf, t_u_tf)
            u = net_u(x_f_tf, t_f_tf)
        d_t_f_tf = tape_2.gradient(u, t_f_tf)  # line 32
        d_x_f_tf = tape_2.gradient(u, x_f_tf)  # line 33
    d_x_f_tf_2 = tape.gradient(d_x_f_tf, x_f_tf)  # line 34
    f_pred = d_t_f_tf + u * d_x_f_tf - nu * d_x_f_tf_2  # line 35
    return tf.reduce_mean(tf.square(u_tf - u_pred)) + tf.reduce_mean(tf.square(f_pred))


def run_minimize(x_u_tf, t_u_tf, u_tf, x_f_tf, t_f_tf, **callbacks):
    x_u_tf, t_u_tf, u_tf, x_f_tf, t_f_tf = [tf.convert_to_tensor(x, tf.float64)
                                            for x in (x_u_tf, t_u_tf, u_tf, x_f_tf, t_f_tf)]

    def loss():  # line 46
        u_pred = net_u(x_u_tf, t_u_tf)
        with tf.GradientTape() as tape:
            tape.watch(x_f_tf)
            with tf.GradientTape(persistent=True) as tape_2:
                tape_2.watch(t_f_tf)
                tape_2.watch(x_f_tf)
                u = net_u(x_f_tf, t_f_tf)
            d_t_f_tf = tape_2.gradient(u, t_f_tf)  # line 32
            d_x_f_tf = tape_2.gradient(u, x_f_tf)  # line 33
        d_x_f_tf_2 = tape.gradient(d_x_f_tf, x_f_tf)  # line 34
        f_pred = d_t_f_tf + u * d_x_f_tf - nu * d_x_f_tf_2  # line 35
        return tf.reduce_mean(tf.square(u_tf - u_pred)) + tf.reduce_mean(tf.square(f_pred))

    minimize(loss, variables, method="L-BFGS-B",
             options={"maxiter": 30, "maxcor": 50, "maxls": 50, "ftol": 1.0 * np.finfo(float).eps}, **callbacks)


if __name__ == "__main__":
    tf_dict = {"x_u_tf": X_u[:, 0:1], "t_u_tf": X_u[:, 1:2], "u_tf": u, "x_f_tf": X_f[:, 0:1], "t_f_tf": X_f[:, 1:2]}
    print("Loss before: %.4f" % compute_loss(**tf_dict).numpy())
    run_minimize(**tf_dict)
    print("Loss after: %.4f" % compute_loss(**tf_dict).numpy())
    u_star = compute_u_pred(X_f[:, 0:1], X_f[:, 1:2]).numpy()
    print("Mean of |u|: %.4f" % np.abs(u_star).mean())
