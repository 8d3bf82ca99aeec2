"""What a plan takes for granted, the contents of indices, may change: it must be seen, or refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api as tf
import tape_api
from tests.jacobian.both import dense, points
from tests.tapes import gradient_in, watching

FORMATS = ("dense", "csr", "operator")


def chosen(x: np.ndarray, index: Any) -> np.ndarray:
    """The Jacobian of ``gather(x, index) ** 2``."""
    return np.eye(len(x))[index] * 2.0 * x


# ---- on tapes --------------------------------------------------------------------------------------------------------


def on_tape(fn: Callable[[Any], Any], x: np.ndarray, format: str) -> np.ndarray:
    tensor = tape_api.constant(x)
    return dense(gradient_in(tensor, lambda: fn(tensor), method="jacobian", format=format))


@pytest.mark.parametrize("format", FORMATS)
def test_arrays_that_are_changed_in_place(format: str) -> None:
    (x,) = points((5,))
    index, factor = np.array([0, 1]), np.ones(5)
    variable = tape_api.Variable(index)
    for first, second in ([0, 1], [3, 4], [4, 4], [1, 2], [2, 2], [0, 3], [0, 1]):
        index[:] = first, second
        factor[:] = first + 1.0
        variable.assign(index)
        for place in (index, variable):
            found = on_tape(lambda x: tape_api.gather(x, place) ** 2.0, x, format)  # noqa: B023
            np.testing.assert_allclose(found, chosen(x, index), rtol=1e-14)
        np.testing.assert_allclose(on_tape(lambda x: x * x * factor, x, format), np.diag(2.0 * x * factor))


@pytest.mark.parametrize("format", FORMATS)
def test_an_array_changed_after_the_recording(format: str) -> None:
    (x,) = points((3,))
    index, tensor = np.array([0, 1]), tape_api.constant(x)
    tape, y = watching(tensor, lambda: tape_api.gather(tensor, index) ** 2.0)
    index[:] = 2
    np.testing.assert_allclose(dense(tape.jacobian(y, tensor, format=format)), chosen(x, [0, 1]))


# ---- in graphs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(5,), (None,)], ids=str)
@pytest.mark.parametrize("format", FORMATS)
def test_indices_that_are_fed_assigned_or_drawn(format: str, shape: Any) -> None:
    (x,) = points((5,))
    with tf.Graph().as_default(), tf.Session() as session:
        u = tf.placeholder(tf.float64, shape)
        fed = tf.placeholder_with_default(np.array([0, 1], np.int32), [2])
        held = tf.Variable([0, 1])
        drawn = tf.random_shuffle(tf.range(5))[:2]
        places = [fed, held.read_value(), drawn]
        found = [tf.jacobian(tf.gather(u, place) ** 2.0, u, format=format) for place in places]
        session.run(held.initializer)
        for feed in ({}, {fed: [3, 4]}, {fed: [2, 2]}):
            if feed:
                session.run(held.assign(feed[fed]))
            jacobians, index = session.run([found, places], {u: x, **feed})
            for one, place in zip(jacobians, index, strict=True):
                np.testing.assert_allclose(dense(one), chosen(x, place))


@pytest.mark.parametrize("shape", [(5,), (None,)], ids=str)
@pytest.mark.parametrize("format", FORMATS)
def test_constants_that_are_fed(format: str, shape: Any) -> None:
    """TensorFlow 1 lets one feed constants. A plan that was made for their contents does not hold then."""
    (x,) = points((5,))
    with tf.Graph().as_default(), tf.Session() as session:
        u = tf.placeholder(tf.float64, shape)
        index, mask = tf.constant([0, 1]), tf.constant([True, False, True, False, True])
        one, other = tf.gather(u, index) ** 2.0, tf.where(mask, u, 2.0 * u)
        found = [tf.jacobian(y, u, format=format) for y in (one, other)]
        np.testing.assert_allclose(dense(session.run(found[0], {u: x})), chosen(x, [0, 1]))
        for flags in ([True] * 5, [False] * 5):
            matrix = dense(session.run(found[1], {u: x, mask: flags}))
            np.testing.assert_allclose(matrix, np.diag(np.where(flags, 1.0, 2.0)))
        np.testing.assert_allclose(session.run(one, {u: x, index: [3, 4]}), x[3:] ** 2)
        if format == "operator" and shape == (5,):
            # it looks at no contents
            np.testing.assert_allclose(dense(session.run(found[0], {u: x, index: [3, 4]})), chosen(x, [3, 4]))
        else:
            with pytest.raises(ValueError, match=r"constant .*cannot be fed .*placeholder_with_default"):
                session.run(found[0], {u: x, index: [3, 4]})


def test_constants_behind_a_batch_jacobian_and_on_a_tape_over_a_graph() -> None:
    (x,) = points((2, 3))
    with tf.Graph().as_default(), tf.Session() as session:
        u = tf.placeholder(tf.float64, [2, 3])
        index = tf.constant([0, 1])
        tape, y = watching(u, lambda: tf.gather(u, index) ** 2.0, persistent=True)
        for found in (tf.batch_jacobian(y, u), tape.jacobian(y, u), tape.batch_jacobian(y, u)):
            session.run(found, {u: x})
            with pytest.raises(ValueError, match=r"constant .*cannot be fed"):
                session.run(found, {u: x, index: [1, 0]})
