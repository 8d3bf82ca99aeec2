"""Adding and removing axes of size one, and repeating along a new one: the ops on which batching itself rests.

They are written out in full (`Op`), because the kinds that make other ops rest on batching in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from engine.core.aval import Aval
from engine.core.op import Layout, Op
from engine.core.operands import Operand
from engine.core.sparsity import IN_ORDER, REARRANGES, collected
from engine.core.sums import add_over
from engine.core.value import shape_of
from engine.runtime.cache import cached
from engine.runtime.errors import ShapeError
from engine.runtime.structs import replace


@cached(4096)
def _expanded(shape: tuple[Any, ...], axes: tuple[int, ...]) -> tuple[Any, ...]:
    rank, rest = len(shape) + len(axes), iter(shape)
    new = set(normalize_axis_tuple(axes, rank))
    return tuple([1 if i in new else next(rest) for i in range(rank)])


def _expand_abstract(x: Aval, *, axes: tuple[int, ...]) -> Aval:
    if x.shape is None:
        return Aval(None, x.dtype)
    rank = len(x.shape) + len(axes)
    for a in axes:
        if not -rank <= a < rank:
            raise ShapeError(f"expand_dims: argument `axis` must be in [{-rank}, {rank}) for {x}, got {a}")
    return Aval(_expanded(x.shape, axes), x.dtype)


_FACTS: dict[str, Any] = {
    "module": __name__,
    "args": ("input",),
    "batch": lambda op, size, flags, inputs, params: op(
        inputs[0], axes=tuple([a if a < 0 else a + 1 for a in params["axes"]])
    ),
    "kind": "linear",
    "simplify": lambda avals, params: 0,
    "sparsity": IN_ORDER,
    "layout": Layout.VIEW,
}
expand_dims_op = Op(
    name="expand_dims_op",
    type="ExpandDims",
    kernel=lambda x, *, axes: x.reshape(_expanded(x.shape, axes)),
    abstract=_expand_abstract,
    vjp=(lambda ct, out, x, *, axes: squeeze_op(ct, axes=axes),),
    jvp=(lambda t, out, x, *, axes: expand_dims_op(t, axes=axes),),
    **_FACTS,
)


def _squeeze_abstract(x: Aval, *, axes: tuple[int, ...]) -> Aval:
    if x.shape is None:
        return Aval(None, x.dtype)
    rank = len(x.shape)
    for a in axes:
        if not -rank <= a < rank:
            raise ShapeError(f"squeeze: argument `axis` must be in [{-rank}, {rank}) for {x}, got {a}")
        if x.shape[a] not in (1, None):
            raise ShapeError(
                f"squeeze: Can not squeeze dim[{a % rank}], expected a dimension of 1, got {x.shape[a]} in {x}"
            )
    drop = {a % rank for a in axes}
    return Aval(tuple(d for i, d in enumerate(x.shape) if i not in drop), x.dtype)


squeeze_op = Op(
    name="squeeze_op",
    type="Squeeze",
    kernel=lambda x, *, axes: np.squeeze(x, axes),
    abstract=_squeeze_abstract,
    vjp=(lambda ct, out, x, *, axes: expand_dims_op(ct, axes=axes),),
    jvp=(lambda t, out, x, *, axes: squeeze_op(t, axes=axes),),
    **_FACTS,
)


def expand_dims(x: Any, axes: Sequence[int]) -> Operand:
    """`x` with axes of size one at the given positions of the result."""
    return expand_dims_op(x, axes=tuple(axes))


def squeeze(x: Any, axes: Sequence[int]) -> Operand:
    """`x` without the given axes, which must have size one."""
    return squeeze_op(x, axes=tuple(axes))


def _repeat_kernel(x: Any, *, size: int, position: int = 0) -> np.ndarray:
    shape = np.shape(x)
    shape = (*shape[:position], size, *shape[position:])
    return np.broadcast_to(np.expand_dims(x, position), shape)


def _repeat_abstract(x: Aval, *, size: int, position: int = 0) -> Aval:
    if x.shape is None:
        return Aval(None, x.dtype)
    return Aval((*x.shape[:position], size, *x.shape[position:]), x.dtype)


repeat_leading = Op(
    name="repeat_leading",
    type="RepeatLeading",
    module=__name__,
    args=("input",),
    kernel=_repeat_kernel,
    abstract=_repeat_abstract,
    vjp=(lambda ct, out, x, *, size, position=0: sum_axis(ct, position=position),),
    jvp=(lambda t, out, x, **params: repeat_leading(t, **params),),
    batch=lambda op, size, flags, inputs, params: op(
        inputs[0], size=params["size"], position=params.get("position", 0) + 1
    ),
    kind="linear",
    sparsity=REARRANGES,
    doc="Repeat along a new axis at `position`, without copying.",
    layout=Layout.PART,
    repeats=True,
)


seed_rows = replace(
    repeat_leading,
    name="seed_rows",
    type="SeedRows",
    doc="`repeat_leading`, where it makes the seeds of a batch Jacobian: programs know them by it.",
)


def _sum_axis_vjp(ct: Any, out: Any, x: Any, *, position: int) -> Operand:
    shape = shape_of(x)
    if shape is None or shape[position] is None:
        raise ShapeError("sum_axis: the batch size must be known to differentiate a batched result again")
    return repeat_leading(ct, size=shape[position], position=position)


sum_axis = Op(
    name="sum_axis",
    type="SumAxis",
    module=__name__,
    args=("input",),
    kernel=lambda x, *, position: add_over(x, position),
    abstract=lambda x, *, position: Aval(
        None if x.shape is None else x.shape[:position] + x.shape[position + 1 :], x.dtype
    ),
    vjp=(_sum_axis_vjp,),
    jvp=(lambda t, out, x, *, position: sum_axis(t, position=position),),
    batch=lambda op, size, flags, inputs, params: op(inputs[0], position=params["position"] + 1),
    kind="linear",
    sparsity=collected(lambda out, x, *, position: np.broadcast_to(np.expand_dims(out, position), x.shape)),
    doc="Sum over one axis: the transpose of `repeat_leading`.",
)
