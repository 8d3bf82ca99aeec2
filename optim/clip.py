"""Limiting gradients: elementwise, by the norm of each, by the norm of all.

Where a tensor may stand, `IndexedSlices` may, and stay such: their rows are taken as they stand, as in TensorFlow, so
that rows of equal index count one by one. So do the optimizers of Keras.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.core.aval import broadcast_shapes, compatible, format_shape
from engine.core.dtypes import FLOATING, REAL
from engine.core.kinds import check_dtype
from engine.core.operands import Operand
from engine.core.value import aval_of, dtype_of, shape_of
from engine.ops.arithmetic import add, clip, divide, maximum, minimum, multiply, reciprocal, square, subtract
from engine.ops.compare import cast_like, greater, where
from engine.ops.creation import ones_like, zeros_like
from engine.ops.explog import rsqrt, sqrt
from engine.ops.indexed_slices import IndexedSlices
from engine.ops.lift import as_operand
from engine.ops.reduce import add_n, reduce_sum
from engine.runtime.errors import DTypeError, ShapeError


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any) -> Any:
    """`t` with its elements limited to ``[clip_value_min, clip_value_max]``.

    Parameters
    ----------
    t : value or IndexedSlices, real
    clip_value_min, clip_value_max : value
        Of t's dtype, scalar or broadcastable to t's shape.

    Returns
    -------
    value
        Of t's shape and dtype. The derivative is 1 inside and at both edges, 0 outside.

    Raises
    ------
    ValueError
        If `t` is None, or the limits would enlarge its shape.

    Examples
    --------
    >>> clip_by_value(np.array([-3.0, 0.5, 3.0]), -1.0, 1.0)
    array([-1. ,  0.5,  1. ])
    """
    if isinstance(t, IndexedSlices):
        return t.with_values(clip_by_value(t.values, clip_value_min, clip_value_max))
    t = _tensor(t, "clip_by_value")
    check_dtype("clip_by_value", "t", aval_of(t), REAL)
    limits = [_beside(limit, t, "clip_by_value") for limit in (clip_value_min, clip_value_max)]
    shape = shape_of(t)
    whole = broadcast_shapes("clip_by_value", shape, *[shape_of(limit) for limit in limits])
    if not compatible(whole, shape):
        raise ShapeError(
            f"clip_by_value: the limits must broadcast to the shape of `t`, {format_shape(shape)}; together they have "
            f"shape {format_shape(whole)}"
        )
    return clip(t, *limits)


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None) -> Any:
    """`t`, scaled down where its norm exceeds `clip_norm`: ``t * clip_norm / max(norm(t), clip_norm)``.

    Parameters
    ----------
    t : value or IndexedSlices, floating
    clip_norm : value
        Usually scalar; a negative one counts as 0.
    axes : int or sequence of int, optional
        Axes over which to take the Euclidean norm, by default all.

    Returns
    -------
    value
        Of t's shape and dtype. Where all is zero it stays zero, with derivative 1.

    Raises
    ------
    ValueError
        If `t` is None, or `clip_norm` would enlarge its shape.

    Examples
    --------
    >>> clip_by_norm(np.array([3.0, 4.0]), 1.0)
    array([0.6, 0.8])
    """
    if isinstance(t, IndexedSlices):
        return t.with_values(clip_by_norm(t.values, clip_norm, axes))
    t = _tensor(t, "clip_by_norm")
    _require_floating(t, "clip_by_norm", FLOATING)
    limit = _beside(clip_norm, t, "clip_by_norm")
    limit = maximum(limit, zeros_like(limit))
    squares = reduce_sum(multiply(t, t), axis=axes, keepdims=True)
    positive = greater(squares, zeros_like(squares))
    # The square root must not see 0, whose infinite derivative would reach the gradient as NaN
    norm = where(positive, sqrt(where(positive, squares, ones_like(squares))), squares)
    scaled = multiply(t, limit)
    if shape_of(t) is not None and shape_of(scaled) is not None and len(shape_of(scaled)) != len(shape_of(t)):  # type: ignore[arg-type]
        raise ShapeError(
            f"clip_by_norm: `clip_norm` of shape {format_shape(shape_of(limit))} would enlarge `t` of shape "
            f"{format_shape(shape_of(t))}"
        )
    return divide(scaled, maximum(norm, limit))


def clip_by_average_norm(t: Any, clip_norm: Any) -> Operand:
    """`t`, scaled down if its norm divided by its number of elements exceeds `clip_norm`.

    None raises a ValueError; `transforms.clip_by_average_norm` passes it on.

    Examples
    --------
    >>> clip_by_average_norm(np.array([3.0, 4.0]), 1.0)
    array([1.2, 1.6])
    """
    t = _tensor(t, "clip_by_average_norm")
    _require_floating(t, "clip_by_average_norm", FLOATING)
    limit = _beside(clip_norm, t, "clip_by_average_norm")
    count = reduce_sum(ones_like(t))
    factor = minimum(multiply(rsqrt(reduce_sum(multiply(t, t))), count), reciprocal(limit))
    return multiply(multiply(t, limit), factor)


def global_norm(t_list: Sequence[Any]) -> Any:
    """The Euclidean norm of all elements of all tensors in a list.

    Parameters
    ----------
    t_list : sequence of (value, IndexedSlices or None)
        Floating, of one dtype. None is ignored.

    Returns
    -------
    value
        A scalar; 0 if there is no tensor.

    Examples
    --------
    >>> global_norm([np.array([3.0]), None, np.array([4.0])])
    np.float64(5.0)
    """
    tensors = [_rows(t) for t in _tensors(t_list, "global_norm") if t is not None]
    if not tensors:
        return np.float32(0)
    return sqrt(add_n([reduce_sum(square(t)) for t in tensors]))


def clip_by_global_norm(t_list: Sequence[Any], clip_norm: Any, use_norm: Any = None) -> tuple[list[Any], Any]:
    """Tensors, all scaled by the same factor so that their common norm does not exceed `clip_norm`.

    Parameters
    ----------
    t_list : sequence of (value, IndexedSlices or None)
        Floating. None passes through, and the norm ignores it.
    clip_norm : value
        A scalar.
    use_norm : value, optional
        The norm, if it is known; by default `global_norm` of the list.

    Returns
    -------
    list_clipped : list of (value, IndexedSlices or None)
        ``t * clip_norm / max(norm, clip_norm)``. If the norm is infinite or NaN, all elements are NaN.
    global_norm : value
        The norm before clipping.

    Raises
    ------
    TypeError
        If `t_list` is not a sequence of floating tensors.

    References
    ----------
    Pascanu, Mikolov and Bengio (2013), *On the difficulty of training recurrent neural networks*, section 3.2.

    Examples
    --------
    >>> clip_by_global_norm([np.array([3.0]), None, np.array([4.0])], 1.0)
    ([array([0.6]), None, array([0.8])], np.float64(5.0))
    """
    tensors = _tensors(t_list, "clip_by_global_norm")
    norm = global_norm(tensors) if use_norm is None else _tensor(use_norm, "clip_by_global_norm")
    limit = _beside(clip_norm, norm, "clip_by_global_norm")
    factor = multiply(limit, minimum(reciprocal(norm), reciprocal(limit)))
    # 0, or NaN if the norm is not finite
    factor = add(factor, subtract(norm, norm))
    return [None if t is None else _scaled(t, factor) for t in tensors], norm


# ---- the parts -------------------------------------------------------------------------------------------------------


def _tensor(x: Any, name: str) -> Operand:
    return as_operand(x, None, name)


def _beside(x: Any, t: Any, name: str) -> Operand:
    """A limit as a value of t's dtype."""
    return as_operand(x, dtype_of(t), name)


def _tensors(t_list: Any, name: str) -> list[Any]:
    if not isinstance(t_list, Sequence) or isinstance(t_list, str):
        raise TypeError(f"`t_list` should be a sequence of tensors. Received {type(t_list)}.")
    tensors = [t if t is None or isinstance(t, IndexedSlices) else _tensor(t, name) for t in t_list]
    for t in tensors:
        if t is not None:
            _require_floating(_rows(t), name, FLOATING)
    return tensors


def _rows(t: Any) -> Operand:
    """The rows of an `IndexedSlices`, and any other value itself."""
    return t.values if isinstance(t, IndexedSlices) else t


def _scaled(t: Any, factor: Any) -> Operand | IndexedSlices:
    values = multiply(_rows(t), cast_like(factor, _rows(t)))
    return t.with_values(values) if isinstance(t, IndexedSlices) else values


def _require_floating(t: Any, name: str, accepted: Any) -> None:
    if dtype_of(t) not in accepted:
        raise DTypeError(f"{name}: tensors must be floating, got {dtype_of(t).name} (cast them with tf.cast)")
