"""Rows of elementwise ops, in both directions, and of those that TensorFlow's gradients of them are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.core.op import Op
from engine.core.operands import Operand
from engine.core.structural import scale
from engine.core.value import Value
from engine.ops import arithmetic, compare, explog, nn, special, trig
from graph_api.graph_files.rows import ROWS, Made, Row, Site, is_handle, row, same
from graph_api.library import root as tf

_OPS = {
    arithmetic: (
        "add ceil clip divide divide_no_nan floor floordiv maximum minimum mod multiply negative reciprocal rint round "
        "subtract"
    ),
    compare: (
        "bitwise_and bitwise_not bitwise_or bitwise_xor equal greater greater_equal is_finite is_inf is_nan less "
        "less_equal not_equal"
    ),
    explog: "exp expm1 log log1p pow rsqrt sqrt",
    trig: "acos acosh asin asinh atan atan2 atanh cos cosh sin sinh tan tanh",
    nn: "elu relu relu6 selu sigmoid softplus softsign",
    special: (
        "betainc bessel_i0e bessel_i1e digamma erf erfc erfinv igamma igammac lgamma ndtri polygamma xdivy xlog1py "
        "xlogy zeta"
    ),
}
ELEMENTWISE: list[Op] = [getattr(module, name) for module, names in _OPS.items() for name in names.split()]
"""Ops whose op types are TensorFlow's, with one attribute, T: read by this module, and written by `export_rows`."""


def _applied(op: Op) -> Callable[[Site], Made]:
    return lambda site: site.graph.apply(op, site.inputs, {})


for _op in ELEMENTWISE:
    ROWS[_op.type] = Row(_applied(_op))
same(
    """
    Abs,ComplexAbs:abs
    Add:add
    Angle:angle
    BesselI0:math.bessel_i0
    BesselI1:math.bessel_i1
    Complex:complex
    Conj:conj
    Cross:cross
    Imag:imag
    Inv:reciprocal
    LeakyRelu:nn.leaky_relu alpha
    LogicalAnd:logical_and
    LogicalNot:logical_not
    LogicalOr:logical_or
    OnesLike:ones_like
    Real:real
    Select:where
    SelectV2:where_v2
    Sign:sign
    Square:square
    SquaredDifference:squared_difference
    ZerosLike:zeros_like
    """
)


# ---- what comes under other names, or with attributes ----------------------------------------------------------------


@row(
    "Identity Snapshot CheckNumerics PreventGradient ControlTrigger RefIdentity PlaceholderWithDefault",
    takes_handles=True,
)
def _identity(site: Site) -> Made:
    """The value itself; of a variable, what it is now."""
    x = site.inputs[0]
    if not isinstance(x, Value):
        return x
    if is_handle(x):
        return x if site.attr("T", None) == "resource" else site.region.read(x)
    if site.proto.op == "PlaceholderWithDefault":
        from graph_api.convert import placeholder_with_default

        return placeholder_with_default(x, site.attr("shape", None))
    return tf.identity(x)


@row("Div TruncateDiv")
def _division(site: Site) -> Made:
    """Division; of integers, rounded toward zero."""
    x, y = site.inputs
    return _toward_zero(x, y) if x.dtype.is_integer else tf.realdiv(x, y)


def _toward_zero(x: Any, y: Any) -> Operand:
    down = tf.floor_div(x, y)
    inexact = tf.not_equal(down * y, x)
    return down + tf.cast(tf.logical_and(inexact, tf.less(down, tf.zeros_like(down))), x.dtype)


@row("Mod TruncateMod")
def _remainder(site: Site) -> Made:
    """The remainder that has the sign of the dividend."""
    x, y = site.inputs
    if x.dtype.is_integer:
        return x - y * _toward_zero(x, y)
    ratio = x / y
    return x - y * tf.sign(ratio) * tf.floor(tf.abs(ratio))


@row("MulNoNan")
def _multiply_no_nan(site: Site) -> Made:
    """``x y``, zero where y is zero whatever x is."""
    x, y = site.inputs
    return scale(y, x)


# ---- gradients -------------------------------------------------------------------------------------------------------


def _slope(partial: Any, of_result: bool) -> Callable[[Site], Made]:
    """The row of ``Grad(y, dy)`` (of the result) or ``Grad(dy, x)``: the cotangent times a partial derivative."""

    def make(site: Site) -> Made:
        if of_result:
            y, dy = site.inputs
            return scale(dy, partial(y))
        dy, x = site.inputs
        return scale(dy, partial(x))

    return make


def _step(x: Any) -> Operand:
    return tf.cast(tf.greater(x, tf.zeros_like(x)), x.dtype)


def _between(x: Any) -> Operand:
    return _step(x) * tf.cast(tf.less(x, 6 * tf.ones_like(x)), x.dtype)


for _types, _partial, _of_result in (
    ("ReluGrad", _step, False),
    ("Relu6Grad", _between, False),
    ("EluGrad", lambda y: tf.where_v2(tf.less(y, tf.zeros_like(y)), y + 1, tf.ones_like(y)), False),
    (
        "SeluGrad",
        lambda y: tf.where_v2(tf.less(y, tf.zeros_like(y)), y + nn.SELU_SCALE_ALPHA, nn.SELU_SCALE * tf.ones_like(y)),
        False,
    ),
    ("SoftplusGrad", tf.sigmoid, False),
    ("SoftsignGrad", lambda x: 1 / tf.square(1 + tf.abs(x)), False),
    ("SigmoidGrad", lambda y: y * (1 - y), True),
    ("TanhGrad", lambda y: 1 - tf.square(y), True),
    ("SqrtGrad", lambda y: 0.5 / y, True),
    ("RsqrtGrad", lambda y: -0.5 * (y * y * y), True),
    ("InvGrad ReciprocalGrad", lambda y: -y * y, True),
):
    for _type in _types.split():
        ROWS[_type] = Row(_slope(_partial, _of_result))


@row("LeakyReluGrad")
def _leaky_relu_gradient(site: Site) -> Made:
    dy, x = site.inputs
    return tf.where_v2(tf.greater(x, tf.zeros_like(x)), dy, dy * site.attr("alpha", 0.2))


# ---- what is one expression ------------------------------------------------------------------------------------------

_SHORT: dict[str, Callable[[Site], Made]] = {
    "StopGradient": lambda site: tf.stop_gradient(site.inputs[0]),
    "IdentityN": lambda site: [tf.identity(x) for x in site.inputs],
    "Cast": lambda site: tf.cast(site.inputs[0], site.attr("DstT")),
    "AddN AccumulateNV2": lambda site: tf.add_n(site.inputs),
}
for _types, _make in _SHORT.items():
    row(_types)(_make)
