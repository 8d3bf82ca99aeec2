"""The meaning of a zero in a cotangent or tangent: nobody chose the element, or a product came out as zero.

``where(x > 0, sqrt(x), 0)`` has the derivative 0 at 0: the element is not chosen, so the infinite partial of the
square root does not matter. ``exp(log(x))`` has the derivative 1 there; the chain rule multiplies a partial that is 0
by one that is infinite and must give NaN, not 0. The walks meet the same product, 0 times infinity. They tell the two
apart by what lies on the way:

- Where nothing was left out, a product is a plain product.
- An op that chooses (`where`, `maximum`, `relu`, the largest of a row) or leaves elements out (a slice) does so to a
  cotangent of ones too. That tells which zeros are its own. They commute with products element by element, so the
  products come first, plainly; what was not chosen and became NaN is made zero at the end.
- Behind an op that mixes elements (a product of matrices), an element was chosen if any was that it is made of. Where
  an op does not tell which these are, a zero is taken to be made of zeros only.
- A zero in what a walk is seeded with stands for an element that is not asked for.

A walk keeps a `Part` where this matters, and plain values elsewhere.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from engine.core.op import Node, Rule
from engine.core.operands import Operand
from engine.core.sparsity import along
from engine.core.structural import Cotangent, Tangent, broadcast_like, has_nan, scale, sum_to_like
from engine.core.trace import Symbol
from engine.core.value import Zero, dtype_of, shape_of
from engine.ops.arithmetic import add, maximum, multiply
from engine.ops.compare import cast_like, keep_chosen, not_equal, zero_of
from engine.ops.creation import ones_like
from engine.ops.einsum import einsum_op
from engine.ops.linalg import matmul_op
from engine.ops.reduce import reduce_sum, spread_like
from engine.ops.shape import matrix_transpose_op
from engine.runtime.structs import struct

Map = Callable[[Any], Any]
"""A linear map of cotangents or tangents."""


class Mask:
    """A mask that is nonzero where an element was chosen: found when somebody asks, and kept.

    ``find(mask)`` is a value of the cotangent's dtype, which broadcasts to it; it may say that this is ones and zeros
    (`is_binary`). `spread` maps that value, as ones and zeros, to one of the cotangent's shape; None if it has that.
    """

    __slots__ = ("_find", "_found", "_small", "_spread", "is_binary")

    def __init__(self, find: Callable[[Mask], Any], spread: Map | None = None) -> None:
        self._find: Callable[[Mask], Any] | None = find
        self._spread = spread
        self._found: Any = None
        self._small: Any = None
        self.is_binary = False

    def found(self) -> Operand:
        """The result of `find`."""
        if self._find is not None:
            self._found, self._find = self._find(self), None
        return self._found

    def whole(self, like: Any) -> Operand:
        """Ones and zeros in the shape of a cotangent."""
        if self._small is None:
            chosen = self.found()
            self._small = chosen if self.is_binary else cast_like(not_equal(chosen, zero_of(chosen)), chosen)
        small = self._small
        if self._spread is not None:
            return self._spread(small)
        return small if shape_of(small) == shape_of(like) else broadcast_like(cast_like(small, like), like)


@struct(eq=False, slots=True)
class Choice:
    """Which elements of a cotangent (or tangent) were chosen."""

    fixed: Mask | None
    """The elements that ops chose: the rest is zero for all values near these as well."""
    seeded: Mask | None
    """Those that ops and the zeros of a seed chose. Such a zero may have a derivative, which stays."""
    of: Any = None
    """The cotangent whose zeros are all that `seeded` says."""
    uniform: bool = False
    """Whether all elements were chosen or none, and the masks are single numbers. Then a NaN that is to be zero may
    spread: all else is to be zero, too."""

    def through(self, ct: Any, rule: Map, spread: Map | None = None, uniform: bool = False) -> Choice:
        """The elements chosen of ``rule(ct)``, for a rule that moves or adds up elements; `spread` as for a `Mask`."""
        fixed, seeded = self.fixed, self.seeded
        return Choice(
            None if fixed is None else Mask(lambda _: rule(fixed.whole(ct)), spread),
            None if seeded is None else Mask(lambda _: rule(seeded.whole(ct)), spread),
            uniform=uniform,
        )

    def either(self, other: Choice, total: Any) -> Choice | None:
        """The elements that either chooses; None if that is all."""
        pairs = (self.fixed, other.fixed), (self.seeded, other.seeded)
        fixed, seeded = [None if a is None or b is None else _either(a, b, total) for a, b in pairs]
        return None if fixed is None and seeded is None else Choice(fixed, seeded)

    def applied(self, ct: Any) -> Operand:
        """`ct` with zero for each NaN where nothing was chosen; anything else there came from a zero and is zero."""
        if isinstance(ct, (np.ndarray, np.generic)) and not (ct.size and has_nan(ct)):
            # as the op does, without finding the mask
            return ct  # type: ignore[return-value]
        if self.fixed is not None:
            ct = keep_chosen(ct, self.fixed.found(), fixed=True)
        return ct if self.seeded is None else keep_chosen(ct, self.seeded.found(), fixed=False)


def _either(a: Mask, b: Mask, total: Any) -> Mask:
    if a is b:
        return a
    if dtype_of(total).is_complex:
        return Mask(lambda _: a.whole(total) + b.whole(total))
    mask = Mask(lambda _: maximum(a.whole(total), b.whole(total)))
    mask.is_binary = True
    return mask


@struct(eq=False, slots=True)
class Part:
    """A cotangent (or tangent) some elements of which may not have been chosen."""

    value: Any
    choice: Choice
    settled: bool
    """Whether `value` is zero already where nothing was chosen; else `choice` has to be applied."""


def part(value: Any, choice: Choice | None, settled: bool = True) -> Any:
    """A `Part`, or the plain value if all of it was chosen."""
    return value if choice is None else Part(value, choice, settled)


def seeded(seed: Any) -> Any:
    """A cotangent or tangent to start from: what is zero in it is not asked for."""
    plain = getattr(_products, "plain", False) or (isinstance(seed, Symbol) and seed.node.op is ones_like)
    return seed if plain or type(seed) is Zero else Part(seed, Choice(None, Mask(lambda _: seed), seed), True)


@contextmanager
def plain_products() -> Iterator[None]:
    """Walks take zeros of their seeds for any other numbers: for who looks at what a rule does with its cotangent."""
    before, _products.plain = getattr(_products, "plain", False), True
    try:
        yield
    finally:
        _products.plain = before


_products = threading.local()


def settled(x: Any) -> Any:
    """The value of a `Part`, zero where nothing was chosen; anything else as it is."""
    if type(x) is not Part:
        return x
    return x.value if x.settled else x.choice.applied(x.value)


def value_of(x: Any) -> Any:
    """The value of a `Part` as it is; anything else."""
    return x.value if type(x) is Part else x


def with_value(x: Any, value: Any) -> Any:
    """A `Part` with another value of the same numbers, or that value in place of a plain one."""
    return Part(value, x.choice, x.settled) if type(x) is Part and type(value) is not Zero else value


def _with_values(x: Any, result: Any) -> Any:
    """`with_value`, of each of several results."""
    return tuple([with_value(x, r) for r in result]) if type(result) is tuple else with_value(x, result)


def settled_all(x: Any) -> Any:
    """`settled`, of each item of a tuple."""
    return tuple([settled(item) for item in x]) if type(x) is tuple else settled(x)


class Settled(tuple[Any, ...]):
    """Cotangents or tangents of several values, zero where nothing was chosen."""

    whole: frozenset[int]
    """Those whose zeros are numbers like others: nothing was left out on the way."""


def settled_each(xs: Sequence[Any]) -> Settled:
    """The values of cotangents or tangents, and which of them had no choice on the way, for rules that walk."""
    found = Settled(map(settled, xs))
    found.whole = frozenset([i for i, x in enumerate(xs) if x is not None and type(x) is not Part])
    return found


def whole_of(xs: Sequence[Any], wanted: Iterable[int]) -> frozenset[int]:
    """Those of some numbers whose cotangents or tangents had no choice on the way, as far as is known."""
    return getattr(xs, "whole", frozenset()).intersection(wanted)


def choice_in(x: Any) -> bool:
    """Whether there was a choice on the way to a cotangent, or to one of a tuple."""
    return any(map(choice_in, x)) if type(x) is tuple else type(x) is Part


def is_uniform(x: Any) -> bool:
    """Whether all elements of a cotangent were chosen, or none."""
    return type(x) is Part and x.choice.uniform


def choice_of(x: Any) -> Choice | None:
    """The choice on the way to a cotangent or tangent, None if there was none."""
    return x.choice if type(x) is Part else None


def joined(first: Any, second: Any, plus: Callable[[Any, Any], Any] = add) -> Any:
    """The sum of two cotangents: an element is chosen if it is in either."""
    a, b = choice_of(first), choice_of(second)
    if a is not None and a is b:
        return Part(plus(first.value, second.value), a, first.settled and second.settled)
    total = plus(settled(first), settled(second))
    return total if a is None or b is None else part(total, a.either(b, total))


def moved(x: Any, rule: Map, leaves_out: bool = False) -> Any:
    """``rule(x)`` of a rule that only moves or chooses elements.

    Parameters
    ----------
    x : Part or value, or a tuple of these
    rule : callable
    leaves_out : bool
        Whether some elements of the result may come from none of `x`: these were not chosen.
    """
    if is_uniform(x) and not leaves_out:
        return _with_values(x, rule(x.value))
    value = settled_all(x)
    result = rule(value)
    if type(result) is Zero or not (leaves_out or choice_in(x)):
        return result
    if type(result) is tuple:
        return tuple([r if type(r) is Zero else Part(r, _left(x, value, rule, k), True) for k, r in enumerate(result)])
    return Part(result, _left(x, value, rule), True)


def _left(x: Any, value: Any, rule: Map, k: int | None = None) -> Choice:
    """The elements chosen of ``rule(x)``, or of its result number k: what the rule leaves of masks, and of ones."""

    def of(which: str) -> Mask:
        def find(mask: Mask) -> Any:
            given = _masks(x, value, which)
            found = rule(given) if k is None else rule(given)[k]
            mask.is_binary = _is_copied(found, given if type(given) is tuple else (given,))
            return found

        return Mask(find)

    return Choice(of("fixed"), of("seeded") if _is_seeded(x) else None)


def _is_copied(found: Any, given: tuple[Any, ...]) -> bool:
    """Whether a symbol is made of elements of those given, as they are, and of zeros."""
    if not isinstance(found, Symbol) or not found.node.op.moves:
        return False
    node = found.node
    return all(any(x is g for g in given) for i, x in enumerate(node.inputs) if node.carries(i))


def _masks(x: Any, value: Any, which: str) -> Any:
    if type(x) is tuple:
        return tuple([_masks(*pair, which) for pair in zip(x, value, strict=True)])
    mask = getattr(x.choice, which) if type(x) is Part else None
    return ones_like(value) if mask is None else mask.whole(value)


def _is_seeded(x: Any) -> bool:
    return any(map(_is_seeded, x)) if type(x) is tuple else type(x) is Part and x.choice.seeded is not None


def mixed(x: Any, rule: Map, reach: Reach | None, settles: bool = True) -> Any:
    """``rule(x)`` of a rule whose results are made of many elements.

    Parameters
    ----------
    x : Part or value, or a tuple of these
    rule : callable
    reach : Reach, optional
        Which elements of the result are made of an element chosen. Without it, a zero is taken to be made of zeros.
    settles : bool
        Whether what is made of zeros is zero.
    """
    if is_uniform(x):
        return _with_values(x, rule(x.value)) if settles else Part(rule(x.value), x.choice, False)
    value = settled_all(x)
    result = rule(value)
    if type(result) is Zero or not choice_in(x):
        return result
    if type(result) is tuple:
        return tuple(map(seeded, result))
    if reach is None or type(x) is tuple:
        return seeded(result)
    return Part(result, x.choice.through(value, reach.small, reach.spread, reach.uniform), settles)


def valued(x: Any, rule: Map, fit: Map) -> Any:
    """``rule(x)`` of a rule that lets nothing through where a value is zero that may change; see `_elementwise`."""
    value, choice = settled(x), choice_of(x)
    fixed = None if choice is None or choice.fixed is None else choice.through(value, fit).fixed
    known = None if choice is None else choice.seeded or choice.fixed
    mask = Mask(lambda _: rule(ones_like(value) if known is None else known.whole(value)))
    return Part(rule(value), Choice(fixed, mask), True)


@struct(frozen=True)
class Reach:
    """The elements of a result that are made of certain elements of a cotangent."""

    small: Map
    """From a mask of the cotangent to what is nonzero where the result is made of an element in it."""
    spread: Map | None = None
    """From there to the shape of the result (see `Mask`)."""
    uniform: bool = False
    """Whether all of the result is made of all of the cotangent; `small` gives one number."""


def _reach(rule: Any, node: Node, i: int, out: Any, operands: Sequence[Any], back: bool) -> Reach | None:
    """The part of a result that a cotangent or tangent reaches, as far as the op tells; see `mixed`."""
    op, params = node.op, node.params
    if hasattr(rule, "reach"):
        return Reach(lambda mask: rule.reach(mask, out, *operands, **params))
    if op is einsum_op:
        return Reach(lambda mask: rule(mask, out, *map(ones_like, operands), **params))
    met = out if back else operands[i]
    if op is matmul_op:
        turned = bool(params.get("transpose_b" if i else "transpose_a"))
        axis = (-2 if i else -1) if back else (-1 if turned == bool(i) else -2)
        return _all_along(met, axis) or _in_product(axis, turned, out, operands[i], back)
    if op.sparsity is not along or op.multi:
        return None
    axis, keepdims = params["axis"], params.get("keepdims")
    if keepdims is None:
        lines = Reach(lambda mask: reduce_sum(mask, axis, True), lambda mask: broadcast_like(mask, out))
        return _all_along(met, axis) or lines
    if back:
        return Reach(lambda mask: spread_like(mask, operands[0], axis, keepdims))
    return Reach(lambda mask: reduce_sum(mask, axis, keepdims))


def _all_along(x: Any, axis: Any) -> Reach | None:
    """The reach of an op that mixes all elements of something, since there is one line along `axis` only."""
    shape = shape_of(x)
    if shape is None or not isinstance(axis, int):
        return None
    rest = [n for k, n in enumerate(shape) if k != axis % len(shape)]
    return Reach(reduce_sum, uniform=True) if all(n == 1 for n in rest) else None


def _in_product(axis: int, turned: bool, out: Any, x: Any, back: bool) -> Reach:
    """From a mask of a product of matrices to the lines of operand `x` that it reaches, or the reverse."""

    def lines(mask: Any) -> Operand:
        summed = reduce_sum(mask, axis, True)
        return matrix_transpose_op(summed) if turned else summed

    if not back:
        return Reach(lines, lambda mask: broadcast_like(mask, out))
    made, taken = shape_of(out), shape_of(x)
    if made is not None and taken is not None and made[:-2] == taken[:-2] and None not in made[:-2]:
        return Reach(lines, lambda mask: broadcast_like(mask, x))
    # x may have been repeated for other stacks of matrices
    return Reach(lambda mask: sum_to_like(lines(mask) * ones_like(x), x))


def pulled(rule: Rule, ct: Any, node: Node, i: int, out: Any, operands: Sequence[Any]) -> Any:
    """The cotangent of operand `i` of a node from that of its output, by the operand's reverse rule.

    Parameters
    ----------
    rule : callable
    ct : Part or value, or a tuple of these for an op of several outputs
    node : Node
    i : int
    out, operands : value or tuple, sequence of value
        What the rule is told of the node's outputs and inputs.

    Returns
    -------
    Part, value or Zero
    """

    def whole(c: Any) -> Operand:
        return rule(c, out, *operands, **node.params)

    if type(rule) is not Cotangent:
        return _general(rule, ct, node, i, whole, out, operands, True)

    def fit(x: Any) -> Operand:
        return rule.summed(x, operands)

    return _elementwise(rule, ct, node, i, whole, fit, out, operands)


def pushed(rule: Rule, t: Any, node: Node, i: int, out: Any, operands: Sequence[Any]) -> Any:
    """The tangent of a node's output from that of operand `i`, by the operand's forward rule (see `pulled`)."""

    def whole(x: Any) -> Operand:
        return rule(x, out, *operands, **node.params)

    if type(rule) is not Tangent:
        return _general(rule, t, node, i, whole, out, operands, False)

    def fit(x: Any) -> Operand:
        return broadcast_like(x, out)

    return _elementwise(rule, t, node, i, whole, fit, out, operands)


def _general(rule: Rule, x: Any, node: Node, i: int, whole: Map, out: Any, operands: Sequence[Any], back: bool) -> Any:
    op = node.op
    if (product := getattr(rule, "product", None)) is not None:
        found = _reach(rule, node, i, out, operands, back)
        return mixed(x, lambda c: product(c, out, *operands, **node.params), found, settles=False)
    if op.routes:
        return moved(x, whole, op.selects or getattr(op.sparsity, "drops" if back else "fills", not back))
    return mixed(x, whole, _reach(rule, node, i, out, operands, back))


def _elementwise(
    rule: Cotangent | Tangent, x: Any, node: Node, i: int, whole: Map, fit: Map, out: Any, operands: Sequence[Any]
) -> Any:
    """A cotangent or tangent times a partial derivative; `fit` undoes or does the broadcasting, if any."""
    if rule.selects(node.params):
        return valued(x, whole, fit) if node.op is scale else moved(x, whole, True)
    choice, alone = choice_of(x), same_shape(node, i)
    if choice is not None and x.settled and choice.of is x.value:
        # `scale` keeps the zeros that are there
        return Part(whole(x.value), choice if alone else choice.through(x.value, fit), True)
    factor = rule.factor(out, operands, node.params)
    if choice is not None and choice.uniform:
        return Part(whole(x.value) if type(factor) is int else fit(_product(x.value, factor)), choice, False)
    if type(factor) is int:
        return Part(whole(x.value), choice, x.settled) if choice is not None and alone else moved(x, whole)
    if choice is None:
        return fit(_product(x, factor))
    if alone:
        return Part(fit(_product(x.value, factor)), choice, False)
    product = choice.applied(_product(settled(x), factor))
    return Part(fit(product), choice.through(x.value, fit), True)


def _product(x: Any, factor: Any) -> Operand:
    """A plain product; that of a real tangent and a complex partial derivative is left to `scale`."""
    return multiply(x, factor) if dtype_of(x) is dtype_of(factor) else scale(x, factor)


def same_shape(node: Node, i: int) -> bool:
    """Whether operand `i` of an elementwise op is known to have the shape of the result: it is not broadcast."""
    shape = shape_of(node.inputs[i])
    if shape is not None and None not in shape and shape == shape_of(node.outputs[0]):
        return True
    return all(j == i or x is node.inputs[i] or shape_of(x) == () for j, x in enumerate(node.inputs))
