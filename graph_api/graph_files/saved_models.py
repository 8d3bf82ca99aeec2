"""SavedModels of TensorFlow 1: folders with a graph, its signatures and its variables; read and written."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dualgrad.files import atomic, limits
from dualgrad.files.checkpoints import exists
from dualgrad.files.graph_protos import MetaGraphDef, SavedModel, SignatureDef, TensorInfo
from dualgrad.files.tensors import OF_NAME, shape_proto
from engine.runtime.errors import InvalidArgumentError, NotFoundError
from engine.runtime.faces import Shown
from graph_api.graph_files.meta_graphs import export_meta_graph, with_elements, with_saver
from graph_api.graph_files.reading import message_from
from graph_api.graphs.graph_keys import GraphKeys
from graph_api.graphs.tensor import Operation, Tensor
from graph_api.saving import Saver


class TagConstants:
    """Tags that meta graphs usually have."""

    SERVING, TRAINING, EVAL, GPU, TPU = "serve", "train", "eval", "gpu", "tpu"


class SignatureConstants:
    """Names that signatures usually have."""

    DEFAULT_SERVING_SIGNATURE_DEF_KEY = "serving_default"
    CLASSIFY_INPUTS = "inputs"
    CLASSIFY_METHOD_NAME = "tensorflow/serving/classify"
    CLASSIFY_OUTPUT_CLASSES = "classes"
    CLASSIFY_OUTPUT_SCORES = "scores"
    PREDICT_INPUTS = "inputs"
    PREDICT_METHOD_NAME = "tensorflow/serving/predict"
    PREDICT_OUTPUTS = "outputs"
    REGRESS_INPUTS = "inputs"
    REGRESS_METHOD_NAME = "tensorflow/serving/regress"
    REGRESS_OUTPUTS = "outputs"


_MAIN_OPS = ("saved_model_main_op", "legacy_init_op")


# ---- reading ---------------------------------------------------------------------------------------------------------


def maybe_saved_model_directory(export_dir: str) -> bool:
    """Whether a folder holds a saved model."""
    return any((Path(export_dir) / f"saved_model.{kind}").is_file() for kind in ("pb", "pbtxt"))


def read(export_dir: str) -> SavedModel:
    """The message of a saved model."""
    for kind in ("pb", "pbtxt"):
        path = Path(export_dir) / f"saved_model.{kind}"
        if path.is_file():
            return message_from(SavedModel, path, text=kind == "pbtxt")
    raise NotFoundError(f"SavedModel file does not exist at: {export_dir}{os.sep}{{saved_model.pbtxt|saved_model.pb}}")


def matching(model: SavedModel, tags: str | Sequence[str]) -> MetaGraphDef:
    """The meta graph that has some tags, and no others.

    Raises
    ------
    RuntimeError
        If there is none.
    """
    wanted = {tags} if isinstance(tags, str) else set(tags)
    found = [m for m in model.meta_graphs if set(m.meta_info_def.tags) == wanted]
    if not found:
        there = ", ".join(str(sorted(m.meta_info_def.tags)) for m in model.meta_graphs)
        raise RuntimeError(
            f"MetaGraphDef associated with tags {sorted(wanted)} could not be found in SavedModel; it has {there}"
        )
    return found[0]


def load(
    sess: Any, tags: Sequence[str], export_dir: str, import_scope: str | None = None, **saver_kwargs: Any
) -> MetaGraphDef:
    """Add the graph of a saved model to a session's graph, and set its variables.

    Parameters
    ----------
    sess : Session
    tags : list of str
        Which of the model's meta graphs: that with these tags.
    export_dir : str
    import_scope : str, optional
        The prefix of all names.
    **saver_kwargs
        ``clear_devices`` and ``input_map``, see `import_meta_graph`.

    Returns
    -------
    MetaGraphDef
        With the signatures (``signature_def``).

    Raises
    ------
    NotFoundError
        If there is no saved model, or no variables with it.
    RuntimeError
        If none of its meta graphs has the tags.
    UnimplementedError
        If the graph has ops that are not known here: all of them are listed.
    """
    meta = matching(read(export_dir), tags)
    with sess.graph.as_default():
        with limits.damage(export_dir, InvalidArgumentError):
            saver, _ = with_elements(meta, import_scope=import_scope, **saver_kwargs)
        path = os.path.join(os.fspath(export_dir), "variables", "variables")
        if saver is not None and saver._built():
            if not exists(path):
                raise NotFoundError(f"the variables of the saved model are missing: {path}")
            saver.restore(sess, path)
        for operation in _main_operations(sess.graph, meta):
            sess.run(operation, _assets(meta, export_dir, import_scope))
    return meta


def _main_operations(graph: Any, meta: MetaGraphDef) -> list[Operation | Tensor]:
    """The operations that a model runs when it is loaded."""
    keys = [key for key in _MAIN_OPS if key in meta.collection_def]
    return [op for key in keys[:1] for op in graph.get_collection(key)[-1:] if isinstance(op, (Operation, Tensor))]


def _assets(meta: MetaGraphDef, export_dir: str, import_scope: str | None) -> dict[str, Any]:
    """The paths of files that come with a model, to be fed."""
    prefix = f"{import_scope}/" if import_scope else ""
    folder = os.path.join(os.fspath(export_dir), "assets")
    return {prefix + a.tensor_info.name: os.path.join(folder, a.filename).encode() for a in meta.asset_file_def}


# ---- signatures ------------------------------------------------------------------------------------------------------


def build_tensor_info(tensor: Any) -> TensorInfo:
    """A tensor as signatures name it."""
    x = tensor if isinstance(tensor, Tensor) else tensor._as_graph_element()
    return TensorInfo(name=x.name, dtype=OF_NAME[x.dtype.name], tensor_shape=shape_proto(x.aval.shape))


def get_tensor_from_tensor_info(tensor_info: TensorInfo, graph: Any = None, import_scope: str | None = None) -> Tensor:
    """The tensor that a signature names."""
    from graph_api.graphs.graph import get_default_graph

    prefix = f"{import_scope}/" if import_scope else ""
    return (graph or get_default_graph()).get_tensor_by_name(prefix + tensor_info.name)


def build_signature_def(
    inputs: Mapping[str, TensorInfo] | None = None,
    outputs: Mapping[str, TensorInfo] | None = None,
    method_name: str | None = None,
) -> SignatureDef:
    """Describe a computation of a model: names of its inputs and outputs."""
    return SignatureDef(inputs=dict(inputs or {}), outputs=dict(outputs or {}), method_name=method_name or "")


def predict_signature_def(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> SignatureDef:
    """The signature of a function from tensors to tensors."""
    taken, results = [{name: build_tensor_info(x) for name, x in each.items()} for each in (inputs, outputs)]
    return build_signature_def(taken, results, SignatureConstants.PREDICT_METHOD_NAME)


# ---- writing ---------------------------------------------------------------------------------------------------------


class SavedModelBuilder(Shown):
    """Writes a saved model: one meta graph with its variables, and any number of further ones.

    Parameters
    ----------
    export_dir : str
        A folder that does not exist, or is empty.

    Raises
    ------
    AssertionError
        If there is something in it.
    """

    def __init__(self, export_dir: str) -> None:
        self._folder = Path(export_dir)
        if self._folder.is_dir() and any(self._folder.iterdir()):
            raise AssertionError(
                f"Export directory {export_dir} already exists, and isn't empty. Please choose a different export "
                f"directory, or delete all the contents of the specified directory."
            )
        self._model = SavedModel(saved_model_schema_version=1)

    def add_meta_graph_and_variables(
        self,
        sess: Any,
        tags: Sequence[str],
        signature_def_map: Mapping[str, SignatureDef] | None = None,
        assets_list: Any = None,
        clear_devices: bool = False,
        init_op: Any = None,
        train_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Any = None,
        main_op: Any = None,
    ) -> None:
        """Add the session's graph, and write the values of its variables.

        Parameters
        ----------
        sess : Session
        tags : list of str
        signature_def_map : dict of str to SignatureDef, optional
        assets_list
            Must be empty: files are not copied.
        clear_devices : bool
        init_op, train_op, main_op : Operation, optional
            What to run when it is loaded, and to train it.
        strip_default_attrs
            Accepted for compatibility.
        saver : Saver, optional
            By default one of all variables.
        """
        if self._model.meta_graphs:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. Use add_meta_graph."
            )
        main = main_op or init_op
        chosen = self._add(sess.graph, tags, signature_def_map, assets_list, clear_devices, main, saver, train_op)
        path = self._folder / "variables" / "variables"
        path.parent.mkdir(parents=True, exist_ok=True)
        if chosen is not None:
            chosen.save(sess, str(path), write_meta_graph=False, write_state=False)

    def add_meta_graph(
        self,
        tags: Sequence[str],
        signature_def_map: Mapping[str, SignatureDef] | None = None,
        assets_list: Any = None,
        clear_devices: bool = False,
        init_op: Any = None,
        train_op: Any = None,
        saver: Any = None,
        main_op: Any = None,
        strip_default_attrs: bool = False,
    ) -> None:
        """Add the default graph, whose variables have been written already; see `add_meta_graph_and_variables`."""
        from graph_api.graphs.graph import get_default_graph

        if not self._model.meta_graphs:
            raise AssertionError("Graph state including variables and assets has not been saved yet.")
        main = main_op or init_op
        self._add(get_default_graph(), tags, signature_def_map, assets_list, clear_devices, main, saver, train_op)

    def _add(
        self, graph: Any, tags: Sequence[str], signatures: Any, assets: Any, clear_devices: bool, main: Any, saver: Any,
        train: Any,
    ) -> Saver | None:  # fmt: skip
        from graph_api.saving import Saver

        if assets:
            raise ValueError("SavedModelBuilder: argument `assets_list` is not supported; keep such files beside it")
        meta = export_meta_graph(graph=graph, clear_devices=clear_devices)
        meta.meta_info_def.tags.extend(tags)
        for name, signature in (signatures or {}).items():
            meta.signature_def[name].CopyFrom(signature)
        if main is not None:
            meta.collection_def[_MAIN_OPS[0]].node_list.value.append(main.name)
        if train is not None and train not in graph.get_collection(GraphKeys.TRAIN_OP):
            meta.collection_def[GraphKeys.TRAIN_OP].node_list.value.append(train.name)
        with graph.as_default():
            chosen = saver or (Saver() if graph.get_collection(GraphKeys.GLOBAL_VARIABLES) else None)
        if chosen is not None:
            with_saver(meta, chosen._built(), chosen.as_saver_def())
        self._model.meta_graphs.append(meta)
        return chosen

    def save(self, as_text: bool = False) -> bytes:
        """Write the model; the file's path."""
        path = self._folder / ("saved_model.pbtxt" if as_text else "saved_model.pb")
        atomic.write(path, [str(self._model).encode() if as_text else self._model.SerializeToString()])
        return str(path).encode()


def simple_save(
    session: Any, export_dir: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any], legacy_init_op: Any = None
) -> None:
    """Write a saved model with one signature, ``serving_default``, for `load` with the tag ``serve``.

    Examples
    --------
    >>> import os, tempfile
    >>> import graph_api as tf
    >>> folder = os.path.join(tempfile.mkdtemp(), "model")
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, name="x")
    ...     y = tf.multiply(x, tf.Variable(3.0, name="w"), name="y")
    ...     sess.run(tf.global_variables_initializer())
    ...     tf.saved_model.simple_save(sess, folder, {"x": x}, {"y": y})
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     meta = tf.saved_model.loader.load(sess, ["serve"], folder)
    ...     out = meta.signature_def["serving_default"].outputs["y"].name
    ...     print(sess.run(out, {"x:0": 2.0}))
    6.0
    """
    signatures = {SignatureConstants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: predict_signature_def(inputs, outputs)}
    builder = SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(session, [TagConstants.SERVING], signatures, main_op=legacy_init_op)
    builder.save()


__all__ = [
    "SavedModelBuilder", "SignatureConstants", "TagConstants", "build_signature_def", "build_tensor_info",
    "get_tensor_from_tensor_info", "load", "maybe_saved_model_directory", "predict_signature_def", "simple_save",
]  # fmt: skip
