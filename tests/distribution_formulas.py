"""Distributions of SciPy's in closed form with mpmath, and the points at which `tests.distribution_truths` looks."""

from collections.abc import Callable
from typing import Any

try:
    from mpmath import mp
except ImportError:  # the data is read without it
    mp = None

Formula = Callable[..., Any]
_REAL = (-1e3, -40.0, -7.5, -1.0, -1e-9, 0.0, 0.5, 2.0, 40.0, 1e3)
_POSITIVE = (0.0, 1e-9, 0.01, 0.3, 1.0, 3.7, 60.0, 1e4)
_UNIT = (0.0, 1e-9, 0.02, 0.3, 0.5, 0.9, 1 - 2.0**-20, 1.0)
_OPEN = (0.3, 1.0, 2.0, 3.1, 40.0)
_PAIRS = ((0.5, 0.5), (1.0, 1.0), (1.0, 2.0), (2.0, 1.0), (2.5, 0.7), (10.5, 4.3))


def P(a: Any, x: Any) -> Any:
    return mp.gammainc(a, 0, x, regularized=True)


def Q(a: Any, x: Any) -> Any:
    return mp.gammainc(a, x, mp.inf, regularized=True)


def B(a: Any, b: Any, x: Any) -> Any:
    return mp.betainc(a, b, 0, x, regularized=True)


def power_log(e: Any, x: Any) -> Any:
    return mp.mpf(0) if e == 0 else e * mp.log(x)


def logbeta(a: Any, b: Any) -> Any:
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def normal(x: Any) -> Any:
    return -x * x / 2 - mp.log(2 * mp.pi) / 2


def Phi(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def gamma(x: Any, a: Any) -> Any:
    return power_log(a - 1, x) - x - mp.loggamma(a)


def log1p_over(x: Any, c: Any) -> Any:
    return x if c == 0 else mp.log1p(c * x) / c


def sech(x: Any) -> Any:
    return 1 / mp.cosh(x)


class Truth:
    """A distribution: its log density, both tails, the points to look at."""

    def __init__(
        self, logpdf: Formula, cdf: Formula | None = None, sf: Formula | None = None, *, x: Any = _POSITIVE,
        shapes: Any = ((),), ends: Any = lambda *s: (0, None), slopes: Any = None, kinks: tuple[float, ...] = (),
        whole: tuple[int, ...] = (), digits: int = 110,
    ) -> None:  # fmt: skip
        self.logpdf, self.cdf, self.sf, self.ends = logpdf, cdf, sf, ends
        self.slopes, self.kinks, self.whole, self.digits = slopes, kinks, whole, digits
        shapes = [s if isinstance(s, tuple) else (s,) for s in shapes]
        self.points = [(at, *s) for s in shapes for at in (x(*s) if callable(x) else x)]
        self.discrete = False


class Discrete(Truth):
    """The same, of whole numbers: no slopes in x."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.discrete = True


def line(*_: Any) -> Any:
    return None, None


def between(*_: Any) -> Any:
    return 0, 1


def mirrored(tail: Formula) -> dict[str, Formula]:
    """Both tails of a symmetric distribution, from the lower one at x <= 0."""
    return {
        "cdf": lambda x, *s: tail(x, *s) if x <= 0 else 1 - tail(-x, *s),
        "sf": lambda x, *s: 1 - tail(x, *s) if x < 0 else tail(-x, *s),
    }


def exponential(log: Formula) -> dict[str, Formula]:
    """Both tails from the logarithm of the upper one."""
    return {"cdf": lambda *a: -mp.expm1(log(*a)), "sf": lambda *a: mp.exp(log(*a))}


def lower(log: Formula) -> dict[str, Formula]:
    """Both tails from the logarithm of the lower one."""
    return {"sf": lambda *a: -mp.expm1(log(*a)), "cdf": lambda *a: mp.exp(log(*a))}


def of_normal(z: Formula) -> dict[str, Formula]:
    return {"cdf": lambda *a: Phi(z(*a)), "sf": lambda *a: Phi(-z(*a))}


def inverse_gauss(x: Any, mu: Any) -> Any:
    return -mp.log(2 * mp.pi * x**3) / 2 - (x / mu - 1) ** 2 / (2 * x)


def skewnorm_cdf(x: Any, a: Any) -> Any:
    """The integral relative to the density at x, in units of the rate at which that falls off below x."""
    with mp.workdps(30):
        x, a = +x, +a
        density = normal(x) + mp.log(Phi(a * x))
        rate = max(abs(-x + a * mp.npdf(a * x) / Phi(a * x)), 1)
        cuts = [mp.mpf(c) / rate for c in (0, 1, 3, 8, 20, 60)]
        cuts = [*[c for c in cuts if c < 30], 30, 60]
        total = mp.quad(lambda u: mp.exp(normal(x - u) + mp.log(Phi(a * (x - u))) - density), cuts)
        return 2 * mp.exp(density) * total


def student(x: Any, df: Any) -> Any:
    return (
        mp.loggamma((df + 1) / 2) - mp.loggamma(df / 2) - mp.log(df * mp.pi) / 2 - (df + 1) / 2 * mp.log1p(x * x / df)
    )


def student_tail(x: Any, df: Any) -> Any:
    if x * x < df:
        return mp.mpf(1) / 2 - B(mp.mpf(1) / 2, df / 2, x * x / (df + x * x)) / 2
    return B(df / 2, mp.mpf(1) / 2, df / (df + x * x)) / 2


def beta(x: Any, a: Any, b: Any) -> Any:
    return power_log(a - 1, x) + (mp.mpf(0) if b == 1 else (b - 1) * mp.log1p(-x)) - logbeta(a, b)


def fisher(x: Any, n: Any, m: Any) -> Any:
    start = (m * mp.log(m) + n * mp.log(n)) / 2 + power_log(n / 2 - 1, x)
    return start - (n + m) / 2 * mp.log(m + n * x) - logbeta(n / 2, m / 2)


def skewed_tails(x: Any, k: Any) -> tuple[Any, Any]:
    if x >= 0:
        up = mp.exp(-k * x) / (k * (k + 1 / k))
        return 1 - up, up
    low = mp.exp(x / k) * k / (k + 1 / k)
    return low, 1 - low


def triangle_tails(x: Any, c: Any) -> tuple[Any, Any]:
    if x < c:
        return x * x / c, 1 - x * x / c
    up = (1 - x) ** 2 / (1 - c) if c < 1 else mp.mpf(0)
    return 1 - up, up


def log_i0(z: Any) -> Any:
    return mp.log(mp.besseli(0, z))


def continuous() -> dict[str, Truth]:
    log, exp, pi, lg, half = mp.log, mp.exp, mp.pi, mp.loggamma, mp.mpf(1) / 2
    real = {"x": _REAL, "ends": line}
    unit = {"x": _UNIT, "ends": between}
    one = {"shapes": _OPEN}
    two = {"shapes": _PAIRS}
    signed = (-2.5, -1.0, -0.3, -1e-9, 0.0, 1e-9, 1e-3, 0.3, 1.0, 3.0)
    gamma_ = Truth(gamma, lambda x, a: P(a, x), lambda x, a: Q(a, x), **one)
    loguniform = Truth(
        lambda x, a, b: -log(x) - log(log(b / a)),
        lambda x, a, b: log(x / a) / log(b / a),
        lambda x, a, b: log(b / x) / log(b / a),
        x=lambda a, b: (a, 1.2 * a, (a * b) ** 0.5, 0.99 * b, b),
        shapes=((0.6, 3.1), (1.0, 2.0), (1e-3, 1e3)),
        ends=lambda a, b: (a, b),
    )

    def dweibull_tail(x: Any, c: Any) -> Any:
        return exp(-(abs(x) ** c)) / 2

    def truncated(x: Any, a: Any, b: Any) -> Any:
        return Phi(b) - Phi(a) if a <= 0 else Phi(-a) - Phi(-b)

    def gev(x: Any, c: Any) -> Any:
        return -log1p_over(x, -c)

    return {
        "norm": Truth(normal, **of_normal(lambda x: x), **real),
        "halfnorm": Truth(lambda x: normal(x) + log(2), lambda x: mp.erf(x / mp.sqrt(2)), lambda x: 2 * Phi(-x)),
        "lognorm": Truth(lambda x, s: normal(log(x) / s) - log(s * x), **of_normal(lambda x, s: log(x) / s), **one),
        "truncnorm": Truth(
            lambda x, a, b: normal(x) - log(truncated(x, a, b)),
            lambda x, a, b: truncated(x, a, x) / truncated(x, a, b),
            lambda x, a, b: truncated(x, x, b) / truncated(x, a, b),
            x=lambda a, b: (a, a + 1e-3 * (b - a), a + 0.4 * (b - a), b - 1e-3 * (b - a), b),
            shapes=(
                (-0.7, 1.9),
                (-1.0, 1.0),
                (0.0, 1.0),
                (-1.0, 0.0),
                (2.0, 3.0),
                (30.0, 31.0),
                (-31.0, -30.0),
                (-5.0, 40.0),
                (0.0, 1e-9),
            ),
            ends=lambda a, b: (a, b),
        ),
        "skewnorm": Truth(
            lambda x, a: log(2) + normal(x) + log(Phi(a * x)),
            skewnorm_cdf,
            lambda x, a: skewnorm_cdf(-x, -a),
            x=(-9.0, -4.7, -1.0, -1e-9, 0.0, 0.5, 1.0, 3.0, 9.0),
            ends=line,
            shapes=(-4.0, -1.0, 0.0, 1e-9, 1.0, 4.0),
            slopes=(lambda x, a: -exp(-(x * x) * (1 + a * a) / 2) / (pi * (1 + a * a)),),
        ),
        "powernorm": Truth(
            lambda x, c: log(c) + normal(x) + (mp.mpf(0) if c == 1 else (c - 1) * log(Phi(-x))),
            **exponential(lambda x, c: c * log(Phi(-x))),
            x=(-30.0, -13.8, -3.0, -1.0, 0.0, 1.0, 3.0, 20.0),
            ends=line,
            **one,
            digits=330,
        ),
        "foldnorm": Truth(
            lambda x, c: log(exp(normal(x + c)) + exp(normal(x - c))),
            lambda x, c: Phi(x - c) - Phi(-x - c) if x < c + 1 else 1 - Phi(c - x) - Phi(-x - c),
            lambda x, c: Phi(c - x) + Phi(-x - c),
            x=(0.0, 1e-12, 0.01, 0.3, 1.0, 2.0, 3.7, 15.0, 60.0),
            shapes=(0.0, 1e-6, 0.5, 1.0, 1.95, 10.0),
        ),
        "johnsonsu": Truth(
            lambda x, a, b: log(b) - mp.log1p(x * x) / 2 + normal(a + b * mp.asinh(x)),
            **of_normal(lambda x, a, b: a + b * mp.asinh(x)),
            x=(-1e8, -40.0, -1.0, -1e-9, 0.0, 1.0, 7.5, 1e3, 1e8),
            ends=line,
            shapes=((0.0, 1.0), (1.0, 1.0), (0.4, 1.3), (2.5, 2.2), (-2.0, 0.5)),
        ),
        "johnsonsb": Truth(
            lambda x, a, b: log(b) - log(x) - mp.log1p(-x) + normal(a + b * log(x / (1 - x))),
            **of_normal(lambda x, a, b: a + b * log(x / (1 - x))),
            **unit,
            shapes=((0.0, 1.0), (1.0, 1.0), (0.4, 1.3), (2.5, 2.2), (-2.0, 0.5)),
        ),
        "fatiguelife": Truth(
            lambda x, c: mp.log1p(x) - (x - 1) ** 2 / (2 * x * c * c) - log(2 * c) - log(2 * pi) / 2 - 3 * log(x) / 2,
            **of_normal(lambda x, c: (mp.sqrt(x) - 1 / mp.sqrt(x)) / c),
            **one,
        ),
        "invgauss": Truth(inverse_gauss, **one),
        "wald": Truth(lambda x: inverse_gauss(x, 1)),
        "norminvgauss": Truth(
            lambda x, a, b: (
                log(a / pi)
                + log(mp.besselk(1, a * mp.sqrt(1 + x * x)))
                + b * x
                + mp.sqrt(a * a - b * b)
                - mp.log1p(x * x) / 2
            ),
            x=(-40.0, -1.0, -1e-9, 0.0, 2.0, 1e3),
            ends=line,
            shapes=((1.0, 0.0), (1.6, -0.4), (0.1, 0.05), (30.0, 29.0)),
        ),
        "levy": Truth(
            lambda x: -log(2 * pi * x**3) / 2 - 1 / (2 * x),
            lambda x: mp.erfc(1 / mp.sqrt(2 * x)),
            lambda x: mp.erf(1 / mp.sqrt(2 * x)),
        ),
        "moyal": Truth(
            lambda x: -(x + exp(-x)) / 2 - log(2 * pi) / 2,
            lambda x: mp.erfc(exp(-x / 2) / mp.sqrt(2)),
            lambda x: mp.erf(exp(-x / 2) / mp.sqrt(2)),
            x=(-5.0, *_REAL[3:-1]),
            ends=line,
        ),
        "gamma": gamma_,
        "erlang": Truth(gamma, lambda x, a: P(a, x), lambda x, a: Q(a, x), shapes=(1.0, 2.0, 5.0)),
        "chi2": Truth(
            lambda x, k: gamma(x / 2, k / 2) - log(2), lambda x, k: P(k / 2, x / 2), lambda x, k: Q(k / 2, x / 2), **one
        ),
        "chi": Truth(
            lambda x, k: (1 - k / 2) * log(2) - lg(k / 2) + power_log(k - 1, x) - x * x / 2,
            lambda x, k: P(k / 2, x * x / 2),
            lambda x, k: Q(k / 2, x * x / 2),
            **one,
        ),
        "invgamma": Truth(
            lambda x, a: -(a + 1) * log(x) - lg(a) - 1 / x, lambda x, a: Q(a, 1 / x), lambda x, a: P(a, 1 / x), **one
        ),
        "gengamma": Truth(
            lambda x, a, c: log(abs(c)) + power_log(c * a - 1, x) - x**c - lg(a),
            lambda x, a, c: P(a, x**c) if c > 0 else Q(a, x**c),
            lambda x, a, c: Q(a, x**c) if c > 0 else P(a, x**c),
            shapes=(*_PAIRS, (1.0, -1.0), (1.7, -0.6)),
        ),
        "loggamma": Truth(
            lambda x, c: c * x - exp(x) - lg(c),
            lambda x, c: P(c, exp(x)),
            lambda x, c: Q(c, exp(x)),
            x=(-1e4, -1e3, -40.0, -7.5, -1.0, -1e-9, 0.0, 1.0, 2.0, 4.0, 6.0),
            ends=line,
            shapes=(1e-3, *_OPEN),
        ),
        "maxwell": Truth(
            lambda x: log(2 / pi) / 2 + 2 * log(x) - x * x / 2,
            lambda x: P(3 * half, x * x / 2),
            lambda x: Q(3 * half, x * x / 2),
        ),
        "nakagami": Truth(
            lambda x, v: log(2) + v * log(v) - lg(v) + power_log(2 * v - 1, x) - v * x * x,
            lambda x, v: P(v, v * x * x),
            lambda x, v: Q(v, v * x * x),
            shapes=(0.5, 1.0, 1.5, 2.0, 3.1, 40.0),
        ),
        "gennorm": Truth(
            lambda x, b: log(b / 2) - lg(1 / b) - abs(x) ** b,
            **mirrored(lambda x, b: Q(1 / b, abs(x) ** b) / 2),
            x=(-7.5, -1.0, -1e-9, 0.0, 0.5, 2.0, 7.5),
            ends=line,
            shapes=(0.3, 1.0, 2.0, 3.1),
            kinks=(0.0,),
        ),
        "dgamma": Truth(lambda x, a: gamma(abs(x), a) - log(2), **real, **one, kinks=(0.0,)),
        "t": Truth(
            student,
            **mirrored(student_tail),
            x=(*_REAL, 1e-4, 1e-2, 60.0),
            ends=line,
            shapes=(0.3, 1.0, 2.0, 3.1, 9.0, 40.0, 1e5),
        ),
        "vonmises": Truth(
            lambda x, k: k * mp.cos(x) - log(2 * pi) - log_i0(k),
            x=(-3.0, -1.0, 0.0, 1e-9, 0.7, 2.0, 3.14),
            ends=line,
            shapes=(0.0, 1e-9, 0.1, 1.0, 2.0, 30.0, 1e4),
        ),
        "rice": Truth(
            lambda x, b: log(x) - (x * x + b * b) / 2 + log_i0(x * b),
            x=_POSITIVE[:-1],
            shapes=(0.0, 1e-9, 0.3, 1.0, 2.0, 60.0),
        ),
        "beta": Truth(beta, lambda x, a, b: B(a, b, x), lambda x, a, b: B(b, a, 1 - x), **unit, **two),
        "betaprime": Truth(
            lambda x, a, b: power_log(a - 1, x) - (a + b) * mp.log1p(x) - logbeta(a, b),
            lambda x, a, b: B(a, b, x / (1 + x)),
            lambda x, a, b: B(b, a, 1 / (1 + x)),
            **two,
            x=(*_POSITIVE, 1e10, 1e20),
        ),
        "f": Truth(
            fisher,
            lambda x, n, m: B(n / 2, m / 2, n * x / (n * x + m)),
            lambda x, n, m: B(m / 2, n / 2, m / (n * x + m)),
            shapes=(*_PAIRS, (2.0, 4.0), (4.0, 3.0), (7.0, 11.0)),
        ),
        "cauchy": Truth(
            lambda x: -log(pi) - mp.log1p(x * x),
            lambda x: mp.atan2(1, -x) / pi,
            lambda x: mp.atan2(1, x) / pi,
            x=(*_REAL, -1e14, 1e14),
            ends=line,
        ),
        "laplace": Truth(lambda x: -log(2) - abs(x), **mirrored(lambda x: exp(-abs(x)) / 2), **real, kinks=(0.0,)),
        "laplace_asymmetric": Truth(
            lambda x, k: (-k * x if x >= 0 else x / k) - log(k + 1 / k),
            lambda x, k: skewed_tails(x, k)[0],
            lambda x, k: skewed_tails(x, k)[1],
            **real,
            shapes=(1e-5, *_OPEN),
            kinks=(0.0,),
        ),
        "logistic": Truth(
            lambda x: -x - 2 * mp.log1p(exp(-x)), lambda x: 1 / (1 + exp(-x)), lambda x: 1 / (1 + exp(x)), **real
        ),
        "genlogistic": Truth(
            lambda x, c: log(c) - x - (c + 1) * mp.log1p(exp(-x)),
            **lower(lambda x, c: -c * mp.log1p(exp(-x))),
            x=_REAL,
            ends=line,
            shapes=(0.3, 0.41, 1.0, 2.0, 40.0),
        ),
        "gumbel_r": Truth(lambda x: -x - exp(-x), **lower(lambda x: -exp(-x)), x=(-6.0, -5.0, *_REAL[3:]), ends=line),
        "gumbel_l": Truth(lambda x: x - exp(x), **exponential(lambda x: -exp(x)), x=(*_REAL[:-3], 4.0, 6.0), ends=line),
        "hypsecant": Truth(
            lambda x: log(sech(x) / pi), lambda x: 2 * mp.atan(exp(x)) / pi, lambda x: 2 * mp.atan(exp(-x)) / pi, **real
        ),
        "dweibull": Truth(
            lambda x, c: log(c / 2) + power_log(c - 1, abs(x)) - abs(x) ** c,
            **mirrored(dweibull_tail),
            x=(-15.0, -2.0, -1.0, -0.3, -1e-9, 0.0, 1e-9, 1.0, 3.0, 9.0),
            ends=line,
            **one,
            kinks=(0.0,),
        ),
        "expon": Truth(lambda x: -x, **exponential(lambda x: -x)),
        "halfcauchy": Truth(
            lambda x: log(2 / pi) - mp.log1p(x * x),
            lambda x: 2 * mp.atan(x) / pi,
            lambda x: 2 * mp.atan2(1, x) / pi,
            x=(*_POSITIVE, 1e14),
        ),
        "halflogistic": Truth(
            lambda x: log(2) - x - 2 * mp.log1p(exp(-x)), lambda x: mp.tanh(x / 2), lambda x: 2 / (1 + exp(x))
        ),
        "rayleigh": Truth(lambda x: log(x) - x * x / 2, **exponential(lambda x: -x * x / 2)),
        "weibull_min": Truth(
            lambda x, c: log(c) + power_log(c - 1, x) - x**c, **exponential(lambda x, c: -(x**c)), **one
        ),
        "weibull_max": Truth(
            lambda x, c: log(c) + power_log(c - 1, -x) - (-x) ** c,
            **lower(lambda x, c: -((-x) ** c)),
            x=tuple(-v for v in _POSITIVE),
            ends=lambda c: (None, 0),
            **one,
        ),
        "invweibull": Truth(
            lambda x, c: log(c) - (c + 1) * log(x) - x ** (-c), **lower(lambda x, c: -(x ** (-c))), **one
        ),
        "exponweib": Truth(
            lambda x, a, c: log(a * c) + power_log(a - 1, -mp.expm1(-(x**c))) - x**c + power_log(c - 1, x),
            **lower(lambda x, a, c: a * log(-mp.expm1(-(x**c)))),
            shapes=(*_PAIRS, (2.9, 1.95)),
            x=(*_POSITIVE[:-2], 7.3, 30.0),
            digits=600,
        ),
        "gompertz": Truth(
            lambda x, c: log(c) + x - c * mp.expm1(x),
            **exponential(lambda x, c: -c * mp.expm1(x)),
            x=(0.0, 1e-9, 0.3, 1.0, 2.0, 5.0),
            **one,
        ),
        "pareto": Truth(
            lambda x, b: log(b) - (b + 1) * log(x),
            **exponential(lambda x, b: -b * log(x)),
            x=(1.0, 1 + 2.0**-30, 1.3, 2.0, 40.0, 1e9),
            ends=lambda b: (1, None),
            **one,
        ),
        "lomax": Truth(
            lambda x, c: log(c) - (c + 1) * mp.log1p(x),
            **exponential(lambda x, c: -c * mp.log1p(x)),
            x=(*_POSITIVE, 1e9),
            **one,
        ),
        "fisk": Truth(
            lambda x, c: log(c) + power_log(c - 1, x) - 2 * mp.log1p(x**c),
            lambda x, c: x**c / (1 + x**c),
            lambda x, c: 1 / (1 + x**c),
            x=(*_POSITIVE, 23000.0),
            **one,
        ),
        "burr": Truth(
            lambda x, c, d: log(c * d) + power_log(c * d - 1, x) - (d + 1) * mp.log1p(x**c),
            **lower(lambda x, c, d: -d * mp.log1p(x ** (-c))),
            x=(*_POSITIVE, 24.0),
            **two,
        ),
        "burr12": Truth(
            lambda x, c, d: log(c * d) + power_log(c - 1, x) - (d + 1) * mp.log1p(x**c),
            **exponential(lambda x, c, d: -d * mp.log1p(x**c)),
            **two,
        ),
        "uniform": Truth(lambda x: 0 * x, lambda x: x, lambda x: 1 - x, **unit),
        "arcsine": Truth(
            lambda x: -log(pi) - (log(x) + mp.log1p(-x)) / 2,
            lambda x: 2 / pi * mp.asin(mp.sqrt(x)),
            lambda x: 2 / pi * mp.asin(mp.sqrt(1 - x)),
            **unit,
        ),
        "powerlaw": Truth(lambda x, a: log(a) + power_log(a - 1, x), **lower(lambda x, a: a * log(x)), **unit, **one),
        "bradford": Truth(
            lambda x, c: log(c) - mp.log1p(c * x) - log(mp.log1p(c)),
            lambda x, c: mp.log1p(c * x) / mp.log1p(c),
            lambda x, c: mp.log((1 + c) / (1 + c * x)) / mp.log1p(c),
            **unit,
            shapes=(1e-9, 1e-3, 0.3, 1.0, 40.0),
        ),
        "triang": Truth(
            lambda x, c: log(2 * x / c) if x < c else log(2 * (1 - x) / (1 - c)) if c < 1 else log(mp.mpf(2)),
            lambda x, c: triangle_tails(x, c)[0],
            lambda x, c: triangle_tails(x, c)[1],
            **unit,
            shapes=(0.0, 0.35, 0.5, 1.0),
            kinks=(0.35, 0.5),
        ),
        "semicircular": Truth(
            lambda x: log(2 / pi) + log(1 - x * x) / 2,
            lambda x: half + (x * mp.sqrt(1 - x * x) + mp.asin(x)) / pi,
            lambda x: half - (x * mp.sqrt(1 - x * x) + mp.asin(x)) / pi,
            x=(-1.0, -1 + 2.0**-20, -0.5, 0.0, 1e-9, 0.3, 0.999, 1.0),
            ends=lambda: (-1, 1),
        ),
        "cosine": Truth(
            lambda x: mp.log1p(mp.cos(x)) - log(2 * pi), x=(-3.0, -1.0, 0.0, 1e-9, 2.0, 3.14159), ends=line
        ),
        "wrapcauchy": Truth(
            lambda x, c: log(1 - c * c) - log(2 * pi) - log(1 + c * c - 2 * c * mp.cos(x)),
            x=(0.0, 1e-9, 0.5, 2.0, 3.0, 6.0),
            ends=lambda c: (0, None),
            shapes=(1e-9, 0.1, 0.4, 0.9, 1 - 1e-6),
        ),
        "loguniform": loguniform,
        "reciprocal": loguniform,
        "truncexpon": Truth(
            lambda x, b: -x - log(-mp.expm1(-b)),
            lambda x, b: mp.expm1(-x) / mp.expm1(-b),
            lambda x, b: mp.expm1(x - b) * exp(-x) / mp.expm1(-b),
            x=lambda b: (0.0, 1e-9 * b, 0.3 * b, 0.5 * b, 0.999 * b, b),
            ends=lambda b: (0, b),
            shapes=(1e-9, 0.1, 1.0, 2.0, 30.0),
        ),
        "genextreme": Truth(
            lambda x, c: gev(x, c) * (1 - c) - exp(gev(x, c)) if c else -x - exp(-x),
            **lower(lambda x, c: -exp(gev(x, c))),
            x=lambda c: tuple(v for v in (-5.0, -2.0, -1.0, -1e-9, 0.0, 0.5, 1.0, 2.0, 7.5, 40.0) if c * v <= 1),
            ends=lambda c: (1 / c if c < 0 else None, 1 / c if c > 0 else None),
            shapes=signed,
        ),
        "genpareto": Truth(
            lambda x, c: -log1p_over(x, c) * (1 + c),
            **exponential(lambda x, c: -log1p_over(x, c)),
            x=lambda c: tuple(
                v for v in (0.0, 1e-9, 0.3, 1.0, 2.0, 7.5, 40.0, 1e4, -1 / c if c < -1e-6 else 1.0) if c * v >= -1
            ),
            ends=lambda c: (0, -1 / c if c < 0 else None),
            shapes=(*signed, -0.5),
        ),
    }


def discrete() -> dict[str, Truth]:
    log, lg = mp.log, mp.loggamma
    share = (1e-9, 0.2, 0.5, 0.9, 1 - 1e-9)

    def choose(n: Any, k: Any) -> Any:
        return lg(n + 1) - lg(k + 1) - lg(n - k + 1)

    return {
        "poisson": Discrete(
            lambda k, m: power_log(k, m) - lg(k + 1) - m,
            lambda k, m: Q(k + 1, m),
            lambda k, m: P(k + 1, m),
            x=(0, 1, 2, 3, 10, 90),
            shapes=(1e-9, 0.5, 1.0, 2.0, 90.0),
        ),
        "bernoulli": Discrete(
            lambda k, p: power_log(k, p) + power_log(1 - k, 1 - p),
            lambda k, p: 1 - p if k < 1 else mp.mpf(1),
            lambda k, p: p if k < 1 else mp.mpf(0),
            x=(0, 1),
            shapes=share,
        ),
        "binom": Discrete(
            lambda k, n, p: choose(n, k) + power_log(k, p) + power_log(n - k, 1 - p),
            lambda k, n, p: mp.mpf(1) if k >= n else B(n - k, k + 1, 1 - p),
            lambda k, n, p: mp.mpf(0) if k >= n else B(k + 1, n - k, p),
            x=lambda n, p: (0, 1, 3, n // 2, n - 1, n),
            shapes=tuple((n, p) for n in (5, 50) for p in share),
            whole=(0,),
        ),
        "nbinom": Discrete(
            lambda k, n, p: lg(n + k) - lg(k + 1) - lg(n) + n * log(p) + power_log(k, 1 - p),
            lambda k, n, p: B(n, k + 1, p),
            lambda k, n, p: B(k + 1, n, 1 - p),
            x=(0, 1, 2, 10, 60),
            shapes=((1.0, 0.5), (3.5, 0.4), (30.0, 0.1), (0.5, 0.99)),
        ),
        "betabinom": Discrete(
            lambda k, n, a, b: choose(n, k) + logbeta(k + a, n - k + b) - logbeta(a, b),
            x=lambda n, a, b: (0, 1, n - 1, n),
            shapes=((5, 1.0, 1.0), (40, 20.0, 2.0), (5, 0.3, 2.0)),
            whole=(0,),
        ),
        "geom": Discrete(
            lambda k, p: power_log(k - 1, 1 - p) + log(p),
            **exponential(lambda k, p: k * mp.log1p(-p)),
            x=(1, 2, 3, 40),
            shapes=share,
        ),
        "logser": Discrete(lambda k, p: k * log(p) - log(k) - log(-mp.log1p(-p)), x=(1, 2, 10), shapes=share),
        "zipf": Discrete(lambda k, a: -a * log(k) - log(mp.zeta(a)), x=(1, 2, 10), shapes=(1.001, 1.5, 2.0, 30.0)),
        "planck": Discrete(
            lambda k, r: log(-mp.expm1(-r)) - r * k,
            **exponential(lambda k, r: -r * (k + 1)),
            x=(0, 1, 10, 400),
            shapes=(1e-9, 0.6, 1.0, 5.0),
        ),
        "dlaplace": Discrete(
            lambda k, a: log(mp.tanh(a / 2)) - a * abs(k), x=(-10, 0, 1, 30), shapes=(1e-9, 0.8, 2.0, 50.0)
        ),
    }
