"""``nn.ctc_loss``, its decoders and ``edit_distance``, made of a front end's own functions.

The loss is a scan over time, in logarithms, of how likely each beginning of the labels is (with blanks between and
around them). So its derivatives of any order, and both modes, follow from the ops it is made of.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgrad.extras.ops import ctc
from engine.core.operands import Operand
from engine.core.value import shape_of
from engine.runtime.errors import ShapeError, UnimplementedError

_NEVER = -1e30
"""The logarithm of how likely it is what cannot be: finite, so that no derivative is NaN."""


def _loss(tf: Any, labels: Any, lengths: Any, logits: Any, times: Any, blank: int, fits: Any = None) -> Operand:
    """Minus the logarithm of how likely labels are, for each sequence.

    Parameters
    ----------
    tf : module
    labels : integer value, shape (batch, most labels)
    lengths, times : integer values, shape (batch,)
        How many labels, and how many times of `logits`, belong to each sequence.
    logits : value, shape (time, batch, classes)
    blank : int
    fits : boolean value, shape (batch,), optional
        False for sequences whose loss is to be 0.
    """
    with tf.name_scope("ctc_loss"):
        scores = tf.transpose(tf.nn.log_softmax(logits), [1, 2, 0])
        gaps = tf.fill(tf.shape(labels), tf.constant(blank, tf.int64))
        pairs = tf.reshape(tf.stack([gaps, labels], 2), tf.stack([tf.shape(labels)[0], -1]))
        states = tf.pad(pairs, [[0, 0], [0, 1]], constant_values=blank)
        # (time, batch, state): how likely it is that each state speaks at each time
        spoken = tf.transpose(tf.gather(scores, states, batch_dims=1), [2, 0, 1])
        count = tf.shape(states)[1]
        never, order = tf.constant(_NEVER, logits.dtype), tf.range(tf.cast(count, tf.int64))
        start = tf.zeros_like(spoken[0]) + tf.where(tf.equal(order, 0), tf.zeros_like(never), never)
        # a label may follow the one before the blank, if it is another
        earlier = tf.pad(states, [[0, 0], [2, 0]], constant_values=blank)[:, :count]
        leap = tf.logical_and(tf.not_equal(states, blank), tf.not_equal(states, earlier))
        running = tf.range(tf.shape(logits)[0])[:, None] < tf.cast(times, tf.int32)[None, :]

        def step(before: Any, row: Any) -> Operand:
            speaks, runs = row
            one = tf.pad(before, [[0, 0], [1, 0]], constant_values=_NEVER)[:, :count]
            two = tf.where(leap, tf.pad(before, [[0, 0], [2, 0]], constant_values=_NEVER)[:, :count], never)
            after = tf.reduce_logsumexp(tf.stack([before, one, two]), 0) + speaks
            return tf.where(runs[:, None], after, before)

        last = tf.scan(step, (spoken, running), start)[-1]
        places = order[None, :] - 2 * tf.cast(lengths, tf.int64)[:, None]
        ends = tf.logical_or(tf.equal(places, 0), tf.equal(places, -1))
        total = tf.reduce_logsumexp(tf.where(ends, last, never), 1)
        losses = tf.where(total > _NEVER / 2, -total, tf.constant(np.inf, logits.dtype))
        return losses if fits is None else tf.where(fits, losses, tf.zeros_like(losses))


def _scores(tf: Any, logits: Any, time_major: bool) -> tuple[Any, int | None]:
    """Logits, time first, and the number of classes if it is known."""
    logits = _ranked(tf, "ctc_loss", logits)
    logits = logits if time_major else tf.transpose(logits, [1, 0, 2])
    return logits, (shape_of(logits) or (None,))[-1]


def _sparse_loss(
    tf: Any, labels: Any, logits: Any, times: Any, time_major: bool, blank: int | None, lenient: bool
) -> Operand:
    """The loss of sparse labels; the blank is the last class if it is None."""
    if not isinstance(labels, tf.SparseTensor):
        raise TypeError(f"ctc_loss: argument `labels` must be a SparseTensor, got {labels!r}")
    logits, classes = _scores(tf, logits, time_major)
    if classes is None:
        raise ShapeError("ctc_loss: the number of classes, the last dimension of the logits, must be known")
    times = tf.cast(times, tf.int32)
    values = tf.cast(labels.values, tf.int64)
    params = {"classes": classes, "lenient": lenient, "blank": classes - 1 if blank is None else blank % classes}
    dense, lengths, fits = ctc.labels_op(labels.indices, values, times, **params)
    return _loss(tf, dense, lengths, logits, times, params["blank"], fits)


def _ranked(tf: Any, name: str, logits: Any) -> Operand:
    logits = tf.convert_to_tensor(logits)
    shape = shape_of(logits)
    if shape is None or len(shape) != 3:
        raise ShapeError(f"{name}: inputs must have rank 3 (time, batch, classes), got shape {shape}")
    return logits


def old_ctc_loss(
    tf: Any, labels: Any = None, inputs: Any = None, sequence_length: Any = None,
    preprocess_collapse_repeated: bool = False, ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False, time_major: bool = True, logits: Any = None,
) -> Operand:  # fmt: skip
    """Minus the logarithm of how likely labels are, without knowing when each is spoken.

    Parameters
    ----------
    labels : int32 SparseTensor, shape (batch, most labels)
    inputs, logits : tensor, shape (time, batch, classes)
        Scores before the softmax. The last class is the blank.
    sequence_length : int vector
        How many times belong to each sequence.
    preprocess_collapse_repeated, ctc_merge_repeated : bool
        Must be left to their defaults.
    ignore_longer_outputs_than_inputs : bool
        Whether sequences with too little time for their labels count 0; otherwise they are errors.
    time_major : bool
        False: the first dimension of `inputs` is the batch.

    Returns
    -------
    tensor, shape (batch,)

    Raises
    ------
    InvalidArgumentError
        If a label is no class, or there is too little time.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     labels = tf.SparseTensor([[0, 0]], [1], [1, 1])
    ...     print(sess.run(tf.nn.ctc_loss(labels, tf.zeros([2, 1, 3]), [2])))  # log(9 / 3)
    [1.0986123]
    """
    for name, other in (
        ("preprocess_collapse_repeated", preprocess_collapse_repeated), ("ctc_merge_repeated", not ctc_merge_repeated)
    ):  # fmt: skip
        if other:
            raise UnimplementedError(
                f"ctc_loss: `{name}` other than its default is not supported; change the labels before"
            )
    scores = inputs if logits is None else logits
    return _sparse_loss(tf, labels, scores, sequence_length, time_major, None, ignore_longer_outputs_than_inputs)


def ctc_loss(
    tf: Any, labels: Any, logits: Any, label_length: Any, logit_length: Any, logits_time_major: bool = True,
    unique: Any = None, blank_index: int | None = None, name: str | None = None,
) -> Operand:  # fmt: skip
    """Minus the logarithm of how likely labels are, without knowing when each is spoken.

    Parameters
    ----------
    labels : int matrix, or SparseTensor, shape (batch, most labels)
    logits : tensor, shape (time, batch, classes)
        Scores before the softmax.
    label_length, logit_length : int vectors
        How many labels, and how many times, belong to each sequence. With sparse labels the first is not asked for.
    logits_time_major : bool
        False: the first dimension of `logits` is the batch.
    unique
        Accepted for compatibility.
    blank_index : int, optional
        The class of the blank: 0; it must be given for sparse labels.
    name : str, optional

    Returns
    -------
    tensor, shape (batch,)

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.nn.ctc_loss([[1]], tf.zeros([2, 1, 3]), [1], [2]).numpy()  # log(9 / 3)
    array([1.0986123], dtype=float32)
    """
    if isinstance(labels, tf.SparseTensor):
        if blank_index is None:
            raise ValueError("ctc_loss: argument `blank_index` must be given with sparse labels")
        return _sparse_loss(tf, labels, logits, logit_length, logits_time_major, blank_index, True)
    logits, classes = _scores(tf, logits, logits_time_major)
    which = 0 if not blank_index else blank_index if blank_index > 0 else blank_index + (classes or 0)
    dense = tf.cast(tf.convert_to_tensor(labels), tf.int64)
    return _loss(tf, dense, label_length, logits, logit_length, which)


def ctc_greedy_decoder(
    tf: Any, inputs: Any, sequence_length: Any, merge_repeated: bool = True, blank_index: int | None = None
) -> tuple[list[Any], Operand]:
    """The best class at each time, without blanks.

    Returns
    -------
    decoded : list of one SparseTensor
    neg_sum_logits : tensor, shape (batch, 1)
    """
    inputs = _ranked(tf, "ctc_greedy_decoder", inputs)
    params = {"merge": merge_repeated, "blank": -1 if blank_index is None else blank_index}
    *parts, total = ctc.greedy_op(inputs, tf.cast(sequence_length, tf.int32), **params)
    return [tf.SparseTensor(*parts)], total


def edit_distance(tf: Any, hypothesis: Any, truth: Any, normalize: bool = True, name: str | None = None) -> Operand:
    """How many insertions, deletions and replacements lie between the rows of two sparse tensors.

    Parameters
    ----------
    hypothesis, truth : SparseTensor
        Of one rank; a row is all of the last dimension.
    normalize : bool
        Whether to divide by the length of the truth.
    name : str, optional

    Returns
    -------
    float32 tensor of one dimension less
    """
    for label, x in (("hypothesis", hypothesis), ("truth", truth)):
        if not isinstance(x, tf.SparseTensor):
            raise TypeError(f"edit_distance: argument `{label}` must be a SparseTensor, got {x!r}")
    if hypothesis.values.dtype is not truth.values.dtype:
        raise TypeError(
            f"edit_distance: dtypes must be equal, got {hypothesis.values.dtype.name} and {truth.values.dtype.name}"
        )
    parts = [p for x in (hypothesis, truth) for p in (x.indices, x.values, x.dense_shape)]
    return ctc.edit_distance_op(*parts, normalize=normalize)
