"""Steps under ``tf.function``: ``python -m bench.functions`` times them beside TensorFlow, which computes the same.

Each is written once, with the module as `tf`. Weights and data are the same arrays in both, and so are the losses of
the first steps, up to rounding: that is checked. Ours is timed as a program and as Python.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

import tape_api
from bench import peers
from bench.measure import interleaved
from bench.run import on_threads
from bench.text import as_markdown, duration, times

Step = Callable[[], Any]
HEAD = ("step", "first call", "TensorFlow's", "as Python", "as a program", "TensorFlow", "TensorFlow / ours")
CHECKED = 3
"""First steps whose results are compared."""
CLOSE = 2e-3
"""How far they may differ, relatively: rounding in single precision, which training amplifies."""


def _drawn(*shape: int) -> np.ndarray:
    rng = np.random.default_rng(int(np.prod(shape)))
    return np.asarray(rng.normal(size=shape) * 0.3, np.float32)


def _classes(most: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(most).integers(0, most, shape).astype(np.int32)


def _with_weights(model: Any, *given: Any) -> Any:
    """A layer or model, built, with weights that are the same in every library."""
    model(*given)
    model.set_weights([_drawn(*w.shape) / np.sqrt(max(w.shape[:1], default=1)) for w in model.get_weights()])
    return model


def classifier(tf: Any, rows: int, inputs: int, hidden: int) -> Step:
    """Adam on a network of Keras layers."""
    layers = tf.keras.layers
    x, labels = tf.constant(_drawn(rows, inputs)), tf.constant(_classes(10, rows))
    dense = [layers.Dense(hidden, activation="relu"), layers.Dense(hidden, activation="relu"), layers.Dense(10)]
    return _supervised(tf, _with_weights(tf.keras.Sequential(dense), x), x, labels)


def images(tf: Any, rows: int) -> Step:
    """The same on images of 28 x 28 pixels, with convolutions and pools."""
    layers = tf.keras.layers
    x, labels = tf.constant(_drawn(rows, 28, 28, 1)), tf.constant(_classes(10, rows))
    model = tf.keras.Sequential(
        [
            *(layers.Conv2D(8, 3, activation="relu"), layers.MaxPooling2D()),
            *(layers.Conv2D(16, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(), layers.Dense(10)),
        ]
    )
    return _supervised(tf, _with_weights(model, x), x, labels)


def language(tf: Any, rows: int, length: int, words: int) -> Step:
    """The same on words, with an embedding and a recurrent layer."""
    layers = tf.keras.layers
    x, labels = (tf.constant(_classes(words - i, rows, length)) for i in (0, 1))
    model = tf.keras.Sequential([
        *(layers.Embedding(words, 16), layers.GRU(32, return_sequences=True), layers.Dense(words)),
    ])  # fmt: skip
    return _supervised(tf, _with_weights(model, x), x, labels)


def _supervised(tf: Any, model: Any, x: Any, labels: Any) -> Step:
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = tf.keras.optimizers.Adam(0.001)

    @tf.function  # type: ignore[untyped-decorator]
    def step(x: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return lambda: step(x, labels)


def physics(tf: Any, points: int) -> Step:
    """A network that is to solve Burgers' equation: tapes in tapes."""
    sizes = (2, 20, 20, 20, 20, 1)
    weights = [tf.Variable(_drawn(a, b)) for a, b in pairwise(sizes)]
    biases = [tf.Variable(np.zeros(b, np.float32)) for b in sizes[1:]]
    variables, optimizer = [*weights, *biases], tf.keras.optimizers.Adam(0.001)
    x, t = tf.constant(_drawn(points, 1)), tf.constant(np.abs(_drawn(points, 1)))

    def network(x: Any, t: Any) -> Any:
        h = tf.concat([x, t], 1)
        for w, b in zip(weights[:-1], biases[:-1], strict=True):
            h = tf.tanh(tf.matmul(h, w) + b)
        return tf.matmul(h, weights[-1]) + biases[-1]

    @tf.function  # type: ignore[untyped-decorator]
    def step(x: Any, t: Any) -> Any:
        with tf.GradientTape() as tape:
            with tf.GradientTape() as second:
                second.watch(x)
                with tf.GradientTape(persistent=True) as first:
                    first.watch([x, t])
                    u = network(x, t)
                u_x, u_t = first.gradient(u, x), first.gradient(u, t)
            residual = u_t + u * u_x - 0.01 * second.gradient(u_x, x)
            loss = tf.reduce_mean(tf.square(residual)) + tf.reduce_mean(tf.square(u))
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    return lambda: step(x, t)


def q_learning(tf: Any, rows: int) -> Step:
    """A deep Q network, and a target network that follows it."""
    layers = tf.keras.layers
    before, after = tf.constant(_drawn(rows, 8)), tf.constant(_drawn(rows, 8) + 0.1)
    actions, rewards = tf.constant(_classes(4, rows)), tf.constant(_drawn(rows))
    net, target = (
        _with_weights(tf.keras.Sequential([layers.Dense(64, activation="relu"), layers.Dense(4)]), before)
        for _ in range(2)
    )
    optimizer, loss_of = tf.keras.optimizers.Adam(0.001, clipnorm=1.0), tf.keras.losses.Huber()

    @tf.function  # type: ignore[untyped-decorator]
    def step(before: Any, actions: Any, rewards: Any, after: Any) -> Any:
        wanted = rewards + 0.99 * tf.reduce_max(target(after), axis=1)
        with tf.GradientTape() as tape:
            loss = loss_of(wanted, tf.reduce_sum(net(before) * tf.one_hot(actions, 4), axis=1))
        variables = net.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        for slow, fast in zip(target.variables, net.variables, strict=True):
            slow.assign(slow * 0.995 + fast * 0.005)
        return loss

    return lambda: step(before, actions, rewards, after)


def hessian_product(tf: Any, rows: int) -> Step:
    """The product of a Hessian with a vector."""
    w, x, y, v = tf.Variable(_drawn(20, 1)), *map(tf.constant, (_drawn(rows, 20), _drawn(rows, 1), _drawn(20, 1)))

    @tf.function  # type: ignore[untyped-decorator]
    def product(v: Any) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                loss = tf.reduce_mean((tf.tanh(x @ w) - y) ** 2)
            along = tf.reduce_sum(inner.gradient(loss, w) * v)
        return outer.gradient(along, w)

    return lambda: product(v)


STEPS: dict[str, Callable[[Any], Step]] = {
    "classifier 64-64-64-10, 32 rows": lambda tf: classifier(tf, 32, 64, 64),
    "classifier 784-512-512-10, 128 rows": lambda tf: classifier(tf, 128, 784, 512),
    "convolutions, 64 images of 28x28": lambda tf: images(tf, 64),
    "GRU, 16 texts of 20 words": lambda tf: language(tf, 16, 20, 60),
    "Burgers' equation, 200 points": lambda tf: physics(tf, 200),
    "Burgers' equation, 5,000 points": lambda tf: physics(tf, 5000),
    "Q learning, 32 rows": lambda tf: q_learning(tf, 32),
    "product with a Hessian, 100 rows": lambda tf: hessian_product(tf, 100),
}


def _checked(name: str, calls: dict[str, Step]) -> dict[str, float]:
    """Seconds of each first call; all must give the same for the first few."""
    firsts: dict[str, float] = {}
    results: dict[str, list[np.ndarray]] = {}
    for library, call in calls.items():
        start = time.perf_counter()
        results[library] = [np.asarray(call())]
        firsts[library] = time.perf_counter() - start
        results[library] += [np.asarray(call()) for _ in range(CHECKED - 1)]
    for library, found in results.items():
        for got, expected in zip(found, results["program"], strict=True):
            if not np.allclose(got, expected, CLOSE, CLOSE * np.abs(expected).max()):
                raise AssertionError(f"{name}: {library} gives {got}, we give {expected}")
    return firsts


def _read(call: Step) -> np.ndarray:
    return np.asarray(call())


def rows(seconds: float) -> list[tuple[str, ...]]:
    """A row of the table per step."""
    theirs = peers.tensorflow()
    found: list[tuple[str, ...]] = []
    for name, make in STEPS.items():
        python = make(tape_api)

        def as_python(call: Step = python) -> Any:
            tape_api.config.run_functions_eagerly(True)
            try:
                return call()
            finally:
                tape_api.config.run_functions_eagerly(False)

        calls = {"program": make(tape_api), "python": as_python, "tensorflow": make(theirs)}
        firsts = _checked(name, calls)
        read = {library: partial(_read, call) for library, call in calls.items()}
        for call in [*read.values()] * CHECKED:
            call()
        took = {library: float(np.median(t)) for library, t in interleaved(read, seconds).items()}
        found.append(
            (
                *(name, duration(firsts["program"]), duration(firsts["tensorflow"]), duration(took["python"])),
                *(duration(took["program"]), duration(took["tensorflow"]), times(took["tensorflow"] / took["program"])),
            )
        )
        print(as_markdown([HEAD, found[-1]]).splitlines()[-1], file=sys.stderr, flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m bench.functions", description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="time to spend on each step (default: 1)")
    with on_threads(1):
        print(as_markdown([HEAD, *rows(parser.parse_args(arguments).seconds)], words=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
