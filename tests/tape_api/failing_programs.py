"""Programs that fail under TensorFlow 2, as functions of the module that they import as ``tf``."""

from typing import Any

import numpy as np


def _tape(tf: Any, persistent: bool = False) -> tuple[Any, Any, Any]:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape(persistent=persistent) as tape:
        tape.watch(x)
        y = x * x
    return tape, y, x


def _second_call(tf: Any) -> None:
    tape, y, x = _tape(tf)
    tape.gradient(y, x)
    tape.gradient(y, x)


def _second_jacobian(tf: Any) -> None:
    tape, y, x = _tape(tf)
    tape.jacobian(y, x)
    tape.jacobian(y, x)


def _batch_sizes(tf: Any) -> None:
    tape, _, x = _tape(tf, persistent=True)
    with tape:
        z = x[:1] * 2.0
    tape.batch_jacobian(z, x)


def _enter_twice(tf: Any) -> None:
    with tf.GradientTape() as tape, tape:
        pass


def _reset_outside(tf: Any) -> None:
    _tape(tf, persistent=True)[0].reset()


def _stop_outside(tf: Any) -> None:
    with _tape(tf, persistent=True)[0].stop_recording():
        pass


def _two_gradients(tf: Any) -> None:
    f = tf.custom_gradient(lambda x: (x * 2.0, lambda up: (up, up)))
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    tape.gradient(y, x)


def _no_variables_argument(tf: Any) -> None:
    v = tf.Variable(1.0)
    f = tf.custom_gradient(lambda x: (x * v, lambda up: up))
    with tf.GradientTape():
        f(tf.constant(1.0))


def _with_output_gradient(tf: Any, given: Any) -> None:
    tape, y, x = _tape(tf)
    tape.gradient(y, x, output_gradients=given)


def _item_assignment(tf: Any) -> None:
    x = tf.constant([1.0])
    x[0] = 2.0


FAILING = {
    "second gradient": _second_call,
    "second jacobian": _second_jacobian,
    "batch sizes": _batch_sizes,
    "enter twice": _enter_twice,
    "reset outside": _reset_outside,
    "stop recording outside": _stop_outside,
    "two gradients for one argument": _two_gradients,
    "variables not taken": _no_variables_argument,
    "target None": lambda tf: _tape(tf)[0].gradient(None, tf.constant(1.0)),
    "policy": lambda tf: _tape(tf)[0].gradient(*_tape(tf)[1:], unconnected_gradients="nonsense"),
    "output gradient's shape": lambda tf: _with_output_gradient(tf, tf.ones([3])),
    "output gradient's dtype": lambda tf: _with_output_gradient(tf, tf.ones([2, 2], tf.float64)),
    "float32 and float64": lambda tf: tf.constant(1.0) + tf.constant(1.0, tf.float64),
    "int32 and 1.5": lambda tf: tf.constant(1) + 1.5,
    "dtypes of ==": lambda tf: tf.constant(1.0) == tf.constant(1),
    "int32 == 1.5": lambda tf: tf.constant(1) == 1.5,
    "constant of the wrong kind": lambda tf: tf.constant([1.5], tf.int32),
    "constant None": lambda tf: tf.constant(None),
    "ragged": lambda tf: tf.constant([[1, 2], [3]]),
    "too large": lambda tf: tf.constant(2**70),
    "object": lambda tf: tf.constant(object()),
    "another dtype asked for": lambda tf: tf.convert_to_tensor(tf.constant(1.0), tf.int32),
    "variable of nothing": lambda tf: tf.Variable(),
    "variable of another shape": lambda tf: tf.Variable([1.0, 2.0], shape=[3]),
    "assign shape": lambda tf: tf.Variable([1.0, 2.0]).assign([1.0]),
    "assign dtype": lambda tf: tf.Variable([1.0, 2.0]).assign(tf.constant([1, 2])),
    "assign_add shape": lambda tf: tf.Variable([1.0, 2.0]).assign_add(tf.constant(1.0)),
    "hash": lambda tf: hash(tf.constant(1.0)),
    "hash of a variable": lambda tf: hash(tf.Variable(1.0)),
    "len of a scalar": lambda tf: len(tf.constant(1.0)),
    "iterate over a scalar": lambda tf: list(tf.constant(1.0)),
    "bool of many": lambda tf: bool(tf.constant([1.0, 2.0])),
    "float of many": lambda tf: float(tf.constant([1.0, 2.0])),
    "item assignment": _item_assignment,
    "attribute": lambda tf: tf.constant(1.0).nonsense,
    "module attribute": lambda tf: tf.nonsense,
    "index out of range": lambda tf: tf.constant([1.0, 2.0])[5],
    "index of a scalar": lambda tf: tf.constant(1.0)[0],
    "matmul": lambda tf: tf.matmul(tf.ones([2, 3]), tf.ones([2, 3])),
    "matmul of vectors": lambda tf: tf.matmul(tf.ones([2]), tf.ones([2])),
    "add": lambda tf: tf.ones([2]) + tf.ones([3]),
    "reshape": lambda tf: tf.reshape(tf.ones([2]), [3]),
    "gather": lambda tf: tf.gather(tf.ones([2]), [2]),
    "negative gather": lambda tf: tf.gather(tf.ones([2]), [-1]),
    "concat": lambda tf: tf.concat([tf.ones([2]), tf.ones([2, 2])], 0),
    "axis": lambda tf: tf.reduce_sum(tf.ones([2]), axis=2),
    "sin of an integer": lambda tf: tf.sin(1),
    "gradients": lambda tf: tf.gradients(tf.constant(1.0), tf.constant(1.0)),
    "dense units": lambda tf: tf.keras.layers.Dense(0),
    "dense activation": lambda tf: tf.keras.layers.Dense(1, activation="nonsense"),
    "dense input": lambda tf: tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])(np.ones((1, 3))),
    "set_weights": lambda tf: tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))]).set_weights([1.0]),
    "add no layer": lambda tf: tf.keras.Sequential().add(3),
    "check_numerics": lambda tf: tf.debugging.check_numerics(tf.constant([float("nan")]), "message"),
    "assert_equal": lambda tf: tf.debugging.assert_equal(tf.constant(1), tf.constant(2)),
    "ensure_shape": lambda tf: tf.ensure_shape(tf.ones([2]), [3]),
}
