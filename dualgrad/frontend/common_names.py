"""TensorFlow's names that mean the same in both of its versions, and which function of the engine each stands for.

`named` makes rows of functions that have their own names. Another row is ``(function or op, names)``, or
``(Old(function, ...), names)`` where TensorFlow has the arguments in another order. Names are below ``tf.``; signatures
and documentation are the engine's.
`dualgrad.frontend.version1` and `tape_api.names` add the names of one version; each front end lifts all of them to
functions of its tensors; there is no second implementation of anything.
"""

from __future__ import annotations

from dualgrad.frontend.rows import Old, Table, named, ops

TABLE = Table(
    (
        # ---- arithmetic
        *named("arithmetic", "{} math.{}", "add subtract multiply negative square maximum minimum floor round"),
        (ops.arithmetic.divide, "realdiv"),
        (ops.arithmetic.truediv, "divide math.divide truediv math.truediv"),
        *named("arithmetic", "math.{}", "reciprocal squared_difference floordiv multiply_no_nan ceil rint nextafter"),
        (ops.arithmetic.mod, "math.floormod math.mod"),
        *named("arithmetic", "{}", "truncatemod truncatediv"),
        (ops.arithmetic.div_no_nan, "math.divide_no_nan"),
        # ---- comparisons, logic, choice, casts
        *named(
            "compare",
            "{} math.{}",
            "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_not",
        ),
        *named("compare", "math.{}", "logical_xor is_nan is_inf is_finite"),
        *named("compare", "bitwise.{}", "bitwise_and bitwise_or bitwise_xor left_shift right_shift"),
        (ops.compare.bitwise_not, "bitwise.invert"),
        (ops.compare.cast, "cast dtypes.cast"),
        # ---- exponentials, powers, circular and hyperbolic functions
        *named("explog", "{} math.{}", "exp sqrt pow"),
        *named("explog", "math.{}", "expm1 log1p rsqrt"),
        (ops.explog.log, "math.log log"),
        *named("trig", "{} math.{}", "sin cos tan asin acos atan atan2 sinh cosh asinh acosh atanh"),
        (ops.trig.tanh, "tanh math.tanh nn.tanh"),
        # ---- complex numbers
        *named("complexes", "{} math.{}", "abs sign"),
        (ops.complexes.complex, "complex dtypes.complex"),
        *named("complexes", "math.{}", "real imag conj angle"),
        # ---- reductions
        (ops.reduce.add_n, "add_n math.add_n"),
        *named("stats", "math.{}", "reduce_variance reduce_std reduce_euclidean_norm"),
        (ops.scan.cumsum, "cumsum math.cumsum"),
        *named("scan", "math.{}", "cumprod cumulative_logsumexp"),
        # ---- special functions
        *named(
            "special",
            "math.{}",
            "erf erfc erfinv erfcinv ndtri lgamma digamma polygamma zeta lbeta betainc igamma igammac xlogy "
            "xlog1py xdivy",
        ),
        *named("special", "math.{} math.special.{}", "bessel_i0 bessel_i0e bessel_i1 bessel_i1e"),
        *named(
            "special",
            "math.special.{}",
            "bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1 bessel_k1e bessel_y0 bessel_y1 fresnel_cos "
            "fresnel_sin spence dawsn expint",
        ),
        # ---- linear algebra
        (ops.linalg.matmul, "matmul linalg.matmul"),
        *named("linalg", "linalg.{}", "matvec adjoint trace cross"),
        (ops.shape.matrix_transpose, "linalg.matrix_transpose"),
        *named("einsum", "{} linalg.{}", "einsum tensordot"),
        *named("solve", "linalg.{}", "inv solve triangular_solve cholesky_solve"),
        *named("determinants", "linalg.{}", "det slogdet"),
        *named("decompose", "linalg.{}", "cholesky eigh eigvalsh svd qr"),
        *named("matrix_functions", "linalg.{}", "pinv lstsq logdet expm"),
        # ---- shapes, slices, indices
        *named("filling", "{}", "zeros ones fill range linspace one_hot"),
        (ops.filling.eye, "eye linalg.eye"),
        *named(
            "shape",
            "{}",
            "shape_n rank reshape broadcast_to broadcast_dynamic_shape broadcast_static_shape identity "
            "identity_n stop_gradient",
        ),
        *named("joining", "{}", "stack unstack"),
        *named("rearrange", "{}", "tile reverse roll meshgrid"),
        *named("slicing", "{}", "slice strided_slice"),
        *named(
            "scatter",
            "{}",
            "gather_nd scatter_nd tensor_scatter_nd_update tensor_scatter_nd_add tensor_scatter_nd_sub "
            "tensor_scatter_nd_max tensor_scatter_nd_min",
        ),
        *named("sorting", "{}", "sort argsort searchsorted unique unique_with_counts"),
        (ops.sorting.invert_permutation, "math.invert_permutation"),
        (ops.sorting.top_k, "math.top_k nn.top_k"),
        *named("partition", "{}", "dynamic_partition dynamic_stitch sequence_mask"),
        *named(
            "segment",
            "math.{}",
            "segment_sum segment_mean segment_max segment_min segment_prod unsorted_segment_sum "
            "unsorted_segment_mean unsorted_segment_sqrt_n unsorted_segment_max unsorted_segment_min "
            "unsorted_segment_prod",
        ),
        # ---- diagonals and triangles
        *named("diagonal", "linalg.{}", "tensor_diag tensor_diag_part band_part"),
        (
            Old(
                ops.diagonal.matrix_diag,
                order=("diagonal", "name", "k", "num_rows", "num_cols", "padding_value", "align"),
            ),
            "linalg.diag",
        ),
        (
            Old(ops.diagonal.matrix_diag_part, order=("input", "name", "k", "padding_value", "align")),
            "linalg.diag_part",
        ),
        (Old(ops.diagonal.set_diag, order=("input", "diagonal", "name", "k", "align")), "linalg.set_diag"),
        # ---- Fourier transforms
        *named("fft", "signal.{}", "fft ifft fft2d ifft2d fft3d ifft3d rfft irfft rfft2d irfft2d rfft3d irfft3d"),
        # ---- neural networks
        *named("nn", "nn.{}", "relu relu6 leaky_relu elu selu gelu crelu"),
        (ops.nn.silu, "nn.silu nn.swish"),
        (ops.nn.sigmoid, "sigmoid math.sigmoid nn.sigmoid"),
        (ops.nn.log_sigmoid, "math.log_sigmoid"),
        *named("nn", "nn.{} math.{}", "softplus softsign"),
        *named("layers", "nn.{}", "l2_loss batch_normalization bias_add"),
        (ops.layers.zero_fraction, "math.zero_fraction nn.zero_fraction"),
        # ---- convolutions and pools
        *named(
            "conv",
            "nn.{}",
            "atrous_conv2d atrous_conv2d_transpose depthwise_conv2d_backprop_filter "
            "depthwise_conv2d_backprop_input conv1d_transpose",
        ),
        (ops.compare.bitcast, "bitcast"),
        *named("pool", "nn.{}", "max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool3d"),
        (ops.windows.extract_patches, "image.extract_patches"),
        (ops.blocks.space_to_batch_nd, "space_to_batch_nd"),
    )
)
