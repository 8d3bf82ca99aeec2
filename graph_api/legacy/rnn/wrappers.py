"""Cells made of cells: layers of them, dropout, shortcuts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dualgrad.keras import functions as tf
from engine.core import nest
from engine.core.nest import Structure
from engine.core.operands import Operand
from engine.core.value import Value, dtype_of, shape_of
from graph_api.convert import convert_to_tensor
from graph_api.graphs.graph import get_default_graph
from graph_api.graphs.scopes import variable_scope
from graph_api.graphs.tensor import Tensor
from graph_api.legacy.layers.base import host
from graph_api.legacy.rnn.cells import LSTMStateTuple, RNNCell
from graph_api.sampling import dropout


class MultiRNNCell(RNNCell):
    """Cells on top of each other: the output of each is the input of the next.

    Parameters
    ----------
    cells : sequence of RNNCell
    state_is_tuple : bool
        Whether the state is a tuple of the cells' states; if not, these side by side.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default():
    ...     cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(4), tf.nn.rnn_cell.GRUCell(2)])
    ...     outputs, states = tf.nn.dynamic_rnn(cell, tf.zeros([3, 5, 1]), dtype=tf.float32)
    ...     print(outputs.shape, cell.state_size, len(states))
    (3, 5, 2) (4, 2) 2
    """

    def __init__(self, cells: Sequence[Any], state_is_tuple: bool = True) -> None:
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not isinstance(cells, (list, tuple)):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells!r}.")
        self._cells, self._state_is_tuple = list(cells), state_is_tuple
        if not state_is_tuple and any(nest.is_nested(c.state_size) for c in cells):
            raise ValueError(
                f"Some cells return tuples of states, but the flag state_is_tuple is not set.  State sizes are: "
                f"{[c.state_size for c in cells]}"
            )

    @property
    def state_size(self) -> tuple[Any, ...]:
        """The sizes of the cells' states."""
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> int:
        """That of the last cell."""
        return self._cells[-1].output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Structure[Tensor]:
        """The zero states of the cells."""
        with get_default_graph().name_scope(f"{type(self).__name__}ZeroState"):
            if not self._state_is_tuple:
                return super().zero_state(batch_size, dtype)
            return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """The output of the last cell, and the new states."""
        states = state if self._state_is_tuple else tf.split(state, [c.state_size for c in self._cells], 1)
        if len(states) != len(self._cells):
            raise ValueError(
                f"Expected state to be a tuple of length {len(self._cells)}, but received: {state!r}"
            )  # fmt: skip
        new_states = []
        for i, (cell, own) in enumerate(zip(self._cells, states, strict=True)):
            with variable_scope(f"cell_{i}"):
                inputs, new = cell(inputs, own)
            new_states.append(new)
        return inputs, tuple(new_states) if self._state_is_tuple else tf.concat(new_states, 1)


class _Inside(RNNCell):
    """A cell around another one, whose sizes and states are its own."""

    def __init__(self, cell: Any, reuse: Any = None) -> None:
        super().__init__(_reuse=reuse)
        self._cell = cell

    @property
    def state_size(self) -> Any:
        """That of the cell inside."""
        return self._cell.state_size

    @property
    def output_size(self) -> int:
        """That of the cell inside."""
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Structure[Tensor]:
        """That of the cell inside."""
        return self._cell.zero_state(batch_size, dtype)


class _Wrapper(_Inside):
    """A cell that hands on to another one, in the same scope."""

    @property
    def wrapped_cell(self) -> RNNCell:
        """The cell inside."""
        return self._cell

    def zero_state(self, batch_size: Any, dtype: Any) -> Structure[Tensor]:
        """That of the cell inside."""
        with get_default_graph().name_scope(f"{type(self).__name__}ZeroState"):
            return super().zero_state(batch_size, dtype)

    def _inner(self, inputs: Any, state: Any, scope: Any) -> tuple[Operand, ...]:
        return self._cell(inputs, state) if scope is None else self._cell(inputs, state, scope=scope)


class DropoutWrapper(_Wrapper):
    """Dropout of a cell's inputs, outputs and states.

    Parameters
    ----------
    cell : RNNCell
    input_keep_prob, output_keep_prob, state_keep_prob : float or tensor
        With which probability an element is kept; 1 for no dropout. What an LSTM holds (`c`) is never dropped.
    variational_recurrent : bool
        If True, the same elements are dropped in all steps; `dtype` must be given then, and `input_size` for inputs.
    input_size : int or shape, optional
    dtype : DType, optional
    seed : int, optional
    dropout_state_filter_visitor : callable, optional
        ``dropout_state_filter_visitor(state)`` says for each part of the state whether it takes part.
    """

    def __init__(
        self,
        cell: Any,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: Any = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(cell)
        self._keep = {"input": input_keep_prob, "state": state_keep_prob, "output": output_keep_prob}
        for what, keep in self._keep.items():
            if isinstance(keep, Value) and keep.shape.ndims is None:
                self._keep[what] = tf.reshape(keep, ())  # one that is fed without a shape is a scalar
            if not isinstance(keep, Value) and not 0 <= float(keep) <= 1:
                raise ValueError(f"DropoutWrapper: `{what}_keep_prob` must be between 0 and 1, got {keep}")
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError("dropout_state_filter_visitor must be callable")
        self._seed, self._visitor = seed, dropout_state_filter_visitor
        self._noises: dict[str, Any] | None = None
        if variational_recurrent:
            self._draw(dtype, input_size)

    def _draw(self, dtype: Any, input_size: Any) -> None:
        """Draw once what is dropped in all steps."""
        if dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")
        sizes = {"state": self._cell.state_size, "output": self._cell.output_size}
        if self._drops("input"):
            if input_size is None:
                raise ValueError(
                    "When variational_recurrent=True and input_keep_prob < 1.0, input_size must be provided"
                )
            sizes["input"] = input_size
        self._noises = {
            what: [
                host.source.uniform([1, int(n)], dtype=dtype, seed=self._own(what, i))
                for i, n in enumerate(nest.flatten(of))
            ]
            for what, of in sizes.items()
        }

    def _own(self, what: str, index: int) -> int | None:
        """A seed for each of the three and each part, made of the one given."""
        if self._seed is None:
            return None
        return (self._seed + 1000003 * ("input", "state", "output").index(what) + 7919 * index) % 2**31

    def _drops(self, what: str) -> bool:
        keep = self._keep[what]
        return isinstance(keep, Value) or float(keep) < 1

    def _dropped(self, what: str, x: Any, index: int) -> Operand:
        keep = self._keep[what]
        if self._noises is None:
            return dropout(x, keep, seed=self._own(what, index))
        kept = tf.cast(self._noises[what][index] < keep, dtype_of(x))
        return x * kept / keep

    def _applied(self, what: str, values: Any) -> Operand:
        """Dropout of the parts of a structure."""
        if not self._drops(what):
            return values
        flat = nest.flatten(values)
        chosen = nest.flatten(self._chosen(values)) if what == "state" else [True] * len(flat)
        dropped = [self._dropped(what, x, i) if c else x for i, (x, c) in enumerate(zip(flat, chosen, strict=True))]
        return nest.pack_sequence_as(values, dropped)

    def _chosen(self, state: Any) -> Structure[bool]:
        """Which parts of the state take part."""
        if self._visitor is not None:
            return self._visitor(state)
        if isinstance(state, LSTMStateTuple):
            return LSTMStateTuple(False, True)
        if isinstance(state, (list, tuple)):
            return type(state)([self._chosen(s) for s in state])
        return True

    def __call__(self, inputs: Any, state: Any, scope: Any = None, **kwargs: Any) -> tuple[Any, ...]:  # type: ignore[override]
        """The output and the new state, with some elements dropped."""
        inputs = self._applied("input", nest.map_structure(convert_to_tensor, inputs))
        output, new = self._inner(inputs, state, scope)
        return self._applied("output", output), self._applied("state", new)


class ResidualWrapper(_Wrapper):
    """A cell whose inputs are added to its outputs.

    Parameters
    ----------
    cell : RNNCell
    residual_fn : callable, optional
        ``residual_fn(inputs, outputs)`` in place of the sum.
    """

    def __init__(self, cell: Any, residual_fn: Callable[[Any, Any], Any] | None = None) -> None:
        super().__init__(cell)
        self._residual_fn = residual_fn

    def __call__(self, inputs: Any, state: Any, scope: Any = None, **kwargs: Any) -> tuple[Any, ...]:  # type: ignore[override]
        """The sum of inputs and outputs, and the new state."""
        output, new = self._inner(inputs, state, scope)
        if self._residual_fn is not None:
            return self._residual_fn(inputs, output), new
        pairs = list(zip(nest.flatten(inputs), nest.flatten(output), strict=True))
        for x, y in pairs:
            if shape_of(x) is not None and shape_of(y) is not None and shape_of(x)[-1:] != shape_of(y)[-1:]:  # type: ignore[index]
                raise ValueError(f"ResidualWrapper: inputs {shape_of(x)} and outputs {shape_of(y)} must have one shape")
        return nest.pack_sequence_as(output, [tf.add(x, y) for x, y in pairs]), new


__all__ = [
    "DropoutWrapper", "MultiRNNCell", "ResidualWrapper",
]  # fmt: skip
