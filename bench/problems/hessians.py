"""Hessians of scalar functions: logistic regression, Rosenbrock's function, a network."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from bench.problems.problem import Problem, Size, Values
from bench.problems.sparse import decades
from engine.core.operands import Operand

# ---- logistic regression ---------------------------------------------------------------------------------------------

PENALTY = 0.01


def logistic(tf: Any, weights: Any, features: Any, labels: Any) -> Operand:
    """The mean loss of a logistic regression, and a penalty on the weights (a column)."""
    scores = tf.matmul(features, weights)
    loss = tf.reduce_mean(tf.nn.softplus(scores) - labels * scores)
    return loss + (0.5 * PENALTY) * tf.reduce_sum(weights * weights)


def logistic_hessian(weights: Any, features: Any, labels: Any) -> np.ndarray:
    """A weighted Gram matrix."""
    probability = 1 / (1 + np.exp(-features @ weights))
    weighted = features * (probability * (1 - probability) / len(labels))
    return features.T @ weighted + PENALTY * np.eye(len(weights))


def _logistic_inputs(size: Size, rng: np.random.Generator) -> Values:
    rows, columns = size
    features = rng.normal(size=(rows, columns)) / np.sqrt(columns)
    return rng.normal(size=(columns, 1)), features, (rng.random((rows, 1)) < 0.5).astype(float)


LOGISTIC = Problem(
    group="hessian",
    kind="hessian",
    function=logistic,
    inputs=_logistic_inputs,
    expected=logistic_hessian,
    quick=((1000, 50),),
    full=((5000, 200),),
)

# ---- Rosenbrock ------------------------------------------------------------------------------------------------------


def rosenbrock(tf: Any, x: Any) -> Operand:
    """Rosenbrock's function, chained."""
    left, right = x[:-1], x[1:]
    bend = right - left * left
    return tf.reduce_sum(100.0 * bend * bend + (1.0 - left) * (1.0 - left))


def rosenbrock_hessian(x: Any) -> np.ndarray:
    """Tridiagonal."""
    left, right = x[:-1], x[1:]
    diagonal = np.zeros_like(x)
    diagonal[:-1] = 1200 * left**2 - 400 * right + 2
    diagonal[1:] += 200
    return sparse.diags_array([-400 * left, diagonal, -400 * left], offsets=[-1, 0, 1], format="csr")


ROSENBROCK = Problem(
    group="hessian",
    kind="hessian",
    format="csr",
    function=rosenbrock,
    inputs=lambda size, rng: (rng.normal(size=size),),
    expected=rosenbrock_hessian,
    quick=decades(3, 5),
    full=decades(6, 6),
)

# ---- a network of two layers -----------------------------------------------------------------------------------------


def network_loss(tf: Any, weights: Any, features: Any, wanted: Any) -> Operand:
    """Half the mean square error of ``tanh(features @ a + b) @ c + d``; `weights` are a, b, c, d in one row."""
    inputs = int(features.shape[1])
    hidden = _hidden(weights, inputs)
    split = inputs * hidden
    first = tf.matmul(features, tf.reshape(weights[:split], [inputs, hidden]))
    hidden_layer = tf.tanh(first + weights[split : split + hidden])
    output = tf.matmul(hidden_layer, tf.reshape(weights[split + hidden : -1], [hidden, 1])) + weights[-1:]
    error = output - wanted
    return 0.5 * tf.reduce_mean(error * error)


def _hidden(weights: Any, inputs: int) -> int:
    return (int(weights.shape[0]) - 1) // (inputs + 2)


def network_hessian(weights: Any, features: Any, wanted: Any) -> np.ndarray:
    """The Gauss-Newton matrix, and the error times the output's own second derivatives."""
    rows, inputs = features.shape
    hidden = _hidden(weights, inputs)
    with_one = np.concatenate([features, np.ones((rows, 1))], axis=1)
    split = (inputs + 1) * hidden
    h = np.tanh(with_one @ weights[:split].reshape(inputs + 1, hidden))
    last = weights[split:-1]
    slope = 1 - h * h
    error = (h @ last + weights[-1] - wanted[:, 0]) / rows
    # output by the first layer, by the second, by the last bias
    by_first = (with_one[:, :, None] * (slope * last)[:, None, :]).reshape(rows, split)
    gradient = np.concatenate([by_first, h, np.ones((rows, 1))], axis=1)
    hessian = gradient.T @ gradient / rows
    # a hidden unit's weights among themselves, and with its weight in the output
    own = np.einsum("r,rj,ra,rb->jab", error, -2 * h * slope * last, with_one, with_one)
    mixed = np.einsum("r,rj,ra->ja", error, slope, with_one)
    for j in range(hidden):
        unit = np.arange(inputs + 1) * hidden + j
        hessian[np.ix_(unit, unit)] += own[j]
        hessian[unit, split + j] += mixed[j]
        hessian[split + j, unit] += mixed[j]
    return hessian


def _network_inputs(size: Size, rng: np.random.Generator) -> Values:
    rows, inputs, hidden = size
    weights = rng.normal(size=(inputs + 2) * hidden + 1) / np.sqrt(inputs)
    return weights, rng.normal(size=(rows, inputs)), rng.normal(size=(rows, 1))


NETWORK = Problem(
    name="network",
    group="hessian",
    kind="hessian",
    function=network_loss,
    inputs=_network_inputs,
    expected=network_hessian,
    quick=((64, 10, 8),),
    full=((256, 20, 16),),
)
