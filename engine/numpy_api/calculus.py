"""Integrals, differences and interpolation as NumPy has them (see `engine.numpy_api.functions`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.operands import Operand, Results, operands
from engine.numpy_api.functions import Row, constant, flat, inexact, length, not_taken_if, rank_of
from engine.ops import gather, sorting
from engine.ops import shape as shapes


def strips(y: Any, x: Any, dx: Any, axis: int) -> Any:
    """The areas between neighboring points, along the last axis."""
    y = np.moveaxis(y, axis, -1)
    if x is not None:
        x = x if rank_of(x) == 1 else np.moveaxis(x, axis, -1)
        dx = x[..., 1:] - x[..., :-1]
    return dx * (y[..., 1:] + y[..., :-1]) / 2


@operands("y", "x")
def _trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Operand:
    return np.sum(strips(y, x, dx, axis), axis=-1)


@operands("f", "*spacing")
def _gradient(f: Any, *spacing: Any, axis: Any = None, edge_order: int = 1) -> Results:
    rank, f = rank_of(f), inexact(f)
    axes = list(range(rank)) if axis is None else [int(a) for a in np.ravel(axis)]
    steps = list(spacing or (constant(1.0, f),)) * (len(axes) if len(spacing) < 2 else 1)
    not_taken_if(len(steps) != len(axes) or edge_order not in (1, 2) or any(rank_of(s) > 1 for s in steps))
    out = [_slope(f, s, a, edge_order) for s, a in zip(steps, axes, strict=True)]
    return out[0] if len(out) == 1 and (axis is None or np.ndim(axis) == 0) else tuple(out)


def _slope(f: Any, step: Any, axis: int, edge_order: int) -> Any:
    """Differences over three points where there are so many; at the ends over two, or over three if asked for."""
    f = np.moveaxis(f, axis, 0)
    if rank_of(step) == 0:
        inner, ends = (f[2:] - f[:-2]) / (2 * step), [(f[1:2] - f[:1]) / step, (f[-1:] - f[-2:-1]) / step]
        if edge_order == 2:
            ends = [
                (-1.5 * f[:1] + 2 * f[1:2] - 0.5 * f[2:3]) / step,
                (1.5 * f[-1:] - 2 * f[-2:-1] + 0.5 * f[-3:-2]) / step,
            ]
        return np.moveaxis(np.concatenate([ends[0], inner, ends[1]], axis=0), 0, axis)
    h = np.reshape(step[1:] - step[:-1], [-1] + [1] * (rank_of(f) - 1))
    a, b = h[:-1], h[1:]
    inner = -b / (a * (a + b)) * f[:-2] + (b - a) / (a * b) * f[1:-1] + a / (b * (a + b)) * f[2:]
    ends = [(f[1:2] - f[:1]) / h[:1], (f[-1:] - f[-2:-1]) / h[-1:]]
    if edge_order == 2:
        a, b, c, d = h[:1], h[1:2], h[-2:-1], h[-1:]
        first = -(2 * a + b) / (a * (a + b)) * f[:1] + (a + b) / (a * b) * f[1:2] - a / (b * (a + b)) * f[2:3]
        last = d / (c * (c + d)) * f[-3:-2] - (c + d) / (c * d) * f[-2:-1] + (2 * d + c) / (d * (c + d)) * f[-1:]
        ends = [first, last]
    return np.moveaxis(np.concatenate([ends[0], inner, ends[1]], axis=0), 0, axis)


@operands("x", "xp", "fp", "left", "right", "period")
def _interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Operand:
    if period is not None:
        period = np.abs(period)
        x, xp = x % period, xp % period
        order = sorting.argsort(xp, -1)
        xp, fp = gather.gather(xp, order), gather.gather(fp, order)
        xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp, left, right = np.concatenate([fp[-1:], fp, fp[:1]]), None, None
    last = length(xp, 0) - 1
    inside = np.clip(x, xp[0], xp[last])
    at = sorting.searchsorted(xp, flat(inside), "right") - 1
    at = shapes.reshape(np.clip(at, 0, max(last - 1, 0)), shapes.shape(x))
    below, above = np.minimum(at, last), np.minimum(at + 1, last)
    # the identity: a gradient with respect to `fp` itself is to be a tensor, not rows of one
    xp, fp = shapes.identity(xp), shapes.identity(fp)
    x0, x1, y0, y1 = (gather.gather(v, i) for v, i in ((xp, below), (xp, above), (fp, below), (fp, above)))
    # beyond the ends the line is flat
    out = y0 + (y1 - y0) * ((inside - x0) / (x1 - x0)) if last else y0 + 0 * inside
    out = out if left is None else np.where(np.less(x, xp[0]), left, out)
    return out if right is None else np.where(np.greater(x, xp[last]), right, out)


CALCULUS: dict[Any, Row] = {
    np.trapezoid: (_trapezoid, "tf.reduce_sum of slices"),
    np.gradient: (_gradient, "tf.subtract of slices"),
    np.interp: (_interp, "tf.gather and tf.searchsorted"),
}
"""As `engine.numpy_api.functions.RECORDED`."""
