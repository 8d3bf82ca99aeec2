"""``tf.summary``: operations that describe tensors, and the event files that TensorBoard shows."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from dualgrad.files import summary_values
from dualgrad.files.events import EventFileWriter, summary_iterator
from dualgrad.files.graph_protos import GraphDef, MetaGraphDef
from dualgrad.files.protos import Event, SessionLog, Summary, SummaryValue, TaggedRunMetadata
from engine.core.aval import Aval, compatible, format_shape
from engine.core.dtypes import string
from engine.core.value import boxed
from engine.runtime.errors import DTypeError, InvalidArgumentError, ShapeError
from engine.runtime.faces import Shown
from graph_api.control_flow.flow import stateful_op
from graph_api.convert import convert_to_tensor
from graph_api.graphs.graph import Graph, get_default_graph
from graph_api.graphs.graph_keys import GraphKeys
from graph_api.graphs.tensor import Tensor

# ---- what describes an array -----------------------------------------------------------------------------------------


def _scalar(tag: str, x: Any) -> list[SummaryValue]:
    if x.shape:
        raise InvalidArgumentError(f"tags and values are not the same shape: [] != {list(x.shape)} (tag '{tag}')")
    return [SummaryValue(tag=tag, simple_value=float(x))]


def _histogram(tag: str, x: Any) -> list[SummaryValue]:
    return [SummaryValue(tag=tag, histo=summary_values.histogram(x, tag))]


def _text(tag: str, x: Any) -> list[SummaryValue]:
    return [summary_values.text_value(tag, x)]


def _described(*operands: Any, describe: Callable[..., Any], tag: str, options: tuple[Any, ...]) -> np.ndarray:
    return boxed(Summary(value=describe(tag, *operands, *options)).SerializeToString())


summary_op = stateful_op(
    "summary_op",
    _described,
    abstract=lambda *x, describe, tag, options: Aval((), string),
    type="Summary",
    args=("*values",),
    doc="A summary of a tensor: a serialized message.",
)


def _merged(*parts: Any) -> np.ndarray:
    whole = Summary()
    tags = set()
    for part in parts:
        for data in np.ravel(part):
            for value in Summary.FromString(data).value:
                if value.tag in tags:
                    raise InvalidArgumentError(f"Duplicate tag {value.tag} found in summary inputs")
                tags.add(value.tag)
                whole.value.append(value)
    return boxed(whole.SerializeToString())


merge_op = stateful_op(
    "merge_op",
    _merged,
    abstract=lambda *parts: Aval((), string),
    type="MergeSummary",
    args=("*inputs",),
    doc="Several summaries as one.",
)


# ---- operations ------------------------------------------------------------------------------------------------------

_ILLEGAL = re.compile(r"[^-/\w\.]")


def _clean(name: str) -> str:
    """A name with ``_`` in place of what names must not have, as TensorFlow 1 makes it."""
    return _ILLEGAL.sub("_", name).lstrip("/")


def _summary(
    describe: Callable[..., Any],
    name: str,
    operands: Sequence[Any],
    collections: Sequence[str] | None,
    family: str | None,
    options: tuple[Any, ...] = (),
) -> Tensor:
    label = _clean(name)
    if family is not None:
        label = f"{_clean(family)}/{label}"
    graph = get_default_graph()
    with graph.name_scope(label) as scope:
        tag = scope.rstrip("/")
        if family is not None:
            tag = f"{_clean(family)}/{tag}"
        values = [convert_to_tensor(x) for x in operands]
        params = {"describe": describe, "tag": tag, "options": options}
        made = graph.apply(summary_op, values, params, name=scope)
    graph.add_to_collections([GraphKeys.SUMMARIES] if collections is None else list(collections), made)
    return made


def _require(what: str, name: str, x: Tensor, ok: bool, expected: str) -> None:
    if not ok:
        raise DTypeError(f"summary.{what} {name!r}: the tensor must be of {expected}, got {x.dtype.name}")


def scalar(name: str, tensor: Any, collections: Sequence[str] | None = None, family: str | None = None) -> Tensor:
    """A summary of one number.

    Parameters
    ----------
    name : str
        The tag, behind the current name scope.
    tensor : tensor
        Real, of rank 0.
    collections : list of str, optional
        Where to put the summary, by default ``GraphKeys.SUMMARIES``, which `merge_all` merges.
    family : str, optional
        A prefix of the tag, under which TensorBoard groups it.

    Returns
    -------
    tensor
        A string: a serialized `Summary`, for `FileWriter.add_summary`.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     tf.Summary.FromString(sess.run(tf.summary.scalar("loss", 0.5))).value[0].simple_value
    0.5
    """
    x = convert_to_tensor(tensor)
    _require("scalar", name, x, x.dtype.is_floating or x.dtype.is_integer or x.dtype.is_bool, "a real dtype")
    if not compatible(x._aval.shape, ()):
        raise ShapeError(f"summary.scalar {name!r}: a scalar is needed, got shape {format_shape(x._aval.shape)}")
    return _summary(_scalar, name, [x], collections, family)


def histogram(name: str, values: Any, collections: Sequence[str] | None = None, family: str | None = None) -> Tensor:
    """A summary of how values are distributed; see `scalar` for the parameters.

    Raises
    ------
    InvalidArgumentError
        When it runs and a value is not finite.
    """
    x = convert_to_tensor(values)
    _require("histogram", name, x, x.dtype.is_floating or x.dtype.is_integer, "a real dtype")
    return _summary(_histogram, name, [x], collections, family)


def image(
    name: str, tensor: Any, max_outputs: int = 3, collections: Sequence[str] | None = None, family: str | None = None
) -> Tensor:
    """A summary with images.

    Parameters
    ----------
    name, collections, family
        See `scalar`.
    tensor : tensor of shape (batch, height, width, channels)
        With 1, 3 or 4 channels. Those of dtype uint8 are shown as they are; floating ones are scaled so that the
        largest value is white, or, if some are negative, that zero is in the middle.
    max_outputs : int
        How many of the batch are shown, as ``name/image/0``...
    """
    x = convert_to_tensor(tensor)
    _require("image", name, x, x.dtype.name in ("uint8", "float16", "float32", "float64"), "dtype uint8 or floating")
    if int(max_outputs) < 1:
        raise ValueError(f"summary.image: argument `max_outputs` must be at least 1, got {max_outputs}")
    return _summary(summary_values.images, name, [x], collections, family, (int(max_outputs),))


def audio(
    name: str,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: Sequence[str] | None = None,
    family: str | None = None,
) -> Tensor:
    """A summary with sound: `tensor` of shape (batch, frames) or (batch, frames, channels), between -1 and 1."""
    x = convert_to_tensor(tensor)
    _require("audio", name, x, x.dtype.is_floating, "a floating dtype")
    rate = float(sample_rate)
    return _summary(summary_values.sounds, name, [x], collections, family, (rate, int(max_outputs)))


def text(name: str, tensor: Any, collections: Sequence[str] | None = None) -> Tensor:
    """A summary with text: a tensor of strings, which TensorBoard reads as Markdown; a table, if of rank 1 or 2.

    Raises
    ------
    ValueError
        If it is not of strings.
    """
    x = convert_to_tensor(tensor)
    if x.dtype is not string:
        raise ValueError(f"Expected tensor {x.name} to have dtype string, got {x.dtype.name}")
    return _summary(_text, name, [x], collections, None)


KINDS = {"scalar": _scalar, "histogram": _histogram, "image": summary_values.images}
"""Summaries that have ops of their own in files of graphs."""


def tagged(kind: str, tag: str, x: Any, *options: Any) -> Tensor:
    """A summary (``"scalar"``, ``"histogram"`` or ``"image"``) whose tag has been chosen already."""
    params = {"describe": KINDS[kind], "tag": tag, "options": options}
    return get_default_graph().apply(summary_op, [convert_to_tensor(x)], params)


def merge(inputs: Sequence[Any], collections: Sequence[str] | None = None, name: str | None = None) -> Tensor:
    """Several summaries as one.

    Raises
    ------
    InvalidArgumentError
        When it runs and two have the same tag.
    """
    if not inputs:
        raise ValueError("summary.merge: there is nothing to merge")
    graph = get_default_graph()
    label = _clean(name) if name else "Merge/MergeSummary"
    merged = graph.apply(merge_op, [convert_to_tensor(x) for x in inputs], {}, name=label)
    graph.add_to_collections(list(collections or []), merged)
    return merged


def merge_all(key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None) -> Tensor | None:
    """All summaries of a collection as one; None if there are none."""
    summaries = get_default_graph().get_collection(key, scope)
    return merge(summaries, name=name) if summaries else None


def scalar_summary(tags: str, values: Any, collections: Sequence[str] | None = None, name: str | None = None) -> Tensor:
    """`scalar` under its name of 2016."""
    return scalar(str(tags), values, collections)


def histogram_summary(
    tag: str, values: Any, collections: Sequence[str] | None = None, name: str | None = None
) -> Tensor:
    """`histogram` under its name of 2016."""
    return histogram(str(tag), values, collections)


def image_summary(
    tag: str, tensor: Any, max_images: int = 3, collections: Sequence[str] | None = None, name: str | None = None
) -> Tensor:
    """`image` under its name of 2016."""
    return image(str(tag), tensor, max_images, collections)


merge_summary, merge_all_summaries = merge, merge_all


# ---- files -----------------------------------------------------------------------------------------------------------


class FileWriter(Shown):
    """Writes summaries and graphs to an event file, which TensorBoard shows.

    Parameters
    ----------
    logdir : str
        The folder, made if need be.
    graph : Graph or GraphDef, optional
        To be shown too.
    max_queue, flush_secs
        After how many events, and after how many seconds, they are handed to the system.
    graph_def : GraphDef, optional
        As `graph`.
    filename_suffix : str, optional
    session
        Must be left out.

    Examples
    --------
    >>> import tempfile
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     loss = tf.summary.scalar("loss", 0.5)
    ...     with tf.summary.FileWriter(tempfile.mkdtemp(), sess.graph) as writer:
    ...         writer.add_summary(sess.run(loss), global_step=7)
    """

    def __init__(
        self,
        logdir: Any,
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        if session is not None:
            raise ValueError("FileWriter: argument `session` is not supported; leave it out")
        self.event_writer = EventFileWriter(os.fspath(logdir), max_queue, flush_secs, filename_suffix)
        self._seen: set[str] = set()
        if graph is not None or graph_def is not None:
            self.add_graph(graph, graph_def=graph_def)

    def get_logdir(self) -> str:
        """The folder."""
        return self.event_writer.get_logdir()

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Write a summary: what running a summary's operation gave, or a `Summary`."""
        if isinstance(summary, (bytes, np.bytes_)):
            summary = Summary.FromString(summary)
        elif not hasattr(summary, "SerializeToString"):
            raise TypeError(f"FileWriter.add_summary: a summary or its bytes are needed, got {summary!r}")
        else:
            summary = Summary.FromString(summary.SerializeToString())
        for value in summary.value:
            if value.HasField("metadata"):
                if value.tag in self._seen:
                    value.ClearField("metadata")
                self._seen.add(value.tag)
        self.add_event(Event(wall_time=time.time(), summary=summary), global_step)

    def add_event(self, event: Event, global_step: Any = None) -> None:
        """Write an event."""
        if global_step is not None:
            event.step = int(global_step)
        if not event.wall_time:
            event.wall_time = time.time()
        self._require_open()
        self.event_writer.add_event(event)

    def _require_open(self) -> None:
        if self.event_writer.is_closed:
            raise RuntimeError("FileWriter: the writer is closed; `reopen` it to write on")

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Write a graph.

        Raises
        ------
        TypeError
            If it is none.
        """
        either = graph_def if graph is None else graph
        definition = either.as_graph_def() if isinstance(either, Graph) else either
        if not isinstance(definition, GraphDef) and not hasattr(definition, "SerializeToString"):
            raise TypeError("The passed graph must be an instance of `Graph` or the deprecated `GraphDef`")
        self.add_event(Event(graph_def=definition.SerializeToString()), global_step)

    def add_meta_graph(self, meta_graph_def: MetaGraphDef, global_step: Any = None) -> None:
        """Write a graph with its collections."""
        self.add_event(Event(meta_graph_def=meta_graph_def.SerializeToString()), global_step)

    def add_session_log(self, session_log: SessionLog, global_step: Any = None) -> None:
        """Write what happened to a session."""
        self.add_event(Event(session_log=session_log), global_step)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Write how a step ran; there is nothing to be known of it but its tag.

        Raises
        ------
        ValueError
            If the tag was used before.
        """
        if f"run:{tag}" in self._seen:
            raise ValueError(f"The provided tag was already used for this event type: {tag}")
        self._seen.add(f"run:{tag}")
        self.add_event(Event(tagged_run_metadata=TaggedRunMetadata(tag=tag)), global_step)

    def flush(self) -> None:
        """Hand what was written to the system."""
        self.event_writer.flush()

    def close(self) -> None:
        """Finish the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Begin a new file, if the writer was closed."""
        self.event_writer.reopen()

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


SummaryWriter = FileWriter


class FileWriterCache:
    """One writer for each folder, for parts of a program that do not know each other."""

    _writers: ClassVar[dict[str, FileWriter]] = {}
    _lock = threading.Lock()

    @classmethod
    def get(cls, logdir: str) -> FileWriter:
        """The writer of a folder, made for the default graph if there is none."""
        with cls._lock:
            if logdir not in cls._writers:
                cls._writers[logdir] = FileWriter(logdir, graph=get_default_graph())
            return cls._writers[logdir]

    @classmethod
    def clear(cls) -> None:
        """Close all writers and forget them."""
        with cls._lock:
            for writer in cls._writers.values():
                writer.close()
            cls._writers.clear()


__all__ = [
    "Event", "FileWriter", "FileWriterCache", "SessionLog", "Summary", "SummaryWriter", "audio", "histogram",
    "histogram_summary", "image", "image_summary", "merge", "merge_all", "merge_all_summaries", "merge_summary",
    "scalar", "scalar_summary", "summary_iterator", "text",
]  # fmt: skip
