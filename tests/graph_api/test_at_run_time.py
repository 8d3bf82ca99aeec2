"""What only a run knows: axes, permutations, numbers and ranks that a graph is built without."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api as tf
from engine.runtime.errors import InvalidArgumentError

A = np.arange(6, dtype=np.float64).reshape(2, 3) + 1

# a function, what is fed to its second argument, and the same with that known
CALLS: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "reduce_sum": (lambda x, k: tf.reduce_sum(x, k), 1),
    "reduce_sum-several": (lambda x, k: tf.reduce_sum(x, k, keepdims=True), [0, 1]),
    "reduce_max": (lambda x, k: tf.reduce_max(x, axis=k), -1),
    "reduce_mean": (lambda x, k: tf.reduce_mean(x, reduction_indices=k), 0),
    "concat": (lambda x, k: tf.concat([x, 2 * x], k), 1),
    "cumsum": (lambda x, k: tf.cumsum(x, k), 1),
    "cumprod": (lambda x, k: tf.cumprod(x, k, exclusive=True), 0),
    "gather": (lambda x, k: tf.gather(x, [1, 0], axis=k), 1),
    "expand_dims": (lambda x, k: tf.expand_dims(x, k), -1),
    "reverse": (lambda x, k: tf.reverse(x, k), [1]),
    "transpose": (lambda x, k: tf.transpose(x, k), [1, 0]),
    "top_k": (lambda x, k: tf.nn.top_k(x, k)[0], 2),
    "softmax": (lambda x, k: tf.nn.softmax(x, k), 0),
    "sort": (lambda x, k: tf.sort(x, axis=k, direction="DESCENDING"), 1),
    "tensordot": (lambda x, k: tf.tensordot(x, x, k), [[0], [0]]),
    "pad": (lambda x, k: tf.pad(x, k), [[1, 0], [0, 2]]),
    "squeeze": (lambda x, k: tf.squeeze(x[None], k), [0]),
}


def evaluated(call: Callable[..., Any], x: Any, *fed: Any, feeds: Any = None, rows: Any = tf.gradients) -> list[Any]:
    y = call(x, *fed)
    with tf.Session() as session:
        return session.run([y, tf.gradients(tf.sin(y), x)[0], rows(tf.sin(y), x)], feeds)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("shape", [(2, 3), (None, 3), None], ids=str)
def test_as_if_known(name: str, shape: Any) -> None:
    """An argument that is fed, of a tensor of any knowledge, gives what the same argument written down gives."""
    call, argument = CALLS[name]
    if name in ("tensordot", "squeeze", "pad") and shape is None:
        pytest.skip("these have a rank, or an argument of rank 2, to know")
    wanted = evaluated(call, tf.constant(A), argument)
    x = tf.placeholder(tf.float64, shape)
    k = [tf.placeholder(tf.int32, [1])] * 2 if name == "tensordot" else tf.placeholder(tf.int32, np.shape(argument))
    feeds = {x: A, (k[0] if name == "tensordot" else k): argument[0] if name == "tensordot" else argument}
    np.testing.assert_equal(evaluated(call, x, k, feeds=feeds), wanted)
    if shape is not None and name != "tensordot":
        assert call(x, k).shape.ndims == wanted[0].ndim


def test_what_is_known_of_a_shape_all_the_same() -> None:
    x = tf.placeholder(tf.float32)
    lengths = tf.placeholder(tf.int32, [2])
    known = [
        (tf.slice(x, [0, 1], [-1, 2]), [None, 2]), (tf.broadcast_to(x, [2, 3]), [2, 3]),
        (tf.broadcast_to(tf.zeros([3]), lengths), [None, 3]),
        (tf.cholesky(tf.placeholder(tf.float32, [None, 3, None])), [None, 3, 3]),
        (tf.image.resize_images(tf.placeholder(tf.float32, [None] * 3 + [3]), [4, 5]), [None, 4, 5, 3]),
    ]  # fmt: skip
    assert [y.shape.as_list() for y, _ in known] == [shape for _, shape in known]
    square, axes = tf.zeros([3, 3]), tf.placeholder(tf.int32, [])
    for y in (tf.squeeze(tf.placeholder(tf.float32, [None, 1, 3])), tf.tensordot(square, square, axes)):
        assert y.shape.ndims is None


RANKS: dict[str, Callable[[Any], Any]] = {
    "squeeze": lambda x: tf.squeeze(tf.expand_dims(x, 0)),
    "transpose": tf.transpose,
    "sort": tf.sort,
    "top_k": lambda x: tf.nn.top_k(x, 2)[0],
    "tensordot": lambda x: tf.tensordot(x, tf.transpose(x), 1),
    "einsum": lambda x: tf.einsum("...ij,kj->...ik", x, tf.constant(A)),
    "computed": lambda x: tf.transpose(x, tf.range(tf.rank(x))[::-1]),
    "norm": lambda x: tf.norm(x, ord=2, axis=[0, 1]),
    "diag_part": lambda x: tf.linalg.tensor_diag_part(tf.tensordot(x, tf.transpose(x), 1)),
    "sobel_edges": lambda x: tf.image.sobel_edges(tf.expand_dims(tf.expand_dims(x, 0), -1)),
    "dynamic_stitch": lambda x: tf.dynamic_stitch([tf.cast(x, tf.int32) - 1, [[6, 7, 8]]], [x, A[:1]]),
}


@pytest.mark.parametrize("call", RANKS.values(), ids=list(RANKS))
def test_rank_not_known(call: Callable[[Any], Any]) -> None:
    wanted = evaluated(call, tf.constant(A), rows=tf.jacobian)
    x = tf.placeholder(tf.float64)
    for found, expected in zip(evaluated(call, x, feeds={x: A}, rows=tf.jacobian), wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


IMAGES = np.linspace(0, 1, 2 * 5 * 7 * 3, dtype=np.float32).reshape(2, 5, 7, 3) ** 2

# functions of images and of something that is fed
IMAGE_CALLS: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "resize": (tf.image.resize_images, [3, 4]),
    "resize_area": (tf.image.resize_area, [6, 4]),
    "crop_and_resize": (lambda x, k: tf.image.crop_and_resize(x, [[0.1, 0.2, 0.8, 0.9]], k, [3, 3]), [1]),
    "pad_to_bounding_box": (lambda x, k: tf.image.pad_to_bounding_box(x, 1, 2, 9, k), 12),
    "central_crop": (lambda x, k: tf.image.central_crop(x, 0.5) * tf.cast(k, tf.float32), 2),
    "flip": (lambda x, k: tf.image.flip_left_right(x) * tf.cast(k, tf.float32), 2),
    "rot90": (tf.image.rot90, 3),
    "total_variation": (lambda x, k: tf.image.total_variation(x) * tf.cast(k, tf.float32), 2),
    "ssim": (lambda x, k: tf.image.ssim(x, x * tf.cast(k, tf.float32), 1.0, filter_size=3), 2),
    "split": (lambda x, k: tf.split(x, [k, 1], 3)[0], 2),
    "slice": (lambda x, k: tf.slice(x, tf.concat([[0, 0, 0], [k]], 0), [-1, -1, -1, 1]), 2),
    "linspace": (lambda x, k: tf.linspace(0.0, 1.0, k) * tf.reduce_sum(x), 5),
}


@pytest.mark.parametrize("name", IMAGE_CALLS)
def test_nothing_known(name: str) -> None:
    """Neither the rank of the images nor the shape of what is fed is known, as in ``tf.placeholder(dtype)``."""
    call, argument = IMAGE_CALLS[name]
    wanted = evaluated(call, tf.constant(IMAGES), np.asarray(argument, np.int32))
    x, k = tf.placeholder(tf.float32), tf.placeholder(tf.int32)
    np.testing.assert_equal(evaluated(call, x, k, feeds={x: IMAGES, k: argument}), wanted)


def test_another_axis_in_every_run() -> None:
    """A program is kept for each axis; a second derivative and a Jacobian pass."""
    x, k = tf.placeholder(tf.float64, [2, 3]), tf.placeholder(tf.int32, [])
    y = tf.reduce_sum(x**3, k)
    (g,) = tf.gradients(y, x)
    (h,) = tf.gradients(g, x)
    with tf.Session() as session:
        for axis in (0, 1, -1, 0):
            value, first, second = session.run([y, g, h], {x: A, k: axis})
            np.testing.assert_allclose(value, (A**3).sum(axis))
            np.testing.assert_allclose(first, 3 * A**2)
            np.testing.assert_allclose(second, 6 * A)
        with pytest.raises(InvalidArgumentError, match="axis"):
            session.run(y, {x: A, k: 2})


def test_in_a_loop() -> None:
    """The axis of each iteration is its counter."""
    x = tf.constant(A)
    _, total = tf.while_loop(
        lambda i, _: i < 2, lambda i, t: (i + 1, t + tf.reduce_sum(tf.reduce_max(x, i))), (0, tf.zeros([], tf.float64))
    )
    with tf.Session() as session:
        assert session.run(total) == A.max(0).sum() + A.max(1).sum()


def test_what_never_will_be_known() -> None:
    """The number of parts must be known: that a tensor is fed does not help."""
    with pytest.raises(ValueError, match="num"):
        tf.unstack(tf.placeholder(tf.float32))
