"""Slopes of cotangents, for derivatives of gradients where values coincide (`engine.ops.spectral`).

The gradient of a function of eigenvalues is an op that takes their cotangents. Its derivative at equal eigenvalues
needs to know how the cotangents change when the eigenvalues part. The nodes between are in the hands of whoever walks.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.core.op import Node
from engine.core.tape import Recording
from engine.forward import forward
from engine.ops.creation import zeros_like
from engine.ops.spectral import direction, singular, singular_sloped, spectral, spectral_sloped

_SLOPED = {spectral: spectral_sloped, singular: singular_sloped}
"""The ops that stand for a gradient once it is known how operand 0 changes along `direction` of operand 2."""


def with_slopes(nodes: Sequence[Node]) -> Sequence[Node]:
    """The nodes, those of spectral gradients with the slopes of their cotangents."""
    if type(nodes) is Recording and _SLOPED.keys().isdisjoint(nodes.log[::4]):
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
    return nodes if found is None else found
