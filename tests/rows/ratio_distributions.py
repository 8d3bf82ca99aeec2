"""Rows of `engine.ops.ratio_distributions`."""

from typing import Any

import numpy as np
import scipy.special as sp
import scipy.stats as st

from engine.ops import ratio_distributions as ops
from tests.row import fixed, positive, real
from tests.rows.scipy_special import row_of

FS = positive(3, 4), positive(4), positive(4)


def _difference(f: Any, x: Any) -> Any:
    return (f(x + 1e-6) - f(x - 1e-6)) / 2e-6


ROWS = (
    row_of(ops.stdtr, positive(3, 4), real(4), wrt=(1,)),
    row_of(ops.stdtrit, positive(3, 4), fixed([0.1, 0.3, 0.6, 0.9], np.float64), wrt=(1,)),
    row_of(ops.stdtrit, positive(3, 4), fixed([0.1, 0.5, 0.6, 0.9], np.float64), wrt=(0, 1), order=1, label="degrees"),
    row_of(ops.stdtr, positive(3, 4), fixed([-0.7, 0.0, 0.4, 2.0], np.float64), wrt=(0, 1), order=1, label="degrees"),
    row_of(ops.t_density, positive(3, 4), real(4), wrt=(1,), oracle=lambda df, t: st.t.pdf(t, df), tol=100),
    row_of(ops.f_density, *FS, wrt=(2,), oracle=lambda n, d, x: st.f.pdf(x, n, d), tol=100),
    *[row_of(getattr(ops, name), *FS, wrt=(2,)) for name in ("fdtr", "fdtrc")],
    *[row_of(getattr(ops, name), *FS, order=1, label="degrees") for name in ("fdtr", "fdtrc")],
    row_of(
        ops.fdtr_by_df,
        *FS,
        params={"second": True},
        wrt=(2,),
        oracle=lambda n, d, x: _difference(lambda v: sp.fdtr(n, v, x), d),
        tol=1e5,
    ),
    row_of(
        ops.ratio_score,
        *FS,
        wrt=(2,),
        oracle=lambda n, d, x: _difference(lambda v: st.f.logpdf(x, n, v) * 2, d),
        tol=1e5,
    ),
    row_of(
        ops.stdtr_by_df,
        positive(3, 4),
        fixed([-0.7, 0.1, 0.4, 2.0], np.float64),
        wrt=(1,),
        oracle=lambda df, t: _difference(lambda v: sp.stdtr(v, t), df),
        tol=1000,
    ),
    row_of(ops.t_density, positive(3, 4), real(4), order=1, oracle=lambda df, t: st.t.pdf(t, df), label="degrees"),
    row_of(ops.f_density, *FS, order=1, oracle=lambda n, d, x: st.f.pdf(x, n, d), label="degrees"),
)
