"""Ops of strings, files and messages: Python computes them, and nothing is derived from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.batching import BatchRule
from engine.core.dtypes import string
from engine.core.kinds import nondifferentiable
from engine.core.op import Op
from engine.runtime.errors import DTypeError


def row_places(lengths: np.ndarray) -> np.ndarray:
    """The row of each element of rows of these lengths, and its place in the row, shape (elements, 2)."""
    begins = np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.stack([np.repeat(np.arange(len(lengths)), lengths), np.arange(len(begins)) - begins], 1)


def host_op(
    type: str, abstract: Callable[..., Any], args: tuple[str, ...], batch: BatchRule, strict: bool = False,
    of_strings: bool = False, **facts: Any,
) -> Callable[[Callable[..., Any]], Op]:  # fmt: skip
    """Make a kernel the op of its name, which its docstring describes; see `engine.core.kinds.nondifferentiable`.

    If it is `of_strings`, its first operand must be (or all of them, of any number).
    """

    def made(kernel: Callable[..., Any]) -> Op:
        def checked(*avals: Any, **params: Any) -> Any:
            argument, name = args[0].removeprefix("*"), kernel.__name__.removesuffix("_op")
            for aval in avals if args[0] != argument else avals[:1]:
                if aval.dtype is not string:
                    raise DTypeError(f"{name}: argument `{argument}` must be of strings, got {aval}")
            return abstract(*avals, **params)

        facts["doc"], facts["module"] = kernel.__doc__, kernel.__module__
        rule = checked if of_strings else abstract
        given = {"abstract": rule, "args": args, "batch": batch, "strict": strict, "type": type, **facts}
        return nondifferentiable(kernel.__name__, kernel, **given)

    return made
