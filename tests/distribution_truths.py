"""Values and slopes of SciPy's distributions at special points, by mpmath at many digits.

``python -m tests.distribution_truths`` (which needs mpmath) writes the data that the test of this name
reads. Slopes are differences at so many digits that nothing is left of their errors. At an end of the support the truth
is the limit from inside; NaN stands for a limit that does not exist.
"""

import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tests.distribution_formulas import Formula, Truth, continuous, discrete, mp

DATA = Path(__file__).parent / "distribution_truths.npz"
MISSING = -1.2345678901234567e-300
"""In place of a derivative that there is nothing to say of."""


def orders(count: int) -> list[tuple[int, ...]]:
    """The derivatives in so many arguments: value, first, second ones."""
    return [(), *[(i,) for i in range(count)], *itertools.combinations_with_replacement(range(count), 2)]


def slope(f: Formula, args: tuple[Any, ...], which: tuple[int, ...], step: Any) -> Any:
    """A derivative by central differences; the step is relative to what an argument is apart from its end."""
    if not which:
        return f(*args)
    i, *rest = which
    h = step[i]
    up, down = (tuple(a + s * h if j == i else a for j, a in enumerate(args)) for s in (1, -1))
    if len(rest) == 1 and rest[0] == i:
        return (f(*up) - 2 * f(*args) + f(*down)) / h**2
    return (slope(f, up, tuple(rest), step) - slope(f, down, tuple(rest), step)) / (2 * h)


def tables(truth: Truth, args: tuple[Any, ...], step: Any) -> dict[str, list[Any]]:
    """All derivatives of all methods at a point inside of the support."""
    count = len(args)
    skipped = {0} if truth.discrete else set()
    skipped |= {i + 1 for i in truth.whole}
    wanted = [w for w in orders(count) if not skipped & set(w)]
    log_density = {w: slope(truth.logpdf, args, w, step) for w in wanted}
    if abs(log_density[()]) > 1e10:  # there are not digits enough for what comes next
        raise ValueError("too far out")
    out = {"log": log_density, "density": exponentiated(log_density)}
    if truth.cdf is None:
        return finished(out, count)
    below, above = truth.cdf(*args), truth.sf(*args)
    small, sign = (truth.cdf, 1) if below < above else (truth.sf, -1)
    tails = {(): below}
    for w in wanted[1:]:
        if 0 in w:
            rest = w[1:] if w[0] == 0 else (w[0],)
            tails[w] = out["density"][rest]
        elif truth.slopes is not None:
            tails[w] = slope(truth.slopes[w[0] - 1], args, w[1:], step)
        else:
            tails[w] = sign * slope(small, args, w, step)
    out["cdf"] = tails
    out["sf"] = {w: -v if w else above for w, v in tails.items()}
    out["logcdf"], out["logsf"] = logarithm(out["cdf"]), logarithm(out["sf"])
    return finished(out, count)


def finished(out: Any, count: int) -> dict[str, list[Any]]:
    return {name: [table.get(w) for w in orders(count)] for name, table in out.items()}


def exponentiated(table: dict[Any, Any]) -> dict[Any, Any]:
    e = mp.exp(table[()])
    return {
        w: e if not w else e * v if len(w) == 1 else e * (v + table[w[:1]] * table[w[1:]]) for w, v in table.items()
    }


def logarithm(table: dict[Any, Any]) -> dict[Any, Any]:
    f = table[()]
    if f == 0:
        return {w: -mp.inf if not w else mp.nan for w in table}
    return {
        w: mp.log(f) if not w else v / f if len(w) == 1 else v / f - table[w[:1]] * table[w[1:]] / f**2
        for w, v in table.items()
    }


def limit(values: list[Any]) -> float:
    """Of numbers at arguments that come ever nearer; NaN if there is none that is finite."""
    _, second, third = values
    if abs(third) < 1e-6 and abs(third) <= abs(second) / 3:
        return 0.0
    if abs(third - second) < 1e-8 * max(1e-30, abs(third)):
        return float(third)
    return float("nan")


def at_point(truth: Truth, point: tuple[float, ...]) -> dict[str, list[float]]:
    """The truth as numbers, NaN where there is none."""
    args = tuple(mp.mpf(v) for v in point)
    low, high = truth.ends(*args[1:]) if not truth.discrete else (None, None)
    mp.dps = truth.digits
    tiny = mp.mpf(10) ** -22
    step = [tiny * (abs(a) or 1) for a in args]
    side = 0
    if (low is not None and abs(args[0] - low) <= 1e-15 * abs(low)) or args[0] in truth.kinks:
        side = 1
    elif high is not None and abs(args[0] - high) <= 1e-15 * abs(high):
        side = -1
    if not side:
        return {k: [numeral(v) for v in vs] for k, vs in tables(truth, args, step).items()}
    if args[0] in truth.kinks:
        return at_kink(truth, args, step)
    mp.dps = truth.digits + 110
    end = low if side > 0 else high
    near = []
    for power in (40, 44, 48):
        distance = mp.mpf(10) ** -power
        step[0] = distance * tiny
        steps = [step[0], *[mp.mpf(10) ** -(power + 22) for _ in step[1:]]]
        near.append(tables(truth, (end + side * distance, *args[1:]), steps))
    return {
        k: [MISSING if v is None else limit([n[k][i] for n in near]) for i, v in enumerate(vs)]
        for k, vs in near[0].items()
    }


def at_kink(truth: Truth, args: Any, step: Any) -> dict[str, list[float]]:
    """Where the density has a kink: what both sides agree on."""
    mp.dps = truth.digits + 110
    sides = []
    for side in (1, -1):
        near = []
        for power in (40, 44, 48):
            distance = mp.mpf(10) ** -power
            steps = [distance * mp.mpf(10) ** -22, *[mp.mpf(10) ** -(power + 22) for _ in step[1:]]]
            near.append(tables(truth, (args[0] + side * distance, *args[1:]), steps))
        sides.append(
            {
                k: [MISSING if v is None else limit([n[k][i] for n in near]) for i, v in enumerate(vs)]
                for k, vs in near[0].items()
            }
        )
    first, second = sides
    return {
        k: [a if abs(a - b) <= 1e-9 * abs(a) else float("nan") for a, b in zip(vs, second[k], strict=True)]
        for k, vs in first.items()
    }


def numeral(v: Any) -> float:
    if v is None:
        return MISSING
    return float(v.real if isinstance(v, mp.mpc) else v)


def main(names: list[str], data: Path = DATA) -> None:
    """Write the data, or only that of some distributions anew."""
    mp.dps = 110
    found = {} if not data.exists() else dict(np.load(data))
    for name, truth in {**continuous(), **discrete()}.items():
        if names and name not in names:
            continue
        rows = []
        for point in truth.points:
            try:
                rows.append(at_point(truth, point))
            except (ZeroDivisionError, ValueError, mp.NoConvergence):
                rows.append(None)  # a pole, or too far out
        kept = [(p, r) for p, r in zip(truth.points, rows, strict=True) if r is not None]
        found[f"{name}.points"] = np.array([p for p, _ in kept], float)
        for key in kept[0][1]:
            found[f"{name}.{key}"] = np.array([r[key] for _, r in kept], float)
        np.savez_compressed(data, **found)


if __name__ == "__main__":
    main(sys.argv[1:])
