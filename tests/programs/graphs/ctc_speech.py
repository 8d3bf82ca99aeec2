"""Speech recognition with CTC: sparse targets, a cell over time, a greedy decoder, label error rate."""
# tolerance: 1e-3
# needs: tf_keras
import numpy as np
import tensorflow as tf

num_features, num_units, num_classes, batch_size, num_layers = 5, 12, 6, 3, 1
rng = np.random.RandomState(5)


def sparse_tuple_from(sequences, dtype=np.int32):
    indices, values = [], []
    for n, seq in enumerate(sequences):
        indices.extend(zip([n] * len(seq), range(len(seq))))
        values.extend(seq)
    indices = np.asarray(indices, dtype=np.int64)
    values = np.asarray(values, dtype=dtype)
    shape = np.asarray([len(sequences), np.asarray(indices).max(0)[1] + 1], dtype=np.int64)
    return indices, values, shape


class C(object):
    pass


graph = tf.Graph()
with graph.as_default():
    inputs = tf.placeholder(tf.float32, [None, None, num_features])
    targets = tf.sparse_placeholder(tf.int32)
    seq_len = tf.placeholder(tf.int32, [None])
    cell = tf.nn.rnn_cell.LSTMCell(num_units, state_is_tuple=True, initializer=tf.constant_initializer(rng.normal(0, .3, (num_features + num_units, 4 * num_units))))
    stack = tf.nn.rnn_cell.MultiRNNCell([cell] * num_layers, state_is_tuple=True)
    outputs, _ = tf.nn.dynamic_rnn(stack, inputs, seq_len, dtype=tf.float32)
    shape = tf.shape(inputs)
    batch_s, max_timesteps = shape[0], shape[1]
    outputs = tf.reshape(outputs, [-1, num_units])
    W = tf.Variable(rng.normal(0, 0.2, (num_units, num_classes)).astype(np.float32))
    b = tf.Variable(tf.constant(0., shape=[num_classes]))
    logits = tf.matmul(outputs, W) + b
    logits = tf.reshape(logits, [batch_s, -1, num_classes])
    logits = tf.transpose(logits, (1, 0, 2))
    loss = tf.nn.ctc_loss(targets, logits, seq_len)
    cost = tf.reduce_mean(loss)
    optimizer = tf.train.MomentumOptimizer(0.05, 0.9).minimize(cost)
    decoded, log_prob = tf.nn.ctc_greedy_decoder(logits, seq_len)
    ler = tf.reduce_mean(tf.edit_distance(tf.cast(decoded[0], tf.int32), targets))
    dense_decoded = tf.sparse_tensor_to_dense(decoded[0], default_value=-1)

x = rng.normal(0, 1, (batch_size, 10, num_features)).astype(np.float32)
lens = np.array([10, 8, 9], np.int32)
y = sparse_tuple_from([[0, 1, 1, 2], [3, 4], [2, 2, 0]])
with tf.Session(graph=graph) as session:
    tf.global_variables_initializer().run()
    for epoch in range(40):
        feed = {inputs: x, targets: y, seq_len: lens}
        c, _ = session.run([cost, optimizer], feed)
        if epoch % 8 == 0:
            print('Epoch %d, train_cost = %.4f, train_ler = %.4f' % (epoch, c, session.run(ler, feed)))
    d = session.run(decoded[0], feed_dict=feed)
    print(type(d).__name__, d.indices.tolist(), d.values, d.dense_shape)
    print(session.run(dense_decoded, feed))
    print(session.run(log_prob, feed))
    print(session.run(loss, feed))
