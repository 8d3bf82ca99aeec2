"""Tapes that put off large ops: the same bits, errors where the program is; what does not pay is left."""

import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from engine.closed.replay import counters
from engine.core import late_tape
from engine.core.eager import EagerTensor
from engine.core.lazy_tensor import LazyTensor

RNG = np.random.default_rng(5)
X, ROW, W = RNG.random((300, 300)), RNG.random(300), RNG.random((300, 20))
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "elementwise": lambda x: tf.reduce_sum(tf.exp(-x) * tf.sin(x)),
    "small operands": lambda x, row: tf.reduce_mean((row[:, None] - row) ** 2 * x),
    "products": lambda x, w: tf.reduce_sum(tf.tanh(x @ w) ** 2),
    "several uses": lambda x: tf.reduce_max(x * x, axis=0) + tf.reduce_logsumexp(x, axis=1),
    "masks": lambda x: tf.reduce_sum(tf.where(x > 0.5, x, tf.stop_gradient(x) * x)),
    "indices": lambda x: tf.reduce_sum(tf.gather(x * x, [0, 2, 2])),
    "a factorization": lambda x: tf.linalg.logdet(x @ tf.transpose(x) + tf.eye(300, dtype=x.dtype)),
    "a function": lambda x: tf.reduce_sum(tf.function(lambda y: y * y)(x + 1.0)),
}
PAY_NOT = ("indices",)
"""What may fail is applied at once, so that nothing large is left here."""
ARGUMENTS = {"small operands": (X, ROW), "products": (X, W)}


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    late_tape._places.clear()
    yield
    late_tape._places.clear()


def taken(function: Callable[..., Any], arrays: Any, look: str = "") -> tuple[list[bytes], type]:
    """Bits of the value and of the gradients; and what the value was before these were taken."""
    xs = [tf.constant(a) for a in arrays]
    with tf.GradientTape() as tape:
        tape.watch(xs)
        y = function(*xs)
    kind = type(y)
    if look:
        y.numpy()
    gradients = tape.gradient(y, xs)
    return [np.asarray(a).tobytes() for a in [y, *gradients]], kind


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_bits_of_plain_tapes(name: str, dtype: Any) -> None:
    arrays = [a.astype(dtype) for a in ARGUMENTS.get(name, (X,))]
    found = [taken(FUNCTIONS[name], arrays) for _ in range(6)]
    assert all(bits == found[0][0] for bits, _ in found)
    # the first two are plain, the third and fourth find no program
    assert (found[0][1] is LazyTensor, found[-1][1] is LazyTensor) == (False, name not in PAY_NOT)


def test_programs_are_used_and_left_when_contents_are_looked_at() -> None:
    function = FUNCTIONS["elementwise"]
    for _ in range(5):
        taken(function, (X,))
    before = counters["replayed"]
    assert taken(function, (X,))[1] is LazyTensor
    assert counters["replayed"] == before + 1
    kinds = [taken(function, (X,), look="before")[1] is LazyTensor for _ in range(40)]
    assert kinds[0] and 2 <= sum(kinds) <= 6


def test_what_somebody_holds_has_contents_with_the_gradient() -> None:
    """Nothing is computed twice, and no tensor keeps others alive."""
    x, kept = tf.constant(X), list[Any]()
    for i in range(8):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x + i
            kept += [y[:2], tf.exp(-y)]
            dropped = weakref.ref(kept[-1] * 2.0)
            z = tf.reduce_sum(y)
        assert type(z) is (LazyTensor if i in (2, 4, 5, 6, 7) else EagerTensor)
        np.testing.assert_array_equal(tape.gradient(z, x), 2 * X)
        assert not any(type(t) is LazyTensor for t in (y, z, *kept))
        assert dropped() is None
        np.testing.assert_array_equal(y, X * X + i)
        np.testing.assert_array_equal(kept[-2], (X * X + i)[:2])


def test_an_error_comes_where_the_program_is() -> None:
    x = tf.constant(-X @ X.T)
    for _ in range(6):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * 2.0
            with pytest.raises(tf.errors.InvalidArgumentError, match="cholesky"):
                tf.linalg.cholesky(y)
            z = tf.reduce_sum(y)
        np.testing.assert_array_equal(tape.gradient(z, x), np.full_like(X, 2.0))


def test_other_derivatives_and_variables() -> None:
    v, found = tf.Variable(X), []
    for i in range(8):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(v * v * (1.0 + i), axis=1)
            v.assign_add(tf.ones_like(v))
        found.append(tape.jacobian(y, v)[3, 3, 4] if i % 2 else tape.gradient(y, v)[3, 4])
    np.testing.assert_array_equal(found, [2 * (X[3, 4] + i) * (1.0 + i) for i in range(8)])


def test_tapes_that_are_left_in_other_ways() -> None:
    """Stopped, reset, spent by an error, without a gradient: values are right, and other threads compute as before."""
    x = tf.constant(X)
    for _ in range(8):
        with suppress(KeyError), tf.GradientTape() as tape:
            tape.watch(x)
            y = x * 3.0
            raise KeyError
        np.testing.assert_array_equal(tape.gradient(y, x), np.full_like(X, 3.0))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * 3.0
            tape.reset()
            tape.watch(y)
            with tape.stop_recording():
                z = y * 2.0
            w = tf.reduce_sum(y * z)
            with ThreadPoolExecutor(1) as pool:
                found = pool.submit(w.numpy)
        np.testing.assert_array_equal(tape.gradient(w, y), X * 3.0 * 2.0)
        assert found.result() == w.numpy()
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(x * 3.0)
            with pytest.raises(RuntimeError, match="rule"):
                tape.gradient(tf.custom_gradient(lambda a: (a * 1.0, _failing))(y), x)
        np.testing.assert_array_equal(tape.gradient(y, x), np.full_like(X, 3.0))


def _failing(_: Any) -> Any:
    raise RuntimeError("rule")
