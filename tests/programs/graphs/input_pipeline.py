# tolerance: 1e-4
# Input pipelines: datasets mapped, batched, repeated; one-shot and initializable iterators feed a model.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(35)
features = rng.randn(24, 3).astype(np.float32)
labels = (features.sum(1) > 0).astype(np.int64)
numbers = tf.data.Dataset.range(7).map(lambda i: i * i).filter(lambda i: tf.equal(i % 2, 0)).repeat(2).batch(3)
element = numbers.make_one_shot_iterator().get_next()
feature_holder = tf.placeholder(features.dtype, features.shape)
label_holder = tf.placeholder(labels.dtype, labels.shape)
dataset = tf.data.Dataset.from_tensor_slices((feature_holder, label_holder))
dataset = dataset.map(lambda x, y: {"x": 2.0 * x, "y": y}).batch(8).prefetch(1)
iterator = dataset.make_initializable_iterator()
batch = iterator.get_next()
w = tf.Variable(tf.zeros([3, 2]))
logits = tf.matmul(batch["x"], w)
loss = tf.losses.sparse_softmax_cross_entropy(labels=batch["y"], logits=logits)
train_op = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
print(batch["x"].get_shape(), batch["y"].dtype)

with tf.Session() as sess:
    try:
        while True:
            print(sess.run(element))
    except tf.errors.OutOfRangeError:
        print("end of sequence")
    sess.run(tf.global_variables_initializer())
    for epoch in range(3):
        sess.run(iterator.initializer, feed_dict={feature_holder: features, label_holder: labels})
        losses = []
        while True:
            try:
                _, value = sess.run([train_op, loss])
                losses.append(value)
            except tf.errors.OutOfRangeError:
                break
        print("epoch", epoch, len(losses), np.mean(losses))
    print(sess.run(w).round(3).tolist())
