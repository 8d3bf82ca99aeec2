"""Functions of the engine's nodes, written into a file's library, and a graph that calls some of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dualgrad.files.graph_protos import GraphDef, MetaGraphDef, TensorInfo
from dualgrad.files.tensors import OF_NAME, shape_proto
from engine.core.op import Node
from engine.core.variable import variable_handle
from graph_api.graph_files import export  # noqa: F401  (it fills the table of how ops are written)
from graph_api.graph_files.export_functions import Argument, FunctionLibrary, FunctionWriter, argument, kept, operands
from graph_api.graph_files.exporting import RESOURCE, Called, Shape, Writer
from graph_api.graph_files.meta_graphs import with_saving_nodes
from graph_api.graph_files.saved_models import SignatureConstants, build_signature_def


def add_function(
    library: FunctionLibrary, name: str, arguments: Sequence[tuple[str, Any]], variables: Sequence[Any],
    results: Sequence[Any], nodes: Sequence[Node],
) -> Called:  # fmt: skip
    """Write a function.

    Parameters
    ----------
    library : FunctionLibrary
    name : str
    arguments : sequence of (str, Symbol)
        What it is given, with names.
    variables : sequence of Symbol
        The handles of variables, which follow.
    results : sequence of Symbol
    nodes : sequence of Node

    Returns
    -------
    Called
        The name that it has in the file.
    """
    captured = [(f"captured_{i}", x) for i, x in enumerate(variables)]
    kinds = [*[argument(n, x) for n, x in arguments], *[Argument(n, RESOURCE, Shape(())) for n, _ in captured]]

    def build(writer: FunctionWriter, names: list[str]) -> list[str]:
        writer.outputs.update({id(x): n for n, (_, x) in zip(names, [*arguments, *captured], strict=True)})
        return writer.add(nodes, results)

    return library.define(name, kinds, [r.dtype for r in results], build)


def add_wrapper(
    library: FunctionLibrary, of: Called, arguments: Sequence[tuple[str, Any, Any]], captures: int,
    results: Sequence[Any], order: Sequence[int],
) -> Called:  # fmt: skip
    """Write a function that calls another one, and gives its results in some order.

    Parameters
    ----------
    arguments : sequence of (str, DType, shape)
    captures : int
        How many variables the other one captures.
    results : sequence of DType
        Of the other one.
    order : sequence of int
        Which of its results this one gives.
    """
    given = [Argument(name, dtype, None if dims is None else Shape(dims)) for name, dtype, dims in arguments]
    kinds = [*given, *[Argument(f"captured_{i}", RESOURCE, Shape(())) for i in range(captures)]]

    def build(writer: FunctionWriter, names: list[str]) -> list[str]:
        call = writer.node(
            writer.free("StatefulPartitionedCall"), "StatefulPartitionedCall", names, f=of,
            Tin=[a.dtype for a in kinds], Tout=list(results), config="", config_proto="", executor_type="",
        )  # fmt: skip
        writer.effects.append(call)
        return [f"{call}:{i}" for i in order]

    return library.define(f"__inference_signature_wrapper_{of}", kinds, [results[i] for i in order], build)


def handles_of(nodes: Sequence[Node], results: Sequence[Any]) -> list[Any]:
    """The handles of the variables that a function uses, but for those that count draws of random numbers."""
    used = [x for node in kept(nodes, results) for x in operands(node) if x.node.op is variable_handle]
    return list({id(x): x for x in used}.values())


class ServedGraph:
    """The graph of a model: it calls the functions that are signatures, and saves and restores variables.

    Parameters
    ----------
    meta : MetaGraphDef
        To which it is added.
    library : FunctionLibrary
    """

    def __init__(self, meta: MetaGraphDef, library: FunctionLibrary) -> None:
        self._meta, self._writer = meta, Writer()
        self._library = library
        self._handles: dict[str, tuple[str, Any]] = {}

    def variable(self, key: str, name: str, dtype: Any, shape: Any) -> str:
        """Add the handle of a variable that the checkpoint has under a key; its name."""
        plain = self._writer.free(
            "".join([c if c.isalnum() or c in "_./-" else "_" for c in name]).lstrip("_/-") or "v"
        )
        dims = None if shape is None else Shape(shape)
        handle = self._writer.node(
            plain, "VarHandleOp", dtype=dtype, shape=dims, shared_name=plain, container="", allowed_devices=[],
            debug_name="",
        )  # fmt: skip
        self._handles[key] = handle, dtype
        return handle

    def constant(self, value: Any) -> str:
        """Add a constant; its name."""
        return self._writer.const("Const", value)

    def signature(
        self, name: str, function: Called, inputs: Sequence[tuple[str, Any, Any]], captured: Sequence[str],
        outputs: Sequence[tuple[str, Any, Any]],
    ) -> None:  # fmt: skip
        """Add a signature, a call of a function.

        Parameters
        ----------
        inputs, outputs : sequence of (name, DType, shape)
        captured : sequence of str
            The names of the variables' handles.
        """
        writer = self._writer
        places = []
        for keyword, dtype, shape in inputs:
            dims = None if shape is None else Shape(shape)
            places.append(writer.node(writer.free(f"{name}_{keyword}"), "Placeholder", dtype=dtype, shape=dims))
        kinds = [*[dtype for _, dtype, _ in inputs], *[RESOURCE for _ in captured]]
        call = writer.node(
            writer.free("StatefulPartitionedCall"), "StatefulPartitionedCall", [*places, *captured], f=function,
            Tin=kinds, Tout=[dtype for _, dtype, _ in outputs], config="", config_proto="", executor_type="",
        )  # fmt: skip
        taken = {k: _info(f"{p}:0", t, s) for p, (k, t, s) in zip(places, inputs, strict=True)}
        given = {k: _info(f"{call}:{i}", t, s) for i, (k, t, s) in enumerate(outputs)}
        made = build_signature_def(taken, given, SignatureConstants.PREDICT_METHOD_NAME)
        self._meta.signature_def[name].CopyFrom(made)

    def finish(self) -> None:
        """Add the graph with its functions to the meta graph."""
        graph: GraphDef = self._meta.graph_def
        graph.CopyFrom(self._writer.made)
        graph.library.CopyFrom(self._library.made)
        with_saving_nodes(self._meta, self._handles)


def _info(name: str, dtype: Any, shape: Any) -> TensorInfo:
    return TensorInfo(name=name, dtype=OF_NAME[dtype.name], tensor_shape=shape_proto(shape))


__all__ = ["FunctionLibrary", "ServedGraph", "add_function", "add_wrapper", "handles_of"]
