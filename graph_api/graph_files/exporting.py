"""A graph's nodes as TensorFlow's: what `Graph.as_graph_def`, `export_meta_graph` and `Saver.save` write.

A node that TensorFlow has is written as TensorFlow has it, with constants for what are inputs there (axes, shapes); the
rows (`export_ways`) say how. One that it has not is written under a type of ours, ``Dualgrad>Type``, with its
parameters, which `import_graph_def` reads again. Choices and loops become switches and merges, as TensorFlow 1 writes
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dualgrad.files.graph_protos import AttrValue, GraphDef, ListValue, NameAttrList, NodeDef
from dualgrad.files.protos import TensorShapeProto, VersionDef
from dualgrad.files.tensors import OF_NAME, as_bytes, shape_proto, tensor_proto
from engine.core.dtypes import DType
from engine.core.op import Node
from engine.core.trace import constant, placeholder
from engine.core.variable import assign_variable, read_variable, variable_handle
from engine.ops.pool import largest_tap_op, scatter_taps_op
from engine.runtime.errors import InvalidArgumentError
from graph_api.graph_files import own_ops
from graph_api.graph_files.rows import is_handle
from graph_api.graphs.graph import no_op
from graph_api.graphs.tensor import Operation

_PRODUCER = 134
"""The version of graphs that TensorFlow 1.15 makes."""


MOST_BYTES = (1 << 31) - 1
"""How long a message may be."""
_MORE_OUTPUTS = frozenset({"AssignVariableOp", "SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits"})
"""Nodes that have not as many outputs in TensorFlow as here."""


class Other(NamedTuple):
    """The dtype of what is no number."""

    number: int


RESOURCE, VARIANT = Other(20), Other(21)
"""Handles of variables and TensorArrays, and lists of tensors."""


class Called(str):
    """The name of a function among attributes."""

    __slots__ = ()


class Shape(tuple[int | None, ...]):
    """A shape among attributes, where a tuple is a list of numbers."""

    __slots__ = ()


def attribute(value: Any) -> AttrValue:
    """A Python value as an attribute."""
    if value is None:
        return AttrValue(shape=TensorShapeProto(unknown_rank=True))
    if isinstance(value, Shape):
        return AttrValue(shape=shape_proto(value))
    if isinstance(value, bool):
        return AttrValue(b=value)
    if isinstance(value, (int, np.integer)):
        return AttrValue(i=int(value))
    if isinstance(value, float):
        return AttrValue(f=value)
    if isinstance(value, Called):
        return AttrValue(func=NameAttrList(name=str(value)))
    if isinstance(value, (str, bytes)):
        return AttrValue(s=value.encode() if isinstance(value, str) else value)
    if isinstance(value, Other):
        return AttrValue(type=value.number)
    if isinstance(value, DType):
        return AttrValue(type=OF_NAME[value.name])
    if isinstance(value, np.ndarray):
        return AttrValue(tensor=tensor_proto(value))
    return AttrValue(list=_list(value))


def _list(values: Sequence[Any]) -> ListValue:
    made = ListValue()
    for value in values:
        one = attribute(value)
        kind = one.WhichOneof("value")
        assert kind is not None
        getattr(made, kind).append(getattr(one, kind))
    return made


class Writer:
    """Writes nodes into a GraphDef.

    Attributes
    ----------
    outputs : dict of int to str
        By the identity of a value, the name of the output that it is.
    controls : list of str
        What every node without inputs that is written now waits for: the pivot of a branch.
    unneeded : set of int
        The identities of nodes that others do without.
    library : optional
        What writes branches and bodies as functions (`export_functions`), if they are to be functions.
    """

    library: Any = None

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.made = GraphDef(versions=VersionDef(producer=_PRODUCER))
        self.outputs: dict[int, str] = {}
        self.controls: list[str] = []
        self.unneeded: set[int] = set()
        self._bytes = 0  # of all constants
        self._taken = set(taken)

    def free(self, name: str) -> str:
        """A name that no node has."""
        candidate, number = name, 0
        while candidate in self._taken:
            number += 1
            candidate = f"{name}_{number}"
        self._taken.add(candidate)
        return candidate

    def node(
        self,
        name: str,
        op: str,
        inputs: Sequence[str] = (),
        controls: Iterable[str] = (),
        device: str = "",
        **attr: Any,
    ) -> str:
        """Write a node; return its name."""
        every = list(dict.fromkeys([f"^{c}" for c in controls]))
        if op in ("Const", "Placeholder") or not inputs:
            every += [f"^{c}" for c in self.controls if f"^{c}" not in every]
        arrays = [value for value in attr.values() if isinstance(value, np.ndarray)]
        self._bytes += sum([sum(map(len, as_bytes(a))) if a.dtype.kind in "OSU" else a.nbytes for a in arrays])
        if self._bytes > MOST_BYTES:
            raise InvalidArgumentError(
                f"GraphDef cannot be larger than 2GB: with node {name!r}, a {op} of shape {arrays[0].shape}, it has "
                f"{self._bytes} bytes; let a variable hold the values, or feed them"
            )
        made = NodeDef(name=name, op=op, input=[*inputs, *every], device=device)
        for key, value in attr.items():
            made.attr[key] = attribute(value)
        self.made.node.append(made)
        return name

    def const(self, near: str, value: Any, dtype: Any = None) -> str:
        """Write a constant beside a node."""
        array = np.asarray(value, dtype)
        return self.node(self.free(near), "Const", dtype=_dtype(array), value=array)

    def name_of(self, x: Any) -> str:
        """The name of the output that a value is; of an assignment's result, that of what is assigned."""
        while x.node.op is assign_variable:
            x = x.node.inputs[1]
        return self.outputs[id(x)]


def _dtype(array: np.ndarray) -> DType:
    from engine.core.dtypes import as_dtype, string

    return string if array.dtype.kind in "OSU" else as_dtype(array.dtype)


class Own(Exception):
    """Raised by a way whose op is not TensorFlow's for such parameters: it is written as an op of ours."""


class Source:
    """A node to be written: what a row is given.

    Attributes
    ----------
    writer : Writer
    node : Node
    name : str
        What it is to be called.
    inputs : list of str
    controls : list of str
    """

    def __init__(self, writer: Writer, node: Node, name: str, inputs: list[str], controls: list[str]) -> None:
        self.writer, self.node, self.name, self.inputs, self.controls = writer, node, name, inputs, controls

    @property
    def device(self) -> str:
        """The device that was asked for."""
        return getattr(self.node, "device", "")

    def dtype(self, i: int = 0) -> DType:
        """The dtype of an operand."""
        return self.node.inputs[i].dtype

    def shape(self, i: int = 0) -> Shape:
        """The shape of an operand, as far as it is known."""
        return self.node.inputs[i].aval.shape

    def main(self, op: str, inputs: Sequence[str] | None = None, **attr: Any) -> None:
        """Write the node that has the name, and the outputs."""
        operands = self.inputs if inputs is None else inputs
        self.writer.node(self.name, op, operands, self.controls, self.device, **attr)

    def together(self, names: Sequence[str]) -> None:
        """Write the node itself: several values as outputs of one node."""
        if len(names) == 1:
            self.main("Identity", names, T=self.node.outputs[0].dtype)
        else:
            self.main("IdentityN", names, T=[o.dtype for o in self.node.outputs])

    def own(self) -> None:
        """Write it as an op of ours, which only we can read again."""
        node = self.node
        params = own_ops.encoded(node.op, node.params)
        dtypes = [x.dtype for x in node.inputs]
        more = {} if params is None else {"params": params}
        inputs = [self.writer.name_of(x) for x in node.inputs if id(x) in self.writer.outputs]
        if len(inputs) != len(node.inputs):
            more = {}
        results = [o.dtype for o in node.outputs]
        self.main(own_ops.type_of(node.op), inputs, Tin=dtypes, Tout=results, **more)

    def step(self, what: str, op: str, inputs: Sequence[str], **attr: Any) -> str:
        """Write a node that the main one needs."""
        return self.writer.node(self.writer.free(f"{self.name}/{what}"), op, inputs, **attr)

    def const(self, what: str, value: Any, dtype: Any = np.int32) -> str:
        """Write a constant that the main node needs."""
        return self.writer.const(f"{self.name}/{what}", value, dtype)

    def shape_of(self, i: int) -> str:
        """Write the shape of an operand: a constant if it is known."""
        dims = self.shape(i)
        if dims is not None and None not in dims:
            return self.const("shape", np.array(dims, np.int32))
        return self.step("shape", "Shape", [self.inputs[i]], T=self.dtype(i), out_type=_int32())


def _int32() -> DType:
    from engine.core.dtypes import int32

    return int32


WAYS: dict[int, Callable[[Source], None]] = {}
"""By the identity of an op, what writes its nodes; the rows fill it."""


# ---- whole graphs ----------------------------------------------------------------------------------------------------


def graph_def(graph: Any, from_version: int = 0, with_shapes: bool = False) -> GraphDef:
    """The operations of a graph as a message.

    Parameters
    ----------
    graph : Graph
    from_version : int
        Only what was made after the graph's `version` was this.
    with_shapes : bool
        Whether to add the shapes of all outputs (``_output_shapes``).
    """
    nodes = [node for node in graph.nodes if isinstance(node, Operation)]
    writer = Writer(node.name for node in nodes)
    writer.unneeded = only_for(nodes, largest_tap_op, scatter_taps_op)
    hidden = _of_counters(nodes)
    reads: dict[int, list[str]] = {}
    hidden |= {id(node.inputs[-1].node) for node in nodes if node.overridden}
    for number, node in enumerate(nodes):
        if id(node) in hidden:
            continue
        controls = [c.name for c in node.control_inputs if id(c) not in hidden]
        if node.op is read_variable:
            reads.setdefault(id(node.inputs[0]), []).append(node.name)
        if node.op is assign_variable:
            # what was read before is what it was before
            controls += [r for r in reads.get(id(node.inputs[0]), ()) if r not in controls]
        first = len(writer.made.node)
        write(writer, node, node.name, controls)
        if number < from_version:
            del writer.made.node[first:]
        elif with_shapes and node.outputs and writer.made.node[-1].op not in _MORE_OUTPUTS:
            known = [() if node.op is variable_handle else o.aval.shape for o in node.outputs]
            shapes = [None if dims is None else Shape(dims) for dims in known]
            writer.made.node[-1].attr["_output_shapes"] = AttrValue(list=_list(shapes))
    return writer.made


def only_for(nodes: Sequence[Node], op: Any, user: Any) -> set[int]:
    """The nodes of `op` that nothing takes but nodes of `user`."""
    others = {id(x.node) for node in nodes if node.op is not user for x in node.inputs}
    return {id(node) for node in nodes if node.op is op} - others


def _of_counters(nodes: Sequence[Operation]) -> set[int]:
    """The operations that only count draws of random numbers: TensorFlow does so out of sight."""
    hidden: set[int] = set()
    for node in nodes:
        counts = node.op is variable_handle and node.params["default"] is not None
        follows = any(id(x.node) in hidden for x in node.inputs) and "counter" not in node.op.args
        if counts or follows:
            hidden.add(id(node))
    return hidden


def write(writer: Writer, node: Node, name: str, controls: Sequence[str] = ()) -> None:
    """Write one node, with what it needs."""
    overridden = getattr(node, "overridden", None)
    if overridden:
        written, first = node.inputs[-1].node, len(writer.made.node)
        write(writer, written, name, controls)
        main = next(n for n in writer.made.node[first:] if n.name == name)
        main.attr["_gradient_op_type"] = attribute(overridden[1])
        for out, same in zip(node.outputs, written.outputs, strict=True):
            writer.outputs[id(out)] = writer.outputs[id(same)]
        return
    op = node.op
    for i, out in enumerate(node.outputs):
        writer.outputs[id(out)] = f"{name}:{i}" if i else name
    if op is constant:
        array = np.asarray(node.params["value"])
        writer.node(name, "Const", (), controls, dtype=_dtype(array), value=array)
    elif op is placeholder:
        shape = node.params["shape"]
        writer.node(
            name, "Placeholder", (), controls, dtype=node.params["dtype"], shape=None if shape is None else Shape(shape)
        )
    elif op is variable_handle:
        aval = node.params["aval"]
        shape = None if aval.shape is None else Shape(aval.shape)
        writer.node(name, "VarHandleOp", (), controls, dtype=aval.dtype, shape=shape, shared_name=name, container="")
    elif op is no_op:
        writer.node(name, "NoOp", (), controls)
    else:
        after = [x.node.name for x in node.inputs if x.node.op is assign_variable]
        way = WAYS.get(id(op))
        drawn = op.args.index("seed") if "counter" in op.args else None
        operands = [x for i, x in enumerate(node.inputs) if drawn is None or i not in (drawn, drawn + 1)]
        source = Source(writer, node, name, [writer.name_of(x) for x in operands], [*controls, *after])
        leads = any(node.params.get(k) for k in ("lead", "ref_lead", "like_lead"))
        try:
            if way is None or leads:
                raise Own
            way(source)
        except Own:
            source.own()


__all__ = ["Shape", "Source", "Writer", "attribute", "graph_def", "is_handle", "write"]
