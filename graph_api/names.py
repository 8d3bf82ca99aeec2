"""The one table of TensorFlow 1's names: which engine function or op each stands for, and its arguments' names then.

A row is ``(function, names)``, or ``(Old(function, ...), names)`` where TensorFlow 1 spelled arguments differently.
Everything is lifted by `engine.api.lift`; there is no second implementation of anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.dtypes import DType, complex64, complex128, float32, float64, int32, int64
from engine.operands import operands
from engine.ops import (
    arithmetic,
    compare,
    complexes,
    creation,
    decompose,
    diagonal,
    einsum,
    explog,
    extrema,
    fft,
    filling,
    gather,
    joining,
    layers,
    linalg,
    losses,
    matrix_functions,
    nn,
    partition,
    random,
    rearrange,
    reduce,
    scan,
    scatter,
    segment,
    shape,
    slicing,
    solve,
    sorting,
    special,
    stats,
    trig,
)  # fmt: skip
from engine.value import shape_of
from graph_api import image_names
from graph_api.legacy import Old
from optim import clip

_KEEP = {"keep_dims": "keepdims", "reduction_indices": "axis"}
_ARG = ("input", "axis", "name", "dimension", "output_type")
_TENSOR = {"tensor": "input"}
_NORM = ("tensor", "ord", "axis", "keepdims", "name", "keep_dims")
_NAMED = ("_sentinel", "labels", "logits", "name")


@operands("labels", "logits")
def _softmax_cross_entropy_with_logits(labels: Any, logits: Any, axis: Any = -1) -> Any:
    """As `engine.ops.losses.softmax_cross_entropy_with_logits`, but the labels count as constants (TensorFlow 1)."""
    return losses.softmax_cross_entropy_with_logits(shape.stop_gradient(labels), logits, axis)


@operands("x", "y", alone=("condition",))
def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """As `engine.ops.compare.where`, but a vector condition beside higher ranks chooses rows, as in TensorFlow 1."""
    ranks = [shape_of(v) for v in (condition, x) if v is not None]
    if len(ranks) == 2 and None not in ranks and len(ranks[0] or ()) == 1 < len(ranks[1] or ()):
        condition = shape.reshape(condition, [-1] + [1] * (len(ranks[1] or ()) - 1))
    return compare.where(condition, x, y)


def _casting(target: DType) -> Callable[..., Any]:
    """TensorFlow 1's ``to_float`` and its like."""

    @operands("x")
    def to_dtype(x: Any) -> Any:
        return compare.cast(x, target)

    to_dtype.__doc__ = f"`x` cast to {target.name}."
    return to_dtype


def _reduction(function: Callable[..., Any]) -> Old:
    return Old(function, _KEEP, ("input_tensor", "axis", "keepdims", "name", "reduction_indices", "keep_dims"))


TABLE: tuple[tuple[Any, str], ...] = (
    # ---- arithmetic
    (arithmetic.add, "add math.add"),
    (arithmetic.subtract, "subtract sub math.subtract"),
    (arithmetic.multiply, "multiply mul math.multiply"),
    (arithmetic.negative, "negative neg math.negative"),
    (arithmetic.divide, "realdiv"),
    (arithmetic.truediv, "divide div truediv math.divide math.truediv"),
    (arithmetic.reciprocal, "reciprocal math.reciprocal"),
    (arithmetic.square, "square math.square"),
    (arithmetic.squared_difference, "squared_difference math.squared_difference"),
    (arithmetic.mod, "mod floormod math.mod math.floormod"),
    (arithmetic.floordiv, "floordiv floor_div math.floordiv"),
    (arithmetic.divide_no_nan, "div_no_nan math.divide_no_nan"),
    (arithmetic.maximum, "maximum math.maximum"),
    (arithmetic.minimum, "minimum math.minimum"),
    (complexes.sign, "sign math.sign"),
    (complexes.abs, "abs math.abs complex_abs"),
    (arithmetic.floor, "floor math.floor"),
    (arithmetic.ceil, "ceil math.ceil"),
    (arithmetic.round, "round math.round"),
    (arithmetic.rint, "rint math.rint"),
    # ---- exponentials, powers, circular and hyperbolic functions
    (explog.exp, "exp math.exp"),
    (explog.expm1, "expm1 math.expm1"),
    (explog.log, "log math.log"),
    (explog.log1p, "log1p math.log1p"),
    (explog.sqrt, "sqrt math.sqrt"),
    (explog.rsqrt, "rsqrt math.rsqrt"),
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
    # ---- special functions
    (special.erf, "erf math.erf"),
    (special.erfc, "erfc math.erfc"),
    (special.erfinv, "math.erfinv"),
    (special.ndtri, "math.ndtri"),
    (special.lgamma, "lgamma math.lgamma"),
    (special.digamma, "digamma math.digamma"),
    (special.polygamma, "polygamma math.polygamma"),
    (special.zeta, "zeta math.zeta"),
    (special.lbeta, "lbeta math.lbeta"),
    (special.betainc, "betainc math.betainc"),
    (special.igamma, "igamma math.igamma"),
    (special.igammac, "igammac math.igammac"),
    (special.xlogy, "math.xlogy"),
    (special.xlog1py, "math.xlog1py"),
    (special.xdivy, "math.xdivy"),
    # ---- comparisons, logic, choice, casts
    (compare.equal, "equal math.equal"),
    (compare.not_equal, "not_equal math.not_equal"),
    (compare.less, "less math.less"),
    (compare.less_equal, "less_equal math.less_equal"),
    (compare.greater, "greater math.greater"),
    (compare.greater_equal, "greater_equal math.greater_equal"),
    (compare.logical_and, "logical_and math.logical_and"),
    (compare.logical_or, "logical_or math.logical_or"),
    (compare.logical_xor, "logical_xor math.logical_xor"),
    (compare.logical_not, "logical_not math.logical_not"),
    (compare.is_nan, "is_nan math.is_nan debugging.is_nan"),
    (compare.is_inf, "is_inf math.is_inf debugging.is_inf"),
    (compare.is_finite, "is_finite math.is_finite debugging.is_finite"),
    (_where, "where"),
    (compare.where, "where_v2"),
    (compare.cast, "cast dtypes.cast"),
    (_casting(float32), "to_float"),
    (_casting(float64), "to_double"),
    (_casting(int32), "to_int32"),
    (_casting(int64), "to_int64"),
    (_casting(complex64), "to_complex64"),
    (_casting(complex128), "to_complex128"),
    # ---- complex numbers
    (complexes.complex, "complex dtypes.complex"),
    (complexes.real, "real math.real"),
    (complexes.imag, "imag math.imag"),
    (complexes.conj, "conj math.conj"),
    (complexes.angle, "angle math.angle"),
    # ---- reductions
    (_reduction(reduce.reduce_sum), "reduce_sum math.reduce_sum"),
    (_reduction(reduce.reduce_mean), "reduce_mean math.reduce_mean"),
    (_reduction(reduce.reduce_prod), "reduce_prod math.reduce_prod"),
    (_reduction(extrema.reduce_max), "reduce_max math.reduce_max"),
    (_reduction(extrema.reduce_min), "reduce_min math.reduce_min"),
    (_reduction(reduce.reduce_all), "reduce_all math.reduce_all"),
    (_reduction(reduce.reduce_any), "reduce_any math.reduce_any"),
    (_reduction(reduce.reduce_logsumexp), "reduce_logsumexp math.reduce_logsumexp"),
    (stats.reduce_std, "math.reduce_std"),
    (stats.reduce_variance, "math.reduce_variance"),
    (stats.reduce_euclidean_norm, "math.reduce_euclidean_norm"),
    (
        Old(
            reduce.count_nonzero,
            {**_KEEP, "input_tensor": "input"},
            ("input", "axis", "keepdims", "dtype", "name", "reduction_indices", "keep_dims"),
        ),
        "count_nonzero math.count_nonzero",
    ),
    (scan.cumsum, "cumsum math.cumsum"),
    (scan.cumprod, "cumprod math.cumprod"),
    (scan.cumulative_logsumexp, "math.cumulative_logsumexp"),
    (Old(extrema.argmax, {"dimension": "axis"}, _ARG), "argmax math.argmax"),
    (Old(extrema.argmin, {"dimension": "axis"}, _ARG), "argmin math.argmin"),
    (Old(reduce.add_n, ignored=("shape", "tensor_dtype")), "add_n accumulate_n math.add_n math.accumulate_n"),
    # ---- shapes and data movement
    (Old(shape.shape, order=("input", "name", "out_type")), "shape"),
    (shape.shape_n, "shape_n"),
    (Old(shape.size, order=("input", "name", "out_type")), "size"),
    (shape.rank, "rank"),
    (shape.reshape, "reshape manip.reshape"),
    (Old(shape.expand_dims, {"dim": "axis"}, ("input", "axis", "name", "dim")), "expand_dims"),
    (Old(shape.squeeze, {"squeeze_dims": "axis"}, ("input", "axis", "name", "squeeze_dims")), "squeeze"),
    (Old(shape.transpose, order=("a", "perm", "name", "conjugate")), "transpose"),
    (shape.broadcast_to, "broadcast_to"),
    (shape.identity, "identity"),
    (shape.identity_n, "identity_n"),
    (shape.stop_gradient, "stop_gradient"),
    (Old(joining.concat, {"concat_dim": "axis"}), "concat"),
    (joining.stack, "stack pack"),
    (joining.unstack, "unstack unpack"),
    (Old(joining.split, {"split_dim": "axis", "num_split": "num_or_size_splits"}), "split"),
    (slicing.slice, "slice"),
    (slicing.strided_slice, "strided_slice"),
    (Old(slicing.boolean_mask, order=("tensor", "mask", "name", "axis")), "boolean_mask"),
    (
        Old(
            gather.gather,
            order=("params", "indices", "validate_indices", "name", "axis", "batch_dims"),
            ignored=("validate_indices",),
        ),
        "gather",
    ),
    (Old(creation.zeros_like, _TENSOR, ("input", "dtype", "name", "optimize"), ("optimize",)), "zeros_like"),
    (Old(creation.ones_like, _TENSOR, ("input", "dtype", "name", "optimize"), ("optimize",)), "ones_like"),
    # ---- linear algebra
    (Old(linalg.matmul, ignored=("a_is_sparse", "b_is_sparse")), "matmul batch_matmul linalg.matmul"),
    (linalg.matvec, "linalg.matvec"),
    (einsum.tensordot, "tensordot linalg.tensordot"),
    (einsum.einsum, "einsum linalg.einsum"),
    (Old(stats.norm, {"keep_dims": "keepdims"}, _NORM), "norm linalg.norm"),
    (linalg.trace, "trace linalg.trace"),
    (linalg.cross, "cross linalg.cross"),
    (shape.matrix_transpose, "matrix_transpose linalg.matrix_transpose linalg.transpose"),
    (linalg.adjoint, "linalg.adjoint"),
    (solve.inv, "matrix_inverse batch_matrix_inverse linalg.inv"),
    (solve.det, "matrix_determinant batch_matrix_determinant linalg.det"),
    (solve.slogdet, "linalg.slogdet"),
    (solve.solve, "matrix_solve linalg.solve"),
    (solve.triangular_solve, "matrix_triangular_solve linalg.triangular_solve"),
    (solve.cholesky_solve, "cholesky_solve linalg.cholesky_solve"),
    (decompose.cholesky, "cholesky linalg.cholesky"),
    (decompose.eigh, "self_adjoint_eig linalg.eigh"),
    (decompose.eigvalsh, "self_adjoint_eigvals linalg.eigvalsh"),
    (decompose.svd, "svd batch_svd linalg.svd"),
    (decompose.qr, "qr linalg.qr"),
    (matrix_functions.pinv, "linalg.pinv"),
    (matrix_functions.lstsq, "matrix_solve_ls linalg.lstsq"),
    (matrix_functions.logdet, "linalg.logdet"),
    (matrix_functions.expm, "linalg.expm"),
    # ---- neural networks
    (nn.relu, "nn.relu"),
    (nn.relu6, "nn.relu6"),
    (nn.leaky_relu, "nn.leaky_relu"),
    (nn.elu, "nn.elu"),
    (nn.selu, "nn.selu"),
    (nn.gelu, "nn.gelu"),
    (nn.crelu, "nn.crelu"),
    (nn.silu, "nn.swish nn.silu"),
    (nn.sigmoid, "sigmoid math.sigmoid nn.sigmoid"),
    (nn.log_sigmoid, "log_sigmoid math.log_sigmoid nn.log_sigmoid"),
    (nn.softplus, "nn.softplus math.softplus"),
    (nn.softsign, "nn.softsign math.softsign"),
    (Old(nn.softmax, {"dim": "axis"}, ("logits", "axis", "name", "dim")), "nn.softmax math.softmax"),
    (Old(nn.log_softmax, {"dim": "axis"}, ("logits", "axis", "name", "dim")), "nn.log_softmax math.log_softmax"),
    (layers.l2_loss, "nn.l2_loss"),
    (
        Old(layers.l2_normalize, {"dim": "axis"}, ("x", "axis", "epsilon", "name", "dim")),
        "nn.l2_normalize math.l2_normalize",
    ),
    (
        Old(layers.moments, {"keep_dims": "keepdims"}, ("x", "axes", "shift", "name", "keep_dims", "keepdims")),
        "nn.moments",
    ),
    (layers.batch_normalization, "nn.batch_normalization"),
    (layers.bias_add, "nn.bias_add"),
    (
        Old(
            layers.embedding_lookup,
            order=("params", "ids", "partition_strategy", "name", "validate_indices", "max_norm"),
            ignored=("partition_strategy", "validate_indices"),
        ),
        "nn.embedding_lookup",
    ),
    (layers.zero_fraction, "nn.zero_fraction math.zero_fraction"),
    (Old(layers.in_top_k, order=("predictions", "targets", "k", "name")), "nn.in_top_k math.in_top_k"),
    # ---- losses
    (
        Old(_softmax_cross_entropy_with_logits, {"dim": "axis"}, (*_NAMED[:3], "axis", "name")),
        "nn.softmax_cross_entropy_with_logits",
    ),
    (
        Old(losses.softmax_cross_entropy_with_logits, {"dim": "axis"}, ("labels", "logits", "axis", "name", "dim")),
        "nn.softmax_cross_entropy_with_logits_v2",
    ),
    (
        Old(losses.sparse_softmax_cross_entropy_with_logits, order=_NAMED),
        "nn.sparse_softmax_cross_entropy_with_logits",
    ),
    (Old(losses.sigmoid_cross_entropy_with_logits, order=_NAMED), "nn.sigmoid_cross_entropy_with_logits"),
    (
        Old(
            losses.weighted_cross_entropy_with_logits,
            {"targets": "labels"},
            ("labels", "logits", "pos_weight", "name", "targets"),
        ),
        "nn.weighted_cross_entropy_with_logits",
    ),
    # ---- values made from shapes and counts
    (filling.zeros, "zeros"),
    (filling.ones, "ones"),
    (filling.fill, "fill"),
    (filling.range, "range"),
    (filling.linspace, "linspace lin_space"),
    (filling.eye, "eye linalg.eye"),
    (filling.one_hot, "one_hot"),
    # ---- rearrangement
    (rearrange.tile, "tile"),
    (Old(rearrange.repeat, order=("input", "repeats", "axis", "name")), "repeat"),
    (Old(rearrange.pad, order=("tensor", "paddings", "mode", "name", "constant_values")), "pad"),
    (rearrange.reverse, "reverse reverse_v2"),
    (rearrange.roll, "roll"),
    (rearrange.meshgrid, "meshgrid"),
    # ---- clipping and schedules
    (clip.clip_by_value, "clip_by_value"),
    (clip.clip_by_norm, "clip_by_norm"),
    (clip.clip_by_average_norm, "clip_by_average_norm"),
    (clip.clip_by_global_norm, "clip_by_global_norm"),
    (clip.global_norm, "global_norm linalg.global_norm"),
    # ---- random numbers that are functions of a seed
    (random.stateless_uniform, "random.stateless_uniform"),
    (random.stateless_normal, "random.stateless_normal"),
    (random.stateless_truncated_normal, "random.stateless_truncated_normal"),
    (random.stateless_categorical, "random.stateless_categorical"),
    # ---- indices: gathering, scattering, sorting
    (scatter.gather_nd, "gather_nd manip.gather_nd"),
    (scatter.scatter_nd, "scatter_nd manip.scatter_nd"),
    (scatter.tensor_scatter_nd_update, "tensor_scatter_nd_update tensor_scatter_update"),
    (scatter.tensor_scatter_nd_add, "tensor_scatter_nd_add tensor_scatter_add"),
    (scatter.tensor_scatter_nd_sub, "tensor_scatter_nd_sub tensor_scatter_sub"),
    (scatter.tensor_scatter_nd_max, "tensor_scatter_nd_max"),
    (scatter.tensor_scatter_nd_min, "tensor_scatter_nd_min"),
    (sorting.sort, "sort"),
    (sorting.argsort, "argsort"),
    (sorting.top_k, "nn.top_k math.top_k"),
    (sorting.searchsorted, "searchsorted"),
    (sorting.unique, "unique"),
    (sorting.unique_with_counts, "unique_with_counts"),
    (partition.dynamic_partition, "dynamic_partition"),
    (partition.dynamic_stitch, "dynamic_stitch"),
    (partition.reverse_sequence, "reverse_sequence"),
    (partition.sequence_mask, "sequence_mask"),
    (segment.segment_sum, "segment_sum math.segment_sum"),
    (segment.segment_mean, "segment_mean math.segment_mean"),
    (segment.segment_max, "segment_max math.segment_max"),
    (segment.segment_min, "segment_min math.segment_min"),
    (segment.segment_prod, "segment_prod math.segment_prod"),
    (segment.unsorted_segment_sum, "unsorted_segment_sum math.unsorted_segment_sum"),
    (segment.unsorted_segment_mean, "unsorted_segment_mean math.unsorted_segment_mean"),
    (segment.unsorted_segment_max, "unsorted_segment_max math.unsorted_segment_max"),
    (segment.unsorted_segment_min, "unsorted_segment_min math.unsorted_segment_min"),
    (segment.unsorted_segment_prod, "unsorted_segment_prod math.unsorted_segment_prod"),
    # ---- diagonals and triangles
    (diagonal.tensor_diag, "diag linalg.tensor_diag"),
    (diagonal.tensor_diag_part, "diag_part linalg.tensor_diag_part"),
    (diagonal.matrix_diag, "matrix_diag linalg.diag"),
    (diagonal.matrix_diag_part, "matrix_diag_part linalg.diag_part"),
    (diagonal.set_diag, "matrix_set_diag linalg.set_diag"),
    (diagonal.band_part, "matrix_band_part linalg.band_part"),
    # ---- Fourier transforms
    (fft.fft, "fft signal.fft spectral.fft"),
    (fft.ifft, "ifft signal.ifft spectral.ifft"),
    (fft.rfft, "signal.rfft spectral.rfft"),
    (fft.irfft, "signal.irfft spectral.irfft"),
    (fft.fft2d, "fft2d signal.fft2d spectral.fft2d"),
    (fft.ifft2d, "ifft2d signal.ifft2d spectral.ifft2d"),
    (fft.rfft2d, "signal.rfft2d spectral.rfft2d"),
    (fft.irfft2d, "signal.irfft2d spectral.irfft2d"),
    # ---- convolutions, pools, blocks of images
    *image_names.TABLE,
)
