# source: aymericdamien/TensorFlow-Examples examples/2_BasicModels/word2vec.py cefdb70c322f74ea59081ea0dfdbca35817ab41d
# Word vectors by skip-grams and noise-contrastive estimation; the noise words are chosen in Python and fed.
import collections

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(9)
corpus = ("one two three four five six seven eight nine ten and one more than nine is ten and one less than two is one " * 6).split()
count = collections.Counter(corpus).most_common(14)
word2id = {word: i for i, (word, _) in enumerate(count)}
id2word = {i: word for word, i in word2id.items()}
data = [word2id.get(word, 0) for word in corpus]
vocabulary_size, embedding_size, num_sampled, batch_size = len(count), 8, 5, 16
data_index = 0


def next_batch(batch_size, skip_window):
    global data_index
    batch, labels = [], []
    while len(batch) < batch_size:
        center = data_index % (len(data) - 2 * skip_window) + skip_window
        for context in range(center - skip_window, center + skip_window + 1):
            if context != center and len(batch) < batch_size:
                batch.append(data[center])
                labels.append([data[context]])
        data_index += 1
    return np.array(batch, np.int32), np.array(labels, np.int64)


X = tf.placeholder(tf.int32, shape=[None])
Y = tf.placeholder(tf.int64, shape=[None, 1])
sampled = tf.placeholder(tf.int64, shape=[num_sampled])
sampled_count = tf.placeholder(tf.float32, shape=[num_sampled])
true_count = tf.placeholder(tf.float32, shape=[None, 1])

with tf.device("/cpu:0"):
    embedding = tf.Variable(rng.randn(vocabulary_size, embedding_size).astype(np.float32))
    X_embed = tf.nn.embedding_lookup(embedding, X)
    nce_weights = tf.Variable(rng.randn(vocabulary_size, embedding_size).astype(np.float32))
    nce_biases = tf.Variable(tf.zeros([vocabulary_size]))

loss_op = tf.reduce_mean(
    tf.nn.nce_loss(
        weights=nce_weights, biases=nce_biases, labels=Y, inputs=X_embed, num_sampled=num_sampled,
        num_classes=vocabulary_size, sampled_values=(sampled, true_count, sampled_count),
    )
)  # fmt: skip
train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss_op)

# cosine similarity between words
X_embed_norm = X_embed / tf.sqrt(tf.reduce_sum(tf.square(X_embed), 1, keepdims=True))
embedding_norm = embedding / tf.sqrt(tf.reduce_sum(tf.square(embedding), 1, keepdims=True))
cosine_sim_op = tf.matmul(X_embed_norm, embedding_norm, transpose_b=True)

frequency = np.array([c for _, c in count], np.float32) / len(corpus)
x_test = np.array([word2id[w] for w in ("one", "nine")])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    average_loss = 0.0
    for step in range(1, 61):
        batch_x, batch_y = next_batch(batch_size, 1)
        noise = rng.choice(vocabulary_size, num_sampled, p=frequency / frequency.sum())
        feed = {
            X: batch_x, Y: batch_y, sampled: noise, sampled_count: num_sampled * frequency[noise],
            true_count: num_sampled * frequency[batch_y],
        }  # fmt: skip
        _, loss = sess.run([train_op, loss_op], feed_dict=feed)
        average_loss += loss
        if step % 20 == 0:
            print("Step " + str(step) + ", Average Loss= " + "{:.3f}".format(average_loss / 20))
            average_loss = 0.0
    sim = sess.run(cosine_sim_op, feed_dict={X: x_test})
    for i, row in enumerate(sim):
        nearest = (-row).argsort()[1:4]
        print(id2word[x_test[i]], "nearest neighbors:", ", ".join(id2word[k] for k in nearest))
