# tolerance: 1e-3
# Trust region policy optimisation: flat gradients, Fisher-vector products, conjugate gradients, line search.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(3)


def var_shape(x):
    return [k.value for k in x.get_shape()] if hasattr(x.get_shape()[0], "value") else x.get_shape().as_list()


def numel(x):
    return int(np.prod(var_shape(x)))


def flatgrad(loss, var_list):
    grads = tf.gradients(loss, var_list)
    return tf.concat([tf.reshape(grad, [numel(v)]) for (v, grad) in zip(var_list, grads)], 0)


class SetFromFlat:
    def __init__(self, session, var_list):
        self.session = session
        shapes = [var_shape(v) for v in var_list]
        total_size = sum(int(np.prod(shape)) for shape in shapes)
        self.theta = theta = tf.placeholder(tf.float32, [total_size])
        start, assigns = 0, []
        for shape, v in zip(shapes, var_list):
            size = int(np.prod(shape))
            assigns.append(tf.assign(v, tf.reshape(theta[start : start + size], shape)))
            start += size
        self.op = tf.group(*assigns)

    def __call__(self, theta):
        self.session.run(self.op, feed_dict={self.theta: theta})


class GetFlat:
    def __init__(self, session, var_list):
        self.session = session
        self.op = tf.concat([tf.reshape(v, [numel(v)]) for v in var_list], 0)

    def __call__(self):
        return self.op.eval(session=self.session)


def conjugate_gradient(f_Ax, b, cg_iters=10, residual_tol=1e-10):
    p, r, x = b.copy(), b.copy(), np.zeros_like(b)
    rdotr = r.dot(r)
    for _ in range(cg_iters):
        z = f_Ax(p)
        v = rdotr / p.dot(z)
        x += v * p
        r -= v * z
        newrdotr = r.dot(r)
        p = r + newrdotr / rdotr * p
        rdotr = newrdotr
        if rdotr < residual_tol:
            break
    return x


def linesearch(f, x, fullstep, expected_improve_rate):
    fval = f(x)
    for stepfrac in 0.5 ** np.arange(10):
        xnew = x + stepfrac * fullstep
        actual_improve = fval - f(xnew)
        if actual_improve / (expected_improve_rate * stepfrac) > 0.1 and actual_improve > 0:
            return xnew
    return x


observations, hidden, actions, eps = 4, 16, 3, 1e-6
session = tf.Session()
obs = tf.placeholder(tf.float32, shape=[None, observations], name="obs")
action = tf.placeholder(tf.int64, shape=[None], name="action")
advant = tf.placeholder(tf.float32, shape=[None], name="advant")
oldaction_dist = tf.placeholder(tf.float32, shape=[None, actions], name="oldaction_dist")
W1 = tf.Variable((rng.randn(observations, hidden) * 0.4).astype(np.float32))
b1 = tf.Variable(tf.zeros([hidden]))
W2 = tf.Variable((rng.randn(hidden, actions) * 0.4).astype(np.float32))
b2 = tf.Variable(tf.zeros([actions]))
action_dist_n = tf.nn.softmax(tf.matmul(tf.tanh(tf.matmul(obs, W1) + b1), W2) + b2)

N = tf.shape(obs)[0]
flat_index = tf.range(0, N) * actions + tf.cast(action, tf.int32)
p_n = tf.gather(tf.reshape(action_dist_n, [-1]), flat_index)
oldp_n = tf.gather(tf.reshape(oldaction_dist, [-1]), flat_index)
surr = -tf.reduce_mean(p_n / oldp_n * advant)
var_list = tf.trainable_variables()
Nf = tf.cast(N, tf.float32)
kl = tf.reduce_sum(oldaction_dist * tf.log((oldaction_dist + eps) / (action_dist_n + eps))) / Nf
ent = tf.reduce_sum(-action_dist_n * tf.log(action_dist_n + eps)) / Nf
pg = flatgrad(surr, var_list)

fixed = tf.stop_gradient(action_dist_n)
kl_firstfixed = tf.reduce_sum(fixed * tf.log((fixed + eps) / (action_dist_n + eps))) / Nf
grads = tf.gradients(kl_firstfixed, var_list)
flat_tangent = tf.placeholder(tf.float32, shape=[None])
start, tangents = 0, []
for v in var_list:
    tangents.append(tf.reshape(flat_tangent[start : start + numel(v)], var_shape(v)))
    start += numel(v)
gvp = [tf.reduce_sum(g * t) for (g, t) in zip(grads, tangents)]
fvp = flatgrad(gvp, var_list)
gf, sff = GetFlat(session, var_list), SetFromFlat(session, var_list)
session.run(tf.global_variables_initializer())

data = rng.randn(200, observations).astype(np.float32)
for iteration in range(4):
    dist = session.run(action_dist_n, {obs: data})
    chosen = np.array([np.searchsorted(np.cumsum(d), u) for d, u in zip(dist, rng.rand(200))]).clip(0, actions - 1)
    reward = np.where(chosen == (data[:, 0] > 0) + (data[:, 1] > 0), 1.0, 0.0)
    advantage = (reward - reward.mean()) / (reward.std() + 1e-8)
    feed = {obs: data, action: chosen, advant: advantage, oldaction_dist: dist}
    thprev = gf()
    g = session.run(pg, feed_dict=feed)
    stepdir = conjugate_gradient(lambda p: session.run(fvp, {**feed, flat_tangent: p}) + 0.1 * p, -g)
    shs = 0.5 * stepdir.dot(session.run(fvp, {**feed, flat_tangent: stepdir}) + 0.1 * stepdir)
    lm = np.sqrt(shs / 0.01)

    def loss(th):
        sff(th)
        return session.run(surr, feed_dict=feed)

    theta = linesearch(loss, thprev, stepdir / lm, -g.dot(stepdir) / lm)
    sff(theta)
    surrafter, kloldnew, entropy = session.run([surr, kl, ent], feed_dict=feed)
    print("iteration", iteration, "surrogate", surrafter, "KL", kloldnew, "entropy", entropy)
