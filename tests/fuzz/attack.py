"""Malformed programs: tables and pickled programs of random programs, changed at random, run in processes of their own.

``python -m tests.fuzz.attack --n 200 --changes 60`` says how many were refused, and names those that ended in a signal
(in a report of the address sanitizer, if the extensions are built with it). Whatever was changed, there must be none.
"""

import argparse
import copy
import dataclasses
import mmap
import os
import random
import signal
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from engine.compiler.ir.instruction import Instruction
from engine.compiler.program import Program
from engine.core import dtypes
from engine.core.aval import Aval
from engine.executor import encoding
from tests.fuzz.around import quiet
from tests.fuzz.execute import attempt, reference_of, replayed_at_once, run_in_graph, run_on_tape, values_of
from tests.fuzz.generate import generate
from tests.op_table import OPS

INTEGERS = (0, 1, -1, 7, 64, -8, 1 << 20, 1 << 31, 1 << 40, 1 << 62, -(1 << 62), (1 << 63) - 1, -(1 << 63))
STEPS = ("rows", "checked", "call")
MEMORY = ("block", "constant", "argument", "target", "fresh", "slot")
VALUES = ("view", "copy", "whole", "given", "object")
OF_A_PROGRAM = 4
"""How many tables, and how many pickled programs, are taken of those that a random program leads to."""
Path = tuple[tuple[str, Any], ...]


@dataclasses.dataclass(frozen=True)
class Attack:
    """Something that is changed, and run.

    Attributes
    ----------
    name : str
    parts : object
        Nested tuples, lists, dictionaries, instructions: what is changed.
    run : callable
        What to do with the changed parts, and with a source of random numbers.
    """

    name: str
    parts: Any
    run: Callable[[Any, random.Random], object]


# ---- what is attacked ------------------------------------------------------------------------------------------------


def attacks(seed: int) -> list[Attack]:
    """The tables and programs that a random program leads to, on a tape and in a graph."""
    tables: list[tuple[Any, ...]] = []
    programs: dict[int, tuple[Program, tuple[Any, ...]]] = {}
    executor, call = encoding.executor, Program.__call__
    assert executor is not None

    def noted(program: Program, *arguments: Any) -> Sequence[Any]:
        programs.setdefault(id(program), (program, arguments))
        return call(program, *arguments)

    encoding.executor = SimpleNamespace(Table=lambda *given: tables.append(given) or executor.Table(*given))  # type: ignore[assignment]
    Program.__call__ = noted  # type: ignore[method-assign, assignment]
    try:
        with quiet(), replayed_at_once():
            program = dataclasses.replace(generate(seed), keys=("jacobian",))
            values, others = values_of(program)
            reference = attempt(lambda: reference_of(program, values))
            for _ in range(3):
                attempt(lambda: run_on_tape(program, values, program.keys))
                attempt(lambda: run_in_graph(program, values, program.keys, reference, first=others))
    finally:
        encoding.executor, Program.__call__ = executor, call  # type: ignore[method-assign]
    found = [_on_table(f"table {i} of program {seed}", t) for i, t in enumerate(tables[:OF_A_PROGRAM])]
    taken = list(programs.values())[:OF_A_PROGRAM]
    return found + [_on_program(f"pickle {i} of program {seed}", *each) for i, each in enumerate(taken)]


def _on_table(name: str, given: tuple[Any, ...]) -> Attack:
    *parts, host, pool = given
    arguments = _arguments(*parts[:2])

    def run(parts: Any, rng: random.Random) -> object:
        assert encoding.executor is not None
        return encoding.executor.Table(*parts, host, pool)(*arguments)

    return Attack(name, tuple(parts), run)


def _on_program(name: str, program: Program, arguments: tuple[Any, ...]) -> Attack:
    def run(parts: Any, rng: random.Random) -> None:
        loaded = Program.__new__(Program)
        loaded.__setstate__(parts)
        given = arguments if rng.random() < 0.7 else tuple(_other(a, rng) for a in arguments)
        for _ in range(4):
            # Python, then observed, then by a table
            loaded(*given)

    return Attack(name, program.__getstate__(), run)


def _arguments(count: int, bases: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Arguments of the form that a table expects."""
    found: list[Any] = [np.float64(1.0)] * count
    for kind, *form in filter(None, bases):
        if kind in ("argument", "target"):
            position, dtype, shape, strides, *known = form
            ways = [step * (n - 1) for step, n in zip(strides, shape, strict=True) if n]
            low = -sum(w for w in ways if w < 0)
            memory = np.zeros(low + sum(w for w in ways if w > 0) + dtype.itemsize, np.uint8)
            found[position] = (
                np.frombuffer(known[0], dtype)[0] if known else np.ndarray(shape, dtype, memory, low, strides)
            )
    return found


# ---- changes ---------------------------------------------------------------------------------------------------------


def changed(parts: Any, rng: random.Random) -> Any:
    """The same with one thing changed, wherever it is."""
    path, change = rng.choice(list(_places(parts)))
    return _put(parts, path, lambda x: change(x, rng))


def _places(x: Any, path: Path = ()) -> Iterator[tuple[Path, Callable[[Any, random.Random], Any]]]:
    if isinstance(x, (tuple, list)):
        yield path, _rearranged
        inner: list[tuple[str, Any]] = [("item", i) for i in range(len(x))]
    elif isinstance(x, dict):
        inner = [("item", key) for key in x]
    elif isinstance(x, Instruction):
        yield (*path, ("attribute", "op")), lambda _, rng: rng.choice(list(OPS.values()))
        inner = [("attribute", name) for name in ("inputs", "params", "outputs")]
    elif isinstance(x, Aval):
        inner = [("attribute", "shape"), ("attribute", "dtype")]
    elif hasattr(x, "__match_args__") and type(x).__module__.startswith("engine.compiler"):
        inner = [("attribute", name) for name in x.__match_args__]
    else:
        if x is None or isinstance(x, (int, float, str, bytes, np.dtype, np.ndarray, dtypes.DType)):
            yield path, _other
        return
    for step in inner:
        yield from _places(_get(x, step), (*path, step))


def _get(x: Any, step: tuple[str, Any]) -> Any:
    return x[step[1]] if step[0] == "item" else getattr(x, step[1])


def _put(x: Any, path: Path, change: Callable[[Any], Any]) -> Any:
    if not path:
        return change(x)
    step, *rest = path
    inner = _put(_get(x, step), tuple(rest), change)
    if step[0] == "attribute":
        found = copy.copy(x)
        object.__setattr__(found, step[1], inner)
        return found
    found = dict(x) if isinstance(x, dict) else list(x)
    found[step[1]] = inner
    return found if isinstance(x, (dict, list)) else _like(x, found)


def _like(x: Any, items: list[Any]) -> Any:
    if isinstance(x, list):
        return items
    return type(x)._make(items) if hasattr(x, "_make") and len(items) == len(x) else tuple(items)


def _rearranged(x: Any, rng: random.Random) -> Any:
    """Without an item, with one twice, or with two in the place of each other."""
    items = list(x)
    if not items:
        return x
    i, j, way = rng.randrange(len(items)), rng.randrange(len(items)), rng.randrange(3)
    if way == 0:
        del items[i]
    elif way == 1:
        items.insert(i, items[j])
    else:
        items[i], items[j] = items[j], items[i]
    return _like(x, items)


def _other(x: Any, rng: random.Random) -> Any:
    if isinstance(x, bool):
        return not x
    if isinstance(x, int):
        return x + rng.choice((1, -1, 2, 8, -8, 64)) if rng.random() < 0.5 else rng.choice(INTEGERS)
    if isinstance(x, float):
        return rng.choice((0.0, -1.0, np.nan, np.inf, 1e300))
    if isinstance(x, str):
        assert encoding.executor is not None
        return rng.choice((*STEPS, *MEMORY, *VALUES, *encoding.executor.LOOPS, ""))
    if isinstance(x, dtypes.DType):
        return rng.choice((dtypes.float32, dtypes.float64, dtypes.int32, dtypes.bool, dtypes.complex128))
    if isinstance(x, np.dtype):
        return np.dtype(rng.choice("?bhilBHILefdgFDGO"))
    if isinstance(x, bytes):
        numbers = list(struct.unpack(f"{len(x) // 8}q", x[: len(x) // 8 * 8]))
        if not numbers or rng.random() < 0.2:
            return x[: rng.randrange(len(x) + 1)]
        at = rng.randrange(len(numbers))
        numbers[at] = max(min(_other(numbers[at], rng), (1 << 63) - 1), -(1 << 63))
        return struct.pack(f"{len(numbers)}q", *numbers)
    if isinstance(x, np.ndarray) and x.ndim:
        way = rng.randrange(4)
        if way == 0 and x.dtype.kind in "iu":
            return np.where(rng.random() < x, x, rng.choice((-1, 127))).astype(x.dtype)
        return (x.ravel()[: rng.randrange(x.size + 1)], x.astype(rng.choice("fdil?FD")), np.repeat(x, 2))[way % 3]
    return rng.choice((None, 0, (), "nonsense"))


# ---- running ---------------------------------------------------------------------------------------------------------


def crashes(attack: Attack, count: int) -> tuple[list[str], int, int]:
    """Run so many changes of something in child processes.

    Returns
    -------
    crashed : list of str
        The changes after which a process did not end by itself.
    ran, refused : int
        How many others ran, and how many raised.
    """
    shared = mmap.mmap(-1, 24)
    crashed: list[str] = []
    start = 0
    while start < count:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            _run_all(attack, range(start, count), shared)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        at, ran, refused = struct.unpack("3q", shared[:])
        if status == 0:
            break
        if status != -signal.SIGALRM:
            crashed.append(f"change {at} of {attack.name}: exit code {status}")
        start = at + 1
    return crashed, ran, refused


def _run_all(attack: Attack, which: range, shared: mmap.mmap) -> None:
    """In a child process, which this ends."""
    _, ran, refused = struct.unpack("3q", shared[:])
    try:
        with quiet():
            for k in which:
                shared[:] = struct.pack("3q", k, ran, refused)
                rng = random.Random(f"{attack.name}, {k}")
                # what takes longer computes: it did not go astray
                signal.alarm(5)
                try:
                    parts = attack.parts
                    for _ in range(rng.choice((1, 1, 1, 2, 3))):
                        parts = changed(parts, rng)
                    attack.run(parts, rng)
                    ran += 1
                except BaseException:  # noqa: BLE001 - any exception is an answer
                    refused += 1
        shared[:] = struct.pack("3q", which.stop, ran, refused)
    finally:
        os._exit(0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; 1 if a process crashed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.attack", description=__doc__)
    parser.add_argument("--n", type=int, default=20, help="how many random programs (default 20)")
    parser.add_argument("--seed", type=int, default=0, help="the first one's seed")
    parser.add_argument("--changes", type=int, default=60, help="of each table and pickle (default 60)")
    given = parser.parse_args(arguments)
    total = [0, 0]
    crashed: list[str] = []
    for seed in range(given.seed, given.seed + given.n):
        for attack in attacks(seed):
            found, *counts = crashes(attack, given.changes)
            crashed += found
            total = [a + b for a, b in zip(total, counts, strict=True)]
    sys.stdout.write("\n".join([*crashed, f"{total[0]} ran, {total[1]} refused, {len(crashed)} crashed", ""]))
    return 1 if crashed else 0


if __name__ == "__main__":
    raise SystemExit(main())
