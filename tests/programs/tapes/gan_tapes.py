# tolerance: 2e-3
# A GAN in TensorFlow 2: two tapes at once, Sequential models with convolutions, BinaryCrossentropy.
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

rng = np.random.RandomState(44)
generator = tf.keras.Sequential(
    [
        layers.Dense(2 * 2 * 4, use_bias=False, input_shape=(5,)),
        layers.LeakyReLU(),
        layers.Reshape((2, 2, 4)),
        layers.Conv2DTranspose(4, (3, 3), strides=(2, 2), padding="same", use_bias=False),
        layers.ReLU(),
        layers.Conv2DTranspose(1, (3, 3), strides=(2, 2), padding="same", activation="tanh"),
    ]
)
discriminator = tf.keras.Sequential(
    [
        layers.Conv2D(4, (3, 3), strides=(2, 2), padding="same", input_shape=(8, 8, 1)),
        layers.LeakyReLU(),
        layers.Flatten(),
        layers.Dense(1),
    ]
)
for net in (generator, discriminator):
    net.set_weights([0.3 * rng.randn(*w.shape) for w in net.get_weights()])
cross_entropy = tf.keras.losses.BinaryCrossentropy(from_logits=True)
generator_optimizer = tf.keras.optimizers.Adam(1e-3)
discriminator_optimizer = tf.keras.optimizers.Adam(1e-3)
images = tf.constant(np.sign(rng.randn(16, 8, 8, 1)).astype(np.float32))


@tf.function
def train_step(images, noise):
    with tf.GradientTape() as gen_tape, tf.GradientTape() as disc_tape:
        generated = generator(noise, training=True)
        real_output = discriminator(images, training=True)
        fake_output = discriminator(generated, training=True)
        gen_loss = cross_entropy(tf.ones_like(fake_output), fake_output)
        disc_loss = cross_entropy(tf.ones_like(real_output), real_output) + cross_entropy(
            tf.zeros_like(fake_output), fake_output
        )
    gradients_g = gen_tape.gradient(gen_loss, generator.trainable_variables)
    gradients_d = disc_tape.gradient(disc_loss, discriminator.trainable_variables)
    generator_optimizer.apply_gradients(zip(gradients_g, generator.trainable_variables))
    discriminator_optimizer.apply_gradients(zip(gradients_d, discriminator.trainable_variables))
    return gen_loss, disc_loss


for step in range(9):
    g, d = train_step(images, tf.constant(rng.randn(16, 5).astype(np.float32)))
    if step % 4 == 0:
        print("step", step, "generator %.5f discriminator %.5f" % (g, d))
print(generator(tf.zeros([1, 5])).shape, len(generator.trainable_variables))
