"""Arguments that TensorFlow refuses, where a number would come out otherwise: kinds, bounds, declared shapes."""

from collections.abc import Callable
from typing import Any

import pytest

import graph_api as tf
from graph_api.legacy.internal_functions import prevent_gradient


@pytest.mark.parametrize(
    ("kind", "words", "call"),
    [
        (TypeError, "float32 not in list of allowed", lambda x: tf.argmax(x, output_type=tf.float32)),
        (TypeError, "float64 not in list of allowed", lambda x: tf.argmin(x, output_type=tf.float64)),
        (ValueError, r"number of rows \(2\), got: 3", lambda x: tf.matrix_band_part(x, 3, 0)),
        (ValueError, r"number of columns \(3\), got: 4", lambda x: tf.matrix_band_part(x, 0, 4)),
        (ValueError, r"Shapes \(3,\) and \(2, 3\) are not compatible", lambda x: tf.accumulate_n([x], shape=[3])),
        (TypeError, "`tensor_dtype` argument is int32", lambda x: tf.accumulate_n([x], tensor_dtype=tf.int32)),
        (ValueError, "must have the same dtype as x", lambda x: tf.train.piecewise_constant(3, [1.0], [0.1, 0.2])),
        (ValueError, "must have the same dtype as x", lambda x: tf.train.piecewise_constant(3.0, [1], [0.1, 0.2])),
        (LookupError, "Reason: 'not here'", lambda x: tf.gradients(prevent_gradient(x, "not here"), x)),
    ],
)
def test_what_is_refused(kind: type[Exception], words: str, call: Callable[[Any], Any]) -> None:
    with tf.Graph().as_default(), pytest.raises(kind, match=words):
        call(tf.ones([2, 3]))


def test_what_is_not() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.ones([2, 3])
        assert sess.run(tf.matrix_band_part(x, 2, 3)).sum() == 6
        assert sess.run(tf.argmax(x, output_type=tf.int32)).dtype == "int32"
        assert sess.run(tf.accumulate_n([x, x], [None, 3], tf.float32)).sum() == 12
        assert sess.run(prevent_gradient(x)).sum() == 6
        assert sess.run(tf.train.piecewise_constant(tf.constant(3, tf.int64), [1], [0.5, 0.25])) == 0.25
        assert tf.matmul(tf.ones([2, 2, 2]), tf.ones([2, 2, 2])).name == "MatMul:0"
