"""Programs written for TensorFlow 2, as functions of the module that they import as ``tf``.

Each returns a structure of what it computed; ``outputs.json`` keeps what TensorFlow gives (`tests.outputs`). Random
numbers come from NumPy and weights are given, so that both compute the same.
"""

from typing import Any

import numpy as np

from tests.tape_api.flow_programs import branches_that_hand_on, control_flow
from tests.tape_api.keras_programs import activations_and_layers, losses_and_metrics, outputs_by_name, train_steps
from tests.tape_api.sequence_programs import (
    configurations,
    decisions,
    masks_and_attention,
    one_replica,
    orders_of_layers,
    saturated_activations,
    symbols_of_layers,
    words_and_scales,
)

# ---- the classics ----------------------------------------------------------------------------------------------------


def custom_gradient(tf: Any) -> Any:
    """log(1 + exp(x)) with a stable derivative, and a gradient that is clipped on its way back."""

    @tf.custom_gradient
    def log1pexp(x: Any) -> Any:
        e = tf.exp(x)

        def grad(upstream: Any) -> Any:
            return upstream * (1 - 1 / (1 + e))

        return tf.math.log(1 + e), grad

    @tf.custom_gradient
    def clip_gradients(y: Any) -> Any:
        def backward(dy: Any) -> Any:
            return tf.clip_by_norm(dy, 0.5)

        return y, backward

    x, v = tf.constant(100.0), tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = log1pexp(x)
        output = clip_gradients(v * v)
    return tape.gradient(y, x), tape.gradient(output, v), y, output


def custom_gradient_of_second_order(tf: Any) -> Any:
    """Derivatives of a rule, and a rule that has a rule of its own."""

    @tf.custom_gradient
    def f(x: Any) -> Any:
        e = tf.exp(x)
        return tf.math.log(1 + e), lambda upstream: upstream * (1 - 1 / (1 + e))

    @tf.custom_gradient
    def op(x: Any) -> Any:
        y = x * x

        @tf.custom_gradient
        def first_order(x: Any) -> Any:
            return 2 * x, lambda ddy: 10 * ddy

        return y, lambda upstream: upstream * first_order(x)

    results = []
    for fn in (f, op):
        x = tf.constant(1.5)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = fn(x)
            dy = inner.gradient(y, x)
        results += [y, dy, outer.gradient(dy, x)]
    return results


def custom_gradient_with_variables(tf: Any) -> Any:
    """A function that reads a variable."""
    v = tf.Variable(3.0)

    @tf.custom_gradient
    def f(x: Any) -> Any:
        def grad(upstream: Any, variables: Any = None) -> Any:
            return upstream * 7.0, [upstream * 11.0 for _ in variables]

        return x * v, grad

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x) * 2.0
    return tape.gradient(y, [x, v])


def jacobian_of_a_layer(tf: Any) -> Any:
    """tape.jacobian of a vector function with respect to inputs and weights."""
    rng = np.random.default_rng(4)
    x = tf.constant(rng.normal(size=(3, 4)).astype(np.float32))
    w = tf.Variable(rng.normal(size=(4, 2)).astype(np.float32))
    b = tf.Variable(np.zeros(2, np.float32))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.nn.tanh(tf.matmul(x, w) + b)
    return [*tape.jacobian(y, [x, w, b]), tape.batch_jacobian(y, x), tape.jacobian(y, {"w": w})["w"]]


def higher_order(tf: Any) -> Any:
    """Second derivatives by nested tapes: of a power, of a network, a Hessian, a Hessian-vector product."""
    x = tf.Variable(1.0)
    with tf.GradientTape() as t2:
        with tf.GradientTape() as t1:
            y = x * x * x
        dy_dx = t1.gradient(y, x)
    d2y_dx2 = t2.gradient(dy_dx, x)

    rng = np.random.default_rng(5)
    w = tf.Variable(rng.normal(size=(3, 2)))
    data = tf.constant(rng.normal(size=(5, 3)))
    with tf.GradientTape() as t2:
        with tf.GradientTape() as t1:
            loss = tf.reduce_mean(tf.nn.softplus(tf.matmul(data, w)) ** 2)
        g = t1.gradient(loss, w)
    hessian = t2.jacobian(g, w)

    vector = tf.constant(rng.normal(size=(3, 2)))
    with tf.GradientTape() as t2:
        with tf.GradientTape() as t1:
            loss = tf.reduce_sum(tf.exp(tf.sin(w)))
        g = t1.gradient(loss, w)
        product = tf.reduce_sum(g * vector)
    return dy_dx, d2y_dx2, hessian, t2.gradient(product, w)


# ---- what SEMANTICS says of tapes ------------------------------------------------------------------------------------


def structures(tf: Any) -> Any:
    """Targets and sources as structures."""
    x, z = tf.constant(2.0), tf.constant(3.0)
    frozen = tf.Variable(1.0, trainable=False)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, z])
        y = {"p": x * z, "q": [x**2]}
    return tape.gradient(y, {"a": x, "b": [z, (frozen,)]}), tape.gradient([y["p"], y["q"][0]], (x, z))


def cut_paths(tf: Any) -> Any:
    """Everything that gives None."""
    results = []
    for cut in (
        tf.stop_gradient,
        lambda x: tf.cast(x, tf.int32),
        tf.argmax,
        tf.floor,
        tf.round,
        tf.math.ceil,
        lambda x: x // 2.0,
        tf.sign,
        tf.ones_like,
        lambda x: x > 1.0,
        lambda x: x * tf.stop_gradient(x),
    ):
        x = tf.constant([1.5, 2.5])
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = cut(x)
            z = tf.cast(y, tf.float32) * 2.0
        results += [tape.gradient(z, x), tape.gradient(z, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)]
    return results


def variables_on_tapes(tf: Any) -> Any:
    """Reading, assigning, watching."""
    v, w = tf.Variable(3.0), tf.Variable(2.0, trainable=False)
    with tf.GradientTape(persistent=True) as tape:
        reads = [v.read_value(), v.value(), tf.convert_to_tensor(v), tf.identity(v)]
        y = reads[0] * reads[1] * reads[2] * reads[3] * v
        v.assign_add(1.0)
        z = v * v
        w.assign(v * 5.0)
        u = w * v
        tape.watch(w)
        s = w * v
    return {
        "reads": [tape.gradient(y, r) for r in [v, *reads]],
        "after": tape.gradient(z, v),
        "both": tape.gradient([y, z], v),
        "assigned": tape.gradient(u, [v, w]),
        "watched": tape.gradient(s, [v, w]),
        "itself": tape.gradient(v, v),
        "names": [x.name for x in tape.watched_variables()],
    }


def watching(tf: Any) -> Any:
    """What is and is not watched."""
    x, z = tf.constant(2.0), tf.constant(3.0)
    v = tf.Variable(2.0)
    with tf.GradientTape() as one, tf.GradientTape() as two:
        one.watch(x)
        two.watch(z)
        y = x * z
    first = one.gradient(y, [x, z]), two.gradient(y, [x, z])
    with tf.GradientTape(watch_accessed_variables=False, persistent=True) as tape:
        tape.watch(x)
        before = z * z
        y = x * v * before
    second = tape.gradient(y, [x, v, z, before])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            hidden = y * 2.0
        total = hidden + y
        tape.reset()
        tape.watch(z)
        rest = z * y
    third = tape.gradient(total, x), tape.gradient(rest, [x, z])
    with tape:
        more = rest * z
    return first, second, third, tape.gradient(more, z)


def output_gradients(tf: Any) -> Any:
    """Cotangents of one's own."""
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = x * x, x * 3.0
    return (
        tape.gradient(y, x, output_gradients=tf.constant([1.0, 10.0])),
        tape.gradient([y, z], x, output_gradients=[tf.ones([2]), tf.constant([10.0, 0.0])]),
        tape.gradient([y, z], [x, y]),
    )


def unconnected(tf: Any) -> Any:
    """None and zeros."""
    x, z, n = tf.constant([1.0, 2.0]), tf.constant([[1.0, 2.0, 3.0]]), tf.constant(1)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, z])
        y = x * x
        k = tf.cast(x, tf.int32)
    return (
        tape.gradient(y, z),
        tape.gradient(y, [x, z, n], unconnected_gradients="zero"),
        tape.gradient(k, x),
        tape.gradient(y, n),
        tape.jacobian(y, z),
        tape.gradient(y, []),
        tape.gradient([], [x]),
    )


def equality_and_conversion(tf: Any) -> Any:
    """How tensors compare and what becomes of Python data."""
    a, b = tf.constant([1.0, 2.0]), tf.constant([1.0, 3.0])
    v = tf.Variable([1.0, 2.0])
    made = [1, 1.0, [1, 2.5], True, 1j, [], 2**40, np.ones(1), np.float16(1), [np.float64(1)], (1, 2)]
    return (
        [a == b, a != b, v == b, a == [1.0, 3.0], a == 1, a != np.array([1.0, 3.0])],
        [a == None, a != None],  # noqa: E711
        [bool(a == tf.constant([1.0, 2.0, 3.0])), bool(a != tf.constant([1.0, 2.0, 3.0]))],
        [str(tf.convert_to_tensor(x).dtype.name) for x in made],
        [tf.constant(np.array([1.7]), tf.int32), tf.constant([True], tf.float32), tf.constant(1.0, shape=[2])],
        [a + 1, 1 - a, a * np.array([1.0, 2.0]), np.array([2.0, 2.0]) / a, a**2, 2.0**a, -a, abs(-a)],
        [tf.constant([[1.0, 2.0]]) @ tf.constant([[1.0], [2.0]])],
        [tf.constant([7]) / 2, tf.constant([-7]) // 2, tf.constant([-7]) % 3, tf.constant([7.5]) % 2.0],
        [a[0], a[::-1], a[tf.newaxis], a[..., None], a[1:], tf.constant([[1, 2], [3, 4]])[1, 0], v[1]],
        [float(a[0]), len(a), [float(x) for x in a], a.shape.as_list(), a.shape == (2,), f"{a[0]:.2f}"],
        [repr(a), str(a), repr(a[0]), repr(v), str(tf.constant([[1], [2]]))],
    )


PROGRAMS = (
    custom_gradient,
    custom_gradient_of_second_order,
    custom_gradient_with_variables,
    jacobian_of_a_layer,
    higher_order,
    structures,
    cut_paths,
    variables_on_tapes,
    watching,
    output_gradients,
    unconnected,
    control_flow,
    branches_that_hand_on,
    equality_and_conversion,
    losses_and_metrics,
    activations_and_layers,
    train_steps,
    outputs_by_name,
    masks_and_attention,
    saturated_activations,
    symbols_of_layers,
    decisions,
    orders_of_layers,
    one_replica,
    words_and_scales,
    configurations,
)
