"""``tf.keras.backend.ctc_batch_cost``, as programs that read texts from pictures call it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dualgrad.keras.host import Host
from dualgrad.keras.settings import epsilon
from engine.core.operands import Operand


def ctc_batch_cost(host: Host, y_true: Any, y_pred: Any, input_length: Any, label_length: Any) -> Operand:
    """Connectionist temporal classification of each sequence.

    Parameters
    ----------
    y_true : int tensor, shape (batch, most labels)
    y_pred : tensor, shape (batch, time, classes)
        Probabilities; the last class is the blank.
    input_length, label_length : int tensors, shape (batch, 1)
        How many times, and how many labels, belong to each sequence.

    Returns
    -------
    tensor, shape (batch, 1)
    """
    tf = import_module(host.package)
    labels, times, counts = (tf.cast(x, tf.int32) for x in (y_true, input_length, label_length))
    times, counts = tf.squeeze(times, -1), tf.squeeze(counts, -1)
    logits = tf.math.log(tf.transpose(host.tensor(y_pred), [1, 0, 2]) + epsilon())
    loss = getattr(tf.nn, "ctc_loss_v2", tf.nn.ctc_loss)
    return tf.expand_dims(loss(labels, logits, counts, times, blank_index=-1), 1)
