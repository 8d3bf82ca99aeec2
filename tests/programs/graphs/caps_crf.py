# tolerance: 1e-4
"""BiLSTM-CRF by hand, capsule routing, triplet/center/contrastive loss, attention pooling, focal loss, label smoothing, spectral norm, batch-all triplets."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(4)
f = lambda *s: (rng.randn(*s) * .3).astype(np.float32)

# linear chain CRF
B, T, C, D = 3, 5, 4, 6
inp = tf.placeholder(tf.float32, [None, T, D]); tags = tf.placeholder(tf.int32, [None, T]); lens = tf.placeholder(tf.int32, [None])
W = tf.get_variable("W", initializer=f(D, C)); trans = tf.get_variable("transitions", initializer=f(C, C))
unary = tf.reshape(tf.matmul(tf.reshape(inp, [-1, D]), W), [-1, T, C])


def crf_log_norm(unary, lens, trans):
    first = tf.slice(unary, [0, 0, 0], [-1, 1, -1])
    alpha = tf.squeeze(first, [1])
    for t in range(1, T):
        new = unary[:, t] + tf.reduce_logsumexp(tf.expand_dims(alpha, 2) + tf.expand_dims(trans, 0), [1])
        alpha = tf.where(tf.tile(tf.expand_dims(t < lens, 1), [1, C]), new, alpha)
    return tf.reduce_logsumexp(alpha, [1])


def crf_score(unary, tags, lens, trans):
    mask = tf.sequence_mask(lens, T, dtype=tf.float32)
    flat = tf.reshape(unary, [-1])
    off = tf.expand_dims(tf.range(tf.shape(unary)[0]) * T * C, 1) + tf.expand_dims(tf.range(T) * C, 0)
    u = tf.reduce_sum(tf.gather(flat, tf.reshape(off + tags, [-1]))[:0]) + tf.reduce_sum(tf.reshape(tf.gather(flat, tf.reshape(off + tags, [-1])), tf.shape(tags)) * mask, 1)
    tt = tf.gather(tf.reshape(trans, [-1]), tags[:, :-1] * C + tags[:, 1:])
    return u + tf.reduce_sum(tt * mask[:, 1:], 1)


ll = crf_score(unary, tags, lens, trans) - crf_log_norm(unary, lens, trans)
crf_loss = tf.reduce_mean(-ll)
marg = tf.gradients(tf.reduce_sum(crf_log_norm(unary, lens, trans)), unary)[0]

# capsules
caps_in = tf.placeholder(tf.float32, [None, 8, 4])
Wc = tf.get_variable("Wc", initializer=f(1, 8, 3, 5, 4))


def squash(s, axis=-1, epsilon=1e-7, name=None):
    with tf.name_scope(name, default_name="squash"):
        squared_norm = tf.reduce_sum(tf.square(s), axis=axis, keep_dims=True)
        safe_norm = tf.sqrt(squared_norm + epsilon)
        return squared_norm / (1. + squared_norm) * (s / safe_norm)


bs = tf.shape(caps_in)[0]
u = tf.expand_dims(tf.expand_dims(caps_in, -1), 2)
u_tiled = tf.tile(u, [1, 1, 3, 1, 1])
W_tiled = tf.tile(Wc, [bs, 1, 1, 1, 1])
u_hat = tf.matmul(W_tiled, u_tiled, name="caps2_predicted")
b_ij = tf.zeros([bs, 8, 3, 1, 1])
for r in range(3):
    c = tf.nn.softmax(b_ij, dim=2) if False else tf.nn.softmax(b_ij, axis=2)
    sj = tf.reduce_sum(c * u_hat, axis=1, keep_dims=True)
    v = squash(sj, axis=-2)
    if r < 2:
        b_ij += tf.matmul(u_hat, tf.tile(v, [1, 8, 1, 1, 1]), transpose_a=True)
y_proba = tf.squeeze(tf.norm(v, axis=-2), axis=[1, 3])
labels = tf.placeholder(tf.int64, [None])
Tk = tf.one_hot(labels, 3)
margin = tf.reduce_mean(tf.reduce_sum(Tk * tf.square(tf.maximum(0., .9 - y_proba)) + .5 * (1 - Tk) * tf.square(tf.maximum(0., y_proba - .1)), 1))

# metric learning
emb_w = tf.get_variable("emb", initializer=f(6, 4))
E = tf.nn.l2_normalize(tf.matmul(inp[:, 0], emb_w), 1)
dot = tf.matmul(E, tf.transpose(E))
sq = tf.diag_part(dot)
d = tf.maximum(tf.expand_dims(sq, 0) - 2. * dot + tf.expand_dims(sq, 1), 0.)
mask = tf.to_float(tf.equal(d, 0.))
dist = tf.sqrt(d + mask * 1e-16) * (1. - mask)
lab = tags[:, 0]
eq = tf.equal(tf.expand_dims(lab, 0), tf.expand_dims(lab, 1))
not_self = tf.logical_not(tf.cast(tf.eye(tf.shape(lab)[0]), tf.bool))
ap = tf.to_float(tf.logical_and(eq, not_self)); an = tf.to_float(tf.logical_not(eq))
trip = tf.expand_dims(dist, 2) - tf.expand_dims(dist, 1) + .3
tmask = tf.expand_dims(ap, 2) * tf.expand_dims(an, 1)
trip = tf.maximum(trip * tmask, 0.)
num = tf.reduce_sum(tf.to_float(tf.greater(trip, 1e-16)))
triplet = tf.reduce_sum(trip) / (num + 1e-16)
centers = tf.get_variable("centers", [C, 4], initializer=tf.constant_initializer(f(C, 4)), trainable=False)
cb = tf.gather(centers, lab)
center_loss = tf.nn.l2_loss(E - cb)
uniq, uidx, cnt = tf.unique_with_counts(lab)
appear = tf.reshape(tf.gather(cnt, uidx), [-1, 1])
diff = (cb - E) / tf.cast(1 + appear, tf.float32) * 0.5
upd = tf.scatter_sub(centers, lab, diff)


def spectral_norm(w, iteration=1):
    shape = w.shape.as_list()
    w = tf.reshape(w, [-1, shape[-1]])
    u0 = tf.get_variable("u", [1, shape[-1]], initializer=tf.constant_initializer(np.ones([1, shape[-1]]) / 2), trainable=False)
    u_hat = u0
    for _ in range(iteration):
        v_hat = tf.nn.l2_normalize(tf.matmul(u_hat, tf.transpose(w)))
        u_hat = tf.nn.l2_normalize(tf.matmul(v_hat, w))
    u_hat, v_hat = tf.stop_gradient(u_hat), tf.stop_gradient(v_hat)
    sigma = tf.matmul(tf.matmul(v_hat, w), tf.transpose(u_hat))
    with tf.control_dependencies([u0.assign(u_hat)]):
        return tf.reshape(w / sigma, shape)


with tf.variable_scope("sn"):
    wsn = tf.get_variable("w", initializer=f(3, 3, 2, 4))
    img = tf.reshape(inp[:, :, :4], [-1, 5, 2, 2])
    convd = tf.reduce_mean(tf.nn.conv2d(img, spectral_norm(wsn), [1, 1, 1, 1], "SAME"))
p = tf.nn.sigmoid(unary)
onehot = tf.one_hot(tags, C, on_value=0.9, off_value=0.1 / 3)
focal = -tf.reduce_mean(onehot * tf.pow(1. - p, 2.) * tf.log(tf.clip_by_value(p, 1e-8, 1.)))
att = tf.nn.softmax(tf.tensordot(tf.tanh(tf.einsum('btd,dc->btc', inp, W)), tf.ones([C]), 1))
pooled = tf.reduce_sum(inp * tf.expand_dims(att, -1), 1)
loss = crf_loss + margin + triplet + .1 * center_loss + convd + focal + tf.nn.l2_loss(pooled)
step = tf.Variable(0, trainable=False)
lr = tf.train.piecewise_constant(step, [5, 10], [.05, .02, .01])
opt = tf.train.MomentumOptimizer(lr, 0.9, use_nesterov=True)
grads, tv = zip(*opt.compute_gradients(loss))
clipped, gn = tf.clip_by_global_norm(grads, 1.0)
op = tf.group(opt.apply_gradients(zip(clipped, tv), global_step=step), upd)
fd = {inp: rng.randn(B, T, D), tags: rng.randint(0, C, (B, T)), lens: [5, 3, 4], caps_in: rng.randn(B, 8, 4), labels: [0, 1, 2]}
fd[tags][:2, 0] = 1
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(12):
        out = sess.run([op, loss, crf_loss, margin, triplet, center_loss, convd, focal, gn, lr], feed_dict=fd)[1:]
        if i % 4 == 3:
            print(i, " ".join("%.5f" % o for o in out))
    m = sess.run(marg, fd)
    print(np.round(m[1], 4).tolist(), np.round(m.sum(-1), 5).tolist())
    print([None if g is None else v.op.name for g, v in zip(grads, tv)], sess.run(step))
    print(np.round(sess.run(centers), 4).tolist())
