"""Candidate samplers: a few classes of many, drawn to stand for all in a loss."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np

from dualgrad.extras.ops.host import host_op
from engine.core.aval import Aval
from engine.core.batching import Batches, NotBatched
from engine.core.dtypes import INTEGER, float32, float64, int64
from engine.core.kinds import check_dtype
from engine.core.op import Op
from engine.core.operands import Operand
from engine.ops.compare import cast, equal, where
from engine.ops.creation import ones_like
from engine.ops.explog import expm1, log, log1p
from engine.ops.philox import Stream, stream_of, words
from engine.ops.random import Draw
from engine.runtime import elementary
from engine.runtime.errors import InvalidArgumentError, ShapeError

_RESERVED = 512
"""By how many groups of four words TensorFlow's kernels move their stream on for each class."""


def _classes(stream: Stream, at_once: int, range_max: int, log_uniform: bool) -> Iterator[int]:
    """Classes without end, as TensorFlow's kernels draw them; `at_once` groups of words at a time."""
    # numbers below would give the lower classes one chance more: of a power of two none do
    below = np.uint64(2**64 % range_max)
    for first in count(0, at_once):
        drawn = words(stream, np.arange(first, first + at_once, dtype=np.uint64))
        if log_uniform:
            # class c with probability log((c + 2) / (c + 1)) / log(range_max + 1)
            high, low = drawn.ravel()[::2].astype(np.int64), drawn.ravel()[1::2]
            numbers = ((high & 0xFFFFF) << 32 | low) / 2**52
            classes = elementary.exp(numbers * elementary.log1p(range_max)).astype(np.int64) - 1
        else:
            whole = drawn.view(np.uint64).ravel()
            classes = whole[whole >= below]
        yield from (classes % range_max).tolist()


def _abstract(
    seed: Aval, counter: Aval, *, num_sampled: int, unique: bool, range_max: int, log_uniform: bool
) -> tuple[Aval, Aval]:
    check_dtype("candidate_sampler", "seed", seed, INTEGER)
    if num_sampled < 1 or range_max < 1 or (unique and num_sampled > range_max):
        raise InvalidArgumentError(
            f"candidate_sampler: {num_sampled} {'different ' if unique else ''}classes of {range_max} cannot be drawn"
        )
    return Aval((num_sampled,), int64), Aval((), int64)


def _batch(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Batches:
    if any(flags):
        raise ShapeError("candidate_sampler: the draw must not differ between batch elements")
    return tuple([NotBatched(out) for out in op(*inputs, **params)])


@host_op("CandidateSampler", _abstract, args=("seed", "counter"), batch=_batch, multi=True)
def candidates_op(
    seed: Any, counter: Any, *, num_sampled: int, unique: bool, range_max: int, log_uniform: bool
) -> tuple[Any, Any]:
    """Classes drawn log-uniformly, or all with one probability, and how many draws that took."""
    drawn = _classes(stream_of(seed, counter), num_sampled + 16, range_max, log_uniform)
    if not unique:
        return np.fromiter(drawn, np.int64, num_sampled), np.asarray(num_sampled, np.int64)
    seen: dict[int, None] = {}
    for tries, c in enumerate(drawn, 1):  # noqa: B007 - used below
        seen.setdefault(c)
        if len(seen) == num_sampled:
            break
    return np.fromiter(seen, np.int64, num_sampled), np.asarray(tries, np.int64)


def sampled(
    true_classes: Any, num_sampled: int, unique: bool, range_max: int, log_uniform: bool, *, draw: Draw
) -> tuple[Any, Any, Any]:
    """Classes, and how often the true and the sampled ones are expected among so many.

    Parameters
    ----------
    true_classes : integer value
    num_sampled, range_max : int
    unique : bool
        Whether all sampled classes must differ.
    log_uniform : bool
        Whether class c has a probability that falls like 1 / (c + 1), and not all have one.
    draw : Draw

    Returns
    -------
    sampled_candidates : int64 value, shape (num_sampled,)
    true_expected_count, sampled_expected_count : float32 values
    """
    options = {"num_sampled": int(num_sampled), "unique": bool(unique), "range_max": int(range_max)}
    moved = np.int64(_RESERVED * options["num_sampled"])
    found, tries = candidates_op(*draw("CandidateSampler", lambda: moved), **options, log_uniform=log_uniform)

    def expected(classes: Any) -> Operand:
        c = cast(classes, float64)
        ratio = log((c + 2) / (c + 1)) / elementary.log1p(range_max) if log_uniform else ones_like(c) / range_max
        p = cast(ratio, float32)
        # without a repetition so many are drawn as with them
        often = p * np.float32(num_sampled)
        return where(equal(tries, num_sampled), often, -expm1(cast(tries, float32) * log1p(-p))) if unique else often

    return found, expected(true_classes), expected(found)
