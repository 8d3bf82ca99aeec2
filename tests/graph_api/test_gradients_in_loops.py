"""`gradients` in the body of a loop, of what its elements are made of: what TensorFlow 2.21 gives."""

from typing import Any

import numpy as np
import pytest

import graph_api as tf
from engine.runtime.errors import UnimplementedError
from tests.graph_api.running import run

a_value = np.float32([5.0, 3.0, 2.0])


def test_jacobians_by_loops_over_rows() -> None:
    """What TensorFlow 2.21 gives with its newer control flow; with the older one it raises."""
    a = tf.constant(a_value)
    b = tf.square(a)
    by_map = tf.map_fn(lambda v: tf.gradients(v, a)[0], b)
    of_rows = tf.map_fn(lambda v: tf.gradients(v, b)[0], b)
    mixed = tf.map_fn(lambda v: tf.gradients(v * a[0], a)[0], b)
    by_scan = tf.scan(lambda s, v: s + tf.gradients(v, a)[0], b, tf.zeros([3]))
    backwards = tf.scan(lambda s, v: tf.gradients(v, a)[0], b, tf.zeros([3]), reverse=True)
    by_fold = tf.foldl(lambda s, v: s + tf.gradients(v, a)[0], b, tf.zeros([3]))
    found = run([by_map, of_rows, mixed, by_scan, backwards, by_fold])
    jacobian = np.diag(2 * a_value)
    expected = [jacobian, np.eye(3), [[75, 0, 0], [9, 30, 0], [4, 0, 20]], jacobian.cumsum(0), jacobian, 2 * a_value]
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one, other)


def test_jacobians_by_nested_loops_and_of_variables() -> None:
    w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    y = w * w
    by_rows = tf.map_fn(lambda row: tf.map_fn(lambda e: tf.gradients(e, w)[0], row), y)
    in_a_branch = tf.map_fn(
        lambda row: tf.cond(row[0] > 1.0, lambda: tf.gradients(row[1], w)[0], lambda: tf.zeros([2, 2])), y
    )
    expected = np.zeros((2, 2, 2, 2))
    for i in range(2):
        for j in range(2):
            expected[i, j, i, j] = 2 * [[1, 2], [3, 4]][i][j]
    found = run([by_rows, in_a_branch])
    assert np.array_equal(found[0], expected)
    assert np.array_equal(found[1], [np.zeros((2, 2)), expected[1, 1]])


def test_hessians_by_loops_and_derivatives_of_what_they_give() -> None:
    a = tf.constant(a_value)
    (slopes,) = tf.gradients(tf.reduce_prod(a), a)
    hessian = tf.map_fn(lambda g: tf.gradients(g, a)[0], slopes)
    (total,) = tf.gradients(tf.reduce_sum(hessian * hessian), a)
    found = run([hessian, total, tf.hessians(tf.reduce_prod(a), a)[0]])
    x, y, z = a_value
    assert np.array_equal(found[0], [[0, z, y], [z, 0, x], [y, x, 0]]) and np.array_equal(found[0], found[2])
    assert np.array_equal(found[1], 4 * a_value)


def test_jacobian_and_hessians_in_a_body_go_through_elements_too() -> None:
    a = tf.constant(a_value)
    b = a * a * a
    rows = tf.map_fn(lambda v: tf.jacobian(v, a), b)
    second = tf.map_fn(lambda v: tf.hessians(v, a)[0], b)
    found = run([rows, second])
    assert np.array_equal(found[0], np.diag(3 * a_value**2))
    assert np.array_equal(found[1], [np.diag(6 * a_value * e) for e in np.eye(3)])


def test_rows_of_unknown_number() -> None:
    a = tf.placeholder(tf.float32, [None])
    rows = tf.map_fn(lambda v: tf.gradients(v, a)[0], a * a)
    assert np.array_equal(run(rows, {a: [1.0, 2.0]}), [[2, 0], [0, 4]])
    assert run(rows, {a: np.zeros(0)}).shape[0] == 0


def test_what_a_loop_carries_counts_as_given_unless_it_starts_with_what_depends_on_the_source() -> None:
    x, c = tf.constant(3.0), tf.constant(2.0)

    def body(i: Any, v: Any, g: Any) -> Any:
        return i + 1, v * c, g + tf.gradients(v * c, c)[0]

    assert run(tf.while_loop(lambda i, v, g: i < 2, body, (0, x, 0.0))[2]) == 9.0
    start = x * c
    for stop in (False, True):

        def step(i: Any, v: Any, stop: bool = stop) -> Any:
            return i + 1, tf.gradients(v * c, c, stop_gradients=[v] if stop else None)[0]

        if stop:
            assert run(tf.while_loop(lambda i, v: i < 2, step, (0, start))[1]) == 6.0
            continue
        with pytest.raises(UnimplementedError, match=r"leads through 'while.*starts with a value that depends on it"):
            tf.while_loop(lambda i, v: i < 2, step, (0, start))
    # the loop variable itself, and what does not lead through it, are no trouble
    newton = tf.while_loop(lambda i, v: i < 20, lambda i, v: (i + 1, v - 0.1 * tf.gradients(v * v, v)[0]), (0, start))
    assert run(newton[1]) < 0.1
    stopped = tf.scan(lambda s, v: tf.stop_gradient(s) * tf.gradients(c * c, c)[0], tf.ones([2]), start)
    assert run(stopped).tolist() == [24.0, 96.0]
    with pytest.raises(UnimplementedError, match="stop_gradients"):
        tf.foldl(lambda s, v: tf.gradients(s * v, c)[0], tf.ones([2]), start)

    def inner(v: Any) -> Any:
        return tf.while_loop(lambda w: w < 0.0, lambda w: tf.gradients(w * 2.0, c)[0], [v * 2.0])

    with pytest.raises(UnimplementedError):
        tf.while_loop(lambda v: v < 0.0, inner, [start])


def test_a_loop_goes_through_no_index_that_nobody_needs() -> None:
    graph = tf.get_default_graph()
    tf.map_fn(lambda v: tf.gradients(v * v, v)[0], tf.constant(a_value))
    assert not [node for node in graph.nodes if node.name.endswith("index")]


def test_rows_of_several_tensors_and_of_arrays_of_tensors() -> None:
    x = tf.constant(a_value)
    y, rows = x * x * x[0], tf.TensorArray(tf.float32, 3)
    pairs = tf.map_fn(lambda p: tf.gradients(p[0] * p[1], x)[0], (x * x, x), dtype=tf.float32)
    given = tf.TensorArray(tf.float32, 3).unstack(y)
    by_index = tf.while_loop(
        lambda i, _: i < 3, lambda i, r: (i + 1, r.write(i, tf.gradients(given.read(i), x)[0])), [0, rows]
    )[1].stack()
    found = run([pairs, by_index, tf.jacobian(y, x)])
    assert np.array_equal(found[0], np.diag(3 * a_value**2)) and np.array_equal(found[1], found[2])
    with pytest.raises(UnimplementedError, match="leads through"):
        tf.while_loop(
            lambda i, a, _: i < 3,
            lambda i, a, r: (i + 1, a, r.write(i, tf.gradients(a.read(i), x)[0])),
            [0, given, rows],
        )


def test_elements_of_variables_and_of_gathered_rows() -> None:
    w = tf.Variable(np.ones((4, 2), np.float32))
    rows = tf.map_fn(lambda r: tf.gradients(r * r, w)[0], w)
    looked_up = tf.map_fn(lambda r: tf.gradients(r * r, w)[0], tf.gather(w, [0, 2, 0]))
    expected = 2 * np.eye(4, dtype=np.float32)[:, :, None] * np.ones(2, np.float32)
    found = run([rows, looked_up])
    assert np.array_equal(found[0], expected) and np.array_equal(found[1], expected[[0, 2, 0]])


def test_a_gradient_that_is_none_is_still_none() -> None:
    x = tf.constant(a_value)
    with pytest.raises(ValueError, match="if that is a gradient"):
        tf.map_fn(lambda v: tf.gradients(v, x)[0], tf.floor(x))
    zeros = tf.map_fn(lambda v: tf.gradients(v, x, unconnected_gradients="zero")[0], tf.floor(x))
    assert np.array_equal(run(zeros), np.zeros((3, 3)))
