"""Graphs hold no large constants that a program has not given: what makes them stays an operation."""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api as tf
from graph_api.graph_files import exporting
from tests.processes import printed

MADE: dict[str, Any] = {
    "zeros": lambda: tf.zeros([40, 50]),
    "strings": lambda: tf.zeros([40, 50], tf.string),
    "ones": lambda: tf.ones([40, 50], tf.float64),
    "fill": lambda: tf.fill([40, 50], 3),
    "a number in a shape": lambda: tf.constant(0.5, shape=[40, 50]),
    "broadcast_to": lambda: tf.broadcast_to(np.arange(50.0), [40, 50]),
    "eye": lambda: tf.eye(40, 50),
    "a stack of eye": lambda: tf.eye(10, batch_shape=[20]),
    "range": lambda: tf.range(2000),
    "range of floats": lambda: tf.range(0.0, 1.0, 5e-4),
    "linspace": lambda: tf.linspace(0.0, 1.0, 2000),
    "one_hot": lambda: tf.one_hot([1, 2, -1], 700, on_value=2.0),
    "tile": lambda: tf.tile([[1.0, 2.0]], [20, 50]),
    "pad": lambda: tf.pad([[1.0, 2.0]], [[20, 20], [24, 24]]),
    "diagonal": lambda: tf.matrix_diag(np.arange(45.0)),
    "mask": lambda: tf.sequence_mask([3, 5], 1000),
    "meshgrid": lambda: tf.meshgrid(np.arange(40), np.arange(50))[1],
    "computed further": lambda: tf.cast(tf.zeros([40, 50]) + 2.0, tf.int32),
    "zero_state": lambda: tf.nn.rnn_cell.GRUCell(50).zero_state(40, tf.float32),
}
"""Functions whose result has many more elements than what they are given."""


def constants(graph: tf.Graph) -> int:
    """How many numbers the constants of a graph hold."""
    return sum(np.size(op.node_def.params["value"]) for op in graph.get_operations() if op.type == "Const")


def as_file(graph: tf.Graph) -> int:
    """The length of a graph's file."""
    return len(graph.as_graph_def().SerializeToString())


@pytest.mark.parametrize("name", MADE)
def test_what_makes_many_numbers_of_few_is_an_operation(name: str) -> None:
    with tf.Graph().as_default() as graph:
        made = MADE[name]()
    assert constants(graph) < 1100
    assert as_file(graph) < 6000
    assert made.shape.is_fully_defined()
    assert made.shape.num_elements() > 1000 and made.aval.value is None


@pytest.mark.parametrize("name", MADE)
def test_bits_are_those_of_arrays(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(MADE[name]())
    monkeypatch.setattr("engine.core.trace.LARGE", 1 << 40)
    monkeypatch.setattr("graph_api.convert.LARGE", 1 << 40)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        made = MADE[name]()
        assert constants(graph) >= 1000
        wanted = session.run(made)
    assert found.dtype == wanted.dtype
    assert found.tolist() == wanted.tolist()


def test_small_ones_are_constants() -> None:
    with tf.Graph().as_default():
        assert [x.op.type for x in (tf.zeros([10, 100]), tf.eye(31), tf.range(1000))] == ["Const"] * 3
        assert [x.op.type for x in (tf.zeros([10, 101]), tf.fill([1001], 2.0), tf.range(1001))] == [
            "Fill", "Fill", "Range",
        ]  # fmt: skip


def test_arrays_that_a_program_gives_stay_constants() -> None:
    given = np.arange(5000.0)
    with tf.Graph().as_default(), tf.Session() as session:
        for made in (tf.constant(given), tf.square(given), tf.reshape(given, [50, 100])):
            assert made.op.type == "Const"
        assert session.run(tf.square(given)).tolist() == (given**2).tolist()


@pytest.mark.parametrize(
    "initializer",
    [
        tf.zeros_initializer(),
        tf.ones_initializer(),
        tf.constant_initializer(0.3),
        tf.initializers.identity(2.0),
        lambda shape, dtype, **_: tf.fill(shape, tf.constant(0.25, dtype)),
    ],
)
@pytest.mark.parametrize(
    "optimizer",
    [
        tf.train.AdamOptimizer(),
        tf.train.AdagradOptimizer(0.1),
        tf.train.FtrlOptimizer(0.1),
        tf.train.AdadeltaOptimizer(0.1),
        tf.train.RMSPropOptimizer(0.1, momentum=0.9, centered=True),
        tf.train.MomentumOptimizer(0.1, 0.9),
    ],
)
def test_initial_values_are_computed_by_the_initializer(initializer: Any, optimizer: Any) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        w = tf.get_variable("w", [60, 60], initializer=initializer)
        step = optimizer.minimize(tf.reduce_sum(tf.square(w - 1.0)))
        average = tf.train.ExponentialMovingAverage(0.9)
        with tf.control_dependencies([step]):
            step = average.apply([w, w + 1.0])
        assert constants(graph) < 200
        assert as_file(graph) < 20_000
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert np.isfinite(session.run(w)).all()


def test_identity_initializers_have_the_bits_of_products() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.get_variable("w", [40, 40], initializer=tf.initializers.identity(0.1))
        session.run(w.initializer)
        assert session.run(w).tolist() == (0.1 * np.eye(40)).astype(np.float32).tolist()


def test_files_of_filled_values_are_read_again() -> None:
    with tf.Graph().as_default() as graph:
        tf.fill([40, 50], 1.5, name="filled")
        message = graph.as_graph_def()
    assert [n.op for n in message.node if n.name == "filled"] == ["Fill"]
    with tf.Graph().as_default() as graph, tf.Session() as session:
        (again,) = tf.import_graph_def(message, return_elements=["filled:0"], name="")
        assert session.run(again).tolist() == np.full((40, 50), 1.5).tolist()
        assert [n.op for n in graph.as_graph_def().node if n.name == "filled"] == ["Fill"]


def test_gradients_lead_through_a_filled_value() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [])
        y = tf.reduce_sum(tf.fill([40, 50], x) ** 2)
        assert session.run(tf.gradients(y, x), {x: 3.0}) == [12000.0]


def test_a_graph_too_large_for_a_file_is_refused_with_the_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "MOST_BYTES", 40_000)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        w = tf.get_variable("w", [10], initializer=tf.zeros_initializer())
        tf.constant(np.zeros(4000), name="fits")
        session.run(w.initializer)
        tf.train.Saver().save(session, str(tmp_path / "small"))
        kept = sorted(os.listdir(tmp_path))
        tf.constant(np.zeros(1001), name="too_much")
        with pytest.raises(ValueError, match=r"cannot be larger than 2GB.*'too_much'"):
            graph.as_graph_def()
        with pytest.raises(ValueError, match=r"cannot be larger than 2GB.*'too_much'"):
            tf.train.Saver().save(session, str(tmp_path / "large"))
        with pytest.raises(ValueError, match=r"cannot be larger than 2GB.*'too_much'"):
            tf.saved_model.simple_save(session, str(tmp_path / "model"), {}, {"w": w})
    assert sorted(p for p in os.listdir(tmp_path) if p != "model") == kept
    assert not any(files for _, _, files in os.walk(tmp_path / "model"))


PROGRAM = """
import resource
import graph_api as tf

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
w = tf.get_variable("w", [10_000_000], initializer=tf.zeros_initializer())
v = tf.Variable(tf.ones([5_000_000, 2]))
step = tf.train.AdamOptimizer().minimize(tf.reduce_sum(w) + tf.reduce_sum(v))
tf.get_default_graph().as_graph_def().SerializeToString()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is told in other units elsewhere")
def test_building_takes_no_memory_for_values() -> None:
    assert int(printed(PROGRAM)) < 40_000  # KiB; one of the six values takes 39,063
