"""The objects of an object-based checkpoint: what holds what, and under which name.

The names are those that TensorFlow's objects have, Keras 3's and older ones, so that checkpoints fit both ways. An
object may be known under several names; each is an edge to the same node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dualgrad.extras.module import Module
from dualgrad.keras.layers import InputLayer, Layer
from dualgrad.keras.models import Functional, Model, Sequential
from engine.core.variable import Variable
from optim.keras_optimizer import KerasOptimizer
from optim.slots import Stateful

_RENAMED = {"kernel": "_kernel", "embeddings": "_embeddings"}
"""Keras 3's names for some weights of layers."""
OURS = frozenset({"_added", "_stack", "_order", "_structure", "_losses", "_penalties", "_metrics", "inputs", "outputs"})
"""Attributes of ours that hold nothing of their own."""


class Container:
    """Objects that stand under names together: a list, a dict, or what Keras has in between.

    Parameters
    ----------
    items : mapping
    kind : type, optional
        ``list``, ``tuple`` or ``dict``, if it is one, all of whose items these are.
    """

    def __init__(self, items: Mapping[str, Any], kind: type | None = None) -> None:
        self.items, self.kind = dict(items), kind


def children(obj: Any) -> dict[str, Any]:
    """The objects that an object holds, by name."""
    if isinstance(obj, Container):
        return obj.items
    if isinstance(obj, Variable):
        return {}
    if isinstance(obj, Stateful):
        return _of_optimizer(obj) if isinstance(obj, KerasOptimizer) else _of_stateful(obj)
    held: dict[str, Any] = {}
    for name, value in vars(obj).items():
        if name in OURS:
            continue
        child = trackable(value)
        if child is not None:
            held[name] = child
            if isinstance(obj, Layer) and name in _RENAMED:
                held[_RENAMED[name]] = child
    if isinstance(obj, (Sequential, Functional)):
        held.update(_of_stack(obj))
    return held


def trackable(value: Any) -> Any:
    """The object, or container, that a value is in a checkpoint; None for what is not saved."""
    if isinstance(value, (Variable, Module, Stateful, Container)) or hasattr(value, "_trackable_children"):
        return value
    if isinstance(value, (list, tuple)):
        items = {str(i): trackable(v) for i, v in enumerate(value)}
    elif isinstance(value, Mapping):
        items = {str(k): trackable(v) for k, v in value.items() if isinstance(k, (str, int))}
    else:
        return None
    kept = {name: v for name, v in items.items() if v is not None}
    kind = next(k for k in (list, tuple, Mapping) if isinstance(value, k))
    return Container(kept, (dict if kind is Mapping else kind) if len(kept) == len(value) else None) if kept else None


def _of_stateful(obj: Stateful) -> dict[str, Any]:
    """Variables by their names. Where several have the same, those after the first are numbered."""
    held: dict[str, Any] = {str(i): part for i, part in enumerate(getattr(obj, "parts", ()))}
    for variable in [*obj.kept_together(), *[slot for *_, slot in obj.kept_slots()]]:
        name = key = variable.name.removesuffix(":0")
        number = 0
        while held.setdefault(key, variable) is not variable:
            number += 1
            key = f"{name}_{number}"
    return held


def _of_optimizer(optimizer: KerasOptimizer) -> dict[str, Any]:
    held: dict[str, Any] = {}
    if isinstance(optimizer.iterations, Variable):
        # Keras 2 calls it "iter"
        held["_iterations"] = held["iter"] = optimizer.iterations
    if isinstance(optimizer._learning_rate, Variable):
        held["_learning_rate"] = optimizer._learning_rate
    # by place, as Keras 3 has them: after those that have names
    variables = [*optimizer._counted(), *[slot for *_, slot in optimizer.kept_slots()], *optimizer._in_all()]
    if variables:
        held["_variables"] = Container({str(i): v for i, v in enumerate(variables)})
    return held


def _of_stack(model: Model) -> dict[str, Any]:
    """The layers of a model, under Keras 3's names and those of Keras 2."""
    layers = model.layers
    with_input = layers if any(isinstance(x, InputLayer) for x in layers) else [None, *layers]
    operations = Container({str(i): x for i, x in enumerate(with_input) if x is not None})
    held: dict[str, Any] = {"_operations": operations}
    if isinstance(model, Sequential):
        held = {"_functional": Container({"_operations": operations})}
    weighted = [x for x in layers if x.weights]
    held.update({f"layer_with_weights-{i}": x for i, x in enumerate(weighted)})
    held.update({f"layer-{i}": x for i, x in enumerate(layers)})
    return held


def walk(root: Any) -> Iterator[tuple[Any, str]]:
    """All objects, each once, the nearest first; with the path by which each was reached."""
    seen = {id(root)}
    kept = [root]  # containers are made anew for each question: they must outlive the walk
    level = [(root, "")]
    while level:
        following: list[tuple[Any, str]] = []
        for obj, path in level:
            yield obj, path
            for name, child in children(obj).items():
                if id(child) not in seen:
                    seen.add(id(child))
                    kept.append(child)
                    following.append((child, f"{path}/{name}" if path else name))
        level = following
