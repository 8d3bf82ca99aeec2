"""Residual network with batch norm, update ops, moving averages of weights, weight decay collection."""
# tolerance: 1e-4
import numpy as np
import tensorflow as tf
from tensorflow.python.training import moving_averages

BN_DECAY, BN_EPS, UPDATE_OPS_COLLECTION = 0.9, 0.001, 'resnet_update_ops'
rng = np.random.RandomState(4)


def _get_variable(name, shape, initializer, weight_decay=0.0, trainable=True):
    regularizer = (lambda w: weight_decay * tf.nn.l2_loss(w)) if weight_decay > 0 else None
    collections = [tf.GraphKeys.GLOBAL_VARIABLES, 'resnet_variables']
    return tf.get_variable(name, shape=shape, initializer=initializer, dtype='float', regularizer=regularizer, collections=collections, trainable=trainable)


def bn(x, is_training):
    params_shape = x.get_shape()[-1:]
    axis = list(range(len(x.get_shape()) - 1))
    beta = _get_variable('beta', params_shape, tf.zeros_initializer())
    gamma = _get_variable('gamma', params_shape, tf.ones_initializer())
    moving_mean = _get_variable('moving_mean', params_shape, tf.zeros_initializer(), trainable=False)
    moving_variance = _get_variable('moving_variance', params_shape, tf.ones_initializer(), trainable=False)
    mean, variance = tf.nn.moments(x, axis)
    update_mean = moving_averages.assign_moving_average(moving_mean, mean, BN_DECAY)
    update_var = moving_averages.assign_moving_average(moving_variance, variance, BN_DECAY)
    tf.add_to_collection(UPDATE_OPS_COLLECTION, update_mean)
    tf.add_to_collection(UPDATE_OPS_COLLECTION, update_var)

    mean, variance = tf.cond(is_training, lambda: (mean, variance), lambda: (moving_mean, moving_variance))
    return tf.nn.batch_normalization(x, mean, variance, beta, gamma, BN_EPS)


def conv(x, k, n, stride=1):
    shape = [k, k, int(x.get_shape()[3]), n]
    w = _get_variable('weights', shape, tf.constant_initializer(rng.normal(0, .2, shape)), weight_decay=1e-3)
    return tf.nn.conv2d(x, w, [1, stride, stride, 1], padding='SAME')


def block(x, n, stride, is_training):
    shortcut = x
    filters_in = x.get_shape()[-1]
    with tf.variable_scope('a'):
        y = tf.nn.relu(bn(conv(x, 3, n, stride), is_training))
    with tf.variable_scope('b'):
        y = bn(conv(y, 3, n), is_training)
    with tf.variable_scope('shortcut'):
        if n != filters_in or stride != 1:
            shortcut = bn(conv(x, 1, n, stride), is_training)
    return tf.nn.relu(y + shortcut)


images = tf.placeholder(tf.float32, [None, 8, 8, 3])
labels = tf.placeholder(tf.int32, [None])
is_training = tf.placeholder('bool', [], name='is_training')
x = images
for i, (n, s) in enumerate([(4, 1), (8, 2)]):
    with tf.variable_scope('scale%d' % i):
        for j in range(2):
            with tf.variable_scope('block%d' % j):
                x = block(x, n, s if j == 0 else 1, is_training)
print(x)
x = tf.reduce_mean(x, reduction_indices=[1, 2], name='avg_pool')
with tf.variable_scope('fc'):
    w = _get_variable('weights', [8, 3], tf.constant_initializer(rng.normal(0, .1, (8, 3))), 1e-3)
    logits = tf.nn.xw_plus_b(x, w, _get_variable('biases', [3], tf.zeros_initializer()))
cross = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=labels))
reg = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
loss = tf.add_n([cross] + reg)
global_step = tf.get_variable('global_step', [], initializer=tf.constant_initializer(0), trainable=False)
ema = tf.train.ExponentialMovingAverage(0.5, global_step)
tf.add_to_collection(UPDATE_OPS_COLLECTION, ema.apply([loss]))
opt = tf.train.MomentumOptimizer(0.05, 0.9)
grads = opt.compute_gradients(loss)
apply_gradient_op = opt.apply_gradients(grads, global_step=global_step)
batchnorm_updates_op = tf.group(*tf.get_collection(UPDATE_OPS_COLLECTION))
train_op = tf.group(apply_gradient_op, batchnorm_updates_op)
var_avg = tf.train.ExponentialMovingAverage(0.9)
with tf.control_dependencies([train_op]):
    train_avg = var_avg.apply(tf.trainable_variables())
X = rng.normal(0, 1, (12, 8, 8, 3)); Y = rng.randint(0, 3, 12)
sess = tf.Session()
sess.run(tf.global_variables_initializer())
print(len(reg), len(tf.get_collection('resnet_variables')), len(tf.global_variables()), tf.all_variables()[3].op.name)
for i in range(8):
    _, l, a = sess.run([train_avg, loss, ema.average(loss)], {images: X, labels: Y, is_training: True})
    print('step %d: %.4f' % (sess.run(global_step), l))
print('eval %.4f' % sess.run(cross, {images: X, labels: Y, is_training: False}))
restore = var_avg.variables_to_restore()
print(sorted(restore)[:3], [round(float(z), 4) for z in sess.run(var_avg.average(w))[0]])
