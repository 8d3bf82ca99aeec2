"""Calls that TensorFlow accepts in more than one spelling, and short functions: values beside NumPy's, both modes."""

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.core.nest import flatten
from engine.runtime.errors import InvalidArgumentError

IMAGE = np.random.default_rng(3).normal(size=(2, 5, 6, 2)).astype(np.float32)
ONES = np.ones(2, np.float32)


CASES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "einsum of matrices with an ellipsis": (
        lambda tf: tf.einsum("...mk,...kn->mn", np.ones((2, 3), np.float32), np.ones((3, 2), np.float32)),
        np.full((2, 2), 3),
    ),
    "concat along a list of one axis": (lambda tf: tf.concat([[1.0], [2.0]], axis=[0]), [1, 2]),
    "add_n of a generator": (lambda tf: tf.add_n(tf.constant(float(i)) for i in range(3)), 3),
    "pinv with a cutoff for each matrix": (
        lambda tf: tf.linalg.pinv(np.array([np.diag([4.0, 1.0])] * 2, np.float32), rcond=[0.1, 0.5]),
        [np.diag([0.25, 1.0]), np.diag([0.25, 0.0])],
    ),
    "conv2d with steps in a tensor": (
        lambda tf: tf.shape(
            tf.nn.conv2d(IMAGE, np.ones((2, 2, 2, 1), np.float32), strides=tf.constant([1, 2, 2, 1]), padding="SAME")
        ),
        [2, 3, 3, 1],
    ),
    "batch_normalization of half floats by single ones": (
        lambda tf: tf.cast(
            tf.nn.batch_normalization(tf.ones([2, 2], tf.float16), ONES, 3 * ONES, 2 * ONES, None, 1.0), tf.float32
        ),
        np.full((2, 2), 2),
    ),
    "moments of integers": (lambda tf: tf.nn.moments(tf.constant([1, 2, 4]), [0]), [2, 1]),
    "vectorized_map of one row beside many": (
        lambda tf: tf.vectorized_map(lambda rows: rows[0] + rows[1], (np.ones((1, 2)), np.arange(6.0).reshape(3, 2))),
        1 + np.arange(6.0).reshape(3, 2),
    ),
    "gather_nd that ignores bad indices": (
        lambda tf: tf.gather_nd(np.arange(6.0).reshape(3, 2), [[1], [5], [-1]], bad_indices_policy="IGNORE"),
        [[2, 3], [0, 0], [0, 0]],
    ),
    "depthwise_conv2d_backprop_input": (
        lambda tf: tf.nn.depthwise_conv2d_backprop_input(
            [2, 5, 6, 2], np.ones((1, 1, 2, 1), "f"), IMAGE, [1, 1, 1, 1], "SAME"
        ),
        IMAGE,
    ),
    "depthwise_conv2d_backprop_filter": (
        lambda tf: tf.nn.depthwise_conv2d_backprop_filter(IMAGE, [1, 1, 2, 1], IMAGE, [1, 1, 1, 1], "SAME"),
        (IMAGE**2).sum((0, 1, 2)).reshape(1, 1, 2, 1),
    ),
    "atrous_conv2d_transpose": (
        lambda tf: tf.nn.atrous_conv2d_transpose(
            np.ones((1, 1, 1, 1), "f"), [[[[1.0]], [[2.0]]]], [1, 1, 3, 1], 2, "VALID"
        ),
        np.reshape([1, 0, 2], (1, 1, 3, 1)),
    ),
    "bitcast": (lambda tf: tf.bitcast(tf.constant([1.0, 2.0]), tf.int32), np.array([1, 2], np.float32).view(np.int32)),
    "unravel_index": (lambda tf: tf.unravel_index([22, 41, 37], [7, 6]), [[3, 6, 6], [4, 5, 1]]),
    "fused_batch_norm": (
        lambda tf: tf.compat.v1.nn.fused_batch_norm(IMAGE, ONES, 0 * ONES, epsilon=1e-3)[1:],
        [IMAGE.mean((0, 1, 2)), IMAGE.var((0, 1, 2), ddof=1)],
    ),
    "fused_batch_norm with statistics": (
        lambda tf: tf.compat.v1.nn.fused_batch_norm(IMAGE, ONES, ONES, ONES, 3 * ONES, 1.0, is_training=False)[0],
        (IMAGE - 1) / 2 + 1,
    ),
    "mean_pairwise_squared_error": (
        lambda tf: tf.compat.v1.losses.mean_pairwise_squared_error(np.ones((2, 3), "f"), np.eye(2, 3, dtype="f")),
        4 / 3,  # TensorFlow counts the elements of all rows in eager mode, not in graphs
    ),
}  # fmt: skip


@pytest.mark.parametrize("key", CASES)
def test_value(key: str) -> None:
    call, expected = CASES[key]
    eager = [np.asarray(leaf) for leaf in flatten(call(tape_api))]
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        built = [np.asarray(leaf) for leaf in flatten(session.run(call(graph_api)))]
    wanted = expected if len(eager) > 1 else [expected]
    for one, other, value in zip(eager, built, wanted, strict=True):
        np.testing.assert_allclose(one, np.asarray(value), 1e-5, 1e-5)
        np.testing.assert_allclose(one, other, 1e-6, 1e-6)


def test_a_constant_that_is_too_short_is_filled_in_graphs_and_refused_on_tapes() -> None:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        v = graph_api.get_variable("v", [2, 3], initializer=graph_api.constant_initializer([1.0, 2.0]))
        session.run(v.initializer)
        assert session.run(v).tolist() == [[1, 2, 2], [2, 2, 2]]
        with pytest.raises(InvalidArgumentError, match="has 2 elements, but the shape asks for 6"):
            graph_api.get_variable("w", [6], initializer=graph_api.constant_initializer([1.0, 2.0], verify_shape=True))
    with pytest.raises(InvalidArgumentError, match="has 2 elements, but the shape asks for 3"):
        tape_api.constant_initializer([1.0, 2.0])([3])


@pytest.mark.parametrize("tf", [graph_api, tape_api, tape_api.compat.v1], ids=["graph", "tape", "version 1 on tapes"])
def test_assertions_about_shapes(tf: Any) -> None:
    with graph_api.Graph().as_default():
        x, w = tf.zeros([4, 3]), tf.zeros([3, 2])
        tf.debugging.assert_shapes([(x, ("N", "D")), (w, ("D", 2))])
        tf.debugging.assert_rank_in(x, (1, 2))
        with pytest.raises(ValueError, match=r"axis -2 of .* must have size 'D': got 4 and 3"):
            tf.debugging.assert_shapes([(x, ("N", "D")), (x, ("D", "D"))])
        with pytest.raises(ValueError, match=r"must have rank in \(1, 3\)"):
            tf.debugging.assert_rank_in(x, (1, 3))
        with pytest.raises(TypeError, match="integer"):
            tf.debugging.assert_integer(x)
        with pytest.raises(ValueError, match="rank"):
            tf.debugging.assert_rank_at_least(x, 3)


def test_version_1_assertions_on_tapes_take_data_before_the_message() -> None:
    tf = tape_api.compat.v1
    tf.assert_less(1.0, 2.0, [1.0], 3, "message")
    with pytest.raises(InvalidArgumentError, match="message"):
        tf.assert_less(2.0, 1.0, [1.0], 3, "message")
    with pytest.raises(InvalidArgumentError, match="message"):
        tf.assert_positive(0.0, [1.0], 3, "message")


@pytest.mark.parametrize("tf", [graph_api, tape_api], ids=["graph", "tape"])
def test_a_test_case_of_a_program(tf: Any) -> None:
    class Case(tf.test.TestCase):  # type: ignore[misc]
        def test_good(self) -> None:
            with self.cached_session():
                self.assertAllClose(
                    {"a": tf.constant([1.0]), "b": [2.0, 3.0]}, {"a": [1.0], "b": tf.constant([2.0, 3.0])}
                )
                self.assertAllEqual(tf.constant([1, 2]), [1, 2])
                self.assertAllInRange(tf.constant([1.0, 2.0]), 1.0, 2.0)
                self.assertNotAllClose([1.0], [2.0])
                drawn = tf.random.normal([2], seed=42)
                self.assertAllClose(drawn, [-0.28077507, -0.1377521])  # TensorFlow's
                self.assertShapeEqual(np.ones(2), tf.ones(2))
                self.assertDTypeEqual(np.float32(1), np.float32)
                with self.assertRaisesWithPredicateMatch(ValueError, "of one kind"):
                    raise ValueError("of one kind")

        def test_bad(self) -> None:
            with self.cached_session():
                self.assertAllClose(tf.constant([1.0, 2.0]), [1.0, 2.1])

        def test_bad_shape(self) -> None:
            with self.cached_session():
                self.assertAllEqual(tf.constant([[1, 1]]), [1, 1])

    tf.random.normal([2], seed=42)  # begins a sequence, which each test begins again
    result = unittest.TestResult()
    unittest.TestLoader().loadTestsFromTestCase(Case).run(result)
    assert not result.errors
    assert sorted(case._testMethodName for case, _ in result.failures) == ["test_bad", "test_bad_shape"]


def test_errors_that_programs_raise_themselves() -> None:
    error = tape_api.errors.OutOfRangeError(None, None, "no more")
    assert (error.message, str(error), error.op, error.error_code) == ("no more", "no more", None, 11)
    assert error.error_code == tape_api.errors.OUT_OF_RANGE
    assert graph_api.errors.InvalidArgumentError("text").error_code == graph_api.errors.INVALID_ARGUMENT == 3


def test_shapes_and_specs_answer_what_programs_ask() -> None:
    shape = tape_api.TensorShape([2, None])
    assert shape.with_rank_at_least(1) == shape
    with pytest.raises(ValueError, match="at most 1"):
        shape.with_rank_at_most(1)
    spec = tape_api.TensorSpec([None], tape_api.float32)
    assert spec.is_compatible_with(tape_api.ones([3]))
    assert not spec.is_compatible_with(tape_api.ones([3, 1]))
    assert tape_api.TensorSpec.from_tensor(tape_api.ones([3])) == tape_api.type_spec_from_value([1.0, 1.0, 1.0])
    assert tape_api.uint8.limits == (0, 255)
