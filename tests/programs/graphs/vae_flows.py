# tolerance: 1e-3
# needs: tf_keras
"""VAE with planar and IAF flows; MADE masks; tf.distributions; slim-free; free bits; summaries."""
import numpy as np
import tensorflow as tf

ds = tf.distributions
rs = np.random.RandomState(0)
Z, D, H, B = 3, 10, 16, 8


def init(*shape):
    return tf.constant_initializer(rs.randn(*shape) * .2)


def masked(x, n_out, mask, name):
    with tf.variable_scope(name):
        w = tf.get_variable("w", [x.shape[1].value, n_out], initializer=init(x.shape[1].value, n_out))
        b = tf.get_variable("b", n_out, initializer=tf.zeros_initializer)
        return tf.matmul(x, w * mask) + b


def made(z, h, i):
    m_in = np.arange(1, Z + 1)
    m_h = rs.randint(1, Z, H)
    m1 = (m_h[None, :] >= m_in[:, None]).astype('f')
    m2 = (m_in[None, :] > m_h[:, None]).astype('f')
    with tf.variable_scope("made%d" % i):
        a = tf.nn.elu(masked(z, H, m1, "in") + tf.layers.dense(h, H, kernel_initializer=init(h.shape[1].value, H), use_bias=False, name="ctx"))
        m = masked(a, Z, m2, "m")
        s = masked(a, Z, m2, "s") + 1.5
    gate = tf.sigmoid(s)
    return gate * z + (1 - gate) * m, tf.reduce_sum(tf.log(gate), axis=-1)


def planar(z, i):
    with tf.variable_scope("planar_%d" % i, initializer=tf.constant_initializer(.3)):
        u = tf.get_variable("u", [1, Z])
        w = tf.get_variable("w", [1, Z])
        b = tf.get_variable("b", [])
    uw = tf.reduce_sum(u * w)
    u_hat = u + (tf.nn.softplus(uw) - 1. - uw) * w / tf.reduce_sum(w ** 2)
    lin = tf.reduce_sum(z * w, 1, keepdims=True) + b
    psi = (1 - tf.square(tf.tanh(lin))) * w
    det = tf.abs(1. + tf.matmul(psi, u_hat, transpose_b=True))
    return z + u_hat * tf.tanh(lin), tf.squeeze(tf.log(det + 1e-7), axis=[-1])


x = tf.placeholder(tf.float32, [None, D], name='x')
eps = tf.placeholder(tf.float32, [None, Z])
with tf.variable_scope('enc'):
    h = tf.layers.dense(x, H, tf.nn.softplus, kernel_initializer=init(D, H), name='h')
    mu, rho = tf.split(tf.layers.dense(h, 2 * Z, kernel_initializer=init(H, 2 * Z), name='stats'), num_or_size_splits=2, axis=1)
    sigma = tf.nn.softplus(rho) + 1e-4
    q0 = ds.Normal(loc=mu, scale=sigma, allow_nan_stats=False)
    z = q0.mean() + q0.stddev() * eps
    logq = tf.reduce_sum(q0.log_prob(z), axis=1)
for i in range(2):
    z, ld = planar(z, i)
    logq -= ld
for i in range(2):
    z = tf.reverse(z, axis=[1])
    z, ld = made(z, h, i)
    logq -= ld
prior = ds.Normal(tf.zeros(Z), tf.ones(Z))
logp = tf.reduce_sum(prior.log_prob(z), -1)
with tf.variable_scope('dec'):
    hd = tf.layers.dense(z, H, tf.nn.relu, kernel_initializer=init(Z, H))
    logits = tf.layers.dense(hd, D, kernel_initializer=init(H, D))
    px = ds.Bernoulli(logits=logits, dtype=tf.float32)
    rec = tf.reduce_sum(px.log_prob(x), 1)
kl = tf.reduce_mean(logq - logp)
elbo = tf.reduce_mean(rec) - tf.maximum(kl, 0.1)
analytic = tf.reduce_mean(tf.reduce_sum(ds.kl_divergence(q0, prior), 1))
tf.summary.scalar('elbo', elbo)
tf.summary.histogram('z', z)
for v in tf.trainable_variables():
    tf.summary.histogram(v.op.name, v)
merged = tf.summary.merge_all()
gs = tf.train.create_global_step()
opt = tf.train.AdamOptimizer(5e-3, epsilon=1e-6)
grads_and_vars = opt.compute_gradients(-elbo)
grads, norm = tf.clip_by_global_norm([g for g, _ in grads_and_vars], 5.)
train = opt.apply_gradients(zip(grads, [v for _, v in grads_and_vars]), global_step=gs)
data = (rs.rand(64, D) > .5).astype(np.float32)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    w = tf.summary.FileWriter('logs', sess.graph)
    for epoch in range(3):
        for i in range(0, 64, B):
            e = rs.randn(B, Z)
            _, l, s, n, k = sess.run([train, elbo, merged, norm, kl], feed_dict={x: data[i:i + B], eps: e})
            w.add_summary(s, global_step=tf.train.global_step(sess, gs))
        print('epoch %d elbo %.4f norm %.4f kl %.4f' % (epoch, l, n, k), sess.run(analytic, {x: data}))
    w.close()
    print(sess.run(px.mode()[:1], {z: np.zeros((1, Z), 'f')}), sess.run(px.mean()[0, :3], {z: np.ones((1, Z), 'f')}))
    print(px.logits.shape, q0.batch_shape, q0.event_shape, sess.run(q0.batch_shape_tensor(), {x: data[:5]}), sess.run(q0.entropy(), {x: data[:1]}))
    print(sess.run([q0.cdf(0.), q0.quantile(.5)], {x: data[:1]}))
