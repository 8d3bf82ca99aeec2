"""What is left out of a program, and the table of what that costs."""

from pathlib import Path

import pytest

from bench import ablation
from bench.__main__ import main
from bench.ablation import Slowdown
from bench.problems import PROBLEMS
from engine.compiler.pipeline import ALL_PASSES


def test_every_pass_is_left_out_once() -> None:
    left = ablation.variants()
    assert set(left[ablation.WHOLE]) == set(ALL_PASSES) and left["all passes"] == ()
    missing = [set(ALL_PASSES) - set(passes) for name, passes in left.items() if name.startswith("`")]
    assert missing == [{one} for one in ALL_PASSES]


@pytest.mark.parametrize("name", ["arm", "bratu", "woods", "mlp_batch"])
def test_variants_of_a_problem(name: str) -> None:
    """Every kind of derivative; all variants give the same bits, or this raises."""
    problem = PROBLEMS[name]
    found = ablation.slowdowns(problem, problem.quick[0], 0.0)
    by_executor = {e: [s.without for s in found if s.executor == e] for e in {s.executor for s in found}}
    assert by_executor["Python"] == [name for name in ablation.variants() if name != ablation.WHOLE]
    assert all(s.ratio > 0 and s.problem == name for s in found)
    assert ("the native executor" in by_executor.get("native", [])) == ("native" in by_executor)
    # what changes nothing is known to make no difference
    assert {s.ratio for s in found if s.without == "`deferred_updates`"} == {1.0}


def test_other_bits_are_noticed() -> None:
    problem = PROBLEMS["arm"]
    with pytest.raises(AssertionError, match="arm 7: other bits without something"):
        ablation._assert_same_bits(problem, (7,), {ablation.WHOLE: lambda: [1.0], "something": lambda: [2.0]})


def test_the_table_hides_what_is_held_out() -> None:
    found = [
        Slowdown("arm", "7", "native", "`inlining`", 2.0),
        Slowdown("mixture", "3", "native", "`inlining`", 0.5),
        Slowdown("bratu", "32", "native", "`inlining`", 8.0),
        Slowdown("bratu", "32", "native", "all passes", 1.01),
    ]
    assert ablation.table(found) == [
        ("without", "native: tuned", "native: held out", "most needed by"),
        ("`inlining`", "1.00", "8.00", "arm 7, native (2.00)"),
        ("all passes", "–", "1.01", "–"),
    ]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- ablation: begin (x) -->\nof old\n<!-- ablation: end -->\nafter\n")
    assert main(["ablate", "-k", "broyden", "--seconds", "0", "--write", str(page)]) == 0
    text = page.read_text()
    assert text.startswith("before\n<!-- ablation: begin (x) -->\n## What each pass") and text.endswith("-->\nafter\n")
    assert "| `inplace_concat` |" in text and "of old" not in text and "2 problems and sizes" in capsys.readouterr().out
    assert main(["ablate", "-k", "no such problem"]) == 2
