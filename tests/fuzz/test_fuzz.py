"""Random programs agree in all ways to run them; so do those that once did not."""

import random
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import tape_api
from engine.runtime.errors import UnimplementedError
from tests.fuzz import compare, execute, singular, triage, ways
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
            try:
                exec(compile(pasteable(generate(seed), front_end), "<pasted>", "exec"), {})
            except UnimplementedError as error:
                # what is a first derivative may say that it has none
                assert "second derivative" in str(error)  # noqa: PT017
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


def test_a_failure_is_written_whole_when_it_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before it is shrunk: what follows may take long, or end the process."""
    path = tmp_path / "failures.txt"

    def interrupted(program: Program, found: Difference, seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(triage, "differences", lambda program: [Difference("graph", "gradient", "value", "1 and 2")])
    monkeypatch.setattr(triage, "shrunk", interrupted)
    with pytest.raises(KeyboardInterrupt):
        triage.work((range(7, 8), None, 5.0, str(path)))
    assert repr(generate(7)) in path.read_text()
    assert "# seed 7: graph, gradient: value: 1 and 2" in path.read_text()
    assert path.read_text() == capsys.readouterr().out


def test_what_needs_too_much_memory_or_time_fails_whatever_else_the_machine_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def large(*_: object) -> None:
        raise MemoryError("8 GB")

    monkeypatch.setattr(compare, "reference_of", large)
    assert [f.found.kind for f in examine([3], None, 1.0)] == ["too large"]
    monkeypatch.setattr(triage, "PATIENCE", 1)
    monkeypatch.setattr(compare, "reference_of", lambda *_: time.sleep(1.5))
    monkeypatch.setattr(triage, "differences", lambda program: compare.reference_of(program, {}) or [])
    assert examine([3], None, 1.0) == []
    monkeypatch.setattr(triage, "differences", lambda program: [None for _ in iter(int, 1)])
    assert [f.found.kind for f in examine([3], None, 1.0)] == ["too slow"]


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


# ---- at singular points ----------------------------------------------------------------------------------------------


def of_zero(code: str, *keys: str) -> tuple[Program, execute.Results]:
    """A program of one instruction at 0, and what a tape gives."""
    steps = (Instruction(("v",), code, ("x",), (), code),)
    program = Program((Leaf("x", "source", np.zeros(2)),), steps, ("v",), ("x",), keys)
    return program, execute.reference_of(program, {"x": np.zeros(2)})


@pytest.mark.parametrize(
    ("code", "key", "lie"),
    [
        ("tf.sin({0})", "gradient", 0.0),
        ("tf.square(tf.sqrt({0}))", "gradient", 0.0),
        ("tf.exp({0})", "order2", 0.0),
        ("tf.reduce_sum({0} ** 2)", "order2", 0.0),
    ],
)
def test_a_zero_in_place_of_a_derivative_is_found(code: str, key: str, lie: float) -> None:
    """Also beside the end of a domain, where differences on one side alone exist."""
    with quiet():
        program, results = of_zero(code, "order2")
        values = {"x": np.zeros(2)}
        lying = {**results, key: [np.full(2, lie)]}
        assert [d.key for d in singular.check_sides(program, values, lying, Difference)] == [key]
        unknown = {**results, key: [np.full(2, np.nan)]}
        assert singular.check_sides(program, values, unknown, Difference) == []


def test_walks_that_are_not_adjoint_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    program, _ = of_zero("tf.sin({0})")
    asked = execute.taped(program, {"x": np.zeros(2)}, persistent=True)
    assert singular.check_modes(program, asked, compare.close, Difference) == []
    monkeypatch.setattr(type(asked.api), "jvp", lambda *_: [tape_api.constant([np.nan, 1.0], tape_api.float64)])
    assert [d.key for d in singular.check_modes(program, asked, compare.close, Difference)] == ["jvp and gradient"]


def test_rows_of_a_jacobian_that_are_no_gradients_are_found() -> None:
    rule = Body(("d",), (), "tf.clip_by_value({0}, -0.5, 0.5)", ("d",))
    body = Body(("a",), (), "{0}, {b0}", ("a",), (rule,))
    steps = (Instruction(("v",), "tf.custom_gradient({b0})({0})", ("x",), (body,), "custom_gradient"),)
    program = Program((Leaf("x", "source", np.ones(2)),), steps, ("v",), ("x",))
    asked = execute.taped(program, {"x": np.ones(2)}, persistent=True)
    right, wrong = np.diag([0.5, 0.5]), np.zeros((2, 2))
    assert singular.check_one_by_one(asked, {"jacobian": [right]}, compare.close, Difference) == []
    (found,) = singular.check_one_by_one(asked, {"jacobian": [wrong]}, compare.close, Difference)
    assert found.key == "jacobian"


def test_adverse_programs_run() -> None:
    """Each style of points, each crooked rule: most programs still run there."""
    rng, run = random.Random(0), 0
    with quiet():
        for seed in range(40):
            program = singular.ending(singular.at_singular_points(generate(seed), rng), rng)
            values, _ = execute.values_of(program)
            found = execute.attempt(partial(execute.reference_of, program, values))
            run += not isinstance(found, execute.Failed)
        bent = [singular.with_crooked_rules(generate(seed, "custom_gradient"), rng) for seed in range(10)]
    assert run > 20
    assert any(crook[:8] in p.text for p in bent for crook in singular.CROOKS)
