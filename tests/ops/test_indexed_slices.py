"""Gradients of gathered rows: they stay rows, add up when made dense, and serve wherever a tensor does."""

from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.closed.replay import COMPILE_AFTER, counters
from engine.ops.indexed_slices import IndexedSlices, IndexedSlicesValue
from tests.tapes import gradient_in, watching

E = np.arange(6.0).reshape(3, 2)
INDICES = [2, 0, 2]
DENSE = np.array([[0.0, 2.0], [0.0, 0.0], [16.0, 20.0]])


def on_tape(indices: Any = INDICES) -> Any:
    """The gradient of the sum of squares of some rows of a variable."""
    v = tape_api.Variable(E)
    tape, y = watching((), lambda: tape_api.reduce_sum(tape_api.gather(v, indices) ** 2))
    return tape.gradient(y, v)


def test_rows_on_a_tape() -> None:
    g = on_tape()
    assert isinstance(g, tape_api.IndexedSlices)
    assert g.shape == (3, 2) and g.dtype == np.float64
    np.testing.assert_array_equal(g.indices.numpy(), INDICES)
    np.testing.assert_array_equal(g.values.numpy(), 2 * E[INDICES])
    np.testing.assert_array_equal(g.dense_shape.numpy(), [3, 2])
    np.testing.assert_array_equal(tape_api.convert_to_tensor(g).numpy(), DENSE)


def test_indices_of_higher_rank_are_flattened() -> None:
    g = on_tape([[2, 0], [1, 1]])
    assert g.values.shape == (4, 2) and g.indices.shape == (4,)
    np.testing.assert_array_equal(g.dense().numpy(), 2 * E * [[1], [2], [1]])


def test_rows_in_a_graph() -> None:
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(E)
        (g,) = tf.gradients(tf.reduce_sum(tf.gather(v, INDICES) ** 2), v)
        assert isinstance(g, tf.IndexedSlices) and g.graph is tf.get_default_graph()
        session.run(tf.global_variables_initializer())
        value, dense, doubled = session.run([g, tf.convert_to_tensor(g), tf.multiply(g, 2.0)])
    assert isinstance(value, IndexedSlicesValue)
    np.testing.assert_array_equal(value.indices, INDICES)
    np.testing.assert_array_equal(value.dense_shape, [3, 2])
    np.testing.assert_array_equal(dense, DENSE)
    np.testing.assert_array_equal(doubled, 2 * DENSE)


def test_sums_stay_rows_until_something_dense_joins() -> None:
    v = tape_api.Variable(E)
    with tape_api.GradientTape(persistent=True) as tape:
        rows = tape_api.reduce_sum(tape_api.gather(v, [0])) + tape_api.reduce_sum(tape_api.gather(v, [0, 1]))
        mixed = rows + tape_api.reduce_sum(v)
    g = tape.gradient(rows, v)
    assert isinstance(g, IndexedSlices)
    np.testing.assert_array_equal(g.dense().numpy(), [[2, 2], [1, 1], [0, 0]])
    np.testing.assert_array_equal(tape.gradient(mixed, v).numpy(), [[3, 3], [2, 2], [1, 1]])


def test_what_lies_behind_a_gathered_value_gets_a_dense_cotangent() -> None:
    v = tape_api.Variable(E)
    with tape_api.GradientTape() as tape:
        doubled = v * 2.0
        y = tape_api.reduce_sum(tape_api.gather(doubled, INDICES))
    inner, outer = tape.gradient(y, [doubled, v])
    assert isinstance(inner, IndexedSlices)
    np.testing.assert_array_equal(outer.numpy(), [[2, 2], [0, 0], [4, 4]])


def test_other_axes_are_dense() -> None:
    v = tape_api.Variable(E)
    tape, y = watching((), lambda: tape_api.reduce_sum(tape_api.gather(v, [1, 1], axis=1)))
    np.testing.assert_array_equal(tape.gradient(y, v).numpy(), [[0, 2]] * 3)


def test_a_compiled_walk_gives_the_same_rows() -> None:
    first = on_tape()
    before = counters["replayed"]
    for indices in ([0, 1, 2], [1, 1, 1], INDICES) * (COMPILE_AFTER + 1):
        g = on_tape(indices)
        np.testing.assert_array_equal(g.indices.numpy(), indices)
    assert counters["replayed"] > before
    np.testing.assert_array_equal(g.values.numpy(), first.values.numpy())
    np.testing.assert_array_equal(g.dense().numpy(), DENSE)


def test_second_derivative() -> None:
    x = tape_api.constant(E)
    with tape_api.GradientTape() as outer:
        outer.watch(x)
        total = tape_api.reduce_sum(gradient_in(x, lambda: tape_api.reduce_sum(tape_api.gather(x, INDICES) ** 3)))
    np.testing.assert_array_equal(tape_api.convert_to_tensor(outer.gradient(total, x)).numpy(), 6 * E * [[1], [0], [2]])


def test_jacobians_and_hessians_are_dense() -> None:
    x = tape_api.constant(E)
    assert gradient_in(x, lambda: tape_api.gather(x, [1, 1]), method="jacobian").shape == (2, 2, 3, 2)
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        p = tf.placeholder(tf.float64, [3, 2])
        (h,) = tf.hessians(tf.reduce_sum(tf.gather(p, INDICES) ** 2), p)
        np.testing.assert_array_equal(session.run(h, {p: E}).reshape(6, 6), np.diag([2.0, 2, 0, 0, 4, 4]))


def test_optimizers_and_clipping_take_rows() -> None:
    v = tape_api.Variable(E)
    tape, y = watching((), lambda: tape_api.reduce_sum(tape_api.gather(v, INDICES) ** 2))
    g = tape.gradient(y, v)
    (clipped,), norm = tape_api.clip_by_global_norm([g], 1.0)
    # as in TensorFlow, rows of equal index count one by one
    expected = np.linalg.norm(2 * E[INDICES])
    np.testing.assert_allclose(norm.numpy(), expected)
    assert isinstance(clipped, IndexedSlices)
    np.testing.assert_allclose(clipped.dense().numpy(), DENSE / expected)
    tape_api.keras.optimizers.SGD(0.5).apply_gradients([(g, v)])
    np.testing.assert_allclose(v.numpy(), E - 0.5 * DENSE)


def test_made_by_hand() -> None:
    g = tape_api.IndexedSlices(tape_api.constant([[1.0], [2.0], [3.0]]), tape_api.constant([1, 0, 1]), [2, 1])
    np.testing.assert_array_equal(tape_api.convert_to_tensor(g).numpy(), [[2], [4]])
    with pytest.raises(ValueError, match="dense_shape"):
        tape_api.IndexedSlices(tape_api.constant([[1.0]]), tape_api.constant([0])).dense()


def test_whole_rows_by_index_vectors_and_parts_that_are_fed_or_chosen() -> None:
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(E)
        (rows,), (entries,) = [tf.gradients(tf.gather_nd(x, at) ** 2, x) for at in ([[2], [0]], [[2, 0], [0, 1]])]
        assert isinstance(rows, tf.IndexedSlices) and not isinstance(entries, tf.IndexedSlices)
        np.testing.assert_array_equal(session.run(tf.convert_to_tensor(rows)), 2 * E * [[1], [0], [1]])
        fed = tf.IndexedSlices(tf.placeholder(tf.float64, [None]), tf.placeholder(tf.int32, [None]))
        for given in (([1.0, 2.0], [0, 1]), ([1.0, 2.0], [0, 1], None)):
            assert session.run(fed, {fed: given}).values.tolist() == [1.0, 2.0]
        with pytest.raises(TypeError, match="tuple of 2"):
            session.run(fed, {fed: ([1.0],)})
        g = tf.IndexedSlices(x[:1], tf.constant([1]), tf.constant([3, 2], tf.int64))
        double = tf.IndexedSlices(g.values * 2, g.indices, g.dense_shape)
        found = session.run(tf.cond(tf.reduce_sum(x) < 0, lambda: g, lambda: double))
    np.testing.assert_array_equal(found.values, 2 * E[:1])
    assert found.dense_shape.dtype == np.int64
