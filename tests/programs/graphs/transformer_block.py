# tolerance: 2e-3
# Attention written out: heads by reshape and transpose, masks, layer normalisation, label smoothing, warm-up.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(34)
B, T, D, H, V = 4, 6, 8, 2, 10


def variable(*shape):
    return tf.Variable((rng.randn(*shape) / np.sqrt(shape[0])).astype(np.float32))


def ln(x, gamma, beta, epsilon=1e-8):
    mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
    return gamma * (x - mean) / ((variance + epsilon) ** 0.5) + beta


def attention(q, k, v, causality=True):
    Q_, K_, V_ = [tf.concat(tf.split(t, H, axis=2), axis=0) for t in (q, k, v)]
    outputs = tf.matmul(Q_, tf.transpose(K_, [0, 2, 1])) / (D // H) ** 0.5
    if causality:
        tril = tf.matrix_band_part(tf.ones_like(outputs[0]), -1, 0)
        masks = tf.tile(tf.expand_dims(tril, 0), [tf.shape(outputs)[0], 1, 1])
        outputs = tf.where(tf.equal(masks, 0), tf.ones_like(masks) * (-(2.0**32) + 1), outputs)
    outputs = tf.matmul(tf.nn.softmax(outputs), V_)
    return tf.concat(tf.split(outputs, H, axis=0), axis=2)


ids = tf.placeholder(tf.int32, [None, T])
targets = tf.placeholder(tf.int32, [None, T])
embeddings = variable(V, D)
position = np.array([[p / np.power(10000, (i - i % 2) / D) for i in range(D)] for p in range(T)])
position[:, 0::2], position[:, 1::2] = np.sin(position[:, 0::2]), np.cos(position[:, 1::2])
x = tf.nn.embedding_lookup(embeddings, ids) * D**0.5 + tf.convert_to_tensor(position, tf.float32)
wq, wk, wv = variable(D, D), variable(D, D), variable(D, D)
q, k, v = [tf.tensordot(x, w, [[2], [0]]) for w in (wq, wk, wv)]
x = ln(x + attention(q, k, v), tf.Variable(tf.ones([D])), tf.Variable(tf.zeros([D])))
ff = tf.tensordot(tf.nn.relu(tf.tensordot(x, variable(D, 16), 1)), variable(16, D), 1)
x = ln(x + ff, tf.Variable(tf.ones([D])), tf.Variable(tf.zeros([D])))
logits = tf.einsum("ntd,dk->ntk", x, tf.transpose(embeddings))
y_ = (1 - 0.1) * tf.one_hot(targets, depth=V) + 0.1 / V
ce = tf.nn.softmax_cross_entropy_with_logits_v2(logits=logits, labels=y_)
nonpadding = tf.to_float(tf.not_equal(targets, 0))
loss = tf.reduce_sum(ce * nonpadding) / (tf.reduce_sum(nonpadding) + 1e-7)
global_step = tf.train.get_or_create_global_step()
step = tf.cast(global_step + 1, dtype=tf.float32)
lr = 0.01 * 10.0**0.5 * tf.minimum(step * 10.0**-1.5, step**-0.5)
train_op = tf.train.AdamOptimizer(lr).minimize(loss, global_step=global_step)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(30):
        a = rng.randint(1, V, (B, 1))
        seq = (a + np.arange(T + 1)) % V
        _, l, rate = sess.run([train_op, loss, lr], {ids: seq[:, :-1], targets: seq[:, 1:]})
        if i % 10 == 0:
            print("step", i, "loss", l, "rate", rate)
    print(sess.run(tf.argmax(logits, -1), {ids: seq[:1, :-1]}).shape, "%.4f" % sess.run(loss, {ids: seq[:, :-1], targets: seq[:, 1:]}))
