# needs: tf_keras
# tolerance: 1e-3
# tf.layers: dense networks with regularisation, batch normalisation with its update operations, dropout switched off.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(23)
labels = rng.randint(0, 3, 120)
data = (np.eye(3)[labels] @ rng.randn(3, 6) + 0.8 * rng.randn(120, 6)).astype(np.float32)


def init(*shape):
    return tf.constant_initializer(rng.randn(*shape) * np.sqrt(2.0 / shape[0]))


x = tf.placeholder(tf.float32, [None, 6])
y = tf.placeholder(tf.int32, [None])
training = tf.placeholder_with_default(False, [], name="training")
with tf.variable_scope("net"):
    h = tf.layers.dense(x, 16, kernel_initializer=init(6, 16), name="fc1", use_bias=False,
                        kernel_regularizer=lambda w: 0.01 * tf.nn.l2_loss(w))
    h = tf.layers.batch_normalization(h, training=training, momentum=0.9, name="bn1")
    h = tf.nn.relu(h)
    h = tf.layers.dropout(h, rate=0.0, training=training)
    logits = tf.layers.dense(h, 3, kernel_initializer=init(16, 3), name="out")
loss = tf.losses.sparse_softmax_cross_entropy(labels=y, logits=logits)
total = loss + tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
with tf.control_dependencies(update_ops):
    train_op = tf.train.AdamOptimizer(0.02).minimize(total)
accuracy = tf.reduce_mean(tf.cast(tf.nn.in_top_k(logits, y, 1), tf.float32))
print([v.name for v in tf.trainable_variables()])
print([v.name for v in tf.global_variables() if "moving" in v.name], len(update_ops))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(40):
        batch = slice(30 * (step % 4), 30 * (step % 4) + 30)
        _, value = sess.run([train_op, total], {x: data[batch], y: labels[batch], training: True})
        if step % 10 == 0:
            print("step", step, "train", value, "test", sess.run(loss, {x: data, y: labels}))
    print("accuracy", sess.run(accuracy, {x: data, y: labels}))
    moving_mean = [v for v in tf.global_variables() if v.name == "net/bn1/moving_mean:0"][0]
    print(sess.run(moving_mean)[:4])
