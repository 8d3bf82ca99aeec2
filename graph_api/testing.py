"""``tf.test``: the test case class that TensorFlow programs derive theirs from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from dualgrad.extras.testing import Assertions, main
from dualgrad.frontend.seeds import DEFAULT_SEED
from graph_api.graphs.defaults import get_default_session
from graph_api.graphs.graph import get_default_graph, reset_default_graph
from graph_api.sessions.session import Session


class TestCase(Assertions):
    """A test case that starts with an empty default graph and can evaluate tensors."""

    def setUp(self) -> None:
        """Empty the default graph, and seed it."""
        super().setUp()
        reset_default_graph()
        get_default_graph().seed = DEFAULT_SEED

    @contextmanager
    def session(self, graph: Any = None, config: Any = None, **_: Any) -> Iterator[Session]:
        """A session that is the default one inside the `with` block."""
        with Session(graph=graph or get_default_graph(), config=config) as session:
            yield session

    cached_session = session

    def test_session(self, *args: Any, **options: Any) -> AbstractContextManager[Session]:
        """`session`, under a name that makes it look like a test of its own."""
        session: AbstractContextManager[Session] = super().test_session(*args, **options)
        return session

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors in the default session."""
        session = get_default_session()
        return session.run(tensors) if session is not None else Session().run(tensors)


__all__ = ["TestCase", "main"]
