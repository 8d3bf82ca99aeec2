"""Compare a program with a record of what it computed (``dualgrad record``), and say whether anything differs.

OUT is a migrated program: if there is a map (``OUT.map.json``, or ``--map``), it runs by itself beside all recorded
runs (`own_run`), and then its functions are called with what was recorded: both must give the same bits.
Without a map it is a program that builds the same graph, changed or not, and is run beside the record; without OUT
it is the recorded program itself. Against a record of real TensorFlow, or of another machine, each operation is given
the recorded operands, and must come within a budget of rounding errors; this is zero for what is the same on every
machine, and the verdict then is "equal to the bit but for products".

Where values of the recorded run stand in the migrated program, the verdict is "equal only for this run". Where not all
was looked at that it computes by itself, the verdict is "not all compared". Where random numbers without a seed had to
be given to it, it is "the same with given draws".

The exit code is 0 if nothing differs, 1 if something does or is not migrated yet, and 2 if nothing could be compared.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import engine
from dualgrad.files.golden import Golden, text
from dualgrad.migrate import notebooks
from dualgrad.migrate.compare.converted import Converted, Map, read_map
from dualgrad.migrate.compare.elsewhere import compare_elsewhere, is_elsewhere
from dualgrad.migrate.compare.findings import Comparison, Difference
from dualgrad.migrate.compare.own_run import OwnRun
from dualgrad.migrate.compare.page import page
from dualgrad.migrate.compare.printed import differing_lines
from dualgrad.migrate.compare.report import report
from dualgrad.migrate.compare.rerun import Rerun
from dualgrad.migrate.environment import differences, machine
from dualgrad.migrate.judge import judge
from dualgrad.migrate.recorder import finished
from dualgrad.migrate.run import run
from dualgrad.migrate.watch import watching
from dualgrad.migrate.watch_tapes import noting_events, noting_initial_values, noting_objects, watching_tapes
from dualgrad.platform import progress
from engine.runtime.errors import OpError

DESCRIPTION = """Compare a program with a record (dualgrad record): the program of `dualgrad convert`, one that you
changed, or, without OUT, the recorded one. The exit code is 0 if nothing differs, 1 if something does, 2 if nothing
could be compared."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which arguments the subcommand takes."""
    parser.add_argument("record", metavar="DIR", help="the record")
    parser.add_argument("program", metavar="OUT", nargs="?", help="the migrated program; by default the recorded one")
    parser.add_argument("--map", metavar="FILE", help="what corresponds in both (default: OUT.map.json)")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page, too")
    parser.add_argument("--json", metavar="FILE", help="write the findings as JSON, too")


def main(given: argparse.Namespace) -> int:
    """Compare, print the report, give the exit code."""
    try:
        golden = Golden(given.record)
        with progress.progress("dualgrad compare", golden.head["kept"]["steps"]):
            comparison = compared(golden, given)
    except (OpError, ValueError, OSError) as error:
        print(f"dualgrad compare: {error}", file=sys.stderr)  # noqa: T201
        return 2
    if given.html:
        Path(given.html).write_text(page(comparison))
    if given.json:
        Path(given.json).write_text(text(comparison.as_json()) + "\n")
    print(report(comparison))  # noqa: T201
    return comparison.exit_code


def compared(golden: Golden, given: argparse.Namespace) -> Comparison:
    """Compare a record with a program.

    Raises
    ------
    ValueError, OSError
        If there is no such program or map.
    OpError
        If the record is damaged.
    """
    path = Path(given.program) if given.program else recorded_program(golden)
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    map_path = Path(given.map) if given.map else path.with_suffix(".map.json")
    known = read_map(map_path) if given.map or (given.program and map_path.is_file()) else None
    if notebooks.is_notebook(path):
        path = notebooks.kept_program(path)
    comparison = begun(golden, path)
    if known is None:
        again(golden, path, comparison)
    elif golden.head["made"]["backend"] == "tensorflow" or (comparison.reasons and not is_elsewhere(known)):
        by_way_of_ours(golden, path, known, comparison)
    elif is_elsewhere(known):
        compare_elsewhere(golden, path, known, comparison)
    else:
        migrated(golden, path, known, comparison)
    return comparison


def begun(golden: Golden, path: Path) -> Comparison:
    """A comparison in which nothing has been compared yet; it says whether equal bits can be expected."""
    here = {"backend": "dualgrad", "version": engine.__version__, **machine()}
    made = golden.head["made"]
    program = golden.head["program"]["file"]
    reasons = differences(made, here)
    if made["backend"] != "dualgrad":
        reasons.insert(
            0, f"the record was made under {made['backend']} {made['version']}, whose kernels round differently"
        )
    name = program if path.parent == golden.folder else path.name
    # sums, sorts and what of NumPy's is the same everywhere may be another in another NumPy
    portable = all(made.get(fact) == here[fact] for fact in ("backend", "version", "numpy"))
    return Comparison(f"{name} against the record of {program}", golden.head, here, reasons, portable)


def recorded_program(golden: Golden) -> Path:
    """The program itself: the file of its name here, if it is still the same, else the copy in the record."""
    here = Path(golden.head["program"]["file"])
    copy = golden.folder / "program.py"
    return here if here.is_file() and here.read_bytes() == copy.read_bytes() else copy


def again(golden: Golden, path: Path, comparison: Comparison) -> None:
    """Run a program that builds graphs, or one on tapes, beside its record; what is found is added to `comparison`."""
    head = golden.head["program"]
    rerun = Rerun(golden, comparison)
    out = io.StringIO()
    with redirect_stdout(out), watching(lambda made: None, rerun.around), watching_tapes(rerun.keep_step):
        code = finished(lambda: run(path, head["arguments"], api_of(path, head)))
    if code != head["exit"]:
        comparison.notes.append(f"the program ended with {code}; when it was recorded, with {head['exit']}")
    for step in rerun.steps.values():
        comparison.skip(f"recorded steps that the program did not come to ({step['kind']})")
    if comparison.differences:
        return  # each run was given the recorded variables: what was printed says no more
    if not comparison.reasons or golden.head["kept"]["steps"] == golden.head["kept"]["of"]:
        # a program that is handed all recorded results prints what it printed
        comparison.printed = differing_lines(golden.lines("printed.txt"), out.getvalue())


def api_of(path: Path, head: Any) -> str:
    """Which API a program uses: the recorded one, unless it is another program."""
    return str(head["api"]) if path.name in (head["file"], "program.py") else judge(path)


def migrated(golden: Golden, path: Path, known: Map, comparison: Comparison) -> None:
    """Execute a migrated program, compare what it prints, and then its functions."""
    comparison.from_run += known.from_run
    if known.target != "tape":
        comparison.notes.append("TensorFlow is not installed here: its program was run on dualgrad")
    out = io.StringIO()
    with redirect_stdout(out), noting_initial_values() as initial, noting_objects(known.objects.values()) as made:
        converted = Converted(golden, comparison, known, path.name, {}, initial, made)
        own = OwnRun(golden, converted)
        with own.watching() as names, noting_events() as events:
            arguments = golden.head["program"]["arguments"]
            code = finished(lambda: run(path, arguments, "2", compiled=own.compiled, names=names))
    functions = {f.name for f in known.functions if f.name} | set(known.objects.values())
    if code != golden.head["program"]["exit"]:
        if functions and functions.isdisjoint(vars(sys.modules["__main__"])):
            raise ValueError(f"{path.name} ended with {code} before it had defined any function of the map")
        comparison.differences.append(Difference(0, "error", path.name, note=f"it ended with {code} by itself"))
    said = golden.lines("printed.txt")
    own.wrote(events)
    own.end(bool(out.getvalue()), code != golden.head["program"]["exit"])
    if not comparison.aside:
        comparison.printed = differing_lines(said, out.getvalue())
    if comparison.printed and known.varies:
        comparison.printed = differing_lines(said, out.getvalue(), words_only=True)
        comparison.notes.append(
            f"{'; '.join(known.varies)}: of what they print only the words were compared. The runs were compared on "
            f"what was recorded"
        )
    if comparison.printed and known.varies and len(said.splitlines()) == len(out.getvalue().splitlines()):
        count = len(differing_lines(said, out.getvalue(), words_only=True))
        comparison.notes.append(f"{count} lines have other words, too: what they say depends on what is drawn")
        comparison.printed = []
    converted.reach(vars(sys.modules["__main__"]))
    converted.all()


def by_way_of_ours(golden: Golden, path: Path, known: Map, comparison: Comparison) -> None:
    """Compare a migrated program with a record of TensorFlow, or of another machine, in two steps.

    The recorded program runs under dualgrad beside the record, operation by operation within budgets; then it runs by
    itself, and of this run a record is made, with which the migrated program is compared to the bit. So both have the
    same budgets.
    """
    with tempfile.TemporaryDirectory() as folder:
        ours, findings, old = Path(folder) / "ours", Path(folder) / "findings.json", golden.head["program"]
        ran = [
            _command("compare", str(golden.folder), "--json", str(findings)),
            _command("record", "-o", str(ours), "--api", old["api"], str(recorded_program(golden)), *old["arguments"]),
        ]
        if not findings.is_file() or not (ours / "record.json").is_file():
            said = next((done.stderr for done in ran if done.stderr.strip()), "")
            raise ValueError(f"the recorded program does not run under dualgrad: {said.strip()}")
        first = Comparison.from_json(json.loads(findings.read_bytes()))
        middle = Golden(ours)
        second = Comparison("", middle.head, comparison.here)
        migrated(middle, path, known, second)
    comparison.add(first, "graph: ")
    comparison.add(second, f"{path.name}: ")
    comparison.notes.append(
        f"The recorded program was run under dualgrad and compared with the record operation by operation "
        f"({first.operations} values, {first.verdict.lower()}); {path.name} was compared with that run "
        f"({second.steps} runs, {second.verdict.lower()})."
    )


def _command(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of ours in a process of its own."""
    progress.say("running the recorded program under dualgrad")
    home = os.pathsep.join([str(Path(engine.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", "dualgrad", *words],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": home},
    )  # fmt: skip
