"""logistic_regression.py, as tape code: written by dualgrad convert."""

import numpy as np
import tape_api as tf

# parameters
learning_rate = 0.05

W = tf.Variable(tf.zeros([64, 10]))  # line 42
b = tf.Variable(tf.zeros([10]))  # line 43
optimizer = tf.compat.v1.train.GradientDescentOptimizer(learning_rate)


def compute_pred(x):
    return tf.nn.softmax(tf.matmul(x, W) + b)


def train_step(x, y):
    x, y = [tf.convert_to_tensor(x, tf.float32) for x in (x, y)]
    with tf.GradientTape() as tape:
        cost = tf.reduce_mean(-tf.reduce_sum(y * tf.math.log(compute_pred(x)), axis=-1))  # line 45
    optimizer.apply_gradients(zip(tape.gradient(cost, [W, b]), [W, b]))  # line 46
    return cost


def compute_accuracy(x, y):
    x, y = [tf.convert_to_tensor(x, tf.float32) for x in (x, y)]
    correct_prediction = tf.equal(tf.argmax(compute_pred(x), axis=-1), tf.argmax(y, axis=-1))  # line 62
    return tf.reduce_mean(tf.cast(correct_prediction, tf.float32))


class DataSet:
    """Pictures of 8 x 8 pixels that look a bit like their labels."""

    def __init__(self, number, seed):
        self.random = np.random.RandomState(seed)
        digits = self.random.randint(0, 10, number)
        shapes = np.random.RandomState(1).rand(10, 64) > 0.6
        noise = 0.3 * self.random.rand(number, 64)
        self.images = (0.7 * shapes[digits] + noise).astype(np.float32)
        self.labels = np.eye(10, dtype=np.float32)[digits]
        self.num_examples = number
        self.at = 0

    def next_batch(self, size):
        if self.at + size > self.num_examples:
            order = self.random.permutation(self.num_examples)
            self.images, self.labels = self.images[order], self.labels[order]
            self.at = 0
        rows = slice(self.at, self.at + size)
        self.at += size
        return self.images[rows], self.labels[rows]


if __name__ == "__main__":
    train, test = DataSet(500, 2), DataSet(100, 3)
    training_epochs = 5
    batch_size = 50
    display_step = 1

    for epoch in range(training_epochs):
        avg_cost = 0.0
        total_batch = int(train.num_examples / batch_size)
        for i in range(total_batch):
            batch_xs, batch_ys = train.next_batch(batch_size)
            c = train_step(batch_xs, batch_ys).numpy()
            avg_cost += c / total_batch
        if (epoch + 1) % display_step == 0:
            print("Epoch:", "%04d" % (epoch + 1), "cost=", "{:.4f}".format(avg_cost))
    print("Optimization finished!")
    print("Accuracy:", compute_accuracy(test.images, test.labels).numpy())
