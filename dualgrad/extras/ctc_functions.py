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


class Functions:
    """The functions, of one front end.

    Parameters
    ----------
    tf : module
        The front end.
    sparse_tensor : class
        Of its sparse tensors.
    """

    def __init__(self, tf: Any, sparse_tensor: Any) -> None:
        self.tf, self.sparse_tensor = tf, sparse_tensor

    def loss(
        self, name: str, labels: Any, lengths: Any, logits: Any, times: Any, blank: int, fits: Any = None
    ) -> Operand:
        """Minus the logarithm of how likely labels are, for each sequence.

        Parameters
        ----------
        name : str
        labels : integer value, shape (batch, most labels)
        lengths, times : integer values, shape (batch,)
            How many labels, and how many times of `logits`, belong to each sequence.
        logits : value, shape (time, batch, classes)
        blank : int
        fits : boolean value, shape (batch,), optional
            False for sequences whose loss is to be 0.
        """
        tf = self.tf
        with tf.name_scope(name):
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

    def sparse_loss(
        self, labels: Any, logits: Any, times: Any, time_major: bool, blank: int | None, lenient: bool
    ) -> Operand:
        """`loss` of sparse labels; the blank is the last class if it is None."""
        tf = self.tf
        if not isinstance(labels, self.sparse_tensor):
            raise TypeError(f"ctc_loss: argument `labels` must be a SparseTensor, got {labels!r}")
        logits = _ranked(tf, "ctc_loss", logits)
        if not time_major:
            logits = tf.transpose(logits, [1, 0, 2])
        classes = (shape_of(logits) or (None,))[-1]
        if classes is None:
            raise ShapeError("ctc_loss: the number of classes, the last dimension of the logits, must be known")
        times = tf.cast(times, tf.int32)
        values = tf.cast(labels.values, tf.int64)
        params = {"classes": classes, "lenient": lenient, "blank": classes - 1 if blank is None else blank % classes}
        dense, lengths, fits = ctc.labels_op(labels.indices, values, times, **params)
        return self.loss("ctc_loss", dense, lengths, logits, times, params["blank"], fits)

    def loss_v2(
        self, labels: Any, logits: Any, lengths: Any, times: Any, time_major: bool, blank: int | None
    ) -> Operand:
        """`loss` with the arguments of TensorFlow 2: labels are a matrix, or sparse."""
        tf = self.tf
        if isinstance(labels, self.sparse_tensor):
            if blank is None:
                raise ValueError("ctc_loss: argument `blank_index` must be given with sparse labels")
            return self.sparse_loss(labels, logits, times, time_major, blank, True)
        logits = _ranked(tf, "ctc_loss", logits)
        if not time_major:
            logits = tf.transpose(logits, [1, 0, 2])
        classes = (shape_of(logits) or (None,))[-1]
        which = 0 if not blank else blank if blank > 0 else blank + (classes or 0)
        dense = tf.cast(tf.convert_to_tensor(labels), tf.int64)
        return self.loss("ctc_loss", dense, lengths, logits, times, which)

    def greedy(
        self, inputs: Any, sequence_length: Any, merge_repeated: bool, blank_index: int | None
    ) -> tuple[list[Any], Operand]:
        """The best class at each time: labels as a sparse tensor in a list, and minus the sum of their logits."""
        inputs = _ranked(self.tf, "ctc_greedy_decoder", inputs)
        params = {"merge": merge_repeated, "blank": -1 if blank_index is None else blank_index}
        *parts, total = ctc.greedy_op(inputs, self.tf.cast(sequence_length, self.tf.int32), **params)
        return [self.sparse_tensor(*parts)], total

    def beam(self, inputs: Any, sequence_length: Any, width: int, paths: int, merge: bool) -> tuple[list[Any], Operand]:
        """The best labelings, a sparse tensor for each path, and the logarithms of how likely they are."""
        inputs = _ranked(self.tf, "ctc_beam_search_decoder", inputs)
        if not 1 <= paths <= width:
            raise ValueError(f"ctc_beam_search_decoder: top_paths must be in [1, beam_width = {width}], got {paths}")
        params = {"width": width, "paths": paths, "merge": merge}
        *parts, total = ctc.beam_op(inputs, self.tf.cast(sequence_length, self.tf.int32), **params)
        return [self.sparse_tensor(*parts[i : i + 3]) for i in range(0, len(parts), 3)], total

    def distance(self, hypothesis: Any, truth: Any, normalize: bool) -> Operand:
        """How many edits lie between rows of two sparse tensors; by the length of the truth if `normalize`."""
        for label, x in (("hypothesis", hypothesis), ("truth", truth)):
            if not isinstance(x, self.sparse_tensor):
                raise TypeError(f"edit_distance: argument `{label}` must be a SparseTensor, got {x!r}")
        if hypothesis.values.dtype is not truth.values.dtype:
            raise TypeError(
                f"edit_distance: dtypes must be equal, got {hypothesis.values.dtype.name} and {truth.values.dtype.name}"
            )
        parts = [p for x in (hypothesis, truth) for p in (x.indices, x.values, x.dense_shape)]
        return ctc.edit_distance_op(*parts, normalize=normalize)


def _ranked(tf: Any, name: str, logits: Any) -> Operand:
    logits = tf.convert_to_tensor(logits)
    shape = shape_of(logits)
    if shape is None or len(shape) != 3:
        raise ShapeError(f"{name}: inputs must have rank 3 (time, batch, classes), got shape {shape}")
    return logits


def standard_only(**given: bool) -> None:
    """Raise for variants of the loss that are not the standard one."""
    for name, other in given.items():
        if other:
            raise UnimplementedError(
                f"ctc_loss: `{name}` other than its default is not supported; change the labels before"
            )
