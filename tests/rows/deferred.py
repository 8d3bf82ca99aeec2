"""Rows of `engine.control.deferred`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.closed.function import ClosedFunction, build
from engine.control.deferred import Recipe, deferred_op
from engine.core.aval import Aval
from engine.ops.shape import reshape
from engine.ops.trig import sin
from tests.row import Row, real


class Sized(Recipe):
    """A vector and a matrix of functions that need to know their sizes."""

    def avals(self, given: Sequence[Aval]) -> tuple[Aval, ...]:
        x, y = given
        return Aval(None if x.shape is None else (None,), x.dtype), Aval(y.shape, y.dtype)

    def made(self, given: Sequence[Aval]) -> ClosedFunction:
        def function(_: Any, symbols: Sequence[Any]) -> Sequence[Any]:
            x, y = symbols
            size = int(np.prod(x.aval.shape))
            return [reshape(sin(x) * x, (size,)), y * y * size]

        return build([Aval(a.shape, a.dtype) for a in given], function)


def by_numpy(x: Any, y: Any, **_: Any) -> Any:
    return (np.sin(x) * x).reshape(-1), y * y * x.size


ROWS = (
    Row(deferred_op, (real(2, 3), real(3)), {"recipe": Sized()}, oracle=by_numpy),
    Row(deferred_op, (real(0, 3), real(3)), {"recipe": Sized()}, oracle=by_numpy, label="nothing"),
)
