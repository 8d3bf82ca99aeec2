"""``tf.contrib.crf``: conditional random fields of chains.

How likely a sequence of tags is: the exponential of its unary scores and of the scores of its transitions, over the
same of all sequences. The sum over all of them is a scan over time, so its gradient comes from the ops.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import graph_api as tf
from engine.core.value import shape_of
from engine.runtime.errors import ShapeError
from graph_api.scans import scanned
from graph_api.tensor import Tensor

__all__ = [
    "crf_binary_score", "crf_decode", "crf_log_likelihood", "crf_log_norm", "crf_multitag_sequence_score",
    "crf_sequence_score", "crf_unary_score", "viterbi_decode",
]  # fmt: skip


def _scores(name: str, inputs: Any) -> tuple[Any, int]:
    """The unary scores, and how many tags there are."""
    inputs = tf.convert_to_tensor(inputs)
    shape = shape_of(inputs)
    if shape is None or len(shape) != 3 or shape[2] is None:
        raise ShapeError(f"{name}: inputs must have shape (batch, time, tags) with a known number of tags, got {shape}")
    return inputs, shape[2]


def _inside(lengths: Any, x: Any, less: int = 0) -> Tensor:
    """1 where a time belongs to a sequence."""
    return tf.sequence_mask(tf.maximum(tf.cast(lengths, tf.int32) - less, 0), tf.shape(x)[1], dtype=tf.float32)


def crf_unary_score(tag_indices: Any, sequence_lengths: Any, inputs: Any) -> Tensor:
    """The sum of the unary scores of tags.

    Parameters
    ----------
    tag_indices : int tensor, shape (batch, time)
    sequence_lengths : int tensor, shape (batch,)
    inputs : tensor, shape (batch, time, tags)

    Returns
    -------
    tensor, shape (batch,)
    """
    inputs, tags = _scores("crf_unary_score", inputs)
    chosen = tf.reduce_sum(inputs * tf.one_hot(tag_indices, tags, dtype=inputs.dtype), 2)
    return tf.reduce_sum(chosen * tf.cast(_inside(sequence_lengths, chosen), inputs.dtype), 1)


def crf_binary_score(tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Tensor:
    """The sum of the scores of transitions between tags (parameters as of `crf_log_likelihood`)."""
    tags, table = tf.convert_to_tensor(tag_indices), tf.convert_to_tensor(transition_params)
    steps = tf.gather_nd(table, tf.stack([tags[:, :-1], tags[:, 1:]], 2))
    return tf.reduce_sum(steps * tf.cast(_inside(sequence_lengths, steps, 1), table.dtype), 1)


def crf_sequence_score(inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Tensor:
    """The score of a sequence of tags: the sum of `crf_unary_score` and `crf_binary_score`."""
    unary = crf_unary_score(tag_indices, sequence_lengths, inputs)
    total = unary + crf_binary_score(tag_indices, sequence_lengths, transition_params)
    return tf.where(tf.cast(sequence_lengths, tf.int32) > 0, total, tf.zeros_like(total))


def crf_multitag_sequence_score(inputs: Any, tag_bitmap: Any, sequence_lengths: Any, transition_params: Any) -> Tensor:
    """The log-sum-exp of the scores of all sequences that `tag_bitmap`, shape (batch, time, tags), admits."""
    inputs, _ = _scores("crf_multitag_sequence_score", inputs)
    admitted = tf.where(
        tf.cast(tag_bitmap, tf.bool), inputs, tf.fill(tf.shape(inputs), inputs.dtype.as_numpy_dtype(-1e30))
    )
    return crf_log_norm(admitted, sequence_lengths, transition_params)


def crf_log_norm(inputs: Any, sequence_lengths: Any, transition_params: Any) -> Tensor:
    """The log-sum-exp of the scores of all sequences of tags (parameters as of `crf_log_likelihood`)."""
    inputs, _ = _scores("crf_log_norm", inputs)
    table = tf.expand_dims(tf.convert_to_tensor(transition_params), 0)
    last, _ = _along(
        inputs, sequence_lengths, lambda before, row: (tf.reduce_logsumexp(before[:, :, None] + table, 1) + row, row)
    )
    total = tf.reduce_logsumexp(last, 1)
    return tf.where(tf.cast(sequence_lengths, tf.int32) > 0, total, tf.zeros_like(total))


def _along(inputs: Any, lengths: Any, step: Any) -> tuple[Any, Any]:
    """``state, result = step(state, row)`` from the second row on; the state stays where a sequence has ended."""
    rows = tf.transpose(inputs, [1, 0, 2])
    times = tf.range(1, tf.shape(rows)[0])
    lengths = tf.cast(lengths, tf.int32)

    def kept(state: Any, element: Any) -> tuple[Any, Any]:
        row, time = element
        new, result = step(state, row)
        return tf.where(time < lengths, new, state), result

    return scanned("crf", kept, rows[0], (rows[1:], times))


def crf_log_likelihood(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any = None
) -> tuple[Any, Any]:
    """The logarithm of how likely sequences of tags are.

    Parameters
    ----------
    inputs : tensor, shape (batch, time, tags)
        The unary scores.
    tag_indices : int tensor, shape (batch, time)
    sequence_lengths : int tensor, shape (batch,)
    transition_params : tensor, shape (tags, tags), optional
        The score of each tag after each other; by default a variable of that name.

    Returns
    -------
    log_likelihood : tensor, shape (batch,)
    transition_params : tensor or variable

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     found, _ = tf.contrib.crf.crf_log_likelihood(tf.zeros([1, 2, 3]), [[0, 1]], [2], tf.zeros([3, 3]))
    ...     print(sess.run(found))  # log(1 / 9)
    [-2.1972246]
    """
    inputs, tags = _scores("crf_log_likelihood", inputs)
    if transition_params is None:
        transition_params = tf.get_variable("transitions", [tags, tags])
    score = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    return score - crf_log_norm(inputs, sequence_lengths, transition_params), transition_params


def crf_decode(potentials: Any, transition_params: Any, sequence_length: Any) -> tuple[Any, Any]:
    """The best sequences of tags.

    Parameters
    ----------
    potentials : tensor, shape (batch, time, tags)
    transition_params : tensor, shape (tags, tags)
    sequence_length : int tensor, shape (batch,)

    Returns
    -------
    decode_tags : int32 tensor, shape (batch, time)
        0 where a sequence has ended.
    best_score : tensor, shape (batch,)
    """
    inputs, tags = _scores("crf_decode", potentials)
    table = tf.expand_dims(tf.convert_to_tensor(transition_params), 0)
    lengths = tf.cast(sequence_length, tf.int32)

    def step(before: Any, row: Any) -> tuple[Any, Any]:
        paths = before[:, :, None] + table
        return tf.reduce_max(paths, 1) + row, tf.argmax(paths, 1, output_type=tf.int32)

    best, origins = _along(inputs, lengths, step)
    last = tf.argmax(best, 1, output_type=tf.int32)
    times = tf.range(1, tf.shape(inputs)[1])

    def back(tag: Any, element: Any) -> tuple[Any, Any]:
        origin, time = element
        before = tf.reduce_sum(origin * tf.one_hot(tag, tags, dtype=tf.int32), 1)
        tag = tf.where(time < lengths, before, tag)
        return tag, tag

    _, best_path = scanned("crf_decode", back, last, (origins, times), backwards=True)
    ends = tf.one_hot(tf.maximum(lengths - 1, 0), tf.shape(inputs)[1], dtype=tf.int32) * last[:, None]
    inner = tf.pad(tf.transpose(best_path), [[0, 0], [0, 1]])
    decoded = tf.where(_inside(lengths, inner, 1) > 0, inner, ends)
    return decoded, tf.reduce_max(best, 1)


def viterbi_decode(score: Any, transition_params: Any) -> tuple[list[int], Any]:
    """The best sequence of tags, by NumPy.

    Parameters
    ----------
    score : array, shape (time, tags)
    transition_params : array, shape (tags, tags)

    Returns
    -------
    viterbi : list of int
    viterbi_score : float
    """
    scores, table = np.asarray(score), np.asarray(transition_params)
    best, origins = scores[0], []
    for row in scores[1:]:
        paths = best[:, None] + table
        origins.append(paths.argmax(0))
        best = row + paths.max(0)
    path = [int(best.argmax())]
    for origin in reversed(origins):
        path.append(int(origin[path[-1]]))
    return path[::-1], best.max()
