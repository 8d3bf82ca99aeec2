"""Functions that are worked out once shapes are known (`deferred_op`).

Some functions cannot be written down as nodes before the shapes are known: the Jacobian of a graph with unknown
dimensions, say, whose plan depends on them. In the graph stands a `Recipe` in their place, which makes a closed
function for operands of known shapes. Lowering puts the function's nodes where the op stood; where shapes follow from
data only, the function is made and compiled on the first call with such shapes, and kept.

The derivatives and batches of a recipe are recipes too: those of the closed function it is going to make.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.closed.function import ClosedFunction
from engine.core.aval import Aval
from engine.core.kinds import PushedTogether, Together, general
from engine.core.op import Op
from engine.core.operands import Operand
from engine.core.value import Zero, aval_of, differentiable
from engine.derivatives.strong_zeros import whole_of
from engine.runtime.cache import Cache
from engine.runtime.errors import UnimplementedError

_CAPACITY = 64
"""Closed functions (one for each combination of shapes) that a recipe keeps."""


class Recipe:
    """A recipe that makes a closed function for operands of known shapes. A subclass says how."""

    reads: frozenset[int] = frozenset()
    """The operands, integer scalars and vectors, of which it needs the contents too."""

    def __init__(self) -> None:
        self._kept: Cache[Any, ClosedFunction] = Cache(
            "deferred plans", _CAPACITY, key="shapes, dtypes, contents of structural operands"
        )

    def avals(self, given: Sequence[Aval]) -> tuple[Aval, ...]:
        """The avals of the results, if the operands have the given ones."""
        raise NotImplementedError

    def made(self, given: Sequence[Aval]) -> ClosedFunction:
        """The closed function for operands of these avals, whose shapes are known."""
        raise NotImplementedError

    def closed_function(self, given: Sequence[Aval]) -> ClosedFunction:
        """The same, remembered."""
        key = tuple([(a.shape, a.dtype, a.value) for a in given])
        kept = self._kept.get(key)
        return self._kept.put(key, self.made(given)) if kept is None else kept

    def spliced(self, given: Sequence[Aval]) -> ClosedFunction | None:
        """The nodes that a program computes in place of the op, if shapes are known; None if `run` does."""
        return self.closed_function(given) if self.knows(given) else None

    def order(self, count: int) -> Sequence[int]:
        """The order in which cotangents of operands are added up where some are the same."""
        return range(count)

    def within(self, recipe: Recipe) -> Recipe:
        """A derivative or a batch of it, as it is run."""
        return recipe

    def knows(self, given: Sequence[Aval]) -> bool:
        """Whether shapes, and the contents that are read, are known."""
        return all(a.is_static for a in given) and all(given[i].has_contents for i in self.reads)

    def run(self, *operands: Any) -> tuple[Any, ...]:
        """The results for arrays."""
        avals = [_with_contents(x) if i in self.reads else aval_of(x) for i, x in enumerate(operands)]
        return tuple(self.closed_function(avals).run(*operands))


def _with_contents(x: Any) -> Aval:
    """Shape, dtype and contents of an array of integers."""
    return Aval(x.shape, aval_of(x).dtype, int(x) if x.ndim == 0 else tuple(np.ravel(x).tolist()))


class _Pulled(Recipe):
    """``(operands, cotangents of the results `given`) -> cotangents of the operands `wanted``` of another recipe.

    Behind them it is given what is known already of the cotangents of operands `seeded`.
    """

    def __init__(
        self, of: Recipe, count: int, wanted: Sequence[int], given: Sequence[int], seeded: Sequence[int],
        whole: frozenset[int],
    ) -> None:  # fmt: skip
        super().__init__()
        self.of, self.count = of, count
        self.wanted, self.given, self.seeded, self.whole = wanted, given, seeded, whole
        self.reads = of.reads

    def avals(self, given: Sequence[Aval]) -> tuple[Aval, ...]:
        return tuple([Aval(given[i].shape, given[i].dtype) for i in self.wanted])

    def made(self, given: Sequence[Aval]) -> ClosedFunction:
        return self.of.closed_function(given[: self.count]).pullback(self.wanted, self.given, self.seeded, self.whole)[
            0
        ]


class _Pushed(Recipe):
    """``(operands, tangents of the operands `given`) -> tangents of the results `targets``` of another recipe."""

    def __init__(
        self, of: Recipe, count: int, given: Sequence[int], targets: Sequence[int], whole: frozenset[int]
    ) -> None:
        super().__init__()
        self.of, self.count = of, count
        self.given, self.targets, self.whole = given, targets, whole
        self.reads = of.reads

    def avals(self, given: Sequence[Aval]) -> tuple[Aval, ...]:
        results = self.of.avals(given[: self.count])
        return tuple([Aval(results[i].shape, results[i].dtype) for i in self.targets])

    def made(self, given: Sequence[Aval]) -> ClosedFunction:
        inner = self.of.closed_function(given[: self.count])
        pushed = inner.pushforward(self.given, self.targets, self.whole)[0]
        return ClosedFunction(pushed.trace, pushed.parameters, pushed.results[len(inner.results) :])


class _AtOnce(Recipe):
    """Another recipe applied to many operands at once; `flags` tells which have the batch axis."""

    def __init__(self, of: Recipe, flags: Sequence[bool]) -> None:
        super().__init__()
        self.of, self.flags = of, flags
        self.reads = of.reads

    def _each(self, given: Sequence[Aval]) -> list[Aval]:
        """The avals of one element of the batch."""
        return [
            Aval(a.shape[1:] if a.shape else None, a.dtype) if flag else a
            for a, flag in zip(given, self.flags, strict=True)
        ]

    def _size(self, given: Sequence[Aval]) -> Any:
        return next((a.shape[0] for a, flag in zip(given, self.flags, strict=True) if flag and a.shape), None)

    def avals(self, given: Sequence[Aval]) -> tuple[Aval, ...]:
        size = self._size(given)
        results = self.of.avals(self._each(given))
        return tuple([Aval(None if r.shape is None else (size, *r.shape), r.dtype) for r in results])

    def made(self, given: Sequence[Aval]) -> ClosedFunction:
        inner = self.of.closed_function(self._each(given))
        return inner.batched(self.flags, given, self._size(given), [True] * len(inner.results))[0]


def _abstract(*operands: Aval, recipe: Recipe) -> tuple[Aval, ...]:
    if recipe.knows(operands):
        return tuple([Aval(r.aval.shape, r.aval.dtype) for r in recipe.closed_function(operands).results])
    return recipe.avals(operands)


def _expand(avals: Sequence[Aval], params: dict[str, Any]) -> ClosedFunction | None:
    recipe: Recipe = params["recipe"]
    return recipe.spliced(avals)


def _vjp(
    wanted: Sequence[bool], previous: Sequence[Any], cts: Any, outs: Any, *operands: Any, recipe: Recipe
) -> list[Any]:
    differentiated = differentiable(outs)
    asked = [i for i in differentiable(operands) if wanted[i]]
    totals: list[Any] = [Zero(aval_of(x)) for x in operands]
    if asked and differentiated:
        seeded = [i for i in asked if previous[i] is not None]
        back = _Pulled(recipe, len(operands), asked, differentiated, seeded, whole_of(cts, differentiated))
        given = [*[cts[k] for k in differentiated], *[previous[i] for i in seeded]]
        for i, ct in zip(asked, deferred_op(*operands, *given, recipe=recipe.within(back)), strict=True):
            totals[i] = ct
    return totals


def _jvp(tangents: Sequence[Any], outs: Any, *operands: Any, recipe: Recipe) -> list[Any]:
    moving = [i for i in differentiable(operands) if tangents[i] is not None]
    targets = differentiable(outs)
    results: list[Any] = [Zero(aval_of(x)) for x in outs]
    if moving and targets:
        ahead = _Pushed(recipe, len(operands), moving, targets, whole_of(tangents, moving))
        pushed = deferred_op(*operands, *[tangents[i] for i in moving], recipe=recipe.within(ahead))
        for k, t in zip(targets, pushed, strict=True):
            results[k] = t
    return results


def _batch(
    op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]
) -> tuple[Operand, ...]:
    recipe: Recipe = params["recipe"]
    if any(flags[i] for i in recipe.reads):
        raise UnimplementedError(f"{recipe!r}: what it reads (an axis, say) must be the same for the whole batch")
    return op(*inputs, recipe=recipe.within(_AtOnce(recipe, flags)))


deferred_op = general(
    "deferred_op",
    lambda *operands, recipe: recipe.run(*operands),
    _abstract,
    vjp=Together(_vjp, lambda count, params: params["recipe"].order(count)),
    jvp=PushedTogether(_jvp),
    batch=_batch,
    type="PartitionedCall",
    args=("*operands",),
    multi=True,
    expand=_expand,
    doc="The results of the closed function that `recipe` makes for operands of such shapes.",
)
