"""How ops are written for which TensorFlow has another op, or several: activations, diagonals, sorting, and so on."""

from __future__ import annotations

import math
from functools import partial
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
from graph_api.graph_files.export_ways import way, without_lead
from graph_api.graph_files.exporting import Source

_GATHER = {"Tindices": int32, "Taxis": int32, "batch_dims": 0}


def _number(s: Source, name: str, value: float) -> str:
    """Write a number of the dtype of the first operand."""
    return s.const(name, value, s.dtype().numpy)


# ---- elementwise -----------------------------------------------------------------------------------------------------


@way(nn.leaky_relu_op)
def _leaky_relu(s: Source) -> bool:
    s.main("LeakyRelu", T=s.dtype(), alpha=float(s.node.params["alpha"]))
    return True


@way(nn.silu_op)
def _silu(s: Source) -> bool:
    s.main("Mul", [s.inputs[0], s.step("sigmoid", "Sigmoid", s.inputs, T=s.dtype())], T=s.dtype())
    return True


@way(trig.tanh_slope)
def _tanh_slope(s: Source) -> bool:
    s.main("Sub", [_number(s, "one", 1), s.step("square", "Square", s.inputs[:1], T=s.dtype())], T=s.dtype())
    return True


@way(reduce.balanced)
def _balanced(s: Source) -> bool:
    # TensorFlow's gradients of shares leave them as they are rounded
    s.main("Identity", s.inputs[:1], T=s.dtype())
    return True


@way(trig.atan_slope)
def _atan_slope(s: Source) -> bool:
    square = s.step("square", "Square", s.inputs, T=s.dtype())
    s.main("Reciprocal", [s.step("sum", "AddV2", [_number(s, "one", 1), square], T=s.dtype())], T=s.dtype())
    return True


@way(trig.asinh_slope)
def _asinh_slope(s: Source) -> bool:
    square = s.step("square", "Square", s.inputs, T=s.dtype())
    s.main("Rsqrt", [s.step("sum", "AddV2", [_number(s, "one", 1), square], T=s.dtype())], T=s.dtype())
    return True


@way(nn.sigmoid_slope)
def _sigmoid_slope(s: Source) -> bool:
    rest = s.step("rest", "Sub", [_number(s, "one", 1), s.inputs[0]], T=s.dtype())
    s.main("Mul", [s.inputs[0], rest], T=s.dtype())
    return True


@way(explog.expm1_slope)
def _expm1_slope(s: Source) -> bool:
    s.main("AddV2", [s.inputs[0], _number(s, "one", 1)], T=s.dtype())
    return True


@way(nn.selu_slope)
def _selu_slope(s: Source) -> bool:
    s.main("AddV2", [s.inputs[0], _number(s, "least", nn.SELU_SCALE_ALPHA)], T=s.dtype())
    return True


def _distribution(s: Source, x: str) -> str:
    """Write the normal distribution function."""
    t = s.dtype()
    scaled = s.step("scaled", "Mul", [x, _number(s, "root", -math.sqrt(0.5))], T=t)
    return s.step("above", "Mul", [s.step("erfc", "Erfc", [scaled], T=t), _number(s, "half", 0.5)], T=t)


@way(special.ndtr)
def _ndtr(s: Source) -> bool:
    s.main("Identity", [_distribution(s, s.inputs[0])], T=s.dtype())
    return True


@way(nn.gelu_op)
def _gelu(s: Source) -> bool:
    (x,), t = s.inputs, s.dtype()
    if not s.node.params["approximate"]:
        s.main("Mul", [x, _distribution(s, x)], T=t)
        return True
    square = s.step("square", "Square", [x], T=t)
    part = s.step("part", "Mul", [square, _number(s, "third", 0.044715)], T=t)
    inner = s.step("inner", "Mul", [x, s.step("factor", "AddV2", [part, _number(s, "one", 1)], T=t)], T=t)
    scaled = s.step("scaled", "Mul", [inner, _number(s, "root", math.sqrt(2 / math.pi))], T=t)
    above = s.step("above", "AddV2", [s.step("tanh", "Tanh", [scaled], T=t), _number(s, "unit", 1)], T=t)
    s.main("Mul", [x, s.step("halved", "Mul", [above, _number(s, "half", 0.5)], T=t)], T=t)
    return True


@way(nn.log_sigmoid)
def _log_sigmoid(s: Source) -> bool:
    negative = s.step("negative", "Neg", s.inputs, T=s.dtype())
    s.main("Neg", [s.step("softplus", "Softplus", [negative], T=s.dtype())], T=s.dtype())
    return True


@way(cross_entropy.sigmoid_cross_entropy_op)
def _sigmoid_cross_entropy(s: Source) -> bool:
    (labels, logits), t = s.inputs, s.dtype()
    away = s.step("away", "Neg", [s.step("size", "Abs", [logits], T=t)], T=t)
    rest = s.step("rest", "Log1p", [s.step("exp", "Exp", [away], T=t)], T=t)
    product = s.step("product", "Mul", [logits, labels], T=t)
    linear = s.step("linear", "Sub", [s.step("relu", "Relu", [logits], T=t), product], T=t)
    s.main("AddV2", [linear, rest], T=t)
    return True


@way(compare.logical_xor)
def _xor(s: Source) -> bool:
    s.main("NotEqual", T=bool_)
    return True


def _typed(kind: str, s: Source) -> bool:
    s.main(kind, T=s.dtype())
    return True


way(arithmetic.part_of)(partial(_typed, "DivNoNan"))
way(arithmetic.truncatediv)(partial(_typed, "TruncateDiv"))
way(arithmetic.truncatemod)(partial(_typed, "TruncateMod"))
way(sorting.invert_permutation_op)(partial(_typed, "InvertPermutation"))
way(compare.true_indices)(partial(_typed, "Where"))


# ---- reductions ------------------------------------------------------------------------------------------------------


def _axes(s: Source) -> tuple[int, ...] | None:
    axis, dims = s.node.params["axis"], s.shape()
    if axis is None:
        return None if dims is None else tuple(range(len(dims)))
    return axis if isinstance(axis, tuple) else (axis,)


@way(stats.reduce_euclidean_norm_op)
def _euclidean_norm(s: Source) -> bool:
    axes = _axes(s)
    if axes is None:
        return False
    over = s.const("axis", axes)
    s.main("EuclideanNorm", [s.inputs[0], over], T=s.dtype(), Tidx=int32, keep_dims=s.node.params["keepdims"])
    return True


@way(reduce.reduce_logsumexp_op)
def _logsumexp(s: Source) -> bool:
    (x,), t, axes = s.inputs, s.dtype(), _axes(s)
    if axes is None or t.is_complex:
        return False
    over = s.const("axis", axes)
    keep = {"T": t, "Tidx": int32, "keep_dims": True}
    most = s.step("most", "Max", [x, over], **keep)
    known = s.step("known", "IsFinite", [most], T=t)
    most = s.step("shift", "SelectV2", [known, most, _number(s, "zero", 0)], T=t)
    less = s.step("exp", "Exp", [s.step("less", "Sub", [x, most], T=t)], T=t)
    log = s.step("log", "Log", [s.step("sum", "Sum", [less, over], **keep)], T=t)
    if s.node.params["keepdims"]:
        s.main("AddV2", [log, most], T=t)
    else:
        s.main("Squeeze", [s.step("kept", "AddV2", [log, most], T=t)], T=t, squeeze_dims=list(axes))
    return True


# ---- moving, selecting, sorting --------------------------------------------------------------------------------------


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
def _repeat_indices(s: Source) -> bool:
    """As TensorFlow repeats: the rows of the true entries of a mask with so many of them in each row."""
    if s.shape(1) is None:
        return False
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
    return True


@way(rearrange.roll_op)
def _roll(s: Source) -> bool:
    axis = s.const("axis", s.node.params["axis"])
    shift = s.step("shift", "Reshape", [s.inputs[1], s.const("one", [-1])], T=s.dtype(1), Tshape=int32)
    s.main("Roll", [s.inputs[0], shift, axis], T=s.dtype(), Tshift=s.dtype(1), Taxis=int32)
    return True


@way(selection.flat_gather_op)
def _flat_gather(s: Source) -> bool:
    return _gather_at(s, -1)


@way(scatter.gather_last_op)
def _gather_last(s: Source) -> bool:
    return _gather_at(s, -1, s.node.params["batch_dims"])


def _gather_at(s: Source, axis: int, batch_dims: int = 0) -> bool:
    more = {"Tparams": s.dtype(), "Tindices": s.dtype(1), "Taxis": int32, "batch_dims": batch_dims}
    s.main("GatherV2", [*s.inputs[:2], s.const("axis", axis)], **more)
    return True


def _columns(s: Source, i: int) -> str:
    """Write vectors of positions as positions of entries."""
    return s.step("column", "ExpandDims", [s.inputs[i], s.const("one", 1)], T=s.dtype(i), Tdim=int32)


@way(selection.flat_scatter_op)
def _flat_scatter(s: Source) -> bool:
    if s.shape() is None or len(s.shape()) != 1:
        return False
    size = s.const("size", [s.node.params["size"]], s.dtype(1).numpy)
    s.main("ScatterNd", [_columns(s, 1), s.inputs[0], size], T=s.dtype(), Tindices=s.dtype(1))
    return True


@way(selection.add_at_op)
def _add_at(s: Source) -> bool:
    if s.shape() is None or len(s.shape()) != 1:
        return False
    s.main("TensorScatterAdd", [s.inputs[0], _columns(s, 2), s.inputs[1]], T=s.dtype(), Tindices=s.dtype(2))
    return True


@way(slicing.boolean_mask_op)
def _boolean_mask(s: Source) -> bool:
    rank, axis = s.shape(1), s.node.params.get("axis", 0)
    places = s.step("where", "Where", [s.inputs[1]], T=bool_)
    if rank is None or (len(rank) != 1 and axis):
        return False
    if len(rank) != 1:
        s.main("GatherNd", [s.inputs[0], places], Tparams=s.dtype(), Tindices=int64)
        return True
    flat = s.step("flat", "Reshape", [places, s.const("all", [-1])], T=int64, Tshape=int32)
    more = {"Tparams": s.dtype(), "Tindices": int64, "Taxis": int32, "batch_dims": 0}
    s.main("GatherV2", [s.inputs[0], flat, s.const("axis", axis)], **more)
    return True


@way(slicing.boolean_mask_back_op)
def _boolean_mask_back(s: Source) -> bool:
    if not without_lead(s) or s.node.params.get("axis", 0):
        return False
    places = s.step("where", "Where", [s.inputs[2]], T=bool_)
    dims = s.step("dims", "Shape", [s.inputs[1]], T=s.dtype(1), out_type=int64)
    s.main("ScatterNd", [places, s.inputs[0], dims], T=s.dtype(), Tindices=int64)
    return True


@way(rearrange.tile_back_op)
def _tile_back(s: Source) -> bool:
    dims, multiples = s.shape(1), constant_value(s.node.inputs[2])
    if not without_lead(s) or multiples is None or dims is None or list(dims).count(None) > 1:
        return False
    parts = [-1 if n is None else int(n) for pair in zip(multiples.tolist(), dims, strict=True) for n in pair]
    parted = s.step("parts", "Reshape", [s.inputs[0], s.const("dims", parts)], T=s.dtype(), Tshape=int32)
    over = s.const("axes", list(range(0, len(parts), 2)))
    s.main("Sum", [parted, over], T=s.dtype(), Tidx=int32, keep_dims=False)
    return True


@way(rearrange.pad_back_op)
def _pad_back(s: Source) -> bool:
    mode, t = str(s.node.params["mode"]).upper(), s.dtype(2)
    if not without_lead(s) or s.shape(1) is None:
        return False
    pairs = s.step("pairs", "Reshape", [s.inputs[2], s.const("two", [-1, 2])], T=t, Tshape=int32)
    if mode != "CONSTANT":
        s.main("MirrorPadGrad", [s.inputs[0], pairs], T=s.dtype(), Tpaddings=t, mode=mode)
        return True
    places = s.step("begin", "GatherV2", [pairs, s.const("first", 0), s.const("axis", 1)], **_GATHER, Tparams=t)
    dims = s.step("dims", "Shape", [s.inputs[1]], T=s.dtype(1), out_type=t)
    s.main("Slice", [s.inputs[0], places, dims], T=s.dtype(), Index=t)
    return True


@way(indexing.wrap_negative)
def _wrap_negative(s: Source) -> bool:
    t, zero = s.dtype(), s.const("zero", 0, s.dtype().numpy)
    if s.shape(1) is None:
        return False
    length = s.step("size", "Cast", [_length(s, 1, s.node.params["axis"])], SrcT=int32, DstT=t, Truncate=False)
    below = s.step("below", "Less", [s.inputs[0], zero], T=t)
    s.main("SelectV2", [below, s.step("wrapped", "AddV2", [s.inputs[0], length], T=t), s.inputs[0]], T=t)
    return True


def _largest(s: Source, x: str, k: str) -> bool:
    found = s.step("top", "TopKV2", [x, k], T=s.dtype(), sorted=True, Tk=int32, index_type=int32)
    s.main("Identity", [f"{found}:1"], T=int32)
    return True


@way(sorting.top_k_indices)
def _top_k(s: Source) -> bool:
    return _largest(s, s.inputs[0], s.const("k", s.node.params["k"]))


@way(sorting.argsort_op)
def _argsort(s: Source) -> bool:
    params, dims = s.node.params, s.shape()
    if dims is None or params["axis"] not in (-1, len(dims) - 1) or not s.dtype().is_floating:
        return False
    x = s.inputs[0] if params["descending"] else s.step("negative", "Neg", s.inputs, T=s.dtype())
    return _largest(s, x, _length(s, 0, -1))


@way(sorting.unique_op)
def _unique(s: Source) -> bool:
    s.main("UniqueWithCounts", T=s.dtype(), out_idx=s.node.params["out_idx"])
    return True


# ---- segments, random numbers ----------------------------------------------------------------------------------------


def _segments(kind: str, s: Source) -> bool:
    if not without_lead(s):
        return False
    more: dict[str, Any] = {"Tnumsegments": s.dtype(2)} if kind.startswith("Unsorted") else {}
    s.main(kind, T=s.dtype(), Tindices=s.dtype(1), **more)
    return True


for _op, _kind in (
    (segment.segment_sum_op, "SegmentSum"),
    (segment.segment_max_op, "SegmentMax"),
    (segment.segment_min_op, "SegmentMin"),
    (segment.segment_prod_op, "SegmentProd"),
    (segment.unsorted_segment_prod_op, "UnsortedSegmentProd"),
):
    way(_op)(partial(_segments, _kind))


@way(segment.segment_sum_like)
def _segment_sum_like(s: Source) -> bool:
    if not without_lead(s) or s.shape(2) is None:
        return False
    typed = {"T": s.dtype(), "Tindices": s.dtype(1), "Tnumsegments": int32}
    s.main("UnsortedSegmentSum", [*s.inputs[:2], _length(s, 2, 0)], **typed)
    return True


@way(segment.unsegment)
def _unsegment(s: Source) -> bool:
    x, ids = s.shape(), s.shape(1)
    if not without_lead(s) or x is None or ids is None:
        return False
    t, kind = s.dtype(), s.dtype(1)
    zero = s.const("zero", 0, kind.numpy)
    at = s.step("at", "Maximum", [s.inputs[1], zero], T=kind)
    more = {"Tparams": t, "Tindices": kind, "Taxis": int32, "batch_dims": 0}
    rows = s.step("rows", "GatherV2", [s.inputs[0], at, s.const("axis", 0)], **more)
    there = s.step("there", "GreaterEqual", [s.inputs[1], zero], T=kind)
    for _ in x[1:]:
        there = s.step("wide", "ExpandDims", [there, s.const("last", -1)], T=bool_, Tdim=int32)
    s.main("SelectV2", [there, rows, s.step("none", "ZerosLike", [rows], T=t)], T=t)
    return True


@way(random.categorical_op)
def _categorical(s: Source) -> bool:
    if not without_lead(s):
        return False
    count, logits = s.inputs
    size = s.step("count", "Cast", [count], SrcT=s.dtype(), DstT=int32, Truncate=False)
    dtype = s.node.params["dtype"]
    s.main("Multinomial", [logits, size], T=s.node.inputs[-1].dtype, output_dtype=dtype, seed=0, seed2=0)
    return True


@way(random.shuffle_op)
def _shuffle(s: Source) -> bool:
    if not without_lead(s) or s.node.params.get("inverse"):
        return False
    s.main("RandomShuffle", T=s.dtype(), seed=0, seed2=0)
    return True


# ---- matrices --------------------------------------------------------------------------------------------------------

_ALIGN = {"align": "RIGHT_LEFT"}


@way(diagonal.diagonal)
def _diagonal(s: Source) -> bool:
    k = s.const("k", s.node.params.get("offset", 0))
    s.main("MatrixDiagPartV3", [s.inputs[0], k, _number(s, "padding", 0)], T=s.dtype(), **_ALIGN)
    return True


@way(diagonal.embed_diagonal)
def _embed_diagonal(s: Source) -> bool:
    x, whole = s.shape(), s.shape(1)
    if x is None or whole is None or tuple(x[:-1]) != tuple(whole[:-2]):
        return False
    zeros = s.step("zeros", "ZerosLike", [s.inputs[1]], T=s.dtype(1))
    k = s.const("k", s.node.params.get("offset", 0))
    s.main("MatrixSetDiagV3", [zeros, s.inputs[0], k], T=s.dtype(), **_ALIGN)
    return True


@way(diagonal.matrix_diag_op)
def _matrix_diag(s: Source) -> bool:
    params = s.node.params
    sizes = [s.const(k, -1 if params[k] is None else params[k]) for k in ("rows", "columns")]
    k = s.const("k", params["offset"])
    s.main("MatrixDiagV3", [s.inputs[0], k, *sizes, _number(s, "padding", 0)], T=s.dtype(), **_ALIGN)
    return True


@way(diagonal.set_diag_op)
def _set_diag(s: Source) -> bool:
    k = s.const("k", s.node.params["offset"])
    s.main("MatrixSetDiagV3", [*s.inputs, k], T=s.dtype(), **_ALIGN)
    return True


@way(solve.triangle)
def _triangle(s: Source) -> bool:
    lower, factor = s.node.params["lower"], s.node.params.get("diagonal", 1.0)
    ends = [s.const(n, v, np.int64) for n, v in (("below", -1 if lower else 0), ("above", 0 if lower else -1))]
    if factor == 1:
        s.main("MatrixBandPart", [s.inputs[0], *ends], T=s.dtype(), Tindex=int64)
        return True
    band = s.step("band", "MatrixBandPart", [s.inputs[0], *ends], T=s.dtype(), Tindex=int64)
    k = s.const("k", 0)
    own = s.step("own", "MatrixDiagPartV3", [s.inputs[0], k, _number(s, "padding", 0)], T=s.dtype(), **_ALIGN)
    scaled = s.step("scaled", "Mul", [own, _number(s, "factor", factor)], T=s.dtype())
    s.main("MatrixSetDiagV3", [band, scaled, k], T=s.dtype(), **_ALIGN)
    return True


@way(solve.triangular_solve_op)
def _triangular_solve(s: Source) -> bool:
    params = s.node.params
    s.main("MatrixTriangularSolve", T=s.dtype(), lower=params["lower"], adjoint=params.get("adjoint", False))
    return True


@way(decompose.eigh_op)
def _eigh(s: Source) -> bool:
    s.main("SelfAdjointEigV2", T=s.dtype(), compute_v=True)
    return True


@way(decompose.svd_op)
def _svd(s: Source) -> bool:
    s.main("Svd", T=s.dtype(), compute_uv=True, full_matrices=s.node.params.get("full_matrices", False))
    return True


@way(decompose.eigvalsh_op)
def _eigvalsh(s: Source) -> bool:
    s.main("SelfAdjointEigV2", T=s.dtype(), compute_v=False)
    return True


@way(decompose.singular_values_op)
def _singular_values(s: Source) -> bool:
    s.main("Svd", T=s.dtype(), compute_uv=False, full_matrices=False)
    return True


@way(decompose.qr_op)
def _qr(s: Source) -> bool:
    s.main("Qr", T=s.dtype(), full_matrices=s.node.params.get("full_matrices", False))
    return True


# ---- Fourier transforms ----------------------------------------------------------------------------------------------

_RANKS = {1: "", 2: "2D", 3: "3D"}


def _lengths(s: Source) -> Any:
    """The sizes of the axes that are transformed; None if they are not known."""
    dims = s.shape()
    last = None if dims is None else dims[len(dims) - s.node.params["rank"] :]
    return None if last is None or None in last else last


@way(fft.fft_op)
def _fft(s: Source) -> bool:
    params, t = s.node.params, s.dtype()
    inverse, kind = params["inverse"], f"{'I' if params['inverse'] else ''}FFT{_RANKS[params['rank']]}"
    if params["scaled"] == inverse:
        s.main(kind, Tcomplex=t)
        return True
    lengths = _lengths(s)
    if lengths is None:
        return False
    whole = math.prod(lengths)
    factor = s.const("count", whole if inverse else 1 / whole, t.numpy)
    s.main("Mul", [s.step("transform", kind, s.inputs, Tcomplex=t), factor], T=t)
    return True


@way(fft.rfft_op, fft.irfft_op)
def _real_fft(s: Source) -> bool:
    params, lengths, back = s.node.params, _lengths(s), s.node.op is fft.irfft_op
    if params.get("lengths") is not None:
        lengths = params["lengths"]
    elif lengths is not None and back:
        lengths = [*lengths[:-1], 2 * (lengths[-1] - 1)]
    if lengths is None or None in lengths:
        return False
    kinds = {"Treal": s.node.outputs[0].dtype, "Tcomplex": s.dtype()}
    kinds = kinds if back else {"Treal": s.dtype(), "Tcomplex": s.node.outputs[0].dtype}
    kind = f"{'IRFFT' if back else 'RFFT'}{_RANKS[params['rank']]}"
    s.main(kind, [s.inputs[0], s.const("fft_length", list(lengths))], **kinds)
    return True
