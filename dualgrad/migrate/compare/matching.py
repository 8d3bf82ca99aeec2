"""Which tensor of a recorded graph is which of ours.

TensorFlow and we build the same graph from a program where the program names operations, but gradients, shapes and
updates differ in detail. What is fed and fetched corresponds by position, variables by name. From there on an operation
corresponds to the one of the same type that takes what corresponds; of several, to that of the same name.
Constants are left out of that: axes and shapes are operands there, and parameters here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from engine.core.trace import constant
from engine.core.variable import read_variable, variable_handle

_VARIABLES = ("VariableV2", "Variable", "VarHandleOp")
_READS = ("Identity", "ReadVariableOp")
_PASSING = ("Identity",)


def kind(type_: str) -> str:
    """An operation's type without its version."""
    return re.sub(r"V\d+$", "", type_)


class Recorded:
    """A recorded graph, with what each tensor stands for.

    Parameters
    ----------
    nodes : list of dict
        As the record has them.
    """

    def __init__(self, nodes: Sequence[Mapping[str, Any]]) -> None:
        self.by_name = {node["name"]: node for node in nodes}
        self._tokens: dict[str, str | None] = {}
        self.places: dict[tuple[Any, ...], list[str]] = {}
        for node in nodes:
            key = (kind(node["type"]), *self.operands(node))
            if any(part is not None for part in key[1:]) or node["type"] not in ("Const", *_VARIABLES):
                self.places.setdefault(key, []).append(node["name"])

    def operands(self, node: Mapping[str, Any]) -> list[str]:
        """The meanings of the operands that are no constants."""
        return [t for t in map(self.token, node["inputs"]) if t is not None]

    def token(self, tensor: str) -> str | None:
        """The meaning of a tensor: ``variable W``, itself, or None for a constant."""
        if tensor not in self._tokens:
            self._tokens[tensor] = tensor  # a loop leads back here
            self._tokens[tensor] = self._meaning(tensor)
        return self._tokens[tensor]

    def _meaning(self, tensor: str) -> str | None:
        node = self.by_name.get(tensor.rpartition(":")[0])
        if node is None:
            return tensor
        if node["type"] in _VARIABLES:
            return f"variable {node['name']}:0"
        inputs = [self.token(x) for x in node["inputs"]]
        if node["type"] in _READS and inputs and str(inputs[0]).startswith("variable "):
            return inputs[0]
        if node["type"] in _PASSING:
            return inputs[0]
        constant_here = node["type"] == "Const" or (bool(inputs) and all(x is None for x in inputs))
        return None if constant_here else tensor


def matched(
    nodes: Sequence[Any], recorded: Recorded, pairs: Sequence[tuple[Any, str]], most: int = 100_000
) -> dict[int, str]:
    """Which recorded tensor each of ours is.

    Parameters
    ----------
    nodes : sequence of Operation
        Ours, in order.
    recorded : Recorded
    pairs : sequence of (Tensor, str)
        What is known to correspond: feeds and fetches.
    most : int
        More nodes are not looked at.

    Returns
    -------
    dict
        ``id(tensor)`` to the recorded tensor's name.
    """
    names_by_id = {id(tensor): name for tensor, name in pairs}
    tokens: dict[int, str | None] = {i: recorded.token(name) for i, name in names_by_id.items()}
    ours = any(node.get("hidden") for node in recorded.by_name.values())
    left = {key: list(names) for key, names in recorded.places.items()}
    single = {names[0] for names in left.values() if len(names) == 1}
    for node in nodes[:most]:
        if node.op is read_variable and node.inputs[0].node.op is variable_handle:
            tokens[id(node.outputs[0])] = f"variable {node.inputs[0].name}"
            continue
        inputs = list(node.inputs)
        if "counter" in node.op.args and not ours:
            # what TensorFlow draws from is no operand there
            at = node.op.args.index("seed")
            del inputs[at : at + 2]
        operands = [tokens.get(id(x), "?") for x in inputs]
        here = [x for x in operands if x is not None]
        if node.op is constant or (node.inputs and not here and len(inputs) == len(node.inputs)):
            tokens.update({id(x): None for x in node.outputs})
            continue
        if node.type in _PASSING and len(node.inputs) == 1:
            tokens[id(node.outputs[0])] = here[0]
            continue
        name = _claimed(left.get((kind(node.type), *here), []), node, names_by_id, single)
        for i, x in enumerate(node.outputs):
            if id(x) not in names_by_id and name is not None and i < len(recorded.by_name[name]["outputs"]):
                names_by_id[id(x)] = f"{name}:{i}"
                tokens[id(x)] = recorded.token(f"{name}:{i}")
            else:
                tokens.setdefault(id(x), f"? {node.name}:{i}")
    return names_by_id


def _claimed(names: list[str], node: Any, found: Mapping[int, str], single: set[str]) -> str | None:
    """One of the candidates, which no other operation gets; none if it could be any of several."""
    forced = next((found[id(x)].rpartition(":")[0] for x in node.outputs if id(x) in found), None)
    name = forced if forced in names else node.name if node.name in names else None
    if name is None and names and names[0] in single:
        name = names[0]
    if name is not None:
        names.remove(name)
    return name
