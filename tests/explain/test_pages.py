"""The list of reasons is closed: each has a page that reads well and whose programs print what they say."""

import re
from pathlib import Path

import pytest

import graph_api
from dualgrad.migrate.command import main
from engine.explain.reasons import PAGES, REASONS
from tests.house.test_readme import expected

HOME = Path(__file__).resolve().parents[2]
PROGRAMS = [
    pytest.param(program, id=f"{code}-{i}")
    for code, reason in REASONS.items()
    for i, program in enumerate(re.findall(r"^```python\n(.*?)^```", reason.page, re.M | re.S))
]


def test_each_reason_has_a_page_and_each_page_a_reason() -> None:
    assert {path.stem for path in PAGES.glob("*")} == set(REASONS)


@pytest.mark.parametrize("code", REASONS)
def test_a_page_is_headed_by_its_code_and_has_a_program(code: str) -> None:
    page = REASONS[code].page
    assert page.startswith(f"# {code}\n\n")
    assert "```python" in page
    # but for pages whose program cannot show it by itself
    assert f"# {code}" in page[3:] or f"{code} " in page, page
    assert max(map(len, page.splitlines())) <= 132


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_programs_print_what_they_say(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    with graph_api.Graph().as_default():
        exec(compile(program, "a page", "exec"), {"__name__": "page"})
    assert capsys.readouterr().out.splitlines() == expected(program)


def test_the_document_lists_all_reasons() -> None:
    listed = re.findall(r"^\| \[`([a-z-]+)`\]", (HOME / "docs" / "explain.md").read_text(encoding="utf-8"), re.M)
    assert listed == list(REASONS)


def test_the_command_prints_a_page_or_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "stopped"]) == 0
    assert capsys.readouterr().out == REASONS["stopped"].page
    assert main(["explain"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(REASONS)
    assert main(["explain", "stoped"]) == 2
    assert "is it stopped?" in capsys.readouterr().err
