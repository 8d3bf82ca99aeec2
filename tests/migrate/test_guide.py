"""docs/graphs-to-tapes.md: its commands are run as they stand there, and do what it says."""

import doctest
import re
from pathlib import Path

import pytest

from tests.processes import HOME, printed

pytest.importorskip("libcst")
TEXT = (HOME / "docs" / "graphs-to-tapes.md").read_text()
MAIN = 'if __name__ == "__main__":\n'


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def test_the_guide(tmp_path: Path) -> None:
    program, converted = blocks("py")
    (report,) = blocks("text")
    (tmp_path / "circle.py").write_text(program)
    same = doctest.OutputChecker().check_output
    said = ""
    for block in blocks("console"):
        command, _, expected = block.removeprefix("$ dualgrad ").partition("\n")
        said = printed("-m", "dualgrad", *command.split(), cwd=tmp_path)
        assert same(expected, said, doctest.ELLIPSIS), (command, said)
    assert re.sub(r"\s+", " ", report.strip()) in re.sub(r"\s+", " ", said)
    assert (tmp_path / "report.html").is_file()
    # what `convert` wrote: the functions have these names, and the program around them reads like this
    found = (tmp_path / "circle_tape.py").read_text()
    assert found.partition(MAIN)[2] == converted.partition(MAIN)[2] != ""
    assert re.findall(r"^def .*", found, re.MULTILINE) == re.findall(r"^def .*", converted, re.MULTILINE)
