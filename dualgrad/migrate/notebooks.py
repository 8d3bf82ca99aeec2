"""Notebooks as programs, and converted programs as notebooks again.

A notebook is a file of strangers: nothing of it is taken but the text of its cells. As a program, each cell, and each
statement at its top, begins with a comment (``# %% cell 3``), which goes where the statement goes; by these comments a
converted program is cut into cells again, and text cells take their places between them. What is no Python
(``%matplotlib inline``, ``!pip``) becomes a comment. Outputs are dropped.
"""

from __future__ import annotations

import ast
import atexit
import io
import json
import re
import sys
import tempfile
import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SUFFIX = ".ipynb"
_MARK = re.compile(r"^[ ]*# %% cell (\d+)$")
_LARGEST = 2**26
"""Bytes of a notebook that is read."""
_MAIN = 'if __name__ == "__main__":'


@dataclass(frozen=True)
class Cell:
    """A cell.

    Attributes
    ----------
    kind : {"code", "markdown", "raw"}
    text : str
    """

    kind: str
    text: str


def is_notebook(path: str | Path) -> bool:
    """Whether a file is one, by its name."""
    return Path(path).suffix == SUFFIX


def read_cells(path: str | Path) -> list[Cell]:
    """The cells of a notebook.

    Raises
    ------
    ValueError
        If the file is no notebook of format 4 in Python; the message says why.
    """
    path = Path(path)
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"{path.name} is larger than {_LARGEST // 2**20} MiB: clear its outputs first")
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise ValueError(f"{path.name} is no notebook: it is no JSON") from None
    cells = content.get("cells") if isinstance(content, dict) else None
    if not isinstance(cells, list) or content.get("nbformat") != 4:
        raise ValueError(f"{path.name} is no notebook of format 4: open it once in a new Jupyter and save it")
    return [_cell(cell, number, path) for number, cell in enumerate(cells, 1)]


def _cell(cell: Any, number: int, path: Path) -> Cell:
    kind, source = (cell.get("cell_type"), cell.get("source")) if isinstance(cell, dict) else (None, None)
    lines: list[Any] = source if isinstance(source, list) else [source]
    if kind not in ("code", "markdown", "raw") or not all(isinstance(line, str) for line in lines):
        raise ValueError(f"{path.name}: cell {number} has no text")
    return Cell(str(kind), "".join(lines))


def program_text(cells: list[Cell]) -> str:
    """The program that a notebook is."""
    return "\n".join(_marked(number, _python(c.text)) for number, c in enumerate(cells, 1) if c.kind == "code")


def _marked(number: int, text: str) -> str:
    """The text of a cell with its comment above each statement."""
    mark, lines = f"# %% cell {number}", text.split("\n")
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        body = []  # who reads the program says what is wrong with it
    starts = {min([s.lineno, *(d.lineno for d in getattr(s, "decorator_list", ()))]) for s in body} - {1}
    for line in sorted(starts, reverse=True):
        lines.insert(line - 1, mark)
    return "\n".join([mark, *lines, ""])


def _python(text: str) -> str:
    """The text of a cell without what only notebooks know."""
    if re.match(r"\s*%%(?!time|timeit|capture)", text):
        return "\n".join(f"# {line}" for line in text.splitlines())
    return re.sub(r"(?m)^([ ]*)([%!].*)$", lambda m: f"{m[1]}{'pass  ' if m[1] else ''}# {m[2]}", text).rstrip()


def as_program(path: str | Path, folder: str | Path) -> Path:
    """Write the program that a notebook is into a folder; give its path."""
    program = Path(folder) / f"{Path(path).stem}.py"
    program.write_text(program_text(read_cells(path)), encoding="utf-8")
    return program


def kept_program(path: str | Path) -> Path:
    """The same in a folder that is there until Python ends; the notebook's own folder is one to import from."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    sys.path.insert(1, str(Path(path).parent.resolve()))
    return as_program(path, folder.name)


def notebook_text(text: str, cells: list[Cell], arrays: str) -> str:
    """A converted program as a notebook.

    Parameters
    ----------
    text : str
        The program.
    cells : list of Cell
        Of the original.
    arrays : str
        The name of the file of its arrays.
    """
    text = re.sub(r'np\.load\(__file__\.removesuffix\("\.py"\) \+ "\.npz"\)', f"np.load({arrays!r})", text)
    head, _, main = text.partition(f"\n{_MAIN}\n")
    head = "\n".join(line for line in head.split("\n") if not _MARK.match(line))
    parts: dict[int, list[str]] = {0: []}
    at = 0
    for line in _dedented(main):
        if mark := _MARK.match(line):
            at = int(mark[1])
        else:
            parts.setdefault(at, []).append(line)
    made = [_as_json(Cell("code", head.strip("\n")))]
    made += [_as_json(Cell("code", "\n".join(parts[0]).strip("\n")))] if any(parts[0]) else []
    for number, cell in enumerate(cells, 1):
        if cell.kind != "code":
            made.append(_as_json(cell))
        elif any(parts.get(number, ())):
            made.append(_as_json(Cell("code", "\n".join(parts[number]).strip("\n"))))
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    content = {"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 4}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _as_json(cell: Cell) -> dict[str, Any]:
    only: dict[str, Any] = {"execution_count": None, "outputs": []} if cell.kind == "code" else {}
    return {"cell_type": cell.kind, "metadata": {}, "source": cell.text.splitlines(keepends=True), **only}


def _dedented(block: str) -> list[str]:
    """The lines of an indented block, moved to the left; what stands in strings over several lines stays."""
    lines = block.split("\n")
    inside: set[int] = set()
    wrapped = f"if True:\n{block}\n"
    for token in tokenize.generate_tokens(io.StringIO(wrapped).readline):
        if tokenize.tok_name[token.type] in ("STRING", "FSTRING_MIDDLE"):
            inside |= set(range(token.start[0] + 1, token.end[0] + 1))
    return [line if n in inside else line.removeprefix("    ") for n, line in enumerate(lines, 2)]
