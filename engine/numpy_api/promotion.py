"""Real values beside complex ones: complex where values have the manners of NumPy's arrays (``np.exp(1j * x)``).

An op wants one dtype. Elsewhere a program says itself which operand is to be cast, as TensorFlow has it. Real numbers
are complex ones without a loss, so NumPy's users get them cast; precisions are not mixed but in this case.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from engine.core.dtypes import as_dtype
from engine.core.value import Value, dtype_of
from engine.numpy_api import manners
from engine.ops.compare import cast


def complex_dtype(items: Iterable[Any]) -> Any:
    """The complex dtype in which real values and something complex meet; None if that is not the case here."""
    if not manners.enabled():
        return None
    parts = list(items)
    own = [dtype_of(x) for x in parts if isinstance(x, Value)]
    if all(dtype.is_complex for dtype in own) or not any(_is_complex(x) for x in parts):
        return None
    return as_dtype(np.result_type(np.complex64, *[dtype.numpy for dtype in own]))


def _is_complex(x: Any) -> bool:
    if isinstance(x, Value):
        return dtype_of(x).is_complex
    if isinstance(x, (list, tuple)):
        return any(map(_is_complex, x))
    return isinstance(x, complex) or (isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind == "c")


def promoted(items: Sequence[Any]) -> Sequence[Any]:
    """The items, values among them in the complex dtype if there is one for them."""
    dtype = complex_dtype(items)
    return items if dtype is None else [cast(x, dtype) if isinstance(x, Value) else x for x in items]
