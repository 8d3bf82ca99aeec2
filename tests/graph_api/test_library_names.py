"""Names of TensorFlow 1 that libraries mention, beside TensorFlow where they compute."""

import collections
from typing import Any

import numpy as np
import pytest

import graph_api as tf


def test_types_that_numpy_has_not_are_never_equal() -> None:
    assert tf.float32 != tf.bfloat16 and tf.zeros([1]).dtype not in (tf.bfloat16, tf.resource)
    with pytest.raises(TypeError, match="bfloat16"):
        tf.zeros([1], tf.bfloat16)


def test_static_values_and_dimensions() -> None:
    x = tf.placeholder(tf.int32, [None, 3])
    np.testing.assert_array_equal(tf.get_static_value(tf.constant([1, 2]) + 1), [2, 3])
    assert tf.get_static_value(x) is None
    first, second = x.shape
    assert first.is_compatible_with(7) and second.is_compatible_with(None) and not second.is_compatible_with(4)
    assert first.merge_with(3) == 3 and second.merge_with(None) == 3
    with pytest.raises(ValueError, match="not compatible"):
        second.merge_with(4)


def test_structures() -> None:
    nest = tf.nest
    Point = collections.namedtuple("Point", "x y")
    assert nest.map_structure(lambda a, b: a + b, [1, (2,)], (3, [4]), check_types=False) == [4, (6,)]
    with pytest.raises(TypeError, match="sequence type"):
        nest.map_structure(lambda a, b: a + b, [1], (3,))
    assert nest.flatten_up_to(Point(0, [0, 0]), Point([1, 2], [3, (4,)])) == [[1, 2], 3, (4,)]
    assert nest.map_structure_up_to({"a": 0}, sum, {"a": [1, 2]}) == {"a": 3}
    with pytest.raises(ValueError, match="sequence length"):
        nest.flatten_up_to([0, 0], [1])
    pair = [tf.SparseTensor([[0, 0]], [1.0], [2, 2]), 5]
    flat = nest.flatten(pair, expand_composites=True)
    again = nest.pack_sequence_as(pair, flat, expand_composites=True)
    assert len(flat) == 4 and isinstance(again[0], tf.SparseTensor) and again[0].values is flat[1]


@pytest.mark.parametrize("name", ["scatter_update", "scatter_add", "scatter_max"])
def test_rows_of_partly_known_shapes(name: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.Variable(np.zeros((4, 2), np.float32))
        where = tf.placeholder(tf.int32, [None])
        one, many = tf.placeholder(tf.float32, [1, 2]), tf.placeholder(tf.float32, [None, 2])
        session.run(table.initializer)
        session.run(getattr(tf, name)(table, where, one), {where: [2], one: [[5, 6]]})
        session.run(getattr(tf, name)(table, where, many), {where: [0, 3], many: [[1, 2], [3, 4]]})
        expected = [[1, 2], [0, 0], [5, 6], [3, 4]]
        np.testing.assert_array_equal(session.run(table), expected)
        with pytest.raises(ValueError, match=r"\(1, 2\)"):
            session.run(getattr(tf, name)(table, where, one), {where: [0, 1], one: [[1, 1]]})
        np.testing.assert_array_equal(session.run(table), expected)


def test_records_and_devices(tmp_path: Any) -> None:
    path, options = str(tmp_path / "x"), tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
    with tf.python_io.TFRecordWriter(path, options) as writer:
        writer.write(b"one")
    assert list(tf.python_io.tf_record_iterator(path, options)) == [b"one"]
    assert not tf.test.is_gpu_available() and not tf.test.is_built_with_cuda() and tf.test.gpu_device_name() == ""
    config = tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=tf.OptimizerOptions(opt_level=1)))
    config.graph_options.rewrite_options.memory_optimization = 1
    assert tf.ConfigProto().graph_options.optimizer_options.opt_level == 0
    slots = tf.train.AdamOptimizer()
    v = tf.Variable([1.0])
    slots.minimize(tf.reduce_sum(v * v))
    assert sorted(slots._slots) == ["m", "v"] and list(slots._slots["m"].values()) == [slots.get_slot(v, "m")]


class Assertions(tf.test.TestCase):
    """What programs' own tests call."""

    def runTest(self) -> None:
        with self.assertRaisesWithLiteralMatch(ValueError, "a.c"):
            raise ValueError("a.c")
        for wrong in ("abc", "a.c."):
            with pytest.raises(AssertionError), self.assertRaisesWithLiteralMatch(ValueError, "a.c"):
                raise ValueError(wrong)
        self.assertDeviceEqual("/device:CPU:0", "/cpu:0")
        self.assertBetween(1, 0, 1)
        self.assertNotEmpty([0])
        self.assertSameElements([1, 2, 2], [2, 1])
        self.assertContainsSubset([1], [1, 2])
        for refused in (
            lambda: self.assertDeviceEqual("/cpu:0", "/gpu:0"),
            lambda: self.assertBetween(2, 0, 1),
            lambda: self.assertNotEmpty([]),
            lambda: self.assertSameElements([1], [2]),
            lambda: self.assertContainsSubset([3], [1, 2]),
        ):
            with pytest.raises(AssertionError):
                refused()


def test_assertions() -> None:
    Assertions().debug()


@pytest.mark.parametrize("name", [n for n in dir(tf.train) if n.endswith("Optimizer") and n != "Optimizer"])
def test_optimizers_are_made_of_the_base_alone(name: str) -> None:
    assert getattr(tf.train, name).__bases__ == (tf.train.Optimizer,)  # libraries look at it
