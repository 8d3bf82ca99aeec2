# source: hwalsuklee/tensorflow-mnist-VAE vae.py 0bf528c49fa640aeefc9b74492749497ea20d5cf
# A variational autoencoder of small binary pictures; the noise of the latent variables is fed.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(7)
n_hidden, dim_img, dim_z = 24, 36, 3


def dense(x, n_output, scope, activation=None):
    """A layer with its own variables."""
    with tf.variable_scope(scope):
        n_input = int(x.get_shape()[1])
        start = (rng.randn(n_input, n_output) / np.sqrt(n_input)).astype(np.float32)
        w = tf.get_variable("w", initializer=start)
        b = tf.get_variable("b", [n_output], initializer=tf.constant_initializer(0.0))
        h = tf.matmul(x, w) + b
        return h if activation is None else activation(h)


def gaussian_encoder(x):
    with tf.variable_scope("encoder"):
        h = dense(x, n_hidden, "h0", tf.nn.elu)
        h = dense(h, n_hidden, "h1", tf.nn.tanh)
        mean = dense(h, dim_z, "mean")
        stddev = 1e-6 + tf.nn.softplus(dense(h, dim_z, "stddev"))
        return mean, stddev


def bernoulli_decoder(z):
    with tf.variable_scope("decoder"):
        h = dense(z, n_hidden, "h0", tf.nn.tanh)
        return dense(h, dim_img, "y", tf.sigmoid)


x = tf.placeholder(tf.float32, shape=[None, dim_img], name="target_img")
noise = tf.placeholder(tf.float32, shape=[None, dim_z], name="noise")
mu, sigma = gaussian_encoder(x)
z = mu + sigma * noise
y = tf.clip_by_value(bernoulli_decoder(z), 1e-8, 1 - 1e-8)
marginal_likelihood = tf.reduce_mean(tf.reduce_sum(x * tf.log(y) + (1 - x) * tf.log(1 - y), 1))
KL_divergence = tf.reduce_mean(0.5 * tf.reduce_sum(tf.square(mu) + tf.square(sigma) - tf.log(1e-8 + tf.square(sigma)) - 1, 1))
loss = KL_divergence - marginal_likelihood
train_op = tf.train.AdamOptimizer(1e-2).minimize(loss)

images = (rng.rand(200, 6).dot(rng.rand(6, dim_img)) > 1.5).astype(np.float32)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(6):
        rng.shuffle(images)
        for i in range(4):
            batch = images[50 * i : 50 * i + 50]
            _, tot_loss, loss_likelihood, loss_divergence = sess.run(
                (train_op, loss, marginal_likelihood, KL_divergence), feed_dict={x: batch, noise: rng.randn(50, dim_z)}
            )
        print("epoch %d: L_tot %03.2f L_likelihood %03.2f L_divergence %03.2f" % (epoch, tot_loss, loss_likelihood, loss_divergence))
