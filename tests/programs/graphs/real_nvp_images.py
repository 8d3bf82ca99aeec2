# tolerance: 1e-4
"""RealNVP on tiny images with checkerboard/channel masks, squeeze (space_to_depth), weight normalization, logit preprocessing, tf.contrib-like arg_scope by functools.partial."""
import functools
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(6)
counter = [0]


def np_init(shape, scale=0.1):
    return tf.constant_initializer((rng.randn(*shape) * scale).astype(np.float32))


def wn_conv(x, filters, k, name, init_scale=1.0):
    with tf.variable_scope(name):
        cin = int(x.get_shape()[-1])
        V = tf.get_variable('V', [k, k, cin, filters], tf.float32, np_init([k, k, cin, filters]), trainable=True)
        g = tf.get_variable('g', [filters], initializer=tf.constant_initializer(init_scale))
        b = tf.get_variable('b', [filters], initializer=tf.constant_initializer(0.))
        W = tf.reshape(g, [1, 1, 1, filters]) * tf.nn.l2_normalize(V, [0, 1, 2])
        return tf.nn.bias_add(tf.nn.conv2d(x, W, [1, 1, 1, 1], padding='SAME'), b)


conv = functools.partial(wn_conv, k=3)


def resnet(x, hidden, name):
    with tf.variable_scope(name):
        cin = int(x.shape[-1])
        h = conv(tf.nn.elu(tf.concat([x, -x], 3)), hidden, name="in")
        for i in range(2):
            h += 0.1 * conv(tf.nn.elu(conv(tf.nn.elu(h), hidden, name="a%d" % i)), hidden, name="b%d" % i)
        out = conv(h, 2 * cin, name="out", init_scale=0.1)
        s, t = tf.split(out, 2, 3)
        return tf.tanh(s), t


def checkerboard(h, w, reverse=False):
    m = np.indices((h, w)).sum(0) % 2
    return (1 - m if reverse else m).astype(np.float32).reshape(1, h, w, 1)


class Coupling(object):
    def __init__(self, mask_type, name):
        self.mask_type, self.name = mask_type, name

    def __call__(self, x, sldj, reverse=False):
        with tf.variable_scope(self.name, reuse=tf.AUTO_REUSE):
            if 'checker' in self.mask_type:
                _, h, w, c = x.get_shape().as_list()
                b = tf.constant(checkerboard(h, w, self.mask_type.endswith('1')))
                s, t = resnet(x * b, 8, 'st')
                rescale = tf.get_variable('rescale', [c], initializer=tf.ones_initializer())
                s = s * rescale * (1 - b)
                t = t * (1 - b)
                if reverse:
                    return (x * tf.exp(-s) - t), sldj
                return (x + t) * tf.exp(s), sldj + tf.reduce_sum(s, [1, 2, 3])
            keep, change = tf.split(x, 2, axis=-1)
            if self.mask_type.endswith('1'):
                keep, change = change, keep
            s, t = resnet(keep, 8, 'st')
            if reverse:
                change = change * tf.exp(-s) - t
            else:
                change = (change + t) * tf.exp(s)
                sldj = sldj + tf.reduce_sum(s, axis=[1, 2, 3])
            parts = [change, keep] if self.mask_type.endswith('1') else [keep, change]
            return tf.concat(parts, -1), sldj


layers = [Coupling('checker0', 'c0'), Coupling('checker1', 'c1'), 'squeeze', Coupling('channel0', 'c2'), Coupling('channel1', 'c3'), 'unsqueeze']


def forward(x):
    sldj = tf.zeros([tf.shape(x)[0]])
    alpha = 0.05
    y = x * (1 - 2 * alpha) + alpha
    z = tf.log(y) - tf.log(1. - y)
    sldj -= tf.reduce_sum(tf.log(y) + tf.log1p(-y) - np.log(1 - 2 * alpha), axis=[1, 2, 3])
    for l in layers:
        if l == 'squeeze':
            z = tf.space_to_depth(z, 2)
        elif l == 'unsqueeze':
            z = tf.depth_to_space(z, 2)
        else:
            z, sldj = l(z, sldj)
    return z, sldj


def inverse(z):
    for l in reversed(layers):
        if isinstance(l, str):
            z = tf.space_to_depth(z, 2) if l == 'unsqueeze' else tf.depth_to_space(z, 2)
        else:
            z, _ = l(z, None, reverse=True)
    return (tf.sigmoid(z) - 0.05) / 0.9


x = tf.placeholder(tf.float32, [None, 6, 6, 1])
z, sldj = forward(x)
prior = tf.reduce_sum(-0.5 * (tf.square(z) + np.log(2 * np.pi)), [1, 2, 3])
nll = -tf.reduce_mean(prior + sldj)
bits = (nll / 36. + np.log(256.)) / np.log(2.)
reg = tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if v.op.name.endswith('/g') or 'rescale' in v.name]) * 5e-5
rec = inverse(z)
opt = tf.train.AdamOptimizer(2e-3, beta2=0.99)
gv = opt.compute_gradients(nll + reg)
gv = [(tf.check_numerics(g, 'bad gradient of ' + v.op.name), v) for g, v in gv if g is not None]
train = opt.apply_gradients(gv)
ema = tf.train.ExponentialMovingAverage(decay=0.9)
with tf.control_dependencies([train]):
    step = ema.apply(tf.trainable_variables())
data = rng.rand(48, 6, 6, 1).astype(np.float32) * np.linspace(0.1, 1, 6).reshape(1, 6, 1, 1)
data = data.astype(np.float32)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(12):
        _, b = sess.run([step, bits], {x: data[rng.randint(0, 48, 16)]})
        if i % 3 == 2:
            print(i, "%.5f" % b)
    r, zz = sess.run([rec, z], {x: data[:4]})
    print("reconstruction", np.abs(r - data[:4]).max() < 1e-4, "%.4f" % zz.std())
    avg = {v.op.name: ema.average(v) for v in tf.trainable_variables()}
    print(len(avg), len(tf.global_variables()), ema.average_name(tf.trainable_variables()[0]))
    restore = ema.variables_to_restore()
    print(sorted(restore)[:2], "%.6f" % np.mean([np.abs(sess.run(a)).mean() for a in avg.values()]))
