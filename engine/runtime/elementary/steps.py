"""Steps that the elementary functions have in common: see `functions.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Format(NamedTuple):
    """How numbers are held."""

    name: str
    width: int
    places: int
    """Bits, and those of them behind the point."""
    magic: float
    """Added to a number, it leaves no digits behind the point; the last bits then are those of an integer."""
    high: int
    """The bits of a number that leave it so few digits that a product of two such numbers is exact."""

    @property
    def sign(self) -> int:
        """The bit of the sign."""
        return 1 << (self.width - 1)

    @property
    def one(self) -> int:
        """The bits of 1."""
        return ((1 << (self.width - self.places - 2)) - 1) << self.places


DOUBLE = Format("d", 64, 52, 1.5 * 2.0**52, -1 << 27 & (1 << 64) - 1)
SINGLE = Format("f", 32, 23, 1.5 * 2.0**23, -1 << 12 & (1 << 32) - 1)

MAGIC, SIGN, ONE, HIGH = DOUBLE.magic, DOUBLE.sign, DOUBLE.one, DOUBLE.high
INFINITY, NAN, LEAST = float("inf"), float("nan"), 2.0**-1022

CUBE_ROOT = (0.4961922480372798, 0.7171045932427266, -0.2690534178811371, 0.061769337841917335, -0.005579653986211756)
"""The cube root between 1 / 2 and 4, to three digits."""


def polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """Value of a polynomial, even and odd powers apart: they do not wait for each other."""
    if len(coefficients) < 4:
        return horner(x, coefficients)
    return horner(x * x, coefficients[::2]) + x * horner(x * x, coefficients[1::2])


def horner(x: Any, coefficients: Sequence[float]) -> Any:
    """Value of a polynomial, one step after the other."""
    total = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = total * x + coefficient
    return total


def size_of(m: Any, x: Any) -> Any:
    """A number without its sign."""
    return m.number(m.bits(x) & (m.format.sign - 1))


def with_sign_of(m: Any, size: Any, x: Any) -> Any:
    """A number that is not negative, with the sign of another one."""
    return m.number(m.bits(size) | (m.bits(x) & m.format.sign))


def between(m: Any, low: float, x: Any, high: float) -> Any:
    """The number, if it is within these limits; a NaN stays one."""
    return m.smaller(high, m.larger(low, x))


def power_of_2(m: Any, n: Any) -> Any:
    """``2**n`` for a whole number of which that is a normal number."""
    return m.number((m.bits(n + m.format.magic) << m.format.places) + m.format.one)


def scaled_by(m: Any, x: Any, n: Any) -> Any:
    """``x * 2**n`` for any whole number up to twice as large."""
    half = (n * 0.5 + m.format.magic) - m.format.magic
    return x * power_of_2(m, half) * power_of_2(m, n - half)


def sum_of(a: Any, b: Any) -> tuple[Any, Any]:
    """A sum, and what its rounding has lost."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def one_more(r: Any, t: Any) -> tuple[Any, Any]:
    """``1 + r + t`` as a number and what it leaves."""
    total = 1 + r
    return total, (r - (total - 1)) + t


def parts_of(m: Any, x: Any) -> tuple[Any, Any]:
    """A number as one of half the digits and the rest."""
    high = m.number(m.bits(x) & m.format.high)
    return high, x - high


def product_of(m: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """A product, and what its rounding has lost."""
    (a_high, a_low), (b_high, b_low), product = parts_of(m, a), parts_of(m, b), a * b
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def quotient_of(m: Any, over: Any, over_left: Any, under: Any, under_left: Any) -> tuple[Any, Any]:
    """A quotient, and what it has to be corrected by, of numbers and what they leave."""
    q = over / under
    product, lost = product_of(m, q, under)
    return q, (((over - product) - lost) + (over_left - q * under_left)) / under


def difference_of(a: Any, a_left: Any, b: Any, b_left: Any) -> Any:
    """``a - b`` of numbers and what they leave."""
    total = a - b
    return total + (((a - total) - b) + (a_left - b_left))


def arcsine_parts(m: Any, size: Any, coefficients: Sequence[float], left_of: Any) -> tuple[Any, Any, Any, Any]:
    """Where a number is beyond 1 / 2, and what the arcsine's series goes by: itself, or a root, and the root's rest."""
    far = size > 0.5
    half = 0.5 * (1 - size)
    z = m.select(far, half, size * size)
    root = m.sqrt(half)
    s = m.select(far, root, size)
    series = s * z * polynomial(z, coefficients)
    return far, s, series, m.select(far, series + left_of(m, half, root), series)


def arcsine_of(m: Any, parts: tuple[Any, Any, Any, Any], right_angle: tuple[float, float]) -> Any:
    """The arcsine of a number that is not negative."""
    far, s, _, rest = parts
    return m.select(far, difference_of(*right_angle, 2 * s, 2 * rest), s + rest)


def arccosine_of(m: Any, x: Any, parts: tuple[Any, Any, Any, Any], right_angle: tuple[float, float]) -> Any:
    """The arccosine of a number of which these are the parts of the size."""
    far, s, series, rest = parts
    # half a circle less, where x is negative
    negative = x < 0
    twice, more = m.select(far, 2 * s, m.select(negative, -s, s)), m.select(far, 2 * rest, series)
    more = m.select(negative & ~far, -more, more)
    turn = m.select(far, 2.0, 1.0)
    value = difference_of(right_angle[0] * turn, right_angle[1] * turn, twice, more)
    return m.select(far & ~negative, twice + more, value)
