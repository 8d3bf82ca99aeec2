"""Every test of the graph API starts with an empty default graph."""

import pytest

import graph_api as tf


@pytest.fixture(autouse=True)
def _fresh_graph() -> None:
    tf.reset_default_graph()
