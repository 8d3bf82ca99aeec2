"""How the values of a program lie in memory.

Rounding depends on it: a sum goes through an array in the order of its memory, and BLAS looks at strides. So what a
pass puts in place of a value must lie as the value of the eager op would have lain. What comes from outside is in C
order (feeds, constants, variables), and most ops keep it; so it is enough to know where it was lost. Where that is not
known, a pass leaves the value alone, or asks for its copy in C order (`engine.core.structural.contiguous`).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from engine.core.aval import Aval
from engine.core.dtypes import int64
from engine.core.eager import EagerTensor
from engine.core.op import Layout, Node, Op, are_plain
from engine.core.operands import Operand
from engine.core.value import Value, aval_of
from engine.core.variable import Variable


class Order(IntEnum):
    """How an array lies in memory, as far as it is known."""

    UNKNOWN = 0
    DESCENDING = 1
    """Axes in the order of C, perhaps with gaps, backwards or repeated: elementwise ops on it give C order."""
    CONTIGUOUS = 2
    """In C order, without gaps."""


def order_of(array: Any) -> Order:
    """The order of an array that is there."""
    if array.flags.c_contiguous:
        return Order.CONTIGUOUS
    steps = [abs(step) for step, d in zip(array.strides, array.shape, strict=True) if step and d != 1]
    return Order.DESCENDING if steps == sorted(steps, reverse=True) else Order.UNKNOWN


def order_of_result(
    op: Op, operands: Sequence[Order], avals: Sequence[Aval], params: dict[str, Any], out: Aval
) -> Order:
    """The orders of an op's results, given those of its operands.

    References play no part: an op that is given one looks at its shape only.
    """
    layout = _layout(op, avals, params)
    if layout is Layout.LIKE and operands.count(Order.CONTIGUOUS) == len(operands):
        return Order.CONTIGUOUS
    # what an op makes has no gaps, and with one axis no order
    if layout is Layout.FRESH or (op.shares == () and out.shape is not None and sum(d != 1 for d in out.shape) <= 1):
        return Order.CONTIGUOUS
    counted = [(o, a) for i, (o, a) in enumerate(zip(operands, avals, strict=True)) if i not in op.references]
    least = min([o for o, _ in counted], default=Order.CONTIGUOUS)
    if layout is Layout.LIKE:
        if least >= Order.DESCENDING:
            return Order.CONTIGUOUS
        # where operands disagree, C order wins
        full = any(o is Order.CONTIGUOUS and a.shape == out.shape is not None for o, a in counted)
        return Order.CONTIGUOUS if full else Order.UNKNOWN
    if layout is Layout.VIEW:
        return operands[0]
    if layout is Layout.PART:
        return min(operands[0], Order.DESCENDING)
    kept = layout is Layout.KEPT and least is Order.CONTIGUOUS and are_plain(params)
    return Order.CONTIGUOUS if kept else Order.UNKNOWN


def orders_of(nodes: Sequence[Node], orders: dict[int, Order]) -> None:
    """Add to `orders`, by ``id(value)``, what is known of all that nodes make of eager values."""
    for node in nodes:
        operands = [orders.get(id(x), Order.UNKNOWN) for x in node.inputs]
        avals = [aval_of(x) if isinstance(x, (Value, np.ndarray)) else _SHAPE for x in node.inputs]
        for x in node.outputs:
            orders[id(x)] = order_of_result(node.op, operands, avals, node.params, aval_of(x))


_SHAPE = Aval((None,), int64)
"""Of an operand that is a shape, given as a tuple."""


def order_of_value(x: Any) -> Order:
    """The order of a value that is there, as far as it is the same for all values of equal structure."""
    if isinstance(x, Variable):
        return Order.CONTIGUOUS
    array = x._array if isinstance(x, EagerTensor) else getattr(x, "inner", x)
    is_contiguous = isinstance(array, (np.ndarray, np.generic)) and array.flags.c_contiguous
    return Order.CONTIGUOUS if is_contiguous or isinstance(x, (tuple, int)) else Order.UNKNOWN


def is_view(op: Op, avals: Sequence[Aval], params: dict[str, Any]) -> bool:
    """Whether an op that changes nothing but the shape gives its operand itself, or a view of it."""
    return _layout(op, avals, params) in (Layout.VIEW, Layout.PART, Layout.ANY)


def _layout(op: Op, avals: Sequence[Aval], params: dict[str, Any]) -> Layout:
    return op.layout if isinstance(op.layout, Layout) else op.layout(avals, params)


def same_layout(array: Any) -> Operand:
    """A copy that lies in memory as the array does, gaps and repetitions included."""
    return array.copy() if array.flags.c_contiguous else unpacked(packed(array))


def packed(array: Any) -> np.ndarray | tuple[Any, ...]:
    """A form that pickles to an array with the same strides, for `unpacked`: pickle itself closes gaps."""
    if array.flags.c_contiguous:
        return array
    low, high = np.lib.array_utils.byte_bounds(array)
    form = array.shape, array.dtype, np.zeros(high - low, np.uint8), array.ctypes.data - low, array.strides
    np.ndarray(*form)[...] = array
    return form


def unpacked(form: Any) -> Operand:
    """The array that was `packed`."""
    return np.ndarray(*form) if isinstance(form, tuple) else form
