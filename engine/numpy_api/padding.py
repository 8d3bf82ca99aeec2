"""``np.pad`` in all its modes (see `engine.numpy_api.functions`).

NumPy pads one axis after the other. What it adds along an axis is, in most modes, a linear function of the elements
there, the same one for every line of them: the mode's effect on a line of indices, or on unit vectors, says which.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.operands import Operand, operands
from engine.core.value import Value
from engine.numpy_api.functions import Row, constant, length, not_taken_if, rank_of
from engine.ops import rearrange
from engine.ops import shape as shapes

_MOVING = ("edge", "wrap", "reflect", "symmetric")
"""Modes that copy elements."""
_SUMMING = ("linear_ramp", "mean", "reflect", "symmetric")
"""Modes that add weighted elements, and perhaps a constant."""
_CHOOSING: dict[str, Callable[..., Any]] = {"maximum": np.max, "minimum": np.min, "median": np.median}


@operands("array")
def _pad(array: Any, pad_width: Any, mode: str = "constant", **options: Any) -> Operand:
    rank = rank_of(array)
    if isinstance(pad_width, dict):
        around: Any = np.zeros((rank, 2), int)
        for axis, width in pad_width.items():
            around[axis] = width
        pad_width = around
    widths = np.broadcast_to(pad_width, (rank, 2)).astype(int).tolist()
    if mode == "empty":  # whatever there is
        return rearrange.pad(array, widths)
    if mode == "constant":
        return _filled(array, widths, options)
    not_taken_if(mode not in (*_MOVING, *_SUMMING, *_CHOOSING))
    least = {"reflect": 1, "symmetric": 0}.get(mode)
    if (
        least is not None
        and not options
        and all(max(pair) <= length(array, i) - least for i, pair in enumerate(widths))
    ):
        return rearrange.pad(array, widths, mode)
    # the identity: a gradient with respect to the operand itself is to be a tensor, not rows of one
    array = shapes.identity(array)
    for axis, pair in enumerate(widths):
        if pair != [0, 0]:
            own = {key: _of_axis(value, axis, rank) for key, value in options.items()}
            array = _padded(array, axis, pair, mode, own)
    return array


def _of_axis(option: Any, axis: int, rank: int) -> Any:
    if option is None or isinstance(option, str):
        return option
    not_taken_if(isinstance(option, Value))
    return tuple(np.broadcast_to(option, (rank, 2))[axis].tolist())


def _padded(x: Any, axis: int, pair: list[int], mode: Any, options: dict[str, Any]) -> Any:
    n = length(x, axis)
    if mode in _MOVING and options.get("reflect_type", "even") == "even":
        return np.take(x, np.pad(np.arange(n), pair, mode), axis=axis)
    if mode in _CHOOSING:
        return _chosen(x, axis, pair, mode, n, **options)
    # unit vectors tell the weights, zeros the constant
    lines: Any = {"pad_width": [pair], "mode": mode, **options}
    added = np.pad(np.zeros(n), **lines)
    weights = np.stack([np.pad(unit, **lines) - added for unit in np.eye(n)])
    moved = np.tensordot(np.moveaxis(x, axis, -1), constant(weights, x), 1) + constant(added, x)
    return np.moveaxis(moved, -1, axis)


def _chosen(x: Any, axis: int, pair: list[int], mode: str, n: int, stat_length: Any = None) -> Any:
    parts = [x]
    for side, width in enumerate(pair):
        reach = n if stat_length is None or stat_length[side] is None else min(n, stat_length[side])
        near = np.take(x, np.arange(n)[-reach:] if side else np.arange(reach), axis=axis)
        side_part = np.repeat(_CHOOSING[mode](near, axis=axis, keepdims=True), width, axis=axis)
        parts = [*parts, side_part] if side else [side_part, *parts]
    return np.concatenate(parts, axis=axis)


def _filled(x: Any, widths: list[list[int]], options: dict[str, Any]) -> Any:
    values = options.pop("constant_values", 0)
    not_taken_if(options)
    if not isinstance(values, Value) and np.ndim(values) == 0:
        return rearrange.pad(x, widths, "constant", values)
    rank = rank_of(x)
    fill: Any
    if isinstance(values, Value):
        fill = np.broadcast_to(values, (rank, 2))
    else:
        fill = constant(np.broadcast_to(values, (rank, 2)), x)
    for axis, pair in enumerate(widths):
        shape = [length(x, i) for i in range(rank)]
        sides = []
        for side, width in enumerate(pair):
            shape[axis] = width
            sides.append(np.broadcast_to(fill[axis, side], shape))
        x = np.concatenate([sides[0], x, sides[1]], axis=axis)
    return x


PADDING: dict[Any, Row] = {np.pad: (_pad, "tf.pad")}
"""As `engine.numpy_api.functions.RECORDED`."""
