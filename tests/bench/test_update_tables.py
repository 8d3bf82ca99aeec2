"""The section of the report on aggregation, gating and updates: from made-up files, and from tiny measurements."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench import suite, test_updates, update_tables, updates
from bench.__main__ import main
from bench.results import Run, read
from tests.bench import made


def facts(table: str, mode: str, method: str, seconds: float, size: int | None = None, **extra: Any) -> dict[str, Any]:
    known = {"table": table, "mode": mode, "method": method, "size": size, **extra}
    return made.entry(f"test_{table}[{mode}-{method}-{size}]", made.rounds(seconds), f"{table} {size}", **known)


def made_up() -> list[dict[str, Any]]:
    tree, mega = "EXPERIMENTAL_TREE", 10**6
    return [
        facts("aggregation", "tape", tree, 3e-3, 10, error=1.84, peak_bytes=2.8e5, checksum=7),
        facts("aggregation", "graph", tree, 1e-3, 10, error=1.84, peak_bytes=4e5, checksum=7),
        facts("aggregation", "graph", tree, 1e-4, 2, error=0.5, peak_bytes=2e5, checksum=1),
        facts("aggregation", "tape", tree, 2e-4, 2, error=0.5, peak_bytes=2e5, checksum=2),
        facts("gating", "graph", "GATE_OP", 4e-3, peak_bytes=1300, variable_bytes=1000),
        facts("large update", "by hand", "Adam", 2e-3, mega),
        facts("large update", "tape", "Adam", 3e-3, mega, peak_bytes=3e5),
        facts("update of many", "tape", "Adam", 5e-3, 10_000),
        facts("update of many", "graph", "SGD", 6e-3, 10_000),
    ]


def written(tmp_path: Path, entries: list[dict[str, Any]]) -> Run:
    return read(made.write(tmp_path / "updates.json", entries))


def test_each_table_has_its_rows(tmp_path: Path) -> None:
    added, gated, updated = update_tables.tables(written(tmp_path, made_up()).results)
    assert [row[:3] + row[4:] for row in added[3]] == [
        ("2", "EXPERIMENTAL_TREE", "graph", "200 kB", "0.5", "same"),
        ("2", "EXPERIMENTAL_TREE", "tape", "200 kB", "0.5", "other"),
        ("10", "EXPERIMENTAL_TREE", "tape", "280 kB", "1.8", "same"),
        ("10", "EXPERIMENTAL_TREE", "graph", "400 kB", "1.8", "same"),
    ]
    assert [(row[0], row[1], row[3]) for row in gated[3]] == [("GATE_OP", "graph", "1.30 ×")]
    adam, sgd = [dict(zip(update_tables.UPDATE_HEAD, row, strict=True)) for row in updated[3]]
    assert (adam["mode"], adam["parameters"], adam["update / by hand"]) == ("tape", "1,000,000", "1.50 ×")
    assert (adam["small variables"], adam["peak memory"]) == ("10,000", "300 kB")
    assert (sgd["optimizer"], sgd["parameters"], sgd["by hand"], sgd["small variables"]) == ("SGD", "–", "–", "10,000")


def test_what_is_in_the_section_is_not_told_twice(tmp_path: Path) -> None:
    run = written(tmp_path, [*made_up(), made.entry("test_more", made.rounds(1.0), "more")])
    html, text = suite.as_page(run), suite.as_text_page(run)
    assert html.count(f"<h2>{update_tables.HEADING}</h2>") == 1
    assert "more" in html and html.count("GATE_OP") == 1 and text.count("GATE_OP") == 1


def test_without_such_results_there_is_no_section(tmp_path: Path) -> None:
    odd = made.entry("test_odd", made.rounds(1.0), "odd", table="aggregation", size="some")
    unknown = made.entry("test_unknown", made.rounds(1.0), "unknown", table=["gating"])
    run = written(tmp_path, [odd, unknown])
    assert update_tables.tables(run.results) == []
    assert update_tables.HEADING not in suite.as_page(run), "nor does a foreign file break the page"
    assert "unknown" in suite.as_page(run)


class Once:
    """Takes the place of pytest-benchmark's fixture: one call, and made-up times."""

    def __init__(self) -> None:
        self.extra_info: dict[str, Any] = {}

    def __call__(self, call: Callable[[], Any]) -> Any:
        return call()


def test_the_benchmarks_fill_the_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("LENGTH", 50), ("LAYERS", 2), ("LARGE", 300_000), ("MANY", 20)):
        monkeypatch.setattr(updates, name, value)
    request = SimpleNamespace(config=SimpleNamespace(option=SimpleNamespace(full=True)))
    entries: list[dict[str, Any]] = []

    def keep(test: Callable[..., None], *arguments: Any) -> None:
        benchmark = Once()
        test(benchmark, *arguments)
        entries.append(made.entry(f"{test.__name__}{arguments[-2:]}", made.rounds(1e-3), **benchmark.extra_info))

    for mode in updates.MODES:
        for method in updates.METHODS:
            keep(test_updates.test_aggregation, 3, mode, method)
        keep(test_updates.test_gating, mode, "GATE_NONE")
        keep(test_updates.test_update_of_many_variables, request, mode, "SGD")
    for library in (update_tables.BY_HAND, *updates.MODES):
        keep(test_updates.test_large_update, request, library, "SGD")
    made.write(tmp_path / "tiny.json", entries)
    assert main(["report", str(tmp_path / "tiny.json"), "-o", str(tmp_path)]) == 0
    html = (tmp_path / "tiny.html").read_text(encoding="utf-8")
    assert all(part in html for part in (update_tables.HEADING, "Aggregation", "Gating", "Updates"))
    added, gated, updated = update_tables.tables(read(tmp_path / "tiny.json").results)
    assert len(added[3]) == 6 and {row[-1] for row in added[3]} == {"same"}, "both modes have the same bits"
    assert [row[:2] for row in gated[3]] == [("GATE_NONE", "graph"), ("GATE_NONE", "tape")]
    assert [row[:3] for row in updated[3]] == [("SGD", "graph", "300,000"), ("SGD", "tape", "300,000")]
    assert all("–" not in row for _, _, _, rows in (added, gated, updated) for row in rows)
    text = (tmp_path / "tiny.md").read_text(encoding="utf-8")
    assert text.count("| GATE_NONE | ") == 2
