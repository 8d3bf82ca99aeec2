"""Calls that need to know what only a run knows: an axis that is fed, the rank of a placeholder of any shape.

While a graph is built, an engine function raises `NotKnownYet` then. `deferred_call` puts a node in its place, which
makes the call when the shapes, and the contents it needs, are there (`engine.control.deferred`): once for each
combination.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from engine.closed.function import Body, ClosedFunction, build
from engine.control.deferred import Recipe, deferred_op
from engine.core import nest
from engine.core.aval import Aval, Shape
from engine.core.operands import Results
from engine.core.trace import Symbol
from engine.core.value import Value, aval_of, dtype_of
from engine.core.variable import Variable
from engine.runtime.errors import NotKnownYet, OpError

_RANKS = (2, 1, 3, 4, 0)
"""Ranks to try where one is not known, to learn how many results there are and of what dtypes."""


class Call(Recipe):
    """A call of an engine function.

    `arguments` are ``(args, kwargs)``, whose leaves at `positions` are the operands; `reads` are those whose contents
    it needs.
    """

    def __init__(
        self, function: Callable[..., Any], arguments: Any, positions: Sequence[int], reads: frozenset[int]
    ) -> None:
        super().__init__()
        self.function, self.arguments, self.positions, self.reads = function, arguments, positions, reads
        self.results: Any = None
        self._avals: tuple[Aval, ...] = ()

    def __repr__(self) -> str:
        return f"<deferred call of {getattr(self.function, '__name__', self.function)}>"

    def avals(self, given: Sequence[Aval]) -> tuple[Aval, ...]:
        """The dtypes of the results are known, and their ranks if these do not depend on what is read."""
        return self._avals

    def made(self, given: Sequence[Aval]) -> ClosedFunction:
        """The call as a closed function."""

        def called(body: Body, values: Sequence[Any]) -> list[Any]:
            contents = [
                np.asarray(a.value, a.dtype.numpy) if i in self.reads else v
                for i, (v, a) in enumerate(zip(values, given, strict=True))
            ]
            leaves = nest.flatten(self.arguments)
            for at, x in zip(self.positions, contents, strict=True):
                leaves[at] = x
            args, kwargs = nest.pack_sequence_as(self.arguments, leaves)
            self.results = self.function(*args, **kwargs)
            return nest.flatten(self.results)

        return build(given, called)

    def tried(self, given: Sequence[Aval], shape: Shape) -> bool:
        """Learn what the results are from calls that work for shapes and contents that fit what is known.

        Their ranks are known if those of all operands are, and calls agree that have other sizes in place of unknown
        ones, and read other numbers. `shape` is what the error said of a single result.
        """
        ranked = all(a.shape is not None for a in given) and all(given[i].shape != (None,) for i in self.reads)
        numbers = [i for i in self.reads if given[i].shape == ()]
        least = (1 + any(None in (a.shape or ()) for a in given), 1 + bool(numbers))
        tried, sizes, contents, ranks = set(), set(), set(), set()
        for guess in _guesses(given, self.reads):
            key = tuple([(a.shape, a.value) for a in guess])
            if key in tried:
                continue
            tried.add(key)
            try:
                results = self.made(guess).results
            except (OpError, ValueError, TypeError, IndexError):
                continue
            sizes.add(tuple([a.shape for a in guess]))
            contents.add(tuple([guess[i].value for i in numbers]))
            ranks.add(tuple([len(r.aval.shape or ()) for r in results]))
            enough = len(sizes) >= least[0] and len(contents) >= least[1]
            if not ranked or len(ranks) > 1 or enough:
                break
        if not ranks:
            return False
        agree = ranked and len(ranks) == 1 and enough
        shapes = [shape if shape is not None else (None,) * rank if agree else None for rank in ranks.pop()]
        self._avals = tuple([Aval(known, dtype_of(r)) for known, r in zip(shapes, results, strict=True)])
        return True


def _guesses(given: Sequence[Aval], reads: frozenset[int]) -> Iterator[list[Aval]]:
    """Avals without anything unknown that fit the given ones."""
    sizes = dict.fromkeys([1, 2, *[d for aval in given for d in aval.shape or () if d], 16])
    # what is read has an entry per dimension, often; a scalar or a vector of another length, else
    unknown = any(given[i].shape in (None, (None,)) for i in reads)
    lengths = (None, -1, *_RANKS) if unknown else (None,)
    for length, rank, size, start in itertools.product(lengths, _RANKS, sizes, (0, -1, 1, None, 64)):
        guess = []
        for i, aval in enumerate(given):
            shape = tuple([size if d is None else d for d in ((None,) * rank if aval.shape is None else aval.shape)])
            if i in reads:
                if aval.shape is None or aval.shape == (None,):
                    shape = () if length == -1 and aval.shape is None else (rank if length in (None, -1) else length,)
                value = 0 if start is None else start
                if shape:
                    value = (0,) * shape[0] if start is None else tuple(range(start, start + shape[0]))
                guess.append(Aval(shape, aval.dtype, value))
            else:
                guess.append(Aval(shape, aval.dtype))
        yield guess


def deferred_call(
    function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], error: NotKnownYet
) -> Results:
    """The results of ``function(*args, **kwargs)``, which has raised `error`, as far as a graph can have them.

    The same error is raised again if waiting does not help.
    """
    arguments = (list(args), kwargs)
    leaves = nest.flatten(arguments)
    positions = [i for i, x in enumerate(leaves) if isinstance(x, Value)]
    operands = [x.read_value() if isinstance(x, Variable) else x for x in [leaves[i] for i in positions]]
    reads: set[int] = set()
    needs = error.needs
    while any(isinstance(x, Symbol) for x in operands):
        if needs is not None:
            places = [i for i, x in enumerate(operands) if x is needs]
            if not places or not all(operands[i].dtype.is_integer for i in places):
                break
            reads.update(places)
        recipe = Call(function, arguments, positions, frozenset(reads))
        if recipe.tried([aval_of(x) for x in operands], error.shape):
            return nest.pack_sequence_as(recipe.results, deferred_op(*operands, recipe=recipe))
        more = [
            i
            for i, x in enumerate(operands)
            if i not in reads and isinstance(x, Symbol) and x.dtype.is_integer and len(x.aval.shape or ()) <= 1
        ]
        if not more:
            break
        reads.update(more)
        needs = None
    raise error
