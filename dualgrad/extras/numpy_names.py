"""``tf.experimental.numpy``: NumPy's functions under TensorFlow's name for them, with tensors for arrays.

What is made of numbers or arrays is a tensor; what is done to tensors NumPy's own functions do (`engine.numpy_api`).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from engine.core.eager import EagerTensor
from engine.core.nest import flatten, map_structure
from engine.core.value import Value
from engine.numpy_api import manners
from engine.ops.compare import cast

ndarray = EagerTensor
newaxis, pi, e, inf, nan = np.newaxis, np.pi, np.e, np.inf, np.nan


def experimental_enable_numpy_behavior(prefer_float32: bool = False, dtype_conversion_mode: str | None = None) -> None:
    """Give tensors the methods and the indexing of NumPy's arrays: ``x.T``, ``x.sum(axis=0)``, ``x[[0, 2]]``.

    Precisions are not promoted by it: of a tensor and an array the tensor's dtype counts, as always here. But real
    values become complex beside something complex (``1j * x``).

    Parameters
    ----------
    prefer_float32, dtype_conversion_mode
        Accepted for TensorFlow's sake; only their defaults mean anything here.

    Raises
    ------
    ValueError
        If dtypes are to be promoted.

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.experimental.numpy.experimental_enable_numpy_behavior()
    >>> tf.constant([[1.0, 2.0], [3.0, 4.0]]).T[[0]].numpy()
    array([[1., 3.]], dtype=float32)
    """
    if prefer_float32 or dtype_conversion_mode not in (None, "legacy"):
        raise ValueError(
            "experimental_enable_numpy_behavior: dtypes are not promoted here; leave out `prefer_float32` and "
            "`dtype_conversion_mode`, and cast with tf.cast"
        )
    manners.enable()


def _tensor(x: Any) -> Any:
    return EagerTensor(x) if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "fciub" else x


def __getattr__(name: str) -> Any:
    value = getattr(np, name, None)
    if value is None or name.startswith("_"):
        raise AttributeError(f"module 'tf.experimental.numpy' has no attribute {name!r}, nor has NumPy")
    if not callable(value) or isinstance(value, type):
        return value

    @functools.wraps(value)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not any(isinstance(x, Value) for x in flatten((args, kwargs))):
            return map_structure(_tensor, value(*args, **kwargs))
        with manners.as_arrays():
            return map_structure(_tensor, value(*args, **kwargs))

    return call


def array(object: Any, dtype: Any = None, copy: bool = True) -> Any:
    """A tensor of numbers, arrays or tensors, as `numpy.array` makes an array of them."""
    if isinstance(object, Value):
        return np.copy(object) if dtype is None else cast(object, np.dtype(dtype))
    parts = flatten(object) if isinstance(object, (list, tuple)) else []
    if any(isinstance(part, Value) for part in parts):
        return np.stack([array(part) for part in object])
    return EagerTensor(np.array(object, dtype))


asarray = array

__all__ = ["array", "asarray", "e", "experimental_enable_numpy_behavior", "inf", "nan", "ndarray", "newaxis", "pi"]
