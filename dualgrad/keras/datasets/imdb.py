"""Reviews of films as lists of numbers of words, and whether they are favorable."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgrad.keras.datasets import local_files
from dualgrad.keras.datasets.local_files import Split, archive, ragged, sequences

_DIGEST = "69664113be75683a8fe16e3ed0ab59fda8886cb3cd7ada244f7d9544e4676b9f"


def load_data(
    path: str = "imdb.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int | None = 3,
    **kwargs: Any,
) -> Split:
    """The reviews, arrays of lists of ints, and 0 or 1 for each.

    Parameters
    ----------
    path : str
        The file below ``~/.keras/datasets``, or a whole path.
    num_words, skip_top : int, optional
        Only words with numbers from `skip_top` on and below `num_words` are kept.
    maxlen : int, optional
        Only reviews that are shorter are kept.
    seed : int
        Of the order.
    start_char, oov_char, index_from : int, optional
        The mark at the start, that for words left out, and how far numbers are shifted.
    """
    if kwargs:
        raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
    x_train, y_train, x_test, y_test = archive(path, ["x_train", "y_train", "x_test", "y_test"], _DIGEST)
    random = np.random.RandomState(seed)
    orders = []
    for x in (x_train, x_test):
        order = np.arange(len(x))
        random.shuffle(order)
        orders.append(order)
    x = [*x_train[orders[0]], *x_test[orders[1]]]
    y = [y_train[orders[0]], y_test[orders[1]]]
    if maxlen:
        shift = 0 if start_char is None else 1
        kept = [np.array([len(t) + shift < maxlen for t in part], bool) for part in (x[: len(y[0])], x[len(y[0]) :])]
        x = [t for t, keep in zip(x, np.concatenate(kept), strict=True) if keep]
        y = [labels[keep] for labels, keep in zip(y, kept, strict=True)]
        if not all(map(len, y)):
            raise ValueError(f"no review is shorter than maxlen={maxlen}; increase it")
    texts = sequences(x, start_char, oov_char, index_from, num_words, skip_top)
    at = len(y[0])
    return (ragged(texts[:at]), y[0]), (ragged(texts[at:]), y[1])


def get_word_index(path: str = "imdb_word_index.json") -> dict[str, int]:
    """The numbers of the words, before they are shifted."""
    return local_files.word_index(path)
