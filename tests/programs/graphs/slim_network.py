# tolerance: 2e-3
# contrib.slim: arg_scope, conv2d, fully_connected, a loss with regularisation.
import numpy as np
import tensorflow as tf
import tensorflow.contrib.slim as slim

rng = np.random.RandomState(37)
images = rng.rand(16, 8, 8, 1).astype(np.float32)
labels = (images[:, :4].mean((1, 2, 3)) > images[:, 4:].mean((1, 2, 3))).astype(np.int64)
x = tf.placeholder(tf.float32, [None, 8, 8, 1])
y = tf.placeholder(tf.int64, [None])
with slim.arg_scope([slim.conv2d, slim.fully_connected], activation_fn=tf.nn.relu,
                    weights_regularizer=slim.l2_regularizer(0.01)):
    net = slim.conv2d(x, 4, [3, 3], scope="conv1",
                      weights_initializer=tf.constant_initializer(0.3 * rng.randn(3, 3, 1, 4)))
    net = slim.max_pool2d(net, [2, 2], scope="pool1")
    net = slim.flatten(net)
    logits = slim.fully_connected(net, 2, activation_fn=None, scope="fc",
                                  weights_initializer=tf.constant_initializer(0.2 * rng.randn(64, 2)))
loss = tf.losses.sparse_softmax_cross_entropy(labels=y, logits=logits)
total = tf.losses.get_total_loss()
train_op = tf.train.GradientDescentOptimizer(0.1).minimize(total)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(20):
        _, a, b = sess.run([train_op, loss, total], {x: images, y: labels})
        if step % 6 == 0:
            print("step", step, "loss", a, "total", b)
print([v.op.name for v in slim.get_model_variables()])
