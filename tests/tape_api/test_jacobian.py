"""GradientTape.jacobian and batch_jacobian."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tape_api as tf

RNG = np.random.default_rng(0)


def jacobian_of(fn: Any, *values: Any, **options: Any) -> Any:
    tensors = [tf.constant(v) for v in values]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        y = fn(*tensors)
    found = tape.jacobian(y, tensors, **options)
    return found[0] if len(values) == 1 else found


def differences(fn: Any, x: np.ndarray) -> np.ndarray:
    """The Jacobian by central differences."""
    y = np.asarray(fn(tf.constant(x)))
    out = np.zeros(y.shape + x.shape)
    for index in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[index] = 1e-6
        plus, minus = (np.asarray(fn(tf.constant(x + s))) for s in (step, -step))
        out[(..., *index)] = (plus - minus) / 2e-6
    return out


# ---- jacobian --------------------------------------------------------------------------------------------------------

FUNCTIONS = {
    "elementwise": (lambda x: tf.sin(x) * x, (3,)),
    "matmul": (lambda x: tf.matmul(x, tf.constant(np.arange(8.0).reshape(4, 2))), (3, 4)),
    "softmax": (tf.nn.softmax, (3, 4)),
    "reduction": (lambda x: tf.reduce_sum(x * x, axis=0), (3, 4)),
    "scalar target": (lambda x: tf.reduce_prod(x), (3,)),
    "scalar source": (lambda x: x * tf.constant([1.0, 2.0], tf.float64), ()),
    "slices": (lambda x: tf.concat([x[::-1, 1:], x[:, :1] ** 2.0], axis=1), (3, 4)),
    "broadcasting": (lambda x: x[:, None] * x[None, :], (3,)),
    "transpose": (lambda x: tf.transpose(x) @ x, (3, 4)),
    "einsum": (lambda x: tf.einsum("ij,kj->ik", x, x), (3, 2)),
    "gather": (lambda x: tf.gather(x, [2, 0, 2]) * x, (3, 2)),
    "solve": (lambda x: tf.linalg.solve(tf.eye(3, dtype=tf.float64) * 4.0 + x, tf.ones([3, 1], tf.float64)), (3, 3)),
}


@pytest.mark.parametrize(("fn", "shape"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_against_differences(fn: Any, shape: tuple[int, ...]) -> None:
    x = RNG.uniform(0.5, 1.5, shape)
    got = jacobian_of(fn, x)
    expected = differences(fn, x)
    assert got.shape == expected.shape and got.dtype == tf.float64
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-7)


def test_rows_are_gradients_of_elements() -> None:
    x = tf.constant(RNG.standard_normal((3, 2)))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.tanh(tf.matmul(x, x, transpose_b=True))
        elements = tf.unstack(tf.reshape(y, [-1]))
    rows = tf.stack([tape.gradient(e, x) for e in elements]).numpy()
    np.testing.assert_allclose(tape.jacobian(y, x), rows.reshape(3, 3, 3, 2), rtol=1e-12, atol=1e-14)


def test_several_sources_and_variables() -> None:
    w, b = tf.Variable([[1.0, 2.0], [3.0, 4.0]]), tf.Variable([0.0, 1.0])
    x = tf.constant([[5.0, 6.0]])
    with tf.GradientTape() as tape:
        y = tf.matmul(x, w) + b
    found = tape.jacobian(y, {"w": w, "b": [b]})
    assert found["w"].shape == (1, 2, 2, 2) and found["b"][0].shape == (1, 2, 2)
    np.testing.assert_array_equal(found["w"][0, :, :, 0], [[5.0, 6.0], [0.0, 0.0]])
    np.testing.assert_array_equal(found["b"][0][0], np.eye(2))


def test_a_list_of_targets_gives_a_list_of_jacobians() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = {"a": x * x, "b": [tf.reduce_sum(x)]}
    found = tape.jacobian(y, x)
    np.testing.assert_array_equal(found["a"], [[2.0, 0.0], [0.0, 4.0]])
    np.testing.assert_array_equal(found["b"][0], [1.0, 1.0])


def test_unconnected() -> None:
    x, z = tf.constant([1.0, 2.0]), tf.constant([[1.0, 2.0, 3.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, z])
        y = x * x
    assert tape.jacobian(y, z) is None
    zeros = tape.jacobian(y, [x, z], unconnected_gradients=tf.UnconnectedGradients.ZERO)[1]
    assert zeros.shape == (2, 1, 3) and zeros.dtype == tf.float32
    np.testing.assert_array_equal(zeros, np.zeros((2, 1, 3)))


def test_integer_target() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cast(x, tf.int32)
    assert tape.jacobian(y, x) is None


def test_empty_targets_and_sources() -> None:
    assert jacobian_of(lambda x: x[:0] * x[:0], [1.0, 2.0]).shape == (0, 2)
    assert jacobian_of(lambda x: x * 2.0, np.zeros((0, 3), np.float32)).shape == (0, 3, 0, 3)


def test_compatible_arguments() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    found = tape.jacobian(y, x, parallel_iterations=3, experimental_use_pfor=False)
    np.testing.assert_array_equal(found, [[2.0, 0.0], [0.0, 4.0]])


def test_jacobian_of_a_gradient_is_the_hessian() -> None:
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(x**3.0) + x[0] * x[1]
        g = inner.gradient(y, x)
    expected = np.diag([6.0, 12.0, 18.0])
    expected[0, 1] = expected[1, 0] = 1.0
    np.testing.assert_allclose(outer.jacobian(g, x), expected)


def test_gradient_of_a_jacobian() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x**3.0
        j = inner.jacobian(y, x)
    np.testing.assert_allclose(outer.gradient(j, x), [6.0, 12.0])


def test_jacobian_through_a_custom_gradient() -> None:
    @tf.custom_gradient
    def twice(x: Any) -> Any:
        return x * 2.0, lambda upstream: upstream * 10.0

    np.testing.assert_array_equal(jacobian_of(lambda x: twice(x) * x, [1.0, 2.0]), [[12.0, 0.0], [0.0, 24.0]])


def test_recurring_jacobians_agree() -> None:
    # from the third time on, the walk is compiled
    for k in range(6):
        x = RNG.standard_normal((2, 3))
        a = tf.constant(RNG.standard_normal((3, 2)))

        def fn(x: Any, a: Any = a) -> Any:
            return tf.exp(tf.matmul(x, a))

        np.testing.assert_allclose(jacobian_of(fn, x), differences(fn, x), rtol=1e-5, err_msg=str(k))


# ---- batch_jacobian --------------------------------------------------------------------------------------------------


def batch_jacobian_of(fn: Any, value: Any, **options: Any) -> Any:
    x = tf.constant(value)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = fn(x)
    return tape.batch_jacobian(y, x, **options)


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
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * tf.reduce_sum(x)
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


def test_batch_jacobian_unconnected_is_zero() -> None:
    found = batch_jacobian_of(lambda x: tf.constant([[1.0], [2.0]]), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert found.shape == (2, 1, 3)
    np.testing.assert_array_equal(found, np.zeros((2, 1, 3)))


@pytest.mark.parametrize("rows", [0, 1])
def test_few_rows(rows: int) -> None:
    found = batch_jacobian_of(lambda x: x * x, np.ones((rows, 3), np.float32))
    np.testing.assert_array_equal(found, np.stack([2 * np.eye(3)] * rows) if rows else np.zeros((0, 3, 3)))


def test_batch_jacobian_of_a_variable() -> None:
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        y = v * v
    np.testing.assert_array_equal(tape.batch_jacobian(y, v), [np.diag([2.0, 4.0]), np.diag([6.0, 8.0])])


def test_batch_jacobian_of_higher_ranks() -> None:
    x = RNG.standard_normal((2, 3, 4))
    found = batch_jacobian_of(lambda x: tf.reduce_sum(x * x, axis=1), x)
    assert found.shape == (2, 4, 3, 4)
    np.testing.assert_allclose(found[1, 2, :, 2], 2 * x[1, :, 2])
    assert np.count_nonzero(found.numpy()) == x.size
