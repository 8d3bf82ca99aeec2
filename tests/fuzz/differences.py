"""Gradients against finite differences, where a program is smooth."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tape_api
from tests.fuzz.execute import Failed, Results, attempt, plain, run_on_tape, tape_leaf
from tests.fuzz.keys import numbers
from tests.fuzz.programs import Program, compiled

STEP = 1e-5
CUTS = (
    "stop_gradient", "range_op", "running_maximum", "cross_entropy_op-loss", "row clip", "xlog", "xdivy", "custom",
    "assign", "closed_call", "betainc", "gamma_slope", "random_gamma", "zeta", "polygamma", "cholesky_op", "log_i0e",
)  # fmt: skip
"""Recipes whose derivatives are not those of their values, or lack an operand, by parts of their names.

Some follow TensorFlow at singular points (``xlogy`` at 0), or where bounds cross (``clip``), or are those of symmetric
matrices, of which the value reads a half (``cholesky``); ``log_i0e`` is for positive numbers. Draws of gammas jump.
"""


def check_differences(
    program: Program, values: Mapping[str, np.ndarray], reference: Results, made: Callable[..., Any]
) -> list[Any]:
    """Where the gradient along a direction is not what differences of the values say."""
    gradients = reference.get("gradient")
    if gradients is None or isinstance(gradients, Failed):
        return []
    if any(cut in recipe for recipe in program.recipes for cut in CUTS):
        return []
    # what is computed follows the leaves; of a source that is there twice each gradient is the whole one
    known = dict(zip(program.sources, gradients, strict=True))
    names = [name for name in known if name in values]
    gradients = [known[name] for name in names]
    sources = [values[name] for name in names]
    # a step from a large number is lost in its rounding
    if not sources or not all(a.dtype == np.float64 and (np.abs(a) < 1e6).all() for a in sources):
        return []
    tangents = dict(zip(names, numbers([(a.shape, a.dtype) for a in sources]), strict=True))
    slopes = [attempt(lambda h=h: _slope(program, values, tangents, h)) for h in (STEP, STEP / 4)]
    if any(isinstance(s, Failed) or not np.isfinite(s).all() for s in slopes):
        return []
    (coarse, _), (fine, kink) = slopes
    if not all(g is None or np.isfinite(g).all() for g in gradients):
        return []
    terms = [np.sum(g * t) for g, t in zip(gradients, tangents.values(), strict=True) if g is not None]
    slope = float(np.sum(terms))
    size = 1 + abs(fine) + float(np.sum(np.abs(terms))) + _size(reference)
    # where the two steps disagree, the program is not smooth there, or not well conditioned
    if abs(coarse - fine) > 1e-7 * size or kink > 1e-3 * size or size > 1e6:
        return []
    # a slope on one side is off by no more than what both sides differ in
    if abs(slope - fine) <= 1e-5 * size + kink:
        return []
    # a branch or a rank may be another one exactly here
    for sign in (1, -1):
        moved = {n: values[n] + sign * STEP * t for n, t in tangents.items()}
        beside = attempt(lambda moved=moved: run_on_tape(program, {**values, **moved}, ()))
        if isinstance(beside, Failed) or not _continuous(list(known.values()), beside.get("gradient"), size):
            return []
    return [made("differences", "gradient", "value", f"{slope!r}\n  expected {fine!r}")]


def _continuous(here: list[Any], beside: Any, size: float) -> bool:
    """Whether gradients at two neighboring points are nearly the same."""
    if beside is None or isinstance(beside, Failed):
        return False
    return all(
        (g is None) == (b is None) and (g is None or bool((np.abs(g - b) <= 1e-2 * size).all()))
        for g, b in zip(here, beside, strict=True)
    )


def _size(reference: Results) -> float:
    return float(sum(np.abs(a[np.isfinite(a)]).max(initial=0) for a in reference["value"] if a.dtype.kind == "f"))


def _slope(
    program: Program, values: Mapping[str, np.ndarray], tangents: Mapping[str, np.ndarray], step: float
) -> tuple[float, float]:
    """The slope of the weighted sum of the targets, and by how much it is another one on either side."""
    sums = []
    for sign in (1, 0, -1):
        moved = dict(values)
        for name, t in tangents.items():
            moved[name] = values[name] + sign * step * t
        ys = compiled(program)(tape_api, *[tape_leaf(leaf, moved[leaf.name]) for leaf in program.leaves])
        ys = [plain(y) for y in ys[: len(program.targets)]]
        ys = [y for y in ys if y.dtype.kind in "fc"]
        if any(y.dtype != np.float64 for y in ys):
            return np.nan, np.nan
        weights = numbers([(y.shape, y.dtype) for y in ys]) if program.weighted else [np.ones_like(y) for y in ys]
        sums.append([y * w for y, w in zip(ys, weights, strict=True)])
    after, here, before = sums
    slope = sum(np.sum(a - b) for a, b in zip(after, before, strict=True)) / (2 * step)
    kink = sum(np.abs(a - 2 * h + b).sum() for a, h, b in zip(after, here, before, strict=True)) / step
    return float(slope), float(kink)
