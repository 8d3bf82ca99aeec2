"""Assigning to rows and entries of variables, in both front ends and beside TensorFlow."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.compiler.lowering import lower
from engine.compiler.pipeline import ALL_PASSES
from engine.core.trace import needed_nodes
from engine.runtime.errors import IndexOutOfRangeError
from tests.support import assert_same_bits

V = np.array([[1.0, -2.0], [0.5, 0.25], [-0.75, 1.5]])

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "update": lambda v1, v: v1.scatter_update(v, [2, 0], [[9.0, 8.0], [7.0, 6.0]]),
    "update, scalar index": lambda v1, v: v1.scatter_update(v, 1, [9.0, 8.0]),
    "update, matrix of indices": lambda v1, v: v1.scatter_update(v, [[2], [0]], np.ones((2, 1, 2))),
    "update, none": lambda v1, v: v1.scatter_update(v, np.zeros(0, np.int32), np.zeros((0, 2))),
    "add": lambda v1, v: v1.scatter_add(v, [2, 0, 2], [[9.0, 8.0], [7.0, 6.0], [1.0, 1.0]]),
    "sub": lambda v1, v: v1.scatter_sub(v, [2, 0, 2], [[9.0, 8.0], [7.0, 6.0], [1.0, 1.0]]),
    "mul": lambda v1, v: v1.scatter_mul(v, [2, 0, 2], [[9.0, 8.0], [7.0, 6.0], [2.0, -1.0]]),
    "div": lambda v1, v: v1.scatter_div(v, [2, 0, 2], [[4.0, 8.0], [7.0, 6.0], [2.0, -1.0]]),
    "max": lambda v1, v: v1.scatter_max(v, [2, 0], [[9.0, -8.0], [-7.0, 6.0]]),
    "min": lambda v1, v: v1.scatter_min(v, [2, 0], [[9.0, -8.0], [-7.0, 6.0]]),
    "nd_update": lambda v1, v: v1.scatter_nd_update(v, [[2, 1], [0, 0]], [9.0, 8.0]),
    "nd_add": lambda v1, v: v1.scatter_nd_add(v, [[2, 1], [2, 1]], [9.0, 8.0]),
    "nd_sub": lambda v1, v: v1.scatter_nd_sub(v, [[2], [0]], [[9.0, 8.0], [7.0, 6.0]]),
}
METHODS: dict[str, Callable[[Any, Any], Any]] = {
    "scatter_update": lambda tf, v: v.scatter_update(slices(tf)),
    "scatter_add": lambda tf, v: v.scatter_add(slices(tf)),
    "scatter_sub": lambda tf, v: v.scatter_sub(slices(tf)),
    "scatter_mul": lambda tf, v: v.scatter_mul(slices(tf)),
    "scatter_div": lambda tf, v: v.scatter_div(slices(tf)),
    "scatter_max": lambda tf, v: v.scatter_max(slices(tf)),
    "scatter_min": lambda tf, v: v.scatter_min(slices(tf)),
    "scatter_nd_update": lambda tf, v: v.scatter_nd_update([[2, 1]], [9.0]),
    "scatter_nd_add": lambda tf, v: v.scatter_nd_add([[2, 1]], [9.0]),
    "scatter_nd_sub": lambda tf, v: v.scatter_nd_sub([[2, 1]], [9.0]),
}


def slices(tf: Any) -> Any:
    return tf.IndexedSlices(tf.constant([[9.0, -8.0], [-7.0, 6.0]], tf.float64), tf.constant([2, 0]))


def changed(tf: Any, change: Callable[[Any, Any], Any]) -> np.ndarray:
    """The variable after an eager change."""
    variable = tf.Variable(V)
    change(tf, variable)
    return np.asarray(variable.numpy())


def changed_in_graph(change: Callable[[Any, Any], Any]) -> np.ndarray:
    """The variable after a run of the change, and what the change itself gives."""
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(V)
        made = change(tf, variable)
        session.run(tf.global_variables_initializer())
        session.run(made.op)
        after = session.run(variable)
        session.run(tf.global_variables_initializer())
        assert_same_bits([session.run(made)], [after])
        return after


@pytest.mark.parametrize("key", FUNCTIONS)
def test_functions_in_both_front_ends(key: str) -> None:
    function = FUNCTIONS[key]
    taped = changed(tape_api, lambda tf, v: function(tf.compat.v1, v))
    assert_same_bits([taped], [changed_in_graph(function)])


@pytest.mark.parametrize("key", METHODS)
def test_methods_in_both_front_ends(key: str) -> None:
    assert_same_bits([changed(tape_api, METHODS[key])], [changed_in_graph(METHODS[key])])


@pytest.mark.parametrize("whole_wanted", [False, True])
def test_what_a_program_gives_for_a_variable_changed_in_part(whole_wanted: bool) -> None:
    tf = graph_api
    with tf.Graph().as_default() as graph:
        variable = tf.Variable(V)
        new = tf.scatter_update(variable, [1], [[0.0, 0.0]])
        wanted = [new] if whole_wanted else []
        nodes = needed_nodes(graph.nodes, [new.op, *wanted], set(), lambda node: node.control_inputs)
    for passes, in_part in ((ALL_PASSES, not whole_wanted), ((), False)):
        program, _, (assignment,) = lower(nodes, [], wanted, passes=passes)
        assert assignment.handle is variable.handle and assignment.in_part is in_part
        results = program(V)[len(wanted) :]
        assert program.report.get("partial_assignment", 0) == in_part
        expected = [[[1]], [[0.0, 0.0]]] if in_part else [V * [[1], [0], [1]]]
        np.testing.assert_equal(results, expected)


@pytest.mark.peer
@pytest.mark.parametrize("key", [*FUNCTIONS, *METHODS])
def test_beside_tensorflow(key: str) -> None:
    tensorflow = pytest.importorskip("tensorflow")
    change = METHODS[key] if key in METHODS else lambda tf, v: FUNCTIONS[key](tf.compat.v1, v)
    np.testing.assert_array_equal(changed(tape_api, change), changed(tensorflow, change))


def test_reading_rows_and_entries() -> None:
    v = tape_api.Variable(V)
    np.testing.assert_array_equal(v.sparse_read([2, 0]).numpy(), V[[2, 0]])
    np.testing.assert_array_equal(v.gather_nd([[2, 1]]).numpy(), [1.5])


def test_integers_are_not_divided() -> None:
    v = tape_api.Variable([7, 9])
    with pytest.raises(TypeError, match=r"scatter_div into variable.*int32"):
        tape_api.compat.v1.scatter_div(v, [0], [2])
    np.testing.assert_array_equal(v.numpy(), [7, 9])


@pytest.mark.parametrize(
    ("indices", "updates", "error"),
    [
        ([3], [[1.0, 1.0]], IndexOutOfRangeError),
        ([-1], [[1.0, 1.0]], IndexOutOfRangeError),
        ([0], [[1.0]], ValueError),
        ([0, 1], [[1.0, 1.0]], ValueError),
        ([0], np.ones((1, 2), np.float32), None),
        ([0], np.ones((1, 2), np.complex128), TypeError),
    ],
)
def test_bad_rows_leave_the_variable_as_it_was(indices: Any, updates: Any, error: Any) -> None:
    tape = tape_api.Variable(V)
    if error is None:
        # NumPy data take the variable's dtype
        tape_api.compat.v1.scatter_update(tape, indices, updates)
        np.testing.assert_array_equal(tape.numpy()[0], 1)
        return
    with pytest.raises(error):
        tape_api.compat.v1.scatter_update(tape, indices, updates)
    np.testing.assert_array_equal(tape.numpy(), V)
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        v, w = tf.Variable(V), tf.Variable(V)
        session.run(tf.global_variables_initializer())
        with pytest.raises(error):
            session.run(tf.group(tf.scatter_update(w, [1], [[0.0, 0.0]]), tf.scatter_update(v, indices, updates)))
        assert_same_bits(session.run([v, w]), [V, V])
