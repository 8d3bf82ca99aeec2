"""Networks of the field's lists: recurrent cells, convolutions, steps of training; written before anything was tuned.

The derivatives are written by hand, by going back through the layers.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from bench.problems.field import one_hot, probabilities, row, softmax_regression
from bench.problems.problem import Size, Values, field_problem
from engine.core.operands import Operand


def _sigmoid(x: Any) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _wide(*arrays: Any) -> list[Any]:
    """The arrays in double precision, so that a derivative by hand is surer than what it checks."""
    return [np.asarray(a, np.result_type(a, np.float64)) for a in arrays]


# ---- long short-term memory (ADBench's lstm, of one layer) -----------------------------------------------------------


def lstm(tf: Any, inner: Any, across: Any, bias: Any, readout: Any, sequence: Any, start: Any) -> Operand:
    """How badly each row of a sequence is foretold from those before it; `start` is a row of zeros."""
    width = int(across.shape[0])
    cell, hidden, loss = start, start, tf.reduce_sum(start)
    for t in range(int(sequence.shape[0]) - 1):
        gates = tf.matmul(sequence[t : t + 1], inner) + tf.matmul(hidden, across) + bias
        enter, keep, show = (tf.sigmoid(gates[:, k * width : (k + 1) * width]) for k in range(3))
        cell = keep * cell + enter * tf.tanh(gates[:, 3 * width :])
        hidden = show * tf.tanh(cell)
        error = tf.matmul(hidden, readout) - sequence[t + 1 : t + 2]
        loss = loss + tf.reduce_sum(error * error)
    return loss


def lstm_gradient(inner: Any, across: Any, bias: Any, readout: Any, sequence: Any, start: Any) -> np.ndarray:
    """Back through time."""
    width = len(across)
    cell, hidden, steps = start, start, []
    for t in range(len(sequence) - 1):
        gates = sequence[t : t + 1] @ inner + hidden @ across + bias
        enter, keep, show = _sigmoid(gates[:, : 3 * width]).reshape(3, 1, width)
        fresh = np.tanh(gates[:, 3 * width :])
        before, previous = cell, hidden
        cell = keep * cell + enter * fresh
        hidden = show * np.tanh(cell)
        steps.append((before, previous, enter, keep, show, fresh, np.tanh(cell), hidden))
    back = [np.zeros_like(w) for w in (inner, across, bias, readout)]
    of_cell, of_hidden = np.zeros_like(start), np.zeros_like(start)
    for t, (before, previous, enter, keep, show, fresh, bent, hidden) in reversed([*enumerate(steps)]):
        error = 2 * (hidden @ readout - sequence[t + 1 : t + 2])
        of_hidden = of_hidden + error @ readout.T
        of_cell = of_cell + of_hidden * show * (1 - bent**2)
        parts = (
            of_cell * fresh * enter * (1 - enter),
            of_cell * before * keep * (1 - keep),
            of_hidden * bent * show * (1 - show),
            of_cell * enter * (1 - fresh**2),
        )
        of_gates = np.concatenate(parts, axis=1)
        own = (sequence[t : t + 1].T @ of_gates, previous.T @ of_gates, of_gates[0], hidden.T @ error)
        back = [total + one for total, one in zip(back, own, strict=True)]
        of_hidden, of_cell = of_gates @ across.T, of_cell * keep
    return row(*back)


def _lstm_inputs(size: Size, rng: np.random.Generator) -> Values:
    steps, d, h = size
    weights = [rng.normal(size=(n, 4 * h)) / np.sqrt(n) for n in (d, h)]
    rest = 0.1 * rng.normal(size=4 * h), rng.normal(size=(h, d)) / np.sqrt(h)
    return (*weights, *rest, rng.normal(size=(steps + 1, d)), np.zeros((1, h)))


LSTM = field_problem(
    function=lstm, inputs=_lstm_inputs, expected=lstm_gradient, sources=4, quick=((10, 8, 8),), full=((60, 14, 64),)
)

# ---- gated recurrent units, many sequences at once -------------------------------------------------------------------


def gru(tf: Any, inner: Any, across: Any, inner_new: Any, across_new: Any, batch: Any, wanted: Any) -> Operand:
    """Half the squared error of the last states; `batch` is (steps, sequences, inputs)."""
    width = int(across_new.shape[0])
    state = 0.0 * wanted
    for x in tf.unstack(batch):
        gates = tf.sigmoid(tf.matmul(x, inner) + tf.matmul(state, across))
        reset, update = gates[:, :width], gates[:, width:]
        fresh = tf.tanh(tf.matmul(x, inner_new) + tf.matmul(reset * state, across_new))
        state = update * state + (1.0 - update) * fresh
    error = state - wanted
    return 0.5 * tf.reduce_sum(error * error)


def gru_gradient(inner: Any, across: Any, inner_new: Any, across_new: Any, batch: Any, wanted: Any) -> np.ndarray:
    """Back through time."""
    width = len(across_new)
    state, steps = np.zeros_like(wanted), []
    for x in batch:
        gates = _sigmoid(x @ inner + state @ across)
        reset, update = gates[:, :width], gates[:, width:]
        fresh = np.tanh(x @ inner_new + (reset * state) @ across_new)
        steps.append((x, state, reset, update, fresh))
        state = update * state + (1 - update) * fresh
    back = [np.zeros_like(w) for w in (inner, across, inner_new, across_new)]
    of_state = state - wanted
    for x, state, reset, update, fresh in reversed(steps):
        of_fresh = of_state * (1 - update) * (1 - fresh**2)
        of_kept = of_fresh @ across_new.T
        of_gates = np.concatenate(
            [of_kept * state * reset * (1 - reset), of_state * (state - fresh) * update * (1 - update)], axis=1
        )
        own = (x.T @ of_gates, state.T @ of_gates, x.T @ of_fresh, (reset * state).T @ of_fresh)
        back = [total + one for total, one in zip(back, own, strict=True)]
        of_state = of_state * update + of_kept * reset + of_gates @ across.T
    return row(*back)


def _gru_inputs(size: Size, rng: np.random.Generator) -> Values:
    steps, n, d, h = size
    weights = [rng.normal(size=(rows, k * h)) / np.sqrt(rows) for k in (2, 1) for rows in (d, h)]
    return (*weights, rng.normal(size=(steps, n, d)), rng.normal(size=(n, h)))


GRU = field_problem(
    function=gru, inputs=_gru_inputs, expected=gru_gradient, sources=4, quick=((8, 4, 6, 8),), full=((30, 64, 32, 64),)
)

# ---- convolutions ----------------------------------------------------------------------------------------------------


def convolution(tf: Any, images: Any, filters: Any, bias: Any, wanted: Any) -> Operand:
    """Half the squared error of a layer of filters."""
    error = tf.tanh(tf.nn.conv2d(images, filters, 1, "VALID") + bias) - wanted
    return 0.5 * tf.reduce_sum(error * error)


def convolution_gradient(images: Any, filters: Any, bias: Any, wanted: Any) -> np.ndarray:
    """Each element of a filter meets a shifted part of the images."""
    made = np.tanh(_convolved(images, filters) + bias)
    back = (made - wanted) * (1 - made**2)
    return row(*_convolution_back(images, filters, back), back.sum((0, 1, 2)))


def _shifts(images: Any, filters: Any) -> list[tuple[int, int, Any]]:
    """Each place in a filter with the part of the images that it meets, as an index."""
    rows, columns = (n - k + 1 for n, k in zip(images.shape[1:3], filters.shape[:2], strict=True))
    return [
        (i, j, np.s_[:, i : i + rows, j : j + columns])
        for i in range(filters.shape[0])
        for j in range(filters.shape[1])
    ]


def _convolved(images: Any, filters: Any) -> np.ndarray:
    return sum(images[part] @ filters[i, j] for i, j, part in _shifts(images, filters))


def _convolution_back(images: Any, filters: Any, back: Any) -> tuple[Any, Any]:
    """The gradients with respect to both."""
    of_images, of_filters = np.zeros_like(images), np.zeros_like(filters)
    for i, j, part in _shifts(images, filters):
        of_images[part] += back @ filters[i, j].T
        of_filters[i, j] = np.tensordot(images[part], back, ([0, 1, 2], [0, 1, 2]))
    return of_images, of_filters


def _convolution_inputs(size: Size, rng: np.random.Generator) -> Values:
    n, side, channels, k, outputs = size
    filters = rng.normal(size=(k, k, channels, outputs)) / np.sqrt(k * k * channels)
    wanted = rng.normal(size=(n, side - k + 1, side - k + 1, outputs))
    return rng.normal(size=(n, side, side, channels)), filters, 0.1 * rng.normal(size=outputs), wanted


CONVOLUTION = field_problem(
    function=convolution,
    inputs=_convolution_inputs,
    expected=convolution_gradient,
    sources=3,
    quick=((2, 12, 3, 3, 4),),
    full=((16, 32, 8, 3, 16),),
)


def convnet(tf: Any, filters: Any, bias: Any, weights: Any, images: Any, labels: Any) -> Operand:
    """The mean cross entropy of a layer of filters, its positive part, means of 2 × 2, and a dense layer."""
    made = tf.nn.relu(tf.nn.conv2d(images, filters, 1, "VALID") + bias)
    n, side, outputs = int(images.shape[0]), int(made.shape[1]) // 2, int(bias.shape[0])
    pooled = tf.reduce_mean(tf.reduce_mean(tf.reshape(made, [n, side, 2, side, 2, outputs]), 4), 2)
    return softmax_regression(tf, weights, tf.reshape(pooled, [n, side * side * outputs]), labels)


def convnet_gradient(filters: Any, bias: Any, weights: Any, images: Any, labels: Any) -> np.ndarray:
    """Back through the layers."""
    filters, bias, weights, images, labels = _wide(filters, bias, weights, images, labels)
    before = _convolved(images, filters) + bias
    n, side, outputs = len(images), before.shape[1] // 2, len(bias)
    pooled = np.maximum(before, 0).reshape(n, side, 2, side, 2, outputs).mean((2, 4)).reshape(n, -1)
    error = (probabilities(pooled @ weights) - labels) / n
    spread = (error @ weights.T).reshape(n, side, 1, side, 1, outputs) / 4
    back = np.broadcast_to(spread, (n, side, 2, side, 2, outputs)).reshape(before.shape) * (before > 0)
    return row(_convolution_back(images, filters, back)[1], back.sum((0, 1, 2)), pooled.T @ error)


def _convnet_inputs(size: Size, rng: np.random.Generator) -> Values:
    n, side, k, outputs, classes = size
    pooled = ((side - k + 1) // 2) ** 2 * outputs
    values = (
        rng.normal(size=(k, k, 1, outputs)) / k,
        0.1 * rng.normal(size=outputs),
        rng.normal(size=(pooled, classes)) / np.sqrt(pooled),
        rng.random((n, side, side, 1)),
        one_hot(n, classes, rng),
    )
    return tuple([v.astype(np.float32) for v in values])


CONVNET = field_problem(
    function=convnet,
    inputs=_convnet_inputs,
    expected=convnet_gradient,
    sources=3,
    dtype=np.float32,
    quick=((4, 12, 3, 4, 3),),
    full=((64, 28, 5, 16, 10),),
)

# ---- steps of training of networks in the middle ---------------------------------------------------------------------


def autoencoder(tf: Any, *values: Any) -> Operand:
    """The mean square by which layers, with a narrow one among them, fail to give back the rows of `values[-1]`."""
    *weights, rows = values
    out = rows
    for matrix, bias in zip(weights[:-2:2], weights[1:-2:2], strict=True):
        out = tf.tanh(tf.matmul(out, matrix) + bias)
    error = tf.matmul(out, weights[-2]) + weights[-1] - rows
    return tf.reduce_mean(error * error)


def autoencoder_gradient(*values: Any) -> np.ndarray:
    """Back through the layers."""
    *weights, rows = _wide(*values)
    layers = [rows]
    for matrix, bias in zip(weights[:-2:2], weights[1:-2:2], strict=True):
        layers.append(np.tanh(layers[-1] @ matrix + bias))
    back = 2 / rows.size * (layers[-1] @ weights[-2] + weights[-1] - rows)
    found = [layers[-1].T @ back, back.sum(0)]
    for k in range(len(layers) - 1, 0, -1):
        back = back @ weights[2 * k].T * (1 - layers[k] ** 2)
        found = [layers[k - 1].T @ back, back.sum(0), *found]
    return row(*found)


def _autoencoder_inputs(size: Size, rng: np.random.Generator) -> Values:
    n, d, h, narrow = size
    widths: Sequence[int] = (d, h, narrow, h, d)
    weights: list[Any] = []
    for a, b in itertools.pairwise(widths):
        weights += [rng.normal(size=(a, b)) / np.sqrt(a), 0.1 * rng.normal(size=b)]
    return tuple([v.astype(np.float32) for v in (*weights, rng.random((n, d)))])


AUTOENCODER = field_problem(
    function=autoencoder,
    inputs=_autoencoder_inputs,
    expected=autoencoder_gradient,
    sources=8,
    dtype=np.float32,
    quick=((16, 24, 16, 4),),
    full=((128, 784, 128, 16),),
)

SMALLEST = 1e-5
"""The number that is added to a variance, so that none is zero."""


def layer_norm(tf: Any, gain: Any, shift: Any, first: Any, second: Any, tokens: Any, wanted: Any) -> Operand:
    """Half the squared error of a residual block: tokens, and what two layers make of them once normalized."""
    n, d = int(tokens.shape[0]), int(tokens.shape[1])
    away = tokens - tf.reshape(tf.reduce_mean(tokens, 1), [n, 1])
    deviation = tf.sqrt(tf.reduce_mean(away * away, 1) + SMALLEST)
    normal = away / tf.reshape(deviation, [n, 1]) * gain + shift
    error = tokens + tf.matmul(tf.nn.relu(tf.matmul(normal, first)), second) - wanted
    return (0.5 / d) * tf.reduce_sum(error * error)


def layer_norm_gradient(gain: Any, shift: Any, first: Any, second: Any, tokens: Any, wanted: Any) -> np.ndarray:
    """Back through the layers, to the block's input too."""
    d = tokens.shape[1]
    away = tokens - tokens.mean(1, keepdims=True)
    deviation = np.sqrt((away**2).mean(1, keepdims=True) + SMALLEST)
    unit = away / deviation
    normal = unit * gain + shift
    hidden = np.maximum(normal @ first, 0)
    error = (tokens + hidden @ second - wanted) / d
    back = error @ second.T * (hidden > 0)
    of_normal = back @ first.T
    of_unit = of_normal * gain
    inner = of_unit - of_unit.mean(1, keepdims=True) - unit * (of_unit * unit).mean(1, keepdims=True)
    of_tokens = error + inner / deviation
    return row((of_normal * unit).sum(0), of_normal.sum(0), normal.T @ back, hidden.T @ error, of_tokens)


def _layer_norm_inputs(size: Size, rng: np.random.Generator) -> Values:
    n, d, h = size
    return (
        1 + 0.1 * rng.normal(size=d),
        0.1 * rng.normal(size=d),
        rng.normal(size=(d, h)) / np.sqrt(d),
        rng.normal(size=(h, d)) / np.sqrt(h),
        rng.normal(size=(n, d)),
        rng.normal(size=(n, d)),
    )


LAYER_NORM = field_problem(
    function=layer_norm,
    inputs=_layer_norm_inputs,
    expected=layer_norm_gradient,
    sources=5,
    quick=((8, 12, 16),),
    full=((128, 64, 256),),
)
