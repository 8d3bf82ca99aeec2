# A first program of 2016: a line through points, by gradient descent.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
train_X = rng.uniform(0, 10, 17).astype(np.float32)
train_Y = (0.25 * train_X + 0.8 + 0.1 * rng.randn(17)).astype(np.float32)
n_samples = train_X.shape[0]

X = tf.placeholder("float")
Y = tf.placeholder("float")
W = tf.Variable(0.3, name="weight")
b = tf.Variable(-0.5, name="bias")

pred = tf.add(tf.multiply(X, W), b)
cost = tf.reduce_sum(tf.pow(pred - Y, 2)) / (2 * n_samples)
optimizer = tf.train.GradientDescentOptimizer(0.01).minimize(cost)
init = tf.global_variables_initializer()

with tf.Session() as sess:
    sess.run(init)
    for epoch in range(50):
        for x, y in zip(train_X, train_Y):
            sess.run(optimizer, feed_dict={X: x, Y: y})
        if (epoch + 1) % 10 == 0:
            c = sess.run(cost, feed_dict={X: train_X, Y: train_Y})
            print("Epoch:", "%04d" % (epoch + 1), "cost=", f"{c:.6f}", "W=", sess.run(W), "b=", sess.run(b))
    print("W=%.5f b=%.5f" % (W.eval(), b.eval(session=sess)))
