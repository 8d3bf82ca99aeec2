# tolerance: 1e-3
# Domain adversarial training: a layer whose gradient is reversed, by RegisterGradient and gradient_override_map.
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops

rng = np.random.RandomState(27)


class FlipGradientBuilder(object):
    def __init__(self):
        self.num_calls = 0

    def __call__(self, x, l=1.0):
        grad_name = "FlipGradient%d" % self.num_calls

        @ops.RegisterGradient(grad_name)
        def _flip_gradients(op, grad):
            return [tf.negative(grad) * l]

        g = tf.get_default_graph()
        with g.gradient_override_map({"Identity": grad_name}):
            y = tf.identity(x)
        self.num_calls += 1
        return y


flip_gradient = FlipGradientBuilder()
X = tf.placeholder(tf.float32, [None, 2])
Y = tf.placeholder(tf.int32, [None])
D = tf.placeholder(tf.int32, [None])
l = tf.placeholder(tf.float32, [])


def w(*shape):
    return tf.Variable(0.5 * rng.randn(*shape).astype(np.float32))


F = tf.nn.relu(tf.matmul(X, w(2, 12)) + w(12))
pred_logit = tf.matmul(F, w(12, 2))
domain_logit = tf.matmul(tf.nn.relu(tf.matmul(flip_gradient(F, l), w(12, 8))), w(8, 2))
pred_loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=pred_logit, labels=Y))
domain_loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=domain_logit, labels=D))
total_loss = tf.add(pred_loss, domain_loss)
train = tf.train.MomentumOptimizer(0.05, 0.9).minimize(total_loss)
sources = rng.randn(64, 2) + np.array([0.0, 1.0])
targets = rng.randn(64, 2) + np.array([2.0, -1.0])
data = np.vstack([sources, targets])
domain = np.repeat([0, 1], 64)
label = (data[:, 1] > np.where(domain, -1.0, 1.0)).astype(np.int32)

sess = tf.Session()
sess.run(tf.global_variables_initializer())
for i in range(40):
    p = i / 40.0
    strength = 2.0 / (1.0 + np.exp(-10.0 * p)) - 1
    _, pl, dl = sess.run([train, pred_loss, domain_loss], {X: data, Y: label, D: domain, l: strength})
    if i % 10 == 0:
        print("iteration", i, "label", pl, "domain", dl)
(g,) = sess.run(tf.gradients(domain_loss, F), {X: data[:2], D: domain[:2], l: 1.0})
print(g)
