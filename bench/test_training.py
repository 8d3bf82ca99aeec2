"""A step of training: the loss of a network, its gradients, and what the optimizer does with them.

In graph mode the step is one ``Session.run``, on a tape it is recorded anew each time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from bench import peers
from bench.problems import cross_entropy, mlp_logits
from engine.core.operands import Operand

Step = Callable[[], Any]
RATE = 0.01
ROWS, INPUTS, HIDDEN, CLASSES = 64, 64, 32, 10

GRAPH_OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "gradient descent": lambda tf: tf.train.GradientDescentOptimizer(RATE),
    "momentum": lambda tf: tf.train.MomentumOptimizer(RATE, 0.9),
    "Adam": lambda tf: tf.train.AdamOptimizer(RATE),
}
TAPE_OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "gradient descent": lambda tf: tf.keras.optimizers.SGD(RATE),
    "momentum": lambda tf: tf.keras.optimizers.SGD(RATE, momentum=0.9),
    "Adam": lambda tf: tf.keras.optimizers.Adam(RATE),
}


def data() -> tuple[Any, Any, list[Any]]:
    """A batch, its labels, the weights to begin with."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, INPUTS)).astype(np.float32)
    weights = [rng.normal(size=s) * 0.1 for s in ((INPUTS, HIDDEN), (HIDDEN,), (HIDDEN, CLASSES), (CLASSES,))]
    return x, rng.integers(CLASSES, size=ROWS).astype(np.int32), [w.astype(np.float32) for w in weights]


def in_a_session(tf: Any, optimizer: str) -> Step:
    """A step in graph mode; gives the loss."""
    x, labels, weights = data()
    with tf.Graph().as_default():
        given = tf.placeholder(tf.float32, x.shape), tf.placeholder(tf.int32, labels.shape)
        variables = [tf.Variable(w) for w in weights]
        loss = cross_entropy(tf, given[1], mlp_logits(tf, given[0], variables))
        update = GRAPH_OPTIMIZERS[optimizer](tf).minimize(loss)
        session = tf.Session()
        session.run(tf.global_variables_initializer())
    return lambda: session.run((loss, update), {given[0]: x, given[1]: labels})[0]


def on_a_tape(tf: Any, optimizer: str) -> Step:
    """A step in tape mode; gives the loss."""
    *batch, weights = data()
    x, labels = map(tf.constant, batch)
    variables = [tf.Variable(w) for w in weights]
    made = TAPE_OPTIMIZERS[optimizer](tf)

    def step() -> Operand:
        with tf.GradientTape() as tape:
            loss = cross_entropy(tf, labels, mlp_logits(tf, x, variables))
        made.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss.numpy()

    return step


LIBRARIES: dict[str, Callable[[str], Step]] = {
    "graph_api": lambda optimizer: in_a_session(graph_api, optimizer),
    "tape_api": lambda optimizer: on_a_tape(tape_api, optimizer),
    "tensorflow graph": lambda optimizer: in_a_session(peers.tensorflow().compat.v1, optimizer),
    "tensorflow eager": lambda optimizer: on_a_tape(peers.tensorflow(), optimizer),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    "optimizer",
    [pytest.param(o, marks=pytest.mark.benchmark(group=f"a step of training, {o}")) for o in GRAPH_OPTIMIZERS],
)
def test_step_of_training(benchmark: Any, library: str, optimizer: str) -> None:
    """Loss, gradients and update; the loss falls."""
    step = LIBRARIES[library](optimizer)
    first = step()
    step()
    assert benchmark(step) < first
