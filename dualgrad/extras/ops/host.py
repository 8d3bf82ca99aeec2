"""Ops of strings, files and messages: Python computes them, and nothing is derived from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.batching import BatchRule
from engine.core.kinds import nondifferentiable
from engine.core.op import Op


def row_places(lengths: np.ndarray) -> np.ndarray:
    """The row of each element of rows of these lengths, and its place in the row, shape (elements, 2)."""
    begins = np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.stack([np.repeat(np.arange(len(lengths)), lengths), np.arange(len(begins)) - begins], 1)


def host_op(
    type: str, abstract: Callable[..., Any], args: tuple[str, ...], batch: BatchRule, strict: bool = False, **facts: Any
) -> Callable[[Callable[..., Any]], Op]:
    """Make a kernel the op of its name, which its docstring describes; see `engine.core.kinds.nondifferentiable`."""

    def made(kernel: Callable[..., Any]) -> Op:
        facts["doc"], facts["module"] = kernel.__doc__, kernel.__module__
        given = {"abstract": abstract, "args": args, "batch": batch, "strict": strict, "type": type, **facts}
        return nondifferentiable(kernel.__name__, kernel, **given)

    return made
