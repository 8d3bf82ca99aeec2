"""The benchmark of growth, at small sizes."""

import re
from pathlib import Path
from typing import Any

import pytest

from bench import growth
from bench.__main__ import main


def test_each_size_is_measured_and_a_law_fitted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: Any) -> None:
    monkeypatch.setitem(growth.ROWS, "network", (*growth.ROWS["network"][:3], ("tape_api", "not there")))
    assert main(["growth", "network", "--most", "1000", "-o", str(tmp_path)]) == 0
    out, progress = capfd.readouterr()
    assert re.findall(r"network, (\w+), ([\d,]+): \[\[", progress) == [("tape_api", "100"), ("tape_api", "1,000")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in out.splitlines()[2:5]]
    assert [row[1] for row in rows] == ["first call", "second call", "later call"]
    assert all(re.fullmatch(r"[\d.,]+ .?s n\^-?[\d.]+", row[5]) for row in rows)
    assert (tmp_path / "growth.html").read_text("utf-8").count("<svg") == 6
    assert main(["growth", "nothing"]) == 2 and "got nothing" in capfd.readouterr().err
    monkeypatch.setattr(growth, "_PATIENCE", 0.01)
    assert growth._of_row("network", 100) == {} and "given up after 0.01 seconds" in capfd.readouterr().err


@pytest.mark.parametrize("row", growth.ROWS)
def test_what_is_measured_runs(row: str, tmp_path: Path) -> None:
    program, _, _, libraries = growth.ROWS[row]
    steps = growth._measured(program, libraries[0], 100)
    assert steps and all(seconds >= 0.0 <= extra for _, seconds, extra in steps)
