"""Distributions of SciPy's at special points against mpmath: ends, centers, shapes of 0, 1 and 2, far tails.

The truths are made by `tests.distribution_truths`. A derivative is right to the last digits that its arguments have,
or it is not finite, where the value is not either or the point is an end of the support. It is never another number.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import tape_api as tf
from engine.numpy_api.stats.table import UNIVARIATE
from engine.runtime.errors import UnimplementedError
from tests.distribution_truths import DATA, MISSING, orders

STORED = dict(np.load(DATA))
KEYS = {"logpdf": "log", "pdf": "density", "logpmf": "log", "pmf": "density"}
EPS = 2.0**-52
RELATIVE = (1e-11, 1e-9, 1e-6)
"""Of values, of first and of second derivatives."""
KINKS = ("laplace", "laplace_asymmetric", "dweibull", "dgamma", "gennorm", "triang")
"""At the center, or at the shape: no derivatives of the density in x."""
ABSOLUTE = (1e-300, 2e-15, 1e-6)
IN_LOGARITHMS = (4e-15, 1e-13, 1e-6)


def computed(name: str, method: str, points: np.ndarray) -> dict[tuple[int, ...], np.ndarray]:
    """The value and all derivatives that there are, at all points at once."""
    f, count, found = getattr(getattr(st, name), method), points.shape[1], {}
    columns = [tf.constant(points[:, i]) for i in range(count)]
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(columns)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(columns)
            y = f(*columns)
        zero: dict[str, Any] = {"unconnected_gradients": "zero"}
        first = {i: tape.gradient(y, columns[i], **zero) for i in range(int(UNIVARIATE[name].discrete), count)}
    found[()] = y.numpy()
    for i, slope in first.items():
        found[(i,)] = slope.numpy()
        for j in range(i, count):
            try:
                found[(i, j)] = outer.gradient(slope, columns[j], **zero).numpy()
            except UnimplementedError:
                continue  # in words
    return found


def allowed(truths: dict[tuple[int, ...], np.ndarray], which: tuple[int, ...], method: str, points: Any) -> np.ndarray:
    """What a number may be off: the last digits of its arguments make this difference, or those of its terms."""
    order, truth = len(which), truths[which]
    out = RELATIVE[order] * np.abs(truth) + ABSOLUTE[order] + (IN_LOGARITHMS[order] if method[:3] == "log" else 0.0)
    for i in range(points.shape[1]):
        change = truths.get(tuple(sorted((*which, i))))
        if change is not None:
            out = out + bounded(np.abs(change * points[:, i]) * 8 * EPS)
        if order:
            out = out + bounded((1e-15, 1e-13)[order - 1] * np.abs(truths[(i,)]))
    return out


def bounded(x: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(x) & (np.abs(x) > 1e-290), x, 0.0)


def special(name: str, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether a point is an end of the support, and whether the density has a kink there."""
    low, high = getattr(st, name).support(*points.T[1:])
    kink = points[:, 0] == (points[:, 1] if name == "triang" else 0.0)
    return (points[:, 0] == low) | (points[:, 0] == high), kink & (name in KINKS)


CASES = [name for name in UNIVARIATE if f"{name}.points" in STORED]


@pytest.mark.parametrize("name", CASES)
def test_right_or_not_a_number(name: str) -> None:
    points = STORED[f"{name}.points"]
    ends, kinks = special(name, points)
    wrong = []
    for method in UNIVARIATE[name].formulas:
        table = STORED.get(f"{name}.{KEYS.get(method, method)}")
        if table is None:
            continue
        truths = {w: table[:, i] for i, w in enumerate(orders(points.shape[1]))}
        with np.errstate(all="ignore"):
            found = computed(name, method, points)
            theirs = getattr(getattr(st, name), method)(*points.T)
            # what is left of a tail so small has no derivatives
            key = KEYS.get(method, method)
            log, density = table[:, 0], STORED[f"{name}.log"][:, 0]
            gone = ((log if key in ("log", "logcdf", "logsf") else np.log(np.abs(log))) < -300) | (density < -300)
            for w, got in found.items():
                truth = truths[w]
                close = (np.abs(got - truth) <= allowed(truths, w, method, points)) | (got == truth)
                close |= np.isclose(got, theirs, rtol=1e-9, atol=0.0, equal_nan=True) if not w else False
                silent = np.isfinite(got) | ~(ends | kinks | gone) if w else True
                judged = (truth != MISSING) & np.isfinite(truth) & silent
                judged &= ~(ends & np.isinf(found[()])) & ~(kinks & (len(w) > 0) & (method in ("pdf", "logpdf")))
                wrong += [
                    f"{method} {w} at {points[i].tolist()}: {got[i]!r}, not {truth[i]!r}"
                    for i in np.flatnonzero(judged & ~close)
                ]
    assert not wrong, "\n".join(wrong)


def test_the_page_has_values_that_are_not_scipys() -> None:
    page = (Path(__file__).parents[2] / "docs" / "numpy-and-scipy.md").read_text()
    rows = re.findall(r"^\| `(\w+)\.(\w+)\(([^)]*)\)` \| (\S+) \| (\S+) \|$", page, re.M)
    assert len(rows) == 5
    for name, method, arguments, truth, theirs in rows:
        x, *shapes = [float(v) for v in arguments.split(", ")]
        ours = float(getattr(getattr(st, name), method)(tf.constant(x, tf.float64), *shapes))
        assert ours == pytest.approx(float(truth), rel=1e-14)
        assert float(theirs) != pytest.approx(float(truth), rel=1e-6)
