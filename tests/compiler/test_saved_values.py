"""Values that the steps of a loop save for its gradient: the bits are those of values that are computed again."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.control import saved_values
from engine.control.scan_loop import scan_op
from engine.control.while_loop import while_saving_op
from tests.support import assert_same_bits
from tests.tapes import watching

N = 5


def _cells(tf: Any, x: Any, w: Any, e: Any) -> Any:
    """A gated recurrent unit of vectors."""

    def step(h: Any, e: Any) -> Any:
        z = tf.sigmoid(tf.linalg.matvec(w, h) + e)
        return (1.0 - z) * h + z * tf.tanh(tf.linalg.matvec(w, z * h))

    return tf.scan(step, e, x[0])


def _batches(tf: Any, x: Any, w: Any, e: Any) -> Any:
    def step(h: Any, e: Any) -> Any:
        return tf.nn.softmax(tf.matmul(tf.tanh(tf.matmul(h, w) + e), w)) + 0.1 * h

    return tf.scan(step, e, x)


def _turned(tf: Any, x: Any, w: Any, e: Any) -> Any:
    """Values that lie in the order of columns, of which sums are rounded otherwise."""

    def step(h: Any, e: Any) -> Any:
        t = tf.exp(tf.transpose(h) * 0.1)
        return t * tf.reduce_sum(t * t) * 1e-3 + tf.sin(tf.linalg.matvec(w, e))

    return tf.scan(step, e, x)


def _elementwise(tf: Any, x: Any, w: Any, e: Any) -> Any:
    return tf.scan(lambda h, e: tf.tanh(h * w[0] + e), e, x[0])


def _counted(tf: Any, x: Any, w: Any, e: Any) -> Any:
    def step(i: Any, h: Any) -> Any:
        return i + 1, 0.5 * h + tf.tanh(tf.linalg.matvec(w, tf.sigmoid(h * 0.5)) + e[i])

    return tf.while_loop(lambda i, h: i < 7, step, [tf.constant(0), x[0]])[1]


def _open(tf: Any, x: Any, w: Any, e: Any) -> Any:
    """A loop of which nobody knows how long it goes on."""

    def step(h: Any, total: Any) -> Any:
        return 0.9 * h + 0.1 * tf.tanh(tf.linalg.matvec(w, h)), total + tf.reduce_sum(e)

    h, total = tf.while_loop(lambda h, total: tf.reduce_sum(h * h) > 1e-1, step, [x[0], tf.zeros([], e.dtype)])
    return h * total


PROGRAMS: dict[str, Callable[..., Any]] = {
    "cells": _cells,
    "batches": _batches,
    "turned": _turned,
    "elementwise": _elementwise,
    "counted": _counted,
    "open": _open,
}


def _given(dtype: Any) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [rng.normal(size=shape).astype(dtype) for shape in ((N, N), (N, N), (7, N))]


def _in_a_graph(program: Callable[..., Any], dtype: Any) -> tuple[list[Any], list[str]]:
    """Gradients, and the ops of the step back."""
    tf = graph_api
    arrays = _given(dtype)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tensors = [tf.placeholder(dtype, a.shape) for a in arrays]
        gradients = tf.gradients(tf.reduce_sum(tf.sin(program(tf, *tensors))), tensors)
        (back,) = [n for n in graph.nodes if n.op is scan_op and n.params["backwards"]]
        second = tf.gradients(gradients[1], tensors[:2])
        feed = dict(zip(tensors, arrays, strict=True))
        found = [session.run([*gradients, *second], feed) for _ in range(4)]
        assert_same_bits(found[0], found[-1])
    return found[0], [node.op.name for node in back.params["body"].nodes]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", PROGRAMS)
def test_saved_values_change_no_bit(name: str, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found, ops = _in_a_graph(PROGRAMS[name], dtype)
    with monkeypatch.context() as patch:
        patch.setattr(saved_values, "_MOST", 0)
        expected, all_ops = _in_a_graph(PROGRAMS[name], dtype)
    assert_same_bits(found[:3], expected[:3])
    assert len(ops) < len(all_ops)
    # what is saved has a cotangent of its own, which is added up elsewhere
    for second, other in zip(found[3:], expected[3:], strict=True):
        np.testing.assert_allclose(second, other, rtol=1e-4 if dtype is np.float32 else 1e-12, atol=1e-5)
    tensors = [tape_api.constant(a) for a in _given(dtype)]
    tape, y = watching(tensors, lambda: tape_api.reduce_sum(tape_api.sin(PROGRAMS[name](tape_api, *tensors))))
    assert_same_bits([x.numpy() for x in tape.gradient(y, tensors)], expected[:3])


def test_what_takes_long_is_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exponentials are computed again where the steps would save too much; products of matrices are not."""

    def again(program: Callable[..., Any], op: str) -> int:
        return _in_a_graph(program, np.float64)[1].count(op)

    assert again(_cells, "sigmoid") == again(_elementwise, "tanh") == 0
    few = again(_cells, "matmul_op")
    monkeypatch.setattr(saved_values, "_MOST_ELEMENTWISE", 0)
    assert again(_cells, "matmul_op") == few and again(_elementwise, "tanh") == 1
    monkeypatch.setattr(saved_values, "_MOST", 0)
    assert again(_cells, "matmul_op") > few


def test_bodies_with_constants_save_the_same_values() -> None:
    """A matrix that is a constant is one of the body, whose values are numbered as before."""
    arrays = _given(np.float64)

    def results(constant: bool) -> list[Any]:
        tf = graph_api
        with tf.Graph().as_default(), tf.Session() as session:
            x, w, e = [tf.placeholder(tf.float64, a.shape) for a in arrays]
            gradients = tf.gradients(_cells(tf, x, tf.constant(arrays[1]) if constant else w, e), [x, e])
            return [session.run(gradients, dict(zip((x, w, e), arrays, strict=True))) for _ in range(3)]

    for a, b in zip(results(True), results(False), strict=True):
        assert_same_bits(a, b)


def test_a_carry_of_which_only_the_shape_counts_is_not_saved() -> None:
    steps, count = 6, 3
    with graph_api.Graph().as_default() as graph, graph_api.Session() as session:
        tf = graph_api
        x = tf.placeholder(tf.float64, [count])
        array = tf.TensorArray(tf.float64, size=steps).write(0, x)

        def body(i: Any, h: Any, a: Any) -> Any:
            h = tf.sin(h) + 0.5 * a.read(i - 1)
            return i + 1, h, a.write(i, h)

        array = tf.while_loop(lambda i, *_: i < steps, body, (1, x, array))[2]
        y = array.stack()
        (g,) = tf.gradients(tf.reduce_sum(y * y), x)
        (loop,) = [node for node in graph.nodes if node.op is while_saving_op]
        # the number of the step, and what the sine is taken of
        assert loop.params["saved"] == (0, 1)
        value, small = np.array([0.3, -0.2, 0.1]), 1e-6
        for _ in range(3):
            found, rows = session.run([g, y], {x: value})
        moved = [session.run(y, {x: value + sign * small}) for sign in (1, -1)]
        np.testing.assert_allclose(found, np.sum(2 * rows * (moved[0] - moved[1]) / (2 * small), 0), rtol=1e-6)


@pytest.mark.parametrize("steps", [0, 1, 6, None])
def test_while_loops_that_save_values_are_differentiated_again(steps: int | None) -> None:
    """Forwards and backwards, compared with each other and with differences; by one program for any steps, too."""
    arrays = _given(np.float64)[:2]

    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = [tf.placeholder(tf.float64, a.shape) for a in arrays]
        count = tf.placeholder(tf.int32, []) if steps is None else steps

        def step(i: Any, h: Any) -> Any:
            return i + 1, 0.5 * h + 0.5 * tf.tanh(tf.linalg.matvec(w, h)) * tf.exp(-h * h)

        h = tf.while_loop(lambda i, h: i < count, step, [tf.constant(0), x[0]])[1]
        first = tf.gradients(tf.reduce_sum(h**3), x)[0]
        moved = tf.jvp(first, [x], [tf.constant(arrays[1])])
        back = tf.gradients(tf.reduce_sum(moved**2), [x])[0]
        again = tf.gradients(tf.reduce_sum(back**2), [x])[0]
        wanted = [first, moved, back, tf.jacobian(first, x)]
        sums = [tf.reduce_sum(moved**2), tf.reduce_sum(back**2)]
        for fed in [{}] if steps is not None else [{count: n} for n in (0, 1, 6)]:
            feed = {x: arrays[0], w: arrays[1], **fed}
            found, values = [[session.run(f, feed) for _ in range(3)][-1] for f in (wanted, again)]
            np.testing.assert_allclose(found[1], np.einsum("abcd,cd->ab", found[3], arrays[1]), rtol=1e-12, atol=1e-14)
            shift = 1e-6 * arrays[1]
            above, below = [np.array(session.run(sums, {**feed, x: arrays[0] + s})) for s in (shift, -shift)]
            for difference, gradient in zip((above - below) / 2, (found[2], values), strict=True):
                np.testing.assert_allclose(difference, np.sum(gradient * shift), rtol=1e-5, atol=1e-11)
