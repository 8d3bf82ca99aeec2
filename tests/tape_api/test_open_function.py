"""Functions that are called with symbols: shapes left open, and concrete functions."""

from typing import Any

import numpy as np
import pytest

import tape_api as tf
from tests.tape_api.test_function import is_a_program
from tests.tapes import gradient_in, watching


def test_dimensions_of_a_signature_are_unknown() -> None:
    shapes: list[Any] = []

    @tf.function(input_signature=[tf.TensorSpec([None, 2]), tf.TensorSpec([None])])
    def compute(x: Any, b: Any) -> Any:
        shapes.append((x.shape.as_list(), b.shape.as_list()))
        tape, y = watching(
            [x, b], lambda: tf.reduce_sum(tf.matmul(x, x, transpose_b=True) * b + tf.reduce_mean(x, 0)[0])
        )
        return y, tape.gradient(y, [x, b]), tf.shape(x)[0]

    def plain(x: Any, b: Any) -> Any:
        return compute.python_function(x, b)

    for rows, biases in ((3, 1), (3, 3), (1, 1), (7, 7), (5, 1), (4, 4), (9, 9), (3, 1)):
        x, b = tf.random.normal([rows, 2]), tf.random.normal([biases])
        found = tf.nest.flatten(compute(x, b))
        shapes, kept = [], shapes
        assert all(np.array_equal(p, q) for p, q in zip(found, tf.nest.flatten(plain(x, b)), strict=True))
        shapes = kept
    assert shapes == [([None, 2], [None])] and compute.experimental_get_tracing_count() == 1
    assert is_a_program(compute)
    with pytest.raises(TypeError, match="must be like"):
        compute(tf.ones([3, 3]), tf.ones([3]))


def test_a_tape_around_sees_the_ops() -> None:
    w = tf.Variable([2.0, 3.0])
    scaled = tf.function(lambda x: tf.sin(x * w), input_signature=[tf.TensorSpec([None, 2])])
    for rows in (1, 3):
        x = tf.ones([rows, 2])
        found = []
        for f in (scaled, scaled.python_function):
            with tf.GradientTape(persistent=True) as outer, tf.GradientTape() as tape:
                outer.watch(x)
                tape.watch(x)
                y = f(x)
            first = tape.gradient(y, [x, w])
            found.append([*first, outer.gradient(y, x), outer.jacobian(y, w)])
        assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))


def test_shapes_that_do_not_fit_are_refused_by_the_program_for_all() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None])])
    def count(a: Any, b: Any) -> Any:
        return tf.reduce_sum(gradient_in(a, lambda: a + b))

    assert [int(count(tf.ones([n]), tf.ones([n]))) for n in range(1, 9)] == list(range(1, 9))
    for n in (3, 20):
        with pytest.raises(ValueError, match="broadcast"):
            count(tf.ones([n]), tf.ones([n + 1]))
    assert [int(count(tf.ones([12]), tf.ones([12]))) for _ in range(12)] == [12] * 12 and is_a_program(count)


def test_rules_of_users_are_asked_in_the_call_that_they_belong_to() -> None:
    @tf.custom_gradient
    def scaled(x: Any) -> Any:
        y = tf.sin(x)
        return y, lambda upstream: upstream * y * 3.0

    function = tf.function(lambda x: scaled(x) * x, input_signature=[tf.TensorSpec([None])])
    for values in ([1.0], [2.0, 3.0]):
        x = tf.constant(values)
        found = []
        for f in (function, function.python_function):
            f(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            found.append([y, tape.gradient(y, x)])
        assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))


def test_a_tape_within_follows_through_control_flow_what_it_watches() -> None:
    c, w = tf.constant([1.0, 2.0]), tf.Variable([3.0, 4.0])

    def compute(x: Any) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([c, x])
            y = tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y * c * w + x), (0, x * 1.0))[1]
            rows = tf.map_fn(lambda row: row * c * w, tf.stack([y, x]))
            z = tf.cond(tf.reduce_sum(x) > 0, lambda: rows * c, lambda: rows * w)
        return list(map(tf.convert_to_tensor, tape.gradient(z, [c, w, x])))

    def steps(x: Any) -> Any:
        step = lambda i, s: (i + 1, s * 0.1 + sum(g * 1e-3 for g in compute(s)))  # noqa: E731
        return [tf.while_loop(lambda i, s: i < 3, step, (0, x))[1]]

    for plain, options in ((compute, {"input_signature": [tf.TensorSpec([None])]}), (compute, {}), (steps, {})):
        function = tf.function(plain, **options)
        for x in ([1.0, 2.0], [-1.0, -2.0], [1.0, 2.0]):
            found, expected = function(tf.constant(x)), plain(tf.constant(x))
            assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
        assert is_a_program(function)


def test_shapes_that_differ_are_left_open_if_asked() -> None:
    shapes: list[Any] = []

    @tf.function(reduce_retracing=True)
    def total(x: Any) -> Any:
        shapes.append(x.shape.as_list())
        return tf.reduce_sum(x)

    assert [float(total(tf.ones([n, 2]))) for n in (1, 2, 3, 4)] == [2.0, 4.0, 6.0, 8.0]
    assert shapes == [[1, 2], [None, 2]] and total.experimental_get_tracing_count() == 2


def test_a_concrete_function_binds_what_is_no_tensor() -> None:
    @tf.function
    def scale(x: Any, factor: float, training: bool = False) -> dict[str, Any]:
        return {"y": [factor * x if training else x], "rows": tf.shape(x)[0]}

    concrete = scale.get_concrete_function(tf.TensorSpec([None]), 3.0, training=True)
    for x in (tf.ones([2]), tf.ones([5])):
        for found in (concrete(x), concrete(x=x), concrete(x, factor=3.0)):
            np.testing.assert_array_equal(found["y"][0], 3.0 * np.ones(x.shape))
            assert int(found["rows"]) == len(x)
    assert concrete.structured_outputs["y"][0].shape.as_list() == [None]
    assert [spec.shape.as_list() for spec in concrete.inputs] == [[None]]
    assert scale.experimental_get_tracing_count() == 1
    with pytest.raises(TypeError, match="must be like"):
        concrete(tf.constant(1.0))
    with pytest.raises(TypeError, match=r"is bound to 3\.0"):
        concrete(tf.ones([2]), factor=4.0)
    with pytest.raises(TypeError, match="missing a tensor for argument `x`"):
        concrete()


def test_a_concrete_function_of_a_method_and_of_one_spec_twice() -> None:
    class Layer(tf.Module):
        def __init__(self, k: float) -> None:
            super().__init__()
            self.k = tf.Variable(k)

        @tf.function
        def call(self, a: Any, b: Any) -> Any:
            return a + self.k * b

    spec = tf.TensorSpec([])
    found = [Layer(k).call.get_concrete_function(spec, spec)(tf.constant(1.0), tf.constant(2.0)) for k in (1.0, 2.0)]
    assert list(map(float, found)) == [3.0, 5.0]


def repeated(x: Any, n: Any) -> Any:
    for _ in tf.range(n):
        x = x * 2.0
    return x


def by_number(x: Any, n: Any) -> Any:
    return x * float(tf.boolean_mask(DATA, n >= DATA).shape[0])


def by_length(x: Any, n: Any) -> Any:
    return x * float(len(tf.boolean_mask(DATA, n >= DATA)))


def by_sum_and_number(x: Any, n: Any) -> Any:
    some = tf.boolean_mask(DATA, n >= DATA)
    return x * tf.cast(tf.reduce_sum(some), x.dtype) + (some.shape[0] or 100)


DATA = np.arange(1, 9, dtype=np.int32)


@pytest.mark.parametrize("autograph", [False, True])
@pytest.mark.parametrize("fn", [repeated, by_number, by_length, by_sum_and_number])
def test_numbers_of_shapes_that_vary_are_not_kept(fn: Any, autograph: bool) -> None:
    """Python has seen a length that depends on contents: the program may not hold that of the first call."""
    function = tf.function(fn, autograph=autograph)
    for n in (3, 3, 3, 1, 5, 2):
        x, count = tf.constant(1.5), tf.constant(n)
        assert float(function(x, count)) == float(fn(x, count)), n


@pytest.mark.parametrize("size", [0, 1, 4])
def test_batch_jacobian_of_any_batch_is_one_trace(size: int) -> None:
    w = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    traces = []

    def rows(x: Any) -> Any:
        made = gradient_in(x, lambda: tf.tanh(x @ w), method="batch_jacobian")
        traces.append(made.shape.as_list() if made.shape.rank else None)
        return made

    inside = tf.function(rows, input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    inside(tf.ones([2, 3]))
    x = tf.reshape(tf.range(3.0 * size), [size, 3]) / 10
    found = inside(x)
    assert traces == [[None, 2, 3]] and "runs as a program" in str(inside.explain())
    np.testing.assert_array_equal(found, rows(x))


def test_batch_jacobian_of_any_batch_refuses_coupled_rows() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    def coupled(x: Any) -> Any:
        return gradient_in(x, lambda: x * tf.reduce_sum(x), method="batch_jacobian")

    with pytest.raises(tf.errors.InvalidArgumentError, match="the rows of the target are not independent"):
        coupled(tf.ones([2, 3]))


def test_a_model_may_be_built_in_the_first_call() -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(4, "tanh", kernel_initializer="ones"), tf.keras.layers.Dense(1)])

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    def gradient(x: Any) -> Any:
        return gradient_in(x, lambda: model(x))

    for size in (2, 5):
        assert gradient(tf.ones([size, 3])).shape == (size, 3)
    assert len(model.trainable_variables) == 4 and "runs as a program" in str(gradient.explain())


def test_a_variable_starts_with_what_is_drawn_where_symbols_are_given() -> None:
    tf.random.set_seed(5)
    made: list[Any] = []

    def apply(*args: Any) -> Any:
        if not made:
            made.append(tf.Variable(tf.random.normal([args[0].shape[1], 2], seed=7)))
        return tf.nn.dropout(args[0] @ made[0], args[1], seed=3), None

    concrete = tf.function(apply).get_concrete_function(tf.TensorSpec([None, 3]), tf.TensorSpec([]))
    assert concrete.output_shapes == (tf.TensorShape([None, 2]), None)
    # TensorFlow's numbers, of the variable and of the first two calls
    np.testing.assert_allclose(made[0][0], [-0.87252676, -0.920335], rtol=1e-6)
    for row in ([0.0, -5.9535894], [-0.4011463, -5.9535894]):
        np.testing.assert_allclose(concrete(tf.ones([2, 3]), 0.5)[0][0], row, rtol=1e-6)
