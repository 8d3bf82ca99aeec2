"""The graph API as Keras's shared definitions see it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dualgrad.frontend.legacy import lift_row
from dualgrad.keras.host import Host
from engine.core.operands import Operand, Operation
from graph_api import sampling
from graph_api.control_flow import control, scans
from graph_api.convert import convert_to_tensor, finish
from graph_api.graphs.graph import Graph, get_default_graph
from graph_api.graphs.tensor import Tensor
from graph_api.graphs.variable import Variable
from graph_api.keras.sessions import session_of
from graph_api.keras.symbols import GraphSymbols
from optim import keras as optimizers
from optim.slots import step


class GraphHost(Host):
    """Layers add operations to the default graph; weights are variables of it."""

    package = "graph_api"
    eager = False
    source = sampling
    optimizers = optimizers
    symbols = GraphSymbols()
    unbiased_images = True

    def __init__(self) -> None:
        super().__init__()
        self._names: WeakKeyDictionary[Graph, Counter[str]] = WeakKeyDictionary()

    def tensor(self, x: Any, dtype: Any = None) -> Tensor:
        """`convert_to_tensor`."""
        return convert_to_tensor(x, dtype)

    def lifted(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """As the functions of the table of names."""
        return lift_row(function, finish, name, convert_to_tensor)

    def variable(
        self, owner: Any, name: str, shape: tuple[int, ...], make: Callable[..., Any], dtype: Any, **options: Any
    ) -> Variable:
        """A variable in the scope of the call that makes it, or named after its owner if there is none."""
        options.pop("regularizer", None)
        graph = get_default_graph()
        prefix = graph.get_name_scope() or owner.name
        with graph.name_scope(None), graph.control_dependencies(None):
            return Variable(lambda: make(shape, dtype=dtype), name=f"{prefix}/{name}", **options)

    def name_scope(self, name: str) -> AbstractContextManager[Any]:
        """The graph's."""
        return get_default_graph().name_scope(name)

    def named(self, name: str, function: Callable[..., Any], *operands: Any) -> Operand:
        """As with an argument ``name=``."""
        return finish(function, name, *operands)

    def assign(self, variables: Sequence[Any], values: Callable[[], Sequence[Any]]) -> Operation | None:
        """The operation that does it."""
        return step(variables, values)

    def update(self, layer: Any, variables: Sequence[Any], values: Callable[[], Sequence[Any]]) -> list[Any]:
        """Operations among the layer's `updates`, one per variable."""
        made = [v.assign(x).op for v, x in zip(variables, values(), strict=True)]
        layer._updates.extend(made)
        return made

    def after(self, operation: Any, result: Callable[[], Any]) -> Tensor:
        """The result waits for the operation."""
        with get_default_graph().control_dependencies([operation]):
            return convert_to_tensor(result()) + 0

    def penalty(self, weight: Any, regularizer: Callable[[Any], Any]) -> Callable[[], Any]:
        """Computed here, once."""
        graph = get_default_graph()
        with graph.lifted(), graph.name_scope(f"{weight.op.name}/Regularizer/"):
            loss = regularizer(weight)
        return lambda: loss

    def values(self, variables: Sequence[Any]) -> list[np.ndarray]:
        """The values of variables in the session."""
        return list(session_of(variables).run(list(variables)))

    def set_values(self, variables: Sequence[Any], values: Sequence[Any]) -> None:
        """Load them in the session."""
        session = session_of(variables)
        session.run(
            [v.initializer for v in variables], {v.initial_value: x for v, x in zip(variables, values, strict=True)}
        )

    def choose(self, condition: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> tuple[Operand, ...]:
        """``tf.cond``, or Python's choice for a bool."""
        if isinstance(condition, (bool, int, np.bool_)):
            return yes() if condition else no()
        return control.cond(condition, yes, no)

    def scan(
        self, step: Callable[..., Any], state: Any, sequences: Any, backwards: bool = False,
        max_bytes: int | None = None,
    ) -> tuple[Any, Any]:  # fmt: skip
        """A scan of the graph."""
        return scans.scanned("scan", step, state, sequences, backwards, max_bytes)

    def permutation(self, count: int) -> np.ndarray:
        """NumPy's, as in Keras."""
        return np.random.permutation(count)

    def dropout(self, x: Any, rate: Any, noise_shape: Any = None, seed: Any = None) -> Operand:
        """``tf.nn.dropout``."""
        return sampling.dropout(x, rate=rate, noise_shape=noise_shape, seed=seed)

    def input(self, aval: Any, name: str | None, tensor: Any = None) -> Tensor:
        """A placeholder, or the tensor given."""
        graph = get_default_graph()
        made = graph.placeholder(aval, name=name) if tensor is None else convert_to_tensor(tensor)
        self.symbols.add_input(made)
        return made

    def symbol(self, aval: Any, name: str) -> Operand:
        """An input like any other."""
        return self.input(aval, name)

    def scope(self, layer: Any) -> AbstractContextManager[Any]:
        """A name scope of the layer's name, made unique."""
        return get_default_graph().name_scope(layer.name)

    def names(self) -> Counter[str]:
        """One for each graph."""
        return self._names.setdefault(get_default_graph(), Counter())

    def set_seed(self, seed: int) -> None:
        """The default graph's seed."""
        sampling.set_random_seed(seed)


host = GraphHost()
