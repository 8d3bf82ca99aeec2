# Gradients of one's own: clipping on the way back, a stable log1pexp, a straight-through estimator, none at all.
import numpy as np
import tensorflow as tf


@tf.custom_gradient
def log1pexp(x):
    e = tf.exp(x)

    def grad(upstream):
        return upstream * (1 - 1 / (1 + e))

    return tf.math.log(1 + e), grad


@tf.custom_gradient
def clip_gradients(y):
    def backward(dy):
        return tf.clip_by_norm(dy, 0.5)

    return y, backward


@tf.custom_gradient
def binarize(x):
    def grad(dy):
        return dy * tf.cast(tf.abs(x) <= 1, dy.dtype)

    return tf.sign(x), grad


x = tf.constant(100.0)
with tf.GradientTape() as tape:
    tape.watch(x)
    y = log1pexp(x)
print(tape.gradient(y, x).numpy())
v = tf.Variable(2.0)
with tf.GradientTape() as t:
    output = clip_gradients(v * v)
print(t.gradient(output, v).numpy())
w = tf.Variable([-2.0, -0.5, 0.3, 4.0])
with tf.GradientTape(persistent=True) as t:
    loss = tf.reduce_sum(binarize(w) * tf.range(1.0, 5.0))
    stopped = tf.reduce_sum(tf.stop_gradient(w) * w)
    none = tf.reduce_sum(tf.floor(w))
print(t.gradient(loss, w).numpy(), t.gradient(stopped, w).numpy(), t.gradient(none, w))
x = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
with tf.GradientTape() as t:
    y = tf.linalg.logdet(x @ tf.transpose(x) + tf.eye(2)) + tf.reduce_sum(tf.gather(x, [1, 1, 0]) ** 3)
print(t.gradient(y, x).numpy())
emb = tf.Variable(np.arange(8.0).reshape(4, 2))
with tf.GradientTape() as t:
    e = tf.reduce_sum(tf.nn.embedding_lookup(emb, [3, 1, 3]) ** 2)
g = t.gradient(e, emb)
print(type(g).__name__, g.indices.numpy(), tf.convert_to_tensor(g).numpy().tolist())
