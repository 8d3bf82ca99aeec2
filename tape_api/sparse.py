"""``tf.sparse`` of eager tensors: `dualgrad.sparse`."""

from __future__ import annotations

from typing import Any

import tape_api
from dualgrad.frontend.bound import bound
from dualgrad.sparse import functions, lookup
from dualgrad.sparse.functions import *  # noqa: F403 - all that it has
from dualgrad.sparse.sparse_tensor import SparseTensor as AnySparseTensor
from engine.core.operands import Operand


class SparseTensor(AnySparseTensor):
    """A tensor that is zero but for some elements (`dualgrad.sparse.sparse_tensor.SparseTensor`), of eager tensors."""

    tf = tape_api


from_dense = bound(functions.from_dense, tape_api)
eye = bound(functions.eye, tape_api)


def segment_sum(
    data: Any, indices: Any, segment_ids: Any, num_segments: Any = None, name: str | None = None
) -> Operand:
    """Sums over segments of the rows of `data` that `indices` name."""
    return lookup.segments(tape_api, "sum", data, indices, segment_ids, num_segments)


def segment_mean(
    data: Any, indices: Any, segment_ids: Any, num_segments: Any = None, name: str | None = None
) -> Operand:
    """Means over segments of the rows of `data` that `indices` name."""
    return lookup.segments(tape_api, "mean", data, indices, segment_ids, num_segments)


def embedding_lookup_sparse(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    combiner: Any = None,
    max_norm: Any = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Operand:
    """Rows of `params`, combined for each row of ids (`dualgrad.sparse.lookup.embedding_lookup_sparse`)."""
    return lookup.embedding_lookup_sparse(tape_api, params, sp_ids, sp_weights, combiner, max_norm, {})


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: Any = "mean",
    default_id: Any = None,
    max_norm: Any = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Operand:
    """The same for ids some of which are no ids (`dualgrad.sparse.lookup.safe_embedding_lookup_sparse`)."""
    return lookup.safe_embedding_lookup_sparse(
        tape_api, embedding_weights, sparse_ids, sparse_weights, combiner, default_id, max_norm, {}
    )


__all__ = [
    "SparseTensor",
    "eye",
    "from_dense",
    "segment_mean",
    "segment_sum",
]
__all__ += functions.__all__
