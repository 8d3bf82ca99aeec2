"""Where derivatives are further from the truth than the bounds of the table, by how much, and why."""

from __future__ import annotations

from math import inf
from typing import NamedTuple


class Shortfall(NamedTuple):
    """The largest errors, in units of the bound, by dtype and order; a NaN is one of more than 1."""

    reason: str
    worst: dict[tuple[str, int], float]


_BOXCOX = "the formula is computed in single precision, whose logarithms and powers are rounded"
_SHARES = "an off-diagonal share of a row is exact, but 1 less a share near 1 is rounded as 1 is, as in TensorFlow"
_INVERSE = "a quotient of a rounded quantile, in single precision, that overflows where the density does"
_BETAINC = "the continued fraction for slopes in the shapes loses a digit where a shape is near 0; a tail underflows"
_F = "two terms of the slope in degrees of freedom cancel, since the share depends on them too"
_STDTR = (
    "two terms of the slope in degrees of freedom cancel where these are many; squares overflow in single precision"
)
_BESSEL = "neighboring orders cancel far out, x times the last place"
_ORDER = "integrals are exact to 1e-13 of their integrand, beside which second derivatives in the order are tiny"
_STRUVE = "for order 0 near 0 SciPy's functions of negative orders cancel in the second derivative"
_ELLIPK = "a hypergeometric function of SciPy's is so far off at large negative or nearly singular parameters"
_INC = "differences of integrals cancel at small amplitudes, where the derivative in m is a power of these"

EXCEPTIONS = {
    "atan2": Shortfall(
        "a NaN for the mixed second derivative where the sum of squares overflows or underflows",
        {("float64", 2): 4.0, ("float32", 2): 4.0},
    ),
    "boxcox": Shortfall(_BOXCOX, {("float32", 1): 4.0}),
    "inv_boxcox": Shortfall(_BOXCOX, {("float32", 1): 4.0, ("float32", 2): 4.0}),
    "inv_boxcox1p": Shortfall(_BOXCOX, {("float32", 1): 4.0, ("float32", 2): 4.0}),
    "cumulative_logsumexp": Shortfall(_SHARES, {("float64", 2): 200000000000.0, ("float32", 2): 200000.0}),
    "scipy_logsumexp_weighted": Shortfall(_SHARES, {("float64", 2): 200000000000.0, ("float32", 2): 200000.0}),
    "softmax": Shortfall(
        _SHARES,
        {
            ("float64", 1): 20000000000000.0,
            ("float64", 2): 200000000000.0,
            ("float32", 1): 300000.0,
            ("float32", 2): 200000.0,
        },
    ),
    "log_softmax": Shortfall(
        _SHARES,
        {("float64", 1): 4000.0, ("float64", 2): 200000000000.0, ("float32", 1): 500000.0, ("float32", 2): 200000.0},
    ),
    "pseudo_huber": Shortfall(
        "a share near 1 is subtracted from 1, in single precision, where r is 1e22 times delta",
        {("float32", 2): 4000.0},
    ),
    "lambertw": Shortfall(
        "the formula is computed in single precision, of a value that has been rounded", {("float32", 1): 4.0}
    ),
    "ndtri": Shortfall("a rounded quantile is squared and raised in single precision", {("float32", 1): 10.0}),
    "beta": Shortfall(
        "SciPy's value is so far off; the mixed second derivative cancels for shapes near 0",
        {("float64", 1): 6.0, ("float64", 2): 1e25, ("float32", 2): 80000000.0},
    ),
    "binom": Shortfall(
        "a second derivative that is 0 comes out as rounding errors; in single precision a factor overflows to NaN",
        {("float64", 2): 6.0, ("float32", 1): 4.0, ("float32", 2): 4.0},
    ),
    "poch": Shortfall(
        "a second derivative that is 0 comes out as rounding errors", {("float64", 2): 10.0, ("float32", 2): 20.0}
    ),
    "gammainc": Shortfall(
        "the density underflows in single precision, its quotient by x does not", {("float32", 2): 80000.0}
    ),
    "gammaincinv": Shortfall(_INVERSE, {("float32", 2): inf}),
    "gammainccinv": Shortfall(_INVERSE, {("float32", 1): 3.0, ("float32", 2): 7.0}),
    "betainc": Shortfall(_BETAINC, {("float64", 1): 10.0}),
    "betaincc": Shortfall(_BETAINC, {("float64", 1): 10.0, ("float64", 2): 200000000000.0}),
    "betaincinv": Shortfall(_INVERSE, {("float32", 1): 6.0}),
    "fdtr": Shortfall(_F, {("float64", 1): 100.0, ("float64", 2): 20.0, ("float32", 1): 10.0, ("float32", 2): 2.0}),
    "fdtrc": Shortfall(_F, {("float64", 1): 100.0, ("float64", 2): 20.0, ("float32", 1): 10.0, ("float32", 2): 2.0}),
    "stdtr": Shortfall(_STDTR, {("float64", 1): 20000.0, ("float32", 1): 3.0, ("float32", 2): 6.0}),
    "stdtrit": Shortfall(_STDTR, {("float64", 1): 4.0, ("float32", 1): 200000.0, ("float32", 2): inf}),
    "ive": Shortfall(_BESSEL, {("float64", 1): 3.0, ("float64", 2): 9.0, ("float32", 1): 70.0, ("float32", 2): 2000.0}),
    "kve": Shortfall(_BESSEL, {("float64", 2): 3.0, ("float32", 1): 60.0, ("float32", 2): 1000.0}),
    "jv in the order": Shortfall(_ORDER, {("float64", 2): 300000000000000.0, ("float32", 2): 300000000.0}),
    "iv in the order": Shortfall(_ORDER, {("float64", 2): 100000000000000.0, ("float32", 2): 100000000.0}),
    "kv in the order": Shortfall(
        "integrals are exact to some 1e-13 of their integrand, which is a bit more than this", {("float64", 1): 10.0}
    ),
    "struve": Shortfall(_STRUVE, {("float64", 2): 100000000000.0, ("float32", 2): 100000.0}),
    "modstruve": Shortfall(_STRUVE, {("float64", 2): 100000000000.0, ("float32", 2): 100000.0}),
    "ellipk": Shortfall(_ELLIPK, {("float64", 1): 4000.0, ("float64", 2): 40.0}),
    "ellipkm1": Shortfall(_ELLIPK, {("float64", 2): inf, ("float32", 2): inf}),
    "ellipkinc": Shortfall(
        _INC,
        {
            ("float64", 1): 500000.0,
            ("float64", 2): 500000000000.0,
            ("float32", 1): 10000000.0,
            ("float32", 2): 8000000000000.0,
        },
    ),
    "ellipeinc": Shortfall(
        _INC,
        {
            ("float64", 1): 500000.0,
            ("float64", 2): 900000000000.0,
            ("float32", 1): 2000000.0,
            ("float32", 2): 100000000000000.0,
        },
    ),
    "agm": Shortfall(
        "NaN where one number is so small beside the other that the parameter is rounded to 1",
        {("float64", 1): 4.0, ("float64", 2): 4.0, ("float32", 1): 4.0, ("float32", 2): 4.0},
    ),
    "hyp1f1": Shortfall(
        "SciPy's value overflows too early in single precision", {("float32", 1): inf, ("float32", 2): inf}
    ),
    "hyperu": Shortfall("SciPy's values are so far off", {("float64", 1): 8.0}),
    "voigt_profile": Shortfall(
        "products of the derivatives of the Faddeeva function cancel in sigma",
        {("float64", 1): 70.0, ("float64", 2): 40.0, ("float32", 1): 500.0, ("float32", 2): 200.0},
    ),
}
