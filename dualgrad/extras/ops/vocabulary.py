"""Words as numbers and numbers as words: what layers of vocabularies are made of. None of it has a derivative."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, compress, repeat
from typing import Any

import numpy as np

from dualgrad.extras.ops.host import host_op, row_places
from engine.core.aval import Aval
from engine.core.batching import elementwise_rule, refused
from engine.core.dtypes import DType, string
from engine.runtime.errors import DTypeError


class Table:
    """Entries by their keys; all other keys have a default, or what a function gives for a list of them."""

    def __init__(
        self, entries: Mapping[Any, Any], default: Any, others: Callable[[list[Any]], Iterable[Any]] | None = None
    ) -> None:
        self.entries, self.default, self.others = dict(entries), default, others

    def __call__(self, keys: Sequence[Any]) -> list[Any]:
        """The entries of keys."""
        found = list(map(self.entries.get, keys, repeat(self.default)))
        if self.others is None or self.default not in found:
            return found
        is_other = list(map(operator.is_, found, repeat(self.default)))
        given = iter(self.others(list(compress(keys, is_other))))
        return [next(given) if other else entry for entry, other in zip(found, is_other, strict=True)]


@host_op(
    "LookupTableFindV2",
    lambda x, *, table, out_type: Aval(x.shape, out_type),
    args=("input",),
    batch=elementwise_rule,
    strict=True,
)
def looked_up_op(x: Any, *, table: Table, out_type: DType) -> np.ndarray:
    """The value that each element stands for in a table."""
    return np.fromiter(table(np.ravel(x).tolist()), out_type.numpy, np.size(x)).reshape(np.shape(x))


def _rows_abstract(x: Aval, *, width: int | None, out_type: DType, **_: Any) -> Aval:
    if x.dtype is not string:
        raise DTypeError(f"TextVectorization: the inputs must be of strings, got {x}")
    return Aval(None if x.shape is None else (*x.shape, width), out_type)


@host_op("TextVectorization", _rows_abstract, args=("input",), batch=refused("texts are not batched"))
def rows_of_texts_op(
    x: Any, *, words: Callable[[list[bytes]], list[list[bytes]]], table: Table, width: int | None, counts: bool,
    out_type: DType,
) -> np.ndarray:  # fmt: skip
    """A row of the numbers of its words for each text, with zeros behind it; or of how often each number occurs."""
    found = words(np.ravel(x).tolist())
    lengths = np.fromiter(map(len, found), np.intp, len(found))
    numbers = np.array(table(list(chain.from_iterable(found))), np.int64)
    rows, places = row_places(lengths).T
    columns = numbers if counts else places
    length = lengths.max(initial=0) if width is None else width
    out, fits = np.zeros((len(found), length), out_type.numpy), columns < length
    if counts:
        np.add.at(out, (rows[fits], columns[fits]), 1)
    else:
        out[rows[fits], columns[fits]] = numbers[fits]
    return out.reshape((*np.shape(x), length))
