# source: sherjilozair/char-rnn-tensorflow train.py 5029173fc6ad527545082abcaf6c267061825484
# A recurrent network that learns the next character; the state goes from batch to batch.
import numpy as np
import tensorflow as tf

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

input_data = tf.placeholder(tf.int32, [batch_size, seq_length], name="input_data")
targets = tf.placeholder(tf.int32, [batch_size, seq_length], name="targets")
initial_c = tf.placeholder(tf.float32, [batch_size, rnn_size], name="initial_c")
initial_h = tf.placeholder(tf.float32, [batch_size, rnn_size], name="initial_h")
lr = tf.Variable(0.0, trainable=False, name="lr")
new_lr = tf.placeholder(tf.float32, [], name="new_lr")
assign_lr = tf.assign(lr, new_lr)

embedding = tf.get_variable("embedding", initializer=(0.1 * rng.randn(vocab_size, rnn_size)).astype(np.float32))
kernel = tf.get_variable("kernel", initializer=(0.2 * rng.randn(2 * rnn_size, 4 * rnn_size)).astype(np.float32))
bias = tf.get_variable("bias", [4 * rnn_size], initializer=tf.zeros_initializer())
softmax_w = tf.get_variable("softmax_w", initializer=(0.1 * rng.randn(rnn_size, vocab_size)).astype(np.float32))
softmax_b = tf.get_variable("softmax_b", [vocab_size], initializer=tf.zeros_initializer())

inputs = tf.nn.embedding_lookup(embedding, input_data)
c, h = initial_c, initial_h
outputs = []
for t in range(seq_length):
    gates = tf.matmul(tf.concat([inputs[:, t, :], h], 1), kernel) + bias
    i, j, f, o = tf.split(gates, 4, 1)
    c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
    h = tf.tanh(c) * tf.sigmoid(o)
    outputs.append(h)
output = tf.reshape(tf.concat(outputs, 1), [-1, rnn_size])
logits = tf.matmul(output, softmax_w) + softmax_b
loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(targets, [-1]), logits=logits)
cost = tf.reduce_mean(loss)
final_c, final_h = c, h

tvars = tf.trainable_variables()
grads, _ = tf.clip_by_global_norm(tf.gradients(cost, tvars), 5.0)
train_op = tf.train.AdamOptimizer(lr).apply_gradients(zip(grads, tvars))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for e in range(3):
        sess.run(assign_lr, {new_lr: 0.02 * 0.9**e})
        state_c = np.zeros((batch_size, rnn_size), np.float32)
        state_h = np.zeros((batch_size, rnn_size), np.float32)
        for b in range(num_batches):
            feed = {input_data: x_batches[b], targets: y_batches[b], initial_c: state_c, initial_h: state_h}
            train_loss, state_c, state_h, _ = sess.run([cost, final_c, final_h, train_op], feed)
        print("epoch {}, train_loss = {:.3f}".format(e, train_loss))
