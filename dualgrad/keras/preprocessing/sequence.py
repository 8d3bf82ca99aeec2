"""Sequences of unequal lengths as one array: ``tf.keras.preprocessing.sequence``."""

from __future__ import annotations

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


__all__ = [
    "pad_sequences",
]
