"""TensorFlow 2's names, and which function each stands for: those of `dualgrad.frontend.common_names`, and its own.

Where TensorFlow 1 has the same name, it has other arguments there, or another meaning. `tape_api.library` makes the
public functions.
"""

from __future__ import annotations

from dualgrad.frontend import common_names
from dualgrad.frontend.rows import Table, functions
from optim.names import CLIPPING

_OWN = functions("""
# ---- choice
compare.where | where
# ---- reductions
reduce.* | * math.* | | reduce_sum reduce_mean reduce_prod reduce_logsumexp reduce_any reduce_all
reduce.count_nonzero | math.count_nonzero
extrema.* | * math.* | | reduce_max reduce_min argmax argmin
stats.norm | norm linalg.norm
dualgrad.frontend.version1_functions:accumulate_n | math.accumulate_n
# ---- shapes, slices, indices
filling.* | * | | zeros_like ones_like
shape.* | * | | shape size expand_dims squeeze transpose
joining.* | * | | concat split
rearrange.* | * | | repeat pad
slicing.boolean_mask | boolean_mask
gather.gather | gather
partition.reverse_sequence | reverse_sequence
layers.* | nn.* | | embedding_lookup moments
# ---- neural networks
nn.* | nn.* math.* | | softmax log_softmax
cross_entropy.* | nn.* | | softmax_cross_entropy_with_logits sparse_softmax_cross_entropy_with_logits
 sigmoid_cross_entropy_with_logits weighted_cross_entropy_with_logits
dualgrad.extras.ops.losses:* | compat.v1.losses.* | ; -scope -loss_collection | mean_squared_error
 compute_weighted_loss
dualgrad.extras.ops.losses:cosine_distance | compat.v1.losses.cosine_distance | labels predictions axis weights -scope
 -loss_collection reduction dim=axis
dualgrad.extras.ops.losses:mean_pairwise_squared_error | compat.v1.losses.mean_pairwise_squared_error | labels
 predictions weights -scope -loss_collection
dualgrad.extras.ops.losses:* | compat.v1.losses.* losses.* | ; -scope -loss_collection | absolute_difference huber_loss
 log_loss hinge_loss softmax_cross_entropy sparse_softmax_cross_entropy sigmoid_cross_entropy
layers.l2_normalize | math.l2_normalize nn.l2_normalize linalg.l2_normalize | ; dim=axis
layers.in_top_k | math.in_top_k nn.in_top_k
# ---- convolutions and pools
conv.* | nn.* | | conv1d conv2d conv3d convolution conv2d_transpose conv3d_transpose depthwise_conv2d separable_conv2d
pool.* | nn.* | | max_pool max_pool_with_argmax avg_pool avg_pool2d pool
blocks.* | nn.* | | depth_to_space space_to_depth
blocks.space_to_batch_nd | space_to_batch nn.space_to_batch
blocks.batch_to_space_nd | batch_to_space
""")

TABLE = Table((*common_names.TABLE.rows, *CLIPPING, *_OWN))
