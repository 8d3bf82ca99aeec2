"""Slice sum: arrays that slices are added to take these where they belong, without zeros around each.

The gradient of slices is a sum of arrays that are zero but for one slice each. To make each of them, and to add it up,
goes through all of the result three times; to add the slice where it belongs goes through the slice alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from engine.core.aval import Aval
from engine.ops.arithmetic import add
from engine.ops.indexing import getitem_back_op, numpy_key
from engine.program.instruction import Instruction, without_unused
from engine.program.kernels import instruction_op
from engine.runtime.buffer_pool import empty
from engine.runtime.tuning import TUNING

_LEAST = TUNING.slice_sum_bytes
"""Bytes of an array from which on it pays."""

Key = tuple[Any, ...]
Box = tuple[tuple[int, int], ...]
"""Per axis, where it begins and ends."""


def added_up(out: Any, parts: Sequence[Any], keys: Sequence[Key], write: Callable[[Any, Key, Any], None]) -> Any:
    """Fill an array with the sum of parts, each of which belongs where its key says.

    Where a part has nothing it would add 0, which makes a zero positive: once, at the end, is as good.
    """
    boxes = [_box(out.shape, key) for key in keys]
    write(out, keys[0], parts[0])
    zero = np.zeros((), out.dtype)
    for edge in _around(out.shape, boxes[0]):
        write(out, edge, zero)
    for key, part in zip(keys[1:], parts[1:], strict=True):
        here = out[key]
        here += part
    for edge in _around(out.shape, _common(boxes)):
        here = out[edge]
        here += zero[()]
    return out


def _write(out: Any, key: Key, x: Any) -> None:
    out[key] = x


def _box(shape: Sequence[int], key: Key) -> Box:
    """Where a key of slices and numbers, which may be of fewer axes, selects."""
    ends = [k.indices(d)[:2] if isinstance(k, slice) else (k % d, k % d + 1) for k, d in zip(key, shape, strict=False)]
    return (*ends, *[(0, d) for d in shape[len(key) :]])


def _common(boxes: Sequence[Box]) -> Box:
    """What several boxes have in common."""
    ends = [(max(a for a, _ in axis), min(b for _, b in axis)) for axis in zip(*boxes, strict=True)]
    return tuple([(a, max(a, b)) for a, b in ends])


def _around(shape: Sequence[int], box: Box) -> list[Key]:
    """What is around a box: slices along the first axis, and those of the rest along the others."""
    found: list[Key] = []
    inside: Key = ()
    for d, (start, end) in zip(shape, box, strict=True):
        found += [(*inside, slice(a, b)) for a, b in ((0, start), (end, d)) if a < b]
        inside = (*inside, slice(start, end))
        if start >= end:
            break
    return found


slice_sum = instruction_op(
    "slice_sum",
    __name__,
    lambda *parts, aval, keys: added_up(empty(aval.shape, aval.dtype.numpy), parts, keys, _write),
    lambda *parts, aval, keys: aval,
    "The sum of arrays, the later ones of which are zero but for a slice.",
    flops=lambda operands, results, params: sum([a.size or 0 for a in operands[1:]]),
)


def sum_slices(
    instructions: Sequence[Instruction], avals: dict[int, Aval], outputs: Collection[int]
) -> tuple[list[Instruction], int]:
    """The instructions with sums of slices among zeros replaced, and how many additions were.

    Parameters
    ----------
    outputs : collection of int
        Value ids that are live-out.
    """
    made = {i.outputs[0]: i for i in instructions if i.op is getitem_back_op}
    if not made:
        return list(instructions), 0
    uses = Counter([*(s for i in instructions for s in i.inputs), *outputs])
    found, count = [], 0
    for instruction in instructions:
        new = instruction
        if instruction.op is add and _is_large(avals[instruction.outputs[0]]):
            new = _replaced(instruction, made, avals, uses) or instruction
        if new is not instruction:
            made[new.outputs[0]] = new
            count += 1
        found.append(new)
    return (without_unused(found, outputs), count) if count else (found, 0)


def _is_large(aval: Aval) -> bool:
    return aval.is_static and aval.dtype.is_floating and (aval.size or 0) * aval.dtype.size >= _LEAST


def _replaced(
    instruction: Instruction, made: dict[int, Instruction], avals: dict[int, Aval], uses: Counter[int]
) -> Instruction | None:
    """An addition of a slice among zeros, or of anything to a sum of such."""
    out = avals[instruction.outputs[0]]
    if any(avals[s].shape != out.shape for s in instruction.inputs):
        return None
    first, last = [_term(s, made, avals, uses) for s in instruction.inputs]
    if len(last[1]) > 1 or (len(first[1]) == 1 and last[1] == _ALL):
        # in sums of two the order does not matter
        first, last = last, first
    if len(last[1]) > 1 or first[1] == last[1] == _ALL:
        return None
    params = {"aval": out, "keys": (*first[1], *last[1])}
    return Instruction(slice_sum, (*first[0], *last[0]), params, instruction.outputs, instruction.where)


_ALL: tuple[Key, ...] = ((),)
"""The key of what is everywhere."""


def _term(
    s: int, made: dict[int, Instruction], avals: dict[int, Aval], uses: Counter[int]
) -> tuple[tuple[int, ...], tuple[Key, ...]]:
    """What a value is the sum of, and where each part belongs: itself, everywhere, if nothing better is known."""
    source = made.get(s)
    if source is not None and uses[s] == 1:
        if source.op is slice_sum:
            return source.inputs, source.params["keys"]
        key = _key(source, avals[s])
        if key is not None:
            return source.inputs[:1], (key,)
    return (s,), _ALL


def _key(instruction: Instruction, out: Aval) -> Key | None:
    """Where a slice belongs; None if that is no box that lies in one piece along each axis."""
    if instruction.op is not getitem_back_op or len(instruction.inputs) != 2:
        return None
    shape = tuple([d or 0 for d in out.shape or ()])
    key: Any = numpy_key(shape, instruction.params["spec"], (), instruction.params.get("lead", 0))
    key = key if isinstance(key, tuple) else (key,)
    if ... in key:
        at = key.index(...)
        key = (*key[:at], *[slice(None)] * (len(shape) - len(key) + 1), *key[at + 1 :])
    if not all(isinstance(k, int) or (isinstance(k, slice) and k.step in (None, 1)) for k in key):
        return None
    # a number for each axis would not give an array that can be added to
    return key if len(key) < len(shape) or any(isinstance(k, slice) for k in key) else None
