"""Rows of `engine.ops.scipy_special`."""

from typing import Any

import numpy as np
import scipy.special as sp

from engine.core.op import Op
from engine.ops import complexes
from engine.ops import scipy_special as ops
from tests.row import Generator, Row, fixed, positive, real, unit

FRACTION = real(3, 4, low=0.2, high=0.8)
ABOVE = real(3, 4, low=2.2, high=3.5)


def row_of(op: Op, *inputs: Generator, oracle: Any = None, **options: Any) -> Row:
    options = {"tol": 10, "dtypes": ("float64",), **options}
    return Row(op, inputs, oracle=oracle or getattr(sp, op.name), **options)


ROWS = (
    *[
        row_of(getattr(ops, name), real(3, 4), dtypes=("float32", "float64"))
        for name in ["cbrt", "exp2", "exp10", "cosm1", "exprel", "erfcx", "erfi", "log_ndtr", "wrightomega"]
    ],
    *[row_of(getattr(ops, name), positive(3, 4)) for name in ["gamma", "rgamma", "expi", "exp1", "entr", "zetac"]],
    row_of(ops.riemann_zeta, ABOVE, oracle=sp.zeta),
    row_of(ops.riemann_zeta_by_order, FRACTION, params={"times": 1}, oracle=lambda x: _difference(sp.zetac, x)),
    row_of(ops.zetac, fixed([-3.3, 0.5, 0.99, 7.0], np.float64), label="on both sides of 1"),
    row_of(ops.exprel, fixed([0.0, 1e-9], np.float64), label="zero"),
    row_of(ops.logit, FRACTION),
    row_of(ops.ndtri_exp, real(3, 4, low=-3.0, high=-0.2)),
    *[row_of(getattr(ops, name), positive(3, 4), real(4)) for name in ("powm1", "boxcox", "boxcox1p")],
    row_of(ops.boxcox, positive(3), fixed([0.0, 1e-9, -1e-5], np.float64), label="at 0"),
    *[row_of(getattr(ops, name), FRACTION, unit(4)) for name in ("inv_boxcox", "inv_boxcox1p")],
    row_of(ops.inv_boxcox, FRACTION, fixed([0.0, 1e-9, -1e-5, 0.01], np.float64), label="at 0"),
    *[
        row_of(getattr(ops, name), positive(3, 4), positive(4))
        for name in ["rel_entr", "kl_div", "beta", "betaln", "poch"]
    ],
    row_of(ops.pseudo_huber, positive(3, 4), real(4)),
    row_of(ops.huber, positive(4), fixed([0.3, -0.2, 5.0, -7.0], np.float64)),
    row_of(ops.owens_t, real(3, 4), real(4)),
    row_of(
        ops.wofz_slope,
        *[fixed([0.3 + 0.4j, -2.0 + 0.1j, 8.0 + 0.5j, 1.0 - 1.0j], np.complex128)] * 2,
        params={"times": 1},
        wrt=(1,),
        call=lambda w, z: ops.wofz_slope(ops.wofz_op(z), z, times=1),
        dtypes=("complex128",),
        oracle=lambda w, z: 2j / np.sqrt(np.pi) - 2 * z * sp.wofz(z),
    ),
    *[
        row_of(
            ops.spherical_bessel,
            fixed([0.0, 1.0, 2.0, 5.0], np.float64),
            positive(3, 4),
            params={"kind": kind},
            oracle=lambda n, z, kind=kind: getattr(sp, f"spherical_{kind}n")(n.astype(int), z),
            wrt=(1,),
            label=kind,
        )
        for kind in "jyik"
    ],
    row_of(
        ops.spherical_slope,
        fixed([0.0, 1.0, 2.0, 5.0], np.float64),
        positive(3, 4),
        params={"kind": "j"},
        oracle=lambda n, z: sp.spherical_jn(n.astype(int), z, derivative=True),
        wrt=(1,),
    ),
    row_of(
        ops.exp2_slope,
        real(3, 4),
        real(3, 4),
        wrt=(1,),
        call=lambda _, x: ops.exp2_slope(ops.exp2(x), x),
        oracle=lambda _, x: np.log(2) * np.exp2(x),
    ),
    row_of(ops.log_ratio, positive(3, 4), positive(4), oracle=lambda x, y: np.log(x / y)),
    row_of(
        ops.pseudo_huber_slope, positive(3, 4), real(4), oracle=lambda delta, r: r / np.sqrt(1 + np.square(r / delta))
    ),
    row_of(
        ops.exponential_moment,
        positive(3, 4),
        real(4),
        params={"k": 1},
        oracle=lambda x, c: (np.exp(c * x) * (c * x - 1) + 1) / c**2,
        tol=1e4,
    ),
    *[
        row_of(
            slope,
            *[positive(4)] * 2,
            positive(3, 4),
            *more,
            params={"times": (1, *[0] * len(more))},
            wrt=tuple(range(2, 3 + len(more))),
            call=lambda given, out, *args, op=op, slope=slope, given_by=given_by, more=more: slope(
                given_by(op(*args), *args), op(*args), *args, times=(1, *[0] * len(more))
            ),
            oracle=lambda given, out, *args, op=op, given_by=given_by: given_by(getattr(sp, op.name)(*args), *args),
            tol=100,
        )
        for op, slope, given_by, more in (
            (ops.rgamma, ops.rgamma_slope, lambda out, x: -out * sp.psi(x), ()),
            (ops.beta, ops.beta_slope, lambda out, a, b: out * (sp.psi(a) - sp.psi(a + b)), (positive(4),)),
            (ops.poch, ops.poch_slope, lambda out, z, m: out * (sp.psi(z + m) - sp.psi(z)), (positive(4),)),
            (
                ops.binom,
                ops.binom_slope,
                lambda out, n, k: out * (sp.psi(n + 1) - sp.psi(n - k + 1)),
                (real(4, low=0.2, high=0.4),),
            ),
        )
    ],
    row_of(
        ops.voigt,
        *[positive(4)] * 2,
        real(3, 4),
        positive(4),
        positive(4),
        params={"times": 0, "turns": 0},
        wrt=(2, 3, 4),
        call=lambda u, v, x, s, g: _voigt(x, s, g),
        oracle=lambda u, v, x, s, g: sp.voigt_profile(x, s, g),
        tol=1000,
    ),
    row_of(ops.within_one, real(3, 4), oracle=lambda x: x / np.sqrt(1 + x * x)),
    row_of(
        ops.erfcx_curve,
        *[fixed([0.3, -1.2, 6.5, 8.5], np.float64)] * 3,
        wrt=(2,),
        call=lambda *values: ops.erfcx_curve(
            _slope_of(ops.erfcx, ops.erfcx_slope, values[2]), ops.erfcx(values[2]), values[2]
        ),
        oracle=lambda *values: (4 * values[2] ** 2 + 2) * sp.erfcx(values[2]) - 4 * values[2] / np.sqrt(np.pi),
        tol=1e5,
    ),
    row_of(
        ops.log_ndtr_curve,
        *[fixed([0.3, -1.2, 2.5, -8.5], np.float64)] * 3,
        wrt=(2,),
        call=lambda *values: ops.log_ndtr_curve(
            _slope_of(ops.log_ndtr, ops.log_ndtr_slope, values[2]), ops.log_ndtr(values[2]), values[2]
        ),
        oracle=lambda *values: -_normal_slope(values[2]) * (values[2] + _normal_slope(values[2])),
        tol=1e4,
    ),
    row_of(
        ops.erfcx_slope,
        fixed([0.3, -1.2, 6.5, 8.5], np.float64),
        fixed([0.3, -1.2, 6.5, 8.5], np.float64),
        wrt=(1,),
        call=lambda _, x: ops.erfcx_slope(ops.erfcx(x), x),
        oracle=lambda _, x: 2 * x * sp.erfcx(x) - 2 / np.sqrt(np.pi),
        tol=1000,
    ),
    row_of(
        ops.log_ndtr_slope,
        fixed([-8.5, -9.5, -30.0, 2.0], np.float64),
        fixed([-8.5, -9.5, -30.0, 2.0], np.float64),
        wrt=(1,),
        call=lambda _, x: ops.log_ndtr_slope(ops.log_ndtr(x), x),
        oracle=lambda _, x: _normal_slope(x),
    ),
    row_of(ops.inverse_mills, real(3, 4), params={"times": 0}, oracle=lambda x: _normal_slope(x)),
    row_of(
        ops.inverse_mills,
        fixed([-8.5, -9.5, -30.0, 2.0], np.float64),
        params={"times": 0},
        oracle=lambda x: _normal_slope(x),
        label="far below",
    ),
    *[
        row_of(op, fixed([0.0, 1.5, -2.0, 0.3], np.float64), positive(3, 4), oracle=oracle)
        for op, oracle in ((ops.log_of_power, sp.xlogy), (ops.log_of_power1p, sp.xlog1py), (ops.share, np.divide))
    ],
    row_of(ops.binom, ABOVE, positive(4)),
    *[
        row
        for name in ("gammaincinv", "gammainccinv")
        for row in (
            row_of(getattr(ops, name), positive(4), FRACTION, wrt=(1,)),
            row_of(getattr(ops, name), positive(4), FRACTION, order=1, label="order"),
        )
    ],
    *[
        row
        for name in ("betaincinv", "betaincc")
        for row in (
            row_of(getattr(ops, name), positive(4), positive(4), FRACTION, wrt=(2,)),
            row_of(getattr(ops, name), positive(4), positive(4), FRACTION, order=1, label="shape"),
        )
    ],
    row_of(ops.hyp0f1, positive(4), real(3, 4), wrt=(1,)),
    row_of(ops.hyp1f1, positive(4), positive(4), real(3, 4), wrt=(2,)),
    row_of(ops.hyp2f1, positive(4), positive(4), ABOVE, FRACTION, wrt=(3,)),
    row_of(ops.hyperu, positive(4), FRACTION, positive(3, 4), wrt=(2,)),
    row_of(ops.expn, fixed([0.0, 1.0, 2.0, 5.0], np.float64), positive(3, 4), wrt=(1,)),
    row_of(ops.sinint, real(3, 4), oracle=lambda x: sp.sici(x)[0]),
    row_of(ops.sinint, fixed([0.0, 0.05], np.float64), oracle=lambda x: sp.sici(x)[0], label="zero"),
    row_of(ops.cosint, positive(3, 4), oracle=lambda x: sp.sici(x)[1]),
    row_of(ops.sinhint, real(3, 4), oracle=lambda x: sp.shichi(x)[0]),
    row_of(ops.coshint, positive(3, 4), oracle=lambda x: sp.shichi(x)[1]),
    row_of(ops.sinc, real(3, 4), oracle=np.sinc),
    row_of(ops.sinc, fixed([0.0, 0.1, -0.2], np.float64), oracle=np.sinc, label="zero"),
    row_of(ops.erf_of_complex, real(3, 4), dtypes=("complex128",), oracle=sp.erf),
    row_of(ops.erfc_of_complex, real(3, 4), dtypes=("complex128",), oracle=sp.erfc),
    row_of(ops.wofz_op, real(3, 4), dtypes=("complex128",), oracle=sp.wofz),
    row_of(ops.lambertw_op, real(3, 4), params={"k": 0, "tol": 1e-8}, dtypes=("complex128",), oracle=sp.lambertw),
    row_of(
        ops.lambertw_op,
        real(3, 4),
        params={"k": -1, "tol": 1e-8},
        dtypes=("complex128",),
        oracle=lambda z: sp.lambertw(z, -1),
        label="another branch",
    ),
)


def _voigt(x: Any, sigma: Any, gamma: Any) -> Any:
    w = ops.wofz_op(complexes.complex(x * (np.sqrt(0.5) / sigma), gamma * (np.sqrt(0.5) / sigma)))
    return ops.voigt(complexes.real(w), complexes.imag(w), x, sigma, gamma, times=0, turns=0)


def _slope_of(op: Any, slope: Any, x: Any) -> Any:
    return slope(op(x), x)


def _normal_slope(x: Any) -> Any:
    return np.sqrt(2 / np.pi) / sp.erfcx(-x / np.sqrt(2))


def _difference(f: Any, x: Any) -> Any:
    return (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
