# tolerance: 1e-4
# Hamiltonian Monte Carlo: leapfrog steps in a while_loop, gradients of the energy inside, accept or reject by cond.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(20)
precision = tf.constant([[2.0, 0.8], [0.8, 1.0]], dtype=tf.float64)


def energy(q):
    return 0.5 * tf.reduce_sum(q * tf.matmul(q, precision)) + 0.1 * tf.reduce_sum(q**4)


def grad(q):
    return tf.gradients(energy(q), q)[0]


def leapfrog(q, p, step, n):
    def body(i, q, p):
        p = p - 0.5 * step * grad(q)
        q = q + step * p
        return i + 1, q, p - 0.5 * step * grad(q)

    _, q, p = tf.while_loop(lambda i, q, p: i < n, body, [tf.constant(0), q, p])
    return q, p


state = tf.Variable(np.array([[1.5, -1.0]]))
momentum = tf.placeholder(tf.float64, [1, 2])
uniform = tf.placeholder(tf.float64, [])
q, p = leapfrog(state.read_value(), momentum, tf.constant(0.3, tf.float64), 7)
start = energy(state) + 0.5 * tf.reduce_sum(momentum**2)
end = energy(q) + 0.5 * tf.reduce_sum(p**2)
log_ratio = start - end
accept = tf.log(uniform) < log_ratio
chosen = tf.cond(accept, lambda: q, lambda: tf.identity(state))
with tf.control_dependencies([log_ratio]):
    update = tf.assign(state, chosen)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    samples, accepted = [], 0
    for i in range(60):
        feed = {momentum: rng.randn(1, 2), uniform: rng.rand()}
        s, a, r = sess.run([update, accept, log_ratio], feed)
        samples.append(s[0])
        accepted += int(a)
        if i % 15 == 0:
            print("sample", s, "log ratio %.6f" % r)
    print("accepted", accepted, "mean", np.mean(samples, 0), "covariance", np.cov(np.array(samples).T).ravel())
