"""Words as numbers and numbers as words: what layers of vocabularies are made of. None of it has a derivative."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from engine.core.aval import Aval
from engine.core.batching import elementwise_rule, refused
from engine.core.dtypes import DType, int64, string
from engine.core.kinds import nondifferentiable
from engine.runtime.errors import DTypeError


class Table:
    """Entries by their keys, and a function for all other keys."""

    def __init__(self, entries: Mapping[Any, Any], default: Callable[[Any], Any]) -> None:
        self.entries, self.default = dict(entries), default

    def __call__(self, key: Any) -> Any:
        """The entry of a key."""
        found = self.entries.get(key)
        return self.default(key) if found is None else found


def _looked_up(x: Any, *, table: Table, out_type: DType) -> np.ndarray:
    out = np.empty(np.shape(x), out_type.numpy)
    if out.size:
        out.reshape(-1)[:] = [table(key) for key in np.ravel(x).tolist()]
    return out


looked_up_op = nondifferentiable(
    "looked_up_op",
    _looked_up,
    abstract=lambda x, *, table, out_type: Aval(x.shape, out_type),
    batch=elementwise_rule,
    type="LookupTableFindV2",
    args=("input",),
    doc="What each element stands for in a table.",
)


def _combined(*columns: Any, combine: Callable[[Sequence[Any]], int]) -> np.ndarray:
    out = np.empty(np.shape(columns[0]), np.int64)
    rows = zip(*[np.ravel(x).tolist() for x in columns], strict=True)
    out.reshape(-1)[:] = [combine(row) for row in rows]
    return out


combined_op = nondifferentiable(
    "combined_op",
    _combined,
    abstract=lambda *columns, combine: Aval(columns[0].shape, int64),
    batch=elementwise_rule,
    type="SparseCross",
    args=("*columns",),
    doc="An integer for the elements that several values of one shape have at each place.",
)


def _rows(x: Any, *, row: Callable[[bytes], Sequence[Any]], width: int | None, out_type: DType) -> np.ndarray:
    texts = np.ravel(x).tolist()
    found = [list(row(text))[:width] for text in texts]
    length = max(map(len, found), default=0) if width is None else width
    out = np.zeros((len(texts), length), out_type.numpy)
    for i, values in enumerate(found):
        out[i, : len(values)] = values
    return out.reshape((*np.shape(x), length))


def _rows_abstract(x: Aval, *, row: Any, width: int | None, out_type: DType) -> Aval:
    if x.dtype is not string:
        raise DTypeError(f"TextVectorization: the inputs must be of strings, got {x}")
    return Aval(None if x.shape is None else (*x.shape, width), out_type)


rows_of_texts_op = nondifferentiable(
    "rows_of_texts_op",
    _rows,
    abstract=_rows_abstract,
    batch=refused("texts are not batched"),
    type="TextVectorization",
    args=("input",),
    strict=False,
    doc="A row of numbers for each text, with zeros behind it.",
)
