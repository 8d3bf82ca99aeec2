"""Functions of `numpy.linalg` and `scipy.linalg` for ops: by one thread where that is enough, as products are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.runtime.blas import few_threads
from engine.runtime.lazy_scipy import scipy
from engine.runtime.tuning import TUNING


def factoring(*operands: Any, **_: Any) -> int:
    """How many multiplications, about, the largest of some matrices takes: to be factored, or as a right-hand side."""
    shapes = [np.shape(x)[-2:] for x in operands]
    first = shapes[0]
    return max([math.prod(shape) * min(first) for shape in shapes if len(shape) == 2], default=0)


class _Functions:
    """The functions of a module, under their names."""

    def __init__(self, module: Callable[[], Any], of_scipy: bool) -> None:
        self._module, self._of_scipy = module, of_scipy

    def __getattr__(self, name: str) -> Any:
        found = few_threads(factoring, TUNING.one_thread, self._of_scipy)(getattr(self._module(), name))
        vars(self)[name] = found
        return found


numpy_linalg = _Functions(lambda: np.linalg, of_scipy=False)
scipy_linalg = _Functions(lambda: scipy.linalg, of_scipy=True)
lapack = _Functions(lambda: scipy.linalg.lapack, of_scipy=True)
