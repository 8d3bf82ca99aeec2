"""Random programs agree in all ways to run them; so do those that once did not."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fuzz import compare, execute, ways
from tests.fuzz.around import quiet
from tests.fuzz.compare import Difference, difference, differences
from tests.fuzz.corpus import PROGRAMS
from tests.fuzz.generate import generate
from tests.fuzz.programs import Body, Instruction, Leaf, Program, pasteable
from tests.fuzz.recipes import FROM_ROWS, RECIPES
from tests.fuzz.shrink import shrunk
from tests.fuzz.triage import Failure, examine, report
from tests.op_table import OPS, WITHOUT_ROW

BLOCKS, BLOCK = 20, 50


@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_programs_agree_in_all_ways(block: int) -> None:
    failures = examine(range(block * BLOCK, (block + 1) * BLOCK), None, seconds=5.0)
    assert not failures, "\n" + report(failures)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_that_once_disagreed_agree(name: str) -> None:
    program = PROGRAMS[name]
    found = differences(program, [*program.ways, "graph", "unknown", "replay", "watched"])
    assert not found, "\n".join([*map(str, found), program.text])


# ---- what is generated -----------------------------------------------------------------------------------------------


def test_every_op_of_the_op_table_can_be_generated() -> None:
    reached = {r.op.name for r in FROM_ROWS if r.op is not None}
    assert {op.name for op in OPS.values()} - reached == set(WITHOUT_ROW)


@pytest.mark.parametrize("part", range(8))
def test_every_recipe_makes_programs(part: int) -> None:
    for recipe in RECIPES[part::8]:
        name = recipe.name
        made = (generate(seed, recipe) for seed in range(60))
        assert any(name in i.recipe or recipe in SAME_NAME for p in made for i in p.instructions), name


SAME_NAME = [r for r in RECIPES if r.name in ("fold", "map", "while", "update", "fold_rows")]
"""Their instructions are called after what they do."""


def test_a_seed_gives_the_same_program_each_time() -> None:
    for seed in range(20):
        assert repr(generate(seed)) == repr(generate(seed))


def test_a_program_is_its_own_representation() -> None:
    for seed in range(20):
        program = generate(seed)
        scope = {"np": np, "inf": np.inf, "nan": np.nan, "Program": Program, "Leaf": Leaf, "Instruction": Instruction}
        scope["Body"] = Body
        again = eval(repr(program), scope)
        assert repr(again) == repr(program)


@pytest.mark.parametrize("front_end", ["graph_api", "tape_api"])
def test_a_program_can_be_pasted(front_end: str, capsys: pytest.CaptureFixture[str]) -> None:
    with quiet():
        for seed in (1, 2, 3):
            exec(compile(pasteable(generate(seed), front_end), "<pasted>", "exec"), {})
    assert capsys.readouterr().out


# ---- what is noticed -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("got", "expected", "kind"),
    [
        ([1.0, np.nan], [1.0, np.nan], None),
        ([0.0], [-0.0], "sign of zero"),
        ([np.nan], [1.0], "NaN"),
        ([np.inf], [1.0], "inf"),
        ([1.0], [np.nextafter(1.0, 2.0)], "bits"),
        ([1.0], [1.5], "value"),
        (np.float32([2.0]), np.nextafter(np.float32([2.0]), np.float32(3)), "bits"),
        ([[1.0]], [1.0], "shape"),
        (np.float32([1.0]), [1.0], "dtype"),
        (None, [1.0], "None"),
        (None, None, None),
        ([complex(1, 0)], [complex(1, -0.0)], "sign of zero"),
    ],
)
def test_what_arrays_differ_in(got: object, expected: object, kind: str | None) -> None:
    assert difference(*[None if x is None else np.asarray(x) for x in (got, expected)]) == kind


def test_a_way_that_lies_is_found_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph that rounds every sine is found, and the program shrinks to a sine."""

    def lying(run: ways.Run) -> execute.Results:
        results = run.graph()
        if "tf.sin(" in run.program.text:
            results["value"] = [a + 1 for a in results["value"]]
        return results

    monkeypatch.setitem(ways.WAYS, "graph", lying)
    leaf = Leaf("x", "variable", np.array([[1.5, -2.25], [3.0, 4.0]]))
    codes = ["tf.exp({0})", "tf.sin({0})", "tf.transpose({0})", "{0} * 2.0"]
    steps = [Instruction((f"v{i}",), code, ("x" if i == 0 else f"v{i - 1}",), (), code) for i, code in enumerate(codes)]
    program = Program((leaf,), tuple(steps), ("v3",), ("x",), ("jacobian",), ("replay", "graph"))
    (found,) = differences(program)
    assert found == Difference("graph", "value", "value", "")
    small, _ = shrunk(program, found)
    assert [i.code for i in small.instructions] == ["tf.sin({0})"]
    assert small.leaves[0].value.size == 1 and small.keys == ()
    assert "1 x graph, value: value; tf.sin({0})" in report([Failure(small, found)])


def test_a_wrong_rule_is_found_by_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = execute.run_on_tape

    def lying(*args: object, **kwargs: object) -> execute.Results:
        results = honest(*args, **kwargs)  # type: ignore[arg-type]
        results["gradient"] = [g * 1.01 for g in results["gradient"]]
        return results

    monkeypatch.setattr(execute, "run_on_tape", lying)
    steps = (Instruction(("v",), "tf.sin({0})", ("x",)),)
    program = Program((Leaf("x", "source", np.array([0.5])),), steps, ("v",), ("x",), (), ("differences",))
    assert [d.key for d in compare.differences(program)] == ["gradient"]
