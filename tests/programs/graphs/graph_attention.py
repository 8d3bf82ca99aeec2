# needs: tf_keras
# tolerance: 1e-3
# Graph attention on sparse matrices and a spatial transformer, as research code has them.
import collections

import numpy as np
import scipy.sparse as sp
import tensorflow as tf

rng = np.random.RandomState(61)
conv1d = tf.layers.conv1d


def const(*shape):
    return tf.constant_initializer((0.3 * rng.randn(*shape)).astype(np.float32))


def sp_attn_head(seq, out_sz, adj_mat, activation, nb_nodes, in_drop=0.0, coef_drop=0.0, residual=False):
    with tf.name_scope("sp_attn"):
        if in_drop != 0.0:
            seq = tf.nn.dropout(seq, 1.0 - in_drop)
        seq_fts = conv1d(seq, out_sz, 1, use_bias=False, kernel_initializer=const(1, int(seq.shape[-1]), out_sz))
        f_1 = conv1d(seq_fts, 1, 1, kernel_initializer=const(1, out_sz, 1))
        f_2 = conv1d(seq_fts, 1, 1, kernel_initializer=const(1, out_sz, 1))
        f_1 = tf.reshape(f_1, (nb_nodes, 1))
        f_2 = tf.reshape(f_2, (nb_nodes, 1))
        f_1 = adj_mat * f_1
        f_2 = adj_mat * tf.transpose(f_2, [1, 0])
        logits = tf.sparse_add(f_1, f_2)
        lrelu = tf.SparseTensor(
            indices=logits.indices, values=tf.nn.leaky_relu(logits.values), dense_shape=logits.dense_shape
        )
        coefs = tf.sparse_softmax(lrelu)
        coefs = tf.sparse_reshape(coefs, [nb_nodes, nb_nodes])
        seq_fts = tf.squeeze(seq_fts)
        vals = tf.sparse_tensor_dense_matmul(coefs, seq_fts)
        vals = tf.expand_dims(vals, axis=0)
        vals.set_shape([1, nb_nodes, out_sz])
        ret = vals
        if residual:
            ret = ret + conv1d(
                seq, int(ret.shape[-1]), 1, kernel_initializer=const(1, int(seq.shape[-1]), int(ret.shape[-1]))
            )
        return activation(ret)


N, F, C = 10, 5, 3
adj = sp.coo_matrix((rng.rand(N, N) < 0.3).astype(np.float32) + np.eye(N, dtype=np.float32))
adj.data[:] = 1.0
indices = np.vstack((adj.row, adj.col)).transpose()
with tf.name_scope("input"):
    ftr_in = tf.placeholder(dtype=tf.float32, shape=(1, N, F))
    bias_in = tf.sparse_placeholder(dtype=tf.float32)
    lbl_in = tf.placeholder(dtype=tf.int32, shape=(1, N, C))
    msk_in = tf.placeholder(dtype=tf.int32, shape=(1, N))
attns = [sp_attn_head(ftr_in, 4, bias_in, tf.nn.elu, N) for _ in range(2)]
h_1 = tf.concat(attns, axis=-1)
out = [sp_attn_head(h_1, C, bias_in, lambda x: x, N, residual=True) for _ in range(1)]
logits = tf.add_n(out) / 1
log_resh = tf.reshape(logits, [-1, C])
lab_resh = tf.reshape(lbl_in, [-1, C])
msk_resh = tf.reshape(msk_in, [-1])


def masked_softmax_cross_entropy(logits, labels, mask):
    loss = tf.nn.softmax_cross_entropy_with_logits_v2(logits=logits, labels=labels)
    mask = tf.cast(mask, dtype=tf.float32)
    mask /= tf.reduce_mean(mask)
    loss *= mask
    return tf.reduce_mean(loss)


def micro_f1(logits, labels, mask):
    predicted = tf.cast(tf.round(tf.nn.sigmoid(logits)), dtype=tf.int32)
    labels = tf.cast(labels, dtype=tf.int32)
    mask = tf.expand_dims(tf.cast(mask, dtype=tf.int32), -1)
    tp = tf.count_nonzero(predicted * labels * mask)
    fp = tf.count_nonzero(predicted * (labels - 1) * mask)
    fn = tf.count_nonzero((predicted - 1) * labels * mask)
    precision, recall = tp / (tp + fp), tp / (tp + fn)
    fmeasure = (2 * precision * recall) / (precision + recall)
    return tf.cast(fmeasure, tf.float32)


loss = masked_softmax_cross_entropy(log_resh, lab_resh, msk_resh)
f1 = micro_f1(log_resh, lab_resh, msk_resh)
variables = tf.trainable_variables()
lossL2 = tf.add_n([tf.nn.l2_loss(v) for v in variables if v.name not in ["bias", "gamma", "b", "g", "beta"]]) * 0.005
opt = tf.train.AdamOptimizer(learning_rate=0.02)
train_op = opt.minimize(loss + lossL2)


def spatial_transformer(U, theta, out_size, name="SpatialTransformer"):
    def _repeat(x, n_repeats):
        with tf.variable_scope("_repeat"):
            rep = tf.transpose(tf.expand_dims(tf.ones(shape=tf.stack([n_repeats])), 1), [1, 0])
            rep = tf.cast(rep, "int32")
            x = tf.matmul(tf.reshape(x, (-1, 1)), rep)
            return tf.reshape(x, [-1])

    with tf.variable_scope(name):
        num_batch, height, width, channels = tf.shape(U)[0], int(U.shape[1]), int(U.shape[2]), int(U.shape[3])
        oh, ow = out_size
        x_t, y_t = tf.meshgrid(tf.linspace(-1.0, 1.0, ow), tf.linspace(-1.0, 1.0, oh))
        grid = tf.stack([tf.reshape(x_t, [-1]), tf.reshape(y_t, [-1]), tf.ones([oh * ow])])
        T_g = tf.matmul(tf.reshape(theta, (-1, 2, 3)), tf.tile(grid[None], tf.stack([num_batch, 1, 1])))
        x = tf.reshape(tf.slice(T_g, [0, 0, 0], [-1, 1, -1]), [-1])
        y = tf.reshape(tf.slice(T_g, [0, 1, 0], [-1, 1, -1]), [-1])
        x, y = (x + 1.0) * width / 2.0, (y + 1.0) * height / 2.0
        x0, y0 = tf.cast(tf.floor(x), "int32"), tf.cast(tf.floor(y), "int32")
        x1, y1 = x0 + 1, y0 + 1
        x0, x1 = [tf.clip_by_value(v, 0, width - 1) for v in (x0, x1)]
        y0, y1 = [tf.clip_by_value(v, 0, height - 1) for v in (y0, y1)]
        base = _repeat(tf.range(num_batch) * width * height, oh * ow)
        im_flat = tf.cast(tf.reshape(U, tf.stack([-1, channels])), "float32")
        Ia, Ib, Ic, Id = [
            tf.gather(im_flat, base + yy * width + xx) for xx, yy in ((x0, y0), (x0, y1), (x1, y0), (x1, y1))
        ]
        x0_f, x1_f, y0_f, y1_f = [tf.cast(v, "float32") for v in (x0, x1, y0, y1)]
        wa, wb = tf.expand_dims((x1_f - x) * (y1_f - y), 1), tf.expand_dims((x1_f - x) * (y - y0_f), 1)
        wc, wd = tf.expand_dims((x - x0_f) * (y1_f - y), 1), tf.expand_dims((x - x0_f) * (y - y0_f), 1)
        output = tf.add_n([wa * Ia, wb * Ib, wc * Ic, wd * Id])
        return tf.reshape(output, tf.stack([num_batch, oh, ow, channels]))


U = tf.placeholder(tf.float32, [None, 6, 6, 2], name="U")
theta = tf.get_variable("theta", initializer=np.array([[0.9, 0.1, 0.05, -0.1, 0.8, 0.0]], np.float32))
warped = spatial_transformer(U, tf.tile(theta, [tf.shape(U)[0], 1]), (4, 5))
target = tf.placeholder(tf.float32, [None, 4, 5, 2])
stn_loss = tf.losses.mean_squared_error(target, warped) + tf.losses.absolute_difference(target, warped, weights=0.1)
stn_train = tf.train.MomentumOptimizer(0.2, 0.9, use_nesterov=True).minimize(stn_loss, var_list=[theta])
features, labels, mask = rng.rand(1, N, F), np.eye(C)[rng.randint(0, C, N)][None], (rng.rand(1, N) < 0.7)
images = rng.rand(2, 6, 6, 2)
Result = collections.namedtuple("Result", ["loss", "f1"])
with tf.Session() as sess:
    sess.run(tf.group(tf.global_variables_initializer(), tf.local_variables_initializer()))
    feed = {ftr_in: features, bias_in: tf.SparseTensorValue(indices, adj.data, adj.shape), lbl_in: labels, msk_in: mask}
    for epoch in range(12):
        r, _ = sess.run([Result(loss=loss, f1=f1), train_op], feed_dict=feed)
        if epoch % 4 == 0:
            print(epoch, r.loss, r.f1)
    print(sess.run(tf.nn.softmax(log_resh), feed)[:2])
    feed = {U: images, target: images[:, 1:5, :5]}
    for i in range(10):
        value, _ = sess.run([stn_loss, stn_train], feed)
        if i % 3 == 0:
            print("stn", i, value)
    print(sess.run(theta), warped.shape, sess.run(warped, feed).sum())
    print(loss.name, h_1.name, log_resh.name, len(tf.get_collection(tf.GraphKeys.LOSSES)))
