"""The graph of objects that an object-based checkpoint holds beside the tensors."""

from __future__ import annotations

from typing import Any

from dualgrad.files import limits
from dualgrad.files.protos import TrackableObjectGraph
from engine.runtime.errors import DataLossError

GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
VALUE = "VARIABLE_VALUE"


def object_graph(reader: Any) -> TrackableObjectGraph | None:
    """The graph of objects of a checkpoint, None if it is not object-based.

    Raises
    ------
    DataLossError
        If it is damaged.
    """
    if not reader.has_tensor(GRAPH_KEY):
        return None
    with limits.damage(reader.prefix):
        graph = TrackableObjectGraph.FromString(reader.get_tensor(GRAPH_KEY))
        edges = [edge.node_id for node in graph.nodes for edge in node.children]
        if not all(0 <= number < len(graph.nodes) for number in (0, *edges)):
            raise DataLossError("the graph of objects has an edge to an object that there is not")
        return graph


def keys_by_full_name(reader: Any) -> dict[str, str]:
    """Where an object-based checkpoint has the variables by the names that they had; empty for any other."""
    graph = object_graph(reader)
    nodes = graph.nodes if graph is not None else ()
    return {a.full_name: a.checkpoint_key for node in nodes for a in node.attributes}


def escaped(name: str) -> str:
    """The name of an edge as part of a key."""
    return name.replace(".", "..").replace("/", ".S")


def value_key(path: str) -> str:
    """The key of the value of the variable that is reached by a path of edges."""
    return f"{path}/.ATTRIBUTES/{VALUE}".lstrip("/")
