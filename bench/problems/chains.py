"""Chains of small ops and the report's network: programs that several benchmarks measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def chain(tf: Any, x: Any, length: int) -> np.ndarray:
    """`length` small ops in a row, each bounded, none trivial. Also runs on ``autograd.numpy`` and ``jax.numpy``."""
    for i in range(length):
        x = _LINKS[i % len(_LINKS)](tf, x)
    return x


_LINKS = (lambda tf, x: tf.sin(x), lambda tf, x: x * 1.25, lambda tf, x: tf.tanh(x), lambda tf, x: x + 0.5)


def chain_gradient(x: Any, length: int) -> np.ndarray:
    """The derivative of `chain` at a NumPy array, by the chain rule written out."""
    gradient = np.ones_like(x)
    for i in range(length):
        gradient = gradient * _SLOPES[i % len(_SLOPES)](x)
        x = _LINKS[i % len(_LINKS)](np, x)
    return gradient


_SLOPES = (np.cos, lambda x: 1.25, lambda x: 1 - np.tanh(x) ** 2, lambda x: 1.0)


def mlp_logits(tf: Any, x: Any, weights: Sequence[Any]) -> Any:
    """Two dense layers with a tanh between them; `weights` are matrix, bias, matrix, bias."""
    hidden_matrix, hidden_bias, matrix, bias = weights
    hidden = tf.tanh(tf.matmul(x, hidden_matrix) + hidden_bias)
    return tf.matmul(hidden, matrix) + bias


def cross_entropy(tf: Any, labels: Any, logits: Any) -> Any:
    """Mean softmax cross entropy of integer labels."""
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
