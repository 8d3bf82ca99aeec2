"""The one table of TensorFlow 1's names: which engine function or op each stands for, and what its arguments were called.

A row is ``name: function`` or ``name: Old(function, ...)`` where TensorFlow 1 spelled arguments differently. Dots open
namespaces (``nn.relu``). Everything is lifted by `engine.api.lift`; there is no second implementation of anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.api import lift
from engine.ops import arithmetic, compare, complexes, einsum, explog, extrema, gather, linalg, reduce, scan, stats, trig
from engine.ops import creation, losses, nn, shape, slicing, special
from graph_api.convert import finish
from graph_api.legacy import legacy


@dataclass(frozen=True)
class Old:
    """An engine function with TensorFlow 1's arguments; see `graph_api.legacy.legacy`."""

    function: Callable[..., Any]
    renames: Mapping[str, str] = field(default_factory=dict)
    order: tuple[str, ...] | None = None
    ignored: tuple[str, ...] = ()


_REDUCTION = {"keep_dims": "keepdims", "reduction_indices": "axis"}


def _reduction(function: Callable[..., Any]) -> Old:
    order = ("input_tensor", "axis", "keepdims", "name", "reduction_indices", "keep_dims")
    return Old(function, _REDUCTION, order)


_REDUCE = {
    "reduce_sum": _reduction(reduce.reduce_sum),
    "reduce_mean": _reduction(reduce.reduce_mean),
    "reduce_prod": _reduction(reduce.reduce_prod),
    "reduce_max": _reduction(extrema.reduce_max),
    "reduce_min": _reduction(extrema.reduce_min),
    "reduce_all": _reduction(reduce.reduce_all),
    "reduce_any": _reduction(reduce.reduce_any),
    "reduce_logsumexp": _reduction(reduce.reduce_logsumexp),
    "reduce_std": stats.reduce_std,
    "reduce_variance": stats.reduce_variance,
    "reduce_euclidean_norm": stats.reduce_euclidean_norm,
    "count_nonzero": Old(
        reduce.count_nonzero,
        {**_REDUCTION, "input_tensor": "input"},
        ("input", "axis", "keepdims", "dtype", "name", "reduction_indices", "keep_dims"),
    ),
    "cumsum": scan.cumsum,
    "cumprod": scan.cumprod,
    "cumulative_logsumexp": scan.cumulative_logsumexp,
    "argmax": Old(extrema.argmax, {"dimension": "axis"}, ("input", "axis", "name", "dimension", "output_type")),
    "argmin": Old(extrema.argmin, {"dimension": "axis"}, ("input", "axis", "name", "dimension", "output_type")),
    "add_n": reduce.add_n,
}

_MATH = {
    "abs": complexes.abs,
    "add": arithmetic.add,
    "subtract": arithmetic.subtract,
    "multiply": arithmetic.multiply,
    "divide": arithmetic.truediv,
    "truediv": arithmetic.truediv,
    "floordiv": arithmetic.floordiv,
    "floormod": arithmetic.mod,
    "mod": arithmetic.mod,
    "divide_no_nan": arithmetic.divide_no_nan,
    "negative": arithmetic.negative,
    "reciprocal": arithmetic.reciprocal,
    "square": arithmetic.square,
    "squared_difference": arithmetic.squared_difference,
    "maximum": arithmetic.maximum,
    "minimum": arithmetic.minimum,
    "sign": complexes.sign,
    "floor": arithmetic.floor,
    "ceil": arithmetic.ceil,
    "round": arithmetic.round,
    "rint": arithmetic.rint,
    "exp": explog.exp,
    "expm1": explog.expm1,
    "log": explog.log,
    "log1p": explog.log1p,
    "sqrt": explog.sqrt,
    "rsqrt": explog.rsqrt,
    "pow": explog.pow,
    "sin": trig.sin,
    "cos": trig.cos,
    "tan": trig.tan,
    "asin": trig.asin,
    "acos": trig.acos,
    "atan": trig.atan,
    "atan2": trig.atan2,
    "sinh": trig.sinh,
    "cosh": trig.cosh,
    "tanh": trig.tanh,
    "asinh": trig.asinh,
    "acosh": trig.acosh,
    "atanh": trig.atanh,
    "equal": compare.equal,
    "not_equal": compare.not_equal,
    "less": compare.less,
    "less_equal": compare.less_equal,
    "greater": compare.greater,
    "greater_equal": compare.greater_equal,
    "logical_and": compare.logical_and,
    "logical_or": compare.logical_or,
    "logical_xor": compare.logical_xor,
    "logical_not": compare.logical_not,
    "is_nan": compare.is_nan,
    "is_inf": compare.is_inf,
    "is_finite": compare.is_finite,
    "real": complexes.real,
    "imag": complexes.imag,
    "conj": complexes.conj,
    "angle": complexes.angle,
    "erf": special.erf,
    "erfc": special.erfc,
    "erfinv": special.erfinv,
    "ndtri": special.ndtri,
    "lgamma": special.lgamma,
    "digamma": special.digamma,
    "polygamma": special.polygamma,
    "zeta": special.zeta,
    "lbeta": special.lbeta,
    "betainc": special.betainc,
    "igamma": special.igamma,
    "igammac": special.igammac,
    "xlogy": special.xlogy,
    "xlog1py": special.xlog1py,
    "xdivy": special.xdivy,
    "sigmoid": nn.sigmoid,
    "softplus": nn.softplus,
    "softsign": nn.softsign,
    "log_sigmoid": nn.log_sigmoid,
    "l2_normalize": Old(nn.l2_normalize, {"dim": "axis"}, ("x", "axis", "epsilon", "name", "dim")),
    "zero_fraction": nn.zero_fraction,
    "accumulate_n": Old(reduce.add_n, ignored=("shape", "tensor_dtype")),
    **_REDUCE,
}

_ARRAYS = {
    "cast": compare.cast,
    "complex": complexes.complex,
    "where": Old(compare.where),
    "where_v2": compare.where,
    "reshape": shape.reshape,
    "expand_dims": Old(shape.expand_dims, {"dim": "axis"}, ("input", "axis", "name", "dim")),
    "squeeze": Old(shape.squeeze, {"squeeze_dims": "axis"}, ("input", "axis", "name", "squeeze_dims")),
    "transpose": Old(shape.transpose, order=("a", "perm", "name", "conjugate")),
    "broadcast_to": shape.broadcast_to,
    "concat": shape.concat,
    "stack": shape.stack,
    "unstack": shape.unstack,
    "split": shape.split,
    "tile": shape.tile,
    "pad": Old(shape.pad, order=("tensor", "paddings", "mode", "name", "constant_values")),
    "shape": Old(shape.shape, order=("input", "name", "out_type")),
    "shape_n": shape.shape_n,
    "size": Old(shape.size, order=("input", "name", "out_type")),
    "rank": shape.rank,
    "reverse": shape.reverse,
    "roll": shape.roll,
    "repeat": Old(shape.repeat, order=("input", "repeats", "axis", "name")),
    "meshgrid": shape.meshgrid,
    "identity": shape.identity,
    "identity_n": shape.identity_n,
    "stop_gradient": shape.stop_gradient,
    "slice": slicing.slice,
    "strided_slice": slicing.strided_slice,
    "boolean_mask": Old(slicing.boolean_mask, order=("tensor", "mask", "name", "axis")),
    "gather": Old(
        gather.gather,
        order=("params", "indices", "validate_indices", "name", "axis", "batch_dims"),
        ignored=("validate_indices",),
    ),
    "zeros_like": Old(creation.zeros_like, {"tensor": "input"}, ("input", "dtype", "name", "optimize"), ("optimize",)),
    "ones_like": Old(creation.ones_like, {"tensor": "input"}, ("input", "dtype", "name", "optimize"), ("optimize",)),
    "zeros": creation.zeros,
    "ones": creation.ones,
    "fill": creation.fill,
    "range": creation.range,
    "linspace": creation.linspace,
    "eye": creation.eye,
    "one_hot": creation.one_hot,
}

_LINALG = {
    "matmul": Old(linalg.matmul, ignored=("a_is_sparse", "b_is_sparse")),
    "matvec": linalg.matvec,
    "tensordot": einsum.tensordot,
    "einsum": einsum.einsum,
    "norm": Old(stats.norm, {"keep_dims": "keepdims"}, ("tensor", "ord", "axis", "keepdims", "name", "keep_dims")),
    "trace": linalg.trace,
    "cross": linalg.cross,
    "matrix_transpose": linalg.matrix_transpose,
    "adjoint": linalg.adjoint,
}
