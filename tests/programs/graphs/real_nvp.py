# tolerance: 1e-3
# A normalising flow of coupling layers; log-determinants checked against the Jacobian made row by row.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(30)


def coupling(x, mask, scope):
    with tf.variable_scope(scope, reuse=tf.AUTO_REUSE):
        w1 = tf.get_variable("w1", [2, 8], initializer=tf.constant_initializer(INIT[scope][0]))
        w2 = tf.get_variable("w2", [8, 4], initializer=tf.constant_initializer(INIT[scope][1]))
        s, t = tf.split(tf.matmul(tf.nn.tanh(tf.matmul(x * mask, w1)), w2), 2, axis=1)
        s = tf.tanh(s) * (1 - mask)
        return x * tf.exp(s) + t * (1 - mask), tf.reduce_sum(s, axis=1)


INIT = {"c%d" % i: (rng.randn(2, 8), 0.3 * rng.randn(8, 4)) for i in range(4)}


def flow(x):
    z, logdet = x, 0.0
    for i in range(4):
        z, ld = coupling(z, np.array([i % 2, 1 - i % 2], np.float32), "c%d" % i)
        logdet += ld
    return z, logdet


x = tf.placeholder(tf.float32, [None, 2])
z, logdet = flow(x)
nll = tf.reduce_mean(0.5 * tf.reduce_sum(z**2, 1) + np.log(2 * np.pi) - logdet)
train_op = tf.train.AdamOptimizer(0.01).minimize(nll)
rows = tf.stack([tf.gradients(z[:, i], x)[0] for i in range(2)], axis=1)
numeric = tf.log(tf.abs(tf.matrix_determinant(rows)))

angle = rng.uniform(0, np.pi, 128)
data = np.stack([np.cos(angle), np.sin(angle) * 1.5], 1) + 0.1 * rng.randn(128, 2)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(31):
        _, value = sess.run([train_op, nll], {x: data})
        if i % 10 == 0:
            print("step %d nll %.5f" % (i, value))
    a, b = sess.run([logdet, numeric], {x: data[:4]})
    print(a, "agree", np.allclose(a, b, atol=1e-4), len(tf.trainable_variables()))
