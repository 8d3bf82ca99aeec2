"""Speculative NaN checks: a program multiplies without checks and looks for a NaN once, at a later result.

`engine.core.structural.scale` multiplies a cotangent by a partial derivative, but a zero stays zero even if the partial
is infinite or NaN there. So it looks at each of its results for a NaN, which in small programs costs as much as
multiplying. But the ops behind it in a sweep propagate NaN: sums and products of a NaN are NaN. So it is enough to
multiply with `numpy.multiply` and to check one result through which all products must pass. If there is no NaN, no zero
has met an infinity and each product was right to the bit. If there is one, the program runs again, with `scale` itself.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from engine.core.aval import Aval
from engine.core.op import Op
from engine.core.structural import broadcast_like_op, conj_op, has_nan, reshape_to, scale, sum_to_like_op
from engine.ops.arithmetic import add, multiply, negative, subtract
from engine.ops.linalg import matmul_op
from engine.ops.reduce import reduce_sum_op
from engine.ops.shape import matrix_transpose_op, transpose_op
from engine.program.instruction import Instruction
from engine.program.kernels import diagonal_product, identity_product, vector_product

_ALL = frozenset({0, 1})
_FIRST = frozenset({0})
PROPAGATES_NAN: dict[Op, Collection[int]] = {
    add: _ALL,
    subtract: _ALL,
    multiply: _ALL,
    negative: _ALL,
    conj_op: _ALL,
    matmul_op: _ALL,
    diagonal_product: _ALL,
    identity_product: _ALL,
    vector_product: _ALL,
    reshape_to: _ALL,
    transpose_op: _ALL,
    matrix_transpose_op: _ALL,
    reduce_sum_op: _ALL,
    sum_to_like_op: _FIRST,
    broadcast_like_op: _FIRST,
    scale: _FIRST,
}
"""Ops that make NaN of every NaN among the elements of these operands."""

_VIEWS = {reshape_to, transpose_op, matrix_transpose_op}


class SpeculationFailed(Exception):
    """Raised by `check` inside a program, and caught by what runs it."""


@dataclass(frozen=True)
class Speculation:
    """What a program may speculate on.

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
    """Raise NotFinite if there is a NaN (or, among complex numbers, an infinity)."""
    if has_nan(x):
        raise SpeculationFailed


def speculate(instructions: Sequence[Instruction], avals: dict[int, Aval]) -> Speculation:
    """Which products of a program without effects need no check, and which results to check instead.

    For each product that is the smallest result that must be NaN if the product is.
    """
    users: dict[int, list[int]] = {}
    products: set[int] = set()
    checks: set[int] = set()
    watched: set[int] = set()
    smallest: dict[int, tuple[int, int]] = {}
    for i in reversed(range(len(instructions))):
        instruction = instructions[i]
        value_id = instruction.outputs[0] if len(instruction.outputs) == 1 else -1
        size = avals[value_id].size if value_id >= 0 else None
        if size and avals[value_id].dtype.is_differentiable:
            # the smallest result that is NaN if this one is, as (size, -position); a view is as good as what it shows
            found = [smallest[user] for user in users.get(value_id, ()) if user in smallest]
            if instruction.op not in _VIEWS:
                found.append((size, -i))
            if found:
                smallest[i] = min(found)
            if any(user in watched for user in users.get(value_id, ())):
                watched.add(i)
            if instruction.op is scale:
                products.add(i)
                if i not in watched:
                    checks.add(-smallest[i][1])
                    watched.add(i)
        if instruction.params.get("either") and i not in products:
            # a zero wins over a NaN, unless the product is unchecked
            continue
        for position in PROPAGATES_NAN.get(instruction.op, ()):
            if position < len(instruction.inputs):
                users.setdefault(instruction.inputs[position], []).append(i)
    return Speculation(frozenset(products), frozenset(checks))
