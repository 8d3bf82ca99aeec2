"""The functions with special values or tails that the table is about, by name: ours, mpmath's, and where to look.

Points are numbers of float32 wherever they are in its range, so that the truths serve both dtypes.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.special as sp

import tape_api as tf

try:
    import mpmath as mp
except ImportError:  # the truths are stored; only making them takes it
    mp = None  # type: ignore[assignment]

Points = Sequence[tuple[float, ...]]


@dataclass(frozen=True)
class Function:
    """A function of the table.

    Parameters
    ----------
    ours, truth : callable
        Of tensors; of numbers of mpmath's.
    points : sequence of tuple of float
    singular : sequence of float
        Where the function or a derivative has none or is infinite, besides 0.
    carries : sequence of bool
        Which arguments carry a derivative; by default all.
    scale : float
        Over which distance the function changes, however large its arguments are.
    digits : int
        How many it takes at ordinary arguments; more where derivatives are so much smaller than the value.
    derivative : callable, optional
        ``derivative(order, *arguments)``, where differences of mpmath's function take too long.
    floor : float
        What truths may be off by, since the function is made of terms that cancel.
    """

    ours: Callable[..., Any]
    truth: Callable[..., Any] | None
    points: Points
    singular: Sequence[float] = ()
    carries: Sequence[bool] = ()
    scale: float = math.inf
    digits: int = 70
    derivative: Callable[..., Any] | None = None
    floor: float = 0.0


def rounded(numbers: Iterable[float]) -> list[float]:
    """In single precision where that has them."""
    with np.errstate(all="ignore"):
        return [float(np.float32(v)) if v == 0 or 1e-37 < abs(v) < 3e38 else float(v) for v in numbers]


TINY = (1e-300, 1e-150, 1e-36, 1e-20, 1e-10, 1e-5, 1e-3)
ORDINARY = (0.011, 0.099, 0.3, 0.5, 0.7, 1.0, 1.3, 2.0, 3.5, 5.0, 8.0, 10.0, 13.0, 18.0, 20.0, 27.0)
BROAD = (40.0, 87.0, 100.0, 150.0, 350.0, 700.0)
LARGE = (1e3, 1e4, 1e6, 1e8)
HUGE = (1e12, 1e16, 1e20, 1e30, 1e38, 1e150, 1e160, 1e300)

POSITIVE = rounded((*TINY, *ORDINARY, *BROAD, *LARGE, *HUGE))
MODERATE = rounded((*TINY, *ORDINARY, *BROAD))
UP = rounded((*TINY, *ORDINARY, *BROAD, *LARGE))
FEW = rounded((1e-300, 1e-20, 1e-5, 0.099, 0.5, 1.0, 2.0, 5.0, 13.0, 50.0, 300.0))
UNIT = [*rounded((*TINY, 0.011, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.9999)), 1 - 2.0**-24, 1 - 2.0**-53]
NEAR_ONE = [1 + 2.0**-52, 1 + 2.0**-23, *rounded((1.0001, 1.01, 1.5, 2.0, 5.0, 100.0, *LARGE, *HUGE))]


def signed(numbers: Iterable[float]) -> list[float]:
    numbers = list(numbers)
    return [*[-v for v in reversed(numbers)], 0.0, *numbers]


def of(numbers: Iterable[float]) -> Points:
    """Points of one argument."""
    return [(v,) for v in numbers]


def grid(*axes: Iterable[float]) -> Points:
    return list(itertools.product(*[rounded(axis) for axis in axes]))


def around(places: Iterable[float]) -> list[float]:
    """Places and their neighbors, at distances that single precision has, too."""
    return [p + d for p in places for d in (0.0, -(2.0**-20), 2.0**-20, -(2.0**-10), 2.0**-10, 0.0625, 0.4375)]


def tail(x: Any) -> Any:
    """The distribution function of the standard normal distribution."""
    return mp.erfc(-x / mp.sqrt(2)) / 2


def sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def inverse(f: Callable[[Any], Any], start: Callable[..., float]) -> Callable[..., Any]:
    """The inverse of an increasing function, by Newton's method from SciPy's value."""

    def solve(*args: Any) -> Any:
        *others, y = args
        x = mp.mpf(float(start(*[float(v) for v in args])))
        for _ in range(60):
            step = (f(*others, x) - y) / mp.diff(lambda t: f(*others, t), x, h=abs(x) * mp.mpf(10) ** (-mp.mp.dps // 3))
            x -= step
            if abs(step) < abs(x) * mp.mpf(10) ** (-mp.mp.dps + 8):
                break
        return x

    return solve


def _gamma_upper(a: Any, x: Any) -> Any:
    with mp.extradps(int(x) + 10):
        return 1 - _gamma_lower(a, x)


def _gamma_lower(a: Any, x: Any) -> Any:
    # the series, whose terms are all positive
    return x**a * mp.exp(-x) * mp.hyp1f1(1, a + 1, x) / mp.gamma(a + 1)


def _beta_lower(a: Any, b: Any, x: Any) -> Any:
    # 15.8.1 of the DLMF: all terms are positive
    return x**a * (1 - x) ** b * mp.hyp2f1(a + b, 1, a + 1, x) / (a * mp.beta(a, b))


def _student(df: Any, t: Any) -> Any:
    if t > 0:
        return 1 - _student(df, -t)
    return _beta_lower(df / 2, mp.mpf(1) / 2, df / (df + t * t)) / 2


def _softmax(*x: Any) -> Any:
    return 1 / (1 + mp.exp(x[1] - x[0]))


def _mp(name: str) -> Callable[..., Any]:
    return lambda *args: getattr(mp, name)(*args)


def _stacked(f: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: f(tf.stack([x, y]))


def _logsumexp(x: Any, y: Any) -> Any:
    high, low = (x, y) if x > y else (y, x)
    return high + mp.log1p(mp.exp(low - high))


PAIRS = [
    (a + d, a)
    for a in rounded((-1e8, -1e4, -100.0, 0.0, 1.0, 100.0, 1e4, 1e8, 1e30))
    for d in (0.0, 1.0, -2.0, 16.0, -32.0, 64.0, -512.0)
]
GELU = 0.044715
_LINEAR_ROOT = rounded((*TINY, *ORDINARY, 35.0, 38.0))

ELEMENTARY = {
    "exp": Function(tf.exp, _mp("exp"), of(signed(MODERATE))),
    "expm1": Function(tf.math.expm1, _mp("expm1"), of(signed(MODERATE))),
    "exp2": Function(sp.exp2, lambda x: mp.mpf(2) ** x, of([*signed(MODERATE), 1023.0, 1023.9375, 127.9375, -1070.0])),
    "exp10": Function(sp.exp10, lambda x: mp.mpf(10) ** x, of([*signed(FEW), 308.0, 38.25, -310.0])),
    "log": Function(tf.math.log, _mp("log"), of(POSITIVE)),
    "log1p": Function(
        tf.math.log1p, _mp("log1p"), of([-1 + 2.0**-53, -1 + 2.0**-24, -0.9375, -0.5, *signed(TINY), *POSITIVE]), [-1]
    ),
    "sqrt": Function(tf.sqrt, _mp("sqrt"), of(POSITIVE)),
    "rsqrt": Function(tf.math.rsqrt, lambda x: 1 / mp.sqrt(x), of(POSITIVE)),
    "cbrt": Function(sp.cbrt, lambda x: mp.sign(x) * mp.cbrt(abs(x)), of([*POSITIVE, *[-v for v in FEW]])),
    "reciprocal": Function(tf.math.reciprocal, lambda x: 1 / x, of(POSITIVE)),
    "hypot": Function(
        np.hypot, lambda x, y: mp.sqrt(x * x + y * y), grid(*[[1e-300, 1e-30, 1.0, 3.0, 1e30, 1e300]] * 2)
    ),
    "atan2": Function(
        tf.atan2,
        lambda y, x: 2 * mp.atan(y / (mp.sqrt(x * x + y * y) + x)),
        grid(*[[1e-300, 1e-30, 1.0, 3.0, 1e30, 1e300]] * 2),
    ),
    "sin": Function(tf.sin, _mp("sin"), of(signed(UP))),
    "cos": Function(tf.cos, _mp("cos"), of(signed(UP))),
    "tan": Function(tf.tan, _mp("tan"), of([*signed(FEW), 1.570796251296997])),
    "asin": Function(tf.asin, _mp("asin"), of([*UNIT, *[-v for v in UNIT]]), [1, -1]),
    "acos": Function(tf.acos, _mp("acos"), of([*UNIT, *[-v for v in UNIT]]), [1, -1]),
    "atan": Function(tf.atan, _mp("atan"), of(signed(POSITIVE))),
    "sinh": Function(tf.sinh, _mp("sinh"), of(signed(MODERATE))),
    "cosh": Function(tf.cosh, _mp("cosh"), of(signed(MODERATE))),
    "tanh": Function(tf.tanh, _mp("tanh"), of(signed(MODERATE))),
    "asinh": Function(tf.asinh, _mp("asinh"), of(signed(POSITIVE))),
    "acosh": Function(tf.acosh, _mp("acosh"), of(NEAR_ONE), [1]),
    "atanh": Function(tf.atanh, _mp("atanh"), of([*UNIT, *[-v for v in UNIT]]), [1, -1]),
    "sinc": Function(np.sinc, lambda x: mp.sinc(mp.pi * x), of(signed((*TINY, *ORDINARY, 0.04, 0.16, 0.17, 1000.5)))),
    "cosm1": Function(sp.cosm1, lambda x: -2 * mp.sin(x / 2) ** 2, of(signed(FEW))),
    "exprel": Function(
        sp.exprel, lambda x: mp.expm1(x) / x if x else mp.mpf(1), of([v for v in signed(MODERATE) if v])
    ),
    "powm1": Function(
        sp.powm1, lambda x, y: mp.expm1(y * mp.log(x)), grid((0.01, 0.5, 1, 1.5, 90), (-3, -0.5, 1e-10, 2))
    ),
    "logit": Function(sp.logit, lambda p: mp.log(p / (1 - p)), of(UNIT), [1]),
    "boxcox": Function(
        sp.boxcox,
        lambda x, k: mp.expm1(k * mp.log(x)) / k if k else mp.log(x),
        grid((1e-20, 0.1, 0.99, 1.5, 1e4), (-2, -1e-3, -1e-9, 1e-9, 1e-3, 0.5, 3)),
    ),
    "boxcox1p": Function(
        sp.boxcox1p,
        lambda x, k: mp.expm1(k * mp.log1p(x)) / k if k else mp.log1p(x),
        grid((1e-20, -0.5, 0.99, 1e4), (-2, -1e-3, -1e-9, 1e-9, 1e-3, 0.5, 3)),
        [-1],
    ),
    "inv_boxcox": Function(
        sp.inv_boxcox, lambda y, k: mp.exp(mp.log1p(k * y) / k), grid((-0.9, 1e-10, 0.3, 2, 9), (1e-9, 1e-3, 0.5, 1))
    ),
    "inv_boxcox1p": Function(
        sp.inv_boxcox1p,
        lambda y, k: mp.expm1(mp.log1p(k * y) / k),
        grid((-0.9, 1e-10, 0.3, 2, 9), (1e-9, 1e-3, 0.5, 1)),
    ),
}

ACTIVATIONS = {
    "sigmoid": Function(tf.sigmoid, sigmoid, of(signed(MODERATE))),
    "log_sigmoid": Function(tf.math.log_sigmoid, lambda x: -mp.log1p(mp.exp(-x)), of(signed(UP))),
    "softplus": Function(tf.nn.softplus, lambda x: mp.log1p(mp.exp(x)), of(signed(MODERATE))),
    "softsign": Function(tf.nn.softsign, lambda x: x / (1 + abs(x)), of([*[-v for v in FEW], *POSITIVE])),
    "silu": Function(tf.nn.silu, lambda x: x * sigmoid(x), of(signed(MODERATE))),
    "gelu": Function(tf.nn.gelu, lambda x: x * tail(x), of(signed(_LINEAR_ROOT))),
    "gelu_approximate": Function(
        lambda x: tf.nn.gelu(x, approximate=True),
        lambda x: x * sigmoid(2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf(GELU) * x**3)),
        of(signed(v for v in _LINEAR_ROOT if v < 30)),
    ),
    "elu": Function(tf.nn.elu, lambda x: x if x > 0 else mp.expm1(x), of([v for v in signed(MODERATE) if v])),
    "selu": Function(
        tf.nn.selu,
        lambda x: mp.mpf(1.0507009873554805) * x if x > 0 else mp.mpf(1.7580993408473766) * mp.expm1(x),
        of([v for v in signed(MODERATE) if v]),
    ),
    "mish": Function(
        lambda x: tf.keras.activations.mish(x), lambda x: x * mp.tanh(mp.log1p(mp.exp(x))), of(signed(MODERATE))
    ),
    "reduce_logsumexp": Function(_stacked(lambda v: tf.reduce_logsumexp(v, 0)), _logsumexp, PAIRS, scale=1.0),
    "logaddexp": Function(np.logaddexp, _logsumexp, PAIRS, scale=1.0),
    "logaddexp2": Function(
        np.logaddexp2, lambda x, y: _logsumexp(x * mp.log(2), y * mp.log(2)) / mp.log(2), PAIRS, scale=1.0
    ),
    "cumulative_logsumexp": Function(
        _stacked(lambda v: tf.math.cumulative_logsumexp(v)[1]), _logsumexp, PAIRS, scale=1.0
    ),
    "scipy_logsumexp": Function(_stacked(lambda v: sp.logsumexp(v, axis=0)), _logsumexp, PAIRS, scale=1.0),
    "scipy_logsumexp_weighted": Function(
        _stacked(lambda v: sp.logsumexp(v, axis=0, b=np.array([[2.0], [0.5]], v.dtype.as_numpy_dtype))),
        lambda x, y: _logsumexp(x + mp.log(2), y - mp.log(2)),
        PAIRS,
        scale=1.0,
    ),
    "softmax": Function(_stacked(lambda v: tf.nn.softmax(v, axis=0)[0]), _softmax, PAIRS, scale=1.0),
    "scipy_softmax": Function(_stacked(lambda v: sp.softmax(v, axis=0)[0]), _softmax, PAIRS, scale=1.0),
    "log_softmax": Function(
        _stacked(lambda v: tf.nn.log_softmax(v, axis=0)[0]), lambda x, y: -mp.log1p(mp.exp(y - x)), PAIRS, scale=1.0
    ),
    "scipy_log_softmax": Function(
        _stacked(lambda v: sp.log_softmax(v, axis=0)[0]), lambda x, y: -mp.log1p(mp.exp(y - x)), PAIRS, scale=1.0
    ),
}

ENTROPIES = {
    "entr": Function(sp.entr, lambda x: -x * mp.log(x), of(POSITIVE)),
    "rel_entr": Function(
        sp.rel_entr,
        lambda x, y: x * mp.log(x / y),
        grid((1e-300, 1e-30, 0.3, 1.0, 7.0, 1e30), (1e-30, 0.3, 1.0, 7.0, 1e30)),
    ),
    "kl_div": Function(
        sp.kl_div,
        lambda x, y: x * mp.log(x / y) - x + y,
        grid((1e-300, 1e-30, 0.3, 1.0, 7.0, 1e30), (1e-30, 0.3, 1.0, 7.0, 1e30)),
    ),
    "xlogy": Function(sp.xlogy, lambda x, y: x * mp.log(y), grid((-3, 0, 1e-30, 1, 1e30), (1e-300, 0.3, 1, 7, 1e30))),
    "xlog1py": Function(
        sp.xlog1py, lambda x, y: x * mp.log1p(y), grid((-3, 0, 1e-30, 1, 1e30), (-0.9, 1e-300, 0.3, 1, 7, 1e30)), [-1]
    ),
    "pseudo_huber": Function(
        sp.pseudo_huber,
        lambda d, r: d * r * r / d / (mp.sqrt(1 + (r / d) ** 2) + 1),
        grid((0.01, 1, 50), (-1e20, -3, -1e-3, 1e-10, 0.3, 1e3)),
    ),
}

ERRORS = {
    "erf": Function(tf.math.erf, _mp("erf"), of(signed(_LINEAR_ROOT))),
    "erfc": Function(tf.math.erfc, _mp("erfc"), of(signed(_LINEAR_ROOT))),
    "erfi": Function(sp.erfi, _mp("erfi"), of(signed((*TINY, *ORDINARY[:-3], 26.0)))),
    "erfcx": Function(
        sp.erfcx, lambda x: mp.exp(x * x) * mp.erfc(x), of([*[-v for v in (*TINY, *ORDINARY[:-3], 26.0)], *UP, *HUGE])
    ),
    "erfinv": Function(tf.math.erfinv, _mp("erfinv"), of([*UNIT, *[-v for v in UNIT]]), [1, -1]),
    "erfcinv": Function(
        tf.math.erfcinv,
        inverse(lambda x: -mp.erfc(x), lambda y: sp.erfcinv(-y)),
        of([*[v for v in UNIT if v < 0.6], *[2 - v for v in UNIT if 1e-8 < v < 0.9]]),
        [2],
    ),
    "dawsn": Function(
        sp.dawsn,
        lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x),
        of(signed((*TINY, *ORDINARY, *BROAD, 1e4))),
    ),
    "ndtr": Function(sp.ndtr, tail, of(signed(_LINEAR_ROOT))),
    "log_ndtr": Function(sp.log_ndtr, lambda x: mp.log1p(-tail(-x)) if x > 0 else mp.log(tail(x)), of(signed(UP))),
    "ndtri": Function(sp.ndtri, inverse(tail, sp.ndtri), of(UNIT), [1]),
    "ndtri_exp": Function(
        sp.ndtri_exp, inverse(lambda x: mp.log(tail(x)), sp.ndtri_exp), of([-v for v in UP if 1e-6 < v < 2e4])
    ),
    "owens_t": Function(
        sp.owens_t,
        lambda h, a: mp.quad(lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), [0, a]) / (2 * mp.pi),
        grid((-2, 0.3, 1, 4), (-1, 0.3, 1, 2)),
    ),
    "fresnel_sin": Function(tf.math.special.fresnel_sin, _mp("fresnels"), of(signed((*TINY, *ORDINARY, 100.0)))),
    "fresnel_cos": Function(tf.math.special.fresnel_cos, _mp("fresnelc"), of(signed((*TINY, *ORDINARY, 100.0)))),
    "spence": Function(
        sp.spence, lambda x: mp.polylog(2, 1 - x), of([*UNIT[2:], 1.0, *[1 + v for v in UNIT if 1e-8 < v < 0.9]]), [1]
    ),
    "expi": Function(sp.expi, _mp("ei"), of([v for v in signed(MODERATE) if v])),
    "exp1": Function(sp.exp1, _mp("e1"), of(MODERATE)),
    "expn": Function(sp.expn, lambda n, x: mp.expint(n, x), grid((0, 1, 2, 5), MODERATE[2:]), carries=[False, True]),
    "sinint": Function(lambda x: sp.sici(x)[0], _mp("si"), of(signed((*TINY, *ORDINARY, 100.0, 1e4)))),
    "cosint": Function(lambda x: sp.sici(x)[1], _mp("ci"), of((*TINY, *ORDINARY, 100.0, 1e4))),
    "sinhint": Function(lambda x: sp.shichi(x)[0], _mp("shi"), of(signed((*TINY, *ORDINARY, 100.0)))),
    "coshint": Function(lambda x: sp.shichi(x)[1], _mp("chi"), of((*TINY, *ORDINARY, 100.0))),
    "wrightomega": Function(
        sp.wrightomega, lambda z: mp.lambertw(mp.exp(z)).real, of([*signed((*TINY, *ORDINARY, 100.0, 700.0)), 1e4])
    ),
    "lambertw": Function(
        lambda x: tf.math.real(sp.lambertw(x)),
        lambda x: mp.lambertw(x).real,
        of([-0.36, -0.3, -0.1, -1e-5, -1e-20, *POSITIVE]),
        [-0.36787944117144233],
    ),
}

_POLES = [0.0, -1.0, -2.0, -3.0, -10.0]
_NEAR_POLES = around(_POLES)

GAMMA = {
    "lgamma": Function(
        tf.math.lgamma,
        lambda x: mp.log(abs(mp.gamma(x))) if x < 100 else mp.loggamma(x),
        of([*[v for v in _NEAR_POLES if v != round(v)], *POSITIVE, 1 + 2.0**-20, 2 - 2.0**-20]),
        _POLES,
    ),
    "digamma": Function(
        tf.math.digamma,
        _mp("digamma"),
        of([*[v for v in _NEAR_POLES if v != round(v)], *POSITIVE, 1.4616321325302124]),
        _POLES,
    ),
    "polygamma": Function(
        lambda n, x: tf.math.polygamma(n, x),
        lambda n, x: mp.polygamma(int(n), x),
        grid((0, 1, 2, 5), (1e-5, 0.3, 1, 2, 10, 50, 1e3, 1e8)),
        carries=[False, True],
    ),
    "gamma": Function(
        sp.gamma, _mp("gamma"), of([*[v for v in _NEAR_POLES if v != round(v)], *FEW, 34.0, 170.0, -170.5]), _POLES
    ),
    "rgamma": Function(sp.rgamma, _mp("rgamma"), of([*_NEAR_POLES, *FEW, 34.0, 170.0, -170.0])),
    "beta": Function(
        sp.beta,
        _mp("beta"),
        [*grid((1e-10, 0.5, 1, 3, 200), (1e-10, 0.5, 1, 3, 200)), (0.5, -1.5), (-0.5, 0.5), (1.5, -3.5), (-0.5, 2.0)],
    ),
    "betaln": Function(
        sp.betaln,
        lambda a, b: mp.log(abs(mp.beta(a, b))),
        [*grid((1e-10, 0.5, 1, 3, 200, 1e8), (1e-10, 0.5, 1, 3, 200)), (-0.5, 2.0), (1.5, -3.25), (-0.5, 0.25)],
    ),
    "binom": Function(
        sp.binom,
        lambda n, k: mp.binomial(n, k),
        [*grid((0.5, 1, 3, 10, 50), (-1, 0, 0.5, 1, 2, 3, 5, 7)), (-0.5, 2.0), (-2.5, 3.0), (5.0, 6.0), (4.0, -2.0)],
    ),
    "poch": Function(
        sp.poch,
        lambda z, m: mp.rf(z, m),
        [*grid((0.5, 1, 3, 20), (0, 0.5, 1, 3, 10)), (-1.0, 2.0), (-2.0, 3.0), (-0.5, 2.0), (0.0, 2.0)],
    ),
    "multigammaln": Function(
        lambda a: sp.multigammaln(a, 2),
        lambda a: mp.log(mp.pi) / 2 + mp.loggamma(a) + mp.loggamma(a - 0.5),
        of([0.5 + v for v in ORDINARY] + [0.5 + 2.0**-20, 1e4, 1e8]),
        [0.5],
    ),
    "zeta": Function(
        tf.math.zeta,
        lambda x, q: mp.zeta(x, q),
        grid((1.001, 1.5, 2, 10, 50), (0.01, 0.5, 1, 7, 100)),
        [1],
        carries=[False, True],
    ),
    "zetac": Function(
        sp.zetac, lambda x: mp.zeta(x) - 1, of([-9.5, -2.5, -0.5, 0.0, 0.5, 0.99, 1.01, 2.0, 10.0, 50.0]), [1]
    ),
    "gammainc": Function(
        sp.gammainc, _gamma_lower, grid((1e-10, 0.01, 0.5, 1, 3, 20, 150), (1e-30, 0.01, 0.5, 1, 3, 20, 150, 500))
    ),
    "gammaincc": Function(
        sp.gammaincc, _gamma_upper, grid((1e-10, 0.01, 0.5, 1, 3, 20, 150), (1e-30, 0.01, 0.5, 1, 3, 20, 150, 500))
    ),
    "gammaincinv": Function(
        sp.gammaincinv, inverse(_gamma_lower, sp.gammaincinv), grid((0.5, 1, 3, 20), (1e-20, 0.01, 0.5, 0.99)), [1]
    ),
    "gammainccinv": Function(
        sp.gammainccinv,
        inverse(lambda a, x: _gamma_upper(a, x), sp.gammainccinv),
        grid((0.5, 1, 3, 20), (1e-20, 0.01, 0.5, 0.99)),
        [1],
    ),
    "betainc": Function(
        sp.betainc, _beta_lower, grid((0.1, 1, 5, 60), (0.1, 1, 5, 60), (1e-10, 0.1, 0.5, 0.9, 0.9999)), [1]
    ),
    "betaincc": Function(
        sp.betaincc,
        lambda a, b, x: _beta_lower(b, a, 1 - x),
        grid((0.1, 1, 5, 60), (0.1, 1, 5, 60), (1e-10, 0.1, 0.5, 0.9, 0.9999)),
        [1],
    ),
    "betaincinv": Function(
        sp.betaincinv, inverse(_beta_lower, sp.betaincinv), grid((0.5, 1, 5), (0.5, 1, 5), (1e-10, 0.1, 0.5, 0.9)), [1]
    ),
    "chdtr": Function(sp.chdtr, lambda v, x: _gamma_lower(v / 2, x / 2), grid((0.5, 2, 7, 100), (0.1, 1, 7, 100, 300))),
    "chdtrc": Function(
        sp.chdtrc, lambda v, x: _gamma_upper(v / 2, x / 2), grid((0.5, 2, 7, 100), (0.1, 1, 7, 100, 300))
    ),
    "gdtr": Function(sp.gdtr, lambda a, b, x: _gamma_lower(b, a * x), grid((0.5, 2), (0.5, 7), (0.1, 7, 100))),
    "gdtrc": Function(sp.gdtrc, lambda a, b, x: _gamma_upper(b, a * x), grid((0.5, 2), (0.5, 7), (0.1, 7, 100))),
    "pdtr": Function(
        sp.pdtr, lambda k, m: _gamma_upper(k + 1, m), grid((0, 2, 30), (1e-20, 0.1, 7, 100)), carries=[False, True]
    ),
    "pdtrc": Function(
        sp.pdtrc, lambda k, m: _gamma_lower(k + 1, m), grid((0, 2, 30), (1e-20, 0.1, 7, 100)), carries=[False, True]
    ),
    "bdtr": Function(
        lambda k, n, p: sp.bdtr(k, n, p),
        lambda k, n, p: _beta_lower(n - k, k + 1, 1 - p),
        grid((0, 2, 7), (8, 30), (1e-10, 0.1, 0.5, 0.999)),
        [1],
        carries=[False, False, True],
    ),
    "bdtrc": Function(
        lambda k, n, p: sp.bdtrc(k, n, p),
        lambda k, n, p: _beta_lower(k + 1, n - k, p),
        grid((0, 2, 7), (8, 30), (1e-10, 0.1, 0.5, 0.999)),
        [1],
        carries=[False, False, True],
    ),
    "nbdtr": Function(
        lambda k, n, p: sp.nbdtr(k, n, p),
        lambda k, n, p: _beta_lower(n, k + 1, p),
        grid((0, 2, 7), (1, 30), (1e-10, 0.1, 0.5, 0.999)),
        [1],
        carries=[False, False, True],
    ),
    "nbdtrc": Function(
        lambda k, n, p: sp.nbdtrc(k, n, p),
        lambda k, n, p: _beta_lower(k + 1, n, 1 - p),
        grid((0, 2, 7), (1, 30), (1e-10, 0.1, 0.5, 0.999)),
        [1],
        carries=[False, False, True],
    ),
    "fdtr": Function(
        sp.fdtr,
        lambda n, d, x: _beta_lower(n / 2, d / 2, n * x / (n * x + d)),
        grid((1, 2, 9), (1, 2, 9), (1e-10, 0.3, 1, 50, 1e8)),
    ),
    "fdtrc": Function(
        sp.fdtrc,
        lambda n, d, x: _beta_lower(d / 2, n / 2, d / (n * x + d)),
        grid((1, 2, 9), (1, 2, 9), (1e-10, 0.3, 1, 50, 1e8)),
    ),
    "stdtr": Function(
        sp.stdtr, _student, grid((1e-3, 0.1, 1, 2, 3.5, 30, 1e3), (-1e8, -30, -3, -0.5, -1e-10, 1e-10, 0.5, 3, 1e4))
    ),
    "stdtrit": Function(
        sp.stdtrit, inverse(_student, sp.stdtrit), grid((0.5, 1, 2, 3.5, 30), (1e-10, 0.01, 0.3, 0.7, 0.99)), [0.5, 1]
    ),
}


def _by_neighbors(bessel: str, sign: int, scaled: bool = False, which: int = 0) -> Callable[..., Any]:
    """The derivatives in x, by DLMF 10.6.1 and 10.29.1: ``sign`` is that of the neighbor above."""

    def plain(n: int, v: Any, x: Any) -> Any:
        factor = -1 if bessel == "besselk" else 1
        terms = [mp.binomial(n, j) * sign**j * getattr(mp, bessel)(v - n + 2 * j, x) for j in range(n + 1)]
        return (mp.mpf(factor) / 2) ** n * mp.fsum(terms)

    def derivative(order: tuple[int, ...], *args: Any) -> Any:
        v, x = (which, *args) if len(args) == 1 else args
        n = order[-1]
        if not scaled:
            return plain(n, v, x)
        return mp.exp(x) * mp.fsum(mp.binomial(n, k) * plain(k, v, x) for k in range(n + 1))

    return derivative


def _bessel(name: str, truth: Callable[..., Any], points: Points) -> Function:
    return Function(getattr(sp, name), truth, points)


_ARCHES = of(v for v in UP if 1e-30 < v < 1e5)
_ARCH = of(signed(v for (v,) in _ARCHES))

_NEIGHBORS = {
    "yv": _by_neighbors("bessely", -1),
    "kv": _by_neighbors("besselk", 1),
    "kve": _by_neighbors("besselk", 1, True),
}
BESSEL = {
    "i0": _bessel("i0", lambda x: mp.besseli(0, x), of(signed(v for v in MODERATE if v > 1e-30))),
    "i1": _bessel("i1", lambda x: mp.besseli(1, x), of(signed(v for v in MODERATE if v > 1e-30))),
    "i0e": _bessel("i0e", lambda x: mp.exp(-abs(x)) * mp.besseli(0, x), [p for p in _ARCH if p[0]]),
    "i1e": _bessel("i1e", lambda x: mp.exp(-abs(x)) * mp.besseli(1, x), [p for p in _ARCH if p[0]]),
    "k0": Function(sp.k0, None, of(v for v in MODERATE if v > 1e-30), derivative=_by_neighbors("besselk", 1, False, 0)),
    "k1": Function(sp.k1, None, of(v for v in MODERATE if v > 1e-30), derivative=_by_neighbors("besselk", 1, False, 1)),
    "k0e": Function(sp.k0e, None, _ARCHES, derivative=_by_neighbors("besselk", 1, True, 0)),
    "k1e": Function(sp.k1e, None, _ARCHES, derivative=_by_neighbors("besselk", 1, True, 1)),
    "j0": _bessel("j0", lambda x: mp.besselj(0, x), _ARCH),
    "j1": _bessel("j1", lambda x: mp.besselj(1, x), _ARCH),
    "y0": Function(sp.y0, None, _ARCHES, derivative=_by_neighbors("bessely", -1, False, 0)),
    "y1": Function(sp.y1, None, _ARCHES, derivative=_by_neighbors("bessely", -1, False, 1)),
    **{
        name: Function(
            getattr(sp, name),
            truth,
            [
                (float(v), x)
                for v in (0, 1, 2, 2.5)
                for x in (*FEW[1:], *([1e4] if name[-1] == "e" else []), *([0.0] if zero and v != 2.5 else []))
            ],
            carries=[False, True],
            derivative=_NEIGHBORS.get(name),
        )
        for name, truth, zero in (
            ("jv", lambda v, x: mp.besselj(v, x), True),
            ("yv", lambda v, x: mp.bessely(v, x), False),
            ("iv", lambda v, x: mp.besseli(v, x), True),
            ("kv", lambda v, x: mp.besselk(v, x), False),
            ("ive", lambda v, x: mp.exp(-abs(x)) * mp.besseli(v, x), False),
            ("kve", lambda v, x: mp.exp(x) * mp.besselk(v, x), False),
        )
    },
    **{
        f"{name} in the order": Function(
            lambda v, x, name=name: getattr(sp, name)(v, x),
            truth,
            grid((0.3, 1, 2.5, 7, 12.5, 30), (0.01, 0.5, 3, 20)),
            carries=[True, False],
        )
        for name, truth in (
            ("jv", lambda v, x: mp.besselj(v, x)),
            ("yv", lambda v, x: mp.bessely(v, x)),
            ("iv", lambda v, x: mp.besseli(v, x)),
            ("kv", lambda v, x: mp.besselk(v, x)),
        )
    },
    "airy_ai": Function(lambda x: sp.airy(x)[0], _mp("airyai"), of(signed((*TINY, *ORDINARY, 40.0)))),
    "airy_bi": Function(lambda x: sp.airy(x)[2], _mp("airybi"), of(signed((*TINY, *ORDINARY, 40.0)))),
    "struve": Function(
        sp.struve, lambda v, x: mp.struveh(v, x), grid((0, 1, 2.5), (1e-10, 0.3, 2, 20)), carries=[False, True]
    ),
    "modstruve": Function(
        sp.modstruve, lambda v, x: mp.struvel(v, x), grid((0, 1, 2.5), (1e-10, 0.3, 2, 20)), carries=[False, True]
    ),
    "spherical_jn": Function(
        lambda x: sp.spherical_jn(1, x),
        lambda x: mp.sqrt(mp.pi / 2 / x) * mp.besselj(1.5, x) if x else mp.mpf(0),
        of((1e-20, 1e-5, 0.01, 0.3, 2.0, 30.0)),
    ),
}

_M = [-1e8, -30.0, -1.0, -0.5, -0.01, -1e-5, -1e-20, 1e-20, 1e-5, 0.01, 0.3, 0.5, 0.9, 1 - 2.0**-10, 1 - 2.0**-20]

OTHERS = {
    "ellipk": Function(sp.ellipk, _mp("ellipk"), of(_M), [1]),
    "ellipkm1": Function(sp.ellipkm1, lambda p: mp.ellipk(1 - p), of([*UNIT[:-2], 1.0, 5.0])),
    "ellipe": Function(sp.ellipe, _mp("ellipe"), of(_M), [1]),
    "ellipkinc": Function(
        sp.ellipkinc,
        lambda phi, m: mp.ellipf(phi, m),
        grid((1e-3, 0.3, 1.0, 1.5, 2.5), (-30, -0.5, 1e-5, 0.02, 0.5, 0.97)),
    ),
    "ellipeinc": Function(
        sp.ellipeinc,
        lambda phi, m: mp.ellipe(phi, m),
        grid((1e-3, 0.3, 1.0, 1.5, 2.5), (-30, -0.5, 1e-5, 0.02, 0.5, 0.97)),
    ),
    "agm": Function(sp.agm, _mp("agm"), grid((1e-20, 0.3, 1, 5, 1e20), (1e-20, 0.3, 1, 5, 1e20))),
    "hyp0f1": Function(
        sp.hyp0f1,
        lambda v, z: mp.hyp0f1(v, z),
        grid((0.5, 1, 4), (-300, -5, -0.1, 1e-10, 0.3, 7, 100)),
        carries=[False, True],
    ),
    "hyp1f1": Function(
        sp.hyp1f1,
        lambda a, b, x: mp.hyp1f1(a, b, x),
        grid((0.5, 2), (1, 3.5), (-30, -5, -0.1, 1e-10, 0.3, 7, 100)),
        carries=[False, False, True],
    ),
    "hyp2f1": Function(
        sp.hyp2f1,
        lambda a, b, c, z: mp.hyp2f1(a, b, c, z),
        grid((0.5, 2), (1.25,), (3.5,), (-30, -0.1, 1e-10, 0.3, 0.9)),
        carries=[False, False, False, True],
    ),
    "hyperu": Function(
        sp.hyperu,
        lambda a, b, x: mp.hyperu(a, b, x),
        grid((0.5, 2), (1.25, 3), (0.01, 0.3, 2, 30)),
        carries=[False, False, True],
    ),
    "voigt_profile": Function(
        sp.voigt_profile,
        lambda x, s, g: _faddeeva_real(x / (s * mp.sqrt(2)), g / (s * mp.sqrt(2))) / (s * mp.sqrt(2 * mp.pi)),
        grid((-3, 0.1, 1, 30), (0.3, 1, 4), (0.01, 1, 5)),
    ),
}


def _faddeeva_real(x: Any, y: Any) -> Any:
    z = mp.mpc(x, y)
    return (mp.exp(-z * z) * mp.erfc(-1j * z)).real


_OF_BETA = ("betainc", "betaincc", "nbdtr", "nbdtrc")
FUNCTIONS: dict[str, Function] = {
    **{name: replace(function, digits=430) for name, function in (ELEMENTARY | ACTIVATIONS).items()},
    **ENTROPIES,
    **{name: replace(function, digits=430) for name, function in ERRORS.items() if name[:5] not in ("ndtri", "erfci")},
    **{name: function for name, function in ERRORS.items() if name[:5] in ("ndtri", "erfci")},
    **{
        name: replace(f, floor=1e-80) if name in ("betainc", "betaincc", "nbdtr", "nbdtrc") else f
        for name, f in GAMMA.items()
    },
    **BESSEL,
    **OTHERS,
}
