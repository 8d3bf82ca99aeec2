"""Our optimizers run on the cases, through each front end."""

from typing import Any

import numpy as np

import graph_api
import tape_api
from tests.optim.cases import STARTS, Case, gradients

Steps = list[list[np.ndarray]]


def on_tape(case: Case, dtype: str) -> tuple[Steps, dict[str, list[np.ndarray]]]:
    """The values of all variables after each step, and the slots at the end."""
    variables = [tape_api.Variable(s, dtype=dtype) for s in STARTS]
    optimizer = case.ours()
    steps = []
    for given in gradients(dtype):
        optimizer.apply_gradients(zip([tape_api.constant(g) for g in given], variables, strict=True))
        steps.append([v.numpy() for v in variables])
    return steps, {n: [optimizer.get_slot(v, n).numpy() for v in variables] for n in optimizer.get_slot_names()}


def in_graph(case: Case, dtype: str) -> tuple[Steps, dict[str, list[np.ndarray]]]:
    """The same by running one operation of a graph."""
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        variables = [tf.Variable(s, dtype=dtype) for s in STARTS]
        feeds = [tf.placeholder(dtype, v.shape) for v in variables]
        optimizer = case.ours()
        train = optimizer.apply_gradients(list(zip(feeds, variables, strict=True)))
        session.run(tf.global_variables_initializer())
        steps = []
        for given in gradients(dtype):
            session.run(train, dict(zip(feeds, given, strict=True)))
            steps.append(session.run(variables))
        slots: dict[str, Any] = {n: [optimizer.get_slot(v, n) for v in variables] for n in optimizer.get_slot_names()}
        return steps, session.run(slots)
