"""Programs at singular points, and what their derivatives must be there: the truth, or not finite.

A derivative that is finite is compared with differences on each side of the point. Where both sides agree, it must be
theirs; where there is one side only (as beside the root of 0), it must be that side's. At kinks, and where differences
do not converge, nothing is known. So a 0 in place of a number is found.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import tape_api
from engine.core.nest import flatten
from tests.fuzz.differences import CUTS
from tests.fuzz.execute import Failed, Results, attempt, plain, run_on_tape, tape_leaf
from tests.fuzz.keys import numbers
from tests.fuzz.programs import Body, Instruction, Program, compiled, everywhere

SHARES = {"singular": 0.0, "crooked": 0.0}
"""How many programs start at singular points, and how many of those with custom gradients have rules that are not
linear in the cotangent."""
LARGE = 1e5
KINKS = re.compile(
    r"relu|abs|max|min|clip|sort|top_k|norm|sign|hypot|svd|eig|std|where|sqrt\(tf.square|pool|hinge|huber|cond|case|while"
    r"|\*\* 0|row mod|round|floor|%|//|huber|shrink|softsign|median|percentile|xlog|no_nan"
)
"""Recipes with kinks, at which one choice and another may not go together: ``relu(x) - relu(-x)`` at 0."""
STEP = 1e-4
COORDINATES = 6
"""How many elements are moved, at most."""


# ---- points ----------------------------------------------------------------------------------------------------------


def _limits(a: np.ndarray, rng: random.Random) -> np.ndarray:
    info = np.finfo(a.dtype)
    chosen = [info.max, -info.max, info.tiny, info.smallest_subnormal, info.eps, 0.0, 1.0]
    return np.reshape([rng.choice(chosen) for _ in range(a.size)], a.shape)


def _some_zeros(a: np.ndarray, rng: random.Random) -> np.ndarray:
    return np.where(np.reshape([rng.random() < 0.5 for _ in range(a.size)], a.shape), 0.0, np.abs(a))


def _equal_rows(a: np.ndarray, rng: random.Random) -> np.ndarray:
    return np.broadcast_to(a[:1], a.shape) if a.ndim and len(a) else a


def _equal_eigenvalues(a: np.ndarray, rng: random.Random) -> np.ndarray:
    return np.broadcast_to(rng.choice((1.0, 0.4, 2.0)) * np.eye(*a.shape[-2:]), a.shape) if a.ndim > 1 else a


STYLES: tuple[Callable[[np.ndarray, random.Random], Any], ...] = (
    lambda a, rng: np.zeros_like(a),
    lambda a, rng: np.zeros_like(a),
    lambda a, rng: -np.zeros_like(a),
    lambda a, rng: np.ones_like(a),
    lambda a, rng: -np.ones_like(a),
    lambda a, rng: np.full_like(a, rng.choice((0.5, 2.0, 3.0))),
    lambda a, rng: np.full_like(a, rng.choice((np.inf, -np.inf, np.nan))),
    lambda a, rng: np.round(a),
    _some_zeros,
    _some_zeros,
    _equal_rows,
    _equal_eigenvalues,
    _limits,
)


def adversely(program: Program, seed: int) -> Program:
    """Some programs at singular points, or with crooked rules; with numbers of their own, others stay as they are."""
    rng = random.Random(f"adverse {seed}")
    # loops of rows end for the numbers that they have
    if rng.random() < SHARES["singular"] and not program.has({"row while", "row pull_varying"}):
        keys = tuple(dict.fromkeys((*program.keys, "order2")))
        program = replace(at_singular_points(program, rng), keys=keys, ways=(*program.ways, "sides", "modes"))
        program = ending(program, rng) if rng.random() < 0.6 else program
    if rng.random() < SHARES["crooked"] and "custom_gradient" in program.recipes:
        bent = with_crooked_rules(program, rng)
        program = replace(bent, keys=tuple(dict.fromkeys((*bent.keys, "jacobian"))), ways=(*bent.ways, "one by one"))
    return program


def at_singular_points(program: Program, rng: random.Random) -> Program:
    """The program with singular points in some of its floating leaves."""
    values = {}
    for leaf in program.leaves:
        if leaf.value.dtype.kind in "fc" and rng.random() < 0.7:
            made = rng.choice(STYLES)(np.real(leaf.value), rng)
            values[leaf.name] = np.array(made, leaf.value.dtype)
    return program.with_values(values)


ENDS = """
    tf.sqrt({0}) ** 2
    tf.square(tf.sqrt({0}))
    tf.exp(tf.math.log({0}))
    tf.exp(2.0 * tf.math.log({0}))
    1.0 / (1.0 / {0})
    1.0 / (1.0 + 1.0 / {0})
    ({0} ** 0.25) ** 4
    ({0} ** -1.0) ** -2.0
    {0} * tf.sqrt({0})
    tf.sigmoid(tf.math.log({0}))
    tf.tanh(1.0 / {0})
    tf.math.softplus(tf.math.log({0}))
    tf.cosh(tf.sqrt({0}))
    tf.sin(tf.sqrt({0})) ** 2
    tf.cos(tf.acos(1.0 - {0}))
    tf.tanh(tf.math.atanh({0}))
    tf.reduce_logsumexp(tf.math.log({0}) + 3.0)
    tf.nn.softmax(tf.math.log({0}))
    tf.reduce_sum(tf.sqrt({0}) * tf.sqrt({0}))
    tf.norm({0}) ** 2
    tf.sqrt(tf.reduce_sum({0} ** 2)) ** 2
    tf.reduce_sum(tf.abs({0}) ** 2)
    tf.math.reduce_std({0}) ** 2
    tf.math.reduce_variance({0})
    tf.math.reduce_euclidean_norm({0}, -1) ** 2
    tf.reduce_prod({0}) ** 2
    tf.math.cumprod({0}, -1)
    tf.math.l2_normalize({0} + 1.0)
    tf.math.xlogy({0}, 2.0)
    tf.linalg.det(tf.matmul({0}, {0}, transpose_b=True))
    tf.reduce_sum(tf.linalg.eigvalsh({0} + tf.linalg.matrix_transpose({0})) ** 2)
    tf.reduce_sum(tf.linalg.eigh({0} + tf.linalg.matrix_transpose({0}))[0] ** 3)
    tf.reduce_sum(tf.math.log(1.0 + tf.linalg.eigvalsh(tf.matmul({0}, {0}, transpose_b=True))))
    tf.reduce_sum(tf.linalg.svd({0}, compute_uv=False) ** 2)
    tf.linalg.slogdet({0} + 2.0 * tf.eye(tf.shape({0})[-1], dtype={0}.dtype))[1]
    where(tf, {0} > 0, tf.sqrt({0}), tf.zeros_like({0}))
    where(tf, {0} >= 0, tf.exp(tf.math.log({0})), tf.zeros_like({0}))
    tf.maximum(tf.math.log({0}), -1.0)
    tf.sinc({0})
    tf.sin({0}) / {0}
    tf.math.expm1({0}) / {0}
    tf.math.igamma(1.0 + 0.0 * {0}, {0})
    tf.math.bessel_i1({0})
    tf.pow({0}, 2.0 + 0.0 * {0})
"""
"""Smooth functions that lead through a singular point, and choices that pass one by."""


def ending(program: Program, rng: random.Random) -> Program:
    """The program with one function more, of a leaf or of a result, whose derivatives are asked for as well."""
    sources = [x.name for x in program.leaves if x.name in program.sources and x.value.dtype.kind == "f"]
    if not sources:
        return program
    code = rng.choice(ENDS.strip().splitlines()).strip()
    name, last = "z", rng.choice(sources)
    alone = rng.random() < 0.5
    made = Instruction((name,), code, (last,), (), code)
    if alone:
        leaves = tuple(x for x in program.leaves if x.name == last)
        return replace(program, leaves=leaves, instructions=(made,), targets=(name,), sources=(last,))
    return replace(program, instructions=(*program.instructions, made), targets=(*program.targets, name))


# ---- rules that are not linear in the cotangent ----------------------------------------------------------------------

CROOKS = ("tf.clip_by_value({0}, -0.5, 0.5)", "tf.tanh({0})", "{0} * {0}", "tf.abs({0})", "tf.clip_by_norm({0}, 0.7)")


def with_crooked_rules(program: Program, rng: random.Random) -> Program:
    """The program with custom gradients that are not linear in the cotangent."""

    def each(instructions: Sequence[Instruction]) -> tuple[Instruction, ...]:
        return tuple(
            replace(i, bodies=tuple([body(b, i.recipe == "custom_gradient") for b in i.bodies])) for i in instructions
        )

    def body(b: Body, custom: bool) -> Body:
        if custom and b.bodies:
            (rule,) = b.bodies
            bent = rng.choice(CROOKS).format(f"({rule.result})")
            return replace(b, bodies=(replace(rule, result=bent),))
        return replace(b, instructions=each(b.instructions), bodies=tuple([body(x, False) for x in b.bodies]))

    return replace(program, instructions=each(program.instructions))


def crooked(program: Program) -> bool:
    """Whether a rule may not be linear, so that gradients of single elements do not add up to that of the sum."""
    starts = tuple(crook.partition("{0}")[0] + "(" for crook in CROOKS)
    custom = [b for i in everywhere(program.instructions) if i.recipe == "custom_gradient" for b in i.bodies]
    return any(rule.result.startswith(starts) for b in custom for rule in b.bodies)


def check_one_by_one(asked: Any, results: Results, close: Any, made: Any) -> list[Any]:
    """The rows of a Jacobian are the gradients of single elements: a rule need not be linear in the cotangent."""
    jacobian = results.get("jacobian")
    if jacobian is None or isinstance(jacobian, Failed) or any(y.dtype.is_complex for y in (*asked.ys, *asked.xs)):
        return []
    found, n = [], len(asked.xs)
    for i, y in enumerate(asked.ys):
        shape = tuple(y.shape)
        for j, seed in enumerate(np.eye(int(np.prod(shape)), dtype=plain(y).dtype)):
            row = asked.api.gradient(y, asked.xs, seed.reshape(shape))
            for k, (g, block) in enumerate(zip(row, jacobian[i * n : i * n + n], strict=True)):
                if block is None:
                    continue
                expected = np.zeros(block.shape[len(shape) :]) if g is None else plain(tape_api.convert_to_tensor(g))
                got = block.reshape(int(np.prod(shape)), *expected.shape)[j]
                if np.isfinite(expected).all() and np.isfinite(got).all() and not close(got, expected):
                    found.append(
                        made("one by one", "jacobian", "value", f"source {k}: {got!r}\n  expected {expected!r}")
                    )
    return found[:1]


# ---- derivatives against differences on each side --------------------------------------------------------------------


def check_sides(
    program: Program, values: Mapping[str, np.ndarray], reference: Results, made: Callable[..., Any]
) -> list[Any]:
    """Where a finite first or second derivative is not what differences say."""
    smooth = [r for r in program.recipes if r not in ENDS]
    if any(cut in r for r in smooth for cut in CUTS) or any(map(KINKS.search, smooth)):
        return []
    leaves = [name for name in dict.fromkeys(program.sources) if name in values]
    if not leaves or any(x.value.dtype != np.float64 for x in program.leaves if x.value.dtype.kind in "fc"):
        return []
    found = []
    for key, function in (("gradient", _loss), ("order2", _sum_of_gradients)):
        derivative = reference.get(key)
        if derivative is None or isinstance(derivative, Failed):
            continue
        known = dict(zip(program.sources, derivative, strict=True))
        for name, index in _coordinates(leaves, values):
            got = 0.0 if known[name] is None else float(known[name][index])
            wrong = _wrong(partial(function, program), values, name, index, got)
            if wrong:
                found.append(made("sides", key, "value", f"{name}{list(index)}: {wrong}"))
                break
    return found


def _coordinates(names: Sequence[str], values: Mapping[str, np.ndarray]) -> Iterator[tuple[str, tuple[int, ...]]]:
    every = [(n, i) for n in names for i in np.ndindex(values[n].shape) if abs(values[n][i]) < 1e3]
    yield from every[:: max(1, -(-len(every) // COORDINATES))]


def _wrong(
    function: Callable[[Mapping[str, np.ndarray]], float], values: Mapping[str, np.ndarray], name: str,
    index: tuple[int, ...], got: float,
) -> str | None:  # fmt: skip
    """What is wrong with a derivative; None if nothing is known to be."""
    if not np.isfinite(got):
        return None

    def at(step: float) -> float:
        moved = np.array(values[name])
        moved[index] += step
        return function({**values, name: moved})

    here = at(0.0)
    sides = [_slope(at, here, sign) for sign in (1.0, -1.0)]
    if not np.isfinite(here) or any(s is UNKNOWN for s in sides):
        return None
    known = [s for s in sides if s is not None]
    if not known or max(known) - min(known) > 1e-2 * (1 + abs(known[0])):
        # at a kink one choice is as good as another
        return None
    if abs(got - known[0]) <= 2e-2 * (1 + abs(known[0])):
        return None
    return f"{got!r}, on its sides {sides}"


UNKNOWN = object()


def _slope(at: Callable[[float], float], here: float, sign: float) -> Any:
    """The slope on one side: None if there is nothing on that side, UNKNOWN if differences do not converge."""
    slopes = []
    for step in (STEP, STEP / 4, STEP / 16):
        there = at(sign * step)
        if not np.isfinite(there):
            return None if np.isnan(there) else UNKNOWN
        slopes.append(sign * (there - here) / step)
        if abs(slopes[-1]) > LARGE:
            return UNKNOWN
    noise = 1e-13 * (1 + abs(here)) * 16 / STEP
    coarse, fine, finest = slopes
    if noise > 1e-3 or abs(coarse - fine) > 1e-2 * (1 + abs(fine)) or abs(fine - finest) > 1e-2 * (1 + abs(finest)):
        return UNKNOWN
    return (4 * finest - fine) / 3


def _loss(program: Program, values: Mapping[str, np.ndarray]) -> float:
    """The weighted sum of the targets."""

    def computed() -> float:
        ys = compiled(program)(tape_api, *[tape_leaf(leaf, values[leaf.name]) for leaf in program.leaves])
        found = [plain(y) for y in ys[: len(program.targets)]]
        found = [y for y in found if y.dtype.kind in "fc"]
        if any(y.dtype.kind == "c" for y in found):
            return np.inf
        weights = numbers([(y.shape, y.dtype) for y in found]) if program.weighted else [1.0] * len(found)
        if any((np.abs(y) > LARGE).any() for y in found):
            # what is small beside it is lost
            return np.inf
        return float(sum(np.sum(y * w) for y, w in zip(found, weights, strict=True)))

    found = attempt(computed)
    return np.inf if isinstance(found, Failed) else found


def _sum_of_gradients(program: Program, values: Mapping[str, np.ndarray]) -> float:
    found = attempt(lambda: run_on_tape(program, values, ())["gradient"])
    if isinstance(found, Failed):
        return np.inf
    found = [g for g in found if g is not None]
    return np.inf if any((np.abs(g) > LARGE).any() for g in found) else float(sum(np.sum(g) for g in found))


# ---- modes against each other, NaN included --------------------------------------------------------------------------


def check_modes(program: Program, asked: Any, close: Callable[[Any, Any], bool], made: Callable[..., Any]) -> list[Any]:
    """Where forward and reverse walks are not adjoint, or Jacobians in some mode or format differ, NaN included."""
    tape, ys, xs = asked.api, asked.ys, asked.xs
    if (
        not all(np.isfinite(x.value).all() for x in program.leaves if x.value.dtype.kind == "f")
        or "float" in program.text
    ):
        return []
    spreads = any(map(SPREADING.search, program.recipes))
    if any(a.dtype.name != "float64" or 0 in a.shape for a in (*ys, *xs)) or not ys or not xs:
        return []
    seeds = numbers([(tuple(y.shape), np.dtype(np.float64)) for y in ys])
    found = []
    forward, reverse = attempt(lambda: tape.jvp(ys, xs, asked.tangents)), attempt(lambda: tape.gradient(ys, xs, seeds))
    if isinstance(forward, Failed) or isinstance(reverse, Failed):
        return []
    products = [_inner(forward, seeds), _inner(reverse, asked.tangents)]
    if _finite(products[0]) != _finite(products[1]):
        found.append(made("modes", "jvp and gradient", "NaN", f"{products[0]!r}\n  and {products[1]!r}"))
    blocks = {}
    for name, options in JACOBIANS.items():
        result = attempt(lambda options=options: flatten(tape.jacobian(ys, xs, **options)))  # type: ignore[misc]
        if not isinstance(result, Failed):
            blocks[name] = result
    dense = [b if b is None else plain(b) for b in blocks.get("auto", ())]
    for name, given in blocks.items():
        for k, (b, expected) in enumerate(zip(given, dense, strict=True)):
            if b is None or expected is None:
                continue
            shape = (int(np.prod(ys[k // len(xs)].shape)), int(np.prod(xs[k % len(xs)].shape)))
            got = b @ np.eye(shape[1]) if name == "operator" else plain(b)
            got, expected = got.reshape(shape), expected.reshape(shape)
            if not spreads and not (np.isnan(got) == np.isnan(expected)).all():
                found.append(made("modes", f"{name} and auto", "NaN", f"block {k}: {got!r}\n  and {expected!r}"))
                break
            if not close(got, expected):
                found.append(made("modes", f"{name} and auto", "value", f"block {k}: {got!r}\n  and {expected!r}"))
                break
    return found


SPREADING = re.compile(
    r"einsum|matmul|matvec|@|tensordot|qr|svd|eig|lstsq|pinv|chol|sqrtm|logm|solve|inv|det|lu|conv|depthwise|cumulative"
    r"|fft|resize|segment|custom|scan|fold|while|map_fn|softmax|det|prod|norm"
)
"""Recipes that add up products: with one-hot seeds, an infinity in one meets the zeros of others (docs/numbers.md)."""
JACOBIANS = {
    "auto": {},
    "forward": {"mode": "forward"},
    "reverse": {"mode": "reverse"},
    "csr": {"format": "csr"},
    "operator": {"format": "operator"},
}


def _inner(products: Sequence[Any], factors: Sequence[np.ndarray]) -> float:
    pairs = [(plain(tape_api.convert_to_tensor(p)), f) for p, f in zip(products, factors, strict=True) if p is not None]
    return float(sum(np.sum(p * f) for p, f in pairs))


def _finite(x: float) -> bool:
    """Whether it is a number; those that may overflow count with what is infinite."""
    return bool(abs(x) < 1e100)
