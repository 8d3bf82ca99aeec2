"""Helpers that feed decoders: the right sequence while training, what they said themselves afterwards."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import graph_api as tf
from engine.core import nest
from engine.core.operands import Operand
from engine.core.value import shape_of
from graph_api.tensor import GraphShape, Tensor

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


class Helper:
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


class CustomHelper(Helper):
    """A helper of three functions."""

    def __init__(
        self, initialize_fn: Callable[..., Any], sample_fn: Callable[..., Any], next_inputs_fn: Callable[..., Any],
        sample_ids_shape: Any = None, sample_ids_dtype: Any = None,
    ) -> None:  # fmt: skip
        self._initialize, self._sample, self._next = initialize_fn, sample_fn, next_inputs_fn
        self.sample_ids_shape = GraphShape(sample_ids_shape or [])
        self.sample_ids_dtype = sample_ids_dtype or tf.int32

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """By the first function."""
        finished, inputs = self._initialize()
        self.batch_size = tf.size(finished)
        return finished, inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Tensor:
        """By the second function."""
        return self._sample(time=time, outputs=outputs, state=state)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """By the third function."""
        return self._next(time=time, outputs=outputs, state=state, sample_ids=sample_ids)


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


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """A `TrainingHelper` that sometimes feeds what was said.

    Parameters
    ----------
    inputs, sequence_length, time_major, name
        As of `TrainingHelper`.
    embedding : tensor or callable
        The inputs that stand for what was said.
    sampling_probability : float or tensor
        How often.
    seed, scheduling_seed : int, optional
    """

    def __init__(
        self, inputs: Any, sequence_length: Any, embedding: Any, sampling_probability: Any, time_major: bool = False,
        seed: int | None = None, scheduling_seed: int | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(inputs, sequence_length, time_major, name)
        self._embed, self._often = _embedding(embedding), tf.convert_to_tensor(sampling_probability)
        self._seeds = seed, scheduling_seed

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Tensor:
        """The sample that is drawn, or -1."""
        said = tf.cast(tf.multinomial(outputs, 1, seed=self._seeds[0])[:, 0], tf.int32)
        chosen = tf.random_uniform(tf.shape(said), seed=self._seeds[1]) < tf.cast(self._often, tf.float32)
        return tf.where(chosen, said, tf.fill(tf.shape(said), -1))

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """The next elements of the sequences, or rows for what was said."""
        finished, following, state = super().next_inputs(time, outputs, state, sample_ids)
        own = self._embed(tf.maximum(sample_ids, 0))
        return finished, tf.where(sample_ids > -1, own, following), state


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


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """A `GreedyEmbeddingHelper` that draws what is said, with the outputs (over a temperature) as logits."""

    def __init__(
        self,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        softmax_temperature: Any = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._temperature, self._seed = softmax_temperature, seed

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Tensor:
        """The sample that is drawn."""
        logits = outputs if self._temperature is None else outputs / self._temperature
        return tf.cast(tf.multinomial(logits, 1, seed=self._seed)[:, 0], tf.int32)


class InferenceHelper(Helper):
    """Feeds what a function makes of the outputs.

    Parameters
    ----------
    sample_fn : callable
        Of the outputs.
    sample_shape, sample_dtype
        Of one sample.
    start_inputs : tensor
    end_fn : callable
        Of samples: which sequences have ended.
    next_inputs_fn : callable, optional
        The next inputs from samples; by default these themselves.
    """

    def __init__(
        self, sample_fn: Callable[..., Any], sample_shape: Any, sample_dtype: Any, start_inputs: Any,
        end_fn: Callable[..., Any], next_inputs_fn: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        self._sample, self._end, self._next = sample_fn, end_fn, next_inputs_fn or (lambda x: x)
        self.sample_ids_shape, self.sample_ids_dtype = GraphShape(sample_shape), sample_dtype
        self._start = tf.convert_to_tensor(start_inputs)
        self.batch_size = tf.shape(self._start)[0]

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """None has ended."""
        return tf.fill([self.batch_size], False), self._start

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Operand:
        """By the function."""
        return self._sample(outputs)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """By the functions."""
        return self._end(sample_ids), self._next(sample_ids), state
