"""Cells of recurrent networks: ``tf.nn.rnn_cell``, ``tf.contrib.rnn``.

A cell is a layer: ``output, new_state = cell(inputs, state)``. Its variables have TensorFlow 1's names and layouts, so
that checkpoints fit.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from dualgrad.keras import activations
from dualgrad.keras import functions as tf
from engine.core import nest
from engine.core.dtypes import as_dtype
from engine.core.nest import Structure
from engine.core.operands import Operand
from engine.core.value import Value, dtype_of, shape_of
from engine.core.variable import Variable
from graph_api.convert import convert_to_tensor, finish
from graph_api.graphs.graph import get_default_graph
from graph_api.graphs.tensor import Tensor
from graph_api.initial_values import constant_initializer, zeros_initializer
from graph_api.legacy.layers.base import Layer, host

LSTMStateTuple = namedtuple("LSTMStateTuple", ("c", "h"))
"""The state of an LSTM cell: what it holds, and its last output."""
LSTMStateTuple.dtype = property(lambda self: self.c.dtype)  # type: ignore[attr-defined]


def zeros_of(sizes: Any, batch_size: Any, dtype: Any) -> Structure[Tensor]:
    """Zeros of shape ``(batch_size, size)`` for each of some sizes (ints or shapes)."""
    wanted = as_dtype(dtype)
    if not isinstance(sizes, int) and nest.is_nested(sizes):
        return nest.map_structure(lambda size: zeros_of(size, batch_size, wanted), sizes)
    dims = [int(d) for d in (sizes if hasattr(sizes, "__iter__") else [sizes])]
    shape = [batch_size, *dims]
    if isinstance(batch_size, Value):
        shape = tf.stack([tf.cast(batch_size, "int32"), *dims])
    return finish(tf.zeros, None, shape, wanted)


class RNNCell(Layer):
    """Base of the cells. A subclass defines `state_size`, `output_size` and `call`, or `__call__`.

    Examples
    --------
    >>> import graph_api as tf
    >>> class Leaky(tf.nn.rnn_cell.RNNCell):
    ...     state_size = output_size = 2
    ...     def call(self, inputs, state):
    ...         new = 0.9 * state + inputs
    ...         return new, new
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     outputs, last = tf.nn.dynamic_rnn(Leaky(), tf.ones([1, 3, 2]), dtype=tf.float32)
    ...     print(sess.run(last))
    [[2.71 2.71]]
    """

    def __init__(self, trainable: bool = True, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(trainable=trainable, name=name, dtype=dtype, **kwargs)

    def __call__(self, inputs: Any, state: Any, scope: Any = None, **kwargs: Any) -> tuple[Any, Any]:  # type: ignore[override]
        """The output and the new state.

        Parameters
        ----------
        inputs : tensor, shape (batch, input size)
        state : structure of tensors, like `state_size`
        scope : str or VariableScope, optional
            In the first call: the variable scope to use.
        """
        if "_added" not in vars(self):  # programs leave out `super().__init__()`
            super().__init__()
        return super().__call__(inputs, state, scope=scope, **kwargs)

    @property
    def state_size(self) -> Structure[Any]:
        """The size of the state: an int, a shape, or a structure of these."""
        raise NotImplementedError(f"{type(self).__name__} must define `state_size`")

    @property
    def output_size(self) -> int:
        """The size of the output."""
        raise NotImplementedError(f"{type(self).__name__} must define `output_size`")

    def zero_state(self, batch_size: Any, dtype: Any) -> Structure[Tensor]:
        """A state of zeros.

        Parameters
        ----------
        batch_size : int or int tensor
        dtype : DType
        """
        with get_default_graph().name_scope(f"{type(self).__name__}ZeroState"):
            return zeros_of(self.state_size, batch_size, dtype)

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Structure[Tensor]:
        """`zero_state` for given inputs, or for a batch size and a dtype."""
        if inputs is not None:
            x = convert_to_tensor(inputs)
            known = shape_of(x)
            batch_size = tf.shape(x)[0] if known is None or known[0] is None else known[0]
            dtype = dtype_of(x)
        if batch_size is None or dtype is None:
            raise ValueError("get_initial_state: give `inputs`, or `batch_size` and `dtype`")
        return self.zero_state(batch_size, dtype)


def _depth(cell: Any, input_shape: Any) -> int:
    """The size of the inputs, which must be known."""
    shape = input_shape[0] if isinstance(input_shape, list) else input_shape
    size = shape.as_list()[-1] if shape.rank else None
    if size is None:
        raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {shape} (cell {cell.name!r})")
    return int(size)


def _product(values: list[Any], kernel: Any, bias: Any = None) -> Operand:
    """``concat(values) @ kernel + bias``."""
    out = tf.matmul(tf.concat(values, 1), kernel)
    return out if bias is None else host.named("BiasAdd", tf.bias_add, out, bias)


class _WeightedCell(RNNCell):
    """Cells of a number of units, with an activation."""

    def __init__(
        self, num_units: int, activation: Any, reuse: Any, name: str | None, dtype: Any, **kwargs: Any
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units = num_units
        self._activation = activations.get(host, activation) if activation else tf.tanh

    @property
    def output_size(self) -> int:
        """The number of units."""
        return self._num_units

    @property
    def state_size(self) -> Structure[Any]:
        """The number of units."""
        return self._num_units

    def _add(self, name: str, shape: list[int], initializer: Any = None) -> Variable:
        return self.add_variable(name, shape=shape, initializer=initializer)


class BasicRNNCell(_WeightedCell):
    """``output = new_state = activation(W [inputs, state] + b)``.

    Parameters
    ----------
    num_units : int
    activation : callable or str, optional
        By default tanh.
    reuse : bool, optional
        Whether its variables must exist.
    name : str, optional
    dtype : DType, optional
    """

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)

    def build(self, inputs_shape: Any) -> None:
        """Make kernel and bias."""
        units = self._num_units
        self._kernel = self._add("kernel", [_depth(self, inputs_shape) + units, units])
        self._bias = self._add("bias", [units], zeros_initializer())
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """The output, which is the new state."""
        output = self._activation(_product([inputs, state], self._kernel, self._bias))
        return output, output


class GRUCell(_WeightedCell):
    """A gated recurrent unit.

    Parameters
    ----------
    num_units : int
    activation : callable or str, optional
        By default tanh.
    reuse : bool, optional
    kernel_initializer, bias_initializer : initializer, optional
        By default the scope's; for biases 1 for the gates and 0 for the candidate.
    name : str, optional
    dtype : DType, optional

    References
    ----------
    K. Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014.
    """

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer

    def build(self, inputs_shape: Any) -> None:
        """Make kernels and biases of gates and candidate."""
        units = self._num_units
        rows = _depth(self, inputs_shape) + units
        gate_bias = self._bias_initializer or constant_initializer(1.0)
        self._gate_kernel = self._add("gates/kernel", [rows, 2 * units], self._kernel_initializer)
        self._gate_bias = self._add("gates/bias", [2 * units], gate_bias)
        self._candidate_kernel = self._add("candidate/kernel", [rows, units], self._kernel_initializer)
        self._candidate_bias = self._add("candidate/bias", [units], self._bias_initializer or zeros_initializer())
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """The output, which is the new state."""
        gates = tf.sigmoid(_product([inputs, state], self._gate_kernel, self._gate_bias))
        reset, update = tf.split(gates, 2, 1)
        candidate = self._activation(_product([inputs, reset * state], self._candidate_kernel, self._candidate_bias))
        output = update * state + (1 - update) * candidate
        return output, output


class LSTMCell(_WeightedCell):
    """A long short-term memory with peepholes, clipping and a projection of the output, as wanted.

    Parameters
    ----------
    num_units : int
    use_peepholes : bool
        Whether the gates see what the cell holds.
    cell_clip : float, optional
        What the cell holds is limited to [-cell_clip, cell_clip].
    initializer : initializer, optional
        Of the weights.
    num_proj : int, optional
        Size of the output, which is a linear function of what it would be otherwise.
    proj_clip : float, optional
        The projected output is limited to [-proj_clip, proj_clip].
    num_unit_shards, num_proj_shards
        Must be None: variables are not partitioned.
    forget_bias : float
        Added to the forget gates.
    state_is_tuple : bool
    activation : callable or str, optional
        By default tanh.
    reuse : bool, optional
    name : str, optional
    dtype : DType, optional

    References
    ----------
    H. Sak, A. Senior, F. Beaufays, "Long short-term memory recurrent neural network architectures", 2014.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: Any = None,
        num_proj_shards: Any = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        if num_unit_shards is not None or num_proj_shards is not None:
            raise ValueError("LSTMCell: `num_unit_shards` and `num_proj_shards` must be None: nothing is partitioned")
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)
        self._use_peepholes, self._initializer = use_peepholes, initializer
        self._cell_clip, self._num_proj, self._proj_clip = cell_clip, num_proj, proj_clip
        self._forget_bias, self._state_is_tuple = forget_bias, state_is_tuple

    @property
    def state_size(self) -> Structure[Any]:
        """The sizes of both parts, as a `LSTMStateTuple` or (if not `state_is_tuple`) added up."""
        sizes = LSTMStateTuple(self._num_units, self.output_size)
        return sizes if self._state_is_tuple else sum(sizes)

    def _c_and_h(self, state: Any) -> tuple[Any, Any]:
        if self._state_is_tuple:
            if not isinstance(state, (tuple, list)) or len(state) != 2:
                raise ValueError(f"cell {self.name!r}: the state must be a LSTMStateTuple (c, h), got {state!r}")
            c, h = state
            return c, h
        c, h = tf.split(state, [self._num_units, self.output_size], 1)
        return c, h

    def _joined(self, c: Any, h: Any) -> LSTMStateTuple | Operand:
        return LSTMStateTuple(c, h) if self._state_is_tuple else tf.concat([c, h], 1)

    @property
    def output_size(self) -> int:
        """The number of units, or the size of the projection."""
        return self._num_units if self._num_proj is None else self._num_proj

    def build(self, inputs_shape: Any) -> None:
        """Make the variables."""
        units, outputs = self._num_units, self.output_size
        self._kernel = self._add("kernel", [_depth(self, inputs_shape) + outputs, 4 * units], self._initializer)
        self._bias = self._add("bias", [4 * units], zeros_initializer())
        if self._use_peepholes:
            self._seen = [self._add(f"w_{gate}_diag", [units], self._initializer) for gate in "fio"]
        if self._num_proj is not None:
            self._projection = self._add("projection/kernel", [units, outputs], self._initializer)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """The output and the new state."""
        c, h = self._c_and_h(state)
        gates = _product([inputs, h], self._kernel, self._bias)
        i, j, f, o = tf.split(gates, 4, 1)
        forget = f + self._forget_bias
        if self._use_peepholes:
            by_f, by_i, by_o = self._seen
            forget, i = forget + by_f * c, i + by_i * c
        new_c = tf.sigmoid(forget) * c + tf.sigmoid(i) * self._activation(j)
        if self._cell_clip is not None:
            new_c = tf.clip(new_c, -self._cell_clip, self._cell_clip)
        if self._use_peepholes:
            o = o + by_o * new_c
        new_h = tf.sigmoid(o) * self._activation(new_c)
        if self._num_proj is not None:
            new_h = tf.matmul(new_h, self._projection)
            if self._proj_clip is not None:
                new_h = tf.clip(new_h, -self._proj_clip, self._proj_clip)
        return new_h, self._joined(new_c, new_h)


class BasicLSTMCell(LSTMCell):
    """A long short-term memory without peepholes, clipping and projection.

    Parameters
    ----------
    num_units : int
    forget_bias : float
        Added to the forget gates.
    state_is_tuple : bool
        Whether the state is a `LSTMStateTuple`; if not, both parts side by side.
    activation : callable or str, optional
        By default tanh.
    reuse : bool, optional
    name : str, optional
    dtype : DType, optional

    References
    ----------
    W. Zaremba, I. Sutskever, O. Vinyals, "Recurrent neural network regularization", 2014.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        kwargs.pop("input_size", None)
        own = {"activation": activation, "reuse": reuse, "name": name, "dtype": dtype}
        super().__init__(num_units, forget_bias=forget_bias, state_is_tuple=state_is_tuple, **own, **kwargs)


__all__ = [
    "BasicLSTMCell", "BasicRNNCell", "GRUCell", "LSTMCell", "LSTMStateTuple", "RNNCell",
]  # fmt: skip
