"""The command line itself: its help, and where it writes to."""

from pathlib import Path
from unittest import mock

import pytest

from dualgrad.migrate.command import COMMANDS, main
from tests.migrate.in_process import dualgrad

PROGRAM = """
import sys
import tensorflow as tf
x = tf.placeholder(tf.float32, name="x")
with tf.Session() as sess:
    print(sys.argv[1:], sess.run(x * x, {x: 3.0}))
"""


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_one_screen(command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([*filter(None, [command]), "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("words", "own"),
    [
        (["-o", "R", "p.py", "-o", "own"], ["-o", "own"]),
        (["p.py", "-o", "R"], []),
        (["p.py", "1", "-o", "R", "-v"], ["1", "-v"]),
        (["p.py", "--output=R", "-o", "own"], ["-o", "own"]),
        (["p.py", "--output", "R", "--", "-o", "own"], ["--", "-o", "own"]),
    ],
)
def test_where_to_write_stands_before_the_program_or_behind_it(
    words: list[str], own: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.py").write_text(PROGRAM)
    assert dualgrad(tmp_path, "record", *words) == 0
    assert capsys.readouterr().out == f"{own} 9.0\n"
    assert (tmp_path / "R" / "printed.txt").read_text() == f"{own} 9.0\n"


@pytest.mark.parametrize("command", ["record", "convert"])
@pytest.mark.parametrize("further", [[], ["-o"]])
def test_nowhere_to_write_is_said(
    command: str, further: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.py").write_text(PROGRAM)
    assert dualgrad(tmp_path, command, "p.py", *further) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"dualgrad {command}: say where to write with -o ")
    assert [p.name for p in tmp_path.iterdir()] == ["p.py"]


def test_convert_says_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("libcst")
    (tmp_path / "p.py").write_text(PROGRAM)
    assert dualgrad(tmp_path, "convert", "p.py", "-o", "out.py") == 0
    said = "dualgrad convert: wrote out.py: the whole program, with 1 function; and beside it out.map.json\n"
    assert capsys.readouterr().err == said


def test_an_interrupt_is_no_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("dualgrad.migrate.explain.main", mock.Mock(side_effect=KeyboardInterrupt))
    assert main(["explain", "integer"]) == 130
    assert capsys.readouterr().err == "\ndualgrad explain: interrupted\n"
