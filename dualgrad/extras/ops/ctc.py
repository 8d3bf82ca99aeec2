"""Connectionist temporal classification: labels without their times, the best labelings, and how far two differ.

The loss is made of other ops (`dualgrad.extras.ctc_functions`). What is here has no derivative.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from dualgrad.extras.ops.host import host_op
from engine.core.aval import Aval
from engine.core.batching import refused
from engine.core.dtypes import bool_, float32, int64
from engine.core.kinds import nondifferentiable
from engine.core.op import Op
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


def _labels_abstract(
    indices: Aval, values: Aval, times: Aval, *, classes: int, blank: int, lenient: bool
) -> tuple[Aval, Aval, Aval]:
    batch = None if times.shape is None else times.shape[0]
    return Aval((batch, None), int64), Aval((batch,), int64), Aval((batch,), bool_)


@host_op("CTCLabels", _labels_abstract, args=("indices", "values", "times"), batch=_ALONE, multi=True)
def labels_op(
    indices: Any, values: Any, times: Any, *, classes: int, blank: int, lenient: bool
) -> tuple[Any, Any, Any]:
    """Sparse labels as a matrix, how many each row has, and whether there is time for them."""
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


# ---- decoders --------------------------------------------------------------------------------------------------------


def _merged(labels: Iterable[int]) -> list[int]:
    return [label for label, _ in groupby(labels)]


def _checked_times(name: str, logits: np.ndarray, times: np.ndarray) -> None:
    if len(times) != logits.shape[1] or (len(times) and max(times) > len(logits)):
        raise InvalidArgumentError(
            f"{name}: sequence_length must be one number of at most {len(logits)} for each of {logits.shape[1]} "
            f"sequences, got {times.tolist()}"
        )


def _greedy_abstract(logits: Aval, times: Aval, *, merge: bool, blank: int) -> tuple[Aval, ...]:
    batch = None if logits.shape is None else logits.shape[1]
    return Aval((None, 2), int64), Aval((None,), int64), Aval((2,), int64), Aval((batch, 1), logits.dtype)


@host_op("CTCGreedyDecoder", _greedy_abstract, args=("inputs", "sequence_length"), batch=_ALONE, multi=True)
def greedy_op(logits: Any, times: Any, *, merge: bool, blank: int) -> tuple[Any, Any, Any, Any]:
    """The most likely class at each time, without blanks."""
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
