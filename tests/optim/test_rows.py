"""Gradients that consist of rows: which rows a step changes, at what cost, and who sees the change."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import optim
import tape_api
from engine.runtime.errors import IndexOutOfRangeError
from tests.optim.cases import IDS, PAIRS, Case
from tests.optim.rows import DISTINCT, REPEATED, START, in_graph, on_tape
from tests.support import assert_same_bits

cases = pytest.mark.parametrize(("case", "dtype"), PAIRS, ids=IDS)


@cases
def test_graph_and_tape_agree_to_the_bit(case: Case, dtype: str) -> None:
    assert_same_bits(on_tape(tape_api, case.ours(), dtype), in_graph(case, dtype))


@cases
def test_what_becomes_of_the_other_rows(case: Case, dtype: str) -> None:
    optimizer = case.ours()
    one_by_one = on_tape(tape_api, optimizer, dtype, DISTINCT)
    dense = on_tape(tape_api, case.ours(), dtype, DISTINCT, dense=True)
    if not optimizer.takes_rows():
        assert_same_bits(one_by_one, dense)
        return
    values = on_tape(tape_api, case.ours(), dtype)
    touched: set[int] = set()
    for at, value in zip(REPEATED, values, strict=True):
        touched |= set(at)
        untouched = sorted(set(range(len(START))) - touched)
        assert_same_bits([value[untouched]], [START[untouched].astype(dtype)])
    np.testing.assert_allclose(one_by_one[0][[1, 3]], dense[0][[1, 3]], rtol=1e-6)


@cases
def test_rows_of_equal_index_count_as_their_sum(case: Case, dtype: str) -> None:
    """In the first step no row has anything behind it that a dense gradient would move."""
    if case.keras:
        pytest.skip("Keras squares the rows one by one")
    (got,), (dense,) = [on_tape(tape_api, case.ours(), dtype, [[3, 1, 3]], dense=d) for d in (False, True)]
    rtol = 1e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(got[[1, 3]], dense[[1, 3]], rtol=rtol)


@pytest.mark.parametrize("limit", [{"clipnorm": 5.0}, {"global_clipnorm": 5.0}], ids=str)
def test_rows_of_equal_index_count_one_by_one_in_norms(limit: dict[str, float]) -> None:
    tf = tape_api
    twice = tf.IndexedSlices(tf.constant([[6.0], [8.0]]), tf.constant([1, 1]), tf.constant([2, 1]))
    table = tf.Variable([[0.0], [0.0]])
    optim.keras.SGD(1.0, **limit).apply_gradients([(twice, table)])
    np.testing.assert_allclose(table.numpy(), [[0.0], [-7.0]], rtol=1e-6)  # 14 * 5 / 10


def test_rows_of_equal_index_are_squared_and_limited_one_by_one() -> None:
    """Adagrad's accumulator gets 3² + 4², as in Keras 3."""
    tf = tape_api
    twice = tf.IndexedSlices(tf.constant([[3.0], [4.0]]), tf.constant([1, 1]), tf.constant([2, 1]))
    table, optimizer = tf.Variable([[0.0], [0.0]]), optim.keras.Adagrad(1.0, 0.0, epsilon=1e-20)
    optimizer.apply_gradients([(twice, table)])
    np.testing.assert_allclose(table.numpy(), [[0.0], [-1.4]], rtol=1e-6)
    clipped = tf.Variable([[0.0], [0.0]])
    optim.keras.SGD(1.0, clipvalue=3.5).apply_gradients([(twice, clipped)])
    np.testing.assert_array_equal(clipped.numpy(), [[0.0], [-6.5]])


# ---- cost ------------------------------------------------------------------------------------------------------------

LARGE = (20_000, 32)


def step_on_tape() -> Callable[[], Any]:
    """A step of a training loop that gathers few rows of a large variable."""
    tf = tape_api
    variable = tf.Variable(np.ones(LARGE, np.float32))
    optimizer = optim.MomentumOptimizer(0.1, 0.9)

    def step() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.gather(variable, [5, 7, 5]) ** 2)
        optimizer.apply_gradients([(tape.gradient(loss, variable), variable)])

    return step


def step_in_graph() -> Callable[[], Any]:
    """The same in a graph."""
    tf = graph_api
    with tf.Graph().as_default():
        variable = tf.Variable(np.ones(LARGE, np.float32))
        loss = tf.reduce_sum(tf.gather(variable, [5, 7, 5]) ** 2)
        train = optim.MomentumOptimizer(0.1, 0.9).minimize(loss)
        session = tf.Session()
        session.run(tf.global_variables_initializer())
    return lambda: session.run(train)


@pytest.mark.parametrize("make", [step_on_tape, step_in_graph], ids=["tape", "graph"])
def test_a_step_costs_what_its_rows_cost(make: Callable[[], Callable[[], Any]]) -> None:
    step = make()
    for _ in range(5):
        step()
    tracemalloc.start()
    try:
        for _ in range(3):
            step()
        assert tracemalloc.get_traced_memory()[1] < np.prod(LARGE) * 4 / 10
    finally:
        tracemalloc.stop()


# ---- who sees the change ---------------------------------------------------------------------------------------------


def test_what_was_read_before_stays() -> None:
    tf = tape_api
    variable = tf.Variable(START)
    optimizer = optim.GradientDescentOptimizer(1.0)
    gradient = tf.IndexedSlices(tf.ones([1, 2], tf.float64), tf.constant([2]), [5, 2])
    readings: list[Callable[[], Any]] = [
        variable.read_value,
        lambda: tf.reshape(variable, [10]),
        lambda: variable[2],
        lambda: np.asarray(variable),
        lambda: memoryview(np.asarray(variable)),
        lambda: tf.Variable(variable),
    ]
    for read in readings:
        value = read()
        before = np.array(value)
        optimizer.apply_gradients([(gradient, variable)])
        np.testing.assert_array_equal(np.array(value), before)
    np.testing.assert_array_equal(variable.numpy()[2], START[2] - len(readings))


def test_a_recording_keeps_the_value_it_has_seen() -> None:
    tf = tape_api
    variable = tf.Variable(START)
    with tf.GradientTape(persistent=True) as tape:
        y = tf.reduce_sum(variable * variable)
        variable.scatter_update(tf.IndexedSlices(tf.zeros([1, 2], tf.float64), tf.constant([0])))
    np.testing.assert_array_equal(tape.gradient(y, variable).numpy(), 2 * START)


def test_fetches_of_the_same_run_are_the_old_value_and_later_ones_the_new() -> None:
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        v, w = tf.Variable(START), tf.Variable(START)
        old = v.read_value()
        gradient = tf.IndexedSlices(tf.ones([1, 2], tf.float64), tf.constant([2]), [5, 2])
        train = tf.train.GradientDescentOptimizer(1.0).apply_gradients([(gradient, v)])
        session.run(tf.global_variables_initializer())
        first = session.run(v)
        got, _ = session.run([old, train])
        np.testing.assert_array_equal(got, START)
        np.testing.assert_array_equal(first, START)
        np.testing.assert_array_equal(session.run(w), START)
        changed = session.run(v)
        changed[:] = 0
        np.testing.assert_array_equal(session.run(v)[2], START[2] - 1)


def test_rows_of_one_variable_assigned_to_another_that_changes_in_the_same_run() -> None:
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        v, w = tf.Variable(START), tf.Variable(-START)
        swap = tf.group(
            tf.scatter_update(v, [0, 1], w.read_value()[:2]), tf.scatter_update(w, [0, 1], v.initialized_value()[3:])
        )
        session.run(tf.global_variables_initializer())
        session.run(swap)
        np.testing.assert_array_equal(session.run(v)[:2], -START[:2])
        np.testing.assert_array_equal(session.run(w)[:2], START[3:])


# ---- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("takes", [True, False], ids=["rows", "dense"])
def test_a_step_that_fails_changes_nothing(takes: bool) -> None:
    tf = tape_api
    v, w = tf.Variable(START), tf.Variable(START)
    optimizer: Any = optim.MomentumOptimizer(0.1, 0.9) if takes else optim.AdamOptimizer()
    good = tf.IndexedSlices(tf.ones([1, 2], tf.float64), tf.constant([2]), [5, 2])
    outside = tf.IndexedSlices(tf.ones([1, 2], tf.float64), tf.constant([5]), [5, 2])
    wide = tf.IndexedSlices(tf.ones([1, 3], tf.float64), tf.constant([2]), [5, 3])
    single = tf.IndexedSlices(tf.ones([1, 2], tf.float32), tf.constant([2]), [5, 2])
    for bad, error in ((outside, IndexOutOfRangeError), (wide, ValueError), (single, TypeError)):
        with pytest.raises(error):
            optimizer.apply_gradients([(good, v), (bad, w)])
        np.testing.assert_array_equal(v.numpy(), START)
        np.testing.assert_array_equal(w.numpy(), START)


@pytest.mark.filterwarnings("ignore:.*is given more than once")
def test_a_variable_given_twice_makes_two_steps() -> None:
    tf = tape_api
    v = tf.Variable(START)
    gradients = [tf.IndexedSlices(tf.ones([1, 2], tf.float64), tf.constant([i]), [5, 2]) for i in (2, 3)]
    optim.GradientDescentOptimizer(1.0).apply_gradients([(g, v) for g in gradients])
    np.testing.assert_array_equal(v.numpy(), START - [[0], [0], [1], [1], [0]])


def test_a_constraint_sees_the_whole_value() -> None:
    tf = tape_api
    v = tf.Variable(START, constraint=lambda x: tf.clip_by_value(x, -1.0, 1.0))
    gradient = tf.IndexedSlices(tf.ones([1, 2], tf.float64), tf.constant([2]), [5, 2])
    optim.GradientDescentOptimizer(1.0).apply_gradients([(gradient, v)])
    np.testing.assert_array_equal(v.numpy(), np.clip(START - [[0], [0], [1], [0], [0]], -1, 1))


@pytest.mark.parametrize("tf", [graph_api, tape_api], ids=["graph", "tape"])
def test_operators_of_tensors_take_rows_as_the_whole(tf: Any) -> None:
    whole, two = np.array([[2.0, 4.0], [0.0, 0.0], [6.0, 8.0]]), np.full((3, 2), 2.0)
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        rows = tf.IndexedSlices(tf.constant(whole[::2]), tf.constant([0, 2]), tf.constant([3, 2]))
        other = tf.constant(two)
        pairs = [
            (rows / other, whole / two), (other - rows, two - whole), (rows * other, whole * two),
            (rows @ tf.transpose(other), whole @ two.T), (rows < other, whole < two),
            (tf.convert_to_tensor(-rows), 0.0 - whole),
        ]  # fmt: skip
        for made, expected in pairs:
            assert_same_bits(session.run(made) if tf is graph_api else made.numpy(), expected)
        with pytest.raises(TypeError, match="unsupported operand"):
            rows * 2.0
