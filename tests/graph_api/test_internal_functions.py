"""Functions of TensorFlow's internal modules that programs import."""

from __future__ import annotations

import numpy as np

import graph_api as tf
from dualgrad.migrate.hook import find


def test_slots_are_named_after_their_variables() -> None:
    creator = find("python.training.slot_creator", "1")
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("a/v", [3])
        zeros = creator.create_zeros_slot(v, "momentum")
        with tf.variable_scope("scope"):
            ones = creator.create_slot(v, tf.ones([3]), "second")
            double = creator.create_zeros_slot(v, "third", dtype=tf.float64)
        assert [s.name for s in (zeros, ones, double)] == ["a/v/momentum:0", "scope/a/v/second:0", "scope/a/v/third:0"]
        assert tf.trainable_variables() == [v]
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run([zeros, ones]), [[0, 0, 0], [1, 1, 1]])
        assert session.run(double).dtype == np.float64


def test_there_is_one_device() -> None:
    (device,) = find("python.client.device_lib", "1").list_local_devices()
    assert (device.name, device.device_type) == ("/device:CPU:0", "CPU")


def test_loops_that_are_independent() -> None:
    loops = find("python.ops.parallel_for.control_flow_ops", "1")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(np.arange(6.0).reshape(3, 2))
        rows = loops.pfor(lambda i: tf.reduce_sum(tf.gather(x, i) ** 2), 3)
        rows_again = tf.vectorized_map(lambda row: tf.reduce_sum(row**2), x)
        jacobian = find("python.ops.parallel_for.gradients", "1").jacobian(rows, x)
        values, again, slopes = session.run([rows, rows_again, jacobian])
    np.testing.assert_array_equal(values, [1, 13, 41])
    np.testing.assert_array_equal(values, again)
    assert slopes.shape == (3, 3, 2)
    assert slopes[1, 1].tolist() == [4, 6]


def test_static_shapes_are_broadcast() -> None:
    shapes = find("python.framework.common_shapes", "1")
    assert shapes.broadcast_shape([3, 1], [None, 4]).as_list() == [3, 4]
