"""How a function of the engine's becomes one of the graph API (`dualgrad.frontend.namespace.FOUNDATION`)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from dualgrad.frontend.legacy import lift_row
from engine.core.eager import EagerTensor
from graph_api.convert import finish

root: Any = sys.modules["graph_api"]
"""The functions as users have them, for modules of this package."""


def public(row: Any, name: str) -> Callable[..., Any]:
    """The public function for a row of the table."""
    return lift_row(row, finish, name, wrap=EagerTensor)
