"""Slopes of cotangents, for derivatives of gradients where values coincide (`engine.ops.spectral`) or norms are 0.

The gradient of a function of eigenvalues is an op that takes their cotangents. Its derivative at equal eigenvalues
needs to know how the cotangents change when the eigenvalues part. The gradient of a function of a norm is ``ct * x /
r``. Where the norm r is 0, `ct` of a smooth function is 0, too, and it needs to know how that changes with r. The nodes
between are in the hands of whoever walks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.core.op import Node
from engine.core.tape import Recording
from engine.core.value import shape_of
from engine.forward import forward
from engine.ops.arithmetic import multiply, part_of
from engine.ops.creation import ones_like, zeros_like
from engine.ops.decompose import eigh_op, eigvalsh_op, singular_values_op, svd_op
from engine.ops.reduce import spread_like_op
from engine.ops.spectral import direction, singular, singular_sloped, spectral, spectral_sloped
from engine.ops.stats import length_sloped
from engine.powers import ROOTS
from engine.reverse import live_path

_SLOPED = {spectral: spectral_sloped, singular: singular_sloped}
"""The ops that stand for a gradient once it is known how operand 0 changes along `direction` of operand 2."""
_MARKS = frozenset((*_SLOPED, part_of))
"""The ops by which gradients are found that need slopes."""
_TURNED = frozenset((*ROOTS, eigh_op, eigvalsh_op, svd_op, singular_values_op))
"""The ops whose gradients are those."""


def needs_reverse(nodes: Sequence[Node]) -> bool:
    """Whether a derivative must be found by reverse mode, so that its own can be told where norms are 0."""
    ops = {node.op for node in nodes}
    return not ops.isdisjoint(_TURNED) and ops.isdisjoint(_MARKS)


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
    """The nodes, products of a cotangent and `part_of` with how the cotangent changes with the norm."""
    parts = {id(n.outputs[0]): n for n in nodes if n.op is part_of}
    if not parts:
        return nodes
    made = {id(n.outputs[0]): n for n in nodes if n.op is spread_like_op}
    found = list(nodes)
    for i, node in enumerate(nodes):
        if node.op is not multiply or (part := parts.get(id(node.inputs[1]))) is None:
            continue
        ct, (x, length) = node.inputs[0], part.inputs
        norm = made[id(length)].inputs[0] if id(length) in made else length
        if not (_is_apart(found[:i], norm, ct) and _made_of(found[:i], ct, norm).isdisjoint(_made_of(found[:i], x))):
            continue
        (slope,) = forward(found[:i], [(norm, ones_like(norm))], [ct])
        slope = zeros_like(ct) if slope is None else slope
        found[i] = Node(length_sloped, (ct, x, length, slope), {}, node.outputs)
    return found


def _made_of(nodes: Sequence[Node], value: Any, stop: Any = None) -> set[int]:
    """The identities of the values that a value is computed from, itself among them, as far as `stop`."""
    known = {id(value)}
    for node in reversed(nodes):
        if any(id(o) in known and o is not stop for o in node.outputs):
            known.update([id(x) for i, x in enumerate(node.inputs) if node.carries(i)])
    return known - {id(stop)}


def _is_apart(nodes: Sequence[Node], norm: Any, ct: Any) -> bool:
    """Whether each element of a cotangent depends on its own norm only, as far as the ops tell."""
    shape = shape_of(norm)
    if shape is not None and all(n == 1 for n in shape):
        return True
    live, path = live_path(nodes, {id(norm)}, set())[1], {id(ct)}
    for node in reversed(nodes):
        if any(id(o) in path for o in node.outputs) and any(id(x) in live for x in node.inputs):
            if node.op is spread_like_op:
                continue
            if node.op.kind != "elementwise" or shape_of(node.outputs[0]) != shape:
                return False
            path.update(map(id, node.inputs))
    return True
