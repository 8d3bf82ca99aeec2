"""What many tests of graphs end with: variables are initialized, and something is run."""

from typing import Any

import graph_api as tf


def run(fetches: Any, feeds: Any = None) -> Any:
    """What a session of its own gives, in which all variables have their initial values."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)
