"""Sparsity rules of choices and loops: which elements of what they give depend on which of what they take.

A choice may give what either branch gives. Of a loop the step alone is looked at: what a carry may depend on after any
number of steps is what its steps add up to. A loop of few steps that carries something, whose number is known, is
written out instead, so that each step counts with what is there by then, and with the indices that it has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from engine.closed.function import ClosedFunction, build
from engine.control.unrolling import iterations
from engine.core.aval import Aval
from engine.core.dtypes import DType
from engine.core.sparsity import Link, Links, Site, Sites, UnknownContentsError, every, nowhere
from engine.core.trace import constant_value, known_value
from engine.core.value import dtype_of
from engine.jacobian.structure.propagation import patterns
from engine.ops.indexing import getitem_op
from engine.ops.joining import stack_op
from engine.runtime.errors import OpError
from engine.runtime.lazy_scipy import sparse

_MOST_NODES = 500
"""Nodes of a loop that is written out."""
_MOST_LINKS = 64
"""Entries of a row, or of a column, up to which a pattern is told from a full one; steps that are written out."""
_MOST_ENTRIES = 10_000_000

Blocks = list[list[Any]]
"""``[result][operand]``: matrices of bools, None where nothing depends, `_FULL` where all may depend on all."""
_FULL = object()


def branches(site: Site, i: int) -> Sequence[Links]:
    """Rule of `cond_op`."""
    return _linked(site, i, _of_branches)


def scanned(site: Site, i: int) -> Sequence[Links]:
    """Rule of `scan_op`."""
    return _linked(site, i, _of_scan)


def repeated(site: Site, i: int) -> Sequence[Links]:
    """Rule of `while_op` and `while_saving_op`."""
    return _linked(site, i, _of_while)


def _linked(site: Site, i: int, find: Callable[[Site], Blocks]) -> Sequence[Links]:
    if site.inner is None:
        try:
            site.inner = find(site)
            sizes = [(math.prod(out), site.size(j)) for out in site.results for j in range(len(site.shapes))]
            blocks = [block for row in site.inner for block in row]
            if any(getattr(b, "shape", size) != size for b, size in zip(blocks, sizes, strict=True)):
                site.inner = ()
        except (ValueError, TypeError, IndexError, OpError, UnknownContentsError):
            # a branch that does not fit these shapes, or shapes that only a run knows
            site.inner = ()
    if not site.inner:
        return every(site, i)
    return [_links(row[i], every(site, i)[k]) for k, row in enumerate(site.inner)]


def _links(matrix: Any, full: Links) -> Links:
    """A matrix as links, each of which holds one entry of each row, or of each column."""
    if matrix is None or matrix is _FULL:
        return [] if matrix is None else full
    across = matrix.T.tocsr()
    rows, columns = (int(np.diff(m.indptr).max(initial=0)) for m in (matrix, across))
    if min(rows, columns) > _MOST_LINKS:
        return full
    by, count = (matrix, rows) if rows <= columns else (across, columns)
    lengths, links = np.diff(by.indptr), []
    for k in range(count):
        one = nowhere(by.shape[0], by.shape[1])
        there = lengths > k
        one[there] = by.indices[by.indptr[:-1][there] + k]
        links.append(Link(one, None, by.shape[1]) if by is matrix else Link(None, one, by.shape[1]))
    return links


# ---- choices and loops -----------------------------------------------------------------------------------------------


def _of_branches(site: Site) -> Blocks:
    found = [_blocks(site, _static(site, site.params[name], 1), 1) for name in ("true", "false")]
    return [[None, *map(_sum, *rows)] for rows in zip(*found, strict=True)]


def _of_scan(site: Site) -> Blocks:
    body, carries, sequences = (site.params[name] for name in ("body", "carries", "sequences"))
    start, length = carries + sequences, site.shapes[carries][0] if sequences else 0
    order = range(length)[:: -1 if site.params.get("backwards") else 1]
    if body.reached(range(carries)) and 0 < length <= _most_steps(body):

        def written(trace: Any, values: Sequence[Any]) -> list[Any]:
            rows = [[getitem_op(x, spec=(t,)) for x in values[carries:start]] for t in order]
            state, made = _steps(trace, body, values[:carries], rows, values[start:])
            return [*state, *[stack_op(*column[:: order.step], axis=0) for column in made]]

        return _blocks(site, build(_avals(site), written))
    shapes = [s[1:] if carries <= i < start else s for i, s in enumerate(site.shapes)]
    step = _blocks(site, _static(site, body, 0, shapes), range(start, len(shapes)))
    return _closure(site, step, carries, sequences, length)


def _of_while(site: Site) -> Blocks:
    body, count = site.params["body"], site.params["count"]
    operands: list[Any] = [_Operand(site, i) for i in range(len(site.shapes))]
    turns = iterations(site.params["cond"], body, count, operands, _most_steps(body))
    saved = site.params.get("saved")
    if turns is not None:

        def written(trace: Any, values: Sequence[Any]) -> list[Any]:
            state, made = _steps(trace, body, values[:count], [[]] * turns, values[count:], saved or ())
            if saved is None:
                return [*state]
            return [*state, trace.constant(np.arange(turns)), *[stack_op(*column, axis=0) for column in made]]

        return _blocks(site, build(_avals(site), written))
    if saved is not None:
        raise UnknownContentsError
    step = _blocks(site, _static(site, body, 0), range(count, len(site.shapes)))
    return _closure(site, step, count, 0, 0)


def _most_steps(body: ClosedFunction) -> int:
    return min(_MOST_NODES // max(len(body.nodes), 1), _MOST_LINKS)


class _Operand:
    """An operand as `iterations` looks at it: a plan does not depend on contents that nobody asks for."""

    def __init__(self, site: Site, i: int) -> None:
        self._site, self._i = site, i

    @property
    def dtype(self) -> DType:
        """Its dtype."""
        return dtype_of(self._site.node.inputs[self._i])

    @property
    def value(self) -> int | None:
        """Its value, if it is an integer that is known."""
        if self._site.shapes[self._i] or not self.dtype.is_integer:
            return None
        array = _contents(self._site, self._i)
        return None if array is None else int(array)


def _contents(site: Site, i: int) -> np.ndarray | None:
    try:
        return site.contents(i)
    except UnknownContentsError:
        return None


def _avals(site: Site, shapes: Sequence[tuple[int, ...]] | None = None) -> list[Aval]:
    return [Aval(s, dtype_of(x)) for s, x in zip(shapes or site.shapes, site.node.inputs, strict=True)]


def _static(site: Site, function: ClosedFunction, first: int, shapes: Any = None) -> ClosedFunction:
    """A branch or a body for the shapes of the operands from `first` on."""
    return build(_avals(site, shapes)[first:], lambda trace, values: function.inline(trace, values, effects=False))


def _steps(
    trace: Any,
    body: ClosedFunction,
    state: Sequence[Any],
    rows: Sequence[Sequence[Any]],
    captures: Sequence[Any],
    saved: Sequence[int] = (),
) -> tuple[Sequence[Any], list[list[Any]]]:
    count = len(state)
    made: list[list[Any]] = [[] for _ in (*body.results[count:], *saved)]
    for row in rows:
        results = body.inline(trace, [*state, *row, *captures], effects=False)
        for column, result in zip(made, (*results[count:], *[state[k] for k in saved]), strict=True):
            column.append(result)
        state = results[:count]
    return state, made


def _blocks(site: Site, function: ClosedFunction, given: Any = None) -> Blocks:
    """The patterns of a closed function.

    `given`: which of its parameters are operands of the site as they are, of known contents perhaps: all by default,
    all with the numbers from this one on if it is a number.
    """
    first = given if isinstance(given, int) else 0
    same = range(len(site.shapes)) if given is None or isinstance(given, int) else given
    place = {id(p): i + first for i, p in enumerate(function.parameters) if i + first in same}

    def known(x: Any) -> Any:
        return _contents(site, place[id(x)]) if id(x) in place else constant_value(x)

    moving = [i for i, p in enumerate(function.parameters) if p.dtype.is_differentiable]
    sources = [function.parameters[i] for i in moving]
    found = patterns(function.nodes, sources, function.results, Sites(partial(known_value, known=known)))
    rows = []
    for result, row in zip(function.results, found, strict=True):
        blocks: list[Any] = [None] * len(function.parameters)
        for i, pattern in zip(moving, row, strict=True):
            if pattern.nnz > _MOST_ENTRIES:
                raise UnknownContentsError
            if pattern.nnz and result.dtype.is_differentiable:
                blocks[i] = pattern.to_csr()
        rows.append(blocks)
    return rows


# ---- steps of any number ---------------------------------------------------------------------------------------------


def _closure(site: Site, step: Blocks, carries: int, sequences: int, length: int) -> Blocks:
    """The patterns of a loop, from those of its step: ``step[result][carry, row or capture]``."""
    if any(a != b for a, b in zip(site.shapes[:carries], site.results, strict=False)):
        raise UnknownContentsError
    count, start = len(site.shapes), carries + sequences
    if sequences and not length:
        # no step is made
        step = [[None] * count for _ in step]

    def of_any_row(i: int, block: Any) -> Any:
        if block is None or not carries <= i < start:
            return block
        return sparse.kron(np.ones((1, length), bool), block, format="csr")

    direct = [[of_any_row(i, row[i]) if i >= carries else None for i in range(count)] for row in step[:carries]]
    found = [[sparse.eye_array(site.size(i), dtype=bool, format="csr") if i == k else None for i in range(count)]
             for k in range(carries)]  # fmt: skip
    found = [[_sum(a, b) for a, b in zip(row, more, strict=True)] for row, more in zip(found, direct, strict=True)]
    entries = -1
    while entries != (entries := sum(m.nnz for row in found for m in row if m is not None)):
        if entries > _MOST_ENTRIES:
            raise UnknownContentsError
        found = [[_sum(m, _through(step[k], found, i)) for i, m in enumerate(row)] for k, row in enumerate(found)]
    for row in step[carries:]:
        blocks = [_sum(_through(row, found, i), row[i] if i >= start else None) for i in range(count)]
        blocks = [_tiled(b, length) for b in blocks]
        own = [
            sparse.kron(sparse.eye_array(length, dtype=bool), b, format="csr") if b is not None else None
            for b in row[carries:start]
        ]
        blocks[carries:start] = [_sum(a, b) for a, b in zip(blocks[carries:start], own, strict=True)]
        found.append(blocks)
    return found


def _tiled(block: Any, length: int) -> Any:
    """The same rows for each step."""
    if block is None:
        return None
    rows, columns = (int(block.sum(axis=axis).max()) for axis in (1, 0))
    if min(rows, columns * length) > _MOST_LINKS:
        return _FULL
    return sparse.kron(np.ones((length, 1), bool), block, format="csr")


def _through(row: Sequence[Any], found: Blocks, i: int) -> Any:
    """Entries of operand i that a result of a step takes by way of the carries."""
    total = None
    for block, carry in zip(row, found, strict=False):
        if block is not None and carry[i] is not None:
            total = _sum(total, block @ carry[i])
    return total


def _sum(a: Any, b: Any) -> Any:
    if a is _FULL or b is _FULL:
        return _FULL
    return b if a is None else a if b is None else (a + b).astype(bool)
