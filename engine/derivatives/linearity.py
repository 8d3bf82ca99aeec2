"""Whether a reverse rule that somebody else wrote is linear in the cotangent.

A derivative rule is linear. A rule of the user's need not be: one that clips gradients, or takes their sign, is no
derivative of anything. What is built on linearity must not be done with it: seeds that share a sweep, products of
matrices, forward mode as the transpose of the rule. There remains what the rule is meant for, one reverse sweep for
each element with a cotangent of its own.

A rule is called once, for cotangents that are not known yet, and the ops that it applies to them are looked at. It is
linear if these are *seen* to be: linear ops, sums, products with what does not depend on the cotangent. Whatever is not
recognized counts as not linear, and so does a rule that reads the numbers of its cotangent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from engine.core.batching import Batched
from engine.core.detach import looked_at
from engine.core.kinds import PushedTogether, Together
from engine.core.op import FROM_VJP, Node, Op
from engine.core.sparsity import Moves
from engine.core.structural import scale
from engine.core.tape import paused
from engine.core.trace import Symbol, Trace, constant_value
from engine.core.value import Value, Zero, aval_of, dtype_of
from engine.derivatives import custom, primitive_op
from engine.derivatives.reverse import boxed
from engine.derivatives.strong_zeros import plain_products
from engine.ops.arithmetic import divide, multiply
from engine.ops.compare import select
from engine.ops.complexes import complex_op
from engine.ops.reduce import add_n_op
from engine.ops.solve import solve_op, triangular_solve_op
from engine.runtime.errors import UnimplementedError

_USERS = (custom.__name__, primitive_op.__name__)
"""Modules of the ops that call rules which somebody else wrote."""


class Mark(IntEnum):
    """How a value depends on the cotangent.

    BESIDE: it holds elements that are linear, beside others that are free. POSSIBLE: it is made of linear values by a
    function of the user's, of which this much is not seen.
    """

    ZERO = 0
    FREE = 1
    LINEAR = 2
    BESIDE = 3
    POSSIBLE = 4
    OTHER = 5


class NotSeenLinearError(UnimplementedError):
    """Raised where forward mode needs the transpose of a rule that is not seen to be linear.

    It `is_possible` that it is linear for all that is seen: what is no product of the rule's with itself.
    """

    is_possible = False


def has_users_rule(op: Op) -> bool:
    """Whether an op's reverse rule calls one that somebody else wrote."""
    return op.module in _USERS


def not_linear(nodes: Iterable[Node], forward: bool = False) -> Node | None:
    """The first node with a rule that is not seen to be linear in the cotangent; bodies of control flow count.

    With `forward` those do not count that have a rule for tangents.
    """
    for node in nodes:
        if has_users_rule(node.op):
            if not (forward and node.op.jvp is not FROM_VJP) and not is_linear(node):
                return node
        elif (found := not_linear(_inside(node), forward)) is not None:
            return found
    return None


def _inside(node: Node) -> Iterator[Node]:
    """The nodes of the closed functions among a node's parameters."""
    for param in node.params.values():
        for part in param if isinstance(param, tuple) else (param,):
            if hasattr(part, "closed_function"):
                avals = [aval_of(x) for x in node.inputs if isinstance(x, (Value, np.ndarray, np.generic))]
                known = len(avals) == len(node.inputs) and all(a.is_static for a in avals) and part.knows(avals)
                part = part.closed_function(avals) if known else None
            if hasattr(part, "parameters") and hasattr(part, "nodes"):
                yield from part.nodes


def is_linear(node: Node) -> bool:
    """Whether the reverse rule of a node is seen to be linear in the cotangent."""
    rule = node.params.get("rule")
    known = getattr(rule, "linear", None)
    if known is None:
        known = _applied(node, frozenset()) in _SEEN
        if rule is not None:
            rule.linear = known
    return known


def check_linear(node: Node) -> None:
    """Raise NotSeenLinearError if the transpose of a rule that is not seen to be linear is to push tangents forward."""
    if not is_linear(node):
        error = NotSeenLinearError(
            f"{name_of(node)}: forward mode needs the transpose of its gradient rule, and the rule is not seen to be "
            f"linear in the cotangent (it clips, squares or reads it, say), so it has none. Use reverse mode "
            f"(gradient, jacobian), or give the function a rule for tangents: tf.primitive(fn, vjp, jvp)"
        )
        error.is_possible = node.op.module == primitive_op.__name__ and _applied(node, frozenset()) is Mark.POSSIBLE
        raise error


def name_of(node: Node) -> str:
    """The name of the function whose rule a node applies."""
    return getattr(node.params.get("rule"), "name", None) or {"closed_call": "custom_gradient"}.get(
        node.op.name, node.op.title
    )


def _applied(node: Node, open_: frozenset[Op], fixed: Sequence[int] = ()) -> Mark:
    """How what a rule makes of the cotangent depends on it.

    The rules of `open_` are being looked at: rules may use one another. With `fixed` the rule must use neither these
    operands nor the results, as one of a function that is linear in them. Only their cotangents count; otherwise those
    of all operands do.
    """
    return _worst(
        lambda cts: _pulled(node, cts, fixed),
        node.outputs,
        (*node.outputs, *node.inputs),
        (*[node.inputs[i] for i in fixed], *node.outputs) if fixed else (),
        open_ | {node.op},
    )


def is_linear_map(apply: Callable[[list[Any]], Any], like: Sequence[Any]) -> bool:
    """Whether ``apply(values)``, with values like those given, is seen to be linear in all of them together."""
    return _worst(lambda values: [apply(values)], like, like, (), frozenset()) in _SEEN


_SEEN = (Mark.ZERO, Mark.LINEAR)


def _worst(
    apply: Callable[[list[Any]], Sequence[Any]],
    like: Sequence[Any],
    others: Sequence[Any],
    spoilt: Sequence[Any],
    open_: frozenset[Op],
) -> Mark:
    """How what `apply` makes of values like those given depends on them, if none of it does on those `spoilt`.

    `others`: what it uses otherwise, for the trace to which they belong.
    """
    around = next((x.trace for x in others if isinstance(x, Symbol)), None)
    trace = around or Trace()
    given = [trace.placeholder(aval_of(x)) for x in like]
    first = len(trace.nodes)
    try:
        with paused(), plain_products():
            found = [x for x in apply(given) if x is not None and not isinstance(x, Zero)]
    except Exception:  # noqa: BLE001  (the rule reads what it is given, or fails: that shows where it is needed)
        return Mark.OTHER
    marks = {id(x): Mark.OTHER for x in spoilt} | {id(x): Mark.LINEAR for x in given}
    for made in (n for n in trace.nodes[first:] if n.inputs):
        for out, mark in zip(made.outputs, _marked(made, marks, open_), strict=True):
            marks[id(out)] = mark
    # where no graph holds it, an eager tensor of zeros may be another one in the next call
    for x, symbol in trace._captured.values() if around is None else ():
        if _mark(symbol, {}) is Mark.ZERO:
            looked_at(x)
    ends = {_mark(x, marks) for x in found} - {Mark.ZERO}
    return max(ends, default=Mark.ZERO) if Mark.FREE not in ends else Mark.OTHER


def _pulled(node: Node, cts: Sequence[Any], only: Sequence[int]) -> Sequence[Any]:
    """The result of the rule for cotangents; `only`: for which operands, if not for all."""
    assert node.op.vjp is not None
    given = tuple(cts) if node.op.multi else cts[0]
    out = node.outputs if node.op.multi else node.outputs[0]
    operands = boxed([of_one(x) for x in node.inputs])
    wanted = [
        node.carries(i) and dtype_of(x).is_differentiable and (not only or i in only) for i, x in enumerate(node.inputs)
    ]
    if type(node.op.vjp) is Together:
        return node.op.vjp.rule(wanted, [None] * len(wanted), given, out, *operands, **node.params)
    rules: Any = node.op.vjp
    return [rules[i](given, out, *operands, **node.params) for i, w in enumerate(wanted) if w]


def of_one(x: Any) -> Any:
    """The batch that a value stands for one element of, or the value itself: how rules treat it is the same."""
    return x.inner if type(x) is Batched else x


# ---- the ops of a rule -----------------------------------------------------------------------------------------------


def _mark(x: Any, marks: dict[int, Mark]) -> Mark:
    if id(x) in marks:
        return marks[id(x)]
    array = constant_value(x) if isinstance(x, Symbol) else getattr(x, "_array", x)
    zero = isinstance(array, (np.ndarray, np.generic)) and array.dtype.kind in "fc" and not np.any(array)
    return Mark.ZERO if zero else Mark.FREE


def _marked(node: Node, marks: dict[int, Mark], open_: frozenset[Op]) -> list[Mark]:
    """How the results of a node depend on the cotangent."""
    op = node.op
    given = [_mark(x, marks) for i, x in enumerate(node.inputs) if i not in op.references]
    if op.from_avals:
        mark = Mark.ZERO if op.fill is not None and op.fill(**node.params) == 0 else Mark.FREE
    elif Mark.OTHER in given:
        mark = Mark.OTHER
    elif Mark.POSSIBLE in given:
        linear = [Mark.LINEAR if mark is Mark.POSSIBLE else mark for mark in given]
        mark = Mark.POSSIBLE if not has_users_rule(op) and _keeps_linear(node, linear) else Mark.OTHER
    elif Mark.BESIDE in given:
        apart = op.module == primitive_op.__name__
        mark = Mark.POSSIBLE if apart else Mark.BESIDE if isinstance(op.sparsity, Moves) else Mark.OTHER
    elif Mark.LINEAR not in given:
        mark = Mark.ZERO if op.kind == "linear" and given and given[0] is Mark.ZERO else Mark.FREE
    elif has_users_rule(op):
        if "count" not in node.params:
            # a function of which nothing is known but its rule: that of a linear function does not use its operand
            fixed = [i for i, mark in enumerate(given) if mark is Mark.LINEAR]
            known = len(fixed) == 1 and (node.op in open_ or _applied(node, open_, fixed) in _SEEN)
            return [Mark.LINEAR if known else Mark.POSSIBLE] * len(node.outputs)
        # it hands its last operands on
        if not is_linear(node):
            return [Mark.OTHER] * len(node.outputs)
        first = node.params["count"]
        return [_mark(x, marks) for x in node.inputs[first : first + len(node.outputs)]]
    elif _keeps_linear(node, given):
        mark = Mark.LINEAR
    else:
        mark = Mark.BESIDE if isinstance(op.sparsity, Moves) else Mark.OTHER
    return [mark] * len(node.outputs)


def _keeps_linear(node: Node, given: Sequence[Mark]) -> bool:
    """Whether a node is linear in those of its operands, one at least, that are linear in the cotangent."""
    op, count = node.op, sum(mark is Mark.LINEAR for mark in given)
    if op.kind == "linear":
        return count == 1 and given[0] is Mark.LINEAR
    if op.kind == "multilinear" or op in (multiply, scale):
        return count == 1
    if op is divide:
        return count == 1 and given[0] is Mark.LINEAR
    if op in (solve_op, triangular_solve_op):
        return count == 1 and given[1] is Mark.LINEAR
    if op is select:
        return given[0] is Mark.FREE and Mark.FREE not in given[1:]
    if op in (complex_op, add_n_op) or (op.kind == "elementwise" and type(op.jvp) is PushedTogether):
        return Mark.FREE not in given
    if isinstance(op.sparsity, Moves) and {**node.params, **op.sparsity.params} == node.params:
        # constants among what is moved are zeros
        return all((mark is not Mark.FREE) == node.carries(i) for i, mark in enumerate(given))
    return False
