"""Connectionist temporal classification: labels without their times, the best labelings, and how far two differ.

The loss is made of other ops (`dualgrad.extras.ctc_functions`). What is here has no derivative.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from engine.core.aval import Aval
from engine.core.batching import refused
from engine.core.dtypes import bool_, float32, int64
from engine.core.kinds import nondifferentiable
from engine.core.op import Op
from engine.runtime import elementary
from engine.runtime.errors import InvalidArgumentError

Indexed = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Indices, values and shape of a sparse matrix whose row is an element of the batch."""

_ALONE = refused("sequences cannot be vectorized: they are a batch already")


def _sparse(rows: Sequence[Sequence[int]]) -> Indexed:
    places = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
    longest = max(map(len, rows), default=0)
    values = np.array([c for row in rows for c in row], np.int64)
    return np.array(places, np.int64).reshape(-1, 2), values, np.array([len(rows), longest], np.int64)


def _by_row(indices: np.ndarray, values: np.ndarray) -> dict[tuple[int, ...], list[Any]]:
    """The values of each row, a row being all of an index but its last number."""
    rows: dict[tuple[int, ...], list[Any]] = defaultdict(list)
    for place, value in zip(indices.tolist(), values.tolist(), strict=True):
        rows[tuple(place[:-1])].append(value)
    return rows


# ---- labels ----------------------------------------------------------------------------------------------------------


def _labels_kernel(
    indices: Any, values: Any, times: Any, *, classes: int, blank: int, lenient: bool
) -> tuple[Any, Any, Any]:
    by_row = _by_row(indices, values)
    rows = [by_row.get((i,), []) for i in range(len(times))]
    wrong = values[(values < 0) | (values >= classes) | (values == blank)]
    if wrong.size:
        raise InvalidArgumentError(
            f"ctc_loss: labels must be in [0, {classes}) and not {blank}, the blank's; got {wrong[0]}"
        )
    dense = np.zeros((len(rows), max(map(len, rows), default=0)), np.int64)
    fits = np.ones(len(rows), np.bool_)
    for i, row in enumerate(rows):
        dense[i, : len(row)] = row
        needed = len(row) + sum(a == b for a, b in pairwise(row))
        if needed > times[i]:
            if not lenient:
                raise InvalidArgumentError(
                    f"ctc_loss: Not enough time for target transition sequence (required: {needed}, available: "
                    f"{times[i]}), element {i} of the batch; ignore_longer_outputs_than_inputs=True gives it loss 0"
                )
            fits[i] = False
    return dense, np.array([len(row) for row in rows], np.int64), fits


def _labels_abstract(
    indices: Aval, values: Aval, times: Aval, *, classes: int, blank: int, lenient: bool
) -> tuple[Aval, Aval, Aval]:
    batch = None if times.shape is None else times.shape[0]
    return Aval((batch, None), int64), Aval((batch,), int64), Aval((batch,), bool_)


labels_op = nondifferentiable(
    "labels_op",
    _labels_kernel,
    abstract=_labels_abstract,
    batch=_ALONE,
    type="CTCLabels",
    strict=False,
    args=("indices", "values", "times"),
    multi=True,
    doc="Sparse labels as a matrix, how many each row has, and whether there is time for them.",
)


# ---- decoders --------------------------------------------------------------------------------------------------------


def _merged(labels: Iterable[int]) -> list[int]:
    return [label for label, _ in groupby(labels)]


def _checked_times(name: str, logits: np.ndarray, times: np.ndarray) -> None:
    if len(times) != logits.shape[1] or (len(times) and max(times) > len(logits)):
        raise InvalidArgumentError(
            f"{name}: sequence_length must be one number of at most {len(logits)} for each of {logits.shape[1]} "
            f"sequences, got {times.tolist()}"
        )


def _greedy_kernel(logits: Any, times: Any, *, merge: bool, blank: int) -> tuple[Any, Any, Any, Any]:
    _checked_times("ctc_greedy_decoder", logits, times)
    blank %= logits.shape[2]
    best = logits.argmax(2)
    rows = []
    for i, length in enumerate(times):
        labels = best[:length, i].tolist()
        rows.append([c for c in (_merged(labels) if merge else labels) if c != blank])
    inside = np.arange(len(logits))[:, None] < times
    total = -np.where(inside, logits.max(2), 0).sum(0)[:, None]
    return (*_sparse(rows), total.astype(logits.dtype))


def _greedy_abstract(logits: Aval, times: Aval, *, merge: bool, blank: int) -> tuple[Aval, ...]:
    batch = None if logits.shape is None else logits.shape[1]
    return Aval((None, 2), int64), Aval((None,), int64), Aval((2,), int64), Aval((batch, 1), logits.dtype)


greedy_op = nondifferentiable(
    "greedy_op",
    _greedy_kernel,
    abstract=_greedy_abstract,
    batch=_ALONE,
    type="CTCGreedyDecoder",
    strict=False,
    args=("inputs", "sequence_length"),
    multi=True,
    doc="The most likely class at each time, without blanks.",
)


class _Beam:
    """A labeling, and the logarithms of how likely it is if the last time has a blank, a label, or either."""

    __slots__ = ("children", "label", "new", "old", "parent")

    def __init__(self, parent: _Beam | None, label: int) -> None:
        self.parent, self.label = parent, label
        self.children: dict[int, _Beam] = {}
        self.old = self.new = (-np.inf, -np.inf, -np.inf)

    def labels(self) -> list[int]:
        """From the first to the last."""
        labels, beam = [], self
        while beam.parent is not None:
            labels.append(beam.label)
            beam = beam.parent
        return labels[::-1]


def _total(beam: _Beam) -> float:
    return beam.new[2]


def _searched(scores: np.ndarray, width: int) -> list[_Beam]:
    """The best labelings of one sequence, the best first. `scores` are logarithms; the last class is the blank."""
    root = _Beam(None, -1)
    root.new = (0.0, -np.inf, 0.0)
    beams = [root]
    for row in scores.tolist():
        blank = row[-1]
        for beam in beams:
            beam.old = beam.new
        for beam in beams:
            label = -np.inf
            if beam.parent is not None:
                label = beam.new[1]
                if beam.parent.new[2] != -np.inf:
                    label = np.logaddexp(label, beam.parent.old[0 if beam.label == beam.parent.label else 2])
                label = float(label + row[beam.label])
            beam.new = (beam.old[2] + blank, label, float(np.logaddexp(beam.old[2] + blank, label)))
        before = beams
        beams = sorted(beams, key=_total)
        for beam in before:
            if len(beams) == width and beam.old[2] <= _total(beams[0]):
                continue
            for c in range(len(row) - 1):
                score = row[c] + beam.old[0 if c == beam.label else 2]
                child = beam.children.get(c) or beam.children.setdefault(c, _Beam(beam, c))
                if child.new[2] != -np.inf or (len(beams) == width and score <= _total(beams[0])):
                    continue
                if len(beams) == width:
                    beams.pop(0).new = (-np.inf, -np.inf, -np.inf)
                child.old = (-np.inf, -np.inf, -np.inf)
                child.new = (-np.inf, score, score)
                beams.append(child)
                beams.sort(key=_total)
        beams.reverse()
    return beams


def _beam_kernel(logits: Any, times: Any, *, width: int, paths: int, merge: bool) -> tuple[Any, ...]:
    _checked_times("ctc_beam_search_decoder", logits, times)
    shifted = logits - logits.max(2, keepdims=True)
    scores = (shifted - elementary.log(elementary.exp(shifted).sum(2, keepdims=True))).astype(np.float64)
    rows: list[list[list[int]]] = [[] for _ in range(paths)]
    totals = np.zeros((logits.shape[1], paths), logits.dtype)
    for i, length in enumerate(times):
        beams = _searched(scores[:length, i], width)
        if len(beams) < paths:
            raise InvalidArgumentError(f"ctc_beam_search_decoder: {paths} paths asked for, {len(beams)} found")
        for k, beam in enumerate(beams[:paths]):
            rows[k].append(_merged(beam.labels()) if merge else beam.labels())
            totals[i, k] = _total(beam)
    return (*[part for path in rows for part in _sparse(path)], totals)


def _beam_abstract(logits: Aval, times: Aval, *, width: int, paths: int, merge: bool) -> tuple[Aval, ...]:
    batch = None if logits.shape is None else logits.shape[1]
    return (
        *[Aval((None, 2), int64), Aval((None,), int64), Aval((2,), int64)] * paths,
        Aval((batch, paths), logits.dtype),
    )


beam_op = nondifferentiable(
    "beam_op",
    _beam_kernel,
    abstract=_beam_abstract,
    batch=_ALONE,
    type="CTCBeamSearchDecoder",
    strict=False,
    args=("inputs", "sequence_length"),
    multi=True,
    doc="The most likely labelings, found by following the best beginnings.",
)


# ---- edit distance ---------------------------------------------------------------------------------------------------


def _edits(a: Sequence[Any], b: Sequence[Any]) -> int:
    """How many insertions, deletions and replacements make `a` of `b`."""
    before = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (x != y)))
        before = row
    return before[-1]


def _distance_kernel(
    indices: Any, values: Any, shape: Any, truth_indices: Any, truth_values: Any, truth_shape: Any, *, normalize: bool
) -> np.ndarray:
    if len(shape) != len(truth_shape):
        raise InvalidArgumentError(f"edit_distance: ranks must be equal, got {len(shape)} and {len(truth_shape)}")
    out = np.zeros(np.maximum(shape, truth_shape)[:-1], np.float32)
    ours, theirs = _by_row(indices, values), _by_row(truth_indices, truth_values)
    for place in {*ours, *theirs}:
        hypothesis, truth = ours.get(place, []), theirs.get(place, [])
        edits = _edits(hypothesis, truth)
        out[place] = edits if not normalize else edits / len(truth) if truth else np.inf
    return out


def _distance_abstract(*avals: Aval, normalize: bool) -> Aval:
    ranks = [a.shape[0] for a in (avals[2], avals[5]) if a.shape is not None and a.shape[0] is not None]
    return Aval((None,) * (ranks[0] - 1) if ranks else None, float32)


edit_distance_op: Op = nondifferentiable(
    "edit_distance_op",
    _distance_kernel,
    abstract=_distance_abstract,
    batch=_ALONE,
    type="EditDistance",
    strict=False,
    args=("indices", "values", "shape", "truth_indices", "truth_values", "truth_shape"),
    doc="How many insertions, deletions and replacements lie between the rows of two sparse tensors.",
)
