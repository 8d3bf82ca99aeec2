"""Moving averages of variables."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api as v1
import optim
import tape_api as v2
from tests.support import assert_same_bits

VALUES = [2.0, -1.0, 0.5, 4.0]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_large_averages_are_moved_where_they_lie(dtype: Any) -> None:
    drawn = np.random.default_rng(0)
    w, average, weight = v2.Variable(np.zeros(50_001, dtype)), optim.ExponentialMovingAverage(0.75), dtype(0.25)
    average.apply([w])
    average.apply([w])
    place = average.average(w)._tensor._array.ctypes.data  # type: ignore[union-attr]
    expected = w.numpy()
    for _ in range(3):
        w.assign(drawn.standard_normal(50_001).astype(dtype))
        average.apply([w])
        expected = expected - (expected - w.numpy()) * weight
        assert_same_bits([average.average(w).numpy()], [expected])  # type: ignore[union-attr]
    assert average.average(w)._tensor._array.ctypes.data == place  # type: ignore[union-attr]
    kept = average.average(w).read_value()  # type: ignore[union-attr]
    v2.function(lambda: average.apply([w]))()
    average.apply([w])
    assert_same_bits([kept.numpy()], [expected])
    again = expected - (expected - w.numpy()) * weight
    assert_same_bits([average.average(w).numpy()], [again - (again - w.numpy()) * weight])  # type: ignore[union-attr]


def test_values() -> None:
    w = v2.Variable(1.0, name="w")
    average = optim.ExponentialMovingAverage(0.75)
    expected = 1.0
    for value in [1.0, *VALUES]:
        w.assign(value)
        assert average.apply([w]) is None
        expected = 0.75 * expected + 0.25 * value
        assert average.average(w).numpy() == pytest.approx(expected)  # type: ignore[union-attr]
    assert average.average_name(w) == "w/ExponentialMovingAverage"
    assert average.average(v2.Variable(1.0)) is None
    assert not average.average(w).trainable  # type: ignore[union-attr]


def test_graph_and_tape_agree_to_the_bit() -> None:
    w, count = v2.Variable([1.0, 2.0]), v2.Variable(0)
    average = optim.ExponentialMovingAverage(0.9, num_updates=count)
    taped = []
    for value in VALUES:
        w.assign([value, -value])
        average.apply([w])
        count.assign_add(3)
        taped.append(average.average(w).numpy())  # type: ignore[union-attr]
    with v1.Graph().as_default(), v1.Session() as session:
        # starts from the initial value, where the eager one starts from the value at the first `apply`
        x, steps = v1.Variable([VALUES[0], -VALUES[0]]), v1.Variable(0)
        given = v1.placeholder(v1.float32, [2])
        setting, counting = x.assign(given), steps.assign_add(3)
        average = optim.ExponentialMovingAverage(0.9, num_updates=steps)
        update = average.apply([x])
        assert update.name == "ExponentialMovingAverage"
        session.run(v1.global_variables_initializer())
        graphed = []
        for value in VALUES:
            session.run(setting, {given: [value, -value]})
            session.run(update)
            session.run(counting)
            graphed.append(session.run(average.average(x)))
    assert_same_bits(graphed, taped)


def test_float64_variables_keep_their_dtype() -> None:
    w = v2.Variable(np.float64(1.0))
    average = optim.ExponentialMovingAverage(0.5)
    average.apply([w])
    assert average.average(w).dtype == v2.float64  # type: ignore[union-attr]


@pytest.mark.parametrize("bad", [v2.constant(1.0), v2.Variable(1), 1.0])
def test_only_floating_variables_have_averages(bad: object) -> None:
    with pytest.raises(TypeError, match="The variables must be half, float, or double"):
        optim.ExponentialMovingAverage(0.5).apply([bad])  # type: ignore[list-item]


# ---- averages restored into their variables --------------------------------------------------------------------------


@pytest.mark.parametrize("home", [v1.train, optim], ids=["train", "optim"])
@pytest.mark.parametrize("given", [False, True], ids=["all", "given"])
def test_the_evaluation_recipe_restores_averages_into_variables(tmp_path: Path, home: Any, given: bool) -> None:
    tf = v1

    def program() -> tuple[Any, Any, Any, Any]:
        a, step = tf.Variable(1.0, name="a"), tf.Variable(0, trainable=False, name="step")
        with tf.variable_scope("net"):
            b = tf.get_variable("b", initializer=[2.0, 3.0])
        average = home.ExponentialMovingAverage(0.5)
        with tf.control_dependencies([tf.train.GradientDescentOptimizer(1.0).minimize(a + tf.reduce_sum(b), step)]):
            return a, b, average, average.apply([a, b])

    with tf.Graph().as_default(), tf.Session() as session:
        a, b, average, train = program()
        session.run(tf.global_variables_initializer())
        session.run(train)
        session.run(train)
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
        wanted = session.run([average.average(a), average.average(b)])
    with tf.Graph().as_default(), tf.Session() as session:
        a, b, average, _ = program()
        found = average.variables_to_restore([a, b] if given else None)
        assert {name: v.op.name for name, v in found.items()} == {
            "a/ExponentialMovingAverage": "a", "net/b/ExponentialMovingAverage": "net/b", "step": "step",
        }  # fmt: skip
        session.run(tf.global_variables_initializer())
        tf.train.Saver(found).restore(session, path)
        assert_same_bits(session.run([a, b]), wanted)
        assert session.run("step:0") == 2


def test_a_variable_without_an_average_is_restored_itself(tmp_path: Path) -> None:
    """And a program that only evaluates has no averages at all."""
    tf = v1
    with tf.Graph().as_default():
        a, b = tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
        found = tf.train.ExponentialMovingAverage(0.5).variables_to_restore([a])
        assert {name: v.op.name for name, v in found.items()} == {"a/ExponentialMovingAverage": "a", "b": "b"}
        assert b is found["b"]


def test_averages_of_eager_variables_are_restored_by_their_names(tmp_path: Path) -> None:
    tf = v2
    w, average = tf.Variable(1.0, name="w"), optim.ExponentialMovingAverage(0.5)
    average.apply([w])
    w.assign(3.0)
    average.apply([w])
    saver = tf.compat.v1.train.Saver([w, average.average(w)])
    path = saver.save(None, str(tmp_path / "model"))
    tf.compat.v1.train.Saver(average.variables_to_restore()).restore(None, path)
    assert w.numpy() == 2.0
    with pytest.raises(ValueError, match="must have names of their own"):
        average.variables_to_restore([w, tf.Variable(1.0, name="w")])
