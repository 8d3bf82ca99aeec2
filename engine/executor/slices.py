"""Sums of slices as rows: where the same slices meet, one row adds all of them up in registers.

To add one slice after the other goes through the sum as many times as there are slices.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.compiler.passes.slice_sum import Box, added_up, box_of, slice_sum, terms_of
from engine.executor.hidden import Hidden, Writer, actual_of, ref_of
from engine.executor.own_loops import FUSES, MOST_OPERANDS, STEPS
from engine.executor.refs import Ref, elementwise
from engine.executor.vocabulary import write

_FEW = 1 << 8
"""Elements of a region up to which a row for each slice takes less than one that does several steps."""
_MOST_REGIONS = 1 << 8
"""Regions of which rows are made; more than three axes may have more."""
_MEANINGS = {"+": "add ab", "-": "subtract ab", "A": "+ of *", "B": "- of *"}
"""By how a part is added: the step of a fused loop."""


def sum_of_slices(recorder: Writer, *operands: Any, aval: Any, keys: Any, hows: str) -> Hidden:
    """The rows of a `slice_sum`."""
    shape, dtype = aval.shape, aval.dtype.numpy
    boxes = [box_of(shape, key) for key in keys]
    ends = [sorted({0, d, *[end for box in boxes for end in box[axis]]}) for axis, d in enumerate(shape)]
    regions = list(itertools.product(*map(itertools.pairwise, ends)))
    largest = max(math.prod(end - start for start, end in region) for region in regions)
    if not FUSES or dtype.char not in "fd" or len(regions) > _MOST_REGIONS or largest < _FEW:
        out = recorder.computed(np.empty(shape, dtype))
        return added_up(out, terms_of(operands, keys, hows), functools.partial(write, recorder))
    reals = [actual_of(x) for x in operands]
    result = recorder.computed(slice_sum.kernel(*reals, aval=aval, keys=keys, hows=hows))
    zero = recorder.constant(np.zeros((), dtype))
    parts = [
        (box, how, _shown(ref_of(recorder, x), key), None if factor is None else ref_of(recorder, factor))
        for box, (key, how, x, factor) in zip(boxes, terms_of(operands, keys, hows), strict=True)
    ]
    for region in regions:
        meeting = [
            (how, [_part(x, box, region), *([] if factor is None else [factor])])
            for box, how, x, factor in parts
            if all(a <= start and end <= b for (start, end), (a, b) in zip(region, box, strict=True))
        ]
        if len(meeting) < len(parts):
            # where a part has nothing it adds 0
            meeting.append(("+", [zero]))
        _add_up(recorder, meeting, _part(result.ref, [(0, d) for d in shape], region))
    return result


def _shown(x: Ref, key: Sequence[Any]) -> Ref:
    """A part with an axis for each number of its key."""
    shape, strides = list(x.shape), list(x.strides)
    for axis, k in enumerate(key):
        if not isinstance(k, slice):
            shape.insert(axis, 1)
            strides.insert(axis, 0)
    return Ref(x.root, x.offset, tuple(shape), tuple(strides), x.dtype)


def _part(x: Ref, box: Sequence[tuple[int, int]], region: Box) -> Ref:
    """The part that an array, which is somewhere, has in a region."""
    offset = sum((start - a) * step for (start, _), (a, _), step in zip(region, box, x.strides, strict=True))
    return Ref(x.root, x.offset + offset, tuple([end - start for start, end in region]), x.strides, x.dtype)


def _add_up(recorder: Writer, parts: Sequence[tuple[str, list[Ref]]], out: Ref) -> None:
    """Rows that add parts up one after the other."""
    (how, first), *rest = parts
    meanings, operands = ["load", *["multiply ab"] * (how in "AB"), *["negative a"] * (how in "-B")], list(first)
    for how, more in rest:
        if len(operands) + len(more) > MOST_OPERANDS:
            recorder.add(elementwise((_fused(meanings, out),), [*operands, out]))
            meanings, operands = ["load"], [out]
        meanings.append(_MEANINGS[how])
        operands += more
    name = _fused(meanings, out) if len(meanings) > 1 else f"copy_{out.dtype.itemsize}"
    recorder.add(elementwise((name,), [*operands, out]))


def _fused(meanings: Sequence[str], out: Ref) -> str:
    """The loop of some steps."""
    return f"fused_{out.dtype.char}_{''.join([STEPS[meaning] for meaning in meanings])}"
