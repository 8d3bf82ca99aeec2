"""The handwritten digits of the report: the data, the initial weights, and the same model in plain NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

HIDDEN = 32
CLASSES = 10
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
    for rows, columns in ((64, HIDDEN), (HIDDEN, CLASSES)):
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


class Model(Protocol):
    """One multilayer perceptron under one of the two front ends."""

    def step(self, x: Array, labels: Array) -> Step:
        """One step of training."""

    def weights(self) -> list[Array]:
        """The current weights."""

    def logits(self, x: Array) -> Array:
        """The logits of some digits, of shape (n, 10)."""


Jacobians = list[Array]
"""Per source an array of shape logits.shape + source.shape."""


@dataclass(frozen=True)
class Method:
    """One way to compute a Jacobian.

    Attributes
    ----------
    name : str
    prepare : callable
        Does what is done once (building a graph) and returns the function that computes the Jacobians.
    """

    name: str
    prepare: Callable[[], Callable[[], Jacobians]]


def accuracy(logits: Array, labels: Array) -> float:
    """Share of digits whose largest logit is the right one."""
    return float(np.mean(np.argmax(logits, axis=1) == labels))


def central_differences(weights: list[Array], x: Array, wrt_inputs: bool) -> Jacobians:
    """The Jacobians by central differences of the model in plain NumPy and float64: an answer that owes us nothing."""
    arrays = [a.astype(np.float64) for a in (x, *weights)]
    step = 1e-5

    def model() -> Array:
        x, hidden_matrix, hidden_bias, matrix, bias = arrays
        return np.tanh(x @ hidden_matrix + hidden_bias) @ matrix + bias

    jacobians = []
    for array in arrays[:1] if wrt_inputs else arrays[1:]:
        columns = []
        for index in np.ndindex(array.shape):
            kept = array[index]
            array[index] = kept + step
            above = model()
            array[index] = kept - step
            columns.append((above - model()) / (2 * step))
            array[index] = kept
        jacobians.append(np.stack(columns, axis=-1).reshape(*columns[0].shape, *array.shape))
    return jacobians
