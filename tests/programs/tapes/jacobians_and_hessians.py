# Derivatives of higher order with tapes: Jacobians, batch Jacobians, Hessians, products, persistent and nested tapes.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(42)
A = tf.constant(rng.randn(3, 3))
x = tf.Variable(rng.randn(3))
with tf.GradientTape(persistent=True) as tape:
    y = tf.tanh(tf.linalg.matvec(A, x))
    s = tf.reduce_sum(y**2)
print("jacobian\n", tape.jacobian(y, x).numpy())
print("gradient", tape.gradient(s, x).numpy())
with tf.GradientTape() as outer:
    with tf.GradientTape() as inner:
        s = tf.reduce_sum(tf.exp(-(x**2)) * tf.sin(3.0 * x)) + x[0] * x[1] * x[2]
    g = inner.gradient(s, x)
print("hessian\n", outer.jacobian(g, x).numpy())
v = tf.constant(rng.randn(3))
with tf.GradientTape() as outer:
    with tf.GradientTape() as inner:
        s = tf.reduce_sum(tf.cosh(tf.linalg.matvec(A, x)))
    g = inner.gradient(s, x)
print("hvp", outer.gradient(g, x, output_gradients=v).numpy())
batch = tf.constant(rng.randn(4, 3))
with tf.GradientTape() as tape:
    tape.watch(batch)
    z = tf.matmul(tf.sin(batch), A) * batch
print("batch jacobian", tape.batch_jacobian(z, batch).numpy()[1])
with tf.GradientTape() as t3:
    with tf.GradientTape() as t2:
        with tf.GradientTape() as t1:
            u = x[0]
            w = tf.math.log(1.0 + tf.exp(u)) ** 2
        d1 = t1.gradient(w, x)
    d2 = t2.gradient(d1, x)
print("third", t3.gradient(d2, x).numpy())
tape = tf.GradientTape(watch_accessed_variables=False)
with tape:
    tape.watch(x)
    unrelated = tf.Variable(1.0)
    r = tf.reduce_sum(tf.sort(x) * [1.0, 2.0, 3.0])
dx, du = tape.gradient(r, [x, unrelated], unconnected_gradients=tf.UnconnectedGradients.ZERO)
print(dx.numpy(), du.numpy())
