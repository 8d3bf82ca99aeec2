"""Plans as closed functions: the walks are made once with symbols in place of arrays, and from then on only run.

A closed function of a plan captures the values on the path: those a tape has recorded, or those a session fetches. Its
form is ``[target][source]``: which of its results is the block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from engine.closed.function import ClosedFunction
from engine.closed.retrace import Retrace
from engine.core.tape import paused
from engine.core.trace import constant_value
from engine.jacobian.execution.evaluate import evaluate
from engine.jacobian.planning.plan import Options, Plan, plan_for
from engine.jacobian.structure.path import Path
from engine.runtime.tuning import TUNING

FOLD_LIMIT = TUNING.fold_plan_bytes
"""Largest constant, in bytes, that a compiled plan computes beforehand and keeps."""


class Mirror(Retrace):
    """A path in a trace of its own, numbered as the original is."""

    def __init__(self, path: Path, contents: Mapping[int, Any] | None = None) -> None:
        super().__init__(path.nodes, path.values, FOLD_LIMIT, contents)
        self._original = path
        self._slots = {id(symbol): slot for slot, symbol in enumerate(self.symbols)}
        ends = [[self.symbols[slot] for slot in side] for side in (path.sources, path.targets)]
        self.path = Path(self.nodes, ends[0], ends[1], known=self.contents)

    def contents(self, symbol: Any) -> np.ndarray | None:
        """The array that the original of a symbol holds, or None."""
        slot = self._slots.get(id(symbol))
        return constant_value(symbol) if slot is None else self._original.contents(self._original.values[slot])

    def planned(
        self,
        wanted: Sequence[Any],
        plan: Plan,
        further: Sequence[Any] = (),
        numbers: Callable[[list[int]], list[int]] = list,
        **how: Any,
    ) -> ClosedFunction:
        """The closed function that computes what a plan says; `numbers` are given to what it captures.

        The entries of sparse matrices are the caller's, who may change them in place.
        """
        made = self.closed(wanted, further, plan=plan, owned=plan.options.values_only, **how)
        return made.like(captures=numbers(made.captures))


def compiled_jacobian(path: Path, options: Options, sparsity: Any) -> ClosedFunction:
    """The closed function for the Jacobian, of the values on the path."""
    return compiled(plan_for(path, options, sparsity), path)


def compiled(plan: Plan, path: Path) -> ClosedFunction:
    """The closed function for a plan, of the values on the path."""
    mirror = Mirror(path, plan.used)
    with paused():
        blocks = evaluate(plan, mirror.path)
    wanted = [b for row in blocks for b in row if b is not None]
    return mirror.planned(wanted, plan, form=numbered(blocks), contents=plan.used)


def numbered(blocks: list[list[Any]]) -> list[list[int | None]]:
    """Which of the blocks that are not None each is, in order."""
    number = iter(range(sum(len(row) for row in blocks)))
    return [[None if b is None else next(number) for b in row] for row in blocks]
