"""Control flow inside `vmap`: each element of a batch takes its own branch, and ends its loop by itself.

A choice by a condition that differs within the batch computes both branches. All else runs on values that have the axes
of the batches in front, and the user's functions are called with batches made of these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dualgrad.frontend.flow.host import FlowHost
from engine.core import nest
from engine.core.batching import Levels, lowered, raised
from engine.core.nest import Structure
from engine.ops.compare import logical_and, select
from engine.ops.reduce import reduce_any
from engine.runtime.errors import UnimplementedError


def choice(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Structure[Any]:
    """The results of both branches, of which each element of the batch takes one."""
    true, false = true_fn(), false_fn()
    nest.assert_same_structure(true, false)
    return nest.map_structure(lambda a, b: select(pred, a, b), true, false)


def require_default(default: Any, exclusive: bool) -> None:
    """Raise if a `case` looks at conditions that differ within the batch for more than its choice."""
    if default is None or exclusive:
        raise UnimplementedError("case: inside vmap it needs a `default`, and cannot be `exclusive`")


def apart(host: FlowHost, tree: Any, levels: Levels) -> Structure[Any]:
    """A structure of batches as one of values with the axes of these in front."""

    def one(x: Any) -> Any:
        if host.array(x) is not None or host.is_operation(x):
            raise UnimplementedError(f"vmap: control flow inside it takes and returns tensors, got {type(x).__name__}")
        return lowered(host.convert(x), levels)

    return nest.map_structure(one, tree)


def together(tree: Any, levels: Levels) -> Structure[Any]:
    """The inverse of `apart`."""
    return nest.map_structure(lambda x: raised(x, levels), tree)


def while_loop(
    host: FlowHost, levels: Levels, run: Callable[..., Any], cond: Callable[..., Any], body: Callable[..., Any],
    loop_vars: Any,
) -> Any:  # fmt: skip
    """A loop until the condition of no element holds; the variables of those where it does not hold stay."""

    def holds(state: Any) -> Any:
        return apart(host, cond(*together(state, levels)), levels)

    def step(going: Any, state: Any) -> tuple[Any, Any]:
        before, goes = together(state, levels), raised(going, levels)
        after = nest.like_loop_vars(loop_vars, body(*before))
        new = apart(host, nest.map_structure(lambda a, b: select(goes, a, b), after, before), levels)
        return logical_and(going, holds(new)), new

    start = apart(host, loop_vars, levels)
    _, last = run(lambda going, state: reduce_any(going), step, (holds(start), start))
    return together(last, levels)


def scanned(
    host: FlowHost, levels: Levels, run: Callable[..., Any], function: Callable[..., Any], initial: Any, elems: Any,
    rows: Any,
) -> Any:  # fmt: skip
    """A loop over the rows of all elements at once."""

    def step(state: Any, row: Any) -> Any:
        return apart(host, function(together(state, levels), together(row, levels)), levels)

    columns = [np.moveaxis(lowered(r, levels), len(levels), 0) for r in rows]
    start = apart(host, initial, levels)
    last, stacked = run(step, start, nest.pack_sequence_as(elems, columns), columns)
    return together((last, nest.map_structure(lambda x: np.moveaxis(x, 0, len(levels)), stacked)), levels)
