"""Contents of a GraphDef, or of a function of its library: nodes by name, and what each takes from which."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from dualgrad.files.graph_protos import FunctionDef, NodeDef
from engine.runtime.errors import InvalidArgumentError

_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
LARGEST = 1_000_000
"""Nodes that a graph may have."""


class Ref(NamedTuple):
    """An output of a node."""

    node: str
    index: int  # type: ignore[assignment]


class Item:
    """A node of a definition.

    Attributes
    ----------
    proto : NodeDef
    inputs : list of Ref
    controls : list of str
        Nodes that must run before it.
    """

    __slots__ = ("controls", "inputs", "proto")

    def __init__(self, proto: NodeDef, inputs: list[Ref], controls: list[str]) -> None:
        self.proto, self.inputs, self.controls = proto, inputs, controls

    @property
    def name(self) -> str:
        """Its name in the file."""
        return self.proto.name

    @property
    def op(self) -> str:
        """TensorFlow's op type."""
        return self.proto.op

    def needs(self) -> Iterator[str]:
        """The nodes that it waits for."""
        yield from [ref.node for ref in self.inputs]
        yield from self.controls


def split_input(text: str) -> tuple[str, int | None]:
    """An input as a node's name and the index of one of its outputs; None for a control input."""
    if text.startswith("^"):
        return text[1:], None
    name, colon, index = text.rpartition(":")
    if not colon:
        return text, 0
    if not index.isdigit() or len(index) > 6:
        raise InvalidArgumentError(f"{text!r} is not the name of an output of a node")
    return name, int(index)


class Definition:
    """Nodes that refer to one another.

    Parameters
    ----------
    protos : iterable of NodeDef
    arguments : sequence of str
        What a function is given; a graph takes nothing.
    output_index : callable, optional
        ``output_index(node, output, index)``, where references name outputs, as in functions.

    Raises
    ------
    InvalidArgumentError
        If a name is not valid, or there twice, or refers to nothing.
    """

    def __init__(
        self,
        protos: Iterable[NodeDef],
        arguments: Sequence[str] = (),
        output_index: Callable[[NodeDef, str, int], int] | None = None,
    ) -> None:
        self.arguments = tuple(arguments)
        named: dict[str, NodeDef] = {}
        for proto in protos:
            if not _NAME.fullmatch(proto.name):
                raise InvalidArgumentError(f"a node has the name {proto.name!r}, which is not valid")
            if proto.name in named or proto.name in self.arguments:
                raise InvalidArgumentError(f"two nodes have the name {proto.name!r}")
            named[proto.name] = proto
        if len(named) > LARGEST:
            raise InvalidArgumentError(f"a graph of {len(named)} nodes is larger than any of {LARGEST} that are read")
        self._output_index = output_index
        self._protos = named
        self.items = {name: self._item(proto) for name, proto in named.items()}

    def _item(self, proto: NodeDef) -> Item:
        inputs, controls = [], []
        for text in proto.input:
            if text.startswith("^"):
                self._require(text[1:], proto.name)
                controls.append(text[1:])
            else:
                inputs.append(self.ref(text, proto.name))
        return Item(proto, inputs, controls)

    def _require(self, name: str, by: str) -> None:
        if name not in self._protos and name not in self.arguments:
            raise InvalidArgumentError(f"{by!r} takes {name!r} as input, which does not exist")

    def ref(self, text: str, by: str) -> Ref:
        """The value that an input of `by` refers to."""
        parts = text.split(":")
        if self._output_index is None or parts[0] in self.arguments or len(parts) < 3:
            name, index = split_input(text)
            self._require(name, by)
            return Ref(name, index or 0)
        self._require(parts[0], by)
        if len(parts) > 3 or not parts[2].isdigit() or len(parts[2]) > 6:
            raise InvalidArgumentError(f"{text!r} is not the name of an output of a node")
        return Ref(parts[0], self._output_index(self._protos[parts[0]], parts[1], int(parts[2])))

    def in_order(self, ignoring: frozenset[tuple[str, str]] = frozenset()) -> list[Item]:
        """The nodes, each behind those that it needs; as they stand in the file where that is the case there.

        Raises
        ------
        InvalidArgumentError
            If nodes need one another in a circle, the edges ``(node, needed)`` in `ignoring` left out.
        """
        done: set[str] = set(self.arguments)
        order: list[Item] = []
        for root in self.items.values():
            stack: list[tuple[Item, Iterator[str]]] = []
            entered = {root.name}
            if root.name not in done:
                stack.append((root, root.needs()))
            while stack:
                item, left = stack[-1]
                needed = next(left, None)
                if needed is None:
                    stack.pop()
                    done.add(item.name)
                    order.append(item)
                elif needed not in done and (item.name, needed) not in ignoring:
                    if needed in entered:
                        raise InvalidArgumentError(f"the nodes {item.name!r} and {needed!r} need one another")
                    entered.add(needed)
                    stack.append((self.items[needed], self.items[needed].needs()))
        return order


def of_function(
    function: FunctionDef, output_index: Callable[[NodeDef, str, int], int]
) -> tuple[Definition, list[Ref]]:
    """The body of a function, and what it returns."""
    arguments = [arg.name for arg in function.signature.input_arg]
    body = Definition(function.node_def, arguments, output_index)
    results = []
    for arg in function.signature.output_arg:
        if arg.name not in function.ret:
            raise InvalidArgumentError(f"the function {function.signature.name!r} does not return {arg.name!r}")
        results.append(body.ref(function.ret[arg.name], function.signature.name))
    return body, results
