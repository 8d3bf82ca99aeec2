import numpy as np
import tensorflow as tf
tf.random.set_seed(3)
X = tf.reshape(tf.linspace(-3., 3., 15), [-1, 1]); X = tf.cast(X, tf.float64)
y = tf.sin(2. * X) + 0.1 * tf.random.normal([15, 1], dtype=tf.float64)
log_ls, log_var, log_noise = [tf.Variable(v, dtype=tf.float64) for v in (0., 0., -2.)]
def kernel(a, b):
    d = tf.reduce_sum(tf.math.squared_difference(a[:, None], b[None]), -1)
    return tf.exp(log_var) * tf.exp(-0.5 * d / tf.exp(2. * log_ls))
def nll():
    K = kernel(X, X)
    K = tf.linalg.set_diag(K, tf.linalg.diag_part(K) + tf.exp(2. * log_noise) + 1e-6)
    L = tf.linalg.cholesky(K)
    alpha = tf.linalg.cholesky_solve(L, y)
    return tf.squeeze(0.5 * tf.matmul(y, alpha, transpose_a=True)) + tf.reduce_sum(tf.math.log(tf.linalg.diag_part(L))) + 7.5 * np.log(2 * np.pi)
opt = tf.keras.optimizers.Adam(0.1)
vs = [log_ls, log_var, log_noise]
@tf.function
def step():
    with tf.GradientTape() as t: l = nll()
    opt.apply_gradients(zip(t.gradient(l, vs), vs))
    return l
for i in range(10): print(float(step()))
Xs = tf.cast(tf.linspace(-4., 4., 5), tf.float64)[:, None]
K = kernel(X, X) + tf.exp(2 * log_noise) * tf.eye(15, dtype=tf.float64)
L = tf.linalg.cholesky(K)
Ks = kernel(X, Xs)
m = tf.matmul(Ks, tf.linalg.cholesky_solve(L, y), transpose_a=True)
A = tf.linalg.triangular_solve(L, Ks)
cov = kernel(Xs, Xs) - tf.matmul(A, A, transpose_a=True)
s = m + tf.linalg.cholesky(cov + 1e-6 * tf.eye(5, dtype=tf.float64)) @ tf.random.normal([5, 2], dtype=tf.float64)
print(m.numpy().ravel().tolist(), tf.linalg.diag_part(cov).numpy().tolist(), float(tf.reduce_sum(s)))
with tf.GradientTape(persistent=True) as t2:
    with tf.GradientTape() as t1: l = nll()
    g = t1.gradient(l, vs)
    g = tf.stack(g)
print(tf.stack(t2.jacobian(g, vs), -1).numpy().tolist())
Z = tf.Variable(tf.random.uniform([4, 1], -3., 3., dtype=tf.float64))
q_mu = tf.Variable(tf.zeros([4, 1], tf.float64)); q_sqrt = tf.Variable(tf.eye(4, dtype=tf.float64))
svgp = [Z, q_mu, q_sqrt] + vs
opt2 = tf.optimizers.Adam(0.02)
for i in range(10):
    idx = tf.random.shuffle(tf.range(15))[:8]
    xb, yb = tf.gather(X, idx), tf.gather(y, idx)
    with tf.GradientTape() as t:
        Lz = tf.linalg.cholesky(kernel(Z, Z) + 1e-5 * tf.eye(4, dtype=tf.float64))
        A = tf.linalg.triangular_solve(Lz, kernel(Z, xb))
        mean = tf.matmul(A, q_mu, transpose_a=True)
        S = tf.linalg.band_part(q_sqrt, -1, 0)
        var = tf.exp(log_var) - tf.reduce_sum(A ** 2, 0) + tf.reduce_sum(tf.matmul(S, A, transpose_a=True) ** 2, 0)
        ll = tf.reduce_sum(-0.5 * np.log(2 * np.pi) - log_noise - 0.5 * ((yb - mean) ** 2 + var[:, None]) / tf.exp(2 * log_noise)) * 15 / 8
        kl = 0.5 * (tf.reduce_sum(q_mu ** 2) + tf.reduce_sum(S ** 2) - 4. - 2. * tf.reduce_sum(tf.math.log(tf.abs(tf.linalg.diag_part(S)))))
        loss = kl - ll
    opt2.apply_gradients(zip(t.gradient(loss, svgp), svgp))
    print(float(loss))
