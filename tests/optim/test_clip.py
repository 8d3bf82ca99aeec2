"""Clipping, through both front ends."""

from typing import Any

import numpy as np
import pytest

import graph_api as v1
import optim
import tape_api as v2
from tests.tapes import watching


def on_tape(function: Any, *arrays: Any) -> tuple[Any, list[Any]]:
    """Results and gradients (of the sum of the first result)."""
    xs = [v2.constant(a) for a in arrays]
    tape, out = watching(xs, lambda: function(v2, *xs))
    first = out[0] if isinstance(out, tuple) else out
    return v2.nest.map_structure(lambda x: None if x is None else x.numpy(), out), [
        None if g is None else g.numpy() for g in tape.gradient(first, xs)
    ]


def in_graph(function: Any, *arrays: Any) -> tuple[Any, list[Any]]:
    """The same in a graph whose placeholders have unknown shapes."""
    with v1.Graph().as_default(), v1.Session() as session:
        xs = [v1.placeholder(np.asarray(a).dtype) for a in arrays]
        out = function(v1, *xs)
        first = out[0] if isinstance(out, tuple) else out
        wanted = [g for g in v1.gradients(first, xs) if g is not None]
        return session.run([out, wanted], dict(zip(xs, arrays, strict=True)))  # type: ignore[return-value]


BOTH = pytest.mark.parametrize("run", [in_graph, on_tape])


@BOTH
def test_by_value(run: Any) -> None:
    out, (gradient,) = run(lambda tf, x: tf.clip_by_value(x, -1.0, 2.0), np.float32([-3, -1, 0, 2, 5]))
    np.testing.assert_array_equal(out, [-1, -1, 0, 2, 2])
    np.testing.assert_array_equal(gradient, [0, 1, 1, 1, 0])


@BOTH
def test_by_limits_in_the_wrong_order(run: Any) -> None:
    """As in TensorFlow, the lower one wins."""
    out, _ = run(lambda tf, x: tf.clip_by_value(x, 3.0, 2.0), np.float32([1, 5, 2.5]))
    np.testing.assert_array_equal(out, [3, 3, 3])


@BOTH
def test_by_norm(run: Any) -> None:
    out, _ = run(lambda tf, x: tf.clip_by_norm(x, 2.5), np.float32([3, -4]))
    np.testing.assert_allclose(out, [1.5, -2])
    out, (gradient,) = run(lambda tf, x: tf.clip_by_norm(x, 10.0), np.float32([3, -4]))
    np.testing.assert_array_equal(out, [3, -4])
    np.testing.assert_array_equal(gradient, [1, 1])


@BOTH
def test_by_norm_of_zeros(run: Any) -> None:
    out, (gradient,) = run(lambda tf, x: tf.clip_by_norm(x, 1.0), np.float32([0, 0]))
    np.testing.assert_array_equal(out, [0, 0])
    np.testing.assert_array_equal(gradient, [1, 1])


@BOTH
@pytest.mark.parametrize(("axes", "expected"), [([1], [[0.6, 0.8], [0, 1]]), (0, [[1, 0.8], [0, 0.6]])])
def test_by_norm_over_axes(run: Any, axes: Any, expected: Any) -> None:
    out, _ = run(lambda tf, x: tf.clip_by_norm(x, 1.0, axes=axes), np.float32([[3, 4], [0, 3]]))
    np.testing.assert_allclose(out, expected, rtol=1e-6)


@BOTH
def test_by_a_negative_norm(run: Any) -> None:
    out, _ = run(lambda tf, x: tf.clip_by_norm(x, -1.0), np.float32([3, 4]))
    np.testing.assert_array_equal(out, [0, 0])


@BOTH
def test_by_a_norm_that_is_a_tensor(run: Any) -> None:
    out, (_, slope) = run(lambda tf, x, n: tf.clip_by_norm(x, n), np.float32([3, 4]), np.float32(1))
    np.testing.assert_allclose(out, [0.6, 0.8], rtol=1e-6)
    np.testing.assert_allclose(slope, 1.4, rtol=1e-6)


@BOTH
def test_by_average_norm(run: Any) -> None:
    out, _ = run(lambda tf, x: optim.clip_by_average_norm(x, 1.0), np.float32([3, 4]))
    np.testing.assert_allclose(out, [1.2, 1.6], rtol=1e-6)


@BOTH
def test_by_global_norm(run: Any) -> None:
    (clipped, norm), _ = run(lambda tf, x, y: tf.clip_by_global_norm([x, y], 1.0), np.float32([[3]]), np.float32([4]))
    assert norm == 5
    np.testing.assert_allclose(clipped[0], [[0.6]], rtol=1e-6)
    np.testing.assert_allclose(clipped[1], [0.8], rtol=1e-6)


def test_none_passes_through() -> None:
    clipped, norm = v2.clip_by_global_norm([v2.constant([3.0, 4.0]), None], 10.0)
    assert float(norm) == 5
    assert clipped[1] is None
    np.testing.assert_array_equal(clipped[0].numpy(), [3, 4])
    with v1.Graph().as_default():
        clipped, _ = v1.clip_by_global_norm((v1.constant([3.0, 4.0]), None), 10.0)
        assert clipped[1] is None


def test_only_none() -> None:
    clipped, norm = v2.clip_by_global_norm([None, None], 1.0)
    assert clipped == [None, None]
    assert norm.numpy() == 0
    assert v2.linalg.global_norm([]).numpy() == 0


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_a_norm_that_is_not_finite_gives_nan(bad: float) -> None:
    clipped, _ = v2.clip_by_global_norm([v2.constant([bad, 1.0]), v2.constant([2.0])], 1.0)
    assert np.isnan(clipped[0].numpy()).all()
    assert np.isnan(clipped[1].numpy()).all()


def test_a_norm_of_zero_changes_nothing() -> None:
    clipped, norm = v2.clip_by_global_norm([v2.constant([0.0, 0.0])], 1.0)
    np.testing.assert_array_equal(clipped[0].numpy(), [0, 0])
    assert norm.numpy() == 0


def test_a_norm_that_is_given() -> None:
    clipped, norm = v2.clip_by_global_norm([v2.constant([3.0, 4.0])], 1.0, use_norm=10.0)
    np.testing.assert_allclose(clipped[0].numpy(), [0.3, 0.4], rtol=1e-6)
    assert float(norm) == 10


@pytest.mark.parametrize("tf", [v1, v2], ids=["graph", "tape"])
def test_none_is_no_tensor(tf: Any) -> None:
    with v1.Graph().as_default():
        with pytest.raises(ValueError, match="None values not supported"):
            tf.clip_by_norm(None, 1.0)
        with pytest.raises(ValueError, match="None values not supported"):
            tf.clip_by_value(None, 1.0, 2.0)


@pytest.mark.parametrize("tf", [v1, v2], ids=["graph", "tape"])
def test_bad_operands(tf: Any) -> None:
    with v1.Graph().as_default():
        x, n = tf.constant([1.0, 2.0]), tf.constant([1, 2])
        with pytest.raises(TypeError, match="should be a sequence of tensors"):
            tf.clip_by_global_norm(x, 1.0)
        with pytest.raises(TypeError, match="must be floating, got int32"):
            tf.clip_by_global_norm([n], 1.0)
        with pytest.raises(TypeError, match="must be floating, got int32"):
            tf.clip_by_norm(n, 1)
        with pytest.raises(TypeError, match="clip_by_value"):
            tf.clip_by_value(n, 0.5, 1.5)
        with pytest.raises(ValueError, match=r"must broadcast to the shape of `t`, \(2,\); together .* \(1, 2\)"):
            tf.clip_by_value(x, [[1.0]], 2.0)
        with pytest.raises(ValueError, match="would enlarge"):
            tf.clip_by_norm(x, [[1.0]])


def test_plain_arrays_give_plain_arrays_and_no_warnings() -> None:
    with np.errstate(all="warn"):
        assert isinstance(optim.clip_by_norm(np.zeros(2), 0.0), np.ndarray)
        optim.clip_by_global_norm([np.array([np.inf, 0.0])], 0.0)
