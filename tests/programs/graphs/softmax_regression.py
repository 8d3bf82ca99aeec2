# tolerance: 1e-4
# Softmax regression as in the tutorials for beginners, on made-up digits.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(1)
centres = rng.rand(10, 64)
labels = rng.randint(0, 10, 600)
images = (centres[labels] + 0.3 * rng.randn(600, 64)).astype(np.float32)
one_hot = np.eye(10, dtype=np.float32)[labels]

sess = tf.InteractiveSession()
x = tf.placeholder(tf.float32, shape=[None, 64])
y_ = tf.placeholder(tf.float32, shape=[None, 10])
W = tf.Variable(tf.zeros([64, 10]))
b = tf.Variable(tf.zeros([10]))
sess.run(tf.initialize_all_variables())

y = tf.nn.softmax(tf.matmul(x, W) + b)
cross_entropy = tf.reduce_mean(-tf.reduce_sum(y_ * tf.log(y), reduction_indices=[1]))
train_step = tf.train.GradientDescentOptimizer(0.5).minimize(cross_entropy)
correct_prediction = tf.equal(tf.argmax(y, 1), tf.argmax(y_, 1))
accuracy = tf.reduce_mean(tf.cast(correct_prediction, tf.float32))

for i in range(100):
    batch = slice(50 * (i % 10), 50 * (i % 10) + 50)
    train_step.run(feed_dict={x: images[batch], y_: one_hot[batch]})
    if i % 20 == 0:
        print("step %d, loss %g" % (i, cross_entropy.eval({x: images, y_: one_hot})))
print("accuracy", accuracy.eval(feed_dict={x: images[500:], y_: one_hot[500:]}))
sess.close()
