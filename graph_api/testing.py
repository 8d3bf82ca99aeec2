"""``tf.test``: the test case class that TensorFlow programs derive theirs from."""

from __future__ import annotations

import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from engine.core.value import Value
from graph_api.defaults import get_default_session
from graph_api.graph import get_default_graph, reset_default_graph
from graph_api.session import Session


class TestCase(unittest.TestCase):
    """A test case that starts with an empty default graph and can evaluate tensors."""

    def setUp(self) -> None:
        """Empty the default graph."""
        reset_default_graph()

    @contextmanager
    def test_session(self, graph: Any = None, config: Any = None, **_: Any) -> Iterator[Session]:
        """A session that is the default one inside the `with` block."""
        with Session(graph=graph or get_default_graph(), config=config) as session:
            yield session

    session = cached_session = test_session

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors in the default session."""
        session = get_default_session()
        return session.run(tensors) if session is not None else Session().run(tensors)

    def _array(self, x: Any) -> np.ndarray:
        return self.evaluate(x) if isinstance(x, Value) else np.asarray(x)

    def assertAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None) -> None:
        """Fail unless all elements agree within the tolerances."""
        np.testing.assert_allclose(self._array(a), self._array(b), rtol, atol, err_msg=msg or "")

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Fail unless all elements are equal."""
        np.testing.assert_array_equal(self._array(a), self._array(b), err_msg=msg or "")

    def assertShapeEqual(self, np_array: Any, tf_tensor: Any, msg: str | None = None) -> None:
        """Fail unless an array has a tensor's static shape."""
        self.assertEqual(list(np_array.shape), tf_tensor.get_shape().as_list(), msg)

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        """Fail if two numbers differ by more than `err`."""
        self.assertLessEqual(abs(f1 - f2), err, msg)


main = unittest.main
"""Run the tests of the calling module."""

__all__ = ["TestCase", "main"]
