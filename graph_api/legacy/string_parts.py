"""Splitting strings into the rows of a sparse matrix, as TensorFlow 1 does; see `dualgrad.extras.ops.strings`."""

from __future__ import annotations

from typing import Any

from dualgrad.extras.ops.strings import string_split_op
from engine.core.value import shape_of
from engine.runtime.errors import ShapeError
from graph_api.convert import convert_to_tensor
from graph_api.sparse import SparseTensor


def string_split(
    source: Any = None,
    sep: Any = None,
    skip_empty: bool = True,
    delimiter: Any = " ",
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> SparseTensor:
    """The parts of strings between any of some characters.

    Parameters
    ----------
    source : string tensor of rank 1
    sep, delimiter : str
        The characters (`sep` is the older one's newer name); each byte is a part if there are none.
    skip_empty : bool
        Whether empty parts are left out.
    result_type : {"SparseTensor"}
    name : str, optional

    Returns
    -------
    SparseTensor, shape (strings, parts of the longest)
    """
    return _split(source, delimiter if sep is None else sep, -1, skip_empty, True, result_type)


def split(
    input: Any = None,
    sep: Any = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> SparseTensor:
    """The parts of strings between `sep` (by default white space), at most ``maxsplit + 1`` of each."""
    return _split(source if input is None else input, sep or "", maxsplit, False, False, result_type)


def _split(x: Any, sep: Any, maxsplit: int, skip_empty: bool, any_of: bool, result_type: str) -> SparseTensor:
    if result_type != "SparseTensor":
        raise NotImplementedError(
            f"string_split: ragged tensors are out of scope: result_type must be 'SparseTensor', got {result_type!r}"
        )
    strings = convert_to_tensor(x)
    if len(shape_of(strings) or (0,)) != 1:
        raise ShapeError(f"string_split: the strings must be a vector, got {strings!r}")
    how = {"maxsplit": int(maxsplit), "skip_empty": bool(skip_empty), "any_of": any_of}
    separator = sep if isinstance(sep, bytes) else str(sep).encode()
    return SparseTensor(*string_split_op(strings, sep=separator, **how))
