"""Input by queues, as programs of 2016 to 2018 have it: producers, batches and readers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from glob import glob
from typing import Any

import numpy as np

from dualgrad.data.readers import read_lines, read_pieces, read_tfrecords
from engine.core.aval import Aval, normalize_shape
from engine.core.dtypes import string
from engine.core.operands import Operand
from engine.core.value import boxed
from engine.ops import gather, shape
from engine.ops.filling import range as range_of
from engine.runtime.errors import InvalidArgumentError, OutOfRangeError
from engine.runtime.faces import Shown
from graph_api import sampling
from graph_api.control_flow.flow import py_func, stateful_op
from graph_api.convert import convert_to_tensor
from graph_api.graphs.graph import get_default_graph
from graph_api.graphs.graph_keys import GraphKeys
from graph_api.graphs.tensor import Tensor
from graph_api.graphs.variable import Variable
from graph_api.legacy.coordination import QueueRunner, add_queue_runner
from graph_api.legacy.queues import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from graph_api.sessions.resources import Resource


def _counted(value: Any, *, limit: int) -> Operand:
    if value >= limit:
        raise OutOfRangeError(f"Reached limit of {limit}")
    return value


below_limit = stateful_op(
    "below_limit",
    _counted,
    abstract=lambda value, *, limit: value,
    type="CountUpTo",
    args=("value",),
    doc="The value, while it is below a limit; then OutOfRangeError.",
)


def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """The files that a pattern matches, or one of several patterns, in order, when it runs.

    Parameters
    ----------
    pattern : string tensor
        With ``*``, ``?`` and ``[...]``, as `glob` has them.
    name : str, optional

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.io.matching_files("/no/such/*.csv")))
    []
    """

    def found(patterns: np.ndarray) -> np.ndarray:
        names = {file for one in np.ravel(patterns) for file in glob(one)}
        return np.array(sorted(os.fsencode(file) for file in names), object)

    files = py_func(found, [convert_to_tensor(pattern, string)], string, name=name or "MatchingFiles")
    files.set_shape([None])
    return files


def match_filenames_once(pattern: Any, name: str | None = None) -> Variable:
    """A local variable of the files that a pattern matches when it is initialized.

    Parameters
    ----------
    pattern : string tensor
        See `matching_files`.
    name : str, optional

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     files = tf.train.match_filenames_once("/no/such/*.csv")
    ...     sess.run(tf.local_variables_initializer())
    ...     print(sess.run(files))
    []
    """
    with get_default_graph().name_scope(name or "matching_filenames"):
        files, local = matching_files(pattern), [GraphKeys.LOCAL_VARIABLES]
        return Variable(files, name="files", trainable=False, validate_shape=False, collections=local)


def count_up_to(ref: Any, limit: int, name: str | None = None) -> Tensor:
    """The value of an integer variable, which is 1 more afterwards; OutOfRangeError when it is `limit`.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     n = tf.Variable(0)
    ...     up = tf.count_up_to(n, 2)
    ...     sess.run(n.initializer)
    ...     print(sess.run(up), sess.run(up))
    0 1
    """
    graph = get_default_graph()
    with graph.name_scope(name or "CountUpTo"):
        current = graph.apply(below_limit, (ref.read_value(),), {"limit": int(limit)}, name="CountUpTo")
        with graph.control_dependencies([ref.assign(current + 1)]):
            return graph.operand(shape.identity(current))


def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Tensor:
    """`tensor`, so many times; then OutOfRangeError. A local variable counts: initialize local variables too."""
    value = convert_to_tensor(tensor)
    if num_epochs is None:
        return value
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    graph = get_default_graph()
    with graph.name_scope(name or "limit_epochs"):
        epochs = Variable(
            np.int64(0), name="epochs", trainable=False, collections=[GraphKeys.LOCAL_VARIABLES]
        )  # fmt: skip
        with graph.control_dependencies([count_up_to(epochs, num_epochs)]):
            return shape.identity(value)


def input_producer(
    input_tensor: Any,
    element_shape: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> FIFOQueue:
    """A queue of the rows of a tensor, again and again, which a `QueueRunner` fills.

    Parameters
    ----------
    input_tensor : tensor
        Of known rank, at least 1, unless `element_shape` tells it.
    num_epochs : int, optional
        How often; by default for ever.
    shuffle : bool
        Whether each epoch is in another random order.
    seed : int, optional
    capacity : int
    element_shape : shape, optional
        Of a row, where the tensor's is unknown.
    shared_name, summary_name, name, cancel_op
        `summary_name` must be left out.

    Raises
    ------
    ValueError
        If the tensor has no rows.
    """
    if summary_name is not None:
        raise ValueError("input_producer: argument `summary_name` is not supported; leave it out")
    graph = get_default_graph()
    with graph.name_scope(name or "input_producer") as scope:
        rows = convert_to_tensor(input_tensor)
        dims = rows._aval.shape
        if dims is None and element_shape is not None:
            dims = (None, *(normalize_shape(element_shape) or ()))
        if not dims:
            raise ValueError("input_producer: a tensor with rows, of known rank, is needed")
        if shuffle:
            order = range_of(shape.shape(rows)[0])
            rows = gather.gather(rows, sampling.shuffle(order, seed=seed))
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(capacity, [rows.dtype], [dims[1:]], shared_name=shared_name, name=scope)
        add_queue_runner(QueueRunner(queue, [queue.enqueue_many([rows])], cancel_op=cancel_op))
    return queue


def string_input_producer(
    string_tensor: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> FIFOQueue:
    """A queue of strings (names of files); see `input_producer`."""
    if not isinstance(string_tensor, (Tensor, Variable)) and not len(string_tensor):
        raise ValueError("string_input_producer requires a non-null input tensor")
    return input_producer(
        convert_to_tensor(string_tensor, string), [], num_epochs, shuffle, seed, capacity, shared_name, None,
        name or "input_producer", cancel_op,
    )  # fmt: skip


def range_input_producer(
    limit: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> FIFOQueue:
    """A queue of the numbers from 0 up to a limit; see `input_producer`."""
    return input_producer(
        range_of(convert_to_tensor(limit)), None, num_epochs, shuffle, seed, capacity, shared_name, None,
        name or "input_producer",
    )  # fmt: skip


def slice_input_producer(
    tensor_list: Sequence[Any],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """One row of each of several tensors, the same row, from a queue; see `input_producer`."""
    if not tensor_list:
        raise ValueError("Expected at least one tensor in slice_input_producer().")
    graph = get_default_graph()
    with graph.name_scope(name or "input_producer"):
        tensors = [convert_to_tensor(t) for t in tensor_list]
        count = shape.shape(tensors[0])[0]
        index = range_input_producer(count, num_epochs, shuffle, seed, capacity, shared_name).dequeue()
        return [gather.gather(t, index) for t in tensors]


# ---- batches ---------------------------------------------------------------------------------------------------------


def _batched(
    tensors: Any, many: bool, shapes: Any, threads: int, make: Any, size: Any, smaller: bool, name: str
) -> Any:
    """Tensors that a queue collects: lists, dicts and single ones."""
    is_dict, single = isinstance(tensors, dict), not isinstance(tensors, (dict, list, tuple))
    keys = sorted(tensors) if is_dict else []
    flat = [tensors[k] for k in keys] if is_dict else [tensors] if single else list(tensors)
    if not flat:
        raise ValueError(f"{name}: at least one tensor is needed")
    graph = get_default_graph()
    with graph.name_scope(name) as scope:
        values = [convert_to_tensor(t) for t in flat]
        known = [v._aval.shape for v in values]
        inner = shapes if shapes is not None else [None if s is None else s[1:] if many else s for s in known]
        if any(s is None for s in inner):
            raise ValueError(f"{name}: all shapes must be fully defined; set them with set_shape, or give `shapes`")
        queue: QueueBase = make([v.dtype for v in values], inner)
        put = queue.enqueue_many if many else queue.enqueue
        add_queue_runner(QueueRunner(queue, [put(values)] * threads))
        out = (queue.dequeue_up_to if smaller else queue.dequeue_many)(size, name=scope)
    outputs = out if isinstance(out, list) else [out]
    return dict(zip(keys, outputs, strict=True)) if is_dict else outputs[0] if single else outputs


def batch(
    tensors: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of the values that tensors have in so many runs.

    Parameters
    ----------
    tensors : tensor, list or dict of tensors
        One example; or, with `enqueue_many`, some, along the first dimension.
    batch_size : int or tensor
    num_threads : int
        How many threads run them; with more than one the order is not fixed.
    capacity : int
        How many examples may wait.
    enqueue_many : bool
    shapes : list of shapes, optional
        Of an example.
    dynamic_pad : bool
        Whether dimensions that differ are filled up.
    allow_smaller_final_batch : bool
    shared_name, name : str, optional

    Returns
    -------
    tensor, list or dict of tensors
    """
    kind: Any = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    return _batched(
        tensors, enqueue_many, shapes, num_threads, lambda dtypes, inner: kind(capacity, dtypes, inner), batch_size,
        allow_smaller_final_batch, name or "batch",
    )  # fmt: skip


def shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """`batch` in random order: at least `min_after_dequeue` examples wait to be drawn from."""

    def make(dtypes: Any, inner: Any) -> RandomShuffleQueue:
        return RandomShuffleQueue(capacity, min_after_dequeue, dtypes, inner, seed=seed)

    return _batched(
        tensors, enqueue_many, shapes, num_threads, make, batch_size, allow_smaller_final_batch,
        name or "shuffle_batch",
    )  # fmt: skip


# ---- readers ---------------------------------------------------------------------------------------------------------


class _Reading:
    """Where a reader is in one session."""

    def __init__(self) -> None:
        self.file = ""
        self.left: Iterator[Any] = iter(())
        self.number = 0


class ReaderBase(Shown):
    """Reads records of the files whose names a queue has."""

    def __init__(self, name: str) -> None:
        self._resource = Resource(name)

    def records(self, name: str) -> Iterator[Any]:
        """The records of a file."""
        raise AttributeError(f"{type(self).__name__} does not define `records`")

    def key(self, name: str, number: int) -> str:
        """The key of a record."""
        return f"{name}:{number}"

    def read(self, queue: QueueBase, name: str | None = None) -> tuple[Tensor, Tensor]:
        """The key and the contents of the next record, as scalar strings.

        Raises
        ------
        OutOfRangeError
            When it runs, and the queue is closed and has no more files.
        """
        key, value = get_default_graph().apply(
            next_record, (self._resource.number, queue.queue_ref), {"reader": self, "queue": queue},
            name=name or "ReaderReadV2",
        )  # fmt: skip
        return key, value

    def following(self, reading: int, number: Any, queue: QueueBase) -> tuple[Any, Any]:
        """The next record in a session."""
        with self._resource.exclusively(reading, _Reading) as state:
            while True:
                element = next(state.left, None)
                if element is not None:
                    state.number += 1
                    return boxed(self.key(state.file, state.number).encode()), element[0]
                state.file = queue.elements(number).take(1)[0][0][()].decode()
                state.left, state.number = self.records(state.file), 0


next_record = stateful_op(
    "next_record",
    lambda resource, number, *, reader, queue: reader.following(int(resource), number, queue),
    abstract=lambda *_, reader, queue: (Aval((), string), Aval((), string)),
    type="ReaderReadV2",
    args=("resource", "queue"),
    multi=True,
    doc="The next record of the files whose names a queue has.",
)


class TextLineReader(ReaderBase):
    """Reads lines, but for the first `skip_header_lines` of each file."""

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        super().__init__(name or "TextLineReaderV2")
        self._skip = skip_header_lines or 0

    def records(self, name: str) -> Iterator[Any]:
        """The lines."""
        lines = read_lines(name)
        for _ in range(self._skip):
            next(lines, None)
        return lines

    def key(self, name: str, number: int) -> str:
        """The file and the number of the line in it."""
        return super().key(name, number + self._skip)


class TFRecordReader(ReaderBase):
    """Reads TFRecords."""

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        super().__init__(name or "TFRecordReaderV2")
        self._options = options

    def records(self, name: str) -> Iterator[Any]:
        """The records."""
        return read_tfrecords(name, self._options)


class FixedLengthRecordReader(ReaderBase):
    """Reads records of a fixed length, between a header and a footer."""

    def __init__(
        self, record_bytes: int, header_bytes: int | None = None, footer_bytes: int | None = None,
        hop_bytes: int | None = None, name: str | None = None, encoding: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name or "FixedLengthRecordReaderV2")
        if hop_bytes or encoding:
            raise InvalidArgumentError("FixedLengthRecordReader: `hop_bytes` and `encoding` are not supported")
        self._how = record_bytes, header_bytes or 0, footer_bytes or 0

    def records(self, name: str) -> Iterator[Any]:
        """The records."""
        return read_pieces(name, *self._how)


class WholeFileReader(ReaderBase):
    """Reads each file as one record, whose key is its name."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name or "WholeFileReaderV2")

    def records(self, name: str) -> Iterator[Any]:
        """The contents."""
        from dualgrad.files.atomic import read

        return iter([(boxed(read(name)),)])

    def key(self, name: str, number: int) -> str:
        """The file's name."""
        return name


__all__ = [
    "FixedLengthRecordReader", "ReaderBase", "TFRecordReader", "TextLineReader", "WholeFileReader", "batch",
    "input_producer", "limit_epochs", "match_filenames_once", "matching_files", "range_input_producer", "shuffle_batch",
    "slice_input_producer", "string_input_producer",
]  # fmt: skip
