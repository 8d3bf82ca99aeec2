"""Circular functions and their inverses, as `functions.py` says."""

from __future__ import annotations

from typing import Any

from engine.runtime.elementary.steps import (
    INFINITY,
    MAGIC,
    NAN,
    ONE,
    SIGN,
    arccosine_of,
    arcsine_of,
    arcsine_parts,
    difference_of,
    parts_of,
    polynomial,
    power_of_2,
    product_of,
    quotient_of,
    size_of,
    sum_of,
    with_sign_of,
)

_SIN = (
    *(-0.16666666666666632, 0.008333333333322444, -0.00019841269829800264, 2.7557313681864845e-06),
    *(-2.505075568485203e-08, 1.5896615836088335e-10),
)
_SIN_SINGLE = (-0.16666666641372116, 0.008333329355862682, -0.0001983932504451283, 2.7182171171047236e-06)
_COS = (
    *(0.041666666666666595, -0.0013888888888873296, 2.4801587288953853e-05, -2.755731419881006e-07),
    *(2.0875702454766246e-09, -1.1358577132245608e-11),
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


def _quarters(m: Any, size: Any) -> tuple[Any, Any, Any]:
    """The quarters of a circle in an angle, in the last bits of a number, and what is left: a number and its rest."""
    turned = size * 0.6366197723675814 + MAGIC
    n = turned - MAGIC
    rest = size - n * _HALF_PI[0]
    if m.single:
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
    j = m.larger(0.0, (((exponent - 78) * (1 / 24) - (0.5 - 1 / 48)) + MAGIC) - MAGIC + 1)
    shift, digits = j, [float(digit) for digit in _TWO_OVER_PI]
    for step, kept in ((32, 40), (16, 24), (8, 16), (4, 12), (2, 10), (1, 9)):
        beyond = shift >= step
        digits = [m.select(beyond, digits[i + step] if i + step < len(digits) else 0.0, digits[i]) for i in range(kept)]
        shift = shift - m.select(beyond, float(step), 0.0)
    number = m.number((bits & ((1 << 52) - 1)) + ONE) * power_of_2(m, (exponent - 24) - 24 * j)
    high, low = parts_of(m, number)
    total = lost = least = 0.0
    for k, digit in enumerate(digits):
        for part in (high, low):
            term = part * digit * 2.0 ** (-24 * k)
            # whole circles are of no interest
            for unit in (1.5 * 2.0**82, 1.5 * 2.0**54) if k < 4 else ():
                term = term - ((term + unit) - unit)
            total, error = sum_of(total, term)
            lost, error = sum_of(lost, error)
            least = least + error
    turned = total + MAGIC
    high, low = sum_of(total - (turned - MAGIC), lost)
    high, low = sum_of(high, low + least)
    angle, left = product_of(m, high, 1.5707963267948966)
    return turned, angle, left + (high * 6.123233995736766e-17 + low * 1.5707963267948966)


def _sine(m: Any, high: Any, low: Any) -> tuple[Any, Any]:
    """The sine of a small angle, as a number and what is to be added."""
    z = high * high
    cubic = z * high * polynomial(z, _SIN_SINGLE if m.single else _SIN)
    return high, cubic if m.single else cubic + low * (1 - 0.5 * z)


def _cosine(m: Any, high: Any, low: Any) -> tuple[Any, Any]:
    """The cosine of a small angle, likewise."""
    z = high * high
    quartic = z * z * polynomial(z, _COS_SINGLE if m.single else _COS)
    half = 0.5 * z
    near = 1 - half
    return near, quartic if m.single else ((1 - near) - half) + (quartic - high * low)


def _circular(m: Any, size: Any, more: int) -> Any:
    """The sine of a number of quarters more, of an angle that is not negative."""
    turned, high, low = _quarters(m, size)
    quarters = m.bits(turned) + more
    (sine, s), (cosine, c) = _sine(m, high, low), _cosine(m, high, low)
    odd = m.number((quarters & 1) << 62) != 0
    value = m.select(odd, cosine + c, sine + s)
    return m.number(m.bits(m.select(size < INFINITY, value, size - size)) ^ ((quarters & 2) << 62))


def sin(m: Any, x: Any) -> Any:
    """Sine of an angle in radians."""
    return m.number(m.bits(_circular(m, size_of(m, x), 0)) ^ (m.bits(x) & SIGN))


def cos(m: Any, x: Any) -> Any:
    """Cosine of an angle in radians."""
    return _circular(m, size_of(m, x), 1)


def tan(m: Any, x: Any) -> Any:
    """Tangent of an angle in radians."""
    size = size_of(m, x)
    turned, high, low = _quarters(m, size)
    (sine, s), (cosine, c) = _sine(m, high, low), _cosine(m, high, low)
    odd = m.number((m.bits(turned) & 1) << 62) != 0
    over, over_left = m.select(odd, -cosine, sine), m.select(odd, -c, s)
    under, under_left = m.select(odd, sine, cosine), m.select(odd, s, c)
    if m.single:
        value = (over + over_left) / (under + under_left)
    else:
        a, b = over + over_left, under + under_left
        q, rest = quotient_of(m, a, (over - a) + over_left, b, (under - b) + under_left)
        value = q + rest
    value = m.select(size < INFINITY, value, size - size)
    return m.number(m.bits(value) ^ (m.bits(x) & SIGN))


# (atan(s) - s) / s**3, (asin(s) - s) / s**3 as polynomials in s**2, for s up to 0.4375 and 0.5
_ATAN = (
    *(-0.33333333333332926, 0.19999999999875098, -0.14285714272379083, 0.11111110399848259, -0.09090886986953764),
    *(0.0769187383582019, -0.06661048632264684, 0.0583340788194698, -0.049762129186904085, 0.03651620739989943),
    -0.01627052694360651,
)
_ASIN = (
    *(0.1666666666666666, 0.07500000000002398, 0.04464285713980425, 0.03038194463927869, 0.022372151757072554),
    *(0.017352942316372303, 0.013961913553129158, 0.011585597363294913, 0.009484511965582379, 0.01000750642703769),
    *(0.0006880982297626506, 0.02481652513352919, -0.02614028949469832, 0.03364027593520482),
)
_ANGLES = (
    (0.4375, 0.5, 0.4636476090008061, 2.2698777452961687e-17),
    (0.6875, 1.0, 0.7853981633974483, 3.061616997868383e-17),
    (1.1875, 1.5, 0.982793723247329, 1.3903311031230998e-17),
)
"""From where on an angle is measured from another one: that one's tangent, and itself in two parts."""
_RIGHT_ANGLE = (1.5707963267948966, 6.123233995736766e-17)


def _angle(m: Any, over: Any, under: Any) -> tuple[Any, Any]:
    """The angle of which the tangent is ``over / under``, both not negative, in two parts."""
    # the angle less a known one: (t - c) / (1 + c * t) is the tangent of the difference
    high, low, top, bottom = 0.0, 0.0, over, under
    for least, c, first, second in _ANGLES:
        beyond = over > least * under
        high, low = m.select(beyond, first, high), m.select(beyond, second, low)
        top, bottom = m.select(beyond, over - c * under, top), m.select(beyond, under + c * over, bottom)
    beyond = over > 2.4375 * under
    high, low = m.select(beyond, _RIGHT_ANGLE[0], high), m.select(beyond, _RIGHT_ANGLE[1], low)
    top, bottom = m.select(beyond, -under, top), m.select(beyond, over, bottom)
    s = top / bottom
    product, lost = product_of(m, s, bottom)
    left = m.select(size_of(m, s) > 2.0**-900, ((top - product) - lost) / bottom, 0.0)
    z = s * s
    rest = s * z * polynomial(z, _ATAN)
    total = high + s
    return total, (s - (total - high)) + (rest + (low + left))


def arctan(m: Any, x: Any) -> Any:
    """Angle in radians whose tangent is x."""
    size = m.smaller(2.0**60, size_of(m, x))
    high, low = _angle(m, size, size * 0 + 1)
    return with_sign_of(m, high + low, x)


def _root_left(m: Any, half: Any, root: Any) -> Any:
    square, lost = product_of(m, root, root)
    return m.select(half > 0, ((half - square) - lost) / (2 * root), 0.0)


def arcsin(m: Any, x: Any) -> Any:
    """Angle in radians whose sine is x."""
    size = size_of(m, x)
    value = arcsine_of(m, arcsine_parts(m, size, _ASIN, _root_left), _RIGHT_ANGLE)
    return with_sign_of(m, m.select(size <= 1, value, size * NAN), x)


def arccos(m: Any, x: Any) -> Any:
    """Angle in radians whose cosine is x."""
    size = size_of(m, x)
    value = arccosine_of(m, x, arcsine_parts(m, size, _ASIN, _root_left), _RIGHT_ANGLE)
    return m.select(size <= 1, value, size * NAN)


def arctan2(m: Any, y: Any, x: Any) -> Any:
    """Angle in radians of the point ``(x, y)``, from the first operand y and the second one x."""
    over, under = size_of(m, y), size_of(m, x)

    def angle(m: Any, over: Any, under: Any) -> tuple[Any, Any]:
        large = m.select(over > under, over, under)
        scale = m.select(large < 2.0**-500, 2.0**600, m.select(large > 2.0**500, 2.0**-600, 1.0))
        return _angle(m, over * scale, under * scale)

    def elsewhere(m: Any, over: Any, under: Any) -> tuple[Any, Any]:
        # infinities are alike, and so are zeros: with x, all of the angle is x's
        endless = m.select(over > under, over, under) == INFINITY
        up = m.select(endless, m.select(over == INFINITY, 1.0, 0.0), over)
        along = m.select(
            endless, m.select(under == INFINITY, 1.0, 0.0), m.select((over == 0) & (under == 0), 1.0, under)
        )
        high, low = angle(m, up, along)
        known = (over == over) & (under == under)
        return m.select(known, high, m.select(over == over, under, over)), m.select(known, low, 0.0)

    odd = ~((over + under > 0) & (over + under < INFINITY))
    high, low = m.rarely(odd, elsewhere, (over, under), angle(m, over, under))
    back = m.number((m.bits(x) & SIGN) | ONE) < 0
    behind = difference_of(2 * _RIGHT_ANGLE[0], 2 * _RIGHT_ANGLE[1], high, low)
    return with_sign_of(m, m.select(back, behind, high + low), y)
