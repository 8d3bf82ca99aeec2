"""vae.py, as tape code: written by dualgrad convert."""

import numpy as np
import tape_api as tf

rng = np.random.RandomState(7)
n_hidden, dim_img, dim_z = 24, 36, 3
encoder_h0_w = tf.Variable((rng.randn(36, n_hidden) / np.sqrt(36)).astype(np.float32), name="encoder/h0/w")  # line 15
encoder_h1_w = tf.Variable((rng.randn(24, n_hidden) / np.sqrt(24)).astype(np.float32), name="encoder/h1/w")  # line 15
encoder_mean_w = tf.Variable((rng.randn(24, dim_z) / np.sqrt(24)).astype(np.float32), name="encoder/mean/w")  # line 15
encoder_stddev_w = tf.Variable((rng.randn(24, dim_z) / np.sqrt(24)).astype(np.float32),  # line 15
                               name="encoder/stddev/w")
decoder_h0_w = tf.Variable((rng.randn(3, n_hidden) / np.sqrt(3)).astype(np.float32), name="decoder/h0/w")  # line 15
decoder_y_w = tf.Variable((rng.randn(24, dim_img) / np.sqrt(24)).astype(np.float32), name="decoder/y/w")  # line 15
encoder_h0_b = tf.Variable(tf.zeros([n_hidden]), name="encoder/h0/b")  # line 16
encoder_h1_b = tf.Variable(tf.zeros([n_hidden]), name="encoder/h1/b")  # line 16
encoder_mean_b = tf.Variable(tf.zeros([dim_z]), name="encoder/mean/b")  # line 16
encoder_stddev_b = tf.Variable(tf.zeros([dim_z]), name="encoder/stddev/b")  # line 16
decoder_h0_b = tf.Variable(tf.zeros([n_hidden]), name="decoder/h0/b")  # line 16
decoder_y_b = tf.Variable(tf.zeros([dim_img]), name="decoder/y/b")  # line 16
variables = [encoder_h0_w, encoder_h0_b, encoder_h1_w, encoder_h1_b, encoder_mean_w, encoder_mean_b, encoder_stddev_w,
             encoder_stddev_b, decoder_h0_w, decoder_h0_b, decoder_y_w, decoder_y_b]
optimizer = tf.compat.v1.train.AdamOptimizer(learning_rate=0.01)


def dense(z, w, b):
    return tf.matmul(z, w) + b  # line 17


def train_op(x, noise):
    x, noise = [tf.convert_to_tensor(x, tf.float32) for x in (x, noise)]
    with tf.GradientTape() as tape:
        h = dense(x, encoder_h0_w, encoder_h0_b)
        h = tf.matmul(tf.nn.elu(h), encoder_h1_w) + encoder_h1_b  # line 17
        h = tf.tanh(h)  # line 18
        mu = dense(h, encoder_mean_w, encoder_mean_b)
        h = dense(h, encoder_stddev_w, encoder_stddev_b)
        sigma = 1e-06 + tf.nn.softplus(h)  # line 26
        z = mu + sigma * noise  # line 39
        h = dense(z, decoder_h0_w, decoder_h0_b)
        h = tf.matmul(tf.tanh(h), decoder_y_w) + decoder_y_b  # line 17
        y = tf.clip_by_value(tf.sigmoid(h), 1e-08, 1.0)  # line 40
        marginal_likelihood = tf.reduce_mean(tf.reduce_sum(x * tf.math.log(y) + (1.0 - x)  # line 41
                                                           * tf.math.log(1.0 - y), axis=-1))
        KL_divergence = (0.5 * tf.reduce_sum(tf.square(mu) + tf.square(sigma)  # line 42
                                             - tf.math.log(1e-08 + tf.square(sigma)) - 1.0, axis=-1))
        KL_divergence = tf.reduce_mean(KL_divergence)
        loss = KL_divergence - marginal_likelihood  # line 43
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))  # line 44
    return loss, marginal_likelihood, KL_divergence


if __name__ == "__main__":
    images = (rng.rand(200, 6).dot(rng.rand(6, dim_img)) > 1.5).astype(np.float32)
    for epoch in range(6):
        rng.shuffle(images)
        for i in range(4):
            batch = images[50 * i : 50 * i + 50]
            tot_loss, loss_likelihood, loss_divergence = [x.numpy() for x in train_op(batch, rng.randn(50, dim_z))]
        print("epoch %d: L_tot %03.2f L_likelihood %03.2f L_divergence %03.2f" % (epoch, tot_loss, loss_likelihood, loss_divergence))
