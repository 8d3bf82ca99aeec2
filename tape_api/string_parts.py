"""Splitting a string into a vector of its parts; see `dualgrad.extras.ops.strings`."""

from __future__ import annotations

from typing import Any

from dualgrad.extras.ops.strings import string_split_op
from engine.core.operands import Operand
from engine.core.value import shape_of
from engine.runtime.errors import UnimplementedError
from tape_api.tensor import convert_to_tensor


def _parts(name: str, x: Any, sep: bytes, maxsplit: int, any_of: bool) -> Operand:
    strings = convert_to_tensor(x)
    if shape_of(strings) != ():
        raise UnimplementedError(
            f"{name}: parts of several strings would be a ragged tensor, which is out of scope; split one at a time, "
            f"or use tf.sparse with what Python's split gives (got shape {shape_of(strings)})"
        )
    return string_split_op(strings, sep=sep, maxsplit=maxsplit, skip_empty=False, any_of=any_of)[1]


def split(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Operand:
    """The parts of one string between `sep` (by default white space), at most ``maxsplit + 1``.

    Parameters
    ----------
    input : string scalar
    sep : str, optional
    maxsplit : int
    name : str, optional

    Raises
    ------
    UnimplementedError
        If there are several strings: their parts would be ragged.

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.strings.split("a b").numpy()
    array([b'a', b'b'], dtype=object)
    """
    return _parts("split", input, sep if isinstance(sep, bytes) else (sep or "").encode(), int(maxsplit), False)


def bytes_split(input: Any, name: str | None = None) -> Operand:
    """The bytes of one string."""
    return _parts("bytes_split", input, b"", -1, True)
