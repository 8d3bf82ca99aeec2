# tolerance: 1e-3
# A generative adversarial network in two scopes, each trained by its own optimizer.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(4)


def initializer(shape):
    return tf.constant_initializer(rng.randn(*shape) * np.sqrt(2.0 / sum(shape)))


def linear(x, n_in, n_out, scope):
    with tf.variable_scope(scope):
        w = tf.get_variable("w", [n_in, n_out], initializer=initializer([n_in, n_out]))
        b = tf.get_variable("b", [n_out], initializer=tf.constant_initializer(0.0))
        return tf.matmul(x, w) + b


def generator(z):
    with tf.variable_scope("generator"):
        return linear(tf.nn.softplus(linear(z, 2, 16, "g0")), 16, 1, "g1")


def discriminator(x, reuse=False):
    with tf.variable_scope("discriminator", reuse=reuse):
        h = tf.tanh(linear(x, 1, 16, "d0"))
        return tf.sigmoid(linear(h, 16, 1, "d1"))


z = tf.placeholder(tf.float32, shape=(None, 2))
x = tf.placeholder(tf.float32, shape=(None, 1))
G = generator(z)
D1 = discriminator(x)
D2 = discriminator(G, reuse=True)
loss_d = tf.reduce_mean(-tf.log(D1) - tf.log(1 - D2))
loss_g = tf.reduce_mean(-tf.log(D2))
d_params = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="discriminator")
g_params = [v for v in tf.trainable_variables() if v.name.startswith("generator/")]
print([v.name for v in d_params], [v.name for v in g_params])

learning_rate = tf.train.exponential_decay(0.05, batch := tf.Variable(0), 30, 0.95, staircase=True)
opt_d = tf.train.GradientDescentOptimizer(learning_rate).minimize(loss_d, global_step=batch, var_list=d_params)
opt_g = tf.train.AdamOptimizer(0.01, beta1=0.5).minimize(loss_g, var_list=g_params)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(60):
        real, noise = np.sort(4 + 0.5 * rng.randn(32, 1), 0), rng.uniform(-1, 1, (32, 2))
        ld, _ = sess.run([loss_d, opt_d], {x: real, z: noise})
        lg, _ = sess.run([loss_g, opt_g], {z: noise})
        if step % 15 == 0:
            print("step %d: D %.4f G %.4f" % (step, ld, lg))
    print(
        "mean of samples %.4f" % sess.run(G, {z: rng.uniform(-1, 1, (100, 2))}).mean(), sess.run([batch, learning_rate])
    )
