"""``tensorflow.python.ops.nn_grad``, ``math_grad``, ``array_grad``: the gradient of an operation, by its type's name.

TensorFlow registers a function such as ``_ReluGrad(op, grad)`` for each type. Programs that override gradients call it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from engine.core.op import Op
from engine.ops import (
    arithmetic,
    compare,
    complexes,
    conv,
    cross_entropy,
    explog,
    extrema,
    gather,
    indexing,
    joining,
    linalg,
    nn,
    pool,
    rearrange,
    reduce,
    scan,
    segment,
    shape,
    special,
    stats,
    trig,
)
from graph_api.derivatives.gradients import gradients as _gradients
from graph_api.graphs.tensor import Operation

_MODULES = (
    *(arithmetic, compare, complexes, explog, extrema, joining, linalg, nn, reduce, special, trig),
    *(conv, cross_entropy, gather, indexing, pool, rearrange, scan, segment, shape, stats),
)
_NAME = re.compile(r"_?([A-Z]\w*?)Grad")
_OLD = {"Add": "AddV2", "Gather": "GatherV2", "Select": "SelectV2", "BiasAdd": "AddV2", "Concat": "ConcatV2"}
"""Types that TensorFlow 1 had under other names."""


def _types() -> set[str]:
    """The types of operations that have a gradient."""
    ops = [value for module in _MODULES for value in vars(module).values()]
    found = {op.type for op in ops if isinstance(op, Op) and op.vjp is not None}
    return found | set(_OLD)


def gradient_of(type: str) -> Callable[..., Any]:
    """The function that TensorFlow registers for a type."""

    def gradient(op: Operation, *grads: Any) -> Any:
        if op.type not in (type, _OLD.get(type)) and type not in _OLD:
            raise ValueError(f"_{type}Grad: argument `op` must be of type {type}, got {op.type} ({op.name})")
        found = _gradients(list(op.outputs), list(op.inputs), grad_ys=list(grads))
        return found if len(found) > 1 else found[0]

    gradient.__name__ = gradient.__qualname__ = f"_{type}Grad"
    gradient.__doc__ = f"The cotangents of the operands of `op`, of type {type}, for those of its results."
    return gradient


def __getattr__(name: str) -> Any:
    found = _NAME.fullmatch(name)
    if found is None or found[1] not in _types():
        raise AttributeError(f"there is no gradient of this name: {name}", name=name)
    return gradient_of(found[1])


def __dir__() -> list[str]:
    return sorted(f"{type}Grad" for type in _types())
