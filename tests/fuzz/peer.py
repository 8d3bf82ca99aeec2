"""Values and gradients against real TensorFlow, for programs of calls that both have.

A call goes by its public name, or by what its row of the op table says of TensorFlow. Programs with other calls, and
those that TensorFlow refuses, are left out (`NotCompared` says why). Results agree up to rounding, measured by the
largest of all. Leaves hold ordinary numbers, and nothing is compared that is not finite: TensorFlow differs at ties and
kinks and beyond the domains of functions, which the rows of the op table go through one by one. `DIFFERENT` lists
what else it does otherwise.
"""

from __future__ import annotations

import functools
import importlib
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from engine.core.nest import flatten
from tests.fuzz.execute import Failed, Results, attempt
from tests.fuzz.keys import numbers
from tests.fuzz.programs import BY_ID, LAYOUTS, Body, Instruction, Program, updated

COMPLEX = {"complex64", "complex128"}
DIFFERENT: tuple[tuple[str, set[str] | None], ...] = (
    # gradients that leave out a conjugate
    ("xlogy|xdivy|xlog1py|cumprod|squared_difference|det|reduce_prod|segment_prod", COMPLEX),
    # gradients for labels that add up to one, whatever they add up to
    ("cross_entropy", None),
    # where the largest occurs twice, the gradient of max_pool3d goes to all of them
    ("max_pool_op-3d", None),
    # singular vectors and eigenvectors are known up to signs and phases
    ("svd|eig", None),
    # at a bound, gradients of clip_by_value go to what is clipped alone
    ("clip", None),
)
"""Calls whose gradients TensorFlow has otherwise, and the dtypes for which that holds (None: all)."""


class NotCompared(Exception):
    """TensorFlow has no such call, or refuses it."""


compared: set[int] = set()
"""Seeds of the programs that TensorFlow ran in this process."""


@functools.lru_cache(maxsize=1)
def tensorflow() -> Any:
    """The module."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = importlib.import_module("tensorflow")
        module.get_logger().setLevel("ERROR")
        return module


def ordinary(program: Program) -> Program:
    """The program with numbers in its floating leaves that are no kinks, no ties and not large."""
    rng = np.random.default_rng(program.seed)
    values: dict[str, np.ndarray] = {}
    if program.has({"row while", "row pull_varying"}):
        # they end for the numbers that they have
        return replace(program, keys=(), ways=("tensorflow",))
    for leaf in program.leaves:
        if leaf.value.dtype.kind in "fc":
            made = rng.uniform(0.2, 1.5, leaf.value.shape) * rng.choice([1.0, 1.0, -1.0], leaf.value.shape)
            if leaf.value.dtype.kind == "c":
                made = made + 1j * rng.uniform(-1.0, 1.0, leaf.value.shape)
            values[leaf.name] = np.asarray(made, leaf.value.dtype)
    return replace(program.with_values(values), keys=(), ways=("tensorflow",))


def _translated(program: Program) -> Program:
    """The program with calls of rows in place of the engine's own ops."""

    def each(instructions: Sequence[Instruction]) -> tuple[Instruction, ...]:
        return tuple(replace(i, code=_code(i), bodies=tuple(map(body, i.bodies))) for i in instructions)

    def body(b: Body) -> Body:
        return replace(b, instructions=each(b.instructions), bodies=tuple(map(body, b.bodies)))

    return replace(program, instructions=each(program.instructions))


def _code(i: Instruction) -> str:
    if not i.recipe.startswith("row ") or i.code.startswith("tf."):
        return i.code
    name = i.recipe.removeprefix("row ")
    if BY_ID[name].tf is None or "gelu" in name:
        # TensorFlow's gelu has constants of 12 digits
        raise NotCompared(f"the row {name} says nothing of TensorFlow")
    operands = ", ".join(f"{{{k}}}" for k in range(len(i.args)))
    call = f"row({name!r})({operands})"
    return f"flat({call})" if i.code.startswith("flat(") else call


def _namespace(tf: Any) -> dict[str, Any]:
    def row(name: str) -> Callable[..., Any]:
        return functools.partial(BY_ID[name].tf, tf)  # type: ignore[arg-type]

    return {
        "row": row,
        "flat": flatten,
        "function": lambda tf, body: lambda *args: tf.convert_to_tensor(body(*args)),
        "vectorized_map": lambda tf, body, rows: tf.map_fn(body, rows),
        "updated": updated,
        "where": lambda tf, condition, x, y: tf.where(condition, x, y),
        "np": np,
        "inf": np.inf,
        "nan": np.nan,
    }


@functools.lru_cache(maxsize=64)
def _compiled(text: str) -> Callable[..., Any]:
    scope = _namespace(tensorflow())
    exec(compile(text, "<program>", "exec"), scope)
    return scope["program"]  # type: ignore[no-any-return]


def run_in_tensorflow(program: Program, values: Mapping[str, np.ndarray]) -> Results:
    """Values and gradients by TensorFlow's tape.

    Raises
    ------
    NotCompared
    """
    if program.has({"fit"}) and program.has({"row svd", "row eigh"}):
        raise NotCompared("equal rows or columns: singular vectors are not known")
    tf = tensorflow()
    if program.has({"lu"}) and any(x.value.dtype.kind == "c" for x in program.leaves):
        raise NotCompared("pivots of complex matrices")
    function = _compiled(_translated(program).text)
    leaves = {x.name: _leaf(tf, x.kind, LAYOUTS[x.layout](values[x.name])) for x in program.leaves}
    try:
        with tf.GradientTape() as tape:
            tape.watch([leaves[name] for name in program.watched])
            found = [
                y if isinstance(y, tf.Variable) else tf.convert_to_tensor(y) for y in function(tf, *leaves.values())
            ]
        ys, xs = program.parted(found, leaves)
        targets = [y for y in ys if y.dtype.is_floating or y.dtype.is_complex]
        seeds = numbers([(tuple(y.shape), np.dtype(y.dtype.as_numpy_dtype)) for y in targets])
        results: Results = {"value": [np.asarray(y) for y in found]}
        if program.has({"top_k", "sort"}):
            # it sorts what is beside a NaN in no order
            tf.debugging.enable_check_numerics()
            function(tf, *leaves.values())
        if targets and xs and not _known_to_differ(program):
            gradients = tape.gradient(targets, xs, [tf.constant(s) for s in seeds] if program.weighted else None)
            results["gradient"] = [None if g is None else np.asarray(tf.convert_to_tensor(g)) for g in gradients]
    except Exception as error:
        # what TensorFlow does not have, or does not take
        raise NotCompared(f"{type(error).__name__}: {error}") from error
    finally:
        tf.debugging.disable_check_numerics()
    return results


def _known_to_differ(program: Program) -> bool:
    """Whether TensorFlow's gradient is known to be missing or wrong, in a dtype that is there."""
    dtypes = {x.value.dtype.name for x in program.leaves} | {n for n in COMPLEX if n in program.text}
    rows = [BY_ID[r.removeprefix("row ")] for r in program.recipes if r.startswith("row ")]
    if any(not dtypes.isdisjoint(row.tf_value_only) for row in rows):
        return True
    return any(
        re.search(calls, program.text + " ".join(program.recipes)) and (where is None or not dtypes.isdisjoint(where))
        for calls, where in DIFFERENT
    )


def _leaf(tf: Any, kind: str, value: np.ndarray) -> Any:
    if kind == "variable":
        return tf.Variable(value)
    return value if kind == "array" else tf.constant(value)


def _all_finite(arrays: Sequence[Any]) -> bool:
    return all(a is None or a.dtype.kind not in "fc" or bool(np.isfinite(a).all()) for a in arrays)


def check_tensorflow(
    program: Program,
    values: Mapping[str, np.ndarray],
    reference: Results,
    differ: Callable[[Any, Any], str | None],
    made: Callable[..., Any],
) -> list[Any]:
    """What TensorFlow's results differ in."""
    theirs = attempt(lambda: run_in_tensorflow(program, values))
    if isinstance(theirs, Failed):
        if theirs.kind != "NotCompared":
            raise RuntimeError(f"{theirs.kind}: {theirs.message}")
        return []
    compared.add(program.seed)
    found, empty = [], any(not y.size for y in theirs["value"])
    for key, expected in theirs.items():
        if key == "gradient" and not _all_finite(theirs["value"]):
            # what is beside a NaN has a gradient in TensorFlow
            continue
        got = reference.get(key)
        if isinstance(got, Failed) and "singular matrix" in got.message and not _all_finite(expected):
            # TensorFlow divides by zero
            continue
        if got is None or isinstance(got, Failed):
            found.append(made("tensorflow", key, "error", f"{got}\n  expected {expected}"[:1500]))
            continue
        for i, (g, e) in enumerate(zip(got, expected, strict=True)):
            if not _all_finite([g, e]):
                continue
            if g is None and program.has({"custom_gradient"}):
                # what a rule captures has a gradient in TensorFlow if no argument is watched
                continue
            if not any(a.size for a in (g, e) if a is not None) or (e is None and empty and not g.any()):
                # of no rows, TensorFlow does not know how long they are, nor what they depend on
                continue
            kind = differ(g, e)
            if kind not in (None, "bits", "sign of zero"):
                found.append(made("tensorflow", key, kind, f"result {i}: {g!r}\n  expected {e!r}"[:1500]))
                break
    return found
