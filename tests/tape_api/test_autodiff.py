"""``tf.autodiff.ForwardAccumulator`` and ``tf.recompute_grad``."""

import warnings
from typing import Any

import numpy as np
import pytest

import tape_api
from engine.runtime.errors import UnimplementedError

X = np.array([0.5, 1.5, -2.0])
V = np.array([1.0, -1.0, 0.25])


def function(tf: Any, x: Any) -> Any:
    return tf.reduce_sum(tf.sin(x) * x * tf.reverse(x, [0]))


def products(tf: Any) -> list[Any]:
    """What programs do with accumulators."""
    x, v = tf.constant(X), tf.constant(V)
    w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    forward = tf.autodiff.ForwardAccumulator
    with forward(x, v) as plain:
        y = function(tf, x)
        inside = plain.jvp(y)
        z = tf.exp(y)
    found = [inside, plain.jvp(y), plain.jvp(z), plain.jvp(x)]
    assert plain.jvp(tf.constant(1.0)) is None
    found.append(plain.jvp(tf.constant([1.0, 2.0]), unconnected_gradients="zero"))
    found += plain.jvp([y, {"z": z}])[:1]
    with forward(w, tf.ones_like(w)) as of_variable:
        y = tf.linalg.det(w) + tf.reduce_sum(w.read_value() ** 2)
    found.append(of_variable.jvp(y))
    # a Hessian times a vector: forward over reverse, reverse over forward, forward over forward
    with forward(x, v) as outer:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(tf, x)
        gradient = tape.gradient(y, x)
    found.append(outer.jvp(gradient))
    with tf.GradientTape() as tape:
        tape.watch(x)
        with forward(x, v) as inner:
            y = function(tf, x)
        product = inner.jvp(y)
    found.append(tape.gradient(product, x))
    with forward(x, v) as outer, forward(x, v) as inner:
        y = function(tf, x)
    found.append(outer.jvp(inner.jvp(y)))
    return [np.asarray(a) for a in found]


def test_products_are_those_of_tapes() -> None:
    tf = tape_api
    x, v = tf.constant(X), tf.constant(V)
    found = products(tf)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = function(tf, x)
        z = tf.exp(y)
    np.testing.assert_array_equal(found[0], tape.jvp(y, x, v).numpy())
    np.testing.assert_array_equal(found[2], tape.jvp(z, x, v).numpy())
    product = tape.hvp(y, x, v).numpy()
    for again in found[7:9]:
        np.testing.assert_allclose(again, product, rtol=1e-12)
    np.testing.assert_allclose(found[9], product @ V, rtol=1e-12)


@pytest.mark.peer
def test_products_are_tensorflows() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensorflow = pytest.importorskip("tensorflow")
    ours, theirs = products(tape_api), products(tensorflow)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_what_an_accumulator_refuses() -> None:
    tf = tape_api
    x = tf.constant(X)
    forward = tf.autodiff.ForwardAccumulator
    with pytest.raises(ValueError, match=r"tangents\[0\]"):
        forward(x, tf.constant([1.0, 2.0], tf.float64))
    with pytest.raises(ValueError, match="floating"):
        forward(tf.constant(1), tf.constant(1))
    with pytest.raises(ValueError, match="twice"):
        forward([x, x], [x, x])
    with pytest.raises(TypeError, match="primals"):
        forward(1.0, 1.0)
    with pytest.raises(UnimplementedError, match=r"in a function of tf\.transforms\.vmap"):
        tf.transforms.vmap(lambda v: forward(v, v))(x)
    accumulator = forward(x, x)
    with accumulator, pytest.raises(ValueError, match="already recording"):
        accumulator.__enter__()


def recomputed(tf: Any) -> list[Any]:
    """Values, gradients and second derivatives of recomputed functions."""
    x, w = tf.constant(X), tf.Variable([2.0, 1.0, -1.0], dtype=tf.float64)
    calls = []

    def parts(a: Any, b: Any) -> Any:
        calls.append(1)
        return tf.sin(a) * b * w, tf.reduce_sum(a * b)

    twice = tf.recompute_grad(lambda a, b: tf.reduce_sum(parts(a, b)[0]) + parts(a, b)[1])
    with tf.GradientTape() as second:
        second.watch(x)
        with tf.GradientTape() as first:
            first.watch(x)
            y = twice(x, x * 2.0)
        dx, dw = first.gradient(y, [x, w])
        total = tf.reduce_sum(dx * dx)
    return [np.asarray(a) for a in (y, dx, dw, second.gradient(total, x))]


def test_recomputing_changes_no_number() -> None:
    tf = tape_api
    x, w = tf.constant(X), tf.Variable([2.0, 1.0, -1.0], dtype=tf.float64)
    with tf.GradientTape() as second:
        second.watch(x)
        with tf.GradientTape() as first:
            first.watch(x)
            b = x * 2.0
            y = tf.reduce_sum(tf.sin(x) * b * w) + tf.reduce_sum(x * b)
        dx, dw = first.gradient(y, [x, w])
        total = tf.reduce_sum(dx * dx)
    expected = [y, dx, dw, second.gradient(total, x)]
    for a, b in zip(recomputed(tf), expected, strict=True):
        np.testing.assert_allclose(a, b.numpy(), rtol=1e-14)


def test_the_parts_are_not_kept() -> None:
    tf = tape_api
    x = tf.constant(np.ones(5))
    calls = []

    def long(a: Any) -> Any:
        calls.append(1)
        for _ in range(50):
            a = tf.sin(a)
        return a

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.recompute_grad(long)(x)
    assert len(tape._tape.nodes) < 5
    gradient = tape.gradient(y, x)
    assert len(calls) == 2
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = long(x)
    np.testing.assert_array_equal(gradient.numpy(), tape.gradient(y, x).numpy())


def recomputed_once(tf: Any) -> list[Any]:
    """A value and its gradients; TensorFlow has no second derivative of them."""
    x, w = tf.constant(X), tf.Variable([2.0, 1.0, -1.0], dtype=tf.float64)
    f = tf.recompute_grad(lambda a: tf.reduce_sum(tf.sin(a) * a * w))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return [np.asarray(a) for a in (y, *tape.gradient(y, [x, w]))]


@pytest.mark.peer
def test_recomputed_gradients_are_tensorflows() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensorflow = pytest.importorskip("tensorflow")
    for a, b in zip(recomputed_once(tape_api), recomputed_once(tensorflow), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
