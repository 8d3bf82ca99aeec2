"""Walks as lists of ops: what a tape records while a derivative is taken has to be ops, one by one.

A walk over a recording makes the same ops each time. Made once with symbols, it is a list of ops with the numbers of
their operands; from then on only these are applied, to eager values, and whoever records sees the nodes that the walk
itself would have made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.core.eager import in_c, wrap
from engine.core.op import Node, are_plain
from engine.core.trace import constant


class OpList:
    """Ops in the order of execution, which take values by number: given symbols make wanted ones, all of known shapes.

    Numbers count the values given, the constants (of `most` bytes at the most), then the results as they come.

    Raises
    ------
    TypeError
        If a shape is not known, so that other ops might be chosen once it is; if a parameter is a function, which must
        be asked anew each time; if a constant is too large to be kept.
    """

    __slots__ = ("constants", "steps", "wanted")

    def __init__(self, nodes: Sequence[Node], given: Sequence[Any], wanted: Sequence[Any], most: int) -> None:
        numbers = {id(symbol): number for number, symbol in enumerate(given)}
        made = [node for node in nodes if not all(id(out) in numbers for out in node.outputs)]
        held = [node for node in made if node.op is constant]
        steps: list[Any] = []
        self.constants = [node.params["value"] for node in held]
        for node in held:
            numbers[id(node.outputs[0])] = len(numbers)
        if any(c.nbytes > most for c in self.constants):
            raise TypeError("a constant is too large to be kept")
        for node in made:
            if node.op is constant:
                continue
            plain = not node.op.stateful and are_plain(node.params, closed=True)
            if not plain or not all(out.aval.is_static for out in node.outputs):
                raise TypeError(f"{node.op.title} may be another op each time")
            steps += (node.op, tuple([numbers[id(x)] for x in node.inputs]), node.params)
            for out in node.outputs:
                numbers[id(out)] = len(numbers)
        self.steps = tuple(steps)
        self.wanted = [numbers[id(x)] for x in wanted]

    def __call__(self, given: Sequence[Any]) -> list[Any]:
        """The results that are wanted, from eager tensors and shapes for what is given."""
        values = [*given, *map(wrap, self.constants)]
        apply_all(self.steps, values)
        return [values[number] for number in self.wanted]


def apply_all(steps: tuple[Any, ...], values: list[Any]) -> None:
    """Apply ops to values by number, and add their results to these."""
    parts = iter(steps)
    for op, numbers, params in zip(parts, parts, parts, strict=True):
        result = op(*[values[number] for number in numbers], **params)
        values += result if op.multi else (result,)


if in_c:
    apply_all = in_c.apply_all
