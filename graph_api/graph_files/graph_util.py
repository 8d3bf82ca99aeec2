"""``tf.graph_util``: graph definitions changed as messages, whatever ops they have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dualgrad.files.graph_protos import AttrValue, GraphDef, NodeDef
from dualgrad.files.tensors import OF_NAME, tensor_proto
from graph_api.graph_files.definition import split_input
from graph_api.graph_files.importing import as_graph_def, import_graph_def

_VARIABLES = frozenset({"Variable", "VariableV2", "VarHandleOp"})


def extract_sub_graph(graph_def: Any, dest_nodes: Sequence[str]) -> GraphDef:
    """The part of a graph that some of its nodes need.

    Raises
    ------
    ValueError
        If one of them is not in it.
    """
    whole = as_graph_def(graph_def)
    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes must be a list.")
    nodes = {node.name: node for node in whole.node}
    missing = [name for name in dest_nodes if name not in nodes]
    if missing:
        raise ValueError(f"{missing[0]!r} is not in graph")
    kept: set[str] = set()
    left = list(dest_nodes)
    while left:
        name = left.pop()
        if name not in kept and name in nodes:
            kept.add(name)
            left += [split_input(text)[0] for text in nodes[name].input]
    made = GraphDef(versions=whole.versions, library=whole.library)
    made.node.extend([node for node in whole.node if node.name in kept])
    return GraphDef.FromString(made.SerializeToString())


def convert_variables_to_constants(
    sess: Any,
    input_graph_def: Any,
    output_node_names: Sequence[str],
    variable_names_whitelist: Sequence[str] | None = None,
    variable_names_blacklist: Sequence[str] | None = None,
) -> GraphDef:
    """The part of a graph that some nodes need, with the values of a session in place of variables: a frozen graph.

    Parameters
    ----------
    sess : Session
        Whose graph the message is of.
    input_graph_def : GraphDef
    output_node_names : list of str
    variable_names_whitelist, variable_names_blacklist : list of str, optional
        Which variables to replace, or not to.

    Raises
    ------
    ValueError
        If a name is not in the graph.
    FailedPreconditionError
        If a variable has no value.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default() as g, tf.Session() as sess:
    ...     y = tf.multiply(tf.Variable(2.0, name="w"), 3.0, name="y")
    ...     sess.run(tf.global_variables_initializer())
    ...     frozen = tf.graph_util.convert_variables_to_constants(sess, g.as_graph_def(), ["y"])
    >>> [node.op for node in frozen.node]
    ['Const', 'Identity', 'Const', 'Mul']
    """
    part = extract_sub_graph(input_graph_def, output_node_names)
    names = [node.name for node in part.node if node.op in _VARIABLES]
    if variable_names_whitelist is not None:
        names = [name for name in names if name in variable_names_whitelist]
    names = [name for name in names if name not in (variable_names_blacklist or ())]
    values = dict(zip(names, sess.run([f"{name}:0" for name in names]), strict=True)) if names else {}
    made = GraphDef(versions=part.versions, library=part.library)
    for node in part.node:
        made.node.append(_constant(node, values))
    return made


def _constant(node: NodeDef, values: dict[str, np.ndarray]) -> NodeDef:
    """A node with what a variable holds in its place; a read of one becomes an identity."""
    if node.name in values:
        array = np.asarray(values[node.name])
        made = NodeDef(name=node.name, op="Const", device=node.device)
        made.attr["dtype"].CopyFrom(AttrValue(type=OF_NAME[array.dtype.name]))
        made.attr["value"].CopyFrom(AttrValue(tensor=tensor_proto(array)))
        return made
    if node.op == "ReadVariableOp" and split_input(node.input[0])[0] in values:
        made = NodeDef(name=node.name, op="Identity", input=list(node.input), device=node.device)
        made.attr["T"].CopyFrom(node.attr["dtype"])
        return made
    if node.op == "ResourceGather" and split_input(node.input[0])[0] in values:
        made = NodeDef(name=node.name, op="Gather", input=list(node.input), device=node.device)
        made.attr["Tparams"].CopyFrom(node.attr["dtype"])
        made.attr["Tindices"].CopyFrom(node.attr["Tindices"])
        return made
    return node


def _behind(text: str, gone: dict[str, str]) -> str:
    seen = set()
    while not text.startswith("^") and split_input(text)[0] in gone and text not in seen:
        seen.add(text)
        text = gone[split_input(text)[0]]
    return text


__all__ = ["convert_variables_to_constants", "extract_sub_graph", "import_graph_def"]
