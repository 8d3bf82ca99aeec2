"""``python -m tests.fuzz.files``: damage files of each format, read them, and see what each says, and how soon.

What is right: the file is read all the same, or a `DataLossError` names it, or one of the few other errors that say
what is wrong. A child reads each block of files, with a limit to its memory; one that is silent for `SECONDS` is ended.
"""

import argparse
import gc
import json
import os
import random
import re
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from engine.runtime.errors import DataLossError, NotFoundError, ResourceExhaustedError, UnimplementedError
from tests.fuzz.formats import FORMATS, Files

SECONDS = 10.0
"""How long reading one file may take."""
MEMORY = 1 << 30
"""How many bytes more than before reading it may take."""
BLOCK = 500
_ALWAYS = (NotFoundError, UnimplementedError, ResourceExhaustedError)


def case(name: str, seed: int, number: int, whole: Files) -> Files:
    """The files of one case."""
    dice = random.Random(f"{name} {seed} {number}")
    files = dict(whole)
    chosen = dice.choice(sorted(files))
    files[chosen] = FORMATS[name].damage(chosen, files[chosen], dice)
    return FORMATS[name].wrap(files)


# ---- reading ---------------------------------------------------------------------------------------------------------


def outcome(name: str, files: Files, folder: Path) -> tuple[str, str]:
    """How reading files ends: ``read``, the class of an error that is right, or ``foreign``; and details of that."""
    for file, content in files.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            FORMATS[name].read(folder)
    except DataLossError as error:
        if str(folder) in str(error) or not FORMATS[name].named:
            return "DataLossError", ""
        return "foreign", f"DataLossError without the file's name: {error}"[:300]
    except (*_ALWAYS, *FORMATS[name].errors) as error:
        return type(error).__name__, ""
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        last = traceback.extract_tb(error.__traceback__)[-4:]
        said = " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(last))
        return "foreign", f"{type(error).__name__}: {str(error)[:160]} at {said}"
    return "read", ""


@dataclass
class Tally:
    """What became of the files of a format."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)
    slowest: float = 0.0

    def note(self, number: int, kind: str, details: str, seconds: float) -> None:
        """Count a case."""
        self.outcomes[kind] += 1
        self.slowest = max(self.slowest, seconds)
        if kind in ("foreign", "hang", "death"):
            self.failures.append((number, details or kind))


def _child(name: str, seed: int, numbers: Sequence[int], whole: Files, out: int, memory: int) -> None:
    """Read files, and write of each what became of it."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + memory, resource.RLIM_INFINITY))
    gc.freeze()
    for number in numbers:
        folder = Path(tempfile.mkdtemp(prefix="damaged"))
        start = time.perf_counter()
        kind, details = outcome(name, case(name, seed, number, whole), folder)
        line = json.dumps([number, kind, details, time.perf_counter() - start])
        os.write(out, line.encode() + b"\n")
        shutil.rmtree(folder, ignore_errors=True)


def _lines(out: int, seconds: float) -> Iterator[bytes]:
    """Lines of a pipe; ends when it is closed. An empty one where none came for so long."""
    held = b""
    while True:
        if not select.select([out], [], [], seconds)[0]:
            yield b""
            return
        got = os.read(out, 1 << 16)
        if not got:
            return
        *whole, held = (held + got).split(b"\n")
        yield from whole


def block(
    name: str, seed: int, numbers: Sequence[int], whole: Files, seconds: float, memory: int, tally: Tally
) -> None:
    """Have children read files, and go on behind those that hang or die."""
    left = list(numbers)
    while left:
        out, into = os.pipe()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.close(out)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                _child(name, seed, left, whole, into, memory)
                code = 0
            finally:
                os._exit(code)
        os.close(into)
        kind = "death"
        for line in _lines(out, seconds):
            if not line:
                kind = "hang"
                os.kill(child, signal.SIGKILL)
                break
            tally.note(*json.loads(line))
            left.pop(0)
        os.close(out)
        _, status = os.waitpid(child, 0)
        if left:
            tally.note(left.pop(0), kind, f"{kind}: status {status}", 0.0)


def fuzz(name: str, seed: int, numbers: Sequence[int], seconds: float = SECONDS, memory: int = MEMORY) -> Tally:
    """Damage a file of a format in many ways.

    Parameters
    ----------
    name : str
        Of the format.
    seed : int
    numbers : sequence of int
        Of the cases: the same seed and number are the same damage.
    seconds, memory : float, int
        What reading one may take.
    """
    whole, tally = FORMATS[name].make(), Tally()
    gc.collect()
    for start in range(0, len(numbers), BLOCK):
        block(name, seed, numbers[start : start + BLOCK], whole, seconds, memory, tally)
    return tally


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.files", description=__doc__)
    parser.add_argument("--n", type=int, default=10_000, help="how many files, of all formats together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", action="append", choices=sorted(FORMATS), help="only this one; may be repeated")
    parser.add_argument("--case", type=int, help="read this case alone, in this process, and show where it fails")
    given = parser.parse_args(arguments)
    names = given.format or [*FORMATS]
    if given.case is not None:
        for name in names:
            _shown(name, given.seed, given.case)
        return 0
    failed = False
    for name in names:
        start = time.perf_counter()
        tally = fuzz(name, given.seed, range(max(given.n // len(names), 1)))
        counts = ", ".join(f"{kind} {count}" for kind, count in tally.outcomes.most_common())
        _say(f"{name}: {counts}; slowest {tally.slowest:.2f} s, all {time.perf_counter() - start:.0f} s")
        failed |= bool(tally.failures)
        groups: dict[str, list[int]] = {}
        for number, details in tally.failures:
            groups.setdefault(re.sub(r"[^A-Za-z:. ]+", "", details)[:70], []).append(number)
        known: dict[int, Any] = dict(tally.failures)
        for numbers in groups.values():
            _say(f"  {len(numbers)} like --case {numbers[0]}: {known[numbers[0]]}")
    return int(failed)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _shown(name: str, seed: int, number: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix="damaged"))
    for file, content in case(name, seed, number, FORMATS[name].make()).items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(content)
    _say(f"{name}, case {number}: {folder}")
    FORMATS[name].read(folder)


if __name__ == "__main__":
    sys.exit(main())
