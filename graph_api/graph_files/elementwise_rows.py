"""Rows of elementwise ops, and of those that TensorFlow's gradients of them are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.core.operands import Operand
from engine.core.structural import scale
from engine.core.value import Value
from graph_api.graph_files.rows import ROWS, Made, Row, Site, is_handle, row, same
from graph_api.library import root as tf

same(
    """
    Abs,ComplexAbs:abs
    Acos:acos
    Acosh:acosh
    Add,AddV2:add
    Angle:angle
    Asin:asin
    Asinh:asinh
    Atan:atan
    Atan2:atan2
    Atanh:atanh
    BesselI0:math.bessel_i0
    BesselI0e:math.bessel_i0e
    BesselI1:math.bessel_i1
    BesselI1e:math.bessel_i1e
    Betainc:betainc
    BitwiseAnd:bitwise.bitwise_and
    BitwiseOr:bitwise.bitwise_or
    BitwiseXor:bitwise.bitwise_xor
    Ceil:ceil
    Complex:complex
    Conj:conj
    Cos:cos
    Cosh:cosh
    Cross:cross
    Digamma:digamma
    DivNoNan:div_no_nan
    Elu:nn.elu
    Equal:equal
    Erf:erf
    Erfc:erfc
    Erfinv:math.erfinv
    Exp:exp
    Expm1:expm1
    Floor:floor
    FloorDiv:floor_div
    FloorMod:floormod
    Greater:greater
    GreaterEqual:greater_equal
    Igamma:igamma
    Igammac:igammac
    Imag:imag
    Inv,Reciprocal:reciprocal
    Invert:bitwise.invert
    IsFinite:is_finite
    IsInf:is_inf
    IsNan:is_nan
    LeakyRelu:nn.leaky_relu alpha
    Less:less
    LessEqual:less_equal
    Lgamma:lgamma
    Log:log
    Log1p:log1p
    LogicalAnd:logical_and
    LogicalNot:logical_not
    LogicalOr:logical_or
    Maximum:maximum
    Minimum:minimum
    Mul:multiply
    Ndtri:math.ndtri
    Neg:negative
    NotEqual:not_equal
    OnesLike:ones_like
    Polygamma:polygamma
    Pow:pow
    Real:real
    RealDiv:realdiv
    Relu:nn.relu
    Relu6:nn.relu6
    Rint:rint
    Round:round
    Rsqrt:rsqrt
    Select:where
    SelectV2:where_v2
    Selu:nn.selu
    Sigmoid:sigmoid
    Sign:sign
    Sin:sin
    Sinh:sinh
    Softplus:nn.softplus
    Softsign:nn.softsign
    Sqrt:sqrt
    Square:square
    SquaredDifference:squared_difference
    Sub:subtract
    Tan:tan
    Tanh:tanh
    Xdivy:math.xdivy
    Xlog1py:math.xlog1py
    Xlogy:math.xlogy
    ZerosLike:zeros_like
    Zeta:zeta
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


@row("StopGradient")
def _stop_gradient(site: Site) -> Made:
    return tf.stop_gradient(site.inputs[0])


@row("IdentityN")
def _identity_n(site: Site) -> Made:
    return [tf.identity(x) for x in site.inputs]


@row("Cast")
def _cast(site: Site) -> Made:
    return tf.cast(site.inputs[0], site.attr("DstT"))


@row("AddN AccumulateNV2")
def _add_n(site: Site) -> Made:
    return tf.add_n(site.inputs)


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


@row("ClipByValue")
def _clip(site: Site) -> Made:
    return tf.clip_by_value(*site.inputs)


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


_SELU_ALPHA, _SELU_SCALE = 1.7580993408473768599402175208123, 1.0507009873554804934193349852946
for _types, _partial, _of_result in (
    ("ReluGrad", _step, False),
    ("Relu6Grad", _between, False),
    ("EluGrad", lambda y: tf.where_v2(tf.less(y, tf.zeros_like(y)), y + 1, tf.ones_like(y)), False),
    (
        "SeluGrad",
        lambda y: tf.where_v2(tf.less(y, tf.zeros_like(y)), y + _SELU_ALPHA, _SELU_SCALE * tf.ones_like(y)),
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
