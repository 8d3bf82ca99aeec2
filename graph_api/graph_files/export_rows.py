"""How elementwise ops, reductions and the ops of gradient rules are written as TensorFlow's."""

from __future__ import annotations

from typing import Any

import numpy as np

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
    explog,
    extrema,
    linalg,
    nn,
    reduce,
    scan,
    shape,
    special,
    stats,
    trig,
)
from graph_api.graph_files.array_rows import broadcast_axes
from graph_api.graph_files.export_ways import way, without_lead
from graph_api.graph_files.exporting import WAYS, Source


def _typed(source: Source) -> bool:
    """An op that differs in nothing: its attribute T is the dtype of its operands."""
    source.main(source.node.op.type, T=source.dtype())
    return True


_SAME: tuple[tuple[Any, str], ...] = (
    (
        arithmetic,
        (
            "add ceil divide divide_no_nan floor floordiv maximum minimum mod multiply negative real_abs reciprocal "
            "rint round sign square_op squared_difference_op subtract"
        ),
    ),
    (
        compare,
        (
            "bitwise_and bitwise_or bitwise_xor bitwise_not equal greater greater_equal is_finite is_inf is_nan less "
            "less_equal not_equal"
        ),
    ),
    (complexes, "complex_sign"),
    (explog, "exp expm1 log log1p pow rsqrt sqrt"),
    (trig, "acos acosh asin asinh atan atan2 atanh cos cosh sin sinh tan tanh"),
    (nn, "elu relu relu6 selu sigmoid softplus softsign"),
    (
        special,
        (
            "betainc bessel_i0e bessel_i1e digamma erf erfc erfinv igamma igammac lgamma ndtri polygamma xdivy xlog1py "
            "xlogy zeta"
        ),
    ),
    (structural, "conj_op"),
    (shape, "identity"),
    (linalg, "cross_op"),
    (arithmetic, "clip"),
    (decompose, "cholesky_op"),
    (determinants, "det_op slogdet_op"),
)
for _module, _names in _SAME:
    for _name in _names.split():
        WAYS[id(getattr(_module, _name))] = _typed


@way(compare.logical_and, compare.logical_or, compare.logical_not)
def _logical(s: Source) -> bool:
    s.main(s.node.op.type)
    return True


@way(reduce.add_n_op)
def _add_n(s: Source) -> bool:
    s.main("AddN", T=s.dtype(), N=len(s.inputs))
    return True


@way(compare.select)
def _select(s: Source) -> bool:
    s.main("SelectV2", T=s.dtype(1))
    return True


@way(compare.cast_op, compare.truncate)
def _cast(s: Source) -> bool:
    s.main("Cast", SrcT=s.dtype(), DstT=s.node.params["dtype"], Truncate=False)
    return True


@way(complexes.complex_op)
def _complex(s: Source) -> bool:
    s.main("Complex", T=s.dtype(), Tout=s.node.outputs[0].dtype)
    return True


@way(complexes.real_op, complexes.imag_op, complexes.complex_abs, complexes.angle_op)
def _part(s: Source) -> bool:
    s.main(s.node.op.type, T=s.dtype(), Tout=s.node.outputs[0].dtype)
    return True


# ---- what gradients are made of --------------------------------------------------------------------------------------


@way(structural.scale)
def _scale(s: Source) -> bool:
    ct, partial = s.inputs
    if not s.node.params.get("either"):
        s.main("MulNoNan", [partial, ct], T=s.dtype())
        return True
    product = s.step("product", "MulNoNan", [partial, ct], T=s.dtype())
    zero = s.const("zero", 0, s.dtype().numpy)
    nothing = s.step("nothing", "Equal", [partial, zero], T=s.dtype())
    s.main("SelectV2", [nothing, zero, product], T=s.dtype())
    return True


@way(compare.keep_chosen)
def _keep_chosen(s: Source) -> bool:
    x, chosen = s.inputs
    zero = s.const("zero", 0, s.dtype().numpy)
    lost = s.step("lost", "NotEqual", [x, x], T=s.dtype())
    apart = s.step("apart", "Equal", [chosen, zero], T=s.dtype())
    both = s.step("both", "LogicalAnd", [lost, apart])
    zeros = s.step("zeros", "ZerosLike", [x], T=s.dtype())
    s.main("SelectV2", [both, zeros, x], T=s.dtype())
    return True


@way(structural.sum_to_like_op)
def _sum_to_like(s: Source) -> bool:
    if not without_lead(s):
        return False
    x, ref = s.shape_of(0), s.shape_of(1)
    over = s.step("axes", "BroadcastGradientArgs", [ref, x], T=int32)
    total = s.step("sum", "Sum", [s.inputs[0], over], T=s.dtype(), Tidx=int32, keep_dims=False)
    s.main("Reshape", [total, ref], T=s.dtype(), Tshape=int32)
    return True


@way(structural.broadcast_like_op)
def _broadcast_like(s: Source) -> bool:
    if without_lead(s):
        s.main("BroadcastTo", [s.inputs[0], s.shape_of(1)], T=s.dtype(), Tidx=int32)
    return without_lead(s)


@way(structural.reshape_like_op)
def _reshape_like(s: Source) -> bool:
    if without_lead(s):
        s.main("Reshape", [s.inputs[0], s.shape_of(1)], T=s.dtype(), Tshape=int32)
    return without_lead(s)


@way(structural.reshape_to)
def _reshape_to(s: Source) -> bool:
    s.main("Reshape", [s.inputs[0], s.const("shape", s.node.params["shape"])], T=s.dtype(), Tshape=int32)
    return True


@way(structural.contiguous)
def _contiguous(s: Source) -> bool:
    s.main("Identity", T=s.dtype())
    return True


@way(reduce.spread_like_op)
def _spread_like(s: Source) -> bool:
    params, dtype = s.node.params, s.dtype()
    if not without_lead(s) or (params["axis"] is None and s.shape(1) is None):
        return False
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
    return True


def _gather(dtype: Any) -> dict[str, Any]:
    return {"Tparams": dtype, "Tindices": int32, "Taxis": int32, "batch_dims": 0}


def _from_front(s: Source, over: str) -> str:
    """Axes counted from the front, which a gather needs."""
    rank = s.step("rank", "Rank", [s.inputs[1]], T=s.dtype(1))
    return s.step("places", "FloorMod", [over, rank], T=int32)


@way(creation.ones_like, creation.zeros_like)
def _like(s: Source) -> bool:
    dtype = s.node.params.get("dtype") or s.dtype()
    if dtype is s.dtype():
        s.main(s.node.op.type, T=dtype)
        return True
    value = s.const("value", s.node.op is creation.ones_like, dtype.numpy)
    s.main("Fill", [s.shape_of(0), value], T=dtype, index_type=int32)
    return True


@way(cross_entropy.less_one_hot)
def _less_one_hot(s: Source) -> bool:
    p, labels = s.inputs
    if s.shape(0) is None or s.shape(0)[-1] is None:
        return False
    dtype, depth = s.dtype(), s.const("depth", s.shape(0)[-1])
    on, off = s.const("on", 1, dtype.numpy), s.const("off", 0, dtype.numpy)
    right = s.step("right", "OneHot", [labels, depth, on, off], T=dtype, TI=s.dtype(1), axis=-1)
    s.main("Sub", [p, right], T=dtype)
    return True


@way(broadcast_axes)
def _broadcast_axes(s: Source) -> bool:
    s.main("BroadcastGradientArgs", T=s.dtype())
    return True


# ---- reductions ------------------------------------------------------------------------------------------------------


def _axes(s: Source) -> str | None:
    axis = s.node.params["axis"]
    if axis is None:
        if s.shape() is None:
            return None
        axis = tuple(range(len(s.shape())))
    return s.const("axis", np.array(axis, np.int32))


@way(
    reduce.reduce_sum_op, reduce.reduce_mean_op, reduce.reduce_prod_op, reduce.reduce_all_op, reduce.reduce_any_op,
    extrema.reduce_max_op, extrema.reduce_min_op,
)  # fmt: skip
def _reduction(s: Source) -> bool:
    places = _axes(s)
    if places is None:
        return False
    typed = {} if s.dtype() is bool_ else {"T": s.dtype()}
    s.main(s.node.op.type, [s.inputs[0], places], Tidx=int32, keep_dims=s.node.params["keepdims"], **typed)
    return True


@way(extrema.argmax_op, extrema.argmin_op)
def _extremum(s: Source) -> bool:
    params = s.node.params
    axis = s.const("dimension", params["axis"])
    s.main(s.node.op.type, [s.inputs[0], axis], T=s.dtype(), Tidx=int32, output_type=params["output_type"])
    return True


@way(scan.cumsum_op, scan.cumprod_op)
def _cumulative(s: Source) -> bool:
    params = dict(s.node.params)
    axis = s.const("axis", params.pop("axis"))
    more = {k: bool(params.pop(k, False)) for k in ("exclusive", "reverse")}
    if any(params.values()):
        return False
    s.main(s.node.op.type, [s.inputs[0], axis], T=s.dtype(), Tidx=int32, **more)
    return True


def _deviation(s: Source, over: str) -> str:
    """Write the values less their mean."""
    mean = s.step("mean", "Mean", [s.inputs[0], over], T=s.dtype(), Tidx=int32, keep_dims=True)
    return s.step("deviation", "Sub", [s.inputs[0], mean], T=s.dtype())


@way(stats.reduce_variance_op, stats.reduce_std_op)
def _variance(s: Source) -> bool:
    over = _axes(s)
    if over is None or s.dtype().is_complex:
        return False
    squares = s.step("squares", "Square", [_deviation(s, over)], T=s.dtype())
    how = {"T": s.dtype(), "Tidx": int32, "keep_dims": s.node.params["keepdims"]}
    if s.node.op is stats.reduce_variance_op:
        s.main("Mean", [squares, over], **how)
    else:
        s.main("Sqrt", [s.step("variance", "Mean", [squares, over], **how)], T=s.dtype())
    return True


@way(stats.center)
def _center(s: Source) -> bool:
    over = _axes(s)
    if over is None:
        return False
    mean = s.step("mean", "Mean", [s.inputs[0], over], T=s.dtype(), Tidx=int32, keep_dims=True)
    s.main("Sub", [s.inputs[0], mean], T=s.dtype())
    return True
