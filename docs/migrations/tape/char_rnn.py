"""char_rnn.py, as tape code: written by dualgrad convert."""

import numpy as np
import tape_api as tf

text = "a graph is built once and run many times, a tape is written each time anew. " * 8
chars = sorted(set(text))
vocab = {c: i for i, c in enumerate(chars)}
data = np.array([vocab[c] for c in text])
vocab_size, rnn_size, batch_size, seq_length = len(chars), 16, 4, 10
num_batches = len(data) // (batch_size * seq_length)
data = data[: num_batches * batch_size * seq_length]
x_batches = np.split(data.reshape(batch_size, -1), num_batches, 1)
y_batches = np.split(np.roll(data, -1).reshape(batch_size, -1), num_batches, 1)
rng = np.random.RandomState(5)
if vocab_size != 22:  # line 25, from the run
    raise ValueError('vocab_size is not 22, for which this program was converted')
embedding = tf.Variable((0.1 * rng.randn(vocab_size, rnn_size)).astype(np.float32))  # line 25
kernel = tf.Variable((0.2 * rng.randn(2 * rnn_size, 4 * rnn_size)).astype(np.float32))  # line 26
softmax_w = tf.Variable((0.1 * rng.randn(rnn_size, vocab_size)).astype(np.float32))  # line 28
lr = tf.Variable(0.0, trainable=False)  # line 21
bias = tf.Variable(tf.zeros([64]))  # line 27
softmax_b = tf.Variable(tf.zeros([22]))  # line 29
tvars = [embedding, kernel, bias, softmax_w, softmax_b]
optimizer = tf.compat.v1.train.AdamOptimizer(learning_rate=lr)


def assign_lr(new_lr):
    new_lr = tf.convert_to_tensor(new_lr, tf.float32)
    lr.assign(new_lr)  # line 23
    return lr.read_value()


def train_op(input_data, targets, initial_c, initial_h):
    input_data, targets = [tf.convert_to_tensor(x, tf.int32) for x in (input_data, targets)]
    initial_c, initial_h = [tf.convert_to_tensor(x, tf.float32) for x in (initial_c, initial_h)]
    with tf.GradientTape() as tape:
        inputs = tf.gather(embedding, input_data)  # line 31
        final_h, c = initial_h, initial_c
        all_final_h = []
        for i in range(10):  # line 35
            gates = tf.matmul(tf.concat([inputs[:, i, :], final_h], -1), kernel) + bias  # line 35
            split, j, f, o = tf.split(gates, 4, axis=-1)  # line 36
            c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(split) * tf.tanh(j)  # line 37
            final_h = tf.tanh(c) * tf.sigmoid(o)  # line 38
            all_final_h.append(final_h)
        output = tf.reshape(tf.concat(all_final_h, -1), [-1, 16])  # line 40
        logits = tf.matmul(output, softmax_w) + softmax_b  # line 41
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.reshape(targets, [-1]), logits)  # line 42
        cost = tf.reduce_mean(loss)  # line 43
    gradients = tape.gradient(cost, tvars)  # line 47
    grads, _ = tf.clip_by_global_norm(gradients, 5.0)
    optimizer.apply_gradients(zip(grads, tvars))  # line 48
    return cost, c, all_final_h[9]


if __name__ == "__main__":
    for e in range(3):
        assign_lr(0.02 * 0.9**e)
        state_c = np.zeros((batch_size, rnn_size), np.float32)
        state_h = np.zeros((batch_size, rnn_size), np.float32)
        for b in range(num_batches):
            feed = {"input_data": x_batches[b], "targets": y_batches[b], "initial_c": state_c, "initial_h": state_h}
            train_loss, state_c, state_h = [x.numpy() for x in train_op(**feed)]
        print("epoch {}, train_loss = {:.3f}".format(e, train_loss))
