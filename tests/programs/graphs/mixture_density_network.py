# tolerance: 1e-3
# A mixture density network for a curve that folds back: log-sum-exp of Gaussians.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(21)
y_data = np.float32(rng.uniform(-10.5, 10.5, (1, 200))).T
x_data = np.float32(np.sin(0.75 * y_data) * 7.0 + y_data * 0.5 + rng.normal(size=(200, 1)))
NHIDDEN, KMIX = 16, 5
x = tf.placeholder(dtype=tf.float32, shape=[None, 1], name="x")
y = tf.placeholder(dtype=tf.float32, shape=[None, 1], name="y")
Wh = tf.Variable((0.5 * rng.randn(1, NHIDDEN)).astype("f"))
bh = tf.Variable((0.5 * rng.randn(1, NHIDDEN)).astype("f"))
Wo = tf.Variable((0.5 * rng.randn(NHIDDEN, 3 * KMIX)).astype("f"))
bo = tf.Variable((0.5 * rng.randn(1, 3 * KMIX)).astype("f"))
output = tf.matmul(tf.nn.tanh(tf.matmul(x, Wh) + bh), Wo) + bo


def get_mixture_coef(output):
    out_pi, out_sigma, out_mu = tf.split(output, 3, 1)
    max_pi = tf.reduce_max(out_pi, 1, keep_dims=True)
    out_pi = tf.exp(tf.subtract(out_pi, max_pi))
    normalize_pi = tf.reciprocal(tf.reduce_sum(out_pi, 1, keep_dims=True))
    return tf.multiply(normalize_pi, out_pi), tf.exp(out_sigma), out_mu


def tf_normal(y, mu, sigma):
    result = tf.multiply(tf.subtract(y, mu), tf.reciprocal(sigma))
    result = -tf.square(result) / 2
    return tf.multiply(tf.exp(result), tf.reciprocal(sigma)) / np.sqrt(2 * np.pi)


pi, sigma, mu = get_mixture_coef(output)
result = tf.reduce_sum(tf.multiply(tf_normal(y, mu, sigma), pi), 1, keepdims=True)
lossfunc = tf.reduce_mean(-tf.log(result + 1e-6))
stable = -tf.reduce_mean(
    tf.reduce_logsumexp(
        tf.log(pi) - tf.log(sigma) - 0.5 * tf.square((y - mu) / sigma) - 0.5 * np.log(2 * np.pi), axis=1
    )
)
train_op = tf.train.AdamOptimizer(0.02).minimize(lossfunc)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(60):
        sess.run(train_op, feed_dict={x: x_data, y: y_data})
        if i % 20 == 0:
            print(i, *sess.run([lossfunc, stable], {x: x_data, y: y_data}))
    print(sess.run(tf.reduce_sum(pi, 1), {x: [[0.0], [3.0]]}), sess.run(mu, {x: [[0.0]]}))
