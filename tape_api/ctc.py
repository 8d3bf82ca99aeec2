"""Connectionist temporal classification (`dualgrad.extras.ctc_functions`) of eager tensors."""

from __future__ import annotations

from typing import Any

import tape_api
from dualgrad.extras.ctc_functions import Functions
from engine.core.operands import Operand
from tape_api.sparse import SparseTensor

_own = Functions(tape_api, SparseTensor)


def ctc_loss(
    labels: Any, logits: Any, label_length: Any, logit_length: Any, logits_time_major: bool = True, unique: Any = None,
    blank_index: int | None = None, name: str | None = None,
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
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Operand]:
    """The best labelings, found by following the `beam_width` best beginnings.

    Returns
    -------
    decoded : list of SparseTensor, one for each of `top_paths`
    log_probability : tensor, shape (batch, top_paths)
    """
    return _own.beam(inputs, sequence_length, beam_width, top_paths, False)


def edit_distance(hypothesis: Any, truth: Any, normalize: bool = True, name: str | None = None) -> Operand:
    """How many insertions, deletions and replacements lie between the rows of two sparse tensors of one rank.

    Divided by the length of the truth if `normalize`.
    """
    return _own.distance(hypothesis, truth, normalize)
