"""Calls of layers in graphs: what `Model(inputs, outputs)` is built from, see `dualgrad.keras.symbolic`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from dualgrad.keras.symbolic import Call, Symbols
from engine.core import nest
from engine.core.instantiate import instantiate
from engine.ops.shape import identity
from graph_api.graphs.graph import Graph, get_default_graph
from graph_api.graphs.tensor import Tensor


class _Calls:
    """Of one graph: its inputs, and which call of a layer a tensor came from; all by ``id``."""

    def __init__(self) -> None:
        self.inputs: set[int] = set()
        self.calls: dict[int, Call] = {}


class GraphSymbols(Symbols):
    """The graph's own tensors. Layers' calls are noted as soon as the graph has an input of a model."""

    kind = Tensor

    def __init__(self) -> None:
        self._of: WeakKeyDictionary[Graph, _Calls] = WeakKeyDictionary()

    def add_input(self, x: Tensor) -> None:
        """Note that a tensor is an input of a model."""
        self._of.setdefault(x.graph, _Calls()).inputs.add(id(x))

    def call_of(self, x: Any) -> Call | None:
        """The call that a tensor came from."""
        call = self._of.get(x.graph)
        return None if call is None else call.calls.get(id(x))

    def is_unbound(self, x: Any) -> bool:
        """Whether it is an input of a model."""
        return x.graph in self._of and id(x) in self._of[x.graph].inputs

    def are_among(self, structure: Any) -> bool:
        """Whether calls are noted, and this one has tensors among its arguments."""
        return get_default_graph() in self._of and any(isinstance(x, Tensor) for x in nest.flatten(structure))

    def recorded(self, call: Call, result: Callable[[], Any]) -> Tensor:
        """The result, noted; tensors that the layer hands through get a name of their own."""
        noted = self._of[get_default_graph()]
        before = {id(x) for x in call.inputs}

        def own(x: Any) -> Tensor:
            return identity(x) if id(x) in before or id(x) in noted.calls else x

        outputs = nest.map_structure(own, result())
        call.outputs = nest.flatten(outputs)
        noted.calls.update({id(x): call for x in call.outputs})
        return outputs

    def again(self, x: Any, values: dict[int, Any]) -> None:
        """The operation of `x` once more, if something it needs has been replaced."""
        node = x.node
        if not any(values.get(id(s), s) is not s for s in node.inputs):
            values[id(x)] = x
            return
        for s in node.inputs:
            values.setdefault(id(s), s)
        instantiate((node,), values)
