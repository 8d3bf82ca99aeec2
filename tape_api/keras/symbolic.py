"""What `keras.Input` gives, and what layers make of it: the symbols that ``Model(inputs, outputs)`` is built from.

A layer called with such a symbol remembers the call in the symbols it returns. Everything else done to them are nodes,
as in any trace. To run the model is to go through calls and nodes again, from the inputs to the outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engine.core import nest
from engine.core.aval import Aval
from engine.core.eager import EagerTensor
from engine.core.errors import InvalidArgumentError
from engine.core.op import Node
from engine.core.tape import paused
from engine.core.trace import Symbol, Trace, constant
from engine.ops.shape import identity


class Call:
    """One call of a layer.

    Attributes
    ----------
    layer : callable
    arguments : (args, kwargs)
        With symbols where the tensors will be.
    outputs : list of KerasTensor
    """

    def __init__(self, layer: Callable[..., Any], arguments: tuple[Any, Any]) -> None:
        self.layer = layer
        self.arguments = arguments
        self.outputs: list[KerasTensor] = []

    @property
    def inputs(self) -> list[KerasTensor]:
        """The symbols among the arguments."""
        return [x for x in nest.flatten(self.arguments) if isinstance(x, KerasTensor)]


class KerasTensor(Symbol):
    """A symbol that knows which call of a layer it came from, if any."""

    __slots__ = ("call",)

    def __init__(self, trace: Trace, node: Node, index: int, aval: Aval) -> None:
        super().__init__(trace, node, index, aval)
        self.call: Call | None = None

    @property
    def name(self) -> str:
        """A name for messages."""
        return "keras_tensor"

    def __repr__(self) -> str:
        return f"<KerasTensor shape={self.shape}, dtype={self.dtype.name}>"


class _Calls(Trace):
    """The one trace that all these symbols live in. It keeps no nodes: the symbols do."""

    def make_symbol(self, node: Node, index: int, aval: Aval) -> Symbol:
        return KerasTensor(self, node, index, aval)

    def append(self, *args: Any, **kwargs: Any) -> tuple[Symbol, ...]:
        outputs = super().append(*args, **kwargs)
        self.nodes.clear()
        self._captured.clear()
        return outputs


_calls = _Calls()


def new_input(aval: Aval) -> Any:
    """A symbol for an input of a model."""
    return _calls.placeholder(aval)


def holds_symbols(structure: Any) -> bool:
    """Whether there is such a symbol in a structure."""
    return any(isinstance(x, KerasTensor) for x in nest.flatten(structure))


def recorded_call(layer: Callable[..., Any], result: Callable[[], Any], args: Any, kwargs: Any) -> Any:
    """The symbols that `layer` returns, with the call remembered; ``result()`` applies it once, for their shapes."""
    call = Call(layer, (args, kwargs))
    with paused():
        outputs = nest.map_structure(identity, result())
    call.outputs = nest.flatten(outputs)
    for x in call.outputs:
        x.call = call
    return outputs


def _sources(x: KerasTensor) -> Sequence[Any]:
    """What a symbol is computed from."""
    return x.call.inputs if x.call is not None else x.node.inputs


def ordered(outputs: Sequence[KerasTensor], inputs: Sequence[KerasTensor]) -> list[KerasTensor]:
    """The symbols to compute for `outputs`, each after those it is computed from."""
    done = {id(x) for x in inputs}
    order: list[KerasTensor] = []
    pending: list[tuple[KerasTensor, bool]] = [(x, False) for x in reversed(outputs)]
    while pending:
        x, ready = pending.pop()
        if id(x) in done:
            continue
        if ready:
            done.add(id(x))
            order.append(x)
            continue
        pending.append((x, True))
        pending.extend((s, False) for s in reversed(_sources(x)) if id(s) not in done)
    for x in order:
        if x.call is None and not x.node.inputs and x.node.op is not constant:
            raise InvalidArgumentError(f"Model: the outputs depend on {x!r}, which is not among the inputs")
    return order


def evaluate(order: Sequence[KerasTensor], values: dict[int, Any]) -> None:
    """Compute the symbols in order; `values` holds those of the inputs by ``id``, and the others afterwards."""
    for x in order:
        if id(x) in values:
            continue
        if x.call is not None:
            args, kwargs = nest.map_structure(lambda a: values.get(id(a), a), x.call.arguments)
            results = nest.flatten(x.call.layer(*args, **kwargs))
            values.update(zip(map(id, x.call.outputs), results, strict=True))
        elif x.node.op is constant:
            values[id(x)] = EagerTensor(x.node.params["value"])
        else:
            result = x.node.op(*[values[id(s)] for s in x.node.inputs], **x.node.params)
            values.update(zip(map(id, x.node.outputs), result if x.node.op.multi else (result,), strict=True))


def layers_of(order: Sequence[KerasTensor]) -> list[Any]:
    """The layers called, each once, in order."""
    called: Mapping[int, Any] = {id(x.call.layer): x.call.layer for x in order if x.call is not None}
    return list(called.values())
