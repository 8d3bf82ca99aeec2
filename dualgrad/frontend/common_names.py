"""TensorFlow's names that mean the same in both of its versions, and which function of the engine each stands for.

A row is ``(function or op, names)``, or ``(Old(function, ...), names)`` where TensorFlow has the arguments in another
order; names are below ``tf.``. Signatures and documentation are the engine's.
`dualgrad.frontend.version1` and `tape_api.names` add the names of one version; each front end lifts all of them to
functions of its tensors; there is no second implementation of anything.
"""

from __future__ import annotations

from dualgrad.frontend.rows import Later, Old, Table

arithmetic = Later("engine.ops.arithmetic")
blocks = Later("engine.ops.blocks")
compare = Later("engine.ops.compare")
complexes = Later("engine.ops.complexes")
conv = Later("engine.ops.conv")
decompose = Later("engine.ops.decompose")
determinants = Later("engine.ops.determinants")
diagonal = Later("engine.ops.diagonal")
einsum = Later("engine.ops.einsum")
explog = Later("engine.ops.explog")
fft = Later("engine.ops.fft")
filling = Later("engine.ops.filling")
joining = Later("engine.ops.joining")
layers = Later("engine.ops.layers")
linalg = Later("engine.ops.linalg")
matrix_functions = Later("engine.ops.matrix_functions")
nn = Later("engine.ops.nn")
partition = Later("engine.ops.partition")
pool = Later("engine.ops.pool")
rearrange = Later("engine.ops.rearrange")
reduce = Later("engine.ops.reduce")
scan = Later("engine.ops.scan")
scatter = Later("engine.ops.scatter")
segment = Later("engine.ops.segment")
shape = Later("engine.ops.shape")
slicing = Later("engine.ops.slicing")
solve = Later("engine.ops.solve")
sorting = Later("engine.ops.sorting")
special = Later("engine.ops.special")
stats = Later("engine.ops.stats")
trig = Later("engine.ops.trig")
windows = Later("engine.ops.windows")

TABLE = Table(
    (
        # ---- arithmetic
        (arithmetic.add, "add math.add"),
        (arithmetic.subtract, "subtract math.subtract"),
        (arithmetic.multiply, "multiply math.multiply"),
        (arithmetic.negative, "negative math.negative"),
        (arithmetic.divide, "realdiv"),
        (arithmetic.truediv, "divide math.divide truediv math.truediv"),
        (arithmetic.reciprocal, "math.reciprocal"),
        (arithmetic.square, "square math.square"),
        (arithmetic.squared_difference, "math.squared_difference"),
        (arithmetic.mod, "math.floormod math.mod"),
        (arithmetic.floordiv, "math.floordiv"),
        (arithmetic.truncatemod, "truncatemod"),
        (arithmetic.truncatediv, "truncatediv"),
        (arithmetic.div_no_nan, "math.divide_no_nan"),
        (arithmetic.multiply_no_nan, "math.multiply_no_nan"),
        (arithmetic.maximum, "maximum math.maximum"),
        (arithmetic.minimum, "minimum math.minimum"),
        (arithmetic.floor, "floor math.floor"),
        (arithmetic.ceil, "math.ceil"),
        (arithmetic.round, "round math.round"),
        (arithmetic.rint, "math.rint"),
        # ---- comparisons, logic, choice, casts
        (compare.equal, "equal math.equal"),
        (compare.not_equal, "not_equal math.not_equal"),
        (compare.less, "less math.less"),
        (compare.less_equal, "less_equal math.less_equal"),
        (compare.greater, "greater math.greater"),
        (compare.greater_equal, "greater_equal math.greater_equal"),
        (compare.logical_and, "logical_and math.logical_and"),
        (compare.logical_or, "logical_or math.logical_or"),
        (compare.logical_xor, "math.logical_xor"),
        (compare.logical_not, "logical_not math.logical_not"),
        (compare.bitwise_and, "bitwise.bitwise_and"),
        (compare.bitwise_or, "bitwise.bitwise_or"),
        (compare.bitwise_xor, "bitwise.bitwise_xor"),
        (compare.bitwise_not, "bitwise.invert"),
        (compare.left_shift, "bitwise.left_shift"),
        (compare.right_shift, "bitwise.right_shift"),
        (compare.is_nan, "math.is_nan"),
        (compare.is_inf, "math.is_inf"),
        (compare.is_finite, "math.is_finite"),
        (compare.cast, "cast dtypes.cast"),
        # ---- exponentials, powers, circular and hyperbolic functions
        (explog.exp, "exp math.exp"),
        (explog.expm1, "math.expm1"),
        (explog.log, "math.log log"),
        (explog.log1p, "math.log1p"),
        (explog.sqrt, "sqrt math.sqrt"),
        (explog.rsqrt, "math.rsqrt"),
        (explog.pow, "pow math.pow"),
        (trig.sin, "sin math.sin"),
        (trig.cos, "cos math.cos"),
        (trig.tan, "tan math.tan"),
        (trig.asin, "asin math.asin"),
        (trig.acos, "acos math.acos"),
        (trig.atan, "atan math.atan"),
        (trig.atan2, "atan2 math.atan2"),
        (trig.sinh, "sinh math.sinh"),
        (trig.cosh, "cosh math.cosh"),
        (trig.tanh, "tanh math.tanh nn.tanh"),
        (trig.asinh, "asinh math.asinh"),
        (trig.acosh, "acosh math.acosh"),
        (trig.atanh, "atanh math.atanh"),
        # ---- complex numbers
        (complexes.abs, "abs math.abs"),
        (complexes.sign, "sign math.sign"),
        (complexes.complex, "complex dtypes.complex"),
        (complexes.real, "math.real"),
        (complexes.imag, "math.imag"),
        (complexes.conj, "math.conj"),
        (complexes.angle, "math.angle"),
        # ---- reductions
        (reduce.add_n, "add_n math.add_n"),
        (stats.reduce_variance, "math.reduce_variance"),
        (stats.reduce_std, "math.reduce_std"),
        (stats.reduce_euclidean_norm, "math.reduce_euclidean_norm"),
        (scan.cumsum, "cumsum math.cumsum"),
        (scan.cumprod, "math.cumprod"),
        (scan.cumulative_logsumexp, "math.cumulative_logsumexp"),
        # ---- special functions
        (special.erf, "math.erf"),
        (special.erfc, "math.erfc"),
        (special.erfinv, "math.erfinv"),
        (special.erfcinv, "math.erfcinv"),
        (special.ndtri, "math.ndtri"),
        (special.lgamma, "math.lgamma"),
        (special.digamma, "math.digamma"),
        (special.polygamma, "math.polygamma"),
        (special.zeta, "math.zeta"),
        (special.lbeta, "math.lbeta"),
        (special.betainc, "math.betainc"),
        (special.igamma, "math.igamma"),
        (special.igammac, "math.igammac"),
        (special.xlogy, "math.xlogy"),
        (special.xlog1py, "math.xlog1py"),
        (special.xdivy, "math.xdivy"),
        (special.bessel_i0, "math.bessel_i0 math.special.bessel_i0"),
        (special.bessel_i0e, "math.bessel_i0e math.special.bessel_i0e"),
        (special.bessel_i1, "math.bessel_i1 math.special.bessel_i1"),
        (special.bessel_i1e, "math.bessel_i1e math.special.bessel_i1e"),
        (special.bessel_j0, "math.special.bessel_j0"),
        (special.bessel_j1, "math.special.bessel_j1"),
        (special.bessel_k0, "math.special.bessel_k0"),
        (special.bessel_k0e, "math.special.bessel_k0e"),
        (special.bessel_k1, "math.special.bessel_k1"),
        (special.bessel_k1e, "math.special.bessel_k1e"),
        (special.bessel_y0, "math.special.bessel_y0"),
        (special.bessel_y1, "math.special.bessel_y1"),
        (special.fresnel_cos, "math.special.fresnel_cos"),
        (special.fresnel_sin, "math.special.fresnel_sin"),
        (special.spence, "math.special.spence"),
        (arithmetic.nextafter, "math.nextafter"),
        (special.dawsn, "math.special.dawsn"),
        (special.expint, "math.special.expint"),
        # ---- linear algebra
        (linalg.matmul, "matmul linalg.matmul"),
        (linalg.matvec, "linalg.matvec"),
        (shape.matrix_transpose, "linalg.matrix_transpose"),
        (linalg.adjoint, "linalg.adjoint"),
        (linalg.trace, "linalg.trace"),
        (linalg.cross, "linalg.cross"),
        (einsum.einsum, "einsum linalg.einsum"),
        (einsum.tensordot, "tensordot linalg.tensordot"),
        (solve.inv, "linalg.inv"),
        (determinants.det, "linalg.det"),
        (determinants.slogdet, "linalg.slogdet"),
        (solve.solve, "linalg.solve"),
        (solve.triangular_solve, "linalg.triangular_solve"),
        (solve.cholesky_solve, "linalg.cholesky_solve"),
        (decompose.cholesky, "linalg.cholesky"),
        (decompose.eigh, "linalg.eigh"),
        (decompose.eigvalsh, "linalg.eigvalsh"),
        (decompose.svd, "linalg.svd"),
        (decompose.qr, "linalg.qr"),
        (matrix_functions.pinv, "linalg.pinv"),
        (matrix_functions.lstsq, "linalg.lstsq"),
        (matrix_functions.logdet, "linalg.logdet"),
        (matrix_functions.expm, "linalg.expm"),
        # ---- shapes, slices, indices
        (filling.zeros, "zeros"),
        (filling.ones, "ones"),
        (filling.fill, "fill"),
        (filling.range, "range"),
        (filling.linspace, "linspace"),
        (filling.eye, "eye linalg.eye"),
        (filling.one_hot, "one_hot"),
        (shape.shape_n, "shape_n"),
        (shape.rank, "rank"),
        (shape.reshape, "reshape"),
        (shape.broadcast_to, "broadcast_to"),
        (shape.broadcast_dynamic_shape, "broadcast_dynamic_shape"),
        (shape.broadcast_static_shape, "broadcast_static_shape"),
        (shape.identity, "identity"),
        (shape.identity_n, "identity_n"),
        (shape.stop_gradient, "stop_gradient"),
        (joining.stack, "stack"),
        (joining.unstack, "unstack"),
        (rearrange.tile, "tile"),
        (rearrange.reverse, "reverse"),
        (rearrange.roll, "roll"),
        (rearrange.meshgrid, "meshgrid"),
        (slicing.slice, "slice"),
        (slicing.strided_slice, "strided_slice"),
        (scatter.gather_nd, "gather_nd"),
        (scatter.scatter_nd, "scatter_nd"),
        (scatter.tensor_scatter_nd_update, "tensor_scatter_nd_update"),
        (scatter.tensor_scatter_nd_add, "tensor_scatter_nd_add"),
        (scatter.tensor_scatter_nd_sub, "tensor_scatter_nd_sub"),
        (scatter.tensor_scatter_nd_max, "tensor_scatter_nd_max"),
        (scatter.tensor_scatter_nd_min, "tensor_scatter_nd_min"),
        (sorting.sort, "sort"),
        (sorting.argsort, "argsort"),
        (sorting.invert_permutation, "math.invert_permutation"),
        (sorting.top_k, "math.top_k nn.top_k"),
        (sorting.searchsorted, "searchsorted"),
        (sorting.unique, "unique"),
        (sorting.unique_with_counts, "unique_with_counts"),
        (partition.dynamic_partition, "dynamic_partition"),
        (partition.dynamic_stitch, "dynamic_stitch"),
        (partition.sequence_mask, "sequence_mask"),
        (segment.segment_sum, "math.segment_sum"),
        (segment.segment_mean, "math.segment_mean"),
        (segment.segment_max, "math.segment_max"),
        (segment.segment_min, "math.segment_min"),
        (segment.segment_prod, "math.segment_prod"),
        (segment.unsorted_segment_sum, "math.unsorted_segment_sum"),
        (segment.unsorted_segment_mean, "math.unsorted_segment_mean"),
        (segment.unsorted_segment_sqrt_n, "math.unsorted_segment_sqrt_n"),
        (segment.unsorted_segment_max, "math.unsorted_segment_max"),
        (segment.unsorted_segment_min, "math.unsorted_segment_min"),
        (segment.unsorted_segment_prod, "math.unsorted_segment_prod"),
        # ---- diagonals and triangles
        (diagonal.tensor_diag, "linalg.tensor_diag"),
        (diagonal.tensor_diag_part, "linalg.tensor_diag_part"),
        (
            Old(
                diagonal.matrix_diag,
                order=("diagonal", "name", "k", "num_rows", "num_cols", "padding_value", "align"),
            ),
            "linalg.diag",
        ),
        (Old(diagonal.matrix_diag_part, order=("input", "name", "k", "padding_value", "align")), "linalg.diag_part"),
        (Old(diagonal.set_diag, order=("input", "diagonal", "name", "k", "align")), "linalg.set_diag"),
        (diagonal.band_part, "linalg.band_part"),
        # ---- Fourier transforms
        (fft.fft, "signal.fft"),
        (fft.ifft, "signal.ifft"),
        (fft.fft2d, "signal.fft2d"),
        (fft.ifft2d, "signal.ifft2d"),
        (fft.fft3d, "signal.fft3d"),
        (fft.ifft3d, "signal.ifft3d"),
        (fft.rfft, "signal.rfft"),
        (fft.irfft, "signal.irfft"),
        (fft.rfft2d, "signal.rfft2d"),
        (fft.irfft2d, "signal.irfft2d"),
        (fft.rfft3d, "signal.rfft3d"),
        (fft.irfft3d, "signal.irfft3d"),
        # ---- neural networks
        (nn.relu, "nn.relu"),
        (nn.relu6, "nn.relu6"),
        (nn.leaky_relu, "nn.leaky_relu"),
        (nn.elu, "nn.elu"),
        (nn.selu, "nn.selu"),
        (nn.gelu, "nn.gelu"),
        (nn.crelu, "nn.crelu"),
        (nn.silu, "nn.silu nn.swish"),
        (nn.sigmoid, "sigmoid math.sigmoid nn.sigmoid"),
        (nn.log_sigmoid, "math.log_sigmoid"),
        (nn.softplus, "nn.softplus math.softplus"),
        (nn.softsign, "nn.softsign math.softsign"),
        (layers.l2_loss, "nn.l2_loss"),
        (layers.batch_normalization, "nn.batch_normalization"),
        (layers.bias_add, "nn.bias_add"),
        (layers.zero_fraction, "math.zero_fraction nn.zero_fraction"),
        # ---- convolutions and pools
        (conv.atrous_conv2d, "nn.atrous_conv2d"),
        (conv.atrous_conv2d_transpose, "nn.atrous_conv2d_transpose"),
        (conv.depthwise_conv2d_backprop_filter, "nn.depthwise_conv2d_backprop_filter"),
        (conv.depthwise_conv2d_backprop_input, "nn.depthwise_conv2d_backprop_input"),
        (compare.bitcast, "bitcast"),
        (conv.conv1d_transpose, "nn.conv1d_transpose"),
        (pool.max_pool1d, "nn.max_pool1d"),
        (pool.max_pool2d, "nn.max_pool2d"),
        (pool.max_pool3d, "nn.max_pool3d"),
        (pool.avg_pool1d, "nn.avg_pool1d"),
        (pool.avg_pool3d, "nn.avg_pool3d"),
        (windows.extract_patches, "image.extract_patches"),
        (blocks.space_to_batch_nd, "space_to_batch_nd"),
    )
)
