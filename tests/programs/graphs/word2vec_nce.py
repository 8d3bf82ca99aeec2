# tolerance: 1e-3
# Skip-grams with noise-contrastive estimation; the noise words are given, so that a run can be repeated.
import collections

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(31)
words = ("the quick brown fox jumps over the lazy dog and the cat sleeps under the warm sun while the dog barks " * 6).split()
count = collections.Counter(words).most_common()
dictionary = {word: i for i, (word, _) in enumerate(count)}
data = [dictionary[word] for word in words]
vocabulary_size, embedding_size, num_sampled, batch_size = len(dictionary), 8, 4, 16


def generate_batch(start):
    batch, labels = [], []
    for i in range(start, start + batch_size // 2):
        centre = data[i % (len(data) - 2) + 1]
        for context in (data[i % (len(data) - 2)], data[i % (len(data) - 2) + 2]):
            batch.append(centre)
            labels.append([context])
    return np.array(batch, np.int32), np.array(labels, np.int64)


graph = tf.Graph()
with graph.as_default():
    train_inputs = tf.placeholder(tf.int32, shape=[batch_size])
    train_labels = tf.placeholder(tf.int64, shape=[batch_size, 1])
    sampled = tf.placeholder(tf.int64, shape=[num_sampled])
    expected_true = tf.placeholder(tf.float32, shape=[batch_size, 1])
    expected_sampled = tf.placeholder(tf.float32, shape=[num_sampled])
    with tf.device("/cpu:0"):
        embeddings = tf.Variable(rng.uniform(-1, 1, (vocabulary_size, embedding_size)).astype(np.float32))
        embed = tf.nn.embedding_lookup(embeddings, train_inputs)
        nce_weights = tf.Variable((rng.randn(vocabulary_size, embedding_size) / np.sqrt(embedding_size)).astype(np.float32))
        nce_biases = tf.Variable(tf.zeros([vocabulary_size]))
    nce = tf.nn.nce_loss(
        weights=nce_weights, biases=nce_biases, labels=train_labels, inputs=embed, num_sampled=num_sampled,
        num_classes=vocabulary_size, sampled_values=(sampled, expected_true, expected_sampled),
    )
    softmax = tf.nn.sampled_softmax_loss(
        weights=nce_weights, biases=nce_biases, labels=train_labels, inputs=embed, num_sampled=num_sampled,
        num_classes=vocabulary_size, sampled_values=(sampled, expected_true, expected_sampled),
    )
    loss = tf.reduce_mean(nce)
    optimizer = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    norm = tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keep_dims=True))
    normalized_embeddings = embeddings / norm
    valid = tf.constant([0, 1, 2], dtype=tf.int32)
    similarity = tf.matmul(tf.nn.embedding_lookup(normalized_embeddings, valid), normalized_embeddings, transpose_b=True)
    init = tf.global_variables_initializer()

frequencies = np.array([c for _, c in count], float)
frequencies /= frequencies.sum()
with tf.Session(graph=graph) as session:
    init.run()
    average_loss = 0
    for step in range(60):
        inputs, labels = generate_batch(8 * step)
        noise = rng.choice(vocabulary_size, num_sampled, replace=False, p=frequencies)
        feed = {train_inputs: inputs, train_labels: labels, sampled: noise,
                expected_true: num_sampled * frequencies[labels], expected_sampled: num_sampled * frequencies[noise]}
        _, loss_val = session.run([optimizer, loss], feed_dict=feed)
        average_loss += loss_val
        if step % 20 == 19:
            print("Average loss at step ", step, ": ", average_loss / 20, session.run(softmax, feed).mean())
            average_loss = 0
    sim = similarity.eval()
    print(sim.shape, sim[0, :5])
