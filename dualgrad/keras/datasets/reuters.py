"""News as lists of numbers of words, and their topics."""

from __future__ import annotations

from typing import Any

from dualgrad.keras.datasets import local_files
from dualgrad.keras.datasets.local_files import Split, archive, ragged, sequences, shuffled, split

_DIGEST = "d6586e694ee56d7a4e65172e12b3e987c03096cb01eab99753921ef915959916"


def load_data(
    path: str = "reuters.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    test_split: float = 0.2,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int | None = 3,
) -> Split:
    """The texts, arrays of lists of ints, and the topic of each, from 0 to 45; `imdb.load_data` has the parameters."""
    x, y = shuffled(archive(path, ["x", "y"], _DIGEST), seed)
    shift = 0 if start_char is None else 1
    if maxlen:
        kept = [len(t) + shift < maxlen for t in x]
        x, y = x[kept], y[kept]
    return split(ragged(sequences(x, start_char, oov_char, index_from, num_words, skip_top)), y, test_split)


def get_word_index(path: str = "reuters_word_index.json") -> dict[str, int]:
    """The numbers of the words, before they are shifted."""
    return local_files.word_index(path)


def get_label_names() -> tuple[Any, ...]:
    """The names of the topics."""
    return _TOPICS


_TOPICS = (
    "cocoa", "grain", "veg-oil", "earn", "acq", "wheat", "copper", "housing", "money-supply", "coffee", "sugar",
    "trade", "reserves", "ship", "cotton", "carcass", "crude", "nat-gas", "cpi", "money-fx", "interest", "gnp",
    "meal-feed", "alum", "oilseed", "gold", "tin", "strategic-metal", "livestock", "retail", "ipi", "iron-steel",
    "rubber", "heat", "jobs", "lei", "bop", "zinc", "orange", "pet-chem", "dlr", "gas", "silver", "wpi", "hog", "lead",
)  # fmt: skip
