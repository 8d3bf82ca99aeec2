"""`Code`: instructions in a row with their values, and all that passes do to them.

It is in static single assignment form: each value has an id (an int) and is written once, as an input, a constant or
an instruction's result. Whoever makes a value, asks who makes or reads one, puts instructions in place of others or
drops what nobody needs does so here; so a pass says what it looks for, and what it makes of that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from engine.compiler.ir.instruction import Instruction, is_stateful, without_unused
from engine.compiler.ir.layout import Order, order_of, order_of_result
from engine.core.aval import Aval
from engine.core.dtypes import as_dtype
from engine.core.op import Op
from engine.core.value import Value
from engine.runtime.structs import field, struct

_FEW = 1 << 12
"""Bytes up to which constants are compared by contents."""


@struct(slots=True)
class Code:
    """Instructions with their values."""

    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    """Value ids of the arguments and results."""
    constants: dict[int, Any] = field(default_factory=dict)
    """Value id to array."""
    instructions: list[Instruction] = field(default_factory=list)
    """In the order of execution."""
    avals: dict[int, Aval] = field(default_factory=dict)
    """Shape and dtype of each value."""
    orders: dict[int, Order] = field(default_factory=dict)
    """Knowledge of how each value lies in memory; nothing is known where a program comes from elsewhere."""

    # ---- values ------------------------------------------------------------------------------------------------------

    def new_value(self, aval: Aval, order: Order = Order.UNKNOWN) -> int:
        """The id of a new value."""
        value = len(self.avals)
        while value in self.avals:
            value += 1
        self.avals[value] = aval
        if order is not Order.CONTIGUOUS and (size := aval.size) is not None and size <= 1:
            order = Order.CONTIGUOUS
        self.orders[value] = order
        return value

    def new_constant(self, array: Any) -> int:
        """The id of a new constant."""
        value = self.new_value(Aval(array.shape, as_dtype(array.dtype)), order_of(array))
        self.constants[value] = array
        return value

    def forget(self, values: Iterable[int]) -> None:
        """Take back values that nothing makes or reads."""
        for value in values:
            for facts in (self.avals, self.orders, self.constants):
                facts.pop(value, None)

    def new(
        self, op: Op, inputs: tuple[int, ...], params: dict[str, Any], where: str = "", like: Aval | None = None
    ) -> Instruction:
        """An instruction of one new result, whose aval is that of `like`, if it is given."""
        operands = [self.avals[s] for s in inputs]
        aval = op.result_avals(operands, params) if like is None else like
        order = order_of_result(op, [self.orders.get(s, Order.UNKNOWN) for s in inputs], operands, params, aval)
        return Instruction(op, inputs, params, (self.new_value(aval, order),), where)

    @property
    def is_stateful(self) -> bool:
        """Whether any instruction may have effects."""
        return any(is_stateful(each.op, each.params) for each in self.instructions)

    # ---- who makes and reads them ------------------------------------------------------------------------------------

    def makers(self) -> dict[int, Instruction]:
        """The instruction that makes each value."""
        return {s: each for each in self.instructions for s in each.outputs}

    def uses(self, results: Iterable[int] = ()) -> Counter[int]:
        """How often each value is read; a result of the whole, or another one, is read once more."""
        return Counter([*self.outputs, *results, *[s for each in self.instructions for s in each.inputs]])

    # ---- changes -----------------------------------------------------------------------------------------------------

    def rewrite(self, by: Callable[[Instruction], Sequence[Instruction] | None], backwards: bool = False) -> int:
        """Put in place of each instruction those that `by` gives for it, if any; how many were replaced.

        They are asked for in the order of execution, or against it if `backwards`.
        """
        count = 0
        parts: list[Sequence[Instruction]] = []
        for each in reversed(self.instructions) if backwards else self.instructions:
            made = by(each)
            count += made is not None
            parts.append((each,) if made is None else made)
        if count:
            self.instructions = [each for part in (reversed(parts) if backwards else parts) for each in part]
            self.drop_unused()
        return count

    def drop_unused(self) -> int:
        """Drop instructions and constants that no result needs, effects apart; how many instructions."""
        live = without_unused(self.instructions, self.outputs)
        dropped = len(self.instructions) - len(live)
        self.instructions = live
        needed = {*self.outputs, *[s for each in live for s in each.inputs]}
        self.constants = {s: a for s, a in self.constants.items() if s in needed}
        return dropped


def reading(each: Instruction, by: Mapping[int, int]) -> Instruction:
    """An instruction that reads other values in place of some."""
    inputs = tuple([by.get(s, s) for s in each.inputs])
    return each if inputs == each.inputs else Instruction(each.op, inputs, each.params, each.outputs, each.where)


def key_of_array(array: Any) -> tuple[Any, ...]:
    """A key that equal arrays which lie alike share; large ones are compared by where they are."""
    once = array[tuple([slice(0, None if step else 1) for step in array.strides])]
    contents = once.tobytes() if once.nbytes <= _FEW else id(array)
    return "constant", array.dtype.str, array.shape, array.strides, contents


class ValueTable:
    """Facts about each value id: those that a `TracedValue` reads of `engine.compiler.lowering.Lowering`."""

    avals: dict[int, Aval]
    structures: dict[int, Any]
    orders: dict[int, Any]

    def apply(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> TracedValue | tuple[TracedValue, ...]:
        """The traced result of an op on traced values and arrays (a tuple if the op has several results)."""
        raise NotImplementedError


class TracedValue(Value):
    """A value of a program that is being lowered, to which passes apply ops as a graph does to symbols."""

    __slots__ = ("lowering", "value_id")
    level = 1

    def __init__(self, lowering: ValueTable, value_id: int) -> None:
        self.lowering = lowering
        self.value_id = value_id

    @property
    def aval(self) -> Aval:
        """Shape and dtype."""
        return self.lowering.avals[self.value_id]

    @property
    def structure(self) -> Any:
        """Facts about the contents (`engine.compiler.passes.algebraic`), or None."""
        return self.lowering.structures.get(self.value_id)

    @property
    def order(self) -> Order:
        """How it lies in memory (`engine.compiler.ir.layout.Order`), as far as it is known."""
        return self.lowering.orders[self.value_id]

    def _bind(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> TracedValue | tuple[TracedValue, ...]:
        return self.lowering.apply(op, inputs, params)

    def __repr__(self) -> str:
        return f"v{self.value_id}:{self.aval}"
