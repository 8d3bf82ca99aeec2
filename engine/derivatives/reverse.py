"""The reverse walk: vector-Jacobian products over a list of nodes, for tapes and graphs alike.

The walk keeps one cotangent per value, starting with the seeds at the targets. It visits the nodes from last to first;
a node whose outputs have a cotangent asks its op's rule for the cotangent of each input, and these are added up. That
is all. What makes it exact and cheap:

- Only nodes on a path from a source to a target are visited, found by one forward scan.
- Rules are asked only for inputs that somebody needs; a rule may answer `Zero`, which costs nothing.
- A zero that means "not chosen" is told from one that was computed (`engine.derivatives.strong_zeros`).
- Every answer is checked: a cotangent must have the shape and dtype of the value it belongs to.
- If no tape is recording, eager values are handed to the rules as plain arrays, and the walk runs at NumPy's speed.

Source: the accumulation scheme is reverse mode as in Griewank and Walther, *Evaluating Derivatives*, 2nd ed., ch. 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from engine.core.aval import compatible, format_shape
from engine.core.batching import Batched
from engine.core.eager import EagerTensor
from engine.core.kinds import PerOperand, Together
from engine.core.op import Node, Rule
from engine.core.operands import Operand
from engine.core.tape import active
from engine.core.value import Value, Zero, dtype_of, shape_of
from engine.core.variable import read_variable
from engine.derivatives import strong_zeros
from engine.derivatives.aggregation import PairwiseSum, dense, total, value_of
from engine.derivatives.powers import with_powers
from engine.ops.creation import zeros_like
from engine.ops.indexed_slices import IndexedSlices
from engine.runtime.errors import RuleError, ShapeError
from engine.runtime.tuning import TUNING

_COMPLEX = frozenset([np.dtype(np.complex64), np.dtype(np.complex128)])
_MANY = TUNING.joint_operands


def reverse(
    nodes: Sequence[Node],
    seeds: Iterable[tuple[Any, Any]],
    sources: Sequence[Any],
    stop: Iterable[Any] = (),
    sparse: bool = False,
    pairwise: bool = False,
    ones: bool = False,
    parts: bool = False,
    visit: Callable[[Iterable[Node]], Iterable[Node]] = iter,
) -> list[Any]:
    """Pull cotangents of some values back to `sources`, None where no path leads from the source to a seeded value.

    The nodes are in the order of execution. A value may be seeded more than once: its cotangents add up. Nothing flows
    through values of `stop` to what they were computed from. If `sparse`, the cotangent of a source that rows are
    gathered from may stay an `IndexedSlices`; if `pairwise`, what comes from several uses of a value is added in pairs
    (`aggregation`).

    In seeds, a zero stands for an element that is not asked for (`strong_zeros`), unless all are `ones`, or
    `strong_zeros.Part` already. With `parts`, a cotangent with a choice on the way is given as a `strong_zeros.Part`.
    `visit` hands on the nodes one by one, in the order in which they are visited; what it does around each, it does
    around the node's rules.
    """
    raw, stop = not active.tapes, list(stop)
    kept = {id(s) for s in sources}
    nodes = with_powers(nodes, sources, stop)
    path, live = live_path(nodes, kept, {id(v) for v in stop})
    # what is read from a variable adds to the variable's cotangent, use by use: it matters not how often it was read
    reads = {id(n.outputs[0]): id(n.inputs[0]) for n in path if n.op is read_variable and id(n.outputs[0]) not in kept}
    # cotangents of sources may consist of rows, and of what is read from a source that is a variable
    in_rows = kept | {read for read, variable in reads.items() if variable in kept} if sparse else frozenset()
    accumulate = _accumulate_pairs if pairwise else _accumulate
    cotangents: dict[int, Any] = {}
    for value, seed in [(v, _plain(s) if raw else s) for v, s in seeds if id(v) in live]:
        accumulate(cotangents, reads.get(id(value), id(value)), seed if ones else strong_zeros.seeded(seed))
    for node in visit(reversed(path)):
        ct = _take(cotangents, node, kept, raw)
        if node.op is read_variable:
            # a tape that watched the variable late has no part in what was done before
            reads.pop(id(node.outputs[0]), None)
        if ct is None:
            continue
        op, inputs, outputs = node.op, node.inputs, node.outputs
        rules = op.vjp if op.alike is None or inputs[0] is not inputs[1] else (op.alike[0], None)
        assert rules is not None
        operands = [x._array if type(x) is EagerTensor else x for x in inputs] if raw else boxed(inputs)
        if op.multi:
            out: Any = tuple([_plain(o) for o in outputs]) if raw else outputs
        else:
            out = _plain(outputs[0]) if raw else outputs[0]
        wrapped = raw and operands[0].dtype in _COMPLEX and not _holds_values(ct if op.multi else (ct,))
        if wrapped:
            # NumPy's `*` rounds two complex numbers otherwise than arrays of them, which is what ops know
            operands, out = boxed(inputs), outputs if op.multi else outputs[0]
            ct = tuple([_boxed_part(c) for c in ct]) if op.multi else _boxed_part(ct)
        if type(rules) is Together:
            _pull_together(rules, ct, out, operands, node, live, cotangents, reads, pairwise)
            continue
        each = None
        if len(inputs) > _MANY and type(rules) is PerOperand:
            ct = strong_zeros.settled(ct)
            each = rules.of_many(ct, out, operands, node.params)
        for i, x in enumerate(inputs):
            key = id(x)
            rule = rules[i] if key in live else None
            if rule is None:
                continue
            result = _rows(ct, operands, node) if i == 0 and key in in_rows else None
            if result is None:
                one = rule if each is None else _of_many(rule, each, i, ct)
                result = strong_zeros.pulled(one, ct, node, i, out, operands)
                if type(result) is Zero:
                    continue
                _check(strong_zeros.value_of(result), operands[i], node, i)
            accumulate(cotangents, reads.get(key, key), _plain_part(result) if wrapped else result)
    return [ct if parts else value_of(strong_zeros.settled(ct)) for ct in map(cotangents.get, map(id, sources))]


def _of_many(rule: Rule, each: Callable[[int], Any], i: int, ct: Any) -> Rule:
    """The rule of operand i of many, which knows what it gives for `ct`."""
    return lambda c, *rest, **params: each(i) if c is ct else rule(c, *rest, **params)


def _rows(ct: Any, operands: Sequence[Any], node: Node) -> IndexedSlices | None:
    """The cotangent of operand 0 as rows of it, or None if it is not one."""
    if type(ct) is IndexedSlices:
        # a variable was read: its cotangent is that of its value
        return ct
    ct = strong_zeros.settled(ct)
    pair = None if node.op.rows is None else node.op.rows(ct, *operands, **node.params)
    if pair is None or isinstance(ct, Batched):
        return None
    values, indices = pair
    return IndexedSlices.flat(values, indices, like=operands[0])


def _pull_together(
    rules: Together, ct: Any, out: Any, operands: Sequence[Any], node: Node, live: set[int],
    cotangents: dict[int, Any], reads: dict[int, int], pairwise: bool,
) -> None:  # fmt: skip
    """Ask for the cotangents of all inputs at once, each added to what there is of it already."""
    keys = [reads.get(id(x), id(x)) for x in node.inputs]
    order = rules.order(len(keys), node.params)
    # of an operand that occurs twice, the first occurrence in this order takes what there is
    first: dict[int, int] = {}
    for i in order:
        first.setdefault(keys[i], i)
    known = [cotangents.get(k) if first[k] == i and not pairwise else None for i, k in enumerate(keys)]
    previous = [dense(strong_zeros.settled(ct)) for ct in known]
    chosen = strong_zeros.settled_each(ct) if type(ct) is tuple else strong_zeros.settled(ct)
    totals = rules.rule([k in live for k in keys], previous, chosen, out, *operands, **node.params)
    for i in order:
        key, before, part = keys[i], previous[i], totals[i]
        if key not in live or type(part) is Zero:
            continue
        _check(part, operands[i], node, i)
        part = part if active.tapes else _plain(part)
        if strong_zeros.choice_in(ct) and (before is None or strong_zeros.choice_in(known[i])):
            part = strong_zeros.seeded(part)
        if before is None:
            (_accumulate_pairs if pairwise else _accumulate)(cotangents, key, part)
        else:
            cotangents[key] = part


def live_path(nodes: Sequence[Node], sources: set[int], stop: set[int]) -> tuple[list[Node], set[int]]:
    """The nodes that depend on a source, and the identities of the values that do."""
    live = set(sources)
    path = []
    for node in nodes:
        if node.op.vjp is None:
            continue
        for i, x in enumerate(node.inputs):
            if id(x) in live and node.carries(i):
                reached = [id(o) for o in node.outputs if id(o) not in stop]
                if reached:
                    path.append(node)
                    live.update(reached)
                break
    return path, live


def _take(cotangents: dict[int, Any], node: Node, kept: set[int], raw: bool) -> Any:
    """The cotangent of the node's output (a tuple if it has several), or None if there is none.

    Removed from `cotangents` to free it, unless the value is itself a source. Rules want it dense.
    """
    cts = [cotangents.get(id(o)) if id(o) in kept else cotangents.pop(id(o), None) for o in node.outputs]
    if node.op is not read_variable:
        cts = [_whole(ct) for ct in cts]
    if not node.op.multi:
        return value_of(cts[0])
    if all(ct is None for ct in cts):
        return None
    zeros = [
        zeros_like(_plain(o) if raw else o) if ct is None else None for ct, o in zip(cts, node.outputs, strict=True)
    ]
    return tuple([strong_zeros.seeded(z) if ct is None else ct for ct, z in zip(cts, zeros, strict=True)])


def _whole(ct: Any) -> Any:
    """A cotangent that may have been given as rows or as a sum in pairs: what neither has was not chosen."""
    if type(ct) is PairwiseSum or type(ct) is IndexedSlices:
        return strong_zeros.seeded(dense(value_of(ct)))
    return ct


def boxed(operands: Sequence[Any]) -> Sequence[Any]:
    """The operands, arrays among them as tensors that lie as they do: operators would copy them."""
    return [EagerTensor(x) if type(x) is np.ndarray else x for x in operands]


def _holds_values(cts: Any) -> bool:
    return any(isinstance(strong_zeros.value_of(ct), Value) for ct in cts)


def _boxed_part(ct: Any) -> Any:
    return strong_zeros.with_value(ct, EagerTensor(strong_zeros.value_of(ct)))


def _plain_part(ct: Any) -> Any:
    return strong_zeros.with_value(ct, _plain(strong_zeros.value_of(ct)))


def _plain(x: Any) -> Operand:
    return x._array if type(x) is EagerTensor else x


def _accumulate(cotangents: dict[int, Any], key: int, ct: Any) -> None:
    previous = cotangents.get(key)
    cotangents[key] = ct if previous is None else strong_zeros.joined(previous, ct, total)


def _accumulate_pairs(cotangents: dict[int, Any], key: int, ct: Any) -> None:
    previous, ct = cotangents.get(key), strong_zeros.settled(ct)
    cotangents[key] = PairwiseSum(ct) if previous is None else previous.plus(ct)


def require_one_number(name: str, targets: Sequence[Any], instead: str) -> None:
    """Raise a ShapeError unless there is one target of one element: else their gradients would be added up.

    It names the targets' shapes, and what to use in place of the function `name`.
    """
    shapes = [shape_of(y) for y in targets]
    if [shape is not None and all(n == 1 for n in shape) for shape in shapes] != [True]:
        every = ", ".join(format_shape(shape) for shape in shapes)
        raise ShapeError(
            f"{name}: strict: the target must be one number, got shape {every}: the gradient would be that of the sum. "
            f"Use {instead} for the derivative of each element, or differentiate tf.reduce_sum(y)"
        )


def _check(ct: Any, x: Any, node: Node, i: int) -> None:
    """Raise RuleError unless the cotangent fits the value it belongs to."""
    if not isinstance(ct, Value):
        if not isinstance(x, Value):
            if ct.shape == x.shape and ct.dtype == x.dtype:
                return
        elif compatible(ct.shape, shape_of(x)) and dtype_of(ct) is x.dtype:
            return
    elif compatible(shape_of(ct), shape_of(x)) and ct.dtype is dtype_of(x):
        return
    raise RuleError(
        f"the vjp rule of {node.op.title} for operand {i} returned {dtype_of(ct).name}{format_shape(shape_of(ct))}, "
        f"but the operand is {dtype_of(x).name}{format_shape(shape_of(x))}"
    )
