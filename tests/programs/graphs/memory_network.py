"""End-to-end memory network with position encoding, noisy gradients by hand, several hops."""
# tolerance: 1e-4
import numpy as np
import tensorflow as tf
def position_encoding(sentence_size, embedding_size):
    encoding = np.ones((embedding_size, sentence_size), dtype=np.float32)
    for i in range(1, embedding_size + 1):
        for j in range(1, sentence_size + 1):
            encoding[i - 1, j - 1] = (i - (embedding_size + 1) / 2) * (j - (sentence_size + 1) / 2)
    encoding = 1 + 4 * encoding / embedding_size / sentence_size
    return np.transpose(encoding)
def zero_nil_slot(t, name=None):
    with tf.name_scope(name, "zero_nil_slot", [t]) as name:
        t = tf.convert_to_tensor(t, name="t")
        s = tf.shape(t)[1]
        z = tf.zeros(tf.stack([1, s]))
        return tf.concat([z, tf.slice(t, [1, 0], [-1, -1])], 0, name=name)
class MemN2N(object):
    def __init__(self, V, S, M, E, hops=3, max_grad_norm=40.0, name='MemN2N', session=None):
        rng = np.random.RandomState(0)
        self._stories = tf.placeholder(tf.int32, [None, M, S], name="stories")
        self._queries = tf.placeholder(tf.int32, [None, S], name="queries")
        self._answers = tf.placeholder(tf.int32, [None, V], name="answers")
        self._lr = tf.placeholder(tf.float32, [], name="learning_rate")
        self._encoding = tf.constant(position_encoding(S, E), name="encoding")
        nil = []
        with tf.variable_scope(name):
            emb = lambda: np.concatenate([np.zeros((1, E)), rng.normal(0, .1, (V - 1, E))]).astype(np.float32)
            self.A_1 = tf.Variable(emb(), name="A"); nil.append(self.A_1.name)
            self.C = []
            for h in range(hops):
                with tf.variable_scope('hop_{}'.format(h)):
                    self.C.append(tf.Variable(emb(), name="C")); nil.append(self.C[-1].name)
        print(nil)
        with tf.variable_scope(name):
            u = [tf.reduce_sum(tf.nn.embedding_lookup(self.A_1, self._queries) * self._encoding, 1)]
            for h in range(hops):
                m_emb = tf.nn.embedding_lookup(self.A_1 if h == 0 else self.C[h - 1], self._stories)
                m = tf.reduce_sum(m_emb * self._encoding, 2)
                u_temp = tf.transpose(tf.expand_dims(u[-1], -1), [0, 2, 1])
                probs = tf.nn.softmax(tf.reduce_sum(m * u_temp, 2))
                probs_temp = tf.transpose(tf.expand_dims(probs, -1), [0, 2, 1])
                c = tf.transpose(tf.reduce_sum(tf.nn.embedding_lookup(self.C[h], self._stories) * self._encoding, 2), [0, 2, 1])
                u.append(u[-1] + tf.reduce_sum(c * probs_temp, 2))
            logits = tf.matmul(u[-1], tf.transpose(self.C[-1], [1, 0]))
        ce = tf.nn.softmax_cross_entropy_with_logits_v2(logits=logits, labels=tf.cast(self._answers, tf.float32), name="cross_entropy")
        loss = tf.reduce_sum(ce, name="cross_entropy_sum")
        opt = tf.train.GradientDescentOptimizer(self._lr)
        gvs = [(tf.clip_by_norm(g, max_grad_norm), v) for g, v in opt.compute_gradients(loss)]
        gvs = [(zero_nil_slot(g), v) if v.name in nil else (g, v) for g, v in gvs]
        self.train = opt.apply_gradients(gvs, name="train_op")
        self.loss, self.predict = loss, tf.argmax(logits, 1, name="predict_op")
        self.sess = session; session.run(tf.global_variables_initializer())
sess = tf.Session()
m = MemN2N(15, 4, 5, 6, session=sess)
r = np.random.RandomState(1)
feed = {m._stories: r.randint(0, 15, (8, 5, 4)), m._queries: r.randint(0, 15, (8, 4)), m._answers: np.eye(15)[r.randint(1, 15, 8)], m._lr: .05}
for i in range(10):
    l, _ = sess.run([m.loss, m.train], feed)
    print('%d %.4f' % (i, l))
print(sess.run(m.predict, feed), m.loss.name, m.predict)
print(sess.run(m.A_1)[0])
