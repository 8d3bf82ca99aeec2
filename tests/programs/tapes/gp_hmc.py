"""Sparse Gaussian process (SVGP), natural gradients in float64, HMC on its hyperparameters, softplus bijectors; tf.linalg galore."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
f64 = tf.float64
X = np.sort(rng.rand(40, 1) * 6, axis=0)
Y = np.sin(X) + 0.1 * rng.randn(40, 1)


class Parameter(tf.Module):
    def __init__(self, value, positive=True, name=None):
        super().__init__(name)
        v = np.asarray(value, np.float64)
        self.positive = positive
        self.unconstrained = tf.Variable(np.log(np.expm1(v)) if positive else v, dtype=f64, name="u")

    @property
    def value(self):
        return tf.nn.softplus(self.unconstrained) if self.positive else tf.identity(self.unconstrained)


class RBF(tf.Module):
    def __init__(self):
        super().__init__(name="rbf")
        self.variance = Parameter(1.0)
        self.lengthscale = Parameter([0.8])

    def __call__(self, A, B=None):
        A = A / self.lengthscale.value
        B = A if B is None else B / self.lengthscale.value
        d = tf.reduce_sum(A ** 2, 1)[:, None] + tf.reduce_sum(B ** 2, 1)[None, :] - 2 * A @ tf.transpose(B)
        return self.variance.value * tf.exp(-0.5 * tf.maximum(d, 0))


class GPR(tf.Module):
    def __init__(self, X, Y):
        super().__init__()
        self.X, self.Y = tf.convert_to_tensor(X, f64), tf.convert_to_tensor(Y, f64)
        self.kernel = RBF()
        self.noise = Parameter(0.3)

    def lml(self):
        K = self.kernel(self.X)
        K = tf.linalg.set_diag(K, tf.linalg.diag_part(K) + self.noise.value)
        L = tf.linalg.cholesky(K)
        a = tf.linalg.triangular_solve(L, self.Y, lower=True)
        return -0.5 * tf.reduce_sum(a ** 2) - tf.reduce_sum(tf.math.log(tf.linalg.diag_part(L))) - 0.5 * 40 * np.log(2 * np.pi)

    def predict(self, Xs):
        Ks = self.kernel(self.X, Xs)
        L = tf.linalg.cholesky(self.kernel(self.X) + self.noise.value * tf.eye(40, dtype=f64))
        A = tf.linalg.triangular_solve(L, Ks)
        mean = tf.matmul(A, tf.linalg.cholesky_solve(L, self.Y) * 0 + tf.linalg.triangular_solve(L, self.Y), transpose_a=True)
        return mean, tf.linalg.diag_part(self.kernel(Xs)) - tf.reduce_sum(A ** 2, 0)


gp = GPR(X, Y)
opt = tf.optimizers.Adam(0.05)


@tf.function
def step():
    with tf.GradientTape() as t:
        loss = -gp.lml()
    g = t.gradient(loss, gp.trainable_variables)
    opt.apply_gradients(zip(g, gp.trainable_variables))
    return loss


for i in range(30):
    l = step()
    if i % 10 == 9:
        print("%d %.8f" % (i, l), [np.round(p.value.numpy(), 6).tolist() for p in (gp.kernel.variance, gp.kernel.lengthscale, gp.noise)])
m, v = gp.predict(tf.constant([[1.0], [2.5]], f64))
print(np.round(m.numpy().ravel(), 8), np.round(v.numpy(), 8))

with tf.GradientTape(persistent=True) as t2:
    with tf.GradientTape() as t1:
        loss = -gp.lml()
    gs = t1.gradient(loss, gp.trainable_variables)
    flat = tf.concat([tf.reshape(g, [-1]) for g in gs], 0)
H = tf.concat([tf.reshape(h, [3, -1]) for h in t2.jacobian(flat, gp.trainable_variables)], 1)
print("eig of the Hessian", np.round(tf.linalg.eigvalsh(H).numpy(), 5))

# SVGP with natural gradients on (mu, S)
M = 8
Z = tf.constant(np.linspace(0, 6, M)[:, None])
mu = tf.Variable(tf.zeros([M, 1], f64))
Ls = tf.Variable(tf.eye(M, dtype=f64))


def elbo(mu, S):
    Kuu = gp.kernel(Z) + 1e-6 * tf.eye(M, dtype=f64)
    Kuf = gp.kernel(Z, gp.X)
    L = tf.linalg.cholesky(Kuu)
    A = tf.linalg.cholesky_solve(L, Kuf)
    mean = tf.matmul(A, mu, transpose_a=True)
    var = gp.kernel.variance.value - tf.reduce_sum(Kuf * A, 0) + tf.einsum('ij,ik,kj->j', A, S, A)
    ll = -0.5 * tf.reduce_sum((gp.Y - mean) ** 2 + var[:, None]) / gp.noise.value - 20 * tf.math.log(2 * np.pi * gp.noise.value)
    kl = 0.5 * (tf.linalg.trace(tf.linalg.solve(Kuu, S)) + tf.squeeze(tf.transpose(mu) @ tf.linalg.solve(Kuu, mu)) - M
                + tf.linalg.logdet(Kuu) - tf.linalg.slogdet(S).log_abs_determinant)
    return ll - kl


S = tf.Variable(tf.eye(M, dtype=f64) * 0.5)
for i in range(4):
    with tf.GradientTape() as t:
        e = elbo(mu, S)
    gm, gS = t.gradient(e, [mu, S])
    gS = 0.5 * (gS + tf.linalg.matrix_transpose(gS))
    P = tf.linalg.inv(S) - 2 * 0.5 * gS
    Snew = tf.linalg.inv(P)
    mu.assign_add(0.5 * Snew @ gm)
    S.assign(0.5 * (Snew + tf.transpose(Snew)))
    print("elbo %.7f" % e)


def leapfrog(q, p, eps, n, U):
    for _ in tf.range(n):
        with tf.GradientTape() as t:
            t.watch(q)
            u = U(q)
        p = p - 0.5 * eps * t.gradient(u, q)
        q = q + eps * p
        with tf.GradientTape() as t:
            t.watch(q)
            u = U(q)
        p = p - 0.5 * eps * t.gradient(u, q)
    return q, p


C = tf.constant([[1.0, 0.8], [0.8, 1.5]], f64)
U = lambda q: 0.5 * tf.reduce_sum(q * tf.linalg.matvec(tf.linalg.inv(C), q)) + tf.reduce_sum(tf.cos(q))
q = tf.zeros([2], f64)
acc, qs = 0, []
for i in range(30):
    p = tf.constant(rng.randn(2))
    q2, p2 = leapfrog(q, p, 0.2, tf.constant(5), U)
    dH = (U(q2) + 0.5 * tf.reduce_sum(p2 ** 2)) - (U(q) + 0.5 * tf.reduce_sum(p ** 2))
    if np.log(rng.rand()) < -dH:
        q, acc = q2, acc + 1
    qs.append(q.numpy())
print(acc, np.round(np.mean(qs, 0), 8), np.round(np.cov(np.array(qs).T), 6).tolist())
