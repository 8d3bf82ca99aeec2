"""Decoders: a cell that is fed by a helper until all sequences have ended."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import graph_api as tf
from engine.core import nest
from engine.core.value import Value, shape_of
from engine.runtime.faces import Shown
from graph_api.graphs.tensor import GraphShape
from graph_api.legacy.seq2seq.helpers import Helper

BasicDecoderOutput = namedtuple("BasicDecoderOutput", ("rnn_output", "sample_id"))
"""The output of a `BasicDecoder` at each time: the outputs, and what they say."""


class Decoder(Shown):
    """Base of decoders: `initialize` and `step`.

    Attributes
    ----------
    output_size, output_dtype : structures of shapes and of dtypes
        Of what a step gives, for one sequence.
    """

    output_size: Any
    output_dtype: Any
    tracks_own_finished = False

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """Which sequences have ended already, the first inputs, the first state."""
        raise NotImplementedError(f"{type(self).__name__} must define `initialize`")

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        """The outputs, the next state, the next inputs, and which sequences have ended."""
        raise NotImplementedError(f"{type(self).__name__} must define `step`")

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """The outputs and the last state, once all is done."""
        return outputs, final_state


class BasicDecoder(Decoder):
    """A cell, what it is fed with, and a layer for its outputs.

    Parameters
    ----------
    cell : RNNCell
    helper : Helper
    initial_state : structure of tensors
    output_layer : layer, optional
        Applied to the cell's outputs.
    """

    def __init__(self, cell: Any, helper: Helper, initial_state: Any, output_layer: Any = None) -> None:
        if not isinstance(helper, Helper):
            raise TypeError(f"helper must be a Helper, received: {type(helper)}")
        self._cell, self._helper, self._output_layer = cell, helper, output_layer
        self._initial_state = nest.map_structure(
            lambda x: tf.convert_to_tensor(x) if isinstance(x, Value) else x, initial_state
        )

    @property
    def batch_size(self) -> Any:
        """The number of sequences."""
        return self._helper.batch_size

    @property
    def output_size(self) -> BasicDecoderOutput:
        """The shapes of what a step gives for one sequence."""
        size = self._cell.output_size
        if self._output_layer is not None:
            size = self._output_layer.units
        return BasicDecoderOutput(GraphShape([size]), self._helper.sample_ids_shape)

    @property
    def output_dtype(self) -> BasicDecoderOutput:
        """The dtypes of what a step gives."""
        return BasicDecoderOutput(nest.flatten(self._initial_state)[0].dtype, self._helper.sample_ids_dtype)

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """The helper's beginning, and the first state."""
        return (*self._helper.initialize(), self._initial_state)

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        """Run the cell once."""
        with tf.name_scope(name or "BasicDecoderStep"):
            outputs, new = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            said = self._helper.sample(time=time, outputs=outputs, state=new)
            finished, following, new = self._helper.next_inputs(time=time, outputs=outputs, state=new, sample_ids=said)
        return BasicDecoderOutput(outputs, said), new, following, finished


def _where_ended(ended: Any, old: Any, new: Any) -> Any:
    """`old` for the sequences that have ended; what is not of sequences (counters, arrays) is new."""
    if not isinstance(new, Value) or len(shape_of(new) or ()) == 0:
        return new
    return tf.where(ended, old, new)


def _array(dtype: Any, batch: Any, size: Any) -> tf.TensorArray:
    """An array that collects outputs. It is told how large they are: what is drawn cannot be computed ahead to see."""
    array = tf.TensorArray(dtype, 0, dynamic_size=True)
    one = tf.zeros(tf.stack([batch, *GraphShape(size).as_list()]), dtype)
    return array.holding(array.zeros_for(one))


def dynamic_decode(
    decoder: Decoder, output_time_major: bool = False, impute_finished: bool = False, maximum_iterations: Any = None,
    parallel_iterations: int = 32, swap_memory: bool = False, scope: Any = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Run a decoder until all sequences have ended.

    Parameters
    ----------
    decoder : Decoder
    output_time_major : bool
        Whether the first dimension of the outputs is the time, not the batch.
    impute_finished : bool
        Whether, where a sequence has ended, outputs are zeros and the state stays.
    maximum_iterations : int or tensor, optional
        When to end at the latest.
    parallel_iterations, swap_memory
        Accepted for compatibility.
    scope : str or VariableScope, optional

    Returns
    -------
    final_outputs, final_state, final_sequence_lengths

    Raises
    ------
    TypeError
        If `decoder` is none.

    Examples
    --------
    >>> import graph_api as tf
    >>> s = tf.contrib.seq2seq
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     cell = tf.nn.rnn_cell.BasicRNNCell(3)
    ...     helper = s.TrainingHelper(tf.ones([2, 4, 3]), [4, 1])
    ...     outputs, state, lengths = s.dynamic_decode(s.BasicDecoder(cell, helper, tf.zeros([2, 3])))
    ...     sess.run(tf.global_variables_initializer())
    ...     print(sess.run(outputs.rnn_output).shape, sess.run(lengths))
    (2, 4, 3) [4 1]
    """
    if not isinstance(decoder, Decoder):
        raise TypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}")
    with tf.variable_scope(scope, "decoder"):
        limit = None if maximum_iterations is None else tf.cast(maximum_iterations, tf.int32)
        ended, inputs, state = decoder.initialize()
        if limit is not None:
            ended = tf.logical_or(ended, limit <= 0)
        lengths = tf.zeros_like(ended, tf.int32)
        structure: list[Any] = []
        kinds = zip(nest.flatten(decoder.output_dtype), nest.flatten(decoder.output_size), strict=True)
        arrays = [_array(dtype, tf.size(ended), size) for dtype, size in kinds]

        def body(time: Any, arrays: Any, state: Any, inputs: Any, ended: Any, lengths: Any) -> tuple[Any, ...]:
            outputs, new, following, now = decoder.step(time, inputs, state)
            if not decoder.tracks_own_finished:
                now = tf.logical_or(now, ended)
            if limit is not None:
                now = tf.logical_or(now, time + 1 >= limit)
            counted = tf.where(ended, lengths, tf.fill(tf.shape(lengths), time + 1))
            if impute_finished:
                outputs = nest.map_structure(lambda x: _where_ended(ended, tf.zeros_like(x), x), outputs)
                kept = [_where_ended(ended, a, b) for a, b in zip(nest.flatten(state), nest.flatten(new), strict=True)]
                new = nest.pack_sequence_as(new, kept)
            structure[:] = [nest.map_structure(lambda x: x, outputs)]
            arrays = [a.write(time, x) for a, x in zip(arrays, nest.flatten(outputs), strict=True)]
            return time + 1, arrays, new, following, now, counted

        start = (tf.constant(0), arrays, state, inputs, ended, lengths)
        _, arrays, state, _, _, lengths = tf.while_loop(
            lambda time, arrays, state, inputs, ended, lengths: tf.logical_not(tf.reduce_all(ended)), body, start
        )
        stacked = []
        for array, step in zip(arrays, nest.flatten(structure[0]), strict=True):
            whole = array.stack()
            whole.set_shape([None, *(shape_of(step) or ())] if shape_of(step) is not None else None)
            stacked.append(whole)
        outputs = nest.pack_sequence_as(structure[0], stacked)
        outputs, state = decoder.finalize(outputs, state, lengths)
        if not output_time_major:
            outputs = nest.map_structure(
                lambda x: tf.transpose(x, [1, 0, *range(2, len(shape_of(x) or (0, 0)))]), outputs
            )
    return outputs, state, lengths
