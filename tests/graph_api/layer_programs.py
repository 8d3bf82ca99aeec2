"""Programs with layers and cells, run with our graph API and with real TensorFlow's: names and numbers must agree.

TensorFlow has had its layers in the package ``tf_keras`` since 2.16. ``python -m tests.graph_api.layer_programs`` runs
the programs there and prints what they return, pickled.
"""

import base64
import os
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np


def described(tf: Any) -> dict[str, Any]:
    """The variables of the default graph, what is trained, and the collections that layers add to."""
    trained = {v.name for v in tf.trainable_variables()}
    keys = tf.GraphKeys
    return {
        "variables": [(v.name, tuple(v.shape.as_list()), v.name in trained) for v in tf.global_variables()],
        "penalties": [x.name for x in tf.get_collection(keys.REGULARIZATION_LOSSES)],
        "updates": len(tf.get_collection(keys.UPDATE_OPS)),
    }


def values_for(variables: Any) -> dict[str, np.ndarray]:
    """Values for variables, which depend on their names only."""
    found = {}
    for v in variables:
        rng = np.random.RandomState(sum(v.name.encode()) % 1000)
        x = rng.randn(*v.shape.as_list()) * 0.3
        found[v.name] = (abs(x) + 0.5 if "moving" in v.name else x).astype(v.dtype.as_numpy_dtype)
    return found


def numbers(tf: Any, fetches: Any, feeds: dict[Any, Any], last: Any = ()) -> list[np.ndarray]:
    """What the fetches give with the values of `values_for`, then the updates are run and `last` is fetched."""
    values = values_for(tf.global_variables())
    setting = [tf.assign(v, values[v.name]) for v in tf.global_variables()]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(setting)
        found = list(session.run(fetches, feeds))
        session.run(tf.get_collection(tf.GraphKeys.UPDATE_OPS), feeds)
        found += session.run(list(last), feeds)
    return [np.asarray(x) for x in found]


def dense(tf: Any) -> dict[str, Any]:
    """Dense layers with penalties, normalization and dropout; names, sharing, collections."""
    rng = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    with tf.variable_scope("s"):
        h = tf.layers.dense(
            x, 4, activation=tf.nn.relu, kernel_regularizer=lambda w: tf.reduce_sum(w * w),
            activity_regularizer=lambda y: tf.reduce_sum(y),
        )  # fmt: skip
        h = tf.layers.dense(h, 4, tf.nn.tanh)
        normal = tf.layers.batch_normalization(h, training=True)
        tf.layers.dropout(normal, training=True)
    out = tf.layers.dense(normal, 2, name="out", reuse=tf.AUTO_REUSE)
    again = tf.layers.dense(tf.zeros([5, 4]), 2, name="out", reuse=True)
    layer = tf.layers.Dense(3, name="dd")
    first, second = layer(out), layer(again)
    with tf.variable_scope("r"):
        a = tf.layers.dense(x, 2)
    with tf.variable_scope("r", reuse=True):
        b = tf.layers.dense(x, 2)
    with tf.variable_scope("q", initializer=tf.constant_initializer(0.5), regularizer=lambda w: tf.reduce_sum(w)):
        frozen = tf.layers.dense(x, 2, trainable=False)
        deep = tf.layers.dense(tf.zeros([2, 3, 4]), 2)
    double = tf.layers.dense(tf.zeros([2, 3], tf.float64), 2)
    named = [y.name for y in (out, again, first, second, a, b, frozen)]
    known = described(tf)
    wanted = [v for v in tf.trainable_variables() if v.name.startswith(("s/", "out/", "dd/"))]
    gradients = tf.gradients(tf.reduce_sum(first**2) + tf.reduce_sum(out**2), wanted)
    penalties = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    moving = [v for v in tf.global_variables() if "moving" in v.name]
    fetches = [out, again, first, second, a, b, frozen, deep, *gradients, *penalties]
    found = numbers(tf, fetches, {x: rng.randn(6, 3)}, moving)
    return {**known, "names": named, "double": double.dtype.name, "numbers": found}


def images(tf: Any) -> dict[str, Any]:
    """Convolutions, pools and normalization of images and sequences."""
    rng = np.random.RandomState(1)
    im = tf.placeholder(tf.float32, [None, 8, 8, 3])
    c = tf.layers.conv2d(im, 4, 3, activation=tf.nn.relu)
    c = tf.layers.batch_normalization(c, training=True, momentum=0.9)
    c = tf.layers.separable_conv2d(c, 4, 3, depth_multiplier=2)
    c = tf.layers.conv2d_transpose(c, 4, 3, strides=2, padding="same")
    c = tf.layers.max_pooling2d(c, 2, 2)
    c = tf.layers.average_pooling2d(c, 2, 1, padding="same")
    c = tf.reshape(c, [-1, 16, 4])
    c = tf.layers.average_pooling1d(c, 2, 2)
    c = tf.layers.conv1d(c, 3, 2, padding="same", dilation_rate=2)
    c = tf.layers.separable_conv1d(c, 3, 2, padding="same")
    c = tf.layers.max_pooling1d(c, 2, 1)
    volume = tf.layers.conv3d(tf.reshape(im, [-1, 4, 4, 4, 3]), 2, 2)
    volume = tf.layers.conv3d_transpose(volume, 2, 2, strides=2)
    volume = tf.layers.max_pooling3d(volume, 2, 2) + tf.layers.average_pooling3d(volume, 2, 2)
    flat = tf.layers.flatten(c)
    known = described(tf)
    loss = tf.reduce_sum(flat**2) + tf.reduce_sum(volume**2)
    gradients = tf.gradients(loss, [im, *tf.trainable_variables()])
    moving = [v for v in tf.global_variables() if "moving" in v.name]
    found = numbers(tf, [flat, volume, *gradients], {im: rng.randn(2, 8, 8, 3)}, moving)
    return {**known, "names": [flat.name], "numbers": found}


def loops(tf: Any) -> dict[str, Any]:
    """All cells, in all loops."""
    cells = tf.nn.rnn_cell
    x, lengths = tf.placeholder(tf.float32, [2, 7, 3]), tf.placeholder(tf.int32, [2])
    rows = tf.unstack(x, axis=1)
    found = [tf.nn.dynamic_rnn(cells.BasicLSTMCell(5), x, dtype=tf.float32)]
    with tf.variable_scope("p"):
        peepholes = cells.LSTMCell(5, use_peepholes=True, num_proj=3, cell_clip=0.4, proj_clip=0.3)
        found.append(tf.nn.dynamic_rnn(peepholes, x, lengths, dtype=tf.float32))
    with tf.variable_scope("q"):
        layers = cells.MultiRNNCell([cells.GRUCell(4), cells.BasicRNNCell(3)])
        found.append(tf.nn.dynamic_rnn(layers, x, lengths, dtype=tf.float32))
        found.append(tf.nn.static_rnn(cells.GRUCell(4), rows, dtype=tf.float32, sequence_length=lengths))
        both = cells.GRUCell(4), cells.BasicLSTMCell(4)
        found.append(tf.nn.bidirectional_dynamic_rnn(*both, x, dtype=tf.float32, sequence_length=lengths))
    with tf.variable_scope("z"):
        whole = cells.BasicLSTMCell(4, state_is_tuple=False, forget_bias=0.3, activation=tf.nn.relu)
        start = {"initial_state": tf.ones([2, 8]), "time_major": True}
        found.append(tf.nn.dynamic_rnn(whole, tf.transpose(x, [1, 0, 2]), **start))
    flat = [y for part in found for y in leaves(part)]
    return {**described(tf), "numbers": _with_gradients(tf, flat, {x: _sequence(), lengths: [7, 4]})}


def wrappers(tf: Any) -> dict[str, Any]:
    """Wrappers, cells of a program's own, and `raw_rnn`."""
    cells = tf.nn.rnn_cell
    x, lengths = tf.placeholder(tf.float32, [2, 7, 3]), tf.placeholder(tf.int32, [2])

    class Old(cells.RNNCell):  # type: ignore[misc, name-defined]
        state_size, output_size = 3, 2

        def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
            with tf.variable_scope(scope or type(self).__name__):
                new = tf.tanh(tf.matmul(tf.concat([inputs, state], 1), tf.get_variable("w", [6, 3])))
            return new[:, :2], new

    class New(cells.RNNCell):  # type: ignore[misc, name-defined]
        state_size, output_size = 3, 2

        def call(self, inputs: Any, state: Any) -> Any:
            joined = tf.concat([inputs, state], 1)
            new = tf.tanh(tf.layers.dense(joined, 3) + tf.matmul(joined, tf.get_variable("w", [6, 3])))
            return new[:, :2], new

    with tf.variable_scope("d"):
        dropped = cells.DropoutWrapper(cells.BasicLSTMCell(4, name="mine"), output_keep_prob=1.0)
        deep = cells.MultiRNNCell([dropped, cells.LSTMCell(3, initializer=tf.constant_initializer(0.2))])
        cell = cells.ResidualWrapper(deep)
        found = [tf.nn.dynamic_rnn(cell, x, initial_state=cell.zero_state(2, tf.float32))]
        found += [tf.nn.dynamic_rnn(c, x, dtype=tf.float32) for c in (Old(), New())]
    with tf.variable_scope("w"):
        cell = cells.LSTMCell(3)

        def step(time: Any, output: Any, state: Any, _: Any) -> Any:
            ended = time >= lengths
            given = tf.cond(tf.reduce_all(ended), lambda: tf.zeros([2, 3]), lambda: x[:, tf.minimum(time, 6)])
            return ended, given, cell.zero_state(2, tf.float32) if output is None else state, output, None

        emitted, last, _ = tf.nn.raw_rnn(cell, step)
        found.append((emitted.stack(), last))
    flat = [y for part in found for y in leaves(part)]
    return {**described(tf), "numbers": _with_gradients(tf, flat, {x: _sequence(), lengths: [7, 4]})}


def leaves(structure: Any) -> list[Any]:
    """The tensors in lists and tuples."""
    return [y for part in structure for y in leaves(part)] if isinstance(structure, (list, tuple)) else [structure]


def _sequence() -> np.ndarray:
    return np.random.RandomState(3).randn(2, 7, 3)


def _with_gradients(tf: Any, found: Any, feeds: dict[Any, Any]) -> list[np.ndarray]:
    """Values, and the gradients of their squares with respect to the first feed and all variables."""
    loss = tf.add_n([tf.reduce_sum(y**2) for y in found])
    gradients = tf.gradients(loss, [next(iter(feeds)), *tf.trainable_variables()])
    return numbers(tf, [*found, *gradients], feeds)


PROGRAMS: dict[str, Callable[[Any], dict[str, Any]]] = {f.__name__: f for f in (dense, images, loops, wrappers)}


def main() -> None:
    """Run all of them with real TensorFlow."""
    os.environ.update(TF_USE_LEGACY_KERAS="1", TF_CPP_MIN_LOG_LEVEL="3")
    import tensorflow.compat.v1 as tf

    tf.disable_eager_execution()
    found = {}
    for name, program in PROGRAMS.items():
        tf.reset_default_graph()
        found[name] = program(tf)
    sys.stdout.write(f"result:{base64.b64encode(pickle.dumps(found)).decode()}\n")


if __name__ == "__main__":
    main()
