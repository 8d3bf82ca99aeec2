"""The digits in graph mode: placeholders, `tf.gradients`, a session."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import graph_api as tf
from bench.digits import Array, Jacobians, Method, Step
from bench.problems import cross_entropy, mlp_logits


class GraphModel:
    """The model as a graph: built once, run at every step."""

    def __init__(self, initial: list[Array], rate: float) -> None:
        with tf.Graph().as_default():
            self.x = tf.placeholder(tf.float32, [None, 64], name="pixels")
            self.labels = tf.placeholder(tf.int32, [None], name="labels")
            self.variables = [tf.Variable(w) for w in initial]
            self.outputs = mlp_logits(tf, self.x, self.variables)
            self.loss = cross_entropy(tf, self.labels, self.outputs)
            optimizer = tf.train.AdamOptimizer(rate)
            pairs = optimizer.compute_gradients(self.loss, self.variables)
            self.gradients = [gradient for gradient, _ in pairs]
            self.update = optimizer.apply_gradients(pairs)
            self.session = tf.Session()
            self.session.run(tf.global_variables_initializer())

    def step(self, x: Array, labels: Array) -> Step:
        """One step of training."""
        fetches = (self.loss, self.gradients, self.update)
        loss, gradients, _ = self.session.run(fetches, feed_dict={self.x: x, self.labels: labels})
        return Step(loss, gradients)

    def weights(self) -> list[Array]:
        """The current weights."""
        return self.session.run(self.variables)

    def logits(self, x: Array) -> Array:
        """The logits of some digits."""
        return self.session.run(self.outputs, feed_dict={self.x: x})


def jacobian_methods(weights: list[Array], x: Array, wrt_inputs: bool) -> list[Method]:
    """The ways graph mode has to compute the Jacobian of the logits."""
    given = (weights, x, wrt_inputs)
    return [
        Method("graph: gradients, row by row", functools.partial(_row_by_row, *given)),
        Method("graph: jacobian", functools.partial(_jacobian, *given)),
    ]


def _model(weights: list[Array], x: Array, wrt_inputs: bool) -> tuple[Any, list[Any], dict[Any, Array]]:
    """The logits, what to differentiate them with respect to, and the values to feed."""
    pixels = tf.placeholder(tf.float32, x.shape, name="pixels")
    given = [tf.placeholder(tf.float32, w.shape) for w in weights]
    sources = [pixels] if wrt_inputs else given
    return mlp_logits(tf, pixels, given), sources, {pixels: x, **dict(zip(given, weights, strict=True))}


def _row_by_row(weights: list[Array], x: Array, wrt_inputs: bool) -> Callable[[], Jacobians]:
    with tf.Graph().as_default():
        outputs, sources, feed = _model(weights, x, wrt_inputs)
        rows = [tf.gradients(row, sources) for row in tf.unstack(tf.reshape(outputs, [-1]))]
        session = tf.Session()
    shape = tuple(outputs.shape.as_list())

    def run() -> Jacobians:
        return [np.stack(row).reshape(*shape, *row[0].shape) for row in zip(*session.run(rows, feed), strict=True)]

    return run


def _jacobian(weights: list[Array], x: Array, wrt_inputs: bool) -> Callable[[], Jacobians]:
    with tf.Graph().as_default():
        outputs, sources, feed = _model(weights, x, wrt_inputs)
        blocks = tf.jacobian(outputs, sources)
        session = tf.Session()
    return lambda: session.run(blocks, feed)
