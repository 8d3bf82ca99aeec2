"""Calls of the functions that take tensors, as text: a capital letter is an operand, whose dtype and spelling vary.

V is a vector, W one of three elements, M a square matrix, S a scalar; T of rank 4 and Q of rank 5 have one element;
R is a picture.
"""

from collections.abc import Iterator

OF_VECTOR = """
abs acos acosh asin asinh atan atanh cos cosh exp floor identity logical_not negative round sigmoid sign sin sinh sqrt
square stop_gradient tan tanh zeros_like ones_like shape size rank bitwise.invert math.angle math.bessel_i0
math.bessel_i0e math.bessel_i1 math.bessel_i1e math.ceil math.conj math.digamma math.erf math.erfc math.erfcinv
math.erfinv math.expm1 math.imag math.is_finite math.is_inf math.is_nan math.lgamma math.log math.log1p
math.log_sigmoid math.ndtri math.real math.reciprocal math.rint math.rsqrt math.special.bessel_j0
math.special.bessel_j1 math.special.bessel_k0 math.special.bessel_k0e math.special.bessel_k1 math.special.bessel_k1e
math.special.bessel_y0 math.special.bessel_y1 math.special.dawsn math.special.expint math.special.fresnel_cos
math.special.fresnel_sin math.special.spence math.zero_fraction nn.crelu nn.elu nn.gelu nn.leaky_relu nn.relu nn.relu6
nn.selu nn.silu nn.softplus nn.softsign nn.l2_loss argmax argmin argsort sort cumsum math.cumprod
math.cumulative_logsumexp math.lbeta math.reduce_euclidean_norm math.reduce_std math.reduce_variance norm reduce_all
reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_sum math.count_nonzero nn.log_softmax
nn.softmax math.l2_normalize linalg.diag linalg.tensor_diag signal.fft signal.ifft signal.rfft signal.irfft unique
unique_with_counts math.invert_permutation transpose squeeze unstack
"""
"""Functions of one operand of any shape."""

OF_MATRIX = """
linalg.adjoint linalg.cholesky linalg.det linalg.diag_part linalg.eigh linalg.eigvalsh linalg.expm linalg.inv
linalg.logdet linalg.matrix_transpose linalg.pinv linalg.qr linalg.slogdet linalg.svd linalg.tensor_diag_part
linalg.trace transpose argmax reduce_sum reduce_max norm signal.fft2d signal.ifft2d signal.rfft2d signal.irfft2d
nn.softmax nn.log_softmax
"""
"""Functions of one matrix."""

OF_TWO = """
add subtract multiply divide atan2 bitwise.left_shift bitwise.right_shift bitwise.bitwise_and bitwise.bitwise_or
bitwise.bitwise_xor equal greater greater_equal less less_equal not_equal logical_and logical_or math.logical_xor
math.divide_no_nan math.multiply_no_nan math.floordiv
math.floormod math.igamma math.igammac math.nextafter math.polygamma math.squared_difference math.xdivy math.xlog1py
math.xlogy math.zeta maximum minimum pow realdiv truncatediv truncatemod complex meshgrid searchsorted
compat.v1.losses.mean_squared_error compat.v1.losses.absolute_difference compat.v1.losses.huber_loss
compat.v1.losses.log_loss compat.v1.losses.hinge_loss
"""
"""Functions of two operands of one shape."""

OTHERS = """
add_n([V, V]) | boolean_mask(V, [True, False]) | broadcast_to(V, [2, 2]) | cast(V, 'float32') | cast(V, 'int32')
cast(V, 'bool') | cast(V, 'complex64') | clip_by_global_norm([V], S) | clip_by_norm(V, S) | clip_by_value(V, S, S)
concat([V, V], 0) | dynamic_partition(V, [0, 1], 2) | dynamic_partition([1., 2.], V, 3) | einsum('i,i->', V, V)
einsum('i->', V) | einsum('ij,jk->ik', M, M) | expand_dims(V, 0) | fill([2], S) | fill(V, 1.) | gather(V, [1, 0])
gather([1., 2., 3.], V) | gather_nd(V, [[1]]) | gather_nd([1., 2., 3.], M) | identity_n([V, V])
linalg.band_part(M, 0, 1) | linalg.cholesky_solve(M, M) | linalg.cross(W, W) | linalg.global_norm([V, V])
linalg.lstsq(M, M) | linalg.matvec(M, V) | linalg.set_diag(M, V) | linalg.solve(M, M) | linalg.triangular_solve(M, M)
linspace(S, S, 3) | math.betainc(V, V, V) | math.in_top_k(targets=[0, 1], predictions=M, k=1)
math.in_top_k(targets=V, predictions=[[1., 2., 3.], [1., 2., 3.]], k=1)
math.segment_sum(V, [0, 0]) | math.segment_max(V, [0, 0])
math.segment_mean(V, [0, 0]) | math.segment_min(V, [0, 0]) | math.segment_prod(V, [0, 0])
math.segment_sum([1., 2.], V) | math.top_k(V, 1) | math.top_k([1., 2.], S) | math.unsorted_segment_max(V, [0, 0], 1)
math.unsorted_segment_mean(V, [0, 0], 1) | math.unsorted_segment_min(V, [0, 0], 1)
math.unsorted_segment_prod(V, [0, 0], 1) | math.unsorted_segment_sqrt_n(V, [0, 0], 1)
math.unsorted_segment_sum(V, [0, 0], 1) | math.unsorted_segment_sum([1., 2.], V, 3) | matmul(M, M) | one_hot(V, 3)
one_hot([0, 1], 3, on_value=S) | one_hot([0, 1], 3, on_value=S, off_value=S) | one_hot([0, 1], S) | pad(V, [[1, 1]])
pad([1., 2.], M) | pad(V, [[1, 1]], constant_values=S) | range(S) | range(S, S) | repeat(V, 2) | repeat([1., 2.], V)
reshape(V, [1, 2]) | reshape([1., 2.], V) | reverse(V, [0]) | reverse([1., 2.], V)
reverse_sequence(M, [1, 1], seq_axis=1) | reverse_sequence([[1., 2.], [3., 4.]], V, seq_axis=1) | roll(V, 1, 0)
roll([1., 2.], S, 0) | scatter_nd([[0], [1]], V, [2]) | scatter_nd(M, [1., 2.], [3, 3]) | sequence_mask(V, 3)
slice(V, [0], [1]) | slice([1., 2.], V, [1]) | space_to_batch(T, [1, 1], [[0, 0], [0, 0]])
batch_to_space(T, [1, 1], [[0, 0], [0, 0]]) | split(V, 2) | split([1., 2., 3.], V) | stack([V, V])
strided_slice(V, [0], [1]) | tile(V, [2]) | tile([1., 2.], V) | zeros(V) | ones(V)
tensor_scatter_nd_add(V, [[0]], V[:1]) | tensor_scatter_nd_max(V, [[0]], V[:1])
tensor_scatter_nd_min(V, [[0]], V[:1]) | tensor_scatter_nd_sub(V, [[0]], V[:1])
tensor_scatter_nd_update(V, [[0]], V[:1]) | tensordot(M, M, 1) | where(V, [1., 2.], [3., 4.])
where([True, False], V, V) | where(V) | nn.avg_pool(T, 1, 1, 'SAME') | nn.max_pool(T, 1, 1, 'SAME')
nn.avg_pool2d(T, 1, 1, 'SAME') | nn.max_pool2d(T, 1, 1, 'SAME') | nn.max_pool_with_argmax(T, 1, 1, 'SAME')
nn.batch_normalization(M, V, V, V, V, 0.1) | nn.bias_add(M, V) | nn.conv2d(T, T, 1, 'SAME')
nn.conv2d_transpose(T, T, [1, 1, 1, 1], 1) | nn.depthwise_conv2d(T, T, [1, 1, 1, 1], 'SAME')
nn.conv1d(T[0], T[0], 1, 'SAME') | nn.separable_conv2d(T, T, T, [1, 1, 1, 1], 'SAME')
nn.embedding_lookup([1., 2., 3.], V) | nn.moments(V, [0]) | nn.moments(M, [0])
nn.sigmoid_cross_entropy_with_logits(labels=V, logits=V) | nn.softmax_cross_entropy_with_logits(labels=V, logits=V)
nn.sparse_softmax_cross_entropy_with_logits(labels=S, logits=V)
nn.sparse_softmax_cross_entropy_with_logits(labels=S, logits=[1., 2.])
nn.weighted_cross_entropy_with_logits(labels=V, logits=V, pos_weight=S)
image.extract_patches(T, [1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1], 'VALID') | nn.l2_normalize(V, 0)
nn.depth_to_space(T, 1) | nn.space_to_depth(T, 1) | eye(S) | math.reduce_std(M, 0) | reduce_mean(M, 0) | cumsum(M, 1)
shape_n([V, V]) | nn.dropout(V, rate=0.0) | scalar_mul(S, V) | linalg.normalize(V) | math.confusion_matrix(V, V)
tensordot(V, V, 1) | linalg.eig(M) | image.resize(T, [2, 2]) | image.flip_left_right(T) | image.rgb_to_grayscale(R)
image.adjust_contrast(R, 1.5) | image.adjust_brightness(R, .1) | dynamic_stitch([[0], [1]], [V, V])
nn.max_pool1d(T[0], 1, 1, 'SAME') | nn.avg_pool1d(T[0], 1, 1, 'SAME') | nn.max_pool3d(Q, 1, 1, 'SAME')
nn.avg_pool3d(Q, 1, 1, 'SAME') | nn.conv3d(Q, Q, [1, 1, 1, 1, 1], 'SAME') | nn.convolution(T, T, padding='SAME')
nn.conv3d_transpose(Q, Q, [1, 1, 1, 1, 1], [1, 1, 1, 1, 1]) | nn.atrous_conv2d(T, T, 1, 'SAME')
nn.conv1d_transpose(T[0], T[0], [1, 1, 1], 1) | signal.fft3d(Q) | signal.ifft3d(Q) | signal.rfft3d(Q)
nn.pool(T, [1, 1], 'MAX', padding='SAME', strides=[1, 1]) | space_to_batch_nd(T, [1, 1], [[0, 0], [0, 0]])
compat.v1.losses.softmax_cross_entropy(M, M) | compat.v1.losses.sparse_softmax_cross_entropy(S, V)
compat.v1.losses.sigmoid_cross_entropy(M, M) | broadcast_dynamic_shape(V, V)
nn.atrous_conv2d_transpose(T, T, [1, 1, 1, 1], 1, 'SAME') | math.accumulate_n([V, V]) | bitcast(V, 'uint8')
nn.depthwise_conv2d_backprop_filter(T, [1, 1, 1, 1], T, [1, 1, 1, 1], 'SAME')
nn.depthwise_conv2d_backprop_input([1, 1, 1, 1], T, T, [1, 1, 1, 1], 'SAME')
compat.v1.losses.compute_weighted_loss(V, 2.0) | compat.v1.losses.cosine_distance(V, V, axis=0)
"""
"""Calls with other arguments."""


def calls() -> Iterator[str]:
    """All of them."""
    for name in OF_VECTOR.split():
        yield from (f"{name}(V)", f"{name}(S)")
    yield from (f"{name}(M)" for name in OF_MATRIX.split())
    for name in OF_TWO.split():
        yield from (f"{name}(V, V)", f"{name}(S, S)")
    for line in OTHERS.strip().splitlines():
        yield from line.split(" | ")


CALLED_ELSEWHERE = {
    "signal.irfft3d": "TensorFlow aborts the process when one element is transformed",
    "compat.v1.losses.mean_pairwise_squared_error": "eager TensorFlow counts other pairs (docs/differences.md)",
}

WIDER = {
    "nn.moments": "int8 uint8",
    "abs": "uint8",
    "sign": "uint8",
    "math.erfcinv": "float16",
    "math.erfinv": "float16",
    "math.is_finite": "complex64 complex128",
    "math.is_inf": "complex64 complex128",
    "math.is_nan": "complex64 complex128",
    "math.ndtri": "float16",
    "math.rint": "float16",
    "math.special.dawsn": "float16",
    "math.special.expint": "float16",
    "math.special.fresnel_cos": "float16",
    "math.special.fresnel_sin": "float16",
    "math.special.spence": "float16",
    "linalg.tensor_diag": "int8 uint8 bool",
    "unique": "complex64 complex128",
    "unique_with_counts": "complex64 complex128",
    "linalg.diag_part": "string",
    "linalg.pinv": "complex64 complex128",
    "linalg.tensor_diag_part": "int8 uint8 bool string",
    "math.igamma": "float16",
    "math.igammac": "float16",
    "math.nextafter": "float16",
    "math.polygamma": "float16",
    "math.squared_difference": "int8 uint8",
    "math.zeta": "float16",
    "pow": "uint8",
    "truncatemod": "int8 uint8 float16",
    "meshgrid": "string",
    "dynamic_partition": "int64 int8 uint8",
    "einsum": "int8 uint8",
    "fill": "int8 uint8",
    "gather": "int8 uint8",
    "linalg.band_part": "string",
    "linalg.cross": "complex64 complex128",
    "linalg.set_diag": "string",
    "math.betainc": "float16",
    "math.in_top_k(targets=[0, 1], predictions=M, k=1)": "float16 float64",
    "math.in_top_k(targets=V, predictions=[[1., 2., 3.], [1., 2., 3.]], k=1)": "int8 uint8",
    "math.segment_sum": "int8 uint8",
    "math.top_k": "int8 uint8",
    "math.unsorted_segment_sum": "int8 uint8",
    "one_hot([0, 1], 3, on_value=S)": "bool",
    "one_hot([0, 1], S)": "int64 int8 uint8",
    "reshape": "int8 uint8",
    "reverse_sequence": "int8 uint8",
    "roll": "int8 uint8",
    "scatter_nd": "int8 uint8",
    "space_to_batch": "bool complex64 complex128 string",
    "batch_to_space": "bool complex64 complex128 string",
    "split": "uint8",
    "zeros": "int8 uint8",
    "ones": "int8 uint8",
    "where": "float16 string",
    "nn.sparse_softmax_cross_entropy_with_logits": "int8 uint8",
    "image.extract_patches": "bool string",
    "image.adjust_contrast": "float16",
    "nn.max_pool3d": "int32 int64 int8 uint8 float16 float64",
    "nn.avg_pool3d": "float16 float64",
    "space_to_batch_nd": "bool complex64 complex128 string",
    "compat.v1.losses.softmax_cross_entropy": "int32 int64 int8 uint8 bool",
    "compat.v1.losses.sigmoid_cross_entropy": "int32 int64 int8 uint8 bool",
    "broadcast_dynamic_shape": "int8 uint8",
}
"""Where it computes what TensorFlow refuses, or has no kernel for on a CPU: by call or function, the dtypes."""

NARROWER = {
    "zeros_like": "string",
    "math.imag": "bool string",
    "math.zero_fraction": "string",
    "nn.silu": "complex64 complex128",
    "math.reduce_euclidean_norm": "int32 int64 int8 uint8 complex64 complex128",
    "math.count_nonzero": "string",
    "math.l2_normalize": "complex64 complex128",
    "linalg.qr": "float16",
    "add": "string",
    "compat.v1.losses.mean_squared_error": "complex64 complex128",
    "compat.v1.losses.absolute_difference": "complex64 complex128",
    "compat.v1.losses.huber_loss": "complex64 complex128",
    "compat.v1.losses.log_loss": "complex64 complex128",
    "compat.v1.losses.hinge_loss": "complex64 complex128",
    "compat.v1.losses.cosine_distance": "complex64 complex128",
    "compat.v1.losses.compute_weighted_loss": "int32 int64 int8 uint8 bool",
    "nn.atrous_conv2d_transpose": "int32",
    "math.segment_mean": "complex64 complex128",
    "one_hot": "string",
    "pad": "string",
    "range": "float16",
    "scatter_nd": "string",
    "sequence_mask": "bool complex64 complex128",
    "tensor_scatter_nd_sub": "uint8",
    "nn.conv2d": "int32",
    "nn.conv2d_transpose": "int32",
    "nn.conv1d": "int32",
    "nn.l2_normalize": "complex64 complex128",
    "eye": "float16 float32 float64",
    "nn.convolution": "int32",
    "nn.atrous_conv2d": "int32",
    "nn.conv1d_transpose": "int32",
}
"""Where it refuses what TensorFlow computes: sums and means of integers cut short, complex losses, strings."""

OTHERWISE = {
    "linalg.svd": "complex64 complex128 float32 float64",
    "compat.v1.losses.mean_squared_error": "float16 float64",
    "compat.v1.losses.absolute_difference": "float16 float64",
    "compat.v1.losses.huber_loss": "float16 float64",
    "compat.v1.losses.log_loss": "float16 float64",
    "compat.v1.losses.hinge_loss": "float16 float64",
    "compat.v1.losses.cosine_distance": "float16 float64",
    "linspace": "int8 uint8",
    "math.segment_mean": "int32 int64 int8 uint8",
    "linalg.eig": "complex64 complex128",
}
"""Where both compute, something else: bases up to signs, means of integers, dtypes that are kept."""
