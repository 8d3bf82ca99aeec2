"""Whether shapes fit together, found out without making a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.compiler.ir.instruction import is_stateful
from engine.core.aval import Aval
from engine.core.dtypes import bool_
from engine.core.eager import abstract_operand
from engine.core.op import Node
from engine.core.trace import constant
from engine.core.variable import assign_variable, read_variable, variable_handle, variable_is_initialized

_FEW = 64
"""Elements up to which what is computed of shapes is computed."""


def examine(nodes: Sequence[Node], inputs: Sequence[tuple[Any, Aval]], state_aval: Callable[[Any], Aval]) -> list[Aval]:
    """Raise if what nodes are given does not fit together; the arguments are those of `lower`.

    The result is what was found of all values; it is empty if some op stands for others, which may be others for other
    shapes.
    """
    examination = _Examination(state_aval)
    avals = {id(symbol): aval for symbol, aval in inputs}
    examination.visit(nodes, avals)
    return [] if examination.expanded else list(avals.values())


class _Examination:
    def __init__(self, state_aval: Callable[[Any], Aval]) -> None:
        self._state_aval = state_aval
        self._state: dict[int, Aval] = {}
        self.expanded = False

    def visit(self, nodes: Sequence[Node], avals: dict[int, Aval]) -> None:
        """Add what nodes give to what is known of symbols."""
        for node in nodes:
            op, outputs = node.op, node.outputs
            if op is variable_handle or (outputs and all(id(o) in avals for o in outputs)):
                continue
            if op is variable_is_initialized:
                avals[id(outputs[0])] = Aval((), bool_)
            elif op is assign_variable:
                handle, value = node.inputs
                assign_variable.abstract(handle.aval, avals[id(value)])
                avals[id(outputs[0])] = self._state[id(handle)] = avals[id(value)]
            elif op is constant:
                avals[id(outputs[0])] = abstract_operand(node.params["value"])
            elif op is read_variable:
                avals[id(outputs[0])] = self._of(node.inputs[0], avals)
            else:
                operands = [self._of(x, avals) for x in node.inputs]
                for symbol, aval in zip(outputs, self._results(node, operands), strict=True):
                    avals.setdefault(id(symbol), aval)

    def _of(self, x: Any, avals: dict[int, Aval]) -> Aval:
        """Facts about an operand: about what a variable holds, for its handle."""
        aval = avals.get(id(x))
        if aval is None:
            aval = self._state.get(id(x))
        if aval is None:
            aval = self._state[id(x)] = self._state_aval(x)
        return aval

    def _results(self, node: Node, given: Sequence[Aval]) -> Sequence[Aval]:
        op, params = node.op, node.params
        results = op.result_avals(given, params)
        if op.expand is not None and (inner := op.expand(given, params)) is not None:
            within = dict(zip(map(id, inner.parameters), given, strict=True))
            self.visit(inner.nodes, within)
            self.expanded = True
            return [within[id(result)] for result in inner.results]
        if op.multi:
            return results
        small = results.dtype.is_integer and results.value is None and results.size is not None and results.size <= _FEW
        if small and given and not is_stateful(op, params) and all(a.has_contents for a in given):
            try:
                made = op.kernel(*[np.asarray(a.value, a.dtype.numpy) for a in given], **params)
            except Exception:  # noqa: BLE001 - it belongs to the run, which can tell the place in the user's program
                return [results]
            return [abstract_operand(np.asarray(made))]
        return [results]
