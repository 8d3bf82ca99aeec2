# source: aymericdamien/TensorFlow-Examples examples/2_BasicModels/logistic_regression.py 6ca90300eb4b9c7b3583bc08da7cd2e839af7293
# Logistic regression on small pictures of digits, in batches, with a reader that shuffles.
import numpy as np
import tensorflow as tf


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


train, test = DataSet(500, 2), DataSet(100, 3)

# parameters
learning_rate = 0.05
training_epochs = 5
batch_size = 50
display_step = 1

# input of the graph
x = tf.placeholder(tf.float32, [None, 64])  # a picture
y = tf.placeholder(tf.float32, [None, 10])  # which digit it is

W = tf.Variable(tf.zeros([64, 10]))
b = tf.Variable(tf.zeros([10]))
pred = tf.nn.softmax(tf.matmul(x, W) + b)
cost = tf.reduce_mean(-tf.reduce_sum(y * tf.log(pred), reduction_indices=1))
optimizer = tf.train.GradientDescentOptimizer(learning_rate).minimize(cost)
init = tf.global_variables_initializer()

with tf.Session() as sess:
    sess.run(init)
    for epoch in range(training_epochs):
        avg_cost = 0.0
        total_batch = int(train.num_examples / batch_size)
        for i in range(total_batch):
            batch_xs, batch_ys = train.next_batch(batch_size)
            _, c = sess.run([optimizer, cost], feed_dict={x: batch_xs, y: batch_ys})
            avg_cost += c / total_batch
        if (epoch + 1) % display_step == 0:
            print("Epoch:", "%04d" % (epoch + 1), "cost=", "{:.4f}".format(avg_cost))
    print("Optimization finished!")

    correct_prediction = tf.equal(tf.argmax(pred, 1), tf.argmax(y, 1))
    accuracy = tf.reduce_mean(tf.cast(correct_prediction, tf.float32))
    print("Accuracy:", accuracy.eval({x: test.images, y: test.labels}))
