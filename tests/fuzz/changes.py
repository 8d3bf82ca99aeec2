"""What is kept between calls: call, change one thing, call again, compare with a process that has never called before.

``python -m tests.fuzz.changes --n 1000`` makes a world of things that functions look at (`tests.fuzz.world`), and
objects that outlive a call, each of which looks at one of them (`tests.fuzz.kept` and its kin). Objects are asked, one
thing in the world is changed, and they are asked again: in this thread, in a new one, or in one that lasts. A child of
a process that has asked nobody makes the same objects in the same world; it is asked once for each state of what an
object looks at. Whatever is not the same to the bit is printed at once, and the exit status is 1.

A ``tf.function`` sees variables and arguments only: what else it reads is as it was when it was traced.
"""

import argparse
import gc
import importlib
import os
import pickle
import random
import signal
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.sparse.linalg import LinearOperator

from dualgrad.platform.progress import progress
from dualgrad.solvers import traced
from engine.runtime.cache import clear_caches
from tests.fuzz import kept_graphs, kept_training
from tests.fuzz.kept import KINDS, Ask
from tests.fuzz.world import GIVEN, RATES, READS, WORLD

MODULES = kept_graphs, kept_training
"""They add kinds of objects."""
NAMES = [(name, read) for name, each in KINDS.items() for read in each.reads]
CHANGES = tuple(READS)
_ROUNDS, _READS, _TURNS, _SHORT = 40, 3, 12, 8
"""How many groups of objects are asked before others are made, of what so many things read; how often a group is asked;
how many ops a function has that is worth tracing."""


def _arrays(found: Any) -> list[np.ndarray]:
    if isinstance(found, (list, tuple)):
        return [array for each in found for array in _arrays(each)]
    if isinstance(found, dict):
        return _arrays(list(found.values()))
    if isinstance(found, LinearOperator):
        found = found @ np.ones(found.shape[1])
    array = np.asarray(found.toarray() if hasattr(found, "toarray") else found)
    if array.dtype.hasobject:
        raise TypeError(f"{type(found).__name__} is no number")
    return [array]


def answer(ask: Ask) -> Any:
    """Bytes that say all of an answer, or of an error."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [(a.dtype.str, a.shape, a.tobytes()) for a in _arrays(ask())]
    except Exception as error:  # noqa: BLE001 - it is compared
        return type(error).__name__, str(error)


def in_a_thread(ask: Ask) -> Any:
    """The same, asked by another thread."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(answer(ask)))
    thread.start()
    thread.join()
    return found[0]


class Clean:
    """A process that has asked nobody, whose children do."""

    def __init__(self, names: Sequence[tuple[str, str]]) -> None:
        self._known: dict[Any, Any] = {}
        # children need not load what a child has loaded that asked all of them
        for module in self._loaded(names):
            if module not in sys.modules:
                with suppress(ImportError):
                    importlib.import_module(module)
        gc.freeze()
        (here, self._write), (self._read, there) = os.pipe(), os.pipe()
        self._pid = os.fork()
        if not self._pid:
            os.close(self._write)
            os.close(self._read)
            self._serve(os.fdopen(here, "rb"), os.fdopen(there, "wb"))
        os.close(here)
        os.close(there)
        self._to, self._from = os.fdopen(self._write, "wb"), os.fdopen(self._read, "rb")

    @staticmethod
    def _loaded(names: Sequence[tuple[str, str]]) -> list[str]:
        here, there = os.pipe()
        if not os.fork():
            for name in dict(names):
                answer(KINDS[name].make(READS[KINDS[name].reads[0]]))
            os.write(there, "\n".join(sorted(sys.modules)).encode())
            os._exit(0)
        os.close(there)
        with os.fdopen(here) as found:
            return found.read().split("\n")

    def _serve(self, questions: Any, answers: Any) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        while True:
            try:
                rates, names = pickle.load(questions)
            except EOFError:
                os._exit(0)
            child = os.fork()
            if not child:
                WORLD.set(**rates)
                pickle.dump([answer(KINDS[name].make(READS[read])) for name, read in names], answers)
                answers.flush()
                os._exit(0)
            os.waitpid(child, 0)

    def answers(self, names: Sequence[tuple[str, str]]) -> list[Any]:
        """What new objects answer in the world as it is now."""
        keys = [(name, *[WORLD.rates[each] for each in (name[1], *GIVEN, *KINDS[name[0]].also)]) for name in names]
        new = [name for name, key in zip(names, keys, strict=True) if key not in self._known]
        if new:
            pickle.dump((WORLD.rates, new), self._to)
            self._to.flush()
            left = iter(pickle.load(self._from))
            self._known |= {key: next(left) for key in keys if key not in self._known}
        return [self._known[key] for key in keys]

    def close(self) -> None:
        """End it."""
        self._to.close()
        self._from.close()
        os.waitpid(self._pid, 0)


class Stale(NamedTuple):
    """An answer that a new object does not give."""

    kind: str
    read: str
    changed: str
    found: Any
    wanted: Any

    def __str__(self) -> str:
        found, wanted = _shown(self.found), _shown(self.wanted)
        return f"{self.kind}, which reads {self.read}: {found} after a change of {self.changed}; new: {wanted}"


def _shown(found: Any) -> str:
    if isinstance(found, tuple):
        return f"{found[0]}: {found[1][:200]}"
    return str([np.frombuffer(data, dtype).tolist() for dtype, _, data in found])[:200]


def steps(
    n: int, seed: int, several: int = 64, only: str = "", seconds: float = float("inf")
) -> Iterator[tuple[int, list[Stale]]]:
    """Changes, each for some objects that are asked before and after: of how many, and what was wrong."""
    every = [each for each in NAMES if only in each[0]]
    clean, rng, start = Clean(every), random.Random(seed), time.monotonic()
    before, traced.FEWEST = traced.FEWEST, _SHORT
    done = 0
    try:
        with ThreadPoolExecutor(1) as lasting:
            ways = [answer, answer, answer, in_a_thread, lambda ask: lasting.submit(answer, ask).result()]
            while done < n and time.monotonic() - start < seconds:
                for count, stale in _round(every, clean, rng, several, ways):
                    done += count
                    yield count, stale
                    if done >= n or time.monotonic() - start > seconds:
                        break
    finally:
        traced.FEWEST = before
        clean.close()


def _round(
    every: Sequence[tuple[str, str]], clean: Clean, rng: random.Random, several: int,
    ways: Sequence[Callable[[Ask], Any]],
) -> Iterator[tuple[int, list[Stale]]]:  # fmt: skip
    """Some objects are made anew, asked, and asked again after each of many changes."""
    clear_caches()
    all_reads = sorted({read for _, read in every})
    reads = rng.sample(all_reads, min(_READS, len(all_reads)))
    kept = {name: KINDS[name[0]].make(READS[name[1]]) for name in every if name[1] in reads}
    for _ in range(_ROUNDS):
        read = rng.choice(reads)
        some = [name for name in kept if name[1] == read]
        some = rng.sample(some, min(several, len(some)))
        for turn in range(1 + _TURNS):
            changed = "nothing"
            if turn:
                # what they look at, or what all are asked with: one of that is another than in the beginning
                other = [each for each in GIVEN if WORLD.rates[each] != 1.0] or [rng.choice(GIVEN)]
                changed = rng.choice([*4 * [read], *2 * other, rng.choice(CHANGES)])
                rates = RATES[:2] if changed in GIVEN else RATES
                WORLD.set(**{changed: rng.choice([r for r in rates if r != WORLD.rates[changed]])})
            asked = rng.choice(ways)
            found = [asked(kept[name]) for name in some]
            pairs = zip(some, found, clean.answers(some), strict=True)
            yield len(some) * bool(turn), [Stale(*name, changed, a, b) for name, a, b in pairs if a != b]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; 1 if anything was stale."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.changes", description=__doc__)
    parser.add_argument("--n", type=int, default=1000, help="how many changes, each for one object (default 1000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="objects with this in their name")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="go on for at most so long")
    given = parser.parse_args(arguments)
    start, done, stale = time.monotonic(), 0, Counter[tuple[str, str, str]]()
    with progress("fuzz", given.n) as line, suppress(KeyboardInterrupt):
        for count, found in steps(given.n, given.seed, only=given.only, seconds=60 * given.minutes):
            done += count
            line.step(f"{stale.total()} stale answers", count)
            for each in found:
                if not stale[each[:3]]:
                    line.clear()
                    sys.stdout.write(f"{each}\n")
                    sys.stdout.flush()
                stale[each[:3]] += 1
    seconds = time.monotonic() - start
    sys.stdout.write(f"{done} changes in {seconds:.0f} s; {stale.total()} stale answers of {len(stale)} kinds\n")
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
