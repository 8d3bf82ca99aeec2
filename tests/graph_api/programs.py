"""Small TensorFlow-1 programs. Each takes the module to run it with, and returns what it computes.

They are run with `graph_api` always, and with real TensorFlow where it is installed; the results must agree.
"""

from typing import Any

import numpy as np

X = np.random.default_rng(0).normal(size=(7, 4))


def evaluate(tf: Any, fetches: Any, feeds: Any = None) -> Any:
    """Run `fetches` in a fresh session with all variables initialized."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def polynomial(tf: Any) -> Any:
    x = tf.placeholder(tf.float64, name="x")
    y = 3 * x**3 - x / 2 + 1
    return evaluate(tf, [y, tf.gradients(y, x)], {x: 2.0})


def two_variables(tf: Any) -> Any:
    a, b = tf.Variable(2.0, name="a"), tf.Variable(3.0, name="b")
    return evaluate(tf, tf.gradients(a * a * b + tf.sin(b), [a, b]))


def list_of_targets(tf: Any) -> Any:
    x = tf.placeholder(tf.float32)
    return evaluate(tf, tf.gradients([x**2, x**3], x), {x: 2.0})


def weighted_targets(tf: Any) -> Any:
    x = tf.placeholder(tf.float64, [3])
    return evaluate(
        tf,
        tf.gradients([x * x, tf.exp(x)], x, grad_ys=[tf.constant([1.0, 2.0, 3.0], tf.float64), None]),
        {x: [0.1, 0.2, 0.3]},
    )


def partial_derivatives(tf: Any) -> Any:
    a = tf.constant(1.5)
    b = 2 * a
    return evaluate(tf, [tf.gradients(a + b, [a, b]), tf.gradients(a + b, [a, b], stop_gradients=[a, b])])


def multilayer_perceptron(tf: Any) -> Any:
    rng = np.random.default_rng(1)
    x, labels = tf.placeholder(tf.float64, [None, 4]), tf.placeholder(tf.int32, [None])
    w1, b1 = tf.Variable(rng.normal(size=(4, 5))), tf.Variable(np.zeros(5))
    w2, b2 = tf.Variable(rng.normal(size=(5, 3))), tf.Variable(np.zeros(3))
    hidden = tf.nn.relu(tf.matmul(x, w1) + b1)
    logits = tf.matmul(hidden, w2) + b2
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(losses) + 0.01 * sum(tf.nn.l2_loss(w) for w in (w1, w2))
    return evaluate(tf, [loss, tf.gradients(loss, [w1, b1, w2, b2, x])], {x: X, labels: [0, 1, 2, 0, 1, 2, 0]})


def hessian_of_rosenbrock(tf: Any) -> Any:
    x = tf.placeholder(tf.float64, [4])
    y = tf.reduce_sum(100.0 * tf.square(x[1:] - tf.square(x[:-1])) + tf.square(1.0 - x[:-1]))
    return evaluate(tf, [tf.gradients(y, x)[0], tf.hessians(y, x)[0]], {x: [0.5, -1.0, 2.0, 0.3]})


def jacobian_row_by_row(tf: Any) -> Any:
    x = tf.placeholder(tf.float64, [3])
    y = tf.stack([x[0] * x[1], tf.sin(x[2]), tf.reduce_prod(x)])
    return evaluate(tf, [tf.gradients(y[i], x)[0] for i in range(3)], {x: [2.0, 3.0, 0.5]})


def unknown_shapes(tf: Any) -> Any:
    x, b = tf.placeholder(tf.float64), tf.placeholder(tf.float64)
    y = tf.reduce_mean(tf.reshape(x * b, [-1, tf.shape(b)[0]]), axis=0)
    return evaluate(tf, [y, tf.gradients(y, [x, b])], {x: X, b: np.arange(1.0, 5.0)})


def movements(tf: Any) -> Any:
    x = tf.placeholder(tf.float64, [7, 4])
    parts = tf.split(x, 2, axis=1)
    y = tf.concat([parts[1], parts[0], x[:, ::-1]], axis=1)
    y = tf.transpose(tf.tile(tf.expand_dims(y, 0), [2, 1, 1]), [2, 0, 1])
    y = tf.pad(y, [[1, 0], [0, 0], [2, 1]])
    y = tf.square(y) * tf.reshape(tf.cast(tf.range(tf.size(y)), tf.float64), tf.shape(y))
    return evaluate(tf, [y, tf.gradients(y, x)[0]], {x: X})


def reductions(tf: Any) -> Any:
    x = tf.placeholder(tf.float64, [None, 4])
    y = [
        tf.reduce_sum(x, 1), tf.reduce_mean(x, axis=0, keep_dims=True), tf.reduce_max(x, reduction_indices=[1]),
        tf.reduce_prod(x, 1), tf.reduce_logsumexp(x), tf.norm(x, axis=1), tf.cumsum(x, axis=1),
    ]  # fmt: skip
    return evaluate(tf, [y, [tf.gradients(one, x)[0] for one in y]], {x: X})


def conditions(tf: Any) -> Any:
    x = tf.placeholder(tf.float64, [7, 4])
    y = tf.where(x > 0, tf.sqrt(tf.abs(x)), x * 2.0) + tf.maximum(x, 0.3) * tf.clip_by_value(x, -0.5, 0.5)
    return evaluate(tf, [y, tf.gradients(y, x)[0]], {x: X})


def gradient_descent(tf: Any) -> Any:
    return _train(tf, tf.train.GradientDescentOptimizer(0.1))


def momentum(tf: Any) -> Any:
    return _train(tf, tf.train.MomentumOptimizer(0.05, 0.9, use_nesterov=True))


def adam(tf: Any) -> Any:
    return _train(tf, tf.train.AdamOptimizer(0.1))


def _train(tf: Any, optimizer: Any) -> Any:
    """Linear regression by the classic loop: compute, clip, apply."""
    x, y = tf.placeholder(tf.float64, [None, 4]), tf.placeholder(tf.float64, [None])
    w, b = tf.Variable(np.ones((4, 1)), name="w"), tf.Variable(np.zeros(()), name="b")
    tf.Variable(1.0, name="unused")
    step = tf.Variable(0, trainable=False, name="step")
    loss = tf.reduce_mean(tf.square(tf.squeeze(tf.matmul(x, w), 1) + b - y))
    pairs = optimizer.compute_gradients(loss)
    assert [g is None for g, _ in pairs] == [False, False, True]
    clipped, _ = tf.clip_by_global_norm([g for g, _ in pairs], 1.0)
    train = optimizer.apply_gradients(zip(clipped, [v for _, v in pairs], strict=True), global_step=step)
    history = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(6):
            session.run(train, {x: X, y: X.sum(1) * 2})
            history.append(session.run([loss, w, b], {x: X, y: X.sum(1) * 2}))
        return history, session.run(step)


def shared_variables(tf: Any) -> Any:
    def layer(x: Any) -> Any:
        with tf.variable_scope("layer", reuse=tf.AUTO_REUSE):
            w = tf.get_variable("w", [4, 2], tf.float64, tf.constant_initializer(0.5))
        return tf.tanh(tf.matmul(x, w))

    x = tf.placeholder(tf.float64, [7, 4])
    y = tf.reduce_sum(layer(x) * layer(x * 2.0))
    names = [v.name for v in tf.global_variables()]
    return names, evaluate(tf, tf.gradients(y, tf.trainable_variables()), {x: X})


def custom_rule(tf: Any) -> Any:
    @tf.custom_gradient
    def log1pexp(x: Any) -> Any:
        e = tf.exp(x)
        return tf.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))

    x = tf.placeholder(tf.float64, [3])
    y = log1pexp(x)
    return evaluate(tf, [y, tf.gradients(y, x)[0]], {x: [0.0, 1.0, 50.0]})


def tape_over_graph(tf: Any) -> Any:
    x = tf.placeholder(tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * tf.sin(x)
    return evaluate(tf, tape.gradient(y, x), {x: 0.7})


def names(tf: Any) -> Any:
    a = tf.placeholder(tf.float32, name="a")
    with tf.name_scope("outer") as scope:
        b = tf.constant(1.0, name="b")
        c = a * b
        with tf.name_scope("inner"):
            d = tf.add(a, b, name="sum")
    e = tf.placeholder(tf.float32, name="a")
    v = tf.Variable(1.0, name="v")
    return [scope, *[t.name for t in (a, b, c, d, e, v)], d.op.name, tf.reduce_sum(a, name="total").name]


def order_of_assignments(tf: Any) -> Any:
    v = tf.Variable(1.0)
    up = tf.assign_add(v, 2.0)
    with tf.control_dependencies([up]):
        doubled = tf.identity(v) * 2.0
    with tf.Session() as session:
        session.run(v.initializer)
        return session.run(doubled), session.run(doubled), session.run(v)


def names_of_operations(tf: Any) -> Any:
    """What nobody named is called after its function, losses after their scopes."""
    x, i = tf.placeholder(tf.float32, [2, 2], name="x"), tf.placeholder(tf.int32, [2])
    made = [x[0], x[:, 1:], tf.transpose(x), tf.zeros_like(x), tf.ones_like(x), tf.reduce_logsumexp(x), x[1, None]]
    made += [tf.pad(x, [[0, 0], [1, 0]]), tf.floordiv(x, 2.0), tf.clip_by_value(x, 0.0, 1.0)]
    losses = tf.losses
    made += [losses.mean_squared_error(x, x), losses.mean_squared_error(x, x, scope="own"), losses.log_loss(x, x)]
    made += [losses.softmax_cross_entropy(x, x), losses.sparse_softmax_cross_entropy(i, x), losses.huber_loss(x, x)]
    made += [losses.sigmoid_cross_entropy(x, x), losses.compute_weighted_loss(x), losses.get_total_loss()]
    with tf.name_scope("within"):
        made += [x[0], losses.absolute_difference(x, x)]
    return [v.name for v in made]


def what_is_cast_or_unpacked(tf: Any) -> Any:
    """Labels of another dtype; an axis in a list; a sparse softmax of unknown rank."""
    x, labels = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.int32, [2, 3])
    sparse = tf.sparse_placeholder(tf.float32)
    loss = tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=x)
    soft = tf.sparse_softmax(sparse)
    out = [loss, tf.gradients(loss, x)[0], tf.expand_dims(x, [0]), tf.expand_dims(x, np.array([-1])), soft.values]
    out += [tf.gradients(soft.values[0], sparse.values)[0]]
    given = tf.SparseTensorValue(np.array([[0, 0], [0, 2], [1, 1]]), np.array([1.0, 2.0, 3.0], np.float32), [2, 3])
    return evaluate(tf, out, {x: X[:2, :3], labels: np.eye(3)[:2], sparse: given})


PROGRAMS = (
    polynomial, two_variables, list_of_targets, weighted_targets, partial_derivatives, multilayer_perceptron,
    hessian_of_rosenbrock, jacobian_row_by_row, unknown_shapes, movements, reductions, conditions, gradient_descent,
    momentum, adam, shared_variables, custom_rule, tape_over_graph, names, order_of_assignments,
    names_of_operations, what_is_cast_or_unpacked,
)  # fmt: skip
