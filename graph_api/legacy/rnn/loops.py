"""Cells run over sequences: `dynamic_rnn`, `static_rnn`, their bidirectional forms, and `raw_rnn`.

`dynamic_rnn` is a scan of the graph, whose body is the cell; gradients of any order go through it. Where an element of
the batch has ended (`sequence_length`), its outputs are zeros and its state stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dualgrad.keras import functions as tf
from engine.core import nest
from engine.core.dtypes import as_dtype
from engine.core.nest import Structure
from engine.core.operands import Operand
from engine.core.value import dtype_of, shape_of
from engine.runtime.errors import ShapeError
from graph_api.control_flow.assertions import assert_equal
from graph_api.control_flow.control import while_loop
from graph_api.control_flow.scans import scanned
from graph_api.control_flow.tensor_array import TensorArray
from graph_api.convert import convert_to_tensor
from graph_api.graphs.graph import get_default_graph
from graph_api.graphs.scopes import variable_scope
from graph_api.graphs.tensor import Tensor
from graph_api.legacy.rnn.cells import zeros_of

Pair = tuple[Any, Any]


def _turned(x: Any) -> Operand:
    """The first two dimensions exchanged."""
    shape = shape_of(x)
    if shape is None:
        raise ShapeError(f"the rank of {x!r} must be known, to exchange batch and time; give it one with set_shape")
    return tf.transpose(x, [1, 0, *range(2, len(shape))])


def _size(x: Any, axis: int) -> Tensor | int:
    """A dimension, as a number if it is known."""
    shape = shape_of(x)
    known = None if shape is None else shape[axis]
    return tf.shape(x)[axis] if known is None else known


def _first_state(cell: Any, initial_state: Any, batch_size: Any, dtype: Any) -> Structure[Tensor]:
    """The state to start with, of tensors."""
    if initial_state is not None:
        return nest.map_structure(convert_to_tensor, initial_state)
    if dtype is None:
        raise ValueError("If there is no initial_state, you must give a dtype.")
    return cell.zero_state(batch_size, as_dtype(dtype))


def _lengths(sequence_length: Any, batch_size: Any) -> Operand | None:
    """The lengths of the sequences as an int32 vector, one for each element of the batch; None if there are none."""
    if sequence_length is None:
        return None
    lengths = tf.cast(convert_to_tensor(sequence_length), "int32")
    shape = shape_of(lengths)
    if shape is not None and len(shape) != 1:
        raise ShapeError(f"sequence_length must be a vector of length batch_size, but saw shape: {shape}")
    if isinstance(batch_size, int) and shape is not None and shape[0] is not None:
        if shape[0] != batch_size:
            raise ShapeError(
                f"sequence_length must have one entry per element of the batch ({batch_size}), got {shape}"
            )
        return lengths
    right = assert_equal(tf.shape(lengths)[0], batch_size)
    with get_default_graph().control_dependencies([right]):
        return tf.identity(lengths)


def _beside(mask: Any, x: Any) -> Operand:
    """A mask of shape (batch,) with as many dimensions as `x`."""
    rank = len(shape_of(x) or ())
    return tf.reshape(mask, [-1] + [1] * (rank - 1)) if rank > 1 else mask


def _kept(mask: Any, new: Any, old: Any) -> Operand:
    """`new` where a sequence goes on, else `old`; scalars of the state are always new."""

    def chosen(a: Any, b: Any) -> Operand:
        return tf.where(_beside(mask, a), a, b) if len(shape_of(a) or ()) else a

    return nest.map_structure(chosen, new, old)


def _zeros(structure: Any) -> Structure[Tensor]:
    return nest.map_structure(tf.zeros_like, structure)


def _require_cell(name: str, cell: Any) -> None:
    missing = [a for a in ("output_size", "state_size") if not hasattr(cell, a)]
    if missing or not callable(cell):
        raise TypeError(f"{name}: the argument `cell` must be an RNNCell, got {cell!r}")


def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
    max_bytes: int | None = None,
) -> Pair:
    """A cell applied to a sequence, step by step.

    Parameters
    ----------
    cell : RNNCell
    inputs : tensor or structure of tensors, shape (batch, time, ...)
        ``(time, batch, ...)`` if `time_major`.
    sequence_length : int vector, shape (batch,), optional
        How many steps each element of the batch has. Behind them its outputs are zeros and its state stays.
    initial_state : structure of tensors, optional
        By default the cell's zero state, for which `dtype` must be given.
    dtype : DType, optional
    parallel_iterations, swap_memory
        Accepted for compatibility.
    time_major : bool
    scope : str or VariableScope, optional
        By default ``"rnn"``.
    max_bytes : int, optional
        As in `tf.while_loop`.

    Returns
    -------
    outputs : structure of tensors like the cell's output, shape (batch, time, ...)
    state : structure of tensors
        The last one.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default():
    ...     cell = tf.nn.rnn_cell.BasicLSTMCell(4)
    ...     outputs, state = tf.nn.dynamic_rnn(cell, tf.zeros([2, 5, 3]), [5, 3], dtype=tf.float32)
    ...     print(outputs.shape, state.h.shape, tf.trainable_variables()[0].name)
    (2, 5, 4) (2, 4) rnn/basic_lstm_cell/kernel:0
    """
    _require_cell("dynamic_rnn", cell)
    with variable_scope(scope or "rnn"):
        columns = nest.map_structure(convert_to_tensor, inputs)
        if not time_major:
            columns = nest.map_structure(_turned, columns)
        first = nest.flatten(columns)[0]
        batch_size = _size(first, 1)
        state = _first_state(cell, initial_state, batch_size, dtype)
        lengths = _lengths(sequence_length, batch_size)
        if lengths is None:
            last, outputs = scanned("dynamic_rnn", lambda s, x: cell(x, s)[::-1], state, columns, max_bytes=max_bytes)
        else:
            last, outputs = _masked(cell, columns, state, lengths, _size(first, 0), max_bytes)
        if not time_major:
            outputs = nest.map_structure(_turned, outputs)
        return outputs, last


def _masked(cell: Any, columns: Any, state: Any, lengths: Any, steps: Any, max_bytes: int | None) -> Pair:
    """A scan in which each element of the batch ends at its length."""
    goes_on = tf.expand_dims(tf.range(steps), 1) < tf.expand_dims(lengths, 0)

    def step(before: Any, row: Pair) -> tuple[Any, ...]:
        x, mask = row
        output, new = cell(x, before)
        return _kept(mask, new, before), _kept(mask, output, _zeros(output))

    last, outputs = scanned("dynamic_rnn", step, state, (columns, goes_on), max_bytes=max_bytes)
    return last, outputs


def static_rnn(
    cell: Any,
    inputs: Sequence[Any],
    initial_state: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """A cell applied to a list of inputs, one operation after the other.

    Parameters
    ----------
    cell : RNNCell
    inputs : list of (tensor or structure of tensors), shape (batch, ...)
    initial_state, dtype, sequence_length, scope
        As in `dynamic_rnn`.

    Returns
    -------
    outputs : list
    state : structure of tensors
        The last one.
    """
    _require_cell("static_rnn", cell)
    if not isinstance(inputs, (list, tuple)):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    outputs: list[Any] = []
    with variable_scope(scope or "rnn") as opened:
        rows = [nest.map_structure(convert_to_tensor, x) for x in inputs]
        batch_size = _size(nest.flatten(rows[0])[0], 0)
        state = _first_state(cell, initial_state, batch_size, dtype)
        lengths = _lengths(sequence_length, batch_size)
        for t, x in enumerate(rows):
            if t:
                opened.reuse_variables()
            output, new = cell(x, state)
            if lengths is not None:
                mask = t < lengths
                output, new = _kept(mask, output, _zeros(output)), _kept(mask, new, state)
            outputs.append(output)
            state = new
    return outputs, state


def _reversed(x: Any, lengths: Any, time_axis: int) -> Operand:
    """A sequence backwards; of each element only as much as its length."""
    if lengths is None:
        return tf.reverse(x, [time_axis])
    return tf.reverse_sequence(x, lengths, seq_axis=time_axis, batch_axis=1 - time_axis)


def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Pair, Pair]:
    """One cell applied to a sequence, and another one to the same sequence backwards; see `dynamic_rnn`.

    Returns
    -------
    (outputs_fw, outputs_bw), (state_fw, state_bw)
        The outputs of both in the order of the inputs.
    """
    axis = 0 if time_major else 1
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as own:
            ahead = dynamic_rnn(
                cell_fw, inputs, sequence_length, initial_state_fw, dtype, time_major=time_major, scope=own
            )
        with variable_scope("bw") as own:
            turned = nest.map_structure(lambda x: _reversed(convert_to_tensor(x), sequence_length, axis), inputs)
            back = dynamic_rnn(
                cell_bw, turned, sequence_length, initial_state_bw, dtype, time_major=time_major, scope=own
            )
        outputs = nest.map_structure(lambda x: _reversed(x, sequence_length, axis), back[0])
    return (ahead[0], outputs), (ahead[1], back[1])


def raw_rnn(
    cell: Any,
    loop_fn: Callable[..., Any],
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """A cell applied step by step to what a function makes of its outputs.

    Parameters
    ----------
    cell : RNNCell
    loop_fn : callable
        ``loop_fn(time, cell_output, cell_state, loop_state)`` returns ``(finished, next_input, next_cell_state,
        emit_output, next_loop_state)``. First it is called with time 0 and None for the others.
    parallel_iterations, swap_memory
        Accepted for compatibility.
    scope : str or VariableScope, optional

    Returns
    -------
    emit_ta : TensorArray or structure of these
        What was emitted: zeros for elements of the batch that had ended.
    state, loop_state
        The last ones.
    """
    _require_cell("raw_rnn", cell)
    with variable_scope(scope or "rnn"):
        time = convert_to_tensor(0)
        finished, x, state, emitted, loop_state = loop_fn(time, None, None, None)
        x, state = (nest.map_structure(convert_to_tensor, s) for s in (x, state))
        batch_size = _size(nest.flatten(x)[0], 0)
        nothing = _nothing(cell, emitted, batch_size, dtype_of(nest.flatten(state)[0]))
        has_loop_state = loop_state is not None
        arrays = nest.map_structure(
            lambda z: TensorArray(dtype_of(z), size=0, dynamic_size=True, element_shape=shape_of(z)), nothing
        )
        kept = loop_state if has_loop_state else 0

        def step(t: Any, ended: Any, given: Any, outs: Any, before: Any, more: Any) -> tuple[Any, ...]:
            output, new = cell(given, before)
            now, after, following, emit, loop = loop_fn(t + 1, output, new, more if has_loop_state else None)
            emit = output if emit is None else emit
            emit, following = _kept(~ended, emit, nothing), _kept(~ended, following, before)
            outs = nest.map_structure(lambda a, e: a.write(t, e), outs, emit)
            return (
                *(t + 1, tf.logical_or(ended, convert_to_tensor(now)), after, outs, following),
                loop if has_loop_state else more,
            )

        start = (time, convert_to_tensor(finished), x, arrays, state, kept)
        last = while_loop(lambda t, ended, *_: ~tf.reduce_all(ended), step, start)
    return last[3], last[4], last[5] if has_loop_state else None


def _nothing(cell: Any, emitted: Any, batch_size: Any, dtype: Any) -> Structure[Tensor]:
    """Zeros like what is emitted at each step."""
    if emitted is None:
        return zeros_of(cell.output_size, batch_size, dtype)
    return nest.map_structure(
        lambda e: zeros_of(list(shape_of(convert_to_tensor(e)) or ()), batch_size, dtype_of(convert_to_tensor(e))),
        emitted,
    )


__all__ = ["bidirectional_dynamic_rnn", "dynamic_rnn", "raw_rnn", "static_rnn"]
