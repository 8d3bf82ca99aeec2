"""Rows of `engine.custom`: the node that a custom gradient leaves behind."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.custom import custom_call
from engine.ops.shape import stop_gradient
from engine.ops.trig import cos, sin
from tests.row import Row, real


def _rule(i: int, cts: Any, operand: Any) -> Any:
    return (cts[0] if i == 0 else cts[1]) * cos(operand)


def _sines(x: Any, y: Any) -> tuple[Any, Any]:
    """Two sines, computed out of sight, and their derivative given by hand."""
    out: tuple[Any, Any] = custom_call(x, y, stop_gradient(sin(x)), stop_gradient(sin(y)), count=2, rule=_rule)
    return out


ROWS = (Row(custom_call, (real(3), real(2, 2)), call=_sines, oracle=lambda x, y: (np.sin(x), np.sin(y))),)
