"""What a run comes to, from files whose figures are known."""

from pathlib import Path
from typing import Any

import pytest

from bench import document, ratios
from bench.__main__ import main
from bench.results import Result, read
from tests.bench import made


def results(tmp_path: Path, *entries: Any) -> list[Result]:
    return read(made.write(tmp_path / "run.json", entries)).results


def graph_and_jax(problem: str, graph: float, jax: float, **facts: Any) -> list[Any]:
    return [
        made.case(problem, 7, "graph", "auto", graph, first_call=1e-3, **facts),
        made.case(problem, 7, "tape", "auto", 3 * graph),
        made.case(problem, 7, "jax", "best", jax, first_call=0.1),
    ]


def test_the_row_of_a_problem(tmp_path: Path) -> None:
    others = [
        made.case("arm", 7, "tf_graph", "best", 4e-5),
        made.case("arm", 7, "tf_xla", "best", 2e-5),
        made.case("arm", 7, "numpy", "best", 5e-6),
        made.case("arm", 7, "casadi", "best", 2.5e-6),
    ]
    facts = {"j_over_f": 2.5, "python_seconds": 4e-5}
    (row,) = ratios.rows(results(tmp_path, *graph_and_jax("arm", 1e-5, 2e-5, **facts), *others))
    assert (row.label, row.kind) == ("arm 7", "tuned")
    assert row.ratios == pytest.approx((0.5, 0.5, 2.0, 4.0, 3.0, 0.01, 2.5, 4.0), rel=1e-6)


def test_sets() -> None:
    assert [ratios.kind_of(name) for name in ("mlp", "arm", "bratu", "nobody's")] == [
        *("suite", "tuned", "held out", "suite")
    ]


def test_medians_are_by_set(tmp_path: Path) -> None:
    entries = [
        *graph_and_jax("arm", 1e-5, 2e-5),
        *graph_and_jax("mixture", 3e-5, 2e-5),
        *graph_and_jax("attention", 1e-5, 4e-5),
    ]
    lines = ratios.medians(ratios.rows(results(tmp_path, *entries)))
    assert [line[:3] for line in lines] == [("tuned (2)", "1", "–"), ("held out (1)", "0.25", "–")]


def test_aims_that_are_missed_are_named(tmp_path: Path) -> None:
    entries = [
        *graph_and_jax("arm", 1.2e-5, 1e-5),  # short: 1.3 is allowed
        *graph_and_jax("mixture", 4e-5, 2e-5, j_over_f=5.0),
        *graph_and_jax("attention", 1e-5, 4e-5, j_over_f=3.0),
        made.case("bratu", 32, "graph", "auto", 1e-5),
        made.case("bratu", 32, "asdex", "best", 2e-5),
    ]
    dense, sparse, first, gradients = ratios.sentences(ratios.rows(results(tmp_path, *entries)))
    assert dense == (
        "graph / JAX is at most 1.0 (calls below 20 µs: 1.3) on 2 of 3 dense problems and sizes; "
        "not on mixture 7 2.00 ×."
    )
    assert sparse == "Graph / sparse peer is at most 1.0 on 1 of 1."
    assert first == "The first call, by JAX's, is at most 0.1 on 3 of 3."
    assert gradients == "A gradient, by its function, is at most 4.0 on 1 of 2; not on mixture 7 5.00 ×."


def test_without_graphs_there_is_nothing_to_say(tmp_path: Path) -> None:
    found = results(tmp_path, made.case("arm", 7, "jax", "best", 1e-5))
    assert (ratios.as_terminal(found), ratios.as_document(found)) == ("", [])


def everything_of_the_readme() -> list[Any]:
    return [
        {**made.case(problem, 1, mode, "auto" if mode != "jax" else "best", seconds), "extra_info": {
            "problem": problem, "size": size, "mode": mode, "method": "auto" if mode != "jax" else "best",
        }}
        for _, problem, size in document.SHORT
        for mode, seconds in (("graph", 1e-4), ("tape", 2e-4), ("jax", 3e-4))
    ]  # fmt: skip


def test_the_table_of_the_readme(tmp_path: Path) -> None:
    file = made.write(tmp_path / "run.json", everything_of_the_readme())
    page, readme = tmp_path / "page.md", tmp_path / "README.md"
    for path in (page, readme):
        path.write_text("<!-- measured: begin -->\n<!-- measured: end -->\n")
    assert main(["document", str(file), "--file", str(page), "--readme", str(readme)]) == 0
    text = readme.read_text()
    assert text.count("| 100 µs | 200 µs | 300 µs (jax) | 0.33 |") == len(document.SHORT)
    assert "Measured on commit 0123456789ab" in text and ratios.TITLE in page.read_text()


def test_a_file_without_its_rows_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = made.write(tmp_path / "run.json", everything_of_the_readme()[3:])
    page = tmp_path / "page.md"
    page.write_text("<!-- measured: begin -->\n<!-- measured: end -->\n")
    before = page.read_text()
    assert main(["document", str(file), "--file", str(page), "--readme", str(page)]) == 2
    assert "the README's table needs mlp 128x128x128x128x128" in capsys.readouterr().err
    assert page.read_text() == before


def test_the_readme_and_the_document_have_their_sections() -> None:
    for path, names in ((document.DOCUMENT, ("measured", "ablation")), (document.README, ("measured",))):
        text = (Path(__file__).parents[2] / path).read_text(encoding="utf-8")
        for name in names:
            assert document.replaced(text, "new", name).count("new\n<!-- ") == 1
