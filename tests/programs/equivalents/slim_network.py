# What graphs/slim_network.py does, with plain variables: TensorFlow 2 has no contrib.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(37)
images = rng.rand(16, 8, 8, 1).astype(np.float32)
labels = (images[:, :4].mean((1, 2, 3)) > images[:, 4:].mean((1, 2, 3))).astype(np.int64)
x = tf.placeholder(tf.float32, [None, 8, 8, 1])
y = tf.placeholder(tf.int64, [None])
kernel = tf.Variable((0.3 * rng.randn(3, 3, 1, 4)).astype(np.float32), name="conv1/weights")
bias = tf.Variable(tf.zeros([4]), name="conv1/biases")
net = tf.nn.relu(tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME") + bias)
net = tf.reshape(tf.nn.max_pool(net, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"), [-1, 64])
matrix = tf.Variable((0.2 * rng.randn(64, 2)).astype(np.float32), name="fc/weights")
offset = tf.Variable(tf.zeros([2]), name="fc/biases")
logits = tf.matmul(net, matrix) + offset
loss = tf.losses.sparse_softmax_cross_entropy(labels=y, logits=logits)
total = loss + 0.01 * (tf.nn.l2_loss(kernel) + tf.nn.l2_loss(matrix))
train_op = tf.train.GradientDescentOptimizer(0.1).minimize(total)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(20):
        _, a, b = sess.run([train_op, loss, total], {x: images, y: labels})
        if step % 6 == 0:
            print("step", step, "loss", a, "total", b)
print([v.op.name for v in tf.trainable_variables()])
