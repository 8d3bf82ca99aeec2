"""Dropout: random elements set to zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.aval import Aval
from engine.core.dtypes import FLOATING
from engine.core.kinds import check_dtype
from engine.core.operands import Operand
from engine.core.value import aval_of, dtype_of, shape_of
from engine.ops.compare import greater_equal, where
from engine.ops.creation import zeros_like
from engine.ops.lift import as_operand
from engine.ops.random import Draw, draw_of, uniform
from engine.ops.shape import shape as shape_of_value
from engine.ops.shape import shape_operand
from engine.runtime.errors import InvalidArgumentError, ShapeError


def _noise_dims(x: Any, noise_shape: Any) -> Any:
    """The shape of the choices of a dropout: a dimension that is None is that of `x`."""
    dims = list(noise_shape) if isinstance(noise_shape, (list, tuple)) else noise_shape
    if not isinstance(dims, list) or None not in dims:
        return dims
    own = shape_of(x)
    if own is not None and len(own) != len(dims):
        raise ShapeError(f"dropout: `noise_shape` {dims} must have one entry per dimension of {aval_of(x)}")
    return [
        (shape_of_value(x)[i] if own is None or own[i] is None else own[i]) if d is None else d
        for i, d in enumerate(dims)
    ]


def dropout(x: Any, rate: Any, noise_shape: Any = None, *, draw: Draw) -> Operand:
    """Each element set to 0 with probability `rate`, the others scaled up so that the expected sum stays.

    Parameters
    ----------
    x : value, floating
    rate : float or scalar value
        In [0, 1). With a rate of 0, `x` is returned as it is.
    noise_shape : sequence of int, or integer vector, optional
        Shape of the random choices, broadcast against x; by default x's shape. A None in it is that dimension of x.
    draw : Draw
    """
    x = as_operand(x, None, "dropout")
    check_dtype("dropout", "x", Aval(None, dtype_of(x)), FLOATING)
    if isinstance(rate, (int, float)):
        if not 0 <= rate < 1:
            raise InvalidArgumentError(f"dropout: argument `rate` must be in [0, 1), got {rate}")
        if rate == 0:
            # no numbers, though TensorFlow gives the call a seed
            draw("", None)
            return x
    elif isinstance(rate, (list, tuple, np.ndarray)) and np.shape(rate) != ():
        raise ShapeError(f"dropout: argument `rate` must be a scalar, got {rate!r}")
    shape = shape_of_value(x) if noise_shape is None else shape_operand(_noise_dims(x, noise_shape))
    kept = greater_equal(uniform(shape, dtype=dtype_of(x), draw=draw), as_operand(rate, dtype_of(x), "dropout"))
    # as TensorFlow rounds it
    scaled = (
        x * (1 / (1 - rate)) if isinstance(rate, (int, float)) else x / (1 - as_operand(rate, dtype_of(x), "dropout"))
    )
    return where(kept, scaled, zeros_like(x))


def stateless_dropout(x: Any, rate: Any, seed: Any, noise_shape: Any = None) -> Operand:
    """`dropout` as a pure function of a seed, which is two integers."""
    return dropout(x, rate, noise_shape, draw=draw_of(seed))
