"""Functions of TensorFlow's internal modules that programs import."""

import functools

import numpy as np
import pytest

import graph_api as tf
from dualgrad.migrate import removed
from dualgrad.migrate.hook import find


def test_slots_are_named_after_their_variables() -> None:
    creator = find("python.training.slot_creator", "1")
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("a/v", [3])
        zeros = creator.create_zeros_slot(v, "momentum")
        with tf.variable_scope("scope"):
            ones = creator.create_slot(v, tf.ones([3]), "second")
            double = creator.create_zeros_slot(v, "third", dtype=tf.float64)
        assert [s.name for s in (zeros, ones, double)] == ["a/v/momentum:0", "scope/a/v/second:0", "scope/a/v/third:0"]
        assert tf.trainable_variables() == [v]
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run([zeros, ones]), [[0, 0, 0], [1, 1, 1]])
        assert session.run(double).dtype == np.float64


def test_there_is_one_device() -> None:
    (device,) = find("python.client.device_lib", "1").list_local_devices()
    assert (device.name, device.device_type) == ("/device:CPU:0", "CPU")


def test_loops_that_are_independent() -> None:
    loops = find("python.ops.parallel_for.control_flow_ops", "1")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(np.arange(6.0).reshape(3, 2))
        rows = loops.pfor(lambda i: tf.reduce_sum(tf.gather(x, i) ** 2), 3)
        rows_again = tf.vectorized_map(lambda row: tf.reduce_sum(row**2), x)
        jacobian = find("python.ops.parallel_for.gradients", "1").jacobian(rows, x)
        values, again, slopes = session.run([rows, rows_again, jacobian])
    np.testing.assert_array_equal(values, [1, 13, 41])
    np.testing.assert_array_equal(values, again)
    assert slopes.shape == (3, 3, 2)
    assert slopes[1, 1].tolist() == [4, 6]


def test_static_shapes_are_broadcast() -> None:
    shapes = find("python.framework.common_shapes", "1")
    assert shapes.broadcast_shape([3, 1], [None, 4]).as_list() == [3, 4]


LIBRARIES = [
    ("python.pywrap_tensorflow", "NewCheckpointReader"),
    ("python.tf2", "enabled"),
    ("python.util.tf_contextlib", "contextmanager"),
    ("python.util.tf_decorator", "make_decorator"),
    ("python.util.tf_inspect", "getargspec"),
    ("python.util.deprecation", "deprecated_args"),
    ("python.util.all_util", "remove_undocumented"),
    ("python.util.compat", "as_bytes"),
    ("python.util.nest", "is_sequence"),
    ("python.client.timeline", "Timeline"),
    ("python.estimator.util", "fn_args"),
    ("python.framework.smart_cond", "smart_cond"),
    ("python.framework.tensor_util", "constant_value"),
    ("python.layers.convolutional", "Convolution2D"),
    ("python.ops.metrics_impl", "metric_variable"),
    ("python.ops.parsing_ops", "parse_single_example"),
    ("python.ops.variables", "PartitionedVariable"),
    ("python.training.checkpoint_management", "latest_checkpoint"),
    ("core.framework.summary_pb2", "Summary"),
    ("core.protobuf.rewriter_config_pb2", "RewriterConfig"),
    ("contrib.rnn.python.ops.core_rnn_cell_impl", "LSTMCell"),
]


@pytest.mark.parametrize(("path", "name"), LIBRARIES)
def test_what_libraries_import(path: str, name: str) -> None:
    module = find(path, "1")
    assert name in dir(module)
    assert callable(getattr(module, name))


def test_modules_of_what_is_out_of_scope_can_be_imported_and_say_why_they_are_empty() -> None:
    for path in ("contrib.tpu", "python.tpu.tpu_function", "contrib.tensorboard.plugins.projector"):
        assert not [name for name in dir(find(path, "1")) if name[0].isupper()]
    with pytest.raises(AttributeError):
        find("python.ops.nonsense", "1")
    with pytest.raises(AttributeError):
        find("contrib.nonsense", "1")


def test_tools_for_signatures_and_decorators() -> None:
    tools = find("python.util.tf_decorator", "1")

    def plain(a: int, b: int = 2, *c: int, **d: int) -> int:
        return a

    class Callable_:
        def __call__(self, x: int, y: int = 1) -> int:
            return x

    wrapped = tools.make_decorator(plain, lambda *args, **kwargs: plain(*args, **kwargs))
    assert tools.getargspec(wrapped) == (["a", "b"], "c", "d", (2,)) and tools.unwrap(wrapped)[1] is plain
    assert tools.getargspec(wrapped).keywords == "d"
    assert tools.fn_args(Callable_()) == ("x", "y") and tools.fn_args(functools.partial(plain, 1)) == ("b",)
    assert tools.fn_args(Callable_().__call__) == ("x", "y") and tools.has_kwargs(plain)
    assert tools.deprecated("2020-01-01", "use the other one")(plain) is plain
    assert tools.deprecated_argument_lookup("axis", None, "dim", 1) == 1
    with pytest.raises(ValueError, match="both 'dim' and 'axis'"):
        tools.deprecated_argument_lookup("axis", 0, "dim", 1)
    content: dict[str, object] = {}
    lazy = content["json"] = tools.LazyLoader("json", content, "json")
    assert lazy.dumps([1]) == "[1]" and content["json"] is not lazy


def test_conditions_that_are_known() -> None:
    smart = find("python.framework.smart_cond", "1")
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.bool, [])
        assert smart.smart_cond(True, lambda: 1, lambda: 2) == 1
        assert smart.smart_cond(tf.constant(False), lambda: 1, lambda: 2) == 2
        assert smart.smart_constant_value(x) is None
        before = len(graph.get_operations())
        chosen = smart.smart_cond(x, lambda: tf.constant(1), lambda: tf.constant(2))
        assert len(graph.get_operations()) > before
        with tf.Session() as session:
            assert [session.run(chosen, {x: value}) for value in (True, False)] == [1, 2]
        with pytest.raises(TypeError, match="pred"):
            smart.smart_cond("yes", lambda: 1, lambda: 2)


def test_what_inspect_gave_up() -> None:
    assert removed.standing_for("inspect.getargspec")(lambda a, b=1: a).args == ["a", "b"]
    error = AttributeError("module 'inspect' has no attribute 'getargspec'")
    told = removed.explained(error)
    assert told is not None and told.line.endswith("write inspect.getfullargspec")
