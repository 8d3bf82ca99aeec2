# tolerance: 1e-4
# Hyperparameters of a Gaussian process by its marginal likelihood: Cholesky factors and their gradients.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(19)
X = np.sort(rng.uniform(-3, 3, (25, 1)), 0)
Y = np.sin(2 * X) + 0.1 * rng.randn(25, 1)
Xs = np.linspace(-3, 3, 5)[:, None]

log_lengthscale = tf.Variable(0.0, dtype=tf.float64)
log_variance = tf.Variable(0.0, dtype=tf.float64)
log_noise = tf.Variable(-1.0, dtype=tf.float64)


def square_dist(X, X2):
    Xs = tf.reduce_sum(tf.square(X), 1)
    X2s = tf.reduce_sum(tf.square(X2), 1)
    return -2 * tf.matmul(X, X2, transpose_b=True) + tf.reshape(Xs, (-1, 1)) + tf.reshape(X2s, (1, -1))


def rbf(A, B):
    scale = tf.exp(log_lengthscale)
    return tf.exp(log_variance) * tf.exp(-square_dist(A / scale, B / scale) / 2)


x, y = tf.constant(X), tf.constant(Y)
K = rbf(x, x) + tf.eye(25, dtype=tf.float64) * tf.exp(2 * log_noise)
L = tf.cholesky(K)
alpha = tf.matrix_triangular_solve(L, y, lower=True)
num_dims = tf.cast(tf.shape(y)[0], tf.float64)
lml = (
    -0.5 * tf.reduce_sum(tf.square(alpha)) - 0.5 * num_dims * np.log(2 * np.pi) - tf.reduce_sum(tf.log(tf.diag_part(L)))
)
train = tf.train.AdamOptimizer(0.05).minimize(-lml)
Kx = rbf(x, tf.constant(Xs))
A = tf.matrix_triangular_solve(L, Kx, lower=True)
fmean = tf.matmul(A, alpha, transpose_a=True)
fvar = tf.exp(log_variance) - tf.reduce_sum(tf.square(A), 0)
gradient = tf.gradients(lml, [log_lengthscale, log_variance, log_noise])
hessian = tf.hessians(lml, [log_lengthscale, log_noise])

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print("lml %.8f" % sess.run(lml), "gradient", sess.run(gradient))
    print("curvatures", sess.run(hessian))
    for i in range(60):
        sess.run(train)
    print("lml %.6f" % sess.run(lml), sess.run([log_lengthscale, log_variance, log_noise]))
    mean, var = sess.run([fmean, fvar])
    print(np.c_[mean, var])
