# tolerance: 1e-3
# A variational autoencoder; the noise is fed, so that a run can be repeated.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(6)


def xavier_init(fan_in, fan_out, constant=1):
    high = constant * np.sqrt(6.0 / (fan_in + fan_out))
    return tf.Variable(rng.uniform(-high, high, (fan_in, fan_out)).astype(np.float32))


class VariationalAutoencoder:
    def __init__(self, n_input, n_hidden, n_z, transfer_fct=tf.nn.softplus, learning_rate=0.001):
        self.x = tf.placeholder(tf.float32, [None, n_input])
        self.eps = tf.placeholder(tf.float32, [None, n_z])
        h = transfer_fct(tf.add(tf.matmul(self.x, xavier_init(n_input, n_hidden)), tf.Variable(tf.zeros([n_hidden]))))
        self.z_mean = tf.matmul(h, xavier_init(n_hidden, n_z)) + tf.Variable(tf.zeros([n_z]))
        self.z_log_sigma_sq = tf.matmul(h, xavier_init(n_hidden, n_z)) + tf.Variable(tf.zeros([n_z]))
        self.z = tf.add(self.z_mean, tf.multiply(tf.sqrt(tf.exp(self.z_log_sigma_sq)), self.eps))
        g = transfer_fct(tf.matmul(self.z, xavier_init(n_z, n_hidden)) + tf.Variable(tf.zeros([n_hidden])))
        self.mean = tf.nn.sigmoid(tf.matmul(g, xavier_init(n_hidden, n_input)) + tf.Variable(tf.zeros([n_input])))
        reconstr = -tf.reduce_sum(self.x * tf.log(1e-10 + self.mean) + (1 - self.x) * tf.log(1e-10 + 1 - self.mean), 1)
        latent = -0.5 * tf.reduce_sum(1 + self.z_log_sigma_sq - tf.square(self.z_mean) - tf.exp(self.z_log_sigma_sq), 1)
        self.cost = tf.reduce_mean(reconstr + latent)
        self.optimizer = tf.train.AdamOptimizer(learning_rate=learning_rate).minimize(self.cost)
        self.sess = tf.InteractiveSession()
        self.sess.run(tf.global_variables_initializer())

    def partial_fit(self, X, noise):
        opt, cost = self.sess.run((self.optimizer, self.cost), feed_dict={self.x: X, self.eps: noise})
        return cost


data = (rng.rand(256, 8) @ rng.rand(8, 36) > 2.0).astype(np.float32)
vae = VariationalAutoencoder(36, 24, 3, learning_rate=0.005)
for epoch in range(8):
    avg_cost = 0.0
    for i in range(4):
        avg_cost += vae.partial_fit(data[64 * i : 64 * i + 64], rng.randn(64, 3)) / 256 * 64
    print("Epoch:", "%04d" % (epoch + 1), "cost=", f"{avg_cost:.9f}")
print(vae.sess.run(vae.z_mean, {vae.x: data[:2]}))
vae.sess.close()
