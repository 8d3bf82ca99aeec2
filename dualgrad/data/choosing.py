"""Stages that hand on some of the items, in some order, without looking at them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dualgrad.data import shuffling
from dualgrad.data.stage import INFINITE, UNKNOWN, Environment, Lasting, Stage, Stream
from engine.runtime.errors import InvalidArgumentError


class Chosen(Stage):
    """Base of the stages that hand on some of the items, in some order."""

    def __init__(self, source: Stage, *counts: Any) -> None:
        self.inputs = (source,)
        self.own = self.counts = counts

    def stream(self, env: Environment) -> Stream:
        """The items chosen."""
        source = self.inputs[0].stream(env)
        return source.choosing(self.chosen(source.items, *[env.number(x) for x in self.counts]))

    def chosen(self, items: Iterator[Any], *counts: int) -> Iterator[Any]:
        """Which items are handed on."""
        raise AttributeError(f"{type(self).__name__} does not define `chosen`")

    def size(self, env: Environment | None = None) -> int:
        """By what is chosen of the number of items."""
        counts = [self._count(env, x) for x in self.counts]
        size = self.inputs[0].size(env)
        return UNKNOWN if None in counts else self.chosen_size(size, *counts)  # type: ignore[arg-type]

    def chosen_size(self, size: int, *counts: int) -> int:
        """How many of so many items (or INFINITE, UNKNOWN) are handed on."""
        return size


def _part(items: Iterator[Any], start: int, stop: int | None = None, step: int = 1) -> Iterator[Any]:
    """``itertools.islice``, which goes on behind an error; that is not counted."""
    seen = 0

    def part() -> Iterator[Any]:
        nonlocal seen
        if seen == stop:
            return
        for item in items:
            seen += 1
            if seen > start and (seen - 1 - start) % step == 0:
                yield item
            if seen == stop:
                return

    return Lasting(part)


class Take(Chosen):
    """The first items; all, if the count is negative."""

    def chosen(self, items: Iterator[Any], count: int) -> Iterator[Any]:  # type: ignore[override]
        """The first ones."""
        return items if count < 0 else _part(items, 0, count)

    def chosen_size(self, size: int, count: int) -> int:  # type: ignore[override]
        """At most so many."""
        if count < 0 or size == UNKNOWN:
            return size
        return count if size == INFINITE else min(size, count)


class Skip(Chosen):
    """The items but for the first; none, if the count is negative."""

    def chosen(self, items: Iterator[Any], count: int) -> Iterator[Any]:  # type: ignore[override]
        """The later ones."""
        return iter(()) if count < 0 else _part(items, count)

    def chosen_size(self, size: int, count: int) -> int:  # type: ignore[override]
        """So many less."""
        if count < 0:
            return 0
        return size if size < 0 else max(size - count, 0)


class Shard(Chosen):
    """Each n-th item, from one on."""

    def chosen(self, items: Iterator[Any], count: int, index: int) -> Iterator[Any]:  # type: ignore[override]
        """Those of one shard."""
        if count < 1 or not 0 <= index < count:
            raise InvalidArgumentError(
                f"shard: `index` must be at least 0 and less than `num_shards`, got {index} of {count}"
            )
        return _part(items, index, step=count)

    def chosen_size(self, size: int, count: int, index: int) -> int:  # type: ignore[override]
        """A part."""
        return size if size < 0 else len(range(index, size, count))


class Shuffled(Chosen):
    """Items in random order."""

    def __init__(self, source: Stage, buffer: Any, seeds: Any, again: bool) -> None:
        super().__init__(source, buffer)
        self._seeds, self._again = seeds, again

    def stream(self, env: Environment) -> Stream:
        """The items in another order."""
        source = self.inputs[0].stream(env)
        size = env.number(self.counts[0])
        if size in (UNKNOWN, INFINITE):
            size = self.inputs[0].size(env)
        if size <= 0:
            raise InvalidArgumentError(f"shuffle: argument `buffer_size` must be greater than zero, got {size}")

        def make() -> shuffling.SeedGenerator:
            return shuffling.SeedGenerator(shuffling.seed_pair(self._seeds), self._again)

        return source.choosing(shuffling.shuffled(source.items, size, env.keep(self, make).next()))


class Repeated(Stage):
    """All elements, several times; for ever, if the count is negative."""

    def __init__(self, source: Stage, count: Any) -> None:
        self.inputs = (source,)
        self._times = count
        self.own = (count,)

    def stream(self, env: Environment) -> Stream:
        """Epoch after epoch."""
        source, count = self.inputs[0], env.number(self._times)
        current = first = source.stream(env)
        epoch, some, again = 0, False, False

        def items() -> Iterator[Any]:
            nonlocal current, epoch, some, again
            some, again = some or again, True  # an error is something
            while epoch != count:
                for item in current.items:
                    some = True
                    yield item
                epoch += 1
                if (epoch == count and isinstance(source, Shuffled)) or (count < 0 and not some):
                    return  # at the end, or for ever nothing
                # TensorFlow starts once more behind the last epoch, too: data sets further up that shuffle notice
                current, some = source.stream(env), False

        return first.choosing(Lasting(items))

    def size(self, env: Environment | None = None) -> int:
        """So many times as many."""
        times, size = self._count(env, self._times), self.inputs[0].size(env)
        if times is None or size == UNKNOWN:
            return UNKNOWN
        if size == 0 or times == 0:
            return 0
        return INFINITE if size == INFINITE or times < 0 else size * times
