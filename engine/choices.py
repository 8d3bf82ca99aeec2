"""What a zero in a cotangent or tangent means: nobody chose the element, or a product came out as zero.

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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from engine.core.op import Node, Rule
from engine.core.operands import Operand
from engine.core.sparsity import along
from engine.core.structural import Cotangent, Tangent, broadcast_like, has_nan, scale
from engine.core.value import Zero, dtype_of, shape_of
from engine.ops.arithmetic import add, multiply
from engine.ops.compare import cast_like, equal, logical_or, not_equal, select
from engine.ops.creation import ones_like, zeros_like
from engine.ops.extrema import reduce_max
from engine.ops.reduce import spread_like

Map = Callable[[Any], Any]
"""A linear map of cotangents or tangents."""


class Choice:
    """Which elements of a cotangent (or tangent) were chosen.

    Parameters
    ----------
    find : callable
        ``find()`` is a value of the cotangent's shape and dtype that is nonzero where it was chosen. It is asked for
        only if somebody needs it.
    fixed : bool
        Whether what was not chosen is zero for all values near these as well. A zero in a seed need not be: it may
        have a derivative, which must not be lost.
    """

    __slots__ = ("_find", "_mask", "fixed")

    def __init__(self, find: Callable[[], Any], fixed: bool) -> None:
        self._find: Callable[[], Any] | None = find
        self._mask: Any = None
        self.fixed = fixed

    def mask(self) -> Operand:
        """1 where an element was chosen, 0 elsewhere."""
        if self._find is not None:
            found = self._find()
            self._mask, self._find = cast_like(not_equal(found, zeros_like(found)), found), None
        return self._mask

    def applied(self, ct: Any) -> Operand:
        """`ct` with zero for each NaN where nothing was chosen; anything else there came from a zero and is zero."""
        if isinstance(ct, (np.ndarray, np.generic)) and not (ct.size and has_nan(ct)):
            # what is done otherwise, to the bit
            return ct
        if self.fixed and not dtype_of(ct).is_complex:
            return scale(self.mask(), ct)
        chosen = not_equal(self.mask(), zeros_like(ct))
        return select(logical_or(equal(ct, ct), chosen), ct, zeros_like(ct))


class Nonzero(Choice):
    """The choice that the zeros of a value tell: of a seed, or of what a sum of many elements gave."""

    __slots__ = ("of",)

    def __init__(self, of: Any) -> None:
        super().__init__(lambda: of, False)
        self.of = of


class Part:
    """A cotangent (or tangent) some elements of which may not have been chosen.

    Attributes
    ----------
    value : value
    choice : Choice
    settled : bool
        Whether `value` is zero already where nothing was chosen; else `choice` has to be applied.
    """

    __slots__ = ("choice", "settled", "value")

    def __init__(self, value: Any, choice: Choice, settled: bool) -> None:
        self.value = value
        self.choice = choice
        self.settled = settled


def part(value: Any, choice: Choice | None, settled: bool = True) -> Any:
    """A `Part`, or the plain value if all of it was chosen."""
    return value if choice is None else Part(value, choice, settled)


def seeded(seed: Any) -> Any:
    """A cotangent or tangent to start from: what is zero in it is not asked for."""
    return seed if type(seed) is Zero or getattr(_products, "plain", False) else Part(seed, Nonzero(seed), True)


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
    return Part(value, x.choice, x.settled) if type(x) is Part else value


def settled_all(x: Any) -> Any:
    """`settled`, of each item of a tuple."""
    return tuple([settled(item) for item in x]) if type(x) is tuple else settled(x)


def choice_in(x: Any) -> bool:
    """Whether there was a choice on the way to a cotangent, or to one of a tuple."""
    return any(map(choice_in, x)) if type(x) is tuple else type(x) is Part


def fixed_in(x: Any) -> bool:
    """Whether each choice on the way to a cotangent, or to those of a tuple, is a fixed one."""
    return all(map(fixed_in, x)) if type(x) is tuple else type(x) is not Part or x.choice.fixed


def choice_of(x: Any) -> Choice | None:
    """The choice on the way to a cotangent or tangent, None if there was none."""
    return x.choice if type(x) is Part else None


def joined(first: Any, second: Any, plus: Callable[[Any, Any], Any] = add) -> Any:
    """The sum of two cotangents: an element is chosen if it is in either."""
    a, b = choice_of(first), choice_of(second)
    if a is None and b is None:
        return plus(first, second)
    if a is b:
        return Part(plus(first.value, second.value), first.choice, first.settled and second.settled)
    total = plus(settled(first), settled(second))
    return part(total, None if a is None or b is None else Choice(lambda: a.mask() + b.mask(), a.fixed and b.fixed))


def moved(x: Any, rule: Map, leaves_out: bool = False, fixed: bool = True) -> Any:
    """``rule(x)`` of a rule that only moves or chooses elements: what it leaves out was not chosen.

    Parameters
    ----------
    x : Part or value
    rule : callable
    leaves_out : bool
        Whether some elements of the result may come from none of `x`.
    fixed : bool
        Whether it leaves out the same elements for all values near these.
    """
    value = settled_all(x)
    result = rule(value)
    if type(result) is Zero or (not leaves_out and not choice_in(x)):
        return result
    if type(result) is tuple:
        return tuple([_routed(rule, x, value, part, k) for k, part in enumerate(result)])
    return Part(result, Choice(lambda: rule(_masks(x, value)), fixed and fixed_in(x)), True)


def _routed(rule: Map, x: Any, value: Any, part: Any, k: int) -> Any:
    """One of several results of a rule that moves elements."""
    return part if type(part) is Zero else Part(part, Choice(lambda: rule(_masks(x, value))[k], fixed_in(x)), True)


def _masks(x: Any, value: Any) -> Any:
    if type(x) is tuple:
        return tuple([_masks(*pair) for pair in zip(x, value, strict=True)])
    return x.choice.mask() if type(x) is Part else ones_like(value)


def mixed(x: Any, rule: Map, reach: Map | None) -> Any:
    """``rule(x)`` of a rule whose results are made of many elements.

    Parameters
    ----------
    x : Part or value, or a tuple of these
    rule : callable
    reach : callable, optional
        From a mask of `x` to what is nonzero in each element of the result that is made of an element chosen. Without
        it, a zero in the result is taken to be made of zeros only.
    """
    value = settled_all(x)
    result = rule(value)
    if type(result) is Zero or not choice_in(x):
        return result
    if type(result) is tuple:
        return tuple(map(seeded, result))
    return Part(result, Choice(lambda: reach(_masks(x, value)), fixed_in(x)), True) if reach else seeded(result)


def _reach(rule: Map | Rule, node: Node, out: Any, operands: Sequence[Any], to: Any, back: bool) -> Map | None:
    """Which elements of `to` are made of which of a mask, as far as the op tells; see `mixed`."""
    op, params = node.op, node.params
    if hasattr(rule, "reach"):
        return lambda mask: rule.reach(mask, out, *operands, **params)
    if op.kind == "multilinear":
        return lambda mask: rule(mask, out, *map(ones_like, operands), **params)
    if op.sparsity is not along or op.multi:
        return None
    axis = params["axis"]
    if "keepdims" not in params:
        return lambda mask: broadcast_like(reduce_max(mask, axis, True), to)
    keepdims = params["keepdims"]
    if back:
        return lambda mask: spread_like(mask, to, axis, keepdims)
    return lambda mask: reduce_max(mask, axis, keepdims)


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

    op = node.op
    selects = op.selects if type(rule) is not Cotangent else rule.selects(node.params)
    if type(rule) is Cotangent and not selects:
        alone = same_shape(node, i)
        return _times(rule, ct, out, operands, node.params, whole, (lambda x: rule.summed(x, operands)), alone)
    if op.routes or selects:
        return moved(ct, whole, selects or getattr(op.sparsity, "drops", False), op is not scale)
    return mixed(ct, whole, _reach(rule, node, out, operands, operands[i], True))


def pushed(rule: Rule, t: Any, node: Node, i: int, out: Any, operands: Sequence[Any]) -> Any:
    """The tangent of a node's output from that of operand `i`, by the operand's forward rule (see `pulled`)."""

    def whole(x: Any) -> Operand:
        return rule(x, out, *operands, **node.params)

    op = node.op
    selects = op.selects if type(rule) is not Tangent else rule.selects(node.params)
    if type(rule) is Tangent and not selects:
        alone = same_shape(node, i)
        return _times(rule, t, out, operands, node.params, whole, (lambda x: broadcast_like(x, out)), alone)
    if op.routes or selects:
        return moved(t, whole, selects or getattr(op.sparsity, "fills", True), op is not scale)
    return mixed(t, whole, _reach(rule, node, out, operands, out, False))


def _times(
    rule: Cotangent | Tangent, x: Any, out: Any, operands: Sequence[Any], params: dict[str, Any],
    whole: Map, fit: Map, alone: bool,
) -> Any:  # fmt: skip
    """A cotangent or tangent times a partial derivative; `fit` undoes or does the broadcasting, if any."""
    choice = choice_of(x)
    if choice is not None and x.settled and type(choice) is Nonzero and choice.of is x.value:
        # `scale` keeps the zeros that are there
        return Part(whole(x.value), choice if alone else Choice(lambda: fit(choice.mask()), choice.fixed), True)
    factor = rule.factor(out, operands, params)
    if type(factor) is int:
        return Part(whole(x.value), choice, x.settled) if choice is not None and alone else moved(x, whole)
    if choice is None:
        return fit(multiply(x, factor))
    if alone:
        return Part(fit(multiply(x.value, factor)), choice, False)
    value = settled(x)
    product = choice.applied(multiply(value, factor))
    return Part(fit(product), Choice(lambda: fit(choice.mask()), choice.fixed), True)


def same_shape(node: Node, i: int) -> bool:
    """Whether operand `i` of an elementwise op is known to have the shape of the result: it is not broadcast."""
    shape = shape_of(node.inputs[i])
    if shape is not None and None not in shape and shape == shape_of(node.outputs[0]):
        return True
    return all(j == i or x is node.inputs[i] or shape_of(x) == () for j, x in enumerate(node.inputs))
