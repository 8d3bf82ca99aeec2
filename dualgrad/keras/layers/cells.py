"""Cells of recurrent layers: one step, ``cell(inputs, states) -> (output, new states)``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dualgrad.keras import activations, initializers
from dualgrad.keras import functions as tf
from dualgrad.keras.layers.base import Layer
from engine.core import nest
from engine.core.operands import Operand
from engine.core.tensor_shape import TensorShape
from engine.core.variable import Variable


class WeightedCell(Layer):
    """The base of the cells: weights for inputs and for the state, biases, dropout."""

    parts: int
    """How many matrices of `units` columns the kernels consist of."""
    _seeds_first = False
    """Whether the seed of the dropout is drawn before those of the weights, as in Keras's `SimpleRNNCell`."""

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not isinstance(units, int) or units <= 0:
            raise ValueError(f"Received an invalid value for `units`, expected a positive integer. Received: {units=}")
        self.units = units
        self.activation = activations.get(self.host, activation)
        self.recurrent_activation = activations.get(self.host, recurrent_activation)
        self.use_bias = use_bias
        self.dropout, self.recurrent_dropout, self.seed = dropout, recurrent_dropout, seed
        self._options = {
            "kernel": (kernel_initializer, kernel_regularizer, kernel_constraint),
            "recurrent_kernel": (recurrent_initializer, recurrent_regularizer, recurrent_constraint),
            "bias": (bias_initializer, bias_regularizer, bias_constraint),
        }
        # here, not where weights are made: seeds that are not given are drawn in this order
        if self._seeds_first:
            self._seeds = self.host.seeds(seed)
        self._starts = {name: initializers.get(self.host, given) for name, (given, *_) in self._options.items()}
        if not self._seeds_first:
            self._seeds = self.host.seeds(seed)

    state_size: Any = property(lambda self: self.units)
    output_size: Any = property(lambda self: self.units)

    def _add(self, name: str, shape: tuple[int, ...], initializer: Any = None) -> Variable:
        _, regularizer, constraint = self._options[name]
        start = self._starts[name] if initializer is None else initializer
        return self.add_weight(
            shape=shape, name=name, initializer=start, regularizer=regularizer, constraint=constraint
        )

    def build(self, input_shape: Any) -> None:
        """Make the weights."""
        size = TensorShape(input_shape)[-1]
        if size is None:
            raise ValueError(f"layer {self.name!r}: the last dimension of the inputs must be known, got {input_shape}")
        columns = self.parts * self.units
        self.kernel = self._add("kernel", (int(size), columns))
        self.recurrent_kernel = self._add("recurrent_kernel", (self.units, columns))
        self.bias = self._add_bias() if self.use_bias else None

    def _add_bias(self) -> Operand:
        return self._add("bias", (self.parts * self.units,))

    def masks(self, inputs: Any, state: Any, training: Any) -> tuple[Any, Any]:
        """Factors of inputs and state: what is dropped in all steps of a sequence; None for nothing.

        As in Keras there is one for each part of the kernels, if something of the state is dropped.
        """

        def mask(x: Any, rate: float) -> Any:
            if not rate or training is False:
                return None
            ones = tf.ones_like(x)

            def drawn() -> Operand:
                return self.host.choose(
                    training, lambda: self.host.dropout(ones, rate, None, self._seeds), lambda: ones
                )

            return [drawn() for _ in range(self.parts)] if self.recurrent_dropout and self.parts > 1 else drawn()

        return mask(inputs, self.dropout), mask(state, self.recurrent_dropout)

    def call(self, inputs: Any, states: Any, training: Any = False) -> tuple[Operand, list[Operand]]:
        """The output and the new states."""
        first = nest.flatten(states)[0]
        return self.step(inputs, states, self.masks(inputs, first, training))

    def step(self, inputs: Any, states: Any, masks: tuple[Any, Any]) -> tuple[Operand, list[Operand]]:
        """`call`, with factors that `masks` gave."""
        own = nest.flatten(states)
        dropped, kept = masks
        output, new = self.advance(_times(inputs, dropped), _times(own[0], kept), own)
        return output, nest.pack_sequence_as(states, new) if nest.is_nested(states) else new[0]

    def advance(self, inputs: Any, hidden: Any, states: Sequence[Any]) -> tuple[Any, list[Any]]:
        """The output and the new states; `hidden` is the first state, with dropout: a list for parts of the kernels."""
        raise NotImplementedError

    def _from_inputs(self, inputs: Any, bias: Any) -> Operand:
        out = _product(inputs, self.kernel)
        return out if bias is None else tf.bias_add(out, bias)

    def get_initial_state(self, batch_size: Any = None, dtype: Any = None) -> list[Operand]:
        """Zeros."""
        sizes = nest.flatten(self.state_size)
        return [self.host.tensor(tf.zeros([batch_size, size], dtype or self.dtype)) for size in sizes]


def _times(x: Any, masks: Any) -> Any:
    return x if masks is None else [x * mask for mask in masks] if isinstance(masks, list) else x * masks


def _product(x: Any, kernel: Any) -> Operand:
    """The product with a kernel, or of each of a list with a part of it."""
    if not isinstance(x, list):
        return tf.matmul(x, kernel)
    return tf.concat([tf.matmul(a, k) for a, k in zip(x, tf.split(kernel, len(x), 1), strict=True)], 1)


class SimpleRNNCell(WeightedCell):
    """``output = new state = activation(inputs @ kernel + state @ recurrent_kernel + bias)``.

    Parameters
    ----------
    units, activation, use_bias, ...
        As in `LSTMCell`, without `recurrent_activation`.
    """

    _seeds_first = True
    parts = 1

    def __init__(self, units: int, activation: Any = "tanh", use_bias: bool = True, *args: Any, **kwargs: Any) -> None:
        super().__init__(units, activation, None, use_bias, *args, **kwargs)

    def advance(self, inputs: Any, hidden: Any, states: Sequence[Any]) -> tuple[Any, list[Any]]:
        """The output, which is the new state."""
        output = self.activation(self._from_inputs(inputs, self.bias) + tf.matmul(hidden, self.recurrent_kernel))
        return output, [output]


class LSTMCell(WeightedCell):
    """A long short-term memory, whose states are its output and what it holds.

    Parameters
    ----------
    units : int
    activation, recurrent_activation : str or callable
        Of the new content, and of the gates.
    use_bias : bool
    kernel_initializer, recurrent_initializer, bias_initializer : str or callable
    kernel_regularizer, recurrent_regularizer, bias_regularizer : str or callable, optional
    kernel_constraint, recurrent_constraint, bias_constraint : str or callable, optional
    dropout, recurrent_dropout : float
        Which part of the inputs and of the state is dropped while training: the same elements in all steps.
    unit_forget_bias : bool
        Whether the biases of the forget gates are 1 at first.
    seed : int, optional
    """

    parts = 4

    def __init__(self, units: int, *args: Any, unit_forget_bias: bool = True, **kwargs: Any) -> None:
        super().__init__(units, *args, **kwargs)
        self.unit_forget_bias = unit_forget_bias

    state_size = property(lambda self: [self.units, self.units])

    def _add_bias(self) -> Operand:
        start = self._starts["bias"]

        def forgetting(shape: Any, dtype: Any = None) -> Operand:
            """Ones for the forget gates."""
            ones = tf.ones([self.units], dtype)
            return tf.concat([start((self.units,), dtype=dtype), ones, start((2 * self.units,), dtype=dtype)], 0)

        return self._add("bias", (4 * self.units,), forgetting if self.unit_forget_bias else start)

    def advance(self, inputs: Any, hidden: Any, states: Sequence[Any]) -> tuple[Any, list[Any]]:
        """The output, and output and content as the new states."""
        gates = self._from_inputs(inputs, None) + _product(hidden, self.recurrent_kernel)
        if self.bias is not None:
            gates = tf.bias_add(gates, self.bias)
        i, f, c, o = tf.split(gates, 4, 1)
        gate = self.recurrent_activation
        content = gate(f) * states[1] + gate(i) * self.activation(c)
        output = gate(o) * self.activation(content)
        return output, [output, content]


class GRUCell(WeightedCell):
    """A gated recurrent unit.

    Parameters
    ----------
    units, activation, recurrent_activation, ...
        As in `LSTMCell`.
    reset_after : bool
        Whether the reset gate is applied after the product with the recurrent kernel (as cuDNN does), or before.
    """

    parts = 3

    def __init__(self, units: int, *args: Any, reset_after: bool = True, **kwargs: Any) -> None:
        super().__init__(units, *args, **kwargs)
        self.reset_after = reset_after

    def _add_bias(self) -> Operand:
        columns = 3 * self.units
        return self._add("bias", (2, columns) if self.reset_after else (columns,))

    def advance(self, inputs: Any, hidden: Any, states: Sequence[Any]) -> tuple[Any, list[Any]]:
        """The output, which is the new state."""
        if self.bias is None:
            own = other = None
        else:
            own, other = tf.unstack(self.bias) if self.reset_after else (self.bias, None)
        update, reset, new = tf.split(self._from_inputs(inputs, own), 3, 1)
        gate = self.recurrent_activation
        if self.reset_after:
            inner = _product(hidden, self.recurrent_kernel)
            inner = inner if other is None else tf.bias_add(inner, other)
            to_update, to_reset, to_new = tf.split(inner, 3, 1)
            update, reset = gate(update + to_update), gate(reset + to_reset)
            new = self.activation(new + reset * to_new)
        else:
            kernels = tf.split(self.recurrent_kernel, [2 * self.units, self.units], 1)
            first, last = (hidden[:2], hidden[2]) if isinstance(hidden, list) else (hidden, hidden)
            to_update, to_reset = tf.split(_product(first, kernels[0]), 2, 1)
            update, reset = gate(update + to_update), gate(reset + to_reset)
            new = self.activation(new + tf.matmul(reset * last, kernels[1]))
        output = update * states[0] + (1 - update) * new
        return output, [output]


__all__ = ["GRUCell", "LSTMCell", "SimpleRNNCell"]
