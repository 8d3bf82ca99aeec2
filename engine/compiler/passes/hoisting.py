"""Hoisting: what takes long is computed of a table once, not of each of the many elements that are taken from it.

Where 30,000 observations gather the angles of 50 cameras, the sine of each angle is computed 600 times; and where
neighbors are two slices of a vector, all sines are computed twice. An elementwise op gives what is moved the bits that
it gives what is not, so it may as well come first. Then its results are gathered or sliced.

All of a table must be taken by somebody: of what nobody takes, nobody has asked for a sine, which may not be defined.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from engine.compiler.ir.instruction import Instruction, without_unused
from engine.compiler.ir.layout import Order
from engine.compiler.passes.index_maps import pieces_of, takes_parts, whole_shape
from engine.core.aval import Aval
from engine.core.op import Op
from engine.core.structural import contiguous
from engine.ops.gather import gather_op
from engine.ops.indexing import getitem_op
from engine.runtime.tuning import TUNING

_LEAST = TUNING.hoisted_elements
"""Elements that must be saved."""
_SHARE = 0.75
"""The largest table that pays, as a share of the elements that are taken from it."""


class _Move(NamedTuple):
    """Elements that are taken from vectors: by an index of known contents, or as a slice."""

    like: Instruction
    taken: Any


@dataclass(slots=True, eq=False)
class _Before:
    """A vector as it was before it was moved: a value of the program, or what an op makes of such vectors."""

    value: int | None
    op: Op | None = None
    operands: tuple[Any, ...] = ()
    params: dict[str, Any] = field(default_factory=dict)
    aval: Aval | None = None


def hoist(
    instructions: Sequence[Instruction],
    avals: dict[int, Aval],
    constants: dict[int, Any],
    orders: dict[int, Order],
    outputs: Sequence[int],
) -> tuple[list[Instruction], int]:
    """The instructions with what takes long before moves, and how many were moved.

    Parameters
    ----------
    avals, constants, orders : dict
        Of all values; those of new ones are added.
    outputs : sequence of int
        Value ids that are live-out.
    """
    if not any(each.op.is_costly for each in instructions):
        return list(instructions), 0
    work = _Hoisting(avals, constants, orders)
    for each in instructions:
        work.see(each)
    chosen = work.chosen(set(outputs))
    if not chosen:
        return list(instructions), 0
    out: list[Instruction] = []
    for each in instructions:
        if each.outputs[0] in chosen:
            out += work.moved(each)
        else:
            out.append(each)
    return without_unused(out, outputs), len(chosen)


class _Hoisting:
    """The vectors of a program as they were before they were moved."""

    def __init__(self, avals: dict[int, Aval], constants: dict[int, Any], orders: dict[int, Order]) -> None:
        self.avals, self.constants, self.orders = avals, constants, orders
        self.moves: dict[Any, _Move] = {}
        self.before: dict[int, tuple[Any, _Before]] = {}
        self.known: dict[Any, _Before] = {}
        self.costly: dict[int, list[tuple[int, Any]]] = {}
        self.made: list[Instruction] = []
        self.ids = itertools.count(max(avals) + 1)

    def see(self, each: Instruction) -> None:
        """Note what an instruction's result was before, if it is moved, or made of what is."""
        move = self._move(each)
        if len(each.outputs) != 1 or (move is None and not takes_parts(each.op, each.params)):
            return
        (value,) = each.outputs
        if move is not None:
            key, taken = move
            self.moves.setdefault(key, _Move(each, taken))
            self.before[value] = key, self._same(("value", each.inputs[0]), _Before(each.inputs[0]))
            return
        keys = {self.before[s][0] for s in each.inputs if s in self.before}
        shapes = {self.avals[s].shape for s in each.inputs if s not in self.before}
        if len(keys) != 1 or shapes - {()} or len(whole_shape(self.avals[value])) != 1:
            return
        (key,) = keys
        operands = tuple(
            [self.before[s][1] if s in self.before else self._same(("value", s), _Before(s)) for s in each.inputs]
        )
        sizes = {self._size(x) for x in operands if self._size(x) is not None}
        try:
            name = (each.op, tuple(map(id, operands)), tuple(sorted(each.params.items())))
            hash(name)
        except TypeError:
            return
        if len(sizes) == 1:
            aval = Aval((*sizes,), self.avals[value].dtype)
            before = self._same(name, _Before(None, each.op, operands, each.params, aval))
            self.before[value] = key, before
            if each.op.is_costly:
                self.costly.setdefault(id(before), []).append((value, key))

    def _same(self, name: Any, new: _Before) -> _Before:
        return self.known.setdefault(name, new)

    def _size(self, x: _Before) -> int | None:
        """Elements of a vector; None of a number."""
        shape = (self.avals[x.value] if x.value is not None else x.aval).shape  # type: ignore[union-attr]
        return shape[0] if shape else None

    def _move(self, each: Instruction) -> tuple[Any, Any] | None:
        """By what elements of a vector are taken, and which."""
        avals = [self.avals[s] for s in (*each.inputs, *each.outputs)]
        if any(not a.is_static or len(whole_shape(a)) != 1 for a in avals):
            return None
        if each.op is gather_op and each.inputs[1] in self.constants:
            return (each.inputs[1], avals[0].size), self.constants[each.inputs[1]]
        if each.op is getitem_op and len(each.inputs) == 1:
            pieces = pieces_of(each, self.avals, self.constants)
            if pieces is not None and pieces[0].axes == (0,):
                start = -pieces[0].shifts[0]
                taken = slice(start, start + (avals[1].size or 0))
                return (start, taken.stop, avals[0].size), taken
        return None

    def chosen(self, outputs: set[int]) -> set[int]:
        """The results of costly ops that are to be moved, in place of what the ops take."""
        found: set[int] = set()
        for uses in self.costly.values():
            values = [value for value, _ in uses if value not in outputs]
            before = self.before[uses[0][0]][1]
            size = self._size(before) or 0
            computed = sum([self.avals[value].size or 0 for value in values])
            if size > _SHARE * computed or computed - size < _LEAST:
                continue
            met = np.zeros(size, bool)
            for value in values:
                met[self.moves[self.before[value][0]].taken] = True
            if met.all():
                found.update(values)
        return found

    def moved(self, each: Instruction) -> list[Instruction]:
        """Instructions that make the result of a costly op of what it was before, and then move it."""
        key, before = self.before[each.outputs[0]]
        self.made = []
        value = self._value(before, each.where)
        like = self.moves[key].like
        self.made.append(Instruction(like.op, (value, *like.inputs[1:]), like.params, each.outputs, each.where))
        return self.made

    def _value(self, before: _Before, where: str) -> int:
        if before.value is None:
            assert before.op is not None and before.aval is not None
            operands = tuple([self._whole(x, where) for x in before.operands])
            before.value = self._new(before.aval)
            self.made.append(Instruction(before.op, operands, before.params, (before.value,), where))
        return before.value

    def _whole(self, before: _Before, where: str) -> int:
        """A vector side by side in memory, as what is gathered is: some loops give other bits where there are gaps."""
        value = self._value(before, where)
        if self.orders.get(value) is Order.CONTIGUOUS or not self.avals[value].shape:
            return value
        copied = self._same(("whole", value), _Before(None, contiguous, (before,), {}, self.avals[value]))
        if copied.value is None:
            copied.value = self._new(self.avals[value])
            self.made.append(Instruction(contiguous, (value,), {}, (copied.value,), where))
        return copied.value

    def _new(self, aval: Aval) -> int:
        value = next(self.ids)
        self.avals[value], self.orders[value] = aval, Order.CONTIGUOUS
        return value
