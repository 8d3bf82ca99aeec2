# tolerance: 5e-3
# A physics-informed network that finds a coefficient: L-BFGS by ScipyOptimizerInterface, as in the first PINN papers.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(26)
x = np.linspace(0, 1, 30)[:, None]
u = np.sin(np.pi * x)
f = 0.7 * np.pi**2 * np.sin(np.pi * x)


class PINN:
    def __init__(self, x, u, f):
        self.x, self.u, self.f = x, u, f
        sizes = [(1, 10), (10, 10), (10, 1)]
        self.weights = [tf.Variable(rng.randn(*s) / np.sqrt(s[0]), dtype=tf.float64) for s in sizes]
        self.biases = [tf.Variable(np.zeros((1, s[1])), dtype=tf.float64) for s in sizes]
        self.lambda_1 = tf.Variable([0.0], dtype=tf.float64)
        self.x_tf = tf.placeholder(tf.float64, [None, 1])
        self.u_tf = tf.placeholder(tf.float64, [None, 1])
        self.f_tf = tf.placeholder(tf.float64, [None, 1])
        self.u_pred = self.net_u(self.x_tf)
        u_x = tf.gradients(self.u_pred, self.x_tf)[0]
        u_xx = tf.gradients(u_x, self.x_tf)[0]
        residual = self.lambda_1 * u_xx + self.f_tf
        self.loss = tf.reduce_mean(tf.square(self.u_tf - self.u_pred)) + tf.reduce_mean(tf.square(residual))
        self.optimizer = tf.contrib.opt.ScipyOptimizerInterface(
            self.loss,
            method="L-BFGS-B",
            options={"maxiter": 40, "maxfun": 50000, "maxcor": 50, "maxls": 50, "ftol": 1.0 * np.finfo(float).eps},
        )
        self.sess = tf.Session()
        self.sess.run(tf.global_variables_initializer())
        self.losses = []

    def net_u(self, x):
        H = 2.0 * x - 1.0
        for W, b in zip(self.weights[:-1], self.biases[:-1]):
            H = tf.tanh(tf.add(tf.matmul(H, W), b))
        return tf.add(tf.matmul(H, self.weights[-1]), self.biases[-1])

    def callback(self, loss, lambda_1):
        self.losses.append((loss, lambda_1[0]))

    def train(self):
        tf_dict = {self.x_tf: self.x, self.u_tf: self.u, self.f_tf: self.f}
        self.optimizer.minimize(
            self.sess, feed_dict=tf_dict, fetches=[self.loss, self.lambda_1], loss_callback=self.callback
        )
        return self.sess.run([self.loss, self.lambda_1], tf_dict)


model = PINN(x, u, f)
loss, lambda_1 = model.train()
print("first losses", *["%.6f" % l for l, _ in model.losses[:6]])
print("more than 20 evaluations", len(model.losses) > 20, "loss small", loss < 2e-3, "near 0.7", abs(lambda_1[0] - 0.7) < 0.05)
