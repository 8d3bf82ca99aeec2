"""Rows of `engine.ops.likelihood`."""

from typing import Any

import numpy as np
import scipy.special as sp
import scipy.stats as st

from engine.core.op import Op
from engine.ops import likelihood as ops
from tests.row import Generator, Row, fixed, positive, real

SHARE = real(3, 4, low=0.1, high=0.9)
BELOW = real(3, 4, low=-3.0, high=-0.2)
POINTS = fixed([0.05, 0.7, 5.0, 50.0])
GAMMA_TAILS = (
    (ops.log_igamma, lambda a, x: np.log(sp.gammainc(a, x))),
    (ops.log_igammac, lambda a, x: np.log(sp.gammaincc(a, x))),
    (ops.lower_hazard, lambda a, x: st.gamma.pdf(x, a) / sp.gammainc(a, x)),
    (ops.upper_hazard, lambda a, x: st.gamma.pdf(x, a) / sp.gammaincc(a, x)),
)
BETA_TAILS = (
    (ops.log_betainc, lambda a, b, x: np.log(sp.betainc(a, b, x))),
    (ops.log_betaincc, lambda a, b, x: np.log(sp.betaincc(a, b, x))),
)


def _row(op: Op, *inputs: Generator, **options: Any) -> Row:
    return Row(op, inputs, **{"dtypes": ("float64",), "tol": 10, **options})


ROWS = (
    _row(ops.product, real(3, 4), real(4), oracle=np.multiply),
    _row(ops.product, fixed([0.0, 0.0]), fixed([0.5, -2.0]), oracle=np.multiply, label="of 0"),
    _row(ops.log1p_power, positive(3, 4), real(4), oracle=lambda x, c: np.log1p(x**c)),
    _row(ops.one_minus_exp, BELOW, oracle=lambda t: -np.expm1(t)),
    _row(ops.odds, BELOW, oracle=lambda t: np.exp(t) / -np.expm1(t)),
    _row(ops.log_one_minus_exp, BELOW, oracle=lambda t: np.log(-np.expm1(t))),
    _row(ops.log_cosh, real(3, 4), oracle=lambda x: np.log(np.cosh(x))),
    _row(ops.log_cosh, fixed([0.0]), oracle=lambda x: np.log(np.cosh(x)), label="at 0"),
    _row(ops.hypsecant_cdf, real(3, 4), oracle=st.hypsecant.cdf),
    *[
        _row(ops.log1p_ratio, fixed([-0.5, -0.01, 0.1, 0.3, 3.0]), params={"times": times}, label=f"{times} times")
        for times in (0, 1, 2)
    ],
    _row(
        ops.log1p_over, positive(3, 4), fixed([0.0, 1e-9, -0.1, 2.0]), oracle=lambda x, c: st.genpareto.logsf(x, c) * -1
    ),
    *[
        _row(
            ops.log_i0e, fixed([0.05, 0.7, 5.0, 50.0]), params={"times": times}, order=2 - times, label=f"{times} times"
        )
        for times in (0, 1, 2)
    ],
    *[
        _row(op, positive(3, 4), positive(4), oracle=oracle, **options)
        for op, oracle in GAMMA_TAILS
        for options in ({"wrt": (1,)}, {"order": 1, "label": "in both"})
    ],
    *[
        _row(op, positive(3, 4), positive(4), SHARE, oracle=oracle, **options)
        for op, oracle in BETA_TAILS
        for options in ({"wrt": (2,)}, {"order": 1, "label": "in all"})
    ],
    *[
        _row(ops.log_stdtr, positive(3, 4), real(4), oracle=lambda df, t: np.log(sp.stdtr(df, t)), **options)
        for options in ({"wrt": (1,)}, {"order": 1, "label": "in both"})
    ],
    _row(ops.log_erf, positive(3, 4), oracle=lambda x: np.log(sp.erf(x))),
    _row(ops.log_erfc, positive(3, 4), oracle=lambda x: np.log(sp.erfc(x))),
    _row(ops.exp_minus, real(3, 4), real(4), oracle=lambda x, c: np.exp(x) - c * x),
    _row(ops.over_tail, BELOW, oracle=lambda t: np.exp(-t)),
    _row(ops.log_weibull, real(3, 4), oracle=lambda y: np.log(-np.expm1(-np.exp(y)))),
    _row(ops.log_rice, positive(3, 4), positive(4), oracle=lambda x, b: np.log(sp.i0(x * b)) - 0.5 * (x**2 + b**2)),
)
