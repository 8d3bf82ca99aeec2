"""``tf.saved_model.load``: objects with their variables, and functions that run as programs."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from dualgrad.files import checkpoints, limits
from dualgrad.files.bundle import Stored
from dualgrad.files.graph_protos import MetaGraphDef, SavedModel
from dualgrad.files.object_graph import object_graph
from dualgrad.files.object_protos import FunctionSpec, SavedObject, SavedObjectGraph
from dualgrad.files.protos import TrackableObject, TrackableObjectGraph
from dualgrad.files.tensors import dtype_name
from dualgrad.graph_functions.reading import Functions, Pull
from dualgrad.graph_functions.saved_models import meta_graph
from engine.core.aval import compatible
from engine.core.detach import effect
from engine.core.dtypes import as_dtype
from engine.core.eager import EagerTensor
from engine.runtime.errors import DataLossError, InvalidArgumentError, NotFoundError, UnimplementedError
from tape_api.saved_model.functions import Restored, RestoredConcreteFunction, RestoredFunction
from tape_api.saved_model.structures import NotRead, decoded
from tape_api.variable import Variable

_LISTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "trackable_list_wrapper": lambda parts: [parts[k] for k in sorted(parts, key=_place)],
    "trackable_tuple_wrapper": lambda parts: tuple([parts[k] for k in sorted(parts, key=_place)]),
    "trackable_dict_wrapper": dict,
}
"""How objects that are containers are made of what they hold, by what files call them."""


def _text(x: Any) -> Any:
    """A string constant, the path of a file, as text; anything else as it is."""
    if isinstance(x, np.ndarray) and x.dtype == object and not x.ndim and isinstance(x.item(), bytes):
        return x.item().decode(errors="replace")
    return x


def _place(name: str) -> tuple[int, str]:
    return (int(name), name) if name.isdigit() else (len(name), name)


class Loaded:
    """An object of a SavedModel: what it held has the names that it had."""

    def _trackable_children(self) -> None:
        """Marks it as an object that may be part of others, and be saved."""


class LoadedCallable(Loaded):
    """An object of a SavedModel that can be called."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call what was its ``__call__``."""
        return vars(self)["__call__"](*args, **kwargs)


def load(export_dir: Any, tags: Any = None, options: Any = None) -> Any:
    """Load what `save`, or TensorFlow's or Keras's, has written.

    The object's variables are restored; its functions run, and tapes differentiate them, as if they had been written
    here. A function that has ops that are not known here raises when it is called.

    Parameters
    ----------
    export_dir : str or path
    tags : str or list of str, optional
        Which of the model's graphs; by default the only one.
    options
        Accepted for compatibility.

    Returns
    -------
    object
        With what the saved object held, by name, and ``signatures``, a mapping from names to functions.

    Raises
    ------
    NotFoundError
        If there is no such model, or no variables with it.
    RuntimeError, ValueError
        If none of its graphs has the tags, or it must be said which one.
    UnimplementedError
        If it is a model of TensorFlow 1, which is a graph: ``graph_api`` loads it.
    DataLossError
        If it is damaged.

    Examples
    --------
    >>> import os, tempfile
    >>> import tape_api as tf
    >>> class Line(tf.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.w = tf.Variable(2.0, name="w")
    ...     @tf.function(input_signature=[tf.TensorSpec([None], name="x")])
    ...     def __call__(self, x):
    ...         return self.w * x
    >>> folder = os.path.join(tempfile.mkdtemp(), "line")
    >>> tf.saved_model.save(Line(), folder)
    >>> line = tf.saved_model.load(folder)
    >>> with tf.GradientTape() as tape:
    ...     loss = tf.reduce_sum(line([1.0, 3.0]))
    >>> loss.numpy(), tape.gradient(loss, line.w).numpy()
    (np.float32(8.0), np.float32(4.0))
    >>> line.signatures["serving_default"](x=[1.0])["output_0"].numpy()
    array([2.], dtype=float32)
    """
    effect("it reads or writes a file")
    folder = os.fspath(export_dir)
    with limits.damage(folder, InvalidArgumentError, NotFoundError, RuntimeError):
        model, meta = meta_graph(folder, tags)
    graph = meta.object_graph_def
    if not graph.nodes:
        raise UnimplementedError(
            f"saved_model.load: {folder} is a model of TensorFlow 1, a graph without objects: use graph_api, "
            f"tf.saved_model.loader.load(sess, {sorted(meta.meta_info_def.tags)}, folder)"
        )
    with limits.damage(folder, InvalidArgumentError, NotFoundError):
        return _Objects(folder, model, meta, graph).root()


class _Objects:
    """The objects of a model, made in the order of their numbers.

    Parameters
    ----------
    folder : str
    model : SavedModel
    meta : MetaGraphDef
    graph : SavedObjectGraph
    """

    def __init__(self, folder: str, model: SavedModel, meta: MetaGraphDef, graph: SavedObjectGraph) -> None:
        self._folder, self._meta, self._graph = folder, meta, graph
        self._functions = Functions(meta.graph_def, _pulls(meta, graph))
        for node in graph.nodes:
            if not all(0 <= edge.node_id < len(graph.nodes) for edge in node.children):
                raise DataLossError("the graph of objects has an edge to an object that there is not")
        self._objects: list[Any] = [None] * len(graph.nodes)
        self._restored = Restored(folder, self._functions, self._objects)
        self._concrete: dict[str, RestoredConcreteFunction] = {}
        self._values = _values(folder, graph)

    def root(self) -> Any:
        """The object itself, with all that it holds."""
        kinds = [node.WhichOneof("kind") for node in self._graph.nodes]
        # functions are made last: they know variables by their numbers
        late = ("function", "bare_concrete_function")
        for number, node in enumerate(self._graph.nodes):
            if kinds[number] not in late:
                self._objects[number] = self._made(number, node, kinds[number])
        for number, node in enumerate(self._graph.nodes):
            if kinds[number] in late:
                self._objects[number] = self._function(node)
        self._hold()
        root = self._objects[0]
        if isinstance(root, Loaded) and not isinstance(vars(root).get("signatures"), MappingProxyType):
            root.signatures = MappingProxyType({})  # type: ignore[attr-defined]
        return root

    def _made(self, number: int, node: SavedObject, kind: str | None) -> Any:
        if kind == "variable":
            return self._variable(number, node.variable)
        if kind == "constant":
            return self._functions.constant(node.constant.operation)
        if kind == "asset":
            return self._asset(node.asset.asset_file_def_index)
        if kind in ("resource", "captured_tensor"):
            return NotRead("hash table or another resource" if kind == "resource" else "tensor of another function")
        if node.user_object.identifier in (*_LISTS, "signature_map"):
            return None
        named = any(edge.local_name == "__call__" for edge in node.children)
        return LoadedCallable() if named else Loaded()

    def _variable(self, number: int, proto: Any) -> Variable:
        name, dtype = proto.name or f"object {number}", as_dtype(dtype_name(proto.dtype))
        dims = None if proto.shape.unknown_rank else tuple([None if d.size < 0 else d.size for d in proto.shape.dim])
        value = self._values.get(number)
        if value is None:
            raise NotFoundError(f"{self._folder}: the checkpoint has no value for the variable {name!r}")
        if not compatible(dims, value.shape) or as_dtype(value.dtype) is not dtype:
            raise DataLossError(f"the variable {name!r} is {dtype.name}{dims}, its value {value.dtype}{value.shape}")
        initial = EagerTensor(value.array()) if isinstance(value, Stored) else value
        return Variable(initial, trainable=proto.trainable, name=name, dtype=dtype, shape=dims)

    def _asset(self, index: int) -> np.ndarray:
        """The path of a file that came with the model, which must lie in its folder."""
        if not 0 <= index < len(self._meta.asset_file_def):
            raise DataLossError(f"the asset {index} is not there")
        name = self._meta.asset_file_def[index].filename
        if Path(name).name != name or name in ("", ".", ".."):
            raise DataLossError(f"an asset has the name {name!r}, which is no name of a file in the folder")
        return np.array(os.path.join(self._folder, "assets", name).encode(), object)

    # ---- functions ---------------------------------------------------------------------------------------------------

    def _function(self, node: SavedObject) -> Any:
        if node.WhichOneof("kind") == "bare_concrete_function":
            bare = node.bare_concrete_function
            positional = bare.allowed_positional_arguments
            return self._concrete_function(bare.concrete_function_name).named(bare.argument_keywords, positional)
        names = node.function.concrete_functions
        return RestoredFunction(
            names[0].removeprefix("__inference_").rpartition("_")[0] if names else "function",
            _parameters(node.function.function_spec),
            [self._concrete_function(name) for name in names],
        )

    def _concrete_function(self, name: str) -> RestoredConcreteFunction:
        if name in self._concrete:
            return self._concrete[name]
        if name not in self._graph.concrete_functions or name not in self._functions:
            raise DataLossError(f"an object is the function {name!r}, which is not in the file")
        proto = self._graph.concrete_functions[name]
        if not all(0 <= number < len(self._objects) for number in proto.bound_inputs):
            raise DataLossError(f"the function {name!r} captures an object that there is not")
        signature = decoded(proto.canonicalized_input_signature)
        shape = [type(part) for part in signature] if isinstance(signature, tuple) else []
        if shape not in ([tuple, dict], [list, dict]):
            raise DataLossError(f"the function {name!r} takes {signature!r}, not arguments by place and by name")
        made = RestoredConcreteFunction(
            self._restored, name, signature, decoded(proto.output_signature), proto.bound_inputs
        )
        self._concrete[name] = made
        return made

    # ---- what holds what ---------------------------------------------------------------------------------------------

    def _hold(self) -> None:
        """Give objects what they hold; containers are made of it, those inside of others first."""
        pending: set[int] = set()

        def part(number: int) -> Any:
            node = self._graph.nodes[number]
            kind = node.user_object.identifier if node.WhichOneof("kind") == "user_object" else ""
            if self._objects[number] is not None or kind not in (*_LISTS, "signature_map"):
                return _text(self._objects[number])
            if number in pending:
                raise DataLossError("a list holds itself")
            pending.add(number)
            parts = {edge.local_name: part(edge.node_id) for edge in node.children}
            if kind == "signature_map":
                functions = {k: v for k, v in parts.items() if isinstance(v, RestoredConcreteFunction)}
                self._objects[number] = MappingProxyType(functions)
            else:
                self._objects[number] = _LISTS[kind](parts)
            pending.discard(number)
            return self._objects[number]

        for number, node in enumerate(self._graph.nodes):
            held = part(number)
            if isinstance(held, Loaded):
                vars(held).update({edge.local_name: part(edge.node_id) for edge in node.children})


def _pulls(meta: MetaGraphDef, graph: SavedObjectGraph) -> dict[str, Pull]:
    """The gradients of the program's own, whose functions take tensors of those that they differentiate."""
    pulls = {}
    for entry in meta.graph_def.library.registered_gradients:
        if entry.gradient_func not in graph.concrete_functions:
            continue
        saved = graph.concrete_functions[entry.gradient_func]
        bound = [graph.nodes[i] for i in saved.bound_inputs if 0 <= i < len(graph.nodes)]
        results = decoded(saved.output_signature)
        results = results if isinstance(results, (list, tuple)) else [results]
        if all(node.WhichOneof("kind") == "captured_tensor" for node in bound):
            captured = [node.captured_tensor.name for node in bound]
            given = [i for i, x in enumerate(results) if x is not None]
            pulls[entry.registered_op_type] = Pull(entry.gradient_func, captured, given)
    return pulls


def _values(folder: str, graph: SavedObjectGraph) -> dict[int, np.ndarray | Stored]:
    """The values of variables by the number of the object, as the checkpoint has them for the same paths."""
    if not any(node.WhichOneof("kind") == "variable" for node in graph.nodes):
        return {}
    prefix = os.path.join(folder, "variables", "variables")
    if not checkpoints.exists(prefix):
        raise NotFoundError(f"the variables of the saved model are missing: {prefix}")
    reader = checkpoints.CheckpointReader(prefix)
    saved = object_graph(reader)
    if saved is None:
        raise DataLossError(f"{prefix} is no checkpoint of objects")
    values: dict[int, np.ndarray | Stored] = {}
    for number, key in _keys(graph, saved).items():
        values[number] = reader.stored(key)
    return values


def _keys(graph: SavedObjectGraph, saved: TrackableObjectGraph) -> dict[int, str]:
    """The checkpoint's keys of variables, which both graphs reach by the same names, or by the same slots."""
    pairs, left, keys = {0: 0}, [(0, 0)], {}
    while left:
        number, other = left.pop()
        node: SavedObject = graph.nodes[number]
        twin: TrackableObject = saved.nodes[other]
        if node.WhichOneof("kind") == "variable" and twin.attributes:
            keys[number] = twin.attributes[0].checkpoint_key
        by_name = {edge.local_name: edge.node_id for edge in twin.children}
        reached = [(edge.node_id, by_name.get(edge.local_name, -1)) for edge in node.children]
        by_slot = {(s.original_variable_node_id, s.slot_name): s.slot_variable_node_id for s in twin.slot_variables}
        for slot in node.slot_variables:
            original = pairs.get(slot.original_variable_node_id, -1)
            reached.append((slot.slot_variable_node_id, by_slot.get((original, slot.slot_name), -1)))
        for child, matching in reached:
            is_there = 0 <= child < len(graph.nodes) and 0 <= matching < len(saved.nodes)
            if is_there and child not in pairs:
                pairs[child] = matching
                left.append((child, matching))
    return keys


def _parameters(spec: FunctionSpec) -> inspect.Signature:
    """The parameters of a Python function, without ``self``."""
    held = decoded(spec.fullargspec)
    held = held if isinstance(held, dict) else {}
    names: Sequence[str] = held.get("args") or []
    defaults = list(held.get("defaults") or [])
    only, given = held.get("kwonlyargs") or [], held.get("kwonlydefaults") or {}
    empty = inspect.Parameter.empty
    values = [empty] * (len(names) - len(defaults)) + defaults
    pairs = list(zip(names, values, strict=True))
    if pairs and (pairs[0][0] == "self" or spec.is_method):
        pairs = pairs[1:]
    kinds = inspect.Parameter
    parameters = [kinds(name, kinds.POSITIONAL_OR_KEYWORD, default=value) for name, value in pairs]
    if held.get("varargs"):
        parameters.append(kinds(held["varargs"], kinds.VAR_POSITIONAL))
    parameters += [kinds(name, kinds.KEYWORD_ONLY, default=given.get(name, empty)) for name in only]
    if held.get("varkw"):
        parameters.append(kinds(held["varkw"], kinds.VAR_KEYWORD))
    return inspect.Signature(parameters)


def contains_saved_model(export_dir: Any) -> bool:
    """Whether a folder holds a SavedModel."""
    return any((Path(os.fspath(export_dir)) / f"saved_model.{kind}").is_file() for kind in ("pb", "pbtxt"))
