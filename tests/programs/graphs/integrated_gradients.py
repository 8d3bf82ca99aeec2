# tolerance: 1e-4
# Attributions: saliency, gradient times input, integrated gradients, and occlusion, which sum up as they should.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(16)
graph = tf.Graph()
with graph.as_default():
    X = tf.placeholder(tf.float32, [None, 5], name="X")
    with tf.name_scope("network"):
        W1 = tf.Variable(rng.randn(5, 10).astype(np.float32), name="W1")
        W2 = tf.Variable(rng.randn(10, 3).astype(np.float32), name="W2")
        hidden = tf.nn.softplus(tf.matmul(X, W1), name="hidden")
        T = tf.identity(tf.matmul(hidden, W2), name="T")
    init = tf.global_variables_initializer()
    selector = tf.one_hot([1], 3)
    saliency = tf.gradients(T * selector, X)[0]


class GradientBasedMethod:
    def __init__(self, T, X, xs, session, baseline, steps=100):
        self.T, self.X, self.xs, self.session = T, X, xs, session
        self.baseline, self.steps = baseline, steps

    def get_symbolic_attribution(self):
        return [g * x for g, x in zip(tf.gradients(self.T, [self.X]), [self.X])]

    def run(self, attribution):
        return self.session.run(attribution, feed_dict={self.X: self.xs})


class IntegratedGradients(GradientBasedMethod):
    def get_symbolic_attribution(self):
        return tf.gradients(self.T, self.X)

    def run(self, attribution):
        gradient = None
        for alpha in list(np.linspace(1.0 / self.steps, 1.0, self.steps)):
            xs_mod = self.xs * alpha + self.baseline * (1 - alpha)
            _attr = self.session.run(attribution, {self.X: xs_mod})
            gradient = _attr if gradient is None else [g + a for g, a in zip(gradient, _attr)]
        return [(x - self.baseline) * g / self.steps for g, x in zip(gradient, [self.xs])]


xs = rng.randn(2, 5).astype(np.float32)
with tf.Session(graph=graph) as sess:
    sess.run(init)
    out = sess.run("network/T:0", {"X:0": xs})
    print("saliency\n", np.abs(sess.run(saliency, {X: xs})))
    for method in (GradientBasedMethod, IntegratedGradients):
        m = method(T[:, 1], X, xs, sess, np.zeros(5, np.float32))
        print(method.__name__, m.run(m.get_symbolic_attribution())[0].round(4))
    ig = m.run(m.get_symbolic_attribution())[0].sum(1)
    base = sess.run(T, {X: np.zeros((1, 5))})[0, 1]
    print("completeness", np.abs(ig - (out[:, 1] - base)).max() < 0.1)
    for j in range(5):
        masked = xs.copy()
        masked[:, j] = 0
        print("occlusion", j, (out - sess.run(graph.get_tensor_by_name("network/T:0"), {X: masked}))[:, 1])
print([op.type for op in graph.get_operations() if op.type == "Placeholder"], T.op.name, hidden.name, X.get_shape())
