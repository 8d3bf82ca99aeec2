"""The digits in tape mode: eager tensors and a `tf.GradientTape`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import tape_api as tf
from bench.digits import Array, Jacobians, Method, Step
from bench.problems import cross_entropy, mlp_logits


class TapeModel:
    """The model on a tape: run op by op, recorded at every step."""

    def __init__(self, initial: list[Array], rate: float) -> None:
        self.variables = [tf.Variable(w) for w in initial]
        # Keras's Adam has another epsilon, and computes powers of beta anew where this one multiplies them up
        self.optimizer = tf.compat.v1.train.AdamOptimizer(rate)

    def step(self, x: Array, labels: Array) -> Step:
        """One step of training."""
        with tf.GradientTape() as tape:
            loss = cross_entropy(tf, labels, mlp_logits(tf, tf.constant(x), self.variables))
        gradients = tape.gradient(loss, self.variables)
        self.optimizer.apply_gradients(zip(gradients, self.variables, strict=True))
        return Step(loss.numpy(), [g.numpy() for g in gradients])

    def weights(self) -> list[Array]:
        """The current weights."""
        return [v.numpy() for v in self.variables]

    def logits(self, x: Array) -> Array:
        """The logits of some digits."""
        return mlp_logits(tf, tf.constant(x), self.variables).numpy()


def jacobian_methods(weights: list[Array], x: Array, wrt_inputs: bool) -> list[Method]:
    """The ways tape mode has to compute the Jacobian of the logits."""
    pixels, given = tf.constant(x), [tf.constant(w) for w in weights]
    sources = [pixels] if wrt_inputs else given

    def row_by_row() -> Jacobians:
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(sources)
            outputs = mlp_logits(tf, pixels, given)
            rows = tf.unstack(tf.reshape(outputs, [-1]))
        gradients = [[g.numpy() for g in tape.gradient(row, sources)] for row in rows]
        shape = tuple(outputs.shape)
        return [np.stack(row).reshape(*shape, *row[0].shape) for row in zip(*gradients, strict=True)]

    def jacobian() -> Jacobians:
        with tf.GradientTape() as tape:
            tape.watch(sources)
            outputs = mlp_logits(tf, pixels, given)
        return [j.numpy() for j in tape.jacobian(outputs, sources)]

    return [Method("tape: gradient, row by row", _ready(row_by_row)), Method("tape: jacobian", _ready(jacobian))]


def _ready(function: Callable[[], Jacobians]) -> Callable[[], Callable[[], Jacobians]]:
    """A tape prepares nothing."""
    return lambda: function
