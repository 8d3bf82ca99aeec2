"""Which ufuncs of SciPy's are ours, by name, where it takes more than an op whose kernel is the ufunc.

Distribution functions are gamma and beta functions of other arguments; SciPy's that give several results are several
of our ops; what is complex for real arguments is made complex first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.operands import Operand
from engine.core.value import dtype_of
from engine.numpy_api.functions import as_complex, constant, not_taken_if
from engine.ops import (
    arithmetic,
    bessel_orders,
    compare,
    complexes,
    elliptic,
    explog,
    nn,
    orthogonal,
    ratio_distributions,
    scipy_special,
    special,
)
from engine.ops.creation import ones_like


def _in_double(f: Callable[..., Operand]) -> Callable[..., Operand]:
    """A function of ours, computed in double precision where the arguments have less."""
    rule = special.in_double(lambda: f, lambda out, *args: f(*args), False)
    return lambda *args: rule(None, *args)


def _lambertw(z: Any, k: Any, tol: Any) -> Operand:
    branch, tol = (np.asarray(x._array if hasattr(x, "_array") else x) for x in (k, tol))
    not_taken_if(branch.ndim or tol.ndim)
    return scipy_special.lambertw_op(as_complex(z), k=int(branch), tol=float(tol))


def _bdtr(k: Any, n: Any, p: Any) -> Operand:
    k, n = np.floor(k), np.trunc(n)
    whole = compare.equal(k, n + 0 * k)
    # the complement of the other tail, and not of p, which may be tiny
    others = compare.where(whole, ones_like(k), n - k)
    return compare.where(whole, ones_like(p) + 0 * k, scipy_special.betaincc(k + 1, others, p))


def _voigt(x: Any, sigma: Any, gamma: Any) -> Operand:
    scale = 1 / (sigma * np.sqrt(2.0))
    w = scipy_special.wofz_op(complexes.complex(x * scale, gamma * scale))
    return scipy_special.voigt(complexes.real(w), complexes.imag(w), x, sigma, gamma, times=0, turns=0)


def _fdtri(dfn: Any, dfd: Any, p: Any) -> Operand:
    share = scipy_special.betaincinv(dfn / 2, dfd / 2, p)
    return share * dfd / (dfn * (1 - share))


def _ellipj(u: Any, m: Any) -> tuple[Operand, ...]:
    phase = elliptic.amplitude(u, m)
    sine = np.sin(phase)
    return sine, np.cos(phase), np.sqrt(1 - m * np.square(sine)), phase


def _hankel(sign: float) -> Callable[[Any, Any], Operand]:
    def apply(v: Any, z: Any) -> Operand:
        negative = z < 0.0 * z
        size = compare.where(negative, -z, z)
        j, y = bessel_orders.bessel_jv(v, size), bessel_orders.bessel_yv(v, size)
        # of negative numbers, which stand for those just above the real axis: DLMF 10.11.3 and 10.11.5
        cosine, sine = np.cos(np.pi * v), np.sin(np.pi * v)
        if sign > 0:
            turned = complexes.complex(sine * y - cosine * j, sine * j + cosine * y)
        else:
            turned = complexes.complex(3 * cosine * j - sine * y, sine * j - cosine * y)
        return compare.where(negative, turned, complexes.complex(j, sign * y))

    return apply


def _agm(a: Any, b: Any) -> Operand:
    total = a + b
    return np.pi / 4 * total / elliptic.ellipkm1(4 * (a / total) * (b / total))


def _sign_of_gamma(x: Any) -> Operand:
    whole = np.floor(x)
    even = compare.equal(whole % 2.0, 0.0 * x)
    sign = compare.where(compare.logical_or(x > 0.0 * x, even), ones_like(x), -ones_like(x))
    pole = compare.logical_and(compare.equal(whole, x), x < 0.0 * x)
    return compare.where(pole, constant(np.nan, x), sign)


def _of_complex(real: Callable[[Any], Any], complex: Callable[[Any], Any]) -> Callable[[Any], Operand]:
    return lambda x: (complex if dtype_of(x).is_complex else real)(x)


SPECIAL: dict[str, Callable[..., Any]] = {
    "erf": _of_complex(special.erf, scipy_special.erf_of_complex),
    "erfc": _of_complex(special.erfc, scipy_special.erfc_of_complex),
    "round": arithmetic.round,
    "xlogy": scipy_special.log_of_power,
    "xlog1py": scipy_special.log_of_power1p,
    "gammasgn": _sign_of_gamma,
    "expm1": explog.expm1,
    "log1p": explog.log1p,
    "erfcinv": special.erfcinv,
    "expit": nn.sigmoid,
    "log_expit": nn.log_sigmoid,
    "expn": scipy_special.expn,
    "voigt_profile": _in_double(_voigt),
    "wofz": lambda z: scipy_special.wofz_op(as_complex(z)),
    "_lambertw": _lambertw,
    "_zeta": special.zeta,
    "_riemann_zeta": scipy_special.riemann_zeta,
    "sici": lambda x: (scipy_special.sinint(x), scipy_special.cosint(x)),
    "shichi": lambda x: (scipy_special.sinhint(x), scipy_special.coshint(x)),
    "fresnel": lambda x: (special.fresnel_sin(x), special.fresnel_cos(x)),
    "airy": lambda x: tuple([bessel_orders.airy(x, which=i) for i in range(4)]),
    "kn": lambda n, x: bessel_orders.bessel_kv(np.trunc(n), x),
    "yn": lambda n, x: bessel_orders.bessel_yv(np.trunc(n), x),
    "jve": bessel_orders.bessel_jv,
    "loggamma": special.lgamma,
    "chdtr": lambda v, x: special.igamma(v / 2, x / 2),
    "chdtrc": lambda v, x: special.igammac(v / 2, x / 2),
    "chdtri": lambda v, p: 2 * scipy_special.gammainccinv(v / 2, p),
    "pdtri": lambda k, p: scipy_special.gammainccinv(np.floor(k) + 1, p),
    "fdtri": _fdtri,
    "ellipj": _ellipj,
    "hankel1": _hankel(1.0),
    "hankel2": _hankel(-1.0),
    "eval_sh_jacobi": lambda n, p, q, x: (
        orthogonal.eval_jacobi(n, p - q, q - 1, 2 * x - 1) / scipy_special.binom(2 * n + p - 1, n)
    ),
    "gdtr": lambda a, b, x: special.igamma(b, a * x),
    "gdtrc": lambda a, b, x: special.igammac(b, a * x),
    "pdtr": lambda k, m: special.igammac(np.floor(k) + 1, m),
    "pdtrc": lambda k, m: special.igamma(np.floor(k) + 1, m),
    "fdtr": ratio_distributions.fdtr,
    "fdtrc": ratio_distributions.fdtrc,
    "bdtr": _bdtr,
    "bdtrc": lambda k, n, p: special.betainc(np.floor(k) + 1, np.trunc(n) - np.floor(k), p),
    "nbdtr": lambda k, n, p: special.betainc(np.trunc(n), np.trunc(k) + 1, p),
    "nbdtrc": lambda k, n, p: scipy_special.betaincc(np.trunc(n), np.trunc(k) + 1, p),
    "agm": _in_double(_agm),
    "radian": lambda d, m, s: (d + m / 60 + s / 3600) * (np.pi / 180),
    "cosdg": lambda x: np.cos(x * (np.pi / 180)),
    "sindg": lambda x: np.sin(x * (np.pi / 180)),
    "tandg": lambda x: np.tan(x * (np.pi / 180)),
    "cotdg": lambda x: 1 / np.tan(x * (np.pi / 180)),
    "eval_chebyc": lambda n, x: 2 * orthogonal.eval_chebyt(n, x / 2),
    "eval_chebys": lambda n, x: orthogonal.eval_chebyu(n, x / 2),
    "eval_sh_legendre": lambda n, x: orthogonal.eval_legendre(n, 2 * x - 1),
    "eval_sh_chebyt": lambda n, x: orthogonal.eval_chebyt(n, 2 * x - 1),
    "eval_sh_chebyu": lambda n, x: orthogonal.eval_chebyu(n, 2 * x - 1),
}
"""By the name of the ufunc, or of the one that a function of SciPy's hands its arguments to."""
