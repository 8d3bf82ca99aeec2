"""Powers of norms: derivatives of any order where the norm is 0, and has none itself.

``norm(x) ** 2`` is smooth at 0. Step by step its derivative is ``2 n`` times ``x / n``, which is not: of a product of
zero and something without limit, nothing can be told a second time. So a walk takes both steps at once. The cotangent
of the norm is the power's times ``p n ** (p - 1)``; what a rule of `ROOTS` wants is that over ``n``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from engine.core.kinds import general
from engine.core.op import FROM_VJP, Node, Op, Rule
from engine.core.operands import Operand
from engine.core.structural import sum_to_like
from engine.core.value import dtype_of
from engine.ops import complexes, stats
from engine.ops.arithmetic import multiply, real_abs, square_op
from engine.ops.compare import equal, less, less_equal, logical_and, not_equal, where
from engine.ops.creation import ones_like, zeros_like
from engine.ops.explog import pow, sqrt
from engine.ops.reduce import reduce_sum_op, spread_like
from engine.ops.shape import stop_gradient

_made: dict[tuple[Op, Op], Op] = {}


def with_powers(nodes: Sequence[Node], sources: Iterable[Any], stop: Iterable[Any] = ()) -> Sequence[Node]:
    """The nodes for a walk, each power of a norm as one step from what the norm is taken of.

    The root of a sum of squares is a norm, too. A norm, or such a sum or square, that is itself a source, or counts as
    a constant, stays a step of its own.
    """
    ends: set[int] | None = None
    roots: dict[int, Node] = {}
    sums: dict[int, Node] = {}
    found: list[Node] | None = None
    for i, node in enumerate(nodes):
        op = node.op
        if op not in _FOLLOWED:
            continue
        ends = {id(x) for x in (*sources, *stop)} if ends is None else ends
        out = node.outputs[0]
        made = None
        if op is reduce_sum_op or ((op is square_op or op is multiply) and node.inputs[0] is node.inputs[-1]):
            if id(out) not in ends:
                sums[id(out)] = node
        elif op is sqrt and (root := _norm_of(node, sums)) is not None:
            made = node = root
        if node.op in ROOTS and id(out) not in ends and not dtype_of(out).is_complex:
            roots[id(out)] = node
        if op in _QUOTIENTS and (root := roots.get(id(node.inputs[0]))) is not None:
            if op is multiply and node.inputs[1] is not node.inputs[0]:
                continue
            inputs = (*node.inputs[:2], *root.inputs) if op is pow else (node.inputs[0], *root.inputs)
            made = Node(_power_of(op, root.op), inputs, root.params, node.outputs)
        if made is not None:
            found = list(nodes) if found is None else found
            found[i] = made
    return nodes if found is None else found


def _norm_of(node: Node, sums: dict[int, Node]) -> Node | None:
    """A root of a sum of squares of real numbers as the norm that it is."""
    total = sums.get(id(node.inputs[0]))
    if total is None or total.op is not reduce_sum_op:
        return None
    squares = sums.get(id(total.inputs[0]))
    if squares is None or squares.op is reduce_sum_op or dtype_of(squares.inputs[0]).is_complex:
        return None
    return Node(stats.reduce_euclidean_norm_op, (squares.inputs[0],), total.params, node.outputs)


def _twice(ct: Any, of: Op, root: Any) -> tuple[Operand, Operand | None]:
    return ct + ct, None


def _power(ct: Any, of: Op, root: Any, exponent: Any) -> tuple[Operand, Operand | None]:
    """``ct * p * root ** (p - 2)``; 0 where that is infinite, if the derivative of the root is taken to be 0 there.

    Of exponents below 2 a factor ``1 / root`` stands apart: over the root x is a direction, and products stay in range.
    """
    less_two = exponent - 2
    zero, one = zeros_like(less_two), ones_like(less_two)
    guarded = equal(less_two, zero) if of is sqrt else less_equal(less_two, zero)
    # an infinity to a negative power is 0; if it is a quotient by 0, its derivative is NaN: the second one is infinite
    # for exponents from 1 to 2, and below 1 the first one is, but for 0
    steep = logical_and(less(less_two, -one), not_equal(exponent, zero))
    unbounded = where(equal(exponent, zero), np.inf * one, 1.0 / root)
    instead = where(less(less_two, zero), where(steep, np.nan * root, unbounded), one)
    # the power must not see 0, whose infinite derivative would reach the gradient as NaN
    safe = where(logical_and(equal(root, zeros_like(root)), guarded), instead, root)
    if of is sqrt:
        return sum_to_like(ct * (exponent * pow(safe, less_two)), root), None
    low = sum_to_like(ones_like(root) * where(less(less_two, zero), one, zero), root)
    apart = logical_and(not_equal(root, zeros_like(root)), not_equal(low, zeros_like(low)))
    power = pow(safe, less_two + where(apart, one, zero))
    return sum_to_like(ct * (exponent * power), root), where(apart, root, ones_like(root))


ROOTS: dict[Op, Rule] = {
    stats.reduce_euclidean_norm_op: lambda q, x, *, axis, keepdims: spread_like(q, x, axis, keepdims) * x,
    stats.reduce_std_op: lambda q, x, *, axis, keepdims: (
        spread_like(q, x, axis, keepdims, mean=True) * stats.center(x, axis=axis)
    ),
    sqrt: lambda q, x: 0.5 * q,
    real_abs: lambda q, x: q * x,
    complexes.complex_abs: lambda q, x: complexes.complex_op(q, zeros_like(q)) * x,
}
"""The cotangent of operand 0, given that of the result over the result: of ops without a derivative where it is 0."""

_QUOTIENTS: dict[Op, Callable[..., Any]] = {square_op: _twice, multiply: _twice, pow: _power}
"""Cotangents of roots, over these, from those of powers: of ops that raise to a power; and what is still to divide."""
_FOLLOWED = frozenset((*ROOTS, *_QUOTIENTS, reduce_sum_op))


def _power_of(op: Op, root: Op) -> Op:
    """The op that stands for `op` applied to the result of `root`: only walks see it."""
    made = _made.get((op, root))
    if made is not None:
        return made
    quotient, rule, first = _QUOTIENTS[op], ROOTS[root], 2 if op is pow else 1
    by = op.vjp
    assert by is not None

    def vjp(ct: Any, out: Any, *inputs: Any, **params: Any) -> Operand:
        # as of the two steps, the derivative is NaN where the root is: a factor, which forward mode has as well
        known = stop_gradient(inputs[0] - inputs[0]) + 1
        factor, length = quotient(ct, root, *inputs[:first])
        x = inputs[first]
        if length is not None:
            whole = complexes.complex_op(length, zeros_like(length)) if dtype_of(x).is_complex else length
            x = x / (spread_like(whole, x, **params) if params else whole)
        return rule(factor * known, x, *inputs[first + 1 :], **params)

    def by_exponent(ct: Any, out: Any, *inputs: Any, **params: Any) -> Operand:
        return by[1](ct, out, *inputs[:2])  # type: ignore[misc]

    own = (None, by_exponent) if op is pow else (None,)
    others = [None] * (len(root.args) - 1)
    name = f"{op.name}_of_{root.name}"
    made = general(
        name, op.kernel, op.abstract, (*own, vjp, *others), FROM_VJP, op.batch, args=(*op.args[:first], *root.args)
    )
    return _made.setdefault((op, root), made)
