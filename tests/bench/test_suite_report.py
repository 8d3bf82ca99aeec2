"""The pages and tables made of a file, and the section of the README."""

import csv
import io
import math
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from bench import document, suite, tables
from bench.__main__ import main
from bench.measure import measure, write_json
from bench.plots import short, styles
from bench.results import Run, axis, chosen, first_call, modes, problems, read, sizes
from bench.svg import MARKERS, Svg, log_scale
from bench.text import amount, as_markdown, duration, filled, times
from tests.bench import made


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return read(made.write(tmp_path / "suite.json", made.suite()))


def words(svg: str) -> list[str]:
    """The texts in a drawing, which must be well-formed XML."""
    return ["".join(e.itertext()) for e in ET.fromstring(svg).iter() if e.tag.endswith("text")]


# ---- reading ---------------------------------------------------------------------------------------------------------


def test_results_say_what_they_are(run: Run) -> None:
    band = problems(run.results)["band"]
    assert sizes(band) == ["100", "1000", "10000"]
    assert modes(run.results) == ["graph", "tape", "jax", "tf_eager", "tf_graph"]
    small = [r for r in band if r.size == "100"]
    graph = chosen(small, "graph")
    assert graph is not None and graph.method == "auto", "ours as it comes, not at its best"
    assert first_call(small, graph) == pytest.approx(6e-4, rel=0.02)
    assert [r.way for r in small if r.mode == "jax"] == ["jax jacfwd"]


def test_files_of_other_projects_are_reported(tmp_path: Path) -> None:
    plain = made.entry("test_sum[list-10]", made.rounds(1.0), params={"kind": "list", "count": 10})
    facts = {
        "problem": None,
        "size": 3,
        "mode": 7,
        "stage": "compile",
        "blocks": "xy",
        "stages": "no",
        "bytes": math.nan,
    }
    odd = made.entry("test_odd", made.rounds(2.0), "a / <b>", **facts, cpu_share="?", way=3)
    ours = made.case("p", 3, "graph", "auto", 1.0, stages={"trace": "soon", "plan": 0.5}, first_call=3.0)
    for name, entries in (("theirs", [plain, odd]), ("mixed", [plain, odd, ours])):
        assert main(["report", str(made.write(tmp_path / f"{name}.json", entries)), "-o", str(tmp_path)]) == 0
        file = str(tmp_path / f"{name}.json")
        assert main(["compare", file, file]) == 0
    page = (tmp_path / "theirs.html").read_text(encoding="utf-8")
    assert "<h1>Benchmarks</h1>" in page and "Jacobian" not in page and "a / &lt;b&gt;" in page
    assert "Beside the Jacobians" in (tmp_path / "mixed.md").read_text(encoding="utf-8")


def test_libraries_in_the_parameters_are_modes(run: Run) -> None:
    found = {r.name: (r.mode, r.ours, r.in_suite) for r in run.results if "chain" in r.name}
    assert found["test_chain[tape_api]"] == ("tape", True, False)
    assert found["test_chain[tensorflow eager]"] == ("tf_eager", False, False)


def test_the_report_on_the_digits_can_be_read(tmp_path: Path) -> None:
    names = ("graph: jacobian", "tape: jacobian", "NumPy: central differences")
    write_json(tmp_path / "d.json", [measure("J", name, lambda: lambda: None, 0.0)[0] for name in names])
    found = read(tmp_path / "d.json").results
    assert [(r.problem, r.mode) for r in found] == [("J", "graph"), ("J", "tape"), ("J", "")]
    assert all(first_call([], r) for r in found)


def test_the_axis_is_what_grows(tmp_path: Path) -> None:
    def along(*extents: tuple[int, int]) -> str:
        entries = [made.case("p", i, "tape", "auto", 1.0, n=n, m=m) for i, (n, m) in enumerate(extents)]
        return axis(read(made.write(tmp_path / "a.json", entries)).results)

    assert along((10, 10), (20, 20)) == "n"
    assert along((26, 10), (26, 20)) == "m"
    assert along((8, 512), (64, 32)) == "", "narrow to wide is no growth"
    assert along((10, 10)) == ""


# ---- tables ----------------------------------------------------------------------------------------------------------


def test_the_summary_has_a_row_per_problem_and_size(run: Run) -> None:
    rows = tables.summary(run.results)
    assert [row[:2] for row in rows] == [("band", "100"), ("band", "1000"), ("band", "10000"), ("bare & small", "")]
    cells = dict(zip(tables.SUMMARY, rows[1], strict=True))
    assert cells["tape / graph"] == "1.20 ×" and cells["fastest peer"] == "jax jacfwd"
    assert cells["graph / peer"] == "0.25 ×" and cells["auto / best forced"] == "2.00 ×"
    assert cells["J / f"] == "3" and cells["peak memory"] == "8 kB"
    assert cells["in Python / native"] == "2.50 ×"
    assert [row[-1] for row in rows] == ["tuned", "tuned", "held out", "–"]
    assert set(rows[3][4:]) == {"–"}


def test_calls_are_cut_into_their_parts(run: Run) -> None:
    largest = [r for r in run.results if r.where == ("band", "10000")]
    parts = dict(zip(tables.PARTS, tables.stages(largest, "graph") or (), strict=True))
    assert parts["trace"] == pytest.approx(0.01) and parts["plan"] == pytest.approx(0.02)
    assert parts["later call"] == pytest.approx(0.01, rel=0.03)
    assert sum(parts.values()) == pytest.approx(0.06, rel=0.03)
    assert tables.stages(largest, "tape") is None, "its first call was not measured"


def test_what_was_told_apart_comes_to_the_whole(tmp_path: Path) -> None:
    one = made.case("p", 1, "graph", "auto", 1.0, stages={"trace": 1.0, "plan": 2.0}, first_call=6.0)
    results = read(made.write(tmp_path / "a.json", [one])).results
    assert tables.stages(results, "graph") == pytest.approx((1, 2, 2, 1), rel=0.03)
    short = made.case("p", 1, "graph", "auto", 1.0, stages={"trace": 1.0, "plan": 2.0}, first_call=2.5)
    found = tables.stages(read(made.write(tmp_path / "b.json", [short])).results, "graph")
    assert found == pytest.approx((0.5, 1, 0, 1), abs=0.03), "the whole is what was measured"


def test_verdicts_count(run: Run) -> None:
    tape, peers, planner = tables.verdicts(run.results)
    assert "1.20 ×" in tape and "on 3 of them" in tape
    assert "on 3 of 3" in peers and "in 0 of 3" in planner


def test_the_csv_holds_every_result(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(tables.as_csv(run.results))))
    assert len(rows) == len(run.results)
    first = rows[0]
    assert (first["problem"], first["size"], first["mode"], first["stage"], first["rounds"]) == (
        *("band", "100", "graph", "warm", "20"),
    )
    assert float(first["median"]) == run.results[0].median


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (duration(1.5), "1.5 s"),
        (duration(0.99999), "1 s"),
        (duration(0.01234), "12.3 ms"),
        (duration(2e-9), "2 ns"),
        (duration(None), "–"),
        (amount(1_234_567), "1.23 MB"),
        (amount(12), "12 B"),
        (times(12.345), "12.3 ×"),
        (times(1.0), "1.00 ×"),
        (times(0.001234), "0.00123 ×"),
        (short(1e-6), "10⁻⁶"),
        (short(50_000), "5·10⁴"),
        (short(0.2), "0.2"),
    ],
)
def test_numbers_have_units(shown: str, expected: str) -> None:
    assert shown == expected


def test_columns_that_say_nothing_are_left_out() -> None:
    assert filled([("a", "b", "c", "d"), ("–", "–", "–", "1")]) == [["a", "b", "d"], ["–", "–", "1"]]


def test_markdown_escapes_bars() -> None:
    assert as_markdown([("a", "b"), ("x|y", "1")], words=1).splitlines() == [
        "| a | b |",
        "| --- | --: |",
        "| x\\|y | 1 |",
    ]


# ---- charts ----------------------------------------------------------------------------------------------------------


def test_every_mode_has_a_look_of_its_own() -> None:
    looks = styles(["graph", "tape", *map(str, range(42))])
    assert len(set(looks.values())) == 44
    svg = Svg(10, 10, "marks")
    for style in looks.values():
        svg.mark(5, 5, style)
    ET.fromstring(str(svg))
    assert {s.marker for s in looks.values()} <= {*MARKERS, "disc", "ring"}
    assert styles(["tape"])["tape"] == looks["tape"], "ours look the same on every page"


@pytest.mark.parametrize("values", [[1.0], [0.9, 1.1], [3e-7, 2.0], [1.0, 1e9]])
def test_a_logarithmic_scale_holds_its_values_between_ticks(values: list[float]) -> None:
    scale = log_scale(values, 0, 100)
    assert all(0 < scale(v) < 100 for v in values)
    assert len(scale.ticks()) >= 2


def test_charts_do_not_draw_outside(run: Run) -> None:
    for svg in re.findall(r"<svg.*?</svg>", suite.as_page(run), re.DOTALL):
        root = ET.fromstring(svg)
        width, height = float(root.attrib["width"]), float(root.attrib["height"])
        for e in root.iter():
            if e.tag.endswith("text"):
                x, length = float(e.attrib["x"]), 6.5 * len(e.text or "")
                start = {"end": x - length, "middle": x - length / 2, "start": x}[e.attrib["text-anchor"]]
                turned = "transform" in e.attrib
                assert turned or (start >= -1 and start + length <= width + 1), e.text
                assert 0 < float(e.attrib["y"]) < height


# ---- the page --------------------------------------------------------------------------------------------------------


def test_the_report_writes_three_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = made.write(tmp_path / "suite.json", made.suite())
    assert main(["report", str(file), "-o", str(tmp_path / "out")]) == 0
    assert "suite.html, .md and .csv" in capsys.readouterr().out
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"suite.html", "suite.md", "suite.csv"}


def test_the_page_shows_everything_and_needs_nothing(run: Run) -> None:
    html = suite.as_page(run)
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "") and "<script" not in html
    for heading in (
        "All problems",
        "band",
        "bare &amp; small",
        "Where the time goes",
        "Beside the Jacobians",
        "The machine",
    ):
        assert f"<h2>{heading}</h2>" in html
    assert "Time against n" in html and "Peak memory against n" in html and "∝ n^1.00" in html
    assert "0123456789ab" in html and "A &lt; B" in html


def test_the_markdown_has_the_tables(run: Run) -> None:
    text = suite.as_text_page(run)
    assert "| band | 1000 | 1 ms | 1.2 ms | 1.20 × | jax jacfwd | 4 ms | 0.25 × |" in text
    assert text.count("\n## ") == 2 + 4 + 1


def test_an_empty_file_gives_a_page() -> None:
    empty = Run(Path("x"), [], {}, {}, "")
    assert "<h2>" not in suite.as_page(empty) and suite.as_text_page(empty)


# ---- the README ------------------------------------------------------------------------------------------------------


def test_the_section_says_only_what_was_measured(run: Run) -> None:
    text = document.section(run)
    assert text.startswith(document.TITLE)
    assert "In TensorFlow, the tape takes 17.5 × the time of the graph (median of 2), 25 × at worst" in text
    assert "Here it takes 1.60 × the time of the graph on the same problems, 2.00 × at worst." in text
    assert "tape 5 µs, graph 2.5 µs; TensorFlow's tape 50 µs, its graph 2 µs" in text
    assert "| band 10000 |" in text and "bare" not in text
    assert "| band | 1000 | 1 ms | 1.2 ms | jax jacfwd | 4 ms | 0.25 × |" in text


def test_without_tensorflow_the_section_is_about_us(run: Run) -> None:
    ours = Run(run.path, [r for r in run.results if r.mode in ("graph", "tape")], run.machine, run.commit, run.when)
    text = document.section(ours)
    assert "TensorFlow" not in text.partition("generated by")[0].replace(document.TITLE, "")
    assert "| band 10000 |" in text and "TF tape" not in text


BEGIN, END = "<!-- measured: begin (python -m bench document) -->", "<!-- measured: end -->"


def test_the_section_is_replaced_between_the_markers(tmp_path: Path) -> None:
    file = made.write(tmp_path / "suite.json", made.suite())
    target = tmp_path / "README.md"
    target.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    arguments = ["document", str(file), "--file", str(target)]
    assert main(arguments) == 0
    once = target.read_text(encoding="utf-8")
    assert once.startswith(f"before\n{BEGIN}\n{document.TITLE}") and once.endswith(f"{END}\nafter\n")
    assert "\nold\n" not in once
    assert main(arguments) == 0 and target.read_text(encoding="utf-8") == once
    target.write_text("nothing here", encoding="utf-8")
    assert main(arguments) == 2 and target.read_text(encoding="utf-8") == "nothing here"
