"""Sums of embedded ids, which come as a sparse tensor: a row of ids for each row of the result."""

from __future__ import annotations

from typing import Any

from dualgrad.sparse import functions
from dualgrad.sparse.sparse_tensor import SparseTensor
from engine.core.operands import Operand

_COMBINERS = ("mean", "sqrtn", "sum")


def _combiner(name: str, combiner: Any) -> str:
    if combiner not in (None, *_COMBINERS):
        raise ValueError(f"{name}: argument `combiner` must be one of {', '.join(_COMBINERS)}, got {combiner!r}")
    return combiner or "mean"


def embedding_lookup_sparse(
    tf: Any, params: Any, sp_ids: Any, sp_weights: Any, combiner: Any, max_norm: Any, strategy: dict[str, Any]
) -> Operand:
    """Rows of `params`, combined for each row of ids.

    Parameters
    ----------
    tf : module
    params : tensor, or a list of parts of one
    sp_ids : SparseTensor of integers, shape (rows, any)
    sp_weights : SparseTensor, optional
        A weight for each id; by default 1.
    combiner : {"mean", "sqrtn", "sum"}
        The weighted sum: itself, or divided by the sum of weights, or by the root of the sum of their squares.
    max_norm : float, optional
    strategy : dict
        How `params` in parts are divided, as `embedding_lookup` takes it.

    Returns
    -------
    tensor, shape (rows, ...)
        As many rows as the last row with an id demands.
    """
    label = "embedding_lookup_sparse"
    how = _combiner(label, combiner)
    ids = functions.sparse(label, sp_ids)
    rows = ids.indices[:, 0]
    distinct, at = tf.unique(ids.values)[:2]
    vectors = tf.gather(tf.nn.embedding_lookup(params, distinct, max_norm=max_norm, **strategy), at)
    if sp_weights is None:
        weights = tf.ones_like(tf.cast(ids.values, vectors.dtype))
    else:
        weights = tf.cast(functions.sparse(label, sp_weights).values, vectors.dtype)
    shape = tf.concat([tf.shape(weights), tf.ones_like(tf.shape(vectors)[1:])], 0)
    weights = tf.reshape(weights, shape)
    total = tf.math.segment_sum(vectors if sp_weights is None else vectors * weights, rows)
    if how == "sum":
        return total
    power = weights if how == "mean" else weights * weights
    by = tf.math.segment_sum(power, rows)
    return tf.math.divide_no_nan(total, (by if how == "mean" else tf.sqrt(by)) * tf.ones_like(total))


def safe_embedding_lookup_sparse(
    tf: Any, embedding_weights: Any, sparse_ids: Any, sparse_weights: Any, combiner: Any, default_id: Any,
    max_norm: Any, strategy: dict[str, Any],
) -> Operand:  # fmt: skip
    """The same, where ids below 0 (and, but for sums, weights of 0 or less) are left out, and every row has a result.

    A row without ids gets that of `default_id`, or zeros. Ids of rank above 2 are taken as rows of their last axis.
    """
    label = "safe_embedding_lookup_sparse"
    how = _combiner(label, combiner)
    ids = functions.sparse(label, sparse_ids)
    lead = ids.dense_shape[:-1]
    flat = tf.stack([tf.reduce_prod(lead), ids.dense_shape[-1]])
    ids = functions.reshape(ids, flat)
    weights: SparseTensor | None = None
    keep = tf.greater_equal(ids.values, tf.zeros_like(ids.values))
    if sparse_weights is not None:
        weights = functions.reshape(functions.sparse(label, sparse_weights), flat)
        if how != "sum":
            keep = tf.logical_and(keep, tf.greater(weights.values, tf.zeros_like(weights.values)))
        weights = functions.fill_empty_rows(functions.retain(weights, keep), 1.0)[0]
    ids, empty = functions.fill_empty_rows(functions.retain(ids, keep), default_id or 0)
    total = embedding_lookup_sparse(tf, embedding_weights, ids, weights, how, max_norm, strategy)
    if default_id is None:
        wide = tf.reshape(empty, tf.concat([tf.shape(empty), tf.ones_like(tf.shape(total)[1:])], 0))
        there = tf.cast(tf.logical_not(wide), total.dtype)
        total = tf.where(tf.equal(there * tf.ones_like(total), 0), tf.zeros_like(total), total)
    return tf.reshape(total, tf.concat([tf.cast(lead, tf.int32), tf.shape(total)[1:]], 0))


def segments(tf: Any, how: str, data: Any, indices: Any, segment_ids: Any, num_segments: Any) -> Operand:
    """Sums (``how="sum"``), means or sums over the root of their number of the rows that `indices` name, by segment."""
    rows = tf.gather(tf.convert_to_tensor(data), tf.convert_to_tensor(indices))
    if num_segments is not None:
        return getattr(tf.math, f"unsorted_segment_{how}")(rows, segment_ids, num_segments)
    if how != "sqrt_n":
        return getattr(tf.math, f"segment_{how}")(rows, segment_ids)
    count = tf.math.segment_sum(tf.ones_like(rows), segment_ids)
    return tf.math.segment_sum(rows, segment_ids) / tf.sqrt(tf.maximum(count, tf.ones_like(count)))
