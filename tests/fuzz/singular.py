"""Programs at singular points, and what their derivatives must be there: the truth, or not finite.

A derivative that is finite is compared with differences on each side of the point. Where both sides agree, it must be
theirs; where they do not (a kink), it must lie between them; where there is one side only (the root of 0), it must be
that side's. Where differences do not converge, nothing is known. So a 0 in place of a number is found.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import tape_api
from engine.core.nest import flatten
from tests.fuzz.differences import CUTS
from tests.fuzz.execute import Failed, Results, attempt, plain, run_on_tape, tape_leaf
from tests.fuzz.keys import numbers
from tests.fuzz.programs import Body, Instruction, Program, compiled

SHARES = {"singular": 0.15, "crooked": 0.3}
"""How many programs start at singular points, and how many of those with custom gradients have rules that are not
linear in the cotangent."""
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
    if rng.random() < SHARES["singular"]:
        keys = tuple(dict.fromkeys((*program.keys, "order2")))
        program = replace(at_singular_points(program, rng), keys=keys, ways=(*program.ways, "sides", "modes"))
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
                got = block.reshape(-1, *expected.shape)[j]
                if np.isfinite(expected).all() and np.isfinite(got).all() and not close(got, expected):
                    found.append(made("one by one", "jacobian", "value", f"source {k}: {got!r}\n  expected {expected!r}"))
    return found[:1]


# ---- derivatives against differences on each side --------------------------------------------------------------------


def check_sides(
    program: Program, values: Mapping[str, np.ndarray], reference: Results, made: Callable[..., Any]
) -> list[Any]:
    """Where a finite first or second derivative is not what differences say."""
    if any(cut in recipe for recipe in program.recipes for cut in CUTS) or any(map(program.text.count, ("tf.float", "tf.complex"))):
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
            wrong = _wrong(lambda moved: function(program, moved), values, name, index, got, key == "order2")
            if wrong:
                found.append(made("sides", key, "value", f"{name}{list(index)}: {wrong}"))
                break
    return found


def _coordinates(names: Sequence[str], values: Mapping[str, np.ndarray]) -> Iterator[tuple[str, tuple[int, ...]]]:
    every = [(n, i) for n in names for i in np.ndindex(values[n].shape) if abs(values[n][i]) < 1e3]
    yield from every[:: max(1, -(-len(every) // COORDINATES))]


def _wrong(
    function: Callable[[Mapping[str, np.ndarray]], float],
    values: Mapping[str, np.ndarray],
    name: str,
    index: tuple[int, ...],
    got: float,
    smooth: bool,
) -> str | None:
    """What is wrong with a derivative; None if nothing is known to be. A kink is as good as unknown if it is `smooth`."""
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
    if not known or (smooth and len(known) == 2 and abs(known[0] - known[1]) > 1e-2 * (1 + abs(known[0]))):
        return None
    tolerance = 2e-2 * (1 + max(map(abs, known)))
    if min(known) - tolerance <= got <= max(known) + tolerance:
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
        return float(sum(np.sum(y * w) for y, w in zip(found, weights, strict=True)))

    found = attempt(computed)
    return np.inf if isinstance(found, Failed) else found


def _sum_of_gradients(program: Program, values: Mapping[str, np.ndarray]) -> float:
    found = attempt(lambda: run_on_tape(program, values, ())["gradient"])
    if isinstance(found, Failed):
        return np.inf
    return float(sum(np.sum(g) for g in found if g is not None))


# ---- modes against each other, NaN included --------------------------------------------------------------------------


def check_modes(asked: Any, close: Callable[[Any, Any], bool], made: Callable[..., Any]) -> list[Any]:
    """Where forward and reverse walks are not adjoint, or Jacobians in some mode or format differ, NaN included."""
    tape, ys, xs = asked.api, asked.ys, asked.xs
    if any(a.dtype.name != "float64" for a in (*ys, *xs)) or not ys or not xs:
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
            if not (np.isnan(got) == np.isnan(expected)).all():
                found.append(made("modes", f"{name} and auto", "NaN", f"block {k}: {got!r}\n  and {expected!r}"))
                break
            if not close(got, expected):
                found.append(made("modes", f"{name} and auto", "value", f"block {k}: {got!r}\n  and {expected!r}"))
                break
    return found


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
