"""Losses of many classes by a few sampled ones, made of a front end's own functions; and the samplers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dualgrad.extras.ops import candidates
from engine.core.operands import Operand
from engine.core.value import shape_of

Drawn = Callable[[Callable[..., Any], Any, str], Any]


def functions(tf: Any, drawn: Drawn, by_default: str) -> dict[str, Callable[..., Any]]:
    """The functions, by name.

    Parameters
    ----------
    tf : module
        The front end.
    drawn : callable
        ``drawn(function, seed, name)``: ``function(draw=...)`` with a draw of the front end's.
    by_default : str
        How weights in several parts are divided.
    """
    samplers = _samplers(tf, drawn)
    return samplers | _losses(tf, samplers["log_uniform_candidate_sampler"], by_default)


# ---- samplers --------------------------------------------------------------------------------------------------------


def _samplers(tf: Any, drawn: Drawn) -> dict[str, Callable[..., Any]]:
    def sampler(label: str, probabilities: str, log_uniform: bool) -> Callable[..., Any]:
        def candidate_sampler(
            true_classes: Any, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: Any = None,
            name: str | None = None,
        ) -> tuple[Operand, ...]:  # fmt: skip
            classes = tf.cast(tf.convert_to_tensor(true_classes), tf.int64)
            options = num_sampled, unique, range_max, log_uniform
            return drawn(lambda draw: candidates.sampled(classes, *options, draw=draw), seed, name or label)

        candidate_sampler.__doc__ = (
            f"Draw classes with {probabilities}: sampled candidates, and expected counts of true and sampled ones."
        )
        return candidate_sampler

    made = {
        "log_uniform_candidate_sampler": sampler(
            "LogUniformCandidateSampler", "probabilities that fall like ``1 / (class + 1)``", log_uniform=True
        ),
        "uniform_candidate_sampler": sampler("UniformCandidateSampler", "one probability", log_uniform=False),
    }
    for name, function in made.items():
        function.__name__ = function.__qualname__ = name
    return made


# ---- losses ----------------------------------------------------------------------------------------------------------


def _sampled_logits(
    tf: Any, sampler: Callable[..., Any],
    weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int, num_true: int,
    values: Any, remove_accidental_hits: bool, partition_strategy: str, seed: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """Logits of the true and the sampled classes, and their labels."""
    labels = tf.cast(tf.convert_to_tensor(labels), tf.int64)
    if len(shape_of(labels) or (0, 0)) == 1:
        labels = tf.expand_dims(labels, -1)
    if values is None:
        values = sampler(labels, num_true, num_sampled, True, num_classes, seed)
    chosen, true_count, sampled_count = (tf.stop_gradient(tf.convert_to_tensor(v)) for v in values)
    chosen = tf.cast(chosen, tf.int64)
    ids = tf.concat([tf.reshape(labels, [-1]), chosen], 0)
    lookup = {"partition_strategy": partition_strategy} if isinstance(weights, (list, tuple)) else {}
    rows = tf.nn.embedding_lookup(weights, ids, **lookup)
    offsets = tf.nn.embedding_lookup(biases, ids, **lookup)
    inputs = tf.convert_to_tensor(inputs)
    true = tf.size(labels)
    width = tf.shape(inputs)[1]
    own = tf.reshape(rows[:true], tf.stack([-1, num_true, width]))
    true_logits = tf.reduce_sum(tf.expand_dims(inputs, 1) * own, 2) + tf.reshape(offsets[:true], [-1, num_true])
    sampled_logits = tf.matmul(inputs, rows[true:], transpose_b=True) + offsets[true:]
    if remove_accidental_hits:
        hits = tf.reduce_any(tf.equal(tf.expand_dims(labels, 2), tf.reshape(chosen, [1, 1, -1])), 1)
        sampled_logits += tf.cast(hits, sampled_logits.dtype) * -float(np.finfo(np.float32).max)
    true_logits -= tf.math.log(true_count)
    sampled_logits -= tf.math.log(sampled_count)
    truth = tf.concat([tf.ones_like(true_logits) / num_true, tf.zeros_like(sampled_logits)], 1)
    return tf.concat([true_logits, sampled_logits], 1), truth


def _losses(tf: Any, sampler: Callable[..., Any], by_default: str) -> dict[str, Callable[..., Any]]:
    """The losses; `sampler` is the one to draw by unless others have drawn."""

    def nce_loss(
        weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int, num_true: int = 1,
        sampled_values: Any = None, remove_accidental_hits: bool = False, partition_strategy: str = by_default,
        name: str | None = None,
    ) -> Operand:  # fmt: skip
        """Noise-contrastive estimation: whether each class is the true one, of true and sampled classes.

        Parameters
        ----------
        weights : tensor, shape (num_classes, width), or a list of parts of it
        biases : tensor, shape (num_classes,)
        labels : integer tensor, shape (batch, num_true)
        inputs : tensor, shape (batch, width)
        num_sampled, num_classes, num_true : int
        sampled_values : tuple, optional
            What a candidate sampler gave; by default of `log_uniform_candidate_sampler`.
        remove_accidental_hits : bool
            Whether sampled classes that are true ones do not count.
        partition_strategy : str
            How `weights` in parts are divided (see `embedding_lookup`).
        name : str, optional

        Returns
        -------
        tensor, shape (batch,)

        References
        ----------
        Gutmann and Hyvärinen (2010), *Noise-contrastive estimation*, AISTATS.
        """
        logits, truth = _sampled_logits(
            tf, sampler, weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
            remove_accidental_hits, partition_strategy, None,
        )  # fmt: skip
        return tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=truth, logits=logits), 1)

    def sampled_softmax_loss(
        weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int, num_true: int = 1,
        sampled_values: Any = None, remove_accidental_hits: bool = True, partition_strategy: str = by_default,
        name: str | None = None, seed: Any = None,
    ) -> Operand:  # fmt: skip
        """The softmax cross entropy over true and sampled classes only (parameters as in `nce_loss`).

        References
        ----------
        Jean, Cho, Memisevic and Bengio (2015), *On using very large target vocabulary*, ACL.
        """
        logits, truth = _sampled_logits(
            tf, sampler, weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
            remove_accidental_hits, partition_strategy, seed,
        )  # fmt: skip
        return tf.nn.softmax_cross_entropy_with_logits(labels=tf.stop_gradient(truth), logits=logits)

    return {"nce_loss": nce_loss, "sampled_softmax_loss": sampled_softmax_loss}
