"""Facts about our own loops, of which the extension has the only table: they are true, and names are known."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine.executor
from engine.executor import status
from engine.executor.extension import executor
from engine.executor.loops import reduces_alike, samples
from engine.executor.own_loops import CONDITIONED, FUSES, LOOPS, MOST_TERMS, STEPS, SUMMED_STEPS, base_of, instead_of
from engine.executor.refs import Ref, Row, constant_ref, elementwise

pytestmark = pytest.mark.skipif(not status().active, reason="without the native executor there are no loops of our own")

A, B, C = (samples(np.dtype(float), k) for k in range(3))
TRUTH = C > 0

MEANING: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("add", "subtract", "multiply", "divide")},
    **{name: getattr(np, name) for name in ("negative", "square", "reciprocal", "absolute", "sign")},
    "larger": np.maximum,
    "smaller": np.minimum,
    "scale": lambda ct, partial: np.where((ct == 0) & np.isnan(ct * partial), 0.0, ct * partial),
    "either": lambda x, y: np.where(((x == 0) | (y == 0)) & np.isnan(x * y), 0.0, x * y),
    "kept": lambda x, chosen: np.where((chosen == 0) & np.isnan(x), 0.0, x),
    "select": lambda x, y: np.where(TRUTH, x, y),
    "cast_b": lambda: TRUTH.astype(float),
}
"""Operations of steps, written with NumPy; the booleans are `TRUTH`."""


def test_every_operation_has_a_meaning() -> None:
    words = {meaning.split()[0] for meaning in STEPS if " of " not in meaning}
    assert words == {*MEANING, "load"}


def result_of(meaning: str) -> np.ndarray:
    """The result of a step, behind a first operand `A`; the others are `B`, `C` and, where it is boolean, `TRUTH`."""
    operation, _, rest = meaning.partition(" ")
    if rest.startswith("of "):
        by_letter = {letter: other for other, letter in reversed(STEPS.items())}
        outer, inner = by_letter[operation], by_letter[rest[3:]]
        name, *_ = inner.split()
        operands = {"a": [B], "aa": [B, B], "ab": [B, C], "": []}[inner.partition(" ")[2]]
        return applied(outer, A, MEANING[name](*operands))
    return applied(meaning, A, B)


def applied(meaning: str, a: Any, b: Any) -> np.ndarray:
    """An operation, with operands as its meaning names them."""
    name, _, operands = meaning.partition(" ")
    result: np.ndarray = b if name == "load" else MEANING[name](*[{"a": a, "b": b}[x] for x in operands])
    return result


@pytest.mark.parametrize("meaning", STEPS)
@pytest.mark.skipif(not FUSES, reason="the compiler has no vectors")
def test_a_step_does_what_the_table_says(meaning: str) -> None:
    assert executor is not None
    letter = STEPS[meaning]
    ((count, boolean),) = [(takes, boolean) for each, takes, boolean, _ in executor.STEPS if each == letter]
    begins = meaning in ("load", "cast_b")
    operands = [*([] if begins else [A]), *([TRUTH] if boolean else []), *[B, C][: count - boolean]]
    with np.errstate(all="ignore"):
        expected = result_of(meaning)
    refs = [constant_ref(x) for x in (*operands, expected)]
    letters = letter if begins else STEPS["load"] + letter
    assert reduces_alike(
        [elementwise((f"fused_d_{letters}",), refs)], list(zip(refs, operands, strict=False)), expected
    )


def summed(
    operands: list[tuple[Ref, tuple[int, int, int]]], out: tuple[Ref, tuple[int, int]], sizes: Any, steps: str
) -> Row:
    """The row that adds up steps; operands have steps from line to line, along a line, and to the next term."""
    lines, n, terms = sizes
    far, near, term = zip(*[by for _, by in operands], strict=True)
    places = tuple([(x.root, x.offset) for x in (*[x for x, _ in operands], out[0])])
    steps = f"summed_{out[0].dtype.char}_{steps}"
    return Row((steps,), places, (n, terms), (*near, out[1][1], *term), (lines,), (*far, out[1][0]))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("terms", [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, MOST_TERMS])
@pytest.mark.skipif(not FUSES, reason="the compiler has no vectors")
def test_sums_of_steps_have_the_bits_of_numpy(terms: int, dtype: str) -> None:
    """Those of squared differences of all pairs of rows, weighted or not, whichever of the two is the longer axis."""
    rng = np.random.default_rng(terms)
    item = np.dtype(dtype).itemsize
    for lines, n in ((1, 1), (2, 70), (40, 3), (7, 10), (33, 9), (3, 31), (1, 300), (9, 64)):
        x, c = (rng.standard_normal((k, terms + 1)).astype(dtype)[:, :terms] for k in (lines, n))
        w = rng.standard_normal(terms).astype(dtype)
        for odd in (False, True):
            if odd:
                x[0, 0], c[-1, -1], c[0, 0] = np.inf, np.nan, np.inf
            with np.errstate(all="ignore"):
                squares = np.square(x[:, None] - c[None])
                cases = {
                    "l-Q": squares,
                    "l-Q*": squares * w,
                    "l-a": np.abs(x[:, None] - c[None]),
                    "l*": x[:, None] * c[None],
                }
            for steps, values in cases.items():
                with np.errstate(all="ignore"):
                    expected = values.sum(-1)
                refs, other = [constant_ref(a) for a in (x, c, w)], constant_ref(expected.T.copy())
                row = (terms + 1) * item
                by = [(refs[0], (row, 0, item)), (refs[1], (0, row, item))] + [
                    (refs[2], (0, 0, item))
                ] * steps.endswith("Q*")
                given = list(zip(refs, (x, c, w), strict=True))
                out = constant_ref(expected), (n * item, item)
                assert reduces_alike([summed(by, out, (lines, n, terms), steps)], given, expected), (lines, n, steps)
                # the result lies the other way round
                out = other, (item, lines * item)
                assert reduces_alike([summed(by, out, (lines, n, terms), steps)], given, expected.T.copy()), (
                    lines,
                    n,
                    steps,
                )


def test_sums_of_steps_take_one_number_at_a_time() -> None:
    assert {"l", "+", "Q"} <= SUMMED_STEPS and SUMMED_STEPS.isdisjoint(
        {STEPS["+ of *"], STEPS["select ab"], STEPS["cast_b"]}
    )


def test_steps_with_a_boolean_are_told() -> None:
    assert {"select", "cast_b"} <= CONDITIONED and "add" not in CONDITIONED


@pytest.mark.parametrize("name", [name for name, loop in LOOPS.items() if loop.of and not any(loop.cores)])
def test_a_loop_in_place_of_a_ufunc_gives_its_bits(name: str) -> None:
    ufunc, dtype = getattr(np, str(LOOPS[name].of)), np.dtype(name[-1])
    operands = [samples(dtype, k) for k in range(ufunc.nin)]
    with np.errstate(all="ignore"):
        expected = ufunc(*operands)
    refs = [constant_ref(x) for x in (*operands, expected)]
    assert reduces_alike([elementwise((name,), refs)], list(zip(refs, operands, strict=False)), expected)


def test_what_takes_the_place_of_what() -> None:
    assert instead_of(0, 0)["maximum"] == "larger" and instead_of(0, 0)["negative"] == "negative"
    assert instead_of(1, 1)["add"] == "adds" and instead_of(1, 1)["copy"] == "copies"
    assert instead_of(1, 0) == {"add": "sum_each", "maximum": "max_each", "minimum": "min_each"}


def test_loops_that_do_the_same_exist() -> None:
    ours = {base_of(name) for name in LOOPS}
    assert [loop.of for loop in LOOPS.values() if loop.of and loop.of not in ours and not hasattr(np, loop.of)] == []


def test_all_names_that_python_asks_for_are_in_the_table() -> None:
    # a name is the beginning of a formatted string, as f"copy_{size}"
    folder = Path(str(engine.executor.__file__)).parent
    asked = {name for path in folder.glob("*.py") for name in re.findall(r'[( ]f"([a-z_]+)_\{', path.read_text())}
    assert {"copy", "take", "cast", "sum_rows", "add_outers"} <= asked
    assert {name for name in asked - {"fused"} if not any(own.startswith(f"{name}_") for own in LOOPS)} == set()


def test_python_repeats_no_fact_of_the_table() -> None:
    # whether a loop goes element by element, line by line, at positions, or refuses is asked of the table
    assert LOOPS["copy_8"].is_elementwise and LOOPS["select_4"].is_elementwise and LOOPS["cast_d_f"].is_elementwise
    assert not any(LOOPS[name].is_elementwise for name in ("sum_each_d", "copies_8", "take_8", "put_4", "cast_d_i"))
    assert [base_of(name) for name, loop in LOOPS.items() if loop.indexed and name.endswith("_d")] == [
        "nonzero",
        "shares",
        "add_at",
    ]
    assert {base_of(name) for name, loop in LOOPS.items() if loop.lines == 1} == {"sum_rows", "sum_blocks"}
    assert {base_of(name) for name, loop in LOOPS.items() if loop.lines == 0} == {"sum_each", "max_each", "min_each"}
    assert LOOPS["cast_d_i"].refuses and not LOOPS["cast_i_d"].refuses
