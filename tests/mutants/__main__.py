"""``python -m tests.mutants``: break the code in each known way, and see that the named tests notice.

Each mutant is a row of `tests.mutants.table`: a file, a piece of it, what to put there instead, and the tests that must
fail then. They run in copies of the tree, so nothing is left broken. Exit code 1 if a mutant survives.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.mutant import Mutant
from tests.mutants.table import MUTANTS

HOME = Path(__file__).resolve().parents[2]
PARTS = ("engine", "dualgrad", "graph_api", "tape_api", "optim", "bench", "tests", "pyproject.toml")
SECONDS = 600


def copy_of_the_tree(folder: Path) -> Path:
    """A copy of what the tests need."""
    folder.mkdir()
    for part in PARTS:
        source, target = HOME / part, folder / part
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy2(source, target)
    return folder


@contextmanager
def broken(mutant: Mutant, folder: Path) -> Iterator[None]:
    """The tree with a mutant in it."""
    file = folder / mutant.file
    text, times = file.read_text(encoding="utf-8"), file.stat()
    file.write_text(mutant.applied(text), encoding="utf-8")
    try:
        yield
    finally:
        file.write_text(text, encoding="utf-8")
        # compiled modules are told by the time of their source
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def unnoticed(folder: Path, tests: tuple[str, ...]) -> str | None:
    """The end of what the tests print if none of them fails; else None."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    # without compiled modules, each mutant would wait for all of them to be compiled anew
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=settings, capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return "timed out"
    # 1: tests failed; anything else (no tests found, a mistake in their names) is no notice taken
    return None if done.returncode == 1 else done.stdout[-2000:] + done.stderr[-2000:]


def main() -> int:
    """Run all, or those whose name or file holds a word."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=(__doc__ or "").replace("``", ""))
    parser.add_argument("-k", default="", help="only mutants whose name or file holds this")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    chosen = [m for m in MUTANTS if options.k in m.name or options.k in m.file]
    alive = 0
    with tempfile.TemporaryDirectory() as home, ThreadPoolExecutor(options.jobs) as pool:
        trees: SimpleQueue[Path] = SimpleQueue()
        for k in range(options.jobs):
            trees.put(copy_of_the_tree(Path(home) / str(k)))

        def survives(mutant: Mutant) -> str | None:
            tree = trees.get()
            try:
                with broken(mutant, tree):
                    return unnoticed(tree, mutant.tests)
            finally:
                trees.put(tree)

        for mutant, text in zip(chosen, pool.map(survives, chosen), strict=True):
            print(f"{'noticed ' if text is None else 'SURVIVES'} {mutant.name}", flush=True)
            if text is not None:
                alive += 1
                print(text)
    print(f"{len(chosen)} mutants, {alive} survive")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
