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
from engine.core.value import Value, aval_of, known_shape
from engine.derivatives.custom import custom_call
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
    """Matrices with a row for each seed. If all are of one dtype, they lie one behind the other in a vector, `joined`."""

    def __init__(self, vectors: Sequence[Any], matrices: Sequence[Any]) -> None:
        super().__init__(matrices)
        self.joined = vectors[0] if len(vectors) == 1 else None


class Chunked(Recipe):
    """A sweep of `count` seeds in chunks: its results are vectors that hold matrices with a row for each.

    The body, ``(number of the first seed, values) -> results``, gives a row for each seed of a chunk. Results of one
    dtype that follow each other go to one vector: nobody then needs memory to join them.
    """

    def __init__(self, body: ClosedFunction, count: int, chunk: int) -> None:
        super().__init__()
        self.body, self.count = body, count
        self.size, self.starts = starts(count, chunk)
        rows = [(r.aval.dtype, known_shape(r, "jacobian")[1]) for r in body.results]
        self.widths = [(dtype, [w for _, w in of]) for dtype, of in itertools.groupby(rows, lambda row: row[0])]

    def avals(self, given: Sequence[Aval]) -> tuple[Aval, ...]:
        """Those of the vectors."""
        return tuple([Aval((self.count * sum(widths),), dtype) for dtype, widths in self.widths])

    def matrices(self, vectors: Sequence[Any]) -> list[Any]:
        """The matrices in the vectors."""
        found = []
        for vector, (_, widths) in zip(vectors, self.widths, strict=True):
            start = 0
            for width in widths:
                end = start + self.count * width
                found.append(reshape(vector[start:end], (self.count, width)))
                start = end
        return found

    def spliced(self, given: Sequence[Aval]) -> None:
        """None: a program calls `run`."""

    def run(self, *operands: Any) -> tuple[Any, ...]:
        """The results for arrays, chunk by chunk."""
        vectors = [empty(aval.shape, aval.dtype.numpy) for aval in self.avals(())]
        for first in self.starts:
            results = self.body.run(np.asarray(first), *operands)
            for whole, rows in zip(self.matrices(vectors), results, strict=True):
                whole[first : first + self.size] = rows
            del results, rows
        return tuple(vectors)

    def made(self, given: Sequence[Aval]) -> ClosedFunction:
        """The same as a scan, which can be differentiated."""
        from engine.control.scan_loop import scan_op

        def function(body: Body, operands: Sequence[Any]) -> list[Any]:
            stacks = scan_op(np.asarray(self.starts), *operands, body=self.body, carries=0, sequences=1)
            chunks = range(len(self.starts))
            flat = iter([reshape(together([r[k] for k in chunks], self.starts, self.size), (-1,)) for r in stacks])
            return [concat(list(itertools.islice(flat, len(widths))), 0) for _, widths in self.widths]

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
    everything = ClosedFunction(body, [first, *[stands[id(x)] for x in outside]], list(map(body.operand, rows)))
    used = [i for i in range(len(outside)) if everything.uses(i + 1)]
    small = ClosedFunction(body, [first, *[everything.parameters[i + 1] for i in used]], everything.results)
    # a plain number would take the dtype of the operands beside it
    operands = [x if isinstance(x, (Value, tuple, int)) else np.asarray(x) for x in (outside[i] for i in used)]
    recipe = Chunked(small, count, chunk)
    vectors = deferred_op(*operands, recipe=recipe)
    return Rows(vectors, recipe.matrices(vectors))
