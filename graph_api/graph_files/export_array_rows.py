"""How linear algebra and the ops that move elements are written as TensorFlow's."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core import expand_axes
from engine.core.dtypes import int32, int64
from engine.ops import (
    diagonal,
    einsum,
    filling,
    gather,
    indexing,
    joining,
    linalg,
    partition,
    rearrange,
    scatter,
    segment,
    shape,
    solve,
)
from graph_api.graph_files.export_ways import same, way
from graph_api.graph_files.exporting import Own, Source

_MASKS = dict.fromkeys(("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0)
"""Attributes of slices of begins, ends and strides."""

# ---- linear algebra --------------------------------------------------------------------------------------------------


@way(linalg.matmul_op)
def _matmul(s: Source) -> None:
    a, b = s.shape(0), s.shape(1)
    flags = [s.node.params.get(k, False) for k in ("transpose_a", "transpose_b")]
    if a is None or b is None:
        raise Own
    if len(a) == len(b) == 2:
        s.main("MatMul", T=s.dtype(), transpose_a=flags[0], transpose_b=flags[1])
        return
    if min(len(a), len(b)) < 2 or (s.dtype().is_complex and any(flags)):
        raise Own
    s.main("BatchMatMulV2", T=s.dtype(), adj_x=flags[0], adj_y=flags[1])


@way(solve.inverse_op, solve.solve_op)
def _of_matrices(s: Source) -> None:
    if s.node.params:
        raise Own
    s.main("MatrixInverse" if s.node.op is solve.inverse_op else "MatrixSolve", T=s.dtype(), adjoint=False)


@way(diagonal.band_op)
def _band(s: Source) -> None:
    low, high = [-1 if v is None else v for v in (s.node.params["low"], s.node.params["high"])]
    if low < -1 or high < -1:
        raise Own
    ends = [s.const(k, v, np.int64) for k, v in (("low", low), ("high", high))]
    s.main("MatrixBandPart", [s.inputs[0], *ends], T=s.dtype(), Tindex=int64)


# ---- shapes, slices, joins -------------------------------------------------------------------------------------------

same(shape.reshape_op, by="Reshape T=0 Tshape=1")
same(shape.broadcast_to_op, by="BroadcastTo T=0 Tidx=1")


@way(shape.fill_op)
def _fill(s: Source) -> None:
    s.main("Fill", s.inputs[::-1], T=s.dtype(), index_type=s.dtype(1))


same(shape.transpose_op, by="Transpose perm@perm T=0 Tperm=int32")
same(rearrange.reverse_op, by="ReverseV2 axis@axis T=0 Tidx=int32")
same(gather.gather_op, by="GatherV2 axis@axis batch_dims=.batch_dims Tparams=0 Tindices=1 Taxis=int32")
same(rearrange.tile_op, by="Tile T=0 Tmultiples=1")
same(shape.shape_op, shape.size_op, by="T=0 out_type=.out_type")
same(shape.rank_op, by="Rank T=0")
same(shape.stop_gradient, by="StopGradient T=0")
same(expand_axes.squeeze_op, by="Squeeze T=0 squeeze_dims=.axes")
same(joining.stack_op, by="Pack T=0 N=N axis=.axis")
same(joining.unstack_op, by="Unpack T=0 num=.num axis=.axis")
same(filling.range_op, by="Range Tidx=0")
same(
    segment.unsorted_segment_sum_op,
    segment.unsorted_segment_max_op,
    segment.unsorted_segment_min_op,
    by="T=0 Tindices=1 Tnumsegments=2",
)
same(segment.unsorted_segment_prod_op, by="UnsortedSegmentProd T=0 Tindices=1 Tnumsegments=2")
same(segment.segment_sum_op, by="SegmentSum T=0 Tindices=1")
same(segment.segment_max_op, by="SegmentMax T=0 Tindices=1")
same(segment.segment_min_op, by="SegmentMin T=0 Tindices=1")
same(segment.segment_prod_op, by="SegmentProd T=0 Tindices=1")


@way(shape.matrix_transpose_op)
def _matrix_transpose(s: Source) -> None:
    if s.shape() is None:
        raise Own
    rank = len(s.shape())
    perm = s.const("perm", [*range(rank - 2), rank - 1, rank - 2])
    s.main("Transpose", [s.inputs[0], perm], T=s.dtype(), Tperm=int32)


@way(expand_axes.expand_dims_op)
def _expand_dims(s: Source) -> None:
    new = s.node.params["axes"]
    if len(new) > 1:
        if s.shape() is None:
            raise Own
        new = sorted(a % (len(s.shape()) + len(new)) for a in new)
    x = s.inputs[0]
    if not new:
        s.main("Identity", T=s.dtype())
        return
    for axis in new[:-1]:
        x = s.step("wider", "ExpandDims", [x, s.const("dim", axis)], T=s.dtype(), Tdim=int32)
    s.main("ExpandDims", [x, s.const("dim", new[-1])], T=s.dtype(), Tdim=int32)


@way(einsum.einsum_op)
def _einsum(s: Source) -> None:
    equation = s.node.params["equation"]
    if "->" not in equation:
        raise Own
    s.main("Einsum", T=s.dtype(), N=2, equation=equation)


@way(joining.concat_op)
def _concat(s: Source) -> None:
    if len(s.inputs) == 1:
        s.main("Identity", T=s.dtype())
    else:
        axis = s.const("axis", s.node.params["axis"])
        s.main("ConcatV2", [*s.inputs, axis], T=s.dtype(), N=len(s.inputs), Tidx=int32)


@way(joining.split_op)
def _split(s: Source) -> None:
    split, axis = s.node.params["split"], s.const("axis", s.node.params["axis"])
    if isinstance(split, int):
        s.main("Split", [axis, s.inputs[0]], T=s.dtype(), num_split=split)
        return
    sizes = s.const("sizes", np.array(split, np.int32))
    s.main("SplitV", [s.inputs[0], sizes, axis], T=s.dtype(), Tlen=int32, num_split=len(split))


@way(rearrange.pad_op)
def _pad(s: Source) -> None:
    params, typed = s.node.params, {"T": s.dtype(), "Tpaddings": s.dtype(1)}
    pairs = s.step("paddings", "Reshape", [s.inputs[1], s.const("pairs", [-1, 2])], T=s.dtype(1), Tshape=int32)
    if params["mode"] != "CONSTANT":
        s.main("MirrorPad", [s.inputs[0], pairs], mode=params["mode"], **typed)
    else:
        value = s.const("constant_values", params["value"], s.dtype().numpy)
        s.main("PadV2", [s.inputs[0], pairs, value], **typed)


@way(joining.concat_piece)
def _concat_piece(s: Source) -> None:
    """The part of a cotangent that belongs to one of the values that were joined."""
    axis, position = s.node.params["axis"], s.node.params["position"]
    if s.shape(1 + position) is None:
        raise Own
    sizes = [s.shape_of(i) for i in range(1, len(s.inputs))]
    begin = s.const("begin", np.zeros(len(s.shape(1 + position)), np.int32))
    if len(sizes) > 1:
        begin = s.step("begin", "ConcatOffset", [s.const("axis", axis), *sizes], N=len(sizes))
        begin = f"{begin}:{position}" if position else begin
    s.main("Slice", [s.inputs[0], begin, sizes[position]], T=s.dtype(), Index=int32)


@way(gather.gather_back_op)
def _gather_back(s: Source) -> None:
    """Rows added up where they were taken from."""
    params, whole, places = s.node.params, s.shape(1), s.shape(2)
    if params["batch_dims"] or whole is None or places is None:
        raise Own
    ct, like, indices = s.inputs
    axis = params["axis"] % len(whole)
    if axis:
        # with the axis in front
        order = [axis, *[i for i in range(len(whole)) if i != axis]]
        first = [axis + i for i in range(len(places))]
        moved = [*first, *[i for i in range(len(whole) - 1 + len(places)) if i not in first]]
        ct = s.step("moved", "Transpose", [ct, s.const("order", moved)], T=s.dtype(), Tperm=int32)
        like = s.step("like", "Transpose", [like, s.const("order", order)], T=s.dtype(1), Tperm=int32)
        dims = s.step("shape", "Shape", [like], T=s.dtype(1), out_type=int32)
    else:
        dims = s.shape_of(1)
    flat = s.step("flat", "Reshape", [indices, s.const("all", [-1])], T=s.dtype(2), Tshape=int32)
    ends = [s.const("one", [1]), s.const("end", [0]), s.const("stride", [1])]
    row = s.step("row", "StridedSlice", [dims, *ends], T=int32, Index=int32, **_MASKS | {"end_mask": 1})
    wide = s.step("dims", "ConcatV2", [s.const("count", [-1]), row, s.const("axis", 0)], T=int32, N=2, Tidx=int32)
    rows = s.step("rows", "Reshape", [ct, wide], T=s.dtype(), Tshape=int32)
    start = [s.const("from", [0]), s.const("to", [1]), s.const("by", [1])]
    number = s.step("number", "StridedSlice", [dims, *start], T=int32, Index=int32, **_MASKS | {"shrink_axis_mask": 1})
    typed = {"T": s.dtype(), "Tindices": s.dtype(2), "Tnumsegments": int32}
    if not axis:
        s.main("UnsortedSegmentSum", [rows, flat, number], **typed)
        return
    total = s.step("total", "UnsortedSegmentSum", [rows, flat, number], **typed)
    back = s.const("back", [order.index(i) for i in range(len(whole))])
    s.main("Transpose", [total, back], T=s.dtype(), Tperm=int32)


@way(scatter.gather_nd_op)
def _gather_nd(s: Source) -> None:
    if s.node.params.get("batch_dims"):
        raise Own
    s.main("GatherNd", Tparams=s.dtype(), Tindices=s.dtype(1))


@way(scatter.scatter_nd_op)
def _scatter_nd(s: Source) -> None:
    updates, indices, dims = s.inputs
    if s.node.params.get("batch_dims") or s.dtype(1) is not s.dtype(2):
        raise Own
    s.main("ScatterNd", [indices, updates, dims], T=s.dtype(), Tindices=s.dtype(1))


@way(scatter.tensor_scatter_update_op)
def _scatter_update(s: Source) -> None:
    if s.node.params.get("batch_dims"):
        raise Own
    s.main("TensorScatterUpdate", T=s.dtype(), Tindices=s.dtype(1))


def _bounds(spec: Any) -> tuple[list[list[int]], dict[str, int]] | None:
    """Begins, ends, strides and masks of an index of numbers and slices; None if it has other items."""
    ends: list[list[int]] = [[], [], []]
    masks = dict(_MASKS)
    for bit, item in enumerate(spec):
        values = [0, 0, 1]
        if item is Ellipsis:
            masks["ellipsis_mask"] |= 1 << bit
        elif item is None:
            masks["new_axis_mask"] |= 1 << bit
        elif type(item) is int:
            values = [item, item + 1, 1]
            masks["shrink_axis_mask"] |= 1 << bit
        elif type(item) is tuple and len(item) == 3 and all(v is None or type(v) is int for v in item):
            values = [0 if item[0] is None else item[0], 0 if item[1] is None else item[1], item[2] or 1]
            masks["begin_mask"] |= (item[0] is None) << bit
            masks["end_mask"] |= (item[1] is None) << bit
        else:
            return None
        for column, value in zip(ends, values, strict=True):
            column.append(value)
    return ends, masks


@way(indexing.getitem_op)
def _getitem(s: Source) -> None:
    bounds = _bounds(s.node.params["spec"])
    if bounds is None or len(s.inputs) > 1:
        raise Own
    ends = [s.const(k, np.array(v, np.int32)) for k, v in zip(("begin", "end", "strides"), bounds[0], strict=True)]
    s.main("StridedSlice", [s.inputs[0], *ends], T=s.dtype(), Index=int32, **bounds[1])


@way(indexing.getitem_back_op)
def _getitem_back(s: Source) -> None:
    bounds = _bounds(s.node.params["spec"])
    if bounds is None or len(s.inputs) > 2:
        raise Own
    ends = [s.const(k, np.array(v, np.int32)) for k, v in zip(("begin", "end", "strides"), bounds[0], strict=True)]
    s.main("StridedSliceGrad", [s.shape_of(1), *ends, s.inputs[0]], T=s.dtype(), Index=int32, **bounds[1])


@way(partition.reverse_sequence_op)
def _reverse_sequence(s: Source) -> None:
    rows = s.node.params["batch_axes"]
    if len(rows) != 1 or s.shape() is None:
        raise Own
    axis, batch = [a % len(s.shape()) for a in (s.node.params["axis"], rows[0])]
    s.main("ReverseSequence", T=s.dtype(), Tlen=s.dtype(1), seq_dim=axis, batch_dim=batch)
