"""Forms in which TensorFlow 1 takes arguments and that legacy programs use; what it gives is in ``outputs.json``."""

import collections
from collections.abc import Callable
from typing import Any

import numpy as np

A = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)


def empty(tf: Any, run: Any) -> Any:
    x = tf.placeholder(tf.int32, [None])
    none = tf.constant([], tf.int32)
    return run([none, tf.reduce_sum(none), tf.reduce_sum(tf.ones([2, 3]), none), tf.reduce_sum(x)], {x: []})


def objects(tf: Any, run: Any) -> Any:
    x = tf.placeholder(tf.float32, [None])
    return run(x * 2, {x: np.array([1.0, 2], object)})


def average_of_a_tensor(tf: Any, run: Any) -> Any:
    x = tf.placeholder(tf.float32, [])
    average = tf.train.ExponentialMovingAverage(0.9)
    y = tf.multiply(x, 2.0, name="y")
    step = average.apply([y])
    run(tf.global_variables_initializer())
    run(step, {x: 1.0})
    run(step, {x: 3.0})
    return [run(average.average(y)), average.average(y).name, average.average_name(y)]


def decay_of_a_number(tf: Any, run: Any) -> Any:
    rates = [
        tf.train.exponential_decay(0.1, 5, 10, 0.5),
        tf.train.inverse_time_decay(0.1, 5, 10, 0.5),
        tf.train.natural_exp_decay(0.1, 5, 10, 0.5),
        tf.train.polynomial_decay(0.1, 5, 10),
        tf.train.piecewise_constant(5, [3, 7], [1.0, 0.5, 0.1]),
        tf.train.cosine_decay(0.1, 5, 10),
    ]
    return run(rates)


def sparse_labels_of_a_column(tf: Any, run: Any) -> Any:
    labels, logits = tf.placeholder(tf.int32), tf.placeholder(tf.float32)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    return run([loss, tf.gradients(loss, logits)[0]], {labels: [[0], [1]], logits: A})


def errors_of_integers(tf: Any, run: Any) -> Any:
    a, b = tf.constant([1, 2]), tf.constant([2, 4])
    return run([tf.losses.mean_squared_error(a, b), tf.losses.absolute_difference(a, b), tf.losses.huber_loss(a, b)])


def normalization_without_scale(tf: Any, run: Any) -> Any:
    x = tf.constant(A)
    return run(tf.nn.batch_normalization(x, tf.zeros([2]), tf.ones([2]), None, None, 1e-3))


def array_of_a_variable(tf: Any, run: Any) -> Any:
    v, n, x = tf.Variable(2.0), tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, [None])
    _, array = tf.while_loop(
        lambda i, _: i < n,
        lambda i, a: (i + 1, a.write(i, v * x * tf.cast(i, tf.float32))),
        (0, tf.TensorArray(tf.float32, n)),
    )
    y = array.stack()
    wanted = [y, tf.gradients(y, v)[0], tf.gradients(y, x)[0]]
    run(tf.global_variables_initializer())
    return run(wanted, {n: 3, x: [1.0, 2.0]})


def array_that_grows(tf: Any, run: Any) -> Any:
    x = tf.constant([2.0, 3.0])
    array = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    _, array = tf.while_loop(
        lambda i, _: i < 3, lambda i, a: (i + 1, a.write(i, x * x * tf.cast(i, tf.float32))), (0, array)
    )
    y = array.stack()
    return run([y, array.size(), tf.gradients(y, x)[0]])


def variable_that_grows(tf: Any, run: Any) -> Any:
    x, factor = tf.constant([1.0]), tf.constant(3.0)
    _, y = tf.while_loop(
        lambda i, _: i < 3,
        lambda i, y: (i + 1, tf.concat([y, y * y * factor], 0)),
        (0, x),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])),
    )
    return run([y, *tf.gradients(y, [x, factor])])


def python_functions(tf: Any, run: Any) -> Any:
    x = tf.constant(3.0)
    (y,) = tf.py_function(lambda a: [a * a * a], [x], [tf.float32])
    (g,) = tf.gradients(y, x)
    return run([y, g])


def quotients_of_integers(tf: Any, run: Any) -> Any:
    return run(tf.div_no_nan(tf.constant([4, 3]), tf.constant([2, 0])))


def one_number_for_all_rows(tf: Any, run: Any) -> Any:
    v = tf.Variable(tf.ones([3, 2]))
    run(tf.global_variables_initializer())
    return run(tf.scatter_add(v, [0, 2], 5.0))


def spectral_norm(tf: Any, run: Any) -> Any:
    x = tf.constant(np.arange(12, dtype=np.float64).reshape(2, 2, 3) ** 2)
    return run([tf.norm(x, ord=2, axis=[1, 2]), tf.norm(x, ord=2, axis=(0, -1), keepdims=True)])


def dropout_of_rows(tf: Any, run: Any) -> Any:
    found = run(tf.nn.dropout(tf.ones([50, 3]), 0.5, noise_shape=[None, 1]))
    return [found.shape, bool((found == found[:, :1]).all()), set(found.ravel().tolist())]


def embedding_in_parts(tf: Any, run: Any) -> Any:
    parts = [tf.constant(np.arange(n * 2, dtype=np.float32).reshape(n, 2)) for n in (3, 2, 2)]
    ids = [[0, 6], [3, 4]]
    dealt = tf.nn.embedding_lookup(parts, ids)
    blocks = tf.nn.embedding_lookup(parts, ids, partition_strategy="div")
    return run([dealt, blocks, *[tf.convert_to_tensor(g) for g in tf.gradients(dealt * blocks, parts)]])


def rows_as_seeds(tf: Any, run: Any) -> Any:
    x = tf.ones([3])
    rows = tf.IndexedSlices(tf.constant([1.0]), tf.constant([1]), tf.constant([3]))
    return run(tf.gradients(x * 2.0, x, grad_ys=[rows])[0])


def part_of_a_variable(tf: Any, run: Any) -> Any:
    v = tf.Variable(tf.zeros([2, 3]))
    run(tf.global_variables_initializer())
    for change in (v[0, 0].assign(3.0), v[1].assign([4.0, 5.0, 6.0]), v[:, 1:2].assign([[7.0], [8.0]])):
        run(change)
    return run(v)


def waiting_for_a_loop_variable(tf: Any, run: Any) -> Any:
    def body(i: Any, x: Any) -> Any:
        with tf.control_dependencies([x]):
            return i + 1, tf.identity(x) * 2

    return run(tf.while_loop(lambda i, x: i < 3, body, (0, 1.0)))


def shape_before_initialization(tf: Any, run: Any) -> Any:
    v = tf.Variable(tf.ones([2, 3]))
    return run([tf.zeros_like(v), tf.ones_like(v), tf.shape(v), tf.size(v)])


def the_variable_itself(tf: Any, run: Any) -> Any:
    v = tf.Variable(3.0)
    run(tf.global_variables_initializer())
    return run(tf.gradients(v, v))


def leaky_integers(tf: Any, run: Any) -> Any:
    return run(tf.nn.leaky_relu(tf.constant([-1, 2])))


def structures(tf: Any, run: Any) -> Any:
    found = run(collections.defaultdict(list, b=tf.constant(1.0), a=tf.constant(2.0)))
    return [type(found).__name__, found["a"], found["b"], found["missing"]]


def half_matrices(tf: Any, run: Any) -> Any:
    return run(tf.matrix_inverse(tf.constant([[2.0, 1.0], [1.0, 2.0]], tf.float16)))


def ellipsis_for_nothing(tf: Any, run: Any) -> Any:
    return run([tf.einsum("...ij,jk->...ik", tf.constant(A), tf.constant(A)), tf.einsum("i...->...", tf.ones([3]))])


FORMS = [
    *(empty, objects, average_of_a_tensor, decay_of_a_number, sparse_labels_of_a_column, errors_of_integers),
    *(normalization_without_scale, array_of_a_variable, array_that_grows, variable_that_grows, python_functions),
    *(quotients_of_integers, one_number_for_all_rows, spectral_norm, dropout_of_rows, embedding_in_parts),
    *(rows_as_seeds, part_of_a_variable, waiting_for_a_loop_variable, shape_before_initialization),
    *(the_variable_itself, leaky_integers, structures, half_matrices, ellipsis_for_nothing),
]


def in_a_session(tf: Any, form: Callable[[Any, Any], Any]) -> Any:
    """What a form gives in a graph of its own."""
    with tf.Graph().as_default(), tf.Session() as session:
        return form(tf, session.run)
