"""Values made from shapes, counts and other values' shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.aval import Aval
from engine.dtypes import ANY, DType
from engine.kinds import nondifferentiable


def _like_abstract(x: Aval, *, dtype: DType | None = None) -> Aval:
    return Aval(x.shape, dtype or x.dtype)


def _filled(value: int) -> Any:
    def kernel(x: Any, *, dtype: DType | None = None) -> Any:
        return np.full(np.shape(x), value, dtype.numpy if dtype else x.dtype)

    return kernel


zeros_like = nondifferentiable(
    "zeros_like",
    _filled(0),
    abstract=_like_abstract,
    accepts=ANY,
    args=("input",),
    from_avals=True,
    doc="Zeros in x's shape.",
)
ones_like = nondifferentiable(
    "ones_like",
    _filled(1),
    abstract=_like_abstract,
    accepts=ANY,
    args=("input",),
    from_avals=True,
    doc="Ones in x's shape.",
)
