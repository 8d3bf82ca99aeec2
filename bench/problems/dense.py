"""Problems whose Jacobians are dense: networks, a bottleneck, a recurrence, reductions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from bench.problems.problem import Problem, Size, Values
from engine.core.operands import Operand

# ---- networks --------------------------------------------------------------------------------------------------------


def mlp(tf: Any, x: Any, *weights: Any) -> Operand:
    """Dense layers with a tanh after each but the last; `weights` are matrix, bias, matrix, bias and so on."""
    *hidden, (matrix, bias) = _pairs(weights)
    for hidden_matrix, hidden_bias in hidden:
        x = tf.tanh(tf.matmul(x, hidden_matrix) + hidden_bias)
    return tf.matmul(x, matrix) + bias


def _pairs(weights: Sequence[Any]) -> list[tuple[Any, Any]]:
    return list(zip(weights[::2], weights[1::2], strict=True))


def mlp_rows(x: Any, *weights: Any) -> np.ndarray:
    """The Jacobian of each row of `mlp`: shape (rows, outputs, inputs)."""
    *hidden, (matrix, _) = _pairs(weights)
    jacobian = np.broadcast_to(np.eye(x.shape[1]), (len(x), x.shape[1], x.shape[1]))
    for hidden_matrix, hidden_bias in hidden:
        x = np.tanh(x @ hidden_matrix + hidden_bias)
        jacobian = (1 - x * x)[:, :, None] * (hidden_matrix.T @ jacobian)
    return matrix.T @ jacobian


def _weights(widths: Sequence[int], rng: np.random.Generator) -> list[Any]:
    weights = []
    for n, m in itertools.pairwise(widths):
        weights += [rng.normal(size=(n, m)) / np.sqrt(n), 0.1 * rng.normal(size=m)]
    return weights


MLP = Problem(
    group="dense",
    function=mlp,
    inputs=lambda size, rng: (rng.normal(size=(1, size[0])), *_weights(size, rng)),
    expected=lambda *values: mlp_rows(*values)[0],
    # more inputs than outputs, fewer, as many; in the last one multiplication of matrices is nearly all the time
    quick=((64, 128, 128, 128, 32), (8, 64, 64, 64, 512), (128, 128, 128, 128, 128)),
    full=((512, 512, 512, 512, 256),),
)
BATCH = Problem(
    name="mlp_batch",
    group="batch",
    kind="batch_jacobian",
    function=mlp,
    inputs=lambda size, rng: (rng.normal(size=size[:2]), *_weights(size[1:], rng)),
    expected=mlp_rows,
    quick=((1024, 20, 32, 20),),
)

# ---- a small intermediate between many inputs and many outputs -------------------------------------------------------


def bottleneck(tf: Any, x: Any, narrow: Any, wide: Any) -> Operand:
    """Everything the outputs know of the inputs passes through a few numbers."""
    return tf.tanh(tf.matmul(tf.tanh(tf.matmul(x, narrow)), wide))


def bottleneck_jacobian(x: Any, narrow: Any, wide: Any) -> np.ndarray:
    """The product of a tall matrix and a wide one."""
    middle = np.tanh(x @ narrow)
    y = np.tanh(middle @ wide)
    return ((1 - y**2).T * wide.T) @ ((1 - middle**2).T * narrow.T)


def _bottleneck_inputs(size: Size, rng: np.random.Generator) -> Values:
    n, k, m = size
    return rng.normal(size=(1, n)), rng.normal(size=(n, k)) / np.sqrt(n), rng.normal(size=(k, m)) / np.sqrt(k)


BOTTLENECK = Problem(
    group="dense",
    function=bottleneck,
    inputs=_bottleneck_inputs,
    expected=bottleneck_jacobian,
    quick=((1000, 8, 1000),),
)

# ---- a recurrence ----------------------------------------------------------------------------------------------------


def recurrent(tf: Any, state: Any, matrix: Any, drive: Any) -> Operand:
    """The last state of a recurrent network; `drive` has a row for each step."""
    for row in tf.unstack(drive):
        state = tf.tanh(tf.matmul(state, matrix) + row)
    return state


def recurrent_jacobian(state: Any, matrix: Any, drive: Any) -> np.ndarray:
    """The product of the steps' Jacobians."""
    jacobian = np.eye(len(matrix))
    for row in drive:
        state = np.tanh(state @ matrix + row)
        jacobian = (1 - state**2).T * (matrix.T @ jacobian)
    return jacobian


def _recurrent_inputs(size: Size, rng: np.random.Generator) -> Values:
    width, steps = size
    # slightly more than a rotation, so that a hundred steps neither forget nor explode
    matrix = 1.05 * np.linalg.qr(rng.normal(size=(width, width)))[0]
    return 0.3 * rng.normal(size=(1, width)), matrix, 0.05 * rng.normal(size=(steps, width))


RECURRENT = Problem(
    group="dense", function=recurrent, inputs=_recurrent_inputs, expected=recurrent_jacobian, quick=((16, 100),)
)

# ---- reductions ------------------------------------------------------------------------------------------------------


def moments(tf: Any, x: Any) -> Operand:
    """The mean and the mean square: two numbers of a large array."""
    return tf.stack([tf.reduce_mean(x), tf.reduce_mean(x * x)])


MOMENTS = Problem(
    group="dense",
    function=moments,
    inputs=lambda size, rng: (rng.normal(size=size).astype(np.float32),),
    expected=lambda x: np.stack([np.full(x.size, 1 / x.size), 2 * x.ravel() / x.size]),
    quick=((1000, 1000),),
    dtype=np.float32,
)
