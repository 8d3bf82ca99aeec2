# tolerance: 1e-3
# needs: tf_keras
"""FGSM, iterative, momentum, DeepFool, JSMA, Carlini-Wagner with binary search: loops inside the graph."""
import numpy as np
import tensorflow as tf

rs = np.random.RandomState(4)
D, C = 12, 4
W1, W2 = rs.randn(D, 16) * .4, rs.randn(16, C) * .4


def model(x, logits=False, training=False):
    with tf.variable_scope('model', reuse=tf.AUTO_REUSE):
        w1 = tf.get_variable('w1', initializer=tf.to_float(W1))
        w2 = tf.get_variable('w2', initializer=tf.to_float(W2))
        z = tf.layers.dropout(tf.nn.relu(tf.matmul(x, w1)), rate=.25, training=training)
        logits_ = tf.matmul(z, w2)
    y = tf.nn.softmax(logits_, name='ybar')
    return (y, logits_) if logits else y


def fgm(model, x, eps=.01, epochs=1, sign=True, clip_min=0., clip_max=1.):
    xadv = tf.identity(x)
    ybar = model(xadv)
    ydim = ybar.get_shape().as_list()[1]
    indices = tf.argmax(ybar, axis=1)
    target = tf.cond(tf.equal(ydim, 1), lambda: tf.nn.relu(tf.sign(ybar - .5)),
                     lambda: tf.one_hot(indices, ydim, on_value=1., off_value=0.))
    noise_fn = tf.sign if sign else tf.identity
    eps = tf.abs(eps)

    def cond(xadv, i):
        return tf.less(i, epochs)

    def body(xadv, i):
        ybar, logits = model(xadv, logits=True)
        loss = tf.nn.softmax_cross_entropy_with_logits_v2(labels=target, logits=logits)
        dy_dx, = tf.gradients(loss, xadv)
        xadv = tf.stop_gradient(xadv + eps * noise_fn(dy_dx))
        return tf.clip_by_value(xadv, clip_min, clip_max), i + 1

    xadv, _ = tf.while_loop(cond, body, (xadv, 0), back_prop=False, name='fast_gradient')
    return xadv


def deepfool(model, x, eta=.02, epochs=3):
    y0 = tf.stop_gradient(tf.reshape(model(x), [-1])[:C])
    k0 = tf.argmax(y0)

    def cond(i, z):
        xadv = tf.clip_by_value(x + z * (1 + eta), 0., 1.)
        y = tf.reshape(model(xadv), [-1])
        return tf.logical_and(tf.less(i, epochs), tf.equal(k0, tf.argmax(y)))

    def body(i, z):
        xadv = tf.clip_by_value(x + z * (1 + eta), 0., 1.)
        y = tf.reshape(model(xadv), [C])
        gs = [tf.reshape(tf.gradients(y[k], xadv)[0], [-1]) for k in range(C)]
        g = tf.stack(gs, axis=0)
        yk, yo = y[k0], tf.concat((y[:k0], y[(k0 + 1):]), axis=0)
        gk, go = g[k0], tf.concat((g[:k0], g[(k0 + 1):]), axis=0)
        yo.set_shape(C - 1)
        go.set_shape([C - 1, D])
        a = tf.abs(yo - yk)
        b = go - gk
        c = tf.norm(b, axis=1)
        score = a / c
        ind = tf.argmin(score)
        si, bi = score[ind], b[ind]
        dx = si * bi / tf.norm(bi)
        return i + 1, tf.reshape(z + tf.reshape(dx, [1, -1]), [1, D])

    i, noise = tf.while_loop(cond, body, [0, tf.zeros([1, D])], name='deepfool', back_prop=False)
    return x + noise * (1 + eta), i


def jsma(model, x, y, epochs=3, eps=.8):
    def body(x_adv, epoch, pixel_mask):
        ybar = model(x_adv)
        y_target = tf.slice(ybar, [0, y], [-1, 1])
        dy_dx, = tf.gradients(ybar, x_adv)
        dt_dx, = tf.gradients(y_target, x_adv)
        do_dx = tf.subtract(dy_dx, dt_dx)
        score = tf.to_float(pixel_mask) * tf.multiply(dt_dx, tf.abs(do_dx))
        idx = tf.argmax(score, axis=1, output_type=tf.int32)
        pos = tf.one_hot(idx, D, on_value=True, off_value=False, dtype=tf.bool)
        pixel_mask = tf.logical_and(pixel_mask, tf.logical_not(pos))
        dx = tf.where(pos, tf.fill(tf.shape(x_adv), eps), tf.zeros_like(x_adv))
        return tf.stop_gradient(tf.clip_by_value(x_adv + dx, 0., 1.)), epoch + 1, pixel_mask

    return tf.while_loop(lambda a, e, m: tf.logical_and(tf.less(e, epochs), tf.reduce_any(m)), body,
                         (tf.identity(x), tf.constant(0), tf.ones_like(x, dtype=tf.bool)), back_prop=False)[0]


class CW:
    def __init__(self, model, x, y, batch, optimizer=None):
        self.noise = tf.get_variable('adv-train/noise', [batch, D], tf.float32, tf.zeros_initializer, trainable=False)
        eps = 1e-4
        x_scaled = tf.maximum(0., tf.minimum(1., x)) * (1 - 2 * eps) + eps
        z = tf.atanh(x_scaled * 2 - 1)
        self.xadv = (tf.tanh(z + self.noise) + 1) / 2
        _, logits = model(self.xadv, logits=True)
        mask = tf.one_hot(y, C, on_value=0., off_value=np.float32(1.))
        yt = tf.reduce_max(logits - mask * 1e9, 1)
        yo = tf.reduce_max(mask * logits - (1 - mask) * 1e9, axis=1)
        self.c = tf.placeholder_with_default(1., ())
        self.loss = tf.nn.relu(yo - yt + .1) * self.c + tf.reduce_sum((self.xadv - x) ** 2, axis=1)
        before = set(v.name for v in tf.global_variables())
        self.train = (optimizer or tf.train.AdamOptimizer(.1)).minimize(self.loss, var_list=[self.noise])
        self.new = [v for v in tf.global_variables() if v.name not in before]
        self.reset = tf.variables_initializer(self.new + [self.noise])


x = tf.placeholder(tf.float32, (None, D), name='x')
X = rs.rand(6, D).astype(np.float32)
target = tf.placeholder(tf.int32, (), name='target')
adv = [fgm(model, x, .05), fgm(model, x, eps=.02, epochs=4), fgm(model, x, .2, sign=False)]
df, it = deepfool(model, x)
js = jsma(model, x, target)
cw = CW(model, x, tf.fill([6], target), 6)
pred = tf.argmax(model(x), 1)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(pred, {x: X}))
    for a in adv:
        r = sess.run(a, {x: X})
        print('%.5f' % np.abs(r - X).sum(), sess.run(pred, {x: r}))
    for k in range(2):
        d, n = sess.run([df, it], {x: X[k:k + 1]})
        print('deepfool %d %.5f' % (n, np.linalg.norm(d - X[k])))
    j = sess.run(js, {x: X, target: 1})
    print('jsma', (j != X).sum(1), '%.4f' % j.sum())
    for c in (1., 10.):
        sess.run(cw.reset)
        for _ in range(10):
            sess.run(cw.train, {x: X, target: 2, cw.c: c})
        l, xa = sess.run([cw.loss, cw.xadv], {x: X, target: 2, cw.c: c})
        print('cw', l.round(4), sess.run(pred, {x: xa}))
    print([v.op.name for v in cw.new])
