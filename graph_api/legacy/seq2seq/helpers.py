"""Helpers that feed decoders: the right sequence while training, what they said themselves afterwards."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import graph_api as tf
from engine.core import nest
from engine.core.operands import Operand
from engine.core.value import shape_of
from engine.runtime.faces import Shown
from graph_api.graphs.tensor import GraphShape, Tensor

Embedding = Callable[[Any], Any]


def _embedding(embedding: Any) -> Embedding:
    """The function that a table of rows, or a function, stands for."""
    return embedding if callable(embedding) else lambda ids: tf.nn.embedding_lookup(embedding, ids)


def _vector(name: str, argument: str, x: Any) -> Tensor:
    tensor = tf.convert_to_tensor(x)
    shape = shape_of(tensor)
    if shape is not None and len(shape) != 1:
        raise ValueError(f"{name}: argument `{argument}` must be a vector, got shape {shape}")
    return tensor


class Helper(Shown):
    """Base of helpers: `initialize`, `sample` and `next_inputs`."""

    batch_size: Any
    sample_ids_shape: Any = GraphShape([])
    sample_ids_dtype = tf.int32

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Which sequences have ended already, and the first inputs."""
        raise NotImplementedError(f"{type(self).__name__} must define `initialize`")

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Operand:
        """The sample that the outputs give."""
        raise NotImplementedError(f"{type(self).__name__} must define `sample`")

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Which sequences have ended, the next inputs, and the state."""
        raise NotImplementedError(f"{type(self).__name__} must define `next_inputs`")


class TrainingHelper(Helper):
    """Feeds given sequences.

    Parameters
    ----------
    inputs : structure of tensors, shape (batch, time, ...)
    sequence_length : int vector
    time_major : bool
        Whether the first dimension of `inputs` is the time.
    name : str, optional
    """

    def __init__(self, inputs: Any, sequence_length: Any, time_major: bool = False, name: str | None = None) -> None:
        tensors = nest.map_structure(tf.convert_to_tensor, inputs)
        self.inputs = inputs
        self.sequence_length = tf.cast(_vector(type(self).__name__, "sequence_length", sequence_length), tf.int32)
        self.batch_size = tf.size(self.sequence_length)
        if not time_major:
            tensors = nest.map_structure(
                lambda x: tf.transpose(x, [1, 0, *range(2, len(shape_of(x) or (0, 0)))]), tensors
            )
        self._rows = nest.map_structure(
            lambda x: tf.TensorArray(x.dtype, tf.shape(x)[0], element_shape=x.shape[1:]).unstack(x), tensors
        )
        self._zeros = nest.map_structure(lambda x: tf.zeros_like(x[0]), tensors)

    def _at(self, time: Any, finished: Any) -> Any:
        ended = tf.reduce_all(finished)
        rows, zeros = nest.flatten(self._rows), nest.flatten(self._zeros)
        read = [
            tf.cond(ended, partial(tf.identity, zero), partial(row.read, time))
            for row, zero in zip(rows, zeros, strict=True)
        ]
        return nest.pack_sequence_as(self._zeros, read)

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Sequences of length 0 have ended."""
        finished = tf.equal(0, self.sequence_length)
        return finished, self._at(0, finished)

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Tensor:
        """The largest output's place."""
        return tf.cast(tf.argmax(outputs, axis=-1), tf.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """The next elements of the sequences."""
        finished = time + 1 >= self.sequence_length
        return finished, self._at(time + 1, finished), state


class GreedyEmbeddingHelper(Helper):
    """Feeds rows for what the decoder said last, its best guess.

    Parameters
    ----------
    embedding : tensor or callable
        A table whose rows are the inputs, or a function of ids.
    start_tokens : int vector
        The first ids.
    end_token : int
        What ends a sequence.
    """

    def __init__(self, embedding: Any, start_tokens: Any, end_token: Any) -> None:
        self._embed = _embedding(embedding)
        self._start = tf.cast(_vector(type(self).__name__, "start_tokens", start_tokens), tf.int32)
        self._end = tf.cast(tf.convert_to_tensor(end_token), tf.int32)
        if shape_of(self._end) not in (None, ()):
            raise ValueError(f"{type(self).__name__}: argument `end_token` must be a scalar")
        self.batch_size = tf.size(self._start)

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """None has ended."""
        return tf.fill(tf.shape(self._start), False), self._embed(self._start)

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Tensor:
        """The largest output's place."""
        return tf.cast(tf.argmax(outputs, axis=-1), tf.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """The rows of what was said."""
        return tf.equal(sample_ids, self._end), self._embed(sample_ids), state
