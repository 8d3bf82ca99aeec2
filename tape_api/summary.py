"""``tf.summary``: what programs say of their tensors, in event files that TensorBoard shows."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

from dualgrad.files import summary_values
from dualgrad.files.events import EventFileWriter
from dualgrad.files.protos import Event, Summary, SummaryMetadata, SummaryValue
from engine.core.detach import effect
from engine.core.dtypes import string
from engine.core.eager import EagerTensor
from engine.core.value import Value
from engine.runtime.errors import InvalidArgumentError
from engine.runtime.faces import Shown
from tape_api.tensor import convert_to_tensor


class _Current(threading.local):
    """The place that summaries of this thread go to."""

    writer: SummaryWriter | None = None
    step: Any = None


_current = _Current()


class SummaryWriter(Shown):
    """Writes summaries to an event file; make one with `create_file_writer`."""

    def __init__(self, events: EventFileWriter) -> None:
        self._events = events

    @contextmanager
    def as_default(self, step: Any = None) -> Iterator[SummaryWriter]:
        """Let summaries inside the `with` block go to this writer, with a step if it is given."""
        before = _current.writer, _current.step
        self.set_as_default(step)
        try:
            yield self
        finally:
            self.flush()
            _current.writer, _current.step = before

    def set_as_default(self, step: Any = None) -> None:
        """Let all summaries of this thread from here on go to this writer."""
        _current.writer = self
        if step is not None:
            _current.step = step

    def init(self) -> None:
        """Accepted for compatibility: the file is open."""

    def flush(self) -> None:
        """Hand what was written to the system."""
        self._events.flush()

    def close(self) -> None:
        """Finish the file."""
        self._events.close()

    def _add(self, event: Event) -> None:
        if self._events.is_closed:
            raise RuntimeError("SummaryWriter is already closed")
        self._events.add_event(event)


def create_file_writer(
    logdir: Any,
    max_queue: int | None = None,
    flush_millis: float | None = None,
    filename_suffix: str | None = None,
    name: str | None = None,
) -> SummaryWriter:
    """A writer of a new event file in a folder.

    Parameters
    ----------
    logdir : str
        Made if need be.
    max_queue, flush_millis
        After how many summaries, by default 10, and after how long they are handed to the system.
    filename_suffix, name : str, optional

    Examples
    --------
    >>> import tempfile
    >>> import tape_api as tf
    >>> writer = tf.summary.create_file_writer(tempfile.mkdtemp())
    >>> with writer.as_default():
    ...     for step in range(3):
    ...         _ = tf.summary.scalar("loss", 1.0 / (step + 1), step=step)
    """
    seconds = 120 if flush_millis is None else float(flush_millis) / 1000
    return SummaryWriter(EventFileWriter(os.fspath(logdir), max_queue or 10, seconds, filename_suffix or ".v2"))


def flush(writer: SummaryWriter | None = None, name: str | None = None) -> None:
    """Hand what was written to the system."""
    chosen = _current.writer if writer is None else writer
    if chosen is not None:
        chosen.flush()


def _written(tag: str, step: Any, make: Callable[[str], SummaryValue]) -> EagerTensor:
    """Write a summary, if any are to be written; whether it was."""
    effect("it writes a summary")
    if _current.writer is None:
        return EagerTensor(np.bool_(False))
    number = _current.step if step is None else step
    if callable(number):
        number = number()
    if number is None:
        raise ValueError(
            "No step set. Please specify one either through the `step` argument or through "
            "tf.summary.experimental.set_step()"
        )
    event = Event(wall_time=time.time(), step=int(number), summary=Summary(value=[make(tag)]))
    assert _current.writer is not None
    _current.writer._add(event)
    return EagerTensor(np.bool_(True))


def write(tag: str, tensor: Any, step: Any = None, metadata: Any = None, name: str | None = None) -> EagerTensor:
    """A summary of a whole tensor, with what a plugin of TensorBoard needs to know of it; whether it was written."""
    about = SummaryMetadata.FromString(metadata.SerializeToString()) if metadata is not None else None
    return _written(tag, step, lambda t: summary_values.tensor_value(t, _array(tensor), about))


def _array(data: Any) -> np.ndarray:
    return np.asarray(convert_to_tensor(data)._array)


def scalar(name: str, data: Any, step: Any = None, description: str | None = None) -> EagerTensor:
    """A summary of one number.

    Parameters
    ----------
    name : str
        The tag.
    data : real scalar
    step : int or variable, optional
        By default that of the writer, or of ``experimental.set_step``.
    description : str, optional

    Returns
    -------
    bool tensor
        Whether it was written: there is a default writer.

    Raises
    ------
    InvalidArgumentError
        If `data` is no scalar.
    ValueError
        If there is no step.
    """
    array = _array(data)
    if array.shape:
        raise InvalidArgumentError(f"summary.scalar {name!r}: a scalar is needed, got shape {array.shape}")
    about = summary_values.metadata("scalars", description)
    return _written(name, step, lambda tag: summary_values.tensor_value(tag, array.astype(np.float32), about))


def histogram(
    name: str, data: Any, step: Any = None, buckets: int | None = None, description: str | None = None
) -> EagerTensor:
    """A summary of how values are distributed over so many buckets, by default 30; see `scalar`."""
    rows = summary_values.histogram_rows(_array(data), 30 if buckets is None else int(buckets))
    about = summary_values.metadata("histograms", description)
    return _written(name, step, lambda tag: summary_values.tensor_value(tag, rows, about))


def image(name: str, data: Any, step: Any = None, max_outputs: int = 3, description: str | None = None) -> EagerTensor:
    """A summary with images of shape (batch, height, width, channels): uint8, or floating from 0 to 1; see `scalar`."""
    batch = _array(data)
    if batch.ndim != 4:
        raise InvalidArgumentError(f"summary.image {name!r}: a tensor of rank 4 is needed, got shape {batch.shape}")
    if batch.dtype.kind == "f":
        batch = (np.clip(batch, 0, 1) * batch.dtype.type(255.5)).astype(np.uint8)
    encoded = [summary_values.png(x) for x in batch[: int(max_outputs)]]
    size = [str(batch.shape[2]).encode(), str(batch.shape[1]).encode()]
    about = summary_values.metadata("images", description)
    return _written(
        name, step, lambda tag: summary_values.tensor_value(tag, np.array([*size, *encoded], object), about)
    )


def audio(
    name: str,
    data: Any,
    sample_rate: Any,
    step: Any = None,
    max_outputs: int = 3,
    encoding: str | None = None,
    description: str | None = None,
) -> EagerTensor:
    """A summary with sound of shape (batch, frames, channels), from -1 to 1; see `scalar`."""
    if encoding not in (None, "wav"):
        raise ValueError(f"Unknown encoding: {encoding!r}")
    batch = _array(data)
    if batch.ndim != 3:
        raise InvalidArgumentError(f"summary.audio {name!r}: a tensor of rank 3 is needed, got shape {batch.shape}")
    encoded = [[summary_values.wav(x, float(sample_rate)), b""] for x in batch[: int(max_outputs)]]
    about = summary_values.metadata("audio", description)
    rows = np.array(encoded, object).reshape(-1, 2)
    return _written(name, step, lambda tag: summary_values.tensor_value(tag, rows, about))


def text(name: str, data: Any, step: Any = None, description: str | None = None) -> EagerTensor:
    """A summary with text: a string or a tensor of strings, which TensorBoard reads as Markdown; see `scalar`."""
    array = _array(data)
    if convert_to_tensor(data).dtype is not string:
        raise InvalidArgumentError(f"summary.text {name!r}: strings are needed, got {array.dtype}")
    return _written(name, step, lambda tag: summary_values.text_value(tag, array, description))


def _set_step(step: Any) -> None:
    """The step of summaries of this thread that have none of their own."""
    _current.step = step


def _get_step() -> Value | int | None:
    """That step, None if there is none."""
    return _current.step


experimental = SimpleNamespace(set_step=_set_step, get_step=_get_step)

__all__ = [
    "SummaryWriter", "audio", "create_file_writer", "experimental", "flush", "histogram", "image", "scalar", "text",
    "write",
]  # fmt: skip
