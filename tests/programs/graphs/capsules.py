# needs: tf_keras
# tolerance: 1e-3
# Capsules with dynamic routing, a decoder, margin loss, MonitoredTrainingSession with hooks, streaming accuracy.
import argparse

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops

parser = argparse.ArgumentParser()
parser.add_argument("--routing", type=int, default=2)
parser.add_argument("--steps", type=int, default=6)
parser.add_argument("--regularization", type=float, default=0.0005)
args = parser.parse_args()
rng = np.random.RandomState(99)
epsilon = 1e-7


def squash(s, axis=-1, name=None):
    with tf.name_scope(name, default_name="squash"):
        squared_norm = tf.reduce_sum(tf.square(s), axis=axis, keep_dims=True)
        safe_norm = tf.sqrt(squared_norm + epsilon)
        squash_factor = squared_norm / (1.0 + squared_norm)
        return squash_factor * s / safe_norm


def safe_norm(s, axis=-1, keep_dims=False, name=None):
    with tf.name_scope(name, default_name="safe_norm"):
        return tf.sqrt(tf.reduce_sum(tf.square(s), axis=axis, keep_dims=keep_dims) + epsilon)


def init(*shape):
    return tf.constant_initializer(0.1 * rng.randn(*shape))


def data_stream():
    gen = np.random.RandomState(7)
    prototypes = gen.rand(3, 8, 8, 1)
    while True:
        label = gen.randint(3)
        yield (prototypes[label] + 0.1 * gen.randn(8, 8, 1)).astype(np.float32), np.int64(label)


dataset = tf.data.Dataset.from_generator(
    data_stream, (tf.float32, tf.int64), (tf.TensorShape([8, 8, 1]), tf.TensorShape([]))
)
dataset = dataset.batch(10).prefetch(1)
iterator = dataset.make_one_shot_iterator()
X, y = iterator.get_next()
X.set_shape([10, 8, 8, 1])
print(X, y.shape)
conv1 = tf.layers.conv2d(
    X,
    filters=6,
    kernel_size=3,
    strides=1,
    padding="valid",
    activation=tf.nn.relu,
    name="conv1",
    kernel_initializer=init(3, 3, 1, 6),
)
conv2 = tf.layers.conv2d(
    conv1, filters=8, kernel_size=3, strides=2, name="conv2", activation=tf.nn.relu, kernel_initializer=init(3, 3, 6, 8)
)
caps1_n_caps, caps1_n_dims, caps2_n_caps, caps2_n_dims = 8, 4, 3, 5
caps1_raw = tf.reshape(conv2, [-1, caps1_n_caps, caps1_n_dims], name="caps1_raw")
caps1_output = squash(caps1_raw, name="caps1_output")
W = tf.get_variable(
    "W",
    [1, caps1_n_caps, caps2_n_caps, caps2_n_dims, caps1_n_dims],
    initializer=init(1, caps1_n_caps, caps2_n_caps, caps2_n_dims, caps1_n_dims),
)
batch_size = tf.shape(X)[0]
W_tiled = tf.tile(W, [batch_size, 1, 1, 1, 1], name="W_tiled")
caps1_output_expanded = tf.expand_dims(caps1_output, -1, name="caps1_output_expanded")
caps1_output_tile = tf.expand_dims(caps1_output_expanded, 2, name="caps1_output_tile")
caps1_output_tiled = tf.tile(caps1_output_tile, [1, 1, caps2_n_caps, 1, 1], name="caps1_output_tiled")
caps2_predicted = tf.matmul(W_tiled, caps1_output_tiled, name="caps2_predicted")
print(W_tiled.shape, caps2_predicted.get_shape().as_list())


def routing_round(i, raw_weights, output):
    routing_weights = tf.nn.softmax(raw_weights, axis=2, name="routing_weights")
    weighted_sum = tf.reduce_sum(tf.multiply(routing_weights, caps2_predicted), axis=1, keepdims=True)
    output = squash(weighted_sum, axis=-2)
    agreement = tf.matmul(caps2_predicted, tf.tile(output, [1, caps1_n_caps, 1, 1, 1]), transpose_a=True)
    return i + 1, raw_weights + agreement, output


raw = tf.zeros([batch_size, caps1_n_caps, caps2_n_caps, 1, 1], dtype=np.float32, name="raw_weights")
_, _, caps2_output = tf.while_loop(
    lambda i, *_: i < args.routing,
    routing_round,
    [tf.constant(0), raw, tf.zeros([batch_size, 1, caps2_n_caps, caps2_n_dims, 1])],
    shape_invariants=[
        tf.TensorShape([]),
        tf.TensorShape([None, caps1_n_caps, caps2_n_caps, 1, 1]),
        tf.TensorShape([None, 1, caps2_n_caps, caps2_n_dims, 1]),
    ],
    parallel_iterations=1,
    swap_memory=False,
)
y_proba = safe_norm(caps2_output, axis=-2, name="y_proba")
y_pred = tf.squeeze(tf.argmax(y_proba, axis=2), axis=[1, 2], name="y_pred")
T = tf.one_hot(y, depth=caps2_n_caps, name="T")
norm = safe_norm(caps2_output, axis=-2, keep_dims=True, name="caps2_output_norm")
present = tf.reshape(tf.square(tf.maximum(0.0, 0.9 - norm)), shape=(-1, caps2_n_caps), name="present_error")
absent = tf.reshape(tf.square(tf.maximum(0.0, norm - 0.1)), shape=(-1, caps2_n_caps), name="absent_error")
margin_loss = tf.reduce_mean(
    tf.reduce_sum(tf.add(T * present, 0.5 * (1.0 - T) * absent, name="L"), axis=1), name="margin_loss"
)
mask_with_labels = tf.placeholder_with_default(True, shape=(), name="mask_with_labels")
targets = tf.cond(mask_with_labels, lambda: y, lambda: y_pred, name="reconstruction_targets")
mask = tf.reshape(tf.one_hot(targets, depth=caps2_n_caps), [-1, 1, caps2_n_caps, 1, 1])
decoder_input = tf.reshape(tf.multiply(caps2_output, mask), [-1, caps2_n_caps * caps2_n_dims])
with tf.name_scope("decoder"):
    hidden = tf.layers.dense(decoder_input, 12, activation=tf.nn.relu, name="hidden1", kernel_initializer=init(15, 12))
    decoder_output = tf.layers.dense(
        hidden, 64, activation=tf.nn.sigmoid, name="decoder_output", kernel_initializer=init(12, 64)
    )
reconstruction_loss = tf.reduce_mean(
    tf.squared_difference(tf.layers.flatten(X), decoder_output, name="sq"), name="reconstruction_loss"
)
loss = tf.add(margin_loss, args.regularization * 64 * reconstruction_loss, name="loss")
accuracy, accuracy_update = tf.metrics.accuracy(labels=y, predictions=y_pred, name="acc")
global_step = tf.train.get_or_create_global_step()
training_op = tf.train.AdamOptimizer(0.01).minimize(loss, global_step=global_step, name="training_op")
tf.summary.scalar("loss", loss)
saver, init_local = tf.train.Saver(), tf.local_variables_initializer()


class Printer(tf.train.SessionRunHook):
    def begin(self):
        self.seen = []

    def before_run(self, run_context):
        return tf.train.SessionRunArgs({"loss": loss, "step": global_step})

    def after_run(self, run_context, run_values):
        self.seen.append(round(float(run_values.results["loss"]), 4))

    def end(self, session):
        print("losses", self.seen)


hooks = [tf.train.StopAtStepHook(last_step=args.steps), Printer(), tf.train.NanTensorHook(loss)]
with tf.train.MonitoredTrainingSession(
    checkpoint_dir="capsnet", hooks=hooks, save_summaries_steps=2, save_checkpoint_secs=600, log_step_count_steps=None
) as mon_sess:
    while not mon_sess.should_stop():
        _, acc = mon_sess.run([training_op, accuracy_update])
        print("acc", acc)
with tf.Session() as sess:
    saver.restore(sess, tf.train.latest_checkpoint("capsnet"))
    sess.run(init_local)
    print(sess.run(global_step), sess.run([loss, y_pred, targets], {mask_with_labels: False}))
    print([v.name for v in tf.local_variables()])
