"""Jacobians of recordings: planned and compiled once per structure of the recording, then only run.

The structure is what `engine.closed.replay` takes for a key. What else a plan depends on, the contents of index values,
is compared each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.closed.replay import Structure, array_of, arrays_of, structure_of
from engine.core.eager import EagerTensor
from engine.core.op import Node
from engine.core.tape import active
from engine.core.trace import Symbol
from engine.core.value import address
from engine.core.variable import Variable
from engine.jacobian.execution.evaluate import evaluate
from engine.jacobian.execution.parallel import spread_blocks, spread_over
from engine.jacobian.execution.plan_programs import Compiled, compiled_jacobian
from engine.jacobian.planning.plan import Options, Plan, fingerprint, plan_for, plans_kept
from engine.jacobian.structure.path import Path
from engine.runtime.cache import Cache

_VARIANTS = 4
"""Plans kept for one structure, with different index contents."""
_compiled: Cache[Any, list[Kept]] = plans_kept("compiled plans")
counters = {"compiled": 0, "reused": 0}
"""How many plans were compiled for recordings, and how often one was used again, for tests and the curious."""


@dataclass(frozen=True, eq=False)
class Kept:
    """A compiled plan, its arguments and index contents as numbers of the recording's structure."""

    what: Compiled
    arguments: list[int]
    used: dict[int, np.ndarray | None]

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return self.what.plan.nbytes + sum(np.asarray(a).nbytes for a in self.what.program.constants.values())

    def fits(self, values: Sequence[Any]) -> bool:
        """Whether the recording has the index contents that the plan holds for."""
        return all(_same(array_of(values[slot]), array) for slot, array in self.used.items() if array is not None)


def compiled_for(
    nodes: Sequence[Node],
    sources: Sequence[Any],
    targets: Sequence[Any],
    options: Options,
    sparsity: Any = None,
    make: Callable[[Path, Options, Any], Compiled] = compiled_jacobian,
) -> tuple[Compiled, list[Any]]:
    """A compiled plan for a recording of arrays, and the arrays that it takes.

    Parameters
    ----------
    nodes : sequence of Node
    sources, targets : sequence of Value
    options : Options
    sparsity : sparse matrix, optional
        The caller's pattern.
    make : callable
        ``make(path, options, sparsity)`` compiles it, if it is not known yet.
    """
    try:
        structure, ends = structure_of(nodes).beside([*targets, *sources])
        key = structure.key, len(targets), *ends, options, make, None if sparsity is None else fingerprint(sparsity)
    except (AttributeError, TypeError):
        # something in it must be asked anew each time
        key = None
    known = _compiled.get(key) or []
    for kept in known:
        if kept.fits(structure.values):
            counters["reused"] += 1
            return kept.what, arrays_of(structure.values, kept.arguments)
    changing = key is not None and len(known) >= _VARIANTS
    # indices that change again and again follow from the data: the plan must not depend on them
    path = Path(nodes, sources, targets, known=_nothing if changing else None)
    what = make(path, options, sparsity)
    counters["compiled"] += 1
    if key is not None:
        kept = _kept(what, path, structure)
        _compiled.put(key, [*known, kept])
    return what, [array_of(path.values[slot]) for slot in what.arguments]


def blocks_of(
    nodes: Sequence[Node],
    sources: Sequence[Any],
    targets: Sequence[Any],
    options: Options,
    sparsity: Any = None,
    executor: Any = None,
) -> tuple[Plan, list[list[Any]]]:
    """The plan and the blocks for a recording: arrays, or values if somebody records or the recording is a graph's."""
    make: Callable[..., Compiled] = compiled_jacobian if executor is None else spread_over(executor)
    if not gives_arrays((*sources, *targets)):
        path = Path(nodes, sources, targets)
        plan = plan_for(path, options, sparsity)
        return plan, evaluate(plan, path) if executor is None else spread_blocks(plan, path, executor)
    what, values = compiled_for(nodes, sources, targets, options, sparsity, make)
    return what.plan, what(values) if executor is None else what(values, executor)


def gives_arrays(ends: Sequence[Any]) -> bool:
    """Whether derivatives come as arrays: nobody records how they are computed, and they are not for a graph."""
    return not active.tapes and (set(map(type, ends)) == {EagerTensor} or all(map(_has_array, ends)))


def _has_array(x: Any) -> bool:
    return isinstance(x, EagerTensor) or (isinstance(x, Variable) and not isinstance(x, Symbol))


def _kept(what: Compiled, path: Path, structure: Structure) -> Kept:
    """The compiled plan with the path's numbers turned into those of the recording."""
    number: Callable[[int], int] = lambda slot: structure.slots[address(path.values[slot])]  # noqa: E731
    used = {number(slot): array for slot, array in what.used.items()}
    return Kept(what, [number(slot) for slot in what.arguments], used)


def _nothing(value: Any) -> None:
    """Know nothing of contents: for plans that may not look at them."""


def _same(a: Any, b: np.ndarray) -> bool:
    return a is b or bool(np.array_equal(a, b))
