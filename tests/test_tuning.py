"""The record of tuning constants, and what is kept of a calibration."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest

from bench.__main__ import main
from bench.run import CHOOSES_KERNELS
from engine.runtime import tuning
from engine.runtime.tuning import Costs, Tuning

HOME = Path(__file__).resolve().parent.parent


def test_every_constant_says_its_unit_and_its_source() -> None:
    constants = [*fields(Costs), *(f for f in fields(Tuning) if f.name not in tuning.EXECUTORS)]
    assert all(set(f.metadata) == {"unit", "what", "source"} and all(f.metadata.values()) for f in constants)
    assert all(f.default is not None and f.default > 0 for f in constants)


def test_the_page_shows_the_record() -> None:
    assert tuning.table() in (HOME / "docs" / "tuning-constants.md").read_text(encoding="utf-8")


def test_every_constant_is_used_somewhere() -> None:
    files = [p for folder in ("engine", "optim", "dualgrad") for p in (HOME / folder).rglob("*.py")]
    sources = "\n".join(p.read_text(encoding="utf-8") for p in files)
    unused = [f.name for f in fields(Tuning) if not re.search(rf"TUNING\.{f.name}\b", sources)]
    assert unused == []


def test_what_was_kept_is_used_by_later_processes(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "tuning.json"
    slow = Costs(call=1e-3)
    tuning.keep(path, {"native": Costs(), "python": slow})
    assert tuning.kept(path) == replace(Tuning(), python=slow)
    program = "from engine.jacobian.planning import cost; print(cost.CALL)"
    for environment, call in (
        ({"DUALGRAD_NATIVE": "0"}, "0.001"),
        ({"DUALGRAD_NATIVE": "0", tuning.VARIABLE: "0"}, str(Costs().call)),
    ):
        variables = {tuning.VARIABLE: str(path), "PYTHONPATH": str(HOME), **environment}
        done = subprocess.run(
            [sys.executable, "-c", program], env=variables, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == call


def test_machines_have_costs_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tuning.json"
    tuning.keep(path, {"python": Costs(call=1e-3)})
    monkeypatch.setattr(tuning, "machine", lambda: "another")
    assert tuning.kept(path) == Tuning()
    tuning.keep(path, {"python": Costs(call=1e-4)})
    monkeypatch.undo()
    assert tuning.kept(path).python.call == 1e-3


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"KEY": 3}', '{"KEY": {"native": {"call": "fast"}}}', '{"KEY": {"python": {"call": -1.0}}}'],
)
def test_a_file_that_holds_no_costs_is_told(text: str, tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    path.write_text(text.replace("KEY", tuning.machine()))
    with pytest.warns(tuning.TuningWarning, match="defaults are used"):
        assert tuning.kept(path) == Tuning()


def test_where_it_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tuning.VARIABLE, "0")
    assert tuning.file() is None
    monkeypatch.setenv(tuning.VARIABLE, "/there/costs.json")
    assert tuning.file() == Path("/there/costs.json")
    monkeypatch.delenv(tuning.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert tuning.file() == Path("/caches/dualgrad/tuning.json")


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("threadpoolctl")
    path = tmp_path / "tuning.json"
    for name in CHOOSES_KERNELS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(tuning.VARIABLE, str(path))
    assert main(["calibrate", "--seconds", "0", "--dry-run"]) == 0 and not path.exists()
    assert main(["calibrate", "--seconds", "0"]) == 0
    kept = json.loads(path.read_text())[tuning.machine()]
    assert set(kept["python"]) == {f.name for f in fields(Costs)} and tuning.kept(path).python == Costs(
        **kept["python"]
    )
    # a call in Python takes longer than one element of many
    assert kept["python"]["call"] > 10 * kept["python"]["element"]
    assert "a kernel call in a sweep" in capsys.readouterr().out
    monkeypatch.setenv(tuning.VARIABLE, "0")
    assert main(["calibrate", "--seconds", "0"]) == 2
    monkeypatch.setenv(CHOOSES_KERNELS[0], "Haswell")
    assert main(["calibrate", "--seconds", "0", "--dry-run"]) == 2
