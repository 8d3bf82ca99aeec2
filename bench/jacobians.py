"""Our own ways to a derivative: graph and tape, each by several methods. Every way is a callable ready to be timed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

import graph_api
import tape_api
from bench.problems import Problem, Values
from engine import replay

Runner = Callable[[], Any]
MODES = ("graph", "tape")
METHODS = ("auto", "forward", "reverse", "row loop", "numeric")
LARGEST = 1 << 28
"""Bytes of a dense result beyond which nobody wants it."""


class NotHere(Exception):
    """A library or a mode lacks a method, or the method makes no sense for a problem; the message says why."""


def ours(problem: Problem, values: Values, mode: str, method: str = "auto") -> Runner:
    """What computes a problem's derivative in graph or tape mode; for graphs the graph is built here.

    Raises
    ------
    NotHere
        If this method is not for this problem.
    """
    if method == "numeric":
        return _numeric(problem, values, function(problem, values, mode))
    if method == "row loop":
        if problem.kind != "jacobian" or problem.format != "dense":
            raise NotHere("row by row: only for dense Jacobians")
        return _graph_rows(problem, values) if mode == "graph" else _tape_rows(problem, values)
    return (_graph if mode == "graph" else _tape)(problem, values, method)


def function(problem: Problem, values: Values, mode: str) -> Callable[..., Any]:
    """The problem's function of its sources' arrays, run in graph or tape mode; gives an array."""
    constants = values[problem.sources :]
    if mode == "tape":
        tf = tape_api
        fixed = [tf.constant(c) for c in constants]
        return lambda *sources: problem.function(tf, *map(tf.constant, sources), *fixed).numpy()
    target, given, session = _built(problem, values)
    return lambda *sources: session.run(target, dict(zip(given, sources, strict=True)))


def forget() -> None:
    """Forget what is kept of recordings seen before, so that the next call is a first one."""
    replay._compiled.clear()
    replay._walks.clear()


# ---- graphs ----------------------------------------------------------------------------------------------------------


def _built(problem: Problem, values: Values) -> tuple[Any, list[Any], Any]:
    """The target in a new graph, the placeholders of the sources, a session."""
    tf = graph_api
    with tf.Graph().as_default():
        given = [tf.placeholder(v.dtype, v.shape) for v in values[: problem.sources]]
        target = problem.function(tf, *given, *map(tf.constant, values[problem.sources :]))
        return target, given, tf.Session()


def _graph(problem: Problem, values: Values, method: str) -> Runner:
    tf = graph_api
    target, given, session = _built(problem, values)
    with target.graph.as_default():
        if problem.kind == "hessian":
            options = _options(tf.hessians, problem, method)
            result = tf.hessians(target, given, **options)
        elif problem.kind == "batch_jacobian":
            transform = getattr(tf, "batch_jacobian", None)
            if transform is None:
                raise NotHere("graph_api has no batch_jacobian yet")
            result = [transform(target, given[0], **_options(transform, problem, method))]
        else:
            result = tf.jacobian(target, given, **_options(tf.jacobian, problem, method))
    feed = dict(zip(given, values, strict=False))
    return lambda: session.run(result, feed)


def _graph_rows(problem: Problem, values: Values) -> Runner:
    tf = graph_api
    target, given, session = _built(problem, values)
    with target.graph.as_default():
        seed = tf.placeholder(target.dtype, target.shape)
        row = tf.gradients(target, given, grad_ys=seed)
    seeds = _seeds(target, problem)
    feed = dict(zip(given, values, strict=False))
    return lambda: _stacked([session.run(row, {**feed, seed: one}) for one in seeds])


# ---- tapes -----------------------------------------------------------------------------------------------------------


def _tape(problem: Problem, values: Values, method: str) -> Runner:
    tf = tape_api
    sources, constants = _tensors(problem, values)
    name = "jacobian" if problem.kind == "hessian" else problem.kind
    options = _options(getattr(tf.GradientTape, name), problem, method)

    def jacobian() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(sources)
            y = problem.function(tf, *sources, *constants)
        return tape.jacobian(y, sources, **options)

    def batch_jacobian() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(sources)
            y = problem.function(tf, *sources, *constants)
        return [tape.batch_jacobian(y, sources[0], **options)]

    def hessian() -> Any:
        with tf.GradientTape() as outer:
            outer.watch(sources)
            with tf.GradientTape() as inner:
                inner.watch(sources)
                y = problem.function(tf, *sources, *constants)
            gradients = inner.gradient(y, sources)
        return [outer.jacobian(gradients[0], sources[0], **options)]

    return {"jacobian": jacobian, "batch_jacobian": batch_jacobian, "hessian": hessian}[problem.kind]


def _tape_rows(problem: Problem, values: Values) -> Runner:
    tf = tape_api
    sources, constants = _tensors(problem, values)
    seeds = [tf.constant(one) for one in _seeds(problem.function(tf, *sources, *constants), problem)]

    def run() -> Any:
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(sources)
            y = problem.function(tf, *sources, *constants)
        return _stacked([[g.numpy() for g in tape.gradient(y, sources, output_gradients=one)] for one in seeds])

    return run


def _tensors(problem: Problem, values: Values) -> tuple[list[Any], list[Any]]:
    tensors = [tape_api.constant(v) for v in values]
    return tensors[: problem.sources], tensors[problem.sources :]


# ---- parts -----------------------------------------------------------------------------------------------------------


def _options(transform: Callable[..., Any], problem: Problem, method: str) -> dict[str, str]:
    """The keywords that ask for this method and the problem's format."""
    wanted = {}
    if method != "auto":
        wanted["mode"] = method
    if problem.format != "dense":
        wanted["format"] = problem.format
    missing = set(wanted) - set(inspect.signature(transform).parameters)
    if missing:
        raise NotHere(f"{transform.__name__} has no argument {' or '.join(sorted(missing))} yet")
    return wanted


def _seeds(target: Any, problem: Problem) -> Any:
    """The rows of the identity in the target's shape."""
    shape = tuple(int(n) for n in target.shape)
    size = int(np.prod(shape))
    return np.eye(size, dtype=problem.dtype).reshape(size, *shape)


def _stacked(rows: Sequence[Sequence[Any]]) -> list[Any]:
    return [np.stack(block) for block in zip(*rows, strict=True)]


def _numeric(problem: Problem, values: Values, call: Callable[..., Any]) -> Runner:
    """Central differences, an input at a time."""
    if problem.kind != "jacobian" or problem.format != "dense" or problem.dtype == np.float32:
        raise NotHere("numeric: only for dense Jacobians in float64")
    sources = values[: problem.sources]
    h = 1e-5

    def run() -> Any:
        blocks = []
        for k, source in enumerate(sources):
            columns = []
            for i in range(source.size):
                ends = []
                for sign in (1, -1):
                    moved = source.copy()
                    moved.flat[i] += sign * h
                    ends.append(call(*sources[:k], moved, *sources[k + 1 :]))
                columns.append(np.ravel(ends[0] - ends[1]) * (0.5 / h))
            blocks.append(np.stack(columns, axis=1))
        return blocks

    return run


# ---- results ---------------------------------------------------------------------------------------------------------


def matrix(problem: Problem, values: Values, result: Any) -> Any:
    """A result of any library as what `Problem.expected` gives."""
    blocks = [as_array(block) for block in result]
    if problem.kind == "batch_jacobian":
        return blocks[0]
    sizes = [v.size for v in values[: problem.sources]]
    if any(sparse.issparse(b) for b in blocks):
        return sparse.hstack(blocks, format="csr")
    return np.concatenate([b.reshape(-1, size) for b, size in zip(blocks, sizes, strict=True)], axis=1)


def as_array(x: Any) -> Any:
    """A NumPy array or a SciPy sparse array of any library's tensor."""
    if sparse.issparse(x):
        return x
    if hasattr(x, "numpy"):
        return x.numpy()
    return np.asarray(x)


def check(problem: Problem, values: Values, result: Any, tolerance: float | None = None) -> Any:
    """Assert that a result is right; return it as a matrix."""
    found, expected = matrix(problem, values, result), problem.expected(*values)
    assert found.shape == expected.shape, f"{problem.name}: shape {found.shape}, expected {expected.shape}"
    difference = found - expected
    error = np.max(np.abs(difference.data if sparse.issparse(difference) else difference), initial=0.0)
    largest = np.max(np.abs(expected.data if sparse.issparse(expected) else expected), initial=0.0)
    if tolerance is None:
        tolerance = 1e-5 if problem.dtype == np.float32 else 1e-9
    assert error <= tolerance * largest, f"{problem.name}: off by {error:.3g}, largest entry {largest:.3g}"
    return found
