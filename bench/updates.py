"""From contributions to new values: ``python -m bench.updates`` prints what each part of a step costs.

- *Aggregation*: a gradient of 2 to 1,000 contributions, added up by each method, in both modes.
- *Gating*: a step of Adam over some layers with each setting, in both modes.
- *Updates*: 10,000,000 parameters beside the same update written by hand, in blocks and in place; and 10,000 variables
  of 100 parameters.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import graph_api
import tape_api
from bench import update_tables
from bench.measure import interleaved, peak_bytes
from bench.text import as_markdown
from bench.update_tables import BY_HAND
from engine.core.operands import Operand
from engine.runtime import buffer_pool

Call = Callable[[], Any]
METHODS = ("ADD_N", "EXPERIMENTAL_ACCUMULATE_N", "EXPERIMENTAL_TREE")
COUNTS = (2, 10, 100, 1000)
GATES = ("GATE_NONE", "GATE_OP", "GATE_GRAPH")
MODES = ("graph", "tape")
LENGTH = 10_000
LAYERS, WIDTH = 8, 500
LARGE = 10**7
MANY, SHORT = 10_000, 100
BLOCK = 1 << 15
RATE = 0.1
OPTIMIZERS: dict[str, tuple[str, tuple[float, ...]]] = {
    "SGD": ("GradientDescentOptimizer", (RATE,)),
    "Momentum": ("MomentumOptimizer", (RATE, 0.9)),
    "Adam": ("AdamOptimizer", (RATE,)),
    "Adagrad": ("AdagradOptimizer", (RATE,)),
    "RMSProp": ("RMSPropOptimizer", (RATE,)),
}


def peak(call: Call) -> int:
    """Bytes that a call takes at most beyond what was there before it, with what is kept for it from call to call."""
    call()
    buffer_pool.forget()
    return peak_bytes(call)


# ---- aggregation -----------------------------------------------------------------------------------------------------


def factors(count: int) -> list[float]:
    """The factors of the argument of each contribution."""
    return np.linspace(0.5, 1.5, count).tolist()


def point() -> np.ndarray:
    """Where the gradient is taken."""
    return np.linspace(0.1, 1.0, LENGTH, dtype=np.float32)


def gradient_of(mode: str, count: int, method: str) -> Call:
    """The gradient of a sum of so many functions of one vector."""
    x = point()
    if mode == "graph":
        tf = graph_api
        with tf.Graph().as_default():
            given = tf.placeholder(tf.float32, x.shape)
            loss = tf.add_n([tf.reduce_sum(tf.sin(given * f)) for f in factors(count)])
            (gradient,) = tf.gradients(loss, given, aggregation_method=getattr(tf.AggregationMethod, method))
            session = tf.Session()
        return lambda: session.run(gradient, {given: x})
    v: Any = tape_api.constant(x)
    with tape_api.GradientTape(persistent=True) as tape:
        tape.watch(v)
        value = tape_api.add_n([tape_api.reduce_sum(tape_api.sin(v * f)) for f in factors(count)])
    chosen = getattr(tape_api.AggregationMethod, method)
    return lambda: tape.gradient(value, v, aggregation_method=chosen).numpy()


def exact(count: int) -> np.ndarray:
    """The sum of the contributions, each as float32 arithmetic gives it, without further rounding."""
    x = point()
    return np.sum([np.float64(np.cos(x * np.float32(f)) * np.float32(f)) for f in factors(count)], axis=0)


def error(result: np.ndarray, count: int) -> float:
    """The largest error, in units of the last place of the exact sum."""
    want = exact(count)
    return float(np.max(np.abs(result - want) / np.spacing(np.abs(want).astype(np.float32))))


def aggregation_rows(seconds: float, counts: Sequence[int] = COUNTS) -> list[tuple[str, ...]]:
    """Per number of contributions, mode and method: time, memory, rounding error, and whether both modes agree."""
    rows: list[tuple[str, ...]] = []
    for count in counts:
        calls = {(mode, method): gradient_of(mode, count, method) for mode in MODES for method in METHODS}
        results = {key: call() for key, call in calls.items()}
        times = interleaved({f"{mode} {method}": call for (mode, method), call in calls.items()}, seconds)
        for (mode, method), call in calls.items():
            same = results[mode, method].tobytes() == results[MODES[0], method].tobytes()
            time, wrong = float(np.median(times[f"{mode} {method}"])), error(results[mode, method], count)
            rows.append(update_tables.aggregation_row(count, method, mode, time, peak(call), wrong, same))
    return rows


# ---- gating ----------------------------------------------------------------------------------------------------------


def step_with(mode: str, gate: str) -> Call:
    """A step of Adam over some layers with a setting of `gate_gradients`."""
    tf: Any = graph_api if mode == "graph" else tape_api
    x = np.full((4, WIDTH), 0.5, np.float32)
    starts = [np.eye(WIDTH, dtype=np.float32) * 0.5 for _ in range(LAYERS)]
    optimizer = tf.train.AdamOptimizer(1e-3)

    def loss(variables: Sequence[Any]) -> Operand:
        out = tf.constant(x)
        for w in variables:
            out = tf.tanh(tf.matmul(out, w))
        return tf.reduce_sum(out)

    setting = getattr(type(optimizer), gate)
    if mode == "graph":
        with tf.Graph().as_default():
            variables = [tf.Variable(w) for w in starts]
            train = optimizer.minimize(loss(variables), gate_gradients=setting)
            session = tf.Session()
            session.run(tf.global_variables_initializer())
        return lambda: session.run(train)
    variables = [tf.Variable(w) for w in starts]
    return lambda: optimizer.minimize(lambda: loss(variables), var_list=variables, gate_gradients=setting)


def variable_bytes() -> int:
    """Bytes of all variables of that step, without slots."""
    return LAYERS * WIDTH * WIDTH * 4


def gating_rows(seconds: float) -> list[tuple[str, ...]]:
    """Per mode and setting: time, and memory as a multiple of the variables'."""
    calls = {f"{mode} {gate}": step_with(mode, gate) for mode in MODES for gate in GATES}
    for call in calls.values():
        call()
        call()
    times = interleaved(calls, seconds)
    rows = []
    for name, call in calls.items():
        mode, gate = name.split()
        share = peak(call) / variable_bytes()
        rows.append(update_tables.gating_row(gate, mode, float(np.median(times[name])), share))
    return rows


# ---- updates ---------------------------------------------------------------------------------------------------------


def by_hand(name: str, gradient: np.ndarray) -> Call:
    """The update of an optimizer, in blocks and in place."""
    w, a, b = [np.full(gradient.shape, fill, np.float32) for fill in (1.0, 0.1, 0.0)]
    x, y = np.empty(BLOCK, np.float32), np.empty(BLOCK, np.float32)
    update = _BY_HAND[name]

    def step() -> None:
        for start in range(0, gradient.size, BLOCK):
            part = slice(start, start + BLOCK)
            size = w[part].size
            update(gradient[part], w[part], a[part], b[part], x[:size], y[:size])

    return step


def _sgd(g: Any, w: Any, a: Any, b: Any, x: Any, y: Any) -> None:
    np.multiply(g, np.float32(RATE), out=x)
    np.subtract(w, x, out=w)


def _momentum(g: Any, w: Any, a: Any, b: Any, x: Any, y: Any) -> None:
    np.multiply(a, np.float32(0.9), out=a)
    np.add(a, g, out=a)
    np.multiply(a, np.float32(RATE), out=x)
    np.subtract(w, x, out=w)


def _adam(g: Any, w: Any, a: Any, b: Any, x: Any, y: Any) -> None:
    for average, sample, share in ((a, g, 0.1), (b, np.square(g, out=y), 0.001)):
        np.subtract(sample, average, out=x)
        np.multiply(x, np.float32(share), out=x)
        np.add(average, x, out=average)
    np.sqrt(b, out=x)
    np.add(x, np.float32(1e-8), out=x)
    np.multiply(a, np.float32(RATE), out=y)
    np.divide(y, x, out=y)
    np.subtract(w, y, out=w)


def _adagrad(g: Any, w: Any, a: Any, b: Any, x: Any, y: Any) -> None:
    np.square(g, out=x)
    np.add(a, x, out=a)
    np.sqrt(a, out=x)
    np.multiply(g, np.float32(RATE), out=y)
    np.divide(y, x, out=y)
    np.subtract(w, y, out=w)


def _rmsprop(g: Any, w: Any, a: Any, b: Any, x: Any, y: Any) -> None:
    np.square(g, out=x)
    np.subtract(x, a, out=x)
    np.multiply(x, np.float32(0.1), out=x)
    np.add(a, x, out=a)
    np.add(a, np.float32(1e-10), out=x)
    np.sqrt(x, out=x)
    np.multiply(g, np.float32(RATE), out=y)
    np.divide(y, x, out=y)
    np.multiply(b, np.float32(0.0), out=b)
    np.add(b, y, out=b)
    np.subtract(w, b, out=w)


_BY_HAND: dict[str, Callable[..., None]] = {
    "SGD": _sgd, "Momentum": _momentum, "Adam": _adam, "Adagrad": _adagrad, "RMSProp": _rmsprop,
}  # fmt: skip


def update_of(mode: str, name: str, gradients: Sequence[np.ndarray]) -> Call:
    """An optimizer's step along given gradients."""
    tf: Any = graph_api if mode == "graph" else tape_api
    kind, arguments = OPTIMIZERS[name]
    optimizer = getattr(tf.train, kind)(*arguments)
    if mode == "tape":
        pairs = [(tf.constant(g), tf.Variable(np.ones_like(g))) for g in gradients]
        return lambda: optimizer.apply_gradients(pairs)
    with tf.Graph().as_default():
        given = [tf.Variable(tf.zeros(g.shape), trainable=False) for g in gradients]
        variables = [tf.Variable(tf.ones(g.shape)) for g in gradients]
        train = optimizer.apply_gradients([(g.read_value(), v) for g, v in zip(given, variables, strict=True)])
        session = tf.Session()
        session.run(tf.global_variables_initializer())
        session.load_variables(given, gradients)
    return lambda: session.run(train)


def update_rows(seconds: float, size: int = LARGE, count: int = MANY) -> list[tuple[str, ...]]:
    """Per optimizer and mode: a large update beside the one by hand, its memory, and an update of many variables."""
    rng = np.random.default_rng(0)
    large = rng.standard_normal(size).astype(np.float32)
    small = [rng.standard_normal(SHORT).astype(np.float32) for _ in range(count)]
    rows: list[tuple[str, ...]] = []
    for name in OPTIMIZERS:
        calls = {BY_HAND: by_hand(name, large), **{mode: update_of(mode, name, [large]) for mode in MODES}}
        many = {mode: update_of(mode, name, small) for mode in MODES}
        for call in [*calls.values(), *many.values()] * 3:
            call()
        times = {k: float(np.median(t)) for k, t in interleaved(calls, seconds).items()}
        others = {k: float(np.median(t)) for k, t in interleaved(many, seconds).items()}
        rows += [
            update_tables.update_row(
                name, mode, size, times[BY_HAND], times[mode], peak(calls[mode]), count, others[mode]
            )
            for mode in MODES
        ]
    return rows


# ---- the tables ------------------------------------------------------------------------------------------------------

TABLES: tuple[tuple[tuple[str, ...], Callable[[float], list[tuple[str, ...]]]], ...] = (
    (update_tables.AGGREGATION_HEAD, aggregation_rows),
    (update_tables.GATING_HEAD, gating_rows),
    (update_tables.UPDATE_HEAD, update_rows),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m bench.updates", description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="time to spend on each group (default: 1)")
    seconds = parser.parse_args(arguments).seconds
    for head, rows in TABLES:
        print(as_markdown([head, *rows(seconds)]), end="\n\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
