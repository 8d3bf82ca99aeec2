"""`compare_modes`: which mode is cheaper for your own function, by how much, and why."""

from __future__ import annotations

import inspect
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import graph_api
import tape_api
from bench.digits import same_bits
from bench.jacobians import afresh
from bench.measure import Measurement, as_json, interleaved, peak_bytes
from bench.page import table
from bench.plots import Dot, dots, styles
from bench.text import DASH, amount, as_text, duration, times
from engine.core import nest
from engine.core.operands import Operand
from engine.core.value import Value, address
from engine.numpy_api.manners import as_arrays
from engine.runtime.quoting import markup

HEAD = ("", "graph", "tape", "tape / graph")
MODES = ("graph", "tape")
FUNCTION, DERIVATIVE = "function", "derivative"
_TENSORS = (float, complex, np.ndarray, np.inexact, Value)


def compare_modes(
    fn: Callable[..., Any],
    *args: Any,
    sources: int | Sequence[int] | None = None,
    derivative: str = "auto",
    seconds: float = 1.0,
    **options: Any,
) -> ModeComparison:
    """Time the derivative of a function in graph mode and in tape mode, and check that both give the same bits.

    Parameters
    ----------
    fn : callable
        Returns one tensor. If its first parameter is called `tf`, it is called as ``fn(tf, *tensors)``, with
        `graph_api` or `tape_api` for `tf`; otherwise as ``fn(*tensors)``, and then it uses operators and NumPy's
        functions only.
        Without side effects: it is called many times.
    *args : anything
        What to call it with. Arrays, tensors, floats and lists of floats become tensors, as by ``tf.constant``: what
        has no dtype becomes float32. So do those in lists, tuples and dicts. All else is passed as it is: a Python int
        stays one.
    sources : int or sequence of int, optional
        Which of `args` to differentiate with respect to; by default all that hold floating-point or complex numbers.
    derivative : str
        ``"gradient"`` (of the sum of the elements), ``"jacobian"``, or ``"auto"``: the gradient of a scalar, else the
        Jacobian.
    seconds : float
        About how long to measure.
    **options
        For ``jacobian``, in both modes.

    Returns
    -------
    ModeComparison
        A table when printed, with a figure in Jupyter, a file for ``python -m bench report`` by `to_json`.

    Raises
    ------
    AssertionError
        If the modes differ in any bit of the value or of a derivative.
    ValueError, TypeError
        If there is nothing to differentiate, or `fn` does not return one tensor.
    Exception
        Whatever `fn` raises, with a note that says in which mode.

    Examples
    --------
    >>> from bench import compare_modes
    >>> result = compare_modes(lambda tf, x: tf.reduce_sum(tf.tanh(x) ** 2), [0.5, 1.0], seconds=0)
    >>> result.derivative
    'gradient'
    """
    program = _Program(fn, args, sources, derivative, options)
    firsts: dict[tuple[str, str], float] = {}
    sides: dict[str, _Side] = {}
    for mode, make in (("graph", _graph_side), ("tape", _tape_side)):
        # a plan made for one mode serves the other too, but each first call shall be one
        with afresh(), _noted(program.name, mode):
            sides[mode] = make(program)
            for what, call in sides[mode].calls.items():
                start = time.perf_counter()
                sides[mode].results[what] = call()
                firsts[mode, what] = time.perf_counter() - start
    _assert_same_bits(sides["graph"].results, sides["tape"].results)
    for _ in range(3):
        # a recording that was seen a few times is compiled
        sides["tape"].calls[DERIVATIVE]()
    calls = {f"{mode} {what}": call for mode in MODES for what, call in sides[mode].calls.items()}
    rounds = interleaved(calls, seconds)
    return ModeComparison(
        program.name,
        program.derivative,
        {mode: sides[mode].built for mode in MODES},
        {mode: firsts[mode, DERIVATIVE] for mode in MODES},
        {mode: {what: rounds[f"{mode} {what}"] for what in (FUNCTION, DERIVATIVE)} for mode in MODES},
        {mode: peak_bytes(sides[mode].calls[DERIVATIVE]) for mode in MODES},
        sides["tape"].results[DERIVATIVE],
        program.ops,
    )


@contextmanager
def _noted(name: str, mode: str) -> Iterator[None]:
    """Say in which mode an error arose."""
    try:
        yield
    except Exception as error:
        without_values = ", where tensors have no values while the function runs" if mode == "graph" else ""
        error.add_note(f"compare_modes: {name} was called in {mode} mode{without_values}")
        raise


@dataclass(frozen=True)
class ModeComparison:
    """The costs of a derivative in each mode.

    Attributes
    ----------
    name : str
        Of the function.
    derivative : str
        ``"gradient"`` or ``"jacobian"``.
    built : dict
        Per mode the seconds of what is done before the first run: of the function's graph and the derivative's; nothing
        for a tape.
    first : dict
        Per mode the seconds of the first run (after building).
    rounds : dict
        Per mode, for ``"function"`` and ``"derivative"``, the seconds of one later call in each round.
    peak : dict
        Per mode the bytes that one later call holds at most, beyond what was held before.
    result : list
        The derivative with respect to each source; None for one that the function does not depend on.
    ops : int
        Of how many operations the function is made.
    """

    name: str
    derivative: str
    built: dict[str, tuple[float, float]]
    first: dict[str, float]
    rounds: dict[str, dict[str, list[float]]] = field(repr=False)
    peak: dict[str, int]
    result: list[Any] = field(repr=False)
    ops: int

    def later(self, mode: str, what: str = DERIVATIVE) -> float:
        """Median seconds of a later call."""
        return statistics.median(self.rounds[mode][what])

    def whole_first(self, mode: str) -> float:
        """Seconds until the first derivative is there."""
        return sum(self.built[mode]) + self.first[mode]

    @property
    def break_even(self) -> int | None:
        """From how many calls on graph mode takes less time in all, None if never."""
        saved = self.later("tape") - self.later("graph")
        ahead = self.whole_first("graph") - self.whole_first("tape")
        if ahead <= 0:
            return 1 if saved >= 0 else None
        return math.ceil(1 + ahead / saved) if saved > 0 else None

    def rows(self) -> list[tuple[str, ...]]:
        """The cells of the table, without its head."""
        per_mode: list[tuple[str, dict[str, float | None], Callable[[float | None], str]]] = [
            ("build the function", {m: self.built[m][0] or None for m in MODES}, duration),
            (f"build the {self.derivative}", {m: self.built[m][1] or None for m in MODES}, duration),
            ("first run", dict(self.first), duration),
            ("first call in all", {m: self.whole_first(m) for m in MODES}, duration),
            ("later call (median)", {m: self.later(m) for m in MODES}, duration),
            ("the function alone (median)", {m: self.later(m, FUNCTION) for m in MODES}, duration),
            ("later call by function alone", {m: self.later(m) / self.later(m, FUNCTION) for m in MODES}, times),
            ("memory at most", dict(self.peak), amount),
        ]
        return [
            (label, show(values["graph"]), show(values["tape"]), _quotient(values["tape"], values["graph"]))
            for label, values, show in per_mode
        ]

    def findings(self) -> list[str]:
        """A summary of the table, a sentence each."""
        ratio = self.later("tape") / self.later("graph")
        cheaper, factor = ("graph", ratio) if ratio >= 1 else ("tape", 1 / ratio)
        said = [f"The {self.derivative}s of both modes are equal to the bit."]
        if factor < 1.1:
            said.append("Later calls take about the same time in both modes.")
        else:
            said.append(f"Later calls are cheaper in {cheaper} mode: the other takes {times(factor)} the time.")
        if self.break_even is None:
            said.append("However many calls there are, the tape takes less time in all.")
        elif self.break_even == 1:
            said.append("The graph takes less time in all from the first call on.")
        else:
            said.append(f"Building the graph pays from {self.break_even:,} calls on.")
        if ratio >= 1.1:
            more = self.later("tape") - self.later("graph")
            running = min(more, max(0.0, self.later("tape", FUNCTION) - self.later("graph", FUNCTION)))
            ops = f"{self.ops:,} operation" + "s" * (self.ops != 1)
            said.append(
                f"Of the {duration(more)} that the tape takes longer, {duration(running)} go into running the function "
                f"op by op ({ops}), the rest into recording it and differentiating the recording at each call."
                if running > 0.01 * more
                else f"The {duration(more)} that the tape takes longer go into recording the function ({ops}) and "
                f"differentiating the recording at each call."
            )
        return said

    def __str__(self) -> str:
        title = f"{self.derivative} of {self.name}"
        return "\n".join([as_text([(title, *HEAD[1:]), *self.rows()], words=1), "", *self.findings()])

    def _repr_html_(self) -> str:
        title = f"{self.derivative.capitalize()} of {self.name}"
        found = []
        for label, what in (("the function alone", FUNCTION), (f"{self.derivative}, later call", DERIVATIVE)):
            spreads = [(m, *np.quantile(self.rounds[m][what], [0.5, 0.25, 0.75])) for m in MODES]
            found.append((label, [Dot(m, *(1e3 * float(v) for v in values)) for m, *values in spreads]))
        found.append((f"{self.derivative}, first call", [Dot(m, *[1e3 * self.whole_first(m)] * 3) for m in MODES]))
        figure = dots(title, found, styles(MODES), "milliseconds (logarithmic; lines: the middle half of the rounds)")
        words = " ".join(markup(s) for s in self.findings())
        # the figure is made for a white ground; notebooks may have a dark one
        look = "background: white; color: #222; padding: 8px"
        return f'<div style="{look}">{figure}{table(HEAD, self.rows())}<p>{words}</p></div>'

    def to_json(self, path: Path | str | None = None) -> str:
        """The measurements as pytest-benchmark's JSON, also written to `path` if given (needs pytest-benchmark)."""
        measurements = []
        for mode in MODES:
            for what, rounds in self.rounds[mode].items():
                facts: dict[str, Any] = {"problem": self.name, "mode": mode, "stage": "warm"}
                first = self.first[mode]
                if what == DERIVATIVE:
                    stages = dict(zip(("trace", "plan"), self.built[mode], strict=True))
                    facts |= {"method": "auto", "peak_bytes": self.peak[mode], "stages": stages}
                    facts["j_over_f"] = self.later(mode) / self.later(mode, FUNCTION)
                    first = self.whole_first(mode)
                else:
                    facts["method"] = what
                name = f"{mode}: {self.derivative if what == DERIVATIVE else what}"
                measurements.append(Measurement(self.name, name, first, rounds, facts))
        text = as_json(measurements, "bench/modes.py")
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text


def _quotient(tape: float | None, graph: float | None) -> str:
    return times(tape / graph) if tape and graph else DASH


# ---- the two sides ---------------------------------------------------------------------------------------------------


class _Program:
    """The function with what it is called with, for either front end."""

    def __init__(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any],
        sources: int | Sequence[int] | None,
        derivative: str,
        options: dict[str, Any],
    ) -> None:
        if not callable(fn):
            raise TypeError(f"compare_modes: the first argument must be a function, got {type(fn).__name__}")
        if derivative not in ("auto", "gradient", "jacobian"):
            raise ValueError(f'compare_modes: derivative must be "auto", "gradient" or "jacobian", got {derivative!r}')
        self.fn = fn
        self.name = getattr(fn, "__name__", type(fn).__name__).replace("<lambda>", "a lambda")
        self.ops = 0
        self.options = options
        self.structure = [_joined(arg) for arg in args]
        self.leaves = nest.flatten(self.structure)
        owners = [i for i, arg in enumerate(self.structure) for _ in nest.flatten(arg)]
        self.places = [k for k, leaf in enumerate(self.leaves) if isinstance(leaf, _TENSORS)]
        self.arrays = [_array(self.leaves[k], owners[k]) for k in self.places]
        self.sources = self._sources(sources, [owners[k] for k in self.places])
        self._wants_namespace = _first_parameter(fn) == "tf"
        with _noted(self.name, "tape"):
            tape, target, _ = self.recorded()
        if address(target) not in tape._tape.tracked or not target.dtype.is_differentiable:
            raise ValueError(
                f"compare_modes: nothing to differentiate: what {self.name} returns ({target.dtype.name}) "
                f"does not depend on its sources in a differentiable way"
            )
        scalar = len(target.shape) == 0
        self.derivative = derivative if derivative != "auto" else "gradient" if scalar else "jacobian"
        if options and self.derivative == "gradient":
            raise TypeError(f"compare_modes: {', '.join(options)}: options are for Jacobians, and this is a gradient")
        if options.get("format") == "operator":
            raise ValueError('compare_modes: format="operator" computes nothing that could be compared')

    def _sources(self, asked: int | Sequence[int] | None, owners: Sequence[int]) -> list[int]:
        """Which of the arrays to differentiate with respect to."""
        count = len(self.structure)
        wanted = range(count) if asked is None else [asked] if isinstance(asked, int) else list(asked)
        for i in wanted:
            if not 0 <= i < count:
                raise ValueError(f"compare_modes: sources: there is no argument {i}; there are {count}, from 0 on")
        found = [k for k, i in enumerate(owners) if i in wanted and self.arrays[k].dtype.kind in "fc"]
        if not found:
            raise ValueError(
                "compare_modes: nothing to differentiate: no source holds floating-point or complex numbers"
            )
        return found

    def recorded(self) -> tuple[Any, Any, list[Any]]:
        """A tape on which the function was recorded, its target, the sources."""
        tensors = [tape_api.constant(a) for a in self.arrays]
        sources = [tensors[k] for k in self.sources]
        return *self.recorded_from(tensors, sources), sources

    def recorded_from(self, tensors: Sequence[Any], sources: Sequence[Any]) -> tuple[Any, Any]:
        """The same of tensors that are there already, without the sources."""
        with tape_api.GradientTape() as tape:
            tape.watch(sources)
            return tape, self(tape_api, tensors)

    def __call__(self, tf: Any, tensors: Sequence[Any]) -> Any:
        """The target, from the tensors that stand in the arguments."""
        leaves = list(self.leaves)
        for k, tensor in zip(self.places, tensors, strict=True):
            leaves[k] = tensor
        arguments = nest.pack_sequence_as(self.structure, leaves)
        with as_arrays():
            target = self.fn(tf, *arguments) if self._wants_namespace else self.fn(*arguments)
        if not isinstance(target, Value):
            hint = ": join several, e.g. by tf.concat" if nest.is_nested(target) else ""
            raise TypeError(f"compare_modes: {self.name} must return one tensor, got {type(target).__name__}{hint}")
        return target


def _joined(arg: Any) -> Any:
    """An argument with every list of floats in it as one array."""
    if isinstance(arg, (list, tuple)) and _are_floats(arg):
        return tape_api.constant(arg).numpy()
    if isinstance(arg, dict):
        return {key: _joined(x) for key, x in arg.items()}
    if isinstance(arg, (list, tuple)):
        items = [_joined(x) for x in arg]
        return type(arg)(*items) if hasattr(arg, "_fields") else type(arg)(items)
    return arg


def _are_floats(arg: Any) -> bool:
    """Whether it holds numbers only, not all of them integers."""
    leaves = nest.flatten(arg)
    numbers = all(isinstance(x, (int, float, complex)) and not isinstance(x, bool) for x in leaves)
    return numbers and any(isinstance(x, (float, complex)) for x in leaves)


def _array(leaf: Any, number: int) -> Operand:
    try:
        return tape_api.constant(leaf).numpy()
    except (TypeError, ValueError) as error:
        raise type(error)(f"compare_modes: argument {number}: {error}") from error


def _first_parameter(fn: Callable[..., Any]) -> str:
    try:
        return next(iter(inspect.signature(fn).parameters), "")
    except (TypeError, ValueError):  # some callables written in C do not tell
        return ""


@dataclass(frozen=True)
class _Side:
    """A mode, ready to run: seconds of building function and derivative, and what to call."""

    built: tuple[float, float]
    calls: dict[str, Callable[[], Any]]
    results: dict[str, Any]


def _graph_side(program: _Program) -> _Side:
    tf = graph_api
    with tf.Graph().as_default():
        start = time.perf_counter()
        tensors = [tf.placeholder(a.dtype, a.shape) for a in program.arrays]
        sources = [tensors[k] for k in program.sources]
        target = program(tf, tensors)
        middle = time.perf_counter()
        program.ops = len(target.graph.get_operations()) - len(tensors)
        if program.derivative == "gradient":
            found = [None if g is None else tf.convert_to_tensor(g) for g in tf.gradients(target, sources)]
        else:
            found = tf.jacobian(target, sources, **program.options)
        built = middle - start, time.perf_counter() - middle
        session = tf.Session()
    feed = dict(zip(tensors, program.arrays, strict=True))
    connected = [i for i, f in enumerate(found) if f is not None]

    def derivative() -> list[Any]:
        results: list[Any] = [None] * len(found)
        for i, value in zip(connected, session.run([found[i] for i in connected], feed), strict=True):
            results[i] = value
        return results

    return _Side(built, {FUNCTION: lambda: [session.run(target, feed)], DERIVATIVE: derivative}, {})


def _tape_side(program: _Program) -> _Side:
    tf = tape_api
    tensors = [tf.constant(a) for a in program.arrays]
    sources = [tensors[k] for k in program.sources]

    def derivative() -> list[Any]:
        found: Any
        tape, target = program.recorded_from(tensors, sources)
        if program.derivative == "gradient":
            found = [None if g is None else tf.convert_to_tensor(g) for g in tape.gradient(target, sources)]
        else:
            found = tape.jacobian(target, sources, **program.options)
        return [f.numpy() if hasattr(f, "numpy") else f for f in found]

    return _Side((0.0, 0.0), {FUNCTION: lambda: [program(tf, tensors).numpy()], DERIVATIVE: derivative}, {})


def _assert_same_bits(graph: dict[str, list[Any]], tape: dict[str, list[Any]]) -> None:
    for what, found in graph.items():
        for i, (a, b) in enumerate(zip(found, tape[what], strict=True)):
            if not _same_bits(a, b):
                raise AssertionError(
                    f"compare_modes: graph and tape differ in {what} {i}: graph gives {a!r}, tape gives {b!r}. "
                    f"Does the function draw random numbers, or do something else at each call?"
                )


def _same_bits(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    if hasattr(a, "indptr") and hasattr(b, "indptr"):  # scipy.sparse, by rows
        return a.shape == b.shape and all(
            same_bits(getattr(a, p), getattr(b, p)) for p in ("indptr", "indices", "data")
        )
    return same_bits(a, b)
