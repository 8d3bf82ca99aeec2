"""How sure a ratio of two times is: the percentile bootstrap (B. Efron and R. Tibshirani, 1993, chapter 13).

What is compared is the fast end of the rounds, since what disturbs a round makes it slower. On a busy machine medians
of the same code differ by a factor of two from run to run, the fastest fiftieth of the rounds by some percent.

Rounds that follow each other are alike, since a shared machine is slow or fast for a while; drawing single rounds would
give intervals that are much too narrow. So whole passes are drawn first, and then rounds within them. As passes are
few, how much they disagree is allowed for besides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

FAST = 0.02
"""Which share of the rounds is the fast end."""
RESAMPLES = 1000
MOST = 100  # rounds looked at per block: more do not make it surer


class Interval(NamedTuple):
    """A ratio, and the bounds between which it probably lies."""

    ratio: float
    low: float
    high: float


def ratio_interval(
    before: Sequence[Sequence[float]], after: Sequence[Sequence[float]], level: float = 0.95, seed: int = 0
) -> Interval:
    """The fast end of `after` by that of `before`, each that of its fastest block.

    Parameters
    ----------
    before, after : sequence of blocks
        Seconds of the rounds of each block; no block is empty.
    level : float
        The share of resamples whose ratio lies within the bounds.
    seed : int
        The same seed gives the same interval.

    Returns
    -------
    Interval
        It holds at least the ratio times and by the disagreement of the blocks: how much slower the second fastest of
        each side is (one that was disturbed says nothing of the others).
    """
    rng = np.random.default_rng(seed)
    ratio = fast_end(after) / fast_end(before)
    ratios = _resampled(after, rng) / _resampled(before, rng)
    low, high = np.quantile(ratios, [(1 - level) / 2, (1 + level) / 2])
    apart = math.exp(math.hypot(_disagreement(before), _disagreement(after)))
    return Interval(ratio, min(float(low), ratio / apart), max(float(high), ratio * apart))


def fast_end(blocks: Sequence[Sequence[float]]) -> float:
    """The time that a fiftieth of the rounds of the fastest block stays below."""
    return min(_fast(block) for block in blocks)


def _fast(block: Sequence[float]) -> float:
    return float(np.quantile(block, FAST))


def _disagreement(blocks: Sequence[Sequence[float]]) -> float:
    """The logarithm of the second fastest block's fast end by that of the fastest."""
    first, *others = sorted(map(_fast, blocks))
    return math.log(others[0] / first) if others else 0.0


def _resampled(blocks: Sequence[Sequence[float]], rng: np.random.Generator) -> np.ndarray:
    """Fast ends of resamples, shape (RESAMPLES,)."""
    width = min(MOST, max(len(b) for b in blocks))
    lengths = np.array([len(b) for b in blocks])
    padded = np.zeros((len(blocks), lengths.max()))
    for row, block in zip(padded, blocks, strict=True):
        row[: len(block)] = block
    drawn = rng.integers(len(blocks), size=(RESAMPLES, len(blocks), 1))
    within = (rng.random((RESAMPLES, len(blocks), width)) * lengths[drawn]).astype(int)
    return np.quantile(padded[drawn, within], FAST, axis=2).min(axis=1)
