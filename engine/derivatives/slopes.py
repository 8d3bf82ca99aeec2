"""Slopes of cotangents, for derivatives of gradients where values coincide (`engine.ops.spectral`) or norms are 0.

The gradient of a function of eigenvalues is an op that takes their cotangents. Its derivative at equal eigenvalues
needs to know how the cotangents change when the eigenvalues part. The gradient of a function of a norm is ``ct * x /
r``. Where the norm r is 0, `ct` of a smooth function is 0, too, and it needs to know how that changes with r. The nodes
between are in the hands of whoever walks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from engine.core.op import Node
from engine.core.sparsity import ELEMENTWISE
from engine.core.structural import sum_to_like_op
from engine.core.tape import Recording
from engine.core.value import shape_of
from engine.derivatives.forward import forward
from engine.derivatives.powers import ROOTS
from engine.derivatives.reverse import live_path
from engine.ops.arithmetic import multiply, part_of, real_abs, sign, sign_sloped
from engine.ops.complexes import complex_abs, complex_sign, modulus_sloped
from engine.ops.creation import ones_like, zeros_like
from engine.ops.decompose import eigh_op, eigvalsh_op, singular_values_op, svd_op
from engine.ops.reduce import spread_like_op
from engine.ops.spectral import direction, singular, singular_sloped, spectral, spectral_sloped
from engine.ops.stats import length_sloped

_SLOPED = {spectral: spectral_sloped, singular: singular_sloped}
"""The ops that stand for a gradient once it is known how operand 0 changes along `direction` of operand 2."""
_LENGTHS = {part_of: length_sloped, sign: sign_sloped, complex_sign: modulus_sloped}
"""The same for the marks of gradients of norms, times cotangents."""
_MARKS = frozenset((*_SLOPED, *_LENGTHS))
"""The ops by which gradients are found that need slopes."""
_MANY = 64
"""Moduli from which on no slopes are found: each may cost as much as all between it and its gradient."""
_TURNED = frozenset((*ROOTS, eigh_op, eigvalsh_op, svd_op, singular_values_op))
"""The ops whose gradients are those."""


def needs_reverse(nodes: Sequence[Node]) -> bool:
    """Whether a derivative must be found by reverse mode, so that its own can be told where norms are 0."""
    ops = {node.op for node in nodes}
    return not ops.isdisjoint(_TURNED) and ops.isdisjoint(_MARKS - {sign})


def with_slopes(nodes: Sequence[Node]) -> Sequence[Node]:
    """The nodes, those of spectral gradients with the slopes of their cotangents."""
    if type(nodes) is Recording and _MARKS.isdisjoint(nodes.log[::4]):
        # whoever knows the recording's structure needs no nodes
        return nodes
    found: list[Node] | None = None
    for i, node in enumerate(nodes):
        if node.op in _SLOPED:
            found = list(nodes) if found is None else found
            ct, values = node.inputs[0], node.inputs[2]
            (slope,) = forward(found[:i], [(values, direction(values))], [ct])
            slope = zeros_like(ct) if slope is None else slope
            found[i] = Node(_SLOPED[node.op], (*node.inputs, slope), node.params, node.outputs)
    return _with_lengths(nodes if found is None else found)


def _with_lengths(nodes: Sequence[Node]) -> Sequence[Node]:
    """The nodes, products of a cotangent and a mark of `_LENGTHS` with how the cotangent changes with the norm."""
    marks = {id(n.outputs[0]): n for n in nodes if n.op in _LENGTHS}
    if not marks:
        return nodes
    found, many = list(nodes), sum(n.op is sign for n in marks.values()) > _MANY
    made: dict[int, Node] = {}
    users: dict[int, list[Node]] = {}
    for i, node in enumerate(nodes):
        if node.op is multiply and (mark := marks.get(id(node.inputs[1]))) is not None:
            norms = _norms_of(mark, made, users)
            slope = _slope(node.inputs[0], mark, norms, found[:i], made, many) if norms else None
            if slope is not None:
                found[i] = Node(_LENGTHS[mark.op], (node.inputs[0], *mark.inputs, slope), {}, node.outputs)
        made.update([(id(out), found[i]) for out in node.outputs])
        if node.inputs:
            users.setdefault(id(node.inputs[0]), []).append(node)
    return found


def _norms_of(mark: Node, made: dict[int, Node], users: dict[int, list[Node]]) -> list[Any]:
    """The norms, all the same, that the gradient with this mark may be that of."""
    x = mark.inputs[0]
    if mark.op is not part_of:
        of = real_abs if mark.op is sign else complex_abs
        return [n.outputs[0] for n in users.get(id(x), ()) if n.op is of]
    norm = mark.inputs[1]
    norm = made[id(norm)].inputs[0] if id(norm) in made and made[id(norm)].op is spread_like_op else norm
    one = made.get(id(norm))
    if one is None or not one.inputs:
        # it comes from outside
        return [norm]
    return [n.outputs[0] for n in users[id(one.inputs[0])] if n.op is one.op and n.params == one.params]


def _slope(
    ct: Any, mark: Node, norms: Sequence[Any], nodes: Sequence[Node], made: dict[int, Node], is_one_of_many: bool
) -> Any:
    """How a cotangent changes with each of its norms, NaN where that is not known; None if nothing is."""
    behind = _behind(ct, made, norms)
    if mark.op is sign:
        # an odd function of x besides changes nothing in the mean of both sides; of other moduli nothing is known
        is_known = not is_one_of_many and not any(id(x) in made and made[id(x)].op is real_abs for x in behind)
    else:
        own = set(map(id, _behind(mark.inputs[0], made)))
        is_known = own.isdisjoint(map(id, behind))
    if not (is_known and _is_apart(nodes, norms, ct)):
        return np.nan * ones_like(ct) if mark.op is sign else None
    (slope,) = forward(nodes, [(n, ones_like(n)) for n in norms], [ct])
    return zeros_like(ct) if slope is None else slope


def _behind(value: Any, made: dict[int, Node], stop: Sequence[Any] = ()) -> Iterator[Any]:
    """The values that a value is computed from, itself first, as far as `stop`; `made`: what makes each."""
    seen, pending = {id(value), *map(id, stop)}, [] if any(x is value for x in stop) else [value]
    while pending:
        x = pending.pop()
        yield x
        if (node := made.get(id(x))) is None:
            continue
        for k, operand in enumerate(node.inputs):
            if id(operand) not in seen and node.carries(k):
                seen.add(id(operand))
                pending.append(operand)


def _is_apart(nodes: Sequence[Node], norms: Sequence[Any], ct: Any) -> bool:
    """Whether each element of a cotangent depends on its own norm only, as far as the ops tell."""
    shape = shape_of(norms[0])
    if shape is None or all(n == 1 for n in shape):
        return shape is not None
    live, path = live_path(nodes, set(map(id, norms)), set())[1], {id(ct)}
    for node in reversed(nodes):
        carried = [x for i, x in enumerate(node.inputs) if node.carries(i)]
        if any(id(o) in path for o in node.outputs) and any(id(x) in live for x in carried):
            spread = node.op is spread_like_op
            made = shape_of(node.inputs[0] if spread else node.outputs[0])
            kept = spread or node.op.sparsity is ELEMENTWISE or node.op is sum_to_like_op
            # all that one norm was repeated for is its own
            if not kept or made is None or not _is_repeated(shape, made):
                return False
            path.update(map(id, carried))
    return True


def _is_repeated(shape: Sequence[int | None], made: Sequence[int | None]) -> bool:
    """Whether a value of a shape may have been broadcast to another one."""
    pairs = zip(reversed(shape), reversed(made), strict=False)
    return len(made) >= len(shape) and all(n in (1, m) for n, m in pairs)
