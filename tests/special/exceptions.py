"""Where derivatives are further from the truth than the bounds of the table, by how much, and why."""

from __future__ import annotations

from typing import NamedTuple


class Shortfall(NamedTuple):
    """The largest errors, in units of the bound, by dtype and order; a NaN is one of more than 1."""

    reason: str
    worst: dict[tuple[str, int], float]


_WHOLE = "a second derivative that is 0 comes out as rounding errors"
_BESSEL = "neighboring orders cancel far out, x times the last place"
_VOIGT = "SciPy's Faddeeva function is exact to 1e-13, which the derivatives are made of"

EXCEPTIONS = {
    "scipy_logsumexp_weighted": Shortfall(
        "an off-diagonal share of a weighted sum is exact, but 1 less a share near 1 is rounded as 1 is",
        {("float64", 2): 200000000000.0, ("float32", 2): 200000.0},
    ),
    "beta": Shortfall(
        "SciPy's value is so far off, and so it is as a factor", {("float64", 1): 6.0, ("float64", 2): 3.0}
    ),
    "binom": Shortfall(_WHOLE, {("float64", 2): 20.0}),
    "poch": Shortfall(_WHOLE, {("float64", 2): 20.0}),
    "ive": Shortfall(_BESSEL, {("float64", 1): 4.0, ("float64", 2): 9.0}),
    "kve": Shortfall(_BESSEL, {("float64", 2): 4.0}),
    "kv in the order": Shortfall(
        "integrals are exact to some 1e-13 of their integrand, which is a bit more than this", {("float64", 1): 10.0}
    ),
    "hyperu": Shortfall("SciPy's values are so far off", {("float64", 1): 8.0}),
    "voigt_profile": Shortfall(_VOIGT, {("float64", 1): 40.0, ("float64", 2): 40.0}),
}
