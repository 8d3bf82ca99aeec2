"""The elementary functions, each written once, in steps of IEEE arithmetic that machines round alike.

A function takes a *machine* and float64 values, and does nothing but add, subtract, multiply, divide, take roots,
compare, select, and work on bits. On NumPy's arrays (`in_numpy`) the steps compute; on symbols (`c_source`) they write
the C, for vectors of any width. No two steps are ever fused, so the bits are the same everywhere.

float32 is computed in float64 and rounded once: there, with `single`, fewer terms do.

The methods are those of Cody and Waite, "Software manual for the elementary functions", 1980 (reduction by constants in
parts), Tang, ACM TOMS 15 and 16, 1989-90 (exp, log), Muller, "Handbook of floating-point arithmetic", 2018 (sums and
products with their errors), Payne and Hanek, SIGNUM 18, 1983 (large angles). Polynomials are minimax, by Remez's
algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

_MAGIC = 1.5 * 2.0**52
"""Added to a number, it leaves no digits behind the point; the last bits then are those of an integer."""
_SIZE, _SIGN, _ONE = (1 << 63) - 1, 1 << 63, 1023 << 52
_HIGH = -1 << 27 & (1 << 64) - 1
"""The bits of a number that leave it 26 digits, so that a product of two such numbers is exact."""
_INFINITY, _NAN, _LEAST = float("inf"), float("nan"), 2.0**-1022

_LN2_HIGH, _LN2_LOW = 0.6931471805601177, -1.7239444525614835e-13  # the first has 41 digits
_LOG2_E = 1.4426950408889634


class Function(NamedTuple):
    """A function, and what a ufunc of it has to know.

    Attributes
    ----------
    steps : callable
        ``steps(machine, *operands, single)``.
    operands : int
    numpy : str
        NumPy's ufunc of the same name, which does the dtypes that are not written here; "" if it has none.
    has_pole : bool
        Whether an infinite result for finite operands is a pole, not an overflow.
    underflows : bool
        Whether a result that is too small for a normal number is an underflow; else it is near the operand.
    """

    steps: Callable[..., Any]
    operands: int
    numpy: str
    has_pole: bool
    underflows: bool


def _polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """Its value, even and odd powers apart: they do not wait for each other."""
    if len(coefficients) < 4:
        return _horner(x, coefficients)
    return _horner(x * x, coefficients[::2]) + x * _horner(x * x, coefficients[1::2])


def _horner(x: Any, coefficients: Sequence[float]) -> Any:
    total = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = total * x + coefficient
    return total


def _size(m: Any, x: Any) -> Any:
    return m.number(m.bits(x) & _SIZE)


def _with_sign_of(m: Any, size: Any, x: Any) -> Any:
    """A number that is not negative, with the sign of another one."""
    return m.number(m.bits(size) | (m.bits(x) & _SIGN))


def _between(m: Any, low: float, x: Any, high: float) -> Any:
    """The number, if it is within these limits; a NaN stays one."""
    return m.smaller(high, m.larger(low, x))


def _power_of_2(m: Any, n: Any) -> Any:
    """For a whole number from -1022 to 1023."""
    return m.number((m.bits(n + _MAGIC) << 52) + _ONE)


def _scaled(m: Any, x: Any, n: Any) -> Any:
    """``x * 2**n`` for any whole number up to 2044 in size."""
    half = (n * 0.5 + _MAGIC) - _MAGIC
    return x * _power_of_2(m, half) * _power_of_2(m, n - half)


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


def _exp_parts(m: Any, x: Any, single: bool) -> tuple[Any, Any, Any]:
    """``n, r, t`` with ``exp(x) = 2**n * (1 + r + t)``, where r is at most ``log(2) / 2``, and t small beside it."""
    n = (x * _LOG2_E + _MAGIC) - _MAGIC
    near, rest = x - n * _LN2_HIGH, n * _LN2_LOW
    r = near - rest
    t = r * r * (0.5 + r * _polynomial(r, _EXP_SINGLE if single else _EXP))
    return n, r, t if single else t + ((near - r) - rest)


def _one_more(r: Any, t: Any) -> tuple[Any, Any]:
    """``1 + r + t`` as a number and what it leaves."""
    total = 1 + r
    return total, (r - (total - 1)) + t


def exp(m: Any, x: Any, single: bool) -> Any:
    """e to the power x."""
    if single:
        n, r, t = _exp_parts(m, _between(m, -120.0, x, 90.0), single)
        return (1 + (r + t)) * _power_of_2(m, n)
    near = _between(m, -708.0, x, 709.0)
    n, r, t = _exp_parts(m, near, single)
    high, low = _one_more(r, t)
    value = (high + low) * _power_of_2(m, n)
    return m.rarely(near != x, _far_exp, (x,), value)


def _far_exp(m: Any, x: Any) -> Any:
    """`exp` where it may overflow or underflow."""
    n, r, t = _exp_parts(m, _between(m, -746.0, x, 710.0), False)
    high, low = _one_more(r, t)
    return _scaled(m, high + low, n)


def exp2(m: Any, x: Any, single: bool) -> Any:
    """2 to the power x."""
    at = _between(m, -1076.0, x, 1025.0)
    n = (at + _MAGIC) - _MAGIC
    f = at - n
    if single:
        r = f * 0.6931471805599453
        value = 1 + (r + r * r * (0.5 + r * _polynomial(r, _EXP_SINGLE)))
        return _scaled(m, value, n)
    # log(2) in 26 digits and the rest: the first product is exact
    f_high = m.number(m.bits(f) & _HIGH)
    near, rest = f_high * 0.6931471824645996, f_high * -1.904654299957768e-09 + (f - f_high) * 0.6931471805599453
    r = near + rest
    high, low = _one_more(r, r * r * (0.5 + r * _polynomial(r, _EXP)) + ((near - r) + rest))
    return _scaled(m, high + low, n)


def expm1(m: Any, x: Any, single: bool) -> Any:
    """``exp(x) - 1``."""
    near = _between(m, -64.0, x, 709.0)
    n, r, t = _exp_parts(m, near, single)
    # 2**n * (1 - 2**-n + r + t): where n is 0, r is the number itself
    start = 1 - _power_of_2(m, -n)
    total = start + r
    value = (total + ((r - (total - start)) + t)) * _power_of_2(m, n)
    if not single:
        value = m.rarely(x > near, _far_exp, (x,), value)
    return m.select(x == 0, x, value)


def _below_one(m: Any, x: Any, single: bool) -> tuple[Any, Any]:
    """``exp(-abs(x))`` as a number and what it leaves, as long as it does not underflow."""
    n, r, t = _exp_parts(m, m.larger(-120.0 if single else -708.0, -_size(m, x)), single)
    power = _power_of_2(m, n)
    if single:
        return (1 + (r + t)) * power, 0.0
    high, low = _one_more(r, t)
    value = high + low
    return value * power, ((high - value) + low) * power


def _is_far(m: Any, x: Any) -> Any:
    """Where `_below_one` is not what it says."""
    return _size(m, x) > 708.0


def sigmoid(m: Any, x: Any, single: bool) -> Any:
    """``1 / (1 + exp(-x))``."""
    t, left = _below_one(m, x, single)
    over = m.select(x < 0, t, 1.0)
    q = over / (1 + t)
    if single:
        return q
    # what the quotient leaves, by products of 26 digits and 27 at most, which are exact
    under, q_high = m.number(m.bits(1 + t) & _HIGH), m.number(m.bits(q) & _HIGH)
    rest = (over - q_high * under) - (q - q_high) * under
    rest = rest + (m.select(x < 0, left, 0.0) - q * ((t - (under - 1)) + left))
    value = q + rest * _about_inverse(t)
    return m.rarely(_is_far(m, x), lambda m, x: m.select(x > 0, 1.0, _far_exp(m, x)), (x,), value)


def _about_inverse(t: Any) -> Any:
    """``1 / (1 + t)`` to a digit or two, for t between 0 and 1: enough for what multiplies a rest."""
    return 1.0 - t * (0.9 - 0.4 * t)


def _sum(a: Any, b: Any) -> tuple[Any, Any]:
    """A sum, and what its rounding has lost."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def softplus(m: Any, x: Any, single: bool) -> Any:
    """``log(1 + exp(x))``."""
    t, left = _below_one(m, x, single)
    over = m.select(x > 0, x, 0.0)
    # 1 + t is 1 + f, or 2 * (1 + f)
    far = t > 0.41421356237309503
    f = m.select(far, 0.5 * (t - 1), t)
    s = f / (2 + f)
    z = s * s
    half = 0.5 * f * f
    rest = s * (half + z * _polynomial(z, _LOG_SINGLE if single else _LOG)) - half
    if single:
        return over + (m.select(far, 0.6931471805599453, 0.0) + (f + rest))
    # what is lost where 1 is subtracted, and by exp
    rest = rest + (m.select(far, 0.5 * (t - ((t - 1) + 1)) + _LN2_LOW, 0.0) + left * _about_inverse(t))
    total, lost = _sum(over, m.select(far, _LN2_HIGH, 0.0))
    total, lost_too = _sum(total, f)
    value = total + ((lost + lost_too) + rest)
    return m.rarely(_is_far(m, x), lambda m, x: m.select(x > 0, x, _far_exp(m, x)), (x,), value)


def log_sigmoid(m: Any, x: Any, single: bool) -> Any:
    """``-log(1 + exp(-x))``."""
    return -softplus(m, -x, single)


# ---- hyperbolic functions --------------------------------------------------------------------------------------------

# (tanh(s) - s) / s**3 as a polynomial in s**2, for s up to 0.55
_TANH = (
    *(-0.333333333333333, 0.1333333333332656, -0.053968253963737035, 0.02186948838554291, -0.008863232601320043),
    *(0.0035920920695936493, -0.0014555433036136383, 0.0005884470421981485, -0.00023338943720246805),
    *(8.332931157191745e-05, -1.9503421404281278e-05),
)
_TANH_SINGLE = (
    *(-0.3333333331128348, 0.13333331444165292, -0.0539677052108806, 0.021861895091795508, -0.008806521245212643),
    *(0.0033548482085195355, -0.0009162784246874845),
)
# (sinh(s) - s) / s**3 likewise, for s up to 1
_SINH = (
    *(0.16666666666666669, 0.008333333333332915, 0.00019841269841589253, 2.7557319108479927e-06),
    *(2.5052130676645887e-08, 1.60566870149273e-10, 7.775693738655931e-13),
)
_SINH_SINGLE = (
    *(0.1666666666706912, 0.008333333276340088, 0.00019841296045809565, 2.7552064022124503e-06, 2.5529821509764823e-08),
)


def tanh(m: Any, x: Any, single: bool) -> Any:
    """Hyperbolic tangent."""
    size = _size(m, x)
    z = x * x
    small = size + size * z * _polynomial(z, _TANH_SINGLE if single else _TANH)
    n, r, t = _exp_parts(m, m.smaller(22.0, size) * -2, single)
    share = (1 + (r + t)) * _power_of_2(m, n)
    return _with_sign_of(m, m.select(size < 0.55, small, 1 - (share + share) / (1 + share)), x)


def _exp_of_size(m: Any, x: Any, single: bool) -> tuple[Any, Any, Any, Any]:
    """``n, high, low, back`` with ``exp(abs(x)) = 2**n * (high + low)``, ``exp(-abs(x)) = 2**n * back``."""
    n, r, t = _exp_parts(m, m.smaller(712.0, _size(m, x)), single)
    high, low = _one_more(r, t)
    return n, high, low, _power_of_2(m, -2 * m.smaller(40.0, n)) / (high + low)


def sinh(m: Any, x: Any, single: bool) -> Any:
    """Hyperbolic sine."""
    n, high, low, back = _exp_of_size(m, x, single)
    large = _scaled(m, (high - back) + low, n - 1)
    size = _size(m, x)
    near = m.smaller(1.0, size)
    z = near * near
    small = near + near * z * _polynomial(z, _SINH_SINGLE if single else _SINH)
    return _with_sign_of(m, m.select(size < 1, small, large), x)


def cosh(m: Any, x: Any, single: bool) -> Any:
    """Hyperbolic cosine."""
    n, high, low, back = _exp_of_size(m, x, single)
    total = high + back
    return _scaled(m, total + ((back - (total - high)) + low), n - 1)


# ---- logarithms ------------------------------------------------------------------------------------------------------

# (log((1 + s) / (1 - s)) - 2 * s) / s**3 as a polynomial in s**2, for s up to 0.1716
_LOG = (
    *(0.6666666666666735, 0.39999999999409336, 0.28571428743692623, 0.22222198428147424, 0.18183572407115525),
    *(0.1531383062161408, 0.14798276150905335),
)
_LOG_SINGLE = (0.6666666564368964, 0.40000335630747497, 0.2853727835344721, 0.23582762803438617)
_ROOT_HALF = 0x3FE6A09E667F3BCD
"""The bits of the square root of 1 / 2."""


def _log_parts(m: Any, x: Any) -> tuple[Any, Any]:
    """``k, f`` with ``x = 2**k * (1 + f)``, where ``1 + f`` is between the roots of 1 / 2 and of 2; x is normal."""
    bits = m.bits(x) + (_ONE - _ROOT_HALF)
    k = m.number((bits >> 52) | (1075 << 52)) - (2.0**52 + 1023)
    return k, m.number((bits & ((1 << 52) - 1)) + _ROOT_HALF) - 1


def _log_of_parts(m: Any, f: Any, k: Any, correction: Any, single: bool) -> Any:
    """``k * log(2) + log(1 + f) + correction``."""
    s = f / (2 + f)
    z = s * s
    half = 0.5 * f * f
    rest = s * (half + z * _polynomial(z, _LOG_SINGLE if single else _LOG))
    return k * _LN2_HIGH - ((half - (rest + (k * _LN2_LOW + correction))) - f)


def _everywhere(m: Any, x: Any, logarithm: Callable[..., Any]) -> Any:
    """``logarithm(m, x, 0.0)`` where that is a normal number, what it is elsewhere; the last operand is added to k."""

    def elsewhere(m: Any, x: Any) -> Any:
        value = logarithm(m, m.select(x < _LEAST, x * 2.0**54, x), m.select(x < _LEAST, -54.0, 0.0))
        value = m.select(x > 0, value, m.select(x == 0, -_INFINITY, _NAN))
        return m.select((x < _INFINITY) & (x == x), value, x)

    return m.rarely(~((x >= _LEAST) & (x < _INFINITY)), elsewhere, (x,), logarithm(m, x, 0.0))


def log(m: Any, x: Any, single: bool) -> Any:
    """Natural logarithm."""

    def logarithm(m: Any, x: Any, more: Any) -> Any:
        k, f = _log_parts(m, x)
        return _log_of_parts(m, f, k + more, 0.0, single)

    return _everywhere(m, x, logarithm)


def log1p(m: Any, x: Any, single: bool) -> Any:
    """``log(1 + x)``."""
    u = 1 + x
    k, f = _log_parts(m, u)
    if single:
        near = _size(m, x) < 0.2
        value = _log_of_parts(m, m.select(near, x, f), m.select(near, 0.0, k), 0.0, single)
    else:
        other = u - x
        lost = (1 - other) + (x - (u - other))
        direct = k == 0
        value = _log_of_parts(m, m.select(direct, x, f), k, m.select(direct, 0.0, lost / u), single)

    def elsewhere(m: Any, x: Any) -> Any:
        return m.select((x < -1), _NAN, m.select(x == -1, -_INFINITY, x))

    return m.rarely(~((x > -1) & (x < _INFINITY) & (x != 0)), elsewhere, (x,), value)


def _log_in(m: Any, x: Any, single: bool, unit: tuple[float, float], of_2: tuple[float, float]) -> Any:
    """A logarithm to another base: of whose inverse logarithm and that of 2 the parts are."""

    def logarithm(m: Any, x: Any, more: Any) -> Any:
        k, f = _log_parts(m, x)
        k = k + more
        if single:
            return k * (of_2[0] + of_2[1]) + _log_of_parts(m, f, k * 0, 0.0, single) * (unit[0] + unit[1])
        s = f / (2 + f)
        z = s * s
        half = 0.5 * f * f
        high = m.number(m.bits(f - half) & _HIGH)
        low = ((f - high) - half) + s * (half + z * _polynomial(z, _LOG))
        first, rest = high * unit[0], (low + high) * unit[1] + low * unit[0]
        whole = k * of_2[0]
        total, lost = _sum(whole, first)
        return total + (lost + (rest + k * of_2[1]))

    return _everywhere(m, x, logarithm)


def log2(m: Any, x: Any, single: bool) -> Any:
    """Logarithm to the base 2."""
    return _log_in(m, x, single, (1.4426950514316559, -1.0542692476429138e-08), (1.0, 0.0))


def log10(m: Any, x: Any, single: bool) -> Any:
    """Logarithm to the base 10."""
    return _log_in(
        m, x, single, (0.4342944845557213, -2.6524694553078553e-09), (0.3010299956640665, -8.532344317057107e-14)
    )


# ---- products and quotients with what they lose ----------------------------------------------------------------------


def _parts(m: Any, x: Any) -> tuple[Any, Any]:
    """A number as one of 26 digits and the rest."""
    high = m.number(m.bits(x) & _HIGH)
    return high, x - high


def _product(m: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """A product, and what its rounding has lost."""
    (a_high, a_low), (b_high, b_low), product = _parts(m, a), _parts(m, b), a * b
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _quotient(m: Any, over: Any, over_left: Any, under: Any, under_left: Any) -> tuple[Any, Any]:
    """A quotient, and what it has to be corrected by, of numbers and what they leave."""
    q = over / under
    product, lost = _product(m, q, under)
    return q, (((over - product) - lost) + (over_left - q * under_left)) / under


# ---- circular functions ----------------------------------------------------------------------------------------------

# (sin(s) - s) / s**3, (cos(s) - 1 + s**2 / 2) / s**4 as polynomials in s**2, for s up to pi / 4
_SIN = (
    *(
        -0.16666666666666632,
        0.008333333333322444,
        -0.00019841269829800264,
        2.7557313681864845e-06,
        -2.505075568485203e-08,
    ),
    1.5896615836088335e-10,
)
_SIN_SINGLE = (-0.16666666641372116, 0.008333329355862682, -0.0001983932504451283, 2.7182171171047236e-06)
_COS = (
    *(
        0.041666666666666595,
        -0.0013888888888873296,
        2.4801587288953853e-05,
        -2.755731419881006e-07,
        2.0875702454766246e-09,
    ),
    -1.1358577132245608e-11,
)
_COS_SINGLE = (0.04166666661900201, -0.0013888883458285533, 2.4799449196608733e-05, -2.7204852703890264e-07)
_HALF_PI = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.4784276603689e-32)
"""In parts, of which the first three have 33 digits."""
_NEAR = 1e6
"""The largest angle of which these are enough."""
_TWO_OVER_PI = (
    *(10680707, 7228996, 1387004, 2578385, 16069853, 12639074, 9804092, 4427841, 16666979, 11263675, 12935607, 2387514),
    *(4345298, 14681673, 3074569, 13734428, 16653803, 1880361, 10960616, 8533493, 3062596, 8710556, 7349940, 6258241),
    *(3772886, 3769171, 3798172, 8675211, 12450088, 3874808, 9961438, 366607, 15675153, 9132554, 7151469, 3571407),
    *(2607881, 12013382, 4155038, 6285869, 7677882, 13102053, 15825725, 473591, 9065106, 15363067, 6271263, 9264392),
    *(5636912, 4652155),
)
"""Its digits to the base 2**24."""


def _quarters(m: Any, size: Any, single: bool) -> tuple[Any, Any, Any]:
    """The quarters of a circle in an angle, in the last bits of a number, and what is left: a number and its rest."""
    turned = size * 0.6366197723675814 + _MAGIC
    n = turned - _MAGIC
    rest = size - n * _HALF_PI[0]
    if single:
        high = rest - n * 6.077100506506192e-11
        near = turned, high, high * 0
    else:
        left = 0.0
        for part in _HALF_PI[1:3]:
            less = n * part
            after = rest - less
            left = ((rest - after) - less) + left
            rest = after
        less = n * _HALF_PI[3] - left
        high = rest - less
        near = turned, high, (rest - high) - less
    return m.rarely(~(size <= _NEAR), _far_quarters, (size,), near)


def _far_quarters(m: Any, size: Any) -> tuple[Any, Any, Any]:
    """`_quarters` of angles up to the largest, of Payne and Hanek: only some digits of 2 / pi count, from the j-th."""
    bits = m.bits(size)
    exponent = m.number((bits >> 52) | (1075 << 52)) - (2.0**52 + 1023)
    j = m.larger(0.0, (((exponent - 78) * (1 / 24) - (0.5 - 1 / 48)) + _MAGIC) - _MAGIC + 1)
    shift, digits = j, [float(digit) for digit in _TWO_OVER_PI]
    for step, kept in ((32, 40), (16, 24), (8, 16), (4, 12), (2, 10), (1, 9)):
        beyond = shift >= step
        digits = [m.select(beyond, digits[i + step] if i + step < len(digits) else 0.0, digits[i]) for i in range(kept)]
        shift = shift - m.select(beyond, float(step), 0.0)
    number = m.number((bits & ((1 << 52) - 1)) + _ONE) * _power_of_2(m, (exponent - 24) - 24 * j)
    high, low = _parts(m, number)
    total = lost = least = 0.0
    for k, digit in enumerate(digits):
        for part in (high, low):
            term = part * digit * 2.0 ** (-24 * k)
            # whole circles are of no interest
            for unit in (1.5 * 2.0**82, 1.5 * 2.0**54) if k < 4 else ():
                term = term - ((term + unit) - unit)
            total, error = _sum(total, term)
            lost, error = _sum(lost, error)
            least = least + error
    turned = total + _MAGIC
    high, low = _sum(total - (turned - _MAGIC), lost)
    high, low = _sum(high, low + least)
    angle, left = _product(m, high, 1.5707963267948966)
    return turned, angle, left + (high * 6.123233995736766e-17 + low * 1.5707963267948966)


def _sine(m: Any, high: Any, low: Any, single: bool) -> tuple[Any, Any]:
    """The sine of a small angle, as a number and what is to be added."""
    z = high * high
    cubic = z * high * _polynomial(z, _SIN_SINGLE if single else _SIN)
    return high, cubic if single else cubic + low * (1 - 0.5 * z)


def _cosine(m: Any, high: Any, low: Any, single: bool) -> tuple[Any, Any]:
    """The cosine of a small angle, likewise."""
    z = high * high
    quartic = z * z * _polynomial(z, _COS_SINGLE if single else _COS)
    half = 0.5 * z
    near = 1 - half
    return near, quartic if single else ((1 - near) - half) + (quartic - high * low)


def _circular(m: Any, size: Any, single: bool, more: int) -> Any:
    """The sine of a number of quarters more, of an angle that is not negative."""
    turned, high, low = _quarters(m, size, single)
    quarters = m.bits(turned) + more
    (sine, s), (cosine, c) = _sine(m, high, low, single), _cosine(m, high, low, single)
    odd = m.number((quarters & 1) << 62) != 0
    value = m.select(odd, cosine + c, sine + s)
    return m.number(m.bits(m.select(size < _INFINITY, value, size - size)) ^ ((quarters & 2) << 62))


def sin(m: Any, x: Any, single: bool) -> Any:
    """Sine of an angle in radians."""
    return m.number(m.bits(_circular(m, _size(m, x), single, 0)) ^ (m.bits(x) & _SIGN))


def cos(m: Any, x: Any, single: bool) -> Any:
    """Cosine of an angle in radians."""
    return _circular(m, _size(m, x), single, 1)


def tan(m: Any, x: Any, single: bool) -> Any:
    """Tangent of an angle in radians."""
    size = _size(m, x)
    turned, high, low = _quarters(m, size, single)
    (sine, s), (cosine, c) = _sine(m, high, low, single), _cosine(m, high, low, single)
    odd = m.number((m.bits(turned) & 1) << 62) != 0
    over, over_left = m.select(odd, -cosine, sine), m.select(odd, -c, s)
    under, under_left = m.select(odd, sine, cosine), m.select(odd, s, c)
    if single:
        value = (over + over_left) / (under + under_left)
    else:
        a, b = over + over_left, under + under_left
        q, rest = _quotient(m, a, (over - a) + over_left, b, (under - b) + under_left)
        value = q + rest
    value = m.select(size < _INFINITY, value, size - size)
    return m.number(m.bits(value) ^ (m.bits(x) & _SIGN))


FUNCTIONS = {
    "exp": Function(exp, 1, "exp", False, True),
    "exp2": Function(exp2, 1, "exp2", False, True),
    "expm1": Function(expm1, 1, "expm1", False, False),
    "log": Function(log, 1, "log", True, False),
    "log2": Function(log2, 1, "log2", True, False),
    "log10": Function(log10, 1, "log10", True, False),
    "log1p": Function(log1p, 1, "log1p", True, False),
    "tanh": Function(tanh, 1, "tanh", False, False),
    "sinh": Function(sinh, 1, "sinh", False, False),
    "cosh": Function(cosh, 1, "cosh", False, False),
    "sin": Function(sin, 1, "sin", False, False),
    "cos": Function(cos, 1, "cos", False, False),
    "tan": Function(tan, 1, "tan", False, False),
    "sigmoid": Function(sigmoid, 1, "", False, True),
    "softplus": Function(softplus, 1, "", False, True),
    "log_sigmoid": Function(log_sigmoid, 1, "", False, True),
}
"""By name."""
