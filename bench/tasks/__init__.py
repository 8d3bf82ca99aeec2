"""``python -m bench tasks``: whole tasks as processes of their own, beside what people would take instead.

A process imports what it needs, makes or reads its data, computes, and prints its answer (`programs`). Bytecode is
cached, since a first round is not counted; answers have to agree.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench import digits
from bench.results import NotABenchmark
from bench.run import on_threads
from bench.tasks.programs import BY_HAND, DIGITS, OURS, SCIPY
from bench.text import DASH, as_markdown, duration, times

HERE = Path(__file__).resolve().parent
HEAD: tuple[str, ...] = ("task", "ours", "others", "the best other / ours")
INSTALLED = {OURS: "tape_api", BY_HAND: "scipy", SCIPY: "scipy", "JAX": "jax", "TensorFlow": "tensorflow"}
INSTALLED |= {"scikit-learn": "sklearn"}
TASKS: dict[str, tuple[str, float, tuple[str, ...]]] = {
    "logistic": ("logistic regression, digits, L-BFGS", 1e-6, ("JAX", "TensorFlow", SCIPY)),
    "curve_fit": ("curve fit, 5 parameters, 100,000 points", 1e-6, (SCIPY, "JAX")),
    "constrained": ("trust-constr, Rosenbrock 200 with constraints", 1e-4, ("JAX", SCIPY)),
    "brusselator": ("stiff Brusselator, 2 x 500, BDF", 1e-6, (BY_HAND, SCIPY, "JAX")),
    "bratu": ("Bratu, 300 x 300, Newton", 1e-5, (SCIPY,)),
    "network": ("network on digits, 20 epochs", 1e-2, ("TensorFlow",)),
    "gaussian_process": ("Gaussian process, 300 points", 1e-6, ("scikit-learn", "JAX")),
    "session": ("TensorFlow 1 program, 3,000 steps", 1e-2, ("TensorFlow",)),
    "neural_ode": ("neural ODE, 40 steps of Runge and Kutta", 1e-4, ("JAX", "TensorFlow")),
    "bundle": ("bundle adjustment, 8,000 observations", 1e-4, (BY_HAND,)),
    "physics": ("physics-informed network, L-BFGS", 1e-2, ("JAX", "TensorFlow")),
    "sampler": ("Hamiltonian Monte Carlo, 5,000 gradients", 1e-6, ("JAX",)),
}
"""By its program, what a task is, how far answers may lie apart, and what stands beside us."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the options of the command."""
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"of {', '.join(TASKS)} (default: all)")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each, the fastest of which counts (3)")
    parser.add_argument("--cpu", action="store_true", help="show the processor's seconds: for a machine in use")


def run(options: argparse.Namespace) -> int:
    """Print a table in Markdown; 1 if answers do not agree."""
    if unknown := [name for name in options.tasks if name not in TASKS]:
        raise NotABenchmark(f"tasks: argument `TASK` must be one of {', '.join(TASKS)}; got {', '.join(unknown)}")
    rows, apart = [HEAD], 0
    with tempfile.TemporaryDirectory() as folder, on_threads(1):
        data = digits.load()
        np.savez(Path(folder, DIGITS), x=data.train_x, labels=data.train_labels)
        for name in options.tasks or TASKS:
            row, differ = _row(name, folder, options.rounds, options.cpu)
            print(row, file=sys.stderr, flush=True)
            rows.append(row)
            apart += differ
    print(as_markdown(rows, words=1))
    return 1 if apart else 0


def _row(name: str, folder: str, rounds: int, cpu: bool) -> tuple[tuple[str, ...], bool]:
    """A row of the table, and whether an answer is another one than ours."""
    what, close, others = TASKS[name]
    there = [library for library in (OURS, *others) if importlib.util.find_spec(INSTALLED[library])]
    answers: dict[str, Any] = {}
    least = dict.fromkeys(there, float("inf"))
    for first in [True, *[False] * rounds]:
        for library in there:
            seconds, answers[library] = _process(name, library, folder, cpu)
            least[library] = least[library] if first else min(least[library], seconds)
    differ = [x for x in there if not np.allclose(answers[x], answers[OURS], close, close)]
    cells = [f"{x} {duration(least.get(x))}{' (ANOTHER ANSWER)' * (x in differ)}" for x in others]
    best = min((least[x] for x in there[1:] if x not in differ), default=None)
    ratio = DASH if best is None else times(best / least[OURS])
    return (what, duration(least[OURS]), ", ".join(cells), ratio), bool(differ)


def _process(name: str, library: str, folder: str, cpu: bool) -> tuple[float, np.ndarray]:
    """The seconds of a whole process, and its answer."""
    import resource  # which Windows has not

    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    paths = [str(HERE), str(HERE.parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment |= {"PYTHONPATH": os.pathsep.join(paths), "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-c", "import programs; programs.main()", name, library]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{name} by {library} failed:\n{done.stderr[-2000:]}")
    used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return used if cpu else wall, np.array(json.loads(done.stdout.splitlines()[-1]))
