"""text_cnn.py, as tape code: written by dualgrad convert."""

import numpy as np
import tape_api as tf

rng = np.random.RandomState(10)
x_train = rng.randint(0, 40, (96, 12))
y_train = np.eye(2, dtype=np.float32)[(x_train < 4).any(1).astype(int)]
embedding_W = tf.Variable(rng.uniform(-1.0, 1.0, (40, 8)).astype(np.float32), name="embedding/W")  # line 19
conv_maxpool_2_W = tf.Variable((0.1 * rng.randn(*[2, 8, 1, 6])).astype(np.float32), name="conv-maxpool-2/W")  # line 27
conv_maxpool_3_W = tf.Variable((0.1 * rng.randn(*[3, 8, 1, 6])).astype(np.float32), name="conv-maxpool-3/W")  # line 27
output_W = tf.Variable((0.1 * rng.randn(12, 2)).astype(np.float32), name="output/W")  # line 41
conv_maxpool_2_b = tf.Variable(tf.constant(0.1, shape=[6]), name="conv-maxpool-2/b")  # line 28
conv_maxpool_3_b = tf.Variable(tf.constant(0.1, shape=[6]), name="conv-maxpool-3/b")  # line 28
output_b = tf.Variable(tf.constant(0.1, shape=[2]), name="output/b")  # line 42
variables = [embedding_W, conv_maxpool_2_W, conv_maxpool_2_b, conv_maxpool_3_W, conv_maxpool_3_b, output_W, output_b]
optimizer = tf.compat.v1.train.AdamOptimizer(learning_rate=0.01)
global_step = tf.Variable(0, trainable=False)  # line 71


def train_op(input_x, input_y):
    input_x = tf.convert_to_tensor(input_x, tf.int32)
    input_y = tf.convert_to_tensor(input_y, tf.float32)
    with tf.GradientTape() as tape:
        embedded_chars = tf.gather(embedding_W, input_x)  # line 20
        embedded_chars_expanded = tf.expand_dims(embedded_chars, axis=-1)  # line 21
        conv = tf.nn.conv2d(embedded_chars_expanded, conv_maxpool_2_W, strides=1, padding="VALID")  # line 29
        h = tf.nn.relu(tf.nn.bias_add(conv, conv_maxpool_2_b))  # line 30
        pooled = tf.nn.max_pool2d(h, ksize=[11, 1], strides=1, padding="VALID")  # line 31
        conv = tf.nn.conv2d(embedded_chars_expanded, conv_maxpool_3_W, strides=1, padding="VALID")  # line 29
        h = tf.nn.relu(tf.nn.bias_add(conv, conv_maxpool_3_b))  # line 30
        pooled_2 = tf.nn.max_pool2d(h, ksize=[10, 1], strides=1, padding="VALID")  # line 31
        h_pool = tf.concat([pooled, pooled_2], -1)  # line 37
        h_pool_flat = tf.reshape(h_pool, [-1, 12])  # line 38
        l2_loss = 0.0 + tf.nn.l2_loss(output_W)  # line 43
        l2_loss = l2_loss + tf.nn.l2_loss(output_b)  # line 44
        scores = tf.compat.v1.nn.xw_plus_b(h_pool_flat, output_W, output_b)  # line 45
        predictions = tf.argmax(scores, axis=-1)  # line 46
        losses = tf.nn.softmax_cross_entropy_with_logits(tf.stop_gradient(input_y), scores)  # line 49
        loss = tf.reduce_mean(losses) + 0.01 * l2_loss  # line 50
    correct_predictions = tf.equal(predictions, tf.argmax(input_y, axis=-1))  # line 53
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables), global_step=global_step)  # line 73
    return global_step.read_value(), loss, tf.reduce_mean(tf.cast(correct_predictions, tf.float32))


def batch_iter(x, y, batch_size, num_epochs):
    for epoch in range(num_epochs):
        order = rng.permutation(len(x))
        for start in range(0, len(x), batch_size):
            rows = order[start : start + batch_size]
            yield x[rows], y[rows]


if __name__ == "__main__":
    for x_batch, y_batch in batch_iter(x_train, y_train, 24, 5):
        feed_dict = {"input_x": x_batch, "input_y": y_batch}
        step, loss, accuracy = [x.numpy() for x in train_op(**feed_dict)]
        if step % 5 == 0:
            print("step {}, loss {:.3f}, acc {:.3f}".format(step, loss, accuracy))
