"""Functions of a file's library as nodes of the engine, with what stands for their arguments and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dualgrad.files.graph_protos import GraphDef
from engine.closed.function import build
from engine.core.aval import Aval
from engine.core.instantiate import in_trace, instantiate
from engine.core.op import Node
from engine.core.trace import Symbol, needed_nodes, placeholder
from engine.core.value import scalar
from engine.core.variable import read_variable, variable_handle
from engine.derivatives.custom import closed_call, custom_call
from engine.runtime.errors import DataLossError, InvalidArgumentError, UnimplementedError
from graph_api.graph_files.attributes import value_of
from graph_api.graph_files.bodies import Body
from graph_api.graph_files.definition import Ref, split_input
from graph_api.graph_files.importing import Library, missing_ops
from graph_api.graph_files.rows import is_handle
from graph_api.graphs.graph import Graph, no_op


class GraphFunction(NamedTuple):
    """A function of a file.

    Attributes
    ----------
    trace : Trace
        That of its symbols.
    inputs : list of Symbol
        Its arguments.
    handles : list of (Symbol or None)
        For each capture, what stands for the variable.
    hidden : list of (Symbol, callable)
        What stands for variables of its own, with what gives their first values: it counts draws of random numbers.
    results : list of Symbol
    nodes : list of Node
        All that must run, in order.
    """

    trace: Any
    inputs: list[Any]
    handles: list[Any]
    hidden: list[tuple[Any, Callable[[], Any]]]
    results: list[Any]
    nodes: list[Node]


class Captured(NamedTuple):
    """A variable that a function takes from around it."""

    aval: Aval


class Refused(NamedTuple):
    """Something that a function takes from around it, and that is not read."""

    why: str


class Pull(NamedTuple):
    """A gradient of the program's own: of which function of the file it is, and what that takes and gives.

    Attributes
    ----------
    function : str
    captured : list of str
        Behind the cotangents of all outputs, the tensors of the differentiated function that it takes.
    given : list of int
        The inputs of which it gives the cotangents.
    """

    function: str
    captured: list[str]
    given: list[int]


class Functions:
    """The functions of a file.

    Parameters
    ----------
    message : GraphDef
        That of the file.
    pulls : mapping of str to Pull
        The gradients of the program's own by the names that nodes have for them.
    """

    def __init__(self, message: GraphDef, pulls: Mapping[str, Pull]) -> None:
        self._library, self._producer = Library(message), message.versions.producer
        self._library.with_gradient = self._with_gradient
        self._pulls = pulls
        self._nodes = {node.name: node for node in message.node}
        self._arguments = {f.signature.name: len(f.signature.input_arg) for f in message.library.function}

    def __contains__(self, name: str) -> bool:
        return name in self._arguments

    def constant(self, name: str) -> np.ndarray:
        """The array of a constant of the graph.

        Raises
        ------
        DataLossError
            If there is no such constant.
        """
        node = self._nodes.get(name)
        if node is None or node.op != "Const" or "value" not in node.attr:
            raise DataLossError(f"an object is the constant {name!r}, which is not in the graph")
        array: np.ndarray = value_of(node.attr["value"])
        return array

    def made(self, name: str, avals: Sequence[Aval], captures: Sequence[Any]) -> GraphFunction:
        """A function for arguments of some shapes and dtypes.

        Parameters
        ----------
        name : str
        avals : sequence of Aval
            Of the arguments.
        captures : sequence of Captured, array or Refused
            What follows them.

        Raises
        ------
        UnimplementedError
            If it has ops that are not known here, all of which are named, or captures what is not read.
        InvalidArgumentError, DataLossError
            If it is damaged.
        """
        try:
            return self._made(name, avals, captures)
        except RecursionError:
            raise DataLossError(f"the function {name!r} nests functions, branches or loops too deeply") from None

    def _with_gradient(self, region: Any, item: Any, name: str, inputs: Sequence[Any]) -> Any:
        """The inputs, passed on, with a gradient of the program's own."""
        pull, count = self._pulls.get(name), len(inputs)
        if pull is None or not all(0 <= i < count for i in pull.given):
            return custom_call(*inputs, *inputs, count=count, rule=_missing(name, item.name))
        taken = region.get([Ref(*_output(text)) for text in pull.captured])
        avals = [Aval(x.aval.shape, x.aval.dtype) for x in (*inputs, *taken)]
        made = self.made(pull.function, avals, [])

        def rule(body: Any, values: Sequence[Any]) -> list[Any]:
            of = {id(symbol): x for symbol, x in zip(made.inputs, values, strict=True)}
            instantiate(made.nodes, of, in_trace(body))
            return [of[id(r)] for r in made.results]

        closed = build(avals, rule)
        return closed_call(*inputs, *inputs, *taken, count=count, results=count, given=tuple(pull.given), pull=closed)

    def _made(self, name: str, avals: Sequence[Aval], captures: Sequence[Any]) -> GraphFunction:
        definition, outputs, controls = self._library(name)
        unknown = [*filter(None, [missing_ops(definition, self._library)])]
        unknown += [c.why for c in captures if isinstance(c, Refused)]
        if unknown:
            raise UnimplementedError(
                f"the function {name!r} needs what is not known here: {'; '.join(unknown)}. Save the model with a "
                f"function that does without, and do the rest in Python; or load the variables alone, by "
                f"tf.train.Checkpoint"
            )
        if len(definition.arguments) != len(avals) + len(captures):
            raise InvalidArgumentError(
                f"the function {name!r} takes {len(definition.arguments)} values, the file says that it is given "
                f"{len(avals)} and captures {len(captures)}"
            )
        graph = Graph()
        with graph.as_default():
            inputs = [graph.placeholder(a) for a in avals]
            taken = [
                graph.apply(variable_handle, (), {"aval": c.aval, "default": None})
                if isinstance(c, Captured)
                else graph.constant(scalar(c))
                for c in captures
            ]
            given = {Ref(n, 0): x for n, x in zip(definition.arguments, [*inputs, *taken], strict=True)}
            body = Body(definition, graph, "", self._library, given, self._producer)
            body.top.make(controls)
            results = [
                graph.apply(read_variable, (x,), {}) if is_handle(x) else x for x in body.top.get(outputs)
            ]  # fmt: skip
        if not all(isinstance(x, Symbol) for x in results):
            raise UnimplementedError(f"the function {name!r} returns an array of tensors, not its tensors stacked")
        effects = [op for op in map(body.top._operation, controls) if op is not None]
        nodes = needed_nodes(graph.nodes, [*results, *effects], extra=lambda node: node.control_inputs)
        handles = [x if isinstance(c, Captured) else None for x, c in zip(taken, captures, strict=True)]
        own = set(map(id, handles))
        hidden = [
            (node.outputs[0], node.params["default"])
            for node in nodes
            if node.op is variable_handle and id(node.outputs[0]) not in own
        ]
        if any(default is None for _, default in hidden):
            raise InvalidArgumentError(f"the function {name!r} makes a variable that nobody holds")
        kept = [node for node in nodes if node.op not in (no_op, placeholder, variable_handle)]
        return GraphFunction(graph, inputs, handles, hidden, results, kept)


def _output(text: str) -> tuple[str, int]:
    name, number = split_input(text)
    return name, number or 0


def _missing(name: str, node: str) -> Callable[..., Any]:
    """A rule that refuses: what a node computes may have another derivative than its ops."""

    def rule(i: int, cts: Any, operand: Any) -> Any:
        raise UnimplementedError(
            f"the function has a gradient of the program's own at {node!r}, {name!r}, and the file has no function for "
            f"it; save the model by TensorFlow with SaveOptions(experimental_custom_gradients=True)"
        )

    return rule
