"""What it means that two ways to run a program agree, and what a program's ways differ in."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.fuzz.differences import check_differences
from tests.fuzz.execute import WAYS, Failed, Results, Run, attempt, quiet, reference_of, values_of
from tests.fuzz.programs import Program

TOLERANCE = {"float16": 2e-2, "float32": 2e-4, "float64": 1e-9, "complex64": 2e-4, "complex128": 1e-9}
NOT_EXACT = {"chunks"}
"""Keys for which no bits are promised: products of another number of columns may be rounded in another way."""


@dataclass(frozen=True)
class Difference:
    """What two ways differ in.

    Attributes
    ----------
    way : str
    key : str
    kind : str
        ``error ...``, ``no error``, ``None``, ``dtype``, ``shape``, ``NaN``, ``inf``, ``sign of zero``,
        ``bits``, ``value``.
    message : str
    """

    way: str
    key: str
    kind: str
    message: str = field(compare=False)

    def __str__(self) -> str:
        return f"{self.way}, {self.key}: {self.kind}: {self.message}"


def difference(got: Any, expected: Any) -> str | None:
    """In what two arrays differ; None if they are equal to the bit. One NaN is as good as another."""
    if got is None or expected is None:
        return None if got is expected else "None"
    if got.dtype != expected.dtype:
        return "dtype"
    if got.shape != expected.shape:
        return "shape"
    if got.tobytes() == expected.tobytes():
        return None
    if got.dtype.kind == "c":
        got, expected = (np.stack([a.real, a.imag]) for a in (got, expected))
    if got.dtype.kind != "f":
        return "value"
    nan = np.isnan(expected)
    if not (np.isnan(got) == nan).all():
        return "NaN"
    got, expected = got[~nan], expected[~nan]
    if (got == expected).all():
        return None if (np.signbit(got) == np.signbit(expected)).all() else "sign of zero"
    if not (np.isinf(got) == np.isinf(expected)).all():
        return "inf"
    return "bits" if close(got, expected) else "value"


def close(got: np.ndarray, expected: np.ndarray) -> bool:
    """Whether what is finite in both differs by rounding only, measured by the largest of all."""
    finite = np.isfinite(got) & np.isfinite(expected)
    if not finite.any():
        return True
    tolerance = _tolerance(got, expected)
    got, expected = got[finite].astype(complex), expected[finite].astype(complex)
    size = np.abs(expected).max()
    return bool(size > 1e100 or (np.abs(got - expected) <= tolerance * (1 + size)).all())


def _tolerance(*arrays: np.ndarray) -> float:
    return max(TOLERANCE.get(a.dtype.name, 1e-9) for a in arrays)


def compared(way: str, got: Results, expected: Results, loose: bool) -> list[Difference]:
    """What two runs differ in; where they are `loose`, zeros stand for None."""
    found = []
    for key in got.keys() & expected.keys():
        difference = _compared(way, key, got[key], expected[key], loose)
        if difference is not None:
            found.append(difference)
    return found


def _compared(way: str, key: str, got: Any, expected: Any, loose: bool) -> Difference | None:
    if isinstance(got, Failed) or isinstance(expected, Failed):
        if isinstance(got, Failed) and isinstance(expected, Failed):
            return None
        if isinstance(got, Failed) and _allowed(way, got):
            return None
        kind = f"error {got.kind}" if isinstance(got, Failed) else "no error"
        return Difference(way, key, kind, f"{got}\n  expected {expected}"[:1500])
    if len(got) != len(expected):
        return Difference(way, key, "count", f"{len(got)} results, expected {len(expected)}")
    for i, (g, e) in enumerate(zip(got, expected, strict=True)):
        kind = difference(g, e)
        if kind == "None" and loose and not np.any(e if g is None else g):
            continue
        if kind == "bits" and key in NOT_EXACT:
            continue
        if kind is not None:
            return Difference(way, key, kind, f"result {i}: {g!r}\n  expected {e!r}"[:1500])
    return None


IN_GRAPHS = {"graph", "unknown", "passes", "again", "tape in graph"}
CHOICES = {"cond", "case", "while_loop", "map_fn", "foldl", "foldr", "scan", "foldl of rows", "foldr of rows"} | {
    "scan of rows"
}
"""A graph differentiates both branches, a tape the one taken: zeros and None (as in TensorFlow). Plans say zeros."""
REFUSED = {
    **dict.fromkeys(("graph", "unknown", "passes", "again", "tape in graph"), re.compile("is not implemented")),
    "unknown": re.compile("ShapeError|UnimplementedError|is not implemented"),
    "plan": re.compile("the recorded function has a custom gradient"),
}
"""What a way may refuse: rules that do not exist, of branches that a tape does not take; to do without knowing shapes;
to know a custom gradient elsewhere."""
CHUNKS = re.compile("`max_bytes` must be at least")
"""The least memory of a Jacobian of unknown shape is known when it runs."""
UNKNOWN = re.compile(
    "it is not known|cannot be vectorised over an operand of unknown rank|`mode` must be auto or reverse"
)
"""Two branches may give results of different ranks; what a tape sees to be unconnected may be complex."""


def _allowed(way: str, error: Failed) -> bool:
    text = f"{error.kind}: {error.message}"
    if way in IN_GRAPHS and UNKNOWN.search(text):
        return True
    return bool(CHUNKS.search(text) or (way in REFUSED and REFUSED[way].search(text)))


# ---- keys that must agree with each other ----------------------------------------------------------------------------


def consistent(program: Program, results: Results) -> list[Difference]:
    """What the derivatives of one run contradict each other in, up to rounding and where they are finite."""
    usable = {k: v for k, v in results.items() if not isinstance(v, Failed)}
    found = []
    if "jacobian" in usable:
        for key in ("csr", "forward", "reverse", "chunks"):
            for g, e in zip(usable.get(key, ()), usable["jacobian"], strict=False):
                if (g is None) != (e is None):
                    found.append(Difference("itself", f"{key} and jacobian", "None", f"{g!r} and {e!r}"))
                elif g is not None and not _agree(g, e.reshape(g.shape)):
                    found.append(Difference("itself", f"{key} and jacobian", "value", f"{g!r}\n  and {e!r}"))
        if not program.weighted and "gradient" in usable and not isinstance(usable["gradient"], Failed):
            found += _summed(usable)
    return found


def _summed(results: Results) -> list[Difference]:
    """The sum of the Jacobians' rows is the gradient (of real functions)."""
    gradients, blocks = results["gradient"], results["jacobian"]
    n = len(gradients)
    found = []
    for j, gradient in enumerate(gradients):
        column = [b for b in blocks[j::n] if b is not None]
        if gradient is None:
            if column:
                found.append(Difference("itself", "jacobian and gradient", "None", f"{column!r}, the gradient is None"))
            continue
        if not column:
            found.append(Difference("itself", "jacobian and gradient", "None", f"None, the gradient is {gradient!r}"))
            continue
        if gradient.dtype.kind == "c" or any(b.dtype.kind == "c" for b in column) or gradient.dtype == np.float16:
            continue
        if not gradient.size:
            continue
        rows = [b.reshape(-1, *gradient.shape) for b in column]
        if not all(np.isfinite(r).all() for r in rows) or not np.isfinite(gradient).all():
            continue
        total, size = sum(r.sum(0) for r in rows), sum(np.abs(r).sum(0) for r in rows)
        if not (np.abs(total - gradient) <= 20 * _tolerance(gradient, *rows) * (1 + np.max(size, initial=0))).all():
            found.append(Difference("itself", "jacobian and gradient", "value", f"{total!r}\n  and {gradient!r}"))
    return found


def _agree(a: np.ndarray, b: np.ndarray) -> bool:
    if not np.isfinite(a).all() or not np.isfinite(b).all():
        return True
    return close(a, b)


# ---- all of it -------------------------------------------------------------------------------------------------------


def differences(program: Program, ways: Sequence[str] | None = None) -> list[Difference]:
    """Everything that the ways to run a program differ in."""
    with quiet():
        values, others = values_of(program)
        reference = attempt(lambda: reference_of(program, values))
        if isinstance(reference, Failed):
            # generated programs run; one that has been shrunk need not
            return []
        run = Run(program, values, others, program.keys, reference)
        found = consistent(program, reference)
        for way in program.ways if ways is None else ways:
            if way == "differences":
                found += check_differences(program, values, reference, Difference)
            elif way in WAYS:
                found += _differences(way, WAYS[way], run)
        return found


def _differences(way: str, function: Callable[[Run], Results], run: Run) -> list[Difference]:
    got = attempt(lambda: function(run))
    if isinstance(got, Failed):
        return [] if _allowed(way, got) else [Difference(way, "value", f"error {got.kind}", got.message[:1500])]
    recipes = run.program.recipes
    choices = way in IN_GRAPHS and not CHOICES.isdisjoint(recipes)
    found = compared(way, got, run.reference, way == "plan" or choices)
    return [d for d in found if not _excepted(d, run.program, run.reference)]


ROUNDED = {"bits", "sign of zero"}
SPREAD = {*ROUNDED, "NaN", "inf"}
PLANNED = {"jacobian", "csr", "forward", "reverse", "chunks", "batch_jacobian", "hessian", "hvp", "hessian_diag"}
"""Keys that are swept with many seeds at once."""
INDICES = re.compile("gather|add_at|place_op|pick_op|take|scatter|segment|one_hot")
"""Ops whose derivatives have entries where an operand says."""
COMPUTED = re.compile("arg|unique|top_k|sort|boolean_mask|where_op|tf.where|cast|max_pool|segment_m")
"""Ops that compute where entries are."""
OTHER_RULES = re.compile(r"qr|einsum|matmul|matvec|@|tensordot|weighted_mean")
"""Ops whose gradients go by another rule where shapes are not known."""


def _excepted(d: Difference, program: Program, reference: Results) -> bool:
    """Whether docs/numbers.md, "What is not promised", excuses a difference."""
    recipes = program.recipes
    in_graph = d.way in IN_GRAPHS
    if in_graph and not CHOICES.isdisjoint(recipes):
        # "Jacobians and second derivatives of loops and branches in graphs"
        if d.key in PLANNED | {"order2"} and d.kind in SPREAD:
            return True
        if d.key == "gradient" and d.kind == "sign of zero":
            return True
    if in_graph and d.key in PLANNED and d.kind in SPREAD and _indexed(program):
        # "Indices that are fed or computed"
        return True
    if d.way == "watched" and d.key in PLANNED and d.kind in SPREAD:
        # "An outer tape and values that are not finite"
        return not all(np.isfinite(a).all() for a in reference["value"])
    if d.way == "plan" and d.kind != "dtype" and any(r.startswith("assign") for r in recipes):
        # "Plans and variables that are updated"
        return True
    if d.key == "chunks" and d.kind in {"NaN", "inf"}:
        # "Chunks"
        return True
    # "Shapes unknown when the graph is built"
    if d.way != "unknown" or d.kind != "bits":
        return False
    return d.key == "order2" or any(map(OTHER_RULES.search, recipes))


def _indexed(program: Program) -> bool:
    """Whether a tape knows the contents of indices that a graph does not know."""
    if any(map(COMPUTED.search, program.recipes)):
        return True
    fed = any(x.kind not in ("constant", "array") and x.value.dtype.kind in "iu" for x in program.leaves)
    return fed and any(map(INDICES.search, program.recipes))
