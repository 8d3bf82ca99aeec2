"""Rows of `engine.ops.special`."""

from __future__ import annotations

import numpy as np
import scipy.special as sp

from engine.ops import special
from tests.row import Row, fixed, positive, real, unit

ALL = ("float32", "float64", "complex128")

ROWS = (
    Row(
        special.erf,
        (real(3, 4),),
        dtypes=("float16", "float32", "float64"),
        oracle=sp.erf,
        tf=lambda tf, x: tf.math.erf(x),
    ),
    Row(special.erfc, (real(3, 4),), oracle=sp.erfc, tf=lambda tf, x: tf.math.erfc(x)),
    Row(special.erfinv, (unit(3, 4),), oracle=sp.erfinv, tf=lambda tf, x: tf.math.erfinv(x), tol=10),
    Row(special.ndtr, (real(3, 4),), oracle=sp.ndtr, tf=lambda tf, x: 0.5 * tf.math.erfc(-x * 0.5**0.5)),
    Row(special.ndtri, (real(3, 4, low=0.1, high=0.9),), oracle=sp.ndtri, tf=lambda tf, x: tf.math.ndtri(x), tol=10),
    Row(
        special.ndtri,
        (real(3, 4, low=0.2, high=1.8),),
        call=special.erfcinv,
        oracle=sp.erfcinv,
        tf=lambda tf, x: tf.math.erfcinv(x),
        tol=10,
        label="erfcinv",
    ),
    Row(special.dawsn, (real(3, 4),), oracle=sp.dawsn, tf=lambda tf, x: tf.math.special.dawsn(x)),
    Row(special.expint, (positive(3, 4),), oracle=sp.expi, tf=lambda tf, x: tf.math.special.expint(x)),
    Row(special.lgamma, (positive(3, 4),), oracle=sp.gammaln, tf=lambda tf, x: tf.math.lgamma(x), tol=10),
    Row(
        special.lgamma,
        (fixed([-0.5, -1.5], np.float64),),
        dtypes=("float64",),
        oracle=sp.gammaln,
        tf=lambda tf, x: tf.math.lgamma(x),
        label="negative",
    ),
    Row(special.digamma, (positive(3, 4),), oracle=sp.psi, tf=lambda tf, x: tf.math.digamma(x), tol=10),
    Row(
        special.polygamma,
        (fixed([0.0, 1.0, 2.0, 3.0], np.float64), positive(3, 4)),
        dtypes=("float64",),
        oracle=lambda a, x: sp.polygamma(a.astype(int), x),
        tf=lambda tf, a, x: tf.math.polygamma(a, x),
        tol=10,
    ),
    Row(
        special.zeta,
        (real(4, low=1.5, high=3), positive(3, 4)),
        oracle=sp.zeta,
        tf=lambda tf, x, q: tf.math.zeta(x, q),
        tol=10,
        wrt=(1,),
    ),
    Row(
        special.lgamma,
        (positive(3, 4),),
        call=special.lbeta,
        oracle=lambda x: sp.gammaln(x).sum(-1) - sp.gammaln(x.sum(-1)),
        tf=lambda tf, x: tf.math.lbeta(x),
        tol=10,
        label="lbeta",
    ),
    Row(
        special.igamma,
        (positive(4), positive(3, 4)),
        wrt=(1,),
        oracle=sp.gammainc,
        tf=lambda tf, a, x: tf.math.igamma(a, x),
        tol=10,
    ),
    Row(
        special.igamma,
        (positive(4), positive(3, 4)),
        wrt=(0, 1),
        oracle=sp.gammainc,
        tf=lambda tf, a, x: tf.math.igamma(a, x),
        order=1,
        tol=10,
        label="order",
    ),
    Row(
        special.igamma,
        (fixed([0.5, 3.0, 30.0, 2.0], np.float64), fixed([20.0, 0.01, 25.0, 200.0], np.float64)),
        dtypes=("float64",),
        oracle=sp.gammainc,
        tf=lambda tf, a, x: tf.math.igamma(a, x),
        order=1,
        label="tails",
    ),
    Row(
        special.igammac,
        (positive(4), positive(3, 4)),
        wrt=(1,),
        oracle=sp.gammaincc,
        tf=lambda tf, a, x: tf.math.igammac(a, x),
        tol=10,
    ),
    Row(
        special.igammac,
        (positive(4), positive(3, 4)),
        wrt=(0, 1),
        oracle=sp.gammaincc,
        tf=lambda tf, a, x: tf.math.igammac(a, x),
        order=1,
        tol=10,
        label="order",
    ),
    Row(
        special.igamma_grad_a,
        (positive(4), positive(3, 4)),
        wrt=(1,),
        tf=lambda tf, a, x: tf.raw_ops.IgammaGradA(a=a, x=x + 0 * a),
        tol=10,
    ),
    Row(
        special.betainc,
        (positive(4), positive(3, 4), real(3, 1, low=0.2, high=0.8)),
        oracle=sp.betainc,
        tf=lambda tf, a, b, x: tf.math.betainc(a + 0 * b, b, x + 0 * b),
        tol=10,
    ),
    Row(special.bessel_i0, (real(3, 4),), oracle=sp.i0, tf=lambda tf, x: tf.math.bessel_i0(x), tol=10),
    Row(special.bessel_i0e, (real(3, 4),), oracle=sp.i0e, tf=lambda tf, x: tf.math.bessel_i0e(x), tol=10),
    Row(special.bessel_i1, (real(3, 4),), oracle=sp.i1, tf=lambda tf, x: tf.math.bessel_i1(x), tol=10),
    Row(special.bessel_i1e, (real(3, 4),), oracle=sp.i1e, tf=lambda tf, x: tf.math.bessel_i1e(x), tol=10),
    Row(special.bessel_j0, (real(3, 4),), oracle=sp.j0, tf=lambda tf, x: tf.math.special.bessel_j0(x), tol=10),
    Row(special.bessel_j1, (real(3, 4),), oracle=sp.j1, tf=lambda tf, x: tf.math.special.bessel_j1(x), tol=10),
    Row(special.bessel_k0, (positive(3, 4),), oracle=sp.k0, tf=lambda tf, x: tf.math.special.bessel_k0(x), tol=10),
    Row(special.bessel_k0e, (positive(3, 4),), oracle=sp.k0e, tf=lambda tf, x: tf.math.special.bessel_k0e(x), tol=10),
    Row(special.bessel_k1, (positive(3, 4),), oracle=sp.k1, tf=lambda tf, x: tf.math.special.bessel_k1(x), tol=10),
    Row(special.bessel_k1e, (positive(3, 4),), oracle=sp.k1e, tf=lambda tf, x: tf.math.special.bessel_k1e(x), tol=10),
    Row(special.bessel_y0, (positive(3, 4),), oracle=sp.y0, tf=lambda tf, x: tf.math.special.bessel_y0(x), tol=10),
    Row(special.bessel_y1, (positive(3, 4),), oracle=sp.y1, tf=lambda tf, x: tf.math.special.bessel_y1(x), tol=10),
    Row(
        special.bessel_i1,
        (fixed([0.0, -1.0], np.float64),),
        dtypes=("float64",),
        tf=lambda tf, x: tf.math.bessel_i1(x),
        label="zero",
    ),
    Row(special.xlogy, (real(3, 4), positive(4)), dtypes=ALL, oracle=sp.xlogy, tf=lambda tf, x, y: tf.math.xlogy(x, y)),
    Row(
        special.xlog1py, (real(4), unit(3, 4)), dtypes=ALL, oracle=sp.xlog1py, tf=lambda tf, x, y: tf.math.xlog1py(x, y)
    ),
    Row(
        special.xdivy, (real(3, 4), positive(4)), dtypes=ALL, oracle=np.divide, tf=lambda tf, x, y: tf.math.xdivy(x, y)
    ),
    Row(
        special.xlogy,
        (fixed([0.0, 0.0, 2.0], np.float64), fixed([0.0, 3.0, 1.0], np.float64)),
        dtypes=("float64",),
        oracle=sp.xlogy,
        tf=lambda tf, x, y: tf.math.xlogy(x, y),
        order=0,
        label="zero",
    ),
)
