"""Sessions: fetches, feeds, variables, control dependencies, errors."""

from collections import namedtuple

import numpy as np
import pytest

import graph_api as tf


def test_nested_fetches_keep_their_structure() -> None:
    x = tf.constant([1.0, 2.0])
    y = x * 2
    pair = namedtuple("pair", "first second")
    with tf.Session() as sess:
        out = sess.run({"a": x, "b": [x, (y,)], "c": pair(x, y), "d": y.op})
    assert isinstance(out["b"], list) and isinstance(out["b"][1], tuple) and isinstance(out["c"], pair)
    np.testing.assert_array_equal(out["c"].second, [2, 4])
    assert out["d"] is None
    assert type(out["a"]) is np.ndarray


def test_scalars_come_back_as_numpy_scalars() -> None:
    with tf.Session() as sess:
        assert type(sess.run(tf.constant(1.0) + 1.0)) is np.float32


def test_fetch_and_feed_by_name() -> None:
    tf.placeholder(tf.float32, name="x") * tf.constant(2.0, name="two")
    with tf.Session() as sess:
        assert sess.run("mul:0", {"x:0": 4.0}) == 8.0
        assert sess.run(["two:0"]) == [2.0]
        assert sess.run("two") is None


def test_feeding_an_intermediate_tensor_overrides_it() -> None:
    x = tf.placeholder(tf.float32)
    h = x * x
    y = h + 1.0
    with tf.Session() as sess:
        assert sess.run(y, {h: 10.0}) == 11.0
        assert sess.run(y, {x: 2.0, h: 10.0}) == 11.0
        assert sess.run([h, y], {x: 2.0}) == [4.0, 5.0]


def test_a_default_is_not_known_in_advance() -> None:
    n = tf.placeholder_with_default([2, 3], [2])
    x = tf.zeros(n)
    assert x.shape.as_list() == [None, None]
    with tf.Session() as session:
        assert session.run(x).shape == (2, 3)
        assert session.run(x, {n: [4, 1]}).shape == (4, 1)


def test_feed_of_the_wrong_shape() -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.Session() as sess:
        message = r"Cannot feed value of shape \(3,\) for Tensor x:0, which has shape \(2,\)"
        with pytest.raises(ValueError, match=message):
            sess.run(x, {x: [1, 2, 3]})


def test_bad_feeds() -> None:
    x = tf.placeholder(tf.float32, name="x")
    with tf.Session() as sess:
        with pytest.raises(TypeError, match="feed"):
            sess.run(x, {x: x})
        with pytest.raises(TypeError, match="feed_dict key"):
            sess.run(x, {3: 1.0})
        with pytest.raises(ValueError, match="nowhere:0"):
            sess.run(x, {"nowhere:0": 1.0})
        with pytest.raises(TypeError, match="x:0"):
            sess.run(x, {x: "text"})
        with pytest.raises(TypeError, match="float"):
            sess.run(tf.placeholder(tf.int32, name="i"), {"i:0": 1.5})


def test_bad_fetches() -> None:
    with tf.Session() as sess:
        with pytest.raises(TypeError, match="None"):
            sess.run(None)
        with pytest.raises(TypeError, match="None"):
            sess.run([tf.constant(1.0), None])
        with pytest.raises(TypeError, match="invalid type"):
            sess.run(3)
        with pytest.raises(ValueError, match="nowhere"):
            sess.run("nowhere:0")
    with tf.Graph().as_default():
        other = tf.constant(1.0)
    with tf.Session() as sess, pytest.raises(ValueError, match="not an element of this graph"):
        sess.run(other)


def test_each_session_has_its_own_values() -> None:
    v = tf.Variable(1.0)
    up = v.assign_add(1.0)
    with tf.Session() as one, tf.Session() as two:
        one.run(v.initializer)
        two.run(v.initializer)
        assert one.run(up) == 2.0 and one.run(up) == 3.0
        assert two.run(v) == 1.0


def test_group_and_tuple() -> None:
    a, b = tf.Variable(0.0), tf.Variable(0.0)
    both = tf.group(a.assign_add(1.0), [b.assign_add(2.0)])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(both) is None
        assert sess.run([a, b]) == [1.0, 2.0]
        assert sess.run(tf.tuple([a * 1.0, b * 1.0], control_inputs=[both])) == [2.0, 4.0]
        assert sess.run([a, b]) == [2.0, 4.0]


def test_results_belong_to_the_caller() -> None:
    v = tf.Variable([1.0, 2.0])
    x = tf.placeholder(tf.float32, [2])
    c = tf.constant([5.0, 6.0])
    keep = v.assign(x)
    with tf.Session() as sess:
        sess.run(v.initializer)
        fed = np.array([3.0, 4.0], np.float32)
        for out in sess.run([v, c, x, keep, tf.reshape(x, [2, 1])], {x: fed}):
            out[:] = 99
        np.testing.assert_array_equal(fed, [3, 4])
        fed[:] = 77
        np.testing.assert_array_equal(sess.run(v), [3, 4])
        np.testing.assert_array_equal(sess.run(c), [5, 6])


def test_one_number_shown_several_times_can_be_written_to() -> None:
    x = tf.placeholder(tf.float32, [4])
    y = tf.sin(x)
    with tf.Session() as sess:
        for found in sess.run([tf.broadcast_to(y[:1], [4]), tf.broadcast_to(y, [1, 4]), x[:1] + y], {x: np.ones(4)}):
            found[..., 0] = 7.0
            assert found.ravel().tolist().count(7.0) == 1


def test_eval_and_run_shortcuts() -> None:
    v = tf.Variable(2.0)
    x = tf.placeholder(tf.float32)
    y = v * x
    with tf.Session() as sess:
        v.initializer.run()
        assert y.eval({x: 3.0}) == 6.0
        assert v.eval() == 2.0
        v.load(5.0)
        assert y.eval({x: 3.0}, session=sess) == 15.0
    with pytest.raises(ValueError, match="No default session"):
        y.eval({x: 1.0})


def test_default_sessions_nest() -> None:
    assert tf.get_default_session() is None
    with tf.Session() as outer:
        with tf.Session().as_default() as inner:
            assert tf.get_default_session() is inner
        assert tf.get_default_session() is outer
    sess = tf.InteractiveSession()
    assert tf.constant(3.0).eval() == 3.0
    sess.close()
    assert tf.get_default_session() is None


def test_closed_session() -> None:
    sess = tf.Session()
    sess.close()
    with pytest.raises(RuntimeError, match="closed"):
        sess.run(tf.constant(1.0))


def test_a_run_adds_nothing_to_the_graph() -> None:
    table = tf.get_variable("table", [5, 2])
    step = tf.train.get_or_create_global_step()
    (rows,) = tf.gradients(tf.gather(table, [1, 1, 3]) ** 2, table)
    loss = tf.reduce_sum(tf.gather(table, [0]))
    train = tf.train.AdamOptimizer().minimize(loss, step)
    fetches = {"all": [table, table.initializer, rows, step, loss, "table:0", train], "rows": (rows.dense_shape, rows)}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.get_default_graph().finalize()
        for _ in range(3):
            session.run(fetches, {table: np.ones((5, 2), np.float32)})
            session.run([rows, tf.get_default_graph().get_tensor_by_name("table:0")])


def test_make_callable() -> None:
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    with tf.Session() as sess:
        f = sess.make_callable(x * y, [x, y])
        assert f(3.0, 4.0) == 12.0


def test_errors_at_run_time_name_operation_and_line() -> None:
    a, b = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    c = tf.matmul(a, b, name="product")
    with (
        tf.Session() as sess,
        pytest.raises(tf.errors.InvalidArgumentError, match=r"'product', made at .*test_session"),
    ):
        sess.run(c, {a: np.ones((2, 3)), b: np.ones((2, 3))})


def test_symbolic_tensors_have_no_python_value() -> None:
    x = tf.placeholder(tf.float32, [2])
    for misuse in (lambda: bool(x), lambda: list(x), lambda: [1 for _ in x]):
        with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match=r"tf\."):
            misuse()
    with pytest.raises(TypeError, match="tensor_scatter_nd_update"):
        x[0] = 1.0
    with pytest.raises((NotImplementedError, TypeError), match="symbolic"):
        np.asarray(x)


def test_py_func() -> None:
    x = tf.placeholder(tf.float32, [3])
    y = tf.py_func(lambda a: a[::-1], [x], tf.float32)
    with tf.Session() as sess:
        np.testing.assert_array_equal(sess.run(y, {x: [1, 2, 3]}), [3, 2, 1])
    assert tf.gradients(y, x) == [None]


def test_config_and_options() -> None:
    config = tf.ConfigProto(allow_soft_placement=True, log_device_placement=False)
    config.gpu_options.allow_growth = True
    with tf.Session(config=config) as sess:
        assert sess.run(tf.constant(1)) == 1
        with pytest.raises(TypeError, match="run_metadata"):
            sess.run(tf.constant(1), run_metadata=object())
    with pytest.raises(ValueError, match="target"):
        tf.Session("grpc://somewhere")


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64])
def test_numbers_beside_a_condition_take_the_dtype_of_the_values(dtype: tf.DType) -> None:
    x = tf.placeholder(dtype, [3])
    chosen = [tf.where(x > 0, x, 1.0), tf.where(x > 0, 1.0, x), tf.where([True, False, True], x, 1.0)]
    with tf.Session() as sess:
        for found, expected in zip(sess.run(chosen, {x: [2, -1, 3]}), [[2, 1, 3], [1, -1, 1], [2, 1, 3]], strict=True):
            assert found.dtype == dtype.as_numpy_dtype
            np.testing.assert_array_equal(found, expected)


def test_a_fetched_variable_is_as_the_run_leaves_it() -> None:

    with tf.Graph().as_default(), tf.Session() as session:
        v, step = tf.Variable([1.0, 2.0]), tf.Variable(0, trainable=False)
        loss = tf.reduce_sum(v * v)
        train = tf.train.GradientDescentOptimizer(0.25).minimize(loss, global_step=step)
        session.run(tf.global_variables_initializer())
        for n in (1, 2, 3):
            _, count, values, before = session.run([train, step, v, loss])
            assert (count, before) == (n, 5 * 0.25 ** (n - 1)) and values.tolist() == [0.5**n, 2 * 0.5**n]
        values[:] = 7.0
        assert session.run(v).tolist() == [0.125, 0.25]
        rows = tf.scatter_add(v, [1], [1.0]).op
        assert session.run([v, rows])[0].tolist() == [0.125, 1.25]
        assert session.run([v, rows], {v: [9.0, 9.0]})[0].tolist() == [9.0, 9.0]


@pytest.mark.parametrize("name", ["partial_run", "partial_run_setup"])
def test_partial_runs_are_refused_with_a_way_out(name: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        assert not hasattr(session, name)
        with pytest.raises(AttributeError, match=f"no attribute '{name}': .*feed those tensors"):
            getattr(session, name)
        # what it says: the second part of a run goes on from what the first one computed
        x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        drawn = tf.random_uniform([]) + x
        both = drawn * y
        first = session.run(drawn, {x: 1.0})
        assert session.run(both, {drawn: first, y: 2.0}) == 2 * first


@pytest.mark.parametrize("fed", [300, [300], -129, np.array(300), np.array(np.nan), np.array(np.inf), 2**80])
def test_a_fed_number_that_does_not_fit_is_refused_not_wrapped(fed) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.int8)
        with pytest.raises(TypeError, match="Cannot feed"):
            session.run(x, {x: fed})
        assert session.run(x, {x: np.array([127, -128])}).tolist() == [127, -128]


def test_arguments_of_a_wrong_kind_are_named() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.constant(1.0)
        with pytest.raises(TypeError, match="`feed_dict` must be a dict"):
            session.run(x, [1])
        with pytest.raises(TypeError, match="`name` must be a string"):
            graph.get_tensor_by_name(None)
        with pytest.raises(TypeError, match="`name` must be a string"):
            tf.placeholder(tf.float32, name=3)
        with pytest.raises(TypeError, match="assign: argument `ref` must be a variable"):
            tf.assign(x, 1.0)
        with pytest.raises(ValueError, match="is a value of shape"):
            tf.get_variable("v", [2], initializer=np.zeros(3, np.float32))
        with pytest.raises(ValueError, match="`reuse` must be"), tf.variable_scope("a", reuse="b"):
            pass


def test_one_result_of_py_func_may_come_in_a_list() -> None:
    x = tf.constant([1.0, 2.0])
    y = tf.py_func(lambda a: [2.0 * a], [x], tf.float32)
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(y), [2.0, 4.0])


def test_what_is_marked_is_neither_fed_nor_fetched() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        a, b = tf.constant(1.0), tf.constant(2.0)
        total = a + b
        assert session.run(total, {a: 5.0}) == 7.0
        graph.prevent_feeding(a)
        graph.prevent_fetching(total.op)
        assert (graph.is_feedable(a), graph.is_fetchable(total), graph.is_feedable(b)) == (False, False, True)
        with pytest.raises(ValueError, match="may not be fed"):
            session.run(b, {a: 5.0})
        with pytest.raises(ValueError, match="may not be fetched"):
            session.run(total)


def test_sessions_check_their_arguments_and_have_something_to_run() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(RuntimeError, match="The Session graph is empty"):
            session.run([])
        for bad in ({"target": 37}, {"graph": 3}, {"config": 3}):
            with pytest.raises(TypeError, match="must be a"):
                tf.Session(**bad)
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"`eval\(\)`: No default session is registered"):
        tf.constant(1.0).eval()


def test_devices_are_merged_and_functions_asked() -> None:
    with tf.Graph().as_default() as graph:
        with tf.device("/job:w/task:1"), tf.device("/gpu:2"):
            inner = tf.constant(1)
            with tf.device(None):
                outer = tf.constant(1)
        with tf.device(lambda op: "/job:ps" if op.type == "Const" else None):
            placed, elsewhere = tf.constant(1.0), tf.no_op()
        assert inner.device == "/job:w/task:1/device:GPU:2"
        assert (outer.device, placed.device, elsewhere.device) == ("", "/job:ps", "")
        graph.add_to_collection("kept", 1)
        assert graph.collections == ["kept"]


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (ValueError, tf.errors.InvalidArgumentError),
        (TypeError, tf.errors.InvalidArgumentError),
        (StopIteration, tf.errors.OutOfRangeError),
        (MemoryError, tf.errors.ResourceExhaustedError),
        (NotImplementedError, tf.errors.UnimplementedError),
        (KeyError, tf.errors.UnknownError),
    ],
)
def test_errors_of_python_functions_are_those_of_the_op(raised: type[Exception], error: type[Exception]) -> None:
    def fails() -> None:
        raise raised("no way")

    with tf.Graph().as_default(), tf.Session() as session:
        for call in (tf.py_func, tf.py_function):
            with pytest.raises(error, match=f"{raised.__name__}: .*no way") as found:
                session.run(call(fails, [], tf.float32))
            assert isinstance(found.value, tf.errors.OpError)


LINEAR = {
    "mean": lambda p, w: tf.reduce_mean(p, 0),
    "product": lambda p, w: tf.matmul(w, p, transpose_a=True),
    "slice": lambda p, w: 3.0 * tf.transpose(p)[1] - 1.0,
    "quotient": lambda p, w: tf.reshape(p / w, [6]),
    "broadcast": lambda p, w: p[0] + w,
    "scalar": lambda p, w: 2.0 * tf.reduce_sum(p),
    "concat": lambda p, w: 2.0 * tf.concat([w, p, w], 1),
    "beside something of unknown size": lambda p, w: p + tf.reduce_sum(tf.placeholder(tf.float32, [None])),
}


@pytest.mark.parametrize("name", LINEAR)
def test_the_gradient_of_what_is_linear_in_a_placeholder_needs_no_feed(name: str) -> None:
    p = tf.placeholder(tf.float32, [3, 2])
    w = tf.Variable(np.arange(1.0, 7.0, dtype=np.float32).reshape(3, 2))
    (g,) = tf.gradients(LINEAR[name](p, w), p)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        others = {x.outputs[0]: [1.0] for x in tf.get_default_graph().get_operations() if x.name == "Placeholder_1"}
        expected = session.run(g, {p: np.ones((3, 2)), **others})
        np.testing.assert_array_equal(session.run(g), expected)
        assert np.any(expected)


def test_a_placeholder_whose_contents_matter_must_be_fed() -> None:
    p, unknown = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [None])
    v = tf.Variable([1.0, 1.0])
    asked = [tf.gradients(p * p, p)[0], tf.gradients(2.0 * unknown, unknown)[0], tf.zeros_like(tf.assign(v, p)), p]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for y in asked:
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"You must feed a value .* dtype float32"):
                session.run(y)
        assert session.run(v).tolist() == [1.0, 1.0]
