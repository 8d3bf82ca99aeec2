"""Sweeps in chunks of seeds: one small program for a chunk, run again and again with other seeds.

Which seeds they are is an operand, the number of the first one. So the program is made once, whatever the number of
chunks, and only one chunk's memory is taken at a time. All chunks of a sweep have the same size; the last one begins so
early that it ends with the last seed, and computes some rows once more.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.closed.capture import closed_rule
from engine.closed.function import Body, ClosedFunction, build
from engine.control.deferred import Recipe, deferred_op
from engine.core.aval import Aval
from engine.core.detach import effect
from engine.core.dtypes import int64
from engine.core.op import Node
from engine.core.operands import Operand
from engine.core.tape import paused
from engine.core.trace import Symbol
from engine.core.value import Value, aval_of, dtype_of, known_shape
from engine.derivatives.custom import custom_call
from engine.ops.compare import cast
from engine.ops.joining import concat
from engine.ops.shape import reshape
from engine.runtime.buffer_pool import empty


def starts(count: int, chunk: int) -> tuple[int, list[int]]:
    """The size of chunks that are at most so large, all alike, and the number of each one's first seed."""
    number = -(-count // chunk)
    size = -(-count // number)
    return size, [min(k * size, count - size) for k in range(number)]


def together(chunks: Sequence[Any], firsts: Sequence[int], size: int) -> Operand:
    """The rows of chunks with the given first seeds, one after the other."""
    *others, last = chunks
    return concat([*others, last[size * len(others) - firsts[-1] :]], 0)


class Rows(list[Any]):
    """Matrices with a row for each seed, which lie one behind the other in a vector, `joined`."""

    def __init__(self, joined: Any, matrices: Sequence[Any]) -> None:
        super().__init__(matrices)
        self.joined = joined


class Chunked(Recipe):
    """A sweep of `count` seeds in chunks: its result is a vector that holds matrices with a row for each.

    The body, ``(number of the first seed, values) -> results``, gives a row for each seed of a chunk, all of one dtype.
    In a vector they need no memory to be joined.
    """

    def __init__(self, body: ClosedFunction, count: int, chunk: int) -> None:
        super().__init__()
        self.body, self.count = body, count
        self.size, self.starts = starts(count, chunk)
        self.widths = [known_shape(r, "jacobian")[1] for r in body.results]

    def avals(self, given: Sequence[Aval]) -> tuple[Aval, ...]:
        """That of the vector."""
        return (Aval((self.count * sum(self.widths),), self.body.results[0].aval.dtype),)

    def matrices(self, vector: Any) -> list[Any]:
        """The matrices in the vector."""
        ends = [self.count * end for end in itertools.accumulate(self.widths, initial=0)]
        parts = [vector[a:b] for a, b in itertools.pairwise(ends)]
        return [reshape(part, (self.count, width)) for part, width in zip(parts, self.widths, strict=True)]

    def spliced(self, given: Sequence[Aval]) -> None:
        """None: a program calls `run`."""

    def run(self, *operands: Any) -> tuple[Any, ...]:
        """The results for arrays, chunk by chunk."""
        vector = empty((self.count * sum(self.widths),), self.body.results[0].aval.dtype.numpy)
        for first in self.starts:
            results = self.body.run(np.asarray(first), *operands)
            for whole, rows in zip(self.matrices(vector), results, strict=True):
                whole[first : first + self.size] = rows
            del results, rows
        return (vector,)

    def made(self, given: Sequence[Aval]) -> ClosedFunction:
        """The same as a scan, which can be differentiated."""
        from engine.control.scan_loop import scan_op

        def function(body: Body, operands: Sequence[Any]) -> list[Any]:
            stacks = scan_op(np.asarray(self.starts), *operands, body=self.body, carries=0, sequences=1)
            chunks = range(len(self.starts))
            wholes = [together([rows[k] for k in chunks], self.starts, self.size) for rows in stacks]
            return [concat([reshape(rows, (-1,)) for rows in wholes], 0)]

        return build(given, function)


def in_chunks(
    nodes: Sequence[Node], ends: Sequence[Any], rows_of: Callable[..., list[Any]], count: int, chunk: int
) -> Rows:
    """The rows of `count` seeds, of which at most `chunk` are swept at once through the nodes, between the two ends.

    ``rows_of(nodes, ends, first, size)`` gives the rows of `size` seeds from number `first` on.
    """
    body = Body()
    first = body.placeholder(Aval((), int64))
    stands: dict[int, Any] = {}
    outside: list[Any] = []

    def inside(x: Any) -> Symbol:
        if id(x) not in stands:
            # a shape stays what it is
            stands[id(x)] = body.operand(x) if isinstance(x, (tuple, int)) else body.placeholder(aval_of(x))
            outside.append(x)
        return stands[id(x)]

    # a rule that is a Python function may take what is outside
    closed = [closed_rule(n)[-1] if n.op is custom_call and isinstance(n.outputs[0], Symbol) else n for n in nodes]
    if any(n.op is custom_call for n in closed):
        # in a function that is recorded, such tensors are those of its first call
        effect("a Jacobian in chunks goes through the rule of a custom_gradient, which knows the tensors of this call")
    copies = [Node(n.op, tuple(map(inside, n.inputs)), n.params, tuple(map(inside, n.outputs))) for n in closed]
    with paused():
        rows = rows_of(copies, list(map(inside, ends)), first, starts(count, chunk)[0])
        dtypes = [dtype_of(r) for r in rows]
        rows = [cast(r, np.result_type(*[dtype.numpy for dtype in dtypes])) for r in rows]
    everything = ClosedFunction(body, [first, *[stands[id(x)] for x in outside]], list(map(body.operand, rows)))
    used = [i for i in range(len(outside)) if everything.uses(i + 1)]
    small = ClosedFunction(body, [first, *[everything.parameters[i + 1] for i in used]], everything.results)
    # a plain number would take the dtype of the operands beside it
    operands = [x if isinstance(x, (Value, tuple, int)) else np.asarray(x) for x in (outside[i] for i in used)]
    recipe = Chunked(small, count, chunk)
    (joined,) = deferred_op(*operands, recipe=recipe)
    return Rows(joined, [cast(rows, dtype) for rows, dtype in zip(recipe.matrices(joined), dtypes, strict=True)])
