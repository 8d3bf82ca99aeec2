"""Plans as programs: the walks are made once with symbols in place of arrays, lowered, and from then on only run.

A `Compiled` plan takes the values on the path as its arguments: those a tape has recorded, or those a session fetches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.core.op import Node
from engine.core.tape import paused
from engine.core.trace import Trace, constant_value, placeholder
from engine.core.value import aval_of
from engine.jacobian.execution.evaluate import evaluate
from engine.jacobian.planning.plan import Options, Plan, plan_for
from engine.jacobian.structure.path import Path
from engine.program import Program, lower
from engine.program.layout import Order, order_of_value, orders_of
from engine.program.lowering import needed_nodes
from engine.runtime.ownership import own_results

FOLD_LIMIT = 1 << 16
"""Largest constant, in bytes, that a compiled plan computes beforehand and keeps."""


@dataclass(frozen=True, eq=False)
class Compiled:
    """A plan and the program that carries it out.

    Attributes
    ----------
    plan : Plan
    program : Program
    arguments : list of int
        Numbers of the values on the path that the program takes.
    results : list of list of (int or None)
        ``[target][source]``: which result of the program is the block.
    used : dict
        Number to contents of the index values that it holds for.
    """

    plan: Plan
    program: Program
    arguments: list[int]
    results: list[list[int | None]]
    used: dict[int, np.ndarray | None] = field(default_factory=dict)

    def __call__(self, values: Sequence[Any], *further: Any) -> list[list[Any]]:
        """The blocks as arrays, from arrays of the arguments, and of what else the program takes.

        The entries of sparse matrices are the caller's, who may change them in place.
        """
        if self.plan.options.values_only:
            out: Sequence[Any] = own_results(self.program, (*values, *further), self.program.owners)
        else:
            out = self.program(*values, *further)
        return [[None if k is None else out[k] for k in row] for row in self.results]


class Mirror:
    """The same path in a trace of its own, every value on it a placeholder.

    Attributes
    ----------
    trace : Trace
    path : Path
        Numbered as the original is.
    """

    def __init__(self, path: Path) -> None:
        self.trace = Trace()
        symbols = {id(x): _symbol(self.trace, x) for x in path.values}
        nodes = [
            Node(n.op, tuple([symbols[id(x)] for x in n.inputs]), n.params, tuple([symbols[id(o)] for o in n.outputs]))
            for n in path.nodes
        ]
        ends = [[symbols[id(path.values[slot])] for slot in side] for side in (path.sources, path.targets)]
        self._original = path
        self.orders = {id(x): order_of_value(x) for x in path.values}
        orders_of(path.nodes, self.orders)
        self.slots = {id(symbols[id(x)]): slot for slot, x in enumerate(path.values)}
        self.path = Path(nodes, ends[0], ends[1], known=self.contents)

    def contents(self, symbol: Any) -> np.ndarray | None:
        """The array that the original of a symbol holds, or None."""
        slot = self.slots.get(id(symbol))
        return constant_value(symbol) if slot is None else self._original.contents(self._original.values[slot])

    def lowered(self, wanted: Sequence[Any], further: Sequence[Any] = ()) -> tuple[Program, list[int]]:
        """The program that computes `wanted`, and the numbers of the values it takes; `further` symbols follow them."""
        wanted = [self.trace.operand(w) for w in wanted]
        given = [node.outputs[0] for node in self.trace.nodes if node.op is placeholder]
        fed = {id(s) for s in given}
        steps = needed_nodes(self.trace.nodes, wanted, fed, lambda node: ())
        used = {id(x) for node in steps for x in node.inputs} | {id(w) for w in wanted}
        taken = [s for s in given if id(s) in used and id(s) in self.slots]
        numbers = [self.slots[id(s)] for s in taken]
        orders = [self.orders[id(self._original.values[k])] for k in numbers] + [Order.UNKNOWN] * len(further)
        given = [(s, s.aval) for s in [*taken, *further]]
        program, _, _ = lower(steps, given, wanted, orders=orders, fold_limit=FOLD_LIMIT)
        return program, numbers


def _symbol(trace: Trace, x: Any) -> Any:
    """A constant for a shape, else something that is given."""
    return trace.operand(x) if isinstance(x, (tuple, int)) else trace.placeholder(aval_of(x))


def compiled_jacobian(path: Path, options: Options, sparsity: Any) -> Compiled:
    """The program for the Jacobian, with the values on the path as arguments."""
    return compiled(plan_for(path, options, sparsity), path)


def compiled(plan: Plan, path: Path) -> Compiled:
    """The program for a plan, with the values on the path as arguments."""
    mirror = Mirror(path)
    with paused():
        blocks = evaluate(plan, mirror.path)
    program, arguments = mirror.lowered([b for row in blocks for b in row if b is not None])
    return Compiled(plan, program, arguments, numbered(blocks), plan.used)


def numbered(blocks: list[list[Any]]) -> list[list[int | None]]:
    """Which of the blocks that are not None each is, in order."""
    number = iter(range(sum(len(row) for row in blocks)))
    return [[None if b is None else next(number) for b in row] for row in blocks]
