"""The forward walk: Jacobian-vector products over a list of nodes.

The mirror image of `reverse`: one tangent per value, nodes from first to last, a node with a tangent at some input asks
its op's rule for the tangent of the output.

An op that says ``jvp=FROM_VJP`` has no forward rule. Its tangent is the transpose of its reverse rule: ct -> vjp(ct) is
a linear map; pulling the tangent back through *it* gives the JVP. (The trick is due to J. Townsend, "A new trick for
calculating Jacobian vector products", 2017.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from engine.core.aval import compatible, format_shape
from engine.core.eager import EagerTensor
from engine.core.kinds import PushedTogether
from engine.core.op import FROM_VJP, Node
from engine.core.tape import Tape
from engine.core.value import Value, Zero, dtype_of, shape_of
from engine.derivatives import strong_zeros
from engine.derivatives.linearity import check_linear, has_users_rule
from engine.derivatives.powers import with_powers
from engine.derivatives.reverse import boxed, reverse
from engine.ops.creation import ones_like, zeros_like
from engine.runtime.errors import RuleError


def forward(
    nodes: Sequence[Node],
    seeds: Iterable[tuple[Any, Any]],
    targets: Sequence[Any],
    parts: bool = False,
    visit: Callable[[Iterable[Node]], Iterable[Node]] = iter,
    found: Callable[[Any, Any], None] | None = None,
) -> list[Any]:
    """Push tangents of some values forward to `targets`, None where no path leads to it from a seeded value.

    The nodes are in the order of execution. The tangents of one value are added up; so are its own and what comes from
    values that it is computed from. With `parts`, tangents with a choice on the way are given and taken as
    `strong_zeros.Part`. `visit` hands on the nodes one by one; what it does around each, it does around its rules.
    ``found(value, tangent)`` is told of each tangent as it stands when a node has been visited.
    """
    tangents: dict[int, Any] = {}
    seeds = list(seeds)
    nodes = with_powers(nodes, [value for value, _ in seeds])
    for value, tangent in seeds:
        key, seed = id(value), tangent if parts else strong_zeros.seeded(tangent)
        tangents[key] = strong_zeros.joined(tangents[key], seed) if key in tangents else seed
    push(tangents, visit(_needed(nodes, targets)), found)
    ends = [tangents.get(id(t)) for t in targets]
    return ends if parts else [*map(strong_zeros.settled, ends)]


def _needed(nodes: Sequence[Node], targets: Sequence[Any]) -> list[Node]:
    """The nodes that targets are made of: what else was recorded need not have a forward rule."""
    needed = {id(y) for y in targets}
    kept = []
    for node in reversed(nodes):
        if any(id(out) in needed for out in node.outputs):
            kept.append(node)
            needed.update(map(id, node.inputs))
    return kept[::-1]


def push(tangents: dict[int, Any], nodes: Iterable[Node], found: Callable[[Any, Any], None] | None = None) -> None:
    """Add the tangents of what nodes compute to those by `id` of value that are there, each a value or a `Part`."""
    for node in nodes:
        incoming = [tangents.get(id(x)) for x in node.inputs]
        if node.op.vjp is None or all(t is None for t in incoming):
            continue
        for out, tangent in zip(node.outputs, pushforward(node, incoming), strict=True):
            if tangent is not None and type(tangent) is not Zero:
                _check(strong_zeros.value_of(tangent), out, node)
                # a source that is computed from another one has a tangent of its own
                own = tangents.get(id(out))
                tangents[id(out)] = tangent if own is None else strong_zeros.joined(own, tangent)
                if found is not None:
                    found(out, strong_zeros.value_of(tangents[id(out)]))


def pushforward(node: Node, given: Sequence[Any]) -> Sequence[Any]:
    """Tangents of a node's outputs from those of its inputs (None where there is none)."""
    op = node.op
    if op.jvp is FROM_VJP:
        return _marked(_transposed_vjp(node, [strong_zeros.settled(t) for t in given]), given)
    assert op.jvp is not None and not isinstance(op.jvp, type(FROM_VJP))
    out = node.outputs if op.multi else node.outputs[0]
    operands = boxed(node.inputs)
    rules: Any = op.jvp if op.alike is None or node.inputs[0] is not node.inputs[1] else (op.alike[1], None)
    if type(op.jvp) is PushedTogether and op.jvp.each is not None and strong_zeros.choice_in(tuple(given)):
        rules = op.jvp.each
    elif type(op.jvp) is PushedTogether:
        pushed = op.jvp.rule(strong_zeros.settled_each(given), out, *operands, **node.params)
        return _marked(pushed, given)
    total: list[Any] = [None] * len(node.outputs)
    for i, t in enumerate(given):
        if t is None or (rule := rules[i]) is None:
            continue
        result = strong_zeros.pushed(rule, t, node, i, out, operands)
        for k, part in enumerate(result if op.multi else (result,)):
            if type(part) is not Zero:
                total[k] = part if total[k] is None else strong_zeros.joined(total[k], part)
    return total


def _marked(found: Sequence[Any], given: Sequence[Any]) -> Sequence[Any]:
    """Tangents that were made of many elements, of which some may not have been chosen."""
    if not strong_zeros.choice_in(tuple(given)):
        return found
    return [t if t is None or type(t) is Zero else strong_zeros.seeded(t) for t in found]


def _transposed_vjp(node: Node, given: Sequence[Any]) -> Sequence[Any]:
    """JVP as the transpose of the VJP: differentiate ``ct -> vjp(ct)`` with respect to ct, seeded with the tangents."""
    op = node.op
    assert op.vjp is not None
    if has_users_rule(op):
        check_linear(node)
    tape = Tape()
    # arrays cannot be tracked
    cts = [x if isinstance(x, Value) else EagerTensor(x) for x in map(ones_like, node.outputs)]
    for ct in cts:
        tape.watch(ct)
    tape.start()
    try:
        out = node.outputs if op.multi else node.outputs[0]
        seeds = []
        for i, t in enumerate(given):
            if t is None or (rule := op.vjp[i]) is None:
                continue
            pulled = rule(tuple(cts) if op.multi else cts[0], out, *boxed(node.inputs), **node.params)
            if type(pulled) is not Zero:
                seeds.append((pulled, t))
    finally:
        tape.stop()
    if not seeds:
        # nothing that has a tangent has a rule: no path leads through here
        return [None] * len(node.outputs)
    result = reverse(tape.nodes, seeds, cts)
    return [zeros_like(o) if r is None else r for r, o in zip(result, node.outputs, strict=True)]


def _check(tangent: Any, out: Any, node: Node) -> None:
    if compatible(shape_of(tangent), shape_of(out)) and dtype_of(tangent) is dtype_of(out):
        return
    raise RuleError(
        f"the jvp rule of {node.op.title} returned {dtype_of(tangent).name}{format_shape(shape_of(tangent))}, "
        f"but the output is {dtype_of(out).name}{format_shape(shape_of(out))}"
    )
