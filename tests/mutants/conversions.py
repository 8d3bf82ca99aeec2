"""``python -m tests.mutants.conversions``: put mistakes into converted programs, and see that ``compare`` notices.

Programs are recorded and converted. Then each gets some mistakes, one at a time (`tests.mutants.mistakes`). What a
mistake changes is seen by running the program (`tests.mutants.observation`); where a number differs that is printed or
that the original fetched, or a variable in the end, ``dualgrad compare`` must not call the program equal. A conversion
as it is must be called what it is. Exit code 1 if a mistake survives or a conversion is misjudged.
"""

import argparse
import gc
import io
import json
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path

from tests.mutants.corpus import programs
from tests.mutants.mistakes import Mistake, chosen
from tests.mutants.observation import Seen, in_child, observed

SECONDS = 300
EQUAL = "EQUAL TO THE BIT", "EQUAL WITHIN ROUNDING", "EQUAL ONLY FOR THIS RUN", "THE SAME WITH GIVEN DRAWS"
"""The verdicts that a program with another number must not get."""


@dataclass
class Outcome:
    """What came of one program.

    Attributes
    ----------
    name : str
    verdict : str
        Of the conversion as it is; "" if there is none.
    trouble : str
        Why it was not used, or what is wrong with the conversion itself.
    alarm : bool
        Whether a right conversion is called different, or a wrong one equal.
    equivalent, noticed : list of str
        Mistakes that change nothing, and those that are noticed.
    survived : list of str
        Mistakes that change a number and are called equal.
    kinds : Counter
        Of those that change something.
    """

    name: str
    verdict: str = ""
    trouble: str = ""
    alarm: bool = False
    equivalent: list[str] = field(default_factory=list)
    noticed: list[str] = field(default_factory=list)
    survived: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)


def command(folder: Path, *arguments: str) -> tuple[int, str]:
    """``dualgrad ARGUMENTS`` in a folder: its exit code, and what it printed. Call it in a child."""
    from dualgrad.migrate.command import main

    os.chdir(folder)
    out = io.StringIO()
    sys.path.insert(0, "")
    with redirect_stdout(out), redirect_stderr(out):
        try:
            code = main(list(arguments))
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException as error:  # noqa: BLE001 - a mistake may raise what it likes
            code = 3
            print(f"{type(error).__name__}: {error}")
    return code, out.getvalue()


def verdict(said: tuple[int, str] | None) -> str:
    """The verdict in what ``compare`` printed, or why there is none."""
    if said is None:
        return "DOES NOT END"
    found = re.search(r"^[A-Z][A-Z ]+[A-Z](?=[.:])", said[1], re.MULTILINE)
    return found[0] if found else f"STOPPED {said[0]}"


class Trial:
    """A converted program in a folder, in which mistakes are tried.

    Parameters
    ----------
    folder : Path
        With ``p.py``.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kept = [p.name for p in folder.iterdir()]
        self.seconds = SECONDS

    def prepared(self) -> str:
        """Record and convert the program; say why that cannot be."""
        for arguments in (("record", "-o", "rec", "p.py"), ("convert", "-o", "new.py", "p.py")):
            done = in_child(partial(command, self.folder, *arguments), SECONDS)
            if done is None or done[0]:
                last = done[1].strip().splitlines()[-1:] if done else "does not end"
                return f"{arguments[0]}: {last}"
        self.text = (self.folder / "new.py").read_text()
        self.map = json.loads((self.folder / "new.map.json").read_text())
        self.kept += ["new.map.json", "new.npz"]
        return "" if self.map["whole"] else f"not the whole program: {self.map.get('why', '')}"

    def fresh(self, text: str) -> Path:
        """The folder in which a program is run."""
        there = self.folder / "run"
        shutil.rmtree(there, ignore_errors=True)
        there.mkdir()
        for name in self.kept:
            source = self.folder / name
            if source.is_dir():
                shutil.copytree(source, there / name)
            elif source.exists():
                shutil.copy2(source, there / name)
        (there / "new.py").write_text(text)
        return there

    def seen(self, text: str) -> Seen:
        """What a program does."""
        there = self.fresh(text)

        def run() -> Seen:
            os.chdir(there)
            return observed(there / "new.py", self.map)

        return in_child(run, self.seconds) or Seen(end="does not end")

    def compared(self, text: str) -> tuple[int, str] | None:
        """What ``compare`` says of it."""
        there = self.fresh(text)
        return in_child(partial(command, there, "compare", str(self.folder / "rec"), "new.py"), 2 * self.seconds)


def tried(program: tuple[str, Path | str], count: int, seed: int, kept: Path | None = None) -> Outcome:
    """Convert a program, and try some mistakes."""
    name, source = program
    outcome = Outcome(name)
    with tempfile.TemporaryDirectory() as home:
        folder = kept / name if kept else Path(home)
        folder.mkdir(parents=True, exist_ok=True)
        text = source if isinstance(source, str) else source.read_text()
        (folder / "p.py").write_text(text)
        trial = Trial(folder)
        outcome.trouble = trial.prepared()
        if outcome.trouble:
            return outcome
        start = time.perf_counter()
        usual, again = trial.seen(trial.text), trial.seen(trial.text)
        trial.seconds = int(10 + 5 * (time.perf_counter() - start))
        said = trial.compared(trial.text)
        outcome.verdict = verdict(said)
        if usual.end or usual.changed(again):
            outcome.trouble = usual.end or f"differs from run to run: {usual.changed(again)}"
            return outcome
        outcome.alarm, outcome.trouble = judged(trial, usual, outcome.verdict, said)
        if outcome.verdict not in EQUAL:
            return outcome
        for mistake in chosen(trial.text, count, (name, seed)):
            tell(trial, mistake, usual, outcome)
    return outcome


def judged(trial: Trial, usual: Seen, found: str, said: tuple[int, str] | None) -> tuple[bool, str]:
    """Whether the verdict on a conversion is wrong, and why."""
    lines = (trial.folder / "rec" / "printed.txt").read_text()
    same = lines == usual.printed
    if found in EQUAL and not same:
        pair = next(
            ((a, b) for a, b in zip(lines.splitlines(), usual.printed.splitlines(), strict=False) if a != b), ""
        )
        return True, f"called {found}, and prints other lines: {pair}"
    if found not in EQUAL and same:
        less = found in ("NOT ALL COMPARED", "NOTHING COMPARED", "EQUAL SO FAR")
        return not less, f"called {found}, and prints the same: {(said or (0, ''))[1][:1500]}"
    return False, "" if found in EQUAL else f"called {found}"


def tell(trial: Trial, mistake: Mistake, usual: Seen, outcome: Outcome) -> None:
    """Try one mistake."""
    text = mistake.made(trial.text)
    shown = mistake.shown(trial.text)
    changed = usual.changed(trial.seen(text))
    if not changed:
        outcome.equivalent.append(shown)
        return
    outcome.kinds[mistake.kind] += 1
    said = verdict(trial.compared(text))
    if said in EQUAL:
        outcome.survived.append(f"{shown}\n      changes {', '.join(changed)}; compare: {said}")
    else:
        outcome.noticed.append(f"{said}: {shown}")


def outcomes(
    some: Sequence[tuple[str, Path | str]], count: int, seed: int, jobs: int, kept: Path | None = None
) -> Iterator[Outcome]:
    """Try all programs, some at a time."""
    warmed()
    work = partial(tried, count=count, seed=seed, kept=kept)
    with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=1) as pool:
        yield from pool.imap_unordered(work, some)


def warmed() -> None:
    """Import what programs and the command need, once for all children."""
    for name in ("compare", "convert", "record"):
        import_module(f"dualgrad.migrate.{name}")
    gc.collect()
    gc.freeze()


def main() -> int:
    """Try mistakes in all programs, or in those whose name holds a word."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants.conversions", description=(__doc__ or "").replace("``", "")
    )
    parser.add_argument("--n", type=int, default=1000, help="mistakes in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("-k", default="", help="only programs whose name holds this")
    parser.add_argument("--keep", type=Path, help="a folder for programs, records and conversions")
    parser.add_argument("--verbose", action="store_true", help="say what was noticed, too")
    options = parser.parse_args()
    some = [p for p in programs(options.seed) if options.k in p[0]]
    start, all_of_them = time.perf_counter(), []
    for outcome in outcomes(some, -(-options.n // max(len(some), 1)), options.seed, options.jobs, options.keep):
        all_of_them.append(outcome)
        sums = (
            f"{len(outcome.noticed):4} noticed {len(outcome.equivalent):4} equivalent {len(outcome.survived):4} survive"
        )
        print(f"{outcome.name:36} {outcome.verdict or 'not converted':24} {sums}", flush=True)
        if outcome.trouble:
            print(f"  {'WRONG: ' if outcome.alarm else ''}{outcome.trouble}", flush=True)
        for line in outcome.survived:
            print(f"  SURVIVES {line}", flush=True)
        for line in outcome.noticed + ["equivalent: " + x for x in outcome.equivalent] if options.verbose else ():
            print(f"    {line}", flush=True)
    return summed(all_of_them, time.perf_counter() - start)


def summed(found: Sequence[Outcome], seconds: float) -> int:
    """Print the sums; give the exit code."""
    used = [o for o in found if o.verdict in EQUAL]
    survived, noticed = sum(len(o.survived) for o in used), sum(len(o.noticed) for o in used)
    equivalent, wrong = sum(len(o.equivalent) for o in used), [o.name for o in found if o.alarm]
    kinds: Counter[str] = sum((o.kinds for o in used), Counter())
    print(
        f"\n{len(used)} of {len(found)} programs: "
        + ", ".join(f"{v}: {n}" for v, n in Counter(o.verdict or "not converted" for o in found).items())
    )
    print("changed a number, by kind: " + ", ".join(f"{kind} {n}" for kind, n in kinds.most_common()))
    verdicts = Counter(line.partition(":")[0] for o in used for line in o.noticed)
    print("noticed: " + ", ".join(f"{v} {n}" for v, n in verdicts.most_common()))
    print(
        f"{survived + noticed + equivalent} mistakes in {seconds:.0f} s: {equivalent} equivalent, {noticed} noticed, "
        f"{survived} survive; {len(wrong)} wrong verdicts on conversions {wrong or ''}"
    )
    return 1 if survived or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
