"""gan.py, as tape code: written by dualgrad convert."""

import numpy as np
import tape_api as tf

rng = np.random.RandomState(3)


def xavier_init(size):
    stddev = 1.0 / np.sqrt(size[0] / 2.0)
    return (stddev * rng.randn(*size)).astype(np.float32)


D_W1 = tf.Variable(xavier_init([20, 16]))  # line 17
D_W2 = tf.Variable(xavier_init([16, 1]))  # line 19
G_W1 = tf.Variable(xavier_init([5, 16]))  # line 23
G_W2 = tf.Variable(xavier_init([16, 20]))  # line 25
G_b1 = tf.Variable(tf.zeros([16]))  # line 24
G_b2 = tf.Variable(tf.zeros([20]))  # line 26
D_b1 = tf.Variable(tf.zeros([16]))  # line 18
D_b2 = tf.Variable(tf.zeros([1]))  # line 20
theta_D = [D_W1, D_W2, D_b1, D_b2]
optimizer = tf.compat.v1.train.AdamOptimizer()
theta_G = [G_W1, G_W2, G_b1, G_b2]
optimizer_2 = tf.compat.v1.train.AdamOptimizer()


def compute_G_sample(Z):
    Z = tf.convert_to_tensor(Z, tf.float32)
    G_h1 = tf.nn.relu(tf.matmul(Z, G_W1) + G_b1)  # line 35
    G_log_prob = tf.matmul(G_h1, G_W2) + G_b2  # line 36
    return tf.sigmoid(G_log_prob)


def compute_D_logit_fake(Z):
    D_h1 = tf.nn.relu(tf.matmul(compute_G_sample(Z), D_W1) + D_b1)  # line 41
    return tf.matmul(D_h1, D_W2) + D_b2


def run_D_solver(X, Z):
    X, Z = [tf.convert_to_tensor(x, tf.float32) for x in (X, Z)]
    with tf.GradientTape() as tape:
        D_h1 = tf.nn.relu(tf.matmul(X, D_W1) + D_b1)  # line 41
        D_logit_real = tf.matmul(D_h1, D_W2) + D_b2  # line 42
        D_logit_fake = compute_D_logit_fake(Z)
        D_loss_real = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(tf.ones_like(D_logit_real),  # line 50
                                                                             D_logit_real))
        D_loss_fake = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(tf.zeros_like(D_logit_fake),  # line 53
                                                                             D_logit_fake))
        D_loss = D_loss_real + D_loss_fake  # line 56
    optimizer.apply_gradients(zip(tape.gradient(D_loss, theta_D), theta_D))  # line 59
    return D_loss


def run_G_solver(Z):
    Z = tf.convert_to_tensor(Z, tf.float32)
    with tf.GradientTape() as tape:
        D_logit_fake = compute_D_logit_fake(Z)
        G_loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(tf.ones_like(D_logit_fake),  # line 57
                                                                        D_logit_fake))
    optimizer_2.apply_gradients(zip(tape.gradient(G_loss, theta_G), theta_G))  # line 60
    return G_loss


def sample_Z(m, n):
    return rng.uniform(-1.0, 1.0, size=[m, n])


if __name__ == "__main__":
    mb_size, Z_dim = 32, 5
    data = (rng.rand(400, 20) > np.linspace(0.1, 0.9, 20)).astype(np.float32)
    for it in range(100):
        if it % 50 == 0:
            samples = compute_G_sample(sample_Z(16, Z_dim)).numpy()
            print("mean of samples: {:.3f}".format(samples.mean()))
        X_mb = data[rng.randint(0, 400, mb_size)]
        D_loss_curr = run_D_solver(X_mb, sample_Z(mb_size, Z_dim)).numpy()
        G_loss_curr = run_G_solver(sample_Z(mb_size, Z_dim)).numpy()
        if it % 50 == 49:
            print("Iter: {}".format(it))
            print("D loss: {:.4}".format(D_loss_curr))
            print("G loss: {:.4}".format(G_loss_curr))
