"""Functions of gradients that consist of rows, which Keras takes of each row before it adds repeated ones."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from engine.core.operands import Operand
from engine.ops.arithmetic import square

ROW_BY_ROW = "row_by_row"
"""Under which name an update's hyperparameters hold what takes a function of each row and adds the repeated ones."""


def by_row(function: Callable[[Any], Any], gradient: Any, hyper: SimpleNamespace) -> Operand:
    """``function(gradient)``; where rows of it repeat and the optimizer is Keras's, that of each row, added."""
    rows: Callable[..., Operand] | None = getattr(hyper, ROW_BY_ROW, None)
    return function(gradient) if rows is None else rows(function)


def squared(gradient: Any, hyper: SimpleNamespace, factor: Any = None) -> Operand:
    """The square of the gradient, `by_row`; with a factor, that of ``factor * gradient``."""
    if factor is None:
        return by_row(square, gradient, hyper)
    if hasattr(hyper, ROW_BY_ROW):
        return square(factor) * by_row(square, gradient, hyper)
    return square(factor * gradient)
