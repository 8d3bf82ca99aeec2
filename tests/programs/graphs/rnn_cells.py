# needs: tf_keras
# tolerance: 1e-3
# Cells of tf.nn.rnn_cell in dynamic_rnn: lengths, stacked cells, states that are tuples.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(32)
batch, steps, features, units = 6, 7, 3, 5
x_data = rng.randn(batch, steps, features).astype(np.float32)
lengths = np.array([7, 5, 3, 7, 1, 4], np.int32)
y_data = np.sin(np.cumsum(x_data[:, :, 0], 1))[np.arange(batch), lengths - 1].astype(np.float32)

x = tf.placeholder(tf.float32, [None, steps, features])
seqlen = tf.placeholder(tf.int32, [None])
y = tf.placeholder(tf.float32, [None])
cells = [tf.nn.rnn_cell.BasicLSTMCell(units, forget_bias=1.0), tf.nn.rnn_cell.GRUCell(units)]
cell = tf.nn.rnn_cell.MultiRNNCell(cells)
outputs, state = tf.nn.dynamic_rnn(cell, x, sequence_length=seqlen, dtype=tf.float32)
last = tf.gather_nd(outputs, tf.stack([tf.range(tf.shape(x)[0]), seqlen - 1], axis=1))
W = tf.get_variable("W", [units, 1], initializer=tf.constant_initializer(rng.randn(units, 1)))
pred = tf.squeeze(tf.matmul(last, W), 1)
cost = tf.reduce_mean(tf.square(pred - y))
tvars = tf.trainable_variables()
print(*[(v.name, v.get_shape().as_list()) for v in tvars], sep="\n")
grads, _ = tf.clip_by_global_norm(tf.gradients(cost, tvars), 5.0)
train = tf.train.AdamOptimizer(0.02).apply_gradients(zip(grads, tvars))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for v in tvars:
        v.load((0.4 * rng.randn(*v.get_shape().as_list())).astype(np.float32), sess)
    feed = {x: x_data, seqlen: lengths, y: y_data}
    for i in range(25):
        _, c = sess.run([train, cost], feed)
        if i % 8 == 0:
            print("step", i, "cost", c)
    out, st = sess.run([outputs, state], feed)
    print(out.shape, np.abs(out[4, 1:]).sum(), type(st[0]).__name__, st[0].h[0], st[1][0])
