"""Rows of `engine.ops.nn`."""

import numpy as np
import scipy.special as sp

from engine.ops import nn
from tests.row import Row, case, distinct, fixed, real, rows

HALF = ("float16", "float32", "float64")
LARGE = fixed([-800.0, -1.0, 0.0, 1.0, 800.0], np.float64)

ROWS = (
    Row(nn.relu, (distinct(3, 4),), dtypes=HALF, oracle=lambda x: np.maximum(x, 0), tf="nn.relu"),
    Row(nn.relu, (fixed([-1, 2], np.int32),), oracle=lambda x: np.array([0, 2]), tf="nn.relu", order=0, label="int32"),
    Row(nn.relu, (fixed([0.0], np.float64),), tf="nn.relu", order=0, label="kink"),
    Row(nn.relu6, (real(3, 4, low=-8, high=8),), oracle=lambda x: x.clip(0, 6), tf="nn.relu6"),
    Row(
        nn.leaky_relu_op,
        (distinct(3, 4),),
        {"alpha": 0.25},
        dtypes=HALF,
        oracle=lambda x: np.where(x > 0, x, 0.25 * x),
        tf=lambda tf, x: tf.nn.leaky_relu(x, 0.25),
    ),
    Row(nn.elu, (distinct(3, 4),), dtypes=HALF, oracle=lambda x: np.where(x > 0, x, np.exp(x) - 1), tf="nn.elu"),
    Row(nn.selu, (distinct(3, 4),), tf="nn.selu"),
    Row(
        nn.relu,
        (distinct(3, 4),),
        call=nn.crelu,
        oracle=lambda x: np.maximum(np.hstack([x, -x]), 0),
        tf="nn.crelu",
        label="crelu",
    ),
    Row(nn.sigmoid, (real(3, 4),), dtypes=(*HALF, "complex128"), oracle=lambda x: 1 / (1 + np.exp(-x)), tf="sigmoid"),
    Row(nn.sigmoid, (LARGE,), dtypes=("float64",), oracle=sp.expit, tf="sigmoid", label="large"),
    Row(
        nn.selu_slope,
        (fixed([-0.5, -2.5, -3.5, -12.0]),),
        call=lambda x: nn.selu_slope(nn.selu(x), x),
        oracle=lambda x: nn.SELU_SCALE_ALPHA * np.exp(x),
    ),
    Row(
        nn.sigmoid_slope,
        (fixed([0.5, 2.5, -3.5, 12.0]),),
        call=lambda x: nn.sigmoid_slope(nn.sigmoid(x), x),
        oracle=lambda x: 0.25 / np.cosh(x / 2) ** 2,
    ),
    Row(nn.log_sigmoid, (real(3, 4),), oracle=sp.log_expit, tf="math.log_sigmoid"),
    Row(nn.log_sigmoid, (LARGE,), dtypes=("float64",), oracle=sp.log_expit, tf="math.log_sigmoid", label="large"),
    Row(nn.softplus, (real(3, 4),), dtypes=HALF, oracle=lambda x: np.log1p(np.exp(x)), tf="nn.softplus"),
    Row(
        nn.softplus, (LARGE,), dtypes=("float64",), oracle=lambda x: -sp.log_expit(-x), tf="nn.softplus", label="large"
    ),
    Row(nn.softsign, (distinct(3, 4),), oracle=lambda x: x / (1 + abs(x)), tf="nn.softsign"),
    Row(nn.silu_op, (real(3, 4),), dtypes=HALF, oracle=lambda x: x * sp.expit(x), tf="nn.silu"),
    Row(
        nn.sigmoid,
        (real(3, 4), real()),
        call=nn.silu,
        wrt=(0, 1),
        oracle=lambda x, b: x * sp.expit(b * x),
        tf="nn.silu",
        label="silu-beta",
    ),
    *rows(
        nn.gelu_op,
        case(real(3, 4), tf="nn.gelu"),
        case(
            real(3, 4),
            params={"approximate": True},
            tf=lambda tf, x: tf.nn.gelu(x, approximate=True),
            label="approximate",
        ),
        # TensorFlow's constants are of single precision
        case(real(3, 4), dtypes=("float64",), oracle=lambda x: x * sp.ndtr(x), label="double"),
        case(
            real(3, 4),
            params={"approximate": True},
            dtypes=("float64",),
            oracle=lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
            label="approximate-double",
        ),
        params={"approximate": False},
        dtypes=("float16", "float32"),
    ),
    *rows(
        nn.softmax_op,
        case(real(3, 4), params={"axis": -1}, dtypes=HALF),
        case(real(2, 3, 4), call=nn.softmax, args=(1,), oracle=lambda x: sp.softmax(x, 1), label="axis"),
        case(fixed([[1000.0, 1001.0], [-np.inf, 0.0]], np.float64), params={"axis": -1}, order=0, label="large"),
        case(real(0, 3), params={"axis": -1}, oracle=lambda x: x, label="empty"),
        oracle=lambda x: sp.softmax(x, -1),
        tf="nn.softmax",
    ),
    *rows(
        nn.log_softmax_op,
        case(real(3, 4), params={"axis": -1}, dtypes=HALF, oracle=lambda x: sp.log_softmax(x, -1)),
        case(real(2, 3, 4), call=nn.log_softmax, args=(0,), oracle=lambda x: sp.log_softmax(x, 0), label="axis"),
        tf="nn.log_softmax",
    ),
)
