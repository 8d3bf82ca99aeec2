"""The classic programs: what comes out is what TensorFlow gives, errors included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import graph_api as tf
from tests.graph_api.programs import PROGRAMS, adam
from tests.outputs import assert_agree, in_a_graph, kept


def fresh(module: Any, program: Callable[[Any], Any]) -> Any:
    """Run a program in a graph of its own."""
    with module.Graph().as_default():
        return program(module)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_programs_give_what_tensorflow_gives_and_the_same_again(program: Callable[[Any], Any]) -> None:
    first, second = in_a_graph(tf, program), in_a_graph(tf, program)
    # TensorFlow keeps Adam's powers of beta in float32, whatever the variables are
    assert_agree(first, kept("graph_api")[program.__name__], program.__name__, 1e-5 if program is adam else None)
    assert str(first) == str(second)


# What goes wrong goes wrong in the same way: the class of the exception is TensorFlow's, or derives from it.


def length_of_grad_ys(tf: Any) -> None:
    x = tf.placeholder(tf.float32)
    tf.gradients(x * x, x, [None, None])


def shape_of_grad_ys(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [2])
    tf.gradients(x * x, x, [tf.constant([1.0, 2.0, 3.0])])


def dtype_of_grad_ys(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [2])
    tf.gradients(x * x, x, [tf.constant([1.0, 2.0], tf.float64)])


def shape_of_feed(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.Session() as session:
        session.run(x + 1.0, {x: [1.0, 2.0, 3.0]})


def unfed(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.Session() as session:
        session.run(x + 1.0)


def uninitialized(tf: Any) -> None:
    v = tf.Variable(1.0)
    with tf.Session() as session:
        session.run(v + 1.0)


def fetch_of_none(tf: Any) -> None:
    with tf.Session() as session:
        session.run([tf.constant(1.0), None])


def mixed_dtypes(tf: Any) -> None:
    tf.constant(1.0) + tf.constant(1.0, tf.float64)


def int_plus_float(tf: Any) -> None:
    tf.constant(1) + 1.5


def truth_value(tf: Any) -> None:
    if tf.placeholder(tf.bool):
        pass


def iteration(tf: Any) -> None:
    list(tf.placeholder(tf.float32))


def item_assignment(tf: Any) -> None:
    tf.placeholder(tf.float32, [2])[0] = 1.0


def matmul_shapes(tf: Any) -> None:
    tf.matmul(tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.float32, [2, 3]))


def add_shapes(tf: Any) -> None:
    tf.placeholder(tf.float32, [2, 3]) + tf.placeholder(tf.float32, [2, 4])


def reshape_size(tf: Any) -> None:
    tf.reshape(tf.placeholder(tf.float32, [2, 3]), [4])


def no_variables(tf: Any) -> None:
    tf.train.GradientDescentOptimizer(0.1).compute_gradients(tf.constant(1.0))


def no_gradients(tf: Any) -> None:
    tf.Variable(1.0)
    tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0))


def empty_gradients(tf: Any) -> None:
    tf.train.GradientDescentOptimizer(0.1).apply_gradients([])


def bad_gate(tf: Any) -> None:
    v = tf.Variable(1.0)
    tf.train.GradientDescentOptimizer(0.1).compute_gradients(v * v, gate_gradients=7)


def variable_twice(tf: Any) -> None:
    tf.get_variable("w", [2])
    tf.get_variable("w", [2])


def variable_missing(tf: Any) -> None:
    with tf.variable_scope("s", reuse=True):
        tf.get_variable("w", [2])


def variable_of_another_shape(tf: Any) -> None:
    with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
        tf.get_variable("w", [2])
        tf.get_variable("w", [3])


def clip_none(tf: Any) -> None:
    tf.clip_by_norm(None, 1.0)


def finalized(tf: Any) -> None:
    tf.get_default_graph().finalize()
    tf.constant(1.0)


def unknown_name(tf: Any) -> None:
    tf.get_default_graph().get_tensor_by_name("nowhere:0")


ERRORS: dict[Callable[[Any], None], type[BaseException]] = {
    length_of_grad_ys: ValueError,
    shape_of_grad_ys: ValueError,
    dtype_of_grad_ys: TypeError,
    shape_of_feed: ValueError,
    unfed: tf.errors.InvalidArgumentError,
    uninitialized: tf.errors.FailedPreconditionError,
    fetch_of_none: TypeError,
    mixed_dtypes: TypeError,
    int_plus_float: TypeError,
    truth_value: tf.errors.OperatorNotAllowedInGraphError,
    iteration: tf.errors.OperatorNotAllowedInGraphError,
    item_assignment: TypeError,
    matmul_shapes: ValueError,
    add_shapes: ValueError,
    reshape_size: ValueError,
    no_variables: ValueError,
    no_gradients: ValueError,
    empty_gradients: ValueError,
    bad_gate: ValueError,
    variable_twice: ValueError,
    variable_missing: ValueError,
    variable_of_another_shape: ValueError,
    clip_none: ValueError,
    finalized: RuntimeError,
    unknown_name: KeyError,
}


@pytest.mark.parametrize("misuse", ERRORS, ids=lambda p: p.__name__)
def test_errors(misuse: Callable[[Any], None]) -> None:
    with pytest.raises(ERRORS[misuse]) as caught:
        fresh(tf, misuse)
    assert len(str(caught.value)) > 20


@pytest.mark.peer
@pytest.mark.parametrize("misuse", ERRORS, ids=lambda p: p.__name__)
def test_errors_beside_tensorflow(misuse: Callable[[Any], None]) -> None:
    tensorflow = pytest.importorskip("tensorflow").compat.v1
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        fresh(tensorflow, misuse)
    with pytest.raises(ERRORS[misuse]) as ours:
        fresh(tf, misuse)
    builtin = next(c for c in type(theirs.value).__mro__ if c.__module__ == "builtins")
    same_name = type(theirs.value).__name__ in [c.__name__ for c in type(ours.value).__mro__]
    # TensorFlow 2.21 iterates an unknown shape with a TypeError subclass, reshape with ValueError, and so on
    assert same_name or isinstance(ours.value, builtin)
