"""Attention: cells that look, at each time, at what another sequence says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import graph_api as tf
from engine.core import nest
from engine.core.operands import Operand
from engine.core.value import shape_of
from graph_api.legacy import layers
from graph_api.legacy.rnn.cells import RNNCell
from graph_api.tensor import Tensor


class AttentionWrapperState(NamedTuple):
    """The state of an `AttentionWrapper`: that of its cell, and where it looked last."""

    cell_state: Any
    attention: Any
    time: Any
    alignments: Any
    alignment_history: Any
    attention_state: Any

    def clone(self, **kwargs: Any) -> AttentionWrapperState:
        """The same with other parts."""
        return self._replace(**kwargs)


def hardmax(logits: Any, name: str | None = None) -> Operand:
    """1 at the largest of the last dimension, 0 elsewhere."""
    with tf.name_scope(name or "Hardmax"):
        logits = tf.convert_to_tensor(logits)
        depth = logits.shape[-1].value or tf.shape(logits)[-1]
        return tf.one_hot(tf.argmax(logits, -1), depth, dtype=logits.dtype)


def tile_batch(t: Any, multiplier: int, name: str | None = None) -> Any:
    """Each element of the batch `multiplier` times, one after the other, in a structure of tensors."""
    with tf.name_scope(name or "tile_batch"):
        return nest.map_structure(lambda x: tf.repeat(tf.convert_to_tensor(x), multiplier, 0), t)


class AttentionMechanism:
    """Base of mechanisms: how well a query fits each element of a memory.

    Parameters
    ----------
    num_units : int
        The size of what is compared.
    memory : tensor, shape (batch, time, size)
    memory_sequence_length : int vector, optional
        How many of the times of each element count.
    probability_fn : callable, optional
        Makes weights of scores; the softmax by default.
    score_mask_value : float, optional
        The score of what does not count.
    query_layer : layer, optional
        Applied to queries.
    name : str
    """

    def __init__(
        self, num_units: int, memory: Any, memory_sequence_length: Any, probability_fn: Callable[..., Any] | None,
        score_mask_value: Any, query_layer: Any, name: str, dtype: Any = None,
    ) -> None:  # fmt: skip
        self._num_units, self._name = num_units, name
        self._weights = probability_fn or tf.nn.softmax
        self.query_layer = query_layer
        self.memory_layer = layers.Dense(num_units, name="memory_layer", use_bias=False)
        self.values = tf.convert_to_tensor(memory)
        self._mask = None
        if memory_sequence_length is not None:
            lengths = tf.convert_to_tensor(memory_sequence_length)
            self._mask = tf.sequence_mask(lengths, tf.shape(self.values)[1])
            self.values = self.values * tf.cast(tf.expand_dims(self._mask, -1), self.values.dtype)
        self._worst = -np.inf if score_mask_value is None else score_mask_value
        self.keys = self.memory_layer(self.values)

    @property
    def batch_size(self) -> int | Tensor:
        """The number of sequences."""
        return self.keys.shape[0].value or tf.shape(self.keys)[0]

    @property
    def alignments_size(self) -> int | Tensor:
        """The number of times."""
        return self.keys.shape[1].value or tf.shape(self.keys)[1]

    @property
    def state_size(self) -> int | Tensor:
        """The size of the state, which is the last weights."""
        return self.alignments_size

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Operand:
        """Zeros."""
        return tf.zeros(tf.stack([batch_size, self.alignments_size]), dtype)

    initial_state = initial_alignments

    def score(self, query: Any) -> Tensor:
        """How well a query fits."""
        raise NotImplementedError(f"{type(self).__name__} must define `score`")

    def __call__(self, query: Any, state: Any = None, previous_alignments: Any = None) -> tuple[Any, Any]:
        """The weights of the memory's elements for a query, and the next state, which is the same."""
        with tf.variable_scope(None, self._name):
            score = self.score(query)
        if self._mask is not None:
            score = tf.where(self._mask, score, tf.fill(tf.shape(score), score.dtype.as_numpy_dtype(self._worst)))
        weights = self._weights(score)
        return weights, weights


class BahdanauAttention(AttentionMechanism):
    """The score ``sum(v * tanh(keys + query))``.

    Parameters
    ----------
    num_units, memory, memory_sequence_length, probability_fn, score_mask_value
        As of `AttentionMechanism`.
    normalize : bool
        Whether `v` has a length of its own, and there is a bias.
    dtype, name : optional
    """

    def __init__(
        self, num_units: int, memory: Any, memory_sequence_length: Any = None, normalize: bool = False,
        probability_fn: Callable[..., Any] | None = None, score_mask_value: Any = None, dtype: Any = None,
        name: str = "BahdanauAttention",
    ) -> None:  # fmt: skip
        layer = layers.Dense(num_units, name="query_layer", use_bias=False)
        super().__init__(
            num_units, memory, memory_sequence_length, probability_fn, score_mask_value, layer, "bahdanau_attention"
        )
        self._normalize = normalize

    def score(self, query: Any) -> Tensor:
        """How well a query fits."""
        asked = tf.expand_dims(self.query_layer(query), 1)
        dtype = query.dtype
        v: Any = tf.get_variable("attention_v", [self._num_units], dtype)
        if self._normalize:
            g = tf.get_variable("attention_g", [], dtype, tf.constant_initializer((1.0 / self._num_units) ** 0.5))
            b = tf.get_variable("attention_b", [self._num_units], dtype, tf.zeros_initializer())
            v, asked = g * v * tf.rsqrt(tf.reduce_sum(tf.square(v))), asked + b
        return tf.reduce_sum(v * tf.tanh(self.keys + asked), [2])


class LuongAttention(AttentionMechanism):
    """The score ``keys @ query``, whose size is the memory's.

    Parameters
    ----------
    num_units, memory, memory_sequence_length, probability_fn, score_mask_value
        As of `AttentionMechanism`.
    scale : bool
        Whether a variable scales the scores.
    dtype, name : optional
    """

    def __init__(
        self, num_units: int, memory: Any, memory_sequence_length: Any = None, scale: bool = False,
        probability_fn: Callable[..., Any] | None = None, score_mask_value: Any = None, dtype: Any = None,
        name: str = "LuongAttention",
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, memory, memory_sequence_length, probability_fn, score_mask_value, None, "luong_attention"
        )
        self._scale = scale

    def score(self, query: Any) -> Tensor:
        """How well a query fits.

        Raises
        ------
        ValueError
            If it has another size.
        """
        size = (shape_of(query) or (None,))[-1]
        if size is not None and size != self._num_units:
            raise ValueError(
                f"Incompatible or unknown inner dimensions between query and keys: the query has {size} units, the "
                f"attention {self._num_units}; give LuongAttention the number of units of the cell"
            )
        scores = tf.squeeze(tf.matmul(tf.expand_dims(query, 1), self.keys, transpose_b=True), [1])
        if self._scale:
            scores = scores * tf.get_variable("attention_g", [], query.dtype, tf.ones_initializer())
        return scores


class AttentionWrapper(RNNCell):
    """A cell that sees, besides its inputs, what it looked at last, and looks again with its output.

    Parameters
    ----------
    cell : RNNCell
    attention_mechanism : AttentionMechanism, or list of these
    attention_layer_size : int or list of int, optional
        The size of a layer over the output and what was looked at; without it what was looked at is the attention.
    alignment_history : bool
        Whether the state collects the weights of all times, in a TensorArray.
    cell_input_fn : callable, optional
        ``cell_input_fn(inputs, attention)``; both side by side by default.
    output_attention : bool
        Whether the output is the attention, not the cell's output.
    initial_cell_state : structure of tensors, optional
    name : str, optional
    attention_layer : layer or list of layers, optional
        In place of `attention_layer_size`.
    """

    def __init__(
        self, cell: Any, attention_mechanism: Any, attention_layer_size: Any = None, alignment_history: bool = False,
        cell_input_fn: Callable[..., Any] | None = None, output_attention: bool = True, initial_cell_state: Any = None,
        name: str | None = None, attention_layer: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(name=name)
        self._single = not isinstance(attention_mechanism, (list, tuple))
        self._mechanisms = [attention_mechanism] if self._single else list(attention_mechanism)
        if attention_layer is not None and attention_layer_size is not None:
            raise ValueError("Only one of attention_layer_size and attention_layer should be set")
        if attention_layer is not None:
            self._layers = [attention_layer] if self._single else list(attention_layer)
        elif attention_layer_size is not None:
            sizes = [attention_layer_size] if self._single else list(attention_layer_size)
            self._layers = [layers.Dense(size, name="attention_layer", use_bias=False) for size in sizes]
        else:
            self._layers = [None] * len(self._mechanisms)
        if len(self._layers) != len(self._mechanisms):
            raise ValueError(f"{len(self._mechanisms)} mechanisms need as many layers, got {len(self._layers)}")
        self._cell, self._keeps, self._initial = cell, alignment_history, initial_cell_state
        self._inputs = cell_input_fn or (lambda inputs, attention: tf.concat([inputs, attention], -1))
        self._output_attention = output_attention

    def _of_each(self, values: list[Any]) -> Any:
        return values[0] if self._single else tuple(values)

    def _each(self, values: Any) -> list[Any]:
        return [values] if self._single else list(values)

    @property
    def _attention_size(self) -> int:
        sizes = [
            int(m.values.shape[-1]) if layer is None else int(layer.units)
            for m, layer in zip(self._mechanisms, self._layers, strict=True)
        ]
        return sum(sizes)

    @property
    def output_size(self) -> Any:
        """The size of the attention, or of the cell's output."""
        return self._attention_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> AttentionWrapperState:
        """The sizes of the parts of the state."""
        sizes = self._of_each([m.alignments_size for m in self._mechanisms])
        history = self._of_each([()] * len(self._mechanisms))
        return AttentionWrapperState(self._cell.state_size, self._attention_size, (), sizes, history, sizes)

    def zero_state(self, batch_size: Any, dtype: Any) -> AttentionWrapperState:
        """The state before the first time."""
        with tf.name_scope(f"{type(self).__name__}ZeroState"):
            cell = self._cell.zero_state(batch_size, dtype) if self._initial is None else self._initial
            weights = [m.initial_alignments(batch_size, dtype) for m in self._mechanisms]
            history = [
                tf.TensorArray(dtype, 0, dynamic_size=True, infer_shape=False) if self._keeps else ()
                for _ in self._mechanisms
            ]
            return AttentionWrapperState(
                cell, tf.zeros(tf.stack([batch_size, self._attention_size]), dtype), tf.zeros([], tf.int32),
                self._of_each(weights), self._of_each(history), self._of_each(list(weights)),
            )  # fmt: skip

    def call(self, inputs: Any, state: Any) -> tuple[Any, AttentionWrapperState]:
        """The output and the new state.

        Raises
        ------
        TypeError
            If the state is none of an `AttentionWrapper`.
        """
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(
                f"Expected state to be instance of AttentionWrapperState. Received type {type(state)} instead: begin "
                f"with zero_state(...).clone(cell_state=...)"
            )
        output, cell_state = self._cell(self._inputs(inputs, state.attention), state.cell_state)
        attentions, weights, states, history = [], [], [], []
        parts = (self._each(state.attention_state), self._each(state.alignment_history))
        for mechanism, layer, before, kept in zip(self._mechanisms, self._layers, *parts, strict=True):
            alignments, following = mechanism(output, state=before)
            context = tf.squeeze(tf.matmul(tf.expand_dims(alignments, 1), mechanism.values), [1])
            attentions.append(context if layer is None else layer(tf.concat([output, context], 1)))
            weights.append(alignments)
            states.append(following)
            history.append(kept.write(state.time, alignments) if self._keeps else ())
        attention = attentions[0] if len(attentions) == 1 else tf.concat(attentions, 1)
        new = AttentionWrapperState(
            cell_state, attention, state.time + 1, self._of_each(weights), self._of_each(history), self._of_each(states)
        )
        return attention if self._output_attention else output, new
