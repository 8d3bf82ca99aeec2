"""Batches of tangents, or cotangents, that wait at products until something else is done with them.

By then it is known what else they are multiplied with, and so the quickest order (`contraction.py`). What is found to
be zero for some seeds stays in pieces, of which sums are made piece by piece.

Most sweeps move all numbers of a seed together, which therefore lie side by side. Where entries are gathered at the
end, rows that hold the numbers of all seeds move in a fraction of the time. So the product before lies that way.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from string import ascii_uppercase
from typing import Any

import numpy as np

from engine.core.aval import Aval
from engine.core.batching import Batched, NotBatched
from engine.core.eager import EagerTensor
from engine.core.expand_axes import expand_dims_op, squeeze_op
from engine.core.op import Node, Op
from engine.core.operands import Operand, Results
from engine.core.structural import broadcast_like_op, reshape_like_op, reshape_to
from engine.core.trace import Symbol
from engine.core.value import aval_of
from engine.jacobian.execution.contraction import GAIN, MOST, Contraction, seeds_first, seeds_last, split, static_shape
from engine.ops.arithmetic import add, negative, subtract
from engine.ops.compare import keep_chosen
from engine.ops.einsum import einsum_op
from engine.ops.gather import gather_op
from engine.ops.joining import concat
from engine.ops.linalg import matmul_op
from engine.ops.shape import matrix_transpose_op, reshape_op, transpose_op

_PRODUCTS = frozenset([einsum_op, matmul_op])
_RESHAPES = frozenset([reshape_op, reshape_to, reshape_like_op, expand_dims_op, squeeze_op])
_SUMS = frozenset([add, subtract])
_KEEPING = frozenset([broadcast_like_op, keep_chosen])
"""Ops by which zeros stay what they are."""
LOOKED_AT = _PRODUCTS | _SUMS
"""Ops of whose operands it pays to know where they are zero."""
_FEW = 4
"""Elementwise ops, sums aside, that may follow where seeds lie side by side, which makes these slower."""
_ELEMENTS = 1 << 13
"""Elements of a sum from which on it is made piece by piece."""

Visit = Callable[[Iterable[Node]], Iterable[Node]]
Known = Callable[[Sequence[Node]], dict[int, Callable[[], np.ndarray]]]
Piece = tuple[int, int, Any]
"""The first seed and the one behind the last, and their values; None for zeros."""


class Walk:
    """Knowledge of the node that a walk is at.

    ``known(nodes)`` gives, by `id` of each value that an op of `LOOKED_AT` takes, what finds where its tangent can be
    different from zero, a row for each seed. If it `ends` here, the product is needed more than once, and so made at
    once; if it `starts`, what it is given is. `last` says whether seeds should lie side by side in its product.
    """

    __slots__ = ("_known", "_nodes", "_shapes", "_there", "ends", "last", "starts")

    def __init__(self, known: Known | None = None) -> None:
        self.ends = self.starts = self.last = False
        self._known, self._there = known, {} if known is None else None
        self._nodes: Sequence[Node] = ()
        self._shapes: dict[tuple[Any, ...], list[Node]] = {}

    _there: dict[int, Callable[[], np.ndarray]] | None

    def there(self, value: Any) -> np.ndarray | None:
        """Where the tangent of a value can be different from zero; None if that is not known."""
        if self._there is None:
            assert self._known is not None
            self._there = self._known(self._nodes)
        find = self._there.get(id(value))
        return None if find is None else find()

    def shape(self, op: Op, inputs: Sequence[Any], params: dict[str, Any]) -> tuple[int, ...] | None:
        """The shape that an op gives, as its node has it: it may be told by numbers that only a run knows."""
        given = static_shape(inputs[0])
        for node in self._shapes.get((op, *map(_same, inputs[1:])), ()):
            if not op.multi and node.params == params and static_shape(node.inputs[0]) == given:
                return static_shape(node.outputs[0])
        return None

    def found(self, value: Any, tangent: Any) -> None:
        """Note of which value a batch is the tangent."""
        if type(tangent) is Waiting:
            tangent.zeros_of = value

    def forward(self, nodes: Sequence[Node], ends: Sequence[Any]) -> Visit:
        """Tell a walk forward through `nodes` where it is."""
        self._nodes = nodes
        for node in nodes:
            self._shapes.setdefault((node.op, *map(_same, node.inputs[1:])), []).append(node)
        uses = Counter(id(x) for x in itertools.chain(ends, *[node.inputs for node in nodes]))
        gathered = _to_be_gathered(nodes)

        def visit(order: Iterable[Node]) -> Iterator[Node]:
            for node in order:
                self.last = id(node.outputs[0]) in gathered
                self.ends = any(uses[id(out)] > 1 for out in node.outputs)
                yield node

        return visit

    def reverse(self, nodes: Sequence[Node], ends: Sequence[Any]) -> Visit:
        """Tell a walk back through `nodes` where it is."""
        live = {id(x) for x in itertools.chain(ends, *[node.outputs for node in nodes])}

        def visit(order: Iterable[Node]) -> Iterator[Node]:
            for node in order:
                self.starts = sum(id(x) in live for x in node.inputs) > 1
                yield node

        return visit


def _same(x: Any) -> int:
    """A number that is that of a tensor and of its array, which a walk makes a tensor again."""
    return id(x._array) if type(x) is EagerTensor else id(x)


def _to_be_gathered(nodes: Sequence[Node]) -> set[int]:
    """The values of which entries are gathered, with little else on the way to the end."""
    found: dict[int, tuple[int, bool]] = {}
    for node in reversed(nodes):
        followed = [found.get(id(out), (0, False)) for out in node.outputs]
        after, gathered = max(count for count, _ in followed), any(yes for _, yes in followed)
        if node.op not in _SUMS and node.op is not negative and not node.op.moves:
            after += 1 if node.op.elementwise else _FEW + 1
        for x in node.inputs:
            count, yes = found.get(id(x), (0, False))
            found[id(x)] = max(after, count), gathered or yes or node.op is gather_op
    return {key for key, (after, gathered) in found.items() if gathered and after <= _FEW}


class Waiting(Batched):
    """A batch that waits at products, as the module says."""

    __slots__ = ("_aval", "_given", "_inner", "_last", "_pieces", "_product", "walk", "zeros_of")

    _product: Contraction | None
    _pieces: list[Piece] | None
    _given: Callable[[], Any]
    _aval: Aval
    _last: bool
    zeros_of: Any
    """The value whose tangent has its zeros, None if that is not known."""

    def __init__(self, inner: Any, level: int, size: int | None = None, walk: Walk | None = None) -> None:
        self._product = self._pieces = self.zeros_of = None
        self.walk = walk or Walk()
        super().__init__(inner, level, size)

    @property
    def inner(self) -> Any:
        """The values of the batch: now there is no more waiting."""
        self._settle()
        if self._pieces is not None:
            self._inner, self._pieces = _joined(self._pieces, self._aval, self._last), None
        return self._inner

    @inner.setter
    def inner(self, value: Any) -> None:
        self._inner = value

    @property
    def aval(self) -> Aval:
        """The aval of one element of the batch."""
        if self._product is not None or self._pieces is not None:
            return self._aval
        return super().aval

    @property
    def size(self) -> int | None:
        """Number of elements in the batch."""
        if self._product is not None:
            return self._product.sizes[0]
        return super().size if self._pieces is None else self._pieces[-1][1]

    def _bind(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Results:
        product = self._after(op, inputs, params)
        if product is not None:
            waiting = self._later(Aval(product.shape, self.dtype))
            waiting._product = product
            waiting._given = lambda: super(Waiting, self)._bind(op, inputs, params).inner  # type: ignore[union-attr]
            if self.walk.ends:
                waiting._settle()
            return waiting
        # the tangent of a difference is a sum with a negated one
        total = _sum(*inputs) if op is add else None
        if total is not None:
            return total
        made = super()._bind(op, inputs, params)
        if type(made) is Waiting and inputs[0] is self:
            made.zeros_of = self.zeros_of if op in _KEEPING else None
            symbol, shape = made.inner, None
            if isinstance(symbol, Symbol) and not symbol.aval.is_static:
                shape = self.walk.shape(op, inputs, params)
            if shape is not None:
                symbol.set_shape((made.size, *shape))
        return made

    def _wrap(self, out: Any, size: int | None) -> Operand | Batched:
        return out.value if isinstance(out, NotBatched) else Waiting(out, self.level, size, self.walk)

    def _later(self, aval: Aval) -> Waiting:
        """A batch of which there is nothing yet."""
        waiting = Waiting(None, self.level, None, self.walk)
        waiting._aval, waiting._last = aval, self.walk.last
        return waiting

    def _after(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Contraction | None:
        """The product that an op makes of the one that waits here, or of this batch as its first tensor."""
        if self.walk.starts:
            return None
        if op in _PRODUCTS:
            own, other = (0, inputs[1]) if inputs[0] is self else (1, inputs[0])
            product = None if isinstance(other, Batched) else self._product or self._first()
            full = product is None or len(product.values) == MOST
            return None if full else product.times(_equation(op, inputs, params), own, other)  # type: ignore[union-attr]
        product = self._product
        if product is None or inputs[0] is not self:
            return None
        rank = len(product.shape)
        if op is transpose_op:
            return product.moved([k % rank for k in params["perm"]])
        if op is matrix_transpose_op:
            return product.moved([*range(rank - 2), rank - 1, rank - 2])
        if op not in _RESHAPES:
            return None
        made = op.abstract(*map(aval_of, inputs), **params)
        shape = tuple([d or 0 for d in made.shape or ()]) if made.is_static else self.walk.shape(op, inputs, params)
        return None if shape is None else product.reshaped(shape)

    def _first(self) -> Contraction | None:
        shape, count = static_shape(self), self.size
        if shape is None or count is None or count < 2 or self.dtype.numpy.char not in "fd":
            return None
        return Contraction.of(self.inner, count, shape, partial(self.walk.there, self.zeros_of))

    def _settle(self) -> None:
        """Make the product that waits, in pieces where some of its seeds give zeros."""
        product, self._product = self._product, None
        if product is None:
            return
        seconds, steps = product.order()
        blocks = product.blocks(seconds, steps)
        # matrices of a stack lie together
        self._last = self._last and not product.is_stacked(steps)
        if blocks is not None:
            self._pieces, product = [], product.shared()
            for start, stop, part in blocks[1]:
                one = product.block(blocks[0], start, stop, part) if len(part) else None
                self._pieces.append((start, stop, one and one.made(one.order()[1], self._last)))
        elif self._last or seconds < GAIN * product.given:
            self._inner = product.made(steps, self._last)
        else:
            self._inner = self._given()

    def in_pieces(self) -> list[Piece]:
        """The seeds in pieces, of which some are known to be zero."""
        if self._pieces is not None:
            return self._pieces
        size = self.size or 0
        table = None if self.zeros_of is None else self.walk.there(self.zeros_of)
        rows = None if table is None else np.any(table, axis=1, keepdims=True)
        _, blocks = (0.0, []) if rows is None else split(rows, lambda seeds, part: seeds * part)
        if len(blocks) < 2 and (not blocks or len(blocks[0][2])):
            return [(0, size, self.inner)]
        return [(start, stop, self.inner[start:stop] if len(part) else None) for start, stop, part in blocks]


def _equation(op: Op, inputs: Sequence[Any], params: dict[str, Any]) -> str:
    """A product of two tensors as an equation."""
    if op is einsum_op:
        return str(params["equation"])
    ranks = [len(aval_of(x).shape or ()) - 2 for x in inputs]
    stacks = [ascii_uppercase[max(ranks) - rank : max(ranks)] for rank in ranks]
    a, b = "kn" if params.get("transpose_a") else "nk", "mk" if params.get("transpose_b") else "km"
    return f"{stacks[0]}{a},{stacks[1]}{b}->{max(stacks, key=len)}nm"


def _sum(x: Any, y: Any) -> Waiting | None:
    """A sum of two batches, of the seeds that are not zero in both; None if that is the plain one."""
    if type(x) is not Waiting or type(y) is not Waiting or x.level != y.level:
        return None
    shape, size = static_shape(x), x.size or 0
    if shape is None or shape != static_shape(y) or size * math.prod(shape) < _ELEMENTS:
        return None
    x._settle()
    y._settle()
    if x._pieces is y._pieces is None and not x.walk.last:
        return None
    pieces = x.in_pieces(), y.in_pieces()
    total = x._later(x.aval)
    total._pieces = []
    ends = sorted({stop for each in pieces for _, stop, _ in each})
    for start, stop in itertools.pairwise([0, *ends]):
        a, b = [_cut(each, start, stop) for each in pieces]
        total._pieces.append((start, stop, _added(a, b, x.walk.last)))
    return total


def _cut(pieces: Sequence[Piece], start: int, stop: int) -> Any:
    """The values of seeds that lie in one piece."""
    first, last, x = next(piece for piece in pieces if piece[0] <= start and stop <= piece[1])
    return x if x is None or (first, last) == (start, stop) else x[start - first : stop - first]


def _added(a: Any, b: Any, last: bool) -> Any:
    if a is None or b is None:
        return b if a is None else a
    # what is added lies as the first operand where they disagree, if that is in C order
    return seeds_first(add(seeds_last(a), seeds_last(b))) if last else add(a, b)


def _joined(pieces: Sequence[Piece], aval: Aval, last: bool) -> Any:
    """All seeds, one after the other."""
    if len(pieces) == 1 and pieces[0][2] is not None:
        return pieces[0][2]
    dims = [d or 0 for d in aval.shape or ()]
    whole = [np.zeros((stop - start, *dims), aval.dtype.numpy) if x is None else x for start, stop, x in pieces]
    return seeds_first(concat([*map(seeds_last, whole)], len(dims))) if last else concat(whole, 0)
