"""``python -m bench growth``: time and memory against size of what a program does once: starts, first calls, files.

Each measurement is a process of its own. Power laws are fitted to the times and to the memory that comes on top of what
the process held before.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench import page
from bench.namespaces import ArrayNamespace
from bench.plots import Curve, scaling, styles
from bench.problems import PROBLEMS, chain
from bench.results import NotABenchmark
from bench.text import amount, as_markdown, duration

Program = Callable[[Any, int, Path], Iterator[str]]
"""``program(library, size, folder)``: it says what each step was when it is done, first that all is prepared."""
Points = list[tuple[int, float, float]]
"""Size, seconds, bytes."""
_PATIENCE = 300
"""Seconds that one size may take: a graph of 100,000 nodes with its gradients, minutes in TensorFlow."""
HEAD = ("what", "step", "library", "size", "time", "time ∝", "memory", "memory ∝")
GRAPHS, TAPES = ("graph_api", "tensorflow.compat.v1"), ("tape_api", "tensorflow")
LOOKS = styles([*GRAPHS, *TAPES, "jax"])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the options of the command."""
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)} (default: all)")
    parser.add_argument("--most", type=int, default=10**7, help="largest size (default: each row's own)")
    parser.add_argument("--child", metavar="LIBRARY", help=argparse.SUPPRESS)
    parser.add_argument("-o", "--out", type=Path, default=Path("report"), help="folder to write to (default: report)")


def run(options: argparse.Namespace) -> int:
    """Measure, print a table in Markdown, and write a page with the plots."""
    if unknown := [name for name in options.rows if name not in ROWS]:
        raise NotABenchmark(f"growth: argument `ROW` must be one of {', '.join(ROWS)}; got {', '.join(unknown)}")
    if options.child:
        print(json.dumps(_measured(ROWS[options.rows[0]][0], options.child, options.most)))
        return 0
    table, plots = [], []
    for name in options.rows or ROWS:
        found = _of_row(name, options.most)
        table += [_fitted(name, step, library, points) for (step, library), points in found.items()]
        plots += [f"<h2>{name}</h2>", '<div class="pair">', *_plots(found), "</div>"]
    print(as_markdown([HEAD, *table], words=3))
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "growth.html"
    parts = [page.wide(page.table(HEAD, table)), *plots]
    file.write_text(page.page("How costs grow with the data", parts, "Made by python -m bench growth."), "utf-8")
    print(f"Written: {file}")
    return 0


def _of_row(name: str, most: int) -> dict[tuple[str, str], Points]:
    """By step and library what was measured, each size in a process of its own."""
    found: dict[tuple[str, str], Points] = {}
    _, first, last, libraries = ROWS[name]
    there = [library for library in libraries if importlib.util.find_spec(library.split(".")[0])]
    for library, size in itertools.product(there, [10**k for k in range(first, last + 1) if 10**k <= most]):
        command = [sys.executable, "-m", "bench", "growth", name, "--child", library, "--most", str(size)]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            print(f"{name}, {library}, {size:,}: given up after {_PATIENCE} seconds", file=sys.stderr)
            continue
        print(f"{name}, {library}, {size:,}: {done.stdout}", end="", file=sys.stderr)
        for step, seconds, extra in json.loads(done.stdout.splitlines()[-1]):
            found.setdefault((step, library), []).append((size, seconds, extra))
    return found


def _measured(program: Program, library: str, size: int) -> list[tuple[str, float, float]]:
    """Seconds of each step, and the most bytes until its end beyond those before the first."""
    with tempfile.TemporaryDirectory() as folder:
        running = program(importlib.import_module(library), size, Path(folder))
        next(running)
        steps, before, start = [], _peak(), time.perf_counter()
        for step in running:
            steps.append((step, time.perf_counter() - start, _peak() - before))
            start = time.perf_counter()
        return steps


def _peak() -> float:
    import resource  # which Windows has not

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0)


def _fitted(name: str, step: str, library: str, points: Points) -> tuple[str, ...]:
    size, *last = points[-1]
    cells = []
    for k, (value, shown) in enumerate(zip(last, (duration, amount), strict=True), 1):
        law = _curve(library, points, k).slope
        cells += [shown(value), "–" if law is None else f"{shown(value / size**law)} n^{law:.2f}"]
    return name, step, library, f"{size:,}", *cells


def _curve(library: str, points: Points, k: int) -> Curve:
    # what fits into memory that was there takes a page at least, or its logarithm would be none
    return Curve(library, LOOKS[library], [(p[0], max(p[k], 4096.0 if k == 2 else 1e-9)) for p in points])


def _plots(found: dict[tuple[str, str], Points]) -> Iterator[str]:
    for step in dict.fromkeys(step for step, _ in found):
        for k, what in ((1, "seconds"), (2, "bytes")):
            curves = [_curve(library, points, k) for (of, library), points in found.items() if of == step]
            yield scaling(f"{step}: {what}", curves, "size", what)


# ---- the programs ----------------------------------------------------------------------------------------------------


def saver(tf: Any, size: int, folder: Path) -> Iterator[str]:
    """Zeros in 64 variables, saved and restored."""
    with tf.Graph().as_default(), tf.Session() as session:
        for k in range(64):
            tf.get_variable(f"v{k}", (size // 64,), tf.float64, initializer=tf.zeros_initializer())
        session.run(tf.global_variables_initializer())
        saved = tf.train.Saver()
        yield "ready"
        path = saved.save(session, str(folder / "model"))
        yield "save"
        saved.restore(session, path)
        yield "restore"


def keras(tf: Any, size: int, folder: Path) -> Iterator[str]:
    """A dense layer of so many weights with Adam's state: trained, saved, and loaded."""
    model = tf.keras.Sequential([tf.keras.Input((size // 100,)), tf.keras.layers.Dense(100)])
    model.compile("adam", "mse")
    yield "ready"
    model.fit(np.zeros((8, size // 100)), np.zeros((8, 100)), verbose=0)
    yield "first fit"
    model.save(folder / "model.keras")
    yield "save"
    tf.keras.models.load_model(folder / "model.keras")
    yield "load"


def nodes(tf: Any, size: int, folder: Path) -> Iterator[str]:
    """A graph of so many nodes, and its gradient."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield "ready"
        x = tf.placeholder(tf.float64, ())
        y = chain(tf, x, size)
        yield "build"
        (gradient,) = tf.gradients(y, x)
        yield "gradients"
        for step in ("first run", "second run", "later run"):
            session.run(gradient, {x: 1.0})
            yield step


def _calls(call: Callable[[], Any]) -> Iterator[str]:
    yield "ready"
    for step in ("first call", "second call", "later call"):
        call()
        yield step


def of_problem(name: str, sides: Callable[[int], tuple[int, ...]]) -> Program:
    """The gradient of a problem of the suite, or its csr Jacobian; `sides` makes its size of one number."""
    problem = PROBLEMS[name]

    def program(tf: Any, size: int, folder: Path) -> Iterator[str]:
        values, numbers = problem.values(sides(size)), range(problem.sources)
        if tf.__name__ == "jax":
            tf.config.update("jax_enable_x64", True)
            gradient = tf.jit(tf.grad(partial(problem.function, ArrayNamespace(tf.numpy)), numbers))
            return _calls(lambda: [np.asarray(g) for g in gradient(*values)])
        tensors = [tf.constant(v) for v in values]

        def call(*given: Any) -> Any:
            sources = [given[k] for k in numbers]
            with tf.GradientTape() as tape:
                tape.watch(sources)
                y = problem.function(tf, *given)
            return tape.jacobian(y, sources, format="csr") if problem.format == "csr" else tape.gradient(y, sources)

        called = call if problem.format == "csr" else tf.function(call)
        return _calls(lambda: called(*tensors))

    return program


def records(tf: Any, size: int, folder: Path) -> Iterator[str]:
    """Examples of four numbers, written to a file and parsed in batches; rows mapped before they are batched."""
    file, train = str(folder / "records"), tf.train
    yield "ready"
    with tf.io.TFRecordWriter(file) as writer:
        for k in range(size):
            x = train.Feature(float_list=train.FloatList(value=[k, 1.0, 2.0, 3.0]))
            writer.write(train.Example(features=train.Features(feature={"x": x})).SerializeToString())
    yield "write"
    for batch in tf.data.TFRecordDataset(file).batch(1024):
        tf.io.parse_example(batch, {"x": tf.io.FixedLenFeature([4], tf.float32)})
    yield "parse"
    list(tf.data.Dataset.from_tensor_slices(np.zeros((size, 8))).map(lambda row: row * 2.0 + 1.0).batch(256))
    yield "map"


ROWS: dict[str, tuple[Program, int, int, Sequence[str]]] = {
    "saver": (saver, 4, 7, GRAPHS),
    "keras": (keras, 4, 7, TAPES),
    "network": (of_problem("network", lambda n: (n, 64, 128)), 2, 5, ("tape_api", "jax")),
    "stencil": (of_problem("burgers", lambda n: (n,)), 4, 7, ("tape_api",)),
    "bundle": (of_problem("bundle", lambda n: (1 + n // 100, 1 + n // 10, n)), 3, 6, ("tape_api",)),
    "nodes": (nodes, 3, 5, GRAPHS),
    "records": (records, 3, 5, TAPES),
    "gaussian process": (of_problem("gaussian_process", lambda n: (n, 3)), 1, 3, (*TAPES, "jax")),
}
"""The program, between which powers of ten its sizes lie, and with which libraries it is measured."""
