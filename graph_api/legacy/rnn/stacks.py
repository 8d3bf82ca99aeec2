"""Bidirectional layers one above the other: each is given the outputs of both directions of the one below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import graph_api as tf
from graph_api.legacy.rnn.loops import bidirectional_dynamic_rnn, static_bidirectional_rnn
from graph_api.scopes import variable_scope


def _layers(
    name: str, ahead: Sequence[Any], back: Sequence[Any], inputs: Any, states: tuple[Any, Any], scope: Any,
    layer: Callable[..., tuple[Any, Any, Any]],
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:  # fmt: skip
    """The outputs of the last layer, and the last states of each, of both directions."""
    if not ahead or len(ahead) != len(back):
        raise ValueError(f"{name}: `cells_fw` and `cells_bw` must be lists of equal lengths, and not empty")
    for which, given in zip(("fw", "bw"), states, strict=True):
        if given is not None and (not isinstance(given, (list, tuple)) or len(given) != len(ahead)):
            raise ValueError(f"{name}: `initial_states_{which}` must have one state for each of {len(ahead)} cells")
    last: list[tuple[Any, Any]] = []
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for i, cells in enumerate(zip(ahead, back, strict=True)):
            first = [given[i] if given else None for given in states]
            with variable_scope(f"cell_{i}"):
                inputs, forward, backward = layer(*cells, inputs, *first)
            last.append((forward, backward))
    return inputs, tuple(f for f, _ in last), tuple(b for _, b in last)


def stack_bidirectional_dynamic_rnn(
    cells_fw: Sequence[Any],
    cells_bw: Sequence[Any],
    inputs: Any,
    initial_states_fw: Any = None,
    initial_states_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    parallel_iterations: int | None = None,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Layers of `bidirectional_dynamic_rnn`, one above the other.

    Returns
    -------
    outputs : tensor
        Of the last layer, both directions side by side.
    states_fw, states_bw : tuple
        The last state of each layer.

    Raises
    ------
    ValueError
        If there are no cells, or lists are of different lengths.
    """

    def layer(cell_fw: Any, cell_bw: Any, below: Any, first_fw: Any, first_bw: Any) -> tuple[Any, Any, Any]:
        outputs, (state_fw, state_bw) = bidirectional_dynamic_rnn(
            cell_fw, cell_bw, below, sequence_length, first_fw, first_bw, dtype, time_major=time_major
        )
        return tf.concat(outputs, 2), state_fw, state_bw

    given = initial_states_fw, initial_states_bw
    return _layers("stack_bidirectional_dynamic_rnn", cells_fw, cells_bw, inputs, given, scope, layer)


def stack_bidirectional_rnn(
    cells_fw: Sequence[Any],
    cells_bw: Sequence[Any],
    inputs: Sequence[Any],
    initial_states_fw: Any = None,
    initial_states_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Layers of `static_bidirectional_rnn`, one above the other.

    Returns
    -------
    outputs : list of tensor
        At each step those of the last layer, both directions side by side.
    states_fw, states_bw : tuple
        The last state of each layer.

    Raises
    ------
    ValueError
        If there are no cells, or lists are of different lengths.
    """

    def layer(cell_fw: Any, cell_bw: Any, below: Any, first_fw: Any, first_bw: Any) -> tuple[Any, Any, Any]:
        return static_bidirectional_rnn(cell_fw, cell_bw, below, first_fw, first_bw, dtype, sequence_length)

    given = initial_states_fw, initial_states_bw
    return _layers("stack_bidirectional_rnn", cells_fw, cells_bw, inputs, given, scope, layer)
