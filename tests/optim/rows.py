"""The optimizers run on gradients that consist of rows, by the same program in either front end and in TensorFlow."""

from typing import Any

import numpy as np

import graph_api
from tests.optim.cases import Case

START = np.array([[1.0, -2.0], [0.5, 0.25], [-0.75, 1.5], [3.0, 0.0], [2.0, -1.0]])
REPEATED = ([3, 1, 3], [0, 3, 0], [1, 1, 0])
"""Which rows have a gradient at each step; row 2 and row 4 never do."""
DISTINCT = ([3, 1], [0, 3], [1, 0])


def rows(at: list[int], dtype: str) -> np.ndarray:
    """The rows of the gradient at a step."""
    return np.random.default_rng(len(at) + at[0]).standard_normal((len(at), START.shape[1])).astype(dtype)


def on_tape(tf: Any, optimizer: Any, dtype: str, steps: Any = REPEATED, dense: bool = False) -> list[np.ndarray]:
    """The variable after each step."""
    variable = tf.Variable(START, dtype=dtype)
    values = []
    for at in steps:
        gradient = tf.IndexedSlices(tf.constant(rows(at, dtype)), tf.constant(at), tf.constant(START.shape))
        if dense:
            gradient = tf.convert_to_tensor(gradient)
        optimizer.apply_gradients([(gradient, variable)])
        values.append(variable.numpy())
    return values


def in_graph(case: Case, dtype: str) -> list[np.ndarray]:
    """The same by running one operation of a graph, fed with rows and indices."""
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(START, dtype=dtype)
        values, indices = tf.placeholder(dtype, [None, START.shape[1]]), tf.placeholder(tf.int32, [None])
        train = case.ours().apply_gradients([(tf.IndexedSlices(values, indices, START.shape), variable)])
        session.run(tf.global_variables_initializer())
        steps = []
        for at in REPEATED:
            session.run(train, {values: rows(at, dtype), indices: at})
            steps.append(session.run(variable))
        return steps
