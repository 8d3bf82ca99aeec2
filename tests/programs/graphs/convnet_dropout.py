# tolerance: 2e-3
# A convolutional network with two layers, dropout and Adam, as in the tutorials for experts.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(2)
labels = rng.randint(0, 4, 64)
images = 0.2 * rng.randn(64, 12, 12).astype(np.float32)
for i, label in enumerate(labels):
    images[i, 3 * label : 3 * label + 3] += 1.0
images = images.reshape(64, 144)
one_hot = np.eye(4)[labels]


def weight_variable(shape):
    return tf.Variable((0.1 * rng.randn(*shape)).astype(np.float32))


def bias_variable(shape):
    return tf.Variable(tf.constant(0.1, shape=shape))


def conv2d(x, W):
    return tf.nn.conv2d(x, W, strides=[1, 1, 1, 1], padding="SAME")


def max_pool_2x2(x):
    return tf.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")


x = tf.placeholder(tf.float32, [None, 144])
y_ = tf.placeholder(tf.float32, [None, 4])
keep_prob = tf.placeholder(tf.float32)
x_image = tf.reshape(x, [-1, 12, 12, 1])
h_pool1 = max_pool_2x2(tf.nn.relu(conv2d(x_image, weight_variable([5, 5, 1, 8])) + bias_variable([8])))
h_pool2 = max_pool_2x2(tf.nn.relu(conv2d(h_pool1, weight_variable([5, 5, 8, 16])) + bias_variable([16])))
h_flat = tf.reshape(h_pool2, [-1, 3 * 3 * 16])
h_fc1 = tf.nn.relu(tf.matmul(h_flat, weight_variable([3 * 3 * 16, 32])) + bias_variable([32]))
h_drop = tf.nn.dropout(h_fc1, keep_prob)
y_conv = tf.matmul(h_drop, weight_variable([32, 4])) + bias_variable([4])
cross_entropy = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y_, logits=y_conv))
train_step = tf.train.AdamOptimizer(1e-3).minimize(cross_entropy)
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(y_conv, 1), tf.argmax(y_, 1)), tf.float32))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    feed = {x: images, y_: one_hot, keep_prob: 1.0}
    for i in range(20):
        _, loss = sess.run([train_step, cross_entropy], feed)
        if i % 5 == 0:
            print("step", i, "loss", loss)
    print("accuracy", sess.run(accuracy, feed_dict=feed))
    print("parameters", sum(int(np.prod(v.get_shape().as_list())) for v in tf.trainable_variables()))
