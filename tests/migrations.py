"""Whole migrations: docs/migrations has programs, and below `tape` what ``dualgrad convert`` makes of each of them.

``make migrations`` writes the latter anew. The programs are our own, in the style of published ones, which their first
lines name.
"""

import contextlib
import io
import tempfile
from pathlib import Path

from tests.migrate.in_process import dualgrad

PROGRAMS = sorted((Path(__file__).resolve().parents[1] / "docs" / "migrations").glob("*.py"))


def tape(program: Path) -> Path:
    """Where a converted program is kept."""
    return program.parent / "tape" / program.name


def converted(program: Path, here: Path) -> Path:
    """Record a program in a folder, and convert it there."""
    (here / program.name).write_text(program.read_text())
    said(here, "record", "-o", "record", program.name)
    said(here, "convert", "-o", "tape.py", program.name)
    return here / "tape.py"


def said(folder: Path, *arguments: str) -> str:
    """What the command prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = dualgrad(folder, *arguments)
    assert code == 0, (arguments, out.getvalue())
    return out.getvalue()


if __name__ == "__main__":
    for program in PROGRAMS:
        with tempfile.TemporaryDirectory() as folder:
            tape(program).write_text(converted(program, Path(folder)).read_text())
