"""Our own ways to a derivative: graph and tape, each by several methods. Every way is a callable ready to be timed."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

import graph_api
import tape_api
from bench.namespaces import ArrayNamespace
from bench.problems import FIELD, Problem, Values
from engine.closed import replay
from engine.jacobian import plan_cache as recordings
from engine.jacobian.planning import plan as planning
from engine.jacobian.structure.path import Path

Runner = Callable[[], Any]
MODES = ("graph", "tape")
METHODS = ("auto", "forward", "reverse", "row loop", "numeric")
LARGEST = 1 << 28
"""Bytes of a dense result beyond which nobody wants it."""
PAGE, LAZY = 4096, 1 << 17
"""Bytes of a page of memory, and those of an array from which on the system hands out pages when they are used."""
LONGEST_LOOP = 1024
"""Rows or columns of a Jacobian that is computed one by one."""

MOST_SEEDS = 2048
"""Rows or columns beyond which a mode that needs a sweep for each is not forced."""


class NotHere(Exception):
    """A library or a mode lacks a method, or the method makes no sense for a problem; the message says why."""


def ours(problem: Problem, values: Values, mode: str, method: str = "auto") -> Runner:
    """A function that computes a problem's derivative in graph or tape mode; for graphs the graph is built here.

    Raises
    ------
    NotHere
        If this method is not for this problem.
    """
    if method == "numeric":
        columns = sum(v.size for v in values[: problem.sources])
        if columns > LONGEST_LOOP:
            raise NotHere(f"{columns} columns, one by one")
        return numeric(problem, values, function(problem, values, mode))
    if method in ("forward", "reverse") and (problem.format == "dense" or problem.both_ways):
        seeds = shape(problem, values)[method == "forward"]
        if seeds > MOST_SEEDS:
            raise NotHere(f"{seeds} seeds")
    if method == "row loop":
        return _graph_rows(problem, values) if mode == "graph" else _tape_rows(problem, values)
    return (_graph if mode == "graph" else _tape)(problem, values, method)


def shape(problem: Problem, values: Values) -> tuple[int, int]:
    """Rows and columns of the derivative; for a batch Jacobian, of one block."""
    columns = sum(v.size for v in values[: problem.sources])
    if problem.kind == "hessian":
        return columns, columns
    rows = np.size(problem.function(ArrayNamespace(np), *values))
    batch = len(values[0]) if problem.kind == "batch_jacobian" else 1
    return rows // batch, columns // batch


def is_scalar(problem: Problem, values: Values) -> bool:
    """Whether the function gives a single number, so that its Jacobian is a gradient."""
    return problem.kind == "jacobian" and np.ndim(problem.function(ArrayNamespace(np), *values)) == 0


def methods(problem: Problem) -> tuple[str, ...]:
    """The methods that make sense for a problem; those of the field's lists are measured as they come."""
    if problem.group == FIELD:
        return METHODS[:1]
    looped = problem.kind == "jacobian" and problem.format == "dense"
    return tuple(m for m in METHODS if looped or m not in ("row loop", "numeric"))


def stages(problem: Problem, values: Values, mode: str) -> dict[str, float]:
    """Seconds of what is done once: for a graph, building the function and adding the derivative; for a tape, planning.

    A tape records the function at each call.
    """
    with afresh():
        start = time.perf_counter()
        if mode == "graph":
            target, given, _ = built(problem, values)
            middle = time.perf_counter()
            derived(problem, target, given, "auto")
            return {"trace": middle - start, "plan": time.perf_counter() - middle}
        if problem.kind != "jacobian":
            return {}
        tape, y, sources = recorded(problem, values)
        middle = time.perf_counter()
        planning.plan_for(Path(tape._tape.nodes, sources, [y]), planning.Options(values_only=problem.format == "csr"))
        return {"plan": time.perf_counter() - middle}


def planned(problem: Problem, values: Values, method: str) -> dict[str, float]:
    """The figures of the plan: how many seeds are swept, and the expected flops; none where no plan can be asked."""
    if problem.kind != "jacobian" or method not in ("auto", "forward", "reverse"):
        return {}
    tape, y, sources = recorded(problem, values)
    plan = tape.jacobian_plan(y, sources, **_options(problem, method)).plan
    return {"passes": plan.seeds, "planned_flops": plan.facts["flops"]}


def function(problem: Problem, values: Values, mode: str) -> Callable[..., Any]:
    """The problem's function of its sources' arrays, run in graph or tape mode; gives an array."""
    constants = values[problem.sources :]
    if mode == "tape":
        tf = tape_api
        fixed = [tf.constant(c) for c in constants]
        return lambda *sources: problem.function(tf, *map(tf.constant, sources), *fixed).numpy()
    target, given, session = built(problem, values)
    return lambda *sources: session.run(target, dict(zip(given, sources, strict=True)))


@contextlib.contextmanager
def afresh() -> Iterator[None]:
    """A time without the plans made and recordings seen before, so that a call is a first one."""
    with contextlib.ExitStack() as stack:
        for cache in (planning._plans, recordings._compiled, replay._compiled, replay._walks):
            stack.enter_context(cache.emptied())
        yield


# ---- graphs ----------------------------------------------------------------------------------------------------------


def built(problem: Problem, values: Values) -> tuple[Any, list[Any], Any]:
    """The target in a new graph, the placeholders of the sources, a session."""
    tf = graph_api
    with tf.Graph().as_default():
        given = [tf.placeholder(v.dtype, v.shape) for v in values[: problem.sources]]
        target = problem.function(tf, *given, *map(tf.constant, values[problem.sources :]))
        return target, given, tf.Session()


def _graph(problem: Problem, values: Values, method: str) -> Runner:
    target, given, session = built(problem, values)
    result = derived(problem, target, given, method)
    feed = dict(zip(given, values, strict=False))
    return lambda: session.run(result, feed)


def derived(problem: Problem, target: Any, given: list[Any], method: str) -> list[Any]:
    """The derivative, added to the target's graph."""
    options = _options(problem, method)
    with target.graph.as_default():
        if problem.kind == "jacobian":
            return graph_api.jacobian(target, given, **options)
        transform = graph_api.hessian if problem.kind == "hessian" else graph_api.batch_jacobian
        return [transform(target, given[0], **options)]


def _graph_rows(problem: Problem, values: Values) -> Runner:
    tf = graph_api
    target, given, session = built(problem, values)
    with target.graph.as_default():
        seed = tf.placeholder(target.dtype, target.shape)
        row = [tf.convert_to_tensor(g) for g in tf.gradients(target, given, grad_ys=seed)]
    seeds = _seeds(target, problem)
    feed = dict(zip(given, values, strict=False))
    return lambda: _stacked([session.run(row, {**feed, seed: one}) for one in seeds])


# ---- tapes -----------------------------------------------------------------------------------------------------------


def _tape(problem: Problem, values: Values, method: str) -> Runner:
    sources, constants = _tensors(problem, values)
    options = _options(problem, method)

    def run() -> list[Any]:
        tape, y, _ = _recorded(problem, sources, constants)
        if problem.kind == "jacobian":
            return tape.jacobian(y, sources, **options)
        transform = tape.hessian if problem.kind == "hessian" else tape.batch_jacobian
        return [transform(y, sources[0], **options)]

    return run


def recorded(problem: Problem, values: Values) -> tuple[Any, Any, list[Any]]:
    """A tape on which the function was recorded, its target, the sources."""
    return _recorded(problem, *_tensors(problem, values))


def _recorded(problem: Problem, sources: list[Any], constants: list[Any]) -> tuple[Any, Any, list[Any]]:
    with tape_api.GradientTape() as tape:
        tape.watch(sources)
        y = problem.function(tape_api, *sources, *constants)
    return tape, y, sources


def _tape_rows(problem: Problem, values: Values) -> Runner:
    tf = tape_api
    sources, constants = _tensors(problem, values)
    seeds = [tf.constant(one) for one in _seeds(problem.function(tf, *sources, *constants), problem)]

    def run() -> list[Any]:
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(sources)
            y = problem.function(tf, *sources, *constants)
        rows = [tape.gradient(y, sources, output_gradients=one) for one in seeds]
        return _stacked([[tf.convert_to_tensor(g).numpy() for g in row] for row in rows])

    return run


def _tensors(problem: Problem, values: Values) -> tuple[list[Any], list[Any]]:
    tensors = [tape_api.constant(v) for v in values]
    return tensors[: problem.sources], tensors[problem.sources :]


# ---- parts -----------------------------------------------------------------------------------------------------------


def _options(problem: Problem, method: str) -> dict[str, Any]:
    """The keywords that ask for this method and the problem's format."""
    options: dict[str, Any] = {"mode": method}
    return options if problem.kind == "batch_jacobian" else {**options, "format": problem.format}


def _seeds(target: Any, problem: Problem) -> np.ndarray:
    """The rows of the identity in the target's shape."""
    dims = tuple(int(n) for n in target.shape)
    size = math.prod(dims)
    if size > LONGEST_LOOP:
        raise NotHere(f"{size} rows, one by one")
    return np.eye(size, dtype=problem.dtype).reshape(size, *dims)


def _stacked(rows: Sequence[Sequence[Any]]) -> list[Any]:
    return [np.stack(block) for block in zip(*rows, strict=True)]


def numeric(problem: Problem, values: Values, call: Callable[..., Any]) -> Runner:
    """Central differences, an input at a time."""
    sources = values[: problem.sources]
    h = np.cbrt(np.finfo(problem.dtype).eps)

    def run() -> list[Any]:
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


def matrix(problem: Problem, values: Values, result: Any) -> np.ndarray | sparse.sparray:
    """A result of any library as what `Problem.expected` gives."""
    blocks = [as_array(block) for block in result]
    if problem.kind == "batch_jacobian":
        return blocks[0]
    sizes = [v.size for v in values[: problem.sources]]
    if any(sparse.issparse(b) for b in blocks):
        return sparse.hstack(blocks, format="csr")
    return np.concatenate([b.reshape(-1, size) for b, size in zip(blocks, sizes, strict=True)], axis=1)


def as_array(x: Any) -> np.ndarray:
    """A NumPy array or a SciPy sparse array of any library's tensor."""
    if sparse.issparse(x):
        return x
    if hasattr(x, "numpy"):
        return x.numpy()
    return np.asarray(x)


def reading(run: Runner) -> Runner:
    """A way whose result is read each time, a number from each page, as who asked for it would.

    An array of zeros has no memory before it is read, which would be a gain on paper. What is small has.
    """
    if sum(part.nbytes for block in run() for part in _parts(block)) < LAZY:
        return run

    def run_and_read() -> list[Any]:
        result = run()
        for block in result:
            for part in _parts(block):
                np.add.reduce(part.reshape(-1)[:: PAGE // part.itemsize])
        return result

    return run_and_read


def _parts(block: Any) -> list[np.ndarray]:
    """The arrays of a result; none of those that have been handed out as other than arrays."""
    if sparse.issparse(block):
        return [block.data, block.indices]
    return [np.asarray(block)] if hasattr(block, "__array__") else []


def check(problem: Problem, values: Values, result: Any, method: str = "auto") -> np.ndarray | sparse.sparray:
    """Assert that a result is right, to two thirds of the dtype's digits (numeric: to one); return a matrix."""
    found, expected = matrix(problem, values, result), problem.expected(*values)
    assert found.shape == expected.shape, f"{problem.name}: shape {found.shape}, expected {expected.shape}"
    difference = found - expected
    error = np.max(np.abs(difference.data if sparse.issparse(difference) else difference), initial=0.0)
    largest = np.max(np.abs(expected.data if sparse.issparse(expected) else expected), initial=0.0)
    tolerance = np.finfo(problem.dtype).eps ** (1 / 3 if method == "numeric" else 2 / 3)
    assert error <= tolerance * largest, f"{problem.name}: off by {error:.3g}, largest entry {largest:.3g}"
    return found
