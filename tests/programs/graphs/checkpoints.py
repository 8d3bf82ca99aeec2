# Saving and restoring: train, save every few steps, forget everything, restore the latest checkpoint, go on.
import os

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(22)
data_x = rng.randn(100, 3).astype(np.float32)
data_y = data_x @ np.array([[1.0], [-2.0], [0.5]], np.float32) + 0.3


def build():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.placeholder(tf.float32, [None, 1], name="y")
    with tf.variable_scope("model"):
        W = tf.get_variable("W", [3, 1], initializer=tf.zeros_initializer())
        b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
    global_step = tf.Variable(0, name="global_step", trainable=False)
    loss = tf.reduce_mean(tf.square(tf.matmul(x, W) + b - y), name="loss")
    train_op = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=global_step)
    return x, y, loss, train_op, global_step


model_dir = "logs"
if not os.path.exists(model_dir):
    os.makedirs(model_dir)
checkpoint = os.path.join(model_dir, "model.ckpt")
for session_number in range(3):
    tf.reset_default_graph()
    x, y, loss, train_op, global_step = build()
    saver = tf.train.Saver(max_to_keep=2)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        ckpt = tf.train.get_checkpoint_state(model_dir)
        if ckpt and ckpt.model_checkpoint_path:
            saver.restore(sess, ckpt.model_checkpoint_path)
            print("restored", os.path.basename(ckpt.model_checkpoint_path), "at step", sess.run(global_step))
        for _ in range(10):
            _, value = sess.run([train_op, loss], {x: data_x, y: data_y})
            step = tf.train.global_step(sess, global_step)
            if step % 5 == 0:
                path = saver.save(sess, checkpoint, global_step=global_step)
                print("step", step, "loss", value, os.path.basename(path))
print(os.path.basename(tf.train.latest_checkpoint(model_dir)), sorted(n for n in os.listdir(model_dir) if n.endswith("index")))
print(sorted((name, list(shape)) for name, shape in tf.train.list_variables(model_dir)))

tf.reset_default_graph()
kernel = tf.Variable(np.zeros((3, 1)), dtype=tf.float32, name="kernel")
partial = tf.train.Saver({"model/W": kernel})
with tf.Session() as sess:
    partial.restore(sess, tf.train.latest_checkpoint(model_dir))
    print("kernel", sess.run(kernel).ravel())
    try:
        tf.train.Saver([tf.Variable(1.0, name="missing")]).restore(sess, tf.train.latest_checkpoint(model_dir))
    except tf.errors.NotFoundError as e:
        print("not found", "missing" in str(e))
