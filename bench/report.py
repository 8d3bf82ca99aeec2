"""One model in both modes, on real data: ``python -m bench.report``.

Trains a small multilayer perceptron on the handwritten digits that scikit-learn ships, through `graph_api` and through
`tape_api` at the same time from the same weights, and compares every loss and every gradient bit by bit. Then measures
what the Jacobian of the logits costs by each method of each mode, and checks the result against central differences.

Writes ``report.html`` and ``report.json`` (which ``pytest-benchmark compare`` reads).
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import graph_api
import tape_api
from bench import digits, page
from bench.jacobians import afresh, matrix, numeric, ours
from bench.measure import Measurement, measure, write_json
from bench.namespaces import ArrayNamespace
from bench.plots import Dot, dots, styles
from bench.problems import Problem, Values, mlp_logits
from bench.svg import SKY, VERMILLION, Line, line_chart
from bench.text import as_text, readable

RATE = 0.01
GROUPS = {"d logits / d pixels": True, "d logits / d weights": False}
METHODS = {
    "graph: gradients, row by row": ("graph", "row loop"),
    "graph: jacobian": ("graph", "auto"),
    "tape: gradient, row by row": ("tape", "row loop"),
    "tape: jacobian": ("tape", "auto"),
}
REFERENCE = "NumPy: central differences"
TITLE = "Graph mode and tape mode on handwritten digits"
HEAD = ("Jacobian", "method", "first call, ms", "later calls, ms", "× fastest", "error", "bits")

INTRODUCTION = """One multilayer perceptron (64-32-10, tanh, softmax cross entropy) is trained on the 1,797 handwritten
digits that scikit-learn ships, by two programs: one builds a graph and runs it in a session, one records each step on a
tape. Both start from the same weights and see the same minibatches."""
COSTS = """The Jacobian of the logits ({examples} digits, 10 logits each) with respect to the pixels and to the weights.
The first call includes what is done once, such as building the graph. “Error” is the largest difference from central
differences in float64; the methods themselves work in float32. “Bits” says whether the result is equal to the bit to
graph mode's rows: computed row by row it must be; a vectorized Jacobian multiplies larger matrices, and may round
differently."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the report; return 0 if graph and tape agree to the bit and the Jacobians are right."""
    parser = argparse.ArgumentParser(prog="python -m bench.report", description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("report"), help="folder to write to (default: report)")
    parser.add_argument("--steps", type=int, default=400, help="steps of training (default: 400)")
    parser.add_argument("--examples", type=int, default=16, help="digits in the Jacobian's batch (default: 16)")
    parser.add_argument("--seconds", type=float, default=0.3, help="time to spend on each measurement (default: 0.3)")
    options = parser.parse_args(arguments)
    print("About half a minute: a model is trained in both modes, then its Jacobians are timed.", file=sys.stderr)
    body, right = sections(options.out, options.steps, options.examples, options.seconds)
    (options.out / "report.html").write_text(page.page(TITLE, body, footer()), encoding="utf-8")
    print(f"\nWritten: {options.out / 'report.html'} and {options.out / 'report.json'}")
    print("All other timings, beside TensorFlow, JAX and others: make bench (half an hour)")
    return 0 if right else 1


def sections(out: Path, steps: int = 400, examples: int = 16, seconds: float = 0.3) -> tuple[list[str], bool]:
    """Train and measure, print the findings, write ``report.json``.

    Returns
    -------
    list of str
        The page without its frame.
    bool
        Whether the modes agree to the bit and the Jacobians are right.
    """
    data = digits.load()
    # Such small matrices gain nothing from a second thread, and timings suffer when another program wants that core
    with threadpool_limits(1):
        training = train(data, steps)
        measurements, right = jacobians(training.weights, data.test_x[:examples], seconds)
    _progress("")
    print(training.summary())
    print()
    print(as_text([HEAD, *as_rows(measurements)]))
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "report.json", [*training.measurements, *measurements])
    return as_body(training, measurements, examples), training.equal and right


# ---- training --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Training:
    """The results of training in both modes.

    Attributes
    ----------
    losses : dict
        Per mode the loss of each step.
    different : list of int
        The steps whose loss or gradients differ between the modes in any bit.
    same_weights : bool
        Whether the final weights are the same to the bit.
    accuracy : dict
        Per mode the share of test digits that are recognized.
    weights : list of array
        The final weights.
    measurements : list of Measurement
        Time per step, per mode.
    """

    losses: dict[str, list[float]]
    different: list[int]
    same_weights: bool
    accuracy: dict[str, float]
    weights: list[digits.Array]
    measurements: list[Measurement]

    @property
    def equal(self) -> bool:
        """Whether graph and tape agree to the bit."""
        return not self.different and self.same_weights

    def summary(self) -> str:
        """The finding in words."""
        steps = len(self.losses["graph"])
        if self.equal:
            finding = (
                f"The loss and all {len(self.weights)} gradients of each step are equal to the bit in both modes, "
                f"and so are the final weights."
            )
        else:
            finding = (
                f"THE MODES DIFFER in {len(self.different)} steps (first: {self.different[:3]}); "
                f"the final weights are {'equal' if self.same_weights else 'different'}."
            )
        scores = " and ".join(f"{a:.1%} ({mode})" for mode, a in self.accuracy.items())
        return f"{steps} steps of Adam. {finding} Test accuracy: {scores}."


def train(data: digits.Digits, steps: int) -> Training:
    """Train in both modes, step by step side by side."""
    initial = digits.initial_weights()
    models: dict[str, digits.GraphModel | digits.TapeModel] = {
        "graph": digits.GraphModel(graph_api, initial, lambda tf: tf.train.AdamOptimizer(RATE)),
        # Keras's Adam has another epsilon, and computes powers of beta anew where this one multiplies them up
        "tape": digits.TapeModel(tape_api, initial, lambda tf: tf.compat.v1.train.AdamOptimizer(RATE)),
    }
    losses: dict[str, list[float]] = {mode: [] for mode in models}
    seconds: dict[str, list[float]] = {mode: [] for mode in models}
    different = []
    _progress("Training in both modes")
    for i, (x, labels) in enumerate(digits.batches(data, steps)):
        done = {}
        for mode, model in models.items():
            start = time.perf_counter()
            done[mode] = model.step(x, labels)
            seconds[mode].append(time.perf_counter() - start)
            losses[mode].append(float(done[mode].loss))
        if not done["graph"].same_bits(done["tape"]):
            different.append(i)
        _progress("Training in both modes", f": step {i + 1} of {steps}, loss {losses['graph'][-1]:.3f}")
    weights = {mode: model.weights() for mode, model in models.items()}
    return Training(
        losses,
        different,
        all(digits.same_bits(a, b) for a, b in zip(*weights.values(), strict=True)),
        {mode: digits.accuracy(model.logits(data.test_x), data.test_labels) for mode, model in models.items()},
        weights["graph"],
        [Measurement("one step of training", mode, s[0], s[1:] or s) for mode, s in seconds.items()],
    )


# ---- Jacobians -------------------------------------------------------------------------------------------------------


def jacobians(weights: list[digits.Array], x: digits.Array, seconds: float) -> tuple[list[Measurement], bool]:
    """Measure each method of each mode.

    Returns
    -------
    list of Measurement
        With the extra facts ``error`` (from central differences) and ``same_bits`` (as graph mode's rows).
    bool
        Whether all are right, and rows computed one by one are equal to the bit in both modes.
    """
    measurements, right = [], True
    for group, of_inputs in GROUPS.items():
        values = (x, *weights) if of_inputs else (*weights, x)
        exact = tuple([v.astype(np.float64) for v in values])
        count, logits = 1 if of_inputs else len(weights), partial(_logits, of_inputs)
        problem = Problem("dense", logits, lambda *_: (), lambda *_: (), (), (), count, dtype=np.float32, name="digits")
        # an answer that owes us nothing
        plain = partial(_of_sources, problem, exact)
        ways = {name: partial(ours, problem, values, *how) for name, how in METHODS.items()}
        reference, graph_rows = matrix(problem, values, numeric(problem, exact, plain)()), None
        for name, prepare in {**ways, REFERENCE: partial(numeric, problem, exact, plain)}.items():
            _progress(f"{group}: {name}")
            with afresh():  # a plan made for one mode serves the other too, but each first call shall be one
                measurement, result = measure(group, name, prepare, seconds)
            found = matrix(problem, values, result)
            graph_rows = found if graph_rows is None else graph_rows
            error, same = float(np.max(np.abs(found - reference))), digits.same_bits(found, graph_rows)
            measurement.extra.update(error=error, same_bits=same)
            measurements.append(measurement)
            right &= error < 1e-4 and (same or not name.endswith("row by row"))
    return measurements, right


def _logits(of_inputs: bool, tf: Any, *values: Any) -> Any:
    """The logits; what they are differentiated with respect to comes first."""
    x, weights = (values[0], values[1:]) if of_inputs else (values[-1], values[:-1])
    return mlp_logits(tf, x, weights)


def _of_sources(problem: Problem, values: Values, *sources: Any) -> Any:
    return problem.function(ArrayNamespace(np), *sources, *values[problem.sources :])


# ---- showing ---------------------------------------------------------------------------------------------------------


def as_rows(measurements: Sequence[Measurement]) -> list[tuple[str, ...]]:
    """The table's cells."""
    fastest: dict[str, float] = {}
    for m in measurements:
        fastest[m.group] = min(fastest.get(m.group, m.warm), m.warm)
    return [
        (
            m.group,
            m.name,
            readable(1e3 * m.first),
            readable(1e3 * m.warm),
            f"{m.warm / fastest[m.group]:.1f}",
            *(("–", "–") if m.name == REFERENCE else (f"{x['error']:.0e}", "same" if x["same_bits"] else "rounding")),
        )
        for m in measurements
        for x in [m.extra]
    ]


def as_body(training: Training, measurements: Sequence[Measurement], examples: int) -> list[str]:
    """The HTML page without its frame."""
    curves = [
        Line("graph mode", training.losses["graph"], SKY, width=5),
        Line("tape mode", training.losses["tape"], VERMILLION, width=1.5),
    ]
    series = {"first call": attrgetter("first"), "later calls (median)": attrgetter("warm")}
    rows = [(f"{m.group}: {m.name}", [Dot(k, *[1e3 * of(m)] * 3) for k, of in series.items()]) for m in measurements]
    steps = [(m.name, "Adam", readable(1e3 * m.first), readable(1e3 * m.warm)) for m in training.measurements]
    return [
        f"<p>{INTRODUCTION}</p>",
        page.verdict(training.summary(), training.equal),
        line_chart("Loss of each step: the two curves are one", curves, "step", "loss")
        if training.equal
        else line_chart("Loss of each step", curves, "step", "loss"),
        "<h2>What a Jacobian costs</h2>",
        f"<p>{COSTS.format(examples=examples)}</p>",
        dots("Time for one Jacobian", rows, styles([*series]), "milliseconds (logarithmic)"),
        page.table(HEAD, as_rows(measurements)),
        "<h2>What a step of training costs</h2>",
        page.table(("mode", "optimizer", "first step, ms", "later steps (median), ms"), steps),
    ]


def footer() -> str:
    """Where the page comes from."""
    machine = f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}"
    return f"Made by python -m bench.report on {machine}, one thread."


def _progress(stage: str, detail: str = "") -> None:
    """Show what is going on: on one line of a terminal, else a line per stage."""
    if sys.stderr.isatty():
        print(f"\r\033[K{stage}{detail}", end="", file=sys.stderr, flush=True)
    elif stage and not detail:
        print(stage, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
