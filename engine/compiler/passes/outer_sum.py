"""Outer sum: products of columns and rows that are added up become one instruction.

The gradient of a matrix that a recurrence multiplies a vector by is such a sum, with a product for each step. One after
the other, each product goes through memory, and the sum twice. Together, several products are added on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.compiler.ir.code import Code
from engine.compiler.ir.instruction import Instruction
from engine.compiler.ir.kernels import instruction_op
from engine.core.aval import Aval
from engine.ops.arithmetic import add
from engine.ops.linalg import matmul_op

_LEAST = 2
"""Products in a sum, from which on it pays."""


def _outer_sum(*operands: Any, aval: Aval, turned: Sequence[tuple[bool, bool]]) -> np.ndarray:
    factors = operands[len(operands) - 2 * len(turned) :]
    out: Any = None if len(factors) == len(operands) else operands[0]
    for k, (left, right) in enumerate(turned):
        product = matmul_op.kernel(*factors[2 * k : 2 * k + 2], transpose_a=left, transpose_b=right)
        # the sum is ours after the first addition
        out = product if out is None else np.add(out, product, product if k == 0 else out)
    return out


outer_sum = instruction_op(
    "outer_sum",
    __name__,
    _outer_sum,
    lambda *operands, aval, turned: aval,
    "The sum of a matrix, if there is one more operand, and of products of columns and rows, one after the other.",
    keeps_nan=None,
    flops=lambda operands, results, params: 2 * len(params["turned"]) * (results[0].size or 0),
)


def sum_outers(code: Code) -> int:
    """Replace sums of products of columns and rows; how many additions."""
    avals = code.avals
    products = {i.outputs[0]: i for i in code.instructions if _is_outer(i, avals)}
    if len(products) < _LEAST:
        return 0
    shapes = {avals[s].shape for s in products}
    sums = {i.outputs[0]: i for i in code.instructions if i.op is add and avals[i.outputs[0]].shape in shapes}
    uses = code.uses()
    alone, partial = ({s: i for s, i in of.items() if uses[s] == 1} for of in (products, sums))
    within: set[int] = set()

    def summed(each: Instruction) -> list[Instruction] | None:
        result = each.outputs[0] if each.outputs else -1
        if result not in sums or result in within:
            return None
        start, terms, adds = _terms(each, alone, partial)
        if len(terms) < _LEAST or any(avals[s].shape != avals[result].shape for s in start):
            return None
        within.update(adds)
        return [_summed(each, avals[result], start, terms)]

    code.rewrite(summed, backwards=True)
    return len(within)


def _is_outer(instruction: Instruction, avals: dict[int, Aval]) -> bool:
    if instruction.op is not matmul_op:
        return False
    left, right = [avals[s].shape for s in instruction.inputs]
    if not (left and right and len(left) == len(right) == 2):
        return False
    # a product of single numbers is another kind, to which no zero is added
    return left[0 if instruction.params.get("transpose_a") else 1] == 1 and not left == right == (1, 1)


def _terms(
    instruction: Instruction, products: dict[int, Instruction], sums: dict[int, Instruction]
) -> tuple[tuple[int, ...], list[Instruction], list[int]]:
    """The other terms, the products in the order in which they are added, and the results of the additions."""
    terms: list[Instruction] = []
    adds: list[int] = []
    while True:
        first, last = instruction.inputs
        if last not in products:
            # a sum of two does not depend on the order
            first, last = last, first
        if last not in products:
            return (instruction.outputs[0],), terms[::-1], adds
        adds.append(instruction.outputs[0])
        terms.append(products[last])
        if first in products:
            return (), [products[first], *terms[::-1]], adds
        if first not in sums:
            return (first,), terms[::-1], adds
        instruction = sums[first]


def _summed(instruction: Instruction, aval: Aval, start: tuple[int, ...], terms: Sequence[Instruction]) -> Instruction:
    factors = [s for term in terms for s in term.inputs]
    turned = tuple([tuple([term.params.get(key, False) for key in ("transpose_a", "transpose_b")]) for term in terms])
    return Instruction(
        outer_sum, (*start, *factors), {"aval": aval, "turned": turned}, instruction.outputs, instruction.where
    )
