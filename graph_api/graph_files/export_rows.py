"""How elementwise ops, reductions and the ops of gradient rules are written as TensorFlow's."""

from __future__ import annotations

from typing import Any

from engine.core import structural
from engine.core.dtypes import bool_, int32
from engine.ops import (
    arithmetic,
    compare,
    complexes,
    creation,
    cross_entropy,
    decompose,
    determinants,
    extrema,
    linalg,
    reduce,
    scan,
    shape,
    stats,
)
from graph_api.graph_files.array_rows import broadcast_axes
from graph_api.graph_files.elementwise_rows import ELEMENTWISE
from graph_api.graph_files.export_ways import axes, formula, same, tf, way
from graph_api.graph_files.exporting import Own, Source

for _op in ELEMENTWISE:
    same(_op)
same(
    arithmetic.real_abs, arithmetic.sign, arithmetic.square_op, arithmetic.squared_difference_op,
    complexes.complex_sign, structural.conj_op, shape.identity, linalg.cross_op, decompose.cholesky_op,
    determinants.det_op, determinants.slogdet_op,
)  # fmt: skip
same(compare.logical_and, compare.logical_or, compare.logical_not, by="")
same(reduce.add_n_op, by="AddN T=0 N=N")
same(compare.select, by="SelectV2 T=1")
same(compare.cast_op, compare.truncate, by="Cast SrcT=0 DstT=.dtype Truncate=no")
same(complexes.complex_op, by="Complex T=0 Tout=out")
same(complexes.real_op, complexes.imag_op, complexes.complex_abs, complexes.angle_op, by="T=0 Tout=out")
same(structural.contiguous, by="Identity T=0")
same(structural.reshape_to, by="Reshape shape@shape T=0 Tshape=int32")
same(extrema.argmax_op, extrema.argmin_op, by="dimension@axis T=0 Tidx=int32 output_type=.output_type")
same(broadcast_axes, by="BroadcastGradientArgs T=0")


# ---- what gradients are made of --------------------------------------------------------------------------------------


@way(structural.scale)
def _scale(s: Source) -> None:
    ct, partial = s.inputs
    if not s.node.params.get("either"):
        s.main("MulNoNan", [partial, ct], T=s.dtype())
        return
    product = s.step("product", "MulNoNan", [partial, ct], T=s.dtype())
    zero = s.const("zero", 0, s.dtype().numpy)
    nothing = s.step("nothing", "Equal", [partial, zero], T=s.dtype())
    s.main("SelectV2", [nothing, zero, product], T=s.dtype())


formula(
    compare.keep_chosen,
    lambda x, chosen: tf.SelectV2(tf.LogicalAnd(tf.NotEqual(x, x), tf.Equal(chosen, 0)), tf.ZerosLike(x), x),
)


@way(structural.sum_to_like_op)
def _sum_to_like(s: Source) -> None:
    x, ref = s.shape_of(0), s.shape_of(1)
    over = s.step("axes", "BroadcastGradientArgs", [ref, x], T=int32)
    total = s.step("sum", "Sum", [s.inputs[0], over], T=s.dtype(), Tidx=int32, keep_dims=False)
    s.main("Reshape", [total, ref], T=s.dtype(), Tshape=int32)


@way(structural.broadcast_like_op)
def _broadcast_like(s: Source) -> None:
    s.main("BroadcastTo", [s.inputs[0], s.shape_of(1)], T=s.dtype(), Tidx=int32)


@way(structural.reshape_like_op)
def _reshape_like(s: Source) -> None:
    s.main("Reshape", [s.inputs[0], s.shape_of(1)], T=s.dtype(), Tshape=int32)


@way(reduce.spread_like_op)
def _spread_like(s: Source) -> None:
    params, dtype = s.node.params, s.dtype()
    if params["axis"] is None and s.shape(1) is None:
        raise Own
    dims = s.shape_of(1)
    axis = params["axis"]
    over = s.const("axes", tuple(range(len(s.shape(1)))) if axis is None else axis)
    x = s.inputs[0]
    if params.get("mean"):
        sizes = s.step("sizes", "GatherV2", [dims, _from_front(s, over), s.const("zero", 0)], **_gather(int32))
        count = s.step("count", "Prod", [sizes, s.const("first", [0])], T=int32, Tidx=int32, keep_dims=False)
        number = s.step("number", "Cast", [count], SrcT=int32, DstT=dtype, Truncate=False)
        one = s.const("one", 1, dtype.numpy)
        x = s.step("mean", "RealDiv", [x, s.step("most", "Maximum", [number, one], T=dtype)], T=dtype)
    if not params["keepdims"]:
        kept = s.step("kept", "Sum", [s.inputs[1], over], T=s.dtype(1), Tidx=int32, keep_dims=True)
        dims_kept = s.step("kept_shape", "Shape", [kept], T=s.dtype(1), out_type=int32)
        x = s.step("wide", "Reshape", [x, dims_kept], T=dtype, Tshape=int32)
    s.main("BroadcastTo", [x, dims], T=dtype, Tidx=int32)


def _gather(dtype: Any) -> dict[str, Any]:
    return {"Tparams": dtype, "Tindices": int32, "Taxis": int32, "batch_dims": 0}


def _from_front(s: Source, over: str) -> str:
    """Axes counted from the front, which a gather needs."""
    rank = s.step("rank", "Rank", [s.inputs[1]], T=s.dtype(1))
    return s.step("places", "FloorMod", [over, rank], T=int32)


@way(creation.ones_like, creation.zeros_like)
def _like(s: Source) -> None:
    dtype = s.node.params.get("dtype") or s.dtype()
    if dtype is s.dtype():
        s.main(s.node.op.type, T=dtype)
        return
    value = s.const("value", s.node.op is creation.ones_like, dtype.numpy)
    s.main("Fill", [s.shape_of(0), value], T=dtype, index_type=int32)


@way(cross_entropy.less_one_hot)
def _less_one_hot(s: Source) -> None:
    p, labels = s.inputs
    if s.shape(0) is None or s.shape(0)[-1] is None:
        raise Own
    dtype, depth = s.dtype(), s.const("depth", s.shape(0)[-1])
    on, off = s.const("on", 1, dtype.numpy), s.const("off", 0, dtype.numpy)
    right = s.step("right", "OneHot", [labels, depth, on, off], T=dtype, TI=s.dtype(1), axis=-1)
    s.main("Sub", [p, right], T=dtype)


# ---- reductions ------------------------------------------------------------------------------------------------------


@way(
    reduce.reduce_sum_op, reduce.reduce_mean_op, reduce.reduce_prod_op, reduce.reduce_all_op, reduce.reduce_any_op,
    extrema.reduce_max_op, extrema.reduce_min_op,
)  # fmt: skip
def _reduction(s: Source) -> None:
    places = s.const("axis", axes(s))
    typed = {} if s.dtype() is bool_ else {"T": s.dtype()}
    s.main(s.node.op.type, [s.inputs[0], places], Tidx=int32, keep_dims=s.node.params["keepdims"], **typed)


@way(scan.cumsum_op, scan.cumprod_op)
def _cumulative(s: Source) -> None:
    params = dict(s.node.params)
    axis = s.const("axis", params.pop("axis"))
    more = {k: bool(params.pop(k, False)) for k in ("exclusive", "reverse")}
    if any(params.values()):
        raise Own
    s.main(s.node.op.type, [s.inputs[0], axis], T=s.dtype(), Tidx=int32, **more)


def _deviation(s: Source, over: str) -> str:
    """Write the values less their mean."""
    mean = s.step("mean", "Mean", [s.inputs[0], over], T=s.dtype(), Tidx=int32, keep_dims=True)
    return s.step("deviation", "Sub", [s.inputs[0], mean], T=s.dtype())


@way(stats.reduce_variance_op, stats.reduce_std_op)
def _variance(s: Source) -> None:
    if s.dtype().is_complex:
        raise Own
    over = s.const("axis", axes(s))
    squares = s.step("squares", "Square", [_deviation(s, over)], T=s.dtype())
    how = {"T": s.dtype(), "Tidx": int32, "keep_dims": s.node.params["keepdims"]}
    if s.node.op is stats.reduce_variance_op:
        s.main("Mean", [squares, over], **how)
    else:
        s.main("Sqrt", [s.step("variance", "Mean", [squares, over], **how)], T=s.dtype())


@way(stats.center)
def _center(s: Source) -> None:
    over = s.const("axis", axes(s))
    mean = s.step("mean", "Mean", [s.inputs[0], over], T=s.dtype(), Tidx=int32, keep_dims=True)
    s.main("Sub", [s.inputs[0], mean], T=s.dtype())
