"""Elementwise ops at singular points against real TensorFlow: values, gradients, second derivatives.

What differs is a row of `MEANT`, and a sentence of docs/differences.md; a row that no longer differs fails as well.
"""

import itertools
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tape_api
from tests.op_table import ROWS
from tests.row import Row
from tests.singular_idioms import IDIOMS, Idiom

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tf = pytest.importorskip("tensorflow")

pytestmark = pytest.mark.peer

inf, nan = np.inf, np.nan
# TensorFlow takes subnormal numbers for zeros, so there are none
ONE = [-inf, -2.0, -1.0, -0.5, -0.0, 0.0, 1e-300, 0.5, 1.0, 2.0, 6.0, inf, nan]
TWO = [-inf, -2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, inf, nan]
TABLE = {
    row.id: row
    for row in ROWS
    if row.op.kind == "elementwise"
    and row.tf
    and row.call is None
    and not row.label
    and len(row.inputs) < 3
    # TensorFlow has no second derivatives of these; ours of igamma and zeta in the first argument do not exist either
    and "float64" in row.dtypes
    and row.id not in ("truncatemod", "softsign", "igamma", "igammac", "zeta")
}


@dataclass(frozen=True)
class Meant:
    """Where results differ from TensorFlow's: `ops` and `keys` are patterns, `reason` stands in docs/differences.md."""

    ops: str
    keys: str
    where: Callable[[tuple[float, ...], float, float], bool]
    reason: str


def theirs_is_nan(at: tuple[float, ...], ours: float, theirs: float) -> bool:
    return bool(np.isnan(theirs))


MEANT = (
    Meant(
        "mod", "gradient 1", lambda at, o, t: np.isinf(at).any(), "`floordiv` and `mod` with an infinity follow Python"
    ),
    Meant(
        "maximum|minimum",
        "gradient 1",
        lambda at, o, t: np.isnan(at).any(),
        "Where an operand is NaN, neither gets a derivative",
    ),
    Meant("pow", "gradient 0|second 0[01]", lambda at, o, t: at[1] in (0, 1), "`x ** 0.0`"),
    Meant("pow", "second 1.|second 01", theirs_is_nan, "Second derivatives of `pow` in its exponent"),
    Meant("rsqrt", "gradient 0", lambda at, o, t: at[0] == 0, "`rsqrt` at -0.0"),
    Meant("bessel_[ky].*", ".*", lambda at, o, t: at[0] < 0 and np.isnan(o), "Bessel functions of the second kind"),
    Meant("bessel_k1e", "gradient 0", lambda at, o, t: at[0] == 0, "Bessel functions of the second kind"),
    Meant(
        "bessel_[ijky].*",
        "gradient 0|second 00",
        lambda at, o, t: abs(at[0]) < 1e-200,
        "Derivatives of Bessel functions at 0",
    ),
    Meant(
        "erf|lgamma|digamma|polygamma|zeta|expint|dawsn",
        ".*",
        lambda at, o, t: theirs_is_nan(at, o, t) or np.isinf(at).any(),
        "Poles and infinities of special functions",
    ),
    Meant(
        "erfc?|ndtr|spence|digamma|atan|asinh|acosh|atanh|atan2|xdivy",
        "second ..",
        theirs_is_nan,
        "Second derivatives that TensorFlow computes as",
    ),
    Meant(
        "atan2",
        "second 01|second 10",
        lambda at, o, t: np.isinf(at).any() and bool(np.isnan(o)),
        "Mixed second derivatives of `atan2` at infinities",
    ),
)


def points(row: Row) -> list[np.ndarray]:
    if len(row.inputs) == 1:
        return [np.array(ONE)]
    return [np.array(x) for x in zip(*itertools.product(TWO, repeat=2), strict=True)]


def derivatives(api: Any, fn: Callable[..., Any], arrays: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Values, gradients with respect to each operand, and gradients of each of these with respect to each."""
    xs = [api.constant(a) for a in arrays]
    found: dict[str, np.ndarray] = {}
    with np.errstate(all="ignore"), api.GradientTape(persistent=True) as outer:
        outer.watch(xs)
        with api.GradientTape() as inner:
            inner.watch(xs)
            y = fn(*xs)
        first = inner.gradient(y, xs, unconnected_gradients="zero")
    found["value"] = np.asarray(y)
    for i, g in enumerate(first):
        found[f"gradient {i}"] = np.asarray(g)
        with np.errstate(all="ignore"):
            for j, h in enumerate(outer.gradient(g, xs, unconnected_gradients="zero")):
                found[f"second {i}{j}"] = np.asarray(h)
    return found


def differing(row: Row) -> list[tuple[str, tuple[float, ...], float, float]]:
    arrays = points(row)
    ours = derivatives(tape_api, row.apply, arrays)
    theirs = derivatives(tf, lambda *xs: row.in_tensorflow(tf, *xs), arrays)
    found = []
    for key, got in ours.items():
        expected = theirs[key]
        same = np.isclose(got, expected, rtol=1e-6, atol=1e-9, equal_nan=True)
        found += [
            (key, tuple(float(a[k]) for a in arrays), float(got[k]), float(expected[k])) for k in np.flatnonzero(~same)
        ]
    return found


def meant(row: Row, key: str, at: tuple[float, ...], ours: float, theirs: float) -> bool:
    return any(re.fullmatch(m.ops, row.id) and re.fullmatch(m.keys, key) and m.where(at, ours, theirs) for m in MEANT)


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)
def test_elementwise_ops_are_those_of_tensorflow_to_second_order(row: Row) -> None:
    assert [d for d in differing(row) if not meant(row, *d)] == []


def test_what_is_meant_to_differ_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "differences.md").read_text(encoding="utf-8")
    assert [m.reason for m in MEANT if m.reason not in " ".join(text.split())] == []


@pytest.mark.parametrize("idiom", IDIOMS, ids=lambda idiom: idiom.name)
def test_gradients_through_singular_points_are_those_of_tensorflow_where_both_are_numbers(idiom: Idiom) -> None:
    found = []
    for api in (tape_api, tf):
        x = api.constant(np.array(idiom.at))
        with np.errstate(all="ignore"), api.GradientTape() as tape:
            tape.watch(x)
            y = idiom.fn(api, x)
        g = tape.gradient(y, x, unconnected_gradients="zero")
        found.append(np.asarray(api.convert_to_tensor(g)))
    ours, theirs = found
    known = np.isfinite(ours) & np.isfinite(theirs)
    # TensorFlow has rules that are 0 for the cotangent 0, as we had
    known[list(idiom.nan)] &= theirs[list(idiom.nan)] != 0
    np.testing.assert_allclose(ours[known], theirs[known], rtol=1e-6, atol=1e-9)
