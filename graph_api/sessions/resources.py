"""Objects that operations of a graph keep between runs and that are no arrays: iterators, queues, readers.

Each is kept for a session. A hidden variable of the graph has as its value a number, made anew in each session; under
it the thing is found. When the session lets go of the number, the thing goes too.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

import numpy as np

from engine.core.aval import Aval
from engine.core.dtypes import int64
from engine.core.variable import read_variable, variable_handle
from graph_api.graphs.graph import get_default_graph

R = TypeVar("R")

_numbers = itertools.count(1)


class Number(np.ndarray):
    """The number under which a session has a resource."""

    resource: Any = None


class Resource:
    """Something that each session has one of.

    Parameters
    ----------
    name : str
        Of the operation that stands for it.

    Attributes
    ----------
    number : Tensor
        The number under which a session has it: an operand of the operations that use it.
    """

    def __init__(self, name: str) -> None:
        graph = get_default_graph()
        self._held: dict[int, Any] = {}
        self._locks: dict[int, Any] = {}
        self._making = threading.Lock()
        with graph.lifted():
            params = {"aval": Aval((), int64), "default": self._new_number}
            handle = graph.apply(variable_handle, (), params, name=name)
            self.number = graph.apply(read_variable, (handle,), {}, name=f"{handle.op.name.rpartition('/')[2]}/id")
        self.op = handle.op

    def _new_number(self) -> np.ndarray:
        # an array, for NumPy's scalars have no weak references
        number = np.array(next(_numbers)).view(Number)
        number.resource = self
        weakref.finalize(number, _forget, self._held, self._locks, int(number))
        return number

    def set(self, number: int, value: Any) -> None:
        """Keep something for a session."""
        with self._lock(number):
            self._held[number] = value

    def get(self, number: int, make: Callable[[], R]) -> R:
        """The object kept for a session, made if there is none."""
        held = self._held.get(number)
        if held is None:
            with self._lock(number):
                held = self._held.get(number)
                if held is None:
                    held = self._held[number] = make()
        return held

    @contextmanager
    def exclusively(self, number: int, make: Callable[[], Any]) -> Iterator[Any]:
        """The object kept for a session, for this thread alone; made if there is none."""
        with self._lock(number):
            if number not in self._held:
                self._held[number] = make()
            yield self._held[number]

    def release(self, number: int) -> None:
        """Let go of what is kept for a session that is being closed; who waits for it stops waiting."""
        value = self._held.pop(number, None)
        close = getattr(value, "close", None)
        if close is not None:
            close(True, True)

    def _lock(self, number: int) -> AbstractContextManager[Any]:
        return self._locks.get(number) or self._locks.setdefault(number, threading.RLock())


def _forget(held: dict[int, Any], locks: dict[int, Any], number: int) -> None:
    held.pop(number, None)
    locks.pop(number, None)
