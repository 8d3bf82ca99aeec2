"""Weights of models in HDF5 files, as Keras 3 (``.weights.h5``) and older versions (``.h5``) lay them out."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from dualgrad.extras.module import distinct
from dualgrad.files import atomic, checkpoints, hdf5, limits
from dualgrad.keras.layers import Layer
from dualgrad.keras.metrics import Metric
from dualgrad.keras.models import Functional, Model, Sequential
from dualgrad.keras.settings import layer_name
from engine.core.detach import effect
from engine.core.variable import Variable
from engine.runtime.errors import InvalidArgumentError, NotFoundError
from optim.loss_scaling import LossScaleOptimizer
from optim.optimizer import Optimizer
from tape_api.files import optimizer_files
from tape_api.files.checkpoint import Checkpoint
from tape_api.files.restored import NotRestored, Restored
from tape_api.files.trackable import OURS
from tape_api.in_place import held

Plan = list[tuple[Any, Any]]
_SAVED = (Layer, Metric, Optimizer)


# ---- Keras 3 ---------------------------------------------------------------------------------------------------------


def _parts(obj: Any, path: str = "", seen: set[int] | None = None) -> Iterator[tuple[str, Any, list[Any]]]:
    """The objects that hold variables of their own, each once, with its path in a file."""
    seen = set() if seen is None else seen
    if id(obj) in seen:
        return
    seen.add(id(obj))
    yield path, obj, _own(obj)
    if isinstance(obj, Optimizer):
        if isinstance(obj, LossScaleOptimizer):
            yield from _parts(obj.inner_optimizer, f"{path}inner_optimizer/", seen)
        return
    attributes = dict(vars(obj))
    if isinstance(obj, (Sequential, Functional)):
        yield from _held(obj.layers, f"{path}layers/", seen)
    elif isinstance(obj, Model):
        attributes["layers"] = obj.layers  # Keras comes by it among the others, in the order of the alphabet
    for name in sorted(attributes, key=lambda name: (name.startswith("_"), name)):
        value = attributes[name]
        if name in OURS or name in ("_compiled_metrics", "_loss_tracker", "_losses_of_outputs"):
            continue
        if isinstance(value, _SAVED):
            public = name.lstrip("_")
            yield from _parts(value, f"{path}{public if hasattr(type(obj), public) else name}/", seen)
        elif isinstance(value, (list, tuple, dict)):
            yield from _held(value, f"{path}{name}/", seen)


def _held(values: Any, path: str, seen: set[int]) -> Iterator[tuple[str, Any, list[Any]]]:
    """Those of a list, which are named after their classes."""
    count: dict[str, int] = {}
    for value in values.values() if isinstance(values, Mapping) else values:
        is_list = isinstance(value, (list, tuple, dict))
        if not is_list and not isinstance(value, _SAVED):
            continue
        name = "container" if is_list else layer_name(type(value).__name__)
        number = count[name] = count.get(name, -1) + 1
        below = f"{path}{name}_{number}/" if number else f"{path}{name}/"
        yield from (_held if is_list else _parts)(value, below, seen)


def _own(obj: Any) -> list[Any]:
    if isinstance(obj, Optimizer):
        return optimizer_files.kept(obj)
    values = [*getattr(obj, "_added", ()), *vars(obj).values(), *getattr(obj, "_state", ())]
    variables: list[Any] = distinct(x for x in values if isinstance(x, Variable))
    return sorted(variables, key=lambda v: not v.trainable)


def fill_weights(file: Any, model: Any) -> None:
    """Write a model's weights, and the state of its optimizer, into an open file."""
    _complete(model)
    for path, obj, variables in _parts(model):
        group = file.create_group(f"{path}vars")
        if getattr(obj, "name", None):
            group.attrs["name"] = obj.name
        of = optimizer_files.arrays(obj, "inner_" in path) if isinstance(obj, Optimizer) else map(held, variables)
        for i, array in enumerate(of):
            group[str(i)] = array


def _complete(model: Any) -> Any:
    """The optimizer of a model if it has made something, with what it keeps for variables without gradients too."""
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None or not _own(optimizer):
        return None
    if hasattr(optimizer, "build"):
        optimizer.build(model.trainable_variables)
    return optimizer


def _planned(file: Any, model: Any, skip_mismatch: bool) -> Plan:
    plan: Plan = []
    older = "_layer_checkpoint_dependencies" in file  # Keras 3.0
    for path, obj, variables in _parts(model):
        place = f"{path}vars"
        group = file.get(place.replace("layers/", "_layer_checkpoint_dependencies/") if older else place)
        if group is None:  # Keras before 3.7 has another name for it
            group = file.get(re.sub(r"([^/]+/vars)$", r"_\1", place))
        stored = [] if group is None else [group[str(i)] for i in range(len(group))]
        if isinstance(obj, Optimizer):
            plan += optimizer_files.planned(obj, stored) if stored else []
            continue
        if isinstance(obj, Metric) and len(stored) != len(variables):
            continue
        what = f"{type(obj).__name__} {getattr(obj, 'name', '')!r} ({place})"
        plan += _matched(what, variables, stored, skip_mismatch)
    return plan


def _matched(what: str, variables: Sequence[Any], stored: Sequence[Any], skip_mismatch: bool) -> Plan:
    """Pairs of variables and what they are to hold.

    Raises
    ------
    ValueError
        If there are not as many, or a shape differs.
    """
    wanted, shapes = [tuple(v.shape) for v in variables], [getattr(a, "shape", None) for a in stored]
    if wanted == shapes:
        return list(zip(variables, map(hdf5.numbers, stored), strict=True))
    message = f"load_weights: {what} has variables of shapes {wanted}, the file has {shapes}"
    if not skip_mismatch:
        raise InvalidArgumentError(f"{message}. Is the model built, and is it the one that was saved?")
    warnings.warn(f"{message}: they are left as they are", stacklevel=4)
    return []


class _Shards:
    """The groups of a file that Keras has cut in several, which a ``.weights.json`` lists."""

    def __init__(self, path: str, stack: ExitStack) -> None:
        with open(path, encoding="utf-8") as file:
            listed = json.load(file)["weight_map"]
        self._names = {
            place.lstrip("/"): [names] if isinstance(names, str) else names for place, names in listed.items()
        }
        self._files: dict[str, Any] = {}
        for name in sorted({name for names in self._names.values() for name in names}):
            if os.path.basename(name) != name:
                raise ValueError(f"{name!r} is no name of a file beside this one")
            self._files[name] = stack.enter_context(hdf5.opened(os.path.join(os.path.dirname(path), name)))

    def __contains__(self, place: str) -> bool:
        return place in self._names

    def get(self, place: str) -> dict[str, Any] | None:
        """The arrays of a group by their numbers; None if there is none."""
        groups = [self._files[name].get(place) for name in self._names.get(place, ())]
        return {key: group[key] for group in groups if group is not None for key in group} or None


# ---- older versions --------------------------------------------------------------------------------------------------


def _of_layer(layer: Any) -> list[Any]:
    return [*layer.trainable_weights, *layer.non_trainable_weights]


def fill_older(group: Any, model: Any) -> None:
    """Write a model's weights into a group as Keras 2 does: by the names of the layers."""
    group.attrs["layer_names"] = [layer.name.encode() for layer in model.layers]
    for layer in model.layers:
        names = [f"{i}/{v.name}" for i, v in enumerate(_of_layer(layer))]  # two cells may have one name
        below = group.create_group(layer.name)
        below.attrs["weight_names"] = [name.encode() for name in names]
        for name, variable in zip(names, _of_layer(layer), strict=True):
            below[name] = held(variable)


def fill_older_optimizer(file: Any, model: Any) -> None:
    """Write the state of a model's optimizer into a file.

    Not where older versions have it: Keras 3 finds it there, and then refuses to train the model, as its own.
    """
    optimizer = _complete(model)
    if optimizer is None:
        return
    group = file.create_group("optimizer_state")
    arrays = {f"{optimizer.get_name()}/{i}": array for i, array in enumerate(optimizer_files.arrays(optimizer))}
    group.attrs["weight_names"] = [name.encode() for name in arrays]
    for name, array in arrays.items():
        group[name] = array


def _planned_older_optimizer(group: Any, model: Any) -> Plan:
    optimizer = getattr(model, "optimizer", None)
    if group is None or optimizer is None or not hasattr(optimizer, "build"):
        return []
    optimizer.build(model.trainable_variables)
    names = list(map(_text, group.attrs["weight_names"]))
    if names and names[0].endswith("/iter:0"):  # Keras before 2.11: all first moments, then all second ones
        group_of = {f"{slot}:0": i for i, slots in enumerate(optimizer.slot_groups) for slot in slots}
        owners = [name.rpartition("/")[0] for name in names]
        place = {n: (group_of.get(slot, 0), owners.index(of)) for n in names for of, _, slot in [n.rpartition("/")]}
        names = names[:1] + sorted(names[1:], key=lambda n: (n.endswith("/momentum_cache:0"), place[n]))
    return optimizer_files.planned(optimizer, [group[name] for name in names])


def planned_older(group: Any, model: Any, by_name: bool = False, skip_mismatch: bool = False) -> Plan:
    """The plan that such a group gives for the weights of a model."""
    stored = {}
    for name in map(_text, group.attrs["layer_names"]):
        below = group[name]
        stored[name] = [below[_text(w)] for w in below.attrs["weight_names"]]
    if by_name:
        pairs = [(layer, stored[layer.name]) for layer in model.layers if layer.name in stored]
    else:
        layers, weights = [x for x in model.layers if x.weights], [w for w in stored.values() if w]
        if len(layers) != len(weights):
            raise InvalidArgumentError(
                f"load_weights: the model has {len(layers)} layers with weights, the file {len(weights)} "
                f"({', '.join(name for name, w in stored.items() if w)})"
            )
        pairs = list(zip(layers, weights, strict=True))
    return [x for layer, w in pairs for x in _matched(f"layer {layer.name!r}", _of_layer(layer), w, skip_mismatch)]


def _text(x: Any) -> str:
    return x.decode() if isinstance(x, bytes) else str(x)


# ---- both ------------------------------------------------------------------------------------------------------------


def load(model: Any, file: Any, path: str, by_name: bool = False, skip_mismatch: bool = False) -> list[Variable]:
    """The weights of a model, set to those of an open file of either layout: all, or none if something does not fit.

    Raises
    ------
    ValueError
        If the weights are not those of this model.
    DataLossError
        If the file, whose name is `path`, is damaged.
    """
    effect("it reads or writes a file")
    with limits.damage(path, InvalidArgumentError):
        group = file.get("model_weights", file)
        if "layer_names" in group.attrs:
            plan = planned_older(group, model, by_name, skip_mismatch)
            plan += _planned_older_optimizer(file.get("optimizer_state", file.get("optimizer_weights")), model)
        else:
            optimizer = getattr(model, "optimizer", None)
            if optimizer is not None and len(file.get("optimizer/vars", ())) and hasattr(optimizer, "build"):
                optimizer.build(model.trainable_variables)
            plan = _planned(file, model, skip_mismatch)
    return _set(model, plan)


def _set(model: Any, plan: Plan) -> list[Variable]:
    variables = [v for v, _ in plan]
    model.host.set_values(variables, [a for _, a in plan])
    return variables


def save_weights(model: Any, filepath: Any, overwrite: bool = True, save_format: str | None = None) -> None:
    """Save a model's weights: as HDF5 if the name ends in ``.h5``, else as a checkpoint, the newest of its folder.

    Parameters
    ----------
    filepath : str or path
    overwrite : bool
        Whether a file of that name may be replaced.
    save_format : {"h5", "tf"}, optional
        By default what the name says.

    Raises
    ------
    FileExistsError
        If there is one that may not.
    NotImplementedError
        If the file is to be HDF5, and h5py is not there.
    """
    path = os.fspath(filepath)
    is_hdf5 = _is_hdf5(path) if save_format is None else save_format in ("h5", "keras")
    if not overwrite and (os.path.exists(path) if is_hdf5 else checkpoints.exists(path)):
        raise FileExistsError(f"{path} exists already: give overwrite=True to replace it")
    if is_hdf5:
        effect("it reads or writes a file")
        fill = fill_weights if path.endswith(".weights.h5") else fill_older
        with atomic.writing(path) as file, hdf5.module(path).File(file, "w") as made:
            fill(made, model)
        return
    Checkpoint(model).write(path)
    checkpoints.update_state(os.path.dirname(path), path, save_relative_paths=True)


def load_weights(
    model: Any, filepath: Any, by_name: bool = False, skip_mismatch: bool = False
) -> Restored | NotRestored | None:
    """Set a model's weights to those of a file that `save_weights` or Keras wrote.

    Parameters
    ----------
    filepath : str or path
    by_name : bool
        Whether layers are found by their names (HDF5 files of Keras 2 only), not by their order.
    skip_mismatch : bool
        Whether layers whose weights have other shapes are left as they are, with a warning (HDF5 files only).

    Returns
    -------
    status
        Of a checkpoint: what `Checkpoint.restore` returns.

    Raises
    ------
    NotFoundError, FileNotFoundError
        If there is no such file.
    ValueError
        If the weights are not those of this model. No weight is changed then.
    DataLossError
        If the file is damaged, larger than its limit (`DUALGRAD_READ_LIMIT`), or has links or data in other files.
    """
    path = os.fspath(filepath)
    if path.endswith(".weights.json"):
        with limits.damage(path, InvalidArgumentError), ExitStack() as stack:
            _set(model, _planned(_Shards(path, stack), model, skip_mismatch))
        return None
    if _is_hdf5(path) or (os.path.isfile(path) and not checkpoints.exists(path)):
        with hdf5.opened(path) as file:
            load(model, file, path, by_name, skip_mismatch)
        return None
    if by_name or skip_mismatch:
        raise ValueError("load_weights: `by_name` and `skip_mismatch` are for HDF5 files; a checkpoint has no layers")
    if not checkpoints.exists(path):
        raise NotFoundError(f"Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {path}")
    return Checkpoint(model).restore(path)


def _is_hdf5(path: str) -> bool:
    return Path(path).suffix in (".h5", ".hdf5", ".keras")
