"""``tf.saved_model.save``: objects, their variables and functions, in a folder that TensorFlow reads, too."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dualgrad.files import atomic, bundle
from dualgrad.files.graph_protos import MetaGraphDef, MetaInfoDef, SavedModel
from dualgrad.files.object_graph import escaped, value_key
from dualgrad.files.object_protos import (
    FunctionSpec,
    SavedBareConcreteFunction,
    SavedConcreteFunction,
    SavedFunction,
    SavedObject,
    SavedObjectGraph,
    SavedUserObject,
    SavedVariable,
)
from dualgrad.files.protos import ObjectReference, VersionDef
from dualgrad.files.tensors import OF_NAME, shape_proto
from dualgrad.graph_functions.writing import FunctionLibrary, ServedGraph, add_function, add_wrapper, handles_of
from dualgrad.keras.models import Model
from engine.core import nest
from engine.core.detach import effect
from engine.core.tape import active
from engine.core.value import Value
from engine.runtime.faces import Shown
from tape_api.files.checkpoint import tensors_of_objects
from tape_api.files.trackable import Container, children, trackable, walk
from tape_api.functions.concrete import ConcreteFunction
from tape_api.functions.function import Function, Method, function
from tape_api.keras.signatures import signature_of
from tape_api.saved_model.functions import RestoredConcreteFunction, RestoredFunction
from tape_api.saved_model.structures import encoded
from tape_api.tensor import TensorSpec
from tape_api.variable import Variable

_SIGNATURE = "serving_default"
_CONCRETE = (ConcreteFunction, RestoredConcreteFunction)
_FUNCTIONS = (Function, Method, RestoredFunction, *_CONCRETE)
_OF_KERAS = frozenset({"train_function", "test_function", "predict_function"})
"""Functions by which models are trained, which are made anew."""
_KINDS: dict[Any, str] = {
    list: "trackable_list_wrapper",
    tuple: "trackable_tuple_wrapper",
    dict: "trackable_dict_wrapper",
}
_INIT = "__saved_model_init_op"


class SaveOptions(Shown):
    """Options of `save`, accepted for compatibility."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        vars(self).update(kwargs)


class LoadOptions(SaveOptions):
    """Options of `load`, accepted for compatibility."""


class Asset:
    """Files that go with a model are not copied."""

    def __init__(self, path: Any) -> None:
        raise NotImplementedError("saved_model.Asset: files are not copied into the model; keep them beside it")


def save(obj: Any, export_dir: Any, signatures: Any = None, options: Any = None) -> None:
    """Save an object with the variables and functions that it holds, for `load`, here or in TensorFlow.

    A ``tf.function`` is saved for the arguments that its ``input_signature`` says, or that it has been called with.

    Parameters
    ----------
    obj : Module, layer, model, Checkpoint
        With variables, functions, and lists and dicts of such objects, as attributes.
    export_dir : str or path
        A folder; a model that is there is replaced.
    signatures : function, or dict of str to function, optional
        Functions with an ``input_signature``, or concrete functions, for those who know nothing of the object. By
        default the only function of the object for one kind of arguments, as ``serving_default``; of a Keras model,
        what it computes.
    options
        Accepted for compatibility.

    Raises
    ------
    ValueError
        If `obj` is no such object; if a signature is not for one kind of arguments; if a function is no program, or
        uses a variable that the object does not hold.

    Examples
    --------
    See `load`.
    """
    if active.function is not None:
        raise ValueError("saved_model.save: not inside of a tf.function: what it does would happen once")
    effect("it reads or writes a file")
    root = trackable(obj)
    if root is None or isinstance(root, (Container, Variable)):
        raise ValueError(
            f"saved_model.save: argument `obj` must be an object that holds variables (a tf.Module, a layer or model, "
            f"a tf.train.Checkpoint), got {type(obj).__name__}"
        )
    root = obj._top() if hasattr(obj, "_top") else root
    saver = _Saver(obj, root)
    meta = saver.meta_graph(_signatures(obj, signatures))
    folder = Path(os.fspath(export_dir))
    (folder / "variables").mkdir(parents=True, exist_ok=True)
    (folder / "assets").mkdir(exist_ok=True)
    bundle.write(str(folder / "variables" / "variables"), tensors_of_objects(root))
    message = SavedModel(saved_model_schema_version=1, meta_graphs=[meta])
    atomic.write(folder / "saved_model.pb", [message.SerializeToString()])
    if saver.library.unknown:
        listed = ", ".join(f"{op} (in {where})" for op, where in sorted(saver.library.unknown.items()))
        warnings.warn(
            f"saved_model.save: dualgrad can load {folder}, TensorFlow cannot, as it has no ops for {listed}",
            stacklevel=2,
        )


# ---- functions -------------------------------------------------------------------------------------------------------


def functions_of(obj: Any) -> Iterator[tuple[str, Any]]:
    """The functions that an object holds, and those that are its methods, by name."""
    if isinstance(obj, (Container, Variable)):
        return
    names = {name for kind in type(obj).__mro__ for name, value in vars(kind).items() if isinstance(value, Function)}
    held = getattr(obj, "__dict__", {})
    names |= {name for name, value in held.items() if isinstance(value, _FUNCTIONS)}
    for name in sorted(names - _OF_KERAS):
        yield name, held[name] if name in held else getattr(obj, name)


def _concrete(f: Any) -> list[Any]:
    """The concrete functions of a function: for all arguments that it is saved for."""
    if isinstance(f, _CONCRETE):
        return [f]
    if isinstance(f, RestoredFunction):
        return f.concrete_functions
    return [f.get_concrete_function(*args, **kwargs) for args, kwargs in f.calls()]


def _signatures(obj: Any, given: Any) -> dict[str, Any]:
    """The concrete functions that are signatures."""
    if given is None:
        if isinstance(obj, Model):
            return {_SIGNATURE: _serving_function(obj).get_concrete_function()}
        found = [c[0] for _, f in functions_of(obj) if len(c := _concrete(f)) == 1 and _is_signature(c[0])]
        return {_SIGNATURE: found[0]} if len(found) == 1 else {}
    if not isinstance(given, Mapping):
        given = {_SIGNATURE: given}
    made = {}
    for name, f in given.items():
        concrete = _concrete(f) if isinstance(f, _FUNCTIONS) else []
        if len(concrete) != 1 or name == _INIT:
            raise ValueError(
                f"saved_model.save: argument `signatures`: {name!r} must be a tf.function with an `input_signature`, "
                f"or a concrete function (f.get_concrete_function(tf.TensorSpec(...))), got {f!r}"
            )
        made[str(name)] = concrete[0]
    return made


def _is_signature(concrete: Any) -> bool:
    """Whether a function can be one: it gives tensors, one or a list or dict of them."""
    results = concrete.structured_outputs
    if isinstance(results, Mapping):
        results = list(results.values())
    return all(isinstance(x, TensorSpec) for x in (results if isinstance(results, (list, tuple)) else [results]))


def _serving_function(model: Any) -> Any:
    """The function that a Keras model computes."""

    def serving_default(inputs: Any) -> Any:
        return model(inputs)

    return function(serving_default, input_signature=signature_of(model))


def _arguments(concrete: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a concrete function, without the object whose method it is."""
    args, kwargs = concrete.structured_input_signature
    return (args[1:] if concrete.is_method else args), kwargs


class _Written(NamedTuple):
    """A function that has been written."""

    name: Any
    keywords: list[str]
    specs: list[TensorSpec]
    bound: list[int]
    results: list[TensorSpec]
    outputs: Any


# ---- objects ---------------------------------------------------------------------------------------------------------


class _Saver:
    """The message of an object.

    Parameters
    ----------
    obj, root : object
        The object, and what stands for it: a `Container` for a Checkpoint.

    Attributes
    ----------
    library : FunctionLibrary
        The functions that have been written.
    """

    def __init__(self, obj: Any, root: Any) -> None:
        self._obj = obj
        self._objects = list(walk(root))
        self._numbers = {id(x): i for i, (x, _) in enumerate(self._objects)}
        self._by_path = {path: i for i, (_, path) in enumerate(self._objects)}
        self.library = FunctionLibrary()
        self._graph = SavedObjectGraph()
        self._written: dict[int, tuple[Any, _Written]] = {}
        self._of_functions: dict[int, tuple[Any, int]] = {}

    def meta_graph(self, signatures: Mapping[str, Any]) -> MetaGraphDef:
        """The message, with functions by name as signatures."""
        meta = MetaGraphDef(meta_info_def=MetaInfoDef(tags=["serve"], tensorflow_version="2.21.0"))
        for obj, path in self._objects:
            self._graph.nodes.append(self._object(obj, path))
        for number, (obj, _) in enumerate(self._objects):
            owner = self._obj if number == 0 else obj
            for name, f in functions_of(owner):
                self._edge(number, self._function(name, f), name)
        served = ServedGraph(meta, self.library)
        handles = self._variables(served)
        mapping = self._add(SavedObject(user_object=_user_object("signature_map")))
        self._edge(0, mapping, "signatures")
        for name, concrete in signatures.items():
            self._signature(name, concrete, served, handles, mapping)
        served.finish()
        meta.object_graph_def.CopyFrom(self._graph)
        return meta

    def _add(self, node: SavedObject) -> int:
        self._graph.nodes.append(node)
        return len(self._graph.nodes) - 1

    def _edge(self, number: int, child: int, name: str) -> None:
        node = self._graph.nodes[number]
        if all(edge.local_name != name for edge in node.children):
            node.children.append(ObjectReference(node_id=child, local_name=name))

    def _object(self, obj: Any, path: str) -> SavedObject:
        node = SavedObject()
        for name, child in children(obj).items():
            number = self._numbers.get(id(child), self._by_path.get(f"{path}/{name}".lstrip("/")))
            if number is not None:
                node.children.append(ObjectReference(node_id=number, local_name=name))
        if isinstance(obj, Variable):
            shape = obj.aval.shape
            saved = SavedVariable(
                dtype=OF_NAME[obj.dtype.name], shape=shape_proto(shape), trainable=obj.trainable,
                name=obj.name.removesuffix(":0"),
            )  # fmt: skip
            node.variable.CopyFrom(saved)
        else:
            kind = _KINDS.get(obj.kind, "") if isinstance(obj, Container) else ""
            node.user_object.CopyFrom(_user_object(kind or "_generic_user_object"))
        return node

    def _variables(self, served: ServedGraph) -> dict[int, str]:
        """The handles in the graph of all variables, by number."""
        handles = {}
        for number, (obj, path) in enumerate(self._objects):
            if isinstance(obj, Variable):
                key = value_key("/".join(map(escaped, path.split("/"))))
                handles[number] = served.variable(key, obj.name.removesuffix(":0"), obj.dtype, obj.aval.shape)
        return handles

    # ---- functions ---------------------------------------------------------------------------------------------------

    def _function(self, name: str, f: Any) -> int:
        """The number of the node of a function; one function is one node."""
        key = id(getattr(f, "_function", f))
        if key in self._of_functions:
            return self._of_functions[key][1]
        made = [self._concrete_function(name, c) for c in _concrete(f)]
        node = SavedObject()
        if isinstance(f, _CONCRETE):
            node.bare_concrete_function.CopyFrom(_bare(made[0].name, made[0].keywords, len(made[0].keywords)))
        else:
            saved = SavedFunction(concrete_functions=[str(w.name) for w in made], function_spec=_spec(name, f))
            node.function.CopyFrom(saved)
        self._of_functions[key] = f, self._add(node)
        return self._of_functions[key][1]

    def _concrete_function(self, name: str, concrete: Any) -> _Written:
        program = concrete.program()
        if id(program) in self._written:
            return self._written[id(program)][1]
        args, kwargs = _arguments(concrete)
        specs = [x for x in nest.flatten((args, kwargs)) if isinstance(x, TensorSpec)]
        keywords = _keywords(concrete, args, kwargs)
        results = program.leaves()
        used = self._captures(name, program, results)
        if not all(isinstance(x, (Value, type(None))) for x in results) or any(
            isinstance(x, Variable) for x in results
        ):
            raise ValueError(
                f"saved_model.save: the function {name} must return tensors (of a variable, v.read_value()), and "
                f"returns {[x for x in results if not isinstance(x, Value) or isinstance(x, Variable)]}"
            )
        closed, whole = program.closed, f"__inference_{name}_{len(self._written)}"
        arguments = list(zip(keywords, closed.parameters, strict=True))
        given = [x for x in results if x is not None]
        called = add_function(self.library, whole, arguments, [x for _, x in used], given, closed.nodes)
        bound = [self._numbers[id(v)] for v, _ in used]
        outputs = program.specs()
        try:
            taken = encoded((args, kwargs))
        except TypeError as error:
            raise ValueError(
                f"saved_model.save: the function {name} cannot be saved for its arguments: {error}"
            ) from None
        self._graph.concrete_functions[str(called)] = SavedConcreteFunction(
            bound_inputs=bound, canonicalized_input_signature=taken, output_signature=encoded(outputs)
        )
        flat = [x for x in nest.flatten(outputs) if isinstance(x, TensorSpec)]
        written = _Written(called, keywords, specs, bound, flat, outputs)
        self._written[id(program)] = program, written
        return written

    def _captures(self, name: str, program: Any, results: Sequence[Any]) -> list[tuple[Variable, Any]]:
        """The variables that a function uses, with what stands for them."""
        needed, variables = handles_of(program.closed.nodes, results), program.variables()
        for x in needed:
            if id(variables[id(x)]) not in self._numbers:
                raise ValueError(
                    f"saved_model.save: the function {name} uses the variable {variables[id(x)].name!r}, which the "
                    f"object does not hold: keep it in an attribute of the object that is saved"
                )
        return [(variables[id(x)], x) for x in needed]

    def _signature(
        self, name: str, concrete: Any, served: ServedGraph, handles: Mapping[int, str], mapping: int
    ) -> None:
        if not _is_signature(concrete):
            raise ValueError(
                f"saved_model.save: the signature {name!r} must return a tensor, or a list or dict of tensors; it "
                f"returns {concrete.structured_outputs}"
            )
        written = self._concrete_function(name, concrete)
        keys, order = _named_outputs(written.outputs)
        kinds, dims = [s.dtype for s in written.specs], list(map(_dims, written.specs))
        called = add_wrapper(
            self.library, written.name, list(zip(written.keywords, kinds, dims, strict=True)), len(written.bound),
            [s.dtype for s in written.results], order,
        )  # fmt: skip
        named = {k: TensorSpec(s.shape, s.dtype, k) for k, s in zip(written.keywords, written.specs, strict=True)}
        results = {
            k: TensorSpec(written.results[i].shape, written.results[i].dtype, k)
            for k, i in zip(keys, order, strict=True)
        }
        self._graph.concrete_functions[str(called)] = SavedConcreteFunction(
            bound_inputs=written.bound, canonicalized_input_signature=encoded(((), named)),
            output_signature=encoded(results),
        )  # fmt: skip
        node = SavedObject()
        node.bare_concrete_function.CopyFrom(_bare(called, written.keywords, int(len(named) == 1)))
        self._edge(mapping, self._add(node), name)
        inputs = [(k, s.dtype, _dims(s)) for k, s in named.items()]
        outputs = [(k, s.dtype, _dims(s)) for k, s in results.items()]
        served.signature(name, called, inputs, [handles[i] for i in written.bound], outputs)


def _dims(spec: TensorSpec) -> Any:
    return spec.shape.as_tuple() if spec.shape.rank is not None else None


def _user_object(identifier: str) -> SavedUserObject:
    return SavedUserObject(identifier=identifier, version=VersionDef(producer=1, min_consumer=1))


def _bare(name: Any, keywords: Sequence[str], positional: int) -> SavedBareConcreteFunction:
    return SavedBareConcreteFunction(
        concrete_function_name=str(name), argument_keywords=list(keywords), allowed_positional_arguments=positional
    )


def _named_outputs(outputs: Any) -> tuple[list[str], list[int]]:
    """The names of a signature's results, sorted as files have them, and the places of these among the results."""
    if isinstance(outputs, Mapping):
        names = sorted(map(str, outputs))
    elif hasattr(outputs, "_fields"):
        names = list(outputs._fields)
    else:
        count = len(outputs) if isinstance(outputs, (list, tuple)) else 1
        names = [f"output_{i}" for i in range(count)]
    order = sorted(range(len(names)), key=lambda i: names[i])
    return [names[i] for i in order], order


def _keywords(concrete: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
    """Names for the tensors of a function: those of the specs, or of the parameters; each another one."""
    names = concrete.parameter_names()
    places = [*zip(names, args, strict=False), *sorted(kwargs.items())]
    taken: list[str] = []
    for parameter, value in places:
        for i, x in enumerate([x for x in nest.flatten(value) if isinstance(x, TensorSpec)]):
            first = x.name or (f"{parameter}_{i}" if i else parameter)
            plain = "".join([c if c.isalnum() or c == "_" else "_" for c in first])
            plain = plain if plain[:1].isalpha() else f"arg_{plain}"
            number, candidate = 0, plain
            while candidate in taken:
                number += 1
                candidate = f"{plain}_{number}"
            taken.append(candidate)
    return taken


def _spec(name: str, f: Any) -> FunctionSpec:
    """The parameters of a function, without ``self``."""
    if isinstance(f, RestoredFunction):
        parameters = f.parameters
    else:
        parameters = inspect.signature(f.python_function)
        if isinstance(f, Method):
            parameters = parameters.replace(parameters=list(parameters.parameters.values())[1:])
    every = list(parameters.parameters.values())
    kinds = inspect.Parameter
    plain = [p for p in every if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    only = [p for p in every if p.kind is kinds.KEYWORD_ONLY]
    defaults = tuple([p.default for p in plain if p.default is not kinds.empty])
    whole: dict[str, Any] = {
        "args": [p.name for p in plain],
        "varargs": next((p.name for p in every if p.kind is kinds.VAR_POSITIONAL), None),
        "varkw": next((p.name for p in every if p.kind is kinds.VAR_KEYWORD), None),
        "defaults": defaults or None,
        "kwonlyargs": [p.name for p in only],
        "kwonlydefaults": {p.name: p.default for p in only if p.default is not kinds.empty} or None,
        "annotations": {},
    }
    signature = getattr(f, "input_signature", None)
    try:
        spec = inspect.FullArgSpec(**whole)
        return FunctionSpec(
            fullargspec=encoded(spec), input_signature=encoded(None if signature is None else tuple(signature))
        )
    except TypeError as error:
        raise ValueError(f"saved_model.save: the function {name} cannot be saved with its defaults: {error}") from None
