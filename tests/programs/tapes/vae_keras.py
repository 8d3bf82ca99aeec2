# tolerance: 1e-3
# A variational autoencoder of Keras layers with the reparametrisation fed, and a functional model.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(46)
data = (rng.rand(128, 4) @ rng.rand(4, 16) > 1.0).astype("float32")
inputs = tf.keras.Input(shape=(16,))
h = tf.keras.layers.Dense(12, activation="relu")(inputs)
mean = tf.keras.layers.Dense(2)(h)
logvar = tf.keras.layers.Dense(2)(h)
encoder = tf.keras.Model(inputs, [mean, logvar])
decoder = tf.keras.Sequential([tf.keras.layers.Dense(12, activation="relu"), tf.keras.layers.Dense(16)])
decoder.build((None, 2))
for net in (encoder, decoder):
    net.set_weights([0.4 * rng.randn(*w.shape) for w in net.get_weights()])
variables = encoder.trainable_variables + decoder.trainable_variables
optimizer = tf.keras.optimizers.RMSprop(0.005)


def log_normal_pdf(sample, mean, logvar):
    log2pi = tf.math.log(2.0 * np.pi)
    return tf.reduce_sum(-0.5 * ((sample - mean) ** 2.0 * tf.exp(-logvar) + logvar + log2pi), axis=1)


def compute_loss(x, eps):
    mean, logvar = encoder(x)
    z = eps * tf.exp(logvar * 0.5) + mean
    cross_ent = tf.nn.sigmoid_cross_entropy_with_logits(logits=decoder(z), labels=x)
    logpx_z = -tf.reduce_sum(cross_ent, axis=[1])
    return -tf.reduce_mean(logpx_z + log_normal_pdf(z, 0.0, 0.0) - log_normal_pdf(z, mean, logvar))


for epoch in range(6):
    for k in range(0, 128, 32):
        eps = rng.randn(32, 2).astype(np.float32)
        with tf.GradientTape() as tape:
            loss = compute_loss(data[k : k + 32], eps)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    print("Epoch: {}, ELBO: {:.4f}".format(epoch, -compute_loss(data, rng.randn(128, 2).astype(np.float32))))
