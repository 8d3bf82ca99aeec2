"""The classic programs: what comes out is what TensorFlow gives, errors included."""

from collections.abc import Callable
from typing import Any

import pytest

import graph_api as tf
from tests.graph_api.programs import PROGRAMS, adam
from tests.outputs import assert_agree, in_a_graph, kept


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_programs_give_what_tensorflow_gives_and_the_same_again(program: Callable[[Any], Any]) -> None:
    first, second = in_a_graph(tf, program), in_a_graph(tf, program)
    # TensorFlow keeps Adam's powers of beta in float32, whatever the variables are
    assert_agree(first, kept("graph_api")[program.__name__], program.__name__, 1e-5 if program is adam else None)
    assert str(first) == str(second)


# What goes wrong goes wrong in the same way: the class of the exception is TensorFlow's, or derives from it.


def grad_ys(tf: Any, make: Callable[[], Any]) -> None:
    x = tf.placeholder(tf.float32, [2])
    tf.gradients(x * x, x, make())


def run(tf: Any, make: Callable[[Any], Any], feed: Any = None) -> None:
    """Run what `make` gives of a placeholder, fed or not."""
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.Session() as session:
        session.run(make(x), feed and {x: feed})


def get_variables(tf: Any, sizes: tuple[int, ...], reuse: Any = None) -> None:
    """One variable, once for each of the sizes."""
    with tf.variable_scope("s", reuse=reuse):
        for size in sizes:
            tf.get_variable("w", [size])


def descent(tf: Any) -> Any:
    """An optimizer, and a variable to change."""
    tf.Variable(1.0)
    return tf.train.GradientDescentOptimizer(0.1)


def put_item(x: Any) -> None:
    x[0] = 1.0


def after_finalize(tf: Any) -> None:
    tf.get_default_graph().finalize()
    tf.constant(1.0)


ERRORS: dict[str, tuple[type[BaseException], Callable[[Any], Any]]] = {
    "length of grad_ys": (ValueError, lambda tf: grad_ys(tf, lambda: [None, None])),
    "shape of grad_ys": (ValueError, lambda tf: grad_ys(tf, lambda: [tf.ones([3])])),
    "dtype of grad_ys": (TypeError, lambda tf: grad_ys(tf, lambda: [tf.ones([2], tf.float64)])),
    "shape of a feed": (ValueError, lambda tf: run(tf, lambda x: x + 1.0, [1.0, 2.0, 3.0])),
    "unfed": (tf.errors.InvalidArgumentError, lambda tf: run(tf, lambda x: x + 1.0)),
    "uninitialized": (tf.errors.FailedPreconditionError, lambda tf: run(tf, lambda x: tf.Variable(1.0) + 1.0)),
    "fetch of None": (TypeError, lambda tf: run(tf, lambda x: [tf.constant(1.0), None])),
    "mixed dtypes": (TypeError, lambda tf: tf.constant(1.0) + tf.constant(1.0, tf.float64)),
    "int32 and 1.5": (TypeError, lambda tf: tf.constant(1) + 1.5),
    "truth value": (tf.errors.OperatorNotAllowedInGraphError, lambda tf: bool(tf.placeholder(tf.bool))),
    "iteration": (tf.errors.OperatorNotAllowedInGraphError, lambda tf: list(tf.placeholder(tf.float32))),
    "item assignment": (TypeError, lambda tf: put_item(tf.placeholder(tf.float32, [2]))),
    "shapes of matmul": (ValueError, lambda tf: tf.matmul(tf.ones([2, 3]), tf.placeholder(tf.float32, [2, 3]))),
    "shapes of +": (ValueError, lambda tf: tf.ones([2, 3]) + tf.placeholder(tf.float32, [2, 4])),
    "size of reshape": (ValueError, lambda tf: tf.reshape(tf.placeholder(tf.float32, [2, 3]), [4])),
    "no variables": (ValueError, lambda tf: tf.train.GradientDescentOptimizer(0.1).compute_gradients(tf.constant(1.0))),
    "no gradients": (ValueError, lambda tf: descent(tf).minimize(tf.constant(1.0))),
    "empty gradients": (ValueError, lambda tf: descent(tf).apply_gradients([])),
    "gate": (ValueError, lambda tf: descent(tf).compute_gradients(tf.constant(1.0), gate_gradients=7)),
    "variable twice": (ValueError, lambda tf: get_variables(tf, (2, 2))),
    "variable missing": (ValueError, lambda tf: get_variables(tf, (2,), True)),
    "variable of another shape": (ValueError, lambda tf: get_variables(tf, (2, 3), tf.AUTO_REUSE)),
    "clip None": (ValueError, lambda tf: tf.clip_by_norm(None, 1.0)),
    "finalized": (RuntimeError, after_finalize),
    "unknown name": (KeyError, lambda tf: tf.get_default_graph().get_tensor_by_name("nowhere:0")),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    error, misuse = ERRORS[name]
    with tf.Graph().as_default(), pytest.raises(error) as caught:
        misuse(tf)
    assert len(str(caught.value)) > 20


@pytest.mark.peer
@pytest.mark.parametrize("name", ERRORS)
def test_errors_beside_tensorflow(name: str) -> None:
    """TensorFlow 2.21 iterates an unknown shape with a TypeError subclass, reshapes with ValueError, and so on."""
    tensorflow = pytest.importorskip("tensorflow").compat.v1
    error, misuse = ERRORS[name]
    with tensorflow.Graph().as_default(), pytest.raises(Exception) as theirs:  # noqa: PT011
        misuse(tensorflow)
    builtin = next(c for c in type(theirs.value).__mro__ if c.__module__ == "builtins")
    assert type(theirs.value).__name__ in [c.__name__ for c in error.__mro__] or issubclass(error, builtin)
