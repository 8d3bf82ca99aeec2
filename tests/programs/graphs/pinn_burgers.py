# tolerance: 2e-3
# A physics-informed network for Burgers' equation: derivatives by tf.gradients, Adam.
import numpy as np
import tensorflow as tf

np.random.seed(1234)


class PhysicsInformedNN:
    def __init__(self, X_u, u, X_f, layers, lb, ub, nu):
        self.lb, self.ub, self.nu = lb, ub, nu
        self.x_u, self.t_u, self.u = X_u[:, 0:1], X_u[:, 1:2], u
        self.x_f, self.t_f = X_f[:, 0:1], X_f[:, 1:2]
        self.weights, self.biases = self.initialize_NN(layers)
        self.sess = tf.Session(config=tf.ConfigProto(allow_soft_placement=True, log_device_placement=False))
        self.x_u_tf = tf.placeholder(tf.float32, shape=[None, self.x_u.shape[1]])
        self.t_u_tf = tf.placeholder(tf.float32, shape=[None, self.t_u.shape[1]])
        self.u_tf = tf.placeholder(tf.float32, shape=[None, self.u.shape[1]])
        self.x_f_tf = tf.placeholder(tf.float32, shape=[None, self.x_f.shape[1]])
        self.t_f_tf = tf.placeholder(tf.float32, shape=[None, self.t_f.shape[1]])
        self.u_pred = self.net_u(self.x_u_tf, self.t_u_tf)
        self.f_pred = self.net_f(self.x_f_tf, self.t_f_tf)
        self.loss = tf.reduce_mean(tf.square(self.u_tf - self.u_pred)) + tf.reduce_mean(tf.square(self.f_pred))
        self.optimizer_Adam = tf.train.AdamOptimizer()
        self.train_op_Adam = self.optimizer_Adam.minimize(self.loss)
        self.sess.run(tf.global_variables_initializer())

    def initialize_NN(self, layers):
        weights, biases = [], []
        for n_in, n_out in zip(layers[:-1], layers[1:]):
            stddev = np.sqrt(2 / (n_in + n_out))
            weights.append(tf.Variable((stddev * np.random.randn(n_in, n_out)).astype(np.float32), dtype=tf.float32))
            biases.append(tf.Variable(tf.zeros([1, n_out], dtype=tf.float32), dtype=tf.float32))
        return weights, biases

    def neural_net(self, X, weights, biases):
        H = 2.0 * (X - self.lb) / (self.ub - self.lb) - 1.0
        for W, b in zip(weights[:-1], biases[:-1]):
            H = tf.tanh(tf.add(tf.matmul(H, W), b))
        return tf.add(tf.matmul(H, weights[-1]), biases[-1])

    def net_u(self, x, t):
        return self.neural_net(tf.concat([x, t], 1), self.weights, self.biases)

    def net_f(self, x, t):
        u = self.net_u(x, t)
        u_t = tf.gradients(u, t)[0]
        u_x = tf.gradients(u, x)[0]
        u_xx = tf.gradients(u_x, x)[0]
        return u_t + u * u_x - self.nu * u_xx

    def train(self, nIter):
        tf_dict = {
            self.x_u_tf: self.x_u,
            self.t_u_tf: self.t_u,
            self.u_tf: self.u,
            self.x_f_tf: self.x_f,
            self.t_f_tf: self.t_f,
        }
        for it in range(nIter):
            self.sess.run(self.train_op_Adam, tf_dict)
            if it % 20 == 0:
                print("It: %d, Loss: %.4e" % (it, self.sess.run(self.loss, tf_dict)))

    def predict(self, X_star):
        return self.sess.run(self.u_pred, {self.x_u_tf: X_star[:, 0:1], self.t_u_tf: X_star[:, 1:2]})


lb, ub = np.array([-1.0, 0.0], np.float32), np.array([1.0, 1.0], np.float32)
x0 = np.linspace(-1, 1, 25)[:, None]
X_u = np.vstack(
    [np.hstack([x0, 0 * x0]), np.hstack([-1 + 0 * x0, (x0 + 1) / 2]), np.hstack([1 + 0 * x0, (x0 + 1) / 2])]
)
u = np.vstack([-np.sin(np.pi * x0), 0 * x0, 0 * x0])
X_f = lb + (ub - lb) * np.random.rand(200, 2)
model = PhysicsInformedNN(X_u, u, X_f, [2, 20, 20, 20, 1], lb, ub, 0.01 / np.pi)
model.train(100)
print(model.predict(np.array([[0.0, 0.0], [0.5, 0.25], [-0.5, 0.75]])).ravel())
