"""Variables in parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api as tf

WHOLE = np.arange(10.0, dtype=np.float32).reshape(5, 2)


@pytest.fixture(autouse=True)
def _graph() -> Any:
    with tf.Graph().as_default():
        yield


def _run(fetches: Any, first: Any = ()) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(list(first))
        return session.run(fetches)


def _halves(name: str = "v", **options: Any) -> Any:
    return tf.get_variable(name, initializer=tf.constant(WHOLE), partitioner=tf.fixed_size_partitioner(2), **options)


def test_parts_are_variables_and_the_whole_is_a_value() -> None:
    v = _halves()
    assert [part.name for part in v] == ["v/part_0:0", "v/part_1:0"] == [p.name for p in tf.trainable_variables()]
    assert (v.shape.as_list(), v.dtype, len(v), v.partitions) == ([5, 2], tf.float32, 2, [2, 1])
    loss = tf.reduce_sum(v * tf.constant(WHOLE)) + tf.reduce_sum(tf.convert_to_tensor(v))
    whole, gradients = _run([tf.identity(v), tf.gradients(loss, list(v))])
    np.testing.assert_array_equal(whole, WHOLE)
    np.testing.assert_array_equal(np.concatenate(gradients), WHOLE + 1.0)


def test_rows_are_looked_up_in_order_or_dealt_out() -> None:
    v = _halves()
    in_order = tf.nn.embedding_lookup(v, [0, 3, 4], partition_strategy="div")
    dealt = tf.nn.embedding_lookup(v, [0, 1, 2])
    found = _run([in_order, dealt])
    np.testing.assert_array_equal(found[0], WHOLE[[0, 3, 4]])
    np.testing.assert_array_equal(found[1], WHOLE[[0, 3, 1]])


def test_assignments_reach_each_part() -> None:
    v = _halves()
    (whole,) = _run([tf.identity(v)], v.assign(tf.constant(WHOLE + 5.0)))
    np.testing.assert_array_equal(whole, WHOLE + 5.0)
    with pytest.raises(ValueError, match="has 2 parts, got 1"):
        v.assign_add([tf.zeros([5, 2])])


def test_scopes_hand_partitioners_on_and_share_parts() -> None:
    split = tf.fixed_size_partitioner(2, axis=1)
    with tf.variable_scope("a", partitioner=split), tf.variable_scope("b"):
        v = tf.get_variable("v", [3, 5], regularizer=tf.reduce_sum)
    with tf.variable_scope("a/b", reuse=True):
        again = tf.get_variable("v", [3, 5], partitioner=split)
        assert [x is y for x, y in zip(v, again, strict=True)] == [True, True]
        with pytest.raises(ValueError, match="No partitioner was provided, but a partitioned version"):
            tf.get_variable("v", [3, 5])
    assert [part.shape.as_list() for part in v] == [[3, 3], [3, 2]]
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 2
    tf.get_variable("whole", [2])
    with pytest.raises(ValueError, match="an unpartitioned version of the variable was found"):
        tf.get_variable("whole", [2], partitioner=tf.fixed_size_partitioner(2))


def test_initializers_that_ask_are_told_which_part() -> None:
    seen = []

    def initial(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        seen.append((tuple(shape), *partition_info))
        return tf.zeros(shape, dtype)

    tf.get_variable("v", [5], initializer=initial, partitioner=tf.fixed_size_partitioner(2))
    assert seen == [((3,), [5], [0]), ((2,), [5], [3])]


def test_parts_are_scaled_like_the_whole() -> None:
    v = tf.get_variable(
        "v", [400, 2], initializer=tf.glorot_uniform_initializer(seed=1), partitioner=tf.fixed_size_partitioner(100)
    )
    bound = np.sqrt(6.0 / 402.0)
    assert 0.9 * bound < np.abs(_run(tf.identity(v))).max() <= bound


@pytest.mark.parametrize(
    ("counts", "words"),
    [([2, 2], "only slice"), ([2], "does not match"), (3, "sequence"), ([0, 1], "zero partitions")],
)
def test_answers_of_partitioners_are_checked(counts: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tf.get_variable("v", [4, 4], partitioner=lambda **_: counts)
    assert not tf.global_variables()


@pytest.mark.parametrize(
    ("partitioner", "shape", "dtype", "expected"),
    [
        (lambda: tf.fixed_size_partitioner(9), [4, 2], tf.float32, [4, 1]),
        (lambda: tf.variable_axis_size_partitioner(32), [4, 4], tf.float32, [2, 1]),
        (lambda: tf.variable_axis_size_partitioner(64, max_shards=2), [64], tf.float32, [2]),
        (lambda: tf.variable_axis_size_partitioner(48, bytes_per_string_element=8), [64], tf.string, [11]),
        (lambda: tf.min_max_variable_partitioner(2, min_slice_size=2 << 10), [2048], tf.float32, [2]),
        (lambda: tf.min_max_variable_partitioner(100, axis=1, min_slice_size=4 << 10), [1024, 16], tf.float32, [1, 16]),
    ],
)
def test_partitioners(partitioner: Callable[[], Any], shape: Any, dtype: Any, expected: Any) -> None:
    # numbers from TensorFlow
    assert partitioner()(shape=tf.TensorShape(shape), dtype=dtype) == expected
