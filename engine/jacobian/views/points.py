"""Points and results of functions for SciPy: from an example, in any structure, to arrays and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core import nest
from engine.core.eager import EagerTensor
from engine.core.value import Value, check_unmasked, dtype_of, numbers_of
from engine.core.variable import Variable
from engine.ops import complexes
from engine.ops.lift import opened_array
from engine.ops.slicing import getitem
from engine.runtime.errors import InvalidArgumentError


def example_arrays(x0: Any) -> list[np.ndarray]:
    """The example point's arrays: tensors and arrays keep their floating dtype, all else becomes float64.

    Complex ones become pairs of real ones.
    """
    arrays = []
    for array in _leaves(x0):
        if array.dtype.kind not in "fiuc":
            raise InvalidArgumentError(f"for_scipy: `x0` must hold numbers; got {array.dtype.name}")
        if array.dtype.kind == "c":
            array = np.stack([array.real, array.imag], -1)
        arrays.append(array.copy() if array.dtype.kind == "f" else array.astype(np.float64))
    return arrays


def is_real(x0: Any) -> bool:
    """Whether an example point holds no complex numbers."""
    return all(array.dtype.kind != "c" for array in _leaves(x0))


class Packing:
    """From one value per part of the example point to its structure, with complex numbers made of their pairs."""

    def __init__(self, x0: Any) -> None:
        self._complex = [array.dtype.kind == "c" for array in _leaves(x0)]
        # of a structure only the form is kept
        self._form = None if _is_array(x0) else nest.map_structure(lambda _: 0, x0)

    def __call__(self, parts: list[Any]) -> Any:
        """The structure."""
        whole = [_of_pairs(part) if pairs else part for part, pairs in zip(parts, self._complex, strict=True)]
        return whole[0] if self._form is None else nest.pack_sequence_as(self._form, whole)


def _leaves(x0: Any) -> list[np.ndarray]:
    values = [x.read_value() if isinstance(x, Variable) else x for x in ([x0] if _is_array(x0) else nest.flatten(x0))]
    return [numbers_of(x._array if isinstance(x, EagerTensor) else x, "for_scipy: `x0`") for x in values]


def _of_pairs(x: Any) -> Any:
    """Complex numbers, from the real and imaginary parts that a last dimension of 2 holds."""
    if isinstance(x, Value):
        return complexes.complex(getitem(x, (..., 0)), getitem(x, (..., 1)))
    return x[..., 0] + 1j * x[..., 1].astype(x.dtype)


def _is_array(x0: Any) -> bool:
    """Whether it is one array, perhaps written as lists of numbers."""
    if not nest.is_nested(x0):
        return True
    return not isinstance(x0, dict) and all(isinstance(x, (int, float, np.number)) for x in nest.flatten(x0))


def argument_of(x: Any, dtype: np.dtype) -> EagerTensor:
    """An argument as the function gets it: arrays and floating numbers as tensors."""
    if isinstance(x, (float, np.floating)) or (isinstance(x, np.ndarray) and x.dtype.kind == "f"):
        check_unmasked(x, "for_scipy: an argument")
        return EagerTensor(np.asarray(x, dtype))
    return EagerTensor(numbers_of(x, "for_scipy: an argument")) if isinstance(x, (np.ndarray, np.generic)) else x


def result_of(y: Any, dtype: np.dtype) -> EagerTensor:
    """A result of the function as a tensor."""
    y = y.read_value() if isinstance(y, Variable) else opened_array(y)
    if y is None:
        raise InvalidArgumentError("for_scipy: the function must give tensors; got None. Does it lack a return?")
    if isinstance(y, (np.ndarray, np.generic)):
        raise InvalidArgumentError(
            f"for_scipy: the function must give tensors; got a NumPy {type(y).__name__}, which has lost how it follows "
            f"from the point. Leave out `.numpy()`; a constant is tf.constant(...)"
        )
    if not isinstance(y, Value):
        y = EagerTensor(np.asarray(y, dtype))
    if not (dtype_of(y).is_floating or dtype_of(y).is_complex):
        raise InvalidArgumentError(f"for_scipy: the function must give floating tensors; got {dtype_of(y).name}")
    return y
