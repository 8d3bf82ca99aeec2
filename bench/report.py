"""One model in both modes, on real data: the first part of ``python -m bench report``.

Trains a small multilayer perceptron on the handwritten digits that scikit-learn ships, through `graph_api` and through
`tape_api` at the same time from the same weights, and compares every loss and every gradient bit by bit. Then measures
what the Jacobian of the logits costs by each method of each mode, and checks the result against central differences.

Writes ``report.json``, which ``pytest-benchmark compare`` reads.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from bench import digits, digits_graph, digits_tape, page
from bench.jacobians import afresh
from bench.measure import Measurement, measure, write_json
from bench.svg import BLUE, ORANGE, SKY, VERMILLION, Bars, Line, bar_chart, line_chart
from bench.text import as_text, readable

RATE = 0.01
GROUPS = {"d logits / d pixels": True, "d logits / d weights": False}
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


def sections(out: Path, steps: int = 400, examples: int = 16, seconds: float = 1.0) -> tuple[list[str], bool]:
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
    models: dict[str, digits.Model] = {
        "graph": digits_graph.GraphModel(initial, RATE),
        "tape": digits_tape.TapeModel(initial, RATE),
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
    for group, wrt_inputs in GROUPS.items():
        difference = functools.partial(digits.central_differences, weights, x, wrt_inputs)
        reference, graph_rows = difference(), None
        for method in (
            *digits_graph.jacobian_methods(weights, x, wrt_inputs),
            *digits_tape.jacobian_methods(weights, x, wrt_inputs),
            digits.Method(REFERENCE, lambda call=difference: call),  # type: ignore[misc]
        ):
            _progress(f"{group}: {method.name}")
            with afresh():  # a plan made for one mode serves the other too, but each first call shall be one
                measurement, found = measure(group, method.name, method.prepare, seconds)
            graph_rows = graph_rows or found
            error = max(float(np.max(np.abs(a - b))) for a, b in zip(found, reference, strict=True))
            same = all(digits.same_bits(a, b) for a, b in zip(found, graph_rows, strict=True))
            measurement.extra.update(error=error, same_bits=same)
            measurements.append(measurement)
            right &= error < 1e-4 and (same or not method.name.endswith("row by row"))
    return measurements, right


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
            *(("–", "–") if m.name == REFERENCE else (f"{m.extra['error']:.0e}", _bits(m))),
        )
        for m in measurements
    ]


def _bits(m: Measurement) -> str:
    return "same" if m.extra["same_bits"] else "rounding"


def as_body(training: Training, measurements: Sequence[Measurement], examples: int) -> list[str]:
    """The HTML page without its frame."""
    curves = [
        Line("graph mode", training.losses["graph"], SKY, width=5),
        Line("tape mode", training.losses["tape"], VERMILLION, width=1.5),
    ]
    bars = [
        Bars(group, [(m.name, (1e3 * m.first, 1e3 * m.warm)) for m in measurements if m.group == group])
        for group in GROUPS
    ]
    steps = [(m.name, "Adam", readable(1e3 * m.first), readable(1e3 * m.warm)) for m in training.measurements]
    return [
        f"<p>{INTRODUCTION}</p>",
        page.verdict(training.summary(), training.equal),
        line_chart("Loss of each step: the two curves are one", curves, "step", "loss")
        if training.equal
        else line_chart("Loss of each step", curves, "step", "loss"),
        "<h2>What a Jacobian costs</h2>",
        f"<p>{COSTS.format(examples=examples)}</p>",
        bar_chart(
            "Time for one Jacobian",
            bars,
            [("first call", ORANGE), ("later calls (median)", BLUE)],
            "milliseconds (logarithmic scale)",
        ),
        page.table(HEAD, as_rows(measurements)),
        "<h2>What a step of training costs</h2>",
        page.table(("mode", "optimizer", "first step, ms", "later steps (median), ms"), steps),
    ]


def _progress(stage: str, detail: str = "") -> None:
    """Show what is going on: on one line of a terminal, else a line per stage."""
    if sys.stderr.isatty():
        print(f"\r\033[K{stage}{detail}", end="", file=sys.stderr, flush=True)
    elif stage and not detail:
        print(stage, file=sys.stderr, flush=True)
