"""`TensorArray`: what places hold that nothing was written to, and which elements go together."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api


def _value(tf: ModuleType, x: Any) -> np.ndarray:
    return x.numpy() if tf is tape_api else graph_api.Session().run(x)


@pytest.mark.parametrize("tf", [graph_api, tape_api])
def test_zeros_are_where_nothing_was_written(tf: ModuleType) -> None:
    with graph_api.Graph().as_default():
        array = tf.TensorArray(tf.float32, 3).write(1, [1.0, 2.0])
        assert _value(tf, array.stack()).tolist() == [[0, 0], [1, 2], [0, 0]]
        assert _value(tf, array.read(2)).tolist() == [0, 0]


def test_what_has_been_read_is_not_taken_for_zeros() -> None:
    array = tape_api.TensorArray(tape_api.float32, 2).write(0, 1.0)
    array.read(0)
    with pytest.raises(tape_api.errors.InvalidArgumentError, match="index 0 has been read already"):
        array.stack()
    assert array.write(0, 5.0).stack().numpy().tolist() == [5, 0]


def test_elements_have_the_shape_of_the_first_unless_told_otherwise() -> None:
    tf = tape_api
    with pytest.raises(ValueError, match=r"TensorArray.write: the elements have shape \(2,\), got \(3,\)"):
        tf.TensorArray(tf.float32, 2).write(0, [1.0, 2.0]).write(1, [1.0, 2.0, 3.0])
    ragged = tf.TensorArray(tf.float32, 2, infer_shape=False).write(0, [1.0]).write(1, [2.0, 3.0])
    assert ragged.concat().numpy().tolist() == [1, 2, 3]
    with pytest.raises(tf.errors.InvalidArgumentError, match="give `element_shape`"):
        tf.TensorArray(tf.float32, 2).stack()


def test_split_fills_it_with_parts_that_have_gradients() -> None:
    tf = tape_api
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        array = tf.TensorArray(tf.float32, 2).split(x, [1, 2])
        y = array.read(1) * array.read(0)
    assert tape.gradient(y, x).numpy().tolist() == [5, 1, 1]


@pytest.mark.parametrize("tf", [graph_api, tape_api])
def test_split_into_equal_parts_by_lengths_of_any_kind(tf: ModuleType) -> None:
    with graph_api.Graph().as_default():
        x = tf.constant([1.0, 2.0, 3.0, 4.0])
        for lengths in ([2, 2], np.array([2, 2]), tf.constant([2, 2])):
            array = tf.TensorArray(tf.float32, 2).split(x, lengths)
            assert _value(tf, array.stack()).tolist() == [[1, 2], [3, 4]]
        assert _value(tf, tf.TensorArray(tf.float32, 0, dynamic_size=True).split(x, [1] * 4).size()) == 4
        with pytest.raises(tf.errors.InvalidArgumentError, match="`lengths` has 2 numbers, but the array has size 5"):
            tf.TensorArray(tf.float32, 5).split(x, [2, 2])


def test_elements_of_a_graph_have_one_shape() -> None:
    tf = graph_api
    with tf.Graph().as_default():
        for lengths in ([1, 2], tf.placeholder(tf.int32, [2])):
            with pytest.raises(
                tf.errors.UnimplementedError, match=r"`lengths` must be a list of equal .* or use tf.split"
            ):
                tf.TensorArray(tf.float32, 2).split(tf.constant([1.0, 2.0, 3.0]), lengths)
