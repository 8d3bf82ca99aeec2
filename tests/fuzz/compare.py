"""What it means that two ways to run a program agree, and what a program's ways differ in."""

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tests.fuzz.around import contents_asked, decisions, deferred_calls, infinities_met, quiet, unknown_shapes
from tests.fuzz.closeness import LARGE, close, tolerance_of, within
from tests.fuzz.differences import check_differences
from tests.fuzz.execute import Failed, Results, attempt, follows, reference_of, run_on_tape, taped, values_of
from tests.fuzz.keys import numbers
from tests.fuzz.programs import Program
from tests.fuzz.singular import check_modes, check_one_by_one, check_sides, crooked
from tests.fuzz.ways import WAYS, Run

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


def _roughly(got: Any, expected: Any, least: float) -> str | None:
    """`difference`, where what is within the tolerance `least` is rounding."""
    kind = difference(got, expected)
    if kind == "value" and got.dtype.kind in "fc" and close(got, expected, least):
        return "bits"
    return kind


def compared(way: str, got: Results, run: Run, late: bool = False) -> list[Difference]:
    """What two runs differ in; `late` if a call was put off until a rank is known."""
    found = []
    for key in got.keys() & run.reference.keys():
        if key == "state" and isinstance(got.get("value"), Failed):
            # what was refused updated nothing
            continue
        difference = _compared(way, key, got[key], run.reference[key], run.program, late)
        if difference is not None:
            found.append(difference)
    return found


def _compared(way: str, key: str, got: Any, expected: Any, program: Program, late: bool) -> Difference | None:
    if isinstance(got, Failed) or isinstance(expected, Failed):
        if isinstance(got, Failed) and isinstance(expected, Failed):
            return None
        if isinstance(got, Failed) and _allowed(way, got, program):
            return None
        if isinstance(expected, Failed) and program.has(FLOW) and UNWRITTEN.search(expected.message):
            return None
        if isinstance(expected, Failed) and _is_graph(way, program) and SINGULAR.search(expected.message):
            # a graph does not compute the derivatives that no result needs
            return None
        kind = f"error {got.kind}" if isinstance(got, Failed) else "no error"
        return Difference(way, key, kind, f"{got}\n  expected {expected}"[:1500])
    if len(got) != len(expected):
        return Difference(way, key, "count", f"{len(got)} results, expected {len(expected)}")
    # a graph differentiates both branches, a tape the one taken; a plan has zeros where nothing leads
    loose = way == "plan" or (_is_graph(way, program) and program.leads_through(FLOW)) or (late and key == "order2")
    for i, (g, e) in enumerate(zip(got, expected, strict=True)):
        kind = _roughly(g, e, within(program))
        if kind == "None" and loose and not np.any(e if g is None else g):
            continue
        if kind == "bits" and key in NOT_EXACT:
            continue
        if kind == "shape" and not g.size and not e.size and _is_graph(way, program) and program.has(BRANCHES):
            # a map over no rows does not know which branch's shape it would have
            continue
        if kind is not None:
            return Difference(way, key, kind, f"result {i}: {g!r}\n  expected {e!r}"[:1500])
    return None


IN_GRAPHS = {"graph", "unknown", "passes", "again", "tape in graph"}
IN_FUNCTIONS = {"function", "traced", "recorded"}
"""In these loops and branches are single nodes, too, once they have been recorded."""
LOOPS = {"while_loop", "foldl", "foldr", "scan", "foldl of rows", "foldr of rows", "scan of rows"}
BRANCHES = {"cond", "case"}
FLOW = LOOPS | BRANCHES | {"map_fn"}
"""Recipes of control flow: in a graph, loops and branches are single nodes."""


def _is_graph(way: str, program: Program) -> bool:
    """Whether a way runs a program's loops and branches as a graph does."""
    return way in IN_GRAPHS or (way in IN_FUNCTIONS and program.has(FLOW))


UNWRITTEN = re.compile("is not implemented")
"""Rules that do not exist. A tape may not meet them: they are of the branch not taken, or of a step's unused value."""
VARYING = re.compile("shape_invariants|changes its shape between iterations")
"""A loop in a graph must say which of its variables change their shapes."""
SINGULAR = re.compile("[Ss]ingular matrix|did not converge")
"""What the derivative of a branch not taken, or of a result not used, is asked, where it would be multiplied by 0."""
CAPTURED = re.compile("reads the variables .* 'variables'")
"""A custom gradient must know of all variables that it uses: in a graph also of those in the branch not taken, and of
those that a function takes."""
UNKNOWN = re.compile(
    "known|cannot be vectorized over an operand of unknown rank|`mode` must be auto or reverse|not divisible by"
)
"""What needs to know a shape or rank says so."""
RECORDED = re.compile(
    "the recorded function has a custom gradient|is not known at other points|the shape of .* must be known"
    "|jacobian_plan: targets must be real"
)
"""A plan that is called elsewhere does not know a custom gradient there, how many elements pass a test, nor whether a
complex function is holomorphic."""
FORWARD = re.compile("must be auto or reverse where a target or source is complex")
"""A loop of no steps leads from what its body uses, in a graph, and that may be complex."""
DEPENDENT = re.compile("batch_jacobian: the rows of the target are not independent")
"""Where an axis may be longer than one."""
CHUNKS = re.compile("`max_bytes` must be at least")
"""The least memory of a Jacobian of unknown shape is known when it runs."""


def _allowed(way: str, error: Failed, program: Program) -> bool:
    """Whether a way may refuse what a tape computes."""
    text = f"{error.kind}: {error.message}"
    if way == "plan":
        return bool(RECORDED.search(text))
    if not _is_graph(way, program):
        return False
    if program.has(FLOW | {"function"}) and CAPTURED.search(text):
        return True
    if program.has(FLOW) and (UNWRITTEN.search(text) or SINGULAR.search(text)):
        return True
    if program.has(FLOW | {"while_op"}) and VARYING.search(text):
        return True
    if CHUNKS.search(text) or (program.has(FLOW) and FORWARD.search(text)):
        return True
    unknown = way == "unknown" and any(x.known != "all" for x in program.leaves)
    if way == "unknown" and DEPENDENT.search(text):
        return True
    unknown |= any(x.kind == "source" and x.value.dtype.kind in "iu" for x in program.leaves)
    # branches may differ in rank; how many elements pass a test, are in a range or are stitched is not known
    unknown |= program.has(BRANCHES | {"mask", "row range_op-float", "row tensor_scatter_update_op-dynamic_stitch"})
    return bool(UNKNOWN.search(text)) and unknown


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
                elif g is not None and not _agree(g, e.reshape(g.shape), within(program)):
                    found.append(Difference("itself", f"{key} and jacobian", "value", f"{g!r}\n  and {e!r}"))
        if (
            not crooked(program)
            and not program.weighted
            and "gradient" in usable
            and not isinstance(usable["gradient"], Failed)
        ):
            found += _summed(usable, within(program))
    if not program.has(NO_DUALS):
        found += _dual(program, usable)
    return found


NO_DUALS = {"custom"}
"""Recipes with a rule in one direction that is not the transpose of that in the other."""


def _dual(program: Program, results: Results) -> list[Difference]:
    """Tangents times the Jacobian or its transpose, and times the Hessian or its entries, are the same."""
    known = {leaf.name: leaf.value for leaf in program.leaves}
    ys, xs = program.parted(results["value"], known)
    if not all(a.dtype in (np.float32, np.float64) for a in (*ys, *xs)):
        return []
    tangents = numbers([(x.shape, x.dtype) for x in xs])
    seeds = numbers([(y.shape, y.dtype) for y in ys]) if program.weighted else [np.ones_like(y) for y in ys]
    pairs = []
    if "jvp" in results and "gradient" in results:
        pairs.append(("jvp and gradient", _terms(results["jvp"], seeds), _terms(results["gradient"], tangents)))
    # a rule may use the value that its op gave: the second derivative by that, if it is a source, is a matter of taste
    if "hvp" in results and "hessian" in results and not program.computed:
        n = len(xs)
        rows = [_terms(results["hvp"][i : i + 1], [np.ones_like(xs[i])]) for i in range(n)]
        sums = [
            [np.sum(b, tuple(range(x.ndim))) for b in results["hessian"][i * n : i * n + n]] for i, x in enumerate(xs)
        ]
        pairs += [
            ("hvp and hessian", row, _terms(row_sums, tangents)) for row, row_sums in zip(rows, sums, strict=True)
        ]
    found = []
    for key, one, other in pairs:
        terms = [*one, *other]
        size = float(np.sum(np.abs(terms)))
        tolerance = 100 * max(within(program), tolerance_of(*ys, *xs))
        if size < LARGE and abs(np.sum(one) - np.sum(other)) > tolerance * (1 + size):
            found.append(Difference("itself", key, "value", f"{np.sum(one)!r}\n  and {np.sum(other)!r}"))
    return found


def _terms(products: Sequence[Any], factors: Sequence[np.ndarray]) -> list[Any]:
    """The summands of an inner product."""
    pairs = [(p, f) for p, f in zip(products, factors, strict=True) if p is not None]
    return [x for p, f in pairs for x in np.ravel(np.multiply(p, f, dtype=np.float64))]


def _summed(results: Results, least: float) -> list[Difference]:
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
        if np.max(size, initial=0) > LARGE:
            # the inverse of a singular matrix, or so
            continue
        tolerance = 20 * max(least, tolerance_of(gradient, *rows))
        if not (np.abs(total - gradient) <= tolerance * (1 + np.max(size, initial=0))).all():
            found.append(Difference("itself", "jacobian and gradient", "value", f"{total!r}\n  and {gradient!r}"))
    return found


def _agree(a: np.ndarray, b: np.ndarray, least: float) -> bool:
    if not np.isfinite(a).all() or not np.isfinite(b).all():
        return True
    return close(a, b, least)


DECOMPOSED = re.compile(r"qr|svd|eig|lstsq|pinv|cholesky|sqrtm|logm|solve|inv|det")
"""Recipes with derivatives that are quotients by differences of singular values or pivots."""
SHAKEN = {"float16": 1e-3, "float32": 1e-6, "complex64": 1e-6, "float64": 1e-14, "complex128": 1e-14}
"""How far leaves are moved, relatively: a few roundings."""


def ill_posed(program: Program, values: dict[str, np.ndarray], reference: Results, any_recipe: bool = False) -> bool:
    """Whether derivatives are no numbers but noise: those of a matrix function at a singular matrix, or nearly one.

    Then they change beyond all tolerance where the leaves change by a few roundings.
    """
    if not any_recipe and not any(map(DECOMPOSED.search, program.recipes)):
        return False
    rng = np.random.default_rng(3)
    moved = {
        n: np.asarray(v + SHAKEN[v.dtype.name] * np.abs(v) * rng.standard_normal(v.shape), v.dtype)
        if v.dtype.name in SHAKEN
        else v
        for n, v in values.items()
    }
    beside = attempt(lambda: reference_of(program, moved))
    if isinstance(beside, Failed):
        return True
    return any(not _alike(beside[key], found, within(program)) for key, found in reference.items() if key in beside)


def _alike(got: Any, expected: Any, least: float) -> bool:
    if isinstance(got, Failed) or isinstance(expected, Failed):
        return isinstance(got, Failed) is isinstance(expected, Failed)
    pairs = [(g, e) for g, e in zip(got, expected, strict=True) if g is not None and e is not None]
    return all(g.shape == e.shape and (g.dtype.kind not in "fc" or close(g, e, least)) for g, e in pairs)


# ---- all of it -------------------------------------------------------------------------------------------------------


def differences(program: Program, ways: Sequence[str] | None = None) -> list[Difference]:
    """Everything that the ways to run a program differ in."""
    with quiet():
        values, others = values_of(program)
        reference = attempt(lambda: reference_of(program, values))
        if isinstance(reference, Failed):
            # generated programs run; one that has been shrunk need not
            return []
        if not follows(program, values):
            return []
        run = Run(program, values, others, program.keys, reference)
        found = consistent(program, reference)
        for way in program.ways if ways is None else ways:
            if way == "differences":
                found += check_differences(program, values, reference, Difference)
            elif way == "sides":
                found += check_sides(program, values, reference, Difference)
            elif way == "modes":
                found += check_modes(program, taped(program, values, persistent=True), close, Difference)
            elif way == "one by one":
                found += check_one_by_one(taped(program, values, persistent=True), reference, close, Difference)
            elif way in WAYS:
                found += _differences(way, WAYS[way], run)
        # what only contradicts itself may be a difference of large numbers, made by any recipe
        alone = all(d.way == "itself" for d in found)
        if any(d.kind == "value" for d in found) and ill_posed(program, values, reference, any_recipe=alone):
            found = [d for d in found if d.kind != "value" or d.key in ("value", "state")]
        return found


def _differences(way: str, function: Callable[[Run], Results], run: Run) -> list[Difference]:
    with contents_asked() as asked, deferred_calls() as late, unknown_shapes() as shapes:
        got = attempt(lambda: function(run))
    if isinstance(got, Failed):
        if _allowed(way, got, run.program):
            return []
        return [Difference(way, "value", f"error {got.kind}", got.message[:1500])]
    why = Circumstances(
        bool(asked),
        bool(late),
        bool(shapes),
        functools.cache(lambda: _meets_infinities(function, run)),
        functools.cache(lambda: _decided(run.program, run.values) != _decided(run.program, run.others)),
    )
    return [d for d in compared(way, got, run, why.late) if excuse(d, run.program, why) is None]


def _meets_infinities(function: Callable[[Run], Results], run: Run) -> bool:
    """Whether some value on the way is infinite or NaN."""
    known = [*[x.value for x in run.program.leaves], *run.reference["value"]]
    if not all(np.isfinite(a).all() for a in known if a.dtype.kind in "fc"):
        return True
    with infinities_met() as found:
        attempt(lambda: function(run))
    return bool(found)


def _decided(program: Program, values: dict[str, np.ndarray]) -> list[bool]:
    """The conditions of branches and loops."""
    with decisions() as found:
        attempt(lambda: run_on_tape(program, values, ()))
    return found


class Circumstances(NamedTuple):
    """What happened when a program was run in some way.

    Attributes
    ----------
    unknown : bool
        Whether a plan asked for contents that were not known.
    late : bool
        Whether calls were put off until a rank is known.
    shapes : bool
        Whether a graph had a value of unknown shape: a placeholder, or what has as many rows as some value says.
    infinities : callable
        Whether some value was infinite or NaN, those of branches not taken included.
    decides : callable
        Whether conditions hold at the values that do not at the others, by which a plan was made.
    """

    unknown: bool
    late: bool
    shapes: bool
    infinities: Callable[[], bool]
    decides: Callable[[], bool]


ROUNDED = {"bits", "sign of zero"}
PLANNED = {"jacobian", "csr", "forward", "reverse", "chunks", "batch_jacobian", "hessian", "hvp", "hessian_diag"}
"""Keys that are swept with many seeds at once."""
PRODUCTS = re.compile(r"einsum|matmul|matvec|@|tensordot|" + DECOMPOSED.pattern)
"""Ops whose results depend on how their operands lie in memory."""
LAID = re.compile(PRODUCTS.pattern + "|transpose|moveaxis|swapaxes")
"""Those, and what makes sums depend on it: on a tape a cotangent lies in another order."""
ROWS = re.compile("gather|repeat|mask|embedding")
"""What takes rows of a source: on a tape their cotangents stay rows, and are added up at the end."""
OTHER_RULES = re.compile(r"qr|lstsq|einsum|matmul|matvec|@|tensordot|weighted_mean|losses|-loss")
"""Ops whose gradients go by another rule where shapes are not known."""
SIGNED = re.compile("qr|lstsq|einsum.*,.*,|matmul|@")
"""Those of them whose rules add something to zeros, or make products in another order."""


def excuse(d: Difference, program: Program, why: Circumstances) -> str | None:
    """What of docs/exceptions.md excuses a difference; None if nothing does."""
    spread = d.kind in ROUNDED or (d.kind in {"NaN", "inf"} and why.infinities())
    if _is_graph(d.way, program):
        if program.leads_through(FLOW) and d.key in PLANNED | {"order2", "gradient", "jvp"}:
            if d.kind == "sign of zero" or (spread and d.key in PLANNED | {"order2"}):
                return f"loops and branches: {d.key} {d.kind}"
            if d.kind in {"None", "NaN"} and why.infinities():
                return f"loops and branches: {d.kind}"
            if d.kind == "bits" and d.key == "gradient" and any(map(LAID.search, program.recipes)):
                return "loops and branches: sums and products of what lies in another order"
            if d.kind == "bits" and d.key == "gradient" and any(map(ROWS.search, program.recipes)):
                return "loops and branches: rows of a source"
        # rows of the op table alone put them on a tape, where nothing sees into them
        if d.key in PLANNED and d.kind in ROUNDED and program.has({"row deferred_op", "row custom_call"}):
            return "ops of graphs on a tape"
    custom = program.leads_through({"custom_gradient"})
    if custom and d.way in IN_GRAPHS | {"plan"} and (d.key, d.kind) == ("hessian", "value"):
        return "hessians of custom gradients that are no gradients"
    if d.way in IN_GRAPHS | {"plan"} and d.key in PLANNED and spread and why.unknown:
        return "indices that are fed or computed"
    inside = custom and program.has(UPDATES) and program.has({"vectorized_map"} | FLOW)
    if _is_graph(d.way, program) and d.kind == "value" and d.key != "value" and inside:
        return "plans and variables that are updated: custom rules"
    if d.way in IN_GRAPHS and d.key in PLANNED and d.kind in ROUNDED and program.has(UPDATES):
        return "plans and variables that are updated"
    if d.way == "plan" and program.has(FLOW) and why.decides():
        return "plans keep the branches that were taken"
    if d.way == "plan" and d.kind != "dtype" and program.leads_through(UPDATES):
        return "plans and variables that are updated"
    if why.late and d.key == "order2" and (d.kind == "sign of zero" or (d.kind == "NaN" and why.infinities())):
        return "unknown shapes: put off"
    if d.way == "executor" and (d.kind in ROUNDED or (d.kind in {"NaN", "inf"} and why.infinities())):
        # it has no limit, under which another plan may have been taken
        return "chunks"
    if d.way == "watched" and d.key in PLANNED and d.kind in ROUNDED | {"NaN", "inf"} and why.infinities():
        return "an outer tape and values that are not finite"
    if d.way not in IN_GRAPHS or not why.shapes or not spread:
        return None
    if d.kind == "bits" and (d.key == "order2" or any(map(OTHER_RULES.search, program.recipes))):
        return f"unknown shapes: {d.key}"
    if d.kind == "bits" and d.key == "gradient" and any(map(ROWS.search, program.recipes)):
        return "unknown shapes: rows of a source"
    return "unknown shapes: another rule" if any(map(SIGNED.search, program.recipes)) else None


UPDATES = {"assign", "assign_add", "assign_sub"}
