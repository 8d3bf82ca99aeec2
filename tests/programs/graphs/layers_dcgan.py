# needs: tf_keras
# tolerance: 2e-3
# A small DCGAN of tf.layers: transposed convolutions, leaky ReLUs, two scopes, reuse.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(24)
real = np.zeros((32, 8, 8, 1), np.float32)
for i in range(32):
    real[i, :, rng.randint(8)] = 1.0


def const(*shape):
    return tf.constant_initializer(0.15 * rng.randn(*shape))


def generator(z, reuse=False):
    with tf.variable_scope("generator", reuse=reuse):
        h = tf.layers.dense(z, 2 * 2 * 8, kernel_initializer=const(4, 32), activation=tf.nn.relu)
        h = tf.reshape(h, [-1, 2, 2, 8])
        h = tf.layers.conv2d_transpose(h, 6, 3, strides=2, padding="same", kernel_initializer=const(3, 3, 6, 8),
                                       activation=tf.nn.relu)
        return tf.layers.conv2d_transpose(h, 1, 3, strides=2, padding="same", kernel_initializer=const(3, 3, 1, 6),
                                          activation=tf.nn.tanh)


def discriminator(x, reuse=False):
    with tf.variable_scope("discriminator", reuse=reuse):
        h = tf.layers.conv2d(x, 6, 3, strides=2, padding="same", kernel_initializer=const(3, 3, 1, 6), name="c1")
        h = tf.nn.leaky_relu(h, alpha=0.2)
        h = tf.layers.max_pooling2d(h, 2, 2)
        h = tf.layers.flatten(h)
        return tf.layers.dense(h, 1, kernel_initializer=const(24, 1), name="logit")


z = tf.placeholder(tf.float32, [None, 4])
x = tf.placeholder(tf.float32, [None, 8, 8, 1])
fake = generator(z)
d_real, d_fake = discriminator(x), discriminator(fake, reuse=True)
ones, zeros = tf.ones_like(d_real), tf.zeros_like(d_fake)
d_loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=d_real, labels=ones)) + tf.reduce_mean(
    tf.nn.sigmoid_cross_entropy_with_logits(logits=d_fake, labels=zeros)
)
g_loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=d_fake, labels=tf.ones_like(d_fake)))
t_vars = tf.trainable_variables()
d_vars = [var for var in t_vars if "discriminator" in var.name]
g_vars = [var for var in t_vars if "generator" in var.name]
d_optim = tf.train.AdamOptimizer(2e-3, beta1=0.5).minimize(d_loss, var_list=d_vars)
g_optim = tf.train.AdamOptimizer(2e-3, beta1=0.5).minimize(g_loss, var_list=g_vars)
print(*[(v.name, v.get_shape().as_list()) for v in t_vars], sep="\n")

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(12):
        noise = rng.uniform(-1, 1, (32, 4))
        _, d = sess.run([d_optim, d_loss], {x: real, z: noise})
        _, g = sess.run([g_optim, g_loss], {z: noise})
        if i % 4 == 3:
            print("step %d d %.5f g %.5f" % (i, d, g))
