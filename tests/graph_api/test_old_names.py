"""Short functions of TensorFlow 1: `graph_api.legacy.old_names`."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api as tf
from tests.graph_api.running import run


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as made:
        yield made


def _saved(folder: Path) -> str:
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.variable_scope("bert"):
            made = [
                tf.get_variable(n, [2], initializer=tf.constant_initializer(v)) for n, v in (("a", 3.0), ("b", 4.0))
            ]
        session.run(tf.global_variables_initializer())
        path: str = tf.train.Saver(made).save(session, str(folder / "model"))
    return path


def test_variables_begin_with_what_a_checkpoint_holds(tmp_path: Path) -> None:
    path = _saved(tmp_path)
    with tf.variable_scope("mine"):
        a, b = tf.get_variable("a", [2]), tf.get_variable("b", [2])
    c, d = tf.get_variable("c", [2]), tf.get_variable("d", [2], initializer=tf.zeros_initializer())
    tf.train.init_from_checkpoint(path, {"bert/": "mine/", "bert/a": c})
    assert [v.tolist() for v in run([a, b, c, d])] == [[3, 3], [4, 4], [3, 3], [0, 0]]


def test_a_checkpoint_that_does_not_fit_changes_nothing(tmp_path: Path) -> None:
    path = _saved(tmp_path)
    good = tf.get_variable("good", [2], initializer=tf.zeros_initializer())
    bad = tf.get_variable("bad", [3], initializer=tf.zeros_initializer())
    for wrong, text in (
        ({"bert/a": good, "bert/b": bad}, "Shape of variable bad"),
        ({"bert/a": good, "bert/z": "good"}, "bert/z is not found"),
        ({"bert/a": "good", "bert/b": "nothing"}, "Variable nothing is not found"),
        ({"bert/a": "good", "bert/": "other/"}, "no variable below other/"),
    ):
        with pytest.raises(ValueError, match=text):
            tf.train.init_from_checkpoint(path, wrong)
    assert run(good).tolist() == [0, 0]


def test_values_are_printed_when_the_operation_runs(tmp_path: Path) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    printing = tf.print("x is", x, {"twice": 2 * x}, output_stream=f"file://{tmp_path / 'out'}")
    with tf.control_dependencies([printing]):
        y = x + 1
    with tf.Session() as session:
        assert session.run(y, {x: [1.0, 2.0]}).tolist() == [2, 3]
    assert (tmp_path / "out").read_text() == "x is [1 2] {'twice': [2 4]}\n"


def test_errors_of_gradients_are_found_by_differences() -> None:
    x = tf.constant([1.0, 2.0])
    right = x**2

    @tf.custom_gradient
    def wrongly(v: Any) -> Any:
        return v * v, lambda upstream: upstream * v

    with tf.Session():
        assert tf.test.compute_gradient_error(x, [2], right, [2], np.array([1.0, 2.0])) < 1e-2
        exact, numeric = tf.test.compute_gradient(x, [2], right, [2], np.array([1.0, 2.0]))
        assert tf.test.compute_gradient_error(x, [2], wrongly(x), [2], np.array([1.0, 2.0])) > 0.5
    np.testing.assert_allclose(exact, [[2, 0], [0, 4]])
    np.testing.assert_allclose(numeric, exact, 1e-2, 1e-2)


@pytest.mark.parametrize(
    ("call", "point", "want"),
    [
        (lambda z: z * z, [1 + 2j], [[2, 4], [-4, 2]]),
        (lambda z: tf.math.real(z * tf.math.conj(z)), [1 + 2j], [[2], [4]]),
        (lambda x: tf.cast(x, "complex128") * (1 + 2j), [3.0], [[1, 2]]),
    ],
)
def test_gradients_found_by_differences_count_complex_numbers_as_two(call: Any, point: Any, want: Any) -> None:
    point = np.array(point)
    with tf.Session():
        x = tf.placeholder(point.dtype, [1])
        exact, numeric = tf.test.compute_gradient(x, [1], call(x), [1], point)
    assert exact.tolist() == want
    np.testing.assert_allclose(numeric, want, 1e-6, 1e-9)


def test_short_functions() -> None:
    a = tf.constant([1, 2, 3, 2])
    with tf.colocate_with(a), tf.container("mine"), tf.name_scope(None, "scope", [a]):
        kept, where = tf.setdiff1d(a, [2])
    assert kept.name.startswith("scope/")
    local = tf.get_local_variable("local", [], initializer=tf.zeros_initializer())
    assert tf.local_variables() == [local]
    assert not tf.global_variables()
    assert not tf.trainable_variables()
    tf.set_random_seed(5)
    assert tf.get_seed(3) == (5, 3)
    assert [tf.dimension_value(d) for d in tf.TensorShape([2, None])] == [2, None]
    assert tf.resource_variables_enabled()
    tf.NotDifferentiable("Mine")
    slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]), tf.constant([2]))
    assert slices.device == slices.values.device
    with tf.Session() as session:
        assert [part.tolist() for part in session.run([kept, where])] == [[1, 3], [0, 2]]
        assert session.run(tf.bincount([1, 1])).tolist() == [0, 2]
        assert session.graph_def.node[0].name == "Const"
        assert session.graph.is_feedable(a)
        assert session.graph.is_fetchable(a.op)


def test_orthogonal_matrices() -> None:
    with tf.Session() as session:
        for shape in ([3, 2], [2, 3], [2, 2, 3]):
            value = session.run(tf.orthogonal_initializer(2.0, seed=3)(shape)).reshape(-1, shape[-1]) / 2
            product = value.T @ value if value.shape[0] > value.shape[1] else value @ value.T
            np.testing.assert_allclose(product, np.eye(len(product)), atol=1e-6)
