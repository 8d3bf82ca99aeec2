"""One model, written once, in both modes: losses, gradients and trained weights are equal to the bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import graph_api
import optim
import tape_api
from tests.support import bits

Model = Callable[[Any, Any, Sequence[Any]], Any]
"""``model(tf, x, weights) -> loss``, `tf` being either module."""

STEPS = 5
BATCHES = (4, 4, 4, 3, 4)
"""Rows of x at each step: enough of one size for the tape's walk to be compiled, and another one in between."""
WIDTH = 6


@dataclass(frozen=True)
class Case:
    """A model with the shapes of its weights.

    Attributes
    ----------
    model : Model
    weights : tuple of shapes
    """

    model: Model
    weights: tuple[tuple[int, ...], ...]


CASES: dict[str, Case] = {}


def case(*weights: tuple[int, ...]) -> Callable[[Model], Model]:
    def add(model: Model) -> Model:
        CASES[model.__name__] = Case(model, weights)
        return model

    return add


@case((WIDTH, 5), (5,), (5, 2), (2,))
def mlp(tf: Any, x: Any, w: Sequence[Any]) -> Any:
    hidden = tf.nn.relu(tf.matmul(x, w[0]) + w[1])
    hidden = tf.sigmoid(hidden) * tf.tanh(hidden)
    return tf.reduce_mean((tf.matmul(hidden, w[2]) - w[3] - 0.5) ** 2)


@case((WIDTH, 3), (3,))
def softmax_regression(tf: Any, x: Any, w: Sequence[Any]) -> Any:
    logits = tf.matmul(x, w[0]) + w[1]
    labels = tf.argmax(x[:, :3], axis=1)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return tf.reduce_mean(losses) + 0.01 * tf.nn.l2_loss(w[0])


@case((1, 4), (4, 4), (4,), (4, 1))
def recurrent(tf: Any, x: Any, w: Sequence[Any]) -> Any:
    state = tf.zeros_like(tf.matmul(x[:, :1], w[0]))
    for t in range(WIDTH):
        state = tf.tanh(tf.matmul(x[:, t : t + 1], w[0]) + tf.matmul(state, w[1]) + w[2])
    return tf.reduce_sum(tf.matmul(state, w[3]))


@case((WIDTH,), (WIDTH,))
def layer_norm(tf: Any, x: Any, w: Sequence[Any]) -> Any:
    mean, variance = tf.nn.moments(x, [1], keepdims=True)
    y = (x - mean) * tf.math.rsqrt(variance + 1e-5) * w[0] + w[1]
    return tf.reduce_mean(y * y * y)


@case((WIDTH, 4), (WIDTH, 4), (WIDTH, 3))
def attention(tf: Any, x: Any, w: Sequence[Any]) -> Any:
    query, key, value = (tf.matmul(x, m) for m in w)
    weights = tf.nn.softmax(tf.matmul(query, key, transpose_b=True) / 2.0)
    return tf.reduce_sum(tf.square(tf.matmul(weights, value)))


@case((), (WIDTH,), (WIDTH,))
def polynomial(tf: Any, x: Any, w: Sequence[Any]) -> Any:
    return tf.reduce_sum(w[0] + w[1] * x + w[2] * x**2 - x**3 / 6 + 2.0 / (1 + x * x))


@case((WIDTH,))
def logsumexp(tf: Any, x: Any, w: Sequence[Any]) -> Any:
    return tf.reduce_sum(tf.reduce_logsumexp(x * w[0], axis=-1)) - tf.reduce_max(x) + tf.reduce_mean(tf.nn.softplus(x))


@case((2,), (2,))
def sliding_windows(tf: Any, x: Any, w: Sequence[Any]) -> Any:
    kernel, second = w
    for k in (kernel, second):
        x = tf.nn.relu(x[:, :-1] * k[0] + x[:, 1:] * k[1])
        x = tf.maximum(x[:, 0::2], 0.1) + 0.0 * tf.reduce_sum(x[:, ::-1], axis=1, keepdims=True)
    return tf.reduce_sum(tf.concat([x, -x], axis=1)[:, 0])


@case((WIDTH,))
def norms(tf: Any, x: Any, w: Sequence[Any]) -> Any:
    y = x * w[0]
    return tf.norm(y) + tf.reduce_sum(tf.norm(y, axis=1)) + tf.norm(y, ord=1) + tf.reduce_sum(tf.abs(w[0]))


@case((WIDTH,))
def running_sums(tf: Any, x: Any, w: Sequence[Any]) -> Any:
    y = tf.cumsum(x * w[0], axis=1)
    return tf.reduce_sum(y * tf.cumsum(x, axis=1, exclusive=True, reverse=True)) + tf.reduce_prod(w[0])


@case((7, 3), (WIDTH,))
def embedding(tf: Any, x: Any, w: Sequence[Any]) -> Any:
    found = tf.gather(w[0], tf.cast(tf.abs(x) * 2.0, tf.int32) % 7)
    return tf.reduce_sum(tf.square(found) * tf.expand_dims(x * w[1], -1)) / tf.cast(tf.size(x), x.dtype)


@case((WIDTH,), ())
def clips_and_choices(tf: Any, x: Any, w: Sequence[Any]) -> Any:
    y = tf.where(x > 0.0, tf.sqrt(tf.abs(x)), tf.clip_by_value(x, -0.5, 0.5) * w[0])
    return tf.reduce_sum(tf.minimum(y, w[1]) + tf.clip_by_norm(y, 1.0)) + tf.reduce_sum(tf.stop_gradient(y) * w[0])


@case((WIDTH,))
def masks(tf: Any, x: Any, w: Sequence[Any]) -> Any:
    kept = tf.boolean_mask(x * w[0], x > -0.5)
    return tf.reduce_sum(kept * kept) + tf.reduce_mean(tf.exp(-kept))


@case((WIDTH, WIDTH), (WIDTH,))
def contractions(tf: Any, x: Any, w: Sequence[Any]) -> Any:
    quadratic = tf.einsum("bi,ij,bj->b", x, w[0], x)
    return tf.reduce_sum(tf.linalg.matvec(x, w[1]) * quadratic) + tf.reduce_sum(tf.transpose(w[0]) @ w[0])


@case((WIDTH,))
def stacked(tf: Any, x: Any, w: Sequence[Any]) -> Any:
    rows = tf.stack([x, x * w[0], tf.sin(x)], axis=1)
    a, b, c = tf.unstack(rows, num=3, axis=1)
    left, right = tf.split(a * b - c, 2, axis=1)
    return tf.reduce_sum(tf.tile(left * right, [1, 2]) * tf.reshape(tf.concat([right, left], 1), tf.shape(x)))


# ---- running them ----------------------------------------------------------------------------------------------------


def data(case: Case, dtype: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The weights to start from, and x at each step."""
    rng = np.random.default_rng(7)
    weights = [np.asarray(rng.standard_normal(shape) * 0.5, dtype) for shape in case.weights]
    return weights, [rng.standard_normal((rows, WIDTH)).astype(dtype) for rows in BATCHES]


def in_graph(case: Case, dtype: str, shape: Any, optimizer: Any) -> list[Any]:
    """Loss, gradients and updated weights of each step."""
    tf = graph_api
    starts, batches = data(case, dtype)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(dtype, shape)
        weights = [tf.Variable(start) for start in starts]
        loss = case.model(tf, x, weights)
        gradients = tf.gradients(loss, [x, *weights])
        train = optimizer.apply_gradients(list(zip(gradients[1:], weights, strict=True)))
        session.run(tf.global_variables_initializer())
        steps = []
        for batch in batches:
            dense = [tf.convert_to_tensor(g) for g in gradients]
            loss_and_gradients = session.run([loss, *dense, train], {x: batch})[:-1]
            steps.append([*loss_and_gradients, *session.run(weights)])
        return steps


def on_tape(case: Case, dtype: str, optimizer: Any) -> list[Any]:
    """The same, recorded and differentiated step by step."""
    tf = tape_api
    starts, batches = data(case, dtype)
    weights = [tf.Variable(start) for start in starts]
    steps = []
    for batch in batches:
        x = tf.constant(batch)
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = case.model(tf, x, weights)
        gradients = tape.gradient(loss, [x, *weights])
        optimizer.apply_gradients(list(zip(gradients[1:], weights, strict=True)))
        dense = [tf.convert_to_tensor(g) for g in gradients]
        steps.append([t.numpy() for t in (loss, *dense, *weights)])
    return steps


OPTIMIZERS = {
    "sgd": lambda: optim.GradientDescentOptimizer(0.05),
    "momentum": lambda: optim.MomentumOptimizer(0.02, 0.9),
    "nesterov": lambda: optim.MomentumOptimizer(0.02, 0.9, use_nesterov=True),
    "adam": lambda: optim.AdamOptimizer(0.01),
}
SHAPES = {"partly": [None, WIDTH], "rank": [None, None], "unknown": None}


def assert_agree(name: str, dtype: str, shape: Any, optimizer: str) -> None:
    graph = in_graph(CASES[name], dtype, shape, OPTIMIZERS[optimizer]())
    tape = on_tape(CASES[name], dtype, OPTIMIZERS[optimizer]())
    for step, (g, t) in enumerate(zip(graph, tape, strict=True)):
        for i, (a, b) in enumerate(zip(g, t, strict=True)):
            assert bits(a) == bits(b), f"step {step}, value {i}: graph {a!r}, tape {b!r}"
            assert np.all(np.isfinite(a)), f"step {step}, value {i}: {a!r} says nothing"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", CASES)
def test_gradients_agree_whatever_is_known_of_shapes(name: str, shape: str, dtype: str) -> None:
    assert_agree(name, dtype, SHAPES[shape], "sgd")


@pytest.mark.parametrize("name", CASES)
def test_gradients_agree_for_known_shapes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.BATCHES", (4,) * STEPS)
    assert_agree(name, "float32", [4, WIDTH], "sgd")


@pytest.mark.parametrize("optimizer", ["momentum", "nesterov", "adam"])
@pytest.mark.parametrize("name", CASES)
def test_trained_weights_agree(name: str, optimizer: str) -> None:
    assert_agree(name, "float32", [None, WIDTH], optimizer)
