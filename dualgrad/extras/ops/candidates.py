"""Candidate samplers: a few classes of many, drawn to stand for all in a loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualgrad.extras.ops.host import host_op
from engine.core.aval import Aval
from engine.core.batching import Batches, NotBatched
from engine.core.dtypes import INTEGER, float32, int64
from engine.core.kinds import check_dtype
from engine.core.op import Op
from engine.core.operands import Operand
from engine.ops.compare import cast
from engine.ops.explog import expm1, log, log1p
from engine.ops.gather import gather
from engine.ops.random import Draw, generator
from engine.runtime import elementary
from engine.runtime.errors import InvalidArgumentError, ShapeError

_AT_ONCE = 1024
"""How many classes are drawn at a time until enough are different."""


def _classes(rng: np.random.Generator, count: int, range_max: int, weights: Sequence[float] | None) -> np.ndarray:
    if weights is None:
        # log-uniform: class c with probability log((c + 2) / (c + 1)) / log(range_max + 1)
        drawn = elementary.exp(rng.random(count) * elementary.log1p(range_max)) - 1
        return np.minimum(drawn.astype(np.int64), range_max - 1)
    edges = np.cumsum(np.asarray(weights, np.float64))
    return np.minimum(np.searchsorted(edges, rng.random(count) * edges[-1], "right"), range_max - 1).astype(np.int64)


def _abstract(
    seed: Aval, counter: Aval, *, num_sampled: int, unique: bool, range_max: int, weights: Sequence[float] | None
) -> tuple[Aval, Aval]:
    check_dtype("candidate_sampler", "seed", seed, INTEGER)
    possible = range_max if weights is None else sum(w > 0 for w in weights)
    if num_sampled < 1 or range_max < 1 or (unique and num_sampled > possible):
        raise InvalidArgumentError(
            f"candidate_sampler: {num_sampled} {'different ' if unique else ''}classes of {possible} cannot be drawn"
        )
    return Aval((num_sampled,), int64), Aval((), int64)


def _batch(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Batches:
    if any(flags):
        raise ShapeError("candidate_sampler: the draw must not differ between batch elements")
    return tuple([NotBatched(out) for out in op(*inputs, **params)])


@host_op("CandidateSampler", _abstract, args=("seed", "counter"), batch=_batch, multi=True)
def candidates_op(
    seed: Any, counter: Any, *, num_sampled: int, unique: bool, range_max: int, weights: Sequence[float] | None
) -> tuple[Any, Any]:
    """Classes drawn log-uniformly, or with given weights, and how many draws that took."""
    rng = generator(seed, counter)
    if not unique:
        return _classes(rng, num_sampled, range_max, weights), np.asarray(num_sampled, np.int64)
    seen: dict[int, None] = {}
    tries = 0
    while True:
        for c in _classes(rng, _AT_ONCE, range_max, weights).tolist():
            tries += 1
            seen.setdefault(c)
            if len(seen) == num_sampled:
                return np.fromiter(seen, np.int64, num_sampled), np.asarray(tries, np.int64)


def sampled(
    true_classes: Any, num_sampled: int, unique: bool, range_max: int, weights: Sequence[float] | None, *, draw: Draw
) -> tuple[Any, Any, Any]:
    """Classes, and how often the true and the sampled ones are expected among so many.

    Parameters
    ----------
    true_classes : integer value
    num_sampled, range_max : int
    unique : bool
        Whether all sampled classes must differ.
    weights : sequence of float, optional
        Of the classes; by default class c has a probability that falls like 1 / (c + 1).
    draw : Draw

    Returns
    -------
    sampled_candidates : int64 value, shape (num_sampled,)
    true_expected_count, sampled_expected_count : float32 values
    """
    chosen = None if weights is None else tuple(float(w) for w in weights)
    options = {"num_sampled": int(num_sampled), "unique": bool(unique), "range_max": int(range_max)}
    found, tries = candidates_op(*draw("candidates", lambda: np.int64(1)), **options, weights=chosen)
    probability = _log_uniform(range_max) if chosen is None else _of_weights(chosen)

    def expected(classes: Any) -> Operand:
        p = probability(classes)
        return -expm1(cast(tries, float32) * log1p(-p)) if unique else p * np.float32(num_sampled)

    return found, expected(true_classes), expected(found)


def _log_uniform(range_max: int) -> Callable[[Any], Any]:
    def probability(classes: Any) -> Operand:
        c = cast(classes, float32)
        return (log(c + 2) - log(c + 1)) / np.float32(elementary.log1p(range_max))

    return probability


def _of_weights(weights: Sequence[float]) -> Callable[[Any], Any]:
    table = np.asarray(weights, np.float64)
    return lambda classes: gather((table / table.sum()).astype(np.float32), classes)
