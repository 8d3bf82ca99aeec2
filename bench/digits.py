"""The handwritten digits of the report: the data, the initial weights, and the model in each mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.problems import cross_entropy, mlp_logits

Array = Any


@dataclass(frozen=True)
class Digits:
    """Pixels in [0, 1] as float32 of shape (n, 64), labels as int32 of shape (n,), for training and for testing."""

    train_x: Array
    train_labels: Array
    test_x: Array
    test_labels: Array


def load(seed: int = 0) -> Digits:
    """The 1,797 digits that scikit-learn ships, 80 % of them for training, in random order."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(pixels))
    x, labels = (pixels[order] / 16).astype(np.float32), labels[order].astype(np.int32)
    cut = len(x) * 4 // 5
    return Digits(x[:cut], labels[:cut], x[cut:], labels[cut:])


def initial_weights(seed: int = 1) -> list[Array]:
    """Matrix, bias, matrix, bias, scaled so that each layer keeps the variance (Glorot and Bengio, 2010)."""
    rng = np.random.default_rng(seed)
    weights: list[Array] = []
    for rows, columns in ((64, 32), (32, 10)):
        limit = np.sqrt(6 / (rows + columns))
        weights += [rng.uniform(-limit, limit, (rows, columns)).astype(np.float32), np.zeros(columns, np.float32)]
    return weights


def batches(digits: Digits, steps: int, size: int = 64, seed: int = 2) -> Iterator[tuple[Array, Array]]:
    """`steps` random minibatches."""
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        chosen = rng.integers(len(digits.train_x), size=size)
        yield digits.train_x[chosen], digits.train_labels[chosen]


@dataclass(frozen=True)
class Step:
    """The values that one step of training computed, before the weights moved."""

    loss: Array
    gradients: list[Array]

    def same_bits(self, other: Step) -> bool:
        """Whether every number is the same to the last bit."""
        mine, theirs = [self.loss, *self.gradients], [other.loss, *other.gradients]
        return all(same_bits(a, b) for a, b in zip(mine, theirs, strict=True))


def same_bits(a: Array, b: Array) -> bool:
    """Whether two arrays have the same shape, dtype and bytes (-0.0 is not 0.0 here, and a NaN equals itself)."""
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


class GraphModel:
    """The model as a graph of TensorFlow 1's: built once, run at every step; ``optimizer(tf)`` makes the optimizer."""

    def __init__(self, tf: Any, initial: list[Array], optimizer: Callable[[Any], Any]) -> None:
        with tf.Graph().as_default():
            self.x = tf.placeholder(tf.float32, [None, 64], name="pixels")
            self.labels = tf.placeholder(tf.int32, [None], name="labels")
            self.variables = [tf.Variable(w) for w in initial]
            self.outputs = mlp_logits(tf, self.x, self.variables)
            self.loss = cross_entropy(tf, self.labels, self.outputs)
            made = optimizer(tf)
            pairs = made.compute_gradients(self.loss, self.variables)
            self.gradients = [gradient for gradient, _ in pairs]
            self.update = made.apply_gradients(pairs)
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


class TapeModel:
    """The model on a tape: run op by op, recorded at every step."""

    def __init__(self, tf: Any, initial: list[Array], optimizer: Callable[[Any], Any]) -> None:
        self.tf, self.optimizer = tf, optimizer(tf)
        self.variables = [tf.Variable(w) for w in initial]

    def step(self, x: Array, labels: Array) -> Step:
        """One step of training."""
        with self.tf.GradientTape() as tape:
            loss = cross_entropy(self.tf, labels, self._logits(x))
        gradients = tape.gradient(loss, self.variables)
        self.optimizer.apply_gradients(zip(gradients, self.variables, strict=True))
        return Step(loss.numpy(), [g.numpy() for g in gradients])

    def weights(self) -> list[Array]:
        """The current weights."""
        return [v.numpy() for v in self.variables]

    def logits(self, x: Array) -> Array:
        """The logits of some digits."""
        return self._logits(x).numpy()

    def _logits(self, x: Array) -> Any:
        return mlp_logits(self.tf, self.tf.constant(x), self.variables)


def accuracy(logits: Array, labels: Array) -> float:
    """Share of digits whose largest logit is the right one."""
    return float(np.mean(np.argmax(logits, axis=1) == labels))
