"""Lists that hold values as values: what `numpy.array`, `numpy.r_` and `numpy.c_` make of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.eager import EagerTensor
from engine.core.value import Value
from engine.numpy_api.functions import as_asked, at_least, constant, rank_of
from engine.numpy_api.promotion import promoted
from engine.ops import joining
from engine.ops import shape as shapes


def _first(x: Any) -> Any:
    """The first value in a list."""
    if isinstance(x, Value):
        return x
    return (
        next((value for part in x if (value := _first(part)) is not None), None)
        if isinstance(x, (list, tuple))
        else None
    )


def array(x: Any, dtype: Any = None, ndmin: int = 0) -> Any:
    """A value of numbers, arrays and values in nested lists; in the dtype of the first value if none is asked for."""
    out = _packed(x, _first(x))
    out = as_asked(out, dtype)
    return at_least([out], ndmin) if ndmin else out


def _packed(x: Any, like: Any) -> Any:
    if isinstance(x, Value):
        return shapes.identity(x)
    if not isinstance(x, (list, tuple)) or _first(x) is None:
        own = np.asarray(x)
        return EagerTensor(own) if own.dtype.kind == "c" else constant(own, like)
    return joining.stack(list(promoted([_packed(part, like) for part in x])))


def along(items: tuple[Any, ...], theirs: Any, columns: bool) -> Any:
    """The value of ``r_[items]`` or ``c_[items]``; slices of numbers mean what they mean there. Strings are refused."""
    like, parts = _first(items), []
    for item in items:
        if isinstance(item, str):
            raise TypeError(
                f"r_ and c_ take no directions such as {item!r} where there are tensors; use np.concatenate"
            )
        one = theirs[item] if isinstance(item, slice) else item
        value = _packed(one, like)
        if columns and not isinstance(item, slice):
            value = at_least([value], 1)
            value = np.expand_dims(value, -1) if rank_of(value) == 1 else value
        parts.append(at_least([value], 1))
    rank = max(rank_of(p) for p in parts)
    return joining.concat(list(promoted([at_least([p], rank) for p in parts])), -1 if columns else 0)
