# tolerance: 1e-4
# A program with flags, tf.app.run, logging and files: what scripts of 2017 start with.
import os

import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_integer("max_steps", 15, "Number of steps to run trainer.")
flags.DEFINE_float("learning_rate", 0.1, "Initial learning rate.")
flags.DEFINE_string("model_dir", "logs/flags", "Where to write.")
flags.DEFINE_boolean("fake", False, "Nothing.")
FLAGS = flags.FLAGS
tf.logging.set_verbosity(tf.logging.ERROR)


def train():
    rng = np.random.RandomState(36)
    x = tf.placeholder(tf.float32, [None, 4])
    w = tf.get_variable("w", [4, 1], initializer=tf.zeros_initializer())
    data = rng.randn(50, 4)
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - tf.reduce_sum(x, 1, keepdims=True)))
    train_op = tf.train.AdagradOptimizer(FLAGS.learning_rate).minimize(loss)
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for i in range(FLAGS.max_steps):
            _, value = sess.run([train_op, loss], {x: data})
            tf.logging.info("step %d", i)
            if i % 5 == 0:
                print("step", i, "loss", value)
        saver.save(sess, os.path.join(FLAGS.model_dir, "model"))


def main(_):
    if tf.gfile.Exists(FLAGS.model_dir):
        tf.gfile.DeleteRecursively(FLAGS.model_dir)
    tf.gfile.MakeDirs(FLAGS.model_dir)
    train()
    with tf.gfile.GFile(os.path.join(FLAGS.model_dir, "notes.txt"), "w") as f:
        f.write("done %d\n" % FLAGS.max_steps)
    print(sorted(n for n in tf.gfile.ListDirectory(FLAGS.model_dir) if not n.endswith(".meta")))
    print(tf.gfile.Open(os.path.join(FLAGS.model_dir, "notes.txt")).read().strip())


if __name__ == "__main__":
    tf.app.run()
