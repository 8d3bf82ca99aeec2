"""Queues that runners fill become data sets; the loop, its coordinator and its end stay."""

from pathlib import Path

import pytest

from tests.migrate.kept_and_compared import kept

pytest.importorskip("libcst")

SLICES = """
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(3)
X = rng.randn(40, 3).astype(np.float32)
Y = (X.dot([1.0, -2.0, 0.5]) + 0.3).astype(np.float32)
BATCH = 8

x_one, y_one = tf.train.slice_input_producer([X, Y], num_epochs=2, shuffle=False)
xb, yb = tf.train.batch([x_one, y_one], batch_size=BATCH)
w = tf.get_variable("w", [3], initializer=tf.zeros_initializer())
b = tf.get_variable("b", [], initializer=tf.zeros_initializer())
pred = tf.reduce_sum(xb * w, 1) + b
loss = tf.reduce_mean(tf.square(pred - yb))
train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(tf.local_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess=sess, coord=coord)
    step = 0
    try:
        while not coord.should_stop():
            _, value = sess.run([train_op, loss])
            step += 1
            if step % 5 == 0:
                print("step %d loss %.4f" % (step, value))
    except tf.errors.OutOfRangeError:
        print("done after", step)
    finally:
        coord.request_stop()
    coord.join(threads)
    print("w", sess.run(w))
"""
FILES = """
import os
import tempfile
import numpy as np
import tensorflow as tf

folder = tempfile.mkdtemp()
rng = np.random.RandomState(0)
names = []
for i in range(2):
    name = os.path.join(folder, "part%d.csv" % i)
    with open(name, "w") as f:
        f.write("a,b,label\\n")
        for _ in range(12):
            p, q = rng.randn(2)
            f.write("%f,%f,%d\\n" % (p, q, int(p + q > 0)))
    names.append(name)


def read(queue):
    reader = tf.TextLineReader(skip_header_lines=1)
    _, value = reader.read(queue)
    a, b, label = tf.decode_csv(value, record_defaults=[[0.0], [0.0], [0]])
    return tf.stack([a, b]), label


def input_pipeline(files, batch_size, num_epochs):
    queue = tf.train.string_input_producer(files, num_epochs=num_epochs, shuffle=False)
    example, label = read(queue)
    return tf.train.batch([example, label], batch_size=batch_size, allow_smaller_final_batch=True)


features, labels = input_pipeline(names, 5, 3)
W = tf.Variable(tf.zeros([2, 1]), name="W")
b = tf.Variable(tf.zeros([1]), name="b")
logits = tf.matmul(features, W) + b
wanted = tf.cast(tf.reshape(labels, [-1, 1]), tf.float32)
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=wanted, logits=logits))
train = tf.train.AdagradOptimizer(0.5).minimize(loss)

init = tf.group(tf.global_variables_initializer(), tf.local_variables_initializer())
sess = tf.Session()
sess.run(init)
coord = tf.train.Coordinator()
threads = tf.train.start_queue_runners(sess, coord)
n = 0
try:
    while not coord.should_stop():
        l, _ = sess.run([loss, train])
        n += 1
        print(n, "%.5f" % l)
except tf.errors.OutOfRangeError:
    print("Done training -- epoch limit reached")
finally:
    coord.request_stop()
coord.join(threads)
sess.close()
"""
SHUFFLED = """
import numpy as np
import tensorflow as tf

tf.set_random_seed(1)
images = np.random.RandomState(0).rand(30, 6).astype(np.float32)
labels = (images.sum(1) > 3).astype(np.int32)

image, label = tf.train.slice_input_producer([images, labels], shuffle=True, seed=4)
image_batch, label_batch = tf.train.shuffle_batch([image, label], 4, capacity=20, min_after_dequeue=8, seed=2)
with tf.variable_scope("net"):
    w = tf.get_variable("w", [6, 2], initializer=tf.constant_initializer(0.05))
    b = tf.get_variable("b", [2], initializer=tf.constant_initializer(0.0))
logits = tf.matmul(image_batch, w) + b
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label_batch, logits=logits))
train_step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(coord=coord)
    for i in range(15):
        _, l = sess.run([train_step, loss])
        if i % 5 == 4:
            print("step %d: %.3f" % (i, l))
    coord.request_stop()
    coord.join(threads)
"""


def test_batches_of_slices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = kept(tmp_path, SLICES, capsys)
    assert (
        "tf.data.Dataset.from_tensor_slices((X_constant, Y_constant)).repeat(2).batch(8, drop_remainder=True)" in text
    )
    assert "while not coord.should_stop():\n            value = train_op(*batches.get_next()).numpy()" in text
    assert "except tf.errors.OutOfRangeError:" in text and "coord.join(threads)" in text and "from the run" not in text


def test_lines_of_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = kept(tmp_path, FILES, capsys)
    assert "tf.constant(names)" in text and "tf.io.decode_csv(value, [[0.0], [0.0], [0]])" in text
    assert "lambda name: tf.data.TextLineDataset(name).skip(1)).map(example_of).batch(5))" in text


def test_examples_in_random_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # threads hand them out in an order that nobody can foretell: only the words that are printed are compared
    text = kept(tmp_path, SHUFFLED, capsys)
    assert ".shuffle(30, seed=4).repeat().shuffle(20," in " ".join(text.split()) and "tf.constant(labels)" in text
