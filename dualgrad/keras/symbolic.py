"""Symbols that `keras.Input` and calls of layers give, from which ``Model(inputs, outputs)`` is built.

A layer called with such a symbol remembers the call in the symbols it returns. Everything else done to them are nodes,
as in any trace. To run the model is to go through calls and nodes again, from the inputs to the outputs.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dualgrad.frontend.flow.contexts import apart
from engine.core import nest
from engine.core.aval import Aval
from engine.core.eager import EagerTensor
from engine.core.instantiate import instantiate
from engine.core.op import Node
from engine.core.operands import Results
from engine.core.tape import paused
from engine.core.trace import Symbol, Trace, constant
from engine.ops.shape import identity
from engine.runtime.errors import InvalidArgumentError


class Call:
    """One call of a layer.

    Attributes
    ----------
    layer : callable
    arguments : (args, kwargs)
        With symbols where the tensors will be.
    outputs : list of symbol
    result
        The outputs in their structure.
    """

    result: Any = None

    def __init__(self, layer: Callable[..., Any], arguments: tuple[Any, Any]) -> None:
        self.layer = layer
        self.arguments = arguments
        self.outputs: list[Any] = []

    @property
    def inputs(self) -> list[Any]:
        """The symbols among the arguments."""
        return [x for x in nest.flatten(self.arguments) if isinstance(x, Symbol)]


class KerasTensor(Symbol):
    """A symbol that knows which call of a layer it came from, if any."""

    __slots__ = ("__dict__", "call", "given_name")
    has_shape_only = True

    def __init__(self, trace: Trace, node: Node, index: int, aval: Aval) -> None:
        super().__init__(trace, node, index, aval)
        self.call: Call | None = None
        self.given_name: str | None = None

    @property
    def ndim(self) -> int | None:
        """The rank, None if not known."""
        return self._aval.ndim

    @property
    def name(self) -> str:
        """The name of the input, or one for messages."""
        return self.given_name or "keras_tensor"

    def __repr__(self) -> str:
        return f"<KerasTensor shape={self.shape}, dtype={self.dtype.name}>"


class _Inside(threading.local):
    """The nodes that the call of a layer makes, while it is recorded."""

    nodes: list[Node] | None = None


_inside = _Inside()


class _Calls(Trace):
    """The one trace that all these symbols live in. It keeps no nodes: the symbols do."""

    def make_symbol(self, node: Node, index: int, aval: Aval) -> Symbol:
        return KerasTensor(self, node, index, aval)

    def append(self, *args: Any, **kwargs: Any) -> tuple[Symbol, ...]:
        outputs = super().append(*args, **kwargs)
        if _inside.nodes is not None:
            _inside.nodes += self.nodes
        self.nodes.clear()
        self._captured.clear()
        return outputs


_calls = _Calls()


def new_input(aval: Aval, name: str | None = None) -> KerasTensor:
    """A symbol for an input of a model."""
    symbol: Any = _calls.placeholder(aval)
    symbol.given_name = name
    return symbol


class Symbols(ABC):
    """How a front end keeps track of calls of layers.

    Attributes
    ----------
    kind : type
        Of the symbols.
    """

    kind: type[Any]

    @abstractmethod
    def call_of(self, x: Any) -> Call | None:
        """The call that a symbol came from, if any."""

    @abstractmethod
    def is_unbound(self, x: Any) -> bool:
        """Whether a symbol is an input of a model."""

    @abstractmethod
    def are_among(self, structure: Any) -> bool:
        """Whether a call with these arguments is to be remembered."""

    @abstractmethod
    def recorded(self, call: Call, result: Callable[[], Any]) -> Results:
        """The symbols that ``result()`` gives, with the call remembered."""

    @abstractmethod
    def again(self, x: Any, values: dict[int, Any]) -> None:
        """Compute a symbol that came from no call, see `evaluate`."""


def _without_source(x: Any) -> Any:
    """A symbol like `x` that does not hold what `x` is computed from: the values of variables are among that."""
    same = identity(x)
    return _calls.placeholder(same.aval) if isinstance(same, KerasTensor) else same


class TapeSymbols(Symbols):
    """Symbols of a trace of their own."""

    kind = KerasTensor

    def call_of(self, x: KerasTensor) -> Call | None:
        """It knows its call."""
        return x.call

    def is_unbound(self, x: KerasTensor) -> bool:
        """Whether it is computed from nothing."""
        return x.call is None and not x.node.inputs and x.node.op is not constant

    def are_among(self, structure: Any) -> bool:
        """Whether there is such a symbol."""
        return any(isinstance(x, KerasTensor) for x in nest.flatten(structure))

    def recorded(self, call: Call, result: Callable[[], Any]) -> Results:
        """The layer is applied once, for the shapes; a function that is called with symbols has no part in it."""
        around, _inside.nodes = _inside.nodes, []
        try:
            with paused(), apart():
                outputs = nest.map_structure(_without_source, result())
            # what nobody asks for goes at once, and with it what it holds of the values of variables
            for node in _inside.nodes:
                node.outputs = ()
        finally:
            _inside.nodes = around
        call.outputs = nest.flatten(outputs)
        for x in call.outputs:
            x.call = call
        return outputs

    def again(self, x: KerasTensor, values: dict[int, Any]) -> None:
        """Its node, applied to values."""
        node = x.node
        if node.op is constant:
            values[id(x)] = EagerTensor(node.params["value"])
            return
        instantiate((node,), values)


def ordered(symbols: Symbols, outputs: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    """The symbols to compute for `outputs`, each after those it is computed from."""
    done = {id(x) for x in inputs}
    order: list[Any] = []
    pending: list[tuple[Any, bool]] = [(x, False) for x in reversed(outputs)]
    while pending:
        x, ready = pending.pop()
        if id(x) in done:
            continue
        if ready:
            done.add(id(x))
            order.append(x)
            continue
        pending.append((x, True))
        call = symbols.call_of(x)
        sources = x.node.inputs if call is None else call.inputs
        pending.extend((s, False) for s in reversed(sources) if id(s) not in done and isinstance(s, symbols.kind))
    for x in order:
        if symbols.is_unbound(x):
            raise InvalidArgumentError(f"Model: the outputs depend on {x!r}, which is not among the inputs")
    return order


def evaluate(
    symbols: Symbols,
    order: Sequence[Any],
    values: dict[int, Any],
    said: Mapping[str, Any] | None = None,
    standing: Callable[[Any], Any] | None = None,
) -> None:
    """Compute the symbols in order; `values` holds those of the inputs by ``id``, and the others afterwards.

    What is `said` goes before what the calls of the layers said: in Keras 3 the model's `training` does. With
    `standing`, ``standing(layer)`` is called in place of a layer.
    """
    for x in order:
        if id(x) in values:
            continue
        call = symbols.call_of(x)
        if call is None:
            symbols.again(x, values)
            continue
        args, kwargs = nest.map_structure(lambda a: values.get(id(a), a), call.arguments)
        layer = call.layer if standing is None else standing(call.layer)
        results = nest.flatten(layer(*args, **{**kwargs, **(said or {})}))
        values.update(zip(map(id, call.outputs), results, strict=True))


def layers_of(
    symbols: Symbols, outputs: Sequence[Any], inputs: Sequence[Any], layer_of: Callable[[Any], Any]
) -> list[Any]:
    """The layers called for `outputs`, each once, in Keras's order: those furthest from the outputs first.

    Layers equally far come in the order in which a walk from the outputs meets them. The order is that of a model's
    `layers` and weights, so programs and files depend on it.

    Parameters
    ----------
    symbols : Symbols
    outputs, inputs : sequence of symbol
    layer_of : callable
        The layer that stands for an input.

    Returns
    -------
    list of layer
    """
    ends = {id(x) for x in inputs}

    def step_of(x: Any) -> tuple[int, Any, Sequence[Any]]:
        """The step that made a symbol: its key, its layer or node, and the symbols that went in."""
        if id(x) in ends:
            return id(x), layer_of(x), ()
        call = symbols.call_of(x)
        if call is not None:
            return id(call), call.layer, call.inputs
        return id(x.node), x.node, [s for s in x.node.inputs if isinstance(s, symbols.kind)]

    met: dict[int, tuple[int, Any]] = {}
    finished: list[tuple[int, Any, Sequence[Any]]] = []
    done: set[int] = set()
    pending: list[tuple[Any, bool]] = [(x, False) for x in reversed(outputs)]
    while pending:
        x, ready = pending.pop()
        key, maker, sources = step_of(x)
        if key in done:
            continue
        if ready:
            done.add(key)
            finished.append((key, maker, sources))
            continue
        met.setdefault(id(maker), (len(met), maker))
        pending.append((x, True))
        pending.extend((s, False) for s in reversed(sources))
    depths: dict[int, int] = {}
    depth_of_maker: dict[int, int] = {}
    for key, maker, sources in reversed(finished):
        depth = max(depths.get(key, 0), depth_of_maker.get(id(maker), 0))
        depth_of_maker[id(maker)] = depth
        for s in sources:
            before = step_of(s)[0]
            depths[before] = max(depth + 1, depths.get(before, 0))
    for x in inputs:
        maker = layer_of(x)
        if id(maker) not in met:
            met[id(maker)] = (-1, maker)
            depth_of_maker[id(maker)] = 0
    order = sorted(met, key=lambda key: (-depth_of_maker[key], met[key][0]))
    return [met[key][1] for key in order if not isinstance(met[key][1], Node)]
