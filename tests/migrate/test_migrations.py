"""docs/migrations has what the commands give now, and docs/migrations.md names each program."""

from pathlib import Path

import pytest

pytest.importorskip("libcst")

from tests.migrations import PROGRAMS, converted, said, tape


def test_every_program_is_on_the_page() -> None:
    written = (PROGRAMS[0].parents[1] / "migrations.md").read_text()
    assert len(PROGRAMS) >= 10
    assert [p.stem for p in PROGRAMS if f"(migrations/{p.name}) | [" not in written] == []


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_what_is_kept_is_current_and_equal(program: Path, tmp_path: Path) -> None:
    made = converted(program, tmp_path)
    assert made.read_text() == tape(program).read_text(), "write it anew: make migrations"
    report = said(tmp_path, "compare", "record", "tape.py")
    assert "\nEQUAL" in report and "DIFFERENT" not in report and "Its functions alone" not in made.read_text()
