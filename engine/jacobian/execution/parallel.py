"""Jacobians beyond one process: chunks of seeds are swept wherever an executor runs them.

Each chunk is a program of its own, made of the same nodes as in one process: same chunks, same bits (on machines of one
kind, with as many BLAS threads). It takes the values on the path, and its results are put where they belong at home.
Any `concurrent.futures.Executor` will do: threads, processes, ``client.get_executor()`` of Dask,
`mpi4py.futures.MPIPoolExecutor`.

Threads share memory. Other executors may be on other machines: they get one task per worker, and pickle it; an array
that the task needs several times is in it once.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Sequence
from concurrent import futures  # whose executors are loaded when one is asked for
from typing import Any, NoReturn

import numpy as np
from numpy.lib.array_utils import byte_bounds

from engine.closed.function import ClosedFunction
from engine.compiler.program import Program
from engine.core.aval import Aval
from engine.core.dtypes import int64
from engine.core.kinds import PerOperand, general
from engine.core.tape import paused
from engine.jacobian.execution.chunks import starts, together
from engine.jacobian.execution.evaluate import ends_of, note_contents, placed, rows_for, swept
from engine.jacobian.execution.plan_programs import Mirror, numbered
from engine.jacobian.planning.direction import PlannedSweep
from engine.jacobian.planning.plan import Options, Plan, plan_for
from engine.jacobian.structure.path import Path, with_closed_rules
from engine.runtime.cache import Cache
from engine.runtime.errors import InvalidArgumentError, UnimplementedError
from engine.runtime.ownership import own_results
from engine.runtime.structs import struct
from engine.runtime.tuning import TUNING

_LARGE = TUNING.twin_bytes
_SPAN = TUNING.view_span
_CAPACITY = 64
"""Programs that a worker keeps."""


# ---- what is sent ----------------------------------------------------------------------------------------------------


class Sent:
    """A program that is pickled once, and made again once in each process."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._pickled: tuple[bytes, bytes] | None = None

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        if self._pickled is None:
            import hashlib  # which loads a library of cryptography

            try:
                pickled = pickle.dumps(self.program, pickle.HIGHEST_PROTOCOL)
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                raise InvalidArgumentError(
                    f"jacobian: argument `executor` must be one of threads here: the program holds something that "
                    f"cannot be sent to another process: {error}"
                ) from error
            self._pickled = hashlib.sha256(pickled).digest(), pickled
        key, pickled = self._pickled
        return _received, (key, pickle.PickleBuffer(pickled) if protocol >= 5 else pickled)


_received_programs: Cache[bytes, Sent] = Cache("received programs", _CAPACITY, key="the bytes sent")


def _received(key: bytes, pickled: bytes | memoryview) -> Sent:
    kept = _received_programs.get(key)
    return _received_programs.put(key, Sent(pickle.loads(pickled))) if kept is None else kept


class View:
    """An array that keeps its strides when it is pickled: kernels may add up in another order for others."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self._span: np.ndarray | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        array = self.array
        low, high = byte_bounds(array)
        if array.flags.forc or array.size == 0 or high - low > _SPAN * array.nbytes:
            return View, (array,)
        if self._span is None:
            # kept, so that it is one array for all tasks
            self._span = np.lib.stride_tricks.as_strided(_first_byte(array, low), (high - low,), (1,)).copy()
        return _viewed, (self._span, array.ctypes.data - low, array.shape, array.strides, array.dtype)


def _views(values: Sequence[Any]) -> list[View]:
    """The arrays to be sent, equal ones as one object, which pickle sends once: constants come with each of their uses.

    To compare arrays takes less time than to send them.
    """
    known: dict[Any, list[View]] = {}
    views = []
    for array in map(np.asarray, values):
        if array.nbytes < _LARGE or not array.flags.c_contiguous:
            views.append(View(array))
            continue
        flat = array.reshape(-1).view(np.uint8)
        alike = known.setdefault((array.shape, array.dtype.str, flat[: 1 << 6].tobytes()), [])
        same = next((v for v in alike if np.array_equal(v.array.reshape(-1).view(np.uint8), flat)), None)
        if same is None:
            same = View(array)
            alike.append(same)
        views.append(same)
    return views


def _first_byte(array: np.ndarray, low: int) -> np.ndarray:
    """The byte at the lowest address of an array, as an array."""
    steps = [slice(None, None, -1) if stride < 0 else slice(None) for stride in array.strides]
    lowest = array[tuple(steps)]
    assert lowest.ctypes.data == low
    corner = lowest[tuple([slice(0, 1)] * array.ndim)]
    return corner.reshape(-1)[:1].view(np.uint8)[:1]


def _viewed(span: np.ndarray, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any) -> View:
    return View(np.ndarray(shape, dtype, span, offset, strides))


def _run(sent: Sent, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Run a program that was sent: the task of a worker."""
    try:
        return tuple(sent.program(*[x.array for x in arrays]))
    except Exception as error:  # noqa: BLE001  (whatever it is, it is raised at home)
        raise _portable(error) from None


def _run_all(work: list[tuple[Sent, list[View]]]) -> list[tuple[Any, ...]]:
    return [_run(*one) for one in work]


def _portable(error: Exception) -> Exception:
    """The error, or one with its message that can be sent home."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001  (whatever pickling does to somebody else's exception)
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _carried_out(work: list[tuple[Sent, list[View]]], executor: futures.Executor) -> list[Any]:
    """The results of programs, one after the other."""
    # what one worker does goes there together: a constant is in it once
    count = len(work) if isinstance(executor, futures.ThreadPoolExecutor) else min(_workers(executor), len(work))
    outcomes: list[Any] = [None] * len(work)
    for k, results in enumerate(_gathered(executor, ((_run_all, work[k::count]) for k in range(count)))):
        outcomes[k::count] = results
    return [x for results in outcomes for x in results]


def _gathered(executor: futures.Executor, calls: Iterable[tuple[Any, ...]]) -> list[Any]:
    """The results of the calls, in order; if one fails, the others are called off."""
    sent: list[futures.Future[Any]] = []
    try:
        for call in calls:
            sent.append(executor.submit(*call))  # noqa: PERF401  (what is there already is to be cancelled)
        return [future.result() for future in sent]
    except BaseException:
        for future in sent:
            future.cancel()
        raise


# ---- plans, spread ---------------------------------------------------------------------------------------------------


class Spread(ClosedFunction):
    """The closed function of a plan whose chunks are swept elsewhere: its own program puts their results together.

    That is `joined`, of values on the path and of the results of the tasks. A task is a chunk's program, the numbers of
    the values that it takes, and that of its first seed, its last argument. Chunks of one sweep share a program.
    """

    def __init__(self, joined: ClosedFunction, tasks: Sequence[tuple[Sent, list[int], int | None]]) -> None:
        self.__dict__.update(joined.__dict__)
        self.captures = list(dict.fromkeys([slot for _, slots, _ in tasks for slot in slots] + joined.captures))
        position = {slot: i for i, slot in enumerate(self.captures)}
        self._tasks = [(sent, [position[slot] for slot in slots], first) for sent, slots, first in tasks]
        self._takes = [position[slot] for slot in joined.captures]

    def __call__(self, *arguments: Any) -> Any:
        """The blocks as arrays, from arrays of the values that it captures; the last argument is the executor."""
        out = self.outcome(arguments[:-1], arguments[-1])
        return [[None if k is None else out[k] for k in row] for row in self.form]

    def outcome(self, values: Sequence[Any], executor: futures.Executor) -> tuple[Any, ...]:
        """The blocks that are not zero, in order."""
        views = _views(values)
        work = [
            (sent, [views[i] for i in takes] + ([] if first is None else [View(np.asarray(first))]))
            for sent, takes, first in self._tasks
        ]
        # what a thread found may be a constant of its program
        held = self.program.owners.union(*[sent.program.owners for sent, *_ in self._tasks])
        results = _carried_out(work, executor)
        return tuple(own_results(self.program, [*[values[i] for i in self._takes], *results], held))


@struct(frozen=True)
class SpreadOver:
    """Compiles a plan in about so many chunks, each to be run by itself."""

    chunks: int

    def __call__(self, path: Path, options: Options, sparsity: Any) -> Spread:
        """The programs, with the values on the path as arguments."""
        return spread(self.split(plan_for(path, options, sparsity)), path)

    def split(self, plan: Plan) -> Plan:
        """The plan itself if its sweeps are in chunks already."""
        if any(chunk < one.count for one, chunk in zip(plan.sweeps, plan.chunks, strict=True)):
            return plan
        return plan.in_chunks(self.chunks)


def check_executor(executor: Any, format: str) -> None:
    """Raise InvalidArgumentError unless it is None or an executor, and there is something for it to do."""
    if executor is None:
        return
    if not callable(getattr(executor, "submit", None)):
        raise InvalidArgumentError(
            f"jacobian: argument `executor` must be a concurrent.futures.Executor; got {executor!r}"
        )
    if format == "operator":
        raise InvalidArgumentError(
            "jacobian: argument `executor` must be None for format='operator', which sweeps nothing beforehand"
        )


def spread_over(executor: Any) -> SpreadOver:
    """How to compile for an executor: one chunk per worker, unless the plan has chunks already.

    Two, which would let a worker that is done early take another, cost 7 % more: products of fewer rows are slower.
    """
    return SpreadOver(_workers(executor))


def _workers(executor: Any) -> int:
    """How many workers an executor has: `concurrent.futures` and mpi4py say so, Dask's client does."""
    for name in ("_max_workers", "num_workers"):
        count = getattr(executor, name, None)
        if isinstance(count, int) and count > 0:
            return count
    client: Any = getattr(executor, "_client", None)
    threads = sum(client.nthreads().values()) if hasattr(client, "nthreads") else 0
    return threads or os.cpu_count() or 1


def spread(plan: Plan, path: Path) -> Spread:
    """The programs for a plan, with the values on the path as arguments."""
    mirror = Mirror(path)
    tasks: list[tuple[Sent, list[int], int | None]] = []
    results: list[Sequence[Any]] = []
    pieces: list[Any] = []

    def task(sent: Sent, slots: list[int], wanted: Sequence[Any], first: int | None = None) -> list[Any]:
        """Add a task, and give placeholders for the results of its program."""
        tasks.append((sent, slots, first))
        pieces.extend(mirror.trace.placeholder(Aval(w.aval.shape, w.aval.dtype)) for w in wanted)
        return pieces[-len(wanted) :]

    def sweep_in_tasks(number: int, one: PlannedSweep, chunk: int) -> Sequence[Any]:
        if one.chain is not None or chunk >= one.count:
            wanted = [mirror.trace.operand(m) for m in swept(plan, mirror.path, number)]
            sweep = mirror.closed(wanted)
            return task(Sent(sweep.program), sweep.captures, wanted)
        size, firsts = starts(one.count, chunk)
        first = mirror.trace.placeholder(Aval((), int64))
        ends = rows_for(one)([mirror.path.merged.nodes[k] for k in plan.kept], ends_of(one, mirror.path), first, size)
        wanted = [mirror.trace.operand(m) for m in ends]
        sweep = mirror.closed(wanted, [first])
        sent = Sent(sweep.program)
        chunks = [task(sent, sweep.captures, wanted, start) for start in firsts]
        return [together(rows, firsts, size) for rows in zip(*chunks, strict=True)]

    with paused():
        for number, (one, chunk) in enumerate(zip(plan.sweeps, plan.chunks, strict=True)):
            results.append(sweep_in_tasks(number, one, chunk))
        blocks = placed(plan, mirror.path, results)
    wanted = [b for row in blocks for b in row if b is not None]
    return Spread(mirror.closed(wanted, pieces, form=numbered(blocks), plan=plan, contents=plan.used), tasks)


# ---- in a graph ------------------------------------------------------------------------------------------------------


def spread_blocks(plan: Plan, path: Path, executor: futures.Executor) -> list[list[Any]]:
    """The blocks as values: symbols of a graph if the path is one's, computed by the executor when they are fetched."""
    closed = with_closed_rules(path)
    if closed is not path:
        path, plan = closed, plan_for(closed, plan.options, plan.pattern_to_verify)
    what = spread(spread_over(executor).split(plan), path)
    out = spread_op(*[path.values[slot] for slot in what.captures], what=what, executor=executor)
    blocks = [[None if k is None else out[k] for k in row] for row in what.form]
    note_contents(plan, path, blocks)
    return blocks


def _no_rule(*_: Any, **__: Any) -> NoReturn:
    raise UnimplementedError(
        "jacobian: a Jacobian that an `executor` evaluates cannot be differentiated again; leave `executor` out of the "
        "inner one"
    )


spread_op = general(
    "spread_op",
    lambda *values, what, executor: what.outcome(values, executor),
    lambda *values, what, executor: tuple([what.program.avals[slot] for slot in what.program.outputs]),
    vjp=PerOperand(_no_rule),
    jvp=PerOperand(_no_rule),
    batch=_no_rule,
    type="Jacobian",
    args=("*values",),
    multi=True,
    doc="The blocks of a Jacobian, evaluated by an executor.",
)
