"""Rows of `engine.derivatives.custom`: the node that a custom gradient leaves behind."""

from typing import Any

import numpy as np

from engine.closed.function import build
from engine.core.aval import Aval
from engine.core.value import aval_of
from engine.derivatives.custom import closed_call, custom_call
from engine.ops.shape import stop_gradient
from engine.ops.trig import cos, sin
from tests.row import Row, real


def _rule(i: int, cts: Any, operand: Any) -> Any:
    return (cts[0] if i == 0 else cts[1]) * cos(operand)


def _sines(x: Any, y: Any) -> tuple[Any, Any]:
    """Two sines, computed out of sight, and their derivative given by hand."""
    out: tuple[Any, Any] = custom_call(x, y, stop_gradient(sin(x)), stop_gradient(sin(y)), count=2, rule=_rule)
    return out


def _scaled(x: Any, w: Any) -> Any:
    """A square times a factor that counts as a constant; the rule takes both, and is a closed function."""
    out = stop_gradient(x * x * w)
    avals = [Aval(a.shape, a.dtype) for a in map(aval_of, (out, x, w))]
    pull = build(avals, lambda _, symbols: [symbols[0] * symbols[1] * symbols[2] * 2.0])
    return closed_call(x, out, x, stop_gradient(w), count=1, results=1, given=(0,), pull=pull)


ROWS = (
    Row(custom_call, (real(3), real(2, 2)), call=_sines, oracle=lambda x, y: (np.sin(x), np.sin(y))),
    Row(closed_call, (real(3), real(3)), call=_scaled, wrt=(0,), oracle=lambda x, w: (x * x * w,)),
)
