"""Plans: how to compute a Jacobian, worked out once for a path and its shapes.

Making a plan: peel data movement off both ends, or not (`engine.jacobian.structure.peeling`); find the pattern of what
is left; compress a pattern partially, dense rows and columns by themselves; cover the blocks by sweeps
(`engine.jacobian.planning.direction`); take the cheapest of these candidates; work out where the numbers belong
(`engine.jacobian.execution.decompression`) and how many seeds fit into memory at once. Plans are cached by the
structure of the path.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.core.eager import forget_memory
from engine.core.op import Node
from engine.core.sparsity import Sites
from engine.derivatives.linearity import name_of, not_linear
from engine.jacobian.execution.decompression import Decompression, Scattered, symmetrized
from engine.jacobian.planning.bounds import least_from_ends
from engine.jacobian.planning.cost import GATHER
from engine.jacobian.planning.describe import count, describe_block, describe_fact, describe_sweep, names_of
from engine.jacobian.planning.direction import DirectionAssignment, Group, PlannedSweep, Ways
from engine.jacobian.planning.memory_limit import check_room, chunks_for, held_bytes
from engine.jacobian.structure.path import Path, is_connected
from engine.jacobian.structure.pattern import Pattern, counts
from engine.jacobian.structure.peeling import IndexMap, peel_sources, peel_targets, unpeeled
from engine.jacobian.structure.propagation import TooFullError, patterns
from engine.runtime.cache import Cache
from engine.runtime.errors import InvalidArgumentError
from engine.runtime.lazy_scipy import sparse
from engine.runtime.patience import patience
from engine.runtime.structs import field, replace, struct
from engine.runtime.tuning import TUNING

MODES = ("auto", "forward", "reverse")
_THIN, _CROWDED = TUNING.thin_block, TUNING.crowded_seeds
_FULL = 16
"""Entries that no row or column is unusually full with."""
_CAPACITY = 128
_KEPT_BYTES = 1 << 29
"""Structures whose plans are kept, and bytes of their arrays."""


def plans_kept(name: str, key: str) -> Cache[Any, list[Any]]:
    """A cache of plans, or of what has as many `nbytes`: by structure, one for each contents of indices."""
    return Cache(name, _CAPACITY, _KEPT_BYTES, lambda kept: sum([one.nbytes for one in kept]), key=key)


_plans: Cache[Any, list[Plan]] = plans_kept(
    "plans", "ops, parameters, operands, shapes of the path; options, given pattern; contents of indices are compared"
)
counters = {"planned": 0, "reused": 0}
"""How many plans were made, and how often one was used again, for tests and the curious."""


class Options(NamedTuple):
    """The options of the caller."""

    mode: str = "auto"
    """In which direction sweeps may go."""
    values_only: bool = False
    """Whether blocks are wanted as the numbers of a sparse matrix, never as a dense array."""
    max_bytes: int | None = None
    """Limit for the memory of a sweep and the result."""
    symmetric: bool = False
    """Whether the Jacobian is that of a gradient: one target per source, in the same order."""


@struct(frozen=True, eq=False)
class Plan:
    """How to compute the Jacobian of some targets with respect to some sources."""

    options: Options
    sweeps: list[PlannedSweep]
    """The sweeps."""
    chunks: list[int]
    """How many seeds of each sweep are swept at once."""
    blocks: list[list[Any]]
    """``[target][source]``: where the numbers go; None for a block that is zero."""
    kept: tuple[int, ...]
    """Which nodes of the path are swept through; the others only move data at its ends."""
    shapes: list[list[tuple[int, int]]]
    used: dict[int, np.ndarray | None]
    """Number to contents of the index values that the plan holds for; None where they were not known."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Its costs, for printing."""
    pattern_to_verify: Any = None
    """The caller's pattern, if it was made with one."""
    names: dict[int, str] = field(default_factory=dict)
    """Number to name of the values that it speaks of, for printing."""

    @property
    def seeds(self) -> int:
        """Number of seeds over all sweeps."""
        return sum(p.count for p in self.sweeps)

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        scattered = [block for row in self.blocks for block in row if isinstance(block, Scattered)]
        arrays = [a for one in self.sweeps for a in (one.colors, one.group.index)]
        arrays += self.used.values()
        return sum(b.nbytes for b in scattered) + sum(a.nbytes for a in arrays if a is not None)

    def in_chunks(self, count: int) -> Plan:
        """The same plan with its seeds in about `count` chunks, or more if it has more already.

        All chunks of a sweep but the last have one size. Sweeps that multiply over cuts stay whole. Numbers are the
        same for any chunking, to rounding where a contraction is split; for one and the same chunking they are the same
        to the bit, wherever the chunks are evaluated.
        """
        free = sum(p.count for p in self.sweeps if p.chain is None)
        most = max(1, -(-free // max(count, 1)))
        chunks = [c if p.chain else min(c, most) for p, c in zip(self.sweeps, self.chunks, strict=True)]
        return replace(self, chunks=chunks)

    def __str__(self) -> str:
        """The plan described: see `engine.jacobian.planning.describe`."""
        sources = len(self.blocks[0]) if self.blocks else 0
        lines = [f"Jacobian of {count(len(self.blocks), 'target')}, {count(sources, 'source')}"]
        lines += [describe_sweep(p, chunk, self.names) for p, chunk in zip(self.sweeps, self.chunks, strict=True)]
        for i, row in enumerate(self.blocks):
            for j, block in enumerate(row):
                rows, columns = self.shapes[i][j]
                lines.append(f"block [{i}][{j}] {rows} x {columns}: {describe_block(block)}")
        lines += [describe_fact(name, value) for name, value in self.facts.items()]
        return "\n  ".join(lines)


def plan_for(path: Path, options: Options, sparsity: Any = None) -> Plan:
    """The plan for a path: one made before for an equal path, or a new one."""
    key = None if path.key is None else (path.key, options, fingerprint(sparsity))
    known = _plans.get(key) or []
    for plan in known:
        if path.holds(plan.used):
            counters["reused"] += 1
            return plan
    plan = _made(path.merged, options, sparsity)
    forget_memory(plan.nbytes)
    counters["planned"] += 1
    if key is not None:
        _plans.put(key, [*known, plan])
    return plan


def fingerprint(pattern: Any) -> tuple[Any, ...] | None:
    """A key that tells a pattern of the caller's, in CSR form, from others; None for None."""
    if pattern is None:
        return None
    import hashlib  # which loads a library of cryptography

    return pattern.shape, hashlib.sha256(pattern.indptr.tobytes() + pattern.indices.tobytes()).digest()


@struct(eq=False)
class _Candidate:
    """One way to peel targets and sources, and the sweeps that it leads to."""

    nodes: Sequence[Node]
    rows: list[IndexMap]
    columns: list[IndexMap]
    targets: list[Group]
    sources: list[Group]
    patterns: list[list[Pattern]]
    assignment: DirectionAssignment
    why: str
    sweeps: list[PlannedSweep] = field(default_factory=list)
    time: float = math.inf

    def __post_init__(self) -> None:
        # to gather single numbers from results takes time as well
        whole = all(p.inner is None and p.outer is None for p in self.columns)
        self.gathering = GATHER * sum(
            self._gathered(target, source, p)
            for target, row in zip(self.targets, self.patterns, strict=True)
            for source, p in zip(self.sources, row, strict=True)
            if not (whole and p.is_dense)
        )
        self.least = self.assignment.least + self.gathering

    def decide(self) -> None:
        """Choose the sweeps; what that gives is the predicted `time`, in seconds."""
        self.sweeps = self.assignment.sweeps()
        self.time = sum(p.time for p in self.sweeps) + self.gathering

    def _gathered(self, target: Group, source: Group, pattern: Pattern) -> int:
        """How often a number of a block is gathered: each is, or is added to one entry after the other."""
        if all(column.sign is None for column in self.columns):
            return pattern.nnz
        times = []
        for parts, group, size in zip((self.rows, self.columns), (target, source), pattern.shape, strict=True):
            inner = np.concatenate([part.indices(size)[0] for part in parts if part.slot == group.slot])
            counts = np.bincount(inner, minlength=size)
            times.append(counts if group.index is None else counts[group.index])
        rows, columns = times
        return int(rows @ (pattern.to_csr() @ columns))

    def entries(self, path: Path) -> list[list[int]]:
        """``[target][source]``: how many entries can be different from zero, at the most."""
        counts = [[0] * len(path.sources) for _ in path.targets]
        for row in self.rows:
            for column in self.columns:
                counts[row.of][column.of] += sum(
                    pattern.nnz
                    for group, of in zip(self.targets, self.patterns, strict=True)
                    for source, pattern in zip(self.sources, of, strict=True)
                    if group.slot == row.slot and source.slot == column.slot
                )
        return counts

    def __str__(self) -> str:
        seeds = count(sum(p.count for p in self.sweeps), "seed") if self.time < math.inf else "dearer"
        return f"{self.why}: {seeds}"


@patience("planning a Jacobian")
def _made(path: Path, options: Options, sparsity: Any) -> Plan:
    complex_ends = any(path.values[slot].dtype.is_complex for slot in path.connected_ends)
    rule = not_linear(path.nodes, options.mode == "forward")
    if rule is not None:
        options = _with_single_rows(options, sparsity, rule)
    choices, limit = _choices(path, options, sparsity, complex_ends, rule is not None), options.max_bytes
    choice = next(choices)
    if limit is None:
        # the patterns of the others take much memory
        choices.close()
    plan = _planned(path, options, sparsity, choice, complex_ends)
    if limit is None or plan.facts["bytes"] <= limit:
        return plan
    # others are slower, and may take less
    fitting, least = [], plan.facts["bytes"]
    for choice in choices:
        held = held_bytes(path, choice.best.sweeps)
        if held <= limit or held < least:
            plan = _planned(path, options, sparsity, choice, complex_ends)
            least = min(least, plan.facts["bytes"])
            if plan.facts["bytes"] <= limit:
                fitting.append(plan)
    if not fitting:
        raise InvalidArgumentError(
            f"jacobian: argument `max_bytes` must be at least {least}, for the result and one seed at a time; got "
            f"{limit}. A sparse `format` or format='operator' may need less"
        )
    return min(fitting, key=lambda plan: plan.facts["predicted seconds"])


class _Choice(NamedTuple):
    """A candidate, all that were looked at in words, and the blocks where sweeps alone do not say them."""

    best: _Candidate
    candidates: str
    blocks: list[list[Any]] | None = None


def _choices(path: Path, options: Options, sparsity: Any, complex_ends: bool, single_rows: bool) -> Generator[_Choice]:
    """Ways to plan: first the cheapest, then all others, for those who have little memory."""
    mode = _mode(options, complex_ends)
    mirrored = options.symmetric and not complex_ends and options.mode != "reverse"
    candidates = _candidates(path, Ways(mode, not single_rows, single_rows, mirrored), sparsity)
    best = _cheapest(candidates)
    check_room(path, best.entries(path), options.values_only, options.symmetric)
    whole = candidates[0]
    if mirrored and len(whole.nodes) == len(path.nodes):
        from engine.jacobian.planning.hessian import symmetric_plan

        both = symmetric_plan(path, whole.patterns, lambda j, n: whole.assignment.seconds("forward", [j], n), best.time)
        if both is not None:
            whole = replace(whole, sweeps=both.sweeps, time=both.time, why="entries read at either place")
            yield _Choice(whole, _described([*candidates, whole]), both.blocks)
    yield _Choice(best, _described(candidates))
    # products over cuts cannot be made in chunks, and the other direction may hold less at a time
    either = options.mode == "auto" and not complex_ends
    for one in dict.fromkeys((mode, "forward", "reverse") if either else (mode,)):
        candidates = _candidates(path, Ways(one, False, single_rows), sparsity)
        for candidate in candidates:
            candidate.decide()
        for candidate in sorted(candidates, key=lambda c: held_bytes(path, c.sweeps)):
            yield _Choice(candidate, _described(candidates))


def _described(candidates: Sequence[_Candidate]) -> str:
    return ", ".join(map(str, candidates))


def _planned(path: Path, options: Options, sparsity: Any, choice: _Choice, complex_ends: bool) -> Plan:
    """The plan for a candidate. Where even single seeds take more than `max_bytes`, its ``bytes`` say how much."""
    best, candidates, blocks = choice
    shapes = [[(path.size(t), path.size(s)) for s in path.sources] for t in path.targets]
    if blocks is None:
        decompression = Decompression(
            path, best.rows, best.columns, best.targets, best.sources, best.patterns, best.sweeps
        )
        mirrored = options.symmetric and not complex_ends
        m, n = range(len(path.targets)), range(len(path.sources))
        blocks = [[decompression.block(i, j, options.values_only, mirrored) for j in n] for i in m]
        if options.max_bytes is None:
            # nobody asks for them again, and they take as much memory as the blocks
            best.patterns.clear()
            del decompression
        if mirrored:
            blocks = symmetrized(blocks, shapes)
    left = {id(node) for node in best.nodes}
    for limit in (options.max_bytes, 1):
        chunks, peak = chunks_for(path, best.nodes, best.sweeps, blocks, shapes, options.values_only, limit)
        if options.max_bytes is None or peak <= options.max_bytes:
            break
    facts = {
        "why": best.why,
        "candidates": candidates,
        "flops": sum(p.flops(path, best.nodes) for p in best.sweeps),
        "bytes": peak,
        "predicted seconds": best.time,
    }
    kept = tuple([k for k, node in enumerate(path.nodes) if id(node) in left])
    names = names_of(path, best.sweeps)
    return Plan(options, best.sweeps, chunks, blocks, kept, shapes, dict(path.used), facts, sparsity, names)


def _mode(options: Options, complex_ends: bool) -> str:
    """In which direction to sweep.

    A row is a gradient. Where source or target is complex, that is not the row of a matrix that a forward walk
    multiplies with. A Hessian is cheapest forward over reverse.
    """
    if not complex_ends:
        return "forward" if options.symmetric and options.mode == "auto" else options.mode
    if options.mode == "forward":
        raise InvalidArgumentError(
            "jacobian: argument `mode` must be auto or reverse where a target or source is complex, since a row is the "
            "gradient of an element of the target; got 'forward'"
        )
    return "reverse"


# ---- candidates ------------------------------------------------------------------------------------------------------


def _candidates(path: Path, ways: Ways, sparsity: Any) -> list[_Candidate]:
    rows, columns = unpeeled(path)
    sites = Sites(path.contents)
    if ways.single_rows:
        return [_candidate(path, sites, path.nodes, rows, columns, ways, "rule not linear", _full_patterns(path))]
    if sparsity is not None and any(t in path.live for t in path.targets):
        return [_candidate(path, sites, path.nodes, rows, columns, ways, "pattern given", [[Pattern.csr(sparsity)]])]
    peeled = peel_targets(path, sites)
    inner = rows if [m.slot for m in peeled] == [m.slot for m in rows] else peeled
    left, nodes = peel_sources(path, sites, inner)
    furthest = []
    if len(nodes) < len(path.nodes):
        behind = _candidate(path, sites, nodes, inner, left, ways, "sources peeled")
        furthest.append(behind)
        if (ways.mode == "auto" or ways.mirrored) and _is_cheaper_than_ends(path, sites, behind):
            partial = _partial(path, behind, ways) if ways.mode == "auto" else None
            return [behind] if partial is None else [behind, partial]
    candidates = [_candidate(path, sites, path.nodes, rows, columns, ways, "as it is")]
    if inner is peeled:
        candidates.append(_candidate(path, sites, path.nodes, inner, columns, ways, "targets peeled"))
    once = peel_sources(path, sites, inner, 1)
    if len(nodes) < len(once[1]) < len(path.nodes):
        candidates.append(_candidate(path, sites, once[1], inner, once[0], ways, "sources peeled once"))
    candidates += furthest
    summed = _summed(path, sites, candidates, ways)
    if summed is not None:
        candidates.append(summed)
    if ways.mode == "auto":
        partial = _partial(path, _cheapest(candidates), ways)
        if partial is not None:
            candidates.append(partial)
    return candidates


def _is_cheaper_than_ends(path: Path, sites: Sites, behind: _Candidate) -> bool:
    """Whether few sweeps from behind moves are known to take less time than any from the ends."""
    if behind.least == 0.0 or behind.assignment.fewest > _CROWDED:
        return False
    least = least_from_ends(path, behind.assignment, behind.rows, behind.columns)
    # what is often equal must not differ by rounding: gathering is added to neither
    if behind.assignment.least > least:
        return False
    # colors take much memory, too
    sites.forget()
    forget_memory(sum(p.nnz for row in behind.patterns for p in row) * np.int32().nbytes)
    behind.decide()
    return sum(p.time for p in behind.sweeps) <= least


def _summed(path: Path, sites: Sites, candidates: Sequence[_Candidate], ways: Ways) -> _Candidate | None:
    """The same behind sums at both ends, where what lies between may take fewer seeds than any candidate."""
    found = [p for row in candidates[0].patterns for p in row]
    full = [min(p.shape) for p in found if p.is_dense]
    crowded = min([one.assignment.fewest for one in candidates]) > _CROWDED
    if not crowded and max(full, default=0) <= _THIN:
        return None
    from engine.jacobian.structure.through_sums import peel_sums

    # sums of what depends on everything, as over a batch, are better swept together
    peeled = peel_sums(path, sites, at_targets=not full)
    if peeled is None:
        return None
    most = max(full, default=0) * max(path.size(part.slot) for part in peeled.columns) / 4
    most = max(most, 8 * max([p.nnz for p in found if not p.is_dense], default=0))
    with contextlib.suppress(TooFullError):
        return _candidate(path, sites, peeled.nodes, peeled.rows, peeled.columns, ways, "sums peeled", most=most)
    return None


def _cheapest(candidates: Sequence[_Candidate]) -> _Candidate:
    """The candidate with the smallest time; the sweeps of those that take longer in any case are not decided on."""
    best = math.inf
    for one in sorted(candidates, key=lambda c: c.least):
        if one.time == math.inf and one.least < best:
            one.decide()
        best = min(best, one.time)
    return min(candidates, key=lambda c: c.time)


def _candidate(
    path: Path,
    sites: Sites,
    nodes: Sequence[Node],
    rows: list[IndexMap],
    columns: list[IndexMap],
    ways: Ways,
    why: str,
    blocks: list[list[Pattern]] | None = None,
    most: float = math.inf,
) -> _Candidate:
    targets = _wanted(path, rows)
    sources = [Group(slot) for slot in dict.fromkeys(p.slot for p in columns)]
    if blocks is None:
        given, made = ([path.values[slot] for slot in dict.fromkeys(p.slot for p in of)] for of in (columns, rows))
        blocks = patterns(nodes, given, made, sites, most)
    if not ways.single_rows:
        blocks = [
            row if group.index is None else [p.rows(group.index) for p in row]
            for row, group in zip(blocks, targets, strict=True)
        ]
    assignment = DirectionAssignment(path, nodes, targets, sources, blocks, ways)
    return _Candidate(nodes, rows, columns, targets, sources, blocks, assignment, why)


def _wanted(path: Path, rows: Sequence[IndexMap]) -> list[Group]:
    """Per value at the targets' end, the elements that some target consists of."""
    groups = []
    for slot in dict.fromkeys(p.slot for p in rows):
        inner = [p.inner for p in rows if p.slot == slot]
        known = [i for i in inner if i is not None]
        if len(known) < len(inner):
            groups.append(Group(slot))
            continue
        there = np.zeros(path.size(slot), bool)
        for index in known:
            there[index] = True
        count = int(np.count_nonzero(there))
        if len(known) == 1 and count == len(known[0]):
            groups.append(Group(slot, known[0]))
        else:
            groups.append(Group(slot, None if count == len(there) else np.flatnonzero(there)))
    return groups


# ---- dense rows and columns of a sparse pattern ----------------------------------------------------------------------


def _partial(path: Path, best: _Candidate, ways: Ways) -> _Candidate | None:
    """The same with unusually full rows and columns as groups of their own (an arrowhead: three seeds in place of n).

    Partial separability of this kind goes back to Coleman and Verma, "The efficient computation of sparse Jacobian
    matrices using automatic differentiation" (1998).
    """
    full = [p for row in best.patterns for p in row if p.is_dense]
    if not best.targets or not best.sources or any(min(p.shape) > _THIN for p in full):
        return None
    if all(p.is_dense or p.is_zero for row in best.patterns for p in row):
        # all rows of a value are alike, and all columns
        return None
    row_split = [_full(path, g, counts(row, 0)) for g, row in zip(best.targets, best.patterns, strict=True)]
    column_split = [_full(path, g, counts([row[j] for row in best.patterns], 1)) for j, g in enumerate(best.sources)]
    if all(len(s) == 1 for s in [*row_split, *column_split]):
        return None
    targets, sources, patterns = [], [], []
    for row, groups in zip(best.patterns, row_split, strict=True):
        for group, kept in groups:
            targets.append(group)
            parts = [p if kept is None else p.rows(kept) for p in row]
            patterns.append([q for p, split in zip(parts, column_split, strict=True) for q in _columns_of(p, split)])
    sources = [group for split in column_split for group, _ in split]
    assignment = DirectionAssignment(path, best.nodes, targets, sources, patterns, ways)
    return _Candidate(
        best.nodes, best.rows, best.columns, targets, sources, patterns, assignment, "partial compression of full rows"
    )


def _full(path: Path, group: Group, entries: np.ndarray) -> list[tuple[Group, np.ndarray | None]]:
    """A group split into its unusually full elements and the others, each with the positions within the group."""
    if entries.max(initial=0) <= _FULL:
        return [(group, None)]
    full = entries > max(float(_FULL), 8.0 * float(entries.mean()))
    if not full.any() or full.all():
        return [(group, None)]
    everything = np.arange(path.size(group.slot)) if group.index is None else group.index
    return [(Group(group.slot, everything[part]), np.flatnonzero(part)) for part in (full, ~full)]


def _columns_of(pattern: Pattern, split: Sequence[tuple[Group, np.ndarray | None]]) -> list[Pattern]:
    if len(split) == 1:
        return [pattern]
    matrix = sparse.csc_array(pattern.to_csr())
    return [Pattern.csr(sparse.csr_array(matrix[:, index])) for _, index in split]


def _with_single_rows(options: Options, sparsity: Any, node: Node) -> Options:
    """The options for sweeps row by row, as a node has a rule that is not linear; raise if they exclude it.

    There is no matrix that such a rule multiplies with (`engine.derivatives.linearity`). A row of the Jacobian is then
    what the gradient of its element gives, as in TensorFlow: nothing shares a seed, no end is peeled, nothing is
    multiplied over cuts, and a Hessian is no more symmetric than its rows are.
    """
    why = f"the gradient rule of {name_of(node)} is not seen to be linear in the cotangent"
    if options.mode == "forward":
        raise InvalidArgumentError(
            f"jacobian: argument `mode` must be auto or reverse where {why}: a row is what the rule makes of the "
            f"cotangent of its element; got 'forward'"
        )
    if sparsity is not None:
        raise InvalidArgumentError(
            f"jacobian: argument `sparsity` must be left out where {why}: rows cannot share a sweep then"
        )
    return options._replace(mode="reverse", symmetric=False)


def _full_patterns(path: Path) -> list[list[Pattern]]:
    """Every entry of each block that a way leads through: of a zero cotangent such a rule may make anything."""
    return [
        [
            Pattern.dense(path.size(target), path.size(source))
            if is_connected(path.nodes, path.values[source], path.values[target])
            else Pattern.zero(path.size(target), path.size(source))
            for source in dict.fromkeys(path.sources)
        ]
        for target in dict.fromkeys(path.targets)
    ]
