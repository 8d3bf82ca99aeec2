"""Values made from shapes, counts and other values' shapes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.core.aval import Aval
from engine.core.batching import NotBatched
from engine.core.dtypes import ANY, DType
from engine.core.kinds import check_dtype, nondifferentiable
from engine.core.op import Layout, Op


def _like_abstract(x: Aval, *, dtype: DType | None = None) -> Aval:
    check_dtype("zeros_like or ones_like", "input", x, ANY)
    return Aval(x.shape, dtype or x.dtype)


def _filled(value: int, word: str) -> Op:
    def kernel(x: Any, *, dtype: DType | None = None) -> np.ndarray:
        return np.full(np.shape(x), value, dtype.numpy if dtype else x.dtype)

    return nondifferentiable(
        f"{word}_like",
        kernel,
        abstract=_like_abstract,
        accepts=ANY,
        args=("input",),
        from_avals=True,
        layout=Layout.FRESH,
        fill=lambda **_: float(value),
        doc=f"{word.capitalize()} in x's shape.",
    )


zeros_like, ones_like = _filled(0, "zeros"), _filled(1, "ones")


def _identity_kernel(x: Any, *, first: int, count: int, lead: int = 0) -> np.ndarray:
    shape = np.shape(x)[lead:]
    return np.eye(count, math.prod(shape), first, dtype=x.dtype).reshape(count, *shape)


identity_like = nondifferentiable(
    "identity_like",
    _identity_kernel,
    abstract=lambda x, *, first, count, lead=0: Aval(None if x.shape is None else (count, *x.shape[lead:]), x.dtype),
    batch=lambda op, size, flags, inputs, params: NotBatched(
        op(inputs[0], **{**params, "lead": params.get("lead", 0) + 1})
    ),
    args=("input",),
    from_avals=True,
    layout=Layout.FRESH,
    doc="Rows `first` to `first + count` of the identity matrix for the elements of x, each in x's shape.",
)
