"""The pattern of a Jacobian by its numbers, to hold structural patterns against."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.core.batching import Batched, batch_level, unbatch
from engine.core.op import Node
from engine.core.sparsity import Sites
from engine.core.trace import constant_value
from engine.derivatives.reverse import reverse
from engine.jacobian.structure.pattern import Pattern
from engine.jacobian.structure.propagation import patterns
from engine.transforms.vjp import recorded
from tests.support import array, differentiable


def entries(pattern: Pattern) -> np.ndarray:
    """A pattern as an array of truth values."""
    matrix = pattern.to_csr()
    assert matrix.shape == pattern.shape and matrix.nnz == pattern.nnz and matrix.has_canonical_format
    return np.asarray(matrix.toarray(), bool)


def pattern_of(fn: Callable[..., Any], *inputs: Any) -> Pattern:
    """The pattern of a function with one output in its first input."""
    nodes, values, out = recorded(fn, *inputs)
    return patterns_either_way(nodes, values[:1], [out], Sites(constant_value))[0][0]


def patterns_either_way(
    nodes: Sequence[Node], sources: Sequence[Any], targets: Sequence[Any], sites: Sites
) -> list[list[Pattern]]:
    """The patterns of Jacobians, followed from the sources; those followed from the targets must be the same.

    Whichever of the two has fewer elements is where following begins: so one more end, with which nothing else has to
    do, makes it the other.
    """
    many = recorded(lambda x: x, np.ones(1 + sum(array(x).size for x in [*sources, *targets])))[1]
    forward = patterns(nodes, sources, [*targets, *many], sites)[: len(targets)]
    back = patterns(nodes, [*sources, *many], targets, sites)
    for row, same in zip(forward, back, strict=True):
        assert same[-1].is_zero
        for pattern, other in zip(row, same[:-1], strict=True):
            assert pattern.shape == other.shape and pattern.nnz == other.nnz
            if not pattern.is_dense:
                np.testing.assert_equal(pattern.entries(), other.entries())
    return forward


def nonzeros(nodes: Sequence[Node], sources: Sequence[Any], targets: Sequence[Any]) -> list[list[np.ndarray]]:
    """Where the Jacobian of each target with respect to each source differs from zero at this point."""
    return [_nonzeros(nodes, sources, y) for y in targets]


def _nonzeros(nodes: Sequence[Node], sources: Sequence[Any], y: Any) -> list[np.ndarray]:
    value = array(y)
    seeds = np.eye(value.size, dtype=value.dtype)
    if seeds.dtype.kind == "c":
        seeds = np.concatenate([seeds, 1j * seeds])
    with batch_level() as level:
        seed = Batched(seeds.reshape(len(seeds), *value.shape), level)
        found = reverse(nodes, [(y, seed)], sources)
        pulled = [None if ct is None else array(unbatch(ct, level, len(seeds))) for ct in found]
    shape = (len(seeds) // value.size if value.size else 1, value.size)
    return [
        np.zeros((value.size, array(x).size), bool)
        if ct is None
        else np.any(ct.reshape(*shape, array(x).size) != 0, axis=0)
        for ct, x in zip(pulled, sources, strict=True)
    ]


def nonzeros_of(fn: Callable[..., Any], *inputs: Any) -> np.ndarray:
    """Where the Jacobian of a function with one output in its first input differs from zero."""
    nodes, values, out = recorded(fn, *inputs)
    return nonzeros(nodes, values[:1], differentiable(out))[0][0]
