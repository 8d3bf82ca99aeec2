"""Rows of `engine.ops.bessel_orders`."""

from __future__ import annotations

import scipy.special as sp

from engine.ops import bessel_orders as ops
from tests.row import Row, positive, real

ROWS = (
    *[
        Row(
            getattr(ops, f"bessel_{name}"),
            (real(3, 4), positive(4)),
            oracle=getattr(sp, name),
            dtypes=("float64",),
            tol=10,
        )
        for name in ["jv", "yv", "iv", "kv", "ive", "kve"]
    ],
    *[
        Row(
            ops.bessel_by_order,
            (real(3, 4), positive(4)),
            {"function": name, "times": 1},
            dtypes=("float64",),
            tol=10,
            label=name,
        )
        for name in ["jv", "yv", "iv", "kv", "ive", "kve"]
    ],
    *[
        Row(
            ops.airy,
            (real(3, 4),),
            {"which": which},
            oracle=lambda x, which=which: sp.airy(x)[which],
            dtypes=("float64",),
            tol=10,
            label=str(which),
        )
        for which in range(4)
    ],
    Row(ops.struve, (real(4), positive(3, 4)), oracle=sp.struve, dtypes=("float64",), wrt=(1,), tol=10),
    Row(ops.modstruve, (real(4), positive(3, 4)), oracle=sp.modstruve, dtypes=("float64",), wrt=(1,), tol=10),
)
