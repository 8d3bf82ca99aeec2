"""Activations and softmax.

At kinks derivatives are TensorFlow's: relu 0, leaky_relu alpha, elu 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.arguments import normalize_axis
from engine.core.aval import Aval
from engine.core.batching import axis_param
from engine.core.dtypes import FLOATING, REAL, float32
from engine.core.kinds import check_dtype, elementwise, general, real_elementwise
from engine.core.operands import Operand, operands
from engine.core.sparsity import along
from engine.core.value import dtype_of
from engine.ops.arithmetic import reciprocal, square
from engine.ops.axis_args import single_axis
from engine.ops.compare import cast, cast_like, where
from engine.ops.creation import ones_like
from engine.ops.explog import by_tails, exp, expm1_slope, in_single
from engine.ops.joining import concat
from engine.ops.reduce import as_axes, balanced, change_of_shares, reduce_sum_op
from engine.ops.trig import tanh
from engine.runtime import elementary
from engine.runtime.errors import ShapeError
from engine.runtime.lazy_scipy import Later

_special = Later("engine.ops.special", modules=False)

# ---- rectifiers ------------------------------------------------------------------------------------------------------

relu = elementwise(
    "relu",
    lambda features: np.maximum(features, 0),
    (lambda out, x: cast_like(out > 0, x),),
    args=("features",),
    accepts=REAL,
    selects=True,
    doc="``max(features, 0)``; the derivative at 0 is 0.",
)
relu6 = elementwise(
    "relu6",
    lambda features: np.minimum(np.maximum(features, 0), 6),
    (lambda out, x: cast_like((out > 0) & (out < 6), x),),
    args=("features",),
    accepts=REAL,
    selects=True,
    doc="``min(max(features, 0), 6)``; the derivative at 0 and 6 is 0.",
)
leaky_relu_op = real_elementwise(
    "leaky_relu_op",
    lambda features, *, alpha: np.where(features > 0, features, features * alpha),
    (lambda out, x, *, alpha: where(x > 0, ones_like(x), alpha * ones_like(x)),),
    type="LeakyRelu",
    args=("features",),
    doc="features where positive, else alpha times features.",
)


@operands("features")
def leaky_relu(features: Any, alpha: float = 0.2) -> Operand:
    """`features` where positive, else ``alpha * features``; the derivative at 0 is `alpha`. Integers become float32.

    Examples
    --------
    >>> leaky_relu(np.array([-1.0, 2.0]))
    array([-0.2,  2. ])
    """
    if dtype_of(features).is_integer:
        features = cast(features, float32)
    return leaky_relu_op(features, alpha=float(alpha))


elu = real_elementwise(
    "elu",
    lambda features: np.where(features > 0, features, elementary.expm1(features)),
    (lambda out, x: where(out < 0, expm1_slope(out, x), ones_like(out)),),
    args=("features",),
    doc="features where positive, else ``exp(features) - 1``.",
)

# Klambauer et al., "Self-normalizing neural networks", 2017
SELU_SCALE = 1.0507009873554804934193349852946
SELU_SCALE_ALPHA = 1.7580993408473768599402175208123


selu = real_elementwise(
    "selu",
    lambda features: np.where(features > 0, SELU_SCALE * features, SELU_SCALE_ALPHA * elementary.expm1(features)),
    (lambda out, x: where(out < 0, selu_slope(out, x), SELU_SCALE * ones_like(out)),),
    args=("features",),
    doc="Scaled `elu`, whose output keeps mean 0 and variance 1 through many layers.",
)

selu_slope = elementwise(
    "selu_slope",
    by_tails(
        lambda out: out + SELU_SCALE_ALPHA, lambda out, x: SELU_SCALE_ALPHA * elementary.exp(x), near=-SELU_SCALE_ALPHA
    ),
    (1, None),
    args=("out", "x"),
    strict=False,
    doc="The derivative of `selu` below 0, for its value there, which may have been rounded to its least one.",
)


@operands("features")
def crelu(features: Any, axis: Any = -1) -> Operand:
    """`relu` of `features` and of ``-features``, joined along an axis.

    Examples
    --------
    >>> crelu(np.array([-1.0, 2.0]))
    array([0., 2., 1., 0.])
    """
    return concat([relu(features), relu(-features)], axis)


# ---- smooth activations ----------------------------------------------------------------------------------------------


def _sigmoid_kernel(x: Any) -> Operand:
    return np.reciprocal(1 + np.exp(np.negative(x))) if x.dtype.kind == "c" else in_single(elementary.sigmoid, x)


def softplus_kernel(x: Any) -> Operand:
    """``log(1 + exp(x))`` of an array."""
    return in_single(elementary.softplus, x)


sigmoid = elementwise(
    "sigmoid", _sigmoid_kernel, (lambda out, x: sigmoid_slope(out, x),), doc="``1 / (1 + exp(-x))``, without overflow."
)
sigmoid_slope = elementwise(
    "sigmoid_slope",
    by_tails(lambda out: out * (1 - out), lambda out, x: elementary.exp(np.negative(x)) * np.square(out), near=1.0),
    (lambda slope, out, x: -tanh(0.5 * x), None),
    args=("out", "x"),
    strict=False,
    doc="``out * (1 - out)``, for ``out = sigmoid(x)`` that may have been rounded to 1.",
)
log_sigmoid = real_elementwise(
    "log_sigmoid",
    lambda x: in_single(elementary.log_sigmoid, x),
    (lambda out, x: sigmoid(-x),),
    doc="Logarithm of `sigmoid`, without overflow.",
)
softplus = real_elementwise(
    "softplus",
    softplus_kernel,
    (lambda out, x: sigmoid(x),),
    args=("features",),
    doc="``log(1 + exp(features))``, without overflow.",
)
softsign = real_elementwise(
    "softsign",
    lambda features: features / (1 + np.absolute(features)),
    (lambda out, x: square(reciprocal(1 + abs(x))),),
    args=("features",),
    doc="``features / (1 + abs(features))``.",
)


def _silu_partial(out: Any, x: Any) -> Operand:
    gate = sigmoid(x)
    return gate + x * sigmoid_slope(gate, x)


silu_op = real_elementwise(
    "silu_op",
    lambda features: features * _sigmoid_kernel(features),
    (_silu_partial,),
    type="Silu",
    args=("features",),
    doc="``features * sigmoid(features)``.",
)


@operands("features", "beta")
def silu(features: Any, beta: Any = 1.0) -> Operand:
    """``features * sigmoid(beta * features)``, also known as swish.

    Examples
    --------
    >>> silu(np.array([0.0, 100.0]))
    array([  0., 100.])
    """
    if isinstance(beta, float) and beta == 1:
        return silu_op(features)
    return features * sigmoid(beta * features)


swish = silu


def _tanh_argument(x: Any) -> Operand:
    return math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))


def _gelu_kernel(features: Any, *, approximate: bool) -> Operand:
    if approximate:
        # the logistic function keeps the digits that 1 + tanh loses far below
        return features * _sigmoid_kernel(2 * _tanh_argument(features))
    return features * _special.ndtr.kernel(features)


def _gelu_partial(out: Any, x: Any, *, approximate: bool) -> Operand:
    if not approximate:
        return _special.ndtr(x) + x * exp(-0.5 * square(x)) * (1 / math.sqrt(2 * math.pi))
    argument = 2 * _tanh_argument(x)
    gate = sigmoid(argument)
    slope = 2 * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * square(x))
    return gate + x * sigmoid_slope(gate, argument) * slope


gelu_op = real_elementwise(
    "gelu_op", _gelu_kernel, (_gelu_partial,), type="Gelu", args=("features",), doc="See `gelu`."
)


@operands("features")
def gelu(features: Any, approximate: bool = False) -> Operand:
    """`features` times the normal distribution function of `features`.

    Parameters
    ----------
    features : value, floating
    approximate : bool
        Use the approximation by tanh of Hendrycks and Gimpel, "Gaussian error linear units", 2016.

    Examples
    --------
    >>> gelu(np.array([0.0, 100.0]))
    array([  0., 100.])
    """
    return gelu_op(features, approximate=bool(approximate))


# ---- softmax ---------------------------------------------------------------------------------------------------------


def _along_axis(name: str) -> Callable[..., Aval]:
    """Abstract evaluation of an op that works along one axis, or several, and keeps shape and dtype."""

    def abstract(logits: Aval, *, axis: Any) -> Aval:
        check_dtype(name, "logits", logits, FLOATING)
        if logits.shape is not None:
            if not logits.shape:
                raise ShapeError(f"{name}: argument `logits` must have at least one dimension, got a scalar")
            for one in as_axes(axis) or ():
                normalize_axis(name, one, len(logits.shape))
        return Aval(logits.shape, logits.dtype)

    return abstract


def below_largest(logits: Any, axis: Any) -> np.ndarray:
    """An array less its largest element along an axis, for kernels."""
    if not logits.ndim:
        raise IndexError("a scalar has no axis")  # the abstract evaluation says it in full
    return np.subtract(logits, np.maximum.reduce(logits, axis=axis, keepdims=True, initial=-np.inf))


def _softmax_kernel(logits: Any, *, axis: Any) -> np.ndarray:
    out = below_largest(logits, axis)
    elementary.exp(out, out=out)
    out /= np.add.reduce(out, axis=axis, keepdims=True)
    return out


def _log_softmax_kernel(logits: Any, *, axis: Any) -> np.ndarray:
    out = below_largest(logits, axis)
    out -= elementary.log(np.add.reduce(elementary.exp(out), axis=axis, keepdims=True))
    return out


def _log_softmax_vjp(ct: Any, out: Any, x: Any, *, axis: Any) -> Operand:
    shares = exp(out)
    change = ct - shares * reduce_sum_op(ct, axis=as_axes(axis), keepdims=True)
    return balanced(change, shares, axis=as_axes(axis), back=False)


def _log_softmax_jvp(t: Any, shares: Any, axis: Any) -> Operand:
    change = t - reduce_sum_op(t * shares, axis=as_axes(axis), keepdims=True)
    large = shares > 0.9
    exact = balanced(shares * change, shares, axis=as_axes(axis), back=False)
    return where(large, exact / where(large, shares, ones_like(shares)), change)


softmax_op = general(
    "softmax_op",
    _softmax_kernel,
    _along_axis("softmax"),
    vjp=(change_of_shares,),
    jvp=(change_of_shares,),
    batch=axis_param,
    type="Softmax",
    args=("logits",),
    sparsity=along,
    doc="``exp(logits)``, scaled to the sum 1 along an axis.",
)
log_softmax_op = general(
    "log_softmax_op",
    _log_softmax_kernel,
    _along_axis("log_softmax"),
    vjp=(_log_softmax_vjp,),
    jvp=(lambda t, out, x, *, axis: _log_softmax_jvp(t, exp(out), axis),),
    batch=axis_param,
    type="LogSoftmax",
    args=("logits",),
    sparsity=along,
    doc="Logarithm of `softmax`.",
)


@operands("logits")
def softmax(logits: Any, axis: Any = -1) -> Operand:
    """``exp(logits)``, scaled to the sum 1 along an axis, without overflow.

    Examples
    --------
    >>> softmax(np.array([0.0, 0.0, 1000.0, 1000.0]))
    array([0. , 0. , 0.5, 0.5])
    """
    return softmax_op(logits, axis=single_axis("softmax", logits, -1 if axis is None else axis))


@operands("logits")
def log_softmax(logits: Any, axis: Any = -1) -> Operand:
    """Logarithm of `softmax`, accurate where that is tiny.

    Examples
    --------
    >>> log_softmax(np.array([0.0, 1000.0]))
    array([-1000.,     0.])
    """
    return log_softmax_op(logits, axis=single_axis("log_softmax", logits, -1 if axis is None else axis))
