"""`gradients` and `hessians`: the rows of TensorFlow's measured behavior that concern graph mode."""

from typing import Any

import numpy as np
import pytest

import graph_api as tf
from tests.graph_api.running import run


def test_disconnected_source_is_none() -> None:
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    assert tf.gradients(x * 2, [x, y])[1] is None


def test_disconnected_source_as_zeros() -> None:
    x, y = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [3])
    grads = tf.gradients(x * 2, [x, y], unconnected_gradients="zero")
    np.testing.assert_array_equal(run(grads[1], {x: [1, 2], y: [1, 2, 3]}), np.zeros(3, np.float32))
    with pytest.raises(ValueError, match="unconnected_gradients"):
        tf.gradients(x, y, unconnected_gradients="nil")


def test_sign_has_zero_gradient() -> None:
    x = tf.placeholder(tf.float32, [3])
    np.testing.assert_array_equal(run(tf.gradients(tf.sign(x), x)[0], {x: [-1, 0, 2]}), [0, 0, 0])


def test_integer_target_or_source_is_none() -> None:
    i, x = tf.placeholder(tf.int32, [2]), tf.placeholder(tf.float32, [2])
    assert tf.gradients(i * 2, i) == [None]
    assert tf.gradients(tf.cast(i, tf.float32) * x, [i, x])[0] is None


def test_grad_ys_are_checked() -> None:
    x = tf.placeholder(tf.float32, [2])
    y = x * x
    with pytest.raises(ValueError, match=r"Length mismatch\. Passed 2 grad_ys for 1 ys"):
        tf.gradients(y, x, [None, None])
    with pytest.raises(ValueError, match=r"\(3,\).*\(2,\)"):
        tf.gradients(y, x, [tf.constant([1.0, 2.0, 3.0])])
    with pytest.raises(TypeError, match=r"float64.*float32"):
        tf.gradients(y, x, [tf.constant([1.0, 2.0], tf.float64)])


def test_intermediate_tensors_are_sources_too() -> None:
    x = tf.placeholder(tf.float32)
    h = x * x
    assert run(tf.gradients(tf.sin(h) * 0 + h * 3, [h, x]), {x: 2.0}) == [3.0, 12.0]


def test_target_that_is_the_source() -> None:
    x = tf.placeholder(tf.float32, [2])
    np.testing.assert_array_equal(run(tf.gradients(x, x)[0], {x: [5, 6]}), [1, 1])


def test_gradient_of_an_assignment() -> None:
    w = tf.Variable([1.0, 2.0])
    np.testing.assert_array_equal(run(tf.gradients(tf.assign(w, w * 3), w)[0]), [1, 1])


def test_gradients_have_names_in_a_scope() -> None:
    x = tf.placeholder(tf.float32)
    assert tf.gradients(x * x, x)[0].name.startswith("gradients/")
    assert tf.gradients(x * x, x)[0].name.startswith("gradients_1/")
    assert tf.gradients(x * x, x, name="mine")[0].name.startswith("mine/")


def test_every_parameter_of_gradients() -> None:
    x = tf.placeholder(tf.float32)
    grads = tf.gradients(
        ys=x * x, xs=[x], grad_ys=None, name="g", colocate_gradients_with_ops=True, gate_gradients=True,
        aggregation_method=tf.AggregationMethod.EXPERIMENTAL_TREE, stop_gradients=None,
        unconnected_gradients=tf.UnconnectedGradients.ZERO,
    )  # fmt: skip
    assert run(grads, {x: 3.0}) == [6.0]
    with pytest.raises(ValueError, match="aggregation_method"):
        tf.gradients(x * x, x, aggregation_method=7)


def test_bad_targets_and_sources() -> None:
    x = tf.placeholder(tf.float32)
    with pytest.raises(TypeError, match="xs"):
        tf.gradients(x, 3.0)
    with pytest.raises(TypeError, match="ys"):
        tf.gradients(3.0, x)


def test_hessian_of_unknown_shape() -> None:
    x = tf.placeholder(tf.float64)
    (h,) = tf.hessians(x * x, x)
    np.testing.assert_array_equal(run(h, {x: [1, 2]}), 2 * np.eye(2))
    np.testing.assert_array_equal(run(h, {x: 3}), 2)


def test_long_chain_does_not_recurse() -> None:
    x = tf.placeholder(tf.float64)
    y = x
    for _ in range(3000):
        y = y * 1.0001
    (g,) = tf.gradients(y, x)
    assert run(g, {x: 1.0}) == pytest.approx(1.0001**3000)


# ---- gradients registered by name ------------------------------------------------------------------------------------


@tf.RegisterGradient("TestGuidedRelu")
def _guided(op: Any, gradient: Any) -> Any:
    return tf.where(gradient > 0.0, gradient, tf.zeros_like(gradient)) * tf.cast(op.inputs[0] > 0.0, tf.float32)


def overridden(v1: Any) -> list[Any]:
    """The gradients of a rectifier of a sign, inside and outside of a map."""
    with v1.Graph().as_default() as graph, v1.Session() as session:
        x = v1.constant([-2.0, 1.0, 3.0])
        weights = v1.constant([1.0, -1.0, 2.0])
        with graph.gradient_override_map({"Relu": "TestGuidedRelu", "Sign": "Identity"}):
            inside = v1.nn.relu(x) * weights + v1.sign(x) * 10.0
        outside = v1.nn.relu(x) * weights + v1.sign(x) * 10.0
        return [session.run([y, *v1.gradients(y, x)]) for y in (inside, outside)]


def test_gradient_override_map() -> None:
    (value, gradient), (same, plain) = overridden(tf)
    np.testing.assert_array_equal(value, same)
    np.testing.assert_array_equal(gradient, [10.0, 10.0, 12.0])
    np.testing.assert_array_equal(plain, [0.0, -1.0, 2.0])


@pytest.mark.peer
def test_gradient_override_map_beside_tensorflow() -> None:
    v1 = pytest.importorskip("tensorflow").compat.v1

    @v1.RegisterGradient("TestGuidedRelu")
    def guided(op: Any, gradient: Any) -> Any:
        return v1.where(gradient > 0.0, gradient, v1.zeros_like(gradient)) * v1.cast(op.inputs[0] > 0.0, v1.float32)

    np.testing.assert_equal(overridden(tf), overridden(v1))


def test_gradient_override_map_says_what_is_wrong() -> None:
    graph = tf.get_default_graph()
    with pytest.raises(LookupError, match="no entry for: Nonsense"), graph.gradient_override_map({"Relu": "Nonsense"}):
        pass
    with pytest.raises(TypeError, match="strings"), graph.gradient_override_map({"Relu": tf.sign}):
        pass
    with pytest.warns(UserWarning, match="type 'Reluu'.*similar types: Relu"):  # noqa: SIM117 - entering it warns
        with graph.gradient_override_map({"Reluu": "Identity"}):
            pass
    with pytest.raises(KeyError, match="two gradient"):
        tf.RegisterGradient("TestGuidedRelu")(lambda op, gradient: gradient)


@tf.RegisterGradient("TripledOfPython")
def _tripled(op: Any, grad: Any) -> Any:
    return 3.0 * grad


def test_what_has_a_gradient_of_its_own_is_listed_once() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        with graph.gradient_override_map({"PyFuncStateless": "TripledOfPython", "Relu": "TripledOfPython"}):
            y = tf.nn.relu(tf.py_func(lambda a: a + 1, [x], tf.float32, stateful=False))
            z = tf.py_func(lambda a: a + 1, [x], tf.float32)
        assert [op.type for op in graph.get_operations()] == ["Placeholder", "PyFuncStateless", "Relu", "PyFunc"]
        np.testing.assert_array_equal(session.run(tf.gradients(y, x)[0], {x: [1, -1]}), [9, 9])
        assert tf.gradients(z, x) == [None]


def test_gradients_are_named_after_what_they_are_of() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.constant([1.0], name="x")
        y = tf.tanh(tf.nn.relu(x, name="below"), name="y")
        tf.gradients(y, x)
        tf.gradients(y, x, name="again")
        names = [node.name for node in graph.get_operations() if "grad" in node.name]
    for scope in ("gradients/y_grad/", "gradients/below_grad/", "again/y_grad/", "again/below_grad/"):
        assert any(name.startswith(scope) for name in names), scope


def test_operations_of_gradients_know_what_they_are_of() -> None:
    w, x = tf.constant([[1.0]]), tf.constant([[1.0, 2.0]])
    with tf.device("/device:GPU:0"):
        product = tf.matmul(w, x)
    (beside,) = tf.gradients(product, [w], colocate_gradients_with_ops=True)
    (anywhere,) = tf.gradients(product, [w])
    assert beside.op._original_op is product.op and anywhere.op._original_op is product.op
    assert w.op._original_op is None
    assert beside.op.colocation_groups() == product.op.colocation_groups() != anywhere.op.colocation_groups()
    assert (beside.device, anywhere.device) == ("/device:GPU:0", "")


def test_complex_targets_need_grad_ys() -> None:
    x = tf.constant([1 + 2j], tf.complex64)
    with pytest.raises(TypeError, match=r"must set grad_ys \(y\.dtype = tf\.complex64\)"):
        tf.gradients(tf.square(x), x)
    (g,) = tf.gradients(tf.square(x), x, grad_ys=[tf.ones_like(x)])
    np.testing.assert_allclose(run(g), [2 - 4j])


def test_rows_as_grad_ys_that_do_not_say_their_shape() -> None:
    x = tf.placeholder(tf.float32, [3])
    rows = tf.IndexedSlices(tf.constant([2.0]), tf.constant([1]))
    (g,) = tf.gradients(tf.identity(x), x, grad_ys=rows)
    assert run(g, {x: [1.0, 1.0, 1.0]}).tolist() == [0.0, 2.0, 0.0]
