# tolerance: 1e-3
# A Wasserstein GAN whose critic is kept 1-Lipschitz by a penalty on its gradient: second derivatives.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(5)
DIM, BATCH, LAMBDA = 32, 64, 0.1
params = {}


def Linear(name, n_in, n_out, x):
    if name not in params:
        params[name] = (
            tf.Variable((rng.uniform(-1, 1, (n_in, n_out)) * np.sqrt(3.0 / n_in)).astype("float32"), name=name + ".W"),
            tf.Variable(np.zeros(n_out, dtype="float32"), name=name + ".b"),
        )
    W, b = params[name]
    return tf.nn.bias_add(tf.matmul(x, W), b)


def Generator(noise):
    output = tf.nn.relu(Linear("Generator.1", 2, DIM, noise))
    return Linear("Generator.2", DIM, 2, output)


def Discriminator(x):
    output = tf.nn.relu(Linear("Discriminator.1", 2, DIM, x))
    output = tf.nn.relu(Linear("Discriminator.2", DIM, DIM, output))
    return tf.reshape(Linear("Discriminator.3", DIM, 1, output), [-1])


real_data = tf.placeholder(tf.float32, shape=[None, 2])
noise = tf.placeholder(tf.float32, shape=[None, 2])
alpha = tf.placeholder(tf.float32, shape=[None, 1])
fake_data = Generator(noise)
disc_real, disc_fake = Discriminator(real_data), Discriminator(fake_data)
disc_cost = tf.reduce_mean(disc_fake) - tf.reduce_mean(disc_real)
gen_cost = -tf.reduce_mean(disc_fake)
interpolates = alpha * real_data + ((1 - alpha) * fake_data)
gradients = tf.gradients(Discriminator(interpolates), [interpolates])[0]
slopes = tf.sqrt(tf.reduce_sum(tf.square(gradients), reduction_indices=[1]))
gradient_penalty = tf.reduce_mean((slopes - 1) ** 2)
disc_cost += LAMBDA * gradient_penalty

disc_params = [p for n in params if n.startswith("Disc") for p in params[n]]
gen_params = [p for n in params if n.startswith("Gen") for p in params[n]]
disc_train_op = tf.train.AdamOptimizer(1e-3, beta1=0.5, beta2=0.9).minimize(disc_cost, var_list=disc_params)
gen_train_op = tf.train.AdamOptimizer(1e-3, beta1=0.5, beta2=0.9).minimize(gen_cost, var_list=gen_params)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for iteration in range(12):
        if iteration > 0:
            session.run(gen_train_op, {noise: rng.randn(BATCH, 2)})
        for _ in range(3):
            angle = rng.randint(0, 8, BATCH) * np.pi / 4
            data = 2 * np.stack([np.cos(angle), np.sin(angle)], 1) + 0.02 * rng.randn(BATCH, 2)
            feed = {real_data: data, noise: rng.randn(BATCH, 2), alpha: rng.rand(BATCH, 1)}
            cost, penalty, _ = session.run([disc_cost, gradient_penalty, disc_train_op], feed)
        if iteration % 3 == 2:
            print("iteration", iteration, "critic", cost, "penalty", penalty)
