"""What a program's results make of eager variables: new values, entries, and updates made when they are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.compiler.updates.late_updates import Update
from engine.compiler.updates.update_loop import Scratch
from engine.core.variable import Variable
from engine.executor.staged import raises
from engine.runtime.commit import commit_computing
from engine.runtime.packs import copied, parts_of


def assign(
    assigned: Sequence[tuple[Variable, bool]],
    results: Sequence[Any],
    updates: Sequence[Update],
    variables: Mapping[int, Variable],
) -> None:
    """Store new values in variables whose locks are held: all of them, or none if something fails.

    Parameters
    ----------
    assigned : sequence of (Variable, bool)
        And whether there are two results for it, index vectors and entries, in place of the new value.
    results : sequence of array
        Those of a program that follow what is wanted of it.
    updates : sequence of Update
    variables : mapping
        By the identities of the handles that `updates` name.
    """
    left, scratch = iter(results), Scratch()
    new = [(v, next(left), next(left) if in_part else None) for v, in_part in assigned]
    held = [v for v, _, _ in new]
    writes: list[tuple[Any, ...]] = []
    for update in updates:
        writes += _made(update, results, variables, scratch)
    whole = [(v, value) for v, value, entries in new if entries is None]
    if whole:
        writes.append(type(held[0]).replacement(*zip(*whole, strict=True)))
    for v, indices, entries in new:
        if entries is not None:
            writes += v.entry_writes(indices, entries)
    replaced = type(held[0]).arrays([v for v, _ in whole]) if whole else []
    commit_computing(writes)
    del replaced


def _made(
    update: Update, results: Sequence[Any], variables: Mapping[int, Variable], scratch: Scratch
) -> list[tuple[Any, ...]]:
    """The writes that make an update."""

    def held(keys: tuple[int, ...]) -> list[Variable]:
        return [variables[key] for key in keys]

    def arrays(keys: tuple[int, ...]) -> list[Any]:
        return type(variables[keys[0]]).arrays(held(keys))

    def replacing(keys: tuple[int, ...], values: Sequence[Any]) -> tuple[Any, ...]:
        return type(variables[keys[0]]).replacement(held(keys), values)

    def renewed(keys: tuple[int, ...]) -> tuple[Any, Any, list[tuple[Any, ...]]]:
        if len(keys) == 1:
            return variables[keys[0]].renewal()
        whole = copied(arrays(keys))
        return whole, whole, [replacing(keys, parts_of(whole, update.shapes))]

    return update.writes(results, scratch, arrays, renewed, replacing, raises())
