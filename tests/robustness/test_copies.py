"""Copies: of tensors they are the tensors, and what there is one of refuses to be copied."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from tests.tapes import watching


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_of_a_graph_tensor_is_the_tensor(copied: Callable[[Any], Any]) -> None:
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        y = x * x
        settings = copied({"y": y, "x": [x]})
        (gradient,) = tf.gradients(copied(y), copied(x))
        found = session.run([copied(y), gradient, settings["y"]], {copied(x): [1.0, 2.0]})
        assert copied(y.op) is y.op
    assert [list(f) for f in found] == [[1, 4], [2, 4], [1, 4]]


def test_a_copy_of_a_graph_variable_is_the_variable_and_a_deep_one_is_refused() -> None:
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable([1.0, 2.0])
        session.run(v.initializer)
        (gradient,) = tf.gradients(v * v, copy.copy(v))
        session.run(tf.assign(copy.copy(v), [3.0, 4.0]))
        assert session.run([v, gradient])[1].tolist() == [6, 8]
        with pytest.raises(NotImplementedError, match="'Variable:0' of a graph cannot be copied"):
            copy.deepcopy(v)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_tapes_graphs_and_sessions_cannot_be_copied(copied: Callable[[Any], Any]) -> None:
    v = tape_api.Variable([1.0, 2.0])
    tape, y = watching((), lambda: v * v, persistent=True)
    with graph_api.Graph().as_default() as graph:
        session = graph_api.Session()
    for thing in (tape, graph, session):
        with pytest.raises(TypeError, match=f"a {type(thing).__name__} cannot be copied or pickled"):
            copied(thing)
    assert np.array_equal(tape.gradient(y, v), [2, 4])
