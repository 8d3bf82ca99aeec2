"""``import_meta_graph`` and ``export_meta_graph``: a graph with its variables, collections and saver."""

from __future__ import annotations

import logging
import operator
import os
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np

from dualgrad.files import atomic, limits
from dualgrad.files.graph_protos import CollectionDef, GraphDef, MetaGraphDef, MetaInfoDef, SaverDef, VariableDef
from dualgrad.files.tensors import array_of
from engine.core.dtypes import string
from engine.runtime.errors import InvalidArgumentError
from graph_api.convert import convert_to_tensor
from graph_api.graph_files.bodies import Body
from graph_api.graph_files.definition import Ref, split_input
from graph_api.graph_files.exporting import Writer
from graph_api.graph_files.importing import as_graph_def, element, imported
from graph_api.graph_files.reading import message_from
from graph_api.graphs.graph import Graph, get_default_graph
from graph_api.graphs.graph_keys import GraphKeys
from graph_api.graphs.tensor import Operation, Tensor
from graph_api.graphs.variable import Variable
from graph_api.saving import Saver

OF_VARIABLES = frozenset(
    {
        "variables", "trainable_variables", "local_variables", "model_variables", "moving_average_variables",
        "global_step", "metric_variables", "trainable_resource_variables",
    }
)  # fmt: skip
"""Collections that hold variables, as messages."""
_LEFT_OUT = frozenset({"savers", "cond_context", "while_context", "queue_runners"})
"""Collections of what is made anew: choices and loops, and savers."""
PROTO_FUNCTIONS: dict[str, tuple[Any, Any, Any]] = {}
"""By collection: what makes a message of an item, the message's class, and what makes an item of a message."""


def register_proto_function(
    collection_name: str, proto_type: Any = None, to_proto: Any = None, from_proto: Any = None
) -> None:
    """Say how files keep the items of a collection: as messages.

    Parameters
    ----------
    collection_name : str
    proto_type : class, optional
        Of the messages.
    to_proto, from_proto : callable, optional
        What makes a message of an item, and an item of a message.

    Raises
    ------
    TypeError
        If one of them cannot be called.
    """
    for name, function in (("to_proto", to_proto), ("from_proto", from_proto)):
        if function is not None and not callable(function):
            raise TypeError(f"register_proto_function: argument `{name}` must be callable, got {function!r}")
    PROTO_FUNCTIONS[collection_name] = to_proto, proto_type, from_proto


def as_meta_graph(given: Any) -> MetaGraphDef:
    """A MetaGraphDef: of ours, of another implementation of protocol buffers, or that in a file."""
    if isinstance(given, MetaGraphDef):
        return given
    if hasattr(given, "SerializeToString"):
        return MetaGraphDef.FromString(given.SerializeToString())
    return message_from(MetaGraphDef, given)


def import_meta_graph(
    meta_graph_or_file: Any, clear_devices: bool = False, import_scope: str | None = None, **kwargs: Any
) -> Any:
    """Add the graph of a ``.meta`` file to the default graph, with variables and collections.

    So a model that was saved is trained on, or differentiated, without the code that built it.

    Parameters
    ----------
    meta_graph_or_file : str or MetaGraphDef
    clear_devices : bool
        Whether to forget what devices were asked for.
    import_scope : str, optional
        The prefix of all names.
    **kwargs
        ``input_map`` and ``return_elements``, see `import_graph_def`.

    Returns
    -------
    Saver or None
        Which saves and restores what the file's saver did; None if there are no variables. With ``return_elements``
        a pair of it and these.

    Raises
    ------
    NotFoundError, DataLossError, InvalidArgumentError
        If there is no such file, or it is damaged.
    UnimplementedError
        If the graph has ops that are not known here: all of them are listed.

    Examples
    --------
    >>> import os, tempfile
    >>> import graph_api as tf
    >>> path = os.path.join(tempfile.mkdtemp(), "model.ckpt")
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable(2.0, name="w")
    ...     y = tf.multiply(w, w, name="y")
    ...     sess.run(w.initializer)
    ...     _ = tf.train.Saver().save(sess, path)
    >>> with tf.Graph().as_default() as g, tf.Session() as sess:
    ...     saver = tf.train.import_meta_graph(path + ".meta")
    ...     saver.restore(sess, path)
    ...     print(sess.run("y:0"), [v.name for v in tf.trainable_variables()])
    4.0 ['w:0']
    """
    meta = as_meta_graph(meta_graph_or_file)
    is_file = isinstance(meta_graph_or_file, (str, os.PathLike))
    with limits.damage(meta_graph_or_file, InvalidArgumentError) if is_file else nullcontext():
        saver, elements = with_elements(meta, clear_devices, import_scope, **kwargs)
    return saver if elements is None else (saver, elements)


def with_elements(
    meta: MetaGraphDef,
    clear_devices: bool = False,
    import_scope: str | None = None,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Any = None,
    restore_collections_predicate: Any = None,
) -> tuple[Any, list[Any] | None]:
    """`import_meta_graph`, and the elements asked for."""
    graph = get_default_graph()
    message = GraphDef.FromString(meta.graph_def.SerializeToString())
    if clear_devices:
        for node in message.node:
            node.device = ""
    mapped = {split_input(k): convert_to_tensor(v) for k, v in (input_map or {}).items()}
    values = {Ref(name, index or 0): v for (name, index), v in mapped.items()}
    with graph.unchanged_by_errors():
        with graph.name_scope(import_scope) as prefix:
            prefix = prefix if import_scope else ""
        if not import_scope and graph.get_name_scope():
            prefix = f"{graph.get_name_scope()}/"
        names = [str(e) for e in return_elements or ()]
        body = imported(message, graph, prefix, values, keep=names)
        variables = _collections(meta, body, graph, restore_collections_predicate)
        saver = _saver(meta, message, body, variables)
        return saver, None if return_elements is None else [element(body, e) for e in names]


# ---- collections -----------------------------------------------------------------------------------------------------


def _collections(meta: MetaGraphDef, body: Body, graph: Graph, wanted: Any) -> dict[str, Variable]:
    """Fill the graph's collections; the variables by the names of their operations in the file."""
    variables: dict[str, Variable] = {}
    # variables first: other collections name them
    for key, collection in sorted(meta.collection_def.items(), key=lambda item: (item[0] not in OF_VARIABLES, item[0])):
        kind = collection.WhichOneof("kind")
        if kind is None or key in _LEFT_OUT or (wanted is not None and not wanted(key)):
            continue
        held = getattr(collection, kind).value
        elements: list[Any]
        if kind == "node_list":
            elements = [_named(body, name, variables) for name in held]
        elif kind == "bytes_list" and key in OF_VARIABLES:
            elements = [_variable(body, graph, VariableDef.FromString(data), variables) for data in held]
        elif kind == "bytes_list" and key in PROTO_FUNCTIONS:
            elements = [_from_proto(key, data, graph) for data in held]
        else:
            elements = list(held)
        for value in elements:
            if value is not None:
                graph.add_to_collection(key, value)
    return variables


def _from_proto(key: str, data: bytes, graph: Graph) -> Any:
    """Make the object that a message stands for, as `register_proto_function` says."""
    _, kind, make = PROTO_FUNCTIONS[key]
    message = kind.FromString(data) if kind is not None else data
    with graph.as_default():
        return make(message) if make is not None else message


def _named(body: Body, name: str, variables: Mapping[str, Variable]) -> Operation | Tensor | Variable | None:
    """A node, tensor or variable of a collection; None for one that was left out."""
    ref, colon, index = name.partition(":")
    if colon and ref in variables:
        return variables[ref]
    if not colon:
        return body.operations.get(ref)
    tensors = body.top.value_list(ref)
    return tensors[int(index)] if index.isdigit() and int(index) < len(tensors) else None


def _variable(body: Body, graph: Graph, message: VariableDef, variables: dict[str, Variable]) -> Variable:
    """A variable; one object for each."""
    name = message.variable_name.partition(":")[0]
    if name not in variables:
        now = VariableDef.FromString(message.SerializeToString())
        for field in ("variable_name", "initializer_name", "initial_value_name", "snapshot_name"):
            text = getattr(message, field)
            if text:
                node, colon, index = text.partition(":")
                if node not in body.operations:
                    raise InvalidArgumentError(f"the variable {name!r} needs {node!r}, which is not in the graph")
                setattr(now, field, f"{body.operations[node].name}{colon}{index}")
        if not message.HasField("trainable"):
            now.trainable = False
        variables[name] = Variable(variable_def=now)
    return variables[name]


# ---- savers ----------------------------------------------------------------------------------------------------------


def _saver(meta: MetaGraphDef, message: GraphDef, body: Body, variables: dict[str, Variable]) -> Saver | None:
    """A saver of what the file's saver saves, by the names that it has in checkpoints."""
    from graph_api.saving import Saver

    graph = body.graph
    with graph.as_default():
        if meta.HasField("saver_def"):
            saver = _saved(meta, message, variables)
            if saver:
                return Saver(saver, saver_def=meta.saver_def)
            return Saver(saver_def=meta.saver_def, allow_empty=True)
        return Saver() if graph.get_collection(GraphKeys.GLOBAL_VARIABLES) else None


def _saved(meta: MetaGraphDef, message: GraphDef, variables: dict[str, Variable]) -> dict[str, Variable]:
    """The variables that the nodes of the file's saver save, by the names that these give them."""
    nodes = {node.name: node for node in message.node}
    scope = meta.saver_def.filename_tensor_name.partition(":")[0].rpartition("/")[0]
    saved: dict[str, Variable] = {}
    for node in message.node:
        if node.op not in ("SaveV2", "SaveSlices", "Save") or not node.name.startswith(f"{scope}/" if scope else ""):
            continue
        inputs = [text for text in node.input if not text.startswith("^")]
        first = 2 if node.op == "Save" else 3
        names = nodes[split_input(inputs[1])[0]]
        if names.op != "Const":
            continue
        for name, text in zip(array_of(names.attr["value"].tensor).reshape(-1), inputs[first:], strict=False):
            source = nodes.get(split_input(text)[0])
            while source is not None and source.op in ("Identity", "ReadVariableOp") and source.input:
                source = nodes.get(split_input(source.input[0])[0])
            if source is not None and source.name in variables:
                saved[name.decode(errors="replace")] = variables[source.name]
    return saved


# ---- export ----------------------------------------------------------------------------------------------------------


def export_meta_graph(
    filename: str | None = None,
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Any = None,
    as_text: bool = False,
    graph: Graph | None = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    **kwargs: Any,
) -> MetaGraphDef:
    """The graph with variables and collections as a message, for `import_meta_graph`, here or in TensorFlow.

    Parameters
    ----------
    filename : str, optional
        Where to write it.
    meta_info_def, graph_def, saver_def : optional
        Parts to use as they are.
    collection_list : list of str, optional
        Which collections to keep, by default all.
    as_text : bool
        Whether the file is in the text format.
    graph : Graph, optional
        By default the default graph.
    export_scope
        Must be None: a part of a graph is what ``graph_util.extract_sub_graph`` gives.
    clear_devices : bool
        Whether to leave out what devices were asked for.
    clear_extraneous_savers, strip_default_attrs, save_debug_info
        Accepted for compatibility: there are none of these.

    Returns
    -------
    MetaGraphDef
        Collections keep variables, tensors, operations, numbers and bytes; other objects are left out.

    Raises
    ------
    ValueError
        If an argument is not supported.
    """
    if export_scope is not None:
        raise ValueError(
            "export_meta_graph: argument `export_scope` is not supported; see graph_util.extract_sub_graph"
        )
    if kwargs:
        raise ValueError(f"export_meta_graph: arguments {sorted(kwargs)} are not supported")
    source = graph or get_default_graph()
    if graph_def is None:
        meta = MetaGraphDef(graph_def=source.as_graph_def(add_shapes=True))
    else:
        meta = MetaGraphDef()
        meta.graph_def.CopyFrom(as_graph_def(graph_def))
    if clear_devices:
        for node in meta.graph_def.node:
            node.device = ""
    meta.meta_info_def.CopyFrom(meta_info_def or _MADE_BY)
    if saver_def is not None:
        meta.saver_def.CopyFrom(saver_def)
    for key in source.get_all_collection_keys() if collection_list is None else collection_list:
        collection = _collection_def(key, source.get_collection(key))
        if collection is not None:
            meta.collection_def[key].CopyFrom(collection)
    if filename:
        atomic.write(filename, [str(meta).encode() if as_text else meta.SerializeToString()])
    return meta


_MADE_BY = MetaInfoDef(tensorflow_version="1.15.0")


def _collection_def(key: str, items: list[Any]) -> CollectionDef | None:
    """A collection as a message, as TensorFlow decides it; None, with a warning, if files do not keep such things.

    Collections of variables hold messages, so do those of `register_proto_function`; in others the first item tells:
    a text or number, or something of the graph, of which the name is kept.
    """
    made = CollectionDef()
    to_proto = PROTO_FUNCTIONS[key][0] if key in PROTO_FUNCTIONS else None
    if key in OF_VARIABLES:
        to_proto = Variable.to_proto
    kinds: list[tuple[str, Any, Any]] = [
        ("bytes_list", (str, bytes), lambda v: v.encode() if isinstance(v, str) else bytes(memoryview(v))),
        ("int64_list", int, operator.index),
        ("float_list", float, float),
        ("node_list", object, lambda v: v.name),
    ]
    try:
        if to_proto is not None:
            made.bytes_list.value.extend([to_proto(item).SerializeToString() for item in items])
            return made
        if isinstance(items[0], bool):
            raise TypeError("a bool is none of a file's kinds")
        field, convert = next((field, convert) for field, kind, convert in kinds if isinstance(items[0], kind))
        getattr(made, field).value.extend([convert(item) for item in items])
    except (AttributeError, TypeError, ValueError, IndexError) as error:
        if items:
            logging.getLogger("tensorflow").warning(
                "export_meta_graph: the collection %r is left out: its items are of a type that files do not keep, or "
                "not all of one type (%s)", key, error,
            )  # fmt: skip
        return None
    return made


def with_saver(meta: MetaGraphDef, variables: Mapping[str, Any], saver_def: SaverDef) -> MetaGraphDef:
    """The message with the operations that TensorFlow's saver runs: it restores variables by their names."""
    meta.saver_def.CopyFrom(saver_def)
    handles = {name: variable.handle for name, variable in variables.items()}
    return with_saving_nodes(meta, {name: (x.op.name, x.dtype) for name, x in handles.items()})


def with_saving_nodes(meta: MetaGraphDef, handles: Mapping[str, tuple[str, Any]]) -> MetaGraphDef:
    """The message with the operations that save and restore variables.

    Parameters
    ----------
    handles : mapping
        By what checkpoints call them, the names of the variables' handles, and their dtypes.
    """
    graph = meta.graph_def
    scope = "save"
    taken = {node.name for node in graph.node}
    while any(name.startswith(f"{scope}/") for name in taken):
        scope += "_1"
    writer = Writer(taken)
    dtypes = [dtype for _, dtype in handles.values()]
    path = writer.node(f"{scope}/Const", "Const", dtype=string, value=np.array(b"model", object))
    keys = writer.node(f"{scope}/names", "Const", dtype=string, value=np.array([n.encode() for n in handles], object))
    whole = writer.node(f"{scope}/slices", "Const", dtype=string, value=np.array([b""] * len(handles), object))
    reads = [
        writer.node(f"{scope}/Read_{i}", "ReadVariableOp", [name], dtype=dtype)
        for i, (name, dtype) in enumerate(handles.values())
    ]
    writer.node(f"{scope}/SaveV2", "SaveV2", [path, keys, whole, *reads], dtypes=dtypes)
    writer.node(f"{scope}/control_dependency", "Identity", [path], [f"{scope}/SaveV2"], T=string)
    writer.node(f"{scope}/RestoreV2", "RestoreV2", [path, keys, whole], dtypes=dtypes)
    restored = [f"{scope}/RestoreV2:{i}" if i else f"{scope}/RestoreV2" for i in range(len(handles))]
    assigns = [
        writer.node(f"{scope}/Assign_{i}", "AssignVariableOp", [name, value], dtype=dtype, validate_shape=False)
        for i, ((name, dtype), value) in enumerate(zip(handles.values(), restored, strict=True))
    ]
    writer.node(f"{scope}/restore_all", "NoOp", (), assigns)
    graph.node.extend(list(writer.made.node))
    meta.saver_def.filename_tensor_name = f"{scope}/Const:0"
    meta.saver_def.save_tensor_name = f"{scope}/control_dependency:0"
    meta.saver_def.restore_op_name = f"{scope}/restore_all"
    return meta


def write_graph(graph_or_graph_def: Any, logdir: str, name: str, as_text: bool = True) -> str:
    """Write a graph, or its message, to a file; the file's path.

    Parameters
    ----------
    graph_or_graph_def : Graph or GraphDef
    logdir, name : str
        The folder, which is made if need be, and the file's name.
    as_text : bool
        Whether in the text format.
    """
    graph_def = graph_or_graph_def
    message = graph_def.as_graph_def() if isinstance(graph_def, Graph) else as_graph_def(graph_def)
    path = os.path.join(os.fspath(logdir), name)
    atomic.write(path, [str(message).encode() if as_text else message.SerializeToString()])
    return path
