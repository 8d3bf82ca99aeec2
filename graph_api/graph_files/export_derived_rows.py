"""How ops are written for which TensorFlow has another op, or several: activations, diagonals, sorting, and so on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.core.dtypes import bool_, int32, int64
from engine.core.trace import constant_value
from engine.ops import (
    arithmetic,
    compare,
    cross_entropy,
    decompose,
    diagonal,
    explog,
    fft,
    indexing,
    nn,
    random,
    rearrange,
    reduce,
    scatter,
    segment,
    selection,
    slicing,
    solve,
    sorting,
    special,
    stats,
    trig,
)
from graph_api.graph_files.export_ways import Call, axes, formula, operand, same, tf, way
from graph_api.graph_files.exporting import Own, Source

_GATHER = {"Tindices": int32, "Taxis": int32, "batch_dims": 0}


def _number(s: Source, name: str, value: float) -> str:
    """Write a number of the dtype of the first operand."""
    return s.const(name, value, s.dtype().numpy)


# ---- elementwise -----------------------------------------------------------------------------------------------------


same(nn.leaky_relu_op, by="LeakyRelu T=0 alpha=.alpha")
same(compare.logical_xor, by="NotEqual T=0")
same(arithmetic.part_of, by="DivNoNan T=0")
same(arithmetic.truncatediv, by="TruncateDiv T=0")
same(arithmetic.truncatemod, by="TruncateMod T=0")
# TensorFlow's gradients of shares leave them as they are rounded
formula(reduce.balanced, lambda x, *_: tf.Identity(x))
formula(nn.silu_op, lambda x: tf.Mul(x, tf.Sigmoid(x)))
formula(trig.tanh_slope, lambda y, *_: tf.Sub(1, tf.Square(y)))
formula(trig.atan_slope, lambda x: tf.Reciprocal(tf.AddV2(1, tf.Square(x))))
formula(trig.asinh_slope, lambda x: tf.Rsqrt(tf.AddV2(1, tf.Square(x))))
formula(nn.sigmoid_slope, lambda y, *_: tf.Mul(y, tf.Sub(1, y)))
formula(explog.expm1_slope, lambda y, *_: tf.AddV2(y, 1))
formula(nn.selu_slope, lambda y, *_: tf.AddV2(y, nn.SELU_SCALE_ALPHA))
formula(nn.log_sigmoid, lambda x: tf.Neg(tf.Softplus(tf.Neg(x))))
formula(
    cross_entropy.sigmoid_cross_entropy_op,
    lambda labels, x: tf.AddV2(tf.Sub(tf.Relu(x), tf.Mul(x, labels)), tf.Log1p(tf.Exp(tf.Neg(tf.Abs(x))))),
)


def _distribution(x: str) -> Call:
    """The normal distribution function."""
    return tf.Mul(tf.Erfc(tf.Mul(x, -math.sqrt(0.5))), 0.5)


formula(special.ndtr, lambda x: tf.Identity(_distribution(x)))


@way(nn.gelu_op)
def _gelu(s: Source) -> None:
    (x,) = s.inputs
    factor = _distribution(x)
    if s.node.params["approximate"]:
        inner = tf.Mul(x, tf.AddV2(tf.Mul(tf.Square(x), 0.044715), 1))
        factor = tf.Mul(tf.AddV2(tf.Tanh(tf.Mul(inner, math.sqrt(2 / math.pi))), 1), 0.5)
    s.main("Mul", [x, operand(s, factor)], T=s.dtype())


# ---- reductions ------------------------------------------------------------------------------------------------------


@way(stats.reduce_euclidean_norm_op)
def _euclidean_norm(s: Source) -> None:
    over = s.const("axis", axes(s))
    s.main("EuclideanNorm", [s.inputs[0], over], T=s.dtype(), Tidx=int32, keep_dims=s.node.params["keepdims"])


@way(reduce.reduce_logsumexp_op)
def _logsumexp(s: Source) -> None:
    (x,), t, places = s.inputs, s.dtype(), axes(s)
    if t.is_complex:
        raise Own
    over = s.const("axis", places)
    keep = {"T": t, "Tidx": int32, "keep_dims": True}
    most = s.step("most", "Max", [x, over], **keep)
    known = s.step("known", "IsFinite", [most], T=t)
    most = s.step("shift", "SelectV2", [known, most, _number(s, "zero", 0)], T=t)
    less = s.step("exp", "Exp", [s.step("less", "Sub", [x, most], T=t)], T=t)
    log = s.step("log", "Log", [s.step("sum", "Sum", [less, over], **keep)], T=t)
    if s.node.params["keepdims"]:
        s.main("AddV2", [log, most], T=t)
    else:
        s.main("Squeeze", [s.step("kept", "AddV2", [log, most], T=t)], T=t, squeeze_dims=list(places))


# ---- moving, selecting, sorting --------------------------------------------------------------------------------------

same(sorting.invert_permutation_op, by="InvertPermutation T=0")
same(compare.true_indices, by="Where T=0")
same(sorting.unique_op, by="UniqueWithCounts T=0 out_idx=.out_idx")


def _length(s: Source, i: int, axis: int) -> str:
    """Write the size of an axis of an operand, an int32."""
    dims = s.shape(i)
    assert dims is not None
    size = dims[axis]
    if size is not None:
        return s.const("length", size)
    every = s.step("dims", "Shape", [s.inputs[i]], T=s.dtype(i), out_type=int32)
    place = s.const("place", axis % len(dims))
    return s.step("length", "GatherV2", [every, place, s.const("first", 0)], **_GATHER, Tparams=int32)


@way(rearrange.repeat_indices)
def _repeat_indices(s: Source) -> None:
    """As TensorFlow repeats: the rows of the true entries of a mask with so many of them in each row."""
    if s.shape(1) is None:
        raise Own
    t, zero, one = s.dtype(), s.const("zero", 0), s.const("one", 1)
    count = s.step("vector", "Pack", [_length(s, 1, s.node.params["axis"])], T=int32, N=1, axis=0)
    counts = s.step("counts", "BroadcastTo", [s.inputs[0], count], T=t, Tidx=int32)
    counts = counts if t is int32 else s.step("cast", "Cast", [counts], SrcT=t, DstT=int32, Truncate=False)
    most = s.step("max", "Max", [counts, s.const("axis", [0])], T=int32, Tidx=int32, keep_dims=False)
    most = s.step("most", "Maximum", [most, zero], T=int32)
    numbers = s.step("numbers", "Range", [zero, most, one], Tidx=int32)
    column = s.step("column", "ExpandDims", [counts, one], T=int32, Tdim=int32)
    mask = s.step("mask", "Less", [numbers, column], T=int32)
    s.main("GatherV2", [s.step("where", "Where", [mask], T=bool_), zero, one], **_GATHER, Tparams=int64)


@way(rearrange.roll_op)
def _roll(s: Source) -> None:
    axis = s.const("axis", s.node.params["axis"])
    shift = s.step("shift", "Reshape", [s.inputs[1], s.const("one", [-1])], T=s.dtype(1), Tshape=int32)
    s.main("Roll", [s.inputs[0], shift, axis], T=s.dtype(), Tshift=s.dtype(1), Taxis=int32)


@way(selection.flat_gather_op)
def _flat_gather(s: Source) -> None:
    _gather_at(s, -1)


@way(scatter.gather_last_op)
def _gather_last(s: Source) -> None:
    _gather_at(s, -1, s.node.params["batch_dims"])


def _gather_at(s: Source, axis: int, batch_dims: int = 0) -> None:
    more = {"Tparams": s.dtype(), "Tindices": s.dtype(1), "Taxis": int32, "batch_dims": batch_dims}
    s.main("GatherV2", [*s.inputs[:2], s.const("axis", axis)], **more)


def _columns(s: Source, i: int) -> str:
    """Write vectors of positions as positions of entries."""
    return s.step("column", "ExpandDims", [s.inputs[i], s.const("one", 1)], T=s.dtype(i), Tdim=int32)


@way(selection.flat_scatter_op)
def _flat_scatter(s: Source) -> None:
    if s.shape() is None or len(s.shape()) != 1:
        raise Own
    size = s.const("size", [s.node.params["size"]], s.dtype(1).numpy)
    s.main("ScatterNd", [_columns(s, 1), s.inputs[0], size], T=s.dtype(), Tindices=s.dtype(1))


@way(selection.add_at_op)
def _add_at(s: Source) -> None:
    if s.shape() is None or len(s.shape()) != 1:
        raise Own
    s.main("TensorScatterAdd", [s.inputs[0], _columns(s, 2), s.inputs[1]], T=s.dtype(), Tindices=s.dtype(2))


@way(slicing.boolean_mask_op)
def _boolean_mask(s: Source) -> None:
    rank, axis = s.shape(1), s.node.params.get("axis", 0)
    places = s.step("where", "Where", [s.inputs[1]], T=bool_)
    if rank is None or (len(rank) != 1 and axis):
        raise Own
    if len(rank) != 1:
        s.main("GatherNd", [s.inputs[0], places], Tparams=s.dtype(), Tindices=int64)
        return
    flat = s.step("flat", "Reshape", [places, s.const("all", [-1])], T=int64, Tshape=int32)
    more = {"Tparams": s.dtype(), "Tindices": int64, "Taxis": int32, "batch_dims": 0}
    s.main("GatherV2", [s.inputs[0], flat, s.const("axis", axis)], **more)


@way(slicing.boolean_mask_back_op)
def _boolean_mask_back(s: Source) -> None:
    if s.node.params.get("axis", 0):
        raise Own
    places = s.step("where", "Where", [s.inputs[2]], T=bool_)
    dims = s.step("dims", "Shape", [s.inputs[1]], T=s.dtype(1), out_type=int64)
    s.main("ScatterNd", [places, s.inputs[0], dims], T=s.dtype(), Tindices=int64)


@way(rearrange.tile_back_op)
def _tile_back(s: Source) -> None:
    dims, multiples = s.shape(1), constant_value(s.node.inputs[2])
    if multiples is None or dims is None or list(dims).count(None) > 1:
        raise Own
    parts = [-1 if n is None else int(n) for pair in zip(multiples.tolist(), dims, strict=True) for n in pair]
    parted = s.step("parts", "Reshape", [s.inputs[0], s.const("dims", parts)], T=s.dtype(), Tshape=int32)
    over = s.const("axes", list(range(0, len(parts), 2)))
    s.main("Sum", [parted, over], T=s.dtype(), Tidx=int32, keep_dims=False)


@way(rearrange.pad_back_op)
def _pad_back(s: Source) -> None:
    mode, t = str(s.node.params["mode"]).upper(), s.dtype(2)
    if s.shape(1) is None:
        raise Own
    pairs = s.step("pairs", "Reshape", [s.inputs[2], s.const("two", [-1, 2])], T=t, Tshape=int32)
    if mode != "CONSTANT":
        s.main("MirrorPadGrad", [s.inputs[0], pairs], T=s.dtype(), Tpaddings=t, mode=mode)
        return
    places = s.step("begin", "GatherV2", [pairs, s.const("first", 0), s.const("axis", 1)], **_GATHER, Tparams=t)
    dims = s.step("dims", "Shape", [s.inputs[1]], T=s.dtype(1), out_type=t)
    s.main("Slice", [s.inputs[0], places, dims], T=s.dtype(), Index=t)


@way(indexing.wrap_negative)
def _wrap_negative(s: Source) -> None:
    t, zero = s.dtype(), s.const("zero", 0, s.dtype().numpy)
    if s.shape(1) is None:
        raise Own
    length = s.step("size", "Cast", [_length(s, 1, s.node.params["axis"])], SrcT=int32, DstT=t, Truncate=False)
    below = s.step("below", "Less", [s.inputs[0], zero], T=t)
    s.main("SelectV2", [below, s.step("wrapped", "AddV2", [s.inputs[0], length], T=t), s.inputs[0]], T=t)


def _largest(s: Source, x: str, k: str) -> None:
    found = s.step("top", "TopKV2", [x, k], T=s.dtype(), sorted=True, Tk=int32, index_type=int32)
    s.main("Identity", [f"{found}:1"], T=int32)


@way(sorting.top_k_indices)
def _top_k(s: Source) -> None:
    _largest(s, s.inputs[0], s.const("k", s.node.params["k"]))


@way(sorting.argsort_op)
def _argsort(s: Source) -> None:
    params, dims = s.node.params, s.shape()
    if dims is None or params["axis"] not in (-1, len(dims) - 1) or not s.dtype().is_floating:
        raise Own
    x = s.inputs[0] if params["descending"] else s.step("negative", "Neg", s.inputs, T=s.dtype())
    _largest(s, x, _length(s, 0, -1))


# ---- segments, random numbers ----------------------------------------------------------------------------------------


@way(segment.segment_sum_like)
def _segment_sum_like(s: Source) -> None:
    if s.shape(2) is None:
        raise Own
    typed = {"T": s.dtype(), "Tindices": s.dtype(1), "Tnumsegments": int32}
    s.main("UnsortedSegmentSum", [*s.inputs[:2], _length(s, 2, 0)], **typed)


@way(segment.unsegment)
def _unsegment(s: Source) -> None:
    x, ids = s.shape(), s.shape(1)
    if x is None or ids is None:
        raise Own
    t, kind = s.dtype(), s.dtype(1)
    zero = s.const("zero", 0, kind.numpy)
    at = s.step("at", "Maximum", [s.inputs[1], zero], T=kind)
    more = {"Tparams": t, "Tindices": kind, "Taxis": int32, "batch_dims": 0}
    rows = s.step("rows", "GatherV2", [s.inputs[0], at, s.const("axis", 0)], **more)
    there = s.step("there", "GreaterEqual", [s.inputs[1], zero], T=kind)
    for _ in x[1:]:
        there = s.step("wide", "ExpandDims", [there, s.const("last", -1)], T=bool_, Tdim=int32)
    s.main("SelectV2", [there, rows, s.step("none", "ZerosLike", [rows], T=t)], T=t)


@way(random.categorical_op)
def _categorical(s: Source) -> None:
    count, logits = s.inputs
    size = s.step("count", "Cast", [count], SrcT=s.dtype(), DstT=int32, Truncate=False)
    dtype = s.node.params["dtype"]
    s.main("Multinomial", [logits, size], T=s.node.inputs[-1].dtype, output_dtype=dtype, seed=0, seed2=0)


@way(random.shuffle_op)
def _shuffle(s: Source) -> None:
    if s.node.params.get("inverse"):
        raise Own
    s.main("RandomShuffle", T=s.dtype(), seed=0, seed2=0)


# ---- matrices --------------------------------------------------------------------------------------------------------

_ALIGN = {"align": "RIGHT_LEFT"}
same(decompose.eigh_op, by="SelfAdjointEigV2 T=0 compute_v=yes")
same(decompose.eigvalsh_op, by="SelfAdjointEigV2 T=0 compute_v=no")
same(decompose.svd_op, by="Svd T=0 compute_uv=yes full_matrices=?full_matrices")
same(decompose.singular_values_op, by="Svd T=0 compute_uv=no full_matrices=no")
same(decompose.qr_op, by="Qr T=0 full_matrices=?full_matrices")
same(solve.triangular_solve_op, by="MatrixTriangularSolve T=0 lower=?lower adjoint=?adjoint")


@way(diagonal.diagonal)
def _diagonal(s: Source) -> None:
    k = s.const("k", s.node.params.get("offset", 0))
    s.main("MatrixDiagPartV3", [s.inputs[0], k, _number(s, "padding", 0)], T=s.dtype(), **_ALIGN)


@way(diagonal.embed_diagonal)
def _embed_diagonal(s: Source) -> None:
    x, whole = s.shape(), s.shape(1)
    if x is None or whole is None or tuple(x[:-1]) != tuple(whole[:-2]):
        raise Own
    zeros = s.step("zeros", "ZerosLike", [s.inputs[1]], T=s.dtype(1))
    k = s.const("k", s.node.params.get("offset", 0))
    s.main("MatrixSetDiagV3", [zeros, s.inputs[0], k], T=s.dtype(), **_ALIGN)


@way(diagonal.matrix_diag_op)
def _matrix_diag(s: Source) -> None:
    params = s.node.params
    sizes = [s.const(k, -1 if params[k] is None else params[k]) for k in ("rows", "columns")]
    k = s.const("k", params["offset"])
    s.main("MatrixDiagV3", [s.inputs[0], k, *sizes, _number(s, "padding", 0)], T=s.dtype(), **_ALIGN)


@way(diagonal.set_diag_op)
def _set_diag(s: Source) -> None:
    k = s.const("k", s.node.params["offset"])
    s.main("MatrixSetDiagV3", [*s.inputs, k], T=s.dtype(), **_ALIGN)


@way(solve.triangle)
def _triangle(s: Source) -> None:
    lower, factor = s.node.params["lower"], s.node.params.get("diagonal", 1.0)
    ends = [s.const(n, v, np.int64) for n, v in (("below", -1 if lower else 0), ("above", 0 if lower else -1))]
    if factor == 1:
        s.main("MatrixBandPart", [s.inputs[0], *ends], T=s.dtype(), Tindex=int64)
        return
    band = s.step("band", "MatrixBandPart", [s.inputs[0], *ends], T=s.dtype(), Tindex=int64)
    k = s.const("k", 0)
    own = s.step("own", "MatrixDiagPartV3", [s.inputs[0], k, _number(s, "padding", 0)], T=s.dtype(), **_ALIGN)
    scaled = s.step("scaled", "Mul", [own, _number(s, "factor", factor)], T=s.dtype())
    s.main("MatrixSetDiagV3", [band, scaled, k], T=s.dtype(), **_ALIGN)


# ---- Fourier transforms ----------------------------------------------------------------------------------------------

_RANKS = {1: "", 2: "2D", 3: "3D"}


def _lengths(s: Source) -> Any:
    """The sizes of the axes that are transformed; None if they are not known."""
    dims = s.shape()
    last = None if dims is None else dims[len(dims) - s.node.params["rank"] :]
    return None if last is None or None in last else last


@way(fft.fft_op)
def _fft(s: Source) -> None:
    params, t = s.node.params, s.dtype()
    inverse, kind = params["inverse"], f"{'I' if params['inverse'] else ''}FFT{_RANKS[params['rank']]}"
    if params["scaled"] == inverse:
        s.main(kind, Tcomplex=t)
        return
    lengths = _lengths(s)
    if lengths is None:
        raise Own
    whole = math.prod(lengths)
    factor = s.const("count", whole if inverse else 1 / whole, t.numpy)
    s.main("Mul", [s.step("transform", kind, s.inputs, Tcomplex=t), factor], T=t)


@way(fft.rfft_op, fft.irfft_op)
def _real_fft(s: Source) -> None:
    params, lengths, back = s.node.params, _lengths(s), s.node.op is fft.irfft_op
    if params.get("lengths") is not None:
        lengths = params["lengths"]
    elif lengths is not None and back:
        lengths = [*lengths[:-1], 2 * (lengths[-1] - 1)]
    if lengths is None or None in lengths:
        raise Own
    kinds = {"Treal": s.node.outputs[0].dtype, "Tcomplex": s.dtype()}
    kinds = kinds if back else {"Treal": s.dtype(), "Tcomplex": s.node.outputs[0].dtype}
    kind = f"{'IRFFT' if back else 'RFFT'}{_RANKS[params['rank']]}"
    s.main(kind, [s.inputs[0], s.const("fft_length", list(lengths))], **kinds)
