"""Writes calls of public functions that make several nodes: their results are tensors, or tuples and lists of them."""

from __future__ import annotations

import ast
from typing import Any

from dualgrad.migrate.convert.calls import leaves
from dualgrad.migrate.convert.items import CallItem, parts
from dualgrad.migrate.convert.spelling import code
from dualgrad.sparse.sparse_tensor import SparseTensor
from engine.core.trace import Symbol
from engine.core.variable import read_variable
from engine.ops.indexed_slices import IndexedSlices


def write_public(body: Any, item: CallItem) -> None:
    """A call of a public function, as the program has it."""
    size = 1 + body.take(item.inputs)
    operands = [body.value(x) for x in item.inputs]
    value = code(item.written.spelling, operands, body.whole)
    result = item.call.result
    if isinstance(result, Symbol) and body.waits(result, value, item, size):
        return
    if isinstance(result, IndexedSlices) and body.is_for_step(result, item) and not any(map(_is_read, item.inputs)):
        # outside of tapes, and without variables, it does not matter when it is computed
        body.name_parts(result, value)
        return
    body.flush()
    if isinstance(result, Symbol):
        body.let(result, value, item)
        body.watch(result)
        return
    targets: list[ast.expr] = []
    for x in result if isinstance(result, tuple) else [result]:
        used = any(body.is_used(p) for leaf in leaves(x) for p in parts(leaf))
        name = body.scope.free(_part_label(body, x)) if used else "_"
        targets.append(ast.Name(name, ast.Store()))
        if isinstance(x, (list, tuple)):
            item.whole = (name, list(x))  # type: ignore[attr-defined]
            for i, leaf in enumerate(x):
                body.name_parts(leaf, ast.Subscript(ast.Name(name), ast.Constant(i), ast.Load()))
        else:
            body.name_parts(x, ast.Name(name))
    body.add(ast.Assign([targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())], value), item)
    for x in item.outputs:
        body.watch(x)


def _part_label(body: Any, x: Any) -> str:
    """The name of a part of the result of a call."""
    if isinstance(x, (list, tuple)):
        return body.shared_label(x) if x else "values"
    return body.label(x.values if isinstance(x, (IndexedSlices, SparseTensor)) else x)


def _is_read(x: Any) -> bool:
    return x.node.op is read_variable
