"""The report: its plots, its JSON file, and a short run of the whole."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from bench import digits, problems
from bench.measure import measure, write_json
from bench.page import page, table, verdict, wide
from bench.svg import Line, Scale, line_chart
from bench.text import readable
from tests.processes import printed


def texts(svg: str) -> list[str]:
    """The words in a drawing, which must be well-formed XML."""
    return ["".join(element.itertext()) for element in ET.fromstring(svg).iter() if element.tag.endswith("text")]


def test_a_scale_maps_its_ends_and_has_round_ticks() -> None:
    scale = Scale(0, 3, 100, 400)
    assert [scale(0), scale(1.5), scale(3)] == [100, 250, 400]
    assert scale.ticks() == [0, 0.5, 1, 1.5, 2, 2.5, 3]
    assert Scale(0, 400, 0, 1).ticks() == [0, 100, 200, 300, 400]
    log = Scale(0.1, 1000, 0, 400, log=True)
    assert log(10) == pytest.approx(200)
    assert log.ticks() == pytest.approx([0.1, 1, 10, 100, 1000])


def test_a_line_chart_names_its_axes_and_curves() -> None:
    words = texts(line_chart("Loss < 3", [Line("a", [2, 1], "#000"), Line("b & c", [2.5, 1], "#111")], "step", "loss"))
    assert {"Loss < 3", "a", "b & c", "step", "loss", "0", "1", "2"} <= set(words)


def test_a_page_answers_first_and_lists_what_it_has() -> None:
    body = ["<p>Long words.</p>", "<h2>One</h2>", "<svg></svg>", verdict("It is so."), "<h2>Two &amp; three</h2>"]
    text = page("Title", [*body, wide(table(["a"], [["1"]]))], "made here")
    positions = [text.index(part) for part in ("<h1>Title</h1>", "It is so.", "<nav>", "Long words.", "<h2>")]
    assert positions == sorted(positions)
    assert '<a href="#part-2">Two &amp; three</a>' in text and '<a id="part-2"></a><h2>Two &amp; three</h2>' in text
    # what can be wider than a phone scrolls by itself, once
    assert text.count('<div class="wide">') == 2
    for medium in ("(max-width: 640px)", "(prefers-color-scheme: dark)", "print"):
        assert f"@media {medium}" in text


@pytest.mark.parametrize(("value", "shown"), [(0.01234, "0.0123"), (5.678, "5.68"), (99.94, "99.9"), (123.4, "123")])
def test_numbers_are_readable(value: float, shown: str) -> None:
    assert readable(value) == shown


def test_tables_escape_their_cells() -> None:
    assert "<td>a &lt; b</td>" in table(["x"], [["a < b"]])


def test_the_first_call_is_timed_apart() -> None:
    calls: list[str] = []
    measurement, result = measure("group", "name", lambda: lambda: calls.append("call") or len(calls), 0.0)
    assert result == 4
    assert len(measurement.rounds) == 3
    assert measurement.first > 0
    assert min(measurement.rounds) <= measurement.warm <= max(measurement.rounds)


def test_pytest_benchmark_reads_the_json(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    write_json(file, [measure("a group", name, lambda: lambda: None, 0.0)[0] for name in ("one way", "another")])
    content = json.loads(file.read_text())
    assert {"machine_info", "commit_info", "benchmarks", "datetime", "version"} == set(content)
    shown = printed("-m", "pytest_benchmark", "compare", file, "--columns=min,median", cwd=tmp_path)
    assert "benchmark 'a group': 2 tests" in shown
    assert "one way" in shown


def test_bits_are_compared_not_values() -> None:
    assert digits.same_bits(np.array([np.nan, 0.0]), np.array([np.nan, 0.0]))
    assert not digits.same_bits(np.array([0.0]), np.array([-0.0]))
    assert not digits.same_bits(np.float32(1), np.float64(1))


def test_the_reference_derivative_of_the_chain() -> None:
    x, h = np.array([0.3, 0.7]), 1e-6
    expected = (problems.chain(np, x + h, 7) - problems.chain(np, x - h, 7)) / (2 * h)
    np.testing.assert_allclose(problems.chain_gradient(x, 7), expected, rtol=1e-8)


def test_a_short_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn, which ships the digits, is not installed")
    from bench.report import main

    assert main(["--out", str(tmp_path), "--steps", "20", "--examples", "2", "--seconds", "0"]) == 0
    shown, progress = capsys.readouterr()
    assert "equal to the bit in both modes" in shown
    assert "tape: jacobian" in shown
    assert "Training in both modes" in progress
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert html.count("<svg") == 2
    assert "http://" not in html.replace("http://www.w3.org/2000/svg", "")
    names = {b["name"] for b in json.loads((tmp_path / "report.json").read_text())["benchmarks"]}
    assert {"graph", "tape", "tape: jacobian", "graph: gradients, row by row"} <= names
