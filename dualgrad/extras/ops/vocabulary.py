"""Words as numbers and numbers as words: what layers of vocabularies are made of. None of it has a derivative."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dualgrad.extras.ops.host import host_op
from engine.core.aval import Aval
from engine.core.batching import elementwise_rule, refused
from engine.core.dtypes import DType, string
from engine.runtime.errors import DTypeError


class Table:
    """Entries by their keys, and a function for all other keys."""

    def __init__(self, entries: Mapping[Any, Any], default: Callable[[Any], Any]) -> None:
        self.entries, self.default = dict(entries), default

    def __call__(self, key: Any) -> Any:
        """The entry of a key."""
        found = self.entries.get(key)
        return self.default(key) if found is None else found


@host_op(
    "LookupTableFindV2",
    lambda x, *, table, out_type: Aval(x.shape, out_type),
    args=("input",),
    batch=elementwise_rule,
    strict=True,
)
def looked_up_op(x: Any, *, table: Table, out_type: DType) -> np.ndarray:
    """The value that each element stands for in a table."""
    out = np.empty(np.shape(x), out_type.numpy)
    if out.size:
        out.reshape(-1)[:] = [table(key) for key in np.ravel(x).tolist()]
    return out


def _rows_abstract(x: Aval, *, row: Any, width: int | None, out_type: DType) -> Aval:
    if x.dtype is not string:
        raise DTypeError(f"TextVectorization: the inputs must be of strings, got {x}")
    return Aval(None if x.shape is None else (*x.shape, width), out_type)


@host_op("TextVectorization", _rows_abstract, args=("input",), batch=refused("texts are not batched"))
def rows_of_texts_op(
    x: Any, *, row: Callable[[bytes], Sequence[Any]], width: int | None, out_type: DType
) -> np.ndarray:
    """A row of numbers for each text, with zeros behind it."""
    texts = np.ravel(x).tolist()
    found = [list(row(text))[:width] for text in texts]
    length = max(map(len, found), default=0) if width is None else width
    out = np.zeros((len(texts), length), out_type.numpy)
    for i, values in enumerate(found):
        out[i, : len(values)] = values
    return out.reshape((*np.shape(x), length))
