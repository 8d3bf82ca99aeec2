"""``python -m bench here``: in about a minute, what this machine takes for elementary functions and for six problems.

Functions stand beside those of NumPy or SciPy, problems beside the fastest way of each peer that is installed.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.special

from bench.calibrate import calibrate, described
from bench.jacobians import MODES, NotHere
from bench.measure import interleaved
from bench.peer_jacobians import installed
from bench.problems import PROBLEMS, label
from bench.rounds import blas
from bench.run import kernels_are_chosen, on_threads
from bench.text import DASH, as_text, duration
from engine.runtime import elementary
from engine.runtime.elementary.functions import FUNCTIONS

SIX = ("mlp", "recurrent", "hand", "burgers", "logistic", "brusselator")
COUNT = 10_000
"""Numbers that functions are timed on: they stay in a cache."""
OTHERS = {"sigmoid": "expit", "log_sigmoid": "log_expit"}
"""SciPy's names for functions of ours."""
KINDS = (np.float64, np.float32)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the options of the command."""
    parser.add_argument("--seconds", type=float, default=1.0, help="for each problem (default 1), and all functions")


def run(options: argparse.Namespace) -> int:
    """Print facts about the machine and two tables; 2 if the environment makes them meaningless."""
    if kernels_are_chosen():
        return 2
    with on_threads(1):
        print("\n".join(f"{what}: {value}" for what, value in [*machine(), *described(calibrate(0.1))]))
        names = [f"{owner}, {np.dtype(kind)}" for kind in KINDS for owner in ("ours", "NumPy or SciPy")]
        rows = [("ns an element", *names), *[functions(name, options.seconds / len(FUNCTIONS)) for name in FUNCTIONS]]
        print("", as_text(rows, words=1), "", sep="\n", flush=True)
        modes = [*MODES, *installed()]
        print(as_text([("problem", *modes), *[problem(name, modes, options.seconds) for name in SIX]], words=1))
    return 0


def machine() -> list[tuple[str, str]]:
    """The processor and the BLAS."""
    from pytest_benchmark.plugin import pytest_benchmark_generate_machine_info

    facts = pytest_benchmark_generate_machine_info()
    name = f"{facts['cpu'].get('brand_raw') or facts['machine']}, {facts['cpu'].get('count')} cores"
    vectors = f"vectors of {elementary.widest()} bytes"
    return [("processor", f"{name}, {vectors}"), ("BLAS", ", ".join(blas())), ("NumPy", np.__version__)]


def operands(name: str, kind: Any) -> np.ndarray:
    """Numbers for which a function is defined, a row for each operand."""
    drawn = np.random.default_rng(0).uniform(0.1, 0.9, (FUNCTIONS[name].operands, COUNT))
    return (1 / drawn if name == "arccosh" else drawn).astype(kind)


def functions(name: str, seconds: float) -> tuple[str, ...]:
    """Nanoseconds an element of one function and its counterpart, in double and in single precision."""
    other = getattr(np, FUNCTIONS[name].numpy or "", None) or getattr(scipy.special, OTHERS.get(name, name), None)
    calls = {"ours": getattr(elementary, name), **({} if other is None else {"other": other})}
    shown = []
    for kind in KINDS:
        timed = {who: partial(call, *operands(name, kind), out=np.empty(COUNT, kind)) for who, call in calls.items()}
        least = {who: min(times) / COUNT for who, times in interleaved(timed, seconds / len(KINDS)).items()}
        shown += [f"{1e9 * least[who]:.1f}" if who in least else DASH for who in ("ours", "other")]
    return (name, *shown)


def problem(name: str, modes: list[str], seconds: float) -> tuple[str, ...]:
    """The least times of a later call of one problem, in each mode and by each peer, whose results were checked."""
    from bench.test_jacobian import BEST, Place

    place = Place(PROBLEMS[name], PROBLEMS[name].quick[0])
    calls = {}
    for mode in modes:
        print(f"{name}: {mode}", file=sys.stderr)
        try:
            calls[mode] = place.prepared(mode, "auto" if mode in MODES else BEST)
        except (NotHere, pytest.skip.Exception):
            continue
    least = {mode: min(times) for mode, times in interleaved(calls, seconds).items()}
    return (f"{name} {label(place.size)}", *[duration(least.get(mode)) for mode in modes])
