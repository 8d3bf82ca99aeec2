"""``tf.compat.v1`` of the tape API: TensorFlow 1's names and arguments on eager tensors, beside TensorFlow."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from dualgrad.frontend import version1_only
from graph_api.names import TABLE
from tests.support import assert_same_bits

X = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.25], [0.5, -0.25, 2.0]])
IMAGE = np.arange(96.0).reshape(2, 4, 4, 3)

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "reduction_indices": lambda v1, x: v1.reduce_sum(x, reduction_indices=1, keep_dims=True),
    "argmax": lambda v1, x: v1.argmax(x, dimension=0),
    "rows by a vector": lambda v1, x: v1.where([True, False, True], x, -x),
    "to_float": lambda v1, x: v1.to_float(x),
    "div": lambda v1, x: v1.div(x, 2.0),
    "matrix_inverse": lambda v1, x: v1.matrix_inverse(x),
    "matrix_diag": lambda v1, x: v1.matrix_diag(x, "name", 1),
    "cholesky": lambda v1, x: v1.cholesky(x),
    "self_adjoint_eig": lambda v1, x: v1.self_adjoint_eig(x)[0],
    "erf": lambda v1, x: v1.erf(x),
    "segment_sum": lambda v1, x: v1.segment_sum(x, [0, 0, 1]),
    "expand_dims": lambda v1, x: v1.expand_dims(x, dim=1),
    "softmax": lambda v1, x: v1.nn.softmax(x, dim=0),
    "cross entropy": lambda v1, x: v1.nn.softmax_cross_entropy_with_logits_v2(labels=x, logits=x),
    "conv2d": lambda v1, x: v1.nn.conv2d(IMAGE, np.ones((2, 2, 3, 1)), [1, 2, 2, 1], "SAME", True),
    "moments": lambda v1, x: v1.nn.moments(x, [0], keep_dims=True)[1],
    "norm": lambda v1, x: v1.norm(x, keep_dims=True),
    "clip_by_average_norm": lambda v1, x: v1.clip_by_average_norm(v1.to_float(x), 0.1),
    "matrix_set_diag": lambda v1, x: v1.matrix_set_diag(x, x[:2], "name", (0, 1)),
    "matrix_diag_part": lambda v1, x: v1.matrix_diag_part(x, "name", (0, 1), 7.0),
    "py_func": lambda v1, x: v1.py_func(np.sin, [x], v1.float64),
    "mean_squared_error": lambda v1, x: v1.losses.mean_squared_error(
        labels=v1.to_float(x), predictions=2 * v1.to_float(x)
    ),
}


@pytest.mark.parametrize("key", CALLS)
def test_as_in_the_graph(key: str) -> None:
    taped = CALLS[key](tape_api.compat.v1, tape_api.constant(X))
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        assert_same_bits([taped.numpy()], [session.run(CALLS[key](graph_api, graph_api.constant(X)))])


@pytest.mark.peer
@pytest.mark.parametrize("key", CALLS)
def test_beside_tensorflow(key: str) -> None:
    tensorflow = pytest.importorskip("tensorflow")
    expected = CALLS[key](tensorflow.compat.v1, tensorflow.constant(X)).numpy()
    got = CALLS[key](tape_api.compat.v1, tape_api.constant(X)).numpy()
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-6 if got.dtype == np.float32 else 1e-12, atol=1e-12)


def test_gradients_are_recorded() -> None:
    with tape_api.GradientTape() as tape:
        x = tape_api.Variable(X)
        y = tape_api.compat.v1.reduce_sum(tape_api.compat.v1.square(x), reduction_indices=[0, 1])
    np.testing.assert_array_equal(tape.gradient(y, x), 2 * X)


def test_every_name_of_the_table() -> None:
    for path in [path for _, names in TABLE for path in names.split()]:
        here: Any = tape_api.compat.v1
        for part in path.split("."):
            here = getattr(here, part)
        assert callable(here), path


def test_todays_names_are_there_too() -> None:
    v1 = tape_api.compat.v1
    for namespace in (v1.math, v1.nn, v1.linalg, v1.random):
        assert isinstance(namespace, ModuleType)
    assert v1.Variable is tape_api.Variable and v1.keras is tape_api.keras
    assert v1.nn.dropout is tape_api.nn.dropout and v1.random.normal is tape_api.random.normal


def test_random_names_of_the_first_eager_mode() -> None:
    tape_api.set_random_seed(3)
    first = tape_api.random_normal([2]), tape_api.multinomial(tape_api.zeros([2, 3]), 4)
    tape_api.random.set_seed(3)
    again = tape_api.random.normal([2]), tape_api.random.categorical(tape_api.zeros([2, 3]), 4)
    assert_same_bits([t.numpy() for t in first], [t.numpy() for t in again])
    assert tape_api.compat.v1.multinomial([[0.0]], 2, output_dtype=tape_api.int32).dtype == tape_api.int32


# ---- names asked for in the wrong place ------------------------------------------------------------------------------

NAMES = [f"{part}.{name}".lstrip(".") for part, names in version1_only.NAMES.items() for name in names.split()]


def said_of(path: str, here: Any = tape_api) -> str | None:
    """What a program is told that reads a name below ``tf.``; None if it is there."""
    for part in path.split("."):
        try:
            here = getattr(here, part)
        except AttributeError as error:
            return str(error)
    return None


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("train.QueueRunner", "TensorFlow 1: use graph_api"),
        ("compat.v1.get_variable_scope", "TensorFlow 1: use graph_api"),
        ("nn.rnn_cell.BasicLSTMCell", "TensorFlow 1: use graph_api"),
        ("to_float", "TensorFlow 1: use graph_api, or tf.compat.v1.to_float here"),
        ("logging", "TensorFlow 1: use graph_api, or tf.compat.v1.logging here"),
        ("contrib.slim", "TensorFlow 1: use graph_api"),
        ("nonsense", "dualgrad's tape_api has no such name (yet)"),
        ("train.nonsense", "dualgrad's tape_api has no such name (yet)"),
    ],
)
def test_a_name_of_tensorflow_1_says_where_it_is(path: str, said: str) -> None:
    assert str(said_of(path)).endswith(f": {said}")


def test_what_graphs_alone_have_is_said_to_be_there_once() -> None:
    told = {path: str(said_of(path)) for path in NAMES if said_of(path.rpartition(".")[0] or "nn") is None}
    assert len(told) > 150
    assert [path for path, said in told.items() if "(yet)" in said or " here" in said] == []
    assert [path for path in NAMES if said_of(path, graph_api)] == []


@pytest.mark.peer
def test_these_names_are_tensorflow_1_alone() -> None:
    tensorflow = pytest.importorskip("tensorflow")

    def has(root: Any, path: str) -> bool:
        for part in path.split("."):
            if not hasattr(root, part):
                return False
            root = getattr(root, part)
        return True

    assert [path for path in NAMES if has(tensorflow, path)] == []
    assert [path for path in NAMES if not has(tensorflow.compat.v1, path)] == []


def test_a_saver_knows_slots_by_the_names_of_a_graph(tmp_path: Path) -> None:
    """Checkpoints of optimizers go from graphs to tapes and back: slots of one name are numbered."""
    v, w = tape_api.Variable([1.0, 2.0], name="a/v"), tape_api.Variable(3.0, name="w")
    optimizer = tape_api.compat.v1.train.AdamOptimizer()
    optimizer.apply_gradients([(tape_api.constant([0.5, -1.0]), v), (tape_api.constant(2.0), w)])
    saver = tape_api.compat.v1.train.Saver([v, w, *optimizer.variables()])
    path = saver.save(None, str(tmp_path / "model"))
    with graph_api.Graph().as_default(), graph_api.Session() as sess:
        a, b = graph_api.Variable([0.0, 0.0], name="a/v"), graph_api.Variable(0.0, name="w")
        own = graph_api.train.AdamOptimizer()
        own.minimize(graph_api.reduce_sum(a) * b)
        graph_api.train.Saver().restore(sess, path)
        for mine, other in ((a, v), (b, w)):
            for name in ("m", "v"):
                slot = optimizer.get_slot(other, name)
                np.testing.assert_array_equal(sess.run(own.get_slot(mine, name)), slot.numpy())
