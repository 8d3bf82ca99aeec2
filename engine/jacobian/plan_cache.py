"""Jacobians of recordings: planned and compiled once per structure of the recording, then only run.

The structure is what `engine.closed.replay` takes for a key. What else a plan depends on, the contents of index values,
is compared each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.closed.function import ClosedFunction
from engine.closed.replay import Structure, array_of, arrays_of, structure_of
from engine.core.eager import EagerTensor
from engine.core.op import Node
from engine.core.tape import active
from engine.core.trace import Symbol
from engine.core.value import address
from engine.core.variable import Variable
from engine.jacobian.execution.evaluate import evaluate
from engine.jacobian.execution.plan_programs import compiled_jacobian
from engine.jacobian.planning.plan import Options, Plan, fingerprint, plan_for, plans_kept
from engine.jacobian.structure.path import Path
from engine.runtime.cache import Cache
from engine.runtime.collector import uncollected
from engine.runtime.lazy_scipy import Later

parallel = Later("engine.jacobian.execution.parallel", modules=False)
"""The sweeps of a Jacobian elsewhere, which few programs ask for."""
_VARIANTS = 4
"""Plans kept for one structure, with different index contents."""
_compiled: Cache[Any, list[ClosedFunction]] = plans_kept(
    "compiled plans",
    "structure of the recording, ends, options, given pattern, kind of derivative; contents of indices are compared",
)
counters = {"compiled": 0, "reused": 0}
"""How many plans were compiled for recordings, and how often one was used again, for tests and the curious."""


def compiled_for(
    nodes: Sequence[Node],
    sources: Sequence[Any],
    targets: Sequence[Any],
    options: Options,
    sparsity: Any = None,
    make: Callable[[Path, Options, Any], ClosedFunction] = compiled_jacobian,
) -> tuple[ClosedFunction, list[Any]]:
    """A plan's closed function for a recording of arrays, and the arrays that it takes.

    ``make(path, options, sparsity)`` gives it, if it is not known yet; `sparsity` is the caller's pattern.
    """
    try:
        structure, ends = structure_of(nodes).extended([*targets, *sources])
        key = structure.key, len(targets), *ends, options, make, None if sparsity is None else fingerprint(sparsity)
    except (AttributeError, TypeError):
        # something in it must be asked anew each time
        key = None
    known = _compiled.get(key) or []
    for kept in known:
        if kept.fits(lambda number: array_of(structure.values[number])):
            counters["reused"] += 1
            return kept, arrays_of(structure.values, kept.captures)
    changing = key is not None and len(known) >= _VARIANTS
    # indices that change again and again follow from the data: the plan must not depend on them
    path = Path(nodes, sources, targets, known=(lambda _: None) if changing else None)
    made = uncollected(make, path, options, sparsity)
    made.program  # noqa: B018 - made before it is copied
    counters["compiled"] += 1
    if key is not None:
        _compiled.put(key, [*known, _renumbered(made, path, structure)])
    return made, [array_of(path.values[slot]) for slot in made.captures]


def blocks_of(
    nodes: Sequence[Node],
    sources: Sequence[Any],
    targets: Sequence[Any],
    options: Options,
    sparsity: Any = None,
    executor: Any = None,
) -> tuple[Plan, list[list[Any]]]:
    """The plan and the blocks for a recording: arrays, or values if somebody records or the recording is a graph's."""
    make: Callable[..., ClosedFunction] = compiled_jacobian if executor is None else parallel.spread_over(executor)
    if not gives_arrays((*sources, *targets)):
        path = Path(nodes, sources, targets)
        plan = plan_for(path, options, sparsity)
        return plan, evaluate(plan, path) if executor is None else parallel.spread_blocks(plan, path, executor)
    closed, values = compiled_for(nodes, sources, targets, options, sparsity, make)
    return closed.plan, closed(*values) if executor is None else closed(*values, executor)


def gives_arrays(ends: Sequence[Any]) -> bool:
    """Whether derivatives come as arrays: nobody records how they are computed, and they are not for a graph."""
    there, alike = (EagerTensor, Variable), set(map(type, ends)) == {EagerTensor}
    return not active.tapes and (alike or all(isinstance(x, there) and not isinstance(x, Symbol) for x in ends))


def _renumbered(closed: ClosedFunction, path: Path, structure: Structure) -> ClosedFunction:
    """The closed function with the path's numbers turned into those of the recording."""
    number: Callable[[int], int] = lambda slot: structure.slots[address(path.values[slot])]  # noqa: E731
    contents = {number(slot): array for slot, array in closed.contents.items()}
    return closed.like(captures=[number(slot) for slot in closed.captures], contents=contents)
