"""``python -m tests.fuzz``: run random programs, write what fails at once, then the smallest of each group."""

import argparse
import gc
import os
import sys
import time
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from typing import Any

# threads of the BLAS take longer to start than products of this size; NumPy reads this when it is imported
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# what each pass leaves of a program is checked
os.environ.setdefault("DUALGRAD_VERIFY", "1")

from dualgrad.platform.progress import progress
from engine.compiler import lowering
from engine.compiler.passes import columns, narrowing
from tests.fuzz import rows
from tests.fuzz.singular import SHARES
from tests.fuzz.triage import Failure, report, work

# the programs' arrays are small: what pays for large ones only is tried on these
columns._LONG, columns._GAIN, narrowing._LEAST, narrowing._CALL = 2, 0, 1, 1
lowering.UNROLLED = lowering.UNROLLED_WHOLE = 1

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

MEMORY = 8 << 30
"""Bytes that a process of programs may ask for: how much a machine has must not decide what fails."""
BLOCK = 100
"""Programs handed to a worker at once."""


def _results(blocks: Iterable[Any], jobs: int) -> Generator[tuple[int, list[Failure]], None, None]:
    # traces are full of cycles, and most of the collector's time goes into looking at the op table again and again
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    if jobs == 1:
        yield from map(work, blocks)
        return
    pool = ProcessPoolExecutor(jobs)
    try:
        yield from pool.map(work, blocks)
    finally:
        pool.shutdown(cancel_futures=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--n", type=int, default=1000, help="how many programs (default 1000)")
    parser.add_argument("--seed", type=int, default=0, help="the first one's seed; the others' follow")
    parser.add_argument(
        "--only", help="programs with an instruction that has this in its name (an op, a row, an idiom)"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seconds", type=float, default=5.0, help="at most so long to shrink one failure")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no further block after so long")
    parser.add_argument("--share", nargs="*", default=[], metavar="NAME=PART", help="of `tests.fuzz.singular.SHARES`")
    parser.add_argument("--rows", type=float, default=rows.SHARE, help="part of programs on long rows and vectors")
    parser.add_argument("--failures", default="build/fuzz-failures.txt", help="a file to which each is written at once")
    given = parser.parse_args(arguments)
    os.makedirs(os.path.dirname(given.failures) or ".", exist_ok=True)
    rows.SHARE = given.rows
    SHARES.update({name: float(part) for name, part in (each.split("=") for each in given.share)})
    seeds = range(given.seed, given.seed + given.n)
    options = given.only, given.seconds, given.failures
    blocks = [(seeds[i : i + BLOCK], *options) for i in range(0, given.n, BLOCK)]
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    start, done, failures = time.monotonic(), 0, []
    results = _results(blocks, given.jobs)
    with progress("fuzz", given.n) as line, suppress(KeyboardInterrupt):
        for count, found in results:
            done += count
            failures += found
            line.step(f"{len(failures)} failures", count)
            if time.monotonic() - start > 60 * given.minutes:
                break
    results.close()
    elapsed = max(time.monotonic() - start, 1e-9)
    rate = f"{done} programs in {elapsed:.0f} s, {done / elapsed:.0f} a second; {len(failures)} failures"
    sys.stdout.write("\n".join([*([report(failures)] if failures else []), rate, ""]))
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
