"""Numbers gathered from a flat array and scattered into one, at positions that are known to be right.

The planner of Jacobians works positions out once; nothing needs to be checked when they are used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.aval import Aval
from engine.core.batching import materialized
from engine.core.kinds import general, linear
from engine.core.op import Op
from engine.core.operands import Operand
from engine.core.sparsity import ELEMENTWISE, GATHERS, collected
from engine.ops.gather import add_at
from engine.ops.shape import reshape
from engine.runtime.buffer_pool import empty

_AT_ONCE = 1 << 16
"""Numbers whose positions are made long integers at once."""


def _batch(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Operand:
    *data, positions = inputs
    data = materialized(data, flags[:-1], size)
    if not flags[-1]:
        # all work on the last axis
        return op(*data, positions, **params)
    one_after_the_other = positions + np.arange(size)[:, None] * params["size"]
    flat = [reshape(x, (-1,)) for x in (*data, one_after_the_other)]
    return reshape(op(*flat, **{**params, "size": size * params["size"]}), (size, -1))


def _scatter_kernel(values: Any, positions: Any, *, size: int, distinct: bool) -> np.ndarray:
    shape = (*values.shape[:-1], size)
    if not distinct:
        columns = np.ascontiguousarray(values.reshape(-1, values.shape[-1]).T)
        return np.ascontiguousarray(add_at(size, positions, columns).T).reshape(shape)
    out = np.zeros(shape, values.dtype)
    out[..., positions] = values
    return out


def _gathered(x: Any, positions: Any, *, size: int, distinct: bool) -> np.ndarray:
    if x.ndim > 1:
        return x[..., positions]
    if positions.ndim != 1 or positions.dtype == np.intp:
        return x[positions]
    # NumPy would make long integers of all at once
    out = empty(positions.shape, x.dtype)
    for first in range(0, len(out), _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        np.take(x, positions[part], out=out[part], mode="clip")
    return out


flat_gather_op = linear(
    "flat_gather_op",
    _gathered,
    lambda ct, x, positions, **params: flat_scatter_op(ct, positions, **params),
    lambda x, at, **_: Aval(None if x.shape is None or at.shape is None else x.shape[:-1] + at.shape, x.dtype),
    _batch,
    args=("x", "positions"),
    sparsity=GATHERS,
    shares=(),
    doc="The elements at `positions` of a vector of `size` elements; `distinct`: none is taken twice.",
)
flat_scatter_op = linear(
    "flat_scatter_op",
    _scatter_kernel,
    lambda ct, values, positions, **params: flat_gather_op(ct, positions, **params),
    lambda values, at, *, size, **_: Aval(None if values.shape is None else (*values.shape[:-1], size), values.dtype),
    _batch,
    args=("values", "positions"),
    sparsity=collected(lambda out, values, positions, **_: out[..., positions]),
    shares=(),
    doc="A vector of `size` zeros with `values` added at `positions`; `distinct`: no position occurs twice.",
)


def _add_at_kernel(x: Any, values: Any, positions: Any, *, size: int, distinct: bool) -> np.ndarray:
    out = x.copy()
    if distinct:
        out[..., positions] += values
    else:
        place: Any = positions if x.ndim == 1 else (..., positions)
        np.add.at(out, place, values)
    return out


_added = collected(lambda out, x, values, positions, **_: out[..., positions])
add_at_op = general(
    "add_at_op",
    _add_at_kernel,
    lambda x, values, positions, **_: Aval(x.shape, x.dtype),
    vjp=(
        lambda ct, out, x, values, positions, **_: ct,
        lambda ct, out, x, values, positions, **params: flat_gather_op(ct, positions, **params),
        None,
    ),
    jvp=(
        lambda t, out, x, values, positions, **_: t,
        lambda t, out, x, values, positions, **params: flat_scatter_op(t, positions, **params),
        None,
    ),
    batch=_batch,
    args=("x", "values", "positions"),
    sparsity=lambda site, i: ELEMENTWISE(site, i) if i == 0 else _added(site, i),
    shares=(),
    doc="A vector of `size` elements with `values` added at `positions`, one after the other; `distinct`: none twice.",
)
