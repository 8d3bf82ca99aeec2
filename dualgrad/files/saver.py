"""The core of ``train.Saver`` in both front ends: which variables have which names, and which checkpoints are kept."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dualgrad.files import atomic, bundle, checkpoints
from dualgrad.files.graph_protos import SaverDef
from dualgrad.files.object_graph import keys_by_full_name
from engine.core.aval import compatible, format_shape
from engine.core.detach import effect
from engine.core.value import shape_of
from engine.core.variable import Variable
from engine.runtime.errors import InvalidArgumentError, NotFoundError
from engine.runtime.faces import Shown
from engine.runtime.public_names import methods_of


def named_variables(var_list: Any) -> dict[str, Variable]:
    """The variables to save by the names that they have in a checkpoint.

    Parameters
    ----------
    var_list : iterable of variables, or dict of name to variable

    Raises
    ------
    ValueError
        If two have the same name.
    TypeError
        If something is not a variable.
    """
    if isinstance(var_list, Mapping):
        pairs = [(name, var_list[name]) for name in sorted(var_list)]
    else:
        pairs = [(checkpoint_name(v), v) for v in var_list]
    by_name: dict[str, Variable] = {}
    for name, variable in pairs:
        if not isinstance(name, str):
            raise TypeError(f"the names of variables to save must be strings, got {name!r}")
        if not isinstance(variable, Variable):
            raise TypeError(f"Can't convert Operation {variable!r} to Tensor (not a variable)")
        if name in by_name:
            raise ValueError(f"At least two variables have the same name: {name}")
        by_name[name] = variable
    return by_name


def checkpoint_name(variable: Any) -> str:
    """The name of a variable in a checkpoint."""
    if not isinstance(variable, Variable):
        raise TypeError(f"Variable to save is not a Variable: {variable!r}")
    # slots on tapes have one name, and another one each in a checkpoint
    return str(getattr(variable, "saved_as", None) or variable.name.removesuffix(":0"))


def restored_values(save_path: str, variables: Mapping[str, Variable]) -> list[np.ndarray | bundle.Stored]:
    """The values that a checkpoint has for some variables, all of them examined before any is used.

    Raises
    ------
    NotFoundError
        If one is missing; the message names all that are.
    InvalidArgumentError
        If a shape or dtype differs.
    DataLossError
        If the checkpoint is damaged.
    """
    reader = checkpoints.CheckpointReader(save_path)
    keys = {name: name for name in variables}
    missing = [name for name in variables if not reader.has_tensor(name)]
    if missing:
        by_name = keys_by_full_name(reader)
        keys.update({name: by_name[name] for name in missing if name in by_name})
        missing = [name for name in missing if name not in by_name]
    if missing:
        raise NotFoundError(
            f"Restoring from checkpoint failed. This is most likely due to a Variable name or other graph key that is "
            f"missing from the checkpoint. Key {missing[0]} not found in checkpoint {save_path}"
            + (f", nor are {', '.join(missing[1:])}" if missing[1:] else "")
        )
    for name, variable in variables.items():
        check_fits(reader, keys[name], variable, save_path)
    return [reader.stored(key) for key in keys.values()]


def check_fits(reader: checkpoints.CheckpointReader, key: str, variable: Any, save_path: str) -> None:
    """Raise InvalidArgumentError unless a tensor of a checkpoint has the dtype and shape of a variable."""
    stored, shape = reader.dtype(key), reader.shape(key)
    if stored is not variable.dtype:
        raise InvalidArgumentError(
            f"Restoring from checkpoint failed: tensor_name = {key}; expected dtype {variable.dtype.name} does not "
            f"equal original dtype {getattr(stored, 'name', stored)} in {save_path}; no variable was changed"
        )
    if not compatible(shape, shape_of(variable)):
        raise InvalidArgumentError(
            f"Restoring from checkpoint failed. This is most likely due to a mismatch between the current graph and "
            f"the graph from the checkpoint. Assign requires shapes of both tensors to match. lhs shape= "
            f"{format_shape(shape_of(variable))} rhs shape= {format_shape(shape)} for tensor {key} in {save_path}; "
            f"no variable was changed"
        )


@methods_of("Saver")
class BaseSaver(Shown):
    """Saves variables to checkpoints, restores them, and removes old checkpoints.

    A front end adds where variables come from, how they are read and how they are set.
    """

    V1, V2 = 1, 2

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = 2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        for argument, value in {"builder": builder, "reshape": reshape}.items():
            if value:
                raise ValueError(f"Saver: argument `{argument}` is not supported; leave it out")
        if write_version not in (2, None):
            raise ValueError(
                "Saver: argument `write_version` must be SaverDef.V2: checkpoints of the first version are read, not "
                "written"
            )
        if saver_def is not None:
            max_to_keep = saver_def.max_to_keep
            keep_checkpoint_every_n_hours = saver_def.keep_checkpoint_every_n_hours
        self._given = var_list
        self._allow_empty = allow_empty
        self._max_to_keep = max_to_keep or 0
        self._hours = keep_checkpoint_every_n_hours
        self._next_kept = time.time() + keep_checkpoint_every_n_hours * 3600
        self._pad = pad_step_number
        self._relative = save_relative_paths
        self._last: list[tuple[str, float]] = []
        self._variables: dict[str, Any] | None = None
        if not defer_build:
            self.build()

    # ---- what a front end adds ---------------------------------------------------------------------------------------

    def _default_variables(self) -> Iterable[Any]:
        """The variables that are saved if none are named."""
        raise AttributeError(f"{type(self).__name__} does not define `_default_variables`")

    def _values(self, sess: Any, variables: Sequence[Any]) -> list[Any]:
        """The values of some variables, all at one moment."""
        raise AttributeError(f"{type(self).__name__} does not define `_values`")

    def _assign(self, sess: Any, variables: Sequence[Any], values: Sequence[Any]) -> None:
        """Set some variables in one step."""
        raise AttributeError(f"{type(self).__name__} does not define `_assign`")

    def _step_number(self, sess: Any, global_step: Any) -> int:
        """The number that a step is."""
        return int(global_step)

    # ---- what is saved -----------------------------------------------------------------------------------------------

    def build(self) -> None:
        """Decide which variables are saved; done by the constructor unless `defer_build`.

        Raises
        ------
        ValueError
            If there are none.
        """
        if self._variables is not None:
            return
        chosen = list(self._default_variables()) if self._given is None else self._given
        variables = named_variables(chosen)
        if not variables and not self._allow_empty:
            raise ValueError("No variables to save")
        self._variables = variables

    def _built(self) -> dict[str, Any]:
        if self._variables is None:
            raise RuntimeError("Saver: the saver was made with `defer_build`; call its `build` before it saves")
        return self._variables

    @property
    def saver_def(self) -> SaverDef:
        """Its options as a message."""
        return self.as_saver_def()

    def as_saver_def(self) -> SaverDef:
        """Its options as a message."""
        return SaverDef(
            filename_tensor_name="save/Const:0",
            save_tensor_name="save/control_dependency:0",
            restore_op_name="save/restore_all",
            max_to_keep=self._max_to_keep,
            keep_checkpoint_every_n_hours=self._hours,
            version=2,
        )

    def to_proto(self, export_scope: str | None = None) -> SaverDef:
        """Its options as a message."""
        return self.as_saver_def()

    # ---- saving ------------------------------------------------------------------------------------------------------

    def save(
        self,
        sess: Any,
        save_path: str,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> Any:  # a path, or None: a program that saves something need not ask
        """Save the variables.

        The checkpoint is written beside the old one and takes its place in one step; only then the file ``checkpoint``
        names it, and only then old ones are removed. So whatever happens, a whole checkpoint is named.

        Parameters
        ----------
        sess : Session
        save_path : str
            What the names of the files begin with.
        global_step : int, tensor or variable, optional
            Becomes part of the names: ``model.ckpt-100``.
        latest_filename : str, optional
            The file that names the newest checkpoint, by default ``checkpoint``.
        meta_graph_suffix, write_meta_graph
            Whether the graph is saved too, and in which file.
        write_state : bool
            Whether to write the file that names the newest checkpoint, and to remove old ones.
        strip_default_attrs, save_debug_info
            Accepted for compatibility: nothing else would be saved.

        Returns
        -------
        str or None
            What the names of the files begin with; None if there is nothing to save.

        Raises
        ------
        ValueError
            If the folder that is to hold the folder does not exist, or `latest_filename` is not a plain name.
        FailedPreconditionError
            If a variable has no value yet.
        """
        effect("it reads or writes a file")
        latest_filename = latest_filename or checkpoints.STATE_FILE
        if os.path.split(latest_filename)[0]:
            raise ValueError("'latest_filename' must not contain path components")
        variables = self._built()
        path = os.fspath(save_path)
        folder = os.path.dirname(path)
        if global_step is not None:
            number = self._step_number(sess, global_step)
            path = f"{path}-{number:08d}" if self._pad else f"{path}-{number}"
        elif os.path.basename(path) == latest_filename:
            raise ValueError(f"'latest_filename' collides with 'save_path': {latest_filename!r} and {path!r}")
        values = self._values(sess, list(variables.values()))
        if folder and not Path(folder).is_dir() and not Path(folder).parent.is_dir():
            raise ValueError(f"Parent directory of {path} doesn't exist, can't save.")
        if not variables:
            return None
        if folder:
            Path(folder).mkdir(exist_ok=True)
        graph = self._graph_file() if write_meta_graph else b""  # it may be refused, before anything is written
        bundle.write(path, dict(zip(variables, values, strict=True)))
        if graph:
            atomic.write(f"{path}.{meta_graph_suffix}", [graph])
        if write_state:
            self._keep(path, folder, latest_filename, meta_graph_suffix)
        return path

    def _graph_file(self) -> bytes:
        """The graph's file, where there is a graph."""
        return b""

    def _keep(self, path: str, folder: str, latest_filename: str, meta_graph_suffix: str) -> None:
        """Say that a checkpoint is the newest, and remove those that are too old."""
        stale = []
        if self._max_to_keep:
            self._last = [item for item in self._last if item[0] != path] + [(path, time.time())]
            while len(self._last) > self._max_to_keep:
                stale.append(self._last.pop(0))
        checkpoints.update_state(
            folder,
            path,
            self.last_checkpoints,
            latest_filename,
            [moment for _, moment in self._last],
            save_relative_paths=self._relative,
        )
        for prefix, moment in stale:
            if moment > self._next_kept:
                self._next_kept += self._hours * 3600
            else:
                checkpoints.remove(prefix, meta_graph_suffix)

    @property
    def last_checkpoints(self) -> list[str]:
        """The checkpoints that are kept, the oldest first."""
        return [path for path, _ in self._last]

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Take up the checkpoints of an earlier run, as far as they are there."""
        there = [path for path in checkpoint_paths if checkpoints.exists(path)]
        self._last = list(zip(there, checkpoints.written_at(there), strict=True))

    # ---- restoring ---------------------------------------------------------------------------------------------------

    def restore(self, sess: Any, save_path: str) -> None:
        """Set the variables to what a checkpoint holds: all of them, or none if something is wrong.

        Parameters
        ----------
        sess : Session
        save_path : str
            As `save` returned it. A checkpoint of an object-based ``train.Checkpoint`` is read by the variables' names.

        Raises
        ------
        ValueError
            If there is no such checkpoint.
        NotFoundError
            If it lacks a variable.
        InvalidArgumentError
            If a shape or dtype differs.
        DataLossError
            If it is damaged.
        """
        effect("it reads or writes a file")
        variables = self._built()
        if not variables:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        path = os.fspath(save_path)
        if not checkpoints.exists(path):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {path}")
        self._assign(sess, list(variables.values()), restored_values(path, variables))
