"""Say which uses of TensorFlow in programs run here as they are, which differ, and which are missing.

Looked at are names, keywords and calls of methods, through aliases, imports and assignments, also from one file to
another; the verdicts come from what dualgrad has. Nothing is run. The exit code is 1 while anything is missing or could
not be checked.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dualgrad.files.golden import Golden
from dualgrad.migrate.check.formats import FORMATS
from dualgrad.migrate.check.uses import UNCHECKED, Use, place, unseen, uses_of
from dualgrad.migrate.judge import Sources, judge
from engine.runtime.errors import DataLossError, NotFoundError

SKIPPED = {"__pycache__", "node_modules", "site-packages"}

DESCRIPTION = """Say what of TensorFlow programs use that runs here as it is, that differs, and that is missing, with
lines. Nothing is run. The exit code is 1 while anything is missing."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which arguments the subcommand takes."""
    parser.add_argument(
        "--api",
        choices=("1", "2", "eager", "auto"),
        default="auto",
        help="what they were written for: TensorFlow 1, 2, or eager execution in 1",
    )
    parser.add_argument("--format", choices=tuple(FORMATS), default="text", help="how to report (default: text)")
    parser.add_argument("--all", action="store_true", help="list what is the same too (JSON always does)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the report to a file")
    parser.add_argument("--census", metavar="RECORD", help="a record of the program: add names that only its run shows")
    parser.add_argument("paths", metavar="FILE", nargs="+", help="files, or folders with all Python files in them")


def main(given: argparse.Namespace) -> int:
    """Check the files; give 0 if everything is resolved, 1 if not, 2 if a file is not there."""
    absent = [path for path in given.paths if not Path(path).exists()]
    if absent:
        print(f"dualgrad check: there is no file {absent[0]}", file=sys.stderr)  # noqa: T201
        return 2
    files = [*dict.fromkeys(file for path in given.paths for file in files_of(Path(path)))]
    try:
        census = None if given.census is None else Golden(given.census).part("census.json")
    except (NotFoundError, DataLossError) as error:
        print(f"dualgrad check: {error}", file=sys.stderr)  # noqa: T201
        return 2
    found = check(files, None if given.api == "auto" else given.api, census)
    form = FORMATS[given.format]
    report = form(found, len(files), given.all or given.format == "json")
    if given.output:
        Path(given.output).write_text(report + "\n", encoding="utf-8")
    else:
        print(report)  # noqa: T201
    return 0 if all(use.is_resolved for use in found) else 1


def files_of(path: Path) -> Iterator[Path]:
    """The file, or the programs and notebooks in a folder."""
    if not path.is_dir():
        yield path
        return
    for file in sorted([*path.rglob("*.py"), *path.rglob("*.ipynb")]):
        inner = file.relative_to(path).parts
        if not any(part in SKIPPED or part.startswith(".") for part in inner):
            yield file


def check(
    files: Sequence[Path], api: str | None = None, census: Mapping[str, Sequence[Any]] | None = None
) -> list[Use]:
    """Every use of TensorFlow in the files.

    Parameters
    ----------
    files : sequence of Path
    api : {"1", "2", "eager"}, optional
        As `dualgrad.migrate.hook.install` takes it. By default judged by the names that each program uses; a module
        is taken for what the program that imports it is.
    census : dict, optional
        The names that the program looked up when it ran, with files and lines, as `dualgrad record` keeps them: those
        that reading does not show are uses too.

    Returns
    -------
    list of Use
        File by file, in the order of lines.
    """
    programs = [file for file in files if file.suffix != ".ipynb"]
    apis = judged_together(files) if api is None else dict.fromkeys(programs, api)
    found = uses_of(apis)
    why = "a notebook: write its cells to a program (jupyter nbconvert --to script) and check that"
    for file in files:
        found.setdefault(file, [Use(str(file), 1, 1, "file", str(file), UNCHECKED, why)])
    for use in unseen(census or {}, apis, found):
        found.setdefault(Path(use.file), []).append(use)
    return [use for file in dict.fromkeys([*files, *found]) for use in sorted(found[file], key=place)]


def judged_together(files: Sequence[Path]) -> dict[Path, str]:
    """The API of each file: of a module that others import, what most of the programs are that use it."""
    sources = Sources(file for file in files if file.suffix != ".ipynb")
    inner = {file: {*sources.reached(file)} for file in files if file.suffix != ".ipynb"}
    users: dict[Path, list[Path]] = {}
    for file, modules in inner.items():
        for module in modules - {file.resolve()}:
            users.setdefault(module, []).append(file)
    # the programs at the top: nobody imports them
    tops = {f: [u for u in users.get(f.resolve(), ()) if u.resolve() not in users] or [f] for f in inner}
    judged = {top: judge(top, sources) for top in {top for some in tops.values() for top in some}}
    return {file: max(("1", "2", "eager"), key=[judged[top] for top in some].count) for file, some in tops.items()}
