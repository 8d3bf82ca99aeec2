"""The session in which Keras's models hold their weights: the default one, or else one of their own per graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from graph_api.graphs.defaults import get_default_session
from graph_api.graphs.graph import Graph, get_default_graph
from graph_api.graphs.graph_keys import KERAS_INITIALIZED
from graph_api.graphs.variable import is_variable_initialized
from graph_api.sessions.session import Session

_sessions: WeakKeyDictionary[Graph, Any] = WeakKeyDictionary()


def get_session() -> Session:
    """The default session, or one that is kept for the default graph; its variables have their initial values."""
    graph = get_default_graph()
    session = get_default_session()
    if session is None or session.graph is not graph:
        session = _sessions.get(graph)
        if session is None:
            session = _sessions[graph] = Session(graph=graph)
    _initialize(session)
    return session


def set_session(session: Any) -> None:
    """Keep a session for the models of its graph."""
    _sessions[session.graph] = session


def forget_session() -> None:
    """Forget the session of the default graph."""
    _sessions.pop(get_default_graph(), None)


def _initialize(session: Any) -> None:
    """Give the variables that have no value yet their initial ones."""
    with session.graph.as_default():
        variables = session.graph.get_collection("variables")
        known = session.graph.get_collection_ref(KERAS_INITIALIZED)
        seen = {id(v) for v, _ in known}
        known.extend((v, is_variable_initialized(v)) for v in variables if id(v) not in seen)
    done = session.run([flag for _, flag in known])
    missing = [v for (v, _), is_done in zip(known, done, strict=True) if not is_done]
    if missing:
        session.run([v.initializer for v in missing])


def session_of(variables: Sequence[Any]) -> Session:
    """The session that holds some variables."""
    if not variables:
        return get_session()
    with variables[0].graph.as_default():
        return get_session()
