"""Functions with NumPy's arguments: ``tf.keras.ops``.

What TensorFlow has under the same name with the same arguments is that; what NumPy has is NumPy's, with tensors for
arrays (`dualgrad.extras.numpy_names`). Here are those that differ from both.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualgrad.extras import numpy_names
from dualgrad.keras import losses as _losses
from dualgrad.keras import settings
from engine.core import nest
from engine.core.dtypes import FLOATING, DType, as_dtype, float32, int32
from engine.core.value import Value, shape_of
from engine.runtime.public_names import named
from tape_api.control_flow import flow, loops
from tape_api.keras import activations
from tape_api.keras_host import host
from tape_api.library import root as tf

_SIZES = {name: i for i, name in enumerate(("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32"))}


def convert_to_tensor(x: Any, dtype: Any = None, sparse: Any = None, ragged: Any = None) -> Any:
    """A tensor of an array, number, list or tensor, in a dtype if one is given."""
    return tf.convert_to_tensor(x) if dtype is None else cast(tf.convert_to_tensor(x), dtype)


array = convert_to_tensor


def convert_to_numpy(x: Any) -> np.ndarray:
    """An array."""
    return np.array(x)


def cast(x: Any, dtype: Any) -> Any:
    """In another dtype."""
    return tf.cast(x, dtype)


def is_tensor(x: Any) -> bool:
    """Whether it is a tensor."""
    return isinstance(x, Value)


def shape(x: Any) -> tuple[Any, ...]:
    """The shape as a tuple: numbers, and tensors for what is not known."""
    x = tf.convert_to_tensor(x) if not isinstance(x, Value) else x
    known = shape_of(x)
    if known is None:
        raise ValueError("keras.ops.shape: the rank of the argument must be known")
    return tuple(tf.shape(x)[i] if size is None else size for i, size in enumerate(known))


def dtype(x: Any) -> str:
    """The name of the dtype."""
    return str(tf.convert_to_tensor(x).dtype.name)


def _common(*xs: Any) -> list[Any]:
    """Operands in one dtype: floating over integer, the larger over the smaller; Python numbers adapt."""
    values = [x if isinstance(x, (bool, int, float)) else tf.convert_to_tensor(x) for x in xs]
    dtypes = [x.dtype for x in values if isinstance(x, Value)]
    if not dtypes:
        dtypes = [float32 if builtins.any(isinstance(x, float) for x in xs) else int32]
    wide: DType = builtins.max(dtypes, key=lambda d: _SIZES.get(d.name, len(_SIZES)))
    if wide not in FLOATING and builtins.any(isinstance(x, float) for x in xs):
        wide = float32
    return [tf.cast(x, wide) if isinstance(x, Value) else tf.constant(x, wide) for x in values]


def _floating(x: Any) -> Any:
    """Integers and bools in the default floating dtype."""
    x = tf.convert_to_tensor(x)
    return tf.cast(x, settings.floatx()) if x.dtype.is_integer or x.dtype.name == "bool" else x


def _binary(path: str) -> Callable[[Any, Any], Any]:
    def function(x1: Any, x2: Any) -> Any:
        return _found(path)(*_common(x1, x2))

    return _named(function, path)


def _unary(path: str) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        return _found(path)(_floating(x))

    return _named(function, path)


def _along(path: str, floating: bool = False) -> Callable[..., Any]:
    def function(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return _found(path)(_floating(x) if floating else tf.convert_to_tensor(x), axis=axis, keepdims=keepdims)

    return _named(function, path)


def _named(function: Callable[..., Any], path: str) -> Callable[..., Any]:
    return named(function, path.rpartition(".")[2], f"``tf.{path}``, with NumPy's arguments.")


def _found(path: str) -> Callable[..., Any]:
    return functools.reduce(getattr, path.split("."), tf)


add, subtract, multiply, maximum, minimum = builtins.map(_binary, ("add", "subtract", "multiply", "maximum", "minimum"))
greater, greater_equal, less, less_equal = builtins.map(_binary, ("greater", "greater_equal", "less", "less_equal"))
equal, not_equal, mod, floor_divide = builtins.map(_binary, ("equal", "not_equal", "math.floormod", "math.floordiv"))
power, matmul, arctan2, divide_no_nan = builtins.map(_binary, ("pow", "matmul", "atan2", "math.divide_no_nan"))
exp, log, sqrt, rsqrt, sin, cos, tan = builtins.map(
    _unary, ("exp", "math.log", "sqrt", "math.rsqrt", "sin", "cos", "tan")
)
tanh, sigmoid, erf, expm1, log1p = builtins.map(_unary, ("tanh", "sigmoid", "math.erf", "math.expm1", "math.log1p"))
arcsin, arccos, arctan, sinh, cosh = builtins.map(_unary, ("asin", "acos", "atan", "sinh", "cosh"))
sum, prod, max, min, amax, amin = builtins.map(
    _along, ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_max", "reduce_min")
)
any, all = _along("reduce_any"), _along("reduce_all")
mean, var, std, logsumexp = (
    _along(f"math.reduce_{name}", floating=True) for name in ("mean", "variance", "std", "logsumexp")
)


def divide(x1: Any, x2: Any) -> Any:
    """The quotient; that of integers is floating."""
    x1, x2 = _common(x1, x2)
    return tf.divide(_floating(x1), _floating(x2))


true_divide = divide


def log10(x: Any) -> Any:
    """The logarithm to base 10."""
    return log(x) / math.log(10.0)


def log2(x: Any) -> Any:
    """The logarithm to base 2."""
    return log(x) / math.log(2.0)


def moments(x: Any, axes: Any, keepdims: bool = False, synchronized: bool = False) -> tuple[Any, Any]:
    """Mean and variance over some axes."""
    return tf.nn.moments(_floating(x), axes, keepdims=keepdims)


def _index(path: str) -> Callable[..., Any]:
    def function(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
        x = tf.convert_to_tensor(x)
        found = _found(path)(tf.reshape(x, [-1]) if axis is None else x, axis=axis or 0, output_type=tf.int32)
        if not keepdims:
            return found
        return tf.reshape(found, [1] * len(x.shape)) if axis is None else tf.expand_dims(found, axis)

    return _named(function, path)


argmax, argmin = _index("argmax"), _index("argmin")


def argsort(x: Any, axis: int | None = -1) -> Any:
    """Where the elements are in ascending order."""
    return tf.argsort(tf.reshape(x, [-1]) if axis is None else x, axis=-1 if axis is None else axis, stable=True)


def reshape(x: Any, newshape: Any) -> Any:
    """In another shape."""
    return tf.reshape(x, newshape)


def transpose(x: Any, axes: Any = None) -> Any:
    """The axes in another order, by default the opposite one."""
    return tf.transpose(x, axes)


def concatenate(xs: Sequence[Any], axis: int = 0) -> Any:
    """One after the other."""
    return tf.concat(_common(*xs), axis)


def append(x1: Any, x2: Any, axis: int | None = None) -> Any:
    """One after the other, as vectors if there is no axis."""
    parts = [tf.reshape(x, [-1]) for x in (x1, x2)] if axis is None else [x1, x2]
    return concatenate(parts, axis or 0)


def stack(x: Sequence[Any], axis: int = 0) -> Any:
    """Tensors along a new axis."""
    return tf.stack(_common(*x), axis)


def split(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """So many equal parts, or parts that end at some indices."""
    if isinstance(indices_or_sections, int):
        return tf.split(x, indices_or_sections, axis)
    ends = [0, *indices_or_sections, shape(x)[axis]]
    return tf.split(x, [b - a for a, b in itertools.pairwise(ends)], axis)


def where(condition: Any, x1: Any = None, x2: Any = None) -> Any:
    """Elements of one or the other; with a condition alone, the indices where it holds, an array per axis."""
    condition = tf.cast(condition, "bool")
    if x1 is None and x2 is None:
        return nonzero(condition)
    return tf.where(condition, *_common(x1, x2))


def nonzero(x: Any) -> tuple[Any, ...]:
    """The indices of the elements that are not zero, a vector for each axis."""
    return tuple(tf.cast(i, "int32") for i in tf.unstack(tf.transpose(tf.where(tf.cast(x, "bool")))))


def clip(x: Any, x_min: Any, x_max: Any) -> Any:
    """Numbers below and above two bounds are these."""
    return tf.clip_by_value(x, x_min, x_max)


def take(x: Any, indices: Any, axis: int | None = None) -> Any:
    """Elements along an axis, or of all as one vector."""
    x = tf.reshape(x, [-1]) if axis is None else tf.convert_to_tensor(x)
    axis, indices = axis or 0, tf.convert_to_tensor(indices)
    return tf.gather(x, tf.where(indices < 0, indices + tf.cast(tf.shape(x)[axis], indices.dtype), indices), axis=axis)


def take_along_axis(x: Any, indices: Any, axis: int | None = None) -> Any:
    """An element for each index, along an axis."""
    if axis is None:
        return tf.gather(tf.reshape(x, [-1]), tf.reshape(indices, [-1]))
    x, rank = tf.convert_to_tensor(x), len(x.shape)
    order = [i for i in range(rank) if i != axis % rank] + [axis % rank]
    back = [order.index(i) for i in range(rank)]
    found = tf.gather(tf.transpose(x, order), tf.transpose(indices, order), batch_dims=rank - 1)
    return tf.transpose(found, back)


def one_hot(x: Any, num_classes: int, axis: int = -1, dtype: Any = None, sparse: bool = False) -> Any:
    """Rows of zeros with a one."""
    return tf.one_hot(tf.cast(x, "int32"), num_classes, axis=axis, dtype=as_dtype(dtype or settings.floatx()))


def multi_hot(inputs: Any, num_classes: int, axis: int = -1, dtype: Any = None, sparse: bool = False) -> Any:
    """Rows of zeros with ones."""
    return tf.reduce_max(one_hot(inputs, num_classes, axis, dtype), axis=-2)


def zeros(shape: Any, dtype: Any = None) -> Any:
    """Zeros."""
    return tf.zeros(shape, as_dtype(dtype or settings.floatx()))


def ones(shape: Any, dtype: Any = None) -> Any:
    """Ones."""
    return tf.ones(shape, as_dtype(dtype or settings.floatx()))


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    """One number everywhere."""
    return tf.fill(shape, convert_to_tensor(fill_value, dtype))


def full_like(x: Any, fill_value: Any, dtype: Any = None) -> Any:
    """One number everywhere, in the shape of a tensor."""
    x = tf.convert_to_tensor(x)
    return tf.fill(tf.shape(x), tf.cast(fill_value, as_dtype(dtype) if dtype else x.dtype))


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Any:
    """Ones on a diagonal."""
    return tf.constant(np.eye(N, M, k), as_dtype(dtype or settings.floatx()))


def identity(n: int, dtype: Any = None) -> Any:
    """The identity matrix."""
    return eye(n, dtype=dtype)


def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Any:
    """Numbers at equal distances; integers are int32."""
    start, stop = (0, start) if stop is None else (start, stop)
    step = 1 if step is None else step
    return tf.range(start, stop, step) if dtype is None else tf.cast(tf.range(start, stop, step), dtype)


def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    """So many numbers from one to another."""
    start, stop = (_floating(x) for x in _common(start, stop))
    stop = stop if endpoint else stop - (stop - start) / num
    return cast(tf.linspace(start, stop, num, axis=axis), dtype or start.dtype)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm over some axes, by default the Euclidean one."""
    return tf.norm(_floating(x), "euclidean" if ord is None else ord, axis=axis, keepdims=keepdims)


def dot(x1: Any, x2: Any) -> Any:
    """The sum of products over the last axis of one and the last but one of the other."""
    x1, x2 = _common(x1, x2)
    if not len(x1.shape) or not len(x2.shape):
        return x1 * x2
    return tf.tensordot(x1, x2, [[len(x1.shape) - 1], [len(x2.shape) - 2 if len(x2.shape) > 1 else 0]])


def cumsum(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """The sums so far."""
    x = tf.cast(x, dtype) if dtype else tf.convert_to_tensor(x)
    return tf.cumsum(tf.reshape(x, [-1]), axis=0) if axis is None else tf.cumsum(x, axis=axis)


def cumprod(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """The products so far."""
    x = tf.cast(x, dtype) if dtype else tf.convert_to_tensor(x)
    return tf.math.cumprod(tf.reshape(x, [-1]), axis=0) if axis is None else tf.math.cumprod(x, axis=axis)


def top_k(x: Any, k: int, sorted: bool = True) -> Any:
    """The largest elements, and where they are."""
    return tf.math.top_k(x, k, sorted)


def bincount(x: Any, weights: Any = None, minlength: int = 0, sparse: bool = False) -> Any:
    """How often each number occurs."""
    return tf.math.bincount(x, weights=weights, minlength=minlength)


def normalize(x: Any, axis: int = -1, order: Any = 2, epsilon: float | None = None) -> Any:
    """Divided by the norm along an axis."""
    x, epsilon = _floating(x), settings.epsilon() if epsilon is None else epsilon
    if order == 2:
        return x * tf.math.rsqrt(tf.maximum(tf.reduce_sum(tf.square(x), axis=axis, keepdims=True), epsilon**2))
    return x / tf.maximum(tf.norm(x, order, axis=axis, keepdims=True), epsilon)


def scatter(indices: Any, values: Any, shape: Any) -> Any:
    """Values at indices of a tensor that is zero elsewhere."""
    return tf.scatter_nd(indices, values, shape)


def scatter_update(inputs: Any, indices: Any, updates: Any) -> Any:
    """With other values at some indices."""
    return tf.tensor_scatter_nd_update(inputs, indices, updates)


def slice(inputs: Any, start_indices: Any, shape: Any) -> Any:
    """A part of a shape, from an index on."""
    return tf.slice(inputs, start_indices, shape)


def slice_update(inputs: Any, start_indices: Any, updates: Any) -> Any:
    """With another part, from an index on."""
    inputs, updates = tf.convert_to_tensor(inputs), tf.convert_to_tensor(updates)
    axes = [tf.range(n) + s for n, s in zip(shape(updates), tf.unstack(start_indices), strict=True)]
    return tf.tensor_scatter_nd_update(inputs, tf.stack(tf.meshgrid(*axes, indexing="ij"), -1), updates)


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """The result of one of two functions."""
    return flow.cond(pred, true_fn, false_fn)


def while_loop(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, maximum_iterations: int | None = None
) -> Any:
    """`body` as long as `cond` holds."""
    is_tuple = isinstance(loop_vars, (tuple, list))
    given = tuple(loop_vars) if is_tuple else (loop_vars,)

    def step(*xs: Any) -> tuple[Any, ...]:
        new = body(*xs)
        return tuple(new) if isinstance(new, (tuple, list)) else (new,)

    found = tuple(loops.while_loop(cond, step, given, maximum_iterations=maximum_iterations))
    return found if is_tuple else found[0]


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any) -> Any:
    """``body_fun(i, value)`` for all numbers from `lower` to below `upper`."""

    def step(i: Any, value: Any) -> tuple[Any, Any]:
        return i + 1, body_fun(i, value)

    return loops.while_loop(lambda i, _: i < upper, step, (tf.convert_to_tensor(lower), init_val))[1]


def scan(
    f: Callable[..., Any], init: Any, xs: Any = None, length: int | None = None, reverse: bool = False, unroll: Any = 1
) -> tuple[Any, Any]:
    """``state, result = f(state, x)`` for each row: the last state, and the results stacked."""
    rows = tf.range(length) if xs is None else nest.map_structure(tf.convert_to_tensor, xs)
    last, found = loops.scanned(lambda s, x: f(s, None if xs is None else x), init, rows, reverse)
    return last, nest.map_structure(lambda x: tf.reverse(x, [0]), found) if reverse else found


def map(f: Callable[[Any], Any], xs: Any) -> Any:
    """``f(row)`` for each row."""
    return loops.scanned(lambda s, x: (s, f(x)), tf.constant(0), xs)[1]


def categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Any:
    """That of one-hot labels with probabilities or logits."""
    return host.public(_losses.categorical_crossentropy)(target, output, from_logits=from_logits, axis=axis)


def sparse_categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Any:
    """That of integer labels with probabilities or logits."""
    return host.public(_losses.sparse_categorical_crossentropy)(target, output, from_logits=from_logits, axis=axis)


def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Any:
    """That of each label in [0, 1] with a probability or logit."""
    output = tf.convert_to_tensor(output)
    target = tf.cast(target, output.dtype)
    if from_logits:
        return tf.nn.sigmoid_cross_entropy_with_logits(labels=target, logits=output)
    p = tf.clip_by_value(output, settings.epsilon(), 1 - settings.epsilon())
    return -(target * tf.math.log(p) + (1 - target) * tf.math.log(1 - p))


_TENSORFLOWS = ("abs", "absolute", "square", "sign", "floor", "ceil", "round", "negative", "reciprocal", "isnan",
                "isinf", "isfinite", "logical_and", "logical_or", "logical_not", "logical_xor", "expand_dims",
                "squeeze", "tile", "repeat", "einsum", "tensordot", "zeros_like", "ones_like", "broadcast_to", "sort",
                "reverse", "unstack", "cholesky", "inv", "det", "qr", "svd", "eigh", "solve", "cross", "segment_sum",
                "segment_max", "in_top_k", "custom_gradient", "vectorized_map", "stop_gradient", "conj", "real",
                "imag", "angle", "meshgrid", "searchsorted")  # fmt: skip
_PLACES = ("", "math.", "linalg.", "nn.")
_ACTIVATIONS = ("relu", "relu6", "elu", "selu", "gelu", "silu", "swish", "softmax", "log_softmax", "softplus",
                "softsign", "leaky_relu", "hard_sigmoid", "hard_silu", "mish")  # fmt: skip
_OTHERS = {"absolute": "abs", "negative": "negative", "inv": "linalg.inv", "det": "linalg.det", "ceil": "math.ceil",
           "isnan": "math.is_nan", "isinf": "math.is_inf", "isfinite": "math.is_finite"}  # fmt: skip


_NUMPYS = ("arccosh", "arcsinh", "arctanh", "average", "corrcoef", "diag", "diagonal", "diff", "flip",
           "floor", "hstack", "inner", "kron", "median", "moveaxis", "nan_to_num", "outer", "pad", "ravel", "roll",
           "swapaxes", "trace", "tri", "tril", "triu", "trunc", "vdot", "vstack", "digitize", "histogram",
           "logaddexp", "quantile", "isclose", "bitwise_and", "bitwise_or", "bitwise_xor", "size", "ndim")  # fmt: skip


def __dir__() -> list[str]:
    return [*__all__, *_TENSORFLOWS, *_NUMPYS, *_ACTIVATIONS, "image"]


def __getattr__(name: str) -> Any:
    if name == "image":
        return tf.image
    if name in _ACTIVATIONS:
        return getattr(activations, name)
    if name in _TENSORFLOWS:
        for place in [_OTHERS[name]] if name in _OTHERS else [f"{place}{name}" for place in _PLACES]:
            try:
                return _found(place)
            except AttributeError:
                continue
    if name in _NUMPYS:
        return numpy_names.__getattr__(name)
    raise AttributeError(f"module 'tf.keras.ops' has no attribute {name!r}: use the function of tf that does it")


__all__ = [
    name
    for name, value in list(globals().items())
    if callable(value) and not name.startswith("_") and getattr(value, "__module__", "") == __name__
]
