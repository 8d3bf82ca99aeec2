"""Every test of the graph API starts with an empty default graph."""

from collections.abc import Iterator

import pytest

import graph_api as tf


@pytest.fixture(autouse=True)
def _fresh_graph() -> None:
    tf.reset_default_graph()


@pytest.fixture
def sess() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session
