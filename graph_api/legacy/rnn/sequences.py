"""Losses of sequences, and decoders that feed back their outputs: ``contrib.seq2seq``, ``contrib.legacy_seq2seq``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dualgrad.keras import functions as tf
from engine.core.operands import Operand
from engine.core.value import dtype_of, shape_of
from engine.runtime.errors import ShapeError
from graph_api.convert import convert_to_tensor
from graph_api.graphs.graph import get_default_graph
from graph_api.graphs.scopes import get_variable_scope, variable_scope
from graph_api.graphs.tensor import Tensor

Loss = Callable[..., Any]


def _cross_entropy(given: Loss | None, labels: Any, logits: Any) -> Operand:
    loss = tf.sparse_softmax_cross_entropy_with_logits if given is None else given
    return loss(labels=labels, logits=logits)


def _ranked(name: str, x: Any, rank: int, what: str) -> Tensor:
    tensor = convert_to_tensor(x)
    shape = shape_of(tensor)
    if shape is not None and len(shape) != rank:
        raise ShapeError(f"{name} must be a {what} tensor, got shape {shape}")
    return tensor


def sequence_loss(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    sum_over_timesteps: bool = False,
    sum_over_batch: bool = False,
    softmax_loss_function: Loss | None = None,
    name: str | None = None,
) -> Operand:
    """The weighted cross entropy of sequences (``contrib.seq2seq``).

    Parameters
    ----------
    logits : tensor, shape (batch, time, classes)
    targets : int tensor, shape (batch, time)
    weights : tensor, shape (batch, time)
        0 where a sequence has ended.
    average_across_timesteps, average_across_batch : bool
        Over which dimensions to take the weighted mean.
    sum_over_timesteps, sum_over_batch : bool
        Over which dimensions to add up, and to divide by the number of steps whose weight is not 0.
    softmax_loss_function : callable, optional
        ``softmax_loss_function(labels=, logits=)`` in place of the sparse cross entropy.
    name : str, optional

    Returns
    -------
    tensor
        Of the dimensions that are left.
    """
    if (average_across_timesteps and sum_over_timesteps) or (average_across_batch and sum_over_batch):
        raise ValueError("sequence_loss: one dimension cannot be averaged and added up at once")
    scores, labels = _ranked("Logits", logits, 3, "[batch_size x sequence_length x logits]"), convert_to_tensor(targets)
    labels = _ranked("Targets", labels, 2, "[batch_size x sequence_length]")
    factors = _ranked("Weights", weights, 2, "[batch_size x sequence_length]")
    with get_default_graph().name_scope(name or "sequence_loss"):
        known = (shape_of(scores) or (None,) * 3)[2]
        classes = tf.shape(scores)[2] if known is None else known
        flat = tf.reshape(scores, tf.stack([-1, classes]))
        each = _cross_entropy(softmax_loss_function, tf.reshape(labels, [-1]), flat)
        each = tf.reshape(each, tf.shape(labels)) * factors
        means = [i for i, mean in enumerate((average_across_batch, average_across_timesteps)) if mean]
        sums = [i for i, total in enumerate((sum_over_batch, sum_over_timesteps)) if total]
        if means:
            each = tf.divide_no_nan(tf.reduce_sum(each, axis=means), tf.reduce_sum(factors, axis=means))
        if sums:
            axes = [i - sum(m < i for m in means) for i in sums]
            count = tf.reduce_sum(tf.cast(tf.not_equal(factors, 0.0), dtype_of(each)), axis=sums)
            each = tf.divide_no_nan(tf.reduce_sum(each, axis=axes), count)
        return each


def sequence_loss_by_example(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    softmax_loss_function: Loss | None = None,
    name: str | None = None,
) -> Operand:
    """The weighted cross entropy of each sequence of a batch (``contrib.legacy_seq2seq``).

    Parameters
    ----------
    logits : list of tensor, shape (batch, classes)
        One for each step.
    targets : list of int tensor, shape (batch,)
    weights : list of tensor, shape (batch,)
    average_across_timesteps : bool
        Whether to divide by the sum of the weights.
    softmax_loss_function : callable, optional
    name : str, optional

    Raises
    ------
    ValueError
        If the lists differ in length.
    """
    if len(targets) != len(logits) or len(weights) != len(logits):
        raise ValueError(
            f"Lengths of logits, weights, and targets must be the same {len(logits)}, {len(weights)}, {len(targets)}."
        )
    with get_default_graph().name_scope(name or "sequence_loss_by_example"):
        losses = [
            _cross_entropy(softmax_loss_function, tf.reshape(convert_to_tensor(label), [-1]), convert_to_tensor(logit))
            * convert_to_tensor(weight)
            for logit, label, weight in zip(logits, targets, weights, strict=True)
        ]
        total = tf.add_n(losses)
        if not average_across_timesteps:
            return total
        # so small that it only keeps sequences without weight from giving 0 / 0
        return total / (tf.add_n([convert_to_tensor(w) for w in weights]) + 1e-12)


def summed_sequence_loss(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Loss | None = None,
    name: str | None = None,
) -> Operand:
    """`sequence_loss_by_example` added up over the batch, or its mean (``contrib.legacy_seq2seq.sequence_loss``)."""
    with get_default_graph().name_scope(name or "sequence_loss"):
        each = sequence_loss_by_example(logits, targets, weights, average_across_timesteps, softmax_loss_function)
        cost = tf.reduce_sum(each)
        if not average_across_batch:
            return cost
        return cost / tf.cast(tf.shape(convert_to_tensor(targets[0]))[0], dtype_of(cost))


def rnn_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    cell: Any,
    loop_function: Callable[[Any, int], Any] | None = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """A cell applied to a list of inputs, or to what a function makes of its last output.

    Parameters
    ----------
    decoder_inputs : list of tensor, shape (batch, size)
    initial_state : structure of tensors
    cell : RNNCell
    loop_function : callable, optional
        ``loop_function(output, i)`` gives the input of step i from the output of the step before.
    scope : str or VariableScope, optional
        By default ``"rnn_decoder"``.

    Returns
    -------
    outputs : list of tensor
    state : structure of tensors
    """
    outputs: list[Any] = []
    state = initial_state
    with variable_scope(scope or "rnn_decoder"):
        for i, inputs in enumerate(decoder_inputs):
            x = inputs
            if loop_function is not None and outputs:
                with variable_scope("loop_function", reuse=True):
                    x = loop_function(outputs[-1], i)
            if i:
                get_variable_scope().reuse_variables()
            output, state = cell(x, state)
            outputs.append(output)
    return outputs, state


__all__ = [
    "rnn_decoder", "sequence_loss", "sequence_loss_by_example", "summed_sequence_loss",
]  # fmt: skip
