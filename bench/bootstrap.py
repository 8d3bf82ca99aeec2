"""How sure a ratio of two medians is: the percentile bootstrap (B. Efron and R. Tibshirani, 1993, chapter 13).

Rounds that follow each other are alike, since a shared machine is slow or fast for a while; drawing single rounds would
give intervals that are much too narrow. So whole blocks of rounds are drawn first, and then rounds within them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

RESAMPLES = 1000
MOST = 100  # rounds looked at per block: more do not make a median surer


class Interval(NamedTuple):
    """A ratio, and the bounds between which it probably lies."""

    ratio: float
    low: float
    high: float


def ratio_interval(
    before: Sequence[Sequence[float]], after: Sequence[Sequence[float]], level: float = 0.95, seed: int = 0
) -> Interval:
    """The median of `after` by that of `before`.

    Parameters
    ----------
    before, after : sequence of blocks
        Seconds of the rounds of each block; no block is empty.
    level : float
        The share of resamples whose ratio lies within the bounds.
    seed : int
        The same seed gives the same interval.
    """
    rng = np.random.default_rng(seed)
    ratios = _medians(after, rng) / _medians(before, rng)
    low, high = np.quantile(ratios, [(1 - level) / 2, (1 + level) / 2])
    ratio = float(np.median(np.concatenate(after)) / np.median(np.concatenate(before)))
    return Interval(ratio, min(float(low), ratio), max(float(high), ratio))


def _medians(blocks: Sequence[Sequence[float]], rng: np.random.Generator) -> np.ndarray:
    """Medians of resamples, shape (RESAMPLES,)."""
    width = min(MOST, max(len(b) for b in blocks))
    lengths = np.array([len(b) for b in blocks])
    padded = np.zeros((len(blocks), lengths.max()))
    for row, block in zip(padded, blocks, strict=True):
        row[: len(block)] = block
    drawn = rng.integers(len(blocks), size=(RESAMPLES, len(blocks), 1))
    within = (rng.random((RESAMPLES, len(blocks), width)) * lengths[drawn]).astype(int)
    return np.median(padded[drawn, within].reshape(RESAMPLES, -1), axis=1)
