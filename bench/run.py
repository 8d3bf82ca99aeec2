"""``python -m bench run``: the suite, or a part of it, timed into a JSON file that pytest-benchmark reads too."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.rounds import Progress

FOLDER = Path(__file__).resolve().parent
PASSES = {"quick": 2, "full": 3}
SECONDS = {"quick": 0.3, "full": 1.0}
MINUTES = {"quick": 5.0, "full": 25.0}
CHOOSES_KERNELS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
"""Environment variables with which a run would say nothing about this machine."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``run``."""
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--quick", dest="amount", action="store_const", const="quick", help="small sizes (the default)")
    amount.add_argument(
        "--full", dest="amount", action="store_const", const="full", help="all sizes: up to half an hour"
    )
    parser.set_defaults(amount="quick")
    parser.add_argument(
        "--json", type=Path, default=Path("report/bench.json"), help="file to write (default: %(default)s)"
    )
    parser.add_argument("-k", dest="expression", default="", help="only benchmarks that match, as in pytest -k")
    parser.add_argument("--passes", type=int, help="how often to go through each group (default: 2 quick, 3 full)")
    parser.add_argument("--seconds", type=float, help="time to spend on each benchmark (default: 0.3 quick, 1 full)")
    parser.add_argument("--threads", type=int, default=1, help="threads of NumPy and of the peers (default: 1)")
    parser.add_argument("paths", nargs="*", type=Path, help="files of benchmarks (default: all of bench/)")


def run(options: argparse.Namespace) -> int:
    """Run the benchmarks; 0 if all of ours gave right results, 2 if the environment makes them meaningless."""
    if kernels_are_chosen():
        return 2
    _say_what_runs()
    return measure_suite(
        options.json,
        options.amount,
        options.expression,
        options.passes,
        options.seconds,
        threads=options.threads,
        paths=options.paths,
    )


def _say_what_runs() -> None:
    """Say whether the native executor is there: in a checkout Python takes what lies here, not what is installed."""
    from engine.executor import status

    found = status()
    print(found, file=sys.stderr)
    if not found.active and os.environ.get("DUALGRAD_NATIVE") != "0":
        print(
            "All is measured without it. In a checkout, build it first: pip install -e . (or `make bench`).",
            file=sys.stderr,
        )


def kernels_are_chosen() -> bool:
    """Whether the environment chooses BLAS kernels; if so, this says what to do about it."""
    for name in CHOOSES_KERNELS:
        if name in os.environ:
            print(
                f"{name} is set: OpenBLAS would not use the kernels that it chooses for this machine, for us and for "
                f"others. Unset it, then run again.",
                file=sys.stderr,
            )
            return True
    return False


def measure_suite(
    file: Path,
    amount: str = "quick",
    expression: str = "",
    passes: int | None = None,
    seconds: float | None = None,
    minutes: float | None = None,
    threads: int = 1,
    paths: list[Path] | None = None,
) -> int:
    """Measure, write `file`, and say what failed and what was left out.

    Parameters
    ----------
    file : Path
    amount : str
        ``"quick"`` or ``"full"``, which also says what the next three are by default.
    passes : int, optional
        How often to go through each group.
    seconds : float, optional
        Time to spend on each benchmark, in all passes together.
    minutes : float, optional
        Time for everything: when it is over, passes after the first are left out. When half of it is over, so is what
        is marked as ``secondary``: our ways that are forced, beside what the planner chooses.
    threads : int
        Of NumPy's BLAS, and of the peers if they were not imported before. One by default: most of the problems are too
        small for two, and on a shared machine threads that wait for each other make times differ by a factor of 100.
    expression : str
        Only benchmarks that match, as in ``pytest -k``.
    paths : list of Path, optional
        Files of benchmarks; by default all of ours.

    Returns
    -------
    int
        0 if every benchmark of ours gave the right result, else 1. A peer's result that is wrong is named and left out.
    """
    import pytest

    from bench import ratios
    from bench.results import read
    from bench.rounds import InterleavedRounds, Progress

    passes = passes or PASSES[amount]
    seconds = SECONDS[amount] if seconds is None else seconds
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    paths = [p.resolve() for p in paths or [FOLDER]]
    arguments = [str(p) for p in paths]
    # The settings of the project's tests (doctests, warnings as errors, benchmarks off) are not for measuring.
    arguments += ["-c", os.devnull, "--rootdir", str(_root(paths)), "-p", "no:terminal", "-p", "no:cacheprovider"]
    arguments += ["--benchmark-enable", "--benchmark-quiet", f"--benchmark-json={file}"]
    arguments += [f"--benchmark-max-time={seconds / passes}", "--benchmark-min-rounds=3"]
    arguments += ["--full"] if amount == "full" else []
    arguments += ["-k", expression] if expression else []
    progress = Progress(sys.stderr)
    rounds = InterleavedRounds(passes, 60 * (minutes or MINUTES[amount]), threads)
    with on_threads(threads):
        code = pytest.main(arguments, plugins=[progress, rounds])
    _say_what_is_missing(progress)
    if not file.exists():
        print("Nothing was measured.", file=sys.stderr)
        return 1
    results = read(file).results
    for r in results:
        for way, how in r.extra.get("off", {}).items():
            print(f"Left out {r.mode} {way} of {r.problem} {r.size}: {how}", file=sys.stderr)
    if shown := ratios.as_terminal(results):
        print(shown, end="\n\n")
    print(f"Written: {file}")
    return 1 if progress.failures or code not in (0, 5) else 0


@contextlib.contextmanager
def on_threads(count: int) -> Iterator[None]:
    """Let NumPy, and peers that have not been imported, use so many threads."""
    from threadpoolctl import threadpool_limits

    for name, value in _settings(count).items():
        os.environ.setdefault(name, value)
    with threadpool_limits(count), _cores(count):
        yield


@contextlib.contextmanager
def _cores(count: int) -> Iterator[None]:
    """Run on so many cores only, where the system lets us choose: JAX heeds nothing else."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[-count:])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _settings(threads: int) -> dict[str, str]:
    """The variables that tell the peers how many threads to use."""
    counts = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
    xla = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"} if threads == 1 else {}
    return {**dict.fromkeys(counts, str(threads)), **xla}


def _root(paths: list[Path]) -> Path:
    """The folder from which benchmarks are named: always the same for ours."""
    if all(FOLDER in (p, *p.parents) for p in paths):
        return FOLDER.parent
    common = Path(os.path.commonpath(paths))
    return common if common.is_dir() else common.parent


def _say_what_is_missing(progress: Progress) -> None:
    for reason, count in Counter(progress.skipped.values()).items():
        print(f"Left out {count}: {reason.removeprefix('Skipped: ')}", file=sys.stderr)
    for failure in progress.failures:
        print(f"FAILED {failure}", file=sys.stderr)
