"""A lower bound on what sweeps from the ends as they are take, as far as it is known from what stands behind moves.

Patterns of the ends have all entries of a Jacobian, and take time and memory to make. Where sweeps from what is behind
moves are cheaper than anything from the ends can be, they are not needed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from engine.jacobian.coloring.compression import hubs
from engine.jacobian.planning.direction import BRUTE_FORCE, DirectionAssignment
from engine.jacobian.structure.path import Path
from engine.jacobian.structure.pattern import Pattern, counts
from engine.jacobian.structure.peeling import IndexMap
from engine.runtime.tuning import TUNING

STAR = TUNING.star_entries
_SAMPLE = 64
"""Entries of the longest row whose columns are looked up."""


def may_be_mirrored(patterns: Sequence[Sequence[Pattern]]) -> bool:
    """Whether reading entries of a symmetric matrix at either place may save sweeps: they are few, or rows are full."""
    lengths = np.concatenate([counts(row, 0) for row in patterns])
    return bool(lengths.sum() <= STAR or hubs(lengths).any())


def least_from_ends(
    path: Path, behind: DirectionAssignment, rows: Sequence[IndexMap], columns: Sequence[IndexMap]
) -> float:
    """Seconds that sweeps from the targets, whole or peeled, and from the sources as they are take at the least.

    A sweep from an end goes through all nodes that lead to what the end consists of. It needs as many seeds as a sweep
    from one of these, in reverse; forwards as many as the longest row has columns of the source. `behind` is of the
    nodes behind moves; `rows` and `columns` tell how its groups make up the targets and sources.
    """
    if behind.ways.mirrored and may_be_mirrored(behind.patterns):
        return 0.0
    own: dict[int, list[int]] = {}
    for k, group in enumerate(behind.sources):
        for of in dict.fromkeys([part.of for part in columns if part.slot == group.slot]):
            own.setdefault(of, []).append(k)
    forward = {
        j: behind.seconds("forward", parts, _longest_row(path, behind, parts, [c for c in columns if c.of == j]))
        for j, parts in own.items()
    }
    peeled = [([i], behind.fewest_in_reverse(i)) for i in range(len(behind.targets))]
    whole: list[tuple[list[int], int]] = []
    for of, slot in enumerate(path.targets):
        parts = [part for part in rows if part.of == of]
        target = [i for i, group in enumerate(behind.targets) if any(part.slot == group.slot for part in parts)]
        if target:
            whole.append((target, _fewest(behind, target, _are_apart(path, parts, path.size(slot)))))
    return min(_cover(behind, own, forward, targets) for targets in (peeled, whole))


def _are_apart(path: Path, parts: Sequence[IndexMap], size: int) -> bool:
    """Whether no element of a target is in two parts, as it is where these are added up."""
    if len(parts) == 1 and parts[0].outer is None:
        return True
    met = np.zeros(size, bool)
    outer = [part.indices(path.size(part.slot))[1] for part in parts]
    for index in outer:
        met[index] = True
    return int(np.count_nonzero(met)) == sum(map(len, outer))


def _fewest(behind: DirectionAssignment, target: Sequence[int], apart: bool) -> int:
    """The seeds that a reverse sweep from some groups together takes at the least: those that one element needs."""
    if not apart:
        return max(map(behind.fewest_in_reverse, target))
    columns = range(len(behind.sources))
    together = [counts([behind.patterns[i][k] for i in target], 1) for k in columns]
    return max([1, *[int(c.max(initial=0)) for c in together]])


def _cover(
    behind: DirectionAssignment,
    own: dict[int, list[int]],
    forward: dict[int, float],
    targets: Sequence[tuple[list[int], int]],
) -> float:
    """The least time in which each block is reached in reverse from one of `targets`, or forward from its source.

    `targets` are groups that are swept from together, and with how many seeds.
    """
    if len(targets) > BRUTE_FORCE:
        return 0.0
    reaches = [
        {j for j, parts in own.items() if any(not behind.patterns[i][k].is_zero for i in target for k in parts)}
        for target, _ in targets
    ]
    reverse = [
        behind.seconds("reverse", target, seeds) if reached else 0.0
        for (target, seeds), reached in zip(targets, reaches, strict=True)
    ]
    ways = (False,) if behind.ways.mode == "forward" else (False, True)
    subsets: Iterable[tuple[bool, ...]] = itertools.product(ways, repeat=len(targets))
    return min(
        sum(seconds for seconds, chosen in zip(reverse, subset, strict=True) if chosen)
        + sum(forward[j] for j in set().union(*[r for r, chosen in zip(reaches, subset, strict=True) if not chosen]))
        for subset in subsets
    )


def _longest_row(path: Path, behind: DirectionAssignment, parts: Sequence[int], columns: Sequence[IndexMap]) -> int:
    """The columns of a source, at the least, that the longest row behind moves stands for."""
    most = 1
    for row in behind.patterns:
        together = counts([row[k] for k in parts], 0)
        if not len(together):
            continue
        longest = np.array([int(together.argmax())])
        met: set[int] = set()
        for k in parts:
            entries = row[k].rows(longest).entries()[1][:_SAMPLE]
            for column in columns:
                if column.slot == behind.sources[k].slot:
                    inner, outer = column.indices(path.size(column.slot))
                    met.update(outer[entries if column.inner is None else np.isin(inner, entries)].tolist())
        most = max(most, len(met))
    return most
