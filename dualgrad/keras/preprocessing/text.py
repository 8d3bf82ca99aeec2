"""Words as numbers: ``tf.keras.preprocessing.text``."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from dualgrad.files import limits

_FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'


def text_to_word_sequence(input_text: str, filters: str = _FILTERS, lower: bool = True, split: str = " ") -> list[str]:
    """The words of a text.

    Parameters
    ----------
    input_text : str
    filters : str
        Characters that part words, as `split` does.
    lower : bool
        Whether capitals become small letters.
    split : str

    Examples
    --------
    >>> text_to_word_sequence("Well, well!")
    ['well', 'well']
    """
    text = input_text.lower() if lower else input_text
    text = text.translate({ord(mark): split for mark in filters})
    return [word for word in text.split(split) if word]


class Tokenizer:
    """Numbers the words of texts, the most frequent first.

    Parameters
    ----------
    num_words : int, optional
        Words whose number is not below this are left out of sequences.
    filters, lower, split
        As those of `text_to_word_sequence`.
    char_level : bool
        Whether characters are the words.
    oov_token : str, optional
        Stands for words that are not known or left out; its number is 1.
    analyzer : callable, optional
        ``analyzer(text)``: the words.

    Attributes
    ----------
    word_index, index_word : dict
        The numbers of words, and the words of numbers.
    word_counts, word_docs, index_docs : dict
        How often a word occurs, and in how many texts.
    document_count : int

    Examples
    --------
    >>> words = Tokenizer()
    >>> words.fit_on_texts(["a rose is a rose"])
    >>> words.texts_to_sequences(["is a daisy a rose"])
    [[3, 1, 1, 2]]
    """

    def __init__(
        self,
        num_words: int | None = None,
        filters: str = _FILTERS,
        lower: bool = True,
        split: str = " ",
        char_level: bool = False,
        oov_token: str | None = None,
        analyzer: Callable[[str], Iterable[str]] | None = None,
        document_count: int = 0,
    ) -> None:
        self.num_words, self.filters, self.lower, self.split = num_words, filters, lower, split
        self.char_level, self.oov_token, self.analyzer = char_level, oov_token, analyzer
        self.document_count = document_count
        self.word_counts: Counter[str] = Counter()
        self.word_docs: Counter[str] = Counter()
        self.index_docs: Counter[int] = Counter()
        self.word_index: dict[str, int] = {}
        self.index_word: dict[int, str] = {}

    def _words(self, text: Any) -> list[str]:
        if isinstance(text, (list, tuple)):
            return [word.lower() if self.lower else word for word in text]
        if self.char_level:
            return list(text.lower() if self.lower else text)
        if self.analyzer is not None:
            return list(self.analyzer(text))
        return text_to_word_sequence(text, self.filters, self.lower, self.split)

    def fit_on_texts(self, texts: Iterable[Any]) -> None:
        """Count the words of texts, and number them anew."""
        for text in texts:
            self.document_count += 1
            words = self._words(text)
            self.word_counts.update(words)
            self.word_docs.update(set(words))
        first = [] if self.oov_token is None else [self.oov_token]
        order = [*first, *(word for word, _ in self.word_counts.most_common())]
        self.word_index = {word: i for i, word in enumerate(order, 1)}
        self.index_word = {i: word for word, i in self.word_index.items()}
        self.index_docs = Counter({self.word_index[word]: count for word, count in self.word_docs.items()})

    def fit_on_sequences(self, sequences: Iterable[Iterable[int]]) -> None:
        """Count in how many sequences a number occurs."""
        for row in sequences:
            self.document_count += 1
            self.index_docs.update(set(row))

    def texts_to_sequences(self, texts: Iterable[Any]) -> list[list[int]]:
        """The numbers of the words of texts."""
        return list(self.texts_to_sequences_generator(texts))

    def texts_to_sequences_generator(self, texts: Iterable[Any]) -> Iterator[list[int]]:
        """The same, text by text."""
        other = None if self.oov_token is None else self.word_index.get(self.oov_token)
        for text in texts:
            numbers = (self.word_index.get(word) for word in self._words(text))
            known = (None if i is None or (self.num_words and i >= self.num_words) else i for i in numbers)
            yield [i for i in (other if i is None else i for i in known) if i is not None]

    def sequences_to_texts(self, sequences: Iterable[Iterable[int]]) -> list[str]:
        """The words of numbers, parted by spaces."""
        texts = []
        for row in sequences:
            words = [
                self.index_word.get(i) if not (self.num_words and i >= self.num_words) else None for i in map(int, row)
            ]
            texts.append(" ".join(w for w in (self.oov_token if w is None else w for w in words) if w is not None))
        return texts

    def texts_to_matrix(self, texts: Iterable[Any], mode: str = "binary") -> np.ndarray:
        """A row for each text with an entry for each word; see `sequences_to_matrix`."""
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode)

    def sequences_to_matrix(self, sequences: Sequence[Sequence[int]], mode: str = "binary") -> np.ndarray:
        """A row for each sequence with an entry for each number.

        Parameters
        ----------
        sequences : list of lists of int
        mode : {"binary", "count", "freq", "tfidf"}
            Whether it occurs, how often, in which part of the places, or weighted by how few texts have it.
        """
        if mode not in ("binary", "count", "freq", "tfidf"):
            raise ValueError(f"Unknown vectorization mode: {mode}")
        size = self.num_words or (len(self.word_index) + 1 if self.word_index else 0)
        if not size:
            raise ValueError("Specify a dimension (`num_words` argument), or fit on some text data first.")
        matrix = np.zeros((len(sequences), size))
        for target, row in zip(matrix, sequences, strict=True):
            for i, count in Counter(i for i in row if i < size).items():
                rarity = math.log(1 + self.document_count / (1 + self.index_docs.get(i, 0)))
                target[i] = {
                    "binary": 1.0,
                    "count": count,
                    "freq": count / len(row),
                    "tfidf": (1 + math.log(count)) * rarity,
                }[mode]
        return matrix

    def get_config(self) -> dict[str, Any]:
        """The arguments, and as JSON what was counted."""
        own = ("num_words", "filters", "lower", "split", "char_level", "oov_token", "document_count")
        counted = ("word_counts", "word_docs", "index_docs", "index_word", "word_index")
        return {name: getattr(self, name) for name in own} | {name: json.dumps(getattr(self, name)) for name in counted}

    def to_json(self, **kwargs: Any) -> str:
        """`get_config` with the class's name, as JSON."""
        return json.dumps({"class_name": "Tokenizer", "config": self.get_config()}, **kwargs)


def tokenizer_from_json(json_string: str) -> Tokenizer:
    """The tokenizer that `Tokenizer.to_json` wrote.

    Raises
    ------
    DataLossError
        If the text is no such tokenizer's.
    """
    with limits.damage("tokenizer_from_json: the text"):
        config = json.loads(json_string)["config"]
        counted = {
            name: json.loads(config.pop(name)) for name in ("word_counts", "word_docs", "index_docs", "word_index")
        }
        config.pop("index_word", None)
        made = Tokenizer(**config)
        made.word_counts, made.word_docs = Counter(counted["word_counts"]), Counter(counted["word_docs"])
        made.index_docs = Counter({int(i): count for i, count in counted["index_docs"].items()})
        made.word_index = counted["word_index"]
        made.index_word = {i: word for word, i in made.word_index.items()}
        return made


__all__ = ["Tokenizer", "text_to_word_sequence", "tokenizer_from_json"]
