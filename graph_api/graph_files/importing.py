"""``import_graph_def``: the nodes of a file as operations of a graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dualgrad.files.graph_protos import GraphDef, NodeDef
from dualgrad.files.tensors import dtype_name, numpy_dtype
from engine.core.operands import Operation
from engine.runtime.errors import DataLossError, InvalidArgumentError, UnimplementedError
from graph_api.convert import convert_to_tensor
from graph_api.graph_files import array_rows, arrays_in_loops, elementwise_rows, function_rows, network_rows, state_rows  # noqa: F401  (they fill the table)
from graph_api.graph_files.bodies import Body
from graph_api.graph_files.definition import Definition, Ref, of_function, split_input
from graph_api.graph_files.outputs import output_names
from graph_api.graph_files.own_rows import own_row
from graph_api.graph_files.regions import PARTS, TOP
from graph_api.graph_files.rows import ROWS
from graph_api.graphs.graph import Graph, get_default_graph
from graph_api.graphs.tensor import Tensor

SAVERS = frozenset(
    ("SaveV2", "RestoreV2", "Save", "SaveSlices", "Restore", "RestoreSlice", "ShardedFilename", "MergeV2Checkpoints")
)
"""Ops that `train.Saver` adds to TensorFlow's graphs; here it needs none."""


def as_graph_def(graph_def: Any) -> GraphDef:
    """A GraphDef, of ours or of another implementation of protocol buffers."""
    if isinstance(graph_def, GraphDef):
        return graph_def
    if hasattr(graph_def, "SerializeToString"):
        return GraphDef.FromString(graph_def.SerializeToString())
    raise TypeError(f"Argument `graph_def` must be a GraphDef proto, got {type(graph_def).__name__}")


def import_graph_def(
    graph_def: Any,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> list[Any] | None:
    """Add the nodes of a `GraphDef` to the default graph.

    They can be run, fed and differentiated as if a program had made them. What the file has as switches and merges
    becomes `cond` and `while_loop`; operations inside of branches and loops are not to be fetched, as always.

    Parameters
    ----------
    graph_def : GraphDef
        As ``tf.GraphDef.FromString(...)`` gives it.
    input_map : dict of str to tensor, optional
        What to use in place of some of the file's tensors, by their names there. What only those needed is left out.
    return_elements : list of str, optional
        Names, in the file, of operations and tensors to return.
    name : str, optional
        The prefix of all names, by default ``"import"``; empty for none.
    op_dict, producer_op_list : optional
        Accepted for compatibility.

    Returns
    -------
    list, or None without `return_elements`

    Raises
    ------
    UnimplementedError
        If it has ops that are not known here: all of them are listed, and nothing is added.
    InvalidArgumentError, DataLossError
        If it is damaged. Then, too, nothing is added.
    ValueError
        If `input_map` or `return_elements` name what is not in the file.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default() as g:
    ...     y = tf.multiply(tf.placeholder(tf.float32, name="x"), 3.0, name="y")
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.constant(2.0)
    ...     (y,) = tf.import_graph_def(g.as_graph_def(), {"x:0": x}, ["y:0"])
    ...     print(y.name, sess.run(tf.gradients(y, x)))
    import/y:0 [np.float32(3.0)]
    """
    message = as_graph_def(graph_def)
    graph = get_default_graph()
    mapped = {str(k).removeprefix("^"): v for k, v in (input_map or {}).items()}
    with graph.unchanged_by_errors():
        with graph.name_scope("import" if name is None else name) as prefix:
            values = {_ref(k): convert_to_tensor(v) for k, v in mapped.items()}
        body = imported(message, graph, prefix, values, keep=list(return_elements or ()))
        return None if return_elements is None else [element(body, e) for e in return_elements]


def _ref(text: str) -> Ref:
    name, index = split_input(text)
    return Ref(name, index or 0)


def element(body: Body, text: str) -> Tensor | Operation:
    """An operation or tensor by its name in the file."""
    name, _, index = text.partition(":")
    if name not in body.definition.items:
        raise InvalidArgumentError(f"Requested return_element {text!r} not found in graph_def.")
    if not index:
        if name not in body.operations:
            raise InvalidArgumentError(
                f"Requested return_element {text!r} is no operation here: it is part of a branch or loop"
            )
        return body.operations[name]
    ref = _ref(text)
    if ref in body.given:
        return body.given[ref]
    tensors = body.top.value_list(name)
    if ref.index >= len(tensors) or not isinstance(tensors[ref.index], Tensor):
        raise InvalidArgumentError(f"Requested return_element {text!r} not found in graph_def.")
    return tensors[ref.index]


def imported(
    message: GraphDef, graph: Graph, prefix: str, given: dict[Ref, Any], keep: Iterable[str] = (), control: bool = True
) -> Body:
    """The nodes of a message, made in a graph; savers' nodes and what only those use are left out."""
    library = Library(message)
    try:
        definition = Definition(message.node)
        for ref in given:
            if ref.node not in definition.items:
                raise InvalidArgumentError(
                    f"Attempted to map inputs that were not found in graph_def: [{ref.node}:{ref.index}]"
                )
        wanted = _kept(definition, given, {text.partition(":")[0] for text in keep})
        replaced = dict.fromkeys(ref.node for ref in given if ref.node not in wanted)
        definition = Definition([_pruned(p, wanted) for p in message.node if p.name in wanted], list(replaced))
        _require_known(definition, library)
        with graph.as_default():
            body = Body(definition, graph, prefix, library, given, message.versions.producer)
            body.top.make(
                [name for name in definition.items if body.regions.places[name] == TOP and _stands(body, name)]
            )
    except RecursionError:
        raise DataLossError("the file nests functions, branches or loops too deeply") from None
    return body


def _stands(body: Body, name: str) -> bool:
    """Whether a node is made for itself: control flow is made where something comes out of it."""
    op = body.definition.items[name].op
    return op not in PARTS or name in body.regions.choices or (op in ("Exit", "RefExit"))


# ---- what is left out ------------------------------------------------------------------------------------------------


def _pruned(proto: NodeDef, wanted: set[str]) -> NodeDef:
    """A node without control inputs that are left out."""
    gone = [text for text in proto.input if text.startswith("^") and text[1:] not in wanted]
    if gone:
        proto = NodeDef.FromString(proto.SerializeToString())
        proto.input[:] = [text for text in proto.input if text not in gone]
    return proto


def _kept(definition: Definition, given: Mapping[Ref, Any], keep: set[str]) -> set[str]:
    """The nodes to make: not savers, nor what needs them; not what only replaced tensors need, if it is not known."""
    items = definition.items
    users: dict[str, list[str]] = {name: [] for name in items}
    for item in items.values():
        for needed in item.needs():
            users[needed].append(item.name)
    left, dropped = [name for name, item in items.items() if item.op in SAVERS and name not in keep], set()
    while left:
        name = left.pop()
        if name not in dropped:
            dropped.add(name)
            left += [user for user in users[name] if user not in keep]
    # what savers make of the names of files is of no use to anybody else
    unknown = [
        name
        for name, item in items.items()
        if item.op not in PARTS and (item.op not in ROWS or (dropped and _is_text(item.proto)))
    ]
    candidates, left = frozenset(unknown) - keep, list(unknown)
    while left:
        name = left.pop()
        if name not in candidates or name in dropped or not users[name]:
            continue
        if all(_is_idle(items[user], name, given, dropped) for user in users[name]):
            dropped.add(name)
            left += items[name].needs()
    return set(items) - dropped


def _is_text(proto: NodeDef) -> bool:
    return any(a.WhichOneof("value") == "type" and dtype_name(a.type) == "string" for a in proto.attr.values())


def _is_idle(user: Any, name: str, given: Mapping[Ref, Any], dropped: set[str]) -> bool:
    """Whether a node does not need another one after all."""
    if user.name in dropped:
        return True
    return name not in user.controls and all(ref in given for ref in user.inputs if ref.node == name)


# ---- what is not known -----------------------------------------------------------------------------------------------


class Library:
    """The functions of a file.

    Attributes
    ----------
    with_gradient : callable, optional
        ``with_gradient(region, item, name, inputs)`` makes a node that passes its inputs on, with the gradient that the
        file has under a name. By default that is one that the program has registered.
    """

    with_gradient: Any = None

    def __init__(self, message: GraphDef) -> None:
        self._protos = {f.signature.name: f for f in message.library.function}
        self._known: dict[str, Any] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._protos

    def __call__(self, name: str) -> tuple[Definition, list[Ref], list[str]]:
        """The definition of a function, what it returns, and what runs in any case."""
        if name not in self._protos:
            raise InvalidArgumentError(f"the function {name!r} is not in the library")
        if name not in self._known:
            proto = self._protos[name]
            body, results = of_function(proto, self._output_index)
            controls = [n for n in proto.control_ret.values() if n in body.items]
            self._known[name] = body, results, list(dict.fromkeys(controls))
        return self._known[name]

    def _output_index(self, proto: NodeDef, output: str, index: int) -> int:
        """The number of a node's output that has a name; several values of one name are counted from 0."""
        if proto.op in self._protos:
            names: Sequence[str] = [arg.name for arg in self._protos[proto.op].signature.output_arg]
        else:
            names = output_names(proto.op)
        if names and output not in names:
            raise InvalidArgumentError(f"the node {proto.name!r} ({proto.op}) has no output {output!r}")
        return names.index(output) + index if names else index


_STANDING = frozenset({"resource", "variant", "string"})


def _require_known(definition: Definition, library: Library) -> None:
    """Raise UnimplementedError, with all that is missing, unless every op has a row."""
    listed = missing_ops(definition, library)
    if listed:
        raise UnimplementedError(
            f"the graph has ops that are not known here: {listed}. Nothing was imported. If they are not needed, take "
            f"the part of the graph that is, by tf.graph_util.extract_sub_graph(graph_def, [names of outputs]), and "
            f"replace what comes from them by `input_map`"
        )


def missing_ops(definition: Definition, library: Library) -> str:
    """The ops without a row, of a definition and of the functions that it calls, with numbers and examples."""
    missing: Counter[str] = Counter()
    examples: dict[str, str] = {}
    seen: set[str] = set()
    left = [definition]
    while left:
        for item in left.pop().items.values():
            what = _lack(item.proto, library)
            if what is not None:
                missing[what] += 1
                examples.setdefault(what, item.name)
            for function in _called(item.proto):
                if function in library and function not in seen:
                    seen.add(function)
                    left.append(library(function)[0])
    return ", ".join(f"{what} ({n} x, {examples[what]!r})" for what, n in sorted(missing.items()))


def _called(proto: NodeDef) -> list[str]:
    """The functions that a node calls."""
    attributes = [a for a in proto.attr.values() if a.WhichOneof("value") == "func"]
    return [proto.op, *[a.func.name for a in attributes]]


def _lack(proto: NodeDef, library: Library) -> str | None:
    """The thing that is missing for a node, if any."""
    if proto.op in PARTS:
        return None
    if proto.op not in ROWS and proto.op not in library and own_row(proto.op, "params" in proto.attr) is None:
        return proto.op
    for attribute in proto.attr.values():
        kinds = attribute.list.type if attribute.WhichOneof("value") == "list" else ()
        for number in [attribute.type] if attribute.WhichOneof("value") == "type" else kinds:
            name = dtype_name(number)
            if name not in _STANDING:
                try:
                    numpy_dtype(number)
                except UnimplementedError:
                    return f"{proto.op} of {name}"
    for function in _called(proto)[1:]:
        if function not in library:
            return f"the function {function!r}"
    return None
