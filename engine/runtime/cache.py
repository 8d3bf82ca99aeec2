"""One kind of cache for all that is kept to be used again: compiled programs, plans, what bodies are derived to.

A `Cache` says what its items are keyed by: everything that they depend on. `docs/all-caches.md` lists what all say.
It is bounded by a number of items, and by bytes if it is told how to weigh them. What has not been used for
longest gives way. Using an item is one look into a `dict` and a mark of when that was, without a lock. Changes are made
under one lock, which is never held while something is computed: threads that miss at once compute the same thing twice,
and nothing else happens. An interrupt at any point gives the lock back (`engine.runtime.commit.exclusively`).

`clear_caches` empties all caches of the process, `cache_info` says what they hold.
"""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, TypeVar

from engine.runtime.commit import exclusively

K = TypeVar("K")
V = TypeVar("V")
F = TypeVar("F", bound=Callable[..., Any])

_lock = threading.RLock()
_LOCKS = (_lock,)
_caches: weakref.WeakSet[Cache[Any, Any]] = weakref.WeakSet()
_functions: list[Any] = []
if hasattr(os, "register_at_fork"):
    # a child must not wait for a thread that it does not have
    os.register_at_fork(after_in_child=_lock._at_fork_reinit)  # type: ignore[attr-defined]


class _Entry(Generic[V]):
    """An item, and when it was used last."""

    __slots__ = ("used", "value")

    def __init__(self, value: V, used: int) -> None:
        self.value, self.used = value, used


class CacheInfo(NamedTuple):
    """Contents and counts of the caches of one name; threads may lose a count of `hits`."""

    caches: int
    items: int
    capacity: int | None
    hits: int
    made: int
    dropped: int


class Cache(Generic[K, V]):
    """A table of limited size.

    Parameters
    ----------
    name : str
        What it keeps, in the plural, for `cache_info`. Many caches may share a name.
    capacity : int
        How many items it keeps.
    max_bytes : int, optional
        How many bytes they may have together; the newest is kept in any case.
    weigh : callable, optional
        ``weigh(value)``: an item's bytes.
    key : str
        What an item is found by, in words: all that it depends on.

    Attributes
    ----------
    hits, made, dropped : int
        How often an item was found, kept and dropped to make room. The first two together are the time.
    """

    __slots__ = ("__weakref__", "_entries", "_weigh", "capacity", "dropped", "hits", "key", "made", "max_bytes", "name")

    def __init__(
        self,
        name: str,
        capacity: int,
        max_bytes: int | None = None,
        weigh: Callable[[V], int] | None = None,
        *,
        key: str,
    ) -> None:
        self.key, self.name, self.capacity, self.max_bytes, self._weigh = key, name, capacity, max_bytes, weigh
        self._entries: dict[K, _Entry[V]] = {}
        self.hits = self.made = self.dropped = 0
        exclusively(_LOCKS, _caches.add, self)

    def get(self, key: K) -> V | None:
        """The item of a key, or None."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self.hits += 1
        entry.used = self.hits + self.made
        return entry.value

    def put(self, key: K, value: V) -> V:
        """Keep an item, in place of one of the same key; return it."""
        return exclusively(_LOCKS, self._put, key, value)

    def _put(self, key: K, value: V) -> V:
        self.made += 1
        self._entries[key] = _Entry(value, self.hits + self.made)
        self._make_room()
        return value

    def setdefault(self, key: K, value: V) -> V:
        """Keep an item unless there is one of that key by now; return the one that is kept."""
        return exclusively(_LOCKS, self._setdefault, key, value)

    def _setdefault(self, key: K, value: V) -> V:
        entry = self._entries.get(key)
        return self._put(key, value) if entry is None else entry.value

    def _make_room(self) -> None:
        entries = self._entries
        while len(entries) > self.capacity or (len(entries) > 1 and self._is_heavy()):
            entries.pop(min(entries, key=lambda key: entries[key].used))
            self.dropped += 1

    def _is_heavy(self) -> bool:
        if self._weigh is None or self.max_bytes is None:
            return False
        return sum([self._weigh(entry.value) for entry in self._entries.values()]) > self.max_bytes

    def clear(self) -> None:
        """Forget all items."""
        exclusively(_LOCKS, setattr, self, "_entries", {})

    @contextmanager
    def emptied(self) -> Iterator[None]:
        """A time without the items that it holds now, which are back afterwards."""
        before, self._entries = self._entries, {}
        try:
            yield
        finally:
            self._entries = before

    def values(self) -> list[V]:
        """The items, in the order in which they were made."""
        return [entry.value for entry in list(self._entries.values())]

    def __len__(self) -> int:
        return len(self._entries)

    def __reduce__(self) -> tuple[Any, ...]:
        # items are made again where they are needed
        return functools.partial(Cache, key=self.key), (self.name, self.capacity, self.max_bytes, self._weigh)


def cached(capacity: int, typed: bool = False) -> Callable[[F], F]:
    """`functools.lru_cache` of a function of its arguments alone, which `clear_caches` and `cache_info` know."""

    def decorated(function: F) -> F:
        wrapped = functools.lru_cache(maxsize=capacity, typed=typed)(function)
        _functions.append(wrapped)
        return wrapped  # type: ignore[return-value]

    return decorated


def clear_caches() -> None:
    """Forget everything that is kept to be used again; it is made anew when it is needed.

    Results do not change. Graphs, variables, plans in the user's hands and memory of arrays in use stay as they are;
    `engine.runtime.buffer_pool` keeps memory of its own, and so do eager tensors.
    """
    exclusively(_LOCKS, _clear)


def _clear() -> None:
    for cache in list(_caches):
        cache.clear()
    for function in _functions:
        function.cache_clear()


def cache_info() -> dict[str, CacheInfo]:
    """The contents and counts of all caches, by what they keep.

    Returns
    -------
    dict of str to CacheInfo
        `caches` of that name; `items` in them; `capacity` of each; how often an item was found (`hits`), `made` and
        `dropped` to make room, in the caches that there are.

    Examples
    --------
    >>> import engine
    >>> engine.clear_caches()
    >>> sum(info.items for info in engine.cache_info().values())
    0
    """
    return exclusively(_LOCKS, _info)


def _info() -> dict[str, CacheInfo]:
    by_name: dict[str, CacheInfo] = {}
    for cache in list(_caches):
        old = by_name.get(cache.name, CacheInfo(0, 0, cache.capacity, 0, 0, 0))
        did = cache.hits + old.hits, cache.made + old.made, cache.dropped + old.dropped
        by_name[cache.name] = CacheInfo(old.caches + 1, old.items + len(cache), cache.capacity, *did)
    for function in _functions:
        name = f"{function.__module__}.{function.__qualname__}"
        info = function.cache_info()
        dropped = info.misses - info.currsize
        by_name[name] = CacheInfo(1, info.currsize, info.maxsize, info.hits, info.misses, dropped)
    return dict(sorted(by_name.items()))
