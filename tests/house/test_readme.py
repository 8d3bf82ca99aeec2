"""The programs in the README and in the documents run and print what their comments say."""

import linecache
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import numpy as np
import pytest

from graph_api.graphs.graph import Graph
from tests.migrate.in_process import dualgrad
from tests.processes import printed

HOME = Path(__file__).resolve().parents[2]
DOCUMENTS = (HOME / "README.md", *sorted((HOME / "docs").rglob("*.md")))
PROGRAMS = [
    pytest.param(program, id=f"{path.stem}-{i}")
    for path in DOCUMENTS
    for i, program in enumerate(re.findall(r"^```python\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S))
]
assert len(PROGRAMS) >= 60


def expected(program: str) -> list[str]:
    """What its comments say: one behind a ``print``, or those on the lines below one; ``...`` stands for more lines."""
    return re.findall(r"^(?: *print\(.*\) +)?# (.*)$", program, re.MULTILINE)


def test_the_readme_is_short() -> None:
    assert len((HOME / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


COLUMNS = [
    pytest.param(*re.findall(r"^```python\n(.*?)^```", row, re.M | re.S), id=f"{path.stem}-{i}")
    for path in DOCUMENTS
    for i, row in enumerate(re.findall(r"<tr><td>.*?</td></tr>", path.read_text(encoding="utf-8"), re.M | re.S))
]


@pytest.mark.parametrize(("graph", "tape"), COLUMNS)
def test_both_columns_are_equal_to_the_bit(graph: str, tape: str) -> None:
    values: list[list[tuple[object, ...]]] = []
    for program in (graph, tape):
        printed: list[object] = []
        exec(
            compile(program, "a document", "exec"),
            {"__name__": "document", "print": lambda *x, to=printed: to.extend(x)},
        )
        arrays = [np.asarray(value) for value in printed]
        values.append([(array.dtype, array.shape, array.tobytes()) for array in arrays])
    assert values[0] == values[1] != []


GENERATED = {"benchmarks.md"}
"""Documents that are made from the code, or by commands, whose sentences are not counted."""


def sentences(text: str) -> list[str]:
    """The sentences of a document, without programs, tables and headings."""
    text = re.sub(r"^ *```.*?^ *```|<!-- measured: begin.*?<!-- measured: end -->", "", text, flags=re.M | re.S)
    text = re.sub(r"^(\||<|#).*$", "\n", text, flags=re.M)
    text = re.sub(r"^\s*(?:[-:*]|\d+\.)\s", "\n\n", text, flags=re.M)
    # names one behind the other are a list, no sentence
    text = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`(?:\s+`[^`]*`)*", "code", text))
    return [s for paragraph in re.split(r"\n\s*\n", text) for s in re.split(r"(?<=[.?!:])\s+", paragraph)]


@pytest.mark.parametrize("path", [p for p in DOCUMENTS if p.name not in GENERATED], ids=lambda path: path.name)
def test_sentences_have_at_most_thirty_words(path: Path) -> None:
    found = [" ".join(s.split()) for s in sentences(path.read_text(encoding="utf-8"))]
    assert [s for s in found if len(re.findall(r"[\w'’-]+", s)) > 30] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


PLACES = ("engine", "dualgrad", "graph_api", "tape_api", "optim", "bench", "tests", "docs")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_files_that_are_named_are_there(path: Path) -> None:
    named = re.findall(rf"`((?:{'|'.join(PLACES)})/[\w./-]*)`", path.read_text(encoding="utf-8"))
    assert [name for name in named if not (HOME / name).exists()] == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_prints_what_it_says(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if 'if __name__ == "__main__":' in program:
        # workers import it
        (tmp_path / "document.py").write_text(program, encoding="utf-8")
        told = printed("-u", "document.py", cwd=tmp_path).splitlines()
    else:
        # as if it were a file: functions are rewritten from their source
        entry = len(program), None, program.splitlines(keepends=True), "a document"
        monkeypatch.setitem(linecache.cache, "a document", entry)
        with Graph().as_default():
            exec(compile(program, "a document", "exec"), {"__name__": "document"})
        told = capsys.readouterr().out.splitlines()
    said = expected(program)
    if said[-1:] == ["..."]:
        said.pop()
        told = told[: len(said)]
    assert told == said


def test_the_commands_of_the_readme_say_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("libcst")
    text = (HOME / "README.md").read_text(encoding="utf-8")
    program, session = (re.search(rf"^```{kind}\n(.*?)^```", text, re.M | re.S) for kind in ("py", "console"))
    assert program is not None and session is not None
    (tmp_path / "fit.py").write_text(program[1], encoding="utf-8")
    commands = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", session[1], re.M)
    assert len(commands) >= 5
    for command, said in commands:
        name, *rest = shlex.split(command)
        if name == "dualgrad":
            assert dualgrad(tmp_path, *rest) == 0
            told = capsys.readouterr().out
        else:
            # grep -A2 'def step' fit_tape.py
            told = "".join((tmp_path / rest[-1]).read_text(encoding="utf-8").partition(rest[-2])[1:])
        assert told.startswith(said.removesuffix("...\n")), (command, told)


# ---- what is installed -----------------------------------------------------------------------------------------------


def test_every_extra_that_is_named_is_there() -> None:
    extras = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    command = ["git", "grep", "-lI", "", "--", "*.py", "*.md", "*.toml", "Makefile"]
    files = subprocess.run(command, cwd=HOME, capture_output=True, text=True, check=False)
    if files.returncode:
        pytest.skip("not a git checkout")
    named: dict[str, str] = {}
    for file in files.stdout.split():
        text = (HOME / file).read_text(encoding="utf-8")
        for extra in re.findall(r"(?:dualgrad|'\.)\[([a-z0-9,]+)\]", text):
            named.update(dict.fromkeys(extra.split(","), file))
        named.update(dict.fromkeys(re.findall(r"\bextra `+(\w+)`", text), file))
    assert {"cluster", "images", "migrate", "report"} <= set(named)
    assert {extra: file for extra, file in named.items() if extra not in extras} == {}
