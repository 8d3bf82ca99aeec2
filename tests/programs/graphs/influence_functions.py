# tolerance: 1e-3
# Influence of training points on a test loss: Hessian-vector products, conjugate gradients, checked by retraining.
import numpy as np
import tensorflow as tf
from scipy.optimize import fmin_ncg

rng = np.random.RandomState(14)


def hessian_vector_product(ys, xs, v):
    grads = tf.gradients(ys, xs)
    elemwise_products = [
        tf.multiply(grad_elem, tf.stop_gradient(v_elem)) for grad_elem, v_elem in zip(grads, v) if grad_elem is not None
    ]
    return tf.gradients(elemwise_products, xs)


X = rng.randn(60, 4)
Y = (X[:, 0] - 0.5 * X[:, 1] + 0.3 * rng.randn(60) > 0).astype(np.float64)
x_test, y_test = rng.randn(1, 4), np.array([1.0])

input_placeholder = tf.placeholder(tf.float64, shape=(None, 4), name="input_placeholder")
labels_placeholder = tf.placeholder(tf.float64, shape=(None,), name="labels_placeholder")
weights = tf.Variable(np.zeros(4), name="softmax_linear", dtype=tf.float64)
logits = tf.reduce_sum(tf.multiply(input_placeholder, weights), 1)
cross_entropy = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels_placeholder, logits=logits)
loss_no_reg = tf.reduce_mean(cross_entropy)
total_loss = loss_no_reg + 0.05 * tf.nn.l2_loss(weights)
params = tf.trainable_variables()
grad_total_loss_op = tf.gradients(total_loss, params)
grad_loss_no_reg_op = tf.gradients(loss_no_reg, params)
v_placeholder = [tf.placeholder(tf.float64, shape=a.get_shape()) for a in params]
hvp_op = hessian_vector_product(total_loss, params, v_placeholder)
hessian_op = tf.hessians(total_loss, params)
set_weights = tf.placeholder(tf.float64, shape=(4,))
assign_op = tf.assign(weights, set_weights)

sess = tf.Session()
sess.run(tf.global_variables_initializer())


def retrain(rows):
    feed = {input_placeholder: X[rows], labels_placeholder: Y[rows]}
    w = np.zeros(4)
    for _ in range(8):
        sess.run(assign_op, {set_weights: w})
        w = w - np.linalg.solve(sess.run(hessian_op, feed)[0], sess.run(grad_total_loss_op, feed)[0])
    sess.run(assign_op, {set_weights: w})
    return sess.run(loss_no_reg, {input_placeholder: x_test, labels_placeholder: y_test})


everything = np.arange(60)
base = retrain(everything)
all_feed = {input_placeholder: X, labels_placeholder: Y}
test_grad = sess.run(grad_loss_no_reg_op, {input_placeholder: x_test, labels_placeholder: y_test})[0]


def hvp(v):
    return sess.run(hvp_op, {**all_feed, v_placeholder[0]: v})[0]


inverse_hvp = fmin_ncg(
    f=lambda x: 0.5 * x.dot(hvp(x)) - test_grad.dot(x),
    x0=test_grad,
    fprime=lambda x: hvp(x) - test_grad,
    fhess_p=lambda x, p: hvp(p),
    avextol=1e-10,
    disp=False,
)
print("base loss %.6f, |s_test| %.6f" % (base, np.linalg.norm(inverse_hvp)))
predicted = []
for i in range(5):
    grad = sess.run(grad_total_loss_op, {input_placeholder: X[i : i + 1], labels_placeholder: Y[i : i + 1]})[0]
    predicted.append(inverse_hvp.dot(grad) / 60)
for i in range(5):
    actual = retrain(np.delete(everything, i)) - base
    print("point %d: predicted %.6f, actual %.6f" % (i, predicted[i], actual))
