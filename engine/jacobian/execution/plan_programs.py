"""Plans as programs: the walks are made once with symbols in place of arrays, lowered, and from then on only run.

A `Compiled` plan takes the values on the path as its arguments: those a tape has recorded, or those a session fetches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.closed.retrace import Retrace
from engine.compiler.program import Program
from engine.core.tape import paused
from engine.core.trace import constant_value
from engine.jacobian.execution.evaluate import evaluate
from engine.jacobian.planning.plan import Options, Plan, plan_for
from engine.jacobian.structure.path import Path
from engine.runtime.ownership import own_results
from engine.runtime.tuning import TUNING

FOLD_LIMIT = TUNING.fold_plan_bytes
"""Largest constant, in bytes, that a compiled plan computes beforehand and keeps."""


@dataclass(frozen=True, eq=False)
class Compiled:
    """A plan and the program that carries it out.

    Attributes
    ----------
    plan : Plan
    program : Program
    arguments : list of int
        Numbers of the values on the path that the program takes.
    results : list of list of (int or None)
        ``[target][source]``: which result of the program is the block.
    used : dict
        Number to contents of the index values that it holds for.
    """

    plan: Plan
    program: Program
    arguments: list[int]
    results: list[list[int | None]]
    used: dict[int, np.ndarray | None] = field(default_factory=dict)

    def __call__(self, values: Sequence[Any], *further: Any) -> list[list[Any]]:
        """The blocks as arrays, from arrays of the arguments, and of what else the program takes.

        The entries of sparse matrices are the caller's, who may change them in place.
        """
        if self.plan.options.values_only:
            out: Sequence[Any] = own_results(self.program, (*values, *further), self.program.owners)
        else:
            out = self.program(*values, *further)
        return [[None if k is None else out[k] for k in row] for row in self.results]


class Mirror(Retrace):
    """A path in a trace of its own.

    Attributes
    ----------
    path : Path
        Numbered as the original is.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path.nodes, path.values, FOLD_LIMIT)
        self._original = path
        self._slots = {id(symbol): slot for slot, symbol in enumerate(self.symbols)}
        ends = [[self.symbols[slot] for slot in side] for side in (path.sources, path.targets)]
        self.path = Path(self.nodes, ends[0], ends[1], known=self.contents)

    def contents(self, symbol: Any) -> np.ndarray | None:
        """The array that the original of a symbol holds, or None."""
        slot = self._slots.get(id(symbol))
        return constant_value(symbol) if slot is None else self._original.contents(self._original.values[slot])


def compiled_jacobian(path: Path, options: Options, sparsity: Any) -> Compiled:
    """The program for the Jacobian, with the values on the path as arguments."""
    return compiled(plan_for(path, options, sparsity), path)


def compiled(plan: Plan, path: Path) -> Compiled:
    """The program for a plan, with the values on the path as arguments."""
    mirror = Mirror(path)
    with paused():
        blocks = evaluate(plan, mirror.path)
    program, arguments = mirror.lowered([b for row in blocks for b in row if b is not None])
    return Compiled(plan, program, arguments, numbered(blocks), plan.used)


def numbered(blocks: list[list[Any]]) -> list[list[int | None]]:
    """Which of the blocks that are not None each is, in order."""
    number = iter(range(sum(len(row) for row in blocks)))
    return [[None if b is None else next(number) for b in row] for row in blocks]
