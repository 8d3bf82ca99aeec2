"""Loops as their steps, one by one, in the program around: a rewrite of lowering (`Op.unroll`).

The steps of a loop are a program of their own, which knows nothing of what is around them. Next to each other in one
program they lose the zeros that a cotangent of one slice has, copies of what went from step to step, and stacks of what
was saved. This pays where arrays are large and moved about; products of matrices gain nothing, and short vectors take
longer to compile. Steps with effects stay a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.closed.function import ClosedFunction, plain
from engine.compiler.ir.layout import Order
from engine.control.loop_kernels import length_of, row_of
from engine.core.aval import Aval
from engine.core.op import Node
from engine.core.structural import contiguous
from engine.core.tape import paused
from engine.core.value import aval_of
from engine.ops.indexing import getitem_op
from engine.ops.joining import stack_op
from engine.runtime.tuning import TUNING

Call = Callable[[ClosedFunction, Sequence[Any]], Sequence[Any]]
"""The results of a closed function in the program, for operands there."""

_MOST = TUNING.unrolled_nodes


def unrolled_scan(
    call: Call, operands: Sequence[Any], body: ClosedFunction, carries: int, sequences: int, backwards: bool = False,
    max_bytes: int | None = None,
) -> list[Any] | None:  # fmt: skip
    """The results of a scan, step by step; None if it stays a loop."""
    start = carries + sequences
    columns, captures = operands[carries:start], operands[start:]
    length = length_of([aval_of(c) for c in columns])
    known = [*map(aval_of, operands[:carries]), *[row_of(aval_of(c)) for c in columns], *map(aval_of, captures)]
    if not length or length > _most_steps(body, known, carries):
        return None
    columns = [c if c.order is Order.CONTIGUOUS else contiguous(c) for c in columns]
    steps = range(length - 1, -1, -1) if backwards else range(length)
    rows = [[getitem_op(c, spec=(t,)) for c in columns] for t in steps]
    state, made = _steps(call, operands[:carries], rows, captures, body)
    return [*state, *[stack_op(*(column[::-1] if backwards else column), axis=0) for column in made]]


def unrolled_while(
    call: Call, operands: Sequence[Any], cond: ClosedFunction, body: ClosedFunction, count: int
) -> tuple[Sequence[Any], int, list[list[Any]]] | None:
    """The last loop variables, the number of iterations, and further results of each; None if it stays a loop."""
    known = list(map(aval_of, operands))
    most = _most_steps(body, known, count)
    steps = iterations(cond, body, count, known, most) if most else None
    if steps is None or any(steps == 0 for _ in body.results[count:]):
        return None
    state, made = _steps(call, operands[:count], [[]] * steps, operands[count:], body)
    return state, steps, made


def _steps(
    call: Call, state: Sequence[Any], rows: Sequence[Sequence[Any]], captures: Sequence[Any], body: ClosedFunction
) -> tuple[Sequence[Any], list[list[Any]]]:
    count = len(state)
    made: list[list[Any]] = [[] for _ in body.results[count:]]
    for row in rows:
        results = call(body, [*state, *row, *captures])
        state = results[:count]
        for column, result in zip(made, results[count:], strict=True):
            column.append(result)
    return state, made


def _most_steps(body: ClosedFunction, given: Sequence[Aval], count: int) -> int:
    """How many steps of a body may be written out."""
    results = body.result_avals([*map(plain, given[:count]), *given[count:]])
    if any(a.shape != b.shape for a, b in zip(given[:count], results, strict=False)):
        return 0
    of = getattr(body, "of", body)
    return of.derived("most steps", lambda: _MOST // max(len(of.nodes), 1) if all(map(_is_plain, of.nodes)) else 0)


def _is_plain(node: Node) -> bool:
    """Whether a node moves elements or is cheap for each of them, and has no effect and no program of its own."""
    op = node.op
    closed = any(isinstance(p, ClosedFunction) for p in node.params.values())
    cheap = op.elementwise or op.routes or op.from_avals or op.kind == "linear" or not node.inputs
    return cheap and not (closed or op.stateful)


def iterations(cond: ClosedFunction, body: ClosedFunction, count: int, avals: Sequence[Aval], most: int) -> int | None:
    """How many there are, if it follows from integers that are known, and if these are no more than `most`."""
    needed: list[int] = []
    step = ahead = ClosedFunction(cond.trace, cond.parameters, cond.results)
    while len(grown := [i for i in range(len(avals)) if i in needed or step.uses(i)]) > len(needed):
        needed = grown
        step = ClosedFunction(body.trace, body.parameters, [body.results[i] for i in needed if i < count])
    values = {i: avals[i].value for i in needed}
    if cond.stateful or any(type(value) is not int for value in values.values()):
        return None
    given: list[Any] = [np.asarray(values[i], a.dtype.numpy) if i in values else None for i, a in enumerate(avals)]
    with paused():
        for done in range(most + 1):
            if not ahead.inline(None, given)[0]:
                return done
            for i, x in zip(needed, step.inline(None, given), strict=False):
                given[i] = x
    return None
