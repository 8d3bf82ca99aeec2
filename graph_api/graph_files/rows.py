"""Parts of the tables of rows: how a node of a file becomes operations of a graph.

A row belongs to one of TensorFlow's op types. `Site` is what it is given: the node's inputs and attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from dualgrad.files.graph_protos import NodeDef
from engine.core.operands import Results
from engine.core.trace import constant_value
from engine.core.variable import variable_handle
from engine.runtime.errors import InvalidArgumentError
from graph_api.control_flow.tensor_array import TensorArray
from graph_api.graph_files.attributes import value_of
from graph_api.graphs.tensor import Operation, Tensor
from graph_api.library import root

_REQUIRED = object()


class Site:
    """A node about to be made.

    Attributes
    ----------
    graph : Graph
    proto : NodeDef
    inputs : list
        Tensors; of variables their handles, if the row says that it takes them.
    region : Region
        Where it is made; it reads variables and calls functions of the library.
    """

    def __init__(self, graph: Any, proto: NodeDef, inputs: list[Any], region: Any) -> None:
        self.graph, self.proto, self.inputs, self.region = graph, proto, inputs, region

    def attr(self, name: str, default: Any = _REQUIRED) -> Any:
        """An attribute, or the default."""
        if name in self.proto.attr:
            return value_of(self.proto.attr[name])
        if default is _REQUIRED:
            raise InvalidArgumentError(f"the attribute {name!r} is missing")
        return default

    def known(self, i: int, what: str) -> np.ndarray:
        """The array that an input is known to hold."""
        contents = constant_value(self.inputs[i])
        if contents is None:
            raise InvalidArgumentError(f"input {i} ({what}) must be a constant")
        return contents

    def text(self, i: int, what: str) -> str:
        """The string that an input is known to hold."""
        value = self.known(i, what).reshape(-1)
        if value.size != 1:
            raise InvalidArgumentError(f"input {i} ({what}) must be one string")
        return value[0].decode(errors="replace") if isinstance(value[0], bytes) else str(value[0])


class Row(NamedTuple):
    """How nodes of a type are made: ``make(site)`` gives a tensor, several of them, or an operation.

    ``takes_handles`` says whether variables are given as they are. `graph_api.graph_files.outputs` has the names of the
    outputs.
    """

    make: Callable[[Site], Any]
    takes_handles: bool = False


def is_handle(x: Any) -> bool:
    """Whether a value stands for a variable."""
    return isinstance(x, Tensor) and x.op.op is variable_handle


Made = Results | TensorArray | Operation
"""The result of a row for a node: a tensor or several, an array of tensors, or an operation."""
Make = TypeVar("Make", bound=Callable[..., Any])

ROWS: dict[str, Row] = {}
"""All of them, by op type. The modules `elementwise_rows`, `array_rows`, `network_rows` and `state_rows` fill it."""


def row(types: str, takes_handles: bool = False) -> Callable[[Make], Make]:
    """Decorator: a function of a `Site` is the row of some op types."""

    def register(make: Make) -> Make:
        for name in types.split():
            ROWS[name] = Row(make, takes_handles)
        return make

    return register


def public(path: str) -> Callable[..., Any]:
    """The public function of a name: ``"nn.conv2d"``."""
    here: Any = root
    for part in path.split("."):
        here = getattr(here, part)
    return here


def same(table: str) -> None:
    """Rows of ops that are public functions of their inputs: ``Type:function keyword=attribute ...`` a line."""
    for line in table.strip().splitlines():
        head, *rest = line.split()
        types, _, path = head.partition(":")
        keywords = [pair.partition("=")[::2] for pair in rest]
        for name in types.split(","):
            ROWS[name] = Row(_calling(public(path), [(k, a or k) for k, a in keywords]))


def _calling(function: Callable[..., Any], keywords: Sequence[tuple[str, str]]) -> Callable[[Site], Any]:
    def make(site: Site) -> Made:
        # what a file leaves out is what the function does by default
        arguments = {k: site.attr(a) for k, a in keywords if a in site.proto.attr}
        return function(*site.inputs, **arguments)

    return make
