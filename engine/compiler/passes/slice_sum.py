"""Slice sum: arrays that slices are added to take these where they belong, without zeros around each.

The gradient of slices is a sum of arrays that are zero but for one slice each. To make each of them, and to add it up,
goes through all of the result three times; to add the slice where it belongs goes through the slice alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.compiler.ir.code import Code
from engine.compiler.ir.instruction import Instruction
from engine.compiler.ir.kernels import instruction_op
from engine.core.aval import Aval
from engine.core.op import Op
from engine.ops.arithmetic import add, negative
from engine.ops.indexing import getitem_back_op, numpy_key
from engine.runtime.buffer_pool import empty
from engine.runtime.tuning import TUNING

_LEAST = TUNING.slice_sum_bytes

Key = tuple[Any, ...]
Box = tuple[tuple[int, int], ...]
"""Per axis, where it begins and ends."""


def added_up(
    out: Any, parts: Sequence[Any], keys: Sequence[Key], hows: str, write: Callable[[Any, Key, Any], None]
) -> Any:
    """Fill an array with a sum of parts, each of which belongs somewhere and is added or subtracted: "+", "-".

    Where a part has nothing it would add 0, which makes a zero positive: once, at the end, is as good.
    """
    boxes = [box_of(out.shape, key) for key in keys]
    if keys[0] == () and hows[0] == "+":
        # a slice is added on the way to where the first part is copied anyway
        (first, second, *rest), at = parts, keys[1]
        for edge in _around(boxes[0], boxes[1]):
            write(out, edge, first[edge])
        (np.add if hows[1] == "+" else np.subtract)(first[at], second, out=out[at])
    else:
        (first, *rest), zero = parts, np.zeros((), out.dtype)
        write(out, keys[0], first if hows[0] == "+" else -first)
        for edge in _around(box_of(out.shape, ()), boxes[0]):
            write(out, edge, zero)
    for part, key, how in zip(rest, keys[-len(rest) :], hows[-len(rest) :], strict=True) if rest else ():
        here = out[key]
        if how == "+":
            here += part
        else:
            here -= part
    for edge in _around(_hull(boxes), _common(boxes)):
        here = out[edge]
        here += out.dtype.type(0)
    return out


def _write(out: Any, key: Key, x: Any) -> None:
    out[key] = x


def box_of(shape: Sequence[int], key: Key) -> Box:
    """Where a key of slices and numbers, which may be of fewer axes, selects."""
    ends = [k.indices(d)[:2] if isinstance(k, slice) else (k % d, k % d + 1) for k, d in zip(key, shape, strict=False)]
    return (*ends, *[(0, d) for d in shape[len(key) :]])


def _common(boxes: Sequence[Box]) -> Box:
    """The part that several boxes have in common."""
    ends = [(max(a for a, _ in axis), min(b for _, b in axis)) for axis in zip(*boxes, strict=True)]
    return tuple([(a, max(a, b)) for a, b in ends])


def _hull(boxes: Sequence[Box]) -> Box:
    """The least box around several: no part has anything around it, where zeros are."""
    return tuple([(min(a for a, _ in axis), max(b for _, b in axis)) for axis in zip(*boxes, strict=True)])


def _around(outer: Box, box: Box) -> list[Key]:
    """The surroundings of a box in another: slices along the first axis, and those of the rest along the others."""
    keys: list[Key] = []
    inside: Key = ()
    for (low, high), (start, end) in zip(outer, box, strict=True):
        keys += [(*inside, slice(a, b)) for a, b in ((low, start), (end, high)) if a < b]
        inside = (*inside, slice(start, end))
        if start >= end:
            break
    return keys


slice_sum = instruction_op(
    "slice_sum",
    __name__,
    lambda *operands, aval, keys, hows: added_up(empty(aval.shape, aval.dtype.numpy), operands, keys, hows, _write),
    lambda *operands, aval, keys, hows: aval,
    "The sum of arrays, with signs, the later ones of which are zero but for a slice.",
    flops=lambda operands, results, params: sum([a.size or 0 for a in operands[1:]]),
    keeps_nan=None,
)


def _places(op: Op) -> bool:
    """Whether an op puts slices in zeros."""
    return op is getitem_back_op or op is slice_sum


def sum_slices(code: Code) -> int:
    """Replace sums of slices among zeros; how many additions."""
    made = {i.outputs[0]: i for i in code.instructions if _places(i.op) or i.op is negative}
    slices = Counter([code.avals[s].shape for s, i in made.items() if _places(i.op)])
    paying = {a.shape for s, i in made.items() if _places(i.op) and _pays(a := code.avals[s], slices[a.shape])}
    if not paying:
        return 0
    terms = _Terms(made, code.avals, code.uses())

    def replaced(each: Instruction) -> list[Instruction] | None:
        if each.op is not add or code.avals[each.outputs[0]].shape not in paying:
            return None
        new = terms.added(each)
        if new is not None:
            made[new.outputs[0]] = new
        return None if new is None else [new]

    return code.rewrite(replaced)


def _pays(aval: Aval, slices: int) -> bool:
    return aval.is_static and aval.dtype.is_floating and aval.nbytes * slices >= _LEAST


_ALL: tuple[Key, ...] = ((),)
"""The key of what is everywhere."""


class _Terms(NamedTuple):
    """The makers of values that slices may be added to, and how often each value is used."""

    made: dict[int, Instruction]
    avals: dict[int, Aval]
    uses: Counter[int]

    def added(self, each: Instruction) -> Instruction | None:
        """An addition of a slice among zeros, or of anything to a sum of such."""
        out = self.avals[each.outputs[0]]
        if any(self.avals[s].shape != out.shape for s in each.inputs):
            return None
        first, last = map(self.of, each.inputs)
        if len(last[1]) > 1 or (len(first[1]) == 1 and last[1] == _ALL):
            # in sums of two the order does not matter
            first, last = last, first
        if len(last[1]) > 1 or first[1] == last[1] == _ALL:
            return None
        params = {"aval": out, "keys": (*first[1], *last[1]), "hows": first[2] + last[2]}
        return Instruction(slice_sum, (*first[0], *last[0]), params, each.outputs, each.where)

    def of(self, s: int) -> tuple[tuple[int, ...], tuple[Key, ...], str]:
        """The terms of a value, where each belongs, and how it is added; by default itself, everywhere."""
        source = self.made.get(s)
        if source is not None and self.uses[s] == 1:
            if source.op is slice_sum:
                return source.inputs, source.params["keys"], source.params["hows"]
            key = _key(source, self.avals[s])
            if key is not None:
                operands, how = self.signed(source.inputs[0])
                return operands, (key,), how
        operands, how = self.signed(s)
        return operands, _ALL, how

    def signed(self, s: int) -> tuple[tuple[int, ...], str]:
        """How a value is added, without the signs before it."""
        positive = True
        while (source := self.made.get(s)) is not None and source.op is negative:
            (s,), positive = source.inputs, not positive
        return (s,), "+" if positive else "-"


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
