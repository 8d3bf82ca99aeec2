"""Elementary functions of float32 in single precision, where that is quicker than to compute in double precision.

Each gives a value, where that does not hold, and where it is too small for any number. Where it does not hold, the
function is computed in double precision (`functions.py`), which takes long. The methods are the same, with fewer terms.
"""

from __future__ import annotations

from typing import Any

from engine.runtime.elementary.steps import (
    CUBE_ROOT,
    SINGLE,
    arccosine_of,
    arcsine_of,
    arcsine_parts,
    difference_of,
    horner,
    one_more,
    polynomial,
    power_of_2,
    size_of,
    sum_of,
    with_sign_of,
)

MAGIC, ONE = SINGLE.magic, SINGLE.one
LEAST, INFINITY = 2.0**-126, float("inf")
_LN2_HIGH, _LN2_LOW = 0.693145751953125, 1.4286068203094172e-06  # the first has 15 digits
_LOG2_E = 1.4426950408889634

# (exp(r) - 1 - r - r**2 / 2) / r**3, and (2**f - 1 - f * log(2)) / f**2
_EXP = (0.1666651964187622, 0.041666410863399506, 0.00836881622672081, 0.0013939845375716686)
_EXP_LONG = (
    *(0.1666666716337204, 0.041666463017463684, 0.008333205245435238, 0.001393508748151362, 0.0001994683698285371),
)
_EXP2 = (0.24022650718688965, 0.05550362169742584, 0.0096180634573102, 0.0013390211388468742, 0.00015462478040717542)


def _exp_parts(m: Any, x: Any, coefficients: Any = _EXP, left: Any = 0.0) -> tuple[Any, Any, Any]:
    """``n, r, t`` with ``exp(x + left) = 2**n * (1 + r + t)``, where r is at most ``log(2) / 2``, t small beside it.

    The first is in the last bits of a number, where `_power` takes it.
    """
    turned = x * _LOG2_E + MAGIC
    n = turned - MAGIC
    near, rest = x - n * _LN2_HIGH, n * _LN2_LOW - left
    r = near - rest
    square = r * r
    return turned, r, (0.5 * square + square * r * polynomial(r, coefficients)) + ((near - r) - rest)


def _power(m: Any, turned: Any) -> Any:
    """Two to the power of an integer in the last bits of a number, of which that is a normal number."""
    return m.number((m.bits(turned) << 23) + ONE)


def _or_nothing(m: Any, x: Any, value: Any, odd: Any) -> tuple[Any, Any, Any]:
    """Value of a function that falls like ``exp(x)``, also where nothing of it is left; there it is not odd."""
    gone = x < -104.0
    return m.select(gone, 0.0, value), odd & ~gone, gone & (x > -INFINITY)


def exp(m: Any, x: Any) -> tuple[Any, Any, Any]:
    """e to the power x."""
    n, r, t = _exp_parts(m, x)
    return _or_nothing(m, x, (1 + (r + t)) * _power(m, n), ~(size_of(m, x) < 87.33))


def exp2(m: Any, x: Any) -> tuple[Any, Any]:
    """2 to the power x."""
    turned = x + MAGIC
    f = x - (turned - MAGIC)
    high, low = one_more(f * 0.6931471805599453, f * f * polynomial(f, _EXP2))
    return (high + low) * _power(m, turned), ~(size_of(m, x) < 125.5)


def _expm1(m: Any, x: Any) -> Any:
    n, r, t = _exp_parts(m, x, _EXP_LONG)
    # 2**n * (1 - 2**-n + r + t): where n is 0, r is the number itself
    start = 1 - m.number(ONE - (m.bits(n) << 23))
    total = start + r
    return (total + ((r - (total - start)) + t)) * _power(m, n)


def expm1(m: Any, x: Any) -> tuple[Any, Any]:
    """``exp(x) - 1``."""
    value = _expm1(m, m.larger(-18.0, x))
    return m.number(m.bits(value) | (m.bits(x) & SINGLE.sign)), ~(x < 16.5)


def tanh(m: Any, x: Any) -> tuple[Any, Any]:
    """Hyperbolic tangent."""
    size = size_of(m, x)
    grown = _expm1(m, m.smaller(9.1, size) * 2)
    # h / (1 + h) = h - h * h / (1 + h), and 1 - 1 / (1 + h)
    part = m.select(size < 0.55, 0.5 * grown, 1.0)
    return with_sign_of(m, part - part * ((part + part) / (2 + grown)), x), False


def sinh(m: Any, x: Any) -> tuple[Any, Any]:
    """Hyperbolic sine."""
    size = size_of(m, x)
    grown = _expm1(m, size)
    half, share = 0.5 * grown, grown / (1 + grown)
    return with_sign_of(m, half + m.select(size > 0.7, 0.5 * share, half - half * share), x), ~(size < 87.0)


def cosh(m: Any, x: Any) -> tuple[Any, Any]:
    """Hyperbolic cosine."""
    size = size_of(m, x)
    n, r, t = _exp_parts(m, size)
    high, low = one_more(r, t)
    power = 0.5 * _power(m, n)
    # half of exp(-abs(x)), beside half of exp(abs(x))
    back = 0.25 / (power * (high + low))
    high, low = power * high, power * low
    total = high + back
    return total + ((back - (total - high)) + low), ~(size < 87.0)


# erf(x) / x - 1 as a polynomial in x**2, for x up to 0.82, and -log(erfc(x)) - x as one in x, for x from there to 4
_ERF = (
    *(0.12837916612625122, -0.37612637877464294, 0.11283739656209946, -0.02686181478202343, 0.005207124166190624),
    *(-0.00082137540448457, 8.680950850248337e-05),
)
_LOG_ERFC = (
    *(-0.00014089254727602923, 0.1293464936369778, 0.6336990430839136, 0.10788019204703146, -0.02485321533875124),
    *(0.004067248497587593, -0.00041251516228271707, 1.9155371204959375e-05),
)


def erf(m: Any, x: Any) -> tuple[Any, Any]:
    """Error function."""
    size = size_of(m, x)
    near = size + size * horner(x * x, _ERF)
    start = m.smaller(4.0, size)
    more = horner(start, _LOG_ERFC)
    total = start + more
    n, r, t = _exp_parts(m, -total, _EXP, (total - start) - more)
    return with_sign_of(m, m.select(size < 0.82, near, 1 - (1 + (r + t)) * _power(m, n)), x), False


# (log(1 + f) - f + f**2 / 2) / f**3, with 1 + f between the roots of 1 / 2 and of 2
_LOG = (
    *(0.33333316445350647, -0.25000810623168945, 0.20002301037311554, -0.16624557971954346, 0.14180947840213776),
    *(-0.13128504157066345, 0.12882941961288452, -0.07861663401126862),
)
_ROOT_HALF = 0x3F3504F3
"""The bits of the square root of 1 / 2."""


def _log_parts(m: Any, x: Any) -> tuple[Any, Any]:
    """``k, f`` with ``x = 2**k * (1 + f)``, where ``1 + f`` is between the roots of 1 / 2 and of 2; x is normal."""
    bits = m.bits(x) + (ONE - _ROOT_HALF)
    k = m.number((bits >> 23) | (150 << 23)) - (2.0**23 + 127)
    return k, m.number((bits & ((1 << 23) - 1)) + _ROOT_HALF) - 1


def _log_rest(f: Any) -> tuple[Any, Any]:
    """``f**2 / 2``, and ``log(1 + f) - f + f**2 / 2``."""
    square = f * f
    return 0.5 * square, square * f * polynomial(f, _LOG)


def log(m: Any, x: Any) -> tuple[Any, Any]:
    """Natural logarithm."""
    k, f = _log_parts(m, x)
    half, rest = _log_rest(f)
    return k * _LN2_HIGH - ((half - (rest + k * _LN2_LOW)) - f), ~((x >= LEAST) & (x < INFINITY))


def log1p(m: Any, x: Any) -> tuple[Any, Any]:
    """``log(1 + x)``."""
    u = 1 + x
    k, f = _log_parts(m, u)
    other = u - x
    lost = ((1 - other) + (x - (u - other))) * power_of_2(m, -k)
    direct = k == 0
    f, lost = m.select(direct, x, f), m.select(direct, 0.0, lost * (1 - f * (1 - f)))
    half, rest = _log_rest(f)
    value = k * _LN2_HIGH - ((half - (rest + (k * _LN2_LOW + lost))) - f)
    return m.number(m.bits(value) | (m.bits(x) & SINGLE.sign)), ~((x > -1) & (x < 1e38))


def _log_in(m: Any, x: Any, unit: tuple[float, float], of_2: tuple[float, float]) -> tuple[Any, Any]:
    """A logarithm to another base: of whose inverse logarithm and that of 2 the parts are."""
    k, f = _log_parts(m, x)
    half, rest = _log_rest(f)
    high = m.number(m.bits(f - half) & SINGLE.high)
    low = ((f - high) - half) + rest
    whole, first = k * of_2[0], high * unit[0]
    total = whole + first
    left = (whole - total) + first
    return total + (left + ((low + high) * unit[1] + low * unit[0] + k * of_2[1])), ~((x >= LEAST) & (x < INFINITY))


def log2(m: Any, x: Any) -> tuple[Any, Any]:
    """Logarithm to the base 2."""
    return _log_in(m, x, (1.4423828125, 0.00031222838896340736), (1.0, 0.0))


def log10(m: Any, x: Any) -> tuple[Any, Any]:
    """Logarithm to the base 10."""
    return _log_in(m, x, (0.4342041015625, 9.038034075182765e-05), (0.301025390625, 4.605038981195214e-06))


def _below_one(m: Any, x: Any) -> tuple[Any, Any]:
    """``exp(-abs(x))`` as a number and what it leaves, as long as it does not underflow."""
    n, r, t = _exp_parts(m, m.larger(-87.0, -size_of(m, x)))
    high, low = one_more(r, t)
    value, power = high + low, _power(m, n)
    return value * power, ((high - value) + low) * power


def sigmoid(m: Any, x: Any) -> tuple[Any, Any, Any]:
    """``1 / (1 + exp(-x))``."""
    t, left = _below_one(m, x)
    over, over_left = m.select(x < 0, t, 1.0), m.select(x < 0, left, 0.0)
    whole = 1 + t
    q = over / whole
    under, q_high = m.number(m.bits(whole) & SINGLE.high), m.number(m.bits(q) & SINGLE.high)
    rest = (over - q_high * under) - (q - q_high) * under
    rest = rest + (over_left - q * ((t - (under - 1)) + left))
    return _or_nothing(m, x, q + rest * (1.0 - t * (0.9 - 0.4 * t)), x < -87.0)


def softplus(m: Any, x: Any) -> tuple[Any, Any, Any]:
    """``log(1 + exp(x))``."""
    t, left = _below_one(m, x)
    # 1 + t is 1 + f, or 2 * (1 + f)
    far = t > 0.41421356237309503
    f = m.select(far, 0.5 * (t - 1), t)
    half, rest = _log_rest(f)
    rest = (rest + left * (1.0 - t * (0.9 - 0.4 * t))) - half
    rest = rest + m.select(far, 0.5 * (t - ((t - 1) + 1)) + _LN2_LOW, 0.0)
    total, lost = sum_of(m.larger(x, 0.0 * t), m.select(far, _LN2_HIGH, 0.0))
    total, lost_too = sum_of(total, f)
    return _or_nothing(m, x, total + ((lost + lost_too) + rest), ~((x > -87.0) & (x < INFINITY)))


def log_sigmoid(m: Any, x: Any) -> tuple[Any, Any, Any]:
    """``-log(1 + exp(-x))``."""
    value, odd, gone = softplus(m, -x)
    return -value, odd, gone


# (sin(r) / r - 1) / r**2, (cos(r) - 1 + r**2 / 2) / r**4 as polynomials in r**2
_SIN = (-0.16666655242443085, 0.008332190103828907, -0.0001951840822584927)
_COS = (0.04166664555668831, -0.00138873013202101, 2.443066296109464e-05)
_HALF_PI = (1.5706787109375, 0.00011759996414184570, 1.5893254773528197e-08)
"""In parts: of 14 digits, down to the 24th place, and what is left."""


def _quarters(m: Any, size: Any) -> tuple[Any, Any, Any, Any]:
    """The quarters of a circle in an angle, in the last bits of a number, what is left in two parts, and where not."""
    turned = size * 0.6366197723675814 + MAGIC
    n = turned - MAGIC
    near, rest = (size - n * _HALF_PI[0]) - n * _HALF_PI[1], n * _HALF_PI[2]
    high = near - rest
    # where little is left of the angle, more digits count
    return turned, high, (near - high) - rest, ~(size < 800.0) | ((size > 0.7) & (size_of(m, high) < 2.0**-12))


def _circular(m: Any, size: Any, more: int) -> tuple[Any, Any]:
    """The sine of a number of quarters more, of an angle that is not negative."""
    turned, high, low, odd = _quarters(m, size)
    z = high * high
    half = 0.5 * z
    start = 1 - half
    sine = high + (z * high * polynomial(z, _SIN) + low)
    cosine = start + (((1 - start) - half) + (z * z * polynomial(z, _COS) - high * low))
    quarters = m.bits(turned) + more
    value = m.select(m.number((quarters & 1) << 30) != 0, cosine, sine)
    return m.number(m.bits(value) ^ ((quarters & 2) << 30)), odd


def sin(m: Any, x: Any) -> tuple[Any, Any]:
    """Sine of an angle in radians."""
    value, odd = _circular(m, size_of(m, x), 0)
    return m.number(m.bits(value) ^ (m.bits(x) & SINGLE.sign)), odd


def cos(m: Any, x: Any) -> tuple[Any, Any]:
    """Cosine of an angle in radians."""
    return _circular(m, size_of(m, x), 1)


def _quotient(m: Any, over: Any, under: Any) -> tuple[Any, Any, Any]:
    """A quotient as a number of half the digits and the rest, and the inverse of the divisor."""
    inverse = 1 / under
    high, part = m.number(m.bits(over * inverse) & SINGLE.high), m.number(m.bits(under) & SINGLE.high)
    return high, ((over - high * part) - high * (under - part)) * inverse, inverse


# (atan(s) - s) / s**3 and (asin(s) - s) / s**3 as polynomials in s**2, for s up to 1 / 2
_ATAN = (-0.333332359790802, 0.1999429613351822, -0.1417587846517563, 0.10164231061935425, -0.05139608308672905)
_ASIN = (0.16666753590106964, 0.07495252788066864, 0.04547591134905815, 0.024152815341949463, 0.04221051186323166)
_RIGHT_ANGLE = (1.57079637050628662109375, -4.37113900018624283e-8)


def _angle(m: Any, small: Any, large: Any, far: Any) -> tuple[Any, Any]:
    """The angle of which the tangent is ``small / large``, or what it lacks of a right one, in two parts."""
    # beyond 1 / 2, measured from an eighth of a circle
    middle, total = small > 0.5 * large, small + large
    lost = (large - total) + small
    high, left, inverse = _quotient(m, m.select(middle, small - large, small), m.select(middle, total, large))
    left = left - m.select(middle, high * lost * inverse, 0.0)
    s = high + left
    z = s * s
    more = s * z * polynomial(z, _ATAN) + left
    # the angle that it is measured from, in parts, and whether it goes back from there
    start, rest = m.select(far, _RIGHT_ANGLE[0], 0.0), m.select(far, _RIGHT_ANGLE[1], 0.0)
    start, rest = m.select(middle, 0.5 * _RIGHT_ANGLE[0], start), m.select(middle, 0.5 * _RIGHT_ANGLE[1], rest)
    high, more = m.select(far, -high, high), m.select(far, -more, more)
    total = start + high
    return total, ((start - total) + high) + (rest + more)


def arctan(m: Any, x: Any) -> tuple[Any, Any]:
    """Angle in radians whose tangent is x."""
    size = size_of(m, x)
    high, low = _angle(m, m.smaller(1.0, size), m.larger(1.0, m.smaller(2.0**30, size)), size > 1)
    return with_sign_of(m, high + low, x), False


def arctan2(m: Any, y: Any, x: Any) -> tuple[Any, Any]:
    """Angle in radians of the point ``(x, y)``, from the first operand y and the second one x."""
    over, under = size_of(m, y), size_of(m, x)
    small, large = m.smaller(over, under), m.larger(over, under)
    high, low = _angle(m, small, large, over > under)
    behind = difference_of(2 * _RIGHT_ANGLE[0], 2 * _RIGHT_ANGLE[1], high, low)
    value = m.select(x < 0, behind, high + low)
    known = ((small > 2.0**-60) | (small == 0)) & (large > 2.0**-60) & (over + under < 2.0**60)
    return with_sign_of(m, value, y), ~known


def _root_left(m: Any, half: Any, root: Any) -> Any:
    high = m.number(m.bits(root) & SINGLE.high)
    return (half - high * high) / (root + high) - (root - high)


def arcsin(m: Any, x: Any) -> tuple[Any, Any]:
    """Angle in radians whose sine is x."""
    size = size_of(m, x)
    value = arcsine_of(m, arcsine_parts(m, size, _ASIN, _root_left), _RIGHT_ANGLE)
    return with_sign_of(m, value, x), ~(size < 1)


def arccos(m: Any, x: Any) -> tuple[Any, Any]:
    """Angle in radians whose cosine is x."""
    size = size_of(m, x)
    return arccosine_of(m, x, arcsine_parts(m, size, _ASIN, _root_left), _RIGHT_ANGLE), ~(size < 1)


# ---- roots and powers ------------------------------------------------------------------------------------------------

# (log((1 + s) / (1 - s)) - 2 * s) / s**3 as a polynomial in s**2, for s up to 0.1716
_LOG_REST = (0.6666666269302368, 0.40000972151756287, 0.2849876582622528, 0.24280010163784027)


def cbrt(m: Any, x: Any) -> tuple[Any, Any]:
    """Cube root."""
    size = size_of(m, x)
    exponent = m.number((m.bits(size) >> 23) | (150 << 23)) - (2.0**23 + 127)
    k = (exponent * (1 / 3) + MAGIC) - MAGIC
    number = m.number((m.bits(size) & ((1 << 23) - 1)) + ONE) * power_of_2(m, exponent - 3 * k)
    # of so few digits that its square is exact
    root = m.number(m.bits(horner(number, CUBE_ROOT)) & SINGLE.high)
    cube = root * root * root
    root = root + root * ((number - cube) / (cube + cube + number))
    return with_sign_of(m, root * power_of_2(m, k), x), ~((size >= LEAST) & (size < INFINITY))


def pow(m: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """``x ** y``."""
    k, f = _log_parts(m, x)
    u = 2 + f
    s_high, left, inverse = _quotient(m, f, u)
    left = left - s_high * (f - (u - 2)) * inverse
    s = s_high + left
    z = s * s
    high, lost = sum_of(k * _LN2_HIGH, 2 * s_high)
    low = lost + (s * z * polynomial(z, _LOG_REST) + (2 * left + k * _LN2_LOW))
    # products of numbers of half the digits are exact
    first, y_high = m.number(m.bits(high + low) & SINGLE.high), m.number(m.bits(y) & SINGLE.high)
    product, more = y_high * first, (y - y_high) * first + y * (low - (first - high))
    near = product + more
    n, r, t = _exp_parts(m, near, _EXP_LONG)
    one, rest = one_more(r, t)
    # rounded once at last: a whole number's small powers are exact
    rest = rest + (more - (near - product)) * (one + rest)
    return (one + rest) * _power(m, n), ~((x >= LEAST) & (x < INFINITY) & (size_of(m, near) < 87.0))
