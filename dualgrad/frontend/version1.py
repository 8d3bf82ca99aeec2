"""TensorFlow 1's names, and which function each stands for: those of `common_names.py`, and those that are its own.

A row is ``(function, names)``, or ``(Old(function, ...), names)`` where TensorFlow 1 spelled arguments differently.
Everything is lifted by `engine.ops.lift.lift`; there is no second implementation of anything. `graph_api` consists
of them, `tape_api` has them as ``tf.compat.v1``.
"""

from __future__ import annotations

from typing import Any

from dualgrad.frontend import common_names, version1_images
from dualgrad.frontend.namespace import moved, with_aliases
from dualgrad.frontend.rows import Later, Old, Table, named, ops

version1_functions = Later("dualgrad.frontend.version1_functions")

_KEEP = {"keep_dims": "keepdims", "reduction_indices": "axis"}
_ARG = ("input", "axis", "name", "dimension", "output_type")
_TENSOR = {"tensor": "input"}
_NORM = ("tensor", "ord", "axis", "keepdims", "name", "keep_dims")
_NAMED = ("_sentinel", "labels", "logits", "name")


def _reduction(function: Any) -> Old:
    return Old(function, _KEEP, ("input_tensor", "axis", "keepdims", "name", "reduction_indices", "keep_dims"))


_OWN: tuple[tuple[Any, str], ...] = (
    # ---- comparisons, logic, choice, casts
    (version1_functions.where, "where"),
    (version1_functions.div, "div"),
    (ops.compare.where, "where_v2"),
    *[
        (f"dualgrad.frontend.version1_functions:to_{kind}", f"to_{kind}")
        for kind in ("float", "double", "int32", "int64", "complex64", "complex128")
    ],
    # ---- reductions
    *[
        (_reduction(where), names)
        for module, names_there in (
            ("reduce", "reduce_sum reduce_mean reduce_prod reduce_all reduce_any reduce_logsumexp"),
            ("extrema", "reduce_max reduce_min"),
        )
        for where, names in named(module, "{} math.{}", names_there)
    ],
    (
        Old(
            ops.reduce.count_nonzero,
            {**_KEEP, "input_tensor": "input"},
            ("input", "axis", "keepdims", "dtype", "name", "reduction_indices", "keep_dims"),
        ),
        "count_nonzero math.count_nonzero",
    ),
    (Old(ops.extrema.argmax, {"dimension": "axis"}, _ARG), "argmax math.argmax"),
    (Old(ops.extrema.argmin, {"dimension": "axis"}, _ARG), "argmin math.argmin"),
    (version1_functions.accumulate_n, "accumulate_n math.accumulate_n"),
    # ---- shapes and data movement
    (Old(ops.shape.shape, order=("input", "name", "out_type")), "shape"),
    (Old(ops.shape.size, order=("input", "name", "out_type")), "size"),
    (Old(ops.shape.expand_dims, {"dim": "axis"}, ("input", "axis", "name", "dim")), "expand_dims"),
    (Old(ops.shape.squeeze, {"squeeze_dims": "axis"}, ("input", "axis", "name", "squeeze_dims")), "squeeze"),
    (Old(ops.shape.transpose, order=("a", "perm", "name", "conjugate")), "transpose"),
    (Old(ops.joining.concat, {"concat_dim": "axis"}), "concat"),
    (Old(ops.joining.split, {"split_dim": "axis", "num_split": "num_or_size_splits"}), "split"),
    (Old(ops.slicing.boolean_mask, order=("tensor", "mask", "name", "axis")), "boolean_mask"),
    (
        Old(
            ops.gather.gather,
            order=("params", "indices", "validate_indices", "name", "axis", "batch_dims"),
            ignored=("validate_indices",),
        ),
        "gather",
    ),
    (Old(ops.partition.reverse_sequence, {"seq_dim": "seq_axis", "batch_dim": "batch_axis"}), "reverse_sequence"),
    (Old(ops.filling.zeros_like, _TENSOR, ("input", "dtype", "name", "optimize"), ("optimize",)), "zeros_like"),
    (Old(ops.filling.ones_like, _TENSOR, ("input", "dtype", "name", "optimize"), ("optimize",)), "ones_like"),
    # ---- linear algebra
    (Old(ops.stats.norm, {"keep_dims": "keepdims"}, _NORM), "norm linalg.norm"),
    # ---- neural networks
    (Old(ops.nn.softmax, {"dim": "axis"}, ("logits", "axis", "name", "dim")), "nn.softmax math.softmax"),
    (Old(ops.nn.log_softmax, {"dim": "axis"}, ("logits", "axis", "name", "dim")), "nn.log_softmax math.log_softmax"),
    (
        Old(ops.layers.l2_normalize, {"dim": "axis"}, ("x", "axis", "epsilon", "name", "dim")),
        "nn.l2_normalize math.l2_normalize",
    ),
    (
        Old(ops.layers.moments, {"keep_dims": "keepdims"}, ("x", "axes", "shift", "name", "keep_dims", "keepdims")),
        "nn.moments",
    ),
    (
        Old(
            version1_functions.embedding_lookup,
            order=("params", "ids", "partition_strategy", "name", "validate_indices", "max_norm"),
            ignored=("validate_indices",),
        ),
        "nn.embedding_lookup",
    ),
    (Old(ops.layers.in_top_k, order=("predictions", "targets", "k", "name")), "nn.in_top_k math.in_top_k"),
    # ---- losses
    (
        Old(version1_functions.softmax_cross_entropy_with_logits, {"dim": "axis"}, (*_NAMED[:3], "axis", "name")),
        "nn.softmax_cross_entropy_with_logits",
    ),
    (
        Old(
            ops.cross_entropy.softmax_cross_entropy_with_logits,
            {"dim": "axis"},
            ("labels", "logits", "axis", "name", "dim"),
        ),
        "nn.softmax_cross_entropy_with_logits_v2",
    ),
    (
        Old(ops.cross_entropy.sparse_softmax_cross_entropy_with_logits, order=_NAMED),
        "nn.sparse_softmax_cross_entropy_with_logits",
    ),
    (Old(ops.cross_entropy.sigmoid_cross_entropy_with_logits, order=_NAMED), "nn.sigmoid_cross_entropy_with_logits"),
    (
        Old(
            ops.cross_entropy.weighted_cross_entropy_with_logits,
            {"targets": "labels"},
            ("labels", "logits", "pos_weight", "name", "targets"),
        ),
        "nn.weighted_cross_entropy_with_logits",
    ),
    (Old(ops.rearrange.repeat, order=("input", "repeats", "axis", "name")), "repeat"),
    (Old(ops.rearrange.pad, order=("tensor", "paddings", "mode", "name", "constant_values")), "pad"),
    # ---- random numbers that are functions of a seed
    *named(
        "random",
        "random.{}",
        "stateless_uniform stateless_normal stateless_truncated_normal stateless_categorical",
    ),
)

_OLDER = """
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
"""
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
    **{alias: name for alias, _, name in (pair.partition("=") for pair in _OLDER.split())},
}
"""Names that TensorFlow 1 has beside those of today."""


def table(*further: tuple[Any, str]) -> Table:
    """All of them, with rows that are not the engine's."""
    return Table(with_aliases((*common_names.TABLE.rows, *further, *_OWN, *version1_images.TABLE), _ALIASES))
