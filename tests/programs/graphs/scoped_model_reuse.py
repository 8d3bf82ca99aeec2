# tolerance: 1e-3
# Variable scopes as programs rely on them: names, reuse, regularizers.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(33)


def dense(x, n, name, activation=None):
    with tf.variable_scope(name, reuse=tf.AUTO_REUSE):
        shape = [x.get_shape().as_list()[-1], n]
        w = tf.get_variable("w", shape, regularizer=lambda v: 0.05 * tf.reduce_sum(tf.abs(v)))
        b = tf.get_variable("b", [n], initializer=tf.zeros_initializer())
        y = tf.nn.xw_plus_b(x, w, b)
        return activation(y) if activation else y


def tower(x, scope):
    with tf.variable_scope(scope, initializer=tf.constant_initializer(0.2)):
        return dense(dense(x, 4, "hidden", tf.nn.elu), 1, "out")


x = tf.placeholder(tf.float32, [None, 3], "x")
with tf.name_scope("towers"):
    first, second = tower(x, "shared"), tower(2.0 * x, "shared")
other = tower(x, "other")
print([v.name for v in tf.global_variables()])
print(first.op.name.split("/")[:3], second.op.name.split("/")[:3])
print([v.name for v in tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="shared/hidden")])
penalties = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
print(len(penalties))
distance = tf.reduce_mean(tf.square(first - second)) + tf.reduce_mean(tf.square(other - 1.0)) + tf.add_n(penalties)
opt = tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.001)
train = opt.minimize(distance)
print(sorted(opt.get_slot_names()), opt.get_slot(tf.trainable_variables()[0], "accum").name)
try:
    with tf.variable_scope("shared/hidden"):
        tf.get_variable("w", [3, 4])
except ValueError as e:
    print("ValueError", "already exists" in str(e))
try:
    with tf.variable_scope("shared/hidden", reuse=True):
        tf.get_variable("v", [3, 4])
except ValueError as e:
    print("ValueError", "does not exist" in str(e))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    data = rng.randn(20, 3)
    for i in range(12):
        _, d = sess.run([train, distance], {x: data})
        if i % 4 == 0:
            print(i, d)
    print(sess.run(["shared/hidden/w:0", "shared/out/b:0"]))
