"""Rows of `engine.ops.special`."""

import numpy as np
import scipy.special as sp

from engine.ops import special
from tests.row import Row, case, fixed, positive, real, rows, unit

ROWS = (
    Row(
        special.ndtri_slope,
        (real(3, 4, low=0.1, high=0.9), real(3, 4, low=0.1, high=0.9)),
        wrt=(1,),
        call=lambda _, x: special.ndtri_slope(special.ndtri(x), x),
        oracle=lambda _, x: np.sqrt(2 * np.pi) * np.exp(sp.ndtri(x) ** 2 / 2),
        tol=10,
    ),
    Row(special.erf, (real(3, 4),), dtypes=("float16", "float32", "float64"), oracle=sp.erf, tf="math.erf"),
    Row(special.erfc, (real(3, 4),), oracle=sp.erfc, tf="math.erfc"),
    Row(special.erfinv, (unit(3, 4),), oracle=sp.erfinv, tf="math.erfinv", tol=10),
    Row(special.ndtr, (real(3, 4),), oracle=sp.ndtr, tf=lambda tf, x: 0.5 * tf.math.erfc(-x * 0.5**0.5)),
    *rows(
        special.ndtri,
        case(real(3, 4, low=0.1, high=0.9), oracle=sp.ndtri, tf="math.ndtri"),
        case(
            real(3, 4, low=0.2, high=1.8), call=special.erfcinv, oracle=sp.erfcinv, tf="math.erfcinv", label="erfcinv"
        ),
        tol=10,
    ),
    Row(special.dawsn, (real(3, 4),), oracle=sp.dawsn, tf="math.special.dawsn"),
    Row(special.fresnel_sin, (real(3, 4),), oracle=lambda x: sp.fresnel(x)[0], tf="math.special.fresnel_sin"),
    Row(special.fresnel_cos, (real(3, 4),), oracle=lambda x: sp.fresnel(x)[1], tf="math.special.fresnel_cos"),
    Row(special.spence, (positive(3, 4),), oracle=sp.spence, tf="math.special.spence", tol=10),
    Row(special.spence, (fixed([1.0, 1.005, 0.995]),), label="at 1", oracle=sp.spence, tol=10),
    Row(special.expint, (positive(3, 4),), oracle=sp.expi, tf="math.special.expint"),
    *rows(
        special.lgamma,
        case(positive(3, 4), tol=10),
        case(fixed([-0.5, -1.5], np.float64), dtypes=("float64",), label="negative"),
        oracle=sp.gammaln,
        tf="math.lgamma",
    ),
    Row(special.digamma, (positive(3, 4),), oracle=sp.psi, tf="math.digamma", tol=10),
    Row(
        special.polygamma,
        (fixed([0.0, 1.0, 2.0, 3.0], np.float64), positive(3, 4)),
        dtypes=("float64",),
        oracle=lambda a, x: sp.polygamma(a.astype(int), x),
        tf="math.polygamma",
        tol=10,
    ),
    Row(special.zeta, (real(4, low=1.5, high=3), positive(3, 4)), oracle=sp.zeta, tf="math.zeta", tol=10, wrt=(1,)),
    # TensorFlow has no gradient in these parameters
    Row(special.zeta, (real(4, low=1.5, high=3), positive(3, 4)), oracle=sp.zeta, order=1, tol=10, label="order"),
    Row(special.zeta_grad_x, (real(4, low=1.5, high=3), positive(3, 4)), wrt=(1,), tol=10),
    Row(
        special.lgamma,
        (positive(3, 4),),
        call=special.lbeta,
        oracle=lambda x: sp.gammaln(x).sum(-1) - sp.gammaln(x.sum(-1)),
        tf="math.lbeta",
        tol=10,
        label="lbeta",
    ),
    *rows(
        special.igamma,
        case(positive(4), positive(3, 4), wrt=(1,), tol=10),
        case(positive(4), positive(3, 4), wrt=(0, 1), order=1, tol=10, label="order"),
        case(
            fixed([0.5, 3.0, 30.0, 2.0], np.float64),
            fixed([20.0, 0.01, 25.0, 200.0], np.float64),
            dtypes=("float64",),
            order=1,
            label="tails",
        ),
        oracle=sp.gammainc,
        tf="math.igamma",
    ),
    *rows(
        special.igammac,
        case(positive(4), positive(3, 4), wrt=(1,)),
        case(positive(4), positive(3, 4), wrt=(0, 1), order=1, label="order"),
        oracle=sp.gammaincc,
        tf="math.igammac",
        tol=10,
    ),
    *[
        Row(
            special.bessel_scaled_by_x,
            (fixed([0.3, 1.2, 39.0, 50.0]),),
            {"times": 1, "order": order, "kind": kind},
            oracle=lambda x, order=order, kind=kind: (
                sp.ivp(order, x) * np.exp(-x) - sp.ive(order, x)
                if kind == "i"
                else sp.kvp(order, x) * np.exp(x) + sp.kve(order, x)
            ),
            dtypes=("float64",),
            tol=100,
            label=f"{kind} {order}",
        )
        for order in (0, 1)
        for kind in "ik"
    ],
    *rows(
        special.gamma_density,
        case(positive(4), positive(3, 4), oracle=lambda a, x: x ** (a - 1) * np.exp(-x) / sp.gamma(a)),
        case(
            fixed([11.0, 30.0, 150.0]),
            fixed([12.0, 3.0, 200.0]),
            oracle=lambda a, x: np.exp(sp.xlogy(a - 1, x) - x - sp.gammaln(a)),
            dtypes=("float64",),
            label="large",
        ),
        tol=10,
    ),
    Row(
        special.beta_density,
        (positive(4), positive(3, 4), real(3, 1, low=0.2, high=0.8)),
        oracle=lambda a, b, x: x ** (a - 1) * (1 - x) ** (b - 1) / sp.beta(a, b),
        tol=10,
    ),
    *[
        Row(
            special.digamma_step_of,
            (positive(4), positive(4), positive(4), positive(3, 4)),
            {"times": times},
            wrt=(2, 3),
            call=lambda end, start, a, d, times=times: special.digamma_step(a, d, times),
            oracle=lambda end, start, a, d, times=times: sp.polygamma(times, a + d) - sp.polygamma(times, a),
            dtypes=("float64",),
            tol=10,
            label=str(times),
        )
        for times in (0, 1)
    ],
    *[
        Row(
            special.gaussian_integral,
            (fixed([0.3, -1.2, 6.5, 8.5]),),
            {"times": 1, "sign": sign},
            oracle=lambda x, sign=sign, value=value: (
                sign * (2 * x * (1 if sign < 0 else np.sqrt(np.pi) / 2) * value(x) - 1)
            ),
            dtypes=("float64",),
            tol=1000,
            label=value.__name__,
        )
        for sign, value in ((-1, sp.dawsn), (1, sp.erfcx))
    ],
    Row(
        special.dawsn_curve,
        (fixed([0.3, -1.2, 6.5, 8.5]),) * 3,
        wrt=(2,),
        call=lambda *values: special.dawsn_curve(
            special.dawsn_slope(special.dawsn(values[2]), values[2]), special.dawsn(values[2]), values[2]
        ),
        oracle=lambda *values: (4 * values[2] ** 2 - 2) * sp.dawsn(values[2]) - 2 * values[2],
        dtypes=("float64",),
        tol=1e5,
    ),
    Row(
        special.dawsn_slope,
        (fixed([0.3, -1.2, 6.5, 8.5]), fixed([0.3, -1.2, 6.5, 8.5])),
        wrt=(1,),
        call=lambda _, x: special.dawsn_slope(special.dawsn(x), x),
        oracle=lambda _, x: 1 - 2 * x * sp.dawsn(x),
        dtypes=("float64",),
        tol=1000,
    ),
    *[
        Row(
            slope,
            (fixed([0.3, 1.2, 39.0, 50.0]), fixed([0.3, 1.2, 39.0, 50.0])),
            wrt=(1,),
            call=lambda _, x, value=value, slope=slope: slope(value(x), x),
            oracle=oracle,
            dtypes=("float64",),
            tol=1000,
        )
        for value, slope, oracle in (
            (special.bessel_i0e, special.bessel_i0e_slope, lambda _, x: sp.i1e(x) - sp.i0e(x)),
            (special.bessel_i1e, special.bessel_i1e_slope, lambda _, x: sp.i0e(x) - sp.i1e(x) * (1 + 1 / x)),
            (special.bessel_k0e, special.bessel_k0e_slope, lambda _, x: sp.k0e(x) - sp.k1e(x)),
            (special.bessel_k1e, special.bessel_k1e_slope, lambda _, x: sp.k1e(x) * (1 - 1 / x) - sp.k0e(x)),
        )
    ],
    Row(special.igamma_grad_a, (positive(4), positive(3, 4)), wrt=(1,), tol=10),
    *rows(
        special.betainc,
        case(
            positive(4),
            positive(3, 4),
            real(3, 1, low=0.2, high=0.8),
            tf=lambda tf, a, b, x: tf.math.betainc(*[tf.broadcast_to(v, tf.shape(b)) for v in (a, b, x)]),
            wrt=(2,),
        ),
        case(positive(4), positive(3, 4), real(3, 1, low=0.2, high=0.8), order=1, label="shape"),
        oracle=sp.betainc,
        tol=10,
    ),
    Row(special.betainc_grad_a, (positive(4), positive(3, 4), real(3, 1, low=0.2, high=0.8)), wrt=(2,), tol=10),
    Row(special.betainc_grad_b, (positive(4), positive(3, 4), real(3, 1, low=0.2, high=0.8)), wrt=(2,), tol=10),
    Row(special.bessel_i0, (real(3, 4),), oracle=sp.i0, tf="math.bessel_i0", tol=10),
    Row(special.bessel_i0e, (real(3, 4),), oracle=sp.i0e, tf="math.bessel_i0e", tol=10),
    Row(special.bessel_i1, (real(3, 4),), oracle=sp.i1, tf="math.bessel_i1", tol=10),
    Row(special.bessel_i1e, (real(3, 4),), oracle=sp.i1e, tf="math.bessel_i1e", tol=10),
    Row(special.bessel_j0, (real(3, 4),), oracle=sp.j0, tf="math.special.bessel_j0", tol=10),
    Row(special.bessel_j1, (real(3, 4),), oracle=sp.j1, tf="math.special.bessel_j1", tol=10),
    Row(special.bessel_k0, (positive(3, 4),), oracle=sp.k0, tf="math.special.bessel_k0", tol=10),
    Row(special.bessel_k0e, (positive(3, 4),), oracle=sp.k0e, tf="math.special.bessel_k0e", tol=10),
    Row(special.bessel_k1, (positive(3, 4),), oracle=sp.k1, tf="math.special.bessel_k1", tol=10),
    Row(special.bessel_k1e, (positive(3, 4),), oracle=sp.k1e, tf="math.special.bessel_k1e", tol=10),
    Row(special.bessel_y0, (positive(3, 4),), oracle=sp.y0, tf="math.special.bessel_y0", tol=10),
    Row(special.bessel_y1, (positive(3, 4),), oracle=sp.y1, tf="math.special.bessel_y1", tol=10),
    Row(special.bessel_i1, (fixed([0.0, -1.0], np.float64),), dtypes=("float64",), label="zero"),
    Row(special.xlogy, (real(3, 4), positive(4)), oracle=sp.xlogy, tf="math.xlogy"),
    Row(special.xlog1py, (real(4), unit(3, 4)), oracle=sp.xlog1py, tf="math.xlog1py"),
    Row(special.xdivy, (real(3, 4), positive(4)), oracle=np.divide, tf="math.xdivy"),
    # TensorFlow does not conjugate these derivatives
    Row(special.xlogy, (real(3), positive(2, 3)), dtypes=("complex128",), oracle=sp.xlogy, label="complex"),
    Row(special.xlog1py, (real(3), unit(2, 3)), dtypes=("complex128",), oracle=sp.xlog1py, label="complex"),
    Row(special.xdivy, (real(3), positive(2, 3)), dtypes=("complex128",), oracle=np.divide, label="complex"),
    Row(
        special.xlogy,
        (fixed([0.0, 0.0, 2.0], np.float64), fixed([0.0, 3.0, 1.0], np.float64)),
        dtypes=("float64",),
        oracle=sp.xlogy,
        tf="math.xlogy",
        order=0,
        label="zero",
    ),
)
