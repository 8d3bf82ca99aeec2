"""Rows of `engine.ops.distribution_tails`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp
import scipy.stats as st

from engine.core.op import Op
from engine.ops import distribution_tails as ops
from tests.row import Generator, Row, fixed, positive, real

SHARE = real(3, 4, low=0.1, high=0.9)
BETA_PRIME_TAILS = (
    (ops.beta_prime_cdf, lambda a, b, x: st.betaprime.cdf(x, a, b)),
    (ops.beta_prime_sf, lambda a, b, x: st.betaprime.sf(x, a, b)),
    (ops.log_beta_prime_cdf, lambda a, b, x: st.betaprime.logcdf(x, a, b)),
    (ops.log_beta_prime_sf, lambda a, b, x: st.betaprime.logsf(x, a, b)),
)


def _row(op: Op, *inputs: Generator, **options: Any) -> Row:
    return Row(op, inputs, **{"dtypes": ("float64",), "tol": 10, **options})


def _difference(f: Callable[..., Any], x: Any) -> Any:
    return (8 * (f(x + 1e-3) - f(x - 1e-3)) - (f(x + 2e-3) - f(x - 2e-3))) / 12e-3


ROWS = (
    *[
        _row(op, positive(3, 4), positive(4), SHARE, oracle=oracle, **options)
        for op, oracle in BETA_PRIME_TAILS
        for options in ({"wrt": (2,)}, {"order": 1, "label": "in all"})
    ],
    *[
        _row(getattr(ops, name), positive(3, 4), positive(4), oracle=lambda c, x, f=f: f(x, c))
        for name, f in (
            ("normal_within", st.foldnorm.cdf),
            ("normal_beyond", st.foldnorm.sf),
            ("log_normal_within", st.foldnorm.logcdf),
            ("log_normal_beyond", st.foldnorm.logsf),
            ("log_folded", lambda x, c: st.foldnorm.logpdf(x, c) + 0.5 * np.log(2 * np.pi)),
        )
    ],
    *[
        _row(getattr(ops, f"{log}{name}_{tail}"), *arguments, oracle=getattr(theirs, f"{log[:3]}{tail}"))
        for name, theirs, *arguments in (
            ("truncexpon", st.truncexpon, SHARE, fixed([1.0, 1.5, 2.0, 4.0])),
            ("triangle", st.triang, SHARE, fixed([0.02, 0.35, 0.5, 0.97])),
        )
        for tail in ("cdf", "sf")
        for log in ("", "log_")
    ],
    _row(
        ops.log_normal_mass,
        real(3, 4, low=-2, high=0),
        positive(4),
        oracle=lambda a, b: np.log(sp.ndtr(b) - sp.ndtr(a)),
    ),
    *[
        _row(op, real(3, 4, low=-0.4, high=0.4), real(4, low=-2, high=-0.5), positive(4), oracle=oracle)
        for op, oracle in ((ops.truncated_cdf, st.truncnorm.cdf), (ops.log_truncated_cdf, st.truncnorm.logcdf))
    ],
    _row(ops.half_disk, real(3, 4, low=-0.99, high=0.9), oracle=st.semicircular.cdf),
    _row(ops.skew_normal, real(3, 4), real(4), oracle=lambda x, a: sp.ndtr(x) - 2 * sp.owens_t(x, a)),
    _row(ops.power_tail, positive(3, 4), positive(4), wrt=(0,), oracle=st.gennorm.sf),
    _row(ops.power_tail, positive(3, 4), positive(4), order=1, oracle=st.gennorm.sf, label="in both"),
    *[
        _row(ops.beta_isf, positive(3, 4), positive(4), SHARE, oracle=lambda a, b, q: st.beta.isf(q, a, b), **options)
        for options in ({"wrt": (2,)}, {"order": 1, "label": "in all"})
    ],
    _row(ops.cauchy_quantile, SHARE, oracle=st.cauchy.ppf),
    _row(
        ops.power_tail_by_shape,
        positive(3, 4),
        positive(4),
        wrt=(0,),
        oracle=lambda x, b: _difference(lambda b: st.gennorm.sf(x, b), b),
        tol=1e4,
    ),
    _row(
        ops.beta_prime_by_a,
        *(positive(3, 4), positive(4), positive(4)),
        wrt=(2,),
        oracle=lambda a, b, x: _difference(lambda a: st.betaprime.cdf(x, a, b), a),
        tol=1e4,
    ),
    _row(
        ops.beta_prime_by_b,
        *(positive(3, 4), positive(4), positive(4)),
        wrt=(2,),
        oracle=lambda a, b, x: _difference(lambda b: st.betaprime.cdf(x, a, b), b),
        tol=1e4,
    ),
)
