"""Connectionist temporal classification of graph tensors (`dualgrad.extras.ctc_functions`), as TensorFlow 1 has it."""

from __future__ import annotations

from typing import Any

import graph_api
from dualgrad.extras.ctc_functions import Functions, standard_only
from engine.core.operands import Operand
from graph_api.sparse import SparseTensor

_own = Functions(graph_api, SparseTensor)


def ctc_loss(
    labels: Any = None, inputs: Any = None, sequence_length: Any = None, preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True, ignore_longer_outputs_than_inputs: bool = False, time_major: bool = True,
    logits: Any = None,
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
    standard_only(preprocess_collapse_repeated=preprocess_collapse_repeated, ctc_merge_repeated=not ctc_merge_repeated)
    scores = inputs if logits is None else logits
    return _own.sparse_loss(labels, scores, sequence_length, time_major, None, ignore_longer_outputs_than_inputs)


def ctc_loss_v2(
    labels: Any, logits: Any, label_length: Any, logit_length: Any, logits_time_major: bool = True, unique: Any = None,
    blank_index: int | None = None, name: str | None = None,
) -> Operand:  # fmt: skip
    """`ctc_loss` with TensorFlow 2's arguments: labels may be a matrix, with their numbers in `label_length`."""
    return _own.loss_v2(labels, logits, label_length, logit_length, logits_time_major, blank_index)


def ctc_greedy_decoder(
    inputs: Any, sequence_length: Any, merge_repeated: bool = True, blank_index: int | None = None
) -> tuple[list[SparseTensor], Operand]:
    """The best class at each time, without blanks.

    Returns
    -------
    decoded : list of one SparseTensor
    neg_sum_logits : tensor, shape (batch, 1)
    """
    return _own.greedy(inputs, sequence_length, merge_repeated, blank_index)


def ctc_beam_search_decoder(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1, merge_repeated: bool = True
) -> tuple[list[SparseTensor], Operand]:
    """The best labelings, found by following the `beam_width` best beginnings.

    Returns
    -------
    decoded : list of SparseTensor, one for each of `top_paths`
        With `merge_repeated` equal neighbors in a labeling are one, as in TensorFlow 1.
    log_probability : tensor, shape (batch, top_paths)
    """
    return _own.beam(inputs, sequence_length, beam_width, top_paths, merge_repeated)


def ctc_beam_search_decoder_v2(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Operand]:
    """`ctc_beam_search_decoder` that leaves equal neighbors."""
    return _own.beam(inputs, sequence_length, beam_width, top_paths, False)


def edit_distance(hypothesis: Any, truth: Any, normalize: bool = True, name: str | None = None) -> Operand:
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
    return _own.distance(hypothesis, truth, normalize)
