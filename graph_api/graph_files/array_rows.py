"""Rows of ops that make, move, reduce and select, and of linear algebra."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.core.aval import Aval
from engine.core.batching import elementwise_rule
from engine.core.kinds import nondifferentiable
from engine.core.value import aval_of, scalar
from engine.runtime.errors import InvalidArgumentError
from graph_api.convert import constant
from graph_api.graph_files.attributes import dtype_from
from graph_api.graph_files.rows import Made, Site, row, same
from graph_api.library import root as tf

same(
    """
    All:reduce_all keepdims=keep_dims
    Any:reduce_any keepdims=keep_dims
    ArgMax:argmax output_type
    ArgMin:argmin output_type
    BatchMatMul,BatchMatMulV2,BatchMatMulV3:matmul adjoint_a=adj_x adjoint_b=adj_y
    BatchToSpaceND:batch_to_space_nd
    BroadcastArgs:broadcast_dynamic_shape
    BroadcastTo:broadcast_to
    Cholesky,BatchCholesky:cholesky
    Cumprod:cumprod exclusive reverse
    Cumsum:cumsum exclusive reverse
    DepthToSpace:depth_to_space block_size data_format
    Diag:diag
    DiagPart:diag_part
    EuclideanNorm:math.reduce_euclidean_norm keepdims=keep_dims
    ExpandDims:expand_dims
    FFT:fft
    FFT2D:fft2d
    FFT3D:signal.fft3d
    Fill:fill
    GatherNd:gather_nd
    IFFT:ifft
    IFFT2D:ifft2d
    IFFT3D:signal.ifft3d
    IRFFT:signal.irfft
    IRFFT2D:signal.irfft2d
    IRFFT3D:signal.irfft3d
    LinSpace:lin_space
    LogMatrixDeterminant:linalg.slogdet
    MatMul:matmul transpose_a transpose_b
    MatrixBandPart:linalg.band_part
    MatrixDeterminant:linalg.det
    MatrixDiag:linalg.diag
    MatrixDiagPart:linalg.diag_part
    MatrixExponential:linalg.expm
    MatrixInverse:linalg.inv adjoint
    MatrixSetDiag:linalg.set_diag
    MatrixSolve:linalg.solve adjoint
    MatrixTriangularSolve,BatchMatrixTriangularSolve:linalg.triangular_solve lower adjoint
    Max:reduce_max keepdims=keep_dims
    Mean:reduce_mean keepdims=keep_dims
    Min:reduce_min keepdims=keep_dims
    Prod:reduce_prod keepdims=keep_dims
    Qr:linalg.qr full_matrices
    RFFT:signal.rfft
    RFFT2D:signal.rfft2d
    RFFT3D:signal.rfft3d
    Range:range
    Rank:rank
    Reshape:reshape
    ReverseSequence:reverse_sequence seq_axis=seq_dim batch_axis=batch_dim
    ReverseV2:reverse
    Roll:roll
    ScatterNd:scatter_nd
    SegmentMax:segment_max
    SegmentMean:segment_mean
    SegmentMin:segment_min
    SegmentProd:segment_prod
    SegmentSum:segment_sum
    Shape:shape out_type
    Size:size out_type
    Slice:slice
    SpaceToBatchND:space_to_batch_nd
    SpaceToDepth:space_to_depth block_size data_format
    StridedSlice:strided_slice begin_mask end_mask ellipsis_mask new_axis_mask shrink_axis_mask
    Sum:reduce_sum keepdims=keep_dims
    TensorScatterAdd:tensor_scatter_add
    TensorScatterMax:tensor_scatter_nd_max
    TensorScatterMin:tensor_scatter_nd_min
    TensorScatterSub:tensor_scatter_sub
    TensorScatterUpdate:tensor_scatter_update
    Tile:tile
    Transpose:transpose
    UnsortedSegmentMax:unsorted_segment_max
    UnsortedSegmentMin:unsorted_segment_min
    UnsortedSegmentProd:unsorted_segment_prod
    UnsortedSegmentSum:unsorted_segment_sum
    """
)


# ---- what is made from attributes ------------------------------------------------------------------------------------


@row("ImmutableConst")
def _immutable(site: Site) -> Made:
    raise InvalidArgumentError("its contents are in a file of their own, which is not read")


@row("Placeholder PlaceholderV2")
def _placeholder(site: Site) -> Made:
    shape = site.attr("shape", None)
    return site.graph.placeholder(Aval(None if shape == () and site.region.is_old else shape, site.attr("dtype")))


# ---- shapes ----------------------------------------------------------------------------------------------------------


@row("EnsureShape")
def _ensure_shape(site: Site) -> Made:
    from dualgrad.extras.ops.compositions import ensure_shape

    return ensure_shape(site.inputs[0], site.attr("shape"))


def _broadcast_axes(x: Sequence[int], y: Sequence[int]) -> tuple[list[int], list[int]]:
    rank = max(len(x), len(y))
    wide = [(1,) * (rank - len(dims)) + tuple(dims) for dims in (x, y)]
    axes: tuple[list[int], list[int]] = ([], [])
    for axis, (a, b) in enumerate(zip(*wide, strict=True)):
        if a != b and 1 not in (a, b):
            raise InvalidArgumentError(f"shapes {tuple(x)} and {tuple(y)} do not broadcast together")
        for one, other, reduced, own in ((a, b, axes[0], x), (b, a, axes[1], y)):
            # where both are 1, summing changes nothing; TensorFlow sums over the axes that one lacks too
            if one == 1 and (other != 1 or axis < rank - len(own) or a == b):
                reduced.append(axis)
    return axes


def _axes_kernel(x: Any, y: Any) -> list[np.ndarray]:
    return [np.array(axes, x.dtype) for axes in _broadcast_axes(x.tolist(), y.tolist())]


def _axes_abstract(x: Aval, y: Aval) -> list[Aval]:
    if not (_is_vector(x) and _is_vector(y)):
        return [Aval((None,), x.dtype)] * 2
    return [Aval((len(axes),), x.dtype, tuple(axes)) for axes in _broadcast_axes(x.value, y.value)]  # type: ignore[arg-type]


def _is_vector(x: Aval) -> bool:
    return isinstance(x.value, tuple) and None not in x.value


broadcast_axes = nondifferentiable(
    "broadcast_axes",
    _axes_kernel,
    abstract=_axes_abstract,
    batch=elementwise_rule,
    type="BroadcastGradientArgs",
    args=("x", "y"),
    multi=True,
    doc="The axes over which to sum a cotangent of what was broadcast: those that each of two shapes is spread over.",
)


@row("ConcatOffset")
def _concat_offset(site: Site) -> Made:
    """Where each part of a concatenation begins, from the parts' shapes."""
    axis, *shapes = site.inputs
    lengths = tf.stack([s[axis] for s in shapes])
    starts = tf.cumsum(lengths, exclusive=True)
    rank = tf.size(shapes[0])
    here = tf.one_hot(tf.floormod(axis, rank), rank, dtype=shapes[0].dtype)
    return [here * starts[i] for i in range(len(shapes))]


# ---- joining and splitting -------------------------------------------------------------------------------------------


@row("Concat")
def _concat(site: Site) -> Made:
    axis, *values = site.inputs
    return tf.concat(values, axis)


@row("ConcatV2")
def _concat_v2(site: Site) -> Made:
    *values, axis = site.inputs
    return tf.concat(values, axis)


@row("Split")
def _split(site: Site) -> Made:
    axis, value = site.inputs
    return tf.split(value, site.attr("num_split"), axis=axis)


@row("SplitV")
def _split_v(site: Site) -> Made:
    value, sizes, axis = site.inputs
    return tf.split(value, sizes, axis=axis, num=site.attr("num_split"))


# ---- selecting -------------------------------------------------------------------------------------------------------


@row("GatherV2")
def _gather_v2(site: Site) -> Made:
    params, indices, axis = site.inputs
    return tf.gather(params, indices, axis=axis, batch_dims=site.attr("batch_dims", 0))


@row("ResourceGather", takes_handles=True)
def _resource_gather(site: Site) -> Made:
    return tf.gather(site.region.read(site.inputs[0]), site.inputs[1], batch_dims=site.attr("batch_dims", 0))


@row("ResourceGatherNd", takes_handles=True)
def _resource_gather_nd(site: Site) -> Made:
    return tf.gather_nd(site.region.read(site.inputs[0]), site.inputs[1])


@row("Where")
def _where(site: Site) -> Made:
    condition = site.inputs[0]
    if condition.dtype.name != "bool":
        condition = tf.not_equal(condition, tf.zeros_like(condition))
    return tf.where(condition)


@row("OneHot")
def _one_hot(site: Site) -> Made:
    indices, depth, on, off = site.inputs
    return tf.one_hot(indices, depth, on_value=on, off_value=off, axis=site.attr("axis", -1))


@row("TopK TopKV2")
def _top_k(site: Site) -> Made:
    k = site.inputs[1] if site.proto.op == "TopKV2" else site.attr("k")
    return list(tf.math.top_k(site.inputs[0], k=k, sorted=site.attr("sorted", True)))


@row("UniqueWithCounts")
def _unique_with_counts(site: Site) -> Made:
    return list(tf.unique_with_counts(site.inputs[0], out_idx=site.attr("out_idx", dtype_from(3))))


@row("DynamicPartition")
def _dynamic_partition(site: Site) -> Made:
    return list(tf.dynamic_partition(*site.inputs, num_partitions=site.attr("num_partitions")))


@row("DynamicStitch ParallelDynamicStitch")
def _dynamic_stitch(site: Site) -> Made:
    count = len(site.inputs) // 2
    return tf.dynamic_stitch(site.inputs[:count], site.inputs[count:])


@row("StridedSliceGrad")
def _strided_slice_gradient(site: Site) -> Made:
    dims, begin, end, strides, dy = site.inputs
    masks = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    x = tf.zeros(dims, dy.dtype)
    part = tf.strided_slice(x, begin, end, strides, **{m: site.attr(m, 0) for m in masks})
    return site.region.pulled_back(part, x, dy)


@row("Pad PadV2 MirrorPad")
def _pad(site: Site) -> Made:
    x, paddings, *value = site.inputs
    mode = site.attr("mode", "CONSTANT")
    if not value:
        return tf.pad(x, paddings, mode=mode)
    return tf.pad(x, paddings, constant_values=site.known(2, "constant_values").item())


@row("MirrorPadGrad")
def _mirror_pad_gradient(site: Site) -> Made:
    dy, paddings = site.inputs
    x = tf.zeros(tf.shape(dy) - tf.reduce_sum(paddings, 1), dy.dtype)
    return site.region.pulled_back(tf.pad(x, paddings, mode=site.attr("mode")), x, dy)


@row("InTopK InTopKV2")
def _in_top_k(site: Site) -> Made:
    predictions, targets, *k = site.inputs
    return tf.nn.in_top_k(predictions, targets, k=k[0] if k else site.attr("k"))


@row("Bincount")
def _bincount(site: Site) -> Made:
    values, size, weights = site.inputs
    weights = tf.ones_like(values, dtype=site.attr("T")) if aval_of(weights).shape == (0,) else weights
    return tf.unsorted_segment_sum(weights, values, size)


# ---- linear algebra --------------------------------------------------------------------------------------------------


@row("Svd BatchSvd")
def _svd(site: Site) -> Made:
    from engine.ops.filling import zeros

    if site.attr("compute_uv", True):
        return list(tf.linalg.svd(site.inputs[0], full_matrices=site.attr("full_matrices", False)))
    values = tf.linalg.svd(site.inputs[0], compute_uv=False)
    return [values, constant(zeros([0], values.dtype)), constant(zeros([0], values.dtype))]


@row("SelfAdjointEigV2")
def _eigh(site: Site) -> Made:
    if site.attr("compute_v", True):
        return list(tf.linalg.eigh(site.inputs[0]))
    values = tf.linalg.eigvalsh(site.inputs[0])
    return [values, tf.zeros([0], values.dtype)]


@row("MatrixDiagV2 MatrixDiagV3")
def _matrix_diag(site: Site) -> Made:
    diagonal, _k, _rows, _columns, padding = site.inputs
    sizes = [int(site.known(i, what)) for i, what in ((2, "num_rows"), (3, "num_cols"))]
    return tf.linalg.diag(
        diagonal, k=_band(site, 1), num_rows=sizes[0], num_cols=sizes[1], padding_value=padding,
        align=site.attr("align", "RIGHT_LEFT" if site.proto.op.endswith("3") else "LEFT_LEFT"),
    )  # fmt: skip


def _band(site: Site, i: int) -> Made:
    k = site.known(i, "k").reshape(-1).tolist()
    return k[0] if len(k) == 1 else tuple(k)


@row("MatrixDiagPartV2 MatrixDiagPartV3")
def _matrix_diag_part(site: Site) -> Made:
    align = site.attr("align", "RIGHT_LEFT" if site.proto.op.endswith("3") else "LEFT_LEFT")
    return tf.linalg.diag_part(site.inputs[0], k=_band(site, 1), padding_value=site.inputs[2], align=align)


@row("MatrixSetDiagV2 MatrixSetDiagV3")
def _matrix_set_diag(site: Site) -> Made:
    align = site.attr("align", "RIGHT_LEFT" if site.proto.op.endswith("3") else "LEFT_LEFT")
    return tf.linalg.set_diag(site.inputs[0], site.inputs[1], k=_band(site, 2), align=align)


# ---- what is one expression ------------------------------------------------------------------------------------------

_SHORT: dict[str, Callable[[Site], Made]] = {
    "Const": lambda site: site.graph.constant(scalar(site.attr("value"))),
    "NoOp": lambda site: site.graph.group([]),
    "Squeeze": lambda site: tf.squeeze(site.inputs[0], site.attr("squeeze_dims", site.attr("axis", None)) or None),
    "ShapeN": lambda site: [tf.shape(x, out_type=site.attr("out_type", None) or dtype_from(3)) for x in site.inputs],
    "BroadcastGradientArgs": lambda site: site.graph.apply(broadcast_axes, site.inputs, {}),
    "InvertPermutation": lambda site: tf.math.invert_permutation(site.inputs[0]),
    "Pack ParallelConcat": lambda site: tf.stack(site.inputs, axis=site.attr("axis", 0)),
    "Unpack": lambda site: tf.unstack(site.inputs[0], num=site.attr("num"), axis=site.attr("axis", 0)),
    "Gather": lambda site: tf.gather(site.inputs[0], site.inputs[1]),
    "Unique": lambda site: list(tf.unique(site.inputs[0], out_idx=site.attr("out_idx", dtype_from(3)))),
    "Einsum": lambda site: tf.einsum(site.attr("equation"), *site.inputs),
}
for _types, _make in _SHORT.items():
    row(_types)(_make)
