"""TensorFlow 1's names, and which function each stands for: those of `common_names.py`, and those that are its own.

`dualgrad.frontend.rows.functions` says what a line means, and how TensorFlow 1 spelled arguments differently.
Everything is lifted by `engine.ops.lift.lift`; there is no second implementation of anything. `graph_api` consists
of them, `tape_api` has them as ``tf.compat.v1``.
"""

from __future__ import annotations

from typing import Any

from dualgrad.frontend import common_names
from dualgrad.frontend.namespace import moved, with_aliases
from dualgrad.frontend.rows import Table, functions, pairs

_OWN = functions("""
# ---- comparisons, logic, choice, casts
dualgrad.frontend.version1_functions:* | * | | where div to_float to_double to_int32 to_int64 to_complex64
 to_complex128
compare.where | where_v2
# ---- reductions
reduce.* | * math.* | input_tensor axis keepdims name reduction_indices=axis keep_dims=keepdims | reduce_sum
 reduce_mean reduce_prod reduce_all reduce_any reduce_logsumexp
extrema.* | * math.* | input_tensor axis keepdims name reduction_indices=axis keep_dims=keepdims | reduce_max
 reduce_min
reduce.count_nonzero | count_nonzero math.count_nonzero | input axis keepdims dtype name reduction_indices=axis
 keep_dims=keepdims ; input_tensor=input
extrema.* | * math.* | input axis name dimension=axis output_type | argmax argmin
dualgrad.frontend.version1_functions:accumulate_n | accumulate_n math.accumulate_n
# ---- shapes and data movement
shape.* | * | input name out_type | shape size
shape.expand_dims | expand_dims | input axis name dim=axis
shape.squeeze | squeeze | input axis name squeeze_dims=axis
shape.transpose | transpose | a perm name conjugate
joining.concat | concat | ; concat_dim=axis
joining.split | split | ; split_dim=axis num_split=num_or_size_splits
slicing.boolean_mask | boolean_mask | tensor mask name axis
gather.gather | gather | params indices -validate_indices name axis batch_dims
partition.reverse_sequence | reverse_sequence | ; seq_dim=seq_axis batch_dim=batch_axis
filling.* | * | input dtype name -optimize ; tensor=input | zeros_like ones_like
# ---- linear algebra
stats.norm | norm linalg.norm | tensor ord axis keepdims name keep_dims=keepdims
# ---- neural networks
nn.* | nn.* math.* | logits axis name dim=axis | softmax log_softmax
layers.l2_normalize | nn.l2_normalize math.l2_normalize | x axis epsilon name dim=axis
layers.moments | nn.moments | x axes shift name keep_dims=keepdims keepdims
dualgrad.frontend.version1_functions:embedding_lookup | nn.embedding_lookup | params ids partition_strategy name
 -validate_indices max_norm
layers.in_top_k | nn.in_top_k math.in_top_k | predictions targets k name
# ---- losses
dualgrad.frontend.version1_functions:softmax_cross_entropy_with_logits | nn.softmax_cross_entropy_with_logits |
 _sentinel labels logits axis name ; dim=axis
cross_entropy.softmax_cross_entropy_with_logits | nn.softmax_cross_entropy_with_logits_v2 | labels logits axis name
 dim=axis
cross_entropy.* | nn.* | _sentinel labels logits name | sparse_softmax_cross_entropy_with_logits
 sigmoid_cross_entropy_with_logits
cross_entropy.weighted_cross_entropy_with_logits | nn.weighted_cross_entropy_with_logits | labels logits pos_weight
 name targets=labels
# ---- repetition, padding, random numbers that are functions of a seed
rearrange.repeat | repeat | input repeats axis name
rearrange.pad | pad | tensor paddings mode name constant_values
random.* | random.* | | stateless_uniform stateless_normal stateless_truncated_normal stateless_categorical
# ---- convolutions, pools, blocks of images
conv.conv1d | nn.conv1d | value=input filters stride padding -use_cudnn_on_gpu data_format name input dilations
conv.conv2d | nn.conv2d | input filter=filters strides padding -use_cudnn_on_gpu data_format dilations name filters
conv.conv3d | nn.conv3d | input filter=filters strides padding data_format dilations name filters
conv.convolution | nn.convolution | input filter=filters padding strides dilation_rate=dilations name data_format
 filters dilations
conv.* | nn.* | value=input filter=filters output_shape strides padding data_format name input filters dilations |
 conv2d_transpose conv3d_transpose
conv.conv2d_backprop_input | nn.conv2d_backprop_input | input_sizes filter=filters out_backprop strides padding
 -use_cudnn_on_gpu data_format dilations name
conv.conv2d_backprop_filter | nn.conv2d_backprop_filter | input filter_sizes out_backprop strides padding
 -use_cudnn_on_gpu data_format dilations name
conv.depthwise_conv2d | nn.depthwise_conv2d | input filter strides padding rate=dilations name data_format dilations
conv.depthwise_conv2d | nn.depthwise_conv2d_native
conv.separable_conv2d | nn.separable_conv2d | input depthwise_filter pointwise_filter strides padding rate=dilations
 name data_format dilations
pool.* | nn.* | value=input ksize strides padding data_format name input | max_pool avg_pool avg_pool2d
pool.pool | nn.pool | input window_shape pooling_type padding dilation_rate=dilations strides name data_format
 dilations
pool.max_pool_with_argmax | nn.max_pool_with_argmax | input ksize strides padding data_format Targmax=output_dtype name
 output_dtype include_batch_in_index
windows.extract_patches | extract_image_patches image.extract_image_patches | images ksizes=sizes strides rates padding
 name sizes
blocks.* | * nn.* | input block_size name data_format | depth_to_space space_to_depth
blocks.space_to_batch | space_to_batch nn.space_to_batch | ; block_shape=block_size
blocks.batch_to_space | batch_to_space | ; block_shape=block_size
blocks.batch_to_space_nd | batch_to_space_nd
""")

_ALIASES = {
    **moved(
        "angle betainc ceil conj cumprod digamma erf erfc expm1 floordiv floormod igamma igammac imag is_finite is_inf "
        "invert_permutation is_nan lbeta lgamma log1p log_sigmoid logical_xor mod polygamma real reciprocal rint rsqrt "
        "segment_max segment_mean segment_min segment_prod segment_sum squared_difference unsorted_segment_max "
        "unsorted_segment_mean unsorted_segment_min unsorted_segment_prod unsorted_segment_sum zeta",
        "math",
    ),
    **moved("is_finite is_inf is_nan", "math", "debugging"),
    **moved("log_sigmoid", "math", "nn"),
    **moved("cholesky cholesky_solve cross global_norm matrix_transpose qr svd trace", "linalg"),
    **moved("fft fft2d ifft ifft2d", "signal"),
    **moved("fft fft2d fft3d ifft ifft2d ifft3d irfft irfft2d irfft3d rfft rfft2d rfft3d", "signal", "spectral"),
    **moved("batch_to_space_nd gather_nd reshape reverse roll scatter_nd space_to_batch_nd tile", "", "manip"),
    **pairs("""
arg_max=argmax arg_min=argmin linalg.l2_normalize=math.l2_normalize
unsorted_segment_sqrt_n=math.unsorted_segment_sqrt_n fft3d=signal.fft3d ifft3d=signal.ifft3d batch_matmul=matmul
batch_matrix_determinant=linalg.det batch_matrix_inverse=linalg.inv batch_svd=linalg.svd complex_abs=abs
nn.depthwise_conv2d_native_backprop_filter=nn.depthwise_conv2d_backprop_filter
nn.depthwise_conv2d_native_backprop_input=nn.depthwise_conv2d_backprop_input diag=linalg.tensor_diag
diag_part=linalg.tensor_diag_part div_no_nan=math.divide_no_nan floor_div=math.floordiv lin_space=linspace
linalg.transpose=linalg.matrix_transpose matrix_band_part=linalg.band_part matrix_determinant=linalg.det
matrix_diag=linalg.diag matrix_diag_part=linalg.diag_part matrix_inverse=linalg.inv matrix_set_diag=linalg.set_diag
matrix_solve=linalg.solve matrix_solve_ls=linalg.lstsq matrix_triangular_solve=linalg.triangular_solve mul=multiply
neg=negative pack=stack parallel_stack=stack reverse_v2=reverse self_adjoint_eig=linalg.eigh
self_adjoint_eigvals=linalg.eigvalsh sub=subtract tensor_scatter_add=tensor_scatter_nd_add
tensor_scatter_sub=tensor_scatter_nd_sub tensor_scatter_update=tensor_scatter_nd_update unpack=unstack
"""),
}  # fmt: skip
"""Names that TensorFlow 1 has beside those of today."""


def table(*further: tuple[Any, str]) -> Table:
    """All of them, with rows that are not the engine's."""
    return Table(with_aliases((*common_names.TABLE.rows, *further, *_OWN), _ALIASES))
