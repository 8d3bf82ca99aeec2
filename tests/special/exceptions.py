"""Where derivatives are further from the truth than the bounds of the table, by how much, and why."""

from typing import NamedTuple


class Shortfall(NamedTuple):
    """The largest errors, in units of the bound, by dtype and order; a NaN is one of more than 1."""

    reason: str
    worst: dict[tuple[str, int], float]


_WHOLE = "a second derivative that is 0 comes out as some units in the last place of its terms"
_VOIGT = "a recurrence loses digits between the middle and far out, close to the real axis"

EXCEPTIONS = {
    "beta": Shortfall(
        "SciPy's value is so far off, and so it is as a factor", {("float64", 1): 6.0, ("float64", 2): 3.0}
    ),
    "binom": Shortfall(_WHOLE, {("float64", 2): 10.0}),
    "poch": Shortfall(_WHOLE, {("float64", 2): 10.0}),
    "hyperu": Shortfall("SciPy's values are so far off", {("float64", 1): 8.0}),
    "voigt_profile": Shortfall(_VOIGT, {("float64", 1): 10.0, ("float64", 2): 6.0}),
}
