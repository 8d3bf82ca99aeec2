"""Defaults of the current thread: graphs and sessions, innermost last."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class Stacks(threading.local):
    """The default graphs and sessions of the current thread.

    Attributes
    ----------
    graphs, sessions : list
        Innermost last.
    eager : int
        How many functions are running inside of which everything is eager (`py_function`).
    root : Graph or None
        The thread's own default graph, below all of `graphs`.
    """

    def __init__(self) -> None:
        self.root: Any = None
        self.graphs: list[Any] = []
        self.sessions: list[Any] = []
        self.eager = 0


stacks = Stacks()


def get_default_session() -> Any:
    """The session that `eval` and `run` of tensors use, or None."""
    return stacks.sessions[-1] if stacks.sessions else None


def session_for(graph: Any, session: Any, purpose: str) -> Any:
    """The session given, or else the default one, which must run `graph`.

    Raises
    ------
    ValueError
        If there is none, or it runs another graph.
    """
    session = session or get_default_session()
    if session is None:
        raise ValueError(
            f"Cannot {purpose}: No default session is registered. Use `with sess.as_default()` or pass `session=`"
        )
    if session.graph is not graph:
        raise ValueError(f"Cannot {purpose}: the session's graph is another than the tensor's")
    return session


fetched_as: dict[type, Callable[[Any], Any]] = {}
"""Classes of programs that sessions fetch and feed, and what makes a `Composite` of an object
(`graph_api.legacy.conversions`)."""


def as_fetched(leaf: Any) -> Any:
    """Give what stands for an object of such a class; any other object itself."""
    make = next((make for kind, make in fetched_as.items() if isinstance(leaf, kind)), None)
    return leaf if make is None else make(leaf)
