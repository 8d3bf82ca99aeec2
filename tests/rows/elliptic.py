"""Rows of `engine.ops.elliptic`."""

import numpy as np
import scipy.special as sp

from engine.ops import elliptic as ops
from tests.row import Row, fixed, real

M = real(3, 4, low=-0.9, high=0.9)
NEAR_ZERO = fixed([0.0, 0.003, -0.02], np.float64)

ROWS = (
    *[Row(getattr(ops, n), (M,), oracle=getattr(sp, n), dtypes=("float64",), tol=10) for n in ("ellipk", "ellipe")],
    Row(
        ops.ellipk_slope,
        (M, M),
        wrt=(1,),
        call=lambda _, p: ops.ellipk_slope(ops.ellipkm1(1.5 + p), 1.5 + p),
        oracle=lambda _, p: (sp.ellipe(-0.5 - p) / (1.5 + p) - sp.ellipk(-0.5 - p)) / (2 * (-0.5 - p)),
        dtypes=("float64",),
        tol=1e4,
    ),
    *[
        Row(
            ops.elliptic_by_m,
            (real(4, low=-5.0, high=9.0), M),
            {"power": 0.5, "times": times},
            order=3 - times,
            oracle=oracle,
            dtypes=("float64",),
            tol=1e4,
            label=f"times {times}",
        )
        for times, oracle in ((1, lambda phi, m: (sp.ellipeinc(phi, m) - sp.ellipkinc(phi, m)) / (2 * m)), (2, None))
    ],
    Row(ops.ellipkm1, (real(3, 4, low=0.1, high=1.9),), oracle=sp.ellipkm1, dtypes=("float64",), tol=10),
    *[
        Row(ops.amplitude, inputs, oracle=lambda u, m: sp.ellipj(u, m)[3], dtypes=("float64",), tol=10, label=label)
        for label, inputs in {
            "": (real(4, low=0.1, high=1.5), real(3, 4, low=0.1, high=0.9)),
            "near 0": (real(2, 3), fixed([0.001, 0.003, 0.02], np.float64)),
        }.items()
    ],
    *[
        Row(getattr(ops, n), inputs, oracle=getattr(sp, n), dtypes=("float64",), tol=10, label=label)
        for n in ("ellipkinc", "ellipeinc")
        for label, inputs in {"": (real(4, low=0.1, high=1.5), M), "near 0": (real(2, 3), NEAR_ZERO)}.items()
    ],
)
