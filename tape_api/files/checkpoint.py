"""``tf.train.Checkpoint``: saves objects and what they hold, and restores them by how they hold each other."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from dualgrad.files import bundle, checkpoints
from dualgrad.files.object_graph import GRAPH_KEY, VALUE, escaped, object_graph, value_key
from dualgrad.files.protos import (
    BoolValue,
    ObjectReference,
    SerializedTensor,
    SlotVariableReference,
    TrackableObject,
    TrackableObjectGraph,
)
from dualgrad.files.saver import checkpoint_name, restored_values
from engine.core.detach import effect
from engine.runtime.faces import Shown
from optim.keras_optimizer import KerasOptimizer
from optim.slots import Stateful
from tape_api.files import optimizer_files
from tape_api.files.restored import NotRestored, Restored, RestoredByNames
from tape_api.files.trackable import Container, children, trackable, walk
from tape_api.in_place import held, put
from tape_api.variable import Variable


class Checkpoint(Shown):
    """A group of objects that are saved together.

    Parameters
    ----------
    root : object, optional
        Whose own parts stand at the top.
    **kwargs
        Variables, modules, layers, models, optimizers, and lists and dicts of these, by name.

    Raises
    ------
    ValueError
        If something is none of these.

    Examples
    --------
    >>> import os, tempfile
    >>> import tape_api as tf
    >>> v = tf.Variable(1.0)
    >>> checkpoint = tf.train.Checkpoint(v=v)
    >>> path = checkpoint.save(os.path.join(tempfile.mkdtemp(), "model"))
    >>> v.assign(5.0)
    <tf.Variable 'Variable:0' shape=() dtype=float32, numpy=5.0>
    >>> checkpoint.restore(path).assert_consumed()
    <...Restored object at ...>
    >>> os.path.basename(path), v.numpy()
    ('model-1', np.float32(1.0))
    """

    def __init__(self, root: Any = None, **kwargs: Any) -> None:
        self._root = root
        self._parts: dict[str, Any] = {}
        self._save_counter: Variable | None = None
        if root is not None and trackable(root) is None:
            raise ValueError(f"`Checkpoint` was expecting `root` to be a trackable object, but got {root!r}")
        for name, value in kwargs.items():
            setattr(self, name, value)
            if trackable(value) is None and not isinstance(value, (list, tuple, dict)):
                raise ValueError(
                    f"`Checkpoint` was expecting {name} to be a trackable object (an object that holds variables), "
                    f"got {value!r}"
                )
            self._parts[name] = value

    def _trackable_children(self) -> None:
        """Marks it as an object that may be part of others."""

    @property
    def save_counter(self) -> Variable:
        """How often `save` was called; part of the checkpoint."""
        if self._save_counter is None:
            self._save_counter = Variable(np.int64(0), trainable=False, name="save_counter")
        return self._save_counter

    def _top(self) -> Container:
        parts = {} if self._root is None else dict(children(trackable(self._root)))
        for name in self._parts:
            child = trackable(getattr(self, name))
            parts[name] = Container({}) if child is None else child
        if self._save_counter is not None:
            parts["save_counter"] = self._save_counter
        return Container(parts)

    # ---- saving ------------------------------------------------------------------------------------------------------

    def write(self, file_prefix: str, options: Any = None) -> str:
        """Save without a number, and without naming it the newest; what the names of the files begin with."""
        effect("it reads or writes a file")
        path = os.fspath(file_prefix)
        bundle.write(path, tensors_of_objects(self._top()))
        return path

    def save(self, file_prefix: str, options: Any = None) -> str:
        """Save with the next number, and name it the newest of its folder.

        Returns
        -------
        str
            What the names of the files begin with, for `restore`.
        """
        number = int(self.save_counter.numpy()) + 1
        path = f"{os.fspath(file_prefix)}-{number}"
        self.save_counter.assign_add(1)
        try:
            self.write(path)
        except BaseException:
            self.save_counter.assign_sub(1)
            raise
        checkpoints.update_state(os.path.dirname(path), path, save_relative_paths=True)
        return path

    # ---- restoring ---------------------------------------------------------------------------------------------------

    def read(self, save_path: str, options: Any = None) -> Restored | NotRestored:
        """Restore what `write` saved; as `restore`."""
        return self.restore(save_path)

    def restore(self, save_path: Any, options: Any = None) -> Restored | NotRestored:
        """Set all variables that there are to what a checkpoint holds; those made later get theirs when they are made.

        Parameters
        ----------
        save_path : str or None
            As `save` returned it. For None nothing happens. One that a `Saver` wrote is read by the variables' names.

        Returns
        -------
        status
            With `assert_consumed`, `assert_existing_objects_matched`, `expect_partial`.

        Raises
        ------
        NotFoundError
            If there is no such checkpoint.
        ValueError
            If a shape or dtype differs. No variable is changed then.
        DataLossError
            If it is damaged.
        """
        effect("it reads or writes a file")
        if save_path is None:
            return NotRestored()
        path = os.fspath(save_path)
        reader = checkpoints.CheckpointReader(path)
        graph = object_graph(reader)
        if graph is None:
            return self._by_names(path)
        restored = Restored(reader, graph, self)
        if any(edge.local_name == "save_counter" for edge in graph.nodes[0].children):
            self.save_counter  # noqa: B018 - it is made, to be restored
        restored.go_on(self._top(), 0)
        return restored

    def _by_names(self, path: str) -> RestoredByNames:
        named = {checkpoint_name(x): x for x, _ in walk(self._top()) if isinstance(x, Variable)}
        named.pop("save_counter", None)
        put(list(named.values()), restored_values(path, named))
        return RestoredByNames()


def tensors_of_objects(top: Any) -> dict[str, Any]:
    """The tensors in a checkpoint of an object: the values of the variables, and the graph of objects."""
    objects = list(walk(top))
    numbers = {id(obj): i for i, (obj, _) in enumerate(objects)}
    paths = {id(obj): path for obj, path in objects}
    graph, values = TrackableObjectGraph(), {}
    calls = {id(o.iterations): optimizer_files.calls(o) for o, _ in objects if isinstance(o, KerasOptimizer)}
    for obj, _ in objects:
        node = TrackableObject(has_checkpoint_values=BoolValue(value=True))
        # containers are made anew for each question; those of the walk are found by the path to them
        for name, child in children(obj).items():
            number = numbers.get(id(child))
            if number is None:
                path = f"{paths[id(obj)]}/{name}".lstrip("/")
                number = next((i for i, (_, p) in enumerate(objects) if p == path), None)
            if number is not None:
                node.children.append(ObjectReference(node_id=number, local_name=name))
        if isinstance(obj, Variable):
            key = value_key("/".join(map(escaped, paths[id(obj)].split("/"))))
            node.attributes.append(SerializedTensor(name=VALUE, full_name=checkpoint_name(obj), checkpoint_key=key))
            values[key] = held(obj)
            counted = calls.get(id(obj))
            values[key] = values[key] if counted is None else counted
        if isinstance(obj, Stateful):
            node.slot_variables.extend(
                SlotVariableReference(
                    original_variable_node_id=numbers[id(v)], slot_name=name, slot_variable_node_id=numbers[id(slot)]
                )
                for v, name, slot in obj.kept_slots()
                if id(v) in numbers and id(slot) in numbers
            )
        graph.nodes.append(node)
    values[GRAPH_KEY] = np.array(graph.SerializeToString(), object)
    return values


class CheckpointManager(Shown):
    """Keeps the newest checkpoints of a folder.

    Parameters
    ----------
    checkpoint : Checkpoint
    directory : str
    max_to_keep : int or None
        None: all.
    keep_checkpoint_every_n_hours : float, optional
        Beside these, one in so many hours is kept for good.
    checkpoint_name : str
        What the names of the files begin with.
    step_counter, checkpoint_interval : variable and int, optional
        Save only when the counter has grown by so much.
    init_fn : callable, optional
        Called by `restore_or_initialize` if there is nothing to restore.

    Raises
    ------
    ValueError
        If an argument does not fit.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: Any,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: Any = None,
        checkpoint_interval: int | None = None,
        init_fn: Any = None,
    ) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}.")
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError("`step_counter` should be passed if `checkpoint_interval` is specified.")
        self._checkpoint, self._folder = checkpoint, os.fspath(directory)
        self._most, self._hours = max_to_keep, keep_checkpoint_every_n_hours
        self._prefix = os.path.join(self._folder, checkpoint_name)
        self._counter, self._interval, self._init = step_counter, checkpoint_interval, init_fn
        self._last_step: int | None = None
        state = checkpoints.get_state(self._folder)
        paths = [] if state is None else [p for p in state.all_model_checkpoint_paths if checkpoints.is_there(p)]
        self._kept: dict[str, float] = dict(zip(paths, checkpoints.written_at(paths), strict=True))
        self._newest = None if state is None or not paths else state.model_checkpoint_path
        self._preserved = (state.last_preserved_timestamp if state is not None else None) or time.time()

    @property
    def directory(self) -> str:
        """The folder."""
        return self._folder

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint that is saved."""
        return self._checkpoint

    @property
    def latest_checkpoint(self) -> str | None:
        """The newest checkpoint, None if there is none."""
        return self._newest

    @property
    def checkpoints(self) -> list[str]:
        """Those that are kept, the oldest first."""
        return list(self._kept)

    @property
    def checkpoint_interval(self) -> int | None:
        """How far the counter must grow between two."""
        return self._interval

    def save(self, checkpoint_number: Any = None, check_interval: bool = True, options: Any = None) -> str | None:
        """Save, and remove checkpoints that are too old.

        Returns
        -------
        str or None
            The checkpoint; None if the counter has not grown enough.
        """
        if self._interval is not None and check_interval:
            now = int(self._counter)
            if self._last_step is not None and now < self._last_step + self._interval:
                return None
            self._last_step = now
        counter = self._checkpoint.save_counter
        number = int(counter) + 1 if checkpoint_number is None else int(checkpoint_number)
        counter.assign_add(1)
        try:
            path = self._checkpoint.write(f"{self._prefix}-{number}")
        except BaseException:
            counter.assign_sub(1)
            raise
        self._kept.pop(path, None)
        self._kept[path] = time.time()
        self._newest = path
        stale = list(self._kept)[: -self._most] if self._most is not None else []
        removed = []
        for old in stale:
            moment = self._kept.pop(old)
            if self._hours is not None and moment - self._hours * 3600 >= self._preserved:
                self._preserved = moment
            else:
                removed.append(old)
        checkpoints.update_state(
            self._folder, path, list(self._kept), all_model_checkpoint_timestamps=list(self._kept.values()),
            last_preserved_timestamp=self._preserved, save_relative_paths=True,
        )  # fmt: skip
        for old in removed:
            checkpoints.remove(old)
        return path

    def restore_or_initialize(self) -> str | None:
        """Restore the newest checkpoint and return it; if there is none, call `init_fn` and return None."""
        if self._newest is not None:
            self._checkpoint.restore(self._newest)
            if self._counter is not None:
                self._last_step = int(self._counter)
            return self._newest
        if self._init is not None:
            self._init()
        return None


__all__ = ["Checkpoint", "CheckpointManager"]
