"""Recurrent layers: the loop that runs a cell over a sequence, and layers made of both.

A cell has ``cell(inputs, states) -> (output, new states)`` and a `state_size`; `RNN` runs it step by step. On a tape
that is a Python loop, in a graph a scan.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from dualgrad.keras import functions as tf
from dualgrad.keras import initializers
from dualgrad.keras.configs import deserialized, serialized
from dualgrad.keras.layers.base import Layer
from dualgrad.keras.layers.cells import GRUCell, LSTMCell, SimpleRNNCell, WeightedCell
from dualgrad.keras.settings import layer_name
from engine.core import nest
from engine.core.nest import Structure
from engine.core.operands import Operand, Results
from engine.core.tensor_shape import TensorShape
from engine.core.value import dtype_of, shape_of


class StackedRNNCells(Layer):
    """Cells on top of each other: the output of each is the input of the next."""

    def __init__(self, cells: Sequence[Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cells = list(cells)

    @property
    def state_size(self) -> Structure[Any]:
        """Those of the cells."""
        return [cell.state_size for cell in self.cells]

    @property
    def output_size(self) -> Any:
        """That of the last cell."""
        return self.cells[-1].output_size

    def call(self, inputs: Any, states: Any, training: Any = False) -> tuple[Operand, list[Any]]:
        """The output of the last cell, and the new states."""
        found = []
        for cell, own in zip(self.cells, states, strict=True):
            inputs, new = cell(inputs, own, training=training)
            found.append(new)
        return inputs, found


class RNN(Layer):
    """A cell run over a sequence.

    Parameters
    ----------
    cell : layer, or list of layers
        With `state_size`, and ``call(inputs, states) -> (output, new states)``.
    return_sequences : bool
        Whether the result has the outputs of all steps, or that of the last one.
    return_state : bool
        Whether the last states are returned too.
    go_backwards : bool
        Whether the sequence is gone through from its end; the outputs are in that order then.
    stateful : bool
        Whether a call begins with the states that the one before ended with, until `reset_states`. The size of the
        batch must be known when the layer is built. Not in graphs.
    unroll, time_major, zero_output_for_mask
        `time_major`: the inputs have the shape (time, batch, ...). `zero_output_for_mask`: outputs of steps left out
        are zeros, not those before them. `unroll` changes nothing but how fast TensorFlow is.
    max_bytes : int, optional
        For the gradient: few states are kept within that, and the steps between are computed again; the same bits.

    Examples
    --------
    >>> import tape_api as tf
    >>> layer = tf.keras.layers.LSTM(4, return_sequences=True)
    >>> layer(tf.ones([2, 5, 3])).shape
    TensorShape([2, 5, 4])
    """

    _not_keras: ClassVar[Mapping[str, tuple[Any, ...]]] = {"time_major": (False,), "max_bytes": (None,)}

    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        time_major: bool = False,
        max_bytes: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if stateful and not self.host.eager:
            raise NotImplementedError(
                f"{type(self).__name__}: `stateful` is not supported in graphs: return the state and pass it on"
            )
        self.stateful = stateful
        # not a list of the layer's own: kept states are no weights
        self._between = SimpleNamespace(states=[])
        self.cell = self.host.bound(StackedRNNCells)(cell) if isinstance(cell, (list, tuple)) else cell
        self.return_sequences, self.return_state, self.go_backwards = return_sequences, return_state, go_backwards
        self.zero_output_for_mask, self.time_major, self.max_bytes = zero_output_for_mask, time_major, max_bytes

    @property
    def units(self) -> int:
        """The size of the output."""
        return int(self.cell.units)

    def build(self, input_shape: Any) -> None:
        """Build the cell, and make the states that are kept."""
        shape = TensorShape(input_shape)
        if self.stateful:
            batch = shape[1 if self.time_major else 0]
            if batch is None:
                raise ValueError(
                    "When using `stateful=True` in a RNN, the batch size must be static. Found dynamic batch size: "
                    f"sequence.shape={shape}"
                )
        if isinstance(self.cell, WeightedCell) and not self.cell.built:
            with self.host.scope(self.cell):
                self.cell.build(TensorShape([None, *shape.as_list()[2:]]))
            self.cell.built = True
        if self.stateful:
            zeros = initializers.get(self.host, "zeros")
            self._between.states = [
                self.host.variable(self, "rnn_state", (batch, *dims), zeros, self._dtype, trainable=False)
                for dims in self._state_dims()
            ]

    def _state_dims(self) -> list[tuple[int, ...]]:
        """The dimensions of the states, behind that of the batch."""
        return [(size,) for size in nest.flatten(self.cell.state_size)]

    def call(
        self, inputs: Any, initial_state: Any = None, mask: Any = None, training: Any = False
    ) -> Operand | tuple[Operand, ...]:
        """The outputs, and the states if `return_state`."""
        inputs = self._numbers(inputs)
        rows = inputs if self.time_major else _turned(inputs)
        goes_on = None if mask is None else tf.cast(self.host.tensor(mask), "bool")
        if goes_on is not None and not self.time_major:
            goes_on = _turned(goes_on)
        if self.go_backwards:
            rows = tf.reverse(rows, [0])
            goes_on = None if goes_on is None else tf.reverse(goes_on, [0])
        state = self._first(rows, initial_state)
        last, outputs = self._run(rows, state, goes_on, training)
        if self.stateful:
            self.host.assign(self.states, lambda: nest.flatten(last))
        result = outputs[-1]
        if self.return_sequences:
            result = outputs if self.time_major else _turned(outputs)
        return (result, *nest.flatten(last)) if self.return_state else result

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> list[Operand | None]:
        """That of the steps, if the outputs of all steps are returned."""
        mask = None if previous_mask is None else nest.flatten(previous_mask)[0]
        return [mask if self.return_sequences else None]

    @property
    def states(self) -> list[Any]:
        """The states that are kept between calls, if `stateful`."""
        return list(self._between.states)

    def reset_states(self) -> None:
        """Begin with zeros again, if `stateful`."""
        self.host.set_values(self.states, [np.zeros(v.shape.as_list(), v.dtype.numpy) for v in self.states])

    reset_state = reset_states

    def get_initial_state(self, batch_size: Any) -> list[Any]:
        """The states that a sequence begins with: zeros."""
        return [
            self.host.tensor(tf.zeros(tf.stack([batch_size, *dims]), self._dtype)) for dims in self._state_dims()
        ]  # fmt: skip

    def _first(self, rows: Any, given: Any) -> list[Any]:
        """The states to start with: those given, or zeros."""
        sizes = self.cell.state_size
        wanted = nest.flatten(sizes)
        if given is not None:
            starts = [self.host.tensor(x) for x in nest.flatten(given)]
            if len(starts) != len(wanted):
                raise ValueError(f"layer {self.name!r}: expected {len(wanted)} states, got {len(starts)}")
        elif self.stateful:
            starts = [tf.identity(state) for state in self.states]
        else:
            batch = (shape_of(rows) or (None, None))[1]
            batch = tf.shape(rows)[1] if batch is None else batch
            every = self._state_dims()
            starts = [self.host.tensor(tf.zeros(tf.stack([batch, *dims]), dtype_of(rows))) for dims in every]
        return nest.pack_sequence_as(sizes, starts) if nest.is_nested(sizes) else [starts[0]]

    def _run(self, rows: Any, state: Any, goes_on: Any, training: Any) -> tuple[Any, Any]:
        """The scan of the cell over the rows."""
        if isinstance(self.cell, WeightedCell):
            masks = self.cell.masks(rows[0], nest.flatten(state)[0], training)

            def advance(x: Any, before: Any) -> tuple[Any, Any]:
                return self.cell.step(x, before, masks)
        else:

            def advance(x: Any, before: Any) -> tuple[Any, Any]:
                output, new = self.cell(x, before, **self._training(training))
                return output, new if nest.is_nested(new) else [new]

        if goes_on is None:
            return self.host.scan(lambda s, x: advance(x, s)[::-1], state, rows, max_bytes=self.max_bytes)
        # the output of a step left out is that of the step before
        first = tf.zeros_like(advance(rows[0], state)[0])

        def step(before: Any, row: Any) -> tuple[Any, Any]:
            (states, previous), (x, on) = before, row
            output, new = advance(x, states)
            kept = nest.map_structure(lambda a, b: tf.where(_column(on, a), a, b), new, states)
            left_out = tf.zeros_like(output) if self.zero_output_for_mask else previous
            shown = tf.where(_column(on, output), output, left_out)
            return (kept, shown), shown

        (last, _), outputs = self.host.scan(step, (state, first), (rows, goes_on), max_bytes=self.max_bytes)
        return last, outputs

    def _training(self, training: Any) -> dict[str, Any]:
        return {"training": training} if "training" in inspect.signature(self.cell.call).parameters else {}


def _column(flags: Any, like: Any) -> Operand:
    """One flag per example, with the rank of a value."""
    for _ in range(len(shape_of(like) or (0, 0)) - 1):
        flags = tf.expand_dims(flags, -1)
    return flags


def _turned(x: Any) -> Operand:
    """The first two dimensions exchanged."""
    return tf.transpose(x, [1, 0, *range(2, len(shape_of(x) or ()))])


_LOOP = (
    "return_sequences", "return_state", "go_backwards", "stateful", "unroll", "zero_output_for_mask", "time_major",
    "max_bytes",
)  # fmt: skip
_LAYER = ("trainable", "dtype", "input_shape", "input_dim", "batch_input_shape", "autocast", "activity_regularizer")


def _loop_options(
    self: Any,
    *,
    return_sequences: bool = False,
    return_state: bool = False,
    go_backwards: bool = False,
    stateful: bool = False,
    zero_output_for_mask: bool = False,
    max_bytes: int | None = None,
) -> None:
    """The parameters of `RNN` that layers made of a cell have, see `Layer._signatures`."""


class _Recurrent(RNN):
    """A layer made of a cell: the arguments of both in one call."""

    kind: type
    _not_taken: tuple[str, ...] = ("cell",)

    def __init__(self, units: int, *args: Any, name: str | None = None, **kwargs: Any) -> None:
        loop = {key: kwargs.pop(key) for key in (*_LOOP, *_LAYER) if key in kwargs}
        for way in ("implementation", "use_cudnn"):  # how TensorFlow multiplies
            kwargs.pop(way, None)
        dtype = {"dtype": loop["dtype"]} if "dtype" in loop else {}
        cell = self.host.bound(self.kind)(units, *args, name=layer_name(self.kind.__name__), **dtype, **kwargs)
        super().__init__(cell, name=name, **loop)

    @classmethod
    def _signatures(cls) -> list[Callable[..., Any]]:
        """The cell's parameters, and those of the loop."""
        kinds = cls.kind.__mro__
        cell = [vars(kind)["__init__"] for kind in kinds[: kinds.index(Layer)] if "__init__" in vars(kind)]
        return [_Recurrent.__init__, *cell, _loop_options]

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal layer, but for its weights."""
        config = super().get_config()
        return {name: value for name, value in config.items() if name not in self._not_taken}


class SimpleRNN(_Recurrent):
    """A `SimpleRNNCell` run over a sequence: the arguments of the cell, and those of `RNN`."""

    kind = SimpleRNNCell
    _not_taken = ("cell", "recurrent_activation")


class LSTM(_Recurrent):
    """A `LSTMCell` run over a sequence: the arguments of the cell, and those of `RNN`."""

    kind: type = LSTMCell


class GRU(_Recurrent):
    """A `GRUCell` run over a sequence: the arguments of the cell, and those of `RNN`."""

    kind = GRUCell


class Bidirectional(Layer):
    """A recurrent layer run over a sequence, and another one from the end.

    Parameters
    ----------
    layer : RNN
        Not built yet.
    merge_mode : {"concat", "sum", "mul", "ave", None}
        How the outputs of both are joined; None: a list.
    backward_layer : RNN, optional
        By default a copy of `layer` that goes backwards.
    """

    def __init__(
        self,
        layer: Any,
        merge_mode: str | None = "concat",
        weights: Any = None,
        backward_layer: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not isinstance(layer, RNN) or layer.built:
            raise ValueError(f"Bidirectional: argument `layer` must be an RNN that is not built yet, got {layer!r}")
        if merge_mode not in ("sum", "mul", "ave", "concat", None):
            raise ValueError(f"Invalid merge mode: {merge_mode}. It must be one of sum, mul, ave, concat, None.")
        self.merge_mode = merge_mode
        # both made anew, as in Keras: each initializer without a seed draws one
        self.forward_layer = deserialized(serialized(layer))
        self.backward_layer = deserialized(serialized(layer)) if backward_layer is None else backward_layer
        if backward_layer is None:
            self.backward_layer.go_backwards = not layer.go_backwards
        elif self.backward_layer.go_backwards == layer.go_backwards:
            raise ValueError("Bidirectional: `layer` and `backward_layer` must differ in `go_backwards`")
        for one in (self.forward_layer, self.backward_layer):
            one.zero_output_for_mask = one.return_sequences
        name = layer.name.removeprefix("forward_")  # a copy by its configuration has it already
        self.forward_layer._name, self.backward_layer._name = f"forward_{name}", f"backward_{name}"
        self._initial_weights = weights

    def call(self, inputs: Any, initial_state: Any = None, mask: Any = None, training: Any = None) -> Any:
        """The outputs of both, joined; and the states of both if the layer returns them."""
        starts: list[Any] = [None, None]
        if initial_state is not None:
            initial = nest.flatten(initial_state)
            starts = [initial[: len(initial) // 2], initial[len(initial) // 2 :]]
        layers = (self.forward_layer, self.backward_layer)
        runs = [
            layer(inputs, initial_state=s, mask=mask, training=training)
            for layer, s in zip(layers, starts, strict=True)
        ]
        if self._initial_weights is not None:
            values, self._initial_weights = self._initial_weights, None
            self.set_weights(values)
            return self.call(inputs, initial_state, mask, training)
        states: list[Any] = []
        if self.forward_layer.return_state:
            states = [s for one in runs for s in one[1:]]
            runs = [one[0] for one in runs]
        if self.forward_layer.return_sequences:
            runs[1] = tf.reverse(runs[1], [0 if self.forward_layer.time_major else 1])
        joined = self._joined(*runs)
        return (joined, *states) if states else joined

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> list[Operand | None]:
        """That of the steps, if the outputs of all steps are returned."""
        mask = None if previous_mask is None else nest.flatten(previous_mask)[0]
        shown = mask if self.forward_layer.return_sequences else None
        return [shown] * (2 if self.merge_mode is None else 1)

    def _joined(self, a: Any, b: Any) -> Results:
        if self.merge_mode == "concat":
            return tf.concat([a, b], -1)
        if self.merge_mode == "sum":
            return a + b
        if self.merge_mode == "ave":
            return (a + b) / 2
        return a * b if self.merge_mode == "mul" else [a, b]


class TimeDistributed(Layer):
    """A layer applied to each step of a sequence.

    Parameters
    ----------
    layer : layer
    """

    _hands_masks_on = True

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.layer = layer

    def call(self, inputs: Any, training: Any = None) -> Operand:
        """The results, of shape ``(batch, time, ...)``."""
        shape = shape_of(inputs)
        if shape is None or len(shape) < 3 or None in shape[2:]:
            raise ValueError(f"TimeDistributed: inputs must have rank 3 or more and a known shape, got {shape}")
        rows = self.layer(tf.reshape(inputs, [-1, *shape[2:]]))
        inner = (shape_of(rows) or (None,))[1:]
        first = tf.shape(inputs)[:2] if None in shape[:2] else list(shape[:2])
        return tf.reshape(
            rows, tf.concat([first, [d or -1 for d in inner]], 0) if None in shape[:2] else [*first, *inner]
        )
