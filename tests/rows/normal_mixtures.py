"""Rows of `engine.ops.normal_mixtures`."""

from typing import Any

import numpy as np
import scipy.special as sp
import scipy.stats as st

from engine.core.op import Op
from engine.ops import normal_mixtures as ops
from tests.row import Row, positive, real


def _log_share(x: Any, k: Any) -> Any:
    return 0.5 / k**2 - x / k + sp.log_ndtr(x - 1 / k) - sp.log_ndtr(x)


def _row(op: Op, first: Any, oracle: Any, **options: Any) -> Row:
    return Row(op, (first, positive(4)), **{"dtypes": ("float64",), "tol": 100, "oracle": oracle, **options})


ROWS = (
    *[
        _row(getattr(ops, name), real(3, 4), getattr(st.exponnorm, method))
        for name, method in (
            ("log_exponnorm", "logpdf"),
            ("exponnorm_cdf", "cdf"),
            ("exponnorm_sf", "sf"),
            ("log_exponnorm_cdf", "logcdf"),
            ("log_exponnorm_sf", "logsf"),
        )
    ],
    _row(ops.log_share, real(3, 4), _log_share),
    _row(ops.log_inverse_gauss_cdf, positive(3, 4), st.invgauss.logcdf),
    _row(ops.log_inverse_gauss_sf, positive(3, 4), st.invgauss.logsf),
    *[
        _row(
            ops.density_over,
            positive(3, 4),
            lambda x, mu, tail=tail: st.norm.pdf((x / mu - 1) / np.sqrt(x)) / tail(x, mu),
            params={"sign": sign},
            label=f"of sign {sign}",
        )
        for sign, tail in ((1, st.invgauss.cdf), (-1, st.invgauss.sf))
    ],
)
