"""``tf.GraphKeys``."""

from typing import Any

from dualgrad.frontend.graph_keys import GraphKeys as GraphKeys  # noqa: PLC0414 - given on

VARIABLE_SCOPES: Any = ("variable scopes",)
"""The collection of those that are open (`graph_api.graphs.scopes`); a name that is no string is kept out of files."""
KERAS_INITIALIZED: Any = ("keras: whether variables are initialized",)
"""The collection of the variables that Keras's session has seen, each with whether it is initialized."""
