"""GradientTape.jacobian and batch_jacobian."""

from typing import Any

import numpy as np
import pytest

import tape_api as tf
from tests.tapes import gradient_in, watching

RNG = np.random.default_rng(0)


def jacobian_of(fn: Any, *values: Any, **options: Any) -> Any:
    tensors = [tf.constant(v) for v in values]
    found = gradient_in(tensors, lambda: fn(*tensors), method="jacobian", **options)
    return found[0] if len(values) == 1 else found


# ---- jacobian --------------------------------------------------------------------------------------------------------


def test_compatible_arguments() -> None:
    x = tf.constant([1.0, 2.0])
    found = gradient_in(x, lambda: x * x, method="jacobian", parallel_iterations=3, experimental_use_pfor=False)
    np.testing.assert_array_equal(found, [[2.0, 0.0], [0.0, 4.0]])


# ---- batch_jacobian --------------------------------------------------------------------------------------------------


def batch_jacobian_of(fn: Any, value: Any, **options: Any) -> Any:
    x = tf.constant(value)
    return gradient_in(x, lambda: fn(x), method="batch_jacobian", **options)


ROWWISE = {
    "elementwise": lambda x: tf.sin(x),
    "matmul": lambda x: tf.matmul(x, tf.constant(np.arange(6.0).reshape(3, 2))),
    "softmax": lambda x: tf.nn.softmax(x),
    "outer product": lambda x: x[:, :, None] * x[:, None, :],
    "batched matmul": lambda x: tf.matmul(x[:, None, :], x[:, :, None]),
    "reduction of the row": lambda x: tf.reduce_sum(x * x, axis=1, keepdims=True),
    "constant over rows": lambda x: x * tf.constant([[1.0], [2.0], [3.0], [4.0]], tf.float64),
    "there and back": lambda x: tf.transpose(tf.transpose(x) * tf.range(3.0, dtype=tf.float64)[:, None]),
    "reversed twice": lambda x: tf.reverse(tf.reverse(x, [0]) ** 2.0, [0]),
    "split and joined": lambda x: tf.stack([r * r for r in tf.unstack(x)]),
    "unused coupling": lambda x: x * 2.0 + 0.0 * tf.stop_gradient(tf.reduce_sum(x)),
    "coupling that cancels": lambda x: x + tf.reduce_sum(x) - tf.reduce_sum(x),
}


@pytest.mark.parametrize("fn", ROWWISE.values(), ids=ROWWISE)
def test_rowwise_functions(fn: Any) -> None:
    x = RNG.uniform(0.5, 1.5, (4, 3))
    got = batch_jacobian_of(fn, x)
    full = jacobian_of(fn, x).numpy()
    rows = np.stack([full[i][..., i, :] for i in range(4)])
    assert got.shape == rows.shape
    np.testing.assert_allclose(got, rows, rtol=1e-12, atol=1e-12)


COUPLED = {
    "mean over rows": (lambda x: x - tf.reduce_mean(x, axis=0), "reduce_mean"),
    "softmax over rows": (lambda x: tf.nn.softmax(x, axis=0), "softmax"),
    "cumsum": (lambda x: tf.cumsum(x), "cumsum"),
    "cumsum from below": (lambda x: tf.cumsum(x, reverse=True), "cumsum"),
    "reversed": (lambda x: tf.reverse(x, [0]), "reverse"),
    "rolled": (lambda x: tf.roll(x, 1, axis=0), "roll"),
    "gathered": (lambda x: tf.gather(x, [1, 0, 2, 3]), "gather"),
    "sliced and joined": (lambda x: tf.concat([x[1:], x[:1]], axis=0), "getitem|concat"),
    "matmul from the left": (lambda x: tf.matmul(tf.ones([4, 4], tf.float64), x), "matmul"),
    "gram matrix": (lambda x: tf.matmul(x, x, transpose_b=True), "matmul"),
    "total": (lambda x: tf.exp(x * 2.0) * tf.reduce_sum(x), "reduce_sum"),
    "last row only": (lambda x: x + x[0], "getitem"),
    "swapped rows": (lambda x: tf.concat([x[:2], x[3:], x[2:3]], axis=0), "concat|getitem"),
    "reshape": (lambda x: tf.reshape(tf.transpose(x), [4, 3]), "reshape|transpose"),
    "norm": (lambda x: x / tf.norm(x), "norm|reduce|sqrt"),
}


@pytest.mark.parametrize(("fn", "op"), COUPLED.values(), ids=COUPLED)
def test_coupled_rows_are_refused(fn: Any, op: str) -> None:
    message = rf"rows of the target are not independent: the op `\w*({op})\w*`.* couples the 4"
    with pytest.raises(ValueError, match=message):
        batch_jacobian_of(fn, RNG.uniform(0.5, 1.5, (4, 3)))


def test_two_rows_out_of_many_that_are_swapped() -> None:
    order = list(range(100))
    order[41], order[42] = 42, 41
    with pytest.raises(ValueError, match="gather"):
        batch_jacobian_of(lambda x: tf.gather(x, order) * 2.0, RNG.standard_normal((100, 2)))


def test_a_refused_tape_is_not_spent() -> None:
    x = tf.constant([[1.0], [2.0]])
    tape, y = watching(x, lambda: x * tf.reduce_sum(x))
    with pytest.raises(ValueError, match="jacobian for the full derivative"):
        tape.batch_jacobian(y, x)
    assert tape.jacobian(y, x).shape == (2, 1, 2, 1)


def test_batch_sizes_differ() -> None:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.reduce_sum(x, axis=0, keepdims=True)
        s = tf.reduce_sum(x)
    message = r"Need first dimension of target shape \(\(1, 2\)\) and source shape \(\(2, 2\)\) to match."
    with pytest.raises(ValueError, match=message):
        tape.batch_jacobian(y, x)
    with pytest.raises(ValueError, match="Need first dimension of target shape"):
        tape.batch_jacobian(s, x)


def test_batch_jacobian_of_higher_ranks() -> None:
    x = RNG.standard_normal((2, 3, 4))
    found = batch_jacobian_of(lambda x: tf.reduce_sum(x * x, axis=1), x)
    assert found.shape == (2, 4, 3, 4)
    np.testing.assert_allclose(found[1, 2, :, 2], 2 * x[1, :, 2])
    assert np.count_nonzero(found.numpy()) == x.size
