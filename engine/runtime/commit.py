"""State that threads share and interrupts do not split.

Variables of both front ends, and what optimizers keep, follow three rules:

- *An update that depends on the old value holds the variable's lock* from reading to writing (`exclusively`). So do
  plain assignments, which an update in progress would undo. Locks of several variables are taken in one order. Nobody
  needs a lock to read: what is read is never changed where it lies.
- *New values are written in one step* (`commit`): a single call of a C function, in the middle of which CPython neither
  raises KeyboardInterrupt nor lets another thread run Python code. All new values are there by then, and checked.
- *Rows that are written where they lie* are hidden before that, so that nobody reads half of them: the variable's value
  is put aside, and who misses it waits for the lock and puts it back if it has been left there (`tape_api.Variable`,
  `graph_api.Session`).

An exception may come between any two bytecodes, also within ``finally``. What must be undone is therefore undone twice:
whichever of the two an interrupt hits, the other one does it.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat, starmap
from operator import call
from typing import Any, TypeVar

from engine.runtime.errors import CancelledError

R = TypeVar("R")

Lock = type(threading.RLock())
"""The lock of a variable. Who holds it may take it again: an update may be made by what another one calls."""
_owned, _acquire, _release = Lock._is_owned, Lock.acquire, Lock.release  # type: ignore[attr-defined]
_PATIENCE = 0.05
"""Seconds between two looks at whether waiting has a point."""


def in_order(locks: Iterable[Any]) -> tuple[Any, ...]:
    """Distinct locks in the order in which everybody takes them."""
    return tuple(sorted(set(locks), key=id))


def exclusively(locks: Sequence[Any], function: Callable[..., R], *arguments: Any) -> R:
    """``function(*arguments)``, while this thread holds some locks; they are given back however it ends.

    Parameters
    ----------
    locks : sequence of Lock
        Distinct, and `in_order`. Those that the thread holds already it keeps.
    function : callable

    Raises
    ------
    CancelledError
        If it would wait for ever: for threads that wait for locks which this one holds.
    """
    if len(locks) == 1:
        return _holding(locks[0], function, arguments)
    taken = [lock for lock in locks if not _owned(lock)] if any(map(_owned, locks)) else locks
    try:
        try:
            if not all(map(_acquire, taken, repeat(False))):
                _wait(taken)
            return function(*arguments)
        finally:
            deque(map(_release, filter(_owned, taken)), 0)
    finally:
        deque(map(_release, filter(_owned, taken)), 0)


def _holding(lock: Any, function: Callable[..., R], arguments: tuple[Any, ...]) -> R:
    """The same for one lock, which is what most updates take."""
    if _owned(lock):
        return function(*arguments)
    try:
        try:
            if not lock.acquire(False):
                _wait((lock,))
            return function(*arguments)
        finally:
            if _owned(lock):
                lock.release()
    finally:
        if _owned(lock):
            lock.release()


def commit(writes: Iterable[tuple[Any, ...]]) -> None:
    """Make all of some changes: ``function(*arguments)`` for each ``(function, *arguments)``.

    The functions must be C functions that do not fail, such as `setattr` of a slot and `operator.setitem`. Whoever
    calls this still holds what is replaced, or else a finalizer might run in between.
    """
    deque(starmap(call, writes), 0)


@functools.cache
def _unwarned() -> Callable[[Iterable[tuple[Any, ...]]], None]:
    import numpy as np  # which who imports a front end need not wait for

    # as a decorator: an interrupt between the body of a `with` and its end would leave the setting behind
    return np.errstate(all="ignore")(commit)


def commit_computing(writes: Iterable[tuple[Any, ...]]) -> None:
    """`commit` with calls of ufuncs, of whose results NumPy warns nobody: a warning is Python code, and may raise."""
    _unwarned()(writes)


# ---- waiting ---------------------------------------------------------------------------------------------------------

_waiting: dict[int, tuple[Any, set[int]]] = {}
"""Thread to the lock that it waits for, and the threads that wait for locks of its own.

Each thread writes its own entry only, in a single step, and looks at a copy of the others.
"""


def _wait(locks: Sequence[Any]) -> None:
    """Take those of some locks that this thread does not hold."""
    me = threading.get_ident()
    try:
        for lock in locks:
            while not (_owned(lock) or lock.acquire(timeout=_PATIENCE)):
                others = _waiting.copy()
                _waiting[me] = lock, {thread for thread, (wanted, _) in others.items() if _owned(wanted)} - {me}
                if _in_vain(me):
                    raise CancelledError(
                        "updates of variables wait for each other: within an update (in a py_function, a schedule, a "
                        "constraint) this thread changes a variable that another thread is changing, which in turn "
                        "waits for this one; change such variables before or after, not within"
                    )
    finally:
        _waiting.pop(me, None)


def _in_vain(me: int) -> bool:
    """Whether a thread waits for itself by way of others; of those in such a circle the last one is told."""
    waiting = _waiting.copy()
    reached = _reached(me, waiting)
    return me in reached and me == max(t for t in reached if me in _reached(t, waiting))


def _reached(thread: int, waiting: dict[int, tuple[Any, set[int]]]) -> set[int]:
    """The threads that wait for a thread, directly or by way of others."""
    reached: set[int] = set()
    further = {thread}
    while further:
        further = {t for one in further for t in waiting.get(one, (None, ()))[1]} - reached
        reached |= further
    return reached


# ---- memory ----------------------------------------------------------------------------------------------------------


def holders(keeper: dict[Any, Any], key: Any) -> int:
    """How many references there are to ``keeper[key]``."""
    return sys.getrefcount(keeper[key])


ALONE = holders({0: object()}, 0)
"""`holders` of what nobody else holds."""
