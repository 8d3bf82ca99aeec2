# Summaries: scalars and histograms merged, written for the board; names and tags as the writer sees them.
import os

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(25)
x = tf.placeholder(tf.float32, [None, 2], name="x")
with tf.name_scope("layer1"):
    W = tf.Variable(rng.randn(2, 3).astype(np.float32), name="W")
    tf.summary.histogram("weights", W)
    h = tf.tanh(tf.matmul(x, W))
with tf.name_scope("loss"):
    loss = tf.reduce_mean(tf.square(h - 0.5))
    tf.summary.scalar("mse", loss)
step = tf.train.get_or_create_global_step()
with tf.name_scope("train"):
    train_op = tf.train.GradientDescentOptimizer(0.3).minimize(loss, global_step=step)
merged = tf.summary.merge_all()
data = rng.randn(20, 2)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    writer = tf.summary.FileWriter("logs/train", sess.graph)
    for i in range(10):
        summary, _, value = sess.run([merged, train_op, loss], {x: data})
        writer.add_summary(summary, i)
        if i % 3 == 0:
            print("step", i, "loss", value)
    by_hand = tf.Summary(value=[tf.Summary.Value(tag="by_hand", simple_value=2.5)])
    writer.add_summary(by_hand, global_step=sess.run(step))
    writer.flush()
    writer.close()
files = os.listdir("logs/train")
print(len(files), files[0].startswith("events.out.tfevents."))
tags, scalars = set(), []
for event in tf.train.summary_iterator(os.path.join("logs/train", files[0])):
    for value in event.summary.value:
        tags.add(value.tag)
        if value.tag == "loss/mse":
            scalars.append((event.step, value.simple_value))
print(sorted(tags))
print(scalars[::3])
