"""Rows of `engine.ops.bessel_orders`."""

import scipy.special as sp

from engine.ops import bessel_orders as ops
from tests.row import Row, fixed, positive, real

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
            ops.scaled_slope,
            (positive(4), real(3, 4), x),
            {"function": name, "times": 1},
            wrt=(1, 2),
            call=lambda given, v, x, op=op, sign=sign, name=name: ops.scaled_slope(
                sign * (0.5 * (op(v - 1.0, x) + op(v + 1.0, x)) - op(v, x)), v, x, function=name, times=1
            ),
            oracle=lambda given, v, x, name=name, sign=sign: (
                sign * (0.5 * (getattr(sp, name)(v - 1, x) + getattr(sp, name)(v + 1, x)) - getattr(sp, name)(v, x))
            ),
            dtypes=("float64",),
            tol=1000,
            label=f"{name} {label}",
        )
        for name, op, sign in (("ive", ops.bessel_ive, 1.0), ("kve", ops.bessel_kve, -1.0))
        for label, x in (("near", positive(4)), ("far out", fixed([30.0, 45.0, 60.0, 90.0])))
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
