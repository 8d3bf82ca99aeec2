"""Products of several tensors, one of which is a batch of tangents: in which order, and without zeros that are known.

A function multiplies a few numbers with constants, one after the other: poses of bones with weights, then with places.
That order is right for one tangent. For many it is not: what they are all multiplied with is better multiplied first,
once. The quickest order is found by trying all (as of Pfeifer, Haegeman and Verstraete, "Faster identification of
optimal contraction sequences for tensor networks", 2014); a network here has five tensors at most.

Tangents are zero where a source has no say: a finger moves no bone of another one. So seeds are also multiplied in
blocks, one after the other, each with the part of a sum that any of its seeds needs.

All this is decided by shapes, the number of seeds and the structure of the function: it is the same in all modes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from string import ascii_letters
from typing import Any, NamedTuple

import numpy as np

import engine.numpy_api.operators  # noqa: F401  (parts of values are taken by Python's brackets)
from engine.core.operands import Operand
from engine.core.value import aval_of, shape_of
from engine.jacobian.planning.cost import CALL, ELEMENT, FLOP
from engine.ops.einsum import einsum_op
from engine.ops.gather import gather
from engine.ops.shape import reshape, transpose

MOST = 5
"""Tensors of a network."""
GAIN = 0.7
"""Which part of the time another order must take at most: estimates are rough."""
_BLOCKS = 0.8
"""The same of blocks."""
_MATRIX = 5e-8
"""Seconds that each matrix of a stack takes besides."""
_NARROW = 16
"""Rows or columns of a product below which it takes twice as long for each: BLAS adds up so many at a time."""
_WORTH = 1.5e-5
"""Seconds of a product from which on zeros are looked for."""
_RUNS = 32
"""Runs of seeds with the same zeros up to which they are."""

Letters = tuple[int, ...]
"""The dimensions of a tensor, those of size one left out; 0 are the seeds."""
Steps = Sequence[tuple[int, int]]
"""Which two to multiply, again and again: the product takes the place of the first, the second goes."""
Block = tuple[int, int, np.ndarray]
"""The first seed and the one behind the last, and the part of a sum that they need."""


class Contraction(NamedTuple):
    """A product of tensors that has not been made."""

    values: tuple[Any, ...]
    """The batch first."""
    letters: tuple[Letters, ...]
    """Of each."""
    out: Letters
    """Of the result, seeds first."""
    shape: tuple[int, ...]
    """Of the result, without the seeds."""
    sizes: tuple[int, ...]
    """Of each letter."""
    given: float
    """Seconds in the order in which it was asked for."""
    there: Callable[[], np.ndarray | None]
    """``there()``: where the batch can be different from zero, a row for each seed; None if that is not known."""

    @classmethod
    def of(cls, batch: Any, count: int, shape: tuple[int, ...], there: Callable[[], np.ndarray | None]) -> Contraction:
        """The batch alone, of `count` values of a shape."""
        sizes = (count, *[d for d in shape if d != 1])
        letters = tuple(range(len(sizes)))
        return cls((batch,), (letters,), letters, shape, sizes, 0.0, there)

    # ---- with one more tensor, or another shape ----------------------------------------------------------------------

    def times(self, equation: str, own: int, x: Any) -> Contraction | None:
        """The product with `x`, by the equation of two operands of which number `own` is this one.

        None where a letter would be summed over that only one of them has.
        """
        terms, out = equation.split("->")
        mine, other = terms.split(",")[:: 1 if own == 0 else -1]
        shape = static_shape(x)
        if shape is None or len(shape) != len(other) or len(self.shape) != len(mine):
            return None
        own_letters = iter(self.out[1:])
        known = {name: next(own_letters) for name, d in zip(mine, self.shape, strict=True) if d != 1}
        sizes, letters = list(self.sizes), []
        for name, d in zip(other, shape, strict=True):
            if d == 1:
                continue
            if name not in known:
                known[name] = len(sizes)
                sizes.append(d)
            if sizes[known[name]] != d:
                return None
            letters.append(known[name])
        made = (0, *[known[name] for name in out if name in known])
        if not set(self.out).symmetric_difference(letters).issubset(made):
            return None
        dims = tuple([sizes[known[name]] if name in known else 1 for name in out])
        values, each = (*self.values, x), (*self.letters, tuple(letters))
        given = self.given + _seconds(self.out, letters, made, sizes)
        return Contraction(values, each, made, dims, tuple(sizes), given, self.there)

    def moved(self, order: Sequence[int]) -> Contraction:
        """The result with its axes (without the seeds) in another order."""
        own_letters = iter(self.out[1:])
        by_axis = [next(own_letters) if d != 1 else -1 for d in self.shape]
        out = (0, *[by_axis[k] for k in order if by_axis[k] >= 0])
        return self._replace(out=out, shape=tuple([self.shape[k] for k in order]))

    def reshaped(self, shape: tuple[int, ...]) -> Contraction | None:
        """The result in another shape, if no two dimensions become one."""
        wanted, sizes = [d for d in shape if d != 1], list(self.sizes)
        parts: dict[int, Letters] = {}
        for letter in self.out[1:]:
            left, own = sizes[letter], []
            while left > 1:
                if not wanted or left % wanted[0]:
                    return None
                own.append(wanted.pop(0))
                left //= own[-1]
            if len(own) > 1:
                parts[letter] = tuple(range(len(sizes), len(sizes) + len(own)))
                sizes += own
        *letters, out = [tuple(itertools.chain(*[parts.get(k, (k,)) for k in of])) for of in (*self.letters, self.out)]
        return self._replace(letters=tuple(letters), out=out, shape=shape, sizes=tuple(sizes))

    # ---- the order ---------------------------------------------------------------------------------------------------

    def order(self) -> tuple[float, Steps]:
        """The seconds and steps of the quickest order."""
        return _quickest(self.letters, self.out, self.sizes)

    def is_stacked(self, steps: Steps) -> bool:
        """Whether one of these products is one of stacks of matrices."""
        each = self._products(steps)
        return any(not {*a, *b}.issubset(out) and not {*a}.isdisjoint({*b}.intersection(out)) for _, a, b, out in each)

    def _products(self, steps: Steps) -> Iterator[tuple[int, Letters, Letters, Letters]]:
        """Of each step: the place of the first factor, the letters of both, and of what they give."""
        left = [*self.letters]
        for i, j in steps:
            a, b = left[i], left.pop(j)
            left[i] = _kept(a, b, [each for k, each in enumerate(left) if k != i], self.out)
            yield i, a, b, left[i]

    def made(self, steps: Steps, last: bool) -> Operand:
        """The result, seeds first, by these steps; with `last`, seeds lie side by side in memory."""
        tensors = [(self._fitted(x, letters), letters) for x, letters in zip(self.values, self.letters, strict=True)]
        out = (*self.out[1:], 0) if last else self.out
        for i, j in steps:
            (a, of_a), (b, of_b) = tensors[i], tensors.pop(j)
            kept = _kept(of_a, of_b, [letters for k, (_, letters) in enumerate(tensors) if k != i], out)
            tensors[i] = _times(a, of_a, b, of_b, kept), kept
        ((made, _),) = tensors
        return _in_shape(seeds_first(made) if last else made, [self.sizes[0], *self.shape])

    def shared(self) -> Contraction:
        """The product in which all that the seeds share has been multiplied, as far as the quickest order does so."""
        _, steps = self.order()
        if not steps or steps[0][0] == 0:
            return self
        i, j = steps[0]
        values, letters = list(self.values), list(self.letters)
        (a, of_a), (b, of_b) = (values[i], letters[i]), (values.pop(j), letters.pop(j))
        kept = _kept(of_a, of_b, [each for k, each in enumerate(letters) if k != i], self.out)
        values[i], letters[i] = _times(self._fitted(a, of_a), of_a, self._fitted(b, of_b), of_b, kept), kept
        return self._replace(values=tuple(values), letters=tuple(letters)).shared()

    def _fitted(self, x: Any, letters: Letters) -> Any:
        return _in_shape(x, [self.sizes[k] for k in letters])

    # ---- blocks of seeds ---------------------------------------------------------------------------------------------

    def blocks(self, seconds: float, steps: Steps) -> tuple[int, list[Block]] | None:
        """A letter, and blocks of seeds that need a part of what it stands for; None if the whole is as quick."""
        table = self.there() if seconds >= _WORTH else None
        own, found = self.letters[0], None
        if table is None or table.size != math.prod([self.sizes[k] for k in own]):
            return None
        table = table.reshape([self.sizes[k] for k in own])
        with_seeds = self._seconds_of(steps, 0, self.sizes[0], self.sizes[0])
        best = _BLOCKS * seconds - (seconds - with_seeds)
        for letter in own[1:]:
            there = np.any(table, axis=tuple([axis for axis, k in enumerate(own) if k not in (0, letter)]))
            if letter in self.out:
                # all of it is in the result, if anything is
                there = np.repeat(there.any(1, keepdims=True), there.shape[1], 1)
            total, blocks = split(there, partial(self._beside, steps, letter))
            if total < best:
                best, found = total, (letter, blocks)
        return found

    def _beside(self, steps: Steps, letter: int, seeds: int, part: int) -> float:
        """How long a block takes, which is then put beside others."""
        made = self._seconds_of(steps, letter, seeds, part) if part else 0.0
        return made + ELEMENT * seeds * math.prod(self.shape)

    def _seconds_of(self, steps: Steps, letter: int, seeds: int, part: int) -> float:
        """How long the products with the batch take, for some seeds."""
        sizes = list(self.sizes)
        sizes[letter], sizes[0] = part, seeds
        return sum([_seconds(a, b, out, sizes) for i, a, b, out in self._products(steps) if i == 0])

    def block(self, letter: int, start: int, stop: int, part: np.ndarray) -> Contraction:
        """The product for some seeds, with a part of what a letter stands for."""
        sizes = list(self.sizes)
        sizes[0], sizes[letter] = stop - start, len(part)
        each = zip(self.values, self.letters, strict=True)
        first, *others = [_part(self._fitted(x, letters), letters, letter, part) for x, letters in each]
        return self._replace(values=(first[start:stop], *others), sizes=tuple(sizes))


def split(there: np.ndarray, seconds: Callable[[int, int], float]) -> tuple[float, list[Block]]:
    """The seeds in blocks, one after the other, each with all columns that its rows of a table need, in the least time.

    ``seconds(seeds, columns)`` says how long a block takes.
    """
    ends = [*(np.flatnonzero((there[1:] != there[:-1]).any(1)) + 1).tolist(), len(there)]
    if len(ends) > _RUNS:
        return math.inf, []
    starts, seconds = [0, *ends[:-1]], cache(seconds)
    best: list[tuple[float, list[Block]]] = [(0.0, [])]
    for stop in ends:
        options = []
        for (before, blocks), start in zip(best, starts, strict=False):
            part = np.flatnonzero(there[start:stop].any(0))
            options.append((before + seconds(stop - start, len(part)), [*blocks, (start, stop, part)]))
        best.append(min(options, key=lambda option: option[0]))
    return best[-1]


def _quickest(letters: Sequence[Letters], out: Letters, sizes: Sequence[int]) -> tuple[float, list[tuple[int, int]]]:
    if len(letters) == 1:
        return 0.0, []
    best: tuple[float, list[tuple[int, int]]] = math.inf, []
    # tensors without seeds first, where it is all the same
    for i, j in [*itertools.combinations(range(len(letters)), 2)][::-1]:
        rest = [each for k, each in enumerate(letters) if k not in (i, j)]
        kept = _kept(letters[i], letters[j], rest, out)
        own = _seconds(letters[i], letters[j], kept, sizes)
        if own >= best[0]:
            continue
        after = [kept if k == i else each for k, each in enumerate(letters) if k != j]
        seconds, steps = _quickest(after, out, sizes)
        if own + seconds < best[0] * (1 - 1e-9):
            best = own + seconds, [(i, j), *steps]
    return best


def _seconds(a: Sequence[int], b: Sequence[int], out: Sequence[int], sizes: Sequence[int]) -> float:
    """How long a product of two takes, about."""
    elements = [math.prod([sizes[k] for k in letters]) for letters in (a, b, out)]
    moved = 2 * CALL + ELEMENT * (elements[0] + elements[1] + 2 * elements[2])
    if {*a, *b}.issubset(out):
        # nothing is summed: it is a product of elements
        return moved
    stack, rows, columns = [
        math.prod([sizes[k] for k in out if (k in a, k in b) == of])
        for of in ((True, True), (True, False), (False, True))
    ]
    narrow = min(rows, columns)
    # one row or column is no product of matrices, and takes the time of what it reads
    slower = 1 + _NARROW / narrow if narrow > 1 else 1
    multiplied = slower * math.prod([sizes[k] for k in {*a, *b}])
    return moved + 2 * FLOP * multiplied + (_MATRIX * stack if stack > 1 else 0.0)


def _kept(a: Letters, b: Letters, rest: Sequence[Letters], out: Letters) -> Letters:
    """The letters of a product of two that are needed later; in the order of the result if it is that."""
    if not rest:
        return out
    later = set(out).union(*rest)
    return tuple([k for k in dict.fromkeys((*a, *b)) if k in later])


def _times(a: Any, of_a: Letters, b: Any, of_b: Letters, out: Letters) -> Operand:
    names = ["".join([ascii_letters[k] for k in letters]) for letters in (of_a, of_b, out)]
    return einsum_op(a, b, equation="{},{}->{}".format(*names))


def _part(x: Any, letters: Letters, letter: int, index: np.ndarray) -> Any:
    """The entries of a tensor along a letter."""
    if letter not in letters:
        return x
    first, last = int(index[0]), int(index[-1])
    if last - first + 1 == len(index):
        return x[tuple([slice(first, last + 1) if k == letter else slice(None) for k in letters])]
    return gather(x, index, axis=letters.index(letter))


def _in_shape(x: Any, shape: Sequence[int]) -> Operand:
    return x if shape_of(x) == tuple(shape) else reshape(x, shape)


def static_shape(x: Any) -> tuple[int, ...] | None:
    """The shape of a value, if it is known."""
    dims = [d for d in aval_of(x).shape or () if d is not None]
    return tuple(dims) if aval_of(x).is_static else None


def seeds_first(x: Any) -> Any:
    """A batch with its last axis first."""
    rank = len(aval_of(x).shape or ())
    return transpose(x, [rank - 1, *range(rank - 1)])


def seeds_last(x: Any) -> Any:
    """A batch with its first axis last."""
    rank = len(aval_of(x).shape or ())
    return transpose(x, [*range(1, rank), 0])
