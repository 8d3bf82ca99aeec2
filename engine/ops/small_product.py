"""Products of stacks of small matrices: sums of products, added up in order from 0, each rounded.

BLAS has an order of its own for each shape, and takes longer to be called than for the product. In a fixed order the
product is that of the entries written out, so it may be written so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.runtime.extension import extension

MOST = 6
"""The largest dimension of a small matrix."""


def is_small(a: Sequence[int], b: Sequence[int], dtype: np.dtype) -> bool:
    """Whether the product of stacks of these shapes is one of small matrices."""
    if dtype.char not in "fdO" or max(len(a), len(b)) <= 2:
        return False
    return max(*a[-2:], *b[-2:]) <= MOST and min(*a, *b) > 0 and a[-1] == b[-2]


def _in_numpy(a: Any, b: Any) -> Any:
    out = np.multiply(a[..., :1], b[..., :1, :])
    for k in range(1, a.shape[-1]):
        out = np.add(out, np.multiply(a[..., k : k + 1], b[..., k : k + 1, :]))
    # a sum that begins with 0 is no -0.0
    return np.add(out, out.dtype.type(0), order="C")


in_c: Any = extension("engine.ops._products")[0]
product_in_c: Any = None if in_c is None else in_c.small_product
"""A gufunc, if there is one."""


def multiply_small(a: Any, b: Any) -> Any:
    """The product of stacks of small matrices, in C order; also of objects that can be multiplied and added."""
    return _in_numpy(a, b) if product_in_c is None or a.dtype.char == "O" else product_in_c(a, b, order="C")
