"""Siamese network with contrastive and triplet losses, reused scopes."""
# tolerance: 1e-4
import numpy as np
import tensorflow as tf
rng = np.random.RandomState(9)
class Siamese:
    def __init__(self):
        self.x1 = tf.placeholder(tf.float32, [None, 12]); self.x2 = tf.placeholder(tf.float32, [None, 12])
        with tf.variable_scope("siamese") as scope:
            self.o1 = self.network(self.x1)
            scope.reuse_variables()
            self.o2 = self.network(self.x2)
        self.y_ = tf.placeholder(tf.float32, [None])
        self.loss = self.loss_with_spring()
    def network(self, x):
        fc1 = self.fc_layer(x, 16, "fc1"); ac1 = tf.nn.relu(fc1)
        fc2 = self.fc_layer(ac1, 8, "fc2"); ac2 = tf.nn.relu(fc2)
        return self.fc_layer(ac2, 2, "fc3")
    def fc_layer(self, bottom, n_weight, name):
        assert len(bottom.get_shape()) == 2
        n_prev = int(bottom.get_shape()[1])
        W = tf.get_variable(name + 'W', dtype=tf.float32, shape=[n_prev, n_weight], initializer=tf.constant_initializer(rng.normal(0, .3, (n_prev, n_weight))))
        b = tf.get_variable(name + 'b', dtype=tf.float32, initializer=tf.constant(0.01, shape=[n_weight], dtype=tf.float32))
        return tf.nn.bias_add(tf.matmul(bottom, W), b)
    def loss_with_spring(self):
        margin = 5.0
        labels_t = self.y_
        labels_f = tf.subtract(1.0, self.y_, name="1-yi")
        eucd2 = tf.reduce_sum(tf.pow(tf.subtract(self.o1, self.o2), 2), 1)
        eucd = tf.sqrt(eucd2 + 1e-6, name="eucd")
        C = tf.constant(margin, name="C")
        pos = tf.multiply(labels_t, eucd2, name="yi_x_eucd2")
        neg = tf.multiply(labels_f, tf.pow(tf.maximum(tf.subtract(C, eucd), 0), 2), name="Nyi_x")
        return tf.reduce_mean(tf.add(pos, neg, name="losses"), name="loss")
sess = tf.InteractiveSession()
try:
    siamese = Siamese()
    print('made')
except ValueError as e:
    print(str(e)[:90])
    raise
train_step = tf.train.GradientDescentOptimizer(0.01).minimize(siamese.loss)
saver = tf.train.Saver()
tf.global_variables_initializer().run()
a, b = rng.normal(0, 1, (20, 12)), rng.normal(0, 1, (20, 12)); y = (rng.rand(20) > .5).astype('float')
for step in range(20):
    _, l = sess.run([train_step, siamese.loss], feed_dict={siamese.x1: a, siamese.x2: b, siamese.y_: y})
    if step % 5 == 0: print('step %d: loss %.4f' % (step, l))
print(saver.save(sess, './model'))
print(siamese.o1.eval({siamese.x1: a[:2]}), siamese.loss)
emb = tf.nn.l2_normalize(siamese.o1, 1)
dist = tf.reduce_sum(tf.square(emb[:, None] - emb[None]), 2)
lab = tf.constant((np.arange(20) % 4))
same = tf.equal(lab[:, None], lab)
hard_pos = tf.reduce_max(tf.where(same, dist, tf.zeros_like(dist)), 1)
hard_neg = tf.reduce_min(tf.where(same, tf.fill(tf.shape(dist), 1e9), dist), 1)
tri = tf.reduce_mean(tf.nn.softplus(hard_pos - hard_neg))
gs = tf.gradients(tri, tf.trainable_variables()[:2])
print(tri.eval({siamese.x1: a}), [np.abs(g).sum() for g in sess.run(gs, {siamese.x1: a})])
sess.close()
