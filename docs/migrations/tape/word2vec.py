"""word2vec.py, as tape code: written by dualgrad convert."""

import collections

import numpy as np
import tape_api as tf

rng = np.random.RandomState(9)
corpus = ("one two three four five six seven eight nine ten and one more than nine is ten and one less than two is one " * 6).split()
count = collections.Counter(corpus).most_common(14)
word2id = {word: i for i, (word, _) in enumerate(count)}
id2word = {i: word for word, i in word2id.items()}
data = [word2id.get(word, 0) for word in corpus]
vocabulary_size, embedding_size, num_sampled, batch_size = len(count), 8, 5, 16
data_index = 0
embedding = tf.Variable(rng.randn(vocabulary_size, embedding_size).astype(np.float32))  # line 38
nce_weights = tf.Variable(rng.randn(vocabulary_size, embedding_size).astype(np.float32))  # line 40
nce_biases = tf.Variable(tf.zeros([14]))  # line 41
variables = [embedding, nce_weights, nce_biases]
optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.1)


def train_op(X, Y, sampled, sampled_count, true_count):
    X = tf.convert_to_tensor(X, tf.int32)
    Y, sampled = [tf.convert_to_tensor(x, tf.int64) for x in (Y, sampled)]
    sampled_count, true_count = [tf.convert_to_tensor(x, tf.float32) for x in (sampled_count, true_count)]
    with tf.GradientTape() as tape:
        X_embed = tf.gather(embedding, X)  # line 39
        loss_op = tf.reduce_mean(tf.nn.nce_loss(weights=nce_weights, biases=nce_biases, labels=Y,  # line 43
                                                inputs=X_embed, num_sampled=5, num_classes=14,
                                                sampled_values=(sampled, true_count, sampled_count)))
    optimizer.apply_gradients(zip(tape.gradient(loss_op, variables), variables))  # line 49
    return loss_op


def compute_cosine_sim_op(X):
    X = tf.convert_to_tensor(X, tf.int32)
    X_embed = tf.gather(embedding, X)  # line 39
    X_embed_norm = X_embed / tf.sqrt(tf.reduce_sum(tf.square(X_embed), axis=-1, keepdims=True))  # line 52
    embedding_norm = embedding / tf.sqrt(tf.reduce_sum(tf.square(embedding), axis=-1, keepdims=True))  # line 53
    return tf.matmul(X_embed_norm, embedding_norm, transpose_b=True)


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


if __name__ == "__main__":
    if vocabulary_size != 14:  # line 43, from the run
        raise ValueError('vocabulary_size is not 14, for which this program was converted')

    frequency = np.array([c for _, c in count], np.float32) / len(corpus)
    x_test = np.array([word2id[w] for w in ("one", "nine")])
    average_loss = 0.0
    for step in range(1, 61):
        batch_x, batch_y = next_batch(batch_size, 1)
        noise = rng.choice(vocabulary_size, num_sampled, p=frequency / frequency.sum())
        feed = {
            "X": batch_x, "Y": batch_y, "sampled": noise, "sampled_count": num_sampled * frequency[noise],
            "true_count": num_sampled * frequency[batch_y],
        }  # fmt: skip
        loss = train_op(**feed).numpy()
        average_loss += loss
        if step % 20 == 0:
            print("Step " + str(step) + ", Average Loss= " + "{:.3f}".format(average_loss / 20))
            average_loss = 0.0
    sim = compute_cosine_sim_op(x_test).numpy()
    for i, row in enumerate(sim):
        nearest = (-row).argsort()[1:4]
        print(id2word[x_test[i]], "nearest neighbors:", ", ".join(id2word[k] for k in nearest))
