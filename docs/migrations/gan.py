# source: wiseodd/generative-models GAN/vanilla_gan/gan_tensorflow.py 09ae1fe77fa97af00a382912a886d749ae82d5c7
# A generative adversarial network: lists of variables, and an optimizer for each of the two.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(3)


def xavier_init(size):
    stddev = 1.0 / np.sqrt(size[0] / 2.0)
    return (stddev * rng.randn(*size)).astype(np.float32)


X = tf.placeholder(tf.float32, shape=[None, 20], name="X")
Z = tf.placeholder(tf.float32, shape=[None, 5], name="Z")

D_W1 = tf.Variable(xavier_init([20, 16]))
D_b1 = tf.Variable(tf.zeros(shape=[16]))
D_W2 = tf.Variable(xavier_init([16, 1]))
D_b2 = tf.Variable(tf.zeros(shape=[1]))
theta_D = [D_W1, D_W2, D_b1, D_b2]

G_W1 = tf.Variable(xavier_init([5, 16]))
G_b1 = tf.Variable(tf.zeros(shape=[16]))
G_W2 = tf.Variable(xavier_init([16, 20]))
G_b2 = tf.Variable(tf.zeros(shape=[20]))
theta_G = [G_W1, G_W2, G_b1, G_b2]


def sample_Z(m, n):
    return rng.uniform(-1.0, 1.0, size=[m, n])


def generator(z):
    G_h1 = tf.nn.relu(tf.matmul(z, G_W1) + G_b1)
    G_log_prob = tf.matmul(G_h1, G_W2) + G_b2
    return tf.nn.sigmoid(G_log_prob)


def discriminator(x):
    D_h1 = tf.nn.relu(tf.matmul(x, D_W1) + D_b1)
    D_logit = tf.matmul(D_h1, D_W2) + D_b2
    return D_logit


G_sample = generator(Z)
D_logit_real = discriminator(X)
D_logit_fake = discriminator(G_sample)

D_loss_real = tf.reduce_mean(
    tf.nn.sigmoid_cross_entropy_with_logits(logits=D_logit_real, labels=tf.ones_like(D_logit_real))
)
D_loss_fake = tf.reduce_mean(
    tf.nn.sigmoid_cross_entropy_with_logits(logits=D_logit_fake, labels=tf.zeros_like(D_logit_fake))
)
D_loss = D_loss_real + D_loss_fake
G_loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=D_logit_fake, labels=tf.ones_like(D_logit_fake)))

D_solver = tf.train.AdamOptimizer().minimize(D_loss, var_list=theta_D)
G_solver = tf.train.AdamOptimizer().minimize(G_loss, var_list=theta_G)

mb_size, Z_dim = 32, 5
data = (rng.rand(400, 20) > np.linspace(0.1, 0.9, 20)).astype(np.float32)

sess = tf.Session()
sess.run(tf.global_variables_initializer())
for it in range(100):
    if it % 50 == 0:
        samples = sess.run(G_sample, feed_dict={Z: sample_Z(16, Z_dim)})
        print("mean of samples: {:.3f}".format(samples.mean()))
    X_mb = data[rng.randint(0, 400, mb_size)]
    _, D_loss_curr = sess.run([D_solver, D_loss], feed_dict={X: X_mb, Z: sample_Z(mb_size, Z_dim)})
    _, G_loss_curr = sess.run([G_solver, G_loss], feed_dict={Z: sample_Z(mb_size, Z_dim)})
    if it % 50 == 49:
        print("Iter: {}".format(it))
        print("D loss: {:.4}".format(D_loss_curr))
        print("G loss: {:.4}".format(G_loss_curr))
