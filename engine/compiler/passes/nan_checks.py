"""Speculative NaN checks: a program multiplies without checks and looks for a NaN once, at a later result.

`engine.core.structural.scale` multiplies a cotangent by a partial derivative, but a zero stays zero even if the partial
is infinite or NaN there. So it looks at each of its results for a NaN, which in small programs costs as much as
multiplying. But the ops behind it in a sweep propagate NaN: sums and products of a NaN are NaN. So it is enough to
multiply with `numpy.multiply` and to check one result through which all products must pass. If there is no NaN, no zero
has met an infinity and each product was right to the bit. If there is one, the program runs again, with `scale` itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.compiler.ir.instruction import Instruction
from engine.core.aval import Aval
from engine.core.structural import has_nan, scale


class SpeculationFailed(Exception):
    """Raised by `check` inside a program, and caught by what runs it."""


@dataclass(frozen=True)
class Speculation:
    """The checks on which a program may speculate.

    Attributes
    ----------
    products : set of int
        Positions of `scale` instructions that may multiply without a check.
    checks : set of int
        Positions of instructions whose result to check.
    """

    products: frozenset[int]
    checks: frozenset[int]


def check(x: Any) -> None:
    """Raise `SpeculationFailed` if there is a NaN (or, among complex numbers, an infinity)."""
    if has_nan(x):
        raise SpeculationFailed


def speculate(instructions: Sequence[Instruction], avals: dict[int, Aval]) -> Speculation:
    """Which products of a program without effects need no check, and which results to check instead.

    For each product that is the smallest result that must be NaN if the product is.
    """
    if not any(instruction.op is scale for instruction in instructions):
        return Speculation(frozenset(), frozenset())
    users: dict[int, list[int]] = {}
    products: set[int] = set()
    checks: set[int] = set()
    watched: set[int] = set()
    smallest: dict[int, tuple[int, int]] = {}
    for i in reversed(range(len(instructions))):
        instruction = instructions[i]
        op = instruction.op
        value_id = instruction.outputs[0] if len(instruction.outputs) == 1 else -1
        size = avals[value_id].size if value_id >= 0 else None
        if size and avals[value_id].dtype.is_differentiable:
            # the smallest result that is NaN if this one is, as (size, -position); a view is as good as what it shows
            by = users.get(value_id, ())
            sizes = [smallest[user] for user in by if user in smallest]
            if not op.shares:
                sizes.append((size, -i))
            if sizes:
                smallest[i] = min(sizes)
            if not watched.isdisjoint(by):
                watched.add(i)
            if op is scale:
                products.add(i)
                if i not in watched:
                    checks.add(-smallest[i][1])
                    watched.add(i)
        kept = instruction.inputs if op.keeps_nan is None else [instruction.inputs[k] for k in op.keeps_nan]
        for operand in kept:
            users.setdefault(operand, []).append(i)
    return Speculation(frozenset(products), frozenset(checks))
