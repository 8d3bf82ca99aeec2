# tolerance: 1e-3
# A character model: LSTM cells written out, unrolled, gradients clipped by their global norm, decaying learning rate.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(8)
text = "in the beginning there was a graph and the graph was without values and a session ran over it. " * 4
chars = sorted(set(text))
ids = np.array([chars.index(c) for c in text], np.int32)
vocab, size, num_steps, batch_size = len(chars), 24, 8, 4


def init(*shape):
    return tf.constant_initializer(rng.uniform(-0.2, 0.2, shape))


input_data = tf.placeholder(tf.int32, [batch_size, num_steps])
targets = tf.placeholder(tf.int32, [batch_size, num_steps])
with tf.variable_scope("model", initializer=tf.random_uniform_initializer(-0.1, 0.1)):
    embedding = tf.get_variable("embedding", [vocab, size], initializer=init(vocab, size))
    inputs = tf.nn.embedding_lookup(embedding, input_data)
    c0 = tf.placeholder_with_default(np.zeros([batch_size, size], np.float32), [batch_size, size])
    h0 = tf.placeholder_with_default(np.zeros([batch_size, size], np.float32), [batch_size, size])
    c, h, outputs = c0, h0, []
    with tf.variable_scope("RNN"):
        for time_step in range(num_steps):
            if time_step > 0:
                tf.get_variable_scope().reuse_variables()
            kernel = tf.get_variable("kernel", [2 * size, 4 * size], initializer=init(2 * size, 4 * size))
            bias = tf.get_variable("bias", [4 * size], initializer=tf.zeros_initializer())
            gates = tf.matmul(tf.concat([inputs[:, time_step, :], h], 1), kernel) + bias
            i, j, f, o = tf.split(value=gates, num_or_size_splits=4, axis=1)
            c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
            h = tf.tanh(c) * tf.sigmoid(o)
            outputs.append(h)
    output = tf.reshape(tf.stack(axis=1, values=outputs), [-1, size])
    softmax_w = tf.get_variable("softmax_w", [size, vocab], initializer=init(size, vocab))
    softmax_b = tf.get_variable("softmax_b", [vocab], initializer=tf.constant_initializer(0))
    logits = tf.matmul(output, softmax_w) + softmax_b

loss = tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=tf.reshape(targets, [-1]))
cost = tf.reduce_sum(loss) / batch_size / num_steps
lr = tf.Variable(0.0, trainable=False)
tvars = tf.trainable_variables()
grads, norm = tf.clip_by_global_norm(tf.gradients(cost, tvars), 1.0)
train_op = tf.train.GradientDescentOptimizer(lr).apply_gradients(zip(grads, tvars))
new_lr = tf.placeholder(tf.float32, shape=[])
lr_update = tf.assign(lr, new_lr)

data = ids[: len(ids) // batch_size * batch_size].reshape(batch_size, -1)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for epoch in range(4):
        session.run(lr_update, feed_dict={new_lr: 2.0 * 0.8 ** max(epoch - 1, 0)})
        costs, state = [], {}
        for k in range((data.shape[1] - 1) // num_steps):
            x = data[:, k * num_steps : (k + 1) * num_steps]
            y = data[:, k * num_steps + 1 : (k + 1) * num_steps + 1]
            value, cs, hs, gnorm, _ = session.run([cost, c, h, norm, train_op], {input_data: x, targets: y, **state})
            costs.append(value)
            state = {c0: cs, h0: hs}
        print("Epoch: %d Learning rate: %.3f Perplexity: %.4f" % (epoch + 1, session.run(lr), np.exp(np.mean(costs))))
    print("last norm %.4f" % gnorm, [v.name for v in tvars])
