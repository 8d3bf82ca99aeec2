"""Tables from words or numbers to others: ``tf.lookup``. They are made once, and never change."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgrad.extras.fingerprint import fingerprints
from dualgrad.extras.ops.vocabulary import Table, looked_up_op
from engine.core.dtypes import DType, as_dtype, bool_, float32, float64, int32, int64, string
from engine.core.operands import Operand
from engine.core.value import dtype_of
from engine.runtime.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError
from engine.runtime.faces import Shown
from tape_api.ragged import RaggedTensor
from tape_api.sparse import SparseTensor
from tape_api.tensor import constant, convert_to_tensor

_KEYS = (string, int32, int64)
_VALUES = (*_KEYS, float32, float64, bool_)


class KeyValueTensorInitializer(Shown):
    """Keys and their values, as tensors.

    Parameters
    ----------
    keys, values : vectors of equal length
    key_dtype, value_dtype : DType, optional
    name : str, optional
    """

    def __init__(
        self, keys: Any, values: Any, key_dtype: Any = None, value_dtype: Any = None, name: str | None = None
    ) -> None:
        self._keys, self._values = convert_to_tensor(keys, key_dtype), convert_to_tensor(values, value_dtype)
        self.key_dtype, self.value_dtype = dtype_of(self._keys), dtype_of(self._values)

    def pairs(self) -> tuple[list[Any], list[Any]]:
        """The keys and the values."""
        keys, values = (np.asarray(x.numpy()) for x in (self._keys, self._values))
        if keys.shape != values.shape:
            raise InvalidArgumentError(f"Expected shape {list(keys.shape)} for value, got {list(values.shape)}")
        return keys.ravel().tolist(), values.ravel().tolist()


class _Lookup(Shown):
    """Base of the tables: what is found for keys of any shape, and for the values of sparse and ragged ones."""

    key_dtype: DType
    value_dtype: DType
    _buckets = 0
    name: str | None = None
    _table: Table

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys.

        Parameters
        ----------
        keys : tensor, SparseTensor or RaggedTensor
            Of the table's `key_dtype`.
        name : str, optional

        Returns
        -------
        The same of values

        Raises
        ------
        TypeError
            If the keys have another dtype.
        """
        if isinstance(keys, RaggedTensor):
            return keys.with_flat_values(self.lookup(keys.flat_values))
        if isinstance(keys, SparseTensor):
            return SparseTensor(keys.indices, self.lookup(keys.values), keys.dense_shape)
        found = convert_to_tensor(keys)
        self._check(dtype_of(found))
        return looked_up_op(found, table=self._table, out_type=self.value_dtype)

    def _check(self, dtype: DType) -> None:
        if dtype is not self.key_dtype:
            raise TypeError(f"Dtype of argument `keys` must be {self.key_dtype!r}, received: {dtype!r}")

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)

    def size(self, name: str | None = None) -> Operand:
        """How many entries there are, with buckets, as an int64 scalar."""
        return constant(len(self._table.entries) + self._buckets, int64)


class StaticHashTable(_Lookup):
    """A table that is made once.

    Parameters
    ----------
    initializer : KeyValueTensorInitializer
    default_value : scalar
        For keys that it has not.
    name : str, optional
    experimental_is_anonymous : bool
        Accepted for compatibility.

    Raises
    ------
    FailedPreconditionError
        If a key has two values.
    NotFoundError
        If there are no tables of such keys and values.

    Examples
    --------
    >>> import tape_api as tf
    >>> keys, values = tf.constant(["a", "b"]), tf.constant([10, 20])
    >>> table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1)
    >>> table.lookup(tf.constant(["b", "z"])).numpy()
    array([20, -1], dtype=int32)
    """

    def __init__(
        self, initializer: Any, default_value: Any, name: str | None = None, experimental_is_anonymous: bool = False
    ) -> None:
        self.key_dtype, self.value_dtype, self.name = initializer.key_dtype, initializer.value_dtype, name
        if self.key_dtype not in _KEYS or self.value_dtype not in _VALUES:
            raise NotFoundError(
                f"StaticHashTable: keys must be strings, int32 or int64, and values one of these, floats or bools; got "
                f"{self.key_dtype.name} and {self.value_dtype.name}"
            )
        self.default_value = convert_to_tensor(default_value, self.value_dtype)
        rest = self.default_value.numpy().item() if self.value_dtype is not string else self.default_value.numpy()
        entries: dict[Any, Any] = {}
        for key, value in zip(*initializer.pairs(), strict=True):
            if entries.setdefault(key, value) != value:
                raise FailedPreconditionError(
                    f"HashTable has different value for same key. Key {key!r} has {entries[key]!r} and trying to add "
                    f"value {value!r}"
                )
        self._table = Table(entries, rest)

    def export(self, name: str | None = None) -> tuple[Operand, Operand]:
        """All keys, and their values."""
        keys, values = list(self._table.entries), list(self._table.entries.values())
        return constant(keys, self.key_dtype), constant(values, self.value_dtype)


class StaticVocabularyTable(_Lookup):
    """Numbers of words: those that a table has, and for all others one of a number of buckets behind them.

    Parameters
    ----------
    initializer : initializer, optional
        Of the numbers, int64 and from 0 on; None if all words go into buckets.
    num_oov_buckets : int
        At least 1. A word's bucket is its fingerprint modulo that, as TensorFlow's.
    lookup_key_dtype : DType, optional
        string or int64, by default that of the initializer's keys.
    name : str, optional
    experimental_is_anonymous : bool
        Accepted for compatibility.

    Raises
    ------
    TypeError, ValueError
        If an argument does not fit.

    Examples
    --------
    >>> import tape_api as tf
    >>> words = tf.lookup.KeyValueTensorInitializer(tf.constant(["a", "b"]), tf.constant([0, 1], tf.int64))
    >>> tf.lookup.StaticVocabularyTable(words, 3).lookup(tf.constant(["b", "zz", "ww"])).numpy()
    array([1, 3, 2])
    """

    value_dtype = int64

    def __init__(
        self, initializer: Any, num_oov_buckets: int, lookup_key_dtype: Any = None, name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:  # fmt: skip
        if num_oov_buckets <= 0:
            raise ValueError("`num_oov_buckets` must be > 0; use StaticHashTable.")
        self._buckets, self.name, entries = int(num_oov_buckets), name, {}
        held = string if initializer is None else initializer.key_dtype
        if initializer is not None:
            if initializer.value_dtype is not int64:
                raise TypeError(f"Invalid `value_dtype`, expected {int64!r} but got {initializer.value_dtype!r}.")
            entries = StaticHashTable(initializer, -1)._table.entries
        self.key_dtype = held if lookup_key_dtype is None else as_dtype(lookup_key_dtype)
        if self.key_dtype not in (string, int64) or (held is string) != (self.key_dtype is string):
            raise TypeError(
                f"Invalid `key_dtype`, expected string or int64 as in the initializer, got {self.key_dtype!r}"
            )
        first, count = len(entries), self._buckets
        in_text = self.key_dtype is not string

        def buckets(keys: list[Any]) -> list[int]:
            texts = [str(key).encode() for key in keys] if in_text else keys
            return [first + bucket for bucket in (fingerprints(texts) % count).tolist()]

        self._table = Table(entries, None, buckets)


__all__ = ["KeyValueTensorInitializer", "StaticHashTable", "StaticVocabularyTable"]
