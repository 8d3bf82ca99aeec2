"""Whole models in files: ``.keras`` archives of Keras 3, ``.h5`` files of older versions, and JSON."""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import tempfile
import time
import warnings
import zipfile
from collections.abc import Mapping
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from dualgrad.files import atomic, hdf5, limits
from dualgrad.keras import activations, losses
from dualgrad.keras.configs import REGISTERED, Described, deserialized, serialized
from dualgrad.keras.layers import Layer
from dualgrad.keras.models import Model
from dualgrad.keras.utils import custom_object_scope
from engine.core import nest
from engine.runtime.errors import DataLossError, InvalidArgumentError
from optim import schedules
from tape_api.files import weight_files
from tape_api.keras_host import awaiting, host
from tape_api.library import root as tf

_OURS = f"{host.package}.keras"
_VERSION = "3.5.0"  # whose layout this is
_PLACES = ["layers", "models", "initializers", "regularizers", "constraints", "optimizers", "losses", "metrics"]
_FUNCTIONS = {*losses.FUNCTIONS, *activations.KNOWN}
_ALIASES = {"alpha", "activity_regularizer"}
"""Arguments of ours that not all layers of Keras have, and that say nothing where they are None."""
_INERT = {
    *("vocabulary_size", "oov_method", "renorm_momentum", "shared_object_id", "dtype_policy", "unroll", "input_length"),
    *("implementation", "jit_compile", "query_shape", "key_shape", "value_shape"),
}
"""Arguments that change nothing, whatever they are."""
_LITERALS: dict[str, Any] = {"__slice__": slice, "__ellipsis__": lambda: ..., "__numpy__": np.asarray}


def save_model(model: Any, filepath: Any, overwrite: bool = True, include_optimizer: bool = True, **more: Any) -> None:
    """Save a model: its configuration, weights, losses and metrics, and the state of its optimizer.

    Parameters
    ----------
    filepath : str or path
        Ending in ``.keras`` (Keras 3), or ``.h5`` or ``.hdf5`` (older versions); Keras reads it.
    overwrite : bool
        Whether a file of that name may be replaced.
    include_optimizer : bool
        Whether what `compile` was given is saved too.

    Raises
    ------
    ValueError
        If the name has another ending.
    FileExistsError
        If there is one that may not be replaced.
    NotImplementedError
        If the model cannot be described: it has a `call` of its own and no `get_config`, or ops between layers.
    """
    path = os.fspath(filepath)
    kind = Path(path).suffix
    if kind not in (".keras", ".h5", ".hdf5") or more:
        raise ValueError(
            f"save: a name that ends in .keras or .h5 is needed, got {path!r}{f' and {sorted(more)}' if more else ''}. "
            f"A SavedModel, a folder, is what model.export(folder) writes"
        )
    if not overwrite and os.path.exists(path):
        raise FileExistsError(f"{path} exists already: give overwrite=True to replace it")
    config = _foreign(serialized(model))
    compiled = _compiled(model) if include_optimizer else None
    if kind != ".keras":
        with atomic.writing(path) as file, hdf5.module(path).File(file, "w") as made:
            _fill_older(made, model, config, compiled)
        return
    if compiled is not None:
        config["compile_config"] = compiled
    if model._built_for is not None:
        shapes = nest.map_structure(lambda x: list(x.shape or ()), model._built_for)
        config["build_config"] = {"input_shape": shapes}
    with atomic.writing(path) as file, zipfile.ZipFile(file, "w") as archive:
        now = datetime.now().strftime("%Y-%m-%d@%H:%M:%S")
        archive.writestr("metadata.json", json.dumps({"keras_version": _VERSION, "date_saved": now}))
        archive.writestr("config.json", _text(config))
        with tempfile.TemporaryFile(dir=os.path.dirname(path) or ".") as weights:
            with hdf5.module(path).File(weights, "w") as made:
                weight_files.fill_weights(made, model)
            member = zipfile.ZipInfo("model.weights.h5", time.localtime()[:6])
            member.external_attr, member.file_size = 0o600 << 16, weights.seek(0, os.SEEK_END)
            weights.seek(0)
            with archive.open(member, "w") as into:
                shutil.copyfileobj(weights, into, 1 << 20)


def _fill_older(file: Any, model: Any, config: Any, compiled: Any) -> None:
    file.attrs["keras_version"], file.attrs["backend"] = _VERSION, "tensorflow"
    file.attrs["model_config"] = _text({key: config[key] for key in ("class_name", "config")})
    if compiled is not None:
        optimizer = compiled.pop("optimizer")
        file.attrs["training_config"] = _text({**compiled, "optimizer_config": optimizer})
        weight_files.fill_older_optimizer(file, model)
    weight_files.fill_older(file.create_group("model_weights"), model)


def load_model(
    host: Any,
    filepath: Any,
    custom_objects: Mapping[str, Any] | None = None,
    compile: bool = True,
    safe_mode: bool = True,
    **more: Any,
) -> Any:
    """The model that `save_model` or Keras has saved.

    Parameters
    ----------
    filepath : str or path
    custom_objects : dict, optional
        Classes and functions of the program, by their names.
    compile : bool
        Whether to compile it as it was, with the state of the optimizer if the file has it.
    safe_mode : bool
        Whether a `Lambda` layer whose function is bytecode is refused. It is refused in any case: bytecode is not run.

    Raises
    ------
    ValueError
        If there is no such file, or it has a class or argument that is neither ours, nor registered, nor in
        `custom_objects`.
    DataLossError
        If the file is damaged, larger than its limit (`DUALGRAD_READ_LIMIT`), or describes no model; a ValueError.
    """
    unknown = sorted(set(more) - {"options"})
    if unknown:
        raise TypeError(f"load_model: unknown arguments {unknown}")
    path = os.fspath(filepath)
    if os.path.isdir(path):
        raise ValueError(
            f"File format not supported: filepath={path}. load_model reads .keras and .h5 files, as Keras 3 does. Of a "
            f"SavedModel, a folder, tf.saved_model.load makes an object with its functions, and "
            f"keras.layers.TFSMLayer({path!r}, call_endpoint='serving_default') a layer"
        )
    if not os.path.isfile(path):
        raise ValueError(f"File not found: filepath={path}. Models are in files that end in .keras or .h5")
    hdf5.module(path)
    with limits.damage(path, InvalidArgumentError), limits.allowance(path):
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                config = json.loads(limits.member(archive, "config.json", path))
                weights = limits.unpacked(archive, "model.weights.h5", path)
            with hdf5.opened(path, weights) as file:
                return _made(host, path, config, config.get("compile_config"), file, custom_objects, compile)
        with hdf5.opened(path) as file:
            if "model_config" not in file.attrs:
                raise DataLossError(
                    f"{path}: the file holds weights, and no model: make the model and call load_weights"
                )
            compiled = json.loads(file.attrs.get("training_config", "null"))
            if compiled is not None:
                compiled["optimizer"] = compiled.pop("optimizer_config", None)
            return _made(host, path, json.loads(file.attrs["model_config"]), compiled, file, custom_objects, compile)


def _made(host: Any, path: str, config: Any, compiled: Any, file: Any, custom_objects: Any, compile: bool) -> Any:
    with awaiting() as awaited:
        model = model_from_config(host, config, custom_objects)
        shape = (config.get("build_config") or {}).get("input_shape")
        if not model.built and shape is not None:
            model.build(shape)
        if compile and compiled:
            with custom_object_scope(custom_objects or {}):
                try:
                    model.compile(**_arguments_of_compile(compiled))
                except (TypeError, ValueError) as error:
                    warnings.warn(f"load_model: the model is not compiled: {error}", stacklevel=4)
        known = set(map(id, weight_files.load(model, file, path)))
        for variable, draw in awaited:
            if id(variable) not in known:
                variable.assign(draw())
    return model


def model_from_config(host: Any, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
    """The model that a configuration describes, with new weights.

    Raises
    ------
    ValueError
        If it names something that is neither ours, nor registered, nor in `custom_objects`, or describes no model.
    """
    del host
    with custom_object_scope(custom_objects or {}):
        made = deserialized(_as_ours(config))
    if not isinstance(made, Model):
        raise DataLossError(f"the configuration describes {made!r}, which is no model")
    return made


def model_from_json(host: Any, json_string: str, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """The model that `to_json` describes, with new weights.

    Raises
    ------
    ValueError
        If it names something that is not here; a DataLossError if it describes no model, or one of over 4 GiB.
    """
    text, most = "model_from_json: the text", limits.most_bytes_of(len(json_string), 1 << 32)
    with limits.damage(text, InvalidArgumentError), limits.allowance(text, most):
        return model_from_config(host, json.loads(json_string), custom_objects)


def to_json(model: Any, **options: Any) -> str:
    """The model's configuration as JSON; `options` are those of `json.dumps`."""
    return _text(_foreign(serialized(model)), **options)


def _compiled(model: Any) -> dict[str, Any] | None:
    """The arguments of `compile`; None if they cannot be told."""
    if model.optimizer is None:
        return None
    losses, metrics = model._losses_of_outputs, model._compiled_metrics
    arguments = {
        "optimizer": model.optimizer,
        "loss": model.loss,
        "loss_weights": losses.loss_weights,
        "metrics": metrics._given[0] if metrics else None,
        "weighted_metrics": metrics._given[1] if metrics else None,
    }
    try:
        config: dict[str, Any] = json.loads(_text(_foreign(serialized(arguments))))
    except NotImplementedError as error:
        warnings.warn(f"save: what `compile` was given is not saved: {error}", stacklevel=3)
        return None
    return config


def _arguments_of_compile(compiled: Mapping[str, Any]) -> dict[str, Any]:
    places = {"optimizer": "keras.optimizers", "loss": "keras.losses", "loss_weights": "keras"}
    arguments = {name: compiled.get(name) for name in (*places, "metrics", "weighted_metrics")}
    return {n: deserialized(_as_ours(x, places.get(n, "keras.metrics"))) for n, x in arguments.items() if x is not None}


def _text(config: Any, **options: Any) -> str:
    def refused(x: Any) -> Any:
        if isinstance(x, np.ndarray):
            return x.tolist()
        name = getattr(x, "__name__", None)
        if name is not None and name != "<lambda>":
            return name
        raise NotImplementedError(f"{x!r} cannot be saved: it has neither a name nor a `get_config`")

    return json.dumps(config, default=refused, **options)


# ---- names of modules ------------------------------------------------------------------------------------------------


def _foreign(x: Any) -> Any:
    """A configuration with Keras's names of modules."""
    if isinstance(x, Mapping):
        config = {key: _foreign(i) for key, i in x.items() if i is not None or key not in _ALIASES}
        if set(config) == {"class_name", "config"} and hasattr(schedules, str(config["class_name"])):
            config |= {"module": "keras.optimizers.schedules", "registered_name": None}
        elif isinstance(module := config.get("module"), str) and "class_name" in config:
            is_model = module == f"{_OURS}.models" and config["class_name"] != "Functional"
            named = "keras.optimizers" if module.startswith("optim.") else module.replace(_OURS, "keras")
            named = named.removeprefix("dualgrad.")
            config["module"] = "keras" if is_model else named
            if config["class_name"] == "Functional" and module == f"{_OURS}.models":
                config["module"] = "keras.src.models.functional"
        return config
    return type(x)(map(_foreign, x)) if type(x) in (list, tuple) else x


def _as_ours(x: Any, place: str = "keras") -> Any:
    """A configuration of Keras's with our names of modules (by default in `place`), without what says nothing here."""
    if isinstance(x, list):
        return [_as_ours(i, place) for i in x]
    if not isinstance(x, Mapping):
        return x
    inner = "keras" if "config" in x else place
    config = {key: _as_ours(i, inner) for key, i in x.items() if key not in ("build_config", "compile_config")}
    if not {"class_name", "config"} <= set(config) or config["class_name"] == "__keras_tensor__":
        return config
    name = config["class_name"]
    if name in _LITERALS:
        return _LITERALS[name](*config["config"].values())
    if "ops" in str(config.get("module")).split("."):
        return Described(_operation(name, config["config"]), config)
    if name == "Sequential" and isinstance(config["config"], list):  # Keras before 2.2.3
        config["config"] = {"layers": config["config"]}
    if name in ("DTypePolicy", "Policy"):
        return config["config"]["name"]
    if name == "function" and config["config"] not in REGISTERED and config["config"] in _FUNCTIONS:
        return config["config"]
    kind = _class(str(config.get("module") or place), name)
    if kind is None:
        return config
    if not hasattr(kind, "add_loss") or name not in ("Functional", "Sequential", "Model"):
        config["config"] = _accepted(kind, config["config"])
    return Described(kind, config)


def _class(module: str, name: str) -> Any:
    """Our class for one of Keras's; None for what is not one of those that `get_config` describes."""
    parts = module.split(".")
    if not isinstance(name, str) or name in REGISTERED or parts[0] not in ("keras", "tf_keras", "tensorflow"):
        return None
    name = name.removeprefix("Custom>").replace("OptimizerV3", "Optimizer")  # Keras 2.11 calls its own so
    if name in schedules.KINDS:
        return schedules.KINDS[name]
    wanted = [p for p in parts if p in _PLACES and p != "models"] or _PLACES
    name = "Functional" if name == "Model" and wanted is _PLACES else name
    offered = (vars(import_module(f"{_OURS}.{place}")) for place in wanted)
    kinds = (module[name] for module in offered if name in module["__all__"])
    return next((kind for kind in kinds if isinstance(kind, type) and hasattr(kind, "get_config")), None)


def _operation(name: str, config: Mapping[str, Any]) -> Any:
    """The function of `keras.ops` that an op between layers stands for, with the op's own arguments."""
    word = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    if word == "get_item":
        return lambda x, key: x[tuple(key) if isinstance(key, list) else key]
    function = getattr(tf.keras.ops, word) if word in dir(tf.keras.ops) else None
    taken = () if function is None else inspect.signature(function).parameters
    given = {"multiples" if word == "tile" else k: v for k, v in config.items() if k not in ("name", "subscripts")}
    given = {key: value for key, value in given.items() if value is not None and (value or key in taken)}
    if function is None or not set(given) <= set(taken):
        shown = ", ".join(["...", *[f"{key}={value!r}" for key, value in given.items()]])
        raise InvalidArgumentError(
            f"load_model: the model has the op {name} between its layers, and keras.ops.{word}({shown}) is not here"
        )

    def called(*x: Any, **more: Any) -> Any:
        named = given | {k: v for k, v in more.items() if v is not None}
        if any(isinstance(n, int) and 8 * abs(n) > limits.most_bytes_of(0) for n in nest.flatten([x, named])):
            raise InvalidArgumentError(f"load_model: the op {name} counts further than {limits.VARIABLE} lets it")
        return function(*([config["subscripts"]] if word == "einsum" else []), *x, **named)

    return called


def _accepted(kind: Any, config: Any) -> Any:
    """The arguments of a configuration that a class of ours takes.

    Raises
    ------
    ValueError
        If another one asks for something.
    """
    if not isinstance(config, Mapping):
        return config
    taken: set[str] = set()
    layered = [*kind._signatures(), Layer.__init__] if issubclass(kind, Layer) else []
    for function in layered or [vars(k)["__init__"] for k in kind.__mro__ if "__init__" in vars(k)]:
        taken |= set(inspect.signature(function).parameters)
    taken |= {"dynamic"} & set(config if "inner_optimizer" in taken else ())
    if isinstance(config.get("fn"), str):  # Keras 2 names the functions of its own losses and metrics
        made = [getattr(place, config["fn"], None) for place in (tf.keras.metrics, tf.keras.losses)]
        alone = "fn" in inspect.signature(kind).parameters
        config = {k: (made[0] or made[1]) if k == "fn" else v for k, v in config.items() if k != "fn" or alone}
    if "learning_rate" in taken and "lr" in config:
        config = {"learning_rate" if k == "lr" else k: v for k, v in config.items()}
    strange = [k for k, v in config.items() if k not in taken and k not in _INERT and v not in (None, False, [], {})]
    if strange:
        raise InvalidArgumentError(
            f"load_model: {kind.__name__} does not take {', '.join(f'{k}={config[k]!r}' for k in strange)}"
        )
    return {k: v for k, v in config.items() if k in taken}
