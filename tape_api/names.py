"""TensorFlow 2's names, and which function each stands for: those of `dualgrad.frontend.common_names`, and its own.

Where TensorFlow 1 has the same name, it has other arguments there, or another meaning. `tape_api.library` makes the
public functions.
"""

from __future__ import annotations

from typing import Any

from dualgrad.frontend import common_names
from dualgrad.frontend.rows import Later, Old, Table, named, ops
from optim.names import CLIPPING

version1_functions = Later("dualgrad.frontend.version1_functions")

_COLLECTED = ("scope", "loss_collection")
_DIM = ("labels", "predictions", "axis", "weights", "scope", "loss_collection", "reduction", "dim")
_BELOW_BOTH = "compat.v1.losses.{} losses.{}"
_LOSSES: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("mean_squared_error", {}, "compat.v1.losses.{}"),
    ("compute_weighted_loss", {}, "compat.v1.losses.{}"),
    ("cosine_distance", {"renames": {"dim": "axis"}, "order": _DIM}, "compat.v1.losses.{}"),
    (
        "mean_pairwise_squared_error",
        {"order": ("labels", "predictions", "weights", *_COLLECTED)},
        "compat.v1.losses.{}",
    ),
    ("absolute_difference", {}, _BELOW_BOTH),
    ("huber_loss", {}, _BELOW_BOTH),
    ("log_loss", {}, _BELOW_BOTH),
    ("hinge_loss", {}, _BELOW_BOTH),
    ("softmax_cross_entropy", {}, _BELOW_BOTH),
    ("sparse_softmax_cross_entropy", {}, _BELOW_BOTH),
    ("sigmoid_cross_entropy", {}, _BELOW_BOTH),
)
"""TensorFlow 1's losses, of which some are below ``tf.losses`` too: how arguments differ, and the names."""

TABLE = Table(
    (
        *common_names.TABLE.rows,
        *CLIPPING,
        # ---- choice
        (ops.compare.where, "where"),
        # ---- reductions
        *named("reduce", "{} math.{}", "reduce_sum reduce_mean reduce_prod reduce_logsumexp reduce_any reduce_all"),
        (ops.reduce.count_nonzero, "math.count_nonzero"),
        *named("extrema", "{} math.{}", "reduce_max reduce_min argmax argmin"),
        (ops.stats.norm, "norm linalg.norm"),
        (version1_functions.accumulate_n, "math.accumulate_n"),
        # ---- shapes, slices, indices
        *named("filling", "{}", "zeros_like ones_like"),
        *named("shape", "{}", "shape size expand_dims squeeze transpose"),
        *named("joining", "{}", "concat split"),
        *named("rearrange", "{}", "repeat pad"),
        (ops.slicing.boolean_mask, "boolean_mask"),
        (ops.gather.gather, "gather"),
        (ops.partition.reverse_sequence, "reverse_sequence"),
        *named("layers", "nn.{}", "embedding_lookup moments"),
        # ---- neural networks
        *named("nn", "nn.{} math.{}", "softmax log_softmax"),
        *named(
            "cross_entropy",
            "nn.{}",
            "softmax_cross_entropy_with_logits sparse_softmax_cross_entropy_with_logits "
            "sigmoid_cross_entropy_with_logits weighted_cross_entropy_with_logits",
        ),
        *[
            (Old(f"dualgrad.extras.ops.losses:{name}", **how, ignored=_COLLECTED), names.replace("{}", name))
            for name, how, names in _LOSSES
        ],
        (Old(ops.layers.l2_normalize, {"dim": "axis"}), "math.l2_normalize nn.l2_normalize linalg.l2_normalize"),
        (ops.layers.in_top_k, "math.in_top_k nn.in_top_k"),
        # ---- convolutions and pools
        *named(
            "conv",
            "nn.{}",
            "conv1d conv2d conv3d convolution conv2d_transpose conv3d_transpose depthwise_conv2d separable_conv2d",
        ),
        *named("pool", "nn.{}", "max_pool max_pool_with_argmax avg_pool avg_pool2d pool"),
        *named("blocks", "nn.{}", "depth_to_space space_to_depth"),
        (ops.blocks.space_to_batch_nd, "space_to_batch nn.space_to_batch"),
        (ops.blocks.batch_to_space_nd, "batch_to_space"),
    )
)
