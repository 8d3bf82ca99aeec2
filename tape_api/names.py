"""TensorFlow 2's names, and which function each stands for: those of `dualgrad.frontend.common_names`, and its own.

Where TensorFlow 1 has the same name, it has other arguments there, or another meaning. `tape_api.library` makes the
public functions.
"""

from __future__ import annotations

from dualgrad.frontend import common_names
from dualgrad.frontend.rows import Later, Old, Table
from optim.names import CLIPPING

version1_functions = Later("dualgrad.frontend.version1_functions")
losses = Later("dualgrad.extras.ops.losses")
blocks = Later("engine.ops.blocks")
compare = Later("engine.ops.compare")
conv = Later("engine.ops.conv")
cross_entropy = Later("engine.ops.cross_entropy")
extrema = Later("engine.ops.extrema")
filling = Later("engine.ops.filling")
gather = Later("engine.ops.gather")
joining = Later("engine.ops.joining")
layers = Later("engine.ops.layers")
nn = Later("engine.ops.nn")
partition = Later("engine.ops.partition")
pool = Later("engine.ops.pool")
rearrange = Later("engine.ops.rearrange")
reduce = Later("engine.ops.reduce")
shape = Later("engine.ops.shape")
slicing = Later("engine.ops.slicing")
stats = Later("engine.ops.stats")

_COLLECTED = ("scope", "loss_collection")

TABLE = Table(
    (
        *common_names.TABLE.rows,
        *CLIPPING,
        # ---- choice
        (compare.where, "where"),
        # ---- reductions
        (reduce.reduce_sum, "reduce_sum math.reduce_sum"),
        (reduce.reduce_mean, "reduce_mean math.reduce_mean"),
        (reduce.reduce_prod, "reduce_prod math.reduce_prod"),
        (reduce.reduce_logsumexp, "reduce_logsumexp math.reduce_logsumexp"),
        (reduce.reduce_any, "reduce_any math.reduce_any"),
        (reduce.reduce_all, "reduce_all math.reduce_all"),
        (reduce.count_nonzero, "math.count_nonzero"),
        (extrema.reduce_max, "reduce_max math.reduce_max"),
        (extrema.reduce_min, "reduce_min math.reduce_min"),
        (extrema.argmax, "argmax math.argmax"),
        (extrema.argmin, "argmin math.argmin"),
        (stats.norm, "norm linalg.norm"),
        (version1_functions.accumulate_n, "math.accumulate_n"),
        # ---- shapes, slices, indices
        (filling.zeros_like, "zeros_like"),
        (filling.ones_like, "ones_like"),
        (shape.shape, "shape"),
        (shape.size, "size"),
        (shape.expand_dims, "expand_dims"),
        (shape.squeeze, "squeeze"),
        (shape.transpose, "transpose"),
        (joining.concat, "concat"),
        (joining.split, "split"),
        (rearrange.repeat, "repeat"),
        (rearrange.pad, "pad"),
        (slicing.boolean_mask, "boolean_mask"),
        (gather.gather, "gather"),
        (partition.reverse_sequence, "reverse_sequence"),
        (layers.embedding_lookup, "nn.embedding_lookup"),
        # ---- neural networks
        (nn.softmax, "nn.softmax math.softmax"),
        (nn.log_softmax, "nn.log_softmax math.log_softmax"),
        (cross_entropy.softmax_cross_entropy_with_logits, "nn.softmax_cross_entropy_with_logits"),
        (cross_entropy.sparse_softmax_cross_entropy_with_logits, "nn.sparse_softmax_cross_entropy_with_logits"),
        (cross_entropy.sigmoid_cross_entropy_with_logits, "nn.sigmoid_cross_entropy_with_logits"),
        (cross_entropy.weighted_cross_entropy_with_logits, "nn.weighted_cross_entropy_with_logits"),
        (Old(losses.mean_squared_error, ignored=_COLLECTED), "compat.v1.losses.mean_squared_error"),
        (Old(losses.compute_weighted_loss, ignored=_COLLECTED), "compat.v1.losses.compute_weighted_loss"),
        (
            Old(
                losses.cosine_distance,
                {"dim": "axis"},
                ("labels", "predictions", "axis", "weights", "scope", "loss_collection", "reduction", "dim"),
                ignored=_COLLECTED,
            ),
            "compat.v1.losses.cosine_distance",
        ),
        (
            Old(
                losses.mean_pairwise_squared_error,
                order=("labels", "predictions", "weights", "scope", "loss_collection"),
                ignored=_COLLECTED,
            ),
            "compat.v1.losses.mean_pairwise_squared_error",
        ),
        (
            Old(losses.absolute_difference, ignored=_COLLECTED),
            "compat.v1.losses.absolute_difference losses.absolute_difference",
        ),
        (Old(losses.huber_loss, ignored=_COLLECTED), "compat.v1.losses.huber_loss losses.huber_loss"),
        (Old(losses.log_loss, ignored=_COLLECTED), "compat.v1.losses.log_loss losses.log_loss"),
        (Old(losses.hinge_loss, ignored=_COLLECTED), "compat.v1.losses.hinge_loss losses.hinge_loss"),
        (
            Old(losses.softmax_cross_entropy, ignored=_COLLECTED),
            "compat.v1.losses.softmax_cross_entropy losses.softmax_cross_entropy",
        ),
        (
            Old(losses.sparse_softmax_cross_entropy, ignored=_COLLECTED),
            "compat.v1.losses.sparse_softmax_cross_entropy losses.sparse_softmax_cross_entropy",
        ),
        (
            Old(losses.sigmoid_cross_entropy, ignored=_COLLECTED),
            "compat.v1.losses.sigmoid_cross_entropy losses.sigmoid_cross_entropy",
        ),
        (Old(layers.l2_normalize, {"dim": "axis"}), "math.l2_normalize nn.l2_normalize linalg.l2_normalize"),
        (layers.moments, "nn.moments"),
        (layers.in_top_k, "math.in_top_k nn.in_top_k"),
        # ---- convolutions and pools
        (conv.conv1d, "nn.conv1d"),
        (conv.conv2d, "nn.conv2d"),
        (conv.conv3d, "nn.conv3d"),
        (conv.convolution, "nn.convolution"),
        (conv.conv2d_transpose, "nn.conv2d_transpose"),
        (conv.conv3d_transpose, "nn.conv3d_transpose"),
        (conv.depthwise_conv2d, "nn.depthwise_conv2d"),
        (conv.separable_conv2d, "nn.separable_conv2d"),
        (pool.max_pool, "nn.max_pool"),
        (pool.max_pool_with_argmax, "nn.max_pool_with_argmax"),
        (pool.avg_pool, "nn.avg_pool"),
        (pool.avg_pool2d, "nn.avg_pool2d"),
        (pool.pool, "nn.pool"),
        (blocks.depth_to_space, "nn.depth_to_space"),
        (blocks.space_to_depth, "nn.space_to_depth"),
        (blocks.space_to_batch_nd, "space_to_batch nn.space_to_batch"),
        (blocks.batch_to_space_nd, "batch_to_space"),
    )
)
