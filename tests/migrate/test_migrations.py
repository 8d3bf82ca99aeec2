"""docs/migrations-in-full.md says what the commands give now, and docs/migrations.md names each program."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("libcst")

from tests.migrations import HOME, PROGRAMS, TITLES, section, sections, source


def test_every_program_is_on_the_page_and_names_its_source() -> None:
    assert [p.stem for p in PROGRAMS] == sorted(TITLES)
    assert len(PROGRAMS) >= 10
    assert sorted(sections()) == sorted(TITLES.values())
    assert len({source(p)[:2] for p in PROGRAMS}) == len(PROGRAMS)
    written = (HOME / "docs" / "migrations.md").read_text()
    assert [title for title in TITLES.values() if f"| [{title}](migrations-in-full.md#" not in written] == []


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_the_page_is_current(program: Path) -> None:
    now = sections()[TITLES[program.stem]]
    assert now == section(program).rstrip(), "write it anew: make migrations"
    # the loop is kept, and nothing differs
    assert "Its functions alone" not in now
    assert "EQUAL" in now and "DIFFERENT" not in now
