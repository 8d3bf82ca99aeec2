"""What a program's results make of eager variables: new values, entries, and updates made when they are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine.core.variable import Variable
from engine.program.late_updates import Update
from engine.program.native.staged import raises
from engine.program.update_loop import Scratch
from engine.runtime.packs import copied, joined, parts_of, taken_apart
from engine.runtime.state import commit, commit_computing


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
    numbers = [np.asarray(results[i]) for i in update.numbers]
    operands, calls = update.given(results, scratch)
    places = [[variables[key] for key in keys] for keys in update.keys]
    if raises():
        # that may fail, so it is done before anything is written
        before = [joined(type(held[0]).arrays(held)) for held in places]
        after = [np.empty_like(array) for array in before]
        commit([*calls, *update.loop.calls([*before, *operands], numbers, after, scratch)])
        return [
            type(held[0]).replacement(held, taken_apart(array, update.shapes))
            for held, array in zip(places, after, strict=True)
        ]
    before, after, writes = [], [], []
    for held in places:
        if len(held) == 1:
            old, new, made = held[0].renewal()
        else:
            old = new = copied(type(held[0]).arrays(held))
            made = [type(held[0]).replacement(held, parts_of(new, update.shapes))]
        before.append(old)
        after.append(new)
        writes += made
    return [*calls, *update.loop.calls([*before, *operands], numbers, after, scratch), *writes]
