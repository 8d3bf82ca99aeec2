"""Sequences of unequal lengths as one array: ``tf.keras.preprocessing.sequence``."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np


def pad_sequences(
    sequences: Sequence[Any],
    maxlen: int | None = None,
    dtype: Any = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: Any = 0.0,
) -> np.ndarray:
    """Sequences as the rows of an array, cut or filled up to one length.

    Parameters
    ----------
    sequences : list of sequences
    maxlen : int, optional
        The length, by default that of the longest.
    dtype : dtype
    padding, truncating : {"pre", "post"}
        At which end they are filled up, and cut.
    value : number or str
        With what.

    Raises
    ------
    ValueError
        If `sequences` is no list of sequences, or an argument is none of its values.

    Examples
    --------
    >>> pad_sequences([[1, 2, 3], [4]], maxlen=2, padding="post")
    array([[2, 3],
           [4, 0]], dtype=int32)
    """
    for name, side in (("padding", padding), ("truncating", truncating)):
        if side not in ("pre", "post"):
            raise ValueError(f"pad_sequences: `{name}` must be 'pre' or 'post', got {side!r}")
    if not all(hasattr(row, "__len__") for row in sequences):
        raise ValueError("`sequences` must be a list of iterables")
    length = max(map(len, sequences), default=0) if maxlen is None else maxlen
    inner = next((np.asarray(row).shape[1:] for row in sequences if len(row)), ())
    rows = np.full((len(sequences), length, *inner), value, dtype=dtype)
    for target, row in zip(rows, sequences, strict=True):
        kept = np.asarray(row, dtype=dtype)[-length:] if truncating == "pre" else np.asarray(row, dtype=dtype)[:length]
        if not len(row) or not length:
            continue
        if kept.shape[1:] != inner:
            raise ValueError(f"pad_sequences: elements have shapes {inner} and {kept.shape[1:]}")
        if padding == "post":
            target[: len(kept)] = kept
        else:
            target[-len(kept) :] = kept
    return rows


def make_sampling_table(size: int, sampling_factor: float = 1e-5) -> np.ndarray:
    """How likely each word of a vocabulary is to be taken, so that frequent ones are taken less often.

    Word i is assumed to be the i-th most frequent one (0 is as frequent as 1) and its frequency to follow Zipf's law.

    Parameters
    ----------
    size : int
        How many words there are.
    sampling_factor : float
        The smaller, the fewer of the frequent words are taken.

    Examples
    --------
    >>> make_sampling_table(3).round(5)
    array([0.00315, 0.00315, 0.00548])
    """
    rank = np.maximum(np.arange(size), 1)
    # one over the frequency, by the expansion of the harmonic numbers
    rarity = sampling_factor * (rank * (np.log(rank) + 0.577) + 0.5 - 1.0 / (12.0 * rank))
    return np.minimum(1.0, rarity / np.sqrt(rarity))


def skipgrams(
    sequence: Sequence[int],
    vocabulary_size: int,
    window_size: int = 4,
    negative_samples: float = 1.0,
    shuffle: bool = True,
    categorical: bool = False,
    sampling_table: Any = None,
    seed: int | None = None,
) -> tuple[list[list[int]], list[Any]]:
    """Pairs of words that stand near each other, and pairs of words drawn at random.

    Parameters
    ----------
    sequence : list of int
        0 is no word.
    vocabulary_size : int
        Words drawn are from 1 to ``vocabulary_size - 1``.
    window_size : int
        How far apart two words may be.
    negative_samples : float
        How many random pairs there are for each pair.
    shuffle : bool
    categorical : bool
        Whether labels are ``[0, 1]`` and ``[1, 0]`` rather than 1 and 0.
    sampling_table : array, optional
        How likely each word is to be taken (`make_sampling_table`).
    seed : int, optional
        Of the order, in Python's `random`.

    Returns
    -------
    pairs, labels : list

    Examples
    --------
    >>> skipgrams([3, 4, 0, 5], 6, window_size=2, negative_samples=0, shuffle=False)
    ([[3, 4], [4, 3], [4, 5], [5, 4]], [1, 1, 1, 1])
    """
    pairs: list[list[int]] = []
    for i, word in enumerate(sequence):
        if not word or (sampling_table is not None and sampling_table[word] < random.random()):
            continue
        near = range(max(0, i - window_size), min(len(sequence), i + window_size + 1))
        pairs.extend([word, sequence[j]] for j in near if j != i and sequence[j])
    right, wrong = ([0, 1], [1, 0]) if categorical else (1, 0)
    labels: list[Any] = [right] * len(pairs)
    if negative_samples > 0:
        count = int(len(labels) * negative_samples)
        words = [pair[0] for pair in pairs]
        random.shuffle(words)
        pairs += [[words[i % len(words)], random.randint(1, vocabulary_size - 1)] for i in range(count)]
        labels += [wrong] * count
    if shuffle:
        seed = random.randint(0, 10**7) if seed is None else seed
        for part in (pairs, labels):
            random.seed(seed)
            random.shuffle(part)
    return pairs, labels


__all__ = ["make_sampling_table", "pad_sequences", "skipgrams"]
