import numpy as np
import tensorflow as tf
tf.random.set_seed(123)
X = tf.random.normal([40, 3]); w_true = tf.constant([[1.], [-2.], [.5]])
y = X @ w_true + 0.3 * tf.random.normal([40, 1])
def log_prob(w):
    return -0.5 * tf.reduce_sum((y - X @ w) ** 2) / 0.09 - 0.5 * tf.reduce_sum(w ** 2)
@tf.function
def leapfrog(q, p, eps, L):
    def grad(q):
        with tf.GradientTape() as t:
            t.watch(q); lp = log_prob(q)
        return t.gradient(lp, q)
    p = p + 0.5 * eps * grad(q)
    for i in tf.range(L):
        q = q + eps * p
        if i < L - 1:
            p = p + eps * grad(q)
    p = p + 0.5 * eps * grad(q)
    return q, p
@tf.function
def hmc_step(q):
    with tf.control_dependencies([q]):
        p0 = tf.random.normal([3, 1])
    qn, pn = leapfrog(q, p0, tf.constant(0.02), tf.constant(7))
    log_accept = log_prob(qn) - 0.5 * tf.reduce_sum(pn ** 2) - log_prob(q) + 0.5 * tf.reduce_sum(p0 ** 2)
    if tf.math.log(tf.random.uniform([])) < log_accept:
        return qn, tf.constant(1)
    else:
        return q, tf.constant(0)
q = tf.zeros([3, 1])
for i in range(15):
    q, a = hmc_step(q)
    print(i, int(a), q.numpy().ravel().tolist())

@tf.function
def chain(q, n):
    samples = tf.TensorArray(tf.float32, size=n)
    acc = 0
    for i in tf.range(n):
        q, a = hmc_step(q)
        samples = samples.write(i, tf.squeeze(q))
        acc += a
    return samples.stack(), acc
s, acc = chain(tf.zeros([3, 1]), 20)
print(float(tf.reduce_mean(s)), int(acc), s[-1].numpy().tolist())

# random-walk Metropolis and Gibbs inside while_loop
def body(i, x, lp):
    with tf.control_dependencies([x]):
        prop = x + 0.05 * tf.random.normal([3, 1])
    lpn = log_prob(prop)
    with tf.control_dependencies([lpn]):
        take = tf.math.log(tf.random.uniform([])) < lpn - lp
    return i + 1, tf.where(take, prop, x), tf.where(take, lpn, lp)
@tf.function
def metropolis(x):
    return tf.while_loop(lambda i, *_: i < 25, body, (0, x, log_prob(x)))
for _ in range(3):
    i, x, lp = metropolis(tf.zeros([3, 1]))
    print(float(lp), x.numpy().ravel().tolist())

# Bayes by backprop and Langevin dynamics
mu, rho = tf.Variable(tf.zeros([3, 1])), tf.Variable(-3. * tf.ones([3, 1]))
opt = tf.keras.optimizers.Adam(0.05)
@tf.function
def elbo_step():
    with tf.GradientTape() as t:
        sigma = tf.math.softplus(rho)
        w = mu + sigma * tf.random.normal(mu.shape)
        kl = tf.reduce_sum(0.5 * (sigma ** 2 + mu ** 2 - 1.) - tf.math.log(sigma))
        loss = 0.5 * tf.reduce_sum((y - X @ w) ** 2) / 0.09 + kl
    opt.apply_gradients(zip(t.gradient(loss, [mu, rho]), [mu, rho]))
    return loss
for i in range(10): print(float(elbo_step()))
theta = tf.Variable(tf.zeros([3, 1]))
for i in range(5):
    with tf.GradientTape() as t: lp = log_prob(theta)
    theta.assign_add(1e-4 * t.gradient(lp, theta) + tf.sqrt(2e-4) * tf.random.normal([3, 1]))
print(theta.numpy().ravel().tolist())
