"""TensorFlow's names that mean the same in both of its versions, and which function of the engine each stands for.

`dualgrad.frontend.rows.functions` says what a line means. Names are below ``tf.``; signatures and documentation are the
engine's.
`dualgrad.frontend.version1` and `tape_api.names` add the names of one version; each front end lifts all of them to
functions of its tensors; there is no second implementation of anything.
"""

from __future__ import annotations

from dualgrad.frontend.rows import Table, functions

TABLE = Table(functions("""
# ---- arithmetic
arithmetic.* | * math.* | | add subtract multiply negative square maximum minimum floor round
arithmetic.divide | realdiv
arithmetic.truediv | divide math.divide truediv math.truediv
arithmetic.* | math.* | | reciprocal squared_difference floordiv multiply_no_nan ceil rint nextafter
arithmetic.mod | math.floormod math.mod
arithmetic.* | * | | truncatemod truncatediv
arithmetic.div_no_nan | math.divide_no_nan
# ---- comparisons, logic, choice, casts
compare.* | * math.* | | equal not_equal less less_equal greater greater_equal logical_and logical_or logical_not
compare.* | math.* | | logical_xor is_nan is_inf is_finite
compare.* | bitwise.* | | bitwise_and bitwise_or bitwise_xor left_shift right_shift
compare.bitwise_not | bitwise.invert
compare.cast | cast dtypes.cast
# ---- exponentials, powers, circular and hyperbolic functions
explog.* | * math.* | | exp sqrt pow
explog.* | math.* | | expm1 log1p rsqrt
explog.log | math.log log
trig.* | * math.* | | sin cos tan asin acos atan atan2 sinh cosh asinh acosh atanh
trig.tanh | tanh math.tanh nn.tanh
# ---- complex numbers
complexes.* | * math.* | | abs sign
complexes.complex | complex dtypes.complex
complexes.* | math.* | | real imag conj angle
# ---- reductions
reduce.add_n | add_n math.add_n
stats.* | math.* | | reduce_variance reduce_std reduce_euclidean_norm
scan.cumsum | cumsum math.cumsum
scan.* | math.* | | cumprod cumulative_logsumexp
# ---- special functions
special.* | math.* | | erf erfc erfinv erfcinv ndtri lgamma digamma polygamma zeta lbeta betainc igamma igammac xlogy
 xlog1py xdivy
special.* | math.* math.special.* | | bessel_i0 bessel_i0e bessel_i1 bessel_i1e
special.* | math.special.* | | bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1 bessel_k1e bessel_y0 bessel_y1
 fresnel_cos fresnel_sin spence dawsn expint
# ---- linear algebra
linalg.matmul | matmul linalg.matmul
linalg.* | linalg.* | | matvec adjoint trace cross
shape.matrix_transpose | linalg.matrix_transpose
einsum.* | * linalg.* | | einsum tensordot
solve.* | linalg.* | | inv solve triangular_solve cholesky_solve
determinants.* | linalg.* | | det slogdet
decompose.* | linalg.* | | cholesky eigh eigvalsh svd qr
matrix_functions.* | linalg.* | | pinv lstsq logdet expm
# ---- shapes, slices, indices
filling.* | * | | zeros ones fill range linspace one_hot
filling.eye | eye linalg.eye
shape.* | * | | shape_n rank reshape broadcast_to broadcast_dynamic_shape broadcast_static_shape identity identity_n
 stop_gradient
joining.* | * | | stack unstack
rearrange.* | * | | tile reverse roll meshgrid
slicing.* | * | | slice strided_slice
scatter.* | * | | gather_nd scatter_nd tensor_scatter_nd_update tensor_scatter_nd_add tensor_scatter_nd_sub
 tensor_scatter_nd_max tensor_scatter_nd_min
sorting.* | * | | sort argsort searchsorted unique unique_with_counts
sorting.invert_permutation | math.invert_permutation
sorting.top_k | math.top_k nn.top_k
partition.* | * | | dynamic_partition dynamic_stitch sequence_mask
segment.* | math.* | | segment_sum segment_mean segment_max segment_min segment_prod unsorted_segment_sum
 unsorted_segment_mean unsorted_segment_sqrt_n unsorted_segment_max unsorted_segment_min unsorted_segment_prod
# ---- diagonals and triangles
diagonal.* | linalg.* | | tensor_diag tensor_diag_part band_part
diagonal.matrix_diag | linalg.diag | diagonal name k num_rows num_cols padding_value align
diagonal.matrix_diag_part | linalg.diag_part | input name k padding_value align
diagonal.set_diag | linalg.set_diag | input diagonal name k align
# ---- Fourier transforms
fft.* | signal.* | | fft ifft fft2d ifft2d fft3d ifft3d rfft irfft rfft2d irfft2d rfft3d irfft3d
# ---- neural networks
nn.* | nn.* | | relu relu6 leaky_relu elu selu gelu crelu
nn.silu | nn.silu nn.swish
nn.sigmoid | sigmoid math.sigmoid nn.sigmoid
nn.log_sigmoid | math.log_sigmoid
nn.* | nn.* math.* | | softplus softsign
layers.* | nn.* | | l2_loss batch_normalization bias_add
layers.zero_fraction | math.zero_fraction nn.zero_fraction
# ---- convolutions and pools
conv.* | nn.* | | atrous_conv2d atrous_conv2d_transpose depthwise_conv2d_backprop_filter
 depthwise_conv2d_backprop_input conv1d_transpose
compare.bitcast | bitcast
pool.* | nn.* | | max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool3d
windows.extract_patches | image.extract_patches
blocks.space_to_batch_nd | space_to_batch_nd
"""))  # fmt: skip
