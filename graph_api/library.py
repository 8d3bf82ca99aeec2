"""How a function of the engine's becomes one of the graph API (`dualgrad.frontend.namespace.FOUNDATION`)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from dualgrad.frontend.legacy import lift_row
from engine.core.eager import EagerTensor
from graph_api.convert import finish, finish_as
from graph_api.graphs.node_names import OF_FUNCTIONS

root: Any = sys.modules["graph_api"]
"""The functions as users have them, for modules of this package."""


def public(row: Any, name: str) -> Callable[..., Any]:
    """The public function for a row of the table."""
    default = OF_FUNCTIONS.get(name)
    return lift_row(row, finish if default is None else partial(finish_as, default), name, wrap=EagerTensor)
