# tolerance: 1e-4
# Averages of variables and of losses, schedules, and averaged values used for evaluation.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(29)
data_x, noise = rng.randn(64, 3), 0.3 * rng.randn(64, 1)
data_y = data_x @ [[1.0], [2.0], [-1.0]] + noise
x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 1])
global_step = tf.Variable(0, trainable=False, name="global_step")
with tf.variable_scope("model"):
    w = tf.get_variable("w", [3, 1], initializer=tf.constant_initializer(0.0))
    b = tf.get_variable("b", [], initializer=tf.constant_initializer(0.0))
loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y), name="total_loss")
lr = tf.train.exponential_decay(0.1, global_step, 10, 0.7, staircase=True)
lr2 = tf.train.piecewise_constant(global_step, [10, 20], [1.0, 0.5, 0.1])
loss_averages = tf.train.ExponentialMovingAverage(0.9, name="avg")
loss_averages_op = loss_averages.apply([loss])
with tf.control_dependencies([loss_averages_op]):
    opt = tf.train.GradientDescentOptimizer(lr * lr2)
    grads = opt.compute_gradients(loss)
apply_gradient_op = opt.apply_gradients(grads, global_step=global_step)
variable_averages = tf.train.ExponentialMovingAverage(0.95, global_step)
with tf.control_dependencies([apply_gradient_op]):
    variables_averages_op = variable_averages.apply(tf.trainable_variables())
with tf.control_dependencies([variables_averages_op]):
    train_op = tf.no_op(name="train")
names = variable_averages.variables_to_restore()
print(sorted(names))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(25):
        rows = slice(16 * (i % 4), 16 * (i % 4) + 16)
        sess.run(train_op, {x: data_x[rows], y: data_y[rows]})
        if i % 6 == 0:
            print(i, *sess.run([lr, lr2, loss_averages.average(loss), global_step]))
    print(sess.run([w, variable_averages.average(w)]))
    sess.run([v.assign(variable_averages.average(v)) for v in tf.trainable_variables()])
    print("with averages %.6f" % sess.run(loss, {x: data_x, y: data_y}))
