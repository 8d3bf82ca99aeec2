"""Models made of inputs and outputs as plain data: their layers, and what each is called with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dualgrad.keras.configs import deserialized, serialized
from engine.core import nest

_TENSOR = "__keras_tensor__"
_LEFT_OUT = {"training": (None, False), "mask": (None,)}
"""Arguments of calls that say nothing where they have these values."""


def described(model: Any) -> dict[str, Any]:
    """The layers of a model with their calls, the inputs and the outputs.

    Raises
    ------
    NotImplementedError
        If the outputs depend on something done between layers.
    """
    symbols = model.host.symbols
    places = {id(x): [model._input_layer(x).name, 0, 0] for x in model.inputs}
    calls: dict[int, list[Any]] = {}
    for x in model._order:
        call = symbols.call_of(x)
        if call is None:
            raise NotImplementedError(
                f"model {model.name!r} has no configuration: the op {x.node.op.name!r} between its layers is not one "
                f"of a layer. Put it into a `Lambda` or a layer of your own"
            )
        of_layer = calls.setdefault(id(call.layer), [])
        if not any(call is other for other in of_layer):
            for i, output in enumerate(call.outputs):
                places[id(output)] = [call.layer.name, len(of_layer), i]
            of_layer.append(call)

    def shown(x: Any) -> Any:
        if id(x) not in places:
            return serialized(x)
        dims = None if x.shape.dims is None else list(x.shape.as_tuple())
        return {"class_name": _TENSOR, "config": {"shape": dims, "dtype": x.dtype.name, "keras_history": places[id(x)]}}

    layers = []
    for layer in model.layers:
        nodes = [
            {"args": list(nest.map_structure(shown, args)), "kwargs": nest.map_structure(shown, kwargs)}
            for args, kwargs in (call.arguments for call in calls.get(id(layer), ()))
        ]
        entry = serialized(layer)
        entry.update(name=layer.name, inbound_nodes=nodes)
        layers.append(entry)
    ends = [nest.map_structure(lambda x: places[id(x)], structure) for structure in model._structure]
    return {"layers": layers, "input_layers": ends[0], "output_layers": ends[1]}


def made_again(host: Any, config: Mapping[str, Any]) -> tuple[Any, Any]:
    """The inputs and outputs of the model that `described`, or an older Keras, has told of.

    Raises
    ------
    ValueError
        If calls depend on layers that are not there, or are no calls of a layer.
    """
    values: dict[tuple[Any, ...], Any] = {}
    left: list[tuple[str, Any, int, Any]] = []
    named = [entry["inbound_nodes"] for entry in config["layers"]], config["output_layers"]
    places = {place[:2] for place in _places(named)}
    for entry in config["layers"]:
        name, layer = entry["name"], deserialized(entry)
        if not entry["inbound_nodes"]:
            values[name, 0, 0] = symbol = host.input(layer.aval, name)
            symbol._input_layer = layer
        first = int(hasattr(layer, "layers") and (name, len(entry["inbound_nodes"])) in places)
        if first:  # Keras 2 counts the call that made a model among its calls
            values[name, 0, 0] = None
        left += [(name, layer, i, node) for i, node in enumerate(entry["inbound_nodes"], start=first)]
    while left:
        waiting = []
        for name, layer, i, node in left:
            args, kwargs = _arguments(node)
            if not _known((args, kwargs), values) or (i and (name, i - 1, 0) not in values):
                waiting.append((name, layer, i, node))
                continue
            kwargs = {k: v for k, v in kwargs.items() if k not in _LEFT_OUT or v not in _LEFT_OUT[k]}
            try:
                outputs = nest.flatten(layer(*_filled(args, values), **_filled(kwargs, values)))
            except TypeError as error:  # an op has its class's name alone in older files: Add, Multiply
                raise ValueError(f"layer {name!r} cannot be called as the configuration says: {error}") from None
            values.update({(name, i, k): x for k, x in enumerate(outputs)})
        if len(waiting) == len(left):
            raise ValueError(f"the layers {sorted({name for name, *_ in left})} are called with what no layer gives")
        left = waiting
    ends = [_ends(config[key], values) for key in ("input_layers", "output_layers")]
    if any(not isinstance(node, Mapping) for entry in config["layers"] for node in entry["inbound_nodes"]):
        ends = [x[0] if isinstance(x, list) and len(x) == 1 else x for x in ends]  # Keras 2 knows no list of one
    return ends[0], ends[1]


def _arguments(node: Any) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """The arguments of a call; older versions have a list of symbols, the last entries of which are keywords."""
    if isinstance(node, Mapping):
        return node["args"], node["kwargs"]
    symbols = [_symbol(place) for place in node]
    more = node[0][3] if len(node[0]) > 3 else {}
    return [symbols[0] if len(symbols) == 1 else symbols], {
        k: _symbol(x) if _is_place(x) else x for k, x in more.items()
    }


def _symbol(place: Any) -> dict[str, Any]:
    return {"class_name": _TENSOR, "config": {"keras_history": place[:3]}}


def _is_place(x: Any) -> bool:
    return isinstance(x, (list, tuple)) and len(x) > 2 and isinstance(x[0], str) and isinstance(x[1], int)


def _places(x: Any) -> Iterator[Any]:
    """The places that a structure names, of which there is one in it for each."""
    if _is_place(x):
        yield tuple(x[:3])
    for i in x.values() if isinstance(x, Mapping) else x if isinstance(x, (list, tuple)) else ():
        yield from _places(i)


def _place(x: Any) -> tuple[Any, ...] | None:
    is_symbol = isinstance(x, Mapping) and x.get("class_name") == _TENSOR
    return tuple(x["config"]["keras_history"]) if is_symbol else None


def _known(x: Any, values: Mapping[Any, Any]) -> bool:
    place = _place(x)
    if place is not None:
        return place in values
    inner = x.values() if isinstance(x, Mapping) else x if isinstance(x, (list, tuple)) else ()
    return all(_known(i, values) for i in inner)


def _filled(x: Any, values: Mapping[Any, Any]) -> Any:
    place = _place(x)
    if place is not None:
        return values[place]
    if isinstance(x, Mapping):
        if "class_name" in x:
            return deserialized(x)
        return {key: _filled(i, values) for key, i in x.items()}
    return type(x)(_filled(i, values) for i in x) if isinstance(x, (list, tuple)) else x


def _ends(x: Any, values: Mapping[Any, Any]) -> Any:
    if isinstance(x, Mapping):
        return {key: _ends(i, values) for key, i in x.items()}
    return values[tuple(x)] if _is_place(x) else [_ends(i, values) for i in x]
