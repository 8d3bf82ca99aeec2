"""Random tensors of a graph.

Each random operation has a stream of its own, named by the graph's seed and its own, or the number of operations of the
graph that had none before; and a counter, which moves on each time it runs by as much as TensorFlow's kernel reserves.
The counter is a hidden variable of the session, so a new session starts the streams anew, as in TensorFlow 1. Without
any seed the stream's name is drawn from the system's entropy once per session. With the same two seeds, an operation
and a call of `tape_api.random` draw the same numbers: TensorFlow's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from dualgrad.frontend.seeds import seed_pair
from engine.core.aval import Aval
from engine.core.dtypes import float32, int64
from engine.core.operands import Operand
from engine.core.variable import assign_variable, read_variable, variable_handle
from engine.ops import dropout as dropouts
from engine.ops import random
from graph_api.convert import convert_to_tensor, finish
from graph_api.graphs.graph import Graph, get_default_graph
from graph_api.graphs.tensor import Tensor


def set_random_seed(seed: int) -> None:
    """Set the seed of the default graph, for operations made from here on."""
    get_default_graph().seed = int(seed)


def _entropy() -> np.ndarray:
    return np.frombuffer(os.urandom(16), np.uint64).astype(np.int64) & (2**62 - 1)


def _hidden(graph: Graph, aval: Aval, default: Callable[[], Any], name: str) -> Tensor:
    """The handle of a variable that no initializer needs to run for."""
    return graph.apply(variable_handle, (), {"aval": aval, "default": default}, name=name)


def op_seeds(graph: Graph, seed: int | None) -> tuple[int, int] | None:
    """The seeds of a new operation, or None if there are none."""

    def choose() -> int:
        graph.seeds_given += 1
        return graph.seeds_given - 1

    return seed_pair(graph.seed, seed, choose)


@contextmanager
def counted_apart(graph: Graph) -> Iterator[None]:
    """Count operations without a seed anew, as TensorFlow does in the graph of a data set's function."""
    before, graph.seeds_given = graph.seeds_given, 0
    try:
        yield
    finally:
        graph.seeds_given = before


def _named(graph: Graph, pair: tuple[int, int] | None) -> Operand:
    """The name of the operation's stream: fixed by the seeds, or drawn once per session."""
    if pair is None:
        handle = _hidden(graph, Aval((2,), int64), _entropy, "seed")
        return graph.apply(read_variable, (handle,), {}, name="seed/read")
    return np.array(pair, np.int64)


def drawn(function: Callable[..., Any], seed: int | None, name: str) -> Tensor:
    """Call ``function(draw=...)`` with a draw that is another one each time the graph runs."""
    graph = get_default_graph()
    waiting = ExitStack()

    def draw(kind: str, groups: Any) -> tuple[Any, Any]:
        pair = op_seeds(graph, seed)
        if groups is None:
            return np.zeros(2, np.int64), np.int64(0)
        # in a scope of its own: what the user's name stands for has TensorFlow's names
        with graph.name_scope("moved"):
            count = groups()
        with graph.control_dependencies(None):
            key = _named(graph, pair)
            handle = _hidden(graph, Aval((), int64), lambda: np.int64(0), "counter")
            counter = graph.apply(read_variable, (handle,), {}, name="counter/read")
            moved = graph.apply(assign_variable, (handle, counter + count), {}, name="counter/assign")
        # what is made from here on moves the counter
        waiting.enter_context(graph.control_dependencies([moved]))
        return key, counter

    with waiting:
        return finish(lambda: function(draw=draw), name)


def uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Uniform random numbers in [minval, maxval); a new draw on every run. See `engine.ops.random.uniform`."""
    return drawn(lambda draw: random.uniform(shape, minval, maxval, dtype, draw=draw), seed, name or "random_uniform")


def normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normally distributed random numbers; a new draw on every run. See `engine.ops.random.normal`."""
    return drawn(lambda draw: random.normal(shape, mean, stddev, dtype, draw=draw), seed, name or "random_normal")


def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normal numbers no further than two standard deviations from the mean; a new draw on every run."""
    return drawn(
        lambda draw: random.truncated_normal(shape, mean, stddev, dtype, draw=draw), seed, name or "truncated_normal"
    )


def gamma(
    shape: Any, alpha: Any, beta: Any = None, dtype: Any = float32, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Gamma-distributed numbers, ``shape`` for each pair of parameters; differentiable in them."""
    return drawn(lambda draw: random.gamma(shape, alpha, beta, dtype, draw=draw), seed, name or "random_gamma")


def poisson(lam: Any, shape: Any, dtype: Any = float32, seed: int | None = None, name: str | None = None) -> Tensor:
    """Counts of the Poisson distribution, ``shape`` for each rate."""
    return drawn(lambda draw: random.poisson(shape, lam, dtype, draw=draw), seed, name or "random_poisson")


def multinomial(
    logits: Any, num_samples: Any, seed: int | None = None, name: str | None = None, output_dtype: Any = None
) -> Tensor:
    """Classes drawn with the probabilities that each row of `logits` gives: shape (rows, num_samples)."""
    rows = convert_to_tensor(logits)
    return drawn(
        lambda draw: random.categorical(rows, num_samples, output_dtype, draw=draw), seed, name or "multinomial"
    )


def categorical(
    logits: Any, num_samples: Any, dtype: Any = None, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Classes drawn with the probabilities that each row of `logits` gives: shape (rows, num_samples)."""
    return multinomial(logits, num_samples, seed, name or "categorical", dtype)


def shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """The rows of `value` in random order, another one on every run."""
    rows = convert_to_tensor(value)
    return drawn(lambda draw: random.shuffle(rows, draw=draw), seed, name or "RandomShuffle")


def dropout(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Tensor:
    """`x` with each element kept with probability `keep_prob` (or dropped with probability `rate`) and scaled up.

    Raises
    ------
    ValueError
        Unless exactly one of `keep_prob` and `rate` is given, or the rate is not in [0, 1).
    """
    if (keep_prob is None) == (rate is None):
        raise ValueError("dropout: give either `rate` or `keep_prob`, not both")
    tensor = convert_to_tensor(x)
    dropped = rate if rate is not None else 1 - keep_prob
    kept = drawn(lambda draw: dropouts.dropout(tensor, dropped, noise_shape, draw=draw), seed, name or "dropout")
    kept.set_shape(tensor.shape)
    return kept


__all__ = [
    "categorical", "dropout", "gamma", "multinomial", "normal", "poisson", "set_random_seed",
    "shuffle", "truncated_normal", "uniform",
]  # fmt: skip
