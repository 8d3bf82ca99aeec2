"""Variables, random streams and what a session keeps: order, failures, shapes, threads, memory."""

import gc
import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest

import graph_api as tf
import tape_api
from engine.compiler.updates.deferred_updates import LARGE
from tests.support import at_once


def initialized() -> tf.Session:
    sess = tf.Session()
    sess.run(tf.global_variables_initializer())
    return sess


# ---- order -----------------------------------------------------------------------------------------------------------


def test_reads_see_the_assignments_built_before_them_if_these_run() -> None:
    v = tf.Variable(1.0)
    first = v * 1.0
    up = v.assign(10.0)
    second = v * 1.0
    again = v.assign_add(5.0)
    third = v * 1.0
    with initialized() as sess:
        assert sess.run([first, second, third]) == [1.0, 1.0, 1.0]
        assert sess.run([third, again, second, up, first]) == [15.0, 15.0, 10.0, 10.0, 1.0]
        assert sess.run(v) == 15.0
        assert sess.run([second, again]) == [15.0, 20.0]


def test_a_chain_of_control_dependencies() -> None:
    v = tf.Variable(1.0)
    step: Any = tf.no_op()
    for factor in (2.0, 3.0):
        with tf.control_dependencies([step]):
            step = v.assign(v.read_value() * factor + 1.0)
    with tf.control_dependencies([step]):
        out = v.read_value() * 100.0
    with initialized() as sess:
        assert sess.run(out) == 1000.0
        assert sess.run(v) == 10.0


def test_control_dependencies_nest_and_can_be_cleared() -> None:
    v = tf.Variable(0)
    one, ten = v.assign_add(1), v.assign_add(10)
    with tf.control_dependencies([one]):
        with tf.control_dependencies([ten]):
            both = tf.constant(1) + 0
            with tf.control_dependencies(None):
                neither = tf.constant(1) + 0
        outer = tf.constant(1) + 0
    with initialized() as sess:
        for fetch, value in ((neither, 0), (outer, 1), (both, 12)):
            sess.run(fetch)
            assert sess.run(v) == value


def test_constants_inside_control_dependencies_wait_for_nothing_but_operations_do() -> None:
    v = tf.Variable(1.0)
    with tf.control_dependencies([v.assign(7.0)]):
        read = tf.identity(v)
        old = tf.identity(v.initial_value)
    with initialized() as sess:
        assert sess.run(old) == 1.0
        assert sess.run(v) == 7.0
        assert sess.run(read) == 7.0


def test_assignments_in_name_scopes() -> None:
    v = tf.Variable(1.0, name="v")
    with tf.name_scope("train"):
        up = v.assign_add(2.0)
        with tf.name_scope("inner"):
            down = v.assign_sub(1.0, name="Down")
    assert [up.name, down.name] == ["train/AssignAdd:0", "train/inner/Down:0"]  # as TensorFlow names them
    with initialized() as sess:
        assert sess.run(up) == 3.0
        assert sess.run(down) == 2.0
        assert sess.run([down, up]) == [3.0, 4.0]
        assert sess.run(v) == 3.0


def test_assigning_a_variable_to_another_copies_its_value() -> None:
    v, w = tf.Variable([1.0, 2.0]), tf.Variable([0.0, 0.0])
    copy, change = w.assign(v), v.assign_add([1.0, 1.0])
    with initialized() as sess:
        sess.run(copy)[:] = 99
        sess.run(change)
        np.testing.assert_array_equal(sess.run(w), [1, 2])
        np.testing.assert_array_equal(sess.run(v), [2, 3])


def test_swapping_two_variables() -> None:
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    old_v, old_w = tf.identity(v), tf.identity(w)
    swap = tf.group(v.assign(old_w), w.assign(old_v))
    with initialized() as sess:
        for expected in ([2.0, 1.0], [1.0, 2.0]):
            sess.run(swap)
            assert sess.run([v, w]) == expected


# ---- initializers ----------------------------------------------------------------------------------------------------


def test_initializers_that_depend_on_other_variables() -> None:
    a = tf.Variable(tf.random_normal([3]), name="a")
    b = tf.Variable(a.initialized_value() * 2.0, name="b")
    c = tf.Variable(b.initialized_value() + a.initialized_value(), name="c")
    d = tf.Variable(lambda: c.initialized_value() * 10.0, name="d")
    with initialized() as sess:
        x, y, z, w = sess.run([a, b, c, d])
        np.testing.assert_array_equal([y, z, w], [2 * x, y + x, z * 10])
        sess.run(a.assign(tf.zeros([3])))
        sess.run(b.initializer)
        # drawn again: initialized_value is the initial value, not the current one
        assert np.any(sess.run(b) != 0)
        np.testing.assert_array_equal(sess.run(a), [0, 0, 0])


def test_only_the_variables_that_are_read_need_initializing() -> None:
    v, w = tf.Variable(1.0, name="v"), tf.Variable(2.0, name="w")
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert sess.run(v * 2.0) == 2.0
        sess.run(w.assign(5.0))
        assert sess.run(w) == 5.0
    with tf.Session() as sess, pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value w"):
        sess.run([v.initializer, w.assign_add(1.0)])


# ---- failures --------------------------------------------------------------------------------------------------------


def test_a_failed_run_changes_no_variable_and_no_random_stream() -> None:
    tf.set_random_seed(1)
    v = tf.Variable(0.0)
    draw = tf.random_uniform([])
    x = tf.placeholder(tf.float32)
    with tf.control_dependencies([v.assign(draw)]):
        out = tf.gather([1.0, 2.0], tf.cast(x, tf.int32)) * draw
    with initialized() as sess, initialized() as other:
        with pytest.raises(tf.errors.InvalidArgumentError, match="gather"):
            sess.run(out, {x: 5.0})
        assert sess.run(v) == 0.0
        for _ in range(3):
            assert sess.run(out, {x: 0.0}) == other.run(out, {x: 0.0})
            with pytest.raises(tf.errors.InvalidArgumentError, match="gather"):
                sess.run(out, {x: 5.0})
        assert sess.run(v) == other.run(v)


def test_a_failed_first_run_compiles_well_afterwards() -> None:
    v = tf.Variable([1.0, 2.0])
    x = tf.placeholder(tf.float32)
    y = v * x
    with tf.Session() as sess:
        with pytest.raises(tf.errors.FailedPreconditionError):
            sess.run(y, {x: 1.0})
        sess.run(v.initializer)
        with pytest.raises(ValueError, match="multiply"):
            sess.run(y, {x: np.ones(3)})
        np.testing.assert_array_equal(sess.run(y, {x: 2.0}), [2, 4])


# ---- shapes ----------------------------------------------------------------------------------------------------------


def test_values_of_a_wrong_shape_are_refused() -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    x = tf.placeholder(tf.float32)
    known, found = v.assign(x), v.assign(tf.boolean_mask(x, x > 0))
    with initialized() as sess:
        with pytest.raises(ValueError, match=r"shape \(2,\), the value \(3,\).*test_state"):
            sess.run(known, {x: [1, 2, 3]})
        with pytest.raises(ValueError, match=r"'v:0' has shape \(2,\), the value \(1,\)"):
            sess.run(found, {x: [1, -2, -3]})
        np.testing.assert_array_equal(sess.run(v), [1, 2])
        np.testing.assert_array_equal(sess.run(found, {x: [1, -2, 5]}), [1, 5])


def test_variables_of_changing_shape() -> None:
    x = tf.placeholder(tf.float32)
    v = tf.Variable([1.0, 2.0], validate_shape=False)
    assert v.shape.ndims is None
    put, total, (slope,) = v.assign(x), tf.reduce_sum(v * v), tf.gradients(tf.reduce_sum(v * v), v)
    with initialized() as sess:
        assert sess.run(total) == 5.0
        for value in ([1.0], [[1.0, 2.0], [3.0, 4.0]], 3.0, [1.0], [], [2.0, 2.0]):
            sess.run(put, {x: value})
            array = np.array(value, np.float32)
            assert sess.run(total) == np.sum(array**2)
            np.testing.assert_array_equal(sess.run(slope), 2 * array)
            assert sess.run(v).shape == array.shape


def test_sessions_hold_one_variable_in_different_shapes() -> None:
    x = tf.placeholder(tf.float32)
    v = tf.Variable(0.0, validate_shape=False)
    put, size = v.assign(x), tf.size(v)
    with initialized() as one, initialized() as two:
        one.run(put, {x: np.ones(3)})
        two.run(put, {x: np.ones((2, 2))})
        assert (one.run(size), two.run(size)) == (3, 4)


# ---- feeding ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_name", [False, True])
def test_a_fed_variable_holds_the_value_for_every_reader(by_name: bool) -> None:
    v = tf.Variable(2.0, name="v")
    before = v * 10.0
    up = v.assign_add(1.0)
    after = v * 100.0
    (slope,) = tf.gradients(v * v, v)
    with tf.Session() as sess:
        feed = {"v:0" if by_name else v: 7.0}
        assert sess.run([before, after, v, slope], feed) == [70.0, 700.0, 7.0, 14.0]
        sess.run(v.initializer)
        assert sess.run([before, after, v, slope], feed) == [70.0, 700.0, 7.0, 14.0]
        assert sess.run(v) == 2.0
        assert sess.run([up, after], feed) == [8.0, 800.0]
        assert sess.run(v) == 8.0
        with pytest.raises(ValueError, match="Cannot feed value of shape"):
            sess.run(v, {v: [1.0, 2.0]})


def test_feeding_one_output_of_several() -> None:
    a, b = tf.unstack(tf.constant([1.0, 2.0]))
    with tf.Session() as sess:
        assert sess.run(a + b, {a: 10.0}) == 12.0
        assert sess.run([a, b], {b: 10.0}) == [1.0, 10.0]
        assert sess.run(a + b) == 3.0


def test_fetched_arrays_are_independent_of_each_other() -> None:
    x = tf.placeholder(tf.float32, [2])
    y = x * 2.0
    with tf.Session() as sess:
        first, second, third = sess.run([y, tf.identity(y), tf.reshape(y, [2, 1])], {x: [1.0, 2.0]})
        first[:] = 9
        np.testing.assert_array_equal(second, [2, 4])
        np.testing.assert_array_equal(third, [[2], [4]])


def test_a_python_functions_own_array_may_change_later() -> None:
    buffer = np.ones(2, np.float32)
    p = tf.py_func(lambda: buffer, [], tf.float32)
    p.set_shape([2])
    v = tf.Variable(tf.zeros([2]))
    put = v.assign(p)
    with initialized() as sess:
        sess.run(put)[:] = 5
        np.testing.assert_array_equal(buffer, [1, 1])
        buffer[:] = 9
        np.testing.assert_array_equal(sess.run(v), [1, 1])


# ---- random streams --------------------------------------------------------------------------------------------------


def draws(tensor: Any, count: int = 3) -> list[bytes]:
    with tf.Session(graph=tensor.graph) as sess:
        return [sess.run(tensor).tobytes() for _ in range(count)]


@pytest.mark.parametrize(("graph_seed", "op_seed"), [(1, None), (None, 2), (1, 2)])
def test_seeded_streams_start_anew_in_each_session(graph_seed: int | None, op_seed: int | None) -> None:
    if graph_seed is not None:
        tf.set_random_seed(graph_seed)
    a = tf.random_normal([2], seed=op_seed)
    first = draws(a)
    assert len(set(first)) == 3
    assert draws(a) == first


def test_streams_without_a_seed_differ_between_sessions() -> None:
    a = tf.random_normal([2])
    assert len(set(draws(a) + draws(a))) == 6


def test_seeds_name_streams() -> None:
    tf.set_random_seed(1)
    same, other, own, own_too = (tf.random_uniform([2], seed=s) for s in (3, 4, None, None))
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        elsewhere = tf.random_uniform([2], seed=3)
    with tf.Graph().as_default():
        tf.set_random_seed(2)
        differently = tf.random_uniform([2], seed=3)
    assert draws(same) == draws(elsewhere)
    assert len({x for t in (same, other, own, own_too, differently) for x in draws(t)}) == 15


def test_a_stream_moves_on_only_when_it_runs() -> None:
    tf.set_random_seed(1)
    a, b = tf.random_uniform([2]), tf.random_uniform([2])
    alone = draws(a)
    with tf.Session() as sess:
        mixed = []
        for _ in range(3):
            sess.run(b)
            mixed.append(sess.run([a, b, a * 2.0])[0].tobytes())
        sess.run(b, {a: np.zeros(2)})
        assert sess.run(a * 1.0, {a: np.zeros(2)}).tolist() == [0, 0]
    assert mixed == alone


def test_one_draw_serves_a_whole_run() -> None:
    a = tf.random_normal([3])
    with tf.Session() as sess:
        for _ in range(3):
            x, y, z = sess.run([a, a + 0.0, tf.gradients(a * a, a)[0]])
            np.testing.assert_array_equal([y, z], [x, 2 * x])


# ---- executables, memory, threads ------------------------------------------------------------------------------------


def test_executables_follow_the_shapes() -> None:
    x = tf.placeholder(tf.float32)
    y = tf.reduce_sum(tf.reshape(x, [-1]) * 2.0)
    with tf.Session() as sess:
        for _ in range(3):
            for shape in ((), (2,), (2, 2), (0, 3)):
                assert sess.run(y, {x: np.ones(shape)}) == 2.0 * np.prod(shape)
        # one for each rank: the shapes of a rank share another
        assert len(sess._executables.own) == 3


def test_a_graph_that_grows_after_a_run() -> None:
    v = tf.Variable(1.0)
    y = v * 2.0
    with initialized() as sess:
        assert sess.run(y) == 2.0
        up = v.assign_add(1.0)
        z = y + v
        assert sess.run(y) == 2.0
        assert sess.run([up, z]) == [2.0, 4.0]
        assert sess.run(y) == 4.0


def test_a_thousand_runs_need_no_more_memory_than_ten() -> None:
    x = tf.placeholder(tf.float32, [None, 4])
    w = tf.Variable(tf.random_normal([4, 3]))
    loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.dropout(x, 0.5), w)))
    train = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss)
    with initialized() as sess:
        for i in range(20):
            sess.run([train, loss], {x: np.ones((1 + i % 3, 4))})
        gc.collect()
        tracemalloc.start()
        for i in range(10):
            sess.run([train, loss], {x: np.ones((1 + i % 3, 4))})
        start = tracemalloc.get_traced_memory()[0]
        for i in range(1000):
            sess.run([train, loss], {x: np.ones((1 + i % 3, 4))})
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - start
        tracemalloc.stop()
        assert grown < 100_000  # an object left behind by each run takes more
        assert len(tf.get_default_graph().get_operations()) < 200


def in_threads(count: int, work: Any) -> None:
    """Run ``work(number)`` in as many threads; raise what any of them raised."""
    errors: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    at_once(guarded, range(count))
    if errors:
        raise errors[0]


def test_each_thread_has_a_default_graph_of_its_own() -> None:
    main = tf.get_default_graph()
    tf.constant(1.0)
    together = threading.Barrier(3)

    def build(number: int) -> None:
        assert tf.get_default_graph() is not main
        assert tf.get_default_session() is None
        x = tf.placeholder(tf.float32, name="x")
        y = x
        for k in range(30):
            together.wait()
            with tf.name_scope("layer"), tf.control_dependencies([y]):
                y = tf.add(y, float(number), name=f"n{k}")
        (slope,) = tf.gradients(y * y, x)
        with tf.Session() as sess:
            for i in range(20):
                assert sess.run([y, slope], {x: float(i)}) == [i + 30.0 * number, 2 * (i + 30.0 * number)]
        assert [op.name for op in y.op.control_inputs] == [y.op.inputs[0].op.name]

    in_threads(3, build)
    assert len(main.get_operations()) == 1


def test_threads_run_one_session() -> None:
    x = tf.placeholder(tf.float32, [None])
    w = tf.Variable(3.0)
    y = tf.reduce_sum(x * w) + tf.random_uniform([]) * 0.0
    with initialized() as sess:

        def use(number: int) -> None:
            for i in range(100):
                n = 1 + (i + number) % 7
                assert sess.run(y, {x: np.full(n, number)}) == 3.0 * n * number

        in_threads(4, use)


def test_which_variables_have_a_value() -> None:
    v, w = tf.Variable(1.0, name="v"), tf.Variable([2.0], name="w")
    names, flag = tf.report_uninitialized_variables(), tf.is_variable_initialized(v)
    with tf.Session() as session:
        got, was, nested = session.run([names, flag, {"only w": tf.report_uninitialized_variables([w])}])
        assert got.tolist() == [b"v", b"w"] and not was and nested["only w"].tolist() == [b"w"]
        session.run(v.initializer)
        assert session.run(names).tolist() == [b"w"] and session.run(flag)
        session.run(tf.global_variables_initializer())
        assert session.run(names).tolist() == []
        assert not session.run(tf.logical_not(flag))


def test_large_variables_get_computed_initial_values() -> None:
    v = tf.Variable(tf.random_uniform([LARGE]) * 2.0 + 1.0)
    w = tf.Variable(tf.zeros([LARGE]) + tf.random_normal([1]), validate_shape=False)
    step = tf.assign(v, v * 2.0)
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(step)
        session.run(tf.global_variables_initializer())
        before = session.run(v)
        assert before.min() >= 1.0
        assert session.run(w).shape == (LARGE,)
        np.testing.assert_array_equal(session.run(step), before * 2.0)
        # as often as wanted, when there are values to write over
        session.run(tf.global_variables_initializer())
        assert 1.0 <= session.run(v).min() < 3.0


@pytest.mark.parametrize("method", ["assign_add", "assign_sub"])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("delta", [1.0, [1.0]])
def test_what_is_added_has_the_variables_shape_as_on_tapes(method: str, known: bool, delta: Any) -> None:
    said = rf"{method}: the variable '\w+:0' has shape \(2,\), the value to apply"
    with pytest.raises(tape_api.errors.InvalidArgumentError, match=said):
        getattr(tape_api.Variable([1.0, 2.0], name="v"), method)(delta)
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable([1.0, 2.0], name="v")
        session.run(v.initializer)
        fed = tf.placeholder(tf.float32)
        with pytest.raises(ValueError, match=said):
            session.run(getattr(v, method)(delta if known else fed), {fed: delta})
        assert session.run(v).tolist() == [1, 2]
        assert session.run(v.assign_add(fed), {fed: [1.0, 1.0]}).tolist() == [2, 3]


def test_numpy_data_are_cast_to_the_variables_dtype_as_on_tapes() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v, twin = tf.Variable([1, 2]), tape_api.Variable([1, 2])
        session.run(v.initializer)
        for method in ("assign", "assign_add", "assign_sub"):
            getattr(twin, method)(np.array([2.5, 7.0]))
            assert session.run(getattr(v, method)(np.array([2.5, 7.0]))).tolist() == twin.numpy().tolist()
            with pytest.raises(TypeError, match=f"{method}.*Cannot convert"):
                getattr(v, method)([2.5, 7.0])


def test_counting_up_to_a_limit() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(0)
        up, also = v.count_up_to(2), tf.count_up_to(v, 2)
        session.run(v.initializer)
        assert [session.run(up), session.run(also), session.run(v)] == [0, 1, 2]
        with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of 2"):
            session.run(up)


def test_assignments_whose_value_is_not_wanted_are_operations() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(1.0)
        assert not session.run(v.is_initialized())
        session.run(v.initializer)
        assert session.run(v.is_initialized())
        for change in (v.assign, v.assign_add, v.assign_sub):
            operation = change(3.0, read_value=False)
            assert isinstance(operation, tf.Operation) and session.run(operation) is None
        assert session.run(v) == 3.0


def test_a_declared_shape_may_be_looser_than_the_initial_value() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(tf.zeros([2, 3]), shape=[None, 3])
        assert v.shape.as_list() == [None, 3]
        session.run(v.initializer)
        assert session.run(v.assign(tf.ones([5, 3]))).shape == (5, 3)
        with pytest.raises(ValueError, match="shape"):
            tf.Variable(tf.zeros([2, 3]), shape=[None, 4])


def test_gradients_pass_through_what_has_none() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v, z = tf.Variable(1.0), tf.Variable(3.0)
        passed = tf.grad_pass_through(lambda x: v.assign(x))(z**2)
        assert tf.gradients(tf.grad_pass_through(lambda x: v * x)(z), v) == [None]
        session.run(tf.global_variables_initializer())
        assert session.run([passed, *tf.gradients(passed, z)]) == [9.0, 6.0]


def test_initializers_come_back_from_their_configuration() -> None:
    config = tf.truncated_normal_initializer(1.0, 2.0, seed=3).get_config()
    assert tf.truncated_normal_initializer.from_config(config).get_config() == config


def test_arrays_say_when_they_are_written() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        array = tf.TensorArray(tf.float32, 2)
        assert session.run([array.flow, array.write(0, 1.0).flow, array.close()]) == [0.0, 0.0, None]
        with pytest.raises(tf.errors.OpError):
            session.run(array.write(5, 1.0).flow)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tf.Variable(1.0, collections="local_variables"), ValueError, "must be a list, tuple, or set"),
        (lambda: tf.get_default_graph().get_operation_by_name(3), TypeError, "Operation names are strings"),
        (lambda: tf.get_default_graph().as_graph_element("c", allow_operation=False), ValueError, "not a Tensor"),
        (lambda: tf.get_default_graph().as_graph_element("c:0", allow_tensor=False), ValueError, "not a Operation"),
        (lambda: tf.assert_rank([1], [1]), ValueError, "Rank must be a scalar"),
        (lambda: tf.assert_rank([1], 1.5), TypeError, "must be an integer"),
        (lambda: tf.device("foo").__enter__(), ValueError, "Unknown attribute 'foo'"),
        (lambda: tf.variable_scope(3).__enter__(), TypeError, "must be a string or VariableScope"),
        (lambda: tf.variable_scope(None).__enter__(), TypeError, "name_or_scope is required"),
    ],
)
def test_arguments_of_another_kind(call: Any, error: type[Exception], words: str) -> None:
    tf.constant(1.0, name="c")
    with pytest.raises(error, match=words):
        call()


def test_operations_made_beside_others() -> None:
    with tf.device("/gpu:1"):
        x = tf.constant(1.0)
    with tf.colocate_with(x):
        y = tf.constant(2.0)
        assert y.op.colocation_groups() == x.op.colocation_groups()
    with tf.colocate_with(None):
        z = tf.constant(3.0)
    assert (y.device, z.device) == ("/device:GPU:1", "")
