"""Layers that turn words into indices and back: `StringLookup`, `TextVectorization`."""

from __future__ import annotations

import math
import string as _ascii
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count, repeat
from typing import Any, NoReturn

import numpy as np

from dualgrad.extras.ops.vocabulary import Table, looked_up_op, rows_of_texts_op
from dualgrad.keras import functions as tf
from dualgrad.keras.layers.base import Layer
from dualgrad.keras.settings import floatx
from engine.core.dtypes import as_dtype, float32, int64, string
from engine.core.operands import Operand
from engine.core.value import Value, dtype_of, shape_of
from engine.runtime.errors import InvalidArgumentError

_MODES = ("int", "one_hot", "multi_hot", "count", "tf_idf")


def _as_bytes(x: Any) -> Any:
    return x.encode() if isinstance(x, str) else x


class _Vocabulary(Layer):
    """The base: tokens in an order, what stands for those that are not known, and for what is to be masked.

    `vocabulary` is a list, an array, or the name of a file with a token a line.
    """

    def _take(
        self,
        max_tokens: int | None,
        num_oov_indices: int,
        mask_token: Any,
        oov_token: Any,
        vocabulary: Any,
        idf_weights: Any,
        invert: bool,
        output_mode: str,
        pad_to_max_tokens: bool,
        sparse: bool,
        encoding: str,
    ) -> None:
        if sparse or encoding != "utf-8":
            raise NotImplementedError(
                f"{type(self).__name__}: `sparse` must be false and `encoding` 'utf-8', got {sparse} and {encoding!r}. "
                f"tf.sparse.from_dense makes rows sparse"
            )
        if output_mode not in _MODES:
            raise ValueError(f"{type(self).__name__}: `output_mode` must be one of {_MODES}, got {output_mode!r}")
        if invert and output_mode != "int":
            raise ValueError(f"{type(self).__name__}: `output_mode` must be 'int' when `invert` is true")
        if num_oov_indices > 1:
            raise NotImplementedError(f"{type(self).__name__}: `num_oov_indices` must be 0 or 1, got {num_oov_indices}")
        self.max_tokens, self.num_oov_indices = max_tokens, num_oov_indices
        self.mask_token, self.oov_token = _as_bytes(mask_token), _as_bytes(oov_token)
        self.invert, self.output_mode, self.pad_to_max_tokens = invert, output_mode, pad_to_max_tokens
        self._tokens: np.ndarray | None = None
        self._table: tuple[Any, Table] | None = None
        self._weights = np.zeros(0)
        if vocabulary is not None:
            self.set_vocabulary(vocabulary, idf_weights)

    @property
    def _specials(self) -> list[Any]:
        masks = [self.mask_token] if self.mask_token is not None and self.output_mode == "int" else []
        return [*masks, *[self.oov_token] * self.num_oov_indices]

    def set_vocabulary(self, vocabulary: Any, idf_weights: Any = None) -> None:
        """Set the tokens, with or without those that stand for the mask and for unknown ones.

        Raises
        ------
        ValueError
            If there are too many, or one is there twice.
        """
        if isinstance(vocabulary, str):
            with open(vocabulary, "rb") as file:
                vocabulary = [line.rstrip(b"\r\n") for line in file]
        tokens = [_as_bytes(v) for v in np.asarray(vocabulary, object).ravel().tolist()]
        weights = [] if idf_weights is None else np.asarray(idf_weights, np.float64).tolist()
        special = self._specials
        if special and tokens[: len(special)] == special:
            tokens, weights = tokens[len(special) :], weights[len(special) :]
        twice = [token for token, count in Counter([*special[-1:], *tokens]).items() if count > 1]
        if twice:
            raise ValueError(f"{type(self).__name__}: the vocabulary has {twice[:5]} more than once")
        if self.max_tokens is not None and len(tokens) + len(special) > self.max_tokens:
            raise ValueError(
                f"{type(self).__name__}: {len(tokens) + len(special)} tokens, and `max_tokens` is {self.max_tokens}"
            )
        if self.output_mode == "tf_idf" and len(weights) != len(tokens):
            raise ValueError(f"{type(self).__name__}: `idf_weights` must have a number for each token")
        self._learn(tokens, weights)

    def _learn(self, tokens: list[Any], weights: list[float]) -> None:
        # arrays: each call of a layer looks for weights in its lists
        self._tokens, self._table = np.array([*tokens, None], object)[:-1], None
        self._weights = np.array([np.mean(weights)] * len(self._specials) + weights if weights else [])

    def get_vocabulary(self, include_special_tokens: bool = True) -> list[Any]:
        """The tokens in their order."""
        known = [*(self._specials if include_special_tokens else []), *(() if self._tokens is None else self._tokens)]
        return [x.decode("utf-8", "replace") if isinstance(x, bytes) else x for x in known]

    def vocabulary_size(self) -> int:
        """How many tokens there are, with those for the mask and for unknown ones."""
        return len(self._specials) + (0 if self._tokens is None else len(self._tokens))

    vocab_size = vocabulary_size

    def adapt(self, data: Any, batch_size: int | None = None, steps: int | None = None) -> None:
        """Learn the tokens from data, the most frequent ones first; of equally frequent ones the last in order."""
        is_array = isinstance(data, (np.ndarray, list, tuple, Value))
        counts: Counter[Any] = Counter()
        documents: Counter[Any] = Counter()
        number = 0
        for i, batch in enumerate([data] if is_array else data):
            if steps is not None and i >= steps:
                break
            for document in self._documents(batch):
                number += 1
                counts.update(document)
                documents.update(set(document))
        for special in (self.mask_token, self.oov_token):
            counts.pop(special, None)
        tokens = sorted(counts, key=lambda token: (counts[token], token), reverse=True)
        if self.max_tokens:
            tokens = tokens[: self.max_tokens - len(self._specials)]
        weights = [math.log(1 + number / (1 + documents[token])) for token in tokens]
        self._learn(tokens, weights)

    def _documents(self, batch: Any) -> Iterator[list[Any]]:
        """The tokens of each row."""
        array = np.asarray(self.host.tensor(batch))
        yield from array.reshape(len(array) if array.ndim else 1, -1).tolist()

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal layer, with the tokens that it has learned."""
        learned = {} if self._tokens is None else {"vocabulary": self.get_vocabulary(False)}
        if self._tokens is not None and self.output_mode == "tf_idf":
            learned["idf_weights"] = self._weights[len(self._specials) :].tolist()
        return super().get_config() | learned

    def _known(self) -> Table:
        """The table of the tokens: made once, for it takes as long as they are many."""
        if self._tokens is None:
            raise RuntimeError(
                f"layer {self.name!r} has no vocabulary: give it one, or call `adapt` with data, before it is used"
            )
        asked = self.invert, self.mask_token, self.oov_token, self.num_oov_indices, self.output_mode
        if self._table is None or self._table[0] != asked:
            self._table = asked, self._made_table(self._tokens)
        return self._table[1]

    def _made_table(self, tokens: np.ndarray) -> Table:
        special = self._specials
        if self.invert:
            return Table(dict(enumerate([*special, *tokens])), self.oov_token)
        masked = {} if self.mask_token is None else {self.mask_token: 0}
        entries = dict(zip(tokens, count(len(special)), strict=False)) | masked
        if self.num_oov_indices:
            return Table(entries, len(special) - 1)
        return Table(entries, None, self._refuse)

    def _refuse(self, keys: list[Any]) -> NoReturn:
        raise InvalidArgumentError(
            f"layer {self.name!r}: {keys[0]!r} is not in the vocabulary, and `num_oov_indices` is 0"
        )

    @property
    def _depth(self) -> int:
        return self.max_tokens if self.pad_to_max_tokens and self.max_tokens else self.vocabulary_size()

    def _looked_up(self, inputs: Any) -> Operand:
        x = inputs if isinstance(inputs, Value) else self.host.tensor(inputs)
        if not self.invert and dtype_of(x) is not string:
            raise ValueError(f"layer {self.name!r} takes strings, got {dtype_of(x).name}")
        table, out = self._known(), string if self.invert else int64
        found: Operand = self.host.tensor(looked_up_op(x, table=table, out_type=out))
        return found

    def call(self, inputs: Any) -> Operand:
        """Indices, tokens, or rows of numbers."""
        if hasattr(inputs, "with_flat_values"):
            return inputs.with_flat_values(self.call(inputs.flat_values))
        found = self._looked_up(inputs)
        if self.output_mode == "int":
            return found
        if self.output_mode == "one_hot":
            last = (shape_of(found) or (None,))[-1]
            found = tf.squeeze(found, axis=-1) if last == 1 and len(shape_of(found) or ()) > 1 else found
            return tf.one_hot(found, self._depth, dtype=as_dtype(floatx()))
        return self._of_counts(tf.reduce_sum(tf.one_hot(found, self._depth, dtype=as_dtype(floatx())), axis=-2))

    def _of_counts(self, counts: Any) -> Operand:
        if self.output_mode == "multi_hot":
            return tf.minimum(counts, 1.0)
        if self.output_mode == "tf_idf":
            padded = [*self._weights, *[0.0] * (self._depth - len(self._weights))]
            return counts * np.array(padded, floatx())
        return counts


class StringLookup(_Vocabulary):
    """Strings as indices, or indices as strings.

    Parameters
    ----------
    max_tokens : int, optional
        How many tokens `adapt` keeps, with those for the mask and for unknown ones.
    num_oov_indices : {1, 0}
        Whether strings that are not known have an index; without one they are an error.
    mask_token, oov_token : str, optional
        What index 0 stands for, and what unknown indices become.
    vocabulary : list or str, optional
        The tokens, or the name of a file with one a line; else `adapt` finds them.
    idf_weights : array, optional
        A factor for each token, for ``output_mode="tf_idf"``.
    invert : bool
        Whether indices become strings.
    output_mode : {"int", "one_hot", "multi_hot", "count", "tf_idf"}
    pad_to_max_tokens : bool
        Whether rows have `max_tokens` columns.

    Examples
    --------
    >>> import tape_api as tf
    >>> layer = tf.keras.layers.StringLookup(vocabulary=["a", "b"])
    >>> layer([["b", "x"]]).numpy()
    array([[2, 0]])
    """

    def __init__(
        self,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        mask_token: Any = None,
        oov_token: Any = "[UNK]",
        vocabulary: Any = None,
        idf_weights: Any = None,
        invert: bool = False,
        output_mode: str = "int",
        pad_to_max_tokens: bool = False,
        sparse: bool = False,
        encoding: str = "utf-8",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._take(
            *(max_tokens, num_oov_indices, mask_token, oov_token, vocabulary, idf_weights, invert),
            *(output_mode, pad_to_max_tokens, sparse, encoding),
        )


class TextVectorization(_Vocabulary):
    """Texts as rows of the indices of their words, or of how often each word occurs.

    Parameters
    ----------
    max_tokens : int, optional
        How many words `adapt` keeps, with those for padding and for unknown ones.
    standardize : {"lower_and_strip_punctuation", "lower", "strip_punctuation", None} or callable
    split : {"whitespace", "character", None}
    ngrams : int or tuple of int, optional
        Also sequences of up to so many words, or of these numbers, are tokens.
    output_mode : {"int", "multi_hot", "count", "tf_idf"}
    output_sequence_length : int, optional
        Of the rows of indices; by default that of the longest text.
    pad_to_max_tokens, vocabulary, idf_weights
        As in `StringLookup`.

    Examples
    --------
    >>> import tape_api as tf
    >>> layer = tf.keras.layers.TextVectorization(vocabulary=["fox", "the"])
    >>> layer(["The quick fox!", "the"]).numpy()
    array([[3, 1, 2],
           [3, 0, 0]])
    """

    def __init__(
        self,
        max_tokens: int | None = None,
        standardize: Any = "lower_and_strip_punctuation",
        split: Any = "whitespace",
        ngrams: Any = None,
        output_mode: str = "int",
        output_sequence_length: int | None = None,
        pad_to_max_tokens: bool = False,
        vocabulary: Any = None,
        idf_weights: Any = None,
        sparse: bool = False,
        ragged: bool = False,
        encoding: str = "utf-8",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if split not in ("whitespace", "character", None) or ragged:
            raise NotImplementedError(
                f"TextVectorization: `split` must be 'whitespace', 'character' or None, and `ragged` false; got "
                f"{split!r} and {ragged}. Split and join the words in `standardize`"
            )
        self.standardize, self.split, self.output_sequence_length = standardize, split, output_sequence_length
        self.ngrams = tuple(range(1, ngrams + 1)) if isinstance(ngrams, int) else ngrams
        self._take(
            *(max_tokens, 1, "", "[UNK]", vocabulary, idf_weights, False),
            *(output_mode, pad_to_max_tokens, sparse, encoding),
        )

    def _words(self, texts: Iterable[bytes]) -> list[list[bytes]]:
        """The tokens of each text."""
        if self.standardize in ("lower", "lower_and_strip_punctuation"):
            texts = map(bytes.lower, texts)
        if self.standardize in ("strip_punctuation", "lower_and_strip_punctuation"):
            texts = map(bytes.translate, texts, repeat(None), repeat(_ascii.punctuation.encode()))
        if self.split is None:
            rows = [[text] for text in texts]
        elif self.split == "character":
            rows = [[c.encode() for c in text.decode("utf-8", "replace")] for text in texts]
        else:
            rows = list(map(bytes.split, texts))
        if self.ngrams is None:
            return rows
        return [[b" ".join(row[i : i + n]) for n in self.ngrams for i in range(len(row) - n + 1)] for row in rows]

    def _texts(self, inputs: Any) -> Any:
        texts = inputs if isinstance(inputs, Value) else self.host.tensor(inputs)
        texts = self.standardize(texts) if callable(self.standardize) else texts
        shape = shape_of(texts)
        if shape is not None and len(shape) > 1 and self.split is not None:
            if shape[-1] != 1:
                raise ValueError(f"layer {self.name!r}: texts must have rank 1, or a last dimension of 1, got {shape}")
            texts = tf.squeeze(texts, axis=-1)
        return texts

    def _documents(self, batch: Any) -> Iterator[list[Any]]:
        yield from self._words(np.ravel(np.asarray(self._texts(batch))).tolist())

    def call(self, inputs: Any) -> Operand:
        """The rows."""
        counts, how = self.output_mode != "int", {"words": self._words, "table": self._known()}
        width, dtype = (self._depth, float32) if counts else (self.output_sequence_length, int64)
        found = self.host.tensor(
            rows_of_texts_op(self._texts(inputs), counts=counts, width=width, out_type=dtype, **how)
        )
        return self._of_counts(tf.cast(found, floatx())) if counts else found
