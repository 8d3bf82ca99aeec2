"""custom_gradient: a function with a rule of the user's own."""

import gc
import weakref
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from tests.tapes import gradient_in, watching


@tf.custom_gradient
def log1pexp(x: Any) -> Any:
    """``log(1 + exp(x))``, with a derivative that does not overflow."""
    e = tf.exp(x)
    return tf.math.log(1.0 + e), lambda upstream: upstream * (1.0 - 1.0 / (1.0 + e))


def gradient_of(fn: Any, *values: Any) -> Any:
    tensors = [tf.constant(v) for v in values]
    found = gradient_in(tensors, lambda: fn(*tensors))
    return found[0] if len(values) == 1 else found


def test_value_and_metadata() -> None:
    np.testing.assert_allclose(log1pexp(tf.constant([0.0, 1.0])), np.log1p(np.exp([0.0, 1.0])), rtol=1e-6)
    assert log1pexp.__name__ == "log1pexp" and "overflow" in log1pexp.__doc__


def test_it_composes_with_ordinary_ops_and_upstream_gradients() -> None:
    double = tf.custom_gradient(lambda x: (x * 2.0, lambda upstream: upstream * 10.0))
    assert gradient_of(lambda x: double(x) * double(x) * 3.0, 1.5).numpy() == 2 * 3.0 * 3.0 * 10.0


def test_structures_of_arguments_and_results() -> None:
    pair = namedtuple("pair", "u v")

    @tf.custom_gradient
    def f(xs: Any, y: Any) -> Any:
        def grad(du: Any, dv: Any) -> Any:
            return du, dv, du + dv

        return pair(xs[0] * xs[1], y * 2.0), grad

    x = [tf.constant(2.0), tf.constant(3.0)]
    y = tf.constant(4.0)
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        out = f(x, y)
        z = out.u + 5.0 * out.v
    found = tape.gradient(z, [*x, y])
    assert [g.numpy() for g in found] == [1.0, 5.0, 6.0]


def test_none_means_no_gradient() -> None:
    f = tf.custom_gradient(lambda x, y: (x * y, lambda upstream: (upstream * 5.0, None)))
    dx, dy = gradient_of(f, 2.0, 3.0)
    assert dx.numpy() == 5.0 and dy is None


def test_an_argument_that_is_not_a_tensor_yet() -> None:
    f = tf.custom_gradient(lambda x, y: (x * y, lambda upstream: (upstream * 5.0, upstream * 7.0)))
    assert gradient_of(lambda x: f(x, 2.0), 3.0).numpy() == 5.0
    assert gradient_of(lambda x: f(np.float32(2.0), x), 3.0).numpy() == 7.0


def test_keyword_arguments_are_passed_on() -> None:
    @tf.custom_gradient
    def scaled(x: Any, *, factor: float = 1.0) -> Any:
        return x * factor, lambda upstream: upstream * factor * 10.0

    y = gradient_of(lambda x: scaled(x, factor=3.0), 2.0)
    assert y.numpy() == 30.0


def test_gradients_that_are_numbers_or_arrays() -> None:
    f = tf.custom_gradient(lambda x: (x * 1.0, lambda upstream: np.full(2, 3.0)))
    g = gradient_of(f, [1.0, 2.0])
    assert g.dtype == tf.float32
    np.testing.assert_array_equal(g, [3.0, 3.0])


def test_no_derivative_passes_through_what_happens_inside() -> None:
    x = tf.constant(2.0)
    inner: list[Any] = []

    @tf.custom_gradient
    def f(x: Any) -> Any:
        inner.append(x * x)
        return inner[0] + x, lambda upstream: upstream

    tape, y = watching(x, lambda: f(x), persistent=True)
    assert tape.gradient(y, x).numpy() == 1.0
    assert tape.gradient(y, inner[0]) is None
    assert tape.gradient(inner[0], x).numpy() == 4.0


def test_a_tape_inside_works() -> None:
    @tf.custom_gradient
    def f(x: Any) -> Any:
        tape, y = watching(x, lambda: x * x)
        slope = tape.gradient(y, x)
        return y, lambda upstream: upstream * slope * 10.0

    assert gradient_of(f, 3.0).numpy() == 60.0


def test_grad_pass_through() -> None:
    assert gradient_of(tf.grad_pass_through(tf.round), 2.6).numpy() == 1.0


# ---- variables -------------------------------------------------------------------------------------------------------


def test_variables_that_the_function_reads() -> None:
    v = tf.Variable(3.0)

    @tf.custom_gradient
    def f(x: Any) -> Any:
        def grad(upstream: Any, variables: Any = None) -> Any:
            assert variables[0] is v
            return upstream * 10.0, [upstream * 100.0]

        return x * v, grad

    x = tf.constant(2.0)
    tape, y = watching(x, lambda: f(x))
    dx, dv = tape.gradient(y, [x, v])
    assert (dx.numpy(), dv.numpy()) == (10.0, 100.0)


def test_variables_through_keyword_arguments() -> None:
    v = tf.Variable(3.0)
    f = tf.custom_gradient(lambda x: (x * v, lambda upstream, **kwargs: (upstream, [upstream * 4.0])))
    tape, y = watching((), lambda: f(tf.constant(2.0)))
    assert tape.gradient(y, v).numpy() == 4.0


def test_a_variable_as_argument() -> None:
    f = tf.custom_gradient(lambda x: (x * x, lambda upstream: upstream * 10.0))
    v = tf.Variable(3.0)
    tape, y = watching((), lambda: f(v))
    assert y.numpy() == 9.0
    assert tape.gradient(y, v).numpy() == 10.0


def test_a_variable_that_the_gradient_function_ignores() -> None:
    v = tf.Variable(3.0)
    f = tf.custom_gradient(lambda x: (x * v, lambda upstream: upstream))
    with tf.GradientTape(), pytest.raises(TypeError, match=r"reads the variables \['Variable:0'\], .* 'variables'"):
        f(tf.constant(2.0))


def test_gradients_of_variables_must_be_returned() -> None:
    v = tf.Variable(3.0)
    f = tf.custom_gradient(lambda x: (x * v, lambda upstream, variables: upstream))
    tape, y = watching((), lambda: f(tf.constant(2.0)))
    with pytest.raises(TypeError, match=r"must return \(gradients of the inputs, gradients of the variables\)"):
        tape.gradient(y, v)


# ---- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "error", "message"),
    [
        (lambda u: (u, u), ValueError, "expected to return 1 gradients, but returned 2 instead"),
        (lambda u: (), ValueError, "expected to return 1 gradients, but returned 0 instead"),
        (lambda u: tf.ones([3]), ValueError, r"returned shape \(3,\) for input 0, which has shape \(2,\)"),
        (lambda u: tf.ones([2], tf.float64), TypeError, "returned dtype float64 for input 0, which has dtype float32"),
        (lambda u: "nonsense", TypeError, "custom_gradient of <lambda>"),
    ],
)
def test_a_rule_that_returns_nonsense(rule: Any, error: type[Exception], message: str) -> None:
    f = tf.custom_gradient(lambda x: (x * 2.0, rule))
    with pytest.raises(error, match=message):
        gradient_of(f, [1.0, 2.0])


@pytest.mark.parametrize("f", [lambda x: x * 2.0, lambda x: (x * 2.0, x), lambda x: (x, x, x), lambda x: None])
def test_a_function_that_does_not_return_result_and_rule(f: Any) -> None:
    with pytest.raises(TypeError, match=r"must return \(result, gradient function\)"):
        tf.custom_gradient(f)(tf.constant(1.0))


def test_an_exception_inside_leaves_the_tape_recording() -> None:
    @tf.custom_gradient
    def broken(x: Any) -> Any:
        raise ZeroDivisionError

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(ZeroDivisionError):
            broken(x)
        y = x * x
    assert tape.gradient(y, x).numpy() == 6.0


def test_recordings_are_not_kept_alive() -> None:
    x = tf.constant([1.0, 2.0])
    for _ in range(5):
        with tf.GradientTape() as tape:
            tape.watch(x)
            middle = tf.sin(x)
            y = log1pexp(middle)
        seen = weakref.ref(middle)
        tape.gradient(y, x)
        del middle, y, tape
        gc.collect()
        assert seen() is None


@pytest.fixture
def guided(monkeypatch: pytest.MonkeyPatch) -> str:
    from dualgrad.frontend import overrides

    monkeypatch.setattr(overrides, "_registered", dict(overrides._registered))

    @tf.RegisterGradient("GuidedOnTapes")
    def _guided(op: Any, gradient: Any) -> Any:
        assert (op.type, len(op.inputs), len(op.outputs), op.get_attr("T")) == ("Relu", 1, 1, tf.float32)
        return tf.where((gradient > 0) & (op.outputs[0] > 0), gradient, tf.zeros_like(gradient))

    return "GuidedOnTapes"


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function])
def test_registered_gradients_in_functions_and_on_tapes(guided: str, wrap: Any) -> None:
    w = tf.Variable([1.0, -2.0, 3.0])

    @wrap
    def f(x: Any, up: Any) -> Any:
        with tf.compat.v1.get_default_graph().gradient_override_map({"Relu": guided}):
            y = tf.nn.relu(w * x)
        return tf.reduce_sum(y * up), tf.reduce_sum(tf.nn.relu(x) * up)

    up = tf.constant([1.0, 1.0, -1.0])
    for x in ([1.0, -1.0, 1.0], [1.0, -1.0, 1.0], [-1.0, -1.0, 2.0]):
        x = tf.constant(x)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y, plain = f(x, up)
        open_ = (up.numpy() > 0) & (w.numpy() * x.numpy() > 0)
        assert np.array_equal(tape.gradient(y, x).numpy(), np.where(open_, w.numpy() * up.numpy(), 0.0))
        assert np.array_equal(tape.gradient(y, w).numpy(), np.where(open_, x.numpy() * up.numpy(), 0.0))
        # outside of the block an op has its own gradient
        assert np.array_equal(tape.gradient(plain, x).numpy(), np.where(x.numpy() > 0, up.numpy(), 0.0))


def test_a_recorded_function_called_where_gradients_are_overridden(guided: str) -> None:
    f, x = tf.function(tf.nn.relu), tf.constant([1.0, 2.0])
    f(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        with tf.compat.v1.get_default_graph().gradient_override_map({"Relu": guided}):
            y = f(x)
    assert np.array_equal(tape.gradient(y, x, tf.constant([-1.0, 1.0])).numpy(), [0.0, 1.0])


def test_the_graph_that_tapes_have_not() -> None:
    graph = tf.compat.v1.get_default_graph()
    with pytest.raises(AttributeError, match="there are no graphs on tapes"):
        graph.get_operations()
    with pytest.raises(LookupError, match="no entry for: Missing"), graph.gradient_override_map({"Relu": "Missing"}):
        pass
