"""Programs for families of shapes: ever new batch sizes share one program, a shape that stays gets its own."""

from typing import Any

import numpy as np
import pytest

import graph_api as tf
from engine.compiler.examine import examine
from tests.support import assert_same_bits


def perceptron() -> tuple[Any, Any, Any]:
    """Inputs, labels, and the fetches of a training step."""
    rng = np.random.default_rng(0)
    x, y = tf.placeholder(tf.float64, [None, 3]), tf.placeholder(tf.float64, [None])
    v, w, b = (tf.Variable(rng.normal(size=shape)) for shape in ((3, 4), (4, 1), (4,)))
    loss = tf.reduce_mean((tf.squeeze(tf.tanh(x @ v + b) @ w, 1) - y) ** 2)
    return x, y, [loss, *tf.gradients(loss, [v, w, b, x])]


def batch(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    return rng.normal(size=(n, 3)), rng.normal(size=n)


def test_ever_new_batch_sizes_share_one_program() -> None:
    x, y, step = perceptron()
    with tf.Session() as session, tf.Session() as other:
        for each in (session, other):
            each.run(tf.global_variables_initializer())
        before = len(session._executables.own)
        for n in (5, *range(1, 30), 0, 3):
            xs, ys = batch(n)
            found = session.run(step, {x: xs, y: ys})
            other._executables.clear()
            assert_same_bits(found, other.run(step, {x: xs, y: ys}))
        assert len(session._executables.own) == before + 1
        (shared,) = [f.executable for f in session._executables.families.values() if f.executable is not None]
        assert shared.program.native is None


def test_a_shape_that_stays_gets_a_program_of_its_own() -> None:
    x = tf.placeholder(tf.float64, [None])
    y = tf.reduce_sum(x * x)
    with tf.Session() as session:
        for n in (1, 5, 5, 5, 1):
            assert session.run(y, {x: np.ones(n)}) == n
        assert len(session._executables.own) == 1
        for _ in range(10):
            assert session.run(y, {x: np.ones(5)}) == 5
        assert len(session._executables.own) == 2


def test_further_dimensions_change_later() -> None:
    x = tf.placeholder(tf.float64, [None, None])
    y = [tf.reduce_sum(tf.sin(x), 0), tf.transpose(x)]
    with tf.Session() as session:
        for shape in ((2, 3), (4, 3), (5, 3), (5, 2), (1, 1), (2, 3), (0, 3)):
            value = np.random.default_rng(0).normal(size=shape)
            total, turned = session.run(y, {x: value})
            np.testing.assert_allclose(total, np.sin(value).sum(0), rtol=1e-14)
            np.testing.assert_array_equal(turned, value.T)
        assert len(session._executables.own) == 1


def test_bad_shapes_are_refused_with_the_place() -> None:
    x, w = tf.placeholder(tf.float64, [None, None]), tf.Variable(np.ones((3, 2)))
    y = tf.matmul(x, w, name="product")
    with tf.Session() as session:
        session.run(w.initializer)
        for n in (1, 2, 3):
            session.run(y, {x: np.ones((n, 3))})
        for shape in ((4, 2), (3, 5)):
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"'product', made at .*test_families"):
                session.run(y, {x: np.ones(shape)})
        assert session.run(y, {x: np.ones((2, 3))}).tolist() == [[3.0, 3.0]] * 2


def test_a_variable_that_changes_its_shape() -> None:
    x, v = tf.placeholder(tf.float64, [None]), tf.Variable([1.0, 2.0], dtype=tf.float64, validate_shape=False)
    y = tf.reduce_sum(x) * v
    new = tf.placeholder(tf.float64, [None])
    change = tf.assign(v, new, validate_shape=False)
    with tf.Session() as session:
        session.run(v.initializer)
        for n in (1, 2, 3):
            assert session.run(y, {x: np.ones(n)}).tolist() == [n, 2.0 * n]
        session.run(change, {new: [1.0, 2.0, 3.0]})
        for n in (1, 2, 3, 4):
            assert session.run(y, {x: np.ones(n)}).tolist() == [n, 2.0 * n, 3.0 * n]


def test_assignments_and_random_numbers_follow_one_another() -> None:
    def drawn(new_shapes: bool) -> list[Any]:
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(1)
            x, total = tf.placeholder(tf.float64, [None]), tf.Variable(np.float64(0.0))
            noisy = x + tf.random_normal(tf.shape(x), dtype=tf.float64)
            step = tf.assign_add(total, tf.reduce_sum(noisy))
            session.run(total.initializer)
            found = []
            for n in (3, 2, 4, 1, 2):
                if not new_shapes:
                    session._executables.clear()
                found.append(session.run([noisy, step], {x: np.arange(n) * 1.0}))
            return [*[part for each in found for part in each], session.run(total)]

    assert_same_bits(drawn(True), drawn(False))


def test_shapes_are_checked_where_only_a_results_shape_counts() -> None:
    x, v = tf.placeholder(tf.float64, [None]), tf.constant(np.ones((2, 3)))
    total = x + v
    few = tf.gather(x, [0, 5])
    for fetch, right, wrong in [
        (tf.gradients(tf.reduce_sum(total), x)[0], (3, 1), (6, 7)),
        (tf.shape(total), (3, 1), (6, 7)),
        (tf.ones_like(total), (1, 3), (6, 2)),
        (tf.size(tf.broadcast_to(x, [2, 2 * tf.size(x)])), (1,), (2, 3)),
        (tf.zeros_like(few), (6, 7, 8), (3, 1)),
        (tf.cond(tf.size(x) > 0, lambda: tf.zeros_like(total), lambda: tf.ones([2, 3], tf.float64)), (3, 1), (7, 8)),
    ]:
        with tf.Session() as session:
            for _ in range(3):
                for n in right:
                    session.run(fetch, {x: np.ones(n)})
                for n in wrong:
                    with pytest.raises(tf.errors.InvalidArgumentError, match=r"made at .*test_families") as error:
                        session.run(fetch, {x: np.ones(n)})
                    with tf.Session() as other, pytest.raises(type(error.value)) as expected:
                        other.run(fetch, {x: np.ones(n)})
                    assert str(error.value) == str(expected.value)


def test_shapes_are_checked_again_with_variables_of_other_shapes() -> None:
    x, v = tf.placeholder(tf.float64, [None]), tf.Variable(np.ones((2, 3)), validate_shape=False)
    fetch, new = tf.shape(x + v), tf.placeholder(tf.float64)
    change = tf.assign(v, new, validate_shape=False)
    with tf.Session() as session:
        session.run(v.initializer)
        for n in (1, 3, 1, 3):
            assert session.run(fetch, {x: np.ones(n)}).tolist() == [2, 3]
        session.run(change, {new: np.ones((2, 4))})
        for _ in range(3):
            assert session.run(fetch, {x: np.ones(4)}).tolist() == [2, 4]
            assert session.run(fetch, {x: np.ones(1)}).tolist() == [2, 4]
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(fetch, {x: np.ones(3)})


def examined_sizes(monkeypatch: pytest.MonkeyPatch, build: Any, sizes: Any) -> tuple[list[int], list[Any]]:
    """The batch sizes for which shapes were examined, and what runs of all sizes gave or raised."""
    asked: list[int] = []

    def spy(nodes: Any, inputs: Any, state_aval: Any) -> Any:
        asked.append(inputs[0][1].shape[0])
        return examine(nodes, inputs, state_aval)

    monkeypatch.setattr("graph_api.sessions.session.examine", spy)
    given: list[Any] = []
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [None, 2])
        y = build(x)
        for n in sizes:
            try:
                given.append(session.run(y, {x: np.ones((n, 2))}))
            except ValueError as error:
                given.append(error)
    return asked, given


def test_sizes_between_others_are_not_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(x: Any) -> Any:
        return tf.reduce_sum(tf.reshape(tf.sin(x), [-1, 1]) * tf.ones([1, 4], tf.float64), 1), tf.shape(x)

    sizes = (8, 6, 7, 3, 2, 90, 98, 1)
    asked, given = examined_sizes(monkeypatch, build, sizes)
    # the second size, then one that is large and one that is small; what is larger still, and 1
    assert asked == [6, 97, 2, 98, 1]
    for n, (sums, shape) in zip(sizes, given, strict=True):
        np.testing.assert_allclose(sums, np.full(2 * n, 4 * np.sin(1)))
        assert shape.tolist() == [n, 2]


@pytest.mark.parametrize(
    ("build", "bad"),
    [
        (lambda x: tf.shape(x[:5] + tf.zeros([5, 2], tf.float64)), {2, 3, 4}),
        (lambda x: tf.shape(tf.reshape(x, [4, -1])), {3, 5, 7, 9}),
        (lambda x: tf.shape(x + tf.zeros([1, 2], tf.float64)), set()),
        (lambda x: tf.shape(x[:, 0] + tf.zeros([8], tf.float64)), {2, 3, 4, 5, 6, 7, 9}),
    ],
    ids=["a slice with an end", "a division", "one row", "a constant of one size"],
)
def test_sizes_that_do_not_fit_are_found(monkeypatch: pytest.MonkeyPatch, build: Any, bad: set[int]) -> None:
    sizes = (8, 6, 1, 2, 3, 4, 5, 6, 7, 8, 9)
    _, given = examined_sizes(monkeypatch, build, sizes)
    assert {n for n, found in zip(sizes, given, strict=True) if isinstance(found, Exception)} - {1} == bad
