"""Run a program and keep what it computed: what each `Session.run` and each training step was asked, fed and gave.

A record is what a migration is compared with (``dualgrad compare``). It holds fetches, feeds, results, all variables
and slots before and after, and, of the first runs of each kind, a hash and statistics of every operation's value.
Of programs on tapes it holds what each ``GradientTape.gradient`` and each ``apply_gradients`` was given and gave. It
also holds what was printed, and the census: which names of TensorFlow the program looked up, with lines.

With ``--backend tensorflow`` the program runs under real TensorFlow, and the values of operations are kept whole.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import engine
from dualgrad.migrate.census import Census
from dualgrad.migrate.environment import machine
from dualgrad.migrate.judge import judge
from dualgrad.migrate.output import add_output, settled
from dualgrad.migrate.recorder import Recorder, Sampling, finished
from dualgrad.migrate.run import program, run
from dualgrad.migrate.watch import watching
from dualgrad.migrate.watch_tapes import noting_events, watching_tapes
from dualgrad.platform.progress import progress

OUTPUT = ("--output", "DIR")

DESCRIPTION = """Run a program and keep what it computed. `dualgrad compare` says later whether the program, changed
or converted, still gives the same."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which arguments the subcommand takes."""
    add_output(parser, *OUTPUT, "the folder for the record")
    parser.add_argument(
        "--backend", choices=("dualgrad", "tensorflow"), default="dualgrad", help="what the program runs under"
    )
    parser.add_argument("--api", choices=("1", "2", "eager", "auto"), default="auto", help="what it was written for")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="keep every Nth run of each kind (1)")
    parser.add_argument("--limit", type=int, default=100, metavar="N", help="keep at most N runs of each kind (100)")
    parser.add_argument(
        "--ops", type=int, default=2, metavar="N", help="of N runs of each kind keep every operation (2)"
    )
    parser.add_argument("program", metavar="PROGRAM", help="the file to run")
    parser.add_argument("arguments", metavar="ARG", nargs=argparse.REMAINDER, help="what follows is the program's own")


def main(given: argparse.Namespace) -> int:
    """Make the record; give the program's exit code."""
    try:
        if given.every < 1 or given.limit < 1 or given.ops < 0:
            raise ValueError("--every and --limit must be at least 1, --ops at least 0")
        settled(given, *OUTPUT)
        path = program(given.program)
        recorder = Recorder(given.output, path, Sampling(given.every, given.limit, given.ops))
    except (ValueError, OSError) as error:
        print(f"dualgrad record: {error}", file=sys.stderr)  # noqa: T201
        return 2
    api = judge(path) if given.api == "auto" else given.api
    if given.backend == "tensorflow":
        from dualgrad.migrate import on_tensorflow

        return on_tensorflow.record(recorder, path, given.arguments, api)
    return record(recorder, path, given.arguments, api)


def record(recorder: Recorder, path: Path, arguments: Sequence[str], api: str) -> int:
    """Run a program under dualgrad and write its record.

    Parameters
    ----------
    recorder : Recorder
    path : Path
    arguments : sequence of str
    api : {"1", "2", "eager"}

    Returns
    -------
    int
        The program's exit code.
    """
    census = Census()
    seen = watching(recorder.keep, recorder.around), watching_tapes(recorder.keep_step)
    with progress("dualgrad record: runs"), recorder.listening(), seen[0], seen[1], noting_events() as recorder.events:
        code = finished(lambda: run(path, list(arguments), api, census.facades()))
    made = {"backend": "dualgrad", "version": engine.__version__, **machine()}
    recorder.finish(made, code, {"arguments": list(arguments), "api": api}, census)
    return code
