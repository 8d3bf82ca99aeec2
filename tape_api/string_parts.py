"""Splitting strings into their parts; see `dualgrad.extras.ops.strings`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dualgrad.extras.ops.strings import string_split_op
from engine.core.detach import looked_at
from engine.core.value import shape_of
from tape_api.ragged import RaggedTensor, rows_of
from tape_api.tensor import convert_to_tensor


def _parts(x: Any, sep: bytes, maxsplit: int, any_of: bool) -> Any:
    if isinstance(x, RaggedTensor):
        return x.with_flat_values(_parts(x.flat_values, sep, maxsplit, any_of))
    strings = convert_to_tensor(x)
    places, values, _ = string_split_op(strings, sep=sep, maxsplit=maxsplit, skip_empty=False, any_of=any_of)
    shape = shape_of(strings) or ()
    if shape:
        looked_at(strings)
        values = rows_of(values, np.bincount(places.numpy()[:, 0], minlength=math.prod(shape)), shape)
    return values


def split(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """The parts of strings between `sep` (by default white space), at most ``maxsplit + 1`` of each.

    Parameters
    ----------
    input : string tensor, shape (...), or RaggedTensor
    sep : str, optional
    maxsplit : int
    name : str, optional

    Returns
    -------
    string tensor, shape (parts,), or RaggedTensor of shape (..., parts)

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.strings.split("a b").numpy()
    array([b'a', b'b'], dtype=object)
    >>> tf.strings.split(["a b", "c"])
    <tf.RaggedTensor [[b'a', b'b'], [b'c']]>
    """
    return _parts(input, sep if isinstance(sep, bytes) else (sep or "").encode(), int(maxsplit), False)


def bytes_split(input: Any, name: str | None = None) -> Any:
    """The bytes of strings; see `split`."""
    return _parts(input, b"", -1, True)
