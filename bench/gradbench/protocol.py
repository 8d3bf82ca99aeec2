"""GradBench's protocol: one JSON message a line on standard input, one answer a line on standard output."""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
from collections.abc import Iterable, Iterator
from typing import Any

from bench.gradbench import table
from bench.gradbench.differentiate import MODES, Mode
from bench.gradbench.evals import EVALS


def evaluated(message: dict[str, Any], mode: Mode) -> dict[str, Any]:
    """The answer to ``evaluate``: the output, and a time for each run.

    The first run, in which programs are made, is reported as ``"first"`` and is none of those that are timed.
    """
    given, evaluation = message["input"], EVALS[message["module"]][message["function"]]
    options: dict[str, Any] = given if isinstance(given, dict) else {}
    start = time.perf_counter_ns()
    call = evaluation.prepare(mode, given)
    result = call()
    timings = [{"name": "first", "nanoseconds": time.perf_counter_ns() - start}]
    least, seconds = int(options.get("min_runs", options.get("runs", 1))), float(options.get("min_seconds", 0))
    total = runs = 0
    while runs < least or total < seconds * 1e9:
        start = time.perf_counter_ns()
        result = call()
        spent = time.perf_counter_ns() - start
        total, runs = total + spent, runs + 1
        timings.append({"name": "evaluate", "nanoseconds": spent})
    return {"success": True, "output": evaluation.shown(result, given), "timings": timings}


def answer(message: dict[str, Any], mode: Mode) -> dict[str, Any]:
    """The answer to a message, without its number."""
    kind = message["kind"]
    if kind == "start":
        return {"tool": f"dualgrad-{mode}"}
    if kind == "define":
        known = message["module"] in EVALS
        return {"success": known} if known else {"success": False, "error": f"no eval {message['module']!r}"}
    if kind == "evaluate":
        try:
            return evaluated(message, mode)
        except Exception:  # noqa: BLE001 - the protocol reports errors, and goes on
            return {"success": False, "error": traceback.format_exc()}
    return {}


def answers(lines: Iterable[str], mode: Mode) -> Iterator[str]:
    """The answers to messages, line by line."""
    for line in lines:
        if line.strip():
            message = json.loads(line)
            yield json.dumps({"id": message["id"], **answer(message, mode)})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument("--mode", choices=MODES, default="graph", help="how derivatives are taken (default: graph)")
    parser.add_argument("--table", action="store_true", help="print a table beside C++ by hand instead (needs g++)")
    parser.add_argument("--seconds", type=float, default=1.0, help="about how long a row of it takes (default: 1)")


def run(options: argparse.Namespace) -> int:
    """Answer messages until the input ends, or print the table."""
    if options.table:
        print(table.measured(options.seconds))
        return 0
    for line in answers(sys.stdin, options.mode):
        print(line, flush=True)
    return 0
