"""Damaged files of every format that is read say so, soon, in small memory."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.runtime.errors import DataLossError
from tests.fuzz import files
from tests.fuzz.formats import FORMATS, Format


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_files_give_errors_that_name_them(name: str) -> None:
    tally = files.fuzz(name, 0, range(40))
    assert tally.failures == []
    assert sum(tally.outcomes.values()) == 40


@pytest.mark.parametrize("name", FORMATS)
def test_whole_files_are_read(name: str, tmp_path: Path) -> None:
    form = FORMATS[name]
    assert files.outcome(name, form.wrap(form.make()), tmp_path) == ("read", "")


def _fails(folder: Path) -> None:
    raise KeyError("x")


def _says_nothing_of_the_file(folder: Path) -> None:
    raise DataLossError("it is damaged")


def _hangs(folder: Path) -> None:
    time.sleep(60)


def _takes_much(folder: Path) -> None:
    bytearray(1 << 29)


@pytest.mark.parametrize(
    ("read", "kind"),
    [(_fails, "foreign"), (_says_nothing_of_the_file, "foreign"), (_hangs, "hang"), (_takes_much, "foreign")],
)
def test_what_is_wrong_with_a_reader_is_noticed(
    read: Callable[[Path], Any], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FORMATS, "bad", Format(lambda: {"a": b"abc"}, read))
    tally = files.fuzz("bad", 0, range(2), seconds=0.5, memory=1 << 28)
    assert dict(tally.outcomes) == {kind: 2}
    assert len(tally.failures) == 2
