"""``train.Saver`` and what belongs to it: the variables of a session in files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dualgrad.files import atomic
from dualgrad.files.checkpoints import CheckpointReader, list_variables, load_checkpoint, load_variable
from dualgrad.files.checkpoints import exists as checkpoint_exists
from dualgrad.files.checkpoints import get_state as get_checkpoint_state
from dualgrad.files.checkpoints import latest as latest_checkpoint
from dualgrad.files.checkpoints import remove as remove_checkpoint
from dualgrad.files.checkpoints import update_state as update_checkpoint_state
from dualgrad.files.checkpoints import written_at as get_checkpoint_mtimes
from dualgrad.files.graph_protos import MetaGraphDef, SaverDef
from dualgrad.files.protos import CheckpointState
from dualgrad.files.saver import BaseSaver
from graph_api.graphs.graph import EXTENSIONS, get_default_graph
from graph_api.graphs.graph_keys import GraphKeys
from graph_api.graphs.tensor import Tensor
from graph_api.graphs.variable import Variable
from graph_api.sessions.session import Session

NewCheckpointReader = CheckpointReader


class Saver(BaseSaver):
    """Saves the variables of a session to checkpoints, and restores them.

    The files are those of TensorFlow: it restores what this saves, and the other way round.

    Parameters
    ----------
    var_list : list of variables, or dict of name to variable, optional
        By default all global variables (and what is in the collection ``saveable_objects``) that there are now.
    reshape, builder
        Must be left out.
    sharded, restore_sequentially, name, filename
        Accepted for compatibility: there is one device, and saving adds no operations to the graph.
    max_to_keep : int, optional
        How many checkpoints are kept; older ones are removed. None or 0: all.
    keep_checkpoint_every_n_hours : float
        Beside these, one in so many hours is kept for good.
    saver_def : SaverDef, optional
        Where the two come from, if it is given.
    defer_build : bool
        Whether to choose the variables later, by `build`.
    allow_empty : bool
        Whether there may be no variables.
    write_version : int
        Must be ``SaverDef.V2``.
    pad_step_number : bool
        Whether steps have eight digits in the names of files.
    save_relative_paths : bool
        Whether the file ``checkpoint`` has relative paths, so that the folder can be moved.

    Examples
    --------
    >>> import os, tempfile
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable([1.0, 2.0], name="w")
    ...     saver = tf.train.Saver()
    ...     sess.run(w.initializer)
    ...     path = saver.save(sess, os.path.join(tempfile.mkdtemp(), "model.ckpt"), global_step=3)
    ...     sess.run(w.assign([0.0, 0.0]))
    ...     saver.restore(sess, path)
    ...     print(os.path.basename(path), sess.run(w))
    array([0., 0.], dtype=float32)
    model.ckpt-3 [1. 2.]
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._graph = get_default_graph()
        super().__init__(*args, **kwargs)

    def _default_variables(self) -> Iterable[Any]:
        graph = self._graph
        both = [*graph.get_collection(GraphKeys.GLOBAL_VARIABLES), *graph.get_collection("saveable_objects")]
        return {id(v): v for v in both}.values()

    def _values(self, sess: Any, variables: Sequence[Any]) -> list[Any]:
        return _session(sess).read_variables(variables)

    def _assign(self, sess: Any, variables: Sequence[Any], values: Sequence[Any]) -> None:
        _session(sess).load_variables(variables, values)

    def _graph_file(self) -> bytes:
        return self.export_meta_graph().SerializeToString()

    def export_meta_graph(
        self, filename: str | None = None, collection_list: Sequence[str] | None = None, as_text: bool = False,
        **options: Any,
    ) -> MetaGraphDef:  # fmt: skip
        """The graph with this saver as a message, which `import_meta_graph` reads; see `train.export_meta_graph`."""
        meta = EXTENSIONS["meta_graph"](None, collection_list=collection_list, graph=self._graph, **options)
        EXTENSIONS["add_saver"](meta, self._built(), self.as_saver_def())
        if filename:
            atomic.write(filename, [str(meta).encode() if as_text else meta.SerializeToString()])
        return meta

    def _step_number(self, sess: Any, global_step: Any) -> int:
        return int(_session(sess).run(global_step) if isinstance(global_step, (Tensor, Variable)) else global_step)


def _session(sess: Any) -> Session:
    """The session, also that inside a wrapper of it."""
    inner = getattr(sess, "raw_session", None)
    session = inner() if callable(inner) else sess
    if not isinstance(session, Session):
        raise TypeError(f"'sess' must be a Session; {sess!r}")
    return session


__all__ = [
    "CheckpointState", "NewCheckpointReader", "Saver", "SaverDef", "checkpoint_exists", "get_checkpoint_mtimes",
    "get_checkpoint_state", "latest_checkpoint", "list_variables", "load_checkpoint", "load_variable",
    "remove_checkpoint", "update_checkpoint_state",
]  # fmt: skip
