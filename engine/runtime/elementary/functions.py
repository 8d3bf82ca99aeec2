"""The elementary functions, each written once, in steps of IEEE arithmetic that machines round alike.

A function takes a *machine* and float64 values, and does nothing but add, subtract, multiply, divide, take roots,
compare, select, and work on bits. On NumPy's arrays (`in_numpy`) the steps compute; on symbols (`c_source`) they write
the C, for vectors of any width. No two steps are ever fused, so the bits are the same everywhere.

float32 has steps of its own (`single.py`), or is computed in float64 and rounded once: where a machine is `single`,
fewer terms do.

The methods are those of Cody and Waite, "Software manual for the elementary functions", 1980 (reduction by constants in
parts), Tang, ACM TOMS 15 and 16, 1989-90 (exp, log), Muller, "Handbook of floating-point arithmetic", 2018 (sums and
products with their errors), Payne and Hanek, SIGNUM 18, 1983 (large angles). Polynomials are minimax, by Remez's
algorithm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from engine.runtime.elementary import single as short_steps
from engine.runtime.elementary.circular import arccos, arcsin, arctan, arctan2, cos, sin, tan
from engine.runtime.elementary.steps import (
    CUBE_ROOT,
    HIGH,
    INFINITY,
    LEAST,
    MAGIC,
    NAN,
    ONE,
    SIGN,
    between,
    horner,
    one_more,
    parts_of,
    polynomial,
    power_of_2,
    product_of,
    quotient_of,
    scaled_by,
    size_of,
    sum_of,
    with_sign_of,
)

_LN2_HIGH, _LN2_LOW = 0.6931471805601177, -1.7239444525614835e-13  # the first has 41 digits
_LOG2_E = 1.4426950408889634


class Function(NamedTuple):
    """A function, and what a ufunc of it has to know."""

    steps: Callable[..., Any]
    """``steps(machine, *operands)``."""
    operands: int
    numpy: str
    """NumPy's ufunc of the same name, which does the dtypes that are not written here; "" if it has none."""
    has_pole: bool
    """Whether an infinite result for finite operands is a pole, not an overflow."""
    underflows: bool
    """Whether a result that is too small for a normal number is an underflow; else it is near the operand."""
    short: Callable[..., Any] | None
    """``short(machine, *operands)`` in single precision, if there is: the value, and where it does not hold, which is
    computed in double precision instead, or False. If it can be too small for any number, where it is so, too."""


# ---- exponentials ----------------------------------------------------------------------------------------------------

# (exp(r) - 1 - r - r**2 / 2) / r**3 for abs(r) <= log(2) / 2
_EXP = (
    *(0.16666666666666677, 0.041666666666666574, 0.008333333333322143, 0.0013888888888945528, 0.00019841269885003296),
    *(2.4801587191417877e-05, 2.7557245219465695e-06, 2.7557393655222293e-07, 2.5108716606140174e-08),
    2.0876652908983504e-09,
)
_EXP_SINGLE = (
    *(0.1666666674909268, 0.041666666328455636, 0.008333290468375866, 0.001388895318601381, 0.00019904065795699484),
    2.480287574787614e-05,
)


def _exp_parts(m: Any, x: Any) -> tuple[Any, Any, Any]:
    """``n, r, t`` with ``exp(x) = 2**n * (1 + r + t)``, where r is at most ``log(2) / 2``, and t small beside it."""
    n = (x * _LOG2_E + MAGIC) - MAGIC
    near, rest = x - n * _LN2_HIGH, n * _LN2_LOW
    r = near - rest
    t = r * r * (0.5 + r * polynomial(r, _EXP_SINGLE if m.single else _EXP))
    return n, r, t if m.single else t + ((near - r) - rest)


def exp(m: Any, x: Any) -> Any:
    """e to the power x."""
    near = between(m, -708.0, x, 709.0)
    n, r, t = _exp_parts(m, near)
    high, low = one_more(r, t)
    value = (high + low) * power_of_2(m, n)
    return m.rarely(near != x, _far_exp, (x,), value)


def _far_exp(m: Any, x: Any) -> Any:
    """`exp` where it may overflow or underflow."""
    n, r, t = _exp_parts(m, between(m, -746.0, x, 710.0))
    high, low = one_more(r, t)
    return scaled_by(m, high + low, n)


def exp2(m: Any, x: Any) -> Any:
    """2 to the power x."""
    at = between(m, -1076.0, x, 1025.0)
    n = (at + MAGIC) - MAGIC
    f = at - n
    # log(2) in 26 digits and the rest: the first product is exact
    f_high = m.number(m.bits(f) & HIGH)
    near, rest = f_high * 0.6931471824645996, f_high * -1.904654299957768e-09 + (f - f_high) * 0.6931471805599453
    r = near + rest
    high, low = one_more(r, r * r * (0.5 + r * polynomial(r, _EXP)) + ((near - r) + rest))
    return scaled_by(m, high + low, n)


def _grown(m: Any, x: Any) -> Any:
    """``exp(x) - 1``, as long as it does not overflow."""
    n, r, t = _exp_parts(m, x)
    # 2**n * (1 - 2**-n + r + t): where n is 0, r is the number itself
    start = 1 - power_of_2(m, -n)
    total = start + r
    return (total + ((r - (total - start)) + t)) * power_of_2(m, n)


def expm1(m: Any, x: Any) -> Any:
    """``exp(x) - 1``."""
    near = between(m, -64.0, x, 709.0)
    return m.select(x == 0, x, m.rarely(x > near, _far_exp, (x,), _grown(m, near)))


def _below_one(m: Any, x: Any) -> tuple[Any, Any]:
    """``exp(-abs(x))`` as a number and what it leaves, as long as it does not underflow."""
    n, r, t = _exp_parts(m, m.larger(-708.0, -size_of(m, x)))
    power = power_of_2(m, n)
    high, low = one_more(r, t)
    value = high + low
    return value * power, ((high - value) + low) * power


def _is_far(m: Any, x: Any) -> Any:
    """Where `_below_one` is not what it says."""
    return size_of(m, x) > 708.0


def sigmoid(m: Any, x: Any) -> Any:
    """``1 / (1 + exp(-x))``."""
    t, left = _below_one(m, x)
    over = m.select(x < 0, t, 1.0)
    q = over / (1 + t)
    # what the quotient leaves, by products of 26 digits and 27 at most, which are exact
    under, q_high = m.number(m.bits(1 + t) & HIGH), m.number(m.bits(q) & HIGH)
    rest = (over - q_high * under) - (q - q_high) * under
    rest = rest + (m.select(x < 0, left, 0.0) - q * ((t - (under - 1)) + left))
    value = q + rest * _about_inverse(t)
    return m.rarely(_is_far(m, x), lambda m, x: m.select(x > 0, 1.0, _far_exp(m, x)), (x,), value)


def _about_inverse(t: Any) -> Any:
    """``1 / (1 + t)`` to a digit or two, for t between 0 and 1: enough for what multiplies a rest."""
    return 1.0 - t * (0.9 - 0.4 * t)


def softplus(m: Any, x: Any) -> Any:
    """``log(1 + exp(x))``."""
    t, left = _below_one(m, x)
    over = m.select(x > 0, x, 0.0)
    # 1 + t is 1 + f, or 2 * (1 + f)
    far = t > 0.41421356237309503
    f = m.select(far, 0.5 * (t - 1), t)
    s = f / (2 + f)
    z = s * s
    half = 0.5 * f * f
    rest = s * (half + z * polynomial(z, _LOG)) - half
    # what is lost where 1 is subtracted, and by exp
    rest = rest + (m.select(far, 0.5 * (t - ((t - 1) + 1)) + _LN2_LOW, 0.0) + left * _about_inverse(t))
    total, lost = sum_of(over, m.select(far, _LN2_HIGH, 0.0))
    total, lost_too = sum_of(total, f)
    value = total + ((lost + lost_too) + rest)
    return m.rarely(_is_far(m, x), lambda m, x: m.select(x > 0, x, _far_exp(m, x)), (x,), value)


def log_sigmoid(m: Any, x: Any) -> Any:
    """``-log(1 + exp(-x))``."""
    return -softplus(m, -x)


# ---- hyperbolic functions --------------------------------------------------------------------------------------------

# (sinh(s) - s) / s**3 as a polynomial in s**2, for s up to 1
_SINH = (
    *(0.16666666666666669, 0.008333333333332915, 0.00019841269841589253, 2.7557319108479927e-06),
    *(2.5052130676645887e-08, 1.60566870149273e-10, 7.775693738655931e-13),
)


def tanh(m: Any, x: Any) -> Any:
    """Hyperbolic tangent."""
    size = size_of(m, x)
    grown = _grown(m, m.smaller(22.0, size) * 2)
    # h / (1 + h) = h - h * h / (1 + h), and 1 - 1 / (1 + h)
    part = m.select(size < 0.55, 0.5 * grown, 1.0)
    return with_sign_of(m, part - part * ((part + part) / (2 + grown)), x)


def _exp_of_size(m: Any, x: Any) -> tuple[Any, Any, Any, Any]:
    """``n, high, low, back`` with ``exp(abs(x)) = 2**n * (high + low)``, ``exp(-abs(x)) = 2**n * back``."""
    n, r, t = _exp_parts(m, m.smaller(712.0, size_of(m, x)))
    high, low = one_more(r, t)
    return n, high, low, power_of_2(m, -2 * m.smaller(40.0, n)) / (high + low)


def sinh(m: Any, x: Any) -> Any:
    """Hyperbolic sine."""
    n, high, low, back = _exp_of_size(m, x)
    large = scaled_by(m, (high - back) + low, n - 1)
    size = size_of(m, x)
    near = m.smaller(1.0, size)
    z = near * near
    small = near + near * z * polynomial(z, _SINH)
    return with_sign_of(m, m.select(size < 1, small, large), x)


def cosh(m: Any, x: Any) -> Any:
    """Hyperbolic cosine."""
    n, high, low, back = _exp_of_size(m, x)
    total = high + back
    return scaled_by(m, total + ((back - (total - high)) + low), n - 1)


# ---- logarithms ------------------------------------------------------------------------------------------------------

# (log((1 + s) / (1 - s)) - 2 * s) / s**3 as a polynomial in s**2, for s up to 0.1716
_LOG = (
    *(0.6666666666666735, 0.39999999999409336, 0.28571428743692623, 0.22222198428147424, 0.18183572407115525),
    *(0.1531383062161408, 0.14798276150905335),
)
_LOG_SINGLE = (0.6666666564368964, 0.40000335630747497, 0.2853727835344721, 0.23582762803438617)
_ROOT_HALF = 0x3FE6A09E667F3BCD
"""The bits of the square root of 1 / 2."""
_ROOT_HALF_VALUE = (0.7071067811865476, -4.833646656726457e-17)


def _log_parts(m: Any, x: Any) -> tuple[Any, Any]:
    """``k, f`` with ``x = 2**k * (1 + f)``, where ``1 + f`` is between the roots of 1 / 2 and of 2; x is normal."""
    bits = m.bits(x) + (ONE - _ROOT_HALF)
    k = m.number((bits >> 52) | (1075 << 52)) - (2.0**52 + 1023)
    return k, m.number((bits & ((1 << 52) - 1)) + _ROOT_HALF) - 1


def _log_of_parts(m: Any, f: Any, k: Any, correction: Any) -> Any:
    """``k * log(2) + log(1 + f) + correction``."""
    s = f / (2 + f)
    z = s * s
    half = 0.5 * f * f
    rest = s * (half + z * polynomial(z, _LOG_SINGLE if m.single else _LOG))
    return k * _LN2_HIGH - ((half - (rest + (k * _LN2_LOW + correction))) - f)


def _everywhere(m: Any, x: Any, logarithm: Callable[..., Any]) -> Any:
    """``logarithm(m, x, 0.0)`` where that is a normal number, what it is elsewhere; the last operand is added to k."""

    def elsewhere(m: Any, x: Any) -> Any:
        value = logarithm(m, m.select(x < LEAST, x * 2.0**54, x), m.select(x < LEAST, -54.0, 0.0))
        value = m.select(x > 0, value, m.select(x == 0, -INFINITY, NAN))
        return m.select((x < INFINITY) & (x == x), value, x)

    return m.rarely(~((x >= LEAST) & (x < INFINITY)), elsewhere, (x,), logarithm(m, x, 0.0))


def log(m: Any, x: Any) -> Any:
    """Natural logarithm."""

    def logarithm(m: Any, x: Any, more: Any) -> Any:
        k, f = _log_parts(m, x)
        return _log_of_parts(m, f, k + more, 0.0)

    return _everywhere(m, x, logarithm)


def log1p(m: Any, x: Any) -> Any:
    """``log(1 + x)``."""
    u = 1 + x
    k, f = _log_parts(m, u)
    other = u - x
    lost = (1 - other) + (x - (u - other))
    direct = k == 0
    value = _log_of_parts(m, m.select(direct, x, f), k, m.select(direct, 0.0, lost / u))

    def elsewhere(m: Any, x: Any) -> Any:
        return m.select((x < -1), NAN, m.select(x == -1, -INFINITY, x))

    return m.rarely(~((x > -1) & (x < INFINITY) & (x != 0)), elsewhere, (x,), value)


def _log_in(m: Any, x: Any, unit: tuple[float, float], of_2: tuple[float, float]) -> Any:
    """A logarithm to another base: of whose inverse logarithm and that of 2 the parts are."""

    def logarithm(m: Any, x: Any, more: Any) -> Any:
        k, f = _log_parts(m, x)
        k = k + more
        s = f / (2 + f)
        z = s * s
        half = 0.5 * f * f
        high = m.number(m.bits(f - half) & HIGH)
        low = ((f - high) - half) + s * (half + z * polynomial(z, _LOG))
        first, rest = high * unit[0], (low + high) * unit[1] + low * unit[0]
        whole = k * of_2[0]
        total, lost = sum_of(whole, first)
        return total + (lost + (rest + k * of_2[1]))

    return _everywhere(m, x, logarithm)


def log2(m: Any, x: Any) -> Any:
    """Logarithm to the base 2."""
    return _log_in(m, x, (1.4426950514316559, -1.0542692476429138e-08), (1.0, 0.0))


def log10(m: Any, x: Any) -> Any:
    """Logarithm to the base 10."""
    return _log_in(m, x, (0.4342944845557213, -2.6524694553078553e-09), (0.3010299956640665, -8.532344317057107e-14))


# ---- inverses of hyperbolic functions --------------------------------------------------------------------------------


def _log1p_of_parts(m: Any, x: Any, left: Any) -> Any:
    """``log(1 + x + left)`` for x that is not negative, of which the rest is left."""
    u = 1 + x
    k, f = _log_parts(m, u)
    direct = k == 0
    other = u - x
    lost = (1 - other) + (x - (u - other)) + left
    f = m.select(direct, x, f)
    return _log_of_parts(m, f, k, m.select(direct, left, lost) / u)


def arcsinh(m: Any, x: Any) -> Any:
    """Number whose hyperbolic sine is x."""
    size = size_of(m, x)
    near = m.smaller(2.0**60, size)
    square = near * near
    # log(x + sqrt(1 + x**2)) = log(1 + x + x**2 / (1 + sqrt(1 + x**2)))
    rest = square / (1 + m.sqrt(1 + square))
    total = near + rest
    value = _log1p_of_parts(m, total, (near - total) + rest)
    value = m.rarely(~(size < 2.0**60), lambda m, size: log(m, size) + 0.6931471805599453, (size,), value)
    return with_sign_of(m, value, x)


def arccosh(m: Any, x: Any) -> Any:
    """Number that is not negative, whose hyperbolic cosine is x."""
    near = m.smaller(2.0**60, x)
    t = near - 1
    # log(1 + t + sqrt(2 * t + t**2))
    square, lost = product_of(m, t, t)
    total, more = sum_of(2 * t, square)
    root = m.sqrt(total)
    again, less = product_of(m, root, root)
    left = m.select(total > 0, (((total - again) - less) + (more + lost)) / (2 * root), 0.0)
    high, low = sum_of(t, root)
    value = _log1p_of_parts(m, high, low + left)
    value = m.rarely(~(x < 2.0**60), lambda m, x: log(m, x) + 0.6931471805599453, (x,), value)
    return m.select(x < 1, NAN, value)


def arctanh(m: Any, x: Any) -> Any:
    """Number whose hyperbolic tangent is x."""
    size = size_of(m, x)
    k, _ = _log_parts(m, (1 + size) / (1 - size))
    scale = power_of_2(m, k)
    # half the logarithm of a quotient: its series goes by the quotient's difference from 1 over its sum with 1
    far = k != 0
    less, lost = sum_of(scale - 1, -scale * size)
    over, over_left = sum_of(size, -less)
    over_left = over_left - lost
    over = m.select(size < 0.5, over, (1 + size) - scale * (1 - size))
    (more, lost), (less, lost_too) = sum_of(size * 0 + 1, size), sum_of(size * 0 + 1, -size)
    under, under_left = sum_of(more, scale * less)
    under_left = under_left + (lost + scale * lost_too)
    over, over_left = m.select(far, over, size), m.select(far & (size < 0.5), over_left, 0.0)
    under, under_left = m.select(far, under, 1.0), m.select(far, under_left, 0.0)
    s, left = (over / under, 0.0) if m.single else quotient_of(m, over, over_left, under, under_left)
    z = s * s
    rest = 0.5 * s * z * polynomial(z, _LOG_SINGLE if m.single else _LOG)
    total, lost = sum_of(0.5 * k * _LN2_HIGH, s)
    value = total + (lost + (m.select(far, left, 0.0) + (rest + 0.5 * k * _LN2_LOW)))

    def elsewhere(m: Any, size: Any) -> Any:
        return m.select(size == 1, INFINITY, size * NAN)

    return with_sign_of(m, m.rarely(~(size < 1), elsewhere, (size,), value), x)


# ---- roots -----------------------------------------------------------------------------------------------------------


def cbrt(m: Any, x: Any) -> Any:
    """Cube root."""
    size = size_of(m, x)
    tiny = size < LEAST
    size = m.select(tiny, size * 2.0**54, size)
    exponent = m.number((m.bits(size) >> 52) | (1075 << 52)) - (2.0**52 + 1023)
    k = (exponent * (1 / 3) + MAGIC) - MAGIC
    number = m.number((m.bits(size) & ((1 << 52) - 1)) + ONE) * power_of_2(m, exponent - 3 * k)
    root = horner(number, CUBE_ROOT)
    cube = root * root * root
    root = root * ((cube + 2 * number) / (2 * cube + number))
    # of so few digits that its square is exact
    root = m.number(m.bits(root) & HIGH)
    over = number / (root * root)
    root = root + root * ((over - root) / (root + root + over))
    value = root * power_of_2(m, k - m.select(tiny, 18.0, 0.0))
    return m.select((x == 0) | ~(size_of(m, x) < INFINITY), x, with_sign_of(m, value, x))


def hypot(m: Any, x: Any, y: Any) -> Any:
    """Square root of the sum of squares."""
    a, b = size_of(m, x), size_of(m, y)
    if m.single:
        value = m.sqrt(a * a + b * b)
    else:
        large = m.select(a > b, a, b)
        # neither squares nor sums of scaled numbers overflow, or underflow where it matters
        up, down = large < 2.0**-500, large > 2.0**500
        scale = m.select(up, 2.0**600, m.select(down, 2.0**-600, 1.0))
        (first, lost), (second, lost_too) = product_of(m, a * scale, a * scale), product_of(m, b * scale, b * scale)
        total, more = sum_of(first, second)
        root = m.sqrt(total)
        again, less = product_of(m, root, root)
        rest = (((total - again) - less) + (more + (lost + lost_too))) / (root + root)
        value = (root + m.select(total > 0, rest, 0.0)) * m.select(up, 2.0**-600, m.select(down, 2.0**600, 1.0))
    return m.select((a == INFINITY) | (b == INFINITY), INFINITY, value)


# ---- error functions -------------------------------------------------------------------------------------------------

# (erf(x) / x - 2 / sqrt(pi)) / x**2 as a polynomial in x**2, for x up to 1
_ERF = (
    *(-0.37612638903183754, 0.11283791670955122, -0.026866170645130045, 0.005223977625425292, -0.0008548327022055977),
    *(0.00012055332907735576, -1.4925647699688925e-05, 1.646204793842295e-06, -1.6364674834115014e-07),
    *(1.4792691866124929e-08, -1.2166236856022763e-09, 8.714702740927647e-11, -4.2394201364776425e-12),
)
_ERF_SINGLE = (
    *(-0.376126389029379, 0.11283791661007643, -0.026866169258073974, 0.005223968129333781, -0.0008547958322865982),
    *(0.00012046649429013475, -1.4798657802204564e-05, 1.5324841435154428e-06, -1.050861189584402e-07),
)
# exp(x**2) * erfc(x) * (1 + 2 * x) as a polynomial in (x - 3.75) / (x + 3.75), for x from 0.45 to 29
_ERFCX = (
    *(1.2375126308378275, -0.14024059858554697, 0.0035854154854666476, 0.08227673849014494, -0.10880393014190406),
    *(0.09230432116044364, -0.05869339858544275, 0.028362277417003603, -0.009746579615718912, 0.0017556258779877155),
    *(0.0002937141261399525, -0.0002901542568305403, 5.164681338805522e-05, 2.2384981897101456e-05),
    *(-1.1436864474302311e-05, -9.755066143749333e-07, 1.7366838387625415e-06, -5.404888682339123e-08),
    *(-2.394036346326808e-07, 2.0194371084242838e-08, 2.425043118080943e-08, -2.1693452016601514e-09),
)
_ERFCX_SINGLE = (
    *(1.2375126308384676, -0.14024059858177026, 0.0035854153084418495, 0.08227673807471876, -0.10880392232675087),
    *(0.09230433786585812, -0.058693522301610644, 0.02836200909847476, -0.00974574653186436, 0.0017578418656737662),
    *(0.00029173115834867547, -0.00029872567908038395, 4.9633649420365876e-05, 3.4612738891788093e-05),
)
_ERF_SLOPE = (1.1283791670955126, 1.1283791661262512, 9.692613378575743e-10, 1.533545961316588e-17)
"""Its derivative at 0, in 26 digits and the next 27, and what is left."""


def _erf_near(m: Any, size: Any) -> tuple[Any, Any]:
    """The error function of a number up to 1, as a number and what is to be added."""
    z = size * size
    product = size * _ERF_SLOPE[0]
    if m.single:
        return product, size * z * polynomial(z, _ERF_SINGLE)
    high, low = parts_of(m, size)
    lost = (high * _ERF_SLOPE[1] - product) + high * _ERF_SLOPE[2] + low * _ERF_SLOPE[0]
    return product, size * z * polynomial(z, _ERF) + (lost + size * _ERF_SLOPE[3])


def _tail(m: Any, size: Any, square: Any, left: Any, size_left: Any = None) -> tuple[Any, Any, Any]:
    """``n, high, low`` with ``2**n * (high + low)`` the complement of the error function of a number and its square."""
    n, r, t = _exp_parts(m, m.larger(-750.0, -square))
    one, rest = one_more(r, t)
    rest = rest - left * (one + rest)
    at = (size - 3.75) / (size + 3.75)
    if m.single:
        q = polynomial(at, _ERFCX_SINGLE) / (1 + 2 * size)
        return n, one * q, rest * q
    more = at * polynomial(at, _ERFCX[1:])
    series = _ERFCX[0] + more
    under, under_left = sum_of(2 * size, size * 0 + 1)
    q, q_left = quotient_of(m, series, more - (series - _ERFCX[0]), under, under_left)
    if size_left is not None:
        q_left = q_left - q * (2 * size_left / under)
    high, low = product_of(m, one, q)
    return n, high, low + (one * q_left + rest * q)


def erf(m: Any, x: Any) -> Any:
    """Error function."""
    size = size_of(m, x)
    near, more = _erf_near(m, m.smaller(0.88, size))
    far = m.larger(0.88, m.smaller(8.0, size))
    n, high, low = _tail(m, far, far * far, 0.0)
    value = m.select(size < 0.88, near + more, 1 - (high + low) * power_of_2(m, n))
    return with_sign_of(m, m.select(x == x, value, x), x)


def erfc(m: Any, x: Any) -> Any:
    """Complement of the error function."""
    size = size_of(m, x)
    near, more = _erf_near(m, m.smaller(0.5, size))
    near, more = m.select(x < 0, -near, near), m.select(x < 0, -more, more)
    rest = 1 - near
    far = m.larger(0.5, m.smaller(28.0, size))
    square, left = (far * far, 0.0) if m.single else product_of(m, far, far)
    n, high, low = _tail(m, far, square, left)
    tail = scaled_by(m, high + low, n)
    value = m.select(size < 0.5, rest + (((1 - rest) - near) - more), m.select(x < 0, 2 - tail, tail))
    return m.select(x == x, value, x)


def ndtr(m: Any, x: Any) -> Any:
    """Distribution function of the standard normal distribution."""
    # half of erfc(-x / sqrt(2))
    size = m.smaller(40.0, size_of(m, x))
    if m.single:
        scaled, left, square, lost = size * _ROOT_HALF_VALUE[0], 0.0, size * size, 0.0
    else:
        scaled, left = product_of(m, size, size * 0 + _ROOT_HALF_VALUE[0])
        left = left + size * _ROOT_HALF_VALUE[1]
        square, lost = product_of(m, size, size)
    near, more = _erf_near(m, m.smaller(0.5, scaled))
    more = 0.5 * (more + left * _ERF_SLOPE[0] * (1 - 0.5 * square))
    near, more = m.select(x < 0, -0.5 * near, 0.5 * near), m.select(x < 0, -more, more)
    total = 0.5 + near
    n, high, low = _tail(m, m.larger(0.5, scaled), 0.5 * square, 0.5 * lost, left)
    tail = scaled_by(m, high + low, n - 1)
    far = m.select(x < 0, tail, 1 - tail)
    value = m.select(scaled < 0.5, total + ((near - (total - 0.5)) + more), far)
    return m.select(x == x, value, x)


# ---- powers ----------------------------------------------------------------------------------------------------------

# ((log((1 + s) / (1 - s)) - 2 * s) / s**3 - 2 / 3) / s**2 as a polynomial in s**2, for s up to 0.1716
_LOG_REST = (
    *(0.3999999999999998, 0.2857142857144515, 0.22222222217526788, 0.18181818871502353, 0.1538455678988307),
    *(0.13336320544546634, 0.1167475494688091, 0.11989543535461197),
)
_TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)


def _exact_log(m: Any, f: Any, k: Any) -> tuple[Any, Any]:
    """``k * log(2) + log(1 + f)`` to 20 digits, in two parts."""
    under = 2 + f
    s, s_left = quotient_of(m, f, 0.0, under, f - (under - 2))
    z, z_left = product_of(m, s, s)
    z_left = z_left + 2 * s * s_left
    more = z * polynomial(z, _LOG_REST)
    factor = _TWO_THIRDS[0] + more
    factor_left = (more - (factor - _TWO_THIRDS[0])) + _TWO_THIRDS[1]
    cube, cube_left = product_of(m, s, z)
    cube_left = cube_left + (s * z_left + s_left * z)
    series, series_left = product_of(m, cube, factor)
    series_left = series_left + (cube * factor_left + cube_left * factor)
    high, lost = sum_of(k * _LN2_HIGH, 2 * s)
    high, lost_too = sum_of(high, series)
    low = (lost + lost_too) + (series_left + (2 * s_left + k * _LN2_LOW))
    total = high + low
    return total, low - (total - high)


def _power(m: Any, x: Any, more: Any, y: Any) -> Any:
    """``(2**more * x)**y`` for a normal positive number, and an exponent up to 2**64 in size."""
    k, f = _log_parts(m, x)
    k = k + more
    first, second = _exact_log(m, f, k)
    high, low = product_of(m, y, first)
    low = low + y * second
    near = between(m, -746.0, high, 710.0)
    n, r, t = _exp_parts(m, near)
    one, left = one_more(r, t)
    return scaled_by(m, one + (left + m.select(near == high, low, 0.0) * (one + left)), n)


def _is_whole(m: Any, size: Any) -> Any:
    return (size >= 2.0**52) | ((size + 2.0**52) - 2.0**52 == size)


def pow(m: Any, x: Any, y: Any) -> Any:
    """``x ** y``."""
    exponent = between(m, -(2.0**64), y, 2.0**64)

    def elsewhere(m: Any, x: Any, y: Any, exponent: Any) -> Any:
        size, times = size_of(m, x), size_of(m, y)
        tiny = size < LEAST
        base = m.select(size > 0, m.select(size < INFINITY, m.select(tiny, size * 2.0**54, size), 2.0), 0.5)
        value = _power(m, base, m.select(tiny & (size > 0), -54.0, 0.0), exponent)
        # of zero and infinity
        huge = (size == INFINITY) | (size == 0)
        grows = ((size > 1) & (y > 0)) | ((size < 1) & (y < 0))
        value = m.select(huge | (times == INFINITY), m.select(grows, INFINITY, 0.0), value)
        value = m.select(size == 1, 1.0, value)
        whole, half = _is_whole(m, times), _is_whole(m, times * 0.5)
        negative = m.number((m.bits(x) & SIGN) | ONE) < 0
        value = m.select(negative & whole & ~half, -value, value)
        value = m.select((x < 0) & ~whole & (size < INFINITY), NAN, value)
        value = m.select(x == x, m.select(y == y, value, y), x)
        return m.select((x == 1) | (y == 0), 1.0, value)

    odd = ~((x >= LEAST) & (x < INFINITY) & (size_of(m, y) < INFINITY))
    return m.rarely(odd, elsewhere, (x, y, exponent), _power(m, x, 0.0, exponent))


_STEPS = (
    *(exp, exp2, expm1, log, log2, log10, log1p, tanh, sinh, cosh, sin, cos, tan, arcsin, arccos, arctan),
    *(arcsinh, arccosh, arctanh, cbrt, hypot, arctan2, pow, erf, erfc, ndtr, sigmoid, softplus, log_sigmoid),
)
_NUMPY = {"pow": "power", **dict.fromkeys(("erf", "erfc", "ndtr", "sigmoid", "softplus", "log_sigmoid"), "")}
_POLES = (log, log2, log10, log1p, arctanh, pow)
_UNDERFLOWS = (exp, exp2, pow, erfc, ndtr, sigmoid, softplus, log_sigmoid)


def _function(name: str, steps: Callable[..., Any]) -> Function:
    operands, short = steps.__code__.co_argcount - 1, getattr(short_steps, name, None)
    return Function(steps, operands, _NUMPY.get(name, name), steps in _POLES, steps in _UNDERFLOWS, short)


FUNCTIONS = {steps.__name__: _function(steps.__name__, steps) for steps in _STEPS}
"""By name."""
