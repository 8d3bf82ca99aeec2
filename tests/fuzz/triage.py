"""Failures: found among many programs, shrunk, grouped by the ways that differ and the smallest set of ops."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from engine.runtime.cache import clear_caches
from tests.fuzz.compare import Difference, differences
from tests.fuzz.generate import generate
from tests.fuzz.programs import Program, pasteable
from tests.fuzz.shrink import shrunk

PER_GROUP = 3
"""Failures of one kind that are shrunk, per block."""
PATIENCE = 20
"""Seconds of a processor that a program and its ways may take. They take some milliseconds."""
WAITING = 30
"""So many times longer they may take by the clock: a busy machine makes no failures."""
GRAPHS = ("graph", "unknown", "passes", "again", "tape in graph")
EMPTY = Program((), (), ())


@dataclass(frozen=True)
class Failure:
    """A program that failed, as small as it could be made."""

    program: Program
    found: Difference

    @property
    def group(self) -> tuple[Any, ...]:
        """What failures are grouped by: the ways that differ, and the smallest set of ops."""
        return self.found.way, self.found.key, self.found.kind, tuple(self.program.recipes)

    @property
    def title(self) -> str:
        """The group in a line."""
        way, key, kind, recipes = self.group
        return f"{way}, {key}: {kind}; {', '.join(recipes)}"

    @property
    def text(self) -> str:
        """All that is needed to see it again."""
        lines = [f"# seed {self.program.seed}: {self.found}".replace("\n", "\n# ")]
        lines.append(f"# again: python -m tests.fuzz --seed {self.program.seed} --n 1")
        front_end = "graph_api" if self.found.way in GRAPHS else "tape_api"
        return "\n".join([*lines, repr(self.program), "", pasteable(self.program, front_end)])


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Raise TimeoutError after so many seconds of a processor, where there are signals to say so."""
    if not hasattr(signal, "SIGPROF") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: signal.signal(each, _raise) for each in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(WAITING * seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        for each, handler in before.items():
            signal.signal(each, handler)


def _raise(*_: Any) -> None:
    raise TimeoutError(f"more than {PATIENCE} s")


def examine(
    seeds: Sequence[int], only: str | None, seconds: float, noted: Callable[[Failure], None] = lambda _: None
) -> list[Failure]:
    """The failures among the programs of some seeds.

    Each failure is `noted` when it is found, and again when it has been shrunk.
    """
    found: list[Failure] = []
    seen: dict[tuple[str, str, str], int] = {}

    def add(failure: Failure) -> None:
        found.append(failure)
        noted(failure)

    for seed in seeds:
        ways: set[tuple[str, str]] = set()
        program = EMPTY
        try:
            with at_most(PATIENCE):
                program = generate(seed, only)
                differing = differences(program)
        except (TimeoutError, MemoryError) as error:
            kind = "too slow" if isinstance(error, TimeoutError) else "too large"
            add(Failure(replace(program, seed=seed), Difference("any", "value", kind, str(error))))
            continue
        alone = differing
        if differing:
            noted(Failure(program, differing[0]))
            # what was kept for other programs must make no difference; where it does, that is what is wrong
            clear_caches()
            with suppress(TimeoutError, MemoryError), at_most(PATIENCE):
                alone = differences(program)
        for d in differing:
            if d not in alone:
                add(Failure(program, replace(d, kind=f"{d.kind}, only after other programs")))
                continue
            # one failure shows in many keys: the first way that it shows in will do
            if (d.kind, d.key) in ways:
                continue
            ways.add((d.kind, d.key))
            rough = (d.way, d.key, d.kind)
            seen[rough] = seen.get(rough, 0) + 1
            add(Failure(*(shrunk(program, d, seconds) if seen[rough] <= PER_GROUP else (program, d))))
    return found


def work(arguments: tuple[Any, ...]) -> tuple[int, list[Failure]]:
    """`examine`, and how many programs that was."""
    seeds, only, seconds, path = arguments
    clear_caches()
    return len(seeds), examine(seeds, only, seconds, partial(note, path))


def note(path: str, failure: Failure) -> None:
    """Write a failure to a file and to the standard output, whole and at once: what follows may end the process."""
    text = f"{'-' * 100}\n{failure.title}\n{failure.text}\n"
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)
    sys.stdout.write(text)
    sys.stdout.flush()


def report(failures: Sequence[Failure]) -> str:
    """Failures by groups: the smallest program of each."""
    groups: dict[tuple[Any, ...], list[Failure]] = {}
    for failure in failures:
        groups.setdefault(failure.group, []).append(failure)
    lines = []
    for members in sorted(groups.values(), key=len, reverse=True):
        lines.append(f"{'=' * 100}\n{len(members)} x {members[0].title}")
        lines.append(min(members, key=lambda f: (len(f.program.instructions), len(repr(f.program)))).text)
    return "\n".join(lines)
