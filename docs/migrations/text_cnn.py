# source: dennybritz/cnn-text-classification-tf text_cnn.py c0ae99c75cf6b55c219471a622a3acebd16049d2
# A convolutional network for sentences, as a class: embeddings, filters of several widths, max-pooling, softmax.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(10)


class TextCNN(object):
    """A network for text: an embedding layer, then convolution, max-pooling and softmax."""

    def __init__(self, sequence_length, num_classes, vocab_size, embedding_size, filter_sizes, num_filters, l2_reg_lambda=0.0):
        self.input_x = tf.placeholder(tf.int32, [None, sequence_length], name="input_x")
        self.input_y = tf.placeholder(tf.float32, [None, num_classes], name="input_y")
        l2_loss = tf.constant(0.0)

        with tf.name_scope("embedding"):
            start = rng.uniform(-1.0, 1.0, (vocab_size, embedding_size)).astype(np.float32)
            self.W = tf.Variable(start, name="W")
            self.embedded_chars = tf.nn.embedding_lookup(self.W, self.input_x)
            self.embedded_chars_expanded = tf.expand_dims(self.embedded_chars, -1)

        pooled_outputs = []
        for filter_size in filter_sizes:
            with tf.name_scope("conv-maxpool-%s" % filter_size):
                shape = [filter_size, embedding_size, 1, num_filters]
                W = tf.Variable((0.1 * rng.randn(*shape)).astype(np.float32), name="W")
                b = tf.Variable(tf.constant(0.1, shape=[num_filters]), name="b")
                conv = tf.nn.conv2d(self.embedded_chars_expanded, W, strides=[1, 1, 1, 1], padding="VALID", name="conv")
                h = tf.nn.relu(tf.nn.bias_add(conv, b), name="relu")
                pooled = tf.nn.max_pool(
                    h, ksize=[1, sequence_length - filter_size + 1, 1, 1], strides=[1, 1, 1, 1], padding="VALID", name="pool"
                )
                pooled_outputs.append(pooled)

        num_filters_total = num_filters * len(filter_sizes)
        self.h_pool = tf.concat(pooled_outputs, 3)
        self.h_pool_flat = tf.reshape(self.h_pool, [-1, num_filters_total])

        with tf.name_scope("output"):
            W = tf.Variable((0.1 * rng.randn(num_filters_total, num_classes)).astype(np.float32), name="W")
            b = tf.Variable(tf.constant(0.1, shape=[num_classes]), name="b")
            l2_loss += tf.nn.l2_loss(W)
            l2_loss += tf.nn.l2_loss(b)
            self.scores = tf.nn.xw_plus_b(self.h_pool_flat, W, b, name="scores")
            self.predictions = tf.argmax(self.scores, 1, name="predictions")

        with tf.name_scope("loss"):
            losses = tf.nn.softmax_cross_entropy_with_logits(logits=self.scores, labels=self.input_y)
            self.loss = tf.reduce_mean(losses) + l2_reg_lambda * l2_loss

        with tf.name_scope("accuracy"):
            correct_predictions = tf.equal(self.predictions, tf.argmax(self.input_y, 1))
            self.accuracy = tf.reduce_mean(tf.cast(correct_predictions, "float"), name="accuracy")


def batch_iter(x, y, batch_size, num_epochs):
    for epoch in range(num_epochs):
        order = rng.permutation(len(x))
        for start in range(0, len(x), batch_size):
            rows = order[start : start + batch_size]
            yield x[rows], y[rows]


x_train = rng.randint(0, 40, (96, 12))
y_train = np.eye(2, dtype=np.float32)[(x_train < 4).any(1).astype(int)]

cnn = TextCNN(
    sequence_length=12, num_classes=2, vocab_size=40, embedding_size=8, filter_sizes=[2, 3], num_filters=6, l2_reg_lambda=0.01
)
global_step = tf.Variable(0, name="global_step", trainable=False)
optimizer = tf.train.AdamOptimizer(1e-2)
grads_and_vars = optimizer.compute_gradients(cnn.loss)
train_op = optimizer.apply_gradients(grads_and_vars, global_step=global_step)

sess = tf.Session()
sess.run(tf.global_variables_initializer())
for x_batch, y_batch in batch_iter(x_train, y_train, 24, 5):
    feed_dict = {cnn.input_x: x_batch, cnn.input_y: y_batch}
    _, step, loss, accuracy = sess.run([train_op, global_step, cnn.loss, cnn.accuracy], feed_dict)
    if step % 5 == 0:
        print("step {}, loss {:.3f}, acc {:.3f}".format(step, loss, accuracy))
