"""Public functions that are called with tensors go to the engine at once, with the same results and errors."""

import copy
import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from engine.core.eager import applied_in_python, in_c
from tests.executor.test_eager_in_c import needs_c

pytestmark = needs_c
newer = pytest.mark.skipif(sys.version_info < (3, 12), reason="functions say how they are called from Python 3.12 on")

A = np.arange(1.0, 7.0).reshape(2, 3)
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "one": lambda t, v: tf.tanh(t),
    "variable": lambda t, v: tf.tanh(v),
    "two": lambda t, v: tf.add(t, v),
    "number": lambda t, v: tf.maximum(t, 2.5),
    "number first": lambda t, v: tf.subtract(2, t),
    "number and variable": lambda t, v: tf.multiply(v, 2.5),
    "two numbers": lambda t, v: tf.add(1.0, 2),
    "huge": lambda t, v: tf.add(tf.cast(t, tf.float32), 1e300),
    "float and integers": lambda t, v: tf.add(tf.cast(t, tf.int32), 1.5),
    "bool": lambda t, v: tf.add(t, True),
    "array": lambda t, v: tf.add(t, A),
    "list": lambda t, v: tf.add(t, [1.0, 2.0, 3.0]),
    "name": lambda t, v: tf.add(t, t, name="sum"),
    "name at the end": lambda t, v: tf.add(t, t, "sum"),
    "by name": lambda t, v: tf.add(x=t, y=t),
    "partly by name": lambda t, v: tf.add(t, y=2.0),
    "options": lambda t, v: tf.reduce_sum(t, axis=1, keepdims=True),
    "options by position": lambda t, v: tf.reduce_sum(t, 0, True),
    "options and a name": lambda t, v: tf.reduce_max(t, axis=[0], name="most"),
    "tensor by name": lambda t, v: tf.reduce_sum(input_tensor=t, axis=0),
    "a list of tensors": lambda t, v: tf.concat([t, v], axis=-1),
    "a list of all": lambda t, v: tf.stack([t, A, t * 2.0]),
    "several results": lambda t, v: tf.unstack(t, axis=1),
    "no tensor": lambda t, v: tf.shape(t, out_type=tf.int64),
    "too few": lambda t, v: tf.add(t),
    "too many": lambda t, v: tf.add(t, t, "a", t),
    "no such option": lambda t, v: tf.reduce_sum(t, axes=1),
    "no such operand": lambda t, v: tf.add(t, z=t),
    "twice": lambda t, v: tf.add(t, t, y=t),
    "nothing": lambda t, v: tf.tanh(),
    "None": lambda t, v: tf.tanh(None),
    "other dtype": lambda t, v: tf.add(t, tf.constant(1)),
    "shapes": lambda t, v: tf.matmul(t, t),
    "bad axis": lambda t, v: tf.reduce_sum(t, axis=2),
    "sparse": lambda t, v: tf.sparse.to_dense(tf.square(tf.sparse.from_dense(t))),
    "permuted": lambda t, v: tf.transpose(t, [-1, 0]),
    "badly permuted": lambda t, v: tf.transpose(t, [0, 0]),
    "expanded": lambda t, v: tf.expand_dims(tf.transpose(t), -2),
    "badly expanded": lambda t, v: tf.expand_dims(t, 4),
}


def _outcome(call: Callable[[Any, Any], Any]) -> Any:
    try:
        found = call(tf.constant(A), tf.Variable(A))
    except Exception as error:  # noqa: BLE001 - whatever it is
        return type(error), str(error)
    parts = found if isinstance(found, list) else [found]
    return type(found), [(type(x), x.dtype, x._array.tobytes(), x._array.strides) for x in parts]


@pytest.mark.parametrize("name", CALLS)
def test_results_and_errors_are_those_of_python(name: str) -> None:
    with applied_in_python():
        expected = _outcome(CALLS[name])
    assert _outcome(CALLS[name]) == expected


@newer
def test_no_frame_lies_between_the_call_and_the_op() -> None:
    seen = []
    t = tf.constant(A)
    sys.setprofile(lambda frame, event, _: seen.append(frame.f_code.co_name) if event == "call" else None)
    try:
        tf.tanh(t)
        tf.reduce_sum(t, axis=1)
    finally:
        sys.setprofile(None)
    assert "lifted" not in seen
    assert seen.count("reduce_sum") == 1


def test_functions_stay_functions() -> None:
    assert inspect.isfunction(tf.tanh)
    assert inspect.isfunction(tf.reduce_sum)
    assert copy.deepcopy(tf.tanh) is tf.tanh

    class Layer:
        activation = tf.tanh

    bound = Layer().activation
    with pytest.raises(TypeError):
        bound(tf.constant(A))


def test_what_a_shortcut_is_not_called_with() -> None:
    with pytest.raises(TypeError):
        in_c.shortcut(len, len, len, frozenset(), 0, 0, 0, 0)
    with pytest.raises(TypeError):
        in_c.shortcut(lambda: 0, len, len, set(), 0, 0, 0, 0)


@newer
def test_a_function_without_its_shortcut_is_still_one() -> None:
    def twice(x: Any) -> Any:
        return ("python", x)

    in_c.shortcut(twice, lambda x: ("target", x), lambda x: x, frozenset({"x"}), 1, 1, 1, 0)
    t = tf.constant(A)
    assert twice(t) == ("target", t)
    assert twice(1) == ("python", 1)
    assert twice(x=t) == ("python", t)
    del twice.__dict__["__shortcut__"]
    assert twice(t) == ("python", t)
